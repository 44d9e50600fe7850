//! Health by expressions: the verdicts of the real kustomize-controller on objects and expressions, beside ours.
//!
//! Each case has a kind of its own within its Kustomization, because expressions belong to a kind. A Kustomization ends with the
//! first object that fails, so each case that fails has one for itself; all others share a few, which time out together.

use std::collections::BTreeMap;

use flux_operator::inspect::read::snapshot::Snapshot;
use flux_operator::inspect::views::judged_objects::judged_objects;
use serde_json::{Value, json};

use crate::cluster_tests;
use crate::support::runner::ClusterTest;
use crate::support::{TestCluster, eventually, objects};
use crate::world::{SOON, World, api, kustomization, source, with};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![expressions_are_judged_as_kustomize_controller_judges_them]
}

const GROUP: &str = "health.example.com";
/// Cases of one Kustomization, and so kinds.
const KINDS: usize = 16;

/// The verdict of the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Current,
    InProgress,
    Failed,
    /// The expression has no result.
    Unknown,
    /// An expression cannot be parsed.
    Refused,
}
use Verdict::*;

/// `current`, `inProgress` and `failed` (empty where there is none) about [`object`], and the verdict.
const CASES: &[(&str, &str, &str, Verdict)] = &[
    // Fields and values.
    ("status.phase == 'Ready'", "", "", Current),
    ("status.phase == 'Lost'", "", "", InProgress),
    ("status['phase'] == 'Ready'", "", "", Current),
    ("kind.startsWith('Case') && apiVersion == 'health.example.com/v1'", "", "", Current),
    ("metadata.generation == 1", "", "", Current),
    ("spec.replicas == status.readyReplicas", "", "", Current),
    ("spec.replicas == 2.0", "", "", Current),
    ("spec.ratio > 0", "", "", Current),
    ("spec.ratio * 2.0 == 1.0", "", "", Current),
    ("spec.replicas * 2.0 == 4.0", "", "", Unknown),
    ("spec.replicas > spec.ratio", "", "", Current),
    ("spec.replicas / 0 == 1", "", "", Unknown),
    ("status.phase", "", "", Unknown),
    ("status.phase == 1", "", "", InProgress),
    ("status.phase < 'S'", "", "", Current),
    ("status.phase < 1", "", "", Unknown),
    ("spec.hosts == ['a', 'b']", "", "", Current),
    ("'a' in spec.hosts && !('c' in spec.hosts)", "", "", Current),
    ("status.message == null", "", "", Current),
    ("spec.paused == false", "", "", Current),
    ("!spec.paused", "", "", Current),
    ("!status.phase", "", "", Unknown),
    // Missing fields, and what decides in spite of them.
    ("status.gone == 'x'", "", "", Unknown),
    ("gone.field == 'x'", "", "", Unknown),
    ("has(status.gone)", "", "", InProgress),
    ("has(status.phase) && status.phase == 'Ready'", "", "", Current),
    ("status.gone == 'x' || status.phase == 'Ready'", "", "", Current),
    ("status.gone == 'x' && status.phase == 'Lost'", "", "", InProgress),
    ("status.gone == 'x' && status.phase == 'Ready'", "", "", Unknown),
    ("status.?gone.orValue('x') == 'x'", "", "", Current),
    ("status.?phase.orValue('x') == 'x'", "", "", InProgress),
    ("status[?'gone'].hasValue()", "", "", InProgress),
    ("spec.hosts[5] == 'a'", "", "", Unknown),
    ("spec.hosts[?5].orValue('a') == 'a'", "", "", Current),
    // Loops.
    ("status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')", "", "", Current),
    ("status.conditions.all(c, c.status == 'True')", "", "", InProgress),
    (
        "status.conditions.filter(c, c.type == 'Ready').all(c, c.status == 'True' && c.observedGeneration == metadata.generation)",
        "",
        "",
        Current,
    ),
    ("status.conditions.filter(c, c.type == 'None').all(c, c.status == 'True')", "", "", Current),
    ("status.conditions.exists_one(c, c.status == 'True')", "", "", Current),
    ("status.conditions.map(c, c.type).join(',') == 'Ready,Synced'", "", "", Current),
    ("status.conditions.exists(c, c.gone == 'x')", "", "", Unknown),
    ("status.conditions.exists(c, c.type == 'Ready' || c.gone == 'x')", "", "", Current),
    ("status.nodes.all(n, status.nodes[n].ready)", "", "", InProgress),
    ("status.nodes.exists(n, status.nodes[n].ready)", "", "", Current),
    ("size(status.nodes) == 2 && size(status.conditions) == 2", "", "", Current),
    ("status.phase.all(c, c == 'x')", "", "", Unknown),
    // Functions.
    ("status.phase.matches('^Re.*y$')", "", "", Current),
    ("status.phase.matches('^(')", "", "", Refused),
    ("status.phase.lowerAscii() == 'ready'", "", "", Current),
    ("status.phase.charAt(0) == 'R' && status.phase.substring(1) == 'eady'", "", "", Current),
    ("status.phase.substring(9) == ''", "", "", Unknown),
    ("'a,b'.split(',') == spec.hosts", "", "", Current),
    ("sets.contains(spec.hosts, ['b'])", "", "", Current),
    ("string(base64.decode('UmVhZHk=')) == status.phase", "", "", Current),
    ("int('2') == spec.replicas && string(spec.replicas) == '2'", "", "", Current),
    ("int('x') == 2", "", "", Refused),
    ("int(status.phase) == 2", "", "", Unknown),
    ("timestamp(status.since).getFullYear() == 2026", "", "", Current),
    ("timestamp(status.since) + duration('1h') > timestamp('2026-01-01T00:30:00Z')", "", "", Current),
    ("type(spec.replicas) == int && type(status.phase) == string", "", "", Current),
    ("dyn(status.phase) == 'Ready'", "", "", Current),
    ("status.phase == 'Ready' ? spec.replicas > 1 : status.gone", "", "", Current),
    ("spec.replicas > 1 ? 'yes' : 'no'", "", "", Unknown),
    ("nofunction(status.phase)", "", "", Unknown),
    ("status.phase.nomethod()", "", "", Unknown),
    // The order of the three.
    ("true", "status.phase == 'Ready'", "", InProgress),
    ("true", "status.phase == 'Lost'", "", Current),
    ("true", "status.gone == 'x'", "", Unknown),
    ("true", "", "status.gone == 'x'", Unknown),
    ("true", "true", "true", InProgress),
    ("true", "", "status.phase == 'Ready'", Failed),
    ("status.gone == 'x'", "false", "status.phase in ['Ready']", Failed),
    ("false", "", "status.conditions.exists(c, c.type == 'Synced' && c.status == 'False')", Failed),
    ("false", "", "false", InProgress),
    // Expressions that cannot be parsed.
    ("status.phase ==", "", "", Refused),
    ("true", "status.phase = 'x'", "", Refused),
    ("true", "", "(status.phase", Refused),
];

/// `status.observedGeneration` (empty where there is none), `current`, `failed`, and the verdict: another observed generation than
/// that of the object, which is 1, keeps Flux from asking at all.
const GENERATIONS: &[(&str, &str, &str, Verdict)] = &[
    ("1", "status.phase == 'Ready'", "", Current),
    ("1", "status.phase == 'Lost'", "", InProgress),
    ("2", "true", "", InProgress),
    ("0", "true", "", InProgress),
    ("0", "status.gone == 'x'", "", InProgress),
    ("0", "false", "true", InProgress),
    ("1", "false", "true", Failed),
    // Only a number counts.
    ("\"0\"", "true", "", Current),
    ("null", "true", "", Current),
    ("0", "true ==", "", Refused),
];

/// A case within its Kustomization.
struct Case {
    owner: String,
    kind: String,
    name: String,
    expressions: Value,
    observed: Option<Value>,
    verdict: Verdict,
}

/// Deals the cases out to Kustomizations.
fn cases() -> Vec<Case> {
    let by_expression = CASES.iter().map(|(current, in_progress, failed, verdict)| {
        (json!({"current": current, "inProgress": in_progress, "failed": failed}), None, *verdict)
    });
    let by_generation = GENERATIONS.iter().map(|(observed, current, failed, verdict)| {
        let observed = serde_json::from_str(observed).expect("JSON");
        (json!({"current": current, "failed": failed}), Some(observed), *verdict)
    });
    let mut shared = 0;
    let deal = |(index, (mut expressions, observed, verdict)): (usize, (Value, Option<Value>, Verdict))| {
        let is_alone = matches!(verdict, Failed | Refused);
        let (owner, kind) = match is_alone {
            true => (format!("alone-{index}"), 0),
            false => {
                shared += 1;
                (format!("shared-{}", (shared - 1) / KINDS), (shared - 1) % KINDS)
            }
        };
        let kind = format!("Case{kind}");
        expressions.as_object_mut().expect("an object").retain(|_, text| text != "");
        expressions["apiVersion"] = json!(format!("{GROUP}/v1"));
        expressions["kind"] = json!(kind);
        Case { owner, kind, name: format!("case-{index}"), expressions, observed, verdict }
    };
    by_expression.chain(by_generation).enumerate().map(deal).collect()
}

fn object(case: &Case) -> Value {
    let mut object = json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": case.kind, "metadata": {"name": case.name},
        "spec": {"replicas": 2, "ratio": 0.5, "paused": false, "hosts": ["a", "b"]},
        "status": {"phase": "Ready", "readyReplicas": 2, "message": null, "since": "2026-01-01T00:00:00Z",
            "conditions": [{"type": "Ready", "status": "True", "observedGeneration": 1}, {"type": "Synced", "status": "False"}],
            "nodes": {"one": {"ready": true}, "two": {"ready": false}}},
    });
    if let Some(observed) = &case.observed {
        object["status"]["observedGeneration"] = observed.clone();
    }
    object
}

/// Without the status subresource, so that a status is written with the object and its generation stays 1.
fn definition(kind: usize) -> Value {
    let (kind, plural) = (format!("Case{kind}"), format!("case{kind}s"));
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": format!("{plural}.{GROUP}")},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": {"kind": kind, "plural": plural},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]},
    })
}

async fn expressions_are_judged_as_kustomize_controller_judges_them(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    let cases = cases();
    assert!(cases.len() >= 60);
    cluster.apply(&(0..KINDS).map(definition).collect::<Vec<_>>()).await;
    cluster.apply(&cases.iter().map(object).collect::<Vec<_>>()).await;
    cluster.apply(&[source("app", &world.url())]).await;
    let mut owners: BTreeMap<&str, Vec<&Case>> = BTreeMap::new();
    for case in &cases {
        owners.entry(&case.owner).or_default().push(case);
    }
    for (owner, cases) in &owners {
        let checks: Vec<Value> = cases
            .iter()
            .map(|case| {
                json!({"apiVersion": format!("{GROUP}/v1"), "kind": case.kind, "name": case.name,
                    "namespace": cluster.namespace()})
            })
            .collect();
        let expressions: Vec<&Value> = cases.iter().map(|case| &case.expressions).collect();
        let mut object = with(kustomization(&cluster, owner, "./deploy"), "healthChecks", json!(checks));
        object = with(object, "healthCheckExprs", json!(expressions));
        object["spec"]["interval"] = json!("1h");
        object["spec"]["retryInterval"] = json!("1h");
        // Shorter ones count as 30 seconds.
        object["spec"]["timeout"] = json!("30s");
        cluster.apply(&[object]).await;
    }
    let mut snapshot = vec![];
    for case in &cases {
        let kind = objects::api(&cluster.client(), &format!("{GROUP}/v1"), &case.kind, cluster.namespace())
            .await
            .expect("served");
        let live = serde_json::to_value(kind.get(&case.name).await.expect("it is there")).expect("JSON");
        assert_eq!(live["metadata"]["generation"], 1, "{live:#}");
        snapshot.push(live);
    }
    let snapshot = Snapshot::of_dump(snapshot);
    let mut differences = vec![];
    for (owner, cases) in owners {
        let live = judged_kustomization(&cluster, owner).await;
        let ready = live.pointer("/status/conditions").and_then(Value::as_array).expect("conditions");
        let ready = ready.iter().find(|condition| condition["type"] == "Ready").expect("it has been judged");
        let text = |key: &str| ready[key].as_str().unwrap_or_default();
        let ours = judged_objects(&snapshot, &live);
        for case in cases {
            let reference = format!("{}/{}/{} status: '", case.kind, cluster.namespace(), case.name);
            let theirs = match text("message").split_once(&reference).and_then(|(_, rest)| rest.split_once('\'')) {
                _ if text("reason") == "InvalidCELExpression" => "Refused",
                Some((status, _)) => status,
                None if text("message").contains("dry-run failed") => text("message"),
                None => "Current",
            };
            let own = ours.iter().find(|one| one.object.name == case.name).expect("ours has a verdict");
            let verdict = match own.status.to_string().as_str() {
                "Unknown" if own.message.contains("is not valid") => "Refused".to_owned(),
                status => status.to_owned(),
            };
            if theirs != verdict || theirs != format!("{:?}", case.verdict) {
                let expected = case.verdict;
                differences.push(format!(
                    "{}, observed {:?}: kustomize-controller says {theirs}, ours {verdict}, expected {expected:?}: {}\n{}",
                    case.expressions,
                    case.observed,
                    own.message,
                    text("message"),
                ));
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Waits until the controller has judged the objects of a Kustomization.
async fn judged_kustomization(cluster: &TestCluster, name: &str) -> Value {
    let api = api(cluster, "Kustomization");
    let what = format!("the verdict on {name}");
    let judged = eventually(&what, SOON * 4, || async {
        let object = serde_json::to_value(api.get_opt(name).await.expect("asked")?).expect("JSON");
        let conditions = object.pointer("/status/conditions")?.as_array()?;
        let ready = conditions.iter().find(|condition| condition["type"] == "Ready")?;
        // Until the source is fetched and while it waits, this says so.
        let is_over = ready["status"] == "True"
            || ["HealthCheckFailed", "InvalidCELExpression"].iter().any(|reason| ready["reason"] == *reason);
        is_over.then(|| object.clone())
    });
    judged.await.expect("a verdict")
}
