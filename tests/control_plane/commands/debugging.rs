//! `debug`: values and variables as a cluster has them, masked unless somebody asks.

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::cluster_tests;
use crate::inspect::world::{dump, install, instance, run};
use crate::support::runner::ClusterTest;
use crate::support::{TestCluster, objects};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![values_and_variables_are_merged_with_their_origins_and_masked]
        .into_iter()
        .map(ClusterTest::that_installs)
        .collect()
}

async fn values_and_variables_are_merged_with_their_origins_and_masked(cluster: TestCluster) {
    let components = json!(["source-controller", "kustomize-controller", "helm-controller"]);
    install(&cluster, &instance(&cluster, json!({"components": components}))).await.exits(0);
    let values_from = json!([{"kind": "ConfigMap", "name": "defaults"},
        {"kind": "Secret", "name": "db", "valuesKey": "password", "targetPath": "db.password"}]);
    let substitute_from = json!([{"kind": "ConfigMap", "name": "vars"}, {"kind": "Secret", "name": "db"},
        {"kind": "Secret", "name": "later", "optional": true}]);
    cluster
        .apply(&[
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "defaults"},
                "data": {"values.yaml": "replicas: 1\ndb:\n  host: example\n"}}),
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "vars"}, "data": {"region": "eu"}}),
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}, "stringData": {"password": "canary-7d1f"}}),
            json!({"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "metadata": {"name": "web"},
                "spec": {"interval": "1h", "values": {"replicas": 3}, "valuesFrom": values_from,
                    "chart": {"spec": {"chart": "web", "sourceRef": {"kind": "HelmRepository", "name": "charts"}}}}}),
            json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": "app"},
                "spec": {"interval": "1h", "prune": true, "postBuild": {"substitute": {"region": "us"}, "substituteFrom": substitute_from},
                    "sourceRef": {"kind": "GitRepository", "name": "app"}}}),
        ])
        .await;
    let values = run(&cluster, &["debug", "hr", "web", "--values", "-o", "json"]).await.exits(0);
    let expected = json!({"replicas": 3, "db": {"host": "example", "password": "[masked]"}});
    assert_eq!(values.json()["values"], expected, "{}", values.stdout);
    assert!(!values.stdout.contains("canary-7d1f") && !values.stderr.contains("canary-7d1f"));
    let origins = run(&cluster, &["debug", "hr/web", "--values", "-o", "wide"]).await.exits(0);
    origins.stdout_has("replicas: 3  # spec.values").stdout_has("db.password: \"[masked]\"  # Secret/db key password");
    let revealed = run(&cluster, &["debug", "hr", "web", "--values", "--reveal"]).await.exits(0);
    revealed.stdout_has("password: canary-7d1f");
    let vars = run(&cluster, &["debug", "ks", "app", "--vars"]).await.exits(0);
    let vars = vars.stdout_has("region: \"us\"  # spec.postBuild.substitute");
    vars.stdout_has("password: \"[masked]\"  # Secret/db");
    releases_and_applied_revisions_are_listed(&cluster).await;
    from_a_dump_everything_but_the_values_of_secrets_is_shown(&cluster).await;
    run(&cluster, &["debug", "ks", "app", "--values"])
        .await
        .exits(2)
        .stderr_has("does not support --values for the kind Kustomization");
    run(&cluster, &["debug", "ks", "app"]).await.exits(2);
    run(&cluster, &["debug", "hr", "nope", "--values"]).await.exits(3);
    let secrets = objects::api(&cluster.client(), "v1", "Secret", cluster.namespace()).await;
    secrets.expect("served").delete("db", &Default::default()).await.expect("deleted");
    run(&cluster, &["debug", "hr", "web", "--values"]).await.exits(1).stderr_has("Secret/db does not exist");
}

/// Writes a status as a controller writes it.
async fn reports(cluster: &TestCluster, api_version: &str, kind: &str, name: &str, status: Value) {
    let api = objects::api(&cluster.client(), api_version, kind, cluster.namespace()).await.expect("served");
    let patch = Patch::Merge(json!({"status": status}));
    api.patch_status(name, &PatchParams::default(), &patch).await.expect("written");
}

async fn releases_and_applied_revisions_are_listed(cluster: &TestCluster) {
    let condition = |reason: &str, message: &str| {
        json!([{"type": "Ready", "status": "False", "reason": reason, "message": message,
            "lastTransitionTime": "2026-01-01T00:00:00Z"}])
    };
    let release = |version: u64, status: &str| {
        json!({"digest": "sha256:1", "name": "web", "namespace": "apps", "version": version, "status": status,
            "chartName": "web", "chartVersion": format!("1.{version}.0"), "configDigest": "sha256:2",
            "firstDeployed": "2026-01-01T00:00:00Z", "lastDeployed": "2026-01-01T00:00:00Z"})
    };
    let status = json!({"conditions": condition("UpgradeFailed", "timed out waiting"),
        "history": [release(2, "failed"), release(1, "superseded")]});
    reports(cluster, "helm.toolkit.fluxcd.io/v2", "HelmRelease", "web", status).await;
    let entry = json!({"digest": "sha256:3", "firstReconciled": "2026-01-01T00:00:00Z", "lastReconciled": "2026-01-01T00:00:00Z",
        "lastReconciledDuration": "1s", "lastReconciledStatus": "BuildFailed", "totalReconciliations": 7});
    let status = json!({"conditions": condition("BuildFailed", "no such file"), "history": [entry]});
    reports(cluster, "kustomize.toolkit.fluxcd.io/v1", "Kustomization", "app", status).await;
    for (line, expected) in [
        ("debug hr web --status", &["UpgradeFailed", "timed out waiting"][..]),
        ("debug hr web --history", &["1.2.0", "failed", "1.1.0", "superseded"]),
        ("debug ks app --status", &["BuildFailed", "no such file"]),
        ("debug ks app --history", &["BuildFailed", "7 times"]),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let mut reported = run(cluster, &words).await.exits(0);
        for text in expected {
            reported = reported.stdout_has(text);
        }
        let items = run(cluster, &[&words[..], &["-o", "json"]].concat()).await.exits(0).json();
        assert!(items.as_array().is_some_and(|items| !items.is_empty()), "{line}: {items}");
    }
}

async fn from_a_dump_everything_but_the_values_of_secrets_is_shown(cluster: &TestCluster) {
    let folder = tempfile::tempdir().expect("a folder");
    dump(cluster, folder.path()).await;
    let archive = folder.path().join("bundle.tar.gz");
    let (raw, bundle) = (folder.path().to_str().expect("UTF-8"), archive.to_str().expect("UTF-8"));
    run(cluster, &["bundle", "-o", bundle]).await.exits(0);
    let values = run(cluster, &["debug", "hr", "web", "--values", "-o", "json", "--from", raw]).await.exits(0).json();
    assert_eq!(values["values"], json!({"replicas": 3, "db": {"host": "example", "password": "[masked]"}}));
    let vars = run(cluster, &["debug", "ks", "app", "--vars", "--from", raw]).await.exits(0);
    vars.stdout_has("region: \"us\"").stderr_has("not shown: values from Secret/db");
    // A bundle holds no values of ConfigMaps either, but the keys of all.
    let values = run(cluster, &["debug", "hr", "web", "--values", "--from", bundle]).await.exits(0);
    values.stdout_has("password: \"[masked]\"").stderr_has("values from ConfigMap/defaults key values.yaml");
    let vars = run(cluster, &["debug", "ks", "app", "--vars", "--from", bundle]).await.exits(0);
    vars.stdout_has("password: \"[masked]\"  # Secret/db");
    for line in ["debug hr web --status", "debug hr web --history", "debug ks app --status", "debug ks app --history"] {
        let words: Vec<&str> = line.split(' ').collect();
        let live = run(cluster, &[&words[..], &["-o", "json"]].concat()).await.exits(0).json();
        let reported = run(cluster, &[&words[..], &["-o", "json", "--from", bundle]].concat()).await.exits(0).json();
        assert_eq!(reported, live, "{line}");
    }
}
