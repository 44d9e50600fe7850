//! The `flux-operator` command: parse, dispatch, map the result to an exit code.

// The future of an apply is nested more deeply than the default of 128 types.
#![recursion_limit = "256"]

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{ArgMatches, FromArgMatches};

mod args;
mod cli;
mod flows;
#[cfg(feature = "generate")]
mod generate;
mod input;
mod output;
mod session;
mod terminal;
mod verbs;

use cli::{Cli, Command, Verb};
use input::kubectl_plugin::{color_of_line, command_tree, completed_tree};
use terminal::{CliError, Config, Exit, Shell, standard_output};

#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    clap_complete::CompleteEnv::with_factory(completed_tree).shells(args::complete::shells()).complete();
    let arguments: Vec<_> = std::env::args_os().collect();
    if let Some(candidates) = input::kubectl_plugin::candidates(&arguments) {
        return standard_output::print_answer(&candidates).into();
    }
    if let [_, only] = arguments.as_slice()
        && (only == "--version" || only == "-V")
    {
        // Scripts ask for the version often, so answer it before the command tree is built.
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
    let structured = terminal::wants_structured_errors(&arguments, config.usual_output().as_deref());
    // Nearly always the first word is the verb, and the line is valid.
    let quick = arguments.get(1).and_then(|verb| cli::tree_of(verb.to_str()?));
    let quick = quick.map(|tree| parse(&arguments, tree, &config));
    let parsed = quick.and_then(Result::ok).map_or_else(|| parse(&arguments, command_tree(), &config), Ok);
    let (cli, words) = match parsed {
        Ok(parsed) => parsed,
        Err((error, arguments)) => {
            return terminal::usage::report(error, &arguments, structured, color_of_line(), command_tree).into();
        }
    };
    let shell = Shell::new(&cli.global, config, structured, words);
    if !matches!(cli.command, Command::Controller(_)) {
        terminal::logging::init(cli.global.verbose, cli.global.quiet, cli.global.color);
    }
    // Not earlier, so that help works even with an invalid file.
    shell.exit_of(refused.map_or_else(|| dispatch(cli, &shell), Err)).into()
}

/// Parses the arguments and the words of the command; otherwise returns the error, in the order of the tree.
fn parse(
    arguments: &[OsString],
    tree: clap::Command,
    config: &Config,
) -> Result<(Cli, String), (clap::Error, Vec<OsString>)> {
    let tree = config.with_defaults(tree);
    let arguments = input::grammar::in_order(arguments, &tree);
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
        Command::Build(Verb(command)) => verbs::build::run(&command, shell),
        Command::Create(Verb(command)) => verbs::create::run(&command, shell),
        Command::Get(Verb(command)) => verbs::get::run(&command, shell),
        Command::Tree(Verb(command)) => verbs::tree::run(&command, shell),
        Command::Trace(Verb(args)) => verbs::trace::run(&args, shell),
        Command::Events(Verb(args)) => verbs::events::run(&args, shell),
        Command::Debug(Verb(args)) => verbs::debug::run(&args, shell),
        Command::Impact(Verb(args)) => verbs::impact::run(&args, shell),
        Command::Logs(Verb(args)) => verbs::logs::run(&args, shell),
        Command::Report(Verb(args)) => verbs::report::run(&args, shell),
        Command::Bundle(Verb(args)) => verbs::bundle::run(&args, shell),
        Command::Why(Verb(args)) => verbs::why::run(&args, shell),
        Command::Check(Verb(args)) => verbs::check::run(&args, shell),
        Command::Version(Verb(args)) => verbs::version::run(&args, shell),
        Command::WhatChanged(Verb(args)) => verbs::what_changed::run(&args, shell),
        Command::Stats(Verb(args)) => verbs::stats::run(&args, shell),
        Command::Status(Verb(args)) => verbs::status::run(&args, shell),
        Command::Plan(Verb(command)) => verbs::plan::run(&command, shell),
        Command::Apply(Verb(command)) => verbs::apply::run(&command, shell),
        Command::Reconcile(Verb(command)) => verbs::reconcile::run(&command, shell),
        Command::Rollback(Verb(command)) => verbs::rollback::run(&command, shell),
        Command::Suspend(Verb(command)) => verbs::suspend::run(&command, shell),
        Command::Resume(Verb(command)) => verbs::resume::run(&command, shell),
        Command::Wait(Verb(command)) => verbs::wait::run(&command, shell),
        Command::Migrate(Verb(args)) => verbs::migrate::run(&args, shell),
        Command::Export(Verb(command)) => verbs::export::run(&command, shell),
        Command::Install(Verb(args)) => verbs::install::run(&args, shell),
        Command::Uninstall(Verb(command)) => verbs::uninstall::run(&command, shell),
        Command::Delete(Verb(command)) => verbs::delete::run(&command, shell),
        Command::Explain(Verb(args)) => verbs::explain::run(&args, shell),
        Command::Distribution(Verb(command)) => verbs::distribution::run(&command, shell),
        Command::Artifact(Verb(command)) => verbs::artifact::run(&command, shell),
        Command::Rbac(Verb(args)) => verbs::rbac::run(&args, shell),
        Command::Controller(Verb(args)) => verbs::controller::run(&args, shell),
        Command::Completion(Verb(args)) => verbs::completion::run(&args, shell),
    }
}
