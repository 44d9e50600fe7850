//! FluxInstance: the desired Flux installation and what became of it.
//!
//! The comments on the fields are what `kubectl explain` and `explain` print: they are written for the person who fills
//! in a manifest. The schema attributes are the API's rules; the manifest reader checks against the same schema, so
//! that a rule is written once.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::components::{Component, Variant};
use super::{conditions, rules, well_known};

/// Values of `spec.cluster.type`.
pub const CLUSTER_TYPES: [&str; 5] = ["kubernetes", "openshift", "aws", "azure", "gcp"];
/// Values of `spec.cluster.size`.
pub const CLUSTER_SIZES: [&str; 3] = ["small", "medium", "large"];
/// Values of `spec.sharding.storage`.
pub const SHARD_STORAGES: [&str; 2] = ["ephemeral", "persistent"];
/// Values of `spec.sync.kind`.
pub const SYNC_KINDS: [&str; 3] = ["OCIRepository", "GitRepository", "Bucket"];
/// Values of `spec.sync.provider`.
pub const SYNC_PROVIDERS: [&str; 5] = ["generic", "aws", "azure", "gcp", "github"];

/// How often a sync source is checked when `spec.sync.interval` is not set.
pub const DEFAULT_SYNC_INTERVAL: &str = "1m";
/// Pattern of `spec.distribution.artifact`.
pub const ARTIFACT_PATTERN: &str = "^oci://.*$";
/// Pattern of `spec.sync.interval`; narrower than Go's durations, which the annotations take.
pub const INTERVAL_PATTERN: &str = r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$";

/// Which Flux to install, and how.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "fluxcd.controlplane.io",
    version = "v1",
    kind = "FluxInstance",
    plural = "fluxinstances",
    namespaced,
    status = "FluxInstanceStatus",
    derive = "PartialEq",
    category = "fluxcd",
    category = "fluxcd-appliers",
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#,
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"}"#,
    printcolumn = r#"{"name":"Status","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].message"}"#,
    printcolumn = r#"{"name":"Revision","type":"string","jsonPath":".status.lastAttemptedRevision"}"#
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-kubernetes-validations" = rules::validations("spec")))]
pub struct FluxInstanceSpec {
    /// Flux version to install, and where its images and manifests come from.
    pub distribution: DistributionSpec,
    /// Controllers to install. Default: source-controller, kustomize-controller, helm-controller and
    /// notification-controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("items" = {"type": "string", "enum": Component::ALL.map(Component::as_str)}))]
    pub components: Option<Vec<String>>,
    /// Labels and annotations to put on every installed object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub common_metadata: Option<CommonMetadata>,
    /// Kind of the cluster, and isolation of its tenants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterSpec>,
    /// Additional sets of controllers that share the work by a label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sharding: Option<ShardingSpec>,
    /// Persistent volume for the artifacts of source-controller. By default they are stored in the pod and fetched
    /// again after a restart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<StorageSpec>,
    /// Changes to the generated objects, applied last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kustomize: Option<KustomizeSpec>,
    /// Whether a reconciliation succeeds only once every installed object is healthy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = true))]
    pub wait: Option<bool>,
    /// Whether Flux objects in storage are rewritten to the newest API version after an upgrade to another minor
    /// version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = true))]
    pub migrate_resources: Option<bool>,
    /// Repository, registry or bucket whose content Flux applies to this cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync: Option<SyncSpec>,
}

/// Flux version to install, and where its images and manifests come from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DistributionSpec {
    /// Flux version: exact (2.9.4), or a range of which the newest release is installed (2.x, 2.9.x, >=2.8.0 <2.10.0).
    pub version: String,
    /// Registry and path of the controller images, for example ghcr.io/fluxcd; the component's name is appended.
    pub registry: String,
    /// Variant of the images, which determines their digests. By default it follows from a well-known registry; for a
    /// mirror it must be set.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    #[schemars(extend("enum" = Variant::ALL.map(Variant::as_str)))]
    pub variant: Option<String>,
    /// Pull secret of the controllers' pods, of type kubernetes.io/dockerconfigjson, in the instance's namespace.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    pub image_pull_secret: Option<String>,
    /// OCI artifact (oci://host/path, optionally with tag or digest) with the distribution, so that new patch releases
    /// arrive without a new operator. Default: the distribution inside the operator.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    #[schemars(extend("pattern" = ARTIFACT_PATTERN))]
    pub artifact: Option<String>,
    /// Pull secret of the artifact, of type kubernetes.io/dockerconfigjson, in the instance's namespace.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    pub artifact_pull_secret: Option<String>,
}

/// Labels and annotations to put on every installed object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CommonMetadata {
    /// Annotations to set; a key that an object already has is overwritten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<BTreeMap<String, String>>,
    /// Labels to set; a key that an object already has is overwritten. Pod templates are not changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
}

/// Kind of the cluster, and isolation of its tenants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-kubernetes-validations" = rules::validations("spec.cluster")))]
pub struct ClusterSpec {
    /// DNS domain of the cluster's services.
    #[serde(default = "default_domain")]
    pub domain: String,
    /// Whether tenants are locked into their namespaces: no references across namespaces, no remote bases, and
    /// reconciling under a service account of the tenant.
    #[serde(default)]
    pub multitenant: bool,
    /// Whether controllers fall back to the tenants' service accounts for cloud identities. Needs
    /// objectLevelWorkloadIdentity and Flux 2.7 or newer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = false))]
    pub multitenant_workload_identity: Option<bool>,
    /// Whether a Flux object may name the service account whose cloud identity it uses. Needs Flux 2.6 or newer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object_level_workload_identity: Option<bool>,
    /// Service account for objects of a tenant without one. Default: default.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    pub tenant_default_service_account: Option<String>,
    /// Service account whose cloud identity decrypts SOPS files of tenants' objects without one. Default: default.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    pub tenant_default_decryption_service_account: Option<String>,
    /// Service account whose cloud identity connects to remote clusters of tenants' objects without one. Default:
    /// default.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    pub tenant_default_kube_config_service_account: Option<String>,
    /// Whether network policies close Flux's namespace to traffic from other namespaces, except metrics and webhooks.
    #[serde(default = "default_true")]
    pub network_policy: bool,
    /// Kind of the cluster. For openshift, settings made by its security context constraints are omitted.
    #[serde(default = "default_cluster_type", rename = "type")]
    #[schemars(extend("enum" = CLUSTER_TYPES))]
    pub cluster_type: String,
    /// Sizing profile: small for tens of applications, medium for hundreds, large for about a thousand. Sets
    /// concurrency, caches, CPU and memory. Default: the distribution's own values.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    #[schemars(extend("enum" = CLUSTER_SIZES))]
    pub size: Option<String>,
}

impl Default for ClusterSpec {
    fn default() -> Self {
        ClusterSpec {
            domain: default_domain(),
            multitenant: false,
            multitenant_workload_identity: None,
            object_level_workload_identity: None,
            tenant_default_service_account: None,
            tenant_default_decryption_service_account: None,
            tenant_default_kube_config_service_account: None,
            network_policy: true,
            cluster_type: default_cluster_type(),
            size: None,
        }
    }
}

/// Additional sets of controllers that share the work by a label.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShardingSpec {
    /// Label on Flux objects whose value names the shard that reconciles them.
    #[serde(default = "default_sharding_key")]
    pub key: String,
    /// Names of the shards; each gets its own controllers with its name as suffix.
    #[schemars(length(min = 1))]
    pub shards: Vec<String>,
    /// Storage for artifacts of source-controller's shards: in the pod (ephemeral, the default) or on a separate volume
    /// with the class and size of spec.storage (persistent).
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    #[schemars(extend("enum" = SHARD_STORAGES))]
    pub storage: Option<String>,
}

/// Persistent volume for the artifacts of source-controller.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StorageSpec {
    /// Storage class of the volume.
    pub class: String,
    /// Size of the volume as a quantity, for example 10Gi.
    pub size: String,
}

/// Changes to the generated objects, applied last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KustomizeSpec {
    /// Patches in the order they are applied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patches: Vec<KustomizePatch>,
}

/// A patch with its target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KustomizePatch {
    /// The patch as text: a strategic merge patch (part of an object) or a JSON 6902 patch (a list of operations).
    pub patch: String,
    /// Objects to patch. Optional for a strategic merge patch, which then names its object itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<PatchTarget>,
}

/// Objects to patch: those that meet every given condition.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PatchTarget {
    /// API group, as a regular expression for the whole text, for example apps.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    pub group: Option<String>,
    /// API version without the group, as a regular expression for the whole text.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    pub version: Option<String>,
    /// Kind, as a regular expression for the whole text.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    pub kind: Option<String>,
    /// Name, as a regular expression for the whole text.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    pub name: Option<String>,
    /// Namespace, as a regular expression for the whole text. The controllers have no namespace yet when patches are
    /// applied.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    pub namespace: Option<String>,
    /// Label selector for the annotations.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    pub annotation_selector: Option<String>,
    /// Label selector, for example app.kubernetes.io/component in (helm-controller, source-controller).
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    pub label_selector: Option<String>,
}

/// Repository, registry or bucket whose content Flux applies to this cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-kubernetes-validations" = rules::validations("spec.sync")))]
pub struct SyncSpec {
    /// Name of the generated source and Kustomization. It cannot be changed later. Default: the instance's namespace,
    /// as with flux bootstrap.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    #[schemars(length(max = 63))]
    #[schemars(extend("x-kubernetes-validations" = [{
        "rule": "self == oldSelf",
        "message": "sync.name is immutable",
    }]))]
    pub name: Option<String>,
    /// Interval for checking the source.
    #[serde(default = "default_sync_interval")]
    #[schemars(extend("pattern" = INTERVAL_PATTERN))]
    pub interval: String,
    /// Kind of the source.
    #[schemars(extend("enum" = SYNC_KINDS))]
    pub kind: String,
    /// Address of the source: https:// or ssh:// for a GitRepository, oci:// for an OCIRepository, host and port of
    /// the endpoint for a Bucket.
    pub url: String,
    /// Reference in the source: a Git reference (refs/heads/main), the tag of an OCI artifact, or the name of the
    /// bucket.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Folder in the source with the manifests or the kustomize overlay to apply.
    pub path: String,
    /// Secret in the instance's namespace with the credentials for the source.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    pub pull_secret: Option<String>,
    /// Provider of the identity used instead of a stored password: aws, azure, gcp, or github for a GitHub App.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    #[schemars(extend("enum" = SYNC_PROVIDERS))]
    pub provider: Option<String>,
}

/// Observed state of the installation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FluxInstanceStatus {
    /// Images of the installed controllers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<ComponentImage>,
    /// Ready, Reconciling and Stalled, as kstatus reads them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions::schema")]
    pub conditions: Vec<Condition>,
    /// The last five configurations with the results of their reconciliations, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<HistoryEntry>,
    /// Applied objects, which are deleted when they are no longer part of the installation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inventory: Option<Inventory>,
    /// Last applied revision, as version@sha256:digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_applied_revision: Option<String>,
    /// Digest of the last distribution artifact; not set for the distribution inside the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_artifact_revision: Option<String>,
    /// Last attempted revision, as version@sha256:digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_attempted_revision: Option<String>,
    /// Last handled value of the annotation reconcile.fluxcd.io/forceAt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_handled_force_at: Option<String>,
    /// Last handled value of the annotation reconcile.fluxcd.io/requestedAt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_handled_reconcile_at: Option<String>,
}

/// Image of an installed controller.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComponentImage {
    /// Digest of the image, as sha256:hex; not set when the image has only a tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Name of the controller.
    pub name: String,
    /// Registry and path of the image.
    pub repository: String,
    /// Tag of the image.
    pub tag: String,
}

/// Applied objects, which are deleted when they are no longer part of the installation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Inventory {
    /// The objects in apply order.
    pub entries: Vec<InventoryEntry>,
}

/// An applied object, in the encoding of Flux's inventories: `NAMESPACE_NAME_GROUP_KIND`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(description = "One applied object.")]
pub struct InventoryEntry {
    /// Object as namespace_name_group_kind; namespace and group may be empty.
    pub id: String,
    /// API version of the object, without the group.
    pub v: String,
}

/// A configuration with the results of its reconciliations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HistoryEntry {
    /// Digest of the configuration, as sha256:hex.
    pub digest: String,
    /// First reconciliation with this result.
    pub first_reconciled: Time,
    /// Last reconciliation with this result.
    pub last_reconciled: Time,
    /// How long the last reconciliation took, for example 1m2.5s.
    pub last_reconciled_duration: String,
    /// How it ended: the reason of the Ready condition.
    pub last_reconciled_status: String,
    /// More about the configuration; flux is the version that was installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<BTreeMap<String, String>>,
    /// How often this configuration ended this way in a row of reconciliations.
    pub total_reconciliations: i64,
}

/// Reads an empty text as "not set": that is what it means to every program that writes this kind with Go's types.
pub(super) fn unset_if_empty<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.filter(|text| !text.is_empty()))
}

fn default_domain() -> String {
    "cluster.local".into()
}
fn default_cluster_type() -> String {
    "kubernetes".into()
}
fn default_true() -> bool {
    true
}
fn default_sharding_key() -> String {
    well_known::SHARDING_KEY.into()
}
fn default_sync_interval() -> String {
    DEFAULT_SYNC_INTERVAL.into()
}
