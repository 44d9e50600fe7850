//! `resume resource`: a Flux controller reconciles an object again, at once.

use crate::args::{FollowArgs, ResourceArgs, must_suspend};
use crate::flows::follow::request_and_follow;
use crate::flows::request::RequestKind;
use crate::session::Session;
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
    pub follow: FollowArgs,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let wanted = args.resources.resolve()?;
    for kind in wanted.kinds() {
        must_suspend(kind, "resume")?;
    }
    shell.run(async {
        let session = Session::open(shell).await?;
        let targets = session.targets(wanted).await?;
        request_and_follow(&session, &targets, RequestKind::Resume, &args.follow).await
    })
}
