//! Explains from its pods why a Deployment does not become available. Pure.

use serde_json::Value;

use super::fields::{self, text};

/// Reasons of a waiting container that are part of a normal start.
const ORDINARY: &[&str] = &["ContainerCreating", "PodInitializing"];

/// Returns the reason why a Deployment's pods do not run, or `None` if there is no known reason.
pub fn trouble<'a>(deployment: &Value, pods: impl IntoIterator<Item = &'a Value>) -> Option<String> {
    let ours = pods
        .into_iter()
        .filter(|pod| is_selected(deployment, pod) && pod.pointer("/metadata/deletionTimestamp").is_none());
    // The newest pod belongs to the current rollout.
    let mut ours: Vec<&Value> = ours.collect();
    ours.sort_by_key(|pod| std::cmp::Reverse(text(pod, "/metadata/creationTimestamp")));
    ours.into_iter().find_map(pod_trouble).or_else(|| replica_failure(deployment))
}

/// Whether a Deployment's `matchLabels` select a pod; Flux's Deployments use no other selector.
fn is_selected(deployment: &Value, pod: &Value) -> bool {
    let Some(wanted) = deployment.pointer("/spec/selector/matchLabels").and_then(Value::as_object) else {
        return false;
    };
    text(deployment, "/metadata/namespace") == text(pod, "/metadata/namespace")
        && wanted
            .iter()
            .all(|(key, value)| pod.pointer("/metadata/labels").and_then(|labels| labels.get(key)) == Some(value))
}

fn pod_trouble(pod: &Value) -> Option<String> {
    let name = text(pod, "/metadata/name");
    for status in fields::container_statuses(pod) {
        let container = text(status, "/name");
        let last_exit = last_exit(status, "/lastState/terminated");
        let reason = text(status, "/state/waiting/reason");
        if !reason.is_empty() && !ORDINARY.contains(&reason) {
            let mut what = format!("{reason}: pod {name}, container {container}");
            let message = text(status, "/state/waiting/message");
            if !message.is_empty() {
                what.push_str(&format!(": {message}"));
            }
            if let Some(exit) = last_exit {
                what.push_str(&format!("; last exit: {exit}"));
            }
            return Some(what);
        }
        if let Some(exit) = self::last_exit(status, "/state/terminated") {
            return Some(format!("pod {name}, container {container} ended: {exit}"));
        }
        if let Some(exit) = last_exit.filter(|_| status.get("ready") == Some(&Value::Bool(false))) {
            return Some(format!("pod {name}, container {container} was restarted; last exit: {exit}"));
        }
    }
    let unscheduled = fields::condition(pod, "PodScheduled").filter(|scheduled| scheduled.is_false())?;
    Some(format!("{}: pod {name}: {}", unscheduled.reason(), unscheduled.message()))
}

/// Describes how a container failed: `OOMKilled, exit code 137`.
fn last_exit(status: &Value, pointer: &str) -> Option<String> {
    let ended = status.pointer(pointer)?;
    let code = ended.get("exitCode").and_then(Value::as_i64).unwrap_or(0);
    let reason = text(ended, "/reason");
    if code == 0 && reason != "OOMKilled" {
        return None;
    }
    let message = text(ended, "/message");
    let detail = if message.is_empty() { String::new() } else { format!(" ({})", message.trim()) };
    Some(format!("{}, exit code {code}{detail}", if reason.is_empty() { "Error" } else { reason }))
}

/// Explains pods that cannot be created: a quota, an admission webhook.
fn replica_failure(deployment: &Value) -> Option<String> {
    let conditions = deployment.pointer("/status/conditions")?.as_array()?;
    let failure =
        conditions.iter().find(|one| text(one, "/type") == "ReplicaFailure" && text(one, "/status") == "True")?;
    Some(format!("{}: {}", text(failure, "/reason"), text(failure, "/message")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn deployment() -> Value {
        json!({"metadata": {"namespace": "n", "name": "d"}, "spec": {"selector": {"matchLabels": {"app": "d"}}}})
    }

    fn pod(created: &str, status: Value) -> Value {
        json!({"metadata": {"namespace": "n", "name": format!("d-{created}"), "labels": {"app": "d", "x": "y"}, "creationTimestamp": created},
            "status": status})
    }

    fn container(state: Value, last: Value) -> Value {
        json!({"containerStatuses": [{"name": "manager", "ready": false, "state": state, "lastState": last}]})
    }

    #[test]
    fn an_image_that_cannot_be_pulled_is_named() {
        let waiting = json!({"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image \"x\""}});
        let found = trouble(&deployment(), [&pod("1", container(waiting, json!({})))]).unwrap();
        assert_eq!(found, "ImagePullBackOff: pod d-1, container manager: Back-off pulling image \"x\"");
    }

    #[test]
    fn a_crash_loop_shows_how_the_container_ended() {
        let waiting = json!({"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}});
        let last = json!({"terminated": {"reason": "OOMKilled", "exitCode": 137}});
        let found = trouble(&deployment(), [&pod("1", container(waiting, last))]).unwrap();
        assert_eq!(
            found,
            "CrashLoopBackOff: pod d-1, container manager: back-off 10s; last exit: OOMKilled, exit code 137"
        );
    }

    #[test]
    fn the_newest_pod_counts_and_ordinary_starts_are_not_a_problem() {
        let old = pod("1", container(json!({"waiting": {"reason": "ErrImagePull"}}), json!({})));
        let new = pod("2", container(json!({"waiting": {"reason": "ContainerCreating"}}), json!({})));
        assert_eq!(trouble(&deployment(), [&new]), None);
        assert_eq!(trouble(&deployment(), [&old, &new]).unwrap(), "ErrImagePull: pod d-1, container manager");
        let mut stranger = old.clone();
        stranger["metadata"]["labels"]["app"] = json!("other");
        assert_eq!(trouble(&deployment(), [&stranger]), None);
    }

    #[test]
    fn a_pod_without_a_node_and_one_that_is_refused_are_explained() {
        let status = json!({"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}]});
        assert_eq!(trouble(&deployment(), [&pod("1", status)]).unwrap(), "Unschedulable: pod d-1: 0/1 nodes");
        let mut refused = deployment();
        refused["status"] = json!({"conditions": [{"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "exceeded quota"}]});
        assert_eq!(trouble(&refused, []).unwrap(), "FailedCreate: exceeded quota");
    }
}
