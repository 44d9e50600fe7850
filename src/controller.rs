//! The operator: the reconcile core as a service, for the FluxInstance of one namespace.
//!
//! ```text
//! lease ─► kind_loop  follows the objects of a kind: runs, retries, intervals, deletion
//!          instance, resource_set, input_providers   the runs of each kind, and their additional triggers
//!          artifact   looks for a new digest of its artifact
//!          drift      follows the objects in its inventory
//!          fleet      follows every Flux object
//!          report     keeps the FluxReport
//! telemetry, server   collect metrics and state from all of them, and serve them
//! ```
//! Only the replica that holds the lease reconciles; the others wait for the lease. A run calls
//! [`reconcile::run()`](crate::reconcile::run()); this module contains no reconciliation of its own.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::api::well_known;
use crate::api::well_known::{INSTANCE_NAME, OPERATOR_NAME};
use crate::cluster::Cluster;
use crate::cluster::lease::{HeldLease, LeaseError, LeaseOptions};
use crate::fetch::Fetcher;
use crate::format::backoff::Backoff;
use crate::format::proxy::ProxyEnvironment;
use crate::k8s::ObjectId;

mod artifact;
mod drift;
mod exposition;
mod fleet;
mod input_providers;
mod instance;
mod kind_loop;
mod report;
mod resource_set;
mod schedule;
mod server;
mod telemetry;

pub use schedule::RetryDelays;
pub use server::{Endpoints, ServedAddress};
use telemetry::ControllerKind;
pub use telemetry::{StateDump, Telemetry};

/// Limit for a stopped run to write its status before it is dropped.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(8);
/// Pause before the next attempt to take the lease after the API server refused.
const ELECTION_PAUSE: Duration = Duration::from_secs(2);

/// The receiver of notifications.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum NotificationPolicy {
    /// The instance's notification-controller, by its name inside the cluster.
    #[default]
    Installed,
    /// This address, whether or not notification-controller is installed.
    Address(String),
    Disabled,
}

/// Options of an operator.
#[derive(Clone)]
pub struct ControllerOptions {
    /// The namespace of the reconciled instance.
    pub namespace: String,
    /// The lease to hold while working. `None`: the caller guarantees that there is no other operator.
    pub election: Option<LeaseOptions>,
    /// Whether the lease is released at the end instead of expiring.
    pub release_on_exit: bool,
    pub fetcher: Fetcher,
    /// Field managers to take over in addition to the usual ones.
    pub extra_managers: Vec<String>,
    pub notifications: NotificationPolicy,
    /// Version of this operator, for the FluxReport.
    pub version: String,
    /// Number of concurrent requests of a run.
    pub concurrency: usize,
    /// Name of this host, for notifications.
    pub host: String,
    pub retry: RetryDelays,
    /// Maximum change of an interval in percent.
    pub interval_jitter: u8,
    /// Interval of the FluxReport without other triggers.
    pub reporting_interval: Duration,
    /// Proxies of this process, for the services of input providers.
    pub proxy: ProxyEnvironment,
    /// Maximum number of concurrent runs of ResourceSets.
    pub workers: usize,
    /// Service account for ResourceSets without one in their spec.
    pub default_service_account: Option<String>,
    /// Interval for checking the dependencies of a ResourceSet that are not ready.
    pub requeue_dependency: Duration,
    /// Label selector of the ConfigMaps and Secrets that are watched. A change makes the ResourceSets that use them
    /// run.
    pub watched_configs: String,
}

impl ControllerOptions {
    /// The reconciled instance.
    fn instance(&self) -> ObjectId {
        ObjectId {
            group: well_known::GROUP.into(),
            version: well_known::VERSION.into(),
            kind: "FluxInstance".into(),
            namespace: self.namespace.clone(),
            name: INSTANCE_NAME.into(),
        }
    }
}

/// The reason why an operator ended without a stop.
#[derive(Debug, thiserror::Error)]
pub enum ControllerError {
    /// A loop of the operator ended. Losing the lease is not an error, because the operator then waits for it again.
    #[error("{what} ended unexpectedly")]
    Ended { what: &'static str },
}

/// State shared by the parts of an operator.
struct SharedState {
    options: ControllerOptions,
    telemetry: Arc<Telemetry>,
    quiet: drift::QuietPeriod,
}

/// Channels between the parts.
#[derive(Clone)]
struct Channels {
    /// Requests for a full run of the instance, with the reason.
    run: mpsc::Sender<QueuedRun>,
    /// Signals that the report is out of date.
    report: Arc<Notify>,
    /// The current instance.
    instance: watch::Sender<drift::CurrentInstance>,
}

/// A request to reconcile an object although the object itself has not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct QueuedRun {
    object: ObjectId,
    /// The reason, which completes a sentence after "because".
    why: String,
}

/// Runs the operator until `stop` is true. After losing the lease, it waits until it holds the lease again.
///
/// # Errors
/// A part of the operator ended without a stop.
pub async fn run(
    cluster: &Cluster,
    options: ControllerOptions,
    telemetry: Arc<Telemetry>,
    mut stop: watch::Receiver<bool>,
) -> Result<(), ControllerError> {
    let shared = Arc::new(SharedState { options, telemetry, quiet: drift::QuietPeriod::default() });
    loop {
        let lease = tokio::select! {
            lease = elect(cluster, &shared) => lease,
            () = stopped(&mut stop) => return Ok(()),
        };
        let ended = lead(cluster, &shared, lease.as_ref(), &mut stop).await;
        shared.telemetry.leads(false);
        if let Some(lease) = lease {
            if ended.is_ok() && !*stop.borrow() {
                tracing::error!("lost the lease: another operator may be running");
                continue;
            }
            if shared.options.release_on_exit {
                lease.release().await;
            }
        }
        return ended;
    }
}

/// Completes when `stop` is true.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    if stop.wait_for(|stop| *stop).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Completes at a moment, or never for `None`.
async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// Waits until this process holds the lease.
async fn elect(cluster: &Cluster, shared: &SharedState) -> Option<HeldLease> {
    let options = shared.options.election.as_ref()?;
    let namespace = &shared.options.namespace;
    tracing::info!("attempting to acquire leader lease {namespace}/{OPERATOR_NAME}...");
    let waiting = |holder: &str| tracing::info!("waiting for the lease, held by {holder}");
    loop {
        match cluster.take_lease(namespace, options, waiting).await {
            Ok(lease) => {
                tracing::info!("successfully acquired lease {namespace}/{OPERATOR_NAME}");
                return Some(lease);
            }
            Err(LeaseError::Held { .. }) => {}
            Err(LeaseError::Call(error)) => tracing::error!("error retrieving resource lock: {}", error.sentence()),
        }
        tokio::time::sleep(ELECTION_PAUSE).await;
    }
}

/// Runs all parts of the operator until a stop is requested or the lease is lost.
async fn lead(
    cluster: &Cluster,
    shared: &Arc<SharedState>,
    lease: Option<&HeldLease>,
    stop: &mut watch::Receiver<bool>,
) -> Result<(), ControllerError> {
    shared.telemetry.leads(true);
    let cluster = lease.map_or_else(|| cluster.clone(), |lease| cluster.under(lease));
    let (run, requests) = mpsc::channel(16);
    let channels =
        Channels { run, report: Arc::default(), instance: watch::Sender::new(drift::CurrentInstance::default()) };
    // Dropping the set stops all parts at once: after a lost lease no work may continue.
    let mut parts = JoinSet::new();
    let (on, with, by, end) = (cluster.clone(), shared.clone(), channels.clone(), stop.clone());
    let providers = move || input_providers::run(on.clone(), with.clone(), by.clone(), end.clone());
    let providers = supervised(shared.clone(), ControllerKind::InputProvider, providers);
    let instance = instance::run(cluster.clone(), shared.clone(), channels.clone(), requests, stop.clone());
    let (on, with, by, end) = (cluster.clone(), shared.clone(), channels.clone(), stop.clone());
    let sets = move || resource_set::run(on.clone(), with.clone(), by.clone(), end.clone());
    let sets = supervised(shared.clone(), ControllerKind::ResourceSet, sets);
    // All loops are one part, because the end of a part drops all other parts, and at a stop each loop has to end
    // gracefully.
    let loops = async {
        tokio::join!(instance, providers, sets);
    };
    parts.spawn(named("the loops of the instance, ResourceSets and input providers", loops));
    let (on, with, by) = (cluster.clone(), shared.clone(), channels.clone());
    let artifact = move || artifact::run(on.clone(), with.clone(), by.clone());
    parts.spawn(named("the artifact loop", supervised(shared.clone(), ControllerKind::Artifact, artifact)));
    let (on, with, by) = (cluster.clone(), shared.clone(), channels.clone());
    let report = move || report::run(on.clone(), with.clone(), by.clone());
    parts.spawn(named("the report loop", supervised(shared.clone(), ControllerKind::Report, report)));
    let (on, with, by) = (cluster.clone(), shared.clone(), channels.clone());
    let fleet = move || fleet::run(on.clone(), with.clone(), by.clone());
    parts.spawn(named("the resource watch", supervised(shared.clone(), ControllerKind::Report, fleet)));
    let with = shared.clone();
    let drift = move || drift::run(cluster.clone(), with.clone(), channels.clone());
    parts.spawn(named("the drift watch", supervised(shared.clone(), ControllerKind::Drift, drift)));
    let lost = async {
        match lease {
            Some(lease) => lease.lost().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = lost => Ok(()),
        ended = parts.join_next() => {
            let what = ended.and_then(Result::ok).unwrap_or("a part of the operator");
            // At a stop, the end of the loops is expected.
            if *stop.borrow() { Ok(()) } else { Err(ControllerError::Ended { what }) }
        }
    }
}

async fn named(name: &'static str, part: impl Future<Output = ()>) -> &'static str {
    part.await;
    name
}

/// Restarts a part after a panic, so that a bug in one part ends neither the process nor the others.
async fn supervised<F: Future<Output = ()>>(
    shared: Arc<SharedState>,
    controller: ControllerKind,
    mut part: impl FnMut() -> F,
) {
    let mut pauses = Backoff::new(shared.options.retry.shortest, shared.options.retry.longest);
    loop {
        // A panic drops the part's own state, and the shared state consists only of counters and channels.
        if AssertUnwindSafe(part()).catch_unwind().await.is_ok() {
            return;
        }
        shared.telemetry.panicked(controller);
        tracing::error!(controller = controller.name(), "panicked, which is a bug; starting it again");
        tokio::time::sleep(pauses.next_pause()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn shared() -> SharedState {
        let options = ControllerOptions {
            namespace: "flux-system".to_owned(),
            election: None,
            release_on_exit: true,
            fetcher: Fetcher { registries: None, cache: None, memory: None, key: None },
            extra_managers: vec![],
            notifications: NotificationPolicy::Disabled,
            version: "1.2.3".to_owned(),
            concurrency: 10,
            host: "host".to_owned(),
            retry: RetryDelays::default(),
            interval_jitter: 5,
            reporting_interval: Duration::from_secs(300),
            proxy: ProxyEnvironment::default(),
            workers: 10,
            default_service_account: None,
            requeue_dependency: crate::reconcile::DEPENDENCY_PAUSE,
            watched_configs: "reconcile.fluxcd.io/watch=Enabled".to_owned(),
        };
        let telemetry = Arc::new(Telemetry::new("1.2.3", "linux/amd64"));
        SharedState { options, telemetry, quiet: drift::QuietPeriod::default() }
    }

    #[tokio::test(start_paused = true)]
    async fn a_part_that_panics_begins_again_and_the_others_go_on() {
        let shared = Arc::new(shared());
        let mut begun = 0;
        let other = tokio::spawn(tokio::time::sleep(Duration::from_secs(60)));
        let part = || {
            begun += 1;
            let number = begun;
            async move {
                tokio::time::sleep(Duration::from_secs(1)).await;
                assert!(number > 3, "a bug of ours");
            }
        };
        supervised(shared.clone(), ControllerKind::Report, part).await;
        assert_eq!(begun, 4);
        let counted = "controller_runtime_reconcile_panics_total{controller=\"fluxreport\"} 3";
        assert!(shared.telemetry.metrics().contains(counted));
        other.await.unwrap();
    }
}
