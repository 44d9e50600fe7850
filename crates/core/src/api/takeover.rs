//! Takes objects over from the tools that installed them before, and removes the leftovers.
//!
//! Server-side apply keeps the fields of every other manager, so drift written by the managers listed here would remain
//! for ever. Their fields are moved to our entry first. The next apply then removes the fields that the build lacks.
//! Pure.

use serde_json::{Map, Value, json};

use super::well_known::RECONCILER_FIELD_MANAGER;
use crate::k8s::{diff, fields, managed_fields};

/// Annotations left behind by earlier tools; removed from every applied object.
// Otherwise the earlier tool would continue to manage or prune the object.
const STALE_ANNOTATIONS: &[&str] = &[
    "kubectl.kubernetes.io/last-applied-configuration",
    "meta.helm.sh/release-name",
    "meta.helm.sh/release-namespace",
];
/// Labels by which kustomize-controller marks its objects; removed from every applied object.
const STALE_LABELS: &[&str] = &["kustomize.toolkit.fluxcd.io/name", "kustomize.toolkit.fluxcd.io/namespace"];

#[derive(Clone, Copy, PartialEq)]
enum Match {
    Exact,
    Prefix,
}

/// Managers whose fields become ours: name, operation (`None` means both), and how the name is matched.
const TAKEN_OVER: &[(&str, Option<&str>, Match)] = &[
    ("kustomize-controller", Some("Apply"), Match::Exact),
    ("helm", Some("Update"), Match::Exact),
    // For example `kubectl-client-side-apply`, `kubectl-edit` and `kubectl-create`.
    ("kubectl", Some("Update"), Match::Prefix),
    // The API server's name for fields from before an object had managed fields.
    ("before-first-apply", Some("Update"), Match::Prefix),
    ("kubectl", Some("Apply"), Match::Prefix),
    ("flux", None, Match::Exact),
];

/// Whether a managed-fields entry of an object of this kind belongs to a manager that is taken over; entries of a
/// subresource never do.
///
/// A namespace is shared. Labels and annotations of other managers (the PodSecurity level that admission enforces, the
/// owning team) are never taken over, even if the same tool is taken over on other objects.
pub fn is_taken_over(kind: &str, entry: &Value, extra_managers: &[String]) -> bool {
    let manager = fields::text(entry, "/manager");
    let operation = fields::text(entry, "/operation");
    if kind == "Namespace" || !fields::text(entry, "/subresource").is_empty() {
        return false;
    }
    extra_managers.iter().any(|extra| extra == manager)
        || TAKEN_OVER.iter().any(|(name, only, how)| {
            only.is_none_or(|only| only == operation)
                && match how {
                    Match::Exact => manager == *name,
                    Match::Prefix => manager.starts_with(name),
                }
        })
}

fn is_ours(entry: &Value) -> bool {
    fields::text(entry, "/manager") == RECONCILER_FIELD_MANAGER
        && fields::text(entry, "/operation") == "Apply"
        && fields::text(entry, "/subresource").is_empty()
}

/// Returns our own entry of `metadata.managedFields` if there is exactly one.
pub fn own_entry(live: &Value) -> Option<&Value> {
    let mut ours = managed_fields::entries(live).iter().filter(|entry| is_ours(entry));
    // After a change of API versions there are two entries, and the next apply may use either.
    let first = ours.next()?;
    ours.next().is_none().then_some(first)
}

/// Returns the JSON patch (RFC 6902) that takes the object over, or `None` if nothing has to change.
///
/// The patch tests the resource version from which it was made, so that the server answers 409 instead of overwriting
/// newer managed fields.
pub fn takeover_patch(live: &Value, extra_managers: &[String]) -> Option<Value> {
    let mut operations = Vec::new();
    for (pointer, stale) in [("/metadata/annotations", STALE_ANNOTATIONS), ("/metadata/labels", STALE_LABELS)] {
        let present = live.pointer(pointer).and_then(Value::as_object);
        for key in stale.iter().filter(|key| present.is_some_and(|map| map.contains_key(**key))) {
            operations.push(json!({"op": "remove", "path": format!("{pointer}/{}", escape(key))}));
        }
    }
    // Replace all entries, because they have no key for a patch.
    if let Some(entries) = taken_over(live, extra_managers) {
        operations.push(json!({"op": "replace", "path": "/metadata/managedFields", "value": entries}));
    }
    if operations.is_empty() {
        return None;
    }
    operations.extend(guard(live));
    Some(Value::Array(operations))
}

/// Returns the JSON patch (RFC 6902) that moves spec fields written by our own manager through an update into the entry
/// of its applies, or `None` if there are none.
///
/// The reference operator writes the FluxReport by merge patches with the same manager. The API server keeps a field as
/// long as any entry contains it, so an apply without the field would never remove it. Metadata stays where it is: the
/// annotation that requests a reconciliation is not part of an apply.
pub fn own_updates_patch(live: &Value) -> Option<Value> {
    let (mut moved, mut kept) = (vec![], vec![]);
    for entry in managed_fields::entries(live) {
        let is_own_update = fields::text(entry, "/manager") == RECONCILER_FIELD_MANAGER
            && fields::text(entry, "/operation") == "Update"
            && fields::text(entry, "/subresource").is_empty();
        let mut rest = entry.clone();
        let set = rest.get_mut("fieldsV1").and_then(Value::as_object_mut).filter(|_| is_own_update);
        let Some((set, spec)) = set.and_then(|set| set.remove("f:spec").map(|spec| (set, spec))) else {
            kept.push(entry.clone());
            continue;
        };
        let is_empty = set.is_empty();
        let mut spec_only = entry.clone();
        if let Some(entry) = spec_only.as_object_mut() {
            entry.insert("fieldsV1".into(), json!({"f:spec": spec}));
        }
        moved.push(spec_only);
        if !is_empty {
            kept.push(rest);
        }
    }
    let entries = joined(&moved, kept)?;
    let mut operations = vec![json!({"op": "replace", "path": "/metadata/managedFields", "value": entries})];
    operations.extend(guard(live));
    Some(Value::Array(operations))
}

/// Returns the operation that makes the server answer 409 if the object has changed.
fn guard(live: &Value) -> Option<Value> {
    let version = live.pointer("/metadata/resourceVersion")?;
    Some(json!({"op": "replace", "path": "/metadata/resourceVersion", "value": version}))
}

/// Returns the managed fields after the take-over, or `None` when no entry is taken over.
///
/// All fields move to our own entry; if there is none, the first entry that is taken over is renamed.
fn taken_over(live: &Value, extra_managers: &[String]) -> Option<Vec<Value>> {
    let (theirs, kept): (Vec<Value>, Vec<Value>) = managed_fields::entries(live)
        .iter()
        .cloned()
        .partition(|entry| is_taken_over(fields::kind(live), entry, extra_managers));
    joined(&theirs, kept)
}

/// Adds the fields of the entries `theirs` to our entry in `kept`; `None` when `theirs` is empty.
fn joined(theirs: &[Value], mut kept: Vec<Value>) -> Option<Vec<Value>> {
    let first = theirs.first()?;
    let mut ours = match kept.iter().position(is_ours) {
        Some(at) => kept.remove(at),
        None => {
            let mut first = first.as_object().cloned().unwrap_or_else(Map::new);
            first.insert("manager".into(), RECONCILER_FIELD_MANAGER.into());
            // The API server would keep the fields of an `Update` entry when a later apply leaves them out.
            first.insert("operation".into(), "Apply".into());
            Value::Object(first)
        }
    };
    for entry in theirs {
        let set = managed_fields::union(&ours["fieldsV1"], &entry["fieldsV1"]);
        ours["fieldsV1"] = set;
    }
    // `remove_surplus` relies on our entry being the last one.
    kept.push(ours);
    Some(kept)
}

/// Removes from the result of a dry run the fields that are not in the manifest and that are owned only by managers
/// that will be taken over.
///
/// The dry run precedes the take-over, so the server still keeps those fields; the apply after it does not.
pub fn without_surplus(live: &Value, desired: &Value, result: &Value, extra_managers: &[String]) -> Value {
    remove_surplus(taken_over(live, extra_managers), desired, result)
}

/// Predicts the result of reconciling a live object with its manifest, as far as that is possible without the API
/// server.
pub fn predicted(live: &Value, desired: &Value) -> Value {
    let entries = taken_over(live, &[]).or_else(|| {
        let own = own_entry(live)?;
        let others = managed_fields::entries(live).iter().filter(|entry| !is_ours(entry));
        Some(others.chain([own]).cloned().collect())
    });
    remove_surplus(entries, desired, &diff::merge(live, desired))
}

/// Removes fields that are not in the manifest and that only our entry contains, which is the last of `entries`. Also
/// removes stale labels and annotations.
fn remove_surplus(entries: Option<Vec<Value>>, desired: &Value, result: &Value) -> Value {
    let mut wanted = result.clone();
    let Some(entries) = entries else { return remove_stale(wanted) };
    let Some((ours, others)) = entries.split_last() else { return remove_stale(wanted) };
    // A controller's status entry does not keep any field of the spec.
    let foreign = others
        .iter()
        .filter(|entry| fields::text(entry, "/subresource").is_empty())
        .fold(Value::Null, |set, entry| managed_fields::union(&set, &entry["fieldsV1"]));
    prune(&mut wanted, Some(desired), &ours["fieldsV1"], &foreign);
    if desired.get("kind").is_some_and(|kind| kind == "Namespace") {
        // The API server keeps these fields of a namespace, even if no manager owns them.
        for pointer in ["/spec", "/metadata/labels/kubernetes.io~1metadata.name"] {
            if let Some((parent, key)) = pointer.rsplit_once('/')
                && let Some(kept) = result.pointer(pointer)
                && let Some(parent) = wanted.pointer_mut(parent).and_then(Value::as_object_mut)
            {
                parent.insert(key.replace("~1", "/"), kept.clone());
            }
        }
    }
    remove_stale(wanted)
}

fn remove_stale(mut object: Value) -> Value {
    for (map, stale) in [("annotations", STALE_ANNOTATIONS), ("labels", STALE_LABELS)] {
        if let Some(map) =
            object.get_mut("metadata").and_then(|metadata| metadata.get_mut(map)).and_then(Value::as_object_mut)
        {
            map.retain(|key, _| !stale.contains(&key.as_str()));
        }
    }
    object
}

/// Removes fields that `ours` contains, `desired` lacks and no other manager (`foreign`) owns.
fn prune(value: &mut Value, desired: Option<&Value>, ours: &Value, foreign: &Value) {
    // `.` means the map or item itself.
    let members: Vec<(&String, &Value)> =
        ours.as_object().into_iter().flatten().filter(|(name, _)| *name != ".").collect();
    match value {
        Value::Object(map) => {
            for (name, below) in members {
                let Some(key) = name.strip_prefix("f:") else { continue };
                let theirs = foreign.get(name);
                let wanted = desired.and_then(|desired| desired.get(key));
                let leaf = below.as_object().is_none_or(|below| below.keys().all(|name| name == "."));
                match map.get_mut(key) {
                    Some(_) if wanted.is_none() && leaf && theirs.is_none() => drop(map.remove(key)),
                    Some(inner) if !leaf => {
                        let had = is_filled(inner);
                        prune(inner, wanted, below, theirs.unwrap_or(&Value::Null));
                        // The server removes a map with its last member, unless the map was empty before.
                        if had && wanted.is_none() && !is_filled(inner) {
                            map.remove(key);
                        }
                    }
                    _ => {}
                }
            }
        }
        Value::Array(items) => {
            items.retain_mut(|item| {
                let Some((name, below)) = members.iter().find(|(name, _)| managed_fields::names_item(name, item))
                else {
                    return true;
                };
                let theirs = foreign.get(name.as_str());
                let wanted = desired.and_then(Value::as_array).and_then(|items| {
                    items.iter().find(|one| managed_fields::names_item(name, one) || name_matches(one, item))
                });
                if wanted.is_none() && theirs.is_none() {
                    return false;
                }
                prune(item, wanted, below, theirs.unwrap_or(&Value::Null));
                true
            });
        }
        _ => {}
    }
}

/// Whether a manifest's item has the keys of a live one. The manifest may lack key fields with a default, such as the
/// protocol of a port.
fn name_matches(manifest: &Value, item: &Value) -> bool {
    let keys = ["name", "containerPort", "port", "mountPath", "ip"];
    keys.iter().any(|key| manifest.get(key).is_some_and(|value| item.get(key) == Some(value)))
}

fn is_filled(value: &Value) -> bool {
    match value {
        Value::Object(map) => !map.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => true,
    }
}

/// Escapes one token of a JSON pointer (RFC 6901).
pub fn escape(token: &str) -> String {
    token.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(manager: &str, operation: &str, set: Value) -> Value {
        json!({"manager": manager, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": set})
    }

    fn object(entries: Vec<Value>) -> Value {
        json!({"metadata": {"resourceVersion": "7", "managedFields": entries}})
    }

    fn managed_fields(patch: &Value) -> Vec<Value> {
        let replace = patch.as_array().unwrap().iter().find(|op| op["path"] == "/metadata/managedFields").unwrap();
        replace["value"].as_array().unwrap().clone()
    }

    #[test]
    fn nothing_is_patched_when_only_we_and_strangers_own_fields() {
        let live = object(vec![
            entry("flux-operator", "Apply", json!({"f:spec": {}})),
            entry("hpa", "Update", json!({"f:spec": {"f:replicas": {}}})),
            entry("helm", "Apply", json!({"f:spec": {}})),
            entry("kustomize-controller", "Update", json!({"f:spec": {}})),
            entry("fluxd", "Apply", json!({"f:spec": {}})),
        ]);
        assert_eq!(takeover_patch(&live, &[]), None);
    }

    #[test]
    fn the_first_entry_is_renamed_when_we_own_none() {
        let status = json!({"manager": "controllers", "operation": "Update", "subresource": "status", "fieldsV1": {"f:status": {}}});
        let live =
            object(vec![entry("kubectl-client-side-apply", "Update", json!({"f:spec": {"f:a": {}}})), status.clone()]);
        let after = managed_fields(&takeover_patch(&live, &[]).unwrap());
        assert_eq!(after, [status, entry("flux-operator", "Apply", json!({"f:spec": {"f:a": {}}}))]);
    }

    #[test]
    fn fields_of_all_taken_over_managers_join_ours() {
        let live = object(vec![
            entry("kubectl-edit", "Update", json!({"f:spec": {"f:a": {}}})),
            entry("flux-operator", "Apply", json!({"f:spec": {"f:b": {}}})),
            entry("flux", "Apply", json!({"f:spec": {"f:c": {}}})),
            entry("me", "Apply", json!({"f:spec": {"f:d": {}}})),
        ]);
        let after = managed_fields(&takeover_patch(&live, &[]).unwrap());
        assert_eq!(
            after,
            [
                entry("me", "Apply", json!({"f:spec": {"f:d": {}}})),
                entry("flux-operator", "Apply", json!({"f:spec": {"f:b": {}, "f:a": {}, "f:c": {}}})),
            ]
        );
        let overridden = managed_fields(&takeover_patch(&live, &["me".into()]).unwrap());
        assert_eq!(overridden.len(), 1);
    }

    #[test]
    fn fields_held_only_by_replaced_managers_are_shown_as_removed() {
        let live = json!({
            "metadata": {"labels": {"a": "1", "b": "2"}, "managedFields": [
                entry("kubectl-edit", "Update", json!({"f:metadata": {"f:labels": {"f:b": {}}}, "f:spec": {"f:paused": {}, "f:replicas": {}}})),
                entry("flux-operator", "Apply", json!({"f:metadata": {"f:labels": {"f:a": {}}}})),
                entry("me", "Apply", json!({"f:spec": {"f:paused": {}}})),
            ]},
            "spec": {"paused": true, "replicas": 3}
        });
        let desired = json!({"metadata": {"labels": {"a": "1"}}, "spec": {"replicas": 1}});
        let result = json!({"metadata": {"labels": {"a": "1", "b": "2"}}, "spec": {"paused": true, "replicas": 1}});
        let shown = without_surplus(&live, &desired, &result, &[]);
        assert_eq!(shown, json!({"metadata": {"labels": {"a": "1"}}, "spec": {"paused": true, "replicas": 1}}));
    }

    #[test]
    fn a_namespace_keeps_what_others_put_on_it() {
        let labels = |labels: Value| json!({"f:metadata": {"f:labels": labels}});
        let theirs = labels(json!({"f:pod-security.kubernetes.io/enforce": {}, "f:team": {}}));
        let live = |manager: &str, operation: &str| {
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "fs", "resourceVersion": "7",
                "labels": {"pod-security.kubernetes.io/enforce": "privileged", "team": "a", "ours": "1", "former": "1"},
                "managedFields": [entry(manager, operation, theirs.clone()),
                    entry("flux-operator", "Apply", labels(json!({"f:ours": {}, "f:former": {}})))]}})
        };
        let desired =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "fs", "labels": {"ours": "1"}}});
        let kept = json!({"pod-security.kubernetes.io/enforce": "privileged", "team": "a", "ours": "1"});
        for (manager, operation) in [
            ("kubectl-label", "Update"),
            ("kubectl", "Apply"),
            ("flux", "Apply"),
            ("kustomize-controller", "Apply"),
            ("helm", "Update"),
        ] {
            let live = live(manager, operation);
            assert_eq!(takeover_patch(&live, &[]), None, "{manager}");
            // A label of ours that is no longer built is removed; labels of others are kept.
            assert_eq!(predicted(&live, &desired)["metadata"]["labels"], kept, "{manager}");
            assert_eq!(without_surplus(&live, &desired, &live, &[])["metadata"]["labels"], live["metadata"]["labels"]);
        }
        let named = json!({"apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": "fs", "labels": {"ours": "1", "team": "b"}}});
        assert_eq!(predicted(&live("kubectl-label", "Update"), &named)["metadata"]["labels"]["team"], "b");
    }

    #[test]
    fn spec_fields_that_our_manager_once_updated_join_its_applies() {
        let requested = json!({"f:metadata": {"f:annotations": {"f:reconcile.fluxcd.io/requestedAt": {}}}});
        let mut update = requested.clone();
        update["f:spec"] = json!({"f:sync": {"f:id": {}, "f:source": {}}});
        let status = json!({"manager": "flux-operator", "operation": "Update", "subresource": "status", "fieldsV1": {"f:status": {}}});
        let apply = |set: Value| entry("flux-operator", "Apply", set);
        let theirs = entry("kubectl-edit", "Update", json!({"f:spec": {"f:x": {}}}));
        let live = object(vec![
            entry("flux-operator", "Update", update.clone()),
            apply(json!({"f:spec": {"f:operator": {}}})),
            status.clone(),
            theirs.clone(),
        ]);
        let patch = own_updates_patch(&live).unwrap();
        assert_eq!(
            managed_fields(&patch),
            [
                entry("flux-operator", "Update", requested),
                status,
                theirs,
                apply(json!({"f:spec": {"f:operator": {}, "f:sync": {"f:id": {}, "f:source": {}}}})),
            ]
        );
        assert!(patch.to_string().contains("resourceVersion"), "{patch}");
        // A second patch is not needed, and an empty entry is not kept.
        assert_eq!(own_updates_patch(&object(managed_fields(&patch))), None);
        let alone = object(vec![entry("flux-operator", "Update", json!({"f:spec": {"f:sync": {}}}))]);
        assert_eq!(managed_fields(&own_updates_patch(&alone).unwrap()), [apply(json!({"f:spec": {"f:sync": {}}}))]);
    }

    #[test]
    fn entries_of_a_subresource_are_left_alone() {
        let live = object(vec![
            json!({"manager": "kubectl-patch", "operation": "Update", "subresource": "status", "fieldsV1": {}}),
        ]);
        assert_eq!(takeover_patch(&live, &[]), None);
    }

    #[test]
    fn stale_annotations_and_labels_are_removed_under_the_resource_version() {
        let live = json!({"metadata": {
            "resourceVersion": "9",
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", "keep": "1"},
            "labels": {"kustomize.toolkit.fluxcd.io/name": "x"}
        }});
        assert_eq!(
            takeover_patch(&live, &[]).unwrap(),
            json!([
                {"op": "remove", "path": "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration"},
                {"op": "remove", "path": "/metadata/labels/kustomize.toolkit.fluxcd.io~1name"},
                {"op": "replace", "path": "/metadata/resourceVersion", "value": "9"}
            ])
        );
    }
}
