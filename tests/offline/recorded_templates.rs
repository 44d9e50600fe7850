//! Recorded runs of another implementation, as far as a template engine alone can reproduce them: errors of templates
//! must be identical, and the rendered text must contain the recorded objects.

use std::path::PathBuf;

use flux_operator::format::yaml::parse_documents;
use flux_operator_gotemplate::{Data, Options, Syntax, Template, yaml};
use serde_json::{Map, Value, json};

use crate::recorded_resource_sets::recorded_runs;

/// Runs that depend on how YAML is read, which is not up to the engine.
const READER: [(&str, &str); 11] = [
    ("scalar-str-bang", "a tag"),
    ("layout-keys-bool-like", "keys that read as booleans"),
    ("layout-toyaml-list-in-resource", "keys that read as booleans"),
    ("layout-types-kept", "keys that read as booleans"),
    ("layout-conditional-key", "keys that read as booleans"),
    ("inputs-key-yaml-bool", "keys that read as booleans"),
    ("inputs-key-n-used", "keys that read as booleans"),
    ("layout-duplicate-keys", "keys that are there twice"),
    ("layout-output-special", "line separators"),
    ("layout-quotes-input-toyaml-3", "line separators"),
    ("layout-floats-output", "the size of floats"),
];

/// The part of a recorded run that its templates decide.
enum Expectation {
    Error(String),
    Objects(Vec<Value>),
    NoTemplateError,
}

fn expectation(case: &Value) -> Expectation {
    let stderr = case["stderr"].as_str().unwrap_or_default();
    for phrase in [
        "failed to parse template: ",
        "failed to parse multi-doc YAML template: ",
        "failed to execute template: ",
        "failed to execute multi-doc YAML template: ",
    ] {
        if let Some((_, error)) = stderr.split_once(phrase) {
            return Expectation::Error(error.trim_end_matches('\n').to_owned());
        }
    }
    if case["rc"] == 0 {
        let stdout = case["stdout"].as_str().unwrap_or_default();
        return match parse_documents(stdout) {
            Ok(objects) => Expectation::Objects(objects),
            Err(_) => Expectation::NoTemplateError,
        };
    }
    Expectation::NoTemplateError
}

type Executions = (Vec<String>, Vec<Map<String, Value>>);

/// Texts of the templates with the inputs of each execution, or the reason why a run is left out.
fn executions(case: &Value) -> Result<Executions, &'static str> {
    let arguments: Vec<&str> = case["argv"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let (["build", "resourceset", "-f", path] | ["build", "resourceset", "-f", path, ..]) = arguments.as_slice() else {
        return Err("other arguments");
    };
    if arguments.len() > 4 {
        return Err("inputs from files, or flags");
    }
    if case["rc"] == 2 {
        return Err("the recorded run crashed");
    }
    let manifest = case["files"][*path].as_str().ok_or("no manifest file")?;
    let mut manifests = parse_documents(manifest).map_err(|_| "the manifest is not readable")?;
    if manifests.is_empty() {
        return Err("the manifest is empty");
    }
    let manifest = manifests.remove(0);
    let spec = &manifest["spec"];
    if spec.get("inputsFrom").is_some() || spec.get("inputStrategy").is_some() || spec.get("steps").is_some() {
        return Err("inputs from providers, strategies, steps");
    }
    let provider = json!({
        "apiVersion": manifest["apiVersion"], "kind": manifest["kind"],
        "name": manifest["metadata"]["name"],
        "namespace": manifest["metadata"]["namespace"].as_str().unwrap_or("default"),
    });
    let mut inputs = Vec::new();
    match &spec["inputs"] {
        Value::Null => {}
        Value::Array(sets) => {
            for set in sets {
                let Value::Object(set) = set else { return Err("inputs are not objects") };
                let mut set = set.clone();
                set.retain(|_, value| !value.is_null());
                set.insert("provider".into(), provider.clone());
                inputs.push(set);
            }
        }
        _ => return Err("inputs are not a list"),
    }
    let mut texts = Vec::new();
    for resource in spec["resources"].as_array().into_iter().flatten() {
        texts.push(yaml::to_string(resource).map_err(|_| "a resource is not writable")?);
    }
    if let Some(text) = spec["resourcesTemplate"].as_str() {
        texts.push(text.to_owned());
    }
    Ok((texts, inputs))
}

/// Renders everything in order, up to the first error.
fn render(texts: &[String], inputs: &[Map<String, Value>]) -> Result<Vec<String>, String> {
    let random = |bound: u64| bound / 2;
    let options = Options { now: Some(1_795_000_000), random: Some(&random), ..Options::default() };
    let mut data: Vec<Data> = inputs.iter().map(Data::from).collect();
    if data.is_empty() {
        data.push(Data::none());
    }
    let mut rendered = Vec::new();
    for text in texts {
        let template =
            Template::parse("resourceset", text, &Syntax::resource_set()).map_err(|error| error.to_string())?;
        for data in &data {
            rendered.push(template.execute(data, &options).map_err(|error| error.to_string())?);
        }
    }
    Ok(rendered)
}

fn without_metadata(mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.remove("metadata");
    }
    object
}

/// Whether the rendered texts contain the recorded objects, except for labels and annotations that are added later.
fn check_objects(rendered: &[String], objects: Vec<Value>) -> Result<(), String> {
    let mut found = Vec::new();
    for text in rendered {
        let documents = parse_documents(text).map_err(|error| format!("{error}\n{text}"))?;
        for document in documents {
            match document.get("items").and_then(Value::as_array) {
                Some(items) => found.extend(items.clone()),
                None => found.push(document),
            }
        }
    }
    let found: Vec<Value> = found.into_iter().map(without_metadata).collect();
    for object in objects.into_iter().map(without_metadata) {
        if !found.contains(&object) {
            return Err(format!("missing: {object}\nrendered: {}", rendered.join("\n---\n")));
        }
    }
    Ok(())
}

#[test]
fn recorded_runs_are_reproduced() {
    let Some(folder) = recorded_runs() else { return };
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut failures = Vec::new();
    let (mut checked, mut left_out) = (0, 0);
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    paths.sort();
    for path in paths {
        let is_case = path.file_stem().and_then(|name| name.to_str()).is_some_and(|name| name.parse::<u32>().is_ok());
        if !is_case {
            continue;
        }
        let case: Value = serde_json::from_str(&std::fs::read_to_string(&path).expect("readable")).expect("JSON");
        let name = case["name"].as_str().unwrap_or_default().to_owned();
        if let Some((_, reason)) = READER.iter().find(|(left_out, _)| *left_out == name) {
            println!("left out {name}: {reason}");
            left_out += 1;
            continue;
        }
        let (texts, inputs) = match executions(&case) {
            Ok(executions) => executions,
            Err(reason) => {
                println!("left out {name}: {reason}");
                left_out += 1;
                continue;
            }
        };
        let result = render(&texts, &inputs);
        let failure = match (expectation(&case), result) {
            (Expectation::Error(wanted), Err(actual)) if wanted == actual => None,
            (Expectation::Error(wanted), Err(actual)) => Some(format!("wanted {wanted}\nactual {actual}")),
            (Expectation::Error(wanted), Ok(rendered)) => {
                Some(format!("wanted {wanted}\nrendered {}", rendered.join("\n---\n")))
            }
            (Expectation::Objects(objects), Ok(rendered)) => check_objects(&rendered, objects).err(),
            (Expectation::Objects(_) | Expectation::NoTemplateError, Err(error)) => Some(error),
            (Expectation::NoTemplateError, Ok(_)) => None,
        };
        checked += 1;
        if let Some(failure) = failure {
            failures.push(format!("{name}: {failure}"));
        }
    }
    println!("{checked} runs checked, {left_out} left out");
    assert!(checked > 250, "only {checked} runs were checked");
    assert!(failures.is_empty(), "{} runs differ:\n\n{}", failures.len(), failures.join("\n\n"));
}
