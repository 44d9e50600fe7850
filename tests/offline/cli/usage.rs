//! Typos, help, version, plugins.

use crate::cli::support::run;

#[test]
fn a_mistyped_command_gets_a_suggestion_and_exit_2() {
    run(&["completio", "bash"]).exits(2).stderr_has("did you mean 'completion'?");
}

#[test]
fn a_mistyped_flag_gets_a_suggestion_and_exit_2() {
    run(&["completion", "--namspace", "x", "bash"]).exits(2).stderr_has("did you mean '--namespace'?");
}

#[test]
fn an_upgrade_takes_a_version_and_no_object() {
    run(&["upgrade", "instance", "2.9.x"]).exits(2).stderr_has("`flux-operator upgrade 2.9.x`");
    run(&["upgrade", "instance"]).exits(2).stderr_has("`flux-operator upgrade`");
    run(&["upgrade", "instance/flux"]).exits(2).stderr_has("--instance names the instance");
}

#[test]
fn an_unknown_shell_lists_the_known_ones() {
    run(&["completion", "basj"]).exits(2).stderr_has("did you mean 'bash'?");
}

#[test]
fn a_usage_error_is_json_when_json_is_asked_for() {
    let run = run(&["completio", "-o", "json"]).exits(2);
    let error: serde_json::Value = serde_json::from_str(&run.stderr).expect("one JSON object");
    assert_eq!(error["category"], "Usage");
    assert_eq!(error["code"], 2);
}

#[test]
fn version_and_help_go_to_stdout() {
    let version = run(&["--version"]).exits(0);
    assert_eq!(version.stdout, format!("flux-operator {}\n", env!("CARGO_PKG_VERSION")));
    assert!(run(&["--help"]).exits(0).stdout.contains("Usage: flux-operator"));
}

#[cfg(unix)]
#[test]
fn an_unknown_word_runs_the_plugin_of_that_name() {
    use std::os::unix::fs::PermissionsExt;

    use crate::cli::support::command;
    let folder = tempfile::tempdir().expect("a folder");
    let plugin = folder.path().join("flux-operator-hello");
    std::fs::write(&plugin, "#!/bin/sh\necho \"hello $1\"; exit 4\n").expect("written");
    std::fs::set_permissions(&plugin, std::fs::Permissions::from_mode(0o755)).expect("executable");
    let output =
        command(&["hello", "world"]).env("PATH", format!("{}:/bin:/usr/bin", folder.path().display())).output();
    let output = output.expect("runs");
    assert_eq!(output.status.code(), Some(4));
    assert_eq!(output.stdout, b"hello world\n");
}

#[test]
fn a_lease_of_a_fraction_of_a_second_is_refused() {
    for lease in ["1900ms", "35.5s", "1m0.25s"] {
        let lease = format!("--leader-election-lease-duration={lease}");
        let line =
            ["controller", &lease, "--leader-election-renew-deadline=1100ms", "--leader-election-retry-period=1s"];
        let refused = run(&line).exits(2);
        refused.stderr_has("a Lease of Kubernetes lasts whole seconds").stderr_has("--leader-election-lease-duration");
    }
}

#[test]
fn a_help_flag_before_the_command_shows_the_help_of_the_command() {
    for (line, same) in [
        ("-h status", "status -h"),
        ("--help get ks", "get ks --help"),
        ("-n apps -h create secret tls", "create secret tls -h"),
        ("-h plan", "plan -h"),
    ] {
        let words = |line: &'static str| line.split(' ').collect::<Vec<_>>();
        let shown = run(&words(line)).exits(0);
        assert_eq!(shown.stdout, run(&words(same)).exits(0).stdout, "{line}");
    }
    let top = run(&["-h"]).exits(0).stdout;
    assert!(top.contains("Inspect"), "{top}");
}

#[test]
fn a_file_that_is_missing_is_a_wrong_command_line_everywhere() {
    let folder = tempfile::TempDir::new().unwrap();
    std::fs::write(folder.path().join("flux.yaml"), "").unwrap();
    let (missing, near) = (folder.path().join("fluxx.yaml"), folder.path().join("flux.yaml"));
    let (missing, near) = (missing.to_str().unwrap(), near.to_str().unwrap());
    for line in [
        "plan -f",
        "apply -f",
        "build -f",
        "diff -f",
        "check -f",
        "migrate -f",
        "build resourceset -f",
        "apply resourceset -f",
        "check --from",
        "why --from",
        "status --from",
        "get ks --from",
        "tree ks/a --from",
        "events --from",
        "stats --from",
        "what-changed --from",
        "report x.html --from",
        "version --from",
        "create secret basic-auth x --username u --password-file",
        "create secret githubapp x --app-id 1 --app-installation-id 2 --app-private-key-file",
        "create secret registry x --server ghcr.io --username u --password-file",
        "create secret sops x --age-key-file",
        "create secret ssh x --knownhosts-file missing --private-key-file",
        "create secret tls x --ca-crt-file",
        "artifact push oci://127.0.0.1:9/a:b --path",
        "artifact diff oci://127.0.0.1:9/a:b --path",
        "artifact list oci://127.0.0.1:9/a --registry-ca",
    ] {
        let mut words: Vec<&str> = line.split(' ').chain([missing]).collect();
        // Never reached: the file is read first.
        if !line.contains("--server") {
            words.extend(["--server", "http://127.0.0.1:9"]);
        }
        run(&words).exits(2).stderr_has(&format!("did you mean {near}?"));
    }
}
