//! Components and syncs that are dropped while the real controllers run: what they deployed stays.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DynamicObject, ListParams};
use serde_json::{Value, json};
use tokio::task::AbortHandle;

use crate::cluster_tests;
use crate::support::flux::{Controller, FluxControllers, GitServer, NAMESPACE};
use crate::support::runner::command;
use crate::support::{ClusterTest, LentControlPlane, Options, TestCluster, eventually, objects};
use crate::world::{Run, SOON, config_map};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        removing_components_in_any_order_keeps_deployed_workloads,
        workloads_are_kept_when_helm_controller_is_removed_first_or_with_the_others
    ]
}

/// Parts that a user may remove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Sync,
    Kustomize,
    Helm,
    Source,
}

use Part::{Helm, Kustomize, Source, Sync};

/// Removals in combination, one after the other. A sync needs the controllers of its kinds, so it never comes after one
/// of them: these are all orders that begin with it.
const SYNC_FIRST: [&[&[Part]]; 6] = [
    &[&[Sync], &[Kustomize], &[Helm], &[Source]],
    &[&[Sync], &[Kustomize], &[Source], &[Helm]],
    &[&[Sync], &[Helm], &[Kustomize], &[Source]],
    &[&[Sync], &[Helm], &[Source], &[Kustomize]],
    &[&[Sync], &[Source], &[Kustomize], &[Helm]],
    &[&[Sync], &[Source], &[Helm], &[Kustomize]],
];

/// The other orders, and two in which several go at once.
const HELM_FIRST: [&[&[Part]]; 4] = [
    &[&[Helm], &[Sync], &[Kustomize], &[Source]],
    &[&[Helm], &[Sync], &[Source], &[Kustomize]],
    &[&[Helm], &[Sync, Kustomize], &[Source]],
    &[&[Sync, Kustomize, Helm, Source]],
];

const PODS: [(&str, Controller); 3] = [
    ("source-controller", Controller::Source),
    ("kustomize-controller", Controller::Kustomize),
    ("helm-controller", Controller::Helm),
];

/// A control plane with an instance of three controllers that really run.
struct World {
    flux: std::sync::Arc<FluxControllers>,
    git: GitServer,
    kubelet: AbortHandle,
    /// Last, so that another test gets it when nothing acts on it any more.
    plane: LentControlPlane,
}

impl Drop for World {
    fn drop(&mut self) {
        self.kubelet.abort();
    }
}

impl World {
    async fn new(cluster: &TestCluster) -> World {
        let plane = cluster.fresh(Options::default()).await;
        let git = GitServer::start(plane.folder()).await.unwrap();
        let repository = git.repository("app").unwrap();
        let file = |name: &str, namespace: &str| {
            config_map("one").replace("name: web", &format!("name: {name}\n  namespace: {namespace}"))
        };
        repository.write("sync/web.yaml", &file("from-sync", "default")).unwrap();
        repository.write("apps/web.yaml", &file("from-kustomization", "default")).unwrap();
        repository.write("chart/Chart.yaml", "apiVersion: v2\nname: app\nversion: 1.0.0\n").unwrap();
        repository
            .write("chart/templates/web.yaml", &config_map("one").replace("name: web", "name: from-chart"))
            .unwrap();
        repository.commit("first").unwrap();
        let controllers = [Controller::Source, Controller::Kustomize, Controller::Helm];
        let flux = std::sync::Arc::new(FluxControllers::start(&plane, &controllers).await.unwrap());
        let kubelet = tokio::spawn(play_processes(plane.client().clone(), flux.clone())).abort_handle();
        World { plane, flux, git, kubelet }
    }

    async fn run(&self, arguments: &str) -> Run {
        let admin = self.plane.admin("platform").unwrap().with_namespace(NAMESPACE).unwrap();
        let mut command = command(admin.path(), self.plane.folder());
        command.args(arguments.split_whitespace()).stdin(std::process::Stdio::null());
        tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap().into()
    }

    /// Writes the instance without the dropped parts, and returns the file's name.
    fn instance(&self, dropped: &[Part]) -> String {
        let components =
            [(Source, "source-controller"), (Kustomize, "kustomize-controller"), (Helm, "helm-controller")];
        let kept: Vec<&str> =
            components.iter().filter(|(part, _)| !dropped.contains(part)).map(|(_, name)| *name).collect();
        // At least one component must remain.
        let kept = if kept.is_empty() { vec!["notification-controller"] } else { kept };
        let mut spec = json!({"distribution": {"version": "2.9.x", "registry": "ghcr.io/fluxcd"}, "components": kept});
        if !dropped.contains(&Sync) {
            spec["sync"] = json!({"kind": "GitRepository", "url": self.git.url("app"), "ref": "refs/heads/main",
                "path": "./sync", "interval": "10m"});
        }
        let object = json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
            "metadata": {"name": "flux", "namespace": NAMESPACE}, "spec": spec});
        let file = self.plane.folder().join("instance.json");
        fs::write(&file, object.to_string()).unwrap();
        file.display().to_string()
    }

    /// Everything is installed, and each controller has deployed something.
    async fn deploy(&self) {
        self.run(&format!("apply instance -f {} --in-process --timeout 2m", self.instance(&[]))).await.exits(0);
        let objects: Vec<Value> = vec![
            json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
                "metadata": {"name": "app", "namespace": "default"},
                "spec": {"interval": "10m", "url": self.git.url("app"), "ref": {"branch": "main"}}}),
            json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
                "metadata": {"name": "app", "namespace": "default"},
                "spec": {"interval": "10m", "retryInterval": "1s", "path": "./apps", "prune": true,
                    "sourceRef": {"kind": "GitRepository", "name": "app"}}}),
            json!({"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease",
                "metadata": {"name": "app", "namespace": "default"},
                "spec": {"interval": "10m", "chart": {"spec": {"chart": "./chart",
                    "sourceRef": {"kind": "GitRepository", "name": "app"}}}}}),
        ];
        objects::apply(self.plane.client(), "default", &objects).await.unwrap();
        let deployed = eventually("what the controllers deploy", SOON, || async {
            let there = self.deployed().await;
            let is_there = there.values().all(|there| *there);
            (is_there && self.is_ready(&objects).await).then_some(())
        });
        if let Err(error) = deployed.await {
            panic!("{error}: {:?}\n{}", self.deployed().await, self.flux.last_log_lines(20));
        }
    }

    /// Whether the controllers have brought all of these about, and so hold them with their finalizers.
    async fn is_ready(&self, objects: &[Value]) -> bool {
        for object in objects {
            let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            let api = objects::api(self.plane.client(), text("/apiVersion"), text("/kind"), "default").await;
            let api: Api<DynamicObject> = api.unwrap();
            let live = api.get(text("/metadata/name")).await.unwrap();
            let conditions = live.data.pointer("/status/conditions").and_then(Value::as_array);
            let is_ready = |one: &Value| one["type"] == "Ready" && one["status"] == "True";
            if !conditions.is_some_and(|all| all.iter().any(is_ready)) {
                return false;
            }
        }
        true
    }

    /// Which of the objects that the controllers made are there.
    async fn deployed(&self) -> BTreeMap<&'static str, bool> {
        let maps = Api::<ConfigMap>::namespaced(self.plane.client().clone(), "default");
        let mut there = BTreeMap::new();
        for name in ["from-sync", "from-kustomization", "from-chart"] {
            let map = maps.get_opt(name).await.unwrap();
            there.insert(name, map.is_some_and(|map| map.metadata.deletion_timestamp.is_none()));
        }
        // Each new HelmRelease makes a revision, and the oldest ones go.
        let secrets = Api::<Secret>::namespaced(self.plane.client().clone(), "default");
        let revisions = ListParams::default().labels("owner=helm,name=app");
        there.insert("release", !secrets.list(&revisions).await.unwrap().items.is_empty());
        there
    }

    /// Names what hangs in Terminating.
    async fn hanging(&self) -> Vec<String> {
        let crds = Api::<CustomResourceDefinition>::all(self.plane.client().clone());
        let crds = crds.list(&ListParams::default()).await.unwrap().items;
        let mut hanging: Vec<String> = crds
            .iter()
            .filter(|crd| crd.metadata.deletion_timestamp.is_some())
            .filter_map(|crd| crd.metadata.name.clone())
            .collect();
        for (api_version, kind) in [
            ("source.toolkit.fluxcd.io/v1", "GitRepository"),
            ("source.toolkit.fluxcd.io/v1", "HelmChart"),
            ("kustomize.toolkit.fluxcd.io/v1", "Kustomization"),
            ("helm.toolkit.fluxcd.io/v2", "HelmRelease"),
        ] {
            let plural = format!("{}s.", kind.to_lowercase()).replace("repositorys", "repositories");
            if !crds.iter().any(|crd| crd.metadata.name.as_deref().is_some_and(|name| name.starts_with(&plural))) {
                continue;
            }
            for namespace in ["default", NAMESPACE] {
                let api: Api<DynamicObject> =
                    objects::api(self.plane.client(), api_version, kind, namespace).await.unwrap();
                let objects = api.list(&ListParams::default()).await.unwrap();
                let stuck = objects.items.iter().filter(|object| object.metadata.deletion_timestamp.is_some());
                hanging.extend(stuck.filter_map(|object| Some(format!("{kind}/{}", object.metadata.name.as_ref()?))));
            }
        }
        hanging
    }
}

/// Plays the machines: a controller's process runs while a pod of its Deployment does.
async fn play_processes(client: kube::Client, flux: std::sync::Arc<FluxControllers>) {
    let pods = Api::<Pod>::namespaced(client, NAMESPACE);
    let mut runs = PODS.map(|_| true);
    let mut had_pod = PODS.map(|_| false);
    loop {
        if let Ok(all) = pods.list(&ListParams::default()).await {
            for (index, (app, controller)) in PODS.iter().enumerate() {
                let is_its = |pod: &&Pod| {
                    pod.metadata.labels.as_ref().and_then(|labels| labels.get("app")) == Some(&app.to_string())
                };
                // A process gets its signal as soon as its deletion is requested.
                let wanted = all.items.iter().filter(is_its).any(|pod| pod.metadata.deletion_timestamp.is_none());
                if wanted && !runs[index] {
                    runs[index] = flux.run(*controller).await.is_ok();
                } else if !wanted && runs[index] && had_pod[index] {
                    flux.kill(*controller);
                    runs[index] = false;
                }
                had_pod[index] = wanted;
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn removing_components_in_any_order_keeps_deployed_workloads(cluster: TestCluster) {
    drop_in(&World::new(&cluster).await, &SYNC_FIRST).await;
}

async fn drop_in(world: &World, orders: &[&[&[Part]]]) {
    for order in orders {
        world.deploy().await;
        let mut dropped = vec![];
        for parts in *order {
            dropped.extend_from_slice(parts);
            let file = world.instance(&dropped);
            // Custom resources are deleted with their definitions. Without a confirmation nothing is done.
            if parts.iter().any(|part| *part != Sync) {
                let refused = world.run(&format!("apply instance -f {file} --in-process")).await.exits(1);
                refused.stderr_has("--yes");
            }
            world.run(&format!("apply instance -f {file} --in-process --yes --timeout 2m")).await.exits(0);
            let deployed = world.deployed().await;
            let logs = || world.flux.last_log_lines(10);
            assert!(deployed.values().all(|there| *there), "{order:?}, {dropped:?}: {deployed:?}\n{}", logs());
            let hanging = world.hanging().await;
            assert!(hanging.is_empty(), "{order:?}, {dropped:?}: {hanging:?}");
        }
        eprintln!("{order:?}: everything stayed");
    }
}

async fn workloads_are_kept_when_helm_controller_is_removed_first_or_with_the_others(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    drop_in(&world, &HELM_FIRST).await;
    world.deploy().await;
    for needed in [Kustomize, Source] {
        let file = world.instance(&[needed]);
        let refused = world.run(&format!("apply instance -f {file} --in-process --yes")).await.exits(1);
        refused.stderr_has("which would be deleted").stderr_has("spec.sync needs");
    }
    let deployed = world.deployed().await;
    assert!(deployed.values().all(|there| *there), "{deployed:?}");
    // All of it stays without any instance, too.
    world.run("uninstall instance flux --in-process --yes").await.exits(0);
    let deployed = world.deployed().await;
    assert!(deployed.values().all(|there| *there), "{deployed:?}");
}
