//! `get instance` and `get history`.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use crate::api::kinds;
use crate::api::well_known::condition::READY;
use crate::format::age::short_age;
use crate::inspect::diagnose::health::HealthVerdict;
use crate::inspect::diagnose::why::RowVerdict;
use crate::k8s::fields;

/// A FluxInstance.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstanceRow {
    pub namespace: String,
    pub name: String,
    /// Flux version of the last applied revision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Version range in the spec.
    pub range: String,
    pub registry: String,
    /// Number of objects in the inventory.
    pub resources: usize,
    /// `True`, `False`, `Unknown` or `Suspended`.
    pub ready: String,
    pub reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub last_reconciled: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub created: Option<Timestamp>,
    pub message: String,
}

impl InstanceRow {
    pub fn of(instance: &Value) -> Self {
        let ready = fields::condition(instance, READY);
        let revision = fields::some_text(instance, "/status/lastAppliedRevision");
        let newest = fields::items(instance, "/status/history").first();
        InstanceRow {
            namespace: fields::namespace(instance).unwrap_or_default().into(),
            name: fields::name(instance).into(),
            version: revision.map(|r| r.split('@').next().unwrap_or(r).to_owned()),
            revision: revision.map(Into::into),
            range: fields::text(instance, "/spec/distribution/version").into(),
            registry: fields::text(instance, "/spec/distribution/registry").into(),
            resources: fields::items(instance, "/status/inventory/entries").len(),
            ready: kinds::ready_word(instance).into(),
            reason: ready.map_or("", |c| c.reason()).into(),
            // The condition changes only when readiness does, the history with every run.
            last_reconciled: newest
                .and_then(|h| fields::time(h, "/lastReconciled"))
                .or_else(|| ready.and_then(|c| c.changed())),
            created: fields::created(instance),
            message: match ready {
                _ if fields::is_being_deleted(instance) => fields::BEING_DELETED.into(),
                Some(ready) if ready.is_true() && !fields::is_observed(instance) => fields::CHANGED_SINCE.into(),
                Some(ready) => ready.message().into(),
                None => HealthVerdict::NotStarted.as_str().into(),
            },
        }
    }

    /// Corrects the row by the verdict of `why`, if the report of the instance says something else.
    #[must_use]
    pub fn judged(mut self, verdict: Option<RowVerdict>) -> Self {
        if let Some(verdict) = verdict {
            verdict.correct(&mut self.ready, &mut self.reason, &mut self.message);
        }
        self
    }

    /// Describes the instance in a sentence. For a suspended instance the age is that of its last run, not of the
    /// suspension; an instance that `is_failing` may have reported Ready before.
    pub fn describe(&self, is_failing: bool, now: Timestamp) -> String {
        let age = self.last_reconciled.map(|at| format!("{} ago", short_age(at, now)));
        let stands = match (self.ready.as_str(), age) {
            ("Suspended", Some(age)) => format!("suspended; last run {age}"),
            ("Suspended", None) => "suspended".to_owned(),
            ("True", Some(age)) if is_failing => format!("failing; last run {age}"),
            (ready, Some(age)) => format!("Ready is {ready}, {age}"),
            (ready, None) => format!("Ready is {ready}"),
        };
        format!("{stands}: {}", self.message)
    }
}

/// A configuration in an instance's history.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HistoryRow {
    /// Digest of the build, or of the spec when the build failed.
    pub digest: String,
    /// Flux version; missing when none was selected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub first_reconciled: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub last_reconciled: Option<Timestamp>,
    /// Number of input sets; missing except for a ResourceSet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inputs: Option<i64>,
    /// Number of objects; missing except for a ResourceSet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<i64>,
    /// Duration of the last run in Go's notation.
    pub duration: String,
    /// Reason of the last run, such as `ReconciliationSucceeded`.
    pub status: String,
    /// Number of runs with this digest and status.
    pub total: i64,
    /// Whether the instance can go back to this revision; missing for other owners.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollback: Option<RollbackAnswer>,
}

/// Whether `rollback` can go back to a revision.
#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RollbackAnswer {
    /// Missing if it cannot be determined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub possible: Option<bool>,
    /// Why it is not possible or not known, or what it would lose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl RollbackAnswer {
    /// An answer that rules it out.
    pub(crate) fn no(reason: impl Into<String>) -> Self {
        RollbackAnswer { possible: Some(false), reason: Some(reason.into()) }
    }

    /// An unknown answer, with the reason.
    pub fn unknown(reason: impl Into<String>) -> Self {
        RollbackAnswer { possible: None, reason: Some(reason.into()) }
    }

    /// An answer that allows it; the reason says what would be lost.
    pub(crate) fn yes(reason: Option<String>) -> Self {
        RollbackAnswer { possible: Some(true), reason }
    }

    /// `yes`, `no: not kept`, `unknown: …`
    pub fn in_words(&self) -> String {
        let word = match self.possible {
            Some(true) => "yes",
            Some(false) => "no",
            None => "unknown",
        };
        match &self.reason {
            Some(reason) => format!("{word}: {reason}"),
            None => word.to_owned(),
        }
    }
}

/// Returns the history of an instance (or of any Flux object that has one), newest first.
pub fn history(instance: &Value) -> Vec<HistoryRow> {
    let mut rows: Vec<_> = fields::items(instance, "/status/history")
        .iter()
        .map(|entry| HistoryRow {
            digest: fields::text(entry, "/digest").into(),
            version: fields::some_text(entry, "/metadata/flux").map(Into::into),
            inputs: fields::some_text(entry, "/metadata/inputs").and_then(|count| count.parse().ok()),
            resources: fields::some_text(entry, "/metadata/resources").and_then(|count| count.parse().ok()),
            first_reconciled: fields::time(entry, "/firstReconciled"),
            last_reconciled: fields::time(entry, "/lastReconciled"),
            duration: fields::text(entry, "/lastReconciledDuration").into(),
            status: fields::text(entry, "/lastReconciledStatus").into(),
            total: fields::number(entry, "/totalReconciliations").unwrap_or_default(),
            rollback: None,
        })
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.last_reconciled));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn instance() -> Value {
        json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
            "metadata": {"name": "flux", "namespace": "flux-system", "generation": 1},
            "spec": {"distribution": {"version": "2.x", "registry": "ghcr.io/fluxcd"}},
            "status": {"lastAppliedRevision": "v2.9.4@sha256:7cf51a8404dd",
                "conditions": [{"type": "Ready", "status": "True", "reason": "ReconciliationSucceeded",
                    "message": "Reconciliation finished in 1s", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
                "inventory": {"entries": [{"id": "_a__Namespace", "v": "v1"}]},
                "history": [
                    {"digest": "sha256:1111111111", "lastReconciled": "2026-01-01T00:00:00Z",
                     "firstReconciled": "2026-01-01T00:00:00Z", "lastReconciledDuration": "1.338853207s",
                     "lastReconciledStatus": "ReconciliationSucceeded", "totalReconciliations": 3, "metadata": {"flux": "v2.9.3"}},
                    {"digest": "sha256:2222222222", "lastReconciled": "2026-01-02T00:00:00Z",
                     "firstReconciled": "2026-01-02T00:00:00Z", "lastReconciledDuration": "431ms",
                     "lastReconciledStatus": "BuildFailed", "totalReconciliations": 1}]}})
    }

    #[test]
    fn an_instance_shows_version_count_and_message() {
        let row = InstanceRow::of(&instance());
        assert_eq!(row.version.as_deref(), Some("v2.9.4"));
        assert_eq!((row.resources, row.ready.as_str()), (1, "True"));
        assert_eq!(row.message, "Reconciliation finished in 1s");
        let mut changed = instance();
        changed["metadata"]["generation"] = 2.into();
        changed["status"]["conditions"][0]["observedGeneration"] = 1.into();
        assert_eq!(InstanceRow::of(&changed).message, fields::CHANGED_SINCE);
    }

    #[test]
    fn the_age_of_a_suspended_instance_is_that_of_its_last_run() {
        let says = |object: &Value| InstanceRow::of(object).describe(false, "2026-01-04T00:00:00Z".parse().unwrap());
        let mut suspended = instance();
        assert_eq!(says(&suspended), "Ready is True, 3d ago: Reconciliation finished in 1s");
        let failing = InstanceRow::of(&suspended).describe(true, "2026-01-04T00:00:00Z".parse().unwrap());
        assert_eq!(failing, "failing; last run 3d ago: Reconciliation finished in 1s");
        suspended["metadata"]["annotations"] = json!({"fluxcd.controlplane.io/reconcile": "disabled"});
        assert_eq!(says(&suspended), "suspended; last run 3d ago: Reconciliation finished in 1s");
        suspended["status"] = Value::Null;
        assert_eq!(says(&suspended), "suspended: not started");
    }

    #[test]
    fn an_instance_without_status_is_unknown() {
        let row = InstanceRow::of(&json!({"metadata": {"name": "flux"}}));
        assert_eq!((row.ready.as_str(), row.message.as_str()), ("Unknown", "not started"));
        assert_eq!(row.last_reconciled, None);
    }

    #[test]
    fn history_is_newest_first() {
        let rows = history(&instance());
        assert_eq!(rows[0].status, "BuildFailed");
        assert_eq!(rows[1].version.as_deref(), Some("v2.9.3"));
    }
}
