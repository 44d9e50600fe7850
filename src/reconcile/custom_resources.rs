//! The custom resources of a definition: how they are reached, and what of them goes away with it.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cluster::{Cluster, ClusterError, ListOptions};
use crate::k8s::{ObjectId, ResourceType, fields};

/// How many custom resources a plan names.
const NAMED: usize = 5;

/// Custom resources that go away with their definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CustomResources {
    pub kind: String,
    pub count: usize,
    /// `namespace/name` of the first of them, five at the most.
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

/// Returns how objects of a definition are reached: in a served version, the stored one if it is.
pub(super) fn resource_of(definition: &Value) -> ResourceType {
    let is = |version: &&Value, member: &str| version.get(member) == Some(&Value::Bool(true));
    let mut served = fields::items(definition, "/spec/versions").iter().filter(|version| is(version, "served"));
    let version = served.clone().find(|version| is(version, "storage")).or_else(|| served.next());
    let name = version.map(|version| fields::text(version, "/name")).unwrap_or_default();
    ResourceType::of_definition(definition, name.to_owned())
}

/// Returns all objects of a definition.
pub(super) async fn list_custom_resources(
    cluster: &Cluster,
    definition: &Value,
) -> Result<(ResourceType, Vec<Value>), ClusterError> {
    let resource = resource_of(definition);
    let list = cluster.list_all(&resource, None, &ListOptions::default()).await?;
    Ok((resource, list.map(|list| list.items).unwrap_or_default()))
}

/// Returns what goes away with a definition; `None` when there is nothing.
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

    #[test]
    fn objects_are_reached_in_a_served_version() {
        let definition = json!({"spec": {"group": "g", "scope": "Namespaced", "names": {"kind": "K", "plural": "ks"}, "versions": [
            {"name": "v1", "served": false, "storage": true}, {"name": "v1beta2", "served": true, "storage": false}]}});
        assert_eq!(resource_of(&definition).path(Some("n"), None), "/apis/g/v1beta2/namespaces/n/ks");
    }
}
