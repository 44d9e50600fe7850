//! `impact`: objects that would be deleted with an object, through everything that it applied, and objects that would
//! be kept. Pure.
//!
//! ```text
//! Kustomization ─► its inventory ─► Kustomization, HelmRelease, ResourceSet ─► their inventories ─► …
//!                                └► Namespace ─► its other content     └► claim ─► volume ─► its data
//! ```

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

use crate::api::kinds::{self, DEPLOYMENT, FLUX_KINDS, HELM_GROUP, KUSTOMIZE_GROUP, PVC};
use crate::api::well_known::{self, KUSTOMIZE_PRUNE_ANNOTATION};
use crate::inspect::read::snapshot::Snapshot;
use crate::inspect::views::dependencies::depends_on;
use crate::inspect::views::inventory;
use crate::inspect::views::resource_set;
use crate::inspect::views::trace;
use crate::k8s::{ObjectId, fields};

/// The severity of a deletion, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Concern {
    /// A volume, and possibly its data.
    Volume,
    /// An address used by others.
    LoadBalancer,
    /// A namespace with everything in it.
    Namespace,
    /// A CRD with every object of its kind.
    Definition,
    /// An object that applied further objects.
    Reconciler,
    Other,
}

/// An object that would be deleted or kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImpactEntry {
    pub object: ObjectId,
    pub concern: Concern,
    /// Further consequences, or the reason why the object is kept.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub says: String,
    /// The object whose deletion causes this one.
    pub through: ObjectId,
}

/// The consequences of deleting an object.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Impact {
    pub object: ObjectId,
    /// A summary in one sentence.
    pub summary: String,
    /// Deleted objects, the worst first.
    pub deleted: Vec<ImpactEntry>,
    /// Applied objects that would be kept.
    pub kept: Vec<ImpactEntry>,
    /// Objects that depend on it or take their content from it.
    pub dependents: Vec<ObjectId>,
}

/// A longer chain is a cycle.
const MAX_DEPTH: usize = 16;
const HELM_KEEP: &str = "helm.sh/resource-policy";

/// Determines the consequences of deleting an object.
pub fn impact(snapshot: &Snapshot, object: &Value) -> Impact {
    let mut found =
        // After `flux bootstrap`, a Kustomization applies itself. `seen` keeps it out of its own list.
        DeletionWalk { snapshot, deleted: vec![], kept: vec![], seen: BTreeSet::from([ObjectId::of(object)]) };
    let own = ObjectId::of(object);
    let keep_reason = reason_to_keep(object);
    found.below(object, MAX_DEPTH);
    let DeletionWalk { mut deleted, mut kept, .. } = found;
    deleted.sort_by(|a, b| (a.concern, &a.object).cmp(&(b.concern, &b.object)));
    kept.sort_by(|a, b| a.object.cmp(&b.object));
    let summary = match (&keep_reason, deleted.len()) {
        (Some(why), _) => format!("the objects that {own} applied are kept: {why}"),
        (None, 0) if is_reconciler(&own) => format!("{own} has applied no objects that would be deleted"),
        (None, 0) => format!("nothing else is deleted with {own}"),
        (None, 1) => format!("one object is deleted with {own}"),
        (None, count) => format!("{count} objects are deleted with {own}"),
    };
    let dependents = dependents(snapshot, object, &own);
    Impact { object: own, summary, deleted, kept, dependents }
}

fn is_reconciler(id: &ObjectId) -> bool {
    matches!(
        (id.group.as_str(), id.kind.as_str()),
        (KUSTOMIZE_GROUP, "Kustomization")
            | (HELM_GROUP, "HelmRelease")
            | (well_known::GROUP, "ResourceSet" | "FluxInstance")
    )
}

/// Returns why the objects that it applied would be kept.
fn reason_to_keep(object: &Value) -> Option<String> {
    let id = ObjectId::of(object);
    if !is_reconciler(&id) {
        return None;
    }
    // For a suspended object, a controller only removes its finalizer and deletes nothing.
    if kinds::is_suspended(object) {
        return Some("it is suspended".into());
    }
    // A run from a terminal sets no finalizer, so the API server deletes such a set at once.
    if id.kind == "ResourceSet" && !has_finalizer(object) {
        return Some("it has no finalizer, so the operator does not delete its objects".into());
    }
    if id.kind != "Kustomization" {
        return None;
    }
    match fields::some_text(object, "/spec/deletionPolicy") {
        Some("Orphan") => Some("its deletionPolicy is Orphan".into()),
        Some("Delete" | "WaitForTermination") => None,
        // The default policy, MirrorPrune, follows `prune`.
        _ if fields::at(object, "/spec/prune").and_then(Value::as_bool).unwrap_or(false) => None,
        _ => Some("its prune is false".into()),
    }
}

/// Whether an operator has to act before the object can be deleted.
pub fn has_finalizer(object: &Value) -> bool {
    fields::items(object, "/metadata/finalizers").iter().any(|finalizer| finalizer == well_known::FINALIZER)
}

struct DeletionWalk<'a> {
    snapshot: &'a Snapshot,
    deleted: Vec<ImpactEntry>,
    kept: Vec<ImpactEntry>,
    seen: BTreeSet<ObjectId>,
}

impl DeletionWalk<'_> {
    /// Adds the objects that are deleted with an object.
    fn below(&mut self, owner: &Value, depth: usize) {
        let through = ObjectId::of(owner);
        let keep_reason = reason_to_keep(owner);
        for (id, live) in inventory::owned_so_far(self.snapshot, owner) {
            let Some(live) = live else { continue };
            let reason = keep_reason.clone().or_else(|| protection(owner, live));
            if let Some(says) = reason {
                if !self.seen.contains(&id) {
                    let concern = concern(&id, live);
                    self.kept.push(ImpactEntry { object: id, concern, says, through: through.clone() });
                }
                continue;
            }
            self.record_deletion(id, live, &through, depth);
        }
    }

    fn record_deletion(&mut self, id: ObjectId, live: &Value, through: &ObjectId, depth: usize) {
        if !self.seen.insert(id.clone()) {
            return;
        }
        let concern = concern(&id, live);
        let says = match concern {
            Concern::Volume => self.volume(live),
            Concern::LoadBalancer => address(live),
            Concern::Namespace => "with everything in it".to_owned(),
            Concern::Definition => "with every object of its kind".to_owned(),
            Concern::Reconciler | Concern::Other => String::new(),
        };
        self.deleted.push(ImpactEntry { object: id.clone(), concern, says, through: through.clone() });
        if depth == 0 {
            return;
        }
        // Uninstalling Flux orphans the objects that Flux applied.
        if is_reconciler(&id) && through.kind != "FluxInstance" {
            self.below(live, depth - 1);
        }
        if concern == Concern::Namespace {
            self.within(&id, depth - 1);
        }
    }

    /// Adds the important content of a namespace: volumes, addresses, workloads, and objects that applied others.
    fn within(&mut self, namespace: &ObjectId, depth: usize) {
        let services = kinds::resource_type_of("", "Service");
        let sets = kinds::resource_type_of("apps", "StatefulSet");
        let reconcilers = FLUX_KINDS
            .iter()
            .map(|kind| kind.resource_type())
            .filter(|resource| is_reconciler(&ObjectId::new(&resource.group, &resource.kind, None, "x")));
        let kinds: Vec<_> = [PVC, DEPLOYMENT].into_iter().chain(services).chain(sets).chain(reconcilers).collect();
        let snapshot = self.snapshot;
        for resource in kinds {
            for live in snapshot.list(&resource, Some(&namespace.name)) {
                let id = ObjectId::of(live);
                // Deleting a Service has effects outside of the cluster only if it is a load balancer.
                if resource.kind == "Service" && concern(&id, live) != Concern::LoadBalancer {
                    continue;
                }
                self.record_deletion(id, live, namespace, depth);
            }
        }
    }

    /// Describes the fate of a claim's data.
    fn volume(&self, claim: &Value) -> String {
        let Some(name) = fields::some_text(claim, "/spec/volumeName") else {
            return "it has no volume yet".to_owned();
        };
        let volume =
            kinds::resource_type_of("", "PersistentVolume").and_then(|kind| self.snapshot.get(&kind, None, name));
        match volume.map(|volume| fields::text(volume, "/spec/persistentVolumeReclaimPolicy")) {
            Some("Retain") => format!("the volume {name} is retained"),
            Some("Delete") => format!("the volume {name} and its data are deleted"),
            Some(policy) if !policy.is_empty() => format!("the volume {name} has the reclaim policy {policy}"),
            _ => format!("the reclaim policy of the volume {name} is unknown"),
        }
    }
}

/// Returns why an applied object would be kept.
fn protection(owner: &Value, live: &Value) -> Option<String> {
    let is = |key: &str, value: &str| {
        let found = fields::annotation(live, key).or_else(|| fields::label(live, key));
        found.is_some_and(|found| found.eq_ignore_ascii_case(value)).then(|| format!("{key} is {value}"))
    };
    match fields::kind(owner) {
        "Kustomization" => is(KUSTOMIZE_PRUNE_ANNOTATION, "disabled"),
        "HelmRelease" => is(HELM_KEEP, "keep"),
        "FluxInstance" if fields::kind(live) == "Namespace" => Some("it may contain other resources".to_owned()),
        _ => is(well_known::PRUNE, "disabled"),
    }
}

fn concern(id: &ObjectId, live: &Value) -> Concern {
    match (id.group.as_str(), id.kind.as_str()) {
        ("", "PersistentVolumeClaim" | "PersistentVolume") => Concern::Volume,
        ("", "Service") if fields::text(live, "/spec/type") == "LoadBalancer" => Concern::LoadBalancer,
        ("", "Namespace") => Concern::Namespace,
        ("apiextensions.k8s.io", "CustomResourceDefinition") => Concern::Definition,
        _ if is_reconciler(id) => Concern::Reconciler,
        _ => Concern::Other,
    }
}

fn address(service: &Value) -> String {
    let ingress = fields::items(service, "/status/loadBalancer/ingress").iter();
    let addresses =
        // Load balancers of some clouds have a name in DNS instead of an address.
        ingress.filter_map(|one| fields::some_text(one, "/ip").or_else(|| fields::some_text(one, "/hostname")));
    match addresses.collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => "a load balancer without an address".to_owned(),
        addresses => format!("the address {addresses} is released"),
    }
}

/// Returns the Flux objects that depend on an object or take their content from it.
fn dependents(snapshot: &Snapshot, subject: &Value, own: &ObjectId) -> Vec<ObjectId> {
    let waits = |object: &Value| depends_on(object).iter().any(|dependency| dependency.object == *own);
    let is_provider = own.kind == kinds::INPUT_PROVIDER.kind;
    let uses = |object: &Value| match resource_set::is_resource_set(object) {
        true => is_provider && resource_set::takes_from(object, subject),
        false => trace::source_of(object).is_some_and(|source| source == *own),
    };
    FLUX_KINDS
        .iter()
        .filter(|kind| {
            ["Kustomization", "HelmRelease", "ResourceSet", "HelmChart", "ImageUpdateAutomation"].contains(&kind.kind)
        })
        .flat_map(|kind| snapshot.list(&kind.resource_type(), None))
        .filter(|object| waits(object) || uses(object))
        .map(ObjectId::of)
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ks(name: &str, spec: Value, entries: &[&str]) -> Value {
        let entries: Vec<Value> = entries.iter().map(|id| json!({"id": id, "v": "v1"})).collect();
        json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
            "metadata": {"name": name, "namespace": "fs"}, "spec": spec, "status": {"inventory": {"entries": entries}}})
    }

    fn plain(kind: &str, namespace: &str, name: &str, spec: Value) -> Value {
        let api_version = if kind == "Deployment" { "apps/v1" } else { "v1" };
        json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": namespace}, "spec": spec})
    }

    fn lines(entries: &[ImpactEntry]) -> Vec<String> {
        entries.iter().map(|entry| format!("{} {}", entry.object, entry.says).trim().to_owned()).collect()
    }

    fn impact_on(objects: Vec<Value>) -> Impact {
        let first = objects[0].clone();
        impact(&Snapshot::of_dump(objects), &first)
    }

    #[test]
    fn objects_to_be_deleted_are_found_through_nested_inventories_and_the_severe_come_first() {
        let mut kept = plain("ConfigMap", "apps", "kept", json!({}));
        kept["metadata"]["annotations"] = json!({"kustomize.toolkit.fluxcd.io/prune": "Disabled"});
        let mut service = plain("Service", "apps", "web", json!({"type": "LoadBalancer"}));
        service["status"] = json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}});
        let found = impact_on(vec![
            ks(
                "root",
                json!({"prune": true}),
                &[
                    "fs_inner_kustomize.toolkit.fluxcd.io_Kustomization",
                    "apps_config__ConfigMap",
                    "fs_root_kustomize.toolkit.fluxcd.io_Kustomization",
                ],
            ),
            ks(
                "inner",
                json!({"prune": true}),
                &[
                    "apps_data__PersistentVolumeClaim",
                    "apps_web__Service",
                    "apps_kept__ConfigMap",
                    "apps_gone__ConfigMap",
                ],
            ),
            plain("ConfigMap", "apps", "config", json!({})),
            plain("PersistentVolumeClaim", "apps", "data", json!({"volumeName": "pv1"})),
            json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv1"}, "spec": {"persistentVolumeReclaimPolicy": "Delete"}}),
            service,
            kept,
            ks("waits", json!({"dependsOn": [{"name": "root"}]}), &[]),
        ]);
        assert_eq!(
            lines(&found.deleted),
            [
                "PersistentVolumeClaim/apps/data the volume pv1 and its data are deleted",
                "Service/apps/web the address 192.0.2.1 is released",
                "Kustomization/fs/inner",
                "ConfigMap/apps/config"
            ]
        );
        assert_eq!(lines(&found.kept), ["ConfigMap/apps/kept kustomize.toolkit.fluxcd.io/prune is disabled"]);
        assert_eq!(found.dependents.iter().map(ToString::to_string).collect::<Vec<_>>(), ["Kustomization/fs/waits"]);
        assert_eq!(found.summary, "4 objects are deleted with Kustomization/fs/root");
        assert_eq!(found.deleted[0].through.name, "inner");
    }

    #[test]
    fn objects_of_a_set_without_a_finalizer_stay() {
        let set = |finalizers: &[&str]| {
            json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "ResourceSet",
                "metadata": {"name": "set", "namespace": "fs", "finalizers": finalizers},
                "status": {"inventory": {"entries": [{"id": "fs_a__ConfigMap", "v": "v1"}]}}})
        };
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "fs"}});
        let snapshot = Snapshot::of_dump([map]);
        let managed = impact(&snapshot, &set(&[well_known::FINALIZER]));
        assert_eq!((managed.deleted.len(), managed.kept.len()), (1, 0));
        let left = impact(&snapshot, &set(&[]));
        assert_eq!((left.deleted.len(), left.kept.len()), (0, 1));
        assert!(left.summary.contains("it has no finalizer"), "{}", left.summary);
    }

    #[test]
    fn dependents_on_any_kind_are_listed_unless_the_group_differs() {
        let set = json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "ResourceSet", "metadata": {"name": "set", "namespace": "fs"},
            "spec": {"dependsOn": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "gate", "namespace": "apps"}]}});
        let waits = |api_version: &str| {
            ks(
                "waits",
                json!({"dependsOn": [{"apiVersion": api_version, "kind": "ConfigMap", "name": "gate", "namespace": "apps"}]}),
                &[],
            )
        };
        let dependents = |objects: Vec<Value>| -> Vec<String> {
            impact_on(objects).dependents.iter().map(ToString::to_string).collect()
        };
        let gate = plain("ConfigMap", "apps", "gate", json!({}));
        assert_eq!(dependents(vec![gate.clone(), set, waits("v1")]), ["ResourceSet/fs/set", "Kustomization/fs/waits"]);
        assert!(dependents(vec![gate, waits("example.com/v1")]).is_empty());
    }

    #[test]
    fn deleting_a_namespace_deletes_its_content() {
        let found = impact_on(vec![
            ks("root", json!({"prune": true}), &["_apps__Namespace"]),
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "apps"}}),
            plain("PersistentVolumeClaim", "apps", "data", json!({"volumeName": "pv1"})),
            plain("Deployment", "apps", "foreign", json!({})),
            plain("Service", "apps", "inside", json!({"type": "ClusterIP"})),
            plain("Deployment", "other", "elsewhere", json!({})),
        ]);
        assert_eq!(
            lines(&found.deleted),
            [
                "PersistentVolumeClaim/apps/data the reclaim policy of the volume pv1 is unknown",
                "Namespace/apps with everything in it",
                "Deployment/apps/foreign"
            ]
        );
    }

    #[test]
    fn objects_that_are_not_pruned_are_reported_with_the_reason() {
        let config = || plain("ConfigMap", "apps", "config", json!({}));
        for (spec, why) in [
            (json!({"prune": false}), "its prune is false"),
            (json!({"prune": true, "suspend": true}), "it is suspended"),
            (json!({"prune": true, "deletionPolicy": "Orphan"}), "its deletionPolicy is Orphan"),
        ] {
            let found = impact_on(vec![ks("root", spec, &["apps_config__ConfigMap"]), config()]);
            assert!(found.deleted.is_empty() && found.summary.ends_with(why), "{found:?}");
            assert_eq!(lines(&found.kept), [format!("ConfigMap/apps/config {why}")]);
        }
        let deletes = json!({"prune": false, "deletionPolicy": "Delete"});
        assert_eq!(impact_on(vec![ks("root", deletes, &["apps_config__ConfigMap"]), config()]).deleted.len(), 1);
    }

    #[test]
    fn uninstalling_flux_keeps_its_namespace_and_its_workloads() {
        let entries = json!([{"id": "_fs__Namespace", "v": "v1"}, {"id": "fs_source-controller_apps_Deployment", "v": "v1"},
            {"id": "fs_sync_kustomize.toolkit.fluxcd.io_Kustomization", "v": "v1"}]);
        let instance = json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
            "metadata": {"name": "flux", "namespace": "fs"}, "status": {"inventory": {"entries": entries}}});
        let mut controller = plain("Deployment", "fs", "source-controller", json!({}));
        controller["apiVersion"] = "apps/v1".into();
        let found = impact_on(vec![
            instance,
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "fs"}}),
            controller,
            ks("sync", json!({"prune": true}), &["apps_config__ConfigMap"]),
            plain("ConfigMap", "apps", "config", json!({})),
        ]);
        assert_eq!(lines(&found.deleted), ["Kustomization/fs/sync", "Deployment/fs/source-controller"]);
        assert_eq!(lines(&found.kept), ["Namespace/fs it may contain other resources"]);
    }

    #[test]
    fn deleting_a_source_deletes_nothing_else_and_names_its_users() {
        let source = json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": {"name": "app", "namespace": "fs"}});
        let found =
            impact_on(vec![source, ks("a", json!({"sourceRef": {"kind": "GitRepository", "name": "app"}}), &[])]);
        assert_eq!(found.summary, "nothing else is deleted with GitRepository/fs/app");
        assert_eq!(found.dependents.len(), 1);
    }
}
