//! Rollbacks: by the operator if the instance requests them, and by a command.

use std::time::Duration;

use serde_json::json;

use super::operator::*;
use crate::cluster_tests;
use crate::reconcile::world::*;
use crate::support::run::Run;
use crate::support::runner::command;
use crate::support::{Behaviour, ClusterTest, PodRule, TestCluster};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        an_unhealthy_upgrade_goes_back_and_is_not_tried_again_before_something_changes,
        a_revision_is_gone_back_to_by_hand_after_its_plan_was_shown,
    ]
}

fn revision(instance: &flux_operator::api::FluxInstance) -> (String, String) {
    let status = instance.status.clone().unwrap();
    (status.last_applied_revision.unwrap_or_default(), status.last_attempted_revision.unwrap_or_default())
}

async fn an_unhealthy_upgrade_goes_back_and_is_not_tried_again_before_something_changes(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    world.prepared().await;
    let _operator = Operator::start(&world, "operator-a", &["--min-retry-delay=200ms"]);
    let annotations =
        json!({"fluxcd.controlplane.io/rollback": "Enabled", "fluxcd.controlplane.io/reconcileTimeout": "20s"});
    world.write_instance(spec("2.8.x"), annotations.clone()).await;
    let good = revision(&world.wait_for_ready().await).0;
    assert!(good.starts_with("v2.8.8@"), "{good}");

    // No pod of the new version ever starts; those of the old one go on.
    let broken = PodRule::new(NAMESPACE, Behaviour::SlowStart(Duration::from_secs(3600)));
    world.plane.kubelet().add_rule(broken.image_contains("/source-controller:v1.9."));
    world.write_instance(spec("2.9.x"), annotations.clone()).await;
    let back = world.wait_for("the way back", |instance| condition(instance, "Ready").1 == "RolledBack").await;
    let (applied, attempted) = revision(&back);
    assert_eq!(applied, good);
    assert!(attempted.starts_with("v2.9.4@"), "{attempted}");
    let (status, _, message) = condition(&back, "Ready");
    assert_eq!(status, "False");
    assert!(message.starts_with(&format!("{attempted} is not healthy and was rolled back to {good}")), "{message}");
    assert_eq!(condition(&back, "Stalled").1, "RolledBack");
    let image = &world.deployment("source-controller").await["spec"]["template"]["spec"]["containers"][0]["image"];
    assert!(image.as_str().unwrap().contains(":v1.8."), "{image}");
    let history: Vec<String> =
        back.status.clone().unwrap().history.iter().map(|entry| entry.last_reconciled_status.clone()).collect();
    assert_eq!(history, ["RolledBack", "HealthCheckFailed", "ReconciliationSucceeded"]);
    let events = world.events().await;
    assert!(
        events.iter().any(|(reason, text)| reason == "RolledBack" && text.starts_with("Rolling back to")),
        "{events:?}"
    );

    // Asked to reconcile, it keeps what works in place and does not try again.
    world.annotate(json!({"reconcile.fluxcd.io/requestedAt": "again"})).await;
    let handled = |instance: &flux_operator::api::FluxInstance| {
        instance.status.as_ref().and_then(|status| status.last_handled_reconcile_at.as_deref()) == Some("again")
    };
    let still = world.wait_for("the request", handled).await;
    assert_eq!(condition(&still, "Ready").1, "RolledBack");
    let failures = |instance: &flux_operator::api::FluxInstance| -> i64 {
        let history = instance.status.clone().unwrap().history;
        history
            .iter()
            .filter(|one| one.last_reconciled_status == "HealthCheckFailed")
            .map(|one| one.total_reconciliations)
            .sum()
    };
    assert_eq!(failures(&still), 1, "tried once");

    // A spec that changes is tried.
    world.write_instance(spec("2.8.x"), annotations).await;
    let ready = world.wait_for_ready().await;
    assert_eq!(revision(&ready).0, good);
}

async fn a_revision_is_gone_back_to_by_hand_after_its_plan_was_shown(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    world.instance(spec("2.9.x")).await;
    let first = world.ready().await.revision.unwrap();
    let mut patched = spec("2.9.x");
    patched["cluster"] = json!({"size": "small"});
    world.instance(patched).await;
    let second = world.ready().await.revision.unwrap();
    assert_ne!(first, second);
    let run = |arguments: &[&str]| {
        let mut command = command(world.kubeconfig.path(), world.plane.folder());
        Run::from(command.args(["rollback", "instance", "-n", NAMESPACE]).args(arguments).output().unwrap())
    };
    let shown = run(&["--dry-run", "--yes"]).exits(0);
    shown.stderr_has(&format!("to   {first}")).stderr_has("~ Deployment/flux-system/source-controller");
    run(&[]).exits(2).stderr_has("no terminal");
    assert_eq!(world.read_instance().await.spec.cluster.unwrap().size.as_deref(), Some("small"), "nothing was changed");
    run(&["--to", "2.7.5", "--yes"]).exits(3).stderr_has("no revision 2.7.5 that was ready is kept").stderr_has(&first);
    let answers = || {
        let mut command = command(world.kubeconfig.path(), world.plane.folder());
        let run = Run::from(command.args(["get", "history", "-n", NAMESPACE, "-o", "json"]).output().unwrap());
        let items = run.exits(0).json()["items"].as_array().cloned().unwrap();
        items.into_iter().map(|item| item["rollback"]["possible"].as_bool()).collect::<Vec<_>>()
    };
    assert_eq!(answers(), [Some(false), Some(true)], "only the earlier revision can be gone back to");
    run(&["--yes", "--in-process"]).exits(0);
    let back = world.read_instance().await;
    assert_eq!(revision(&back).0, first);
    assert_eq!(back.spec.distribution.version, "v2.9.4");
    assert_eq!(world.list("apps/v1", "ControllerRevision", Some(NAMESPACE)).await.len(), 2);
}
