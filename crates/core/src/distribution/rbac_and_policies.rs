//! RBAC and the pod quota of the controllers, and the network policies that protect them.

use semver::Version;
use serde_json::{Value, json};

use crate::api::Component;
use crate::api::well_known::DEFAULT_NAMESPACE;
use crate::format::version_range::is_at_least;

const READ: &[&str] = &["get", "list", "watch"];
const READ_WRITE: &[&str] = &["get", "list", "watch", "create", "update", "patch", "delete"];

/// Returns the ResourceQuota, the ClusterRoles and the ClusterRoleBindings.
pub(super) fn rbac(flux: &Version) -> Vec<Value> {
    let edit = ["create", "delete", "deletecollection", "patch", "update"];
    vec![
        // Some providers admit pods of these priority classes only in namespaces with such a quota.
        json!({
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": { "name": "critical-pods" },
            "spec": {
                "hard": { "pods": "1000" },
                "scopeSelector": {
                    "matchExpressions": [{
                        "operator": "In",
                        "scopeName": "PriorityClass",
                        "values": ["system-node-critical", "system-cluster-critical"],
                    }],
                },
            },
        }),
        cluster_role("crd-controller", &[], controller_rules(flux)),
        cluster_role("flux-edit", &["admin", "edit"], vec![rule(&user_groups(flux), &["*"], &edit)]),
        cluster_role("flux-view", &["admin", "edit", "view"], vec![rule(&user_groups(flux), &["*"], READ)]),
        binding("cluster-reconciler", "cluster-admin", &[Component::KustomizeController, Component::HelmController]),
        binding("crd-controller", "crd-controller", &bound_controllers(flux)),
    ]
}

/// Returns the NetworkPolicies.
pub(super) fn policies(flux: &Version) -> Vec<Value> {
    let from_any_namespace = || json!([{ "namespaceSelector": {} }]);
    let mut webhooks = json!({ "from": from_any_namespace() });
    if is_at_least(flux, 2, 9, 4) {
        webhooks["ports"] = json!([{ "port": 9292, "protocol": "TCP" }]);
    }
    vec![
        policy(
            "allow-egress",
            json!({
                "egress": [{}],
                "ingress": [{ "from": [{ "podSelector": {} }] }],
                "podSelector": {},
                "policyTypes": ["Ingress", "Egress"],
            }),
        ),
        policy(
            "allow-scraping",
            json!({
                "ingress": [{ "from": from_any_namespace(), "ports": [{ "port": 8080, "protocol": "TCP" }] }],
                "podSelector": {},
                "policyTypes": ["Ingress"],
            }),
        ),
        policy(
            "allow-webhooks",
            json!({
                "ingress": [webhooks],
                "podSelector": { "matchLabels": { "app": Component::NotificationController.as_str() } },
                "policyTypes": ["Ingress"],
            }),
        ),
    ]
}

fn controller_rules(flux: &Version) -> Vec<Value> {
    let mut groups = vec![
        "source.toolkit.fluxcd.io",
        "kustomize.toolkit.fluxcd.io",
        "helm.toolkit.fluxcd.io",
        "notification.toolkit.fluxcd.io",
        "image.toolkit.fluxcd.io",
    ];
    if is_at_least(flux, 2, 7, 0) {
        groups.push("source.extensions.fluxcd.io");
    }
    let mut rules: Vec<Value> = groups.iter().map(|group| rule(&[group], &["*"], &["*"])).collect();
    rules.push(rule(&[""], &["namespaces", "secrets", "configmaps", "serviceaccounts"], READ));
    rules.push(rule(&[""], &["events"], &["create", "patch"]));
    rules.push(rule(&[""], &["configmaps"], READ_WRITE));
    rules.push(rule(&[""], &["configmaps/status"], &["get", "update", "patch"]));
    rules.push(rule(&["coordination.k8s.io"], &["leases"], READ_WRITE));
    if is_at_least(flux, 2, 6, 0) {
        // Object-level workload identity: the controllers request tokens of the service accounts that objects name.
        rules.push(rule(&[""], &["serviceaccounts/token"], &["create"]));
    }
    if is_at_least(flux, 2, 3, 0) {
        rules.push(json!({ "nonResourceURLs": ["/livez/ping"], "verbs": ["head"] }));
    }
    rules
}

/// Returns the API groups that flux-edit and flux-view grant to users.
fn user_groups(flux: &Version) -> Vec<&'static str> {
    let mut groups = vec!["notification.toolkit.fluxcd.io", "source.toolkit.fluxcd.io"];
    // The group is older; a patch release added the missing rule.
    if is_at_least(flux, 2, 7, 4) {
        groups.push("source.extensions.fluxcd.io");
    }
    groups.extend(["helm.toolkit.fluxcd.io", "image.toolkit.fluxcd.io", "kustomize.toolkit.fluxcd.io"]);
    groups
}

fn bound_controllers(flux: &Version) -> Vec<Component> {
    let mut controllers = vec![
        Component::KustomizeController,
        Component::HelmController,
        Component::SourceController,
        Component::NotificationController,
        Component::ImageReflectorController,
        Component::ImageAutomationController,
    ];
    if is_at_least(flux, 2, 7, 0) {
        controllers.push(Component::SourceWatcher);
    }
    controllers
}

fn rule(groups: &[&str], resources: &[&str], verbs: &[&str]) -> Value {
    json!({ "apiGroups": groups, "resources": resources, "verbs": verbs })
}

fn cluster_role(name: &str, aggregate_to: &[&str], rules: Vec<Value>) -> Value {
    let mut metadata = json!({ "name": name });
    for role in aggregate_to {
        metadata["labels"][format!("rbac.authorization.k8s.io/aggregate-to-{role}")] = json!("true");
    }
    json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": metadata, "rules": rules })
}

fn binding(name: &str, role: &str, controllers: &[Component]) -> Value {
    let subjects: Vec<Value> = controllers
        .iter()
        .map(
            |component| json!({ "kind": "ServiceAccount", "name": component.as_str(), "namespace": DEFAULT_NAMESPACE }),
        )
        .collect();
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": { "name": name },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role },
        "subjects": subjects,
    })
}

fn policy(name: &str, spec: Value) -> Value {
    json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": { "name": name },
        "spec": spec,
    })
}
