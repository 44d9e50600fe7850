//! FluxInstance: the desired Flux installation and its status.
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
    /// Controllers to install. Left out: source-controller, kustomize-controller, helm-controller and
    /// notification-controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("items" = {"type": "string", "enum": Component::ALL.map(Component::as_str)}))]
    pub components: Option<Vec<String>>,
    /// Labels and annotations to put on every installed object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub common_metadata: Option<CommonMetadata>,
    /// The kind of cluster, and how its tenants are kept apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterSpec>,
    /// Extra sets of controllers that share the work by a label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sharding: Option<ShardingSpec>,
    /// Persistent volume for the artifacts of source-controller. Left out: they live in the pod and are fetched again
    /// after a restart.
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
    /// Flux version: exact (2.9.4) or a range whose newest release is taken (2.x, 2.9.x, >=2.8.0 <2.10.0).
    pub version: String,
    /// Registry and path of the controller images, for example ghcr.io/fluxcd; the component's name is appended.
    pub registry: String,
    /// Variant of the images, which determines their digests. Left out: derived from the registry if it is a well-known
    /// one. Mirrors have to set it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    #[schemars(extend("enum" = Variant::ALL.map(Variant::as_str)))]
    pub variant: Option<String>,
    /// Secret of type kubernetes.io/dockerconfigjson, in the instance's namespace, that the controllers' pods pull
    /// their images with.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    pub image_pull_secret: Option<String>,
    /// OCI artifact (oci://host/path, with tag or digest if wanted) that holds the distribution, so that new patch
    /// releases arrive without a new operator. Left out: the distribution inside the operator.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    #[schemars(extend("pattern" = ARTIFACT_PATTERN))]
    pub artifact: Option<String>,
    /// Secret of type kubernetes.io/dockerconfigjson, in the instance's namespace, to pull the artifact with.
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
    /// Labels to set; a key that an object already has is overwritten. Pod templates are left alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
}

/// The kind of cluster, and how its tenants are kept apart.
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
    /// Service account for objects of a tenant that name none. Left out: default.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    pub tenant_default_service_account: Option<String>,
    /// Service account whose cloud identity decrypts a tenant's SOPS files when the object names none. Left out:
    /// default.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    pub tenant_default_decryption_service_account: Option<String>,
    /// Service account whose cloud identity reaches a tenant's remote clusters when the object names none. Left out:
    /// default.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    pub tenant_default_kube_config_service_account: Option<String>,
    /// Whether network policies close Flux's namespace to traffic from other namespaces, except metrics and webhooks.
    #[serde(default = "default_true")]
    pub network_policy: bool,
    /// Kind of cluster. With openshift, settings that its security context constraints make themselves are left out.
    #[serde(default = "default_cluster_type", rename = "type")]
    #[schemars(extend("enum" = CLUSTER_TYPES))]
    pub cluster_type: String,
    /// How much Flux has to do here: small for tens of applications, medium for hundreds, large for about a thousand.
    /// Sets concurrency, caches, CPU and memory. Left out: the distribution's own values.
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

/// Extra sets of controllers that share the work by a label.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShardingSpec {
    /// Label on Flux objects whose value names the shard that reconciles them.
    #[serde(default = "default_sharding_key")]
    pub key: String,
    /// Names of the shards; each gets controllers of its own, called after it.
    #[schemars(length(min = 1))]
    pub shards: Vec<String>,
    /// Where shards of source-controller keep artifacts: in the pod (ephemeral, the default) or on a volume of their
    /// own with the class and size of spec.storage (persistent).
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

/// A patch, and the objects it is for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KustomizePatch {
    /// The patch as text: a strategic merge patch (part of an object) or a JSON 6902 patch (a list of operations).
    pub patch: String,
    /// Objects to patch. May be left out for a strategic merge patch, which then names its object itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<PatchTarget>,
}

/// Objects to patch: those that meet every given condition.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PatchTarget {
    /// API group, as a regular expression for the whole of it, for example apps.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    pub group: Option<String>,
    /// API version without the group, as a regular expression for the whole of it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    pub version: Option<String>,
    /// Kind, as a regular expression for the whole of it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    pub kind: Option<String>,
    /// Name, as a regular expression for the whole of it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    pub name: Option<String>,
    /// Namespace, as a regular expression for the whole of it. The controllers have none yet when patches are applied.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    pub namespace: Option<String>,
    /// Label selector that is applied to the annotations.
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
    /// Name of the source and the Kustomization that are generated. It cannot be changed later. Left out: the
    /// instance's namespace, as flux bootstrap has it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    #[schemars(length(max = 63))]
    #[schemars(extend("x-kubernetes-validations" = [{
        "rule": "self == oldSelf",
        "message": "sync.name is immutable",
    }]))]
    pub name: Option<String>,
    /// How often the source is checked for something new.
    #[serde(default = "default_sync_interval")]
    #[schemars(extend("pattern" = INTERVAL_PATTERN))]
    pub interval: String,
    /// Kind of the source.
    #[schemars(extend("enum" = SYNC_KINDS))]
    pub kind: String,
    /// Address of the source: https:// or ssh:// for a GitRepository, oci:// for an OCIRepository, host and port of
    /// the endpoint for a Bucket.
    pub url: String,
    /// The part of the source to take: a Git reference (refs/heads/main), the tag of an OCI artifact, or the name of the
    /// bucket.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Folder inside the source with the manifests, or a kustomize overlay, to apply.
    pub path: String,
    /// Secret in the instance's namespace with the credentials for the source.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    pub pull_secret: Option<String>,
    /// The cloud identity to log in with instead of a stored password: aws, azure, gcp, or github for a GitHub App.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unset_if_empty")]
    #[schemars(extend("enum" = SYNC_PROVIDERS))]
    pub provider: Option<String>,
}

/// The state of the desired installation.
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
    /// The last five configurations and how reconciling each went, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<HistoryEntry>,
    /// Objects that were applied and are to be removed when they are no longer part of the installation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inventory: Option<Inventory>,
    /// Revision that was applied last, as version@sha256:digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_applied_revision: Option<String>,
    /// Digest of the distribution artifact that was used last; not set when the distribution came with the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_artifact_revision: Option<String>,
    /// Revision that was last tried, as version@sha256:digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_attempted_revision: Option<String>,
    /// Value of the annotation reconcile.fluxcd.io/forceAt that was honoured last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_handled_force_at: Option<String>,
    /// Value of the annotation reconcile.fluxcd.io/requestedAt that was honoured last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_handled_reconcile_at: Option<String>,
}

/// Image of one installed controller.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComponentImage {
    /// Digest of the image, as sha256:hex; not set when the image is named by its tag only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Name of the controller.
    pub name: String,
    /// Registry and path of the image.
    pub repository: String,
    /// Tag of the image.
    pub tag: String,
}

/// Objects that were applied and are to be removed when they are no longer part of the installation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Inventory {
    /// The objects, in the order they were applied.
    pub entries: Vec<InventoryEntry>,
}

/// An applied object, in the encoding of the inventories of Flux: `NAMESPACE_NAME_GROUP_KIND`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(description = "One applied object.")]
pub struct InventoryEntry {
    /// Object as namespace_name_group_kind; namespace and group may be empty.
    pub id: String,
    /// API version of the object, without the group.
    pub v: String,
}

/// A configuration, and the result of reconciling it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HistoryEntry {
    /// Digest of the configuration, as sha256:hex.
    pub digest: String,
    /// When this configuration first ended this way.
    pub first_reconciled: Time,
    /// When this configuration last ended this way.
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

/// Reads an empty text as "not set", because programs that use Go's types write it with that meaning.
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
