//! `get suspended`: suspended objects with time, author, reason and planned end.
//!
//! Reason and planned end are annotations written by `suspend`; time and author are the API server's record of the
//! field or annotation that suspends.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use crate::api::kinds::{FLUX_KINDS, FluxKind, Suspension};
use crate::api::well_known::{SUSPEND_REASON_ANNOTATION, SUSPEND_UNTIL_ANNOTATION};
use crate::inspect::read::snapshot::Snapshot;
use crate::k8s::diff::Segment;
use crate::k8s::label_selector::LabelSelector;
use crate::k8s::{fields, managed_fields};

/// A suspended object.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SuspendedRow {
    pub kind: &'static str,
    pub namespace: String,
    pub name: String,
    /// Last write of the field's manager; missing if the API server did not record it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub since: Option<Timestamp>,
    /// The field manager that suspended the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The planned end of the suspension.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub until: Option<Timestamp>,
    /// Whether the planned end has passed.
    pub overdue: bool,
    #[serde(skip)]
    pub group: &'static str,
}

impl SuspendedRow {
    /// Returns `None` for an object that is not suspended.
    pub fn of(kind: &'static FluxKind, object: &Value, now: Timestamp) -> Option<Self> {
        if !kind.suspension.is_set(object) {
            return None;
        }
        let key = |key: &str| Segment::Key(key.to_owned());
        let path = match kind.suspension {
            Suspension::Annotation(annotation) => vec![key("metadata"), key("annotations"), key(annotation)],
            _ => vec![key("spec"), key("suspend")],
        };
        let owner = managed_fields::owner(object, &path, "");
        let until: Option<Timestamp> =
            fields::annotation(object, SUSPEND_UNTIL_ANNOTATION).and_then(|t| t.parse().ok());
        let overdue = until.is_some_and(|until| until <= now);
        Some(SuspendedRow {
            kind: kind.kind,
            namespace: fields::namespace(object).unwrap_or_default().to_owned(),
            name: fields::name(object).to_owned(),
            since: owner.as_ref().and_then(|owner| owner.time.parse().ok()),
            by: owner.map(|owner| owner.manager),
            reason: fields::annotation(object, SUSPEND_REASON_ANNOTATION).map(str::to_owned),
            until,
            overdue,
            group: kind.group,
        })
    }
}

/// Returns the suspended objects of some kinds in a namespace (or all): overdue ones first, then those suspended
/// longest.
pub fn rows(
    snapshot: &Snapshot,
    kinds: &[&'static FluxKind],
    namespace: Option<&str>,
    selector: Option<&LabelSelector>,
    now: Timestamp,
) -> Vec<SuspendedRow> {
    snapshot.want_managers();
    let mut rows = vec![];
    for kind in kinds.iter().filter(|kind| kind.suspension != Suspension::None) {
        let objects = snapshot.list(&kind.resource_type(), namespace).into_iter();
        let selected = objects.filter(|object| selector.is_none_or(|selector| selector.matches_object(object)));
        rows.extend(selected.filter_map(|object| SuspendedRow::of(kind, object, now)));
    }
    rows.sort_by(|a, b| {
        let key = |row: &SuspendedRow| (!row.overdue, row.since.is_none(), row.since);
        key(a).cmp(&key(b))
    });
    rows
}

/// Every kind.
pub fn all_kinds() -> Vec<&'static FluxKind> {
    FLUX_KINDS.iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(kind: &str, api_version: &str, name: &str, annotations: Value, suspend: bool) -> Value {
        let fields = if suspend {
            json!({"f:spec": {"f:suspend": {}}})
        } else {
            json!({"f:metadata": {"f:annotations": {"f:fluxcd.controlplane.io/reconcile": {}}}})
        };
        json!({"apiVersion": api_version, "kind": kind, "spec": {"suspend": suspend},
            "metadata": {"name": name, "namespace": "apps", "annotations": annotations, "managedFields": [
                {"manager": "somebody", "operation": "Update", "time": "2026-11-22T09:00:00Z", "fieldsV1": {"f:spec": {"f:path": {}}}},
                {"manager": "flux", "operation": "Update", "time": "2026-11-22T08:00:00Z", "fieldsV1": fields}]}})
    }

    #[test]
    fn suspended_objects_are_listed_with_time_author_reason_and_deadline() {
        let note = |until: &str| json!({SUSPEND_REASON_ANNOTATION: "migration", SUSPEND_UNTIL_ANNOTATION: until});
        let kustomization = "kustomize.toolkit.fluxcd.io/v1";
        let snapshot = Snapshot::of_dump([
            object("Kustomization", kustomization, "later", note("2026-11-22T14:00:00Z"), true),
            object("Kustomization", kustomization, "late", note("2026-11-22T09:00:00Z"), true),
            object("Kustomization", kustomization, "awake", note("2026-11-22T09:00:00Z"), false),
            object(
                "FluxInstance",
                "fluxcd.controlplane.io/v1",
                "flux",
                json!({"fluxcd.controlplane.io/reconcile": "disabled"}),
                false,
            ),
        ]);
        let now = "2026-11-22T12:00:00Z".parse().unwrap();
        let rows = rows(&snapshot, &all_kinds(), None, None, now);
        let reported: Vec<_> = rows.iter().map(|row| (row.name.as_str(), row.overdue, row.reason.as_deref())).collect();
        assert_eq!(
            reported,
            [("late", true, Some("migration")), ("flux", false, None), ("later", false, Some("migration"))]
        );
        let until = rows.iter().map(|row| row.until.map(|until| until.to_string()));
        let times = ["2026-11-22T09:00:00Z", "2026-11-22T14:00:00Z"].map(|time| Some(time.to_owned()));
        assert!(until.eq([times[0].clone(), None, times[1].clone()]), "{rows:?}");
        let since = "2026-11-22T08:00:00Z".parse().ok();
        assert!(rows.iter().all(|row| row.by.as_deref() == Some("flux") && row.since == since), "{rows:?}");
    }

    #[test]
    fn a_time_that_cannot_be_read_is_none() {
        let row = object("Kustomization", "x/v1", "a", json!({SUSPEND_UNTIL_ANNOTATION: "tomorrow"}), true);
        let kind = crate::api::kinds::find("ks").unwrap();
        let row = SuspendedRow::of(kind, &row, Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!((row.until, row.overdue), (None, false));
    }
}
