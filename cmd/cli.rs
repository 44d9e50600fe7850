//! The command tree: every verb, and the flags all of them share.

use clap::{Parser, Subcommand};

use crate::shell::GlobalArgs;
use crate::apply;
use crate::build;
use crate::completion;
use crate::create;
use crate::delete;
use crate::distribution;
use crate::events;
use crate::explain;
use crate::export;
use crate::generate;
use crate::get;
use crate::reconcile;
use crate::resume;
use crate::stats;
use crate::suspend;
use crate::trace;
use crate::tree;
use crate::wait;

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
    Build(crate::build::Command),
    Get(get::Command),
    #[command(subcommand)]
    Tree(tree::Command),
    Trace(trace::Args),
    Events(events::Args),
    Stats(stats::Args),
    #[command(subcommand)]
    Create(create::Command),
    #[command(subcommand)]
    Create(crate::create::Command),
    Apply(apply::Command),
    #[command(subcommand)]
    Reconcile(reconcile::Command),
    #[command(subcommand)]
    Reconcile(crate::reconcile::Command),
    #[command(subcommand)]
    Suspend(crate::suspend::Command),
    #[command(subcommand)]
    Resume(crate::resume::Command),
    #[command(subcommand)]
    Wait(crate::wait::Command),
    #[command(subcommand)]
    Export(crate::export::Command),
    #[command(subcommand)]
    Delete(crate::delete::Command),
    Delete(delete::Command),
    Explain(explain::Args),
    #[command(subcommand)]
    Distribution(crate::distribution::Command),
    Completion(crate::completion::Args),
    #[command(subcommand, hide = true)]
    Generate(crate::generate::Command),
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
