//! An object that owns others: its inventory lists them, and they carry its labels.

use std::fmt;

use serde_json::Value;

use super::well_known::{
    DISABLED, GROUP, OWNER_NAME_LABEL, OWNER_NAMESPACE_LABEL, PRUNE, SET_OWNER_NAME_LABEL, SET_OWNER_NAMESPACE_LABEL,
    VERSION,
};
use crate::k8s::ObjectId;

/// The kinds that own objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OwnerKind {
    FluxInstance,
    ResourceSet,
}

impl OwnerKind {
    const ALL: [OwnerKind; 2] = [OwnerKind::FluxInstance, OwnerKind::ResourceSet];

    pub fn as_str(self) -> &'static str {
        match self {
            OwnerKind::FluxInstance => "FluxInstance",
            OwnerKind::ResourceSet => "ResourceSet",
        }
    }

    /// The labels with name and namespace of the owner.
    fn label_keys(self) -> [&'static str; 2] {
        match self {
            OwnerKind::FluxInstance => [OWNER_NAME_LABEL, OWNER_NAMESPACE_LABEL],
            OwnerKind::ResourceSet => [SET_OWNER_NAME_LABEL, SET_OWNER_NAMESPACE_LABEL],
        }
    }
}

/// An object that owns others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InventoryOwner {
    pub kind: OwnerKind,
    pub namespace: String,
    pub name: String,
}

impl InventoryOwner {
    pub fn new(kind: OwnerKind, namespace: impl Into<String>, name: impl Into<String>) -> Self {
        InventoryOwner { kind, namespace: namespace.into(), name: name.into() }
    }

    pub fn id(&self) -> ObjectId {
        ObjectId::new(GROUP, self.kind.as_str(), Some(&self.namespace), &self.name).at(VERSION)
    }

    /// The labels that its objects carry.
    pub fn labels(&self) -> [(&'static str, &str); 2] {
        let [name, namespace] = self.kind.label_keys();
        [(name, &self.name), (namespace, &self.namespace)]
    }

    /// The label selector that finds its objects.
    pub fn selector(&self) -> String {
        self.labels().map(|(key, value)| format!("{key}={value}")).join(",")
    }

    /// Returns the owners of the given kind whose labels an object carries.
    pub fn labelled(live: &Value, kind: OwnerKind) -> Option<InventoryOwner> {
        let labels = live.pointer("/metadata/labels")?;
        let text = |key: &str| labels.get(key)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let [name, namespace] = kind.label_keys();
        Some(InventoryOwner { kind, namespace: text(namespace)?, name: text(name)? })
    }

    /// Returns an owner of an object other than this one.
    pub fn other_owner(&self, live: &Value) -> Option<InventoryOwner> {
        OwnerKind::ALL.into_iter().filter_map(|kind| InventoryOwner::labelled(live, kind)).find(|owner| owner != self)
    }

    /// Returns why the owner must not delete an object that it no longer applies, or `None` when it may.
    pub fn protection(&self, live: &Value) -> Option<String> {
        // Unlike a FluxInstance, a ResourceSet may delete its namespaces, such as those of tenants.
        if self.kind == OwnerKind::FluxInstance && live.get("kind").is_some_and(|kind| kind == "Namespace") {
            return Some("it may contain other resources".to_owned());
        }
        let value = |map: &str, key: &str| live.get("metadata")?.get(map)?.get(key)?.as_str().map(str::to_owned);
        for (label, wanted) in self.labels() {
            if value("labels", label).as_deref() != Some(wanted) {
                return Some(format!("its label {label} is not {wanted}"));
            }
        }
        let is_disabled = |map: &&str| value(map, PRUNE).is_some_and(|value| value.eq_ignore_ascii_case(DISABLED));
        ["labels", "annotations"].iter().find(|map| is_disabled(map)).map(|_| format!("{PRUNE} is {DISABLED}"))
    }
}

impl fmt::Display for InventoryOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.id().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(kind: &str, labels: Value, annotations: Value) -> Value {
        json!({"kind": kind, "metadata": {"labels": labels, "annotations": annotations}})
    }

    #[test]
    fn an_object_may_be_deleted_by_the_owner_of_both_labels_unless_it_is_protected() {
        let set = InventoryOwner::new(OwnerKind::ResourceSet, "apps", "web");
        let ours = json!({SET_OWNER_NAME_LABEL: "web", SET_OWNER_NAMESPACE_LABEL: "apps"});
        assert_eq!(set.protection(&object("Namespace", ours.clone(), json!({}))), None);
        assert!(set.protection(&object("ConfigMap", json!({SET_OWNER_NAME_LABEL: "web"}), json!({}))).is_some());
        assert!(set.protection(&object("ConfigMap", ours.clone(), json!({PRUNE: "Disabled"}))).is_some());
        let instance = InventoryOwner::new(OwnerKind::FluxInstance, "apps", "web");
        assert!(instance.protection(&object("ConfigMap", ours.clone(), json!({}))).is_some(), "other labels");
        let theirs = json!({OWNER_NAME_LABEL: "web", OWNER_NAMESPACE_LABEL: "apps"});
        assert!(instance.protection(&object("Namespace", theirs, json!({}))).is_some());
        assert_eq!(instance.other_owner(&object("ConfigMap", ours, json!({}))), Some(set));
    }

    #[test]
    fn a_selector_names_both_labels() {
        let set = InventoryOwner::new(OwnerKind::ResourceSet, "apps", "web");
        assert_eq!(
            set.selector(),
            "resourceset.fluxcd.controlplane.io/name=web,resourceset.fluxcd.controlplane.io/namespace=apps"
        );
    }
}
