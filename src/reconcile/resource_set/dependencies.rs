//! `dependsOn`: objects that must exist, or be ready, before a ResourceSet is applied.
//!
//! They are read with the operator's own rights.

use serde_json::Value;

use super::ready_expression;
use super::texts::{api_text, not_found_text};
use crate::api::ResourceSetDependency;
use crate::cluster::Cluster;
use crate::k8s::kstatus;
use crate::k8s::{ObjectId, split_api_version};

/// Reads the expressions of all dependencies.
///
/// # Errors
/// The text of the first one that is not valid: trying again is of no use until the spec changes.
pub(super) fn parse(dependencies: &[ResourceSetDependency]) -> Result<(), String> {
    dependencies.iter().filter(|dependency| dependency.ready == Some(true)).try_for_each(|dependency| {
        let parsed = dependency.ready_expr.as_deref().map_or(Ok(()), ready_expression::parse);
        parsed.map_err(|error| format!("failed to parse expression for dependency {}: {error}", named(dependency)))
    })
}

/// Checks the dependencies in order.
///
/// # Errors
/// The text about the first one that is not there or not ready.
pub(super) async fn check(cluster: &Cluster, dependencies: &[ResourceSetDependency]) -> Result<(), String> {
    for dependency in dependencies {
        let name = named(dependency);
        let live = read(cluster, dependency).await.map_err(|error| format!("dependency {name} not found: {error}"))?;
        if dependency.ready != Some(true) {
            continue;
        }
        let not_ready = |why: String| Err(format!("dependency {name} not ready{why}"));
        if matches!(dependency.kind.as_str(), "ResourceSet" | "ResourceSetInputProvider") {
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
