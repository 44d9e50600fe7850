//! `core/v1` Events about an object, as shown by `kubectl describe` and Flux's own tools.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::call::ApiCall;
use super::{Cluster, ClusterError, Endpoint, diagnose, http_client};
use crate::api::well_known::{OPERATOR_NAME, RECONCILER_FIELD_MANAGER, REVISION_ANNOTATION};
use crate::format::tls::{self, ServerTrust};
use crate::k8s::fields;

/// An event about an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Whether the type is Warning instead of Normal.
    pub warning: bool,
    pub reason: &'static str,
    pub message: String,
    /// Recorded as an annotation.
    pub revision: Option<String>,
}

/// Returns the reference to an object for an event.
pub fn involved_object(object: &Value) -> Value {
    let text = |pointer: &str| fields::text(object, pointer);
    json!({
        "apiVersion": text("/apiVersion"),
        "kind": text("/kind"),
        "namespace": text("/metadata/namespace"),
        "name": text("/metadata/name"),
        "uid": text("/metadata/uid"),
        "resourceVersion": text("/metadata/resourceVersion"),
    })
}

/// Returns the Event object. `sequence` distinguishes events of the same instant.
pub fn manifest(event: &Event, object: &Value, now: Timestamp, sequence: u32) -> Value {
    let involved = involved_object(object);
    let name = involved["name"].as_str().unwrap_or_default();
    // The name contains the time, so a retried request does not create the event twice.
    let mut metadata = json!({
        "name": format!("{name}.{:x}{sequence:02x}", now.as_nanosecond()),
        "namespace": involved["namespace"],
    });
    if let Some(revision) = event.revision.as_ref().filter(|revision| !revision.is_empty()) {
        metadata["annotations"] = json!({REVISION_ANNOTATION: revision});
    }
    // The API stores seconds.
    let time = now.round(jiff::Unit::Second).unwrap_or(now).to_string();
    json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": metadata,
        "involvedObject": involved,
        "reason": event.reason,
        "message": event.message,
        "type": if event.warning { "Warning" } else { "Normal" },
        "source": {"component": OPERATOR_NAME},
        "reportingComponent": OPERATOR_NAME,
        "reportingInstance": "",
        "firstTimestamp": time,
        "lastTimestamp": time,
        "count": 1,
    })
}

/// Sends a notification to notification-controller at an address inside the cluster's network.
///
/// # Errors
/// [`super::Reason::TooManyRequests`] when it already has the notification.
pub async fn post_notification(address: &str, body: &Value) -> Result<(), ClusterError> {
    let endpoint = Endpoint { server: address.to_owned(), context: None };
    let connected =
        address.parse::<http::Uri>().map_err(|error| kube::Error::HttpError(error.into())).and_then(|uri| {
            let tls = tls::client_config(ServerTrust::System, None);
            let tls = tls.map_err(|error| kube::Error::Service(Box::new(error)))?;
            http_client::client(&kube::Config::new(uri), tls)
        });
    match connected {
        Ok(client) => Cluster::of_client(client, endpoint).post("/".to_owned(), body).await,
        Err(error) => Err(diagnose::explain(&error, "reach notification-controller", None, &endpoint)),
    }
}

impl Cluster {
    /// Sends a notification to the notification-controller of a namespace, through the API server.
    ///
    /// # Errors
    /// [`super::Reason::TooManyRequests`] when it already has the notification.
    pub async fn post_notification(&self, namespace: &str, body: &Value) -> Result<(), ClusterError> {
        // Through the API server's proxy, because the Service's name resolves only inside the cluster.
        let path = format!("/api/v1/namespaces/{namespace}/services/http:notification-controller:80/proxy/");
        self.post(path, body).await
    }

    async fn post(&self, path: String, body: &Value) -> Result<(), ClusterError> {
        let answer = self.answer_text(ApiCall::with_body(http::Method::POST, path, "application/json", body)).await;
        answer.map(drop).map_err(|e| self.explain(&e, "reach notification-controller", None))
    }

    /// Records an event.
    pub async fn record(&self, event: &Value) -> Result<(), ClusterError> {
        self.create(event, RECONCILER_FIELD_MANAGER).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_names_the_object_and_the_revision() {
        let object = json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
            "metadata": {"name": "flux", "namespace": "flux-system", "uid": "u", "resourceVersion": "3"}});
        let event = Event {
            warning: false,
            reason: "ReconciliationSucceeded",
            message: "done".into(),
            revision: Some("v1@sha256:0".into()),
        };
        let now: Timestamp = "2026-01-02T03:04:05.6Z".parse().unwrap();
        let sent = manifest(&event, &object, now, 1);
        assert_eq!(sent["metadata"]["annotations"]["fluxcd.controlplane.io/revision"], "v1@sha256:0");
        assert_eq!(sent["involvedObject"]["uid"], "u");
        assert_eq!(sent["type"], "Normal");
        assert_eq!(sent["lastTimestamp"], "2026-01-02T03:04:06Z");
        assert_ne!(sent["metadata"]["name"], manifest(&event, &object, now, 2)["metadata"]["name"]);
    }
}
