//! The rights of command lines: each command has rows for its requests to the API server, with their conditions.
//!
//! ```text
//! rows beside the command ─┐
//! objects of the line ─────┴► Rights ──► rbac: Role per namespace, ClusterRole, a comment for each condition
//! ```
//! A row without a condition is used by every run. Whether a run uses a row with a condition depends on the cluster,
//! not on the command line.

use std::collections::BTreeMap;

use flux_operator::api::kinds::{self, FLUX_KINDS, FluxKind, ResourceType};
use flux_operator::api::object_words::ObjectWords;
use flux_operator::api::well_known::DEFAULT_NAMESPACE;
use flux_operator::k8s::rbac::{Permission, RBAC_GROUP};
use flux_operator::k8s::{ObjectId, fields};
use flux_operator::operator::{OperatorParams, manifests, rights_of_run};

use crate::session::target::{ObjectSelection, instance_kind, resource_set_kind};
use crate::terminal::CliError;

/// A row: verbs on resources, both separated by spaces, as in `get list` and `deployments pods/log`.
#[derive(Clone, Copy, Debug)]
pub struct Right {
    verbs: &'static str,
    resources: &'static str,
    condition: Option<&'static str>,
}

/// A right that every run uses.
pub const fn always(verbs: &'static str, resources: &'static str) -> Right {
    Right { verbs, resources, condition: None }
}

/// A right that a run uses under a condition that the command line does not decide.
pub const fn when(condition: &'static str, verbs: &'static str, resources: &'static str) -> Right {
    Right { verbs, resources, condition: Some(condition) }
}

/// Placeholder for the resource of the kind in question.
pub const KIND: &str = "KIND";
/// Placeholder for the resources of every kind of Flux and its operator.
pub const FLUX: &str = "FLUX";

/// Rights to look for an operator that watches the instance.
pub const FINDS_OPERATOR: &[Right] = &[when("to tell whether an operator is running", "list", "deployments leases")];
/// Rights to compare an installation with its expected state: objects of the whole cluster.
pub const COMPARES_CLUSTER: &[Right] = &[
    always("list", "namespaces customresourcedefinitions"),
    always("list", "clusterroles clusterrolebindings"),
    when("a CRD is deleted together with its objects", "list", FLUX),
];
/// Rights to compare an installation with its expected state: objects of its namespace.
pub const COMPARES_NAMESPACE: &[Right] = &[
    always("list", "serviceaccounts services resourcequotas deployments networkpolicies"),
    when("the instance has persistent storage", "list get", "persistentvolumeclaims"),
    when(
        "an object that is to be pruned is read by name",
        "get",
        "serviceaccounts services resourcequotas deployments networkpolicies",
    ),
    when("the instance has a sync", "get list", FLUX),
    when("the instance pulls its distribution with a Secret", "get", "secrets"),
];
/// Rights to read the objects in an instance's inventory: those of the whole cluster.
pub const READS_INVENTORY_CLUSTER: &[Right] = &[when(
    "the inventory has such an object",
    "get list",
    "namespaces customresourcedefinitions clusterroles clusterrolebindings",
)];
/// Rights to read the objects in an instance's inventory: those of its namespace.
pub const READS_INVENTORY_NAMESPACE: &[Right] = &[
    when(
        "the inventory has such an object",
        "get list",
        "serviceaccounts services resourcequotas persistentvolumeclaims deployments networkpolicies",
    ),
    when("the inventory has such an object", "get list", FLUX),
];

/// Rights to follow an object until its controller has handled a request.
pub const FOLLOWS: &[Right] =
    &[always("list", KIND), when("the controller has not handled the request yet", "watch get", KIND)];

/// Rights for an overview of the cluster.
pub const OVERVIEW: &[Right] = &[always("get", "customresourcedefinitions"), always("list", "deployments")];
/// Rights to read the state of the operator.
pub const LOOKS_AT_OPERATOR: &[Right] =
    &[always("get", "leases"), when("no Deployment has the label of the operator", "get", "deployments")];

/// Rights to read the inputs of a ResourceSet, without those on its own objects.
pub const SET_INPUTS: &[Right] = &[when("the set names providers", "get list", "resourcesetinputproviders")];
/// Rights to explain an object that is not ready.
pub const EXPLAINS: &[Right] = &[
    always("list", "deployments"),
    when("something is not ready", "get list", FLUX),
    when("something is not ready", "get list", "pods events replicasets nodes namespaces persistentvolumeclaims"),
    when("a container has failed", "get", "pods/log"),
    when("a pod has run out of memory", "list", "pods.metrics.k8s.io"),
    when("the kind of an object is not served", "get list", "customresourcedefinitions"),
    when("an applied workload is not ready", "get list", "statefulsets daemonsets jobs services configmaps"),
];
/// Rights to judge the rows of a list by the controllers of their kinds.
pub const JUDGES_LISTS: &[Right] = &[
    when("to tell whether the controllers are running", "list", "deployments fluxinstances"),
    when("an object is not ready, or a Kustomization has such a source", "get list", FLUX),
    when(
        "a controller or an object is not ready",
        "get list",
        "deployments leases pods events replicasets nodes namespaces persistentvolumeclaims",
    ),
    when("a container has failed", "get", "pods/log"),
    when("a pod has run out of memory", "list", "pods.metrics.k8s.io"),
];
/// Rights to look for a Secret that an object refers to, in the namespace of the object.
pub const EXPLAINS_SECRETS: &[Right] = &[when("a Secret is missing or invalid", "get", "secrets")];
/// Rights to find the objects of all namespaces that refer to other objects.
pub const FINDS_USERS: &[Right] = &[
    always("list", "resourcesets helmreleases"),
    always("list", "imageupdateautomations kustomizations"),
    always("list", "helmcharts"),
    when(
        "the object has applied such objects",
        "get list",
        "namespaces services persistentvolumeclaims persistentvolumes",
    ),
    when("the object has applied such objects", "get list", "deployments statefulsets"),
    when("the object has applied such objects", "get list", FLUX),
];
/// Rights to explain why an awaited object does not change.
pub const EXPLAINS_SILENCE: &[Right] = &[
    when("the object does not change for a while", "list", "deployments"),
    when("the object does not change for a while", "list watch", "events"),
];

/// Adds a condition to the rows that have none.
pub fn under(condition: &'static str, rows: &[Right]) -> Vec<Right> {
    rows.iter().map(|row| Right { condition: row.condition.or(Some(condition)), ..*row }).collect()
}

/// The rights of one command line, and under which condition each is used.
pub struct Rights {
    /// The namespace of the flag, else of the context.
    namespace: Option<String>,
    rights: BTreeMap<Permission, Option<&'static str>>,
}

impl Rights {
    pub fn new(namespace: Option<String>) -> Self {
        Rights { namespace, rights: BTreeMap::new() }
    }

    pub fn into_rows(self) -> BTreeMap<Permission, Option<&'static str>> {
        self.rights
    }

    pub fn namespace_or(&self, usual: &str) -> String {
        self.namespace.clone().unwrap_or_else(|| usual.to_owned())
    }

    /// Returns the namespace of the operator, of Flux, and of an instance that names none.
    pub fn flux_namespace(&self) -> String {
        self.namespace_or(DEFAULT_NAMESPACE)
    }

    /// The namespace of a list, `None` for all.
    pub fn scope(&self, all_namespaces: bool, usual: &str) -> Option<String> {
        (!all_namespaces).then(|| self.namespace_or(usual))
    }

    /// The namespace of a list that shows all of them unless one is given.
    pub fn listed(&self, all_namespaces: bool) -> Option<String> {
        self.namespace.clone().filter(|_| !all_namespaces)
    }

    pub fn everywhere(&mut self, rows: &[Right]) {
        self.add(None, None, &[], rows);
    }

    pub fn in_namespace(&mut self, namespace: &str, rows: &[Right]) {
        self.add(Some(namespace), None, &[], rows);
    }

    /// Adds rows about single objects.
    pub fn named(&mut self, namespace: Option<&str>, names: &[&str], rows: &[Right]) {
        self.add(namespace, None, names, rows);
    }

    /// Adds rows about the objects of a kind, all of them without names. [`KIND`] in a row stands for the kind.
    pub fn of_kind(&mut self, kind: &ResourceType, namespace: Option<&str>, names: &[&str], rows: &[Right]) {
        self.add(namespace.filter(|_| kind.namespaced), Some(kind), names, rows);
    }

    /// Adds rows about the FluxInstance with this name.
    pub fn instance(&mut self, name: &str, rows: &[Right]) {
        let namespace = self.flux_namespace();
        self.of_kind(&instance_kind().resource_type(), Some(&namespace), &[name], rows);
    }

    /// Adds rows about the ResourceSet with this name.
    pub fn resource_set(&mut self, name: &str, rows: &[Right]) {
        let namespace = self.flux_namespace();
        self.of_kind(&resource_set_kind().resource_type(), Some(&namespace), &[name], rows);
    }

    /// Adds the rights for the operator's work on a ResourceSet. Rights on its objects are missing, because their kinds
    /// are only in its templates.
    pub fn run_set_in_process(&mut self) {
        let namespace = self.flux_namespace();
        self.in_namespace(&namespace, SET_INPUTS);
        self.in_namespace(
            &namespace,
            &[
                always("create get update", "leases"),
                always("patch", "resourcesets/status"),
                always("create", "events"),
                when("the set names a service account", "impersonate", "serviceaccounts"),
            ],
        );
        self.everywhere(FINDS_OPERATOR);
    }

    /// Adds rows about the objects of a command line. If it names only kinds, their objects have to be listed first.
    pub fn wanted(&mut self, wanted: &ObjectSelection, rows: &[Right]) {
        match wanted {
            ObjectSelection::Objects(objects) => {
                for object in objects {
                    let namespace = self.flux_namespace();
                    self.of_kind(&object.kind.resource_type(), Some(&namespace), &[&object.name], rows);
                }
            }
            ObjectSelection::Kinds { kinds, all_namespaces, .. } => {
                for kind in kinds {
                    let namespace = (!all_namespaces).then(|| self.flux_namespace());
                    self.of_kind(&kind.resource_type(), namespace.as_deref(), &[], &[always("list", KIND)]);
                    self.of_kind(&kind.resource_type(), namespace.as_deref(), &[], rows);
                }
            }
        }
    }

    /// Adds the rights to read objects of the kind that a word means, by name or all of them.
    ///
    /// # Errors
    /// Usage: the rights of a kind that only the cluster knows cannot be printed.
    pub fn reads(&mut self, word: &str, names: &[&str]) -> Result<(), CliError> {
        self.reads_by(word, names, if names.is_empty() { always("list", KIND) } else { always("get", KIND) })
    }

    /// Like [`Rights::reads`], under a condition.
    ///
    /// # Errors
    /// As [`Rights::reads`].
    pub fn reads_if(&mut self, condition: &'static str, word: &str, names: &[&str]) -> Result<(), CliError> {
        self.reads_by(word, names, when(condition, "get", KIND))
    }

    fn reads_by(&mut self, word: &str, names: &[&str], row: Right) -> Result<(), CliError> {
        let kind = kinds::find_resource_type(word).ok_or_else(|| {
            CliError::usage(format!("cannot print the rights on the kind `{word}`"))
                .cause("only the API server knows which resource that is")
        })?;
        let namespace = if names.is_empty() { self.listed(false) } else { Some(self.flux_namespace()) };
        self.of_kind(&kind, namespace.as_deref(), names, &[row]);
        Ok(())
    }

    /// Adds the rights to list a kind, by name or as a whole, and to watch it.
    pub fn list(&mut self, kind: &ResourceType, namespace: Option<&str>, names: &[&str], watch: bool) {
        // In an unknown namespace, names are looked up in a list.
        let is_get = !names.is_empty() && namespace.is_some();
        self.of_kind(
            kind,
            namespace,
            if is_get { names } else { &[] },
            &[always(if is_get { "get" } else { "list" }, KIND)],
        );
        if watch {
            self.of_kind(kind, namespace, &[], &[always("list watch", KIND)]);
        }
    }

    /// Adds rows about every kind of Flux that `keeps` accepts.
    pub fn flux_kinds(&mut self, namespace: Option<&str>, keeps: impl Fn(&FluxKind) -> bool, rows: &[Right]) {
        for kind in FLUX_KINDS.iter().filter(|kind| keeps(kind)) {
            self.of_kind(&kind.resource_type(), namespace, &[], rows);
        }
    }

    /// Adds the rights for the operator's work, with the reasons from the operator's own table.
    pub fn run_in_process(&mut self) {
        let namespace = self.flux_namespace();
        self.explained(rights_of_run(&namespace));
        self.everywhere(FINDS_OPERATOR);
    }

    /// Adds rights whose conditions come from another table.
    pub fn explained(&mut self, rights: impl IntoIterator<Item = (Permission, &'static str)>) {
        for (permission, condition) in rights {
            self.insert(permission, Some(condition));
        }
    }

    /// Adds rows about each object that an operator consists of. Its roles and bindings also need [`Rights::grants`].
    pub fn operator(&mut self, params: &OperatorParams, rows: &[Right]) {
        for object in manifests(params) {
            let id = ObjectId::of(&object);
            let Some(kind) = kinds::resource_type_of(&id.group, &id.kind) else { continue };
            // Other programs use namespaces and definitions too.
            let is_shared = ["Namespace", "CustomResourceDefinition"].contains(&id.kind.as_str());
            let rows = if is_shared { under("the object is not in the desired state", rows) } else { rows.to_vec() };
            self.of_kind(&kind, id.namespace(), &[&id.name], &rows);
        }
    }

    /// Adds the rights over the roles and bindings of an operator. A role that allows more than its author may do needs
    /// `escalate`.
    pub fn grants(&mut self, params: &OperatorParams) {
        for object in manifests(params) {
            let id = ObjectId::of(&object);
            let (verb, name) = match id.kind.as_str() {
                "ClusterRole" | "Role" => ("escalate", id.name.as_str()),
                "ClusterRoleBinding" | "RoleBinding" => ("bind", fields::text(&object, "/roleRef/name")),
                _ => continue,
            };
            let resource = if fields::text(&object, "/roleRef/kind") == "Role" || id.kind == "Role" {
                "roles"
            } else {
                "clusterroles"
            };
            let right = Permission {
                namespace: id.namespace().map(str::to_owned),
                group: RBAC_GROUP.to_owned(),
                resource: resource.to_owned(),
                verb: verb.to_owned(),
                name: Some(name.to_owned()),
            };
            self.insert(right, Some("the operator gets rights that the user does not have"));
        }
    }

    fn add(&mut self, namespace: Option<&str>, kind: Option<&ResourceType>, names: &[&str], rows: &[Right]) {
        for row in rows {
            for (group, resource) in row.resources.split_whitespace().flat_map(|text| resources(text, kind)) {
                for verb in row.verbs.split(' ') {
                    let right = |name: Option<&str>| Permission {
                        namespace: namespace.map(str::to_owned),
                        group: group.clone(),
                        resource: resource.clone(),
                        verb: verb.to_owned(),
                        name: name.map(str::to_owned),
                    };
                    if names.is_empty() {
                        self.insert(right(None), row.condition);
                    }
                    for name in names {
                        self.insert(right(Some(name)), row.condition);
                    }
                }
            }
        }
    }

    /// Adds a right. If any row uses it unconditionally, it has no condition.
    fn insert(&mut self, permission: Permission, condition: Option<&'static str>) {
        let known = self.rights.entry(permission).or_insert(condition);
        *known = known.and(condition);
    }
}

/// Adds the rights to read the objects that words name, or all objects of the kinds that they name.
///
/// # Errors
/// Usage, if the words are invalid, or name a kind that only the cluster knows.
pub fn read_words(rights: &mut Rights, words: &[String]) -> Result<(), CliError> {
    match ObjectWords::read(words)? {
        ObjectWords::Kinds(kinds) => kinds.into_iter().try_for_each(|kind| rights.reads(kind, &[])),
        ObjectWords::Objects(objects) => objects.into_iter().try_for_each(|(kind, name)| rights.reads(kind, &[name])),
    }
}

/// Returns the group and the resource of `deployments`, `pods/log` or, for a kind that no table has,
/// `controllerrevisions.apps`.
fn resources(text: &str, kind: Option<&ResourceType>) -> Vec<(String, String)> {
    if let Some(below) = text.strip_prefix(KIND) {
        return kind.map(|kind| (kind.group.to_string(), format!("{}{below}", kind.plural))).into_iter().collect();
    }
    if text == FLUX {
        return FLUX_KINDS.iter().map(|kind| (kind.group.to_owned(), kind.plural.to_owned())).collect();
    }
    if let Some((resource, group)) = text.split_once('.') {
        return vec![(group.to_owned(), resource.to_owned())];
    }
    let known = kinds::find_resource_type(text.split('/').next().unwrap_or_default());
    vec![(known.map_or_else(String::new, |kind| kind.group.to_string()), text.to_owned())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(rights: Rights) -> Vec<String> {
        let condition = |condition: Option<&str>| condition.map(|text| format!(" ({text})")).unwrap_or_default();
        rights.into_rows().into_iter().map(|(right, when)| format!("{right}{}", condition(when))).collect()
    }

    #[test]
    fn rows_are_about_the_objects_of_the_line() {
        let mut rights = Rights::new(Some("apps".into()));
        let kind = kinds::find("ks").unwrap();
        let named = crate::session::target::KindAndName { kind, name: "web".into() };
        rights
            .wanted(&ObjectSelection::Objects(vec![named]), &[always("patch", KIND), when("it waits", "watch", KIND)]);
        assert_eq!(
            shown(rights),
            [
                "patch kustomizations.kustomize.toolkit.fluxcd.io/web in namespace apps",
                "watch kustomizations.kustomize.toolkit.fluxcd.io/web in namespace apps (it waits)",
            ]
        );
        let mut rights = Rights::new(None);
        let all = ObjectSelection::Kinds { kinds: vec![kind], selector: None, all_namespaces: true };
        rights.wanted(&all, &[always("patch", "KIND/status")]);
        assert_eq!(
            shown(rights),
            [
                "list kustomizations.kustomize.toolkit.fluxcd.io",
                "patch kustomizations/status.kustomize.toolkit.fluxcd.io"
            ]
        );
    }

    #[test]
    fn a_right_of_two_rows_is_conditional_only_if_both_rows_are() {
        let mut rights = Rights::new(None);
        rights.everywhere(&[
            when("sometimes", "list", "pods"),
            always("list", "pods"),
            when("sometimes", "get", "pods"),
        ]);
        assert_eq!(shown(rights), ["get pods (sometimes)", "list pods"]);
    }
}
