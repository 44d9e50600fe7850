//! Names of objects as the reconciler compares and stores them.
//!
//! Pure.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::api::InventoryEntry;
use crate::api::inventory::ObjectId;
use crate::api::kinds::{self, ResourceType, split_api_version};

/// One object at the API server: by group, version, kind, namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceId {
    /// Empty for the core group.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    pub version: String,
    pub kind: String,
    /// Empty for cluster-scoped objects.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    pub name: String,
}

impl ResourceId {
    /// Returns the reference of a manifest; absent parts are empty.
    pub fn of(object: &Value) -> Self {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let api_version = text("/apiVersion");
        let (group, version) = split_api_version(&api_version);
        ResourceId {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: text("/kind"),
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name"),
        }
    }

    /// Returns `group/version`, or the version alone in the core group.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// Returns the identity without the version: two versions of one object are one object.
    pub fn key(&self) -> ObjectId {
        ObjectId {
            group: self.group.clone(),
            kind: self.kind.clone(),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        }
    }

    /// Returns the object an inventory entry stands for; `None` when the entry cannot be read.
    pub fn of_entry(entry: &InventoryEntry) -> Option<Self> {
        let ObjectId { namespace, name, group, kind } = entry.id.parse().ok()?;
        Some(ResourceId { group, version: entry.v.clone(), kind, namespace, name })
    }

    /// Returns the inventory entry of the object.
    pub fn entry(&self) -> InventoryEntry {
        InventoryEntry { id: self.key().to_string(), v: self.version.clone() }
    }
}

/// `Kind/namespace/name`, or `Kind/name` for a cluster-scoped object.
impl fmt::Display for ResourceId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            write!(formatter, "{}/{}", self.kind, self.name)
        } else {
            write!(formatter, "{}/{}/{}", self.kind, self.namespace, self.name)
        }
    }
}

/// Returns how the API server serves a kind at a version, or `None` for one that has to be looked up by discovery.
pub fn known_resource(group: &str, version: &str, kind: &str) -> Option<ResourceType> {
    kinds::resource_type_of(group, kind).map(|known| ResourceType { version: version.to_owned().into(), ..known })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_reference_reads_like_kubectl_names_it() {
        let role =
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "view"}});
        assert_eq!(ResourceId::of(&role).to_string(), "ClusterRole/view");
        let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "n"}});
        assert_eq!(ResourceId::of(&service).to_string(), "Service/n/s");
        assert_eq!(ResourceId::of(&service).api_version(), "v1");
    }

    #[test]
    fn a_known_kind_is_served_at_the_version_of_the_object() {
        let source = known_resource("source.toolkit.fluxcd.io", "v1beta2", "OCIRepository").unwrap();
        assert_eq!(source.path(None, None), "/apis/source.toolkit.fluxcd.io/v1beta2/ocirepositories");
        assert_eq!(known_resource("example.com", "v1", "Widget"), None);
    }
}
