//! All commands that report the health of Flux agree on each situation, and their exit codes match the verdict.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use test_support::situations::{LISTED_ALONE, Situation, counts_of_rows, counts_of_why, situations};
use test_support::slow_tests::TimedTest;

use super::support::run;

/// Exit codes by the verdict: of commands that judge, check and list.
fn codes(verdict: &str) -> (i32, i32, i32) {
    match verdict {
        "failing" => (7, 1, 0),
        "unknown" => (5, 5, 5),
        "notInstalled" => (4, 4, 4),
        _ => (0, 0, 0),
    }
}

/// Answers that differ from the table.
#[derive(Default)]
struct Disagreements(Vec<String>);

impl Disagreements {
    fn expect(&mut self, situation: &str, what: &str, found: &Value, expected: &Value) {
        if found != expected {
            self.0.push(format!("{situation}: {what} is {found}, expected {expected}"));
        }
    }
}

#[test]
fn all_commands_agree_on_a_situation_of_each_verdict() {
    let mut seen = BTreeSet::new();
    let first_of_each = situations().into_iter().filter(|one| seen.insert(one.verdict)).collect::<Vec<_>>();
    assert!(first_of_each.len() >= 5, "{} verdicts", first_of_each.len());
    all_commands_agree_on(first_of_each);
}

#[test]
#[ignore = "slow: it runs every command that reports health in every situation"]
fn all_commands_agree_on_the_verdict_the_counts_and_the_exit_code() {
    let _timed = TimedTest::of("offline");
    let all = situations();
    assert!(all.len() >= 40, "{} situations", all.len());
    all_commands_agree_on(all);
}

fn all_commands_agree_on(situations: Vec<Situation>) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut wrong = Disagreements::default();
    for (number, Situation { name, objects, verdict, failing, causes, next }) in situations.into_iter().enumerate() {
        let file = folder.path().join(format!("{number}.json"));
        let dump = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        std::fs::write(&file, dump.to_string()).expect("written");
        let path = file.to_str().expect("UTF-8");
        let ask = |words: &[&str]| run(&[words, &["-o", "json", "--from", path]].concat());
        let read = |run: &super::support::Run| serde_json::from_str::<Value>(&run.stdout).unwrap_or_default();
        let (judges, checks, lists) = codes(verdict);

        let status = ask(&["status"]);
        // The screen marks a failure wherever it is: a workload or a definition is in no line about Flux's objects.
        let screen = run(&["status", "--from", path]).stdout;
        wrong.expect(
            name,
            "a mark of failure on the screen",
            &screen.contains('✗').into(),
            &["failing", "notInstalled"].contains(&verdict).into(),
        );
        let why = ask(&["why", "-A"]);
        let check = ask(&["check"]);
        let stats = ask(&["stats"]);
        let report = ask(&["report"]);
        let listed = ask(&["get", "all", "-A"]);
        for (command, run, code) in [
            ("status", &status, judges),
            ("why", &why, judges),
            ("check", &check, checks),
            ("stats", &stats, lists),
            ("report", &report, lists),
            ("get all", &listed, lists),
        ] {
            wrong.expect(name, &format!("the exit code of {command}"), &run.code.into(), &code.into());
        }
        let (status, why, check) = (read(&status), read(&why), read(&check));
        wrong.expect(name, "the verdict of status", &status["verdict"], &verdict.into());
        wrong.expect(name, "the verdict of why", &why["verdict"], &verdict.into());
        wrong.expect(name, "the verdict of check", &check["health"], &verdict.into());
        wrong.expect(name, "well of status", &status["well"], &(judges == 0).into());
        wrong.expect(name, "well of why", &why["well"], &(judges == 0).into());
        wrong.expect(name, "the failing objects of why", &why["counts"]["failing"], &failing.into());
        let found = why["causes"].as_array().map_or(0, Vec::len);
        wrong.expect(name, &format!("causes of why: {}", why["causes"]), &found.into(), &causes.into());
        wrong.expect(name, "the counts of status", &status["counts"], &why["counts"]);
        let sum = |field: &str| -> u64 {
            let rows = read(&stats)["items"].as_array().cloned().unwrap_or_default();
            rows.iter().filter_map(|row| row[field].as_u64()).sum()
        };
        for field in ["ready", "failing", "inProgress", "notStarted", "suspended"] {
            wrong.expect(name, &format!("{field} of stats"), &sum(field).into(), &why["counts"][field]);
        }
        if verdict != "notInstalled" {
            let page = read(&report);
            wrong.expect(name, "the verdict of the page", &page["causes"]["verdict"], &verdict.into());
            wrong.expect(name, "the counts of the page", &page["status"]["counts"], &why["counts"]);
        }
        let rows = run(&["get", "all", "-A", "--from", path]);
        wrong.expect(
            name,
            &format!("the rows of get all by READY:\n{}", rows.stdout),
            &json!(counts_of_rows(&rows.stdout)),
            &json!(counts_of_why(&why)),
        );
        for (kind, short) in LISTED_ALONE {
            let of_kind = why["kinds"].as_array().into_iter().flatten().find(|one| one["kind"] == kind);
            let failing = of_kind.map_or(0, |one| one["failing"].as_u64().unwrap_or_default());
            let listed = run(&["get", short, "-A", "--ready-status", "False", "-o", "name", "--from", path]);
            wrong.expect(
                name,
                &format!("the failing objects of get {short}"),
                &listed.stdout.lines().count().into(),
                &failing.into(),
            );
            if of_kind.is_none() {
                continue;
            }
            // The kind of instances alone means the one that is called flux.
            let instances = read(&ask(&["get", "instance", "-A"]))["items"].as_array().cloned().unwrap_or_default();
            let text =
                |object: &Value, at: &str| object.pointer(at).and_then(Value::as_str).unwrap_or_default().to_owned();
            let named = instances.iter().map(|one| [text(one, "/metadata/name"), text(one, "/metadata/namespace")]);
            let named: Vec<[String; 2]> = named.collect();
            // Marks of the object itself, at the top of its tree and of its trace.
            let read_all = |verb: &[&str]| match short {
                "instance" => {
                    let one = |[name, namespace]: &[String; 2]| {
                        read(&ask(&[verb, &["instance", name, "-n", namespace]].concat()))
                    };
                    named.iter().map(one).collect()
                }
                _ => read(&ask(&[verb, &[short]].concat()))["items"].as_array().cloned().unwrap_or_default(),
            };
            let marks = |verb: &[&str], pointer: &str, mark: &str| {
                let items: Vec<Value> = read_all(verb);
                items.iter().filter(|item| item.pointer(pointer).is_some_and(|found| found == mark)).count() as u64
            };
            let in_tree = marks(&["tree"], "/status", "Failed");
            wrong.expect(name, &format!("the failing objects of tree {short}"), &in_tree.into(), &failing.into());
            let in_trace = marks(&["trace"], "/steps/0/ready", "False");
            wrong.expect(name, &format!("the failing objects of trace {short}"), &in_trace.into(), &failing.into());
        }
        let dead = run(&["get", "components", "-A", "--filter", "status!=Current", "-o", "name", "--from", path]);
        if !dead.stdout.is_empty() {
            wrong.expect(
                name,
                &format!("the verdict where components fail: {}", dead.stdout),
                &verdict.into(),
                &"failing".into(),
            );
        }
        let line = status["next"].as_str().unwrap_or_default();
        if !line.contains(next) || (next.is_empty() && !line.is_empty()) {
            wrong.0.push(format!("{name}: next is {line:?}, expected {next:?}"));
        }
    }
    assert!(wrong.0.is_empty(), "{}\n{} disagreements", wrong.0.join("\n"), wrong.0.len());
}

/// A dump of one situation, in a file of its own.
fn dump_of(name: &str) -> tempfile::NamedTempFile {
    let found = situations().into_iter().find(|one| one.name == name).unwrap_or_else(|| panic!("no situation {name}"));
    let file = tempfile::Builder::new().suffix(".json").tempfile().expect("a file");
    let dump = json!({"apiVersion": "v1", "kind": "List", "items": found.objects});
    std::fs::write(file.path(), dump.to_string()).expect("written");
    file
}

fn ask(name: &str, words: &[&str]) -> super::support::Run {
    let file = dump_of(name);
    run(&[words, &["--from", file.path().to_str().expect("UTF-8")]].concat())
}

#[test]
fn every_read_reports_in_one_sentence_that_flux_is_not_installed() {
    for words in [
        &["status"][..],
        &["why"],
        &["why", "instance"],
        &["why", "ks/app"],
        &["check"],
        &["stats"],
        &["version"],
        &["events"],
        &["logs"],
        &["get", "instance"],
        &["get", "instance", "flux"],
        &["get", "components"],
        &["get", "history"],
        &["get", "inventory"],
        &["get", "all", "-A"],
        &["get", "ks"],
        &["get", "suspended"],
        &["tree", "instance"],
        &["tree", "ks/app"],
        &["trace", "ks/app"],
        &["what-changed"],
        &["impact", "ks/app"],
        &["debug", "ks/app", "--status"],
        &["export", "report"],
        &["report", "-o", "json"],
    ] {
        let found = ask("an empty cluster", words).exits(4);
        let printed = format!("{}{}", found.stdout, found.stderr);
        assert_eq!(printed.matches("Flux is not installed in").count(), 1, "{words:?}: {printed}");
        assert!(printed.contains("flux-operator apply"), "{words:?}: {printed}");
    }
}

#[test]
fn one_cause_is_reported_once_and_names_the_refusing_policy() {
    for (name, reason, object) in [
        ("a quota that takes down every controller", "QuotaExceeded", "ResourceQuota/flux-system/none"),
        ("a policy that refuses every controller", "PolicyRefused", "ValidatingAdmissionPolicy/no-flux"),
    ] {
        let why = ask(name, &["why"]).exits(7).stdout;
        assert!(why.contains("1 root cause"), "{why}");
        assert_eq!(why.matches(&format!("({reason})")).count(), 1, "{why}");
        assert!(why.contains(&format!("Object: {object}")), "{why}");
        assert!(why.contains("4 Deployments"), "{why}");
    }
    for name in ["a policy that refuses every controller", "a webhook that refuses every controller"] {
        let sentence = if name.contains("policy") { "label team is not allowed" } else { "denied the request: no" };
        for words in [&["status"][..], &["why"]] {
            let printed = ask(name, words).stdout;
            assert!(printed.matches(sentence).count() <= 1, "{words:?}: {printed}");
        }
    }
}

#[test]
fn the_way_out_of_a_second_instance_is_its_deletion() {
    let why = ask("a second instance", &["why"]).exits(7);
    why.stdout_has(
        "a cluster can have only one FluxInstance, and FluxInstance/flux-system/flux was first (SecondInstance)",
    )
    .stdout_has("flux-operator delete instance flux -n flux2");
}

#[test]
fn a_request_without_an_answer_does_not_hide_a_controller_that_is_gone() {
    let name = "a request that no operator answers and a controller that is gone";
    ask(name, &["why", "instance"]).exits(7).stdout_has("Deployment notification-controller is missing");
}

#[test]
fn a_list_names_the_definition_that_is_gone_with_its_objects() {
    let name = "a definition that is gone with its objects";
    let text = "the CRD of HelmRelease is missing, and so is every HelmRelease";
    for words in [&["get", "all", "-A"][..], &["get", "hr"]] {
        ask(name, words).exits(0).stderr_has(text);
    }
    let other = ask(name, &["get", "ks", "-A"]).exits(0);
    assert!(!other.stderr.contains("missing"), "{}", other.stderr);
}

#[test]
fn a_list_shows_the_controller_that_is_gone_and_json_the_object_as_it_is() {
    let name = "a controller that is scaled to zero";
    let table = ask(name, &["get", "hr", "-A"]).exits(0).stdout;
    assert!(table.contains("helm-controller is scaled to zero"), "{table}");
    let json: Value =
        serde_json::from_str(&ask(name, &["get", "hr", "-A", "-o", "json"]).exits(0).stdout).expect("JSON");
    assert_eq!(json["items"][0]["status"]["conditions"][0]["status"], "True", "{json}");
    ask(name, &["get", "components"])
        .exits(0)
        .stdout_has("Failed")
        .stderr_has("scaled to 0: changes are not reconciled");
}
