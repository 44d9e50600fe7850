//! Other actors in the same cluster: another instance, another run, a user with kubectl, a controller with finalizers.

use std::process::Stdio;
use std::time::Duration;

use flux_operator::api::manifest::{self, InstanceManifest, NamespaceChoice};
use flux_operator::cluster::lease::LeaseOptions;
use flux_operator::k8s::ObjectId;
use flux_operator::reconcile::plan::Step;
use flux_operator::reconcile::progress::IgnoredProgress;
use flux_operator::reconcile::{self, Consent, Failure, Outcome, ReconcileError, RunOptions, UninstallOptions};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::cluster_tests;
use crate::reconcile::world::*;
use crate::support::run::Run;
use crate::support::runner::command;
use crate::support::{
    Behaviour, ClusterTest, Fault, FaultProxy, FaultRule, Options, PodRule, TestCluster, allow, eventually,
};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        a_second_instance_takes_and_deletes_nothing_of_the_first,
        a_first_installation_that_another_one_overtook_ends_before_it_applies_anything,
        an_uninstall_leaves_the_definition_that_another_instance_lists,
        removing_a_shard_keeps_the_flux_objects_of_the_shard_and_what_they_deployed,
        dropped_components_and_syncs_leave_what_they_deployed,
        a_dropped_controller_that_does_not_end_keeps_its_custom_resources,
        a_run_reads_its_objects_after_it_took_the_lease,
        an_instance_that_cannot_hold_a_status_gets_nothing_installed,
        a_watch_that_fails_in_a_stage_is_reported_in_the_status,
        adding_our_finalizer_keeps_a_finalizer_that_another_manager_adds_during_the_run,
        a_finalizer_that_may_not_be_set_is_reported_in_the_status,
        unreadable_and_outdated_inventory_entries_are_not_lost,
        waiting_works_without_the_right_to_read_pods,
    ]
}

fn manifest(namespace: &str, spec: &Value) -> InstanceManifest {
    let object = json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
        "metadata": {"name": "flux", "namespace": namespace}, "spec": spec});
    manifest::read(&object.to_string(), &NamespaceChoice::default()).unwrap()
}

async fn apply(world: &World, manifest: &InstanceManifest) -> Result<Outcome, ReconcileError> {
    reconcile::apply_instance(&world.cluster, manifest, false, &world.distribution, &world.options, &IgnoredProgress)
        .await
}

fn definition(name: &str) -> ObjectId {
    id("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", name)
}

fn custom(api_version: &str, kind: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "spec": spec,
        "metadata": {"name": name, "namespace": "default", "finalizers": ["finalizers.fluxcd.io"]}})
}

async fn a_first_installation_that_another_one_overtook_ends_before_it_applies_anything(cluster: TestCluster) {
    let world = World::with(&cluster, Options::api_server_only()).await;
    let proxy = FaultProxy::start(&world.kubeconfig, world.plane.folder()).await.unwrap();
    let through = connected(proxy.kubeconfig().path()).await;
    // The first has looked for others and stores its instance; meanwhile the second begins and ends.
    let (release, allowed) = watch::channel(false);
    let stores = |uri: &str| uri.contains("/fluxinstances/flux?");
    proxy.add_rule(FaultRule::nth(1, Fault::WaitFor(allowed)).method("PATCH").uri(stores));
    let overtaken = manifest(NAMESPACE, &small(&["source-controller"]));
    let first =
        reconcile::apply_instance(&through, &overtaken, false, &world.distribution, &world.options, &IgnoredProgress);
    let (first, ()) = tokio::join!(first, async {
        eventually("the first to store its instance", Duration::from_secs(20), || async {
            (proxy.count("PATCH", stores) > 0).then_some(())
        })
        .await
        .unwrap();
        let second = apply(&world, &manifest("apps", &small(&["source-controller"]))).await;
        assert!(second.unwrap().is_ready());
        release.send(true).unwrap();
    });
    let error = first.unwrap_err();
    assert!(matches!(error, ReconcileError::SecondInstance { .. }), "{error}");
    assert!(world.get("apps/v1", "Deployment", NAMESPACE, "source-controller").await.is_none());
    let buckets = world.cluster.read(&definition("buckets.source.toolkit.fluxcd.io")).await.unwrap().unwrap();
    assert_eq!(buckets["metadata"]["labels"]["fluxcd.controlplane.io/namespace"], "apps");
}

/// An instance in another namespace, as an earlier program would have left it beside the first; its inventory has a definition
/// of the first one.
async fn second_that_lists_buckets(world: &World) -> ObjectId {
    world.apply_as("someone", json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "apps"}})).await;
    let second = manifest("apps", &small(&["source-controller"]));
    let other = ObjectId::of(&world.apply_as("someone", second.written.clone()).await);
    let listed = json!({"status": {"lastAppliedRevision": "v2.9.4@sha256:1", "inventory": {"entries": [
        {"id": "_buckets.source.toolkit.fluxcd.io_apiextensions.k8s.io_CustomResourceDefinition", "v": "v1"}]}}});
    world.cluster.merge_patch(&other, Some("status"), &listed, "someone").await.unwrap();
    other
}

async fn a_second_instance_takes_and_deletes_nothing_of_the_first(cluster: TestCluster) {
    let world = World::with(&cluster, Options::api_server_only()).await;
    apply(&world, &manifest(NAMESPACE, &small(&["source-controller"]))).await.unwrap();
    let owner = |object: &Value| object["metadata"]["labels"]["fluxcd.controlplane.io/namespace"].clone();
    let buckets = definition("buckets.source.toolkit.fluxcd.io");

    // The plan and the run refuse, name both, and write nothing: no instance, no namespace.
    let second = manifest("apps", &small(&["source-controller"]));
    let mark = world.plane.audit().mark().await.unwrap();
    let plan =
        reconcile::plan_for(&world.cluster, &second, &world.distribution, &world.options.plan, &IgnoredProgress).await;
    for refused in [plan.map(drop), apply(&world, &second).await.map(drop)] {
        let error = refused.unwrap_err();
        assert!(matches!(error, ReconcileError::SecondInstance { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("FluxInstance/apps/flux") && text.contains("FluxInstance/flux-system/flux"), "{text}");
    }
    let writes = world.plane.audit().since(mark).await.unwrap().by_user(USER).writes();
    let writes = writes.only(|request| request.resource != "leases" && !request.uri.contains("dryRun"));
    assert!(writes.is_empty(), "{:#?}", writes.table());
    assert!(world.get("v1", "Namespace", "", "apps").await.is_none());

    // An instance of an earlier version is not searched by then; its labels on objects are found instead.
    let other = second_that_lists_buckets(&world).await;
    let refused = reconcile::run(&world.cluster, &other, &world.distribution, &world.options, &IgnoredProgress)
        .await
        .unwrap_err();
    let text = refused.to_string();
    assert!(matches!(refused, ReconcileError::OwnedByOther { .. }), "{text}");
    assert!(text.contains("FluxInstance/apps/flux") && text.contains("FluxInstance/flux-system/flux"), "{text}");
    assert_eq!(owner(&world.cluster.read(&buckets).await.unwrap().unwrap()), NAMESPACE);

    // The uninstall of either keeps the definition that the other one lists.
    let uninstall = UninstallOptions { lease: world.options.lease.clone(), ..UninstallOptions::default() };
    let instance = world.read_instance().await;
    let plan = reconcile::uninstall_plan(&world.cluster, &instance, &uninstall).await.unwrap();
    let kept: Vec<String> = plan.keeps.iter().map(|kept| format!("{}: {}", kept.object, kept.reason)).collect();
    assert!(
        kept.contains(
            &"CustomResourceDefinition/buckets.source.toolkit.fluxcd.io: it is also in the inventory of FluxInstance/apps/flux"
                .to_owned()
        ),
        "{kept:?}"
    );
    // Labels of a deleted instance do not matter, so that an installation can be moved.
    world
        .cluster
        .merge_patch(&other, Some("status"), &json!({"status": {"inventory": {"entries": []}}}), "s")
        .await
        .unwrap();
    let first = world.get("fluxcd.controlplane.io/v1", "FluxInstance", NAMESPACE, "flux").await.unwrap();
    world.delete(&first).await;
    let moved =
        reconcile::run(&world.cluster, &other, &world.distribution, &world.options, &IgnoredProgress).await.unwrap();
    assert!(moved.is_ready(), "{}", moved.message);
    assert_eq!(owner(&world.cluster.read(&buckets).await.unwrap().unwrap()), "apps");
}

async fn an_uninstall_leaves_the_definition_that_another_instance_lists(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    apply(&world, &manifest(NAMESPACE, &small(&["source-controller"]))).await.unwrap();
    let other = second_that_lists_buckets(&world).await;
    // The plan and the run of the other one name both, and the way out.
    for (line, code) in [("plan instance -n apps", 2), ("reconcile instance -n apps --in-process", 1)] {
        let mut command = command(world.kubeconfig.path(), world.plane.folder());
        command.args(line.split(' ')).stdin(Stdio::null());
        Run::from(command.output().unwrap())
            .exits(code)
            .stderr_has("FluxInstance/apps/flux cannot take over objects that FluxInstance/flux-system/flux owns")
            .stderr_has("hint: change FluxInstance/flux-system/flux instead, or uninstall it first");
    }
    let uninstall = UninstallOptions { lease: world.options.lease.clone(), ..UninstallOptions::default() };
    let first = world.read_instance().await;
    let done = reconcile::uninstall(&world.cluster, &first, &uninstall, &IgnoredProgress).await.unwrap();
    assert!(done.is_complete(), "{done:?}");
    let left = world.list("apiextensions.k8s.io/v1", "CustomResourceDefinition", None).await;
    let left: Vec<&str> = left.iter().filter_map(|one| one["metadata"]["name"].as_str()).collect();
    assert_eq!(left, ["buckets.source.toolkit.fluxcd.io", "fluxinstances.fluxcd.controlplane.io"]);
    let buckets = world.cluster.read(&definition("buckets.source.toolkit.fluxcd.io")).await.unwrap().unwrap();
    assert!(buckets["metadata"].get("deletionTimestamp").is_none(), "{buckets}");
    assert!(world.cluster.read(&deployment_id("source-controller")).await.unwrap().is_none());
    assert!(world.cluster.read(&other).await.unwrap().is_some());
}

async fn removing_a_shard_keeps_the_flux_objects_of_the_shard_and_what_they_deployed(cluster: TestCluster) {
    let world = World::with(&cluster, Options::api_server_only()).await;
    let mut wanted = small(&["source-controller", "kustomize-controller", "helm-controller"]);
    wanted["sharding"] = json!({"shards": ["s1", "s2"]});
    world.instance(wanted.clone()).await;
    world.ready().await;
    let of_shard = |kind: &str, api_version: &str, spec: Value| {
        let mut object = custom(api_version, kind, "app", spec);
        object["metadata"]["labels"] = json!({"sharding.fluxcd.io/key": "s2"});
        object
    };
    let deployed = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "app", "namespace": "default",
        "labels": {"kustomize.toolkit.fluxcd.io/name": "app", "kustomize.toolkit.fluxcd.io/namespace": "default"}},
        "spec": {"selector": {"matchLabels": {"app": "a"}}, "template": {"metadata": {"labels": {"app": "a"}},
            "spec": {"containers": [{"name": "app", "image": "example.com/app:v1"}]}}}});
    let release = json!({"apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1",
        "metadata": {"name": "sh.helm.release.v1.app.v1", "namespace": "default", "labels": {"owner": "helm"}}});
    let source = json!({"kind": "GitRepository", "name": "a"});
    let mut before = vec![];
    for object in [
        of_shard(
            "Kustomization",
            "kustomize.toolkit.fluxcd.io/v1",
            json!({"interval": "1m", "prune": true, "sourceRef": source}),
        ),
        of_shard(
            "HelmRelease",
            "helm.toolkit.fluxcd.io/v2",
            json!({"interval": "1m", "chartRef": {"kind": "OCIRepository", "name": "a"}}),
        ),
        of_shard(
            "GitRepository",
            "source.toolkit.fluxcd.io/v1",
            json!({"interval": "1m", "url": "https://example.com/a.git"}),
        ),
        deployed,
        release,
    ] {
        before.push(world.cluster.create(&object, "someone").await.unwrap().unwrap());
    }
    wanted["sharding"] = json!({"shards": ["s1"]});
    world.instance(wanted).await;
    let plan = world.plan().await;
    assert_eq!(plan.lost_custom_resources().count(), 0);
    let cautious = RunOptions { consent: Consent::Pruned, ..world.options.clone() };
    assert!(world.run_with(&world.cluster, &cautious).await.unwrap().is_ready());
    for (shard, is_there) in [("s1", true), ("s2", false)] {
        for controller in ["source-controller", "kustomize-controller", "helm-controller"] {
            let name = format!("{controller}-{shard}");
            assert_eq!(world.cluster.read(&deployment_id(&name)).await.unwrap().is_some(), is_there, "{name}");
        }
    }
    // Not deleted, not suspended: not touched at all.
    for object in before {
        let now = world.cluster.read(&ObjectId::of(&object)).await.unwrap();
        assert_eq!(now.as_ref().map(|now| &now["metadata"]), Some(&object["metadata"]));
    }
}

async fn dropped_components_and_syncs_leave_what_they_deployed(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    let mut wanted = small(&["source-controller", "kustomize-controller", "helm-controller"]);
    wanted["sync"] = json!({"kind": "GitRepository", "url": "https://example.com/a.git", "ref": "main", "path": "a"});
    world.instance(wanted.clone()).await;
    world.ready().await;
    let kustomization = |name: &str| {
        custom(
            "kustomize.toolkit.fluxcd.io/v1",
            "Kustomization",
            name,
            json!({
            "interval": "1m", "prune": true, "sourceRef": {"kind": "GitRepository", "name": "a"}}),
        )
    };
    for name in ["a", "b", "c", "d", "e", "f"] {
        world.cluster.create(&kustomization(name), "someone").await.unwrap();
    }
    // The sync is removed while its controllers run. It is suspended first, because they would otherwise prune its objects.
    let sync = id("kustomize.toolkit.fluxcd.io/v1", "Kustomization", NAMESPACE, NAMESPACE);
    world.patch_as("kustomize-controller", &sync, json!({"metadata": {"finalizers": ["finalizers.fluxcd.io"]}})).await;
    wanted.as_object_mut().unwrap().remove("sync");
    world.instance(wanted.clone()).await;
    let mark = world.plane.audit().mark().await.unwrap();
    world.ready().await;
    assert!(world.cluster.read(&sync).await.unwrap().is_none(), "its finalizer was cleared");
    let seen = world.plane.audit().since(mark).await.unwrap().by_user(USER);
    let of_sync: Vec<&str> = seen
        .writes()
        .0
        .iter()
        .filter(|r| r.resource == "kustomizations")
        .map(|r| r.verb.as_str())
        .map(|v| match v {
            "patch" => "patch",
            "delete" => "delete",
            _ => "other",
        })
        .collect();
    assert_eq!(of_sync, ["patch", "delete", "patch"], "suspended, deleted, finalizer cleared");

    // A component is removed: the plan counts the custom resources deleted with its CRD, and without consent the run is refused.
    wanted["components"] = json!(["source-controller", "helm-controller"]);
    world.instance(wanted).await;
    let plan = world.plan().await;
    let lost: Vec<String> = plan.lost_custom_resources().map(|(id, lost)| format!("{}: {lost}", id.name)).collect();
    assert_eq!(
        lost,
        [
            "kustomizations.kustomize.toolkit.fluxcd.io: 6 Kustomization (default/a, default/b, default/c, default/d, default/e and 1 more)"
        ]
    );
    let cautious = RunOptions { consent: Consent::Pruned, ..world.options.clone() };
    let mark = world.plane.audit().mark().await.unwrap();
    let refused = world.run_with(&world.cluster, &cautious).await.unwrap_err();
    assert!(matches!(refused, ReconcileError::CustomResourcesLost { .. }), "{refused}");
    let writes = world.plane.audit().since(mark).await.unwrap().by_user(USER).writes();
    assert!(writes.0.iter().all(|r| r.resource == "leases"), "{:#?}", writes.table());

    // The controller goes first, and its pods are gone before a finalizer is touched.
    let mark = world.plane.audit().mark().await.unwrap();
    let outcome = world.ready().await;
    let deleted: Vec<String> = outcome
        .changes
        .iter()
        .filter(|change| change.object.kind != "NetworkPolicy")
        .filter(|change| change.action.as_str() == "deleted")
        .map(|change| change.object.to_string())
        .collect();
    assert_eq!(
        deleted,
        [
            "Deployment/flux-system/kustomize-controller",
            "ServiceAccount/flux-system/kustomize-controller",
            "CustomResourceDefinition/kustomizations.kustomize.toolkit.fluxcd.io"
        ]
    );
    let writes = world.plane.audit().since(mark).await.unwrap().by_user(USER).writes();
    let order: Vec<&str> = writes.0.iter().map(|r| r.resource.as_str()).collect();
    let at = |what: &str| order.iter().position(|r| *r == what).unwrap_or_else(|| panic!("no {what}: {order:?}"));
    assert!(at("deployments") < at("kustomizations"), "{order:?}");
    assert!(at("kustomizations") < at("customresourcedefinitions"), "{order:?}");
    assert!(world.cluster.read(&definition("kustomizations.kustomize.toolkit.fluxcd.io")).await.unwrap().is_none());

    // Objects with foreign finalizers must not hang: their definition is kept, and still has to be deleted.
    let mut held = custom(
        "helm.toolkit.fluxcd.io/v2",
        "HelmRelease",
        "held",
        json!({
        "interval": "1m", "chartRef": {"kind": "OCIRepository", "name": "a"}}),
    );
    held["metadata"]["finalizers"] = json!(["example.com/mine", "finalizers.fluxcd.io"]);
    world.cluster.create(&held, "someone").await.unwrap();
    world.instance(small(&["source-controller"])).await;
    let outcome = world.run().await.unwrap();
    assert!(matches!(outcome.failure, Some(Failure::Unhealthy { .. })), "{}", outcome.message);
    assert!(outcome.message.contains("example.com/mine holds it"), "{}", outcome.message);
    let crd = world.cluster.read(&definition("helmreleases.helm.toolkit.fluxcd.io")).await.unwrap().unwrap();
    assert!(crd["metadata"].get("deletionTimestamp").is_none());
    let none = json!({"metadata": {"finalizers": null}});
    world.patch_as("someone", &id("helm.toolkit.fluxcd.io/v2", "HelmRelease", "default", "held"), none).await;
    world.ready().await;
    assert!(world.cluster.read(&definition("helmreleases.helm.toolkit.fluxcd.io")).await.unwrap().is_none());
}

async fn a_dropped_controller_that_does_not_end_keeps_its_custom_resources(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    let stuck = PodRule::new(NAMESPACE, Behaviour::NeverTerminates).name_starts_with("kustomize-controller");
    let stuck = world.plane.kubelet().add_rule(stuck);
    let mut wanted = small(&["source-controller", "kustomize-controller"]);
    wanted["wait"] = json!(true);
    world.instance(wanted).await;
    world.ready().await;
    let spec =
        json!({"interval": "1m", "prune": true, "path": "./", "sourceRef": {"kind": "GitRepository", "name": "a"}});
    let api_version = "kustomize.toolkit.fluxcd.io/v1";
    world.cluster.create(&custom(api_version, "Kustomization", "a", spec), "someone").await.unwrap();
    world.instance(small(&["source-controller"])).await;

    let limit = tokio::time::Instant::now() + Duration::from_secs(5);
    let options = RunOptions { health_deadline: Some(limit), ..world.options.clone() };
    let outcome = world.run_with(&world.cluster, &options).await.unwrap();
    let Some(Failure::Unhealthy { timed_out: true, objects }) = &outcome.failure else { panic!("{outcome:?}") };
    let waited_for: Vec<&str> = objects.iter().map(|one| one.object.as_str()).collect();
    assert_eq!(waited_for, ["Deployment/flux-system/kustomize-controller"]);
    // A controller that still runs would clean up what it deployed.
    let untouched = world.get(api_version, "Kustomization", "default", "a").await.unwrap();
    assert_eq!(untouched["metadata"]["finalizers"], json!(["finalizers.fluxcd.io"]));
    let kustomizations = definition("kustomizations.kustomize.toolkit.fluxcd.io");
    let live = world.cluster.read(&kustomizations).await.unwrap().unwrap();
    assert_eq!(live["metadata"].get("deletionTimestamp"), None);

    world.plane.kubelet().remove_rule(stuck);
    world.ready().await;
    assert!(world.cluster.read(&kustomizations).await.unwrap().is_none());
}

async fn a_run_reads_its_objects_after_it_took_the_lease(cluster: TestCluster) {
    let world = World::with(&cluster, Options::api_server_only()).await;
    world.instance(small(&["source-controller"])).await;
    world.ready().await;
    // Another run holds the lease and brings in a component; this one was started before, and goes on after it.
    let theirs = LeaseOptions::new("flux-operator-ctl/other");
    let held = world.cluster.take_lease(NAMESPACE, &theirs, |_| ()).await.unwrap();
    let (outcome, ()) = tokio::join!(world.run(), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        world.instance(small(&["source-controller", "notification-controller"])).await;
        let other = RunOptions { lease: None, ..world.options.clone() };
        assert!(world.run_with(&world.cluster, &other).await.unwrap().is_ready());
        held.release().await;
    });
    let outcome = outcome.unwrap();
    assert!(outcome.is_ready() && outcome.changes.is_empty(), "{:?}", outcome.changes);
    assert!(world.cluster.read(&deployment_id("notification-controller")).await.unwrap().is_some());
    let instance = world.read_instance().await;
    assert_eq!(instance.status.as_ref().unwrap().conditions[0].observed_generation, instance.metadata.generation);

    // An uninstall that was looked at before is refused when there is more to delete now.
    let uninstall = UninstallOptions { lease: world.options.lease.clone(), ..UninstallOptions::default() };
    world.instance(small(&["source-controller", "helm-controller"])).await;
    let refused = reconcile::uninstall(&world.cluster, &instance, &uninstall, &IgnoredProgress).await.unwrap_err();
    assert!(matches!(refused, ReconcileError::InstanceMoved { .. }), "{refused}");
    let mut another = world.read_instance().await;
    another.metadata.uid = Some("another".into());
    let refused = reconcile::uninstall(&world.cluster, &another, &uninstall, &IgnoredProgress).await.unwrap_err();
    assert!(matches!(refused, ReconcileError::InstanceReplaced { .. }), "{refused}");
    assert!(world.cluster.read(&deployment_id("source-controller")).await.unwrap().is_some());

    // An object that is being deleted is not installed again.
    world.patch_as("someone", &instance_id(), json!({"metadata": {"finalizers": ["example.com/mine"]}})).await;
    let live = world.cluster.read(&instance_id()).await.unwrap().unwrap();
    world.delete(&live).await;
    let refused = world.run().await.unwrap_err();
    assert!(matches!(refused, ReconcileError::BeingDeleted { .. }), "{refused}");
}

async fn an_instance_that_cannot_hold_a_status_gets_nothing_installed(cluster: TestCluster) {
    let world = World::with(&cluster, Options::api_server_only()).await;
    world.instance(small(&["source-controller"])).await;
    let crd = definition("fluxinstances.fluxcd.controlplane.io");
    let live = world.cluster.read(&crd).await.unwrap().unwrap();
    let mut versions = live["spec"]["versions"].clone();
    versions[0].as_object_mut().unwrap().remove("subresources");
    world.patch_as("someone", &crd, json!({"spec": {"versions": versions}})).await;
    eventually("the subresource to go", Duration::from_secs(20), || async {
        let patch = json!({"status": {"lastAttemptedRevision": "x"}});
        world.cluster.merge_patch(&instance_id(), Some("status"), &patch, "someone").await.err()
    })
    .await
    .unwrap();
    let refused = world.run().await.unwrap_err();
    assert!(matches!(refused, ReconcileError::StatusNotServed { .. }), "{refused}");
    assert!(world.cluster.read(&deployment_id("source-controller")).await.unwrap().is_none());
    assert!(world.cluster.read(&definition("buckets.source.toolkit.fluxcd.io")).await.unwrap().is_none());
}

async fn a_watch_that_fails_in_a_stage_is_reported_in_the_status(cluster: TestCluster) {
    let world = World::with(&cluster, Options::api_server_only()).await;
    let mut wanted = small(&["source-controller", "kustomize-controller"]);
    // Objects of kinds that the plan defines: it waits for the definitions.
    wanted["sync"] = json!({"kind": "GitRepository", "url": "https://example.com/a.git", "ref": "main", "path": "a"});
    world.instance(wanted).await;
    let proxy = FaultProxy::start(&world.kubeconfig, world.plane.folder()).await.unwrap();
    let through = connected(proxy.kubeconfig().path()).await;
    // The first list is what the plan is made from; those after it belong to the wait.
    let lists = std::sync::atomic::AtomicUsize::new(0);
    let of_the_wait = move |uri: &str| {
        uri.contains("customresourcedefinitions?") && lists.fetch_add(1, std::sync::atomic::Ordering::Relaxed) > 0
    };
    proxy.add_rule(FaultRule::every(Fault::Answer { status: 400, retry_after: None }).uri(of_the_wait));
    let outcome = world.run_with(&through, &world.options).await.unwrap();
    assert!(matches!(outcome.failure, Some(Failure::Call(_))), "{}", outcome.message);
    let status = world.read_instance().await.status.unwrap();
    let ready = status.conditions.iter().find(|one| one.type_ == "Ready").unwrap();
    assert_eq!((ready.status.as_str(), ready.reason.as_str()), ("False", "ReconciliationFailed"));
    assert_eq!(status.history.len(), 1);
    assert_eq!(world.events().await.last().unwrap().0, "ReconciliationFailed");
    assert!(outcome.next.is_some());
}

/// A stalled operator that may continue later: the instance gets its finalizer.
fn sleeping_operator() -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "flux-operator", "namespace": NAMESPACE},
        "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "op"}}, "template": {"metadata": {"labels": {"app": "op"}},
            "spec": {"containers": [{"name": "manager", "image": "example.com/op:v1"}]}}}})
}

async fn adding_our_finalizer_keeps_a_finalizer_that_another_manager_adds_during_the_run(cluster: TestCluster) {
    let world = World::with(&cluster, Options::api_server_only()).await;
    world.instance(small(&["source-controller"])).await;
    world.apply_as("helm-install", sleeping_operator()).await;
    // It comes while the run is under way, after the instance was read.
    let proxy = FaultProxy::start(&world.kubeconfig, world.plane.folder()).await.unwrap();
    let through = connected(proxy.kubeconfig().path()).await;
    proxy.add_rule(
        FaultRule::every(Fault::Delay(Duration::from_secs(2))).uri(|uri| uri.contains("/networkpolicies?limit")),
    );
    let (outcome, ()) = tokio::join!(world.run_with(&through, &world.options), async {
        eventually("the run to read", Duration::from_secs(20), || async {
            (proxy.count("GET", |uri| uri.contains("/networkpolicies?limit")) > 0).then_some(())
        })
        .await
        .unwrap();
        world.patch_as("someone", &instance_id(), json!({"metadata": {"finalizers": ["example.com/mine"]}})).await;
    });
    assert!(outcome.unwrap().is_ready());
    let finalizers = world.read_instance().await.metadata.finalizers.unwrap();
    assert_eq!(finalizers, ["example.com/mine", "fluxcd.controlplane.io/finalizer"]);
}

async fn a_finalizer_that_may_not_be_set_is_reported_in_the_status(cluster: TestCluster) {
    let world = World::with(&cluster, Options::api_server_only()).await;
    world.instance(small(&["source-controller"])).await;
    world.apply_as("helm-install", sleeping_operator()).await;
    let proxy = FaultProxy::start(&world.kubeconfig, world.plane.folder()).await.unwrap();
    let through = connected(proxy.kubeconfig().path()).await;
    let is_of_finalizers = |uri: &str| uri.contains("/fluxinstances/flux?");
    proxy.add_rule(FaultRule::every(Fault::forbidden()).method("PATCH").uri(is_of_finalizers));
    let outcome = world.run_with(&through, &world.options).await.unwrap();
    assert!(matches!(outcome.failure, Some(Failure::Call(_))), "{}", outcome.message);
    assert!(proxy.count("PATCH", is_of_finalizers) > 0);
    let (status, events) = (world.read_instance().await.status.unwrap(), world.events().await);
    let ready = status.conditions.iter().find(|one| one.type_ == "Ready").unwrap();
    assert_eq!((ready.status.as_str(), ready.reason.as_str()), ("False", "ReconciliationFailed"));
    assert!(ready.message.contains("cannot patch fluxinstance/flux-system/flux"), "{}", ready.message);
    assert_eq!(events.last(), Some(&("ReconciliationFailed".to_owned(), ready.message.clone())));
    assert_eq!(status.history.len(), 1);
    // Before anything exists that the finalizer protects.
    assert!(world.cluster.read(&deployment_id("source-controller")).await.unwrap().is_none());
}

async fn unreadable_and_outdated_inventory_entries_are_not_lost(cluster: TestCluster) {
    let world = World::with(&cluster, Options::api_server_only()).await;
    let mut wanted = small(&["source-controller", "kustomize-controller"]);
    wanted["sync"] = json!({"kind": "GitRepository", "url": "https://example.com/a.git", "ref": "main", "path": "a"});
    world.instance(wanted.clone()).await;
    world.ready().await;
    // An unreadable entry, a namespace without protection, and a version that is no longer served.
    let mut entries = serde_json::to_value(world.read_instance().await.status.unwrap().inventory.unwrap()).unwrap();
    for entry in entries["entries"].as_array_mut().unwrap() {
        if entry["id"].as_str().unwrap().ends_with("_GitRepository") {
            entry["v"] = json!("v1beta1");
        }
    }
    entries["entries"].as_array_mut().unwrap().push(json!({"id": "nonsense", "v": "v1"}));
    world
        .cluster
        .merge_patch(&instance_id(), Some("status"), &json!({"status": {"inventory": entries}}), "someone")
        .await
        .unwrap();
    let namespace = id("v1", "Namespace", "", NAMESPACE);
    let unprotected = json!({"metadata": {"annotations": {"fluxcd.controlplane.io/prune": null},
        "labels": {"fluxcd.controlplane.io/prune": null}}});
    wanted.as_object_mut().unwrap().remove("sync");
    world.instance(wanted).await;
    let plan = world.plan().await;
    let pruned: Vec<String> = plan.prune.iter().map(|one| one.object.to_string()).collect();
    assert_eq!(pruned, ["GitRepository/flux-system/flux-system", "Kustomization/flux-system/flux-system"]);
    let outcome = world.ready().await;
    assert!(outcome.warnings.iter().any(|warning| warning.contains("\"nonsense\"")), "{:?}", outcome.warnings);
    let inventory = world.read_instance().await.status.unwrap().inventory.unwrap();
    assert!(inventory.entries.iter().any(|entry| entry.id == "nonsense"));
    assert!(
        world.get("source.toolkit.fluxcd.io/v1", "GitRepository", NAMESPACE, NAMESPACE).await.is_none(),
        "it was found at the version that is served"
    );
    world.patch_as("someone", &namespace, unprotected).await;
    let (instance, options) = (world.read_instance().await, UninstallOptions::default());
    let plan = reconcile::uninstall_plan(&world.cluster, &instance, &options).await.unwrap();
    assert!(plan.keeps.iter().any(|kept| kept.object == namespace), "{:?}", plan.keeps);
    assert_eq!(world.plan().await.count(Step::Prune), 0);
}

async fn waiting_works_without_the_right_to_read_pods(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    let mut wanted = small(&["source-controller"]);
    wanted["wait"] = json!(true);
    world.instance(wanted).await;
    // Everything but pods.
    let everything = [
        allow(&["*"], "", &["namespaces", "serviceaccounts", "services", "resourcequotas", "events", "secrets"]),
        allow(&["*"], "apps", &["*"]),
        allow(&["*"], "apiextensions.k8s.io", &["*"]),
        allow(&["*"], "rbac.authorization.k8s.io", &["*"]),
        allow(&["*"], "networking.k8s.io", &["*"]),
        allow(&["*"], "coordination.k8s.io", &["*"]),
        allow(&["*"], "fluxcd.controlplane.io", &["*"]),
        allow(&["*"], "source.toolkit.fluxcd.io", &["*"]),
    ];
    let user = world.plane.user("blind", None, &everything).await.unwrap();
    let outcome = world.run_with(&connected(user.path()).await, &world.options).await.unwrap();
    assert!(outcome.is_ready(), "{}", outcome.message);
}
