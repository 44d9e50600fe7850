//! `export resource`: prints Flux resources as a user would write them.

use futures::future::try_join_all;

use super::print;
use crate::args::ObjectFormatArgs;
use crate::args::ResourceArgs;
use crate::session::Session;
use crate::terminal::{CliError, Exit, Shell};

/// Print Flux resources without what the cluster added
///
/// Several objects come as a stream of YAML documents, or as a List in JSON.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Move an application to another cluster\n  \
    flux-operator -n apps export resource ks/podinfo gitrepo/podinfo > app.yaml\n\n  \
    # As JSON\n  \
    flux-operator -n apps export resource HelmRelease/podinfo -o json")]
pub struct Args {
    #[command(flatten)]
    pub resources: ResourceArgs,
    #[command(flatten)]
    pub format: ObjectFormatArgs,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let wanted = args.resources.resolve()?;
    shell.run(async {
        let session = Session::open(shell).await?;
        let targets = session.targets(wanted, |_, _| true).await?;
        let objects = try_join_all(targets.iter().map(|target| session.get(target))).await?;
        print(shell, objects, args.format.output)
    })
}
