//! The verbs of the reconciler: objects by their id, errors with the server's own words.
//!
//! An answer of 404 only means that an object is gone when it names the object. One that does not (of a gateway, of an API
//! server that has not heard of a new version) is checked against what the server says it serves.

use std::time::Duration;

use futures::StreamExt;
use futures::stream::BoxStream;
use http::Method;
use kube::core::{Status, WatchEvent};
use serde_json::{Value, json};

pub use super::objects::ListOptions as Selector;
use super::objects::{ApplyOptions, Call, List, MERGE_PATCH, apply_call, object_path};
use super::retry::Repeat;
use super::{Cluster, ClusterError, Reason};
use crate::api::kinds::{ResourceType, known_resource};
use crate::k8s::ObjectId;

/// How often an object or a kind is asked for that is served and yet answered with 404.
const ATTEMPTS: u32 = 4;
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// A failed call: what it means to people, and what the server literally said.
#[derive(Debug, thiserror::Error)]
#[error("{explained}")]
pub struct CallError {
    #[source]
    pub explained: Box<ClusterError>,
    /// The server's answer; absent when there was none.
    pub status: Option<Box<Status>>,
}

impl CallError {
    fn code(&self) -> u16 {
        self.status.as_ref().map_or(0, |status| status.code)
    }

    fn reason(&self) -> &str {
        self.status.as_ref().map_or("", |status| status.reason.as_str())
    }

    /// The server says by name that the object, or the namespace it should be in, is not there.
    pub fn is_not_found(&self) -> bool {
        self.explained.is_not_found()
    }

    /// The server does not serve the kind.
    pub fn is_api_missing(&self) -> bool {
        self.explained.is_api_missing()
    }

    /// The object, its whole kind or this part of it is not there.
    pub fn is_absent(&self) -> bool {
        self.is_not_found() || self.is_api_missing()
    }

    /// The object changed in between.
    pub fn is_conflict(&self) -> bool {
        self.code() == 409 && self.reason() != "AlreadyExists"
    }

    pub fn is_already_there(&self) -> bool {
        self.code() == 409 && self.reason() == "AlreadyExists"
    }

    /// Returns the server's sentence with its reason, `(Invalid): …`, or our own words when it gave none.
    pub fn sentence(&self) -> String {
        match &self.status {
            Some(status) if !status.message.is_empty() => {
                let reason = if status.reason.is_empty() { "Unknown" } else { &status.reason };
                format!("({reason}): {}", status.message)
            }
            _ => format!("({:?}): {}", self.explained.category(), self.explained.reason),
        }
    }
}

/// How a delete treats what the object owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    Background,
    Foreground,
}

/// How a kind is served although a request for it was answered with 404.
enum Serving {
    /// At the version that was asked for.
    Same,
    /// At another version.
    Other(ResourceType),
    Not,
}

impl Cluster {
    /// Returns how the server serves a kind: from the table of known kinds, else by asking the server.
    ///
    /// # Errors
    /// The server does not serve the kind, or cannot be asked.
    pub async fn resource(&self, id: &ObjectId) -> Result<ResourceType, CallError> {
        if let Some(known) = known_resource(&id.group, &id.version, &id.kind) {
            return Ok(known);
        }
        let at_version = self.resource_at(&id.api_version(), |found| found.kind == id.kind).await;
        match at_version {
            Ok(Some(found)) => Ok(found),
            Ok(None) => Ok(self.served_resource_type(&id.group, &id.kind).await?),
            // The version is not served; the kind may be.
            Err(error) if error.is_api_missing() => Ok(self.served_resource_type(&id.group, &id.kind).await?),
            Err(error) => Err(error.into()),
        }
    }

    /// Says what a 404 means that does not name an object, from what the server says it serves.
    async fn serving(&self, resource: &ResourceType) -> Result<Serving, CallError> {
        let served = self.served_versions(&resource.group, &resource.kind).await?;
        match served.iter().any(|other| other.version == resource.version) {
            true => Ok(Serving::Same),
            false => Ok(served.into_iter().next().map_or(Serving::Not, Serving::Other)),
        }
    }

    /// Makes a request about a kind; `None` when the kind is not served. An answer of 404 that does not name an object is
    /// checked: at another version the request is made again there, at the same one after a pause.
    async fn while_served<T, F: Future<Output = kube::Result<T>>>(
        &self,
        mut resource: ResourceType,
        request: impl Fn(ResourceType) -> F,
        attempted: &str,
        object: Option<&ObjectId>,
    ) -> Result<Option<T>, CallError> {
        let mut pause = FIRST_PAUSE;
        for attempt in 1.. {
            let error = match request(resource.clone()).await {
                Ok(answer) => return Ok(Some(answer)),
                Err(error) => self.failure(error, attempted, object),
            };
            if !error.is_api_missing() {
                return Err(error);
            }
            match self.serving(&resource).await? {
                Serving::Not => break,
                Serving::Other(other) => resource = other,
                Serving::Same if attempt < ATTEMPTS => {
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                }
                Serving::Same => return Err(self.contradiction(&resource, attempted)),
            }
        }
        Ok(None)
    }

    fn contradiction(&self, resource: &ResourceType, attempted: &str) -> CallError {
        let name = resource.resource_name();
        let message = format!("not found, although {name} are served at {}", resource.version);
        let reason = Reason::Server { endpoint: self.endpoint.clone(), code: 404, message };
        ClusterError::new(attempted, self.endpoint.clone(), reason).into()
    }

    /// Returns an object, or `None` when it or its kind is not there.
    pub async fn read(&self, id: &ObjectId) -> Result<Option<Value>, CallError> {
        let resource = match self.resource(id).await {
            Err(error) if error.is_api_missing() => return Ok(None),
            resource => resource?,
        };
        let get = |resource| async move { self.answer(Call::get(path_of(&resource, id)?)).await };
        match self.while_served(resource, get, &format!("get {id}"), Some(id)).await {
            Err(error) if error.is_not_found() => Ok(None),
            object => object,
        }
    }

    /// Returns all objects of a kind, page by page; `None` when the server does not serve the kind. Objects of a kind that is
    /// served at another version have that version.
    pub async fn list_all(
        &self,
        resource: &ResourceType,
        namespace: Option<&str>,
        selector: &Selector,
    ) -> Result<Option<List>, CallError> {
        let list = |resource| async move { self.list_whole(&resource, namespace, selector).await };
        self.while_served(resource.clone(), list, &format!("list {}", resource.plural), None).await
    }

    /// Applies an object on the server's side, taking over conflicting fields, and returns what the server made of it.
    pub async fn apply_forced(&self, object: &Value, manager: &str, dry_run: bool) -> Result<Value, CallError> {
        let id = ObjectId::of(object);
        let resource = self.resource(&id).await?;
        let options = ApplyOptions { field_manager: manager, force: true, dry_run };
        let call = path_of(&resource, &id).map(|path| apply_call(&path, object, &options));
        self.send(call, &format!("apply {id}"), &id).await
    }

    /// Applies a JSON patch (RFC 6902), which has to name the resource version it was made from: a conflict is an answer.
    pub async fn json_patch(&self, id: &ObjectId, patch: &Value, manager: &str) -> Result<Value, CallError> {
        let resource = self.resource(id).await?;
        // Guarded by the resource version, the second of two has no effect.
        let repeat = Repeat { after_unclear_answer: true, after_conflict: false };
        let call = path_of(&resource, id).map(|path| {
            let path = format!("{path}?fieldManager={manager}");
            Call { repeat, ..Call::with_body(Method::PATCH, path, "application/json-patch+json", patch) }
        });
        self.send(call, &format!("patch {id}"), id).await
    }

    /// Merges a patch (RFC 7386) into an object or into one of its subresources. A patch that names a resource version is
    /// guarded by it: a conflict is an answer then.
    pub async fn merge_patch(
        &self,
        id: &ObjectId,
        subresource: Option<&str>,
        patch: &Value,
        manager: &str,
    ) -> Result<Value, CallError> {
        let resource = self.resource(id).await?;
        let below = subresource.map_or_else(String::new, |name| format!("/{name}"));
        let after_conflict = patch.pointer("/metadata/resourceVersion").is_none();
        let repeat = Repeat { after_conflict, ..Repeat::default() };
        let call = path_of(&resource, id).map(|path| {
            let path = format!("{path}{below}?fieldManager={manager}");
            Call { repeat, ..Call::with_body(Method::PATCH, path, MERGE_PATCH, patch) }
        });
        self.send(call, &format!("patch {id}"), id).await
    }

    /// Creates an object under the name it carries; `None` when it is there already.
    pub async fn create(&self, object: &Value, manager: &str) -> Result<Option<Value>, CallError> {
        let id = ObjectId::of(object);
        let resource = self.resource(&id).await?;
        let path = format!("{}?fieldManager={manager}", resource.path(Some(&id.namespace), None));
        // Under a fixed name the second of two is refused.
        let repeat = Repeat { after_unclear_answer: true, after_conflict: false };
        let call = Call { repeat, ..Call::with_body(Method::POST, path, "application/json", object) };
        match self.send(Ok(call), &format!("create {id}"), &id).await {
            Err(error) if error.is_already_there() => Ok(None),
            created => created.map(Some),
        }
    }

    /// Replaces an object at the resource version it carries: a conflict is an answer.
    pub async fn replace(&self, object: &Value, manager: &str) -> Result<Value, CallError> {
        let id = ObjectId::of(object);
        let resource = self.resource(&id).await?;
        let call = path_of(&resource, &id).map(|path| {
            Call::with_body(Method::PUT, format!("{path}?fieldManager={manager}"), "application/json", object)
        });
        self.send(call, &format!("update {id}"), &id).await
    }

    /// Deletes exactly the object that was read; `false` when it was gone already.
    ///
    /// # Errors
    /// A conflict when another object has taken the name, or the object changed since it was read.
    pub async fn delete_exactly(&self, live: &Value, propagation: Propagation) -> Result<bool, CallError> {
        let id = ObjectId::of(live);
        let resource = match self.resource(&id).await {
            Err(error) if error.is_api_missing() => return Ok(false),
            resource => resource?,
        };
        let mut preconditions = json!({});
        for member in ["uid", "resourceVersion"] {
            if let Some(value) = live.pointer(&format!("/metadata/{member}")) {
                preconditions[member] = value.clone();
            }
        }
        let body = json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": format!("{propagation:?}"), "preconditions": preconditions});
        let (id, body) = (&id, &body);
        let delete = |resource| async move {
            let path = path_of(&resource, id)?;
            self.answer_text(Call::with_body(Method::DELETE, path, "application/json", body)).await
        };
        match self.while_served(resource, delete, &format!("delete {id}"), Some(id)).await {
            Err(error) if error.is_not_found() => Ok(false),
            answer => answer.map(|answer| answer.is_some()),
        }
    }

    /// Opens a watch.
    pub(super) async fn watch_events(
        &self,
        call: Call<'_>,
        attempted: &str,
    ) -> Result<BoxStream<'static, kube::Result<WatchEvent<Value>>>, CallError> {
        let opened = match call.request() {
            Ok(request) => self.client.request_events::<Value>(request).await,
            Err(error) => Err(error),
        };
        match opened {
            Ok(stream) => Ok(stream.boxed()),
            Err(error) => Err(self.failure(error, attempted, None)),
        }
    }

    async fn send(&self, call: kube::Result<Call<'_>>, attempted: &str, object: &ObjectId) -> Result<Value, CallError> {
        let answer = match call {
            Ok(call) => self.answer(call).await,
            Err(error) => Err(error),
        };
        answer.map_err(|error| self.failure(error, attempted, Some(object)))
    }

    fn failure(&self, error: kube::Error, attempted: &str, object: Option<&ObjectId>) -> CallError {
        let status = if let kube::Error::Api(status) = &error { Some(status.clone()) } else { None };
        CallError { explained: Box::new(self.explain(&error, attempted, object.cloned())), status }
    }
}

impl From<ClusterError> for CallError {
    fn from(error: ClusterError) -> Self {
        CallError { explained: Box::new(error), status: None }
    }
}

fn path_of(resource: &ResourceType, id: &ObjectId) -> kube::Result<String> {
    object_path(resource, Some(&id.namespace), &id.name)
}
