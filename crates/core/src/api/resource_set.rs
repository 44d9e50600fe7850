//! ResourceSet: templates with their inputs, and the objects rendered from them.
//!
//! The fields and rules are those of the reference operator's definition, so that objects of either operator can be read by
//! the other. The comments on the fields are what `kubectl explain` and `explain` print.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use kube::CustomResource;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::flux_instance::{CommonMetadata, HistoryEntry, INTERVAL_PATTERN, Inventory, unset_if_empty};
use super::{conditions, well_known};

/// Pattern of the name of a step.
pub const STEP_NAME_PATTERN: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
/// Values of `spec.inputStrategy.name`.
pub const INPUT_STRATEGIES: [&str; 2] = ["Flatten", "Permute"];

/// Templates, the inputs to render them with, and how the objects are applied.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "fluxcd.controlplane.io",
    version = "v1",
    kind = "ResourceSet",
    plural = "resourcesets",
    shortname = "rset",
    namespaced,
    status = "ResourceSetStatus",
    derive = "PartialEq",
    category = "all",
    category = "fluxcd",
    category = "fluxcd-appliers",
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#,
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"}"#,
    printcolumn = r#"{"name":"Status","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].message"}"#
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = json!([
    {"rule": "!has(self.steps) || (!has(self.resources) && !has(self.resourcesTemplate))",
     "message": "steps is mutually exclusive with resources and resourcesTemplate"},
    {"rule": "has(self.steps) || has(self.resources) || has(self.resourcesTemplate)",
     "message": "at least one of steps, resources or resourcesTemplate must be set"},
])))]
pub struct ResourceSetSpec {
    /// Labels and annotations to put on every object. They are not templates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub common_metadata: Option<CommonMetadata>,
    /// How the inputs of several sources are combined. Left out: one after the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_strategy: Option<InputStrategySpec>,
    /// Input sets: the templates are rendered once for each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "input_sets_schema")]
    pub inputs: Option<Vec<Map<String, Value>>>,
    /// ResourceSetInputProviders of the same namespace whose exported inputs are used as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs_from: Option<Vec<InputProviderReference>>,
    /// Objects whose text is a template with the delimiters << and >>.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "resources_schema")]
    pub resources: Option<Vec<Value>>,
    /// Template of a text with any number of YAML documents, each an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources_template: Option<String>,
    /// Groups of objects that are applied one after the other; each group is waited for before the next one begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 20))]
    #[schemars(extend("x-kubernetes-validations" = json!([
        {"rule": "self.all(step, self.exists_one(other, other.name == step.name))", "message": "step names must be unique"},
    ])))]
    pub steps: Option<Vec<ResourceSetStep>>,
    /// Objects that must exist, or be ready, before anything is applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depends_on: Option<Vec<ResourceSetDependency>>,
    /// Service account of the same namespace with whose rights the objects are applied. Left out: the one that the operator
    /// is configured with, else the operator itself.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    pub service_account_name: Option<String>,
    /// Whether a reconciliation succeeds only once every object is healthy. Every step but the
    /// last is waited for in any case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<bool>,
}

/// How the inputs of several sources are combined.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = json!([
    {"rule": "!has(self.includeEmptyProviders) || self.name == 'Permute'",
     "message": "includeEmptyProviders only applies when name is Permute"},
])))]
pub struct InputStrategySpec {
    /// Flatten puts the sets of all sources one after the other; Permute makes one set of every combination of their sets.
    #[schemars(extend("enum" = INPUT_STRATEGIES))]
    pub name: String,
    /// Whether a source without sets makes the product of Permute empty, instead of being left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_empty_providers: Option<bool>,
}

/// A ResourceSetInputProvider by name, or all with some labels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = json!([
    {"rule": "has(self.name) || has(self.selector)",
     "message": "at least one of name or selector must be set for input provider references"},
    {"rule": "!has(self.name) || !has(self.selector)",
     "message": "cannot set both name and selector for input provider references"},
])))]
pub struct InputProviderReference {
    /// Always fluxcd.controlplane.io/v1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = [well_known::API_VERSION]))]
    pub api_version: Option<String>,
    /// Always ResourceSetInputProvider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["ResourceSetInputProvider"]))]
    pub kind: Option<String>,
    /// Name of a provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Selects providers by their labels. An empty selector selects all providers of the namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "label_selector_schema")]
    pub selector: Option<LabelSelector>,
}

/// A group of objects.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = json!([
    {"rule": "has(self.resources) || has(self.resourcesTemplate)",
     "message": "at least one of resources or resourcesTemplate must be set"},
])))]
pub struct ResourceSetStep {
    /// Name of the group, unique among the steps.
    #[schemars(length(max = 63), extend("pattern" = STEP_NAME_PATTERN))]
    pub name: String,
    /// Objects whose text is a template with the delimiters << and >>.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "resources_schema")]
    pub resources: Option<Vec<Value>>,
    /// Template of a text with any number of YAML documents, each an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources_template: Option<String>,
    /// How long the objects of the group may take to become healthy. Left out: as long as the annotation
    /// fluxcd.controlplane.io/reconcileTimeout says, else five minutes.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    #[schemars(extend("pattern" = INTERVAL_PATTERN))]
    pub timeout: Option<String>,
}

/// An object that must exist, or be ready, before anything is applied.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceSetDependency {
    /// API version of the object, with its group.
    pub api_version: String,
    /// Kind of the object.
    pub kind: String,
    /// Name of the object.
    pub name: String,
    /// Namespace of the object; left out for kinds of the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    pub namespace: Option<String>,
    /// Whether the object must be ready too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<bool>,
    /// Expression in CEL about the object that says whether it is ready; only read where ready is true. Left out: as kstatus
    /// judges the object.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    pub ready_expr: Option<String>,
}

/// The state of the objects.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceSetStatus {
    /// Ready, Reconciling and Stalled, as kstatus reads them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions::schema")]
    pub conditions: Vec<Condition>,
    /// ConfigMaps and Secrets outside of the set whose content the annotation fluxcd.controlplane.io/checksumFrom asks for, as
    /// Kind/namespace/name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub external_checksum_refs: Vec<String>,
    /// The last five sets of objects and how reconciling each went, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<HistoryEntry>,
    /// Objects that were applied and are to be removed when they are no longer part of the set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inventory: Option<Inventory>,
    /// Digest of the objects that were applied last, as sha256:hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_applied_revision: Option<String>,
    /// Value of the annotation reconcile.fluxcd.io/requestedAt that was honoured last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_handled_reconcile_at: Option<String>,
}

/// Any value for every key. Keys whose value is null are dropped by the API server, which keeps nulls further down.
fn any_values() -> Value {
    json!({"type": "object", "additionalProperties": {"x-kubernetes-preserve-unknown-fields": true}})
}

fn input_sets_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "array", "items": any_values()})
}

/// Returns the schema of an object with any values: `defaultValues` of a provider.
pub(super) fn any_values_schema(_: &mut SchemaGenerator) -> Schema {
    let Value::Object(schema) = any_values() else { return Schema::default() };
    Schema::from(schema)
}

/// Returns the schema of a list of such objects: what a provider exports.
pub(super) fn exported_inputs_schema(generator: &mut SchemaGenerator) -> Schema {
    input_sets_schema(generator)
}

fn resources_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}})
}

/// The properties of a label selector.
pub(super) fn label_selector_properties() -> Value {
    json!({
        "matchExpressions": {
            "type": "array",
            "description": "Conditions that labels have to meet, all of them.",
            "x-kubernetes-list-type": "atomic",
            "items": {
                "type": "object",
                "required": ["key", "operator"],
                "properties": {
                    "key": {"type": "string", "description": "Key of the label."},
                    "operator": {"type": "string", "description": "In, NotIn, Exists or DoesNotExist."},
                    "values": {
                        "type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "atomic",
                        "description": "Values to compare with; empty for Exists and DoesNotExist.",
                    },
                },
            },
        },
        "matchLabels": {
            "type": "object", "additionalProperties": {"type": "string"},
            "description": "Labels that must be there with these values.",
        },
    })
}

fn label_selector_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "x-kubernetes-map-type": "atomic", "properties": label_selector_properties()})
}
