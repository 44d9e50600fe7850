//! Tables on a terminal of a given width.

use std::process::Command;

use rexpect::session::spawn_command;
use test_support::run::shown_text;
use test_support::slow_tests::TimedTest;
use unicode_width::UnicodeWidthStr;

use super::DUMP;
use crate::cli::habits::{commands, is_leaf};

/// Returns the output of a command for the dump on a terminal with this many columns.
fn shown(columns: u16, arguments: &str) -> String {
    shown_of(DUMP, columns, arguments)
}

/// The same of another dump.
fn shown_of(dump: &str, columns: u16, arguments: &str) -> String {
    on_terminal(columns, &format!("{arguments} --from {dump}"))
}

fn on_terminal(columns: u16, line: &str) -> String {
    let binary = env!("CARGO_BIN_EXE_flux-operator");
    let script = format!("stty cols {columns} rows 50; {binary} {line} 2>/dev/null; echo END");
    let mut shell = Command::new("bash");
    shell.args(["-c", &script]).env_clear().env("TERM", "xterm-256color").env("PATH", "/usr/bin:/bin");
    let mut session = spawn_command(shell, Some(20_000)).expect("a terminal");
    let text = session.exp_string("END").expect("the command ends");
    shown_text(&text).replace('\r', "")
}

/// The text without the colours.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        let end = after.find(|c: char| c.is_ascii_alphabetic()).map_or(after.len(), |at| at + 1);
        rest = &after[end..];
    }
    plain + rest
}

#[test]
fn every_table_fits_60_80_and_200_columns_and_cuts_no_name() {
    let tables = [
        "get instance -A",
        "get components",
        "get history",
        "get inventory",
        "get all -A",
        "get all -A -L team --show-labels",
        "get ks -A",
        "get gitrepo -A",
        "events",
        "stats",
        "tree instance",
    ];
    for arguments in tables {
        let mut command: Vec<&str> = arguments.split(' ').collect();
        let names: Vec<String> = match command[0] {
            "get" if command[1] == "history" => vec![],
            "get" | "tree" => {
                command.extend(["-o", "name"]);
                let text = super::read(&command).exits(0).stdout;
                text.lines().map(|line| line.split_once('/').expect("KIND/NAME").1.to_owned()).collect()
            }
            _ => vec![],
        };
        for columns in [60, 80, 200] {
            let text = plain(&shown(columns, arguments));
            assert!(text.lines().all(|line| line.trim_end() == line), "{arguments} leaves blanks:\n{text}");
            let widest = text.lines().map(UnicodeWidthStr::width).max().unwrap_or_default();
            assert!(widest <= usize::from(columns), "{arguments} is {widest} wide on {columns} columns:\n{text}");
            for name in &names {
                assert!(text.contains(name), "{name} is cut by {arguments} on {columns} columns:\n{text}");
            }
        }
    }
}

#[test]
fn a_kind_without_anything_to_debug_is_reported() {
    for (part, printed) in
        [("--vars", "kustomization/web has no variables"), ("--history", "kustomization/web has no history")]
    {
        let run = super::read(&["debug", "ks", "web", "-n", "apps", part]).exits(0).stderr_has(printed);
        assert_eq!(run.stdout, "");
    }
}

#[test]
fn an_explanation_fits_a_narrow_terminal() {
    for (columns, widest) in [(60, 60), (200, 80)] {
        let text = plain(&on_terminal(columns, "explain ks.spec"));
        let found = text.lines().map(UnicodeWidthStr::width).max().unwrap_or_default();
        assert!(found <= widest && found > widest - 15, "{found} wide on {columns} columns:\n{text}");
    }
}

#[test]
fn the_status_cuts_neither_counts_nor_causes() {
    for columns in [60, 80] {
        let text = plain(&shown(columns, "status"));
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for whole in [
            "2 failing, 1 suspended",
            "helm-controller 0/1 Deployment missing (listed in the instance)",
            "Kustomization/apps/web, 2m: no [31mred[0m text here (BuildFailed)",
        ] {
            assert!(words.contains(whole), "{whole} on {columns} columns:\n{text}");
        }
        let reported = text.lines().filter(|line| !line.starts_with("Next"));
        let widest = reported.map(UnicodeWidthStr::width).max().unwrap_or_default();
        assert!(widest <= usize::from(columns), "{widest} wide on {columns} columns:\n{text}");
    }
    assert!(plain(&shown(80, "status")).contains("░  2 failing, 1 suspended"), "a shorter bar");
}

#[test]
fn one_kind_shows_its_own_columns_and_several_what_they_share() {
    let heading = |arguments: &[&str]| -> String {
        let text = super::read(&[&["get", "-A"], arguments].concat()).exits(0).stdout;
        text.lines()
            .next()
            .unwrap_or_default()
            .split("   ")
            .map(str::trim)
            .filter(|c| !c.is_empty())
            .collect::<Vec<_>>()
            .join(",")
    };
    assert_eq!(heading(&["ks"]), "NAMESPACE,NAME,READY,REVISION,MESSAGE,SINCE,PATH,SOURCE");
    assert_eq!(heading(&["gitrepo"]), "NAMESPACE,NAME,URL,REF,READY,SINCE,REVISION,MESSAGE");
    assert_eq!(heading(&["ks,gitrepo"]), "NAMESPACE,KIND,NAME,READY,SINCE,REVISION,MESSAGE");
    let wide = heading(&["ks", "-o", "wide"]);
    assert_eq!(wide, "NAMESPACE,NAME,READY,REVISION,MESSAGE,SINCE,PATH,SOURCE,REASON,AGE,FULL REVISION,INTERVAL,KIND");
    let sorted = super::read(&["get", "gitrepo", "-A", "--sort-by", "url", "--filter", "ref!=nothing"]).exits(0).stdout;
    assert!(sorted.lines().count() > 1, "{sorted}");
}

/// A Kustomization with the longest name there may be on 60 columns, suspended for longer than was meant.
fn a_long_name() -> (tempfile::TempDir, String, String) {
    let name = format!("tenant-{}", "a".repeat(53));
    let object = serde_json::json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
        "metadata": {"name": name, "namespace": "flux-system"}, "spec": {},
        "status": {"conditions": [{"type": "Ready", "status": "True", "message": "applied revision main@sha1:0"}]}});
    let mut sleeping = object.clone();
    sleeping["metadata"] = serde_json::json!({"name": "web", "namespace": "apps", "annotations": {
        "fluxcd.controlplane.io/suspendReason": "the database is moved to another region",
        "fluxcd.controlplane.io/suspendUntil": "2026-01-01T00:00:00Z"}});
    sleeping["spec"]["suspend"] = true.into();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("dump.json").display().to_string();
    let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": [object, sleeping]});
    std::fs::write(&file, list.to_string()).expect("written");
    (folder, file, name)
}

#[test]
fn columns_that_identify_objects_are_kept_longest() {
    let (_folder, dump, name) = a_long_name();
    for (columns, arguments, heading) in [
        (60, "get inventory", "KIND NAMESPACE NAME DRIFT"),
        (80, "get all -A", "NAMESPACE KIND NAME READY SINCE MESSAGE"),
        (80, "get all -A --ready-status true", "NAMESPACE NAME READY"),
        (80, "get ks -A --ready-status true", "NAME READY REVISION"),
        (60, "get all -A", "NAMESPACE KIND NAME READY REVISION"),
        (60, "events -A", "NAMESPACE LAST SEEN TYPE OBJECT"),
        (60, "get suspended -n apps", "KIND NAME SINCE BY UNTIL"),
        (60, "get suspended -A", "NAMESPACE KIND NAME SINCE UNTIL"),
    ] {
        let of = if ["get inventory", "events -A"].contains(&arguments) { DUMP } else { &dump };
        let text = plain(&shown_of(of, columns, arguments));
        let found = text.lines().next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(found, heading, "{arguments} on {columns} columns:\n{text}");
        assert!(text.lines().all(|line| line.width() <= usize::from(columns)), "{arguments}:\n{text}");
        assert!(arguments != "get all -A" || text.contains(&name), "{arguments}:\n{text}");
    }
}

/// A dump of twelve repositories, of which two are not ready and one sleeps.
fn twelve_repositories() -> tempfile::TempDir {
    let repository = |number: usize| {
        let ready = if number < 2 { "False" } else { "True" };
        serde_json::json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
            "metadata": {"name": format!("repo-{number}"), "namespace": "apps"}, "spec": {"suspend": number == 2},
            "status": {"conditions": [{"type": "Ready", "status": ready}]}})
    };
    let items: Vec<_> = (0..12).map(repository).collect();
    let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": items});
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("dump.json"), list.to_string()).expect("written");
    folder
}

#[test]
fn a_long_table_ends_with_its_sums_and_a_pipe_gets_rows_only() {
    let folder = twelve_repositories();
    let dump = folder.path().join("dump.json").display().to_string();
    let binary = env!("CARGO_BIN_EXE_flux-operator");
    let script = format!("{binary} get gitrepo -A --from {dump}; echo END");
    let mut shell = Command::new("bash");
    shell.args(["-c", &script]).env_clear().env("TERM", "xterm-256color").env("PATH", "/usr/bin:/bin");
    let mut session = spawn_command(shell, Some(20_000)).expect("a terminal");
    let text = session.exp_string("END").expect("the command ends");
    assert!(text.contains("2 of 12 not ready, 1 suspended"), "{text}");
    for (arguments, rows, reported) in [
        (&[][..], 13, "2 of 12 not ready, 1 suspended\n"),
        (&["-o", "wide"], 13, "2 of 12 not ready, 1 suspended\n"),
        (&["--quiet"], 13, ""),
        (&["-o", "name"], 12, ""),
        (&["-o", "json"], 0, ""),
        (&["-o", "yaml"], 0, ""),
    ] {
        let list = ["get", "gitrepo", "-A", "--from", &dump];
        let pipe = crate::cli::support::run(&[&list, arguments].concat()).exits(0);
        assert_eq!(pipe.stderr, reported, "{arguments:?}");
        assert!(rows == 0 || pipe.stdout.lines().count() == rows, "{arguments:?}: {}", pipe.stdout);
    }
}

#[test]
fn kinds_are_aligned_in_one_table() {
    let text = super::read(&["get", "all", "-A"]).exits(0).stdout;
    let at = text.find("READY").expect("a heading");
    for line in text.lines().skip(1).filter(|line| line.is_ascii()) {
        let word = line.get(at..).and_then(|rest| rest.split(' ').next()).unwrap_or_default();
        assert!(["True", "False", "Unknown", "Suspended"].contains(&word), "{word:?} stands below READY:\n{text}");
    }
}

#[test]
fn revisions_are_shortened_before_names_and_messages() {
    let text = plain(&shown(120, "get all -A"));
    assert!(text.contains("main@sha1:01234567 "), "{text}");
    assert!(text.contains("GitRepository") && text.contains("flux-system"), "{text}");
    let pipe = super::read(&["get", "all", "-A"]).exits(0).stdout;
    assert!(pipe.contains("main@sha1:0123456789012345678901234567890123456789"), "a pipe is never cut: {pipe}");
}

#[test]
fn wide_is_never_cut() {
    assert!(plain(&shown(80, "get all -A -o wide")).contains("main@sha1:0123456789012345678901234567890123456789"));
}

#[test]
fn a_terminal_gets_colour_unless_no_color_is_set() {
    assert!(shown(80, "get all -A").contains("\u{1b}["));
    assert!(!shown(80, "get all -A --color never").contains("\u{1b}[3"));
}

/// A title, a clipboard and a screen sequence.
const HOSTILE: &str = "\u{1b}]0;title\u{7}\u{1b}]52;c;eA==\u{7}\u{1b}[2J\u{9b}1m\u{202e}";

/// The dump with these in every text that is not a word of the API.
fn hostile_dump() -> String {
    fn spoil(value: &mut serde_json::Value, key: &str) {
        match value {
            serde_json::Value::String(text) => {
                let is_needed =
                    matches!(key, "apiVersion" | "kind" | "id" | "v" | "type" | "status" | "lastTransitionTime")
                        || key.ends_with("imestamp")
                        || matches!(text.as_str(), "flux" | "flux-system" | "web" | "apps" | "source-controller");
                if !is_needed {
                    text.push_str(HOSTILE);
                }
            }
            serde_json::Value::Array(items) => items.iter_mut().for_each(|item| spoil(item, key)),
            serde_json::Value::Object(fields) => fields.iter_mut().for_each(|(key, value)| spoil(value, key)),
            _ => {}
        }
    }
    let mut dump = serde_json::from_str(&std::fs::read_to_string(DUMP).expect("the dump")).expect("JSON");
    spoil(&mut dump, "");
    let forged = format!("x{HOSTILE}_forged{HOSTILE}__ConfigMap");
    let version = serde_json::json!({"serverVersion": {"gitVersion": format!("v1.36.3{HOSTILE}"), "platform": format!("a{HOSTILE}")}});
    if let Some(items) = dump["items"].as_array_mut() {
        let instance = items.iter_mut().find(|item| item["kind"] == "FluxInstance").expect("an instance");
        let entries = instance["status"]["inventory"]["entries"].as_array_mut().expect("an inventory");
        entries.push(serde_json::json!({"id": forged, "v": "v1"}));
    }
    format!("{dump}\n{version}")
}

#[test]
#[ignore = "slow: it starts the program for each view on a terminal"]
fn nothing_in_a_dump_steers_the_terminal() {
    let _timed = TimedTest::of("offline");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path();
    std::fs::write(file.join("dump.json"), hostile_dump()).expect("written");
    let pod = "flux-system/kustomize-controller-0";
    // Values by which objects are found are not changed.
    let labels = serde_json::json!({"app": "kustomize-controller", "app.kubernetes.io/part-of": "flux",
        "app.kubernetes.io/component": "kustomize-controller"});
    let controller = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "kustomize-controller-0", "namespace": "flux-system",
            "labels": labels}, "spec": {"containers": [{"name": "manager"}]}},
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "kustomize-controller",
            "namespace": "flux-system", "labels": labels}, "spec": {"selector": {"matchLabels": {"app": "kustomize-controller"}}}},
    ]});
    std::fs::write(file.join("controller.json"), controller.to_string()).expect("written");
    let line = serde_json::json!({"level": "error", "ts": "2026-01-01T00:00:00.000Z", "msg": format!("m{HOSTILE}"),
        "controllerKind": "Kustomization", "Kustomization": {"name": "flux-system", "namespace": "flux-system"},
        "name": "flux-system", "namespace": "flux-system", "error": format!("e{HOSTILE}")});
    let log = format!(
        "==== START logs for container manager of pod {pod} ====\n{line}\nno JSON {HOSTILE}\n==== END logs for container manager of pod {pod} ====\n"
    );
    std::fs::write(file.join("logs.txt"), log).expect("written");
    let template = serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "a", "namespace": "apps"}, "data": {"text": "<< inputs.text >>"}});
    let set = serde_json::json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "ResourceSet",
        "metadata": {"name": "set", "namespace": "apps"},
        "spec": {"inputs": [{"text": format!("t{HOSTILE}")}], "resources": [template]}});
    let manifests = tempfile::tempdir().expect("a folder");
    let set_file = manifests.path().join("set.yaml");
    std::fs::write(&set_file, set.to_string()).expect("written");
    let reads = [
        "logs",
        "logs ks/flux-system -n flux-system",
        "logs -o json",
        "what-changed -A",
        "what-changed -A -o wide",
        "wait revision 0123456",
        "migrate owner ks/flux-system --to ks/web --dry-run",
        "get instance -A",
        "get instance -A -o wide",
        "get instance -A -o name",
        "get instance -A -o yaml",
        "get instance -A -o jsonpath='{.items[*].status.conditions[*].message}'",
        "get instance -A -o custom-columns=M:.status.conditions[0].message",
        "get components",
        "get components -o wide",
        "get history",
        "get inventory -o wide",
        "get inventory -o name",
        "get inputs web -n apps",
        "get resources ks -A",
        "get all -A -o wide",
        "get all -A --show-labels",
        "get all -A --sort-by .metadata.name",
        "tree instance",
        "tree instance -o name",
        "tree instance -o jsonpath='{.children[*].children[*].object.name}'",
        "tree kustomization flux-system",
        "tree helmrelease web -n apps",
        "tree resourceset web -n apps",
        "tree resource gitrepo flux-system",
        "trace deployment/web -n apps",
        "events -A",
        "stats",
        "check",
        "check --short",
        "version",
        "status",
        "why",
        "why instance",
        "why ks/flux-system",
        "get suspended -A",
        "impact ks/flux-system",
        "debug ks flux-system",
        "export report",
        "get instance nope",
        "build resourceset -f SET",
        "build resourceset -f SET --explain",
        "build resourceset -f SET -o json",
    ];
    // These write a page or an archive, or their `--from` is not a dump.
    let others = ["report", "bundle", "distribution mirror", "distribution pack"];
    for (command, help) in commands().iter().filter(|(_, help)| is_leaf(help) && help.contains("--from ")) {
        let command = command.join(" ");
        assert!(
            others.contains(&&*command)
                || reads.iter().any(|read| format!("{read} ").starts_with(&format!("{command} "))),
            "{command} reads a dump, and nothing looks at what it shows:\n{help}"
        );
    }
    let binary = env!("CARGO_BIN_EXE_flux-operator");
    for arguments in reads {
        for color in ["always", "never"] {
            let arguments = arguments.replace("SET", &set_file.to_string_lossy());
            let line = format!("{binary} {arguments} --color {color} --from {}", file.display());
            let script = format!("stty cols 250 rows 50; {line}; echo; echo END");
            let mut shell = Command::new("bash");
            shell.args(["-c", &script]).env_clear().env("TERM", "xterm-256color").env("PATH", "/usr/bin:/bin");
            let mut session = spawn_command(shell, Some(20_000)).expect("a terminal");
            let text = session.exp_string("END").expect("the command ends");
            // Own colours are all that may be left: ESC [ digits m.
            let left = if color == "always" { plain_colours(&text) } else { text.clone() };
            // Not `shown_text`, which would hide invalid UTF-8.
            let bytes: Vec<u8> = left.chars().map(|c| u8::try_from(u32::from(c)).expect("a byte")).collect();
            let left = String::from_utf8(bytes).expect("UTF-8");
            let steers = |c: &char| match c {
                '\n' | '\r' | '\t' => false,
                // Marks that turn the direction of what follows (<https://unicode.org/reports/tr9/>).
                '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
                c => c.is_control(),
            };
            let bad = left.chars().find(steers);
            assert!(bad.is_none(), "{arguments} --color {color}: {bad:?} in {left:?}");
            assert!(text.len() > 20, "{arguments}: {text:?}");
        }
    }
}

/// The text without sequences that set a colour.
fn plain_colours(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        let end = after.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(after.len());
        if after[end..].starts_with('m') {
            rest = &after[end + 1..];
        } else {
            plain.push('\u{1b}');
            rest = after;
        }
    }
    plain + rest
}

#[test]
fn an_empty_result_of_filters_is_not_reported_as_an_absence_of_objects() {
    for arguments in [
        &["get", "components"][..],
        &["get", "inventory"],
        &["get", "instance", "-A"],
        &["get", "all", "-A"],
        &["get", "suspended", "-A"],
        &["stats"],
    ] {
        let arguments = [arguments, &["--filter", "name=nothing-like-it"]].concat();
        let arguments = if arguments[0] == "stats" { vec!["stats", "--filter", "failing=99"] } else { arguments };
        let run = super::read(&arguments).exits(0);
        assert!(run.stdout.is_empty(), "{arguments:?}: {}", run.stdout);
        assert!(run.stderr.contains("match the filters"), "{arguments:?}: {}", run.stderr);
    }
}

#[test]
fn an_empty_list_says_what_was_looked_for() {
    for (line, printed) in [
        ("get all -A -l a=zzz", "no Flux resources found with labels a=zzz\n"),
        ("get all -n apps -l a=zzz", "no Flux resources found in namespace apps with labels a=zzz\n"),
        ("get suspended -A -l a=zzz", "nothing is suspended with labels a=zzz\n"),
        ("get suspended -A --filter name=zz", "the only row does not match the filters\n"),
        ("get suspended -A --ready-status Unknown", "the only row does not match the filters\n"),
    ] {
        let run = super::read(&line.split(' ').collect::<Vec<_>>()).exits(0);
        assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", printed), "{line}");
    }
    super::read(&["get", "ks", "hr", "-A"]).exits(3).stderr_has("kustomizations in any namespace: flux-system, web");
}

#[test]
#[ignore = "slow: it waits for a silent server"]
fn a_silent_server_is_named_within_a_second_also_on_a_dumb_terminal() {
    let _timed = TimedTest::of("offline");
    let server = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = server.local_addr().expect("its address");
    let binary = env!("CARGO_BIN_EXE_flux-operator");
    let cases = [
        ("get instance", "answer"),
        ("get ks -A", "answer"),
        ("suspend ks web -n apps", "look up the kind Kustomization"),
    ];
    for (arguments, attempted) in cases {
        for terminal in ["dumb", "xterm-256color"] {
            let script = format!("{binary} {arguments} --server http://{address} --timeout 20s; echo END");
            let mut shell = Command::new("bash");
            shell.args(["-c", &script]).env_clear().env("TERM", terminal).env("PATH", "/usr/bin:/bin");
            let start = std::time::Instant::now();
            let mut session = spawn_command(shell, Some(10_000)).expect("a terminal");
            let expected = format!("to {attempted}");
            session.exp_string("waiting for").unwrap_or_else(|e| panic!("{arguments}: {e}"));
            session.exp_string(&expected).unwrap_or_else(|e| panic!("{arguments}: {e}"));
            // A loaded machine starts programs late; silence until the time is up would be 20 s.
            assert!(start.elapsed() < std::time::Duration::from_secs(8), "{arguments}");
        }
    }
}

/// A line for every verb that asks a cluster, as far as none of them writes files.
const PATIENT: &[&str] = &[
    "get components",
    "get history",
    "get inventory",
    "get all -A",
    "get suspended",
    "tree instance",
    "tree ks web",
    "trace ks/web",
    "events",
    "logs",
    "stats",
    "status",
    "check",
    "check --pre",
    "version",
    "why",
    "why ks/web",
    "impact ks/web",
    "debug ks web --vars",
    "what-changed",
    "export instance",
    "export ks/web",
    "export report",
    "report /nonexistent/page.html",
    "plan instance",
    "apply instance -f examples/flux.yaml",
    "apply instance -f examples/flux.yaml --in-process",
    "reconcile instance",
    "reconcile instance --in-process",
    "reconcile ks web",
    "reconcile all",
    "suspend instance",
    "resume instance",
    "resume --overdue",
    "wait instance",
    "wait ks web",
    "wait ks web --for=delete",
    "wait revision main@sha1:0123456789012345678901234567890123456789",
    "delete instance --yes",
    "delete ks web --yes",
    "install --image x/y:v1",
    "uninstall instance --in-process --yes",
    "uninstall instance --yes",
    "uninstall operator --yes",
    "rollback instance --in-process --yes",
    "migrate bootstrap",
    "migrate owner ks/a --to ks/b --yes",
    "create secret proxy p --address http://proxy.example.com",
    // The same address as a registry, and as the place of a manifest.
    "build instance -f examples/flux.yaml --distribution oci://ADDRESS/flux:v1",
    "artifact list oci://ADDRESS/app",
    "artifact pull oci://ADDRESS/app:v1 -o /nonexistent",
    "artifact push oci://ADDRESS/app:v1 --path examples --source https://example.com --revision main@sha1:0",
    "artifact diff oci://ADDRESS/app:v1 --path examples",
    "artifact tag oci://ADDRESS/app:v1 --tag v2",
    "distribution versions --distribution oci://ADDRESS/flux:v1",
    "distribution verify oci://ADDRESS/flux:v1",
    "distribution push oci://ADDRESS/flux:v1",
    "distribution check-mirror ADDRESS/flux",
    "distribution mirror ADDRESS/flux --registry ADDRESS/there --dry-run",
    "get components --distribution oci://ADDRESS/flux:v1",
    "install --image x/y:v1 -f http://ADDRESS/flux.yaml",
];

#[test]
#[ignore = "slow: each verb waits on a terminal"]
fn every_verb_reports_that_it_waits_for_a_silent_server() {
    let _timed = TimedTest::of("offline");
    let server = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = server.local_addr().expect("its address");
    let binary = env!("CARGO_BIN_EXE_flux-operator");
    let next = std::sync::atomic::AtomicUsize::new(0);
    let silent = std::sync::Mutex::new(vec![]);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(line) = PATIENT.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    let line = line.replace("ADDRESS", &address.to_string());
                    let script = format!("{binary} {line} --server http://{address} --timeout 30s; echo END");
                    let mut shell = Command::new("bash");
                    shell.args(["-c", &script]).env_clear().env("TERM", "dumb").env("PATH", "/usr/bin:/bin");
                    shell.current_dir(env!("CARGO_MANIFEST_DIR"));
                    let mut session = spawn_command(shell, Some(10_000)).expect("a terminal");
                    if let Err(error) = session.exp_regex("waiting for|Taking the lease") {
                        silent.lock().expect("no panic").push(format!("{line}: {error}"));
                    }
                }
            });
        }
    });
    let silent = silent.into_inner().expect("no panic");
    assert!(silent.is_empty(), "{}", silent.join("\n"));
}
