//! Objects as given on the command line, and their form in messages and further command lines.

use flux_operator::api::FluxInstance;
use flux_operator::api::kinds::{self, FluxKind};
use flux_operator::api::well_known::GROUP;
use flux_operator::k8s::ObjectId;
use serde_json::Value;

/// An object given by the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindAndName {
    pub kind: &'static FluxKind,
    pub name: String,
}

/// The user's selection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectSelection {
    Objects(Vec<KindAndName>),
    /// All existing objects.
    Kinds {
        kinds: Vec<&'static FluxKind>,
        selector: Option<String>,
        all_namespaces: bool,
    },
}

impl ObjectSelection {
    /// The name of the only object, if it is of this kind.
    pub fn only(&self, kind: &FluxKind) -> Option<&str> {
        match self {
            ObjectSelection::Objects(named) => match named.as_slice() {
                [one] if one.kind == kind => Some(&one.name),
                _ => None,
            },
            ObjectSelection::Kinds { .. } => None,
        }
    }

    pub fn kinds(&self) -> Vec<&'static FluxKind> {
        match self {
            ObjectSelection::Objects(named) => named.iter().map(|one| one.kind).collect(),
            ObjectSelection::Kinds { kinds, .. } => kinds.clone(),
        }
    }
}

/// An object with its kind.
#[derive(Clone, Debug)]
pub struct Target {
    pub kind: &'static FluxKind,
    pub namespace: String,
    pub name: String,
}

impl Target {
    /// The instance of a manifest.
    pub fn of_instance(instance: &FluxInstance) -> Self {
        let name = instance.metadata.name.clone().unwrap_or_default();
        Target { kind: instance_kind(), namespace: instance.namespace_or_default().to_owned(), name }
    }

    /// Returns the object's id in the newest known version.
    pub fn id(&self) -> ObjectId {
        let version = self.kind.resource_type().version;
        ObjectId::new(self.kind.group, self.kind.kind, Some(&self.namespace), &self.name).at(&version)
    }

    /// Formats `gitrepository/flux-system/flux-system` for messages.
    pub fn reference(&self) -> String {
        self.id().lower_case()
    }

    /// Whether an object of the target's kind is suspended.
    pub fn is_suspended(&self, object: &Value) -> bool {
        self.kind.suspension.is_set(object)
    }

    /// Formats the object as words after a verb: `instance flux`, or `gitrepository/flux-system`.
    pub fn words(&self) -> String {
        if self.kind.group == GROUP && self.kind.kind == "FluxInstance" {
            format!("instance {}", self.name)
        } else {
            format!("{}/{}", self.kind.kind.to_lowercase(), self.name)
        }
    }
}

/// Returns the kind ResourceSet.
pub fn resource_set_kind() -> &'static FluxKind {
    kinds::of(GROUP, "ResourceSet").unwrap_or(&kinds::FLUX_KINDS[0])
}

/// Returns the kind FluxInstance, which is also the first in the table of kinds.
pub fn instance_kind() -> &'static FluxKind {
    kinds::of(GROUP, "FluxInstance").unwrap_or(&kinds::FLUX_KINDS[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_command_names_an_instance_by_its_own_noun() {
        let words = |kind: &str| {
            Target { kind: kinds::find(kind).unwrap(), namespace: "apps".into(), name: "a".into() }.words()
        };
        assert_eq!(words("instance"), "instance a");
        assert_eq!(words("gitrepo"), "gitrepository/a");
    }

    #[test]
    fn the_instance_has_its_own_kind() {
        assert_eq!(instance_kind().kind, "FluxInstance");
    }
}
