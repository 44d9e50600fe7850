//! `uninstall`: removes Flux from a cluster.

use clap::Subcommand;

use crate::flows::rights::Rights;
use crate::terminal::{CliError, Exit, Shell};

mod instance;
mod operator;

/// Uninstall Flux or the operator
#[derive(Subcommand, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub enum Command {
    Instance(instance::Args),
    Operator(operator::Args),
}

pub fn rights(command: &Command, rights: &mut Rights) {
    match command {
        Command::Instance(args) => instance::rights(args, rights),
        Command::Operator(args) => operator::rights(args, rights),
    }
}

pub fn run(command: &Command, shell: &Shell) -> Result<Exit, CliError> {
    match command {
        Command::Instance(args) => instance::run(args, shell),
        Command::Operator(args) => operator::run(args, shell),
    }
}
