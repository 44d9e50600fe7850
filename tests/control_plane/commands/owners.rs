//! `migrate owner` where no controller works on the owner, as none does on a ResourceSet; `tests/flux_controllers` has the rest.

use flux_operator::api::crd;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::cluster_tests;
use crate::inspect::world::{SOON, install, instance, run};
use crate::support::runner::ClusterTest;
use crate::support::{TestCluster, eventually, objects};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![objects_of_a_resourceset_are_handed_over_to_a_kustomization]
        .into_iter()
        .map(ClusterTest::that_installs)
        .collect()
}

async fn objects_of_a_resourceset_are_handed_over_to_a_kustomization(cluster: TestCluster) {
    let components = json!(["source-controller", "kustomize-controller"]);
    install(&cluster, &instance(&cluster, json!({"components": components}))).await.exits(0);
    cluster.apply(&crd::all()).await;
    let namespace = cluster.namespace();
    let group = "resourceset.fluxcd.controlplane.io";
    let labels = json!({format!("{group}/name"): "all", format!("{group}/namespace"): namespace, "mine": "stays"});
    let config = |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}, "data": {"a": "1"}});
    let set = json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "ResourceSet", "metadata": {"name": "all"},
        "spec": {"inputs": [{"tenant": "a"}], "resources": [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}}]}});
    let served =
        || async { objects::api(&cluster.client(), "fluxcd.controlplane.io/v1", "ResourceSet", namespace).await.ok() };
    let sets = eventually("the kind to be served", SOON, served).await.expect("served");
    cluster
        .apply(&[
            config("moves"),
            config("stays"),
            set,
            json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": "web"},
                "spec": {"interval": "1h", "path": "./", "prune": true, "sourceRef": {"kind": "GitRepository", "name": "app"}}}),
        ])
        .await;
    let entry = |name: &str| json!({"id": format!("{namespace}_{name}__ConfigMap"), "v": "v1"});
    let status = json!({"status": {"inventory": {"entries": [entry("moves"), entry("stays"), entry("gone")]}}});
    sets.patch_status("all", &PatchParams::default(), &Patch::Merge(status)).await.expect("written");

    // The plan is the same from a bundle, and a bundle is never changed.
    let folder = tempfile::tempdir().expect("a folder");
    let archive = folder.path().join("bundle.tar.gz");
    let bundle = archive.to_str().expect("UTF-8");
    run(&cluster, &["bundle", "-o", bundle]).await.exits(0);
    let words = ["migrate", "owner", "rset/all", "--to", "ks/web"];
    let live = run(&cluster, &[&words[..], &["--dry-run", "--yes", "-o", "json"]].concat()).await.exits(0).json();
    let from = ["--from", bundle, "-n", namespace];
    let reported = run(&cluster, &[&words[..], &["--dry-run", "-o", "json"], &from].concat()).await.exits(0).json();
    assert_eq!(reported, live);
    assert_eq!(live["moves"].as_array().map(Vec::len), Some(2), "{live:#}");
    run(&cluster, &[&words[..], &["--yes"], &from].concat()).await.exits(2).stderr_has("a dump cannot be changed");

    run(&cluster, &[&words[..], &["--object", "cm/moves", "--yes"]].concat())
        .await
        .exits(0)
        .stderr_has("Remaining steps:");
    let of = async |name: &str| {
        let api = objects::api(&cluster.client(), "v1", "ConfigMap", namespace).await.expect("served");
        api.get(name).await.expect("there").metadata.labels.expect("labels")
    };
    let moved = of("moves").await;
    assert_eq!(moved["kustomize.toolkit.fluxcd.io/name"], "web");
    assert_eq!(moved["kustomize.toolkit.fluxcd.io/namespace"], namespace);
    assert_eq!(moved["mine"], "stays");
    assert!(!moved.keys().any(|key| key.starts_with(group)), "{moved:?}");
    assert_eq!(of("stays").await[&format!("{group}/name")], "all", "only what was named");
    let set = sets.get("all").await.expect("there");
    let left: Vec<&Value> = set.data["status"]["inventory"]["entries"].as_array().into_iter().flatten().collect();
    assert_eq!(left, [&entry("stays"), &entry("gone")]);
    // As its controller knows it, it is suspended: with an annotation.
    let disabled = set.metadata.annotations.expect("annotations");
    assert_eq!(disabled["fluxcd.controlplane.io/reconcile"], "disabled");
}
