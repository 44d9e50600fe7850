//! An object as a person would have written it.

use kube::core::DynamicObject;
use serde_json::{Map, Value, json};

use crate::api::well_known::{FORCE_AT_ANNOTATION, REQUESTED_AT_ANNOTATION};

/// kubectl's copy of what was applied; it repeats the object and is of no use elsewhere.
const LAST_APPLIED_ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Returns the object without status, without what the API server filled in, and without what Flux and its operator
/// add: request tokens and the labels that name the owner.
pub fn bare(object: DynamicObject) -> Value {
    let metadata = object.metadata;
    let annotations = metadata.annotations.unwrap_or_default().into_iter().filter(|(key, _)| {
        ![REQUESTED_AT_ANNOTATION, FORCE_AT_ANNOTATION, LAST_APPLIED_ANNOTATION].contains(&key.as_str())
    });
    let labels = metadata
        .labels
        .unwrap_or_default()
        .into_iter()
        .filter(|(key, _)| !(key.contains("fluxcd.") && (key.ends_with("/name") || key.ends_with("/namespace"))));
    let text = |pairs: &mut dyn Iterator<Item = (String, String)>| -> Map<String, Value> {
        pairs.map(|(key, value)| (key, Value::String(value))).collect()
    };
    let (labels, annotations) = (text(&mut { labels }), text(&mut { annotations }));
    let mut kept = Map::new();
    kept.extend(metadata.name.map(|name| ("name".to_owned(), name.into())));
    kept.extend(metadata.namespace.map(|namespace| ("namespace".to_owned(), namespace.into())));
    for (key, map) in [("labels", labels), ("annotations", annotations)] {
        if !map.is_empty() {
            kept.insert(key.to_owned(), map.into());
        }
    }
    let mut all = Map::new();
    if let Some(types) = object.types {
        all.insert("apiVersion".to_owned(), types.api_version.into());
        all.insert("kind".to_owned(), types.kind.into());
    }
    all.insert("metadata".to_owned(), json!(kept));
    if let Value::Object(rest) = object.data {
        all.extend(rest.into_iter().filter(|(key, _)| key != "status"));
    }
    all.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_controller_or_the_server_added_is_left_out() {
        let object: DynamicObject = serde_json::from_value(json!({
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
        }))
        .unwrap();
        assert_eq!(
            bare(object),
            json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
                "metadata": {"name": "a", "namespace": "apps", "labels": {"team": "x"}}, "spec": {"interval": "1h"}})
        );
    }
}
