//! The Secret as an object: for the cluster with base64 `data`, for a file with readable `stringData`.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use zeroize::Zeroize;

use super::SecretContent;
use crate::k8s::ObjectId;

/// A Secret that is ready to be written.
#[derive(Clone, Debug)]
pub struct SecretObject {
    pub name: String,
    pub namespace: String,
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
    pub immutable: bool,
    pub content: SecretContent,
}

/// A Secret as JSON: its data is zeroed when dropped and not shown by `Debug`.
pub struct SecretManifest(Value);

impl SecretManifest {
    /// Wraps a Secret that exists already.
    pub fn of(secret: Value) -> Self {
        SecretManifest(secret)
    }
}

impl Deref for SecretManifest {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.0
    }
}

impl fmt::Debug for SecretManifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl Drop for SecretManifest {
    fn drop(&mut self) {
        for key in ["data", "stringData"] {
            let values = self.0.get_mut(key).and_then(Value::as_object_mut).into_iter().flatten();
            for (_, value) in values {
                if let Value::String(text) = value {
                    text.zeroize();
                }
            }
        }
    }
}

/// The reason why the API server refuses to change an existing Secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplaceReason {
    /// The type differs: it is this one, and the API server never changes a type.
    OtherType(String),
    /// The existing Secret is immutable and differs from the new one.
    Immutable,
}

impl SecretObject {
    /// Returns the identity of the object.
    pub fn id(&self) -> ObjectId {
        ObjectId::new("", "Secret", Some(&self.namespace), &self.name).at("v1")
    }

    /// Returns the manifest for server-side apply.
    pub fn manifest(&self) -> SecretManifest {
        let data: Map<String, Value> = self
            .content
            .data
            .iter()
            .map(|(key, value)| (key.clone(), STANDARD.encode(value.expose()).into()))
            .collect();
        let mut object = self.head();
        object.insert("type".into(), self.content.type_.into());
        object.insert("data".into(), data.into());
        if self.immutable {
            object.insert("immutable".into(), true.into());
        }
        SecretManifest(object.into())
    }

    /// Returns the manifest for a file, its keys in order: text under `stringData`, other bytes under `data`.
    pub fn export(&self) -> SecretManifest {
        let (mut binary, mut text) = (Map::new(), Map::new());
        for (key, value) in &self.content.data {
            match value.expose_text() {
                Some(readable) => text.insert(key.clone(), readable.into()),
                None => binary.insert(key.clone(), STANDARD.encode(value.expose()).into()),
            };
        }
        let mut object = self.head();
        if !binary.is_empty() {
            object.insert("data".into(), binary.into());
        }
        if self.immutable {
            object.insert("immutable".into(), true.into());
        }
        if !text.is_empty() {
            object.insert("stringData".into(), text.into());
        }
        object.insert("type".into(), self.content.type_.into());
        object.sort_keys();
        SecretManifest(object.into())
    }

    /// Returns why this Secret has to replace an existing one; `None` if the API server accepts it as a change.
    pub fn replace_reason(&self, live: &Value) -> Option<ReplaceReason> {
        // The API server stores `Opaque` where a Secret names no type.
        let live_type = live.get("type").and_then(Value::as_str).unwrap_or(super::OPAQUE);
        if live_type != self.content.type_ {
            return Some(ReplaceReason::OtherType(live_type.to_owned()));
        }
        let is_immutable = live.get("immutable").and_then(Value::as_bool).unwrap_or(false);
        let same_data = live.get("data").unwrap_or(&Value::Null) == &self.manifest()["data"];
        // Metadata of an immutable Secret may change. Its data may not, and it cannot become mutable again.
        (is_immutable && !(same_data && self.immutable)).then_some(ReplaceReason::Immutable)
    }

    fn head(&self) -> Map<String, Value> {
        let mut metadata = Map::new();
        for (key, pairs) in [("annotations", &self.annotations), ("labels", &self.labels)] {
            if !pairs.is_empty() {
                metadata.insert(key.into(), json!(pairs));
            }
        }
        metadata.insert("name".into(), self.name.clone().into());
        metadata.insert("namespace".into(), self.namespace.clone().into());
        let mut object = Map::new();
        object.insert("apiVersion".into(), "v1".into());
        object.insert("kind".into(), "Secret".into());
        object.insert("metadata".into(), metadata.into());
        object
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secrets::{OPAQUE, content};

    fn secret() -> SecretObject {
        SecretObject {
            name: "s".into(),
            namespace: "apps".into(),
            labels: [("team".to_owned(), "a".to_owned())].into(),
            annotations: BTreeMap::new(),
            immutable: true,
            content: content(OPAQUE, [("b", Some(vec![0xff].into())), ("a", Some("text".into()))]),
        }
    }

    #[test]
    fn an_export_is_sorted_readable_and_keeps_immutable() {
        assert_eq!(
            secret().export().to_string(),
            r#"{"apiVersion":"v1","data":{"b":"/w=="},"immutable":true,"kind":"Secret","metadata":{"labels":{"team":"a"},"name":"s","namespace":"apps"},"stringData":{"a":"text"},"type":"Opaque"}"#
        );
    }

    #[test]
    fn a_manifest_carries_base64_and_is_immutable_only_on_request() {
        let manifest = secret().manifest();
        assert_eq!(manifest["data"]["a"], "dGV4dA==");
        assert_eq!(manifest["immutable"], true);
        assert_eq!(SecretObject { immutable: false, ..secret() }.manifest().get("immutable"), None);
    }

    #[test]
    fn a_manifest_is_not_shown_by_debug_output() {
        assert_eq!(format!("{:?} {:?}", secret().manifest(), secret().export()), "[redacted] [redacted]");
    }

    #[test]
    fn another_type_or_an_immutable_secret_requires_a_replacement() {
        let live = |type_: &str, immutable: bool, a: &str| json!({"type": type_, "immutable": immutable, "data": {"a": a, "b": "/w=="}});
        assert_eq!(secret().replace_reason(&live("Opaque", false, "x")), None);
        assert_eq!(secret().replace_reason(&live("Opaque", true, "dGV4dA==")), None);
        assert_eq!(secret().replace_reason(&live("Opaque", true, "x")), Some(ReplaceReason::Immutable));
        let open = SecretObject { immutable: false, ..secret() };
        assert_eq!(open.replace_reason(&live("Opaque", true, "dGV4dA==")), Some(ReplaceReason::Immutable));
        assert_eq!(
            secret().replace_reason(&live("kubernetes.io/tls", false, "x")),
            Some(ReplaceReason::OtherType("kubernetes.io/tls".into()))
        );
    }
}
