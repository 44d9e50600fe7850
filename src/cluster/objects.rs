//! Reading and writing objects of any kind, as JSON values. All requests about objects are made here.
//!
//! Every function names what it does in its error, so that callers need not. The client below bounds each call and repeats
//! what may be repeated.

use http::{Method, header};
use kube::client::Body;
use kube::core::Status;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::retry::Repeat;
use super::{Cluster, ClusterError};
use crate::api::kinds::ResourceType;
use crate::k8s::ObjectId;

/// Objects per page unless the caller says otherwise; kubectl's number.
const PAGE: u32 = 500;
/// How often a list begins again because the snapshot its pages came from is gone.
const RESTARTS: usize = 3;
/// What a query value is written with.
const QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
/// What a part of a path is written with: names of roles hold colons.
const SEGMENT: &AsciiSet = &QUERY.remove(b':').remove(b'@');

/// What a server-side apply did, or would do in a dry run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Created,
    Configured,
    Unchanged,
}

impl Outcome {
    /// kubectl's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Created => "created",
            Outcome::Configured => "configured",
            Outcome::Unchanged => "unchanged",
        }
    }
}

/// How to apply.
#[derive(Clone, Copy, Debug)]
pub struct ApplyOptions<'a> {
    pub field_manager: &'a str,
    /// Take fields over from other managers instead of failing.
    pub force: bool,
    /// Let the server do everything but store.
    pub dry_run: bool,
}

/// What a plain deletion insists on.
#[derive(Clone, Debug, Default)]
pub struct DeleteOptions {
    /// Only this object, not another one of the same name.
    pub uid: Option<String>,
    /// Let the server do everything but delete.
    pub dry_run: bool,
}

/// Which objects a list or watch covers, and how it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListOptions {
    /// In the API's syntax; `None` selects all.
    pub label_selector: Option<String>,
    /// In the API's syntax; `None` selects all.
    pub field_selector: Option<String>,
    /// Objects per page.
    pub page_size: u32,
    /// Leave out all but type and metadata.
    pub metadata_only: bool,
}

impl Default for ListOptions {
    fn default() -> Self {
        ListOptions { label_selector: None, field_selector: None, page_size: PAGE, metadata_only: false }
    }
}

impl ListOptions {
    /// Selects one object by name.
    pub fn named(name: &str) -> Self {
        ListOptions::with_fields(format!("metadata.name={name}"))
    }

    pub fn labelled(labels: impl Into<String>) -> Self {
        ListOptions { label_selector: Some(labels.into()), ..ListOptions::default() }
    }

    pub fn with_fields(fields: impl Into<String>) -> Self {
        ListOptions { field_selector: Some(fields.into()), ..ListOptions::default() }
    }

    /// `&labelSelector=…&fieldSelector=…`
    pub(super) fn query(&self) -> String {
        let mut query = String::new();
        for (name, text) in [("labelSelector", &self.label_selector), ("fieldSelector", &self.field_selector)] {
            if let Some(text) = text.as_ref().filter(|text| !text.is_empty()) {
                query.push_str(&format!("&{name}={}", encode(text)));
            }
        }
        query
    }

    /// The request for one page; `token` is where the page before ended.
    pub(super) fn page_request(
        &self,
        resource: &ResourceType,
        namespace: Option<&str>,
        token: Option<&str>,
    ) -> kube::Result<http::Request<Vec<u8>>> {
        let token = token.map_or_else(String::new, |token| format!("&continue={}", encode(token)));
        let path = format!("{}?limit={}{}{token}", resource.path(namespace, None), self.page_size, self.query());
        let accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
        Call { accept: self.metadata_only.then_some(accept), ..Call::get(path) }.request()
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

/// Percent-encodes a query value.
pub(super) fn encode(text: &str) -> String {
    utf8_percent_encode(text, QUERY).to_string()
}

/// The path of one object.
pub(super) fn object_path(resource: &ResourceType, namespace: Option<&str>, name: &str) -> kube::Result<String> {
    if name.is_empty() {
        // Its path would be that of all objects.
        let problem = kube::core::request::Error::Validation("a name is required".to_owned());
        return Err(kube::Error::BuildRequest(problem));
    }
    Ok(format!("{}/{}", resource.path(namespace, None), utf8_percent_encode(name, SEGMENT)))
}

/// One request, as values.
pub(super) struct Call<'a> {
    pub method: Method,
    /// With its query.
    pub path: String,
    pub accept: Option<&'static str>,
    pub body: Option<(&'static str, &'a Value)>,
    pub repeat: Repeat,
}

impl<'a> Call<'a> {
    pub(super) fn get(path: String) -> Self {
        Call { method: Method::GET, path, accept: None, body: None, repeat: Repeat::default() }
    }

    pub(super) fn with_body(method: Method, path: String, content_type: &'static str, body: &'a Value) -> Self {
        Call { method, path, accept: None, body: Some((content_type, body)), repeat: Repeat::default() }
    }

    pub(super) fn request(&self) -> kube::Result<http::Request<Vec<u8>>> {
        let mut request = http::Request::builder().method(self.method.clone()).uri(&self.path).extension(self.repeat);
        if let Some(accept) = self.accept {
            request = request.header(header::ACCEPT, accept);
        }
        if let Some((content_type, _)) = self.body {
            request = request.header(header::CONTENT_TYPE, content_type);
        }
        let body = self.body.map_or_else(Vec::new, |(_, body)| body.to_string().into_bytes());
        request.body(body).map_err(kube::Error::HttpError)
    }
}

impl Cluster {
    /// Sends a request and returns the text of its answer.
    ///
    /// kube's own way logs an answer it cannot parse, with whatever secret is in it.
    pub(super) async fn answer_text(&self, call: Call<'_>) -> kube::Result<Vec<u8>> {
        self.exchange(call.request()?).await
    }

    /// Sends a request and reads its answer.
    pub(super) async fn answer(&self, call: Call<'_>) -> kube::Result<Value> {
        serde_json::from_slice(&self.answer_text(call).await?).map_err(kube::Error::SerdeError)
    }

    async fn exchange(&self, request: http::Request<Vec<u8>>) -> kube::Result<Vec<u8>> {
        let response = self.client.send(request.map(Body::from)).await?;
        let code = response.status();
        let body = response.into_body().collect_bytes().await?;
        if code.is_client_error() || code.is_server_error() {
            let status = serde_json::from_slice::<Status>(&body).unwrap_or_else(|_| {
                // Not the API server's words: a gateway's page.
                Status::failure(String::from_utf8_lossy(&body).trim(), "Failed to parse error data")
            });
            return Err(kube::Error::Api(status.with_code(code.as_u16()).boxed()));
        }
        Ok(body.into())
    }

    /// Reads one object.
    ///
    /// # Errors
    /// [`super::Reason::NotFound`] if there is none, and whatever keeps the answer away.
    pub async fn get(
        &self,
        resource: &ResourceType,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Value, ClusterError> {
        self.get_as(resource, namespace, name, None).await
    }

    /// Like [`Cluster::get`]; `None` if there is no such object.
    pub async fn find(
        &self,
        resource: &ResourceType,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Option<Value>, ClusterError> {
        found(self.get(resource, namespace, name).await)
    }

    /// Like [`Cluster::find`], but of an object that is there only type and metadata are sent: no Secret leaves the server.
    pub async fn find_metadata(
        &self,
        resource: &ResourceType,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Option<Value>, ClusterError> {
        let accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
        let metadata = found(self.get_as(resource, namespace, name, Some(accept)).await)?;
        Ok(metadata.map(|mut object| {
            // The type of the answer is not the type of the object.
            object["apiVersion"] = resource.api_version().into();
            object["kind"] = resource.kind.as_ref().into();
            object
        }))
    }

    async fn get_as(
        &self,
        resource: &ResourceType,
        namespace: Option<&str>,
        name: &str,
        accept: Option<&'static str>,
    ) -> Result<Value, ClusterError> {
        let object = reference(resource, namespace, name);
        let answer = async {
            let path = object_path(resource, namespace, name)?;
            self.answer(Call { accept, ..Call::get(path) }).await
        };
        answer.await.map_err(|e| self.explain(&e, format!("get {}", object.lower_case()), Some(object)))
    }

    /// Lists a kind in one namespace, or in all (None), page by page.
    pub async fn list(
        &self,
        resource: &ResourceType,
        namespace: Option<&str>,
        options: &ListOptions,
    ) -> Result<Vec<Value>, ClusterError> {
        match self.list_whole(resource, namespace, options).await {
            Ok(list) => Ok(list.items),
            Err(error) => {
                let place = namespace.map_or_else(String::new, |n| format!(" in namespace {n}"));
                let name = resource.resource_name();
                Err(self.explain(&error, format!("list {name}{place}"), None).with_api(&name))
            }
        }
    }

    pub(super) async fn list_whole(
        &self,
        resource: &ResourceType,
        namespace: Option<&str>,
        options: &ListOptions,
    ) -> kube::Result<List> {
        let mut list = List::default();
        let mut token: Option<String> = None;
        let mut restarts = 0;
        loop {
            let text = self.exchange(options.page_request(resource, namespace, token.as_deref())?).await;
            let mut page: Value = match text {
                // The snapshot behind the pages is kept for five minutes only: begin again.
                Err(kube::Error::Api(status)) if status.code == 410 && token.is_some() && restarts < RESTARTS => {
                    restarts += 1;
                    list.items.clear();
                    token = None;
                    continue;
                }
                text => serde_json::from_slice(&text?).map_err(kube::Error::SerdeError)?,
            };
            if let Some(Value::Array(items)) = page.get_mut("items").map(Value::take) {
                list.items.extend(items.into_iter().map(|item| typed(item, resource)));
            }
            let metadata = |member: &str| {
                let text = page.pointer(&format!("/metadata/{member}")).and_then(Value::as_str);
                text.filter(|text| !text.is_empty()).map(str::to_owned)
            };
            list.resource_version = metadata("resourceVersion").unwrap_or_default();
            token = metadata("continue");
            if token.is_none() {
                return Ok(list);
            }
        }
    }

    /// Deletes one object; what becomes of the objects it owns is the API server's default.
    ///
    /// # Errors
    /// [`super::Reason::NotFound`] if there is none.
    pub async fn delete(
        &self,
        resource: &ResourceType,
        namespace: Option<&str>,
        name: &str,
        options: &DeleteOptions,
    ) -> Result<(), ClusterError> {
        let object = reference(resource, namespace, name);
        let mut body = json!({"apiVersion": "v1", "kind": "DeleteOptions"});
        if options.dry_run {
            // In the body: where there is one, the API server does not look at the query.
            body["dryRun"] = json!(["All"]);
        }
        if let Some(uid) = &options.uid {
            body["preconditions"] = json!({ "uid": uid });
        }
        let answer = async {
            let path = object_path(resource, namespace, name)?;
            self.answer_text(Call::with_body(Method::DELETE, path, "application/json", &body)).await
        };
        answer.await.map(drop).map_err(|e| self.explain(&e, format!("delete {}", object.lower_case()), Some(object)))
    }

    /// Merges a patch (RFC 7386) into one object and returns what the server made of it.
    pub async fn patch(
        &self,
        resource: &ResourceType,
        namespace: Option<&str>,
        name: &str,
        patch: &Value,
        options: &ApplyOptions<'_>,
    ) -> Result<Value, ClusterError> {
        let object = reference(resource, namespace, name);
        let answer = async {
            let dry = if options.dry_run { "&dryRun=All" } else { "" };
            let path = object_path(resource, namespace, name)?;
            let path = format!("{path}?fieldManager={}{dry}", options.field_manager);
            self.answer(Call::with_body(Method::PATCH, path, MERGE_PATCH, patch)).await
        };
        answer.await.map_err(|e| self.explain(&e, format!("patch {}", object.lower_case()), Some(object)))
    }

    /// Applies an object server-side and says what that did. `live` is the object before, if there is one.
    ///
    /// # Errors
    /// [`super::Reason::FieldConflict`] unless forced, and whatever the API server refuses.
    pub async fn apply(
        &self,
        resource: &ResourceType,
        desired: &Value,
        live: Option<&Value>,
        options: &ApplyOptions<'_>,
    ) -> Result<(Outcome, Value), ClusterError> {
        let object = ObjectId::of(desired);
        let answer = async {
            let path = object_path(resource, object.namespace(), &object.name)?;
            self.answer(apply_call(&path, desired, options)).await
        };
        match answer.await {
            Ok(after) => Ok((outcome(live, &after), after)),
            Err(error) => Err(self.explain(&error, format!("apply {}", object.lower_case()), Some(object))),
        }
    }
}

/// Content type of a JSON merge patch (RFC 7386).
pub(super) const MERGE_PATCH: &str = "application/merge-patch+json";

/// The request of a server-side apply (<https://kubernetes.io/docs/reference/using-api/server-side-apply/>).
pub(super) fn apply_call<'a>(path: &str, desired: &'a Value, options: &ApplyOptions<'_>) -> Call<'a> {
    let force = if options.force { "&force=true" } else { "" };
    let dry = if options.dry_run { "&dryRun=All" } else { "" };
    let path = format!("{path}?fieldManager={}{force}{dry}", options.field_manager);
    let call = Call::with_body(Method::PATCH, path, "application/apply-patch+yaml", desired);
    // Forced, no other field manager is in the way: a conflict is two writers at the same instant.
    Call { repeat: Repeat { after_conflict: options.force, ..Repeat::default() }, ..call }
}

fn found(result: Result<Value, ClusterError>) -> Result<Option<Value>, ClusterError> {
    match result {
        Ok(object) => Ok(Some(object)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

fn reference(resource: &ResourceType, namespace: Option<&str>, name: &str) -> ObjectId {
    ObjectId::new(&resource.group, &resource.kind, namespace.filter(|_| resource.namespaced), name)
        .at(&resource.version)
}

fn typed(item: Value, resource: &ResourceType) -> Value {
    let Value::Object(fields) = item else { return item };
    let mut typed = serde_json::Map::with_capacity(fields.len() + 2);
    typed.insert("apiVersion".to_owned(), resource.api_version().into());
    typed.insert("kind".to_owned(), resource.kind.as_ref().into());
    typed.extend(fields);
    Value::Object(typed)
}

fn outcome(before: Option<&Value>, after: &Value) -> Outcome {
    match before {
        None => Outcome::Created,
        Some(before) if content(before) == content(after) => Outcome::Unchanged,
        Some(_) => Outcome::Configured,
    }
}

/// An object without what the server counts; a dry run changes the content but not the resource version.
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
    use serde_json::json;

    use super::*;

    #[test]
    fn an_apply_that_only_moves_counters_changes_nothing() {
        let object = |version: &str, label: &str| json!({"metadata": {"name": "a", "resourceVersion": version, "managedFields": [version], "labels": {"x": label}}});
        assert_eq!(outcome(None, &object("1", "a")), Outcome::Created);
        assert_eq!(outcome(Some(&object("1", "a")), &object("2", "a")), Outcome::Unchanged);
        assert_eq!(outcome(Some(&object("1", "a")), &object("1", "b")), Outcome::Configured);
    }

    #[test]
    fn a_page_is_asked_for_with_encoded_selectors() {
        let query = |options: ListOptions, token: Option<&str>| {
            let request = options.page_request(&crate::api::kinds::SECRET, Some("n"), token).unwrap();
            request.uri().to_string()
        };
        assert_eq!(query(ListOptions::default(), None), "/api/v1/namespaces/n/secrets?limit=500");
        assert_eq!(
            query(ListOptions::labelled("a/b=c"), None),
            "/api/v1/namespaces/n/secrets?limit=500&labelSelector=a%2Fb%3Dc"
        );
        assert_eq!(
            query(ListOptions::named("flux"), Some("t=")),
            "/api/v1/namespaces/n/secrets?limit=500&fieldSelector=metadata.name%3Dflux&continue=t%3D"
        );
    }

    #[tokio::test]
    async fn a_dry_run_of_a_deletion_says_so_where_the_server_looks() {
        let service = tower::service_fn(|request: http::Request<Body>| async {
            assert_eq!(request.uri().query(), None);
            let body = request.into_body().collect_bytes().await.unwrap();
            let body: Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(body["dryRun"], json!(["All"]));
            assert_eq!(body["preconditions"], json!({"uid": "u"}));
            Ok::<_, std::convert::Infallible>(http::Response::new(Body::from(b"{}".to_vec())))
        });
        let cluster = Cluster::of_client(kube::Client::new(service, "n"), crate::cluster::Endpoint::default());
        let options = DeleteOptions { uid: Some("u".into()), dry_run: true };
        cluster.delete(&crate::api::kinds::SECRET, Some("n"), "old", &options).await.unwrap();
    }

    #[test]
    fn a_name_stays_one_part_of_the_path() {
        let path = |name: &str| object_path(&crate::api::kinds::SECRET, Some("n"), name).unwrap_or_default();
        assert_eq!(path("system:a.b"), "/api/v1/namespaces/n/secrets/system:a.b");
        assert_eq!(path("a?b/../c"), "/api/v1/namespaces/n/secrets/a%3Fb%2F..%2Fc");
        assert!(object_path(&crate::api::kinds::SECRET, Some("n"), "").is_err(), "the collection is no object");
    }

    #[test]
    fn items_of_a_list_get_their_kind_back() {
        let item = typed(json!({"metadata": {}}), &crate::api::kinds::SECRET);
        assert_eq!(serde_json::to_string(&item).unwrap(), r#"{"apiVersion":"v1","kind":"Secret","metadata":{}}"#);
    }
}
