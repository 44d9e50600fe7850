//! Computes whether an object has reached its desired state, by the rules of kstatus
//! (<https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md>), which Flux uses too.
//!
//! Pure: one object in, one status out. Only the caller can know [`Status::NotFound`].

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use super::fields::{at, condition, group, items, kind, number, text};

/// Result of kstatus for one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, schemars::JsonSchema)]
pub enum Status {
    /// The desired state is reached.
    Current,
    /// The desired state is not yet reached.
    InProgress,
    /// The controller gave up, or needs help.
    Failed,
    /// The object is being deleted.
    Terminating,
    /// The object does not exist.
    NotFound,
    /// The object's state cannot be determined.
    Unknown,
}

impl Status {
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Current => "Current",
            Status::InProgress => "InProgress",
            Status::Failed => "Failed",
            Status::Terminating => "Terminating",
            Status::NotFound => "NotFound",
            Status::Unknown => "Unknown",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A status with its explanation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    pub status: Status,
    pub message: String,
}

impl Health {
    fn new(status: Status, message: impl Into<String>) -> Self {
        Health { status, message: message.into() }
    }
    fn current(message: impl Into<String>) -> Self {
        Health::new(Status::Current, message)
    }
    fn progressing(message: impl Into<String>) -> Self {
        Health::new(Status::InProgress, message)
    }
    fn failed(message: impl Into<String>) -> Self {
        Health::new(Status::Failed, message)
    }
    pub fn is_current(&self) -> bool {
        self.status == Status::Current
    }
}

/// Computes the status of an object as returned by the API server.
pub fn compute(object: &Value) -> Health {
    if at(object, "/metadata/deletionTimestamp").is_some_and(|t| !t.is_null()) {
        return Health::new(Status::Terminating, "Resource scheduled for deletion");
    }
    // The status of another generation describes an older spec.
    let generation = number(object, "/metadata/generation");
    if let (Some(generation), Some(observed)) = (generation, number(object, "/status/observedGeneration"))
        && generation != observed
    {
        // Flux's definitions set -1 until a controller has seen the object.
        if observed < 0 {
            return Health::progressing("not reconciled yet");
        }
        return Health::progressing(format!(
            "generation {generation} is not reconciled yet, the last one was {observed}"
        ));
    }
    // The standard conditions of kstatus take precedence over rules of the kind.
    if let Some(condition) = condition(object, "Stalled").filter(|c| c.is_true()) {
        return Health::failed(condition.message());
    }
    if let Some(condition) = condition(object, "Reconciling").filter(|c| c.is_true()) {
        return Health::progressing(condition.message());
    }
    match (group(object), kind(object)) {
        ("apps", "Deployment") => deployment(object),
        ("apps", "StatefulSet") => stateful_set(object),
        ("apps", "DaemonSet") => daemon_set(object),
        ("apps", "ReplicaSet") => replica_set(object),
        ("batch", "Job") => job(object),
        ("", "Pod") => pod(object),
        ("", "PersistentVolumeClaim") => claim(object),
        ("", "Service") => service(object),
        ("policy", "PodDisruptionBudget") => Health::current("AllowedDisruptions has been computed."),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => definition(object),
        _ => by_ready_condition(object),
    }
}

/// Computes the status of an object by the stricter rules that Flux waits for: a Job must be complete, and an object of
/// the operator needs a true Ready condition that describes the current spec.
pub fn compute_for_flux(object: &Value) -> Health {
    let computed = compute(object);
    let is_of_operator = group(object) == "fluxcd.controlplane.io" && kind(object) != "FluxReport";
    match (group(object), kind(object)) {
        _ if computed.status == Status::Terminating => computed,
        ("batch", "Job") if computed.is_current() && !condition(object, "Complete").is_some_and(|c| c.is_true()) => {
            Health::progressing("Job in progress")
        }
        _ if is_of_operator && is_observed_ready(object) => Health::current("Resource is Ready"),
        // Stalled objects are included, because they may be waiting for objects that are applied later.
        _ if is_of_operator => {
            let message = condition(object, "Ready").map(|ready| ready.message().to_owned());
            Health::progressing(message.unwrap_or_else(|| "there is no Ready condition".to_owned()))
        }
        _ => computed,
    }
}

/// Reports whether the Ready condition is true and describes the current generation.
pub fn is_observed_ready(object: &Value) -> bool {
    let generation = number(object, "/metadata/generation");
    let mut ready = items(object, "/status/conditions").iter().filter(|one| text(one, "/type") == "Ready").peekable();
    ready.peek().is_some()
        && ready.all(|one| text(one, "/status") == "True" && number(one, "/observedGeneration") == generation)
}

fn by_ready_condition(object: &Value) -> Health {
    match condition(object, "Ready") {
        Some(ready) if ready.is_true() => Health::current("Resource is Ready"),
        // False is included, because only Stalled means that the controller has given up.
        Some(ready) => Health::progressing(ready.message()),
        None => Health::current("Resource is current"),
    }
}

fn deployment(object: &Value) -> Health {
    let progressing = condition(object, "Progressing");
    if progressing.is_some_and(|c| c.reason() == "ProgressDeadlineExceeded") {
        return Health::failed("Progress deadline exceeded");
    }
    let desired = number(object, "/spec/replicas").unwrap_or(1);
    let status = |field: &str| number(object, &format!("/status/{field}")).unwrap_or(0);
    if desired > status("replicas") {
        return Health::progressing(format!("Replicas: {}/{desired}", status("replicas")));
    }
    if desired > status("updatedReplicas") {
        return Health::progressing(format!("Updated: {}/{desired}", status("updatedReplicas")));
    }
    if status("replicas") > desired {
        return Health::progressing(format!("Pending termination: {}", status("replicas") - desired));
    }
    if status("updatedReplicas") > status("availableReplicas") {
        return Health::progressing(format!(
            "Available: {}/{}",
            status("availableReplicas"),
            status("updatedReplicas")
        ));
    }
    if desired > status("readyReplicas") {
        return Health::progressing(format!("Ready: {}/{desired}", status("readyReplicas")));
    }
    // Without a deadline the controller never reports the new replica set as available.
    let has_deadline = at(object, "/spec/progressDeadlineSeconds").is_some();
    if has_deadline && !progressing.is_some_and(|c| c.is_true() && c.reason() == "NewReplicaSetAvailable") {
        return Health::progressing("ReplicaSet not Available");
    }
    if !condition(object, "Available").is_some_and(|c| c.is_true()) {
        return Health::progressing("Deployment not Available");
    }
    Health::current(format!("Deployment is available. Replicas: {}", status("replicas")))
}

fn stateful_set(object: &Value) -> Health {
    // Nothing changes until a person deletes pods.
    if text(object, "/spec/updateStrategy/type") == "OnDelete" {
        return Health::current("StatefulSet is using the ondelete update strategy");
    }
    let desired = number(object, "/spec/replicas").unwrap_or(1);
    let status = |field: &str| number(object, &format!("/status/{field}")).unwrap_or(0);
    for (field, word) in [("replicas", "Replicas"), ("readyReplicas", "Ready")] {
        if desired > status(field) {
            return Health::progressing(format!("{word}: {}/{desired}", status(field)));
        }
    }
    if status("replicas") > desired {
        return Health::progressing(format!("Pending termination: {}", status("replicas") - desired));
    }
    if let Some(partition) = number(object, "/spec/updateStrategy/rollingUpdate/partition").filter(|p| *p > 0) {
        // Pods below the partition keep the old revision on purpose.
        let wanted = desired - partition;
        if status("updatedReplicas") < wanted {
            return Health::progressing(format!("updated: {}/{wanted}", status("updatedReplicas")));
        }
        return Health::current(format!("Partition rollout complete. updated: {}", status("updatedReplicas")));
    }
    if status("currentReplicas") < desired {
        return Health::progressing(format!("current: {}/{desired}", status("currentReplicas")));
    }
    if text(object, "/status/currentRevision") != text(object, "/status/updateRevision") {
        return Health::progressing("Waiting for updated revision to match current");
    }
    Health::current(format!("All replicas scheduled as expected. Replicas: {}", status("replicas")))
}

fn daemon_set(object: &Value) -> Health {
    if text(object, "/spec/updateStrategy/type") == "OnDelete" {
        return Health::current("DaemonSet is using the ondelete update strategy");
    }
    let status = |field: &str| number(object, &format!("/status/{field}"));
    let Some(desired) = status("desiredNumberScheduled") else {
        return Health::progressing("Missing .status.desiredNumberScheduled");
    };
    for (field, word) in [
        ("currentNumberScheduled", "Current"),
        ("updatedNumberScheduled", "Updated"),
        ("numberAvailable", "Available"),
        ("numberReady", "Ready"),
    ] {
        if desired > status(field).unwrap_or(0) {
            return Health::progressing(format!("{word}: {}/{desired}", status(field).unwrap_or(0)));
        }
    }
    Health::current(format!("All replicas scheduled as expected. Replicas: {desired}"))
}

fn replica_set(object: &Value) -> Health {
    let desired = number(object, "/spec/replicas").unwrap_or(1);
    if let Some(failure) = condition(object, "ReplicaFailure").filter(|c| c.is_true()) {
        return Health::progressing(failure.message());
    }
    for (field, word) in
        [("fullyLabeledReplicas", "Labelled"), ("availableReplicas", "Available"), ("readyReplicas", "Ready")]
    {
        let have = number(object, &format!("/status/{field}")).unwrap_or(0);
        if desired > have {
            return Health::progressing(format!("{word}: {have}/{desired}"));
        }
    }
    let have = number(object, "/status/replicas").unwrap_or(0);
    if have > desired {
        return Health::progressing(format!("Pending termination: {}", have - desired));
    }
    Health::current(format!("ReplicaSet is available. Replicas: {have}"))
}

fn job(object: &Value) -> Health {
    if condition(object, "Failed").is_some_and(|c| c.is_true()) {
        return Health::failed("Job failed");
    }
    if condition(object, "Complete").is_some_and(|c| c.is_true()) {
        return Health::current("Job completed");
    }
    // A Job that has started counts as done; kstatus does not wait for its end.
    if text(object, "/status/startTime").is_empty() {
        Health::progressing("Job not started")
    } else {
        Health::current("Job in progress")
    }
}

fn pod(object: &Value) -> Health {
    let restarting = items(object, "/status/containerStatuses")
        .iter()
        .any(|status| text(status, "/state/waiting/reason") == "CrashLoopBackOff");
    match text(object, "/status/phase") {
        "Succeeded" => Health::current("Pod has completed successfully"),
        "Failed" => Health::failed("Pod has completed, but not successfully"),
        "Running" if condition(object, "Ready").is_some_and(|c| c.is_true()) => Health::current("Pod is Ready"),
        "Running" if restarting => Health::failed("Containers in CrashLoop state"),
        "Running" => Health::progressing("Pod is running but is not Ready"),
        "Pending" => match condition(object, "PodScheduled") {
            Some(scheduled) if scheduled.is_false() && scheduled.reason() == "Unschedulable" => {
                Health::failed("Pod could not be scheduled")
            }
            Some(scheduled) if scheduled.is_false() => Health::progressing("Pod has not been scheduled"),
            _ => Health::progressing("Pod is in the Pending phase"),
        },
        "" => Health::progressing("Pod phase not available"),
        phase => Health::new(Status::Unknown, format!("unknown pod phase {phase}")),
    }
}

fn claim(object: &Value) -> Health {
    match text(object, "/status/phase") {
        "Bound" => Health::current("PVC is Bound"),
        phase => Health::progressing(format!("PVC is not Bound. phase: {phase}")),
    }
}

fn service(object: &Value) -> Health {
    if text(object, "/spec/type") == "LoadBalancer" && text(object, "/spec/clusterIP").is_empty() {
        return Health::progressing("ClusterIP not set. Service type: LoadBalancer");
    }
    Health::current("Service is ready")
}

fn definition(object: &Value) -> Health {
    if let Some(names) = condition(object, "NamesAccepted").filter(|c| c.is_false()) {
        return Health::failed(names.message());
    }
    match condition(object, "Established") {
        Some(established) if established.is_true() => Health::current("CRD is established"),
        // During installation the API server reports False as well.
        Some(established) if established.is_false() && established.reason() != "Installing" => {
            Health::failed(established.message())
        }
        _ => Health::progressing("Install in progress"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn status(object: Value) -> Status {
        compute(&object).status
    }

    fn deployment(status: Value) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"generation": 1},
            "spec": {"replicas": 1, "progressDeadlineSeconds": 600}, "status": status})
    }

    #[test]
    fn a_deployment_is_current_only_when_its_new_set_is_available() {
        let ready = json!({"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1,
            "availableReplicas": 1, "conditions": [
                {"type": "Available", "status": "True"},
                {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"}]});
        let health = compute(&deployment(ready.clone()));
        assert_eq!(health.status, Status::Current);
        assert_eq!(health.message, "Deployment is available. Replicas: 1");
        let mut old = ready.clone();
        old["observedGeneration"] = 0.into();
        assert_eq!(status(deployment(old)), Status::InProgress);
        let mut updating = ready;
        updating["conditions"][1]["reason"] = "ReplicaSetUpdated".into();
        assert_eq!(status(deployment(updating)), Status::InProgress);
        assert_eq!(status(deployment(json!({}))), Status::InProgress);
    }

    #[test]
    fn a_deployment_past_its_deadline_has_failed() {
        let status =
            json!({"conditions": [{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}]});
        assert_eq!(compute(&deployment(status)).status, Status::Failed);
    }

    #[test]
    fn the_generic_conditions_come_before_the_kind() {
        let stalled = json!({"kind": "Kustomization", "status": {"conditions": [
            {"type": "Stalled", "status": "True", "message": "no\n"}, {"type": "Ready", "status": "False"}]}});
        assert_eq!(compute(&stalled), Health { status: Status::Failed, message: "no".into() });
        let going =
            json!({"kind": "Kustomization", "status": {"conditions": [{"type": "Reconciling", "status": "True"}]}});
        assert_eq!(status(going), Status::InProgress);
        let deleted = json!({"kind": "Kustomization", "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
        assert_eq!(status(deleted), Status::Terminating);
    }

    #[test]
    fn kinds_without_conditions_are_current_and_unready_ones_in_progress() {
        assert_eq!(status(json!({"kind": "ConfigMap"})), Status::Current);
        let ready = |word: &str| json!({"kind": "X", "status": {"conditions": [{"type": "Ready", "status": word}]}});
        assert_eq!(status(ready("True")), Status::Current);
        assert_eq!(status(ready("False")), Status::InProgress);
        assert_eq!(status(ready("Unknown")), Status::InProgress);
    }

    #[test]
    fn a_definition_is_current_when_established() {
        let crd = |conditions: Value| json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "status": {"conditions": conditions}});
        assert_eq!(status(crd(json!([{"type": "Established", "status": "True"}]))), Status::Current);
        assert_eq!(
            status(crd(json!([{"type": "Established", "status": "False", "reason": "Installing"}]))),
            Status::InProgress
        );
        assert_eq!(status(crd(json!([{"type": "NamesAccepted", "status": "False"}]))), Status::Failed);
        assert_eq!(status(crd(json!([]))), Status::InProgress);
    }

    #[test]
    fn a_claim_waits_for_its_volume_and_a_crashing_pod_has_failed() {
        let claim =
            |phase: &str| json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "status": {"phase": phase}});
        assert_eq!(status(claim("Bound")), Status::Current);
        assert_eq!(status(claim("Pending")), Status::InProgress);
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "status": {"phase": "Running",
            "containerStatuses": [{"state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}});
        assert_eq!(status(pod), Status::Failed);
    }

    /// Cases of the tables in `pkg/kstatus/status` of <https://github.com/kubernetes-sigs/cli-utils> (Apache-2.0),
    /// abridged.
    #[test]
    fn the_tables_of_kstatus_hold_but_for_the_clock() {
        use Status::{Current, Failed, InProgress};
        let of = |api_version: &str, kind: &str, spec: Value, status: Value| json!({"apiVersion": api_version, "kind": kind, "metadata": {"generation": 1}, "spec": spec, "status": status});
        let pod = |status: Value| of("v1", "Pod", json!({}), status);
        let set = |replicas: i64, current: i64, ready: i64| {
            of(
                "apps/v1",
                "StatefulSet",
                json!({"replicas": 4}),
                json!({"observedGeneration": 1, "currentReplicas": current, "readyReplicas": ready, "replicas": replicas}),
            )
        };
        let daemons = |available: i64, ready: i64, observed: i64| {
            of(
                "apps/v1",
                "DaemonSet",
                json!({}),
                json!({"observedGeneration": observed, "desiredNumberScheduled": 4, "currentNumberScheduled": 4, "updatedNumberScheduled": 4, "numberAvailable": available, "numberReady": ready}),
            )
        };
        let replicas = |status: Value| of("apps/v1", "ReplicaSet", json!({"replicas": 2}), status);
        let job = |status: Value| of("batch/v1", "Job", json!({}), status);
        let unschedulable = json!([{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]);
        let true_of = |kind: &str| json!([{"type": kind, "status": "True"}]);
        for (object, expected) in [
            (pod(json!({})), InProgress),
            (pod(json!({"phase": "Running", "conditions": true_of("Ready")})), Current),
            (
                pod(
                    json!({"phase": "Succeeded", "conditions": [{"type": "Ready", "status": "False", "reason": "PodCompleted"}]}),
                ),
                Current,
            ),
            // The table waits 15 s before a new Pod fails. This code has no clock, and such a Pod needs attention
            // sooner.
            (pod(json!({"phase": "Pending", "conditions": unschedulable})), Failed),
            (set(4, 4, 4), Current),
            (set(4, 4, 2), InProgress),
            (set(4, 2, 4), InProgress),
            (set(8, 4, 4), InProgress),
            (
                of("apps/v1", "StatefulSet", json!({}), json!({"observedGeneration": 1, "currentReplicas": 1})),
                InProgress,
            ),
            (daemons(4, 4, 1), Current),
            (daemons(4, 2, 1), InProgress),
            (daemons(2, 4, 1), InProgress),
            (daemons(4, 4, 0), InProgress),
            (of("apps/v1", "DaemonSet", json!({}), json!({"observedGeneration": 1})), InProgress),
            (
                replicas(
                    json!({"observedGeneration": 1, "replicas": 2, "readyReplicas": 2, "availableReplicas": 2, "fullyLabeledReplicas": 2}),
                ),
                Current,
            ),
            (
                replicas(
                    json!({"observedGeneration": 1, "replicas": 2, "readyReplicas": 2, "availableReplicas": 1, "fullyLabeledReplicas": 2}),
                ),
                InProgress,
            ),
            (
                replicas(
                    json!({"observedGeneration": 1, "replicas": 4, "readyReplicas": 2, "availableReplicas": 2, "fullyLabeledReplicas": 2}),
                ),
                InProgress,
            ),
            (of("policy/v1", "PodDisruptionBudget", json!({}), json!({"currentHealthy": 1})), Current),
            (job(json!({})), InProgress),
            (job(json!({"startTime": "2019-06-04T01:17:13Z"})), Current),
            (job(json!({"startTime": "2019-06-04T01:17:13Z", "conditions": true_of("Complete")})), Current),
            (job(json!({"startTime": "2019-06-04T01:17:13Z", "conditions": true_of("Failed")})), Failed),
            (of("batch/v1", "CronJob", json!({}), json!({})), Current),
            (of("v1", "Service", json!({"type": "ClusterIP"}), json!({})), Current),
            (of("v1", "Service", json!({"type": "NodePort"}), json!({})), Current),
            (of("v1", "Service", json!({"type": "LoadBalancer"}), json!({})), InProgress),
            (
                of(
                    "v1",
                    "Service",
                    json!({"type": "LoadBalancer", "clusterIP": "1.2.3.4"}),
                    json!({"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}),
                ),
                Current,
            ),
        ] {
            assert_eq!(compute(&object).status, expected, "{object}");
        }
    }

    #[test]
    fn flux_waits_for_jobs_to_complete_and_for_kinds_of_the_operator_to_observe_their_spec() {
        let job = |conditions: Value| {
            json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": {},
            "status": {"startTime": "2026-01-01T00:00:00Z", "conditions": conditions}})
        };
        assert_eq!(compute_for_flux(&job(json!([]))).status, Status::InProgress);
        assert_eq!(compute_for_flux(&job(json!([{"type": "Complete", "status": "True"}]))).status, Status::Current);
        assert_eq!(compute_for_flux(&job(json!([{"type": "Failed", "status": "True"}]))).status, Status::Failed);
        let set = |status: &str, observed: i64| {
            json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "ResourceSet",
            "metadata": {"name": "a", "generation": 2}, "status": {"conditions": [
                {"type": "Stalled", "status": "True"},
                {"type": "Ready", "status": status, "observedGeneration": observed}]}})
        };
        assert_eq!(compute_for_flux(&set("True", 1)).status, Status::InProgress);
        assert_eq!(compute_for_flux(&set("False", 2)).status, Status::InProgress);
        assert_eq!(compute_for_flux(&set("True", 2)).status, Status::Current);
        assert!(!is_observed_ready(&json!({"metadata": {"generation": 1}})));
    }
}
