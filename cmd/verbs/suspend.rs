//! `suspend`: tells a controller not to reconcile an object.

use clap::Subcommand;

use crate::flows::rights::{KIND, Rights, always};
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

pub fn rights(command: &Command, rights: &mut Rights) -> Result<(), CliError> {
    match command {
        Command::Instance(args) => rights.instance(&args.name, &[always("patch", KIND)]),
        Command::Resource(args) => rights.wanted(&args.resources.resolve()?, &[always("patch", KIND)]),
    }
    Ok(())
}

pub fn run(command: &Command, shell: &Shell) -> Result<Exit, CliError> {
    match command {
        Command::Instance(args) => instance::run(args, shell),
        Command::Resource(args) => resource::run(args, shell),
    }
}
