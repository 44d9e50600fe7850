//! Differences between two objects, and the result of applying a manifest to an object. Everything in the program that
//! compares objects uses this.
//!
//! Paths are human-readable: `spec.template.spec.containers[name=manager].args`. Lists are compared item by item if
//! both contain the same items; any other difference is one change of the whole list. Pure.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::merge_keys::{self, ListKind, Schema};
use super::quantity::{Quantity, is_quantity_field};

/// A step of a path into an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Segment {
    Index(usize),
    Key(String),
}

/// A field with different values.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference<'a> {
    pub path: Vec<Segment>,
    /// Absent: the field is added.
    pub from: Option<&'a Value>,
    /// Absent: the field is removed.
    pub to: Option<&'a Value>,
}

/// Returns the compared parts of an object: everything except the status, and of the metadata only labels and
/// annotations.
pub fn comparable(object: &Value) -> Value {
    let mut compared = serde_json::Map::new();
    for (key, value) in object.as_object().into_iter().flatten() {
        match key.as_str() {
            "status" => {}
            "metadata" => {
                let mut metadata = serde_json::Map::new();
                for kept in ["labels", "annotations"] {
                    // Semantic equality: a missing map equals an empty one.
                    if let Some(map) = value.get(kept).filter(|map| map.as_object().is_some_and(|map| !map.is_empty()))
                    {
                        metadata.insert(kept.into(), map.clone());
                    }
                }
                compared.insert(key.clone(), Value::Object(metadata));
            }
            _ => {
                compared.insert(key.clone(), value.clone());
            }
        }
    }
    Value::Object(compared)
}

/// Returns the fields in which two objects differ, in document order.
pub fn differences<'a>(from: &'a Value, to: &'a Value) -> Vec<Difference<'a>> {
    let mut found = Vec::new();
    walk(&mut Vec::new(), from, to, &mut found);
    found
}

/// Returns the paths of the fields in which two objects differ, in document order.
pub fn changed_paths(from: &Value, to: &Value) -> Vec<String> {
    let named = |one: Difference| path_text(if one.from.is_some() { from } else { to }, &one.path);
    differences(from, to).into_iter().map(named).collect()
}

fn walk<'a>(path: &mut Vec<Segment>, from: &'a Value, to: &'a Value, found: &mut Vec<Difference<'a>>) {
    match (from, to) {
        (Value::Object(left), Value::Object(right)) => {
            for (key, value) in left {
                path.push(Segment::Key(key.clone()));
                match right.get(key) {
                    Some(other) => walk(path, value, other, found),
                    None => found.push(Difference { path: path.clone(), from: Some(value), to: None }),
                }
                path.pop();
            }
            for (key, value) in right.iter().filter(|(key, _)| !left.contains_key(*key)) {
                path.push(Segment::Key(key.clone()));
                found.push(Difference { path: path.clone(), from: None, to: Some(value) });
                path.pop();
            }
        }
        // Compare item by item only while both lists hold the same objects in the same order. Anything else reads
        // better as one change of the whole list.
        (Value::Array(left), Value::Array(right)) if same_items(left, right) => {
            for (index, (value, other)) in left.iter().zip(right).enumerate() {
                path.push(Segment::Index(index));
                walk(path, value, other, found);
                path.pop();
            }
        }
        (left, right) if left == right => {}
        (left, right) => found.push(Difference { path: path.clone(), from: Some(left), to: Some(right) }),
    }
}

fn same_items(left: &[Value], right: &[Value]) -> bool {
    left.len() == right.len()
        && left
            .iter()
            .zip(right)
            .all(|(left, right)| left.is_object() && right.is_object() && item_name(left) == item_name(right))
}

/// Returns the field and value that identify a list item for a person.
fn item_name(item: &Value) -> Option<(&'static str, String)> {
    // A port has a number as well, but people know it by its name.
    ["name", "containerPort", "port", "mountPath", "key", "type"].into_iter().find_map(|field| {
        match item.get(field)? {
            Value::String(text) => Some((field, text.clone())),
            Value::Number(number) => Some((field, number.to_string())),
            _ => None,
        }
    })
}

/// Formats a path with the names of list items.
pub fn path_text(object: &Value, path: &[Segment]) -> String {
    let mut text = String::new();
    let mut at = Some(object);
    for segment in path {
        match segment {
            Segment::Key(key) => {
                at = at.and_then(|value| value.get(key));
                // Keys of labels and annotations hold dots, which would read as steps of the path.
                if key.contains(['.', '/']) {
                    text.push_str(&format!("[{key}]"));
                } else {
                    if !text.is_empty() {
                        text.push('.');
                    }
                    text.push_str(key);
                }
            }
            Segment::Index(index) => {
                at = at.and_then(|value| value.get(index));
                match at.and_then(item_name) {
                    Some((field, name)) => text.push_str(&format!("[{field}={name}]")),
                    None => text.push_str(&format!("[{index}]")),
                }
            }
        }
    }
    text
}

/// Predicts the object that results from applying a manifest, as far as that is possible without the API server. Fields
/// of the manifest are set, in the live object's spelling where both mean the same; all other fields are kept.
pub fn merge(live: &Value, manifest: &Value) -> Value {
    let text = |field: &str| manifest.get(field).and_then(Value::as_str).unwrap_or_default();
    let schema = merge_keys::of(super::split_api_version(text("apiVersion")).0, text("kind"));
    let mut merged = live.clone();
    let fields = manifest.as_object().into_iter().flatten();
    // The status belongs to controllers, and the API server chooses the version of its answer.
    for (key, wanted) in fields.filter(|(key, _)| !matches!(key.as_str(), "status" | "apiVersion" | "kind")) {
        set(&mut merged, key, wanted, schema, None);
    }
    merged
}

/// Merges a value into a field of a mapping.
fn set(into: &mut Value, key: &str, wanted: &Value, schema: Schema, parent: Option<&str>) {
    let Some(map) = into.as_object_mut() else { return };
    match map.get_mut(key) {
        Some(live) => merge_value(live, wanted, key, parent, schema),
        // The API server does not store a zero value.
        None if is_zero(wanted) => {}
        None => _ = map.insert(key.to_owned(), wanted.clone()),
    }
}

fn merge_value(live: &mut Value, wanted: &Value, key: &str, parent: Option<&str>, schema: Schema) {
    match (wanted, live) {
        (Value::Null, _) => {}
        (Value::Object(wanted), live @ Value::Object(_)) => {
            wanted.iter().for_each(|(name, value)| set(live, name, value, schema.mapping(key), Some(key)));
        }
        (Value::Array(wanted), Value::Array(live)) => match schema.list(key) {
            (ListKind::Keyed(keys), items) => merge_keyed(live, wanted, keys, items, key),
            (ListKind::Set, _) => {
                live.extend(wanted.iter().filter(|item| !live.contains(item)).cloned().collect::<Vec<_>>())
            }
            // An atomic list contains only the manifest's items. Fields that the server adds to them are not a change.
            (ListKind::Atomic, items) if live.len() == wanted.len() => {
                live.iter_mut().zip(wanted).for_each(|(live, wanted)| merge_item(live, wanted, items, key));
            }
            (ListKind::Atomic, _) => live.clone_from(wanted),
        },
        (wanted, live) => {
            let is_amount = is_quantity_field(key, parent);
            let says_the_same =
                is_amount && Quantity::of(wanted).is_some_and(|amount| Some(amount) == Quantity::of(live));
            if !says_the_same {
                live.clone_from(wanted);
            }
        }
    }
}

/// Merges an item of a list, with the schema of its fields.
fn merge_item(live: &mut Value, wanted: &Value, items: Schema, list: &str) {
    match (live, wanted) {
        (live @ Value::Object(_), Value::Object(wanted)) => {
            wanted.iter().for_each(|(name, value)| set(live, name, value, items, Some(list)));
        }
        (live, wanted) => merge_value(live, wanted, list, None, items),
    }
}

fn merge_keyed(live: &mut Vec<Value>, wanted: &[Value], keys: &[&str], items: Schema, list: &str) {
    for item in wanted {
        // A manifest may lack key fields that the server sets by default, such as the protocol of a port.
        let is_twin =
            |other: &Value| keys.iter().all(|key| item.get(key).is_none_or(|value| other.get(key) == Some(value)));
        match live.iter_mut().find(|other| is_twin(other)) {
            Some(twin) => merge_item(twin, item, items, list),
            None => live.push(item.clone()),
        }
    }
}

/// Whether the API server omits this value when it is not set.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_zero),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn paths(live: &Value, wanted: &Value) -> Vec<String> {
        changed_paths(&comparable(live), &comparable(wanted))
    }

    #[test]
    fn status_and_server_metadata_do_not_count_as_drift() {
        let live = json!({"metadata": {"name": "a", "resourceVersion": "1", "generation": 1, "labels": {"x": "1"}}, "status": {"a": 1}});
        let wanted = json!({"metadata": {"name": "a", "resourceVersion": "2", "labels": {"x": "1"}, "annotations": {}}, "status": {}});
        assert!(paths(&live, &wanted).is_empty());
    }

    #[test]
    fn changed_added_and_removed_fields_are_named_as_people_name_them() {
        let live = json!({
            "metadata": {"labels": {"app.kubernetes.io/name": "x"}},
            "spec": {"replicas": 3, "paused": true, "containers": [{"name": "manager", "args": ["a"], "image": "i"}]}
        });
        let wanted = json!({
            "metadata": {"labels": {"app.kubernetes.io/name": "y"}},
            "spec": {"replicas": 1, "containers": [{"name": "manager", "args": ["a", "b"], "image": "i"}], "strategy": {}}
        });
        assert_eq!(
            paths(&live, &wanted),
            [
                "metadata.labels[app.kubernetes.io/name]",
                "spec.replicas",
                "spec.paused",
                "spec.containers[name=manager].args",
                "spec.strategy",
            ]
        );
    }

    #[test]
    fn lists_of_different_items_change_as_a_whole() {
        let live = json!({"spec": {"rules": [{"verbs": ["get"]}, {"verbs": ["list"]}], "args": ["a"]}});
        let wanted = json!({"spec": {"rules": [{"verbs": ["get"]}], "args": ["b"]}});
        assert_eq!(paths(&live, &wanted), ["spec.rules", "spec.args"]);
    }

    #[test]
    fn a_merge_keeps_fields_of_others_and_the_spelling_of_the_server() {
        let container = |limits: Value| json!({"name": "m", "args": ["a"], "resources": {"limits": limits}, "ports": [{"containerPort": 1}]});
        let of = |spec: Value| json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": {"spec": spec}}, "off": false});
        let wanted = of(json!({"containers": [container(json!({"cpu": "1000m", "memory": "0.5"}))], "empty": []}));
        let mut own = container(json!({"cpu": "1", "memory": "500m"}));
        own["ports"] = json!([{"containerPort": 1, "protocol": "TCP"}]);
        own["more"] = json!(1);
        let live = of(json!({"containers": [{"name": "side"}, own], "paused": false}));
        assert_eq!(merge(&live, &wanted), live);
        let mut other = live.clone();
        other["spec"]["template"]["spec"]["containers"][1]["args"] = json!(["a", "b"]);
        other["spec"]["template"]["spec"]["containers"][1]["resources"]["limits"]["cpu"] = json!("2");
        let containers = "spec.template.spec.containers[name=m]";
        assert_eq!(
            changed_paths(&other, &merge(&other, &wanted)),
            [format!("{containers}.args"), format!("{containers}.resources.limits.cpu")]
        );
    }

    #[test]
    fn replaced_lists_equal_those_of_the_manifest() {
        let of = |rules: Value| json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "rules": rules});
        let wanted = of(json!([{"verbs": ["get"]}]));
        assert_eq!(merge(&of(json!([{"verbs": ["get"]}, {"verbs": ["list"]}])), &wanted), wanted);
        assert_eq!(merge(&of(json!([{"verbs": ["get", "list"]}])), &wanted), wanted);
    }
}
