//! Plans a run of a ResourceSet; writes nothing.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

use super::dependencies;
use super::desired::{self, DesiredSet, DesiredStep, SetStage};
use super::inputs::ProviderInputs;
use super::referenced_data::DataSources;
use super::run::{applier, as_it_would_be_stored, owner, prune_hold, recreation, takeovers};
use crate::api::{Reconciled, ResourceSet};
use crate::cluster::Cluster;
use crate::k8s::ObjectId;
use crate::reconcile::live_objects::LiveObjects;
use crate::reconcile::options::RunOptions;
use crate::reconcile::outcome::{ApplyError, ReconcileError};
use crate::reconcile::plan::{self, Comparison, PlannedInstance, PlannedObject, PlannedPrune, Step};
use crate::reconcile::progress::{Progress, Stage, Update};
use crate::reconcile::stored;

/// A planned object, with the template and the input set that render it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedSetObject {
    #[serde(flatten)]
    pub planned: PlannedObject,
    /// Name of the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_step: Option<String>,
    /// `spec.resources[0]`.
    pub template: String,
    /// The input set, in words for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// Index of the input set among all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_index: Option<usize>,
}

/// A provider, with the number of planned objects from its inputs and of objects that would be pruned without them.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedProvider {
    #[serde(flatten)]
    pub inputs: ProviderInputs,
    /// Objects rendered from its input sets.
    pub objects: usize,
    /// Number of them that are in the inventory, and would be pruned if the provider exported nothing.
    pub pruned_without: usize,
}

/// The changes that a run of a ResourceSet would make.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceSetPlan {
    pub resource_set: PlannedInstance,
    /// Whether nothing happens before the set is resumed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub suspended: bool,
    /// Digest of the objects.
    pub revision: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_revision: Option<String>,
    /// Number of input sets with which the templates are rendered.
    pub input_sets: usize,
    pub providers: Vec<PlannedProvider>,
    pub objects: Vec<PlannedSetObject>,
    /// In the order of deletion.
    pub prune: Vec<PlannedPrune>,
    /// Why nothing is pruned for now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prune_withheld: Option<String>,
    pub warnings: Vec<String>,
}

impl ResourceSetPlan {
    /// Reports whether carrying the plan out would write anything but the status.
    pub fn has_changes(&self) -> bool {
        self.objects.iter().any(|one| one.planned.step != Step::Unchanged) || !self.prune.is_empty()
    }

    /// Returns the number of objects with this step.
    pub fn count(&self, step: Step) -> usize {
        self.objects.iter().filter(|one| one.planned.step == step).count()
            + self.prune.iter().filter(|one| one.step == step).count()
    }
}

/// Plans a run of the stored set. For a suspended set it is the plan after a resume.
///
/// # Errors
/// The set does not exist or cannot be built, or the API server refuses a manifest in a dry run or does not answer.
pub async fn plan_resource_set(
    cluster: &Cluster,
    id: &ObjectId,
    options: &RunOptions,
    progress: &dyn Progress,
) -> Result<ResourceSetPlan, ReconcileError> {
    let set = stored::read(cluster, id).await?;
    plan_of(cluster, &set, options, progress).await
}

/// Plans an apply: the set as it would be stored, with the status of the stored one.
///
/// # Errors
/// As [`plan_resource_set`]; a missing set is not an error.
pub async fn plan_written_resource_set(
    cluster: &Cluster,
    written: &Value,
    options: &RunOptions,
    progress: &dyn Progress,
) -> Result<ResourceSetPlan, ReconcileError> {
    // The current owner of the fields matters only to the apply, which takes them over on request.
    let (set, _) = as_it_would_be_stored(cluster, written, true).await?;
    plan_of(cluster, &set, options, progress).await
}

async fn plan_of(
    cluster: &Cluster,
    set: &ResourceSet,
    options: &RunOptions,
    progress: &dyn Progress,
) -> Result<ResourceSetPlan, ReconcileError> {
    let applier = applier(cluster, set, options);
    let mut warnings = dependency_warnings(cluster, set).await;
    progress.report(Update::StageBegan { stage: Stage::Build, objects: 0 });
    let desired = desired::make(cluster, &applier, set, &mut DataSources::default()).await;
    let desired = desired.map_err(ReconcileError::ResourceSet)?;
    warnings.extend(desired.warnings.iter().cloned());
    progress.report(Update::StageBegan { stage: Stage::Plan, objects: desired.count() });
    let owner = owner(set);
    let recorded = set.recorded_inventory();
    let owned = recorded.objects();
    let mut live = LiveObjects::default();
    let ids = desired.ids();
    live.add_of(&applier, &owner, ids.iter().chain(&owned).collect::<Vec<_>>(), options.plan.concurrency).await?;
    let objects = objects(&applier, set, &desired, &mut live, options).await?;
    warnings.extend(takeovers(&owner, objects.iter().map(|one| &one.planned)));
    let built: BTreeSet<ObjectId> = ids.into_iter().collect();
    let mut prune = plan::prune(&applier, &mut live, plan::stale(&owned, &built), &owner).await?;
    let prune_withheld = prune_hold(set, &desired);
    if let Some(why) = &prune_withheld {
        for one in &mut prune {
            (one.step, one.reason) = (Step::Skip, Some(why.clone()));
        }
    } else if desired.inputs.are_missing && !prune.is_empty() {
        warnings.push(format!("{} objects would be pruned because the providers export no inputs", prune.len()));
    }
    warnings.extend(recorded.unreadable().iter().map(|entry| {
        format!(
            "the inventory entry {:?} cannot be read: it is kept in the inventory, and its object is not pruned",
            entry.id
        )
    }));
    let owned: BTreeSet<ObjectId> = owned.into_iter().collect();
    let providers = desired.inputs.providers.iter().map(|inputs| of_provider(inputs, &desired, &owned)).collect();
    let id = set.id();
    Ok(ResourceSetPlan {
        resource_set: PlannedInstance {
            namespace: id.namespace,
            name: id.name,
            uid: set.metadata.uid.clone().unwrap_or_default(),
            generation: set.metadata.generation.unwrap_or_default(),
        },
        suspended: set.is_suspended(),
        revision: desired.digest.clone(),
        previous_revision: set.status.as_ref().and_then(|status| status.last_applied_revision.clone()),
        input_sets: desired.inputs.sets.len(),
        providers,
        objects,
        prune,
        prune_withheld,
        warnings,
    })
}

/// Returns a warning about the first dependency for which a run would wait.
async fn dependency_warnings(cluster: &Cluster, set: &ResourceSet) -> Vec<String> {
    let dependencies = set.spec.depends_on.as_deref().unwrap_or_default();
    let checked = match dependencies::parse(dependencies) {
        Ok(parsed) => dependencies::check(cluster, &set.id().namespace, &parsed).await,
        Err(error) => Err(error),
    };
    checked.err().map(|error| format!("a run would not apply anything yet: {error}")).into_iter().collect()
}

/// Compares all objects with the cluster. An object may need a kind or namespace that an earlier step or stage creates.
/// If it cannot be compared for that reason, it counts as new.
async fn objects(
    applier: &Cluster,
    set: &ResourceSet,
    desired: &DesiredSet,
    live: &mut LiveObjects,
    options: &RunOptions,
) -> Result<Vec<PlannedSetObject>, ReconcileError> {
    let comparison = Comparison {
        extra_managers: &options.plan.extra_managers,
        trusted: &BTreeSet::new(),
        concurrency: options.plan.concurrency,
        recreation: recreation(set),
    };
    let mut planned = vec![];
    let mut is_first = true;
    for step in &desired.steps {
        let all: Vec<Value> = SetStage::ALL.into_iter().flat_map(|stage| step.stage(stage)).collect();
        let compared = plan::objects(applier, live, all.clone(), comparison).await;
        let compared = match compared {
            Ok(compared) => compared,
            Err(errors) if is_first && !may_pass(&errors) => return Err(ReconcileError::Refused(errors)),
            // Compare each object alone, so that those that cannot be compared do not affect the others.
            Err(_) => one_by_one(applier, live, all, comparison).await?,
        };
        is_first = false;
        planned.extend(compared.into_iter().map(|one| explained(one, step)));
    }
    Ok(planned)
}

fn may_pass(errors: &[ApplyError]) -> bool {
    errors.iter().all(|error| error.source.is_absent())
}

async fn one_by_one(
    applier: &Cluster,
    live: &LiveObjects,
    manifests: Vec<Value>,
    comparison: Comparison<'_>,
) -> Result<Vec<PlannedObject>, ReconcileError> {
    let mut planned = vec![];
    for manifest in manifests {
        match plan::objects(applier, live, vec![manifest.clone()], comparison).await {
            Ok(one) => planned.extend(one),
            Err(errors) if may_pass(&errors) => planned.push(PlannedObject::not_comparable(manifest)),
            Err(errors) => return Err(ReconcileError::Refused(errors)),
        }
    }
    Ok(planned)
}

fn explained(planned: PlannedObject, step: &DesiredStep) -> PlannedSetObject {
    let rendered = step.objects.iter().find(|one| ObjectId::of(&one.object) == planned.object);
    PlannedSetObject {
        planned,
        in_step: step.name.clone(),
        template: rendered.map(|one| one.origin.to_string()).unwrap_or_default(),
        input: rendered.and_then(|one| one.input.as_ref()).map(ToString::to_string),
        input_index: rendered.and_then(|one| one.origin.input),
    }
}

fn of_provider(inputs: &ProviderInputs, desired: &DesiredSet, owned: &BTreeSet<ObjectId>) -> PlannedProvider {
    let is_its = |one: &&desired::RenderedObject| {
        let source = one.input.as_ref().and_then(|input| input.source.as_ref());
        source.is_some_and(|source| source.name == inputs.provider.name && source.kind == inputs.provider.kind)
    };
    let rendered = desired.steps.iter().flat_map(|step| &step.objects).filter(is_its);
    let ids: Vec<ObjectId> = rendered.map(|one| ObjectId::of(&one.object)).collect();
    let pruned_without = ids.iter().filter(|id| owned.contains(id)).count();
    PlannedProvider { inputs: inputs.clone(), objects: ids.len(), pruned_without }
}
