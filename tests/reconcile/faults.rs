//! Every request fails once, in every way a request can fail, and processes are killed: the run or the next one converges,
//! and nothing is lost, doubled or forgotten.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flux_operator::api::well_known::{INSTANCE_NAME, OWNER_NAME_LABEL};
use flux_operator::cluster::lease::LeaseOptions;
use flux_operator::cluster::object::ResourceId;
use flux_operator::cluster::requests::Selector;
use flux_operator::cluster::{Cluster, ConnectOptions, KubeconfigSource, connect};
use flux_operator::distribution::Distribution;
use flux_operator::reconcile::progress::Silent;
use flux_operator::reconcile::run::instance_of;
use flux_operator::reconcile::{self, Options as RunOptions, UninstallOptions};
use serde_json::{Value, json};

use crate::cluster_tests;
use crate::support::{ClusterTest, Fault, FaultProxy, FaultRule, Options, TestCluster};
use crate::world::*;

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        every_request_fails_once_and_the_installation_converges,
        a_run_that_is_killed_at_any_moment_is_completed_by_the_next,
    ]
}

/// The ways a request fails, in rotation.
fn faults() -> Vec<Fault> {
    vec![
        Fault::CutBefore,
        Fault::CutAfter,
        Fault::conflict(),
        Fault::too_many_requests(1),
        Fault::internal_error(),
        Fault::unavailable(),
        Fault::Hang,
    ]
}

/// Which fault each request met: every request the first time it is made, by method and path.
#[derive(Clone, Default)]
struct Matrix(Arc<Mutex<BTreeMap<String, usize>>>);

impl Matrix {
    /// Puts the matrix in front of the API server; `first` is the fault the rotation begins with.
    fn install(proxy: &FaultProxy, first: usize) -> Matrix {
        let matrix = Matrix::default();
        for method in ["GET", "POST", "PATCH", "PUT", "DELETE"] {
            for (number, fault) in faults().into_iter().enumerate() {
                let seen = matrix.0.clone();
                let strikes = move |uri: &str| {
                    // Watches begin where the list before them ended: the place is not what makes them the same request.
                    let key = format!("{method} {}", uri.split("&resourceVersion=").next().unwrap_or(uri));
                    let mut seen = seen.lock().unwrap();
                    let turn = (seen.len() + first) % faults().len();
                    // The rules of one method are asked in turn; the one whose turn it is strikes and takes it down.
                    if seen.contains_key(&key) || turn != number {
                        return false;
                    }
                    seen.insert(key, number);
                    true
                };
                proxy.add_rule(FaultRule::every(fault).method(method).uri(strikes));
            }
        }
        matrix
    }

    fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

async fn impatient(kubeconfig: &Path) -> Cluster {
    let mut options = ConnectOptions::new(KubeconfigSource::File(kubeconfig.to_owned()));
    options.request_timeout = Duration::from_millis(1500);
    connect(options).await.unwrap()
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
        let ours = Selector::labelled(format!("{OWNER_NAME_LABEL}={INSTANCE_NAME}"));
        let list = world.cluster.list_all(&resource, None, &ours).await.unwrap().unwrap();
        // What is being deleted is no longer counted.
        let there = list.items.iter().filter(|item| item["metadata"].get("deletionTimestamp").is_none());
        owned.extend(there.map(|item| ResourceId::of(item).to_string()));
    }
    owned
}

async fn inventory(world: &World) -> BTreeSet<String> {
    let inventory = world.read_instance().await.status.unwrap().inventory.unwrap();
    let listed: Vec<String> =
        inventory.entries.iter().map(|entry| ResourceId::of_entry(entry).unwrap().to_string()).collect();
    let once: BTreeSet<String> = listed.iter().cloned().collect();
    assert_eq!(listed.len(), once.len(), "nothing is listed twice");
    once
}

fn small(components: &[&str]) -> Value {
    let mut wanted = spec("2.9.x");
    wanted["components"] = json!(components);
    wanted["wait"] = json!(false);
    wanted
}

async fn every_request_fails_once_and_the_installation_converges(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    let proxy = FaultProxy::start(&world.kubeconfig, world.plane.folder()).await.unwrap();
    let through = impatient(proxy.kubeconfig().path()).await;
    let struck = one_rotation(&world, &proxy, &through, rotation()).await;
    eprintln!("faults and runs of install, steady state, uninstall: {struck:?}");
    let [install, steady, uninstall] = struck;
    assert!(install.0 >= 45 && steady.0 > 10 && uninstall.0 > 30, "{struck:?}");
}

/// Where the rotation of faults begins: `FAULT_ROTATION`, 0 to 6. Begun at each of them, every request has met every fault;
/// `benches/fault-matrix.sh` does that.
fn rotation() -> usize {
    std::env::var("FAULT_ROTATION").ok().and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Installs, finds nothing to do and uninstalls, with every request of each failing once. Returns faults and runs of each.
async fn one_rotation(world: &World, proxy: &FaultProxy, through: &Cluster, rotation: usize) -> [(usize, usize); 3] {
    let mut wanted = small(&["source-controller", "kustomize-controller"]);
    wanted["wait"] = json!(true);
    world.instance(wanted).await;
    let options = RunOptions { lease: Some(lease()), ..RunOptions::default() };
    let mut struck = [(0, 0); 3];
    for (round, struck) in struck.iter_mut().take(2).enumerate() {
        let matrix = Matrix::install(proxy, rotation + 3 * round);
        let mut runs = 0;
        loop {
            runs += 1;
            let before = matrix.len();
            let ready = world.run_with(through, &options).await.is_ok_and(|outcome| outcome.is_ready());
            // A run that met no fault and is ready has met them all.
            if ready && matrix.len() == before {
                break;
            }
            assert!(runs < 60, "no end after {} faults", matrix.len());
        }
        *struck = (matrix.len(), runs);
        proxy.clear_rules();
        assert_eq!(owned(world).await, inventory(world).await);
        assert!(!world.plan().await.has_changes());
    }
    let events = world.list("v1", "Event", Some(NAMESPACE)).await;
    assert!(
        events.iter().any(|event| event["message"].as_str().unwrap().starts_with("Flux v2.9.4 ")),
        "what was installed is told"
    );

    let matrix = Matrix::install(proxy, rotation + 5);
    let uninstall =
        UninstallOptions { lease: Some(lease()), timeout: Duration::from_secs(10), ..UninstallOptions::default() };
    let mut runs = 0;
    while let Some(value) = world.get("fluxcd.controlplane.io/v1", "FluxInstance", NAMESPACE, "flux").await {
        runs += 1;
        // Whatever it says, the next one goes on from there.
        let outcome = reconcile::uninstall(through, &instance_of(&value).unwrap(), &uninstall, &Silent).await;
        assert!(runs < 60, "no end after {} faults: {outcome:?}", matrix.len());
    }
    struck[2] = (matrix.len(), runs);
    proxy.clear_rules();
    assert_eq!(owned(world).await, BTreeSet::from(["Namespace/flux-system".to_owned()]));
    struck
}

const CHILD: &str = "RECONCILE_TO_BE_KILLED";

/// The process that is killed: reconciles once and ends.
pub fn run_as_child() -> Option<ExitCode> {
    let kubeconfig = std::env::var_os(CHILD)?;
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let cluster = connected(Path::new(&kubeconfig)).await;
        let instance = cluster
            .read(&id("fluxcd.controlplane.io/v1", "FluxInstance", NAMESPACE, INSTANCE_NAME))
            .await
            .unwrap()
            .unwrap();
        let options = RunOptions { lease: Some(lease()), ..RunOptions::default() };
        let outcome =
            reconcile::run(&cluster, &instance_of(&instance).unwrap(), &Distribution::embedded(), &options, &Silent)
                .await;
        drop(outcome);
    });
    Some(ExitCode::SUCCESS)
}

async fn a_run_that_is_killed_at_any_moment_is_completed_by_the_next(cluster: TestCluster) {
    let world = World::with(&cluster, Options::api_server_only()).await;
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
            .filter_map(ResourceId::of_entry)
            .map(|id| id.to_string())
            .collect();
        let forgotten: Vec<String> =
            owned(&world).await.into_iter().filter(|object| !listed.contains(object)).collect();
        assert!(forgotten.is_empty(), "kill {number}: {forgotten:?}");
    }
    assert!(killed > 25, "only {killed} runs were cut off");
    let options = RunOptions { lease: Some(lease()), ..RunOptions::default() };
    let outcome = world.run_with(&world.cluster, &options).await.unwrap();
    assert!(outcome.is_ready(), "{}", outcome.message);
    assert_eq!(owned(&world).await, inventory(&world).await);
    assert!(!world.plan().await.has_changes());
}
