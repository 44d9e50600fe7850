//! Processes are killed: whenever that is, the inventory names what is there, and the next run completes the work.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use flux_operator::api::well_known::{INSTANCE_NAME, OWNER_NAME_LABEL};
use flux_operator::cluster::ListOptions;
use flux_operator::cluster::lease::LeaseOptions;
use flux_operator::distribution::Distribution;
use flux_operator::k8s::ObjectId;
use flux_operator::reconcile::progress::IgnoredProgress;
use flux_operator::reconcile::{self, Consent, RunOptions};

use crate::cluster_tests;
use crate::reconcile::world::*;
use crate::support::{ClusterTest, TestCluster};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![a_run_that_is_killed_at_any_moment_is_completed_by_the_next,]
}

fn lease() -> LeaseOptions {
    LeaseOptions {
        duration: Duration::from_secs(4),
        wait: Duration::from_secs(10),
        force: true,
        ..LeaseOptions::new("flux-operator-ctl/faults")
    }
}

/// Objects that say they are ours, by kind and name.
async fn owned(world: &World) -> BTreeSet<String> {
    let kinds = [
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
        ("v1", "Namespace"),
        ("rbac.authorization.k8s.io/v1", "ClusterRole"),
        ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
        ("v1", "ResourceQuota"),
        ("v1", "ServiceAccount"),
        ("v1", "Service"),
        ("apps/v1", "Deployment"),
        ("networking.k8s.io/v1", "NetworkPolicy"),
    ];
    let mut owned = BTreeSet::new();
    for (api_version, kind) in kinds {
        let resource = world.cluster.resource(&id(api_version, kind, "", "")).await.unwrap();
        let ours = ListOptions::labelled(format!("{OWNER_NAME_LABEL}={INSTANCE_NAME}"));
        let list = world.cluster.list_all(&resource, None, &ours).await.unwrap().unwrap();
        // Objects that are being deleted do not count.
        let there = list.items.iter().filter(|item| item["metadata"].get("deletionTimestamp").is_none());
        owned.extend(there.map(|item| ObjectId::of(item).to_string()));
    }
    owned
}

async fn inventory(world: &World) -> BTreeSet<String> {
    let inventory = world.read_instance().await.status.unwrap().inventory.unwrap();
    let listed: Vec<String> = inventory.entries.iter().map(|entry| entry.object().unwrap().to_string()).collect();
    let once: BTreeSet<String> = listed.iter().cloned().collect();
    assert_eq!(listed.len(), once.len(), "nothing is listed twice");
    once
}

const CHILD: &str = "RECONCILE_TO_BE_KILLED";

/// The process that is killed: reconciles once and ends.
pub fn run_as_child() -> Option<ExitCode> {
    let kubeconfig = std::env::var_os(CHILD)?;
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let cluster = connected(Path::new(&kubeconfig)).await;
        let options = RunOptions { lease: Some(lease()), consent: Consent::CustomResources, ..RunOptions::default() };
        let outcome =
            reconcile::run(&cluster, &instance_id(), &Distribution::embedded(), &options, &IgnoredProgress).await;
        drop(outcome);
    });
    Some(ExitCode::SUCCESS)
}

async fn a_run_that_is_killed_at_any_moment_is_completed_by_the_next(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    let specs = [
        small(&["source-controller", "kustomize-controller"]),
        small(&["source-controller", "image-reflector-controller"]),
        small(&["source-controller", "notification-controller"]),
    ];
    // A fixed sequence, so that a failure can be repeated; a run takes about half a second here.
    let mut seed = 7u64;
    let mut killed = 0;
    for number in 0..50 {
        if number % 2 == 0 {
            world.instance(specs[number / 2 % specs.len()].clone()).await;
        }
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let mut child = Command::new(std::env::current_exe().unwrap())
            .env(CHILD, world.kubeconfig.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        tokio::time::sleep(Duration::from_millis(20 + (seed >> 33) % 300)).await;
        if child.try_wait().unwrap().is_none() {
            killed += 1;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // Everything that is there is on record, whenever the process died.
        let status = world.read_instance().await.status.unwrap_or_default();
        let listed: BTreeSet<String> = status
            .inventory
            .iter()
            .flat_map(|i| &i.entries)
            .filter_map(|entry| entry.object().ok())
            .map(|id| id.to_string())
            .collect();
        let forgotten: Vec<String> =
            owned(&world).await.into_iter().filter(|object| !listed.contains(object)).collect();
        assert!(forgotten.is_empty(), "kill {number}: {forgotten:?}");
    }
    assert!(killed > 25, "only {killed} runs were cut off");
    let options = RunOptions { lease: Some(lease()), consent: Consent::CustomResources, ..RunOptions::default() };
    let outcome = world.run_with(&world.cluster, &options).await.unwrap();
    assert!(outcome.is_ready(), "{}", outcome.message);
    assert_eq!(owned(&world).await, inventory(&world).await);
    assert!(!world.plan().await.has_changes());
}
