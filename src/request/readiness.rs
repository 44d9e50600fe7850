//! Compares an object's status with a request.

use std::fmt;

use serde_json::Value;

use crate::api::kinds::Suspension;
use crate::api::well_known::{REQUESTED_AT_ANNOTATION, condition as kind_of_condition, reason};
use crate::k8s::fields;

/// A condition of a status, as written there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionView {
    pub condition: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    pub reason: String,
    pub message: String,
    /// The generation that the condition describes, or that of the status if the condition has none.
    pub observed_generation: Option<i64>,
}

impl fmt::Display for ConditionView {
    /// `Ready=False HealthCheckFailed: the message`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.condition, self.status)?;
        if !self.reason.is_empty() {
            write!(f, " {}", self.reason)?;
        }
        let message = self.message.trim_end();
        if message.is_empty() { Ok(()) } else { write!(f, ": {message}") }
    }
}

/// The state of an object with respect to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Readiness {
    /// The request was handled, and the object is Ready in its current generation.
    Ready {
        message: String,
    },
    /// The object reports a failure in its current generation.
    Failed {
        reason: String,
        message: String,
    },
    /// No controller reconciles the object.
    Suspended,
    /// The object is being deleted.
    Deleting,
    Pending(PendingReason),
}

/// The reason to keep waiting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PendingReason {
    /// There is no Ready condition yet.
    NoStatus,
    /// The status does not repeat the request's value yet.
    RequestNotSeen,
    /// Ready describes an older generation.
    OlderGeneration { observed: Option<i64>, current: i64 },
    /// Ready is Unknown, or the health check was interrupted.
    InProgress(ConditionView),
}

impl fmt::Display for PendingReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PendingReason::NoStatus => f.write_str("no controller has reported on it yet"),
            PendingReason::RequestNotSeen => f.write_str("waiting for the controller to pick up the request"),
            PendingReason::OlderGeneration { observed: Some(observed), current } => {
                write!(f, "the status is for generation {observed}, the object is at {current}")
            }
            PendingReason::OlderGeneration { observed: None, current } => {
                write!(f, "the status has no observedGeneration, the object is at {current}")
            }
            PendingReason::InProgress(condition) => condition.fmt(f),
        }
    }
}

/// Returns the condition of the given type, if the status has one.
pub fn condition(object: &Value, condition_type: &str) -> Option<ConditionView> {
    let found = fields::condition(object, condition_type)?;
    Some(ConditionView {
        condition: condition_type.to_owned(),
        status: found.status().to_owned(),
        reason: found.reason().to_owned(),
        message: found.message().to_owned(),
        observed_generation: found
            .observed_generation()
            .or_else(|| fields::number(object, "/status/observedGeneration")),
    })
}

/// Returns the most informative condition: Ready once it is decided, then Stalled, then Reconciling.
pub(super) fn most_informative_condition(object: &Value) -> Option<ConditionView> {
    use kind_of_condition::{READY, RECONCILING, STALLED};
    let holds = |name| condition(object, name).filter(|c| c.status == "True");
    let ready = condition(object, READY);
    // Once Ready is decided, it repeats the message of Stalled.
    if ready.as_ref().is_some_and(|r| r.status != "Unknown") {
        return ready;
    }
    holds(STALLED).or_else(|| holds(RECONCILING)).or(ready)
}

/// Assesses an object with respect to a request; `None` only asks whether it is ready.
///
/// A request that a newer request has overwritten counts as handled once the newer request is handled.
pub(super) fn assess(object: &Value, suspension: Suspension, request: Option<&str>) -> Readiness {
    if fields::is_being_deleted(object) {
        return Readiness::Deleting;
    }
    if suspension.is_set(object) {
        return Readiness::Suspended;
    }
    if request.is_some_and(|token| !is_handled(object, token)) {
        return Readiness::Pending(PendingReason::RequestNotSeen);
    }
    let Some(ready) = condition(object, kind_of_condition::READY) else {
        return Readiness::Pending(PendingReason::NoStatus);
    };
    let current = fields::number(object, "/metadata/generation").unwrap_or_default();
    if ready.observed_generation != Some(current) {
        return Readiness::Pending(PendingReason::OlderGeneration { observed: ready.observed_generation, current });
    }
    match ready.status.as_str() {
        "True" => Readiness::Ready { message: ready.message },
        // Without a request, such a failure may only mean that another object is not ready yet. The answer to a request
        // is final.
        "False" if request.is_none() && waits_for_another(&ready) => {
            Readiness::Pending(PendingReason::InProgress(ready))
        }
        // After a cancelled health check, the controller runs again.
        "False" if ready.reason != reason::HEALTH_CHECK_CANCELED => {
            Readiness::Failed { reason: ready.reason, message: ready.message }
        }
        _ => Readiness::Pending(PendingReason::InProgress(ready)),
    }
}

/// Whether a failure only means that another object is not ready yet, so that the controller retries.
///
/// kustomize-controller uses the same reason for a missing and for an unusable artifact.
fn waits_for_another(ready: &ConditionView) -> bool {
    match ready.reason.as_str() {
        "DependencyNotReady" | "SourceNotReady" => true,
        "ArtifactFailed" => ready.message.starts_with("Source artifact not found"),
        _ => false,
    }
}

fn is_handled(object: &Value, token: &str) -> bool {
    let handled = object.pointer("/status/lastHandledReconcileAt").and_then(Value::as_str);
    let asked = object["metadata"]["annotations"][REQUESTED_AT_ANNOTATION].as_str();
    handled == Some(token) || (asked != Some(token) && asked.is_some() && handled == asked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(asked: &str, handled: &str, ready: Value) -> Value {
        let conditions = if ready.is_null() { json!([]) } else { json!([ready]) };
        json!({
            "metadata": {"name": "flux", "namespace": "flux-system", "generation": 2,
                "annotations": {"reconcile.fluxcd.io/requestedAt": asked}},
            "status": {"conditions": conditions, "lastHandledReconcileAt": handled},
        })
    }

    fn ready(status: &str, reason: &str, generation: i64) -> Value {
        json!({"type": "Ready", "status": status, "reason": reason, "message": "m", "observedGeneration": generation})
    }

    fn judge(object: &Value, request: Option<&str>) -> Readiness {
        assess(object, Suspension::Field, request)
    }

    #[test]
    fn ready_without_the_token_is_not_the_answer_to_the_request() {
        let old = object("t2", "t1", ready("True", "ReconciliationSucceeded", 2));
        assert_eq!(judge(&old, Some("t2")), Readiness::Pending(PendingReason::RequestNotSeen));
        assert_eq!(judge(&old, None), Readiness::Ready { message: "m".into() });
        let new = object("t2", "t2", ready("True", "ReconciliationSucceeded", 2));
        assert_eq!(judge(&new, Some("t2")), Readiness::Ready { message: "m".into() });
    }

    #[test]
    fn an_overwritten_request_ends_with_the_newer_one() {
        let overtaken = object("t3", "t3", ready("True", "ReconciliationSucceeded", 2));
        assert_eq!(judge(&overtaken, Some("t2")), Readiness::Ready { message: "m".into() });
        let waiting = object("t3", "t1", ready("True", "ReconciliationSucceeded", 2));
        assert_eq!(judge(&waiting, Some("t2")), Readiness::Pending(PendingReason::RequestNotSeen));
    }

    #[test]
    fn ready_of_an_older_generation_keeps_waiting() {
        let old = object("t", "t", ready("True", "ReconciliationSucceeded", 1));
        let pending = PendingReason::OlderGeneration { observed: Some(1), current: 2 };
        assert_eq!(judge(&old, Some("t")), Readiness::Pending(pending));
    }

    #[test]
    fn a_failure_ends_the_wait_but_a_cancelled_health_check_does_not() {
        let failed = object("t", "t", ready("False", "BuildFailed", 2));
        assert_eq!(judge(&failed, None), Readiness::Failed { reason: "BuildFailed".into(), message: "m".into() });
        for going_on in [ready("False", "HealthCheckCanceled", 2), ready("Unknown", "Progressing", 2)] {
            let object = object("t", "t", going_on);
            assert!(matches!(judge(&object, None), Readiness::Pending(PendingReason::InProgress(_))));
        }
    }

    #[test]
    fn waiting_for_another_object_continues_unless_it_is_the_answer_to_a_request() {
        for (reason, message) in
            [("DependencyNotReady", "m"), ("ArtifactFailed", "Source artifact not found, retrying in 30s")]
        {
            let mut condition = ready("False", reason, 2);
            condition["message"] = message.into();
            let object = object("t", "t", condition);
            assert!(matches!(judge(&object, None), Readiness::Pending(PendingReason::InProgress(_))), "{reason}");
            assert!(matches!(judge(&object, Some("t")), Readiness::Failed { .. }), "{reason}");
        }
        let unusable = object("t", "t", ready("False", "ArtifactFailed", 2));
        assert!(matches!(judge(&unusable, None), Readiness::Failed { .. }));
    }

    #[test]
    fn an_object_without_conditions_is_pending_and_a_suspended_one_is_suspended() {
        let mut fresh = object("t", "t", Value::Null);
        assert_eq!(judge(&fresh, None), Readiness::Pending(PendingReason::NoStatus));
        fresh["spec"] = json!({"suspend": true});
        assert_eq!(judge(&fresh, Some("other")), Readiness::Suspended);
    }

    #[test]
    fn the_most_informative_condition_is_ready_once_decided_and_reconciling_until_then() {
        let with = |list: Value| json!({"metadata": {"name": "a"}, "status": {"conditions": list}});
        let reconciling = json!({"type": "Reconciling", "status": "True", "reason": "Progressing", "message": "apply"});
        let now = with(json!([reconciling, ready("Unknown", "Progressing", 1)]));
        assert_eq!(most_informative_condition(&now).unwrap().to_string(), "Reconciling=True Progressing: apply");
        let failed = with(json!([reconciling, ready("False", "BuildFailed", 1)]));
        assert_eq!(most_informative_condition(&failed).unwrap().to_string(), "Ready=False BuildFailed: m");
    }
}
