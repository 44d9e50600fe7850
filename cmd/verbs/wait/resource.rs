//! `wait resource`: waits until Flux resources are ready, or deleted.

use super::{For, ForArgs};
use crate::args::{ResourceArgs, must_report};
use crate::session::Session;
use crate::terminal::progress::ProgressArgs;
use crate::terminal::{CliError, Exit, Shell};

/// Wait until Flux resources are ready
///
/// Ends with 0 when every one is Ready at its current generation, and with 7 when
/// one reports failure or the time is up.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Wait for an application and its source\n  \
    flux-operator -n apps wait resource gitrepo/podinfo ks/podinfo\n\n  \
    # Wait until it is gone\n  \
    flux-operator -n apps wait resource ks/podinfo --for=delete --timeout 30s")]
pub struct Args {
    #[command(flatten)]
    pub resources: ResourceArgs,
    #[command(flatten)]
    pub until: ForArgs,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let wanted = args.resources.resolve()?;
    // Every kind can be deleted, but not every kind has a status.
    if args.until.until != For::Delete {
        for kind in wanted.kinds() {
            must_report(kind, "wait for")?;
        }
    }
    shell.run(async {
        let session = Session::open(shell).await?;
        let targets = session.targets(wanted).await?;
        super::follow(&session, targets, &args.until, args.progress.progress).await
    })
}
