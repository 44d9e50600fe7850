//! What the Deployment of the operator says: whether it is one, and whether a pod of it could be at work. Pure.

use serde_json::Value;

use super::well_known::{NAME_LABEL, OPERATOR_NAME};
use crate::k8s::ObjectId;

/// Whether a Deployment is the operator's: by its name, or by the label that charts set.
pub fn is_operator(deployment: &Value) -> bool {
    ObjectId::of(deployment).name == OPERATOR_NAME || deployment["metadata"]["labels"][NAME_LABEL] == OPERATOR_NAME
}

/// How many pods a Deployment or ReplicaSet is to have; the API server's default is one.
pub fn desired_replicas(object: &Value) -> i64 {
    object.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or(1)
}

/// How many pods of a Deployment are ready.
pub fn ready_replicas(deployment: &Value) -> i64 {
    deployment.pointer("/status/readyReplicas").and_then(Value::as_i64).unwrap_or_default()
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
    fn a_pod_could_be_at_work_while_one_is_ready_also_when_it_is_to_go() {
        let deployment = |wanted: i64, ready: i64| {
            json!({"kind": "Deployment", "apiVersion": "apps/v1",
            "spec": {"replicas": wanted}, "status": {"readyReplicas": ready, "replicas": ready}})
        };
        assert!(has_ready_pod(&deployment(1, 1)) && has_ready_pod(&deployment(0, 1)));
        assert!(!has_ready_pod(&deployment(0, 0)) && !has_ready_pod(&deployment(1, 0)));
    }
}
