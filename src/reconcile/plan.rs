//! What a run would do, as a value: printed by `plan`, saved to a file, carried out by `apply` and the controller.

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
use crate::api::ComponentImage;
use crate::api::takeover;
use crate::api::well_known::{DISABLED, OWNER_NAME_LABEL, OWNER_NAMESPACE_LABEL, PRUNE, RECONCILER_FIELD_MANAGER};
use crate::cluster::{Cluster, ClusterError, WriteOptions};
use crate::format::version_range::parse_version_lenient;
use crate::k8s::managed_fields::{self, FieldOwner};
use crate::k8s::{ObjectId, diff};

/// What is to happen to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Step {
    Create,
    Configure,
    Unchanged,
    Prune,
    /// It would be pruned, but something protects it.
    Skip,
}

/// One object of the build and what is to happen to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedObject {
    pub object: ObjectId,
    pub step: Step,
    /// Fields that change; empty for objects that are created.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<FieldChange>,
    /// Managers whose fields are taken over first, or leftovers of other tools are removed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub takes_over: bool,
    /// It cannot be compared before an earlier stage is done: its namespace or its kind is created or changed by this plan.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deferred: bool,
    /// Digest of the live object that a plan to look at was made from; absent when there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<String>,
    /// The manifest that is applied.
    pub desired: Value,
    /// The live object, for diffs, where the server was asked about it; not part of a saved plan.
    #[serde(skip)]
    pub live: Option<Value>,
    /// What the server would make of it, for diffs; not part of a saved plan.
    #[serde(skip)]
    pub result: Option<Value>,
}

/// One object that is no longer built.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedPrune {
    pub object: ObjectId,
    pub step: Step,
    /// Why it stays, when it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub seen: String,
    /// What goes away with a definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_resources: Option<CustomResources>,
    #[serde(skip)]
    pub live: Value,
}

/// API versions a custom resource definition stops serving.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RemovedVersions {
    pub definition: String,
    pub versions: Vec<String>,
    /// Those of them in which objects may still be stored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stored: Vec<String>,
}

/// The instance a plan was made for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedInstance {
    pub namespace: String,
    pub name: String,
    /// Empty when the object is not in the cluster yet.
    pub uid: String,
    pub generation: i64,
}

/// What a run would do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    pub instance: PlannedInstance,
    /// Nothing of it happens before the instance is resumed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspended: bool,
    /// For example `v2.9.4`.
    pub version: String,
    /// `version@digest`.
    pub revision: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_revision: Option<String>,
    /// The newest version, when `version` is not it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newer: Option<String>,
    pub images: Vec<ComponentImage>,
    /// Digest of the artifact that the distribution came from.
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
    /// Reports whether carrying the plan out would write anything but the status.
    pub fn has_changes(&self) -> bool {
        self.objects.iter().any(|object| object.step != Step::Unchanged) || !self.prune.is_empty()
    }

    /// Reports whether objects are written whose kind this plan defines: these can only be written once it is served.
    pub fn needs_definitions(&self) -> bool {
        let defined: BTreeSet<(&str, &str)> =
            self.objects.iter().filter_map(|one| Some(defines(&one.desired)?.0)).collect();
        let is_written = |one: &&PlannedObject| one.step != Step::Unchanged;
        let mut kinds =
            self.objects.iter().filter(is_written).map(|one| (one.object.group.as_str(), one.object.kind.as_str()));
        kinds.any(|kind| defined.contains(&kind))
    }

    /// Returns the definitions that take custom resources with them.
    pub fn lost_custom_resources(&self) -> impl Iterator<Item = (&ObjectId, &CustomResources)> {
        self.prune.iter().filter_map(|one| Some((&one.object, one.custom_resources.as_ref()?)))
    }

    /// Returns what is deleted.
    pub fn pruned(&self) -> Vec<ObjectId> {
        self.prune.iter().filter(|one| one.step == Step::Prune).map(|one| one.object.clone()).collect()
    }

    /// The version that runs and the older one that would, when it is older.
    pub fn downgrade(&self) -> Option<(String, String)> {
        let running = self.previous_revision.as_ref()?.split('@').next()?;
        let older = parse_version_lenient(&self.version)? < parse_version_lenient(running)?;
        older.then(|| (running.to_owned(), self.version.clone()))
    }

    /// Returns how many objects get each step.
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

/// Stages of an apply; each waits until the one before is in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ApplyStage {
    Definitions,
    Classes,
    Objects,
}

/// Returns the stage an object is applied in.
pub fn stage(object: &ObjectId) -> ApplyStage {
    match object.kind.as_str() {
        "CustomResourceDefinition" | "Namespace" | "ClusterRole" => ApplyStage::Definitions,
        kind if kind.ends_with("Class") => ApplyStage::Classes,
        _ => ApplyStage::Objects,
    }
}

/// Returns a digest of a live object that changes whenever somebody changes the object, but not with its status.
pub fn fingerprint(live: &Value) -> String {
    let mut digest = Sha256::new();
    let mut add = |key: &str, value: &Value| {
        digest.update(key);
        digest.update(value.to_string());
    };
    // Read alone or in a list, the same object has its version and kind in another order.
    for (key, value) in members(Some(live), &["apiVersion", "kind", "metadata", "status"]) {
        add(key, value);
    }
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

/// What is to happen to an object, before it is put beside its manifest.
pub struct Decision {
    pub step: Step,
    changes: Vec<FieldChange>,
    takes_over: bool,
    deferred: bool,
    /// Absent where the server was not asked: then the object stays as it is known.
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

/// Compares one manifest with the cluster.
///
/// # Errors
/// The server refuses the manifest, or cannot be asked.
pub async fn decide(
    cluster: &Cluster,
    desired: &Value,
    known: Option<&Value>,
    extra_managers: &[String],
) -> Result<Decision, ApplyError> {
    if let Some(live) = known
        && no_change_proof::holds(desired, live, extra_managers)
    {
        return Ok(Decision::new(Step::Unchanged, None));
    }
    let object = ObjectId::of(desired);
    let failed = |source| ApplyError { object: object.clone(), phase: "dry-run", source };
    let result =
        cluster.apply(desired, WriteOptions::forced(RECONCILER_FIELD_MANAGER).dry_run()).await.map_err(failed)?;
    if result.pointer("/metadata/resourceVersion").is_none() {
        return Ok(Decision { result: Some(result), ..Decision::new(Step::Create, None) });
    }
    let live = match known {
        Some(live) => Some(live.clone()),
        None => cluster.read(&object).await.map_err(failed)?,
    };
    // Deleted between the two calls.
    let Some(live) = live else { return Ok(Decision::new(Step::Create, None)) };
    let result = takeover::without_surplus(&live, desired, &result, extra_managers);
    let changes = changes(&live, &result);
    let takes_over = takeover::takeover_patch(&live, extra_managers).is_some();
    let step = if changes.is_empty() && !takes_over { Step::Unchanged } else { Step::Configure };
    Ok(Decision { changes, takes_over, result: Some(result), ..Decision::new(step, Some(live)) })
}

/// Compares all manifests with the cluster, `concurrency` at a time; the result is in the order of `desired`.
///
/// `trusted` objects need no dry run where they do not exist yet: there is nothing to compare, and their manifests are
/// known to be valid.
///
/// # Errors
/// Every manifest the server refuses, in apply order.
pub async fn objects(
    cluster: &Cluster,
    live_objects: &LiveObjects,
    desired: Vec<Value>,
    extra_managers: &[String],
    trusted: &BTreeSet<ObjectId>,
    concurrency: usize,
) -> Result<Vec<PlannedObject>, Vec<ApplyError>> {
    let ids: Vec<ObjectId> = desired.iter().map(ObjectId::of).collect();
    let new_namespaces: BTreeSet<&str> = ids
        .iter()
        .filter(|id| id.kind == "Namespace" && live_objects.is_absent(id))
        .map(|id| id.name.as_str())
        .collect();
    // Custom resources are compared last: what happens to their definition decides whether they can be.
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
                if homeless || definition == Some(Step::Create) {
                    return (index, Ok(Decision::deferred(Step::Create, None)));
                }
                let decided = decide(cluster, manifest, known, extra_managers).await;
                let decided = match decided {
                    // The old definition need not know what the new one allows.
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

/// Returns group and kind of what a custom resource definition defines, with its name.
fn defines(object: &Value) -> Option<((&str, &str), &str)> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    (text("/kind")? == "CustomResourceDefinition").then_some(())?;
    Some(((text("/spec/group")?, text("/spec/names/kind")?), text("/metadata/name")?))
}

/// Decides what happens to the objects of the inventory that are no longer built, given in the order of deletion.
pub async fn prune(
    cluster: &Cluster,
    live_objects: &mut LiveObjects,
    stale: Vec<ObjectId>,
    instance: &ObjectId,
) -> Result<Vec<PlannedPrune>, ClusterError> {
    let owner = (instance.name.as_str(), instance.namespace.as_str());
    let mut planned = vec![];
    for id in stale {
        let id = live_objects.stored_version(&id);
        // What is gone needs no pruning.
        let Some(live) = live_objects.find(cluster, &id).await? else { continue };
        let reason = protection(&live, owner);
        let step = if reason.is_some() { Step::Skip } else { Step::Prune };
        planned.push(PlannedPrune { object: id, step, reason, seen: fingerprint(&live), custom_resources: None, live });
    }
    if planned.iter().any(takes_custom_resources) {
        let elsewhere = ownership::definitions_of_others(cluster, instance).await?;
        for one in planned.iter_mut().filter(|one| takes_custom_resources(one)) {
            match elsewhere.get(&one.object.name) {
                Some(other) => (one.step, one.reason) = (Step::Skip, Some(format!("{other} lists it as well"))),
                None => one.custom_resources = count_custom_resources(cluster, &one.live).await?,
            }
        }
    }
    Ok(planned)
}

fn takes_custom_resources(one: &PlannedPrune) -> bool {
    one.step == Step::Prune && one.object.kind == "CustomResourceDefinition"
}

/// Finds an object that is to stay although the definition of its kind is pruned; returned with the definition.
pub fn needed_definition<'a>(
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

/// Returns why an object must not be deleted by the instance `owner` (name, namespace), or `None` when it may.
pub fn protection(live: &Value, (name, namespace): (&str, &str)) -> Option<String> {
    if live.get("kind").is_some_and(|kind| kind == "Namespace") {
        return Some("a namespace may hold what is not Flux's".to_owned());
    }
    let value = |map: &str, key: &str| live.get("metadata")?.get(map)?.get(key)?.as_str().map(str::to_owned);
    for (label, wanted) in [(OWNER_NAME_LABEL, name), (OWNER_NAMESPACE_LABEL, namespace)] {
        if value("labels", label).as_deref() != Some(wanted) {
            return Some(format!("its label {label} is not {wanted}"));
        }
    }
    for map in ["labels", "annotations"] {
        if value(map, PRUNE).is_some_and(|value| value.eq_ignore_ascii_case(DISABLED)) {
            return Some(format!("{PRUNE} is {DISABLED}"));
        }
    }
    None
}

/// Returns the API versions that changed definitions stop serving.
pub fn removed_versions(objects: &[PlannedObject]) -> Vec<RemovedVersions> {
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

/// Returns the objects that differ from what a saved plan was made from; empty when the cluster has not moved.
pub async fn moved(
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
    // A definition stands still while what goes away with it grows.
    for one in plan.prune.iter().filter(|one| takes_custom_resources(one)) {
        if moved.contains(&one.object) {
            continue;
        }
        let Some(definition) = live_objects.find(cluster, &one.object).await? else { continue };
        let count = |lost: Option<&CustomResources>| lost.map_or(0, |lost| lost.count);
        if count(count_custom_resources(cluster, &definition).await?.as_ref()) > count(one.custom_resources.as_ref()) {
            moved.push(one.object.clone());
        }
    }
    Ok(moved)
}

/// Returns the ids of `old` that `built` lacks, in the order of deletion.
pub fn stale(old: &[ObjectId], built: &BTreeSet<ObjectId>) -> Vec<ObjectId> {
    let mut stale: Vec<ObjectId> = old.iter().filter(|id| !built.contains(id)).cloned().collect();
    stale.sort_by(|left, right| order(right).cmp(&order(left)));
    stale.dedup();
    stale
}

fn order(id: &ObjectId) -> crate::build::order::SortKey<'_> {
    crate::build::order::SortKey::new(&id.group, &id.kind, &id.namespace, &id.name)
}

/// One field that would change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FieldChange {
    /// Written like `spec.template.spec.containers[name=manager].args`.
    pub path: String,
    /// Absent: the field is added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Value>,
    /// Absent: the field is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Value>,
    /// Who set the live value, when it was not us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<FieldOwner>,
}

impl fmt::Display for FieldChange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.path)
    }
}

/// Returns the fields in which the result of a dry run differs from the live object, with those who set them.
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
