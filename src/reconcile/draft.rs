//! From an instance to the plan of its next run; nothing is written.
//!
//! ```text
//! instance + distribution -> build -> survey of what lives -> comparison -> plan
//! ```

use std::collections::BTreeSet;

use super::outcome::{Failure, ReconcileError};
use super::plan::{self, Plan, PlannedInstance};
use super::progress::{Progress, Stage, Update};
use super::run::Options;
use super::status::instance_id;
use super::survey::Survey;
use crate::api::FluxInstance;
use crate::api::well_known;
use crate::build::{self, Build, BuildError, BuildOptions};
use crate::cluster::Cluster;
use crate::cluster::requests::CallError;
use crate::distribution::Distribution;
use crate::k8s::ObjectId;

/// Makes the plan of a run without writing anything.
///
/// # Errors
/// The build fails, the API server refuses a manifest in a dry run, or cannot be asked.
pub async fn plan(
    cluster: &Cluster,
    instance: &FluxInstance,
    distribution: &Distribution,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Plan, ReconcileError> {
    progress.report(Update::StageBegan { stage: Stage::Build, objects: 0 });
    let built = built(instance, distribution, options)?;
    progress.report(Update::StageBegan { stage: Stage::Plan, objects: built.objects.len() });
    let mut survey = survey(cluster, instance, &built, options).await?;
    // A plan is looked at before it is carried out: it has asked the server about everything.
    make_plan(cluster, instance, &built, &mut survey, &BTreeSet::new(), options).await.map_err(
        |failure| match failure {
            Failure::Apply(errors) => ReconcileError::Refused(errors),
            Failure::Call(error) => ReconcileError::Call(error),
            Failure::Build(error) => ReconcileError::Build(error),
            // Planning has no other failure.
            _ => ReconcileError::Refused(vec![]),
        },
    )
}

pub(super) fn built(
    instance: &FluxInstance,
    distribution: &Distribution,
    options: &Options,
) -> Result<Build, BuildError> {
    let built =
        build::build(instance, distribution, &BuildOptions { strict: options.strict, ..BuildOptions::default() })?;
    let installed = instance.status.as_ref().and_then(|status| status.last_applied_revision.as_deref());
    build::check_downgrade(installed.unwrap_or_default(), &built.version.name)?;
    Ok(built)
}

fn old_inventory(instance: &FluxInstance) -> Vec<ObjectId> {
    let inventory = instance.status.as_ref().and_then(|status| status.inventory.as_ref());
    inventory.into_iter().flat_map(|inventory| &inventory.entries).filter_map(|entry| entry.object().ok()).collect()
}

pub(super) async fn survey(
    cluster: &Cluster,
    instance: &FluxInstance,
    built: &Build,
    options: &Options,
) -> Result<Survey, CallError> {
    let ids: Vec<ObjectId> = built.objects.iter().map(ObjectId::of).collect();
    Survey::take(cluster, &wanted(instance, ids), options.concurrency).await
}

/// Returns everything a run has to know about: what is built, what was applied, and whether an operator is there.
pub(super) fn wanted(instance: &FluxInstance, mut ids: Vec<ObjectId>) -> Vec<ObjectId> {
    ids.extend(old_inventory(instance));
    ids.push(ObjectId {
        group: "apps".into(),
        version: "v1".into(),
        kind: "Deployment".into(),
        namespace: instance.namespace_or_default().to_owned(),
        name: well_known::OPERATOR_NAME.into(),
    });
    ids
}

/// Returns the objects that hold nothing a user wrote into them: they are the distribution's, which is tested as a whole,
/// so a dry run before their creation would tell nothing.
pub(super) fn trusted(instance: &FluxInstance, built: &Build) -> BTreeSet<ObjectId> {
    let spec = &instance.spec;
    // Labels and annotations for all, and names of shards, go into everything.
    if spec.common_metadata.is_some() || spec.sharding.is_some() {
        return BTreeSet::new();
    }
    // By kind: a report names objects as they were before the patch, which may have renamed them.
    let patched: BTreeSet<&str> =
        built.patches.iter().flat_map(|patch| &patch.objects).map(|one| one.object.kind.as_str()).collect();
    let ids = built.objects.iter().map(ObjectId::of);
    let ours = ids.filter(|id| {
        let from_spec = id.kind == "PersistentVolumeClaim" || id.group.ends_with(".fluxcd.io");
        !from_spec && !patched.contains(id.kind.as_str())
    });
    ours.collect()
}

pub(super) async fn make_plan(
    cluster: &Cluster,
    instance: &FluxInstance,
    built: &Build,
    survey: &mut Survey,
    trusted: &BTreeSet<ObjectId>,
    options: &Options,
) -> Result<Plan, Failure> {
    let objects = plan::objects(cluster, survey, &built.objects, &options.extra_managers, trusted, options.concurrency);
    let objects = objects.await.map_err(Failure::Apply)?;
    for object in &objects {
        if let Some(live) = &object.live {
            survey.set(live.clone());
        }
    }
    let keys: BTreeSet<ObjectId> = objects.iter().map(|object| object.object.clone()).collect();
    let id = instance_id(instance);
    let stale = plan::stale(&old_inventory(instance), &keys);
    let prune = plan::prune(cluster, survey, stale, (&id.name, &id.namespace)).await.map_err(Failure::Call)?;
    let status = instance.status.clone().unwrap_or_default();
    Ok(Plan {
        instance: PlannedInstance {
            namespace: id.namespace,
            name: id.name,
            uid: instance.metadata.uid.clone().unwrap_or_default(),
            generation: instance.metadata.generation.unwrap_or_default(),
        },
        version: built.version.name.clone(),
        revision: built.revision.to_string(),
        previous_revision: status.last_applied_revision,
        newer: built.latest.as_ref().map(|latest| latest.name.clone()).filter(|latest| *latest != built.version.name),
        images: built.images.clone(),
        removed_versions: plan::removed_versions(&objects),
        objects,
        prune,
        warnings: built.warnings.iter().map(|warning| warning.message.clone()).collect(),
    })
}
