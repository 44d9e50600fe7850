//! `wait instance`: until a FluxInstance is ready, or gone.

use super::ForArgs;
use crate::common::Session;
use crate::shell::progress::ProgressArgs;
use crate::shell::{CliError, Exit, Shell};

/// Wait until a FluxInstance is ready
///
/// Ends with 0 when Ready is True at the current generation, and with 7 when the
/// instance reports failure or the time is up.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Wait for at most two minutes\n  \
    flux-operator -n flux-system wait instance flux --timeout 2m\n\n  \
    # Wait also for the instance to be created\n  \
    flux-operator -n flux-system wait instance flux --for=create\n\n  \
    # Look on for a while\n  \
    flux-operator -n flux-system wait instance flux --watch --timeout 10m")]
pub struct Args {
    /// Name of the instance
    #[arg(default_value = "flux", add = crate::common::complete::instances())]
    pub name: String,
    #[command(flatten)]
    pub until: ForArgs,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    shell.run(async {
        let session = Session::open(shell).await?;
        super::follow(&session, vec![session.instance(&args.name)], &args.until, args.progress.progress).await
    })
}
