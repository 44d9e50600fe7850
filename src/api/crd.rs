//! The FluxInstance custom resource definition, generated from the types.

use std::sync::LazyLock;

use kube::CustomResourceExt;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use super::flux_instance::FluxInstance;
use super::rules;

/// Returns the definition of the FluxInstance kind, as it is applied to a cluster.
pub fn flux_instance() -> Value {
    static CRD: LazyLock<Value> = LazyLock::new(generate);
    CRD.clone()
}

/// Returns the OpenAPI schema of FluxInstance v1: the one place where its rules and defaults are written.
pub fn flux_instance_schema() -> &'static Value {
    static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
        generate().pointer_mut("/spec/versions/0/schema/openAPIV3Schema").map_or(json!({}), Value::take)
    });
    &SCHEMA
}

fn generate() -> Value {
    // A definition without references or floats always has a JSON form.
    let mut crd = serde_json::to_value(FluxInstance::crd()).unwrap_or_default();
    if let Some(schema) = crd.pointer_mut("/spec/versions/0/schema/openAPIV3Schema") {
        simplify(schema);
        complete_root(schema);
    }
    // An empty list says the same as no list, and API servers leave it out.
    if let Some(names) = crd.pointer_mut("/spec/names").and_then(Value::as_object_mut) {
        names.retain(|_, value| value != &json!([]));
    }
    crd
}

/// Takes out what the generator says about Rust rather than about the API.
fn simplify(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            // Optional means "may be left out" here, never "may be null".
            fields.remove("nullable");
            // A structural schema refuses unknown fields by itself; the API server rejects the two together.
            if fields.get("additionalProperties") == Some(&json!(false)) {
                fields.remove("additionalProperties");
            }
            // Comments wrap where the source does.
            if let Some(Value::String(text)) = fields.get_mut("description") {
                *text = text.replace('\n', " ");
            }
            // The API type holds bounds as floats.
            if let Some(minimum) = fields.get("minimum").and_then(Value::as_f64) {
                fields.insert("minimum".into(), json!(minimum as i64));
            }
            fields.values_mut().for_each(simplify);
        }
        Value::Array(items) => items.iter_mut().for_each(simplify),
        _ => {}
    }
}

/// Adds what the derive macro cannot say about the object as a whole.
fn complete_root(schema: &mut Value) {
    let Some(root) = schema.as_object_mut() else { return };
    let mut properties = json!({
        "apiVersion": {"type": "string", "description": "Version of this kind's schema: fluxcd.controlplane.io/v1."},
        "kind": {"type": "string", "description": "Kind of this object: FluxInstance."},
        "metadata": {"type": "object"},
    });
    if let (Some(all), Some(Value::Object(own))) = (properties.as_object_mut(), root.remove("properties")) {
        all.extend(own);
    }
    let title = root.remove("title");
    debug_assert!(title.is_some(), "the derive macro names the root after the kind");
    // The API accepts an object without spec; only what reads it asks for one.
    root.remove("required");
    root.insert("description".into(), json!("A Flux installation: what it should be, and what became of it."));
    root.insert("properties".into(), properties);
    root.insert("x-kubernetes-validations".into(), rules::validations(""));
}

/// Schema of a list of conditions, with the constraints of the Kubernetes API conventions
/// (<https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md>).
pub(super) fn conditions_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": {
            "type": "object",
            "description": "One aspect of the state of the installation.",
            "required": ["lastTransitionTime", "message", "reason", "status", "type"],
            "properties": {
                "lastTransitionTime": {
                    "type": "string", "format": "date-time",
                    "description": "When the status last became what it is.",
                },
                "message": {
                    "type": "string", "maxLength": 32768,
                    "description": "Details for a person to read; may be empty.",
                },
                "observedGeneration": {
                    "type": "integer", "format": "int64", "minimum": 0,
                    "description": "metadata.generation that the condition was set for.",
                },
                "reason": {
                    "type": "string", "minLength": 1, "maxLength": 1024,
                    "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
                    "description": "Why the status is what it is, as one word for programs.",
                },
                "status": {
                    "type": "string", "enum": ["True", "False", "Unknown"],
                    "description": "Whether the condition holds.",
                },
                "type": {
                    "type": "string", "maxLength": 316,
                    "pattern": r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
                    "description": "Name of the aspect.",
                },
            },
        },
    })
}
