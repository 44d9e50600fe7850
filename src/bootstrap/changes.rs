//! Distinguishes harmless changes of a plan from changes that affect Flux.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Value, json};

use crate::api::well_known;
use crate::build::OPERATOR_KINDS;
use crate::k8s::diff::Segment;
use crate::k8s::documentation::is_documentation;
use crate::k8s::{ObjectId, diff};
use crate::reconcile::Plan;
use crate::reconcile::plan::{PlannedObject, Step};

/// A kind of change that does not affect Flux.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum HarmlessChange {
    /// Labels, annotations and field ownership.
    Labels,
    /// Descriptions and messages of definitions.
    Prose,
    /// The digest of an image, added to its tag.
    Digests,
    /// Flags in another order, or at their default.
    Flags,
    /// Kinds of the operator, added to the kinds that alerts and receivers may reference and that their controller may
    /// read.
    OperatorKinds,
    /// Rights for service account tokens, used only by object-level workload identity.
    Tokens,
}

/// A change that affects Flux.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UnexpressedDifference {
    pub object: ObjectId,
    /// The field; empty for an object that would be created.
    pub path: String,
}

/// Prefixes of labels and annotations set by tools that install Flux.
const OF_TOOLS: &[&str] = &[
    "app.kubernetes.io/",
    "kustomize.toolkit.fluxcd.io/",
    "fluxcd.controlplane.io/",
    "kubectl.kubernetes.io/",
    "meta.helm.sh/",
    "cluster-autoscaler.kubernetes.io/safe-to-evict",
    "pod-security.kubernetes.io/warn",
];
/// Flags that set a default value.
const DEFAULT_FLAGS: &[&str] = &["--feature-gates=ObjectLevelWorkloadIdentity=false"];

/// Splits the changes of a plan into harmless kinds, with the number of objects, and differences.
pub(super) fn judge(plan: &Plan) -> (Vec<(HarmlessChange, usize)>, Vec<UnexpressedDifference>) {
    let mut accepted: BTreeMap<HarmlessChange, BTreeSet<&ObjectId>> = BTreeMap::new();
    let mut others = vec![];
    for one in &plan.objects {
        if one.step == Step::Create {
            others.push(UnexpressedDifference { object: one.object.clone(), path: String::new() });
        }
        for (path, sort) in changes_of(one) {
            match sort {
                Some(sort) => drop(accepted.entry(sort).or_default().insert(&one.object)),
                None => others.push(UnexpressedDifference { object: one.object.clone(), path }),
            }
        }
    }
    (accepted.into_iter().map(|(sort, objects)| (sort, objects.len())).collect(), others)
}

fn changes_of(one: &PlannedObject) -> Vec<(String, Option<HarmlessChange>)> {
    let (Some(live), Some(result)) = (&one.live, &one.result) else { return vec![] };
    let (from, to) = (diff::comparable(live), diff::comparable(result));
    let sorted = |change: diff::Difference<'_>| {
        let path = diff::path_text(if change.from.is_some() { &from } else { &to }, &change.path);
        let sort = sort_of(&path, change.from, change.to);
        (path, sort)
    };
    differences(&from, &to).into_iter().map(sorted).collect()
}

/// Compares two values. Rules have no names, so lists of rules are compared as a whole.
pub(super) fn differences<'a>(from: &'a Value, to: &'a Value) -> Vec<diff::Difference<'a>> {
    let rules = Segment::Key("rules".to_owned());
    let (of_rules, mut others): (Vec<_>, Vec<_>) =
        diff::differences(from, to).into_iter().partition(|change| change.path.first() == Some(&rules));
    if !of_rules.is_empty() {
        others.push(diff::Difference { path: vec![rules], from: from.get("rules"), to: to.get("rules") });
    }
    others
}

/// Returns the kind of a harmless change; `None` for any other change.
pub(super) fn sort_of(path: &str, from: Option<&Value>, to: Option<&Value>) -> Option<HarmlessChange> {
    let field = path.rsplit('.').next().unwrap_or_default();
    if path.starts_with("metadata.") || path.starts_with("spec.template.metadata.") {
        return keeps_own_keys(path, from, to).then_some(HarmlessChange::Labels);
    }
    if is_documentation(path) {
        return Some(HarmlessChange::Prose);
    }
    match field {
        "image" => {
            let (from, to) = (from?.as_str()?, to?.as_str()?);
            to.strip_prefix(from).is_some_and(|rest| rest.starts_with("@sha256:")).then_some(HarmlessChange::Digests)
        }
        "args" => {
            let (before, after) = (flags(from?), flags(to?));
            let gone = before.difference(&after).count();
            // A build may set a default explicitly, which changes nothing.
            let new = after.difference(&before).all(|flag| DEFAULT_FLAGS.contains(&flag.as_str()));
            (gone == 0 && new).then_some(HarmlessChange::Flags)
        }
        "enum" => {
            let (before, after) = (from?.as_array()?, to?.as_array()?);
            let added = after.iter().filter(|kind| !before.contains(kind));
            let only_ours = added.clone().all(|kind| OPERATOR_KINDS.iter().any(|ours| kind == ours));
            (before.iter().all(|kind| after.contains(kind)) && only_ours).then_some(HarmlessChange::OperatorKinds)
        }
        "rules" => sort_of_rules(from?.as_array()?, to?.as_array()?),
        _ => None,
    }
}

fn sort_of_rules(before: &[Value], after: &[Value]) -> Option<HarmlessChange> {
    let tokens = json!({"apiGroups": [""], "resources": ["serviceaccounts/token"], "verbs": ["create"]});
    let ours = json!({"apiGroups": [well_known::GROUP], "resources": ["*"], "verbs": ["*"]});
    let gone: Vec<&Value> = before.iter().filter(|rule| !after.contains(rule)).collect();
    let new: Vec<&Value> = after.iter().filter(|rule| !before.contains(rule)).collect();
    match (gone.as_slice(), new.as_slice()) {
        ([], new) if new.iter().all(|rule| **rule == ours) => Some(HarmlessChange::OperatorKinds),
        ([gone], new) if **gone == tokens && new.iter().all(|rule| **rule == ours) => Some(HarmlessChange::Tokens),
        _ => None,
    }
}

/// Whether a change of labels or annotations keeps those that a user has set.
fn keeps_own_keys(path: &str, from: Option<&Value>, to: Option<&Value>) -> bool {
    let is_of_tools = |key: &str| OF_TOOLS.iter().any(|prefix| key.starts_with(prefix));
    match (from, to) {
        (None, _) => true,
        // The whole map is removed.
        (Some(Value::Object(map)), None) => map.keys().all(|key| is_of_tools(key)),
        (Some(_), _) => {
            // `metadata.labels.app` or `metadata.labels[app.kubernetes.io/name]`.
            let key = path.split_once("labels").or_else(|| path.split_once("annotations")).map(|(_, key)| key);
            key.is_some_and(|key| is_of_tools(key.trim_start_matches(['.', '[']).trim_end_matches(']')))
        }
    }
}

/// Normalises the flags of a controller. The last of repeated flags counts, except for feature gates.
fn flags(list: &Value) -> BTreeSet<String> {
    let spelt = |flag: &str| match flag {
        // Go's flag packages read a boolean flag without a value as true.
        "--watch-all-namespaces" | "--enable-leader-election" => format!("{flag}=true"),
        flag if flag.starts_with("--events-addr=") => flag.trim_end_matches('/').to_owned(),
        flag => flag.to_owned(),
    };
    let all = list.as_array().into_iter().flatten().filter_map(Value::as_str).map(spelt);
    let key = |flag: &str| match flag.split_once('=') {
        Some((name, _)) if name != "--feature-gates" => name.to_owned(),
        _ => flag.to_owned(),
    };
    all.map(|flag| (key(&flag), flag)).collect::<BTreeMap<_, _>>().into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sort(path: &str, from: Value, to: Value) -> Option<HarmlessChange> {
        let some = |value: &Value| (!value.is_null()).then(|| value.clone());
        sort_of(path, some(&from).as_ref(), some(&to).as_ref())
    }

    #[test]
    fn only_settings_without_an_effect_on_flux_are_accepted() {
        let container = "spec.template.spec.containers[name=manager]";
        for (path, from, to, expected) in [
            ("metadata.labels[app.kubernetes.io/version]", json!("v1"), json!("v2"), Some(HarmlessChange::Labels)),
            ("metadata.annotations[eks.amazonaws.com/role-arn]", json!("arn"), Value::Null, None),
            ("metadata.annotations", json!({"eks.amazonaws.com/role-arn": "arn"}), Value::Null, None),
            ("metadata.annotations", Value::Null, json!({"a": "b"}), Some(HarmlessChange::Labels)),
            (&format!("{container}.image"), json!("g/a:v1"), json!("g/a:v1@sha256:00"), Some(HarmlessChange::Digests)),
            (&format!("{container}.image"), json!("g/a:v1"), json!("g/a:v2@sha256:00"), None),
            (
                &format!("{container}.args"),
                json!(["--b", "--watch-all-namespaces"]),
                json!(["--watch-all-namespaces=true", "--b", "--feature-gates=ObjectLevelWorkloadIdentity=false"]),
                Some(HarmlessChange::Flags),
            ),
            (&format!("{container}.args"), json!(["--concurrent=20"]), json!([]), None),
            (
                "spec.a.enum",
                json!(["Kustomization"]),
                json!(["Kustomization", "ResourceSet"]),
                Some(HarmlessChange::OperatorKinds),
            ),
            ("spec.a.enum", json!(["Kustomization"]), json!(["ResourceSet"]), None),
            ("spec.replicas", json!(2), json!(1), None),
        ] {
            assert_eq!(sort(path, from, to), expected, "{path}");
        }
    }

    #[test]
    fn rules_may_only_lose_tokens_and_gain_the_operators_kinds() {
        let tokens = json!({"apiGroups": [""], "resources": ["serviceaccounts/token"], "verbs": ["create"]});
        let ours = json!({"apiGroups": ["fluxcd.controlplane.io"], "resources": ["*"], "verbs": ["*"]});
        let other = json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]});
        let sort = |from: Value, to: Value| sort("rules", from, to);
        assert_eq!(sort(json!([other, tokens]), json!([other, ours])), Some(HarmlessChange::Tokens));
        assert_eq!(sort(json!([other]), json!([other, ours])), Some(HarmlessChange::OperatorKinds));
        assert_eq!(sort(json!([other]), json!([ours])), None);
    }
}
