//! Installations that do not get healthy, and specs that cannot be built.

use std::time::Duration;

use flux_operator::reconcile::interrupt::{self, Interrupt};
use flux_operator::reconcile::{Failure, RunOptions};
use serde_json::{Value, json};

use crate::cluster_tests;
use crate::reconcile::world::*;
use crate::support::{Behaviour, ClusterTest, Options, PodRule, TestCluster, kubelet::PullFailure};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        a_deployment_that_fails_is_reported_with_its_pods_reason,
        a_newer_request_and_a_stop_end_the_wait_and_what_was_applied_is_on_record,
        a_newer_request_does_not_end_the_wait_for_a_stage,
        failed_builds_and_applies_are_reported,
        a_suspended_instance_is_left_alone,
    ]
}

fn two(timeout: &str) -> (Value, Value) {
    let mut wanted = spec("2.9.x");
    wanted["components"] = json!(["source-controller", "kustomize-controller"]);
    (wanted, json!({"fluxcd.controlplane.io/reconcileTimeout": timeout}))
}

async fn a_deployment_that_fails_is_reported_with_its_pods_reason(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    // Time enough for the other deployment to be ready on a busy machine: the message has to leave it out.
    let (mut wanted, annotations) = two("15s");
    world.instance(wanted.clone()).await;
    world.annotate(annotations).await;
    let kubelet = world.plane.kubelet();
    let rule = |behaviour| PodRule::new(NAMESPACE, behaviour).name_starts_with("source-controller");

    // A registry without the image, on the first install.
    let missing = kubelet.add_rule(rule(Behaviour::ImageCannotBePulled(PullFailure::NotFound)));
    let failed = world.run().await.unwrap();
    assert_eq!(failed.reason, "HealthCheckFailed");
    let lines: Vec<&str> = failed.message.lines().collect();
    assert_eq!(
        lines[0],
        "reconciliation failed: timeout waiting for: [Deployment/flux-system/source-controller status: 'InProgress']"
    );
    assert!(lines[1].contains("ImagePull") && lines[1].contains("source-controller"), "{}", failed.message);
    assert!(!failed.message.ends_with('\n'));
    let status = world.read_instance().await.status.unwrap();
    assert!(status.inventory.is_some_and(|inventory| inventory.entries.len() > 15));
    assert_eq!(status.last_applied_revision, None);
    assert_eq!(
        (status.history[0].last_reconciled_status.as_str(), status.history[0].total_reconciliations),
        ("HealthCheckFailed", 1)
    );
    let events = world.events().await;
    assert!(
        events.iter().any(|(_, message)| message.starts_with("Flux v2.9.4 installed\n")),
        "applied objects are reported although they are not healthy"
    );
    assert!(events.iter().any(|(reason, _)| reason == "HealthCheckFailed"));
    let again = world.run().await.unwrap();
    assert_eq!(again.message, failed.message, "the same trouble reads the same every time");

    kubelet.remove_rule(missing);
    world.annotate(json!({"fluxcd.controlplane.io/reconcileTimeout": "40s"})).await;
    // The simulated kubelet tries again with a new pod only.
    for pod in world.list("v1", "Pod", Some(NAMESPACE)).await {
        world.delete(&pod).await;
    }
    let healed = world.ready().await;
    assert_eq!(healed.changes, []);
    assert_eq!(world.read_instance().await.status.unwrap().history.len(), 2, "one entry per digest and status");

    // Killed for its memory after a change.
    world.annotate(json!({"fluxcd.controlplane.io/reconcileTimeout": "15s"})).await;
    let killed = kubelet.add_rule(rule(Behaviour::OutOfMemory { restarts: 3 }));
    wanted["kustomize"] = json!({"patches": [{
        "target": {"kind": "Deployment", "name": "source-controller"},
        "patch": "- op: add\n  path: /spec/template/spec/containers/0/args/-\n  value: --log-level=debug",
    }]});
    world.instance(wanted.clone()).await;
    let failed = world.run().await.unwrap();
    assert!(failed.message.contains("OOMKilled"), "{}", failed.message);
    kubelet.remove_rule(killed);

    // A Deployment that gives up ends the wait early.
    world.annotate(json!({"fluxcd.controlplane.io/reconcileTimeout": "60s"})).await;
    for pod in world.list("v1", "Pod", Some(NAMESPACE)).await {
        world.delete(&pod).await;
    }
    world.ready().await;
    kubelet.freeze();
    wanted["kustomize"]["patches"].as_array_mut().unwrap().push(json!({
        "target": {"kind": "Deployment", "name": "kustomize-controller"},
        "patch": "- op: add\n  path: /spec/progressDeadlineSeconds\n  value: 1\n- op: add\n  path: /spec/template/spec/hostname\n  value: a",
    }));
    world.instance(wanted).await;
    let failed = world.run().await.unwrap();
    assert!(failed.message.starts_with("reconciliation failed: failed early due to stalled resources: [Deployment/flux-system/kustomize-controller status: 'Failed']"), "{}", failed.message);
    assert!(failed.duration < Duration::from_secs(30));
    assert!(matches!(failed.failure, Some(Failure::Unhealthy { timed_out: false, .. })));
}

async fn a_newer_request_and_a_stop_end_the_wait_and_what_was_applied_is_on_record(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    let (wanted, annotations) = two("60s");
    world.instance(wanted).await;
    world.annotate(annotations).await;
    world.annotate(json!({"reconcile.fluxcd.io/requestedAt": "first"})).await;
    world.plane.kubelet().freeze();
    for (asked, message, recorded) in [
        (
            Interrupt::Superseded("FluxInstance/flux-system/flux".into()),
            "New reconciliation triggered by FluxInstance/flux-system/flux",
            &[][..],
        ),
        (
            Interrupt::Stop("interrupted".into()),
            "Reconciliation of FluxInstance/flux-system/flux stopped: interrupted",
            &["HealthCheckCanceled"],
        ),
    ] {
        let (sender, interrupts) = interrupt::channel();
        let options = RunOptions { interrupts, ..world.options.clone() };
        let (outcome, ()) = tokio::join!(world.run_with(&world.cluster, &options), async {
            crate::support::eventually("the wait to begin", Duration::from_secs(20), || async {
                let conditions = world.read_instance().await.status?.conditions;
                conditions.iter().any(|c| c.message == "Running health checks").then_some(())
            })
            .await
            .unwrap();
            sender.send(Some(asked)).unwrap();
        });
        let outcome = outcome.unwrap();
        assert_eq!((outcome.reason.as_str(), outcome.message.as_str()), ("HealthCheckCanceled", message));
        let status = world.read_instance().await.status.unwrap();
        assert_eq!(status.last_handled_reconcile_at, None, "the request is still to be served");
        let history: Vec<&str> = status.history.iter().map(|attempt| attempt.last_reconciled_status.as_str()).collect();
        assert_eq!(history, recorded);
        assert_eq!(status.components.len(), 2);
        assert!(status.inventory.is_some_and(|inventory| inventory.entries.len() > 15));
    }
    world.plane.kubelet().thaw();
    world.ready().await;
    assert_eq!(world.read_instance().await.status.unwrap().last_handled_reconcile_at.as_deref(), Some("first"));
}

async fn a_newer_request_does_not_end_the_wait_for_a_stage(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    let mut wanted = spec("2.9.x");
    wanted["wait"] = json!(false);
    world.instance(wanted).await;
    let (_sender, interrupts) = tokio::sync::watch::channel(Some(Interrupt::Superseded("FluxInstance/a/flux".into())));
    let options = RunOptions { interrupts, ..world.options.clone() };
    let outcome = world.run_with(&world.cluster, &options).await.unwrap();
    // Definitions were waited for, or their objects would have been refused.
    assert!(outcome.failure.is_none(), "{}", outcome.message);
}

async fn failed_builds_and_applies_are_reported(cluster: TestCluster) {
    let world = World::with(&cluster, Options::api_server_only()).await;
    let with_patch = |patch: &str| {
        let (mut wanted, _) = two("5s");
        wanted["wait"] = json!(false);
        wanted["kustomize"] =
            json!({"patches": [{"target": {"kind": "Deployment", "name": "source-controller"}, "patch": patch}]});
        wanted
    };
    let unsupported = json!({"distribution": {"version": "2.6.x", "registry": "r"}, "components": ["source-controller", "source-watcher"]});
    for (wanted, message) in [
        (with_patch("- op: removes\n  path: /spec"), "removes"),
        (with_patch("- op: remove\n  path: /spec/nope"), "nope"),
        (spec("abc"), "abc"),
        (spec("2.99.x"), "no match found for semver: 2.99.x"),
        (unsupported, "source-watcher"),
    ] {
        world.instance(wanted).await;
        let outcome = world.run().await.unwrap();
        assert_eq!(outcome.reason, "BuildFailed");
        assert!(
            outcome.message.starts_with("build failed: ") && outcome.message.contains(message),
            "{}",
            outcome.message
        );
        assert!(outcome.next.is_none());
        let instance = world.read_instance().await;
        let status = instance.status.unwrap();
        let shown: Vec<_> =
            status.conditions.iter().map(|c| (c.type_.as_str(), c.status.as_str(), c.observed_generation)).collect();
        assert_eq!(
            shown,
            [("Stalled", "True", instance.metadata.generation), ("Ready", "False", instance.metadata.generation)]
        );
        assert_eq!(status.history[0].metadata, None);
    }
    // Refused by the API server: nothing of the stage is applied, the instance is retried.
    world.instance(with_patch("- op: replace\n  path: /spec/replicas\n  value: -1")).await;
    let outcome = world.run().await.unwrap();
    assert_eq!(outcome.reason, "ReconciliationFailed");
    assert!(outcome.next.is_some());
    assert!(outcome.message.starts_with("reconciliation failed: Deployment/flux-system/source-controller dry-run failed (Invalid): Deployment.apps \"source-controller\" is invalid: spec.replicas"), "{}", outcome.message);
    assert_eq!(world.list("apps/v1", "Deployment", Some(NAMESPACE)).await.len(), 0);
    let (wanted, _) = two("5s");
    let mut wanted = wanted;
    wanted["wait"] = json!(false);
    world.instance(wanted).await;
    world.ready().await;
    // An immutable field is named with its object.
    world.instance(with_patch("- op: replace\n  path: /spec/selector/matchLabels/app\n  value: x\n- op: replace\n  path: /spec/template/metadata/labels/app\n  value: x")).await;
    let outcome = world.run().await.unwrap();
    assert!(
        outcome.message.contains("Deployment/flux-system/source-controller dry-run failed (Invalid)")
            && outcome.message.contains("field is immutable"),
        "{}",
        outcome.message
    );
}

async fn a_suspended_instance_is_left_alone(cluster: TestCluster) {
    let world = World::with(&cluster, Options::api_server_only()).await;
    world.instance(spec("2.9.x")).await;
    world
        .annotate(json!({"fluxcd.controlplane.io/reconcile": "Disabled", "reconcile.fluxcd.io/requestedAt": "now"}))
        .await;
    let outcome = world.run().await.unwrap();
    assert!(matches!(outcome.failure, Some(Failure::Suspended)));
    let status = world.read_instance().await.status.unwrap();
    assert_eq!(status.last_handled_reconcile_at.as_deref(), Some("now"));
    assert!(status.conditions.is_empty() && status.inventory.is_none());
    assert_eq!(world.events().await, [("ReconciliationDisabled".to_owned(), "Reconciliation is disabled".to_owned())]);
}
