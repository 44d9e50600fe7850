//! The merge patches that ask, suspend and resume.

use jiff::Timestamp;
use kube::core::DynamicObject;
use serde_json::{Map, Value, json};

use crate::api::well_known::{
    DISABLED, ENABLED, FORCE_AT_ANNOTATION, GROUP, RECONCILE_ANNOTATION, REQUESTED_AT_ANNOTATION,
};

/// API group of ArtifactGenerator, which is suspended by an annotation of its own.
const SOURCE_EXTENSIONS_GROUP: &str = "source.extensions.fluxcd.io";
/// <https://fluxcd.io/flux/components/source/artifactgenerators/#suspend-and-resume-reconciliation>
const SOURCE_EXTENSIONS_RECONCILE_ANNOTATION: &str = "source.extensions.fluxcd.io/reconcile";

/// Returns the value of a request annotation: RFC 3339 in UTC with nanoseconds, new on every call with a later `now`.
pub fn token(now: Timestamp) -> String {
    format!("{now:.9}")
}

/// Returns the merge patch that asks for a reconciliation; with `force` also for what the kind does when forced.
///
/// Both annotations carry the same value: a controller takes a force for granted only when they are equal.
pub fn reconcile_patch(token: &str, force: bool) -> Value {
    annotations(request_annotations(token, force))
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

/// How a kind is told to stop reconciling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// An annotation whose value is `disabled` in any case.
    Annotation(&'static str),
    /// The field `spec.suspend`.
    SpecField,
}

impl Switch {
    /// Returns the switch of every kind of an API group.
    pub fn of_group(group: &str) -> Switch {
        match group {
            GROUP => Switch::Annotation(RECONCILE_ANNOTATION),
            SOURCE_EXTENSIONS_GROUP => Switch::Annotation(SOURCE_EXTENSIONS_RECONCILE_ANNOTATION),
            _ => Switch::SpecField,
        }
    }

    /// Whether the object is switched off.
    pub fn is_off(self, object: &DynamicObject) -> bool {
        match self {
            Switch::Annotation(key) => object
                .metadata
                .annotations
                .as_ref()
                .and_then(|a| a.get(key))
                .is_some_and(|value| value.eq_ignore_ascii_case(DISABLED)),
            Switch::SpecField => object.data.pointer("/spec/suspend").and_then(Value::as_bool).unwrap_or(false),
        }
    }
}

/// Returns the merge patch that suspends an object.
pub fn suspend_patch(switch: Switch) -> Value {
    match switch {
        Switch::Annotation(key) => json!({ "metadata": { "annotations": { key: DISABLED } } }),
        Switch::SpecField => json!({ "spec": { "suspend": true } }),
    }
}

/// Returns the merge patch that resumes an object and asks for a reconciliation in one step.
pub fn resume_patch(switch: Switch, token: &str) -> Value {
    let mut keys = request_annotations(token, false);
    match switch {
        Switch::Annotation(key) => {
            keys.insert(key.into(), ENABLED.into());
            annotations(keys)
        }
        // null removes the field in a merge patch (RFC 7396).
        Switch::SpecField => json!({ "metadata": { "annotations": keys }, "spec": { "suspend": null } }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: Value) -> DynamicObject {
        serde_json::from_value(value).unwrap()
    }

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
            reconcile_patch("t", true),
            json!({"metadata": {"annotations": {
                "reconcile.fluxcd.io/requestedAt": "t", "reconcile.fluxcd.io/forceAt": "t"}}})
        );
        assert_eq!(
            reconcile_patch("t", false),
            json!({"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": "t"}}})
        );
    }

    #[test]
    fn each_group_is_suspended_the_way_its_controller_reads() {
        let suspend = |group| suspend_patch(Switch::of_group(group));
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
            resume_patch(Switch::SpecField, "t"),
            json!({"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": "t"}}, "spec": {"suspend": null}})
        );
        assert_eq!(
            resume_patch(Switch::of_group(GROUP), "t"),
            json!({"metadata": {"annotations": {
                "reconcile.fluxcd.io/requestedAt": "t", "fluxcd.controlplane.io/reconcile": "enabled"}}})
        );
    }

    #[test]
    fn suspension_is_read_in_any_case_and_only_where_the_controller_reads_it() {
        let annotated = object(json!({"metadata": {"name": "flux", "annotations": {
            "fluxcd.controlplane.io/reconcile": "Disabled"}}}));
        assert!(Switch::of_group(GROUP).is_off(&annotated));
        assert!(!Switch::SpecField.is_off(&annotated));
        let field = object(json!({"metadata": {"name": "a"}, "spec": {"suspend": true}}));
        assert!(Switch::SpecField.is_off(&field));
        assert!(!Switch::of_group(GROUP).is_off(&field));
    }
}
