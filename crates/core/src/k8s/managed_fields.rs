//! Owners of fields: the set algebra of `metadata.managedFields`.
//!
//! A set is the JSON form `FieldsV1` of the API server: `f:<name>` for a member of a map, `k:{…}` for a list item
//! identified by its key fields, `v:<value>` for an item of a list of scalars, `.` for the node itself, `{}` for a leaf
//! (<https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management>). Pure.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::diff::Segment;
use super::fields::{items, text};

/// Returns the entries of `metadata.managedFields`; empty if the object has none.
pub fn entries(object: &Value) -> &[Value] {
    items(object, "/metadata/managedFields")
}

/// Returns every field that is in either set.
pub fn union(left: &Value, right: &Value) -> Value {
    let (Some(left), Some(right)) = (left.as_object(), right.as_object()) else {
        return if left.is_object() { left.clone() } else { right.clone() };
    };
    let mut all = left.clone();
    for (key, theirs) in right {
        match all.get_mut(key) {
            Some(ours) => *ours = union(ours, theirs),
            None => {
                all.insert(key.clone(), theirs.clone());
            }
        }
    }
    Value::Object(all)
}

/// Returns the fields of a set in readable form, sorted: `spec.containers[name=manager].image`.
pub fn paths(set: &Value) -> Vec<String> {
    let mut all = vec![];
    add_paths(set, "", &mut all);
    all.sort();
    all
}

fn add_paths(set: &Value, path: &str, all: &mut Vec<String>) {
    let members = set.as_object().into_iter().flatten().filter(|(name, _)| *name != ".");
    let mut is_leaf = !path.is_empty();
    for (name, below) in members {
        is_leaf = false;
        let path = match name.split_once(':') {
            Some(("f", field)) if path.is_empty() => field.to_owned(),
            Some(("f", field)) => format!("{path}.{field}"),
            Some(("k", keys)) => format!("{path}[{}]", key_text(keys)),
            // An item of a list of scalars (`v:…`) stands for its list.
            _ => path.to_owned(),
        };
        add_paths(below, &path, all);
    }
    if is_leaf && all.last().is_none_or(|last| last != path) {
        all.push(path.to_owned());
    }
}

/// `name=manager` for `{"name":"manager"}`.
fn key_text(keys: &str) -> String {
    let keys: Map<String, Value> = serde_json::from_str(keys).unwrap_or_default();
    let text = |(key, value): (&String, &Value)| match value.as_str() {
        Some(text) => format!("{key}={text}"),
        None => format!("{key}={value}"),
    };
    keys.iter().map(text).collect::<Vec<_>>().join(",")
}

/// The manager that set a field, as recorded by the API server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FieldOwner {
    pub manager: String,
    /// `Apply` or `Update`.
    pub operation: String,
    /// RFC 3339, as recorded; may be empty.
    pub time: String,
}

/// Returns the last manager other than `except` that owns the field at `path` of `object`.
///
/// A manager that owns an ancestor as a whole (an atomic list or map) owns the field. Of several owners it returns the
/// last writer, because that is the relevant change.
pub fn owner(object: &Value, path: &[Segment], except: &str) -> Option<FieldOwner> {
    entries(object)
        .iter()
        .filter(|entry| !(text(entry, "/manager") == except && text(entry, "/operation") == "Apply"))
        .filter(|entry| entry.get("fieldsV1").is_some_and(|set| covers(set, object, path)))
        // The API server writes these times in UTC, so their texts sort like the times.
        .max_by(|left, right| text(left, "/time").cmp(text(right, "/time")))
        .map(|entry| FieldOwner {
            manager: text(entry, "/manager").to_owned(),
            operation: text(entry, "/operation").to_owned(),
            time: text(entry, "/time").to_owned(),
        })
}

/// Whether a set contains the field at `path`, an ancestor as a whole, or a field below it.
fn covers(set: &Value, value: &Value, path: &[Segment]) -> bool {
    let Some(members) = set.as_object() else { return false };
    let Some((first, rest)) = path.split_first() else { return true };
    if members.is_empty() {
        return true;
    }
    match first {
        Segment::Key(key) => members
            .get(&format!("f:{key}"))
            .is_some_and(|below| covers(below, value.get(key).unwrap_or(&Value::Null), rest)),
        Segment::Index(index) => {
            let Some(item) = value.get(*index) else { return false };
            members.iter().any(|(name, below)| names_item(name, item) && covers(below, item, rest))
        }
    }
}

/// Whether a member of a set (`k:{…}` or `v:…`) identifies this list item.
pub fn names_item(name: &str, item: &Value) -> bool {
    if let Some(keys) = name.strip_prefix("k:") {
        serde_json::from_str::<Map<String, Value>>(keys)
            .is_ok_and(|keys| keys.iter().all(|(key, value)| item.get(key) == Some(value)))
    } else if let Some(scalar) = name.strip_prefix("v:") {
        serde_json::from_str::<Value>(scalar).is_ok_and(|scalar| scalar == *item)
    } else {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn key(name: &str) -> Segment {
        Segment::Key(name.into())
    }

    #[test]
    fn a_union_holds_the_fields_of_both() {
        let left = json!({"f:spec": {"f:replicas": {}, "f:template": {"f:spec": {".": {}}}}});
        let right = json!({"f:spec": {"f:paused": {}, "f:template": {"f:spec": {"f:hostNetwork": {}}}}, "f:data": {}});
        let all = json!({
            "f:spec": {"f:replicas": {}, "f:template": {"f:spec": {".": {}, "f:hostNetwork": {}}}, "f:paused": {}},
            "f:data": {}
        });
        assert_eq!(union(&left, &right), all);
        assert_eq!(union(&Value::Null, &right), right);
        assert_eq!(union(&left, &left), left);
    }

    fn deployment() -> Value {
        json!({
            "metadata": {"managedFields": [
                {"manager": "flux-operator", "operation": "Apply", "time": "2026-01-01T00:00:00Z",
                 "fieldsV1": {"f:spec": {"f:replicas": {}, "f:args": {}}}},
                {"manager": "hpa", "operation": "Update", "time": "2026-01-02T00:00:00Z",
                 "fieldsV1": {"f:spec": {"f:replicas": {}}}},
                {"manager": "me", "operation": "Apply", "time": "2026-01-03T00:00:00Z",
                 "fieldsV1": {"f:spec": {"f:containers": {"k:{\"name\":\"manager\"}": {".": {}, "f:image": {}}}, "f:tolerations": {}}}}
            ]},
            "spec": {"replicas": 3, "containers": [{"name": "side"}, {"name": "manager", "image": "x"}], "tolerations": [{"key": "a"}]}
        })
    }

    #[test]
    fn the_owner_of_a_field_is_the_other_manager_that_wrote_last() {
        let object = deployment();
        let found = owner(&object, &[key("spec"), key("replicas")], "flux-operator").unwrap();
        assert_eq!((found.manager.as_str(), found.time.as_str()), ("hpa", "2026-01-02T00:00:00Z"));
        assert_eq!(owner(&object, &[key("spec"), key("args")], "flux-operator"), None);
    }

    #[test]
    fn list_items_are_found_by_their_keys_and_atomic_lists_as_a_whole() {
        let object = deployment();
        let image = [key("spec"), key("containers"), Segment::Index(1), key("image")];
        assert_eq!(owner(&object, &image, "flux-operator").unwrap().manager, "me");
        let other = [key("spec"), key("containers"), Segment::Index(0), key("image")];
        assert_eq!(owner(&object, &other, "flux-operator"), None);
        let toleration = [key("spec"), key("tolerations"), Segment::Index(0), key("key")];
        assert_eq!(owner(&object, &toleration, "flux-operator").unwrap().manager, "me");
    }
}
