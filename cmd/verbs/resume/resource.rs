//! `resume resource`: a Flux controller reconciles an object again, at once.

use crate::args::{DryRunArgs, ResourceArgs, WaitArgs, must_suspend};
use crate::flows::follow::request_and_follow;
use crate::flows::request::RequestKind;
use crate::session::Session;
use crate::terminal::progress::ProgressArgs;
use crate::terminal::{CliError, Exit, Shell};

/// Resume the reconciliation of Flux resources
///
/// Requests a reconciliation in the same step and waits for its result.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Resume an application and wait until it is ready\n  \
    flux-operator -n apps resume resource kustomization/podinfo\n\n  \
    # Several objects, without waiting\n  \
    flux-operator -n apps resume resource gitrepo/podinfo hr/podinfo --wait=false")]
pub struct Args {
    #[command(flatten)]
    pub resources: ResourceArgs,
    #[command(flatten)]
    pub wait: WaitArgs,
    #[command(flatten)]
    pub dry_run: DryRunArgs,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let wanted = args.resources.resolve()?;
    for kind in wanted.kinds() {
        must_suspend(kind, "resume")?;
    }
    shell.run(async {
        let session = Session::open(shell).await?;
        let targets = session.targets(wanted, |_, _| true).await?;
        request_and_follow(
            &session,
            &targets,
            RequestKind::Resume,
            args.dry_run.dry_run,
            args.wait.wait,
            args.progress.progress,
        )
        .await
    })
}
