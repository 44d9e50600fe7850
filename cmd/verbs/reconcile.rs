//! `reconcile`: asks a controller to work now, or does its work here.

use clap::Subcommand;

use crate::flows::rights::Rights;
use crate::terminal::{CliError, Exit, Shell};

mod all;
mod in_process;
mod instance;
mod resource;
mod resourceset;

/// Reconcile now
#[derive(Subcommand, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub enum Command {
    Instance(instance::Args),
    #[command(name = "resourceset", visible_alias = "rset")]
    ResourceSet(resourceset::Args),
    Resource(resource::Args),
    #[command(visible_alias = "resources")]
    All(all::Args),
}

pub fn rights(command: &Command, rights: &mut Rights) -> Result<(), CliError> {
    match command {
        Command::Instance(args) => instance::rights(args, rights),
        Command::ResourceSet(args) => resourceset::rights(args, rights),
        Command::Resource(args) => resource::rights(args, rights)?,
        Command::All(args) => all::rights(args, rights)?,
    }
    Ok(())
}

pub fn run(command: &Command, shell: &Shell) -> Result<Exit, CliError> {
    match command {
        Command::Instance(args) => instance::run(args, shell),
        Command::ResourceSet(args) => resourceset::run(args, shell),
        Command::Resource(args) => resource::run(args, shell),
        Command::All(args) => all::run(args, shell),
    }
}
