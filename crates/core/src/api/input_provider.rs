//! ResourceSetInputProvider: a source of inputs for ResourceSets, and its last export.
//!
//! The fields and rules are those of the reference operator's definition. The comments on the fields are what
//! `kubectl explain` and `explain` print.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelectorRequirement, Time};
use kube::CustomResource;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::conditions;
use super::flux_instance::{INTERVAL_PATTERN, unset_if_empty};
use super::resource_set::{any_values_schema, exported_inputs_schema, label_selector_properties};

/// Values of `spec.type`, in the order of the reference.
pub const INPUT_PROVIDER_TYPES: [&str; 23] = [
    "Static",
    "GitHubBranch",
    "GitHubTag",
    "GitHubPullRequest",
    "GitLabBranch",
    "GitLabTag",
    "GitLabMergeRequest",
    "GitLabEnvironment",
    "AzureDevOpsBranch",
    "AzureDevOpsTag",
    "AzureDevOpsPullRequest",
    "AWSCodeCommitBranch",
    "AWSCodeCommitTag",
    "AWSCodeCommitPullRequest",
    "GiteaBranch",
    "GiteaTag",
    "GiteaPullRequest",
    "OCIArtifactTag",
    "ACRArtifactTag",
    "ECRArtifactTag",
    "GARArtifactTag",
    "ExternalService",
    "ExternalArtifact",
];
/// Pattern of `spec.url`.
pub const INPUT_PROVIDER_URL_PATTERN: &str = "^((http|https|oci)://.*){0,1}$";
/// How many results a provider exports when its filter does not say.
pub const DEFAULT_RESULT_LIMIT: i64 = 100;
/// The most results a filter may ask for.
pub const MAX_RESULT_LIMIT: i64 = 10_000;

/// The rules across the fields of a provider's spec: each in CEL, with the message of the reference.
fn rules() -> Value {
    let rules = [
        (
            "self.type != 'Static' || !has(self.url) || self.url == ''",
            "spec.url must be empty when spec.type is 'Static'",
        ),
        (
            "self.type != 'ExternalArtifact' || !has(self.url) || self.url == ''",
            "spec.url must be empty when spec.type is 'ExternalArtifact'",
        ),
        (
            "self.type in ['Static', 'ExternalArtifact'] || (has(self.url) && self.url != '')",
            "spec.url must not be empty when spec.type is not 'Static' or 'ExternalArtifact'",
        ),
        (
            "!self.type.startsWith('Git') || !has(self.url) || self.url.startsWith('http')",
            "spec.url must start with 'http://' or 'https://' when spec.type is a Git provider",
        ),
        (
            "!self.type.startsWith('AzureDevOps') || !has(self.url) || self.url.startsWith('http')",
            "spec.url must start with 'http://' or 'https://' when spec.type is an AzureDevOps provider",
        ),
        (
            "!self.type.startsWith('AWSCodeCommit') || !has(self.url) || self.url.startsWith('https')",
            "spec.url must start with 'https://' when spec.type is a AWSCodeCommit provider",
        ),
        (
            "!self.type.endsWith('ArtifactTag') || !has(self.url) || self.url.startsWith('oci')",
            "spec.url must start with 'oci://' when spec.type is an OCI provider",
        ),
        (
            "!self.type.endsWith('ArtifactTag') || !has(self.url) || self.url.matches('^oci://[^/]+/.+$')",
            "spec.url must include the repository path after the registry host when spec.type is an OCI provider",
        ),
        (
            "self.type != 'ExternalService' || !has(self.url) || self.url.startsWith('http')",
            "spec.url must start with 'http://' or 'https://' when spec.type is 'ExternalService'",
        ),
        (
            "!has(self.insecure) || !self.insecure || self.type in ['ExternalService', 'OCIArtifactTag']",
            "spec.insecure can only be set when spec.type is 'ExternalService' or 'OCIArtifactTag'",
        ),
        (
            "self.type != 'ExternalService' || !has(self.url) || !self.url.startsWith('http://') || (has(self.insecure) && self.insecure)",
            "spec.url must use 'https://' unless spec.insecure is true",
        ),
        (
            "!has(self.serviceAccountName) || self.type.startsWith('AzureDevOps') || self.type.startsWith('AWSCodeCommit') || self.type.endsWith('ArtifactTag') || self.type == 'ExternalArtifact'",
            "cannot specify spec.serviceAccountName when spec.type is not one of AzureDevOps*, AWSCodeCommit*, *ArtifactTag or ExternalArtifact",
        ),
        (
            "!has(self.certSecretRef) || !(self.type in ['Static', 'ExternalArtifact', 'ACRArtifactTag', 'ECRArtifactTag', 'GARArtifactTag'] || self.type.startsWith('AzureDevOps') || self.type.startsWith('AWSCodeCommit'))",
            "cannot specify spec.certSecretRef when spec.type is one of Static, ExternalArtifact, AzureDevOps*, AWSCodeCommit*, ACRArtifactTag, ECRArtifactTag or GARArtifactTag",
        ),
        (
            "!has(self.secretRef) || !(self.type in ['Static', 'ExternalArtifact', 'ACRArtifactTag', 'ECRArtifactTag', 'GARArtifactTag'] || self.type.startsWith('AWSCodeCommit'))",
            "cannot specify spec.secretRef when spec.type is one of Static, ExternalArtifact, AWSCodeCommit*, ACRArtifactTag, ECRArtifactTag or GARArtifactTag",
        ),
        (
            "self.type != 'ExternalArtifact' || has(self.selectors)",
            "spec.selectors must be set when spec.type is 'ExternalArtifact'",
        ),
        (
            "self.type == 'ExternalArtifact' || !has(self.selectors)",
            "spec.selectors must not be set when spec.type is not 'ExternalArtifact'",
        ),
    ];
    rules.into_iter().map(|(rule, message)| json!({"rule": rule, "message": message})).collect()
}

/// Which service to ask for inputs, how often, and what of its answer to export.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "fluxcd.controlplane.io",
    version = "v1",
    kind = "ResourceSetInputProvider",
    plural = "resourcesetinputproviders",
    shortname = "rsip",
    namespaced,
    status = "ResourceSetInputProviderStatus",
    derive = "PartialEq",
    category = "all",
    category = "fluxcd",
    category = "fluxcd-sources",
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#,
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"}"#,
    printcolumn = r#"{"name":"Status","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].message"}"#
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules()))]
pub struct ResourceSetInputProviderSpec {
    /// The service to ask: Static exports its default values; the others ask a Git service, a registry, a web service, or the
    /// ExternalArtifacts of the cluster.
    #[serde(rename = "type")]
    #[schemars(extend("enum" = INPUT_PROVIDER_TYPES))]
    pub provider_type: String,
    /// Address to ask: of a repository (https://host/owner/name), of an image (oci://host/path), or of a web service.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    #[schemars(extend("pattern" = INPUT_PROVIDER_URL_PATTERN))]
    pub url: Option<String>,
    /// Service account of the same namespace: whose cloud identity or image pull secrets are used, or with whose rights
    /// ExternalArtifacts are read.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    pub service_account_name: Option<String>,
    /// Secret of the same namespace with the credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretReference>,
    /// Secret of the same namespace with a client certificate (tls.crt, tls.key), a certificate authority (ca.crt), or both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cert_secret_ref: Option<SecretReference>,
    /// Whether a web service or a registry may be asked without TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub insecure: Option<bool>,
    /// Values for keys that a result does not have. They are the only values of a Static provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_values_schema")]
    pub default_values: Option<Map<String, Value>>,
    /// Which results to export.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<InputProviderFilter>,
    /// Which results to leave as they were exported last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip: Option<InputProviderSkip>,
    /// When to ask. Left out: at any time, at the interval of the annotation fluxcd.controlplane.io/reconcileEvery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Vec<InputProviderSchedule>>,
    /// Which ExternalArtifacts to export, for that type only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "selectors_schema")]
    pub selectors: Option<Vec<ArtifactSelector>>,
}

/// A Secret of the same namespace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SecretReference {
    /// Name of the Secret.
    pub name: String,
}

/// Which results to export.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InputProviderFilter {
    /// Regular expression that the branch has to match; of requests the source branch.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    pub include_branch: Option<String>,
    /// Regular expression that the branch must not match.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    pub exclude_branch: Option<String>,
    /// Regular expression that the tag has to match.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    pub include_tag: Option<String>,
    /// Regular expression that the tag must not match.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    pub exclude_tag: Option<String>,
    /// Regular expression that the name of the environment has to match.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    pub include_environment: Option<String>,
    /// Regular expression that the name of the environment must not match.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    pub exclude_environment: Option<String>,
    /// Labels that a request must have, all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<Vec<String>>,
    /// How many results to export at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = DEFAULT_RESULT_LIMIT, "maximum" = MAX_RESULT_LIMIT))]
    pub limit: Option<i64>,
    /// Range of versions that tags have to be in, newest first, for example ">=1.0.0".
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    pub semver: Option<String>,
}

/// Which results to leave as they were exported last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InputProviderSkip {
    /// Labels of pull or merge requests to skip: a request with such a label keeps its previous export. A label after !
    /// skips the requests that do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<Vec<String>>,
}

/// Times at which a provider is asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InputProviderSchedule {
    /// Times in the notation of cron: minute, hour, day of month, month, day of week; or @daily and the like.
    pub cron: String,
    /// Time zone of the times, by its IANA name.
    #[serde(default = "utc")]
    pub time_zone: String,
    /// How long after each time the provider may be asked; 0s: at any time.
    #[serde(default = "no_window")]
    #[schemars(extend("pattern" = INTERVAL_PATTERN))]
    pub window: String,
}

/// ExternalArtifacts by name, or all with some labels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactSelector {
    /// Name of one ExternalArtifact.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    pub name: Option<String>,
    /// Namespace to look in: * for all, empty for that of the provider.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    pub namespace: Option<String>,
    /// Labels that must be there with these values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub match_labels: Option<BTreeMap<String, String>>,
    /// Conditions that labels have to meet, all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub match_expressions: Option<Vec<LabelSelectorRequirement>>,
}

/// The last export, and its result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceSetInputProviderStatus {
    /// Ready, Reconciling and Stalled, as kstatus reads them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions::schema")]
    pub conditions: Vec<Condition>,
    /// Input sets for ResourceSets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "exported_inputs_schema")]
    pub exported_inputs: Vec<Map<String, Value>>,
    /// Digest of the input sets, as sha256:hex; not set before the first export.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_exported_revision: Option<String>,
    /// Value of the annotation reconcile.fluxcd.io/forceAt that was honoured last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_handled_force_at: Option<String>,
    /// Value of the annotation reconcile.fluxcd.io/requestedAt that was honoured last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_handled_reconcile_at: Option<String>,
    /// Next scheduled query of the provider; not set without a schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_schedule: Option<NextSchedule>,
}

/// When a provider is asked next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NextSchedule {
    /// Cron expression that sets this time.
    pub cron: String,
    /// Its time zone.
    #[serde(default = "utc")]
    pub time_zone: String,
    /// When.
    #[schemars(schema_with = "time_schema")]
    pub when: Time,
    /// How long after that the provider may be asked.
    #[serde(default = "no_window")]
    pub window: String,
}

fn utc() -> String {
    "UTC".into()
}

fn no_window() -> String {
    "0s".into()
}

fn time_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "format": "date-time"})
}

fn selectors_schema(_: &mut SchemaGenerator) -> Schema {
    let mut properties = label_selector_properties();
    properties["name"] = json!({"type": "string", "description": "Name of one ExternalArtifact."});
    properties["namespace"] =
        json!({"type": "string", "description": "Namespace to look in: * for all, empty for that of the provider."});
    json_schema!({
        "type": "array",
        "x-kubernetes-list-type": "atomic",
        "items": {
            "type": "object",
            "x-kubernetes-map-type": "atomic",
            "properties": properties,
            "x-kubernetes-validations": [{
                "rule": "!has(self.name) || (!has(self.matchLabels) && !has(self.matchExpressions))",
                "message": "name is mutually exclusive with matchLabels and matchExpressions",
            }],
        },
    })
}
