//! `build`: prints what a reconcile would apply, without a cluster or a network.

use clap::Subcommand;

use crate::terminal::{CliError, Exit, Shell};

mod explain;
mod instance;
mod resourceset;

/// Build objects offline, exactly as a reconcile would apply them
#[derive(Subcommand, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub enum Command {
    Instance(instance::Args),
    #[command(name = "resourceset", visible_alias = "rset")]
    ResourceSet(resourceset::Args),
}

pub fn run(command: &Command, shell: &Shell) -> Result<Exit, CliError> {
    match command {
        Command::Instance(args) => instance::run(args, shell),
        Command::ResourceSet(args) => resourceset::run(args, shell),
    }
}
