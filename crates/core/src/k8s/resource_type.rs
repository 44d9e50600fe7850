//! API server paths of a kind.

use std::borrow::Cow;

use serde_json::Value;

use super::fields;

/// A kind's location at the API server.
///
/// The texts are borrowed for kinds known at compile time and owned for kinds found by discovery.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceType {
    /// API group; empty for the core group.
    pub group: Cow<'static, str>,
    pub version: Cow<'static, str>,
    pub kind: Cow<'static, str>,
    pub plural: Cow<'static, str>,
    pub namespaced: bool,
}

impl ResourceType {
    const fn known(
        group: &'static str,
        version: &'static str,
        kind: &'static str,
        plural: &'static str,
        namespaced: bool,
    ) -> Self {
        ResourceType {
            group: Cow::Borrowed(group),
            version: Cow::Borrowed(version),
            kind: Cow::Borrowed(kind),
            plural: Cow::Borrowed(plural),
            namespaced,
        }
    }

    /// A namespaced kind known at compile time.
    pub const fn namespaced(
        group: &'static str,
        version: &'static str,
        kind: &'static str,
        plural: &'static str,
    ) -> Self {
        Self::known(group, version, kind, plural, true)
    }

    /// A cluster-scoped kind known at compile time.
    pub const fn cluster(group: &'static str, version: &'static str, kind: &'static str, plural: &'static str) -> Self {
        Self::known(group, version, kind, plural, false)
    }

    /// The kind that a custom resource definition defines, in one of its versions.
    pub fn of_definition(definition: &Value, version: String) -> Self {
        let text = |pointer: &str| Cow::Owned(fields::text(definition, pointer).to_owned());
        ResourceType {
            group: text("/spec/group"),
            version: version.into(),
            kind: text("/spec/names/kind"),
            plural: text("/spec/names/plural"),
            namespaced: fields::text(definition, "/spec/scope") == "Namespaced",
        }
    }

    /// `group/version`, or the version alone for the core group.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.to_string() } else { format!("{}/{}", self.group, self.version) }
    }

    /// `plural.group`, the name of the custom resource definition and of `-o name`.
    pub fn resource_name(&self) -> String {
        if self.group.is_empty() { self.plural.to_string() } else { format!("{}.{}", self.plural, self.group) }
    }

    /// Path of the collection, or of one object, below the API server's address.
    pub fn path(&self, namespace: Option<&str>, name: Option<&str>) -> String {
        let mut path = if self.group.is_empty() {
            format!("/api/{}", self.version)
        } else {
            format!("/apis/{}/{}", self.group, self.version)
        };
        if let Some(namespace) = namespace.filter(|_| self.namespaced) {
            path.push_str("/namespaces/");
            path.push_str(namespace);
        }
        path.push('/');
        path.push_str(&self.plural);
        if let Some(name) = name {
            path.push('/');
            path.push_str(name);
        }
        path
    }
}

/// Returns the version in which the API server stores objects of a custom resource definition.
pub fn storage_version(definition: &Value) -> Option<String> {
    let versions = fields::items(definition, "/spec/versions");
    let stored = versions.iter().find(|version| version.get("storage") == Some(&Value::Bool(true)))?;
    stored.get("name")?.as_str().map(str::to_owned)
}
