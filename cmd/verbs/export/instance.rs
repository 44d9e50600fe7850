//! `export instance`: prints a FluxInstance as a user would write it.

use super::print;
use crate::args::ObjectFormatArgs;
use crate::session::Session;
use crate::terminal::{CliError, Exit, Shell};

/// Print a FluxInstance without what the cluster added
///
/// The output can be applied to another cluster, or committed.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Keep the instance in Git\n  \
    flux-operator -n flux-system export instance flux > flux.yaml\n\n  \
    # As JSON\n  \
    flux-operator -n flux-system export instance flux -o json")]
pub struct Args {
    /// Name of the instance
    #[arg(default_value = "flux", add = crate::args::complete::instances())]
    pub name: String,
    #[command(flatten)]
    pub format: ObjectFormatArgs,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    shell.run(async {
        let session = Session::open(shell).await?;
        let object = session.get(&session.instance(&args.name)).await?;
        print(shell, vec![object], args.format.output)
    })
}
