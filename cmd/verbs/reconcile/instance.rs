//! `reconcile instance`: asks the operator to reconcile a FluxInstance now, or does its work here.

use crate::args::{DryRun, FollowArgs};
use crate::flows::follow::request_and_follow;
use crate::flows::here::{self, ReconcileHere};
use crate::flows::request::RequestKind;
use crate::flows::rights::{EXPLAINS_SILENCE, FINDS_OPERATOR, FOLLOWS, KIND, Rights, always};
use crate::flows::run_in_process::{DistributionArgs, InProcessArgs, RunRequest, is_done_here};
use crate::session::Session;
use crate::session::target::Target;
use crate::terminal::confirm::ConfirmArgs;
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
    pub follow: FollowArgs,
}

pub fn rights(args: &Args, rights: &mut Rights) {
    rights.instance(&args.name, &[always("patch", KIND)]);
    if args.in_process.in_process {
        rights.instance(&args.name, &[always("get", KIND)]);
        rights.run_in_process();
    } else if args.follow.waits() {
        rights.instance(&args.name, FOLLOWS);
        rights.everywhere(EXPLAINS_SILENCE);
        rights.everywhere(FINDS_OPERATOR);
    }
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    // An operator reads the distribution from the spec, and would never see the flags.
    if !args.in_process.in_process && args.distribution.is_given() {
        return Err(
            CliError::usage("--distribution and --strict are for runs in this process").hint("add --in-process")
        );
    }
    shell.block_on(async {
        let session = shell.interruptible(Session::open(shell)).await?;
        let target = session.instance(&args.name);
        let here = async {
            match args.follow.dry_run().is_some() || !args.follow.waits() {
                // Nothing is to be reconciled now, or only asked for.
                true => Ok(args.in_process.in_process),
                false => is_done_here(&session, &args.in_process, &target).await,
            }
        };
        if shell.interruptible(here).await? && args.follow.dry_run() != Some(DryRun::Client) {
            return reconcile_in_process(&session, args, &target).await;
        }
        let act = RequestKind::Reconcile { force: args.force, reset: false };
        let targets = [target];
        shell.interruptible(request_and_follow(&session, &targets, act, &args.follow)).await
    })?
}

/// Does the operator's work in this process.
async fn reconcile_in_process(session: &Session<'_>, args: &Args, target: &Target) -> Result<Exit, CliError> {
    let mode = args.follow.mode();
    let without = session.command(&format!("reconcile {}", target.words()), &target.namespace);
    if args.follow.dry_run() == Some(DryRun::Server) {
        let request = RunRequest { session, mode, target, verb: "reconcile", again: "", without: &without };
        return here::dry_run(&request, &args.in_process, &args.distribution, &args.confirm, None).await;
    }
    let work = ReconcileHere {
        in_process: &args.in_process,
        distribution: &args.distribution,
        confirm: &args.confirm,
        mode,
        wait: args.follow.waits(),
        force: args.force,
    };
    here::reconcile_instance(session, target, &work).await
}
