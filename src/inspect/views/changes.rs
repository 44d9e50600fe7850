//! `what-changed`: changes in order of time, with their authors. Pure.
//!
//! ```text
//! Flux objects ─► managed fields, history, artifact        events ─► applied, pruned, released, pushed
//!             └► inventories ─► objects ─► managed fields  Helm's storage ─► releases of any author
//! ```
//! The API server keeps the last write of each manager, and events for about an hour, so overwritten and expired
//! changes are missing. Fields written by Flux are omitted: its managed fields list everything it applies, not only
//! what changed.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde_json::Value;

use crate::api::field_managers::Author;
use crate::api::kinds::{self, EVENT, FLUX_KINDS, HELM_GROUP, SECRET};
use crate::api::well_known;
use crate::inspect::read::snapshot::Snapshot;
use crate::inspect::views::events;
use crate::inspect::views::inventory;
use crate::k8s::{ObjectId, fields, managed_fields};

/// Type of the Secrets in which Helm stores releases (<https://helm.sh/docs/topics/advanced/#storage-backends>).
pub(crate) const HELM_RELEASE_TYPE: &str = "helm.sh/release.v1";
/// Selects those Secrets.
pub(crate) const HELM_STORAGE: &str = "owner=helm";
/// Limit for the fields listed for one write.
const MAX_FIELDS: usize = 20;
/// Two reports of the same change differ by at most about this much.
const SAME_TIME: SignedDuration = SignedDuration::from_secs(5);

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ChangeAction {
    Created,
    Changed,
    Scaled,
    /// Deletion was requested, or is complete.
    Deleted,
    /// A reconciliation was requested; nothing else changed.
    Requested,
    /// A source has a new artifact.
    Fetched,
    /// A revision or configuration was reconciled for the first time.
    Reconciled,
    /// Helm created a revision of a release.
    Released,
    /// A controller reported a failure or a finding.
    Reported,
}

impl ChangeAction {
    pub fn as_str(self) -> &'static str {
        match self {
            ChangeAction::Created => "created",
            ChangeAction::Changed => "changed",
            ChangeAction::Scaled => "scaled",
            ChangeAction::Deleted => "deleted",
            ChangeAction::Requested => "requested",
            ChangeAction::Fetched => "fetched",
            ChangeAction::Reconciled => "reconciled",
            ChangeAction::Released => "released",
            ChangeAction::Reported => "reported",
        }
    }
}

/// The source of information about a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ChangeSource {
    ManagedFields,
    Metadata,
    Status,
    Event,
    HelmStorage,
}

/// A change of an object.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangeRow {
    #[schemars(with = "String")]
    pub at: Timestamp,
    /// The field manager or component; empty if it was not recorded.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub by: String,
    /// Missing if the author was not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<Author>,
    pub action: ChangeAction,
    pub object: ObjectId,
    /// The fields owned by the manager since then, at most twenty; not for Flux's own writes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
    /// A revision, a release, or a controller's message.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    pub evidence: ChangeSource,
}

/// Returns the changes since a moment of the Flux objects in a namespace (or all) and of the objects they applied,
/// oldest first.
pub fn rows(snapshot: &Snapshot, namespace: Option<&str>, since: Timestamp) -> Vec<ChangeRow> {
    snapshot.want_managers();
    let flux: Vec<&Value> = FLUX_KINDS
        .iter()
        // The operator rewrites a FluxReport at every interval, whether Flux changed or not.
        .filter(|kind| kind.kind != "FluxReport")
        .flat_map(|kind| snapshot.list(&kind.resource_type(), namespace))
        .collect();
    let mut found = vec![];
    for object in &flux {
        written(object, since, &mut found);
        reconciled(object, since, &mut found);
        fetched(object, since, &mut found);
    }
    for object in applied(snapshot, namespace, &flux) {
        written(object, since, &mut found);
    }
    let releases = released(snapshot, namespace, &flux, since);
    let reported = snapshot
        .list(&EVENT, namespace)
        .into_iter()
        .filter(|event| fields::last_seen(event).is_some_and(|seen| seen >= since));
    let (fetched, mut reported): (Vec<_>, Vec<_>) =
        reported.flat_map(changes_of_event).partition(|row| row.action == ChangeAction::Fetched);
    let recorded = ReportedChanges::of(found.iter().chain(&releases));
    // A failed attempt changes nothing, so it has no other record.
    reported.retain(|row| row.action == ChangeAction::Reported || !recorded.has(row));
    // The event about an artifact contains the commit message; the status has only the revision.
    let fetched_by_event = ReportedChanges::of(fetched.iter());
    found.retain(|row| row.action != ChangeAction::Fetched || !fetched_by_event.has(row));
    for more in [releases, reported, fetched] {
        found.extend(more);
    }
    found.sort_by(|a, b| (a.at, &a.object, &a.by).cmp(&(b.at, &b.object, &b.by)));
    found
}

/// Changes by object and author, to avoid duplicates.
struct ReportedChanges<'a>(BTreeMap<EventObject<'a>, Vec<(Option<Author>, Timestamp)>>);

/// Kind, namespace and name, because lines of events have no group.
type EventObject<'a> = (&'a str, &'a str, &'a str);

impl<'a> ReportedChanges<'a> {
    fn of(rows: impl Iterator<Item = &'a ChangeRow>) -> Self {
        let mut changes: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for row in rows {
            changes.entry(ReportedChanges::key(row)).or_default().push((row.author, row.at));
        }
        ReportedChanges(changes)
    }

    fn key(row: &ChangeRow) -> EventObject<'_> {
        (&row.object.kind, &row.object.namespace, &row.object.name)
    }

    fn has(&self, row: &ChangeRow) -> bool {
        let is_same = |(author, at): &(Option<Author>, Timestamp)| {
            *author == row.author && at.duration_since(row.at).abs() <= SAME_TIME
        };
        self.0.get(&ReportedChanges::key(row)).is_some_and(|changes| changes.iter().any(is_same))
    }
}

/// Returns the objects of all inventories, with one list per kind from the cluster.
fn applied<'a>(snapshot: &'a Snapshot, namespace: Option<&str>, flux: &[&'a Value]) -> Vec<&'a Value> {
    let wanted: BTreeSet<ObjectId> = flux
        .iter()
        .flat_map(|owner| inventory::entries(owner))
        // Flux objects are handled separately.
        .filter(|id| kinds::of(&id.group, &id.kind).is_none())
        .filter(|id| namespace.is_none_or(|namespace| id.namespace == namespace))
        .collect();
    let by_kind: BTreeMap<(&str, &str), &ObjectId> = wanted.iter().map(|id| ((&*id.group, &*id.kind), id)).collect();
    let mut objects = vec![];
    for id in by_kind.into_values() {
        let Some(resource) = snapshot.resource_type(&id.group, &id.version, &id.kind) else { continue };
        let listed = snapshot.list(&resource, namespace).into_iter();
        objects.extend(listed.filter(|object| wanted.contains(&ObjectId::of(object))));
    }
    objects
}

/// Adds the changes recorded on an object: the last write of each manager, and its deletion.
fn written(object: &Value, since: Timestamp, found: &mut Vec<ChangeRow>) {
    let created = fields::created(object);
    let row = |at: Timestamp, action: ChangeAction, evidence: ChangeSource| ChangeRow {
        at,
        by: String::new(),
        author: None,
        action,
        object: ObjectId::of(object),
        fields: vec![],
        message: String::new(),
        evidence,
    };
    let mut is_creation_recorded = false;
    for entry in managed_fields::entries(object) {
        let Some(at) = fields::time(entry, "/time").filter(|at| *at >= since) else { continue };
        let subresource = fields::text(entry, "/subresource");
        // Controllers write a status at every reconciliation, whether anything changed or not.
        if subresource == "status" {
            continue;
        }
        let manager = fields::text(entry, "/manager");
        let author = Author::of(manager);
        let paths = match author {
            Author::Flux => vec![],
            _ => entry.get("fieldsV1").map(managed_fields::paths).unwrap_or_default(),
        };
        let is_request = !paths.is_empty() && paths.iter().all(|path| is_request(path));
        let is_creation = created.is_some_and(|created| at <= created);
        let action = match subresource {
            "scale" => ChangeAction::Scaled,
            _ if is_creation => ChangeAction::Created,
            _ if is_request => ChangeAction::Requested,
            _ => ChangeAction::Changed,
        };
        is_creation_recorded |= is_creation;
        // The creator of an object owns all its fields.
        let named = if is_creation { vec![] } else { paths.into_iter().take(MAX_FIELDS).collect() };
        let row = row(at, action, ChangeSource::ManagedFields);
        found.push(ChangeRow { by: manager.to_owned(), author: Some(author), fields: named, ..row });
    }
    if let Some(created) = created.filter(|created| *created >= since && !is_creation_recorded) {
        // A later apply replaces the time of the first one. Flux created an object if only Flux writes it.
        let writers =
            managed_fields::entries(object).iter().filter(|entry| fields::text(entry, "/subresource") != "status");
        let mut managers = writers.map(|entry| fields::text(entry, "/manager")).peekable();
        let by = managers.peek().map(|manager| (*manager).to_owned()).unwrap_or_default();
        let created = row(created, ChangeAction::Created, ChangeSource::Metadata);
        found.push(match !by.is_empty() && managers.all(|manager| Author::of(manager) == Author::Flux) {
            true => ChangeRow { by, author: Some(Author::Flux), ..created },
            false => created,
        });
    }
    if let Some(requested) = fields::time(object, "/metadata/deletionTimestamp").filter(|at| *at >= since) {
        let message = "deletion was requested".to_owned();
        found.push(ChangeRow { message, ..row(requested, ChangeAction::Deleted, ChangeSource::Metadata) });
    }
}

/// Whether a field only requests a reconciliation.
fn is_request(path: &str) -> bool {
    let requests =
        [well_known::REQUESTED_AT_ANNOTATION, well_known::FORCE_AT_ANNOTATION, well_known::RESET_AT_ANNOTATION];
    path.strip_prefix("metadata.annotations").is_some_and(|key| {
        let key = key.trim_start_matches('.');
        // The manager that adds the first annotation also owns the map.
        key.is_empty() || requests.contains(&key)
    })
}

/// Adds the configurations that a history records since then. A HelmRelease's history is about releases.
fn reconciled(object: &Value, since: Timestamp, found: &mut Vec<ChangeRow>) {
    let id = ObjectId::of(object);
    if id.group == HELM_GROUP {
        return;
    }
    for entry in fields::items(object, "/status/history") {
        let Some(at) = fields::time(entry, "/firstReconciled").filter(|at| *at >= since) else { continue };
        let metadata = entry.get("metadata").and_then(Value::as_object).into_iter().flatten();
        let revision = metadata.filter_map(|(_, value)| value.as_str()).next();
        let revision = revision.unwrap_or(fields::text(entry, "/digest"));
        found.push(ChangeRow {
            at,
            by: controller_of(&id).to_owned(),
            author: Some(Author::Flux),
            action: ChangeAction::Reconciled,
            object: id.clone(),
            fields: vec![],
            message: format!("{revision}: {}", fields::text(entry, "/lastReconciledStatus")),
            evidence: ChangeSource::Status,
        });
    }
}

/// Adds a source's artifact if it is new.
fn fetched(object: &Value, since: Timestamp, found: &mut Vec<ChangeRow>) {
    let Some(at) = fields::time(object, "/status/artifact/lastUpdateTime").filter(|at| *at >= since) else { return };
    let id = ObjectId::of(object);
    found.push(ChangeRow {
        at,
        by: controller_of(&id).to_owned(),
        author: Some(Author::Flux),
        action: ChangeAction::Fetched,
        object: id,
        fields: vec![],
        message: fields::text(object, "/status/artifact/revision").to_owned(),
        evidence: ChangeSource::Status,
    });
}

/// Returns the controller that reconciles a Flux kind.
fn controller_of(id: &ObjectId) -> &'static str {
    match id.group.as_str() {
        well_known::GROUP => well_known::OPERATOR_NAME,
        kinds::KUSTOMIZE_GROUP => "kustomize-controller",
        kinds::HELM_GROUP => "helm-controller",
        kinds::SOURCE_GROUP => "source-controller",
        kinds::SOURCE_EXTENSIONS_GROUP => "source-watcher",
        kinds::NOTIFICATION_GROUP => "notification-controller",
        kinds::IMAGE_GROUP if id.kind == "ImageUpdateAutomation" => "image-automation-controller",
        _ => "image-reflector-controller",
    }
}

/// A revision of a release.
type ReleaseKey = (String, String, i64);

/// Adds the revisions of releases: from Helm's storage, which also has manual ones, and from HelmReleases, which have
/// the charts.
fn released(snapshot: &Snapshot, namespace: Option<&str>, flux: &[&Value], since: Timestamp) -> Vec<ChangeRow> {
    let mut rows = vec![];
    let mut charts: BTreeMap<ReleaseKey, (ObjectId, String)> = BTreeMap::new();
    let mut owners: BTreeMap<(String, String), ObjectId> = BTreeMap::new();
    let mut of_status: BTreeMap<ReleaseKey, ChangeRow> = BTreeMap::new();
    for release in flux.iter().filter(|object| fields::group(object) == HELM_GROUP) {
        let id = ObjectId::of(release);
        for entry in fields::items(release, "/status/history") {
            let text = |pointer: &str| fields::text(entry, pointer).to_owned();
            let version = fields::number(entry, "/version").unwrap_or(0);
            let key = (text("/namespace"), text("/name"), version);
            let chart = format!("{}@{}", text("/chartName"), text("/chartVersion"));
            owners.insert((key.0.clone(), key.1.clone()), id.clone());
            if let Some(at) = fields::time(entry, "/lastDeployed").filter(|at| *at >= since) {
                let message = format!("{}/{} v{version}, chart {chart}: {}", key.0, key.1, text("/status"));
                let row = ChangeRow {
                    at,
                    by: "helm-controller".to_owned(),
                    author: Some(Author::Flux),
                    action: ChangeAction::Released,
                    object: id.clone(),
                    fields: vec![],
                    message,
                    evidence: ChangeSource::Status,
                };
                of_status.insert(key.clone(), row);
            }
            charts.insert(key, (id.clone(), chart));
        }
    }
    for stored in snapshot.list_labelled(&SECRET, namespace, HELM_STORAGE) {
        let Some(at) = fields::created(stored).filter(|at| *at >= since) else { continue };
        let label = |key: &str| fields::label(stored, key).unwrap_or_default().to_owned();
        let (name, status) = (label("name"), label("status"));
        let place = fields::namespace(stored).unwrap_or_default().to_owned();
        let version = label("version").parse().unwrap_or(0);
        let manager = managed_fields::entries(stored).first().map_or("", |entry| fields::text(entry, "/manager"));
        let key = (place, name, version);
        // The stored Secret also has the author.
        of_status.remove(&key);
        let known = charts.get(&key);
        // A revision made by hand is not in any status, but its release belongs to a HelmRelease.
        let owner = known.map(|(id, _)| id).or_else(|| owners.get(&(key.0.clone(), key.1.clone())));
        let chart = known.map(|(_, chart)| format!(", chart {chart}")).unwrap_or_default();
        rows.push(ChangeRow {
            at,
            by: manager.to_owned(),
            author: (!manager.is_empty()).then(|| Author::of(manager)),
            action: ChangeAction::Released,
            object: owner.cloned().unwrap_or_else(|| ObjectId::of(stored)),
            fields: vec![],
            message: format!("{}/{} v{version}{chart}: {status}", key.0, key.1),
            evidence: ChangeSource::HelmStorage,
        });
    }
    // Without the right to list Secrets, the status is the only record.
    rows.extend(of_status.into_values());
    rows
}

/// Reasons of events about a change that is recorded nowhere else, or about a failed attempt.
const ACTIONS_BY_EVENT_REASON: [(&str, ChangeAction); 10] = [
    ("NewArtifact", ChangeAction::Fetched),
    ("InstallFailed", ChangeAction::Reported),
    ("UpgradeFailed", ChangeAction::Reported),
    ("RollbackFailed", ChangeAction::Reported),
    ("TestFailed", ChangeAction::Reported),
    ("UninstallFailed", ChangeAction::Reported),
    ("UninstallSucceeded", ChangeAction::Deleted),
    ("DriftDetected", ChangeAction::Reported),
    ("DriftCorrected", ChangeAction::Changed),
    ("RolledBack", ChangeAction::Changed),
];

/// Returns the changes in an event of a Flux object: applied or pruned objects, or a change of the object itself.
fn changes_of_event(event: &Value) -> Vec<ChangeRow> {
    let row = events::EventRow::of(event);
    let is_flux = kinds::of(&row.object.group, &row.object.kind).is_some();
    let Some(at) = row.last_seen.filter(|_| is_flux) else { return vec![] };
    let change = |action: ChangeAction, object: ObjectId, message: String| ChangeRow {
        at,
        by: row.source.clone(),
        author: Some(Author::of(&row.source)),
        action,
        object,
        fields: vec![],
        message,
        evidence: ChangeSource::Event,
    };
    if let Some(applied) = change_set(&row.message) {
        let by = format!("through {}", row.object);
        return applied.into_iter().map(|(action, object)| change(action, object, by.clone())).collect();
    }
    let action = ACTIONS_BY_EVENT_REASON.iter().find(|(reason, _)| *reason == row.reason).map(|(_, action)| *action);
    let action = action.or_else(|| row.message.contains("pushed commit").then_some(ChangeAction::Changed));
    let first_line = row.message.lines().next().unwrap_or_default().to_owned();
    action.map(|action| change(action, row.object.clone(), first_line)).into_iter().collect()
}

/// Parses the lines about applied objects as Flux's controllers write them: `Deployment/apps/web configured`
/// (<https://fluxcd.io/flux/components/kustomize/kustomizations/#events>); `None` for any other text.
fn change_set(message: &str) -> Option<Vec<(ChangeAction, ObjectId)>> {
    let mut changes = vec![];
    for line in message.lines().filter(|line| !line.trim().is_empty()) {
        let (subject, word) = line.trim().split_once(' ')?;
        let parts: Vec<&str> = subject.split('/').collect();
        let (kind, namespace, name) = match parts.as_slice() {
            [kind, namespace, name] => (*kind, Some(*namespace), *name),
            [kind, name] => (*kind, None, *name),
            _ => return None,
        };
        let action = match word {
            "created" => ChangeAction::Created,
            "configured" => ChangeAction::Changed,
            "deleted" => ChangeAction::Deleted,
            "unchanged" | "skipped" | "unknown" => continue,
            _ => return None,
        };
        let group = kinds::find_resource_type(kind).map(|resource| resource.group.to_string()).unwrap_or_default();
        changes.push((action, ObjectId::new(&group, kind, namespace, name)));
    }
    (!message.trim().is_empty()).then_some(changes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const NOON: &str = "2026-11-22T12:00:00Z";

    fn kustomization(entries: Value, managed: Value, status: Value) -> Value {
        let mut status = status;
        status["inventory"] = json!({"entries": entries});
        json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
            "metadata": {"name": "app", "namespace": "apps", "creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": managed},
            "status": status})
    }

    fn entry(manager: &str, time: &str, fields: Value) -> Value {
        json!({"manager": manager, "operation": "Update", "time": time, "fieldsV1": fields})
    }

    fn event(name: &str, kind: (&str, &str, &str), reason: &str, message: &str, at: &str) -> Value {
        let (api_version, kind, component) = kind;
        json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": name, "namespace": "apps"}, "lastTimestamp": at,
            "involvedObject": {"apiVersion": api_version, "kind": kind, "namespace": "apps", "name": "app"},
            "source": {"component": component}, "type": "Normal", "reason": reason, "message": message})
    }

    const KS: (&str, &str, &str) = ("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "kustomize-controller");
    const HR: (&str, &str, &str) = ("helm.toolkit.fluxcd.io/v2", "HelmRelease", "helm-controller");
    const GIT: (&str, &str, &str) = ("source.toolkit.fluxcd.io/v1", "GitRepository", "source-controller");

    /// Formats `ACTION OBJECT by WHO (AUTHOR): what`, one line per change.
    fn lines(objects: Vec<Value>, namespace: Option<&str>) -> Vec<String> {
        let line = |row: &ChangeRow| {
            let author = row.author.map_or("unknown", Author::as_str);
            let what = if row.fields.is_empty() { row.message.clone() } else { row.fields.join(",") };
            format!("{} {} by {} ({author}): {what}", row.action.as_str(), row.object, row.by)
        };
        rows(&Snapshot::of_dump(objects), namespace, NOON.parse().unwrap()).iter().map(line).collect()
    }

    #[test]
    fn an_object_that_only_flux_writes_was_created_by_flux() {
        let object = |managed: Value| {
            json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": "app",
                "namespace": "apps", "creationTimestamp": "2026-11-22T12:01:00Z", "managedFields": managed}})
        };
        // A later apply has replaced the time of the first one.
        let flux = entry("kustomize-controller", "2026-11-22T12:09:00Z", json!({"f:spec": {}}));
        let person = entry("kubectl-edit", "2026-11-22T12:10:00Z", json!({"f:spec": {"f:path": {}}}));
        let created = |managed: Value| lines(vec![object(managed)], None).remove(0);
        assert_eq!(created(json!([flux])), "created Kustomization/apps/app by kustomize-controller (Flux): ");
        assert_eq!(created(json!([flux, person])), "created Kustomization/apps/app by  (unknown): ");
    }

    #[test]
    fn people_are_distinguished_from_flux_in_the_order_of_time_and_older_changes_are_left_out() {
        let object = kustomization(
            json!([{"id": "apps_web_apps_Deployment", "v": "v1"}]),
            json!([
                entry("gotk-kustomize-controller", "2026-11-22T12:09:00Z", json!({"f:metadata": {"f:finalizers": {}}})),
                entry(
                    "flux",
                    "2026-11-22T12:01:00Z",
                    json!({"f:metadata": {"f:annotations": {"f:reconcile.fluxcd.io/requestedAt": {}}}})
                ),
                entry("kubectl-edit", "2026-11-22T11:59:59Z", json!({"f:spec": {"f:path": {}}})),
            ]),
            json!({"history": [
                {"digest": "sha256:b", "firstReconciled": "2026-11-22T12:03:00Z", "lastReconciledStatus": "HealthCheckFailed",
                 "metadata": {"revision": "main@sha1:b"}},
                {"digest": "sha256:a", "firstReconciled": "2026-11-20T12:03:00Z", "lastReconciledStatus": "ReconciliationSucceeded"}]}),
        );
        let web = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "apps", "creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": [
                entry("kustomize-controller", "2026-11-22T12:02:00Z", json!({"f:spec": {"f:template": {}}})),
                {"manager": "kubectl", "operation": "Update", "subresource": "scale", "time": "2026-11-22T12:04:00Z",
                 "fieldsV1": {"f:spec": {"f:replicas": {}}}},
                {"manager": "kube-controller-manager", "operation": "Update", "subresource": "status", "time": "2026-11-22T12:05:00Z"}]}});
        let foreign = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "not-flux", "namespace": "apps",
            "managedFields": [entry("kubectl", "2026-11-22T12:02:00Z", json!({}))]}});
        assert_eq!(
            lines(vec![object, web, foreign], None),
            [
                "requested Kustomization/apps/app by flux (other): metadata.annotations.reconcile.fluxcd.io/requestedAt",
                "changed Deployment/apps/web by kustomize-controller (Flux): ",
                "reconciled Kustomization/apps/app by kustomize-controller (Flux): main@sha1:b: HealthCheckFailed",
                "scaled Deployment/apps/web by kubectl (other): spec.replicas",
                "changed Kustomization/apps/app by gotk-kustomize-controller (Flux): ",
            ]
        );
    }

    #[test]
    fn pruned_objects_are_listed_from_events_and_listed_once() {
        let web = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "apps",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "managedFields": [entry("kustomize-controller", "2026-11-22T12:02:01Z", json!({}))]}});
        let owner = kustomization(json!([{"id": "apps_web_apps_Deployment", "v": "v1"}]), json!([]), json!({}));
        let applied = "Deployment/apps/web configured\nNamespace/apps unchanged\nConfigMap/apps/old deleted\n";
        let objects = vec![
            web,
            owner,
            event("a", KS, "Progressing", applied, "2026-11-22T12:02:02Z"),
            event("b", KS, "ReconciliationSucceeded", "Reconciliation finished in 2s", "2026-11-22T12:02:03Z"),
            event("c", HR, "UpgradeFailed", "Helm upgrade failed: no\nmore", "2026-11-22T12:03:00Z"),
            event("d", KS, "Progressing", applied, "2026-11-22T11:02:02Z"),
        ];
        assert_eq!(
            lines(objects, Some("apps")),
            [
                "changed Deployment/apps/web by kustomize-controller (Flux): ",
                "deleted ConfigMap/apps/old by kustomize-controller (Flux): through Kustomization/apps/app",
                "reported HelmRelease/apps/app by helm-controller (Flux): Helm upgrade failed: no",
            ]
        );
    }

    #[test]
    fn a_manual_release_is_listed_with_those_that_flux_made() {
        let stored = |version: u32, manager: &str, at: &str| {
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": format!("sh.helm.release.v1.app.v{version}"),
                "namespace": "apps", "creationTimestamp": at, "managedFields": [{"manager": manager, "operation": "Update", "time": at}],
                "labels": {"owner": "helm", "name": "app", "status": "deployed", "version": version.to_string()}}})
        };
        let history = |version: u32, at: &str| {
            json!({"name": "app", "namespace": "apps", "version": version, "chartName": "app", "chartVersion": "1.0.0",
            "status": "superseded", "lastDeployed": at})
        };
        let release = json!({"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "metadata": {"name": "hr", "namespace": "apps"},
            "status": {"history": [history(2, "2026-11-22T12:02:00Z"), history(1, "2026-11-22T12:01:00Z")]}});
        let objects = vec![
            release,
            stored(2, "helm-controller", "2026-11-22T12:02:00Z"),
            stored(3, "helm", "2026-11-22T12:03:00Z"),
            event("x", GIT, "NewArtifact", "stored artifact for commit 'Fix'", "2026-11-22T12:00:30Z"),
            json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": {"name": "app", "namespace": "apps"},
                "status": {"artifact": {"revision": "main@sha1:a", "lastUpdateTime": "2026-11-22T12:00:29Z"}}}),
        ];
        assert_eq!(
            lines(objects, None),
            [
                "fetched GitRepository/apps/app by source-controller (Flux): stored artifact for commit 'Fix'",
                "released HelmRelease/apps/hr by helm-controller (Flux): apps/app v1, chart app@1.0.0: superseded",
                "released HelmRelease/apps/hr by helm-controller (Flux): apps/app v2, chart app@1.0.0: deployed",
                "released HelmRelease/apps/hr by helm (other): apps/app v3: deployed",
            ]
        );
    }

    #[test]
    fn only_lines_of_objects_are_a_change_set() {
        assert_eq!(change_set("Health check passed in 2s"), None);
        assert_eq!(change_set(""), None);
        assert_eq!(change_set("a/b/c/d created"), None);
        assert_eq!(change_set("Service/apps/web created").unwrap().len(), 1);
    }
}
