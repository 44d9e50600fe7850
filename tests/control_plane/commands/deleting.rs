//! delete instance: the clean-up, and the confirmation before it.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;

use crate::cluster_tests;
use crate::commands::cluster_objects::*;
use crate::support::{ClusterTest, TestCluster, objects};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        without_an_operator_nothing_is_deleted_and_the_way_out_is_named,
        a_running_operator_finishes_the_deletion,
        a_suspended_deletion_keeps_flux,
        without_a_terminal_and_without_yes_nothing_is_deleted,
        a_protected_context_wants_its_name_also_with_yes,
        a_missing_instance_is_not_deleted,
    ]
}

const FINALIZER: &str = "fluxcd.controlplane.io/finalizer";

/// An operator that runs outside the cluster shows itself by its lease only.
pub async fn run_operator(cluster: &TestCluster) {
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "flux-operator"},
        "spec": {"holderIdentity": "host_1", "leaseDurationSeconds": 35,
            "renewTime": objects::micro_time(jiff::Timestamp::now())},
    });
    let leases = Api::<Lease>::namespaced(cluster.client(), cluster.namespace());
    leases.patch("flux-operator", &PatchParams::apply("operator"), &Patch::Apply(lease)).await.unwrap();
}

/// An installed instance as the operator leaves it.
pub async fn installed(cluster: &TestCluster) {
    let spec = json!({"distribution": {"version": "2.x", "registry": "ghcr.io/fluxcd"}});
    create(cluster, INSTANCE, "flux", json!({"metadata": {"finalizers": [FINALIZER]}, "spec": spec})).await;
    let entries = json!([{"id": "flux-system_source-controller_apps_Deployment", "v": "v1"},
        {"id": "flux-system_helm-controller_apps_Deployment", "v": "v1"}]);
    set_status(cluster, INSTANCE, "flux", json!({"inventory": {"entries": entries}})).await;
}

async fn without_an_operator_nothing_is_deleted_and_the_way_out_is_named(cluster: TestCluster) {
    installed(&cluster).await;
    let begun = std::time::Instant::now();
    run(&cluster, &["delete", "instance", "--yes"])
        .await
        .exits(1)
        .stderr_has("nobody would clean up")
        .stderr_has(&format!("flux-operator uninstall instance flux --in-process -n {}", cluster.namespace()));
    assert!(begun.elapsed() < Duration::from_secs(10), "took {:?}", begun.elapsed());
    let object = INSTANCE.api(&cluster).get("flux").await.unwrap();
    assert!(object.metadata.deletion_timestamp.is_none());
}

async fn a_protected_context_wants_its_name_also_with_yes(cluster: TestCluster) {
    installed(&cluster).await;
    run_operator(&cluster).await;
    let in_protected = |arguments: &str| {
        let mut command = cluster.command();
        command.args(arguments.split(' ')).env("FLUX_OPERATOR_PROTECTED_CONTEXTS", "prod-*, te?t");
        Run::from(command.output().expect("the binary runs"))
    };
    in_protected("delete instance --yes").exits(2).stderr_has("test is protected").stderr_has("--confirm-context test");
    in_protected("delete instance --yes --confirm-context prod-eu").exits(2).stderr_has("the context is test");
    let object = INSTANCE.api(&cluster).get("flux").await.unwrap();
    assert!(object.metadata.deletion_timestamp.is_none());
    in_protected("delete instance --yes --confirm-context test --wait=false").exits(0);
    let object = INSTANCE.api(&cluster).get("flux").await.unwrap();
    assert!(object.metadata.deletion_timestamp.is_some());
}

async fn a_running_operator_finishes_the_deletion(cluster: TestCluster) {
    installed(&cluster).await;
    run_operator(&cluster).await;
    run(&cluster, &["delete", "instance", "--dry-run=server"]).await.exits(0).stderr_has("2 Deployment");
    run(&cluster, &["delete", "instance", "--dry-run=client"]).await.exits(0).stderr_has("would delete");
    run(&cluster, &["delete", "instance", "--yes", "--timeout=4s"])
        .await
        .exits(7)
        .stderr_has(&format!("still waiting: its finalizers: {FINALIZER}"));
    let (run, ()) = tokio::join!(run(&cluster, &["wait", "instance", "--for=delete"]), async {
        let none = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        INSTANCE.api(&cluster).patch("flux", &PatchParams::default(), &none).await.unwrap();
    });
    run.exits(0).stdout_has("flux: deleted");
}

async fn a_suspended_deletion_keeps_flux(cluster: TestCluster) {
    installed(&cluster).await;
    run_operator(&cluster).await;
    let arguments = ["delete", "instance", "flux", "--with-suspend", "--yes", "--wait=false"];
    run(&cluster, &arguments).await.exits(0).stderr_has("suspended for").stderr_has("deletion requested for");
    let object = INSTANCE.api(&cluster).get("flux").await.unwrap();
    assert!(object.metadata.deletion_timestamp.is_some());
    assert_eq!(object.metadata.annotations.unwrap()["fluxcd.controlplane.io/reconcile"], "disabled");
    let none = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    INSTANCE.api(&cluster).patch("flux", &PatchParams::default(), &none).await.unwrap();
    // Without a finalizer and suspended, no operator is needed.
    create(&cluster, INSTANCE, "flux", json!({})).await;
    run(&cluster, &["delete", "instance", "--with-suspend", "--yes"]).await.exits(0).stdout_has("flux: deleted");
}

async fn without_a_terminal_and_without_yes_nothing_is_deleted(cluster: TestCluster) {
    create(&cluster, INSTANCE, "flux", json!({})).await;
    run(&cluster, &["delete", "instance"]).await.exits(2).stderr_has("hint: repeat the command with --yes");
    assert!(INSTANCE.api(&cluster).get("flux").await.is_ok());
}

async fn a_missing_instance_is_not_deleted(cluster: TestCluster) {
    define_kinds(cluster.client()).await;
    run(&cluster, &["delete", "instance", "nope", "--yes"]).await.exits(3).stderr_has("not found");
}
