//! The steps that change the cluster. Each returns `Err` when the run ends there.

use tokio::time::{Duration, Instant};

use super::{DeferredWrite, Run};
use crate::api::inventory;
use crate::api::well_known::{FINALIZER, FORCE_AT_ANNOTATION, reason};
use crate::api::{InventoryEntry, Reconciled};
use crate::build;
use crate::cluster::events::Event;
use crate::k8s::ObjectId;
use crate::k8s::kstatus::{self, Status};
use crate::reconcile::apply;
use crate::reconcile::custom_resources::CustomResources;
use crate::reconcile::draft;
use crate::reconcile::health::{self, Goal, WaitEnd};
use crate::reconcile::interrupt::{InterruptPolicy, requested_stop};
use crate::reconcile::kept_builds::{self, KeptBuild};
use crate::reconcile::live_objects::LiveObjects;
use crate::reconcile::messages::{self, UnhealthyObject};
use crate::reconcile::migrate;
use crate::reconcile::options::Consent;
use crate::reconcile::outcome::{Failure, ReconcileError, Stop};
use crate::reconcile::ownership;
use crate::reconcile::plan::{self, ApplyStage, Plan, Step};
use crate::reconcile::progress::{Action, Stage, Update};
use crate::reconcile::prune::{self, RemovalOptions};
use crate::reconcile::status::{IN_PROGRESS, is_forced};

/// Limit for definitions, namespaces, cluster roles and classes to take effect.
const STAGE_TIMEOUT: Duration = Duration::from_secs(60);

impl Run<'_> {
    pub(super) async fn carry_out(&mut self, plan: Plan, mut live: LiveObjects, operator: bool) -> Result<(), Stop> {
        if self.options.consent < Consent::Pruned {
            let (pruned, downgrade) = (plan.pruned(), plan.downgrade());
            if !pruned.is_empty() || downgrade.is_some() {
                let instance = self.instance.id();
                return Err(Stop::Abort(ReconcileError::Destructive { instance, pruned, downgrade }));
            }
        }
        let lost: Vec<_> = plan.lost_custom_resources().map(|(id, lost)| (id.clone(), lost.clone())).collect();
        let is_agreed = |(id, lost): &(ObjectId, CustomResources)| {
            let counts = self.options.agreed.as_ref();
            counts.is_none_or(|counts| counts.get(id).is_some_and(|agreed| lost.count <= *agreed))
        };
        if !lost.is_empty() && (self.options.consent < Consent::CustomResources || !lost.iter().all(is_agreed)) {
            return Err(Stop::Abort(ReconcileError::CustomResourcesLost { definitions: lost }));
        }
        if let Some(stop) = requested_stop(&self.options.interrupts) {
            return Err(Failure::Interrupted(stop).into());
        }
        let is_new = matches!(self.unstored, Some(DeferredWrite::Written { live: None, .. }));
        self.store_instance().await?;
        if is_new {
            // Two first installations that start together cannot see each other before they are stored. Each checks
            // again afterwards, so at most one of them continues.
            ownership::refuse_second_instance(self.cluster, &self.instance).await?;
        }
        self.warnings.extend(plan.warnings.iter().cloned());
        for warning in &self.warnings {
            self.progress.report(Update::Warning { message: warning.clone() });
        }
        self.announce_attempt(&plan);
        if let Some(message) = self.artifact_warning.take() {
            self.event(true, reason::ARTIFACT_FAILED, message, false);
        }
        let ids: Vec<ObjectId> = plan.objects.iter().map(|object| object.object.clone()).collect();
        let waits = self.options.wait && self.instance.spec.waits();
        let settled = !waits || ids.iter().all(|id| is_current(&live, id));
        if plan.has_changes() || !settled {
            // From here on, everything that may exist is in the inventory.
            let owed = self.writer.status.inventory.take().map(|inventory| inventory.entries).unwrap_or_default();
            self.writer.status.inventory = Some(inventory::merge(inventory::of(&ids), &owed));
            self.writer.progressing(IN_PROGRESS);
            self.writer.write(self.cluster).await?;
            if operator {
                // An operator that takes the object over later must be able to clean up before it is deleted.
                self.writer.add_finalizer(self.cluster, FINALIZER).await?;
            }
            self.writer.refuse_if_being_deleted()?;
            self.change(&plan, &mut live, &ids).await?;
        }
        if waits {
            self.wait_for_health(&mut live, &ids).await?;
        }
        self.migrate(&plan, &mut live).await;
        let done = &mut self.writer.status;
        done.inventory = Some(inventory::merge(inventory::of(&ids), &self.unreadable));
        done.components = plan.images.clone();
        done.last_applied_revision = Some(plan.revision.clone());
        done.last_artifact_revision.clone_from(&plan.artifact);
        if let Some(token) = self.instance.annotation(FORCE_AT_ANNOTATION) {
            done.last_handled_force_at = Some(token.to_owned());
        }
        // A revision that was in place before was kept by its first run.
        if plan.previous_revision.as_ref() != Some(&plan.revision) {
            let build = KeptBuild::of(&self.instance, &plan.revision, plan.artifact.as_deref());
            if let Err(error) = kept_builds::keep(self.cluster, &self.instance, &build).await {
                let message = format!("cannot store the revision for a rollback: {}", error.sentence());
                self.progress.report(Update::Warning { message });
            }
        }
        let range = &self.instance.spec.distribution.version;
        self.writer.up_to_date(&plan.version, plan.newer.as_deref(), range);
        Ok(())
    }

    /// Announces a revision that was not attempted before.
    fn announce_attempt(&mut self, plan: &Plan) {
        if self.rejected.is_some() {
            return;
        }
        let previous = self.writer.status.last_attempted_revision.clone();
        if previous.as_ref() != Some(&plan.revision) {
            if let Some(latest) = &plan.newer {
                self.event(false, reason::OUTDATED_VERSION, messages::outdated(&plan.version, latest), false);
            }
            self.event(false, reason::PROGRESSING, messages::attempted(&plan.revision, previous.as_deref()), false);
        }
        self.writer.status.last_attempted_revision = Some(plan.revision.clone());
    }

    /// Applies and prunes; reports the changes at once, regardless of later steps.
    async fn change(&mut self, plan: &Plan, live: &mut LiveObjects, ids: &[ObjectId]) -> Result<(), Stop> {
        let first_install = self.writer.status.last_applied_revision.is_none();
        self.apply_stages(plan, live).await?;
        let pruned = self.prune(plan, live, ids).await;
        self.writer.status.components = plan.images.clone();
        // A failed first apply has not installed anything yet.
        if pruned.is_ok() && self.changes.iter().any(|change| change.action != Action::Unchanged) {
            let changes: Vec<(String, Action)> =
                self.changes.iter().map(|change| (change.object.to_string(), change.action)).collect();
            let text = messages::applied(&plan.version, first_install, &changes);
            let event = self.make_event(false, reason::RECONCILIATION_SUCCEEDED, text, true);
            self.announcer.event_and_notify(event);
        }
        pruned
    }

    async fn apply_stages(&mut self, plan: &Plan, live: &mut LiveObjects) -> Result<(), Stop> {
        // Changed definitions, namespaces, roles and classes that may not be in force yet.
        let mut fresh = vec![];
        for (stage, name) in [
            (ApplyStage::Definitions, Stage::ApplyDefinitions),
            (ApplyStage::Classes, Stage::ApplyClasses),
            (ApplyStage::Objects, Stage::ApplyObjects),
        ] {
            self.apply(plan, live, stage, name, &mut fresh).await?;
            // If no object of this run needs a new kind, one wait at the end covers all stages.
            if stage == ApplyStage::Objects || plan.needs_definitions() {
                self.wait_for_stage(live, std::mem::take(&mut fresh)).await?;
            }
        }
        Ok(())
    }

    /// Writes the stage into the status in parallel; a failed write does not stop the run.
    async fn write_stage(&mut self, stage: Stage) {
        self.writer.progressing(stage.message());
        if let Err(error) = self.writer.write(self.cluster).await {
            tracing::debug!("cannot write the stage to the status: {error}");
        }
    }

    async fn apply(
        &mut self,
        plan: &Plan,
        live: &mut LiveObjects,
        stage: ApplyStage,
        name: Stage,
        fresh: &mut Vec<ObjectId>,
    ) -> Result<(), Stop> {
        let planned: Vec<_> = plan
            .objects
            .iter()
            .filter(|object| plan::stage(&object.object) == stage && object.step != Step::Unchanged)
            .collect();
        if planned.is_empty() {
            return Ok(());
        }
        self.begin(name, planned.len());
        let work = apply::objects(self.context(), live, &planned);
        let (applied, ()) = tokio::join!(work, self.write_stage(name));
        if stage != ApplyStage::Objects {
            let changed = applied.changes.iter().filter(|change| change.action != Action::Unchanged);
            fresh.extend(changed.map(|change| change.object.clone()));
        }
        self.changes.extend(applied.changes);
        if !applied.errors.is_empty() {
            return Err(Failure::Apply(applied.errors).into());
        }
        applied.interrupt.map_or(Ok(()), |interrupt| Err(Failure::Interrupted(interrupt).into()))
    }

    /// Waits for the prerequisites of later stages: definitions are served, namespaces are active.
    async fn wait_for_stage(&mut self, live: &mut LiveObjects, fresh: Vec<ObjectId>) -> Result<(), Stop> {
        let deadline = Instant::now() + STAGE_TIMEOUT;
        health::wait(self.context(), live, &fresh, Goal::Healthy, deadline, InterruptPolicy::StopOnly)
            .await?
            .into_result()
    }

    async fn prune(&mut self, plan: &Plan, live: &mut LiveObjects, ids: &[ObjectId]) -> Result<(), Stop> {
        let mut owed: Vec<InventoryEntry> = self.unreadable.clone();
        let mut ended = Ok(());
        if !plan.prune.is_empty() {
            self.begin(Stage::Prune, plan.prune.len());
            let owner = draft::owner_of(&self.instance);
            let options = RemovalOptions { owner: &owner, uninstalls: false, deadline: self.health_deadline() };
            let work = prune::remove(self.context(), live, &plan.prune, options);
            let (removed, ()) = tokio::join!(work, self.write_stage(Stage::Prune));
            // An error returns here, before the inventory is replaced below, so the whole list is kept.
            let removed = removed?;
            self.changes.extend(removed.changes);
            owed.extend(removed.left.iter().map(InventoryEntry::from));
            ended = if let Some(interrupt) = removed.interrupt {
                Err(Failure::Interrupted(interrupt))
            } else if !removed.errors.is_empty() {
                Err(Failure::Prune(removed.errors))
            } else if !removed.remaining.is_empty() {
                Err(Failure::Unhealthy { timed_out: true, objects: removed.remaining })
            } else if !removed.held.is_empty() {
                let held = removed.held.into_iter().map(|held| {
                    let holders = format!("Flux stopped using its CRD, but {} holds it", held.finalizers.join(", "));
                    UnhealthyObject::new(held.object.to_string(), Status::Terminating, holders)
                });
                Err(Failure::Unhealthy { timed_out: false, objects: held.collect() })
            } else {
                Ok(())
            };
        }
        // Objects that could not be deleted are kept in the inventory, so that a later run deletes them.
        self.writer.status.inventory = Some(inventory::merge(inventory::of(ids), &owed));
        ended.map_err(Stop::Failed)
    }

    /// Returns the end of waiting for health: the instance's own time-out, or earlier if the caller asks for it.
    fn health_deadline(&self) -> Instant {
        let own = Instant::now() + self.instance.timeout();
        self.options.health_deadline.map_or(own, |limit| own.min(limit))
    }

    async fn wait_for_health(&mut self, live: &mut LiveObjects, ids: &[ObjectId]) -> Result<(), Stop> {
        if ids.iter().all(|id| is_current(live, id)) {
            return Ok(());
        }
        self.begin(Stage::Health, ids.len());
        let work = health::wait(self.context(), live, ids, Goal::Healthy, self.health_deadline(), InterruptPolicy::All);
        let (waited, ()) = tokio::join!(work, self.write_stage(Stage::Health));
        waited?.into_result()
    }

    /// Rewrites stored objects if the upgrade requires it. A failure is only a warning: Flux works, and the next minor
    /// upgrade tries again.
    async fn migrate(&mut self, plan: &Plan, live: &mut LiveObjects) {
        if !self.instance.spec.migrates_resources() {
            return;
        }
        let upgraded = build::is_minor_upgrade(plan.previous_revision.as_deref().unwrap_or_default(), &plan.version)
            .unwrap_or(false);
        let due = migrate::due(live, is_forced(&self.instance) || upgraded);
        if due.is_empty() {
            return;
        }
        self.begin(Stage::Migrate, due.len());
        let work = migrate::definitions(self.cluster, &due, self.options.plan.concurrency, self.progress);
        let (report, ()) = tokio::join!(work, self.write_stage(Stage::Migrate));
        self.migrated = report.migrated;
        for (definition, error) in report.errors {
            let message = format!("cannot migrate {definition}: {error}");
            self.progress.report(Update::Warning { message: message.clone() });
            self.warnings.push(message);
        }
    }

    /// Records a Kubernetes event; with `revision` only if the reference has one.
    pub(super) fn event(&mut self, warning: bool, reason: &'static str, message: String, with_revision: bool) {
        let event = self.make_event(warning, reason, message, with_revision);
        self.announcer.event(event);
    }

    pub(super) fn make_event(
        &self,
        warning: bool,
        reason: &'static str,
        message: String,
        with_revision: bool,
    ) -> Event {
        let revision = self.writer.status.last_attempted_revision.clone().filter(|_| with_revision);
        Event { warning, reason, message, revision }
    }
}

impl WaitEnd {
    pub(in crate::reconcile) fn into_result(self) -> Result<(), Stop> {
        match self {
            WaitEnd::Reached => Ok(()),
            WaitEnd::Unhealthy { timed_out, objects } => Err(Failure::Unhealthy { timed_out, objects }.into()),
            WaitEnd::Interrupted(interrupt) => Err(Failure::Interrupted(interrupt).into()),
        }
    }
}

fn is_current(live: &LiveObjects, id: &ObjectId) -> bool {
    live.get(id).is_some_and(|live| kstatus::compute(live).is_current())
}
