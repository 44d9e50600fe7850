//! `build`: prints what a reconcile would apply, without a cluster or a network.

use clap::Subcommand;
use flux_operator::api::kinds::INPUT_PROVIDER;

use crate::flows::rights::{KIND, Rights, always};
use crate::terminal::{CliError, Exit, Shell};

mod explain;
mod instance;
mod resourceset;

/// Build objects offline, exactly as a reconcile would apply them
#[derive(Subcommand, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub enum Command {
    Instance(instance::Args),
    #[command(name = "resourceset", visible_alias = "rset")]
    ResourceSet(resourceset::Args),
}

/// A build asks a cluster only for the inputs that providers have exported.
pub fn rights(command: &Command, rights: &mut Rights) {
    match command {
        Command::ResourceSet(args) if args.live => {
            let namespace = rights.namespace_or("default");
            rights.of_kind(&INPUT_PROVIDER, Some(&namespace), &[], &[always("list", KIND)]);
        }
        Command::Instance(_) | Command::ResourceSet(_) => {}
    }
}

pub fn run(command: &Command, shell: &Shell) -> Result<Exit, CliError> {
    match command {
        Command::Instance(args) => instance::run(args, shell),
        Command::ResourceSet(args) => resourceset::run(args, shell),
    }
}
