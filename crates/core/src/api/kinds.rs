//! The kinds of Flux and its operator, and the Kubernetes kinds that they use: one table for all lookups by name.

use serde_json::Value;

use super::well_known;
pub use crate::k8s::ResourceType;
use crate::k8s::fields;
use crate::k8s::rbac::RBAC_GROUP;

/// A kind of Flux or of its operator.
#[derive(Debug, PartialEq, Eq)]
pub struct FluxKind {
    pub kind: &'static str,
    pub plural: &'static str,
    /// Names that users type instead; the first is the usual one.
    pub short_names: &'static [&'static str],
    pub group: &'static str,
    /// Served versions, from the newest Flux to the oldest supported one.
    pub versions: &'static [&'static str],
    /// Whether a controller reconciles it on request (`reconcile.fluxcd.io/requestedAt`).
    pub reconcilable: bool,
    /// Whether objects of the kind have a status (Flux 2.3 and later).
    pub has_status: bool,
    pub suspension: Suspension,
}

/// How reconciliation of a kind is suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suspension {
    /// The field `spec.suspend`.
    Field,
    /// An annotation whose value is `disabled` in any case.
    Annotation(&'static str),
    /// It cannot be suspended: the controller of another kind writes it.
    None,
}

impl Suspension {
    /// Whether an object is set to be suspended.
    pub fn is_set(self, object: &Value) -> bool {
        let suspend = object.pointer("/spec/suspend").and_then(Value::as_bool);
        self.is_set_by(|key| fields::annotation(object, key), suspend)
    }

    /// Like [`Suspension::is_set`], for an object that was read as a type: its annotations by key, and `spec.suspend`.
    pub fn is_set_by<'a>(self, annotation: impl FnOnce(&str) -> Option<&'a str>, suspend: Option<bool>) -> bool {
        match self {
            Suspension::Field => suspend.unwrap_or(false),
            Suspension::Annotation(key) => {
                annotation(key).is_some_and(|value| value.eq_ignore_ascii_case(well_known::DISABLED))
            }
            Suspension::None => false,
        }
    }
}

/// Whether an object is suspended, as the controller of its kind sees it; false for other kinds.
pub fn is_suspended(object: &Value) -> bool {
    of(fields::group(object), fields::kind(object)).is_some_and(|kind| kind.suspension.is_set(object))
}

/// Returns the readiness in lists: `True`, `False`, `Unknown`, or `Suspended`, which takes precedence. An object that
/// is being deleted is `Unknown`: its last status says nothing about how long that takes.
pub fn ready_word(object: &Value) -> &str {
    if fields::is_being_deleted(object) {
        return "Unknown";
    }
    if is_suspended(object) {
        return "Suspended";
    }
    match fields::condition(object, well_known::condition::READY) {
        // Ready describes an earlier spec.
        Some(ready) if ready.is_true() && !fields::is_observed(object) => "Unknown",
        Some(ready) => ready.status(),
        None => "Unknown",
    }
}

impl FluxKind {
    /// The kind in its newest version.
    pub fn resource_type(&self) -> ResourceType {
        ResourceType::namespaced(self.group, self.versions.first().copied().unwrap_or("v1"), self.kind, self.plural)
    }

    /// Whether a word names this kind: kind, singular, plural, short name or its plural, or plural with the group, in
    /// any case.
    pub fn is_called(&self, word: &str) -> bool {
        let word = word.to_ascii_lowercase();
        let name = match word.split_once('.') {
            Some((name, group)) if group == self.group => name,
            Some(_) => return false,
            None => word.as_str(),
        };
        let is_short = |name: &str| self.short_names.contains(&name);
        name == self.plural
            || name == self.kind.to_ascii_lowercase()
            || is_short(name)
            || name.strip_suffix('s').is_some_and(is_short)
    }
}

pub const KUSTOMIZE_GROUP: &str = "kustomize.toolkit.fluxcd.io";
pub const HELM_GROUP: &str = "helm.toolkit.fluxcd.io";
pub const SOURCE_GROUP: &str = "source.toolkit.fluxcd.io";
pub const SOURCE_EXTENSIONS_GROUP: &str = "source.extensions.fluxcd.io";
pub const NOTIFICATION_GROUP: &str = "notification.toolkit.fluxcd.io";
pub const IMAGE_GROUP: &str = "image.toolkit.fluxcd.io";

/// A kind whose controller handles requests and writes a status.
const fn flux(
    kind: &'static str,
    plural: &'static str,
    short_names: &'static [&'static str],
    group: &'static str,
    versions: &'static [&'static str],
    suspension: Suspension,
) -> FluxKind {
    FluxKind { kind, plural, short_names, group, versions, reconcilable: true, has_status: true, suspension }
}

impl FluxKind {
    /// A kind that is not reconciled on request.
    const fn passive(self, has_status: bool) -> Self {
        FluxKind { reconcilable: false, has_status, ..self }
    }
}

const FIELD: Suspension = Suspension::Field;
const OPERATOR: Suspension = Suspension::Annotation(well_known::RECONCILE_ANNOTATION);
/// <https://fluxcd.io/flux/components/source/artifactgenerators/#suspend-and-resume-reconciliation>
const GENERATOR: Suspension = Suspension::Annotation("source.extensions.fluxcd.io/reconcile");

/// Every kind, in list order (<https://fluxcd.io/flux/components/>, Flux 2.2 to 2.9).
pub const FLUX_KINDS: &[FluxKind] = &[
    flux("FluxInstance", "fluxinstances", &["instance", "instances"], well_known::GROUP, &["v1"], OPERATOR),
    flux("FluxReport", "fluxreports", &["report", "reports"], well_known::GROUP, &["v1"], OPERATOR),
    flux("ResourceSet", "resourcesets", &["rset"], well_known::GROUP, &["v1"], OPERATOR),
    flux("ResourceSetInputProvider", "resourcesetinputproviders", &["rsip"], well_known::GROUP, &["v1"], OPERATOR),
    flux("Kustomization", "kustomizations", &["ks"], KUSTOMIZE_GROUP, &["v1", "v1beta2"], FIELD),
    flux("HelmRelease", "helmreleases", &["hr"], HELM_GROUP, &["v2", "v2beta2", "v2beta1"], FIELD),
    flux("GitRepository", "gitrepositories", &["gitrepo"], SOURCE_GROUP, &["v1", "v1beta2"], FIELD),
    flux("OCIRepository", "ocirepositories", &["ocirepo"], SOURCE_GROUP, &["v1", "v1beta2"], FIELD),
    flux("Bucket", "buckets", &["bucket"], SOURCE_GROUP, &["v1", "v1beta2"], FIELD),
    flux("HelmRepository", "helmrepositories", &["helmrepo"], SOURCE_GROUP, &["v1", "v1beta2"], FIELD),
    flux("HelmChart", "helmcharts", &["hc"], SOURCE_GROUP, &["v1", "v1beta2"], FIELD),
    flux("ArtifactGenerator", "artifactgenerators", &["ag"], SOURCE_EXTENSIONS_GROUP, &["v1beta1"], GENERATOR),
    flux("ExternalArtifact", "externalartifacts", &["ea"], SOURCE_GROUP, &["v1"], Suspension::None).passive(true),
    flux("Alert", "alerts", &["alert"], NOTIFICATION_GROUP, &["v1beta3", "v1beta2"], FIELD).passive(false),
    flux("Provider", "providers", &["provider", "alert-provider"], NOTIFICATION_GROUP, &["v1beta3", "v1beta2"], FIELD)
        .passive(false),
    flux("Receiver", "receivers", &["receiver"], NOTIFICATION_GROUP, &["v1", "v1beta2"], FIELD),
    flux("ImageRepository", "imagerepositories", &["imgrepo", "imagerepo"], IMAGE_GROUP, &["v1", "v1beta2"], FIELD),
    flux("ImagePolicy", "imagepolicies", &["imgpol", "imagepol"], IMAGE_GROUP, &["v1", "v1beta2"], FIELD),
    flux(
        "ImageUpdateAutomation",
        "imageupdateautomations",
        &["imgauto", "imgupd", "iua"],
        IMAGE_GROUP,
        &["v1", "v1beta2", "v1beta1"],
        FIELD,
    ),
];

/// Returns the Flux kind for a word: kind, singular, plural, short name or full group name, in any case.
pub fn find(word: &str) -> Option<&'static FluxKind> {
    FLUX_KINDS.iter().find(|k| k.is_called(word))
}

/// Returns the Flux kind for the group and kind of an object.
pub fn of(group: &str, kind: &str) -> Option<&'static FluxKind> {
    FLUX_KINDS.iter().find(|k| k.group == group && k.kind == kind)
}

/// Every word that names a Flux kind, for suggestions and completion.
pub fn words() -> impl Iterator<Item = &'static str> {
    FLUX_KINDS.iter().flat_map(|k| [k.kind, k.plural].into_iter().chain(k.short_names.iter().copied()))
}

const RBAC: &str = RBAC_GROUP;

pub const INSTANCE: ResourceType = ResourceType::namespaced(well_known::GROUP, "v1", "FluxInstance", "fluxinstances");
pub const INPUT_PROVIDER: ResourceType =
    ResourceType::namespaced(well_known::GROUP, "v1", "ResourceSetInputProvider", "resourcesetinputproviders");
pub const POD: ResourceType = ResourceType::namespaced("", "v1", "Pod", "pods");
/// Measurements of metrics-server (<https://kubernetes.io/docs/tasks/debug/debug-cluster/resource-metrics-pipeline/>).
pub const POD_METRICS: ResourceType = ResourceType::namespaced("metrics.k8s.io", "v1beta1", "PodMetrics", "pods");
pub const EVENT: ResourceType = ResourceType::namespaced("", "v1", "Event", "events");
pub const SECRET: ResourceType = ResourceType::namespaced("", "v1", "Secret", "secrets");
pub const CONFIG_MAP: ResourceType = ResourceType::namespaced("", "v1", "ConfigMap", "configmaps");
pub const PVC: ResourceType = ResourceType::namespaced("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims");
pub const NAMESPACE: ResourceType = ResourceType::cluster("", "v1", "Namespace", "namespaces");
pub const NODE: ResourceType = ResourceType::cluster("", "v1", "Node", "nodes");
pub const DEPLOYMENT: ResourceType = ResourceType::namespaced("apps", "v1", "Deployment", "deployments");
pub const REPLICA_SET: ResourceType = ResourceType::namespaced("apps", "v1", "ReplicaSet", "replicasets");
pub const LEASE: ResourceType = ResourceType::namespaced("coordination.k8s.io", "v1", "Lease", "leases");
pub const CRD: ResourceType =
    ResourceType::cluster("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions");

/// Kubernetes kinds with kubectl's short names.
const KUBERNETES_KINDS: &[(ResourceType, &str)] = &[
    (POD, "po"),
    (EVENT, "ev"),
    (SECRET, ""),
    (CONFIG_MAP, "cm"),
    (PVC, "pvc"),
    (ResourceType::cluster("", "v1", "PersistentVolume", "persistentvolumes"), "pv"),
    (NAMESPACE, "ns"),
    (NODE, "no"),
    (ResourceType::namespaced("", "v1", "Service", "services"), "svc"),
    (ResourceType::namespaced("", "v1", "ServiceAccount", "serviceaccounts"), "sa"),
    (ResourceType::namespaced("", "v1", "ResourceQuota", "resourcequotas"), "quota"),
    (ResourceType::namespaced("", "v1", "LimitRange", "limitranges"), "limits"),
    (DEPLOYMENT, "deploy"),
    (REPLICA_SET, "rs"),
    (ResourceType::namespaced("apps", "v1", "StatefulSet", "statefulsets"), "sts"),
    (ResourceType::namespaced("apps", "v1", "DaemonSet", "daemonsets"), "ds"),
    (ResourceType::namespaced("batch", "v1", "Job", "jobs"), ""),
    (ResourceType::namespaced("batch", "v1", "CronJob", "cronjobs"), "cj"),
    (ResourceType::namespaced("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers"), "hpa"),
    (ResourceType::namespaced("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets"), "pdb"),
    (ResourceType::namespaced("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies"), "netpol"),
    (ResourceType::namespaced("networking.k8s.io", "v1", "Ingress", "ingresses"), "ing"),
    (ResourceType::cluster("networking.k8s.io", "v1", "IngressClass", "ingressclasses"), ""),
    (ResourceType::namespaced(RBAC, "v1", "Role", "roles"), ""),
    (ResourceType::namespaced(RBAC, "v1", "RoleBinding", "rolebindings"), ""),
    (ResourceType::cluster(RBAC, "v1", "ClusterRole", "clusterroles"), ""),
    (ResourceType::cluster(RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings"), ""),
    (ResourceType::cluster("storage.k8s.io", "v1", "StorageClass", "storageclasses"), "sc"),
    (ResourceType::cluster("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses"), "pc"),
    (LEASE, ""),
    (CRD, "crd"),
];

/// Returns the resource type for a word, Flux kinds first, then common Kubernetes kinds: singular, plural, short name,
/// or any of them with the group, in any case.
pub fn find_resource_type(word: &str) -> Option<ResourceType> {
    if let Some(kind) = find(word) {
        return Some(kind.resource_type());
    }
    let word = word.to_ascii_lowercase();
    let (name, group) = word.split_once('.').map_or((word.as_str(), None), |(n, g)| (n, Some(g)));
    KUBERNETES_KINDS
        .iter()
        .find(|(t, short)| {
            (name == t.plural || name == t.kind.to_ascii_lowercase() || (!short.is_empty() && name == *short))
                && group.is_none_or(|g| g == t.group)
        })
        .map(|(t, _)| t.clone())
}

/// Returns the resource type of a kind in the tables, by group and kind.
pub fn resource_type_of(group: &str, kind: &str) -> Option<ResourceType> {
    of(group, kind)
        .map(FluxKind::resource_type)
        .or_else(|| KUBERNETES_KINDS.iter().find(|(t, _)| t.group == group && t.kind == kind).map(|(t, _)| t.clone()))
}

/// Returns the resource type of a kind in a version (empty for the table's version), or `None` if it must be looked up
/// by discovery.
pub fn known_resource(group: &str, version: &str, kind: &str) -> Option<ResourceType> {
    let known = resource_type_of(group, kind)?;
    let version = if version.is_empty() { known.version.clone() } else { version.to_owned().into() };
    Some(ResourceType { version, ..known })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_kind_is_found_by_every_name_people_use() {
        for word in [
            "GitRepository",
            "gitrepository",
            "gitrepositories",
            "gitrepo",
            "gitrepos",
            "gitrepositories.source.toolkit.fluxcd.io",
        ] {
            assert_eq!(find(word).map(|k| k.kind), Some("GitRepository"), "{word}");
        }
        assert_eq!(find("fluxinstance").map(|k| k.kind), Some("FluxInstance"));
        assert_eq!(find("gitrepositories.example.com"), None);
        assert_eq!(find("surces"), None);
    }

    #[test]
    fn no_word_means_two_kinds() {
        let mut seen = std::collections::BTreeMap::new();
        for kind in FLUX_KINDS {
            for word in [kind.plural].into_iter().chain(kind.short_names.iter().copied()) {
                assert_eq!(seen.insert(word, kind.kind), None, "{word}");
            }
        }
    }

    #[test]
    fn paths_follow_the_scope_of_the_kind() {
        let git = find("gitrepo").map(FluxKind::resource_type).unwrap();
        assert_eq!(
            git.path(Some("apps"), Some("web")),
            "/apis/source.toolkit.fluxcd.io/v1/namespaces/apps/gitrepositories/web"
        );
        assert_eq!(git.path(None, None), "/apis/source.toolkit.fluxcd.io/v1/gitrepositories");
        assert_eq!(NODE.path(Some("ignored"), Some("a")), "/api/v1/nodes/a");
        assert_eq!(find_resource_type("deploy"), Some(DEPLOYMENT));
        assert_eq!(find_resource_type("Role.rbac.authorization.k8s.io").map(|t| t.namespaced), Some(true));
    }

    #[test]
    fn a_known_kind_is_served_at_the_version_of_the_object() {
        let source = known_resource("source.toolkit.fluxcd.io", "v1beta2", "OCIRepository").unwrap();
        assert_eq!(source.path(None, None), "/apis/source.toolkit.fluxcd.io/v1beta2/ocirepositories");
        assert_eq!(known_resource("example.com", "v1", "Widget"), None);
    }

    #[test]
    fn suspension_is_read_in_any_case_and_only_where_the_controller_of_the_kind_reads_it() {
        let object = |api_version: &str, kind: &str, annotation: &str, suspend: bool| {
            json!({"apiVersion": api_version, "kind": kind, "spec": {"suspend": suspend},
                "metadata": {"name": "x", "annotations": {annotation: "Disabled"}}})
        };
        let (operator, generator) = ("fluxcd.controlplane.io/reconcile", "source.extensions.fluxcd.io/reconcile");
        let rows = [
            (object("source.extensions.fluxcd.io/v1beta1", "ArtifactGenerator", generator, false), true),
            (object("source.extensions.fluxcd.io/v1beta1", "ArtifactGenerator", operator, true), false),
            (object("kustomize.toolkit.fluxcd.io/v1", "Kustomization", operator, false), false),
            (object("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "x", true), true),
            (object("fluxcd.controlplane.io/v1", "FluxInstance", operator, false), true),
            (object("fluxcd.controlplane.io/v1", "FluxInstance", "x", true), false),
            (object("source.toolkit.fluxcd.io/v1", "ExternalArtifact", operator, true), false),
            (object("apps/v1", "Deployment", operator, true), false),
        ];
        for (object, suspended) in rows {
            assert_eq!(is_suspended(&object), suspended, "{object}");
        }
    }

    #[test]
    fn suspension_wins_over_the_condition_and_no_condition_is_unknown() {
        let ready = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
        assert_eq!(ready_word(&ready), "True");
        assert_eq!(ready_word(&json!({})), "Unknown");
        let disabled = json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance", "metadata": {"annotations": {"fluxcd.controlplane.io/reconcile": "Disabled"}},
            "status": ready["status"]});
        assert_eq!(ready_word(&disabled), "Suspended");
        let suspended =
            json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "spec": {"suspend": true}});
        assert_eq!(ready_word(&suspended), "Suspended");
    }
}
