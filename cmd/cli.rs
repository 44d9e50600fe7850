//! The command tree: every verb, and the flags all of them share.

use clap::{Parser, Subcommand};

use crate::shell::GlobalArgs;
use crate::{completion, create, delete, distribution, export, generate, reconcile, resume, suspend, wait};
use crate::{build, completion, create, delete, export, generate, reconcile, resume, suspend, wait};

/// Install, configure, inspect and reconcile Flux on Kubernetes
#[derive(Parser, Debug)]
#[command(
    name = "flux-operator",
    version,
    max_term_width = 80,
    subcommand_required = true,
    arg_required_else_help = true,
    infer_long_args = false,
    after_help = "Exit codes: 0 done, 1 failed (plan: differences), 2 wrong usage, 3 object not\n\
                  found, 4 API or CRD not installed, 5 denied, 6 server unreachable, 7 timed out\n\
                  or the object reports failure, 130 interrupted."
)]
pub struct Cli {
    #[command(flatten)]
    pub global: GlobalArgs,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    #[command(subcommand)]
    Build(build::Command),
    #[command(subcommand)]
    Create(create::Command),
    #[command(subcommand)]
    Reconcile(reconcile::Command),
    #[command(subcommand)]
    Suspend(suspend::Command),
    #[command(subcommand)]
    Resume(resume::Command),
    #[command(subcommand)]
    Wait(wait::Command),
    #[command(subcommand)]
    Export(export::Command),
    #[command(subcommand)]
    Delete(delete::Command),
    #[command(subcommand)]
    Distribution(distribution::Command),
    Completion(completion::Args),
    #[command(subcommand, hide = true)]
    Generate(generate::Command),
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_tree_is_consistent() {
        Cli::command().debug_assert();
    }
}
