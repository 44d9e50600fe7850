//! Reading and writing objects of any kind, as JSON values: get, list, apply, delete.
//!
//! Every function names what it does in its error, so that callers need not.

use kube::api::{DeleteParams, GetParams, ListParams, Patch, PatchParams};
use kube::client::Body;
use kube::core::{Request, Status};
use serde_json::Value;

use super::{Cluster, ClusterError, Reason};
use crate::api::kinds::ResourceType;
use crate::k8s::ObjectId;

/// Objects per page; kubectl's number.
const PAGE: u32 = 500;

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

/// Which objects a list holds; empty selectors select all.
#[derive(Clone, Debug, Default)]
pub struct ListOptions {
    pub label_selector: Option<String>,
    pub field_selector: Option<String>,
}

impl Cluster {
    /// Sends a request and reads its answer.
    ///
    /// kube's own way logs an answer it cannot parse, with whatever secret is in it.
    pub(super) async fn answer(&self, request: http::Request<Vec<u8>>) -> kube::Result<Value> {
        let response = self.client.send(request.map(Body::from)).await?;
        let code = response.status();
        let body = response.into_body().collect_bytes().await?;
        if code.is_client_error() || code.is_server_error() {
            let status = serde_json::from_slice::<Status>(&body).unwrap_or_else(|_| {
                // Not the API server's words: a gateway's page.
                let text = String::from_utf8_lossy(&body);
                Status::failure(text.trim(), "Failed to parse error data").with_code(code.as_u16())
            });
            return Err(kube::Error::Api(status.with_code(code.as_u16()).boxed()));
        }
        serde_json::from_slice(&body).map_err(kube::Error::SerdeError)
    }

    /// Reads one object.
    ///
    /// # Errors
    /// [`Reason::NotFound`] if there is none, and whatever keeps the answer away.
    pub async fn get(
        &self,
        resource: &ResourceType,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Value, ClusterError> {
        let object = reference(resource, namespace, name);
        let failed = |e| self.explain(e, format!("get {}", object.lower_case()), Some(object.clone()));
        let request = Request::new(resource.path(namespace, None)).get(name, &GetParams::default());
        let request = request.map_err(|e| failed(kube::Error::BuildRequest(e)))?;
        self.answer(request).await.map_err(failed)
    }

    /// Like [`Cluster::get`]; None if there is no such object.
    pub async fn find(
        &self,
        resource: &ResourceType,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Option<Value>, ClusterError> {
        match self.get(resource, namespace, name).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Lists a kind in one namespace, or in all (None), page by page.
    ///
    /// The API server leaves `apiVersion` and `kind` out of the items of built-in kinds; they are put back.
    pub async fn list(
        &self,
        resource: &ResourceType,
        namespace: Option<&str>,
        options: &ListOptions,
    ) -> Result<Vec<Value>, ClusterError> {
        match self.list_pages(resource, namespace, options).await {
            // The snapshot behind the pages is gone after five minutes; one fresh start is enough for any client.
            Err(error) if matches!(error.reason, Reason::Server { code: 410, .. }) => {
                self.list_pages(resource, namespace, options).await
            }
            other => other,
        }
    }

    async fn list_pages(
        &self,
        resource: &ResourceType,
        namespace: Option<&str>,
        options: &ListOptions,
    ) -> Result<Vec<Value>, ClusterError> {
        let failed = |e| {
            let place = namespace.map_or_else(String::new, |n| format!(" in namespace {n}"));
            self.explain(e, format!("list {}{place}", resource.resource_name()), None)
                .with_api(&resource.resource_name())
        };
        let mut params = ListParams { limit: Some(PAGE), ..ListParams::default() };
        params.label_selector.clone_from(&options.label_selector);
        params.field_selector.clone_from(&options.field_selector);
        let mut all = vec![];
        loop {
            let request = Request::new(resource.path(namespace, None)).list(&params);
            let request = request.map_err(|e| failed(kube::Error::BuildRequest(e)))?;
            let mut page: Value = self.answer(request).await.map_err(failed)?;
            if let Some(Value::Array(items)) = page.get_mut("items").map(Value::take) {
                all.extend(items.into_iter().map(|item| typed(item, resource)));
            }
            match page.pointer("/metadata/continue").and_then(Value::as_str) {
                Some(token) if !token.is_empty() => params.continue_token = Some(token.to_owned()),
                _ => return Ok(all),
            }
        }
    }

    /// Deletes one object in the foreground of its dependents' owner, as the API server decides by default.
    ///
    /// # Errors
    /// [`Reason::NotFound`] if there is none.
    pub async fn delete(
        &self,
        resource: &ResourceType,
        namespace: Option<&str>,
        name: &str,
        dry_run: bool,
    ) -> Result<(), ClusterError> {
        let object = reference(resource, namespace, name);
        let failed = |e| self.explain(e, format!("delete {}", object.lower_case()), Some(object.clone()));
        let params = if dry_run { DeleteParams::default().dry_run() } else { DeleteParams::default() };
        let request = Request::new(resource.path(namespace, None)).delete(name, &params);
        let request = request.map_err(|e| failed(kube::Error::BuildRequest(e)))?;
        self.answer(request).await.map(|_| ()).map_err(failed)
    }

    /// Applies an object server-side and says what that did. `live` is the object before, if there is one.
    ///
    /// # Errors
    /// [`Reason::FieldConflict`] unless forced, and whatever the API server refuses.
    pub async fn apply(
        &self,
        resource: &ResourceType,
        desired: &Value,
        live: Option<&Value>,
        options: &ApplyOptions<'_>,
    ) -> Result<(Outcome, Value), ClusterError> {
        let object = ObjectId::of(desired);
        let failed = |e| self.explain(e, format!("apply {}", object.lower_case()), Some(object.clone()));
        let mut params = PatchParams::apply(options.field_manager);
        params.force = options.force;
        params.dry_run = options.dry_run;
        let collection = resource.path(object.namespace(), None);
        let request = Request::new(collection).patch(&object.name, &params, &Patch::Apply(desired));
        let request = request.map_err(|e| failed(kube::Error::BuildRequest(e)))?;
        let after: Value = self.answer(request).await.map_err(failed)?;
        Ok((outcome(live, &after), after))
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
    fn items_of_a_list_get_their_kind_back() {
        let item = typed(json!({"metadata": {}}), &crate::api::kinds::SECRET);
        assert_eq!(serde_json::to_string(&item).unwrap(), r#"{"apiVersion":"v1","kind":"Secret","metadata":{}}"#);
    }
}
