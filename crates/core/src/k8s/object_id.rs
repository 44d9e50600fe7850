//! The identity of an object: its location at the API server, and its name in inventories and messages.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fields;
use super::rbac::RBAC_GROUP;

/// An object's identity.
///
/// The version is the one in which the object was written or is requested. It is not part of the identity: two ids that
/// differ only in version are equal.
#[derive(Clone, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObjectId {
    /// Empty for the core group.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// Version without the group; empty if unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    pub kind: String,
    /// Empty for cluster-scoped objects.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    pub name: String,
}

/// An inventory id without four parts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid inventory entry {0:?}: want namespace_name_group_kind")]
pub struct InvalidInventoryId(pub String);

const RBAC_KINDS: [&str; 4] = ["Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"];

/// Splits an `apiVersion` into group (empty for core) and version.
pub fn split_api_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

impl ObjectId {
    /// An object whose version is unknown or irrelevant.
    pub fn new(group: &str, kind: &str, namespace: Option<&str>, name: &str) -> Self {
        ObjectId {
            group: group.to_owned(),
            version: String::new(),
            kind: kind.to_owned(),
            namespace: namespace.unwrap_or_default().to_owned(),
            name: name.to_owned(),
        }
    }

    /// The same object in another version.
    #[must_use]
    pub fn at(self, version: &str) -> Self {
        ObjectId { version: version.to_owned(), ..self }
    }

    /// Reads the identity of an object; missing parts are empty.
    pub fn of(object: &Value) -> Self {
        let (group, version) = split_api_version(fields::text(object, "/apiVersion"));
        ObjectId::new(group, fields::kind(object), fields::namespace(object), fields::name(object)).at(version)
    }

    /// Returns the namespace, `None` for a cluster-scoped object.
    pub fn namespace(&self) -> Option<&str> {
        Some(self.namespace.as_str()).filter(|namespace| !namespace.is_empty())
    }

    /// Returns `group/version`, or the version alone in the core group.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// Returns `kind/namespace/name` with the kind in lower case, as kubectl prints results.
    pub fn lower_case(&self) -> String {
        ObjectId { kind: self.kind.to_lowercase(), ..self.clone() }.to_string()
    }

    /// Returns the id of an inventory entry: `<namespace>_<name>_<group>_<kind>`.
    ///
    /// Namespace and group may be empty. Names of RBAC objects may hold colons, which are written as two underscores
    /// (<https://fluxcd.io/flux/components/kustomize/kustomizations/#inventory>).
    pub(crate) fn inventory_id(&self) -> String {
        let ObjectId { namespace, name, group, kind, .. } = self;
        if group == RBAC_GROUP && RBAC_KINDS.contains(&kind.as_str()) {
            format!("{namespace}_{}_{group}_{kind}", name.replace(':', "__"))
        } else {
            format!("{namespace}_{name}_{group}_{kind}")
        }
    }

    /// Parses the id of an inventory entry; an inventory keeps the version separately.
    ///
    /// # Errors
    /// The text does not have four parts, or lacks the kind or the name.
    pub fn from_inventory_id(id: &str) -> Result<Self, InvalidInventoryId> {
        let invalid = || InvalidInventoryId(id.into());
        // Names may contain underscores and the other parts cannot, so split from both ends.
        let (namespace, rest) = id.split_once('_').ok_or_else(invalid)?;
        let (rest, kind) = rest.rsplit_once('_').ok_or_else(invalid)?;
        let (name, group) = rest.rsplit_once('_').ok_or_else(invalid)?;
        if name.is_empty() || kind.is_empty() {
            return Err(invalid());
        }
        Ok(ObjectId::new(group, kind, Some(namespace), &name.replace("__", ":")))
    }

    /// The parts of the identity, in sort order.
    fn parts(&self) -> (&str, &str, &str, &str) {
        (&self.group, &self.kind, &self.namespace, &self.name)
    }
}

impl PartialEq for ObjectId {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for ObjectId {}

impl PartialOrd for ObjectId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ObjectId {
    fn cmp(&self, other: &Self) -> Ordering {
        self.parts().cmp(&other.parts())
    }
}

impl Hash for ObjectId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.parts().hash(state);
    }
}

/// `Kind/namespace/name`, or `Kind/name` for a cluster-scoped object.
impl fmt::Display for ObjectId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace() {
            Some(namespace) => write!(formatter, "{}/{namespace}/{}", self.kind, self.name),
            None => write!(formatter, "{}/{}", self.kind, self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_id_reads_like_kubectl_names_it() {
        let role =
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "view"}});
        assert_eq!(ObjectId::of(&role).to_string(), "ClusterRole/view");
        assert_eq!(ObjectId::of(&role).lower_case(), "clusterrole/view");
        assert_eq!(ObjectId::of(&role).namespace(), None);
        let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "n"}});
        assert_eq!(ObjectId::of(&service).to_string(), "Service/n/s");
        assert_eq!(ObjectId::of(&service).lower_case(), "service/n/s");
        assert_eq!(ObjectId::of(&service).api_version(), "v1");
    }

    #[test]
    fn two_versions_of_one_object_are_one_object() {
        let bucket = ObjectId::new("source.toolkit.fluxcd.io", "Bucket", Some("n"), "b");
        assert_eq!(bucket.clone().at("v1"), bucket.clone().at("v1beta2"));
        let set = std::collections::HashSet::from([bucket.clone().at("v1"), bucket.clone().at("v1beta2")]);
        assert_eq!(set.len(), 1);
        assert_ne!(bucket, ObjectId { group: "example.com".into(), ..bucket.clone() });
    }

    #[test]
    fn inventory_ids_have_the_text_other_operators_write() {
        let object = |api_version: &str, kind: &str, namespace: Option<&str>, name: &str| json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": namespace}});
        let rows = [
            (
                object("v1", "Service", Some("flux-system"), "source-controller"),
                "flux-system_source-controller__Service",
            ),
            (object("apps/v1", "Deployment", Some("a"), "b"), "a_b_apps_Deployment"),
            (
                object("rbac.authorization.k8s.io/v1", "ClusterRole", None, "crd-controller-flux-system"),
                "_crd-controller-flux-system_rbac.authorization.k8s.io_ClusterRole",
            ),
            (
                object("rbac.authorization.k8s.io/v1", "Role", Some("n"), "a:b:c"),
                "n_a__b__c_rbac.authorization.k8s.io_Role",
            ),
            (object("v1", "Namespace", None, "x"), "_x__Namespace"),
            (
                object("source.toolkit.fluxcd.io/v1beta2", "Bucket", Some("n"), "b"),
                "n_b_source.toolkit.fluxcd.io_Bucket",
            ),
            // Only names of RBAC kinds may contain colons.
            (object("example.com/v1", "Role", Some("n"), "a:b"), "n_a:b_example.com_Role"),
        ];
        for (object, id) in rows {
            assert_eq!(ObjectId::of(&object).inventory_id(), id);
            assert_eq!(ObjectId::from_inventory_id(id), Ok(ObjectId::of(&object)));
        }
    }

    #[test]
    fn texts_without_four_parts_are_refused() {
        for text in ["", "a", "a_b", "a_b_c", "___", "_x__", "a__g_K"] {
            assert_eq!(ObjectId::from_inventory_id(text), Err(InvalidInventoryId(text.into())), "{text}");
        }
    }

    proptest! {
        /// RBAC names may contain colons and single underscores; the encoding is ambiguous only where a colon is next
        /// to an underscore.
        #[test]
        fn ids_survive_the_round_trip(
            namespace in "[a-z0-9-]{0,8}",
            name in "[a-z0-9.-]{1,6}([:_][a-z0-9.-]{1,6}){0,3}",
            group in prop_oneof![Just("rbac.authorization.k8s.io".to_string()), Just(String::new()), "[a-z.]{1,9}"],
            kind in prop_oneof![Just("ClusterRole".to_string()), "[A-Z][a-z]{1,9}"],
        ) {
            let id = ObjectId { namespace, name, group, kind, version: String::new() };
            prop_assert_eq!(ObjectId::from_inventory_id(&id.inventory_id()), Ok(id));
        }

        #[test]
        fn any_text_is_parsed_or_refused(text in "\\PC{0,30}|[a_:]{0,12}") {
            let _ = ObjectId::from_inventory_id(&text);
        }
    }
}
