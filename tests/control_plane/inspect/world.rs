//! An installation in a test's own namespace, a dump of it, and the binary's answers about both.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::{GroupVersionKind, TypeMeta};
use serde_json::{Value, json};

pub use crate::support::run::Run;
use crate::support::{TestCluster, eventually, objects};

pub const SOON: Duration = Duration::from_secs(30);

/// Runs the binary against the test's cluster and namespace, without a terminal.
pub async fn run(cluster: &TestCluster, arguments: &[&str]) -> Run {
    let mut command = cluster.command();
    command.args(arguments).stdin(Stdio::null());
    let output = tokio::task::spawn_blocking(move || command.output()).await.expect("joined").expect("the binary runs");
    output.into()
}

/// A FluxInstance in the test's namespace without an operator, with fields of the spec added or replaced.
pub fn instance(cluster: &TestCluster, spec: Value) -> Value {
    let mut instance = json!({
        "apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
        "metadata": {"name": "flux", "namespace": cluster.namespace()},
        "spec": {"distribution": {"version": "2.9.x", "registry": "ghcr.io/fluxcd"}, "components": ["source-controller"], "wait": false},
    });
    for (key, value) in spec.as_object().into_iter().flatten() {
        instance["spec"][key] = value.clone();
    }
    instance
}

/// Installs an instance with the reconcile core in the command's own process; the answer may be a failure.
pub async fn install(cluster: &TestCluster, instance: &Value) -> Run {
    let file = cluster.folder().join(format!("{}.json", cluster.namespace()));
    std::fs::write(&file, instance.to_string()).expect("written");
    let file = file.to_str().expect("UTF-8").to_owned();
    run(cluster, &["apply", "instance", "-f", &file, "--in-process", "--timeout", "60s"]).await
}

/// Installs an instance, and then gives it a spec that nothing can be built from: such a manifest would be refused.
pub async fn unbuildable(cluster: &TestCluster, spec: Value) -> Run {
    install(cluster, &instance(cluster, json!({}))).await.exits(0);
    let api = objects::api(&cluster.client(), "fluxcd.controlplane.io/v1", "FluxInstance", cluster.namespace()).await;
    let patch = Patch::Merge(json!({"spec": spec}));
    api.expect("served").patch("flux", &PatchParams::default(), &patch).await.expect("patched");
    run(cluster, &["reconcile", "instance", "--in-process", "--timeout", "60s"]).await
}

/// Kinds a support engineer would ask for, as `kubectl get -o json` and `kubectl cluster-info dump` write them.
const DUMPED: [(&str, &str); 16] = [
    ("fluxcd.controlplane.io/v1", "FluxInstance"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "ReplicaSet"),
    ("v1", "Pod"),
    ("v1", "Event"),
    ("v1", "Secret"),
    ("v1", "PersistentVolumeClaim"),
    ("v1", "ResourceQuota"),
    ("v1", "ConfigMap"),
    ("v1", "ServiceAccount"),
    ("v1", "Service"),
    ("coordination.k8s.io/v1", "Lease"),
    ("networking.k8s.io/v1", "NetworkPolicy"),
    ("source.toolkit.fluxcd.io/v1", "GitRepository"),
    ("kustomize.toolkit.fluxcd.io/v1", "Kustomization"),
    ("helm.toolkit.fluxcd.io/v2", "HelmRelease"),
];

/// Writes what a dump of the test's namespace holds: one typed list per kind, the namespace, and the pods' logs.
pub async fn dump(cluster: &TestCluster, folder: &Path) {
    let namespace = cluster.namespace();
    for (api_version, kind) in DUMPED {
        let types = TypeMeta { api_version: api_version.into(), kind: kind.into() };
        let gvk = GroupVersionKind::try_from(types).expect("a group and a version");
        let Some(api) = objects::api_if_served(&cluster.client(), &gvk, namespace).await else { continue };
        // A kind that was installed a moment ago answers 429 until its storage is ready.
        let listed =
            eventually("a list", SOON, || async { api.list(&ListParams::default()).await.ok() }).await.expect("listed");
        let items: Vec<Value> = listed
            .items
            .into_iter()
            .map(|object| {
                let mut item = serde_json::to_value(object).expect("JSON");
                // Items of typed lists say nothing of their kind.
                for field in ["kind", "apiVersion"] {
                    item.as_object_mut().expect("an object").remove(field);
                }
                item
            })
            .collect();
        let list = json!({"kind": format!("{kind}List"), "apiVersion": api_version, "items": items});
        std::fs::write(folder.join(format!("{}.json", kind.to_lowercase())), list.to_string()).expect("written");
    }
    let place: DynamicObject = objects::api(&cluster.client(), "v1", "Namespace", "")
        .await
        .expect("served")
        .get(namespace)
        .await
        .expect("found");
    std::fs::write(folder.join("namespace.json"), serde_json::to_string(&place).expect("JSON")).expect("written");
    let pods: Api<k8s_openapi::api::core::v1::Pod> = Api::namespaced(cluster.client(), namespace);
    for pod in pods.list(&ListParams::default()).await.expect("listed") {
        let name = pod.metadata.name.unwrap_or_default();
        let Ok(log) = pods.logs(&name, &Default::default()).await else { continue };
        let below = folder.join(&name);
        std::fs::create_dir_all(&below).expect("made");
        let text = format!(
            "==== START logs for container manager of pod {namespace}/{name} ====\n{log}\n==== END logs for container manager of pod {namespace}/{name} ====\n"
        );
        std::fs::write(below.join("logs.txt"), text).expect("written");
    }
}

/// Waits until `why instance` names a reason, then asserts that a dump gives the same answer, and returns it.
pub async fn explained(cluster: &TestCluster, reason: &str) -> Value {
    explained_with(cluster, reason, 7).await
}

/// Like [`explained`] for a cause with which `why` ends with the code.
pub async fn explained_with(cluster: &TestCluster, reason: &str, code: i32) -> Value {
    let mut last = String::new();
    let found = eventually(&format!("the cause {reason}"), SOON, || async {
        let run = run(cluster, &["why", "instance", "-o", "json"]).await;
        (run.code == code && run.json()["cause"]["reason"] == reason).then_some(run.stdout)
    })
    .await;
    let live = match found {
        Ok(text) => serde_json::from_str::<Value>(&text).expect("JSON"),
        Err(error) => {
            let run = run(cluster, &["why", "instance"]).await;
            last.push_str(&run.stdout);
            panic!("{error}; last answer ({}):\n{last}{}", run.code, run.stderr)
        }
    };
    let cause = live["cause"].clone();
    assert!(!cause["evidence"].as_array().expect("evidence").is_empty(), "{cause:#}");
    assert!(!cause["next"].as_array().expect("next").is_empty(), "{cause:#}");
    let folder = tempfile::tempdir().expect("a folder");
    dump(cluster, folder.path()).await;
    let path = folder.path().to_str().expect("UTF-8");
    let from_dump = run(cluster, &["why", "instance", "-o", "json", "--from", path]).await.exits(code).json();
    for field in ["reason", "object", "summary", "next"] {
        assert_eq!(from_dump["cause"][field], cause[field], "{field}: {:#}\nlive: {cause:#}", from_dump["cause"]);
    }
    let screen = run(cluster, &["why", "instance"]).await.exits(code).stdout;
    assert!(screen.lines().count() <= 24, "more than a screen:\n{screen}");
    cause
}

/// All texts of a cause's evidence.
pub fn evidence(cause: &Value) -> String {
    let texts = cause["evidence"].as_array().expect("evidence").iter().filter_map(|e| e["text"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}
