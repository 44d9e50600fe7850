//! `get inventory`: the applied objects, with their existence, health and drift.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use crate::api::kinds::CRD;
use crate::api::{InventoryOwner, OwnerKind, takeover, well_known};
use crate::inspect::read::snapshot::Snapshot;
use crate::inspect::views::health_checks;
use crate::inspect::views::resource_set;
use crate::k8s::documentation::is_documentation;
use crate::k8s::fields;
use crate::k8s::kstatus::Status;
use crate::k8s::{ObjectId, diff};

/// Difference between a live object and the applied one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Drift {
    /// No difference, as far as can be determined.
    None,
    /// Fields differ from the instance's build.
    Drifted,
    /// Only descriptions in a CRD differ.
    Documentation,
    /// The object does not exist.
    Missing,
    /// Unknown: the object is not readable, or not part of the dump.
    Unknown,
}

impl Drift {
    pub fn as_str(self) -> &'static str {
        match self {
            Drift::None => "no",
            Drift::Drifted => "drifted",
            Drift::Documentation => "documentation",
            Drift::Missing => "missing",
            Drift::Unknown => "Unknown",
        }
    }
}

/// Limit for the fields listed for one object.
const MAX_FIELDS: usize = 20;

/// An entry of an inventory.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InventoryRow {
    pub group: String,
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    pub name: String,
    /// API version without the group.
    pub version: String,
    pub status: Status,
    pub drift: Drift,
    /// Paths of the different fields, at most twenty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

impl InventoryRow {
    pub fn reference(&self) -> ObjectId {
        ObjectId::new(&self.group, &self.kind, self.namespace.as_deref(), &self.name)
    }
}

/// Returns the entries of an instance's, HelmRelease's or Kustomization's `status.inventory`.
pub fn entries(object: &Value) -> Vec<ObjectId> {
    entries_where(object, |_| true)
}

/// Returns the entries whose id (`NAMESPACE_NAME_GROUP_KIND`) matches; the others are not parsed.
pub(crate) fn entries_where(object: &Value, is_meant: impl Fn(&str) -> bool) -> Vec<ObjectId> {
    fields::items(object, "/status/inventory/entries")
        .iter()
        .filter_map(|entry| {
            let id = entry.get("id").and_then(Value::as_str).filter(|id| is_meant(id))?;
            Some(ObjectId::from_inventory_id(id).ok()?.at(fields::text(entry, "/v")))
        })
        .collect()
}

/// An inventory entry with its live object.
type EntryWithObject<'a> = (ObjectId, Option<&'a Value>);

/// Returns the entries of an inventory with their live objects; `None` while those are loading.
///
/// From a cluster it reads one list per kind, and then single objects that the lists do not contain.
pub(crate) fn owned<'a>(snapshot: &'a Snapshot, owner: &'a Value) -> Option<Vec<EntryWithObject<'a>>> {
    list_owned(snapshot, owner, |_| true);
    if snapshot.is_loading() {
        return None;
    }
    let live = |id: ObjectId| {
        let live = snapshot.get_ref(&id);
        (id, live)
    };
    Some(entries(owner).into_iter().map(live).collect())
}

/// Like [`owned`], for views that show entries before their objects are loaded.
pub(crate) fn owned_so_far<'a>(snapshot: &'a Snapshot, owner: &'a Value) -> Vec<EntryWithObject<'a>> {
    owned(snapshot, owner).unwrap_or_else(|| entries(owner).into_iter().map(|id| (id, None)).collect())
}

fn list_owned(snapshot: &Snapshot, owner: &Value, is_meant: impl Fn(&ObjectId) -> bool) {
    let selector = match (fields::group(owner), fields::namespace(owner)) {
        (well_known::GROUP, Some(namespace)) => {
            let kind = match resource_set::is_resource_set(owner) {
                true => OwnerKind::ResourceSet,
                false => OwnerKind::FluxInstance,
            };
            InventoryOwner::new(kind, namespace, fields::name(owner)).selector()
        }
        (group, Some(namespace)) if !group.is_empty() => {
            // kustomize-controller and helm-controller label objects with the group of the reconciler.
            format!("{group}/name={},{group}/namespace={namespace}", fields::name(owner))
        }
        _ => return,
    };
    let kinds: BTreeSet<_> =
        entries(owner).into_iter().filter(is_meant).map(|id| (id.group, id.kind, id.version)).collect();
    for (group, kind, version) in kinds {
        if let Some(resource) = snapshot.resource_type(&group, &version, &kind) {
            snapshot.list_labelled(&resource, None, &selector);
        }
    }
}

/// Returns the rows of an instance's inventory in order. `desired` is the instance's current build, if known.
pub fn rows(snapshot: &Snapshot, instance: &Value, desired: Option<&[Value]>) -> Vec<InventoryRow> {
    if desired.is_some() {
        // Otherwise every definition would seem to have lost its schemas.
        snapshot.want_schemas();
    }
    let desired: BTreeMap<ObjectId, &Value> =
        desired.into_iter().flatten().map(|object| (ObjectId::of(object), object)).collect();
    owned_so_far(snapshot, instance)
        .into_iter()
        .map(|(reference, live)| row(snapshot, instance, reference, live, &desired))
        .collect()
}

/// Returns how many objects of an instance are missing or differ from its build; 0 while they are loading.
///
/// Definitions are not compared: their schemas are most of a cluster's text, and a missing one is a separate cause.
pub(crate) fn drifted(snapshot: &Snapshot, instance: &Value, desired: &[Value]) -> usize {
    let is_definition = |id: &ObjectId| id.kind == CRD.kind && id.group == CRD.group;
    list_owned(snapshot, instance, |id| !is_definition(id));
    if snapshot.is_loading() {
        return 0;
    }
    let desired = desired.iter().map(|object| (ObjectId::of(object), object)).collect();
    let applied = entries(instance).into_iter().filter(|id| !is_definition(id));
    let rows = applied.map(|id| row(snapshot, instance, id.clone(), snapshot.get_ref(&id), &desired));
    rows.filter(|row| matches!(row.drift, Drift::Drifted | Drift::Missing)).count()
}

fn row(
    snapshot: &Snapshot,
    owner: &Value,
    reference: ObjectId,
    live: Option<&Value>,
    desired: &BTreeMap<ObjectId, &Value>,
) -> InventoryRow {
    let (status, message, drift, fields) = match live {
        Some(live) => {
            let health = health_checks::health_of(owner, live);
            let fields = desired.get(&reference).map(|wanted| differences(wanted, live)).unwrap_or_default();
            let (wording, mut fields): (Vec<_>, Vec<_>) = fields.into_iter().partition(|path| is_documentation(path));
            let drift = match (fields.is_empty(), wording.is_empty()) {
                (true, true) => Drift::None,
                (true, false) => Drift::Documentation,
                (false, _) => Drift::Drifted,
            };
            // Last, so that the limit cuts documentation first.
            fields.extend(wording);
            fields.truncate(MAX_FIELDS);
            (health.status, health.message, drift, fields)
        }
        None => {
            let knows = snapshot
                .resource_type(&reference.group, &reference.version, &reference.kind)
                .is_some_and(|resource| snapshot.knows(&resource));
            if knows {
                (Status::NotFound, "Resource not found".to_owned(), Drift::Missing, vec![])
            } else {
                (Status::Unknown, "cannot be read".to_owned(), Drift::Unknown, vec![])
            }
        }
    };
    InventoryRow {
        namespace: reference.namespace().map(str::to_owned),
        version: reference.version,
        group: reference.group,
        kind: reference.kind,
        name: reference.name,
        status,
        drift,
        fields,
        message,
    }
}

/// Returns the paths of the fields that the next reconciliation would change, as a plan names them.
pub fn differences(desired: &Value, live: &Value) -> Vec<String> {
    diff::changed_paths(&diff::comparable(live), &diff::comparable(&takeover::predicted(live, desired)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn instance() -> Value {
        json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
            "metadata": {"name": "flux", "namespace": "flux-system"},
            "status": {"inventory": {"entries": [
                {"id": "flux-system_a__ConfigMap", "v": "v1"}, {"id": "flux-system_b__ConfigMap", "v": "v1"},
                {"id": "flux-system_c_apps_Deployment", "v": "v1"}]}}})
    }

    #[test]
    fn missing_drifted_and_unknown_entries_are_distinguished() {
        let live = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "flux-system"}, "data": {"k": "edited"}});
        let wanted = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "flux-system"}, "data": {"k": "v"}});
        let rows = rows(&Snapshot::of_dump([live]), &instance(), Some(&[wanted]));
        assert_eq!(rows[0].drift, Drift::Drifted);
        assert_eq!(rows[0].fields, ["data.k"]);
        assert_eq!((rows[1].drift, rows[1].status), (Drift::Missing, Status::NotFound));
        assert_eq!((rows[2].drift, rows[2].status), (Drift::Unknown, Status::Unknown), "no Deployment in this dump");
    }

    #[test]
    fn wording_of_a_definition_is_a_drift_of_its_own() {
        let definition = |description: &str, kind: &str| {
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "flux-system"},
                "spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"description": description, "type": kind}}}]}})
        };
        let drift = |live: Value| {
            let rows = rows(&Snapshot::of_dump([live]), &instance(), Some(&[definition("new words", "object")]));
            (rows[0].drift, rows[0].fields.len())
        };
        assert_eq!(drift(definition("new words", "object")), (Drift::None, 0));
        assert_eq!(drift(definition("old words", "object")), (Drift::Documentation, 1));
        assert_eq!(drift(definition("old words", "array")), (Drift::Drifted, 2));
    }

    #[test]
    fn a_field_that_a_tool_added_is_drift_when_a_reconciliation_would_take_it_away() {
        let wanted = json!({"kind": "Kustomization", "metadata": {"name": "a"}, "spec": {"path": "./"}});
        let live = |manager: &str| {
            json!({"kind": "Kustomization", "metadata": {"name": "a", "managedFields": [
                {"manager": "flux-operator", "operation": "Apply", "fieldsV1": {"f:spec": {"f:path": {}}}},
                {"manager": manager, "operation": "Update", "fieldsV1": {"f:spec": {"f:suspend": {}}}}]},
                "spec": {"path": "./", "suspend": true}})
        };
        assert_eq!(differences(&wanted, &live("kubectl-edit")), ["spec.suspend"]);
        assert!(differences(&wanted, &live("somebody")).is_empty(), "what others add stays");
        let mut own = live("somebody");
        own["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:interval"] = json!({});
        own["spec"]["interval"] = json!("1m");
        assert_eq!(differences(&wanted, &own), ["spec.interval"], "applied under our name");
    }
}
