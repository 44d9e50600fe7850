//! `apply`: changes the cluster to match a manifest.

use std::path::PathBuf;

use crate::args::FollowArgs;
use crate::args::objects::{OperatorObject, refuse_given};
use crate::flows::resource_set::SetAccountArgs;
use crate::flows::rights::Rights;
use crate::flows::run_in_process::{DistributionArgs, InProcessArgs};
use crate::terminal::confirm::ConfirmArgs;
use crate::terminal::{CliError, Exit, Shell, no_existing_file};

mod instance;
mod planned;
mod resourceset;

/// Apply a FluxInstance or a ResourceSet and wait until it is ready
///
/// The object is applied server-side; a running operator then installs or changes Flux, or applies the objects of the
/// ResourceSet. If no operator reconciles the object, the command reports that at once. With --in-process, the command
/// does the operator's work: it creates the CRD and the namespace if they are missing, installs Flux, and writes the
/// status of the object.
#[derive(clap::Args, Debug)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:\n  \
    # Apply and watch the controllers come up\n  \
    flux-operator apply -f flux.yaml\n\n  \
    # Install Flux without an operator in the cluster\n  \
    flux-operator apply instance -f flux.yaml --in-process\n\n  \
    # From a pipe, with progress as JSON lines for a log\n  \
    flux-operator create instance --export | flux-operator apply -f - \\\n    \
    --progress json\n\n  \
    # Apply exactly the saved plan\n  \
    flux-operator apply --plan flux.plan\n\n  \
    # A ResourceSet, without an operator in the cluster\n  \
    flux-operator apply resourceset -f apps.yaml --in-process"
)]
pub struct Args {
    /// Kind of the object in the file: instance or resourceset [default: instance]
    #[arg(value_name = "KIND", value_parser = no_existing_file)]
    pub object: Vec<String>,
    /// File with the object; - reads standard input
    #[arg(value_hint = clap::ValueHint::FilePath, short, long, value_name = "FILE", alias = "file", required_unless_present_any = ["plan", "object"], conflicts_with = "plan")]
    pub filename: Option<PathBuf>,
    /// Carry out the plan that `plan instance --out` saved, in this process
    ///
    /// Applies exactly the changes of the plan, or nothing if the cluster has changed since.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["distribution", "allow_unknown_minor", "verify_key", "strict", "dry_run"])]
    pub plan: Option<PathBuf>,
    /// Take over fields that another manager set to other values
    #[arg(long)]
    pub force_conflicts: bool,
    #[command(flatten)]
    pub confirm: ConfirmArgs,
    #[command(flatten)]
    pub in_process: InProcessArgs,
    #[command(flatten)]
    pub distribution: DistributionArgs,
    #[command(flatten)]
    pub account: SetAccountArgs,
    #[command(flatten)]
    pub follow: FollowArgs,
}

/// Whether the file holds a ResourceSet.
fn is_of_set(args: &Args) -> Result<bool, CliError> {
    let is_set = matches!(OperatorObject::of_file(&args.object, "apply")?, OperatorObject::ResourceSet(_));
    match is_set {
        true => {
            let flags = [(args.plan.is_some(), "--plan"), (args.distribution.is_given(), "--distribution or --strict")];
            refuse_given(&flags, "instances")?;
        }
        false => {
            refuse_given(
                &[(args.account.default_service_account.is_some(), "--default-service-account")],
                "ResourceSets",
            )?;
        }
    }
    Ok(is_set)
}

pub fn rights(args: &Args, rights: &mut Rights) -> Result<(), CliError> {
    match is_of_set(args)? {
        true => resourceset::rights(args, rights),
        false => instance::rights(args, rights),
    }
    Ok(())
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    match is_of_set(args)? {
        true => resourceset::run(args, shell),
        false => instance::run(args, shell),
    }
}
