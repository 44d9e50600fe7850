//! The custom resources of a definition: how to read them, and which of them are deleted with the definition.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cluster::{Cluster, ClusterError, ListOptions, Reason};
use crate::k8s::{ObjectId, ResourceType, fields};

/// Limit for the custom resources that a plan lists by name.
const NAMED: usize = 5;

/// Custom resources that are deleted with their definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CustomResources {
    pub kind: String,
    pub count: usize,
    /// `namespace/name` of the first ones, at most five.
    pub names: Vec<String>,
}

/// `3 GitRepository (apps/a, apps/b, web/c)`.
impl fmt::Display for CustomResources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({}", self.count, self.kind, self.names.join(", "))?;
        match self.count.saturating_sub(self.names.len()) {
            0 => f.write_str(")"),
            more => write!(f, " and {more} more)"),
        }
    }
}

/// Returns the resource type of a definition's objects: in the stored version if that is served, else in another served
/// one.
pub(super) fn resource_of(definition: &Value) -> ResourceType {
    let is = |version: &&Value, member: &str| version.get(member) == Some(&Value::Bool(true));
    let mut served = fields::items(definition, "/spec/versions").iter().filter(|version| is(version, "served"));
    let version = served.clone().find(|version| is(version, "storage")).or_else(|| served.next());
    let name = version.map(|version| fields::text(version, "/name")).unwrap_or_default();
    ResourceType::of_definition(definition, name.to_owned())
}

/// Returns all objects of a definition.
///
/// # Errors
/// The API server does not answer, or does not serve an existing definition. The latter does not mean "no objects": a
/// server that does not know a new definition yet answers the same.
pub(super) async fn list_custom_resources(
    cluster: &Cluster,
    definition: &Value,
) -> Result<(ResourceType, Vec<Value>), ClusterError> {
    let resource = resource_of(definition);
    if let Some(list) = cluster.list_all(&resource, None, &ListOptions::default()).await? {
        return Ok((resource, list.items));
    }
    // The definition may have been deleted since. One that was never accepted has no objects.
    match cluster.read(&ObjectId::of(definition)).await?.filter(is_served) {
        None => Ok((resource, vec![])),
        Some(_) => {
            let reason =
                Reason::Other(format!("{} is not served, although its CRD lists it as served", resource.version));
            let attempted = format!("list {}", resource.resource_name());
            Err(ClusterError::new(attempted, cluster.endpoint.clone(), reason))
        }
    }
}

/// Whether a definition reports that its objects are served.
fn is_served(definition: &Value) -> bool {
    fields::condition(definition, "Established").is_some_and(|established| established.is_true())
        && fields::items(definition, "/spec/versions").iter().any(|version| version["served"] == true)
}

/// Returns the custom resources that are deleted with a definition; `None` when there are none.
pub(super) async fn count_custom_resources(
    cluster: &Cluster,
    definition: &Value,
) -> Result<Option<CustomResources>, ClusterError> {
    let (resource, objects) = list_custom_resources(cluster, definition).await?;
    let names = objects.iter().take(NAMED).map(ObjectId::of);
    let names = names.map(|id| if id.namespace.is_empty() { id.name } else { format!("{}/{}", id.namespace, id.name) });
    let counted = CustomResources { kind: resource.kind.to_string(), count: objects.len(), names: names.collect() };
    Ok((counted.count > 0).then_some(counted))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cluster::Endpoint;

    /// A server that returns the definition but does not serve its kind.
    async fn counted_where_nothing_is_served(
        definition: Option<Value>,
    ) -> Result<Option<CustomResources>, ClusterError> {
        let bucket = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "buckets.g"}, "spec": {"group": "g", "scope": "Namespaced",
            "names": {"kind": "Bucket", "plural": "buckets"}, "versions": [{"name": "v1", "served": true, "storage": true}]}});
        let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let (code, body) = match (request.uri().path(), &definition) {
                ("/api" | "/apis", _) => (200, json!({"items": []}).to_string()),
                (path, Some(definition)) if path.ends_with("/customresourcedefinitions/buckets.g") => {
                    (200, definition.to_string())
                }
                (path, None) if path.ends_with("/customresourcedefinitions/buckets.g") => {
                    let missing = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404, "reason": "NotFound",
                        "message": "", "details": {"kind": "customresourcedefinitions", "name": "buckets.g"}});
                    (404, missing.to_string())
                }
                _ => (404, "404 page not found".to_owned()),
            };
            let response = http::Response::builder().status(code).body(kube::client::Body::from(body.into_bytes()));
            async move { response }
        });
        let cluster = Cluster::of_client(kube::Client::new(service, "n"), Endpoint::default());
        count_custom_resources(&cluster, &bucket).await
    }

    #[tokio::test]
    async fn a_server_that_does_not_know_a_definition_counts_none_of_its_objects() {
        let definition = |established: &str, served: bool| {
            Some(json!({"metadata": {"name": "buckets.g"}, "spec": {"versions": [{"name": "v1", "served": served}]},
                "status": {"conditions": [{"type": "Established", "status": established}]}}))
        };
        let error = counted_where_nothing_is_served(definition("True", true)).await.unwrap_err();
        assert_eq!(error.reason.to_string(), "v1 is not served, although its CRD lists it as served");
        for without_objects in [definition("False", true), definition("True", false), None] {
            assert_eq!(counted_where_nothing_is_served(without_objects).await.unwrap(), None);
        }
    }

    #[test]
    fn objects_are_reached_in_a_served_version() {
        let definition = json!({"spec": {"group": "g", "scope": "Namespaced", "names": {"kind": "K", "plural": "ks"}, "versions": [
            {"name": "v1", "served": false, "storage": true}, {"name": "v1beta2", "served": true, "storage": false}]}});
        assert_eq!(resource_of(&definition).path(Some("n"), None), "/apis/g/v1beta2/namespaces/n/ks");
    }
}
