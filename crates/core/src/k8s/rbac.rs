//! Permissions of requests, and the roles that grant them
//! (<https://kubernetes.io/docs/reference/access-authn-authz/rbac/>).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::{Value, json};

pub const RBAC_GROUP: &str = "rbac.authorization.k8s.io";
const API_VERSION: &str = "rbac.authorization.k8s.io/v1";
/// The usual order of verbs.
const VERBS: [&str; 10] =
    ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "bind", "escalate"];

/// The attributes of a request that an authorizer checks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Permission {
    /// `None` for cluster-scoped objects and for all namespaces; these permissions sort first.
    pub namespace: Option<String>,
    /// Empty for the core group.
    pub group: String,
    /// Plural, with its subresource: `deployments`, `pods/log`.
    pub resource: String,
    pub verb: String,
    /// The object's name, if the request has one.
    pub name: Option<String>,
}

impl fmt::Display for Permission {
    /// `get fluxinstances.fluxcd.controlplane.io/flux in namespace flux-system`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        if let Some(name) = &self.name {
            write!(f, "/{name}")?;
        }
        match &self.namespace {
            Some(namespace) => write!(f, " in namespace {namespace}"),
            None => Ok(()),
        }
    }
}

impl Permission {
    /// Whether this permission includes the other one, because it applies to all namespaces or all names.
    fn covers(&self, other: &Permission) -> bool {
        (&self.verb, &self.group, &self.resource) == (&other.verb, &other.group, &other.resource)
            && (self.namespace.is_none() || self.namespace == other.namespace)
            && (self.name.is_none() || self.name == other.name)
    }
}

/// The subject of a role binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    User(String),
    Group(String),
    ServiceAccount { namespace: String, name: String },
}

impl Subject {
    fn value(&self) -> Value {
        match self {
            Subject::User(name) => json!({"kind": "User", "name": name, "apiGroup": RBAC_GROUP}),
            Subject::Group(name) => json!({"kind": "Group", "name": name, "apiGroup": RBAC_GROUP}),
            Subject::ServiceAccount { namespace, name } => {
                json!({"kind": "ServiceAccount", "name": name, "namespace": namespace})
            }
        }
    }
}

/// Returns a Role for each namespace and a ClusterRole for cluster-scoped objects that grant exactly these permissions.
/// With a subject, a binding follows each role.
pub fn roles(permissions: &BTreeSet<Permission>, name: &str, subject: Option<&Subject>) -> Vec<Value> {
    let needed = |one: &&Permission| !permissions.iter().any(|other| other != *one && other.covers(one));
    let mut scopes: BTreeMap<Option<&str>, Vec<&Permission>> = BTreeMap::new();
    for permission in permissions.iter().filter(needed) {
        scopes.entry(permission.namespace.as_deref()).or_default().push(permission);
    }
    let mut objects = vec![];
    for (namespace, permissions) in scopes {
        let kind = if namespace.is_some() { "Role" } else { "ClusterRole" };
        let mut metadata = json!({"name": name});
        if let Some(namespace) = namespace {
            metadata["namespace"] = namespace.into();
        }
        objects
            .push(json!({"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "rules": rules(&permissions)}));
        if let Some(subject) = subject {
            objects.push(json!({
                "apiVersion": API_VERSION, "kind": format!("{kind}Binding"), "metadata": metadata,
                "roleRef": {"apiGroup": RBAC_GROUP, "kind": kind, "name": name}, "subjects": [subject.value()],
            }));
        }
    }
    objects
}

/// The scope of a rule: its group, and the names it is limited to (empty for all).
type RuleScope<'a> = (&'a str, BTreeSet<&'a str>);

fn rules(permissions: &[&Permission]) -> Vec<Value> {
    // Collect the names of each verb and resource, then merge verbs with the same names, then resources with the same
    // verbs and names.
    let mut names: BTreeMap<(&str, &str, &str), BTreeSet<&str>> = BTreeMap::new();
    for one in permissions {
        let names = names.entry((&one.group, &one.resource, &one.verb)).or_default();
        names.extend(one.name.as_deref());
    }
    let unlimited = |group: &str, resource: &str, verb: &str| {
        permissions
            .iter()
            .any(|one| (&*one.group, &*one.resource, &*one.verb) == (group, resource, verb) && one.name.is_none())
    };
    let mut verbs: BTreeMap<(RuleScope<'_>, &str), BTreeSet<&str>> = BTreeMap::new();
    for ((group, resource, verb), names) in names {
        let names = if unlimited(group, resource, verb) { BTreeSet::new() } else { names };
        verbs.entry(((group, names), resource)).or_default().insert(verb);
    }
    let mut resources: BTreeMap<(RuleScope<'_>, BTreeSet<&str>), Vec<&str>> = BTreeMap::new();
    for ((about, resource), verbs) in verbs {
        resources.entry((about, verbs)).or_default().push(resource);
    }
    let mut rules: Vec<Value> = vec![];
    for (((group, names), verbs), resources) in resources {
        let mut verbs: Vec<&str> = verbs.into_iter().collect();
        verbs.sort_by_key(|verb| VERBS.iter().position(|known| known == verb).unwrap_or(VERBS.len()));
        let mut rule = json!({"apiGroups": [group], "resources": resources});
        if !names.is_empty() {
            rule["resourceNames"] = json!(names);
        }
        rule["verbs"] = json!(verbs);
        rules.push(rule);
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permission(text: &str) -> Permission {
        let mut words = text.split(' ');
        let mut next = || words.next().unwrap_or_default();
        let (namespace, group, resource, verb, name) = (next(), next(), next(), next(), next());
        let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty() && text != "-");
        Permission {
            namespace: some(namespace),
            group: some(group).unwrap_or_default(),
            resource: resource.to_owned(),
            verb: verb.to_owned(),
            name: some(name),
        }
    }

    fn made(texts: &[&str], subject: Option<&Subject>) -> Vec<Value> {
        roles(&texts.iter().map(|text| permission(text)).collect(), "r", subject)
    }

    #[test]
    fn verbs_names_and_resources_are_brought_together() {
        let made = made(
            &[
                "a apps deployments get x",
                "a apps deployments get y",
                "a apps deployments patch x",
                "a apps deployments patch y",
                "a - pods list",
                "a - events list",
                "a - events watch",
                "a - pods watch",
            ],
            None,
        );
        assert_eq!(
            made,
            [json!({"apiVersion": API_VERSION, "kind": "Role", "metadata": {"name": "r", "namespace": "a"}, "rules": [
                {"apiGroups": [""], "resources": ["events", "pods"], "verbs": ["list", "watch"]},
                {"apiGroups": ["apps"], "resources": ["deployments"], "resourceNames": ["x", "y"], "verbs": ["get", "patch"]},
            ]})]
        );
    }

    #[test]
    fn a_permission_that_another_permission_includes_is_left_out() {
        let made = made(&["- - pods get", "a - pods get", "a - pods get x", "a - secrets get x"], None);
        let kinds: Vec<&str> = made.iter().filter_map(|role| role["kind"].as_str()).collect();
        assert_eq!(kinds, ["ClusterRole", "Role"]);
        assert_eq!(made[1]["rules"].as_array().unwrap().len(), 1, "{made:?}");
        assert_eq!(made[1]["rules"][0]["resources"], json!(["secrets"]));
    }

    #[test]
    fn a_subject_is_bound_in_every_scope() {
        let account = Subject::ServiceAccount { namespace: "ci".into(), name: "bot".into() };
        let made = made(&["- - nodes list", "a - pods list"], Some(&account));
        let kinds: Vec<&str> = made.iter().filter_map(|role| role["kind"].as_str()).collect();
        assert_eq!(kinds, ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"]);
        assert_eq!(made[3]["subjects"][0], json!({"kind": "ServiceAccount", "name": "bot", "namespace": "ci"}));
        assert_eq!(made[3]["roleRef"]["kind"], "Role");
    }
}
