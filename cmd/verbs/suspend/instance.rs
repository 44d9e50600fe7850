//! `suspend instance`: the operator does not change Flux until the instance is resumed.

use crate::args::{DryRunArgs, NoteArgs};
use crate::flows::request::{RequestKind, send};
use crate::session::Session;
use crate::terminal::{CliError, Exit, Shell};

/// Suspend the reconciliation of a FluxInstance
///
/// Flux itself keeps running; the operator no longer changes it. Deleting a suspended instance keeps Flux in the
/// cluster.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Freeze the Flux installation during an incident\n  \
    flux-operator -n flux-system suspend instance flux\n\n  \
    # Say why, and when it should be over\n  \
    flux-operator suspend instance --reason 'incident 4711' --until 2h\n\n  \
    # See what would be sent\n  \
    flux-operator suspend instance --dry-run=client")]
pub struct Args {
    /// Name of the instance
    #[arg(default_value = "flux", add = crate::args::complete::instances())]
    pub name: String,
    #[command(flatten)]
    pub note: NoteArgs,
    #[command(flatten)]
    pub dry_run: DryRunArgs,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let note = args.note.note(jiff::Timestamp::now())?;
    shell.run(async {
        let session = Session::open(shell).await?;
        let (_, failed) =
            send(&session, &[session.instance(&args.name)], RequestKind::Suspend(note), args.dry_run.dry_run).await?;
        failed.into_iter().next().map_or(Ok(Exit::Done), Err)
    })
}
