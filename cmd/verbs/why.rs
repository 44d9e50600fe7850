//! `why`: what is not well and what explains it; of one object, or of all.

use clap::Subcommand;
use flux_operator::api::kinds;
use flux_operator::api::object_words::ObjectWords;

use crate::flows::rights::{
    EXPLAINS, EXPLAINS_SECRETS, KIND, LOOKS_AT_OPERATOR, Right, Rights, always, read_words, when,
};
use crate::session::read_source::FromArgs;
use crate::terminal::output_format::{ViewArgs, with_wide};
use crate::terminal::{CliError, Exit, Shell};

mod all;
mod instance;
mod object;

/// Explain what is not well
///
/// With KIND/NAME: from a Flux object or a workload to the first real cause: its
/// controller, dependencies, source, secrets, refused objects, pods, volumes,
/// nodes. Without: every Flux object that is not well, and every workload that Flux
/// applied, grouped by cause, with the objects that each affects; of all namespaces
/// unless -n names one.
///
/// Ends with 0 when nothing fails, with 7 when something does, with 5 when you are
/// not allowed to read what decides it, and with 4 when Flux is not installed.
#[derive(clap::Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    mut_arg("output", with_wide),
    after_help = "Examples:\n  \
    # Everything that is not well, by cause\n  \
    flux-operator why\n\n  \
    # One object\n  \
    flux-operator -n apps why kustomization/podinfo\n  \
    flux-operator -n apps why hr podinfo\n  \
    flux-operator -n apps why deployment/podinfo\n\n  \
    # Every object that each cause affects\n  \
    flux-operator why -A -o wide\n\n  \
    # The causes as words, for scripts\n  \
    flux-operator why -o jsonpath='{.causes[*].reason}'\n\n  \
    # From a dump somebody sent\n  \
    flux-operator why --from ./dump"
)]
pub struct Args {
    #[command(subcommand)]
    pub command: Option<Command>,
    /// KIND/NAME…, KIND NAME…, or a KIND for all of it [default: everything]
    #[arg(value_name = "RESOURCE", add = crate::args::complete::resources())]
    pub resource: Vec<String>,
    /// All namespaces, even if -n names one
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

/// An instance whose objects are all looked at.
const READS_INSTALLATION: &[Right] = &[when(
    "the inventory has several such objects",
    "list",
    "namespaces resourcequotas serviceaccounts services networkpolicies \
     customresourcedefinitions clusterroles \
     clusterrolebindings",
)];

pub fn rights(args: &Args, rights: &mut Rights) -> Result<(), CliError> {
    let namespace = rights.listed(args.all_namespaces);
    rights.everywhere(EXPLAINS);
    rights.named(namespace.as_deref(), &[], EXPLAINS_SECRETS);
    match &args.command {
        Some(Command::Instance(args)) => {
            rights.everywhere(READS_INSTALLATION);
            rights.in_namespace(&rights.flux_namespace(), LOOKS_AT_OPERATOR);
            rights.instance(&args.name, &[always("get", KIND)]);
        }
        None if args.resource.is_empty() => {
            rights.in_namespace(&rights.flux_namespace(), LOOKS_AT_OPERATOR);
            rights.everywhere(&[when("the namespace of Flux may be gone", "get", "namespaces")]);
            rights.flux_kinds(namespace.as_deref(), |kind| kind.kind != "FluxReport", &[always("list", KIND)]);
        }
        None => return read_words(rights, &args.resource),
    }
    Ok(())
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    match &args.command {
        Some(Command::Instance(args)) => instance::run(args, shell),
        None => match ObjectWords::read(&args.resource)? {
            ObjectWords::Objects(objects) => object::run(args, &objects, shell),
            ObjectWords::Kinds(words) => match (words.as_slice(), words.first().and_then(|word| kinds::find(word))) {
                ([], _) => all::run(args, None, shell),
                ([_], Some(kind)) => all::run(args, Some(kind), shell),
                ([_], None) => object::run(args, &ObjectWords::objects(&args.resource)?, shell),
                _ => Err(CliError::usage("why looks at one kind at a time").hint(format!(
                    "run `flux-operator why {}` first, or `flux-operator why` for all",
                    words.first().copied().unwrap_or_default()
                ))),
            },
        },
    }
}
