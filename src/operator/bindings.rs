//! Distinguishes the operator's own bindings from other bindings that make its ServiceAccount cluster-admin. A leftover
//! binding would grant its role to any ServiceAccount that is created later with that name.

use serde_json::Value;

use crate::api::kinds;
use crate::api::well_known::{NAME_LABEL, OPERATOR_NAME};
use crate::cluster::{Category, Cluster, ClusterError, ListOptions};
use crate::k8s::rbac::RBAC_GROUP;
use crate::k8s::{ObjectId, fields};

fn is_operator_account(subject: &Value, namespace: &str) -> bool {
    fields::text(subject, "/kind") == "ServiceAccount"
        && fields::text(subject, "/name") == OPERATOR_NAME
        && fields::text(subject, "/namespace") == namespace
}

/// Whether an object with one of the operator's names is the operator's own. It has the operator's label, or is a
/// binding of the operator's ServiceAccount, because the reference's static manifests contain bindings without labels.
/// A binding that also has other subjects is not the operator's own.
pub(super) fn is_own(object: &Value, namespace: &str) -> bool {
    let is_labelled = fields::label(object, NAME_LABEL) == Some(OPERATOR_NAME);
    if !fields::kind(object).ends_with("RoleBinding") {
        return is_labelled;
    }
    let subjects = fields::items(object, "/subjects");
    // `all` is also true for a binding without subjects, so such a binding needs the label.
    subjects.iter().all(|subject| is_operator_account(subject, namespace)) && (is_labelled || !subjects.is_empty())
}

/// Returns the ClusterRoleBindings that bind the operator's ServiceAccount to `cluster-admin`; empty if they cannot be
/// listed.
///
/// # Errors
/// The API server does not answer.
pub(super) async fn admin_bindings(cluster: &Cluster, namespace: &str) -> Result<Vec<ObjectId>, ClusterError> {
    let Some(resource) = kinds::resource_type_of(RBAC_GROUP, "ClusterRoleBinding") else { return Ok(vec![]) };
    let bindings = match cluster.list(&resource, None, &ListOptions::default()).await {
        Ok(bindings) => bindings.items,
        Err(error) if error.category() == Category::Denied => vec![],
        Err(error) => return Err(error),
    };
    Ok(bindings.iter().filter(|binding| makes_admin(binding, namespace)).map(ObjectId::of).collect())
}

fn makes_admin(binding: &Value, namespace: &str) -> bool {
    fields::text(binding, "/roleRef/name") == "cluster-admin"
        && fields::items(binding, "/subjects").iter().any(|subject| is_operator_account(subject, namespace))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn binding(labels: Value, subjects: Value) -> Value {
        json!({"kind": "ClusterRoleBinding", "metadata": {"name": "flux-operator-cluster-admin", "labels": labels},
            "roleRef": {"kind": "ClusterRole", "name": "cluster-admin"}, "subjects": subjects})
    }

    fn account(namespace: &str) -> Value {
        json!({"kind": "ServiceAccount", "name": "flux-operator", "namespace": namespace})
    }

    #[test]
    fn a_binding_is_the_operators_own_when_it_binds_nothing_else() {
        let label = || json!({NAME_LABEL: OPERATOR_NAME});
        for (labels, subjects, expected) in [
            (json!({}), json!([account("fs")]), true),
            (label(), json!([account("fs")]), true),
            (label(), json!([]), true),
            (json!({}), json!([]), false),
            (label(), json!([account("elsewhere")]), false),
            (label(), json!([account("fs"), {"kind": "User", "name": "flux-operator"}]), false),
            (json!({}), json!([{"kind": "ServiceAccount", "name": "other", "namespace": "fs"}]), false),
        ] {
            assert_eq!(is_own(&binding(labels.clone(), subjects.clone()), "fs"), expected, "{labels} {subjects}");
        }
        assert!(is_own(&json!({"kind": "ClusterRole", "metadata": {"labels": {NAME_LABEL: OPERATOR_NAME}}}), "fs"));
        assert!(!is_own(&json!({"kind": "ClusterRole", "metadata": {}}), "fs"));
    }

    #[test]
    fn a_binding_of_any_name_makes_the_operator_an_admin() {
        let others = json!([{"kind": "Group", "name": "admins"}, account("fs")]);
        assert!(makes_admin(&binding(json!({}), others.clone()), "fs"));
        assert!(!makes_admin(&binding(json!({}), others), "elsewhere"));
        let mut viewer = binding(json!({}), json!([account("fs")]));
        viewer["roleRef"]["name"] = json!("view");
        assert!(!makes_admin(&viewer, "fs"));
    }
}
