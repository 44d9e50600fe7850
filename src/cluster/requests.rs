//! Objects as JSON: read, list, apply, patch, delete; each call says what it attempted.
//!
//! The client below already bounds every call and repeats what may be repeated blindly. Here is what needs knowledge of
//! the request: a plain conflict is tried again, a creation under a fixed name may find its own earlier attempt.

use std::time::Duration;

use futures::StreamExt;
use futures::stream::BoxStream;
use kube::core::{Status, WatchEvent};
use serde_json::{Value, json};

use super::{Cluster, ClusterError};
use crate::api::kinds::ResourceType;
use crate::api::kinds::known_resource;
use crate::k8s::ObjectId;

/// How often a call is sent that the client below does not repeat by itself.
const ATTEMPTS: u32 = 4;
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// Objects per page of a list.
const PAGE: usize = 500;
/// How often a list begins again because the snapshot its pages came from is gone.
const RESTARTS: usize = 3;

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

    /// Neither the object nor its kind is there.
    pub fn is_not_found(&self) -> bool {
        self.code() == 404
    }

    /// The object changed in between.
    pub fn is_conflict(&self) -> bool {
        self.code() == 409 && self.reason() != "AlreadyExists"
    }

    pub fn is_already_there(&self) -> bool {
        self.code() == 409 && self.reason() == "AlreadyExists"
    }

    /// A watch cannot be continued from where it was.
    pub fn is_expired(&self) -> bool {
        self.code() == 410
    }

    /// Nobody knows whether the server acted.
    fn is_unclear(&self) -> bool {
        self.status.is_none() || self.code() >= 500
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

/// Which objects of a kind a list or watch is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    /// Label selector in the API's syntax; empty selects all.
    pub labels: String,
    /// Field selector in the API's syntax; empty selects all.
    pub fields: String,
}

impl Selector {
    /// Selects one object by name.
    pub fn named(name: &str) -> Self {
        Selector { labels: String::new(), fields: format!("metadata.name={name}") }
    }

    pub fn labelled(labels: impl Into<String>) -> Self {
        Selector { labels: labels.into(), fields: String::new() }
    }

    pub(super) fn query(&self) -> String {
        let mut query = String::new();
        for (name, text) in [("labelSelector", &self.labels), ("fieldSelector", &self.fields)] {
            if !text.is_empty() {
                query.push_str(&format!("&{name}={}", encode(text)));
            }
        }
        query
    }
}

/// The answer to a list.
#[derive(Clone, Debug, Default)]
pub struct List {
    /// With `apiVersion` and `kind`, which the server leaves out of items.
    pub items: Vec<Value>,
    /// Where a watch continues.
    pub resource_version: String,
}

/// How a delete treats what the object owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    Background,
    Foreground,
}

/// Percent-encodes a query value.
pub(super) fn encode(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        })
        .collect()
}

/// One request, as values, so that it can be sent again.
struct Call<'a> {
    method: http::Method,
    path: String,
    content_type: &'static str,
    body: Option<&'a Value>,
    /// A conflict is the answer, not an accident.
    guarded: bool,
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
        let root =
            if id.group.is_empty() { format!("/api/{}", id.version) } else { format!("/apis/{}", id.api_version()) };
        let attempted = format!("look up the kind {}", id.kind);
        let served = self.send(&Call::get(root), &attempted, Some(id)).await?;
        let found = served.get("resources").and_then(Value::as_array).into_iter().flatten().find(|one| {
            one.get("kind").and_then(Value::as_str) == Some(&id.kind)
                && one.get("name").and_then(Value::as_str).is_some_and(|name| !name.contains('/'))
        });
        let plural = found.and_then(|one| one.get("name")).and_then(Value::as_str);
        let Some((found, plural)) = found.zip(plural) else {
            let status = Status::failure("the server could not find the requested resource", "NotFound").with_code(404);
            return Err(self.failure(kube::Error::Api(status.boxed()), &attempted, Some(id)));
        };
        Ok(ResourceType {
            group: id.group.clone().into(),
            version: id.version.clone().into(),
            kind: id.kind.clone().into(),
            plural: plural.to_owned().into(),
            namespaced: found.get("namespaced").and_then(Value::as_bool).unwrap_or(false),
        })
    }

    /// Returns an object, or `None` when it or its kind is not there.
    pub async fn read(&self, id: &ObjectId) -> Result<Option<Value>, CallError> {
        let resource = match self.resource(id).await {
            Err(error) if error.is_not_found() => return Ok(None),
            resource => resource?,
        };
        match self.send(&Call::get(path_of(&resource, id)), &format!("get {id}"), Some(id)).await {
            Err(error) if error.is_not_found() => Ok(None),
            object => object.map(Some),
        }
    }

    /// Returns all objects of a kind, page by page; `None` when the server does not serve the kind.
    pub async fn list_all(
        &self,
        resource: &ResourceType,
        namespace: Option<&str>,
        selector: &Selector,
    ) -> Result<Option<List>, CallError> {
        let mut list = List::default();
        let mut token = String::new();
        let mut restarts = 0;
        let attempted = format!("list {}", resource.plural);
        loop {
            let mut path = format!("{}?limit={PAGE}{}", resource.path(namespace, None), selector.query());
            if !token.is_empty() {
                path.push_str(&format!("&continue={}", encode(&token)));
            }
            let page = match self.send(&Call::get(path), &attempted, None).await {
                Err(error) if error.is_not_found() => return Ok(None),
                // The snapshot the pages came from is gone: begin again.
                Err(error) if error.is_expired() && !token.is_empty() && restarts < RESTARTS => {
                    restarts += 1;
                    list.items.clear();
                    token.clear();
                    continue;
                }
                page => page?,
            };
            for item in page.get("items").and_then(Value::as_array).into_iter().flatten() {
                list.items.push(with_type(item, &resource.api_version(), &resource.kind));
            }
            let metadata =
                |member: &str| page.pointer(&format!("/metadata/{member}")).and_then(Value::as_str).unwrap_or_default();
            list.resource_version = metadata("resourceVersion").to_owned();
            token = metadata("continue").to_owned();
            if token.is_empty() {
                return Ok(Some(list));
            }
        }
    }

    /// Applies an object on the server's side, taking over conflicting fields, and returns what the server made of it.
    pub async fn apply_forced(&self, object: &Value, manager: &str, dry_run: bool) -> Result<Value, CallError> {
        let id = ObjectId::of(object);
        let resource = self.resource(&id).await?;
        let dry = if dry_run { "&dryRun=All" } else { "" };
        let call = Call {
            method: http::Method::PATCH,
            path: format!("{}?fieldManager={manager}&force=true{dry}", path_of(&resource, &id)),
            content_type: "application/apply-patch+yaml",
            body: Some(object),
            guarded: false,
        };
        self.send(&call, &format!("apply {id}"), Some(&id)).await
    }

    /// Applies a JSON patch (RFC 6902), which has to name the resource version it was made from: a conflict is an answer.
    pub async fn json_patch(&self, id: &ObjectId, patch: &Value, manager: &str) -> Result<Value, CallError> {
        let resource = self.resource(id).await?;
        let call = Call {
            method: http::Method::PATCH,
            path: format!("{}?fieldManager={manager}", path_of(&resource, id)),
            content_type: "application/json-patch+json",
            body: Some(patch),
            guarded: true,
        };
        self.send(&call, &format!("patch {id}"), Some(id)).await
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
        let call = Call {
            method: http::Method::PATCH,
            path: format!("{}{below}?fieldManager={manager}", path_of(&resource, id)),
            content_type: "application/merge-patch+json",
            body: Some(patch),
            guarded: patch.pointer("/metadata/resourceVersion").is_some(),
        };
        self.send(&call, &format!("patch {id}"), Some(id)).await
    }

    /// Creates an object under the name it carries; `None` when it is there already.
    pub async fn create(&self, object: &Value, manager: &str) -> Result<Option<Value>, CallError> {
        let id = ObjectId::of(object);
        let resource = self.resource(&id).await?;
        let call = Call {
            method: http::Method::POST,
            path: format!("{}?fieldManager={manager}", resource.path(Some(&id.namespace), None)),
            content_type: "application/json",
            body: Some(object),
            guarded: false,
        };
        match self.send(&call, &format!("create {id}"), Some(&id)).await {
            Err(error) if error.is_already_there() => Ok(None),
            created => created.map(Some),
        }
    }

    /// Replaces an object at the resource version it carries: a conflict is an answer.
    pub async fn replace(&self, object: &Value, manager: &str) -> Result<Value, CallError> {
        let id = ObjectId::of(object);
        let resource = self.resource(&id).await?;
        let call = Call {
            method: http::Method::PUT,
            path: format!("{}?fieldManager={manager}", path_of(&resource, &id)),
            content_type: "application/json",
            body: Some(object),
            guarded: true,
        };
        self.send(&call, &format!("update {id}"), Some(&id)).await
    }

    /// Deletes exactly the object that was read; `false` when it was gone already.
    ///
    /// # Errors
    /// A conflict when another object has taken the name, or the object changed since it was read.
    pub async fn delete_exactly(&self, live: &Value, propagation: Propagation) -> Result<bool, CallError> {
        let id = ObjectId::of(live);
        let resource = self.resource(&id).await?;
        let mut preconditions = json!({});
        for (name, member) in [("uid", "uid"), ("resourceVersion", "resourceVersion")] {
            if let Some(value) = live.pointer(&format!("/metadata/{member}")) {
                preconditions[name] = value.clone();
            }
        }
        let body = json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": format!("{propagation:?}"), "preconditions": preconditions});
        let call = Call {
            method: http::Method::DELETE,
            path: path_of(&resource, &id),
            content_type: "application/json",
            body: Some(&body),
            guarded: true,
        };
        match self.send(&call, &format!("delete {id}"), Some(&id)).await {
            Err(error) if error.is_not_found() => Ok(false),
            answer => answer.map(|_| true),
        }
    }

    /// Opens a watch.
    pub(super) async fn watch_events(
        &self,
        path: String,
        attempted: &str,
    ) -> Result<BoxStream<'static, kube::Result<WatchEvent<Value>>>, CallError> {
        match self.client.request_events::<Value>(Call::get(path).request()).await {
            Ok(stream) => Ok(stream.boxed()),
            Err(error) => Err(self.failure(error, attempted, None)),
        }
    }

    async fn send(&self, call: &Call<'_>, attempted: &str, object: Option<&ObjectId>) -> Result<Value, CallError> {
        let mut pause = FIRST_PAUSE;
        for attempt in 1.. {
            let error = match self.answer(call.request()).await {
                Ok(answer) => return Ok(answer),
                Err(error) => self.failure(error, attempted, object),
            };
            // The client below repeats what has the same effect twice; a creation and a guarded patch have, too, because
            // the server refuses the second one.
            let unclear = error.is_unclear()
                && (call.method == http::Method::POST || call.content_type.starts_with("application/json-patch"));
            let conflict = error.is_conflict() && !call.guarded;
            let timed_out = matches!(error.explained.reason, super::Reason::TimedOut { .. });
            if attempt >= ATTEMPTS || timed_out || !(unclear || conflict) {
                return Err(error);
            }
            tracing::debug!(attempt, attempted, pause = ?pause, "{}", error.explained.reason);
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
        unreachable!("the loop above only ends by returning")
    }

    fn failure(&self, error: kube::Error, attempted: &str, object: Option<&ObjectId>) -> CallError {
        let status = if let kube::Error::Api(status) = &error { Some(status.clone()) } else { None };
        CallError { explained: Box::new(self.explain(error, attempted, object.cloned())), status }
    }
}

impl Call<'_> {
    fn get(path: String) -> Self {
        Call { method: http::Method::GET, path, content_type: "", body: None, guarded: false }
    }

    fn request(&self) -> http::Request<Vec<u8>> {
        let mut request = http::Request::new(self.body.map_or_else(Vec::new, |body| body.to_string().into_bytes()));
        *request.method_mut() = self.method.clone();
        // Paths are made of names the API server accepted and of encoded text; a name that is neither asks for the root,
        // which answers 404 or 405.
        *request.uri_mut() = self.path.parse().unwrap_or_default();
        if self.body.is_some() {
            request.headers_mut().insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static(self.content_type));
        }
        request
    }
}

fn path_of(resource: &ResourceType, id: &ObjectId) -> String {
    resource.path(Some(&id.namespace), Some(&id.name))
}

/// Returns the object with `apiVersion` and `kind` in front.
fn with_type(item: &Value, api_version: &str, kind: &str) -> Value {
    let mut typed = serde_json::Map::new();
    typed.insert("apiVersion".into(), api_version.into());
    typed.insert("kind".into(), kind.into());
    for (key, value) in item.as_object().into_iter().flatten() {
        typed.insert(key.clone(), value.clone());
    }
    Value::Object(typed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_encoded_into_the_query() {
        assert_eq!(Selector::labelled("a/b=c").query(), "&labelSelector=a%2Fb%3Dc");
        assert_eq!(Selector::named("flux").query(), "&fieldSelector=metadata.name%3Dflux");
        assert_eq!(Selector::default().query(), "");
    }

    #[test]
    fn items_of_a_list_get_their_type_back() {
        let item = with_type(&json!({"metadata": {"name": "a"}}), "v1", "Service");
        assert_eq!(item, json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}}));
    }
}
