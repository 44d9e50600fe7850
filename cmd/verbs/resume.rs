//! `resume`: ends a suspension and asks for a reconciliation.

use clap::Subcommand;

use crate::terminal::{CliError, Exit, Shell};

mod instance;
mod overdue;
mod resource;

/// Resume reconciliation
#[derive(Subcommand, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub enum Command {
    Instance(instance::Args),
    Resource(resource::Args),
    Overdue(overdue::Args),
}

pub fn run(command: &Command, shell: &Shell) -> Result<Exit, CliError> {
    match command {
        Command::Instance(args) => instance::run(args, shell),
        Command::Resource(args) => resource::run(args, shell),
        Command::Overdue(args) => overdue::run(args, shell),
    }
}
