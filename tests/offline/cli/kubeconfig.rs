//! Kubeconfigs, tokens and surroundings in which no cluster can be reached: a sentence and an exit code, never a panic.

use std::path::Path;
use std::process::Stdio;

use crate::cli::support::{Run, command};

/// Runs `get instance` with this user in the kubeconfig.
fn with_user(folder: &Path, user: &str, arguments: &[&str]) -> Run {
    let config = folder.join("config");
    let text = format!(
        "current-context: c\ncontexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n\
         clusters: [{{name: k, cluster: {{server: 'https://127.0.0.1:1'}}}}]\nusers: [{{name: u, user: {{{user}}}}}]\n"
    );
    std::fs::write(&config, text).expect("written");
    let mut command = command(&[&["get", "instance"], arguments].concat());
    Run::from(command.env("KUBECONFIG", config).stdin(Stdio::null()).output().expect("the binary runs"))
}

#[test]
fn a_token_with_a_line_end_is_an_error_that_does_not_show_it() {
    let folder = tempfile::tempdir().expect("a folder");
    for (user, arguments, reported) in [
        ("token: \"canary\\n\"", &[][..], "the token cannot be sent: it holds a line end"),
        ("token: t", &["--token", "can\nary"], "the token cannot be sent: it holds a line end"),
        ("tokenFile: none", &[], "token file"),
    ] {
        let run = with_user(folder.path(), user, arguments).exits(6).stderr_has(reported);
        for unwanted in ["ary", "panicked", "trying again"] {
            assert!(!run.stderr.contains(unwanted), "{}", run.stderr);
        }
    }
}

/// Device files and limits of the shell.
#[cfg(unix)]
mod on_unix {
    use std::process::{Command, Stdio};

    use crate::cli::support::{Run, command};

    #[test]
    fn files_without_an_end_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let zero = "/dev/zero";
        let registry = ["artifact", "list", "oci://127.0.0.1:1/a/b"];
        for (arguments, reported) in [
            (&["get", "instance", "--kubeconfig", zero][..], "kubeconfig /dev/zero: it is larger than"),
            (
                &["get", "instance", "--server=https://127.0.0.1:1", "--certificate-authority", zero],
                "certificate-authority /dev/zero: it is larger",
            ),
            (&[&registry[..], &["--registry-ca", zero]].concat(), "it is larger than"),
            (
                &["build", "instance", "-f", "x", "--distribution=oci://127.0.0.1:1/a/b:1", "--verify-key", zero],
                "it is larger than",
            ),
        ] {
            let mut command = command(arguments);
            std::fs::write(folder.path().join("x"), "apiVersion: fluxcd.controlplane.io/v1\nkind: FluxInstance\nmetadata: {name: flux, namespace: flux-system}\nspec: {distribution: {version: 2.x, registry: ghcr.io/fluxcd}}\n").expect("written");
            let run =
                Run::from(command.current_dir(folder.path()).stdin(Stdio::null()).output().expect("the binary runs"));
            let code = if arguments.starts_with(&["get"]) { 6 } else { 1 };
            assert!(run.code == code && run.stderr.contains(reported), "{arguments:?}: {} {}", run.code, run.stderr);
        }
    }

    #[test]
    fn a_process_that_may_open_hardly_any_file_says_so() {
        for limit in 3..=8 {
            let program = env!("CARGO_BIN_EXE_flux-operator");
            let script =
                format!("ulimit -n {limit} && exec \"$0\" get instance --server=https://127.0.0.1:1 --token=t");
            let mut command = Command::new("sh");
            command.args(["-c", &script, program]).env_clear().env("HOME", env!("CARGO_TARGET_TMPDIR"));
            let run = Run::from(command.stdin(Stdio::null()).output().expect("sh runs"));
            assert!(!run.stderr.contains("panicked"), "{limit}: {}", run.stderr);
            // With fewer the program itself cannot be loaded.
            if run.stderr.contains("async runtime") {
                run.exits(1).stderr_has("cannot start the async runtime").stderr_has("ulimit -n");
            } else {
                assert!([1, 6, 127].contains(&run.code), "{limit}: {} {}", run.code, run.stderr);
            }
        }
    }
}

#[test]
fn every_verb_ends_with_6_where_the_kubeconfig_names_no_cluster() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("written");
        path.to_str().expect("UTF-8").to_owned()
    };
    let missing = folder.path().join("missing").to_str().expect("UTF-8").to_owned();
    let context = "contexts: [{name: c, context: {cluster: k}}]\nclusters: [{name: k, cluster: {server: 'https://127.0.0.1:1'}}]\n";
    let instance = file(
        "flux.yaml",
        "apiVersion: fluxcd.controlplane.io/v1\nkind: FluxInstance\nmetadata: {name: flux, namespace: flux-system}\n\
         spec: {distribution: {version: 2.x, registry: ghcr.io/fluxcd}}\n",
    );
    let broken = file("broken", "contexts: [");
    let without_current = file("without-current", context);
    for (flags, reported) in [
        (vec!["--kubeconfig", &missing], "No such file"),
        (vec!["--kubeconfig", &broken], "it is not a kubeconfig in YAML"),
        (vec!["--kubeconfig", &without_current], "no current context"),
        (vec!["--kubeconfig", &without_current, "--context", "x"], "context x is not in the kubeconfig"),
    ] {
        for words in [
            &["get", "ks"][..],
            &["status"],
            &["why"],
            &["check"],
            &["stats"],
            &["wait", "instance"],
            &["report", "-o", "json"],
            &["logs"],
            &["reconcile", "instance"],
            &["suspend", "ks", "a"],
            &["plan", "-f", &instance],
            &["apply", "-f", &instance],
        ] {
            let output = command(&[words, &flags].concat()).stdin(Stdio::null()).output().expect("the binary runs");
            let ended = Run::from(output);
            assert_eq!(ended.code, 6, "{words:?} {flags:?}: {}", ended.stderr);
            if !cfg!(windows) {
                assert!(ended.stderr.contains(reported), "{words:?} {flags:?}: {}", ended.stderr);
            }
        }
    }
}
