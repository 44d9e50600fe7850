//! A FluxInstance made from flags.

use clap::ArgAction;
use clap::builder::PossibleValuesParser;
use flux_operator::api::manifest::InstanceManifest;
use flux_operator::api::{
    self, CLUSTER_SIZES, CLUSTER_TYPES, CheckedInstance, ClusterSpec, Component, DistributionSpec, FluxInstance,
    FluxInstanceSpec, SHARD_STORAGES, SYNC_KINDS, SYNC_PROVIDERS, ShardingSpec, StorageSpec, SyncSpec, Variant,
    well_known,
};

use crate::session::manifest_file::manifest_error;
use crate::terminal::CliError;

const DISTRIBUTION: &str = "Distribution options";
const CLUSTER: &str = "Options for the kind of cluster";
const SCALING: &str = "Storage and sharding options";
const SYNC: &str = "Sync options";

const VERSION: &str = "2.x";
const REGISTRY: &str = "ghcr.io/fluxcd";

/// The flags that describe an instance.
#[derive(clap::Args, Clone, Debug)]
pub struct InstanceArgs {
    /// Flux version, exact or a range
    #[arg(long, alias = "flux-version", value_name = "RANGE", default_value = VERSION, help_heading = DISTRIBUTION)]
    pub distribution_version: String,
    /// Registry and path of the controller images
    #[arg(long, alias = "registry", value_name = "REGISTRY", default_value = REGISTRY, help_heading = DISTRIBUTION)]
    pub distribution_registry: String,
    /// Variant of the images, if the registry is a mirror
    #[arg(long, alias = "variant", value_name = "VARIANT", value_parser = PossibleValuesParser::new(Variant::ALL.map(Variant::as_str)), help_heading = DISTRIBUTION)]
    pub distribution_variant: Option<String>,
    /// OCI artifact with the distribution, as oci://host/path:tag
    #[arg(long, alias = "artifact", value_name = "URL", help_heading = DISTRIBUTION)]
    pub distribution_artifact: Option<String>,
    /// Pull secret for the artifact
    #[arg(long, alias = "artifact-pull-secret", value_name = "NAME", requires = "distribution_artifact", help_heading = DISTRIBUTION, add = crate::args::complete::secrets())]
    pub distribution_artifact_pull_secret: Option<String>,
    /// Image pull secret of the controllers' pods
    #[arg(long, alias = "image-pull-secret", value_name = "NAME", help_heading = DISTRIBUTION, add = crate::args::complete::secrets())]
    pub distribution_image_pull_secret: Option<String>,
    /// Controllers to install instead of the default four, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = PossibleValuesParser::new(Component::ALL.map(Component::as_str)),
        hide_possible_values = true, help_heading = DISTRIBUTION)]
    pub components: Vec<String>,
    /// Additional controllers to install, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = PossibleValuesParser::new(Component::ALL.map(Component::as_str)),
        hide_possible_values = true, help_heading = DISTRIBUTION)]
    pub components_extra: Vec<String>,

    /// Type of the cluster
    #[arg(long, alias = "type", value_name = "TYPE", value_parser = PossibleValuesParser::new(CLUSTER_TYPES), help_heading = CLUSTER)]
    pub cluster_type: Option<String>,
    /// Expected load of Flux: tens, hundreds or a thousand applications
    #[arg(long, alias = "size", value_name = "SIZE", value_parser = PossibleValuesParser::new(CLUSTER_SIZES), help_heading = CLUSTER)]
    pub cluster_size: Option<String>,
    /// DNS domain of the cluster's services
    #[arg(long, alias = "domain", value_name = "DOMAIN", help_heading = CLUSTER)]
    pub cluster_domain: Option<String>,
    /// Restrict tenants to their namespaces
    #[arg(long, alias = "multitenant", value_name = "BOOL", action = ArgAction::Set, num_args = 0..=1, require_equals = true,
        default_missing_value = "true", help_heading = CLUSTER)]
    pub cluster_multitenant: Option<bool>,
    /// Restrict network access from other namespaces to Flux; on by default
    #[arg(long, alias = "network-policy", value_name = "BOOL", action = ArgAction::Set, num_args = 0..=1, require_equals = true,
        default_missing_value = "true", help_heading = CLUSTER)]
    pub cluster_network_policy: Option<bool>,

    /// Storage class of a volume for source-controller
    #[arg(long, value_name = "NAME", requires = "storage_size", help_heading = SCALING)]
    pub storage_class: Option<String>,
    /// Size of the volume, such as 10Gi
    #[arg(long, value_name = "QUANTITY", requires = "storage_class", help_heading = SCALING)]
    pub storage_size: Option<String>,
    /// Names of shards, separated by commas
    #[arg(long, alias = "sharding-shards", value_name = "NAMES", value_delimiter = ',', help_heading = SCALING)]
    pub shards: Vec<String>,
    /// Label whose value names the shard
    #[arg(long, value_name = "KEY", requires = "shards", help_heading = SCALING)]
    pub sharding_key: Option<String>,
    /// Where shards of source-controller store artifacts
    #[arg(long, value_name = "STORAGE", requires = "shards", value_parser = PossibleValuesParser::new(SHARD_STORAGES), help_heading = SCALING)]
    pub sharding_storage: Option<String>,

    /// Address of the repository, registry or bucket to apply
    #[arg(long, value_name = "URL", help_heading = SYNC)]
    pub sync_url: Option<String>,
    /// Kind of the source [default: by the address]
    ///
    /// Default: OCIRepository for an address that starts with oci://, else
    /// GitRepository.
    #[arg(long, value_name = "KIND", requires = "sync_url", value_parser = PossibleValuesParser::new(SYNC_KINDS), help_heading = SYNC)]
    pub sync_kind: Option<String>,
    /// Git reference, tag or bucket [default: by the kind]
    ///
    /// Default: refs/heads/main for a GitRepository, latest for an
    /// OCIRepository; a Bucket needs its name here.
    #[arg(long, value_name = "REF", requires = "sync_url", help_heading = SYNC)]
    pub sync_ref: Option<String>,
    /// Folder with the manifests
    #[arg(long, value_name = "PATH", default_value = "./", requires = "sync_url", help_heading = SYNC)]
    pub sync_path: String,
    /// How often the source is checked
    #[arg(long, value_name = "DURATION", requires = "sync_url", help_heading = SYNC)]
    pub sync_interval: Option<String>,
    /// Secret with the credentials for the source
    #[arg(long, value_name = "NAME", requires = "sync_url", help_heading = SYNC, add = crate::args::complete::secrets())]
    pub sync_pull_secret: Option<String>,
    /// Provider of the identity used instead of a secret
    #[arg(long, value_name = "PROVIDER", requires = "sync_url", value_parser = PossibleValuesParser::new(SYNC_PROVIDERS), help_heading = SYNC)]
    pub sync_provider: Option<String>,
    /// Name of the source and the Kustomization [default: the namespace]
    #[arg(long, value_name = "NAME", requires = "sync_url", help_heading = SYNC)]
    pub sync_name: Option<String>,
}

impl InstanceArgs {
    /// Returns the instance, checked against every rule.
    ///
    /// # Errors
    /// Usage, with each problem.
    pub fn instance(&self, name: &str, namespace: &str) -> Result<FluxInstance, CliError> {
        self.checked(name, namespace).map(|(instance, _)| instance)
    }

    /// Returns the instance as if it had been read from a file.
    ///
    /// # Errors
    /// As [`InstanceArgs::instance`].
    pub fn manifest(&self, name: &str, namespace: &str) -> Result<InstanceManifest, CliError> {
        let (written, instance) = self.checked(name, namespace)?;
        let written = serde_json::to_value(&written)
            .map_err(|error| CliError::failed("cannot write the FluxInstance").caused_by(&error))?;
        Ok(InstanceManifest { instance, written, warnings: vec![] })
    }

    fn checked(&self, name: &str, namespace: &str) -> Result<(FluxInstance, CheckedInstance), CliError> {
        let mut instance = FluxInstance::new(name, self.spec()?);
        instance.metadata.namespace = Some(namespace.into());
        let checked = CheckedInstance::check(instance.clone());
        checked
            .map(|checked| (instance, checked))
            .map_err(|error| manifest_error(&error.into(), "cannot create the FluxInstance"))
    }

    /// Whether any of the flags is set.
    pub fn is_given(&self) -> bool {
        let distribution =
            DistributionSpec { version: VERSION.into(), registry: REGISTRY.into(), ..DistributionSpec::default() };
        let plain = FluxInstanceSpec { distribution, ..FluxInstanceSpec::default() };
        // Invalid flags count as set.
        !self.spec().is_ok_and(|spec| spec == plain)
    }

    fn spec(&self) -> Result<FluxInstanceSpec, CliError> {
        Ok(FluxInstanceSpec {
            distribution: DistributionSpec {
                version: self.distribution_version.clone(),
                registry: self.distribution_registry.clone(),
                variant: self.distribution_variant.clone(),
                image_pull_secret: self.distribution_image_pull_secret.clone(),
                artifact: self.distribution_artifact.clone(),
                artifact_pull_secret: self.distribution_artifact_pull_secret.clone(),
            },
            components: self.components(),
            cluster: self.cluster(),
            sharding: self.sharding(),
            storage: self
                .storage_class
                .as_ref()
                .zip(self.storage_size.as_ref())
                .map(|(class, size)| StorageSpec { class: class.clone(), size: size.clone() }),
            sync: self.sync_url.as_ref().map(|url| self.sync(url)).transpose()?,
            ..FluxInstanceSpec::default()
        })
    }

    /// Returns `None` for the default controllers; otherwise each controller once.
    fn components(&self) -> Option<Vec<String>> {
        if self.components.is_empty() && self.components_extra.is_empty() {
            return None;
        }
        let base = if self.components.is_empty() {
            Component::DEFAULT.map(|component| component.to_string()).to_vec()
        } else {
            self.components.clone()
        };
        let mut all: Vec<String> = Vec::new();
        for name in base.into_iter().chain(self.components_extra.iter().cloned()) {
            if !all.contains(&name) {
                all.push(name);
            }
        }
        Some(all)
    }

    fn cluster(&self) -> Option<ClusterSpec> {
        let defaults = ClusterSpec::default();
        let cluster = ClusterSpec {
            cluster_type: self.cluster_type.clone().unwrap_or(defaults.cluster_type),
            size: self.cluster_size.clone(),
            domain: self.cluster_domain.clone().unwrap_or(defaults.domain),
            multitenant: self.cluster_multitenant.unwrap_or(defaults.multitenant),
            network_policy: self.cluster_network_policy.unwrap_or(defaults.network_policy),
            ..ClusterSpec::default()
        };
        // The API server sets the defaults, so a cluster section with only defaults is left out.
        (cluster != ClusterSpec::default()).then_some(cluster)
    }

    fn sharding(&self) -> Option<ShardingSpec> {
        (!self.shards.is_empty()).then(|| ShardingSpec {
            key: self.sharding_key.clone().unwrap_or_else(|| well_known::SHARDING_KEY.into()),
            shards: self.shards.clone(),
            storage: self.sharding_storage.clone(),
        })
    }

    fn sync(&self, url: &str) -> Result<SyncSpec, CliError> {
        let by_address = if url.starts_with("oci://") { "OCIRepository" } else { "GitRepository" };
        let kind = self.sync_kind.clone().unwrap_or_else(|| by_address.into());
        let reference = match (&self.sync_ref, kind.as_str()) {
            (Some(reference), _) => reference.clone(),
            (None, "GitRepository") => "refs/heads/main".into(),
            (None, "OCIRepository") => "latest".into(),
            (None, _) => {
                return Err(CliError::usage("a Bucket needs its name").hint("add --sync-ref NAME"));
            }
        };
        Ok(SyncSpec {
            name: self.sync_name.clone(),
            interval: self.sync_interval.clone().unwrap_or_else(|| api::DEFAULT_SYNC_INTERVAL.into()),
            kind,
            url: url.into(),
            reference,
            path: self.sync_path.clone(),
            pull_secret: self.sync_pull_secret.clone(),
            provider: self.sync_provider.clone(),
        })
    }
}
