//! The habits that need a cluster: the rows of `tests/support/habits.rs` against an installation.

use std::net::TcpListener;

use serde_json::{Value, json};

use super::stage::{Stage, silent_stage};
use crate::cluster_tests;
use crate::reconcile::world::NAMESPACE;
use crate::support::habits::{self, FailurePosition, Row};
use crate::support::{ClusterTest, TestCluster, objects};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![every_habit_holds_on_a_cluster]
}

/// A kubeconfig with a context for every trouble.
fn contexts(stage: &Stage, silent: &TcpListener) -> Value {
    let (admin, poor) =
        (stage.world.kubeconfig.value(), stage.world.plane.user_without_rights("poor").unwrap().value());
    let (cluster, user) = (&admin["clusters"][0]["cluster"], &admin["users"][0]["user"]);
    let at = |address: String| json!({"server": address, "insecure-skip-tls-verify": true});
    let context =
        |name: &str, cluster: &str, user: &str| json!({"name": name, "context": {"cluster": cluster, "user": user}});
    let mut config = json!({"apiVersion": "v1", "kind": "Config", "current-context": "test",
        "clusters": [
            {"name": "real", "cluster": cluster},
            {"name": "silent", "cluster": at(format!("https://{}", silent.local_addr().unwrap()))},
            // Port 9 (discard) has no listener.
            {"name": "gone", "cluster": at("https://127.0.0.1:9".into())},
        ],
        "users": [{"name": "admin", "user": user}, {"name": "poor", "user": poor["users"][0]["user"]}],
        "contexts": [context("test", "real", "admin"), context("apps", "real", "admin"), context("nobody", "real", "poor"),
            context("silent", "silent", "admin"), context("gone", "gone", "admin"), context("ghost", "real", "ghost")]});
    config["contexts"][1]["context"]["namespace"] = "apps".into();
    config
}

async fn every_habit_holds_on_a_cluster(cluster: TestCluster) {
    // No controller answers requests on `extra`, so the command waits.
    let stage = silent_stage(&cluster).await;
    let apps = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "apps"}});
    objects::apply(stage.world.plane.client(), NAMESPACE, &[apps]).await.unwrap();
    // Connections stay in the queue for ever.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let kubeconfig = stage.world.plane.folder().join("habits.kubeconfig");
    std::fs::write(&kubeconfig, contexts(&stage, &silent).to_string()).unwrap();
    let folder = stage.world.plane.folder().join("habits");
    std::fs::create_dir_all(&folder).unwrap();
    let place = FailurePosition {
        binary: env!("CARGO_BIN_EXE_flux-operator").to_owned(),
        folder,
        kubeconfig: kubeconfig.display().to_string(),
        variables: vec![("MANIFEST".to_owned(), stage.manifest.clone())],
    };
    let rows: Vec<Row> = habits::on_a_cluster();
    tokio::task::spawn_blocking(move || habits::all_hold(&place, &rows)).await.expect("every row holds");
    drop(silent);
}
