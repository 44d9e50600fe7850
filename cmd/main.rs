//! The `flux-operator` command: parse, dispatch, map the outcome to an exit code.

// The future of an apply nests more futures than the default of 128 types.
#![recursion_limit = "256"]

use std::ffi::OsString;
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
#[cfg(feature = "generate")]
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

use cli::{Cli, Command, Verb};
use kubectl_plugin::{color_of_line, command_tree, completed_tree};
use shell::{CliError, Config, Exit, Shell, standard_output};

#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    clap_complete::CompleteEnv::with_factory(completed_tree).shells(common::complete::shells()).complete();
    let arguments: Vec<_> = std::env::args_os().collect();
    if let Some(candidates) = kubectl_plugin::candidates(&arguments) {
        return standard_output::print_answer(&candidates).into();
    }
    if let [_, only] = arguments.as_slice()
        && (only == "--version" || only == "-V")
    {
        // Scripts ask this often; it need not wait for the command tree to be built.
        return standard_output::print_answer(concat!("flux-operator ", env!("CARGO_PKG_VERSION"), "\n")).into();
    }
    #[cfg(feature = "generate")]
    if arguments.get(1).is_some_and(|word| word == "generate") {
        return generate::run(&arguments);
    }
    let (config, refused) = match Config::read() {
        Ok(config) => (config, None),
        Err(error) => (Config::default(), Some(error)),
    };
    let structured = shell::wants_structured_errors(&arguments, config.usual_output().as_deref());
    // Nearly always the first word is the verb, and the line is right.
    let quick = arguments.get(1).and_then(|verb| cli::tree_of(verb.to_str()?));
    let quick = quick.map(|tree| parse(&arguments, tree, &config));
    let parsed = quick.and_then(Result::ok).map_or_else(|| parse(&arguments, command_tree(), &config), Ok);
    let (cli, words) = match parsed {
        Ok(parsed) => parsed,
        Err((error, arguments)) => {
            return shell::usage::report(error, &arguments, structured, color_of_line(), command_tree).into();
        }
    };
    let shell = Shell::new(&cli.global, config, structured, words);
    if !matches!(cli.command, Command::Controller(_)) {
        shell::logging::init(cli.global.verbose, cli.global.quiet, cli.global.color);
    }
    // Not earlier: help is there also for whoever has a wrong file.
    shell.exit_of(refused.map_or_else(|| dispatch(cli, &shell), Err)).into()
}

/// What the arguments say, and the words of the command; or what is wrong with the arguments, in the order of the tree.
fn parse(
    arguments: &[OsString],
    tree: clap::Command,
    config: &Config,
) -> Result<(Cli, String), (clap::Error, Vec<OsString>)> {
    let tree = config.with_defaults(tree);
    let arguments = grammar::in_order(arguments, &tree);
    let parsed = tree.try_get_matches_from(&arguments).and_then(|matches| {
        let cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command_tree()))?;
        Ok((cli.disentangled(), command_words(&matches)))
    });
    parsed.map_err(|error| (error, arguments))
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
        Command::Build(Verb(command)) => build::run(&command, shell),
        Command::Create(Verb(command)) => create::run(&command, shell),
        Command::Get(Verb(command)) => get::run(&command, shell),
        Command::Tree(Verb(command)) => tree::run(&command, shell),
        Command::Trace(Verb(args)) => trace::run(&args, shell),
        Command::Events(Verb(args)) => events::run(&args, shell),
        Command::Debug(Verb(args)) => debug::run(&args, shell),
        Command::Impact(Verb(args)) => impact::run(&args, shell),
        Command::Logs(Verb(args)) => logs::run(&args, shell),
        Command::Report(Verb(args)) => report::run(&args, shell),
        Command::Bundle(Verb(args)) => bundle::run(&args, shell),
        Command::Why(Verb(args)) => why::run(&args, shell),
        Command::Check(Verb(args)) => check::run(&args, shell),
        Command::Version(Verb(args)) => version::run(&args, shell),
        Command::WhatChanged(Verb(args)) => what_changed::run(&args, shell),
        Command::Stats(Verb(args)) => stats::run(&args, shell),
        Command::Status(Verb(args)) => status::run(&args, shell),
        Command::Plan(Verb(command)) => plan::run(&command, shell),
        Command::Apply(Verb(command)) => apply::run(&command, shell),
        Command::Reconcile(Verb(command)) => reconcile::run(&command, shell),
        Command::Rollback(Verb(command)) => rollback::run(&command, shell),
        Command::Suspend(Verb(command)) => suspend::run(&command, shell),
        Command::Resume(Verb(command)) => resume::run(&command, shell),
        Command::Wait(Verb(command)) => wait::run(&command, shell),
        Command::Migrate(Verb(args)) => migrate::run(&args, shell),
        Command::Export(Verb(command)) => export::run(&command, shell),
        Command::Install(Verb(args)) => install::run(&args, shell),
        Command::Uninstall(Verb(command)) => uninstall::run(&command, shell),
        Command::Delete(Verb(command)) => delete::run(&command, shell),
        Command::Explain(Verb(args)) => explain::run(&args, shell),
        Command::Distribution(Verb(command)) => distribution::run(&command, shell),
        Command::Artifact(Verb(command)) => artifact::run(&command, shell),
        Command::Rbac(Verb(args)) => rbac::run(&args, shell),
        Command::Controller(Verb(args)) => controller::run(&args, shell),
        Command::Completion(Verb(args)) => completion::run(&args, shell),
    }
}
