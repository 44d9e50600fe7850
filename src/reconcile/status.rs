//! Writes the status of the reconciled object: one merge patch per step, with exactly the changed fields.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::{Map, Value, json};
use tokio::sync::Mutex;

use super::outcome::ReconcileError;
use super::stored;
use crate::api::conditions::{self, ConditionStatus, ConditionTime};
use crate::api::history::{self, Attempt};
use crate::api::well_known::{
    FORCE_AT_ANNOTATION, RECONCILER_FIELD_MANAGER, REQUESTED_AT_ANNOTATION, condition, reason,
};
use crate::api::{FluxInstance, Reconciled, RunStatus, inventory};
use crate::cluster::Cluster;
use crate::k8s::{ObjectId, fields};

/// The Ready message during a run.
pub(crate) const IN_PROGRESS: &str = "Reconciliation in progress";

/// The status of the object of a run: as it is stored, and as the next write stores it.
pub(crate) struct StatusWriter<K: Reconciled = FluxInstance> {
    id: ObjectId,
    uid: Option<String>,
    /// Resource version of the last read or write; it guards every write.
    version: Option<String>,
    generation: Option<i64>,
    requested_at: Option<String>,
    /// Whether the object is being deleted, as seen after it was opened. Its finalizers keep it.
    is_leaving: bool,
    stored: Value,
    pub status: K::Status,
}

impl<K: Reconciled> StatusWriter<K> {
    /// Opens the status of an object as it was read. The request and the generation are those of that read. The next
    /// run handles later ones.
    pub(crate) fn open(object: &K) -> Self {
        let status = object.status().cloned().unwrap_or_default();
        let metadata = object.meta();
        StatusWriter {
            id: object.id(),
            uid: metadata.uid.clone(),
            version: metadata.resource_version.clone(),
            generation: metadata.generation,
            requested_at: object.annotation(REQUESTED_AT_ANNOTATION).map(str::to_owned),
            is_leaving: false,
            stored: json_of(&status),
            status,
        }
    }

    fn moment(&self) -> ConditionTime {
        ConditionTime { now: Timestamp::now(), generation: self.generation }
    }

    /// Marks progress: Reconciling has the stage's message. Ready has a fixed one, so that its time does not change
    /// with every stage.
    pub(crate) fn progressing(&mut self, stage: &str) {
        let moment = self.moment();
        let conditions = self.status.conditions();
        conditions::mark_reconciling(conditions, reason::PROGRESSING, IN_PROGRESS, moment);
        conditions::set(conditions, condition::RECONCILING, ConditionStatus::True, reason::PROGRESSING, stage, moment);
    }

    /// Marks a failure that will be retried.
    pub(crate) fn failed(&mut self, reason: &str, message: &str) {
        let moment = self.moment();
        let conditions = self.status.conditions();
        conditions::remove(conditions, condition::STALLED);
        conditions::set(
            conditions,
            condition::RECONCILING,
            ConditionStatus::True,
            reason::PROGRESSING_WITH_RETRY,
            IN_PROGRESS,
            moment,
        );
        conditions::mark_failed(conditions, reason, message.trim_end(), moment);
    }

    /// Marks a failure that only a change of the spec can fix.
    pub(crate) fn stalled(&mut self, reason: &str, message: &str) {
        let moment = self.moment();
        conditions::mark_stalled(self.status.conditions(), reason, message.trim_end(), moment);
    }

    /// Marks success.
    pub(crate) fn ready(&mut self, message: &str) {
        self.ready_because(reason::RECONCILIATION_SUCCEEDED, message);
    }

    /// Marks the object as ready for another reason than a successful run.
    pub(crate) fn ready_because(&mut self, reason: &str, message: &str) {
        let moment = self.moment();
        conditions::mark_ready(self.status.conditions(), reason, message, moment);
    }

    /// Marks a new instance that is suspended.
    pub(crate) fn initialized_suspended(&mut self) {
        self.ready_because(reason::RECONCILIATION_DISABLED, "Initialized with reconciliation suspended");
    }

    /// Records that the request at the time of the read was handled.
    pub(crate) fn handle_request(&mut self) {
        if let Some(token) = &self.requested_at {
            *self.status.last_handled_reconcile_at() = Some(token.clone());
        }
    }

    /// Adds the end of a run at the top of the history, with metadata about the reconciled revision.
    pub(crate) fn record(
        &mut self,
        digest: String,
        metadata: Option<BTreeMap<String, String>>,
        duration: std::time::Duration,
    ) {
        let ready = conditions::get(self.status.conditions(), condition::READY);
        let attempt = Attempt {
            digest,
            status: ready.map_or_else(String::new, |ready| ready.reason.clone()),
            duration: SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX),
            metadata,
        };
        // The API stores whole seconds.
        let now = Timestamp::now();
        let now = Timestamp::from_second(now.as_second()).unwrap_or(now);
        if let Some(kept) = self.status.history() {
            history::record(kept, attempt, now);
        }
    }

    /// Writes the changes since the last write, if there are any.
    ///
    /// The resource version guards the write. If someone changed the object in between, it is read again and their
    /// changes are kept.
    ///
    /// # Errors
    /// The instance was deleted or replaced, its definition has no status, or the API server does not answer.
    pub(crate) async fn write(&mut self, cluster: &Cluster) -> Result<(), ReconcileError> {
        let id = &self.id.clone();
        // The closure runs again after each conflict and changes the writer every time, so the mutex lends it out.
        let writer = &Mutex::new(&mut *self);
        let write = |changed: Option<Value>| async move {
            let mut writer = writer.lock().await;
            if let Some(live) = changed
                && let Err(error) = writer.take_in(live)
            {
                return Ok(Err(error));
            }
            let wanted = json_of(&writer.status);
            if let Some(patch) = merge_diff(&writer.stored, &wanted) {
                let patch = json!({"metadata": {"resourceVersion": writer.version}, "status": patch});
                let written = cluster.merge_patch(id, Some("status"), &patch, RECONCILER_FIELD_MANAGER).await?;
                writer.stored = wanted;
                writer.version = fields::resource_version(&written);
            }
            Ok(Ok(()))
        };
        match cluster.retry_on_conflict(id, None, write).await {
            Ok(Some(written)) => written,
            Err(error) if !error.is_api_missing() => Err(error.into()),
            // The object itself may still exist.
            Ok(None) | Err(_) => {
                self.read_again(cluster).await?;
                Err(ReconcileError::StatusNotServed { instance: id.clone() })
            }
        }
    }

    /// Adds a finalizer and keeps those of others.
    ///
    /// # Errors
    /// As [`StatusWriter::write`].
    pub(crate) async fn add_finalizer(&mut self, cluster: &Cluster, name: &str) -> Result<(), ReconcileError> {
        let live = self.read(cluster).await?;
        let id = &self.id;
        let add = |live: Value| async move {
            let there = live.pointer("/metadata/finalizers").and_then(Value::as_array).cloned().unwrap_or_default();
            if there.iter().any(|finalizer| finalizer == name) || fields::is_being_deleted(&live) {
                return Ok(());
            }
            let all: Vec<Value> = there.into_iter().chain([name.into()]).collect();
            let version = fields::resource_version(&live);
            let patch = json!({"metadata": {"finalizers": all, "resourceVersion": version}});
            cluster.merge_patch(id, None, &patch, RECONCILER_FIELD_MANAGER).await.map(drop)
        };
        cluster.retry_on_conflict(id, live, add).await?;
        // The new finalizer changes the resource version, which guards the next write of the status.
        self.read_again(cluster).await
    }

    /// Refuses to continue if the last write showed that the instance is being deleted.
    ///
    /// # Errors
    /// [`ReconcileError::BeingDeleted`].
    pub(crate) fn refuse_if_being_deleted(&self) -> Result<(), ReconcileError> {
        match self.is_leaving {
            true => Err(ReconcileError::BeingDeleted { instance: self.id.clone() }),
            false => Ok(()),
        }
    }

    async fn read(&self, cluster: &Cluster) -> Result<Value, ReconcileError> {
        let gone = || ReconcileError::InstanceGone { instance: self.id.clone() };
        cluster.read(&self.id).await?.ok_or_else(gone)
    }

    /// Reads the object again after someone changed it.
    async fn read_again(&mut self, cluster: &Cluster) -> Result<(), ReconcileError> {
        let live = self.read(cluster).await?;
        self.take_in(live)
    }

    /// Merges changes of others.
    fn take_in(&mut self, live: Value) -> Result<(), ReconcileError> {
        let version = fields::resource_version(&live);
        let live: K = stored::parsed(&self.id, live)?;
        if self.uid.is_some() && live.meta().uid != self.uid {
            return Err(ReconcileError::InstanceReplaced { instance: self.id.clone() });
        }
        self.version = version;
        self.is_leaving = live.meta().deletion_timestamp.is_some();
        let theirs = live.status().cloned().unwrap_or_default();
        let stored = json_of(&theirs);
        // A status equal to ours is our own write whose answer was lost, not a change of others.
        if stored != self.stored && stored != json_of(&self.status) {
            let known: K::Status = serde_json::from_value(self.stored.clone()).unwrap_or_default();
            self.keep_theirs(known, theirs);
            self.stored = stored;
        }
        Ok(())
    }

    /// Keeps the changes of others that the run does not control: conditions of other types, tokens that another
    /// process has handled, and entries of the inventory. The run writes the rest of the status.
    fn keep_theirs(&mut self, mut known: K::Status, mut theirs: K::Status) {
        let ours = &mut self.status;
        if let (Some(known), Some(theirs), Some(ours)) = (known.inventory(), theirs.inventory(), ours.inventory())
            && theirs != known
            && let Some(added) = theirs.take()
        {
            let entries = ours.take().unwrap_or_default();
            *ours = Some(inventory::merge(entries, &added.entries));
        }
        let is_ours = |one: &Condition| condition::OURS.contains(&one.type_.as_str());
        ours.conditions().retain(is_ours);
        ours.conditions().extend(theirs.conditions().drain(..).filter(|one| !is_ours(one)));
        let keep = |known: &Option<String>, theirs: &Option<String>, ours: &mut Option<String>| {
            if ours == known {
                ours.clone_from(theirs);
            }
        };
        keep(known.last_handled_reconcile_at(), theirs.last_handled_reconcile_at(), ours.last_handled_reconcile_at());
        if let (Some(known), Some(theirs), Some(ours)) =
            (known.last_handled_force_at(), theirs.last_handled_force_at(), ours.last_handled_force_at())
        {
            keep(known, theirs, ours);
        }
    }
}

impl StatusWriter {
    /// Records whether a newer version of Flux is known that `range` does not allow. `range` is
    /// `spec.distribution.version`.
    pub(crate) fn up_to_date(&mut self, version: &str, newer: Option<&str>, range: &str) {
        let (status, reason, message) = match newer {
            None => {
                (ConditionStatus::True, reason::UP_TO_DATE, format!("Flux {version} is the latest version known here"))
            }
            Some(newer) => (
                ConditionStatus::False,
                reason::NEW_VERSION_AVAILABLE,
                format!("Flux {newer} is available, and spec.distribution.version {range} does not allow it"),
            ),
        };
        let moment = self.moment();
        conditions::set(self.status.conditions(), condition::UP_TO_DATE, status, reason, &message, moment);
    }
}

/// Whether an object asks for a forced run that is not complete yet.
///
/// The request is a pair of equal tokens; a failed run leaves it in place.
pub(crate) fn is_forced<K: Reconciled>(object: &K) -> bool {
    let Some(forced) = object.annotation(FORCE_AT_ANNOTATION).filter(|token| !token.is_empty()) else { return false };
    let mut status = object.status().cloned().unwrap_or_default();
    let handled = status.last_handled_force_at().and_then(|handled| handled.as_deref());
    object.annotation(REQUESTED_AT_ANNOTATION) == Some(forced) && handled != Some(forced)
}

fn json_of(status: &impl serde::Serialize) -> Value {
    // The type holds text, numbers, times and lists only, which always have a JSON form.
    serde_json::to_value(status).unwrap_or_default()
}

/// Returns the merge patch (RFC 7386) that turns `from` into `to`, or `None` when they are equal.
pub fn merge_diff(from: &Value, to: &Value) -> Option<Value> {
    if from == to {
        return None;
    }
    let (Some(left), Some(right)) = (from.as_object(), to.as_object()) else { return Some(to.clone()) };
    let mut patch = Map::new();
    for (key, value) in right {
        let change = match left.get(key) {
            Some(before) => merge_diff(before, value),
            None => Some(value.clone()),
        };
        if let Some(change) = change {
            patch.insert(key.clone(), change);
        }
    }
    for key in left.keys().filter(|key| !right.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    Some(Value::Object(patch))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::FluxInstanceStatus;

    fn instance(annotations: &[(&str, &str)], handled_force: Option<&str>) -> FluxInstance {
        let mut instance = FluxInstance::new("flux", Default::default());
        instance.metadata.generation = Some(4);
        instance.metadata.annotations =
            Some(annotations.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect());
        instance.status =
            Some(FluxInstanceStatus { last_handled_force_at: handled_force.map(str::to_owned), ..Default::default() });
        instance
    }

    #[test]
    fn a_merge_patch_holds_exactly_what_changed() {
        let from = json!({"a": 1, "b": {"c": 1, "d": 2}, "e": [1, 2]});
        let to = json!({"a": 1, "b": {"c": 3}, "e": [2], "f": "x"});
        assert_eq!(merge_diff(&from, &to), Some(json!({"b": {"c": 3, "d": null}, "e": [2], "f": "x"})));
        assert_eq!(merge_diff(&from, &from), None);
    }

    #[test]
    fn a_forced_request_is_kept_until_a_run_completes_it() {
        let (requested, forced) = (REQUESTED_AT_ANNOTATION, FORCE_AT_ANNOTATION);
        assert!(is_forced(&instance(&[(requested, "1"), (forced, "1")], None)));
        assert!(is_forced(&instance(&[(requested, "1"), (forced, "1")], Some("0"))));
        assert!(!is_forced(&instance(&[(requested, "1"), (forced, "1")], Some("1"))));
        assert!(!is_forced(&instance(&[(requested, "2"), (forced, "1")], None)));
        assert!(!is_forced(&instance(&[(requested, "1")], None)));
    }

    #[test]
    fn a_stage_changes_the_message_of_reconciling_only() {
        let mut book = StatusWriter::open(&instance(&[], None));
        book.progressing(IN_PROGRESS);
        book.progressing("Applying objects");
        let conditions = &book.status.conditions;
        assert_eq!(conditions::get(conditions, "Reconciling").unwrap().message, "Applying objects");
        assert_eq!(conditions::get(conditions, "Ready").unwrap().message, IN_PROGRESS);
        assert_eq!(conditions::get(conditions, "Ready").unwrap().observed_generation, Some(4));
    }

    #[test]
    fn a_failure_waits_for_its_retry_and_drops_an_old_stall() {
        let mut book = StatusWriter::open(&instance(&[], None));
        book.stalled(reason::BUILD_FAILED, "build failed: x\n");
        assert_eq!(conditions::get(&book.status.conditions, "Stalled").unwrap().message, "build failed: x");
        book.failed(reason::RECONCILIATION_FAILED, "reconciliation failed: y");
        let shown: Vec<_> =
            book.status.conditions.iter().map(|c| (c.type_.as_str(), c.status.as_str(), c.reason.as_str())).collect();
        assert_eq!(
            shown,
            [("Reconciling", "True", "ProgressingWithRetry"), ("Ready", "False", "ReconciliationFailed")]
        );
    }
}
