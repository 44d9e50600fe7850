//! `migrate owner` with a real kustomize-controller: an object changes its owner and is never gone.

use kube::api::DynamicObject;
use serde_json::json;

use crate::cluster_tests;
use crate::support::runner::ClusterTest;
use crate::support::{TestCluster, eventually};
use crate::world::{SOON, World, api, config_map, kustomization, run, until, with};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![an_object_changes_its_kustomization_and_is_never_pruned]
}

async fn object(cluster: &TestCluster, kind: &str, name: &str) -> DynamicObject {
    api(cluster, kind).get(name).await.expect("there")
}

/// The names in an inventory.
async fn inventory(cluster: &TestCluster, name: &str) -> Vec<String> {
    let owner = object(cluster, "Kustomization", name).await;
    let entries = owner.data.pointer("/status/inventory/entries").and_then(|entries| entries.as_array().cloned());
    entries.unwrap_or_default().iter().filter_map(|entry| entry["id"].as_str().map(str::to_owned)).collect()
}

async fn an_object_changes_its_kustomization_and_is_never_pruned(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    let named = |name: &str| config_map("one").replace("name: web", &format!("name: {name}"));
    world.repository.write("old/moves.yaml", &named("moves")).unwrap();
    world.repository.write("old/stays.yaml", &named("stays")).unwrap();
    world.repository.write("new/other.yaml", &named("other")).unwrap();
    world.repository.commit("two owners").unwrap();
    let owner = |name: &str, path: &str| with(kustomization(&cluster, name, path), "wait", json!(true));
    cluster.apply(&[crate::world::source("app", &world.url()), owner("old", "./old"), owner("new", "./new")]).await;
    until(&cluster, "Kustomization", "old", "True").await;
    until(&cluster, "Kustomization", "new", "True").await;
    let before = object(&cluster, "ConfigMap", "moves").await;
    let namespace = cluster.namespace();
    let entry = format!("{namespace}_moves__ConfigMap");
    assert!(inventory(&cluster, "old").await.contains(&entry));

    // A plan changes nothing.
    let plan = run(&cluster, "migrate owner ks/old --to ks/new --object cm/moves --dry-run --yes").await.exits(0);
    plan.stdout_has(&format!("Kustomization/{namespace}/old is suspended"))
        .stdout_has("labels of Kustomization/")
        .stdout_has("1 object to leave the inventory");
    assert_eq!(object(&cluster, "ConfigMap", "moves").await.metadata, before.metadata);
    run(&cluster, "migrate owner ks/old --to ks/new").await.exits(2).stderr_has("--yes");
    run(&cluster, "migrate owner ks/old --to gitrepo/app --yes").await.exits(2).stderr_has("owns no objects");
    run(&cluster, "migrate owner ks/old --to ks/new --object cm/absent --yes").await.exits(3);

    run(&cluster, "migrate owner ks/old --to ks/new --object cm/moves --yes")
        .await
        .exits(0)
        .stderr_has("Remaining steps:");
    assert!(!inventory(&cluster, "old").await.contains(&entry));
    // Again there is nothing left to do.
    run(&cluster, "migrate owner ks/old --to ks/new --object cm/moves --yes").await.exits(3);

    // Now the content follows, and both owners look at it.
    world.repository.remove("old/moves.yaml").unwrap();
    world.repository.write("new/moves.yaml", &named("moves")).unwrap();
    world.repository.commit("moved").unwrap();
    run(&cluster, "reconcile gitrepo/app --wait").await.exits(0);
    run(&cluster, "reconcile ks/new --wait").await.exits(0);
    run(&cluster, "resume ks/old").await.exits(0);
    let owned = || async {
        let (old, new) = (inventory(&cluster, "old").await, inventory(&cluster, "new").await);
        (!old.contains(&entry) && new.contains(&entry) && old.len() == 1).then_some(())
    };
    eventually("the new inventory", SOON, owned).await.expect("owned");
    run(&cluster, "reconcile ks/old --wait").await.exits(0);
    let after = object(&cluster, "ConfigMap", "moves").await;
    assert_eq!(after.metadata.uid, before.metadata.uid, "it is the same object");
    let labels = after.metadata.labels.expect("labels");
    assert_eq!(labels["kustomize.toolkit.fluxcd.io/name"], "new");

    // Nothing of it goes with the old owner.
    run(&cluster, "delete ks/old --yes").await.exits(0);
    let gone = || async { api(&cluster, "ConfigMap").get_opt("stays").await.expect("asked").is_none().then_some(()) };
    eventually("the rest of the old owner to be pruned", SOON, gone).await.expect("pruned");
    assert_eq!(object(&cluster, "ConfigMap", "moves").await.metadata.uid, before.metadata.uid);
}
