//! Watches the Deployments and pods of Flux's controllers while an operator in the cluster starts them.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::api::kinds;
use crate::api::well_known::PART_OF_LABEL;
use crate::cluster::watch::{FollowedChange, Follower};
use crate::cluster::{Cluster, ClusterError, ListOptions};
use crate::k8s::kstatus::Status;
use crate::k8s::pod_trouble;
use crate::k8s::{fields, kstatus};

/// The state of a controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComponentState {
    /// Name of its Deployment.
    pub name: String,
    pub status: Status,
    /// The reason to wait; trouble of a pod first.
    pub message: String,
}

/// Follows the controllers of one namespace.
pub struct Rollout {
    deployments: Follower,
    pods: Follower,
    known: ComponentStates,
}

impl Rollout {
    /// Follows the Deployments that are part of Flux in a namespace.
    pub fn new(cluster: &Cluster, namespace: &str) -> Self {
        let part_of_flux = ListOptions::labelled(format!("{PART_OF_LABEL}=flux"));
        let follow = |kind, selector| Follower::new(cluster, kind, Some(namespace), selector, None);
        Rollout {
            deployments: follow(kinds::DEPLOYMENT, part_of_flux),
            // Pods lack this label, so pods of other Deployments are ignored later.
            pods: follow(kinds::POD, ListOptions::default()),
            known: ComponentStates::default(),
        }
    }

    /// Returns the controllers whose state changed. Controllers that were ready from the start are not reported.
    ///
    /// Cancelling loses nothing.
    ///
    /// # Errors
    /// Deployments or pods cannot be watched.
    pub async fn next(&mut self) -> Result<Vec<ComponentState>, ClusterError> {
        loop {
            tokio::select! {
                change = self.deployments.next() => apply(&mut self.known.deployments, change?),
                change = self.pods.next() => apply(&mut self.known.pods, change?),
            }
            let news = self.known.news();
            if !news.is_empty() {
                return Ok(news);
            }
        }
    }
}

#[derive(Default)]
struct ComponentStates {
    deployments: BTreeMap<String, Value>,
    pods: BTreeMap<String, Value>,
    reported: BTreeMap<String, ComponentState>,
}

impl ComponentStates {
    fn news(&mut self) -> Vec<ComponentState> {
        let mut news = vec![];
        for (name, deployment) in &self.deployments {
            let health = kstatus::compute(deployment);
            let trouble = if health.is_current() { None } else { pod_trouble::trouble(deployment, self.pods.values()) };
            let message = trouble.unwrap_or(health.message);
            let state = ComponentState { name: name.clone(), status: health.status, message };
            let reported = self.reported.get(name);
            if reported == Some(&state) || (reported.is_none() && health.status == Status::Current) {
                continue;
            }
            self.reported.insert(name.clone(), state.clone());
            news.push(state);
        }
        let gone: Vec<String> =
            self.reported.keys().filter(|name| !self.deployments.contains_key(*name)).cloned().collect();
        for name in gone {
            self.reported.remove(&name);
            news.push(ComponentState { name, status: Status::NotFound, message: "deleted".into() });
        }
        news
    }
}

fn apply(known: &mut BTreeMap<String, Value>, change: FollowedChange) {
    let name = |object: &Value| fields::name(object).to_owned();
    match change {
        FollowedChange::All(objects) => *known = objects.into_iter().map(|object| (name(&object), object)).collect(),
        FollowedChange::Set(object) => {
            known.insert(name(&object), object);
        }
        FollowedChange::Gone(object) => {
            known.remove(&name(&object));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn deployment(available: i64) -> Value {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "source-controller", "namespace": "flux-system", "generation": 1},
            "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "source-controller"}}},
            "status": {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": available,
                "availableReplicas": available, "conditions": [
                    {"type": "Available", "status": if available > 0 { "True" } else { "False" }},
                    {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"}]},
        })
    }

    fn crashing_pod() -> Value {
        json!({"metadata": {"name": "source-controller-x", "namespace": "flux-system", "labels": {"app": "source-controller"}},
            "status": {"containerStatuses": [{"name": "manager", "ready": false,
                "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}}]}})
    }

    #[test]
    fn a_controller_is_reported_from_its_first_problem_to_its_recovery_and_once_per_change() {
        let mut known = ComponentStates::default();
        apply(&mut known.deployments, FollowedChange::All(vec![deployment(1)]));
        assert_eq!(known.news(), [], "an object that was ready from the start is not reported");
        apply(&mut known.deployments, FollowedChange::Set(deployment(0)));
        assert_eq!(known.news().first().map(|s| s.status), Some(Status::InProgress));
        assert_eq!(known.news(), []);
        apply(&mut known.pods, FollowedChange::Set(crashing_pod()));
        let news = known.news();
        assert!(news.first().is_some_and(|s| s.message.contains("ImagePullBackOff")), "{news:?}");
        apply(&mut known.deployments, FollowedChange::Set(deployment(1)));
        assert_eq!(known.news().first().map(|s| s.status), Some(Status::Current));
        apply(&mut known.deployments, FollowedChange::Gone(deployment(1)));
        assert_eq!(known.news().first().map(|s| s.status), Some(Status::NotFound));
    }
}
