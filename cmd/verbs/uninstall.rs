//! `uninstall`: removes Flux from a cluster.

use clap::Subcommand;

use crate::args::FollowArgs;
use crate::args::objects::InstanceNameArgs;
use crate::flows::rights::Rights;
use crate::flows::run_in_process::InProcessArgs;
use crate::terminal::confirm::ConfirmArgs;
use crate::terminal::{CliError, Exit, Shell};

mod instance;
mod operator;

/// Uninstall Flux and its instance; `uninstall operator` removes the operator
///
/// First lists the objects to delete and to keep, with counts per kind, and asks for confirmation. Workloads that Flux
/// deployed keep running; the CRD of FluxInstance is always kept. A running operator does the work; without one,
/// --in-process does it here. Running the command again completes an interrupted run.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # See what would be deleted and what would be kept\n  \
    flux-operator -n flux-system uninstall --dry-run=client\n\n  \
    # Uninstall Flux without an operator in the cluster\n  \
    flux-operator -n flux-system uninstall instance flux --in-process --yes\n\n  \
    # Keep Flux's CRDs and all their objects\n  \
    flux-operator uninstall --in-process --keep-crds --yes")]
pub struct Args {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub instance: InstanceNameArgs,
    #[command(flatten)]
    pub in_process: InProcessArgs,
    /// Keep Flux's CRDs and all their objects
    #[arg(long, requires = "in_process")]
    pub keep_crds: bool,
    #[command(flatten)]
    pub confirm: ConfirmArgs,
    #[command(flatten)]
    pub follow: FollowArgs,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    #[command(alias = "operators")]
    Operator(operator::Args),
}

pub fn rights(args: &Args, rights: &mut Rights) -> Result<(), CliError> {
    match &args.command {
        Some(Command::Operator(args)) => operator::rights(args, rights),
        None => instance::rights(args, rights)?,
    }
    Ok(())
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    match &args.command {
        Some(Command::Operator(args)) => operator::run(args, shell),
        None => instance::run(args, shell),
    }
}
