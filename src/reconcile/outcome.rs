//! The result of a run: ready, or the reason why not, as reported in the status.

use std::collections::BTreeSet;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::custom_resources::CustomResources;
use super::interrupt::Interrupt;
use super::messages::{self, UnhealthyObject};
use super::operator::Operator;
use super::progress::Change;
use super::resource_set::{ResourceSetFailure, RetryPolicy};
use crate::api::well_known::reason;
use crate::build::BuildError;
use crate::cluster::ClusterError;
use crate::cluster::lease::LeaseError;
use crate::fetch::{FetchError, FetchReason};
use crate::k8s::ObjectId;

/// A run that could not even record its result.
#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    #[error("cannot take lease/{namespace}/flux-operator")]
    Lease { namespace: String, source: LeaseError },
    #[error("lost lease/{namespace}/flux-operator: another reconciler took it, or it was not renewed in time")]
    LeaseLost { namespace: String },
    #[error("an operator is running: {operator}")]
    OperatorAlive { operator: String },
    #[error("an operator does not respond: {}", operator.state)]
    OperatorSilent { operator: Box<Operator> },
    /// The cluster differs from the state for which the plan was made.
    #[error("the cluster has changed since the plan was made: {}", list(objects))]
    Moved { objects: Vec<ObjectId> },
    /// The instance was replaced, or its spec has changed.
    #[error("the plan is stale: {instance} changed since it was made")]
    PlanOutdated { instance: ObjectId },
    #[error("{instance} does not exist")]
    InstanceGone { instance: ObjectId },
    #[error("{instance} was replaced by another object during the run")]
    InstanceReplaced { instance: ObjectId },
    /// The stored instance is no longer the one for which the run was prepared. Another attempt may succeed.
    #[error("{instance} changed while the run was prepared")]
    InstanceMoved { instance: ObjectId },
    #[error("{instance} is suspended")]
    InstanceSuspended { instance: ObjectId },
    #[error("{instance} is being deleted")]
    BeingDeleted { instance: ObjectId },
    #[error("cannot parse {instance}: {source}")]
    InstanceUnreadable { instance: ObjectId, source: serde_json::Error },
    /// The status cannot be recorded, so nothing is done.
    #[error("the CRD of {instance} has no status subresource")]
    StatusNotServed { instance: ObjectId },
    #[error("cannot install {instance}: {other} already exists, and a cluster can have only one Flux installation")]
    SecondInstance { instance: ObjectId, other: ObjectId },
    #[error(
        "{instance} cannot take over objects that {owner} owns: {}; delete one of the two instances",
        some(objects)
    )]
    OwnedByOther { instance: ObjectId, owner: ObjectId, objects: Vec<ObjectId> },
    /// Deleting custom resources was not accepted.
    #[error("custom resources would be deleted with their CRDs: {}", lost_text(definitions))]
    CustomResourcesLost { definitions: Vec<(ObjectId, CustomResources)> },
    /// No loss was accepted; `downgrade` is the current and the new version.
    #[error("{instance} would {}", destructive_text(pruned, downgrade.as_ref()))]
    Destructive { instance: ObjectId, pruned: Vec<ObjectId>, downgrade: Option<(String, String)> },
    /// The run was stopped before it began.
    #[error("stopped before anything was done: {0}")]
    Stopped(String),
    /// The FluxInstance definition was not accepted in time.
    #[error("{}", messages::unhealthy(true, objects))]
    NotEstablished { objects: Vec<UnhealthyObject> },
    #[error(transparent)]
    Artifact(#[from] FetchError),
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error(transparent)]
    ResourceSet(ResourceSetFailure),
    #[error("the API server refuses {}", list_errors(.0))]
    Refused(Vec<ApplyError>),
    #[error(transparent)]
    Call(#[from] ClusterError),
}

impl ReconcileError {
    /// Whether another instance prevents the run.
    pub(super) fn is_about_another_instance(&self) -> bool {
        matches!(self, ReconcileError::SecondInstance { .. } | ReconcileError::OwnedByOther { .. })
    }
}

fn destructive_text(pruned: &[ObjectId], downgrade: Option<&(String, String)>) -> String {
    let downgrade = downgrade.map(|(from, to)| format!("downgrade from {from} to {to}"));
    let pruned = (!pruned.is_empty()).then(|| format!("delete {}", some(pruned)));
    downgrade.into_iter().chain(pruned).collect::<Vec<_>>().join(" and ")
}

fn list(objects: &[ObjectId]) -> String {
    objects.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Lists the first objects and the number of further ones.
fn some(objects: &[ObjectId]) -> String {
    const SHOWN: usize = 5;
    match objects.get(..SHOWN) {
        Some(first) if objects.len() > SHOWN => format!("{} and {} more", list(first), objects.len() - SHOWN),
        _ => list(objects),
    }
}

fn lost_text(definitions: &[(ObjectId, CustomResources)]) -> String {
    let texts = definitions.iter().map(|(definition, lost)| format!("{lost} with {definition}"));
    texts.collect::<Vec<_>>().join("; ")
}

fn list_errors(errors: &[ApplyError]) -> String {
    fold_errors(errors).join("; ")
}

/// Formats each refusal, in order. Objects that the API server refuses with the same message share a line.
pub fn fold_errors(errors: &[ApplyError]) -> Vec<String> {
    let nameless = |error: &ApplyError| {
        let ObjectId { kind, name, .. } = &error.object;
        format!("{kind} {} {}", error.phase, error.source.sentence().replace(name.as_str(), "…"))
    };
    let mut folded: Vec<(&ApplyError, String, Vec<String>)> = vec![];
    for error in errors {
        let text = nameless(error);
        match folded.iter_mut().find(|(_, known, _)| *known == text) {
            Some((.., alike)) => alike.push(error.object.to_string()),
            None => folded.push((error, text, vec![])),
        }
    }
    let in_words = |(first, _, alike): (&ApplyError, String, Vec<String>)| match alike.is_empty() {
        true => first.to_string(),
        false => format!("{first}; the same for {}", alike.join(", ")),
    };
    folded.into_iter().map(in_words).collect()
}

/// A manifest that the API server refuses.
#[derive(Debug, thiserror::Error)]
#[error("{object} {phase} failed {}", source.sentence())]
pub struct ApplyError {
    pub object: ObjectId,
    /// `dry-run` or `apply`.
    pub phase: &'static str,
    pub source: ClusterError,
}

impl ApplyError {
    /// Creates the error about a manifest. The API server quotes values that it cannot read, so the values of a Secret
    /// are masked.
    pub(super) fn new(desired: &Value, phase: &'static str, mut source: ClusterError) -> Self {
        let object = ObjectId::of(desired);
        if object.kind == "Secret"
            && object.group.is_empty()
            && let Some(answer) = &mut source.answer
        {
            answer.message = without_secret_values(&answer.message, desired);
        }
        ApplyError { object, phase, source }
    }
}

/// Masks the values of a Secret in a text, and the value that the API server got instead of the expected type.
fn without_secret_values(text: &str, secret: &Value) -> String {
    const MASK: &str = "***";
    let mut text = text.to_owned();
    if let Some(at) = text.find(", got ") {
        text.truncate(at);
        text.push_str(", got another value");
    }
    for member in ["data", "stringData"] {
        for value in secret.get(member).and_then(Value::as_object).into_iter().flatten().map(|(_, value)| value) {
            let written = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let decoded = STANDARD.decode(&written).ok().and_then(|bytes| String::from_utf8(bytes).ok());
            for secret in [Some(written), decoded].into_iter().flatten().filter(|secret| !secret.trim().is_empty()) {
                text = text.replace(&secret, MASK);
            }
        }
    }
    text
}

/// Why the instance is not ready after a run.
#[derive(Debug)]
pub enum Failure {
    /// Any other reason why a ResourceSet is not ready.
    ResourceSet(ResourceSetFailure),
    /// The distribution could not be fetched.
    Artifact(FetchError),
    Build(BuildError),
    /// The API server refused manifests, or did not answer.
    Apply(Vec<ApplyError>),
    /// Objects could not be deleted.
    Prune(Vec<(ObjectId, ClusterError)>),
    /// The deadline has passed, or the remaining objects cannot recover.
    Unhealthy {
        timed_out: bool,
        objects: Vec<UnhealthyObject>,
    },
    Call(ClusterError),
    /// The new revision was unhealthy, and the previous one was restored.
    RolledBack {
        failed: String,
        restored: String,
        /// Why the new revision was unhealthy.
        detail: String,
    },
    Interrupted(Interrupt),
    /// The instance is suspended.
    Suspended,
}

/// Why a step does not continue.
#[derive(Debug)]
pub(super) enum Stop {
    /// The run ends here, and reports it in the status, an event and the history.
    Failed(Failure),
    /// The run must not write anything, because another reconciler is responsible or the run is refused.
    Abort(ReconcileError),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Stop::Failed(failure)
    }
}

impl From<ResourceSetFailure> for Stop {
    fn from(failure: ResourceSetFailure) -> Self {
        Stop::Failed(Failure::ResourceSet(failure))
    }
}

impl From<ClusterError> for Stop {
    fn from(error: ClusterError) -> Self {
        Stop::Failed(Failure::Call(error))
    }
}

impl From<ReconcileError> for Stop {
    fn from(error: ReconcileError) -> Self {
        match error {
            ReconcileError::Call(error) => error.into(),
            // An invalid key is the caller's mistake and not a fact about the instance.
            ReconcileError::Artifact(error) if !matches!(error.reason, FetchReason::Unverifiable) => {
                Stop::Failed(Failure::Artifact(error))
            }
            ReconcileError::Build(error) => Stop::Failed(Failure::Build(error)),
            ReconcileError::ResourceSet(failure) => failure.into(),
            ReconcileError::NotEstablished { objects } => Stop::Failed(Failure::Unhealthy { timed_out: true, objects }),
            other => Stop::Abort(other),
        }
    }
}

/// First pause before a failed run is retried; later pauses are longer.
const FIRST_RETRY: Duration = Duration::from_millis(750);

/// The result of a run that was recorded in the status.
#[derive(Debug)]
pub struct Outcome {
    /// `None` when the instance is Ready.
    pub failure: Option<Failure>,
    /// Reason of the Ready condition.
    pub reason: String,
    /// Message of the Ready condition.
    pub message: String,
    pub version: Option<String>,
    pub revision: Option<String>,
    /// Objects that were created, configured, deleted or kept from deletion.
    pub changes: Vec<Change>,
    pub warnings: Vec<String>,
    /// Custom resource definitions whose objects were migrated.
    pub migrated: Vec<String>,
    /// ConfigMaps and Secrets that a ResourceSet has read, as `Kind/namespace/name`. A change of one of them is a
    /// reason to run again.
    pub sources: BTreeSet<String>,
    pub duration: Duration,
    /// Time until the next run without any change; `None` waits for a change of the instance.
    pub next: Option<Duration>,
}

impl Outcome {
    pub fn is_ready(&self) -> bool {
        self.failure.is_none()
    }

    /// Returns the outcome if its status was written.
    pub(super) fn recorded(self, written: Result<(), ReconcileError>) -> Result<Self, ReconcileError> {
        match (written, self.failure) {
            (Ok(()), failure) => Ok(Outcome { failure, ..self }),
            // The first failure explains the second one.
            (Err(_), Some(Failure::Call(error))) => Err(error.into()),
            (Err(error), _) => Err(error),
        }
    }
}

/// Returns the time until the next run: the instance's interval when it is ready, zero when a newer request ended the
/// run.
pub(super) fn time_until_next_run(failure: Option<&Failure>, interval: Option<Duration>) -> Option<Duration> {
    match failure {
        // The restored revision is reconciled as usual; the failed one is not tried again before it changes.
        None | Some(Failure::RolledBack { .. }) => interval,
        Some(Failure::Interrupted(Interrupt::Superseded(_))) => Some(Duration::ZERO),
        Some(Failure::ResourceSet(failure)) => match failure.retry {
            RetryPolicy::Never => None,
            RetryPolicy::Backoff => Some(FIRST_RETRY),
            RetryPolicy::After(pause) => Some(pause),
        },
        // The same spec fails in the same way, and the caller that stopped a run knows when the next one is due.
        Some(Failure::Build(_) | Failure::Suspended | Failure::Interrupted(Interrupt::Stop(_))) => None,
        Some(_) => Some(FIRST_RETRY),
    }
}

/// Returns reason and message of the Ready condition.
pub(super) fn explain(failure: &Failure, instance: &ObjectId) -> (&'static str, String) {
    let failed = |text: String| format!("reconciliation failed: {text}");
    match failure {
        Failure::Artifact(error) => (reason::ARTIFACT_FAILED, format!("fetch failed: {}", error.sentence())),
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
        Failure::RolledBack { failed, restored, detail } => {
            (reason::ROLLED_BACK, messages::rolled_back(failed, restored, detail))
        }
        Failure::Call(error) => (reason::RECONCILIATION_FAILED, failed(format!("{error}: {}", error.reason))),
        Failure::Interrupted(Interrupt::Superseded(by)) => {
            (reason::HEALTH_CHECK_CANCELED, format!("New reconciliation triggered by {by}"))
        }
        Failure::Interrupted(Interrupt::Stop(why)) => {
            (reason::HEALTH_CHECK_CANCELED, format!("Reconciliation of {instance} stopped: {why}"))
        }
        Failure::Suspended => (reason::RECONCILIATION_DISABLED, "Reconciliation is disabled".to_owned()),
        Failure::ResourceSet(failure) => (failure.reason, failure.message.clone()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::oci::{OciError, Reason};

    #[test]
    fn a_distribution_that_cannot_be_fetched_names_itself_and_every_cause_and_is_tried_again() {
        let cause = Reason::NotFound { what: "oci://ghcr.io/a/b:v1".to_owned() };
        let error = OciError { attempted: "resolve oci://ghcr.io/a/b:v1".to_owned(), reason: cause };
        let from = "oci://ghcr.io/a/b:v1".to_owned();
        let failure = Failure::Artifact(FetchError { from, digest: None, reason: FetchReason::Oci(error) });
        let instance = ObjectId::default();
        let (reason, message) = explain(&failure, &instance);
        assert_eq!(reason, "ArtifactFailed");
        assert_eq!(
            message,
            "fetch failed: cannot get the distribution from oci://ghcr.io/a/b:v1: \
             cannot resolve oci://ghcr.io/a/b:v1: oci://ghcr.io/a/b:v1 not found"
        );
    }

    #[test]
    fn a_refused_secret_is_reported_without_its_values() {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"},
            "data": {"token": "aHVudGVyMg=="}, "stringData": {"pin": "4711"}});
        let text = "Secret \"a\" is invalid: data: Invalid value: \"hunter2\": must not be aHVudGVyMg== or 4711";
        assert_eq!(
            without_secret_values(text, &secret),
            "Secret \"a\" is invalid: data: Invalid value: \"***\": must not be *** or ***"
        );
        let typed = "failed to create typed patch object: .data.all: expected string, got &value.valueUnstructured{Value:\"x\"}";
        let reported = without_secret_values(typed, &json!({"data": {"all": {"b": "x"}}}));
        assert_eq!(reported, "failed to create typed patch object: .data.all: expected string, got another value");
    }
}
