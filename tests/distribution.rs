//! The embedded distribution against the facts: the manifests of Flux releases where they are at hand, and a table of
//! hashes of every object, which holds without them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use flux_operator::distribution::{Component, Distribution, FluxVersion};
use serde_json::Value;

/// The folder with unpacked release manifests, `flux/VERSION/*.yaml`.
fn data_dir() -> Option<PathBuf> {
    let dir = std::env::var_os("FLUX_DATA_DIR")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data"), PathBuf::from);
    if dir.join("flux").is_dir() {
        return Some(dir);
    }
    eprintln!("skipped: no release manifests in {} (set FLUX_DATA_DIR)", dir.join("flux").display());
    None
}

/// All objects of a version by the file they belong to.
fn files(distribution: &Distribution, version: &FluxVersion) -> BTreeMap<String, Vec<Value>> {
    let mut files: BTreeMap<String, Vec<Value>> = distribution
        .components(version)
        .into_iter()
        .map(|component| (component.to_string(), distribution.component(version, component).unwrap()))
        .collect();
    files.insert("rbac".into(), distribution.rbac(version).unwrap());
    files.insert("policies".into(), distribution.policies(version).unwrap());
    files
}

/// Removes what may be worded freely: schema descriptions, rule messages, deprecation warnings.
fn without_prose(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut kept = serde_json::Map::new();
            for (key, inner) in map {
                let prose = matches!(key.as_str(), "description" | "deprecationWarning") && inner.is_string();
                if prose {
                    continue;
                }
                let mut inner = without_prose(inner);
                if key == "x-kubernetes-validations" {
                    for rule in inner.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
                        rule.remove("message");
                    }
                }
                kept.insert(key.clone(), inner);
            }
            kept.sort_keys();
            Value::Object(kept)
        }
        Value::Array(items) => items.iter().map(without_prose).collect(),
        other => other.clone(),
    }
}

fn name(object: &Value) -> String {
    format!("{}/{}", object["kind"].as_str().unwrap(), object["metadata"]["name"].as_str().unwrap())
}

/// Lists the paths at which two values differ.
fn differences(path: &str, ours: &Value, theirs: &Value, found: &mut Vec<String>) {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                let (x, y) = (a.get(key).unwrap_or(&Value::Null), b.get(key).unwrap_or(&Value::Null));
                differences(&format!("{path}/{key}"), x, y, found);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (x, y)) in a.iter().zip(b).enumerate() {
                differences(&format!("{path}/{index}"), x, y, found);
            }
        }
        _ if ours == theirs => {}
        _ => found.push(format!("{path}: ours {ours}, released {theirs}")),
    }
}

fn read_documents(path: &Path) -> Vec<Value> {
    use serde::Deserialize;
    let text = std::fs::read_to_string(path).unwrap();
    serde_yaml::Deserializer::from_str(&text)
        .map(|document| Value::deserialize(document).unwrap())
        .filter(|value| !value.is_null())
        .collect()
}

#[test]
fn every_released_object_equals_ours_apart_from_prose() {
    let Some(dir) = data_dir() else { return };
    let distribution = Distribution::embedded();
    let mut found = Vec::new();
    let mut compared = 0;
    for entry in std::fs::read_dir(dir.join("flux")).unwrap() {
        let folder = entry.unwrap().path();
        let version = FluxVersion::from_folder(folder.file_name().unwrap().to_str().unwrap()).unwrap();
        for (file, ours) in files(&distribution, &version) {
            let theirs = read_documents(&folder.join(format!("{file}.yaml")));
            let names = |objects: &[Value]| objects.iter().map(name).collect::<Vec<_>>();
            assert_eq!(names(&ours), names(&theirs), "{version} {file}: the objects and their order");
            for (a, b) in ours.iter().zip(&theirs) {
                differences(&format!("{version} {}", name(a)), &without_prose(a), &without_prose(b), &mut found);
                compared += 1;
            }
        }
        let released = std::fs::read_dir(&folder).unwrap().count();
        assert_eq!(released, files(&distribution, &version).len(), "{version}: the number of files");
    }
    assert!(compared > 370, "only {compared} objects were compared");
    assert!(found.is_empty(), "{} differences:\n{}", found.len(), found.join("\n"));
}

#[test]
fn source_watcher_is_not_part_of_versions_before_2_7() {
    let distribution = Distribution::embedded();
    for version in distribution.versions() {
        let expected = version.version >= semver::Version::new(2, 7, 0);
        assert_eq!(distribution.components(&version).contains(&Component::SourceWatcher), expected, "{version}");
        let answer = distribution.component(&version, Component::SourceWatcher);
        assert_eq!(answer.is_ok(), expected, "{version}: {answer:?}");
    }
}
