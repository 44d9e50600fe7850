//! Output, requests and failures of the read commands on a cluster.

use std::io::Read;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cluster_tests;
use crate::inspect::world::{Run, SOON, install, instance, run};
use crate::reconcile::world::{NAMESPACE, World, spec};
use crate::support::proxy::Seen;
use crate::support::runner::{ClusterTest, command};
use crate::support::{Fault, FaultProxy, FaultRule, IN_TIME, TestCluster, allow, eventually, objects};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        an_installation_is_shown_as_it_is,
        drift_and_missing_objects_are_reported,
        a_list_is_one_request_in_order_and_goes_on_where_it_was_cut,
        labels_and_readiness_filter_a_cluster_too,
        a_watched_list_appends_what_changes,
        a_watched_list_reports_deletions,
        a_watched_tree_is_drawn_again_when_an_object_comes_or_goes,
        a_list_that_may_not_be_watched_is_refused_with_the_right_that_is_missing,
        a_terminal_is_redrawn_and_an_interrupt_ends_with_130,
        a_dumb_terminal_gets_lines_of_what_is_watched_until_its_time_is_up,
        denied_kinds_are_named_and_end_with_5_when_nothing_is_left,
        a_server_that_stays_silent_is_given_up_in_time,
        live_names_complete_and_a_silent_server_completes_nothing,
        checks_pass_before_and_after_an_installation,
        changes_of_the_next_minor_version_are_reported_for_a_cluster,
        independent_requests_are_sent_at_once,
    ]
}

async fn installed(cluster: &TestCluster) {
    install(cluster, &instance(cluster, json!({"wait": true}))).await.exits(0);
}

fn git(name: &str, label: &str) -> Value {
    json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
        "metadata": {"name": name, "labels": {"team": label}},
        "spec": {"url": "https://git.example.com/x", "interval": "1h"}})
}

async fn an_installation_is_shown_as_it_is(cluster: TestCluster) {
    installed(&cluster).await;
    run(&cluster, &["get", "instance"]).await.exits(0).stdout_has("flux   v2.9.4");
    let components = run(&cluster, &["get", "components", "-o", "json"]).await.exits(0).json();
    let component = &components["items"][0];
    assert_eq!((component["readyPods"].as_i64(), component["status"].as_str()), (Some(1), Some("Current")));
    assert_eq!(component["extraArgs"].as_array().map(Vec::len), Some(0), "{component:#}");
    let history = run(&cluster, &["get", "history", "-o", "json"]).await.exits(0).json();
    assert_eq!(history["items"][0]["status"], "ReconciliationSucceeded");
    let tree = run(&cluster, &["tree", "instance"]).await.exits(0);
    let tree = tree.stdout_has(&format!("Deployment/{}/source-controller", cluster.namespace()));
    tree.stdout_has("│   └── Pod/").stdout_has("CustomResourceDefinition/gitrepositories.source.toolkit.fluxcd.io");
    run(&cluster, &["trace", "deployment/source-controller"]).await.exits(0).stdout_has("FluxInstance/");
    run(&cluster, &["events"]).await.exits(0).stdout_has("ReconciliationSucceeded");
    run(&cluster, &["version"]).await.exits(0).stdout_has("kubernetes: v1.36.3").stdout_has("distribution: v2.9.4");
    run(&cluster, &["export", "report"]).await.exits(0).stdout_has("version: v2.9.4").stdout_has("nodes: 1");
}

async fn drift_and_missing_objects_are_reported(cluster: TestCluster) {
    installed(&cluster).await;
    let namespace = cluster.namespace();
    let unchanged = run(&cluster, &["get", "inventory", "-o", "json"]).await.exits(0).json();
    // Other tests' instances share the definitions and may have labelled them by now.
    let own = |value: &Value| -> Vec<(String, String)> {
        let items = value["items"].as_array().expect("items").iter();
        items
            .filter(|i| i["namespace"] == namespace)
            .map(|i| (i["name"].as_str().unwrap().to_owned(), i["drift"].as_str().unwrap().to_owned()))
            .collect()
    };
    assert!(own(&unchanged).iter().all(|(_, drift)| drift == "none"), "{:?}", own(&unchanged));
    let scale = json!({"spec": {"replicas": 3}});
    let deployments = objects::api(&cluster.client(), "apps/v1", "Deployment", namespace).await.expect("served");
    deployments.patch("source-controller", &Default::default(), &kube::api::Patch::Merge(scale)).await.expect("scaled");
    let services = objects::api(&cluster.client(), "v1", "Service", namespace).await.expect("served");
    services.delete("source-controller", &Default::default()).await.expect("deleted");
    let changed = run(&cluster, &["get", "inventory", "-o", "json"]).await.exits(0).json();
    let changed = own(&changed).into_iter().filter(|(_, drift)| drift != "none").collect::<Vec<_>>();
    let expected =
        [("source-controller", "missing"), ("source-controller", "drifted")].map(|(a, b)| (a.to_owned(), b.to_owned()));
    assert_eq!(changed, expected);
    run(&cluster, &["get", "inventory", "-o", "wide"]).await.exits(0).stdout_has("spec.replicas");
}

async fn a_list_is_one_request_in_order_and_goes_on_where_it_was_cut(cluster: TestCluster) {
    installed(&cluster).await;
    let names: Vec<String> = (0..620).map(|i| format!("repo-{i:04}")).collect();
    let all: Vec<Value> = names.iter().map(|name| git(name, "a")).collect();
    for part in all.chunks(155) {
        cluster.apply(part).await;
    }
    let mark = cluster.mark().await;
    let listed = run(&cluster, &["get", "resources", "gitrepo", "-o", "name"]).await.exits(0).stdout;
    let shown: Vec<&str> = listed.lines().filter_map(|l| l.split('/').nth(1)).collect();
    assert_eq!(shown, names);
    let requests = cluster.requests_since(mark).await;
    assert_eq!(requests.count("list", "gitrepositories"), 1, "{:?}", requests.table());
    assert_eq!(requests.len(), 1, "nothing else is asked: {:?}", requests.table());
    // None of them is ready, and what explains that is read for all of them at once.
    let mark = cluster.mark().await;
    run(&cluster, &["get", "gitrepo"]).await.exits(0);
    let requests = cluster.requests_since(mark).await;
    assert_eq!(requests.count("list", "gitrepositories"), 2, "{:?}", requests.table());
    assert!(requests.len() <= 6, "{:?}", requests.table());
    // Cut at different places: what has been printed is not printed again.
    let proxy = cluster.proxy().await;
    let lists = |uri: &str| uri.contains("/gitrepositories");
    proxy.add_rule(FaultRule::nth(1, Fault::CutWithin { bytes: 1_000 }).uri(lists));
    proxy.add_rule(FaultRule::nth(2, Fault::CutWithin { bytes: 45_000 }).uri(lists));
    let mut cut = command(proxy.kubeconfig().path(), cluster.folder());
    cut.args(["get", "resources", "gitrepo", "-o", "name"]).stdin(Stdio::null());
    let output = tokio::task::spawn_blocking(move || cut.output()).await.expect("joined").expect("runs");
    assert_eq!(Run::from(output).exits(0).stdout, listed);
    assert_eq!(proxy.count("GET", lists), 3);
}

async fn labels_and_readiness_filter_a_cluster_too(cluster: TestCluster) {
    installed(&cluster).await;
    cluster.apply(&[git("one", "a"), git("two", "b"), git("three", "c")]).await;
    let selected =
        run(&cluster, &["get", "resources", "gitrepo", "-l", "team in (a,b)", "-L", "team", "--no-headers"]).await;
    assert_eq!(selected.exits(0).stdout.lines().count(), 2);
    let unknown = run(&cluster, &["get", "all", "--ready-status", "Unknown", "-o", "name"]).await.exits(0).stdout;
    assert_eq!(unknown.lines().count(), 3, "{unknown}");
    run(&cluster, &["get", "resources", "gitrepo", "tow"]).await.exits(3).stderr_has("did you mean two?");
    // Existing objects are shown beside errors for missing ones, and a name is found in any namespace.
    let some = run(&cluster, &["get", "gitrepo", "two", "nope", "neither"]).await.exits(3);
    some.stdout_has("two").stderr_has("nope not found").stderr_has("neither not found");
    run(&cluster, &["-n", "default", "get", "gitrepo", "two", "-A", "-o", "name"]).await.exits(0).stdout_has("/two");
    let elsewhere = run(&cluster, &["-n", "default", "get", "resources", "gitrepo/two"]).await.exits(3);
    elsewhere.stderr_has(&format!("two is in namespace {}", cluster.namespace()));
    run(&cluster, &["-n", "default", "get", "instance"]).await.exits(0).stderr_has("there is one in namespace");
}

/// A command that goes on, and what it has printed so far.
struct GoingOn {
    child: Child,
    printed: Arc<Mutex<String>>,
}

impl GoingOn {
    fn start(cluster: &TestCluster, arguments: &[&str]) -> Self {
        let mut command = cluster.command();
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("starts");
        let printed = Arc::new(Mutex::new(String::new()));
        let streams: [Box<dyn Read + Send>; 2] =
            [Box::new(child.stdout.take().expect("piped")), Box::new(child.stderr.take().expect("piped"))];
        for mut stream in streams {
            let printed = printed.clone();
            std::thread::spawn(move || {
                let mut bytes = [0u8; 4096];
                while let Ok(count @ 1..) = stream.read(&mut bytes) {
                    printed.lock().expect("whole").push_str(&String::from_utf8_lossy(&bytes[..count]));
                }
            });
        }
        GoingOn { child, printed }
    }

    fn printed(&self) -> String {
        self.printed.lock().expect("whole").clone()
    }

    async fn prints(&self, text: &str) {
        let probe = || async { self.printed().contains(text).then_some(()) };
        eventually(text, SOON, probe).await.unwrap_or_else(|error| panic!("{error}: {}", self.printed()));
    }

    /// Ends it and returns all it has printed.
    fn end(mut self) -> String {
        self.child.kill().expect("killed");
        self.child.wait().expect("ended");
        self.printed()
    }
}

async fn delete_git(cluster: &TestCluster, name: &str) {
    let api =
        objects::api(&cluster.client(), "source.toolkit.fluxcd.io/v1", "GitRepository", cluster.namespace()).await;
    api.expect("served").delete(name, &Default::default()).await.expect("deleted");
}

async fn a_watched_list_appends_what_changes(cluster: TestCluster) {
    installed(&cluster).await;
    cluster.apply(&[git("first", "a")]).await;
    let watch = GoingOn::start(&cluster, &["get", "resources", "gitrepo", "-w", "-o", "name"]);
    watch.prints("/first\n").await;
    cluster.apply(&[git("second", "a")]).await;
    watch.prints("/second\n").await;
    let whole = watch.end();
    assert_eq!(whole.matches("/first\n").count(), 1, "an unchanged row is not repeated: {whole}");
}

async fn a_watched_list_reports_deletions(cluster: TestCluster) {
    installed(&cluster).await;
    cluster.apply(&[git("stays", "a"), git("goes", "a")]).await;
    let watch = GoingOn::start(&cluster, &["get", "gitrepo", "-w"]);
    let named = GoingOn::start(&cluster, &["get", "gitrepo", "goes", "-w"]);
    watch.prints("stays").await;
    named.prints("goes").await;
    delete_git(&cluster, "goes").await;
    watch.prints("goes in namespace").await;
    watch.prints("Deleted").await;
    named.prints("Deleted").await;
    named.end();
    let whole = watch.end();
    assert_eq!(whole.matches("stays").count(), 1, "an unchanged row is not repeated: {whole}");
    let row = whole.lines().find(|line| line.contains("Deleted")).expect("a row");
    assert!(row.starts_with("goes"), "{row}");
}

async fn a_watched_tree_is_drawn_again_when_an_object_comes_or_goes(cluster: TestCluster) {
    installed(&cluster).await;
    cluster.apply(&[git("first", "a")]).await;
    let all = GoingOn::start(&cluster, &["tree", "gitrepo", "-w", "-o", "name"]);
    let mut one = GoingOn::start(&cluster, &["tree", "gitrepo/first", "-w", "-o", "name", "-vv"]);
    all.prints("/first\n").await;
    one.prints("/first\n").await;
    cluster.apply(&[git("second", "a")]).await;
    all.prints("/first\ngitrepository.source.toolkit.fluxcd.io/second\n").await;
    delete_git(&cluster, "first").await;
    all.prints("/second\ngitrepository.source.toolkit.fluxcd.io/second\n").await;
    all.end();
    // The named object was deleted.
    let mut exit = None;
    for _ in 0..SOON.as_millis() / 100 {
        exit = one.child.try_wait().expect("asked");
        if exit.is_some() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(exit.and_then(|exit| exit.code()), Some(3), "{}", one.printed());
    assert!(one.printed().contains("/first not found"), "{}", one.printed());
}

async fn a_list_that_may_not_be_watched_is_refused_with_the_right_that_is_missing(cluster: TestCluster) {
    installed(&cluster).await;
    cluster.apply(&[git("seen", "a")]).await;
    let namespace = cluster.namespace().to_owned();
    let rules = [allow(&["list"], "source.toolkit.fluxcd.io", &["gitrepositories"])];
    let user = cluster.user(&format!("lister-{namespace}"), Some(&namespace), &rules).await.expect("a user");
    let user = user.with_namespace(&namespace).expect("a namespace");
    let mut watch = command(user.path(), cluster.folder());
    watch.args(["get", "gitrepo", "-w", "--timeout", "30s"]).stdin(Stdio::null());
    let output = tokio::task::spawn_blocking(move || watch.output()).await.expect("joined").expect("runs");
    // The readable objects are shown, and nothing would change afterwards.
    Run::from(output).exits(5).stdout_has("seen").stderr_has("is not allowed to watch gitrepositories");
}

async fn a_terminal_is_redrawn_and_an_interrupt_ends_with_130(cluster: TestCluster) {
    installed(&cluster).await;
    cluster.apply(&[git("first", "a")]).await;
    let command = cluster.command();
    let binary = command.get_program().to_string_lossy().into_owned();
    let script = format!("trap : INT; stty cols 80 rows 24; {binary} get resources gitrepo -w; echo \"rc=$?\"");
    let mut shell = std::process::Command::new("bash");
    shell.args(["-c", &script]).env_clear().env("TERM", "xterm-256color");
    shell.envs(command.get_envs().filter_map(|(key, value)| Some((key, value?))));
    let work = tokio::task::spawn_blocking(move || {
        let mut session = rexpect::session::spawn_command(shell, Some(20_000)).expect("a terminal");
        session.exp_string("first").expect("the first list");
        session
    });
    let mut session = work.await.expect("joined");
    cluster.apply(&[git("second", "a")]).await;
    let work = tokio::task::spawn_blocking(move || {
        // The whole list again, from the top of the screen.
        session.exp_string("\u{1b}[H").expect("the screen is drawn again");
        session.exp_string("first").expect("the old row");
        session.exp_string("second").expect("the new row");
        session.send_control('c').expect("sent");
        session.exp_string("rc=").expect("the end");
        session.read_line().expect("a code").trim().to_owned()
    });
    assert_eq!(work.await.expect("joined"), "130");
}

async fn a_dumb_terminal_gets_lines_of_what_is_watched_until_its_time_is_up(cluster: TestCluster) {
    installed(&cluster).await;
    cluster.apply(&[git("seen", "a")]).await;
    let views = [("get gitrepo", "seen"), ("tree gitrepo seen", "seen"), ("status", "GitRepository"), ("logs", "")];
    for (view, shown) in views {
        let command = cluster.command();
        let binary = command.get_program().to_string_lossy().into_owned();
        let goes_on = if view == "logs" { "--follow" } else { "--watch" };
        let mut shell = std::process::Command::new("bash");
        shell.args(["-c", &format!("{binary} {view} {goes_on} --timeout 5s; echo \"rc=$?\"")]);
        shell.env_clear().env("TERM", "dumb");
        shell.envs(command.get_envs().filter_map(|(key, value)| Some((key, value?))));
        let work = tokio::task::spawn_blocking(move || {
            let mut session = rexpect::session::spawn_command(shell, Some(20_000)).expect("a terminal");
            session.exp_eof().expect("it ends by itself")
        });
        let text = work.await.expect("joined");
        // The status is that of the whole cluster, where objects of other tests fail.
        let code = if view == "status" { "7" } else { "0" };
        let ended = ["rc=0\r\n", &format!("rc={code}\r\n")].iter().any(|end| text.ends_with(end));
        assert!(text.contains(shown) && ended && !text.contains('\u{1b}'), "{view}: {text:?}");
    }
}

async fn denied_kinds_are_named_and_end_with_5_when_nothing_is_left(cluster: TestCluster) {
    installed(&cluster).await;
    cluster.apply(&[git("seen", "a")]).await;
    let namespace = cluster.namespace().to_owned();
    let rules = [allow(&["list", "get"], "source.toolkit.fluxcd.io", &["gitrepositories"])];
    let user = cluster.user(&format!("reader-{namespace}"), Some(&namespace), &rules).await.expect("a user");
    let user = user.with_namespace(&namespace).expect("a namespace");
    let ask = |arguments: &[&str]| -> Run {
        let mut command = command(user.path(), cluster.folder());
        let output = command.args(arguments).stdin(Stdio::null()).output().expect("runs");
        output.into()
    };
    ask(&["get", "all"]).exits(0).stdout_has("seen").stderr_has("not allowed to list");
    ask(&["get", "instance"]).exits(5).stderr_has("fluxinstances");
    ask(&["get", "resources", "ks"]).exits(5);
    ask(&["version"]).exits(0).stdout_has("client").stderr_has("is not allowed to list fluxinstances");
    // Suspended objects of a readable kind are shown without any claim about the other kinds.
    for line in [&["get", "suspended"][..], &["resume", "--overdue"]] {
        ask(line).exits(5);
    }
    let mut asleep = git("asleep", "a");
    asleep["spec"]["suspend"] = true.into();
    cluster.apply(&[asleep]).await;
    ask(&["get", "suspended"]).exits(0).stdout_has("asleep").stderr_has("kustomizations.kustomize.toolkit.fluxcd.io");
    let overdue = ask(&["resume", "--overdue"]).exits(0).stderr_has("nothing is overdue");
    overdue.stderr_has("kustomizations.kustomize.toolkit.fluxcd.io");
    // A single warning for all kinds in one place.
    let place = format!(" in namespace {namespace}");
    for view in ["why", "what-changed", "stats", "status"] {
        let stderr = ask(&["-n", &namespace, view]).stderr_has("helmreleases.helm.toolkit.fluxcd.io").stderr;
        let warnings =
            stderr.lines().filter(|line| line.contains(" is not allowed to list ") && line.ends_with(&place));
        assert_eq!(warnings.count(), 1, "{view}: {stderr}");
    }
    let revision = ["wait", "revision", "main@sha1:0123456789012345678901234567890123456789", "--timeout", "60s"];
    ask(&revision).exits(5).stderr_has("is not allowed to list");
    ask(&["check", "--pre"]).exits(1).stdout_has("✗ patch namespaces: not allowed");
}

async fn a_server_that_stays_silent_is_given_up_in_time(cluster: TestCluster) {
    let proxy = cluster.proxy().await;
    proxy.add_rule(FaultRule::every(Fault::Hang));
    let start = Instant::now();
    let mut silent = command(proxy.kubeconfig().path(), cluster.folder());
    silent.args(["get", "instance", "--timeout", "3"]).stdin(Stdio::null());
    let output = tokio::task::spawn_blocking(move || silent.output()).await.expect("joined").expect("runs");
    assert_eq!(output.status.code(), Some(7), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(start.elapsed() < IN_TIME, "{:?}", start.elapsed());
}

/// Asks for candidates as the bash script does.
async fn complete(kubeconfig: &std::path::Path, home: &std::path::Path, words: &[&str]) -> (Vec<String>, Duration) {
    let mut shell = command(kubeconfig, home);
    shell.env("COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", (words.len() - 1).to_string());
    shell.env("_CLAP_IFS", "\n").arg("--").args(words).stdin(Stdio::null());
    let start = Instant::now();
    let output = tokio::task::spawn_blocking(move || shell.output()).await.expect("joined").expect("runs");
    let lines = String::from_utf8(output.stdout).expect("UTF-8").lines().map(str::to_owned).collect();
    (lines, start.elapsed())
}

async fn live_names_complete_and_a_silent_server_completes_nothing(cluster: TestCluster) {
    installed(&cluster).await;
    cluster.apply(&[git("podinfo", "a")]).await;
    let path = cluster.kubeconfig().path();
    let ask = |words: &'static [&'static str]| complete(path, cluster.folder(), words);
    assert_eq!(ask(&["flux-operator", "get", "instance", "fl"]).await.0, ["flux"]);
    for words in [
        &["flux-operator", "tree", "instance", ""][..],
        &["flux-operator", "why", "instance", ""],
        &["flux-operator", "reconcile", "instance", ""],
    ] {
        assert_eq!(ask(words).await.0, ["flux"], "{words:?}");
    }
    assert_eq!(ask(&["flux-operator", "trace", "gitrepo/po"]).await.0, ["gitrepo/podinfo"]);
    assert_eq!(ask(&["flux-operator", "events", "--for", "gitrepo/po"]).await.0, ["gitrepo/podinfo"]);
    // Names of the kind that was typed, wherever a kind may stand.
    for words in [
        &["flux-operator", "get", "resources", "gitrepo", "po"][..],
        &["flux-operator", "get", "gitrepo", "po"],
        &["flux-operator", "suspend", "resource", "gitrepo", "po"],
        &["flux-operator", "reconcile", "GitRepository", "po"],
        &["flux-operator", "rbac", "--user", "jane", "reconcile", "gitrepo", "po"],
    ] {
        assert_eq!(ask(words).await.0, ["podinfo"], "{words:?}");
    }
    assert_eq!(ask(&["flux-operator", "get", "instance", "-n", "kube-s"]).await.0, ["kube-system"]);
    assert_eq!(ask(&["flux-operator", "status", "--context", "te"]).await.0, ["test"]);
    let mark = cluster.mark().await;
    assert_eq!(ask(&["flux-operator", "get", "resources", "gitrepo/po"]).await.0, ["gitrepo/podinfo"]);
    assert_eq!(cluster.requests_since(mark).await.len(), 1);
    assert!(ask(&["flux-operator", "get", "resources", "--kind", "Git"]).await.0.contains(&"GitRepository".to_owned()));
    assert_eq!(ask(&["flux-operator", "-n", "default", "get", "instance", "fl"]).await.0, Vec::<String>::new());
    let proxy = cluster.proxy().await;
    proxy.add_rule(FaultRule::every(Fault::Hang));
    let (none, took) =
        complete(proxy.kubeconfig().path(), cluster.folder(), &["flux-operator", "get", "instance", "fl"]).await;
    assert!(none.is_empty() && took < Duration::from_secs(1), "{none:?} after {took:?}");
}

async fn checks_pass_before_and_after_an_installation(cluster: TestCluster) {
    // Failures of other tests would be reported too.
    let world = World::new(&cluster).await;
    let check = async |flags: &[&str]| {
        let mut check = command(world.kubeconfig.path(), cluster.folder());
        check.arg("check").args(flags).stdin(Stdio::null());
        Run::from(tokio::task::spawn_blocking(move || check.output()).await.expect("joined").expect("the binary runs"))
    };
    check(&["--pre"]).await.exits(0).stdout_has("Kubernetes v1.36.3");
    world.instance(spec("2.9.x")).await;
    world.ready().await;
    let report = check(&["-o", "json"]).await.exits(0).json();
    assert_eq!(report["passed"], true);
    let groups: Vec<_> =
        report["groups"].as_array().expect("groups").iter().map(|g| g["name"].as_str().unwrap()).collect();
    assert_eq!(
        groups,
        ["kubernetes", "rights", "definitions", "operator", "components", "sync", "api versions", "health"]
    );
}

async fn changes_of_the_next_minor_version_are_reported_for_a_cluster(cluster: TestCluster) {
    let patch = "- op: add\n  path: /spec/template/spec/containers/0/args/-\n  value: --no-such-flag=1\n\
                 - op: add\n  path: /spec/template/spec/containers/0/args/-\n  value: --feature-gates=AdoptLegacyReleases=false\n";
    let patches = json!([{"patch": patch, "target": {"kind": "Deployment", "name": "helm-controller"}}]);
    let components = json!(["source-controller", "kustomize-controller", "helm-controller", "notification-controller"]);
    let spec = json!({"components": components, "kustomize": {"patches": patches}});
    install(&cluster, &instance(&cluster, spec)).await.exits(0);
    let source = json!({"kind": "GitRepository", "name": "x"});
    let namespace = cluster.namespace();
    let upgrade = async |to: &str| -> Run { run(&cluster, &["check", "--to", to, "-o", "json"]).await };
    cluster
        .apply(&[
            json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": "vars"},
                "spec": {"interval": "1h", "prune": true, "sourceRef": source, "postBuild": {"substitute": {"a": "b"}}}}),
            json!({"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "metadata": {"name": "rendered"},
                "spec": {"interval": "1h", "chart": {"spec": {"chart": "./x", "sourceRef": source}},
                    "postRenderers": [{"kustomize": {"patches": []}}]}}),
            json!({"apiVersion": "notification.toolkit.fluxcd.io/v1", "kind": "Receiver", "metadata": {"name": "pushed"},
                "spec": {"type": "gcr", "secretRef": {"name": "token"}, "resources": [{"kind": "GitRepository", "name": "x"}]}}),
        ])
        .await;
    let lines = |report: &Value| -> Vec<String> {
        let groups = report["groups"].as_array().expect("groups").iter();
        let group = groups.filter(|group| group["name"].as_str().is_some_and(|name| name.starts_with("Flux v2.")));
        let checks = group.flat_map(|group| group["checks"].as_array().expect("checks"));
        checks.map(|one| format!("{} {}: {}", one["verdict"], one["name"], one["message"]).replace('"', "")).collect()
    };
    let reported = upgrade("2.9").await.exits(1).json();
    let stderr = lines(&reported);
    let has = |parts: &[&str]| stderr.iter().any(|line| parts.iter().all(|part| line.contains(part)));
    assert!(has(&["pass kubernetes: 1.", "1.33 or later is required"]), "{stderr:#?}");
    assert!(has(&["pass stored versions"]), "{stderr:#?}");
    assert!(has(&["fail flags and gates", "helm-controller: there is no flag --no-such-flag"]), "{stderr:#?}");
    assert!(has(&["warn flags and gates", "AdoptLegacyReleases is ignored"]), "{stderr:#?}");
    assert!(has(&["warn objects", &format!("HelmRelease/{namespace}/rendered"), "hooks"]), "{stderr:#?}");
    assert!(has(&["fail objects", &format!("Receiver/{namespace}/pushed"), "email and audience"]), "{stderr:#?}");
    assert!(has(&["warn substitution", "becomes an error"]), "{stderr:#?}");
    // Changes of 2.9 do not matter for 2.8, which has its own minimum of Kubernetes.
    let before = lines(&upgrade("2.8").await.json());
    let has = |part: &str| before.iter().any(|line| line.contains(part));
    assert!(has("1.33 or later is required") && !has("substitution") && !has("pushed"), "{before:#?}");
    let oldest = lines(&upgrade("2.6").await.json());
    assert!(oldest.iter().any(|line| line.contains("1.31 or later is required")), "{oldest:#?}");
    run(&cluster, &["check", "--to", "2.9"]).await.exits(1).stdout_has("Flux v2.9").stdout_has("there is no flag");
}

/// Command lines, and how many of their requests depend on each other: which objects there are on the instance, their pods on
/// both, and so on. A far away server is asked once more at most.
const DEPENDENT: &[(&str, usize)] = &[
    ("get instance", 1),
    ("get gitrepo", 1),
    ("get all -A", 1),
    ("events", 1),
    ("version", 1),
    ("get components", 1),
    ("get inventory", 2),
    ("tree instance", 2),
    ("why instance", 2),
    ("why -A", 2),
    // Drift is looked for with the labels of the instance.
    ("status", 2),
    ("check", 2),
    ("plan instance", 2),
];

async fn independent_requests_are_sent_at_once(cluster: TestCluster) {
    // Failures of other tests would be explained too.
    let world = World::new(&cluster).await;
    let mut wanted = spec("2.9.x");
    wanted["components"] = json!(["source-controller"]);
    world.instance(wanted).await;
    world.ready().await;
    let mut wrong = vec![];
    for (line, dependent) in DEPENDENT {
        // A busy machine can make the chain longer, but never shorter. The slower the answers, the smaller its effect.
        let mut seen = vec![];
        for delay in [200, 400, 1600].map(Duration::from_millis) {
            seen = requests_of(line, delay, &world, &cluster).await;
            if chain(&seen) <= dependent + 1 {
                break;
            }
        }
        if chain(&seen) > dependent + 1 {
            wrong.push(format!(
                "{line}: {} after each other, {dependent} depend on each other: {seen:#?}",
                chain(&seen)
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the requests of a command while every answer takes at least `delay`.
async fn requests_of(line: &str, delay: Duration, world: &World, cluster: &TestCluster) -> Vec<Seen> {
    let proxy = FaultProxy::start(&world.kubeconfig, world.plane.folder()).await.expect("the proxy starts");
    proxy.add_rule(FaultRule::every(Fault::Delay(delay)));
    let mut slow = command(proxy.kubeconfig().path(), cluster.folder());
    slow.args(["-n", NAMESPACE]).args(line.split(' ')).stdin(Stdio::null());
    let ended = tokio::task::spawn_blocking(move || slow.output()).await.expect("joined").expect("the binary runs");
    assert!([0, 1, 7].contains(&ended.status.code().unwrap_or(-1)), "{line}: {ended:?}");
    proxy.requests()
}

/// Length of the longest chain of requests each of which was sent when the one before was answered.
fn chain(seen: &[Seen]) -> usize {
    let mut requests: Vec<(Instant, Instant)> =
        seen.iter().filter_map(|request| Some((request.begun, request.answered?))).collect();
    requests.sort();
    let mut length = 0;
    let mut answered = None;
    while let Some(next) =
        requests.iter().filter(|(begun, _)| answered.is_none_or(|at| *begun >= at)).map(|(_, at)| *at).min()
    {
        length += 1;
        answered = Some(next);
    }
    length
}
