//! Lists of objects, page by page.

use serde_json::Value;

use super::call::{ApiCall, encode};
use super::{Cluster, ClusterError};
use crate::k8s::ResourceType;

/// Default number of objects per page, as in kubectl.
const PAGE: u32 = 500;
/// Limit for restarting a list whose snapshot has expired.
const RESTARTS: usize = 3;

/// The objects that a list or watch covers, and how they are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListOptions {
    /// In the API's syntax; `None` selects all.
    pub label_selector: Option<String>,
    /// In the API's syntax; `None` selects all.
    pub field_selector: Option<String>,
    /// Objects per page.
    pub page_size: u32,
    /// Read only type and metadata.
    pub metadata_only: bool,
    /// Ask the server to leave out managed fields, which are half of the text of most objects. Servers before 1.37 send
    /// them anyway, so a reader must expect them.
    pub without_managers: bool,
}

impl Default for ListOptions {
    fn default() -> Self {
        ListOptions {
            label_selector: None,
            field_selector: None,
            page_size: PAGE,
            metadata_only: false,
            without_managers: false,
        }
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

    /// Returns the requested form of the answer. The form without `drop` is for APIs behind the server that do not know
    /// that parameter.
    fn accept(&self) -> Option<&'static str> {
        match (self.metadata_only, self.without_managers) {
            (false, false) => None,
            (false, true) => Some("application/json;drop=metadata.managedFields,application/json"),
            (true, false) => Some("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"),
            (true, true) => Some(
                "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1;drop=metadata.managedFields,\
                 application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
            ),
        }
    }

    /// Returns the request for one page; `token` is the end of the previous page.
    pub(super) fn page_request(
        &self,
        resource: &ResourceType,
        namespace: Option<&str>,
        token: Option<&str>,
    ) -> kube::Result<http::Request<Vec<u8>>> {
        let token = token.map_or_else(String::new, |token| format!("&continue={}", encode(token)));
        let path = format!("{}?limit={}{}{token}", resource.path(namespace, None), self.page_size, self.query());
        ApiCall { accept: self.accept(), ..ApiCall::get(path) }.request()
    }
}

/// The result of a list.
#[derive(Clone, Debug, Default)]
pub struct ObjectList {
    /// With `apiVersion` and `kind`, which the server omits from items.
    pub items: Vec<Value>,
    /// The start of a following watch.
    pub resource_version: String,
    /// The version that answered; see [`Cluster::list_all`].
    pub version: String,
}

impl Cluster {
    /// Lists a kind in one namespace, or in all (`None`), page by page.
    ///
    /// # Errors
    /// [`super::Reason::ApiMissing`] if the kind is not served at this version, and any failure of the request.
    pub async fn list(
        &self,
        resource: &ResourceType,
        namespace: Option<&str>,
        options: &ListOptions,
    ) -> Result<ObjectList, ClusterError> {
        let mut list = ObjectList { version: resource.version.to_string(), ..ObjectList::default() };
        let mut token: Option<String> = None;
        let mut restarts = 0;
        loop {
            let page = self.page(resource, namespace, options, token.as_deref()).await;
            let mut page = match page {
                // The server keeps the snapshot of a paged list for five minutes only, so start again.
                Err(error) if error.is_expired() && token.is_some() && restarts < RESTARTS => {
                    restarts += 1;
                    list.items.clear();
                    token = None;
                    continue;
                }
                page => page?,
            };
            if let Some(Value::Array(items)) = page.get_mut("items").map(Value::take) {
                list.items.extend(items.into_iter().map(|item| typed(item, resource)));
            }
            let metadata = |member: &str| {
                let text = page.pointer(&format!("/metadata/{member}")).and_then(Value::as_str);
                text.filter(|text| !text.is_empty()).map(str::to_owned)
            };
            // All pages of a list come from one snapshot, so each page has its version.
            list.resource_version = metadata("resourceVersion").unwrap_or_default();
            token = metadata("continue");
            if token.is_none() {
                return Ok(list);
            }
        }
    }

    /// Like [`Cluster::list`]; `None` when the server does not serve the kind. If the kind is served at another
    /// version, the objects have that version.
    pub async fn list_all(
        &self,
        resource: &ResourceType,
        namespace: Option<&str>,
        options: &ListOptions,
    ) -> Result<Option<ObjectList>, ClusterError> {
        let list = |resource| async move { self.list(&resource, namespace, options).await };
        Box::pin(self.while_served(resource.clone(), list)).await
    }

    /// Reads a page completely.
    async fn page(
        &self,
        resource: &ResourceType,
        namespace: Option<&str>,
        options: &ListOptions,
        token: Option<&str>,
    ) -> Result<Value, ClusterError> {
        let text = async { self.exchange(options.page_request(resource, namespace, token)?).await };
        let page = text.await.and_then(|text| serde_json::from_slice(&text).map_err(kube::Error::SerdeError));
        page.map_err(|error| self.list_error(&error, resource, namespace))
    }

    /// Explains why a list failed.
    pub(super) fn list_error(
        &self,
        error: &kube::Error,
        resource: &ResourceType,
        namespace: Option<&str>,
    ) -> ClusterError {
        let place = namespace.map_or_else(String::new, |namespace| format!(" in namespace {namespace}"));
        let name = resource.resource_name();
        self.explain(error, format!("list {name}{place}"), None).with_api(&name)
    }
}

fn typed(item: Value, resource: &ResourceType) -> Value {
    let Value::Object(fields) = item else { return item };
    let mut typed = serde_json::Map::with_capacity(fields.len() + 2);
    typed.insert("apiVersion".to_owned(), resource.api_version().into());
    typed.insert("kind".to_owned(), resource.kind.as_ref().into());
    // In a metadata list the items name another kind.
    typed.extend(fields.into_iter().filter(|(key, _)| key != "apiVersion" && key != "kind"));
    Value::Object(typed)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use kube::client::Body;
    use serde_json::json;

    use super::*;
    use crate::api::kinds::SECRET;

    #[test]
    fn a_page_is_asked_for_with_encoded_selectors() {
        let query = |options: ListOptions, token: Option<&str>| {
            let request = options.page_request(&SECRET, Some("n"), token).unwrap();
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

    #[test]
    fn managed_fields_and_all_but_metadata_are_left_out_where_that_is_asked_for() {
        let accept = |metadata_only, without_managers| {
            let options = ListOptions { metadata_only, without_managers, ..ListOptions::default() };
            let request = options.page_request(&SECRET, None, None).unwrap();
            request.headers().get("accept").map(|accept| accept.to_str().unwrap().to_owned())
        };
        assert_eq!(accept(false, false), None);
        assert!(accept(false, true).unwrap().starts_with("application/json;drop=metadata.managedFields,"));
        for without_managers in [false, true] {
            // The plain form would hold the values of Secrets.
            let asked = accept(true, without_managers).unwrap();
            assert!(asked.split(',').all(|form| form.contains("as=PartialObjectMetadataList")), "{asked}");
        }
    }

    #[test]
    fn items_of_a_list_get_their_kind_back() {
        let item = typed(json!({"metadata": {}}), &SECRET);
        assert_eq!(serde_json::to_string(&item).unwrap(), r#"{"apiVersion":"v1","kind":"Secret","metadata":{}}"#);
    }

    /// An API server that returns these answers in order.
    fn answering(answers: impl Iterator<Item = (u16, Value)> + Send + 'static) -> Cluster {
        let answers = Mutex::new(answers);
        let service = tower::service_fn(move |_: http::Request<Body>| {
            let (code, body) = answers.lock().unwrap().next().expect("no further request");
            let response = http::Response::builder().status(code).body(Body::from(body.to_string().into_bytes()));
            async move { response }
        });
        Cluster::of_client(kube::Client::new(service, "n"), crate::Endpoint::default())
    }

    fn page(names: &[&str], version: &str, token: &str) -> (u16, Value) {
        let items: Vec<Value> = names.iter().map(|name| json!({"metadata": {"name": name}})).collect();
        (200, json!({"metadata": {"resourceVersion": version, "continue": token}, "items": items}))
    }

    fn expired() -> (u16, Value) {
        let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 410, "reason": "Expired",
            "message": "the provided continue parameter is too old"});
        (410, status)
    }

    #[tokio::test]
    async fn a_list_with_an_expired_snapshot_restarts_from_the_first_page() {
        let answers =
            [page(&["a", "b"], "1", "second"), expired(), page(&["a", "c"], "2", "second"), page(&["d"], "2", "")];
        let cluster = answering(answers.into_iter());
        let list = cluster.list(&SECRET, Some("n"), &ListOptions::default()).await.unwrap();
        let names: Vec<&str> = list.items.iter().filter_map(|item| item["metadata"]["name"].as_str()).collect();
        assert_eq!((names, list.resource_version.as_str()), (vec!["a", "c", "d"], "2"));
    }

    #[tokio::test]
    async fn a_list_whose_snapshots_always_expire_is_an_error_after_a_few_restarts() {
        let first = || page(&["a", "b"], "1", "second");
        let answers = std::iter::repeat_with(move || [first(), expired()]).take(1 + RESTARTS).flatten();
        let error = answering(answers).list(&SECRET, Some("n"), &ListOptions::default()).await.unwrap_err();
        assert!(error.is_expired() && error.to_string().contains("list secrets in namespace n"), "{error}");
        // Before the first page there is nothing to restart.
        let at_once = std::iter::once(expired());
        assert!(answering(at_once).list(&SECRET, Some("n"), &ListOptions::default()).await.unwrap_err().is_expired());
    }
}
