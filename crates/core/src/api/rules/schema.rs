//! Checks a value against the OpenAPI schema of a custom resource definition, and fills in its defaults.
//!
//! Supports the features of our schemas: types, required, enum, pattern, lengths, items, properties and maps. `rules`
//! checks rules across fields.

use regex::Regex;
use serde_json::{Map, Value};

use super::{FieldPath, Finding, list, shown};
use crate::api::flux_instance::{ARTIFACT_PATTERN, INTERVAL_PATTERN};
use crate::format::nearest::nearest;

/// Marks a schema with unknown fields that are not checked.
pub(in crate::api) const OPEN: &str = "x-kubernetes-preserve-unknown-fields";

/// Checks `value`, fills in defaults as the API server does, and returns the problems.
pub(in crate::api) fn complete(schema: &Value, value: &mut Value, path: &FieldPath) -> Vec<Finding> {
    let mut findings = Vec::new();
    visit(schema, value, path, &mut findings);
    findings
}

fn visit(schema: &Value, value: &mut Value, path: &FieldPath, findings: &mut Vec<Finding>) {
    let expected = schema.get("type").and_then(Value::as_str).unwrap_or("object");
    if kind_of(value) != expected {
        findings.push(Finding::value(path, wrong_type(value, expected)));
        return;
    }
    match value {
        Value::Object(fields) => visit_fields(schema, fields, path, findings),
        Value::Array(items) => {
            let minimum = schema.get("minItems").and_then(Value::as_u64).unwrap_or(0);
            if (items.len() as u64) < minimum {
                findings.push(Finding::value(path, format!("at least {minimum} item is needed, the list is empty")));
            }
            if let Some(schema) = schema.get("items") {
                for (index, item) in items.iter_mut().enumerate() {
                    visit(schema, item, &path.item(index), findings);
                }
            }
        }
        Value::String(text) => findings.extend(wrong_text(schema, text).map(|message| Finding::value(path, message))),
        _ => {}
    }
}

fn visit_fields(schema: &Value, fields: &mut Map<String, Value>, path: &FieldPath, findings: &mut Vec<Finding>) {
    if let Some(values) = schema.get("additionalProperties") {
        for (name, value) in fields.iter_mut() {
            visit(values, value, &path.field(name), findings);
        }
        return;
    }
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    // API servers drop nulls before they fill in defaults, so a null counts as missing.
    fields.retain(|_, value| !value.is_null());
    if schema.get(OPEN).is_none() {
        for name in fields.keys().filter(|name| !properties.contains_key(*name)) {
            findings.push(Finding::key(&path.field(name), unknown_field(name, properties)));
        }
    }
    for (name, property) in properties {
        if let (false, Some(default)) = (fields.contains_key(name), property.get("default")) {
            fields.insert(name.clone(), default.clone());
        }
    }
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    for name in required {
        // In Go's types an empty text counts as missing.
        if fields.get(name).is_none_or(|value| value.as_str() == Some("")) {
            findings.push(Finding::value(&path.field(name), "is required".into()));
        }
    }
    for (name, value) in fields.iter_mut() {
        let Some(property) = properties.get(name) else { continue };
        let default = property.get("default").and_then(Value::as_str);
        if let (Some(""), Some(default)) = (value.as_str(), default) {
            findings.push(Finding::value(&path.field(name), format!("must not be empty; leave it out for {default}")));
        } else {
            visit(property, value, &path.field(name), findings);
        }
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn in_words(kind: &str) -> &str {
    match kind {
        "boolean" => "true or false",
        "integer" => "a whole number",
        "number" => "a number",
        "string" => "text",
        "array" => "a list",
        "object" => "a mapping",
        other => other,
    }
}

fn wrong_type(value: &Value, expected: &str) -> String {
    let quotes = match value {
        Value::Bool(_) | Value::Number(_) if expected == "string" => ", put it in quotes",
        Value::String(text) if expected == "boolean" && matches!(text.as_str(), "true" | "false") => {
            ", remove the quotes"
        }
        _ => "",
    };
    let is = match value {
        Value::Array(_) | Value::Object(_) => in_words(kind_of(value)).to_string(),
        Value::Bool(_) => format!("{value} (a yes-or-no value)"),
        Value::Number(_) => format!("{value} (a number)"),
        _ => shown(value),
    };
    format!("expected {}, found {is}{quotes}", in_words(expected))
}

fn wrong_text(schema: &Value, text: &str) -> Option<String> {
    let shown = shown(&Value::from(text));
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array) {
        let allowed: Vec<&str> = allowed.iter().filter_map(Value::as_str).collect();
        if !allowed.contains(&text) {
            let meant = nearest(text, allowed.iter().copied());
            let meant = meant.map(|word| format!("; did you mean {word}?")).unwrap_or_default();
            return Some(format!("{shown} is not one of {}{meant}", list(&allowed, "or")));
        }
    }
    if let Some(pattern) = schema.get("pattern").and_then(Value::as_str) {
        // A test compiles all of our patterns.
        if Regex::new(pattern).is_ok_and(|regex| !regex.is_match(text)) {
            return Some(format!("{shown} is not {}", pattern_in_words(pattern)));
        }
    }
    let length = text.chars().count() as u64;
    let maximum = schema.get("maxLength").and_then(Value::as_u64).unwrap_or(u64::MAX);
    (length > maximum).then(|| format!("{shown} has {length} characters, at most {maximum} are allowed"))
}

fn pattern_in_words(pattern: &str) -> String {
    match pattern {
        ARTIFACT_PATTERN => "an address that starts with oci://".into(),
        INTERVAL_PATTERN => "a duration such as 30s, 5m or 1h30m (units: ms, s, m, h)".into(),
        other => format!("a text that matches {other}"),
    }
}

fn unknown_field(name: &str, properties: &Map<String, Value>) -> String {
    match nearest(name, properties.keys().map(String::as_str)) {
        Some(meant) => format!("unknown field; did you mean {meant}?"),
        None => {
            let known: Vec<&str> = properties.keys().map(String::as_str).collect();
            format!("unknown field; the fields here are {}", list(&known, "and"))
        }
    }
}
