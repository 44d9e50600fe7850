//! `why`: what is not well and what explains it; of one object, or of all.

use clap::Subcommand;
use flux_operator::api::kinds;

use crate::session::read_source::{FromArgs, KindsOrObjects, named, named_objects};
use crate::terminal::output_format::ViewArgs;
use crate::terminal::{CliError, Exit, Shell};

mod all;
mod instance;
mod object;

/// Explain what is not well
///
/// With KIND/NAME: from a Flux object or a workload to the first real cause: its
/// controller, dependencies, source, secrets, refused objects, pods, volumes,
/// nodes. Without: every Flux object that is not well, and every workload that Flux
/// applied, grouped by cause, with whom each cause takes down; of all namespaces
/// unless -n names one.
///
/// Ends with 0 when all is well and with 7 when a cause was found.
#[derive(clap::Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  \
    # Everything that is not well, by cause\n  \
    flux-operator why\n\n  \
    # One object\n  \
    flux-operator -n apps why kustomization/podinfo\n  \
    flux-operator -n apps why hr podinfo\n  \
    flux-operator -n apps why deployment/podinfo\n\n  \
    # All that each cause takes down\n  \
    flux-operator why -A -o wide\n\n  \
    # The causes as words, for scripts\n  \
    flux-operator why -o jsonpath='{.causes[*].reason}'\n\n  \
    # From a dump somebody sent\n  \
    flux-operator why --from ./dump"
)]
pub struct Args {
    #[command(subcommand)]
    pub command: Option<Command>,
    /// KIND/NAME…, KIND NAME…, or a KIND for all of it; everything without
    #[arg(value_name = "RESOURCE", add = crate::args::complete::resources())]
    pub resource: Vec<String>,
    /// All namespaces, whatever -n says
    #[arg(short = 'A', long)]
    pub all_namespaces: bool,
    #[command(flatten)]
    pub from: FromArgs,
    #[command(flatten)]
    pub view: ViewArgs,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    Instance(instance::Args),
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    match &args.command {
        Some(Command::Instance(args)) => instance::run(args, shell),
        None => match named(&args.resource)? {
            KindsOrObjects::Objects(objects) => object::run(args, &objects, shell),
            KindsOrObjects::Kinds(words) => {
                match (words.as_slice(), words.first().and_then(|word| kinds::find(word))) {
                    ([], _) => all::run(args, None, shell),
                    ([_], Some(kind)) => all::run(args, Some(kind), shell),
                    ([_], None) => object::run(args, &named_objects(&args.resource)?, shell),
                    _ => Err(CliError::usage("why looks at one kind at a time").hint(format!(
                        "run `flux-operator why {}` first, or `flux-operator why` for all",
                        words.first().copied().unwrap_or_default()
                    ))),
                }
            }
        },
    }
}
