//! `suspend resource`: a Flux controller does not reconcile an object until it is resumed.

use crate::args::{DryRunArgs, NoteArgs, ResourceArgs, must_suspend};
use crate::flows::follow::all_or_error;
use crate::flows::request::{RequestKind, send};
use crate::session::Session;
use crate::terminal::{CliError, Exit, Shell};

/// Suspend the reconciliation of Flux resources
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Stop one application from being updated\n  \
    flux-operator -n apps suspend resource kustomization/podinfo\n\n  \
    # Say why, and when it should be over\n  \
    flux-operator -n apps suspend ks podinfo --reason 'migration' --until 2h\n\n  \
    # Several objects of different kinds at once\n  \
    flux-operator -n apps suspend resource gitrepo/podinfo hr/podinfo")]
pub struct Args {
    #[command(flatten)]
    pub resources: ResourceArgs,
    #[command(flatten)]
    pub note: NoteArgs,
    #[command(flatten)]
    pub dry_run: DryRunArgs,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let wanted = args.resources.resolve()?;
    for kind in wanted.kinds() {
        must_suspend(kind, "suspend")?;
    }
    let note = args.note.note(jiff::Timestamp::now())?;
    shell.run(async {
        let session = Session::open(shell).await?;
        let targets = session.targets(wanted, |_, _| true).await?;
        let (_, failed) = send(&session, &targets, RequestKind::Suspend(note), args.dry_run.dry_run).await?;
        all_or_error(&session, failed, targets.len(), "suspended")
    })
}
