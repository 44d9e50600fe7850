//! The custom resource definitions of the operator's kinds: of those that are served here derived from the types, of the
//! others such that they keep whatever is stored.

use std::sync::LazyLock;

use serde_json::{Value, json};

use super::kinds::{self, FluxKind};
use super::well_known;
use crate::k8s::fields;

pub mod derived;

/// Says on a definition that no program of ours reads objects of the kind.
const NOT_SERVED_ANNOTATION: &str = "fluxcd.controlplane.io/served";
/// Kinds of the reference operator that this one does not serve.
pub const NOT_SERVED: [&str; 2] = ["ResourceSet", "ResourceSetInputProvider"];

/// Derived from the types by `flux-operator generate definitions`, and kept as text: to derive them takes longer than a build.
static FLUX_INSTANCE: LazyLock<Value> = LazyLock::new(|| parsed(include_str!("crd/definitions/fluxinstance.json")));
static FLUX_REPORT: LazyLock<Value> = LazyLock::new(|| parsed(include_str!("crd/definitions/fluxreport.json")));

/// A test holds that the texts are what is derived.
fn parsed(definition: &str) -> Value {
    serde_json::from_str(definition).unwrap_or_default()
}

/// Returns the definition of the FluxInstance kind, as it is applied to a cluster.
pub fn flux_instance() -> Value {
    FLUX_INSTANCE.clone()
}

/// Returns the definition of the FluxReport kind, as it is applied to a cluster.
pub fn flux_report() -> Value {
    FLUX_REPORT.clone()
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

/// Returns the OpenAPI schema of FluxInstance v1, by which objects are completed and checked.
pub fn flux_instance_schema() -> &'static Value {
    static NONE: Value = Value::Null;
    FLUX_INSTANCE.pointer("/spec/versions/0/schema/openAPIV3Schema").unwrap_or(&NONE)
}
