//! `resume`: ends a suspension and asks for a reconciliation.

use clap::Subcommand;

use crate::flows::rights::{EXPLAINS_SILENCE, FINDS_OPERATOR, FOLLOWS, KIND, Rights, always};
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

pub fn rights(command: &Command, rights: &mut Rights) -> Result<(), CliError> {
    match command {
        Command::Instance(args) => {
            rights.instance(&args.name, &[always("patch", KIND)]);
            if args.in_process.in_process {
                rights.run_in_process();
            }
            if args.follow.waits() {
                rights.instance(&args.name, FOLLOWS);
                rights.everywhere(FINDS_OPERATOR);
                rights.everywhere(EXPLAINS_SILENCE);
            }
        }
        Command::Resource(args) => {
            let wanted = args.resources.resolve()?;
            rights.wanted(&wanted, &[always("patch", KIND)]);
            if args.follow.waits() {
                rights.wanted(&wanted, FOLLOWS);
                rights.everywhere(EXPLAINS_SILENCE);
            }
        }
        Command::Overdue(args) => overdue::rights(args, rights)?,
    }
    Ok(())
}

pub fn run(command: &Command, shell: &Shell) -> Result<Exit, CliError> {
    match command {
        Command::Instance(args) => instance::run(args, shell),
        Command::Resource(args) => resource::run(args, shell),
        Command::Overdue(args) => overdue::run(args, shell),
    }
}
