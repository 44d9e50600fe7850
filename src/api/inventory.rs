//! The inventory in an instance's status: which objects were applied, each as one line of text.
//!
//! An entry is `<namespace>_<name>_<group>_<kind>` plus the API version. Namespace and group may be empty. Names of RBAC
//! objects may hold colons, which are written as two underscores; Flux's own controllers use the same encoding
//! (<https://fluxcd.io/flux/components/kustomize/kustomizations/#inventory>).

use std::fmt;
use std::str::FromStr;

use serde_json::Value;

use super::flux_instance::{Inventory, InventoryEntry};

/// Identity of an object in an inventory; the version is no part of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId {
    /// Empty for cluster-scoped objects.
    pub namespace: String,
    pub name: String,
    /// Empty for the core group.
    pub group: String,
    pub kind: String,
}

/// An inventory entry without four parts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid inventory entry {0:?}: want namespace_name_group_kind")]
pub struct InvalidEntry(pub String);

const RBAC_GROUP: &str = "rbac.authorization.k8s.io";
const RBAC_KINDS: [&str; 4] = ["Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"];

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ObjectId { namespace, name, group, kind } = self;
        if group == RBAC_GROUP && RBAC_KINDS.contains(&kind.as_str()) {
            write!(f, "{namespace}_{}_{group}_{kind}", name.replace(':', "__"))
        } else {
            write!(f, "{namespace}_{name}_{group}_{kind}")
        }
    }
}

impl FromStr for ObjectId {
    type Err = InvalidEntry;

    fn from_str(text: &str) -> Result<Self, InvalidEntry> {
        let invalid = || InvalidEntry(text.into());
        // Names may hold underscores, the other parts cannot: hence from both ends.
        let (namespace, rest) = text.split_once('_').ok_or_else(invalid)?;
        let (rest, kind) = rest.rsplit_once('_').ok_or_else(invalid)?;
        let (name, group) = rest.rsplit_once('_').ok_or_else(invalid)?;
        if name.is_empty() || kind.is_empty() {
            return Err(invalid());
        }
        let id = |name: String| ObjectId { namespace: namespace.into(), name, group: group.into(), kind: kind.into() };
        Ok(id(name.replace("__", ":")))
    }
}

impl ObjectId {
    /// Returns the identity of an object; nothing for a value without kind and name.
    pub fn of(object: &Value) -> Option<Self> {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        let api_version = text("/apiVersion").unwrap_or_default();
        Some(ObjectId {
            namespace: text("/metadata/namespace").unwrap_or_default().into(),
            name: text("/metadata/name")?.into(),
            group: api_version.rsplit_once('/').map(|(group, _)| group).unwrap_or_default().into(),
            kind: text("/kind")?.into(),
        })
    }
}

/// Returns the entry of an object; nothing for a value without kind and name.
pub fn entry(object: &Value) -> Option<InventoryEntry> {
    let api_version = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    let version = api_version.rsplit('/').next().unwrap_or_default();
    Some(InventoryEntry { id: ObjectId::of(object)?.to_string(), v: version.into() })
}

/// Returns the inventory of objects, in their order.
pub fn of(objects: &[Value]) -> Inventory {
    Inventory { entries: objects.iter().filter_map(entry).collect() }
}

/// Returns the entries of `old` that `new` does not have, with the version of `old`, in the order of `old`.
///
/// The version does not count: an object that is now applied at another version is still the same object.
pub fn diff(old: &Inventory, new: &Inventory) -> Vec<InventoryEntry> {
    let kept: std::collections::HashSet<&str> = new.entries.iter().map(|entry| entry.id.as_str()).collect();
    old.entries.iter().filter(|entry| !kept.contains(entry.id.as_str())).cloned().collect()
}

/// Returns `new` followed by the entries of `kept` that it does not have: objects whose removal is still owed.
pub fn merge(new: Inventory, kept: &[InventoryEntry]) -> Inventory {
    let owed = diff(&Inventory { entries: kept.to_vec() }, &new);
    Inventory { entries: new.entries.into_iter().chain(owed).collect() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn object(api_version: &str, kind: &str, namespace: Option<&str>, name: &str) -> Value {
        json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": namespace}})
    }

    #[test]
    fn entries_have_the_text_other_operators_write() {
        let rows = [
            (
                object("v1", "Service", Some("flux-system"), "source-controller"),
                "flux-system_source-controller__Service",
                "v1",
            ),
            (object("apps/v1", "Deployment", Some("a"), "b"), "a_b_apps_Deployment", "v1"),
            (
                object("rbac.authorization.k8s.io/v1", "ClusterRole", None, "crd-controller-flux-system"),
                "_crd-controller-flux-system_rbac.authorization.k8s.io_ClusterRole",
                "v1",
            ),
            (
                object("rbac.authorization.k8s.io/v1", "Role", Some("n"), "a:b:c"),
                "n_a__b__c_rbac.authorization.k8s.io_Role",
                "v1",
            ),
            (object("v1", "Namespace", None, "x"), "_x__Namespace", "v1"),
            (
                object("source.toolkit.fluxcd.io/v1beta2", "Bucket", Some("n"), "b"),
                "n_b_source.toolkit.fluxcd.io_Bucket",
                "v1beta2",
            ),
        ];
        for (object, id, version) in rows {
            let entry = entry(&object).unwrap();
            assert_eq!((entry.id.as_str(), entry.v.as_str()), (id, version));
            assert_eq!(id.parse(), Ok(ObjectId::of(&object).unwrap()));
        }
        assert_eq!(entry(&json!({"kind": "X"})), None);
    }

    #[test]
    fn colons_are_encoded_for_rbac_kinds_only() {
        let other = object("example.com/v1", "Role", Some("n"), "a:b");
        assert_eq!(entry(&other).unwrap().id, "n_a:b_example.com_Role");
    }

    #[test]
    fn texts_without_four_parts_are_refused() {
        for text in ["", "a", "a_b", "a_b_c", "___", "_x__", "a__g_K"] {
            assert_eq!(text.parse::<ObjectId>(), Err(InvalidEntry(text.into())), "{text}");
        }
    }

    #[test]
    fn the_difference_ignores_versions_and_keeps_the_old_order() {
        let entries = |rows: &[(&str, &str)]| Inventory {
            entries: rows.iter().map(|(id, v)| InventoryEntry { id: id.to_string(), v: v.to_string() }).collect(),
        };
        let old = entries(&[("_b__K", "v1beta1"), ("_a__K", "v1"), ("_c__K", "v1")]);
        let new = entries(&[("_a__K", "v2"), ("_d__K", "v1")]);
        assert_eq!(diff(&old, &new), entries(&[("_b__K", "v1beta1"), ("_c__K", "v1")]).entries);
        assert_eq!(diff(&new, &new), []);
        assert_eq!(diff(&entries(&[]), &new), []);
        let merged = merge(new.clone(), &entries(&[("_b__K", "v1beta1"), ("_a__K", "v1")]).entries);
        assert_eq!(merged, entries(&[("_a__K", "v2"), ("_d__K", "v1"), ("_b__K", "v1beta1")]));
    }

    proptest! {
        /// RBAC names may hold colons and single underscores; a colon next to an underscore is the one thing the
        /// encoding cannot tell apart.
        #[test]
        fn ids_survive_the_round_trip(
            namespace in "[a-z0-9-]{0,8}",
            name in "[a-z0-9.-]{1,6}([:_][a-z0-9.-]{1,6}){0,3}",
            group in prop_oneof![Just("rbac.authorization.k8s.io".to_string()), Just(String::new()), "[a-z.]{1,9}"],
            kind in prop_oneof![Just("ClusterRole".to_string()), "[A-Z][a-z]{1,9}"],
        ) {
            let id = ObjectId { namespace, name, group, kind };
            prop_assert_eq!(id.to_string().parse::<ObjectId>(), Ok(id));
        }

        #[test]
        fn any_text_is_parsed_or_refused(text in "\\PC{0,30}|[a_:]{0,12}") {
            let _ = text.parse::<ObjectId>();
        }
    }
}
