//! The read commands at scale, beside `kubectl get` on the same objects where kubectl is installed.
//!
//! `cargo bench --bench reads -- 2000 10000` starts a control plane of its own per size, fills it with GitRepositories that
//! have a status, and prints the median wall time of 7 runs, the time to the first line and the peak resident memory of
//! each command. `FLUX_OPERATOR_BIN` names another binary to measure than the one Cargo builds.

#[path = "../tests/support/mod.rs"]
mod support;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use flux_operator::api::crd;
use futures::StreamExt;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use support::flux::install_crds;
use support::programs::unavailable_because;
use support::{ControlPlane, Fallible, Options};

const RUNS: usize = 7;
const NAMESPACE: &str = "apps";

#[tokio::main]
async fn main() -> ExitCode {
    if let Some(reason) = unavailable_because() {
        eprintln!("skipped: {reason}");
        return ExitCode::SUCCESS;
    }
    let mut sizes: Vec<usize> = std::env::args().filter_map(|a| a.parse().ok()).collect();
    if sizes.is_empty() {
        sizes = vec![2000, 10_000];
    }
    for size in sizes {
        if let Err(error) = measure(size).await {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

async fn measure(size: usize) -> Fallible<()> {
    let control_plane = ControlPlane::start_with(Options::api_server_only(), |_| ()).await?;
    fill(&control_plane, size).await?;
    let admin = control_plane.admin("bench")?;
    let binary = std::env::var_os("FLUX_OPERATOR_BIN").map(PathBuf::from);
    let binary = binary.or_else(|| option_env!("CARGO_BIN_EXE_flux-operator").map(PathBuf::from));
    let ours = binary.ok_or("no binary to measure")?;
    println!("\n{size} GitRepositories, median of {RUNS} (resident: peak, polled)");
    println!("{:<58} {:>9} {:>11} {:>9} {:>7}", "command", "wall", "first line", "resident", "lines");
    let gitrepo = ["get", "resources", "gitrepo", "-A"];
    let all = ["get", "resources", "-A"];
    let one = ["get", "resources", "gitrepo", "repo-00007", "-n", NAMESPACE];
    let instance = ["get", "instance", "flux", "-n", NAMESPACE];
    let json = ["get", "resources", "gitrepo", "-A", "-o", "json"];
    let stats = ["stats"];
    for arguments in [&gitrepo[..], &all, &one, &instance, &json, &stats] {
        report("flux-operator", &ours, arguments, admin.path(), &[]);
    }
    let line = ["--", "flux-operator", "-n", NAMESPACE, "trace", "gitrepo/repo-0000"];
    report(
        "flux-operator (complete a name)",
        &ours,
        &line,
        admin.path(),
        &[("COMPLETE", "bash"), ("_CLAP_COMPLETE_INDEX", "4"), ("_CLAP_IFS", "\n")],
    );
    if let Some(kubectl) = find("kubectl") {
        let gitrepo = ["get", "gitrepositories", "-A"];
        let one = ["get", "gitrepository", "repo-00007", "-n", NAMESPACE];
        let instance = ["get", "fluxinstance", "flux", "-n", NAMESPACE];
        let json = ["get", "gitrepositories", "-A", "-o", "json"];
        for arguments in [&gitrepo[..], &one, &instance, &json] {
            report("kubectl", &kubectl, arguments, admin.path(), &[]);
        }
    }
    Ok(())
}

fn find(program: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(program)).find(|path| path.is_file())
}

async fn fill(control_plane: &ControlPlane, size: usize) -> Fallible<()> {
    let client = control_plane.client();
    install_crds(client).await?;
    let definition: DynamicObject = serde_json::from_value(crd::flux_instance())?;
    let definitions: Api<DynamicObject> = Api::all_with(
        client.clone(),
        &ApiResource::from_gvk(&GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition")),
    );
    definitions
        .patch("fluxinstances.fluxcd.controlplane.io", &PatchParams::apply("bench").force(), &Patch::Apply(&definition))
        .await?;
    let objects = |group: &str, version: &str, kind: &str, plural: &str| {
        let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
        Api::<DynamicObject>::namespaced_with(client.clone(), NAMESPACE, &resource)
    };
    let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(client.clone());
    namespaces
        .create(&PostParams::default(), &serde_json::from_value(json!({"metadata": {"name": NAMESPACE}}))?)
        .await?;
    let api = objects("source.toolkit.fluxcd.io", "v1", "GitRepository", "gitrepositories");
    let numbers = futures::stream::iter(0..size).map(|number| create(&api, number));
    let mut done = numbers.buffer_unordered(32);
    while let Some(created) = done.next().await {
        created?;
    }
    let instances = objects("fluxcd.controlplane.io", "v1", "FluxInstance", "fluxinstances");
    let instance = json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance", "metadata": {"name": "flux"},
        "spec": {"distribution": {"version": "2.x", "registry": "ghcr.io/fluxcd"}}});
    let instance: DynamicObject = serde_json::from_value(instance)?;
    support::eventually("the instance", Duration::from_secs(20), || async {
        instances.create(&PostParams::default(), &instance).await.ok()
    })
    .await?;
    Ok(())
}

async fn create(api: &Api<DynamicObject>, number: usize) -> Fallible<()> {
    let name = format!("repo-{number:05}");
    let object: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
        "metadata": {"name": name, "labels": {"team": format!("team-{}", number % 7)}},
        "spec": {"url": format!("https://git.example.com/org/{name}"), "interval": "10m", "ref": {"branch": "main"}, "timeout": "60s"},
    }))?;
    api.create(&PostParams::default(), &object).await?;
    let commit = format!("{number:040x}");
    let condition = |kind: &str| -> Value {
        json!({"type": kind, "status": "True", "reason": "Succeeded", "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z",
            "message": format!("stored artifact for revision 'main@sha1:{commit}'")})
    };
    let status = json!({"status": {
        "observedGeneration": 1, "conditions": [condition("Ready"), condition("ArtifactInStorage")],
        "artifact": {"digest": format!("sha256:{number:064x}"), "lastUpdateTime": "2026-01-01T00:00:00Z", "size": 12345,
            "path": format!("gitrepository/apps/{name}/{commit}.tar.gz"), "revision": format!("main@sha1:{commit}"),
            "url": format!("http://source-controller.flux-system.svc.cluster.local./gitrepository/apps/{name}/{commit}.tar.gz")},
    }});
    api.patch_status(&name, &PatchParams::default(), &Patch::Merge(&status)).await?;
    Ok(())
}

#[derive(Clone, Copy)]
struct Sample {
    wall: Duration,
    first_line: Duration,
    resident_kib: u64,
    lines: usize,
}

fn report(name: &str, program: &Path, arguments: &[&str], kubeconfig: &Path, variables: &[(&str, &str)]) {
    let mut samples: Vec<Sample> =
        (0..RUNS).filter_map(|_| sample(program, arguments, kubeconfig, variables)).collect();
    samples.sort_by_key(|s| s.wall);
    let Some(median) = samples.get(samples.len() / 2).copied() else {
        println!("{name}: cannot be run");
        return;
    };
    let resident = samples.iter().map(|s| s.resident_kib).max().unwrap_or_default();
    let words = if variables.is_empty() { format!("{name} {}", arguments.join(" ")) } else { name.to_owned() };
    let milliseconds = |d: Duration| format!("{:.1} ms", d.as_secs_f64() * 1000.0);
    println!(
        "{words:<58} {:>9} {:>11} {:>5} MiB {:>7}",
        milliseconds(median.wall),
        milliseconds(median.first_line),
        resident / 1024,
        median.lines
    );
}

fn sample(program: &Path, arguments: &[&str], kubeconfig: &Path, variables: &[(&str, &str)]) -> Option<Sample> {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env("KUBECONFIG", kubeconfig)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command.envs(variables.iter().copied());
    let start = Instant::now();
    let mut child = command.spawn().ok()?;
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    // The peak only grows, so the last reading before the end is the peak but for the last half millisecond.
    let watcher = std::thread::spawn(move || {
        let mut peak = 0;
        while let Ok(text) = std::fs::read_to_string(&status) {
            let line = text.lines().find_map(|l| l.strip_prefix("VmHWM:"));
            let Some(value) = line.and_then(|l| l.trim().trim_end_matches(" kB").parse::<u64>().ok()) else { break };
            peak = peak.max(value);
            std::thread::sleep(Duration::from_micros(500));
        }
        peak
    });
    let mut stdout = child.stdout.take()?;
    let mut bytes = vec![0u8; 65_536];
    let mut first_line = None;
    let mut lines = 0;
    while let Ok(count) = stdout.read(&mut bytes) {
        if count == 0 {
            break;
        }
        first_line.get_or_insert_with(|| start.elapsed());
        lines += bytes.get(..count)?.iter().filter(|b| **b == b'\n').count();
    }
    child.wait().ok()?;
    let wall = start.elapsed();
    Some(Sample { wall, first_line: first_line.unwrap_or(wall), resident_kib: watcher.join().ok()?, lines })
}
