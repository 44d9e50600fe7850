//! The operator with exactly the rights of its own manifests.

use serde_json::json;

use super::operator::*;
use crate::cluster_tests;
use crate::reconcile::world::*;
use crate::support::run::Run;
use crate::support::runner::command;
use crate::support::{ClusterTest, TestCluster, eventually};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![the_operator_does_all_of_its_work_with_the_rights_that_its_manifests_give_it]
}

async fn the_operator_does_all_of_its_work_with_the_rights_that_its_manifests_give_it(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    let mut install = command(world.kubeconfig.path(), world.plane.folder());
    install.args(["install", "--image", "registry.example.com/flux-operator:v1", "-n", NAMESPACE]);
    let installed = tokio::task::spawn_blocking(move || Run::from(install.output().unwrap())).await.unwrap();
    installed.exits(0);
    // The pod of the Deployment is played; this process has the rights of its service account, and nothing else.
    let account = format!("system:serviceaccount:{NAMESPACE}:flux-operator");
    let kubeconfig = world.plane.user_without_rights(&account).unwrap();
    let mark = world.plane.audit().mark().await.unwrap();
    let operator = Operator::start_with(&kubeconfig, world.plane.folder(), "operator-a", &[]);
    let annotations = json!({"fluxcd.controlplane.io/reconcileOnDrift": "Enabled"});
    let mut everything = spec("2.8.x");
    everything["components"] = json!([
        "source-controller",
        "kustomize-controller",
        "helm-controller",
        "notification-controller",
        "image-reflector-controller",
        "image-automation-controller"
    ]);
    everything["sync"] = json!({"kind": "GitRepository", "url": "https://example.com/fleet.git", "ref": "refs/heads/main",
        "path": "clusters/a"});
    everything["wait"] = json!(false);
    world.write_instance(everything.clone(), annotations.clone()).await;
    world.wait_for_ready().await;
    everything["distribution"]["version"] = json!("2.9.x");
    everything["components"] = json!(["source-controller", "kustomize-controller"]);
    world.write_instance(everything, annotations).await;
    world.wait_for_ready().await;
    world.annotate(json!({"reconcile.fluxcd.io/requestedAt": "one", "reconcile.fluxcd.io/forceAt": "one"})).await;
    let forced = |instance: &flux_operator::api::FluxInstance| {
        instance.status.as_ref().and_then(|status| status.last_handled_force_at.as_deref()) == Some("one")
    };
    world.wait_for("the forced run", forced).await;
    world.patch_as("hpa", &deployment_id("source-controller"), json!({"spec": {"replicas": 2}})).await;
    let corrected = eventually("the correction", SOON, || async {
        (world.deployment("source-controller").await["spec"]["replicas"] == 1).then_some(())
    });
    corrected.await.unwrap();
    let report = eventually("the report", SOON, || async {
        let report = world.get("fluxcd.controlplane.io/v1", "FluxReport", NAMESPACE, "flux").await?;
        (report["spec"]["distribution"]["version"] == "v2.9.4").then_some(report)
    });
    assert!(report.await.unwrap()["spec"]["cluster"]["nodes"].as_i64().is_some());
    world.cluster.delete(&instance_id(), &Default::default()).await.unwrap();
    world.wait_until_gone().await;
    let seen = world.plane.audit().since(mark).await.unwrap().by_user(&account);
    let refused = seen.only(|request| request.status == 403);
    assert!(refused.is_empty(), "{:?}", refused.table());
    assert!(seen.count("create", "controllerrevisions") >= 1, "{:?}", seen.table());
    drop(operator);
}
