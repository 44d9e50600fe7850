//! `dependsOn`: objects that must exist, or be ready, before a ResourceSet is applied.
//!
//! They are read with the operator's own rights.

use flux_operator_expression::Expression;
use serde_json::{Map, Value};

use super::texts::{api_text, not_found_text};
use crate::api::ResourceSetDependency;
use crate::cluster::Cluster;
use crate::k8s::kstatus;
use crate::k8s::{ObjectId, fields, split_api_version};

/// Annotation of kubectl with a whole earlier manifest, which an expression must not depend on.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A dependency with its expression.
#[derive(Debug)]
pub(super) struct CheckedDependency<'a> {
    spec: &'a ResourceSetDependency,
    expression: Option<Expression>,
}

/// Parses the expressions of all dependencies. An expression counts only if the dependency must be ready.
///
/// # Errors
/// The first expression that is not valid. A retry would fail in the same way until the spec changes.
pub(super) fn parse(dependencies: &[ResourceSetDependency]) -> Result<Vec<CheckedDependency<'_>>, String> {
    let mut parsed = vec![];
    for spec in dependencies {
        let text = spec.ready_expr.as_deref().filter(|text| spec.ready == Some(true) && !text.is_empty());
        let expression = text.map(Expression::parse).transpose();
        let expression = expression
            .map_err(|error| format!("failed to parse expression for dependency {}: {error}", named(spec)))?;
        parsed.push(CheckedDependency { spec, expression });
    }
    Ok(parsed)
}

/// Checks the dependencies of a set in order.
///
/// # Errors
/// The first dependency that does not exist or is not ready.
pub(super) async fn check(
    cluster: &Cluster,
    namespace: &str,
    dependencies: &[CheckedDependency<'_>],
) -> Result<(), String> {
    for CheckedDependency { spec, expression } in dependencies {
        let name = named(spec);
        let live = read(cluster, spec).await.map_err(|error| format!("dependency {name} not found: {error}"))?;
        if spec.ready != Some(true) {
            continue;
        }
        let not_ready = |why: String| Err(format!("dependency {name} not ready{why}"));
        if let Some(expression) = expression {
            match expression.evaluate(&visible_fields(live, namespace)) {
                Ok(true) => continue,
                Ok(false) => return not_ready(format!(": expression '{}'", expression.text())),
                Err(error) => return Err(error.to_string()),
            }
        }
        if matches!(spec.kind.as_str(), "ResourceSet" | "ResourceSetInputProvider") {
            if !kstatus::is_observed_ready(&live) {
                return not_ready(String::new());
            }
            continue;
        }
        let health = kstatus::compute(&live);
        if !health.is_current() {
            return not_ready(format!(": status {}", health.status));
        }
    }
    Ok(())
}

/// Returns the fields that an expression may read. The data of a Secret in another namespace is removed, because the
/// operator can read more than the author of the set.
fn visible_fields(mut live: Value, namespace: &str) -> Map<String, Value> {
    let is_foreign_secret = fields::kind(&live) == "Secret"
        && fields::group(&live).is_empty()
        && fields::namespace(&live) != Some(namespace);
    if let Some(annotations) = live.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        // On a Secret it repeats the data that is removed below.
        annotations.remove(LAST_APPLIED);
    }
    let Value::Object(mut visible) = live else { return Map::new() };
    if is_foreign_secret {
        visible.remove("data");
    }
    visible
}

/// `apiVersion/Kind/namespace/name`.
fn named(dependency: &ResourceSetDependency) -> String {
    let ResourceSetDependency { api_version, kind, name, namespace, .. } = dependency;
    match namespace {
        Some(namespace) => format!("{api_version}/{kind}/{namespace}/{name}"),
        None => format!("{api_version}/{kind}/{name}"),
    }
}

async fn read(cluster: &Cluster, dependency: &ResourceSetDependency) -> Result<Value, String> {
    let (group, version) = split_api_version(&dependency.api_version);
    let namespace = dependency.namespace.as_deref();
    let id = ObjectId::new(group, &dependency.kind, namespace, &dependency.name).at(version);
    let resource = match cluster.resource(&id).await {
        Ok(resource) => resource,
        Err(error) if error.is_api_missing() => {
            return Err(format!(
                "no matches for kind \"{}\" in version \"{}\"",
                dependency.kind, dependency.api_version
            ));
        }
        Err(error) => return Err(api_text(&error)),
    };
    if resource.namespaced && namespace.is_none() {
        return Err("an empty namespace may not be set when a resource name is provided".to_owned());
    }
    match cluster.read(&id).await {
        Ok(Some(live)) => Ok(live),
        Ok(None) => Err(not_found_text(&resource, &dependency.name)),
        Err(error) => Err(api_text(&error)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn dependency(ready: bool, expression: &str) -> ResourceSetDependency {
        let given = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "gate", "namespace": "apps", "ready": ready,
            "readyExpr": expression});
        serde_json::from_value(given).unwrap()
    }

    #[test]
    fn an_expression_counts_only_where_the_dependency_has_to_be_ready() {
        let refused = parse(&[dependency(true, "data.x ==")]).unwrap_err();
        let expected = "failed to parse expression for dependency v1/ConfigMap/apps/gate: failed to parse the CEL \
                        expression 'data.x ==': ERROR: <input>:1:";
        assert!(refused.starts_with(expected), "{refused}");
        assert!(parse(&[dependency(false, "data.x ==")]).unwrap()[0].expression.is_none());
        assert!(parse(&[dependency(true, "")]).unwrap()[0].expression.is_none());
    }

    #[test]
    fn data_of_a_secret_is_visible_in_its_own_namespace_only() {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": "YQ=="},
            "metadata": {"name": "s", "namespace": "apps", "annotations": {LAST_APPLIED: "{}", "b": "c"}}});
        let own = visible_fields(secret.clone(), "apps");
        assert_eq!((&own["data"]["a"], &own["metadata"]["annotations"]), (&json!("YQ=="), &json!({"b": "c"})));
        assert!(!visible_fields(secret, "other").contains_key("data"));
    }
}
