//! A cluster with an instance, for tests of the reconcile core.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flux_operator::api::FluxInstance;
use flux_operator::api::well_known::{INSTANCE_NAME, RECONCILER_FIELD_MANAGER};
use flux_operator::cluster::{
    Cluster, ConnectOptions, DeleteOptions, KubeconfigSource, ListOptions, Propagation, WriteOptions, connect,
};
use flux_operator::distribution::Distribution;
use flux_operator::k8s::ObjectId;
use flux_operator::reconcile::progress::{IgnoredProgress, Update};
use flux_operator::reconcile::{self, Consent, Outcome, Plan, ReconcileError, RunOptions};
use serde_json::{Value, json};

use crate::support::{self, Kubeconfig, LentControlPlane, TestCluster, eventually};

pub const NAMESPACE: &str = "flux-system";

/// A control plane of the test's own, and a client of the operator's own name.
pub struct World {
    pub plane: LentControlPlane,
    pub kubeconfig: Kubeconfig,
    pub cluster: Cluster,
    pub options: RunOptions,
    pub distribution: Distribution,
    pub reported: Arc<Mutex<Vec<Update>>>,
}

/// The name by which the audit log knows the reconciler.
pub const USER: &str = "reconciler";

pub async fn connected(kubeconfig: &Path) -> Cluster {
    connect(ConnectOptions::new(KubeconfigSource::File(kubeconfig.to_owned()))).await.unwrap()
}

impl World {
    pub async fn new(cluster: &TestCluster) -> World {
        World::with(cluster, support::Options::default()).await
    }

    pub async fn with(cluster: &TestCluster, options: support::Options) -> World {
        let plane = cluster.fresh(options).await;
        let kubeconfig = plane.admin(USER).unwrap();
        let cluster = connected(kubeconfig.path()).await;
        let mut options = RunOptions::in_process("flux-operator-ctl/test");
        options.consent = Consent::CustomResources;
        if let Some(lease) = &mut options.lease {
            lease.wait = Duration::from_secs(20);
            lease.operator_wait = Duration::from_secs(20);
        }
        let reported = Arc::default();
        World { plane, kubeconfig, cluster, options, distribution: Distribution::embedded(), reported }
    }

    /// Applies the instance as a person would, after what it needs is there.
    pub async fn instance(&self, spec: Value) -> FluxInstance {
        reconcile::prepare(&self.cluster, NAMESPACE, &IgnoredProgress).await.unwrap();
        let object = json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
            "metadata": {"name": INSTANCE_NAME, "namespace": NAMESPACE}, "spec": spec});
        self.cluster.apply(&object, WriteOptions::forced("test-author")).await.unwrap();
        self.read_instance().await
    }

    pub async fn read_instance(&self) -> FluxInstance {
        let live = self.get("fluxcd.controlplane.io/v1", "FluxInstance", NAMESPACE, INSTANCE_NAME).await;
        FluxInstance::from_object(live.unwrap()).unwrap()
    }

    pub async fn annotate(&self, annotations: Value) {
        let id = flux_operator::api::Reconciled::id(&self.read_instance().await);
        self.cluster
            .merge_patch(&id, None, &json!({"metadata": {"annotations": annotations}}), "test-author")
            .await
            .unwrap();
    }

    /// Reconciles the instance as it is stored now.
    pub async fn run(&self) -> Result<Outcome, ReconcileError> {
        self.run_with(&self.cluster, &self.options).await
    }

    pub async fn run_with(&self, cluster: &Cluster, options: &RunOptions) -> Result<Outcome, ReconcileError> {
        let reported = self.reported.clone();
        let listen = move |update: Update| reported.lock().unwrap().push(update);
        // A test runs many one after the other, and each would take its place on the stack.
        Box::pin(reconcile::run(cluster, &instance_id(), &self.distribution, options, &listen)).await
    }

    /// Reconciles and expects Ready.
    #[track_caller]
    pub fn ready(&self) -> impl Future<Output = Outcome> + '_ {
        let caller = std::panic::Location::caller();
        async move {
            let outcome = self.run().await.unwrap_or_else(|error| panic!("{caller}: {error:?}"));
            assert!(outcome.is_ready(), "{caller}: {}", outcome.message);
            outcome
        }
    }

    pub async fn plan(&self) -> Plan {
        reconcile::plan(&self.cluster, &instance_id(), &self.distribution, &self.options.plan, &IgnoredProgress)
            .await
            .unwrap()
    }

    pub async fn get(&self, api_version: &str, kind: &str, namespace: &str, name: &str) -> Option<Value> {
        self.cluster.read(&id(api_version, kind, namespace, name)).await.unwrap()
    }

    pub async fn deployment(&self, name: &str) -> Value {
        self.get("apps/v1", "Deployment", NAMESPACE, name).await.unwrap_or_else(|| panic!("no deployment {name}"))
    }

    /// Applies any object as another manager.
    pub async fn apply_as(&self, manager: &str, object: Value) -> Value {
        self.cluster.apply(&object, WriteOptions::forced(manager)).await.unwrap()
    }

    /// Applies a CustomResourceDefinition, and waits until the API server serves its kind.
    pub async fn define(&self, definition: Value) {
        let spec = &definition["spec"];
        let api = format!("{}/{}", spec["group"].as_str().unwrap(), spec["versions"][0]["name"].as_str().unwrap());
        let one = id(&api, spec["names"]["kind"].as_str().unwrap(), "default", "x");
        self.apply_as("test-author", definition).await;
        let listed = || async {
            let resource = self.cluster.resource(&one).await.ok()?;
            self.cluster.list(&resource, None, &ListOptions::default()).await.ok()
        };
        eventually("the kind to be served", Duration::from_secs(20), listed).await.unwrap();
    }

    pub async fn patch_as(&self, manager: &str, id: &ObjectId, patch: Value) -> Value {
        self.cluster.merge_patch(id, None, &patch, manager).await.unwrap()
    }

    /// Deletes an object as it is by now: it may have changed since it was read.
    pub async fn delete(&self, live: &Value) {
        let options = DeleteOptions {
            uid: live["metadata"]["uid"].as_str().map(str::to_owned),
            propagation: Some(Propagation::Background),
            ..DeleteOptions::default()
        };
        self.cluster.delete(&ObjectId::of(live), &options).await.unwrap();
    }

    pub async fn list(&self, api_version: &str, kind: &str, namespace: Option<&str>) -> Vec<Value> {
        let resource = self.cluster.resource(&id(api_version, kind, "", "")).await.unwrap();
        let list = self.cluster.list_all(&resource, namespace, &ListOptions::default()).await.unwrap();
        list.map(|list| list.items).unwrap_or_default()
    }

    /// Messages of the instance's events with their reasons, oldest first.
    pub async fn events(&self) -> Vec<(String, String)> {
        let mut events = self.list("v1", "Event", Some(NAMESPACE)).await;
        events.retain(|event| event["involvedObject"]["kind"] == "FluxInstance");
        events.sort_by_key(|event| event["metadata"]["name"].as_str().unwrap().to_owned());
        let text = |event: &Value, member: &str| event[member].as_str().unwrap_or_default().to_owned();
        events.iter().map(|event| (text(event, "reason"), text(event, "message"))).collect()
    }
}

pub fn id(api_version: &str, kind: &str, namespace: &str, name: &str) -> ObjectId {
    ObjectId::of(&json!({"apiVersion": api_version, "kind": kind, "metadata": {"namespace": namespace, "name": name}}))
}

pub fn instance_id() -> ObjectId {
    id("fluxcd.controlplane.io/v1", "FluxInstance", NAMESPACE, INSTANCE_NAME)
}

pub fn deployment_id(name: &str) -> ObjectId {
    id("apps/v1", "Deployment", NAMESPACE, name)
}

/// Writes of the reconciler's own, as managers: nothing else may remain after a correction.
pub fn managers(object: &Value) -> Vec<String> {
    let entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let mut managers: Vec<String> = entries
        .iter()
        .filter(|entry| entry.get("subresource").is_none())
        .map(|entry| format!("{}/{}", entry["manager"].as_str().unwrap(), entry["operation"].as_str().unwrap()))
        .collect();
    managers.sort();
    managers
}

/// The labels that only we set.
pub fn ours() -> Vec<String> {
    vec![format!("{RECONCILER_FIELD_MANAGER}/Apply")]
}

/// A spec of one version with the default components.
pub fn spec(version: &str) -> Value {
    json!({"distribution": {"version": version, "registry": "ghcr.io/fluxcd"}})
}

/// A spec of these components that no run waits for.
pub fn small(components: &[&str]) -> Value {
    let mut wanted = spec("2.9.x");
    wanted["components"] = json!(components);
    wanted["wait"] = json!(false);
    wanted
}
