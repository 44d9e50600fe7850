//! `why`: explains why objects are not well, for one object or for all.

use flux_operator::api::kinds::{self, FluxKind};
use flux_operator::api::object_words::ObjectWords;
use flux_operator::api::well_known::INSTANCE_NAME;

use crate::args::objects::is_instance;
use crate::flows::rights::{
    EXPLAINS, EXPLAINS_SECRETS, KIND, LOOKS_AT_OPERATOR, Right, Rights, always, read_words, when,
};
use crate::session::read_source::FromArgs;
use crate::terminal::output_format::{ViewArgs, with_wide};
use crate::terminal::{CliError, Exit, Shell};

mod all;
mod object;

/// Explain why objects are not healthy
///
/// With KIND/NAME, follows a Flux object or a workload to its root cause: its
/// controller, dependencies, source, secrets, refused objects, pods, volumes,
/// nodes. Without KIND/NAME, shows every Flux object, and every workload that
/// Flux applied, that is not healthy, grouped by cause, with the objects that
/// each cause affects, in all namespaces unless -n names one.
///
/// Exits with 0 when nothing fails, 7 when something fails, 5 when you are not
/// allowed to read what decides the result, and 4 when Flux is not installed.
#[derive(clap::Args, Debug)]
#[command(
    mut_arg("output", with_wide),
    after_help = "Examples:\n  \
    # Everything that is not healthy, by cause\n  \
    flux-operator why\n\n  \
    # The instance: its components, pods, events, logs, source and secrets\n  \
    flux-operator why instance\n\n  \
    # One object\n  \
    flux-operator -n apps why kustomization/podinfo\n  \
    flux-operator -n apps why hr podinfo\n  \
    flux-operator -n apps why deployment/podinfo\n\n  \
    # Every object that each cause affects\n  \
    flux-operator why -A -o wide\n\n  \
    # The reason of each cause, for scripts\n  \
    flux-operator why -o jsonpath='{.causes[*].reason}'\n\n  \
    # From a dump somebody sent\n  \
    flux-operator why --from ./dump"
)]
pub struct Args {
    /// KIND/NAME…, KIND NAME…, or KIND for all objects [default: everything]
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

/// Rights to read all objects of an instance.
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
    if args.resource.is_empty() {
        rights.in_namespace(&rights.flux_namespace(), LOOKS_AT_OPERATOR);
        rights.everywhere(&[when("the namespace of Flux may be gone", "get", "namespaces")]);
        rights.flux_kinds(namespace.as_deref(), |kind| kind.kind != "FluxReport", &[always("list", KIND)]);
        return Ok(());
    }
    match WhySubject::read(args)? {
        WhySubject::Objects(objects) => {
            for (word, name) in objects {
                if is_instance(word) {
                    rights.everywhere(READS_INSTALLATION);
                    rights.in_namespace(&rights.flux_namespace(), LOOKS_AT_OPERATOR);
                }
                rights.reads(word, &[name])?;
            }
            Ok(())
        }
        WhySubject::Kind(_) => read_words(rights, &args.resource),
    }
}

/// The objects or the kind that a line asks about.
enum WhySubject<'a> {
    /// All objects of a kind, or of every kind.
    Kind(Option<&'static FluxKind>),
    Objects(Vec<(&'a str, &'a str)>),
}

impl<'a> WhySubject<'a> {
    /// Reads the words; the kind FluxInstance alone means `flux`.
    fn read(args: &'a Args) -> Result<Self, CliError> {
        let words = match ObjectWords::read(&args.resource)? {
            ObjectWords::Objects(objects) => return Ok(WhySubject::Objects(objects)),
            ObjectWords::Kinds(words) => words,
        };
        match (words.as_slice(), words.first().and_then(|word| kinds::find(word))) {
            ([], _) => Ok(WhySubject::Kind(None)),
            ([word], _) if is_instance(word) => Ok(WhySubject::Objects(vec![(*word, INSTANCE_NAME)])),
            ([_], Some(kind)) => Ok(WhySubject::Kind(Some(kind))),
            ([_], None) => Ok(WhySubject::Objects(ObjectWords::objects(&args.resource)?)),
            _ => Err(CliError::usage("why looks at one kind at a time").hint(format!(
                "run `flux-operator why {}` first, or `flux-operator why` for all",
                words.first().copied().unwrap_or_default()
            ))),
        }
    }
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    match WhySubject::read(args)? {
        WhySubject::Kind(kind) => all::run(args, kind, shell),
        WhySubject::Objects(objects) => object::run(args, &objects, shell),
    }
}
