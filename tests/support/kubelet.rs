//! A kubelet that runs nothing: it watches pods bound to its one node and immediately writes the status that a real
//! kubelet would write. Tests request failures with rules, and may change the rules while pods exist.
//!
//! ```text
//! pods  --watch--> one task per pod --rule--> pod_status (pure) --patch--> status, events
//! claims --watch--> a volume for each, unless a rule says otherwise; the real binder binds it
//! API server --GET logs--> log_server
//! ```

mod log_server;
mod pod_status;
mod rules;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use flux_operator::api::kinds::{POD, PVC};
use flux_operator::cluster::watch::{FollowedChange, Follower};
use flux_operator::cluster::{Cluster, Endpoint, ListOptions};
use flux_operator::k8s::ResourceType;
use k8s_openapi::api::core::v1::{Event, Node, PersistentVolume, PersistentVolumeClaim, Pod};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Client, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

pub use rules::{Behaviour, ClaimBehaviour, PodRule, PullFailure, RuleId};

use super::Fallible;
use super::certificates::Authority;
use pod_status::{Memory, Writes};
use rules::RuleSet;

pub const NODE: &str = "node-1";

/// Pods by namespace and name, as last seen.
type SeenPods = Arc<Mutex<HashMap<(String, String), Pod>>>;

/// The running kubelet; it stops when dropped.
pub struct Kubelet {
    rules: watch::Sender<RuleSet>,
    _tasks: JoinSet<()>,
}

impl Kubelet {
    /// Registers the node and starts watching.
    ///
    /// # Errors
    /// When the API server refuses the node.
    pub async fn start(client: Client, authority: &Authority) -> Fallible<Kubelet> {
        let (rules, _) = watch::channel(RuleSet::default());
        let seen = SeenPods::default();
        let mut tasks = JoinSet::new();
        let port = log_server::start(authority, rules.subscribe(), seen.clone(), &mut tasks).await?;
        register_node(&client, port).await?;
        tasks.spawn(watch_pods(client.clone(), rules.subscribe(), seen));
        tasks.spawn(watch_claims(client, rules.subscribe()));
        Ok(Kubelet { rules, _tasks: tasks })
    }

    /// Adds a rule for existing and future pods. If several rules match, the newest wins.
    pub fn add_rule(&self, rule: PodRule) -> RuleId {
        let mut id = RuleId::default();
        self.rules.send_modify(|rules| id = rules.add(rule));
        id
    }

    /// Removes a rule: its pods follow the remaining rules, or run.
    pub fn remove_rule(&self, id: RuleId) {
        self.rules.send_modify(|rules| rules.remove(id));
    }

    /// Sets the behaviour of volume claims in `namespace` whose name starts with `name_prefix`. Without a rule they are
    /// bound.
    pub fn set_claims(&self, namespace: &str, name_prefix: &str, behaviour: ClaimBehaviour) {
        self.rules.send_modify(|rules| rules.set_claims(namespace, name_prefix, behaviour));
    }

    /// Removes every rule of one namespace.
    pub fn forget_rules(&self, namespace: &str) {
        self.rules.send_modify(|rules| rules.forget(namespace));
    }

    /// Removes every rule, and continues if it was frozen.
    pub fn forget_all_rules(&self) {
        self.rules.send_modify(|rules| *rules = RuleSet::default());
    }

    /// Ignores all pods and claims of all namespaces. For one namespace use a rule with [`Behaviour::Frozen`].
    pub fn freeze(&self) {
        self.rules.send_modify(|rules| rules.frozen = true);
    }

    /// Continues after [`Kubelet::freeze`], including changes in the meantime.
    pub fn thaw(&self) {
        self.rules.send_modify(|rules| rules.frozen = false);
    }
}

async fn register_node(client: &Client, port: u16) -> Fallible<()> {
    let nodes = Api::<Node>::all(client.clone());
    let labels = json!({
        "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", "kubernetes.io/hostname": NODE,
    });
    let node = serde_json::from_value(json!({ "metadata": { "name": NODE, "labels": labels } }))?;
    nodes.create(&PostParams::default(), &node).await?;
    let now = pod_status::now();
    let condition = |kind: &str, status: &str, reason: &str| {
        json!({ "type": kind, "status": status, "reason": reason, "message": "simulated",
                "lastHeartbeatTime": now, "lastTransitionTime": now })
    };
    let capacity = json!({ "cpu": "32", "memory": "256Gi", "pods": "11000", "ephemeral-storage": "1Ti" });
    let status = json!({ "status": {
        "capacity": capacity, "allocatable": capacity,
        "conditions": [
            condition("Ready", "True", "KubeletReady"),
            condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
            condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
            condition("PIDPressure", "False", "KubeletHasSufficientPID"),
        ],
        "addresses": [{ "type": "InternalIP", "address": "127.0.0.1" }],
        "daemonEndpoints": { "kubeletEndpoint": { "Port": port } },
        "nodeInfo": {
            "architecture": "amd64", "operatingSystem": "linux", "osImage": "simulated", "kernelVersion": "simulated",
            "containerRuntimeVersion": "simulated://1", "kubeletVersion": "v1.36.3", "kubeProxyVersion": "",
            "machineID": "simulated", "systemUUID": "simulated", "bootID": "simulated",
        },
    }});
    nodes.patch_status(NODE, &PatchParams::default(), &Patch::Merge(status)).await?;
    // Every new node has the not-ready taint, and the controller that removes it does not run here.
    let untainted = json!({ "spec": { "taints": null } });
    nodes.patch(NODE, &PatchParams::default(), &Patch::Merge(untainted)).await?;
    Ok(())
}

/// The changes of a kind, from a list on.
struct KindWatch {
    cluster: Cluster,
    kind: ResourceType,
    options: ListOptions,
    follower: Follower,
}

impl KindWatch {
    fn new(client: Client, kind: ResourceType, options: ListOptions) -> KindWatch {
        let cluster = Cluster::of_client(client, Endpoint::default());
        let follower = Follower::new(&cluster, kind.clone(), None, options.clone(), None);
        KindWatch { cluster, kind, options, follower }
    }

    /// Returns the next change. Cancelling loses nothing.
    async fn next(&mut self) -> FollowedChange {
        loop {
            match self.follower.try_next().await {
                Ok(change) => return change,
                // The API server is down, perhaps on purpose. A new follower does not wait longer each time.
                Err(_) => {
                    self.follower = Follower::new(&self.cluster, self.kind.clone(), None, self.options.clone(), None);
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }
}

/// The objects of a list or a change that have the type.
fn typed<K: DeserializeOwned>(objects: impl IntoIterator<Item = Value>) -> Vec<K> {
    objects.into_iter().filter_map(|object| serde_json::from_value(object).ok()).collect()
}

/// Follows the pods of the node, each in a task that ends with the pod.
async fn watch_pods(client: Client, rules: watch::Receiver<RuleSet>, seen: SeenPods) {
    let on_node = ListOptions { field_selector: Some(format!("spec.nodeName={NODE}")), ..ListOptions::default() };
    let mut changes = KindWatch::new(client.clone(), POD, on_node);
    let mut running: HashMap<String, (watch::Sender<Pod>, AbortHandle)> = HashMap::new();
    let mut tasks = JoinSet::new();
    loop {
        let (present, gone) = match changes.next().await {
            FollowedChange::All(all) => {
                let pods = typed::<Pod>(all);
                let listed: HashSet<String> = pods.iter().filter_map(Pod::uid).collect();
                let gone = running.iter().filter(|(uid, _)| !listed.contains(*uid));
                let gone = gone.map(|(_, (pod, _))| pod.borrow().clone()).collect();
                (pods, gone)
            }
            FollowedChange::Set(pod) => (typed([pod]), vec![]),
            FollowedChange::Gone(pod) => (vec![], typed([pod])),
        };
        for pod in gone {
            seen.lock().unwrap_or_else(PoisonError::into_inner).remove(&key_of(&pod));
            if let Some((_, task)) = running.remove(&pod.uid().unwrap_or_default()) {
                task.abort();
            }
        }
        while tasks.try_join_next().is_some() {}
        for pod in present {
            let uid = pod.uid().unwrap_or_default();
            seen.lock().unwrap_or_else(PoisonError::into_inner).insert(key_of(&pod), pod.clone());
            if let Some((sender, _)) = running.get(&uid) {
                let _ = sender.send(pod);
            } else {
                let (sender, receiver) = watch::channel(pod);
                let task = tasks.spawn(follow_pod(client.clone(), receiver, rules.clone()));
                running.insert(uid, (sender, task));
            }
        }
    }
}

fn key_of(pod: &Pod) -> (String, String) {
    (pod.namespace().unwrap_or_default(), pod.name_any())
}

/// Updates a pod by the rules whenever the pod, the rules or the time change the result.
async fn follow_pod(client: Client, mut pod: watch::Receiver<Pod>, mut rules: watch::Receiver<RuleSet>) {
    let mut memory = Memory::default();
    loop {
        let current = pod.borrow_and_update().clone();
        let behaviour = rules.borrow_and_update().behaviour(&current);
        let writes = pod_status::step(&current, &behaviour, &mut memory);
        let again = match write(&client, &current, &writes).await {
            Ok(()) => writes.again,
            Err(_) => {
                // A stale status must be written again even if nothing else changes.
                memory.forget_last_status();
                Some(Duration::from_millis(200))
            }
        };
        tokio::select! {
            changed = pod.changed() => if changed.is_err() { return },
            changed = rules.changed() => if changed.is_err() { return },
            () = sleep_or_forever(again) => {}
        }
    }
}

async fn sleep_or_forever(duration: Option<Duration>) {
    match duration {
        Some(duration) => tokio::time::sleep(duration).await,
        None => std::future::pending().await,
    }
}

async fn write(client: &Client, pod: &Pod, writes: &Writes) -> Result<(), kube::Error> {
    let (namespace, name) = (pod.namespace().unwrap_or_default(), pod.name_any());
    let pods = Api::<Pod>::namespaced(client.clone(), &namespace);
    if writes.delete {
        let only_this = Preconditions { uid: pod.uid(), ..Preconditions::default() };
        let now =
            DeleteParams { grace_period_seconds: Some(0), preconditions: Some(only_this), ..DeleteParams::default() };
        return unless_gone(pods.delete(&name, &now).await.map(|_| ()));
    }
    if let Some(status) = &writes.status {
        let patch = json!({ "metadata": { "uid": pod.uid() }, "status": status });
        unless_gone(pods.patch_status(&name, &PatchParams::default(), &Patch::Strategic(patch)).await.map(|_| ()))?;
    }
    let events = Api::<Event>::namespaced(client.clone(), &namespace);
    for (number, event) in writes.events.iter().enumerate() {
        let event = pod_status::event_object(pod, event, number);
        // A lost event does not matter to the pod.
        if let Ok(event) = serde_json::from_value(event) {
            let _ = events.create(&PostParams::default(), &event).await;
        }
    }
    Ok(())
}

/// Ignores errors about a pod that was deleted or replaced by another of the same name.
fn unless_gone(outcome: Result<(), kube::Error>) -> Result<(), kube::Error> {
    match outcome {
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
        other => other,
    }
}

/// Creates a volume for every claim that may be bound, and removes it with the claim.
async fn watch_claims(client: Client, mut rules: watch::Receiver<RuleSet>) {
    let volumes = Api::<PersistentVolume>::all(client.clone());
    let mut changes = KindWatch::new(client, PVC, ListOptions::default());
    let mut waiting: HashMap<String, PersistentVolumeClaim> = HashMap::new();
    loop {
        tokio::select! {
            change = changes.next() => {
                let (present, gone) = match change {
                    FollowedChange::All(all) => {
                        waiting.clear();
                        (typed::<PersistentVolumeClaim>(all), vec![])
                    }
                    FollowedChange::Set(claim) => (typed([claim]), vec![]),
                    FollowedChange::Gone(claim) => (vec![], typed::<PersistentVolumeClaim>([claim])),
                };
                for claim in present {
                    let has_volume = claim.spec.as_ref().is_some_and(|spec| spec.volume_name.is_some());
                    let uid = claim.uid().unwrap_or_default();
                    if has_volume { waiting.remove(&uid); } else { waiting.insert(uid, claim); }
                }
                for uid in gone.iter().filter_map(PersistentVolumeClaim::uid) {
                    waiting.remove(&uid);
                    let _ = volumes.delete(&format!("pvc-{uid}"), &DeleteParams::default()).await;
                }
            }
            changed = rules.changed() => if changed.is_err() { return },
        }
        let allowed = rules.borrow_and_update().clone();
        for claim in waiting.values().filter(|claim| allowed.binds(claim)) {
            if let Ok(volume) = serde_json::from_value(volume_for(claim)) {
                // The volume may already exist; then the binder is at work.
                let _ = volumes.create(&PostParams::default(), &volume).await;
            }
        }
    }
}

fn volume_for(claim: &PersistentVolumeClaim) -> Value {
    let spec = claim.spec.clone().unwrap_or_default();
    let size =
        spec.resources.and_then(|r| r.requests).and_then(|mut r| r.remove("storage")).map_or("1Gi".into(), |q| q.0);
    json!({
        "metadata": { "name": format!("pvc-{}", claim.uid().unwrap_or_default()) },
        "spec": {
            "capacity": { "storage": size },
            "accessModes": spec.access_modes,
            "storageClassName": spec.storage_class_name,
            "persistentVolumeReclaimPolicy": "Retain",
            "hostPath": { "path": "/nonexistent" },
            "claimRef": {
                "apiVersion": "v1", "kind": "PersistentVolumeClaim", "uid": claim.uid(),
                "namespace": claim.namespace(), "name": claim.name_any(),
            },
        },
    })
}
