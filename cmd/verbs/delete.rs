//! `delete`: deletes objects and leaves the clean-up to the operator.

use std::path::PathBuf;

use crate::args::FollowArgs;
use crate::args::objects::{ResourceArgs, optional};
use crate::flows::rights::Rights;
use crate::flows::run_in_process::InProcessArgs;
use crate::session::target::instance_kind;
use crate::terminal::confirm::ConfirmArgs;
use crate::terminal::{CliError, Exit, Shell};

mod instance;
mod resource;

/// Delete objects, after showing what else is deleted with them
///
/// A deleted Kustomization prunes the objects it applied, and a deleted HelmRelease uninstalls its release. The command
/// first lists all of these objects and asks for confirmation; scripts need --yes.
///
/// Deleting a ResourceSet deletes the objects it applied, and deleting an instance uninstalls Flux, unless they are
/// suspended. Workloads that Flux deployed keep running. Without a running operator, --in-process does this work here.
#[derive(clap::Args, Debug)]
#[command(
    arg_required_else_help = true,
    mut_arg("resources", unless_in_file),
    after_help = "Examples:\n  \
    # Only show what would be deleted\n  \
    flux-operator -n apps delete ks/podinfo --dry-run\n\n  \
    # In a script\n  \
    flux-operator -n apps delete ks/podinfo gitrepo/podinfo --yes\n\n  \
    # Delete the instance; the operator uninstalls Flux\n  \
    flux-operator -n flux-system delete instance flux\n\n  \
    # Delete the instance and keep Flux running\n  \
    flux-operator -n flux-system delete instance flux --with-suspend --yes\n\n  \
    # The instance in a file\n  \
    flux-operator delete -f flux.yaml\n\n  \
    # Keep the objects that the ResourceSet applied\n  \
    flux-operator -n apps delete rset/previews --with-suspend\n\n  \
    # A ResourceSet with its objects, without an operator in the cluster\n  \
    flux-operator -n apps delete rset/previews --in-process"
)]
pub struct Args {
    #[command(flatten)]
    pub resources: ResourceArgs,
    /// File with an instance; - reads standard input
    #[arg(value_hint = clap::ValueHint::FilePath, short, long, alias = "file", value_name = "FILE", conflicts_with_all = ["all", "selector"])]
    pub filename: Option<PathBuf>,
    /// Suspend the objects first, so that the objects they applied are kept
    #[arg(long)]
    pub with_suspend: bool,
    #[command(flatten)]
    pub in_process: InProcessArgs,
    #[command(flatten)]
    pub confirm: ConfirmArgs,
    #[command(flatten)]
    pub follow: FollowArgs,
}

fn unless_in_file(words: clap::Arg) -> clap::Arg {
    optional(words).required_unless_present("filename")
}

pub fn rights(args: &Args, rights: &mut Rights) -> Result<(), CliError> {
    let wanted = args.resources.resolve()?;
    match wanted.only(instance_kind()) {
        Some(name) => instance::rights(args, name, rights),
        None => resource::rights(args, &wanted, rights),
    }
    Ok(())
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let wanted = args.resources.resolve()?;
    match wanted.only(instance_kind()) {
        Some(name) => instance::run(args, name, shell),
        None if args.filename.is_some() => {
            Err(CliError::usage("-f and the names of other objects cannot be used together")
                .hint("leave one of them out"))
        }
        // Deleting an instance uninstalls its Flux, so each one is shown and confirmed separately.
        None if wanted.kinds().contains(&instance_kind()) => Err(CliError::usage("delete each instance separately")
            .hint("run `flux-operator delete instance NAME` for each")),
        None => resource::run(args, wanted, shell),
    }
}
