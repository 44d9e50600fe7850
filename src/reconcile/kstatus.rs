//! Is an object healthy? The rules of kstatus (<https://github.com/fluxcd/cli-utils>, package `kstatus`), as far as they
//! concern what an installation of Flux consists of. Pure.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Health of one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Health {
    InProgress,
    Failed,
    Current,
    Terminating,
    NotFound,
}

impl fmt::Display for Health {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The derived name is the word kstatus uses.
        fmt::Debug::fmt(self, formatter)
    }
}

/// Health and the sentence that explains it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assessment {
    pub health: Health,
    /// For people; empty when there is nothing to add.
    pub message: String,
}

fn assess_as(health: Health, message: impl Into<String>) -> Assessment {
    Assessment { health, message: message.into() }
}

/// Returns the health of a live object.
pub fn assess(object: &Value) -> Assessment {
    let number = |pointer: &str| object.pointer(pointer).and_then(Value::as_i64);
    if object.pointer("/metadata/deletionTimestamp").is_some() {
        return assess_as(Health::Terminating, "Resource scheduled for deletion");
    }
    if let (Some(observed), Some(generation)) = (number("/status/observedGeneration"), number("/metadata/generation"))
        && observed != generation
    {
        return assess_as(
            Health::InProgress,
            format!("generation is {generation}, but latest observed generation is {observed}"),
        );
    }
    if let Some(reconciling) = condition(object, "Reconciling").filter(|condition| condition.status == "True") {
        return assess_as(Health::InProgress, reconciling.message);
    }
    if let Some(stalled) = condition(object, "Stalled").filter(|condition| condition.status == "True") {
        return assess_as(Health::Failed, stalled.message);
    }
    let group = object
        .get("apiVersion")
        .and_then(Value::as_str)
        .map_or("", |text| crate::cluster::object::split_api_version(text).0);
    match (group, object.get("kind").and_then(Value::as_str).unwrap_or_default()) {
        ("apps", "Deployment") => deployment(object),
        ("", "PersistentVolumeClaim") => persistent_volume_claim(object),
        ("", "Service") => service(object),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => custom_resource_definition(object),
        _ => by_ready_condition(object),
    }
}

/// One condition, its absent parts empty.
struct Condition<'a> {
    status: &'a str,
    reason: &'a str,
    message: &'a str,
}

fn condition<'a>(object: &'a Value, kind: &str) -> Option<Condition<'a>> {
    let conditions = object.pointer("/status/conditions")?.as_array()?;
    let found = conditions.iter().find(|condition| condition.get("type").and_then(Value::as_str) == Some(kind))?;
    let text = |member: &str| found.get(member).and_then(Value::as_str).unwrap_or_default();
    Some(Condition { status: text("status"), reason: text("reason"), message: text("message") })
}

fn deployment(object: &Value) -> Assessment {
    let number = |pointer: &str| object.pointer(pointer).and_then(Value::as_i64);
    let count = |member: &str| number(&format!("/status/{member}")).unwrap_or(0);
    let progressing = condition(object, "Progressing");
    if let Some(progressing) = &progressing
        && progressing.reason == "ProgressDeadlineExceeded"
    {
        return assess_as(Health::Failed, progressing.message);
    }
    let wanted = number("/spec/replicas").unwrap_or(1);
    let progress_known = number("/spec/progressDeadlineSeconds").is_none()
        || progressing
            .is_some_and(|progressing| progressing.status == "True" && progressing.reason == "NewReplicaSetAvailable");
    let available = condition(object, "Available").is_some_and(|available| available.status == "True");
    let waiting = if count("replicas") < wanted {
        format!("Replicas: {}/{wanted}", count("replicas"))
    } else if count("updatedReplicas") < wanted {
        format!("Updated: {}/{wanted}", count("updatedReplicas"))
    } else if count("replicas") > wanted {
        format!("Pending termination: {}", count("replicas") - wanted)
    } else if count("updatedReplicas") > count("availableReplicas") {
        format!("Available: {}/{}", count("availableReplicas"), count("updatedReplicas"))
    } else if count("readyReplicas") < wanted {
        format!("Ready: {}/{wanted}", count("readyReplicas"))
    } else if !progress_known {
        "ReplicaSet not Available".to_owned()
    } else if !available {
        "Deployment not Available".to_owned()
    } else {
        return assess_as(Health::Current, format!("Deployment is available. Replicas: {}", count("replicas")));
    };
    assess_as(Health::InProgress, waiting)
}

fn persistent_volume_claim(object: &Value) -> Assessment {
    match object.pointer("/status/phase").and_then(Value::as_str) {
        Some("Bound") => assess_as(Health::Current, "PVC is Bound"),
        phase => assess_as(Health::InProgress, format!("PVC is not Bound. phase: {}", phase.unwrap_or("unknown"))),
    }
}

fn service(object: &Value) -> Assessment {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    if text("/spec/type") == "LoadBalancer" && text("/spec/clusterIP").is_empty() {
        return assess_as(Health::InProgress, "ClusterIP not set. Service type: LoadBalancer");
    }
    assess_as(Health::Current, "Service is ready")
}

fn custom_resource_definition(object: &Value) -> Assessment {
    if let Some(names) = condition(object, "NamesAccepted").filter(|condition| condition.status == "False") {
        return assess_as(Health::Failed, names.message);
    }
    match condition(object, "Established") {
        Some(established) if established.status == "True" => assess_as(Health::Current, "CRD is established"),
        Some(established) if established.status == "False" && established.reason != "Installing" => {
            assess_as(Health::Failed, established.message)
        }
        _ => assess_as(Health::InProgress, "Install in progress"),
    }
}

fn by_ready_condition(object: &Value) -> Assessment {
    match condition(object, "Ready") {
        Some(ready) if ready.status == "True" => assess_as(Health::Current, ready.message),
        Some(ready) => assess_as(Health::InProgress, ready.message),
        None => assess_as(Health::Current, "Resource is current"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn deployment_with(status: Value) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"generation": 2},
            "spec": {"replicas": 1, "progressDeadlineSeconds": 600}, "status": status})
    }

    fn available() -> Value {
        json!({"observedGeneration": 2, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1, "conditions": [
            {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"},
            {"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable"}]})
    }

    #[test]
    fn a_deployment_is_current_when_its_new_replica_set_is_available() {
        assert_eq!(assess(&deployment_with(available())).health, Health::Current);
        let mut stale = available();
        stale["observedGeneration"] = json!(1);
        assert_eq!(assess(&deployment_with(stale)).health, Health::InProgress);
        let mut rolling = available();
        rolling["conditions"][0]["reason"] = json!("ReplicaSetUpdated");
        assert_eq!(assess(&deployment_with(rolling)).health, Health::InProgress);
        let mut two = available();
        two["replicas"] = json!(2);
        assert_eq!(assess(&deployment_with(two)).message, "Pending termination: 1");
        assert_eq!(assess(&deployment_with(json!({}))).message, "Replicas: 0/1");
    }

    #[test]
    fn a_deployment_past_its_progress_deadline_has_failed() {
        let mut late = available();
        late["conditions"][0] = json!({"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "too late"});
        assert_eq!(assess(&deployment_with(late)), assess_as(Health::Failed, "too late"));
    }

    #[test]
    fn a_deployment_without_replicas_can_be_current() {
        let mut none =
            deployment_with(json!({"observedGeneration": 2, "conditions": available()["conditions"].clone()}));
        none["spec"]["replicas"] = json!(0);
        assert_eq!(assess(&none).health, Health::Current);
    }

    #[test]
    fn claims_definitions_and_custom_resources_follow_their_own_rules() {
        let claim =
            |phase: &str| json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "status": {"phase": phase}});
        assert_eq!(assess(&claim("Pending")).health, Health::InProgress);
        assert_eq!(assess(&claim("Bound")).health, Health::Current);
        let crd = |kind: &str, status: &str, reason: &str| {
            json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "status": {"conditions": [{"type": kind, "status": status, "reason": reason}]}})
        };
        assert_eq!(assess(&crd("Established", "True", "InitialNamesAccepted")).health, Health::Current);
        assert_eq!(assess(&crd("Established", "False", "Installing")).health, Health::InProgress);
        assert_eq!(assess(&crd("Established", "False", "NotAccepted")).health, Health::Failed);
        assert_eq!(assess(&crd("NamesAccepted", "False", "PluralConflict")).health, Health::Failed);
        let source = |conditions: Value| json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "status": {"conditions": conditions}});
        assert_eq!(assess(&source(json!([]))).health, Health::Current);
        assert_eq!(assess(&source(json!([{"type": "Ready", "status": "False"}]))).health, Health::InProgress);
        assert_eq!(assess(&source(json!([{"type": "Ready", "status": "True"}]))).health, Health::Current);
        assert_eq!(assess(&source(json!([{"type": "Stalled", "status": "True"}]))).health, Health::Failed);
        assert_eq!(assess(&json!({"metadata": {"deletionTimestamp": "x"}})).health, Health::Terminating);
    }
}
