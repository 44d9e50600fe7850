//! From `flux install` or `flux bootstrap` to a FluxInstance that keeps the installation as it is.
//!
//! ```text
//! live objects -> installation: what a spec can say        (installation)
//!     -> plan -> unwanted changes -> patches that keep the fields             (keep)
//!     -> plan again: the proof; remaining changes are reported
//! ```
//! The proof is a plan of the reconcile core, so an apply does what the proposal promises. This module writes nothing.

use serde::Serialize;
use serde_json::Value;

use crate::api::manifest::{self, InstanceManifest, ManifestError, NamespaceChoice};
use crate::api::{CheckedInstance, FluxInstance, KustomizePatch, KustomizeSpec, takeover};
use crate::build::{BuildOptions, build};
use crate::cluster::{Cluster, ClusterError};
use crate::distribution::Distribution;
use crate::format::yaml::{self, YamlError};
use crate::k8s::{ObjectId, fields};
use crate::reconcile::live_objects::LiveObjects;
use crate::reconcile::progress::Progress;
use crate::reconcile::{Plan, PlanOptions, ReconcileError, plan_for};

mod changes;
pub mod git;
mod installation;
mod keep;

pub use changes::{HarmlessChange, UnexpressedDifference};

/// The proposed instance for an installation, and the changes of applying it.
#[derive(Debug)]
pub struct Proposal {
    pub manifest: InstanceManifest,
    /// The plan of applying the instance.
    pub plan: Plan,
    /// Changes that do not affect Flux, by kind and number of objects.
    pub accepted: Vec<(HarmlessChange, usize)>,
    /// Differences that an instance cannot express: fields that would change, and objects that would be created.
    pub unexpressed: Vec<UnexpressedDifference>,
    /// Objects of the installation that are not part of the instance, and would not be managed any more.
    pub kept_objects: Vec<ObjectId>,
    /// The Kustomization that applies Flux itself from Git, and its path there; `None` after a plain `flux install`.
    pub applied_by: Option<(ObjectId, String)>,
    /// Notes for the user about the instance.
    pub notes: Vec<String>,
}

/// Why no instance can be proposed.
#[derive(Debug, thiserror::Error)]
pub enum BootstrapError {
    #[error("no controllers of Flux are installed in namespace {namespace}")]
    NotInstalled { namespace: String },
    #[error("{instance} already reconciles it")]
    HasInstance { instance: ObjectId },
    #[error("cannot determine the Flux version of the controllers: they have no label app.kubernetes.io/version")]
    NoVersion,
    #[error("the controllers have different Flux versions: {}", .0.join(", "))]
    SeveralVersions(Vec<String>),
    #[error("the images come from several registries: {}", .0.join(", "))]
    SeveralRegistries(Vec<String>),
    #[error("the instance created from it breaks a rule")]
    Manifest(#[from] ManifestError),
    #[error("the instance created from it cannot be written")]
    Yaml(#[from] YamlError),
    #[error(transparent)]
    Plan(#[from] ReconcileError),
    #[error(transparent)]
    Call(#[from] ClusterError),
}

/// Reads the installation in a namespace and proposes an instance for it. `patches` from its Git repository are applied
/// first.
///
/// # Errors
/// There is no installation, or an instance cannot take it over as a whole; the API server does not answer.
pub async fn propose(
    cluster: &Cluster,
    namespace: &str,
    patches: Vec<KustomizePatch>,
    distribution: &Distribution,
    progress: &dyn Progress,
) -> Result<Proposal, BootstrapError> {
    let found = installation::read(cluster, namespace, !patches.is_empty()).await?;
    let mut instance = found.instance;
    if !patches.is_empty() {
        instance.spec.kustomize = Some(KustomizeSpec { patches });
    }
    let options = PlanOptions::default();
    let mut kept = predicted_patches(cluster, &instance, distribution, options.concurrency).await?;
    let mut rounds = 0;
    let (manifest, plan) = loop {
        if !kept.is_empty() {
            instance.spec.kustomize.get_or_insert_default().patches.append(&mut kept);
        }
        let manifest = manifest_of(&instance)?;
        let plan = plan_for(cluster, &manifest, distribution, &options, progress).await?;
        // The API server may report more changes than predicted. Changes that patches do not prevent now cannot be
        // prevented.
        kept = keep::patches(&plan);
        rounds += 1;
        if kept.is_empty() || rounds > 1 {
            break (manifest, plan);
        }
    };
    let (accepted, unexpressed) = changes::judge(&plan);
    let built: Vec<&ObjectId> = plan.objects.iter().map(|one| &one.object).collect();
    let kept_objects = found.objects.into_iter().filter(|id| !built.contains(&id)).collect();
    Ok(Proposal {
        manifest,
        plan,
        accepted,
        unexpressed,
        kept_objects,
        applied_by: found.applied_by,
        notes: found.notes,
    })
}

/// Returns patches for the changes that can be predicted without the API server, which refuses some of them: a volume
/// cannot have two types.
async fn predicted_patches(
    cluster: &Cluster,
    instance: &FluxInstance,
    distribution: &Distribution,
    concurrency: usize,
) -> Result<Vec<KustomizePatch>, BootstrapError> {
    let checked = CheckedInstance::check(manifest_of(instance)?.instance.into_inner()).map_err(ManifestError::from)?;
    let built = build(&checked, distribution, &BuildOptions::default()).map_err(ReconcileError::from)?;
    let ids: Vec<ObjectId> = built.objects.iter().map(ObjectId::of).collect();
    let live = LiveObjects::take(cluster, &ids, concurrency).await?;
    let changed = built.objects.iter().filter_map(|desired| Some((live.get(&ObjectId::of(desired))?, desired)));
    Ok(changed.flat_map(|(live, desired)| keep::patches_of(live, &predicted(live, desired))).collect())
}

/// Predicts the result of applying a manifest to a live object. It replaces rules completely, because the API server
/// adds nothing to them, and keeps an empty volume, which is meaningful although it is empty.
fn predicted(live: &Value, desired: &Value) -> Value {
    const VOLUMES: &str = "/spec/template/spec/volumes";
    let mut predicted = takeover::predicted(live, desired);
    if let Some(rules) = desired.get("rules") {
        predicted["rules"] = rules.clone();
    }
    for volume in fields::items(desired, VOLUMES).iter().filter(|volume| volume.get("emptyDir").is_some()) {
        let volumes = predicted.pointer_mut(VOLUMES).and_then(Value::as_array_mut).into_iter().flatten();
        for same in volumes.filter(|other| other.get("name") == volume.get("name") && other.get("emptyDir").is_none()) {
            same["emptyDir"] = volume["emptyDir"].clone();
        }
    }
    predicted
}

/// Returns the instance as a user would write it, without default values.
fn manifest_of(instance: &FluxInstance) -> Result<InstanceManifest, BootstrapError> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct InstanceDocument<'a> {
        api_version: &'a str,
        kind: &'a str,
        metadata: serde_json::Value,
        spec: &'a crate::api::FluxInstanceSpec,
    }
    let metadata = serde_json::json!({"name": instance.metadata.name, "namespace": instance.metadata.namespace});
    let api_version = crate::api::well_known::API_VERSION;
    let written = InstanceDocument { api_version, kind: "FluxInstance", metadata, spec: &instance.spec };
    let text = yaml::to_string(&written)?;
    Ok(manifest::read(&text, &NamespaceChoice::default())?)
}
