//! The read side against a dump: every view, every format, every habit that needs no cluster.

mod schemas;
#[cfg(unix)]
mod terminal;

use serde_json::Value;

use crate::cli::support::{Run, printed_path, run, run_with_input};

const DUMP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/offline/cli/inspect/dump.json");

/// Runs a read command on the dump.
fn read(arguments: &[&str]) -> Run {
    run(&[arguments, &["--from", DUMP]].concat())
}

fn json(arguments: &[&str]) -> Value {
    let text = read(&[arguments, &["-o", "json"]].concat()).exits(0).stdout;
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}:\n{text}"))
}

/// The cells of a table: columns are at least three blanks apart.
fn table(text: &str) -> Vec<Vec<String>> {
    text.lines()
        .map(|line| line.split("   ").map(str::trim).filter(|c| !c.is_empty()).map(Into::into).collect())
        .collect()
}

const LISTS: [&[&str]; 9] = [
    &["get", "instance"],
    &["get", "components"],
    &["get", "history"],
    &["get", "inventory"],
    &["get", "resources"],
    &["get", "all", "-n", "apps"],
    &["events"],
    &["stats"],
    &["what-changed", "--since", "3650d"],
];

#[test]
fn an_instance_shows_version_resources_and_readiness() {
    let rows = table(&read(&["get", "instance", "-n", "flux-system"]).exits(0).stdout);
    assert_eq!(rows[0], ["NAME", "VERSION", "RESOURCES", "READY", "LAST RECONCILED", "MESSAGE"]);
    // The instance reports that it is ready, and one of its controllers is gone since.
    assert_eq!(rows[1][..4], ["flux", "v2.8.8", "4", "False"]);
    assert_eq!(rows[1][5], "Deployment helm-controller is missing");
    let all = table(&read(&["get", "instance", "-A"]).exits(0).stdout);
    assert_eq!(all[0][0], "NAMESPACE");
}

/// The screen of the dump, as a pipe gets it.
const STATUS: &str = "\
Flux         v2.8.8 (2.8.x, newest allowed v2.8.8)
Kubernetes   -
Operator     • none (reconcile with --in-process)
Instance     ✗ flux-system/flux  failing; last run 0s ago: Reconciliation finished in 1s
Controllers  ✗ helm-controller 0/1  Deployment missing (listed in the instance)
             ✔ source-controller 1/1
Sync         ✗ Kustomization/flux-system  main@sha1:01234567
Objects      ✗ Kustomization  ░░░░░░░░░░░░░░░░  2 failing, 1 suspended
             ✔ GitRepository  ████████████████  1 ready
             ✗ Provider       ░░░░░░░░░░░░░░░░  1 failing
Failing      4 of 6 failing, oldest first:
             ✗ Kustomization/apps/web, 2m: no [31mred[0m text here (BuildFailed)
             ✗ Kustomization/flux-system/flux-system, 30s: kustomize-controller is not installed (ControllerMissing)
             ✗ Provider/apps/chat: notification-controller is not installed (ControllerMissing)
Next         flux-operator why -A
";

#[test]
fn the_status_is_one_screen_and_its_code_says_whether_all_is_well() {
    assert_eq!(read(&["status"]).exits(7).stdout, STATUS);
}

#[test]
fn components_show_image_pods_restarts_and_what_differs() {
    let rows = table(&read(&["get", "components"]).exits(0).stdout);
    assert_eq!(rows[0], ["NAME", "REPOSITORY", "TAG", "DIGEST", "PODS", "STATUS", "RESTARTS", "AGE"]);
    assert_eq!(
        rows[1][..7],
        ["source-controller", "ghcr.io/fluxcd/source-controller", "v1.8.8", "sha256:8a8ed0a5", "1/1", "Current", "3"]
    );
    let wide = read(&["get", "components", "-o", "wide"]).exits(0);
    wide.stdout_has("50m/64Mi").stdout_has("+--concurrent=50");
    read(&["get", "components", "source-controler"]).exits(3).stderr_has("did you mean source-controller?");
}

#[test]
fn history_is_newest_first_and_filtered_by_outcome() {
    let rows = table(&read(&["get", "history"]).exits(0).stdout);
    assert_eq!(rows[1][0], "sha256:11111111");
    assert_eq!(rows[1][6], "ReconciliationSucceeded");
    assert_eq!(rows[2][1], "<none>", "a failed build picked no version");
    assert_eq!(rows[1][7], "unknown: a dump does not tell which revisions are kept");
    let failed = table(&read(&["get", "history", "--ready-status", "false"]).exits(0).stdout);
    assert_eq!(failed.len(), 2);
    assert_eq!(failed[1][6], "BuildFailed");
}

#[test]
fn inventory_distinguishes_missing_from_healthy() {
    let value = json(&["get", "inventory"]);
    let states: Vec<_> = value["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|i| (i["name"].as_str().unwrap(), i["drift"].as_str().unwrap()))
        .collect();
    assert_eq!(
        states,
        [
            ("flux-system", "none"),
            ("source-controller", "none"),
            ("helm-controller", "missing"),
            ("flux-system", "none")
        ]
    );
    let missing = table(&read(&["get", "inventory", "--filter", "drift=missing", "--no-headers"]).exits(0).stdout);
    assert_eq!(missing.len(), 1);
    assert_eq!(missing[0][4], "NotFound");
}

#[test]
fn resources_list_every_kind_with_readiness_and_revision() {
    let rows = table(&read(&["get", "resources", "-n", "apps"]).exits(0).stdout);
    assert_eq!(rows[0], ["KIND", "NAME", "READY", "SINCE", "REVISION", "MESSAGE"]);
    let ready: Vec<_> = rows[1..].iter().map(|r| (r[1].as_str(), r[2].as_str())).collect();
    assert_eq!(ready, [("web", "False"), ("データ", "Unknown (suspended)"), ("chat", "False")]);
    assert_eq!(rows[1][3], "2m", "ages count until the dump was written, as those of status do");
    let all = read(&["get", "all", "-A", "-o", "name"]).exits(0).stdout;
    assert_eq!(all.lines().count(), 6);
    assert!(all.contains("gitrepository.source.toolkit.fluxcd.io/flux-system\n"));
}

#[test]
fn a_kind_is_understood_by_every_name_and_an_unknown_one_suggests() {
    let one = read(&["get", "resources", "ks", "-n", "apps", "-o", "name"]).exits(0).stdout;
    for word in ["Kustomization", "kustomization", "KUSTOMIZATIONS", "kustomizations.kustomize.toolkit.fluxcd.io"] {
        assert_eq!(read(&["get", "resources", word, "-n", "apps", "-o", "name"]).exits(0).stdout, one, "{word}");
        assert_eq!(read(&["get", "all", "--kind", word, "-n", "apps", "-o", "name"]).exits(0).stdout, one, "{word}");
    }
    read(&["get", "resources", "kustomizatoin"]).exits(2).stderr_has("did you mean `kustomization`?");
    read(&["get", "surces"]).exits(2).stderr_has("source git");
}

#[test]
fn objects_are_named_as_kind_and_name_several_at_once() {
    let several = read(&["get", "resources", "ks/web", "provider/chat", "-n", "apps", "-o", "name"]).exits(0).stdout;
    assert_eq!(several.lines().count(), 2);
    let names = read(&["get", "resources", "ks", "web", "データ", "-n", "apps", "-o", "name"]).exits(0).stdout;
    assert_eq!(names.lines().count(), 2);
    read(&["get", "resources", "ks", "wep", "-n", "apps"]).exits(3).stderr_has("did you mean web?");
    read(&["get", "resources", "ks", "web", "-n", "flux-system"]).exits(3).stderr_has("web is in namespace apps");
    read(&["get", "instance", "flx"]).exits(3).stderr_has("did you mean flux?");
}

#[test]
fn objects_are_printed_whole_one_alone_and_several_as_a_list() {
    let one = json(&["get", "instance", "flux"]);
    assert_eq!(one["kind"], "FluxInstance");
    let list = json(&["get", "instance"]);
    assert_eq!((list["kind"].as_str(), list["apiVersion"].as_str()), (Some("List"), Some("v1")));
    assert_eq!(list["items"][0]["spec"]["distribution"]["version"], "2.8.x");
    let yaml = read(&["get", "all", "-o", "yaml"]).exits(0).stdout;
    assert_eq!(yaml.matches("kind: Kustomization").count(), 3);
    assert!(yaml.starts_with("apiVersion: v1\n"), "{yaml}");
}

#[test]
fn an_empty_result_is_reported_on_stderr_and_is_an_empty_list_in_json() {
    let run =
        read(&["get", "all", "-n", "nowhere"]).exits(0).stderr_has("no Flux resources found in namespace nowhere");
    assert_eq!(run.stdout, "");
    for list in LISTS {
        let filter = format!("{}=no-such-value", a_column(list));
        let value = json(&[list, &["--filter", &filter]].concat());
        assert_eq!(value["items"].as_array().map(Vec::len), Some(0), "{list:?}");
    }
}

/// A column of a list.
fn a_column(list: &[&str]) -> &'static str {
    match list {
        ["events"] => "type",
        ["stats"] => "reconcilers",
        ["what-changed", ..] => "by",
        ["get", "history"] => "status",
        _ => "name",
    }
}

#[test]
fn every_list_has_every_format() {
    for list in LISTS {
        for format in ["table", "wide", "json", "yaml", "name", "jsonpath={.kind}", "custom-columns=KIND:.kind"] {
            // Counts are about kinds, which are not objects.
            let is_refused = list == ["stats"] && format == "name";
            let output = read(&[list, &["-o", format]].concat()).exits(if is_refused { 2 } else { 0 });
            assert_eq!(output.stdout.is_empty(), is_refused, "{list:?} -o {format}");
        }
        read(&[list, &["-o", "jsn"]].concat()).exits(2).stderr_has("did you mean json?").stderr_has("custom-columns");
        let path = read(&[list, &["-o", "jsonpath={.items[0]}"]].concat()).exits(0).stdout;
        assert!(serde_json::from_str::<Value>(&path).is_ok(), "{list:?}: {path}");
    }
}

#[test]
fn every_list_has_headings_that_can_be_left_out_and_no_stray_blanks() {
    for list in LISTS {
        let whole = read(list).exits(0).stdout;
        assert!(!whole.contains('\t') && whole.lines().all(|l| l.trim_end() == l), "{list:?}:\n{whole}");
        for flag in ["--no-headers", "--no-header"] {
            let bare = read(&[list, &[flag]].concat()).exits(0).stdout;
            assert_eq!(bare.lines().count() + 1, whole.lines().count(), "{list:?}");
        }
    }
}

#[test]
fn lists_are_sorted_and_filtered_by_column_or_path() {
    let names = |arguments: &[&str]| -> Vec<String> {
        let run = read(&[&["get", "all", "-A", "--no-headers"], arguments].concat()).exits(0).stdout;
        table(&run).into_iter().map(|row| row[2].clone()).collect()
    };
    assert_eq!(names(&["--sort-by", "name"])[0], "chat");
    assert_eq!(names(&["--sort-by", ".metadata.creationTimestamp"]).last().map(String::as_str), Some("chat"));
    assert_eq!(names(&["--filter", "READY=False"]), ["flux", "web", "flux-system", "chat"]);
    assert_eq!(names(&["--filter", "kind!=Kustomization", "--filter", "ready=true"]), ["flux-system"]);
    assert_eq!(names(&["--ready-status", "Suspended"]), ["データ"]);
    read(&["get", "all", "--sort-by", "nmae"]).exits(2).stderr_has("did you mean name?");
    read(&["get", "all", "--filter", "naem=x"]).exits(2).stderr_has("columns:");
    read(&["get", "all", "--ready-status", "Maybe"]).exits(2).stderr_has("Suspended");
}

#[test]
fn labels_select_and_are_shown() {
    let select = |selector: &str| read(&["get", "all", "-l", selector, "-o", "name"]).exits(0).stdout;
    assert_eq!(select("team in (web,data)").lines().count(), 2);
    assert_eq!(select("team=web"), "kustomization.kustomize.toolkit.fluxcd.io/web\n");
    assert_eq!(select("!team").lines().count(), 3);
    // A kind is a noun.
    let listed = read(&["get", "resources", "ks", "-n", "apps"]).exits(0).stdout;
    assert_eq!(read(&["get", "ks", "-n", "apps"]).exits(0).stdout, listed);
    let columns = table(&read(&["get", "all", "-n", "apps", "-L", "team", "--show-labels"]).exits(0).stdout);
    assert_eq!(columns[0], ["KIND", "NAME", "READY", "SINCE", "REVISION", "TEAM", "LABELS", "MESSAGE"]);
    assert_eq!(columns[2][5..7], ["data", "team=data"]);
    read(&["get", "all", "-l", "team in web"]).exits(2).stderr_has("label selector");
}

#[test]
fn remote_text_cannot_drive_the_terminal_and_stays_on_one_line() {
    let text = read(&["get", "resources", "ks", "-n", "apps"]).exits(0).stdout;
    assert!(!text.contains('\u{1b}') && text.contains("no [31mred[0m text here"), "{text}");
    assert_eq!(text.lines().count(), 3);
}

#[test]
fn jsonpath_and_custom_columns_read_the_objects() {
    let version =
        read(&["get", "instance", "flux", "-o", "jsonpath={.status.conditions[?(@.type==\"Ready\")].status}"]);
    assert_eq!(version.exits(0).stdout, "True");
    let columns = read(&["get", "all", "-n", "apps", "-o", "custom-columns=NAME:.metadata.name,PATH:.spec.path"]);
    let rows = table(&columns.exits(0).stdout);
    assert_eq!(rows, [["NAME", "PATH"], ["web", "./web"], ["データ", "./data"], ["chat", "<none>"]]);
    read(&["get", "all", "-o", "jsonpath={.a[}"]).exits(2).stderr_has("is not a JSONPath");
    read(&["get", "all", "-o", "custom-columns=NAME"]).exits(2).stderr_has("HEADING");
}

#[test]
fn a_tree_goes_from_the_instance_to_pods_and_to_what_the_sync_brought() {
    let text = read(&["tree", "instance"]).exits(0).stdout;
    let expected = "\
FluxInstance/flux-system/flux  Failed: Deployment helm-controller is missing
├── definitions and roles (1)
│   └── Namespace/flux-system
├── controllers (2)
│   ├── Deployment/flux-system/source-controller
│   │   └── Pod/flux-system/source-controller-1
│   └── Deployment/flux-system/helm-controller  NotFound
└── sync (1)
    └── Kustomization/flux-system/flux-system  Failed: kustomize-controller is not installed
        ├── Deployment/apps/web  InProgress: Replicas: 0/2
        └── Kustomization/apps/web  Failed: no [31mred[0m text here
";
    assert_eq!(text, expected);
    let compact = read(&["tree", "ks", "flux-system", "-n", "flux-system", "--compact"]).exits(0).stdout;
    assert_eq!(compact.lines().count(), 2);
    assert_eq!(json(&["tree", "kustomization", "flux-system"])["children"].as_array().map(Vec::len), Some(2));
    read(&["tree", "ks", "flux-sytem", "-n", "flux-system"]).exits(3).stderr_has("did you mean flux-system?");
}

#[test]
fn a_trace_goes_from_any_object_to_its_source() {
    let text = read(&["trace", "deployment/web", "-n", "apps"]).exits(0).stdout;
    for line in [
        "Object:          Deployment/apps/web",
        "Managed by:      Kustomization/flux-system/flux-system",
        "Source:          GitRepository/flux-system/flux-system",
        "  URL:           https://git.example.com/fleet",
    ] {
        assert!(text.contains(line), "{text}");
    }
    assert_eq!(read(&["trace", "deploy", "web", "-n", "apps"]).exits(0).stdout, text);
    read(&["trace", "deployment/nope", "-n", "apps"]).exits(3);
    read(&["trace", "namespace/flux-system"]).exits(1).stderr_has("not managed by Flux");
    // A kind alone stands for all of its objects.
    read(&["trace", "deployment", "-n", "apps"]).exits(0).stdout_has("Object:          Deployment/apps/web");
    let all = read(&["trace", "ks", "-n", "apps"]).exits(0).stdout;
    assert_eq!(all.matches("Object: ").count(), 2, "{all}");
    read(&["trace", "ks", "-n", "nowhere"]).exits(0).stderr_has("no Kustomization found in namespace nowhere");
    read(&["trace", "deployment/"]).exits(2).stderr_has("KIND/NAME");
}

#[test]
fn events_are_oldest_first_and_belong_to_an_object_and_its_source() {
    let all = table(&read(&["events"]).exits(0).stdout);
    assert_eq!(all[0], ["NAMESPACE", "LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]);
    assert_eq!((all[1][3].as_str(), all[2][3].as_str()), ("NewArtifact", "BuildFailed"));
    let one = read(&["events", "ks/web", "-n", "apps", "-o", "name"]).exits(0).stdout;
    assert_eq!(one, "event/git.1\nevent/web.1\n", "the source's events are in another namespace");
    let warnings = read(&["events", "--types", "warning", "-o", "name"]).exits(0).stdout;
    assert_eq!(warnings, "event/web.1\n");
    read(&["events", "ks/nope", "-n", "apps"]).exits(3);
    read(&["events", "kustomizatoin/web"]).exits(2).stderr_has("did you mean");
}

#[test]
fn stats_count_by_kind_and_state() {
    let rows = table(&read(&["stats"]).exits(0).stdout);
    assert_eq!(
        rows[0],
        ["RECONCILERS", "RUNNING", "FAILING", "SUSPENDED", "STORAGE", "READY", "IN PROGRESS", "NOT STARTED"]
    );
    assert_eq!(rows[2], ["Kustomization", "2", "2", "1", "-", "0", "0", "0"]);
    assert_eq!(rows[3], ["GitRepository", "1", "0", "0", "4.2 MiB", "1", "0", "0"]);
    // The list of what is suspended is as long as the sum says; what fails may still report that it is ready.
    let sum = |column: usize| rows[1..].iter().map(|row| row[column].parse::<usize>().unwrap()).sum::<usize>();
    let listed = read(&["get", "all", "-A", "--ready-status", "Suspended", "-o", "name"]).exits(0).stdout;
    assert_eq!((sum(3), listed.lines().count()), (1, 1), "{listed}");
}

#[test]
fn objects_that_wait_for_a_dependency_are_counted_apart_from_failing_ones() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("dump.json");
    let item = |name: &str, reason: &str| {
        serde_json::json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
            "metadata": {"name": name, "namespace": "apps"}, "spec": {},
            "status": {"conditions": [{"type": "Ready", "status": "False", "reason": reason, "message": "m"}]}})
    };
    let waiting = ["b", "c", "d"].map(|name| item(name, "DependencyNotReady"));
    let items = [vec![item("a", "BuildFailed")], waiting.to_vec()].concat();
    let dump = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": items});
    std::fs::write(&file, dump.to_string()).expect("written");
    let read = |line: &[&str]| run(&[line, &["--from", file.to_str().expect("UTF-8")]].concat());
    let rows = table(&read(&["stats"]).exits(0).stdout);
    assert_eq!(rows[1], ["Kustomization", "4", "1", "0", "-", "0", "3", "0"]);
    let listed = read(&["get", "all", "-A", "--ready-status", "False", "-o", "name"]).exits(0).stdout;
    assert_eq!(listed.lines().count(), 1, "{listed}");
    let waiting = read(&["get", "all", "-A", "--ready-status", "Unknown", "-o", "name"]).exits(0).stdout;
    assert_eq!(waiting.lines().count(), 3, "{waiting}");
    read(&["status"]).stdout_has("1 failing, 3 in progress");
}

#[test]
fn versions_say_what_the_range_allows_and_blocks() {
    let text = read(&["version"]).exits(0).stdout;
    assert!(text.starts_with(&format!("client: {}\n", env!("CARGO_PKG_VERSION"))), "{text}");
    for line in
        ["distribution: v2.8.8", "range: 2.8.x", "newest allowed: v2.8.", "newest: v2.9.4 (outside range 2.8.x)"]
    {
        assert!(text.contains(line), "{text}");
    }
    assert_eq!(run(&["version", "--client"]).exits(0).stdout.lines().count(), 1);
    let offline = run(&["version"]);
    assert_ne!(offline.code, 0);
    assert!(offline.stdout.starts_with("client: "), "the client is known without a cluster");
}

#[test]
fn a_report_is_computed_without_a_report_object() {
    let value: Value = serde_json::from_str(&read(&["export", "report", "-o", "json"]).exits(0).stdout).unwrap();
    assert_eq!(value["kind"], "FluxReport");
    assert_eq!(value["spec"]["sync"]["source"], "https://git.example.com/fleet");
    assert_eq!(value["spec"]["components"][0]["status"], "Current Deployment is available. Replicas: 1");
    read(&["export", "report"]).exits(0).stdout_has("kind: FluxReport");
}

#[test]
fn checks_are_grouped_and_a_failure_ends_with_1() {
    let sound = sound_dump();
    let whole = read_text(&sound, &["check"]).exits(0);
    whole
        .stdout_has("components\n  ✔ kustomize-controller")
        .stdout_has("  ✔ source-controller")
        .stdout_has("sync\n  ✔ kustomization/flux-system");
    let short = read_text(&sound, &["check", "--short"]).exits(0).stdout;
    assert_eq!(short.lines().count(), 1, "{short}");
    assert!(short.starts_with("flux ok, "), "{short}");
    let report: Value =
        serde_json::from_str(&read_text(&sound, &["check", "-o", "json"]).exits(0).stdout).expect("JSON");
    assert_eq!(report["passed"], true);
    read(&["check", "--short"]).exits(1).stdout_has("✗ helm-controller: its Deployment is missing");
    let broken = dump_with("\"readyReplicas\": 1", "\"readyReplicas\": 0");
    let failed = run_with_input(&["check", "--short", "--from", "-"], &broken).exits(1);
    failed.stdout_has("✗ source-controller: InProgress");
}

/// The dump without the inventory entry of a controller that is not there: an installation that is well.
fn sound_dump() -> String {
    // Something has to reconcile the Kustomizations and to send what the Provider says.
    let controller = |name: &str| {
        serde_json::json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": "flux-system", "generation": 1,
            "labels": {"app.kubernetes.io/part-of": "flux"}},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": name}}},
        "status": {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1,
            "conditions": [{"type": "Available", "status": "True"}]}})
    };
    let dump = dump_with("{\"id\": \"flux-system_helm-controller_apps_Deployment\", \"v\": \"v1\"},", "");
    assert!(dump.contains("\"items\": ["), "a list");
    let dump = dump.replacen(
        "\"items\": [",
        &format!("\"items\": [{},{},", controller("kustomize-controller"), controller("notification-controller")),
        1,
    );
    // Its failing object is made ready.
    let mut dump: Value = serde_json::from_str(&dump).expect("JSON");
    for condition in dump["items"].as_array_mut().expect("a list").iter_mut() {
        for condition in condition["status"]["conditions"].as_array_mut().into_iter().flatten() {
            if condition["reason"] == "BuildFailed" {
                condition["status"] = "True".into();
            }
        }
    }
    dump.to_string()
}

/// Runs a read command on a dump that stands in a text.
fn read_text(text: &str, arguments: &[&str]) -> Run {
    run_with_input(&[arguments, &["--from", "-"]].concat(), text)
}

/// The dump with one text replaced.
fn dump_with(old: &str, new: &str) -> String {
    let text = std::fs::read_to_string(DUMP).expect("the dump");
    assert!(text.contains(old), "{old}");
    text.replace(old, new)
}

#[test]
fn a_ready_instance_ends_with_0_and_a_cause_with_7() {
    read_text(&sound_dump(), &["why", "instance"]).exits(0).stdout_has("FluxInstance/flux-system/flux is ready");
    read(&["why", "instance"]).exits(7).stdout_has("Cause: Deployment helm-controller is missing (ObjectMissing)");
    let broken = dump_with("\"readyReplicas\": 1, \"availableReplicas\": 1", "\"readyReplicas\": 0").replace(
        "\"phase\": \"Running\", \"conditions\": [{\"type\": \"Ready\", \"status\": \"True\"}], \"containerStatuses\": [{\"name\": \"manager\", \"restartCount\": 3}]",
        "\"phase\": \"Pending\", \"containerStatuses\": [{\"name\": \"manager\", \"image\": \"ghcr.io/x\", \"state\": {\"waiting\": {\"reason\": \"ImagePullBackOff\", \"message\": \"manifest unknown\"}}}]",
    );
    let run = run_with_input(&["why", "instance", "--from", "-"], &broken).exits(7);
    let run = run.stdout_has("Cause: the image ghcr.io/x cannot be pulled (ImagePullFailed)");
    run.stdout_has("Object: Pod/flux-system/source-controller-1")
        .stdout_has("Next:\n  flux-operator")
        .stdout_has("\nMore: flux-operator explain ImagePullFailed\n");
    let reason =
        run_with_input(&["why", "instance", "--from", "-", "-o", "jsonpath={.cause.reason}"], &broken).exits(7);
    assert_eq!(reason.stdout, "ImagePullFailed");
}

#[test]
fn every_read_takes_a_folder_a_file_and_stdin() {
    let folder = tempfile::tempdir().expect("a folder");
    let below = folder.path().join("flux-system");
    std::fs::create_dir(&below).expect("made");
    let text = sound_dump();
    let file = below.join("all.json");
    std::fs::write(&file, &text).expect("written");
    std::fs::write(folder.path().join("notes.txt"), "not a dump").expect("written");
    let reads: [&[&str]; 14] = [
        &["get", "instance"],
        &["get", "components"],
        &["get", "history"],
        &["get", "inventory"],
        &["get", "resources"],
        &["tree", "instance"],
        &["tree", "kustomization", "flux-system"],
        &["trace", "deployment/web", "-n", "apps"],
        &["events"],
        &["stats"],
        &["version"],
        &["check"],
        &["why", "instance"],
        &["export", "report"],
    ];
    for arguments in reads {
        let file = run(&[arguments, &["--from", file.to_str().expect("UTF-8")]].concat()).exits(0).stdout;
        assert!(!file.is_empty(), "{arguments:?}");
        let from_folder = run(&[arguments, &["--from", folder.path().to_str().expect("UTF-8")]].concat()).exits(0);
        assert_eq!(from_folder.stdout, file, "{arguments:?}");
        let stdin = run_with_input(&[arguments, &["--from", "-"]].concat(), &text).exits(0).stdout;
        assert_eq!(stdin, file, "{arguments:?}");
    }
}

#[test]
fn a_file_that_is_not_a_dump_is_an_error_that_says_so() {
    run(&["get", "instance", "--from", "/no/such/dump"]).exits(2).stderr_has("cannot read the dump /no/such/dump");
    run_with_input(&["get", "instance", "--from", "-"], "hello").exits(1).stderr_has("caused by");
    run_with_input(&["get", "instance", "--from", "-"], "{\"kind\":").exits(1).stderr_has("caused by");
    read(&["get", "instance", "-w"]).exits(2).stderr_has("a dump does not change");
}

#[test]
fn errors_are_json_when_json_is_asked_for() {
    let run = read(&["get", "instance", "nope", "-o", "json"]).exits(3);
    let error: Value = serde_json::from_str(&run.stderr).expect("one JSON object");
    assert_eq!((error["code"].as_i64(), error["category"].as_str()), (Some(3), Some("NotFound")));
    assert_eq!(run.stdout, "");
}

#[test]
fn the_output_format_comes_from_the_environment_unless_a_flag_says_otherwise() {
    let mut command = crate::cli::support::command(&["get", "history", "--from", DUMP]);
    let output = command.env("FLUX_OPERATOR_OUTPUT", "json").output().expect("runs");
    assert!(output.stdout.starts_with(b"{"));
    let mut command = crate::cli::support::command(&["get", "history", "-o", "name", "--from", DUMP]);
    let output = command.env("FLUX_OPERATOR_OUTPUT", "json").output().expect("runs");
    assert!(output.stdout.starts_with(b"sha256:"));
}

#[test]
fn colour_is_only_for_terminals_or_when_asked_for() {
    assert!(!read(&["get", "all"]).exits(0).stdout.contains('\u{1b}'));
    // Windows without a console has colours where a terminal is named.
    let mut forced = crate::cli::support::command(&["get", "all", "--color", "always", "--from", DUMP]);
    let forced = Run::from(forced.env("TERM", "xterm").output().expect("runs")).exits(0).stdout;
    assert!(forced.contains("\u{1b}["), "{forced}");
}

#[test]
fn manifests_are_listed_and_not_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, text).expect("written");
    };
    let instance = |version: &str| {
        format!(
            "apiVersion: fluxcd.controlplane.io/v1\nkind: FluxInstance\nmetadata: {{name: flux, namespace: flux-system}}\n\
            spec: {{distribution: {{version: {version}}}}}\n"
        )
    };
    write("a/flux.yaml", &instance("2.8.x"));
    write("a/.vscode/settings.json", "{ // comment\n}");
    write("a/chart/templates/x.yaml", "a: {{ .Values.b }}\n  c");
    let place = folder.path().join("a");
    let from = ["--from", place.to_str().expect("UTF-8")];
    for judging in
        [&["status"][..], &["why"], &["why", "instance"], &["why", "fluxinstance/flux"], &["check"], &["stats"]]
    {
        let refused = run(&[judging, &from].concat()).exits(2);
        let refused = refused.stderr_has("looks like manifests, not like a dump of a cluster");
        assert_eq!(refused.stdout, "", "{judging:?}");
    }
    let listed = run(&[&["get", "instance", "-A"][..], &from].concat()).exits(0).stdout_has("flux-system");
    listed.stderr_has("1 file is left out").stderr_has("x.yaml");
    // Another cluster in the folder: what is shown would be of one or the other.
    write("b/flux.yaml", &instance("2.9.x"));
    let both = folder.path().to_str().expect("UTF-8");
    let refused = run(&["get", "instance", "-A", "--from", both]).exits(2);
    let [a, b] = ["a/flux.yaml", "b/flux.yaml"].map(printed_path);
    refused.stderr_has(&a).stderr_has(&b).stderr_has("one cluster");
}
