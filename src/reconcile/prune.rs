//! Deletes objects that are no longer wanted, and keeps everything that Flux deployed.
//!
//! ```text
//! controllers, and wait for their pods -> finalizers of custom resources -> everything else -> definitions are gone
//! ```
//! A running controller would notice the deletion of its objects and delete what they deployed. A finalizer that no
//! controller clears would keep a definition for ever.

use futures::{FutureExt, StreamExt};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::{Duration, Instant};

use super::context::RunContext;
use super::custom_resources::{list_custom_resources, resource_of};
use super::health::{self, Goal, WaitEnd};
use super::interrupt::{Interrupt, InterruptPolicy, requested_stop};
use super::live_objects::LiveObjects;
use super::messages::UnhealthyObject;
use super::plan::{PlannedPrune, Step};
use super::progress::{Action, Change, Stage, Update};
use crate::api::kinds::{HELM_GROUP, KUSTOMIZE_GROUP};
use crate::api::well_known::{FINALIZER, FLUX_FINALIZER, RECONCILER_FIELD_MANAGER};
use crate::api::{InventoryOwner, OwnerKind};
use crate::cluster::{Cluster, ClusterError, Propagation, WriteOptions};
use crate::k8s::{ObjectId, fields};

/// An object that cannot be deleted because of finalizers that are not Flux's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HeldObject {
    pub object: ObjectId,
    pub finalizers: Vec<String>,
}

/// Options of a removal.
#[derive(Clone, Copy)]
pub(super) struct RemovalOptions<'a> {
    /// The owner whose labels an object must carry to be deleted.
    pub owner: &'a InventoryOwner,
    /// Whether everything is removed. In that case, each part is a separate stage, and definitions are deleted even if
    /// their objects have foreign finalizers.
    pub uninstalls: bool,
    /// Limit for waiting until the deleted objects are gone.
    pub deadline: Instant,
}

/// The result of a removal.
#[derive(Debug, Default)]
pub(super) struct RemovalResult {
    /// In the order of deletion.
    pub changes: Vec<Change>,
    /// Objects that could not be deleted, with the errors. They must still be deleted.
    pub errors: Vec<(ObjectId, ClusterError)>,
    /// Custom resources with foreign finalizers.
    pub held: Vec<HeldObject>,
    /// Objects that still existed at the deadline.
    pub remaining: Vec<UnhealthyObject>,
    pub interrupt: Option<Interrupt>,
    /// Objects that were not deleted, or still exist.
    pub left: Vec<ObjectId>,
}

impl RemovalResult {
    fn is_stuck(&self) -> bool {
        self.interrupt.is_some() || !self.remaining.is_empty() || !self.errors.is_empty()
    }
}

/// Deletes objects, given in the order of deletion.
///
/// # Errors
/// The API server does not answer; objects that could not be deleted are part of the result.
pub(super) async fn remove(
    context: RunContext<'_>,
    live: &mut LiveObjects,
    planned: &[PlannedPrune],
    options: RemovalOptions<'_>,
) -> Result<RemovalResult, ClusterError> {
    let is_deployment = |one: &&PlannedPrune| one.object.kind == "Deployment";
    let controllers: Vec<&PlannedPrune> = planned.iter().filter(is_deployment).collect();
    let mut others: Vec<&PlannedPrune> = planned.iter().filter(|one| !is_deployment(one)).collect();
    let definitions: Vec<Value> = definitions_of(others.iter().copied(), live).cloned().collect();
    let takes_custom_resources =
        others.iter().any(|one| one.step == Step::Prune && (is_definition(&one.object) || is_of_flux(&one.object)));
    let waits = options.uninstalls || takes_custom_resources;

    let mut removed = RemovalResult::default();
    if !controllers.is_empty() {
        begin_stage(context, options, Stage::DeleteControllers, controllers.len());
        // With foreground deletion, a Deployment exists until its pods are gone.
        let propagation = if waits { Propagation::Foreground } else { Propagation::Background };
        let deleted = delete_all(context, live, &controllers, options, propagation, &mut removed).await;
        if waits && removed.interrupt.is_none() {
            wait_until_gone(context, deleted, options.deadline, &mut removed).await?;
        }
    }
    // While controllers are running, deleting anything else is not safe.
    if removed.is_stuck() {
        removed.left.extend(others.iter().map(|one| one.object.clone()));
        return Ok(removed);
    }
    if !definitions.is_empty() {
        begin_stage(context, options, Stage::ClearFinalizers, definitions.len());
        removed.held = clear_finalizers(context, &definitions).await?;
    }
    let held_definitions: Vec<ObjectId> =
        definitions.iter().filter(|one| is_held(one, &removed.held)).map(ObjectId::of).collect();
    if !options.uninstalls {
        // A definition whose objects have foreign finalizers would remain Terminating after its deletion. It is kept
        // for now, and a later run deletes it.
        others.retain(|one| !held_definitions.contains(&one.object));
        removed.left.extend(held_definitions.iter().cloned());
    }
    if others.is_empty() {
        return Ok(removed);
    }
    begin_stage(context, options, Stage::DeleteObjects, others.len());
    let deleted = delete_all(context, live, &others, options, Propagation::Background, &mut removed).await;
    if removed.interrupt.is_none() {
        let is_awaited = |id: ObjectId| is_definition(&id) && !held_definitions.contains(&id);
        let awaited = deleted.into_iter().filter(|object| is_awaited(ObjectId::of(object))).collect();
        wait_until_gone(context, awaited, options.deadline, &mut removed).await?;
    }
    Ok(removed)
}

/// Deletes objects that a ResourceSet no longer renders, given in the order of deletion. Deletes Kustomizations and
/// HelmReleases first and waits until they are gone, because their controllers remove the objects that they deployed.
///
/// # Errors
/// The API server does not answer; objects that could not be deleted are part of the result.
pub(super) async fn collect(
    context: RunContext<'_>,
    live: &mut LiveObjects,
    planned: &[PlannedPrune],
    owner: &InventoryOwner,
    patience: Duration,
) -> Result<RemovalResult, ClusterError> {
    let deadline = Instant::now() + patience;
    let options = RemovalOptions { owner, uninstalls: true, deadline };
    let deploys = |one: &&PlannedPrune| [KUSTOMIZE_GROUP, HELM_GROUP].contains(&one.object.group.as_str());
    let (deploying, others): (Vec<&PlannedPrune>, Vec<&PlannedPrune>) = planned.iter().partition(deploys);
    let mut removed = RemovalResult::default();
    let deleted = delete_all(context, live, &deploying, options, Propagation::Background, &mut removed).await;
    if removed.interrupt.is_none() {
        wait_until_gone(context, deleted, deadline, &mut removed).await?;
        if !removed.remaining.is_empty() {
            let left = std::mem::take(&mut removed.remaining);
            let names: Vec<String> = left.into_iter().map(|one| one.object).collect();
            tracing::warn!("not deleted after {patience:?}: {}", names.join(", "));
            // Their deletion was accepted, and their controllers complete it later.
            removed.left.clear();
        }
    }
    if removed.interrupt.is_none() {
        delete_all(context, live, &others, options, Propagation::Background, &mut removed).await;
    }
    Ok(removed)
}

/// A regular run has one stage for everything.
fn begin_stage(context: RunContext<'_>, options: RemovalOptions<'_>, stage: Stage, objects: usize) {
    if options.uninstalls {
        context.progress.report(Update::StageBegan { stage, objects });
    }
}

fn is_definition(id: &ObjectId) -> bool {
    id.kind == "CustomResourceDefinition"
}

/// Whether an object is a custom resource of Flux.
pub(super) fn is_of_flux(id: &ObjectId) -> bool {
    id.group.ends_with(".fluxcd.io")
}

/// Deletes one kind after the other, with the objects of a kind in parallel, and returns the objects that are being
/// deleted.
async fn delete_all(
    context: RunContext<'_>,
    live: &mut LiveObjects,
    planned: &[&PlannedPrune],
    options: RemovalOptions<'_>,
    propagation: Propagation,
    removed: &mut RemovalResult,
) -> Vec<Value> {
    let mut deleted = vec![];
    for kind in planned.chunk_by(|left, right| left.object.kind == right.object.kind) {
        removed.interrupt = requested_stop(context.interrupts);
        if removed.interrupt.is_some() {
            removed.left.extend(kind.iter().map(|one| one.object.clone()));
            continue;
        }
        let mut jobs = vec![];
        for one in kind.iter().copied() {
            let seen = live.get(&one.object).cloned();
            jobs.push(
                async move { (one, delete(context.cluster, one, seen, options.owner, propagation).await) }.boxed(),
            );
        }
        let results: Vec<_> = futures::stream::iter(jobs).buffered(context.concurrency.max(1)).collect().await;
        for (one, result) in results {
            match result {
                Ok(action) => {
                    if action == Action::Deleted {
                        deleted.push(leaving(live.remove(&one.object), &one.object));
                    }
                    context.progress.report(Update::Object { object: one.object.to_string(), action });
                    removed.changes.push(Change { object: one.object.clone(), action });
                }
                Err(error) => {
                    removed.left.push(one.object.clone());
                    removed.errors.push((one.object.clone(), error));
                }
            }
        }
    }
    deleted
}

/// Returns an object whose deletion was accepted; if it was not seen, one made from its id.
fn leaving(seen: Option<Value>, id: &ObjectId) -> Value {
    let named = || {
        let metadata = json!({"name": id.name, "namespace": id.namespace()});
        json!({"apiVersion": id.api_version(), "kind": id.kind, "metadata": metadata})
    };
    let mut object = seen.unwrap_or_else(named);
    object["metadata"]["deletionTimestamp"] = jiff::Timestamp::now().to_string().into();
    object
}

/// Deletes exactly the object that was read; if it has changed since, reads it again.
async fn delete(
    cluster: &Cluster,
    planned: &PlannedPrune,
    live: Option<Value>,
    owner: &InventoryOwner,
    propagation: Propagation,
) -> Result<Action, ClusterError> {
    if planned.step == Step::Skip {
        return Ok(Action::Skipped);
    }
    let id = &planned.object;
    // Workloads that an instance has deployed are kept. For an object of a set, Flux's controllers also delete
    // everything that it has deployed.
    let keeps_workloads = owner.kind == OwnerKind::FluxInstance;
    let live = match live {
        Some(live) => live,
        None => match cluster.read(id).await? {
            Some(live) => live,
            None => return Ok(Action::Deleted),
        },
    };
    let delete = |live: Value| async move {
        if owner.protection(&live).is_some() {
            return Ok(Action::Skipped);
        }
        // An object that is already being deleted is not deleted again, because that would change nothing.
        if !fields::is_being_deleted(&live) {
            let live = if keeps_workloads { suspended(cluster, &live).await? } else { live };
            cluster.delete_exactly(&live, propagation).await?;
        }
        Ok(Action::Deleted)
    };
    let Some(action) = cluster.retry_on_conflict(id, live, delete).await? else { return Ok(Action::Deleted) };
    // Its controller may not run any more; a running one clears the finalizer too.
    if action == Action::Deleted
        && keeps_workloads
        && is_of_flux(id)
        && let Some(now) = cluster.read(id).await?
    {
        without_finalizer(cluster, now, FLUX_FINALIZER).await?;
    }
    Ok(action)
}

/// Suspends an object whose controller would otherwise delete the objects that it deployed. Flux's controllers keep
/// them if it is suspended. Returns any other object unchanged.
///
/// It is applied as a whole with our field manager, so that the next apply reverts the suspension if the object is not
/// deleted but wanted again.
async fn suspended(cluster: &Cluster, live: &Value) -> Result<Value, ClusterError> {
    let id = ObjectId::of(live);
    let cleans_up = matches!(id.kind.as_str(), "Kustomization" | "HelmRelease") && is_of_flux(&id);
    if !cleans_up || live.pointer("/spec/suspend") == Some(&Value::Bool(true)) {
        return Ok(live.clone());
    }
    let mut object = json!({"apiVersion": id.api_version(), "kind": id.kind, "metadata": {}, "spec": live["spec"]});
    for member in ["name", "namespace", "labels", "annotations", "uid", "resourceVersion"] {
        if let Some(value) = live.pointer(&format!("/metadata/{member}")) {
            object["metadata"][member] = value.clone();
        }
    }
    object["spec"]["suspend"] = true.into();
    cluster.apply(&object, WriteOptions::forced(RECONCILER_FIELD_MANAGER)).await
}

async fn wait_until_gone(
    context: RunContext<'_>,
    deleted: Vec<Value>,
    deadline: Instant,
    removed: &mut RemovalResult,
) -> Result<(), ClusterError> {
    if deleted.is_empty() {
        return Ok(());
    }
    let objects: Vec<ObjectId> = deleted.iter().map(ObjectId::of).collect();
    let objects = objects.as_slice();
    // Its watches list the remaining objects, so nothing has to be read first.
    let mut live = LiveObjects::default();
    deleted.into_iter().for_each(|object| live.set(object));
    match health::wait(context, &mut live, objects, Goal::Gone, deadline, InterruptPolicy::StopOnly).await? {
        WaitEnd::Reached => {}
        WaitEnd::Unhealthy { objects: remaining, .. } => {
            removed.left.extend(objects.iter().filter(|id| live.get(id).is_some()).cloned());
            removed.remaining.extend(remaining);
        }
        WaitEnd::Interrupted(interrupt) => {
            removed.left.extend(objects.iter().filter(|id| live.get(id).is_some()).cloned());
            removed.interrupt = Some(interrupt);
        }
    }
    Ok(())
}

/// Returns the live definitions among the deleted objects.
pub(super) fn definitions_of<'a>(
    deletes: impl Iterator<Item = &'a PlannedPrune>,
    live: &'a LiveObjects,
) -> impl Iterator<Item = &'a Value> {
    deletes.filter(|one| is_definition(&one.object) && one.step == Step::Prune).filter_map(|one| live.get(&one.object))
}

fn finalizers(object: &Value) -> Vec<String> {
    let finalizers = object.pointer("/metadata/finalizers").and_then(Value::as_array).into_iter().flatten();
    finalizers.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Returns the finalizers of an object that are neither Flux's nor ours.
pub(super) fn held(object: &Value) -> Option<HeldObject> {
    let foreign: Vec<String> =
        finalizers(object).into_iter().filter(|name| name != FLUX_FINALIZER && name != FINALIZER).collect();
    (!foreign.is_empty()).then(|| HeldObject { object: ObjectId::of(object), finalizers: foreign })
}

fn is_held(definition: &Value, held: &[HeldObject]) -> bool {
    let resource = resource_of(definition);
    held.iter().any(|one| one.object.kind == resource.kind && one.object.group == resource.group)
}

/// Removes Flux's finalizer from every custom resource of the definitions, and returns those with foreign finalizers.
async fn clear_finalizers(context: RunContext<'_>, definitions: &[Value]) -> Result<Vec<HeldObject>, ClusterError> {
    let mut all_held = vec![];
    for definition in definitions {
        let (_, objects) = list_custom_resources(context.cluster, definition).await?;
        all_held.extend(objects.iter().filter_map(held));
        let mut jobs = vec![];
        for object in objects.into_iter().filter(|object| finalizers(object).iter().any(|name| name == FLUX_FINALIZER))
        {
            jobs.push(without_finalizer(context.cluster, object, FLUX_FINALIZER).boxed());
        }
        let mut running = futures::stream::iter(jobs).buffer_unordered(context.concurrency.max(1));
        while let Some(result) = running.next().await {
            let id = result?;
            context.progress.report(Update::Object { object: id.to_string(), action: Action::Configured });
        }
    }
    Ok(all_held)
}

/// Removes one finalizer from an object and keeps the others.
pub(super) async fn without_finalizer(cluster: &Cluster, object: Value, name: &str) -> Result<ObjectId, ClusterError> {
    let id = ObjectId::of(&object);
    cluster.clear_finalizer(object, name, RECONCILER_FIELD_MANAGER).await?;
    Ok(id)
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
    fn a_definition_is_held_by_objects_of_its_own_kind_and_group_only() {
        let crd = |kind: &str| json!({"spec": {"group": "g", "names": {"kind": kind}}});
        let object = json!({"apiVersion": "g/v1", "kind": "A", "metadata": {"name": "x"}});
        let held = [HeldObject { object: ObjectId::of(&object), finalizers: vec![] }];
        assert!(is_held(&crd("A"), &held) && !is_held(&crd("B"), &held));
    }
}
