//! Installing Flux into an empty cluster, and finding nothing to do afterwards.

use serde_json::{Value, json};

use crate::cluster_tests;
use crate::support::{ClusterTest, TestCluster};
use crate::world::*;

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![a_fresh_install_reaches_ready_and_the_next_run_finds_nothing_to_do]
}

async fn a_fresh_install_reaches_ready_and_the_next_run_finds_nothing_to_do(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    world.instance(spec("2.9.x")).await;
    let first = world.ready().await;
    eprintln!("first {:?} {}", first.duration, first.changes.len());
    let instance = world.get("fluxcd.controlplane.io/v1", "FluxInstance", NAMESPACE, "flux").await.unwrap();
    eprintln!("{:#}", instance["status"]);
    for event in world.events().await {
        eprintln!("{event:?}");
    }
    let pods = world.list("v1", "Pod", Some(NAMESPACE)).await;
    assert!(pods.iter().all(|pod| pod["status"]["phase"] == "Running"), "{pods:?}");

    eprintln!("{:#}", world.get("v1", "Namespace", "", NAMESPACE).await.unwrap());
    let plan = world.plan().await;
    for o in plan.objects.iter().filter(|o| o.step != flux_operator::reconcile::plan::Step::Unchanged) { eprintln!("{} {:?} {:?} {:#}", o.object, o.step, o.changes, o.desired); }
    let mark = world.plane.audit().mark().await.unwrap();
    let second = world.ready().await;
    let requests = world.plane.audit().since(mark).await.unwrap().by_user(USER);
    eprintln!("second {:?} {:#?}", second.duration, requests.table());
    let plan = world.plan().await;
    for o in plan.objects.iter().filter(|o| o.step != flux_operator::reconcile::plan::Step::Unchanged) {
        eprintln!("{} {:?} {:?}", o.object, o.step, o.changes);
    }
    let _: Value = json!(null);
}
