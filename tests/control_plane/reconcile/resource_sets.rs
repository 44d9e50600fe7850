//! ResourceSets against a real API server: what they apply, and above all what they do not take away.

use std::time::Duration;

use flux_operator::api::ResourceSet;
use flux_operator::api::crd;
use flux_operator::cluster::{ConnectOptions, DeleteOptions, KubeconfigSource, ListOptions, connect};
use flux_operator::k8s::ObjectId;
use flux_operator::reconcile::plan::Step;
use flux_operator::reconcile::progress::IgnoredProgress;
use flux_operator::reconcile::{
    Outcome, ResourceSetPlan, RunOptions, apply_resource_set, finalize_resource_set, plan_resource_set,
    reconcile_resource_set,
};
use serde_json::{Value, json};
use sha2::Digest;

use super::world::*;
use crate::cluster_tests;
use crate::commands::cluster_objects::finish;
use crate::inspect::world::Run;
use crate::support::runner::command;
use crate::support::{ClusterTest, Fault, FaultProxy, FaultRule, TestCluster, eventually};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        a_set_is_applied_and_objects_that_it_no_longer_renders_are_deleted,
        providers_that_have_not_exported_or_failed_prune_nothing,
        passing_errors_while_providers_are_read_are_retried_and_prune_nothing,
        objects_are_made_anew_only_where_a_field_cannot_be_changed,
        a_set_is_applied_with_the_rights_of_its_service_account,
        a_failed_job_is_made_anew_and_one_that_cannot_be_deleted_is_named,
        an_object_of_another_set_is_taken_over_and_the_run_says_so,
        a_wait_for_objects_that_did_not_change_is_in_progress,
        steps_wait_and_data_is_copied,
        every_verb_knows_sets_and_providers,
        a_running_set_is_taken_over_from_the_reference_operator_and_can_be_given_back,
    ]
}

const APPS: &str = "apps";
const SET: &str = "ResourceSet";
const API: &str = "fluxcd.controlplane.io/v1";

/// A cluster with both kinds and a namespace.
struct Sets {
    world: World,
    options: RunOptions,
}

impl Sets {
    async fn new(cluster: &TestCluster) -> Sets {
        let world = World::new(cluster).await;
        for definition in [crd::resource_set(), crd::input_provider()] {
            world.define(definition).await;
        }
        world
            .apply_as("test-author", json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": APPS}}))
            .await;
        let options = world.options.clone();
        Sets { world, options }
    }

    /// Makes a service account `tenant` that may do what one rule says.
    async fn tenant(&self, rule: Value) {
        let rbac = "rbac.authorization.k8s.io/v1";
        let metadata = json!({"name": "tenant", "namespace": APPS});
        for object in [
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}),
            json!({"apiVersion": rbac, "kind": "Role", "metadata": metadata, "rules": [rule]}),
            json!({"apiVersion": rbac, "kind": "RoleBinding", "metadata": metadata,
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "tenant"},
                "subjects": [{"kind": "ServiceAccount", "name": "tenant", "namespace": APPS}]}),
        ] {
            self.world.apply_as("test-author", object).await;
        }
    }

    async fn set(&self, name: &str, annotations: Value, spec: Value) {
        let set = json!({"apiVersion": API, "kind": SET,
            "metadata": {"name": name, "namespace": APPS, "annotations": annotations}, "spec": spec});
        self.world.apply_as("test-author", set).await;
    }

    async fn run(&self, name: &str) -> Outcome {
        let id = id(API, SET, APPS, name);
        Box::pin(reconcile_resource_set(&self.world.cluster, &id, &self.options, &IgnoredProgress)).await.unwrap()
    }

    async fn ready(&self, name: &str) -> Outcome {
        let outcome = self.run(name).await;
        assert!(outcome.is_ready(), "{}", outcome.message);
        outcome
    }

    async fn plan(&self, name: &str) -> ResourceSetPlan {
        let id = id(API, SET, APPS, name);
        plan_resource_set(&self.world.cluster, &id, &self.options, &IgnoredProgress).await.unwrap()
    }

    async fn read(&self, name: &str) -> ResourceSet {
        serde_json::from_value(self.world.get(API, SET, APPS, name).await.unwrap()).unwrap()
    }

    async fn config_map(&self, name: &str) -> Option<Value> {
        self.world.get("v1", "ConfigMap", APPS, name).await
    }

    /// A provider with what it has exported; `None`: nothing yet.
    async fn provider(&self, name: &str, exported: Option<Value>, ready: &str) {
        let provider = json!({"apiVersion": API, "kind": "ResourceSetInputProvider",
            "metadata": {"name": name, "namespace": APPS}, "spec": {"type": "Static"}});
        let stored = self.world.apply_as("test-author", provider).await;
        let Some(exported) = exported else { return };
        let status = json!({"status": {"exportedInputs": exported, "lastExportedRevision": format!("sha256:{}", exported.to_string().len()),
            "conditions": [{"type": "Ready", "status": ready, "reason": "Test", "message": "the service is away",
                "observedGeneration": stored["metadata"]["generation"], "lastTransitionTime": "2026-01-01T00:00:00Z"}]}});
        let id = ObjectId::of(&stored);
        self.world.cluster.merge_patch(&id, Some("status"), &status, "test-author").await.unwrap();
    }

    async fn events(&self) -> Vec<(String, String)> {
        let events = flux_operator::api::kinds::EVENT;
        let list = self.world.cluster.list(&events, Some(APPS), &ListOptions::default()).await.unwrap();
        let text = |event: &Value, field: &str| event[field].as_str().unwrap_or_default().to_owned();
        list.items.iter().map(|event| (text(event, "reason"), text(event, "message"))).collect()
    }
}

fn config_maps(name: &str) -> Value {
    json!([{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": APPS},
        "data": {"tenant": "<< inputs.tenant | quote >>"}}])
}

fn uid(object: &Option<Value>) -> String {
    object.as_ref().and_then(|object| object["metadata"]["uid"].as_str()).unwrap_or("nothing").to_owned()
}

async fn a_set_is_applied_and_objects_that_it_no_longer_renders_are_deleted(cluster: TestCluster) {
    let sets = Sets::new(&cluster).await;
    // Owner labels cannot be overridden: what they name could never be pruned.
    let common = json!({"labels": {"team": "a", "resourceset.fluxcd.controlplane.io/name": "other"}});
    let spec = |inputs: Value| json!({"commonMetadata": common, "inputs": inputs, "resources": config_maps("cm-<< inputs.tenant >>")});
    let two = spec(json!([{"tenant": "a"}, {"tenant": "b"}]));
    let written = json!({"apiVersion": API, "kind": SET, "metadata": {"name": "all", "namespace": APPS}, "spec": two});
    let outcome = Box::pin(apply_resource_set(&sets.world.cluster, &written, false, &sets.options, &IgnoredProgress))
        .await
        .unwrap();
    assert!(outcome.is_ready(), "{}", outcome.message);
    let made = sets.config_map("cm-a").await.unwrap();
    assert_eq!(made["data"]["tenant"], "a");
    assert_eq!(made["metadata"]["labels"]["resourceset.fluxcd.controlplane.io/name"], "all");
    assert_eq!(made["metadata"]["labels"]["resourceset.fluxcd.controlplane.io/namespace"], APPS);
    assert_eq!(made["metadata"]["labels"]["team"], "a");
    let status = sets.read("all").await.status.unwrap();
    let ids: Vec<String> = status.inventory.unwrap().entries.into_iter().map(|entry| entry.id).collect();
    assert_eq!(ids, ["apps_cm-a__ConfigMap", "apps_cm-b__ConfigMap"]);
    assert_eq!(status.conditions.iter().map(|one| one.type_.as_str()).collect::<Vec<_>>(), ["Ready"]);
    let history = &status.history[0];
    assert_eq!(
        (history.last_reconciled_status.as_str(), history.digest.as_str()),
        ("ReconciliationSucceeded", status.last_applied_revision.as_deref().unwrap())
    );
    assert_eq!(json!(history.metadata), json!({"inputs": "2", "resources": "2"}));
    let events = sets.events().await;
    let applied = ("ApplySucceeded".to_owned(), "ConfigMap/apps/cm-a created\nConfigMap/apps/cm-b created".to_owned());
    assert!(events.contains(&applied), "{events:?}");

    // Nothing to do: no object is written.
    let mark = sets.world.plane.audit().mark().await.unwrap();
    assert!(sets.ready("all").await.changes.is_empty());
    let writes = sets.world.plane.audit().since(mark).await.unwrap().by_user(USER).writes();
    let writes = writes.only(|request| request.resource == "configmaps");
    assert!(writes.is_empty(), "{:#?}", writes.table());

    // A protected object stays, others are deleted; a plan says so before.
    let protect = json!({"metadata": {"annotations": {"fluxcd.controlplane.io/prune": "Disabled"}}});
    sets.world.patch_as("someone", &id("v1", "ConfigMap", APPS, "cm-a"), protect).await;
    sets.set("all", json!({}), spec(json!([{"tenant": "c"}]))).await;
    let plan = sets.plan("all").await;
    assert_eq!((plan.count(Step::Create), plan.count(Step::Prune), plan.count(Step::Skip)), (1, 1, 1));
    assert!(plan.objects[0].input.as_ref().unwrap().starts_with("input set 0"));
    sets.ready("all").await;
    assert!(sets.config_map("cm-a").await.is_some() && sets.config_map("cm-b").await.is_none());

    // A template that fails is reported with its position, and no object is deleted.
    sets.set("all", json!({}), json!({"inputs": [{"id": "7"}], "resources": config_maps("x")})).await;
    let failed = sets.run("all").await;
    assert_eq!(failed.reason, "BuildFailed");
    assert!(
        failed.message.contains("map has no entry for key \"tenant\"") && failed.message.contains("(id 7"),
        "{}",
        failed.message
    );
    assert!(sets.config_map("cm-c").await.is_some());
    let conditions = sets.read("all").await.status.unwrap().conditions;
    assert_eq!(conditions[0].type_, "Stalled");

    // The end of the set is the end of what it applied.
    let set = sets.read("all").await;
    let done = finalize_resource_set(&sets.world.cluster, &set, &sets.options, &IgnoredProgress).await.unwrap();
    assert!(done.is_complete() && done.deleted.len() == 1, "{done:?}");
    assert!(sets.config_map("cm-c").await.is_none());
}

async fn providers_that_have_not_exported_or_failed_prune_nothing(cluster: TestCluster) {
    let sets = Sets::new(&cluster).await;
    let spec = json!({"inputsFrom": [{"name": "prs"}], "resources": config_maps("cm-<< inputs.tenant >>")});
    sets.set("prs", json!({}), spec).await;
    // A provider that is not there may come: nothing is stalled.
    let missing = sets.run("prs").await;
    assert_eq!(missing.reason, "BuildFailed");
    assert!(
        missing.message.contains("ResourceSetInputProvider.fluxcd.controlplane.io \"prs\" not found"),
        "{}",
        missing.message
    );
    assert!(missing.next.is_some());
    sets.provider("prs", None, "").await;
    let waiting = sets.run("prs").await;
    assert_eq!(waiting.reason, "DependencyNotReady", "{}", waiting.message);
    sets.provider("prs", Some(json!([{"tenant": "a"}, {"tenant": "b"}])), "True").await;
    sets.ready("prs").await;
    let first = uid(&sets.config_map("cm-a").await);

    // Deleted and made again, as by a restore: it has not exported yet.
    let provider = id(API, "ResourceSetInputProvider", APPS, "prs");
    sets.world.cluster.delete(&provider, &DeleteOptions::default()).await.unwrap();
    sets.run("prs").await;
    sets.provider("prs", None, "").await;
    assert_eq!(sets.run("prs").await.reason, "DependencyNotReady");
    assert_eq!(uid(&sets.config_map("cm-a").await), first, "the object is the one of before");

    // An export that failed leaves fewer inputs behind than there are objects.
    sets.provider("prs", Some(json!([{"tenant": "a"}])), "False").await;
    let kept = sets.ready("prs").await;
    assert!(kept.warnings.iter().any(|warning| warning.contains("1 objects are not pruned")), "{:?}", kept.warnings);
    assert!(sets.config_map("cm-b").await.is_some());
    assert_eq!(sets.read("prs").await.status.unwrap().inventory.unwrap().entries.len(), 2);
    assert!(sets.plan("prs").await.prune_withheld.is_some());

    // An export of nothing prunes, unless the set says otherwise, and says how many.
    sets.provider("prs", Some(json!([{"tenant": "a"}, {"tenant": "b"}])), "True").await;
    sets.ready("prs").await;
    assert_eq!(sets.plan("prs").await.providers[0].pruned_without, 2);
    sets.provider("prs", Some(json!([])), "True").await;
    let guard = json!({"metadata": {"annotations": {"fluxcd.controlplane.io/pruneWithoutInputs": "disabled"}}});
    sets.world.patch_as("someone", &id(API, SET, APPS, "prs"), guard).await;
    sets.ready("prs").await;
    assert!(sets.config_map("cm-a").await.is_some());
    let guard = json!({"metadata": {"annotations": {"fluxcd.controlplane.io/pruneWithoutInputs": null}}});
    sets.world.patch_as("someone", &id(API, SET, APPS, "prs"), guard).await;
    assert!(sets.plan("prs").await.warnings.iter().any(|warning| warning.contains("2 objects would be pruned")));
    sets.ready("prs").await;
    assert!(sets.config_map("cm-a").await.is_none());
    let events = sets.events().await;
    assert!(
        events.iter().any(|(_, text)| text.contains("2 objects pruned: the providers export no inputs")),
        "{events:?}"
    );
}

async fn passing_errors_while_providers_are_read_are_retried_and_prune_nothing(cluster: TestCluster) {
    let sets = Sets::new(&cluster).await;
    let spec = |from: Value| json!({"inputsFrom": [from], "resources": config_maps("cm-<< inputs.tenant >>")});
    sets.provider("prs", Some(json!([{"tenant": "a"}])), "True").await;
    sets.set("prs", json!({}), spec(json!({"name": "prs"}))).await;
    sets.ready("prs").await;
    let first = uid(&sets.config_map("cm-a").await);
    let proxy = FaultProxy::start(&sets.world.kubeconfig, sets.world.plane.folder()).await.unwrap();
    let mut options = ConnectOptions::new(KubeconfigSource::File(proxy.kubeconfig().path().to_owned()));
    options.request_timeout = Duration::from_secs(1);
    let through = connect(options).await.unwrap();
    let id = id(API, SET, APPS, "prs");
    let run = async || Box::pin(reconcile_resource_set(&through, &id, &sets.options, &IgnoredProgress)).await.unwrap();
    let is_read = |uri: &str| uri.contains("/resourcesetinputproviders");
    for (from, fault, reported) in [
        (json!({"name": "prs"}), Fault::unavailable(), "failed to get provider apps/prs"),
        (json!({"selector": {}}), Fault::CutBefore, "failed to list providers"),
    ] {
        sets.set("prs", json!({}), spec(from)).await;
        // A single error is retried within the run.
        proxy.add_rule(FaultRule::first(1, fault.clone()).uri(is_read));
        let outcome = run().await;
        assert!(outcome.is_ready(), "{fault:?}: {}", outcome.message);
        proxy.clear_rules();
        // Errors that last end the run, and the next one is planned.
        proxy.add_rule(FaultRule::every(fault.clone()).uri(is_read));
        let failed = run().await;
        let message = format!("failed to compute inputs: {reported}");
        assert!(failed.message.contains(&message), "{fault:?}: {}", failed.message);
        assert!(failed.next.is_some_and(|next| next <= Duration::from_secs(900)), "{:?}", failed.next);
        let conditions = sets.read("prs").await.status.unwrap().conditions;
        assert!(conditions.iter().all(|one| one.type_ != "Stalled"), "{conditions:?}");
        assert_eq!(uid(&sets.config_map("cm-a").await), first, "{fault:?}");
        proxy.clear_rules();
        let outcome = run().await;
        assert!(outcome.is_ready(), "{}", outcome.message);
    }
    assert_eq!(uid(&sets.config_map("cm-a").await), first, "the object is the one of before");
}

async fn objects_are_made_anew_only_where_a_field_cannot_be_changed(cluster: TestCluster) {
    let sets = Sets::new(&cluster).await;
    let map = |value: &str| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "fixed", "namespace": APPS},
        "immutable": true, "data": {"a": value}})
    };
    let service = |port: u32| {
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": APPS},
        "spec": {"ports": [{"port": port}]}})
    };
    let force = json!({"fluxcd.controlplane.io/force": "enabled"});
    sets.set("fixed", json!({}), json!({"resources": [map("1"), service(80)]})).await;
    sets.ready("fixed").await;
    let (first, web) = (uid(&sets.config_map("fixed").await), uid(&sets.world.get("v1", "Service", APPS, "web").await));
    sets.set("fixed", json!({}), json!({"resources": [map("2"), service(80)]})).await;
    let refused = sets.run("fixed").await;
    assert!(
        refused.message.starts_with("reconciliation failed: ConfigMap/apps/fixed dry-run failed (Invalid): "),
        "{}",
        refused.message
    );
    sets.set("fixed", force.clone(), json!({"resources": [map("2"), service(80)]})).await;
    assert_eq!(sets.plan("fixed").await.count(Step::Recreate), 1);
    sets.ready("fixed").await;
    assert_ne!(uid(&sets.config_map("fixed").await), first);
    // Any other refusal takes nothing away, whatever is forced.
    sets.set("fixed", force.clone(), json!({"resources": [map("2"), service(99999)]})).await;
    assert_eq!(sets.run("fixed").await.reason, "ReconciliationFailed");
    assert_eq!(uid(&sets.world.get("v1", "Service", APPS, "web").await), web);
    // A refusal does not show the values of a Secret either.
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": APPS},
        "data": {"all": {"deep": "hunter2"}}});
    sets.set("fixed", force, json!({"resources": [secret]})).await;
    let failed = sets.run("fixed").await;
    assert!(!failed.is_ready() && !failed.message.contains("hunter2"), "{}", failed.message);
}

async fn a_set_is_applied_with_the_rights_of_its_service_account(cluster: TestCluster) {
    let sets = Sets::new(&cluster).await;
    sets.tenant(json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "create", "patch", "delete"]}))
        .await;
    let spec = |names: &[&str], more: Value| {
        let maps = names.iter().map(
            |name| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": APPS}}),
        );
        let resources: Vec<Value> = maps.chain(more.as_array().cloned().unwrap_or_default()).collect();
        json!({"serviceAccountName": "tenant", "wait": true, "resources": resources})
    };
    sets.set("tenant", json!({}), spec(&["a", "b", "c"], json!([]))).await;
    sets.ready("tenant").await;
    sets.set("tenant", json!({}), spec(&["a", "b"], json!([]))).await;
    sets.ready("tenant").await;
    assert!(sets.config_map("c").await.is_none());
    let account =
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "more", "namespace": APPS}});
    sets.set("tenant", json!({}), spec(&["a"], json!([account]))).await;
    let refused = sets.run("tenant").await;
    assert!(refused.message.contains("system:serviceaccount:apps:tenant"), "{}", refused.message);
    assert!(sets.config_map("b").await.is_some(), "nothing is pruned by a run that failed");
    // Without its account nothing can be deleted, and nothing holds up the end of the set.
    sets.world.cluster.delete(&id("v1", "ServiceAccount", APPS, "tenant"), &DeleteOptions::default()).await.unwrap();
    let set = sets.read("tenant").await;
    let done = finalize_resource_set(&sets.world.cluster, &set, &sets.options, &IgnoredProgress).await.unwrap();
    assert!(done.is_complete() && done.kept.len() == 2, "{done:?}");
    let events = sets.events().await;
    assert!(events.iter().any(|(_, text)| text.contains("2 objects are left in the cluster")), "{events:?}");
}

async fn a_failed_job_is_made_anew_and_one_that_cannot_be_deleted_is_named(cluster: TestCluster) {
    let sets = Sets::new(&cluster).await;
    sets.tenant(json!({"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get", "list", "create", "patch"]}))
        .await;
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once", "namespace": APPS,
        "annotations": {"fluxcd.controlplane.io/recreateOnFailure": "enabled"}},
        "spec": {"suspend": true, "template": {"spec": {"restartPolicy": "Never",
            "containers": [{"name": "once", "image": "once:1"}]}}}});
    let steps = json!([{"name": "only", "resources": [job]}]);
    sets.set("jobs", json!({}), json!({"serviceAccountName": "tenant", "steps": steps})).await;
    sets.ready("jobs").await;
    let job = async || sets.world.get("batch/v1", "Job", APPS, "once").await;
    let first = uid(&job().await);
    let failed = |kind: &str| {
        json!({"type": kind, "status": "True", "reason": "BackoffLimitExceeded", "message": "it failed",
            "lastTransitionTime": "2026-01-01T00:00:00Z"})
    };
    let status = json!({"status": {"startTime": "2026-01-01T00:00:00Z", "conditions": [failed("FailureTarget"), failed("Failed")]}});
    let id = id("batch/v1", "Job", APPS, "once");
    sets.world.cluster.merge_patch(&id, Some("status"), &status, "test-controller").await.unwrap();
    let refused = sets.run("jobs").await;
    let expected = "reconciliation failed: step \"only\" job recreation failed: failed to delete failed Job Job/apps/once: \
                    jobs.batch \"once\" is forbidden: ";
    assert!(refused.message.starts_with(expected), "{}", refused.message);
    assert!(refused.next.is_some(), "the rights may come");
    assert_eq!(uid(&job().await), first);
    sets.set("jobs", json!({}), json!({ "steps": steps })).await;
    let again = sets.ready("jobs").await;
    assert!(again.changes.iter().any(|change| change.object.name == "once"), "{:?}", again.changes);
    assert_ne!(uid(&job().await), first);
}

async fn an_object_of_another_set_is_taken_over_and_the_run_says_so(cluster: TestCluster) {
    let sets = Sets::new(&cluster).await;
    for set in ["one", "two"] {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "same", "namespace": APPS},
            "data": {"set": set}});
        sets.set(set, json!({}), json!({"resources": [map]})).await;
    }
    assert_eq!(sets.ready("one").await.warnings, [""; 0]);
    let warning = "ConfigMap/apps/same belongs to ResourceSet/apps/one: it is taken over";
    assert_eq!(sets.plan("two").await.warnings, [warning]);
    assert_eq!(sets.ready("two").await.warnings, [warning]);
    assert_eq!(sets.ready("two").await.warnings, [""; 0]);
}

async fn a_wait_for_objects_that_did_not_change_is_in_progress(cluster: TestCluster) {
    let sets = Sets::new(&cluster).await;
    // A nested set counts as ready when its condition says so, and no operator reconciles it here.
    let inner = json!({"apiVersion": API, "kind": SET, "metadata": {"name": "inner", "namespace": APPS},
        "spec": {"resources": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": APPS}}]}});
    sets.world.apply_as("test-author", inner.clone()).await;
    let judge = async |status: &str| {
        let status = json!({"status": {"conditions": [{"type": "Ready", "status": status, "reason": "Test", "message": "",
            "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}});
        sets.world.cluster.merge_patch(&id(API, SET, APPS, "inner"), Some("status"), &status, "test").await.unwrap();
    };
    judge("True").await;
    sets.set("outer", json!({}), json!({"wait": true, "resources": [inner]})).await;
    sets.ready("outer").await;
    judge("Unknown").await;
    let end_when_seen = async {
        let seen = eventually("a run in progress", Duration::from_secs(20), || async {
            let conditions = sets.read("outer").await.status.unwrap_or_default().conditions;
            conditions.iter().any(|one| one.type_ == "Ready" && one.status == "Unknown").then_some(())
        });
        let seen = seen.await;
        judge("True").await;
        seen
    };
    let (seen, outcome) = tokio::join!(end_when_seen, sets.run("outer"));
    seen.unwrap();
    assert!(outcome.is_ready(), "{}", outcome.message);
}

async fn steps_wait_and_data_is_copied(cluster: TestCluster) {
    let sets = Sets::new(&cluster).await;
    let gate = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "gate", "namespace": APPS});
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": APPS},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": {
            "metadata": {"labels": {"app": "web"}, "annotations": {"fluxcd.controlplane.io/checksumFrom": "Secret/apps/copy"}},
            "spec": {"containers": [{"name": "web", "image": "web:1"}]}}}});
    let copy = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "copy", "namespace": APPS,
        "annotations": {"fluxcd.controlplane.io/copyFrom": "default/source"}}});
    let after = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "after", "namespace": APPS}});
    let spec = json!({"dependsOn": [gate], "steps": [
        {"name": "pre", "resources": [copy, deployment], "timeout": "30s"}, {"name": "post", "resources": [after]}]});
    sets.set("steps", json!({}), spec.clone()).await;
    let waiting = sets.run("steps").await;
    assert_eq!(waiting.reason, "DependencyNotReady");
    assert_eq!(
        waiting.message,
        "Retrying dependency check: dependency v1/ConfigMap/apps/gate not found: configmaps \"gate\" not found"
    );
    sets.world
        .apply_as(
            "test-author",
            json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "gate", "namespace": APPS}}),
        )
        .await;
    let failed = sets.run("steps").await;
    assert_eq!(
        failed.message,
        "reconciliation failed: failed to copy data from Secret/default/source: secrets \"source\" not found"
    );
    sets.world
        .apply_as(
            "test-author",
            json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/basic-auth",
        "metadata": {"name": "source", "namespace": "default"}, "data": {"username": "//79", "password": "YQ=="}}),
        )
        .await;
    let outcome = sets.ready("steps").await;
    assert_eq!(outcome.sources.iter().collect::<Vec<_>>(), ["Secret/default/source"]);
    let copied = sets.world.get("v1", "Secret", APPS, "copy").await.unwrap();
    assert_eq!((&copied["type"], &copied["data"]["username"]), (&json!("kubernetes.io/basic-auth"), &json!("//79")));
    let web = sets.world.get("apps/v1", "Deployment", APPS, "web").await.unwrap();
    let checksum = web["spec"]["template"]["metadata"]["annotations"]["fluxcd.controlplane.io/checksum"].as_str();
    assert!(checksum.is_some_and(|checksum| checksum.starts_with("sha256:")), "{web:#}");
    assert_eq!(web["status"]["availableReplicas"], 1, "the step was waited for");
    let history = sets.read("steps").await.status.unwrap().history.remove(0);
    assert_eq!(json!(history.metadata), json!({"inputs": "0", "resources": "3", "steps": "2"}));
    let events = sets.events().await;
    assert!(events.iter().any(|(_, text)| text.starts_with("step \"pre\": Secret/apps/copy created\n")), "{events:?}");
    // An expression decides, and an invalid expression is reported at once.
    let with_expression = |expression: &str| {
        let mut spec = spec.clone();
        spec["dependsOn"][0]["ready"] = true.into();
        spec["dependsOn"][0]["readyExpr"] = expression.into();
        spec
    };
    sets.set("steps", json!({}), with_expression("data.x == '1'")).await;
    let waiting = sets.run("steps").await;
    assert_eq!(waiting.reason, "DependencyNotReady");
    assert!(waiting.message.contains("failed to evaluate the CEL expression 'data.x == '1'': "), "{}", waiting.message);
    let gate = |x: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "gate", "namespace": APPS}, "data": {"x": x}});
    sets.world.apply_as("test-author", gate("0")).await;
    sets.set("steps", json!({}), with_expression("data.x == '1'")).await;
    let not_ready =
        "Retrying dependency check: dependency v1/ConfigMap/apps/gate not ready: expression 'data.x == '1''";
    assert_eq!(sets.run("steps").await.message, not_ready);
    sets.world.apply_as("test-author", gate("1")).await;
    sets.ready("steps").await;
    sets.set("steps", json!({}), with_expression("data.x =")).await;
    let refused = sets.run("steps").await;
    assert_eq!((refused.reason.as_str(), refused.next), ("InvalidCELExpression", None));
    assert!(refused.message.contains("failed to parse the CEL expression 'data.x ='"), "{}", refused.message);
}

async fn every_verb_knows_sets_and_providers(cluster: TestCluster) {
    let sets = Sets::new(&cluster).await;
    let run = async |line: &str| -> Run {
        let mut command = command(sets.world.kubeconfig.path(), sets.world.plane.folder());
        command.args(["-n", APPS, "--timeout", "30s"]).args(line.split(' ')).stdin(std::process::Stdio::null());
        finish(command).await
    };
    let spec = json!({"inputsFrom": [{"name": "prs"}], "resources": config_maps("cm-<< inputs.tenant >>")});
    sets.provider("prs", Some(json!([{"id": "1", "tenant": "a"}, {"id": "2", "tenant": "b"}])), "True").await;
    sets.set("web", json!({}), spec).await;
    sets.ready("web").await;
    // Lists and views.
    let line = |text: &str, part: &str| text.lines().find(|line| line.contains(part)).unwrap_or_default().to_owned();
    let cells = |line: String| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let listed = run("get rset").await.exits(0).stdout;
    assert_eq!(cells(line(&listed, "web"))[..5], ["web", "prs", "2", "2", "True"], "{listed}");
    let listed = run("get rsip").await.exits(0).stdout;
    assert_eq!(cells(line(&listed, "prs"))[..4], ["prs", "Static", "<none>", "2"], "{listed}");
    let inputs = run("get inputs rset/web").await.exits(0).stdout;
    assert_eq!(cells(line(&inputs, "tenant=b")), ["1", "2", "ResourceSetInputProvider/prs", "tenant=b"], "{inputs}");
    assert!(run("get inputs rsip/prs").await.exits(0).stdout.contains("tenant=a"));
    let debugged = run("debug rset/web --inputs").await.exits(0).stdout;
    assert!(debugged.contains("# input set 0 of ResourceSetInputProvider/apps/prs, id 1\n"), "{debugged}");
    assert!(run("get inventory rset/web").await.exits(0).stdout.contains("cm-b"));
    assert!(run("get history rset/web -o wide").await.exits(0).stdout.contains("ReconciliationSucceeded"));
    assert!(run("tree rset web").await.exits(0).stdout.contains("ConfigMap/apps/cm-a"));
    let traced = run("trace cm/cm-a").await.exits(0).stdout;
    assert!(
        traced.contains("ResourceSet/apps/web") && traced.contains("ResourceSetInputProvider/apps/prs"),
        "{traced}"
    );
    assert!(run("why rset/web").await.exits(0).stdout.contains("ResourceSetInputProvider/apps/prs"));
    assert!(run("impact rsip/prs").await.exits(0).stdout.contains("ResourceSet/apps/web"));
    // Only an operator adds the finalizer, and only with it anything deletes the objects of a deleted set.
    assert!(run("impact rset/web").await.exits(0).stdout.contains("it has no finalizer"));
    run("delete rset/web --yes").await.exits(1).stderr_has("no running operator would delete its 2 objects");
    let finalizer = json!({"metadata": {"finalizers": ["fluxcd.controlplane.io/finalizer"]}});
    sets.world.patch_as("test-operator", &id(API, SET, APPS, "web"), finalizer).await;
    assert!(run("impact rset/web").await.exits(0).stdout.contains("2 objects are deleted with ResourceSet/apps/web"));
    assert!(run("export resource rset/web").await.exits(0).stdout.contains("<< inputs.tenant | quote >>"));
    let counted = run("export report -o json").await.exits(0).stdout;
    let counted: Value = serde_json::from_str(&counted).unwrap();
    let of = |kind: &str| {
        let all = counted["spec"]["reconcilers"].as_array().into_iter().flatten();
        all.into_iter().find(|one| one["kind"] == kind).map(|one| one["stats"]["running"].clone())
    };
    assert_eq!((of(SET), of("ResourceSetInputProvider")), (Some(json!(1)), Some(json!(1))), "{counted}");
    run("wait rset web").await.exits(0);
    run("wait rsip/prs").await.exits(0);
    // A provider that fails explains the set, and a set that waits for it.
    sets.provider("prs", Some(json!([{"id": "1", "tenant": "a"}])), "False").await;
    let failing = run("why rset/web").await.exits(7).stdout;
    assert!(
        failing.contains("Object: ResourceSetInputProvider/apps/prs") && failing.contains("the service is away"),
        "{failing}"
    );
    run("wait rsip prs").await.exits(7);
    // Suspension, and deletion with what goes.
    run("suspend rset/web --reason audit").await.exits(0);
    let listed = run("get rset").await.exits(0).stdout;
    assert!(line(&listed, "web").contains("True (suspended)"), "{listed}");
    assert!(run("get suspended").await.exits(0).stdout.contains("audit"));
    run("resume rset/web --wait=false").await.exits(0);
    run("suspend rsip/prs").await.exits(0);
    run("resume rsip/prs --wait=false").await.exits(0);
    let preview = run("delete resource rset/web --dry-run --yes").await.exits(0);
    let says = format!("{}{}", preview.stdout, preview.stderr);
    assert!(says.contains("2 objects") && says.contains("ConfigMap"), "{says}");
    assert!(sets.world.get(API, SET, APPS, "web").await.is_some());
    let folder = tempfile::tempdir().unwrap();
    let bundle = folder.path().join("bundle.tar.gz");
    run(&format!("bundle -o {}", bundle.display())).await.exits(0);
    let inputs = run(&format!("get inputs rset/web --from {}", bundle.display())).await.exits(0).stdout;
    assert!(inputs.contains("tenant=a"), "{inputs}");
    // A suspended set keeps what it applied.
    run("delete rset/web --with-suspend --dry-run --yes").await.exits(0).stderr_has("it is suspended");
    assert!(run("get suspended").await.exits(0).stdout.is_empty(), "a dry run suspends nothing");
    // In this process what the set applied goes first.
    run("delete rsip/prs --in-process --yes").await.exits(2).stderr_has("--in-process replaces the operator");
    run("delete rset/web --in-process --yes").await.exits(0).stdout_has("resourceset/apps/web: deleted");
    for gone in ["cm-a", "cm-b"] {
        assert!(sets.world.get("v1", "ConfigMap", APPS, gone).await.is_none(), "{gone} stays");
    }
    sets.set("keeper", json!({}), json!({"inputs": [{"tenant": "c"}], "resources": config_maps("kept")})).await;
    sets.ready("keeper").await;
    run("delete rset/keeper --with-suspend --yes").await.exits(0).stderr_has("suspended").stdout_has("keeper: deleted");
    assert!(sets.world.get(API, SET, APPS, "keeper").await.is_none());
    assert!(sets.world.get("v1", "ConfigMap", APPS, "kept").await.is_some());
}

/// A ConfigMap as the reference operator applies it: with both owner labels.
fn applied_by_reference(set: &str, tenant: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("cm-{tenant}"), "namespace": APPS, "labels": {
        "resourceset.fluxcd.controlplane.io/name": set, "resourceset.fluxcd.controlplane.io/namespace": APPS}},
        "data": {"tenant": tenant}})
}

/// The digest that the reference operator records: of the objects in build order as YAML, each followed by a separator.
fn digest_of_reference(set: &str, tenants: &[&str]) -> String {
    let text: String = tenants
        .iter()
        .map(|tenant| {
            format!(
                "apiVersion: v1\ndata:\n  tenant: {tenant}\nkind: ConfigMap\nmetadata:\n  labels:\n    \
                 resourceset.fluxcd.controlplane.io/name: {set}\n    resourceset.fluxcd.controlplane.io/namespace: {APPS}\n  \
                 name: cm-{tenant}\n  namespace: {APPS}\n---\n"
            )
        })
        .collect();
    format!("sha256:{}", hex::encode(sha2::Sha256::digest(text)))
}

/// The fields of a status that differ from run to run.
fn without_times(status: &Value) -> Value {
    let mut status = status.clone();
    for condition in status["conditions"].as_array_mut().into_iter().flatten() {
        condition["lastTransitionTime"] = Value::Null;
        condition["message"] = Value::Null;
    }
    for entry in status["history"].as_array_mut().into_iter().flatten() {
        entry["lastReconciled"] = Value::Null;
        entry["lastReconciledDuration"] = Value::Null;
    }
    status
}

async fn a_running_set_is_taken_over_from_the_reference_operator_and_can_be_given_back(cluster: TestCluster) {
    let sets = Sets::new(&cluster).await;
    let world = &sets.world;
    // The reference operator has applied the objects as its manager; its finalizer and its status are on the set.
    const REFERENCE: &str = "flux-operator";
    let mut objects = vec![];
    for tenant in ["b", "a"] {
        objects.push(world.apply_as(REFERENCE, applied_by_reference("taken", tenant)).await);
    }
    let spec = json!({"inputs": [{"tenant": "b"}, {"tenant": "a"}], "resources": config_maps("cm-<< inputs.tenant >>"), "wait": true});
    sets.set("taken", json!({}), spec).await;
    let set = id(API, SET, APPS, "taken");
    let finalizer = json!({"metadata": {"finalizers": ["fluxcd.controlplane.io/finalizer"]}});
    let stored = world.patch_as(REFERENCE, &set, finalizer).await;
    let digest = digest_of_reference("taken", &["b", "a"]);
    let time = "2026-01-01T00:00:00Z";
    let status = json!({
        "conditions": [{"type": "Ready", "status": "True", "reason": "ReconciliationSucceeded", "lastTransitionTime": time,
            "message": "Reconciliation finished in 52ms", "observedGeneration": stored["metadata"]["generation"]}],
        "inventory": {"entries": [{"id": "apps_cm-a__ConfigMap", "v": "v1"}, {"id": "apps_cm-b__ConfigMap", "v": "v1"}]},
        "lastAppliedRevision": digest,
        "history": [{"digest": digest, "firstReconciled": time, "lastReconciled": time, "lastReconciledDuration": "52.1ms",
            "lastReconciledStatus": "ReconciliationSucceeded", "totalReconciliations": 3,
            "metadata": {"inputs": "2", "resources": "2"}}],
    });
    world.cluster.merge_patch(&set, Some("status"), &json!({ "status": status }), REFERENCE).await.unwrap();
    let before = world.get(API, SET, APPS, "taken").await.unwrap();

    // A preview and a run change nothing; the history goes on where the reference left it.
    let plan = sets.plan("taken").await;
    assert_eq!((plan.count(Step::Create), plan.count(Step::Prune), plan.count(Step::Recreate)), (0, 0, 0));
    let outcome = sets.ready("taken").await;
    assert!(outcome.changes.is_empty(), "{:?}", outcome.changes);
    for object in &objects {
        let now = world.get("v1", "ConfigMap", APPS, object["metadata"]["name"].as_str().unwrap()).await.unwrap();
        assert_eq!(now["metadata"]["resourceVersion"], object["metadata"]["resourceVersion"], "{now:#}");
    }
    let after = world.get(API, SET, APPS, "taken").await.unwrap();
    for field in ["finalizers", "labels", "annotations", "generation"] {
        assert_eq!(after["metadata"][field], before["metadata"][field], "{field}");
    }
    assert_eq!(after["spec"], before["spec"]);
    let mut expected = without_times(&before["status"]);
    expected["history"][0]["totalReconciliations"] = json!(4);
    assert_eq!(without_times(&after["status"]), expected, "these are all deviations");

    // Changes of a run of ours have the formats of the reference, so that it goes on in the same way.
    let spec = json!({"inputs": [{"tenant": "c"}, {"tenant": "b"}], "resources": config_maps("cm-<< inputs.tenant >>"), "wait": true});
    sets.set("taken", json!({}), spec).await;
    sets.ready("taken").await;
    assert!(sets.config_map("cm-a").await.is_none(), "what the reference applied is pruned by its inventory");
    let made = sets.config_map("cm-c").await.unwrap();
    let wanted = applied_by_reference("taken", "c");
    assert_eq!((&made["metadata"]["labels"], &made["data"]), (&wanted["metadata"]["labels"], &wanted["data"]));
    assert!(made["metadata"].get("annotations").is_none(), "{made:#}");
    assert_eq!(managers(&made), ours(), "the manager of the reference, by an apply");
    let status = world.get(API, SET, APPS, "taken").await.unwrap()["status"].clone();
    let digest = digest_of_reference("taken", &["c", "b"]);
    assert_eq!(status["lastAppliedRevision"], digest);
    assert_eq!(
        status["inventory"],
        json!({"entries": [{"id": "apps_cm-b__ConfigMap", "v": "v1"}, {"id": "apps_cm-c__ConfigMap", "v": "v1"}]})
    );
    assert_eq!(status["history"][0]["digest"], digest);
    assert_eq!(status["history"][0]["metadata"], json!({"inputs": "2", "resources": "2"}));
    assert_eq!(status["history"].as_array().unwrap().len(), 2);
    let fields: Vec<&String> = status.as_object().unwrap().keys().collect();
    assert_eq!(
        fields,
        ["conditions", "history", "inventory", "lastAppliedRevision"],
        "no field that the reference lacks"
    );

    // A provider goes on as well: the identifier and the revision of its export stay.
    let provider = json!({"apiVersion": API, "kind": "ResourceSetInputProvider", "metadata": {"name": "fixed", "namespace": APPS},
        "spec": {"type": "Static", "defaultValues": {"tenant": "a"}}});
    let stored = world.apply_as("test-author", provider).await;
    let provider = ObjectId::of(&stored);
    // Adler-32 of the UID.
    let (mut a, mut b) = (1u32, 0u32);
    for byte in stored["metadata"]["uid"].as_str().unwrap().bytes() {
        a = (a + u32::from(byte)) % 65521;
        b = (b + a) % 65521;
    }
    let number = (b << 16 | a).to_string();
    let revision =
        format!("sha256:{}", hex::encode(sha2::Sha256::digest(format!("- id: \"{number}\"\n  tenant: a\n"))));
    let status = json!({"status": {"exportedInputs": [{"id": number, "tenant": "a"}], "lastExportedRevision": revision,
        "conditions": [{"type": "Ready", "status": "True", "reason": "ReconciliationSucceeded", "lastTransitionTime": time,
            "message": "Reconciliation finished in 0s", "observedGeneration": stored["metadata"]["generation"]}]}});
    let before = world.cluster.merge_patch(&provider, Some("status"), &status, REFERENCE).await.unwrap();
    let mut command = command(world.kubeconfig.path(), world.plane.folder());
    command.args(["-n", APPS, "reconcile", "rsip", "fixed", "--in-process"]).stdin(std::process::Stdio::null());
    finish(command).await.exits(0);
    let after = world.cluster.read(&provider).await.unwrap().unwrap();
    assert_eq!(without_times(&after["status"]), without_times(&before["status"]));
}
