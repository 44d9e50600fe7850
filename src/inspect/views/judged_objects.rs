//! The objects whose health a Kustomization or HelmRelease evaluates with its own expressions.

use serde::Serialize;
use serde_json::Value;

use crate::api::kinds::KUSTOMIZE_GROUP;
use crate::inspect::read::snapshot::Snapshot;
use crate::inspect::views::{health_checks, inventory};
use crate::k8s::kstatus::Status;
use crate::k8s::{ObjectId, fields, split_api_version};

/// An object and its health by the expressions of its owner.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JudgedObject {
    pub object: ObjectId,
    pub status: Status,
    /// The deciding expression if it is true; otherwise its false parts, with the values that they compare.
    pub message: String,
}

/// Returns the objects that Flux waits for by the expressions of an owner. Objects that do not exist, cannot be read or
/// are still loading are omitted.
pub fn judged_objects(snapshot: &Snapshot, owner: &Value) -> Vec<JudgedObject> {
    let judged = |object: ObjectId| {
        let live = snapshot.get_ref(&object)?;
        let health = health_checks::by_expressions(owner, live)?;
        Some(JudgedObject { object, status: health.status, message: health.message })
    };
    awaited(owner).into_iter().filter_map(judged).collect()
}

/// Whether an owner has expressions at all.
pub fn has_expressions(owner: &Value) -> bool {
    !fields::items(owner, "/spec/healthCheckExprs").is_empty()
}

/// Returns the objects with expressions that Flux waits for: all applied objects, or for a Kustomization without `wait`
/// only those that `healthChecks` names.
pub(crate) fn awaited(owner: &Value) -> Vec<ObjectId> {
    if !has_expressions(owner) {
        return vec![];
    }
    let is_everything =
        fields::group(owner) != KUSTOMIZE_GROUP || fields::at(owner, "/spec/wait") == Some(&Value::Bool(true));
    let objects = if is_everything { inventory::entries(owner) } else { named(owner) };
    objects.into_iter().filter(|id| health_checks::expressions_for(owner, &id.group, &id.kind).is_some()).collect()
}

/// Returns the objects of `spec.healthChecks`, which another owner may have applied.
fn named(owner: &Value) -> Vec<ObjectId> {
    let entries = fields::items(owner, "/spec/healthChecks").iter();
    let id = |entry: &Value| {
        let (group, version) = split_api_version(fields::text(entry, "/apiVersion"));
        let namespace = fields::some_text(entry, "/namespace");
        ObjectId::new(group, fields::text(entry, "/kind"), namespace, fields::text(entry, "/name")).at(version)
    };
    entries.map(id).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_kustomization_that_does_not_wait_judges_only_what_its_health_checks_name() {
        let phase = |name: &str, phase: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "apps"}, "data": {"phase": phase}});
        let snapshot = Snapshot::of_dump([phase("a", "up"), phase("b", "down"), phase("c", "down")]);
        let mut owner = json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
            "metadata": {"name": "app", "namespace": "apps"},
            "spec": {"wait": true, "healthCheckExprs": [{"apiVersion": "v1", "kind": "ConfigMap", "current": "data.phase == 'up'"}],
                "healthChecks": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "namespace": "apps"}]},
            "status": {"inventory": {"entries": [{"id": "apps_a__ConfigMap", "v": "v1"}, {"id": "apps_b__ConfigMap", "v": "v1"},
                {"id": "apps_gone__ConfigMap", "v": "v1"}, {"id": "apps_web_apps_Deployment", "v": "v1"}]}}});
        let reported = |owner: &Value| -> Vec<String> {
            let judged = judged_objects(&snapshot, owner).into_iter();
            judged.map(|one| format!("{} {:?} {}", one.object.name, one.status, one.message)).collect()
        };
        let down = "the health check expression current is false: data.phase == 'up' is not true: data.phase is 'down'";
        assert_eq!(
            reported(&owner),
            ["a Current current is true: data.phase == 'up'".to_owned(), format!("b InProgress {down}")]
        );
        owner["spec"]["wait"] = false.into();
        assert_eq!(reported(&owner), [format!("c InProgress {down}")]);
        owner["spec"]["healthCheckExprs"] = json!([]);
        assert_eq!(reported(&owner), [""; 0]);
    }
}
