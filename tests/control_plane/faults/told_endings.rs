//! "nothing was changed" is said only when it is so: every command that writes, ended by each signal at each of its
//! requests, and the audit log has the last word.

use std::process::Stdio;
use std::time::Duration;

use serde_json::json;

use crate::cluster_tests;
use crate::reconcile::world::*;
use crate::support::run::Run;
use crate::support::runner::command;
use crate::support::{ClusterTest, Fault, FaultProxy, FaultRule, Options, TestCluster, eventually};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        a_command_that_says_nothing_was_changed_has_changed_nothing,
        what_was_written_is_told_while_something_else_is_still_asked,
        a_run_that_stood_still_past_its_lease_writes_nothing_when_it_goes_on,
    ]
}

const SIGNALS: [&str; 3] = ["INT", "TERM", "HUP"];
/// How long the request stands still in whose middle the signal comes.
const STANDS_STILL: Duration = Duration::from_millis(600);

/// Command lines that write, each of them repeatable; those of a run in this process have many requests, so of theirs only
/// every twelfth is tried, up to the seventieth.
const COMMANDS: [(&str, usize); 10] = [
    ("create secret basic-auth auth --username git --password-stdin", 1),
    ("create secret basic-auth auth --username git --password-stdin --replace", 1),
    ("apply instance -f flux.yaml --wait=false", 1),
    ("reconcile instance --wait=false", 1),
    ("suspend instance", 1),
    ("resume instance --wait=false", 1),
    ("reconcile instance --in-process", 12),
    ("apply instance -f small.yaml --in-process", 12),
    ("rollback instance --yes --in-process", 12),
    ("uninstall instance --in-process --yes", 12),
];

async fn a_command_that_says_nothing_was_changed_has_changed_nothing(cluster: TestCluster) {
    let world = World::with(&cluster, Options::api_server_only()).await;
    let instance = |size: &str| {
        let mut spec = spec("2.9.x");
        (spec["wait"], spec["cluster"]) = (json!(false), json!({"size": size}));
        json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
            "metadata": {"name": "flux", "namespace": NAMESPACE}, "spec": spec})
    };
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("flux.yaml"), instance("large").to_string()).unwrap();
    std::fs::write(home.path().join("small.yaml"), instance("small").to_string()).unwrap();
    for size in ["medium", "large"] {
        world.instance(instance(size)["spec"].clone()).await;
        world.ready().await;
    }
    let user = "interrupted";
    let proxy = FaultProxy::start(&world.plane.admin(user).unwrap(), world.plane.folder()).await.unwrap();
    let (mut unchanged, mut told) = (0, 0);
    for (line, step) in COMMANDS {
        let mut signals = SIGNALS.iter().cycle();
        let mut at = 1;
        'requests: while at < 70 {
            // Each of the signals where requests are few; in turn where they are many.
            for _ in 0..if step == 1 { SIGNALS.len() } else { 1 } {
                let signal = signals.next().unwrap();
                proxy.clear_rules();
                let before = proxy.requests().len();
                proxy.add_rule(FaultRule::nth(at, Fault::Delay(STANDS_STILL)));
                let mark = world.plane.audit().mark().await.unwrap();
                let Some(run) = interrupted(&proxy, home.path(), line, before + at, signal).await else {
                    break 'requests;
                };
                let place = format!("{line}, {signal} at request {at}: {}", run.stderr);
                let writes = world.plane.audit().since(mark).await.unwrap().by_user(user).writes();
                // The lease is how two of us keep apart; it is given back, and no object of anybody's.
                let changed =
                    writes.only(|one| one.status < 300 && one.resource != "leases" && !one.uri.contains("dryRun"));
                if run.stderr.contains("nothing was changed") {
                    unchanged += 1;
                    assert!(changed.is_empty(), "{place}\n{:?}", changed.table());
                } else if run.code == 130 {
                    told += 1;
                    assert!(run.stderr.contains("interrupted"), "{place}");
                }
                assert!(matches!(run.code, 0 | 130), "{place}");
            }
            at += step;
        }
    }
    assert!(unchanged > 20 && told > 5, "{unchanged} said that nothing was changed, {told} something else");
}

async fn what_was_written_is_told_while_something_else_is_still_asked(cluster: TestCluster) {
    let world = World::with(&cluster, Options::api_server_only()).await;
    let mut spec = spec("2.9.x");
    spec["wait"] = false.into();
    world.instance(spec.clone()).await;
    world.ready().await;
    let manifest = json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
        "metadata": {"name": "flux", "namespace": NAMESPACE, "labels": {"team": "platform"}}, "spec": spec});
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("flux.yaml"), manifest.to_string()).unwrap();
    let proxy = FaultProxy::start(&world.plane.admin("beside").unwrap(), world.plane.folder()).await.unwrap();
    // Whether an operator is there is asked beside the write, and this time the answer takes long.
    proxy.add_rule(FaultRule::every(Fault::Delay(Duration::from_secs(20))).uri(|uri| uri.contains("/deployments")));
    let mut command = command(proxy.kubeconfig().path(), home.path());
    command.args(["apply", "-f", "flux.yaml", "--wait=false"]).current_dir(home.path());
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let stored = || async {
        let instance = world.get("fluxcd.controlplane.io/v1", "FluxInstance", NAMESPACE, "flux").await?;
        (instance["metadata"]["labels"]["team"] == "platform").then_some(())
    };
    eventually("the instance to be stored", Duration::from_secs(20), stored).await.unwrap();
    std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = tokio::task::spawn_blocking(move || child.wait_with_output()).await.unwrap().unwrap();
    let run = Run::from(output).exits(130).stderr_has("may have been carried out");
    assert!(!run.stderr.contains("nothing was changed"), "{}", run.stderr);
}

async fn a_run_that_stood_still_past_its_lease_writes_nothing_when_it_goes_on(cluster: TestCluster) {
    let world = World::with(&cluster, Options::api_server_only()).await;
    let mut spec = spec("2.9.x");
    (spec["wait"], spec["cluster"]) = (json!(false), json!({"size": "large"}));
    world.instance(spec.clone()).await;
    world.ready().await;
    spec["cluster"]["size"] = "small".into();
    let manifest = json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
        "metadata": {"name": "flux", "namespace": NAMESPACE}, "spec": spec});
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("flux.yaml"), manifest.to_string()).unwrap();
    let user = "stopped";
    let proxy = FaultProxy::start(&world.plane.admin(user).unwrap(), world.plane.folder()).await.unwrap();
    let is_deployment = |uri: &str| uri.contains("/deployments/") && !uri.contains("dryRun");
    proxy.add_rule(FaultRule::every(Fault::Delay(STANDS_STILL)).method("PATCH").uri(is_deployment));
    let mut command = command(proxy.kubeconfig().path(), home.path());
    command
        .args(["apply", "instance", "-f", "flux.yaml", "--in-process", "--force-conflicts"])
        .current_dir(home.path());
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = child.id().to_string();
    let signal = |name: &str| std::process::Command::new("kill").args([name, &pid]).status().unwrap();
    let applies = || async { (proxy.count("PATCH", is_deployment) > 0).then_some(()) };
    if eventually("a Deployment", Duration::from_secs(20), applies).await.is_err() {
        signal("-KILL");
        let output = child.wait_with_output().unwrap();
        panic!("no Deployment was applied: {}", String::from_utf8_lossy(&output.stderr));
    }
    // Ctrl-Z, and `fg` when the lease of 15 s is over.
    signal("-STOP");
    tokio::time::sleep(Duration::from_secs(17)).await;
    let mark = world.plane.audit().mark().await.unwrap();
    signal("-CONT");
    let output = tokio::task::spawn_blocking(move || child.wait_with_output()).await.unwrap().unwrap();
    let run = Run::from(output).stderr_has("lease");
    assert_ne!(run.code, 0, "{}", run.stderr);
    let writes = world.plane.audit().since(mark).await.unwrap().by_user(user).writes();
    let others = writes.only(|request| request.resource != "leases" && request.status < 400);
    assert!(others.is_empty(), "{:?}\n{}", others.table(), run.stderr);
}

/// Runs the command and sends the signal as soon as its request arrives; `None` when it ends before it sends that many.
async fn interrupted(
    proxy: &FaultProxy,
    home: &std::path::Path,
    line: &str,
    request: usize,
    signal: &str,
) -> Option<Run> {
    let mut command = command(proxy.kubeconfig().path(), home);
    command.args(line.split(' ')).args(["-n", NAMESPACE]).current_dir(home);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // Commands that read no password do not mind.
    let _ = std::io::Write::write_all(&mut stdin, b"secret\n");
    drop(stdin);
    while proxy.requests().len() < request {
        if child.try_wait().unwrap().is_some() {
            return None;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let pid = child.id().to_string();
    std::process::Command::new("kill").args([&format!("-{signal}"), &pid]).status().unwrap();
    let output = tokio::task::spawn_blocking(move || child.wait_with_output()).await.unwrap().unwrap();
    Some(output.into())
}
