//! FluxReport: an operator's report about Flux in its cluster, for people, command lines and dashboards.
//!
//! The findings are in the spec and the status has only conditions, because other programs expect this layout. A
//! cluster without operator does not have a report.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::conditions;

/// The findings of the operator.
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
    /// Which Flux is installed, and by whom.
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
    /// The number of objects of each kind, and how many of them fail or are suspended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reconcilers: Vec<ReportedReconciler>,
    /// The source that the cluster is synchronised with; not set without a synchronisation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync: Option<ReportedSync>,
}

/// Which Flux is installed, and by whom.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportedDistribution {
    /// The issuer of the right to support; Unknown without one.
    pub entitlement: String,
    /// Installed or Not Installed.
    pub status: String,
    /// Version of Flux, for example v2.9.4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The tool that installed Flux: flux-operator, flux bootstrap, or the one that the CRDs' labels name.
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
    /// How many nodes the cluster has.
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
    /// Whether the controller is as it should be.
    pub ready: bool,
    /// The controller's state, with a sentence about it.
    pub status: String,
}

/// How many objects of one kind there are, and how they do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportedReconciler {
    /// API version of the kind, with its group.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// How many objects there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stats: Option<ReportedStats>,
}

/// How many objects there are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportedStats {
    /// Objects that are reconciled, failing ones included.
    pub running: i64,
    /// Objects whose reconciliation fails.
    pub failing: i64,
    /// Objects whose reconciliation is switched off.
    pub suspended: i64,
    /// Size of all stored artifacts, for example 4.2 MiB; not set for kinds without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_size: Option<String>,
}

/// The source that the cluster is synchronised with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportedSync {
    /// The Kustomization, as kustomization/name.
    pub id: String,
    /// Folder inside the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Whether neither the Kustomization nor its source reports a failure.
    pub ready: bool,
    /// The conditions of both.
    pub status: String,
    /// Address of the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// The state of this report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FluxReportStatus {
    /// Ready: whether this report is up to date.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions::schema")]
    pub conditions: Vec<Condition>,
    /// Value of the annotation reconcile.fluxcd.io/requestedAt that was honoured last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_handled_reconcile_at: Option<String>,
}
