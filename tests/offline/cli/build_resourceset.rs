//! `build resourceset`.

use std::fs;

use serde_json::Value;

use crate::cli::support::{Run, run, run_with_input};

const MANIFEST: &str = "\
apiVersion: fluxcd.controlplane.io/v1
kind: ResourceSet
metadata:
  name: tenants
  namespace: apps
spec:
  inputs:
  - {id: a, tenant: one}
  - {id: b, tenant: two}
  resources:
  - apiVersion: v1
    kind: Namespace
    metadata:
      name: << inputs.tenant >>
";

fn build(input: &str, more: &[&str]) -> Run {
    run_with_input(&[&["build", "resourceset", "-f", "-"], more].concat(), input)
}

#[test]
fn every_format_prints_the_objects_of_every_input_set() {
    let output = build(MANIFEST, &[]).exits(0);
    assert_eq!(output.stderr, "");
    let one = "---\napiVersion: v1\nkind: Namespace\nmetadata:\n  labels:\n    \
               resourceset.fluxcd.controlplane.io/name: tenants\n    \
               resourceset.fluxcd.controlplane.io/namespace: apps\n  name: one\n";
    assert_eq!(output.stdout, [one, &one.replace("name: one", "name: two")].concat());
    assert_eq!(build(MANIFEST, &["-o", "name"]).exits(0).stdout, "namespace/one\nnamespace/two\n");
    let list: Value = serde_json::from_str(&build(MANIFEST, &["-o", "json"]).exits(0).stdout).unwrap();
    assert_eq!((list["kind"].as_str(), list["items"].as_array().map(Vec::len)), (Some("List"), Some(2)));
    assert_eq!(run_with_input(&["build", "rset", "-f", "-"], MANIFEST).exits(0).stdout, output.stdout);
}

#[test]
fn explain_names_the_template_and_the_input_set() {
    let table = build(MANIFEST, &["--explain"]).exits(0).stdout;
    let second = table.lines().last().unwrap();
    assert!(second.contains("spec.resources[0]") && second.ends_with("1 of ResourceSet/apps/tenants, id b"), "{table}");
    let json: Value = serde_json::from_str(&build(MANIFEST, &["--explain", "-o", "json"]).exits(0).stdout).unwrap();
    assert_eq!(json["objects"][1]["input"]["id"], "b");
}

#[test]
fn inputs_come_from_files() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let sets = write("sets.yaml", "- {tenant: filed}\n");
    assert_eq!(build(MANIFEST, &["-i", &sets, "-o", "name"]).exits(0).stdout, "namespace/filed\n");
    let provider = "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSetInputProvider\nmetadata: {name: p}\n\
                    spec: {type: Static, defaultValues: {tenant: provided}}\n";
    let providers = write("providers.yaml", provider);
    let manifest = MANIFEST.replace("  resources:", "  inputsFrom:\n  - name: p\n  resources:");
    build(&manifest, &[]).exits(2).stderr_has("--inputs-from-provider");
    let output = build(&manifest, &["--inputs-from-provider", &providers, "-o", "name"]).exits(0);
    assert_eq!(output.stdout, "namespace/one\nnamespace/two\nnamespace/provided\n");
    let github = write("github.yaml", &provider.replace("Static", "GitHubBranch"));
    build(&manifest, &["--inputs-from-provider", &github])
        .exits(2)
        .stderr_has("unsupported provider type 'GitHubBranch', only 'Static' is supported");
}

#[test]
fn inputs_come_from_what_the_providers_of_a_dump_have_exported() {
    let folder = tempfile::tempdir().unwrap();
    let dump = folder.path().join("dump.yaml");
    let provider = |name: &str, status: &str| {
        format!(
            "- apiVersion: fluxcd.controlplane.io/v1\n  kind: ResourceSetInputProvider\n  metadata: {{name: {name}, namespace: apps}}\n  \
             spec: {{type: GitHubBranch, url: 'https://github.com/o/r'}}\n  status: {status}\n"
        )
    };
    let exported = "{lastExportedRevision: 'sha256:0', exportedInputs: [{id: '1', tenant: exported}]}";
    let items = [provider("p", exported), provider("q", "{}")].concat();
    fs::write(&dump, format!("apiVersion: v1\nkind: List\nitems:\n{items}")).unwrap();
    let dump = dump.to_str().unwrap();
    let manifest = MANIFEST.replace("  resources:", "  inputsFrom:\n  - name: p\n  resources:");
    let output = build(&manifest, &["--from", dump, "-o", "name"]).exits(0);
    assert_eq!(output.stdout, "namespace/one\nnamespace/two\nnamespace/exported\n");
    build(&manifest.replace("name: p", "selector: {}"), &["--from", dump])
        .exits(1)
        .stderr_has("ResourceSetInputProvider/apps/q has not exported inputs yet");
    build(&manifest, &["--from", dump, "--live"]).exits(2);
}

#[test]
fn errors_name_the_template_and_the_input_set() {
    let reported = build(&MANIFEST.replace("b, tenant: two", "b"), &[]).exits(1);
    assert_eq!(reported.stdout, "");
    let reported = reported.stderr_has("error: cannot build the ResourceSet of standard input");
    let reported = reported.stderr_has("map has no entry for key \"tenant\"");
    reported.stderr_has("at spec.resources[0], line 4 of its text, input set 1 (id b, of ResourceSet/apps/tenants)");
    build("a: [", &[]).exits(2).stderr_has("error parsing ResourceSet");
    run(&["build", "resourceset"]).exits(2).stderr_has("--filename");
}

#[test]
fn warnings_are_errors_with_strict() {
    let manifest = MANIFEST.replace("  resources:", "  resourceTemplate: typo\n  resources:");
    build(&manifest, &[]).exits(0).stderr_has("spec.resourceTemplate does not exist");
    let output = build(&manifest, &["--strict"]).exits(1);
    assert_eq!(output.stdout, "");
    output.stderr_has("spec.resourceTemplate does not exist");
    build(MANIFEST, &["--strict"]).exits(0);
}

#[test]
fn warnings_stand_before_the_error_of_a_build() {
    let manifest = MANIFEST.replace("  resources:", "  resourceTemplate: typo\n  resources:");
    for (flawed, error) in [
        (manifest.replace("inputs.tenant", "inputs.tenamt"), "map has no entry for key"),
        (manifest.replace("spec:", "spec:\n  inputStrategy: {name: Other}"), "unknown input strategy: 'Other'"),
    ] {
        for more in [&[][..], &["-o", "json"], &["--strict"]] {
            let stderr = build(&flawed, more).exits(1).stderr;
            let position = |text: &str| stderr.find(text).unwrap_or_else(|| panic!("{text} is not in {stderr}"));
            assert!(position("spec.resourceTemplate does not exist") < position(error), "{stderr}");
        }
    }
}

#[test]
fn a_manifest_without_a_namespace_is_built_for_the_flag() {
    let manifest = MANIFEST.replace("  namespace: apps\n", "");
    let label = "resourceset.fluxcd.controlplane.io/namespace: ";
    assert!(build(&manifest, &[]).exits(0).stdout.contains(&format!("{label}default\n")));
    assert!(build(&manifest, &["-n", "here"]).exits(0).stdout.contains(&format!("{label}here\n")));
}
