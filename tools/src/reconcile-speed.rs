//! Measures the duration of a run and its requests: `cargo run --release -p tools --bin reconcile-speed`.
//!
//! First through a proxy that adds 20 ms to each request, beside `kubectl apply --server-side` of the same manifests
//! through the same proxy; then on loopback. Compare ratios instead of times: both sides use the same API server on the
//! same machine. Never fails because of a time. `-- --timeline` shows every request of one install and one steady run.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program of developers: it prints, and a failed one panics"
)]

#[path = "../../tests/control_plane/faults/site.rs"]
#[allow(dead_code, reason = "tests and tools use different parts of it")]
mod site;

use test_support as support;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use flux_operator::api::{CheckedInstance, FluxInstance};
use flux_operator::build::{BuildOptions, build};
use flux_operator::cluster::watch::{FollowedChange, Follower};
use flux_operator::cluster::{ListOptions, WriteOptions};
use flux_operator::format::yaml;
use flux_operator::reconcile::{self, progress::IgnoredProgress};
use serde_json::{Value, json};
use site::{NAMESPACE, Site, USER, connected, id, instance, instance_id, play_deployment};
use test_support::proxy::Seen;
use test_support::{Fallible, Fault, FaultRule, Options};

const ADDED: Duration = Duration::from_millis(20);
const ROUNDS: usize = 7;
const LIMIT: Duration = Duration::from_secs(30);

fn main() -> Fallible<()> {
    if let Some(reason) = test_support::programs::unavailable_because() {
        println!("not measured: it {reason}");
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(measure())
}

fn spec(wait: bool) -> Value {
    let components = [
        "source-controller",
        "kustomize-controller",
        "helm-controller",
        "notification-controller",
        "image-reflector-controller",
        "image-automation-controller",
        "source-watcher",
    ];
    let mut spec = site::spec(&components);
    spec["wait"] = json!(wait);
    spec
}

async fn measure() -> Fallible<()> {
    let site = Site::start_with(Options { all_processors: true, ..Options::api_server_only() }).await?;
    println!("{:<58} {:>9} {:>9} {:>8} {:>8}", "", "ours", "kubectl", "ratio", "goal");
    let far = distant(&site).await?;
    for (what, ours, theirs, goal) in [
        ("first install", &far.install, &far.kubectl_install, 4.0),
        ("steady state", &far.steady, &far.kubectl_steady, 6.0),
    ] {
        let (ours, theirs) = (median(ours), median(theirs));
        let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
        let met = if ratio <= 1.0 / goal { "met" } else { "MISSED" };
        let what = format!("{what}, {} objects, 20 ms added to each request", far.objects);
        println!("{what:<58} {ours:>9.1?} {theirs:>9.1?} {:>8} 1/{goal:.0} {met}", format!("1/{:.1}", 1.0 / ratio));
    }
    println!("requests of a first install: ours {}, kubectl {}", far.install_requests, far.kubectl_requests);
    near(&site).await
}

fn median(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

#[derive(Default)]
struct Distant {
    objects: usize,
    install: Vec<Duration>,
    steady: Vec<Duration>,
    kubectl_install: Vec<Duration>,
    kubectl_steady: Vec<Duration>,
    install_requests: usize,
    kubectl_requests: usize,
}

/// An API server that is 20 ms away.
async fn distant(site: &Site) -> Fallible<Distant> {
    let mut far = Distant::default();
    let built = build(
        &CheckedInstance::check(FluxInstance::from_object(instance(&spec(false)))?)?,
        &site.distribution,
        &BuildOptions::default(),
    )?;
    far.objects = built.objects.len();
    let file = site.plane.folder().join("manifests.yaml");
    std::fs::write(&file, yaml::document_stream(&built.objects)?)?;
    // Discovery is cached, as for a regular user of kubectl.
    prepared(site).await?;
    kubectl(site, &["api-resources"]).await?;
    for round in 0..ROUNDS {
        prepared(site).await?;
        site.proxy.add_rule(FaultRule::every(Fault::Delay(ADDED)));
        let seen = run(site).await?;
        far.install_requests = seen.len();
        far.install.push(until_last_apply(&seen));
        if round == 0 && std::env::args_os().any(|argument| argument == "--timeline") {
            timeline(&seen);
        }
        let seen = run(site).await?;
        far.steady.push(spent(&seen));
        if round == 0 && std::env::args_os().any(|argument| argument == "--timeline") {
            timeline(&seen);
        }

        prepared(site).await?;
        site.proxy.add_rule(FaultRule::every(Fault::Delay(ADDED)));
        let apply = ["apply", "--server-side", "--force-conflicts", "-f", file.to_str().ok_or("a path in UTF-8")?];
        let seen = kubectl(site, &apply).await?;
        far.kubectl_requests = seen.len();
        far.kubectl_install.push(until_last_apply(&seen));
        far.kubectl_steady.push(spent(&kubectl(site, &apply).await?));
    }
    Ok(far)
}

/// Prepares a cluster with only namespace, definition and instance.
async fn prepared(site: &Site) -> Fallible<()> {
    site.wipe().await;
    reconcile::prepare(&site.direct, NAMESPACE, &IgnoredProgress).await?;
    site.direct.apply(&instance(&spec(false)), WriteOptions::forced("author")).await?;
    Ok(())
}

/// Reconciles with new connections, as a new process would, and returns the requests.
async fn run(site: &Site) -> Fallible<Vec<Seen>> {
    let cluster = site.through_proxy(LIMIT).await;
    let before = site.proxy.requests().len();
    let outcome =
        reconcile::run(&cluster, &instance_id(), &site.distribution, &site.options(), &IgnoredProgress).await?;
    if !outcome.is_ready() {
        return Err(outcome.message.into());
    }
    Ok(site.proxy.requests().split_off(before))
}

async fn kubectl(site: &Site, arguments: &[&str]) -> Fallible<Vec<Seen>> {
    let before = site.proxy.requests().len();
    let mut command = Command::new("kubectl");
    // The proxy presents the certificate; without any credentials kubectl would ask for a user name.
    command.args(arguments).arg("--token=unused").env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("HOME", site.plane.folder()).env("KUBECONFIG", site.proxy.kubeconfig().path());
    let output = tokio::task::spawn_blocking(move || command.stdin(Stdio::null()).output()).await??;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(site.proxy.requests().split_off(before))
}

fn spent(seen: &[Seen]) -> Duration {
    let first = seen.iter().map(|one| one.begun).min();
    let last = seen.iter().filter_map(|one| one.answered).max();
    first.zip(last).map(|(first, last)| last - first).unwrap_or_default()
}

/// Returns the time from the first request to the answer of the last apply.
fn until_last_apply(seen: &[Seen]) -> Duration {
    let is_apply = |one: &&Seen| one.method == "PATCH" && one.uri.contains("force=true") && !one.uri.contains("dryRun");
    let first = seen.iter().map(|one| one.begun).min();
    let last = seen.iter().filter(is_apply).filter_map(|one| one.answered).max();
    first.zip(last).map(|(first, last)| last - first).unwrap_or_default()
}

fn timeline(seen: &[Seen]) {
    let Some(first) = seen.iter().map(|one| one.begun).min() else { return };
    for one in seen {
        let took = one.answered.map(|answered| answered - one.begun).unwrap_or_default();
        println!("{:>8.1?} +{:>8.1?} {} {}", one.begun - first, took, one.method, one.uri);
    }
}

/// Measures on loopback, without the proxy.
async fn near(site: &Site) -> Fallible<()> {
    site.wipe().await;
    let kubeconfig = site.plane.admin(USER)?;
    let cluster = connected(kubeconfig.path(), LIMIT).await;
    site.apply(&cluster, &spec(true)).await?;
    let mut times = vec![];
    let mut mark = site.plane.audit().mark().await?;
    for _ in 0..ROUNDS {
        mark = site.plane.audit().mark().await?;
        let cluster = connected(kubeconfig.path(), LIMIT).await;
        let begun = Instant::now();
        reconcile::run(&cluster, &instance_id(), &site.distribution, &site.options(), &IgnoredProgress).await?;
        times.push(begun.elapsed());
    }
    println!("steady state on loopback, with the connections' handshakes: {:.1?} (goal: under 100 ms)", median(&times));
    let all = site.plane.audit().since(mark).await?.by_user(USER);
    let requests = all.only(|request| request.verb != "watch");
    println!(
        "requests of a steady run: {} (goal: at most 20), of them writes: {:?}",
        requests.len(),
        requests.writes().table()
    );

    let mut latencies = vec![];
    for _ in 0..ROUNDS {
        latencies.push(ready_latency(site, &kubeconfig_path(&kubeconfig)).await?);
    }
    println!(
        "from the last Deployment's readiness to Ready in the status: {:.1?} (goal: under 200 ms)",
        median(&latencies)
    );
    Ok(())
}

fn kubeconfig_path(kubeconfig: &test_support::Kubeconfig) -> std::path::PathBuf {
    Path::to_path_buf(kubeconfig.path())
}

async fn ready_latency(site: &Site, kubeconfig: &Path) -> Fallible<Duration> {
    site.hold.send_replace(true);
    site.wipe().await;
    let cluster = connected(kubeconfig, LIMIT).await;
    let resource = |api_version: &'static str, kind: &'static str| id(api_version, kind, "", "");
    let begin = async {
        let deployments = site.direct.resource(&resource("apps/v1", "Deployment")).await?;
        let mut all = vec![];
        while all.len() < 7 {
            tokio::time::sleep(Duration::from_millis(50)).await;
            let list = site.direct.list_all(&deployments, Some(NAMESPACE), &ListOptions::default()).await?;
            all = list.map(|list| list.items).unwrap_or_default();
        }
        let kind = site.direct.resource(&instance_id()).await?;
        let mut follower = Follower::new(&site.direct, kind, Some(NAMESPACE), ListOptions::default(), None);
        follower.next().await?;
        // By then the run watches its objects.
        tokio::time::sleep(Duration::from_millis(500)).await;
        for deployment in &all {
            play_deployment(&site.direct, deployment, false).await;
        }
        let begun = Instant::now();
        loop {
            let objects = match follower.next().await? {
                FollowedChange::All(objects) => objects,
                FollowedChange::Set(object) => vec![object],
                FollowedChange::Gone(_) => vec![],
            };
            let ready = |object: &Value| {
                object["status"]["conditions"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .any(|one| one["type"] == "Ready" && one["status"] == "True")
            };
            if objects.iter().any(ready) {
                return Fallible::Ok(begun.elapsed());
            }
        }
    };
    let wanted = spec(true);
    let (applied, latency) = tokio::join!(site.apply(&cluster, &wanted), begin);
    site.hold.send_replace(false);
    applied?;
    latency
}
