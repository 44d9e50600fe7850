//! The command tree: every verb, and the flags all of them share.

use std::cell::RefCell;

use clap::{ArgMatches, Args, FromArgMatches, Parser, Subcommand};

use crate::terminal::GlobalArgs;

const NAME: &str = "flux-operator";

/// Install, configure, inspect and reconcile Flux on Kubernetes
#[derive(Parser, Debug)]
#[command(
    name = NAME,
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
    /// Restores a global flag whose name one command uses for another purpose.
    ///
    /// `--server` is the API server except in `create secret registry`, where it has always been the registry; there
    /// the API server is `--kube-server`.
    pub fn disentangled(mut self) -> Self {
        if matches!(&self.command, Command::Create(command) if command.0.is_about_a_registry()) {
            self.global.server = None;
        }
        self
    }
}

/// Returns the command tree with a single verb, which is built in a fraction of the time. If it refuses a line, the
/// whole tree must decide. `None` when there is no such verb.
pub fn tree_of(verb: &str) -> Option<clap::Command> {
    FILLED.set(Some(verb.to_owned()));
    let mut verbs = Command::augment_subcommands(clap::Command::default());
    FILLED.set(None);
    let verb = std::mem::take(verbs.find_subcommand_mut(verb)?);
    Some(GlobalArgs::augment_args(clap::Command::new(NAME)).subcommand(verb))
}

thread_local! {
    /// The only verb to fill while a tree is built; `None` fills all.
    static FILLED: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// A verb that can be left empty.
#[derive(Debug)]
pub struct Verb<T>(pub T);

impl<T> Verb<T> {
    fn filled(verb: clap::Command, fill: fn(clap::Command) -> clap::Command) -> clap::Command {
        let is_called = |name: &str| name == verb.get_name() || verb.get_all_aliases().any(|alias| alias == name);
        let is_meant = FILLED.with_borrow(|only| only.as_deref().is_none_or(is_called));
        if is_meant { fill(verb) } else { verb }
    }
}

impl<T: FromArgMatches> FromArgMatches for Verb<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        T::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl<T: Args> Args for Verb<T> {
    fn augment_args(verb: clap::Command) -> clap::Command {
        Self::filled(verb, T::augment_args)
    }

    fn augment_args_for_update(verb: clap::Command) -> clap::Command {
        T::augment_args_for_update(verb)
    }
}

impl<T: Subcommand> Subcommand for Verb<T> {
    fn augment_subcommands(verb: clap::Command) -> clap::Command {
        Self::filled(verb, T::augment_subcommands)
    }

    fn augment_subcommands_for_update(verb: clap::Command) -> clap::Command {
        T::augment_subcommands_for_update(verb)
    }

    fn has_subcommand(name: &str) -> bool {
        T::has_subcommand(name)
    }
}

#[derive(Subcommand, Debug)]
pub enum Command {
    #[command(subcommand)]
    Get(Verb<crate::verbs::get::Command>),
    #[command(subcommand)]
    Tree(Verb<crate::verbs::tree::Command>),
    Trace(Verb<crate::verbs::trace::Args>),
    Events(Verb<crate::verbs::events::Args>),
    Debug(Verb<crate::verbs::debug::Args>),
    Impact(Verb<crate::verbs::impact::Args>),
    Logs(Verb<crate::verbs::logs::Args>),
    Report(Verb<crate::verbs::report::Args>),
    Bundle(Verb<crate::verbs::bundle::Args>),
    Stats(Verb<crate::verbs::stats::Args>),
    Status(Verb<crate::verbs::status::Args>),
    Why(Verb<crate::verbs::why::Args>),
    Check(Verb<crate::verbs::check::Args>),
    Version(Verb<crate::verbs::version::Args>),
    WhatChanged(Verb<crate::verbs::what_changed::Args>),
    #[command(subcommand)]
    Create(Verb<crate::verbs::create::Command>),
    #[command(subcommand)]
    Build(Verb<crate::verbs::build::Command>),
    #[command(subcommand, visible_alias = "diff")]
    Plan(Verb<crate::verbs::plan::Command>),
    #[command(subcommand)]
    Apply(Verb<crate::verbs::apply::Command>),
    #[command(subcommand)]
    Reconcile(Verb<crate::verbs::reconcile::Command>),
    #[command(subcommand)]
    Rollback(Verb<crate::verbs::rollback::Command>),
    #[command(subcommand)]
    Suspend(Verb<crate::verbs::suspend::Command>),
    #[command(subcommand)]
    Resume(Verb<crate::verbs::resume::Command>),
    #[command(subcommand)]
    Wait(Verb<crate::verbs::wait::Command>),
    #[command(subcommand)]
    Delete(Verb<crate::verbs::delete::Command>),
    Install(Verb<Box<crate::verbs::install::Args>>),
    #[command(subcommand)]
    Uninstall(Verb<crate::verbs::uninstall::Command>),
    #[command(subcommand)]
    Export(Verb<crate::verbs::export::Command>),
    Migrate(Verb<crate::verbs::migrate::Args>),
    Explain(Verb<crate::verbs::explain::Args>),
    #[command(subcommand)]
    Distribution(Verb<crate::verbs::distribution::Command>),
    #[command(subcommand)]
    Artifact(Verb<crate::verbs::artifact::Command>),
    Rbac(Verb<crate::verbs::rbac::Args>),
    Controller(Verb<Box<crate::verbs::controller::Args>>),
    Completion(Verb<crate::verbs::completion::Args>),
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
