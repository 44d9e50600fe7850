//! `reconcile instance`: asks the operator to look at a FluxInstance now.

use crate::objects::args::{DryRunArgs, WaitArgs};
use crate::objects::{Act, Session, request_and_follow};
use crate::shell::progress::ProgressArgs;
use crate::shell::{CliError, Exit, Shell};

/// Reconcile a FluxInstance now
///
/// Waits until the operator has handled the request and the instance is ready,
/// and prints its message.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Reconcile now and wait for the outcome\n  \
    flux-operator -n flux-system reconcile instance flux\n\n  \
    # Also migrate all Flux resources to their latest API version\n  \
    flux-operator -n flux-system reconcile instance flux --force\n\n  \
    # Only send the request\n  \
    flux-operator -n flux-system reconcile instance flux --wait=false")]
pub struct Args {
    /// Name of the instance
    #[arg(default_value = "flux")]
    pub name: String,
    /// Also migrate all Flux resources to their latest API version
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub wait: WaitArgs,
    #[command(flatten)]
    pub dry_run: DryRunArgs,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    shell.run(async {
        let session = Session::open(shell).await?;
        let (targets, act) = ([session.instance(&args.name)], Act::Reconcile { force: args.force });
        request_and_follow(&session, &targets, act, args.dry_run.dry_run, args.wait.wait, args.progress.progress).await
    })
}
