//! The command tree: every verb, and the flags all of them share.

use clap::{CommandFactory, Parser, Subcommand};

use crate::flows::rights::Rights;
use crate::terminal::usage::help_width;
use crate::terminal::{CliError, GlobalArgs};
use crate::verbs;

macro_rules! after_help {
    ($more:literal) => {
        concat!(
            "Examples:\n  \
            # Install Flux without an operator in the cluster\n  \
            flux-operator create instance --export > flux.yaml\n  \
            flux-operator apply -f flux.yaml --in-process\n\n  \
            # Is everything healthy? If not, show the cause and the next command\n  \
            flux-operator status\n  \
            flux-operator why\n\n  \
            # What changed in the last hour, and who changed it\n  \
            flux-operator what-changed --since 1h\n\n  \
            # Upgrade Flux, and roll back if it does not become ready\n  \
            flux-operator upgrade 2.9.x --rollback-on-failure\n\n",
            $more,
            "`flux-operator help topics`: exit codes, environment, output, configuration.\n\
            Documentation of Flux: https://fluxcd.io/flux/"
        )
    };
}

const AFTER_HELP: &str = after_help!("");
const AFTER_LONG_HELP: &str = after_help!(
    "Exit codes: 0 done, 1 failed (plan: differences), 2 wrong usage, 3 object not\n\
    found, 4 API or CRD not installed, 5 denied, 6 server unreachable, 7 timed out\n\
    or the object reports failure, 8 some of several clusters unreachable (the\n\
    others succeeded), 130 interrupted.\n\n\
    $XDG_CONFIG_HOME/flux-operator/config.yaml can set defaults for namespace,\n\
    output, color and inProcess, protectedContexts (patterns of contexts in which\n\
    deleting requires --confirm-context), contextGroups (names for --contexts) and\n\
    aliases. Flags and variables override the file.\n\n\
    Environment: FLUX_OPERATOR_NAMESPACE, FLUX_OPERATOR_OUTPUT and\n\
    FLUX_OPERATOR_TIMEOUT set the defaults of their flags,\n\
    FLUX_OPERATOR_PROTECTED_CONTEXTS replaces protectedContexts,\n\
    FLUX_OPERATOR_PAGER or PAGER shows long output; KUBECONFIG, NO_COLOR, TERM and\n\
    the proxy variables have their usual meaning.\n\n"
);

/// Install, configure, inspect and reconcile Flux on Kubernetes
#[derive(Parser, Debug)]
#[command(
    name = "flux-operator",
    // Not the name of the file, which ends with `.exe` on Windows.
    bin_name = "flux-operator",
    version,
    // Terminals without a size report 0 columns, and clap would use that width.
    term_width = help_width(),
    subcommand_required = true,
    arg_required_else_help = true,
    infer_long_args = false,
    after_help = AFTER_HELP,
    after_long_help = AFTER_LONG_HELP
)]
pub struct Cli {
    #[command(flatten)]
    pub global: GlobalArgs,
    #[command(subcommand)]
    pub command: Command,
}

impl Cli {
    /// Restores a global flag whose name one command uses for another purpose, and drops an empty namespace.
    ///
    /// `--server` is the API server except in `create secret registry`, where it has always been the registry; there
    /// the API server is `--kube-server`.
    pub fn disentangled(mut self) -> Self {
        if matches!(&self.command, Command::Create(command) if command.is_about_a_registry()) {
            self.global.server = None;
        }
        // As in kubectl, an empty name counts as no flag, because scripts write `-n "$NAMESPACE"`.
        self.global.namespace = self.global.namespace.filter(|namespace| !namespace.is_empty());
        self
    }
}

/// Verbs that run for many clusters.
const OF_MANY_CLUSTERS: [&str; 17] = [
    "get",
    "tree",
    "why",
    "trace",
    "events",
    "debug",
    "impact",
    "report",
    "stats",
    "status",
    "check",
    "version",
    "what-changed",
    "wait",
    "logs",
    "export",
    "plan",
];
/// Flags that choose many clusters.
const FLEET_FLAGS: [&str; 5] = ["contexts", "clusters_from", "cluster_selector", "cluster_timeout", "parallel"];

/// Returns the command tree. The help of each verb lists only the global flags that the verb supports.
pub fn tree() -> clap::Command {
    let tree = Cli::command();
    let is_of_fleets = |flag: &&clap::Arg| FLEET_FLAGS.contains(&flag.get_id().as_str());
    // Unsupported flags are hidden but still parsed, because their error explains how to use several clusters.
    let hidden: Vec<_> = tree.get_arguments().filter(is_of_fleets).map(|flag| flag.clone().hide(true)).collect();
    let selector = tree.get_arguments().find(|flag| flag.get_id() == "cluster_selector").cloned();
    let selector = selector.map(|flag| flag.short('l').alias("selector"));
    tree.mut_subcommands(|verb| match OF_MANY_CLUSTERS.contains(&verb.get_name()) {
        true => with_selector(verb, selector.as_ref()),
        false => verb.args(hidden.clone()),
    })
}

/// Adds the `-l` that selects clusters to commands without their own `-l`.
fn with_selector(command: clap::Command, selector: Option<&clap::Arg>) -> clap::Command {
    let has_own = command.get_arguments().any(|flag| flag.get_short() == Some('l'));
    let command = command.mut_subcommands(|below| with_selector(below, selector));
    if has_own { command } else { command.args(selector.cloned()) }
}

#[derive(Subcommand, Debug)]
pub enum Command {
    Get(Box<crate::verbs::get::Args>),
    Tree(crate::verbs::tree::Args),
    Trace(crate::verbs::trace::Args),
    Events(crate::verbs::events::Args),
    Debug(crate::verbs::debug::Args),
    Impact(crate::verbs::impact::Args),
    Logs(crate::verbs::logs::Args),
    Report(crate::verbs::report::Args),
    Bundle(crate::verbs::bundle::Args),
    Stats(crate::verbs::stats::Args),
    Status(crate::verbs::status::Args),
    Why(crate::verbs::why::Args),
    Check(crate::verbs::check::Args),
    Version(crate::verbs::version::Args),
    WhatChanged(crate::verbs::what_changed::Args),
    #[command(subcommand)]
    Create(crate::verbs::create::Command),
    Build(Box<crate::verbs::build::Args>),
    #[command(visible_alias = "diff")]
    Plan(Box<crate::verbs::plan::Args>),
    Apply(Box<crate::verbs::apply::Args>),
    Reconcile(Box<crate::verbs::reconcile::Args>),
    Upgrade(Box<crate::verbs::upgrade::Args>),
    Rollback(Box<crate::verbs::rollback::Args>),
    Suspend(crate::verbs::suspend::Args),
    Resume(crate::verbs::resume::Args),
    Wait(crate::verbs::wait::Args),
    Delete(Box<crate::verbs::delete::Args>),
    Install(Box<crate::verbs::install::Args>),
    Uninstall(crate::verbs::uninstall::Args),
    Export(crate::verbs::export::Args),
    Migrate(crate::verbs::migrate::Args),
    Explain(crate::verbs::explain::Args),
    #[command(subcommand)]
    Distribution(crate::verbs::distribution::Command),
    #[command(subcommand)]
    Artifact(crate::verbs::artifact::Command),
    Rbac(crate::verbs::rbac::Args),
    Controller(Box<crate::verbs::controller::Args>),
    Completion(crate::verbs::completion::Args),
    #[command(subcommand)]
    Config(crate::verbs::config::Command),
}

impl Command {
    /// Collects the rights that the command needs.
    ///
    /// # Errors
    /// Errors of the words that name objects; usage for a command that sends no request to an API server.
    pub fn rights(&self, rights: &mut Rights) -> Result<(), CliError> {
        match self {
            Command::Build(args) => verbs::build::rights(args, rights),
            Command::Get(args) => verbs::get::rights(args, rights)?,
            Command::Tree(args) => verbs::tree::rights(args, rights)?,
            Command::Trace(args) => verbs::trace::rights(args, rights)?,
            Command::Events(args) => verbs::events::rights(args, rights)?,
            Command::Debug(args) => verbs::debug::rights(args, rights)?,
            Command::Impact(args) => verbs::impact::rights(args, rights)?,
            Command::Logs(args) => verbs::logs::rights(args, rights)?,
            Command::Report(_) => verbs::report::rights(rights),
            Command::Bundle(_) => verbs::bundle::rights(rights),
            Command::Stats(args) => verbs::stats::rights(args, rights),
            Command::Status(args) => verbs::status::rights(args, rights),
            Command::Why(args) => verbs::why::rights(args, rights)?,
            Command::Check(args) => verbs::check::rights(args, rights),
            Command::Version(args) => verbs::version::rights(args, rights),
            Command::WhatChanged(args) => verbs::what_changed::rights(args, rights),
            Command::Create(command) => verbs::create::rights(command, rights)?,
            Command::Plan(args) => verbs::plan::rights(args, rights)?,
            Command::Apply(args) => verbs::apply::rights(args, rights)?,
            Command::Reconcile(args) => verbs::reconcile::rights(args, rights)?,
            Command::Upgrade(args) => verbs::upgrade::rights(args, rights),
            Command::Rollback(args) => verbs::rollback::rights(args, rights)?,
            Command::Suspend(args) => verbs::suspend::rights(args, rights)?,
            Command::Resume(args) => verbs::resume::rights(args, rights)?,
            Command::Wait(args) => verbs::wait::rights(args, rights)?,
            Command::Delete(args) => verbs::delete::rights(args, rights)?,
            Command::Install(args) => verbs::install::rights(args, rights)?,
            Command::Uninstall(args) => verbs::uninstall::rights(args, rights)?,
            Command::Export(args) => verbs::export::rights(args, rights)?,
            Command::Migrate(args) => verbs::migrate::rights(args, rights)?,
            Command::Explain(_)
            | Command::Distribution(_)
            | Command::Artifact(_)
            | Command::Rbac(_)
            | Command::Controller(_)
            | Command::Completion(_)
            | Command::Config(_) => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::terminal::usage::GROUPS;

    #[test]
    fn the_command_tree_is_consistent() {
        tree().debug_assert();
    }

    #[test]
    fn only_help_of_verbs_that_read_many_clusters_lists_their_flags() {
        let mut tree = tree();
        tree.build();
        for verb in tree.get_subcommands().filter(|verb| verb.get_name() != "help") {
            let contexts = verb.get_arguments().find(|flag| flag.get_id() == "contexts").expect("a global flag");
            assert_eq!(contexts.is_hide_set(), !OF_MANY_CLUSTERS.contains(&verb.get_name()), "{}", verb.get_name());
        }
        for line in ["apply --contexts a", "--contexts a apply", "apply instance --contexts a"] {
            let words = ["flux-operator"].into_iter().chain(line.split(' '));
            let words: Vec<_> = words.chain(["-f", "x"]).map(std::ffi::OsString::from).collect();
            let matches = tree.clone().try_get_matches_from(words).expect("a known flag");
            assert_eq!(
                <Cli as clap::FromArgMatches>::from_arg_matches(&matches).unwrap().global.contexts,
                ["a"],
                "{line}"
            );
        }
    }

    #[test]
    fn every_command_is_in_one_group_of_the_help() {
        let tree = Cli::command();
        let commands: BTreeSet<&str> = tree.get_subcommands().map(clap::Command::get_name).chain(["help"]).collect();
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        assert_eq!(grouped.len(), commands.len());
        assert_eq!(grouped.into_iter().collect::<BTreeSet<_>>(), commands);
    }
}
