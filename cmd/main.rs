//! The `flux-operator` command: parse, dispatch, map the outcome to an exit code.

use std::io::Write;
use std::process::ExitCode;

use clap::{ArgMatches, FromArgMatches};

mod apply;
mod artifact;
mod build;
mod bundle;
mod check;
mod cli;
mod common;
mod completion;
mod controller;
mod create;
mod debug;
mod delete;
mod distribution;
mod events;
mod explain;
mod export;
mod generate;
mod get;
mod grammar;
mod impact;
mod install;
mod kubectl_plugin;
mod logs;
mod migrate;
mod plan;
mod rbac;
mod reconcile;
mod render;
mod report;
mod resume;
mod rollback;
mod shell;
mod stats;
mod status;
mod suspend;
mod trace;
mod tree;
mod uninstall;
mod version;
mod wait;
mod what_changed;
mod why;

use cli::{Cli, Command};
use kubectl_plugin::{command_tree, completed_tree};
use shell::{CliError, Config, Exit, Shell};

fn main() -> ExitCode {
    clap_complete::CompleteEnv::with_factory(completed_tree).complete();
    let arguments: Vec<_> = std::env::args_os().collect();
    if kubectl_plugin::complete(&arguments) {
        return ExitCode::SUCCESS;
    }
    if let [_, only] = arguments.as_slice()
        && (only == "--version" || only == "-V")
    {
        // Scripts ask this often; it need not wait for the command tree to be built.
        let _ = writeln!(std::io::stdout(), "flux-operator {}", env!("CARGO_PKG_VERSION"));
        return ExitCode::SUCCESS;
    }
    let (config, refused) = match Config::read() {
        Ok(config) => (config, None),
        Err(error) => (Config::default(), Some(error)),
    };
    let structured = shell::wants_structured_errors(&arguments, config.usual_output().as_deref());
    let tree = config.with_defaults(command_tree());
    let arguments = grammar::in_order(&arguments, &tree);
    let parsed = tree.try_get_matches_from(&arguments).and_then(|matches| {
        let cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command_tree()))?;
        Ok((cli.disentangled(), command_words(&matches)))
    });
    let (cli, words) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => return shell::usage::report(error, &arguments, structured, command_tree).into(),
    };
    let shell = Shell::new(&cli.global, config, structured, words);
    if !matches!(cli.command, Command::Controller(_)) {
        shell::logging::init(cli.global.verbose, cli.global.quiet, cli.global.color);
    }
    // Not earlier: help is there also for whoever has a wrong file.
    match refused.map_or_else(|| dispatch(cli, &shell), Err) {
        Ok(exit) => exit.into(),
        Err(error) => shell.report(&error).into(),
    }
}

/// `get instance`: the command without its arguments.
fn command_words(mut matches: &ArgMatches) -> String {
    let mut words = vec![];
    while let Some((word, below)) = matches.subcommand() {
        words.push(word);
        matches = below;
    }
    words.join(" ")
}

fn dispatch(cli: Cli, shell: &Shell) -> Result<Exit, CliError> {
    match cli.command {
        Command::Build(command) => build::run(&command, shell),
        Command::Create(command) => create::run(&command, shell),
        Command::Get(command) => get::run(&command, shell),
        Command::Tree(command) => tree::run(&command, shell),
        Command::Trace(args) => trace::run(&args, shell),
        Command::Events(args) => events::run(&args, shell),
        Command::Debug(args) => debug::run(&args, shell),
        Command::Impact(args) => impact::run(&args, shell),
        Command::Logs(args) => logs::run(&args, shell),
        Command::Report(args) => report::run(&args, shell),
        Command::Bundle(args) => bundle::run(&args, shell),
        Command::Why(args) => why::run(&args, shell),
        Command::Check(args) => check::run(&args, shell),
        Command::Version(args) => version::run(&args, shell),
        Command::WhatChanged(args) => what_changed::run(&args, shell),
        Command::Stats(args) => stats::run(&args, shell),
        Command::Status(args) => status::run(&args, shell),
        Command::Plan(command) => plan::run(&command, shell),
        Command::Apply(command) => apply::run(&command, shell),
        Command::Reconcile(command) => reconcile::run(&command, shell),
        Command::Rollback(command) => rollback::run(&command, shell),
        Command::Suspend(command) => suspend::run(&command, shell),
        Command::Resume(command) => resume::run(&command, shell),
        Command::Wait(command) => wait::run(&command, shell),
        Command::Migrate(args) => migrate::run(&args, shell),
        Command::Export(command) => export::run(&command, shell),
        Command::Install(args) => install::run(&args, shell),
        Command::Uninstall(command) => uninstall::run(&command, shell),
        Command::Delete(command) => delete::run(&command, shell),
        Command::Explain(args) => explain::run(&args, shell),
        Command::Distribution(command) => distribution::run(&command, shell),
        Command::Artifact(command) => artifact::run(&command, shell),
        Command::Rbac(args) => rbac::run(&args, shell),
        Command::Controller(args) => controller::run(&args, shell),
        Command::Completion(args) => completion::run(&args, shell),
        Command::Generate(command) => generate::run(&command, shell),
    }
}
