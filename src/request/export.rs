//! Reduces an object to the fields that its author would have written.

use serde_json::{Map, Value, json};

use crate::api::well_known::{FORCE_AT_ANNOTATION, REQUESTED_AT_ANNOTATION};

/// kubectl's copy of the applied object, which is useless in another cluster.
const LAST_APPLIED_ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Removes the status, fields set by the API server, and fields added by Flux and its operator: request tokens and
/// owner labels.
pub fn bare(object: Value) -> Value {
    let Value::Object(mut object) = object else { return object };
    let metadata = object.get("metadata").cloned().unwrap_or_default();
    let pairs = |member: &str, is_added: &dyn Fn(&str) -> bool| {
        let mut pairs = metadata.get(member).and_then(Value::as_object).cloned().unwrap_or_default();
        pairs.retain(|key, _| !is_added(key));
        Some(Value::Object(pairs)).filter(|pairs| *pairs != json!({}))
    };
    let is_request = |key: &str| [REQUESTED_AT_ANNOTATION, FORCE_AT_ANNOTATION, LAST_APPLIED_ANNOTATION].contains(&key);
    // The labels of all owners end this way, as in `kustomize.toolkit.fluxcd.io/name`.
    let is_owner = |key: &str| key.contains("fluxcd.") && (key.ends_with("/name") || key.ends_with("/namespace"));
    let kept = [
        ("name", metadata.get("name").cloned()),
        ("namespace", metadata.get("namespace").cloned()),
        ("labels", pairs("labels", &is_owner)),
        ("annotations", pairs("annotations", &is_request)),
    ];
    let kept: Map<String, Value> =
        kept.into_iter().filter_map(|(member, value)| Some((member.to_owned(), value?))).collect();
    object.shift_remove("status");
    object.insert("metadata".to_owned(), kept.into());
    object.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_added_by_controllers_or_the_server_are_left_out() {
        let object = json!({
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
            "metadata": {
                "name": "a", "namespace": "apps", "uid": "u", "generation": 3, "resourceVersion": "9",
                "finalizers": ["finalizers.fluxcd.io"],
                "labels": {"team": "x", "kustomize.toolkit.fluxcd.io/name": "flux-system",
                    "kustomize.toolkit.fluxcd.io/namespace": "flux-system"},
                "annotations": {"reconcile.fluxcd.io/requestedAt": "t", "reconcile.fluxcd.io/forceAt": "t",
                    "kubectl.kubernetes.io/last-applied-configuration": "{}"},
            },
            "spec": {"interval": "1h"}, "status": {"conditions": []},
        });
        assert_eq!(
            bare(object),
            json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
                "metadata": {"name": "a", "namespace": "apps", "labels": {"team": "x"}}, "spec": {"interval": "1h"}})
        );
    }
}
