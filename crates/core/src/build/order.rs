//! The order in which objects are applied; pruning uses the reverse order.
//!
//! It is the order of Flux's own server-side apply library (`fluxcd/pkg/ssa`): definitions and namespaces first, their
//! users later, and webhooks last, because they could block other objects.

use serde_json::Value;

use crate::kustomize::{group_version, kind, name, namespace};

/// Kinds that go first, in this order.
const FIRST: [&str; 23] = [
    "CustomResourceDefinition",
    "Namespace",
    "ClusterRole",
    "ClusterClass",
    "RuntimeClass",
    "PriorityClass",
    "StorageClass",
    "VolumeSnapshotClass",
    "IngressClass",
    "GatewayClass",
    "ClusterRoleBinding",
    "ResourceQuota",
    "ServiceAccount",
    "Role",
    "RoleBinding",
    "ConfigMap",
    "Secret",
    "Service",
    "LimitRange",
    "Deployment",
    "StatefulSet",
    "CronJob",
    "PodDisruptionBudget",
];

/// Kinds that go last, in this order.
const LAST: [&str; 2] = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

/// Sort key for the apply order; smaller is earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SortKey<'a> {
    kind_index: usize,
    group: &'a str,
    kind: &'a str,
    namespace: &'a str,
    name: &'a str,
}

impl<'a> SortKey<'a> {
    /// The key of an object of which only the identity is known, such as an inventory entry.
    pub fn new(group: &'a str, kind: &'a str, namespace: &'a str, name: &'a str) -> Self {
        let kind_index = match (FIRST.iter().position(|k| *k == kind), LAST.iter().position(|k| *k == kind)) {
            (Some(index), _) => index,
            (None, None) => FIRST.len(),
            (None, Some(index)) => FIRST.len() + 1 + index,
        };
        SortKey { kind_index, group, kind, namespace, name }
    }
}

/// The key of an object: kind by the table, then group, kind, namespace and name.
pub(crate) fn sort_key(object: &Value) -> SortKey<'_> {
    SortKey::new(group_version(object).0, kind(object), namespace(object), name(object))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn objects_sort_by_kind_table_then_group_kind_namespace_and_name() {
        let object = |api_version: &str, kind: &str, name: &str| json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "x"}});
        let mut objects = vec![
            object("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "a"),
            object("source.toolkit.fluxcd.io/v1", "GitRepository", "a"),
            object("networking.k8s.io/v1", "NetworkPolicy", "a"),
            object("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "a"),
            object("v1", "PersistentVolumeClaim", "a"),
            object("apps/v1", "Deployment", "b"),
            object("apps/v1", "Deployment", "a"),
            object("v1", "Service", "a"),
            object("v1", "Namespace", "a"),
            object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "a"),
        ];
        objects.sort_by(|a, b| sort_key(a).cmp(&sort_key(b)));
        let order: Vec<_> = objects
            .iter()
            .map(|o| format!("{}/{}", o["kind"].as_str().unwrap(), o["metadata"]["name"].as_str().unwrap()))
            .collect();
        assert_eq!(
            order,
            [
                "CustomResourceDefinition/a",
                "Namespace/a",
                "Service/a",
                "Deployment/a",
                "Deployment/b",
                "PersistentVolumeClaim/a",
                "Kustomization/a",
                "NetworkPolicy/a",
                "GitRepository/a",
                "ValidatingWebhookConfiguration/a"
            ]
        );
    }
}
