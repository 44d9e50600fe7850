//! `suspend`: tells a controller not to reconcile an object.

use crate::args::objects::{ResourceArgs, must_suspend};
use crate::args::{DryRunArgs, NoteArgs};
use crate::flows::follow::all_or_error;
use crate::flows::request::{RequestKind, send};
use crate::flows::rights::{KIND, Rights, always};
use crate::session::Session;
use crate::terminal::{CliError, Exit, Shell};

/// Suspend reconciliation
///
/// Controllers do not reconcile the objects until they are resumed. While an instance is suspended, the operator does
/// not change Flux, and deleting the instance keeps Flux in the cluster.
#[derive(clap::Args, Debug)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:\n  \
    # Stop one application from being updated\n  \
    flux-operator -n apps suspend kustomization podinfo\n\n  \
    # Freeze the Flux installation during an incident\n  \
    flux-operator -n flux-system suspend instance flux\n\n  \
    # Record the reason and the planned end\n  \
    flux-operator -n apps suspend ks podinfo --reason 'migration' --until 2h\n\n  \
    # Several objects of different kinds at once\n  \
    flux-operator -n apps suspend gitrepo/podinfo hr/podinfo\n\n  \
    # See what would be sent\n  \
    flux-operator suspend instance --dry-run=client"
)]
pub struct Args {
    #[command(flatten)]
    pub resources: ResourceArgs,
    #[command(flatten)]
    pub note: NoteArgs,
    #[command(flatten)]
    pub dry_run: DryRunArgs,
}

pub fn rights(args: &Args, rights: &mut Rights) -> Result<(), CliError> {
    rights.wanted(&args.resources.resolve()?, &[always("patch", KIND)]);
    Ok(())
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let wanted = args.resources.resolve()?;
    for kind in wanted.kinds() {
        must_suspend(kind, "suspend")?;
    }
    let note = args.note.note(jiff::Timestamp::now())?;
    shell.run(async {
        let session = Session::open(shell).await?;
        let targets = session.targets(wanted).await?;
        let (_, failed) = send(&session, &targets, RequestKind::Suspend(note), args.dry_run.dry_run).await?;
        all_or_error(&session, failed, targets.len(), "suspended")
    })
}
