//! Strategic merge patches: mappings merge, `null` removes, lists merge by key where Kubernetes says so.
//!
//! A merged list starts with the items of the patch, each merged with the item that it names, and then has the other
//! items. In a list with two merge keys (ports), merged items keep their position and only new items go to the front.
//! The order is that of kustomize, because later patches may address items by index.

use serde_json::{Map, Value};

use crate::k8s::merge_keys::{self, ListKind, Schema};

/// The key that holds a directive.
const DIRECTIVE: &str = "$patch";
/// The protocol of a container or Service port that names none (Kubernetes API default).
const DEFAULT_PROTOCOL: &str = "TCP";

/// Why a strategic merge patch does not fit the object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at {}: {problem}", if .path.is_empty() { "the top" } else { .path })]
pub struct MergeError {
    /// Dotted path of the field, such as `spec.template.spec.containers[manager].args`.
    pub path: String,
    pub problem: String,
}

impl MergeError {
    fn new(problem: String) -> Self {
        MergeError { path: String::new(), problem }
    }

    /// Adds the parent's name to the path. The path is built only on failure, so a successful merge does not pay for
    /// it.
    fn below(mut self, parent: &str) -> Self {
        self.path = match (self.path.is_empty(), self.path.starts_with('[')) {
            (true, _) => parent.to_string(),
            (_, true) => format!("{parent}{}", self.path),
            _ => format!("{parent}.{}", self.path),
        };
        self
    }
}

enum Directive {
    Merge,
    Replace,
    Delete,
}

/// Merges a patch into an object. Returns `false` when the patch deletes the object.
///
/// Group and kind decide which lists merge by key. Name, namespace and kind are merged like any other field, so the
/// caller has to preserve them.
///
/// # Errors
/// The patch has another shape than the object, an unknown directive, or list items without their merge key.
pub(crate) fn merge(object: &mut Value, patch: &Value, group: &str, kind: &str) -> Result<bool, MergeError> {
    let merged = merge_value(
        Some(std::mem::take(object)),
        patch,
        merge_keys::of(group, kind),
        (ListKind::Atomic, merge_keys::UNTYPED),
    )?;
    match merged {
        Some(value) => {
            *object = value;
            Ok(true)
        }
        None => Ok(false),
    }
}

/// Returns the field's value after the patch; `None` when the patch removes it.
fn merge_value(
    current: Option<Value>,
    patch: &Value,
    schema: Schema,
    list: (ListKind, Schema),
) -> Result<Option<Value>, MergeError> {
    // A null field counts as missing.
    let current = current.filter(|value| !value.is_null());
    match (current, patch) {
        (_, Value::Null) => Ok(None),
        (current, Value::Object(fields)) => match (directive(fields)?, current) {
            (Directive::Delete, _) => Ok(None),
            // Merge a new field with nothing: it may contain directives and nulls, which must not end up in the object.
            (Directive::Replace, _) | (Directive::Merge, None) => {
                merge_mapping(Map::new(), fields, schema).map(|fields| Some(Value::Object(fields)))
            }
            (Directive::Merge, Some(Value::Object(current))) => {
                merge_mapping(current, fields, schema).map(|fields| Some(Value::Object(fields)))
            }
            (Directive::Merge, Some(other)) => Err(shape(&other, patch)),
        },
        (None, Value::Array(items)) => merge_list(Vec::new(), items, list).map(|items| items.map(Value::Array)),
        (Some(Value::Array(current)), Value::Array(items)) => {
            merge_list(current, items, list).map(|items| items.map(Value::Array))
        }
        (Some(other), Value::Array(_)) => Err(shape(&other, patch)),
        (Some(other @ (Value::Object(_) | Value::Array(_))), _) => Err(shape(&other, patch)),
        (_, scalar) => Ok(Some(scalar.clone())),
    }
}

fn merge_mapping(
    mut current: Map<String, Value>,
    patch: &Map<String, Value>,
    schema: Schema,
) -> Result<Map<String, Value>, MergeError> {
    for (key, value) in patch {
        if key == DIRECTIVE {
            continue;
        }
        if key.starts_with('$') {
            return Err(MergeError::new(format!(
                "the directive {key} is not supported; use $patch: delete, replace or merge"
            )));
        }
        // Take the value out and put it back: it keeps its position in the mapping and is not copied.
        let old = current.get_mut(key).map(Value::take);
        match merge_value(old, value, schema.mapping(key), schema.list(key)).map_err(|error| error.below(key))? {
            Some(merged) => {
                current.insert(key.clone(), merged);
            }
            None => {
                current.shift_remove(key);
            }
        }
    }
    Ok(current)
}

fn merge_list(
    current: Vec<Value>,
    patch: &[Value],
    (kind, items): (ListKind, Schema),
) -> Result<Option<Vec<Value>>, MergeError> {
    let (directive, patch) = list_directive(patch)?;
    let current = match directive {
        Directive::Delete if patch.is_empty() => return Ok(None),
        // With items beside it, `delete` means the same as `replace`.
        Directive::Delete | Directive::Replace => Vec::new(),
        Directive::Merge => current,
    };
    match kind {
        ListKind::Atomic => Ok(Some(patch.into_iter().cloned().collect())),
        ListKind::Set => {
            let mut merged: Vec<Value> = Vec::new();
            for item in patch.into_iter().cloned().chain(current) {
                if !merged.contains(&item) {
                    merged.push(item);
                }
            }
            Ok(Some(merged))
        }
        ListKind::Keyed(keys) => merge_keyed(current, patch, keys, items).map(Some),
    }
}

fn merge_keyed(
    mut current: Vec<Value>,
    patch: Vec<&Value>,
    keys: &'static [&'static str],
    schema: Schema,
) -> Result<Vec<Value>, MergeError> {
    let mut merged = Vec::with_capacity(current.len() + patch.len());
    let mut seen: Vec<Vec<Option<&Value>>> = Vec::with_capacity(patch.len());
    let tcp = Value::String(DEFAULT_PROTOCOL.to_string());
    for (position, item) in patch.iter().enumerate() {
        let at = |error: MergeError, wanted: &[Option<&Value>]| {
            let label = wanted.first().copied().flatten().map_or_else(|| position.to_string(), scalar_text);
            error.below(&format!("[{label}]"))
        };
        if !item.is_object() {
            return Err(at(shape_of_item(item), &[]));
        }
        let wanted = key_values(item, keys, &tcp);
        if wanted.first().copied().flatten().is_none() {
            let key = keys.first().copied().unwrap_or_default();
            return Err(at(MergeError::new(format!("the item has no {key}, which identifies it")), &[]));
        }
        if seen.contains(&wanted) {
            return Err(at(MergeError::new("the patch lists this item twice".to_string()), &wanted));
        }
        let found = current.iter().position(|candidate| same_item(&key_values(candidate, keys, &tcp), &wanted));
        // Only lists with two merge keys keep the position (see the module); in other lists merged items go to the
        // front.
        let stays = found.filter(|_| keys.len() > 1);
        let old = match stays {
            Some(index) => current.get_mut(index).map(Value::take),
            None => found.map(|index| current.remove(index)),
        };
        let value = merge_value(old, item, schema, (ListKind::Atomic, merge_keys::UNTYPED))
            .map_err(|error| at(error, &wanted))?;
        match (stays, value) {
            // An item that the patch deletes has no value.
            (None, value) => merged.extend(value),
            (Some(index), Some(value)) => {
                if let Some(place) = current.get_mut(index) {
                    *place = value;
                }
            }
            (Some(index), None) => drop(current.remove(index)),
        }
        seen.push(wanted);
    }
    merged.append(&mut current);
    Ok(merged)
}

/// The values of an item's merge keys; a port without protocol is a TCP port.
fn key_values<'a>(item: &'a Value, keys: &[&str], tcp: &'a Value) -> Vec<Option<&'a Value>> {
    keys.iter()
        .map(|key| {
            let value = item.get(key).filter(|value| !value.is_null());
            if *key == "protocol" { value.or(Some(tcp)) } else { value }
        })
        .collect()
}

/// Whether two items are the same: the first key is equal, and so is every other key that both items have.
fn same_item(candidate: &[Option<&Value>], wanted: &[Option<&Value>]) -> bool {
    candidate.first().copied().flatten().is_some()
        && candidate.iter().zip(wanted).all(|(a, b)| match (a, b) {
            (Some(a), Some(b)) => a == b,
            _ => true,
        })
}

fn directive(fields: &Map<String, Value>) -> Result<Directive, MergeError> {
    match fields.get(DIRECTIVE) {
        None => Ok(Directive::Merge),
        Some(value) => match value.as_str() {
            Some("merge") => Ok(Directive::Merge),
            Some("replace") => Ok(Directive::Replace),
            Some("delete") => Ok(Directive::Delete),
            _ => Err(MergeError::new(format!("unknown patch strategy {value}; $patch takes delete, replace or merge"))),
        },
    }
}

/// Splits a `$patch` item without other fields off a list.
fn list_directive(items: &[Value]) -> Result<(Directive, Vec<&Value>), MergeError> {
    let mut found = Directive::Merge;
    let mut rest = Vec::with_capacity(items.len());
    for item in items {
        match item.as_object() {
            Some(fields) if fields.len() == 1 && fields.contains_key(DIRECTIVE) => found = directive(fields)?,
            _ => rest.push(item),
        }
    }
    Ok((found, rest))
}

fn shape(current: &Value, patch: &Value) -> MergeError {
    MergeError::new(format!("the object has {} here, the patch has {}", type_name(current), type_name(patch)))
}

fn shape_of_item(item: &Value) -> MergeError {
    MergeError::new(format!("the items of this list are mappings, the patch has {}", type_name(item)))
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

fn scalar_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn deployment(pod: Value) -> Value {
        json!({"spec": {"template": {"spec": pod}}})
    }

    fn merged(current: Value, patch: Value) -> Result<Option<Value>, String> {
        let mut object = deployment(current);
        match merge(&mut object, &deployment(patch), "apps", "Deployment") {
            Ok(true) => Ok(Some(object["spec"]["template"]["spec"].clone())),
            Ok(false) => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }

    fn check(current: Value, patch: Value, expected: Value) {
        assert_eq!(merged(current, patch.clone()).unwrap().unwrap(), expected, "{patch}");
    }

    #[test]
    fn mappings_merge_and_null_removes() {
        check(
            json!({"a": 1, "b": {"c": 1, "d": 2}}),
            json!({"b": {"c": null, "e": 3}}),
            json!({"a": 1, "b": {"d": 2, "e": 3}}),
        );
        check(json!({"b": {"c": 1}}), json!({"b": {"c": null}}), json!({"b": {}}));
        check(json!({}), json!({"n": {"x": null}, "e": {}, "l": []}), json!({"n": {}, "e": {}, "l": []}));
        check(json!({"a": null}), json!({"a": {"b": 1}}), json!({"a": {"b": 1}}));
    }

    #[test]
    fn lists_without_merge_key_are_replaced_as_they_are() {
        check(
            json!({"tolerations": [{"key": "a"}]}),
            json!({"tolerations": [{"key": "b", "effect": null}]}),
            json!({"tolerations": [{"key": "b", "effect": null}]}),
        );
        check(json!({"tolerations": [{"key": "a"}]}), json!({"tolerations": []}), json!({"tolerations": []}));
        check(
            json!({"containers": [{"name": "m", "args": ["a", "b"]}]}),
            json!({"containers": [{"name": "m", "args": ["c"]}]}),
            json!({"containers": [{"name": "m", "args": ["c"]}]}),
        );
    }

    #[test]
    fn keyed_lists_merge_and_grow_at_the_front() {
        check(
            json!({"containers": [{"name": "m", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]}]}),
            json!({"containers": [{"name": "m", "env": [{"name": "C", "value": "3"}, {"name": "B", "value": "9"}]}]}),
            json!({"containers": [{"name": "m", "env": [{"name": "C", "value": "3"}, {"name": "B", "value": "9"}, {"name": "A", "value": "1"}]}]}),
        );
        check(
            json!({"volumes": [{"name": "d", "emptyDir": {}}]}),
            json!({"volumes": [{"name": "d", "emptyDir": null, "hostPath": {"path": "/x"}}]}),
            json!({"volumes": [{"name": "d", "hostPath": {"path": "/x"}}]}),
        );
        check(json!({"volumes": [{"name": "d"}]}), json!({"volumes": []}), json!({"volumes": [{"name": "d"}]}));
        check(json!({"volumes": [{"name": "d"}]}), json!({"volumes": null}), json!({}));
    }

    #[test]
    fn a_port_without_protocol_is_a_tcp_port() {
        check(
            json!({"containers": [{"name": "m", "ports": [{"containerPort": 80, "protocol": "TCP", "name": "http"}, {"containerPort": 80, "protocol": "UDP"}]}]}),
            json!({"containers": [{"name": "m", "ports": [{"containerPort": 80, "name": "web"}, {"containerPort": 81}]}]}),
            json!({"containers": [{"name": "m", "ports": [{"containerPort": 81}, {"containerPort": 80, "protocol": "TCP", "name": "web"}, {"containerPort": 80, "protocol": "UDP"}]}]}),
        );
        let mut service = json!({"spec": {"ports": [{"port": 80, "targetPort": 1}]}});
        merge(
            &mut service,
            &json!({"spec": {"ports": [{"port": 80, "protocol": "TCP", "targetPort": 99}]}}),
            "",
            "Service",
        )
        .unwrap();
        assert_eq!(service, json!({"spec": {"ports": [{"port": 80, "targetPort": 99, "protocol": "TCP"}]}}));
    }

    #[test]
    fn a_constraint_without_its_second_key_merges_with_the_first_that_agrees() {
        check(
            json!({"topologySpreadConstraints": [{"topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "maxSkew": 1}]}),
            json!({"topologySpreadConstraints": [{"topologyKey": "zone", "maxSkew": 2}]}),
            json!({"topologySpreadConstraints": [{"topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "maxSkew": 2}]}),
        );
    }

    #[test]
    fn directives_delete_replace_and_merge() {
        check(json!({"affinity": {"a": 1}, "b": 1}), json!({"affinity": {"$patch": "delete"}}), json!({"b": 1}));
        check(
            json!({"affinity": {"a": 1}}),
            json!({"affinity": {"$patch": "replace", "c": {"d": null}}}),
            json!({"affinity": {"c": {}}}),
        );
        check(
            json!({"affinity": {"a": 1}}),
            json!({"affinity": {"$patch": "merge", "c": 2}}),
            json!({"affinity": {"a": 1, "c": 2}}),
        );
        check(json!({}), json!({"affinity": {"$patch": "delete", "a": 1}}), json!({}));
        let two = json!({"volumes": [{"name": "a"}, {"name": "b"}]});
        check(
            two.clone(),
            json!({"volumes": [{"name": "a", "$patch": "delete"}]}),
            json!({"volumes": [{"name": "b"}]}),
        );
        check(two.clone(), json!({"volumes": [{"name": "c", "$patch": "delete"}]}), two.clone());
        check(
            two.clone(),
            json!({"volumes": [{"$patch": "replace"}, {"name": "c"}]}),
            json!({"volumes": [{"name": "c"}]}),
        );
        check(two.clone(), json!({"volumes": [{"$patch": "delete"}]}), json!({}));
        check(
            two,
            json!({"volumes": [{"name": "b", "$patch": "replace", "emptyDir": {}}]}),
            json!({"volumes": [{"name": "b", "emptyDir": {}}, {"name": "a"}]}),
        );
        check(json!({"tolerations": [{"key": "a"}]}), json!({"tolerations": [{"$patch": "delete"}]}), json!({}));
        check(
            json!({"volumes": [{"name": "a"}]}),
            json!({"volumes": [{"name": "b"}, {"$patch": "delete"}]}),
            json!({"volumes": [{"name": "b"}]}),
        );
        check(
            json!({"volumes": [{"name": "a"}]}),
            json!({"volumes": [{"name": "a", "$patch": "delete"}]}),
            json!({"volumes": []}),
        );
    }

    #[test]
    fn a_top_level_delete_removes_the_object() {
        let mut object = json!({"a": 1});
        assert!(!merge(&mut object, &json!({"$patch": "delete"}), "apps", "Deployment").unwrap());
    }

    #[test]
    fn finalizers_are_a_union_and_owner_references_merge_by_uid() {
        let mut object = json!({"metadata": {"finalizers": ["a", "b"], "ownerReferences": [{"uid": "1"}]}});
        merge(
            &mut object,
            &json!({"metadata": {"finalizers": ["c", "a"], "ownerReferences": [{"uid": "2"}]}}),
            "",
            "ConfigMap",
        )
        .unwrap();
        assert_eq!(
            object,
            json!({"metadata": {"finalizers": ["c", "a", "b"], "ownerReferences": [{"uid": "2"}, {"uid": "1"}]}})
        );
    }

    #[test]
    fn lists_of_custom_resources_are_always_replaced() {
        let mut object = json!({"spec": {"containers": [{"name": "a"}]}, "metadata": {"finalizers": ["a"]}});
        let patch = json!({"spec": {"containers": [{"name": "b"}]}, "metadata": {"finalizers": ["b"]}});
        merge(&mut object, &patch, "example.com", "Deployment").unwrap();
        assert_eq!(object, patch);
    }

    #[test]
    fn patches_that_do_not_fit_say_where_and_why() {
        let pod = json!({"containers": [{"name": "m", "args": ["a"], "image": "x"}]});
        for (patch, message) in [
            (
                json!({"containers": {"a": 1}}),
                "at spec.template.spec.containers: the object has a list here, the patch has a mapping",
            ),
            (
                json!({"containers": [{"name": "m", "image": {"a": 1}}]}),
                "at spec.template.spec.containers[m].image: the object has text here, the patch has a mapping",
            ),
            (
                json!({"containers": [{"name": "m", "args": "x"}]}),
                "at spec.template.spec.containers[m].args: the object has a list here, the patch has text",
            ),
            (
                json!({"containers": [{"image": "y"}]}),
                "at spec.template.spec.containers[0]: the item has no name, which identifies it",
            ),
            (
                json!({"containers": ["m"]}),
                "at spec.template.spec.containers[0]: the items of this list are mappings, the patch has text",
            ),
            (
                json!({"containers": [{"name": "m"}, {"name": "m"}]}),
                "at spec.template.spec.containers[m]: the patch lists this item twice",
            ),
            (
                json!({"a": {"$patch": "drop"}}),
                "at spec.template.spec.a: unknown patch strategy \"drop\"; $patch takes delete, replace or merge",
            ),
            (
                json!({"$setElementOrder/containers": []}),
                "at spec.template.spec: the directive $setElementOrder/containers is not supported; use $patch: delete, replace or merge",
            ),
        ] {
            assert_eq!(merged(pod.clone(), patch).unwrap_err(), message);
        }
    }
}
