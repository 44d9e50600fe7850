//! Whether an instance can go back to a revision of its history, and why not. Pure.
//!
//! ```text
//! history ─┐
//! kept revisions ─┼─► other versions ─► stored versions, fields in use ─► an answer per row
//! ```

use std::collections::BTreeMap;

use serde_json::Value;

use crate::api::well_known::reason;
use crate::build::Revision;
use crate::distribution::Distribution;
use crate::inspect::diagnose::instance::{HistoryRow, RollbackAnswer};
use crate::inspect::read::snapshot::Snapshot;
use crate::inspect::views::upgrade::{Target, changed_objects, dropped_versions};
use crate::k8s::fields;

/// Limit for the fields that an answer names.
const NAMED: usize = 3;

/// Reads the definitions of every kept version other than the one in use.
pub fn targets(instance: &Value, kept: &[String]) -> Vec<Target> {
    let distribution = Distribution::embedded();
    let in_use = installed(instance).version;
    let kept: Vec<String> = kept.iter().map(|text| revision(text).version).collect();
    let is_meant = |name: &String| *name != in_use && kept.contains(name);
    let versions = distribution.versions().into_iter().filter(|version| is_meant(&version.name));
    versions.filter_map(|version| Target::of(&distribution, version).ok()).collect()
}

/// Answers for every row of an instance's history. `kept` are the revisions that are kept, `targets` their versions.
pub fn with_answers(
    snapshot: &Snapshot,
    instance: &Value,
    rows: Vec<HistoryRow>,
    kept: &[String],
    targets: &[Target],
) -> Vec<HistoryRow> {
    let versions: BTreeMap<&str, RollbackAnswer> =
        targets.iter().map(|target| (target.version.name.as_str(), of_version(snapshot, target))).collect();
    let were_ready: Vec<String> = rows
        .iter()
        .filter(|row| row.status == reason::RECONCILIATION_SUCCEEDED)
        .map(|row| row.digest.clone())
        .collect();
    let in_use = installed(instance);
    let attempted = fields::some_text(instance, "/status/lastAttemptedRevision").map_or(in_use.clone(), revision);
    let kept: Vec<Revision> = kept.iter().map(|text| revision(text)).collect();
    let answer = |row: &HistoryRow| {
        let is_of_row = |revision: &Revision| revision.digest.as_ref() == Some(&row.digest);
        if is_of_row(&attempted) {
            return RollbackAnswer::no("the instance already has it");
        }
        let Some(Revision { version, .. }) = kept.iter().find(|revision| is_of_row(revision)) else {
            return RollbackAnswer::no(match were_ready.contains(&row.digest) {
                true => "not kept, because only the most recent ready revisions are kept",
                false => "it was never ready",
            });
        };
        match versions.get(version.as_str()) {
            // The same version has the same definitions.
            _ if *version == in_use.version => RollbackAnswer::yes(None),
            Some(answer) if snapshot.denied().is_none() => answer.clone(),
            Some(_) => RollbackAnswer::unknown("not allowed to read the objects that its CRDs must hold"),
            None => RollbackAnswer::unknown(format!("the CRDs of Flux {version} are not known")),
        }
    };
    rows.into_iter().map(|row| HistoryRow { rollback: Some(answer(&row)), ..row }).collect()
}

/// Whether the definitions of a version can hold the stored objects: the API server refuses a definition that lacks a
/// version at which objects are stored, and drops fields that it does not know.
fn of_version(snapshot: &Snapshot, target: &Target) -> RollbackAnswer {
    let name = &target.version.name;
    let dropped = dropped_versions(snapshot, target);
    if !dropped.is_empty() {
        return RollbackAnswer::no(format!("objects are stored at versions that {name} lacks: {}", dropped.join(", ")));
    }
    let lost = changed_objects(snapshot, target).into_iter().filter(|((breaks, _), _)| *breaks);
    let mut lost: Vec<String> =
        lost.map(|((_, message), of)| format!("{message} ({})", of.first().cloned().unwrap_or_default())).collect();
    let more = lost.len().checked_sub(NAMED).filter(|more| *more > 0);
    lost.truncate(NAMED);
    lost.extend(more.map(|more| format!("and {more} more")));
    RollbackAnswer::yes((!lost.is_empty()).then(|| format!("but {}", lost.join("; "))))
}

fn installed(instance: &Value) -> Revision {
    revision(fields::text(instance, "/status/lastAppliedRevision"))
}

/// Parses a recorded revision. An invalid text becomes the version as a whole, so that it matches no version of Flux.
fn revision(text: &str) -> Revision {
    text.parse().unwrap_or_else(|_| Revision { version: text.to_owned(), digest: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::diagnose::instance::history;
    use serde_json::json;

    fn instance() -> Value {
        let entry = |digest: &str, version: &str, status: &str, at: u8| {
            json!({"digest": format!("sha256:{digest}"), "lastReconciled": format!("2026-01-0{at}T00:00:00Z"),
                "lastReconciledStatus": status, "metadata": {"flux": version}})
        };
        json!({"kind": "FluxInstance", "metadata": {"name": "flux", "namespace": "flux-system"},
            "status": {"lastAppliedRevision": "v2.9.4@sha256:now", "lastAttemptedRevision": "v2.9.4@sha256:now",
                "history": [
                    entry("now", "v2.9.4", "ReconciliationSucceeded", 7),
                    entry("patched", "v2.9.4", "ReconciliationSucceeded", 6),
                    entry("old", "v2.7.5", "ReconciliationSucceeded", 5),
                    entry("foreign", "v2.9.99", "ReconciliationSucceeded", 4),
                    entry("bad", "v2.9.4", "BuildFailed", 3),
                    entry("gone", "v2.8.8", "ReconciliationSucceeded", 2)]}})
    }

    fn words(objects: Vec<Value>) -> Vec<String> {
        let kept = ["v2.9.4@sha256:now", "v2.9.4@sha256:patched", "v2.7.5@sha256:old", "v2.9.99@sha256:foreign"];
        let kept = kept.map(str::to_owned);
        let snapshot = Snapshot::of_dump(objects);
        let targets = targets(&instance(), &kept);
        let rows = with_answers(&snapshot, &instance(), history(&instance()), &kept, &targets);
        rows.iter().map(|row| row.rollback.as_ref().unwrap().in_words()).collect()
    }

    #[test]
    fn each_revision_reports_whether_a_rollback_is_possible() {
        assert_eq!(
            words(vec![]),
            [
                "no: the instance already has it",
                "yes",
                "yes",
                "unknown: the CRDs of Flux v2.9.99 are not known",
                "no: it was never ready",
                "no: not kept, because only the most recent ready revisions are kept",
            ]
        );
    }

    #[test]
    fn an_older_version_is_refused_for_its_stored_versions_and_named_with_its_lost_fields() {
        let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "buckets.source.toolkit.fluxcd.io"},
            "spec": {"group": "source.toolkit.fluxcd.io", "names": {"kind": "Bucket"}},
            "status": {"storedVersions": ["v9"]}});
        let expected = "no: objects are stored at versions that v2.7.5 lacks: buckets.source.toolkit.fluxcd.io v9";
        assert_eq!(words(vec![definition])[2], expected);
        let repository = json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
            "metadata": {"name": "a", "namespace": "b"}, "spec": {"futureField": true}});
        let expected = "yes: but Flux v2.7.5 does not have the field spec.futureField (GitRepository/b/a)";
        assert_eq!(words(vec![repository])[2], expected);
    }
}
