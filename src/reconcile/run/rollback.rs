//! Rolls back to the last working revision when an upgrade is unhealthy and the instance asks for a rollback.

use super::Run;
use crate::api::well_known::{condition, reason};
use crate::api::{Reconciled, conditions};
use crate::k8s::kstatus::Status;
use crate::reconcile::draft::fetch_and_build;
use crate::reconcile::fetch::Distributions;
use crate::reconcile::kept_builds;
use crate::reconcile::messages::{self, UnhealthyObject};
use crate::reconcile::outcome::{Failure, Stop, explain};
use crate::reconcile::status::is_forced;

impl Run<'_> {
    /// Rolls back if the instance asks for it and another revision was in place before; otherwise returns the failure.
    pub(super) async fn roll_back_if_asked(
        &mut self,
        distributions: &dyn Distributions,
        failure: Failure,
    ) -> Result<(), Stop> {
        let failed = self.revision.clone().unwrap_or_default();
        let before = self.writer.status.last_applied_revision.clone().filter(|before| *before != failed);
        if before.is_none() || !self.instance.rolls_back() {
            return Err(failure.into());
        }
        // The failed revision enters the history even if the rollback fails.
        let (why, message) = explain(&failure, &self.instance.id());
        self.writer.failed(why, &message);
        self.record_attempt(Some(&failure));
        let detail = message.strip_prefix("reconciliation failed: ").unwrap_or(&message).to_owned();
        Box::pin(self.restore(distributions, failed, detail)).await
    }

    /// Returns why this revision was rolled back before and must not be retried: nothing has changed since, and no
    /// force was requested.
    pub(super) fn rejection_of(&self, revision: &str) -> Option<String> {
        let status = &self.writer.status;
        let ready = conditions::get(&status.conditions, condition::READY)?;
        let is_rejected = ready.reason == reason::ROLLED_BACK
            && ready.observed_generation == self.instance.metadata.generation
            && status.last_attempted_revision.as_deref() == Some(revision)
            && self.instance.rolls_back()
            && !is_forced(&self.instance);
        is_rejected.then(|| messages::rollback_detail(&ready.message).to_owned())
    }

    /// Restores the last ready revision. The run ends as rolled back, because the spec asks for another revision.
    pub(super) async fn restore(
        &mut self,
        distributions: &dyn Distributions,
        failed: String,
        detail: String,
    ) -> Result<(), Stop> {
        let Some(restored) = self.writer.status.last_applied_revision.clone() else { return Ok(()) };
        let mut instance = self.instance.clone();
        instance.spec = kept_builds::find(self.cluster, &instance, &restored).await?;
        let built = fetch_and_build(self.cluster, &instance, distributions, &self.options.plan, self.progress);
        let (built, live) = Box::pin(built).await?;
        if built.revision.to_string() != restored {
            let (built, why) = (built.revision.to_string(), "its spec is no longer known");
            let text = format!("cannot roll back to {restored}: {why}, and the current spec builds {built}");
            self.event(true, reason::ROLLED_BACK, text.clone(), false);
            let message = UnhealthyObject::new(failed, Status::Failed, text);
            return Err(Failure::Unhealthy { timed_out: false, objects: vec![message] }.into());
        }
        if self.rejection_of(&failed).is_none() {
            self.event(true, reason::ROLLED_BACK, format!("Rolling back to revision {restored}: {detail}"), false);
        }
        self.rejected = Some(failed.clone());
        Box::pin(self.carry_out_build(built, live)).await?;
        // `rejection_of` recognises the failed revision by this field.
        self.writer.status.last_attempted_revision = Some(failed.clone());
        Err(Failure::RolledBack { failed, restored, detail }.into())
    }
}
