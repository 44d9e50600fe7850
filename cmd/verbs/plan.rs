//! `plan`: shows what would happen.

use clap::Subcommand;

use crate::terminal::{CliError, Exit, Shell};

mod instance;
mod view;

/// Show what an apply would change
#[derive(Subcommand, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub enum Command {
    Instance(instance::Args),
}

pub fn run(command: &Command, shell: &Shell) -> Result<Exit, CliError> {
    match command {
        Command::Instance(args) => instance::run(args, shell),
    }
}
