//! What differs between a live object and what the API server would make of it.
//!
//! The comparison is the reconciler's drift test: labels, annotations, and everything outside `metadata` and `status`.
//! Pure.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fields::{self, FieldOwner};
use crate::api::well_known::RECONCILER_FIELD_MANAGER;

/// One step into an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Segment {
    Index(usize),
    Key(String),
}

/// One field that would change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FieldChange {
    /// Written like `spec.template.spec.containers[name=manager].args`.
    pub path: String,
    /// Absent: the field is added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Value>,
    /// Absent: the field is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Value>,
    /// Who set the live value, when it was not us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<FieldOwner>,
}

impl fmt::Display for FieldChange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.path)
    }
}

/// Returns the parts of an object that the reconciler compares: no status, and of the metadata labels and annotations only.
pub fn comparable(object: &Value) -> Value {
    let mut compared = serde_json::Map::new();
    for (key, value) in object.as_object().into_iter().flatten() {
        match key.as_str() {
            "status" => {}
            "metadata" => {
                let mut metadata = serde_json::Map::new();
                for kept in ["labels", "annotations"] {
                    // Semantic equality: an absent map and an empty one are the same.
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

/// Returns the fields in which `wanted` (the result of a dry run) differs from `live`, in document order.
pub fn changes(live: &Value, wanted: &Value) -> Vec<FieldChange> {
    let (from, to) = (comparable(live), comparable(wanted));
    let mut found = Vec::new();
    walk(&mut Vec::new(), &from, &to, &mut |path, from, to| {
        found.push(FieldChange {
            path: render(&comparable(if from.is_some() { live } else { wanted }), path),
            from: from.cloned(),
            to: to.cloned(),
            owner: fields::owner(live, path, RECONCILER_FIELD_MANAGER),
        });
    });
    found
}

type Found<'a> = &'a mut dyn FnMut(&[Segment], Option<&Value>, Option<&Value>);

fn walk(path: &mut Vec<Segment>, from: &Value, to: &Value, found: Found) {
    match (from, to) {
        (Value::Object(left), Value::Object(right)) => {
            for (key, value) in left {
                path.push(Segment::Key(key.clone()));
                match right.get(key) {
                    Some(other) => walk(path, value, other, found),
                    None => found(path, Some(value), None),
                }
                path.pop();
            }
            for (key, value) in right.iter().filter(|(key, _)| !left.contains_key(*key)) {
                path.push(Segment::Key(key.clone()));
                found(path, None, Some(value));
                path.pop();
            }
        }
        // Items that are objects are compared one by one while both lists name them in the same order; anything else is
        // one change of the whole list, which is how a person reads it.
        (Value::Array(left), Value::Array(right)) if same_items(left, right) => {
            for (index, (value, other)) in left.iter().zip(right).enumerate() {
                path.push(Segment::Index(index));
                walk(path, value, other, found);
                path.pop();
            }
        }
        (left, right) if left == right => {}
        (left, right) => found(path, Some(left), Some(right)),
    }
}

fn same_items(left: &[Value], right: &[Value]) -> bool {
    left.len() == right.len()
        && left
            .iter()
            .zip(right)
            .all(|(left, right)| left.is_object() && right.is_object() && item_name(left) == item_name(right))
}

/// Returns the field and text by which people know a list item.
fn item_name(item: &Value) -> Option<(&'static str, String)> {
    ["name", "containerPort", "port", "mountPath", "key", "type"].into_iter().find_map(|field| {
        match item.get(field)? {
            Value::String(text) => Some((field, text.clone())),
            Value::Number(number) => Some((field, number.to_string())),
            _ => None,
        }
    })
}

fn render(object: &Value, path: &[Segment]) -> String {
    let mut text = String::new();
    let mut at = Some(object);
    for segment in path {
        match segment {
            Segment::Key(key) => {
                at = at.and_then(|value| value.get(key));
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn paths(live: &Value, wanted: &Value) -> Vec<String> {
        changes(live, wanted).into_iter().map(|change| change.path).collect()
    }

    #[test]
    fn status_and_server_metadata_are_no_drift() {
        let live = json!({"metadata": {"name": "a", "resourceVersion": "1", "generation": 1, "labels": {"x": "1"}}, "status": {"a": 1}});
        let wanted = json!({"metadata": {"name": "a", "resourceVersion": "2", "labels": {"x": "1"}, "annotations": {}}, "status": {}});
        assert_eq!(changes(&live, &wanted), []);
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
    fn a_change_names_the_manager_that_set_the_live_value_and_when() {
        let live = json!({"spec": {"replicas": 3}, "metadata": {"managedFields": [
            {"manager": "hpa", "operation": "Update", "time": "2026-01-02T00:00:00Z", "fieldsV1": {"f:spec": {"f:replicas": {}}}}]}});
        let wanted = json!({"spec": {"replicas": 1}, "metadata": {}});
        let owner = changes(&live, &wanted).remove(0).owner.unwrap();
        assert_eq!(
            (owner.manager.as_str(), owner.operation.as_str(), owner.time.as_str()),
            ("hpa", "Update", "2026-01-02T00:00:00Z")
        );
    }

    #[test]
    fn lists_of_different_items_change_as_a_whole() {
        let live = json!({"spec": {"rules": [{"verbs": ["get"]}, {"verbs": ["list"]}], "args": ["a"]}});
        let wanted = json!({"spec": {"rules": [{"verbs": ["get"]}], "args": ["b"]}});
        assert_eq!(paths(&live, &wanted), ["spec.rules", "spec.args"]);
    }
}
