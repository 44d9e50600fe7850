//! Changes of installed objects by others, and the cost of an interval without changes.

use std::time::Duration;

use flux_operator::cluster::DeleteOptions;
use serde_json::json;

use super::operator::*;
use crate::cluster_tests;
use crate::reconcile::world::*;
use crate::support::{ClusterTest, TestCluster, eventually};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        a_foreign_change_is_reported_with_object_and_manager_and_corrected_at_once_on_request,
        owner_labels_that_another_operator_changes_under_our_manager_are_reported_at_once,
        an_interval_in_which_nothing_moved_costs_four_requests,
    ]
}

async fn drift_event(world: &World, text: &str) -> String {
    let found = eventually(text, SOON, || async {
        let events = world.events().await;
        events.into_iter().find(|(reason, message)| reason.starts_with("Drift") && message.contains(text))
    });
    match found.await {
        Ok((_, message)) => message,
        Err(error) => panic!("{error}: {:?}", world.events().await),
    }
}

async fn a_foreign_change_is_reported_with_object_and_manager_and_corrected_at_once_on_request(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    world.prepared().await;
    let operator = Operator::start(&world, "operator-a", &[]);
    world.write_instance(spec("2.9.x"), json!({})).await;
    world.wait_for_ready().await;
    // The last writes of the instance's own controllers have arrived through the watches, too.
    tokio::time::sleep(Duration::from_secs(2)).await;

    let replicas = |count: u32| json!({"spec": {"replicas": count}});
    world.patch_as("kubectl-scale", &deployment_id("helm-controller"), replicas(3)).await;
    let reported = drift_event(&world, "Deployment/flux-system/helm-controller").await;
    assert_eq!(
        reported,
        "Deployment/flux-system/helm-controller was changed by kubectl-scale: spec.replicas; the next full reconciliation corrects it"
    );
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(world.deployment("helm-controller").await["spec"]["replicas"], 3, "not without being asked to");
    let (_, metrics) = operator.ask("metrics", "/metrics").await;
    assert!(
        metrics.contains("flux_operator_drift_total{kind=\"Deployment\",manager=\"kubectl-scale\"} 1"),
        "{metrics}"
    );

    world.annotate(json!({"fluxcd.controlplane.io/reconcileOnDrift": "Enabled"})).await;
    let corrected = |name: &'static str| {
        let world = &world;
        eventually("the correction", SOON, move || async move {
            let found = world.get("apps/v1", "Deployment", NAMESPACE, name).await?;
            (found["spec"]["replicas"] == 1).then_some(())
        })
    };
    corrected("helm-controller").await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    world.patch_as("hpa", &deployment_id("kustomize-controller"), replicas(2)).await;
    let reported = drift_event(&world, "kustomize-controller").await;
    assert!(reported.ends_with("was changed by hpa: spec.replicas; it is corrected now"), "{reported}");
    corrected("kustomize-controller").await.unwrap();
    world.cluster.delete(&deployment_id("source-controller"), &DeleteOptions::default()).await.unwrap();
    drift_event(&world, "Deployment/flux-system/source-controller was deleted").await;
    corrected("source-controller").await.unwrap();

    // A manager that insists is reported, and no longer corrected at once. Each change waits for its correction, which a
    // busy machine delays; the first of the five was above.
    for _ in 0..4 {
        tokio::time::sleep(Duration::from_millis(1200)).await;
        world.patch_as("hpa", &deployment_id("kustomize-controller"), replicas(2)).await;
        corrected("kustomize-controller").await.unwrap();
    }
    tokio::time::sleep(Duration::from_millis(1200)).await;
    world.patch_as("hpa", &deployment_id("kustomize-controller"), replicas(2)).await;
    let contested = drift_event(&world, "it was corrected 5 times within 10 minutes").await;
    assert!(contested.contains("kustomize-controller was changed by hpa"), "{contested}");
}

async fn an_interval_in_which_nothing_moved_costs_four_requests(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    world.prepared().await;
    let _operator =
        Operator::start(&world, "operator-a", &["--reporting-interval=1h", "--interval-jitter-percentage=0"]);
    world.write_instance(spec("2.9.x"), json!({"fluxcd.controlplane.io/reconcileEvery": "3s"})).await;
    let first = world.wait_for_ready().await;
    // The first run after the installation still checks everything. Later runs find that nothing has changed.
    let settled = world.wait_for("two more runs", |instance| runs(instance) >= runs(&first) + 2).await;
    let mark = world.plane.audit().mark().await.unwrap();
    let later = world.wait_for("three more runs", |instance| runs(instance) >= runs(&settled) + 3).await;
    let seen = world.plane.audit().since(mark).await.unwrap().by_user(USER);
    let agent = seen.only(|request| request.user_agent.ends_with(" controller"));
    // Without the lease, which has an interval of its own.
    let own = agent.only(|request| request.resource != "leases" && request.verb != "watch");
    let ran = usize::try_from(runs(&later) - runs(&settled)).unwrap();
    assert!(own.len() <= 4 * ran, "{} requests for {ran} runs: {:?}", own.len(), own.table());
}

async fn owner_labels_that_another_operator_changes_under_our_manager_are_reported_at_once(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    world.prepared().await;
    let _operator = Operator::start(&world, "operator-a", &[]);
    let mut wanted = spec("2.9.x");
    wanted["components"] = json!(["source-controller"]);
    world.write_instance(wanted.clone(), json!({})).await;
    world.wait_for_ready().await;
    tokio::time::sleep(Duration::from_secs(2)).await;

    // Another operator, with the same name for its fields, applies what its own instance wants.
    world.apply_as("other", json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "flux-b"}})).await;
    let theirs = json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
        "metadata": {"name": "flux", "namespace": "flux-b"}, "spec": wanted});
    world.cluster.create(&theirs, "other").await.unwrap();
    for (version, kind, namespace, name) in [
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "buckets.source.toolkit.fluxcd.io"),
        ("v1", "ServiceAccount", NAMESPACE, "source-controller"),
    ] {
        let mut stolen = world.get(version, kind, namespace, name).await.unwrap();
        for field in ["managedFields", "resourceVersion", "uid", "generation", "creationTimestamp"] {
            stolen["metadata"].as_object_mut().unwrap().remove(field);
        }
        stolen.as_object_mut().unwrap().remove("status");
        stolen["metadata"]["labels"]["fluxcd.controlplane.io/namespace"] = json!("flux-b");
        world.apply_as("flux-operator", stolen).await;
        let reported = drift_event(&world, &format!("{name} was taken over by FluxInstance/flux-b/flux")).await;
        assert!(reported.contains("its owner labels were changed"), "{reported}");
    }

    // The run that is to correct it is refused while that instance exists, and says how to go on.
    world.annotate(json!({"reconcile.fluxcd.io/requestedAt": "now"})).await;
    let refused = world.wait_for("the refusal", |one| condition(one, "Ready").0 == "False").await;
    let message = condition(&refused, "Ready").2;
    assert!(message.contains("cannot take over objects that FluxInstance/flux-b/flux owns"), "{message}");
    assert!(message.contains("delete one of the two instances"), "{message}");
}
