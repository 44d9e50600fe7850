//! Measures one command over many clusters.
//!
//! ```text
//! cargo build --profile dist
//! cargo run --release -p tools --bin fleet-speed
//! ```
//! Starts simulated API servers on loopback, 200 with 30 Kustomizations each, and prints wall time and peak memory of
//! `get ks -A`, `status` and `why` over all of them, beside a shell loop that asks one after the other. Then 20 clusters,
//! one of them slow by a second for each request and one dead: the time until the rows of all others are printed, beside
//! the time that the slow one needs when nothing else is asked. Never fails because of a result.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program of developers: it prints, and a failed one panics"
)]

#[path = "measure.rs"]
mod measure;
#[path = "program.rs"]
mod program;

use std::env;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use measure::median;
use serde_json::{Value, json};
use test_support::Fallible;
use test_support::fake_cluster::{FakeBehaviour, FakeCluster, write_kubeconfig};

const MANY: usize = 200;
const KUSTOMIZATIONS: usize = 30;
const ROUNDS: usize = 3;
/// Time that the slow cluster of the second measurement adds to each request.
const SLOWLY: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args_os().filter_map(|word| word.into_string().ok()).skip(1).collect();
    if let Some((measure::CHILD, command)) = arguments.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        return measure::measure(command);
    }
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Fallible<()> {
    let program = program::shipped()?;
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(many(&program))?;
    runtime.block_on(with_a_slow_one(&program))
}

/// A Kustomization of about 2 KB.
fn kustomization(index: usize) -> Value {
    let entries: Vec<Value> =
        (0..20).map(|entry| json!({"id": format!("apps_object-{entry}_apps_Deployment"), "v": "v1"})).collect();
    json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
        "metadata": {"name": format!("app-{index}"), "namespace": "apps", "uid": format!("uid-{index}")},
        "spec": {"interval": "10m", "sourceRef": {"kind": "GitRepository", "name": "apps"}},
        "status": {"conditions": [{"type": "Ready", "status": "True", "reason": "ReconciliationSucceeded",
            "message": "Applied revision: main@sha1:0123", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
            "inventory": {"entries": entries}}})
}

fn cluster(name: &str, behaviour: FakeBehaviour) -> FakeCluster {
    let objects = (0..KUSTOMIZATIONS).map(kustomization).collect();
    FakeCluster::start(name, behaviour, &[("/apis/kustomize.toolkit.fluxcd.io/v1/kustomizations", objects)])
}

/// Median wall time in milliseconds and largest peak memory in MiB of a command line.
async fn measured(program: &Path, kubeconfig: &Path, line: &str) -> Fallible<(f64, f64)> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let (mut times, mut peak) = (vec![], 0.0_f64);
    for _ in 0..ROUNDS {
        let run = measure::once(program, &words, vec![("KUBECONFIG", kubeconfig.into())]).await?;
        times.push(run.milliseconds);
        peak = peak.max(run.mebibytes);
    }
    Ok((median(times), peak))
}

async fn many(program: &Path) -> Fallible<()> {
    let folder = tempfile::tempdir()?;
    let clusters: Vec<(String, FakeCluster)> = (0..MANY)
        .map(|index| format!("c{index:03}"))
        .map(|name| (name.clone(), cluster(&name, FakeBehaviour::Well)))
        .collect();
    let contexts: Vec<(&str, &str)> =
        clusters.iter().map(|(name, one)| (name.as_str(), one.address.as_str())).collect();
    let kubeconfig = write_kubeconfig(folder.path(), &contexts);
    println!("{MANY} clusters with {KUSTOMIZATIONS} Kustomizations each:");
    for line in ["get ks -A", "status", "why -A"] {
        let (time, peak) = measured(program, &kubeconfig, &format!("{line} --contexts *")).await?;
        let (alone, _) = measured(program, &kubeconfig, &format!("{line} --context c000")).await?;
        println!(
            "  {line}: {time:.0} ms, {peak:.0} MiB; one cluster alone {alone:.0} ms, a loop over {MANY} so {:.0} ms",
            alone * MANY as f64
        );
    }
    Ok(())
}

async fn with_a_slow_one(program: &Path) -> Fallible<()> {
    let folder = tempfile::tempdir()?;
    let behaviour = |index: usize| match index {
        3 => FakeBehaviour::Slow(SLOWLY),
        5 => FakeBehaviour::Dead,
        _ => FakeBehaviour::Well,
    };
    let clusters: Vec<(String, FakeCluster)> = (0..20)
        .map(|index| (format!("c{index:02}"), behaviour(index)))
        .map(|(name, behaviour)| (name.clone(), cluster(&name, behaviour)))
        .collect();
    let contexts: Vec<(&str, &str)> =
        clusters.iter().map(|(name, one)| (name.as_str(), one.address.as_str())).collect();
    let kubeconfig = write_kubeconfig(folder.path(), &contexts);
    let (slow, _) = measured(program, &kubeconfig, "get ks -A --contexts c03").await?;
    let (all, _) = measured(program, &kubeconfig, "get ks -A --contexts *").await?;
    println!(
        "20 clusters, one slow by {} s a request and one dead: {all:.0} ms; the slow one alone {slow:.0} ms, ratio {:.2}",
        SLOWLY.as_secs(),
        all / slow
    );
    Ok(())
}
