//! `build instance`.

use std::fs;

use flux_operator::format::yaml;
use serde_json::Value;

use crate::cli::support::{Run, command, run, run_with_input};

const MINIMAL: &str = "\
apiVersion: fluxcd.controlplane.io/v1
kind: FluxInstance
metadata:
  name: flux
  namespace: flux-system
spec:
  distribution:
    version: 2.9.4
    registry: ghcr.io/fluxcd
";

fn build(input: &str, more: &[&str]) -> Run {
    run_with_input(&[&["build", "instance", "-f", "-"], more].concat(), input)
}

fn with_patches(patches: &str) -> String {
    format!("{MINIMAL}  kustomize:\n    patches:\n{patches}")
}

const PATCHES: &str = "    - target: {kind: Deployment, name: (helm|kustomize)-controller}
      patch: |
        - {op: add, path: /spec/template/spec/containers/0/args/-, value: --concurrent=7}
    - target: {kind: Job}
      patch: |
        - {op: remove, path: /spec}
";

#[test]
fn the_default_instance_prints_32_documents_in_apply_order() {
    let output = build(MINIMAL, &[]).exits(0);
    assert_eq!(output.stderr, "");
    assert!(output.stdout.starts_with("---\n"));
    let objects = yaml::parse_documents(&output.stdout).unwrap();
    assert_eq!(objects.len(), 32);
    assert_eq!(objects[0]["kind"], "CustomResourceDefinition");
    assert_eq!(objects[11]["kind"], "Namespace");
    assert_eq!(objects[31]["kind"], "NetworkPolicy");
    assert_eq!(build(MINIMAL, &[]).stdout, output.stdout);
}

#[test]
fn every_format_prints_the_same_objects() {
    let documents = yaml::parse_documents(&build(MINIMAL, &[]).exits(0).stdout).unwrap();
    let list: Value = serde_json::from_str(&build(MINIMAL, &["-o", "json"]).exits(0).stdout).unwrap();
    assert_eq!((list["kind"].as_str(), list["items"].as_array()), (Some("List"), Some(&documents)));
    let names = build(MINIMAL, &["-o", "name"]).exits(0).stdout;
    assert_eq!(names.lines().count(), 32);
    assert!(names.contains("deployment.apps/source-controller\n") && names.contains("namespace/flux-system\n"));
    let images = build(MINIMAL, &["-o", "images"]).exits(0).stdout;
    let images: Vec<_> = images.lines().collect();
    assert_eq!(images.len(), 4);
    assert!(
        images.is_sorted()
            && images.iter().all(|image| image.starts_with("ghcr.io/fluxcd/") && image.contains("@sha256:"))
    );
}

#[test]
fn revision_prints_only_the_revision() {
    let output = build(MINIMAL, &["--revision"]).exits(0);
    assert!(output.stdout.starts_with("v2.9.4@sha256:") && output.stdout.lines().count() == 1, "{}", output.stdout);
    let json: Value = serde_json::from_str(&build(MINIMAL, &["--revision", "-o", "json"]).exits(0).stdout).unwrap();
    assert_eq!(json["revision"], output.stdout.trim());
}

#[test]
fn the_object_of_a_cluster_builds_as_it_was_exported() {
    let live = MINIMAL.replace(
        "  name: flux\n",
        "  name: flux\n  uid: a\n  resourceVersion: '5'\n  generation: 2\n  managedFields: []\n",
    ) + "status:\n  conditions: []\n  whatever: true\n";
    assert_eq!(build(&live, &["-o", "name"]).exits(0).stdout.lines().count(), 32);
}

#[test]
fn one_instance_among_other_documents_is_enough_and_two_are_too_many() {
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: flux-system}\n";
    let among = format!("---\n{namespace}---\n{MINIMAL}---\n# nothing\n");
    assert_eq!(build(&among, &["-o", "name"]).exits(0).stdout.lines().count(), 32);
    build(&format!("{MINIMAL}---\n{MINIMAL}"), &[])
        .exits(2)
        .stderr_has("cannot read a FluxInstance from standard input")
        .stderr_has("2 FluxInstances found");
    build(namespace, &[])
        .exits(2)
        .stderr_has("no FluxInstance found: there is Namespace v1")
        .stderr_has("hint: write one with `flux-operator create instance`");
    build("", &[]).exits(2).stderr_has("there are no objects");
}

#[test]
fn files_are_read_and_other_places_are_refused_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("flux.yaml");
    fs::write(&file, MINIMAL).unwrap();
    assert_eq!(
        run(&["build", "instance", "-f", file.to_str().unwrap(), "-o", "images"]).exits(0).stdout.lines().count(),
        4
    );
    assert_eq!(
        run(&["build", "instance", "--filename", file.to_str().unwrap(), "-o", "images"])
            .exits(0)
            .stdout
            .lines()
            .count(),
        4
    );
    assert_eq!(run(&["build", "-f", file.to_str().unwrap(), "-o", "images"]).exits(0).stdout.lines().count(), 4);
    run(&["build", "instance", "-f", folder.path().to_str().unwrap()])
        .exits(2)
        .stderr_has("caused by: it is a directory")
        .stderr_has("hint: pass one file with one FluxInstance; it holds flux.yaml");
    let typo = folder.path().join("fluks.yaml");
    run(&["build", "instance", "-f", typo.to_str().unwrap()])
        .exits(2)
        .stderr_has(&format!("error: cannot read {}", typo.display()))
        .stderr_has(&format!("hint: did you mean {}?", file.display()));
    run(&["build", "instance", "-f", "https://example.com/flux.yaml"])
        .exits(2)
        .stderr_has("caused by: files are not downloaded")
        .stderr_has("hint: pipe it in: curl -fsSL https://example.com/flux.yaml | flux-operator build -f -");
    run(&["build", "instance"]).exits(2).stderr_has("--filename");
}

#[test]
fn standard_input_is_one_thing_only() {
    let reported = "caused by: it is already used for the FluxInstance, so it cannot be used for the distribution";
    build(MINIMAL, &["--distribution", "-"])
        .exits(2)
        .stderr_has("error: standard input can be read once only")
        .stderr_has(reported)
        .stderr_has("hint: give one of them as a file");
}

#[test]
fn hostile_input_is_refused_quickly() {
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]\nh: [*g,*g,*g,*g,*g,*g,*g,*g,*g]\n";
    for input in [
        bomb.as_bytes().to_vec(),
        "[".repeat(10_000).into_bytes(),
        vec![b'a'; 50 << 20],
        format!("{MINIMAL}  x: \"\0\"\n").into_bytes(),
        b"\xff\xfe\x00".to_vec(),
        format!("{MINIMAL}spec: {{}}\n").into_bytes(),
    ] {
        let started = std::time::Instant::now();
        let output = run_with_input(&["build", "instance", "-f", "-"], input);
        assert!(started.elapsed().as_secs() < 20);
        assert!(matches!(output.code, 1 | 2), "{output:?}");
        assert!(output.stderr.starts_with("error: cannot read") && output.stdout.is_empty());
    }
    let windows = format!("\u{feff}{}", MINIMAL.replace('\n', "\r\n"));
    assert_eq!(build(&windows, &["-o", "images"]).exits(0).stdout.lines().count(), 4);
}

#[test]
fn patches_are_explained_in_one_row_each() {
    let output = build(&with_patches(PATCHES), &["--explain-patches"]).exits(0);
    let rows: Vec<Vec<String>> = output
        .stdout
        .lines()
        .map(|line| line.split("   ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_string).collect())
        .collect();
    assert_eq!(rows[0], ["PATCH", "TARGET", "OBJECTS", "CHANGED"]);
    assert_eq!(
        rows[1],
        [
            "0",
            "kind=Deployment,name=(helm|kustomize)-controller",
            "Deployment/flux-system/kustomize-controller, Deployment/flux-system/helm-controller",
            "spec.template.spec.containers[name=manager].args"
        ]
    );
    assert_eq!(rows[2], ["1", "kind=Job", "no match", "<none>"]);
    assert_eq!(rows.len(), 3);
    assert!(output.stdout.lines().all(|line| !line.ends_with(' ') && !line.contains('\t')));
    let json: Value =
        serde_json::from_str(&build(&with_patches(PATCHES), &["--explain-patches", "-o", "json"]).exits(0).stdout)
            .unwrap();
    assert_eq!(json[0]["objects"][1]["object"], "Deployment/flux-system/helm-controller");
}

#[test]
fn a_patch_without_effect_warns_and_fails_when_strict() {
    let input = with_patches(PATCHES);
    build(&input, &["-o", "name"])
        .exits(0)
        .stderr_has("warning: spec.kustomize.patches[1]: the target kind=Job selects nothing\n")
        .stderr_has("hint: the kinds that are built are");
    let output = build(&input, &["--strict"]).exits(1);
    assert_eq!(output.stdout, "");
    output
        .stderr_has("error: cannot build FluxInstance/flux-system/flux\n")
        .stderr_has("caused by: spec.kustomize.patches[1]: the target kind=Job selects nothing");
}

#[test]
fn a_strategic_patch_without_target_lists_the_candidates() {
    let patch =
        "    - patch: |\n        apiVersion: apps/v1\n        kind: Deployment\n        metadata: {name: helm}\n";
    build(&with_patches(patch), &[])
        .exits(1)
        .stderr_has("no resource matches strategic merge patch")
        .stderr_has("Deployment/helm-controller");
}

#[test]
fn errors_are_json_when_the_output_is() {
    let broken = MINIMAL.replace("2.9.4", "2.99.x");
    let output = build(&broken, &["-o", "json"]).exits(1);
    let error: Value = serde_json::from_str(&output.stderr).unwrap();
    assert_eq!(error["object"], "FluxInstance/flux-system/flux");
    assert!(error["causes"][0].as_str().unwrap().starts_with("no match found for semver: 2.99.x"), "{error}");
    assert!(error["hints"][0].as_str().unwrap().contains("distribution versions"), "{error}");
}

#[test]
fn an_unknown_registry_warns_with_the_remedy_and_fails_when_strict() {
    let mirror = MINIMAL.replace("ghcr.io/fluxcd", "registry.example.com/flux");
    let output = build(&mirror, &["-o", "images"]).exits(0);
    assert!(output.stdout.lines().all(|image| image.starts_with("registry.example.com/flux/") && !image.contains('@')));
    assert_eq!(output.stderr.lines().filter(|line| line.starts_with("warning:")).count(), 1);
    output.stderr_has("hint: set spec.distribution.variant");
    build(&mirror, &["--strict"]).exits(1).stderr_has("hint: set spec.distribution.variant");
}

#[test]
fn the_namespace_of_the_manifest_wins_and_another_one_is_refused() {
    let unset = MINIMAL.replace("  namespace: flux-system\n", "");
    build(&unset, &["-o", "name"]).exits(0).stdout_has("namespace/flux-system\n");
    build(&unset, &["-o", "name", "-n", "other"])
        .exits(0)
        .stdout_has("namespace/other\n")
        .stdout_has("crd-controller-other");
    build(MINIMAL, &["-n", "flux-system", "--revision"]).exits(0);
    build(MINIMAL, &["-n", "other"]).exits(2).stderr_has("metadata.namespace");
}

#[test]
fn all_problems_of_a_manifest_are_reported_at_once_with_their_lines() {
    let broken = MINIMAL.replace("    version: 2.9.4\n", "    versoin: 2.9.4\n") + "  components: [foo]\n";
    let output = build(&broken, &[]).exits(2);
    assert!(output.stderr.matches("caused by:").count() >= 3, "{}", output.stderr);
    output.stderr_has("versoin").stderr_has("did you mean").stderr_has("line 8").stderr_has("line 10");
}

#[test]
fn another_distribution_can_be_built_from() {
    let folder = tempfile::tempdir().unwrap();
    write_distribution(folder.path());
    let input = MINIMAL.replace("2.9.4", "9.x") + "  components: [source-controller]\n";
    let path = folder.path().to_str().unwrap();
    let output = build(&input, &["--distribution", path, "--allow-unknown-minor", "-o", "name"]).exits(0);
    build(&input, &["--distribution", path])
        .exits(1)
        .stderr_has("does not know the minor version")
        .stderr_has("of flux v9.9.9 in the distribution");
    output
        .stdout_has("deployment.apps/source-controller\n")
        .stderr_has("warning: variant upstream-alpine has no digests");
    let missing = folder.path().join("nope");
    build(&input, &["--distribution", missing.to_str().unwrap()])
        .exits(1)
        .stderr_has(&format!("error: cannot get the distribution from {}", missing.display()));
}

/// The revision is a promise: this distribution never changes, so neither may the digest of what is built from it.
#[test]
fn the_revision_of_a_fixed_distribution_is_pinned() {
    let folder = tempfile::tempdir().unwrap();
    write_distribution(folder.path());
    let input = MINIMAL.replace("2.9.4", "9.9.9") + "  components: [source-controller]\n";
    let revision =
        build(&input, &["--distribution", folder.path().to_str().unwrap(), "--allow-unknown-minor", "--revision"])
            .exits(0)
            .stdout;
    assert_eq!(revision.trim(), "v9.9.9@sha256:a288d6d8a6573a7099a5c3506d265774943b872059895571996fe1c006c942d7");
}

fn write_distribution(folder: &std::path::Path) {
    let manifests = folder.join("flux/v9.9.9");
    fs::create_dir_all(&manifests).unwrap();
    let component = "\
apiVersion: v1
kind: ServiceAccount
metadata: {name: source-controller}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: source-controller}
spec:
  replicas: 1
  template:
    spec:
      containers:
      - name: manager
        image: fluxcd/source-controller:v9.0.0
        args: [--events-addr=, --watch-all-namespaces=true, --log-level=info]
";
    fs::write(manifests.join("source-controller.yaml"), component).unwrap();
    let roles =
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: crd-controller}\nrules: []\n";
    fs::write(manifests.join("rbac.yaml"), roles).unwrap();
    let policies = "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: allow-egress}\nspec: {podSelector: {}}\n";
    fs::write(manifests.join("policies.yaml"), policies).unwrap();
}

/// The whole way through, judged by another implementation: the same manifests, with the same changes written as patches.
/// A shell script writes the patches.
#[cfg(unix)]
#[test]
fn the_default_instance_is_what_kustomize_makes_of_the_same_manifests() {
    if !test_support::needs::has_kubectl() {
        return;
    }
    for version in ["2.9.4", "2.9.0"] {
        let folder = tempfile::tempdir().unwrap();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/equivalent-folder.sh");
        let written = std::process::Command::new(script)
            .args([env!("CARGO_BIN_EXE_flux-operator"), version])
            .arg(folder.path())
            .output()
            .unwrap();
        assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
        let output = std::process::Command::new("kubectl").arg("kustomize").arg(folder.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let sorted = |text: &str| {
            let mut objects = yaml::parse_documents(text).unwrap();
            objects.sort_by_key(|object| format!("{} {}", object["kind"], object["metadata"]["name"]));
            objects
        };
        let mut ours = sorted(&build(&MINIMAL.replace("2.9.4", version), &[]).exits(0).stdout);
        for object in &mut ours {
            let labels = object["metadata"]["labels"].as_object_mut().unwrap();
            assert!(labels.remove("fluxcd.controlplane.io/name").is_some());
            assert!(labels.remove("fluxcd.controlplane.io/namespace").is_some());
        }
        let theirs = sorted(&String::from_utf8_lossy(&output.stdout));
        assert_eq!(ours.len(), theirs.len());
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert_eq!(ours, theirs, "{version}");
        }
    }
}

fn with_artifact(artifact: &str) -> String {
    MINIMAL.replace("registry: ghcr.io/fluxcd", &format!("registry: ghcr.io/fluxcd\n    artifact: {artifact}"))
}

#[test]
fn an_artifact_of_ones_own_that_is_out_of_reach_is_an_error_that_names_it() {
    for artifact in
        ["oci://registry.invalid/m:v2", "oci://registry.invalid/controlplaneio-fluxcd/flux-operator-manifests"]
    {
        let input = with_artifact(artifact);
        let refused = build(&input, &["--revision"]).exits(6);
        let refused = refused.stderr_has(&format!("cannot get the distribution from {artifact}"));
        assert_eq!(refused.stderr_has("hint: --distribution builds it from elsewhere").stdout, "");
        build(&input, &["--offline"]).exits(1).stderr_has(artifact);
    }
    build(MINIMAL, &["--distribution", "oci://registry.invalid/m:v2"]).exits(6);
}

#[test]
fn the_default_artifact_is_replaced_by_the_embedded_distribution_where_there_is_no_network() {
    const DEFAULT: &str = "oci://ghcr.io/controlplaneio-fluxcd/flux-operator-manifests";
    let embedded = build(MINIMAL, &["--revision"]).exits(0).stdout;
    for tag in ["", ":latest", ":v0.58.1"] {
        let artifact = format!("{DEFAULT}{tag}");
        let replaced = build(&with_artifact(&artifact), &["--revision", "--offline"]).exits(0);
        let replaced = replaced.stderr_has(&format!("warning: {artifact} cannot be pulled with --offline"));
        assert_eq!(replaced.stderr_has("built from the embedded distribution").stdout, embedded);
    }
    let input = with_artifact(&format!("{DEFAULT}:latest"));
    // A name that has no address is not asked for as often as a server that does not answer.
    let begin = std::time::Instant::now();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("flux.yaml");
    std::fs::write(&file, &input).unwrap();
    let file = file.display().to_string();
    let mut unresolved = command(&["build", "instance", "-f", &file, "--revision"]);
    unresolved.env("HTTPS_PROXY", "http://proxy.invalid:3128");
    let replaced = Run::from(unresolved.output().unwrap()).exits(0);
    let replaced = replaced.stderr_has("flux-operator-manifests:latest cannot be pulled;").stderr_has("--strict");
    assert_eq!(replaced.stdout, embedded);
    assert!(begin.elapsed() < std::time::Duration::from_secs(5), "{:?}", begin.elapsed());

    // A digest, a key and --strict ask for exactly that artifact.
    build(&input, &["--strict", "--offline"]).exits(1).stderr_has("connections are not allowed");
    let key = concat!(env!("CARGO_MANIFEST_DIR"), "/crates/oci/src/samples/cosign.pub");
    build(&input, &["--offline", "--verify-key", key]).exits(1).stderr_has("connections are not allowed");
    let digest = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let pinned = with_artifact(&format!("{DEFAULT}:latest@{digest}"));
    build(&pinned, &["--offline"]).exits(1).stderr_has(digest);
}
