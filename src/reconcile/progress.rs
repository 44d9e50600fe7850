//! What a run tells while it works, as values: a terminal, plain lines, JSON lines and a log are renderings of them.

use std::time::Duration;

use serde::Serialize;

use crate::k8s::kstatus::Status;

/// Receives what a run tells. Called from the run itself: it must return at once.
pub trait Progress: Send + Sync {
    fn report(&self, update: Update);
}

/// Tells nobody.
pub struct Silent;

impl Progress for Silent {
    fn report(&self, _: Update) {}
}

/// Any function is a listener.
impl<F: Fn(Update) + Send + Sync> Progress for F {
    fn report(&self, update: Update) {
        self(update);
    }
}

/// A part of a run, in the order they happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Stage {
    Lease,
    Fetch,
    Build,
    Plan,
    /// Custom resource definitions, namespaces and cluster roles: what everything else needs.
    ApplyDefinitions,
    /// Kinds that others refer to by class name.
    ApplyClasses,
    ApplyObjects,
    Prune,
    Health,
    Migrate,
    /// Uninstall: the controllers go first, so that nothing fights the rest.
    DeleteControllers,
    ClearFinalizers,
    DeleteObjects,
    Status,
}

impl Stage {
    /// Returns the sentence the instance shows as its Reconciling message while the stage runs.
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

/// What happened to one object.
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
    /// Returns the word events use.
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

/// One thing a run tells. Objects are named `Kind/namespace/name`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Update {
    /// A stage began; `objects` is how many it is about, 0 when that is not known.
    StageBegan {
        stage: Stage,
        objects: usize,
    },
    /// The instance itself was applied with the run.
    InstanceStored {
        object: String,
        action: Action,
    },
    /// The request that this run answers is written on the instance.
    RequestStored {
        object: String,
    },
    /// One object is done in the present stage.
    Object {
        object: String,
        action: Action,
    },
    /// The lease is somebody else's for now.
    WaitingForLease {
        holder: String,
    },
    /// An object is waited for; `message` says what is missing. Told when either changes.
    Waiting {
        object: String,
        health: Status,
        message: String,
    },
    /// An object that was waited for is there, or is gone where its end was waited for.
    Ready {
        object: String,
    },
    /// A stored custom resource was rewritten; `done` of `total` of its kind.
    Migrated {
        definition: String,
        done: usize,
        total: usize,
    },
    /// An API call is tried again.
    Retrying {
        what: String,
        reason: String,
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
