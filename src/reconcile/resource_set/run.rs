//! A reconciliation of a ResourceSet, from its dependencies to its status.
//!
//! ```text
//! dependencies -> inputs -> templates -> (the set is stored) -> for each step: apply in stages, wait
//!              -> garbage collection -> wait -> status
//! ```
//! Objects are applied with the rights of the service account that the set names; its status is written with the
//! operator's own.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::Timestamp;
use serde_json::Value;
use tokio::time::Instant;

use super::dependencies;
use super::desired::{self, DesiredSet, DesiredStep, SetStage};
use super::failure::{ResourceSetFailure, RetryPolicy};
use super::referenced_data::DataSources;
use super::texts::api_text;
use crate::api::well_known::{
    DISABLED, ENABLED, FORCE_ANNOTATION, PRUNE_WITHOUT_INPUTS_ANNOTATION, RECREATE_ON_FAILURE_ANNOTATION, condition,
    reason,
};
use crate::api::{
    InventoryEntry, InventoryOwner, OwnerKind, Reconciled, ResourceSet, conditions, crd, history, inventory,
};
use crate::cluster::events::Event;
use crate::cluster::{Cluster, Propagation};
use crate::k8s::kstatus::{self, Status};
use crate::k8s::{ObjectId, fields};
use crate::reconcile::announce::Announcer;
use crate::reconcile::apply;
use crate::reconcile::context::RunContext;
use crate::reconcile::health::{self, Goal};
use crate::reconcile::interrupt::{Interrupt, InterruptPolicy, requested_stop};
use crate::reconcile::live_objects::LiveObjects;
use crate::reconcile::messages;
use crate::reconcile::operator::{self, OperatorCoverage, OperatorPresence};
use crate::reconcile::options::{Consent, RunOptions};
use crate::reconcile::outcome::{Failure, Outcome, ReconcileError, Stop};
use crate::reconcile::plan::{self, Comparison, PlannedPrune, Recreation, Step};
use crate::reconcile::progress::{Action, Change, Progress, Stage, Update};
use crate::reconcile::prune;
use crate::reconcile::run::{DeferredWrite, under_lease};
use crate::reconcile::status::{IN_PROGRESS, StatusWriter};
use crate::reconcile::stored;

/// Limit for a wait within a run: until definitions, namespaces, cluster roles and classes take effect, or until
/// deleted Jobs and objects of Flux are gone.
const STAGE_TIMEOUT: Duration = Duration::from_secs(60);
/// Limit for the API server to serve a kind that was just defined.
const SERVED_WITHIN: Duration = Duration::from_secs(10);
/// Pause before the next run while a provider is exporting.
const EXPORT_PAUSE: Duration = Duration::from_secs(5);
/// Limit for the starts of a run, which starts over if the set changes while it is planned.
const STARTS: usize = 3;
/// Limit for the warnings of a build that an outcome repeats.
const WARNINGS: usize = 20;

/// Reconciles a stored ResourceSet and writes its status.
///
/// # Errors
/// Another reconciler is working, the run is refused before anything is written, or the API server cannot be reached to
/// record the outcome.
pub async fn reconcile_resource_set(
    cluster: &Cluster,
    id: &ObjectId,
    options: &RunOptions,
    progress: &dyn Progress,
) -> Result<Outcome, ReconcileError> {
    let attempt = async |cluster: Cluster| {
        let set = stored::read(&cluster, id).await?;
        let request = options.request.as_ref().map(DeferredWrite::Request);
        SetRun::new(&cluster, set, request, options, progress).reconcile().await
    };
    start(cluster, &id.namespace, options, progress, |cluster| attempt(cluster).boxed()).await
}

/// Applies a ResourceSet as its author wrote it, and reconciles it. Nothing is written before it is certain that the
/// run is not refused.
///
/// # Errors
/// As [`reconcile_resource_set`], and when other field managers own fields of the manifest, unless `force_conflicts`.
pub async fn apply_resource_set(
    cluster: &Cluster,
    written: &Value,
    force_conflicts: bool,
    options: &RunOptions,
    progress: &dyn Progress,
) -> Result<Outcome, ReconcileError> {
    let id = ObjectId::of(written);
    let attempt = async |cluster: Cluster| {
        let (set, live) = as_it_would_be_stored(&cluster, written, force_conflicts).await?;
        let unstored = DeferredWrite::Written { written, live, force_conflicts };
        SetRun::new(&cluster, set, Some(unstored), options, progress).reconcile().await
    };
    start(cluster, &id.namespace, options, progress, |cluster| attempt(cluster).boxed()).await
}

/// Refuses to reconcile a ResourceSet beside an operator that is running, or that does not respond but may continue at
/// any moment.
///
/// # Errors
/// [`ReconcileError::OperatorAlive`] and [`ReconcileError::OperatorSilent`], and any failure of the requests.
async fn refuse_beside_running(cluster: &Cluster, namespace: &str) -> Result<(), ReconcileError> {
    match operator::find_set_coverage(cluster, namespace, Timestamp::now()).await? {
        OperatorCoverage::Watched(operator) => Err(ReconcileError::OperatorAlive { operator: operator.state }),
        OperatorCoverage::NotRunning(operator) if matches!(operator.presence, OperatorPresence::Silent(_)) => {
            Err(ReconcileError::OperatorSilent { operator: Box::new(operator) })
        }
        _ => Ok(()),
    }
}

/// Runs `attempt` under the lease, and again if the set changed while the run was prepared. Refuses to run beside an
/// operator, unless forced.
async fn start<'w>(
    cluster: &Cluster,
    namespace: &str,
    options: &RunOptions,
    progress: &dyn Progress,
    attempt: impl Fn(Cluster) -> BoxFuture<'w, Result<Outcome, ReconcileError>>,
) -> Result<Outcome, ReconcileError> {
    if options.lease.is_some() && !options.force {
        refuse_beside_running(cluster, namespace).await?;
    }
    let mut starts = 1;
    loop {
        match under_lease(cluster, namespace, options, progress, &attempt).await {
            Err(ReconcileError::InstanceMoved { .. }) if starts < STARTS => starts += 1,
            ended => return ended,
        }
    }
}

/// Returns the set that an apply of the manifest would store, and the set that is stored now.
pub(super) async fn as_it_would_be_stored(
    cluster: &Cluster,
    written: &Value,
    force_conflicts: bool,
) -> Result<(ResourceSet, Option<Value>), ReconcileError> {
    let id = ObjectId::of(written);
    let live = cluster.read(&id).await?;
    let stored = match crate::reconcile::draft::apply_written(cluster, written, force_conflicts, true).await {
        // Not an error: the run creates the missing definition before it stores the set.
        Err(error) if error.is_api_missing() && live.is_none() => written.clone(),
        stored => stored?,
    };
    let mut set: ResourceSet = stored::checked(stored)?;
    match &live {
        Some(live) => {
            let known: ResourceSet = stored::checked(live.clone())?;
            (set.metadata.generation, set.status) = (known.metadata.generation, known.status);
        }
        // The dry run of a new object returns a uid that the stored object will not have.
        None => (set.metadata.uid, set.metadata.resource_version, set.status) = (None, None, None),
    }
    Ok((set, live))
}

/// Returns the cluster with the rights under which the objects of a set are applied.
pub(super) fn applier(cluster: &Cluster, set: &ResourceSet, options: &RunOptions) -> Cluster {
    match service_account(set, options) {
        Some(account) => {
            cluster.impersonating_service_account(set.metadata.namespace.as_deref().unwrap_or_default(), account)
        }
        None => cluster.clone(),
    }
}

/// Returns the service account under which the objects of a set are applied.
pub(super) fn service_account<'a>(set: &'a ResourceSet, options: &'a RunOptions) -> Option<&'a str> {
    set.spec.service_account_name.as_deref().or(options.default_service_account.as_deref())
}

/// Returns when an object of a set may be deleted and created again.
pub(super) fn recreation(set: &ResourceSet) -> Recreation {
    match set.annotation(FORCE_ANNOTATION) {
        Some(value) if value.eq_ignore_ascii_case(ENABLED) => Recreation::Always,
        _ => Recreation::WhereAsked,
    }
}

/// Returns the owner of the objects of a set.
pub(super) fn owner(set: &ResourceSet) -> InventoryOwner {
    let id = set.id();
    InventoryOwner::new(OwnerKind::ResourceSet, id.namespace, id.name)
}

/// Returns a warning for each object that also belongs to another owner. Each owner takes it over with every apply.
pub(super) fn takeovers<'p>(
    owner: &InventoryOwner,
    planned: impl IntoIterator<Item = &'p plan::PlannedObject>,
) -> Vec<String> {
    let others = planned.into_iter().filter_map(|one| Some((&one.object, owner.other_owner(one.live.as_ref()?)?)));
    others.map(|(id, other)| format!("{id} belongs to {other}: it is taken over")).collect()
}

/// Why the objects that a set no longer renders are kept for now.
pub(super) fn prune_hold(set: &ResourceSet, desired: &DesiredSet) -> Option<String> {
    let unsettled = desired.inputs.unsettled();
    if !unsettled.is_empty() {
        return Some(unsettled.join("; "));
    }
    let is_guarded =
        set.annotation(PRUNE_WITHOUT_INPUTS_ANNOTATION).is_some_and(|value| value.eq_ignore_ascii_case(DISABLED));
    let holds = desired.inputs.are_missing && is_guarded;
    holds.then(|| format!("the providers export no inputs, and {PRUNE_WITHOUT_INPUTS_ANNOTATION} is {DISABLED}"))
}

/// A run of a ResourceSet: its inputs and its results so far.
struct SetRun<'a> {
    /// The cluster with the operator's own rights.
    cluster: &'a Cluster,
    /// The cluster with the rights under which the objects are applied.
    applier: Cluster,
    options: &'a RunOptions,
    progress: &'a dyn Progress,
    set: ResourceSet,
    unstored: Option<DeferredWrite<'a>>,
    begun: Instant,
    writer: StatusWriter<ResourceSet>,
    announcer: Announcer,
    changes: Vec<Change>,
    /// Number of changes that were already listed in an event.
    announced: usize,
    warnings: Vec<String>,
    sources: DataSources,
    /// Digest of the objects.
    digest: Option<String>,
    /// Metadata of the entry in the history.
    facts: BTreeMap<String, String>,
    /// Time until the next run, in place of the interval.
    look_again: Option<Duration>,
    /// Prefix of the message if the current step fails.
    step_prefix: String,
}

impl<'a> SetRun<'a> {
    fn new(
        cluster: &'a Cluster,
        set: ResourceSet,
        unstored: Option<DeferredWrite<'a>>,
        options: &'a RunOptions,
        progress: &'a dyn Progress,
    ) -> Self {
        SetRun {
            cluster,
            applier: applier(cluster, &set, options),
            options,
            progress,
            begun: Instant::now(),
            writer: StatusWriter::open(&set),
            announcer: Announcer::about(cluster, &set, options.notifications.clone()),
            changes: vec![],
            announced: 0,
            warnings: vec![],
            sources: DataSources::default(),
            digest: None,
            facts: BTreeMap::new(),
            look_again: None,
            step_prefix: String::new(),
            set,
            unstored,
        }
    }

    async fn reconcile(mut self) -> Result<Outcome, ReconcileError> {
        let ended = match self.set.is_suspended() {
            true => Err(Failure::Suspended.into()),
            false => Box::pin(self.work()).await,
        };
        self.end(ended).await
    }

    async fn work(&mut self) -> Result<(), Stop> {
        let dependencies = self.set.spec.depends_on.clone().unwrap_or_default();
        let dependencies =
            dependencies::parse(&dependencies).map_err(|error| ResourceSetFailure::expression(&error))?;
        let namespace = self.set.metadata.namespace.clone().unwrap_or_default();
        let checked = dependencies::check(self.cluster, &namespace, &dependencies).await;
        checked.map_err(|error| ResourceSetFailure::dependency(&error))?;
        self.begin(Stage::Build, 0);
        let desired = desired::make(self.cluster, &self.applier, &self.set, &mut self.sources).await?;
        self.warnings.extend(desired.warnings.iter().take(WARNINGS).cloned());
        if desired.inputs.are_missing {
            tracing::info!("No inputs returned from providers, reconciling an empty set");
        }
        self.refuse_losses(&desired).await?;
        self.store().await?;
        Box::pin(self.carry_out(desired)).await
    }

    /// Refuses a run that would lose more than the options consent to.
    async fn refuse_losses(&mut self, desired: &DesiredSet) -> Result<(), Stop> {
        // Every loss was agreed to in advance, so there is nothing to look for.
        if self.options.consent >= Consent::CustomResources && self.options.agreed.is_none() {
            return Ok(());
        }
        // A run that prunes nothing loses nothing.
        if prune_hold(&self.set, desired).is_some() {
            return Ok(());
        }
        let mut live = LiveObjects::default();
        let planned = self.stale(&desired.ids(), &mut live).await?;
        let pruned: Vec<ObjectId> =
            planned.iter().filter(|one| one.step == Step::Prune).map(|one| one.object.clone()).collect();
        if self.options.consent < Consent::Pruned && !pruned.is_empty() {
            let instance = self.set.id();
            return Err(Stop::Abort(ReconcileError::Destructive { instance, pruned, downgrade: None }));
        }
        let lost: Vec<_> = planned.into_iter().filter_map(|one| Some((one.object, one.custom_resources?))).collect();
        let is_agreed = |(id, lost): &(ObjectId, crate::reconcile::CustomResources)| {
            let counts = self.options.agreed.as_ref();
            counts.is_none_or(|counts| counts.get(id).is_some_and(|agreed| lost.count <= *agreed))
        };
        if !lost.is_empty() && (self.options.consent < Consent::CustomResources || !lost.iter().all(is_agreed)) {
            return Err(Stop::Abort(ReconcileError::CustomResourcesLost { definitions: lost }));
        }
        Ok(())
    }

    /// Does the pending write to the set.
    async fn store(&mut self) -> Result<(), Stop> {
        let Some(unstored) = self.unstored.take() else { return Ok(()) };
        let stored = unstored.store(self.cluster, &self.set.id(), crd::resource_set, self.progress).await?;
        let stored = stored::checked(stored)?;
        stored::refuse_another(&self.set, &stored)?;
        // The previous writer and announcer were made for the set as it was read, perhaps before it was created.
        self.writer = StatusWriter::open(&stored);
        self.announcer = Announcer::about(self.cluster, &stored, self.options.notifications.clone());
        self.set = stored;
        Ok(())
    }

    async fn carry_out(&mut self, desired: DesiredSet) -> Result<(), Stop> {
        self.digest = Some(desired.digest.clone());
        self.facts.insert("inputs".to_owned(), desired.inputs.sets.len().to_string());
        self.facts.insert("resources".to_owned(), desired.count().to_string());
        let is_stepped = desired.steps.iter().any(|step| step.name.is_some());
        if is_stepped {
            self.facts.insert("steps".to_owned(), desired.steps.len().to_string());
        }
        if let Some(stop) = requested_stop(&self.options.interrupts) {
            return Err(Failure::Interrupted(stop).into());
        }
        let mut live = LiveObjects::default();
        live.add_of(&self.applier, &owner(&self.set), &desired.ids(), self.options.plan.concurrency).await?;
        let mut applied: Vec<ObjectId> = vec![];
        let steps = desired.steps.len();
        for (index, step) in desired.steps.iter().enumerate() {
            let prefix = |part: &str| step.name.as_ref().map(|name| format!("step \"{name}\" {part} failed: "));
            self.step_prefix = prefix("job recreation").unwrap_or_default();
            self.recreate_failed_jobs(step, &mut live).await?;
            self.step_prefix = prefix("apply").unwrap_or_default();
            self.apply_step(step, &mut live, &mut applied).await?;
            // The run waits for the last step after pruning, and only if `spec.wait` asks for it.
            if index + 1 < steps {
                let name = step.name.as_deref().unwrap_or_default();
                self.writer.progressing(&format!("Applying step {}/{steps} \"{name}\"", index + 1));
                self.writer.write(self.cluster).await?;
                self.announce_changes(&format!("step \"{name}\": "), None);
                self.step_prefix = prefix("health check").unwrap_or_default();
                self.wait_for_health(step, &mut live).await?;
            }
        }
        self.step_prefix = String::new();
        let kept = self.collect_garbage(&desired, &applied, &mut live).await?;
        let unreadable = self.set.recorded_inventory().unreadable();
        // Objects that were not pruned are kept in the inventory. Otherwise no later run would prune them.
        let owed: Vec<InventoryEntry> = kept.iter().map(InventoryEntry::from).chain(unreadable).collect();
        self.writer.status.inventory = Some(inventory::merge(inventory::of(&applied), &owed));
        if let Some(last) = desired.steps.last().filter(|_| self.set.spec.wait == Some(true) && self.options.wait) {
            if last.name.is_some() {
                self.step_prefix =
                    format!("step \"{}\" health check failed: ", last.name.as_deref().unwrap_or_default());
            }
            self.wait_for_health(last, &mut live).await?;
            self.step_prefix = String::new();
        }
        self.writer.status.last_applied_revision = Some(desired.digest);
        self.writer.status.external_checksum_refs = self.sources.checksums.iter().cloned().collect();
        Ok(())
    }

    fn context(&self) -> RunContext<'_> {
        RunContext {
            cluster: &self.applier,
            extra_managers: &self.options.plan.extra_managers,
            concurrency: self.options.plan.concurrency,
            interrupts: &self.options.interrupts,
            progress: self.progress,
        }
    }

    fn begin(&self, stage: Stage, objects: usize) {
        self.progress.report(Update::StageBegan { stage, objects });
    }

    /// Deletes the failed Jobs of a step that have an annotation to be recreated on failure.
    async fn recreate_failed_jobs(&mut self, step: &DesiredStep, live: &mut LiveObjects) -> Result<(), Stop> {
        let owner = owner(&self.set);
        let failed = |text: String| ResourceSetFailure::failed(&format!("{}{text}", self.step_prefix));
        let mut deleted = vec![];
        for one in &step.objects {
            let asks = one.object["apiVersion"] == "batch/v1"
                && one.object["kind"] == "Job"
                && fields::annotation(&one.object, RECREATE_ON_FAILURE_ANNOTATION) == Some(ENABLED);
            if !asks {
                continue;
            }
            let id = ObjectId::of(&one.object);
            let found = live.find(&self.applier, &id).await;
            let found =
                found.map_err(|error| failed(format!("failed to read Job {id} status: {}", api_text(&error))))?;
            let Some(job) = found else { continue };
            let is_ours = InventoryOwner::labelled(&job, OwnerKind::ResourceSet).as_ref() == Some(&owner);
            if is_ours && kstatus::compute_for_flux(&job).status == Status::Failed {
                // Foreground deletion keeps the Job until its pods are gone, so that the new one does not run beside
                // them.
                let deletion = self.applier.delete_exactly(&job, Propagation::Foreground).await;
                deletion.map_err(|error| failed(format!("failed to delete failed Job {id}: {}", api_text(&error))))?;
                deleted.push(id);
            }
        }
        if deleted.is_empty() {
            return Ok(());
        }
        self.step_prefix.push_str("failed to wait for Jobs termination: ");
        let deadline = Instant::now() + STAGE_TIMEOUT;
        health::wait(self.context(), live, &deleted, Goal::Gone, deadline, InterruptPolicy::StopOnly)
            .await?
            .into_result()
    }

    /// Applies the objects of a step, stage by stage.
    async fn apply_step(
        &mut self,
        step: &DesiredStep,
        live: &mut LiveObjects,
        applied: &mut Vec<ObjectId>,
    ) -> Result<(), Stop> {
        let mut has_new_kinds = false;
        for stage in SetStage::ALL {
            let manifests = step.stage(stage);
            if manifests.is_empty() {
                continue;
            }
            let ids: Vec<ObjectId> = manifests.iter().map(ObjectId::of).collect();
            let planned = self.compare(manifests, live, has_new_kinds).await?;
            self.warnings.extend(takeovers(&owner(&self.set), &planned));
            let changing: Vec<_> = planned.iter().filter(|one| one.step != Step::Unchanged).collect();
            if !changing.is_empty() {
                self.record_ownership(applied.iter().chain(&ids)).await?;
                self.begin(Stage::ApplyObjects, changing.len());
                let done = apply::objects(self.context(), live, &changing).await;
                let fresh: Vec<ObjectId> = done.changes.iter().map(|change| change.object.clone()).collect();
                self.changes.extend(done.changes);
                if !done.errors.is_empty() {
                    return Err(Failure::Apply(done.errors).into());
                }
                if let Some(interrupt) = done.interrupt {
                    return Err(Failure::Interrupted(interrupt).into());
                }
                if matches!(stage, SetStage::Definitions | SetStage::Classes) {
                    // Objects of a kind are refused until its definition is established.
                    has_new_kinds = true;
                    let deadline = Instant::now() + STAGE_TIMEOUT;
                    let work =
                        health::wait(self.context(), live, &fresh, Goal::Healthy, deadline, InterruptPolicy::StopOnly);
                    work.await?.into_result()?;
                }
            }
            applied.extend(ids);
        }
        Ok(())
    }

    /// Compares manifests with the cluster. Repeats the comparison after new definitions, because the API server may
    /// not serve their kinds at once.
    async fn compare(
        &self,
        manifests: Vec<Value>,
        live: &mut LiveObjects,
        has_new_kinds: bool,
    ) -> Result<Vec<plan::PlannedObject>, Stop> {
        let deadline = Instant::now() + SERVED_WITHIN;
        let comparison = Comparison {
            extra_managers: &self.options.plan.extra_managers,
            trusted: &BTreeSet::new(),
            concurrency: self.options.plan.concurrency,
            recreation: recreation(&self.set),
        };
        loop {
            match plan::objects(&self.applier, live, manifests.clone(), comparison).await {
                Err(errors)
                    if has_new_kinds
                        && Instant::now() < deadline
                        && errors.iter().any(|error| error.source.is_absent()) =>
                {
                    tokio::time::sleep(Duration::from_millis(300)).await;
                }
                Err(errors) => return Err(Failure::Apply(errors).into()),
                Ok(planned) => {
                    for one in &planned {
                        if let Some(seen) = &one.live {
                            live.set(seen.clone());
                        }
                    }
                    return Ok(planned);
                }
            }
        }
    }

    /// Adds objects to the inventory before they are created, and keeps those of earlier runs. The inventory is then
    /// complete even if the run is cut off.
    async fn record_ownership<'o>(&mut self, ids: impl Iterator<Item = &'o ObjectId>) -> Result<(), Stop> {
        let owed = self.writer.status.inventory.take().map(|inventory| inventory.entries).unwrap_or_default();
        let mut union = inventory::merge(inventory::of(ids), &owed);
        union.entries.sort_by(|left, right| left.id.cmp(&right.id));
        self.writer.status.inventory = Some(union);
        if !conditions::is_true(&self.writer.status.conditions, condition::RECONCILING) {
            self.writer.progressing(IN_PROGRESS);
        }
        self.writer.write(self.cluster).await?;
        self.writer.refuse_if_being_deleted()?;
        Ok(())
    }

    /// Reports the changes since the last report in an event.
    fn announce_changes(&mut self, prefix: &str, note: Option<String>) {
        let new = self.changes.get(self.announced..).unwrap_or_default();
        let lines = new.iter().filter(|change| change.action != Action::Unchanged);
        let lines: Vec<String> =
            lines.map(|change| format!("{} {}", change.object, change.action.as_str())).chain(note).collect();
        self.announced = self.changes.len();
        if !lines.is_empty() {
            let message = format!("{prefix}{}", lines.join("\n"));
            let event = Event { warning: false, reason: reason::APPLY_SUCCEEDED, message, revision: None };
            self.announcer.event_and_notify(event);
        }
    }

    /// Plans the deletion of the objects in the inventory that `built` lacks.
    async fn stale(&self, built: &[ObjectId], live: &mut LiveObjects) -> Result<Vec<PlannedPrune>, Stop> {
        let owned = self.set.recorded_inventory().objects();
        let stale = plan::stale(&owned, &built.iter().cloned().collect());
        live.add_of(&self.applier, &owner(&self.set), &stale, self.options.plan.concurrency).await?;
        Ok(plan::prune(&self.applier, live, stale, &owner(&self.set)).await?)
    }

    /// Deletes the objects that the set no longer renders, and returns those that its inventory must keep.
    async fn collect_garbage(
        &mut self,
        desired: &DesiredSet,
        applied: &[ObjectId],
        live: &mut LiveObjects,
    ) -> Result<Vec<ObjectId>, Stop> {
        let planned = self.stale(applied, live).await?;
        if let Some(why) = prune_hold(&self.set, desired) {
            if desired.inputs.is_being_exported() {
                self.look_again = Some(EXPORT_PAUSE);
            }
            let kept: Vec<ObjectId> = planned.into_iter().map(|one| one.object).collect();
            if !kept.is_empty() {
                let message = format!("{} objects are not pruned: {why}", kept.len());
                self.warnings.push(message.clone());
                let event = Event { warning: true, reason: reason::PRUNING_WITHHELD, message, revision: None };
                self.announcer.event(event);
            }
            self.announce_changes("", None);
            return Ok(kept);
        }
        let mut note = None;
        if !planned.is_empty() {
            self.record_ownership(applied.iter()).await?;
            self.begin(Stage::Prune, planned.len());
            let owner = owner(&self.set);
            let removed = prune::collect(self.context(), live, &planned, &owner, STAGE_TIMEOUT).await?;
            let deleted = removed.changes.iter().filter(|change| change.action == Action::Deleted).count();
            self.changes.extend(removed.changes);
            if desired.inputs.are_missing && deleted > 0 {
                note = Some(format!("{deleted} objects pruned: the providers export no inputs"));
            }
            if let Some(interrupt) = removed.interrupt {
                return Err(Failure::Interrupted(interrupt).into());
            }
            if !removed.errors.is_empty() {
                self.announce_changes("", note);
                return Err(Failure::Prune(removed.errors).into());
            }
        }
        self.announce_changes("", note);
        Ok(vec![])
    }

    async fn wait_for_health(&mut self, step: &DesiredStep, live: &mut LiveObjects) -> Result<(), Stop> {
        let ids = step.ids();
        let is_current = |id: &ObjectId| live.get(id).is_some_and(|live| kstatus::compute_for_flux(live).is_current());
        if ids.iter().all(is_current) {
            return Ok(());
        }
        self.begin(Stage::Health, ids.len());
        if !conditions::is_true(&self.writer.status.conditions, condition::RECONCILING) {
            self.writer.progressing(IN_PROGRESS);
        }
        self.writer.write(self.cluster).await?;
        let own = Instant::now() + step.timeout.unwrap_or_else(|| self.set.timeout());
        let deadline = self.options.health_deadline.map_or(own, |limit| own.min(limit));
        health::wait(self.context(), live, &ids, Goal::HealthyOrFailed, deadline, InterruptPolicy::All)
            .await?
            .into_result()
    }

    /// Records how the run ended, unless it must not write anything.
    async fn end(mut self, ended: Result<(), Stop>) -> Result<Outcome, ReconcileError> {
        let failure = match ended {
            Ok(()) => None,
            Err(Stop::Failed(failure)) => Some(failure),
            Err(Stop::Abort(error)) => {
                self.announcer.finish().await;
                return Err(error);
            }
        };
        if let Some(DeferredWrite::Written { .. }) = &self.unstored
            && let Some(Failure::ResourceSet(failure)) = &failure
            && failure.reason == reason::BUILD_FAILED
        {
            // A working set is not replaced by one that cannot be built.
            return Err(ReconcileError::ResourceSet(failure.clone()));
        }
        // A set is stored even if its run failed. Its status then says why.
        match self.store().await {
            Ok(()) => {}
            Err(Stop::Abort(error)) => return Err(error),
            Err(Stop::Failed(Failure::Call(error))) => return Err(error.into()),
            Err(Stop::Failed(_)) => {}
        }
        self.begin(Stage::Status, 0);
        let (reason, message) = match &failure {
            None => (reason::RECONCILIATION_SUCCEEDED, messages::finished(self.begun.elapsed())),
            Some(failure) => self.explain(failure),
        };
        self.record(failure.as_ref(), reason, &message);
        let outcome = self.outcome(failure, reason, message);
        let (written, ()) = tokio::join!(self.writer.write(self.cluster), self.announcer.finish());
        self.progress.report(Update::Finished { ready: outcome.is_ready(), message: outcome.message.clone() });
        outcome.recorded(written)
    }

    /// Returns reason and message of the Ready condition.
    fn explain(&self, failure: &Failure) -> (&'static str, String) {
        let failed = |text: String| {
            (reason::RECONCILIATION_FAILED, format!("reconciliation failed: {}{text}", self.step_prefix))
        };
        match failure {
            Failure::ResourceSet(failure) => (failure.reason, failure.message.clone()),
            Failure::Apply(errors) => failed(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")),
            Failure::Prune(errors) => {
                let errors: String = errors.iter().map(|(id, error)| format!("{id} {};", error.sentence())).collect();
                failed(format!("delete failed, errors: {errors}"))
            }
            Failure::Unhealthy { timed_out, objects } => failed(messages::unhealthy(*timed_out, objects)),
            Failure::Call(error) => failed(format!("{error}: {}", error.reason)),
            Failure::Interrupted(Interrupt::Superseded(by)) => {
                (reason::HEALTH_CHECK_CANCELED, format!("New reconciliation triggered by {by}"))
            }
            Failure::Interrupted(Interrupt::Stop(why)) => {
                (reason::HEALTH_CHECK_CANCELED, format!("Reconciliation of {} stopped: {why}", self.set.id()))
            }
            Failure::Suspended => (reason::RECONCILIATION_DISABLED, "Reconciliation is disabled".to_owned()),
            Failure::Artifact(error) => failed(error.sentence()),
            Failure::Build(error) => failed(error.to_string()),
            Failure::RolledBack { detail, .. } => failed(detail.clone()),
        }
    }

    /// Records the end of the run in the conditions, the history and an event.
    fn record(&mut self, failure: Option<&Failure>, reason: &'static str, message: &str) {
        let event = |warning: bool, message: &str| Event {
            warning,
            reason,
            message: message.trim_end().to_owned(),
            revision: None,
        };
        let before = conditions::get(&self.writer.status.conditions, condition::READY);
        let is_news = before.is_none_or(|ready| ready.reason != reason);
        match failure {
            None => {
                self.writer.ready(message);
                self.writer.handle_request();
                self.announcer.event(event(false, message));
            }
            Some(Failure::Suspended) => {
                self.writer.handle_request();
                self.announcer.event(event(true, message));
                return;
            }
            // The request was not served; the next run does that.
            Some(Failure::Interrupted(interrupt)) => {
                self.writer.failed(reason, message);
                self.announcer.event(event(false, &messages::interrupted(interrupt)));
                return;
            }
            Some(Failure::ResourceSet(failure)) if matches!(failure.retry, RetryPolicy::After(_)) => {
                self.writer.failed(reason, message);
                self.writer.handle_request();
                // Otherwise a set that waits for a dependency would repeat the event at every attempt.
                if is_news {
                    self.announcer.event_and_notify(event(false, message));
                }
                return;
            }
            Some(failed) => {
                match failed {
                    Failure::ResourceSet(failure) if failure.retry == RetryPolicy::Never => {
                        self.writer.stalled(reason, message);
                    }
                    _ => self.writer.failed(reason, message),
                }
                self.writer.handle_request();
                self.announcer.event_and_notify(event(true, message));
            }
        }
        let duration = self.begun.elapsed();
        match (&self.digest, reason) {
            (_, reason::INVALID_CEL_EXPRESSION) => {}
            // There are no objects, so the digest of the spec stands for the revision.
            (_, reason::BUILD_FAILED) => self.writer.record(history::spec_digest(&self.set.spec), None, duration),
            (Some(digest), _) => self.writer.record(digest.clone(), Some(self.facts.clone()), duration),
            (None, _) => {}
        }
    }

    fn outcome(&mut self, mut failure: Option<Failure>, reason: &'static str, message: String) -> Outcome {
        if let Some(Failure::ResourceSet(ResourceSetFailure { retry: RetryPolicy::After(pause), .. })) = &mut failure {
            *pause = self.options.requeue_dependency;
        }
        let next = match &failure {
            None => self.look_again.or(self.set.interval()),
            failure => crate::reconcile::outcome::time_until_next_run(failure.as_ref(), self.set.interval()),
        };
        Outcome {
            next,
            failure,
            reason: reason.to_owned(),
            message,
            version: None,
            revision: self.digest.take(),
            changes: std::mem::take(&mut self.changes),
            warnings: std::mem::take(&mut self.warnings),
            migrated: vec![],
            sources: std::mem::take(&mut self.sources.read),
            duration: self.begun.elapsed(),
        }
    }
}
