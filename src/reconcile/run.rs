//! A reconciliation, from the instance to its status.
//!
//! ```text
//! lease -> instance -> fetch -> build -> live objects -> plan -> (the instance is stored)
//!       -> apply (definitions, classes, objects) -> prune -> wait -> migrate -> status
//! ```
//! The inputs of a run are read under the lease. Nothing is written before the plan is complete, so a refused run
//! leaves the cluster unchanged.

use futures::FutureExt;
use serde_json::Value;
use tokio::time::Instant;

use super::announce::Announcer;
use super::context::RunContext;
use super::draft::{self, SavedPlan, fetch_and_build, make_plan, objects_of_distribution, objects_to_read, read_more};
use super::fetch::Distributions;
use super::live_objects::LiveObjects;
use super::options::RunOptions;
use super::outcome::{Failure, Outcome, ReconcileError, Stop};
use super::ownership;
use super::plan::{self, Plan, fingerprint};
use super::prepare::{make_definition, make_namespace};
use super::progress::{Action, Change, IgnoredProgress, Progress, Stage, Update};
use super::status::{IN_PROGRESS, StatusWriter};
use super::stored;
use crate::api::manifest::{self, InstanceManifest, NamespaceChoice};
use crate::api::well_known::{CLI_FIELD_MANAGER, FINALIZER, REQUESTED_AT_ANNOTATION, condition};
use crate::api::{FluxInstance, InventoryEntry, Reconciled, conditions, crd};
use crate::build::{Build, WarningReason};
use crate::cluster::Cluster;
use crate::k8s::{ObjectId, fields};

mod ending;
mod lease;
mod rollback;
mod steps;

use lease::is_namespace_missing;
pub(super) use lease::under_lease;

/// Limit for restarting an apply because the instance changed while it was planned.
const STARTS: usize = 3;

/// Reconciles a stored instance: builds, plans and carries the plan out, with the status on the object.
///
/// Dropping the future at any point leaves a state that the next run completes; the inventory in the status already
/// names everything that may have been created.
///
/// # Errors
/// Another reconciler is working, the run is refused before anything is written, or the API server cannot be reached to
/// record the result.
pub async fn run(
    cluster: &Cluster,
    id: &ObjectId,
    distributions: &dyn Distributions,
    options: &RunOptions,
    progress: &dyn Progress,
) -> Result<Outcome, ReconcileError> {
    let attempt = async |cluster: Cluster| {
        let instance = stored::read(&cluster, id).await?;
        let request = options.request.as_ref().map(DeferredWrite::Request);
        Run::new(&cluster, instance, request, options, progress).reconcile(distributions).await
    };
    let mut starts = 1;
    loop {
        match under_lease(cluster, &id.namespace, options, progress, |cluster| attempt(cluster).boxed()).await {
            Err(ReconcileError::InstanceMoved { .. }) if starts < STARTS => starts += 1,
            ended => return ended,
        }
    }
}

/// Records another run of an instance without building it; call it only if nothing has changed since the last full run.
/// Only the status is written. Returns `None` if the last run did not succeed, or a run was requested since; in that
/// case, call [`run`].
///
/// # Errors
/// The status cannot be written.
pub(crate) async fn confirm(cluster: &Cluster, instance: &FluxInstance) -> Result<Option<Outcome>, ReconcileError> {
    let Some(revision) = confirmed_revision(instance) else { return Ok(None) };
    let options = RunOptions::default();
    let mut run = Run::new(cluster, instance.clone(), None, &options, &IgnoredProgress);
    run.version = revision.split_once('@').map(|(version, _)| version.to_owned());
    run.revision = Some(revision);
    run.end(Ok(())).await.map(Some)
}

/// Returns the current revision if the status says that nothing is left to do for it.
fn confirmed_revision(instance: &FluxInstance) -> Option<String> {
    let status = instance.status.as_ref()?;
    let ready = conditions::get(&status.conditions, condition::READY)?;
    let requested = instance.annotation(REQUESTED_AT_ANNOTATION);
    let is_settled = conditions::is_true(&status.conditions, condition::READY)
        && ready.observed_generation == instance.metadata.generation
        && (requested.is_none() || requested == status.last_handled_reconcile_at.as_deref())
        && status.last_attempted_revision == status.last_applied_revision
        && !instance.is_suspended();
    status.last_applied_revision.clone().filter(|_| is_settled)
}

/// Marks an object as managed: adds the finalizer and its first conditions.
///
/// # Errors
/// The object is gone or another one, or the API server refuses.
pub(crate) async fn adopt<K: Reconciled>(cluster: &Cluster, object: &K) -> Result<(), ReconcileError> {
    let mut writer = StatusWriter::open(object);
    writer.add_finalizer(cluster, FINALIZER).await?;
    if object.is_suspended() {
        writer.initialized_suspended();
    } else {
        writer.progressing(IN_PROGRESS);
    }
    writer.write(cluster).await
}

/// Applies an instance as its author wrote it, and reconciles it. Creates its definition and its namespace if they are
/// missing. Nothing is written, not even the instance, before it is certain that the run is not refused.
///
/// # Errors
/// As [`run`], and when other field managers own fields of the manifest, unless `force_conflicts`.
pub async fn apply_instance(
    cluster: &Cluster,
    manifest: &InstanceManifest,
    force_conflicts: bool,
    distributions: &dyn Distributions,
    options: &RunOptions,
    progress: &dyn Progress,
) -> Result<Outcome, ReconcileError> {
    let namespace = manifest.instance.namespace_or_default();
    let attempt = async |cluster: Cluster| {
        let (instance, live) = draft::as_it_would_be_stored(&cluster, manifest, force_conflicts).await?;
        let unstored = DeferredWrite::Written { written: &manifest.written, live, force_conflicts };
        Run::new(&cluster, instance, Some(unstored), options, progress).reconcile(distributions).await
    };
    let mut starts = 1;
    loop {
        match under_lease(cluster, namespace, options, progress, |cluster| attempt(cluster).boxed()).await {
            // A lease needs its namespace, and so does the instance.
            Err(error) if starts == 1 && is_namespace_missing(&error) => {
                // Checked first, because a refused run must not leave a namespace behind.
                ownership::refuse_second_instance(cluster, &manifest.instance).await?;
                make_namespace(cluster, namespace, progress).await?;
            }
            Err(ReconcileError::InstanceMoved { .. }) if starts < STARTS => {}
            ended => return ended,
        }
        starts += 1;
    }
}

/// Carries out exactly a plan that was made earlier. If the cluster has changed since, it is refused, and nothing is
/// written, not even the plan's instance.
///
/// # Errors
/// As [`run`], and when the instance or any object of the plan differs from the state for which the plan was made.
pub async fn execute(
    cluster: &Cluster,
    saved: &SavedPlan,
    force_conflicts: bool,
    options: &RunOptions,
    progress: &dyn Progress,
) -> Result<Outcome, ReconcileError> {
    let mut plan = saved.plan.clone();
    let id = planned_instance(&plan);
    let namespace =
        plan.objects.iter().position(|one| one.object.kind == "Namespace" && one.object.name == id.namespace);
    if let Some(object) = namespace.and_then(|at| plan.objects.get_mut(at)).filter(|object| object.seen.is_none()) {
        // Without the namespace there is no lease yet, so the plan is checked twice: before the namespace is created,
        // and under the lease. The second check ignores the namespace that we created.
        check_plan(cluster, saved, &saved.plan, force_conflicts, options).await?;
        object.seen = make_namespace(cluster, &id.namespace, progress).await?.as_ref().map(fingerprint);
    }
    let work = async |cluster: Cluster| {
        progress.report(Update::StageBegan { stage: Stage::Plan, objects: plan.objects.len() });
        let checked = check_plan(&cluster, saved, &plan, force_conflicts, options).await?;
        let written = saved.instance.as_ref();
        let unstored = written.map(|written| DeferredWrite::Written { written, live: checked.live, force_conflicts });
        let run = Run::new(&cluster, checked.instance, unstored, options, progress);
        run.execute(plan.clone(), checked.objects, checked.operator).await
    };
    under_lease(cluster, &id.namespace, options, progress, |cluster| work(cluster).boxed()).await
}

fn planned_instance(plan: &Plan) -> ObjectId {
    let mut instance = FluxInstance::new(&plan.instance.name, Default::default());
    instance.metadata.namespace = Some(plan.instance.namespace.clone());
    instance.id()
}

/// A saved plan compared with the cluster.
struct CheckedPlan {
    instance: FluxInstance,
    live: Option<Value>,
    objects: LiveObjects,
    operator: bool,
}

/// Refuses a plan whose instance or objects have changed. Writes nothing.
async fn check_plan(
    cluster: &Cluster,
    saved: &SavedPlan,
    plan: &Plan,
    force_conflicts: bool,
    options: &RunOptions,
) -> Result<CheckedPlan, ReconcileError> {
    let id = planned_instance(plan);
    let live = cluster.read(&id).await?;
    let known = live.clone().map(stored::checked::<FluxInstance>).transpose()?;
    let (uid, generation) = known.as_ref().map_or((String::new(), 0), |known| {
        (known.metadata.uid.clone().unwrap_or_default(), known.metadata.generation.unwrap_or_default())
    });
    if (uid, generation) != (plan.instance.uid.clone(), plan.instance.generation) {
        return Err(ReconcileError::PlanOutdated { instance: id });
    }
    let instance = match (&saved.instance, known) {
        (None, Some(known)) => known,
        (None, None) => return Err(ReconcileError::InstanceGone { instance: id }),
        (Some(written), known) => {
            let unreadable = |source| ReconcileError::InstanceUnreadable { instance: id.clone(), source };
            let mut instance = match &live {
                Some(_) => {
                    let stored = draft::apply_written(cluster, written, force_conflicts, true).await?;
                    FluxInstance::from_object(stored).map_err(unreadable)?
                }
                None => manifest::read(&written.to_string(), &NamespaceChoice::default())
                    .map_err(|error| unreadable(serde::de::Error::custom(error)))?
                    .instance
                    .into_inner(),
            };
            instance.status = known.and_then(|known| known.status);
            instance
        }
    };
    ownership::refuse_second_instance(cluster, &instance).await?;
    let ids = plan.objects.iter().map(|object| object.object.clone()).collect();
    let mut objects = LiveObjects::take(cluster, &objects_to_read(&instance, ids), options.plan.concurrency).await?;
    let operator = check_operator(&instance, &objects, options)?;
    let moved = plan::objects_changed_since_plan(cluster, &mut objects, plan).await?;
    // An object that the plan keeps may have changed too; then the plan is no longer complete.
    if !moved.is_empty() {
        return Err(ReconcileError::Moved { objects: moved });
    }
    let seen = plan.objects.iter().filter_map(|one| objects.get(&one.object));
    ownership::refuse_foreign_objects(cluster, &draft::owner_of(&instance), seen).await?;
    Ok(CheckedPlan { instance, live, objects, operator })
}

/// Returns whether an operator is installed, and refuses to work beside a running one.
fn check_operator(instance: &FluxInstance, live: &LiveObjects, options: &RunOptions) -> Result<bool, ReconcileError> {
    let operator = super::operator::operator_of(live.of_kind("apps", "Deployment"), instance.namespace_or_default());
    // Without a lease to take, this process is the operator.
    if let Some(operator) = operator.as_ref().filter(|operator| operator.is_running())
        && options.lease.is_some()
        && !options.force
    {
        return Err(ReconcileError::OperatorAlive { operator: operator.state.clone() });
    }
    Ok(operator.is_some())
}

/// The write to the object that starts a run. It is deferred until it is certain that the run is not refused.
pub(super) enum DeferredWrite<'a> {
    /// The object as its author wrote it.
    Written {
        written: &'a Value,
        /// The stored instance, if it exists.
        live: Option<Value>,
        force_conflicts: bool,
    },
    /// A patch that records the request for this run.
    Request(&'a Value),
}

impl DeferredWrite<'_> {
    /// Writes to the object and returns the stored result. Creates the definition of its kind first if the object is
    /// new.
    pub(super) async fn store(
        &self,
        cluster: &Cluster,
        id: &ObjectId,
        definition: fn() -> Value,
        progress: &dyn Progress,
    ) -> Result<Value, Stop> {
        match self {
            DeferredWrite::Request(patch) => {
                let stored = cluster.merge_patch(id, None, patch, CLI_FIELD_MANAGER).await?;
                progress.report(Update::RequestStored { object: id.to_string() });
                Ok(stored)
            }
            DeferredWrite::Written { written, live, force_conflicts } => {
                if live.is_none() {
                    make_definition(cluster, definition(), progress).await?;
                }
                let stored = draft::apply_written(cluster, written, *force_conflicts, false).await?;
                let version = fields::resource_version(&stored);
                let action = match live {
                    None => Action::Created,
                    // The API server keeps the resource version when an apply changes nothing.
                    Some(live) if fields::resource_version(live) == version => Action::Unchanged,
                    Some(_) => Action::Configured,
                };
                progress.report(Update::InstanceStored { object: id.to_string(), action });
                Ok(stored)
            }
        }
    }
}

/// A run: its inputs and its results so far.
struct Run<'a> {
    cluster: &'a Cluster,
    options: &'a RunOptions,
    progress: &'a dyn Progress,
    instance: FluxInstance,
    unstored: Option<DeferredWrite<'a>>,
    begun: Instant,
    writer: StatusWriter,
    announcer: Announcer,
    changes: Vec<Change>,
    warnings: Vec<String>,
    migrated: Vec<String>,
    /// Entries of the inventory that cannot be parsed; they are kept.
    unreadable: Vec<InventoryEntry>,
    version: Option<String>,
    revision: Option<String>,
    /// Why the last artifact is used again.
    artifact_warning: Option<String>,
    /// The attempted revision in the status, although another one is being restored.
    rejected: Option<String>,
}

impl<'a> Run<'a> {
    fn new(
        cluster: &'a Cluster,
        instance: FluxInstance,
        unstored: Option<DeferredWrite<'a>>,
        options: &'a RunOptions,
        progress: &'a dyn Progress,
    ) -> Self {
        Run {
            cluster,
            options,
            progress,
            begun: Instant::now(),
            writer: StatusWriter::open(&instance),
            announcer: Announcer::about(cluster, &instance, options.notifications.clone()),
            changes: vec![],
            warnings: vec![],
            migrated: vec![],
            unreadable: instance.recorded_inventory().unreadable(),
            version: None,
            revision: None,
            artifact_warning: None,
            rejected: None,
            instance,
            unstored,
        }
    }

    async fn reconcile(mut self, distributions: &dyn Distributions) -> Result<Outcome, ReconcileError> {
        if self.instance.is_suspended() {
            return self.leave_suspended().await;
        }
        // These futures are boxed because together they exceed the stack of a thread.
        let ended = match Box::pin(self.build_and_carry_out(distributions)).await {
            Err(Stop::Failed(Failure::Unhealthy { timed_out, objects })) => {
                let failure = Failure::Unhealthy { timed_out, objects };
                Box::pin(self.roll_back_if_asked(distributions, failure)).await
            }
            ended => ended,
        };
        self.end(ended).await
    }

    async fn execute(mut self, plan: Plan, live: LiveObjects, operator: bool) -> Result<Outcome, ReconcileError> {
        if self.instance.is_suspended() {
            return self.leave_suspended().await;
        }
        self.version = Some(plan.version.clone());
        self.revision = Some(plan.revision.clone());
        let ended = self.carry_out(plan, live, operator).await;
        self.end(ended).await
    }

    async fn build_and_carry_out(&mut self, distributions: &dyn Distributions) -> Result<(), Stop> {
        let (built, live) =
            fetch_and_build(self.cluster, &self.instance, distributions, &self.options.plan, self.progress).await?;
        self.artifact_warning =
            built.warnings.iter().find(|w| w.reason == WarningReason::LastGoodArtifact).map(|w| w.message.clone());
        if let Some(detail) = self.rejection_of(&built.revision.to_string()) {
            return Box::pin(self.restore(distributions, built.revision.to_string(), detail)).await;
        }
        Box::pin(self.carry_out_build(built, live)).await
    }

    /// Compares a build with the live objects, and carries out the differences.
    async fn carry_out_build(&mut self, built: Build, mut live: LiveObjects) -> Result<(), Stop> {
        self.version = Some(built.version.name.clone());
        self.revision = Some(built.revision.to_string());
        self.begin(Stage::Plan, built.objects.len());
        ownership::refuse_second_instance(self.cluster, &self.instance).await?;
        let (cluster, options) = (self.cluster, &self.options.plan);
        read_more(cluster, &self.instance, &built, &mut live, options).await?;
        let operator = check_operator(&self.instance, &live, self.options)?;
        let trusted = objects_of_distribution(&self.instance, &built);
        let planned = make_plan(cluster, &self.instance, built, &mut live, &trusted, options).await;
        // A failed plan ends the run before `carry_out`, which otherwise records the attempt.
        if let Err(Stop::Failed(_)) = &planned {
            self.writer.status.last_attempted_revision = self.revision.clone();
        }
        Box::pin(self.carry_out(planned?, live, operator)).await
    }

    /// Does the pending write to the instance.
    async fn store_instance(&mut self) -> Result<(), Stop> {
        let Some(unstored) = &self.unstored else { return Ok(()) };
        let id = self.instance.id();
        let stored = unstored.store(self.cluster, &id, crd::flux_instance, self.progress).await?;
        self.unstored = None;
        let stored = stored::checked(stored)?;
        stored::refuse_another(&self.instance, &stored)?;
        // The status is opened again, and must not lose the revision that this run has already noted as attempted.
        let attempted = self.writer.status.last_attempted_revision.take();
        self.writer = StatusWriter::open(&stored);
        if attempted.is_some() {
            self.writer.status.last_attempted_revision = attempted;
        }
        self.announcer = Announcer::about(self.cluster, &stored, self.options.notifications.clone());
        self.instance = stored;
        Ok(())
    }

    fn context(&self) -> RunContext<'a> {
        RunContext {
            cluster: self.cluster,
            extra_managers: &self.options.plan.extra_managers,
            concurrency: self.options.plan.concurrency,
            interrupts: &self.options.interrupts,
            progress: self.progress,
        }
    }

    fn begin(&self, stage: Stage, objects: usize) {
        self.progress.report(Update::StageBegan { stage, objects });
    }
}
