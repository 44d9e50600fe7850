//! Reports to others: events on the instance, and the same notifications for Flux's notification-controller.
//!
//! Both are sent beside the run, in order, and neither can delay or fail it: notifications that cannot be sent in time
//! are dropped.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};

use crate::api::Reconciled;
use crate::api::well_known::{API_VERSION, OPERATOR_NAME, REVISION_ANNOTATION};
use crate::cluster::events::{self, Event};
use crate::cluster::{self, Cluster, ClusterError, Reason};
use crate::format::backoff::Backoff;
use crate::k8s::fields;

/// Limit for events that are still being sent at the end of a run.
const EVENT_PATIENCE: Duration = Duration::from_secs(3);
/// Limit for one attempt to reach notification-controller.
const NOTIFY_TIMEOUT: Duration = Duration::from_secs(5);
const NOTIFY_ATTEMPTS: u32 = 5;

/// The route to notification-controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotificationTarget {
    /// Its address, from inside the cluster's network.
    Address(String),
    /// Through the API server, which works from anywhere.
    ServiceProxy,
}

/// Settings for notification-controller.
#[derive(Clone, Debug)]
pub struct Notifications {
    pub target: NotificationTarget,
    /// `reportingInstance` of the notification: a host name.
    pub reporter: String,
    /// Limit for notifications that are still being sent at the end of a run; zero leaves them to a background task.
    pub patience: Duration,
}

/// Reports about one instance, in order.
pub(crate) struct Announcer {
    cluster: Cluster,
    involved: Value,
    events: mpsc::UnboundedSender<Event>,
    worker: JoinHandle<()>,
    notifications: Option<Notifications>,
    posts: JoinSet<()>,
}

impl Announcer {
    /// `involved` is the instance as read, with `apiVersion` and `kind`.
    pub(crate) fn new(cluster: &Cluster, involved: Value, notifications: Option<Notifications>) -> Self {
        let (events, mut queue) = mpsc::unbounded_channel::<Event>();
        let (to, about) = (cluster.clone(), involved.clone());
        let worker = tokio::spawn(async move {
            let mut sequence = 0;
            while let Some(event) = queue.recv().await {
                sequence += 1;
                let manifest = events::manifest(&event, &about, Timestamp::now(), sequence);
                if let Err(error) = to.record(&manifest).await {
                    tracing::warn!(reason = event.reason, "cannot record an event: {}", error.reason);
                }
            }
        });
        Announcer { cluster: cluster.clone(), involved, events, worker, notifications, posts: JoinSet::new() }
    }

    /// Creates an announcer for an object that was read as its type.
    pub(crate) fn about<K: Reconciled>(cluster: &Cluster, object: &K, notifications: Option<Notifications>) -> Self {
        let mut involved = json!({"apiVersion": API_VERSION, "kind": K::kind(&())});
        // The type always has a JSON form. Without it, events would not name their object.
        involved["metadata"] = serde_json::to_value(object.meta()).unwrap_or_default();
        Announcer::new(cluster, involved, notifications)
    }

    /// Records an event.
    pub(crate) fn event(&mut self, event: Event) {
        // The worker lives as long as this sender.
        let _unheard = self.events.send(event);
    }

    /// Records an event and sends it to notification-controller.
    pub(crate) fn event_and_notify(&mut self, event: Event) {
        if let Some(notifications) = &self.notifications {
            let body = notification(&event, &self.involved, &notifications.reporter, Timestamp::now());
            self.posts.spawn(post(self.cluster.clone(), notifications.target.clone(), self.involved.clone(), body));
        }
        self.event(event);
    }

    /// Waits for reports that are still being sent, within limits.
    pub(crate) async fn finish(mut self) {
        // The worker ends when its queue is closed and empty.
        drop(self.events);
        if tokio::time::timeout(EVENT_PATIENCE, &mut self.worker).await.is_err() {
            self.worker.abort();
        }
        let patience = self.notifications.map_or(Duration::ZERO, |notifications| notifications.patience);
        if patience.is_zero() {
            self.posts.detach_all();
            return;
        }
        let all = async { while self.posts.join_next().await.is_some() {} };
        // Late reports are dropped with the set.
        let _late = tokio::time::timeout(patience, all).await;
    }
}

/// Returns the body of a notification in the event format of Flux's controllers
/// (<https://fluxcd.io/flux/components/notification/events/>).
pub(crate) fn notification(event: &Event, object: &Value, reporter: &str, now: Timestamp) -> Value {
    let mut body = json!({
        "involvedObject": events::involved_object(object),
        "severity": if event.warning { "error" } else { "info" },
        "timestamp": Timestamp::from_second(now.as_second()).unwrap_or(now).to_string(),
        "message": event.message,
        "reason": event.reason,
        "reportingController": OPERATOR_NAME,
        "reportingInstance": reporter,
    });
    let mut metadata = serde_json::Map::new();
    if let Some(revision) = event.revision.as_ref().filter(|revision| !revision.is_empty()) {
        metadata.insert(REVISION_ANNOTATION.into(), revision.clone().into());
    }
    // The owner of the object may add metadata to all its events.
    for (key, value) in object.pointer("/metadata/annotations").and_then(Value::as_object).into_iter().flatten() {
        if key.starts_with("event.toolkit.fluxcd.io/") {
            metadata.insert(key.clone(), value.clone());
        }
    }
    if !metadata.is_empty() {
        body["metadata"] = Value::Object(metadata);
    }
    body
}

async fn post(cluster: Cluster, target: NotificationTarget, object: Value, body: Value) {
    let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(30));
    for attempt in 1..=NOTIFY_ATTEMPTS {
        match tokio::time::timeout(NOTIFY_TIMEOUT, post_once(&cluster, &target, &object, &body)).await {
            Ok(Ok(())) => return,
            // notification-controller already has this event.
            Ok(Err(error)) if matches!(error.reason, Reason::TooManyRequests { .. }) => return,
            Ok(Err(error)) => tracing::debug!(attempt, "{error}: {}", error.reason),
            Err(_) => tracing::debug!(attempt, "no answer from notification-controller"),
        }
        tokio::time::sleep(backoff.next_pause()).await;
    }
    tracing::warn!("notification-controller was not notified");
}

async fn post_once(
    cluster: &Cluster,
    target: &NotificationTarget,
    object: &Value,
    body: &Value,
) -> Result<(), ClusterError> {
    match target {
        NotificationTarget::ServiceProxy => {
            let namespace = fields::text(object, "/metadata/namespace");
            cluster.post_notification(namespace, body).await
        }
        NotificationTarget::Address(address) => cluster::post_notification(address, body).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notification_carries_the_revision_and_the_owners_metadata() {
        let object = json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance", "metadata": {
            "name": "flux", "namespace": "flux-system", "uid": "u", "resourceVersion": "3",
            "annotations": {"event.toolkit.fluxcd.io/team": "a", "other": "b"}}});
        let event = Event {
            warning: true,
            reason: "BuildFailed",
            message: "build failed: x".into(),
            revision: Some("v1@sha256:0".into()),
        };
        let body = notification(&event, &object, "host", "2026-01-02T03:04:05.5Z".parse().unwrap());
        assert_eq!(body["severity"], "error");
        assert_eq!(body["timestamp"], "2026-01-02T03:04:05Z");
        assert_eq!(
            body["metadata"],
            json!({"fluxcd.controlplane.io/revision": "v1@sha256:0", "event.toolkit.fluxcd.io/team": "a"})
        );
        let bare = json!({"metadata": {"name": "flux"}});
        let plain =
            notification(&Event { revision: None, ..event }, &bare, "host", "2026-01-02T03:04:05Z".parse().unwrap());
        assert_eq!(plain.get("metadata"), None);
    }
}
