//! Moves objects from one Flux owner to another without pruning them.
//!
//! ```text
//! suspend the old owner ─► each object: labels, annotations and fields become the new owner's ─► out of the old inventory
//! ```
//! Flux's controllers prune an object that was removed from their source only if the object still has their labels
//! (<https://fluxcd.io/flux/components/kustomize/kustomizations/#prune>) and is in their inventory. After the move, the
//! object has neither the labels nor an inventory entry of the old owner. The new owner also owns the fields, so that
//! its later applies remove fields that it drops. A HelmRelease uninstalls its stored release regardless of labels, so
//! its objects can only be moved all together.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::api::kinds::{HELM_GROUP, KUSTOMIZE_GROUP};
use crate::api::well_known;
use crate::k8s::{ObjectId, fields, managed_fields};

/// Group of the labels that a ResourceSet sets on its objects.
const RESOURCE_SET_LABELS: &str = "resourceset.fluxcd.controlplane.io";
const HELM_MANAGED_BY: &str = "Helm";
const HELM_RELEASE_NAME: &str = "meta.helm.sh/release-name";
const HELM_RELEASE_NAMESPACE: &str = "meta.helm.sh/release-namespace";

/// A Flux object that applies other objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    pub id: ObjectId,
    /// Name and namespace of a HelmRelease's Helm release.
    release: Option<(String, String)>,
}

/// The object cannot own others.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} owns no objects: only a Kustomization, a HelmRelease or a ResourceSet does")]
pub struct UnsuitableOwner(pub ObjectId);

impl Owner {
    /// Reads an owner.
    ///
    /// # Errors
    /// The object has another kind.
    pub fn of(object: &Value) -> Result<Self, UnsuitableOwner> {
        let id = ObjectId::of(object);
        let release = match (id.group.as_str(), id.kind.as_str()) {
            (KUSTOMIZE_GROUP, "Kustomization") | (well_known::GROUP, "ResourceSet") => None,
            (HELM_GROUP, "HelmRelease") => {
                let target = fields::some_text(object, "/spec/targetNamespace");
                // helm-controller's naming (<https://fluxcd.io/flux/components/helm/helmreleases/#release-name>).
                let name = fields::some_text(object, "/spec/releaseName").map(str::to_owned);
                let composed = target.map_or_else(|| id.name.clone(), |target| format!("{target}-{}", id.name));
                Some((name.unwrap_or(composed), target.unwrap_or(&id.namespace).to_owned()))
            }
            _ => return Err(UnsuitableOwner(id)),
        };
        Ok(Owner { id, release })
    }

    /// Whether the owner is a Helm release. The objects of a release can only be moved all together.
    pub fn is_release(&self) -> bool {
        self.release.is_some()
    }

    /// Returns the owner's field manager.
    fn manager(&self) -> &'static str {
        match self.id.group.as_str() {
            KUSTOMIZE_GROUP => "kustomize-controller",
            HELM_GROUP => "helm-controller",
            _ => well_known::RECONCILER_FIELD_MANAGER,
        }
    }

    /// Returns the labels that identify the owner's objects.
    fn labels(&self) -> Vec<(String, String)> {
        let group = if self.id.group == well_known::GROUP { RESOURCE_SET_LABELS } else { &self.id.group };
        let mut labels = vec![
            (format!("{group}/name"), self.id.name.clone()),
            (format!("{group}/namespace"), self.id.namespace.clone()),
        ];
        if self.release.is_some() {
            labels.push((well_known::MANAGED_BY_LABEL.to_owned(), HELM_MANAGED_BY.to_owned()));
        }
        labels
    }

    fn annotations(&self) -> Vec<(String, String)> {
        let release = self.release.iter().flat_map(|(name, namespace)| {
            [(HELM_RELEASE_NAME.to_owned(), name.clone()), (HELM_RELEASE_NAMESPACE.to_owned(), namespace.clone())]
        });
        release.collect()
    }

    /// Whether an object carries the labels of this owner.
    pub fn claims(&self, object: &Value) -> bool {
        self.labels().iter().all(|(key, value)| fields::label(object, key) == Some(value))
    }
}

/// The move of one object.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OwnerMove {
    pub object: ObjectId,
    /// The changes in words; empty when the object already belongs to the new owner.
    pub steps: Vec<String>,
    /// JSON patch (RFC 6902), guarded by the resource version.
    #[serde(skip)]
    pub patch: Option<Value>,
}

/// A planned or finished move of objects between owners.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OwnerMigration {
    pub from: ObjectId,
    pub to: ObjectId,
    /// Whether the old owner has to be suspended, or already was.
    pub suspends: bool,
    pub moves: Vec<OwnerMove>,
    /// Objects of the inventory that do not exist in the cluster.
    pub gone: Vec<ObjectId>,
}

/// Plans the changes of an object for its new owner.
pub fn plan_move(live: &Value, from: &Owner, to: &Owner) -> OwnerMove {
    let mut steps = vec![];
    let mut operations = vec![];
    let change = |pointer: &str, remove: Vec<(String, String)>, add: Vec<(String, String)>, steps: &mut Vec<String>| {
        let before = live.pointer(pointer).and_then(Value::as_object).cloned().unwrap_or_default();
        let mut after = before.clone();
        for (key, value) in &remove {
            // Keep a value that someone else has set in the meantime.
            if after.get(key).and_then(Value::as_str) == Some(value) {
                after.shift_remove(key);
            }
        }
        for (key, value) in &add {
            after.insert(key.clone(), value.as_str().into());
        }
        if after == before {
            return None;
        }
        let what = pointer.rsplit('/').next().unwrap_or_default();
        steps.push(format!("{what} of {} become those of {}", from.id, to.id));
        // `add` replaces an existing map and creates a missing one (RFC 6902).
        Some(json!({"op": "add", "path": pointer, "value": after}))
    };
    operations.extend(change("/metadata/labels", from.labels(), to.labels(), &mut steps));
    operations.extend(change("/metadata/annotations", from.annotations(), to.annotations(), &mut steps));
    if let Some(entries) = renamed_manager(live, from.manager(), to.manager()) {
        steps.push(format!("fields of {} become those of {}", from.manager(), to.manager()));
        operations.push(json!({"op": "replace", "path": "/metadata/managedFields", "value": entries}));
    }
    let patch = (!operations.is_empty()).then(|| {
        if let Some(version) = live.pointer("/metadata/resourceVersion") {
            operations.push(json!({"op": "replace", "path": "/metadata/resourceVersion", "value": version}));
        }
        Value::Array(operations)
    });
    OwnerMove { object: ObjectId::of(live), steps, patch }
}

/// Returns the managed fields with all fields of one manager given to another; `None` when there are none.
fn renamed_manager(live: &Value, from: &str, to: &str) -> Option<Vec<Value>> {
    let is_of = |entry: &Value, manager: &str| {
        fields::text(entry, "/manager") == manager && fields::text(entry, "/subresource").is_empty()
    };
    let entries = managed_fields::entries(live);
    if from == to || !entries.iter().any(|entry| is_of(entry, from)) {
        return None;
    }
    let (given, mut kept): (Vec<Value>, Vec<Value>) = entries.iter().cloned().partition(|entry| is_of(entry, from));
    let is_target = |entry: &Value| is_of(entry, to) && fields::text(entry, "/operation") == "Apply";
    let mut target = match kept.iter().position(is_target) {
        Some(at) => kept.remove(at),
        None => {
            let mut first = given.first().and_then(Value::as_object).cloned().unwrap_or_else(Map::new);
            first.insert("manager".into(), to.into());
            // Fields of an `Update` entry would outlast an apply that drops them.
            first.insert("operation".into(), "Apply".into());
            Value::Object(first)
        }
    };
    for entry in &given {
        let union = managed_fields::union(&target["fieldsV1"], &entry["fieldsV1"]);
        target["fieldsV1"] = union;
    }
    kept.push(target);
    Some(kept)
}

/// Returns the status patch (RFC 7386) that removes objects from an inventory; `None` when it contains none of them.
pub fn inventory_patch(owner: &Value, moved: &[ObjectId]) -> Option<Value> {
    let entries = fields::items(owner, "/status/inventory/entries");
    let is_moved =
        |entry: &&Value| ObjectId::from_inventory_id(fields::text(entry, "/id")).is_ok_and(|id| moved.contains(&id));
    let kept: Vec<&Value> = entries.iter().filter(|entry| !is_moved(entry)).collect();
    // The controller may write its inventory in between; then the API server refuses this patch.
    let version = owner.pointer("/metadata/resourceVersion").cloned().unwrap_or_default();
    (kept.len() < entries.len())
        .then(|| json!({"metadata": {"resourceVersion": version}, "status": {"inventory": {"entries": kept}}}))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kustomization(name: &str) -> Value {
        json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
            "metadata": {"name": name, "namespace": "fs", "resourceVersion": "7"},
            "status": {"inventory": {"entries": [{"id": "apps_web__ConfigMap", "v": "v1"}, {"id": "apps_db__ConfigMap", "v": "v1"}]}}})
    }

    fn release() -> Value {
        json!({"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "metadata": {"name": "web", "namespace": "fs"},
            "spec": {"targetNamespace": "apps"}})
    }

    fn live(labels: Value) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web", "namespace": "apps", "resourceVersion": "3",
            "labels": labels, "managedFields": [
                {"manager": "kustomize-controller", "operation": "Apply", "fieldsV1": {"f:data": {"f:a": {}}}},
                {"manager": "kubectl-edit", "operation": "Update", "fieldsV1": {"f:data": {"f:b": {}}}}]}})
    }

    const OF_A: &str = "kustomize.toolkit.fluxcd.io";

    fn labels_of(name: &str) -> Value {
        json!({format!("{OF_A}/name"): name, format!("{OF_A}/namespace"): "fs", "app": "web"})
    }

    #[test]
    fn between_kustomizations_only_labels_change() {
        let (from, to) = (Owner::of(&kustomization("a")).unwrap(), Owner::of(&kustomization("b")).unwrap());
        let live = live(labels_of("a"));
        assert!(from.claims(&live) && !to.claims(&live));
        let found = plan_move(&live, &from, &to);
        assert_eq!(found.steps, ["labels of Kustomization/fs/a become those of Kustomization/fs/b"]);
        let patch = found.patch.unwrap();
        assert_eq!(patch[0]["value"], labels_of("b"));
        assert_eq!(patch[1], json!({"op": "replace", "path": "/metadata/resourceVersion", "value": "3"}));
        let mut moved = live.clone();
        moved["metadata"]["labels"] = labels_of("b");
        assert_eq!(plan_move(&moved, &from, &to).patch, None, "a second time there is nothing to do");
    }

    #[test]
    fn an_object_that_moves_to_a_release_gets_the_adoption_metadata_of_helm_and_its_field_ownership() {
        let (from, to) = (Owner::of(&kustomization("a")).unwrap(), Owner::of(&release()).unwrap());
        let patch = plan_move(&live(labels_of("a")), &from, &to).patch.unwrap();
        let labels = &patch[0]["value"];
        assert_eq!(labels["app.kubernetes.io/managed-by"], "Helm");
        assert_eq!(labels["helm.toolkit.fluxcd.io/name"], "web");
        assert!(labels.get("kustomize.toolkit.fluxcd.io/name").is_none());
        assert_eq!(
            patch[1]["value"],
            json!({"meta.helm.sh/release-name": "apps-web", "meta.helm.sh/release-namespace": "apps"})
        );
        let managers: Vec<&str> =
            patch[2]["value"].as_array().unwrap().iter().map(|entry| entry["manager"].as_str().unwrap()).collect();
        assert_eq!(managers, ["kubectl-edit", "helm-controller"]);
        assert_eq!(patch[2]["value"][1]["fieldsV1"], json!({"f:data": {"f:a": {}}}));
        assert!(to.is_release() && !from.is_release());
    }

    #[test]
    fn moved_objects_are_removed_from_the_old_inventory() {
        let owner = kustomization("a");
        let moved = [ObjectId::new("", "ConfigMap", Some("apps"), "web")];
        let patch = inventory_patch(&owner, &moved).unwrap();
        assert_eq!(patch["status"]["inventory"]["entries"], json!([{"id": "apps_db__ConfigMap", "v": "v1"}]));
        assert_eq!(patch["metadata"]["resourceVersion"], "7");
        assert_eq!(inventory_patch(&owner, &[ObjectId::new("", "ConfigMap", Some("x"), "y")]), None);
    }

    #[test]
    fn a_source_owns_nothing() {
        let source =
            json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": {"name": "g"}});
        assert!(Owner::of(&source).unwrap_err().to_string().contains("owns no objects"));
    }
}
