//! One reconciliation, from the instance to its status.
//!
//! ```text
//! lease -> build -> survey -> plan -> apply (definitions, classes, objects) -> prune -> wait -> migrate -> status
//! ```

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::announce::{Announcer, Notifications};
use super::apply::{self, Change, Site};
use super::draft::{built, make_plan, survey, trusted, wanted};
use super::health::{self, Goal, Waited};
use super::interrupt::{Interrupt, Interrupts};
use super::messages;
use super::migrate;
use super::operator;
use super::outcome::{Failure, Outcome, ReconcileError, explain};
use super::plan::{self, ApplyStage, Plan, Step};
use super::progress::{Action, Progress, Stage, Update};
use super::status::{IN_PROGRESS, StatusBook, instance_id, is_forced};
use super::survey::Survey;
use crate::api::well_known::{self, FINALIZER, FORCE_AT_ANNOTATION, reason};
use crate::api::{FluxInstance, InventoryEntry, history, inventory};
use crate::build;
use crate::cluster::Cluster;
use crate::cluster::events::Event;
use crate::cluster::lease::{HeldLease, LeaseOptions};
use crate::cluster::requests::{CallError, Propagation};
use crate::distribution::Distribution;
use crate::k8s::ObjectId;

/// How long definitions, namespaces and roles may take to be in force.
const STAGE_TIMEOUT: Duration = Duration::from_secs(60);

/// How a run works.
#[derive(Clone, Debug)]
pub struct Options {
    /// The lease to take; `None` when the caller holds it already, as the controller does.
    pub lease: Option<LeaseOptions>,
    /// Work although an operator is alive.
    pub force: bool,
    /// Requests at a time within a stage.
    pub concurrency: usize,
    /// Field managers to take over besides the usual ones.
    pub extra_managers: Vec<String>,
    /// When the health check ends at the latest; after the instance's `reconcileTimeout` it ends anyway.
    pub health_deadline: Option<Instant>,
    /// Patches without effect and images without digests are errors.
    pub strict: bool,
    pub notifications: Option<Notifications>,
    pub interrupts: Interrupts,
}

impl Options {
    /// Options of a run that takes the lease itself.
    pub fn in_process(identity: impl Into<String>) -> Self {
        Options { lease: Some(LeaseOptions::new(identity)), ..Options::default() }
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            lease: None,
            force: false,
            concurrency: 16,
            extra_managers: vec![],
            health_deadline: None,
            strict: false,
            notifications: None,
            interrupts: super::interrupt::never(),
        }
    }
}

/// Reconciles an instance: builds, plans and carries the plan out, with the status on the object.
///
/// Dropping the future at any point leaves a state that the next run completes; the inventory in the status then already
/// names everything that may have been created.
///
/// # Errors
/// Another reconciler is at work, or the API server cannot be reached to record the outcome.
pub async fn run(
    cluster: &Cluster,
    instance: &FluxInstance,
    distribution: &Distribution,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Outcome, ReconcileError> {
    leased(cluster, instance, options, progress, |run| Box::pin(run.reconcile(distribution))).await
}

/// Carries out a plan that was made earlier, exactly; a cluster that has moved since is refused.
///
/// # Errors
/// As [`run`], and when the instance or any object of the plan is not what the plan was made from.
pub async fn execute(
    cluster: &Cluster,
    instance: &FluxInstance,
    plan: Plan,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Outcome, ReconcileError> {
    leased(cluster, instance, options, progress, |run| Box::pin(run.execute(plan))).await
}

type Work<'a> = std::pin::Pin<Box<dyn Future<Output = Result<Outcome, ReconcileError>> + Send + 'a>>;

/// Does the work under the lease, and stops when the lease is lost.
async fn leased<'a>(
    cluster: &'a Cluster,
    instance: &'a FluxInstance,
    options: &'a Options,
    progress: &'a dyn Progress,
    work: impl FnOnce(Run<'a>) -> Work<'a>,
) -> Result<Outcome, ReconcileError> {
    let run = Run::new(cluster, instance, options, progress);
    if instance.is_suspended() {
        return run.suspended().await;
    }
    let Some(lease) = &options.lease else { return work(run).await };
    let held = take_lease(cluster, instance.namespace_or_default(), lease, progress).await?;
    let outcome = tokio::select! {
        outcome = work(run) => outcome,
        () = held.lost() => Err(ReconcileError::LeaseLost { namespace: instance.namespace_or_default().to_owned() }),
    };
    held.release().await;
    outcome
}

/// Takes the lease, telling who is waited for.
pub(super) async fn take_lease(
    cluster: &Cluster,
    namespace: &str,
    options: &LeaseOptions,
    progress: &dyn Progress,
) -> Result<HeldLease, ReconcileError> {
    progress.report(Update::StageBegan { stage: Stage::Lease, objects: 0 });
    let waiting = |holder: &str| progress.report(Update::WaitingForLease { holder: holder.to_owned() });
    let held = cluster.take_lease(namespace, options, waiting).await;
    held.map_err(|source| ReconcileError::Lease { namespace: namespace.to_owned(), source })
}

/// One run: what it works with and what it has done so far.
pub(super) struct Run<'a> {
    cluster: &'a Cluster,
    instance: &'a FluxInstance,
    options: &'a Options,
    progress: &'a dyn Progress,
    begun: Instant,
    book: StatusBook,
    announcer: Announcer,
    changes: Vec<Change>,
    warnings: Vec<String>,
    migrated: Vec<String>,
    version: Option<String>,
    revision: Option<String>,
}

impl<'a> Run<'a> {
    fn new(cluster: &'a Cluster, instance: &'a FluxInstance, options: &'a Options, progress: &'a dyn Progress) -> Self {
        let mut involved = json!({"apiVersion": well_known::API_VERSION, "kind": "FluxInstance"});
        // The type has a JSON form; without it events would name nothing.
        involved["metadata"] = serde_json::to_value(&instance.metadata).unwrap_or_default();
        Run {
            cluster,
            instance,
            options,
            progress,
            begun: Instant::now(),
            book: StatusBook::open(instance),
            announcer: Announcer::new(cluster, involved, options.notifications.clone()),
            changes: vec![],
            warnings: vec![],
            migrated: vec![],
            version: None,
            revision: None,
        }
    }

    fn site(&self) -> Site<'a> {
        Site {
            cluster: self.cluster,
            extra_managers: &self.options.extra_managers,
            concurrency: self.options.concurrency,
            interrupts: &self.options.interrupts,
            progress: self.progress,
        }
    }

    fn began(&self, stage: Stage, objects: usize) {
        self.progress.report(Update::StageBegan { stage, objects });
    }

    /// Records a Kubernetes event; with `revision` only where the reference carries one.
    fn event(&mut self, warning: bool, reason: &'static str, message: String, with_revision: bool) {
        let event = self.make_event(warning, reason, message, with_revision);
        self.announcer.event(event);
    }

    fn make_event(&self, warning: bool, reason: &'static str, message: String, with_revision: bool) -> Event {
        let revision = self.book.status.last_attempted_revision.clone().filter(|_| with_revision);
        Event { warning, reason, message, revision }
    }

    async fn reconcile(mut self, distribution: &Distribution) -> Result<Outcome, ReconcileError> {
        self.began(Stage::Build, 0);
        let built = match built(self.instance, distribution, self.options) {
            Ok(built) => built,
            Err(error) => return self.end(Some(Failure::Build(error))).await,
        };
        self.version = Some(built.version.name.clone());
        self.revision = Some(built.revision.to_string());
        self.began(Stage::Plan, built.objects.len());
        let mut survey = match survey(self.cluster, self.instance, &built, self.options).await {
            Ok(survey) => survey,
            Err(error) => return self.end(Some(Failure::Call(error))).await,
        };
        let operator = self.check_operator(&survey)?;
        let trusted = trusted(self.instance, &built);
        let plan = match make_plan(self.cluster, self.instance, &built, &mut survey, &trusted, self.options).await {
            Ok(plan) => plan,
            Err(failure) => {
                self.book.status.last_attempted_revision = self.revision.clone();
                return self.end(Some(failure)).await;
            }
        };
        self.carry_out(plan, survey, operator).await
    }

    async fn execute(mut self, plan: Plan) -> Result<Outcome, ReconcileError> {
        let id = instance_id(self.instance);
        let same = plan.instance.uid == self.instance.metadata.uid.clone().unwrap_or_default()
            && plan.instance.generation == self.instance.metadata.generation.unwrap_or_default()
            && plan.instance.name == id.name
            && plan.instance.namespace == id.namespace;
        if !same {
            return Err(ReconcileError::PlanOutdated { instance: id });
        }
        self.version = Some(plan.version.clone());
        self.revision = Some(plan.revision.clone());
        self.began(Stage::Plan, plan.objects.len());
        let ids = plan.objects.iter().map(|object| object.object.clone()).collect();
        let mut survey = Survey::take(self.cluster, &wanted(self.instance, ids), self.options.concurrency).await?;
        let operator = self.check_operator(&survey)?;
        let moved = plan::moved(self.cluster, &mut survey, &plan).await?;
        // What was not to be touched may have moved too: then the plan is no longer the whole truth.
        if !moved.is_empty() {
            return Err(ReconcileError::Moved { objects: moved });
        }
        self.carry_out(plan, survey, operator).await
    }

    /// Returns whether an operator is installed, and refuses to work beside a live one.
    fn check_operator(&self, survey: &Survey) -> Result<bool, ReconcileError> {
        let namespace = self.instance.namespace_or_default();
        let operator = operator::among(survey.of_kind("apps", "Deployment"), namespace);
        // Without a lease of our own to take, the operator is us.
        if let Some(operator) = operator.as_ref().filter(|operator| operator.alive)
            && self.options.lease.is_some()
            && !self.options.force
        {
            return Err(ReconcileError::OperatorAlive { operator: operator.state.clone() });
        }
        Ok(operator.is_some())
    }

    async fn carry_out(mut self, plan: Plan, mut survey: Survey, operator: bool) -> Result<Outcome, ReconcileError> {
        self.warnings.extend(plan.warnings.iter().cloned());
        for warning in &self.warnings {
            self.progress.report(Update::Warning { message: warning.clone() });
        }
        let previous = self.book.status.last_attempted_revision.clone();
        if previous.as_ref() != Some(&plan.revision) {
            if let Some(latest) = &plan.newer {
                self.event(false, reason::OUTDATED_VERSION, messages::outdated(&plan.version, latest), false);
            }
            self.event(false, reason::PROGRESSING, messages::attempted(&plan.revision, previous.as_deref()), false);
        }
        self.book.status.last_attempted_revision = Some(plan.revision.clone());
        let ids: Vec<ObjectId> = plan.objects.iter().map(|object| object.object.clone()).collect();
        let waits = self.instance.spec.waits();
        let settled = !waits
            || ids.iter().all(|id| survey.get(id).is_some_and(|live| crate::k8s::kstatus::compute(live).is_current()));
        if plan.has_changes() || !settled {
            // Whatever happens from here on, everything that may exist is on record.
            let owed = self.book.status.inventory.take().map(|inventory| inventory.entries).unwrap_or_default();
            self.book.status.inventory = Some(inventory::merge(inventory::of(&ids), &owed));
            self.book.progressing(IN_PROGRESS);
            self.book.write(self.cluster).await?;
            if operator {
                self.add_finalizer().await?;
            }
            if let Some(failure) = self.change(&plan, &mut survey, &ids).await? {
                return self.end(Some(failure)).await;
            }
        }
        if waits && let Some(failure) = self.wait(&mut survey, &ids).await? {
            return self.end(Some(failure)).await;
        }
        self.migrate(&plan, &mut survey).await?;
        let done = &mut self.book.status;
        done.inventory = Some(inventory::of(&ids));
        done.components = plan.images.clone();
        done.last_applied_revision = Some(plan.revision.clone());
        done.last_artifact_revision = None;
        if let Some(token) = self.instance.annotation(FORCE_AT_ANNOTATION) {
            done.last_handled_force_at = Some(token.to_owned());
        }
        self.end(None).await
    }

    /// Applies and prunes; what was done is announced at once, whatever comes after it.
    async fn change(
        &mut self,
        plan: &Plan,
        survey: &mut Survey,
        ids: &[ObjectId],
    ) -> Result<Option<Failure>, ReconcileError> {
        let first_install = self.book.status.last_applied_revision.is_none();
        let mut failure = None;
        // Definitions, namespaces, roles and classes that were changed and are not known to be in force yet.
        let mut fresh = vec![];
        for (stage, name) in [
            (ApplyStage::Definitions, Stage::ApplyDefinitions),
            (ApplyStage::Classes, Stage::ApplyClasses),
            (ApplyStage::Objects, Stage::ApplyObjects),
        ] {
            failure = self.apply(plan, survey, stage, name, &mut fresh).await?;
            if failure.is_none() && (stage == ApplyStage::Objects || plan.needs_definitions()) {
                failure = self.in_force(survey, std::mem::take(&mut fresh)).await?;
            }
            if failure.is_some() {
                break;
            }
        }
        if failure.is_none() {
            failure = self.prune(plan, survey, ids).await?;
            self.book.status.components = plan.images.clone();
        }
        if self.changes.iter().any(|change| change.action != Action::Unchanged) {
            let changes: Vec<(String, Action)> =
                self.changes.iter().map(|change| (change.object.to_string(), change.action)).collect();
            let text = messages::applied(&plan.version, first_install, &changes);
            let event = self.make_event(false, reason::RECONCILIATION_SUCCEEDED, text, true);
            // A first apply that failed has installed nothing yet.
            if failure.is_none() {
                self.announcer.event_and_notify(event);
            }
        }
        Ok(failure)
    }

    /// Writes the stage into the status while the stage works; a status that cannot be written stops nothing.
    async fn tell_stage(&mut self, stage: Stage) {
        self.book.progressing(stage.message());
        if let Err(error) = self.book.write(self.cluster).await {
            tracing::debug!("the stage is not in the status: {error}");
        }
    }

    async fn apply(
        &mut self,
        plan: &Plan,
        survey: &mut Survey,
        stage: ApplyStage,
        name: Stage,
        fresh: &mut Vec<ObjectId>,
    ) -> Result<Option<Failure>, ReconcileError> {
        let planned: Vec<_> = plan
            .objects
            .iter()
            .filter(|object| plan::stage(&object.object) == stage && object.step != Step::Unchanged)
            .collect();
        if planned.is_empty() {
            return Ok(None);
        }
        self.began(name, planned.len());
        let work = apply::objects(self.site(), survey, &planned);
        let (applied, ()) = tokio::join!(work, self.tell_stage(name));
        if stage != ApplyStage::Objects {
            let changed = applied.changes.iter().filter(|change| change.action != Action::Unchanged);
            fresh.extend(changed.map(|change| change.object.clone()));
        }
        self.changes.extend(applied.changes);
        if !applied.errors.is_empty() {
            return Ok(Some(Failure::Apply(applied.errors)));
        }
        Ok(applied.interrupt.map(Failure::Interrupted))
    }

    /// Waits until what later stages build on is there: definitions served, namespaces active.
    async fn in_force(&mut self, survey: &mut Survey, fresh: Vec<ObjectId>) -> Result<Option<Failure>, ReconcileError> {
        let deadline = Instant::now() + STAGE_TIMEOUT;
        let interrupts = stops(&self.options.interrupts);
        let waited =
            health::wait(self.cluster, survey, &fresh, Goal::Healthy, deadline, &interrupts, self.progress).await?;
        Ok(match waited {
            Waited::Reached => None,
            Waited::Unhealthy { timed_out, objects } => Some(Failure::Unhealthy { timed_out, objects }),
            Waited::Interrupted(interrupt) => Some(Failure::Interrupted(interrupt)),
        })
    }

    async fn prune(
        &mut self,
        plan: &Plan,
        survey: &mut Survey,
        ids: &[ObjectId],
    ) -> Result<Option<Failure>, ReconcileError> {
        let mut owed: Vec<InventoryEntry> = vec![];
        let mut failure = None;
        if !plan.prune.is_empty() {
            self.began(Stage::Prune, plan.prune.len());
            let owner = (plan.instance.name.as_str(), plan.instance.namespace.as_str());
            let work = apply::prune(self.site(), survey, &plan.prune, owner, Propagation::Background);
            let (pruned, ()) = tokio::join!(work, self.tell_stage(Stage::Prune));
            self.changes.extend(pruned.changes);
            owed.extend(pruned.errors.iter().map(|(object, _)| InventoryEntry::from(object)));
            owed.extend(pruned.left.iter().map(InventoryEntry::from));
            if let Some(interrupt) = pruned.interrupt {
                failure = Some(Failure::Interrupted(interrupt));
            } else if !pruned.errors.is_empty() {
                failure = Some(Failure::Prune(pruned.errors));
            }
        }
        // What could not be deleted is still ours to delete.
        self.book.status.inventory = Some(inventory::merge(inventory::of(ids), &owed));
        Ok(failure)
    }

    async fn wait(&mut self, survey: &mut Survey, ids: &[ObjectId]) -> Result<Option<Failure>, ReconcileError> {
        let current =
            |id: &ObjectId| survey.get(id).is_some_and(|live| crate::k8s::kstatus::compute(live).is_current());
        if ids.iter().all(current) {
            return Ok(None);
        }
        self.began(Stage::Health, ids.len());
        let own = Instant::now() + self.instance.timeout();
        let deadline = self.options.health_deadline.map_or(own, |limit| own.min(limit));
        let (cluster, options, progress) = (self.cluster, self.options, self.progress);
        let work = health::wait(cluster, survey, ids, Goal::Healthy, deadline, &options.interrupts, progress);
        let (waited, ()) = tokio::join!(work, self.tell_stage(Stage::Health));
        Ok(match waited {
            Ok(Waited::Reached) => None,
            Ok(Waited::Unhealthy { timed_out, objects }) => Some(Failure::Unhealthy { timed_out, objects }),
            Ok(Waited::Interrupted(interrupt)) => Some(Failure::Interrupted(interrupt)),
            Err(error) => Some(Failure::Call(error)),
        })
    }

    /// Rewrites stored objects where an upgrade asks for it. What fails here is a warning: Flux works, and the next minor
    /// upgrade tries again.
    async fn migrate(&mut self, plan: &Plan, survey: &mut Survey) -> Result<(), ReconcileError> {
        if !self.instance.spec.migrates_resources() {
            return Ok(());
        }
        let upgraded = build::is_minor_upgrade(plan.previous_revision.as_deref().unwrap_or_default(), &plan.version)
            .unwrap_or(false);
        let due = migrate::due(survey, is_forced(self.instance) || upgraded);
        if due.is_empty() {
            return Ok(());
        }
        self.began(Stage::Migrate, due.len());
        let (cluster, options, progress) = (self.cluster, self.options, self.progress);
        let work = migrate::definitions(cluster, &due, options.concurrency, progress);
        let (report, ()) = tokio::join!(work, self.tell_stage(Stage::Migrate));
        self.migrated = report.migrated;
        for (definition, error) in report.errors {
            let message = format!("cannot migrate {definition}: {}", error.explained.reason);
            self.progress.report(Update::Warning { message: message.clone() });
            self.warnings.push(message);
        }
        Ok(())
    }

    /// An operator that finds the object later must be asked before it goes away.
    async fn add_finalizer(&self) -> Result<(), CallError> {
        let mut finalizers = self.instance.metadata.finalizers.clone().unwrap_or_default();
        if finalizers.iter().any(|finalizer| finalizer == FINALIZER)
            || self.instance.metadata.deletion_timestamp.is_some()
        {
            return Ok(());
        }
        finalizers.push(FINALIZER.to_owned());
        let patch = json!({"metadata": {"finalizers": finalizers}});
        self.cluster
            .merge_patch(&instance_id(self.instance), None, &patch, well_known::RECONCILER_FIELD_MANAGER)
            .await
            .map(drop)
    }

    /// A suspended instance is left as it is, but whoever asked for a run learns that it was heard.
    async fn suspended(mut self) -> Result<Outcome, ReconcileError> {
        let message = "Reconciliation is disabled".to_owned();
        self.event(true, reason::RECONCILIATION_DISABLED, message.clone(), false);
        self.book.handle_request();
        self.book.write(self.cluster).await?;
        self.announcer.finish().await;
        Ok(Outcome {
            failure: Some(Failure::Suspended),
            reason: reason::RECONCILIATION_DISABLED.into(),
            message,
            version: None,
            revision: None,
            changes: vec![],
            warnings: vec![],
            migrated: vec![],
            duration: self.begun.elapsed(),
        })
    }

    /// Ends the run: one write with conditions, tokens, history and inventory, and the event that says the same.
    async fn end(mut self, failure: Option<Failure>) -> Result<Outcome, ReconcileError> {
        self.began(Stage::Status, 0);
        let duration = self.begun.elapsed();
        let digest =
            self.revision.as_deref().and_then(|revision| revision.split_once('@')).map(|(_, digest)| digest.to_owned());
        let version = self.version.clone();
        let (reason, message) = match &failure {
            None => (reason::RECONCILIATION_SUCCEEDED, messages::finished(duration)),
            Some(failure) => explain(failure, &instance_id(self.instance)),
        };
        match &failure {
            None => {
                self.book.ready(&message);
                self.book.handle_request();
                self.event(false, reason, message.clone(), true);
            }
            // The request was not served: the run that comes next does.
            Some(Failure::Interrupted(interrupt)) => {
                self.book.failed(reason, &message);
                let text = match interrupt {
                    Interrupt::Superseded(by) => {
                        format!("Health checks canceled due to new reconciliation triggered by {by}")
                    }
                    Interrupt::Stop(why) => format!("Reconciliation stopped: {why}"),
                };
                self.event(false, reason::HEALTH_CHECK_CANCELED, text, false);
            }
            Some(Failure::Build(_)) => {
                self.book.stalled(reason, &message);
                self.book.handle_request();
                let event = self.make_event(true, reason, message.clone(), true);
                self.announcer.event_and_notify(event);
            }
            Some(_) => {
                self.book.failed(reason, &message);
                self.book.handle_request();
                let event = self.make_event(true, reason, message.clone(), true);
                self.announcer.event_and_notify(event);
            }
        }
        match &failure {
            Some(Failure::Build(_)) => self.book.record(history::spec_digest(&self.instance.spec), None, duration),
            Some(Failure::Interrupted(_)) => {}
            _ => {
                if let Some(digest) = digest {
                    self.book.record(digest, version.as_deref(), duration);
                }
            }
        }
        let (written, ()) = tokio::join!(self.book.write(self.cluster), self.announcer.finish());
        self.progress.report(Update::Finished { ready: failure.is_none(), message: message.clone() });
        let outcome = Outcome {
            failure,
            reason: reason.to_owned(),
            message,
            version: self.version,
            revision: self.revision,
            changes: self.changes,
            warnings: self.warnings,
            migrated: self.migrated,
            duration,
        };
        match (written, &outcome.failure) {
            (Ok(()), _) => Ok(outcome),
            // The first failure explains the second one.
            (Err(_), Some(Failure::Call(_))) => match outcome.failure {
                Some(Failure::Call(error)) => Err(error.into()),
                _ => Ok(outcome),
            },
            (Err(error), _) => Err(error.into()),
        }
    }
}

/// Returns interrupts of which only a stop ends a short wait: a newer request for the same object waits for the stage.
fn stops(interrupts: &Interrupts) -> Interrupts {
    match &*interrupts.borrow() {
        Some(Interrupt::Superseded(_)) => super::interrupt::never(),
        _ => interrupts.clone(),
    }
}

/// Returns the instance of a value as the API server returns it.
///
/// # Errors
/// The value is not a FluxInstance.
pub fn instance_of(value: &Value) -> Result<FluxInstance, serde_json::Error> {
    serde_json::from_value(value.clone())
}
