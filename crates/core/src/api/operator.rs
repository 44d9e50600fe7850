//! Reads the state of an operator from its Deployment and lease. Pure.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::lease::{Holder, LeaseRecord};
use super::well_known::{NAME_LABEL, OPERATOR_NAME};
use crate::k8s::{ObjectId, fields};

/// The argument of an operator's pod.
pub const CONTROLLER: &str = "controller";

/// Whether a Deployment is the operator's, by its name or by the label that charts set.
pub fn is_operator(deployment: &Value) -> bool {
    ObjectId::of(deployment).name == OPERATOR_NAME || deployment["metadata"]["labels"][NAME_LABEL] == OPERATOR_NAME
}

/// Whether an operator's Deployment runs this program instead of the reference operator.
pub fn runs_this_program(deployment: &Value) -> bool {
    let containers = fields::items(deployment, "/spec/template/spec/containers");
    containers
        .iter()
        .any(|container| fields::items(container, "/args").first().is_some_and(|first| first == CONTROLLER))
}

/// Returns the desired number of pods of a Deployment or ReplicaSet; the API server's default is one.
pub fn desired_replicas(object: &Value) -> i64 {
    fields::number(object, "/spec/replicas").unwrap_or(1)
}

/// Returns the number of ready pods of a Deployment.
pub fn ready_replicas(deployment: &Value) -> i64 {
    fields::number(deployment, "/status/readyReplicas").unwrap_or_default()
}

/// Whether at least one pod of the Deployment is ready.
pub fn has_ready_pod(deployment: &Value) -> bool {
    ready_replicas(deployment) > 0
}

/// Whether an operator reconciles the instances of its namespace.
#[derive(Clone, Debug, PartialEq)]
pub enum OperatorState<'a> {
    /// The operator renews its lease, or it does not have a lease and a pod of its Deployment is ready.
    Running,
    /// A run from a terminal is reconciling.
    TerminalRun(String),
    /// The Deployment exists but has no ready pod.
    Stopped(&'a Value),
    /// The operator's pod is ready, but the operator no longer renews its lease, or has not taken it for a long time.
    Silent(&'a Value, Option<LeaseRecord>),
    Absent,
    /// Deployments cannot be read.
    Unknown,
}

impl<'a> OperatorState<'a> {
    /// Determines the state from the Deployment and the lease of an operator.
    pub fn of(deployment: Option<&'a Value>, lease: Option<LeaseRecord>, now: Timestamp) -> Self {
        let is_over = |since: Timestamp| now.duration_since(since) > TIME_TO_ELECT;
        let has_long_been_free = lease.as_ref().and_then(LeaseRecord::free_since).is_some_and(is_over);
        let expired = match lease {
            Some(record) if record.is_fresh(now) => match record.holder {
                Holder::Terminal(name) => return OperatorState::TerminalRun(name),
                _ => return OperatorState::Running,
            },
            Some(record) if matches!(record.holder, Holder::Operator(_)) => Some(record),
            // The lease is free, or left over from a run in a terminal. Only the time since then says whether the
            // operator works.
            _ => None,
        };
        match (deployment, expired) {
            (Some(deployment), _) if !has_ready_pod(deployment) => OperatorState::Stopped(deployment),
            (Some(deployment), Some(record)) if elects_a_leader(deployment) => {
                OperatorState::Silent(deployment, Some(record))
            }
            (Some(deployment), None) if has_long_been_free && is_long_available(deployment, now) => {
                // Without leader election an operator never takes the lease, so its ready pod has to suffice.
                match elects_a_leader(deployment) {
                    true => OperatorState::Silent(deployment, None),
                    false => OperatorState::Running,
                }
            }
            (Some(_), _) => OperatorState::Running,
            (None, _) => OperatorState::Absent,
        }
    }

    /// Whether no operator reconciles the instance, so that a run from a terminal has to.
    pub fn is_gone(&self) -> bool {
        matches!(self, OperatorState::Absent | OperatorState::Stopped(_) | OperatorState::Silent(..))
    }

    /// Corrects the state if the Deployment's namespace certainly has no lease. A running operator with leader election
    /// would have taken a lease long before, and would immediately recreate a deleted lease.
    #[must_use]
    pub fn without_lease(self, deployment: Option<&'a Value>, now: Timestamp) -> Self {
        match deployment.filter(|one| is_long_available(one, now)) {
            Some(one) if self == OperatorState::Running && elects_a_leader(one) => OperatorState::Silent(one, None),
            _ => self,
        }
    }
}

fn is_long_available(deployment: &Value, now: Timestamp) -> bool {
    let available = fields::condition(deployment, "Available").filter(|condition| condition.is_true());
    available.and_then(|one| one.changed()).is_some_and(|since| now.duration_since(since) > TIME_TO_ELECT)
}

/// Time after which an available operator has certainly taken its lease: a lease lasts 35 s (spec: semantics §6).
const TIME_TO_ELECT: SignedDuration = SignedDuration::from_mins(1);

/// Describes a stalled operator.
pub fn silence(lease: Option<&LeaseRecord>) -> &'static str {
    if lease.is_some() { "no longer renews its lease" } else { "has not taken its lease" }
}

/// Whether the operator of a Deployment uses leader election (spec: semantics §6, on by default).
fn elects_a_leader(deployment: &Value) -> bool {
    let containers = fields::items(deployment, "/spec/template/spec/containers");
    let mut words =
        containers.iter().flat_map(|one| ["/command", "/args"].map(|place| fields::items(one, place))).flatten();
    // Go also accepts `0`, `f` and `False`; any other value may mean on or off.
    !words.any(|word| {
        let value = word.as_str().and_then(|word| word.trim_start_matches('-').strip_prefix("enable-leader-election="));
        value.is_some_and(|value| value != "true")
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_operator_is_distinguished_from_other_deployments_by_name_or_label() {
        let deployment = |name: &str, label: &str| json!({"metadata": {"name": name, "labels": {NAME_LABEL: label}}});
        assert!(is_operator(&deployment("flux-operator", "")));
        assert!(is_operator(&deployment("chart-of-somebody", "flux-operator")));
        assert!(!is_operator(&deployment("source-controller", "source-controller")));
        assert!(!is_operator(&json!({})));
    }

    #[test]
    fn the_operator_of_this_program_is_recognised_by_its_command() {
        let deployment =
            |args: Value| json!({"spec": {"template": {"spec": {"containers": [{"name": "manager", "args": args}]}}}});
        assert!(runs_this_program(&deployment(json!(["controller", "--log-level=debug"]))));
        assert!(!runs_this_program(&deployment(json!(["--log-level=info"]))));
        assert!(!runs_this_program(&json!({})));
    }

    #[test]
    fn a_ready_pod_counts_even_when_the_deployment_is_scaled_to_zero() {
        let deployment = |wanted: i64, ready: i64| {
            json!({"kind": "Deployment", "apiVersion": "apps/v1",
            "spec": {"replicas": wanted}, "status": {"readyReplicas": ready, "replicas": ready}})
        };
        assert!(has_ready_pod(&deployment(1, 1)) && has_ready_pod(&deployment(0, 1)));
        assert!(!has_ready_pod(&deployment(0, 0)) && !has_ready_pod(&deployment(1, 0)));
    }
}
