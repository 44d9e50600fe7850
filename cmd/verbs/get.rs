//! `get`: lists.

use clap::Subcommand;
use flux_operator::api::kinds::FluxKind;

use crate::args::objects::kind;
use crate::flows::rights::Rights;
use crate::session::read_source::ScopeArgs;
use crate::session::target::instance_kind;
use crate::terminal::output_format::OutputArgs;
use crate::terminal::{CliError, Exit, Shell};
use flux_operator::api::object_words::{ANY_KIND, ObjectWords};

mod components;
mod history;
mod inputs;
mod instance;
mod inventory;
mod resources;
mod suspended;

/// List Flux objects, components, history, inventory, inputs or suspended objects
///
/// Write kinds as in kubectl: `get ks`, `get hr podinfo`, `get gitrepo -A`, `get ks,hr`, or `get all` for all kinds;
/// `explain KIND` shows the fields of a kind. SINCE is the time since readiness last changed. For instances, VERSION is
/// the running Flux version, and RESOURCES is the number of objects that Flux consists of.
#[derive(clap::Args, Debug)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:\n  \
    # Objects of a kind, in all namespaces or by name\n  \
    flux-operator get ks\n  \
    flux-operator -n apps get ks podinfo\n\n  \
    # Every instance with its revision and registry\n  \
    flux-operator get instance -A -o wide\n\n  \
    # Failing objects in all namespaces\n  \
    flux-operator get all -A --ready-status False\n\n  \
    # Two kinds, by label\n  \
    flux-operator get gitrepo,ks -A -l team=web\n\n  \
    # Objects by name\n  \
    flux-operator -n apps get ks/podinfo hr/podinfo -o yaml\n\n  \
    # Kinds: ks, hr, gitrepo, ocirepo, helmrepo, hc, bucket, ag, ea, alert,\n  \
    # provider, receiver, rset, rsip, imgrepo, imgpol, iua, or full names\n  \
    flux-operator get gitrepo,hr --ready-status False"
)]
pub struct Args {
    #[command(subcommand)]
    pub command: Option<Command>,
    /// KIND, KIND,KIND, KIND NAME… or KIND/NAME…, or all
    #[arg(value_name = "RESOURCE", add = crate::args::complete::resources_or_all())]
    pub resources: Vec<String>,
    /// Kinds to list, repeatable or with commas
    #[arg(long, value_name = "KIND", value_delimiter = ',', add = crate::args::complete::kinds())]
    pub kind: Vec<String>,
    #[command(flatten)]
    pub scope: ScopeArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Keep watching and print changes
    #[arg(short, long)]
    pub watch: bool,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    #[command(alias = "component")]
    Components(components::Args),
    #[command(alias = "histories")]
    History(history::Args),
    #[command(alias = "input")]
    Inputs(inputs::Args),
    #[command(alias = "inventories")]
    Inventory(inventory::Args),
    Suspended(suspended::Args),
}

/// The requested objects.
struct RequestedObjects {
    /// The kinds; empty means all of them.
    kinds: Vec<&'static FluxKind>,
    /// Names of each kind in order; empty means all objects of the kinds.
    names: Vec<(&'static FluxKind, String)>,
}

impl RequestedObjects {
    fn of(args: &Args) -> Result<Self, CliError> {
        let words = match args.resources.as_slice() {
            [all, rest @ ..] if all == "all" || ANY_KIND.contains(&all.as_str()) => rest,
            words => words,
        };
        let (words, objects) = match ObjectWords::read(words)? {
            ObjectWords::Kinds(words) => (words, vec![]),
            ObjectWords::Objects(objects) => (vec![], objects),
        };
        let words = args.kind.iter().map(String::as_str).chain(words);
        let kinds = words.map(kind).collect::<Result<Vec<_>, _>>()?;
        let names = objects.into_iter().map(|(word, name)| Ok((kind(word)?, name.to_owned())));
        let names = names.collect::<Result<Vec<_>, CliError>>()?;
        Ok(RequestedObjects { kinds, names })
    }

    /// The names of instances, if nothing else is asked for.
    fn instances(&self) -> Option<Vec<&str>> {
        let mut kinds = self.kinds.iter().chain(self.names.iter().map(|(kind, _)| kind)).peekable();
        let is_about_instances = kinds.peek().is_some() && kinds.all(|kind| *kind == instance_kind());
        is_about_instances.then(|| self.names.iter().map(|(_, name)| name.as_str()).collect())
    }
}

pub fn rights(args: &Args, rights: &mut Rights) -> Result<(), CliError> {
    match &args.command {
        Some(Command::Components(args)) => components::rights(args, rights),
        Some(Command::History(args)) => history::rights(args, rights),
        Some(Command::Inputs(args)) => inputs::rights(args, rights),
        Some(Command::Inventory(args)) => inventory::rights(args, rights),
        Some(Command::Suspended(args)) => return suspended::rights(args, rights),
        None => {
            let wanted = RequestedObjects::of(args)?;
            match wanted.instances() {
                Some(names) => instance::rights(args, &names, rights),
                None => resources::rights(args, &wanted, rights),
            }
        }
    }
    Ok(())
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    match &args.command {
        Some(Command::Components(args)) => components::run(args, shell),
        Some(Command::History(args)) => history::run(args, shell),
        Some(Command::Inputs(args)) => inputs::run(args, shell),
        Some(Command::Inventory(args)) => inventory::run(args, shell),
        Some(Command::Suspended(args)) => suspended::run(args, shell),
        None => {
            let wanted = RequestedObjects::of(args)?;
            match wanted.instances() {
                Some(names) => instance::run(args, &names, shell),
                None => resources::run(args, &wanted, shell),
            }
        }
    }
}
