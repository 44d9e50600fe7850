//! Explains the fields of a kind from the schema in its custom resource definition, without a cluster.
//!
//! Pure: it turns a definition into a [`FieldView`].

use serde::Serialize;
use serde_json::{Map, Value};

use super::fields;

/// A field of a kind, or the kind itself, with the fields below it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FieldView {
    pub kind: String,
    pub api_version: String,
    /// Dotted path from the root of the object; empty for the kind itself.
    pub path: String,
    #[serde(flatten)]
    pub field: SchemaField,
}

/// A field in a schema.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SchemaField {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// `string`, `boolean`, `[]object` for lists, `{}string` for maps.
    #[serde(rename = "type")]
    pub type_name: String,
    pub required: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// The allowed values of an enum.
    #[serde(rename = "enum", skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Value>,
    /// Further constraints of the value: patterns, lengths, bounds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<String>,
    /// Messages of the validation rules that span several fields.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Required fields first, then by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<SchemaField>,
}

/// Why a field cannot be explained.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExplainError {
    /// The definition does not have that version.
    #[error("{kind} has no version {version}: it serves {}", .served.join(", "))]
    NoVersion { kind: String, version: String, served: Vec<String> },
    /// A step of the path is unknown.
    #[error("{parent} has no field {name}")]
    NoField {
        parent: String,
        name: String,
        /// The existing fields.
        known: Vec<String>,
    },
    /// The object is not a custom resource definition with a schema.
    #[error("the CRD has no schema")]
    NoSchema,
}

/// Explains the field at `path` (names only; lists and maps need no step of their own) of a definition.
///
/// Without `version` it explains the stored version, which is the newest stable one, or the first served version.
///
/// # Errors
/// [`ExplainError`].
pub fn explain(crd: &Value, version: Option<&str>, path: &[&str]) -> Result<FieldView, ExplainError> {
    let text = |pointer: &str| fields::text(crd, pointer).to_owned();
    let (kind, group) = (text("/spec/names/kind"), text("/spec/group"));
    let versions = crd.pointer("/spec/versions").and_then(Value::as_array).ok_or(ExplainError::NoSchema)?;
    let name_of = |version: &Value| version.get("name").and_then(Value::as_str).unwrap_or_default().to_string();
    let is = |version: &Value, mark: &str| version.get(mark).and_then(Value::as_bool).unwrap_or(false);
    let served: Vec<&Value> = versions.iter().filter(|version| is(version, "served")).collect();
    let chosen = match version {
        Some(wanted) => {
            served.iter().find(|version| name_of(version) == wanted).ok_or_else(|| ExplainError::NoVersion {
                kind: kind.clone(),
                version: wanted.into(),
                served: served.iter().map(|version| name_of(version)).collect(),
            })?
        }
        None => {
            served.iter().find(|version| is(version, "storage")).or(served.first()).ok_or(ExplainError::NoSchema)?
        }
    };
    let mut schema = chosen.pointer("/schema/openAPIV3Schema").ok_or(ExplainError::NoSchema)?;
    let (mut name, mut required) = ("", false);
    for (depth, step) in path.iter().enumerate() {
        let inner = innermost(schema).1;
        let properties = inner.get("properties").and_then(Value::as_object);
        let Some(property) = properties.and_then(|properties| properties.get(*step)) else {
            let walked: Vec<&str> = path.iter().take(depth).copied().collect();
            return Err(ExplainError::NoField {
                parent: if walked.is_empty() { kind } else { walked.join(".") },
                name: (*step).into(),
                known: properties.map(|all| all.keys().cloned().collect()).unwrap_or_default(),
            });
        };
        (required, name, schema) = (is_required(inner, step), *step, property);
    }
    let field = describe(name, schema, required);
    Ok(FieldView { api_version: format!("{group}/{}", name_of(chosen)), kind, path: path.join("."), field })
}

/// Follows lists and maps to the innermost schema. The text has `[]` or `{}` for each level.
fn innermost(schema: &Value) -> (String, &Value) {
    let (mut marks, mut schema) = (String::new(), schema);
    loop {
        let held = schema.get("items").map(|held| ("[]", held));
        let held =
            // As a boolean, `additionalProperties` allows or forbids other fields and has no schema.
            held.or_else(|| schema.get("additionalProperties").filter(|v| v.is_object()).map(|held| ("{}", held)));
        let Some((mark, inner)) = held else { return (marks, schema) };
        marks.push_str(mark);
        schema = inner;
    }
}

fn is_required(schema: &Value, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    required.filter_map(Value::as_str).any(|other| other == name)
}

fn describe(name: &str, schema: &Value, required: bool) -> SchemaField {
    let (marks, inner) = innermost(schema);
    let base = match inner.get("type").and_then(Value::as_str) {
        Some(base) => base,
        None if inner.get("x-kubernetes-int-or-string").is_some() => "integer or string",
        None => "any",
    };
    let empty = Map::new();
    let properties = inner.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let mut fields: Vec<SchemaField> =
        properties.iter().map(|(name, property)| describe(name, property, is_required(inner, name))).collect();
    fields.sort_by(|a, b| (!a.required, &a.name).cmp(&(!b.required, &b.name)));
    // Both the list and its items can have constraints, and the user needs both.
    let both = if marks.is_empty() { vec![schema] } else { vec![schema, inner] };
    SchemaField {
        name: name.into(),
        type_name: format!("{marks}{base}"),
        required,
        default: schema.get("default").cloned(),
        values: inner.get("enum").and_then(Value::as_array).cloned().unwrap_or_default(),
        constraints: both.iter().flat_map(|schema| constraints(schema)).collect(),
        rules: both.iter().flat_map(|schema| rules(schema)).collect(),
        description: schema.get("description").and_then(Value::as_str).unwrap_or_default().into(),
        fields,
    }
}

fn constraints(schema: &Value) -> Vec<String> {
    const WORDS: [(&str, &str); 9] = [
        ("pattern", "matches"),
        ("format", "format"),
        ("minLength", "characters at least"),
        ("maxLength", "characters at most"),
        ("minItems", "items at least"),
        ("maxItems", "items at most"),
        ("maxProperties", "entries at most"),
        ("minimum", "at least"),
        ("maximum", "at most"),
    ];
    let shown = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    WORDS.iter().filter_map(|(key, words)| Some(format!("{words} {}", shown(schema.get(key)?)))).collect()
}

fn rules(schema: &Value) -> Vec<String> {
    let rules = schema.get("x-kubernetes-validations").and_then(Value::as_array).into_iter().flatten();
    rules.filter_map(|rule| rule.get("message").or(rule.get("rule"))?.as_str().map(String::from)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::crd;

    fn instance(path: &str) -> Result<FieldView, ExplainError> {
        let path: Vec<&str> = path.split('.').filter(|step| !step.is_empty()).collect();
        explain(&crd::flux_instance(), None, &path)
    }

    #[test]
    fn fields_below_come_required_first() {
        let view = instance("spec.sync").unwrap();
        let names: Vec<&str> = view.field.fields.iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names, ["kind", "path", "ref", "url", "interval", "name", "provider", "pullSecret"]);
    }

    #[test]
    fn lists_and_maps_are_looked_through() {
        let view = instance("spec.kustomize.patches.target.kind").unwrap();
        assert_eq!(view.field.type_name, "string");
        assert_eq!(instance("spec.kustomize.patches").unwrap().field.type_name, "[]object");
        assert_eq!(instance("spec.commonMetadata.labels").unwrap().field.type_name, "{}string");
        let components = instance("spec.components").unwrap().field;
        assert_eq!((components.type_name.as_str(), components.values.len()), ("[]string", 7));
        assert_eq!(instance("spec.sharding.shards").unwrap().field.constraints, ["items at least 1"]);
    }

    #[test]
    fn a_missing_field_is_refused_with_a_list_of_existing_ones() {
        let Err(ExplainError::NoField { parent, name, known }) = instance("spec.sync.branch") else { panic!() };
        assert_eq!((parent.as_str(), name.as_str(), known.len()), ("spec.sync", "branch", 8));
        assert_eq!(instance("sepc").unwrap_err().to_string(), "FluxInstance has no field sepc");
        assert_eq!(instance("spec.wait.x").unwrap_err().to_string(), "spec.wait has no field x");
        let error = explain(&crd::flux_instance(), Some("v2"), &[]).unwrap_err();
        assert_eq!(error.to_string(), "FluxInstance has no version v2: it serves v1");
        assert_eq!(explain(&serde_json::json!({}), None, &[]), Err(ExplainError::NoSchema));
    }

    #[test]
    fn every_field_of_our_kind_has_a_description() {
        fn check(path: &str, field: &SchemaField) {
            let path = format!("{path}.{}", field.name);
            assert!(!field.description.is_empty() || path.ends_with(".metadata"), "{path}");
            field.fields.iter().for_each(|field| check(&path, field));
        }
        check("", &instance("").unwrap().field);
    }
}
