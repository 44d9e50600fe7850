//! A cluster with one instance, disturbed through a proxy: installed, reconciled, changed, uninstalled and wiped again.

use std::collections::BTreeMap;
use std::time::Duration;

use flux_operator::api::FluxInstance;
use flux_operator::api::well_known::INSTANCE_NAME;
use flux_operator::cluster::watch::{FollowedChange, Follower};
use flux_operator::cluster::{Cluster, ConnectOptions, KubeconfigSource, ListOptions, WriteOptions, connect};
use flux_operator::distribution::Distribution;
use flux_operator::k8s::ObjectId;
use flux_operator::reconcile::progress::IgnoredProgress;
use flux_operator::reconcile::{self, Consent, RunOptions, UninstallOptions};
use serde_json::{Value, json};
use tokio::sync::{Mutex, watch};
use tokio::task::AbortHandle;

use crate::support::{self, ControlPlane, Fallible, FaultProxy, SavedState, eventually};

pub const NAMESPACE: &str = "flux-system";
/// The user of the disturbed requests in the audit log.
pub const USER: &str = "reconciler";
const SOON: Duration = Duration::from_secs(30);

/// Kinds an installation may leave objects of; all objects of these are compared.
const KINDS: [(&str, &str, &str); 14] = [
    ("v1", "Namespace", ""),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition", ""),
    ("rbac.authorization.k8s.io/v1", "ClusterRole", ""),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", ""),
    ("v1", "ServiceAccount", NAMESPACE),
    ("v1", "Service", NAMESPACE),
    ("v1", "ConfigMap", NAMESPACE),
    ("v1", "Secret", NAMESPACE),
    ("v1", "ResourceQuota", NAMESPACE),
    ("v1", "PersistentVolumeClaim", NAMESPACE),
    ("apps/v1", "Deployment", NAMESPACE),
    ("networking.k8s.io/v1", "NetworkPolicy", NAMESPACE),
    ("rbac.authorization.k8s.io/v1", "Role", NAMESPACE),
    ("rbac.authorization.k8s.io/v1", "RoleBinding", NAMESPACE),
];

/// An API server, a proxy in front of it, and simulated controllers.
pub struct Site {
    pub plane: ControlPlane,
    pub proxy: FaultProxy,
    /// Past the proxy.
    pub direct: Cluster,
    pub distribution: Distribution,
    /// While true, Deployments do not become ready.
    pub hold: watch::Sender<bool>,
    /// The state before anything was installed.
    empty: Mutex<SavedState>,
    controllers: AbortHandle,
    runs: std::sync::atomic::AtomicUsize,
}

impl Drop for Site {
    fn drop(&mut self) {
        self.controllers.abort();
    }
}

pub async fn connected(path: &std::path::Path, request_timeout: Duration) -> Cluster {
    let mut options = ConnectOptions::new(KubeconfigSource::File(path.to_owned()));
    options.request_timeout = request_timeout;
    connect(options).await.expect("the kubeconfig can be used")
}

impl Site {
    pub async fn start() -> Fallible<Site> {
        Site::start_with(support::Options::api_server_only()).await
    }

    pub async fn start_with(options: support::Options) -> Fallible<Site> {
        let plane = ControlPlane::start_with(options, |_| ()).await?;
        let empty = Mutex::new(plane.save().await?);
        let harness = plane.admin("harness")?;
        let direct = connected(harness.path(), SOON).await;
        let proxy = FaultProxy::start(&plane.admin(USER)?, plane.folder()).await?;
        let (hold, held) = watch::channel(false);
        let controllers = tokio::spawn(play_deployments(direct.clone(), held)).abort_handle();
        let distribution = Distribution::embedded();
        Ok(Site { plane, proxy, direct, distribution, hold, empty, controllers, runs: Default::default() })
    }

    /// Returns a client of its own, through the proxy.
    pub async fn through_proxy(&self, request_timeout: Duration) -> Cluster {
        connected(self.proxy.kubeconfig().path(), request_timeout).await
    }

    /// Options of a run by a process of its own: no run knows the lease of the one before as its own.
    pub fn options(&self) -> RunOptions {
        let number = self.runs.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let mut options = RunOptions::in_process(format!("flux-operator-ctl/test_{number}"));
        if let Some(lease) = &mut options.lease {
            // No phase takes so long that the lease has to be renewed: what is asked does not depend on time.
            lease.duration = Duration::from_secs(9);
            lease.wait = SOON;
        }
        options.consent = Consent::CustomResources;
        options
    }

    /// Writes the instance as `apply instance` does, and reconciles it.
    pub async fn apply(&self, cluster: &Cluster, spec: &Value) -> Result<(), String> {
        reconcile::prepare(cluster, NAMESPACE, &IgnoredProgress)
            .await
            .map_err(|error| format!("prepare: {error:?}"))?;
        let stored = cluster
            .apply(&instance(spec), WriteOptions::forced("author"))
            .await
            .map_err(|error| format!("apply: {error:?}"))?;
        FluxInstance::from_object(stored).map_err(|error| error.to_string())?;
        self.run(cluster).await
    }

    /// Reconciles the instance as it is stored.
    pub async fn reconcile(&self, cluster: &Cluster) -> Result<(), String> {
        self.run(cluster).await
    }

    async fn run(&self, cluster: &Cluster) -> Result<(), String> {
        match reconcile::run(cluster, &instance_id(), &self.distribution, &self.options(), &IgnoredProgress).await {
            Ok(outcome) if outcome.is_ready() => Ok(()),
            Ok(outcome) => Err(outcome.message),
            Err(error) => Err(format!("{error:?}")),
        }
    }

    pub async fn uninstall(&self, cluster: &Cluster) -> Result<(), String> {
        let Some(instance) = self.read(cluster).await? else { return Ok(()) };
        let options = UninstallOptions { lease: self.options().lease, timeout: SOON, ..UninstallOptions::default() };
        match reconcile::uninstall(cluster, &instance, &options, &IgnoredProgress).await {
            Ok(done) if done.is_complete() => Ok(()),
            Ok(done) => Err(format!("not complete: {:?} {:?} {:?}", done.errors, done.remaining, done.held)),
            Err(error) => Err(format!("{error:?}")),
        }
    }

    async fn read(&self, cluster: &Cluster) -> Result<Option<FluxInstance>, String> {
        let read = cluster.read(&instance_id()).await.map_err(|error| format!("read: {error:?}"))?;
        read.map(|object| FluxInstance::from_object(object).map_err(|error| error.to_string())).transpose()
    }

    pub async fn annotate(&self, annotations: Value) {
        let patch = json!({"metadata": {"annotations": annotations}});
        self.direct.merge_patch(&instance_id(), None, &patch, "author").await.expect("the instance is there");
    }

    /// Returns all objects of an installation in comparable form, without the values that differ between any two
    /// installations.
    pub async fn snapshot(&self) -> BTreeMap<String, Value> {
        eventually("what is deleted to be gone", SOON, || async {
            let snapshot = self.snapshot_now().await;
            self.retry_deletions().await;
            snapshot.values().all(|object| object["metadata"].get("deletionTimestamp").is_none()).then_some(snapshot)
        })
        .await
        .expect("nothing holds what is deleted")
    }

    async fn snapshot_now(&self) -> BTreeMap<String, Value> {
        let mut snapshot = BTreeMap::new();
        for (api_version, kind, namespace) in KINDS {
            for object in self.list(api_version, kind, namespace).await {
                let labels = &object["metadata"]["labels"];
                let foreign = labels.get("kubernetes.io/bootstrapping").is_some()
                    || (kind == "Namespace" && object["metadata"]["name"] != NAMESPACE);
                if !foreign {
                    snapshot.insert(ObjectId::of(&object).to_string(), comparable(object));
                }
            }
        }
        if let Ok(Some(instance)) = self.direct.read(&instance_id()).await {
            snapshot.insert("FluxInstance".into(), comparable_instance(&instance));
        }
        snapshot
    }

    async fn list(&self, api_version: &str, kind: &str, namespace: &str) -> Vec<Value> {
        let resource = self.direct.resource(&id(api_version, kind, "", "")).await.expect("a known kind");
        let namespace = Some(namespace).filter(|namespace| !namespace.is_empty());
        let list =
            self.direct.list_all(&resource, namespace, &ListOptions::default()).await.expect("the harness may list");
        list.map(|list| list.items).unwrap_or_default()
    }

    /// Makes the cluster as empty as it was at the start.
    pub async fn wipe(&self) {
        self.put_back(&mut *self.empty.lock().await).await.expect("the empty state can be put back");
    }

    /// Ends everything under way through the proxy, and puts back a state of this site.
    pub async fn put_back(&self, state: &mut SavedState) -> Fallible<()> {
        self.proxy.clear_rules();
        self.proxy.cut_connections();
        self.plane.put_back(state).await
    }

    /// The API server gives up on the objects of a kind it only just began to serve; any change to the definition makes it
    /// try again.
    async fn retry_deletions(&self) {
        let mut definitions = self.list("apiextensions.k8s.io/v1", "CustomResourceDefinition", "").await;
        definitions.retain(|object| object["status"].to_string().contains("InstanceDeletionFailed"));
        for object in definitions {
            let nudge = json!({"metadata": {"annotations": {"nudged": jiff::Timestamp::now().to_string()}}});
            let _ = self.direct.merge_patch(&ObjectId::of(&object), None, &nudge, "harness").await;
        }
    }
}

pub fn id(api_version: &str, kind: &str, namespace: &str, name: &str) -> ObjectId {
    ObjectId::of(&json!({"apiVersion": api_version, "kind": kind, "metadata": {"namespace": namespace, "name": name}}))
}

pub fn instance_id() -> ObjectId {
    id("fluxcd.controlplane.io/v1", "FluxInstance", NAMESPACE, INSTANCE_NAME)
}

pub fn instance(spec: &Value) -> Value {
    json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
        "metadata": {"name": INSTANCE_NAME, "namespace": NAMESPACE}, "spec": spec})
}

pub fn spec(components: &[&str]) -> Value {
    json!({"distribution": {"version": "2.9.4", "registry": "ghcr.io/fluxcd"}, "components": components})
}

/// Removes generated fields from an object, and replaces times in managed fields by the managers.
fn comparable(mut object: Value) -> Value {
    let managers = managers(&object);
    if let Some(object) = object.as_object_mut() {
        object.remove("status");
    }
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for made_up in ["uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"] {
            metadata.remove(made_up);
        }
    }
    if let Some(spec) = object["spec"].as_object_mut() {
        for given in ["clusterIP", "clusterIPs"] {
            spec.remove(given);
        }
    }
    object["managers"] = managers;
    object
}

fn managers(object: &Value) -> Value {
    let entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    // The API server itself writes into definitions, sooner or later.
    let entries = entries.filter(|entry| entry.get("subresource").is_none() && entry["manager"] != "kube-apiserver");
    let mut managers: Vec<String> =
        entries.map(|entry| format!("{}/{}", entry["manager"], entry["operation"])).collect();
    managers.sort();
    json!(managers)
}

/// The instance with its status, without times and without what earlier failures left in the history.
fn comparable_instance(instance: &Value) -> Value {
    let status = &instance["status"];
    let conditions: BTreeMap<String, Value> = status["conditions"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| (one["type"].to_string(), json!([one["status"], one["reason"], one["observedGeneration"]])))
        .collect();
    let history = status["history"].as_array().cloned().unwrap_or_default();
    let mut ends: Vec<String> =
        history.iter().map(|one| format!("{} {}", one["digest"], one["lastReconciledStatus"])).collect();
    let succeeded: Vec<String> = ends.iter().filter(|end| end.contains("ReconciliationSucceeded")).cloned().collect();
    let total = ends.len();
    ends.sort();
    ends.dedup();
    json!({
        "spec": instance["spec"], "finalizers": instance["metadata"]["finalizers"], "conditions": conditions,
        "inventory": status["inventory"], "components": status["components"],
        "lastAppliedRevision": status["lastAppliedRevision"], "lastAttemptedRevision": status["lastAttemptedRevision"],
        "requestHandled": instance["metadata"]["annotations"]["reconcile.fluxcd.io/requestedAt"] == status["lastHandledReconcileAt"],
        "latestHistory": [history.first().map(|one| &one["digest"]), history.first().map(|one| &one["lastReconciledStatus"])],
        "successes": succeeded, "doubledHistory": total - ends.len(),
    })
}

/// Makes Deployments ready at once, unless `held` is true, and removes the finalizers of Deployments that are being deleted.
pub async fn play_deployments(cluster: Cluster, mut held: watch::Receiver<bool>) {
    let resource = cluster.resource(&id("apps/v1", "Deployment", "", "")).await.expect("a known kind");
    loop {
        let mut deployments = Follower::new(&cluster, resource.clone(), None, ListOptions::default(), None);
        let mut paused = *held.borrow_and_update();
        loop {
            let objects = tokio::select! {
                change = deployments.next() => match change {
                    Ok(FollowedChange::All(objects)) => objects,
                    Ok(FollowedChange::Set(object)) => vec![object],
                    Ok(FollowedChange::Gone(_)) => vec![],
                    Err(_) => break,
                },
                changed = held.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    break;
                }
            };
            paused |= *held.borrow();
            for object in objects {
                play_deployment(&cluster, &object, paused).await;
            }
        }
    }
}

pub async fn play_deployment(cluster: &Cluster, object: &Value, paused: bool) {
    let id = ObjectId::of(object);
    let metadata = &object["metadata"];
    if metadata.get("deletionTimestamp").is_some() {
        let patch = json!({"metadata": {"finalizers": null}});
        // It may have gone by itself.
        let _ = cluster.merge_patch(&id, None, &patch, "played-controller").await;
    } else if !paused && object["status"]["observedGeneration"] != metadata["generation"] {
        let replicas = object["spec"]["replicas"].as_i64().unwrap_or(1);
        let condition = |kind: &str, reason: &str| json!({"type": kind, "status": "True", "reason": reason});
        let status = json!({
            "observedGeneration": metadata["generation"], "replicas": replicas, "updatedReplicas": replicas,
            "readyReplicas": replicas, "availableReplicas": replicas,
            "conditions": [condition("Available", "MinimumReplicasAvailable"), condition("Progressing", "NewReplicaSetAvailable")],
        });
        let _ = cluster.merge_patch(&id, Some("status"), &json!({"status": status}), "played-controller").await;
    }
}
