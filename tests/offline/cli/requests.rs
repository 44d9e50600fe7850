//! What the commands that write refuse before they ask for a cluster.

use crate::cli::support::{run, run_with_input};

#[test]
fn an_unknown_kind_gets_a_suggestion_and_exit_2() {
    for verb in ["reconcile", "suspend", "resume", "wait", "export"] {
        run(&[verb, "resource", "gitrepos/a"]).exits(2).stderr_has("did you mean `gitrepo`?");
        run(&[verb, "resource", "a"]).exits(2).stderr_has("unknown kind `a`");
        run(&[verb, "resource", "ks"]).exits(2).stderr_has("write kustomizations/NAME");
        run(&[verb, "resource"]).exits(2).stderr_has("KIND/NAME");
    }
    run(&["reconcile", "all", "--kind", "surces"]).exits(2).stderr_has("unknown kind `surces`");
    run(&["reconcile", "all", "alert"]).exits(2).stderr_has("has no status");
}

#[test]
fn kinds_that_never_answer_are_refused() {
    run(&["reconcile", "resource", "alert/a"]).exits(2).stderr_has("has no status");
    run(&["wait", "resource", "Provider/a"]).exits(2).stderr_has("has no status");
    run(&["suspend", "resource", "ea/a"]).exits(2).stderr_has("nothing to suspend");
    // A wait for its end needs no status; here it only lacks a cluster.
    run(&["wait", "resource", "provider/a", "--for=delete"]).exits(1).stderr_has("no kubeconfig");
}

#[test]
fn flags_of_runs_in_this_process_need_one() {
    run(&["apply", "instance", "-f", "a.yaml", "--strict"]).exits(2).stderr_has("add --in-process");
    run(&["reconcile", "instance", "--distribution", "x"]).exits(2).stderr_has("add --in-process");
    // This one says so itself: it only lacks a cluster.
    run(&["reconcile", "instance", "--force-in-process", "--strict"]).exits(1).stderr_has("no kubeconfig");
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
    run(&["plan", "instance", "flux", "-f", "a"]).exits(2).stderr_has("cannot be used with");
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
