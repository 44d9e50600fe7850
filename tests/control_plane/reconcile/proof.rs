//! The no-change proof against the API server: if it calls an object unchanged, a dry run must not change the object.

use std::collections::BTreeMap;

use flux_operator::api::{CheckedInstance, FluxInstance, takeover};
use flux_operator::build::{BuildOptions, build};
use flux_operator::cluster::WriteOptions;
use flux_operator::k8s::ObjectId;
use flux_operator::reconcile::{no_change_proof, plan};
use serde_json::{Value, json};

use crate::cluster_tests;
use crate::reconcile::world::*;
use crate::support::{ClusterTest, Options, TestCluster};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        the_short_cut_never_hides_a_change_that_a_dry_run_would_make,
        a_manifest_called_unchanged_after_another_one_is_unchanged_for_a_dry_run,
        a_dry_run_shows_no_change_where_the_spec_changes_nothing,
    ]
}

/// A fixed sequence of numbers, so that a failure can be repeated.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % sides.max(1)
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.roll(from.len())]
    }
}

/// Every place in an object that a client might change, as JSON pointers.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    let below: Vec<(String, &Value)> = match value {
        Value::Object(map) => {
            map.iter().map(|(key, value)| (key.replace('~', "~0").replace('/', "~1"), value)).collect()
        }
        Value::Array(items) => items.iter().enumerate().map(|(index, value)| (index.to_string(), value)).collect(),
        _ => vec![],
    };
    for (key, value) in below {
        let path = format!("{at}/{key}");
        if ["/apiVersion", "/kind", "/status"].contains(&path.as_str()) {
            continue;
        }
        if !path.starts_with("/metadata")
            || path.starts_with("/metadata/labels")
            || path.starts_with("/metadata/annotations")
        {
            found.push(path.clone());
        }
        if path != "/metadata/managedFields" {
            places(value, &path, found);
        }
    }
}

/// Something else of the same sort; sometimes the same value in another form.
fn other(value: &Value, dice: &mut Dice) -> Value {
    match value {
        Value::String(text) => match dice.roll(4) {
            0 => format!("{text}x").into(),
            1 => "".into(),
            2 if text == "1" => "1000m".into(),
            2 => "2Gi".into(),
            _ => text.chars().rev().collect::<String>().into(),
        },
        Value::Number(number) => (number.as_i64().unwrap_or(0) + 1 + dice.roll(3) as i64).into(),
        Value::Bool(value) => (!value).into(),
        Value::Array(items) => {
            let mut items = items.clone();
            match dice.roll(3) {
                0 => drop(items.pop()),
                1 => items.reverse(),
                _ => items.extend(items.first().cloned()),
            }
            items.into()
        }
        Value::Object(map) => {
            let mut map = map.clone();
            map.insert("added".into(), "1".into());
            map.into()
        }
        Value::Null => json!("x"),
    }
}

async fn the_short_cut_never_hides_a_change_that_a_dry_run_would_make(cluster: TestCluster) {
    let world = World::with(&cluster, Options::api_server_only()).await;
    let mut wanted = spec("2.9.x");
    wanted["wait"] = json!(false);
    wanted["storage"] = json!({"class": "standard", "size": "1024Mi"});
    wanted["sync"] = json!({"kind": "GitRepository", "url": "https://example.com/a.git", "ref": "main", "path": "a"});
    let instance = world.instance(wanted).await;
    world.ready().await;
    let checked = flux_operator::api::CheckedInstance::check(instance.clone()).unwrap();
    let built = flux_operator::build::build(&checked, &world.distribution, &Default::default()).unwrap();
    // Definitions are large and all alike; two are enough.
    let objects: Vec<&Value> = built
        .objects
        .iter()
        .enumerate()
        .filter(|(index, object)| object["kind"] != "CustomResourceDefinition" || *index < 2)
        .map(|(_, object)| object)
        .collect();
    let managers = ["someone", "me", "kubectl-edit", "helm", "kustomize-controller", "flux", "flux-operator", "hpa"];
    let mut dice = Dice(11);
    let (mut edits, mut proved, mut changed) = (0, 0, 0);
    for _ in 0..700 {
        let desired = *dice.pick(&objects);
        let id = ObjectId::of(desired);
        let live = world.cluster.read(&id).await.unwrap().unwrap_or_else(|| panic!("{id} is gone"));
        let mut paths = vec![];
        places(&live, "", &mut paths);
        let path = dice.pick(&paths).clone();
        let value = live.pointer(&path).unwrap();
        let manager = *dice.pick(&managers);
        let version =
            json!({"op": "replace", "path": "/metadata/resourceVersion", "value": live["metadata"]["resourceVersion"]});
        let edited = match dice.roll(6) {
            0 => world.cluster.json_patch(&id, &json!([{"op": "remove", "path": path}, version]), manager).await,
            1 => world.cluster.json_patch(&id, &json!([{"op": "add", "path": format!("/metadata/labels/l{}", dice.roll(3)), "value": "1"}, version]), manager).await,
            2 => {
                // Fields may also be forgotten: somebody drops an entry, or all of them.
                let mut entries = live["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
                if !entries.is_empty() {
                    entries.remove(dice.roll(entries.len()));
                }
                if entries.is_empty() {
                    entries.push(json!({}));
                }
                world.cluster.json_patch(&id, &json!([{"op": "replace", "path": "/metadata/managedFields", "value": entries}, version]), manager).await
            }
            3 => {
                let mut object = json!({"apiVersion": live["apiVersion"], "kind": live["kind"], "metadata": {"name": id.name, "namespace": id.namespace,
                    "labels": {format!("by-{manager}"): "1"}}});
                if dice.roll(2) == 0 && live["kind"] == "Deployment" {
                    object["spec"] = json!({"template": {"spec": {"containers": [{"name": "manager", "env": [{"name": "A", "value": "1"}]}]}}});
                }
                world.cluster.apply(&object, WriteOptions::forced(manager)).await
            }
            _ => world.cluster.json_patch(&id, &json!([{"op": "replace", "path": path, "value": other(value, &mut dice)}, version]), manager).await,
        };
        // Many edits are refused; that is the API server's affair.
        if edited.is_err() {
            continue;
        }
        edits += 1;
        let live = world.cluster.read(&id).await.unwrap().unwrap();
        let holds = no_change_proof::holds(desired, &live, &[]);
        let cleans = takeover::takeover_patch(&live, &[]).is_some();
        let drift = match world.cluster.apply(desired, WriteOptions::forced("flux-operator").dry_run()).await {
            Ok(result) => plan::changes(&live, &result),
            // A dry run that is refused is a difference, too.
            Err(_) => {
                assert!(!holds, "{id} {path}");
                continue;
            }
        };
        if holds {
            proved += 1;
            assert!(!cleans && drift.is_empty(), "{id} by {manager} at {path}: {drift:?}");
        }
        if cleans || !drift.is_empty() {
            changed += 1;
        }
        // Edits pile up, and now and then everything is put right.
        if dice.roll(8) == 0 {
            world.run().await.unwrap();
        }
    }
    eprintln!("{edits} edits, {changed} to correct, {proved} proved unchanged");
    assert!(
        edits > 200 && changed > 100 && proved > 20,
        "{edits} edits, {changed} to correct, {proved} proved unchanged"
    );
}

/// A manifest with its possible edits: a JSON pointer and the new value there; `None` removes the value.
struct Manifest {
    base: Value,
    edits: Vec<(&'static str, Option<Value>)>,
}

impl Manifest {
    /// Returns the manifest with the chosen edits, in order. An edit without its field does nothing.
    fn with(&self, chosen: &[bool]) -> Value {
        let mut object = self.base.clone();
        for ((pointer, value), _) in self.edits.iter().zip(chosen).filter(|(_, chosen)| **chosen) {
            let (parent, last) = pointer.rsplit_once('/').unwrap();
            let last = last.replace("~1", "/");
            match (object.pointer_mut(parent), value) {
                (Some(Value::Object(members)), Some(value)) => drop(members.insert(last, value.clone())),
                (Some(Value::Object(members)), None) => drop(members.remove(&last)),
                (Some(Value::Array(items)), Some(value)) => match items.get_mut(last.parse::<usize>().unwrap()) {
                    Some(item) => *item = value.clone(),
                    None => items.push(value.clone()),
                },
                _ => {}
            }
        }
        object
    }
}

/// Manifests with the edits that are hard to tell from nothing: empty members, zero values, other spellings, defaults.
fn manifests() -> Vec<Manifest> {
    let some = |rows: &[(&'static str, Value)]| rows.iter().map(|(at, value)| (*at, Some(value.clone()))).collect();
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "pairs", "namespace": "default", "labels": {"app": "a"}},
        "spec": {"selector": {"matchLabels": {"app": "a"}}, "template": {"metadata": {"labels": {"app": "a"}}, "spec": {
            "containers": [{"name": "manager", "image": "i", "args": ["--a"],
                "env": [{"name": "NS", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
                    {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}],
                "ports": [{"containerPort": 8080, "name": "http"}], "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
                "resources": {"limits": {"cpu": "1000m", "memory": "1Gi"}, "requests": {"cpu": "0.5"}}}],
            "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoExecute"}],
            "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "podAffinityTerm": {"topologyKey": "h", "labelSelector": {"matchLabels": {"app": "a"}}}}]}},
            "volumes": [{"name": "tmp", "emptyDir": {}}]}}}});
    const TERM: &str = "/spec/template/spec/affinity/podAntiAffinity/preferredDuringSchedulingIgnoredDuringExecution/0/podAffinityTerm";
    let term = |member: &str| -> &'static str { Box::leak(format!("{TERM}/{member}").into_boxed_str()) };
    let pod = |member: &str| -> &'static str { Box::leak(format!("/spec/template/spec/{member}").into_boxed_str()) };
    let mut deployments: Vec<(&'static str, Option<Value>)> = some(&[
        (term("namespaceSelector"), json!({})),
        (term("namespaces"), json!([])),
        (term("labelSelector/matchExpressions"), json!([])),
        (term("labelSelector"), json!({})),
        (pod("tolerations/0/tolerationSeconds"), json!(0)),
        (pod("tolerations/0/value"), json!("")),
        (pod("tolerations/1"), json!({"operator": "Exists"})),
        (pod("tolerations"), json!([])),
        (pod("hostNetwork"), json!(false)),
        (pod("hostIPC"), json!(true)),
        (pod("nodeSelector"), json!({})),
        (pod("securityContext"), json!({})),
        (pod("securityContext"), json!({"runAsNonRoot": false})),
        (pod("securityContext"), json!({"runAsUser": 0})),
        (pod("terminationGracePeriodSeconds"), json!(0)),
        (pod("automountServiceAccountToken"), json!(false)),
        (pod("enableServiceLinks"), json!(false)),
        (pod("serviceAccountName"), json!("")),
        (pod("hostAliases"), json!([])),
        (pod("imagePullSecrets"), json!([{}])),
        (
            pod("topologySpreadConstraints"),
            json!([{"maxSkew": 1, "topologyKey": "h", "whenUnsatisfiable": "DoNotSchedule"}]),
        ),
        (pod("topologySpreadConstraints/0/labelSelector"), json!({})),
        (pod("topologySpreadConstraints/0/minDomains"), json!(1)),
        (pod("containers/0/args"), json!([])),
        (pod("containers/0/command"), json!([])),
        (pod("containers/0/envFrom"), json!([])),
        (pod("containers/0/stdin"), json!(false)),
        (pod("containers/0/env/0/valueFrom/fieldRef/apiVersion"), json!("v1")),
        (pod("containers/0/env/1/valueFrom/resourceFieldRef/divisor"), json!("0")),
        (pod("containers/0/env/1/valueFrom/resourceFieldRef/divisor"), json!("1m")),
        (pod("containers/0/env/1/valueFrom/resourceFieldRef/containerName"), json!("")),
        (pod("containers/0/env/2"), json!({"name": "E", "value": ""})),
        (pod("containers/0/env/2"), json!({"name": "E"})),
        (pod("containers/0/ports/0/protocol"), json!("TCP")),
        (pod("containers/0/ports/0/hostPort"), json!(0)),
        (pod("containers/0/volumeMounts/0/readOnly"), json!(false)),
        (pod("containers/0/volumeMounts/0/subPath"), json!("")),
        (pod("containers/0/resources/limits/cpu"), json!("1")),
        (pod("containers/0/resources/limits/cpu"), json!(1)),
        (pod("containers/0/resources/limits/memory"), json!("1024Mi")),
        (pod("containers/0/resources/limits/memory"), json!("1073741824")),
        (pod("containers/0/resources/limits/memory"), json!("1000Mi")),
        (pod("containers/0/resources/limits/memory"), json!("1048576k")),
        (pod("containers/0/resources/requests/cpu"), json!("500m")),
        (pod("containers/0/resources/requests"), json!({})),
        (pod("containers/0/securityContext"), json!({"readOnlyRootFilesystem": false})),
        (pod("containers/0/securityContext"), json!({"capabilities": {"drop": []}})),
        (pod("containers/0/livenessProbe"), json!({"httpGet": {"path": "/", "port": "http"}})),
        (pod("containers/0/livenessProbe/initialDelaySeconds"), json!(0)),
        (pod("containers/0/livenessProbe/terminationGracePeriodSeconds"), json!(1)),
        (pod("containers/0/lifecycle"), json!({})),
        (pod("volumes/0/emptyDir/medium"), json!("")),
        (pod("volumes/0/emptyDir/sizeLimit"), json!("0")),
        (pod("volumes/0/emptyDir/sizeLimit"), json!("512Mi")),
        (pod("volumes/0/emptyDir/sizeLimit"), json!("0.5Gi")),
        ("/spec/replicas", json!(0)),
        ("/spec/replicas", json!(1)),
        ("/spec/paused", json!(false)),
        ("/spec/minReadySeconds", json!(0)),
        ("/spec/revisionHistoryLimit", json!(0)),
        ("/spec/strategy", json!({})),
        ("/spec/strategy", json!({"type": "Recreate"})),
        ("/spec/template/metadata/annotations", json!({})),
        ("/metadata/labels/empty", json!("")),
        ("/metadata/annotations", json!({})),
        ("/metadata/annotations", json!({"a": ""})),
    ]);
    deployments.push((pod("affinity"), None));
    deployments.push((pod("volumes"), None));
    let policy = json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
        "metadata": {"name": "pairs", "namespace": "default"},
        "spec": {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": [{"from": [{"podSelector": {}}]}]}});
    let mut policies: Vec<(&'static str, Option<Value>)> = some(&[
        ("/spec/ingress/0/from/0/namespaceSelector", json!({})),
        ("/spec/ingress/0/from/0/podSelector", json!({"matchLabels": {}})),
        ("/spec/ingress/0/from/0/podSelector/matchExpressions", json!([])),
        ("/spec/ingress/0/from/1", json!({"namespaceSelector": {}})),
        ("/spec/ingress/0/from", json!([])),
        ("/spec/ingress/0/ports", json!([])),
        ("/spec/ingress/0/ports", json!([{"port": 80}])),
        ("/spec/ingress/0/ports", json!([{"port": 80, "protocol": "TCP"}])),
        ("/spec/ingress/0/ports", json!([{}])),
        ("/spec/ingress/0/ports/0/endPort", json!(80)),
        ("/spec/ingress/1", json!({})),
        ("/spec/ingress", json!([])),
        ("/spec/egress", json!([])),
        ("/spec/egress", json!([{}])),
        ("/spec/policyTypes", json!([])),
        ("/spec/policyTypes", json!(["Ingress", "Egress"])),
        ("/spec/podSelector", json!({"matchLabels": {}})),
        ("/spec/podSelector", json!({"matchLabels": {"a": ""}})),
    ]);
    policies.push(("/spec/ingress/0/from/0/podSelector", None));
    policies.push(("/spec/ingress", None));
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "pairs"},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]});
    let roles = some(&[
        ("/rules/0/resourceNames", json!([])),
        ("/rules/0/resourceNames", json!([""])),
        ("/rules/0/nonResourceURLs", json!([])),
        ("/rules/0/apiGroups", json!(["", "apps"])),
        ("/rules/1", json!({"nonResourceURLs": ["/a"], "verbs": ["get"]})),
        ("/rules", json!([])),
        ("/aggregationRule", json!({})),
        ("/aggregationRule", json!({"clusterRoleSelectors": []})),
        ("/aggregationRule", json!({"clusterRoleSelectors": [{}]})),
    ]);
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "pairs.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Pair", "plural": "pairs"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object",
                "properties": {"spec": {"type": "object", "properties": {
                    "flag": {"type": "boolean"}, "text": {"type": "string"}, "number": {"type": "integer"},
                    "list": {"type": "array", "items": {"type": "string"}}, "map": {"type": "object"},
                    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}}}}]}});
    let field = |path: &str| -> &'static str {
        let at = "/spec/versions/0/schema/openAPIV3Schema/properties/spec";
        Box::leak(format!("{at}/{path}").into_boxed_str())
    };
    let definitions = some(&[
        (field("properties/flag/default"), json!(false)),
        (field("properties/flag/nullable"), json!(false)),
        (field("properties/flag/description"), json!("")),
        (field("properties/text/default"), json!("")),
        (field("properties/text/maxLength"), json!(0)),
        (field("properties/text/minLength"), json!(0)),
        (field("properties/text/pattern"), json!("")),
        (field("properties/text/enum"), json!([])),
        (field("properties/text/enum"), json!([""])),
        (field("properties/number/minimum"), json!(0)),
        (field("properties/number/maximum"), json!(0)),
        (field("properties/number/exclusiveMinimum"), json!(false)),
        (field("properties/number/multipleOf"), json!(1)),
        (field("properties/list/maxItems"), json!(0)),
        (field("properties/list/uniqueItems"), json!(false)),
        (field("properties/list/default"), json!([])),
        (field("properties/map/default"), json!({})),
        (field("properties/map/properties"), json!({})),
        (field("properties/map/additionalProperties"), json!(true)),
        (field("properties/free/default"), json!({"a": []})),
        (field("properties/free/default"), json!({})),
        (field("required"), json!([])),
        (field("required"), json!(["text"])),
        (field("x-kubernetes-validations"), json!([])),
        (field("x-kubernetes-validations"), json!([{"rule": "true"}])),
        (field("x-kubernetes-validations/0/message"), json!("")),
        (field("x-kubernetes-validations/0/optionalOldSelf"), json!(false)),
        ("/spec/versions/0/deprecated", json!(false)),
        ("/spec/versions/0/subresources", json!({})),
        ("/spec/versions/0/subresources", json!({"status": {}})),
        ("/spec/versions/0/additionalPrinterColumns", json!([])),
        ("/spec/versions/0/additionalPrinterColumns", json!([{"name": "A", "type": "string", "jsonPath": ".a"}])),
        ("/spec/versions/0/additionalPrinterColumns/0/priority", json!(0)),
        ("/spec/versions/0/selectableFields", json!([])),
        ("/spec/preserveUnknownFields", json!(false)),
        ("/spec/conversion", json!({"strategy": "None"})),
        ("/spec/names/shortNames", json!([])),
        ("/spec/names/categories", json!([])),
        ("/spec/names/singular", json!("pair")),
        ("/spec/names/listKind", json!("")),
    ]);
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "pairs", "namespace": "default"},
        "spec": {"hard": {"pods": "1000", "limits.cpu": "1"}}});
    let quotas = some(&[
        ("/spec/hard/pods", json!("1k")),
        ("/spec/hard/pods", json!(1000)),
        ("/spec/hard/pods", json!("0")),
        ("/spec/hard/limits.cpu", json!("1000m")),
        ("/spec/hard/limits.cpu", json!("1.0")),
        ("/spec/hard/limits.memory", json!("0.5Gi")),
        ("/spec/hard/limits.memory", json!("512Mi")),
        ("/spec/hard/limits.memory", json!("536870912")),
        ("/spec/scopes", json!([])),
        ("/spec/scopeSelector", json!({})),
        ("/spec/scopeSelector", json!({"matchExpressions": [{"scopeName": "PriorityClass", "operator": "Exists"}]})),
        ("/spec/scopeSelector/matchExpressions/0/values", json!([])),
    ]);
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "pairs", "namespace": "default"},
        "spec": {"selector": {"app": "a"}, "ports": [{"port": 80, "name": "http"}]}});
    let services = some(&[
        ("/spec/ports/0/protocol", json!("TCP")),
        ("/spec/ports/0/targetPort", json!(80)),
        ("/spec/ports/0/targetPort", json!("http")),
        ("/spec/ports/0/nodePort", json!(0)),
        ("/spec/ports/0/appProtocol", json!("")),
        ("/spec/ports/1", json!({"port": 81, "name": "more"})),
        ("/spec/sessionAffinity", json!("None")),
        ("/spec/externalIPs", json!([])),
        ("/spec/publishNotReadyAddresses", json!(false)),
        ("/spec/selector", json!({})),
        ("/spec/internalTrafficPolicy", json!("Cluster")),
        ("/spec/type", json!("ClusterIP")),
        ("/spec/type", json!("")),
        ("/spec/clusterIP", json!("")),
        ("/spec/ipFamilies", json!([])),
    ]);
    let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "pairs", "namespace": "default"},
        "data": {"a": "1"}});
    let configs = some(&[
        ("/data/b", json!("")),
        ("/data", json!({})),
        ("/binaryData", json!({})),
        ("/binaryData", json!({"c": ""})),
        ("/immutable", json!(false)),
        ("/metadata/labels", json!({})),
        ("/metadata/labels", json!({"a": ""})),
    ]);
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "pairs", "namespace": "default"},
        "imagePullSecrets": [{"name": "a"}]});
    let accounts = some(&[
        ("/imagePullSecrets", json!([])),
        ("/imagePullSecrets/0", json!({})),
        ("/imagePullSecrets/1", json!({"name": "b"})),
        ("/automountServiceAccountToken", json!(false)),
        ("/secrets", json!([])),
    ]);
    let pairs = vec![
        (deployment, deployments),
        (policy, policies),
        (role, roles),
        (definition, definitions),
        (quota, quotas),
        (service, services),
        (config, configs),
        (account, accounts),
    ];
    pairs.into_iter().map(|(base, edits)| Manifest { base, edits }).collect()
}

/// Additions and removals by a patch are either detected or no change: after applying one manifest, a forced dry run of
/// any other manifest that is called unchanged changes nothing.
async fn a_manifest_called_unchanged_after_another_one_is_unchanged_for_a_dry_run(cluster: TestCluster) {
    let world = World::with(&cluster, Options::api_server_only()).await;
    let manifests = manifests();
    let mut dice = Dice(26);
    let (mut pairs, mut proved, mut wrong) = (0, 0, vec![]);
    for round in 0..240 {
        let manifest = &manifests[round % manifests.len()];
        let first: Vec<bool> = manifest.edits.iter().map(|_| dice.roll(5) == 0).collect();
        // Many combinations are refused; that is the API server's affair.
        let Ok(live) = world.cluster.apply(&manifest.with(&first), WriteOptions::forced("flux-operator")).await else {
            continue;
        };
        for _ in 0..40 {
            let mut second = first.clone();
            for _ in 0..dice.roll(3) {
                let index = dice.roll(second.len());
                second[index] = !second[index];
            }
            let desired = manifest.with(&second);
            pairs += 1;
            if !no_change_proof::holds(&desired, &live, &[]) {
                continue;
            }
            proved += 1;
            let changed = match world.cluster.apply(&desired, WriteOptions::forced("flux-operator").dry_run()).await {
                Ok(result) => format!("{:?}", plan::changes(&live, &result)),
                Err(error) => error.to_string(),
            };
            if changed != "[]" {
                let flipped = manifest.edits.iter().zip(first.iter().zip(&second)).filter(|(_, (a, b))| a != b);
                let flipped: Vec<_> =
                    flipped.map(|((at, value), (_, now))| format!("{at} = {value:?}: {now}")).collect();
                wrong.push(format!("{} {flipped:?}: {changed}", ObjectId::of(&desired)));
            }
        }
    }
    eprintln!("{pairs} pairs, {proved} called unchanged");
    wrong.sort();
    wrong.dedup();
    assert!(wrong.is_empty(), "{} of {proved} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(pairs > 3000 && proved > 500, "{pairs} pairs, {proved} called unchanged");
}

/// An instance with edits of its spec that change almost nothing in its build.
fn instances() -> Manifest {
    let base = json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
        "metadata": {"name": "flux", "namespace": NAMESPACE}, "spec": {
            "distribution": {"version": "2.9.x", "registry": "ghcr.io/fluxcd"}, "wait": false, "cluster": {},
            "components": ["source-controller", "kustomize-controller"], "kustomize": {"patches": []},
            "sync": {"kind": "GitRepository", "url": "https://example.com/a.git", "ref": "main", "path": "a"}}});
    let mut edits: Vec<(&'static str, Option<Value>)> = [
        ("/spec/cluster/size", json!("small")),
        ("/spec/cluster/size", json!("medium")),
        ("/spec/cluster/networkPolicy", json!(false)),
        ("/spec/cluster/multitenant", json!(true)),
        ("/spec/cluster/tenantDefaultServiceAccount", json!("")),
        ("/spec/cluster/domain", json!("")),
        ("/spec/commonMetadata", json!({})),
        ("/spec/commonMetadata", json!({"labels": {"a": ""}, "annotations": {}})),
        ("/spec/commonMetadata", json!({"annotations": {"a": ""}})),
        ("/spec/storage", json!({"class": "standard", "size": "1024Mi"})),
        ("/spec/storage/size", json!("1Gi")),
        ("/spec/sharding", json!({"shards": ["s1"]})),
        ("/spec/sync/pullSecret", json!("")),
        ("/spec/sync/interval", json!("60s")),
        ("/spec/sync/path", json!("")),
        ("/spec/distribution/imagePullSecret", json!("")),
        ("/spec/distribution/imagePullSecret", json!("pull")),
    ]
    .map(|(at, value)| (at, Some(value)))
    .into();
    let affinity = |term: Value| json!({"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": term}]}});
    let selector = json!({"matchLabels": {"app": "a"}});
    for (kind, at, value) in [
        (
            "Deployment",
            "/spec/template/spec/affinity",
            affinity(json!({"topologyKey": "h", "labelSelector": selector})),
        ),
        (
            "Deployment",
            "/spec/template/spec/affinity",
            affinity(json!({"topologyKey": "h", "labelSelector": selector, "namespaceSelector": {}})),
        ),
        (
            "Deployment",
            "/spec/template/spec/affinity",
            affinity(json!({"topologyKey": "h", "labelSelector": selector, "namespaces": []})),
        ),
        ("Deployment", "/spec/template/spec/tolerations", json!([])),
        ("Deployment", "/spec/template/spec/tolerations", json!([{"operator": "Exists", "effect": "NoExecute"}])),
        (
            "Deployment",
            "/spec/template/spec/tolerations",
            json!([{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}]),
        ),
        ("Deployment", "/spec/template/spec/hostNetwork", json!(false)),
        ("Deployment", "/spec/template/spec/nodeSelector", json!({})),
        ("Deployment", "/spec/template/spec/imagePullSecrets", json!([])),
        ("Deployment", "/spec/template/spec/terminationGracePeriodSeconds", json!(0)),
        ("Deployment", "/spec/template/spec/containers/0/env/-", json!({"name": "E"})),
        ("Deployment", "/spec/template/spec/containers/0/env/-", json!({"name": "E", "value": ""})),
        ("Deployment", "/spec/template/spec/containers/0/securityContext/capabilities/add", json!([])),
        ("Deployment", "/spec/replicas", json!(0)),
        ("Deployment", "/spec/replicas", json!(1)),
        ("NetworkPolicy", "/spec/egress", json!([])),
        ("NetworkPolicy", "/spec/ingress", json!([])),
        ("NetworkPolicy", "/spec/ingress", json!([{}])),
        ("NetworkPolicy", "/spec/ingress", json!([{"from": [{"podSelector": {}}]}])),
        ("NetworkPolicy", "/spec/ingress", json!([{"from": [{"podSelector": {}, "namespaceSelector": {}}]}])),
        ("ServiceAccount", "/automountServiceAccountToken", json!(false)),
        ("Service", "/spec/ports/0/appProtocol", json!("")),
        ("ResourceQuota", "/spec/hard/pods", json!("1k")),
        ("GitRepository", "/spec/recurseSubmodules", json!(false)),
        ("GitRepository", "/spec/ignore", json!("")),
        ("Kustomization", "/spec/postBuild", json!({})),
        ("Kustomization", "/spec/dependsOn", json!([])),
        ("Kustomization", "/spec/wait", json!(false)),
    ] {
        let patch = json!([{"op": "add", "path": at, "value": value}]).to_string();
        // Behind the patches that are there.
        edits.push(("/spec/kustomize/patches/99", Some(json!({"target": {"kind": kind}, "patch": patch}))));
    }
    Manifest { base, edits }
}

/// Returns the build of an instance, if its spec can be built.
fn built(world: &World, instance: &Value) -> Option<Vec<Value>> {
    let instance = FluxInstance::from_object(instance.clone()).ok()?;
    let checked = CheckedInstance::check(instance).ok()?;
    Some(build(&checked, &world.distribution, &BuildOptions::default()).ok()?.objects)
}

/// From one spec of an instance to another: an object that is called unchanged, by the proof before the run or by the run when
/// it is done, is unchanged for a forced dry run.
async fn a_dry_run_shows_no_change_where_the_spec_changes_nothing(cluster: TestCluster) {
    let world = World::with(&cluster, Options::api_server_only()).await;
    let instances = instances();
    let mut dice = Dice(9);
    let mut roll = |sides| dice.roll(sides);
    world.instance(instances.base["spec"].clone()).await;
    let (mut specs, mut pairs, mut proved, mut wrong) = (0, 0, 0, vec![]);
    for _ in 0..50 {
        let first: Vec<bool> = instances.edits.iter().map(|_| roll(8) == 0).collect();
        let manifest = instances.with(&first);
        let Some(before) = built(&world, &manifest) else { continue };
        // Some specs, and objects of some, are refused; that is the API server's affair.
        if world.cluster.apply(&manifest, WriteOptions::forced("test-author")).await.is_err()
            || !world.run().await.unwrap().is_ready()
        {
            continue;
        }
        specs += 1;
        let mut live = BTreeMap::new();
        for object in &before {
            let id = ObjectId::of(object);
            let stored = world.cluster.read(&id).await.unwrap().unwrap_or_else(|| panic!("{id} is gone"));
            live.insert(id, stored);
        }
        for nth in 0..14 {
            let mut second = first.clone();
            for _ in 0..nth.min(3) {
                let index = roll(second.len());
                second[index] = !second[index];
            }
            let Some(after) = built(&world, &instances.with(&second)) else { continue };
            // The first of them is the same spec: the run that has just ended said that it is all in place.
            let mut after: Vec<Value> = after.into_iter().filter(|one| nth == 0 || !before.contains(one)).collect();
            after.retain(|one| one["kind"] != "CustomResourceDefinition");
            for desired in after {
                let id = ObjectId::of(&desired);
                let Some(live) = live.get(&id) else { continue };
                pairs += 1;
                if nth > 0 && !no_change_proof::holds(&desired, live, &[]) {
                    continue;
                }
                proved += 1;
                let changed = match world.cluster.apply(&desired, WriteOptions::forced("flux-operator").dry_run()).await
                {
                    Ok(result) => format!("{:?}", plan::changes(live, &result)),
                    Err(error) => error.to_string(),
                };
                if changed != "[]" {
                    let flipped = instances.edits.iter().zip(first.iter().zip(&second)).filter(|(_, (a, b))| a != b);
                    let flipped: Vec<_> =
                        flipped.map(|((at, value), (_, now))| format!("{at} = {value:?}: {now}")).collect();
                    wrong.push(format!("{id} {flipped:?}: {changed}"));
                }
            }
        }
    }
    eprintln!("{specs} specs, {pairs} pairs of objects, {proved} called unchanged");
    assert!(wrong.is_empty(), "{} of {proved} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(specs > 15 && pairs > 800 && proved > 250, "{specs} specs, {pairs} pairs, {proved} called unchanged");
}
