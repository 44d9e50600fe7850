//! Progress of a run as values, to be rendered as a terminal view, plain lines, JSON lines or a log.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::sync::mpsc;

use crate::cluster::{Cluster, Retry};
use crate::format::go_duration;
use crate::k8s::ObjectId;
use crate::k8s::kstatus::Status;

/// Receives the progress of a run. It is called from the run itself and must return at once.
pub trait Progress: Send + Sync {
    fn report(&self, update: Update);
}

/// Ignores progress.
pub struct IgnoredProgress;

impl Progress for IgnoredProgress {
    fn report(&self, _: Update) {}
}

/// Any function can receive progress.
impl<F: Fn(Update) + Send + Sync> Progress for F {
    fn report(&self, update: Update) {
        self(update);
    }
}

/// A part of a run, in chronological order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Stage {
    Lease,
    Fetch,
    Build,
    Plan,
    /// Custom resource definitions, namespaces and cluster roles, on which everything else depends.
    ApplyDefinitions,
    /// Kinds that others reference by class name.
    ApplyClasses,
    ApplyObjects,
    Prune,
    Health,
    Migrate,
    /// Uninstall: the controllers are deleted first, so that they do not work against the rest.
    DeleteControllers,
    ClearFinalizers,
    DeleteObjects,
    Status,
}

impl Stage {
    /// Returns the message of the Reconciling condition during the stage.
    pub fn message(self) -> &'static str {
        match self {
            Stage::Lease => "Taking the lease",
            Stage::Fetch => "Fetching the distribution",
            Stage::Build => "Building the manifests",
            Stage::Plan => "Detecting drift",
            Stage::ApplyDefinitions => "Applying custom resource definitions, namespaces and cluster roles",
            Stage::ApplyClasses => "Applying classes",
            Stage::ApplyObjects => "Applying objects",
            Stage::Prune => "Pruning objects",
            Stage::Health => "Running health checks",
            Stage::Migrate => "Migrating stored resources",
            Stage::DeleteControllers => "Deleting the controllers",
            Stage::ClearFinalizers => "Clearing finalizers",
            Stage::DeleteObjects => "Deleting objects",
            Stage::Status => "Writing the status",
        }
    }
}

/// The change of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Action {
    Created,
    Configured,
    Unchanged,
    Deleted,
    Skipped,
}

impl Action {
    /// Returns the word used in events.
    pub fn as_str(self) -> &'static str {
        match self {
            Action::Created => "created",
            Action::Configured => "configured",
            Action::Unchanged => "unchanged",
            Action::Deleted => "deleted",
            Action::Skipped => "skipped",
        }
    }
}

/// An object of a run with its change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub object: ObjectId,
    pub action: Action,
}

/// A progress report. Objects are named `Kind/namespace/name`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Update {
    /// A stage began; `objects` is the number of its objects, 0 if unknown.
    StageBegan {
        stage: Stage,
        objects: usize,
    },
    /// The run stored the instance itself.
    InstanceStored {
        object: String,
        action: Action,
    },
    /// The request for this run was stored on the instance.
    RequestStored {
        object: String,
    },
    /// An object of the current stage is done.
    Object {
        object: String,
        action: Action,
    },
    /// Another process holds the lease.
    WaitingForLease {
        holder: String,
    },
    /// The run waits for an object; `message` tells what is missing. Reported when either changes.
    Waiting {
        object: String,
        health: Status,
        message: String,
    },
    /// An awaited object is ready, or is deleted if that was awaited.
    Ready {
        object: String,
    },
    /// A stored custom resource was rewritten; `done` of `total` of its kind.
    Migrated {
        definition: String,
        done: usize,
        total: usize,
    },
    /// An API call is retried: `GET /api/v1/…`, the reason, and the pause before.
    Retrying {
        what: String,
        reason: String,
        #[serde(serialize_with = "write_duration")]
        pause: Duration,
    },
    Warning {
        message: String,
    },
    /// The run is over.
    Finished {
        ready: bool,
        message: String,
    },
}

/// In Go's notation: `1.5s`.
fn write_duration<S: serde::Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    let duration = jiff::SignedDuration::try_from(*duration).unwrap_or(jiff::SignedDuration::MAX);
    serializer.serialize_str(&go_duration::format(duration))
}

/// Runs work with a cluster whose retries are reported with the rest of the run.
pub async fn report_retries<T>(cluster: &Cluster, progress: &dyn Progress, work: impl AsyncFnOnce(&Cluster) -> T) -> T {
    let (sender, mut retries) = mpsc::unbounded_channel();
    // If the receiver is gone, the run is over.
    let cluster = cluster.observed(Arc::new(move |retry: &Retry| drop(sender.send(retry.clone()))));
    let mut work = Box::pin(work(&cluster));
    loop {
        tokio::select! {
            // Retries are reported before the result that they led to.
            biased;
            Some(Retry { problem, pause, method, path, .. }) = retries.recv() => {
                progress.report(Update::Retrying { what: format!("{method} {path}"), reason: problem, pause });
            }
            result = &mut work => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use http::{Request, Response};
    use kube::Client;
    use kube::client::Body;

    use super::*;
    use crate::cluster::Endpoint;

    #[tokio::test(start_paused = true)]
    async fn a_retried_call_is_reported_with_its_reason() {
        let answers = Mutex::new(vec![(200, r#"{"gitVersion":"v1.36.0"}"#), (503, "starting"), (429, "slow down")]);
        let service = tower::service_fn(move |_: Request<Body>| {
            let (code, text) = answers.lock().unwrap().pop().expect("no further request");
            let response = Response::builder().status(code).body(Body::from(text.as_bytes().to_vec()));
            async move { response }
        });
        let cluster = Cluster::of_client(Client::new(service, "default"), Endpoint::default());
        let reported = Mutex::new(vec![]);
        let progress = |update: Update| reported.lock().unwrap().push(update);
        let version = report_retries(&cluster, &progress, async |cluster: &Cluster| cluster.server_version().await);
        assert_eq!(version.await.unwrap()["gitVersion"], "v1.36.0");
        let retrying = |reason: &str, pause| Update::Retrying {
            what: "GET /version".into(),
            reason: reason.into(),
            pause: Duration::from_millis(pause),
        };
        let expected = [retrying("429 Too Many Requests", 250), retrying("503 Service Unavailable", 500)];
        assert_eq!(*reported.lock().unwrap(), expected);
    }
}
