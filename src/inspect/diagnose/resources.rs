//! `get resources`: a row per Flux object of any kind, from the few fields that a row needs.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use crate::api::kinds::FluxKind;
use crate::api::well_known;
use crate::inspect::diagnose::health::HealthVerdict;
use crate::inspect::diagnose::why::{RowJudge, RowVerdict};
use crate::inspect::read::flux_object::FluxObject;
use crate::inspect::read::snapshot::Snapshot;
use crate::k8s::fields;

impl FluxObject {
    /// Judges an object of a cluster by the fields that were read; `None` if its own report is enough.
    pub fn judge(&self, kind: &'static FluxKind, judge: &mut RowJudge<'_>) -> Option<RowVerdict> {
        let is_ready = match self.condition(well_known::condition::READY) {
            Some(ready) => ready.status == "True" && self.is_observed(),
            None => !self.becomes_ready(kind),
        };
        // A ready Kustomization may be behind its source.
        let is_plain = is_ready
            && kind.kind != "Kustomization"
            && self.metadata.deletion_timestamp.is_none()
            && self.condition(well_known::condition::STALLED).is_none_or(|stalled| stalled.status != "True");
        // Most rows end here, so that thousands of rows need no further work.
        if self.is_suspended(kind) || (is_plain && judge.is_served(kind)) {
            return None;
        }
        judge.object(kind, &as_value(kind, self))
    }
}

/// Returns the fields of an object that decide whether its report is up to date, and those that name its source.
fn as_value(kind: &FluxKind, object: &FluxObject) -> Value {
    let (ready, stalled) = (well_known::condition::READY, well_known::condition::STALLED);
    let condition = |name: &str| {
        let condition = object.condition(name)?;
        let mut value = json!({"type": name, "status": condition.status, "reason": condition.reason,
            "message": condition.message});
        if let Some(observed) = condition.observed_generation {
            value["observedGeneration"] = observed.into();
        }
        Some(value)
    };
    let conditions: Vec<Value> = [ready, stalled].into_iter().filter_map(condition).collect();
    let FluxObject { metadata, spec, status } = object;
    let source = spec
        .source_ref
        .as_ref()
        .map(|source| json!({"kind": source.kind, "name": source.name, "namespace": source.namespace}));
    let requested = metadata.annotations.as_ref().and_then(|all| all.requested_at.as_deref());
    let mut value = json!({"apiVersion": format!("{}/v1", kind.group), "kind": kind.kind,
        "metadata": {"name": metadata.name, "namespace": metadata.namespace, "labels": metadata.labels,
            "generation": metadata.generation, "annotations": {well_known::REQUESTED_AT_ANNOTATION: requested}},
        "spec": {"type": spec.kind, "sourceRef": source, "interval": spec.interval, "timeout": spec.timeout},
        "status": {"observedGeneration": status.observed_generation, "conditions": conditions,
            "lastHandledReconcileAt": status.last_handled_reconcile_at,
            "lastAppliedRevision": status.last_applied_revision}});
    // An object is being deleted when it has the field at all.
    if let Some(requested) = metadata.deletion_timestamp {
        value["metadata"]["deletionTimestamp"] = requested.to_string().into();
    }
    value
}

/// A Flux object as a row of a list.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceRow {
    pub kind: &'static str,
    pub namespace: String,
    pub name: String,
    /// `True`, `False`, `Unknown` or `Suspended`.
    pub ready: String,
    /// `True`, `False` or `Unknown`, of an object that is suspended as well.
    #[serde(skip)]
    pub reported: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Time of the last change of readiness.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub last_reconciled: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub created: Option<Timestamp>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    #[serde(skip)]
    pub labels: BTreeMap<String, String>,
    #[serde(skip)]
    pub group: &'static str,
    #[serde(skip)]
    pub plural: &'static str,
}

impl ResourceRow {
    pub fn new(kind: &'static FluxKind, object: FluxObject) -> Self {
        let ready = object.condition(well_known::condition::READY).cloned();
        let has_status = object.becomes_ready(kind) || object.status.conditions.is_some();
        let (status, message) = match (&ready, object.is_suspended(kind)) {
            _ if object.metadata.deletion_timestamp.is_some() => {
                ("Unknown".to_owned(), fields::BEING_DELETED.to_owned())
            }
            (Some(ready), true) => ("Suspended".to_owned(), ready.message.clone()),
            (None, true) => ("Suspended".to_owned(), String::new()),
            (Some(ready), false) if ready.status == "True" && !object.is_observed() => {
                ("Unknown".to_owned(), fields::CHANGED_SINCE.to_owned())
            }
            (Some(ready), false) => (ready.status.clone(), ready.message.clone()),
            (None, false) if has_status => ("Unknown".to_owned(), HealthVerdict::NotStarted.as_str().to_owned()),
            (None, false) => ("True".to_owned(), String::new()),
        };
        ResourceRow {
            kind: kind.kind,
            reported: match ready.as_ref().map(|ready| ready.status.as_str()) {
                Some("True") => "True",
                Some("False") => "False",
                _ => "Unknown",
            },
            ready: status,
            reason: ready.as_ref().map(|c| c.reason.clone()).unwrap_or_default(),
            revision: object.revision(),
            last_reconciled: ready.as_ref().and_then(|c| c.last_transition_time),
            source: object.source(),
            created: object.metadata.creation_timestamp,
            message: message.trim().to_owned(),
            labels: object.metadata.labels.unwrap_or_default(),
            namespace: object.metadata.namespace,
            name: object.metadata.name,
            group: kind.group,
            plural: kind.plural,
        }
    }

    /// Corrects the row by the verdict of `why`, if the report of the object says something else.
    #[must_use]
    pub fn judged(mut self, verdict: Option<RowVerdict>) -> Self {
        if let Some(verdict) = verdict {
            verdict.correct(&mut self.ready, &mut self.reason, &mut self.message);
        }
        self
    }
}

/// Returns the rows of a kind, by namespace and name.
pub fn rows(snapshot: &Snapshot, kind: &'static FluxKind, namespace: Option<&str>) -> Vec<ResourceRow> {
    let objects = snapshot.list(&kind.resource_type(), namespace);
    objects.into_iter().map(|object| ResourceRow::new(kind, FluxObject::of(object))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::kinds;
    use serde_json::json;

    fn row(kind: &str, object: Value) -> ResourceRow {
        ResourceRow::new(kinds::find(kind).unwrap(), FluxObject::of(&object))
    }

    #[test]
    fn a_row_has_ready_revision_and_message() {
        let row = row(
            "gitrepo",
            json!({"metadata": {"name": "a", "namespace": "apps", "labels": {"team": "x"}},
                "spec": {"url": "https://example.com/a"},
                "status": {"artifact": {"revision": "main@sha1:abc", "size": 1},
                    "conditions": [{"type": "Ready", "status": "False", "reason": "GitOperationFailed",
                        "message": "no\n", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}),
        );
        assert_eq!((row.ready.as_str(), row.message.as_str()), ("False", "no"));
        assert_eq!(row.revision.as_deref(), Some("main@sha1:abc"));
        assert_eq!(row.source.as_deref(), Some("https://example.com/a"));
        assert!(row.last_reconciled.is_some());
    }

    #[test]
    fn kinds_without_status_are_ready_and_others_not_initialized() {
        assert_eq!(row("provider", json!({"metadata": {"name": "p"}})).ready, "True");
        assert_eq!(row("helmrepo", json!({"metadata": {"name": "p"}, "spec": {"type": "oci"}})).ready, "True");
        assert_eq!(row("helmrepo", json!({"metadata": {"name": "p"}, "spec": {"type": "default"}})).ready, "Unknown");
        let ks = row("ks", json!({"metadata": {"name": "p"}}));
        assert_eq!((ks.ready.as_str(), ks.message.as_str()), ("Unknown", "not started"));
    }

    #[test]
    fn suspension_is_shown_with_the_last_message() {
        let row = row(
            "ks",
            json!({"metadata": {"name": "p"}, "spec": {"suspend": true},
                "status": {"conditions": [{"type": "Ready", "status": "True", "message": "Applied"}]}}),
        );
        assert_eq!((row.ready.as_str(), row.message.as_str()), ("Suspended", "Applied"));
    }

    #[test]
    fn an_object_of_odd_types_still_makes_a_row() {
        let row = row(
            "ks",
            json!({"metadata": {"name": "p"}, "spec": {"suspend": "yes", "url": 3},
                "status": {"conditions": "none", "history": {"a": 1}, "artifact": []}}),
        );
        assert_eq!((row.name.as_str(), row.ready.as_str()), ("p", "Unknown"));
    }

    fn controller(name: &str, replicas: i64, args: Value) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "fs",
                "labels": {"app.kubernetes.io/part-of": "flux"}},
            "spec": {"replicas": replicas, "template": {"spec": {"containers": [{"args": args}]}}},
            "status": {"readyReplicas": replicas, "replicas": replicas, "updatedReplicas": replicas,
                "availableReplicas": replicas}})
    }

    fn ready_ks(labels: Value) -> Value {
        json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
            "metadata": {"name": "app", "namespace": "apps", "generation": 1, "labels": labels}, "spec": {},
            "status": {"observedGeneration": 1, "conditions": [{"type": "Ready", "status": "True", "reason": "X",
                "message": "Applied"}]}})
    }

    /// READY and MESSAGE of a row whose object is not loaded, as of a cluster.
    fn shown(controllers: Vec<Value>, object: &Value) -> (String, String) {
        // Something that is not the listed kind, so that the objects themselves are unknown.
        let snapshot = Snapshot::of_dump(controllers);
        let kind = kinds::find("ks").unwrap();
        let mut judge = RowJudge::new(&snapshot, &[kind], None, "2026-01-01T00:00:00Z".parse().unwrap());
        let object = FluxObject::of(object);
        let verdict = object.judge(kind, &mut judge);
        let row = ResourceRow::new(kind, object).judged(verdict);
        (row.ready, row.message)
    }

    #[test]
    fn a_row_with_a_missing_controller_fails_and_says_so() {
        let message_of = |controllers| shown(controllers, &ready_ks(json!({})));
        let is = |ready: &str, message: &str| (ready.to_owned(), message.to_owned());
        assert_eq!(message_of(vec![controller("kustomize-controller", 1, json!([]))]), is("True", "Applied"));
        assert_eq!(message_of(vec![]), is("True", "Applied"), "controllers are unknown");
        assert_eq!(
            message_of(vec![controller("kustomize-controller", 0, json!([]))]),
            is("False", "kustomize-controller is scaled to zero")
        );
        assert_eq!(
            message_of(vec![controller("source-controller", 1, json!([]))]),
            is("False", "kustomize-controller is not installed")
        );
    }

    #[test]
    fn a_row_of_a_shard_is_judged_by_the_controller_of_the_shard() {
        let main = controller("kustomize-controller", 1, json!(["--watch-label-selector=!sharding.fluxcd.io/key"]));
        let shard = |replicas| {
            let args = json!(["--watch-label-selector=sharding.fluxcd.io/key in (a)"]);
            controller("kustomize-controller-a", replicas, args)
        };
        let object = ready_ks(json!({"sharding.fluxcd.io/key": "a"}));
        assert_eq!(shown(vec![main.clone(), shard(1)], &object).0, "True");
        assert_eq!(shown(vec![main.clone(), shard(0)], &object).0, "False");
        assert_eq!(shown(vec![main, shard(0)], &ready_ks(json!({}))).0, "True");
    }

    #[test]
    fn a_row_that_is_suspended_deleted_or_stalled_is_judged_by_its_own_fields() {
        let well = || vec![controller("kustomize-controller", 1, json!([]))];
        let mut object = ready_ks(json!({}));
        object["spec"]["suspend"] = true.into();
        assert_eq!(shown(vec![controller("kustomize-controller", 0, json!([]))], &object).0, "Suspended");
        let mut object = ready_ks(json!({}));
        object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        assert_eq!(shown(well(), &object), ("False".to_owned(), fields::BEING_DELETED.to_owned()));
        let mut object = ready_ks(json!({}));
        let stalled = json!({"type": "Stalled", "status": "True", "reason": "Gone", "message": "gave up"});
        object["status"]["conditions"].as_array_mut().unwrap().push(stalled);
        assert_eq!(shown(well(), &object), ("False".to_owned(), "gave up".to_owned()));
    }
}
