//! Taking Flux out again.

use std::time::Duration;

use flux_operator::build::{BuildOptions, build};
use flux_operator::cluster::lease::LeaseOptions;
use flux_operator::k8s::ObjectId;
use flux_operator::reconcile::RunContext;
use flux_operator::reconcile::health::{self, Goal, WaitEnd};
use flux_operator::reconcile::interrupt::{InterruptPolicy, never};
use flux_operator::reconcile::live_objects::LiveObjects;
use flux_operator::reconcile::progress::IgnoredProgress;
use flux_operator::reconcile::{self, ReconcileError, UninstallOptions, UninstallResult};
use serde_json::{Value, json};

use crate::cluster_tests;
use crate::reconcile::world::*;
use crate::support::proxy::Seen;
use crate::support::{Behaviour, ClusterTest, Fault, FaultProxy, FaultRule, Options, PodRule, TestCluster};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        an_uninstall_leaves_workloads_and_names_foreign_finalizers,
        an_uninstall_waits_for_the_controllers_and_can_keep_the_definitions,
        definitions_that_the_api_server_only_just_serves_can_be_uninstalled,
        definitions_that_go_before_they_are_waited_for_are_not_asked_for_by_name,
        two_reconcilers_never_work_at_once,
    ]
}

fn options(timeout: Duration) -> UninstallOptions {
    let lease = LeaseOptions { wait: Duration::from_secs(20), ..LeaseOptions::new("flux-operator-ctl/test") };
    UninstallOptions { lease: Some(lease), timeout, ..UninstallOptions::default() }
}

async fn uninstall(world: &World, options: &UninstallOptions) -> UninstallResult {
    reconcile::uninstall(&world.cluster, &world.read_instance().await, options, &IgnoredProgress).await.unwrap()
}

fn kustomization(name: &str, finalizers: &[&str]) -> Value {
    json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
        "metadata": {"name": name, "namespace": "default", "finalizers": finalizers},
        "spec": {"interval": "1m", "prune": true, "sourceRef": {"kind": "GitRepository", "name": "a"}}})
}

async fn an_uninstall_leaves_workloads_and_names_foreign_finalizers(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    world.instance(spec("2.9.x")).await;
    world.ready().await;
    for object in [
        kustomization("a", &["finalizers.fluxcd.io"]),
        kustomization("b", &["finalizers.fluxcd.io", "example.com/mine"]),
        kustomization("c", &[]),
    ] {
        world.cluster.create(&object, "someone").await.unwrap();
    }
    let workload = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "workload", "namespace": "default",
        "labels": {"kustomize.toolkit.fluxcd.io/name": "a"}}});
    world.cluster.create(&workload, "kustomize-controller").await.unwrap();

    let options = options(Duration::from_secs(30));
    let plan = reconcile::uninstall_plan(&world.cluster, &world.read_instance().await, &options).await.unwrap();
    assert_eq!(plan.counts().get("CustomResourceDefinition"), Some(&11));
    assert_eq!(plan.counts().get("Deployment"), Some(&4));
    assert_eq!(plan.custom_resources, [("Kustomization".to_owned(), 3)].into());
    assert_eq!(plan.keeps.iter().map(|kept| kept.object.to_string()).collect::<Vec<_>>(), ["Namespace/flux-system"]);
    assert_eq!(plan.held.iter().map(|held| held.finalizers.clone()).collect::<Vec<_>>(), [["example.com/mine"]]);

    let done = uninstall(&world, &options).await;
    assert!(!done.is_complete());
    assert_eq!(done.held.iter().map(|held| held.object.to_string()).collect::<Vec<_>>(), ["Kustomization/default/b"]);
    assert!(done.remaining.is_empty() && done.errors.is_empty(), "{done:?}");
    let left = world.get("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "default", "b").await.unwrap();
    assert_eq!(left["metadata"]["finalizers"], json!(["example.com/mine"]));
    assert_eq!(world.list("apps/v1", "Deployment", Some(NAMESPACE)).await.len(), 0);

    // The owner lets go; the same command finishes.
    let held = id("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "default", "b");
    world.patch_as("someone", &held, json!({"metadata": {"finalizers": null}})).await;
    let done = uninstall(&world, &options).await;
    assert!(done.is_complete(), "{done:?}");
    assert!(world.get("v1", "ConfigMap", "default", "workload").await.is_some());
    assert!(world.get("v1", "Namespace", "", NAMESPACE).await.is_some());
    let definitions = world.list("apiextensions.k8s.io/v1", "CustomResourceDefinition", None).await;
    assert_eq!(
        definitions.iter().map(|crd| crd["metadata"]["name"].as_str().unwrap()).collect::<Vec<_>>(),
        ["fluxinstances.fluxcd.controlplane.io"]
    );
    assert!(world.get("fluxcd.controlplane.io/v1", "FluxInstance", NAMESPACE, "flux").await.is_none());
    assert_eq!(
        world
            .list("rbac.authorization.k8s.io/v1", "ClusterRole", None)
            .await
            .iter()
            .filter(|role| role["metadata"]["labels"]["app.kubernetes.io/part-of"] == "flux")
            .count(),
        0
    );

    // A new installation starts as if nothing had been.
    world.instance(spec("2.9.x")).await;
    world.ready().await;
}

async fn an_uninstall_waits_for_the_controllers_and_can_keep_the_definitions(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    let mut wanted = spec("2.9.x");
    wanted["components"] = json!(["source-controller", "kustomize-controller"]);
    let stuck = world
        .plane
        .kubelet()
        .add_rule(PodRule::new(NAMESPACE, Behaviour::NeverTerminates).name_starts_with("kustomize-controller"));
    world.instance(wanted).await;
    world.ready().await;
    world.cluster.create(&kustomization("a", &["finalizers.fluxcd.io"]), "someone").await.unwrap();
    // A foreign finalizer of ours is kept apart from the one of an operator.
    let instance = flux_operator::api::Reconciled::id(&world.read_instance().await);
    world
        .patch_as("someone", &instance, json!({"metadata": {"finalizers": ["fluxcd.controlplane.io/finalizer"]}}))
        .await;

    // Long enough for the other controller to be gone, on a busy machine too.
    let mut options = UninstallOptions { keep_crds: true, ..options(Duration::from_secs(6)) };
    let done = uninstall(&world, &options).await;
    assert!(!done.is_complete());
    assert_eq!(
        done.remaining.iter().map(|one| one.object.as_str()).collect::<Vec<_>>(),
        ["Deployment/flux-system/kustomize-controller"]
    );
    let untouched = world.get("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "default", "a").await.unwrap();
    assert_eq!(
        untouched["metadata"]["finalizers"],
        json!(["finalizers.fluxcd.io"]),
        "a controller that still runs would prune"
    );

    world.plane.kubelet().remove_rule(stuck);
    options.timeout = Duration::from_secs(30);
    let done = uninstall(&world, &options).await;
    assert!(done.is_complete(), "{done:?}");
    let kept = world.get("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "default", "a").await.unwrap();
    assert_eq!(kept["metadata"]["finalizers"], json!(["finalizers.fluxcd.io"]));
    assert!(world.list("apiextensions.k8s.io/v1", "CustomResourceDefinition", None).await.len() > 5);
    assert!(world.get("fluxcd.controlplane.io/v1", "FluxInstance", NAMESPACE, "flux").await.is_none());
}

/// The API server fails to delete the objects of a kind it only just began to serve ("storage is (re)initializing"), and
/// does not try again by itself for a minute.
async fn definitions_that_the_api_server_only_just_serves_can_be_uninstalled(cluster: TestCluster) {
    let world = World::with(&cluster, Options::api_server_only()).await;
    let instance = world.instance(spec("2.9.x")).await;
    let checked = flux_operator::api::CheckedInstance::check(instance.clone()).unwrap();
    let built = build(&checked, &world.distribution, &BuildOptions::default()).unwrap();
    let definitions: Vec<Value> =
        built.objects.into_iter().filter(|object| object["kind"] == "CustomResourceDefinition").collect();
    let ids: Vec<ObjectId> = definitions.iter().map(ObjectId::of).collect();
    for round in 0..4 {
        for definition in &definitions {
            world.apply_as("someone", definition.clone()).await;
        }
        let mut live_objects = LiveObjects::take(&world.cluster, &ids, 4).await.unwrap();
        for id in &ids {
            world.delete(live_objects.get(id).unwrap()).await;
        }
        let deadline = tokio::time::Instant::now() + Duration::from_secs(30);
        let interrupts = never();
        let (cluster, progress) = (&world.cluster, &IgnoredProgress);
        let context = RunContext { cluster, extra_managers: &[], concurrency: 4, interrupts: &interrupts, progress };
        let waited = health::wait(context, &mut live_objects, &ids, Goal::Gone, deadline, InterruptPolicy::All).await;
        assert!(matches!(waited, Ok(WaitEnd::Reached)), "round {round}: {waited:?}");
    }
}

/// A user with the rights to list and watch definitions may lack the right to get one, also when the API server is
/// faster than we are.
async fn definitions_that_go_before_they_are_waited_for_are_not_asked_for_by_name(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    world.instance(spec("2.9.x")).await;
    world.ready().await;
    let proxy = FaultProxy::start(&world.kubeconfig, world.plane.folder()).await.expect("the proxy starts");
    let definitions = "/customresourcedefinitions";
    let is_list = move |uri: &str| uri.contains(&format!("{definitions}?"));
    proxy.add_rule(FaultRule::every(Fault::Delay(Duration::from_secs(2))).method("GET").uri(is_list));
    let slow = connected(proxy.kubeconfig().path()).await;
    let done =
        reconcile::uninstall(&slow, &world.read_instance().await, &options(Duration::from_secs(60)), &IgnoredProgress)
            .await;
    assert!(done.as_ref().is_ok_and(UninstallResult::is_complete), "{done:?}");
    let seen = proxy.requests();
    let deleted = |seen: &&Seen| seen.method == "DELETE" && seen.uri.contains(definitions);
    assert!(seen.iter().filter(deleted).count() > 5, "{seen:?}");
    let by_name = |seen: &&Seen| seen.method == "GET" && seen.uri.contains(&format!("{definitions}/"));
    let by_name: Vec<&str> = seen.iter().filter(by_name).map(|seen| seen.uri.as_str()).collect();
    assert_eq!(by_name, Vec::<&str>::new());
}

async fn two_reconcilers_never_work_at_once(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    let mut wanted = spec("2.9.x");
    wanted["components"] = json!(["source-controller"]);
    world.instance(wanted).await;
    // Another process renews the lease, so every run is refused at once.
    let theirs = LeaseOptions { duration: Duration::from_secs(3), ..LeaseOptions::new("flux-operator-7d4b_1") };
    let held = world.cluster.take_lease(NAMESPACE, &theirs, |_| ()).await.unwrap();
    let mut options = world.options.clone();
    options.lease.as_mut().unwrap().operator_wait = Duration::ZERO;
    let refused = world.run_with(&world.cluster, &options).await.unwrap_err();
    assert!(matches!(&refused, ReconcileError::OperatorAlive { .. }), "{refused}");
    let uninstall = UninstallOptions { lease: options.lease.clone(), ..UninstallOptions::default() };
    let refused = reconcile::uninstall(&world.cluster, &world.read_instance().await, &uninstall, &IgnoredProgress)
        .await
        .unwrap_err();
    assert!(matches!(refused, ReconcileError::OperatorAlive { .. }));

    // The holder renews the lease as long as it runs, and the lease is free as soon as the holder releases it.
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert!(world.run_with(&world.cluster, &options).await.is_err());
    held.release().await;
    world.ready().await;

    // A holder that died is waited out by our own clock.
    let dead = world.cluster.take_lease(NAMESPACE, &theirs, |_| ()).await.unwrap();
    drop(dead);
    let begun = std::time::Instant::now();
    world.ready().await;
    assert!(begun.elapsed() >= Duration::from_secs(2), "{:?}", begun.elapsed());

    // An operator that runs without a lease counts as well, and one that is installed gets the finalizer.
    let operator = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "flux-operator", "namespace": NAMESPACE},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "op"}}, "template": {"metadata": {"labels": {"app": "op"}},
            "spec": {"containers": [{"name": "manager", "image": "example.com/op:v1"}]}}}});
    world.apply_as("helm-install", operator).await;
    crate::support::eventually("the operator to run", Duration::from_secs(20), || async {
        (world.deployment("flux-operator").await["status"]["readyReplicas"] == 1).then_some(())
    })
    .await
    .unwrap();
    let refused = world.run().await.unwrap_err();
    assert!(matches!(refused, ReconcileError::OperatorAlive { .. }), "{refused}");
    world.patch_as("someone", &deployment_id("flux-operator"), json!({"spec": {"replicas": 0}})).await;
    crate::support::eventually("the operator to stop", Duration::from_secs(20), || async {
        world.deployment("flux-operator").await["status"].get("readyReplicas").is_none().then_some(())
    })
    .await
    .unwrap();
    world.patch_as("someone", &deployment_id("source-controller"), json!({"spec": {"replicas": 2}})).await;
    world.ready().await;
    assert_eq!(world.read_instance().await.metadata.finalizers.unwrap(), ["fluxcd.controlplane.io/finalizer"]);
}
