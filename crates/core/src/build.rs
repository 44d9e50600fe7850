//! From a FluxInstance and a distribution to the objects that run Flux.
//!
//! ```text
//! spec ──> Settings (checked)      distribution ──> version, manifests, images
//!            │                                         │
//!            └──> Namespace, policies, roles, components, shards, claim, sync   (accumulate)
//!                   └──> controllers, CRDs, roles follow the settings           (own changes)
//!                          └──> spec.kustomize.patches                          (user's changes)
//!                                 └──> namespace, references, images, annotations, labels
//!                                        └──> apply order ──> revision ──> common metadata, owner labels
//! ```
//! Pure: the same instance and distribution give the same bytes. The build neither pulls anything nor reads a cluster.

mod controllers;
mod error;
mod images;
mod objects;
pub mod order;
mod revision;
mod settings;
mod version;

use serde::Serialize;
use serde_json::{Value, json};

pub use error::BuildError;
pub use revision::{Revision, RevisionError, digest};
pub use version::{check_downgrade, check_range, is_minor_upgrade};

use crate::api::well_known::{self, DEFAULT_NAMESPACE};
use crate::api::{CheckedInstance, Component, ComponentImage, KustomizePatch, ShardingSpec};
use crate::distribution::{Distribution, FluxVersion};
use crate::kustomize::{
    Patch, PatchReport, Resource, ResourceList, Selector, apply_patches, child_mut, is_cluster_scoped, kind, name,
};
use settings::Settings;

/// Options of a build; everything else comes from the instance.
#[derive(Clone, Debug, Default)]
pub struct BuildOptions {
    /// Whether patches without effect and images without digests are errors instead of warnings.
    pub strict: bool,
    /// Whether a packaged distribution may contain minor versions that this program does not know.
    pub allow_unknown_minor: bool,
}

/// The result of a build.
#[derive(Clone, Debug)]
pub struct Build {
    /// The Flux version that was chosen.
    pub version: FluxVersion,
    pub revision: Revision,
    /// In apply order, labels and annotations complete.
    pub objects: Vec<Value>,
    /// The controllers' images, read back after patches, in the order of `spec.components`.
    pub images: Vec<ComponentImage>,
    /// A report for each item of `spec.kustomize.patches`.
    pub patches: Vec<PatchReport>,
    pub warnings: Vec<BuildWarning>,
    /// The newest release in the distribution that is newer than `version`. The version range does not allow it.
    pub newer: Option<FluxVersion>,
    /// Digest of the artifact that the distribution came from.
    pub artifact: Option<String>,
}

impl Build {
    /// Every image the objects run, sorted, each once.
    pub fn image_references(&self) -> Vec<String> {
        images::references(&self.objects)
    }
}

/// A legal setting that is probably a mistake.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BuildWarning {
    pub reason: WarningReason,
    pub message: String,
    /// Advice for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// The reason of a warning; its name is stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum WarningReason {
    /// Images are referenced by tag only.
    NoDigests,
    /// The target of a user patch selects nothing.
    UnmatchedPatch,
    /// The newest artifact cannot be built, so the previous one is used.
    LastGoodArtifact,
}

/// Kinds of the operator that Flux's notification API may reference, in addition to its own.
pub const OPERATOR_KINDS: [&str; 3] = ["FluxInstance", "ResourceSet", "ResourceSetInputProvider"];

/// The permission that object-level workload identity needs.
const TOKEN_RESOURCE: &str = "serviceaccounts/token";

/// Builds the objects of an instance.
///
/// The namespace is that of the instance, or `flux-system` if it has none.
///
/// # Errors
/// A [`BuildError`]: the spec asks for something impossible, a patch does not apply, or the distribution is broken.
pub fn build(
    instance: &CheckedInstance,
    distribution: &Distribution,
    options: &BuildOptions,
) -> Result<Build, BuildError> {
    let spec = &instance.spec;
    // A minor version can add fields, roles and kinds that this program does not know; a patch version does not.
    let is_trusted = distribution.is_embedded() || options.allow_unknown_minor;
    let supported = (!is_trusted).then(|| Distribution::embedded().versions());
    let selection = version::select(&spec.distribution.version, distribution, supported.as_deref())?;
    let settings = Settings::new(instance, &selection.version.version)?;
    let mut warnings = Vec::new();
    let (image_replacements, no_digests) = images::resolve(
        &spec.distribution.registry,
        spec.distribution.variant.as_deref(),
        &settings.components,
        &selection.version,
        distribution,
    )?;
    if let Some(warning) = no_digests {
        if options.strict {
            return Err(BuildError::NoDigests { message: warning.message, hint: warning.hint.unwrap_or_default() });
        }
        warnings.push(warning);
    }

    let mut list = accumulate(&settings, &selection.version, distribution)?;
    configure(&mut list, &settings)?;
    let patches: Vec<Patch> = spec.kustomize.iter().flat_map(|kustomize| &kustomize.patches).map(as_patch).collect();
    let mut reports = apply_patches(&mut list, &patches)?;
    warnings.extend(check_patches(&mut reports, &patches, &list, &settings.namespace, options)?);

    // As in the reference, namespaces are set after the patches, so a patch cannot select by them.
    list.set_namespace(&settings.namespace);
    list.fix_references();
    list.check_unique()?;
    list.replace_images(&image_replacements);
    // Otherwise kustomize-controller would apply an older Flux that is still in Git, and prune Flux when its manifests
    // are removed from Git.
    list.set_annotations([
        (well_known::KUSTOMIZE_SSA_ANNOTATION, "Ignore"),
        (well_known::KUSTOMIZE_PRUNE_ANNOTATION, "Disabled"),
    ]);
    list.set_labels([
        (well_known::MANAGED_BY_LABEL, well_known::OPERATOR_NAME),
        (well_known::INSTANCE_LABEL, settings.namespace.as_str()),
        (well_known::VERSION_LABEL, selection.version.name.as_str()),
        (well_known::PART_OF_LABEL, "flux"),
    ]);

    // Sorted before the digest, so that the revision does not depend on the order in which the objects were collected.
    list.0.sort_by(|a, b| order::sort_key(&a.object).cmp(&order::sort_key(&b.object)));
    let mut objects = list.into_objects();
    let revision = Revision { version: selection.version.name.clone(), digest: Some(digest(&objects)) };
    let images = images::read_back(&settings.components, &objects)?;
    for object in &mut objects {
        set_common_metadata(object, instance, &settings);
    }
    Ok(Build {
        version: selection.version,
        revision,
        objects,
        images,
        patches: reports,
        warnings,
        newer: selection.newer,
        artifact: distribution.digest().map(str::to_owned),
    })
}

/// Completes the reports of patches, and returns a warning for each patch that matches no object.
///
/// # Errors
/// Strict options refuse such a patch.
fn check_patches(
    reports: &mut [PatchReport],
    patches: &[Patch],
    list: &ResourceList,
    namespace: &str,
    options: &BuildOptions,
) -> Result<Vec<BuildWarning>, BuildError> {
    let mut warnings = vec![];
    for report in reports {
        // A patch without a target names its object itself. Only an empty patch names none.
        if report.objects.is_empty() && patches.get(report.index).is_some_and(|patch| patch.target.is_some()) {
            let warning = unmatched(report, patches, list);
            if options.strict {
                return Err(BuildError::UnmatchedPatch {
                    message: warning.message,
                    hint: warning.hint.unwrap_or_default(),
                });
            }
            warnings.push(warning);
        }
        for object in &mut report.objects {
            // Reports name objects as they are in the result, not as they are during the build.
            if object.object.namespace.is_empty() && !is_cluster_scoped(&object.object.group, &object.object.kind) {
                object.object.namespace = namespace.to_owned();
            }
        }
    }
    Ok(warnings)
}

fn as_patch(patch: &KustomizePatch) -> Patch {
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    let target = patch.target.as_ref().map(|target| Selector {
        group: text(&target.group),
        version: text(&target.version),
        kind: text(&target.kind),
        name: text(&target.name),
        namespace: text(&target.namespace),
        label_selector: text(&target.label_selector),
        annotation_selector: text(&target.annotation_selector),
    });
    Patch { target, patch: patch.patch.clone() }
}

fn unmatched(report: &PatchReport, patches: &[Patch], list: &ResourceList) -> BuildWarning {
    let target = patches.get(report.index).and_then(|patch| patch.target.as_ref());
    let namespaced = target.is_some_and(|target| !target.namespace.is_empty());
    let of_kind: Vec<&str> = list
        .0
        .iter()
        .filter(|resource| target.is_some_and(|target| target.kind == kind(&resource.object)))
        .map(|resource| name(&resource.object))
        .collect();
    let hint = if namespaced {
        "leave target.namespace out: most objects get their namespace after the patches".to_string()
    } else if let Some(target) = target.filter(|_| !of_kind.is_empty()) {
        format!("objects of kind {} are {}", target.kind, of_kind.join(", "))
    } else {
        let mut kinds: Vec<&str> = list.0.iter().map(|resource| kind(&resource.object)).collect();
        kinds.sort_unstable();
        kinds.dedup();
        format!("the kinds that are built are {}", kinds.join(", "))
    };
    BuildWarning {
        reason: WarningReason::UnmatchedPatch,
        message: format!("spec.kustomize.patches[{}]: the target {} selects nothing", report.index, report.target),
        hint: Some(hint),
    }
}

/// Collects every object, in the order of the reference operator; patches see them in this order.
fn accumulate(
    settings: &Settings,
    version: &FluxVersion,
    distribution: &Distribution,
) -> Result<ResourceList, BuildError> {
    let mut list = ResourceList::default();
    let mut add = |objects: Vec<Value>| list.0.extend(objects.into_iter().map(Resource::new));
    add(vec![objects::namespace(&settings.namespace)]);
    if settings.network_policy {
        add(distribution.policies(version)?);
    }
    let roles = roles(settings, distribution.rbac(version)?);
    let mut shards = Vec::new();
    let mut components = Vec::new();
    for component in &settings.components {
        let objects = distribution.component(version, *component)?;
        if settings.is_sharded(*component) {
            // Only controllers that run once per shard are copied. A shard uses the ServiceAccount and CRDs of the main
            // controllers.
            let copied = objects.iter().filter(|object| matches!(kind(object), "Deployment" | "Service"));
            shards.push((*component, copied.cloned().collect::<Vec<_>>()));
        }
        components.extend(objects);
    }
    list.0.extend(roles.0);
    list.0.extend(components.into_iter().map(Resource::new));
    for shard in settings.sharding.iter().flat_map(|sharding| &sharding.shards) {
        list.0.extend(shard_objects(settings, shard, &shards)?.0);
    }
    if let Some(storage) = &settings.storage {
        list.0.push(Resource::new(objects::volume_claim(&storage.class, &storage.size)));
    }
    if let Some(sync) = &settings.sync {
        list.0.extend(objects::sync(sync, settings).map(Resource::new));
    }
    list.check_unique()?;
    Ok(list)
}

/// The roles, bindings and the quota, named after the namespace so that several installations can coexist.
fn roles(settings: &Settings, mut objects: Vec<Value>) -> ResourceList {
    for object in &mut objects {
        // The distribution's manifests are written for the default namespace.
        if settings.namespace != DEFAULT_NAMESPACE {
            replace_text(object, DEFAULT_NAMESPACE, &settings.namespace);
        }
        if !settings.workload_identity.tokens
            && name(object) == "crd-controller"
            && let Some(rules) = object.get_mut("rules").and_then(Value::as_array_mut)
        {
            rules.retain(|rule| !lists(rule, "resources", TOKEN_RESOURCE));
        }
    }
    let mut list = ResourceList(objects.into_iter().map(Resource::new).collect());
    list.set_namespace(&settings.namespace);
    list.add_name_suffix(&format!("-{}", settings.namespace));
    list.fix_references();
    list
}

fn lists(rule: &Value, field: &str, wanted: &str) -> bool {
    rule.get(field)
        .and_then(Value::as_array)
        .is_some_and(|items| items.iter().any(|item| item.as_str() == Some(wanted)))
}

/// Replaces a substring in every string of a value.
fn replace_text(value: &mut Value, from: &str, to: &str) {
    match value {
        Value::String(text) if text.contains(from) => *text = text.replace(from, to),
        Value::Array(items) => items.iter_mut().for_each(|item| replace_text(item, from, to)),
        Value::Object(fields) => fields.values_mut().for_each(|field| replace_text(field, from, to)),
        _ => {}
    }
}

/// The controllers of one shard.
fn shard_objects(
    settings: &Settings,
    shard: &str,
    components: &[(Component, Vec<Value>)],
) -> Result<ResourceList, BuildError> {
    let mut list = ResourceList::default();
    for (component, objects) in components {
        for object in objects {
            let mut object = object.clone();
            if kind(&object) == "Deployment" {
                controllers::make_shard(&mut object, *component, shard, settings)?;
            } else {
                controllers::select_shard(&mut object, *component, shard);
            }
            list.0.push(Resource::new(object));
        }
    }
    if let (Some(storage), true) =
        (&settings.storage, settings.sharding.as_ref().is_some_and(ShardingSpec::is_persistent))
    {
        list.0.push(Resource::new(objects::volume_claim(&storage.class, &storage.size)));
    }
    list.set_namespace(&settings.namespace);
    list.add_name_suffix(&format!("-{shard}"));
    // `configure` tells a shard from a main controller by this annotation.
    list.set_common_annotations([(well_known::SHARDING_ROLE, "shard")]);
    Ok(list)
}

/// Applies the settings of the spec to the distribution's objects.
fn configure(list: &mut ResourceList, settings: &Settings) -> Result<(), BuildError> {
    let crd_controller = format!("crd-controller-{}", settings.namespace);
    for resource in &mut list.0 {
        match kind(&resource.object) {
            "Deployment" => controllers::configure(resource, settings)?,
            "Namespace" if settings.openshift => {
                for label in ["pod-security.kubernetes.io/warn", "pod-security.kubernetes.io/warn-version"] {
                    controllers::remove(&mut resource.object, "/metadata/labels", label);
                }
            }
            "CustomResourceDefinition" if settings.has(Component::NotificationController) => {
                match name(&resource.object) {
                    "alerts.notification.toolkit.fluxcd.io" => add_operator_kinds(&mut resource.object, "eventSources"),
                    "receivers.notification.toolkit.fluxcd.io" => add_operator_kinds(&mut resource.object, "resources"),
                    _ => {}
                }
            }
            "ClusterRole"
                if settings.has(Component::NotificationController) && name(&resource.object) == crd_controller =>
            {
                if let Some(rules) = resource.object.get_mut("rules").and_then(Value::as_array_mut) {
                    // Alerts follow objects of the operator's kinds, and receivers annotate them.
                    rules.push(json!({ "apiGroups": [well_known::GROUP], "resources": ["*"], "verbs": ["*"] }));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Allows alerts and receivers to reference the operator's kinds, in every API version of the CRD.
fn add_operator_kinds(crd: &mut Value, field: &str) {
    let path = format!("/schema/openAPIV3Schema/properties/spec/properties/{field}/items/properties/kind/enum");
    for version in crd.pointer_mut("/spec/versions").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(kinds) = version.pointer_mut(&path).and_then(Value::as_array_mut) {
            kinds.extend(OPERATOR_KINDS.map(Value::from));
        }
    }
}

/// Sets the common labels and annotations of every object. The owner labels are set last, so they win.
fn set_common_metadata(object: &mut Value, instance: &CheckedInstance, settings: &Settings) {
    let Some(metadata) = object.get_mut("metadata") else { return };
    if let Some(common) = &instance.spec.common_metadata {
        for (field, entries) in [("labels", &common.labels), ("annotations", &common.annotations)] {
            if let (Some(entries), Some(existing)) = (entries, child_mut(metadata, field)) {
                existing.extend(entries.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str()))));
            }
        }
    }
    if let Some(labels) = child_mut(metadata, "labels") {
        labels.insert(well_known::OWNER_NAME_LABEL.to_string(), json!(settings.instance_name));
        labels.insert(well_known::OWNER_NAMESPACE_LABEL.to_string(), json!(settings.namespace));
    }
}

#[cfg(test)]
mod tests;
