//! `uninstall`: removes Flux from a cluster.

use clap::Subcommand;

use crate::terminal::{CliError, Exit, Shell};

mod instance;
mod operator;
mod resourcesets;

/// Uninstall Flux or the operator
#[derive(Subcommand, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub enum Command {
    Instance(instance::Args),
    Operator(operator::Args),
    Resourcesets(resourcesets::Args),
}

pub fn run(command: &Command, shell: &Shell) -> Result<Exit, CliError> {
    match command {
        Command::Instance(args) => instance::run(args, shell),
        Command::Operator(args) => operator::run(args, shell),
        Command::Resourcesets(args) => resourcesets::run(args, shell),
    }
}
