//! The settings of a checked instance for the chosen Flux version; the rest of the build reads these.

use semver::Version;

use super::BuildError;
use crate::api::{CheckedInstance, ClusterSpec, Component, ShardingSpec, StorageSpec, SyncSpec, well_known};
use crate::format::version_range::is_at_least;

/// The service account of tenants that do not configure one.
const DEFAULT_SERVICE_ACCOUNT: &str = "default";

/// Sizing profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    Small,
    Medium,
    Large,
}

impl Size {
    const ALL: [Size; 3] = [Size::Small, Size::Medium, Size::Large];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Size::Small => "small",
            Size::Medium => "medium",
            Size::Large => "large",
        }
    }
}

/// Names of the service accounts that tenants' objects use by default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TenantAccounts {
    pub reconcile: String,
    pub decryption: String,
    pub kube_config: String,
}

/// Object-level workload identity; its effect on the controllers depends on the Flux version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WorkloadIdentity {
    /// The value of the feature gate; `None` when the gate is not set.
    pub gate: Option<bool>,
    /// Whether helm-controller has the gate.
    pub helm: bool,
    /// Whether controllers may create service account tokens.
    pub tokens: bool,
    /// Whether tenants are locked to their own identities.
    pub multitenant: bool,
}

/// All inputs of a build except manifests, images and patches.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Settings {
    pub instance_name: String,
    pub namespace: String,
    pub version: Version,
    pub components: Vec<Component>,
    pub domain: String,
    pub network_policy: bool,
    pub openshift: bool,
    pub size: Option<Size>,
    pub multitenant: bool,
    pub tenant_accounts: TenantAccounts,
    pub workload_identity: WorkloadIdentity,
    pub image_pull_secret: Option<String>,
    pub sharding: Option<ShardingSpec>,
    pub storage: Option<StorageSpec>,
    pub sync: Option<SyncSpec>,
    /// The name of the source and of the Kustomization.
    pub sync_name: String,
}

impl Settings {
    /// Reads a checked instance.
    ///
    /// # Errors
    /// [`BuildError::Unsupported`]: the Flux version lacks a requested feature.
    pub(super) fn new(instance: &CheckedInstance, version: &Version) -> Result<Self, BuildError> {
        if let Some(missing) = instance.missing_in(version) {
            return Err(BuildError::Unsupported(missing));
        }
        let spec = &instance.spec;
        let cluster = spec.cluster.clone().unwrap_or_default();
        let workload_identity = workload_identity(&cluster, version);
        let account = |name: Option<String>| name.unwrap_or_else(|| DEFAULT_SERVICE_ACCOUNT.to_string());
        Ok(Settings {
            instance_name: well_known::INSTANCE_NAME.to_string(),
            namespace: instance.namespace_or_default().to_string(),
            version: version.clone(),
            components: instance.components(),
            domain: cluster.domain,
            network_policy: cluster.network_policy,
            openshift: cluster.cluster_type == "openshift",
            size: Size::ALL.into_iter().find(|size| cluster.size.as_deref() == Some(size.as_str())),
            multitenant: cluster.multitenant,
            tenant_accounts: TenantAccounts {
                reconcile: account(cluster.tenant_default_service_account),
                decryption: account(cluster.tenant_default_decryption_service_account),
                kube_config: account(cluster.tenant_default_kube_config_service_account),
            },
            workload_identity,
            image_pull_secret: spec.distribution.image_pull_secret.clone(),
            sharding: spec.sharding.clone(),
            storage: spec.storage.clone(),
            sync: spec.sync.clone(),
            sync_name: instance.sync_name().unwrap_or_default().to_string(),
        })
    }

    pub(super) fn has(&self, component: Component) -> bool {
        self.components.contains(&component)
    }

    /// Whether a component runs once per shard.
    pub(super) fn is_sharded(&self, component: Component) -> bool {
        self.sharding.is_some() && component.is_sharded_in(&self.version)
    }
}

fn workload_identity(cluster: &ClusterSpec, version: &Version) -> WorkloadIdentity {
    let object_level = cluster.object_level_workload_identity.unwrap_or_default();
    let multitenant = cluster.multitenant_workload_identity.unwrap_or_default();
    if !is_at_least(version, 2, 6, 0) {
        return WorkloadIdentity { gate: None, helm: false, tokens: true, multitenant: false };
    }
    if !is_at_least(version, 2, 7, 0) {
        // The gate is set only to enable it; helm-controller does not have it yet.
        let gate = object_level.then_some(true);
        return WorkloadIdentity { gate, helm: false, tokens: object_level, multitenant: false };
    }
    WorkloadIdentity { gate: Some(object_level), helm: true, tokens: object_level, multitenant }
}
