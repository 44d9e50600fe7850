//! Reads the settings of an installation for which an instance has fields.

use std::collections::BTreeSet;

use serde_json::Value;

use super::BootstrapError;
use crate::api::kinds::{self, DEPLOYMENT, INSTANCE, KUSTOMIZE_GROUP, ResourceType, SOURCE_GROUP};
use crate::api::well_known::{INSTANCE_NAME, PART_OF_LABEL, SHARDING_KEY, VERSION_LABEL};
use crate::api::{
    ClusterSpec, Component, DistributionSpec, FluxInstance, FluxInstanceSpec, ShardingSpec, SyncSpec, own_container,
};
use crate::cluster::{Cluster, ListOptions};
use crate::format::image::split_image;
use crate::k8s::{ObjectId, fields};

/// Kinds of an installation's objects in its namespace.
const KINDS: [&str; 6] =
    ["Deployment", "Service", "ServiceAccount", "NetworkPolicy", "PersistentVolumeClaim", "ResourceQuota"];
const WATCHED: &str = "--watch-label-selector=";

/// An installation of Flux.
pub(super) struct Installation {
    pub instance: FluxInstance,
    /// The objects of the installation in its namespace, selected by Flux's label.
    pub objects: Vec<ObjectId>,
    pub applied_by: Option<(ObjectId, String)>,
    pub notes: Vec<String>,
}

/// Reads the installation in a namespace. Flags that have a field in the instance are kept as patches if the user has
/// patches of their own.
pub(super) async fn read(
    cluster: &Cluster,
    namespace: &str,
    has_patches: bool,
) -> Result<Installation, BootstrapError> {
    let all = ListOptions::default();
    if let Some(instances) = cluster.list_all(&INSTANCE, None, &all).await?
        && let Some(instance) = instances.items.first()
    {
        return Err(BootstrapError::HasInstance { instance: ObjectId::of(instance) });
    }
    let deployments = cluster.list(&DEPLOYMENT, Some(namespace), &all).await?.items;
    let mains: Vec<(Component, &Value)> =
        Component::ALL.iter().filter_map(|one| Some((*one, deployment(&deployments, one.as_str())?))).collect();
    if mains.is_empty() {
        return Err(BootstrapError::NotInstalled { namespace: namespace.to_owned() });
    }
    let version = version(&mains)?;
    let mut objects = vec![];
    let labelled = ListOptions::labelled(format!("{PART_OF_LABEL}=flux"));
    for kind in KINDS.iter().filter_map(|kind| kinds::find_resource_type(kind)) {
        let list = cluster.list(&kind, Some(namespace), &labelled).await?;
        objects.extend(list.items.iter().map(ObjectId::of));
    }
    let mut notes = vec![];
    let (sync, applied_by) = sync(cluster, namespace, &mut notes).await?;
    // `flux install --network-policy=false` leaves out this policy with the others.
    let has_policies = objects.iter().any(|id| id.kind == "NetworkPolicy" && id.name == "allow-egress");
    let spec = FluxInstanceSpec {
        distribution: DistributionSpec {
            version: version.clone(),
            registry: registry(&mains)?,
            image_pull_secret: pull_secret(&mains).filter(|_| !has_patches),
            ..DistributionSpec::default()
        },
        components: components(&mains),
        cluster: cluster_spec(&mains, has_policies, has_patches),
        sharding: sharding(&deployments, &mains),
        sync,
        ..FluxInstanceSpec::default()
    };
    notes.push(format!("the version is pinned to the current {version}: a range such as 2.x upgrades automatically"));
    let mut instance = FluxInstance::new(INSTANCE_NAME, spec);
    instance.metadata.namespace = Some(namespace.to_owned());
    Ok(Installation { instance, objects, applied_by, notes })
}

fn deployment<'a>(deployments: &'a [Value], name: &str) -> Option<&'a Value> {
    deployments.iter().find(|one| fields::name(one) == name)
}

/// Returns the arguments of a controller.
fn arguments(deployment: &Value) -> impl Iterator<Item = &str> {
    fields::items(own_container(deployment), "/args").iter().filter_map(Value::as_str)
}

fn argument<'a>(deployment: &'a Value, flag: &str) -> Option<&'a str> {
    arguments(deployment).find_map(|argument| argument.strip_prefix(flag)?.strip_prefix('='))
}

fn version(mains: &[(Component, &Value)]) -> Result<String, BootstrapError> {
    let versions: BTreeSet<&str> = mains.iter().filter_map(|(_, one)| fields::label(one, VERSION_LABEL)).collect();
    match versions.into_iter().collect::<Vec<_>>().as_slice() {
        [] => Err(BootstrapError::NoVersion),
        [only] => Ok(only.trim_start_matches('v').to_owned()),
        several => Err(BootstrapError::SeveralVersions(several.iter().map(ToString::to_string).collect())),
    }
}

fn registry(mains: &[(Component, &Value)]) -> Result<String, BootstrapError> {
    let of = |component: &Component, deployment: &Value| {
        let image = fields::text(own_container(deployment), "/image");
        let name = split_image(image).repository.to_owned();
        name.strip_suffix(component.as_str()).map_or(name.clone(), |registry| registry.trim_end_matches('/').to_owned())
    };
    let registries: BTreeSet<String> = mains.iter().map(|(component, one)| of(component, one)).collect();
    let mut registries: Vec<String> = registries.into_iter().collect();
    match registries.len() {
        1 => Ok(registries.remove(0)),
        _ => Err(BootstrapError::SeveralRegistries(registries)),
    }
}

fn components(mains: &[(Component, &Value)]) -> Option<Vec<String>> {
    let found: Vec<Component> = mains.iter().map(|(component, _)| *component).collect();
    let is_default =
        found.len() == Component::DEFAULT.len() && Component::DEFAULT.iter().all(|one| found.contains(one));
    (!is_default).then(|| found.iter().map(ToString::to_string).collect())
}

/// Returns the pull secret, if all controllers have exactly one and it is the same.
fn pull_secret(mains: &[(Component, &Value)]) -> Option<String> {
    let of = |deployment: &Value| match fields::items(deployment, "/spec/template/spec/imagePullSecrets") {
        [only] => Some(fields::text(only, "/name").to_owned()),
        _ => None,
    };
    let secrets: BTreeSet<Option<String>> = mains.iter().map(|(_, one)| of(one)).collect();
    if secrets.len() == 1 { secrets.into_iter().next().flatten() } else { None }
}

fn cluster_spec(mains: &[(Component, &Value)], has_policies: bool, has_patches: bool) -> Option<ClusterSpec> {
    let of = |component: Component| mains.iter().find(|(one, _)| *one == component).map(|(_, one)| *one);
    let source = of(Component::SourceController);
    // source-controller.$(RUNTIME_NAMESPACE).svc.DOMAIN.
    let address = source.and_then(|one| argument(one, "--storage-adv-addr"));
    let domain =
        address.and_then(|address| address.split_once(".svc.")).map(|(_, domain)| domain.trim_end_matches('.'));
    // `multitenant` sets all three flags; fewer of them can only be patches.
    let locked = of(Component::KustomizeController).filter(|one| {
        !has_patches
            && argument(one, "--no-cross-namespace-refs") == Some("true")
            && argument(one, "--no-remote-bases") == Some("true")
            && argument(one, "--default-service-account").is_some()
    });
    let account = locked.and_then(|one| argument(one, "--default-service-account")).filter(|name| *name != "default");
    let gate = "--feature-gates=ObjectLevelWorkloadIdentity=true";
    let identity = source.is_some_and(|one| arguments(one).any(|argument| argument == gate));
    let defaults = ClusterSpec::default();
    let spec = ClusterSpec {
        domain: domain.map_or(defaults.domain.clone(), str::to_owned),
        network_policy: has_policies,
        multitenant: locked.is_some(),
        tenant_default_service_account: account.map(str::to_owned),
        object_level_workload_identity: (identity && !has_patches).then_some(true),
        ..ClusterSpec::default()
    };
    (spec != defaults).then_some(spec)
}

/// Finds copies of controllers that are sharded by a label, as Flux documents it.
fn sharding(deployments: &[Value], mains: &[(Component, &Value)]) -> Option<ShardingSpec> {
    let (mut shards, mut key) = (BTreeSet::new(), None);
    for one in deployments {
        let main = mains.iter().find_map(|(main, _)| fields::name(one).strip_prefix(main.as_str())?.strip_prefix('-'));
        let selector = arguments(one).find_map(|argument| argument.strip_prefix(WATCHED)?.split_once('='));
        if let (Some(shard), Some((label, value))) = (main, selector)
            && shard == value
        {
            shards.insert(shard.to_owned());
            key = Some(label.to_owned());
        }
    }
    let key = key?;
    Some(ShardingSpec {
        key: if key.is_empty() { SHARDING_KEY.to_owned() } else { key },
        shards: shards.into_iter().collect(),
        storage: None,
    })
}

/// Finds the source and the Kustomization with the name of the namespace, as `flux bootstrap` creates them.
async fn sync(
    cluster: &Cluster,
    namespace: &str,
    notes: &mut Vec<String>,
) -> Result<(Option<SyncSpec>, Option<(ObjectId, String)>), BootstrapError> {
    let flux_kind = |group: &str, kind: &str| kinds::of(group, kind).map(kinds::FluxKind::resource_type);
    let read = async |kind: Option<ResourceType>| match kind {
        Some(kind) => {
            let id = ObjectId::new(&kind.group, &kind.kind, Some(namespace), namespace).at(&kind.version);
            cluster.read(&id).await
        }
        None => Ok(None),
    };
    let Some(kustomization) = read(flux_kind(KUSTOMIZE_GROUP, "Kustomization")).await? else { return Ok((None, None)) };
    let kind = fields::text(&kustomization, "/spec/sourceRef/kind").to_owned();
    let path = fields::text(&kustomization, "/spec/path").to_owned();
    let is_own = fields::text(&kustomization, "/spec/sourceRef/name") == namespace
        && ["", namespace].contains(&fields::text(&kustomization, "/spec/sourceRef/namespace"))
        // `spec.sync` supports no other kinds.
        && ["GitRepository", "OCIRepository", "Bucket"].contains(&kind.as_str());
    let source = if is_own { read(flux_kind(SOURCE_GROUP, &kind)).await? } else { None };
    let Some(source) = source else {
        notes.push(format!(
            "Kustomization/{namespace}/{namespace} has no source with its own name and is left unchanged"
        ));
        return Ok((None, None));
    };
    let text = |pointer: &str| fields::some_text(&source, pointer).map(str::to_owned);
    let reference = match kind.as_str() {
        // source-controller pulls `latest` where a reference has no tag.
        "OCIRepository" => text("/spec/ref/tag").unwrap_or_else(|| "latest".to_owned()),
        "Bucket" => text("/spec/bucketName").unwrap_or_default(),
        _ => git_reference(&source),
    };
    let url = if kind == "Bucket" { text("/spec/endpoint") } else { text("/spec/url") };
    let sync = SyncSpec {
        name: None,
        interval: text("/spec/interval").unwrap_or_else(|| crate::api::DEFAULT_SYNC_INTERVAL.to_owned()),
        kind,
        url: url.unwrap_or_default(),
        reference,
        path: path.clone(),
        pull_secret: text("/spec/secretRef/name"),
        // `generic` is the default of the field.
        provider: text("/spec/provider").filter(|provider| provider != "generic"),
    };
    // The Kustomization applies Flux itself if its labels are on a definition of Flux.
    let id = ObjectId::of(&kustomization);
    let label = format!("{KUSTOMIZE_GROUP}/name");
    let applies = cluster.list(&kinds::CRD, None, &ListOptions::labelled(format!("{label}={namespace}"))).await?;
    let applies_flux = applies.items.iter().any(|crd| fields::text(crd, "/spec/group") == SOURCE_GROUP);
    Ok((Some(sync), applies_flux.then_some((id, path))))
}

fn git_reference(source: &Value) -> String {
    let text = |pointer: &str| fields::some_text(source, pointer);
    // source-controller prefers a name to a tag, and a tag to a branch.
    match (text("/spec/ref/name"), text("/spec/ref/branch"), text("/spec/ref/tag")) {
        (Some(name), _, _) => name.to_owned(),
        (None, _, Some(tag)) => format!("refs/tags/{tag}"),
        (None, Some(branch), None) => format!("refs/heads/{branch}"),
        // A range of versions or a commit: a patch must keep it.
        (None, None, None) => "refs/heads/main".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn controller(name: &str, image: &str, args: &[&str]) -> Value {
        json!({"kind": "Deployment", "metadata": {"name": name, "labels": {"app.kubernetes.io/version": "v2.9.4"}},
            "spec": {"template": {"spec": {"containers": [{"name": "manager", "image": image, "args": args}]}}}})
    }

    #[test]
    fn registry_domain_and_tenancy_are_read_from_the_controllers() {
        let source = controller(
            "source-controller",
            "r.example:5000/flux/source-controller:v1",
            &["--storage-adv-addr=source-controller.$(RUNTIME_NAMESPACE).svc.corp.example."],
        );
        let kustomize = controller(
            "kustomize-controller",
            "r.example:5000/flux/kustomize-controller:v1@sha256:00",
            &["--no-cross-namespace-refs=true", "--no-remote-bases=true", "--default-service-account=flux"],
        );
        let mains = [(Component::SourceController, &source), (Component::KustomizeController, &kustomize)];
        assert_eq!(registry(&mains).unwrap(), "r.example:5000/flux");
        assert_eq!(version(&mains).unwrap(), "2.9.4");
        assert_eq!(components(&mains).unwrap(), ["source-controller", "kustomize-controller"]);
        let spec = cluster_spec(&mains, true, false).unwrap();
        assert_eq!((spec.domain.as_str(), spec.multitenant), ("corp.example", true));
        assert_eq!(spec.tenant_default_service_account.as_deref(), Some("flux"));
        assert!(!cluster_spec(&mains, true, true).unwrap().multitenant, "the user's own patch says it");
        let other = controller("helm-controller", "elsewhere/helm-controller:v1", &[]);
        let mixed = [mains[0], (Component::HelmController, &other)];
        assert!(matches!(registry(&mixed), Err(BootstrapError::SeveralRegistries(all)) if all.len() == 2));
    }

    #[test]
    fn shards_are_recognised_by_name_and_selector() {
        let main = controller(
            "source-controller",
            "g/source-controller:v1",
            &["--watch-label-selector=!sharding.fluxcd.io/key"],
        );
        let shard = controller(
            "source-controller-blue",
            "g/source-controller:v1",
            &["--watch-label-selector=sharding.fluxcd.io/key=blue"],
        );
        let other = controller("source-controller-extra", "g/source-controller:v1", &[]);
        let deployments = [main.clone(), shard, other];
        let found = sharding(&deployments, &[(Component::SourceController, &main)]).unwrap();
        assert_eq!((found.key.as_str(), found.shards), ("sharding.fluxcd.io/key", vec!["blue".to_owned()]));
        assert_eq!(sharding(&deployments[..1], &[(Component::SourceController, &main)]), None);
    }

    #[test]
    fn a_git_reference_is_written_in_full() {
        let source = |reference: Value| json!({"spec": {"ref": reference}});
        assert_eq!(git_reference(&source(json!({"branch": "main"}))), "refs/heads/main");
        assert_eq!(git_reference(&source(json!({"tag": "v1"}))), "refs/tags/v1");
        assert_eq!(git_reference(&source(json!({"name": "refs/pull/1/head", "branch": "x"}))), "refs/pull/1/head");
    }
}
