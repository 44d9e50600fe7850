//! `get instance` and `get history`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::listing::{Cell, Column, Row};
use crate::api::kinds;
use crate::api::well_known::condition::READY;
use crate::k8s::fields;

/// One FluxInstance.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstanceRow {
    pub namespace: String,
    pub name: String,
    /// Flux version that runs, of the last applied revision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Range the version is picked from.
    pub range: String,
    pub registry: String,
    /// Objects in the inventory.
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
            last_reconciled: newest
                .and_then(|h| fields::time(h, "/lastReconciled"))
                .or_else(|| ready.and_then(|c| c.changed())),
            created: fields::created(instance),
            message: match fields::is_being_deleted(instance) {
                true => fields::BEING_DELETED.into(),
                false => ready.map_or("Not initialized", |c| c.message()).into(),
            },
        }
    }
}

impl Row for InstanceRow {
    const LIST_KIND: &'static str = "List";
    const COLUMNS: &'static [Column] = &[
        Column::NAMESPACE,
        Column::new("NAME"),
        Column::new("VERSION"),
        Column::new("RESOURCES").rank(2),
        Column::new("READY"),
        Column::new("LAST RECONCILED").rank(3),
        Column::wide("RANGE"),
        Column::wide("REVISION"),
        Column::wide("REGISTRY"),
        Column::wide("REASON"),
        Column::wide("AGE"),
        Column::new("MESSAGE"),
    ];

    fn cells(&self) -> Vec<Cell> {
        vec![
            Cell::text(&self.namespace),
            Cell::text(&self.name),
            Cell::some_text(self.version.as_deref()),
            Cell::Count(i64::try_from(self.resources).unwrap_or(i64::MAX)),
            Cell::text(&self.ready),
            Cell::since(self.last_reconciled),
            Cell::text(&self.range),
            Cell::revision(self.revision.as_deref()),
            Cell::text(&self.registry),
            Cell::text(&self.reason),
            Cell::since(self.created),
            Cell::message(&self.message),
        ]
    }

    fn name(&self) -> String {
        format!("fluxinstance.fluxcd.controlplane.io/{}", self.name)
    }
    fn namespace(&self) -> Option<&str> {
        Some(&self.namespace)
    }
    fn ready(&self) -> Option<&str> {
        Some(&self.ready)
    }
    fn labels(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }
}

/// One configuration an instance went through.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HistoryRow {
    /// Digest of what was built, or of the spec when building failed.
    pub digest: String,
    /// Flux version; absent when none was picked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub first_reconciled: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub last_reconciled: Option<Timestamp>,
    /// Go duration text of the last run.
    pub duration: String,
    /// Reason the last run ended with, such as `ReconciliationSucceeded`.
    pub status: String,
    /// Runs with this digest and status.
    pub total: i64,
}

impl Row for HistoryRow {
    const LIST_KIND: &'static str = "HistoryList";
    const COLUMNS: &'static [Column] = &[
        Column::new("REVISION"),
        Column::new("VERSION"),
        Column::new("FIRST").rank(3),
        Column::new("LAST"),
        Column::new("DURATION").rank(1),
        Column::new("TOTAL").rank(2),
        Column::new("STATUS"),
        Column::wide("DIGEST"),
    ];

    fn cells(&self) -> Vec<Cell> {
        vec![
            Cell::text(short_digest(&self.digest)),
            Cell::some_text(self.version.as_deref()),
            Cell::since(self.first_reconciled),
            Cell::since(self.last_reconciled),
            Cell::text(short_duration(&self.duration)),
            Cell::Count(self.total),
            Cell::text(&self.status),
            Cell::revision(Some(&self.digest)),
        ]
    }

    fn name(&self) -> String {
        self.digest.clone()
    }
    fn ready(&self) -> Option<&str> {
        Some(if self.status == crate::api::well_known::reason::RECONCILIATION_SUCCEEDED { "True" } else { "False" })
    }
}

/// The history of an instance (or of any Flux object that keeps one), newest first.
pub fn history(instance: &Value) -> Vec<HistoryRow> {
    let mut rows: Vec<_> = fields::items(instance, "/status/history")
        .iter()
        .map(|entry| HistoryRow {
            digest: fields::text(entry, "/digest").into(),
            version: fields::some_text(entry, "/metadata/flux").map(Into::into),
            first_reconciled: fields::time(entry, "/firstReconciled"),
            last_reconciled: fields::time(entry, "/lastReconciled"),
            duration: fields::text(entry, "/lastReconciledDuration").into(),
            status: fields::text(entry, "/lastReconciledStatus").into(),
            total: fields::number(entry, "/totalReconciliations").unwrap_or_default(),
        })
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.last_reconciled));
    rows
}

/// `sha256:7cf51a84` of a whole digest: enough to tell revisions of one list apart, as git shortens commits.
pub fn short_digest(digest: &str) -> String {
    match digest.split_once(':') {
        Some((algorithm, hex)) if hex.len() > 8 => format!("{algorithm}:{}", hex.chars().take(8).collect::<String>()),
        _ => digest.to_owned(),
    }
}

/// A Go duration without the digits nobody reads: `1.338853207s` becomes `1.34s`.
fn short_duration(text: &str) -> String {
    let Some(dot) = text.find('.') else { return text.to_owned() };
    let Some(unit) = text.get(dot + 1..).and_then(|t| t.find(|c: char| !c.is_ascii_digit())) else {
        return text.to_owned();
    };
    let unit = dot + 1 + unit;
    let whole_start = text.get(..dot).and_then(|t| t.rfind(|c: char| !c.is_ascii_digit())).map_or(0, |at| at + 1);
    match (text.get(..whole_start), text.get(whole_start..unit), text.get(unit..)) {
        (Some(before), Some(number), Some(after)) => match number.parse::<f64>() {
            Ok(number) => format!("{before}{number:.2}{after}"),
            Err(_) => text.to_owned(),
        },
        _ => text.to_owned(),
    }
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
    }

    #[test]
    fn an_instance_without_status_is_unknown() {
        let row = InstanceRow::of(&json!({"metadata": {"name": "flux"}}));
        assert_eq!((row.ready.as_str(), row.message.as_str()), ("Unknown", "Not initialized"));
        assert_eq!(row.last_reconciled, None);
    }

    #[test]
    fn history_is_newest_first() {
        let rows = history(&instance());
        assert_eq!(rows[0].status, "BuildFailed");
        assert_eq!(rows[1].version.as_deref(), Some("v2.9.3"));
    }

    #[test]
    fn digests_and_durations_are_shortened() {
        assert_eq!(short_digest("sha256:7cf51a8404dd421d"), "sha256:7cf51a84");
        assert_eq!(short_digest("abc"), "abc");
        assert_eq!(short_duration("1.338853207s"), "1.34s");
        assert_eq!(short_duration("1m2.5s"), "1m2.50s");
        assert_eq!(short_duration("431ms"), "431ms");
    }
}
