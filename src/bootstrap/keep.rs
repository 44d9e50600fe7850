//! Patches that keep the user's changes to an installation.
//!
//! Strategic merge patches find containers and volumes by name, so that they still apply after an upgrade. They replace
//! a list of flags as a whole, so flags are added by JSON patch.

use serde_json::{Map, Value, json};

use super::changes::{differences, sort_of};
use crate::api::{KustomizePatch, PatchTarget};
use crate::format::yaml;
use crate::k8s::diff::{self, Segment};
use crate::k8s::{ObjectId, fields};
use crate::reconcile::Plan;

/// Lists whose items strategic merge patches find by a field.
const KEYED: &[(&str, &str)] = &[
    ("containers", "name"),
    ("initContainers", "name"),
    ("env", "name"),
    ("volumes", "name"),
    ("volumeMounts", "mountPath"),
    ("imagePullSecrets", "name"),
    ("hostAliases", "ip"),
];
const ARGUMENTS: &str = "/spec/template/spec/containers/0/args";

/// Returns patches that keep live objects as they are where a plan would change them.
pub(super) fn patches(plan: &Plan) -> Vec<KustomizePatch> {
    let compared = plan.objects.iter().filter_map(|one| Some((one.live.as_ref()?, one.result.as_ref()?)));
    compared.flat_map(|(live, result)| patches_of(live, result)).collect()
}

/// Returns patches that keep a live object as it is although an apply would turn it into `result`.
pub(super) fn patches_of(live: &Value, result: &Value) -> Vec<KustomizePatch> {
    let object = ObjectId::of(live);
    let (from, to) = (diff::comparable(live), diff::comparable(result));
    let mut merge = Value::Object(Map::new());
    let mut operations = vec![];
    for change in differences(&from, &to) {
        let path = diff::path_text(if change.from.is_some() { &from } else { &to }, &change.path);
        let field = path.rsplit('.').next().unwrap_or_default();
        if sort_of(&path, change.from, change.to).is_some() || field == "image" {
            continue;
        }
        match (field, change.from, change.to) {
            ("args", Some(before), Some(after)) => operations.extend(argument_operations(before, after)),
            _ => keep(&mut merge, (&from, &to), &change.path, change.from, change.to),
        }
    }
    let target = PatchTarget {
        group: Some(object.group.clone()).filter(|group| !group.is_empty()),
        kind: Some(object.kind.clone()),
        name: Some(object.name.clone()),
        ..PatchTarget::default()
    };
    let mut patches = vec![];
    if merge.as_object().is_some_and(|merge| !merge.is_empty()) {
        let head = json!({"apiVersion": fields::text(live, "/apiVersion"), "kind": object.kind,
            "metadata": {"name": object.name}});
        patches.push(merged(head, merge));
    }
    if !operations.is_empty() {
        patches.push(Value::Array(operations));
    }
    let text = |patch: Value| yaml::to_string(&patch).unwrap_or_default();
    patches.into_iter().map(|patch| KustomizePatch { patch: text(patch), target: Some(target.clone()) }).collect()
}

fn merged(mut head: Value, rest: Value) -> Value {
    for (key, value) in rest.as_object().cloned().unwrap_or_default() {
        match (head.get_mut(&key), value) {
            (Some(Value::Object(there)), Value::Object(more)) => there.extend(more),
            (_, value) => drop(head.as_object_mut().map(|head| head.insert(key, value))),
        }
    }
    head
}

/// Adds flags that only the live controller has, and restores the live value of flags with another value.
fn argument_operations(before: &Value, after: &Value) -> Vec<Value> {
    let texts = |list: &Value| -> Vec<String> {
        list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let name = |flag: &str| flag.split('=').next().unwrap_or_default().to_owned();
    let (before, after) = (texts(before), texts(after));
    let mut operations = vec![];
    for flag in before.iter().filter(|flag| !after.contains(flag)) {
        // `--feature-gates` may be repeated, so it is added.
        let other = after.iter().position(|other| name(other) == name(flag) && !before.contains(other));
        operations.push(match other.filter(|_| name(flag) != "--feature-gates") {
            Some(index) => json!({"op": "replace", "path": format!("{ARGUMENTS}/{index}"), "value": flag}),
            None => json!({"op": "add", "path": format!("{ARGUMENTS}/-"), "value": flag}),
        });
    }
    operations
}

/// Adds a change to a strategic merge patch, with the live value.
fn keep(
    patch: &mut Value,
    (from, to): (&Value, &Value),
    path: &[Segment],
    live: Option<&Value>,
    built: Option<&Value>,
) {
    let Some((first, rest)) = path.split_first() else { return };
    let Segment::Key(key) = first else { return };
    let Some(patch) = patch.as_object_mut() else { return };
    let (below_from, below_to) = (from.get(key).unwrap_or(&Value::Null), to.get(key).unwrap_or(&Value::Null));
    let item_key = KEYED.iter().find(|(list, _)| list == key).map(|(_, by)| *by);
    match (rest.split_first(), item_key) {
        (None, item_key) => {
            let kept = kept_value(live, built, item_key);
            patch.insert(key.clone(), kept);
        }
        (Some((Segment::Index(index), rest)), Some(by)) => {
            let (Some(live_item), Some(built_item)) = (below_from.get(index), below_to.get(index)) else { return };
            let list = patch.entry(key.clone()).or_insert_with(|| json!([]));
            let Some(list) = list.as_array_mut() else { return };
            let position = list.iter().position(|item| item.get(by) == live_item.get(by)).unwrap_or_else(|| {
                list.push(json!({by: live_item.get(by)}));
                list.len() - 1
            });
            if let Some(item) = list.get_mut(position) {
                keep(item, (live_item, built_item), rest, live, built);
            }
        }
        // The items have no key, so the patch contains the whole list.
        (Some((Segment::Index(_), _)), None) => drop(patch.insert(key.clone(), below_from.clone())),
        (Some((Segment::Key(_), _)), _) => {
            let deeper = patch.entry(key.clone()).or_insert_with(|| json!({}));
            keep(deeper, (below_from, below_to), rest, live, built);
        }
    }
}

/// Returns the live value, or the patch that removes the built one.
fn kept_value(live: Option<&Value>, built: Option<&Value>, item_key: Option<&str>) -> Value {
    match (live, built, item_key) {
        (None, ..) => Value::Null,
        (Some(Value::Array(live)), Some(Value::Array(built)), Some(by)) => {
            let is_gone = |item: &&Value| !live.iter().any(|other| other.get(by) == item.get(by));
            let gone = built.iter().filter(is_gone).map(|item| json!({by: item.get(by), "$patch": "delete"}));
            live.iter().cloned().chain(gone).collect()
        }
        (Some(live), ..) => live.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(live: Value, result: Value) -> Vec<(Value, PatchTarget)> {
        let parse = |patch: KustomizePatch| (yaml::parse_one(&patch.patch).unwrap(), patch.target.unwrap());
        patches_of(&live, &result).into_iter().map(parse).collect()
    }

    fn deployment(pod: Value) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "source-controller", "namespace": "fs"},
            "spec": {"replicas": 1, "template": {"spec": pod}}})
    }

    #[test]
    fn tolerations_resources_and_volumes_become_one_merge_patch_and_flags_a_json_patch() {
        let live = deployment(json!({
            "tolerations": [{"key": "node", "operator": "Exists"}],
            "containers": [{"name": "manager", "image": "g/a:v1", "args": ["--a", "--log-level=debug", "--concurrent=20"],
                "resources": {"limits": {"memory": "2Gi"}}}],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
        }));
        let built = deployment(json!({
            "containers": [{"name": "manager", "image": "g/a:v1@sha256:00", "args": ["--a", "--log-level=info"],
                "resources": {"limits": {"memory": "1Gi"}}}],
            "volumes": [{"name": "data", "emptyDir": {}}],
        }));
        let found = planned(live, built);
        assert_eq!(found.len(), 2);
        let (merge, target) = &found[0];
        assert_eq!((target.kind.as_deref(), target.name.as_deref()), (Some("Deployment"), Some("source-controller")));
        let pod = &merge["spec"]["template"]["spec"];
        assert_eq!(pod["tolerations"], json!([{"key": "node", "operator": "Exists"}]));
        assert_eq!(pod["containers"], json!([{"name": "manager", "resources": {"limits": {"memory": "2Gi"}}}]));
        let volume = json!([{"name": "data", "persistentVolumeClaim": {"claimName": "data"}, "emptyDir": null}]);
        assert_eq!(pod["volumes"], volume);
        assert_eq!(
            found[1].0,
            json!([
                {"op": "replace", "path": "/spec/template/spec/containers/0/args/1", "value": "--log-level=debug"},
                {"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "--concurrent=20"},
            ])
        );
    }

    #[test]
    fn a_variable_that_is_added_does_not_take_the_others_along() {
        let with = |env: Value| deployment(json!({"containers": [{"name": "manager", "env": env}]}));
        let found = planned(
            with(json!([{"name": "A", "value": "1"}, {"name": "HTTPS_PROXY", "value": "p"}])),
            with(json!([{"name": "A", "value": "1"}, {"name": "B", "value": "2"}, {"name": "C", "value": "3"}])),
        );
        let env = &found[0].0["spec"]["template"]["spec"]["containers"][0]["env"];
        let names: Vec<&str> = env.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["A", "HTTPS_PROXY", "B", "C"]);
        assert_eq!(env[2]["$patch"], "delete");
    }

    #[test]
    fn labels_of_tools_are_not_kept_and_annotations_of_users_are() {
        let account = |metadata: Value| json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata});
        let live = account(json!({"name": "s", "annotations": {"eks.amazonaws.com/role-arn": "arn"},
            "labels": {"kustomize.toolkit.fluxcd.io/name": "flux-system", "app.kubernetes.io/version": "v1"}}));
        let built = account(
            json!({"name": "s", "labels": {"app.kubernetes.io/version": "v1", "fluxcd.controlplane.io/name": "flux"}}),
        );
        let found = planned(live, built);
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].0,
            json!({"apiVersion": "v1", "kind": "ServiceAccount",
                "metadata": {"name": "s", "annotations": {"eks.amazonaws.com/role-arn": "arn"}}})
        );
    }
}
