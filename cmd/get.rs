//! `get`: lists.

use clap::Subcommand;
use flux_operator::api::kinds::ResourceType;
use flux_operator::inspect::listing::Listing;
use flux_operator::inspect::selector::Selector;

use crate::common::read_source::{Source, within};
use crate::shell::output::{OutputArgs, print_list};
use crate::shell::{CliError, Exit, Shell};

mod components;
mod history;
pub mod instance;
mod inventory;
mod resources;

/// Show lists: instances, components, history, inventory, Flux resources
#[derive(Subcommand, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub enum Command {
    #[command(visible_alias = "instances", alias = "fluxinstance", alias = "fluxinstances")]
    Instance(instance::Args),
    #[command(alias = "component")]
    Components(components::Args),
    History(history::Args),
    Inventory(inventory::Args),
    #[command(visible_alias = "all", alias = "resource")]
    Resources(resources::Args),
}

pub fn run(command: &Command, shell: &Shell) -> Result<Exit, CliError> {
    match command {
        Command::Instance(args) => instance::run(args, shell),
        Command::Components(args) => components::run(args, shell),
        Command::History(args) => history::run(args, shell),
        Command::Inventory(args) => inventory::run(args, shell),
        Command::Resources(args) => resources::run(args, shell),
    }
}

/// Reads a label selector of the command line.
pub fn selector(text: Option<&str>) -> Result<Option<Selector>, CliError> {
    text.map(Selector::parse).transpose().map_err(|e| CliError::usage("cannot read the label selector").caused_by(&e))
}

/// Says where a list looked: `in namespace apps`, or nothing for all.
pub fn place(namespace: Option<&str>) -> String {
    namespace.map(|n| format!(" in namespace {n}")).unwrap_or_default()
}

/// How a list is shown.
pub struct Show<'a> {
    pub output: &'a OutputArgs,
    pub watch: bool,
    /// Kinds whose changes make a watched list anew.
    pub kinds: Vec<ResourceType>,
    /// `None` shows the namespace of every row.
    pub namespace: Option<String>,
    /// One object was asked for by name, which JSON and YAML print without a list around it.
    pub single: bool,
    /// Said on stderr when the list is empty.
    pub nothing: String,
}

/// Makes a list and prints it: once, or with `--watch` whenever something changes.
pub async fn show<F>(shell: &Shell, source: &Source, show: Show<'_>, mut list: F) -> Result<Exit, CliError>
where
    F: AsyncFnMut() -> Result<Listing, CliError>,
{
    if show.watch {
        return crate::common::watch::list(shell, source, &show, list).await;
    }
    let listing = within(shell, list()).await??;
    if print_list(shell, show.output, listing, show.namespace.is_none(), show.single)? == 0 {
        shell.status(&show.nothing);
    }
    Ok(Exit::Done)
}
