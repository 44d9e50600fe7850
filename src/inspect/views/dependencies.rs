//! `spec.dependsOn`: the objects that a Flux object waits for, which may be of any kind. Pure.

use serde_json::Value;

use crate::api::kinds;
use crate::inspect::views::resource_set;
use crate::k8s::{ObjectId, fields};

/// An object that another object waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    pub object: ObjectId,
    /// The CEL expression that must be true for it.
    pub expression: Option<String>,
}

/// Returns the dependencies of an object in the order in which they are written.
///
/// A Kustomization and a HelmRelease wait for objects of their own kind unless they set `kind`, which Flux supports
/// from 2.10 on. A ResourceSet always names the kind.
pub(crate) fn depends_on(object: &Value) -> Vec<Dependency> {
    let own = ObjectId::of(object);
    let dependencies = fields::items(object, "/spec/dependsOn").iter().map(|dependency| {
        let (kind, group, version) = match fields::some_text(dependency, "/kind") {
            Some(kind) if fields::some_text(dependency, "/apiVersion").is_some() => {
                (kind, fields::group(dependency).to_owned(), fields::version(dependency).to_owned())
            }
            // Without a group, the kind is one of Flux or of Kubernetes itself.
            Some(kind) => {
                let known = kinds::find_resource_type(kind);
                (kind, known.map(|known| known.group.to_string()).unwrap_or_default(), String::new())
            }
            None => (own.kind.as_str(), own.group.clone(), own.version.clone()),
        };
        // A ResourceSet names the namespace of a dependency. Without one, the dependency is cluster-scoped.
        let usual = if resource_set::is_resource_set(object) { None } else { own.namespace() };
        let namespace = fields::some_text(dependency, "/namespace").or(usual);
        let id = ObjectId::new(&group, kind, namespace, fields::text(dependency, "/name"));
        Dependency {
            object: id.at(&version),
            expression: fields::some_text(dependency, "/readyExpr").map(str::to_owned),
        }
    });
    dependencies.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_dependency_may_be_of_any_kind_and_defaults_to_the_kind_of_its_dependent() {
        let object = |api_version: &str, kind: &str, depends_on: Value| json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a", "namespace": "apps"}, "spec": {"dependsOn": depends_on}});
        let reported = |object: Value| -> Vec<String> {
            depends_on(&object).into_iter().map(|one| format!("{} {}", one.object.group, one.object)).collect()
        };
        let release = object(
            "helm.toolkit.fluxcd.io/v2",
            "HelmRelease",
            json!([
                {"name": "b"},
                {"name": "c", "namespace": "infra", "kind": "Kustomization", "apiVersion": "kustomize.toolkit.fluxcd.io/v1"},
                {"name": "d", "kind": "Kustomization"},
                {"name": "gate", "kind": "ConfigMap", "apiVersion": "v1"},
            ]),
        );
        assert_eq!(
            reported(release),
            [
                "helm.toolkit.fluxcd.io HelmRelease/apps/b",
                "kustomize.toolkit.fluxcd.io Kustomization/infra/c",
                "kustomize.toolkit.fluxcd.io Kustomization/apps/d",
                " ConfigMap/apps/gate",
            ]
        );
        let set = object(
            "fluxcd.controlplane.io/v1",
            "ResourceSet",
            json!([
            {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "name": "x.example.com"}]),
        );
        assert_eq!(reported(set), ["apiextensions.k8s.io CustomResourceDefinition/x.example.com"]);
    }
}
