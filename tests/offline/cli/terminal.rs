//! Colours and marks on a terminal, by the variables and the locale of the user.

use std::process::Command;

use rexpect::session::spawn_command;
use tempfile::TempDir;
use test_support::fake_cluster::{FakeBehaviour, FakeCluster, write_kubeconfig};
use test_support::run::shown_text;

use crate::cli::support::command;

const DUMP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/offline/cli/inspect/dump.json");

/// Returns a terminal's output with these environment variables.
fn shown(variables: &[(&str, &str)], line: &str) -> String {
    let binary = env!("CARGO_BIN_EXE_flux-operator");
    let script = format!("stty cols 120 rows 50; {binary} {line}; echo E''ND");
    let mut shell = Command::new("bash");
    shell.args(["-c", &script]).env_clear().env("PATH", "/usr/bin:/bin").envs(variables.iter().copied());
    let mut session = spawn_command(shell, Some(20_000)).expect("a terminal");
    let text = session.exp_string("END").expect("the command ends");
    shown_text(&text)
}

#[test]
fn a_dumb_terminal_gets_no_colours() {
    let status = format!("status --from {DUMP}");
    for line in [status.as_str(), "get nope", "--help", "get ks --context nope"] {
        let dumb = shown(&[("TERM", "dumb")], line);
        assert!(!dumb.contains('\u{1b}'), "{line}: {dumb:?}");
    }
    let coloured = shown(&[("TERM", "xterm-256color")], &status);
    assert!(coloured.contains("\u{1b}["), "{coloured:?}");
    let asked_for = shown(&[("TERM", "dumb")], &format!("{status} --color always"));
    assert!(asked_for.contains("\u{1b}["), "{asked_for:?}");
}

#[test]
fn help_and_mistakes_have_colours_where_views_have_them() {
    let status = format!("status --from {DUMP}");
    for line in [status.as_str(), "get nope", "--help"] {
        let shown = shown(&[("TERM", "xterm-256color"), ("CLICOLOR", "0")], line);
        assert!(shown.contains("\u{1b}["), "{line}: {shown:?}");
        let mut piped = command(&line.split(' ').collect::<Vec<_>>());
        let output = piped.env("CLICOLOR_FORCE", "1").output().expect("runs");
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(!text.is_empty() && !text.contains('\u{1b}'), "{line}: {text:?}");
    }
}

#[test]
fn a_terminal_without_utf_8_gets_marks_that_it_can_show() {
    for line in ["status", "tree instance", "check", "why"] {
        let line = format!("{line} --from {DUMP}");
        for locale in [("LC_ALL", "C"), ("LANG", "POSIX"), ("LC_CTYPE", "en_US.ISO-8859-1")] {
            let text = shown(&[("TERM", "xterm"), locale], &line);
            // Names of others are what they are.
            assert!(!text.contains(|c| "✔✗‼◎►→…├└│─█░".contains(c)), "{locale:?} {line}: {text}");
        }
    }
    let tree = format!("tree instance --from {DUMP}");
    for locale in [("LANG", "en_US.UTF-8"), ("LC_ALL", "C.utf8"), ("X", "")] {
        let text = shown(&[("TERM", "xterm"), ("X", ""), locale], &tree);
        assert!(text.contains("├── "), "{locale:?}: {text}");
    }
    // Output for programs is the same everywhere.
    let mut piped = command(&["tree", "instance", "--from", DUMP]);
    let text = String::from_utf8(piped.env("LC_ALL", "C").output().expect("runs").stdout).expect("UTF-8");
    assert!(text.contains("├── "), "{text}");
}

const LEASES: &str = "/apis/coordination.k8s.io/v1/leases";
const DEPLOYMENTS: &str = "/apis/apps/v1/deployments";

#[test]
fn the_end_of_the_input_is_not_the_answer_yes() {
    let folder = TempDir::new().unwrap();
    let cluster = FakeCluster::start("a", FakeBehaviour::Well, &[(LEASES, vec![]), (DEPLOYMENTS, vec![])]);
    write_kubeconfig(folder.path(), &[("a", &cluster.address)]);
    let manifest = folder.path().join("flux.yaml");
    let spec = "spec: {distribution: {version: 2.9.x, registry: ghcr.io/fluxcd}}";
    let meta = "metadata: {name: flux, namespace: flux-system}";
    std::fs::write(&manifest, format!("apiVersion: fluxcd.controlplane.io/v1\nkind: FluxInstance\n{meta}\n{spec}\n"))
        .unwrap();
    let binary = env!("CARGO_BIN_EXE_flux-operator");
    let mut shell = Command::new(binary);
    let kubeconfig = folder.path().join("kubeconfig");
    shell.args(["apply", "--context", "a", "-f"]).arg(&manifest).arg("--kubeconfig").arg(&kubeconfig);
    shell.env_clear().env("PATH", "/usr/bin:/bin").env("TERM", "xterm");
    let mut session = spawn_command(shell, Some(20_000)).expect("a terminal");
    session.exp_string("Reconcile from this terminal? [Y/n] ").expect("the question");
    session.send_control('d').expect("Ctrl-D");
    let text = shown_text(&session.exp_eof().expect("the command ends"));
    assert!(text.contains("cancelled: nothing was changed"), "{text}");
}
