//! Objects on their way through a build, with the identities they had before.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::k8s::fields::text;
pub(crate) use crate::k8s::fields::{kind, name};
use crate::k8s::{ObjectId, split_api_version};

/// Kinds of Kubernetes' own API groups that are cluster-scoped. Every other kind counts as namespaced, as in kustomize.
/// (Kubernetes 1.37 API reference.)
const CLUSTER_SCOPED: [(&str, &str); 32] = [
    ("", "ComponentStatus"),
    ("", "Namespace"),
    ("", "Node"),
    ("", "PersistentVolume"),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
    ("apiregistration.k8s.io", "APIService"),
    ("certificates.k8s.io", "CertificateSigningRequest"),
    ("certificates.k8s.io", "ClusterTrustBundle"),
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"),
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"),
    ("internal.apiserver.k8s.io", "StorageVersion"),
    ("networking.k8s.io", "IPAddress"),
    ("networking.k8s.io", "IngressClass"),
    ("networking.k8s.io", "ServiceCIDR"),
    ("node.k8s.io", "RuntimeClass"),
    ("rbac.authorization.k8s.io", "ClusterRole"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
    ("resource.k8s.io", "DeviceClass"),
    ("resource.k8s.io", "ResourceSlice"),
    ("scheduling.k8s.io", "PriorityClass"),
    ("storage.k8s.io", "CSIDriver"),
    ("storage.k8s.io", "CSINode"),
    ("storage.k8s.io", "StorageClass"),
    ("storage.k8s.io", "VolumeAttachment"),
    ("storage.k8s.io", "VolumeAttributesClass"),
    ("storagemigration.k8s.io", "StorageVersionMigration"),
];

/// The namespace that selectors assume for an object without one, as in kustomize.
const DEFAULT_NAMESPACE: &str = "default";
/// The namespace of cluster-scoped objects in selectors, as in kustomize.
const NO_NAMESPACE: &str = "_non_namespaceable_";

/// Whether objects of this group and kind are cluster-scoped.
pub fn is_cluster_scoped(group: &str, kind: &str) -> bool {
    CLUSTER_SCOPED.binary_search(&(group, kind)).is_ok()
}

/// Two objects of one build with the same group, version, kind, namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("may not add resource with an already registered id: {0}")]
pub struct DuplicateObject(pub ObjectId);

/// An object and its former names.
///
/// A patch may select an object by its original name and namespace as well as by the current ones, so a name suffix
/// does not hide it.
#[derive(Clone, Debug)]
pub(crate) struct Resource {
    pub object: Value,
    previous: Vec<(String, String)>,
}

impl Resource {
    pub(crate) fn new(object: Value) -> Self {
        Resource { object, previous: Vec::new() }
    }

    /// The identity the object has now.
    pub(crate) fn current_id(&self) -> ObjectId {
        ObjectId::of(&self.object)
    }

    /// Remembers the current name and namespace; called before they change.
    pub(crate) fn remember_id(&mut self) {
        let id = (name(&self.object).to_string(), namespace(&self.object).to_string());
        if self.previous.last() != Some(&id) {
            self.previous.push(id);
        }
    }

    /// The name before any change.
    pub(crate) fn original_name(&self) -> &str {
        self.previous.first().map_or_else(|| name(&self.object), |(name, _)| name.as_str())
    }

    /// The namespace before any change; empty for none.
    pub(crate) fn original_namespace(&self) -> &str {
        self.previous.first().map_or_else(|| namespace(&self.object), |(_, namespace)| namespace.as_str())
    }

    /// Every pair of name and namespace the object has or had.
    pub(crate) fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        let current = (name(&self.object), namespace(&self.object));
        self.previous.iter().map(|(name, namespace)| (name.as_str(), namespace.as_str())).chain([current])
    }
}

/// The objects of a build, in the order they were added.
#[derive(Clone, Debug, Default)]
pub struct ResourceList(pub(crate) Vec<Resource>);

impl ResourceList {
    /// Collects objects into a list.
    ///
    /// # Errors
    /// Two of them share an identity.
    pub fn from_objects(objects: impl IntoIterator<Item = Value>) -> Result<Self, DuplicateObject> {
        let list = ResourceList(objects.into_iter().map(Resource::new).collect());
        list.check_unique()?;
        Ok(list)
    }

    /// Appends another list, such as the result of a nested kustomization.
    ///
    /// # Errors
    /// An object is in both. The list is then unusable.
    pub fn append(&mut self, other: ResourceList) -> Result<(), DuplicateObject> {
        self.0.extend(other.0);
        self.check_unique()
    }

    /// # Errors
    /// Two objects share an identity.
    pub(crate) fn check_unique(&self) -> Result<(), DuplicateObject> {
        let mut seen = HashSet::with_capacity(self.0.len());
        for resource in &self.0 {
            let object = &resource.object;
            let (group, version) = group_version(object);
            let kind = kind(object);
            let place = effective_namespace(group, kind, namespace(object));
            if !seen.insert((group, version, kind, place, name(object))) {
                return Err(DuplicateObject(resource.current_id()));
            }
        }
        Ok(())
    }

    /// The objects without their former names.
    pub fn into_objects(self) -> Vec<Value> {
        self.0.into_iter().map(|resource| resource.object).collect()
    }
}

pub(crate) fn effective_namespace<'a>(group: &str, kind: &str, namespace: &'a str) -> &'a str {
    if is_cluster_scoped(group, kind) {
        NO_NAMESPACE
    } else if namespace.is_empty() {
        DEFAULT_NAMESPACE
    } else {
        namespace
    }
}

/// `(group, version)` of an object's `apiVersion`; the core group is empty.
pub(crate) fn group_version(object: &Value) -> (&str, &str) {
    split_api_version(text(object, "/apiVersion"))
}

pub(crate) fn namespace(object: &Value) -> &str {
    text(object, "/metadata/namespace")
}

/// Returns the mapping below a key. A missing one is created, and another value is replaced by an empty mapping. `None`
/// only when `value` itself is not a mapping.
pub(crate) fn child_mut<'a>(value: &'a mut Value, key: &str) -> Option<&'a mut Map<String, Value>> {
    let child = value.as_object_mut()?.entry(key).or_insert_with(|| Value::Object(Map::new()));
    if child.is_null() {
        *child = Value::Object(Map::new());
    }
    child.as_object_mut()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_cluster_scoped_table_is_sorted_for_its_binary_search() {
        assert!(CLUSTER_SCOPED.is_sorted());
        assert!(is_cluster_scoped("", "Namespace"));
        assert!(is_cluster_scoped("rbac.authorization.k8s.io", "ClusterRole"));
        assert!(!is_cluster_scoped("apps", "Deployment"));
        assert!(!is_cluster_scoped("example.com", "Namespace"));
    }

    #[test]
    fn two_objects_with_one_identity_are_refused() {
        let object = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}});
        let error = ResourceList::from_objects([object.clone(), object.clone()]).unwrap_err();
        assert_eq!(error.to_string(), "may not add resource with an already registered id: Service/a");
        let mut elsewhere = object.clone();
        elsewhere["metadata"]["namespace"] = json!("b");
        assert!(ResourceList::from_objects([object, elsewhere]).is_ok());
    }

    #[test]
    fn an_object_remembers_the_name_it_came_with() {
        let mut resource = Resource::new(json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}}));
        resource.remember_id();
        resource.object["metadata"]["name"] = json!("a-b");
        assert_eq!(resource.original_name(), "a");
        assert_eq!(resource.current_id().name, "a-b");
        assert_eq!(resource.names().map(|(name, _)| name).collect::<Vec<_>>(), ["a", "a-b"]);
    }
}
