//! `delete`: deletes objects and leaves the clean-up to the operator.

use clap::Subcommand;

use crate::terminal::{CliError, Exit, Shell};

mod instance;
mod resource;

/// Delete objects
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
