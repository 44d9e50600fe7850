//! Every example manifest, ours and those of the API's documentation, is read and builds.

use std::path::{Path, PathBuf};

use flux_operator::api::CheckedInstance;
use flux_operator::api::manifest::{self, ManifestError, NamespaceChoice};
use flux_operator::build::{self, Build, BuildOptions};
use flux_operator::distribution::Distribution;
use flux_operator::format::yaml;
use serde_json::{Value, json};

use crate::instance_specs::{ACCEPTED, REFUSED, Refused, instance};
use test_support::needs;

fn read(text: &str) -> Result<CheckedInstance, ManifestError> {
    manifest::read(text, &NamespaceChoice::default()).map(|manifest| manifest.instance)
}

#[track_caller]
fn builds(what: &str, instance: &CheckedInstance) -> Build {
    build::build(instance, &Distribution::embedded(), &BuildOptions::default())
        .unwrap_or_else(|error| panic!("{what}: {error}: {:?}", std::error::Error::source(&error)))
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|other| other == extension));
    files.sort();
    files
}

#[test]
fn our_examples_are_accepted_without_warnings_and_build() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let files = files(&folder, "yaml");
    assert!(files.len() >= 5, "{files:?}");
    for file in files {
        let what = file.display().to_string();
        let text = std::fs::read_to_string(&file).expect("readable");
        let manifest = manifest::read(&text, &NamespaceChoice::default()).unwrap_or_else(|e| panic!("{what}: {e}"));
        assert_eq!(manifest.warnings, [], "{what}");
        let build = builds(&what, &manifest.instance);
        let unmatched: Vec<_> = build.warnings.iter().map(|warning| format!("{warning:?}")).collect();
        assert!(unmatched.is_empty(), "{what}: {unmatched:?}");
    }
}

#[test]
fn manifests_are_refused_and_built_as_the_rules_of_the_definition_say() {
    for Refused { name, spec, by_us, .. } in REFUSED {
        let error = read(&instance(name, spec).to_string()).expect_err(spec).to_string();
        assert!(error.contains(by_us), "{spec}: {error}");
    }
    for spec in ACCEPTED {
        builds(spec, &read(&instance("flux", spec).to_string()).expect(spec));
    }
}

#[test]
fn the_default_example_builds_the_32_objects_of_the_default_instance() {
    let text = include_str!("../../examples/flux.yaml");
    let build = builds("examples/flux.yaml", &read(text).expect("accepted"));
    assert_eq!((build.objects.len(), build.version.name.as_str()), (32, "v2.9.4"));
    // The printed output is parsed to the same result.
    let again =
        read(&yaml::to_string(&read(text).expect("accepted").into_inner()).expect("written")).expect("accepted");
    assert_eq!(builds("again", &again).revision, build.revision);
}

/// The folder with the API's documentation, which is not part of this repository.
fn documentation() -> Option<PathBuf> {
    needs::folder("FLUX_API_DOCS_DIR", "../shared/spec/api", "the documents of the API")
}

/// The fenced blocks of a Markdown document that are marked as YAML, with the line each starts in.
fn yaml_blocks(text: &str) -> Vec<(usize, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (number, line) in text.lines().enumerate() {
        match (&mut open, line.trim_start()) {
            (None, "```yaml" | "```yml") => open = Some((number + 2, String::new())),
            (Some(_), "```") => blocks.extend(open.take()),
            (Some((_, block)), _) => {
                block.push_str(line);
                block.push('\n');
            }
            _ => {}
        }
    }
    blocks
}

/// The meaning of a code block in the documentation.
enum Example {
    /// A FluxInstance of v1, completed where the document says that something is left out.
    Instance(Value),
    /// An example in the version of the design proposal.
    Proposal(Value),
    /// Something else: a Secret, a status, a fragment of another kind.
    Other,
}

fn classify(block: &str) -> Example {
    let Ok(mut object) = yaml::parse_one(block) else {
        assert!(!block.contains("kind: FluxInstance"), "not YAML:\n{block}");
        return Example::Other;
    };
    let is_fragment = object.as_object().is_some_and(|fields| fields.keys().all(|key| key == "spec"));
    match (object["kind"].as_str(), object["apiVersion"].as_str()) {
        (Some("FluxInstance"), Some("fluxcd.controlplane.io/v1alpha1")) => return Example::Proposal(object),
        (Some("FluxInstance"), _) => {}
        _ if is_fragment => {
            object["apiVersion"] = json!("fluxcd.controlplane.io/v1");
            object["kind"] = json!("FluxInstance");
            object["metadata"] = json!({"name": "flux", "namespace": "flux-system"});
        }
        _ => return Example::Other,
    }
    let spec = &mut object["spec"];
    for (field, value) in [("version", "2.x"), ("registry", "ghcr.io/fluxcd")] {
        if spec["distribution"][field].is_null() {
            spec["distribution"][field] = json!(value);
        }
    }
    // The document describes this value before the storage it needs.
    if spec["sharding"]["storage"] == "persistent" && spec["storage"].is_null() {
        spec["storage"] = json!({"class": "standard", "size": "10Gi"});
    }
    Example::Instance(object)
}

#[test]
fn every_instance_in_the_documentation_builds_and_the_proposals_is_refused() {
    let Some(folder) = documentation() else { return };
    let (mut built, mut refused) = (0, 0);
    for file in files(&folder, "md") {
        let text = String::from_utf8_lossy(&std::fs::read(&file).expect("readable")).into_owned();
        for (line, block) in yaml_blocks(&text) {
            let what = format!("{}:{line}", file.display());
            match classify(&block) {
                Example::Instance(object) => {
                    let text = yaml::to_string(&object).expect("written");
                    let instance = read(&text).unwrap_or_else(|error| panic!("{what}: {error}\n{text}"));
                    builds(&what, &instance);
                    built += 1;
                }
                Example::Proposal(object) => {
                    let error = read(&block).expect_err(&what).to_string();
                    assert!(error.contains("v1alpha1 is no longer served"), "{what}: {error}");
                    if object["spec"]["shards"].is_array() {
                        assert!(error.contains("spec.shards: rename it to spec.sharding.shards"), "{what}: {error}");
                        assert!(error.contains("rename it to spec.distribution.imagePullSecret"), "{what}: {error}");
                    }
                    refused += 1;
                }
                Example::Other => {}
            }
        }
    }
    assert!(built >= 30 && refused >= 2, "only {built} were built and {refused} refused");
}
