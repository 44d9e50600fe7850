//! The loop around a kind with any number of objects in all namespaces: each is run when it is due, several at the same time.
//!
//! ```text
//! watch ── created, generation or annotations changed ─► due now ─┐
//! others ── a wake by name ─────────────────────────────► due now ─┼► run ─► when it is due again
//! timer ── interval, retry, schedule ───────────────────► due ─────┘
//! ```

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::{mpsc, watch};
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::Instant;
use tracing::Instrument;

use super::schedule::{RunEnd, Schedule, Trigger};
use super::telemetry::ControllerKind;
use super::{LAST_WORDS, Shared, stopped, until};
use crate::api::kinds::ResourceType;
use crate::cluster::watch::{FollowedChange, Follower};
use crate::cluster::{Cluster, ListOptions};
use crate::k8s::ObjectId;

/// A kind and how its objects are run.
pub(super) struct ObjectKind {
    pub resource: ResourceType,
    pub controller: ControllerKind,
    /// In percent of an interval.
    pub jitter: u8,
}

/// Follows all objects of a kind until it is to stop. `run` does one piece of work on an object.
pub(super) async fn follow<F: Future<Output = RunEnd> + Send + 'static>(
    cluster: &Cluster,
    shared: Arc<Shared>,
    kind: ObjectKind,
    mut wakes: mpsc::Receiver<ObjectId>,
    mut stop: watch::Receiver<bool>,
    run: impl FnMut(ObjectId) -> F,
) {
    let mut objects = Follower::new(cluster, kind.resource.clone(), None, ListOptions::default(), None).patient();
    let mut state =
        ObjectLoop { shared, kind, run, known: HashMap::new(), tasks: JoinSet::new(), running: HashMap::new() };
    loop {
        let due = state.next_due();
        tokio::select! {
            biased;
            () = stopped(&mut stop) => return state.stop().await,
            Some(ended) = state.tasks.join_next_with_id() => state.ended(ended),
            change = objects.next() => match change {
                Ok(change) => state.see(change),
                Err(error) => {
                    let kind = &state.kind.resource.plural;
                    tracing::error!("cannot follow {kind}: {}", error.sentence());
                }
            },
            Some(id) = wakes.recv() => state.ask(&id),
            () = until(due), if state.has_room() => state.begin(),
        }
    }
}

/// The state of one object.
struct FollowedObject {
    trigger: Trigger,
    schedule: Schedule,
    is_running: bool,
}

struct ObjectLoop<R> {
    shared: Arc<Shared>,
    kind: ObjectKind,
    run: R,
    known: HashMap<ObjectId, FollowedObject>,
    tasks: JoinSet<RunEnd>,
    /// The objects that tasks work on, and since when.
    running: HashMap<Id, (ObjectId, Instant)>,
}

impl<F: Future<Output = RunEnd> + Send + 'static, R: FnMut(ObjectId) -> F> ObjectLoop<R> {
    fn see(&mut self, change: FollowedChange) {
        match change {
            FollowedChange::All(objects) => {
                let seen: Vec<(ObjectId, Trigger)> =
                    objects.iter().map(|object| (ObjectId::of(object), Trigger::of(object))).collect();
                self.known.retain(|id, _| seen.iter().any(|(seen, _)| seen == id));
                seen.into_iter().for_each(|(id, trigger)| self.set(id, trigger));
            }
            FollowedChange::Set(object) => self.set(ObjectId::of(&object), Trigger::of(&object)),
            FollowedChange::Gone(object) => {
                self.known.remove(&ObjectId::of(&object));
            }
        }
    }

    fn set(&mut self, id: ObjectId, trigger: Trigger) {
        let (now, jitter) = (Instant::now(), self.kind.jitter);
        let retry = self.shared.options.retry;
        let object = self.known.entry(id.clone()).or_insert_with(|| {
            let mut schedule = Schedule::new(retry, jitter);
            schedule.ask(now);
            self.shared.telemetry.asked(self.kind.controller, &id);
            FollowedObject { trigger: trigger.clone(), schedule, is_running: false }
        });
        if object.trigger != trigger {
            object.trigger = trigger;
            object.schedule.ask(now);
            self.shared.telemetry.asked(self.kind.controller, &id);
        }
    }

    fn ask(&mut self, id: &ObjectId) {
        if let Some(object) = self.known.get_mut(id) {
            object.schedule.ask(Instant::now());
            self.shared.telemetry.asked(self.kind.controller, id);
        }
    }

    fn has_room(&self) -> bool {
        self.tasks.len() < self.shared.options.concurrency.max(1)
    }

    /// When the next object is due that nothing works on.
    fn next_due(&self) -> Option<Instant> {
        let waiting = self.known.values().filter(|object| !object.is_running);
        waiting.filter_map(|object| object.schedule.due()).min()
    }

    /// Begins the run that has been due for longest.
    fn begin(&mut self) {
        let now = Instant::now();
        let due = self.known.iter_mut().filter(|(_, object)| !object.is_running);
        let due = due.filter_map(|(id, object)| Some((object.schedule.due()?, id, object)));
        let Some((_, id, object)) = due.filter(|(due, ..)| *due <= now).min_by_key(|(due, ..)| *due) else { return };
        object.schedule.begin();
        object.is_running = true;
        let (id, controller) = (id.clone(), self.kind.controller);
        self.shared.telemetry.began(controller, &id);
        let span = tracing::info_span!(
            "reconcile",
            controller = controller.name(),
            controllerGroup = id.group,
            controllerKind = id.kind,
            namespace = id.namespace,
            name = id.name,
            reconcileID = crate::cluster::lease::unique_identity("").trim_start_matches('_'),
        );
        let work = (self.run)(id.clone());
        let task = self.tasks.spawn(work.instrument(span));
        self.running.insert(task.id(), (id, now));
    }

    fn ended(&mut self, ended: Result<(Id, RunEnd), JoinError>) {
        let (task, next) = match ended {
            Ok((task, next)) => (task, next),
            Err(panic) => {
                self.shared.telemetry.panicked(self.kind.controller);
                tracing::error!("a reconciliation panicked, which is a bug: {panic}");
                (panic.id(), RunEnd::Failed)
            }
        };
        let Some((id, begun)) = self.running.remove(&task) else { return };
        let now = Instant::now();
        self.shared.telemetry.ended(self.kind.controller, &id, next, now - begun);
        // The object may be gone by now, or another one of its name.
        if let Some(object) = self.known.get_mut(&id) {
            object.is_running = false;
            let random = f64::from(jiff::Timestamp::now().subsec_nanosecond()) / 1e9;
            object.schedule.end(next, now, random);
        }
    }

    /// Lets the runs that go on end, within limits.
    async fn stop(mut self) {
        let all = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(LAST_WORDS, all).await.is_err() {
            tracing::warn!("some runs did not end in time; the next operator completes them");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Mutex;
    use std::time::Duration;

    use http_body_util::{BodyExt, Full, StreamBody};
    use hyper::body::{Bytes, Frame};
    use kube::client::Body;
    use serde_json::{Value, json};

    use super::*;
    use crate::cluster::Endpoint;
    use crate::controller::tests::shared;

    const KIND: ResourceType = ResourceType::namespaced(
        "fluxcd.controlplane.io",
        "v1",
        "ResourceSetInputProvider",
        "resourcesetinputproviders",
    );

    /// An API server with these objects, whose watches live and bring nothing.
    fn cluster(names: &'static [&'static str]) -> Cluster {
        let service = tower::service_fn(move |request: http::Request<Body>| async move {
            let body = if request.uri().query().unwrap_or_default().contains("watch=true") {
                let nothing = futures::stream::pending::<Result<Frame<Bytes>, Infallible>>();
                StreamBody::new(nothing).boxed_unsync()
            } else {
                let items: Vec<Value> = names
                    .iter()
                    .map(|name| json!({"metadata": {"name": name, "namespace": "apps", "uid": name, "generation": 1}}))
                    .collect();
                let list = json!({"metadata": {"resourceVersion": "1"}, "items": items});
                Full::from(list.to_string()).boxed_unsync()
            };
            http::Response::builder().status(200).body(body)
        });
        Cluster::of_client(kube::Client::new(service, "n"), Endpoint::default())
    }

    /// Follows the objects for so long; returns the names of the runs and when they began.
    async fn followed(
        names: &'static [&'static str],
        concurrency: usize,
        time: Duration,
        end: impl Fn(&str, usize) -> RunEnd + Send + Sync + 'static,
        wakes: mpsc::Receiver<ObjectId>,
    ) -> Vec<(String, Duration)> {
        let mut shared = shared();
        shared.options.concurrency = concurrency;
        let (_stop, stopping) = watch::channel(false);
        let (begun, started) = (Arc::new(Mutex::new(Vec::new())), Instant::now());
        let (log, end) = (begun.clone(), Arc::new(end));
        let run = move |id: ObjectId| {
            log.lock().unwrap().push((id.name.clone(), started.elapsed()));
            let number = log.lock().unwrap().iter().filter(|(name, _)| *name == id.name).count();
            let end = end.clone();
            async move {
                tokio::time::sleep(Duration::from_secs(1)).await;
                end(&id.name, number)
            }
        };
        let kind = ObjectKind { resource: KIND, controller: ControllerKind::InputProvider, jitter: 0 };
        let cluster = cluster(names);
        let following = follow(&cluster, Arc::new(shared), kind, wakes, stopping, run);
        assert!(tokio::time::timeout(time, following).await.is_err(), "it goes on");
        begun.lock().unwrap().clone()
    }

    fn count(runs: &[(String, Duration)], name: &str) -> usize {
        runs.iter().filter(|(one, _)| one == name).count()
    }

    #[tokio::test(start_paused = true)]
    async fn each_object_has_its_own_interval_and_retries() {
        let (_sender, wakes) = mpsc::channel(1);
        let end = |name: &str, _| match name {
            "hourly" => RunEnd::Done(Some(Duration::from_secs(3600))),
            "often" => RunEnd::Done(Some(Duration::from_secs(60))),
            "broken" => RunEnd::Failed,
            _ => RunEnd::Terminal,
        };
        let names = &["hourly", "often", "broken", "stalled"];
        let runs = followed(names, 10, Duration::from_secs(2 * 3600 + 60), end, wakes).await;
        assert_eq!((count(&runs, "hourly"), count(&runs, "stalled")), (3, 1));
        assert!((110..=120).contains(&count(&runs, "often")), "{}", count(&runs, "often"));
        let broken: Vec<Duration> =
            runs.iter().filter(|(name, _)| name == "broken").map(|(_, at)| *at).take(4).collect();
        let pauses: Vec<Duration> = broken.windows(2).map(|pair| pair[1] - pair[0] - Duration::from_secs(1)).collect();
        assert_eq!(pauses, [750, 1500, 3000].map(Duration::from_millis));
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_run_at_the_same_time_than_may_and_all_get_their_turn() {
        let (_sender, wakes) = mpsc::channel(1);
        let names = &["a", "b", "c", "d", "e"];
        let runs = followed(names, 2, Duration::from_secs(60), |_, _| RunEnd::Done(None), wakes).await;
        assert_eq!(runs.len(), 5);
        for (index, (_, at)) in runs.iter().enumerate() {
            assert_eq!(at.as_secs(), index as u64 / 2, "{runs:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_wake_runs_its_object_and_one_that_panics_is_tried_again() {
        let (sender, wakes) = mpsc::channel(1);
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(10)).await;
            let id = ObjectId::new(&KIND.group, &KIND.kind, Some("apps"), "a").at("v1");
            sender.send(id).await.unwrap();
            std::future::pending::<()>().await;
        });
        let end = |name: &str, number| {
            assert!(name != "b" || number > 1, "a bug of ours");
            RunEnd::Done(None)
        };
        let runs = followed(&["a", "b"], 10, Duration::from_secs(60), end, wakes).await;
        assert_eq!((count(&runs, "a"), count(&runs, "b")), (2, 2));
    }
}
