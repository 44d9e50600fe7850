//! The spec of an instance, checked against the chosen Flux version: what the rest of the build works with.

use semver::Version;

use super::BuildError;
use super::version::at_least;
use crate::api::{ClusterSpec, FluxInstance, ShardingSpec, StorageSpec, SyncSpec, well_known};
use crate::distribution::{Component, FLUX_NAMESPACE};
use crate::format::go_duration;
use crate::k8s::names::{MAX_LABEL, is_dns_label, is_label_key};

/// What components default to.
const DEFAULT_COMPONENTS: [Component; 4] = [
    Component::SourceController,
    Component::KustomizeController,
    Component::HelmController,
    Component::NotificationController,
];
/// The service account of tenants that configure none.
const DEFAULT_SERVICE_ACCOUNT: &str = "default";

/// Sizing profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    Small,
    Medium,
    Large,
}

impl Size {
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

/// Object-level workload identity: what it means for the controllers depends on the Flux version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WorkloadIdentity {
    /// The value of the feature gate; `None` when the gate is not set.
    pub gate: Option<bool>,
    /// Whether helm-controller knows the gate.
    pub helm: bool,
    /// Whether controllers may create service account tokens.
    pub tokens: bool,
    /// Whether tenants are locked to their own identities.
    pub multitenant: bool,
}

/// Shards and how to tell them apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sharding {
    pub key: String,
    pub names: Vec<String>,
    pub persistent: bool,
}

/// A Flux source and a Kustomization to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sync {
    pub name: String,
    /// Go duration text in normal form.
    pub interval: String,
    pub kind: SourceKind,
    pub url: String,
    pub reference: String,
    pub path: String,
    pub pull_secret: Option<String>,
    pub provider: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SourceKind {
    GitRepository,
    OciRepository,
    Bucket,
}

impl SourceKind {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            SourceKind::GitRepository => "GitRepository",
            SourceKind::OciRepository => "OCIRepository",
            SourceKind::Bucket => "Bucket",
        }
    }
}

/// Everything a build needs to know besides manifests, images and patches.
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
    pub sharding: Option<Sharding>,
    pub storage: Option<StorageSpec>,
    pub sync: Option<Sync>,
}

impl Settings {
    /// Checks a spec in the order in which the reference operator does, so that the first error is the same.
    pub(super) fn new(instance: &FluxInstance, version: &Version) -> Result<Self, BuildError> {
        let spec = &instance.spec;
        let default_cluster = ClusterSpec::default();
        let cluster = spec.cluster.as_ref().unwrap_or(&default_cluster);
        let namespace = text(instance.metadata.namespace.as_deref()).unwrap_or_else(|| FLUX_NAMESPACE.to_string());
        let openshift = choice(
            "spec.cluster.type",
            &cluster.cluster_type,
            &[
                ("", false),
                ("kubernetes", false),
                ("openshift", true),
                ("aws", false),
                ("azure", false),
                ("gcp", false),
            ],
        )?;
        let size = choice(
            "spec.cluster.size",
            cluster.size.as_deref().unwrap_or_default(),
            &[("", None), ("small", Some(Size::Small)), ("medium", Some(Size::Medium)), ("large", Some(Size::Large))],
        )?;
        let components = components(spec.components.as_deref(), version)?;
        let workload_identity = workload_identity(cluster, version)?;
        let storage = spec.storage.clone();
        let sharding = sharding(spec.sharding.as_ref(), storage.as_ref(), &components, version)?;
        if let Some(storage) = &storage {
            required(&storage.class, "spec.storage.class")?;
            required(&storage.size, "spec.storage.size")?;
        }
        let sync = spec.sync.as_ref().map(|sync| sync_settings(sync, &namespace, version)).transpose()?;
        required(&spec.distribution.registry, "spec.distribution.registry")?;
        let account =
            |name: &Option<String>| text(name.as_deref()).unwrap_or_else(|| DEFAULT_SERVICE_ACCOUNT.to_string());
        Ok(Settings {
            instance_name: text(instance.metadata.name.as_deref())
                .unwrap_or_else(|| well_known::INSTANCE_NAME.to_string()),
            namespace,
            version: version.clone(),
            components,
            domain: text(Some(&cluster.domain)).unwrap_or(default_cluster.domain.clone()),
            network_policy: cluster.network_policy,
            openshift,
            size,
            multitenant: cluster.multitenant,
            tenant_accounts: TenantAccounts {
                reconcile: account(&cluster.tenant_default_service_account),
                decryption: account(&cluster.tenant_default_decryption_service_account),
                kube_config: account(&cluster.tenant_default_kube_config_service_account),
            },
            workload_identity,
            image_pull_secret: text(spec.distribution.image_pull_secret.as_deref()),
            sharding,
            storage,
            sync,
        })
    }

    pub(super) fn has(&self, component: Component) -> bool {
        self.components.contains(&component)
    }

    /// Whether a component runs once per shard. source-watcher can from 2.9.0 on; notification-controller never.
    pub(super) fn is_sharded(&self, component: Component) -> bool {
        self.sharding.is_some() && shardable(component, &self.version)
    }
}

fn shardable(component: Component, version: &Version) -> bool {
    match component {
        Component::NotificationController => false,
        Component::SourceWatcher => at_least(version, 2, 9, 0),
        _ => true,
    }
}

fn text(value: Option<&str>) -> Option<String> {
    value.filter(|value| !value.is_empty()).map(str::to_string)
}

fn required(value: &str, field: &'static str) -> Result<(), BuildError> {
    if value.is_empty() { Err(BuildError::Required(field)) } else { Ok(()) }
}

fn choice<T: Copy>(field: &'static str, value: &str, table: &[(&str, T)]) -> Result<T, BuildError> {
    table.iter().find(|(name, _)| *name == value).map(|(_, meaning)| *meaning).ok_or_else(|| BuildError::InvalidValue {
        field,
        value: value.to_string(),
        allowed: table.iter().map(|(name, _)| *name).filter(|name| !name.is_empty()).collect::<Vec<_>>().join(", "),
    })
}

fn components(names: Option<&[String]>, version: &Version) -> Result<Vec<Component>, BuildError> {
    let Some(names) = names.filter(|names| !names.is_empty()) else {
        // An explicit empty list means the same as none in the API: the field is left out when it is empty.
        return Ok(DEFAULT_COMPONENTS.to_vec());
    };
    let mut components: Vec<Component> = Vec::with_capacity(names.len());
    for name in names {
        let component: Component = name.parse().map_err(|_| BuildError::InvalidComponent {
            name: name.clone(),
            known: Component::ALL.map(Component::as_str).join(", "),
        })?;
        if components.contains(&component) {
            return Err(BuildError::ListedTwice { field: "spec.components", value: name.clone() });
        }
        components.push(component);
    }
    if components.contains(&Component::SourceWatcher) && !at_least(version, 2, 7, 0) {
        return Err(BuildError::Unsupported(format!(
            "source-watcher is only supported in Flux versions >= 2.7.0, got 'v{version}'"
        )));
    }
    Ok(components)
}

fn workload_identity(cluster: &ClusterSpec, version: &Version) -> Result<WorkloadIdentity, BuildError> {
    let object_level = cluster.object_level_workload_identity.unwrap_or_default();
    let multitenant = cluster.multitenant_workload_identity.unwrap_or_default();
    let fail = |text: &str| Err(BuildError::Unsupported(text.to_string()));
    if !at_least(version, 2, 6, 0) {
        if object_level || multitenant {
            return fail(
                ".objectLevelWorkloadIdentity and .multitenantWorkloadIdentity are not supported in Flux versions < 2.6.0",
            );
        }
        return Ok(WorkloadIdentity { gate: None, helm: false, tokens: true, multitenant: false });
    }
    if !at_least(version, 2, 7, 0) {
        if multitenant {
            return fail(".multitenantWorkloadIdentity is not supported in Flux versions 2.6.x");
        }
        let gate = object_level.then_some(true);
        return Ok(WorkloadIdentity { gate, helm: false, tokens: object_level, multitenant: false });
    }
    if multitenant && !object_level {
        return fail(
            ".objectLevelWorkloadIdentity must be set to true when .multitenantWorkloadIdentity is set to true",
        );
    }
    Ok(WorkloadIdentity { gate: Some(object_level), helm: true, tokens: object_level, multitenant })
}

fn sharding(
    spec: Option<&ShardingSpec>,
    storage: Option<&StorageSpec>,
    components: &[Component],
    version: &Version,
) -> Result<Option<Sharding>, BuildError> {
    let Some(spec) = spec else { return Ok(None) };
    let persistent = choice(
        "spec.sharding.storage",
        spec.storage.as_deref().unwrap_or_default(),
        &[("", false), ("ephemeral", false), ("persistent", true)],
    )?;
    if spec.shards.is_empty() {
        return Err(BuildError::Required("spec.sharding.shards"));
    }
    let longest = components.iter().filter(|c| shardable(**c, version)).max_by_key(|c| c.as_str().len());
    for (index, name) in spec.shards.iter().enumerate() {
        check_shard_name(name, longest.copied())?;
        if spec.shards.iter().take(index).any(|earlier| earlier == name) {
            return Err(BuildError::ListedTwice { field: "spec.sharding.shards", value: name.clone() });
        }
    }
    if persistent && storage.is_none() {
        return Err(BuildError::Unsupported(
            ".spec.storage must be set when .spec.sharding.storage is 'persistent'".to_string(),
        ));
    }
    let key = text(Some(&spec.key)).unwrap_or_else(|| well_known::SHARDING_KEY.to_string());
    if !is_label_key(&key) {
        return Err(BuildError::InvalidValue {
            field: "spec.sharding.key",
            value: key,
            allowed: "a label key such as sharding.fluxcd.io/key".to_string(),
        });
    }
    Ok(Some(Sharding { key, names: spec.shards.clone(), persistent }))
}

/// Shard names become part of Service names and of label values, so they are DNS labels. Any DNS label will do: `roles`, `n`
/// and `1` are ordinary names.
fn check_shard_name(name: &str, longest: Option<Component>) -> Result<(), BuildError> {
    let fail = |problem: String| Err(BuildError::ShardName { name: name.to_string(), problem });
    if !is_dns_label(name) {
        return fail(
            "is not a DNS label: use lower-case letters, digits and '-', beginning and ending with a letter or digit"
                .to_string(),
        );
    }
    if let Some(component) = longest
        && component.as_str().len() + 1 + name.len() > MAX_LABEL
    {
        return fail(format!("is too long: {component}-{name} is more than {MAX_LABEL} characters"));
    }
    Ok(())
}

fn sync_settings(sync: &SyncSpec, namespace: &str, version: &Version) -> Result<Sync, BuildError> {
    required(&sync.kind, "spec.sync.kind")?;
    required(&sync.url, "spec.sync.url")?;
    required(&sync.reference, "spec.sync.ref")?;
    required(&sync.path, "spec.sync.path")?;
    let kind = choice(
        "spec.sync.kind",
        &sync.kind,
        &[
            ("OCIRepository", SourceKind::OciRepository),
            ("GitRepository", SourceKind::GitRepository),
            ("Bucket", SourceKind::Bucket),
        ],
    )?;
    let provider = text(sync.provider.as_deref());
    match (provider.as_deref(), kind) {
        (Some("gcp"), SourceKind::GitRepository) => {
            return Err(BuildError::Unsupported(
                "sync.provider 'gcp' is only supported for OCIRepository and Bucket".to_string(),
            ));
        }
        (Some("github"), SourceKind::OciRepository | SourceKind::Bucket) => {
            return Err(BuildError::Unsupported(
                "sync.provider 'github' is only supported for GitRepository".to_string(),
            ));
        }
        (Some("aws"), SourceKind::GitRepository) if !at_least(version, 2, 9, 0) => {
            return Err(BuildError::Unsupported(format!(
                "sync.provider 'aws' for GitRepository requires Flux version >= 2.9.0, got 'v{version}'"
            )));
        }
        _ => {}
    }
    let interval = go_duration::parse(&sync.interval).map_err(|_| BuildError::InvalidValue {
        field: "spec.sync.interval",
        value: sync.interval.clone(),
        allowed: "a duration such as 30s, 5m or 1h30m".to_string(),
    })?;
    Ok(Sync {
        name: text(sync.name.as_deref()).unwrap_or_else(|| namespace.to_string()),
        interval: go_duration::format(interval),
        kind,
        url: sync.url.clone(),
        reference: sync.reference.clone(),
        path: sync.path.clone(),
        pull_secret: text(sync.pull_secret.as_deref()),
        provider,
    })
}
