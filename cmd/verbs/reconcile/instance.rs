//! `reconcile instance`: asks the operator to reconcile a FluxInstance now, or does its work here.

use flux_operator::cluster::Cluster;
use flux_operator::reconcile::{self, RunOptions};
use flux_operator::request::{reconcile_patch, token};

use crate::args::{DryRun, DryRunArgs, WaitArgs};
use crate::flows::follow::{request_and_follow, suspended};
use crate::flows::request::RequestKind;
use crate::flows::run_in_process;
use crate::flows::run_in_process::{
    DistributionArgs, InProcessArgs, Listener, RunRequest, plan_counts, reconcile_here, refuse_beside_running_operator,
};
use crate::session::Session;
use crate::session::target::Target;
use crate::terminal::confirm::ConfirmArgs;
use crate::terminal::progress::ProgressArgs;
use crate::terminal::{CliError, Exit, Shell};

/// Reconcile a FluxInstance now
///
/// Waits until the operator has handled the request and the instance is ready,
/// and prints its message. With --in-process the operator's work is done here.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Reconcile now and wait for the outcome\n  \
    flux-operator -n flux-system reconcile instance flux\n\n  \
    # Also migrate all Flux resources to their latest API version\n  \
    flux-operator -n flux-system reconcile instance flux --force\n\n  \
    # Only send the request\n  \
    flux-operator -n flux-system reconcile instance flux --wait=false\n\n  \
    # Correct drift without an operator in the cluster\n  \
    flux-operator -n flux-system reconcile instance --in-process")]
pub struct Args {
    /// Name of the instance
    #[arg(default_value = "flux", add = crate::args::complete::instances())]
    pub name: String,
    /// Also migrate all Flux resources to their latest API version
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub in_process: InProcessArgs,
    #[command(flatten)]
    pub confirm: ConfirmArgs,
    #[command(flatten)]
    pub distribution: DistributionArgs,
    #[command(flatten)]
    pub wait: WaitArgs,
    #[command(flatten)]
    pub dry_run: DryRunArgs,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    if !args.in_process.in_process && args.distribution.is_given() {
        return Err(
            CliError::usage("--distribution and --strict are for runs in this process").hint("add --in-process")
        );
    }
    shell.block_on_one_thread(async {
        let session = shell.interruptible(Session::open(shell)).await?;
        let target = session.instance(&args.name);
        if args.in_process.in_process && args.dry_run.dry_run != Some(DryRun::Client) {
            return reconcile_in_process(&session, args, &target).await;
        }
        let act = RequestKind::Reconcile { force: args.force, reset: false };
        let wait = args.wait.wait;
        let targets = [target];
        let follow = request_and_follow(&session, &targets, act, args.dry_run.dry_run, wait, args.progress.progress);
        shell.interruptible(follow).await
    })?
}

/// Does the operator's work in this process.
async fn reconcile_in_process(session: &Session<'_>, args: &Args, target: &Target) -> Result<Exit, CliError> {
    let shell = session.shell;
    let mode = args.progress.progress;
    let without = session.command(&format!("reconcile {}", target.words()), &target.namespace);
    if args.dry_run.dry_run == Some(DryRun::Server) {
        refuse_beside_running_operator(session, &args.in_process, target, &without).await?;
        let plan = run_in_process::plan(session, target, None, &args.distribution, mode).await?;
        if plan.suspended {
            return Err(suspended(session, target));
        }
        let place = session.place(&target.reference());
        for (definition, lost) in plan.lost_custom_resources() {
            shell.warn(&format!("{definition} takes {lost} with it"));
        }
        shell.status(&format!("(server dry run) {place}: {}", plan_counts(&plan)));
        return Ok(Exit::Done);
    }
    let distributions = shell.interruptible(args.distribution.open(shell)).await?;
    let again = format!("{without} --in-process");
    let request = RunRequest { session, mode, target, verb: "reconcile", again: &again, without: &without };
    let mut options = run_in_process::options(&args.in_process, &args.distribution);
    options.wait = args.wait.wait;
    // The request is stored even if we answer it, so that the status tells which request it answers.
    options.request = Some(reconcile_patch(&token(jiff::Timestamp::now()), args.force, false));
    let work = async |cluster: &Cluster, options: &RunOptions, listener: &Listener| {
        reconcile::run(cluster, &target.id(), distributions.as_ref(), options, listener).await
    };
    reconcile_here(&request, options, &args.confirm, work).await
}
