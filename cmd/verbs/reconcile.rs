//! `reconcile`: asks a controller to work now, or does its work here.

use clap::Subcommand;

use crate::args::FollowArgs;
use crate::args::objects::{ResourceArgs, optional};
use crate::flows::resource_set::SetAccountArgs;
use crate::flows::rights::Rights;
use crate::flows::run_in_process::{DistributionArgs, InProcessArgs};
use crate::session::target::{ObjectSelection, instance_kind, resource_set_kind};
use crate::terminal::confirm::ConfirmArgs;
use crate::terminal::{CliError, Exit, Shell};

mod all;
mod in_process;
mod instance;
mod resource;
mod resourceset;

/// Reconcile now
///
/// Waits until the controller has handled the request and the object is ready.
/// For the operator's own kinds, --in-process does the work here. Without
/// objects, reconciles the instance.
#[derive(clap::Args, Debug)]
#[command(
    mut_arg("resources", optional),
    after_help = "Examples:\n  \
    # Fetch the source first, then apply its new revision\n  \
    flux-operator -n apps reconcile ks podinfo --with-source\n\n  \
    # Several objects of different kinds, by their short names\n  \
    flux-operator -n apps reconcile gitrepo/podinfo ks/podinfo\n\n  \
    # Everything that is not suspended, in all namespaces\n  \
    flux-operator reconcile hr --all -A\n\n  \
    # Run the upgrade of a Helm release again even if nothing changed\n  \
    flux-operator -n apps reconcile hr/podinfo --force\n\n  \
    # The instance; also migrate Flux resources to their latest API version\n  \
    flux-operator -n flux-system reconcile instance flux --force\n\n  \
    # Correct drift of the instance without an operator in the cluster\n  \
    flux-operator -n flux-system reconcile instance --in-process\n\n  \
    # The same for a ResourceSet, and for an input provider\n  \
    flux-operator -n apps reconcile rset web --in-process\n  \
    flux-operator -n apps reconcile rsip pull-requests --in-process"
)]
pub struct Args {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub resources: ResourceArgs,
    /// Also request actions that the kind performs only when forced; for an
    /// instance, the migration of all Flux resources to their latest API
    /// version
    #[arg(long)]
    pub force: bool,
    /// First reconcile the source of each object, and wait for it
    #[arg(long)]
    pub with_source: bool,
    /// Clear the failures of a Helm release, so that it is retried
    #[arg(long)]
    pub reset: bool,
    #[command(flatten)]
    pub in_process: InProcessArgs,
    #[command(flatten)]
    pub confirm: ConfirmArgs,
    #[command(flatten)]
    pub distribution: DistributionArgs,
    #[command(flatten)]
    pub account: SetAccountArgs,
    #[command(flatten)]
    pub follow: FollowArgs,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    All(all::Args),
}

/// The objects of a line, by the flow that they take.
enum ReconcileSubject {
    Instance(String),
    ResourceSet(String),
    Resources(ObjectSelection),
}

/// Reads the objects of a line, and refuses flags that are not for their kind.
fn subject(args: &Args) -> Result<ReconcileSubject, CliError> {
    let wanted = args.resources.resolve()?;
    let (instance, set) = (wanted.only(instance_kind()), wanted.only(resource_set_kind()));
    let (is_instance, is_set) = (instance.is_some(), set.is_some());
    let kinds = wanted.kinds();
    let kind = kinds.iter().find(|kind| kind.kind != "HelmRelease").or(kinds.first()).map_or("", |kind| kind.plural);
    let rows = [
        (args.reset, kinds.iter().all(|kind| kind.kind == "HelmRelease"), "--reset is for Helm releases"),
        (args.distribution.is_given(), is_instance, "--distribution and --strict are for instances"),
        (args.account.default_service_account.is_some(), is_set, "--default-service-account is for ResourceSets"),
        (args.with_source, !is_instance && !is_set, "--with-source is for objects that have a source"),
    ];
    if let Some((.., problem)) = rows.into_iter().find(|(is_given, fits, _)| *is_given && !fits) {
        return Err(CliError::usage(format!("{problem}, not for {kind}")));
    }
    Ok(match (instance, set) {
        (Some(name), _) => ReconcileSubject::Instance(name.to_owned()),
        (_, Some(name)) => ReconcileSubject::ResourceSet(name.to_owned()),
        _ => ReconcileSubject::Resources(wanted),
    })
}

pub fn rights(args: &Args, rights: &mut Rights) -> Result<(), CliError> {
    if let Some(Command::All(args)) = &args.command {
        return all::rights(args, rights);
    }
    match subject(args)? {
        ReconcileSubject::Instance(name) => instance::rights(args, &name, rights),
        ReconcileSubject::ResourceSet(name) => resourceset::rights(args, &name, rights),
        ReconcileSubject::Resources(wanted) => resource::rights(args, &wanted, rights),
    }
    Ok(())
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    if let Some(Command::All(args)) = &args.command {
        return all::run(args, shell);
    }
    match subject(args)? {
        ReconcileSubject::Instance(name) => instance::run(args, &name, shell),
        ReconcileSubject::ResourceSet(name) => resourceset::run(args, &name, shell),
        ReconcileSubject::Resources(wanted) => resource::run(args, wanted, shell),
    }
}
