//! `plan`: shows what would happen.

use clap::Subcommand;

use crate::flows::rights::Rights;
use crate::terminal::{CliError, Exit, Shell};

pub mod instance;
mod view;

/// Show what an apply would change
#[derive(Subcommand, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub enum Command {
    Instance(instance::Args),
}

pub fn rights(command: &Command, rights: &mut Rights) {
    let Command::Instance(args) = command;
    instance::rights(args, rights);
}

pub fn run(command: &Command, shell: &Shell) -> Result<Exit, CliError> {
    match command {
        Command::Instance(args) => instance::run(args, shell),
    }
}
