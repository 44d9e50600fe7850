//! `resume instance`: the operator reconciles the instance again, at once.

use crate::args::{DryRunArgs, WaitArgs};
use crate::flows::follow::request_and_follow;
use crate::flows::request::RequestKind;
use crate::session::Session;
use crate::terminal::progress::ProgressArgs;
use crate::terminal::{CliError, Exit, Shell};

/// Resume the reconciliation of a FluxInstance
///
/// Requests a reconciliation in the same step and waits for its result.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Resume and wait until the instance is ready\n  \
    flux-operator -n flux-system resume instance flux\n\n  \
    # Resume and return at once\n  \
    flux-operator -n flux-system resume instance flux --wait=false")]
pub struct Args {
    /// Name of the instance
    #[arg(default_value = "flux", add = crate::args::complete::instances())]
    pub name: String,
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
        let targets = [session.instance(&args.name)];
        request_and_follow(
            &session,
            &targets,
            RequestKind::Resume,
            args.dry_run.dry_run,
            args.wait.wait,
            args.progress.progress,
        )
        .await
    })
}
