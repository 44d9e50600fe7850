//! The operator's reaction to changes of the instance's spec and annotations.

use std::time::Duration;

use flux_operator::cluster::WriteOptions;
use flux_operator::k8s::ObjectId;
use serde_json::json;

use super::operator::*;
use crate::cluster_tests;
use crate::reconcile::world::*;
use crate::support::{ClusterTest, TestCluster};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        an_instance_is_installed_reported_measured_and_taken_away,
        requests_are_answered_once_each_and_a_thousand_quick_ones_together,
        a_spec_that_cannot_be_built_is_not_tried_again_until_it_changes,
        a_suspended_instance_is_left_alone_and_resumed_and_its_deletion_leaves_flux,
        a_new_spec_ends_the_wait_for_health_and_an_unhealthy_one_is_tried_again_later_each_time,
        an_instance_deleted_while_no_operator_ran_is_finalized_by_the_next_one,
        a_second_instance_reports_the_conflict_until_the_first_instance_is_deleted,
        flags_of_what_is_not_served_are_refused_by_name,
    ]
}

async fn an_instance_is_installed_reported_measured_and_taken_away(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    world.prepared().await;
    let mut operator = Operator::start(&world, "operator-a", &[]);
    operator.wait_for_log("successfully acquired lease").await;
    world.write_instance(spec("2.8.x"), json!({})).await;
    let instance = world.wait_for_ready().await;

    assert_eq!(instance.metadata.finalizers.clone().unwrap(), ["fluxcd.controlplane.io/finalizer"]);
    let status = instance.status.clone().unwrap();
    assert_eq!(status.inventory.as_ref().unwrap().entries.len(), 32);
    assert_eq!(status.last_applied_revision, status.last_attempted_revision);
    let (up_to_date, reason, message) = condition(&instance, "UpToDate");
    assert_eq!((up_to_date.as_str(), reason.as_str()), ("False", "NewVersionAvailable"));
    assert_eq!(message, "Flux v2.9.4 is available, and spec.distribution.version 2.8.x does not allow it");
    let reasons: Vec<String> = world.events().await.into_iter().map(|(reason, _)| reason).collect();
    let installed = "ReconciliationSucceeded";
    assert_eq!(reasons, ["OutdatedVersion", "Progressing", installed, installed]);

    let line = operator.wait_for_log("Reconciliation finished in").await;
    assert_eq!(line["level"], "info");
    assert_eq!(line["controller"], "fluxinstance");
    assert_eq!(line["FluxInstance"], json!({"name": "flux", "namespace": NAMESPACE}));
    assert!(line["ts"].as_str().is_some() && line["reconcileID"].as_str().is_some_and(|id| id.len() == 16), "{line}");

    // The report says the same, in the shape that other programs read.
    let report = crate::support::eventually("the report", SOON, || async {
        let report = world.get("fluxcd.controlplane.io/v1", "FluxReport", NAMESPACE, "flux").await?;
        (report["spec"]["components"].as_array()?.len() == 4
            && report["spec"]["components"].as_array()?.iter().all(|one| one["ready"] == true))
        .then_some(report)
    });
    let report = report.await.unwrap();
    assert_eq!(report["spec"]["distribution"]["version"], "v2.8.8");
    assert_eq!(report["spec"]["distribution"]["managedBy"], "flux-operator");
    assert_eq!(report["spec"]["operator"]["apiVersion"], "fluxcd.controlplane.io/v1");
    let reconcilers = report["spec"]["reconcilers"].as_array().unwrap();
    assert_eq!(
        reconcilers[0],
        json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
        "stats": {"failing": 0, "running": 1, "suspended": 0}})
    );
    assert_eq!(report["status"]["conditions"][0]["reason"], "Succeeded");

    let (code, metrics) = operator.ask("metrics", "/metrics").await;
    assert_eq!(code, 200);
    let info = metrics.lines().find(|line| line.starts_with("flux_instance_info{")).unwrap();
    assert!(info.contains("ready=\"True\"") && info.contains("reason=\"ReconciliationSucceeded\""), "{info}");
    assert!(metrics.contains("rest_client_requests_total{code=\"200\""), "{metrics}");
    assert!(metrics.contains("leader_election_master_status{name=\"flux-operator\"} 1"), "{metrics}");
    for path in ["/healthz", "/readyz"] {
        assert_eq!(operator.ask("health", path).await, (200, "ok".to_owned()));
    }
    assert_eq!(operator.ask("health", "/metrics").await.0, 404);

    operator.process.signal("USR1");
    let dump = operator.wait_for_log("state").await;
    let state: serde_json::Value = serde_json::from_str(dump["state"].as_str().unwrap()).unwrap();
    assert_eq!((&state["isLeader"], &state["instance"]), (&json!(true), &json!("FluxInstance/flux-system/flux")));
    assert!(state["nextRunSeconds"].as_f64().is_some_and(|left| left > 3000.0), "{state}");

    // Everything except the namespace is deleted, and reported.
    world.cluster.delete(&instance_id(), &Default::default()).await.unwrap();
    world.wait_until_gone().await;
    assert!(world.list("apps/v1", "Deployment", Some(NAMESPACE)).await.is_empty());
    assert!(world.get("v1", "Namespace", "", NAMESPACE).await.is_some());
    let definitions = world.list("apiextensions.k8s.io/v1", "CustomResourceDefinition", None).await;
    assert_eq!(definitions.len(), 4, "those of the operator stay");
    assert!(operator.process.stop(Duration::from_secs(10)), "it ends when it is asked to");
    let lease = world.cluster.read_lease(NAMESPACE).await.unwrap().unwrap();
    assert_eq!(lease["spec"]["holderIdentity"], "", "the lease is given back");
}

async fn requests_are_answered_once_each_and_a_thousand_quick_ones_together(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    world.prepared().await;
    let _operator = Operator::start(&world, "operator-a", &[]);
    world.write_instance(spec("2.9.x"), json!({})).await;
    let first = world.wait_for_ready().await;
    let before = runs(&first);

    world.annotate(json!({"reconcile.fluxcd.io/requestedAt": "one"})).await;
    let handled = |token: &'static str| {
        move |instance: &flux_operator::api::FluxInstance| {
            instance.status.as_ref().and_then(|status| status.last_handled_reconcile_at.as_deref()) == Some(token)
        }
    };
    let once = world.wait_for("the first request", handled("one")).await;
    assert_eq!(runs(&once), before + 1);
    assert_eq!(condition(&once, "Ready").0, "True", "told together with the token");

    // A changed label does not cause a run. A forced request causes one run, and its token is recorded in the status.
    let patch = json!({"metadata": {"labels": {"team": "a"}}});
    world.patch_as("test-author", &instance_id(), patch).await;
    world.annotate(json!({"reconcile.fluxcd.io/requestedAt": "two", "reconcile.fluxcd.io/forceAt": "two"})).await;
    let forced = world.wait_for("the forced request", handled("two")).await;
    assert_eq!(runs(&forced), before + 2);
    assert_eq!(forced.status.unwrap().last_handled_force_at.as_deref(), Some("two"));

    for token in 0..1000 {
        world.annotate(json!({"reconcile.fluxcd.io/requestedAt": token.to_string()})).await;
    }
    let last = world.wait_for("the last of a thousand", handled("999")).await;
    let ran = runs(&last) - runs(&world.wait_for("it", |_| true).await);
    assert!(ran <= 0, "nothing runs behind it");
    assert!(runs(&last) - before < 500, "{} runs for a thousand requests", runs(&last) - before);
}

async fn a_spec_that_cannot_be_built_is_not_tried_again_until_it_changes(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    world.prepared().await;
    let operator = Operator::start(&world, "operator-a", &["--min-retry-delay=50ms"]);
    world.write_instance(spec("9.x"), json!({})).await;
    let stalled = world.wait_for("Stalled", |instance| condition(instance, "Stalled").0 == "True").await;
    assert_eq!(condition(&stalled, "Ready").1, "BuildFailed");
    operator.wait_for_log("Reconciler error").await;
    let mark = world.plane.audit().mark().await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let writes = world.plane.audit().since(mark).await.unwrap().by_user(USER).writes();
    let tries = writes.only(|request| request.resource.starts_with("fluxinstances") || request.resource == "events");
    assert!(tries.is_empty(), "{:?}", tries.table());
    world.write_instance(spec("2.9.x"), json!({})).await;
    let ready = world.wait_for_ready().await;
    assert_eq!(condition(&ready, "Stalled").0, "");
}

async fn a_suspended_instance_is_left_alone_and_resumed_and_its_deletion_leaves_flux(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    world.prepared().await;
    let _operator = Operator::start(&world, "operator-a", &[]);
    world.write_instance(spec("2.9.x"), json!({"fluxcd.controlplane.io/reconcile": "disabled"})).await;
    let known = world.wait_for("the finalizer", |instance| condition(instance, "Ready").0 == "True").await;
    let message = "Initialized with reconciliation suspended".to_owned();
    assert_eq!(condition(&known, "Ready"), ("True".to_owned(), "ReconciliationDisabled".to_owned(), message));
    assert!(world.list("apps/v1", "Deployment", Some(NAMESPACE)).await.is_empty());
    world.write_instance(spec("2.9.x"), json!({"fluxcd.controlplane.io/reconcile": "enabled"})).await;
    let installed =
        |instance: &flux_operator::api::FluxInstance| condition(instance, "Ready").1 == "ReconciliationSucceeded";
    world.wait_for("the installation", installed).await;
    world.write_instance(spec("2.9.x"), json!({"fluxcd.controlplane.io/reconcile": "disabled"})).await;
    let reported = crate::support::eventually("the event", SOON, || async {
        world.events().await.iter().any(|(reason, _)| reason == "ReconciliationDisabled").then_some(())
    });
    reported.await.unwrap();
    world.cluster.delete(&instance_id(), &Default::default()).await.unwrap();
    world.wait_until_gone().await;
    assert_eq!(world.list("apps/v1", "Deployment", Some(NAMESPACE)).await.len(), 4, "all of it stays");
}

async fn a_new_spec_ends_the_wait_for_health_and_an_unhealthy_one_is_tried_again_later_each_time(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    world.prepared().await;
    let operator = Operator::start(&world, "operator-a", &["--min-retry-delay=200ms"]);
    let broken = |image: &str| {
        let mut spec = spec("2.9.x");
        spec["kustomize"] = json!({"patches": [{"target": {"kind": "Deployment", "name": "helm-controller"},
            "patch": format!("- op: replace\n  path: /spec/template/spec/containers/0/image\n  value: {image}\n")}]});
        spec
    };
    world.plane.kubelet().freeze();
    let timeout = json!({"fluxcd.controlplane.io/reconcileTimeout": "2s"});
    world.write_instance(broken("example.com/broken:1"), timeout.clone()).await;
    let failed = |instance: &flux_operator::api::FluxInstance| condition(instance, "Ready").1 == "HealthCheckFailed";
    let unhealthy = world.wait_for("a failed health check", failed).await;
    assert_eq!(condition(&unhealthy, "Reconciling").1, "ProgressingWithRetry");
    let again = |instance: &flux_operator::api::FluxInstance| runs(instance) > runs(&unhealthy);
    world.wait_for("another try", again).await;

    // A new spec ends the health check of the previous spec at once, despite its long timeout.
    let long = json!({"fluxcd.controlplane.io/reconcileTimeout": "10m"});
    world.write_instance(broken("example.com/broken:2"), long.clone()).await;
    let waiting =
        |instance: &flux_operator::api::FluxInstance| condition(instance, "Reconciling").2 == "Running health checks";
    world.wait_for("the wait", waiting).await;
    world.write_instance(spec("2.9.x"), long).await;
    world.plane.kubelet().thaw();
    world.wait_for_ready().await;
    let events = world.events().await;
    assert!(
        events.iter().any(|(reason, text)| reason == "HealthCheckCanceled"
            && text == "Health checks canceled due to new reconciliation triggered by FluxInstance/flux-system/flux"),
        "{events:?}"
    );
    drop(operator);
}

async fn an_instance_deleted_while_no_operator_ran_is_finalized_by_the_next_one(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    world.prepared().await;
    let mut operator = Operator::start(&world, "operator-a", &[]);
    world.write_instance(spec("2.9.x"), json!({})).await;
    world.wait_for_ready().await;
    operator.process.stop(Duration::from_secs(10));
    world.cluster.delete(&instance_id(), &Default::default()).await.unwrap();
    assert!(world.read_instance().await.metadata.deletion_timestamp.is_some(), "it waits for its finalizer");
    let _next = Operator::start(&world, "operator-b", &[]);
    world.wait_until_gone().await;
    assert!(world.list("apps/v1", "Deployment", Some(NAMESPACE)).await.is_empty());
}

async fn a_second_instance_reports_the_conflict_until_the_first_instance_is_deleted(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    world.prepared().await;
    let other = json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
        "metadata": {"name": "flux", "namespace": "default"}, "spec": spec("2.9.x")});
    world.cluster.apply(&other, WriteOptions::forced("test-author")).await.unwrap();
    let _operator = Operator::start(&world, "operator-a", &["--min-retry-delay=200ms"]);
    world.write_instance(spec("2.9.x"), json!({})).await;
    let reported = |instance: &flux_operator::api::FluxInstance| condition(instance, "Ready").0 == "False";
    let refused = world.wait_for("the refusal", reported).await;
    let (_, reason, message) = condition(&refused, "Ready");
    assert_eq!(reason, "ReconciliationFailed");
    assert!(message.contains("FluxInstance/default/flux already exists"), "{message}");
    assert_eq!(condition(&refused, "Reconciling").1, "ProgressingWithRetry");
    // Retries with the same failure do not repeat the event.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let events = world.events().await;
    let reported = events.iter().filter(|(reason, text)| reason == "ReconciliationFailed" && *text == message).count();
    assert_eq!(reported, 1, "{events:?}");
    assert!(world.list("apps/v1", "Deployment", Some(NAMESPACE)).await.is_empty());
    world.cluster.delete(&ObjectId::of(&other), &Default::default()).await.unwrap();
    world.wait_for_ready().await;
}

async fn flags_of_what_is_not_served_are_refused_by_name(cluster: TestCluster) {
    let output = cluster.command().args(["controller", "--storage-path=/data"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("for '--storage-path") && text.contains("the distribution is part of the program"), "{text}");
    let output = cluster.command().args(["controller", "--leader-election-renew-deadline=40s"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("invalid leader election"), "{text}");
}
