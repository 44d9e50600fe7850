//! Measures the operator with ResourceSets: requests and time of a run, and memory with many sets.
//!
//! ```text
//! cargo build --profile dist
//! cargo run --release -p tools --bin resourceset-speed [SETS]
//! ```
//! Starts its own control plane and the built program as its operator, without any other client. Prints, for a set with 100
//! inputs of one ConfigMap each, the time from the applied set to Ready and from an annotation to its answer (median of 10),
//! each with its requests; then the memory of the operator before and after SETS sets (100 by default) of 10 ConfigMaps are
//! Ready. It never fails because of a result. `benches/resourceset.sh` measures `build resourceset`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program of developers: it prints, and a failed one panics"
)]

#[path = "operator_process.rs"]
mod operator_process;
#[path = "program.rs"]
mod program;

use std::path::Path;
use std::time::{Duration, Instant};

use flux_operator::api::crd;
use flux_operator::cluster::{Cluster, ListOptions, WriteOptions};
use flux_operator::k8s::{ObjectId, ResourceType};
use flux_operator::reconcile::{self, progress::IgnoredProgress};
use operator_process::{NAMESPACE, USER, connected, memory, start};
use serde_json::{Value, json};
use test_support::audit::Requests;
use test_support::server_process::ServerProcess;
use test_support::{ControlPlane, Fallible, Options, eventually};

/// Namespace of the sets.
const APPS: &str = "apps";
const LIMIT: Duration = Duration::from_secs(300);
const INPUTS: usize = 100;
const ROUNDS: usize = 10;
/// ConfigMaps of each of many sets.
const OBJECTS: usize = 10;

#[tokio::main]
async fn main() -> Fallible<()> {
    if let Some(reason) = test_support::programs::unavailable_because() {
        println!("not measured: it {reason}");
        return Ok(());
    }
    let sets: usize = std::env::args_os().nth(1).and_then(|word| word.to_str()?.parse().ok()).unwrap_or(100);
    let binary = program::shipped()?;
    let bench = Bench::start(&binary).await?;
    println!("| what | time | requests of the operator |\n| --- | --- | --- |");
    bench.one_set().await?;
    println!("| memory with one set of {INPUTS} objects | {:.1} MiB | |", memory(&bench.process, "VmRSS")?);
    let begun = Instant::now();
    for number in 0..sets {
        bench.apply(&set(&format!("many-{number:03}"), OBJECTS)).await?;
    }
    eventually("all sets to be Ready", LIMIT, || async {
        let list = bench.cluster.list(&set_kind(), Some(APPS), &ListOptions::default()).await.ok()?;
        (list.items.iter().filter(|set| is_ready(set)).count() == sets + 1).then_some(())
    })
    .await?;
    println!("| {sets} sets of {OBJECTS} objects, all Ready | {:.1} s | |", begun.elapsed().as_secs_f64());
    // The allocator and the caches come to rest.
    tokio::time::sleep(Duration::from_secs(20)).await;
    println!("| memory with them | {:.1} MiB | |", memory(&bench.process, "VmRSS")?);
    println!("| … its peak | {:.1} MiB | |", memory(&bench.process, "VmHWM")?);
    Ok(())
}

fn set(name: &str, inputs: usize) -> Value {
    let sets: Vec<Value> =
        (0..inputs).map(|number| json!({"tenant": format!("team-{number}"), "tag": format!("1.0.{number}")})).collect();
    json!({
        "apiVersion": "fluxcd.controlplane.io/v1", "kind": "ResourceSet", "metadata": {"name": name, "namespace": APPS},
        "spec": {"inputs": sets, "resources": [{"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": format!("{name}-<< inputs.tenant >>"), "namespace": APPS},
            "data": {"image": "ghcr.io/example/<< inputs.tenant >>:<< inputs.tag >>"}}]},
    })
}

fn set_kind() -> ResourceType {
    ResourceType::namespaced("fluxcd.controlplane.io", "v1", "ResourceSet", "resourcesets")
}

fn is_ready(set: &Value) -> bool {
    let conditions = set.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().any(|one| one["type"] == "Ready" && one["status"] == "True")
}

struct Bench {
    plane: ControlPlane,
    cluster: Cluster,
    process: ServerProcess,
}

/// Requests about sets and what they apply, without the lease, reports and watches.
fn of_run(requests: Requests) -> Requests {
    requests.only(|request| {
        ["configmaps", "resourcesets", "events"].contains(&request.resource.as_str()) && request.verb != "watch"
    })
}

impl Bench {
    async fn start(binary: &Path) -> Fallible<Bench> {
        let plane = ControlPlane::start_with(Options::on_all_processors(), |part| eprintln!("starting {part}")).await?;
        let harness = plane.admin("harness")?;
        let cluster = connected(harness.path()).await?;
        reconcile::prepare(&cluster, NAMESPACE, &IgnoredProgress).await?;
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": APPS}});
        for object in [crd::flux_report(), crd::resource_set(), crd::input_provider(), namespace] {
            cluster.apply(&object, WriteOptions::forced("author")).await?;
        }
        let admin = plane.admin(USER)?;
        let process = start(binary, &plane, admin.path(), "operator-a")?;
        let bench = Bench { plane, cluster, process };
        // A first small set: the operator has the lease and follows the kind.
        bench.apply(&set("first", 1)).await?;
        bench.until("first", is_ready).await?;
        bench.cluster.delete(&id("first"), &Default::default()).await?;
        eventually("the first set to go", LIMIT, || async {
            bench.cluster.read(&id("first")).await.ok()?.is_none().then_some(())
        })
        .await?;
        println!("memory of the operator without a set: {:.1} MiB", memory(&bench.process, "VmRSS")?);
        Ok(bench)
    }

    async fn apply(&self, object: &Value) -> Fallible<()> {
        self.cluster.apply(object, WriteOptions::forced("author")).await?;
        Ok(())
    }

    async fn until(&self, name: &str, is_there: impl Fn(&Value) -> bool) -> Fallible<()> {
        let what = format!("the set {name}");
        let wait = async {
            loop {
                if self.cluster.read(&id(name)).await?.is_some_and(|set| is_there(&set)) {
                    return Fallible::Ok(());
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(LIMIT, wait).await.map_err(|_| format!("timed out waiting for {what}"))?
    }

    async fn one_set(&self) -> Fallible<()> {
        let mark = self.plane.audit().mark().await?;
        let begun = Instant::now();
        self.apply(&set("one", INPUTS)).await?;
        self.until("one", is_ready).await?;
        let time = begun.elapsed();
        let first = of_run(self.plane.audit().since(mark).await?.by_user(USER));
        println!(
            "| applied set with {INPUTS} inputs to Ready | {:.0} ms | {} |",
            time.as_secs_f64() * 1000.0,
            first.len()
        );
        let (mut times, mut counts) = (vec![], vec![]);
        for round in 0..ROUNDS {
            tokio::time::sleep(Duration::from_millis(200)).await;
            let (token, mark) = (format!("request {round}"), self.plane.audit().mark().await?);
            let patch = json!({"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": token}}});
            let begun = Instant::now();
            self.cluster.merge_patch(&id("one"), None, &patch, "author").await?;
            self.until("one", |set| set["status"]["lastHandledReconcileAt"] == token.as_str() && is_ready(set)).await?;
            times.push(begun.elapsed());
            counts.push(of_run(self.plane.audit().since(mark).await?.by_user(USER)).len());
        }
        times.sort();
        counts.sort_unstable();
        let milliseconds = |index: usize| times.get(index).copied().unwrap_or_default().as_secs_f64() * 1000.0;
        println!(
            "| a request that finds nothing to do | {:.0} ms (fastest {:.0}) | {} |",
            milliseconds(ROUNDS / 2),
            milliseconds(0),
            counts.get(ROUNDS / 2).copied().unwrap_or_default()
        );
        Ok(())
    }
}

fn id(name: &str) -> ObjectId {
    ObjectId::new("fluxcd.controlplane.io", "ResourceSet", Some(APPS), name).at("v1")
}
