//! How an object is named in messages: `kind/namespace/name`, the kind in lower case.

use std::fmt;

use kube::core::DynamicObject;
use serde_json::Value;

/// Names one object for a reader; it is no API coordinate.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectRef {
    /// CamelCase kind, as in a manifest.
    pub kind: String,
    /// None for cluster-wide objects.
    pub namespace: Option<String>,
    pub name: String,
}

impl ObjectRef {
    pub fn new(kind: impl Into<String>, namespace: Option<&str>, name: impl Into<String>) -> Self {
        ObjectRef { kind: kind.into(), namespace: namespace.map(str::to_owned), name: name.into() }
    }

    /// Reads kind, namespace and name from a manifest; what is missing is empty.
    pub fn of(object: &Value) -> Self {
        let text = |pointer| object.pointer(pointer).and_then(Value::as_str);
        ObjectRef::new(
            text("/kind").unwrap_or_default(),
            text("/metadata/namespace"),
            text("/metadata/name").unwrap_or_default(),
        )
    }
}

impl From<&DynamicObject> for ObjectRef {
    fn from(object: &DynamicObject) -> Self {
        ObjectRef {
            kind: object.types.as_ref().map(|t| t.kind.clone()).unwrap_or_default(),
            namespace: object.metadata.namespace.clone(),
            name: object.metadata.name.clone().unwrap_or_default(),
        }
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/", self.kind.to_lowercase())?;
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}/")?;
        }
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_named_kind_namespace_name() {
        let secret = serde_json::json!({"kind": "Secret", "metadata": {"namespace": "apps", "name": "git-auth"}});
        assert_eq!(ObjectRef::of(&secret).to_string(), "secret/apps/git-auth");
        assert_eq!(ObjectRef::new("ClusterRole", None, "admin").to_string(), "clusterrole/admin");
    }
}
