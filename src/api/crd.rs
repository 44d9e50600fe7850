//! The custom resource definitions of the operator's kinds: of those that are served here generated from the types, of the
//! others such that they keep whatever is stored.

use std::sync::LazyLock;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use serde_json::{Value, json};

use super::flux_instance::FluxInstance;
use super::flux_report::FluxReport;
use super::kinds::{self, FluxKind};
use super::{rules, well_known};
use crate::k8s::fields;

/// Says on a definition that no program of ours reads objects of the kind.
const NOT_SERVED_ANNOTATION: &str = "fluxcd.controlplane.io/served";
/// Kinds of the reference operator that this one does not serve.
pub const NOT_SERVED: [&str; 2] = ["ResourceSet", "ResourceSetInputProvider"];

/// Returns the definition of the FluxInstance kind, as it is applied to a cluster.
pub fn flux_instance() -> Value {
    static CRD: LazyLock<Value> = LazyLock::new(|| {
        let description = "A Flux installation: what it should be, and what became of it.";
        generate(FluxInstance::crd(), description, rules::validations(""))
    });
    CRD.clone()
}

/// Returns the definition of the FluxReport kind, as it is applied to a cluster.
pub fn flux_report() -> Value {
    static CRD: LazyLock<Value> = LazyLock::new(|| {
        let only_name = json!([{
            "rule": format!("self.metadata.name == '{}'", well_known::INSTANCE_NAME),
            "message": "the only accepted name for a FluxReport is 'flux'",
        }]);
        generate(FluxReport::crd(), "What the operator has found out about Flux in its cluster.", only_name)
    });
    CRD.clone()
}

/// Returns definitions of the kinds that this operator does not serve. They keep whatever is stored, so that manifests can be
/// applied and handed over; [`is_placeholder`] tells them from those of an operator that serves the kinds.
pub fn not_served() -> Vec<Value> {
    NOT_SERVED.iter().filter_map(|kind| kinds::of(well_known::GROUP, kind)).map(placeholder).collect()
}

/// Returns the definitions of all kinds of the operator.
pub fn all() -> Vec<Value> {
    [flux_instance(), flux_report()].into_iter().chain(not_served()).collect()
}

/// Reports whether a definition is one of [`not_served`], in this version or another.
pub fn is_placeholder(definition: &Value) -> bool {
    fields::annotation(definition, NOT_SERVED_ANNOTATION) == Some("false")
}

fn placeholder(kind: &FluxKind) -> Value {
    let description = format!(
        "A {} is not served by this operator: objects are stored as they are, and nothing acts on them.",
        kind.kind
    );
    let anything = |description: &str| json!({"type": "object", "description": description, "x-kubernetes-preserve-unknown-fields": true});
    let column = |name: &str, kind: &str, path: &str| json!({"name": name, "type": kind, "jsonPath": path});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": format!("{}.{}", kind.plural, kind.group),
            "annotations": {NOT_SERVED_ANNOTATION: "false"},
        },
        "spec": {
            "group": kind.group,
            "names": {
                "categories": ["fluxcd"],
                "kind": kind.kind,
                "plural": kind.plural,
                "shortNames": kind.short_names,
                "singular": kind.kind.to_lowercase(),
            },
            "scope": "Namespaced",
            "versions": [{
                "name": well_known::VERSION,
                "served": true,
                "storage": true,
                "subresources": {"status": {}},
                "additionalPrinterColumns": [
                    column("Age", "date", ".metadata.creationTimestamp"),
                    column("Ready", "string", r#".status.conditions[?(@.type=="Ready")].status"#),
                    column("Status", "string", r#".status.conditions[?(@.type=="Ready")].message"#),
                ],
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "description": description,
                    "properties": {
                        "apiVersion": {"type": "string", "description": "Version of this kind's schema: fluxcd.controlplane.io/v1."},
                        "kind": {"type": "string", "description": format!("Kind of this object: {}.", kind.kind)},
                        "metadata": {"type": "object"},
                        "spec": anything("What an operator that serves the kind should do."),
                        "status": anything("What such an operator said last."),
                    },
                }},
            }],
        },
    })
}

/// Derives the OpenAPI schema of FluxInstance v1 from the types.
pub fn derive_flux_instance_schema() -> Value {
    flux_instance().pointer_mut("/spec/versions/0/schema/openAPIV3Schema").map_or(json!({}), Value::take)
}

/// Returns the OpenAPI schema of FluxInstance v1, by which objects are completed and checked.
///
/// It is that of [`derive_flux_instance_schema`], kept as text: to derive it takes longer than a build.
pub fn flux_instance_schema() -> &'static Value {
    static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
        let text = include_str!("../../docs/schemas/fluxinstance.json");
        serde_json::from_str(text).unwrap_or_default()
    });
    &SCHEMA
}

fn generate(definition: CustomResourceDefinition, description: &str, validations: Value) -> Value {
    let kind = definition.spec.names.kind.clone();
    // A definition without references or floats always has a JSON form.
    let mut crd = serde_json::to_value(definition).unwrap_or_default();
    if let Some(schema) = crd.pointer_mut("/spec/versions/0/schema/openAPIV3Schema") {
        simplify(schema);
        complete_root(schema, &kind, description, validations);
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
    // The API accepts an object without spec; only what reads it asks for one.
    root.remove("required");
    root.insert("description".into(), description.into());
    root.insert("properties".into(), properties);
    root.insert("x-kubernetes-validations".into(), validations);
}
