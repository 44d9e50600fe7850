//! The `flux-operator` command: parse, dispatch, map the result to an exit code.

// An apply nests its futures deeper than rustc's default limit of 128 types.
#![recursion_limit = "256"]

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use clap::parser::ValueSource;
use clap::{ArgMatches, FromArgMatches};

mod args;
mod cli;
mod fleet;
mod flows;
mod input;
mod output;
mod session;
mod terminal;
mod verbs;

// The generator uses the whole program, but only developers run it, so it is compiled only with the tests.
#[cfg(test)]
#[path = "../tools/generate/generate.rs"]
mod generate;

use cli::{Cli, Command};
use input::kubectl_plugin::{color_of_line, command_tree, completed_tree};
use terminal::{CliError, Config, Exit, STACK_BYTES, Shell, standard_output};

// With musl's own allocator, `build` would spend half of its time in the allocator.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    match std::thread::Builder::new().name("main".into()).stack_size(STACK_BYTES).spawn(run_line) {
        // 101 is Rust's own exit code after a panic.
        Ok(thread) => thread.join().unwrap_or(ExitCode::from(101)),
        // Without a second thread the main thread runs the command on its own stack.
        Err(_) => run_line(),
    }
}

fn run_line() -> ExitCode {
    // Completion comes first, because its answer ends the process, and nothing may be printed before the answer.
    clap_complete::CompleteEnv::with_factory(completed_tree).shells(args::complete::shells()).complete();
    let arguments: Vec<_> = std::env::args_os().collect();
    // kubectl and flux request candidates with special words, which are not part of the command tree.
    if let Some(candidates) = input::kubectl_plugin::candidates(&arguments) {
        return standard_output::print_answer(&candidates).into();
    }
    let (config, refused) = match Config::read() {
        Ok(config) => (config, None),
        Err(error) => (Config::default(), Some(error)),
    };
    // Read from the raw arguments, because the errors of clap must have the requested format, too.
    let structured = terminal::wants_structured_errors(&arguments, config.usual_output().as_deref());
    let ParsedLine { cli, words, given } = match parse(&arguments, &config) {
        Ok(parsed) => parsed,
        Err((error, arguments)) => {
            return terminal::usage::report(error, &arguments, structured, color_of_line(), command_tree).into();
        }
    };
    let shell = Arc::new(Shell::new(&cli.global, config, structured, words).with_pager(&given));
    // A controller sets up the log of a service instead, which can be done only once per process.
    if !matches!(cli.command, Command::Controller(_)) {
        terminal::logging::init(cli.global.verbosity(), cli.global.quiet, cli.global.color);
    }
    // An invalid configuration file is reported only now, so that help works without a valid one.
    let run = || match cli.global.asks_many_clusters() {
        true => run_for_many(cli, &given, arguments, &shell),
        false => dispatch(cli, &shell),
    };
    shell.exit_of(refused.map_or_else(run, Err)).into()
}

/// Runs a command for many clusters. For each cluster, the line is parsed again with the context of the cluster.
fn run_for_many(
    mut cli: Cli,
    given: &[String],
    arguments: Vec<OsString>,
    shell: &Arc<Shell>,
) -> Result<Exit, CliError> {
    let read = fleet::FleetRead::of(&mut cli.command, shell.command(), given)?;
    let (whole, of_all) = (shell.clone(), read.clone());
    let command: Arc<fleet::ClusterCommand> = Arc::new(move |context, output| {
        let parsed = parse(&arguments, whole.config()).map_err(|_| CliError::usage("cannot read the command line"))?;
        let ParsedLine { mut cli, words, .. } = parsed;
        cli.global.context = Some(context.to_owned());
        of_all.prepare(&mut cli.command, context);
        let shell = whole.of_one_cluster(&cli.global, words, output.clone());
        dispatch(cli, &shell)
    });
    fleet::run(&read, shell, command)
}

/// The parsed arguments.
struct ParsedLine {
    cli: Cli,
    /// The words of the command: `get instance`.
    words: String,
    /// The names of the flags and arguments on the line, without defaults.
    given: Vec<String>,
}

/// Parses the arguments. The error includes the arguments with aliases replaced.
fn parse(arguments: &[OsString], config: &Config) -> Result<ParsedLine, (clap::Error, Vec<OsString>)> {
    let mut tree = config.with_defaults(command_tree());
    let arguments = config.with_alias(arguments, &tree, input::positional::positional);
    let parsed = tree.try_get_matches_from_mut(&arguments).and_then(|matches| {
        if let Some(problem) = flag_before_noun(&matches, &tree) {
            return Err(tree.error(clap::error::ErrorKind::ArgumentConflict, problem));
        }
        // This error does not know its command; `format` adds the usage and our styles.
        let cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut tree))?;
        Ok(ParsedLine { cli: cli.disentangled(), words: command_words(&matches), given: given_arguments(&matches) })
    });
    parsed.map_err(|error| (error, arguments))
}

/// Returns the error for a flag between a verb and its noun, as in `get -w history`. clap would parse the flag as one
/// of the verb, and it would have no effect.
fn flag_before_noun(matches: &ArgMatches, tree: &clap::Command) -> Option<String> {
    let (verb, matches) = matches.subcommand()?;
    let (noun, _) = matches.subcommand()?;
    let verb = tree.find_subcommand(verb)?;
    let is_global = |id: &clap::Id| tree.get_arguments().any(|flag| flag.get_id() == id);
    let is_typed =
        |id: &&clap::Id| !is_global(id) && matches.value_source(id.as_str()) == Some(ValueSource::CommandLine);
    let flag = matches.ids().find(is_typed).and_then(|id| verb.get_arguments().find(|flag| flag.get_id() == id))?;
    let command = format!("{} {noun}", verb.get_name());
    Some(match flag.get_long() {
        Some(long) => format!("--{long} is before `{noun}`: write the flags of `{command}` after it"),
        None => format!("`{command}` takes no words before `{noun}`"),
    })
}

/// Returns the command without its arguments, such as `get history`.
fn command_words(mut matches: &ArgMatches) -> String {
    let mut words = vec![];
    while let Some((word, below)) = matches.subcommand() {
        words.push(word);
        matches = below;
    }
    words.join(" ")
}

/// Returns the names of the command's flags and arguments that are on the line.
fn given_arguments(mut matches: &ArgMatches) -> Vec<String> {
    while let Some((_, below)) = matches.subcommand() {
        matches = below;
    }
    // clap also lists values from defaults and from the environment.
    let is_given = |id: &&str| matches.value_source(id) == Some(ValueSource::CommandLine);
    matches.ids().map(clap::Id::as_str).filter(is_given).map(str::to_owned).collect()
}

fn dispatch(cli: Cli, shell: &Shell) -> Result<Exit, CliError> {
    match cli.command {
        Command::Build(args) => verbs::build::run(&args, shell),
        Command::Create(command) => verbs::create::run(&command, shell),
        Command::Get(args) => verbs::get::run(&args, shell),
        Command::Tree(args) => verbs::tree::run(&args, shell),
        Command::Trace(args) => verbs::trace::run(&args, shell),
        Command::Events(args) => verbs::events::run(&args, shell),
        Command::Debug(args) => verbs::debug::run(&args, shell),
        Command::Impact(args) => verbs::impact::run(&args, shell),
        Command::Logs(args) => verbs::logs::run(&args, shell),
        Command::Report(args) => verbs::report::run(&args, shell),
        Command::Bundle(args) => verbs::bundle::run(&args, shell),
        Command::Why(args) => verbs::why::run(&args, shell),
        Command::Check(args) => verbs::check::run(&args, shell),
        Command::Version(args) => verbs::version::run(&args, shell),
        Command::WhatChanged(args) => verbs::what_changed::run(&args, shell),
        Command::Stats(args) => verbs::stats::run(&args, shell),
        Command::Status(args) => verbs::status::run(&args, shell),
        Command::Plan(args) => verbs::plan::run(&args, shell),
        Command::Apply(args) => verbs::apply::run(&args, shell),
        Command::Reconcile(args) => verbs::reconcile::run(&args, shell),
        Command::Upgrade(args) => verbs::upgrade::run(&args, shell),
        Command::Rollback(args) => verbs::rollback::run(&args, shell),
        Command::Suspend(args) => verbs::suspend::run(&args, shell),
        Command::Resume(args) => verbs::resume::run(&args, shell),
        Command::Wait(args) => verbs::wait::run(&args, shell),
        Command::Migrate(args) => verbs::migrate::run(&args, shell),
        Command::Export(args) => verbs::export::run(&args, shell),
        Command::Install(args) => verbs::install::run(&args, shell),
        Command::Uninstall(args) => verbs::uninstall::run(&args, shell),
        Command::Delete(args) => verbs::delete::run(&args, shell),
        Command::Explain(args) => verbs::explain::run(&args, shell),
        Command::Distribution(command) => verbs::distribution::run(&command, shell),
        Command::Artifact(command) => verbs::artifact::run(&command, shell),
        Command::Rbac(args) => verbs::rbac::run(&args, shell),
        Command::Controller(args) => verbs::controller::run(&args, shell),
        Command::Completion(args) => verbs::completion::run(&args, shell),
        Command::Config(command) => verbs::config::run(&command, shell),
    }
}
