//! Derives the definitions from the types. Not part of a release, which contains their texts.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use serde_json::{Value, json};

use crate::api::flux_instance::FluxInstance;
use crate::api::flux_report::FluxReport;
use crate::api::input_provider::ResourceSetInputProvider;
use crate::api::resource_set::ResourceSet;
use crate::api::{rules, well_known};

/// The definitions of the kinds that are served, with the names of the files that hold them.
pub fn all() -> [(&'static str, Value); 4] {
    [
        ("fluxinstance.json", flux_instance()),
        ("fluxreport.json", flux_report()),
        ("resourceset.json", resource_set()),
        ("resourcesetinputprovider.json", input_provider()),
    ]
}

fn flux_instance() -> Value {
    let description = "A Flux installation: its desired state and its current status.";
    generate(FluxInstance::crd(), description, rules::validations(""))
}

fn flux_report() -> Value {
    let only_name = json!([{
        "rule": format!("self.metadata.name == '{}'", well_known::INSTANCE_NAME),
        "message": "the only accepted name for a FluxReport is 'flux'",
    }]);
    generate(FluxReport::crd(), "What the operator has found out about Flux in its cluster.", only_name)
}

fn resource_set() -> Value {
    let description = "Objects that are made of templates and inputs, and what became of them.";
    generate(ResourceSet::crd(), description, Value::Null)
}

fn input_provider() -> Value {
    let description = "A source of inputs for ResourceSets, and what it exported last.";
    generate(ResourceSetInputProvider::crd(), description, Value::Null)
}

fn generate(definition: CustomResourceDefinition, description: &str, validations: Value) -> Value {
    let kind = definition.spec.names.kind.clone();
    // A definition without references or floats always has a JSON form.
    let mut crd = serde_json::to_value(definition).unwrap_or_default();
    if let Some(schema) = crd.pointer_mut("/spec/versions/0/schema/openAPIV3Schema") {
        simplify(schema);
        complete_root(schema, &kind, description, validations);
    }
    // API servers omit an empty list.
    if let Some(names) = crd.pointer_mut("/spec/names").and_then(Value::as_object_mut) {
        names.retain(|_, value| value != &json!([]));
    }
    crd
}

/// Removes details of Rust types that do not matter to the API.
fn simplify(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            // Optional means that a field may be omitted, never that it may be null.
            fields.remove("nullable");
            // A structural schema refuses unknown fields anyway, and the API server rejects the combination.
            if fields.get("additionalProperties") == Some(&json!(false)) {
                fields.remove("additionalProperties");
            }
            // Join the lines of source comments.
            if let Some(Value::String(text)) = fields.get_mut("description") {
                *text = text.replace('\n', " ");
            }
            // The API type stores bounds as floats.
            for bound in ["minimum", "maximum"] {
                if let Some(number) = fields.get(bound).and_then(Value::as_f64) {
                    fields.insert(bound.into(), json!(number as i64));
                }
            }
            fields.values_mut().for_each(simplify);
        }
        Value::Array(items) => items.iter_mut().for_each(simplify),
        _ => {}
    }
}

/// Adds properties of the whole object that the derive macro cannot express.
fn complete_root(schema: &mut Value, kind: &str, description: &str, validations: Value) {
    let Some(root) = schema.as_object_mut() else { return };
    let mut properties = json!({
        "apiVersion": {"type": "string", "description": "Version of this kind's schema: fluxcd.controlplane.io/v1."},
        "kind": {"type": "string", "description": format!("Kind of this object: {kind}.")},
        "metadata": {"type": "object"},
    });
    if let (Some(all), Some(Value::Object(own))) = (properties.as_object_mut(), root.remove("properties")) {
        all.extend(own);
    }
    let title = root.remove("title");
    debug_assert!(title.is_some(), "the derive macro names the root after the kind");
    // The API accepts an object without spec; only readers of the object require one.
    root.remove("required");
    root.insert("description".into(), description.into());
    root.insert("properties".into(), properties);
    if !validations.is_null() {
        root.insert("x-kubernetes-validations".into(), validations);
    }
}
