//! `debug`: values and variables as a cluster has them, masked unless somebody asks.

use serde_json::json;

use crate::cluster_tests;
use crate::inspect::world::{install, instance, run};
use crate::support::TestCluster;
use crate::support::runner::ClusterTest;

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
    run(&cluster, &["debug", "ks", "app", "--values"]).await.exits(2).stderr_has("has no such thing");
    run(&cluster, &["debug", "ks", "app"]).await.exits(2);
    run(&cluster, &["debug", "hr", "nope", "--values"]).await.exits(3);
    let secrets = crate::support::objects::api(&cluster.client(), "v1", "Secret", cluster.namespace()).await;
    secrets.expect("served").delete("db", &Default::default()).await.expect("deleted");
    run(&cluster, &["debug", "hr", "web", "--values"]).await.exits(1).stderr_has("Secret/db does not exist");
}
