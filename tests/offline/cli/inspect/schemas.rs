//! The output of `-o json` matches its published schema.

use std::path::Path;

use serde_json::Value;

use super::read;

/// Says where a value does not fit a schema: the part of JSON Schema that ours use.
fn misfits(value: &Value, schema: &Value, root: &Value, path: &str, found: &mut Vec<String>) {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let target = root.pointer(reference.trim_start_matches('#')).unwrap_or_else(|| panic!("{reference}"));
        return misfits(value, target, root, path, found);
    }
    for choice in ["anyOf", "oneOf"] {
        if let Some(options) = schema.get(choice).and_then(Value::as_array) {
            let fits = |option: &Value| {
                let mut problems = Vec::new();
                misfits(value, option, root, path, &mut problems);
                problems.is_empty()
            };
            if !options.iter().any(fits) {
                found.push(format!("{path}: none of {choice}"));
            }
        }
    }
    if let Some(words) = schema.get("enum").and_then(Value::as_array)
        && !words.contains(value)
    {
        found.push(format!("{path}: {value} is not one of {words:?}"));
    }
    if let Some(word) = schema.get("const")
        && word != value
    {
        found.push(format!("{path}: {value} is not {word}"));
    }
    let types: Vec<&str> = match schema.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => vec![],
    };
    let is = |kind: &str| match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("{path}: a type this test does not know: {other}"),
    };
    if !types.is_empty() && !types.iter().any(|t| is(t)) {
        found.push(format!("{path}: {value} is no {types:?}"));
    }
    if let (Some(fields), Some(properties)) = (value.as_object(), schema.get("properties").and_then(Value::as_object)) {
        for required in schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
        {
            if !fields.contains_key(required) {
                found.push(format!("{path}: lacks {required}"));
            }
        }
        for (name, field) in fields {
            match properties.get(name) {
                Some(schema) => misfits(field, schema, root, &format!("{path}.{name}"), found),
                None => found.push(format!("{path}: {name} is not in the schema")),
            }
        }
    }
    if let (Some(items), Some(schema)) = (value.as_array(), schema.get("items")) {
        for (index, item) in items.iter().enumerate() {
            misfits(item, schema, root, &format!("{path}[{index}]"), found);
        }
    }
}

#[test]
fn every_view_keeps_to_its_published_schema() {
    let views: [(&str, &[&str]); 11] = [
        ("components", &["get", "components"]),
        ("history", &["get", "history"]),
        ("inventory", &["get", "inventory"]),
        ("stats", &["stats"]),
        ("what-changed", &["what-changed", "--since", "3650d"]),
        ("tree", &["tree", "instance"]),
        ("trace", &["trace", "deployment/web", "-n", "apps"]),
        ("version", &["version"]),
        ("check", &["check"]),
        ("why", &["why", "instance"]),
        ("why-all", &["why"]),
    ];
    for (name, arguments) in views {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("docs/schemas/{name}.json"));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let schema: Value = serde_json::from_str(&text).expect("a schema");
        let mut found = Vec::new();
        // The views include the failures in the dump.
        let shown = read(&[arguments, &["-o", "json"]].concat()).stdout;
        misfits(&serde_json::from_str(&shown).expect("JSON"), &schema, &schema, name, &mut found);
        assert!(found.is_empty(), "{found:#?}");
    }
}

#[test]
fn a_value_that_does_not_fit_is_noticed() {
    let schema = serde_json::json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}});
    for wrong in ["{}", r#"{"a": 1}"#, r#"{"a": "x", "b": 1}"#, "[]"] {
        let mut found = Vec::new();
        misfits(&serde_json::from_str(wrong).expect("JSON"), &schema, &schema, "x", &mut found);
        assert_eq!(found.len(), 1, "{wrong}: {found:?}");
    }
}
