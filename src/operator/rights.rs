//! The operator's rights, each with its reason: the smallest set with which it works.
//!
//! They are not a security boundary: Flux binds two of its controllers to `cluster-admin`, and a subject that may
//! create such a binding may do anything. The rules limit the damage of the operator's own mistakes.

use serde_json::{Value, json};

use crate::api::kinds::{
    HELM_GROUP, IMAGE_GROUP, KUSTOMIZE_GROUP, NOTIFICATION_GROUP, SOURCE_EXTENSIONS_GROUP, SOURCE_GROUP,
};
use crate::api::well_known;
use crate::k8s::rbac::{Permission, RBAC_GROUP};

const READ: &[&str] = &["get", "list", "watch"];
const MANAGE: &[&str] = &["get", "list", "watch", "create", "patch", "delete"];
const OWN_KINDS: &[&str] = &["fluxinstances", "fluxreports", "resourcesets", "resourcesetinputproviders"];

/// Resources that only an operator in the cluster uses.
const ONLY_SERVICE: &[&str] = &["nodes", "fluxreports"];

/// A rule of a role.
#[derive(Clone, Copy, Debug)]
struct Rule {
    /// The reason, as a sentence.
    why: &'static str,
    groups: &'static [&'static str],
    resources: &'static [&'static str],
    /// Names that the rule is limited to, with `{namespace}` for the operator's; empty for all.
    names: &'static [&'static str],
    verbs: &'static [&'static str],
}

/// Cluster-wide rights.
const CLUSTER: &[Rule] = &[
    Rule {
        why: "Finds instances in other namespaces before one is installed, and watches ResourceSets and their providers \
              everywhere.",
        groups: &[well_known::GROUP],
        resources: OWN_KINDS,
        names: &[],
        verbs: READ,
    },
    Rule {
        why: "Adds its finalizer to ResourceSets and input providers of all namespaces, and removes it when they are deleted.",
        groups: &[well_known::GROUP],
        resources: &["resourcesets", "resourcesetinputproviders"],
        names: &[],
        verbs: &["patch"],
    },
    Rule {
        why: "Writes the conditions, inventory and history of ResourceSets, and the exported inputs of input providers.",
        groups: &[well_known::GROUP],
        resources: &["resourcesets/status", "resourcesetinputproviders/status"],
        names: &[],
        verbs: &["patch"],
    },
    Rule {
        why: "Applies the objects of a ResourceSet with the rights of its service account, and checks that this account \
              exists. A ResourceSet without one is applied with the rights listed here, which do not include those on \
              applications: give it a service account, or bind the operator to the roles it needs. ExternalArtifacts are \
              read in the same way, and registries are called with the pull secrets of a provider's service account.",
        groups: &[""],
        resources: &["serviceaccounts"],
        names: &[],
        verbs: &["get", "impersonate"],
    },
    Rule {
        why: "Calls services with the credentials and certificates that input providers name, in any namespace, and pulls \
              the distribution with the Secret that the instance names.",
        groups: &[""],
        resources: &["secrets"],
        names: &[],
        verbs: &["get"],
    },
    Rule {
        why: "Watches the labelled ConfigMaps and Secrets that ResourceSets use. Only their metadata is read, but no rule \
              can express that.",
        groups: &[""],
        resources: &["configmaps", "secrets"],
        names: &[],
        verbs: &["list", "watch"],
    },
    Rule {
        why: "Reports its work as events, in the namespaces of its objects.",
        groups: &[""],
        resources: &["events"],
        names: &[],
        verbs: &["create", "patch"],
    },
    Rule {
        why: "Installs, upgrades and removes Flux's CRDs. Their names depend on the version of Flux.",
        groups: &["apiextensions.k8s.io"],
        resources: &["customresourcedefinitions"],
        names: &[],
        verbs: MANAGE,
    },
    Rule {
        why: "Removes old versions from the stored versions of a CRD after its objects were migrated, as upgrades of \
              Flux require.",
        groups: &["apiextensions.k8s.io"],
        resources: &["customresourcedefinitions/status"],
        names: &[],
        verbs: &["patch"],
    },
    Rule {
        why: "Reads and watches its namespace.",
        groups: &[""],
        resources: &["namespaces"],
        names: &[],
        verbs: READ,
    },
    Rule {
        why: "Labels the namespace of Flux, which is its own.",
        groups: &[""],
        resources: &["namespaces"],
        names: &["{namespace}"],
        verbs: &["create", "patch"],
    },
    Rule {
        why: "Compares the roles of Flux with the desired ones.",
        groups: &[RBAC_GROUP],
        resources: &["clusterroles", "clusterrolebindings"],
        names: &[],
        verbs: READ,
    },
    Rule {
        why: "Creates the roles of Flux. They grant more rights than the operator itself has, which requires escalate.",
        groups: &[RBAC_GROUP],
        resources: &["clusterroles"],
        names: &["crd-controller-{namespace}", "flux-edit-{namespace}", "flux-view-{namespace}"],
        verbs: &["create", "patch", "delete", "escalate"],
    },
    Rule {
        why: "Binds the controllers of Flux to their roles.",
        groups: &[RBAC_GROUP],
        resources: &["clusterrolebindings"],
        names: &["crd-controller-{namespace}", "cluster-reconciler-{namespace}"],
        verbs: &["create", "patch", "delete"],
    },
    Rule {
        why: "Binds them to these roles: kustomize-controller and helm-controller apply anything, as cluster-admin.",
        groups: &[RBAC_GROUP],
        resources: &["clusterroles"],
        names: &["cluster-admin", "crd-controller-{namespace}"],
        verbs: &["bind"],
    },
    Rule {
        why: "Counts the objects of Flux for the report and the metrics, rewrites them after an upgrade, and removes their \
              finalizers when Flux is uninstalled.",
        groups: &[SOURCE_GROUP, SOURCE_EXTENSIONS_GROUP, KUSTOMIZE_GROUP, HELM_GROUP, NOTIFICATION_GROUP, IMAGE_GROUP],
        resources: &["*"],
        names: &[],
        verbs: &["get", "list", "watch", "patch"],
    },
    Rule {
        why: "Counts the nodes for the report.",
        groups: &[""],
        resources: &["nodes"],
        names: &[],
        verbs: &["list"],
    },
];

/// Rights in the operator's own namespace.
const OWN_NAMESPACE: &[Rule] = &[
    Rule {
        why: "Records requests on the instance, and adds and removes its finalizer.",
        groups: &[well_known::GROUP],
        resources: &["fluxinstances"],
        names: &[],
        verbs: &["patch"],
    },
    Rule {
        why: "Writes the report.",
        groups: &[well_known::GROUP],
        resources: &["fluxreports"],
        names: &[],
        verbs: &["create", "patch"],
    },
    Rule {
        why: "Writes the status of the instance and of the report.",
        groups: &[well_known::GROUP],
        resources: &["fluxinstances/status", "fluxreports/status"],
        names: &[],
        verbs: &["patch"],
    },
    Rule {
        why: "Installs what the controllers of Flux need.",
        groups: &[""],
        resources: &["serviceaccounts", "services", "resourcequotas", "persistentvolumeclaims"],
        names: &[],
        verbs: MANAGE,
    },
    Rule {
        why: "Installs the controllers of Flux.",
        groups: &["apps"],
        resources: &["deployments"],
        names: &[],
        verbs: MANAGE,
    },
    Rule {
        why: "Stores each revision that became ready, for rollbacks.",
        groups: &["apps"],
        resources: &["controllerrevisions"],
        names: &[],
        verbs: &["get", "list", "create", "patch", "delete"],
    },
    Rule {
        why: "Installs the network policies of the controllers.",
        groups: &["networking.k8s.io"],
        resources: &["networkpolicies"],
        names: &[],
        verbs: MANAGE,
    },
    Rule {
        why: "Creates and deletes the source and the Kustomization of spec.sync.",
        groups: &[SOURCE_GROUP, KUSTOMIZE_GROUP],
        resources: &["*"],
        names: &[],
        verbs: &["create", "delete"],
    },
    Rule {
        why: "Reads the pods of a controller, to report why it does not become ready.",
        groups: &[""],
        resources: &["pods"],
        names: &[],
        verbs: READ,
    },
    Rule {
        why: "Holds the lease that lets only one operator work at a time.",
        groups: &["coordination.k8s.io"],
        resources: &["leases"],
        names: &[],
        verbs: &["get", "list", "watch", "create", "update", "patch"],
    },
];

/// Rights of users that are aggregated to the roles view, edit and admin.
const VIEWERS: &[Rule] = &[Rule {
    why: "Users who may view a namespace may view these.",
    groups: &[well_known::GROUP],
    resources: OWN_KINDS,
    names: &[],
    verbs: READ,
}];
const EDITORS: &[Rule] = &[Rule {
    why: "FluxInstances are left out: a user who may write one has all rights of Flux.",
    groups: &[well_known::GROUP],
    resources: &["resourcesets", "resourcesetinputproviders"],
    names: &[],
    verbs: &["create", "delete", "deletecollection", "patch", "update"],
}];

/// The list of rules in a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RoleRules {
    Cluster,
    OwnNamespace,
    Viewers,
    Editors,
}

impl RoleRules {
    fn all(self) -> &'static [Rule] {
        match self {
            RoleRules::Cluster => CLUSTER,
            RoleRules::OwnNamespace => OWN_NAMESPACE,
            RoleRules::Viewers => VIEWERS,
            RoleRules::Editors => EDITORS,
        }
    }

    /// Returns the rules of an operator in a namespace.
    pub(super) fn rules(self, namespace: &str) -> Vec<Value> {
        self.all().iter().map(|rule| rule.value(namespace)).collect()
    }
}

/// Returns the rights that a single run may need, each with its reason. Rights that only an operator in the cluster
/// needs are left out.
pub fn rights_of_run(namespace: &str) -> Vec<(Permission, &'static str)> {
    let mut rights = vec![];
    for (rules, scope) in [(CLUSTER, None), (OWN_NAMESPACE, Some(namespace))] {
        for rule in rules.iter().filter(|rule| !rule.resources.iter().all(|one| ONLY_SERVICE.contains(one))) {
            rights.extend(rule.permissions(scope, namespace).map(|permission| (permission, rule.why)));
        }
    }
    rights
}

impl Rule {
    fn permissions<'a>(&'a self, scope: Option<&'a str>, namespace: &'a str) -> impl Iterator<Item = Permission> + 'a {
        let names: Vec<Option<String>> = match self.names {
            [] => vec![None],
            names => names.iter().map(|name| Some(name.replace("{namespace}", namespace))).collect(),
        };
        names.into_iter().flat_map(move |name| {
            let resources = self.groups.iter().flat_map(|group| self.resources.iter().map(move |one| (*group, *one)));
            resources.flat_map(move |(group, resource)| {
                let name = name.clone();
                self.verbs.iter().map(move |verb| Permission {
                    namespace: scope.map(str::to_owned),
                    group: group.to_owned(),
                    resource: resource.to_owned(),
                    verb: (*verb).to_owned(),
                    name: name.clone(),
                })
            })
        })
    }

    fn value(&self, namespace: &str) -> Value {
        let mut value = json!({"apiGroups": self.groups, "resources": self.resources});
        if !self.names.is_empty() {
            let names: Vec<String> = self.names.iter().map(|name| name.replace("{namespace}", namespace)).collect();
            value["resourceNames"] = names.into();
        }
        value["verbs"] = json!(self.verbs);
        value
    }
}

/// Returns the reason of a rule in the operator's namespace; `None` for a rule of another origin.
pub(super) fn reason(rule: &Value, namespace: &str) -> Option<&'static str> {
    let all = [RoleRules::Cluster, RoleRules::OwnNamespace, RoleRules::Viewers, RoleRules::Editors];
    all.into_iter().flat_map(RoleRules::all).find(|known| known.value(namespace) == *rule).map(|known| known.why)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::api::kinds::resource_type_of;
    use crate::api::{CheckedInstance, Component, FluxInstance};
    use crate::build::{BuildOptions, build};
    use crate::distribution::Distribution;
    use crate::k8s::ObjectId;

    fn allows(rights: RoleRules, verb: &str, group: &str, resource: &str, name: &str) -> bool {
        let has = |list: &[&str], wanted: &str| list.contains(&wanted) || list == ["*"];
        rights.all().iter().any(|rule| {
            let names = rule.names.iter().map(|name| name.replace("{namespace}", "flux-system"));
            rule.groups.contains(&group)
                && has(rule.resources, resource)
                && has(rule.verbs, verb)
                && (rule.names.is_empty() || names.collect::<Vec<_>>().iter().any(|one| one == name))
        })
    }

    #[test]
    fn the_operator_has_the_rights_to_manage_every_object_of_every_flux_version() {
        let distribution = Distribution::embedded();
        let components: Vec<&str> = Component::ALL.map(Component::as_str).to_vec();
        let mut seen = BTreeSet::new();
        for version in distribution.versions() {
            let components: Vec<&&str> = components
                .iter()
                .filter(|one| **one != "source-watcher" || version.version >= semver::Version::new(2, 7, 0))
                .collect();
            let instance: FluxInstance = serde_json::from_value(json!({
                "apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
                "metadata": {"name": "flux", "namespace": "flux-system"},
                "spec": {
                    "distribution": {"version": version.version.to_string(), "registry": "ghcr.io/fluxcd"},
                    "components": components,
                    "storage": {"class": "standard", "size": "1Gi"},
                    "sharding": {"shards": ["a"], "storage": "persistent"},
                    "sync": {"kind": "OCIRepository", "url": "oci://a.example/b", "ref": "latest", "path": "./"},
                }
            }))
            .unwrap();
            let checked = CheckedInstance::check(instance).unwrap();
            for object in build(&checked, &distribution, &BuildOptions::default()).unwrap().objects {
                let id = ObjectId::of(&object);
                let known = resource_type_of(&id.group, &id.kind).unwrap_or_else(|| panic!("{id}"));
                let verbs: &[&str] =
                    if id.kind == "Namespace" { &["create", "patch"] } else { &["create", "patch", "delete"] };
                for verb in verbs.iter().chain(&["get", "list", "watch"]) {
                    let may = |rights| allows(rights, verb, &id.group, &known.plural, &id.name);
                    let own = !id.namespace.is_empty() && may(RoleRules::OwnNamespace);
                    assert!(own || may(RoleRules::Cluster), "{verb} {id} of {}", version.name);
                }
                seen.insert(id.kind);
            }
        }
        assert!(seen.len() >= 12, "{seen:?}");
    }

    /// If two rules listed the same right, removing it from one rule would not remove it from the role.
    #[test]
    fn no_right_is_listed_twice_and_no_namespaced_rule_only_repeats_cluster_wide_rights() {
        let everywhere: Vec<Permission> = CLUSTER.iter().flat_map(|rule| rule.permissions(None, "fs")).collect();
        let own: Vec<Permission> = OWN_NAMESPACE.iter().flat_map(|rule| rule.permissions(None, "fs")).collect();
        for rights in [&everywhere, &own] {
            let mut seen = BTreeSet::new();
            let twice: Vec<&Permission> = rights.iter().filter(|right| !seen.insert(*right)).collect();
            assert!(twice.is_empty(), "{twice:?}");
        }
        for rule in OWN_NAMESPACE {
            assert!(rule.permissions(None, "fs").any(|right| !everywhere.contains(&right)), "{rule:?}");
        }
    }

    #[test]
    fn each_rule_has_its_reason() {
        for rights in [RoleRules::Cluster, RoleRules::OwnNamespace, RoleRules::Viewers, RoleRules::Editors] {
            for rule in rights.rules("fs") {
                assert!(reason(&rule, "fs").is_some_and(|why| why.ends_with('.')), "{rule}");
            }
        }
        assert_eq!(reason(&json!({"verbs": ["*"]}), "fs"), None);
    }
}
