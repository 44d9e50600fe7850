//! Plans the next run of an instance; writes nothing.
//!
//! ```text
//! instance -> distribution -> build, and what was installed -> the other live objects -> comparison -> plan
//! ```

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fetch::Distributions;
use super::live_objects::LiveObjects;
use super::options::PlanOptions;
use super::outcome::{Failure, ReconcileError, Stop};
use super::ownership;
use super::plan::{self, Comparison, Plan, PlannedInstance, Recreation};
use super::progress::{Progress, Stage, Update};
use super::stored;
use crate::api::manifest::InstanceManifest;
use crate::api::well_known::{self, CLI_FIELD_MANAGER, OLDER_MINOR_ANNOTATION};
use crate::api::{CheckedInstance, FluxInstance, FluxInstanceSpec, InventoryOwner, OwnerKind, Reconciled};
use crate::build::{self, Build, BuildError, BuildOptions, BuildWarning, WarningReason};
use crate::cluster::{Cluster, ClusterError, WriteOptions};
use crate::distribution::Distribution;
use crate::fetch::{FetchError, FetchReason};
use crate::k8s::ObjectId;

/// A saved plan, and the object from which it was made.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SavedPlan {
    /// The FluxInstance to apply, as its author wrote it; missing when the plan is for the stored instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<Value>,
    pub plan: Plan,
}

/// Plans a run of the stored instance without writing anything. For a suspended instance it is the plan after a resume.
///
/// # Errors
/// The instance does not exist or is a second one, the build fails, the API server refuses a manifest in a dry run, or
/// does not answer.
pub async fn plan(
    cluster: &Cluster,
    id: &ObjectId,
    distributions: &dyn Distributions,
    options: &PlanOptions,
    progress: &dyn Progress,
) -> Result<Plan, ReconcileError> {
    let instance: FluxInstance = stored::read(cluster, id).await?;
    plan_of(cluster, &instance, distributions, options, progress).await
}

/// A new spec for a stored instance.
#[derive(Clone, Copy, Debug)]
pub struct NewSpec<'a> {
    pub spec: &'a FluxInstanceSpec,
    /// An older minor version that is accepted, such as `v2.8.8`.
    pub older_minor: Option<&'a str>,
}

/// Plans a run of the stored instance with another spec.
///
/// # Errors
/// As [`plan()`].
pub async fn plan_with_spec(
    cluster: &Cluster,
    id: &ObjectId,
    new: NewSpec<'_>,
    distributions: &dyn Distributions,
    options: &PlanOptions,
    progress: &dyn Progress,
) -> Result<Plan, ReconcileError> {
    let mut instance: FluxInstance = stored::read(cluster, id).await?;
    instance.spec = new.spec.clone();
    if let Some(version) = new.older_minor {
        let annotations = instance.metadata.annotations.get_or_insert_default();
        annotations.insert(OLDER_MINOR_ANNOTATION.to_owned(), version.to_owned());
    }
    plan_of(cluster, &instance, distributions, options, progress).await
}

/// Plans an apply: the instance as it would be stored, with the status of the stored one.
///
/// # Errors
/// As [`plan()`]; a missing instance is not an error.
pub async fn plan_for(
    cluster: &Cluster,
    manifest: &InstanceManifest,
    distributions: &dyn Distributions,
    options: &PlanOptions,
    progress: &dyn Progress,
) -> Result<Plan, ReconcileError> {
    // The current owner of the fields matters only to the apply, which takes them over on request.
    let (instance, _) = as_it_would_be_stored(cluster, manifest, true).await?;
    plan_of(cluster, &instance, distributions, options, progress).await
}

async fn plan_of(
    cluster: &Cluster,
    instance: &FluxInstance,
    distributions: &dyn Distributions,
    options: &PlanOptions,
    progress: &dyn Progress,
) -> Result<Plan, ReconcileError> {
    let (built, mut live) = fetch_and_build(cluster, instance, distributions, options, progress).await?;
    progress.report(Update::StageBegan { stage: Stage::Plan, objects: built.objects.len() });
    ownership::refuse_second_instance(cluster, instance).await?;
    read_more(cluster, instance, &built, &mut live, options).await?;
    // A plan is reviewed before it is carried out, so the server was asked about every object.
    match make_plan(cluster, instance, built, &mut live, &BTreeSet::new(), options).await {
        Ok(mut plan) => {
            for one in &mut plan.objects {
                one.seen = live.get(&one.object).map(plan::fingerprint);
            }
            Ok(plan)
        }
        Err(Stop::Abort(error)) => Err(error),
        Err(Stop::Failed(failure)) => Err(match failure {
            Failure::Apply(errors) => ReconcileError::Refused(errors),
            Failure::Call(error) => ReconcileError::Call(error),
            Failure::Build(error) => ReconcileError::Build(error),
            Failure::Artifact(error) => ReconcileError::Artifact(error),
            // Planning cannot fail in another way.
            _ => ReconcileError::Refused(vec![]),
        }),
    }
}

/// Returns the instance that an apply of the manifest would store, by a dry run if it already exists, and the instance
/// before it.
pub(super) async fn as_it_would_be_stored(
    cluster: &Cluster,
    manifest: &InstanceManifest,
    force_conflicts: bool,
) -> Result<(FluxInstance, Option<Value>), ReconcileError> {
    let id = manifest.instance.id();
    // A new instance cannot be sent as a dry run: its definition or its namespace may be missing.
    let Some(live) = cluster.read(&id).await? else { return Ok((manifest.instance.clone().into_inner(), None)) };
    let known: FluxInstance = stored::checked(live.clone())?;
    let stored = apply_written(cluster, &manifest.written, force_conflicts, true).await?;
    let mut instance: FluxInstance = stored::checked(stored)?;
    // A dry run also increments the generation, but the plan is for the stored one.
    instance.metadata.generation = known.metadata.generation;
    Ok((instance, Some(live)))
}

/// Applies an instance as its author wrote it, with the field manager of the command line.
pub(super) async fn apply_written(
    cluster: &Cluster,
    written: &Value,
    force: bool,
    dry_run: bool,
) -> Result<Value, ClusterError> {
    cluster.apply(written, WriteOptions { field_manager: CLI_FIELD_MANAGER, force, dry_run }).await
}

/// Builds the instance, and reads the previously installed objects in the meantime: nearly always these are all objects
/// that matter.
pub(super) async fn fetch_and_build(
    cluster: &Cluster,
    instance: &FluxInstance,
    distributions: &dyn Distributions,
    options: &PlanOptions,
    progress: &dyn Progress,
) -> Result<(Build, LiveObjects), ReconcileError> {
    if instance.artifact().is_some() {
        progress.report(Update::StageBegan { stage: Stage::Fetch, objects: 0 });
    }
    let fetched = match distributions.fetch(cluster, instance).await {
        // A broken artifact can be replaced by the last good one below. A registry that does not answer would not
        // return that one either.
        Err(error) if !error.is_about_content() => return Err(error.into()),
        fetched => fetched,
    };
    progress.report(Update::StageBegan { stage: Stage::Build, objects: 0 });
    let is_installed = !instance.recorded_inventory().objects().is_empty();
    let read = async {
        match is_installed {
            true => LiveObjects::take(cluster, &objects_to_read(instance, vec![]), options.concurrency).await,
            false => Ok(LiveObjects::default()),
        }
    };
    let build = async {
        // The build does not yield the thread, so send the requests first.
        tokio::task::yield_now().await;
        build_or_keep_last_good(cluster, instance, distributions, fetched, options).await
    };
    let (live, built) = tokio::join!(biased; read, build);
    Ok((built?, live?))
}

/// Builds a fetched distribution. If a newer artifact cannot be unpacked or built, a working installation is built from
/// its last artifact instead, with a warning.
async fn build_or_keep_last_good(
    cluster: &Cluster,
    instance: &FluxInstance,
    distributions: &dyn Distributions,
    fetched: Result<Distribution, FetchError>,
    options: &PlanOptions,
) -> Result<Build, ReconcileError> {
    let (digest, from, hint, newer, error): (_, _, _, _, ReconcileError) = match fetched {
        Ok(distribution) => match build_checked(instance, &distribution, options) {
            Ok(built) => return Ok(built),
            Err(error) => {
                let digest = distribution.digest().map(str::to_owned);
                (digest, distribution.to_string(), error.hint(), error.to_string(), error.into())
            }
        },
        Err(error) => {
            let digest = error.digest.as_ref().map(ToString::to_string);
            let from = format!("{} at {}", error.from, digest.as_deref().unwrap_or_default());
            (digest, from, None, error.cause(), error.into())
        }
    };
    let last = match distributions.fetch_last_good(cluster, instance, digest.as_deref()).await {
        Ok(last) => last,
        // Retried later, unlike a failed build: the registry may recover, and a newer artifact may be usable again.
        Err(last) => {
            let reason = FetchReason::NoLastGood { newer, last: Box::new(last) };
            return Err(FetchError { from, digest: None, reason }.into());
        }
    };
    // A problem of the instance itself affects every artifact, so report the first error.
    let Some(Ok(mut built)) = last.map(|last| build_checked(instance, &last, options)) else { return Err(error) };
    built.warnings.push(BuildWarning {
        reason: WarningReason::LastGoodArtifact,
        message: format!("{from} cannot be used, so the last good artifact remains in use: {newer}"),
        hint,
    });
    Ok(built)
}

fn build_checked(
    instance: &FluxInstance,
    distribution: &Distribution,
    options: &PlanOptions,
) -> Result<Build, BuildError> {
    let checked = CheckedInstance::check(instance.clone())?;
    let options = BuildOptions { strict: options.strict, allow_unknown_minor: options.allow_unknown_minor };
    let built = build::build(&checked, distribution, &options)?;
    // `rollback` has written the version to restore into the annotation. No other older version is accepted.
    if instance.annotation(OLDER_MINOR_ANNOTATION) == Some(&built.version.name) {
        return Ok(built);
    }
    let installed = instance.status.as_ref().and_then(|status| status.last_applied_revision.as_deref());
    build::check_downgrade(installed.unwrap_or_default(), &built.version.name)?;
    Ok(built)
}

/// Returns the owner of the objects that an instance installs.
pub(super) fn owner_of(instance: &FluxInstance) -> InventoryOwner {
    let id = instance.id();
    InventoryOwner::new(OwnerKind::FluxInstance, id.namespace, id.name)
}

/// Reads the objects of a run that are not known yet.
pub(super) async fn read_more(
    cluster: &Cluster,
    instance: &FluxInstance,
    built: &Build,
    live: &mut LiveObjects,
    options: &PlanOptions,
) -> Result<(), ClusterError> {
    let ids: Vec<ObjectId> = built.objects.iter().map(ObjectId::of).collect();
    live.add(cluster, &objects_to_read(instance, ids), options.concurrency).await
}

/// Returns all objects that matter to a run: those of the build, those applied before, and the operator.
pub(super) fn objects_to_read(instance: &FluxInstance, mut ids: Vec<ObjectId>) -> Vec<ObjectId> {
    ids.extend(instance.recorded_inventory().objects());
    ids.push(ObjectId {
        group: "apps".into(),
        version: "v1".into(),
        kind: "Deployment".into(),
        namespace: instance.namespace_or_default().to_owned(),
        name: well_known::OPERATOR_NAME.into(),
    });
    ids
}

/// Returns the objects without any content of the user. They come from the distribution, which is tested as a whole, so
/// a dry run before their creation would find nothing.
pub(super) fn objects_of_distribution(instance: &FluxInstance, built: &Build) -> BTreeSet<ObjectId> {
    let spec = &instance.spec;
    // Common labels, annotations and shard names affect every object.
    if spec.common_metadata.is_some() || spec.sharding.is_some() {
        return BTreeSet::new();
    }
    // Compare by kind: a report names objects as before the patch, which may have renamed them.
    let patched: BTreeSet<&str> =
        built.patches.iter().flat_map(|patch| &patch.objects).map(|one| one.object.kind.as_str()).collect();
    let ids = built.objects.iter().map(ObjectId::of);
    let ours = ids.filter(|id| {
        // These hold values of the user, such as the size of a volume or the address of the source.
        let from_spec = id.kind == "PersistentVolumeClaim" || id.group.ends_with(".fluxcd.io");
        !from_spec && !patched.contains(id.kind.as_str())
    });
    ours.collect()
}

pub(super) async fn make_plan(
    cluster: &Cluster,
    instance: &FluxInstance,
    built: Build,
    live: &mut LiveObjects,
    of_distribution: &BTreeSet<ObjectId>,
    options: &PlanOptions,
) -> Result<Plan, Stop> {
    let id = instance.id();
    let owner = owner_of(instance);
    let seen = built.objects.iter().filter_map(|object| live.get(&ObjectId::of(object)));
    ownership::refuse_foreign_objects(cluster, &owner, seen).await?;
    let comparison = Comparison {
        extra_managers: &options.extra_managers,
        trusted: of_distribution,
        concurrency: options.concurrency,
        recreation: Recreation::Never,
    };
    let objects = plan::objects(cluster, live, built.objects, comparison);
    let objects = objects.await.map_err(Failure::Apply)?;
    for object in &objects {
        if let Some(seen) = &object.live {
            live.set(seen.clone());
        }
    }
    let keys: BTreeSet<ObjectId> = objects.iter().map(|object| object.object.clone()).collect();
    let recorded = instance.recorded_inventory();
    let prune = plan::prune(cluster, live, plan::stale(&recorded.objects(), &keys), &owner).await?;
    if let Some((object, definition)) = plan::needed_definition(&objects, &prune) {
        let (object, definition) = (object.to_string(), definition.to_string());
        return Err(Failure::Build(BuildError::DefinitionNeeded { object, definition }).into());
    }
    let status = instance.status.clone().unwrap_or_default();
    let mut warnings: Vec<String> = built.warnings.iter().map(|warning| warning.message.clone()).collect();
    warnings.extend(recorded.unreadable().iter().map(|entry| {
        format!(
            "the inventory entry {:?} cannot be read: it is kept in the inventory, and its object is not pruned",
            entry.id
        )
    }));
    Ok(Plan {
        instance: PlannedInstance {
            namespace: id.namespace,
            name: id.name,
            uid: instance.metadata.uid.clone().unwrap_or_default(),
            generation: instance.metadata.generation.unwrap_or_default(),
        },
        suspended: instance.is_suspended(),
        revision: built.revision.to_string(),
        previous_revision: status.last_applied_revision,
        newer: built.newer.map(|newer| newer.name),
        version: built.version.name,
        images: built.images,
        artifact: built.artifact,
        removed_versions: plan::removed_versions(&objects),
        objects,
        prune,
        warnings,
    })
}
