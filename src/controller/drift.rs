//! Detects changes that others make to the instance's objects, as soon as they happen.
//!
//! Only metadata of objects in the inventory is followed. A change is foreign if another manager took fields from the
//! operator, or if the next run takes over the fields of its manager anyway. Fields that other controllers add are
//! ignored.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;

use super::{Channels, QueuedRun, SharedState, until};
use crate::api::takeover;
use crate::api::well_known::{INSTANCE_NAME, reason};
use crate::api::{FluxInstance, InventoryOwner, OwnerKind};
use crate::cluster::events::Event;
use crate::cluster::watch::{FollowedChange, Follower};
use crate::cluster::{Cluster, ListOptions};
use crate::k8s::{ObjectId, ResourceType, fields, managed_fields};
use crate::reconcile::announce::Announcer;

/// After this many corrections within [`CONTEST_WINDOW`] an object is contested, and correcting it at once would not
/// help.
const CONTESTED_AFTER: usize = 5;
const CONTEST_WINDOW: Duration = Duration::from_secs(10 * 60);
/// Minimum time between two reports of the same change.
const SILENCE: Duration = Duration::from_secs(60);
/// Time after a run until the watch has delivered the new inventory.
const SETTLING: Duration = Duration::from_millis(500);
/// Number of fields named in an event.
const NAMED_FIELDS: usize = 3;

/// The current instance.
#[derive(Clone, Default)]
pub(super) struct CurrentInstance {
    pub instance: Option<Arc<FluxInstance>>,
}

impl CurrentInstance {
    fn inventory(&self) -> BTreeSet<ObjectId> {
        let status = self.instance.as_ref().and_then(|instance| instance.status.as_ref());
        status
            .and_then(|status| status.inventory.as_ref())
            .map(|i| i.objects())
            .unwrap_or_default()
            .into_iter()
            .collect()
    }
}

/// Tracks whether anything changed since the last full run, and whether a run is in progress.
#[derive(Default)]
pub(super) struct QuietPeriod {
    observed: Mutex<ObservedChanges>,
    working: watch::Sender<bool>,
}

#[derive(Default)]
struct ObservedChanges {
    /// Whether every kind of the inventory is followed and its watch has started.
    follows_all: bool,
    last_change: Option<Instant>,
    last_full_run: Option<Instant>,
}

impl QuietPeriod {
    fn observed(&self) -> MutexGuard<'_, ObservedChanges> {
        self.observed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_quiet(&self) -> bool {
        let observed = self.observed();
        observed.follows_all
            && observed.last_full_run.is_some_and(|run| observed.last_change.is_none_or(|change| change < run))
    }

    /// Records whether every kind of the inventory is followed.
    pub(super) fn follows_all(&self, follows_all: bool) {
        self.observed().follows_all = follows_all;
    }

    /// Records whether a run is in progress. The deletion of an object during a run cannot be attributed to anyone.
    pub(super) fn work(&self, is_working: bool) {
        self.working.send_replace(is_working);
    }

    /// Records a full run that began at this moment.
    pub(super) fn record_full_run(&self, begun: Instant) {
        self.observed().last_full_run = Some(begun);
    }
}

/// A kind in one namespace, or cluster-wide for cluster-scoped kinds.
type DriftScope = (ResourceType, Option<String>);

pub(super) async fn run(cluster: Cluster, shared: Arc<SharedState>, channels: Channels) {
    // Nothing is followed yet. After a restart because of a panic, the existing objects are followed at once.
    shared.quiet.follows_all(false);
    let mut looks = channels.instance.subscribe();
    looks.mark_changed();
    let (sender, mut changes) = mpsc::channel(64);
    let mut working = shared.quiet.working.subscribe();
    let mut watch = Watch::new(&cluster, &shared, &channels);
    let mut tasks = JoinSet::new();
    loop {
        tokio::select! {
            changed = looks.changed() => {
                if changed.is_err() {
                    return;
                }
                let current = looks.borrow_and_update().clone();
                watch.follow(&current, &mut tasks, &sender).await;
            }
            Some((place, change)) = changes.recv() => {
                let current = looks.borrow().clone();
                watch.take(place, change, &current).await;
            }
            _ = working.changed() => {
                let is_working = *working.borrow_and_update();
                watch.settled = (!is_working).then(|| Instant::now() + SETTLING);
            }
            () = until(watch.settled), if !watch.gone.is_empty() => {
                let current = looks.borrow().clone();
                watch.report_deleted(&current).await;
            }
            // A follower ends only when it is stopped.
            Some(_) = tasks.join_next() => {}
        }
    }
}

/// The last seen state of an object.
#[derive(Clone, Debug, PartialEq)]
struct SeenObject {
    version: String,
    /// Our entry of the managed fields: its time, and a digest of its fields.
    own: Option<(String, u64)>,
    /// Time of the last write of each other manager, by manager and operation.
    others: BTreeMap<(String, String), String>,
}

impl SeenObject {
    fn of(object: &Value) -> Self {
        let own = takeover::own_entry(object);
        let digest = |entry: &Value| {
            let mut hasher = DefaultHasher::new();
            entry.get("fieldsV1").map(Value::to_string).hash(&mut hasher);
            hasher.finish()
        };
        let others = managed_fields::entries(object).iter().filter(|entry| {
            fields::text(entry, "/subresource").is_empty() && own.is_none_or(|own| !std::ptr::eq(own, *entry))
        });
        SeenObject {
            version: fields::text(object, "/metadata/resourceVersion").to_owned(),
            own: own.map(|own| (fields::text(own, "/time").to_owned(), digest(own))),
            others: others.map(|entry| (writer(entry), fields::text(entry, "/time").to_owned())).collect(),
        }
    }
}

/// Returns the writer of a managed-fields entry: manager and operation.
fn writer(entry: &Value) -> (String, String) {
    (fields::text(entry, "/manager").to_owned(), fields::text(entry, "/operation").to_owned())
}

/// A change by another manager that the next run reverts.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ForeignChange {
    manager: String,
    fields: Vec<String>,
}

/// Detects a foreign change, as opposed to normal work of other controllers.
fn foreign_change(kind: &str, before: &SeenObject, object: &Value, extra_managers: &[String]) -> Option<ForeignChange> {
    let after = SeenObject::of(object);
    let written_at = |known: &SeenObject| known.own.as_ref().map(|(time, _)| time.clone());
    // The operator wrote in between, so its write explains the fields that others lost or gained.
    if after.own.is_some() && written_at(&after) != written_at(before) {
        return None;
    }
    let lost_fields = before.own.is_some() && after.own != before.own;
    managed_fields::entries(object)
        .iter()
        // Controllers write the status as part of their normal work.
        .filter(|entry| fields::text(entry, "/subresource").is_empty())
        .filter(|entry| {
            let key = writer(entry);
            after.others.get(&key).is_some_and(|time| before.others.get(&key) != Some(time))
        })
        .filter(|entry| lost_fields || takeover::is_taken_over(kind, entry, extra_managers))
        .find_map(named_change)
}

/// Detects a foreign change of a new object between the operator's write and the first observation.
///
/// A run removes all fields of managers that it takes over, so fields that such a manager wrote no earlier than the
/// operator did came after the run. Fields that other managers took from the operator in the meantime cannot be
/// detected without the object as the operator stored it.
fn early_change(kind: &str, object: &Value, extra_managers: &[String]) -> Option<ForeignChange> {
    let own = takeover::own_entry(object).and_then(|own| fields::time(own, "/time"))?;
    managed_fields::entries(object)
        .iter()
        .filter(|entry| takeover::is_taken_over(kind, entry, extra_managers))
        .filter(|entry| fields::time(entry, "/time").is_some_and(|time| time >= own))
        .find_map(named_change)
}

/// Whether another manager wrote to an object no earlier than the operator did. Such a write may have taken fields from
/// the operator. Only a full run can detect that, so the next run must be a full one.
fn has_late_writer(object: &Value) -> bool {
    let Some(entry) = takeover::own_entry(object) else { return true };
    let own = fields::time(entry, "/time");
    managed_fields::entries(object).iter().any(|other| {
        !std::ptr::eq(entry, other)
            && fields::text(other, "/subresource").is_empty()
            && fields::time(other, "/time") >= own
            && named_change(other).is_some()
    })
}

/// Returns the fields of a managed-fields entry, except fields that any writer may own: requests and finalizers.
fn named_change(entry: &Value) -> Option<ForeignChange> {
    let mut paths = managed_fields::paths(entry.get("fieldsV1")?);
    paths.retain(|path| {
        !path.starts_with("metadata.annotations.reconcile.fluxcd.io/") && !path.starts_with("metadata.finalizers")
    });
    let manager = fields::text(entry, "/manager").to_owned();
    (!paths.is_empty()).then_some(ForeignChange { manager, fields: paths })
}

/// Describes an object that lost the operator's labels. The field manager may have this operator's name, because
/// another operator uses the same name.
fn owner_change_text(id: &ObjectId, live: &Value) -> String {
    match InventoryOwner::labelled(live, OwnerKind::FluxInstance) {
        Some(owner) => format!("{id} was taken over by {owner}: its owner labels were changed"),
        None => format!("{id} lost its owner labels"),
    }
}

struct Watch<'a> {
    cluster: &'a Cluster,
    shared: &'a SharedState,
    channels: &'a Channels,
    /// The followed places, and whether their list was received.
    places: HashMap<DriftScope, (AbortHandle, bool)>,
    /// The last inventory, and whether all of its kinds are served.
    inventory: BTreeSet<ObjectId>,
    knows_all_kinds: bool,
    known: BTreeMap<ObjectId, SeenObject>,
    /// Deleted objects that have not been judged yet.
    gone: BTreeSet<ObjectId>,
    /// Time when all changes of the last run have been received; `None` during a run.
    settled: Option<Instant>,
    /// Time of the last report of each change.
    reported: HashMap<String, Instant>,
    /// Times of the corrections of each object.
    corrections: HashMap<ObjectId, Vec<Instant>>,
    /// In whole seconds, like the API server's timestamps.
    begun: Timestamp,
}

impl<'a> Watch<'a> {
    fn new(cluster: &'a Cluster, shared: &'a SharedState, channels: &'a Channels) -> Self {
        Watch {
            cluster,
            shared,
            channels,
            places: HashMap::new(),
            inventory: BTreeSet::new(),
            knows_all_kinds: false,
            known: BTreeMap::new(),
            gone: BTreeSet::new(),
            settled: None,
            reported: HashMap::new(),
            corrections: HashMap::new(),
            begun: Timestamp::from_second(Timestamp::now().as_second()).unwrap_or_default(),
        }
    }

    /// Follows exactly the objects in the current inventory.
    async fn follow(
        &mut self,
        current: &CurrentInstance,
        tasks: &mut JoinSet<()>,
        sender: &mpsc::Sender<(DriftScope, FollowedChange)>,
    ) {
        let inventory = current.inventory();
        // Every status update arrives here, but few change the inventory.
        if inventory == self.inventory && self.knows_all_kinds {
            return;
        }
        (self.inventory, self.knows_all_kinds) = (inventory, true);
        let mut wanted = BTreeMap::new();
        for id in &self.inventory {
            // A kind that is not served has no objects to follow; it may be served again later.
            let Ok(resource) = self.cluster.resource(id).await else {
                self.knows_all_kinds = false;
                continue;
            };
            let namespace = id.namespace().map(str::to_owned);
            wanted.insert((resource.path(namespace.as_deref(), None), namespace.clone()), (resource, namespace));
        }
        let wanted: Vec<DriftScope> = wanted.into_values().collect();
        self.places.retain(|place, (task, _)| {
            let stays = wanted.contains(place);
            if !stays {
                task.abort();
            }
            stays
        });
        for place in wanted {
            if self.places.contains_key(&place) {
                continue;
            }
            let owner =
                InventoryOwner::new(OwnerKind::FluxInstance, &self.shared.options.namespace, INSTANCE_NAME).selector();
            // To this watch, an object that lost the label looks deleted. `report_deleted` distinguishes the two cases.
            let options = ListOptions { metadata_only: true, ..ListOptions::labelled(owner) };
            let (resource, namespace) = place.clone();
            let mut follower = Follower::new(self.cluster, resource, namespace.as_deref(), options, None).patient();
            let (sender, key) = (sender.clone(), place.clone());
            let task = tasks.spawn(async move {
                loop {
                    match follower.next().await {
                        Ok(change) => {
                            if sender.send((key.clone(), change)).await.is_err() {
                                return;
                            }
                        }
                        Err(error) => tracing::warn!("cannot watch the installed objects: {}", error.sentence()),
                    }
                }
            });
            self.places.insert(place, (task, false));
        }
        self.known.retain(|id, _| self.inventory.contains(id));
        self.report_followed();
    }

    fn report_followed(&self) {
        let follows_all = !self.places.is_empty() && self.places.values().all(|(_, listed)| *listed);
        self.shared.quiet.follows_all(follows_all);
    }

    async fn take(&mut self, place: DriftScope, change: FollowedChange, current: &CurrentInstance) {
        // A follower may have sent a message before it was stopped.
        let Some((_, listed)) = self.places.get_mut(&place) else { return };
        match change {
            FollowedChange::All(objects) => {
                *listed = true;
                self.report_followed();
                let there: BTreeSet<ObjectId> = objects.iter().map(|object| self.id_of(&place, object)).collect();
                for object in objects {
                    self.observe(&place, object, current).await;
                }
                let is_here = |id: &&ObjectId| id.kind == place.0.kind && id.group == place.0.group;
                let gone: Vec<ObjectId> =
                    self.known.keys().filter(is_here).filter(|id| !there.contains(id)).cloned().collect();
                for id in gone {
                    self.forget(id);
                }
            }
            FollowedChange::Set(object) => self.observe(&place, object, current).await,
            FollowedChange::Gone(object) => self.forget(self.id_of(&place, &object)),
        }
    }

    /// Returns the identity of an object of which only metadata is known.
    fn id_of(&self, (resource, _): &DriftScope, object: &Value) -> ObjectId {
        ObjectId::new(&resource.group, &resource.kind, fields::namespace(object), fields::name(object))
            .at(&resource.version)
    }

    async fn observe(&mut self, place: &DriftScope, object: Value, current: &CurrentInstance) {
        let id = self.id_of(place, &object);
        let now = SeenObject::of(&object);
        let before = self.known.insert(id.clone(), now.clone());
        let managers = &self.shared.options.extra_managers;
        let change = match before {
            Some(before) if before.version != now.version => {
                self.record_object_change(&id);
                foreign_change(&id.kind, &before, &object, managers)
            }
            // The run that began with this watch has already seen older objects.
            None if fields::time(&object, "/metadata/creationTimestamp").is_some_and(|made| made >= self.begun) => {
                if has_late_writer(&object) {
                    self.record_object_change(&id);
                }
                early_change(&id.kind, &object, managers)
            }
            _ => None,
        };
        if let Some(change) = change {
            let named = change.fields.iter().take(NAMED_FIELDS).cloned().collect::<Vec<_>>().join(", ");
            let more = change.fields.len().saturating_sub(NAMED_FIELDS);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let what = format!("{id} was changed by {}: {named}{more}", change.manager);
            self.handle_drift(id, &change.manager, what, current).await;
        }
    }

    fn forget(&mut self, id: ObjectId) {
        if self.known.remove(&id).is_some() {
            self.record_object_change(&id);
            self.gone.insert(id);
        }
    }

    /// Reports deleted objects that are still in the inventory. An object that a run deleted is no longer in the
    /// inventory.
    async fn report_deleted(&mut self, current: &CurrentInstance) {
        let inventory = current.inventory();
        for id in std::mem::take(&mut self.gone) {
            if !inventory.contains(&id) || self.known.contains_key(&id) {
                continue;
            }
            let what = match self.cluster.read(&id).await {
                Ok(Some(live)) => owner_change_text(&id, &live),
                _ => format!("{id} was deleted"),
            };
            self.handle_drift(id, "", what, current).await;
        }
    }

    fn record_object_change(&self, id: &ObjectId) {
        // Report a change of a controller's readiness at once; the rest can wait.
        if id.kind == "Deployment" {
            self.channels.report.notify_one();
        }
        self.shared.quiet.observed().last_change = Some(Instant::now());
    }

    async fn handle_drift(&mut self, id: ObjectId, manager: &str, what: String, current: &CurrentInstance) {
        let Some(instance) = &current.instance else { return };
        self.shared.telemetry.drift(&id.kind, manager);
        if instance.is_suspended() || instance.metadata.deletion_timestamp.is_some() {
            return self.report(instance, reason::DRIFT_DETECTED, &what).await;
        }
        if !instance.reconciles_on_drift() {
            let text = format!("{what}; the next full reconciliation corrects it");
            return self.report(instance, reason::DRIFT_DETECTED, &text).await;
        }
        let now = Instant::now();
        self.corrections.retain(|_, times| {
            times.retain(|at| now - *at < CONTEST_WINDOW);
            !times.is_empty()
        });
        let corrected = self.corrections.entry(id).or_default();
        corrected.push(now);
        if corrected.len() > CONTESTED_AFTER {
            let text = format!(
                "{what}; it was corrected {CONTESTED_AFTER} times within {} minutes, so it is left to the next reconciliation",
                CONTEST_WINDOW.as_secs() / 60
            );
            return self.report(instance, reason::DRIFT_CONTESTED, &text).await;
        }
        self.report(instance, reason::DRIFT_DETECTED, &format!("{what}; it is corrected now")).await;
        // A full queue already contains a request.
        let _asked = self.channels.run.try_send(QueuedRun { object: self.shared.options.instance(), why: what });
    }

    async fn report(&mut self, instance: &FluxInstance, reason: &'static str, message: &str) {
        let now = Instant::now();
        self.reported.retain(|_, at| now - *at < SILENCE);
        if self.reported.insert(message.to_owned(), now).is_some() {
            return;
        }
        tracing::warn!("{message}");
        let mut announcer = Announcer::about(self.cluster, instance, None);
        announcer.event(Event { warning: true, reason, message: message.to_owned(), revision: None });
        announcer.finish().await;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use test_support::slow_tests::TimedTest;

    use super::*;
    use crate::api::well_known::RECONCILE_ON_DRIFT_ANNOTATION;

    fn entry(manager: &str, operation: &str, time: &str, fields: Value) -> Value {
        json!({"manager": manager, "operation": operation, "time": time, "fieldsV1": fields})
    }

    fn object(entries: Vec<Value>) -> Value {
        json!({"metadata": {"name": "x", "resourceVersion": "1", "managedFields": entries}})
    }

    fn ours(fields: Value) -> Value {
        entry("flux-operator", "Apply", "2026-01-01T00:00:00Z", fields)
    }

    fn changed(before: Vec<Value>, after: Vec<Value>) -> Option<ForeignChange> {
        foreign_change("Deployment", &SeenObject::of(&object(before)), &object(after), &[])
    }

    #[tokio::test(start_paused = true)]
    #[ignore = "slow: it simulates two weeks"]
    async fn state_and_metrics_stay_bounded_during_two_weeks_of_foreign_changes() {
        let _timed = TimedTest::of("flux_operator");
        // This cluster only accepts events.
        let service = tower::service_fn(|_: http::Request<kube::client::Body>| async {
            http::Response::builder().status(201).body(kube::client::Body::from(b"{}".to_vec()))
        });
        let cluster = Cluster::of_client(kube::Client::new(service, "n"), crate::cluster::Endpoint::default());
        let shared = crate::controller::tests::shared();
        let (run, mut requests) = mpsc::channel(16);
        let channels = Channels { run, report: Arc::default(), instance: watch::Sender::default() };
        let mut watch = Watch::new(&cluster, &shared, &channels);
        let instance = FluxInstance::from_object(json!({
            "apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
            "metadata": {"name": "flux", "namespace": "flux-system",
                "annotations": {RECONCILE_ON_DRIFT_ANNOTATION: "Enabled"}},
            "spec": {"distribution": {"version": "2.x", "registry": "ghcr.io/fluxcd"}},
        }));
        let current = CurrentInstance { instance: Some(Arc::new(instance.unwrap())) };
        let minutes = 14 * 24 * 60;
        let mut corrected = 0;
        for minute in 0..minutes {
            let id = ObjectId::new("apps", "Deployment", Some("flux-system"), &format!("one-{}", minute % 977));
            let what = format!("{id} was changed by somebody-{minute}");
            watch.handle_drift(id, &format!("somebody-{minute}"), what, &current).await;
            while requests.try_recv().is_ok() {
                corrected += 1;
            }
            tokio::time::sleep(Duration::from_secs(60)).await;
        }
        assert_eq!(corrected, minutes, "the managers do not fight: each object changes twice a day");
        assert!(watch.reported.len() <= 2, "{}", watch.reported.len());
        assert!(watch.corrections.len() <= 11, "{}", watch.corrections.len());
        let series = shared.telemetry.metrics().lines().filter(|line| line.starts_with("flux_operator_drift")).count();
        assert!(series <= 51, "{series} series");
    }

    const LATER: &str = "2026-01-01T00:10:00Z";

    #[test]
    fn the_manager_that_takes_one_of_our_fields_is_reported() {
        let spec = json!({"f:spec": {"f:replicas": {}, "f:paused": {}}});
        let less = json!({"f:spec": {"f:paused": {}}});
        let theirs = entry("hpa", "Update", LATER, json!({"f:spec": {"f:replicas": {}}}));
        let found = changed(vec![ours(spec)], vec![ours(less), theirs]).unwrap();
        assert_eq!((found.manager.as_str(), found.fields), ("hpa", vec!["spec.replicas".to_owned()]));
    }

    #[test]
    fn fields_added_by_kubectl_are_removed_and_those_of_controllers_kept() {
        let spec = || ours(json!({"f:spec": {"f:replicas": {}}}));
        let env = json!({"f:spec": {"f:containers": {"k:{\"name\":\"manager\"}": {"f:env": {}}}}});
        let found = changed(vec![spec()], vec![spec(), entry("kubectl-edit", "Update", LATER, env.clone())]).unwrap();
        assert_eq!(found.fields, ["spec.containers[name=manager].env"]);
        assert_eq!(changed(vec![spec()], vec![spec(), entry("mesh", "Apply", LATER, env)]), None);
        let mut status = entry("kubectl", "Update", LATER, json!({"f:status": {}}));
        status["subresource"] = "status".into();
        assert_eq!(changed(vec![spec()], vec![spec(), status]), None);
    }

    #[test]
    fn a_change_before_the_first_observation_of_a_new_object_is_detected() {
        let (at, later) = ("2026-01-01T00:00:00Z", LATER);
        let spec = |field: &str| json!({"f:spec": {field: {}}});
        let early = |manager: &str, time: &str, set: Value| {
            early_change("ConfigMap", &object(vec![ours(spec("f:path")), entry(manager, "Update", time, set)]), &[])
        };
        for time in [at, later] {
            assert_eq!(early("kubectl-edit", time, spec("f:replicas")).unwrap().fields, ["spec.replicas"]);
        }
        assert_eq!(early("kubectl-edit", "2025-12-31T23:59:59Z", spec("f:replicas")), None, "our run has seen it");
        assert_eq!(early("hpa", later, spec("f:replicas")), None, "controllers add fields of their own");
        let request = json!({"f:metadata": {"f:annotations": {"f:reconcile.fluxcd.io/requestedAt": {}}}});
        assert_eq!(early("kubectl", later, request), None);
    }

    #[test]
    fn a_request_to_reconcile_and_a_finalizer_are_not_drift() {
        let spec = || ours(json!({"f:spec": {"f:path": {}}}));
        let request = json!({"f:metadata": {"f:annotations": {".": {}, "f:reconcile.fluxcd.io/requestedAt": {}}}});
        assert_eq!(changed(vec![spec()], vec![spec(), entry("flux", "Apply", LATER, request)]), None);
        let finalizer = json!({"f:metadata": {"f:finalizers": {".": {}, "v:\"finalizers.fluxcd.io\"": {}}}});
        assert_eq!(changed(vec![spec()], vec![spec(), entry("kubectl", "Update", LATER, finalizer)]), None);
    }

    #[test]
    fn the_next_run_checks_a_new_object_that_others_wrote_afterwards() {
        let own = || entry("flux-operator", "Apply", LATER, json!({"f:spec": {"f:path": {}}}));
        let of = |entries: Vec<Value>| has_late_writer(&json!({"metadata": {"managedFields": entries}}));
        let taken = json!({"f:spec": {"f:replicas": {}}});
        assert!(of(vec![own(), entry("some-tool", "Apply", LATER, taken.clone())]));
        assert!(of(vec![entry("some-tool", "Apply", LATER, taken.clone())]), "everything was taken from us");
        assert!(!of(vec![own(), entry("some-tool", "Apply", "2026-01-01T00:00:00Z", taken.clone())]), "before us");
        let mut status = entry("kubelet", "Update", LATER, taken);
        status["subresource"] = json!("status");
        assert!(!of(vec![own(), status]), "the status is not ours");
    }

    #[test]
    fn our_own_writes_are_not_drift() {
        let before =
            vec![ours(json!({"f:spec": {}})), entry("kubectl", "Update", LATER, json!({"f:spec": {"f:a": {}}}))];
        let after = vec![entry("flux-operator", "Apply", "2026-01-01T00:20:00Z", json!({"f:spec": {"f:a": {}}}))];
        assert_eq!(changed(before, after), None);
    }

    #[test]
    fn the_period_is_quiet_after_a_full_check_without_later_changes() {
        let quiet = QuietPeriod::default();
        assert!(!quiet.is_quiet());
        quiet.record_full_run(Instant::now());
        assert!(!quiet.is_quiet(), "not everything is followed");
        quiet.follows_all(true);
        assert!(quiet.is_quiet());
        quiet.observed().last_change = Some(Instant::now());
        assert!(!quiet.is_quiet());
    }
}
