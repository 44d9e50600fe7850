//! Two operators: one works, the other takes over when the first is gone, frozen or cut off.

use std::time::{Duration, Instant};

use serde_json::json;

use super::operator::*;
use crate::cluster_tests;
use crate::reconcile::world::*;
use crate::support::{ClusterTest, Component, Fault, FaultProxy, FaultRule, TestCluster, eventually};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        a_standby_waits_for_the_lease_of_a_killed_leader_and_replaces_a_stopped_leader_at_once,
        a_stalled_operator_writes_nothing_after_it_lost_its_lease,
        an_operator_without_a_connection_stops_before_another_starts,
        the_operator_continues_after_an_api_server_restart_and_after_expired_watches,
    ]
}

/// A lease of 6 s: what takes half a minute in a cluster takes seconds here.
const SHORT: [&str; 3] =
    ["--leader-election-lease-duration=6s", "--leader-election-renew-deadline=4s", "--leader-election-retry-period=1s"];

async fn request(world: &World, token: &str) {
    world.annotate(json!({"reconcile.fluxcd.io/requestedAt": token})).await;
}

async fn wait_for_token(world: &World, token: &str) {
    world
        .wait_for(token, |instance| {
            instance.status.as_ref().and_then(|status| status.last_handled_reconcile_at.as_deref()) == Some(token)
        })
        .await;
}

async fn a_standby_waits_for_the_lease_of_a_killed_leader_and_replaces_a_stopped_leader_at_once(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    world.prepared().await;
    let mut first = Operator::start(&world, "operator-a", &SHORT);
    first.wait_for_log("successfully acquired lease").await;
    let mut second = Operator::start(&world, "operator-b", &SHORT);
    second.wait_for_log("waiting for the lease").await;
    world.write_instance(spec("2.9.x"), json!({})).await;
    world.wait_for_ready().await;
    assert!(second.logged("Reconciliation finished").is_none(), "one works");
    assert_eq!(second.ask("health", "/readyz").await.0, 200, "who waits is ready, too");

    let killed = Instant::now();
    first.process.kill();
    second.wait_for_log("successfully acquired lease").await;
    assert!(killed.elapsed() >= Duration::from_secs(1), "not before the lease can have run out");
    request(&world, "after the kill").await;
    wait_for_token(&world, "after the kill").await;

    let third = Operator::start(&world, "operator-c", &SHORT);
    third.wait_for_log("waiting for the lease").await;
    let ended = Instant::now();
    assert!(second.process.stop(Duration::from_secs(10)));
    third.wait_for_log("successfully acquired lease").await;
    assert!(ended.elapsed() < Duration::from_secs(4), "a lease that is given back is free: {:?}", ended.elapsed());
}

async fn a_stalled_operator_writes_nothing_after_it_lost_its_lease(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    world.prepared().await;
    let frozen_user = world.plane.admin("frozen").unwrap();
    let first = Operator::start_with(&frozen_user, world.plane.folder(), "operator-a", &SHORT);
    first.wait_for_log("successfully acquired lease").await;
    world.write_instance(spec("2.9.x"), json!({})).await;
    world.wait_for_ready().await;
    // It is frozen in the middle of a run.
    request(&world, "one").await;
    first.process.freeze();
    let second = Operator::start(&world, "operator-b", &SHORT);
    second.wait_for_log("successfully acquired lease").await;
    request(&world, "two").await;
    wait_for_token(&world, "two").await;
    let mark = world.plane.audit().mark().await.unwrap();
    first.process.thaw();
    first.wait_for_log("lost the lease").await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let writes = world.plane.audit().since(mark).await.unwrap().by_user("frozen").writes();
    let others = writes.only(|request| request.resource != "leases" && request.status < 400);
    assert!(others.is_empty(), "{:?}", others.table());
    let lease = world.cluster.read_lease(NAMESPACE).await.unwrap().unwrap();
    assert!(lease["spec"]["holderIdentity"].as_str().unwrap().starts_with("operator-b_"), "{lease}");
}

async fn an_operator_without_a_connection_stops_before_another_starts(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    world.prepared().await;
    let through = FaultProxy::start(&world.plane.admin("cut-off").unwrap(), world.plane.folder()).await.unwrap();
    let first = Operator::start_with(through.kubeconfig(), world.plane.folder(), "operator-a", &SHORT);
    first.wait_for_log("successfully acquired lease").await;
    world.write_instance(spec("2.9.x"), json!({})).await;
    world.wait_for_ready().await;
    let second = Operator::start(&world, "operator-b", &SHORT);
    second.wait_for_log("waiting for the lease").await;
    through.add_rule(FaultRule::every(Fault::CutBefore));
    through.cut_connections();
    first.wait_for_log("lost the lease").await;
    assert!(second.logged("successfully acquired lease").is_none(), "the first knows before the second works");
    second.wait_for_log("successfully acquired lease").await;
    through.clear_rules();
    request(&world, "after the cut").await;
    wait_for_token(&world, "after the cut").await;
    assert!(second.logged("lost the lease").is_none());
}

async fn the_operator_continues_after_an_api_server_restart_and_after_expired_watches(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    world.prepared().await;
    let through = FaultProxy::start(&world.plane.admin("operator").unwrap(), world.plane.folder()).await.unwrap();
    let operator = Operator::start_with(through.kubeconfig(), world.plane.folder(), "operator-a", &[]);
    world.write_instance(spec("2.9.x"), json!({})).await;
    world.wait_for_ready().await;
    // Watches get 410 for their resource version, and are cut.
    through.add_rule(FaultRule::first(4, Fault::gone()).uri(|uri| uri.contains("watch=true")));
    through.cut_connections();
    request(&world, "one").await;
    wait_for_token(&world, "one").await;
    // The API server goes away in the middle of a run.
    request(&world, "two").await;
    world.plane.kill(Component::ApiServer);
    world.plane.restart(Component::ApiServer).await.unwrap();
    eventually("the API server", SOON, || async { world.cluster.server_version().await.ok() }).await.unwrap();
    wait_for_token(&world, "two").await;
    request(&world, "three").await;
    wait_for_token(&world, "three").await;
    assert_eq!(operator.ask("health", "/healthz").await.0, 200);
}
