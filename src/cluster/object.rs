//! Names of objects: which kind, where, and under which path the API server keeps them.
//!
//! Pure: a fixed table of the kinds an installation of Flux is made of, and the rules for paths.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One object by group, version, kind, namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectId {
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

impl ObjectId {
    /// Returns the reference of a manifest; absent parts are empty.
    pub fn of(object: &Value) -> Self {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let api_version = text("/apiVersion");
        let (group, version) = split_api_version(&api_version);
        ObjectId {
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
    pub fn key(&self) -> ObjectKey {
        ObjectKey {
            group: self.group.clone(),
            kind: self.kind.clone(),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        }
    }
}

/// `Kind/namespace/name`, or `Kind/name` for a cluster-scoped object.
impl fmt::Display for ObjectId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            write!(formatter, "{}/{}", self.kind, self.name)
        } else {
            write!(formatter, "{}/{}/{}", self.kind, self.namespace, self.name)
        }
    }
}

/// What makes an object the same object across API versions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ObjectKey {
    pub group: String,
    pub kind: String,
    pub namespace: String,
    pub name: String,
}

/// One kind as the API server serves it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Resource {
    pub group: String,
    pub version: String,
    pub kind: String,
    /// Path segment, lower case.
    pub plural: String,
    pub namespaced: bool,
}

impl Resource {
    /// Returns the path of the collection: of one namespace, or of the whole cluster when `namespace` is `None`
    /// or the kind is cluster-scoped.
    pub fn collection(&self, namespace: Option<&str>) -> String {
        let root = if self.group.is_empty() {
            format!("/api/{}", self.version)
        } else {
            format!("/apis/{}/{}", self.group, self.version)
        };
        match namespace {
            Some(namespace) if self.namespaced => format!("{root}/namespaces/{namespace}/{}", self.plural),
            _ => format!("{root}/{}", self.plural),
        }
    }

    /// Returns the path of one object of this kind.
    pub fn path(&self, namespace: &str, name: &str) -> String {
        // RBAC names may hold `:`, which is legal in a path segment; everything else is a DNS name.
        format!("{}/{name}", self.collection(Some(namespace)))
    }

    /// Returns `group/version`, or the version alone in the core group.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }
}

/// Returns group (empty for core) and version of an `apiVersion` text.
pub fn split_api_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// Kinds an installation of Flux is made of, so that no run has to ask the server for them: group, kind, plural,
/// namespaced. The version comes from the object.
const KNOWN: &[(&str, &str, &str, bool)] = &[
    ("", "ConfigMap", "configmaps", true),
    ("", "Event", "events", true),
    ("", "LimitRange", "limitranges", true),
    ("", "Namespace", "namespaces", false),
    ("", "PersistentVolumeClaim", "persistentvolumeclaims", true),
    ("", "Pod", "pods", true),
    ("", "ResourceQuota", "resourcequotas", true),
    ("", "Secret", "secrets", true),
    ("", "Service", "services", true),
    ("", "ServiceAccount", "serviceaccounts", true),
    ("apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions", false),
    ("apps", "DaemonSet", "daemonsets", true),
    ("apps", "Deployment", "deployments", true),
    ("apps", "ReplicaSet", "replicasets", true),
    ("apps", "StatefulSet", "statefulsets", true),
    ("batch", "CronJob", "cronjobs", true),
    ("batch", "Job", "jobs", true),
    ("coordination.k8s.io", "Lease", "leases", true),
    ("fluxcd.controlplane.io", "FluxInstance", "fluxinstances", true),
    ("fluxcd.controlplane.io", "FluxReport", "fluxreports", true),
    ("fluxcd.controlplane.io", "ResourceSet", "resourcesets", true),
    ("fluxcd.controlplane.io", "ResourceSetInputProvider", "resourcesetinputproviders", true),
    ("helm.toolkit.fluxcd.io", "HelmRelease", "helmreleases", true),
    ("image.toolkit.fluxcd.io", "ImagePolicy", "imagepolicies", true),
    ("image.toolkit.fluxcd.io", "ImageRepository", "imagerepositories", true),
    ("image.toolkit.fluxcd.io", "ImageUpdateAutomation", "imageupdateautomations", true),
    ("kustomize.toolkit.fluxcd.io", "Kustomization", "kustomizations", true),
    ("networking.k8s.io", "NetworkPolicy", "networkpolicies", true),
    ("notification.toolkit.fluxcd.io", "Alert", "alerts", true),
    ("notification.toolkit.fluxcd.io", "Provider", "providers", true),
    ("notification.toolkit.fluxcd.io", "Receiver", "receivers", true),
    ("policy", "PodDisruptionBudget", "poddisruptionbudgets", true),
    ("rbac.authorization.k8s.io", "ClusterRole", "clusterroles", false),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding", "clusterrolebindings", false),
    ("rbac.authorization.k8s.io", "Role", "roles", true),
    ("rbac.authorization.k8s.io", "RoleBinding", "rolebindings", true),
    ("source.extensions.fluxcd.io", "ArtifactGenerator", "artifactgenerators", true),
    ("source.toolkit.fluxcd.io", "Bucket", "buckets", true),
    ("source.toolkit.fluxcd.io", "ExternalArtifact", "externalartifacts", true),
    ("source.toolkit.fluxcd.io", "GitRepository", "gitrepositories", true),
    ("source.toolkit.fluxcd.io", "HelmChart", "helmcharts", true),
    ("source.toolkit.fluxcd.io", "HelmRepository", "helmrepositories", true),
    ("source.toolkit.fluxcd.io", "OCIRepository", "ocirepositories", true),
];

/// Returns how the API server serves a kind, or `None` for one that has to be looked up by discovery.
pub fn known_resource(group: &str, version: &str, kind: &str) -> Option<Resource> {
    KNOWN.iter().find(|known| known.0 == group && known.1 == kind).map(|known| Resource {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: kind.to_owned(),
        plural: known.2.to_owned(),
        namespaced: known.3,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_reference_reads_like_kubectl_names_it() {
        let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "view"}});
        assert_eq!(ObjectId::of(&role).to_string(), "ClusterRole/view");
        let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "n"}});
        assert_eq!(ObjectId::of(&service).to_string(), "Service/n/s");
        assert_eq!(ObjectId::of(&service).api_version(), "v1");
    }

    #[test]
    fn paths_follow_group_and_scope() {
        let service = known_resource("", "v1", "Service").unwrap();
        assert_eq!(service.path("n", "s"), "/api/v1/namespaces/n/services/s");
        assert_eq!(service.collection(None), "/api/v1/services");
        let crd = known_resource("apiextensions.k8s.io", "v1", "CustomResourceDefinition").unwrap();
        assert_eq!(crd.path("", "a.b"), "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/a.b");
        assert_eq!(known_resource("example.com", "v1", "Widget"), None);
    }
}
