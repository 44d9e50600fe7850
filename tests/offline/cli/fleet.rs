//! `--contexts`: one command, many clusters, some of which are away.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use test_support::fake_cluster::{FakeBehaviour, FakeCluster, RequestGauge, write_kubeconfig};
use test_support::slow_tests::TimedTest;

use crate::cli::support::{Run, command};

const KUSTOMIZATIONS: &str = "/apis/kustomize.toolkit.fluxcd.io/v1/kustomizations";
const PROFILES: &str = "/apis/multicluster.x-k8s.io/v1alpha1/clusterprofiles";

fn kustomization(name: &str, ready: &str, message: &str) -> Value {
    json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
        "metadata": {"name": name, "namespace": "apps", "uid": name},
        "spec": {"sourceRef": {"kind": "GitRepository", "name": "apps"}},
        "status": {"conditions": [{"type": "Ready", "status": ready, "reason": "BuildFailed", "message": message,
            "lastTransitionTime": "2026-01-01T00:00:00Z"}]}})
}

fn cluster(name: &str, behaviour: FakeBehaviour) -> FakeCluster {
    let objects = vec![kustomization("app", "True", "applied")];
    FakeCluster::start(name, behaviour, &[(KUSTOMIZATIONS, objects)])
}

/// A kubeconfig with these clusters, in this order.
struct World {
    folder: TempDir,
    clusters: Vec<FakeCluster>,
}

impl World {
    fn new(clusters: &[(&str, FakeBehaviour)]) -> Self {
        let started: Vec<(&str, FakeCluster)> =
            clusters.iter().map(|(name, behaviour)| (*name, cluster(name, *behaviour))).collect();
        World::of(started)
    }

    fn of(started: Vec<(&str, FakeCluster)>) -> Self {
        let folder = TempDir::new().unwrap();
        let contexts: Vec<(&str, &str)> = started.iter().map(|(name, one)| (*name, one.address.as_str())).collect();
        write_kubeconfig(folder.path(), &contexts);
        World { clusters: started.into_iter().map(|(_, one)| one).collect(), folder }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn command(&self, line: &str) -> Command {
        let mut words: Vec<&str> = line.split_whitespace().collect();
        let file = self.path("kubeconfig");
        words.extend(["--kubeconfig", &file]);
        let mut command = command(&words);
        command.stdin(Stdio::null()).current_dir(self.folder.path());
        command
    }

    fn run(&self, line: &str) -> Run {
        self.command(line).output().unwrap().into()
    }
}

/// The contexts that rows of a table begin with, each once, without the heading.
fn contexts_of(stdout: &str) -> Vec<String> {
    let mut contexts: Vec<String> =
        stdout.lines().skip(1).filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect();
    contexts.dedup();
    contexts
}

#[test]
fn twenty_clusters_are_shown_in_order_and_each_that_fails_costs_its_own_row() {
    let slow = Duration::from_millis(700);
    let names: Vec<String> = (0..14).map(|index| format!("c{index:02}")).collect();
    let mut clusters: Vec<(&str, FakeBehaviour)> =
        names.iter().map(|name| (name.as_str(), FakeBehaviour::Well)).collect();
    for (at, name, behaviour) in [
        (1, "slow", FakeBehaviour::Slow(slow)),
        (3, "dead", FakeBehaviour::Dead),
        (5, "silent", FakeBehaviour::Silent),
        (7, "no-flux", FakeBehaviour::WithoutFlux),
        (9, "no-rights", FakeBehaviour::WithoutRights),
    ] {
        clusters.insert(at, (name, behaviour));
    }
    let mut started: Vec<(&str, FakeCluster)> =
        clusters.iter().map(|(name, behaviour)| (*name, cluster(name, *behaviour))).collect();
    let twice = started[0].1.clone();
    started.push(("c00-again", twice));
    let world = World::of(started);
    let began = Instant::now();
    // Loaded machines are slow: the limit of a silent cluster is far above what the others need.
    let run = world.run("get ks -A --contexts * --cluster-timeout 4s").exits(5);
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    let mut wanted: Vec<&str> = clusters.iter().map(|(name, _)| *name).collect();
    // A cluster that never answers is printed where it is settled.
    let mut shown = contexts_of(&run.stdout);
    let is_live = |name: &str| name != "silent";
    shown.retain(|name| is_live(name));
    wanted.retain(|name| is_live(name));
    assert_eq!(shown, wanted, "{}", run.stdout);
    let heading = run.stdout.lines().next().unwrap();
    assert!(heading.starts_with("CLUSTER ") && heading.contains(" NAMESPACE "), "{heading}");
    assert_eq!(run.stdout.matches("CLUSTER").count(), 1);
    let offset = |line: &str| {
        let name = line.find(' ').unwrap();
        name + line[name..].find(|c| c != ' ').unwrap()
    };
    let offsets: Vec<usize> = run.stdout.lines().map(offset).collect();
    assert!(offsets.iter().all(|one| *one == offsets[0]), "lines of errors stand under the rows: {}", run.stdout);
    let row = |context: &str| run.stdout.lines().find(|line| line.starts_with(&format!("{context} "))).unwrap();
    assert!(row("c05").contains(" True ") && row("slow").contains(" True "));
    assert!(row("dead").contains("✗ ") && row("dead").contains("cannot be reached"), "{}", row("dead"));
    assert!(row("silent").contains("no answer within 4s"), "{}", row("silent"));
    assert!(row("no-flux").contains("✗ Flux is not installed"), "{}", row("no-flux"));
    assert!(row("no-rights").contains("User \"jane\" cannot"), "{}", row("no-rights"));
    let listed: Vec<&str> = run.stderr.lines().collect();
    let at = listed.iter().position(|line| *line == "asking 20 clusters:").expect("the list of clusters");
    assert!(
        listed[at + 1].contains(&world.clusters[0].address) && listed[at + 1].ends_with("uid-of-c00"),
        "{listed:?}"
    );
    assert!(run.stderr.contains("the same cluster as c00, skipped"), "{}", run.stderr);
    let closing = "17 of 19 clusters answered; 2 could not be reached: dead, silent; 1 failed: no-rights; 1 without Flux: no-flux; 1 skipped";
    assert_eq!(run.stderr.lines().last(), Some(closing));
    let lists = world.clusters[0].requests().iter().filter(|request| request.contains("/kustomizations")).count();
    assert_eq!(lists, 1, "a cluster that is there twice is asked once: {:?}", world.clusters[0].requests());
}

#[test]
#[ignore = "slow: it waits for a silent server"]
fn a_silent_cluster_does_not_hold_back_what_the_others_print() {
    let _timed = TimedTest::of("offline");
    let world =
        World::new(&[("a", FakeBehaviour::Well), ("silent", FakeBehaviour::Silent), ("c", FakeBehaviour::Well)]);
    let mut child = world
        .command("get ks -A --contexts * --cluster-timeout 6s")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let began = Instant::now();
    let first: Vec<String> = lines.by_ref().take(3).map(Result::unwrap).collect();
    let shown_after = began.elapsed();
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    assert!(began.elapsed() > shown_after + Duration::from_secs(1), "{shown_after:?} of {:?}", began.elapsed());
    assert!(first[1].starts_with("a ") && first[2].starts_with("c "), "{first:?}");
    assert!(rest.len() == 1 && rest[0].starts_with("silent "), "{rest:?}");
    assert_eq!(child.wait().unwrap().code(), Some(8));
}

#[test]
fn json_is_a_fleet_result_and_lines_of_json_come_as_clusters_end() {
    let slow = FakeBehaviour::Slow(Duration::from_millis(400));
    let world = World::new(&[("slow", slow), ("dead", FakeBehaviour::Dead), ("b", FakeBehaviour::Well)]);
    let run = world.run("get ks -A --contexts slow,b,dead -o json").exits(8);
    let fleet = run.json();
    assert_eq!(fleet["kind"], "FleetResult");
    assert_eq!(fleet["summary"], json!({"reached": 2, "failed": 1, "skipped": 0}));
    let clusters = fleet["clusters"].as_array().unwrap();
    let contexts: Vec<&str> = clusters.iter().map(|one| one["context"].as_str().unwrap()).collect();
    assert_eq!(contexts, ["slow", "dead", "b"], "in the order of contexts");
    let alone = world.run("get ks -A --context b -o json").exits(0).json();
    assert_eq!(clusters[2]["result"], alone, "what the command prints for one cluster");
    assert_eq!((&clusters[2]["uid"], &clusters[2]["version"]), (&json!("uid-of-b"), &json!("v1.36.1")));
    assert!(clusters[2]["durationMs"].as_u64().is_some() && clusters[2]["server"] == world.clusters[2].address);
    let error = &clusters[1]["error"];
    assert_eq!(error["category"], "Unreachable");
    assert!(error["message"].as_str().unwrap().contains("kube-system") && error["hints"][0].is_string(), "{error}");
    assert!(clusters[1].get("result").is_none() && clusters[2].get("error").is_none());
    let lines = world.run("get ks -A --contexts slow,b -o jsonl").exits(0);
    let lines: Vec<Value> = lines.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let order: Vec<&Value> = lines.iter().map(|line| &line["context"]).collect();
    assert_eq!(order, ["b", "slow"], "in the order of arrival");
    assert_eq!(lines[0]["result"], alone);
    let path = world.run("get ks -A --contexts slow,b -o jsonpath={.clusters[*].context}").exits(0);
    assert_eq!(path.stdout.trim(), "slow b");
}

#[test]
fn names_and_columns_have_the_cluster_first_and_errors_are_talk() {
    let world = World::new(&[("a", FakeBehaviour::Well), ("dead", FakeBehaviour::Dead), ("cc", FakeBehaviour::Well)]);
    let run = world.run("get ks -A --contexts * -o name").exits(8);
    let name = "kustomization.kustomize.toolkit.fluxcd.io/app";
    let lines: Vec<Vec<&str>> = run.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines, [["a", name], ["cc", name]]);
    assert!(run.stderr.contains("warning: dead: "), "{}", run.stderr);
    let run = world.run("get ks -A --contexts * -o custom-columns=N:.metadata.name --no-headers").exits(8);
    insta::assert_snapshot!(run.stdout, @r"
    a      app
    cc     app
    ");
}

#[test]
fn reads_ask_for_no_more_than_they_show() {
    let world = World::new(&[("a", FakeBehaviour::Well)]);
    let accepted = |line: &str| {
        world.run(line).exits(0);
        world.clusters[0].accepted(KUSTOMIZATIONS).expect("the list was asked for")
    };
    let whole = "application/json;drop=metadata.managedfields,application/json";
    assert_eq!(accepted("get ks -A --contexts a"), whole);
    assert_eq!(accepted("get ks -A -o json --context a"), whole);
    for line in ["get ks -A -o name --contexts a", "get ks -A -o name --context a"] {
        let forms = accepted(line);
        assert!(forms.split(',').all(|form| form.contains("as=partialobjectmetadatalist")), "{line}: {forms}");
    }
}

#[test]
fn the_exit_code_is_the_worst_or_8_if_only_some_clusters_are_unreachable() {
    let world = World::new(&[
        ("a", FakeBehaviour::Well),
        ("dead", FakeBehaviour::Dead),
        ("gone", FakeBehaviour::Dead),
        ("bare", FakeBehaviour::WithoutFlux),
    ]);
    for (contexts, code) in [("a", 0), ("a,dead", 8), ("dead,gone", 6), ("a,bare", 4), ("bare,dead", 4)] {
        world.run(&format!("get ks -A --contexts {contexts}")).exits(code);
    }
}

#[test]
fn groups_files_and_exclusions_select_and_nothing_selected_is_wrong_usage() {
    let well = FakeBehaviour::Well;
    let world = World::new(&[("prod-eu", well), ("prod-us", well), ("prod-legacy", well), ("dev", well)]);
    let config = world.folder.path().join("flux-operator");
    std::fs::create_dir(&config).unwrap();
    std::fs::write(config.join("config.yaml"), "contextGroups: {live: ['prod-*', '!prod-legacy']}\n").unwrap();
    std::fs::write(world.path("list"), "# everything but\nprod-*\n!prod-eu\n").unwrap();
    let shown = |contexts: &str| {
        let line = format!("get ks -A --contexts {contexts}");
        let run: Run = world.command(&line).env("XDG_CONFIG_HOME", world.folder.path()).output().unwrap().into();
        contexts_of(&run.exits(0).stdout).join(" ")
    };
    assert_eq!(shown("live"), "prod-eu prod-us");
    assert_eq!(shown("prod-*,!prod-legacy"), "prod-eu prod-us");
    assert_eq!(shown("@list"), "prod-us prod-legacy");
    assert_eq!(shown("dev --contexts prod-e?"), "prod-eu dev");
    let run = world.run("get ks -A --contexts stage-*").exits(2);
    assert!(run.stdout.is_empty() && run.stderr.contains("no context matches stage-*"), "{}", run.stderr);
    world.run("get ks -A --contexts prod-ue").exits(2).stderr_has("did you mean prod-eu?");
    world.run("get ks -A --contexts @nothing").exits(2).stderr_has("cannot read the contexts in nothing");
}

#[test]
fn commands_that_write_refuse_several_clusters_and_name_the_way() {
    let world = World::new(&[("a", FakeBehaviour::Well)]);
    std::fs::write(world.path("flux.yaml"), "kind: FluxInstance\n").unwrap();
    for line in [
        "apply -f flux.yaml --contexts *",
        "suspend ks/app --contexts *",
        "reconcile ks/app --contexts *",
        "delete ks/app --yes --contexts *",
        "uninstall instance --yes --contexts *",
        "install --image x --contexts *",
        "create secret basic-auth x --username u --password-file flux.yaml --contexts *",
    ] {
        let run = world.run(line).exits(2);
        assert!(run.stderr.contains("--contexts is for commands that read"), "{line}: {}", run.stderr);
        assert!(run.stderr.contains("--contexts PATTERN --out FOLDER"), "{line}: {}", run.stderr);
    }
    assert!(world.clusters[0].requests().is_empty(), "no cluster is asked: {:?}", world.clusters[0].requests());
    for (line, reported) in [
        ("explain ks --contexts *", "explain does not ask a cluster"),
        ("check -f flux.yaml --contexts *", "check reads files instead of a cluster"),
        ("upgrade 2.9 --contexts *", "upgrade writes"),
        ("get ks -A -w --contexts *", "--watch follows one cluster"),
        ("get ks -A --contexts * --context a", "--context cannot be used together"),
        ("get ks -A --contexts * --token t", "--token cannot be used together"),
        ("plan -f - --contexts *", "standard input can be read once"),
        ("plan rset -f - --contexts *", "standard input can be read once"),
    ] {
        world.run(line).exits(2).stderr_has(reported);
    }
}

#[test]
fn a_line_that_is_wrong_for_every_cluster_is_refused_once() {
    let world = World::new(&[("a", FakeBehaviour::Well), ("b", FakeBehaviour::Well)]);
    let run = world.run("get ks -A --contexts * --sort-by nonsense").exits(2);
    assert_eq!(run.stderr.matches("there is no column nonsense").count(), 1, "{}", run.stderr);
    assert!(run.stdout.is_empty(), "{}", run.stdout);
}

#[test]
fn at_most_so_many_clusters_are_asked_at_once() {
    let slow = FakeBehaviour::Slow(Duration::from_millis(60));
    let names: Vec<String> = (0..6).map(|index| format!("c{index}")).collect();
    let gauge = Arc::new(RequestGauge::default());
    let start =
        |name| FakeCluster::counted(name, slow, &[(KUSTOMIZATIONS, vec![kustomization("app", "True", "")])], &gauge);
    let world = World::of(names.iter().map(|name| (name.as_str(), start(name))).collect());
    let run = world.run("get ks -A --contexts * --parallel 2").exits(0);
    assert_eq!(contexts_of(&run.stdout), names);
    // A cluster is asked for three things at once at most: the list, and the controllers and instances that judge it.
    assert!((2..=6).contains(&gauge.most()), "{}", gauge.most());
}

#[test]
fn views_of_many_clusters_fold_and_sort() {
    let failing = |name: &str| {
        let objects = vec![
            kustomization("app", "False", "kustomize build failed: no such file"),
            kustomization("web", "True", ""),
        ];
        FakeCluster::start(name, FakeBehaviour::Well, &[(KUSTOMIZATIONS, objects)])
    };
    let world = World::of(vec![
        ("well", cluster("well", FakeBehaviour::Well)),
        ("x", failing("x")),
        ("y", failing("y")),
        ("dead", cluster("dead", FakeBehaviour::Dead)),
        ("bare", cluster("bare", FakeBehaviour::WithoutFlux)),
        ("jane", cluster("jane", FakeBehaviour::WithoutRights)),
    ]);
    let why = world.run("why --contexts *").exits(7);
    let first = why.stdout.lines().next().unwrap_or_default();
    assert!(first.starts_with("2 of 6 clusters: ") && first.contains("first in x"), "{}", why.stdout);
    assert!(why.stdout.contains("  x, y: takes down 2 objects"), "{}", why.stdout);
    for line in
        ["nothing fails: well", "Flux is not installed: bare", "not allowed to read the objects that decide it: jane"]
    {
        assert!(why.stdout.contains(&format!("1 of 6 clusters: {line}")), "{}", why.stdout);
    }
    assert!(why.stdout.lines().any(|line| line.starts_with("dead ") && line.contains('✗')), "{}", why.stdout);
    let talk = why.stderr.lines().filter(|line| line.starts_with("jane: ")).count();
    assert!(talk <= 6 && why.stderr.contains("more lines; `--context jane` prints all"), "{}", why.stderr);
    let status = world.run("status --contexts *").exits(7);
    let order = contexts_of(&status.stdout);
    assert_eq!(order, ["dead", "bare", "x", "y", "jane", "well"], "the worst first: {}", status.stdout);
    let version = world.run("version --contexts well,x").exits(0);
    assert!(version.stdout.starts_with("CLUSTER   FLUX     OPERATOR   KUBERNETES"), "{}", version.stdout);
    assert_eq!(version.stdout.matches("v1.36.1").count(), 2);
    let check = world.run("check --contexts well,x").exits(1);
    assert!(check.stdout.lines().any(|line| line.starts_with("x ") && line.contains(" fail ")), "{}", check.stdout);
    let page = world.path("page.html");
    world.run("report page.html --contexts well,x,y,dead").exits(8);
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("<title>Flux on 4 clusters</title>") && html.matches("<details id=").count() == 3, "{html}");
    let values =
        |name: &str| -> Vec<&str> { html.split(name).skip(1).filter_map(|rest| rest.split('"').next()).collect() };
    let ids = values(" id=\"");
    let unique: BTreeSet<&&str> = ids.iter().collect();
    assert_eq!(unique.len(), ids.len(), "the parts of a page have names of their own");
    let links = values("href=\"#");
    assert!(
        links.len() > 10 && links.iter().all(|link| unique.contains(link)),
        "links lead somewhere: {links:?} {ids:?}"
    );
    world.run("report page.html --contexts well,x,y,dead").exits(1).stderr_has("the file exists");
}

#[test]
fn clusters_of_an_inventory_are_their_contexts_and_one_without_is_reported() {
    let profile = |name: &str, server: &str, labels: Value| {
        json!({"apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
            "metadata": {"name": name, "namespace": "fleet", "labels": labels},
            "status": {"accessProviders": [{"name": "x", "cluster": {"server": server}}]}})
    };
    let one = cluster("one", FakeBehaviour::Well);
    let profiles = vec![
        profile("c-17", &one.address, json!({"env": "prod"})),
        profile("two", "https://nowhere", json!({})),
        profile("lost", "https://nowhere", json!({})),
    ];
    let hub = FakeCluster::start("hub", FakeBehaviour::Well, &[(PROFILES, profiles)]);
    let world = World::of(vec![("two", cluster("two", FakeBehaviour::Well)), ("one", one), ("hub", hub)]);
    let run = world.run("get ks -A --clusters-from hub/fleet").exits(3);
    assert_eq!(contexts_of(&run.stdout), ["two", "one", "lost"], "{}", run.stdout);
    assert!(run.stdout.contains("no context leads to the cluster of ClusterProfile lost"), "{}", run.stdout);
    world.run("version --clusters-from hub -l env=prod");
    let asked = world.clusters[2].requests();
    assert!(asked.iter().any(|request| request.contains("/namespaces/fleet/clusterprofiles")), "{asked:?}");
    assert!(asked.iter().any(|request| request.contains("labelSelector=env%3Dprod")), "{asked:?}");
    world.run("get ks -A --clusters-from one").exits(4).stderr_has("has no ClusterProfiles");
}

#[test]
fn contexts_and_groups_are_completed() {
    let well = FakeBehaviour::Well;
    let world = World::new(&[("prod-eu", well), ("prod-us", well), ("dev", well)]);
    let config = world.folder.path().join("flux-operator");
    std::fs::create_dir(&config).unwrap();
    std::fs::write(config.join("config.yaml"), "contextGroups: {live: ['prod-*']}\n").unwrap();
    let offered = |word: &str| {
        let kubeconfig = world.path("kubeconfig");
        let words = ["flux-operator", "--kubeconfig", &kubeconfig, "get", "ks", "--contexts", word];
        let mut completer = command(&[]);
        completer.arg("--").args(words).env("XDG_CONFIG_HOME", Path::new(&world.folder.path()));
        completer.env("COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", (words.len() - 1).to_string());
        completer.env("_CLAP_COMPLETE_COMP_TYPE", "9").env("_CLAP_COMPLETE_SPACE", "true").env("_CLAP_IFS", "\n");
        let run: Run = completer.output().unwrap().into();
        run.stdout.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(offered(""), "prod-eu prod-us dev live");
    assert_eq!(offered("prod-eu,l"), "prod-eu,live");
    assert_eq!(offered("live,!prod-u"), "live,!prod-us");
}

#[cfg(unix)]
#[test]
fn bash_completes_a_context_with_a_blank_as_one_word() {
    let well = FakeBehaviour::Well;
    let world = World::new(&[("my prod", well), ("dev", well)]);
    let folder = Path::new(env!("CARGO_BIN_EXE_flux-operator")).parent().unwrap().display().to_string();
    let completed = |typed: &str, word: &str| {
        let script = format!(
            "source <(flux-operator completion bash); COMP_WORDS=(flux-operator get ks --context '{typed}'); COMP_CWORD=4; \
             _clap_complete_flux_operator flux-operator '{word}' --context 2>/dev/null; printf '%s' \"${{COMPREPLY[@]}}\""
        );
        let mut bash = Command::new("bash");
        bash.args(["-c", &script])
            .env("KUBECONFIG", world.path("kubeconfig"))
            .env("PATH", format!("{folder}:/usr/bin:/bin"));
        String::from_utf8(bash.output().unwrap().stdout).unwrap()
    };
    assert_eq!(completed("my", "my"), r"my\ prod");
    assert_eq!(completed(r"my\ p", r"my\ p"), r"my\ prod");
    assert_eq!(completed("\"my", "my"), "my prod");
    assert_eq!(completed("d", "d"), "dev");
}

/// Device files and signals.
#[cfg(unix)]
mod on_unix {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use test_support::fake_cluster::{FakeBehaviour, FakeCluster};
    use test_support::slow_tests::TimedTest;

    use super::{World, contexts_of};
    use crate::cli::support::{Run, command};

    #[test]
    #[ignore = "slow: it waits for a silent server"]
    fn an_interrupt_keeps_the_rows_that_came_and_counts_the_missing_clusters() {
        let _timed = TimedTest::of("offline");
        let world = World::new(&[("a", FakeBehaviour::Well), ("b", FakeBehaviour::Silent), ("c", FakeBehaviour::Well)]);
        let mut child = world.command("get ks -A --contexts * --cluster-timeout 60s");
        let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut talk = String::new();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        // The first word about progress comes after the others have answered.
        while !talk.contains("waiting for b") && stderr.read_line(&mut talk).unwrap() > 0 {}
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        stderr.read_to_string(&mut talk).unwrap();
        let output = child.wait_with_output().unwrap();
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert_eq!(contexts_of(&stdout), ["a", "c"], "{stdout}{talk}");
        assert_eq!(output.status.code(), Some(130), "{talk}");
        assert!(talk.contains("2 of 3 clusters answered; 1 not read to the end: b"), "{talk}");
    }

    #[test]
    fn a_kubeconfig_from_a_pipe_is_read_once_for_all_clusters() {
        let world = World::new(&[("a", FakeBehaviour::Well), ("b", FakeBehaviour::Well)]);
        let mut command = command(&["get", "ks", "-A", "--contexts", "*", "--kubeconfig", "/dev/stdin"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let config = std::fs::read(world.path("kubeconfig")).unwrap();
        child.stdin.take().unwrap().write_all(&config).unwrap();
        let run: Run = child.wait_with_output().unwrap().into();
        assert_eq!(contexts_of(&run.exits(0).stdout), ["a", "b"]);
    }

    #[test]
    fn an_interrupt_and_a_closed_pipe_end_it_at_once() {
        let world = World::new(&[("a", FakeBehaviour::Well), ("silent", FakeBehaviour::Silent)]);
        for signal in ["INT", "TERM"] {
            let child = world
                .command("get ks -A --contexts * --cluster-timeout 60s")
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            wait_for_request(&world.clusters[1]);
            let began = Instant::now();
            Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status().unwrap();
            let run: Run = child.wait_with_output().unwrap().into();
            run.exits(130).stderr_has("interrupted: nothing was changed");
            assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
        }
        let mut child = world
            .command("get ks -A --contexts a,silent -o jsonl --cluster-timeout 60s")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let began = Instant::now();
        drop(child.stdout.take());
        let mut reported = String::new();
        child.stderr.take().unwrap().read_to_string(&mut reported).unwrap();
        child.wait().unwrap();
        assert!(began.elapsed() < Duration::from_secs(20), "nothing is read any more: {reported}");
    }

    /// Waits until a cluster has been asked something that was not asked before.
    fn wait_for_request(cluster: &FakeCluster) {
        let before = cluster.requests().len();
        let began = Instant::now();
        while cluster.requests().len() <= before && began.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
