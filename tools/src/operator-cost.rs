//! Measures the operator: memory, CPU and requests while nothing changes, and its speed when something does.
//!
//! ```text
//! cargo build --profile dist
//! cargo run --release -p tools --bin operator-cost [MINUTES [OBJECTS]]
//! ```
//! Starts its own control plane and the built program as its operator, without any other client. Prints the time from
//! an applied instance to Ready (median of 5 installations) and from an annotation to its answer (median of 20), the
//! requests and CPU time in MINUTES without any change (10 by default; hours are extrapolated), and the memory with
//! OBJECTS Flux objects (10,000 by default), idle and after a scrape of its metrics. It never fails because of a
//! result. `FLUX_OPERATOR` names another binary.
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

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use flux_operator::api::crd;
use flux_operator::cluster::watch::{FollowedChange, Follower};
use flux_operator::cluster::{Cluster, ListOptions, WriteOptions};
use flux_operator::k8s::{ObjectId, ResourceType};
use flux_operator::reconcile::{self, progress::IgnoredProgress};
use futures::stream::{self, StreamExt};
use kube::Client;
use operator_process::{NAMESPACE, USER, connected, memory, start};
use serde_json::{Value, json};
use test_support::server_process::ServerProcess;
use test_support::{ControlPlane, Fallible, Options, eventually, flux, objects};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const LIMIT: Duration = Duration::from_secs(60);
const INSTALLATIONS: usize = 5;
const REQUESTS: usize = 20;
/// Number of namespaces with Flux objects.
const NAMESPACES: usize = 20;
/// Number of concurrent creations.
const CONCURRENCY: usize = 32;

#[tokio::main]
async fn main() -> Fallible<()> {
    if let Some(reason) = test_support::programs::unavailable_because() {
        println!("not measured: it {reason}");
        return Ok(());
    }
    let numbers: Vec<u64> = std::env::args_os()
        .filter_map(|word| word.into_string().ok())
        .skip(1)
        .filter_map(|text| text.parse().ok())
        .collect();
    let minutes = numbers.first().copied().unwrap_or(10);
    let count = usize::try_from(numbers.get(1).copied().unwrap_or(10_000))?;
    let binary = program::shipped()?;
    println!("| program | {:.1} MB |", std::fs::metadata(&binary)?.len() as f64 / 1e6);
    let bench = Bench::start(&binary).await?;

    let mut times = Vec::new();
    for _ in 0..INSTALLATIONS {
        bench.uninstall().await?;
        times.push(bench.install().await?);
    }
    println!("| applied instance to Ready, default components | {} |", text(&mut times));
    let mut times = Vec::new();
    for number in 0..REQUESTS {
        // As in `answer-speed`: requests in direct succession would be in step with a clock of the API server.
        tokio::time::sleep(Duration::from_millis(200 + 37 * number as u64 % 100)).await;
        times.push(bench.answered(&format!("request {number}")).await?);
    }
    println!("| annotation to answer | {} |", text(&mut times));

    // Wait until the previous changes have settled: discovery of new and removed kinds runs once a minute.
    tokio::time::sleep(Duration::from_secs(100)).await;
    bench.idle(Duration::from_secs(60 * minutes)).await?;

    flux::install_crds(bench.plane.client()).await?;
    create_sources(bench.plane.client(), count).await?;
    let all = format!("kind=\"GitRepository\",name=\"repo-{:05}\"", count.saturating_sub(1));
    eventually("the last object", LIMIT, || async {
        bench.metrics().await.ok().filter(|metrics| metrics.contains(&all)).map(|_| ())
    })
    .await?;
    println!("| memory right after {count} Flux objects were made | {:.1} MiB |", memory(&bench.process, "VmRSS")?);
    bench.answered("with many").await?;
    tokio::time::sleep(Duration::from_secs(20)).await;
    println!("| memory with {count} Flux objects, and scraped | {:.1} MiB |", memory(&bench.process, "VmRSS")?);
    let Bench { process, plane, binary, .. } = bench;
    drop(process);
    // An operator that finds the objects when it starts.
    let admin = plane.admin(USER)?;
    let process = start(&binary, &plane, admin.path(), "operator-b")?;
    let bench = Bench { cluster: connected(admin.path()).await?, process, plane, binary, name: "operator-b" };
    eventually("the last object", LIMIT, || async {
        bench.metrics().await.ok().filter(|metrics| metrics.contains(&all)).map(|_| ())
    })
    .await?;
    println!("| memory of one that starts beside {count} Flux objects | {:.1} MiB |", memory(&bench.process, "VmRSS")?);
    println!("| … its peak | {:.1} MiB |", memory(&bench.process, "VmHWM")?);
    Ok(())
}

struct Bench {
    plane: ControlPlane,
    cluster: Cluster,
    process: ServerProcess,
    binary: PathBuf,
    name: &'static str,
}

fn id(kind: &str) -> ObjectId {
    ObjectId::new("fluxcd.controlplane.io", kind, Some(NAMESPACE), "flux").at("v1")
}

fn instance_kind() -> ResourceType {
    ResourceType::namespaced("fluxcd.controlplane.io", "v1", "FluxInstance", "fluxinstances")
}

/// Median and fastest.
fn text(times: &mut [Duration]) -> String {
    times.sort();
    let at = |index: usize| times.get(index).copied().unwrap_or_default();
    let milliseconds = |index: usize| at(index).as_secs_f64() * 1000.0;
    format!("{:.0} ms (fastest {:.0})", milliseconds(times.len() / 2), milliseconds(0))
}

impl Bench {
    async fn start(binary: &Path) -> Fallible<Bench> {
        let plane = ControlPlane::start_with(Options::on_all_processors(), |part| eprintln!("starting {part}")).await?;
        let harness = plane.admin("harness")?;
        let cluster = connected(harness.path()).await?;
        reconcile::prepare(&cluster, NAMESPACE, &IgnoredProgress).await?;
        cluster.apply(&crd::flux_report(), WriteOptions::forced("author")).await?;
        let admin = plane.admin(USER)?;
        let process = start(binary, &plane, admin.path(), "operator-a")?;
        Ok(Bench { plane, cluster, process, binary: binary.to_owned(), name: "operator-a" })
    }

    /// Follows the instance until it is as expected; returns the time since `change`.
    async fn after<F: Future<Output = Fallible<()>>>(
        &self,
        change: impl FnOnce() -> F,
        is_there: impl Fn(Option<&Value>) -> bool,
    ) -> Fallible<Duration> {
        let options = ListOptions::named("flux");
        let mut following = Follower::new(&self.cluster, instance_kind(), Some(NAMESPACE), options, None);
        following.next().await?;
        let begun = Instant::now();
        change().await?;
        let wait = async {
            loop {
                let done = match following.next().await? {
                    FollowedChange::All(all) => is_there(all.first()),
                    FollowedChange::Set(object) => is_there(Some(&object)),
                    FollowedChange::Gone(_) => is_there(None),
                };
                if done {
                    return Fallible::Ok(begun.elapsed());
                }
            }
        };
        tokio::time::timeout(LIMIT, wait).await?
    }

    async fn install(&self) -> Fallible<Duration> {
        let instance = json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
            "metadata": {"name": "flux", "namespace": NAMESPACE},
            "spec": {"distribution": {"version": "2.9.x", "registry": "ghcr.io/fluxcd"}}});
        let apply = || async {
            self.cluster.apply(&instance, WriteOptions::forced("author")).await?;
            Ok(())
        };
        self.after(apply, |object| {
            let conditions = object.and_then(|object| object.pointer("/status/conditions")?.as_array());
            conditions.into_iter().flatten().any(|one| one["type"] == "Ready" && one["status"] == "True")
        })
        .await
    }

    async fn uninstall(&self) -> Fallible<()> {
        if self.cluster.read(&id("FluxInstance")).await?.is_none() {
            return Ok(());
        }
        let delete = || async {
            self.cluster.delete(&id("FluxInstance"), &Default::default()).await?;
            Ok(())
        };
        self.after(delete, |object| object.is_none()).await?;
        // Pods and definitions disappear shortly after the instance.
        tokio::time::sleep(Duration::from_secs(5)).await;
        Ok(())
    }

    /// Returns the time from a request until the status reports it as handled.
    async fn answered(&self, token: &str) -> Fallible<Duration> {
        let patch = json!({"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": token}}});
        let ask = || async {
            self.cluster.merge_patch(&id("FluxInstance"), None, &patch, "author").await?;
            Ok(())
        };
        self.after(ask, |object| object.is_some_and(|object| object["status"]["lastHandledReconcileAt"] == token)).await
    }

    async fn idle(&self, time: Duration) -> Fallible<()> {
        let (mark, before) = (self.plane.audit().mark().await?, self.counters().await?);
        tokio::time::sleep(time).await;
        let (after, seen) = (self.counters().await?, self.plane.audit().since(mark).await?.by_user(USER));
        let an_hour = |count: f64| count * 3600.0 / time.as_secs_f64();
        println!("| memory when idle | {:.1} MiB |", memory(&self.process, "VmRSS")?);
        println!("| CPU when idle | {:.2} ms a minute |", an_hour(after.0 - before.0) / 60.0 * 1000.0);
        println!("| requests when idle, all | {:.0} an hour |", an_hour(after.1 - before.1));
        let leases = seen.only(|request| request.resource == "leases").len() as f64;
        println!("| … of these for the lease | {:.0} an hour |", an_hour(leases));
        println!("in {time:?}: {:?}", seen.table());
        Ok(())
    }

    /// CPU seconds and requests so far.
    async fn counters(&self) -> Fallible<(f64, f64)> {
        let metrics = self.metrics().await?;
        let sum = |name: &str| -> f64 {
            let lines = metrics.lines().filter(|line| line.starts_with(name));
            lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
        };
        Ok((sum("process_cpu_seconds_total"), sum("rest_client_requests_total")))
    }

    async fn metrics(&self) -> Fallible<String> {
        let log = self.plane.folder().join(format!("{}.log", self.name));
        let address = eventually("the address of the metrics", LIMIT, || async {
            let text = std::fs::read_to_string(&log).ok()?;
            let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let line = lines.into_iter().find(|line| line["msg"] == "serving metrics")?;
            line["address"].as_str().map(str::to_owned)
        })
        .await?;
        let mut stream = TcpStream::connect(&address).await?;
        let request = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok(answer)
    }
}

/// GitRepositories with a status, as source-controller leaves them: 2.8 KB each, one in ten failing.
async fn create_sources(client: &Client, count: usize) -> Fallible<()> {
    let names: Vec<Value> = (0..NAMESPACES)
        .map(|number| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": format!("many-{number:02}")}}))
        .collect();
    objects::apply(client, "", &names).await?;
    let all = (0..count).map(|number| create_source(client, number));
    let results: Vec<Fallible<()>> = stream::iter(all).buffer_unordered(CONCURRENCY).collect().await;
    results.into_iter().collect()
}

async fn create_source(client: &Client, number: usize) -> Fallible<()> {
    let (name, namespace) = (format!("repo-{number:05}"), format!("many-{:02}", number % NAMESPACES));
    let path = format!("/apis/source.toolkit.fluxcd.io/v1/namespaces/{namespace}/gitrepositories");
    let send = async |method: http::Method, path: &str, body: &Value| -> Fallible<Value> {
        let request = http::Request::builder().method(method).uri(path);
        let request = request.header("content-type", "application/json").body(body.to_string().into_bytes())?;
        Ok(client.request(request).await?)
    };
    let object = json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"interval": "10m", "url": format!("https://git.example.com/{name}"), "ref": {"branch": "main"}},
    });
    let mut created = send(http::Method::POST, &format!("{path}?fieldManager=flux"), &object).await?;
    let (revision, time) = (format!("main@sha1:{number:040x}"), "2026-01-01T00:00:00Z");
    let (status, reason, message) = if number.is_multiple_of(10) {
        ("False", "GitOperationFailed", "failed to checkout and determine revision: authentication required".to_owned())
    } else {
        ("True", "Succeeded", format!("stored artifact for revision '{revision}'"))
    };
    created["status"] = json!({
        "observedGeneration": 1,
        "conditions": [{"type": "Ready", "status": status, "reason": reason, "message": message, "lastTransitionTime": time,
            "observedGeneration": 1}],
        "artifact": {"digest": format!("sha256:{number:064x}"), "lastUpdateTime": time, "revision": revision, "size": 4096,
            "path": format!("gitrepository/x/{name}/{number:040x}.tar.gz"),
            "url": format!("http://source-controller.flux-system.svc.cluster.local./gitrepository/x/{name}/{number:040x}.tar.gz")},
    });
    send(http::Method::PUT, &format!("{path}/{name}/status?fieldManager=gotk-source-controller"), &created).await?;
    Ok(())
}
