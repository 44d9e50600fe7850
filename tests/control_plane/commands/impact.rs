//! `impact` and `delete KIND/NAME`: what goes along is shown before anything goes.

use kube::api::Patch;
use serde_json::{Value, json};

use crate::cluster_tests;
use crate::inspect::world::{SOON, install, instance, run};
use crate::support::runner::ClusterTest;
use crate::support::{TestCluster, eventually, objects};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        objects_deleted_together_are_shown_before_the_question,
        volumes_addresses_and_namespaces_are_found_through_nested_inventories,
    ]
    .into_iter()
    .map(ClusterTest::that_installs)
    .collect()
}

async fn objects_deleted_together_are_shown_before_the_question(cluster: TestCluster) {
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
    let shown = shown.stdout_has(&format!("2 objects are deleted with Kustomization/{namespace}/app"));
    let shown = shown.stdout_has(&format!("PersistentVolumeClaim/{namespace}/data: the volume "));
    let shown = shown.stdout_has("1 ConfigMap").stdout_has("1 object stays:").stdout_has("/stays: ");
    shown.stdout_has(&format!(
        "objects that depend on it or use its content: 1 Kustomization: Kustomization/{namespace}/next"
    ));
    let json = run("impact kustomization app -o json").await.exits(0).json();
    assert_eq!(json["deleted"][0]["concern"], "volume", "{json:#}");

    // Without a terminal there can be no confirmation; a dry run changes nothing.
    run("delete ks/app").await.exits(2).stderr_has("2 objects are deleted with").stderr_has("--yes");
    // The run would be refused from here, so its dry run is.
    run("delete ks app --dry-run").await.exits(2).stderr_has("(dry run) would delete").stderr_has("--yes");
    run("delete ks/app --dry-run=server").await.exits(2).stderr_has("confirmation is required");
    run("delete ks app --dry-run --yes").await.exits(0).stderr_has("(dry run) would delete");
    run("delete ks/app --dry-run=server --yes").await.exits(0).stderr_has("(server dry run) would delete");
    run("wait ks/app --timeout 1ms").await.exits(7);
    run("delete ks/app --yes").await.exits(0).stdout_has("kustomization/").stdout_has("deleted");
    run("impact ks/app").await.exits(3).stderr_has("not found");
}

async fn volumes_addresses_and_namespaces_are_found_through_nested_inventories(cluster: TestCluster) {
    let components = json!(["source-controller", "kustomize-controller", "helm-controller"]);
    install(&cluster, &instance(&cluster, json!({"components": components}))).await.exits(0);
    let namespace = cluster.namespace();
    let below = format!("{namespace}-below");
    let claim = |name: &str, place: &str| {
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": place},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}})
    };
    let ks = |name: &str| {
        json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": name},
            "spec": {"interval": "1h", "path": "./", "prune": true, "sourceRef": {"kind": "GitRepository", "name": "app"}}})
    };
    cluster
        .apply(&[
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": below}}),
            claim("within", &below),
            claim("data", namespace),
            json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
                "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}}),
            json!({"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "metadata": {"name": "web"},
                "spec": {"interval": "1h", "chart": {"spec": {"chart": "web", "sourceRef": {"kind": "HelmRepository", "name": "charts"}}}}}),
            ks("root"),
            ks("inner"),
        ])
        .await;
    let client = cluster.client();
    let reports = async |api_version: &str, kind: &str, name: &str, status: Value| {
        let api = objects::api(&client, api_version, kind, namespace).await.expect("served");
        let patch = Patch::Merge(json!({"status": status}));
        api.patch_status(name, &Default::default(), &patch).await.expect("written");
    };
    let inventory = |ids: &[String]| {
        let entries: Vec<Value> = ids.iter().map(|id| json!({"id": id, "v": "v1"})).collect();
        json!({"inventory": {"entries": entries}})
    };
    let id = |name: &str, kind: &str| format!("{namespace}_{name}_{kind}");
    let root = [id("inner", "kustomize.toolkit.fluxcd.io_Kustomization"), format!("_{below}__Namespace")];
    reports("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "root", inventory(&root)).await;
    let inner = [id("web", "helm.toolkit.fluxcd.io_HelmRelease"), id("data", "_PersistentVolumeClaim")];
    reports("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "inner", inventory(&inner)).await;
    reports("helm.toolkit.fluxcd.io/v2", "HelmRelease", "web", inventory(&[id("web", "_Service")])).await;
    let address = json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]}});
    reports("v1", "Service", "web", address).await;

    let bound = || async {
        let shown = run(&cluster, &["impact", "ks/root"]).await.exits(0);
        (shown.stdout.matches("the volume ").count() == 2).then_some(shown)
    };
    let shown = eventually("both claims to be bound", SOON, bound).await.expect("bound");
    let shown = shown.stdout_has("the address 192.0.2.7 is released").stdout_has("with everything in it");
    // Volumes first, then addresses, then namespaces.
    let at = |text: &str| shown.stdout.find(text).unwrap_or_else(|| panic!("{text}: {}", shown.stdout));
    let claims = at(&format!("PersistentVolumeClaim/{namespace}/data")).max(at(&format!("{below}/within")));
    let service = at(&format!("Service/{namespace}/web"));
    assert!(claims < service && service < at(&format!("Namespace/{below}")), "{}", shown.stdout);
    let live = run(&cluster, &["impact", "ks/root", "-o", "json"]).await.exits(0).json();
    let through =
        |name: &str| live["deleted"].as_array().and_then(|all| all.iter().find(|e| e["object"]["name"] == name));
    assert_eq!(through("within").map(|e| &e["through"]["kind"]), Some(&json!("Namespace")), "{live:#}");
    assert_eq!(through("data").map(|e| &e["through"]["name"]), Some(&json!("inner")), "{live:#}");
    let folder = tempfile::tempdir().expect("a folder");
    let archive = folder.path().join("bundle.tar.gz");
    let bundle = archive.to_str().expect("UTF-8");
    run(&cluster, &["bundle", "-o", bundle]).await.exits(0);
    let reported =
        run(&cluster, &["impact", "ks/root", "-n", namespace, "-o", "json", "--from", bundle]).await.exits(0).json();
    assert_eq!(reported, live, "a bundle tells the same");
}
