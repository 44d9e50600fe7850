//! Merge patches that request, suspend and resume reconciliation.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::api::kinds::Suspension;
use crate::api::well_known::{
    DISABLED, ENABLED, FORCE_AT_ANNOTATION, REQUESTED_AT_ANNOTATION, RESET_AT_ANNOTATION, SUSPEND_REASON_ANNOTATION,
    SUSPEND_UNTIL_ANNOTATION,
};

/// Returns the value of a request annotation: RFC 3339 in UTC with nanoseconds, unique for each `now`.
pub fn token(now: Timestamp) -> String {
    format!("{now:.9}")
}

/// Returns the merge patch that requests a reconciliation. With `force` it also requests the kind's forced action, and
/// with `reset` it clears the failures of a Helm release.
///
/// All annotations have the same value, because a controller accepts a force only when they are equal.
pub fn reconcile_patch(token: &str, force: bool, reset: bool) -> Value {
    let mut keys = request_annotations(token, force);
    if reset {
        keys.insert(RESET_AT_ANNOTATION.into(), token.into());
    }
    annotations(keys)
}

fn request_annotations(token: &str, force: bool) -> Map<String, Value> {
    let mut keys = Map::new();
    keys.insert(REQUESTED_AT_ANNOTATION.into(), token.into());
    if force {
        keys.insert(FORCE_AT_ANNOTATION.into(), token.into());
    }
    keys
}

fn annotations(keys: Map<String, Value>) -> Value {
    json!({ "metadata": { "annotations": keys } })
}

/// The reason of a suspension, and its planned end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SuspendNote<'a> {
    pub reason: Option<&'a str>,
    pub until: Option<Timestamp>,
}

impl SuspendNote<'_> {
    /// Missing values remove their key, because a note of an earlier suspension is no longer true.
    fn keys(&self) -> Map<String, Value> {
        let mut keys = Map::new();
        keys.insert(SUSPEND_REASON_ANNOTATION.into(), self.reason.map_or(Value::Null, Into::into));
        let until = self.until.map(|until| format!("{until:.0}"));
        keys.insert(SUSPEND_UNTIL_ANNOTATION.into(), until.map_or(Value::Null, Into::into));
        keys
    }
}

/// Returns the merge patch that suspends an object with a note; empty for a kind that cannot be suspended.
pub fn suspend_patch(suspension: Suspension, note: SuspendNote<'_>) -> Value {
    let mut keys = note.keys();
    match suspension {
        Suspension::Annotation(key) => {
            keys.insert(key.into(), DISABLED.into());
            annotations(keys)
        }
        Suspension::Field => json!({ "metadata": { "annotations": keys }, "spec": { "suspend": true } }),
        Suspension::None => json!({}),
    }
}

/// Returns the merge patch that resumes an object and requests a reconciliation in one step; it removes the note.
pub fn resume_patch(suspension: Suspension, token: &str) -> Value {
    let mut keys = request_annotations(token, false);
    if suspension != Suspension::None {
        // A null removes a key in a merge patch (RFC 7396).
        keys.extend(SuspendNote::default().keys());
    }
    match suspension {
        Suspension::None => annotations(keys),
        Suspension::Annotation(key) => {
            keys.insert(key.into(), ENABLED.into());
            annotations(keys)
        }
        Suspension::Field => json!({ "metadata": { "annotations": keys }, "spec": { "suspend": null } }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::kinds::FLUX_KINDS;

    #[test]
    fn a_token_is_rfc_3339_with_all_nanoseconds_and_sorts_by_time() {
        let early = token("2026-11-21T02:10:46.1Z".parse().unwrap());
        let late = token("2026-11-21T02:10:46.100000001Z".parse().unwrap());
        assert_eq!(early, "2026-11-21T02:10:46.100000000Z");
        assert!(early < late);
    }

    #[test]
    fn a_forced_request_is_one_patch_with_the_same_value_twice() {
        assert_eq!(
            reconcile_patch("t", true, false),
            json!({"metadata": {"annotations": {
                "reconcile.fluxcd.io/requestedAt": "t", "reconcile.fluxcd.io/forceAt": "t"}}})
        );
        assert_eq!(
            reconcile_patch("t", false, false),
            json!({"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": "t"}}})
        );
    }

    #[test]
    fn each_group_is_suspended_the_way_its_controller_reads() {
        let suspend = |group: &str| {
            let kind = FLUX_KINDS.iter().find(|kind| kind.group == group).unwrap();
            suspend_patch(kind.suspension, SuspendNote::default())
        };
        let no_note = |annotations: Value| {
            let mut annotations = annotations;
            annotations[SUSPEND_REASON_ANNOTATION] = Value::Null;
            annotations[SUSPEND_UNTIL_ANNOTATION] = Value::Null;
            json!({"metadata": {"annotations": annotations}})
        };
        assert_eq!(suspend("fluxcd.controlplane.io"), no_note(json!({"fluxcd.controlplane.io/reconcile": "disabled"})));
        assert_eq!(
            suspend("source.extensions.fluxcd.io"),
            no_note(json!({"source.extensions.fluxcd.io/reconcile": "disabled"}))
        );
        let mut field = no_note(json!({}));
        field["spec"] = json!({"suspend": true});
        assert_eq!(suspend("helm.toolkit.fluxcd.io"), field);
    }

    #[test]
    fn a_suspension_says_why_and_until_when() {
        let until = "2026-11-22T18:00:00.5Z".parse().unwrap();
        let note = SuspendNote { reason: Some("database migration"), until: Some(until) };
        assert_eq!(
            suspend_patch(Suspension::Field, note),
            json!({"metadata": {"annotations": {
                "fluxcd.controlplane.io/suspendReason": "database migration",
                "fluxcd.controlplane.io/suspendUntil": "2026-11-22T18:00:00Z"}}, "spec": {"suspend": true}})
        );
    }

    #[test]
    fn resuming_asks_for_a_reconciliation_in_the_same_patch() {
        assert_eq!(
            resume_patch(Suspension::Field, "t"),
            json!({"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": "t",
                "fluxcd.controlplane.io/suspendReason": null, "fluxcd.controlplane.io/suspendUntil": null}},
                "spec": {"suspend": null}})
        );
        assert_eq!(
            resume_patch(Suspension::Annotation("fluxcd.controlplane.io/reconcile"), "t"),
            json!({"metadata": {"annotations": {
                "reconcile.fluxcd.io/requestedAt": "t", "fluxcd.controlplane.io/suspendReason": null,
                "fluxcd.controlplane.io/suspendUntil": null, "fluxcd.controlplane.io/reconcile": "enabled"}}})
        );
    }
}
