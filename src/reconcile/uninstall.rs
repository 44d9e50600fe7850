//! Taking Flux out of a cluster again, leaving what it deployed.
//!
//! ```text
//! controllers -> finalizers of Flux's custom resources -> everything else -> definitions -> the instance
//! ```
//! The instance goes last: until then its inventory says what is left to do, so a run that was cut off is simply run again.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::{FutureExt, StreamExt};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::apply::{self, Site};
use super::health::{self, Goal, Waited};
use super::interrupt::{Interrupt, Interrupts};
use super::messages::Unhealthy;
use super::outcome::ReconcileError;
use super::plan::{self, PlannedPrune, Step};
use super::progress::{Action, Progress, Stage, Update};
use super::run::take_lease;
use super::status::instance_id;
use super::survey::Survey;
use crate::api::FluxInstance;
use crate::api::kinds::ResourceType;
use crate::api::well_known::{FINALIZER, FLUX_FINALIZER, OPERATOR_NAME, RECONCILER_FIELD_MANAGER};
use crate::cluster::Cluster;
use crate::cluster::lease::LeaseOptions;
use crate::cluster::requests::{CallError, Propagation, Selector};
use crate::k8s::ObjectId;

/// How often a write that lost a race is made again.
const RACES: usize = 6;

/// How an uninstall works.
#[derive(Clone, Debug)]
pub struct UninstallOptions {
    /// The lease to take; `None` when the caller holds it.
    pub lease: Option<LeaseOptions>,
    /// Work although an operator is alive.
    pub force: bool,
    /// Leave Flux's definitions and all objects of their kinds.
    pub keep_crds: bool,
    /// Leave everything when the instance is suspended: what the deletion of a suspended instance means.
    pub respect_suspension: bool,
    pub concurrency: usize,
    /// How long the run waits, all in all, for what it deletes to be gone.
    pub timeout: Duration,
    pub interrupts: Interrupts,
}

impl Default for UninstallOptions {
    fn default() -> Self {
        UninstallOptions {
            lease: None,
            force: false,
            keep_crds: false,
            respect_suspension: false,
            concurrency: 16,
            timeout: Duration::from_secs(300),
            interrupts: super::interrupt::never(),
        }
    }
}

/// An object that stays, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Kept {
    pub object: ObjectId,
    pub reason: String,
}

/// An object that cannot go because of finalizers that are not Flux's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Held {
    pub object: ObjectId,
    pub finalizers: Vec<String>,
}

/// What an uninstall would do.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UninstallPlan {
    pub instance: ObjectId,
    /// In the order of deletion.
    pub deletes: Vec<ObjectId>,
    pub keeps: Vec<Kept>,
    /// How many custom resources of which kind go away with their definitions; kinds without any are left out.
    pub custom_resources: BTreeMap<String, usize>,
    /// Custom resources that will not go because of somebody else's finalizers.
    pub held: Vec<Held>,
}

impl UninstallPlan {
    /// Returns how many objects of each kind are deleted.
    pub fn counts(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for object in &self.deletes {
            *counts.entry(object.kind.as_str()).or_default() += 1;
        }
        counts
    }
}

/// What an uninstall did.
#[derive(Debug, Default)]
pub struct Uninstalled {
    pub deleted: Vec<ObjectId>,
    pub kept: Vec<Kept>,
    pub held: Vec<Held>,
    /// What was still there when the time was up.
    pub remaining: Vec<Unhealthy>,
    pub errors: Vec<(ObjectId, CallError)>,
    pub interrupt: Option<Interrupt>,
    /// The instance itself is gone; it stays while anything is left to do.
    pub instance_gone: bool,
    pub duration: Duration,
}

impl Uninstalled {
    pub fn is_complete(&self) -> bool {
        self.instance_gone
    }
}

/// What is to be deleted, with everything it takes.
struct Job {
    deletes: Vec<PlannedPrune>,
    keeps: Vec<Kept>,
    survey: Survey,
    operator_alive: Option<String>,
}

async fn job(cluster: &Cluster, instance: &FluxInstance, options: &UninstallOptions) -> Result<Job, CallError> {
    let id = instance_id(instance);
    let inventory = instance.status.as_ref().and_then(|status| status.inventory.as_ref());
    let mut wanted: Vec<ObjectId> = inventory
        .into_iter()
        .flat_map(|inventory| &inventory.entries)
        .filter_map(|entry| entry.object().ok())
        .collect();
    let owned = wanted.clone();
    wanted.push(ObjectId {
        group: "apps".into(),
        version: "v1".into(),
        kind: "Deployment".into(),
        namespace: id.namespace.clone(),
        name: OPERATOR_NAME.into(),
    });
    let mut survey = Survey::take(cluster, &wanted, options.concurrency).await?;
    let operator = super::operator::among(survey.of_kind("apps", "Deployment"), &id.namespace);
    let operator_alive = operator.filter(|operator| operator.alive).map(|operator| operator.state);
    let leaves_all = options.respect_suspension && instance.is_suspended();
    let stale = plan::stale(&owned, &Default::default());
    let (mut deletes, mut keeps) = (vec![], vec![]);
    let mut keep = |object: ObjectId, reason: &str| keeps.push(Kept { object, reason: reason.to_owned() });
    for one in plan::prune(cluster, &mut survey, stale, (&id.name, &id.namespace)).await? {
        let is_custom = one.object.group.ends_with(".fluxcd.io");
        match one.reason.clone() {
            Some(reason) => keep(one.object, &reason),
            None if leaves_all => keep(one.object, "the instance is suspended"),
            None if options.keep_crds && (one.object.kind == "CustomResourceDefinition" || is_custom) => {
                keep(one.object, "definitions and their objects are kept");
            }
            None => deletes.push(one),
        }
    }
    Ok(Job { deletes, keeps, survey, operator_alive })
}

/// Lists what an uninstall would delete and what would stay. Writes nothing.
///
/// # Errors
/// The API server cannot be asked.
pub async fn uninstall_plan(
    cluster: &Cluster,
    instance: &FluxInstance,
    options: &UninstallOptions,
) -> Result<UninstallPlan, ReconcileError> {
    let job = job(cluster, instance, options).await?;
    let mut plan = UninstallPlan {
        instance: instance_id(instance),
        deletes: job.deletes.iter().map(|one| one.object.clone()).collect(),
        keeps: job.keeps,
        custom_resources: BTreeMap::new(),
        held: vec![],
    };
    for definition in definitions(&job.deletes, &job.survey) {
        let (resource, objects) = custom_resources(cluster, definition).await?;
        if !objects.is_empty() {
            plan.custom_resources.insert(resource.kind.to_string(), objects.len());
        }
        plan.held.extend(objects.iter().filter_map(held));
    }
    Ok(plan)
}

/// Uninstalls Flux as [`uninstall_plan`] lists it, then deletes the instance. The definition of instances stays.
///
/// Dropping the future at any point leaves an instance whose next uninstall goes on from there.
///
/// # Errors
/// Another reconciler is at work, or the API server cannot be asked. What could not be deleted is in the result.
pub async fn uninstall(
    cluster: &Cluster,
    instance: &FluxInstance,
    options: &UninstallOptions,
    progress: &dyn Progress,
) -> Result<Uninstalled, ReconcileError> {
    let begun = Instant::now();
    let namespace = instance.namespace_or_default();
    let held = match &options.lease {
        Some(lease) => Some(take_lease(cluster, namespace, lease, progress).await?),
        None => None,
    };
    let work = work(cluster, instance, options, begun + options.timeout, progress);
    let result = match &held {
        None => work.await,
        Some(held) => tokio::select! {
            result = work => result,
            () = held.lost() => Err(ReconcileError::LeaseLost { namespace: namespace.to_owned() }),
        },
    };
    if let Some(held) = held {
        held.release().await;
    }
    let mut done = result?;
    done.duration = begun.elapsed();
    Ok(done)
}

async fn work(
    cluster: &Cluster,
    instance: &FluxInstance,
    options: &UninstallOptions,
    deadline: Instant,
    progress: &dyn Progress,
) -> Result<Uninstalled, ReconcileError> {
    let Job { deletes, keeps, mut survey, operator_alive } = job(cluster, instance, options).await?;
    if let Some(operator) = operator_alive.filter(|_| options.lease.is_some() && !options.force) {
        return Err(ReconcileError::OperatorAlive { operator });
    }
    let id = instance_id(instance);
    let mut done = Uninstalled { kept: keeps, ..Uninstalled::default() };
    let (controllers, others): (Vec<PlannedPrune>, Vec<PlannedPrune>) =
        deletes.into_iter().partition(|one| one.object.kind == "Deployment");
    let definitions: Vec<Value> = definitions(&others, &survey).cloned().collect();

    // Foreground: a controller whose pod still runs would put its finalizers back, or clean up what is to stay.
    let steps = [
        (Stage::DeleteControllers, &controllers, Propagation::Foreground),
        (Stage::DeleteObjects, &others, Propagation::Background),
    ];
    for (stage, objects, propagation) in steps {
        if stage == Stage::DeleteObjects {
            done.held = clear_finalizers(cluster, &definitions, options, progress).await?;
        }
        if objects.is_empty() {
            continue;
        }
        progress.report(Update::StageBegan { stage, objects: objects.len() });
        let owner = (id.name.as_str(), id.namespace.as_str());
        let site = Site {
            cluster,
            extra_managers: &[],
            concurrency: options.concurrency,
            interrupts: &options.interrupts,
            progress,
        };
        let pruned = apply::prune(site, &mut survey, objects, owner, propagation).await;
        let deleted: Vec<ObjectId> = pruned
            .changes
            .iter()
            .filter(|change| change.action == Action::Deleted)
            .map(|change| change.object.clone())
            .collect();
        done.kept.extend(pruned.changes.iter().filter(|change| change.action == Action::Skipped).map(|change| Kept {
            object: change.object.clone(),
            reason: "it is protected or no longer ours".to_owned(),
        }));
        done.errors.extend(pruned.errors);
        done.interrupt = pruned.interrupt;
        if done.interrupt.is_none() {
            let awaited = awaited(&deleted, stage, &done.held, &definitions);
            match gone(cluster, &awaited, options, deadline, progress).await? {
                Waited::Reached => {}
                Waited::Unhealthy { objects, .. } => done.remaining.extend(objects),
                Waited::Interrupted(interrupt) => done.interrupt = Some(interrupt),
            }
        }
        done.deleted.extend(deleted);
        // With controllers still at work nothing else is safe to touch.
        if done.interrupt.is_some() || !done.remaining.is_empty() || !done.errors.is_empty() {
            return Ok(done);
        }
    }
    if done.held.is_empty() {
        done.held = delete_instance(cluster, &id).await?;
        done.instance_gone = done.held.is_empty();
    }
    Ok(done)
}

/// Returns what is waited for: controllers, and definitions that nobody else holds back.
fn awaited(deleted: &[ObjectId], stage: Stage, held: &[Held], definitions: &[Value]) -> Vec<ObjectId> {
    let kinds_held = |definition: &ObjectId| {
        let kind = definitions
            .iter()
            .find(|one| ObjectId::of(one).name == definition.name)
            .map(|one| resource_of(one).kind.to_string());
        held.iter().any(|one| Some(&one.object.kind) == kind.as_ref())
    };
    let is_awaited = |id: &&ObjectId| match stage {
        Stage::DeleteControllers => true,
        _ => id.kind == "CustomResourceDefinition" && !kinds_held(id),
    };
    deleted.iter().filter(is_awaited).cloned().collect()
}

async fn gone(
    cluster: &Cluster,
    objects: &[ObjectId],
    options: &UninstallOptions,
    deadline: Instant,
    progress: &dyn Progress,
) -> Result<Waited, CallError> {
    if objects.is_empty() {
        return Ok(Waited::Reached);
    }
    let mut survey = Survey::take(cluster, objects, options.concurrency).await?;
    for id in objects {
        // Definitions are listed by label; what was deleted carried it or is looked up.
        survey.find(cluster, id).await?;
    }
    health::wait(cluster, &mut survey, objects, Goal::Gone, deadline, &options.interrupts, progress).await
}

/// Returns the live definitions among what is deleted.
fn definitions<'a>(deletes: &'a [PlannedPrune], survey: &'a Survey) -> impl Iterator<Item = &'a Value> {
    deletes
        .iter()
        .filter(|one| one.object.kind == "CustomResourceDefinition" && one.step == Step::Prune)
        .filter_map(|one| survey.get(&one.object))
}

/// Returns how objects of a definition are reached: in a served version, the stored one if it is.
fn resource_of(definition: &Value) -> ResourceType {
    let text = |pointer: &str| definition.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let versions =
        definition.pointer("/spec/versions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let is = |version: &&Value, member: &str| version.get(member) == Some(&Value::Bool(true));
    let version = versions.iter().find(|version| is(version, "served") && is(version, "storage"));
    let version = version.or_else(|| versions.iter().find(|version| is(version, "served")));
    let version = version.and_then(|version| version.get("name")?.as_str()).unwrap_or_default();
    ResourceType {
        group: text("/spec/group").into(),
        version: version.to_owned().into(),
        kind: text("/spec/names/kind").into(),
        plural: text("/spec/names/plural").into(),
        namespaced: text("/spec/scope") == "Namespaced",
    }
}

async fn custom_resources(cluster: &Cluster, definition: &Value) -> Result<(ResourceType, Vec<Value>), CallError> {
    let resource = resource_of(definition);
    let list = cluster.list_all(&resource, None, &Selector::default()).await?;
    Ok((resource, list.map(|list| list.items).unwrap_or_default()))
}

fn finalizers(object: &Value) -> Vec<String> {
    let finalizers = object.pointer("/metadata/finalizers").and_then(Value::as_array).into_iter().flatten();
    finalizers.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Returns the finalizers of an object that are neither Flux's nor ours.
fn held(object: &Value) -> Option<Held> {
    let foreign: Vec<String> =
        finalizers(object).into_iter().filter(|name| name != FLUX_FINALIZER && name != FINALIZER).collect();
    (!foreign.is_empty()).then(|| Held { object: ObjectId::of(object), finalizers: foreign })
}

/// Takes Flux's finalizer off every custom resource of the definitions, and returns those that others hold back.
async fn clear_finalizers(
    cluster: &Cluster,
    definitions: &[Value],
    options: &UninstallOptions,
    progress: &dyn Progress,
) -> Result<Vec<Held>, CallError> {
    if definitions.is_empty() {
        return Ok(vec![]);
    }
    progress.report(Update::StageBegan { stage: Stage::ClearFinalizers, objects: definitions.len() });
    let mut all_held = vec![];
    for definition in definitions {
        let (_, objects) = custom_resources(cluster, definition).await?;
        all_held.extend(objects.iter().filter_map(held));
        let mut jobs = vec![];
        for object in objects.into_iter().filter(|object| finalizers(object).iter().any(|name| name == FLUX_FINALIZER))
        {
            jobs.push(without_finalizer(cluster, object, FLUX_FINALIZER).boxed());
        }
        let mut running = futures::stream::iter(jobs).buffer_unordered(options.concurrency.max(1));
        while let Some(result) = running.next().await {
            let id = result?;
            progress.report(Update::Object { object: id.to_string(), action: Action::Configured });
        }
    }
    Ok(all_held)
}

/// Takes one finalizer off an object, leaving all others.
async fn without_finalizer(cluster: &Cluster, mut object: Value, name: &str) -> Result<ObjectId, CallError> {
    let id = ObjectId::of(&object);
    for race in 1.. {
        let kept: Vec<String> = finalizers(&object).into_iter().filter(|other| other != name).collect();
        if kept.len() == finalizers(&object).len() {
            break;
        }
        let patch =
            json!({"metadata": {"finalizers": kept, "resourceVersion": object.pointer("/metadata/resourceVersion")}});
        match cluster.merge_patch(&id, None, &patch, RECONCILER_FIELD_MANAGER).await {
            Err(error) if error.is_conflict() && race < RACES => match cluster.read(&id).await? {
                Some(now) => object = now,
                None => break,
            },
            Err(error) if error.is_not_found() => break,
            Err(error) => return Err(error),
            Ok(_) => break,
        }
    }
    Ok(id)
}

/// Deletes the instance and clears our finalizer; returns what others hold it with.
async fn delete_instance(cluster: &Cluster, id: &ObjectId) -> Result<Vec<Held>, CallError> {
    for race in 1.. {
        let Some(live) = cluster.read(id).await? else { return Ok(vec![]) };
        if live.pointer("/metadata/deletionTimestamp").is_none() {
            match cluster.delete_exactly(&live, Propagation::Background).await {
                Err(error) if error.is_conflict() && race < RACES => continue,
                Err(error) => return Err(error),
                Ok(false) => return Ok(vec![]),
                Ok(true) => {}
            }
        }
        let Some(live) = cluster.read(id).await? else { return Ok(vec![]) };
        let held = held(&live).into_iter().collect();
        without_finalizer(cluster, live, FINALIZER).await?;
        return Ok(held);
    }
    Ok(vec![])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_foreign_finalizers_hold_an_object() {
        let object = |finalizers: Value| json!({"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "a", "finalizers": finalizers}});
        assert_eq!(held(&object(json!([FLUX_FINALIZER, FINALIZER]))), None);
        assert_eq!(held(&object(json!([FLUX_FINALIZER, "example.com/x"]))).unwrap().finalizers, ["example.com/x"]);
    }

    #[test]
    fn objects_are_reached_in_a_served_version() {
        let definition = json!({"spec": {"group": "g", "scope": "Namespaced", "names": {"kind": "K", "plural": "ks"}, "versions": [
            {"name": "v1", "served": false, "storage": true}, {"name": "v1beta2", "served": true, "storage": false}]}});
        assert_eq!(resource_of(&definition).path(Some("n"), None), "/apis/g/v1beta2/namespaces/n/ks");
    }

    #[test]
    fn definitions_held_back_by_others_are_not_waited_for() {
        let crd = |name: &str, kind: &str| {
            json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": name}, "spec": {"names": {"kind": kind}}})
        };
        let definitions = [crd("as.g", "A"), crd("bs.g", "B")];
        let deleted: Vec<ObjectId> = definitions.iter().map(ObjectId::of).collect();
        let held =
            [Held { object: ObjectId::of(&json!({"kind": "A", "metadata": {"name": "x"}})), finalizers: vec![] }];
        let names: Vec<String> =
            awaited(&deleted, Stage::DeleteObjects, &held, &definitions).into_iter().map(|id| id.name).collect();
        assert_eq!(names, ["bs.g"]);
    }
}
