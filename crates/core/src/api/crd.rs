//! The custom resource definitions of the operator's kinds, derived from the types.

use std::sync::LazyLock;

use serde_json::Value;

pub mod derived;

/// Derived from the types by `tools/generate.sh` and kept as text, because deriving them takes longer
/// than a build.
static FLUX_INSTANCE: LazyLock<Value> = LazyLock::new(|| parsed(include_str!("crd/definitions/fluxinstance.json")));
static FLUX_REPORT: LazyLock<Value> = LazyLock::new(|| parsed(include_str!("crd/definitions/fluxreport.json")));
static RESOURCE_SET: LazyLock<Value> = LazyLock::new(|| parsed(include_str!("crd/definitions/resourceset.json")));
static INPUT_PROVIDER: LazyLock<Value> =
    LazyLock::new(|| parsed(include_str!("crd/definitions/resourcesetinputprovider.json")));

/// Parses an embedded definition. A test checks that the text equals the derived definition.
fn parsed(definition: &str) -> Value {
    serde_json::from_str(definition).unwrap_or_default()
}

/// Returns the definition of the FluxInstance kind for a cluster.
pub fn flux_instance() -> Value {
    FLUX_INSTANCE.clone()
}

/// Returns the definition of the FluxReport kind for a cluster.
pub fn flux_report() -> Value {
    FLUX_REPORT.clone()
}

/// Returns the definition of the ResourceSet kind, as it is applied to a cluster.
pub fn resource_set() -> Value {
    RESOURCE_SET.clone()
}

/// Returns the definition of the ResourceSetInputProvider kind, as it is applied to a cluster.
pub fn input_provider() -> Value {
    INPUT_PROVIDER.clone()
}

/// Returns the definitions of all kinds of the operator.
pub fn all() -> Vec<Value> {
    vec![flux_instance(), flux_report(), resource_set(), input_provider()]
}

/// Returns the OpenAPI schema of FluxInstance v1, used to set defaults and to check objects.
pub fn flux_instance_schema() -> &'static Value {
    schema(&FLUX_INSTANCE)
}

/// Returns the OpenAPI schema of ResourceSet v1.
pub fn resource_set_schema() -> &'static Value {
    schema(&RESOURCE_SET)
}

/// Returns the OpenAPI schema of ResourceSetInputProvider v1.
pub fn input_provider_schema() -> &'static Value {
    schema(&INPUT_PROVIDER)
}

fn schema(definition: &'static Value) -> &'static Value {
    static NONE: Value = Value::Null;
    definition.pointer("/spec/versions/0/schema/openAPIV3Schema").unwrap_or(&NONE)
}
