//! `apply`: changes the cluster to match a manifest.

use clap::Subcommand;

use crate::flows::rights::Rights;
use crate::terminal::{CliError, Exit, Shell};

mod instance;
mod planned;
mod resourceset;

/// Apply objects and wait for the outcome
#[derive(Subcommand, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub enum Command {
    Instance(instance::Args),
    #[command(name = "resourceset", visible_alias = "rset")]
    ResourceSet(resourceset::Args),
}

pub fn rights(command: &Command, rights: &mut Rights) {
    match command {
        Command::Instance(args) => instance::rights(args, rights),
        Command::ResourceSet(args) => resourceset::rights(args, rights),
    }
}

pub fn run(command: &Command, shell: &Shell) -> Result<Exit, CliError> {
    match command {
        Command::Instance(args) => instance::run(args, shell),
        Command::ResourceSet(args) => resourceset::run(args, shell),
    }
}
