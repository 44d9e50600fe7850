//! Small cases without recorded runs.

use serde_json::{Value, json};

use crate::inputs::{adler32, normalised_name};
use crate::offline::{DocumentStream, ManifestFiles, build};
use crate::{BuildErrorKind, BuiltSet, ExportedInputs, Options, ResourceSetError, WarningKind};

fn manifest(spec: &str) -> String {
    let spec: String = spec.lines().map(|line| format!("  {line}\n")).collect();
    format!(
        "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet\nmetadata:\n  name: app\n  namespace: apps\nspec:\n{spec}"
    )
}

fn built_of(spec: &str, inputs: Option<&str>, providers: Option<&str>) -> Result<BuiltSet, ResourceSetError> {
    let manifest = manifest(spec);
    build(
        &ManifestFiles { manifest: &manifest, inputs, providers, exported: None, namespace: "default" },
        &Options::default(),
    )
}

fn kinds(built: &BuiltSet) -> Vec<WarningKind> {
    built.warnings.iter().map(|warning| warning.kind).collect()
}

fn objects(built: &BuiltSet) -> Vec<&Value> {
    built.objects.iter().map(|built| &built.object).collect()
}

fn printed(built: &BuiltSet) -> Result<String, impl std::error::Error + use<>> {
    let mut stream = DocumentStream::new(&built.set);
    built.objects.iter().for_each(|object| stream.push(object));
    stream.finish()
}

const PROVIDERS: &str = "
apiVersion: fluxcd.controlplane.io/v1
kind: ResourceSetInputProvider
metadata: {name: b, labels: {team: x}}
spec: {type: Static, defaultValues: {v: 2}}
---
apiVersion: fluxcd.controlplane.io/v1
kind: ResourceSetInputProvider
metadata: {name: a, labels: {team: x}}
spec: {type: Static, defaultValues: {v: 1}}
";

#[test]
fn every_input_set_makes_an_object_that_names_its_template_and_input() {
    let spec = "
inputs:
- {tenant: one}
- {tenant: two}
resources:
- {apiVersion: v1, kind: Namespace, metadata: {name: << inputs.tenant >>}}
commonMetadata: {labels: {team: infra}}";
    let built = built_of(spec, None, None).expect("built");
    assert_eq!(built.warnings, []);
    assert_eq!(
        objects(&built)[1],
        &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "two", "labels": {
            "team": "infra", "resourceset.fluxcd.controlplane.io/name": "app",
            "resourceset.fluxcd.controlplane.io/namespace": "apps"}}})
    );
    let second = &built.objects[1];
    assert_eq!(second.origin.to_string(), "spec.resources[0]");
    assert_eq!(built.input(second).expect("named").to_string(), "input set 1 (of ResourceSet/apps/app)");
}

#[test]
fn an_error_of_a_template_keeps_the_text_of_go_and_adds_the_place() {
    let spec = "
inputs:
- {id: a, tenant: one}
- {id: b}
resources:
- apiVersion: v1
  kind: Namespace
  metadata: {name: << inputs.tenant >>}";
    let error = built_of(spec, None, None).expect_err("refused");
    assert_eq!(
        error.to_string(),
        "failed to build resources[0]: failed to execute template: template: resourceset:4:11: executing \
         \"resourceset\" at <inputs>: map has no entry for key \"tenant\""
    );
    let place = error.place.expect("a place");
    assert_eq!((place.origin.to_string().as_str(), place.line), ("spec.resources[0]", Some(4)));
    assert_eq!(place.input.expect("an input").to_string(), "input set 1 (id b, of ResourceSet/apps/app)");
}

#[test]
fn providers_are_taken_by_name_and_label_and_sorted() {
    let spec = "
inputsFrom:
- name: b
- selector: {matchExpressions: [{key: team, operator: In, values: [x]}]}
resources:
- {apiVersion: v1, kind: Namespace, metadata: {name: 'n-<< inputs.v >>-<< inputs.id >>'}}";
    let built = built_of(spec, None, Some(PROVIDERS)).expect("built");
    let names: Vec<_> = objects(&built).iter().map(|object| object["metadata"]["name"].clone()).collect();
    assert_eq!(names, [format!("n-1-{}", adler32("a")), format!("n-2-{}", adler32("b"))]);
    let missing = built_of(&spec.replace("name: b", "name: c"), None, Some(PROVIDERS)).expect("built");
    assert_eq!(kinds(&missing), [WarningKind::MissingProvider]);
    let error = built_of(spec, None, None).expect_err("no providers");
    assert_eq!(error.kind, BuildErrorKind::InputsFile);
}

#[test]
fn permute_makes_every_combination_and_warns_of_names_that_meet() {
    let spec = "
inputStrategy: {name: Permute}
inputs: [{x: 1}, {x: 2}]
inputsFrom: [{selector: {}}]
resources:
- {apiVersion: v1, kind: Namespace, metadata: {name: 'n<< inputs.app.x >>-<< inputs.a.v >>-<< inputs.b.v >>-<< inputs.id >>'}}";
    let built = built_of(spec, None, Some(PROVIDERS)).expect("built");
    let id = adler32("app=1/a=0/b=0");
    assert_eq!(objects(&built)[1]["metadata"]["name"], format!("n2-1-2-{id}"));
    let same = PROVIDERS.replace("name: b,", "name: A,");
    let spec = spec.replace("<< inputs.b.v >>", "");
    assert_eq!(kinds(&built_of(&spec, None, Some(&same)).expect("built")), [WarningKind::LostInputs]);
    assert_eq!(normalised_name("My--App_2..x-"), "my_app_2_x");
    assert_eq!(adler32("my_rset_1=0/git_tag=0/other=0"), 2_674_133_562);
}

#[test]
fn a_file_of_inputs_replaces_the_inline_ones_whole() {
    let spec = "
inputs: [{tenant: inline, extra: kept}]
resources:
- {apiVersion: v1, kind: Namespace, metadata: {name: << inputs.tenant >>, annotations: {extra: '<< get inputs \"extra\" >>'}}}";
    let built = built_of(spec, Some("- {tenant: file}"), None).expect("built");
    // Without quotes, so that the empty text is read as null.
    assert_eq!(objects(&built)[0]["metadata"]["annotations"]["extra"], Value::Null);
    let built = built_of(spec, Some("# nothing"), None).expect("built");
    assert_eq!(objects(&built)[0]["metadata"]["annotations"]["extra"], "kept");
}

#[test]
fn the_first_of_two_equal_objects_is_kept_with_a_warning_where_they_differ() {
    let spec = "
inputs: [{v: 1}, {v: 2}]
resourcesTemplate: |
  apiVersion: v1
  kind: ConfigMap
  metadata: {name: same}
  data: {v: '<< inputs.v >>'}
  ---
  apiVersion: v1
  kind: Namespace
  metadata: {name: equal}
  ---
  apiVersion: v1
  kind: Nameless
  metadata: {}";
    let built = built_of(spec, None, None).expect("built");
    assert_eq!(objects(&built).len(), 2);
    assert_eq!(objects(&built)[0]["data"]["v"], "1");
    let found = kinds(&built);
    assert_eq!(found.iter().filter(|kind| **kind == WarningKind::DuplicateObject).count(), 1);
    assert_eq!(found.iter().filter(|kind| **kind == WarningKind::DroppedDocument).count(), 2);
}

#[test]
fn steps_are_printed_in_order_and_share_no_object() {
    let spec = "
steps:
- name: one
  resources: [{apiVersion: v1, kind: Namespace, metadata: {name: a}}]
- name: two
  resources: [{apiVersion: v1, kind: Namespace, metadata: {name: b}}]";
    let text = printed(&built_of(spec, None, None).expect("built")).expect("printed");
    assert!(text.starts_with("# step: one\n---\napiVersion: v1\n") && text.contains("\n# step: two\n---\n"), "{text}");
    let error = built_of(&spec.replace("name: b", "name: a"), None, None).expect_err("refused");
    assert_eq!(error.to_string(), "duplicate resource Namespace/a in step \"two\", already defined in step \"one\"");
}

#[test]
fn objects_that_a_cluster_would_refuse_cause_a_warning() {
    let spec = "
inputs: [{on: 1, unused: x, empty: null}]
resourceTemplate: typo
resources:
- {apiVersion: v1, kind: Namespace, metadata: {name: n-<< inputs.true >>}}";
    let found = kinds(&built_of(spec, None, None).expect("built"));
    assert_eq!(found, [WarningKind::Key, WarningKind::UnknownField, WarningKind::NullInput, WarningKind::UnusedInput]);
    let whole = spec.replace("<< inputs.true >>", "<< inputs | toJson | sha256sum >>");
    assert!(!kinds(&built_of(&whole, None, None).expect("built")).contains(&WarningKind::UnusedInput));
}

#[test]
fn wrong_manifests_are_refused_with_the_field() {
    let refused = |spec: &str| built_of(spec, None, None).expect_err("refused").to_string();
    assert!(refused("inputs: {a: b}").ends_with("spec.inputs is not a list of input sets"));
    assert!(refused("resources: [null]").contains("spec.resources[0] is null"));
    assert!(refused("dependsOn: [{ready: 'yes'}]").ends_with("spec.dependsOn[0].ready is text, not a boolean"));
    assert!(refused("steps: [{name: a, timeout: soon}]").ends_with("time: invalid duration \"soon\""));
    assert_eq!(refused("resources: []"), "no objects were generated");
}

#[test]
fn a_value_that_breaks_the_text_is_reported_with_its_line() {
    let spec = "
inputs: [{v: 'a: b'}]
resources:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: cm}, data: {v: << inputs.v >>}}";
    let error = built_of(spec, None, None).expect_err("refused");
    assert_eq!(error.kind, BuildErrorKind::Object);
    assert_eq!(error.place.expect("a place").line, Some(3));
}

#[test]
fn a_block_scalar_at_the_end_of_a_document_ends_with_a_line_break() {
    let spec = "
inputs: [{v: x}]
resourcesTemplate: |-
  apiVersion: v1
  kind: A
  metadata: {name: a}
  text: |
    << inputs.v >>";
    let built = built_of(spec, None, None).expect("built");
    assert_eq!(objects(&built)[0]["text"], "x\n");
}

#[test]
fn a_document_end_without_a_document_is_refused() {
    let document = "apiVersion: v1\n  kind: A\n  metadata: {name: a}";
    for (text, is_refused) in
        [(format!("{document}\n  ..."), false), (format!("{document}\n  ---\n  # c\n  ..."), true)]
    {
        let built = built_of(&format!("resourcesTemplate: |\n  {text}\n"), None, None);
        assert_eq!(built.is_err(), is_refused, "{text}: {built:?}");
    }
}

#[test]
fn a_line_that_only_begins_like_a_separator_is_refused() {
    let document = |name: &str| format!("  apiVersion: v1\n  kind: A\n  metadata: {{name: {name}}}\n");
    for (line, is_refused) in [
        ("---", false),
        ("--- # c", false),
        ("---\t", false),
        ("--- x", true),
        ("--- a: b", true),
        ("----", true),
        ("--- |", true),
        (" ---", true),
    ] {
        let spec = format!("resourcesTemplate: |\n{}  {line}\n{}", document("a"), document("b"));
        let built = built_of(&spec, None, None);
        assert_eq!(built.is_err(), is_refused, "{line}: {built:?}");
    }
    let spec = format!("resourcesTemplate: |\n{}  --- x\n", document("a"));
    let error = built_of(&spec, None, None).expect_err("refused");
    assert!(error.to_string().ends_with("from multi-doc YAML: invalid Yaml document separator: x"), "{error}");
    assert_eq!(error.place.expect("a place").line, Some(4));
    // Of an entry of `resources` only the first document is read.
    let first = "inputs: [{t: \"1\\n---\\n{}\\n--- x\\n\"}]\nresources: [{apiVersion: v1, kind: A, v: << inputs.t >>}]";
    assert_eq!(objects(&built_of(first, None, None).expect("built"))[0]["v"], 1);
    let first = first.replace("---\\n{}\\n", "");
    let error = built_of(&first, None, None).expect_err("refused");
    assert!(error.to_string().ends_with("failed to read object: invalid Yaml document separator: x"), "{error}");
}

#[test]
fn a_provider_without_a_name_is_left_out_before_it_is_read() {
    let spec = "
inputsFrom: [{selector: {}}]
resources: [{apiVersion: v1, kind: Namespace, metadata: {name: << inputs.provider.name >>}}]";
    for unnamed in ["kind: Other\nmetadata: text", "kind: Other\nmetadata: {name: 5}", "kind: Other\nspec: [text]"] {
        let built = built_of(spec, None, Some(&format!("{PROVIDERS}---\n{unnamed}\n"))).expect("built");
        assert_eq!(objects(&built).len(), 2, "{unnamed}");
        assert!(kinds(&built).contains(&WarningKind::DroppedDocument), "{unnamed}");
    }
}

#[test]
fn an_api_version_or_kind_that_is_not_text_is_refused() {
    let manifest = manifest("resources: [{apiVersion: v1, kind: A, metadata: {name: a}}]");
    let build_of = |manifest: &str| {
        build(&ManifestFiles { manifest, namespace: "default", ..ManifestFiles::default() }, &Options::default())
    };
    for (written, other) in
        [("kind: ResourceSet", "kind: 5"), ("apiVersion: fluxcd.controlplane.io/v1", "apiVersion: 1.0")]
    {
        let error = build_of(&manifest.replacen(written, other, 1)).expect_err("refused");
        assert!(error.to_string().ends_with("is a number, not text"), "{error}");
    }
    // Any other text may be written as a number.
    assert_eq!(build_of(&manifest.replace("name: app", "name: 5")).expect("built").set.id.name, "5");
}

#[test]
fn a_stream_of_json_needs_no_separators_and_holds_nothing_else() {
    let json = |name: &str| {
        format!("{{\"apiVersion\": \"v1\", \"kind\": \"Namespace\", \"metadata\": {{\"name\": \"{name}\"}}}}")
    };
    let yaml = "{apiVersion: v1, kind: Namespace, metadata: {name: c}}\n";
    let names = |text: &str| {
        let spec = format!("inputs: [{{t: {text:?}}}]\nresourcesTemplate: << inputs.t >>\n");
        built_of(&spec, None, None).map(|built| {
            objects(&built).into_iter().map(|object| object["metadata"]["name"].clone()).collect::<Vec<_>>()
        })
    };
    let (a, b) = (json("a"), json("b"));
    assert_eq!(names(&format!("{a}\n{b}")).expect("built"), ["a", "b"]);
    assert_eq!(names(&format!("{a}{b}\n")).expect("built"), ["a", "b"]);
    // A single object may be followed by YAML, and the separator is optional.
    for text in [format!("{a}\n---\n{yaml}"), format!("{a}\n{yaml}"), format!("{a}---\n{yaml}")] {
        assert_eq!(names(&text).expect("built"), ["a", "c"], "{text}");
    }
    for text in [format!("{a}\n{b}\n---\n{yaml}"), format!("{a}\n...\n"), format!("{a} x")] {
        assert!(names(&text).is_err(), "{text}");
    }
    assert_eq!(names(&format!("---\n{a}{b}")).expect("built"), ["a"]);
    assert_eq!(names(&json("\\/\\ud83d\\ude00")).expect("built"), ["/😀"]);
    let error = names("{\"a\": 1.0}").expect_err("refused");
    assert!(error.to_string().ends_with("multi-doc YAML: Object 'Kind' is missing in '{\"a\": 1.0}'"), "{error}");
}

#[test]
fn a_separator_without_a_document_before_it_belongs_to_the_next_document() {
    let refused = |text: &str| built_of(&format!("resourcesTemplate: {text:?}\n"), None, None).is_err();
    let document = "apiVersion: v1\nkind: A\nmetadata: {name: a}\n";
    assert!(!refused(&format!("--- # c\n{document}---#c\n{document}")));
    assert!(refused(&format!("---#c\n{document}")));
    assert!(!refused(&format!("---\n...\n---\n{document}")));
    assert!(refused("apiVersion: a/b/c\nkind: A\nmetadata: {name: a}\n"));
}

#[test]
fn exported_inputs_of_selected_providers_are_used_and_one_that_has_not_exported_is_refused() {
    let provider = |name: &str, namespace: &str, status: Value| {
        let document = json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "ResourceSetInputProvider",
            "metadata": {"name": name, "namespace": namespace, "labels": {"app": name}},
            "spec": {"type": "GitHubBranch", "url": "https://github.com/o/r"}, "status": status});
        ExportedInputs::decode(&document).unwrap()
    };
    let exported = |ids: &[&str]| {
        let sets: Vec<Value> = ids.iter().map(|id| json!({"id": id})).collect();
        json!({"lastExportedRevision": "sha256:0", "exportedInputs": sets})
    };
    let build_with = |providers: &[ExportedInputs], from: &str| {
        let resource = "resources:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: \"cm-<< inputs.id >>\"}";
        let manifest = manifest(&format!("inputsFrom: [{from}]\n{resource}"));
        let files = ManifestFiles {
            manifest: &manifest,
            exported: Some(providers),
            namespace: "default",
            ..ManifestFiles::default()
        };
        build(&files, &Options::default())
    };
    let names = |built: &BuiltSet| -> Vec<String> {
        objects(built).iter().map(|object| object["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    };
    let all = [
        provider("b", "apps", exported(&["2", "3"])),
        provider("a", "apps", exported(&["1"])),
        provider("a", "other", exported(&["9"])),
        provider("c", "apps", json!({})),
    ];
    let built = build_with(&all, "{name: b}, {selector: {matchLabels: {app: a}}}").unwrap();
    assert_eq!(names(&built), ["cm-1", "cm-2", "cm-3"]);
    let error = build_with(&all, "{selector: {}}").unwrap_err();
    assert_eq!(error.to_string(), "ResourceSetInputProvider/apps/c has not exported inputs yet");
    let error = build_with(&all, "{name: a}, {name: d}").unwrap_err();
    assert_eq!(error.to_string(), "ResourceSetInputProvider/apps/d does not exist, and spec.inputsFrom names it");
    let built = build_with(&[provider("a", "apps", exported(&[]))], "{name: a}").unwrap_err();
    assert!(built.to_string().contains("id"), "nothing to render with: {built}");
}

#[test]
fn a_retyped_text_of_a_template_with_many_documents_is_warned_of_with_its_object() {
    let spec = "
inputs:
- {tenant: a, version: '1.10', mode: 'off'}
resourcesTemplate: |
  apiVersion: v1
  kind: ConfigMap
  metadata: {name: << inputs.tenant >>, namespace: apps}
  data: {mode: << inputs.mode | quote >>}
  ---
  apiVersion: example.com/v1
  kind: App
  metadata: {name: << inputs.tenant >>, namespace: apps}
  spec: {version: << inputs.version >>}";
    let built = built_of(spec, None, None).expect("built");
    assert_eq!(kinds(&built), [WarningKind::RetypedInput]);
    let reported = built.warnings[0].to_string();
    assert!(
        reported.contains("App/apps/a: spec.version is 1.1, which YAML reads from the text \"1.10\": quote it"),
        "{reported}"
    );
}
