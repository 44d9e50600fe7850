//! `suspend`: tells a controller not to reconcile an object.

use clap::Subcommand;

use crate::terminal::{CliError, Exit, Shell};

mod instance;
mod resource;

/// Suspend reconciliation
#[derive(Subcommand, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub enum Command {
    Instance(instance::Args),
    Resource(resource::Args),
}

pub fn run(command: &Command, shell: &Shell) -> Result<Exit, CliError> {
    match command {
        Command::Instance(args) => instance::run(args, shell),
        Command::Resource(args) => resource::run(args, shell),
    }
}
