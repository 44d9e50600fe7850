//! What the Deployment of the operator says: whether it is one, and whether a pod of it could be at work. Pure.

use serde_json::Value;

use super::well_known::{NAME_LABEL, OPERATOR_NAME};
use crate::k8s::{ObjectId, fields};

/// The command that a pod of the operator runs.
pub const CONTROLLER: &str = "controller";

/// Whether a Deployment is the operator's: by its name, or by the label that charts set.
pub fn is_operator(deployment: &Value) -> bool {
    ObjectId::of(deployment).name == OPERATOR_NAME || deployment["metadata"]["labels"][NAME_LABEL] == OPERATOR_NAME
}

/// Whether the Deployment of an operator runs this program, rather than the reference operator.
pub fn runs_this_program(deployment: &Value) -> bool {
    let containers = fields::items(deployment, "/spec/template/spec/containers");
    containers
        .iter()
        .any(|container| fields::items(container, "/args").first().is_some_and(|first| first == CONTROLLER))
}

/// How many pods a Deployment or ReplicaSet is to have; the API server's default is one.
pub fn desired_replicas(object: &Value) -> i64 {
    fields::number(object, "/spec/replicas").unwrap_or(1)
}

/// How many pods of a Deployment are ready.
pub fn ready_replicas(deployment: &Value) -> i64 {
    fields::number(deployment, "/status/readyReplicas").unwrap_or_default()
}

/// Whether a pod of the Deployment could be at work.
pub fn has_ready_pod(deployment: &Value) -> bool {
    ready_replicas(deployment) > 0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_operator_is_told_from_other_deployments_by_name_or_label() {
        let deployment = |name: &str, label: &str| json!({"metadata": {"name": name, "labels": {NAME_LABEL: label}}});
        assert!(is_operator(&deployment("flux-operator", "")));
        assert!(is_operator(&deployment("chart-of-somebody", "flux-operator")));
        assert!(!is_operator(&deployment("source-controller", "source-controller")));
        assert!(!is_operator(&json!({})));
    }

    #[test]
    fn the_operator_of_this_program_is_told_by_its_command() {
        let deployment =
            |args: Value| json!({"spec": {"template": {"spec": {"containers": [{"name": "manager", "args": args}]}}}});
        assert!(runs_this_program(&deployment(json!(["controller", "--log-level=debug"]))));
        assert!(!runs_this_program(&deployment(json!(["--log-level=info"]))));
        assert!(!runs_this_program(&json!({})));
    }

    #[test]
    fn a_pod_could_be_at_work_while_one_is_ready_also_when_it_is_to_go() {
        let deployment = |wanted: i64, ready: i64| {
            json!({"kind": "Deployment", "apiVersion": "apps/v1",
            "spec": {"replicas": wanted}, "status": {"readyReplicas": ready, "replicas": ready}})
        };
        assert!(has_ready_pod(&deployment(1, 1)) && has_ready_pod(&deployment(0, 1)));
        assert!(!has_ready_pod(&deployment(0, 0)) && !has_ready_pod(&deployment(1, 0)));
    }
}
