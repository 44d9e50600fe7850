//! The command tree: every verb, and the flags all of them share.

use clap::{Parser, Subcommand};

use crate::shell::GlobalArgs;

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
                  or the object reports failure, 130 interrupted.\n\n\
                  $XDG_CONFIG_HOME/flux-operator/config.yaml may hold the defaults of namespace,\n\
                  output and color, and protectedContexts: patterns of contexts in which\n\
                  deleting wants --confirm-context. A flag or a variable wins over it.\n\n\
                  Environment: FLUX_OPERATOR_NAMESPACE, FLUX_OPERATOR_OUTPUT and\n\
                  FLUX_OPERATOR_TIMEOUT are the defaults of their flags,\n\
                  FLUX_OPERATOR_PROTECTED_CONTEXTS replaces protectedContexts; KUBECONFIG,\n\
                  NO_COLOR, TERM and the proxy variables mean what they mean everywhere."
)]
pub struct Cli {
    #[command(flatten)]
    pub global: GlobalArgs,
    #[command(subcommand)]
    pub command: Command,
}

impl Cli {
    /// Undoes what a flag of one command did to the global flag of the same name.
    ///
    /// `--server` is the API server everywhere but in `create secret registry`, where it always meant the registry; there
    /// the API server is `--kube-server`.
    pub fn disentangled(mut self) -> Self {
        if matches!(&self.command, Command::Create(command) if command.is_about_a_registry()) {
            self.global.server = None;
        }
        self
    }
}

#[derive(Subcommand, Debug)]
pub enum Command {
    #[command(subcommand)]
    Get(crate::get::Command),
    #[command(subcommand)]
    Tree(crate::tree::Command),
    Trace(crate::trace::Args),
    Events(crate::events::Args),
    Debug(crate::debug::Args),
    Impact(crate::impact::Args),
    Logs(crate::logs::Args),
    Report(crate::report::Args),
    Bundle(crate::bundle::Args),
    Stats(crate::stats::Args),
    Status(crate::status::Args),
    Why(crate::why::Args),
    Check(crate::check::Args),
    Version(crate::version::Args),
    WhatChanged(crate::what_changed::Args),
    #[command(subcommand)]
    Create(crate::create::Command),
    #[command(subcommand)]
    Build(crate::build::Command),
    #[command(subcommand, visible_alias = "diff")]
    Plan(crate::plan::Command),
    #[command(subcommand)]
    Apply(crate::apply::Command),
    #[command(subcommand)]
    Reconcile(crate::reconcile::Command),
    #[command(subcommand)]
    Rollback(crate::rollback::Command),
    #[command(subcommand)]
    Suspend(crate::suspend::Command),
    #[command(subcommand)]
    Resume(crate::resume::Command),
    #[command(subcommand)]
    Wait(crate::wait::Command),
    #[command(subcommand)]
    Delete(crate::delete::Command),
    Install(Box<crate::install::Args>),
    #[command(subcommand)]
    Uninstall(crate::uninstall::Command),
    #[command(subcommand)]
    Export(crate::export::Command),
    Migrate(crate::migrate::Args),
    Explain(crate::explain::Args),
    #[command(subcommand)]
    Distribution(crate::distribution::Command),
    #[command(subcommand)]
    Artifact(crate::artifact::Command),
    Rbac(crate::rbac::Args),
    Controller(Box<crate::controller::Args>),
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
