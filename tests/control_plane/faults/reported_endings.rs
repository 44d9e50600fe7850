//! "nothing was changed" is printed only when it is true: every command that writes, ended by each signal at each of its
//! requests, and the audit log has the last word.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::json;
use tokio::sync::watch;

use crate::cluster_tests;
use crate::commands::cluster_objects::finish;
use crate::commands::rbac;
use crate::commands::stage::stage;
use crate::reconcile::world::*;
use crate::support::run::Run;
use crate::support::runner::{command, tries_every_request};
use crate::support::{
    ClusterTest, ControlPlane, Fault, FaultProxy, FaultRule, Kubeconfig, Options, TestCluster, eventually, objects,
};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        a_command_that_says_nothing_was_changed_has_changed_nothing,
        a_run_that_says_nothing_was_changed_has_changed_nothing,
        written_objects_are_reported_while_other_requests_still_run,
        a_run_interrupted_during_a_write_does_not_report_that_nothing_was_changed,
        a_run_that_was_frozen_past_its_lease_writes_nothing_when_it_continues,
        a_run_whose_lease_somebody_takes_ends_at_its_next_renewal,
    ]
}

const SIGNALS: [&str; 3] = ["INT", "TERM", "HUP"];
/// Duration of the frozen request during which the signal arrives.
const STANDS_STILL: Duration = Duration::from_millis(600);

/// The requests at which a line is ended: every `step`-th request, each with the next signal. With `EVERY_REQUEST` in
/// the environment every request, each with every signal, which takes most of an hour.
fn moments(step: usize) -> Box<dyn Iterator<Item = usize> + Send> {
    match tries_every_request() {
        true => Box::new((1..).flat_map(|at| [at; SIGNALS.len()])),
        false => Box::new((1..70).step_by(step)),
    }
}

const RECONCILE: &str = "reconcile instance --in-process";
const APPLY_PLAN: &str = "apply instance --plan made.plan --yes";
/// Runs in this process. They have many requests, so only every ninth is tried, up to the seventieth.
const RUNS: [&str; 5] = [
    RECONCILE,
    "apply instance -f small.yaml --in-process --force-conflicts",
    APPLY_PLAN,
    "rollback instance --yes --in-process",
    "uninstall instance --in-process --yes",
];

/// Command lines besides the writes whose rights are tested; of those with many requests only every n-th is tried.
const MORE: [(&str, usize); 10] = [
    ("create secret basic-auth auth --username git --password-env PASSWORD --replace", 1),
    (rbac::INSTALL, 12),
    (rbac::UNINSTALL_OPERATOR, 6),
    (rbac::INSTALL_WITH, 20),
    (rbac::TAKE_OVER, 20),
    (rbac::DELETE, 2),
    (rbac::DELETE_FILE, 2),
    (rbac::DELETE_SUSPENDED, 1),
    (rbac::ASK_FOR_UNINSTALL, 2),
    (rbac::ASK_FOR_ROLLBACK, 2),
];

/// The endings so far.
struct Endings<'a> {
    plane: &'a ControlPlane,
    proxy: FaultProxy,
    signals: std::iter::Cycle<std::slice::Iter<'static, &'static str>>,
    unchanged: usize,
    reported: usize,
}

impl Endings<'_> {
    const USER: &'static str = "interrupted";

    async fn new(plane: &ControlPlane) -> Endings<'_> {
        let proxy = FaultProxy::start(&plane.admin(Endings::USER).unwrap(), plane.folder()).await.unwrap();
        Endings { plane, proxy, signals: SIGNALS.iter().cycle(), unchanged: 0, reported: 0 }
    }

    /// Ends a run at its request number `at`, and returns whether it changed anything; `None` when it has no such request.
    async fn end(&mut self, line: &str, command: Command, at: usize) -> Option<bool> {
        let signal = self.signals.next().unwrap();
        self.proxy.clear_rules();
        let before = self.proxy.requests().len();
        self.proxy.add_rule(FaultRule::nth(at, Fault::Delay(STANDS_STILL)));
        let mark = self.plane.audit().mark().await.unwrap();
        let run = interrupted(&self.proxy, command, before + at, signal).await?;
        let place = format!("{line}, {signal} at request {at}: {}", run.stderr);
        let writes = self.plane.audit().since(mark).await.unwrap().by_user(Endings::USER).writes();
        // The lease does not count: it only keeps two runs apart, is released at the end, and is not an object of the user.
        let changed = writes.only(|one| {
            let asks = one.resource.starts_with("selfsubject") || one.uri.contains("dryRun");
            one.status < 300 && one.resource != "leases" && !asks
        });
        if run.stderr.contains("nothing was changed") {
            self.unchanged += 1;
            assert!(changed.is_empty(), "{place}\n{:?}", changed.table());
        } else if run.code == 130 {
            self.reported += 1;
            assert!(run.stderr.contains("interrupted"), "{place}");
        }
        assert!(matches!(run.code, 0 | 130), "{place}");
        Some(!changed.is_empty())
    }

    fn happened(&self, unchanged: usize, reported: usize) {
        let counts = format!("{} said that nothing was changed, {} something else", self.unchanged, self.reported);
        eprintln!("{counts}");
        assert!(self.unchanged > unchanged && self.reported > reported, "{counts}");
    }
}

async fn a_command_that_says_nothing_was_changed_has_changed_nothing(cluster: TestCluster) {
    // Every command of `rbac::ALONE` is covered here, too.
    let command = |line: &str| line.split(' ').take(2).map(str::to_owned).collect::<Vec<_>>();
    let is_ended =
        |line: &str| MORE.iter().any(|(more, _)| *more == line) || RUNS.iter().any(|run| command(run) == command(line));
    assert!(rbac::ALONE.iter().all(|line| is_ended(line)), "{:?}", rbac::ALONE);
    let stage = stage(&cluster).await;
    let mut endings = Endings::new(&stage.world.plane).await;
    for (line, step) in rbac::WRITES.iter().map(|line| (*line, 1)).chain(MORE) {
        // Some lines need a cluster without what the previous line has installed.
        if line == rbac::INSTALL || line == rbac::TAKE_OVER {
            stage.as_admin("uninstall instance --in-process --force-in-process --yes").await;
            stage.as_admin(rbac::UNINSTALL_OPERATOR).await;
        }
        for at in moments(step) {
            if line == rbac::UNINSTALL_OPERATOR {
                // The same command completes an interrupted run.
                stage.as_admin(line).await;
            }
            stage.before(line).await;
            let mut command = stage.program(endings.proxy.kubeconfig());
            command.args(stage.words(line));
            if endings.end(line, command, at).await.is_none() {
                break;
            }
        }
    }
    endings.happened(40, 20);
}

async fn a_run_that_says_nothing_was_changed_has_changed_nothing(cluster: TestCluster) {
    // With controllers: without them an uninstall would wait for its deletions, and each renewal of its lease would be
    // one more request to interrupt.
    let world = World::new(&cluster).await;
    let home = tempfile::tempdir().unwrap();
    for size in ["small", "medium", "large"] {
        let mut spec = spec("2.9.x");
        (spec["wait"], spec["cluster"]) = (json!(false), json!({"size": size}));
        let manifest = json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
            "metadata": {"name": "flux", "namespace": NAMESPACE}, "spec": spec});
        std::fs::write(home.path().join(format!("{size}.yaml")), manifest.to_string()).unwrap();
    }
    let program = |kubeconfig: &Kubeconfig, line: &str| {
        let mut command = command(kubeconfig.path(), home.path());
        command.args(line.split(' ')).args(["-n", NAMESPACE]).current_dir(home.path()).stdin(Stdio::null());
        command
    };
    let undisturbed = async |line: &str| finish(program(&world.kubeconfig, line)).await;
    // A rollback takes the spec over from any manager that applied it.
    let apply = async |size: &str| {
        undisturbed(&format!("apply instance -f {size}.yaml --in-process --force-conflicts")).await.exits(0);
    };
    let mut sizes = ["medium", "large"].iter().cycle();
    for _ in 0..2 {
        apply(sizes.next().unwrap()).await;
    }
    let mut endings = Endings::new(&world.plane).await;
    for line in RUNS {
        let (unchanged, reported) = (endings.unchanged, endings.reported);
        let mut is_changed = true;
        for at in moments(9) {
            if is_changed {
                // Each finds the same to do, and a revision to go back to.
                apply(sizes.next().unwrap()).await;
                if line == RECONCILE {
                    world.delete(&world.deployment("source-controller").await).await;
                } else if line == APPLY_PLAN {
                    let _ = std::fs::remove_file(home.path().join("made.plan"));
                    undisturbed("plan instance -f small.yaml --out made.plan").await.exits(1);
                }
            }
            match endings.end(line, program(endings.proxy.kubeconfig(), line), at).await {
                Some(changed) => is_changed = changed,
                None => break,
            }
        }
        let (unchanged, reported) = (endings.unchanged - unchanged, endings.reported - reported);
        assert!(
            unchanged > 0 && reported > 0,
            "{line}: {unchanged} said that nothing was changed, {reported} something else"
        );
    }
    endings.happened(5, 5);
}

async fn written_objects_are_reported_while_other_requests_still_run(cluster: TestCluster) {
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
    // The command looks for an operator in parallel to its write. Here, the answer to that request is slow.
    proxy.add_rule(FaultRule::every(Fault::Delay(Duration::from_secs(20))).uri(|uri| uri.contains("/deployments")));
    let mut command = command(proxy.kubeconfig().path(), home.path());
    command.args(["apply", "-f", "flux.yaml", "--wait=false"]).current_dir(home.path());
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let stored = || async {
        let instance = world.get("fluxcd.controlplane.io/v1", "FluxInstance", NAMESPACE, "flux").await?;
        (instance["metadata"]["labels"]["team"] == "platform").then_some(())
    };
    eventually("the instance to be stored", Duration::from_secs(20), stored).await.unwrap();
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = tokio::task::spawn_blocking(move || child.wait_with_output()).await.unwrap().unwrap();
    let run = Run::from(output).exits(130).stderr_has("may have been carried out");
    assert!(!run.stderr.contains("nothing was changed"), "{}", run.stderr);
}

async fn a_run_interrupted_during_a_write_does_not_report_that_nothing_was_changed(cluster: TestCluster) {
    let world = World::with(&cluster, Options::api_server_only()).await;
    let mut spec = spec("2.9.x");
    spec["wait"] = false.into();
    world.instance(spec.clone()).await;
    world.ready().await;
    spec["cluster"] = json!({"size": "small"});
    let manifest = json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
        "metadata": {"name": "flux", "namespace": NAMESPACE}, "spec": spec});
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("small.yaml"), manifest.to_string()).unwrap();
    let is_status = |uri: &str| uri.contains("/fluxinstances/flux/status");
    let is_instance = |uri: &str| uri.contains("/fluxinstances/flux?") && !uri.contains("dryRun");
    for (line, is_meant) in [
        // Nothing differs: the status is all that is written.
        ("reconcile instance --in-process", is_status as fn(&str) -> bool),
        ("apply instance -f small.yaml --in-process", is_instance),
        ("apply instance -f small.yaml --in-process", is_deployment),
    ] {
        let proxy = FaultProxy::start(&world.plane.admin("slow").unwrap(), world.plane.folder()).await.unwrap();
        // Longer than a run waits for answers that are under way when it is to end.
        proxy.add_rule(FaultRule::every(Fault::Delay(Duration::from_secs(4))).method("PATCH").uri(is_meant));
        let mut command = command(proxy.kubeconfig().path(), home.path());
        command.args(line.split(' ')).args(["-n", NAMESPACE]).current_dir(home.path()).stdin(Stdio::null());
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let sent = || async { (proxy.count("PATCH", is_meant) > 0).then_some(()) };
        eventually("the write", Duration::from_secs(20), sent).await.unwrap();
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        let run = ended(child).await.exits(130);
        assert!(!run.stderr.contains("nothing was changed"), "{line}: {}", run.stderr);
    }
}

/// A large installation, and the file of a small one to apply.
async fn to_be_shrunk(cluster: &TestCluster) -> (World, tempfile::TempDir) {
    let world = World::with(cluster, Options::api_server_only()).await;
    let mut spec = spec("2.9.x");
    (spec["wait"], spec["cluster"]) = (json!(false), json!({"size": "large"}));
    world.instance(spec.clone()).await;
    world.ready().await;
    spec["cluster"]["size"] = "small".into();
    let manifest = json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
        "metadata": {"name": "flux", "namespace": NAMESPACE}, "spec": spec});
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("flux.yaml"), manifest.to_string()).unwrap();
    (world, home)
}

fn is_deployment(uri: &str) -> bool {
    uri.contains("/deployments/") && !uri.contains("dryRun")
}

/// Applies the small instance through the proxy, and returns once the run applies a Deployment.
async fn shrinking(proxy: &FaultProxy, home: &std::path::Path) -> Child {
    let mut command = command(proxy.kubeconfig().path(), home);
    command.args(["apply", "instance", "-f", "flux.yaml", "--in-process", "--force-conflicts"]).current_dir(home);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let applies = || async { (proxy.count("PATCH", is_deployment) > 0).then_some(()) };
    if eventually("a Deployment", Duration::from_secs(20), applies).await.is_err() {
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        panic!("no Deployment was applied: {}", String::from_utf8_lossy(&output.stderr));
    }
    child
}

async fn ended(child: Child) -> Run {
    tokio::task::spawn_blocking(move || child.wait_with_output()).await.unwrap().unwrap().into()
}

async fn a_run_that_was_frozen_past_its_lease_writes_nothing_when_it_continues(cluster: TestCluster) {
    let (world, home) = to_be_shrunk(&cluster).await;
    let user = "stopped";
    let proxy = FaultProxy::start(&world.plane.admin(user).unwrap(), world.plane.folder()).await.unwrap();
    proxy.add_rule(FaultRule::every(Fault::Delay(STANDS_STILL)).method("PATCH").uri(is_deployment));
    let child = shrinking(&proxy, home.path()).await;
    let pid = child.id().to_string();
    let signal = |name: &str| Command::new("kill").args([name, &pid]).status().unwrap();
    // Ctrl-Z, and `fg` when the lease of 15 s is over.
    signal("-STOP");
    tokio::time::sleep(Duration::from_secs(17)).await;
    let mark = world.plane.audit().mark().await.unwrap();
    signal("-CONT");
    let run = ended(child).await.stderr_has("lease");
    assert_ne!(run.code, 0, "{}", run.stderr);
    let writes = world.plane.audit().since(mark).await.unwrap().by_user(user).writes();
    let others = writes.only(|request| request.resource != "leases" && request.status < 400);
    assert!(others.is_empty(), "{:?}\n{}", others.table(), run.stderr);
}

async fn a_run_whose_lease_somebody_takes_ends_at_its_next_renewal(cluster: TestCluster) {
    let (world, home) = to_be_shrunk(&cluster).await;
    let user = "robbed";
    let proxy = FaultProxy::start(&world.plane.admin(user).unwrap(), world.plane.folder()).await.unwrap();
    let (_hold, allowed) = watch::channel(false);
    proxy.add_rule(FaultRule::every(Fault::WaitFor(allowed)).method("PATCH").uri(is_deployment));
    let child = shrinking(&proxy, home.path()).await;
    // All other requests have been carried out.
    let stage = || async {
        let status = json!(world.read_instance().await.status);
        status.to_string().contains("Applying").then_some(())
    };
    eventually("the stage in the status", Duration::from_secs(20), stage).await.unwrap();
    let lease = id("coordination.k8s.io/v1", "Lease", NAMESPACE, "flux-operator");
    let taken = json!({"spec": {"holderIdentity": "thief", "renewTime":
        objects::micro_time(jiff::Timestamp::now())}});
    world.patch_as("thief", &lease, taken).await;
    let before = world.read_instance().await;
    let mark = world.plane.audit().mark().await.unwrap();
    // Its next renewal shows it, after a third of 15 s.
    let run = tokio::time::timeout(Duration::from_secs(14), ended(child)).await.expect("it does not wait for answers");
    run.exits(1).stderr_has("lost lease/flux-system/flux-operator: another reconciler took it");
    let writes = world.plane.audit().since(mark).await.unwrap().by_user(user).writes();
    let others = writes.only(|request| request.resource != "leases" || request.status < 300);
    assert!(others.is_empty(), "{:#?}", others.0);
    // The run does not write its end to the status, because another process holds the lease and owns the status by now.
    assert_eq!(world.read_instance().await.metadata.resource_version, before.metadata.resource_version);
    let left = world.cluster.read(&lease).await.unwrap().unwrap();
    assert_eq!(left["spec"]["holderIdentity"], "thief");
}

/// Runs the command and sends the signal as soon as its request arrives; `None` when it ends before it sends that many.
async fn interrupted(proxy: &FaultProxy, mut command: Command, request: usize, signal: &str) -> Option<Run> {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while proxy.requests().len() < request {
        if child.try_wait().unwrap().is_some() {
            return None;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let pid = child.id().to_string();
    Command::new("kill").args([&format!("-{signal}"), &pid]).status().unwrap();
    let output = tokio::task::spawn_blocking(move || child.wait_with_output()).await.unwrap().unwrap();
    Some(output.into())
}
