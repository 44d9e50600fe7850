//! Changes the spec of the instance in the cluster, through the operator or in this process.

use flux_operator::api::FluxInstance;
use flux_operator::api::well_known::{CLI_FIELD_MANAGER, OLDER_MINOR_ANNOTATION};
use flux_operator::cluster::Cluster;
use flux_operator::reconcile::operator::OperatorCoverage;
use flux_operator::reconcile::status::merge_diff;
use flux_operator::reconcile::{self, NewSpec, Plan, RunOptions};
use flux_operator::request::{AbsencePolicy, reconcile_patch, token};
use serde_json::{Map, Value, json};

use crate::flows::follow::{FollowedObject, uid_of, until_ready};
use crate::flows::operator::{refused_without_operator, report_unwatched};
use crate::flows::run_in_process;
use crate::flows::run_in_process::{
    DistributionArgs, InProcessArgs, Listener, RunRequest, check_losses, instance_of, reconcile_here,
    refuse_beside_running_operator,
};
use crate::session::Session;
use crate::session::target::Target;
use crate::terminal::confirm::{Agreement, ConfirmArgs, can_ask, check_consent, confirm};
use crate::terminal::progress::ProgressMode;
use crate::terminal::{CliError, Exit};

/// Options for a change that the user has agreed to.
pub struct SpecChange<'a> {
    pub in_process: &'a InProcessArgs,
    pub confirm: &'a ConfirmArgs,
    pub mode: ProgressMode,
    pub wait: bool,
    /// The verb in error messages: `roll back`.
    pub verb: &'a str,
}

/// The process that carries out a change of the spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reconciler {
    Operator,
    ThisProcess,
}

impl SpecChange<'_> {
    /// Asks whether to do `what`, and returns the process that carries it out; `None` for a dry run, which ends here.
    /// `words` are the words of the command line.
    ///
    /// # Errors
    /// The user declines, or cannot be asked. With `--in-process` an operator is running; without it, neither an
    /// operator nor this process would carry the change out.
    pub async fn agree(
        &self,
        session: &Session<'_>,
        target: &Target,
        plan: &Plan,
        words: &str,
        what: &str,
        dry_run: bool,
    ) -> Result<Option<Reconciler>, CliError> {
        let shell = session.shell;
        let line = session.command(words, &target.namespace);
        if self.in_process.in_process {
            refuse_beside_running_operator(session, self.in_process, target, &line).await?;
        }
        let context = session.cluster.endpoint.context.as_deref();
        // A dry run never asks for confirmation, but is refused where the run would be.
        check_consent(shell, self.confirm, context, what)?;
        if dry_run {
            // Only a run from here asks about losses; an operator does not ask.
            if self.in_process.in_process {
                let request = RunRequest { session, mode: self.mode, target, verb: self.verb, again: "", without: "" };
                check_losses(&request, self.confirm, plan)?;
            }
            return Ok(None);
        }
        let reconciler = match self.in_process.in_process {
            true => Reconciler::ThisProcess,
            false => self.reconciler(session, target, &line).await?,
        };
        // The question covers the change and the run from here, because a change that nothing carries out is useless.
        let what = match reconciler {
            Reconciler::ThisProcess if !self.in_process.in_process => {
                format!("{what}, from this terminal because the cluster has no operator")
            }
            _ => what.to_owned(),
        };
        confirm(shell, self.confirm, context, &what, Agreement::Yes).await?;
        Ok(Some(reconciler))
    }

    /// Returns the process that carries the change out. This is decided before anything is stored, because an operator
    /// that is installed later would carry out a stored spec unexpectedly.
    ///
    /// # Errors
    /// No operator would carry it out. This process does so only if no operator is installed, and the configuration or
    /// a terminal allows it.
    async fn reconciler(&self, session: &Session<'_>, target: &Target, line: &str) -> Result<Reconciler, CliError> {
        let coverage = session.operator_coverage(target).await?;
        let is_here = session.shell.config().in_process || can_ask(session.shell);
        if coverage == OperatorCoverage::NotInstalled && is_here {
            return Ok(Reconciler::ThisProcess);
        }
        if !coverage.is_missing() {
            return Ok(Reconciler::Operator);
        }
        Err(refused_without_operator(session, target, self.verb, &coverage, &format!("{line} --in-process")))
    }

    /// Replaces the spec of `live`, has it reconciled, and waits unless `wait` is false. `says` describes the new state
    /// of the instance in the status line: `has the spec of v2.8.8`.
    ///
    /// # Errors
    /// The instance was changed after it was read, or no operator is running to reconcile it; the errors of the run.
    pub async fn carry_out(
        &self,
        session: &Session<'_>,
        target: &Target,
        live: &Value,
        new: NewSpec<'_>,
        says: &str,
        reconciler: Reconciler,
    ) -> Result<Exit, CliError> {
        let shell = session.shell;
        if reconciler == Reconciler::ThisProcess {
            return self.reconcile_in_process(session, target, live, new).await;
        }
        let stored = shell.interruptible(self.store(session, target, live, new, says)).await?;
        let resume = session.command(&format!("wait {}", target.words()), &target.namespace);
        shell.interruption().set("the instance is stored, and the operator continues with it", Some(resume));
        let coverage = shell.interruptible(session.operator_coverage(target)).await?;
        if coverage.is_missing() {
            let here = session.command(&format!("reconcile {} --in-process", target.words()), &target.namespace);
            return report_unwatched(session, target, &coverage, &here, true);
        }
        if !self.wait {
            return Ok(Exit::Done);
        }
        let followed = [FollowedObject {
            uid: uid_of(&stored),
            target: target.clone(),
            request: None,
            absent: AbsencePolicy::Ends,
        }];
        let exit = shell.interruptible(until_ready(session, &followed, self.mode)).await?;
        session.suggest("status", &target.namespace);
        Ok(exit)
    }

    async fn store(
        &self,
        session: &Session<'_>,
        target: &Target,
        live: &Value,
        new: NewSpec<'_>,
        says: &str,
    ) -> Result<Value, CliError> {
        let version = live.pointer("/metadata/resourceVersion");
        let annotations = annotations(live, new);
        let patch = json!([
            // The patch fails if the instance has changed since the user saw the plan.
            {"op": "test", "path": "/metadata/resourceVersion", "value": version},
            // `add` replaces what is there, and also works where there are no annotations yet.
            {"op": "add", "path": "/metadata/annotations", "value": annotations},
            {"op": "replace", "path": "/spec", "value": new.spec},
        ]);
        let id = target.id();
        let stored = session.cluster.json_patch(&id, &patch, CLI_FIELD_MANAGER);
        let stored = session.bounded(&format!("{} {}", self.verb, target.reference()), stored).await?;
        session.shell.status(&format!("► {} {}", session.place(&target.reference()), says));
        Ok(stored)
    }

    /// Does the operator's work in this process; the run itself writes the spec, under the lease.
    async fn reconcile_in_process(
        &self,
        session: &Session<'_>,
        target: &Target,
        live: &Value,
        new: NewSpec<'_>,
    ) -> Result<Exit, CliError> {
        let shell = session.shell;
        let distribution = DistributionArgs::default();
        let distributions = shell.interruptible(distribution.open(shell)).await?;
        let without = session.command(&format!("reconcile {}", target.words()), &target.namespace);
        let again = format!("{without} --in-process");
        let request =
            RunRequest { session, mode: self.mode, target, verb: self.verb, again: &again, without: &without };
        let mut options = run_in_process::options(self.in_process, &distribution);
        options.wait = self.wait;
        let mut request_patch = reconcile_patch(&token(jiff::Timestamp::now()), false, false);
        let spec =
            serde_json::to_value(new.spec).map_err(|e| CliError::failed("cannot write the spec").caused_by(&e))?;
        // A merge patch keeps the fields that it does not name, so the fields that the new spec lacks have to be null.
        if let Some(change) = live.get("spec").and_then(|before| merge_diff(before, &spec)) {
            request_patch["spec"] = change;
        }
        // Null removes the version of an earlier rollback.
        request_patch["metadata"]["annotations"][OLDER_MINOR_ANNOTATION] = new.older_minor.into();
        options.request = Some(request_patch);
        let work = async |cluster: &Cluster, options: &RunOptions, listener: &Listener| {
            reconcile::run(cluster, &target.id(), distributions.as_ref(), options, listener).await
        };
        reconcile_here(&request, options, self.confirm, work).await
    }
}

/// Returns the annotations with the accepted older minor version, and without that of an earlier rollback.
fn annotations(live: &Value, new: NewSpec<'_>) -> Map<String, Value> {
    let mut annotations = live.pointer("/metadata/annotations").and_then(Value::as_object).cloned().unwrap_or_default();
    annotations.remove(OLDER_MINOR_ANNOTATION);
    annotations.extend(new.older_minor.map(|version| (OLDER_MINOR_ANNOTATION.to_owned(), version.into())));
    annotations
}

/// Reads the instance, as it is stored and as its type.
///
/// # Errors
/// The instance does not exist or cannot be read.
pub async fn read(session: &Session<'_>, target: &Target) -> Result<(Value, FluxInstance), CliError> {
    let live = session.get(target).await?;
    let instance = instance_of(live.clone())?;
    Ok((live, instance))
}
