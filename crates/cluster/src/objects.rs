//! Reads and writes objects of any kind, as JSON values. All requests about objects are made here.
//!
//! Every function describes its operation in its error, so callers need not. The client below limits each call and
//! retries where that is safe.
//!
//! A 404 means that an object does not exist only if the answer names the object. Any other 404 (from a gateway, or
//! from an API server that does not know a new version yet) is compared with the server's discovery.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::call::{ApiCall, object_path};
use super::retry::{RepeatPermission, after};
use super::{Cluster, ClusterError, Reason};
use crate::api::kinds::known_resource;
use crate::format::backoff::Backoff;
use crate::k8s::{ObjectId, ResourceType, fields};

/// Attempts for an object or kind that is served although a request was answered with 404.
const ATTEMPTS: u32 = 4;
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// Attempts to write an object that others write concurrently.
const RACES: u32 = 6;

/// The effect of a server-side apply or of its dry run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApplyResult {
    Created,
    Configured,
    Unchanged,
}

impl ApplyResult {
    /// Compares an object before the apply, if it existed, with the server's result.
    pub fn of(before: Option<&Value>, after: &Value) -> Self {
        match before {
            None => ApplyResult::Created,
            Some(before) if content(before) == content(after) => ApplyResult::Unchanged,
            Some(_) => ApplyResult::Configured,
        }
    }

    /// The word that kubectl prints.
    pub fn as_str(self) -> &'static str {
        match self {
            ApplyResult::Created => "created",
            ApplyResult::Configured => "configured",
            ApplyResult::Unchanged => "unchanged",
        }
    }
}

/// How an object is written. A field manager alone converts to the default options.
#[derive(Clone, Copy, Debug)]
pub struct WriteOptions<'a> {
    pub field_manager: &'a str,
    /// Take fields over from other managers instead of failing.
    pub force: bool,
    /// Let the server do everything except storing.
    pub dry_run: bool,
}

impl<'a> WriteOptions<'a> {
    /// Takes fields over from other managers, and stores the object.
    pub fn forced(field_manager: &'a str) -> Self {
        WriteOptions { force: true, ..field_manager.into() }
    }

    /// The same without storing anything.
    #[must_use]
    pub fn dry_run(self) -> Self {
        WriteOptions { dry_run: true, ..self }
    }

    fn query(&self) -> String {
        let dry = if self.dry_run { "&dryRun=All" } else { "" };
        format!("fieldManager={}{dry}", self.field_manager)
    }
}

impl<'a> From<&'a str> for WriteOptions<'a> {
    fn from(field_manager: &'a str) -> Self {
        WriteOptions { field_manager, force: false, dry_run: false }
    }
}

/// How a deletion treats dependents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    Background,
    Foreground,
}

/// Preconditions and options of a deletion.
#[derive(Clone, Debug, Default)]
pub struct DeleteOptions {
    /// Only the object with this uid, not another one of the same name.
    pub uid: Option<String>,
    /// Only the object at this resource version.
    pub resource_version: Option<String>,
    /// The API server's default if `None`.
    pub propagation: Option<Propagation>,
    /// Let the server do everything except deleting.
    pub dry_run: bool,
}

impl DeleteOptions {
    fn body(&self) -> Value {
        let mut body = json!({"apiVersion": "v1", "kind": "DeleteOptions"});
        if self.dry_run {
            // Set it in the body: the API server ignores the query if there is a body.
            body["dryRun"] = json!(["All"]);
        }
        if let Some(propagation) = self.propagation {
            body["propagationPolicy"] = format!("{propagation:?}").into();
        }
        for (member, text) in [("uid", &self.uid), ("resourceVersion", &self.resource_version)] {
            if let Some(text) = text {
                body["preconditions"][member] = text.as_str().into();
            }
        }
        body
    }
}

/// How a kind is served although a request for it was answered with 404.
enum ServedState {
    /// At the requested version.
    Same,
    /// At another version.
    Other(ResourceType),
    Not,
}

impl Cluster {
    /// Returns the path of a kind from the table of known kinds, or else from discovery.
    ///
    /// # Errors
    /// The server does not serve the kind, or does not answer.
    pub async fn resource(&self, id: &ObjectId) -> Result<ResourceType, ClusterError> {
        if let Some(known) = known_resource(&id.group, &id.version, &id.kind) {
            return Ok(known);
        }
        match Box::pin(self.resource_at(&id.api_version(), |found| found.kind == id.kind)).await {
            Ok(Some(found)) => Ok(found),
            Err(error) if !error.is_api_missing() => Err(error),
            // The version is not served, but the kind may be.
            _ => Box::pin(self.served_resource_type(&id.group, &id.kind)).await,
        }
    }

    /// Determines from discovery what a 404 without an object's name means.
    async fn serving(&self, resource: &ResourceType) -> Result<ServedState, ClusterError> {
        let served = self.served_versions(&resource.group, &resource.kind).await?;
        match served.iter().any(|other| other.version == resource.version) {
            true => Ok(ServedState::Same),
            false => Ok(served.into_iter().next().map_or(ServedState::Not, ServedState::Other)),
        }
    }

    /// Sends a request about a kind; `None` when the kind is not served. A 404 without an object's name is compared
    /// with discovery: the request is repeated at the served version, or at the same version after a pause, within the
    /// limit of one call.
    pub(super) async fn while_served<T, F: Future<Output = Result<T, ClusterError>>>(
        &self,
        mut resource: ResourceType,
        request: impl Fn(ResourceType) -> F,
    ) -> Result<Option<T>, ClusterError> {
        let deadline = after(self.request_timeout);
        let mut backoff = Backoff::new(FIRST_PAUSE, self.request_timeout);
        for attempt in 1.. {
            let error = match request(resource.clone()).await {
                Err(error) if error.is_api_missing() => error,
                answer => return answer.map(Some),
            };
            match self.serving(&resource).await? {
                ServedState::Not => break,
                ServedState::Other(other) => resource = other,
                ServedState::Same if attempt < ATTEMPTS && Instant::now() < deadline => {
                    tokio::time::sleep(backoff.next_pause()).await
                }
                ServedState::Same => {
                    let (name, version) = (resource.resource_name(), &resource.version);
                    let message = format!("not found, although {name} are served at {version}");
                    return Err(error.without_meaning(message));
                }
            }
        }
        Ok(None)
    }

    /// Returns an object, or `None` when it or its kind does not exist.
    pub async fn read(&self, id: &ObjectId) -> Result<Option<Value>, ClusterError> {
        let resource = match self.resource(id).await {
            Err(error) if error.is_api_missing() => return Ok(None),
            resource => resource?,
        };
        let get = |resource| async move { self.send(path_of(&resource, id).map(ApiCall::get), "get", id).await };
        match self.within_limit("get", id, Box::pin(self.while_served(resource, get))).await {
            Err(error) if error.names_as_missing(id) => Ok(None),
            object => object,
        }
    }

    /// Returns an object of a kind at exactly this version.
    ///
    /// # Errors
    /// [`Reason::NotFound`] if it does not exist, [`Reason::ApiMissing`] if the version is not served, and any failure
    /// of the request.
    pub async fn get(
        &self,
        resource: &ResourceType,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Value, ClusterError> {
        self.get_as(resource, namespace, name, None).await
    }

    /// Like [`Cluster::get`], but reads only type and metadata, so that no secret leaves the server.
    pub async fn get_metadata(
        &self,
        resource: &ResourceType,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Value, ClusterError> {
        let accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
        let mut object = self.get_as(resource, namespace, name, Some(accept)).await?;
        // The answer has another type than the object.
        object["apiVersion"] = resource.api_version().into();
        object["kind"] = resource.kind.as_ref().into();
        Ok(object)
    }

    async fn get_as(
        &self,
        resource: &ResourceType,
        namespace: Option<&str>,
        name: &str,
        accept: Option<&'static str>,
    ) -> Result<Value, ClusterError> {
        let namespace = namespace.filter(|_| resource.namespaced);
        let id = ObjectId::new(&resource.group, &resource.kind, namespace, name).at(&resource.version);
        let call = path_of(resource, &id).map(|path| ApiCall { accept, ..ApiCall::get(path) });
        self.send(call, "get", &id).await
    }

    /// Applies an object server-side (<https://kubernetes.io/docs/reference/using-api/server-side-apply/>) and returns
    /// the result.
    ///
    /// # Errors
    /// [`Reason::FieldConflict`] unless forced, and any refusal of the API server.
    pub async fn apply<'a>(&self, object: &Value, options: impl Into<WriteOptions<'a>>) -> Result<Value, ClusterError> {
        let options = options.into();
        match self.apply_once(object, options).await {
            // Patches under our own name count as another manager, because their operation is Update and not Apply.
            Err(error) if error.conflicts_only_with(options.field_manager) => {
                self.apply_once(object, WriteOptions { force: true, ..options }).await
            }
            applied => applied,
        }
    }

    async fn apply_once(&self, object: &Value, options: WriteOptions<'_>) -> Result<Value, ClusterError> {
        let id = ObjectId::of(object);
        let resource = self.resource(&id).await?;
        let force = if options.force { "&force=true" } else { "" };
        // A forced apply has no conflict with other managers, so a conflict means two writers at the same instant.
        let repeat = RepeatPermission { after_conflict: options.force, ..RepeatPermission::default() };
        let call = path_of(&resource, &id).map(|path| {
            let path = format!("{path}?{}{force}", options.query());
            ApiCall { repeat, ..ApiCall::with_body(Method::PATCH, path, "application/apply-patch+yaml", object) }
        });
        self.send(call, "apply", &id).await
    }

    /// Applies a JSON patch (RFC 6902). The patch must contain the resource version from which it was made, so a
    /// conflict is returned and not retried.
    pub async fn json_patch(&self, id: &ObjectId, patch: &Value, manager: &str) -> Result<Value, ClusterError> {
        let resource = self.resource(id).await?;
        // The resource version makes a second attempt harmless.
        let repeat = RepeatPermission { after_unclear_answer: true, ..RepeatPermission::default() };
        let call = path_of(&resource, id).map(|path| {
            let path = format!("{path}?fieldManager={manager}");
            ApiCall { repeat, ..ApiCall::with_body(Method::PATCH, path, "application/json-patch+json", patch) }
        });
        self.send(call, "patch", id).await
    }

    /// Merges a patch (RFC 7386) into an object or a subresource and returns the result. A patch with a resource
    /// version is guarded by it, so a conflict is returned and not retried.
    pub async fn merge_patch<'a>(
        &self,
        id: &ObjectId,
        subresource: Option<&str>,
        patch: &Value,
        options: impl Into<WriteOptions<'a>>,
    ) -> Result<Value, ClusterError> {
        let resource = self.resource(id).await?;
        let below = subresource.map_or_else(String::new, |name| format!("/{name}"));
        let after_conflict = patch.pointer("/metadata/resourceVersion").is_none();
        let repeat = RepeatPermission { after_conflict, ..RepeatPermission::default() };
        let call = path_of(&resource, id).map(|path| {
            let path = format!("{path}{below}?{}", options.into().query());
            ApiCall { repeat, ..ApiCall::with_body(Method::PATCH, path, "application/merge-patch+json", patch) }
        });
        self.send(call, "patch", id).await
    }

    /// Creates an object under its name; `None` when it exists already.
    pub async fn create(&self, object: &Value, manager: &str) -> Result<Option<Value>, ClusterError> {
        let id = ObjectId::of(object);
        let resource = self.resource(&id).await?;
        let path = format!("{}?fieldManager={manager}", resource.path(Some(&id.namespace), None));
        // The name is fixed, so the server refuses a second attempt.
        let repeat = RepeatPermission { after_unclear_answer: true, ..RepeatPermission::default() };
        let call = ApiCall { repeat, ..ApiCall::with_body(Method::POST, path, "application/json", object) };
        match self.send(Ok(call), "create", &id).await {
            Err(error) if matches!(error.reason, Reason::AlreadyExists { .. }) => Ok(None),
            created => created.map(Some),
        }
    }

    /// Checks by a dry run that an object could be created. An existing object of the same name is not an error.
    ///
    /// # Errors
    /// The API server would refuse the object.
    pub async fn would_create(&self, object: &Value, manager: &str) -> Result<(), ClusterError> {
        let id = ObjectId::of(object);
        let resource = self.resource(&id).await?;
        let path = format!("{}?dryRun=All&fieldManager={manager}", resource.path(Some(&id.namespace), None));
        let call = ApiCall::with_body(Method::POST, path, "application/json", object);
        match self.send(Ok(call), "create", &id).await {
            Err(error) if matches!(error.reason, Reason::AlreadyExists { .. }) => Ok(()),
            answer => answer.map(drop),
        }
    }

    /// Replaces an object at its resource version, so a conflict is returned and not retried.
    pub async fn replace(&self, object: &Value, manager: &str) -> Result<Value, ClusterError> {
        let id = ObjectId::of(object);
        let resource = self.resource(&id).await?;
        let call = path_of(&resource, &id).map(|path| {
            ApiCall::with_body(Method::PUT, format!("{path}?fieldManager={manager}"), "application/json", object)
        });
        self.send(call, "update", &id).await
    }

    /// Deletes an object; `false` when it did not exist.
    ///
    /// # Errors
    /// A conflict when the object does not meet the preconditions.
    pub async fn delete(&self, id: &ObjectId, options: &DeleteOptions) -> Result<bool, ClusterError> {
        let resource = match self.resource(id).await {
            Err(error) if error.is_api_missing() => return Ok(false),
            resource => resource?,
        };
        let body = &options.body();
        let delete = |resource| async move {
            let call =
                path_of(&resource, id).map(|path| ApiCall::with_body(Method::DELETE, path, "application/json", body));
            self.send(call, "delete", id).await
        };
        match self.within_limit("delete", id, Box::pin(self.while_served(resource, delete))).await {
            Err(error) if error.names_as_missing(id) => Ok(false),
            answer => answer.map(|answer| answer.is_some()),
        }
    }

    /// Deletes exactly the object that was read; `false` when it did not exist.
    ///
    /// # Errors
    /// A conflict when another object has the name, or the object has changed since it was read.
    pub async fn delete_exactly(&self, live: &Value, propagation: Propagation) -> Result<bool, ClusterError> {
        let metadata = |member: &str| live["metadata"][member].as_str().map(str::to_owned);
        let options = DeleteOptions {
            uid: metadata("uid"),
            resource_version: metadata("resourceVersion"),
            propagation: Some(propagation),
            dry_run: false,
        };
        self.delete(&ObjectId::of(live), &options).await
    }

    /// Writes an object that others write concurrently. `write` is called with `live` first, which may be `None` if
    /// `write` does not need the current object. After a conflict, and after a 404 that does not name the object, it is
    /// called again with the object as it is then.
    ///
    /// Returns `None` when the object does not exist.
    ///
    /// # Errors
    /// Errors of `write`, the sixth conflict in a row, and [`Reason::ApiMissing`] where the object itself exists.
    pub async fn retry_on_conflict<L: From<Value>, T, F: Future<Output = Result<T, ClusterError>>>(
        &self,
        id: &ObjectId,
        mut live: L,
        mut write: impl FnMut(L) -> F,
    ) -> Result<Option<T>, ClusterError> {
        let mut backoff = Backoff::new(FIRST_PAUSE, self.request_timeout);
        for race in 1.. {
            match Box::pin(write(live)).await {
                Err(error) if error.is_conflict() && race < RACES => {}
                Err(error) if error.names_as_missing(id) => break,
                // A 404 that does not name the object may come from a server that lags behind, so read the object to
                // find out.
                Err(error) if error.is_absent() && race < ATTEMPTS => tokio::time::sleep(backoff.next_pause()).await,
                answer => return answer.map(Some),
            }
            match self.read(id).await? {
                Some(now) => live = now.into(),
                None => break,
            }
        }
        Ok(None)
    }

    /// Removes one finalizer and keeps all others. Returns whether the object had it, and `None` when the object does
    /// not exist.
    ///
    /// # Errors
    /// The API server refuses, or the object keeps changing.
    pub async fn clear_finalizer(&self, live: Value, name: &str, manager: &str) -> Result<Option<bool>, ClusterError> {
        let id = ObjectId::of(&live);
        let cleared = &id;
        let write = |live: Value| async move {
            let all = fields::items(&live, "/metadata/finalizers");
            let kept: Vec<&Value> = all.iter().filter(|other| *other != name).collect();
            if kept.len() == all.len() {
                return Ok(false);
            }
            // A merge patch replaces the whole list. The resource version protects finalizers that were added in the
            // meantime.
            let version = live.pointer("/metadata/resourceVersion");
            let patch = json!({"metadata": {"finalizers": kept, "resourceVersion": version}});
            self.merge_patch(cleared, None, &patch, manager).await.map(|_| true)
        };
        self.retry_on_conflict(&id, live, write).await
    }

    /// Limits work of several requests to the time of one call, which is what the user was promised.
    async fn within_limit<T>(
        &self,
        verb: &str,
        id: &ObjectId,
        work: impl Future<Output = Result<T, ClusterError>>,
    ) -> Result<T, ClusterError> {
        timeout_at(after(self.request_timeout), work).await.unwrap_or_else(|_| {
            let reason = Reason::TimedOut { endpoint: self.endpoint.clone(), after: self.request_timeout };
            let attempted = format!("{verb} {}", id.lower_case());
            Err(ClusterError {
                object: Some(id.clone()),
                ..ClusterError::new(attempted, self.endpoint.clone(), reason)
            })
        })
    }

    async fn send(&self, call: kube::Result<ApiCall<'_>>, verb: &str, id: &ObjectId) -> Result<Value, ClusterError> {
        let answer = match call {
            Ok(call) => self.answer(call).await,
            Err(error) => Err(error),
        };
        answer.map_err(|error| self.explain(&error, format!("{verb} {}", id.lower_case()), Some(id.clone())))
    }
}

fn path_of(resource: &ResourceType, id: &ObjectId) -> kube::Result<String> {
    object_path(resource, Some(&id.namespace), &id.name)
}

/// An object without server-side counters. A dry run changes the content but not the resource version.
fn content(object: &Value) -> Value {
    let mut content = object.clone();
    if let Some(metadata) = content.get_mut("metadata").and_then(Value::as_object_mut) {
        for counted in ["managedFields", "resourceVersion", "generation"] {
            metadata.shift_remove(counted);
        }
    }
    content
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use kube::client::Body;

    use super::*;
    use crate::Endpoint;

    #[test]
    fn an_apply_that_changes_only_the_resource_version_and_managed_fields_is_unchanged() {
        let object = |version: &str, label: &str| json!({"metadata": {"name": "a", "resourceVersion": version, "managedFields": [version], "labels": {"x": label}}});
        assert_eq!(ApplyResult::of(None, &object("1", "a")), ApplyResult::Created);
        assert_eq!(ApplyResult::of(Some(&object("1", "a")), &object("2", "a")), ApplyResult::Unchanged);
        assert_eq!(ApplyResult::of(Some(&object("1", "a")), &object("1", "b")), ApplyResult::Configured);
    }

    /// A server whose object has the number of reads as its resource version, and that accepts a write after
    /// `conflicts` of them.
    fn busy(conflicts: usize) -> Cluster {
        let (reads, writes) = (Arc::new(AtomicUsize::new(1)), Arc::new(AtomicUsize::new(0)));
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let is_read = request.method() == Method::GET;
            let counter = if is_read { &reads } else { &writes };
            let count = counter.fetch_add(1, Ordering::SeqCst);
            let conflict = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 409, "reason": "Conflict",
                "message": "the object has been modified"});
            let (code, body) = match is_read || count >= conflicts {
                true => (200, json!({"metadata": {"resourceVersion": (count + 1).to_string()}})),
                false => (409, conflict),
            };
            let response = http::Response::builder().status(code).body(Body::from(body.to_string().into_bytes()));
            async move { response }
        });
        Cluster::of_client(kube::Client::new(service, "n"), Endpoint::default())
    }

    async fn versions_written(conflicts: usize) -> (Vec<String>, Result<Option<Value>, ClusterError>) {
        let (cluster, id) = (busy(conflicts), ObjectId::new("", "Secret", Some("n"), "s").at("v1"));
        let mut written = vec![];
        let result = cluster
            .retry_on_conflict(&id, json!({"metadata": {"resourceVersion": "1"}}), |live: Value| {
                let patch = json!({"metadata": {"resourceVersion": live["metadata"]["resourceVersion"]}});
                written.push(live["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned());
                async { cluster.merge_patch(&id, None, &{ patch }, "me").await }
            })
            .await;
        (written, result)
    }

    #[tokio::test]
    async fn after_a_conflict_the_object_is_read_and_written_again_a_few_times() {
        let (written, result) = versions_written(2).await;
        assert_eq!(written, ["1", "2", "3"]);
        assert!(result.unwrap().is_some());
        let (written, result) = versions_written(usize::MAX).await;
        assert_eq!(written.len(), 6);
        assert!(result.unwrap_err().is_conflict());
    }

    /// Writes an existing Secret, on a server that answers the first `lagging` writes as if it did not serve Secrets.
    async fn written_on_a_server_that_lags(lagging: usize) -> Result<Option<Value>, ClusterError> {
        let writes = Arc::new(AtomicUsize::new(0));
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let lags = request.method() != Method::GET && writes.fetch_add(1, Ordering::SeqCst) < lagging;
            let (code, body) = if lags { (404, "404 page not found") } else { (200, "{\"metadata\": {}}") };
            let response = http::Response::builder().status(code).body(Body::from(body.as_bytes().to_vec()));
            async move { response }
        });
        let cluster = Cluster::of_client(kube::Client::new(service, "n"), Endpoint::default());
        let id = ObjectId::new("", "Secret", Some("n"), "s").at("v1");
        let write = |_| async { cluster.merge_patch(&id, None, &json!({}), "me").await };
        cluster.retry_on_conflict(&id, json!({}), write).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_404_without_a_name_does_not_mean_that_the_written_object_is_missing() {
        assert!(written_on_a_server_that_lags(1).await.unwrap().is_some());
        assert!(written_on_a_server_that_lags(usize::MAX).await.unwrap_err().is_api_missing());
    }

    #[tokio::test(start_paused = true)]
    async fn a_gateway_that_answers_everything_with_404_does_not_mean_that_objects_are_missing() {
        let service = tower::service_fn(|_: http::Request<Body>| async {
            http::Response::builder().status(404).body(Body::from(b"404 page not found".to_vec()))
        });
        let cluster = Cluster::of_client(kube::Client::new(service, "n"), Endpoint::default());
        for id in [ObjectId::new("", "Secret", Some("n"), "s"), ObjectId::new("example.com", "Widget", Some("n"), "w")]
        {
            let id = id.at("v1");
            let errors = [cluster.read(&id).await.err(), cluster.delete(&id, &DeleteOptions::default()).await.err()];
            for error in errors.map(|error| error.expect("no answer about the object")) {
                assert!(matches!(error.reason, Reason::Server { code: 404, .. }), "{}", error.reason);
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_404_that_names_another_object_does_not_mean_that_the_requested_one_is_missing() {
        // The answer of an admission webhook that needs an object which does not exist.
        let missing = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404, "reason": "NotFound",
            "message": "secrets \"other\" not found", "details": {"kind": "secrets", "name": "other"}});
        let service = tower::service_fn(move |_: http::Request<Body>| {
            let response = http::Response::builder().status(404).body(Body::from(missing.to_string().into_bytes()));
            async move { response }
        });
        let cluster = Cluster::of_client(kube::Client::new(service, "n"), Endpoint::default());
        let id = ObjectId::new("", "Secret", Some("n"), "s").at("v1");
        assert!(cluster.read(&id).await.unwrap_err().is_not_found());
        assert!(cluster.delete(&id, &DeleteOptions::default()).await.unwrap_err().is_not_found());
        let write = |_| async { cluster.merge_patch(&id, None, &json!({}), "me").await };
        assert!(cluster.retry_on_conflict(&id, json!({}), write).await.unwrap_err().is_not_found());
    }

    #[tokio::test(start_paused = true)]
    async fn checking_a_404_takes_no_longer_than_one_call() {
        // A gateway uses up most of the limit for its 404, and discovery is never answered.
        let service = tower::service_fn(|request: http::Request<Body>| async move {
            if request.uri().path().ends_with("/secrets/s") {
                tokio::time::sleep(Duration::from_secs(9)).await;
                return http::Response::builder().status(404).body(Body::from(b"404 page not found".to_vec()));
            }
            std::future::pending().await
        });
        let cluster = Cluster::of_client(kube::Client::new(service, "n"), Endpoint::default());
        let cluster = cluster.observed(Arc::new(|_| ()));
        let begun = Instant::now();
        let error = cluster.read(&ObjectId::new("", "Secret", Some("n"), "s").at("v1")).await.unwrap_err();
        assert!(matches!(error.reason, Reason::TimedOut { .. }), "{}", error.reason);
        assert_eq!(begun.elapsed().as_secs(), cluster.request_timeout.as_secs());
    }

    #[tokio::test]
    async fn a_dry_run_of_a_deletion_is_requested_in_the_body() {
        let service = tower::service_fn(|request: http::Request<Body>| async {
            assert_eq!(request.uri().query(), None);
            let body = request.into_body().collect_bytes().await.unwrap();
            let body: Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(body["dryRun"], json!(["All"]));
            assert_eq!(body["preconditions"], json!({"uid": "u"}));
            Ok::<_, std::convert::Infallible>(http::Response::new(Body::from(b"{}".to_vec())))
        });
        let cluster = Cluster::of_client(kube::Client::new(service, "n"), Endpoint::default());
        let options = DeleteOptions { uid: Some("u".into()), dry_run: true, ..DeleteOptions::default() };
        let old = ObjectId::new("", "Secret", Some("n"), "old").at("v1");
        assert!(cluster.delete(&old, &options).await.unwrap());
    }
}
