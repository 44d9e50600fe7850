//! Another writer changes the instance between a run's read and write.

use std::time::Duration;

use flux_operator::api::manifest::{self, NamespaceChoice};
use flux_operator::cluster::Cluster;
use flux_operator::reconcile::progress::IgnoredProgress;
use flux_operator::reconcile::{self, Failure, Outcome, ReconcileError, RunOptions};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::cluster_tests;
use crate::reconcile::world::*;
use crate::support::run::Run;
use crate::support::runner::command;
use crate::support::{ClusterTest, Fault, FaultProxy, FaultRule, Options, TestCluster, eventually};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        a_run_starts_over_with_the_current_instance_if_it_changed_during_the_run,
        an_instance_that_is_suspended_meanwhile_is_left_alone,
        a_run_gives_up_without_applying_anything_if_the_instance_keeps_changing,
        an_instance_that_is_deleted_meanwhile_is_reported_and_not_created_again,
        nothing_is_installed_if_the_deletion_of_the_instance_begins_during_a_run,
        status_fields_written_by_others_during_a_run_are_kept,
    ]
}

const SOON: Duration = Duration::from_secs(20);
const OLD: [&str; 1] = ["source-controller"];
const NEW: [&str; 2] = ["source-controller", "notification-controller"];
const MORE: [&str; 4] =
    ["kustomize-controller", "notification-controller", "helm-controller", "image-reflector-controller"];

/// Reads from which the plan is made, after the instance was read.
fn is_of_plan(uri: &str) -> bool {
    uri.contains("/networkpolicies?limit")
}

/// The first write of the stage after the instance was stored.
fn is_of_stage(uri: &str) -> bool {
    uri.contains("/deployments/") && !uri.contains("dryRun")
}

struct Between {
    world: World,
    proxy: FaultProxy,
    through: Cluster,
}

impl Between {
    async fn new(cluster: &TestCluster) -> Between {
        let world = World::with(cluster, Options::api_server_only()).await;
        let proxy = FaultProxy::start(&world.kubeconfig, world.plane.folder()).await.unwrap();
        let through = connected(proxy.kubeconfig().path()).await;
        Between { world, proxy, through }
    }

    /// Holds the first request that `at` names until the other one is done.
    async fn meanwhile<T>(
        &self,
        (method, at): (&str, fn(&str) -> bool),
        work: impl Future<Output = T>,
        other: impl Future<Output = ()>,
    ) -> T {
        let (release, allowed) = watch::channel(false);
        self.proxy.clear_rules();
        let seen = self.proxy.count(method, at);
        self.proxy.add_rule(FaultRule::first(1, Fault::WaitFor(allowed)).method(method).uri(at));
        let (done, ()) = tokio::join!(work, async {
            let held = || async { (self.proxy.count(method, at) > seen).then_some(()) };
            eventually("the request", SOON, held).await.unwrap();
            other.await;
            release.send_replace(true);
        });
        done
    }

    /// As `apply instance` and `reconcile instance` do it here.
    async fn run(&self, applied: Option<&Value>) -> Result<Outcome, ReconcileError> {
        let Some(spec) = applied else {
            let request = json!({"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": "now"}}});
            let options = RunOptions { request: Some(request), ..self.world.options.clone() };
            return self.world.run_with(&self.through, &options).await;
        };
        let manifest = manifest::read(&object(spec).to_string(), &NamespaceChoice::default()).unwrap();
        let World { distribution, options, .. } = &self.world;
        reconcile::apply_instance(&self.through, &manifest, false, distribution, options, &IgnoredProgress).await
    }

    async fn delete(&self) {
        let live = self.world.cluster.read(&instance_id()).await.unwrap().unwrap();
        self.world.delete(&live).await;
    }
}

fn object(spec: &Value) -> Value {
    json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
        "metadata": {"name": "flux", "namespace": NAMESPACE}, "spec": spec})
}

async fn a_run_starts_over_with_the_current_instance_if_it_changed_during_the_run(cluster: TestCluster) {
    let between = Between::new(&cluster).await;
    let world = &between.world;
    // The applied manifest does not set the components.
    let applied = json!({"distribution": small(&OLD)["distribution"], "wait": false, "cluster": {"size": "small"}});
    let mut components = OLD.to_vec();
    let rows = [(false, false), (false, true), (true, false), (true, true)];
    for ((is_applied, is_replaced), added) in rows.into_iter().zip(MORE) {
        let place = format!("applied: {is_applied}, replaced: {is_replaced}");
        world.instance(small(&components)).await;
        world.ready().await;
        components.push(added);
        let run = between.run(is_applied.then_some(&applied));
        let outcome = between.meanwhile(("GET", is_of_plan), run, async {
            if is_replaced {
                between.delete().await;
            }
            world.instance(small(&components)).await;
        });
        let outcome = outcome.await.unwrap_or_else(|error| panic!("{place}: {error}"));
        assert!(outcome.is_ready(), "{place}: {}", outcome.message);
        let instance = world.read_instance().await;
        assert_eq!(json!(instance.spec)["components"], json!(components), "{place}");
        assert_eq!(json!(instance.spec)["cluster"]["size"] == "small", is_applied, "{place}");
        let status = instance.status.unwrap();
        let ready = status.conditions.iter().find(|one| one.type_ == "Ready").unwrap();
        assert_eq!(ready.observed_generation, instance.metadata.generation, "{place}");
        assert!(json!(status.inventory).to_string().contains(&format!("{added}_apps_Deployment")), "{place}");
        world.deployment(added).await;
    }
}

async fn an_instance_that_is_suspended_meanwhile_is_left_alone(cluster: TestCluster) {
    let between = Between::new(&cluster).await;
    let world = &between.world;
    world.instance(small(&OLD)).await;
    let suspend = world.annotate(json!({"fluxcd.controlplane.io/reconcile": "disabled"}));
    let outcome = between.meanwhile(("GET", is_of_plan), between.run(None), suspend).await.unwrap();
    assert!(matches!(outcome.failure, Some(Failure::Suspended)), "{}", outcome.message);
    assert!(world.cluster.read(&deployment_id("source-controller")).await.unwrap().is_none());
}

async fn a_run_gives_up_without_applying_anything_if_the_instance_keeps_changing(cluster: TestCluster) {
    let between = Between::new(&cluster).await;
    let world = &between.world;
    world.instance(small(&OLD)).await;
    let plans = || between.proxy.count("GET", is_of_plan);
    between.proxy.add_rule(FaultRule::every(Fault::Delay(Duration::from_secs(1))).uri(is_of_plan));
    let mark = world.plane.audit().mark().await.unwrap();
    let refused = tokio::select! {
        ended = between.run(None) => ended.unwrap_err(),
        () = async {
            for number in 0.. {
                while plans() <= number {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                world.instance(small(if number % 2 == 0 { &NEW } else { &OLD })).await;
            }
        } => unreachable!(),
    };
    assert!(matches!(refused, ReconcileError::InstanceMoved { .. }), "{refused}");
    assert_eq!(plans(), 3);
    let requests = world.plane.audit().since(mark).await.unwrap().by_user(USER);
    let others = requests.writes().only(|one| !matches!(one.resource.as_str(), "leases" | "fluxinstances"));
    let others = others.only(|one| !one.uri.contains("dryRun"));
    assert!(others.is_empty(), "{:?}", others.table());
    assert!(world.cluster.read(&deployment_id("source-controller")).await.unwrap().is_none());
}

async fn an_instance_that_is_deleted_meanwhile_is_reported_and_not_created_again(cluster: TestCluster) {
    let between = Between::new(&cluster).await;
    let world = &between.world;
    let home = tempfile::tempdir().unwrap();
    let mut sizes = ["small", "medium", "large"].into_iter().cycle();
    for (line, at) in [
        ("reconcile instance --in-process", ("GET", is_of_plan as fn(&str) -> bool)),
        ("reconcile instance --in-process", ("PATCH", is_of_stage)),
        ("apply instance -f flux.yaml --in-process --force-conflicts", ("PATCH", is_of_stage)),
    ] {
        let mut wanted = small(&OLD);
        world.instance(wanted.clone()).await;
        world.ready().await;
        // There is something to do.
        wanted["cluster"] = json!({"size": sizes.next().unwrap()});
        std::fs::write(home.path().join("flux.yaml"), object(&wanted).to_string()).unwrap();
        if line.starts_with("reconcile") {
            world.instance(wanted).await;
        }
        let mut command = command(between.proxy.kubeconfig().path(), home.path());
        command.args(line.split(' ')).args(["-n", NAMESPACE]).current_dir(home.path());
        let run = tokio::task::spawn_blocking(move || Run::from(command.output().unwrap()));
        let run = between.meanwhile(at, run, between.delete()).await.unwrap();
        let run = run.exits(3).stderr_has("fluxinstance/flux-system/flux");
        assert!(!run.stderr.contains("nothing was changed") && run.stdout.is_empty(), "{line}: {run:?}");
        assert!(world.cluster.read(&instance_id()).await.unwrap().is_none(), "{line}: {run:?}");
        // The lease is free.
        let lease = world.cluster.read_lease(NAMESPACE).await.unwrap().unwrap();
        assert_eq!(lease["spec"]["holderIdentity"], "", "{line}");
    }
}

async fn nothing_is_installed_if_the_deletion_of_the_instance_begins_during_a_run(cluster: TestCluster) {
    let between = Between::new(&cluster).await;
    let world = &between.world;
    world.instance(small(&OLD)).await;
    world.patch_as("someone", &instance_id(), json!({"metadata": {"finalizers": ["example.com/mine"]}})).await;
    // As the operator runs: without a request that would have to be written first.
    let run = world.run_with(&between.through, &world.options);
    let refused = between.meanwhile(("GET", is_of_plan), run, between.delete()).await.unwrap_err();
    assert!(matches!(refused, ReconcileError::BeingDeleted { .. }), "{refused}");
    assert!(world.cluster.read(&deployment_id("source-controller")).await.unwrap().is_none());
}

async fn status_fields_written_by_others_during_a_run_are_kept(cluster: TestCluster) {
    let between = Between::new(&cluster).await;
    let world = &between.world;
    world.instance(small(&OLD)).await;
    world.ready().await;
    let condition = |kind: &str, status: &str| {
        json!({"type": kind, "status": status, "reason": "Audited", "message": "by hand",
        "lastTransitionTime": "2026-11-21T00:00:00Z"})
    };
    let write = async |add: Option<Value>, more: Value| {
        let live = world.cluster.read(&instance_id()).await.unwrap().unwrap();
        let mut conditions = live["status"]["conditions"].as_array().unwrap().clone();
        conditions.retain(|one| one["type"] != "Audited" && one["type"] != "Gone");
        conditions.extend(add);
        let mut status = json!({"conditions": conditions});
        status.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let patch = json!({"status": status});
        world.cluster.merge_patch(&instance_id(), Some("status"), &patch, "auditor").await.unwrap();
    };
    write(Some(condition("Gone", "True")), json!({})).await;
    let mut wanted = small(&OLD);
    wanted["cluster"] = json!({"size": "small"});
    world.instance(wanted).await;
    // Another manager adds a condition, removes a condition, and records the token of another request as handled.
    let run = world.run_with(&between.through, &world.options);
    let other = write(Some(condition("Audited", "True")), json!({"lastHandledReconcileAt": "theirs"}));
    let outcome = between.meanwhile(("PATCH", is_of_stage), run, other).await.unwrap();
    assert!(outcome.is_ready() && !outcome.changes.is_empty(), "{}", outcome.message);
    let status = world.read_instance().await.status.unwrap();
    let types: Vec<&str> = status.conditions.iter().map(|one| one.type_.as_str()).collect();
    assert_eq!(types, ["Ready", "UpToDate", "Audited"], "{:?}", status.conditions);
    assert_eq!(status.last_handled_reconcile_at.as_deref(), Some("theirs"));
    assert_eq!(status.history.len(), 2, "our entry is in the history as well");
}
