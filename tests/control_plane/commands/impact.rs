//! `impact` and `delete KIND/NAME`: what goes along is shown before anything goes.

use kube::api::Patch;
use serde_json::{Value, json};

use crate::cluster_tests;
use crate::inspect::world::{SOON, install, instance};
use crate::support::runner::ClusterTest;
use crate::support::{TestCluster, eventually, objects};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![what_goes_along_is_shown_and_asked_about_before_a_delete]
        .into_iter()
        .map(ClusterTest::that_installs)
        .collect()
}

async fn what_goes_along_is_shown_and_asked_about_before_a_delete(cluster: TestCluster) {
    let components = json!(["source-controller", "kustomize-controller"]);
    let manifest = instance(&cluster, json!({"components": components}));
    install(&cluster, &manifest).await.exits(0);
    let run = async |words: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        crate::inspect::world::run(&cluster, &words).await
    };
    let namespace = cluster.namespace();
    let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}});
    let config = |name: &str, annotations: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "annotations": annotations}});
    let ks = |name: &str, depends_on: Value| {
        json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": name},
            "spec": {"interval": "1h", "path": "./", "prune": true, "dependsOn": depends_on,
                "sourceRef": {"kind": "GitRepository", "name": "app"}}})
    };
    cluster
        .apply(&[
            claim,
            config("goes", json!({})),
            config("stays", json!({"kustomize.toolkit.fluxcd.io/prune": "disabled"})),
            ks("app", json!([])),
            ks("next", json!([{"name": "app"}])),
        ])
        .await;
    let entry = |id: &str| json!({"id": format!("{namespace}_{id}"), "v": "v1"});
    let entries = [entry("data__PersistentVolumeClaim"), entry("goes__ConfigMap"), entry("stays__ConfigMap")];
    let status = json!({"status": {"inventory": {"entries": entries}}});
    let client = cluster.client();
    let api =
        objects::api(&client, "kustomize.toolkit.fluxcd.io/v1", "Kustomization", namespace).await.expect("served");
    api.patch_status("app", &Default::default(), &Patch::Merge(status)).await.expect("written");

    let bound = || async {
        let shown = run("impact ks/app").await.exits(0);
        shown.stdout.contains("is retained").then_some(shown)
    };
    let shown = eventually("the claim to be bound", SOON, bound).await.expect("bound");
    let shown = shown.stdout_has(&format!("2 objects go with Kustomization/{namespace}/app"));
    let shown = shown.stdout_has(&format!("PersistentVolumeClaim/{namespace}/data: the volume "));
    let shown = shown.stdout_has("1 ConfigMap").stdout_has("1 stay:").stdout_has("/stays: ");
    shown.stdout_has(&format!(
        "waiting for it, or taking content from it: 1 Kustomization: Kustomization/{namespace}/next"
    ));
    let json = run("impact kustomization app -o json").await.exits(0).json();
    assert_eq!(json["deleted"][0]["concern"], "volume", "{json:#}");

    // Nobody can be asked without a terminal; a dry run changes nothing.
    run("delete ks/app").await.exits(2).stderr_has("2 objects go with").stderr_has("--yes");
    run("delete ks app --dry-run").await.exits(0).stderr_has("(dry run) would delete");
    run("delete ks/app --dry-run=server").await.exits(0).stderr_has("(server dry run) would delete");
    run("wait ks/app --timeout 1ms").await.exits(7);
    run("delete ks/app --yes").await.exits(0).stdout_has("kustomization/").stdout_has("deleted");
    run("impact ks/app").await.exits(3).stderr_has("not found");
}
