//! FluxReport: an operator's report about Flux in its cluster, for people, command lines and dashboards.
//!
//! The findings are in the spec, and the status has only conditions, because other programs expect that. Without an operator
//! there is no report.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::conditions;

/// Findings of the operator.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "fluxcd.controlplane.io",
    version = "v1",
    kind = "FluxReport",
    plural = "fluxreports",
    namespaced,
    status = "FluxReportStatus",
    derive = "PartialEq",
    category = "fluxcd",
    printcolumn = r#"{"name":"Entitlement","type":"string","jsonPath":".spec.distribution.entitlement","priority":10}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#,
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"}"#,
    printcolumn = r#"{"name":"Status","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].message"}"#,
    printcolumn = r#"{"name":"LastUpdated","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].lastTransitionTime"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct FluxReportSpec {
    /// Installed version of Flux, and its installer.
    pub distribution: ReportedDistribution,
    /// The cluster that Flux runs in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ReportedCluster>,
    /// The operator that writes this report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator: Option<ReportedOperator>,
    /// The controllers of Flux, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<ReportedComponent>,
    /// Counts of the objects of each kind, by state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reconcilers: Vec<ReportedReconciler>,
    /// Synchronisation of the cluster; not set without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync: Option<ReportedSync>,
}

/// Installed version of Flux, and its installer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportedDistribution {
    /// Issuer of the entitlement to support; Unknown without one.
    pub entitlement: String,
    /// Installed or Not Installed.
    pub status: String,
    /// Version of Flux, for example v2.9.4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Installer of Flux: flux-operator, flux bootstrap, or the owner in the definitions' labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub managed_by: Option<String>,
}

/// The cluster that Flux runs in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportedCluster {
    /// Version of the API server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_version: Option<String>,
    /// Operating system and architecture of the API server, as os/arch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<String>,
    /// Number of nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<i64>,
}

/// The operator that writes this report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportedOperator {
    /// Version of the operator's kinds: fluxcd.controlplane.io/v1.
    pub api_version: String,
    /// Version of the operator.
    pub version: String,
    /// Operating system and architecture of the operator, as os/arch.
    pub platform: String,
}

/// A controller of Flux.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportedComponent {
    /// Image of the controller, with tag and digest.
    pub image: String,
    /// Name of the controller.
    pub name: String,
    /// Whether the controller is ready.
    pub ready: bool,
    /// State of the controller, with an explanation.
    pub status: String,
}

/// Counts of the objects of a kind, by state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportedReconciler {
    /// API version of the kind, with its group.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// Counts of the objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stats: Option<ReportedStats>,
}

/// Counts of the objects.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportedStats {
    /// Objects that are not suspended, including failing ones.
    pub running: i64,
    /// Objects with a failed reconciliation.
    pub failing: i64,
    /// Suspended objects.
    pub suspended: i64,
    /// Size of all stored artifacts, for example 4.2 MiB; not set for kinds without artifacts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_size: Option<String>,
}

/// Synchronisation of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportedSync {
    /// The Kustomization, as kustomization/name.
    pub id: String,
    /// Folder in the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Whether Kustomization and source are ready.
    pub ready: bool,
    /// Messages of both.
    pub status: String,
    /// Address of the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// State of the report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FluxReportStatus {
    /// Ready: whether this report is up to date.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions::schema")]
    pub conditions: Vec<Condition>,
    /// Last handled value of the annotation reconcile.fluxcd.io/requestedAt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_handled_reconcile_at: Option<String>,
}
