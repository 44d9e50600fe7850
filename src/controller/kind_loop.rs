//! The loop for the objects of one kind. It turns triggers into runs: one at a time per object, and several objects
//! concurrently.
//!
//! ```text
//! watch ─┬─ created, generation or annotations changed ─► due now; ends a running wait for health
//! others ┘                                                    │
//! timers ── interval, retry ────────────────────────────► run ┴► status, events; the next due time
//! ```

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::Instrument;

use super::schedule::{RunEnd, Schedule, Trigger};
use super::telemetry::ControllerKind;
use super::{QueuedRun, SHUTDOWN_GRACE, SharedState, stopped, until};
use crate::api::kinds::ResourceType;
use crate::cluster::watch::{FollowedChange, Follower};
use crate::cluster::{Cluster, ListOptions};
use crate::k8s::ObjectId;
use crate::reconcile::interrupt::{self, Interrupt, Interrupts};

/// The objects of a loop.
pub(super) struct LoopScope {
    pub controller: ControllerKind,
    pub kind: ResourceType,
    /// The only namespace of the objects; `None` for all namespaces.
    pub namespace: Option<String>,
    pub options: ListOptions,
    /// Maximum number of concurrent runs.
    pub workers: usize,
    /// Maximum change of an interval in either direction, in percent.
    pub jitter: u8,
}

/// A kind's part of the loop.
pub(super) trait Worker {
    /// Notes the state of an object; `None` if it was deleted.
    fn observe(&mut self, _id: &ObjectId, _object: Option<&Value>) {}

    /// Begins one piece of work. `is_asked` distinguishes a request from a timer.
    fn begin(&mut self, id: &ObjectId, interrupts: Interrupts, is_asked: bool) -> BoxFuture<'static, RunEnd>;

    /// Notes the end of a run, and when the next run is due.
    fn ended(&mut self, _id: &ObjectId, _ended: RunEnd, _due: Option<Instant>) {}
}

/// An object of the loop.
struct LoopEntry {
    schedule: Schedule,
    seen: Option<Trigger>,
    /// The next run was requested, so it checks everything.
    is_asked: bool,
    running: Option<(watch::Sender<Option<Interrupt>>, Instant)>,
}

struct Loop<'a, W> {
    shared: &'a SharedState,
    scope: LoopScope,
    worker: W,
    entries: BTreeMap<ObjectId, LoopEntry>,
    tasks: JoinSet<(ObjectId, Result<RunEnd, ()>)>,
}

/// Follows the objects of a kind until `stop` is true.
pub(super) async fn follow<W: Worker>(
    cluster: &Cluster,
    shared: &SharedState,
    scope: LoopScope,
    mut requests: mpsc::Receiver<QueuedRun>,
    mut stop: watch::Receiver<bool>,
    worker: W,
) {
    let namespace = scope.namespace.as_deref();
    let mut objects = Follower::new(cluster, scope.kind.clone(), namespace, scope.options.clone(), None).patient();
    let mut state = Loop { shared, scope, worker, entries: BTreeMap::new(), tasks: JoinSet::new() };
    loop {
        let next = state.next_due();
        tokio::select! {
            // A stop and the ends of runs are handled before new work.
            biased;
            () = stopped(&mut stop) => return state.stop().await,
            Some(Ok((id, ended))) = state.tasks.join_next() => state.ended(&id, ended),
            change = objects.next() => match change {
                Ok(FollowedChange::All(objects)) => state.observe_all(objects),
                Ok(FollowedChange::Set(object)) => state.observe(&object),
                Ok(FollowedChange::Gone(object)) => state.lose(&ObjectId::of(&object)),
                Err(error) => {
                    let controller = state.scope.controller.name();
                    tracing::error!(controller, "cannot follow the objects: {}", error.sentence());
                }
            },
            Some(request) = requests.recv() => state.ask(request),
            () = until(next), if state.has_room() => state.begin_due(),
        }
    }
}

impl<W: Worker> Loop<'_, W> {
    fn has_room(&self) -> bool {
        self.tasks.len() < self.scope.workers.max(1)
    }

    /// Returns when the next run is due, among the objects without a run in progress.
    fn next_due(&self) -> Option<Instant> {
        let idle = self.entries.values().filter(|entry| entry.running.is_none());
        idle.filter_map(|entry| entry.schedule.due()).min()
    }

    fn observe_all(&mut self, objects: Vec<Value>) {
        let there: Vec<ObjectId> = objects.iter().map(ObjectId::of).collect();
        objects.iter().for_each(|object| self.observe(object));
        let gone: Vec<ObjectId> = self.entries.keys().filter(|id| !there.contains(id)).cloned().collect();
        gone.iter().for_each(|id| self.lose(id));
    }

    fn observe(&mut self, object: &Value) {
        let id = ObjectId::of(object);
        self.worker.observe(&id, Some(object));
        let trigger = Some(Trigger::of(object));
        let (retry, jitter) = (self.shared.options.retry, self.scope.jitter);
        let entry = self.entries.entry(id.clone()).or_insert_with(|| LoopEntry {
            schedule: Schedule::new(retry, jitter),
            seen: None,
            // Nothing is known about the time before this operator started, so the first run checks everything.
            is_asked: true,
            running: None,
        });
        if entry.seen != trigger {
            entry.seen = trigger;
            self.request_run(&id);
        }
    }

    fn lose(&mut self, id: &ObjectId) {
        self.worker.observe(id, None);
        if let Some(entry) = self.entries.get_mut(id) {
            entry.seen = None;
            entry.schedule.forget();
            // An object with a run in progress is removed when the run ends.
            if entry.running.is_none() {
                self.entries.remove(id);
            }
        }
    }

    fn ask(&mut self, request: QueuedRun) {
        let QueuedRun { object, why } = request;
        if self.entries.get(&object).is_some_and(|entry| entry.seen.is_some()) {
            tracing::info!(controller = self.scope.controller.name(), "reconciling {object} because {why}");
            self.request_run(&object);
        }
    }

    /// Makes a run due at once. A run that only waits for health is interrupted.
    fn request_run(&mut self, id: &ObjectId) {
        let Some(entry) = self.entries.get_mut(id) else { return };
        entry.is_asked = true;
        entry.schedule.ask(Instant::now());
        self.shared.telemetry.asked(self.scope.controller, id);
        if let Some((interrupt, _)) = &entry.running {
            interrupt.send_replace(Some(Interrupt::Superseded(id.to_string())));
        }
    }

    /// Begins the runs that are due, the longest overdue first, while workers are free.
    fn begin_due(&mut self) {
        let now = Instant::now();
        let idle = self.entries.iter().filter(|(_, entry)| entry.running.is_none());
        let mut due: Vec<(Instant, ObjectId)> =
            idle.filter_map(|(id, entry)| Some((entry.schedule.due()?, id.clone()))).collect();
        due.retain(|(due, _)| *due <= now);
        due.sort();
        for (_, id) in due {
            if self.has_room() {
                self.begin(&id);
            }
        }
    }

    fn begin(&mut self, id: &ObjectId) {
        let controller = self.scope.controller;
        let Some(entry) = self.entries.get_mut(id) else { return };
        entry.schedule.begin();
        let is_asked = std::mem::take(&mut entry.is_asked);
        let (sender, interrupts) = interrupt::channel();
        entry.running = Some((sender, Instant::now()));
        self.shared.telemetry.began(controller, id);
        let span = tracing::info_span!(
            "reconcile",
            controller = controller.name(),
            controllerGroup = id.group,
            controllerKind = id.kind,
            namespace = id.namespace,
            name = id.name,
            reconcileID = crate::cluster::lease::unique_identity("").trim_start_matches('_'),
        );
        let work = self.worker.begin(id, interrupts, is_asked);
        let task_id = id.clone();
        let task = async move {
            // A panic also drops the state of the run, so nothing uses that state afterwards.
            let ended = AssertUnwindSafe(work).catch_unwind().await;
            let ended = ended.map_err(|_| tracing::error!("the reconciliation panicked, which is a bug"));
            (task_id, ended)
        };
        self.tasks.spawn(task.instrument(span));
    }

    fn ended(&mut self, id: &ObjectId, ended: Result<RunEnd, ()>) {
        let now = Instant::now();
        let controller = self.scope.controller;
        let next = ended.unwrap_or_else(|()| {
            self.shared.telemetry.panicked(controller);
            RunEnd::Failed
        });
        let Some(entry) = self.entries.get_mut(id) else { return };
        let begun = entry.running.take().map_or(now, |(_, begun)| begun);
        self.shared.telemetry.ended(controller, id, next, now - begun);
        // The object was deleted during the run, and `lose` left its entry until the end of the run.
        if entry.seen.is_none() {
            self.entries.remove(id);
            self.worker.ended(id, next, None);
            return;
        }
        // After anything but success, the next run must check everything.
        entry.is_asked |= !matches!(next, RunEnd::Done(_));
        // The fraction of the current second is random enough to spread the load; it need not be unpredictable.
        let random = f64::from(jiff::Timestamp::now().subsec_nanosecond()) / 1e9;
        entry.schedule.end(next, now, random);
        let due = entry.schedule.due();
        self.worker.ended(id, next, due);
    }

    /// Stops the running work gracefully, within a limit.
    async fn stop(&mut self) {
        for (interrupt, _) in self.entries.values().filter_map(|entry| entry.running.as_ref()) {
            interrupt.send_replace(Some(Interrupt::Stop("the operator is shutting down".to_owned())));
        }
        let all = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(SHUTDOWN_GRACE, all).await.is_err() {
            tracing::warn!("a run did not finish in time; the next operator completes it");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use http_body_util::{BodyExt, Full, StreamBody};
    use hyper::body::{Bytes, Frame};
    use kube::client::Body;
    use serde_json::json;

    use super::*;
    use crate::cluster::Endpoint;
    use crate::controller::tests::shared;

    const KIND: ResourceType = ResourceType::namespaced(
        "fluxcd.controlplane.io",
        "v1",
        "ResourceSetInputProvider",
        "resourcesetinputproviders",
    );

    /// Returns an API server with these objects, whose watches stay open and deliver nothing.
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

    /// A worker whose runs take a second. It records the name and start time of each run.
    struct LoggedWorker<E> {
        end: Arc<E>,
        begun: Arc<Mutex<Vec<(String, Duration)>>>,
        started: Instant,
    }

    impl<E: Fn(&str, usize) -> RunEnd + Send + Sync + 'static> Worker for LoggedWorker<E> {
        fn begin(&mut self, id: &ObjectId, _: Interrupts, _: bool) -> BoxFuture<'static, RunEnd> {
            let mut begun = self.begun.lock().unwrap();
            begun.push((id.name.clone(), self.started.elapsed()));
            let number = begun.iter().filter(|(name, _)| *name == id.name).count();
            let (end, name) = (self.end.clone(), id.name.clone());
            Box::pin(async move {
                tokio::time::sleep(Duration::from_secs(1)).await;
                end(&name, number)
            })
        }
    }

    /// Follows the objects for `time`; returns the name and start time of each run.
    async fn followed(
        names: &'static [&'static str],
        workers: usize,
        time: Duration,
        end: impl Fn(&str, usize) -> RunEnd + Send + Sync + 'static,
        requests: mpsc::Receiver<QueuedRun>,
    ) -> Vec<(String, Duration)> {
        let (_stop, stopping) = watch::channel(false);
        let begun = Arc::new(Mutex::new(Vec::new()));
        let worker = LoggedWorker { end: Arc::new(end), begun: begun.clone(), started: Instant::now() };
        let scope = LoopScope {
            controller: ControllerKind::InputProvider,
            kind: KIND,
            namespace: None,
            options: ListOptions::default(),
            workers,
            jitter: 0,
        };
        let (cluster, shared) = (cluster(names), shared());
        let following = follow(&cluster, &shared, scope, requests, stopping, worker);
        assert!(tokio::time::timeout(time, following).await.is_err(), "it goes on");
        begun.lock().unwrap().clone()
    }

    fn count(runs: &[(String, Duration)], name: &str) -> usize {
        runs.iter().filter(|(one, _)| one == name).count()
    }

    #[tokio::test(start_paused = true)]
    async fn each_object_has_its_own_interval_and_retries() {
        let (_sender, requests) = mpsc::channel(1);
        let end = |name: &str, _| match name {
            "hourly" => RunEnd::Done(Some(Duration::from_secs(3600))),
            "often" => RunEnd::Done(Some(Duration::from_secs(60))),
            "broken" => RunEnd::Failed,
            _ => RunEnd::Terminal,
        };
        let names = &["hourly", "often", "broken", "stalled"];
        let runs = followed(names, 10, Duration::from_secs(2 * 3600 + 60), end, requests).await;
        assert_eq!((count(&runs, "hourly"), count(&runs, "stalled")), (3, 1));
        assert!((110..=120).contains(&count(&runs, "often")), "{}", count(&runs, "often"));
        let broken: Vec<Duration> =
            runs.iter().filter(|(name, _)| name == "broken").map(|(_, at)| *at).take(4).collect();
        let pauses: Vec<Duration> = broken.windows(2).map(|pair| pair[1] - pair[0] - Duration::from_secs(1)).collect();
        assert_eq!(pauses, [750, 1500, 3000].map(Duration::from_millis));
    }

    #[tokio::test(start_paused = true)]
    async fn the_number_of_concurrent_runs_is_limited_and_every_object_gets_a_run() {
        let (_sender, requests) = mpsc::channel(1);
        let names = &["a", "b", "c", "d", "e"];
        let runs = followed(names, 2, Duration::from_secs(60), |_, _| RunEnd::Done(None), requests).await;
        assert_eq!(runs.len(), 5);
        for (index, (_, at)) in runs.iter().enumerate() {
            assert_eq!(at.as_secs(), index as u64 / 2, "{runs:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_runs_its_object_and_one_that_panics_is_tried_again() {
        let (sender, requests) = mpsc::channel(1);
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(10)).await;
            let object = ObjectId::new(&KIND.group, &KIND.kind, Some("apps"), "a").at("v1");
            sender.send(QueuedRun { object, why: "a test wants it".to_owned() }).await.unwrap();
            std::future::pending::<()>().await;
        });
        let end = |name: &str, number| {
            assert!(name != "b" || number > 1, "a bug of ours");
            RunEnd::Done(None)
        };
        let runs = followed(&["a", "b"], 10, Duration::from_secs(60), end, requests).await;
        assert_eq!((count(&runs, "a"), count(&runs, "b")), (2, 2));
    }
}
