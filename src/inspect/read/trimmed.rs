//! Deserialises objects without the parts that no view reads: field sets of managed fields are half of the text of most
//! objects.
//!
//! It keeps what [`super::snapshot::trim`] keeps. Dropped parts are never in memory, as far as they can be recognised
//! while reading.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::api::field_managers::Author;
use crate::api::kinds::{FLUX_KINDS, Suspension};

/// An object without the field sets of controllers, except fields that suspend it; without `MANAGERS` it has no managed
/// fields at all.
#[derive(Debug)]
pub(super) struct TrimmedObject<const MANAGERS: bool>(pub(super) Value);

impl<'de, const MANAGERS: bool> serde::Deserialize<'de> for TrimmedObject<MANAGERS> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let place = if MANAGERS { JsonPosition::Object } else { JsonPosition::Unmanaged };
        place.deserialize(deserializer).map(TrimmedObject)
    }
}

/// A definition (CustomResourceDefinition) without the schemas of its versions, which are nearly all of its text.
#[derive(Debug)]
pub(super) struct TrimmedDefinition(pub(super) Value);

impl<'de> serde::Deserialize<'de> for TrimmedDefinition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        JsonPosition::Definition.deserialize(deserializer).map(TrimmedDefinition)
    }
}

/// The position of the reader.
#[derive(Clone, Copy)]
enum JsonPosition {
    Object,
    /// An object without managed fields.
    Unmanaged,
    UnmanagedMetadata,
    Definition,
    DefinitionSpec,
    DefinitionVersions,
    DefinitionVersion,
    Metadata,
    ManagedFields,
    /// A manager whose name is not known yet.
    Manager,
}

impl<'de> DeserializeSeed<'de> for JsonPosition {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        match self {
            JsonPosition::ManagedFields | JsonPosition::DefinitionVersions => deserializer.deserialize_seq(self),
            _ => deserializer.deserialize_map(self),
        }
    }
}

impl<'de> Visitor<'de> for JsonPosition {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            JsonPosition::ManagedFields | JsonPosition::DefinitionVersions => "a list",
            _ => "an object",
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = vec![];
        let item = if matches!(self, JsonPosition::DefinitionVersions) {
            JsonPosition::DefinitionVersion
        } else {
            JsonPosition::Manager
        };
        while let Some(item) = items.next_element_seed(item)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            let value = match (self, key.as_str()) {
                (JsonPosition::Object | JsonPosition::Definition, "metadata") => {
                    members.next_value_seed(JsonPosition::Metadata)?
                }
                (JsonPosition::Unmanaged, "metadata") => members.next_value_seed(JsonPosition::UnmanagedMetadata)?,
                (JsonPosition::Definition, "spec") => members.next_value_seed(JsonPosition::DefinitionSpec)?,
                (JsonPosition::DefinitionSpec, "versions") => {
                    members.next_value_seed(JsonPosition::DefinitionVersions)?
                }
                (JsonPosition::DefinitionVersion, "schema") | (JsonPosition::UnmanagedMetadata, "managedFields") => {
                    members.next_value::<IgnoredAny>()?;
                    continue;
                }
                (JsonPosition::Metadata, "managedFields") => members.next_value_seed(JsonPosition::ManagedFields)?,
                // The API server writes the manager first
                // (<https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.36/#managedfieldsentry-v1-meta>).
                (JsonPosition::Manager, "fieldsV1") if is_controller(&map) => {
                    match members.next_value_seed(SuspendingFields)? {
                        Some(set) => set,
                        None => continue,
                    }
                }
                _ => members.next_value()?,
            };
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

fn is_controller(manager: &Map<String, Value>) -> bool {
    manager.get("manager").and_then(Value::as_str).is_some_and(|name| Author::of(name) != Author::Other)
}

/// Keeps only the paths of suspending fields in a field set; `None` if it has no such path.
struct SuspendingFields;

impl<'de> DeserializeSeed<'de> for SuspendingFields {
    type Value = Option<Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<Value>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for SuspendingFields {
    type Value = Option<Value>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a field set")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Option<Value>, A::Error> {
        let (mut kept, mut is_leaf) = (Map::new(), true);
        while let Some(key) = members.next_key::<String>()? {
            is_leaf = false;
            if !leads_to_suspension(&key) {
                members.next_value::<IgnoredAny>()?;
            } else if let Some(below) = members.next_value_seed(SuspendingFields)? {
                kept.insert(key, below);
            }
        }
        // An empty set is a field that is owned as a whole.
        Ok((is_leaf || !kept.is_empty()).then_some(Value::Object(kept)))
    }
}

fn leads_to_suspension(key: &str) -> bool {
    let Some(field) = key.strip_prefix("f:") else { return false };
    ["spec", "suspend", "metadata", "annotations"].contains(&field)
        || FLUX_KINDS
            .iter()
            .any(|kind| matches!(kind.suspension, Suspension::Annotation(annotation) if annotation == field))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(object: &Value) -> Value {
        serde_json::from_str::<TrimmedObject<true>>(&object.to_string()).unwrap().0
    }

    fn object(managers: Value) -> Value {
        json!({"kind": "Kustomization", "metadata": {"name": "a", "managedFields": managers, "labels": {"x": "y"}},
            "spec": {"managedFields": [{"manager": "kubelet", "fieldsV1": {"f:x": {}}}], "list": [1, null, {"a": [true]}]}})
    }

    #[test]
    fn field_sets_of_controllers_are_reduced_to_suspension_fields_and_those_of_people_are_kept() {
        let set = json!({"f:spec": {"f:path": {}, "f:suspend": {}}, "f:metadata": {"f:labels": {"f:x": {}}}});
        let entry = |manager: &str, set: &Value| json!({"manager": manager, "operation": "Apply", "fieldsV1": set, "subresource": ""});
        let all = object(json!([entry("kubectl", &set), entry("kustomize-controller", &set)]));
        let mut expected = all.clone();
        expected["metadata"]["managedFields"][1]["fieldsV1"] = json!({"f:spec": {"f:suspend": {}}});
        assert_eq!(read(&all), expected);
    }

    #[test]
    fn a_set_without_suspension_is_dropped_and_a_field_owned_as_a_whole_is_kept() {
        let entry = |set: Value| json!({"manager": "kubelet", "fieldsV1": set});
        let all = object(json!([
            entry(json!({"f:spec": {"f:path": {}}, "f:status": {}})),
            entry(json!({"f:spec": {}})),
            entry(json!({"f:metadata": {"f:annotations": {"f:fluxcd.controlplane.io/reconcile": {}, "f:other": {}}}})),
        ]));
        let read = read(&all);
        let sets: Vec<Option<&Value>> =
            read["metadata"]["managedFields"].as_array().unwrap().iter().map(|entry| entry.get("fieldsV1")).collect();
        let annotation = json!({"f:metadata": {"f:annotations": {"f:fluxcd.controlplane.io/reconcile": {}}}});
        assert_eq!(sets, [None, Some(&json!({"f:spec": {}})), Some(&annotation)]);
        assert_eq!(read["spec"], all["spec"], "only managed fields of the object itself are meant");
    }

    #[test]
    fn without_managers_an_object_loses_its_managed_fields_and_nothing_else() {
        let all = object(json!([{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}]));
        let mut expected = all.clone();
        expected["metadata"].as_object_mut().unwrap().remove("managedFields");
        assert_eq!(serde_json::from_str::<TrimmedObject<false>>(&all.to_string()).unwrap().0, expected);
    }

    #[test]
    fn a_definition_loses_its_schemas_and_nothing_else() {
        let definition = json!({"metadata": {"name": "a", "managedFields": [{"manager": "kubelet", "fieldsV1": {"f:x": {}}}]},
            "spec": {"group": "g", "versions": [{"name": "v1", "schema": {"openAPIV3Schema": {}}, "served": true}]},
            "status": {"storedVersions": ["v1"]}});
        let mut expected = definition.clone();
        expected["spec"]["versions"][0].as_object_mut().unwrap().remove("schema");
        expected["metadata"]["managedFields"][0].as_object_mut().unwrap().remove("fieldsV1");
        assert_eq!(serde_json::from_str::<TrimmedDefinition>(&definition.to_string()).unwrap().0, expected);
    }

    #[test]
    fn an_object_with_invalid_managed_fields_is_an_error() {
        assert!(serde_json::from_str::<TrimmedObject<true>>(r#"{"metadata": {"managedFields": 1}}"#).is_err());
        assert!(serde_json::from_str::<TrimmedObject<true>>("[]").is_err());
    }
}
