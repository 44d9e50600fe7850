//! An instance reconciled or uninstalled by this process, for every command that may do the operator's work.

use std::collections::BTreeMap;

use flux_operator::api::FluxInstance;
use flux_operator::api::manifest::InstanceManifest;
use flux_operator::cluster::Cluster;
use flux_operator::k8s::ObjectId;
use flux_operator::reconcile::{self, RunOptions, UninstallOptions, UninstallResult, uninstall};
use flux_operator::request::{reconcile_patch, token};
use tokio::time::Instant;

use crate::flows::follow::suspended;
use crate::flows::run_in_process::{
    self, DistributionArgs, InProcessArgs, Listener, RunRequest, check_losses, clean_up_here, plan_counts,
    reconcile_here, refuse_beside_running_operator,
};
use crate::session::Session;
use crate::session::connect::cli_error;
use crate::session::target::Target;
use crate::terminal::confirm::ConfirmArgs;
use crate::terminal::progress::ProgressMode;
use crate::terminal::{CliError, Exit};

/// Options for reconciling an instance in this process.
pub struct InProcessReconcile<'a> {
    pub in_process: &'a InProcessArgs,
    pub distribution: &'a DistributionArgs,
    pub confirm: &'a ConfirmArgs,
    pub mode: ProgressMode,
    pub wait: bool,
    pub force: bool,
}

/// Does the operator's work on the instance in the cluster.
///
/// # Errors
/// As [`reconcile_here`].
pub async fn reconcile_instance(
    session: &Session<'_>,
    target: &Target,
    work: &InProcessReconcile<'_>,
) -> Result<Exit, CliError> {
    let shell = session.shell;
    let without = session.command(&format!("reconcile {}", target.words()), &target.namespace);
    let distributions = shell.interruptible(work.distribution.open(shell)).await?;
    let again = format!("{without} --in-process");
    let request = RunRequest { session, mode: work.mode, target, verb: "reconcile", again: &again, without: &without };
    let mut options = run_in_process::options(work.in_process, work.distribution);
    options.wait = work.wait;
    // This process handles the request itself. The request is still stored, so that the status names it as handled.
    options.request = Some(reconcile_patch(&token(jiff::Timestamp::now()), work.force, false));
    let run = async |cluster: &Cluster, options: &RunOptions, listener: &Listener| {
        reconcile::run(cluster, &target.id(), distributions.as_ref(), options, listener).await
    };
    reconcile_here(&request, options, work.confirm, run).await
}

/// Prints what a run here would do with the instance in the cluster, or with that of a manifest.
///
/// # Errors
/// Any error that would end the run before its first change.
pub async fn dry_run(
    request: &RunRequest<'_>,
    in_process: &InProcessArgs,
    distribution: &DistributionArgs,
    confirm: &ConfirmArgs,
    manifest: Option<&InstanceManifest>,
) -> Result<Exit, CliError> {
    let RunRequest { session, target, mode, .. } = *request;
    refuse_beside_running_operator(session, in_process, target, request.without).await?;
    let plan = run_in_process::plan(session, target, manifest, distribution, mode).await?;
    // A manifest may end the suspension.
    if plan.suspended && manifest.is_none() {
        return Err(suspended(session, target).await);
    }
    for (definition, lost) in plan.lost_custom_resources() {
        session.shell.warn(&format!("deleting {definition} also deletes {lost}"));
    }
    let place = session.place(&target.reference());
    session.shell.status(&format!("(server dry run) {place}: {}", plan_counts(&plan)));
    check_losses(request, confirm, &plan).map(|()| Exit::Done)
}

/// Options for applying a manifest in this process.
pub struct InProcessApply<'a> {
    pub in_process: &'a InProcessArgs,
    pub distribution: &'a DistributionArgs,
    pub confirm: &'a ConfirmArgs,
    pub mode: ProgressMode,
    pub wait: bool,
    /// Whether to take over fields that other tools set.
    pub force_conflicts: bool,
    /// The command line that leaves the work to an operator.
    pub without: &'a str,
}

/// Stores the instance of a manifest and does the operator's work on it.
///
/// # Errors
/// As [`reconcile_here`].
pub async fn apply_instance(
    session: &Session<'_>,
    manifest: &InstanceManifest,
    work: &InProcessApply<'_>,
) -> Result<Exit, CliError> {
    let target = Target::of_instance(&manifest.instance);
    let distributions = session.shell.interruptible(work.distribution.open(session.shell)).await?;
    let (mode, without) = (work.mode, work.without);
    let again = format!("{without} --in-process");
    let request = RunRequest { session, mode, target: &target, verb: "apply", again: &again, without };
    let mut options = run_in_process::options(work.in_process, work.distribution);
    options.wait = work.wait;
    let run = async |cluster: &Cluster, options: &RunOptions, listener: &Listener| {
        let force = work.force_conflicts;
        reconcile::apply_instance(cluster, manifest, force, distributions.as_ref(), options, listener).await
    };
    reconcile_here(&request, options, work.confirm, run).await
}

/// Options for uninstalling an instance in this process.
pub struct InProcessUninstall<'a> {
    pub in_process: &'a InProcessArgs,
    /// Whether to keep the definitions of Flux's kinds and all their objects.
    pub keep_crds: bool,
    pub mode: ProgressMode,
}

/// Uninstalls Flux and deletes its instance.
///
/// # Errors
/// As [`clean_up_here`]; also if objects remain.
pub async fn uninstall_instance(
    session: &Session<'_>,
    target: &Target,
    instance: &FluxInstance,
    work: &InProcessUninstall<'_>,
) -> Result<Exit, CliError> {
    let keep = if work.keep_crds { " --keep-crds" } else { "" };
    let words = format!("uninstall {} --in-process{keep} --yes", target.words());
    let again = session.command(&words, &target.namespace);
    let without = session.command(&format!("uninstall {}", target.words()), &target.namespace);
    let request = RunRequest { session, mode: work.mode, target, verb: "uninstall", again: &again, without: &without };
    let options = run_in_process::options(work.in_process, &DistributionArgs::default());
    let run = async |cluster: &Cluster, options: &RunOptions, listener: &Listener| {
        let deadline = options.health_deadline.unwrap_or_else(|| session.deadline.instant());
        let options = UninstallOptions {
            lease: options.lease.clone(),
            force: options.force,
            keep_crds: work.keep_crds,
            timeout: deadline.saturating_duration_since(Instant::now()),
            interrupts: options.interrupts.clone(),
            ..UninstallOptions::default()
        };
        uninstall(cluster, instance, &options, listener).await
    };
    let done = clean_up_here(&request, options, run).await?;
    print_uninstalled(session, &target.reference(), &done, &again)
}

fn print_uninstalled(session: &Session<'_>, key: &str, done: &UninstallResult, again: &str) -> Result<Exit, CliError> {
    session.shell.status(&format!("deleted: {}", counts(done.deleted.iter())));
    let held = done.held.iter().map(|held| format!("{} is held by {}", held.object, held.finalizers.join(", ")));
    let held: Vec<String> = held.collect();
    if done.is_complete() && held.is_empty() {
        session.shell.print(&format!("{key}: uninstalled\n"));
        return Ok(Exit::Done);
    }
    let exit = match done.errors.first() {
        Some((_, error)) => cli_error(error).exit(),
        None => Exit::Unhealthy,
    };
    let mut error = CliError::new(exit, format!("{key} is not uninstalled completely")).object(key);
    for (object, failure) in &done.errors {
        error = error.cause(format!("cannot delete {object}: {}", failure.sentence()));
    }
    error = held.iter().fold(error, |error, held| error.cause(held.clone()));
    for remaining in &done.remaining {
        error = error.cause(format!("not deleted: {} ({}) {}", remaining.object, remaining.health, remaining.detail));
    }
    if !held.is_empty() {
        error =
            error.hint("other controllers added these finalizers: let them finish, or remove the finalizers by hand");
    }
    Err(error.hint(format!("the next run continues from here: `{again}`")))
}

fn counts<'a>(objects: impl Iterator<Item = &'a ObjectId>) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for object in objects {
        *counts.entry(&object.kind).or_default() += 1;
    }
    let list: Vec<String> = counts.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    if list.is_empty() { "nothing".to_owned() } else { list.join(", ") }
}
