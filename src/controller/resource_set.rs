//! Reconciles the ResourceSets of all namespaces, and follows the objects whose changes make a run of a set due.
//!
//! ```text
//! providers  an export, new labels, a failure that is over  ─► the sets that name or select the provider
//! sources    a ConfigMap or Secret with the watch label     ─► the sets that have read it
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use flux_operator_resourceset::{ProviderReference, ResourceSet as Templates};
use futures::future::BoxFuture;
use serde_json::Value;
use tokio::sync::{mpsc, watch};

use super::instance::{Log, log_outcome, refused, run_options};
use super::kind_loop::{self, LoopScope, Worker};
use super::schedule::RunEnd;
use super::telemetry::ControllerKind;
use super::{Channels, QueuedRun, SharedState, drift};
use crate::api::kinds::{CONFIG_MAP, ResourceType, SECRET};
use crate::api::well_known::{FINALIZER, GROUP, condition};
use crate::api::{ResourceSet, kinds};
use crate::cluster::watch::{FollowedChange, Follower};
use crate::cluster::{Cluster, ListOptions};
use crate::k8s::{ObjectId, fields};
use crate::reconcile::interrupt::Interrupts;
use crate::reconcile::stored;
use crate::reconcile::{self, Outcome, ReconcileError, RunOptions, finalize_resource_set, reconcile_resource_set};

/// The dependencies of each set.
#[derive(Default)]
struct Dependencies {
    providers: BTreeMap<ObjectId, Vec<ProviderReference>>,
    /// The sources that the last run read, as `Kind/namespace/name`.
    sources: BTreeMap<ObjectId, BTreeSet<String>>,
}

type SharedDependencies = Arc<Mutex<Dependencies>>;

fn lock(dependencies: &SharedDependencies) -> MutexGuard<'_, Dependencies> {
    dependencies.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reconciles ResourceSets until `stop` is true.
pub(super) async fn run(cluster: Cluster, shared: Arc<SharedState>, channels: Channels, stop: watch::Receiver<bool>) {
    let Some(kind) = kinds::of(GROUP, "ResourceSet") else { return };
    let dependencies = SharedDependencies::default();
    let (sender, requests) = mpsc::channel(64);
    let scope = LoopScope {
        controller: ControllerKind::ResourceSet,
        kind: kind.resource_type(),
        namespace: None,
        options: ListOptions::default(),
        workers: shared.options.workers,
        jitter: shared.options.interval_jitter,
    };
    let worker = SetWorker {
        cluster: cluster.clone(),
        shared: shared.clone(),
        channels: channels.clone(),
        dependencies: dependencies.clone(),
    };
    // Contents are not needed here: each run reads its sources itself.
    let labelled = ListOptions { metadata_only: true, ..ListOptions::labelled(&*shared.options.watched_configs) };
    let beside = async {
        tokio::join!(
            follow_providers(&cluster, &dependencies, &sender),
            follow_sources(&cluster, CONFIG_MAP, labelled.clone(), &dependencies, &sender),
            follow_sources(&cluster, SECRET, labelled, &dependencies, &sender),
        );
    };
    // The loop ends at a stop. The watches never end.
    tokio::select! {
        biased;
        () = kind_loop::follow(&cluster, &shared, scope, requests, stop, worker) => {}
        () = beside => {}
    }
}

struct SetWorker {
    cluster: Cluster,
    shared: Arc<SharedState>,
    channels: Channels,
    dependencies: SharedDependencies,
}

impl Worker for SetWorker {
    fn observe(&mut self, id: &ObjectId, object: Option<&Value>) {
        let mut known = lock(&self.dependencies);
        match object {
            Some(object) => {
                let set = Templates::decode(object, &mut vec![]);
                let references = set.map(|set| set.inputs_from).unwrap_or_default();
                known.providers.insert(id.clone(), references);
            }
            None => {
                known.providers.remove(id);
                known.sources.remove(id);
            }
        }
    }

    fn begin(&mut self, id: &ObjectId, interrupts: Interrupts, _: bool) -> BoxFuture<'static, RunEnd> {
        let (cluster, shared, id) = (self.cluster.clone(), self.shared.clone(), id.clone());
        let instance = self.channels.instance.borrow().clone();
        let dependencies = self.dependencies.clone();
        Box::pin(async move {
            match reconcile(&cluster, &shared, &id, instance, interrupts).await {
                Ok(SetResult::Ran(outcome)) => {
                    // The sources are kept after a failure, too, because a missing source may be created.
                    lock(&dependencies).sources.insert(id, outcome.sources.clone());
                    log_outcome(&outcome)
                }
                Ok(SetResult::Finalized) => RunEnd::Done(None),
                Ok(SetResult::Unfinished) => RunEnd::Failed,
                Err(error) => refused(&error),
            }
        })
    }
}

enum SetResult {
    Ran(Box<Outcome>),
    /// The set does not exist any more, or its finalizer was removed.
    Finalized,
    /// Objects of the set could not be deleted.
    Unfinished,
}

/// Does one piece of work for the current state of the set.
async fn reconcile(
    cluster: &Cluster,
    shared: &SharedState,
    id: &ObjectId,
    look: drift::CurrentInstance,
    interrupts: Interrupts,
) -> Result<SetResult, ReconcileError> {
    let Some(live) = cluster.read(id).await? else { return Ok(SetResult::Finalized) };
    let set: ResourceSet = stored::parsed(id, live)?;
    let is_ours = set.metadata.finalizers.iter().flatten().any(|finalizer| finalizer == FINALIZER);
    let options = RunOptions {
        default_service_account: shared.options.default_service_account.clone(),
        requeue_dependency: shared.options.requeue_dependency,
        ..run_options(shared, look.instance.as_deref(), interrupts)
    };
    if set.metadata.deletion_timestamp.is_some() {
        if !is_ours {
            return Ok(SetResult::Finalized);
        }
        let done = finalize_resource_set(cluster, &set, &options, &Log).await?;
        tracing::info!(deleted = done.deleted.len(), kept = done.kept.len(), "finalized the set");
        return Ok(if done.is_complete() { SetResult::Finalized } else { SetResult::Unfinished });
    }
    if !is_ours {
        tracing::info!("Adding finalizer");
        reconcile::adopt(cluster, &set).await?;
    }
    let outcome = reconcile_resource_set(cluster, id, &options, &Log).await?;
    Ok(SetResult::Ran(Box::new(outcome)))
}

/// The parts of a provider whose change makes a run of its sets due.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ExportState {
    revision: String,
    labels: BTreeMap<String, String>,
    has_failed: bool,
}

impl ExportState {
    fn of(provider: &Value) -> Self {
        let labels = provider.pointer("/metadata/labels").and_then(Value::as_object).into_iter().flatten();
        ExportState {
            revision: fields::text(provider, "/status/lastExportedRevision").to_owned(),
            labels: labels.map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned())).collect(),
            has_failed: fields::condition(provider, condition::READY).is_some_and(|ready| ready.is_false()),
        }
    }
}

/// The last known state of objects that are followed.
struct KnownObjects<S> {
    states: BTreeMap<ObjectId, S>,
    is_listed: bool,
}

impl<S> Default for KnownObjects<S> {
    fn default() -> Self {
        KnownObjects { states: BTreeMap::new(), is_listed: false }
    }
}

impl<S: Clone + PartialEq> KnownObjects<S> {
    /// Returns the objects whose state has changed, with the states before and after.
    ///
    /// The first list reports no changes, because every set runs anyway when it is first listed. A later list contains
    /// the changes that a broken watch missed.
    fn take(&mut self, change: FollowedChange, state: impl Fn(&Value) -> S) -> Vec<(ObjectId, Vec<S>)> {
        let mut now: BTreeMap<ObjectId, Option<S>> = BTreeMap::new();
        let is_first_list = matches!(change, FollowedChange::All(_)) && !std::mem::replace(&mut self.is_listed, true);
        match change {
            FollowedChange::Set(object) => drop(now.insert(ObjectId::of(&object), Some(state(&object)))),
            FollowedChange::Gone(object) => drop(now.insert(ObjectId::of(&object), None)),
            FollowedChange::All(objects) => {
                now.extend(self.states.keys().map(|id| (id.clone(), None)));
                now.extend(objects.iter().map(|object| (ObjectId::of(object), Some(state(object)))));
            }
        }
        let mut changed = vec![];
        for (id, now) in now {
            let before = match &now {
                Some(now) => self.states.insert(id.clone(), now.clone()),
                None => self.states.remove(&id),
            };
            if before != now && !is_first_list {
                changed.push((id, before.into_iter().chain(now).collect()));
            }
        }
        changed
    }
}

/// Requests runs of the sets of a provider when the provider exports inputs, changes its labels, is created, or is
/// deleted.
async fn follow_providers(cluster: &Cluster, dependencies: &SharedDependencies, requests: &mpsc::Sender<QueuedRun>) {
    let Some(kind) = kinds::of(GROUP, "ResourceSetInputProvider") else { return };
    let mut providers = Follower::new(cluster, kind.resource_type(), None, ListOptions::default(), None).patient();
    let mut known = KnownObjects::default();
    loop {
        let change = match providers.next().await {
            Ok(change) => change,
            Err(error) => {
                tracing::error!("cannot follow input providers: {}", error.sentence());
                continue;
            }
        };
        for (id, exports) in known.take(change, ExportState::of) {
            let sets = sets_of_provider(&lock(dependencies), &id, &exports);
            ask(requests, sets, &format!("{id} changed")).await;
        }
    }
}

/// Returns the sets that reference a provider by name, or select it by its current or previous labels.
fn sets_of_provider(dependencies: &Dependencies, provider: &ObjectId, exports: &[ExportState]) -> Vec<ObjectId> {
    let is_meant = |reference: &ProviderReference| {
        let selects =
            |export: &ExportState| reference.selector.as_ref().is_some_and(|selector| selector.matches(&export.labels));
        (!reference.name.is_empty() && reference.name == provider.name) || exports.iter().any(selects)
    };
    let sets = dependencies
        .providers
        .iter()
        .filter(|(set, references)| set.namespace == provider.namespace && references.iter().any(is_meant));
    sets.map(|(set, _)| set.clone()).collect()
}

/// Requests runs of the sets that read a ConfigMap or Secret when the ConfigMap or Secret changes.
async fn follow_sources(
    cluster: &Cluster,
    kind: ResourceType,
    options: ListOptions,
    dependencies: &SharedDependencies,
    requests: &mpsc::Sender<QueuedRun>,
) {
    let mut sources = Follower::new(cluster, kind.clone(), None, options, None).patient();
    let mut known = KnownObjects::default();
    let version = |object: &Value| fields::text(object, "/metadata/resourceVersion").to_owned();
    loop {
        let change = match sources.next().await {
            Ok(change) => change,
            Err(error) => {
                tracing::warn!("cannot follow {}: {}", kind.plural, error.sentence());
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        for (id, _) in known.take(change, version) {
            let source = format!("{}/{}/{}", kind.kind, id.namespace, id.name);
            let sets: Vec<ObjectId> = {
                let known = lock(dependencies);
                let reads = known.sources.iter().filter(|(_, sources)| sources.contains(&source));
                reads.map(|(set, _)| set.clone()).collect()
            };
            ask(requests, sets, &format!("{source} changed")).await;
        }
    }
}

/// Pause before a failed watch is opened again.
const PAUSE: Duration = Duration::from_secs(60);

async fn ask(requests: &mpsc::Sender<QueuedRun>, sets: Vec<ObjectId>, why: &str) {
    for object in sets {
        // Sending cannot fail, because the loop with the receiver ends together with this future.
        let _asked = requests.send(QueuedRun { object, why: why.to_owned() }).await;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_export_asks_for_runs_of_the_sets_that_name_or_select_the_provider() {
        let mut dependencies = Dependencies::default();
        let mut add = |namespace: &str, name: &str, inputs_from: Value| {
            let set = json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "ResourceSet",
                "metadata": {"name": name, "namespace": namespace}, "spec": {"inputsFrom": inputs_from}});
            let references = Templates::decode(&set, &mut vec![]).unwrap().inputs_from;
            dependencies.providers.insert(ObjectId::of(&set), references);
        };
        add("apps", "by-name", json!([{"name": "prs"}]));
        add("apps", "by-label", json!([{"selector": {"matchLabels": {"team": "a"}}}]));
        add("apps", "of-all", json!([{"selector": {}}]));
        add("apps", "none", json!([{"name": "other"}]));
        add("other", "by-name", json!([{"name": "prs"}]));
        let provider = |labels: Value| {
            json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "ResourceSetInputProvider",
                "metadata": {"name": "prs", "namespace": "apps", "labels": labels}})
        };
        let id = ObjectId::of(&provider(json!({})));
        let names = |exports: &[ExportState]| -> Vec<String> {
            sets_of_provider(&dependencies, &id, exports).into_iter().map(|set| set.name).collect()
        };
        let (labelled, plain) =
            (ExportState::of(&provider(json!({"team": "a"}))), ExportState::of(&provider(json!({}))));
        assert_eq!(names(std::slice::from_ref(&plain)), ["by-name", "of-all"]);
        // The label was removed, so the set that selected the provider by it has to run without the provider.
        assert_eq!(names(&[labelled, plain]), ["by-label", "by-name", "of-all"]);
    }

    #[test]
    fn a_list_after_a_broken_watch_reports_the_missed_changes() {
        let object = |name: &str, version: &str| {
            json!({"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": name, "namespace": "apps", "resourceVersion": version}})
        };
        let mut known = KnownObjects::default();
        let mut take = |change: FollowedChange| -> Vec<(String, usize)> {
            let version = |object: &Value| fields::text(object, "/metadata/resourceVersion").to_owned();
            known.take(change, version).into_iter().map(|(id, states)| (id.name, states.len())).collect()
        };
        let expected = |one: &[(&str, usize)]| -> Vec<(String, usize)> {
            one.iter().map(|(name, states)| ((*name).to_owned(), *states)).collect()
        };
        assert_eq!(take(FollowedChange::All(vec![object("a", "1"), object("b", "1")])), []);
        assert_eq!(take(FollowedChange::Set(object("a", "2"))), expected(&[("a", 2)]));
        assert_eq!(take(FollowedChange::Set(object("a", "2"))), []);
        let listed = vec![object("a", "3"), object("c", "1")];
        assert_eq!(take(FollowedChange::All(listed)), expected(&[("a", 2), ("b", 1), ("c", 1)]));
        assert_eq!(take(FollowedChange::Gone(object("c", "1"))), expected(&[("c", 1)]));
    }

    #[test]
    fn only_an_export_labels_and_failures_of_a_provider_count() {
        let provider = |revision: &str, ready: &str| {
            ExportState::of(&json!({"metadata": {"name": "a"}, "status": {"lastExportedRevision": revision,
                "conditions": [{"type": "Ready", "status": ready}]}}))
        };
        assert_eq!(provider("1", "True"), provider("1", "Unknown"));
        assert_ne!(provider("1", "True"), provider("2", "True"));
        assert_ne!(provider("1", "True"), provider("1", "False"));
    }
}
