//! The plan of a run as a value: printed by `plan`, saved to a file, carried out by `apply` and the controller.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use futures::{FutureExt, StreamExt};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::custom_resources::{CustomResources, count_custom_resources};
use super::live_objects::LiveObjects;
use super::no_change_proof;
use super::outcome::ApplyError;
use super::ownership;
use crate::api::takeover;
use crate::api::well_known::{ENABLED, FORCE_ANNOTATION, RECONCILER_FIELD_MANAGER};
use crate::api::{ComponentImage, InventoryOwner, OwnerKind};
use crate::cluster::{Category, Cluster, ClusterError, WriteOptions};
use crate::format::version_range::parse_version_lenient;
use crate::k8s::managed_fields::{self, FieldOwner};
use crate::k8s::{ObjectId, diff};

/// The planned action for an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Step {
    Create,
    Configure,
    /// Deleted and created again, because a changed field is immutable.
    Recreate,
    Unchanged,
    Prune,
    /// No longer built but kept; [`PlannedPrune::reason`] says why.
    Skip,
}

/// An object of the build with its planned action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedObject {
    pub object: ObjectId,
    pub step: Step,
    /// Changed fields; empty for created objects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<FieldChange>,
    /// Whether fields of other managers are taken over first, or leftovers of other tools are removed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub takes_over: bool,
    /// Whether it cannot be compared before an earlier stage is done, because this plan creates or changes its
    /// namespace or kind.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deferred: bool,
    /// Digest of the live object for which the plan was made; missing when it did not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<String>,
    /// The manifest to apply.
    pub desired: Value,
    /// The live object for diffs, if it was read; not part of a saved plan.
    #[serde(skip)]
    pub live: Option<Value>,
    /// The server's result for diffs; not part of a saved plan.
    #[serde(skip)]
    pub result: Option<Value>,
}

impl PlannedObject {
    /// An object that cannot be compared yet, because its namespace or its kind does not exist.
    pub(super) fn not_comparable(desired: Value) -> Self {
        Decision::deferred(Step::Create, None).about(ObjectId::of(&desired), desired)
    }
}

/// An object that is no longer built.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedPrune {
    pub object: ObjectId,
    pub step: Step,
    /// Why it is kept, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub seen: String,
    /// The custom resources deleted with a definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_resources: Option<CustomResources>,
    #[serde(skip)]
    pub live: Value,
}

/// API versions that a custom resource definition stops serving.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RemovedVersions {
    pub definition: String,
    pub versions: Vec<String>,
    /// The versions among them in which objects may still be stored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stored: Vec<String>,
}

/// The instance for which a plan was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedInstance {
    pub namespace: String,
    pub name: String,
    /// Empty when the object does not exist yet.
    pub uid: String,
    pub generation: i64,
}

/// The planned changes of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    pub instance: PlannedInstance,
    /// Whether the instance is suspended, so that the plan is not carried out before a resume.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspended: bool,
    /// For example `v2.9.4`.
    pub version: String,
    /// `version@digest`.
    pub revision: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_revision: Option<String>,
    /// The newest release that is newer than `version`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newer: Option<String>,
    pub images: Vec<ComponentImage>,
    /// Digest of the distribution's artifact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<String>,
    /// In apply order.
    pub objects: Vec<PlannedObject>,
    /// In the order of deletion.
    pub prune: Vec<PlannedPrune>,
    pub removed_versions: Vec<RemovedVersions>,
    pub warnings: Vec<String>,
}

impl Plan {
    /// Whether carrying out the plan writes anything besides the status.
    pub fn has_changes(&self) -> bool {
        self.objects.iter().any(|object| object.step != Step::Unchanged) || !self.prune.is_empty()
    }

    /// Whether the plan writes objects whose definition is part of the plan. They must wait until their kind is served.
    pub(crate) fn needs_definitions(&self) -> bool {
        let defined: BTreeSet<(&str, &str)> =
            self.objects.iter().filter_map(|one| Some(defines(&one.desired)?.0)).collect();
        let is_written = |one: &&PlannedObject| one.step != Step::Unchanged;
        let mut kinds =
            self.objects.iter().filter(is_written).map(|one| (one.object.group.as_str(), one.object.kind.as_str()));
        kinds.any(|kind| defined.contains(&kind))
    }

    /// Returns the definitions whose deletion deletes custom resources.
    pub fn lost_custom_resources(&self) -> impl Iterator<Item = (&ObjectId, &CustomResources)> {
        self.prune.iter().filter_map(|one| Some((&one.object, one.custom_resources.as_ref()?)))
    }

    /// Returns the deleted objects.
    pub fn pruned(&self) -> Vec<ObjectId> {
        self.prune.iter().filter(|one| one.step == Step::Prune).map(|one| one.object.clone()).collect()
    }

    /// Returns the current and the planned version if the plan is a downgrade.
    pub fn downgrade(&self) -> Option<(String, String)> {
        let running = self.previous_revision.as_ref()?.split('@').next()?;
        let older = parse_version_lenient(&self.version)? < parse_version_lenient(running)?;
        older.then(|| (running.to_owned(), self.version.clone()))
    }

    /// Returns the number of objects with each action.
    pub fn count(&self, step: Step) -> usize {
        self.objects.iter().filter(|object| object.step == step).count()
            + self.prune.iter().filter(|prune| prune.step == step).count()
    }

    /// Returns the Deployments whose pods are replaced.
    pub fn restarts(&self) -> Vec<&ObjectId> {
        let restarts = |planned: &&PlannedObject| {
            planned.object.kind == "Deployment"
                && planned.step == Step::Configure
                && planned.changes.iter().any(|change| change.path.starts_with("spec.template"))
        };
        self.objects.iter().filter(restarts).map(|planned| &planned.object).collect()
    }
}

/// Stages of an apply; each waits until the objects of the previous one are in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ApplyStage {
    Definitions,
    Classes,
    Objects,
}

/// Returns the apply stage of an object.
pub(crate) fn stage(object: &ObjectId) -> ApplyStage {
    match object.kind.as_str() {
        "CustomResourceDefinition" | "Namespace" | "ClusterRole" => ApplyStage::Definitions,
        kind if kind.ends_with("Class") => ApplyStage::Classes,
        _ => ApplyStage::Objects,
    }
}

/// Returns a digest of a live object that changes with every change except those of its status.
pub(crate) fn fingerprint(live: &Value) -> String {
    let mut digest = Sha256::new();
    let mut add = |key: &str, value: &Value| {
        digest.update(key);
        digest.update(value.to_string());
    };
    // The order of version and kind differs between an object read alone and one from a list.
    for (key, value) in members(Some(live), &["apiVersion", "kind", "metadata", "status"]) {
        add(key, value);
    }
    // A write of the status changes both; the other managed fields follow below.
    for (key, value) in members(live.get("metadata"), &["resourceVersion", "managedFields"]) {
        add(key, value);
    }
    let entries = live.pointer("/metadata/managedFields").and_then(Value::as_array).into_iter().flatten();
    for entry in entries.filter(|entry| entry.get("subresource").is_none()) {
        add("managedFields", entry);
    }
    format!("sha256:{}", hex::encode(digest.finalize()))
}

fn members<'a>(object: Option<&'a Value>, without: &[&str]) -> impl Iterator<Item = (&'a String, &'a Value)> {
    let members = object.and_then(Value::as_object).into_iter().flatten();
    members.filter(|(key, _)| !without.contains(&key.as_str()))
}

/// The planned action for an object, before it is combined with its manifest.
pub(crate) struct Decision {
    pub step: Step,
    changes: Vec<FieldChange>,
    takes_over: bool,
    deferred: bool,
    /// `None` if the object does not exist, or if no dry run was needed and the known object is still current.
    pub live: Option<Value>,
    result: Option<Value>,
}

impl Decision {
    fn new(step: Step, live: Option<Value>) -> Self {
        Decision { step, changes: vec![], takes_over: false, deferred: false, live, result: None }
    }

    fn deferred(step: Step, live: Option<Value>) -> Self {
        Decision { deferred: true, ..Self::new(step, live) }
    }

    fn about(self, object: ObjectId, desired: Value) -> PlannedObject {
        let Decision { step, changes, takes_over, deferred, live, result } = self;
        PlannedObject { object, step, changes, takes_over, deferred, seen: None, desired, live, result }
    }
}

/// When an object is deleted and created again because a changed field is immutable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recreation {
    #[default]
    Never,
    /// If an annotation or label of the object asks for it.
    WhereAsked,
    Always,
}

impl Recreation {
    fn is_allowed(self, desired: &Value, live: &Value) -> bool {
        let asks = |object: &Value| {
            let value = |map: &str| object.get("metadata")?.get(map)?.get(FORCE_ANNOTATION)?.as_str();
            ["annotations", "labels"].into_iter().filter_map(value).any(|value| value.eq_ignore_ascii_case(ENABLED))
        };
        match self {
            Recreation::Never => false,
            Recreation::WhereAsked => asks(desired) || asks(live),
            Recreation::Always => true,
        }
    }
}

/// How manifests are compared with the cluster.
#[derive(Clone, Copy)]
pub struct Comparison<'a> {
    /// Field managers to take over besides the usual ones.
    pub extra_managers: &'a [String],
    /// Objects that need no dry run if they do not exist yet: there is nothing to compare, and their manifests are
    /// known to be valid.
    pub trusted: &'a BTreeSet<ObjectId>,
    /// Number of concurrent requests.
    pub concurrency: usize,
    pub recreation: Recreation,
}

/// Compares a manifest with the cluster.
///
/// # Errors
/// The server refuses the manifest, or does not answer.
pub(crate) async fn decide(
    cluster: &Cluster,
    desired: &Value,
    known: Option<&Value>,
    extra_managers: &[String],
    recreation: Recreation,
) -> Result<Decision, ApplyError> {
    if let Some(live) = known
        && no_change_proof::holds(desired, live, extra_managers)
    {
        return Ok(Decision::new(Step::Unchanged, None));
    }
    let object = ObjectId::of(desired);
    let failed = |source| ApplyError::new(desired, "dry-run", source);
    let result = match cluster.apply(desired, WriteOptions::forced(RECONCILER_FIELD_MANAGER).dry_run()).await {
        Err(error) if recreation != Recreation::Never && is_about_immutable_field(&error) => {
            let live = match known {
                Some(live) => Some(live.clone()),
                None => cluster.read(&object).await.map_err(failed)?,
            };
            let Some(live) = live.filter(|live| recreation.is_allowed(desired, live)) else {
                return Err(failed(error));
            };
            // Do not delete a running object if its replacement could not be created.
            cluster.would_create(desired, RECONCILER_FIELD_MANAGER).await.map_err(failed)?;
            return Ok(Decision::new(Step::Recreate, Some(live)));
        }
        result => result.map_err(failed)?,
    };
    // In the result of a dry run, only an object that exists has a resource version.
    if result.pointer("/metadata/resourceVersion").is_none() {
        return Ok(Decision { result: Some(result), ..Decision::new(Step::Create, None) });
    }
    let live = match known {
        Some(live) => Some(live.clone()),
        None => cluster.read(&object).await.map_err(failed)?,
    };
    // It was deleted between the two requests.
    let Some(live) = live else { return Ok(Decision::new(Step::Create, None)) };
    let result = takeover::without_surplus(&live, desired, &result, extra_managers);
    let changes = changes(&live, &result);
    let takes_over = takeover::takeover_patch(&live, extra_managers).is_some();
    let step = if changes.is_empty() && !takes_over { Step::Unchanged } else { Step::Configure };
    Ok(Decision { changes, takes_over, result: Some(result), ..Decision::new(step, Some(live)) })
}

/// Compares all manifests with the cluster; the result is in the order of `desired`.
///
/// # Errors
/// Every manifest that the server refuses, in apply order.
pub async fn objects(
    cluster: &Cluster,
    live_objects: &LiveObjects,
    desired: Vec<Value>,
    comparison: Comparison<'_>,
) -> Result<Vec<PlannedObject>, Vec<ApplyError>> {
    let Comparison { extra_managers, trusted, concurrency, recreation } = comparison;
    let ids: Vec<ObjectId> = desired.iter().map(ObjectId::of).collect();
    let new_namespaces: BTreeSet<&str> = ids
        .iter()
        .filter(|id| id.kind == "Namespace" && live_objects.is_absent(id))
        .map(|id| id.name.as_str())
        .collect();
    // Compare custom resources last, because the plan for their definition decides whether they can be compared.
    let custom: BTreeMap<(&str, &str), &str> = desired.iter().filter_map(defines).collect();
    let is_custom = |id: &ObjectId| custom.get(&(id.group.as_str(), id.kind.as_str())).copied();
    let mut decisions: BTreeMap<usize, Decision> = BTreeMap::new();
    let mut errors: BTreeMap<usize, ApplyError> = BTreeMap::new();
    for customs in [false, true] {
        let decided = decisions.iter().filter_map(|(index, decision)| Some((ids.get(*index)?, decision.step)));
        let changing: BTreeMap<&str, Step> = decided
            .filter(|(id, _)| id.kind == "CustomResourceDefinition")
            .map(|(id, step)| (id.name.as_str(), step))
            .collect();
        let mut jobs = vec![];
        for (index, (manifest, id)) in desired.iter().zip(&ids).enumerate() {
            if is_custom(id).is_some() != customs {
                continue;
            }
            let known = live_objects.get(id);
            let definition = is_custom(id).and_then(|name| changing.get(name)).copied();
            if trusted.contains(id) && live_objects.is_absent(id) {
                decisions.insert(index, Decision::new(Step::Create, None));
                continue;
            }
            let homeless = new_namespaces.contains(id.namespace.as_str());
            let job = async move {
                // Without its namespace or its kind, the API server would refuse the object.
                if homeless || definition == Some(Step::Create) {
                    return (index, Ok(Decision::deferred(Step::Create, None)));
                }
                let decided = decide(cluster, manifest, known, extra_managers, recreation).await;
                let decided = match decided {
                    // The old definition may refuse a field that the new one allows, so a refusal is not final. Other
                    // failures have no answer of the server.
                    Err(error) if definition == Some(Step::Configure) && error.source.answer.is_some() => {
                        let step = if known.is_some() { Step::Configure } else { Step::Create };
                        Ok(Decision::deferred(step, known.cloned()))
                    }
                    decided => decided,
                };
                (index, decided)
            };
            jobs.push(job.boxed());
        }
        let results: Vec<(usize, Result<Decision, ApplyError>)> =
            futures::stream::iter(jobs).buffer_unordered(concurrency.max(1)).collect().await;
        for (index, result) in results {
            match result {
                Ok(decision) => drop(decisions.insert(index, decision)),
                Err(error) => drop(errors.insert(index, error)),
            }
        }
    }
    if !errors.is_empty() {
        return Err(errors.into_values().collect());
    }
    let about = |((id, manifest), decision): ((ObjectId, Value), Decision)| decision.about(id, manifest);
    Ok(ids.into_iter().zip(desired).zip(decisions.into_values()).map(about).collect())
}

/// Whether the API server refuses a manifest because a field of the live object is immutable. Other refusals are about
/// the manifest itself, and creating the object again would not help.
fn is_about_immutable_field(error: &ClusterError) -> bool {
    let message = error.answer.as_ref().map(|answer| answer.message.as_str()).unwrap_or_default();
    ["is immutable", "immutable field", "may not be changed", "updates to statefulset spec for fields other than"]
        .iter()
        .any(|words| message.contains(words))
}

/// Returns group and kind that a custom resource definition defines, with its name.
fn defines(object: &Value) -> Option<((&str, &str), &str)> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    (text("/kind")? == "CustomResourceDefinition").then_some(())?;
    Some(((text("/spec/group")?, text("/spec/names/kind")?), text("/metadata/name")?))
}

/// Plans the deletion of inventory objects that are no longer built, given in the order of deletion.
pub async fn prune(
    cluster: &Cluster,
    live_objects: &mut LiveObjects,
    stale: Vec<ObjectId>,
    owner: &InventoryOwner,
) -> Result<Vec<PlannedPrune>, ClusterError> {
    let mut planned = vec![];
    for id in stale {
        let id = live_objects.stored_version(&id);
        // An object that does not exist needs no pruning.
        let Some(live) = live_objects.find(cluster, &id).await? else { continue };
        let reason = owner.protection(&live);
        let step = if reason.is_some() { Step::Skip } else { Step::Prune };
        planned.push(PlannedPrune { object: id, step, reason, seen: fingerprint(&live), custom_resources: None, live });
    }
    if planned.iter().any(takes_custom_resources) {
        let elsewhere = match owner.kind {
            OwnerKind::FluxInstance => ownership::definitions_of_others(cluster, &owner.id()).await?,
            // A ResourceSet may run with a service account that must not list instances. The labels of a definition
            // already show its owner.
            OwnerKind::ResourceSet => BTreeMap::new(),
        };
        for one in planned.iter_mut().filter(|one| takes_custom_resources(one)) {
            match elsewhere.get(&one.object.name) {
                Some(other) => {
                    (one.step, one.reason) = (Step::Skip, Some(format!("it is also in the inventory of {other}")))
                }
                None => match count_custom_resources(cluster, &one.live).await {
                    // A service account may have the right to delete a definition but not to list its objects. Their
                    // number is only information for the user.
                    Err(error) if owner.kind == OwnerKind::ResourceSet && error.category() == Category::Denied => {}
                    counted => one.custom_resources = counted?,
                },
            }
        }
    }
    Ok(planned)
}

fn takes_custom_resources(one: &PlannedPrune) -> bool {
    one.step == Step::Prune && one.object.kind == "CustomResourceDefinition"
}

/// Finds an object that must be kept although the definition of its kind is pruned; returns both.
pub(crate) fn needed_definition<'a>(
    objects: &'a [PlannedObject],
    prune: &'a [PlannedPrune],
) -> Option<(&'a ObjectId, &'a ObjectId)> {
    let goes = |object: &ObjectId| {
        let is_its = |one: &&PlannedPrune| {
            one.step == Step::Prune
                && defines(&one.live).is_some_and(|(kind, _)| kind == (object.group.as_str(), object.kind.as_str()))
        };
        prune.iter().find(is_its).map(|one| &one.object)
    };
    objects.iter().find_map(|one| Some((&one.object, goes(&one.object)?)))
}

/// Returns the API versions that changed definitions stop serving.
pub(crate) fn removed_versions(objects: &[PlannedObject]) -> Vec<RemovedVersions> {
    let served = |crd: &Value| -> Vec<String> {
        let versions = crd.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten();
        let served = versions.filter(|version| version.get("served") == Some(&Value::Bool(true)));
        served.filter_map(|version| version.get("name")?.as_str().map(str::to_owned)).collect()
    };
    let definitions =
        objects.iter().filter(|one| one.object.kind == "CustomResourceDefinition" && one.step == Step::Configure);
    definitions
        .filter_map(|one| {
            let live = one.live.as_ref()?;
            let kept = served(&one.desired);
            let versions: Vec<String> = served(live).into_iter().filter(|version| !kept.contains(version)).collect();
            let stored = live.pointer("/status/storedVersions").and_then(Value::as_array).into_iter().flatten();
            let stored = stored.filter_map(Value::as_str).filter(|version| versions.iter().any(|gone| gone == version));
            let stored = stored.map(str::to_owned).collect();
            (!versions.is_empty()).then(|| RemovedVersions { definition: one.object.name.clone(), versions, stored })
        })
        .collect()
}

/// Returns the objects that differ from the state for which a saved plan was made; empty if nothing changed.
pub(crate) async fn objects_changed_since_plan(
    cluster: &Cluster,
    live_objects: &mut LiveObjects,
    plan: &Plan,
) -> Result<Vec<ObjectId>, ClusterError> {
    let mut moved = vec![];
    let objects = plan.objects.iter().map(|one| (&one.object, one.seen.as_ref()));
    let pruned = plan.prune.iter().map(|one| (&one.object, Some(&one.seen)));
    for (id, seen) in objects.chain(pruned) {
        let now = live_objects.find(cluster, id).await?.as_ref().map(fingerprint);
        if now.as_ref() != seen {
            moved.push(id.clone());
        }
    }
    // A definition can stay the same while the number of its objects grows.
    for one in plan.prune.iter().filter(|one| takes_custom_resources(one)) {
        if moved.contains(&one.object) {
            continue;
        }
        let Some(definition) = live_objects.find(cluster, &one.object).await? else { continue };
        let count = |lost: Option<&CustomResources>| lost.map_or(0, |lost| lost.count);
        // A smaller loss than the accepted one needs no new consent.
        if count(count_custom_resources(cluster, &definition).await?.as_ref()) > count(one.custom_resources.as_ref()) {
            moved.push(one.object.clone());
        }
    }
    Ok(moved)
}

/// Returns the ids of `old` that `built` lacks, in the order of deletion.
pub(crate) fn stale(old: &[ObjectId], built: &BTreeSet<ObjectId>) -> Vec<ObjectId> {
    let mut stale: Vec<ObjectId> = old.iter().filter(|id| !built.contains(id)).cloned().collect();
    stale.sort_by(|left, right| order(right).cmp(&order(left)));
    stale.dedup();
    stale
}

/// Returns the place of an object in the order in which objects are applied.
pub(super) fn order(id: &ObjectId) -> crate::build::order::SortKey<'_> {
    crate::build::order::SortKey::new(&id.group, &id.kind, &id.namespace, &id.name)
}

/// A field that would change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FieldChange {
    /// For example `spec.template.spec.containers[name=manager].args`.
    pub path: String,
    /// Missing when the field is added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Value>,
    /// Missing when the field is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Value>,
    /// The manager that set the live value, if it was not us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<FieldOwner>,
}

impl fmt::Display for FieldChange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.path)
    }
}

/// Returns the fields in which a dry run's result differs from the live object, with their managers.
pub fn changes(live: &Value, result: &Value) -> Vec<FieldChange> {
    let (from, to) = (diff::comparable(live), diff::comparable(result));
    let change = |one: diff::Difference| FieldChange {
        path: diff::path_text(if one.from.is_some() { &from } else { &to }, &one.path),
        from: one.from.cloned(),
        to: one.to.cloned(),
        owner: managed_fields::owner(live, &one.path, RECONCILER_FIELD_MANAGER),
    };
    diff::differences(&from, &to).into_iter().map(change).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_change_names_the_manager_that_set_the_live_value_and_when() {
        let live = json!({"spec": {"replicas": 3}, "metadata": {"managedFields": [
            {"manager": "hpa", "operation": "Update", "time": "2026-01-02T00:00:00Z", "fieldsV1": {"f:spec": {"f:replicas": {}}}}]}});
        let wanted = json!({"spec": {"replicas": 1}, "metadata": {}});
        let owner = changes(&live, &wanted).remove(0).owner.unwrap();
        assert_eq!(
            (owner.manager.as_str(), owner.operation.as_str(), owner.time.as_str()),
            ("hpa", "Update", "2026-01-02T00:00:00Z")
        );
    }
}
