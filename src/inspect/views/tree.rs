//! `tree instance|kustomization|helmrelease`: the applied objects, recursively, down to the pods.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

use crate::api::kinds::{self, POD};
use crate::api::well_known;
use crate::inspect::read::snapshot::Snapshot;
use crate::inspect::views::components;
use crate::inspect::views::dependencies::{Dependency, depends_on};
use crate::inspect::views::health_checks;
use crate::inspect::views::inventory;
use crate::k8s::ObjectId;
use crate::k8s::fields;
use crate::k8s::kstatus;
use crate::k8s::kstatus::Status;

/// An object with its children.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TreeNode {
    /// `None` for a heading, such as a stage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectId>,
    /// `Kind/namespace/name`, or the heading.
    pub label: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// Why it is not `Current`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<TreeNode>,
}

impl TreeNode {
    fn heading(label: impl Into<String>, children: Vec<TreeNode>) -> Self {
        TreeNode { object: None, label: label.into(), status: None, message: String::new(), children }
    }

    fn of(snapshot: &Snapshot, reference: ObjectId, live: Option<&Value>) -> Self {
        let (status, message) = match live {
            Some(live) if kinds::is_suspended(live) => (Some(kstatus::compute(live).status), "suspended".to_owned()),
            Some(live) => {
                let (status, message) = health(live);
                (Some(status), message)
            }
            None => {
                let known = snapshot
                    .resource_type(&reference.group, &reference.version, &reference.kind)
                    .is_some_and(|resource| snapshot.knows(&resource));
                (Some(if known { Status::NotFound } else { Status::Unknown }), String::new())
            }
        };
        TreeNode { label: reference.to_string(), object: Some(reference), status, message, children: vec![] }
    }

    /// Number of objects in the tree, without headings.
    pub fn count(&self) -> usize {
        usize::from(self.object.is_some()) + self.children.iter().map(TreeNode::count).sum::<usize>()
    }
}

/// Returns the health of an object. For a failing Flux object it is the reported failure, because kstatus only shows
/// that the controller retries.
fn health(live: &Value) -> (Status, String) {
    let health = kstatus::compute(live);
    let is_flux = kinds::of(fields::group(live), fields::kind(live)).is_some();
    let reported = fields::condition(live, well_known::condition::READY).filter(|c| c.is_false());
    match reported {
        Some(ready) if is_flux && fields::is_observed(live) && !matches!(health.status, Status::Terminating) => {
            // Flux reports Ready=False also while an object waits for its dependencies, which is not a failure.
            let waits = ready.reason() == "DependencyNotReady";
            (if waits { Status::InProgress } else { Status::Failed }, ready.message().to_owned())
        }
        _ if health.is_current() => (health.status, String::new()),
        _ => (health.status, health.message),
    }
}

/// Options of a tree.
#[derive(Clone, Copy, Debug, Default)]
pub struct TreeOptions {
    /// Show only Flux's own kinds.
    pub compact: bool,
}

/// Returns the tree of a FluxInstance: its stages, Deployments with their pods, then the sync's source and the objects
/// from it.
pub fn instance(snapshot: &Snapshot, instance: &Value, options: TreeOptions) -> TreeNode {
    let mut root = TreeNode::of(snapshot, ObjectId::of(instance), Some(instance));
    let mut stages: [(&str, Vec<TreeNode>); 3] =
        [("definitions and roles", vec![]), ("controllers", vec![]), ("sync", vec![])];
    let mut seen = BTreeSet::from([ObjectId::of(instance)]);
    for (reference, live) in inventory::owned_so_far(snapshot, instance) {
        let stage = match (reference.group.as_str(), reference.kind.as_str()) {
            ("apiextensions.k8s.io", _) | ("", "Namespace") | (_, "ClusterRole") => 0,
            (group, kind) if kinds::of(group, kind).is_some() => 2,
            _ => 1,
        };
        if options.compact && stage != 2 && reference.kind != "Deployment" {
            continue;
        }
        let node = node(snapshot, reference, live, &mut seen, options, MAX_DEPTH);
        if let Some((_, nodes)) = stages.get_mut(stage) {
            nodes.push(node);
        }
    }
    root.children = stages
        .into_iter()
        .filter(|(_, nodes)| !nodes.is_empty())
        .map(|(name, nodes)| TreeNode::heading(format!("{name} ({})", nodes.len()), nodes))
        .collect();
    root
}

/// Returns the tree of a Kustomization, HelmRelease or ResourceSet.
pub fn reconciler(snapshot: &Snapshot, owner: &Value, options: TreeOptions) -> TreeNode {
    let mut seen = BTreeSet::from([ObjectId::of(owner)]);
    let mut root = TreeNode::of(snapshot, ObjectId::of(owner), Some(owner));
    root.children = children(snapshot, owner, &mut seen, options, MAX_DEPTH);
    let dependencies = dependencies(snapshot, owner, &mut vec![ObjectId::of(owner)]);
    if !dependencies.is_empty() {
        root.children.insert(0, TreeNode::heading(format!("waits for ({})", dependencies.len()), dependencies));
    }
    root
}

/// Returns the dependencies of an object, recursively. `way` is the path from the root to the object: a dependency on
/// the path closes a cycle.
fn dependencies(snapshot: &Snapshot, object: &Value, way: &mut Vec<ObjectId>) -> Vec<TreeNode> {
    let mut nodes = vec![];
    for Dependency { object: id, .. } in depends_on(object) {
        let live = snapshot.get_ref(&id);
        let mut node = TreeNode::of(snapshot, id.clone(), live);
        if way.contains(&id) {
            node.status = Some(Status::Failed);
            node.message = "the dependencies form a cycle".to_owned();
        } else if let Some(live) = live.filter(|_| way.len() < MAX_DEPTH) {
            way.push(id);
            node.children = dependencies(snapshot, live, way);
            way.pop();
        }
        nodes.push(node);
    }
    nodes
}

/// Limit for nested Kustomizations. `seen` already stops cycles; the limit stops chains that never repeat an object.
const MAX_DEPTH: usize = 16;

fn is_with_pods(group: &str, kind: &str, options: TreeOptions) -> bool {
    (group, kind) == ("apps", "Deployment") && !options.compact
}

fn node(
    snapshot: &Snapshot,
    reference: ObjectId,
    live: Option<&Value>,
    seen: &mut BTreeSet<ObjectId>,
    options: TreeOptions,
    depth: usize,
) -> TreeNode {
    if is_with_pods(&reference.group, &reference.kind, options) {
        // Read in parallel with the Deployment itself, not after it.
        snapshot.list(&POD, Some(&reference.namespace));
    }
    let mut node = TreeNode::of(snapshot, reference.clone(), live);
    if seen.insert(reference)
        && depth > 0
        && let Some(live) = live
    {
        node.children = children(snapshot, live, seen, options, depth - 1);
    }
    node
}

fn children(
    snapshot: &Snapshot,
    owner: &Value,
    seen: &mut BTreeSet<ObjectId>,
    options: TreeOptions,
    depth: usize,
) -> Vec<TreeNode> {
    match (fields::group(owner), fields::kind(owner)) {
        (group, kind) if is_with_pods(group, kind, options) => {
            let pods = components::pods(snapshot, owner).into_iter();
            pods.map(|pod| TreeNode::of(snapshot, ObjectId::of(pod), Some(pod))).collect()
        }
        (kinds::KUSTOMIZE_GROUP | kinds::HELM_GROUP | well_known::GROUP, _) => inventory::owned_so_far(snapshot, owner)
            .into_iter()
            // The Kustomization of a bootstrapped cluster has itself in its inventory.
            .filter(|(reference, _)| *reference != ObjectId::of(owner))
            .filter(|(r, _)| !options.compact || kinds::of(&r.group, &r.kind).is_some())
            .map(|(reference, live)| {
                let mut node = node(snapshot, reference, live, seen, options, depth);
                if let Some(health) = live.and_then(|live| health_checks::by_expressions(owner, live)) {
                    node.status = Some(health.status);
                    node.message = if health.is_current() { String::new() } else { health.message };
                }
                node
            })
            .collect(),
        _ => vec![],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn dump() -> Snapshot {
        Snapshot::of_dump([
            json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance", "metadata": {"name": "flux", "namespace": "fs"},
                "status": {"inventory": {"entries": [
                    {"id": "_fs__Namespace", "v": "v1"}, {"id": "fs_helm-controller_apps_Deployment", "v": "v1"},
                    {"id": "fs_fs_kustomize.toolkit.fluxcd.io_Kustomization", "v": "v1"}]}}}),
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "fs"}}),
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "helm-controller", "namespace": "fs"},
                "spec": {"selector": {"matchLabels": {"app": "hc"}}}, "status": {}}),
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "hc-1", "namespace": "fs", "labels": {"app": "hc"}},
                "status": {"phase": "Pending"}}),
            json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": "fs", "namespace": "fs"},
                "spec": {"suspend": true},
                "status": {"inventory": {"entries": [
                    {"id": "fs_fs_kustomize.toolkit.fluxcd.io_Kustomization", "v": "v1"},
                    {"id": "apps_web__ConfigMap", "v": "v1"}]}}}),
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other", "namespace": "apps"}}),
        ])
    }

    /// Formats a line per node: object, status, message.
    fn lines(node: &TreeNode, indent: &str) -> Vec<String> {
        let status = node.status.map(|status| format!(" {status}")).unwrap_or_default();
        let message = Some(node.message.trim()).filter(|text| !text.is_empty()).map(|text| format!(" {text}"));
        let line = format!("{indent}{}{status}{}", node.label, message.unwrap_or_default());
        let below = format!("{indent}  ");
        [line].into_iter().chain(node.children.iter().flat_map(|child| lines(child, &below))).collect()
    }

    #[test]
    fn an_instance_shows_stages_objects_pods_and_the_sync() {
        let snapshot = dump();
        let instance = snapshot.get(&kinds::find("instance").unwrap().resource_type(), Some("fs"), "flux").unwrap();
        let tree = super::instance(&snapshot, instance, TreeOptions::default());
        let text = lines(&tree, "");
        assert_eq!(
            text,
            [
                "FluxInstance/fs/flux Current",
                "  definitions and roles (1)",
                "    Namespace/fs Current",
                "  controllers (1)",
                "    Deployment/fs/helm-controller InProgress Replicas: 0/1",
                "      Pod/fs/hc-1 InProgress Pod is in the Pending phase",
                "  sync (1)",
                "    Kustomization/fs/fs Current suspended",
                "      ConfigMap/apps/web NotFound",
            ]
        );
        assert_eq!(tree.count(), 6);
    }

    #[test]
    fn a_flux_object_that_is_tried_again_shows_what_failed() {
        let failing = |reason: &str| {
            json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
                "metadata": {"name": "web", "namespace": "fs", "generation": 1},
                "status": {"observedGeneration": -1, "conditions": [
                    {"type": "Reconciling", "status": "True", "reason": "ProgressingWithRetry", "observedGeneration": 1},
                    {"type": "Ready", "status": "False", "reason": reason, "message": "it fails\n", "observedGeneration": 1}]}})
        };
        let tree = |object: &Value| reconciler(&Snapshot::of_dump([]), object, TreeOptions::default());
        assert_eq!(lines(&tree(&failing("BuildFailed")), ""), ["Kustomization/fs/web Failed it fails"]);
        assert_eq!(lines(&tree(&failing("DependencyNotReady")), ""), ["Kustomization/fs/web InProgress it fails"]);
    }

    #[test]
    fn an_object_with_health_check_expressions_shows_the_part_that_is_false() {
        let owner = json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
            "metadata": {"name": "app", "namespace": "fs"},
            "spec": {"healthCheckExprs": [{"apiVersion": "v1", "kind": "ConfigMap", "current": "data.phase == 'up'"}]},
            "status": {"inventory": {"entries": [{"id": "apps_a__ConfigMap", "v": "v1"}]}}});
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "apps"},
            "data": {"phase": "down"}});
        let snapshot = Snapshot::of_dump([map]);
        let text = lines(&reconciler(&snapshot, &owner, TreeOptions::default()), "");
        let says = "the health check expression current is false: data.phase == 'up' is not true: data.phase is 'down'";
        assert_eq!(text[1], format!("  ConfigMap/apps/a InProgress {says}"));
    }

    #[test]
    fn compact_keeps_flux_kinds_and_deployments() {
        let snapshot = dump();
        let instance = snapshot.get(&kinds::find("instance").unwrap().resource_type(), Some("fs"), "flux").unwrap();
        let tree = super::instance(&snapshot, instance, TreeOptions { compact: true });
        assert_eq!(lines(&tree, "").len(), 5);
    }

    #[test]
    fn dependencies_are_shown_with_missing_objects_and_cycles() {
        let waiting = |name: &str, depends_on: Value| {
            json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": name, "namespace": "apps"},
                "spec": {"dependsOn": depends_on}, "status": {"inventory": {"entries": [{"id": "apps_web__ConfigMap", "v": "v1"}]}}})
        };
        let objects = [
            waiting("a", json!([{"name": "b"}, {"apiVersion": "v1", "kind": "ConfigMap", "name": "gate"}])),
            waiting("b", json!([{"name": "a"}])),
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web", "namespace": "apps"}}),
        ];
        let snapshot = Snapshot::of_dump(objects.clone());
        let tree = reconciler(&snapshot, &objects[0], TreeOptions::default());
        let waits = &tree.children[0];
        assert_eq!((waits.label.as_str(), tree.children.len()), ("waits for (2)", 2));
        let circle = &waits.children[0].children[0];
        assert_eq!((circle.label.as_str(), circle.status), ("Kustomization/apps/a", Some(Status::Failed)));
        assert!(circle.children.is_empty() && circle.message.contains("cycle"), "{circle:?}");
        let gate = &waits.children[1];
        assert_eq!((gate.label.as_str(), gate.status), ("ConfigMap/apps/gate", Some(Status::NotFound)));
    }
}
