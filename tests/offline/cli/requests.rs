//! Refusals of the writing commands before they need a cluster.

use crate::cli::support::{run, run_with_input};

#[test]
fn an_unknown_kind_gets_a_suggestion_and_exit_2() {
    for verb in ["reconcile", "suspend", "resume", "wait", "export"] {
        run(&[verb, "resource", "gitrpo/a"]).exits(2).stderr_has("did you mean `gitrepo`?");
        run(&[verb, "resource", "a"]).exits(2).stderr_has("unknown kind `a`");
        run(&[verb, "resource"]).exits(2).stderr_has("unknown kind `resource`");
    }
    for verb in ["reconcile", "suspend", "resume"] {
        run(&[verb, "resource", "ks"]).exits(2).stderr_has("write kustomizations/NAME");
    }
    run(&["reconcile", "all", "--kind", "surces"]).exits(2).stderr_has("unknown kind `surces`");
    run(&["reconcile", "all", "alert"]).exits(2).stderr_has("has no status");
}

#[test]
fn an_instance_is_deleted_by_itself() {
    for line in [&["delete", "fi/a", "ks/b", "--yes"][..], &["delete", "instance", "--all", "--yes"]] {
        run(line).exits(2);
    }
    run(&["delete", "instance", "a", "fluxinstance/b", "--yes"]).exits(2);
    run(&["delete", "fluxinstance", "a", "b", "--yes"]).exits(2).stderr_has("delete instance NAME");
    run(&["delete", "instance", "a", "--yes"]).exits(6);
}

#[test]
fn a_flag_of_another_kind_is_refused_by_name() {
    for (line, says) in [
        ("build rset -f x -o images", "-o images is for instances"),
        ("build -f x --live", "--live is for ResourceSets"),
        ("apply rset -f x --strict", "--strict is for instances"),
        ("plan rset/web --out x", "--out is for instances"),
        ("plan --default-service-account x", "--default-service-account is for ResourceSets"),
        ("reconcile ks app --reset", "--reset is for Helm releases, not for kustomizations"),
        ("reconcile instance --with-source", "--with-source is for objects that have a source"),
        ("get -A components", "--all-namespaces is before `components`"),
    ] {
        run(&line.split(' ').collect::<Vec<_>>()).exits(2).stderr_has(says);
    }
}

#[test]
fn kinds_that_never_answer_are_refused() {
    run(&["reconcile", "resource", "alert/a"]).exits(2).stderr_has("has no status");
    run(&["wait", "resource", "Provider/a"]).exits(2).stderr_has("has no status");
    run(&["suspend", "resource", "ea/a"]).exits(2).stderr_has("nothing to suspend");
    // A wait for its end needs no status; here it only lacks a cluster.
    run(&["wait", "resource", "provider/a", "--for=delete"]).exits(6).stderr_has("no kubeconfig");
}

#[test]
fn flags_of_runs_in_this_process_need_one() {
    run(&["apply", "instance", "-f", "a.yaml", "--strict"]).exits(2).stderr_has("add --in-process");
    run(&["reconcile", "instance", "--distribution", "x"]).exits(2).stderr_has("add --in-process");
    // This one says so itself: it only lacks a cluster.
    run(&["reconcile", "instance", "--force-in-process", "--strict"]).exits(6).stderr_has("no kubeconfig");
    run(&["uninstall", "instance", "--keep-crds"]).exits(2).stderr_has("--in-process");
}

#[test]
fn an_apply_needs_an_instance_or_a_plan_and_not_both() {
    run(&["apply", "instance"]).exits(2).stderr_has("--filename <FILE>");
    run(&["apply", "instance", "-f", "a", "--plan", "b"]).exits(2).stderr_has("cannot be used with");
    run(&["apply", "instance", "--plan", "no-such-plan"]).exits(2).stderr_has("plan instance --out FILE");
    let other = "{\"format\": \"flux-operator/plan/v0\"}";
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), other).expect("written");
    let path = file.path().to_str().expect("UTF-8");
    run(&["apply", "instance", "--plan", path]).exits(2).stderr_has("cannot read the plan");
    run(&["plan", "instance", "flux", "-f", "a"]).exits(2).stderr_has("the file contains the name of the object");
}

#[test]
fn a_client_dry_run_of_a_manifest_needs_no_cluster() {
    let manifest = "apiVersion: fluxcd.controlplane.io/v1\nkind: FluxInstance\nmetadata:\n  name: flux\nspec:\n  \
                    distribution: {version: 2.x, registry: ghcr.io/fluxcd}\n";
    let arguments = ["apply", "instance", "-f", "-", "--dry-run=client", "-n", "apps"];
    let run = run_with_input(&arguments, manifest).exits(0).stderr_has("nothing was sent");
    assert!(run.stdout.contains("namespace: apps"), "{}", run.stdout);
    run_with_input(&arguments, manifest.replace("version: 2.x, ", "")).exits(2).stderr_has("version");
    run_with_input(&arguments, "kind: ConfigMap\napiVersion: v1\n").exits(2).stderr_has("no FluxInstance found");

    let set = "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet\nmetadata:\n  name: apps\nspec: {}\n";
    let arguments = ["apply", "resourceset", "-f", "-", "--dry-run=client", "-n", "apps"];
    let run = run_with_input(&arguments, set).exits(0).stderr_has("nothing was sent");
    assert!(run.stdout.contains("namespace: apps"), "{}", run.stdout);
}

#[test]
fn values_of_flags_are_checked_with_what_is_possible() {
    run(&["reconcile", "instance", "--dry-run=never"]).exits(2).stderr_has("client, server");
    run(&["wait", "instance", "--for", "gone"]).exits(2).stderr_has("ready, create, delete");
    run(&["reconcile", "instance", "--progress", "fancy"]).exits(2).stderr_has("auto, plain, json, none");
    run(&["reconcile", "instance", "--wait=maybe"]).exits(2).stderr_has("true, false");
    run(&["reconcile", "instance", "--timeout", "soon"]).exits(2).stderr_has("soon");
    run(&["export", "instance", "-o", "toml"]).exits(2).stderr_has("yaml, json");
}

/// Credential plugins that are shell scripts.
#[cfg(unix)]
mod credential_plugins {
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    use crate::cli::support::{Run, command};

    /// Puts a credential plugin into a folder, and beside it a kubeconfig that names it.
    fn write_plugin(folder: &Path, script: &str, command: &Path, arguments: &[&Path]) {
        std::fs::write(folder.join("plugin"), script).expect("written");
        std::fs::set_permissions(folder.join("plugin"), std::fs::Permissions::from_mode(0o755)).expect("executable");
        let exec = serde_json::json!({"apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "IfAvailable",
            "command": command, "args": arguments});
        let config = serde_json::json!({"apiVersion": "v1", "kind": "Config", "current-context": "a",
            "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
            "clusters": [{"name": "a", "cluster": {"server": "https://127.0.0.1:1"}}],
            "users": [{"name": "a", "user": {"exec": exec}}]});
        std::fs::write(folder.join("config"), config.to_string()).expect("written");
    }

    #[test]
    fn a_credential_plugin_by_its_name_comes_from_absolute_folders_of_path_only() {
        let folder = tempfile::tempdir().expect("a folder");
        write_plugin(folder.path(), "#!/bin/sh\nexit 3\n", Path::new("plugin"), &[]);
        let absolute = folder.path().to_str().expect("UTF-8");
        let nowhere = "cannot be started: no absolute folder in PATH contains it";
        for (path, reported) in
            [(absolute, "ended with exit status: 3"), (".", nowhere), ("", nowhere), ("/nowhere:", nowhere)]
        {
            let mut command = command(&["get", "instance"]);
            command.env("PATH", path).env("KUBECONFIG", folder.path().join("config")).current_dir(folder.path());
            let run = Run::from(command.stdin(Stdio::null()).output().expect("the binary runs"));
            run.exits(5).stderr_has(reported);
        }
    }

    #[test]
    fn messages_of_a_credential_plugin_are_shown_while_it_runs() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = |name: &str| folder.path().join(name);
        let script = "#!/bin/sh\necho 'open example.com and enter the code WDJB-MJHT' >&2\n\
                      while [ ! -e \"$1\" ]; do sleep 0.02; done\nexit 3\n";
        write_plugin(folder.path(), script, &place("plugin"), &[&place("go")]);
        let printed = std::fs::File::create(place("said")).expect("a file");
        let mut child = command(&["get", "instance"])
            .env("KUBECONFIG", place("config"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(printed)
            .spawn()
            .expect("the binary starts");
        let words = || std::fs::read_to_string(place("said")).expect("UTF-8");
        let end = Instant::now() + Duration::from_secs(30);
        while !words().contains("WDJB-MJHT") && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(20));
        }
        let before = words();
        // If the user enters no code, the command still keeps its limit.
        let limited = command(&["get", "instance", "--timeout", "1s"])
            .env("KUBECONFIG", place("config"))
            .stdin(Stdio::null())
            .output()
            .expect("the binary runs");
        Run::from(limited).exits(7).stderr_has("timed out after 1s: the credential plugin has not answered");
        std::fs::write(place("go"), "").expect("written");
        assert_eq!(child.wait().expect("it ends").code(), Some(5), "{}", words());
        assert!(before.contains("WDJB-MJHT"), "{before}, then {}", words());
        assert!(words().contains("ended with exit status: 3"), "{}", words());
    }
}
