//! The operator: the reconcile core as a service, for the FluxInstance of one namespace.
//!
//! ```text
//! lease ─► instance   follows the FluxInstance: runs, retries, intervals, deletion
//!          artifact   looks for a new digest of its artifact
//!          drift      follows what its inventory names
//!          fleet      follows every Flux object
//!          report     keeps the FluxReport
//! telemetry, server   what is told about all of them, and where it is read
//! ```
//! Who holds the lease works; the others wait for it. Nothing about reconciling lives here: a run is
//! [`reconcile::run()`](crate::reconcile::run()).

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
use crate::k8s::ObjectId;

mod artifact;
mod drift;
mod exposition;
mod fleet;
mod instance;
mod report;
mod schedule;
mod server;
mod telemetry;

pub use schedule::RetryDelays;
pub use server::{Endpoints, Served};
use telemetry::Controller;
pub use telemetry::{StateDump, Telemetry};

/// How long a run that is asked to stop may take to write its status before it is dropped.
const LAST_WORDS: Duration = Duration::from_secs(8);
/// The pause before the lease is tried again after the API server refused.
const ELECTION_PAUSE: Duration = Duration::from_secs(2);

/// Where notifications for notification-controller go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum NotificationPolicy {
    /// To the one that the instance installs, by its name inside the cluster.
    #[default]
    Installed,
    /// To this address, installed or not.
    Address(String),
    Disabled,
}

/// How an operator works.
#[derive(Clone)]
pub struct ControllerOptions {
    /// The namespace whose instance is looked after.
    pub namespace: String,
    /// The lease to hold while working. None: somebody made sure that there is no other.
    pub election: Option<LeaseOptions>,
    /// Give the lease back at the end, instead of letting it run out.
    pub release_on_exit: bool,
    pub fetcher: Fetcher,
    /// Field managers to take over besides the usual ones.
    pub extra_managers: Vec<String>,
    pub notifications: NotificationPolicy,
    /// Version of this operator, for the FluxReport.
    pub version: String,
    /// Requests of one run at a time.
    pub concurrency: usize,
    /// Name of this host, for notifications.
    pub host: String,
    pub retry: RetryDelays,
    /// How far an interval is stretched or shortened at most, in percent.
    pub interval_jitter: u8,
    /// How often the FluxReport is written when nothing asks for it.
    pub reporting_interval: Duration,
}

impl ControllerOptions {
    /// The instance that is looked after.
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

/// Why an operator ended on its own.
#[derive(Debug, thiserror::Error)]
pub enum ControllerError {
    /// Who loses the lease starts over as a follower; without one there is nobody to lose it to.
    #[error("{what} ended unexpectedly")]
    Ended { what: &'static str },
}

/// What the parts of an operator share.
struct Shared {
    options: ControllerOptions,
    telemetry: Arc<Telemetry>,
    calm: drift::Calm,
}

/// What one part asks of another.
#[derive(Clone)]
struct Wires {
    /// A full run of the instance, and why.
    run: mpsc::Sender<RunRequest>,
    /// The report is out of date.
    report: Arc<Notify>,
    /// The instance as it is.
    looked: watch::Sender<drift::Look>,
}

/// Why the instance is to be reconciled although nobody wrote on it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum RunRequest {
    /// Something it owns was changed; the sentence that says what by whom.
    Drift(String),
}

/// Works as the operator until `stop` is true. Losing the lease is no end: the next one is waited for.
///
/// # Errors
/// A part of the operator ended although nothing told it to.
pub async fn run(
    cluster: &Cluster,
    options: ControllerOptions,
    telemetry: Arc<Telemetry>,
    mut stop: watch::Receiver<bool>,
) -> Result<(), ControllerError> {
    let shared = Arc::new(Shared { options, telemetry, calm: drift::Calm::default() });
    loop {
        let lease = tokio::select! {
            lease = elect(cluster, &shared) => lease,
            () = stopped(&mut stop) => return Ok(()),
        };
        let ended = lead(cluster, &shared, lease.as_ref(), &mut stop).await;
        shared.telemetry.leads(false);
        if let Some(lease) = lease {
            if ended.is_ok() && !*stop.borrow() {
                tracing::error!("the lease was lost: another operator may be at work");
                continue;
            }
            if shared.options.release_on_exit {
                lease.release().await;
            }
        }
        return ended;
    }
}

/// Completes when the operator is to end.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    if stop.wait_for(|stop| *stop).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Completes at a moment; never without one.
async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// Waits until the lease is ours.
async fn elect(cluster: &Cluster, shared: &Shared) -> Option<HeldLease> {
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

/// Works until it is to stop or the lease is lost.
async fn lead(
    cluster: &Cluster,
    shared: &Arc<Shared>,
    lease: Option<&HeldLease>,
    stop: &mut watch::Receiver<bool>,
) -> Result<(), ControllerError> {
    shared.telemetry.leads(true);
    let cluster = lease.map_or_else(|| cluster.clone(), |lease| cluster.under(lease));
    let (run, requests) = mpsc::channel(16);
    let wires = Wires { run, report: Arc::default(), looked: watch::Sender::new(drift::Look::default()) };
    // Dropping the set ends all of them at once: a lease that is lost must not leave work behind.
    let mut parts = JoinSet::new();
    parts.spawn(named(
        "the instance loop",
        instance::run(cluster.clone(), shared.clone(), wires.clone(), requests, stop.clone()),
    ));
    let (on, with, by) = (cluster.clone(), shared.clone(), wires.clone());
    let artifact = move || artifact::run(on.clone(), with.clone(), by.clone());
    parts.spawn(named("the artifact loop", supervised(shared.clone(), Controller::Artifact, artifact)));
    let (on, with, by) = (cluster.clone(), shared.clone(), wires.clone());
    let report = move || report::run(on.clone(), with.clone(), by.clone());
    parts.spawn(named("the report loop", supervised(shared.clone(), Controller::Report, report)));
    let (on, with, by) = (cluster.clone(), shared.clone(), wires.clone());
    let fleet = move || fleet::run(on.clone(), with.clone(), by.clone());
    parts.spawn(named("the resource watch", supervised(shared.clone(), Controller::Report, fleet)));
    let with = shared.clone();
    let drift = move || drift::run(cluster.clone(), with.clone(), wires.clone());
    parts.spawn(named("the drift watch", supervised(shared.clone(), Controller::Drift, drift)));
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
            if *stop.borrow() { Ok(()) } else { Err(ControllerError::Ended { what }) }
        }
    }
}

async fn named(name: &'static str, part: impl Future<Output = ()>) -> &'static str {
    part.await;
    name
}

/// Begins a part again when it panics: a bug in one of them ends neither the process nor the others.
async fn supervised<F: Future<Output = ()>>(shared: Arc<Shared>, controller: Controller, mut part: impl FnMut() -> F) {
    let mut pauses = Backoff::new(shared.options.retry.shortest, shared.options.retry.longest);
    loop {
        // What a part keeps goes with it; what they share is counters and messages.
        if AssertUnwindSafe(part()).catch_unwind().await.is_ok() {
            return;
        }
        shared.telemetry.panicked(controller);
        tracing::error!(controller = controller.name(), "panicked, which is a bug; it begins again");
        tokio::time::sleep(pauses.next_pause()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn shared() -> Shared {
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
        };
        let telemetry = Arc::new(Telemetry::new("1.2.3", "linux/amd64"));
        Shared { options, telemetry, calm: drift::Calm::default() }
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
        supervised(shared.clone(), Controller::Report, part).await;
        assert_eq!(begun, 4);
        let counted = "controller_runtime_reconcile_panics_total{controller=\"fluxreport\"} 3";
        assert!(shared.telemetry.metrics().contains(counted));
        other.await.unwrap();
    }
}
