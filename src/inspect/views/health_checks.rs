//! Health of an applied object as Flux judges it: by the expressions in `spec.healthCheckExprs` of the Kustomization or
//! HelmRelease, if it has any for the kind.
//!
//! The order is that of <https://fluxcd.io/flux/components/kustomize/kustomizations/#health-check-expressions>: first
//! the observed generation, then `inProgress`, `failed` and `current`.

use flux_operator_expression::Expression;
use serde_json::Value;

use crate::api::kinds::{HELM_GROUP, KUSTOMIZE_GROUP};
use crate::k8s::fields;
use crate::k8s::kstatus::{self, Health, Status};
use crate::k8s::split_api_version;

/// Returns the health of an object that an owner applied, by the expressions of the owner or else by its status.
pub(crate) fn health_of(owner: &Value, live: &Value) -> Health {
    by_expressions(owner, live).unwrap_or_else(|| kstatus::compute(live))
}

/// Returns the health by the expressions of the owner; `None` if it has none for the kind.
pub(crate) fn by_expressions(owner: &Value, live: &Value) -> Option<Health> {
    let expressions = expressions_for(owner, fields::group(live), fields::kind(live))?;
    Some(judge(expressions, live))
}

/// Returns the expressions of an owner for a kind: those that name it, or else those for its whole group.
pub(crate) fn expressions_for<'a>(owner: &'a Value, group: &str, kind: &str) -> Option<&'a Value> {
    if ![KUSTOMIZE_GROUP, HELM_GROUP].contains(&fields::group(owner)) {
        return None;
    }
    let entries = fields::items(owner, "/spec/healthCheckExprs");
    let with_kind = |wanted: &str| {
        entries.iter().find(|entry| {
            split_api_version(fields::text(entry, "/apiVersion")).0 == group && fields::text(entry, "/kind") == wanted
        })
    };
    with_kind(kind).or_else(|| with_kind(""))
}

/// The expressions of a health check in the order in which Flux evaluates them.
const EXPRESSIONS: [(&str, Status); 3] =
    [("inProgress", Status::InProgress), ("failed", Status::Failed), ("current", Status::Current)];

fn judge(expressions: &Value, live: &Value) -> Health {
    let health = |status: Status, message: String| Health { status, message };
    let mut parsed = vec![];
    // Flux parses every expression before it reads an object, so one invalid expression decides alone.
    for (name, status) in EXPRESSIONS {
        let Some(text) = fields::some_text(expressions, &format!("/{name}")) else { continue };
        match Expression::parse(text) {
            Ok(expression) => parsed.push((name, status, expression)),
            Err(error) => {
                return health(Status::Unknown, format!("the health check expression {name} is not valid: {error}"));
            }
        }
    }
    let observed = fields::number(live, "/status/observedGeneration");
    let generation = fields::number(live, "/metadata/generation");
    if let (Some(observed), Some(generation)) = (observed, generation)
        && observed != generation
    {
        let message = format!(
            "status.observedGeneration is {observed} and metadata.generation is {generation}: Flux evaluates the health \
             check expressions only when both are equal"
        );
        return health(Status::InProgress, message);
    }
    let Some(object) = live.as_object() else { return health(Status::Unknown, String::new()) };
    let mut why = String::new();
    for (name, status, expression) in parsed {
        let text = expression.text();
        match expression.evaluate(object) {
            Ok(true) if status == Status::Current => return health(status, format!("{name} is true: {text}")),
            Ok(true) => return health(status, format!("the health check expression {name} is true: {text}")),
            Ok(false) => {
                let parts: Vec<String> = expression.explain(object).iter().map(ToString::to_string).collect();
                why = format!("the health check expression {name} is false: {}", parts.join("; "));
            }
            // The controller retries until its timeout.
            Err(error) => {
                return health(Status::Unknown, format!("the health check expression {name} has no result: {error}"));
            }
        }
    }
    health(Status::InProgress, why)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn owner(expressions: Value) -> Value {
        json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": "app"},
            "spec": {"healthCheckExprs": [expressions]}})
    }

    fn database(status: Value) -> Value {
        json!({"apiVersion": "example.com/v2", "kind": "Database", "metadata": {"name": "db", "generation": 3}, "status": status})
    }

    #[test]
    fn expressions_judge_in_the_order_of_flux_and_name_the_part_that_is_false() {
        let all = json!({"apiVersion": "example.com/v1", "kind": "Database", "current": "status.phase == 'Ready' && status.replicas > 1",
            "inProgress": "status.phase == 'Starting'", "failed": "status.phase in ['Failed', 'Lost']"});
        let rows = [
            (json!({"phase": "Ready", "replicas": 2}), Status::Current, "current is true"),
            (
                json!({"phase": "Ready", "replicas": 1}),
                Status::InProgress,
                "status.replicas > 1 is not true: status.replicas is 1",
            ),
            (json!({"phase": "Starting", "replicas": 2}), Status::InProgress, "inProgress is true"),
            (json!({"phase": "Lost"}), Status::Failed, "failed is true"),
            (json!({"phase": "Ready"}), Status::Unknown, "current has no result"),
            (
                json!({"phase": "Ready", "replicas": 2, "observedGeneration": 2}),
                Status::InProgress,
                "status.observedGeneration is 2 and metadata.generation is 3",
            ),
            (json!({"phase": "Ready", "replicas": 2, "observedGeneration": 3}), Status::Current, ""),
        ];
        for (status, expected, part) in rows {
            let health = by_expressions(&owner(all.clone()), &database(status.clone())).unwrap();
            assert!(health.status == expected && health.message.contains(part), "{status}: {health:?}");
        }
    }

    #[test]
    fn other_kinds_and_owners_are_judged_by_their_status() {
        let other = json!({"apiVersion": "example.com/v1", "kind": "Cache", "current": "false"});
        assert_eq!(by_expressions(&owner(other), &database(json!({}))), None);
        let mut set = owner(json!({"apiVersion": "example.com/v1", "kind": "Database", "current": "false"}));
        assert_eq!(health_of(&set, &database(json!({}))).status, Status::InProgress);
        set["apiVersion"] = "fluxcd.controlplane.io/v1".into();
        assert_eq!(health_of(&set, &database(json!({}))).status, Status::Current);
        let broken = owner(json!({"apiVersion": "example.com/v1", "kind": "Database", "current": "status.phase ="}));
        let health = health_of(&broken, &database(json!({})));
        assert!(health.status == Status::Unknown && health.message.contains("is not valid"), "{health:?}");
    }

    #[test]
    fn expressions_without_a_kind_are_for_the_group_and_those_of_the_kind_come_first() {
        let group = json!({"apiVersion": "example.com/v1", "current": "true"});
        let mut both = owner(group);
        assert_eq!(by_expressions(&both, &database(json!({}))).unwrap().status, Status::Current);
        let own = json!({"apiVersion": "example.com/v1", "kind": "Database", "current": "false"});
        both["spec"]["healthCheckExprs"].as_array_mut().unwrap().push(own);
        assert_eq!(by_expressions(&both, &database(json!({}))).unwrap().status, Status::InProgress);
        let mut other = database(json!({}));
        other["apiVersion"] = "example.org/v1".into();
        assert_eq!(by_expressions(&both, &other), None);
    }

    #[test]
    fn an_expression_that_is_not_valid_decides_before_any_other() {
        let broken = json!({"apiVersion": "example.com/v1", "kind": "Database", "current": "status.phase =", "inProgress": "true"});
        let health = by_expressions(&owner(broken), &database(json!({"observedGeneration": 1}))).unwrap();
        assert!(health.status == Status::Unknown && health.message.contains("current is not valid"), "{health:?}");
    }
}
