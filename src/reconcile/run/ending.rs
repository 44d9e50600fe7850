//! The end of a run: one write with conditions, tokens, history and inventory, and an event with the same content.

use std::collections::BTreeSet;

use super::{DeferredWrite, Run};
use crate::api::well_known::{condition, reason};
use crate::api::{Reconciled, conditions, history};
use crate::reconcile::interrupt::Interrupt;
use crate::reconcile::messages;
use crate::reconcile::outcome::{Failure, Outcome, ReconcileError, Stop, explain, time_until_next_run};
use crate::reconcile::progress::{Stage, Update};

impl Run<'_> {
    /// Leaves a suspended instance as it is, but confirms a request for a run.
    pub(super) async fn leave_suspended(mut self) -> Result<Outcome, ReconcileError> {
        // A request is not stored, because no run will serve it.
        if let Some(DeferredWrite::Written { .. }) = self.unstored
            && let Err(stop) = self.store_instance().await
        {
            return self.end(Err(stop)).await;
        }
        let message = "Reconciliation is disabled".to_owned();
        self.event(true, reason::RECONCILIATION_DISABLED, message.clone(), false);
        self.writer.handle_request();
        self.writer.write(self.cluster).await?;
        let outcome = self.outcome(Some(Failure::Suspended), reason::RECONCILIATION_DISABLED, message);
        self.announcer.finish().await;
        Ok(outcome)
    }

    /// Records how the run ended, unless it must not write anything.
    pub(super) async fn end(mut self, ended: Result<(), Stop>) -> Result<Outcome, ReconcileError> {
        let failure = match ended {
            Ok(()) => None,
            Err(Stop::Failed(failure)) => Some(failure),
            Err(Stop::Abort(error)) => {
                // The user who ran the command sees the error; a user who looks at the instance finds it there.
                if self.unstored.is_none() && error.is_about_another_instance() {
                    // Return the refusal even if recording it fails.
                    let _ = self.record_refusal(&error).await;
                }
                self.announcer.finish().await;
                return Err(error);
            }
        };
        let (reason, message) = match &failure {
            None => (reason::RECONCILIATION_SUCCEEDED, messages::finished(self.begun.elapsed())),
            Some(failure) => explain(failure, &self.instance.id()),
        };
        if self.unstored.is_some() {
            // Stopped before anything was done, so there is nothing to record.
            if let Some(Failure::Interrupted(_)) = failure {
                return Ok(self.outcome(failure, reason, message));
            }
            // A manifest that cannot be built is refused like its plan: a working instance is not replaced by a broken
            // one.
            let failure = match (failure, &self.unstored) {
                (Some(Failure::Build(error)), Some(DeferredWrite::Written { .. })) => {
                    return Err(ReconcileError::Build(error));
                }
                (failure, _) => failure,
            };
            match (self.store_instance().await, failure) {
                (Ok(()), failure) => return self.record(failure, reason, message).await,
                (Err(_), Some(Failure::Call(error))) | (Err(Stop::Failed(Failure::Call(error))), _) => {
                    return Err(error.into());
                }
                (Err(Stop::Abort(error)), _) => return Err(error),
                (Err(Stop::Failed(_)), failure) => return Ok(self.outcome(failure, reason, message)),
            }
        }
        self.record(failure, reason, message).await
    }

    /// Reports in the status and by an event that another instance prevents the run. Nothing was done, and a retry
    /// helps once that instance is deleted.
    async fn record_refusal(&mut self, error: &ReconcileError) -> Result<(), ReconcileError> {
        let message = format!("reconciliation failed: {error}");
        let ready = conditions::get(&self.writer.status.conditions, condition::READY);
        if ready.is_none_or(|ready| ready.message != message) {
            self.event(true, reason::RECONCILIATION_FAILED, message.clone(), false);
        }
        self.writer.failed(reason::RECONCILIATION_FAILED, &message);
        self.writer.handle_request();
        self.writer.write(self.cluster).await
    }

    async fn record(
        mut self,
        failure: Option<Failure>,
        reason: &'static str,
        message: String,
    ) -> Result<Outcome, ReconcileError> {
        self.begin(Stage::Status, 0);
        match &failure {
            None => {
                self.writer.ready(&message);
                self.writer.handle_request();
                self.event(false, reason, message.clone(), true);
            }
            // The request was not served; the next run does that.
            Some(Failure::Interrupted(interrupt)) => {
                self.writer.failed(reason, &message);
                self.event(false, reason::HEALTH_CHECK_CANCELED, messages::interrupted(interrupt), false);
            }
            Some(failed) => {
                match failed {
                    Failure::Build(_) | Failure::RolledBack { .. } => self.writer.stalled(reason, &message),
                    _ => self.writer.failed(reason, &message),
                }
                self.writer.handle_request();
                let event = self.make_event(true, reason, message.clone(), true);
                self.announcer.event_and_notify(event);
            }
        }
        self.record_attempt(failure.as_ref());
        let outcome = self.outcome(failure, reason, message);
        let (written, ()) = tokio::join!(self.writer.write(self.cluster), self.announcer.finish());
        self.progress.report(Update::Finished { ready: outcome.is_ready(), message: outcome.message.clone() });
        outcome.recorded(written)
    }

    /// Records the attempt at the top of the history.
    pub(super) fn record_attempt(&mut self, failure: Option<&Failure>) {
        let duration = self.begun.elapsed();
        let digest = self.revision.as_deref().and_then(|revision| revision.split_once('@')).map(|(_, digest)| digest);
        match (failure, digest) {
            (Some(Failure::Build(_)), _) => {
                self.writer.record(history::spec_digest(&self.instance.spec), None, duration);
            }
            // Nothing was built, so there is no digest to record.
            (Some(Failure::Artifact(_)), _) | (_, None) => {}
            // The run that follows at once counts as the attempt (spec, semantics §3.7).
            (Some(Failure::Interrupted(Interrupt::Superseded(_))), _) => {}
            (_, Some(digest)) => {
                let version = self.version.clone();
                let metadata = version.map(|version| [("flux".to_owned(), version)].into());
                self.writer.record(digest.to_owned(), metadata, duration);
            }
        }
    }

    fn outcome(&mut self, failure: Option<Failure>, reason: &'static str, message: String) -> Outcome {
        Outcome {
            next: time_until_next_run(failure.as_ref(), self.instance.interval()),
            failure,
            reason: reason.to_owned(),
            message,
            version: self.version.take(),
            revision: self.revision.take(),
            changes: std::mem::take(&mut self.changes),
            warnings: std::mem::take(&mut self.warnings),
            migrated: std::mem::take(&mut self.migrated),
            sources: BTreeSet::new(),
            duration: self.begun.elapsed(),
        }
    }
}
