//! Labels and annotations of patched objects: their values must be text.

use serde_json::{Map, Value};

use super::resource::child_mut;
use crate::format::yaml;

/// Paths of metadata in objects and in the pod templates of workloads.
const PLACES: [&str; 4] =
    ["/metadata", "/spec/template/metadata", "/spec/jobTemplate/metadata", "/spec/jobTemplate/spec/template/metadata"];
const FIELDS: [&str; 2] = ["labels", "annotations"];

/// Turns numbers and booleans among labels and annotations into text as they were written: `1.10` stays `1.10`. A text
/// that is not a list of partial objects is not changed.
pub(super) fn keep_written_text(documents: &mut [Value], text: &str) {
    let mut positions = None;
    for (index, document) in documents.iter_mut().enumerate() {
        let items = document.get("items").and_then(Value::as_array).map_or(0, Vec::len);
        let objects = std::iter::once(String::new()).chain((0..items).map(|item| format!("/items/{item}")));
        for (object, place) in objects.flat_map(|object| PLACES.map(|place| (object.clone(), place))) {
            for field in FIELDS {
                let pointer = format!("{object}{place}/{field}");
                let Some(entries) = document.pointer_mut(&pointer).and_then(Value::as_object_mut) else { continue };
                for (key, value) in entries.iter_mut().filter(|(_, value)| value.is_number() || value.is_boolean()) {
                    // Positions take a second pass over the text, and few patches need them.
                    let positions = positions.get_or_insert_with(|| yaml::parse_positions(text));
                    // `~` first, or it would escape the escapes of `/` again (RFC 6901 §3).
                    let key = key.replace('~', "~0").replace('/', "~1");
                    let written = positions.get(index).and_then(|document| document.text(&format!("{pointer}/{key}")));
                    *value = Value::String(written.map_or_else(|| value.to_string(), str::to_string));
                }
            }
        }
    }
}

/// Adds the annotations that kustomize keeps on every object while a JSON patch runs, so that a patch may add to them.
pub(super) fn add_annotations(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata") {
        child_mut(metadata, "annotations");
    }
}

/// Turns numbers and booleans left by a patch into text, and removes nulls and empty annotations.
///
/// # Errors
/// A label or annotation is a mapping or a list, or the labels or annotations themselves are not a mapping.
pub(super) fn settle(object: &mut Value) -> Result<(), String> {
    for (place, field) in PLACES.into_iter().flat_map(|place| FIELDS.map(|field| (place, field))) {
        let Some(entries) = object.pointer_mut(&format!("{place}/{field}")) else { continue };
        // A custom resource has a known shape only in its own metadata.
        let is_own = place == "/metadata";
        match entries {
            Value::Object(entries) => {
                entries.retain(|_, value| !value.is_null());
                for (key, value) in entries {
                    match value {
                        Value::Number(_) | Value::Bool(_) => *value = Value::String(value.to_string()),
                        Value::Object(_) if is_own => return Err(format!("metadata.{field}.{key} is a mapping")),
                        Value::Array(_) if is_own => return Err(format!("metadata.{field}.{key} is a list")),
                        _ => {}
                    }
                }
            }
            Value::Null => {}
            _ if is_own => return Err(format!("metadata.{field} is not a mapping")),
            _ => {}
        }
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut)
        && metadata.get("annotations").is_some_and(|all| all.is_null() || all.as_object().is_some_and(Map::is_empty))
    {
        metadata.shift_remove("annotations");
    }
    Ok(())
}
