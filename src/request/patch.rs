//! The merge patches that ask, suspend and resume.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::api::kinds::Suspension;
use crate::api::well_known::{DISABLED, ENABLED, FORCE_AT_ANNOTATION, REQUESTED_AT_ANNOTATION, RESET_AT_ANNOTATION};

/// Returns the value of a request annotation: RFC 3339 in UTC with nanoseconds, new on every call with a later `now`.
pub fn token(now: Timestamp) -> String {
    format!("{now:.9}")
}

/// Returns the merge patch that asks for a reconciliation; with `force` also for what the kind does when forced, with `reset`
/// also to forget the failures of a Helm release.
///
/// All annotations carry the same value: a controller takes a force for granted only when they are equal.
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

/// Returns the merge patch that suspends an object; it is empty for a kind that cannot be suspended.
pub fn suspend_patch(suspension: Suspension) -> Value {
    match suspension {
        Suspension::Annotation(key) => json!({ "metadata": { "annotations": { key: DISABLED } } }),
        Suspension::Field => json!({ "spec": { "suspend": true } }),
        Suspension::None => json!({}),
    }
}

/// Returns the merge patch that resumes an object and asks for a reconciliation in one step.
pub fn resume_patch(suspension: Suspension, token: &str) -> Value {
    let mut keys = request_annotations(token, false);
    match suspension {
        Suspension::None => annotations(keys),
        Suspension::Annotation(key) => {
            keys.insert(key.into(), ENABLED.into());
            annotations(keys)
        }
        // null removes the field in a merge patch (RFC 7396).
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
        let suspend =
            |group: &str| suspend_patch(FLUX_KINDS.iter().find(|kind| kind.group == group).unwrap().suspension);
        assert_eq!(
            suspend("fluxcd.controlplane.io"),
            json!({"metadata": {"annotations": {"fluxcd.controlplane.io/reconcile": "disabled"}}})
        );
        assert_eq!(
            suspend("source.extensions.fluxcd.io"),
            json!({"metadata": {"annotations": {"source.extensions.fluxcd.io/reconcile": "disabled"}}})
        );
        assert_eq!(suspend("helm.toolkit.fluxcd.io"), json!({"spec": {"suspend": true}}));
    }

    #[test]
    fn resuming_asks_for_a_reconciliation_in_the_same_patch() {
        assert_eq!(
            resume_patch(Suspension::Field, "t"),
            json!({"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": "t"}}, "spec": {"suspend": null}})
        );
        assert_eq!(
            resume_patch(Suspension::Annotation("fluxcd.controlplane.io/reconcile"), "t"),
            json!({"metadata": {"annotations": {
                "reconcile.fluxcd.io/requestedAt": "t", "fluxcd.controlplane.io/reconcile": "enabled"}}})
        );
    }
}
