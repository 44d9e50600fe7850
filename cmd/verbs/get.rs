//! `get`: lists.

use clap::Subcommand;

use crate::flows::rights::Rights;
use crate::terminal::{CliError, Exit, Shell};

mod components;
mod history;
mod inputs;
mod instance;
mod inventory;
mod resources;
mod suspended;

const EXAMPLES: &str = "Examples:
  # Objects of a kind, in all namespaces or by name
  flux-operator get ks
  flux-operator -n apps get ks podinfo

  # Kinds: ks, hr, gitrepo, ocirepo, helmrepo, hc, bucket, ag, ea, alert,
  # provider, receiver, rset, rsip, imgrepo, imgpol, iua, or their whole names
  flux-operator get gitrepo,hr --ready-status False";

/// Show lists: instances, components, history, inventory, inputs, Flux resources
///
/// A kind stands in the place of a list: `get ks`, `get hr podinfo`, `get gitrepo -A`, `get ks,hr`. Kinds have their
/// short names, as in kubectl; `explain KIND` shows the fields of one.
#[derive(Subcommand, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true, after_help = EXAMPLES)]
pub enum Command {
    #[command(visible_alias = "instances", alias = "fluxinstance", alias = "fluxinstances")]
    Instance(instance::Args),
    #[command(alias = "component")]
    Components(components::Args),
    History(history::Args),
    #[command(alias = "input")]
    Inputs(inputs::Args),
    Inventory(inventory::Args),
    #[command(visible_alias = "all", alias = "resource")]
    Resources(resources::Args),
    Suspended(suspended::Args),
}

pub fn rights(command: &Command, rights: &mut Rights) -> Result<(), CliError> {
    match command {
        Command::Instance(args) => instance::rights(args, rights),
        Command::Components(args) => components::rights(args, rights),
        Command::History(args) => history::rights(args, rights),
        Command::Inputs(args) => inputs::rights(args, rights),
        Command::Inventory(args) => inventory::rights(args, rights),
        Command::Resources(args) => return resources::rights(args, rights),
        Command::Suspended(args) => return suspended::rights(args, rights),
    }
    Ok(())
}

pub fn run(command: &Command, shell: &Shell) -> Result<Exit, CliError> {
    match command {
        Command::Instance(args) => instance::run(args, shell),
        Command::Components(args) => components::run(args, shell),
        Command::History(args) => history::run(args, shell),
        Command::Inputs(args) => inputs::run(args, shell),
        Command::Inventory(args) => inventory::run(args, shell),
        Command::Resources(args) => resources::run(args, shell),
        Command::Suspended(args) => suspended::run(args, shell),
    }
}
