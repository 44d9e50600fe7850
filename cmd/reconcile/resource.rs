//! `reconcile resource`: asks a Flux controller to look at an object now.

use crate::common::args::{DryRunArgs, ResourceArgs, WaitArgs, must_reconcile};
use crate::common::{RequestKind, Session, request_and_follow};
use crate::shell::progress::ProgressArgs;
use crate::shell::{CliError, Exit, Shell};

/// Reconcile Flux resources now
///
/// Waits until the controller has handled the request and the object is ready.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Fetch a repository now\n  \
    flux-operator -n flux-system reconcile resource GitRepository/flux-system\n\n  \
    # Several objects of different kinds, by their short names\n  \
    flux-operator -n apps reconcile resource gitrepo/podinfo ks/podinfo\n\n  \
    # Run the upgrade of a Helm release again although nothing changed\n  \
    flux-operator -n apps reconcile resource hr/podinfo --force")]
pub struct Args {
    #[command(flatten)]
    pub resources: ResourceArgs,
    /// Also ask for what the kind does only when forced
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub wait: WaitArgs,
    #[command(flatten)]
    pub dry_run: DryRunArgs,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let named = args.resources.resolve()?;
    for one in &named {
        must_reconcile(one.kind, "reconcile")?;
    }
    shell.run(async {
        let session = Session::open(shell).await?;
        let (targets, act) = (session.targets(named), RequestKind::Reconcile { force: args.force });
        request_and_follow(&session, &targets, act, args.dry_run.dry_run, args.wait.wait, args.progress.progress).await
    })
}
