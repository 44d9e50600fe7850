//! `report`: an incident's whole information as one value. Pure; the front end draws it.

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde_json::Value;

use crate::api::field_managers::Author;
use crate::api::kinds::{self, FLUX_KINDS, HELM_GROUP, INSTANCE};
use crate::api::well_known::condition::READY;
use crate::api::well_known::{self, reason};
use crate::inspect::diagnose::next_step::{HasNextSteps, NextStep};
use crate::inspect::diagnose::status::{StatusOptions, StatusView, status};
use crate::inspect::diagnose::why::{Overview, overview};
use crate::inspect::incident::redact::{plain_address, shareable_text};
use crate::inspect::read::snapshot::Snapshot;
use crate::inspect::views::changes;
use crate::inspect::views::changes::ChangeRow;
use crate::inspect::views::components;
use crate::inspect::views::components::ComponentRow;
use crate::inspect::views::events;
use crate::inspect::views::events::EventRow;
use crate::inspect::views::inventory;
use crate::inspect::views::inventory::InventoryRow;
use crate::inspect::views::tree;
use crate::inspect::views::tree::{TreeNode, TreeOptions};
use crate::k8s::{ObjectId, fields};

/// Limit for objects with a drawn history: those with the newest changes.
const MAX_HISTORIES: usize = 24;
/// Period before the first failure for which changes are shown.
const PERIOD_BEFORE_FAILURE: SignedDuration = SignedDuration::from_hours(2);
/// Limit for the listed events, newest first.
const MAX_EVENTS: usize = 500;

/// The state of an installation.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Page {
    /// The cluster or file.
    pub place: String,
    /// Namespace of the instance.
    pub namespace: String,
    /// Version of the program that made it.
    pub client: String,
    /// Since when something has failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub failing_since: Option<Timestamp>,
    #[schemars(with = "String")]
    pub at: Timestamp,
    pub status: StatusView,
    pub causes: Overview,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tree: Option<TreeNode>,
    pub components: Vec<ComponentRow>,
    pub inventory: Vec<InventoryRow>,
    /// Why drift of fields is unknown, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without_drift: Option<String>,
    /// The instance first, then the objects with the newest changes.
    pub histories: Vec<History>,
    /// Recent changes by people and other tools, oldest first.
    pub changes: Vec<ChangeRow>,
    /// Number of writes by Flux and Kubernetes in the same period.
    pub own_changes: usize,
    /// Oldest first.
    pub events: Vec<EventRow>,
    /// Number of older events that are not listed.
    pub older_events: usize,
}

/// The revisions to which an object was reconciled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct History {
    pub object: ObjectId,
    /// Oldest first.
    pub spans: Vec<Span>,
}

/// A configuration or release, from its first to its last reconciliation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Span {
    #[schemars(with = "String")]
    pub from: Timestamp,
    #[schemars(with = "String")]
    pub to: Timestamp,
    /// A version, revision or chart.
    pub revision: String,
    pub ok: bool,
    /// Its result, duration and count.
    pub outcome: String,
}

impl Page {
    /// Removes credentials from foreign texts: messages, evidence, revisions and arguments. The page may be sent to
    /// others.
    #[must_use]
    pub fn redacted(mut self) -> Self {
        let StatusView { operator, instance, controllers, sync, failures, .. } = &mut self.status;
        redact(&mut operator.message);
        if let Some(instance) = instance {
            redact(&mut instance.message);
            instance.registry = plain_address(&instance.registry);
        }
        controllers.iter_mut().filter_map(|row| row.message.as_mut()).for_each(redact);
        for row in sync.iter_mut().chain(failures) {
            redact(&mut row.message);
            row.revision.as_mut().into_iter().chain(row.source.as_mut()).for_each(redact);
        }
        for cause in self.causes.causes.iter_mut().map(|group| &mut group.cause) {
            redact(&mut cause.summary);
            cause.evidence.iter_mut().for_each(|evidence| redact(&mut evidence.text));
        }
        self.tree.as_mut().into_iter().for_each(redact_tree);
        for row in &mut self.components {
            redact(&mut row.status_message);
            row.extra_args.iter_mut().chain(&mut row.missing_args).for_each(redact);
        }
        self.inventory.iter_mut().for_each(|row| redact(&mut row.message));
        for span in self.histories.iter_mut().flat_map(|history| &mut history.spans) {
            redact(&mut span.revision);
            redact(&mut span.outcome);
        }
        self.events.iter_mut().for_each(|event| redact(&mut event.message));
        self.changes.iter_mut().for_each(|change| redact(&mut change.message));
        self
    }
}

impl HasNextSteps for Page {
    fn steps(&mut self) -> Vec<&mut NextStep> {
        let mut steps = self.status.steps();
        steps.extend(self.causes.steps());
        steps
    }
}

fn redact(text: &mut String) {
    *text = shareable_text(text);
}

fn redact_tree(node: &mut TreeNode) {
    redact(&mut node.message);
    node.children.iter_mut().for_each(redact_tree);
}

/// Inputs of a page.
#[derive(Clone, Copy, Debug)]
pub struct PageOptions<'a> {
    pub place: &'a str,
    /// Namespace of the instance.
    pub namespace: &'a str,
    /// Version of this program.
    pub client: &'a str,
    /// Flux versions of the embedded distribution.
    pub known: &'a [String],
    pub now: Timestamp,
    /// The instance's current build, or why it is unknown.
    pub desired: Result<&'a [Value], &'a str>,
}

/// Builds the page of an installation.
pub fn page(snapshot: &Snapshot, options: PageOptions<'_>) -> Page {
    let PageOptions { place, namespace, client, known, now, desired } = options;
    // Request schemas before any list of definitions, because the page shows their drift.
    snapshot.want_schemas();
    snapshot.want_managers();
    let instances = snapshot.list(&INSTANCE, Some(namespace));
    let instance = instances.first().copied();
    let filter = events::EventFilter::default();
    let mut reported: Vec<EventRow> = events::rows(snapshot, None, &filter).into_iter().map(|(row, _)| row).collect();
    let causes = overview(snapshot, None, now);
    let failing_since = failing_since(snapshot, &causes);
    let from =
        // The cluster's clock may be ahead of this one.
        [failing_since, Some(now)].into_iter().flatten().min().and_then(|at| at.checked_sub(PERIOD_BEFORE_FAILURE).ok());
    let all = changes::rows(snapshot, None, from.unwrap_or(Timestamp::MIN));
    let is_own = |row: &ChangeRow| matches!(row.author, Some(Author::Flux | Author::Kubernetes));
    let (own, changes): (Vec<ChangeRow>, Vec<ChangeRow>) = all.into_iter().partition(is_own);
    let older_events = reported.len().saturating_sub(MAX_EVENTS);
    reported.drain(..older_events);
    Page {
        place: place.to_owned(),
        namespace: namespace.to_owned(),
        client: client.to_owned(),
        failing_since,
        changes,
        own_changes: own.len(),
        at: now,
        status: status(snapshot, StatusOptions { namespace, client, known, now, desired: &|_| None }),
        causes,
        tree: instance.map(|instance| tree::instance(snapshot, instance, TreeOptions::default())),
        components: components::rows(snapshot, Some(namespace), &instances, |_| None),
        inventory: instance.map(|i| inventory::rows(snapshot, i, desired.ok())).unwrap_or_default(),
        without_drift: desired.err().map(str::to_owned).filter(|_| instance.is_some()),
        histories: histories(snapshot),
        events: reported,
        older_events,
    }
}

/// Returns when the first failing object began to fail: by the conditions, else by the evidence of the causes.
fn failing_since(snapshot: &Snapshot, causes: &Overview) -> Option<Timestamp> {
    let affected = causes.causes.iter().flat_map(|group| &group.affected);
    let changed = |id: &ObjectId| {
        let kind = kinds::of(&id.group, &id.kind)?;
        let object = snapshot.loaded(&kind.resource_type(), id.namespace()).find(|one| fields::name(one) == id.name)?;
        fields::condition(object, READY).filter(|ready| !ready.is_true())?.changed()
    };
    let evidence = causes.causes.iter().flat_map(|group| &group.cause.evidence);
    affected.filter_map(changed).min().or_else(|| evidence.filter_map(|evidence| evidence.at).min())
}

fn histories(snapshot: &Snapshot) -> Vec<History> {
    let objects = FLUX_KINDS.iter().flat_map(|kind| snapshot.list(&kind.resource_type(), None));
    let mut all: Vec<History> = objects
        .map(|object| History { object: ObjectId::of(object), spans: spans(object) })
        .filter(|history| !history.spans.is_empty())
        .collect();
    let newest = |history: &History| history.spans.iter().map(|span| span.from).max();
    all.sort_by_key(|history| (history.object.group != well_known::GROUP, std::cmp::Reverse(newest(history))));
    all.truncate(MAX_HISTORIES);
    all
}

fn spans(object: &Value) -> Vec<Span> {
    let is_release = fields::group(object) == HELM_GROUP;
    let entries = fields::items(object, "/status/history").iter();
    let mut spans: Vec<Span> =
        entries.filter_map(|entry| if is_release { release(entry) } else { configuration(entry) }).collect();
    spans.sort_by_key(|span| span.from);
    spans
}

fn configuration(entry: &Value) -> Option<Span> {
    let (from, to) = (fields::time(entry, "/firstReconciled")?, fields::time(entry, "/lastReconciled")?);
    let status = fields::text(entry, "/lastReconciledStatus");
    let revision = ["/metadata/flux", "/metadata/revision", "/digest"].into_iter();
    let took = fields::text(entry, "/lastReconciledDuration");
    let times = fields::number(entry, "/totalReconciliations").unwrap_or(1);
    Some(Span {
        from,
        to: to.max(from),
        revision: revision
            .filter_map(|pointer| fields::some_text(entry, pointer))
            .next()
            .unwrap_or_default()
            .to_owned(),
        ok: status == reason::RECONCILIATION_SUCCEEDED,
        outcome: format!("{status}, took {took}, {times} times"),
    })
}

fn release(entry: &Value) -> Option<Span> {
    let from = fields::time(entry, "/firstDeployed")?;
    let to = fields::time(entry, "/lastDeployed").unwrap_or(from);
    let status = fields::text(entry, "/status");
    let version = fields::number(entry, "/version").unwrap_or(0);
    Some(Span {
        // An upgraded release was first deployed in its first revision.
        from: to,
        to: to.max(from),
        revision: format!("{}@{}", fields::text(entry, "/chartName"), fields::text(entry, "/chartVersion")),
        // Only a release that was deployed can be superseded.
        ok: ["deployed", "superseded"].contains(&status),
        outcome: format!("v{version} {status}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_page_holds_histories_of_all_that_keep_one_the_instance_first() {
        let snapshot = Snapshot::of_dump([
            json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": "a", "namespace": "apps"},
                "status": {"history": [
                    {"digest": "sha256:b", "firstReconciled": "2026-11-22T10:00:00Z", "lastReconciled": "2026-11-22T11:00:00Z",
                     "lastReconciledStatus": "HealthCheckFailed", "lastReconciledDuration": "30s", "totalReconciliations": 2,
                     "metadata": {"revision": "main@sha1:b"}},
                    {"digest": "sha256:a", "firstReconciled": "2026-11-21T10:00:00Z", "lastReconciled": "2026-11-22T09:00:00Z",
                     "lastReconciledStatus": "ReconciliationSucceeded", "lastReconciledDuration": "1s"}]}}),
            json!({"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "metadata": {"name": "h", "namespace": "apps"},
                "status": {"history": [{"chartName": "c", "chartVersion": "1.0.0", "version": 2, "status": "failed",
                    "firstDeployed": "2026-11-20T10:00:00Z", "lastDeployed": "2026-11-22T10:30:00Z"}]}}),
            json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance", "metadata": {"name": "flux", "namespace": "fs"},
                "status": {"history": [{"digest": "sha256:i", "firstReconciled": "2026-11-01T10:00:00Z",
                    "lastReconciled": "2026-11-01T10:00:00Z", "lastReconciledStatus": "ReconciliationSucceeded"}]}}),
        ]);
        let now = "2026-11-22T12:00:00Z".parse().unwrap();
        let options = PageOptions { place: "x", namespace: "fs", client: "1.0.0", known: &[], now, desired: Err("no") };
        let page = page(&snapshot, options);
        let names: Vec<&str> = page.histories.iter().map(|history| history.object.name.as_str()).collect();
        assert_eq!(names, ["flux", "h", "a"]);
        let spans = &page.histories[2].spans;
        assert_eq!((spans[0].ok, spans[1].ok, spans[1].revision.as_str()), (true, false, "main@sha1:b"));
        assert_eq!(page.histories[1].spans[0].outcome, "v2 failed");
        assert_eq!(page.without_drift.as_deref(), Some("no"));
        assert!(page.tree.is_some());
    }
}
