//! The objects that run the operator, as one value: `install` applies them, and `deploy/` and the chart contain them.

use serde_json::{Value, json};

use super::rights::{RoleRules, reason};
use crate::api::CONTAINER;
use crate::api::crd;
use crate::api::operator::CONTROLLER;
use crate::api::well_known::{INSTANCE_LABEL, NAME_LABEL, OPERATOR_NAME, PART_OF_LABEL, VERSION_LABEL};
use crate::format::wrap::wrapped;
use crate::format::yaml::{self, YamlError};
use crate::k8s::ObjectId;

const RBAC: &str = "rbac.authorization.k8s.io/v1";
/// Name of the binding to `cluster-admin`; the reference operator uses the same name.
const CLUSTER_ADMIN_BINDING: &str = "flux-operator-cluster-admin";
/// Width of comments in the exported text.
const COMMENT_WIDTH: usize = 110;

/// Parameters of the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorParams {
    /// Namespace of the operator, its instance and Flux.
    pub namespace: String,
    /// Image of the operator, with tag or digest.
    pub image: String,
    /// Version for the labels, for example `v0.1.0`.
    pub version: String,
    /// Number of pods; one works, the others wait for its lease.
    pub replicas: u32,
    /// Whether the operator is bound to `cluster-admin` instead of the smallest sufficient role.
    pub cluster_admin: bool,
    /// Pull secrets of its pods.
    pub image_pull_secrets: Vec<String>,
    /// Additional arguments of the program.
    pub extra_args: Vec<String>,
}

impl OperatorParams {
    /// Parameters for one replica with the smallest rights.
    pub fn new(namespace: impl Into<String>, image: impl Into<String>, version: impl Into<String>) -> Self {
        OperatorParams {
            namespace: namespace.into(),
            image: image.into(),
            version: version.into(),
            replicas: 1,
            cluster_admin: false,
            image_pull_secrets: vec![],
            extra_args: vec![],
        }
    }
}

/// Returns all objects of the operator in apply order.
pub fn manifests(params: &OperatorParams) -> Vec<Value> {
    let mut objects = vec![namespace(&params.namespace)];
    objects.extend(definitions(params));
    objects.push(service_account(params));
    objects.extend(rbac(params));
    objects.extend(user_roles(params));
    objects.push(service(params));
    objects.push(deployment(params));
    objects
}

/// Returns objects that an operator with other parameters may have left behind, which an uninstallation must look for
/// as well.
pub(super) fn obsolete(params: &OperatorParams) -> Vec<ObjectId> {
    let other = OperatorParams { cluster_admin: !params.cluster_admin, ..params.clone() };
    let kept: Vec<ObjectId> = rbac(params).iter().map(ObjectId::of).collect();
    rbac(&other).iter().map(ObjectId::of).filter(|id| !kept.contains(id)).collect()
}

/// Writes objects as YAML documents, with the reason above each rule of the operator's roles.
///
/// # Errors
/// A value has no YAML form.
pub fn manifest_text(objects: &[Value], namespace: &str) -> Result<String, YamlError> {
    let mut text = String::new();
    for object in objects {
        text.push_str("---\n");
        let Some(rules) = object.get("rules").and_then(Value::as_array) else {
            text.push_str(&yaml::to_string(object)?);
            continue;
        };
        let mut head = object.clone();
        head.as_object_mut().map(|head| head.shift_remove("rules"));
        text.push_str(&yaml::to_string(&head)?);
        text.push_str("rules:\n");
        for rule in rules {
            for line in reason(rule, namespace).map(|why| wrapped(why, COMMENT_WIDTH)).into_iter().flatten() {
                text.push_str(&format!("# {line}\n"));
            }
            text.push_str(&yaml::to_string(&[rule])?);
        }
    }
    Ok(text)
}

fn selector() -> Value {
    json!({NAME_LABEL: OPERATOR_NAME, INSTANCE_LABEL: OPERATOR_NAME})
}

fn labels(params: &OperatorParams) -> Value {
    let mut labels = selector();
    labels[PART_OF_LABEL] = OPERATOR_NAME.into();
    labels[VERSION_LABEL] = params.version.clone().into();
    labels
}

fn metadata(params: &OperatorParams, name: &str, namespaced: bool) -> Value {
    let mut metadata = json!({"name": name});
    if namespaced {
        metadata["namespace"] = params.namespace.clone().into();
    }
    metadata["labels"] = labels(params);
    metadata
}

fn namespace(name: &str) -> Value {
    // The API server sets this label anyway. It is applied so that the operator owns a field of the namespace, because
    // an apply without any field would own nothing.
    json!({"apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}}})
}

/// Returns the definitions with the operator's labels, by which the reference's uninstaller finds them too.
fn definitions(params: &OperatorParams) -> impl Iterator<Item = Value> {
    crd::all().into_iter().map(|mut definition| {
        definition["metadata"]["labels"] = labels(params);
        definition
    })
}

fn service_account(params: &OperatorParams) -> Value {
    json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(params, OPERATOR_NAME, true)})
}

/// Returns the operator's own roles and bindings.
fn rbac(params: &OperatorParams) -> Vec<Value> {
    if params.cluster_admin {
        return vec![binding(params, "ClusterRole", CLUSTER_ADMIN_BINDING, "cluster-admin", false)];
    }
    // Cluster-scoped names contain the namespace, so that an operator in another namespace does not change them.
    let cluster_wide = format!("{OPERATOR_NAME}-{}", params.namespace);
    let role = |kind: &str, name: &str, namespaced: bool, rights: RoleRules| {
        json!({"apiVersion": RBAC, "kind": kind, "metadata": metadata(params, name, namespaced),
            "rules": rights.rules(&params.namespace)})
    };
    vec![
        role("ClusterRole", &cluster_wide, false, RoleRules::Cluster),
        role("Role", OPERATOR_NAME, true, RoleRules::OwnNamespace),
        binding(params, "ClusterRole", &cluster_wide, &cluster_wide, false),
        binding(params, "Role", OPERATOR_NAME, OPERATOR_NAME, true),
    ]
}

fn binding(params: &OperatorParams, role_kind: &str, name: &str, role: &str, namespaced: bool) -> Value {
    json!({
        "apiVersion": RBAC,
        "kind": if namespaced { "RoleBinding" } else { "ClusterRoleBinding" },
        "metadata": metadata(params, name, namespaced),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role_kind, "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": OPERATOR_NAME, "namespace": params.namespace}],
    })
}

/// Returns the roles that extend view, edit and admin for users.
fn user_roles(params: &OperatorParams) -> Vec<Value> {
    let role = |name: &str, aggregate_to: &[&str], rights: RoleRules| {
        let mut metadata = metadata(params, name, false);
        for to in aggregate_to {
            metadata["labels"][format!("rbac.authorization.k8s.io/aggregate-to-{to}")] = "true".into();
        }
        json!({"apiVersion": RBAC, "kind": "ClusterRole", "metadata": metadata, "rules": rights.rules(&params.namespace)})
    };
    vec![
        role("flux-operator-edit", &["admin", "edit"], RoleRules::Editors),
        role("flux-operator-view", &["admin", "edit", "view"], RoleRules::Viewers),
    ]
}

fn service(params: &OperatorParams) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(params, OPERATOR_NAME, true),
        "spec": {
            "type": "ClusterIP",
            "selector": selector(),
            "ports": [{"name": "http-metrics", "port": 8080, "protocol": "TCP", "targetPort": "http-metrics"}],
        },
    })
}

fn deployment(params: &OperatorParams) -> Value {
    let args: Vec<&str> = [CONTROLLER].into_iter().chain(params.extra_args.iter().map(String::as_str)).collect();
    let probe = |path: &str, delay: u32, period: u32| json!({"httpGet": {"path": path, "port": "healthz"}, "initialDelaySeconds": delay, "periodSeconds": period});
    let mut pod = json!({
        "serviceAccountName": OPERATOR_NAME,
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
        "terminationGracePeriodSeconds": 30,
        "containers": [{
            "name": CONTAINER,
            "image": params.image,
            "imagePullPolicy": "IfNotPresent",
            "args": args,
            "env": [{"name": "RUNTIME_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}],
            "ports": [
                {"name": "http-metrics", "containerPort": 8080, "protocol": "TCP"},
                {"name": "healthz", "containerPort": 8081, "protocol": "TCP"},
            ],
            "livenessProbe": probe("/healthz", 15, 20),
            "readinessProbe": probe("/readyz", 5, 10),
            "resources": {
                "requests": {"cpu": "10m", "memory": "64Mi"},
                "limits": {"cpu": "2000m", "memory": "1Gi"},
            },
            "securityContext": {
                "allowPrivilegeEscalation": false,
                "capabilities": {"drop": ["ALL"]},
                "readOnlyRootFilesystem": true,
                "runAsNonRoot": true,
                // The user of the image, as a number, because the kubelet cannot check whether a named user is root.
                "runAsUser": 65532,
                "runAsGroup": 65532,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
        }],
        "volumes": [{"name": "tmp", "emptyDir": {}}],
    });
    if !params.image_pull_secrets.is_empty() {
        pod["imagePullSecrets"] = params.image_pull_secrets.iter().map(|name| json!({"name": name})).collect();
    }
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(params, OPERATOR_NAME, true),
        "spec": {
            "replicas": params.replicas,
            "selector": {"matchLabels": selector()},
            "template": {
                "metadata": {
                    "labels": labels(params),
                    "annotations": {"prometheus.io/scrape": "true", "prometheus.io/port": "8080"},
                },
                "spec": pod,
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params() -> OperatorParams {
        OperatorParams::new("flux-system", "example.com/op:v1", "v1")
    }

    fn ids(params: &OperatorParams) -> Vec<String> {
        manifests(params).iter().map(|object| ObjectId::of(object).to_string()).collect()
    }

    #[test]
    fn an_operator_has_the_smallest_role_unless_it_is_to_be_an_admin() {
        let admin = OperatorParams { cluster_admin: true, ..params() };
        assert!(ids(&params()).contains(&"ClusterRole/flux-operator-flux-system".to_owned()));
        assert!(!ids(&admin).iter().any(|id| id == "ClusterRole/flux-operator-flux-system"));
        let gone: Vec<String> = obsolete(&params()).iter().map(ToString::to_string).collect();
        assert_eq!(gone, ["ClusterRoleBinding/flux-operator-cluster-admin"]);
        assert_eq!(obsolete(&admin).len(), 4);
    }

    #[test]
    fn everything_but_the_namespace_carries_the_labels_by_which_uninstallers_find_it() {
        for object in manifests(&params()).iter().filter(|object| object["kind"] != "Namespace") {
            for (label, value) in [(NAME_LABEL, OPERATOR_NAME), (PART_OF_LABEL, OPERATOR_NAME), (VERSION_LABEL, "v1")] {
                assert_eq!(object["metadata"]["labels"][label], value, "{label} of {}", ObjectId::of(object));
            }
        }
    }

    #[test]
    fn the_text_reads_back_as_the_objects_and_says_why_for_each_rule() {
        let objects = manifests(&params());
        let text = manifest_text(&objects, "flux-system").unwrap();
        assert_eq!(yaml::parse_documents(&text).unwrap(), objects);
        let rules: usize = objects.iter().filter_map(|object| object.get("rules")?.as_array()).map(Vec::len).sum();
        let reasons = text.lines().collect::<Vec<_>>();
        let commented = reasons.windows(2).filter(|two| two[0].starts_with("# ") && two[1].starts_with("- ")).count();
        assert_eq!(commented, rules);
    }

    #[test]
    fn the_pod_has_no_rights_on_its_node() {
        let objects = manifests(&OperatorParams { extra_args: vec!["--log-level=debug".into()], ..params() });
        let pod = objects.iter().find_map(|object| object.pointer("/spec/template/spec")).unwrap();
        let container = &pod["containers"][0];
        assert_eq!(container["args"], json!(["controller", "--log-level=debug"]));
        assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
        assert_eq!(container["securityContext"]["capabilities"]["drop"], json!(["ALL"]));
        assert_eq!(container["securityContext"]["runAsUser"], 65532);
        assert_eq!(pod["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
    }
}
