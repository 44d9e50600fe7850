//! Plans that are kept, and news for notification-controller.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use flux_operator::reconcile::announce::{NotificationTarget, Notifications};
use flux_operator::reconcile::plan::Step;
use flux_operator::reconcile::progress::IgnoredProgress;
use flux_operator::reconcile::{self, Plan, ReconcileError, RunOptions, SavedPlan};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::cluster_tests;
use crate::reconcile::world::*;
use crate::support::{ClusterTest, IN_TIME, Options, TestCluster};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        a_saved_plan_is_carried_out_exactly_or_refused_when_the_cluster_moved,
        notification_controller_is_notified_and_never_waited_for,
    ]
}

/// As it comes back from a file.
fn saved(plan: &Plan) -> Plan {
    serde_json::from_str(&serde_json::to_string(plan).unwrap()).unwrap()
}

async fn execute(world: &World, plan: Plan) -> Result<reconcile::Outcome, ReconcileError> {
    let saved = SavedPlan { instance: None, plan };
    reconcile::execute(&world.cluster, &saved, false, &world.options, &IgnoredProgress).await
}

async fn a_saved_plan_is_carried_out_exactly_or_refused_when_the_cluster_moved(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    world.instance(small(&["source-controller", "kustomize-controller"])).await;
    // A plan writes nothing.
    let mark = world.plane.audit().mark().await.unwrap();
    let plan = saved(&world.plan().await);
    let writes = world.plane.audit().since(mark).await.unwrap().by_user(USER).writes();
    assert!(writes.0.iter().all(|request| request.uri.contains("dryRun=All")), "{:?}", writes.table());
    assert!(plan.count(Step::Create) > 15, "{:?}", plan.count(Step::Create));
    let outcome = execute(&world, plan.clone()).await.unwrap();
    assert!(outcome.is_ready(), "{}", outcome.message);
    assert_eq!(outcome.changes.len(), plan.count(Step::Create) + plan.count(Step::Configure));
    assert!(!world.plan().await.has_changes());
    // The object to create exists by now.
    assert!(matches!(execute(&world, plan).await, Err(ReconcileError::Moved { .. })));

    // A later plan: one component less, and pods that restart.
    let mut fewer = small(&["source-controller"]);
    fewer["kustomize"] = json!({"patches": [{"target": {"kind": "Deployment"}, "patch": "- op: add\n  path: /spec/template/spec/containers/0/args/-\n  value: --log-level=debug"}]});
    world.instance(fewer.clone()).await;
    let plan = saved(&world.plan().await);
    assert_eq!(
        plan.restarts().iter().map(|id| id.to_string()).collect::<Vec<_>>(),
        ["Deployment/flux-system/source-controller"]
    );
    assert!(plan.count(Step::Prune) >= 3);
    // A changed status does not outdate a plan; any other change does.
    let quota = id("v1", "ResourceQuota", NAMESPACE, "critical-pods-flux-system");
    world
        .cluster
        .merge_patch(&quota, Some("status"), &json!({"status": {"hard": {"pods": "9"}}}), "someone")
        .await
        .unwrap();
    world
        .patch_as("someone", &deployment_id("kustomize-controller"), json!({"metadata": {"labels": {"mine": "1"}}}))
        .await;
    match execute(&world, plan.clone()).await {
        Err(ReconcileError::Moved { objects }) => assert_eq!(
            objects.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["Deployment/flux-system/kustomize-controller"]
        ),
        other => panic!("{other:?}"),
    }
    world
        .patch_as("someone", &deployment_id("kustomize-controller"), json!({"metadata": {"labels": {"mine": null}}}))
        .await;
    let plan = saved(&world.plan().await);
    let outcome = execute(&world, plan.clone()).await.unwrap();
    assert!(outcome.is_ready(), "{}", outcome.message);
    assert!(world.cluster.read(&deployment_id("kustomize-controller")).await.unwrap().is_none());
    // Another spec is another plan.
    world.instance(small(&["source-controller"])).await;
    assert!(matches!(execute(&world, plan).await, Err(ReconcileError::PlanOutdated { .. })));
}

async fn notification_controller_is_notified_and_never_waited_for(cluster: TestCluster) {
    let world = World::with(&cluster, Options::api_server_only()).await;
    let received: Arc<Mutex<Vec<Value>>> = Arc::default();
    let sink = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/", sink.local_addr().unwrap());
    let hears = received.clone();
    let sink = tokio::spawn(async move {
        loop {
            let (mut stream, _) = sink.accept().await.unwrap();
            let mut bytes = vec![];
            let body = loop {
                let mut chunk = [0; 4096];
                let count = stream.read(&mut chunk).await.unwrap();
                bytes.extend_from_slice(&chunk[..count]);
                let text = String::from_utf8_lossy(&bytes).into_owned();
                if let Some((_, body)) = text.split_once("\r\n\r\n")
                    && let Ok(body) = serde_json::from_str::<Value>(body)
                {
                    break body;
                }
            };
            hears.lock().unwrap().push(body);
            stream.write_all(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await.unwrap();
        }
    });
    let options = |target, patience| RunOptions {
        notifications: Some(Notifications { target, reporter: "host".into(), patience }),
        ..world.options.clone()
    };
    world.instance(small(&["source-controller"])).await;
    let reported = options(NotificationTarget::Address(address), Duration::from_secs(5));
    let outcome = world.run_with(&world.cluster, &reported).await.unwrap();
    assert!(outcome.is_ready());
    let bodies = received.lock().unwrap().clone();
    assert_eq!(bodies.len(), 1, "the finished event stays in the cluster");
    let body = &bodies[0];
    assert_eq!(
        (body["severity"].as_str(), body["reason"].as_str(), body["reportingController"].as_str()),
        (Some("info"), Some("ReconciliationSucceeded"), Some("flux-operator"))
    );
    assert!(body["message"].as_str().unwrap().starts_with("Flux v2.9.4 installed\n"));
    assert_eq!(body["metadata"]["fluxcd.controlplane.io/revision"].as_str(), outcome.revision.as_deref());
    sink.abort();

    // Neither a silent address nor a service without endpoints delays a run.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent_address = format!("http://{}/", silent.local_addr().unwrap());
    // A post that is left to a task would be counted by a later test on this control plane, so the one through the API
    // server is given up after a moment.
    for (number, (target, patience)) in [
        (NotificationTarget::Address(silent_address), Duration::ZERO),
        (NotificationTarget::ServiceProxy, Duration::from_millis(500)),
    ]
    .into_iter()
    .enumerate()
    {
        world.patch_as("someone", &deployment_id("source-controller"), json!({"spec": {"replicas": number + 2}})).await;
        let begun = std::time::Instant::now();
        let outcome = world.run_with(&world.cluster, &options(target, patience)).await.unwrap();
        assert!(outcome.is_ready() && !outcome.changes.is_empty());
        assert!(begun.elapsed() < IN_TIME, "{:?}", begun.elapsed());
    }
}
