//! The content of a build, option by option.

use std::collections::BTreeSet;

use super::*;

/// An instance with a spec merged over the smallest one: Flux 2.9.4 from its own registry.
fn instance(spec: Value) -> Result<CheckedInstance, BuildError> {
    let mut object = json!({
        "apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
        "metadata": {"name": "flux", "namespace": "flux-system"},
        "spec": {"distribution": {"version": "2.9.4", "registry": "ghcr.io/fluxcd"}},
    });
    overlay(&mut object["spec"], spec);
    Ok(CheckedInstance::check(serde_json::from_value(object).unwrap())?)
}

fn overlay(base: &mut Value, over: Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                overlay(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, over) => *base = over,
    }
}

fn built(spec: Value) -> Build {
    build(&instance(spec).unwrap(), &Distribution::embedded(), &BuildOptions::default()).unwrap()
}

fn failure(spec: Value) -> String {
    let built = instance(spec).and_then(|it| build(&it, &Distribution::embedded(), &BuildOptions::default()));
    built.unwrap_err().to_string()
}

fn strict(spec: Value) -> Result<Build, BuildError> {
    build(&instance(spec)?, &Distribution::embedded(), &BuildOptions { strict: true, ..Default::default() })
}

fn ids(build: &Build) -> BTreeSet<String> {
    build.objects.iter().map(|object| format!("{}/{}", kind(object), name(object))).collect()
}

fn added(spec: Value) -> Vec<String> {
    let (base, with) = (ids(&built(json!({}))), ids(&built(spec)));
    assert!(base.is_subset(&with), "something is gone");
    with.difference(&base).cloned().collect()
}

fn removed(spec: Value) -> Vec<String> {
    let (base, with) = (ids(&built(json!({}))), ids(&built(spec)));
    assert!(with.is_subset(&base), "something is new");
    base.difference(&with).cloned().collect()
}

fn find<'a>(build: &'a Build, id: &str) -> &'a Value {
    let (wanted_kind, wanted_name) = id.split_once('/').unwrap();
    let found = build.objects.iter().find(|object| kind(object) == wanted_kind && name(object) == wanted_name);
    found.unwrap_or_else(|| panic!("no {id} in {:?}", ids(build)))
}

fn args(build: &Build, deployment: &str) -> Vec<String> {
    let container = &find(build, &format!("Deployment/{deployment}"))["spec"]["template"]["spec"]["containers"][0];
    serde_json::from_value(container["args"].clone()).unwrap()
}

fn pod<'a>(build: &'a Build, deployment: &str) -> &'a Value {
    &find(build, &format!("Deployment/{deployment}"))["spec"]["template"]["spec"]
}

fn deployments(build: &Build) -> Vec<&Value> {
    build.objects.iter().filter(|object| kind(object) == "Deployment").collect()
}

const ALL: [&str; 7] = [
    "source-controller",
    "kustomize-controller",
    "helm-controller",
    "notification-controller",
    "image-reflector-controller",
    "image-automation-controller",
    "source-watcher",
];

const EVENTS: &str = "--events-addr=http://notification-controller.flux-system.svc.cluster.local./";
const BASE: [&str; 5] =
    [EVENTS, "--watch-all-namespaces=true", "--log-level=info", "--log-encoding=json", "--enable-leader-election"];

fn base_and(more: &[&str]) -> Vec<String> {
    BASE.iter().chain(more).map(|arg| arg.to_string()).collect()
}

// ---- the default instance and the table of options ----

#[test]
fn the_default_instance_has_32_objects() {
    let build = built(json!({}));
    assert_eq!(build.objects.len(), 32);
    let crds = [
        "alerts",
        "buckets",
        "externalartifacts",
        "gitrepositories",
        "helmcharts",
        "helmreleases",
        "helmrepositories",
        "kustomizations",
        "ocirepositories",
        "providers",
        "receivers",
    ];
    let found: Vec<_> = build
        .objects
        .iter()
        .filter(|o| kind(o) == "CustomResourceDefinition")
        .map(|o| name(o).split('.').next().unwrap().to_string())
        .collect();
    let mut sorted = found.clone();
    sorted.sort();
    assert_eq!(sorted, crds);
    let rest: BTreeSet<_> = ids(&build).into_iter().filter(|id| !id.starts_with("CustomResourceDefinition/")).collect();
    let expected = [
        "Namespace/flux-system",
        "ClusterRole/crd-controller-flux-system",
        "ClusterRole/flux-edit-flux-system",
        "ClusterRole/flux-view-flux-system",
        "ClusterRoleBinding/cluster-reconciler-flux-system",
        "ClusterRoleBinding/crd-controller-flux-system",
        "ResourceQuota/critical-pods-flux-system",
        "ServiceAccount/source-controller",
        "ServiceAccount/kustomize-controller",
        "ServiceAccount/helm-controller",
        "ServiceAccount/notification-controller",
        "Service/notification-controller",
        "Service/source-controller",
        "Service/webhook-receiver",
        "Deployment/source-controller",
        "Deployment/kustomize-controller",
        "Deployment/helm-controller",
        "Deployment/notification-controller",
        "NetworkPolicy/allow-egress",
        "NetworkPolicy/allow-scraping",
        "NetworkPolicy/allow-webhooks",
    ];
    assert_eq!(rest, expected.iter().map(|id| id.to_string()).collect());
    assert!(build.warnings.is_empty() && build.patches.is_empty());
    assert_eq!((build.version.name.as_str(), build.newer.clone()), ("v2.9.4", None));
}

#[test]
fn image_components_add_their_objects() {
    let mut components = ALL[..5].to_vec();
    assert_eq!(
        added(json!({"components": components})),
        [
            "CustomResourceDefinition/imagepolicies.image.toolkit.fluxcd.io",
            "CustomResourceDefinition/imagerepositories.image.toolkit.fluxcd.io",
            "Deployment/image-reflector-controller",
            "ServiceAccount/image-reflector-controller"
        ]
    );
    components[4] = "image-automation-controller";
    assert_eq!(
        added(json!({"components": components})),
        [
            "CustomResourceDefinition/imageupdateautomations.image.toolkit.fluxcd.io",
            "Deployment/image-automation-controller",
            "ServiceAccount/image-automation-controller"
        ]
    );
}

#[test]
fn source_watcher_adds_its_objects_and_the_gates_that_use_it() {
    let mut components = ALL[..4].to_vec();
    components.push("source-watcher");
    let spec = json!({"components": components});
    assert_eq!(
        added(spec.clone()),
        [
            "CustomResourceDefinition/artifactgenerators.source.extensions.fluxcd.io",
            "Deployment/source-watcher",
            "Service/source-watcher",
            "ServiceAccount/source-watcher"
        ]
    );
    let build = built(spec);
    for (deployment, gated) in [
        ("kustomize-controller", true),
        ("helm-controller", true),
        ("source-controller", false),
        ("source-watcher", false),
    ] {
        assert_eq!(
            args(&build, deployment).contains(&"--feature-gates=ExternalArtifact=true".to_string()),
            gated,
            "{deployment}"
        );
    }
    assert_eq!(built(json!({"components": ALL})).objects.len(), 43);
}

#[test]
fn without_network_policy_there_are_no_policies() {
    assert_eq!(
        removed(json!({"cluster": {"networkPolicy": false}})),
        ["NetworkPolicy/allow-egress", "NetworkPolicy/allow-scraping", "NetworkPolicy/allow-webhooks"]
    );
}

#[test]
fn storage_adds_a_claim_and_mounts_it() {
    let spec = json!({"storage": {"class": "standard", "size": "10Gi"}});
    assert_eq!(added(spec.clone()), ["PersistentVolumeClaim/source-controller"]);
    let build = built(spec);
    let claim = find(&build, "PersistentVolumeClaim/source-controller");
    assert_eq!(
        claim["spec"],
        json!({"accessModes": ["ReadWriteOnce"], "storageClassName": "standard", "resources": {"requests": {"storage": "10Gi"}}})
    );
    assert_eq!(claim["metadata"]["namespace"], "flux-system");
    let pod = pod(&build, "source-controller");
    let volumes: Vec<_> = pod["volumes"].as_array().unwrap().iter().map(|v| v["name"].as_str().unwrap()).collect();
    assert_eq!(volumes, ["data", "tmp", "persistent-data"]);
    assert_eq!(pod["volumes"][2]["persistentVolumeClaim"]["claimName"], "source-controller");
    let mounts: Vec<_> = pod["containers"][0]["volumeMounts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| format!("{}:{}", m["name"].as_str().unwrap(), m["mountPath"].as_str().unwrap()))
        .collect();
    assert_eq!(mounts, ["persistent-data:/data", "tmp:/tmp"]);
}

#[test]
fn sync_adds_a_source_and_a_kustomization() {
    let spec = json!({"sync": {"kind": "GitRepository", "url": "https://example.com/fleet.git", "ref": "refs/heads/main", "path": "clusters/a", "pullSecret": "auth", "provider": "github"}});
    assert_eq!(added(spec.clone()), ["GitRepository/flux-system", "Kustomization/flux-system"]);
    let build = built(spec);
    let source = find(&build, "GitRepository/flux-system");
    assert_eq!(source["apiVersion"], "source.toolkit.fluxcd.io/v1");
    assert_eq!(
        source["spec"],
        json!({"interval": "1m0s", "ref": {"name": "refs/heads/main"}, "url": "https://example.com/fleet.git", "provider": "github", "secretRef": {"name": "auth"}})
    );
    assert_eq!(
        find(&build, "Kustomization/flux-system")["spec"],
        json!({"interval": "10m0s", "path": "clusters/a", "prune": true, "sourceRef": {"kind": "GitRepository", "name": "flux-system"}})
    );
}

#[test]
fn sync_sources_follow_kind_name_interval_and_flux_version() {
    let oci = |version: &str| json!({"distribution": {"version": version}, "sync": {"kind": "OCIRepository", "name": "fleet", "interval": "5m", "url": "oci://ghcr.io/a/b", "ref": "1.10", "path": "./"}});
    let build = built(oci("2.6.0"));
    let source = find(&build, "OCIRepository/fleet");
    assert_eq!(source["apiVersion"], "source.toolkit.fluxcd.io/v1");
    // `1.10` is text: written out as YAML it must not become a number.
    assert_eq!(source["spec"], json!({"interval": "5m0s", "ref": {"tag": "1.10"}, "url": "oci://ghcr.io/a/b"}));
    assert_eq!(find(&build, "Kustomization/fleet")["metadata"]["namespace"], "flux-system");
    assert_eq!(find(&built(oci("2.5.1")), "OCIRepository/fleet")["apiVersion"], "source.toolkit.fluxcd.io/v1beta2");

    let bucket = built(
        json!({"distribution": {"version": "2.3.0"}, "sync": {"kind": "Bucket", "url": "minio.example.com", "ref": "fleet", "path": "a", "provider": "aws"}}),
    );
    let source = find(&bucket, "Bucket/flux-system");
    assert_eq!(source["apiVersion"], "source.toolkit.fluxcd.io/v1beta2");
    assert_eq!(
        source["spec"],
        json!({"interval": "1m0s", "bucketName": "fleet", "endpoint": "minio.example.com", "provider": "aws"})
    );
}

#[test]
fn a_shard_adds_controllers_a_service_and_perhaps_a_claim() {
    let shard = ["Deployment/helm-controller-s", "Deployment/kustomize-controller-s", "Deployment/source-controller-s"];
    let mut expected: Vec<String> = shard.iter().map(|id| id.to_string()).collect();
    expected.push("Service/source-controller-s".into());
    assert_eq!(added(json!({"sharding": {"shards": ["s"]}})), expected);
    let storage = json!({"class": "standard", "size": "10Gi"});
    expected.insert(3, "PersistentVolumeClaim/source-controller-s".into());
    expected.insert(3, "PersistentVolumeClaim/source-controller".into());
    assert_eq!(added(json!({"sharding": {"shards": ["s"], "storage": "persistent"}, "storage": storage})), expected);
}

#[test]
fn another_namespace_reaches_names_labels_subjects_and_addresses() {
    let spec = json!({"sync": {"kind": "GitRepository", "url": "https://x", "ref": "main", "path": "a"}});
    let mut instance = instance(spec).unwrap().into_inner();
    instance.metadata.namespace = Some("other".into());
    let instance = CheckedInstance::check(instance).unwrap();
    let build = build(&instance, &Distribution::embedded(), &BuildOptions::default()).unwrap();
    let ids = ids(&build);
    for id in [
        "Namespace/other",
        "ClusterRole/crd-controller-other",
        "ClusterRoleBinding/cluster-reconciler-other",
        "ResourceQuota/critical-pods-other",
        "GitRepository/other",
        "Kustomization/other",
    ] {
        assert!(ids.contains(id), "{id}");
    }
    let binding = find(&build, "ClusterRoleBinding/crd-controller-other");
    assert_eq!(binding["roleRef"]["name"], "crd-controller-other");
    assert_eq!(binding["subjects"].as_array().unwrap().len(), 7);
    assert!(binding["subjects"].as_array().unwrap().iter().all(|subject| subject["namespace"] == "other"));
    assert_eq!(find(&build, "ClusterRoleBinding/cluster-reconciler-other")["roleRef"]["name"], "cluster-admin");
    assert_eq!(
        args(&build, "helm-controller")[0],
        "--events-addr=http://notification-controller.other.svc.cluster.local./"
    );
    assert!(!serde_json::to_string(&build.objects).unwrap().contains("flux-system"));
    for object in &build.objects {
        assert_eq!(object["metadata"]["labels"]["app.kubernetes.io/instance"], "other");
        assert_eq!(object["metadata"]["labels"]["fluxcd.controlplane.io/namespace"], "other");
    }
}

#[test]
fn the_token_permission_needs_object_level_workload_identity() {
    let rules = |build: &Build| find(build, "ClusterRole/crd-controller-flux-system")["rules"].clone();
    let has_tokens = |build: &Build| rules(build).to_string().contains("serviceaccounts/token");
    assert!(!has_tokens(&built(json!({}))));
    let with = built(json!({"cluster": {"objectLevelWorkloadIdentity": true}}));
    let rules = rules(&with);
    let last: Vec<_> = rules.as_array().unwrap().iter().rev().take(3).cloned().collect();
    assert_eq!(last[0], json!({"apiGroups": ["fluxcd.controlplane.io"], "resources": ["*"], "verbs": ["*"]}));
    assert_eq!(last[1]["nonResourceURLs"], json!(["/livez/ping"]));
    assert_eq!(last[2]["resources"], json!(["serviceaccounts/token"]));
    assert!(!has_tokens(&built(json!({"distribution": {"version": "2.6.0"}}))));
    assert!(has_tokens(&built(
        json!({"distribution": {"version": "2.6.0"}, "cluster": {"objectLevelWorkloadIdentity": true}})
    )));
}

// ---- arguments, in the reference operator's order ----

#[test]
fn the_default_arguments_end_with_the_identity_gate() {
    let build = built(json!({}));
    let gate = "--feature-gates=ObjectLevelWorkloadIdentity=false";
    assert_eq!(args(&build, "kustomize-controller"), base_and(&[gate]));
    assert_eq!(args(&build, "helm-controller"), base_and(&[gate]));
    assert_eq!(
        args(&build, "source-controller"),
        base_and(&[
            "--storage-path=/data",
            "--storage-adv-addr=source-controller.$(RUNTIME_NAMESPACE).svc.cluster.local.",
            gate
        ])
    );
    assert_eq!(
        args(&build, "notification-controller"),
        ["--watch-all-namespaces=true", "--log-level=info", "--log-encoding=json", "--enable-leader-election", gate]
    );
}

#[test]
fn sharded_source_controllers_have_the_reference_arguments_and_volumes() {
    let build = built(
        json!({"components": ALL, "sharding": {"shards": ["s1", "s2"], "storage": "persistent"}, "storage": {"class": "standard", "size": "10Gi"}}),
    );
    let gate = "--feature-gates=ObjectLevelWorkloadIdentity=false";
    let main_address = "--storage-adv-addr=source-controller.$(RUNTIME_NAMESPACE).svc.cluster.local.";
    assert_eq!(
        args(&build, "source-controller-s1"),
        base_and(&[
            "--storage-path=/data",
            main_address,
            "--storage-adv-addr=source-controller-s1.$(RUNTIME_NAMESPACE).svc.cluster.local.",
            "--watch-label-selector=sharding.fluxcd.io/key=s1",
            gate
        ])
    );
    assert_eq!(
        args(&build, "source-controller"),
        base_and(&["--storage-path=/data", main_address, "--watch-label-selector=!sharding.fluxcd.io/key", gate])
    );
    let volumes = |deployment: &str| -> Vec<String> {
        pod(&build, deployment)["volumes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|v| v["name"].as_str().unwrap().to_string())
            .collect()
    };
    assert_eq!(volumes("source-controller-s1"), ["persistent-data-s1", "tmp"]);
    assert_eq!(
        pod(&build, "source-controller-s1")["volumes"][0]["persistentVolumeClaim"]["claimName"],
        "source-controller-s1"
    );
    assert_eq!(
        pod(&build, "source-controller-s1")["containers"][0]["volumeMounts"][0],
        json!({"name": "persistent-data-s1", "mountPath": "/data"})
    );
    assert_eq!(volumes("source-controller"), ["data", "tmp", "persistent-data"]);
    assert_eq!(volumes("source-watcher-s1"), ["data", "tmp"]);
    let claims: Vec<_> = ids(&build).into_iter().filter(|id| id.starts_with("PersistentVolumeClaim/")).collect();
    assert_eq!(
        claims,
        [
            "PersistentVolumeClaim/source-controller",
            "PersistentVolumeClaim/source-controller-s1",
            "PersistentVolumeClaim/source-controller-s2"
        ]
    );
    for component in ALL.iter().filter(|component| **component != "notification-controller") {
        assert!(
            args(&build, component).contains(&"--watch-label-selector=!sharding.fluxcd.io/key".to_string()),
            "{component}"
        );
        for shard in ["s1", "s2"] {
            let id = format!("{component}-{shard}");
            let deployment = find(&build, &format!("Deployment/{id}"));
            assert!(args(&build, &id).contains(&format!("--watch-label-selector=sharding.fluxcd.io/key={shard}")));
            assert_eq!(deployment["spec"]["selector"]["matchLabels"]["app"], json!(id));
            assert_eq!(deployment["spec"]["template"]["metadata"]["labels"]["app"], json!(id));
            assert_eq!(deployment["metadata"]["annotations"]["sharding.fluxcd.io/role"], "shard");
            assert_eq!(deployment["spec"]["template"]["metadata"]["annotations"]["sharding.fluxcd.io/role"], "shard");
            assert_eq!(deployment["spec"]["template"]["spec"]["serviceAccountName"], json!(component));
        }
    }
    for service in ["source-controller-s1", "source-watcher-s2"] {
        assert_eq!(find(&build, &format!("Service/{service}"))["spec"]["selector"]["app"], json!(service));
    }
    assert!(!ids(&build).iter().any(|id| id.contains("notification-controller-s")));
    let names: Vec<_> = deployments(&build).into_iter().map(name).take(3).collect();
    assert_eq!(names, ["helm-controller", "helm-controller-s1", "helm-controller-s2"]);
}

#[test]
fn source_watcher_shards_from_2_9_and_image_controllers_always() {
    let spec = |version: &str| json!({"distribution": {"version": version}, "components": ALL, "sharding": {"shards": ["a"], "key": "example.com/shard"}});
    let old = built(spec("2.7.0"));
    assert!(!ids(&old).contains("Deployment/source-watcher-a"));
    assert!(!ids(&old).contains("Service/source-watcher-a"));
    assert!(!args(&old, "source-watcher").iter().any(|arg| arg.starts_with("--watch-label-selector")));
    assert!(
        args(&old, "image-reflector-controller-a").contains(&"--watch-label-selector=example.com/shard=a".to_string())
    );
    assert!(
        args(&old, "image-automation-controller").contains(&"--watch-label-selector=!example.com/shard".to_string())
    );
    assert!(ids(&built(spec("2.9.0"))).contains("Deployment/source-watcher-a"));
}

#[test]
fn ephemeral_shards_have_one_claim_of_the_main_controller_only() {
    let build = built(
        json!({"distribution": {"version": "2.3.0"}, "sharding": {"shards": ["shard1"]}, "storage": {"class": "a", "size": "1Gi"}}),
    );
    assert_eq!(build.objects.iter().filter(|object| kind(object) == "PersistentVolumeClaim").count(), 1);
    for object in build.objects.iter().filter(|object| name(object).contains("shard1")) {
        assert_eq!(object["metadata"]["annotations"]["sharding.fluxcd.io/role"], "shard");
    }
    assert_eq!(pod(&build, "source-controller-shard1")["volumes"][0], json!({"name": "data", "emptyDir": {}}));
}

#[test]
fn kustomize_controller_multitenant_and_large_has_the_reference_arguments() {
    let build = built(
        json!({"components": ALL, "cluster": {"size": "large", "multitenant": true, "tenantDefaultServiceAccount": "flux"}}),
    );
    assert_eq!(
        args(&build, "kustomize-controller"),
        base_and(&[
            "--concurrent=20",
            "--requeue-dependency=5s",
            "--no-cross-namespace-refs=true",
            "--no-remote-bases=true",
            "--default-service-account=flux",
            "--feature-gates=ExternalArtifact=true",
            "--feature-gates=ObjectLevelWorkloadIdentity=false"
        ])
    );
    assert_eq!(
        args(&build, "source-controller"),
        base_and(&[
            "--storage-path=/data",
            "--storage-adv-addr=source-controller.$(RUNTIME_NAMESPACE).svc.cluster.local.",
            "--helm-cache-max-size=100",
            "--helm-cache-ttl=720m",
            "--helm-cache-purge-interval=60m",
            "--concurrent=10",
            "--feature-gates=ObjectLevelWorkloadIdentity=false"
        ])
    );
    assert_eq!(
        args(&build, "source-watcher"),
        base_and(&[
            "--storage-path=/data",
            "--storage-adv-addr=source-watcher.$(RUNTIME_NAMESPACE).svc.cluster.local.",
            "--no-cross-namespace-refs=true"
        ])
    );
}

#[test]
fn both_workload_identities_with_small_have_the_reference_arguments() {
    let build = built(
        json!({"components": ALL, "cluster": {"size": "small", "multitenant": true, "objectLevelWorkloadIdentity": true, "multitenantWorkloadIdentity": true}}),
    );
    let common = ["--concurrent=5", "--requeue-dependency=10s", "--no-cross-namespace-refs=true"];
    let gates = ["--feature-gates=ExternalArtifact=true", "--feature-gates=ObjectLevelWorkloadIdentity=true"];
    let kustomize: Vec<&str> = [
        common.as_slice(),
        &["--no-remote-bases=true", "--default-service-account=default"],
        &gates,
        &["--default-decryption-service-account=default", "--default-kubeconfig-service-account=default"],
    ]
    .concat();
    assert_eq!(args(&build, "kustomize-controller"), base_and(&kustomize));
    let helm: Vec<&str> = [
        common.as_slice(),
        &["--default-service-account=default"],
        &gates,
        &["--default-kubeconfig-service-account=default"],
    ]
    .concat();
    assert_eq!(args(&build, "helm-controller"), base_and(&helm));
    for controller in ["image-reflector-controller", "image-automation-controller"] {
        assert_eq!(
            args(&build, controller),
            base_and(&["--no-cross-namespace-refs=true", gates[1], "--default-service-account=default"]),
            "{controller}"
        );
    }
    assert_eq!(
        args(&build, "notification-controller")[4..],
        ["--no-cross-namespace-refs=true", gates[1], "--default-service-account=default"]
    );
    let source = args(&build, "source-controller");
    assert_eq!(
        source[7..],
        [
            "--helm-cache-max-size=10",
            "--helm-cache-ttl=720m",
            "--helm-cache-purge-interval=60m",
            gates[1],
            "--default-service-account=default"
        ]
    );
}

#[test]
fn tenant_accounts_reach_the_controllers_they_are_for() {
    let build = built(json!({"cluster": {
        "objectLevelWorkloadIdentity": true, "multitenantWorkloadIdentity": true, "tenantDefaultServiceAccount": "a",
        "tenantDefaultDecryptionServiceAccount": "b", "tenantDefaultKubeConfigServiceAccount": "c"}}));
    let gate = "--feature-gates=ObjectLevelWorkloadIdentity=true";
    assert_eq!(
        args(&build, "kustomize-controller"),
        base_and(&[gate, "--default-decryption-service-account=b", "--default-kubeconfig-service-account=c"])
    );
    assert_eq!(args(&build, "helm-controller"), base_and(&[gate, "--default-kubeconfig-service-account=c"]));
    assert_eq!(args(&build, "source-controller").last().unwrap(), "--default-service-account=a");
}

#[test]
fn controllers_have_no_events_address_without_notification_controller() {
    let build = built(json!({"components": ["source-controller", "kustomize-controller"]}));
    assert_eq!(args(&build, "kustomize-controller")[0], "--events-addr=");
    let role = find(&build, "ClusterRole/crd-controller-flux-system").to_string();
    assert!(!role.contains("fluxcd.controlplane.io\"],\"resources\":[\"*\"]"), "{role}");
    assert!(!ids(&build).contains("CustomResourceDefinition/alerts.notification.toolkit.fluxcd.io"));
}

#[test]
fn the_cluster_domain_reaches_every_address() {
    let build = built(json!({"components": ALL, "cluster": {"domain": "example.org"}, "sharding": {"shards": ["a"]}}));
    let text = serde_json::to_string(&build.objects).unwrap();
    assert!(!text.contains("cluster.local"));
    assert_eq!(
        args(&build, "helm-controller")[0],
        "--events-addr=http://notification-controller.flux-system.svc.example.org./"
    );
    assert_eq!(
        args(&build, "source-watcher-a")[7],
        "--storage-adv-addr=source-watcher-a.$(RUNTIME_NAMESPACE).svc.example.org."
    );
}

// ---- profiles ----

#[test]
fn sizes_set_resources_and_the_profile_annotation() {
    let limits = |build: &Build, deployment: &str| {
        let resources = pod(build, deployment)["containers"][0]["resources"].clone();
        ["/requests/cpu", "/requests/memory", "/limits/cpu", "/limits/memory"]
            .map(|path| resources.pointer(path).unwrap().as_str().unwrap().to_string())
            .join(" ")
    };
    let base = "100m 64Mi 1000m 1Gi";
    for (size, source, kustomize, notification, watcher) in [
        ("small", "100m 64Mi 1000m 512Mi", "100m 64Mi 1000m 512Mi", "100m 64Mi 1000m 512Mi", "100m 64Mi 1000m 512Mi"),
        ("medium", "100m 128Mi 2000m 1Gi", "100m 128Mi 2000m 1Gi", base, "50m 64Mi 1000m 1Gi"),
        ("large", "100m 256Mi 2000m 2Gi", "100m 256Mi 3000m 3Gi", base, "50m 64Mi 1000m 1Gi"),
    ] {
        let build = built(json!({"components": ALL, "cluster": {"size": size}, "sharding": {"shards": ["s"]}}));
        assert_eq!(limits(&build, "source-controller"), source, "{size}");
        assert_eq!(limits(&build, "source-controller-s"), source, "{size}");
        assert_eq!(limits(&build, "kustomize-controller"), kustomize, "{size}");
        assert_eq!(limits(&build, "helm-controller-s"), kustomize, "{size}");
        assert_eq!(limits(&build, "notification-controller"), notification, "{size}");
        assert_eq!(limits(&build, "source-watcher"), watcher, "{size}");
        for deployment in deployments(&build) {
            assert_eq!(deployment["metadata"]["annotations"]["fluxcd.controlplane.io/profile"], json!(size));
        }
        assert!(args(&build, "source-controller").contains(&"--concurrent=5".to_string()) == (size == "medium"));
    }
}

#[test]
fn every_controller_may_be_evicted_and_runs_on_linux() {
    for deployment in deployments(&built(json!({}))) {
        let template = &deployment["spec"]["template"];
        assert_eq!(template["metadata"]["annotations"]["cluster-autoscaler.kubernetes.io/safe-to-evict"], "true");
        assert_eq!(template["metadata"]["labels"]["app.kubernetes.io/part-of"], "flux");
        assert_eq!(template["spec"]["nodeSelector"], json!({"kubernetes.io/os": "linux"}));
        assert!(deployment["metadata"]["annotations"].get("fluxcd.controlplane.io/profile").is_none());
    }
}

#[test]
fn openshift_omits_settings_that_openshift_makes_itself() {
    let build = built(json!({"cluster": {"type": "openshift"}}));
    let namespace = find(&build, "Namespace/flux-system");
    assert!(!namespace["metadata"]["labels"].to_string().contains("pod-security"));
    assert_eq!(namespace["metadata"]["annotations"]["fluxcd.controlplane.io/prune"], "disabled");
    for deployment in deployments(&build) {
        let pod = &deployment["spec"]["template"]["spec"];
        assert!(pod.get("securityContext").is_none());
        let security = &pod["containers"][0]["securityContext"];
        assert!(
            security.is_object() && security.get("seccompProfile").is_none() && security.get("runAsNonRoot").is_none()
        );
        assert_eq!(deployment["metadata"]["labels"]["app.kubernetes.io/managed-by"], "flux-operator");
    }
    for other in ["kubernetes", "aws", "azure", "gcp"] {
        assert_eq!(built(json!({"cluster": {"type": other}})).revision, built(json!({})).revision);
    }
}

#[test]
fn a_multitenant_sync_runs_as_kustomize_controller() {
    let sync = json!({"kind": "Bucket", "url": "x", "ref": "b", "path": "a"});
    let build = built(json!({"cluster": {"multitenant": true}, "sync": sync}));
    assert_eq!(find(&build, "Kustomization/flux-system")["spec"]["serviceAccountName"], "kustomize-controller");
    assert!(!args(&build, "source-controller").contains(&"--no-cross-namespace-refs=true".to_string()));
}

#[test]
fn alerts_and_receivers_may_name_the_operators_kinds_in_every_api_version() {
    for (version, alerts) in [("2.9.4", 1), ("2.8.8", 2), ("2.7.5", 2), ("2.6.4", 3), ("2.2.3", 3)] {
        let build = built(json!({"distribution": {"version": version}}));
        for (crd, field) in [("alerts", "eventSources"), ("receivers", "resources")] {
            let versions = find(&build, &format!("CustomResourceDefinition/{crd}.notification.toolkit.fluxcd.io"))["spec"]["versions"].as_array().unwrap();
            if crd == "alerts" {
                assert_eq!(versions.len(), alerts, "{version}");
            }
            for api in versions {
                let kinds = api
                    .pointer(&format!(
                        "/schema/openAPIV3Schema/properties/spec/properties/{field}/items/properties/kind/enum"
                    ))
                    .unwrap()
                    .as_array()
                    .unwrap();
                let last: Vec<_> = kinds.iter().rev().take(3).map(|kind| kind.as_str().unwrap()).collect();
                assert_eq!(last, ["ResourceSetInputProvider", "ResourceSet", "FluxInstance"], "{version} {crd}");
            }
        }
    }
}

#[test]
fn the_pull_secret_reaches_every_pod() {
    let build = built(json!({"distribution": {"imagePullSecret": "auth"}, "sharding": {"shards": ["a"]}}));
    assert!(
        deployments(&build)
            .into_iter()
            .all(|d| d["spec"]["template"]["spec"]["imagePullSecrets"] == json!([{"name": "auth"}]))
    );
}

// ---- workload identity by version ----

#[test]
fn the_identity_gate_follows_the_flux_version() {
    let gate = |version: &str, on: Option<bool>, controller: &str| {
        let spec = json!({"distribution": {"version": version}, "components": ALL[..6], "cluster": {"objectLevelWorkloadIdentity": on}});
        args(&built(spec), controller).into_iter().find(|arg| arg.contains("ObjectLevel"))
    };
    let value = |value: &str| Some(format!("--feature-gates=ObjectLevelWorkloadIdentity={value}"));
    for controller in &ALL[..6] {
        assert_eq!(gate("2.5.1", None, controller), None);
        assert_eq!(gate("2.6.0", None, controller), None);
        let in_26 = if *controller == "helm-controller" { None } else { value("true") };
        assert_eq!(gate("2.6.4", Some(true), controller), in_26, "{controller}");
        assert_eq!(gate("2.7.0", Some(false), controller), value("false"));
        assert_eq!(gate("2.7.0", Some(true), controller), value("true"));
    }
}

#[test]
fn identities_a_version_does_not_have_are_refused() {
    let fails = |version: &str, object: bool, tenant: bool| {
        failure(
            json!({"distribution": {"version": version}, "cluster": {"objectLevelWorkloadIdentity": object, "multitenantWorkloadIdentity": tenant}}),
        )
    };
    let object = "spec.cluster.objectLevelWorkloadIdentity: object-level workload identity needs Flux 2.6.0 or newer";
    assert_eq!(fails("2.5.1", true, false), format!("{object}, not 2.5.1"));
    assert_eq!(fails("2.2.3", true, true), format!("{object}, not 2.2.3"));
    assert_eq!(
        fails("2.6.4", true, true),
        "spec.cluster.multitenantWorkloadIdentity: multi-tenant workload identity needs Flux 2.7.0 or newer, not 2.6.4"
    );
}

// ---- images ----

#[test]
fn images_are_pinned_by_the_variant_of_the_registry() {
    let image = |registry: &str, variant: Option<&str>| {
        let build = built(json!({"distribution": {"registry": registry, "variant": variant}}));
        assert!(build.warnings.is_empty(), "{registry}: {:?}", build.warnings);
        build.images[2].clone()
    };
    let digest_of = |variant: Variant| {
        let version = FluxVersion::from_folder("v2.9.4").unwrap();
        Distribution::embedded()
            .digests(&version, variant)
            .unwrap()
            .unwrap()
            .into_iter()
            .find(|i| i.component == Component::HelmController)
            .unwrap()
            .digest
    };
    use crate::api::Variant;
    for (registry, variant, repository, pinned) in [
        ("ghcr.io/fluxcd", None, "ghcr.io/fluxcd/helm-controller", Variant::UpstreamAlpine),
        ("ghcr.io/fluxcd/", None, "ghcr.io/fluxcd/helm-controller", Variant::UpstreamAlpine),
        ("fluxcd", None, "index.docker.io/fluxcd/helm-controller", Variant::UpstreamAlpine),
        (
            "ghcr.io/controlplaneio-fluxcd/alpine",
            None,
            "ghcr.io/controlplaneio-fluxcd/alpine/helm-controller",
            Variant::EnterpriseAlpine,
        ),
        (
            "ghcr.io/controlplaneio-fluxcd/distroless",
            None,
            "ghcr.io/controlplaneio-fluxcd/distroless/helm-controller",
            Variant::EnterpriseDistroless,
        ),
        (
            "ghcr.io/controlplaneio-fluxcd/distroless-fips",
            None,
            "ghcr.io/controlplaneio-fluxcd/distroless-fips/helm-controller",
            Variant::EnterpriseDistrolessFips,
        ),
        (
            "709825985650.dkr.ecr.us-east-1.amazonaws.com/controlplane/fluxcd",
            None,
            "709825985650.dkr.ecr.us-east-1.amazonaws.com/controlplane/fluxcd/helm-controller",
            Variant::EnterpriseDistroless,
        ),
        (
            "registry.example.com/flux",
            Some("enterprise-alpine"),
            "registry.example.com/flux/helm-controller",
            Variant::EnterpriseAlpine,
        ),
        (
            "docker.io/fluxcd",
            Some("upstream-alpine"),
            "index.docker.io/fluxcd/helm-controller",
            Variant::UpstreamAlpine,
        ),
    ] {
        let image = image(registry, variant);
        assert_eq!(image.name, "helm-controller");
        assert_eq!(image.repository, repository);
        assert_eq!(image.digest, Some(digest_of(pinned)), "{registry}");
        assert!(image.tag.starts_with("v1."));
    }
    let build = built(json!({}));
    let text = pod(&build, "helm-controller")["containers"][0]["image"].as_str().unwrap();
    assert_eq!(text, format!("ghcr.io/fluxcd/helm-controller:v1.6.3@{}", digest_of(Variant::UpstreamAlpine)));
    assert_eq!(build.image_references().len(), 4);
    assert!(build.image_references().is_sorted());
}

#[test]
fn unknown_registries_build_with_tags_and_one_warning_or_fail_when_strict() {
    let spec = json!({"distribution": {"registry": "registry.example.com/flux/"}, "components": ALL});
    let build = built(spec.clone());
    let [warning] = build.warnings.as_slice() else { panic!("{:?}", build.warnings) };
    assert_eq!(warning.reason, WarningReason::NoDigests);
    assert!(warning.message.contains("unsupported registry registry.example.com/flux"), "{}", warning.message);
    assert!(warning.hint.as_deref().unwrap().contains("set spec.distribution.variant"));
    assert!(build.images.iter().all(|image| image.digest.is_none()));
    assert_eq!(
        pod(&build, "helm-controller")["containers"][0]["image"],
        "registry.example.com/flux/helm-controller:v1.6.3"
    );
    let error = strict(spec).unwrap_err();
    assert!(matches!(error, BuildError::NoDigests { .. }), "{error:?}");
    assert!(error.hint().unwrap().contains("upstream-alpine"));
}

#[test]
fn a_variant_without_digests_at_the_version_builds_with_tags_and_one_warning() {
    let spec =
        json!({"distribution": {"version": "2.2.3", "registry": "ghcr.io/controlplaneio-fluxcd/distroless-fips"}});
    let build = built(spec.clone());
    assert_eq!(build.warnings.len(), 1);
    assert!(build.warnings[0].message.contains("enterprise-distroless-fips has no digests"), "{:?}", build.warnings);
    assert!(build.warnings[0].hint.as_deref().unwrap().contains("enterprise-alpine"), "{:?}", build.warnings);
    assert!(strict(spec).is_err());
}

#[test]
fn images_that_patches_change_are_reported_as_they_run() {
    let patch = |image: &str| {
        json!({"kustomize": {"patches": [{"target": {"kind": "Deployment", "name": "helm-controller"},
            "patch": format!("- op: replace\n  path: /spec/template/spec/containers/0/image\n  value: \"{image}\"\n")}]}})
    };
    let build = built(patch("localhost:5000/x:v9"));
    let image = &build.images[2];
    assert_eq!((image.repository.as_str(), image.tag.as_str(), image.digest.clone()), ("localhost:5000/x", "v9", None));
    assert_eq!(failure(patch("@@")), "extract component images failed: could not parse reference: @@");
}

// ---- labels, annotations, revision, order ----

#[test]
fn every_object_carries_the_operators_labels_and_annotations() {
    for object in built(json!({"sync": {"kind": "Bucket", "url": "x", "ref": "b", "path": "a"}})).objects {
        let metadata = &object["metadata"];
        for (label, value) in [
            ("app.kubernetes.io/managed-by", "flux-operator"),
            ("app.kubernetes.io/instance", "flux-system"),
            ("app.kubernetes.io/version", "v2.9.4"),
            ("app.kubernetes.io/part-of", "flux"),
            ("fluxcd.controlplane.io/name", "flux"),
            ("fluxcd.controlplane.io/namespace", "flux-system"),
        ] {
            assert_eq!(metadata["labels"][label], value);
        }
        assert_eq!(metadata["annotations"]["kustomize.toolkit.fluxcd.io/ssa"], "Ignore");
        assert_eq!(metadata["annotations"]["kustomize.toolkit.fluxcd.io/prune"], "Disabled");
    }
}

#[test]
fn common_metadata_overrides_everything_but_the_three_reserved_keys() {
    let build = built(
        json!({"commonMetadata": {"labels": {"app.kubernetes.io/part-of": "mine", "team": "a"}, "annotations": {"kustomize.toolkit.fluxcd.io/prune": "x"}}}),
    );
    for object in &build.objects {
        assert_eq!(object["metadata"]["labels"]["app.kubernetes.io/part-of"], "mine");
        assert_eq!(object["metadata"]["labels"]["team"], "a");
        assert_eq!(object["metadata"]["annotations"]["kustomize.toolkit.fluxcd.io/prune"], "x");
    }
    assert_eq!(build.revision, built(json!({})).revision);
    for key in ["fluxcd.controlplane.io/name", "fluxcd.controlplane.io/namespace", "fluxcd.controlplane.io/prune"] {
        for field in ["labels", "annotations"] {
            let error = failure(json!({"commonMetadata": {field: {key: "x"}}}));
            assert!(error.starts_with(&format!("spec.commonMetadata.{field}[{key}]: this key is reserved")), "{error}");
        }
    }
    assert!(built(json!({"commonMetadata": {"labels": {"fluxcd.controlplane.io/other": "x"}}})).objects.len() == 32);
}

#[test]
fn the_revision_reacts_to_what_is_installed_and_to_nothing_else() {
    let base = built(json!({})).revision;
    assert!(base.to_string().starts_with("v2.9.4@sha256:"));
    assert_eq!(base.to_string().len(), "v2.9.4@sha256:".len() + 64);
    for same in [
        json!({"wait": false, "migrateResources": false}),
        json!({"commonMetadata": {"labels": {"a": "b"}}}),
        json!({"distribution": {"version": "2.x"}}),
    ] {
        assert_eq!(built(same).revision, base);
    }
    for other in [
        json!({"distribution": {"version": "2.9.3"}}),
        json!({"distribution": {"registry": "fluxcd"}}),
        json!({"components": ["source-controller"]}),
        json!({"cluster": {"domain": "x.y"}}),
        json!({"sharding": {"shards": ["a"]}}),
        json!({"storage": {"class": "a", "size": "1Gi"}}),
        json!({"kustomize": {"patches": [{"target": {"kind": "Namespace"}, "patch": "- {op: add, path: /metadata/labels/x, value: y}"}]}}),
    ] {
        assert_ne!(built(other.clone()).revision, base, "{other}");
    }
}

#[test]
fn the_same_input_gives_the_same_bytes_in_apply_order() {
    let spec = json!({"components": ALL, "sharding": {"shards": ["b", "a"]}, "storage": {"class": "a", "size": "1Gi"}});
    let (one, two) = (built(spec.clone()), built(spec));
    assert_eq!(serde_json::to_vec(&one.objects).unwrap(), serde_json::to_vec(&two.objects).unwrap());
    assert!(one.objects.is_sorted_by(|a, b| order::sort_key(a) <= order::sort_key(b)));
}

// ---- patches ----

#[test]
fn user_patches_apply_and_are_reported() {
    let build = built(json!({"kustomize": {"patches": [
        {"target": {"kind": "Namespace"}, "patch": "- op: remove\n  path: /metadata/labels/pod-security.kubernetes.io~1warn\n- op: remove\n  path: /metadata/labels/pod-security.kubernetes.io~1warn-version\n"},
        {"target": {"kind": "Deployment", "name": "(kustomize-controller|helm-controller)"}, "patch": "- op: add\n  path: /spec/template/spec/containers/0/args/-\n  value: --concurrent=7\n"},
        {"patch": "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: source-controller\nspec:\n  replicas: 0\n"},
        {"target": {"kind": "StatefulSet"}, "patch": "- {op: remove, path: /spec}"},
        {"target": {"kind": "Deployment", "namespace": "flux-system"}, "patch": "- {op: remove, path: /spec}"},
    ]}}));
    let namespace = find(&build, "Namespace/flux-system");
    assert!(!namespace["metadata"]["labels"].to_string().contains("pod-security"));
    assert_eq!(namespace["metadata"]["annotations"]["fluxcd.controlplane.io/prune"], "disabled");
    assert_eq!(args(&build, "helm-controller").last().unwrap(), "--concurrent=7");
    assert_eq!(find(&build, "Deployment/source-controller")["spec"]["replicas"], 0);
    let objects: Vec<Vec<String>> =
        build.patches.iter().map(|report| report.objects.iter().map(|o| o.object.to_string()).collect()).collect();
    assert_eq!(objects[0], ["Namespace/flux-system"]);
    assert_eq!(objects[1], ["Deployment/flux-system/kustomize-controller", "Deployment/flux-system/helm-controller"]);
    assert_eq!(objects[2], ["Deployment/flux-system/source-controller"]);
    assert_eq!(build.patches[1].objects[0].changes, ["spec.template.spec.containers[name=manager].args"]);
    assert!(objects[3].is_empty() && objects[4].is_empty());
    let warnings: Vec<_> = build.warnings.iter().map(|warning| warning.message.as_str()).collect();
    assert_eq!(
        warnings,
        [
            "spec.kustomize.patches[3]: the target kind=StatefulSet selects nothing",
            "spec.kustomize.patches[4]: the target kind=Deployment,namespace=flux-system selects nothing"
        ]
    );
    assert!(build.warnings[1].hint.as_deref().unwrap().contains("leave target.namespace out"));
}

#[test]
fn user_patches_reach_shards_by_the_name_of_the_main_controller() {
    let build = built(json!({"sharding": {"shards": ["a"]}, "kustomize": {"patches": [
        {"target": {"kind": "Deployment", "name": "helm-controller"}, "patch": "- {op: add, path: /spec/replicas, value: 0}"},
        {"target": {"kind": "Deployment", "annotationSelector": "!sharding.fluxcd.io/role"}, "patch": "- {op: add, path: /spec/minReadySeconds, value: 5}"}]}}));
    assert_eq!(find(&build, "Deployment/helm-controller-a")["spec"]["replicas"], 0);
    assert_eq!(find(&build, "Deployment/helm-controller")["spec"]["minReadySeconds"], 5);
    assert!(find(&build, "Deployment/helm-controller-a")["spec"].get("minReadySeconds").is_none());
    let error = failure(json!({"sharding": {"shards": ["a"]}, "kustomize": {"patches": [
        {"patch": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: helm-controller}\nspec: {replicas: 0}"}]}}));
    assert!(error.starts_with("spec.kustomize.patches[0]: several resources match"), "{error}");
}

#[test]
fn broken_patches_name_the_patch() {
    let patched = |patch: Value| json!({"kustomize": {"patches": [patch]}});
    let error = failure(patched(json!({"target": {"kind": "Deployment"}, "patch": "- {op: removes, path: /spec}"})));
    assert!(error.starts_with("spec.kustomize.patches[0]: operation 1: Unexpected kind: removes"), "{error}");
    let error =
        strict(patched(json!({"target": {"kind": "Job"}, "patch": "- {op: remove, path: /spec}"}))).unwrap_err();
    assert!(matches!(error, BuildError::UnmatchedPatch { .. }), "{error:?}");
    assert_eq!(error.to_string(), "spec.kustomize.patches[0]: the target kind=Job selects nothing");
}

#[test]
fn a_patch_may_delete_a_deployment_and_its_image_is_not_reported() {
    let build = built(
        json!({"kustomize": {"patches": [{"target": {"kind": "Deployment", "name": "helm-controller"}, "patch": "$patch: delete\nkind: Deployment\nmetadata: {name: x}"}]}}),
    );
    assert_eq!(build.objects.len(), 31);
    let names: Vec<_> = build.images.iter().map(|image| image.name.as_str()).collect();
    assert_eq!(names, ["source-controller", "kustomize-controller", "notification-controller"]);
    assert!(build.patches[0].objects[0].deleted);
}

// ---- everything that is refused ----

/// Rules that do not depend on a version are tried in `tests/offline/manifests.rs`, against the API server too.
#[test]
fn specs_that_cannot_be_built_say_what_is_wrong() {
    let sync = |provider: &str| json!({"kind": "GitRepository", "url": "https://u", "ref": "r", "path": "p", "provider": provider});
    for (spec, message) in [
        (json!({"components": ["foo"]}), "spec.components[0]: \"foo\" is not one of source-controller, "),
        (
            json!({"distribution": {"version": "2.6.4"}, "components": ["source-watcher"]}),
            "spec.components: source-watcher needs Flux 2.7.0 or newer, not 2.6.4",
        ),
        (
            json!({"distribution": {"version": "2.99.x"}}),
            "no match found for semver: 2.99.x in the embedded distribution",
        ),
        (
            json!({"distribution": {"version": "2.8.0"}, "sync": sync("aws")}),
            "spec.sync.provider: the provider aws for a GitRepository needs Flux 2.9.0 or newer, not 2.8.0",
        ),
    ] {
        let error = failure(spec.clone());
        assert!(error.contains(message), "{spec}: {error}");
    }
    assert_eq!(built(json!({"sync": sync("aws")})).objects.len(), 34);
}

#[test]
fn ordinary_words_are_ordinary_shard_names() {
    for shard in ["n", "y", "no", "1", "roles", "flux"] {
        let build = built(json!({"sharding": {"shards": [shard]}}));
        assert!(ids(&build).contains(&format!("Deployment/source-controller-{shard}")), "{shard}");
    }
}

#[test]
fn every_embedded_version_builds_with_every_component_it_has() {
    for version in Distribution::embedded().versions() {
        let count = if crate::format::version_range::is_at_least(&version.version, 2, 7, 0) { 7 } else { 6 };
        let build = built(
            json!({"distribution": {"version": version.name}, "components": ALL[..count], "sharding": {"shards": ["a"]},
            "cluster": {"size": "large", "multitenant": true, "type": "openshift"}, "storage": {"class": "a", "size": "1Gi"}}),
        );
        assert_eq!(build.version, version);
        assert_eq!(build.images.len(), count);
    }
}
