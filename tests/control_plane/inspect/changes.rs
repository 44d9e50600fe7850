//! `what-changed`: separates changes by people from those by Flux, in a cluster and in its bundle.

use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

use crate::cluster_tests;
use crate::inspect::world::{install, instance, run};
use crate::support::runner::ClusterTest;
use crate::support::{TestCluster, objects};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![changes_of_people_are_distinguished_from_those_of_flux]
}

/// `action kind/name by`, of what happened to the objects of the test.
fn rows(list: &Value) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let rows = list["items"].as_array().expect("items").iter().map(|row| {
        let object = format!("{}/{}", text(&row["object"]["kind"]), text(&row["object"]["name"]));
        (text(&row["action"]), object, text(&row["author"]))
    });
    rows.collect()
}

async fn changes_of_people_are_distinguished_from_those_of_flux(cluster: TestCluster) {
    let components = json!(["source-controller", "kustomize-controller", "helm-controller"]);
    install(&cluster, &instance(&cluster, json!({"components": components}))).await.exits(0);
    let namespace = cluster.namespace().to_owned();
    cluster
        .apply(&[
            json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": "app"},
                "spec": {"interval": "1h", "prune": true, "sourceRef": {"kind": "GitRepository", "name": "app"}}}),
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "1", "b": "1"}}),
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "foreign"}, "data": {"a": "1"}}),
            // As Helm stores a release; what it holds is not to be read.
            json!({"apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1",
                "metadata": {"name": "sh.helm.release.v1.web.v3",
                    "labels": {"owner": "helm", "name": "web", "status": "deployed", "version": "3"}},
                "stringData": {"release": "H4sIcanaryreleasevalues"}}),
            json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "pruned"}, "type": "Normal", "reason": "Progressing",
                "involvedObject": {"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "name": "app",
                    "namespace": namespace},
                "source": {"component": "kustomize-controller"}, "lastTimestamp": jiff::Timestamp::now().to_string(),
                "message": format!("ConfigMap/{namespace}/old deleted\nConfigMap/{namespace}/settings unchanged")}),
        ])
        .await;
    let client = cluster.client();
    let patch = async |api_version: &str, kind: &str, name: &str, manager: &str, patch: Value, is_status: bool| {
        let api = objects::api(&client, api_version, kind, &namespace).await.expect("served");
        let parameters = PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
        let patch = Patch::<Value>::Merge(patch);
        let patched: Result<DynamicObject, _> = match is_status {
            true => api.patch_status(name, &parameters, &patch).await,
            false => api.patch(name, &parameters, &patch).await,
        };
        patched.expect("patched");
    };
    let now = jiff::Timestamp::now().to_string();
    let status = json!({"status": {"inventory": {"entries": [{"id": format!("{namespace}_settings__ConfigMap"), "v": "v1"}]},
        "history": [{"digest": "sha256:aa", "firstReconciled": now, "lastReconciled": now, "lastReconciledDuration": "1s",
            "lastReconciledStatus": "ReconciliationSucceeded", "totalReconciliations": 1, "metadata": {"revision": "main@sha1:aa"}}]}});
    let group = "kustomize.toolkit.fluxcd.io/v1";
    patch(group, "Kustomization", "app", "gotk-kustomize-controller", status, true).await;
    patch("v1", "ConfigMap", "settings", "kustomize-controller", json!({"data": {"a": "2"}}), false).await;
    // The time of a write is whole seconds: what is written in the second of the creation is taken for it.
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    patch("v1", "ConfigMap", "settings", "kubectl-edit", json!({"data": {"b": "by hand"}}), false).await;
    run(&cluster, &["suspend", "ks", "app"]).await.exits(0);

    let folder = tempfile::tempdir().expect("a folder");
    let bundle = folder.path().join("changes.tar.gz");
    let bundle = bundle.to_str().expect("UTF-8");
    run(&cluster, &["bundle", "-o", bundle, "--timeout", "60s"]).await.exits(0);
    let words = ["what-changed", "-n", &namespace, "-o", "json"];
    let live = run(&cluster, &words).await.exits(0).json();
    let dumped = run(&cluster, &[&words[..], &["--from", bundle]].concat()).await.exits(0).json();
    for (from, list) in [("cluster", &live), ("bundle", &dumped)] {
        let all = rows(list);
        let has = |action: &str, object: &str, author: &str| {
            let wanted = (action.to_owned(), object.to_owned(), author.to_owned());
            assert!(all.contains(&wanted), "{wanted:?} of the {from} is not in {all:#?}");
        };
        has("changed", "ConfigMap/settings", "other");
        has("changed", "Kustomization/app", "other");
        has("reconciled", "Kustomization/app", "flux");
        has("deleted", "ConfigMap/old", "flux");
        has("released", "Secret/sh.helm.release.v1.web.v3", "other");
        assert!(!all.iter().any(|(_, object, _)| object == "ConfigMap/foreign"), "a foreign object: {all:#?}");
        let times: Vec<jiff::Timestamp> = list["items"]
            .as_array()
            .expect("items")
            .iter()
            .filter_map(|row| row["at"].as_str()?.parse().ok())
            .collect();
        assert!(times.is_sorted(), "{times:?}");
        let by_hand = list["items"].as_array().expect("items").iter().find(|row| row["by"] == "kubectl-edit");
        assert_eq!(by_hand.expect("told")["fields"], json!(["data.b"]));
        assert!(!list.to_string().contains("canary"), "{list}");
    }
    // The instance was created with the same manager.
    let is_suspension = |row: &&Value| row["by"] == "flux-operator-ctl" && row["object"]["name"] == "app";
    let suspended = live["items"].as_array().expect("items").iter().find(is_suspension).expect("told");
    assert!(suspended["fields"].as_array().expect("fields").contains(&json!("spec.suspend")), "{suspended:#}");
    // A table of what people did.
    let table = run(&cluster, &["what-changed", "-n", &namespace, "--filter", "author=other"]).await.exits(0);
    let table = table.stdout_has("kubectl-edit").stdout_has("data.b");
    assert!(!table.stdout.contains("gotk-"), "{}", table.stdout);
    run(&cluster, &["what-changed", "-n", &namespace, "--since", "2126-01-01T00:00:00Z"])
        .await
        .exits(0)
        .stderr_has("nothing changed since then");
}
