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

/// Uninstall Flux and delete its instance; the operator with `uninstall operator`
///
/// First lists the objects to delete and to keep, with counts per kind, and asks. What Flux has deployed keeps running;
/// the definition of FluxInstance is always kept. A running operator does the work; without one, --in-process does it
/// here. The next run completes an interrupted one.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # See what would go and what would stay\n  \
    flux-operator -n flux-system uninstall --dry-run=client\n\n  \
    # Uninstall Flux without an operator in the cluster\n  \
    flux-operator -n flux-system uninstall instance flux --in-process --yes\n\n  \
    # Keep Flux's definitions and all objects of their kinds\n  \
    flux-operator uninstall --in-process --keep-crds --yes")]
pub struct Args {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub instance: InstanceNameArgs,
    #[command(flatten)]
    pub in_process: InProcessArgs,
    /// Keep the definitions of Flux's kinds and all their objects
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
