//! Waits by watch until objects are healthy.

use std::collections::{BTreeMap, BTreeSet};

use futures::StreamExt;
use futures::stream::{BoxStream, SelectAll};
use serde_json::{Value, json};
use tokio::time::{Duration, Instant, MissedTickBehavior};

use super::context::RunContext;
use super::interrupt::{Interrupt, InterruptPolicy, interrupted};
use super::live_objects::LiveObjects;
use super::messages::UnhealthyObject;
use super::progress::{Progress, Update};
use crate::api::kinds;
use crate::api::well_known::{PART_OF_LABEL, RECONCILER_FIELD_MANAGER, REQUESTED_AT_ANNOTATION};
use crate::cluster::watch::{FollowedChange, Follower};
use crate::cluster::{Category, Cluster, ClusterError, ListOptions};
use crate::k8s::kstatus;
use crate::k8s::kstatus::{Health, Status};
use crate::k8s::pod_trouble;
use crate::k8s::{ObjectId, fields};

/// Pause between reads of objects that the user may not watch.
const POLL_EVERY: Duration = Duration::from_secs(2);
const RETRY_DELETION_EVERY: Duration = Duration::from_secs(1);

/// The end of a wait.
#[derive(Debug)]
pub enum WaitEnd {
    /// Every object reached the goal.
    Reached,
    /// The deadline has passed, or the remaining objects cannot recover; lists these objects.
    Unhealthy {
        timed_out: bool,
        objects: Vec<UnhealthyObject>,
    },
    Interrupted(Interrupt),
}

/// The goal of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    Healthy,
    /// As `Healthy`, but the first object that will not recover ends the wait.
    HealthyOrFailed,
    Gone,
}

type Changes = SelectAll<BoxStream<'static, (ObjectId, Result<FollowedChange, ClusterError>)>>;

/// Waits until all objects are healthy, or all are deleted. Objects that have reached the goal are not watched;
/// `live_objects` is kept up to date.
///
/// # Errors
/// The API server cannot be watched.
pub async fn wait(
    context: RunContext<'_>,
    live_objects: &mut LiveObjects,
    objects: &[ObjectId],
    goal: Goal,
    deadline: Instant,
    policy: InterruptPolicy,
) -> Result<WaitEnd, ClusterError> {
    let RunContext { cluster, interrupts, progress, .. } = context;
    let mut wait = HealthWait { goal, states: BTreeMap::new(), pods: BTreeMap::new() };
    for id in objects {
        let key = id.clone();
        let state = ObjectProgress { id: id.clone(), health: health(live_objects.get(&key)), reported: None };
        wait.states.insert(key, state);
    }
    if let Some(end) = wait.report_states(live_objects, progress) {
        return Ok(end);
    }
    let mut changes = wait.follow(cluster, live_objects).await?;
    let mut retries = tokio::time::interval(RETRY_DELETION_EVERY);
    // A slow API server must not get the missed attempts as a burst.
    retries.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let (id, change) = tokio::select! {
            Some(change) = changes.next() => change,
            _ = retries.tick(), if wait.given_up(live_objects).next().is_some() => {
                let retry = retry_deletion(cluster, wait.given_up(live_objects));
                // Keep waiting whether or not this helps.
                let _ = tokio::time::timeout(RETRY_DELETION_EVERY, retry).await;
                continue;
            }
            () = tokio::time::sleep_until(deadline) => return Ok(wait.unhealthy(live_objects, true)),
            interrupt = interrupted(interrupts, policy) => return Ok(WaitEnd::Interrupted(interrupt)),
        };
        match change {
            Ok(change) => wait.record_change(live_objects, &id, change),
            // Pods only explain the state of a Deployment, so a user who may not read pods can still wait.
            Err(error) if is_pods(&id) => tracing::debug!("cannot watch pods: {error}"),
            Err(error) => return Err(error),
        }
        if let Some(end) = wait.report_states(live_objects, progress) {
            return Ok(end);
        }
    }
}

/// Touches definitions so that the API server tries again to delete their objects.
async fn retry_deletion(cluster: &Cluster, definitions: impl Iterator<Item = &ObjectId>) {
    let now = jiff::Timestamp::now().to_string();
    let touch = json!({"metadata": {"annotations": {REQUESTED_AT_ANNOTATION: now}}});
    for id in definitions {
        if let Err(error) = cluster.merge_patch(id, None, &touch, RECONCILER_FIELD_MANAGER).await {
            tracing::debug!("cannot touch {id}: {error}");
        }
    }
}

fn health(live: Option<&Value>) -> Health {
    match live {
        Some(live) => kstatus::compute_for_flux(live),
        None => Health { status: Status::NotFound, message: "Resource not found".into() },
    }
}

struct ObjectProgress {
    id: ObjectId,
    health: Health,
    reported: Option<(Status, String)>,
}

struct HealthWait {
    goal: Goal,
    states: BTreeMap<ObjectId, ObjectProgress>,
    pods: BTreeMap<String, Value>,
}

impl HealthWait {
    fn is_reached(&self, state: &ObjectProgress) -> bool {
        match self.goal {
            Goal::Healthy | Goal::HealthyOrFailed => state.health.is_current(),
            Goal::Gone => state.health.status == Status::NotFound,
        }
    }

    fn waited_for(&self) -> impl Iterator<Item = &ObjectProgress> {
        self.states.values().filter(|state| !self.is_reached(state))
    }

    /// Returns the definitions whose objects the API server failed to delete. Without a change of the definition, it
    /// retries only after a minute, and gives up on kinds that it just began to serve ("storage is (re)initializing").
    fn given_up<'a>(&'a self, live_objects: &'a LiveObjects) -> impl Iterator<Item = &'a ObjectId> {
        let gave_up =
            |state: &&ObjectProgress| live_objects.get(&state.id).is_some_and(|live| deletion_failure(live).is_some());
        let deleting = self.states.values().filter(|_| self.goal == Goal::Gone);
        deleting.filter(|state| !self.is_reached(state)).filter(gave_up).map(|state| &state.id)
    }

    /// Starts a watch per kind and namespace of objects that have not reached the goal, and one of the pods behind
    /// Deployments.
    async fn follow(&self, cluster: &Cluster, live_objects: &LiveObjects) -> Result<Changes, ClusterError> {
        let mut groups: BTreeMap<(&str, &str, &str), Vec<&ObjectId>> = BTreeMap::new();
        let mut pod_namespaces = BTreeSet::new();
        for state in self.waited_for() {
            let id = &state.id;
            groups.entry((&id.group, &id.kind, &id.namespace)).or_default().push(id);
            if id.kind == "Deployment" {
                pod_namespaces.insert(id.namespace.as_str());
            }
        }
        let mut changes = SelectAll::new();
        for ids in groups.into_values() {
            let Some(first) = ids.first().map(|id| (*id).clone()) else { continue };
            let labelled = |id: &&ObjectId| {
                let live = live_objects.get(id);
                live.and_then(|live| live.pointer("/metadata/labels")?.get(PART_OF_LABEL))
                    .is_some_and(|value| value == "flux")
            };
            let selector = match ids.as_slice() {
                [one] => ListOptions::named(&one.name),
                // The label keeps the objects of others out of the watch.
                many if many.iter().all(labelled) => ListOptions::labelled(format!("{PART_OF_LABEL}=flux")),
                _ => ListOptions::default(),
            };
            let namespace = Some(first.namespace.as_str()).filter(|namespace| !namespace.is_empty());
            let resource = cluster.resource(&first).await?;
            let follower = Follower::new(cluster, resource, namespace, selector, None);
            let ids = ids.into_iter().cloned().collect();
            changes.push(stream_or_poll(cluster.clone(), first.clone(), follower, ids));
        }
        for namespace in pod_namespaces {
            let follower = Follower::new(cluster, kinds::POD, Some(namespace), ListOptions::default(), None);
            let id = ObjectId {
                group: String::new(),
                version: "v1".into(),
                kind: "Pod".into(),
                namespace: namespace.to_owned(),
                name: String::new(),
            };
            changes.push(stream(id, follower));
        }
        Ok(changes)
    }

    /// Processes a change in the collection of `of`.
    fn record_change(&mut self, live_objects: &mut LiveObjects, of: &ObjectId, change: FollowedChange) {
        if is_pods(of) {
            let name = |pod: &Value| fields::name(pod).to_owned();
            match change {
                FollowedChange::All(pods) => self.pods = pods.into_iter().map(|pod| (name(&pod), pod)).collect(),
                FollowedChange::Set(pod) => drop(self.pods.insert(name(&pod), pod)),
                FollowedChange::Gone(pod) => drop(self.pods.remove(&name(&pod))),
            }
            return;
        }
        let gone: Vec<ObjectId> = match change {
            FollowedChange::All(items) => {
                let there: BTreeMap<ObjectId, Value> =
                    items.into_iter().map(|item| (ObjectId::of(&item), item)).collect();
                // Objects that have reached the goal are not followed, so their absence from the list says nothing.
                let ours = self.states.iter().filter(|(key, state)| {
                    !self.is_reached(state)
                        && (&key.group, &key.kind, &key.namespace) == (&of.group, &of.kind, &of.namespace)
                });
                let gone = ours.filter(|(key, _)| !there.contains_key(*key)).map(|(key, _)| key.clone()).collect();
                for item in there.into_values() {
                    self.record_object(live_objects, item);
                }
                gone
            }
            FollowedChange::Set(item) => {
                self.record_object(live_objects, item);
                vec![]
            }
            FollowedChange::Gone(item) => vec![ObjectId::of(&item)],
        };
        for key in gone {
            if let Some(state) = self.states.get_mut(&key) {
                state.health = health(None);
                live_objects.remove(&key);
            }
        }
    }

    fn record_object(&mut self, live_objects: &mut LiveObjects, item: Value) {
        if let Some(state) = self.states.get_mut(&ObjectId::of(&item)) {
            state.health = health(Some(&item));
            live_objects.set(item);
        }
    }

    /// Reports changes, and returns the end of the wait if it is reached.
    fn report_states(&mut self, live_objects: &LiveObjects, progress: &dyn Progress) -> Option<WaitEnd> {
        let goal = self.goal;
        let pods = &self.pods;
        for (key, state) in &mut self.states {
            let reached = match goal {
                Goal::Healthy | Goal::HealthyOrFailed => state.health.is_current(),
                Goal::Gone => state.health.status == Status::NotFound,
            };
            let now = match reached {
                true => (state.health.status, String::new()),
                // A just deleted object looks healthy until the API server reports the deletion.
                false if goal == Goal::Gone && state.health.is_current() => {
                    (Status::Terminating, fields::BEING_DELETED.to_owned())
                }
                false => (state.health.status, detail(state, live_objects.get(key), pods)),
            };
            if state.reported.as_ref() == Some(&now) {
                continue;
            }
            // An object that was ready from the start is not reported.
            if !(reached && state.reported.is_none()) {
                let object = state.id.to_string();
                progress.report(match reached {
                    true => Update::Ready { object },
                    false => Update::Waiting { object, health: now.0, message: now.1.clone() },
                });
            }
            state.reported = Some(now);
        }
        let mut left = self.waited_for().peekable();
        if left.peek().is_none() {
            return Some(WaitEnd::Reached);
        }
        let has_failed = |state: &ObjectProgress| state.health.status == Status::Failed;
        let hopeless = match goal {
            Goal::Healthy => left.all(has_failed),
            Goal::HealthyOrFailed => left.any(has_failed),
            Goal::Gone => false,
        };
        hopeless.then(|| self.unhealthy(live_objects, false))
    }

    fn unhealthy(&self, live_objects: &LiveObjects, timed_out: bool) -> WaitEnd {
        let objects = self.waited_for().map(|state| {
            UnhealthyObject::new(
                state.id.to_string(),
                state.health.status,
                detail(state, live_objects.get(&state.id), &self.pods),
            )
        });
        WaitEnd::Unhealthy { timed_out, objects: objects.collect() }
    }
}

/// Returns why the API server failed to delete the objects of a definition that is being deleted.
fn deletion_failure(live: &Value) -> Option<&str> {
    let conditions = live.pointer("/status/conditions")?.as_array()?;
    let failed = |one: &&Value| one["type"] == "Terminating" && one["reason"] == "InstanceDeletionFailed";
    conditions.iter().find(failed)?.get("message")?.as_str()
}

/// Describes an object that has not reached the goal: the reason of its pods takes precedence over its own status.
fn detail(state: &ObjectProgress, live: Option<&Value>, pods: &BTreeMap<String, Value>) -> String {
    let from_pods =
        live.filter(|_| state.id.kind == "Deployment").and_then(|live| pod_trouble::trouble(live, pods.values()));
    match from_pods {
        Some(trouble) if state.health.status == Status::Failed => format!("{}; {trouble}", state.health.message),
        Some(trouble) => trouble,
        None => live.and_then(deletion_failure).unwrap_or(&state.health.message).to_owned(),
    }
}

/// Whether a collection contains the pods behind Deployments.
fn is_pods(of: &ObjectId) -> bool {
    of.kind == "Pod" && of.name.is_empty()
}

/// Follows objects by a watch. If the watch is denied, reads each object periodically instead, because a service
/// account needs only the right to get the objects that it applies.
fn stream_or_poll(
    cluster: Cluster,
    of: ObjectId,
    follower: Follower,
    ids: Vec<ObjectId>,
) -> BoxStream<'static, (ObjectId, Result<FollowedChange, ClusterError>)> {
    let polled_of = of.clone();
    let polled = futures::stream::unfold((cluster, ids, false), |(cluster, ids, is_later)| async move {
        if is_later {
            tokio::time::sleep(POLL_EVERY).await;
        }
        let mut items = vec![];
        for id in &ids {
            match cluster.read(id).await {
                Ok(live) => items.extend(live),
                Err(error) => return Some((Err(error), (cluster, ids, true))),
            }
        }
        Some((Ok(FollowedChange::All(items)), (cluster, ids, true)))
    });
    let polled = polled.map(move |change| (polled_of.clone(), change));
    let mut polled = Some(polled.boxed());
    stream(of, follower)
        .flat_map(move |(of, change)| match change {
            Err(error) if error.category() == Category::Denied => {
                polled.take().unwrap_or_else(|| futures::stream::empty().boxed())
            }
            change => futures::stream::iter([(of, change)]).boxed(),
        })
        .boxed()
}

/// Streams the changes of a follower, and ends after a failure.
fn stream(of: ObjectId, follower: Follower) -> BoxStream<'static, (ObjectId, Result<FollowedChange, ClusterError>)> {
    futures::stream::unfold(Some((of, follower)), |state| async move {
        let (of, mut follower) = state?;
        let change = follower.next().await;
        let next = change.is_ok().then(|| (of.clone(), follower));
        Some(((of, change), next))
    })
    .boxed()
}
