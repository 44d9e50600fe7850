//! A row per cause: the objects as the controllers leave them, and what explains them.

use serde_json::{Value, json};

use super::super::{Overview, Why, overview, why};
use super::*;
use crate::inspect::read::snapshot::Snapshot;
use test_support::causes::*;

const NOW: &str = "2026-01-01T01:00:00Z";

fn explain(subject: &Value, others: &[Value]) -> Why {
    let snapshot = Snapshot::of_dump(others.iter().cloned().chain([subject.clone()]));
    why(&snapshot, subject, NOW.parse().unwrap())
}

#[test]
fn every_cause_is_distinguished_from_the_others_with_evidence_and_a_next_step() {
    let mut reported = BTreeSet::new();
    let mut wrong = vec![];
    for Row { subject, others, reason, object, says } in rows() {
        let found = explain(&subject, &others);
        let text = format!("{}: {:?}", subject["status"], found.cause);
        let Some(cause) = found.cause else {
            wrong.push(format!("no cause: {text}"));
            continue;
        };
        let is_it = (word(cause.reason).as_str(), cause.object.to_string().as_str()) == (reason, object)
            && says.split('|').any(|part| cause.summary.contains(part));
        if !is_it || found.ready || cause.evidence.is_empty() || cause.next.is_empty() {
            wrong.push(format!("not {reason} of {object} that says {says:?}: {text}"));
        }
        reported.insert(format!("{reason} {}", cause.summary));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(reported.len() >= 100, "{} causes: {reported:#?}", reported.len());
}

/// The word of a reason in the JSON output.
fn word(reason: Reason) -> String {
    format!("{reason:?}")
}

#[test]
fn every_reason_has_a_row() {
    let schema = schemars::schema_for!(Reason);
    let words: BTreeSet<&str> =
        schema.get("enum").unwrap().as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let rows = rows();
    let shown: BTreeSet<&str> = rows.iter().map(|row| row.reason).collect();
    assert!(words.len() >= 60, "{words:?}");
    assert_eq!(shown, words, "a cause without a row, or a row without a cause");
}

#[test]
fn a_provider_that_fails_explains_a_set_that_is_ready() {
    let set = resource_set(json!({"inputsFrom": [{"name": "branches"}]}), "", "Reconciliation finished in 1s");
    let provider = input_provider("ReconciliationFailed", "401 Bad credentials", true);
    let found = explain(&set, std::slice::from_ref(&provider)).cause.unwrap();
    assert_eq!(found.object.to_string(), "ResourceSetInputProvider/apps/branches");
    let all = everything([set.clone(), provider]);
    assert_eq!((all.failing, all.causes.len()), (2, 1), "{all:#?}");
    assert!(explain(&set, &[input_provider("", "ok", true)]).ready);
}

#[test]
fn a_health_check_expression_that_is_false_is_named_with_its_value() {
    let expressions =
        json!([{"apiVersion": "example.com/v1", "kind": "Database", "current": "status.phase == 'Ready'"}]);
    let text = "health check failed after 30s: timeout waiting for: [Database/apps/db status: 'InProgress']";
    let mut app = with(ks("app", "HealthCheckFailed", text), "/spec/healthCheckExprs", expressions);
    app["status"]["inventory"] = json!({"entries": [{"id": "apps_db_example.com_Database", "v": "v1"}]});
    let database = |observed: i64| {
        json!({"apiVersion": "example.com/v1", "kind": "Database", "metadata": {"name": "db", "namespace": "apps", "generation": 2},
            "status": {"phase": "Lost", "observedGeneration": observed}})
    };
    let says = |database: Value| {
        let cause = explain(&app, &[database]).cause.unwrap();
        assert_eq!((cause.reason, cause.object.to_string().as_str()), (Reason::HealthCheckFailed, "Database/apps/db"));
        cause.evidence[0].text.clone()
    };
    assert!(says(database(2)).ends_with("status.phase == 'Ready' is not true: status.phase is 'Lost'"));
    assert!(says(database(1)).starts_with("status.observedGeneration is 1 and metadata.generation is 2"));
}

#[test]
fn an_expression_about_a_dependency_is_named_with_its_value() {
    let wait = |expression: &str| {
        let spec = json!({"dependsOn": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "gate", "namespace": "apps",
            "ready": true, "readyExpr": expression}]});
        let set = resource_set(spec, "DependencyNotReady", "Retrying dependency check: x");
        let gate = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "gate", "namespace": "apps"},
            "data": {"stage": "one"}});
        explain(&set, &[gate]).cause.unwrap()
    };
    let cause = wait("has(data.stage) && data.stage == 'two'");
    assert_eq!(cause.reason, Reason::DependencyNotReady);
    let status = cause.evidence.iter().find(|evidence| evidence.from == "status").unwrap();
    assert_eq!(status.text, "data.stage == 'two' is not true: data.stage is 'one'");
    assert_eq!(wait("data.stage == 'one'").reason, Reason::InProgress, "it is fulfilled by now");
}

#[test]
fn a_template_that_fails_is_placed_in_the_spec_with_its_input_set() {
    let text = "build failed: failed to build resources[0]: failed to execute template: template: resourceset:4:11: x: \
                map has no entry for key \"a\" (spec.resources[0], line 4, input set 0 (id 7, of ResourceSet/apps/set))\n";
    let found = explain(&resource_set(json!({}), "BuildFailed", text), &[]).cause.unwrap();
    let place = found.evidence.iter().find(|evidence| evidence.from == "spec").unwrap();
    assert_eq!(place.text, "spec.resources[0], line 4, input set 0 (id 7, of ResourceSet/apps/set)");
}

#[test]
fn every_cause_is_also_found_in_an_overview_of_all_objects() {
    // Causes that are found only in the requested object.
    let only_asked = ["ObjectMissing", "InProgress"];
    for Row { subject, others, reason, object, .. } in rows() {
        let is_flux = kinds::of(fields::group(&subject), fields::kind(&subject)).is_some();
        let is_ready = fields::condition(&subject, READY).is_some_and(|c| c.is_true());
        if !is_flux || kinds::is_suspended(&subject) || (is_ready && only_asked.contains(&reason)) {
            continue;
        }
        let all = everything(others.iter().cloned().chain([subject.clone()]));
        if reason == "InProgress" {
            assert_eq!((all.failing, all.in_progress), (0, 1), "{all:#?}");
            continue;
        }
        let group = all.causes.iter().find(|group| group.affected.contains(&ObjectId::of(&subject)));
        let group = group.unwrap_or_else(|| panic!("{} is in no group: {all:#?}", ObjectId::of(&subject)));
        let found = (word(group.cause.reason), group.cause.object.to_string());
        assert_eq!(found, (reason.to_owned(), object.to_owned()), "{all:#?}");
        assert!(!all.well);
    }
}

fn everything(objects: impl IntoIterator<Item = Value>) -> Overview {
    overview(&Snapshot::of_dump(objects), None, NOW.parse().unwrap())
}

fn texts(subject: &Value) -> Vec<String> {
    explain(subject, &[]).cause.unwrap().evidence.into_iter().map(|e| format!("{}: {}", e.from, e.text)).collect()
}

#[test]
fn a_failing_source_shows_its_last_artifact_and_a_refusal_names_its_object() {
    let artifact = json!({"revision": "main@sha1:old", "lastUpdateTime": "2025-12-01T00:00:00Z"});
    let failed = with(git("GitOperationFailed", &clone("no such host")), "/status/artifact", artifact);
    let reported = explain(&failed, &[]).cause.unwrap();
    let at = reported.evidence.iter().find(|e| e.text == "last artifact: main@sha1:old").and_then(|e| e.at);
    assert_eq!(at, "2025-12-01T00:00:00Z".parse().ok());
    let refused =
        ks("app", "ReconciliationFailed", "Deployment/apps/web dry-run failed (Invalid): spec.x: Invalid value");
    assert!(
        texts(&refused).contains(&"condition: the refused object is Deployment/apps/web".to_owned()),
        "{:?}",
        texts(&refused)
    );
    let built = ks("app", "BuildFailed", "kustomize build failed: Deployment/apps/web has no name");
    assert!(texts(&built).iter().all(|text| !text.contains("the refused object is")), "nothing was refused");
}

#[test]
fn a_revision_is_late_only_after_an_interval_a_run_and_a_queue() {
    let at = |time: &str| {
        let artifact = json!({"revision": "main@sha1:new", "lastUpdateTime": time});
        let source = with(git("", "stored artifact"), "/status/artifact", artifact);
        let mut owner = with(ks("app", "", "Applied"), "/status/lastAppliedRevision", "main@sha1:old".into());
        owner["spec"]["interval"] = "10m".into();
        explain(&owner, &[source]).cause.map(|cause| cause.reason)
    };
    assert_eq!(at("2026-01-01T00:36:00Z"), None);
    assert_eq!(at("2026-01-01T00:34:00Z"), Some(Reason::RevisionNotApplied));
}

#[test]
fn an_unknown_cause_lists_the_causes_that_were_ruled_out() {
    let found = explain(
        &ks("app", "ReconciliationFailed", "something nobody has seen before"),
        &[controller("kustomize-controller", 1, 1, json!([]))],
    );
    let cause = found.cause.unwrap();
    let ruled_out: Vec<_> = cause.evidence.iter().filter(|e| e.from == "ruled out").map(|e| e.text.as_str()).collect();
    assert_eq!(ruled_out.len(), 1, "{cause:#?}");
    assert!(ruled_out[0].starts_with("Deployment/flux-system/kustomize-controller is fine"), "{ruled_out:?}");
}

#[test]
fn a_cause_affects_everything_that_waits_for_it() {
    let chain = (1..=140).map(|n| {
        let on = if n == 1 { "root".to_owned() } else { format!("k{}", n - 1) };
        let text = format!("dependency 'apps/{on}' is not ready");
        with(ks(&format!("k{n}"), "DependencyNotReady", &text), "/spec/dependsOn", json!([{"name": on}]))
    });
    let mut objects: Vec<Value> = chain.collect();
    objects.push(ks("root", "BuildFailed", "kustomize build failed: x"));
    objects.push(ks("fine", "", "Applied"));
    let host = |name: &str| {
        let spec = json!({"url": format!("https://git.example.com/{name}")});
        source(
            "GitRepository",
            name,
            spec,
            "GitOperationFailed",
            &clone("dial tcp: lookup git.example.com: no such host"),
        )
    };
    objects.extend([host("a"), host("b")]);
    let all = everything(objects);
    assert_eq!((all.total, all.failing, all.causes.len()), (144, 143, 2), "{:#?}", all.causes);
    let [first, second] = &all.causes[..] else { panic!("{all:#?}") };
    assert_eq!((first.affected.len(), first.cause.object.to_string().as_str()), (141, "Kustomization/apps/root"));
    assert_eq!(first.kinds, [super::super::overview::AffectedKind { kind: "Kustomization".into(), count: 141 }]);
    assert_eq!((second.affected.len(), second.cause.reason), (2, Reason::HostUnreachable), "one host is one cause");
}

#[test]
fn a_missing_controller_is_never_ready() {
    let ready = |name: &str| ks(name, "", "Applied");
    let all = everything([ready("a"), ready("b"), controller("source-controller", 1, 1, json!([]))]);
    assert_eq!((all.failing, all.causes.len()), (2, 1), "{all:#?}");
    assert_eq!(all.causes[0].cause.reason, Reason::ControllerMissing);
    // Without any Deployment of Flux, an observed object must be reconciled from outside of the cluster.
    let other = deployment("other", json!({}));
    assert!(everything([ready("a"), other.clone()]).well);
    let missing_controller = with(ready("a"), "/metadata/generation", 2.into());
    assert_eq!(everything([missing_controller, other]).causes[0].cause.reason, Reason::ControllerMissing);
}

#[test]
fn a_cluster_gets_one_list_per_kind_and_no_request_per_object() {
    let snapshot = Snapshot::of_cluster();
    let all = overview(&snapshot, None, NOW.parse().unwrap());
    assert!(all.well && all.total == 0);
    let needs = snapshot.take_needs();
    assert_eq!(
        needs.len(),
        kinds::FLUX_KINDS.len(),
        "a list of each kind but reports, and of the controllers: {needs:?}"
    );
}

fn applying(owner: Value, ids: &[&str]) -> Value {
    let entries: Vec<Value> = ids.iter().map(|id| json!({"id": id, "v": "v1"})).collect();
    with(owner, "/status/inventory", json!({"entries": entries}))
}

#[test]
fn a_failing_workload_of_a_ready_owner_is_found_by_its_inventory_and_grouped_by_cause() {
    let crashing = pod(json!({}), waiting("CrashLoopBackOff", "back-off"));
    let green = applying(ks("green", "", "Applied revision: main"), &["apps_web_apps_Deployment"]);
    let all = everything([green.clone(), deployment("web", json!({})), crashing.clone()]);
    let [only] = &all.causes[..] else { panic!("{all:#?}") };
    assert_eq!((all.total, all.workloads, all.failing, only.cause.reason), (1, 1, 1, Reason::CrashLoop));
    assert_eq!(only.affected[0].to_string(), "Deployment/apps/web");
    let texts: Vec<&str> = only.cause.evidence.iter().map(|e| e.text.as_str()).collect();
    assert!(texts.contains(&"Kustomization/apps/green applied it, which is ready"), "{texts:?}");

    let red = applying(unhealthy(), &["apps_web_apps_Deployment"]);
    let all = everything([red, green, deployment("web", json!({})), crashing]);
    let [only] = &all.causes[..] else { panic!("one pod is one cause: {all:#?}") };
    let affected: Vec<String> = only.affected.iter().map(ToString::to_string).collect();
    assert_eq!(affected, ["Kustomization/apps/app", "Deployment/apps/web"]);
}

#[test]
fn every_kind_of_workload_that_was_applied_is_examined() {
    let ids = [
        "apps_s_apps_StatefulSet",
        "apps_d_apps_DaemonSet",
        "apps_migrate_batch_Job",
        "apps_web-1__Pod",
        "apps_c__ConfigMap",
    ];
    let failed = json!({"conditions": [{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "no"}]});
    let paused =
        |kind: &str, name: &str| plain("apps/v1", kind, name, json!({"paused": true, "replicas": 1}), json!({}));
    let all = everything([
        applying(ks("green", "", "Applied"), &ids),
        paused("StatefulSet", "s"),
        paused("DaemonSet", "d"),
        plain("batch/v1", "Job", "migrate", json!({}), failed.clone()),
        pod(json!({}), unscheduled("0/3 nodes are available: 3 Insufficient cpu.")),
        // An object of another owner that is not a workload.
        plain("batch/v1", "Job", "other", json!({}), failed),
        plain("v1", "Other", "x", json!({}), json!({})),
    ]);
    let mut affected: Vec<&str> = all.causes.iter().flat_map(|g| &g.affected).map(|id| id.kind.as_str()).collect();
    affected.sort_unstable();
    assert_eq!((all.workloads, affected), (4, vec!["DaemonSet", "Job", "Pod", "StatefulSet"]), "{all:#?}");
}

#[test]
fn vanished_workloads_are_one_cause_per_owner_unless_they_are_optional() {
    let ids = ["apps_a_apps_Deployment", "apps_b_apps_Deployment", "apps_done_batch_Job"];
    let namespace = |name: &str| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let others = [deployment("other", json!({"replicas": 1})), plain("batch/v1", "Job", "x", json!({}), json!({}))];
    let owner = || applying(ks("green", "", "Applied"), &ids);
    let with_others = |first: Vec<Value>| everything(first.into_iter().chain(others.clone()));
    let all = with_others(vec![owner(), namespace("apps")]);
    let [only] = &all.causes[..] else { panic!("{all:#?}") };
    assert_eq!(
        (only.cause.reason, only.affected.len()),
        (Reason::ObjectMissing, 2),
        "a Job may be cleared away: {all:#?}"
    );
    let all = with_others(vec![owner(), namespace("other")]);
    assert_eq!(all.causes[0].cause.reason, Reason::NamespaceMissing, "{all:#?}");
    assert_eq!(all.causes[0].cause.object.to_string(), "Namespace/apps");
    let suspended = with(owner(), "/spec/suspend", true.into());
    assert!(with_others(vec![suspended, namespace("apps")]).well);
    assert!(everything([owner()]).well, "a dump without Deployments says nothing of them");
}

#[test]
fn an_object_that_its_owner_reports_as_missing_is_not_a_second_cause() {
    let red = applying(unhealthy(), &["apps_web_apps_Deployment"]);
    let all = everything([red, deployment("other", json!({}))]);
    let [only] = &all.causes[..] else { panic!("{all:#?}") };
    assert_eq!((only.cause.reason, only.affected.len()), (Reason::ObjectMissing, 2), "{all:#?}");
}

#[test]
fn objects_of_a_release_without_inventory_are_found_by_their_labels() {
    let released =
        with(hr("", "Helm install succeeded"), "/status/history", json!([{"status": "deployed", "version": 1}]));
    let mut web = deployment("web", json!({}));
    web["metadata"]["labels"] =
        json!({"helm.toolkit.fluxcd.io/name": "web", "helm.toolkit.fluxcd.io/namespace": "apps"});
    let mut other = deployment("other", json!({}));
    other["metadata"]["labels"] =
        json!({"helm.toolkit.fluxcd.io/name": "gone", "helm.toolkit.fluxcd.io/namespace": "apps"});
    other["spec"]["paused"] = true.into();
    let all = everything([released, web, other, pod(json!({}), waiting("CrashLoopBackOff", "back-off"))]);
    let [only] = &all.causes[..] else { panic!("{all:#?}") };
    assert_eq!((only.cause.reason, only.affected[0].to_string().as_str()), (Reason::CrashLoop, "Deployment/apps/web"));
}

#[test]
fn many_workloads_are_asked_for_as_one_list_and_few_by_name() {
    use crate::inspect::read::snapshot::{Answer, Need};
    let now = NOW.parse().unwrap();
    let asked = |count: usize| -> Vec<Need> {
        let ids: Vec<String> = (0..count).map(|n| format!("apps_w{n}_apps_Deployment")).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let owner = applying(ks("green", "", "Applied"), &ids);
        let mut snapshot = Snapshot::of_cluster();
        overview(&snapshot, None, now);
        for need in snapshot.take_needs() {
            let objects = match &need {
                Need::List { resource, .. } if resource.kind == "Kustomization" => vec![owner.clone()],
                _ => vec![],
            };
            snapshot.answer(need, Answer::Objects(objects));
        }
        overview(&snapshot, None, now);
        snapshot.take_needs()
    };
    let few = asked(3);
    assert!(few.len() == 3 && few.iter().all(|need| matches!(need, Need::Get { .. })), "{few:?}");
    let many = asked(300);
    assert!(
        matches!(&many[..], [Need::List { resource, namespace: None, selector: None }] if resource.kind == "Deployment"),
        "{many:?}"
    );
}
