//! `events`: events about Flux objects, oldest first.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use crate::api::kinds::{self, EVENT};
use crate::inspect::read::snapshot::Snapshot;
use crate::k8s::ObjectId;
use crate::k8s::fields;

/// A Kubernetes event.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventRow {
    pub namespace: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub last_seen: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub first_seen: Option<Timestamp>,
    /// `Normal` or `Warning`.
    #[serde(rename = "type")]
    pub kind: String,
    pub reason: String,
    pub object: ObjectId,
    pub count: i64,
    /// Component that reported it.
    pub source: String,
    pub message: String,
    #[serde(skip)]
    pub name: String,
}

impl EventRow {
    pub fn of(event: &Value) -> Self {
        // Events of the newer API events.k8s.io have only eventTime, reportingComponent and series.
        let first = fields::time(event, "/firstTimestamp").or_else(|| fields::time(event, "/eventTime"));
        let involved = event.get("involvedObject").unwrap_or(&Value::Null);
        let source = fields::some_text(event, "/source/component")
            .or_else(|| fields::some_text(event, "/reportingComponent"))
            .unwrap_or_default();
        EventRow {
            namespace: fields::namespace(event).unwrap_or_default().into(),
            last_seen: fields::last_seen(event),
            first_seen: first.or_else(|| fields::created(event)),
            kind: fields::text(event, "/type").into(),
            reason: fields::text(event, "/reason").into(),
            object: ObjectId::new(
                fields::group(involved),
                fields::text(involved, "/kind"),
                fields::some_text(involved, "/namespace"),
                fields::text(involved, "/name"),
            ),
            count: fields::number(event, "/series/count").or_else(|| fields::number(event, "/count")).unwrap_or(1),
            source: source.into(),
            message: fields::text(event, "/message").trim().into(),
            name: fields::name(event).into(),
        }
    }
}

/// Selects events.
#[derive(Clone, Debug, Default)]
pub struct EventFilter {
    /// Only events about these objects; empty means every object of a Flux kind.
    pub objects: Vec<ObjectId>,
    /// Also events about every object of these kinds, by the kind's name.
    pub kinds: Vec<String>,
    /// `Normal`, `Warning`; empty means both.
    pub types: Vec<String>,
    /// Only events since this time.
    pub since: Option<Timestamp>,
}

/// Returns the selected events of one namespace (or all), oldest first, with the stored event.
pub fn rows<'a>(snapshot: &'a Snapshot, namespace: Option<&str>, filter: &EventFilter) -> Vec<(EventRow, &'a Value)> {
    let mut rows: Vec<_> = snapshot
        .list(&EVENT, namespace)
        .into_iter()
        .map(|event| (EventRow::of(event), event))
        .filter(|(row, _)| wanted(row, filter))
        .collect();
    // Referenced objects may be in another namespace, and their events with them.
    if let Some(namespace) = namespace {
        let mut elsewhere: Vec<_> = filter.objects.iter().filter_map(|o| o.namespace()).collect();
        elsewhere.sort_unstable();
        elsewhere.dedup();
        for other in elsewhere.into_iter().filter(|other| *other != namespace) {
            let more = snapshot.list(&EVENT, Some(other)).into_iter().map(|event| (EventRow::of(event), event));
            rows.extend(more.filter(|(row, _)| wanted(row, filter)));
        }
    }
    rows.sort_by(|(a, _), (b, _)| (a.last_seen, &a.name).cmp(&(b.last_seen, &b.name)));
    rows
}

fn wanted(row: &EventRow, filter: &EventFilter) -> bool {
    let type_fits = filter.types.is_empty() || filter.types.iter().any(|t| t.eq_ignore_ascii_case(&row.kind));
    let object_fits = if filter.objects.is_empty() && filter.kinds.is_empty() {
        kinds::of(&row.object.group, &row.object.kind).is_some()
    } else {
        filter.kinds.contains(&row.object.kind)
            || filter.objects.iter().any(|o| {
                o.kind == row.object.kind
                    && o.name == row.object.name
                    && (o.namespace == row.object.namespace || row.object.namespace.is_empty())
            })
    };
    let time_fits = filter.since.is_none_or(|since| row.last_seen.is_some_and(|seen| seen >= since));
    type_fits && object_fits && time_fits
}

/// Returns the object and the sources it references, because their events explain it.
pub fn related(object: &Value) -> Vec<ObjectId> {
    let mut objects = vec![ObjectId::of(object)];
    for pointer in ["/spec/sourceRef", "/spec/chartRef", "/spec/chart/spec/sourceRef"] {
        if let Some(reference) = fields::at(object, pointer)
            && let Some(name) = fields::some_text(reference, "/name")
        {
            let namespace = fields::some_text(reference, "/namespace").or_else(|| fields::namespace(object));
            objects.push(ObjectId::new(kinds::SOURCE_GROUP, fields::text(reference, "/kind"), namespace, name));
        }
    }
    objects
}

/// Returns the newest warning about an object among these events.
pub(crate) fn newest_warning<'a>(events: &[&'a Value], reference: &ObjectId, reasons: &[&str]) -> Option<&'a Value> {
    events
        .iter()
        .copied()
        .filter(|e| fields::text(e, "/type") == "Warning")
        .filter(|e| fields::text(e, "/involvedObject/kind") == reference.kind)
        .filter(|e| fields::text(e, "/involvedObject/name") == reference.name)
        .filter(|e| reasons.is_empty() || reasons.contains(&fields::text(e, "/reason")))
        .max_by_key(|e| fields::last_seen(e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn event(name: &str, kind: &str, object_name: &str, at: &str, kind_of_event: &str) -> Value {
        let api_version = if kind == "Pod" { "v1" } else { "source.toolkit.fluxcd.io/v1" };
        json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": name, "namespace": "apps"},
            "involvedObject": {"apiVersion": api_version, "kind": kind, "namespace": "apps", "name": object_name},
            "lastTimestamp": at, "type": kind_of_event, "reason": "R", "message": "m\n", "count": 2})
    }

    fn dump() -> Snapshot {
        Snapshot::of_dump([
            event("e2", "GitRepository", "a", "2026-01-02T00:00:00Z", "Warning"),
            event("e1", "GitRepository", "b", "2026-01-01T00:00:00Z", "Normal"),
            event("e3", "Pod", "p", "2026-01-03T00:00:00Z", "Warning"),
        ])
    }

    #[test]
    fn events_of_flux_objects_come_oldest_first() {
        let snapshot = dump();
        let rows = rows(&snapshot, Some("apps"), &EventFilter::default());
        assert_eq!(rows.iter().map(|(r, _)| r.name.as_str()).collect::<Vec<_>>(), ["e1", "e2"]);
        assert_eq!(rows[0].0.message, "m");
    }

    #[test]
    fn events_are_picked_by_object_and_type() {
        let object = ObjectId::new("", "Pod", Some("apps"), "p");
        let pod = EventFilter { objects: vec![object.clone()], ..EventFilter::default() };
        assert_eq!(rows(&dump(), Some("apps"), &pod).len(), 1);
        let warnings = EventFilter { types: vec!["warning".into()], ..EventFilter::default() };
        assert_eq!(rows(&dump(), None, &warnings).len(), 1);
        let since = EventFilter { since: "2026-01-02T00:00:00Z".parse().ok(), ..EventFilter::default() };
        assert_eq!(rows(&dump(), None, &since).iter().map(|(r, _)| r.name.as_str()).collect::<Vec<_>>(), ["e2"]);
        let snapshot = dump();
        assert!(newest_warning(&snapshot.list(&EVENT, None), &object, &["R"]).is_some());
        assert!(newest_warning(&snapshot.list(&EVENT, None), &object, &["Other"]).is_none());
    }
}
