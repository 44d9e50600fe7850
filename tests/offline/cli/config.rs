//! The configuration file of a user: what it may hold, and what wins over it.

use std::fs;

use tempfile::TempDir;

use crate::cli::support::{Run, command, printed_path};

/// A configuration folder with this file.
fn folder(text: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("flux-operator")).expect("made");
    fs::write(folder.path().join("flux-operator/config.yaml"), text).expect("written");
    folder
}

fn run(folder: &TempDir, arguments: &[&str], environment: &[(&str, &str)]) -> Run {
    let mut command = command(arguments);
    let output = command.env("XDG_CONFIG_HOME", folder.path()).envs(environment.iter().copied()).output();
    output.expect("the binary ends").into()
}

const VERSIONS: &[&str] = &["distribution", "versions"];

#[test]
fn a_flag_wins_over_the_environment_over_the_file_over_the_default() {
    let folder = folder("output: json\n");
    let variable = [("FLUX_OPERATOR_OUTPUT", "name")];
    assert!(run(&folder, VERSIONS, &[]).exits(0).stdout.starts_with('{'));
    let by_variable = run(&folder, VERSIONS, &variable).exits(0).stdout;
    assert!(!by_variable.starts_with('{') && !by_variable.contains("VERSION"), "{by_variable}");
    let by_flag = run(&folder, &[VERSIONS, &["-o", "table"]].concat(), &variable).exits(0).stdout;
    assert!(by_flag.starts_with("VERSION"), "{by_flag}");
    assert!(run(&tempfile::tempdir().expect("a folder"), VERSIONS, &[]).exits(0).stdout.starts_with("VERSION"));
}

#[test]
fn a_default_that_does_not_fit_a_command_is_left_out() {
    const DUMP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/offline/cli/inspect/dump.json");
    let nothing = folder("");
    for (format, lines) in [
        ("name", &[&["check"][..], &["stats"], &["debug", "ks", "web", "-n", "apps", "--vars"]][..]),
        ("custom-columns=N:.name", &[&["check"], &["status"], &["why"], &["tree", "instance"]]),
    ] {
        let by_file = folder(&format!("output: {format}\n"));
        for line in lines {
            let line = [line, &["--from", DUMP][..]].concat();
            let usual = run(&nothing, &line, &[]);
            for (folder, variables) in [(&by_file, &[][..]), (&nothing, &[("FLUX_OPERATOR_OUTPUT", format)])] {
                let found = run(folder, &line, variables);
                assert_eq!((&found.stdout, found.code), (&usual.stdout, usual.code), "{line:?}: {}", found.stderr);
            }
            run(&nothing, &[&line[..], &["-o", format]].concat(), &[]).exits(2);
        }
    }
    // Of two values, the one that the command supports is used.
    let json = folder("output: json\n");
    let variable = [("FLUX_OPERATOR_OUTPUT", "name")];
    assert!(run(&json, &["stats", "--from", DUMP], &variable).exits(0).stdout.starts_with('{'));
    run(&nothing, &["report", "-", "--from", DUMP], &variable).exits(0).stdout_has("<!doctype html>");
}

#[test]
fn the_namespace_of_the_file_is_used_where_nothing_else_names_one() {
    let folder = folder("namespace: usual\n");
    let create = ["create", "instance", "--export"];
    run(&folder, &create, &[]).exits(0).stdout_has("namespace: usual");
    run(&folder, &create, &[("FLUX_OPERATOR_NAMESPACE", "other")]).exits(0).stdout_has("namespace: other");
    run(&folder, &[&create[..], &["-n", "mine"]].concat(), &[]).exits(0).stdout_has("namespace: mine");
    // A manifest names its namespace: a configured default does not contradict it, a flag does.
    let manifest = folder.path().join("flux.yaml");
    let text = run(&folder, &[&create[..], &["-n", "apps"]].concat(), &[]).stdout;
    fs::write(&manifest, text).expect("written");
    let build = ["build", "instance", "-f", manifest.to_str().expect("UTF-8")];
    run(&folder, &build, &[]).exits(0).stdout_has("namespace: apps");
    run(&folder, &[&build[..], &["-n", "mine"]].concat(), &[]).exits(2);
}

#[test]
fn the_colour_of_the_file_holds_also_in_a_pipe() {
    let folder = folder("color: always\n");
    let failing = ["explain", "nonsense"];
    assert!(run(&folder, &failing, &[]).stderr.contains("\u{1b}["));
    assert!(!run(&folder, &[&failing[..], &["--color", "never"]].concat(), &[]).stderr.contains("\u{1b}["));
}

#[test]
fn an_alias_is_replaced_by_its_words_and_never_replaces_a_command() {
    let folder =
        folder("aliases: {dv: 'distribution versions', version: 'explain fluxinstance', out: \"get ks 'a b'\"}\n");
    let usual = run(&folder, VERSIONS, &[]).exits(0);
    assert_eq!(run(&folder, &["dv"], &[]).exits(0).stdout, usual.stdout);
    let names = run(&folder, &[VERSIONS, &["-o", "name"]].concat(), &[]).exits(0).stdout;
    assert_eq!(run(&folder, &["--color", "never", "dv", "-o", "name"], &[]).exits(0).stdout, names);
    assert!(!run(&folder, &["version", "--client"], &[]).stdout.contains("FluxInstance"), "a command wins");
    for wrong in ["--color never", "get 'ks", ""] {
        let wrong = self::folder(&format!("aliases:\n  x: \"{wrong}\"\n"));
        run(&wrong, VERSIONS, &[]).exits(2).stderr_has("line 2: aliases.x: the alias `");
    }
}

#[test]
fn the_settings_in_use_name_their_origins() {
    let folder = folder("output: wide\naliases: {dv: distribution versions}\n");
    let variables = [("FLUX_OPERATOR_NAMESPACE", "apps"), ("FLUX_OPERATOR_PAGER", "less")];
    let view = run(&folder, &["config", "view"], &variables).exits(0);
    let view = view
        .stdout_has(&printed_path("flux-operator/config.yaml\n"))
        .stdout_has("# pager less (variable FLUX_OPERATOR_PAGER)");
    for (key, value, origin) in [
        ("namespace", "\"apps\"", "variable FLUX_OPERATOR_NAMESPACE"),
        ("output", "\"wide\"", "configuration file"),
        ("color", "\"auto\"", "default"),
        ("inProcess", "false", "default"),
        ("aliases", "{\"dv\":\"distribution versions\"}", "configuration file"),
    ] {
        let line = view.stdout.lines().find(|line| line.starts_with(&format!("{key}: "))).expect(key);
        assert!(line.contains(value) && line.ends_with(&format!("# {origin}")), "{line}");
    }
    let by_flag = run(&folder, &["config", "view", "-n", "mine", "--color", "never"], &[]).exits(0);
    by_flag.stdout_has("# flag --namespace").stdout_has("# flag --color");
    // The view is a file that gives the same settings.
    let again = self::folder(&view.stdout);
    run(&again, &["config", "view"], &variables).exits(0).stdout_has("aliases: {\"dv\"");
}

#[test]
fn an_unknown_key_is_refused_with_its_line_and_help_still_helps() {
    let folder = folder("# mine\nnamspace: apps\n");
    let refused = run(&folder, VERSIONS, &[]).exits(2);
    refused
        .stderr_has(&printed_path("flux-operator/config.yaml"))
        .stderr_has("line 2: ")
        .stderr_has("namspace")
        .stderr_has("hint: ");
    run(&folder, &["--help"], &[]).exits(0);
}

#[test]
fn a_pattern_of_contexts_that_would_protect_nothing_is_refused_at_its_line() {
    let wrong = folder("protectedContexts:\n- live\n- \"prod-[\"\n");
    let refused = run(&wrong, VERSIONS, &[]).exits(2);
    refused
        .stderr_has(&printed_path("flux-operator/config.yaml"))
        .stderr_has("line 3: ")
        .stderr_has("the pattern prod-[ holds a [: only * ");
    // The variable is blamed itself.
    let variable = |patterns| run(&folder(""), VERSIONS, &[("FLUX_OPERATOR_PROTECTED_CONTEXTS", patterns)]);
    let refused = variable("live, prod-[ab").exits(2).stderr_has("the variable FLUX_OPERATOR_PROTECTED_CONTEXTS");
    refused.stderr_has("the pattern prod-[ab holds a [").stderr_has("write a pattern for each name");
    variable("live, prod-*,eu?").exits(0);
}
