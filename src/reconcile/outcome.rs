//! What comes of a run: ready, or why not, in the words of the status.

use std::time::Duration;

use super::apply::Change;
use super::interrupt::Interrupt;
use super::messages::{self, Unhealthy};
use super::plan::ApplyError;
use crate::api::well_known::reason;
use crate::build::BuildError;
use crate::cluster::lease::LeaseError;
use crate::cluster::requests::CallError;
use crate::k8s::ObjectId;

/// A run that could not even record what became of it.
#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    #[error("cannot take lease/{namespace}/flux-operator")]
    Lease { namespace: String, source: LeaseError },
    #[error("lost lease/{namespace}/flux-operator to another reconciler")]
    LeaseLost { namespace: String },
    #[error("an operator is alive: {operator}")]
    OperatorAlive { operator: String },
    /// The cluster is not what the plan was made from.
    #[error("the cluster has moved since the plan was made: {}", list(objects))]
    Moved { objects: Vec<ObjectId> },
    /// The instance is another one, or its spec has changed.
    #[error("the plan was made for another state of {instance}")]
    PlanOutdated { instance: ObjectId },
    /// The FluxInstance definition was not accepted in time.
    #[error("{}", messages::unhealthy(true, objects))]
    NotEstablished { objects: Vec<Unhealthy> },
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error("the API server refuses {}", list_errors(.0))]
    Refused(Vec<ApplyError>),
    #[error(transparent)]
    Call(#[from] CallError),
}

fn list(objects: &[ObjectId]) -> String {
    objects.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn list_errors(errors: &[ApplyError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Why a run did not get the instance ready.
#[derive(Debug)]
pub enum Failure {
    Build(BuildError),
    /// Manifests the API server refused, or could not be asked about.
    Apply(Vec<ApplyError>),
    /// Objects that could not be deleted.
    Prune(Vec<(ObjectId, CallError)>),
    /// The time was up, or what is left will not recover.
    Unhealthy {
        timed_out: bool,
        objects: Vec<Unhealthy>,
    },
    Call(CallError),
    Interrupted(Interrupt),
    /// The instance asks not to be reconciled.
    Suspended,
}

/// What came of a run whose end is recorded in the status.
#[derive(Debug)]
pub struct Outcome {
    /// `None`: the instance is Ready.
    pub failure: Option<Failure>,
    /// Reason of the Ready condition.
    pub reason: String,
    /// Message of the Ready condition.
    pub message: String,
    pub version: Option<String>,
    pub revision: Option<String>,
    /// What was created, configured, deleted or kept from deletion.
    pub changes: Vec<Change>,
    pub warnings: Vec<String>,
    /// Custom resource definitions whose objects were migrated.
    pub migrated: Vec<String>,
    pub duration: Duration,
}

impl Outcome {
    pub fn is_ready(&self) -> bool {
        self.failure.is_none()
    }

    /// Reports whether trying again later may help without anybody changing anything.
    pub fn is_retried(&self) -> bool {
        !matches!(self.failure, None | Some(Failure::Build(_) | Failure::Suspended | Failure::Interrupted(_)))
    }
}

/// Returns reason and message of the Ready condition.
pub(super) fn explain(failure: &Failure, instance: &ObjectId) -> (&'static str, String) {
    let failed = |text: String| format!("reconciliation failed: {text}");
    match failure {
        Failure::Build(error) => (reason::BUILD_FAILED, format!("build failed: {error}")),
        Failure::Apply(errors) => (reason::RECONCILIATION_FAILED, failed(list_errors(errors))),
        Failure::Prune(errors) => {
            let texts: Vec<String> =
                errors.iter().map(|(object, error)| format!("{object} delete failed {}", error.sentence())).collect();
            (reason::RECONCILIATION_FAILED, failed(format!("delete failed, errors: {}", texts.join("; "))))
        }
        Failure::Unhealthy { timed_out, objects } => {
            (reason::HEALTH_CHECK_FAILED, failed(messages::unhealthy(*timed_out, objects)))
        }
        Failure::Call(error) => (reason::RECONCILIATION_FAILED, failed(format!("{error}: {}", error.explained.reason))),
        Failure::Interrupted(Interrupt::Superseded(by)) => {
            (reason::HEALTH_CHECK_CANCELED, format!("New reconciliation triggered by {by}"))
        }
        Failure::Interrupted(Interrupt::Stop(why)) => {
            (reason::HEALTH_CHECK_CANCELED, format!("Reconciliation of {instance} stopped: {why}"))
        }
        Failure::Suspended => (reason::RECONCILIATION_DISABLED, "Reconciliation is disabled".to_owned()),
    }
}
