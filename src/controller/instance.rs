//! Reconciles the FluxInstance of the operator's namespace, the only object of its loop.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::kind_loop::{self, LoopScope, Worker};
use super::schedule::RunEnd;
use super::telemetry::ControllerKind;
use super::{Channels, NotificationPolicy, QueuedRun, SharedState, drift};
use crate::api::well_known::{FINALIZER, INSTANCE_NAME};
use crate::api::{Component, FluxInstance, kinds};
use crate::cluster::{Cluster, ListOptions};
use crate::k8s::ObjectId;
use crate::reconcile::announce::{NotificationTarget, Notifications};
use crate::reconcile::interrupt::{Interrupt, Interrupts};
use crate::reconcile::progress::{Action, Progress, Update};
use crate::reconcile::stored;
use crate::reconcile::{
    self, Consent, Failure, Outcome, PlanOptions, ReconcileError, RetryPolicy, RunOptions, UninstallOptions,
    UninstallResult,
};

/// At least one in this many runs is a full check, even if the watches report no change.
const FULL_LOOK_EVERY: u32 = 10;

/// The result of a piece of work.
enum WorkOutcome {
    Ran(Outcome),
    /// Nothing has changed since the last full run, so its outcome was confirmed without reading the objects.
    Confirmed(Outcome),
    Uninstalled(UninstallResult),
    /// The instance does not exist, or it is being deleted and does not have the operator's finalizer.
    Nothing,
}

/// The end of a piece of work.
type WorkResult = Result<WorkOutcome, ReconcileError>;

pub(super) async fn run(
    cluster: Cluster,
    shared: Arc<SharedState>,
    channels: Channels,
    requests: mpsc::Receiver<QueuedRun>,
    stop: watch::Receiver<bool>,
) {
    let (on, with) = (cluster.clone(), shared.clone());
    let begin = move |interrupts, is_quiet| -> BoxFuture<'static, WorkResult> {
        Box::pin(reconcile(on.clone(), with.clone(), interrupts, is_quiet))
    };
    follow(&cluster, &shared, &channels, requests, stop, begin).await;
}

/// Follows the instance. `begin` starts a piece of work. Its arguments are the interrupts, and whether nothing has
/// changed since the last full run.
async fn follow(
    cluster: &Cluster,
    shared: &Arc<SharedState>,
    channels: &Channels,
    requests: mpsc::Receiver<QueuedRun>,
    stop: watch::Receiver<bool>,
    begin: impl FnMut(Interrupts, bool) -> BoxFuture<'static, WorkResult>,
) {
    let scope = LoopScope {
        controller: ControllerKind::Instance,
        kind: kinds::INSTANCE,
        namespace: Some(shared.options.namespace.clone()),
        options: ListOptions::named(INSTANCE_NAME),
        workers: 1,
        jitter: shared.options.interval_jitter,
    };
    let worker =
        InstanceWorker { shared: shared.clone(), channels: channels.clone(), begin, confirmed: Arc::default() };
    kind_loop::follow(cluster, shared, scope, requests, stop, worker).await;
}

struct InstanceWorker<B> {
    shared: Arc<SharedState>,
    channels: Channels,
    begin: B,
    /// Number of runs since the last full one.
    confirmed: Arc<AtomicU32>,
}

impl<B: FnMut(Interrupts, bool) -> BoxFuture<'static, WorkResult>> Worker for InstanceWorker<B> {
    fn observe(&mut self, _: &ObjectId, object: Option<&Value>) {
        let instance = object.and_then(|object| FluxInstance::from_object(object.clone()).ok()).map(Arc::new);
        self.shared.telemetry.instance(instance.as_deref());
        self.channels.instance.send_replace(drift::CurrentInstance { instance });
    }

    fn begin(&mut self, _: &ObjectId, interrupts: Interrupts, is_asked: bool) -> BoxFuture<'static, RunEnd> {
        let is_due = self.confirmed.load(Ordering::Relaxed) + 1 >= FULL_LOOK_EVERY;
        let is_quiet = !is_asked && !is_due && self.shared.quiet.is_quiet();
        self.shared.quiet.work(true);
        let (shared, channels, confirmed) = (self.shared.clone(), self.channels.clone(), self.confirmed.clone());
        let begun = Instant::now();
        let work = (self.begin)(interrupts, is_quiet);
        Box::pin(async move {
            let worked = work.await;
            if !matches!(worked, Ok(WorkOutcome::Confirmed(_))) {
                // The report shows the result of the run.
                channels.report.notify_one();
            }
            match worked {
                Err(error) => refused(&error),
                Ok(done) => log_work_outcome(&shared, done, begun, &confirmed),
            }
        })
    }

    fn ended(&mut self, _: &ObjectId, _: RunEnd, due: Option<Instant>) {
        self.shared.quiet.work(false);
        self.shared.telemetry.next_run(due);
    }
}

/// Logs the end of a piece of work, and returns when the next one is due.
fn log_work_outcome(shared: &SharedState, done: WorkOutcome, begun: Instant, confirmed: &AtomicU32) -> RunEnd {
    match done {
        WorkOutcome::Nothing => RunEnd::Done(None),
        WorkOutcome::Confirmed(outcome) => {
            confirmed.fetch_add(1, Ordering::Relaxed);
            RunEnd::Done(outcome.next)
        }
        WorkOutcome::Ran(outcome) => {
            shared.telemetry.ran(&outcome);
            // Only a successful run proves that every object is in its desired state.
            if outcome.failure.is_none() {
                confirmed.store(0, Ordering::Relaxed);
                shared.quiet.record_full_run(begun);
            }
            log_outcome(&outcome)
        }
        WorkOutcome::Uninstalled(done) if done.is_complete() => {
            let (deleted, kept) = (done.deleted.len(), done.kept.len());
            tracing::info!(deleted, kept, "Uninstallation completed in {:?}", done.duration);
            RunEnd::Done(None)
        }
        WorkOutcome::Uninstalled(done) => {
            let left = done.remaining.len() + done.errors.len() + done.held.len();
            tracing::error!(left, "the uninstallation is not complete; it continues");
            RunEnd::Failed
        }
    }
}

/// Logs the outcome of a run, and returns when the next run is due.
pub(super) fn log_outcome(outcome: &Outcome) -> RunEnd {
    match &outcome.failure {
        None => {
            tracing::info!(revision = outcome.revision, "{}", outcome.message);
            RunEnd::Done(outcome.next)
        }
        Some(Failure::Suspended) => {
            tracing::error!(error = "can't reconcile instance", "{}", outcome.message);
            RunEnd::Terminal
        }
        Some(Failure::Build(_)) => {
            tracing::error!(error = format!("terminal error: {}", outcome.message), "Reconciler error");
            RunEnd::Terminal
        }
        Some(Failure::ResourceSet(failure)) => match failure.retry {
            RetryPolicy::Never => {
                tracing::error!(error = format!("terminal error: {}", outcome.message), "Reconciler error");
                RunEnd::Terminal
            }
            RetryPolicy::Backoff => {
                tracing::error!(error = outcome.message, "Reconciler error");
                RunEnd::Failed
            }
            RetryPolicy::After(pause) => {
                tracing::info!("{}", outcome.message);
                RunEnd::Done(Some(pause))
            }
        },
        Some(Failure::Interrupted(Interrupt::Superseded(_))) => {
            tracing::info!("{}", outcome.message);
            RunEnd::Superseded
        }
        Some(Failure::Interrupted(Interrupt::Stop(_))) => RunEnd::Terminal,
        Some(Failure::RolledBack { .. }) => {
            tracing::error!(error = outcome.message, "rolled back");
            RunEnd::Done(outcome.next)
        }
        Some(_) => {
            tracing::error!(error = outcome.message, "Reconciler error");
            RunEnd::Failed
        }
    }
}

/// Logs the error of a run that could not record its outcome, and returns when the next run is due.
pub(super) fn refused(error: &ReconcileError) -> RunEnd {
    match error {
        // The watch reports the next change.
        ReconcileError::InstanceGone { .. } | ReconcileError::BeingDeleted { .. } => RunEnd::Terminal,
        ReconcileError::InstanceMoved { .. } | ReconcileError::InstanceReplaced { .. } => RunEnd::Superseded,
        error => {
            tracing::error!(error = error.to_string(), "Reconciler error");
            RunEnd::Failed
        }
    }
}

/// Does one piece of work for the current instance.
async fn reconcile(cluster: Cluster, shared: Arc<SharedState>, interrupts: Interrupts, is_quiet: bool) -> WorkResult {
    let id = shared.options.instance();
    let Some(live) = cluster.read(&id).await? else { return Ok(WorkOutcome::Nothing) };
    let instance: FluxInstance = stored::parsed(&id, live)?;
    let finalizers = instance.metadata.finalizers.iter().flatten();
    let is_ours = finalizers.into_iter().any(|finalizer| finalizer == FINALIZER);
    if instance.metadata.deletion_timestamp.is_some() {
        if !is_ours {
            return Ok(WorkOutcome::Nothing);
        }
        let options = UninstallOptions { respect_suspension: true, interrupts, ..UninstallOptions::default() };
        let done = reconcile::uninstall(&cluster, &instance, &options, &Log).await?;
        return Ok(WorkOutcome::Uninstalled(done));
    }
    if is_quiet
        && is_ours
        && let Some(outcome) = reconcile::confirm(&cluster, &instance).await?
    {
        return Ok(WorkOutcome::Confirmed(outcome));
    }
    if !is_ours {
        tracing::info!("Adding finalizer");
        reconcile::adopt(&cluster, &instance).await?;
    }
    let options = run_options(&shared, Some(&instance), interrupts);
    let outcome = reconcile::run(&cluster, &id, &shared.options.fetcher, &options, &Log).await?;
    Ok(WorkOutcome::Ran(outcome))
}

/// Returns the options of a run for an instance or a ResourceSet.
pub(super) fn run_options(shared: &SharedState, instance: Option<&FluxInstance>, interrupts: Interrupts) -> RunOptions {
    RunOptions {
        plan: PlanOptions {
            extra_managers: shared.options.extra_managers.clone(),
            concurrency: shared.options.concurrency,
            ..PlanOptions::default()
        },
        // The author of the object has agreed by applying it.
        consent: Consent::CustomResources,
        notifications: notifications(shared, instance),
        interrupts,
        ..RunOptions::default()
    }
}

/// Returns the target of notifications. An installed notification-controller can be the target only if its instance is
/// known.
pub(super) fn notifications(shared: &SharedState, instance: Option<&FluxInstance>) -> Option<Notifications> {
    let address = match &shared.options.notifications {
        NotificationPolicy::Disabled => return None,
        NotificationPolicy::Address(address) => address.clone(),
        NotificationPolicy::Installed => {
            let instance = instance?;
            let component = Component::NotificationController.as_str();
            let is_installed =
                // An instance without a list of components includes notification-controller.
                instance.spec.components.as_ref().is_none_or(|chosen| chosen.iter().any(|one| one == component));
            if !is_installed {
                return None;
            }
            let domain = instance.spec.cluster.as_ref().map_or("cluster.local", |cluster| cluster.domain.as_str());
            // The dot at the end keeps the resolver from trying its search domains first.
            format!("http://{component}.{}.svc.{domain}./", shared.options.namespace)
        }
    };
    let target = NotificationTarget::Address(address);
    Some(Notifications { target, reporter: shared.options.host.clone(), patience: Duration::ZERO })
}

/// Writes the progress of a run to the log.
pub(super) struct Log;

impl Progress for Log {
    fn report(&self, update: Update) {
        match update {
            Update::StageBegan { stage, objects } => tracing::debug!(objects, "{}", stage.message()),
            Update::Object { action: Action::Unchanged, .. } => {}
            Update::Object { object, action } => tracing::info!("{object} {}", action.as_str()),
            Update::Migrated { definition, done, total } if done == total => {
                tracing::info!("CRD migrated {definition}")
            }
            Update::Retrying { what, reason, pause } => tracing::info!("{what}: {reason}; trying again in {pause:?}"),
            Update::Waiting { object, health, message } => tracing::debug!("{object} {health} {message}"),
            Update::Warning { message } => tracing::warn!("{message}"),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Mutex;

    use futures::FutureExt;
    use futures::future::BoxFuture;
    use http_body_util::{BodyExt, Full, StreamBody};
    use hyper::body::{Bytes, Frame};
    use kube::client::Body;
    use serde_json::json;
    use test_support::slow_tests::TimedTest;

    use super::*;
    use crate::cluster::Endpoint;
    use crate::controller::tests::shared;

    /// An API server with one instance, whose watches stay open and deliver nothing.
    fn cluster() -> Cluster {
        let service = tower::service_fn(|request: http::Request<Body>| async move {
            let body = if request.uri().query().unwrap_or_default().contains("watch=true") {
                let nothing = futures::stream::pending::<Result<Frame<Bytes>, Infallible>>();
                StreamBody::new(nothing).boxed_unsync()
            } else {
                let instance = json!({"metadata": {"name": "flux", "namespace": "flux-system", "uid": "u", "generation": 1},
                    "spec": {"distribution": {"version": "2.x", "registry": "ghcr.io/fluxcd"}}});
                let list = json!({"metadata": {"resourceVersion": "1"}, "items": [instance]});
                Full::from(list.to_string()).boxed_unsync()
            };
            http::Response::builder().status(200).body(body)
        });
        Cluster::of_client(kube::Client::new(service, "n"), Endpoint::default())
    }

    fn ready(next: Option<Duration>) -> Outcome {
        Outcome {
            failure: None,
            reason: "ReconciliationSucceeded".to_owned(),
            message: "Reconciliation finished in 1s".to_owned(),
            version: None,
            revision: None,
            changes: vec![],
            warnings: vec![],
            migrated: vec![],
            sources: Default::default(),
            duration: Duration::from_secs(1),
            next,
        }
    }

    /// Follows the instance for a while, with the test's own work.
    async fn followed(
        shared: &Arc<SharedState>,
        time: Duration,
        begin: impl FnMut(Interrupts, bool) -> BoxFuture<'static, WorkResult>,
    ) {
        let (run, requests) = mpsc::channel(1);
        let channels = Channels { run, report: Arc::default(), instance: watch::Sender::default() };
        let (_stop, stopping) = watch::channel(false);
        let cluster = cluster();
        let following = follow(&cluster, shared, &channels, requests, stopping, begin);
        assert!(tokio::time::timeout(time, following).await.is_err(), "it goes on");
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_that_panics_is_counted_and_tried_again_and_those_after_it_work() {
        let shared = Arc::new(shared());
        let begun = Mutex::new(vec![]);
        followed(&shared, Duration::from_secs(60), |_, _| {
            begun.lock().unwrap().push(Instant::now());
            let number = begun.lock().unwrap().len();
            async move {
                assert!(number > 2, "a bug of ours");
                Ok(WorkOutcome::Ran(ready(None)))
            }
            .boxed()
        })
        .await;
        let begun = begun.into_inner().unwrap();
        let pauses: Vec<Duration> = begun.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(pauses, [750, 1500].map(Duration::from_millis), "as after any other failure");
        let metrics = shared.telemetry.metrics();
        for line in [
            "controller_runtime_reconcile_panics_total{controller=\"fluxinstance\"} 2",
            "controller_runtime_reconcile_total{controller=\"fluxinstance\",result=\"success\"} 1",
            "controller_runtime_active_workers{controller=\"fluxinstance\"} 0",
        ] {
            assert!(metrics.contains(line), "{line} in {metrics}");
        }
    }

    #[tokio::test(start_paused = true)]
    #[ignore = "slow: it simulates two weeks"]
    async fn two_weeks_of_runs_keep_the_interval_check_everything_every_tenth_time_and_do_not_grow() {
        let _timed = TimedTest::of("flux_operator");
        const DAY: Duration = Duration::from_secs(24 * 3600);
        const INTERVAL: Duration = Duration::from_secs(600);
        let shared = Arc::new(shared());
        shared.quiet.follows_all(true);
        let begun = Mutex::new(vec![]);
        let sizes = Mutex::new(vec![]);
        let started = Instant::now();
        followed(&shared, 14 * DAY, |_, is_quiet| {
            let now = Instant::now();
            begun.lock().unwrap().push((now, is_quiet));
            if now - started > DAY * u32::try_from(sizes.lock().unwrap().len() + 1).unwrap() {
                let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
                sizes.lock().unwrap().push((tasks, shared.telemetry.metrics().lines().count()));
            }
            async move {
                tokio::time::sleep(Duration::from_secs(1)).await;
                let outcome = ready(Some(INTERVAL));
                Ok(if is_quiet { WorkOutcome::Confirmed(outcome) } else { WorkOutcome::Ran(outcome) })
            }
            .boxed()
        })
        .await;
        let begun = begun.into_inner().unwrap();
        let expected = 14.0 * DAY.as_secs_f64() / (INTERVAL.as_secs_f64() + 1.0);
        let ran = begun.len() as f64;
        assert!((expected / 1.05 - 1.0..=expected / 0.95 + 1.0).contains(&ran), "{ran} runs, not about {expected}");
        for pair in begun.windows(2) {
            let pause = (pair[1].0 - pair[0].0).as_secs_f64() - 1.0;
            assert!((569.9..=630.1).contains(&pause), "{pause} s between two runs");
        }
        for (number, (_, is_quiet)) in begun.iter().enumerate() {
            assert_eq!(*is_quiet, number % 10 != 0, "run {number}");
        }
        let sizes = sizes.into_inner().unwrap();
        assert_eq!(sizes.len(), 13);
        assert!(sizes.iter().all(|size| *size == sizes[0]), "tasks and series at the end of each day: {sizes:?}");
        assert_eq!(shared.telemetry.dump().runs["fluxinstance"], begun.len() as u64);
    }
}
