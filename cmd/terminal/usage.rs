//! Handles lines that clap does not accept as a command: prints help and version on stdout with exit code 0, runs
//! plugins, and reports errors on stderr with exit code 2.

use std::any::TypeId;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::Command;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use flux_operator::api::kinds;
use flux_operator::format::nearest::nearest;
use flux_operator::format::search_path::find_program;
use flux_operator::format::wrap::wrapped;
use flux_operator::inspect::incident::redact::shareable_line;

use crate::input::positional::first_word;
use crate::output::as_started::as_started;
use crate::output::table::{known_width, terminal_width};
use crate::terminal::config::without_text;
#[cfg(test)]
pub use crate::terminal::topics::is_topic;
use crate::terminal::{CliError, Color, Exit, environment, hyperlinks, mistakes, standard_output, topics};

/// Returns the columns for help texts, which are written for 80: those of the terminal, else of `COLUMNS`.
pub fn help_width() -> usize {
    let variable = || environment::text(environment::COLUMNS)?.parse().ok().filter(|columns| *columns > 0);
    known_width().or_else(variable).map_or(80, |columns: usize| columns.clamp(20, 80))
}

/// Prints clap's message, or runs the plugin `flux-operator-WORD` for an unknown first WORD.
///
/// `commands` builds the whole command tree.
pub fn report(
    error: clap::Error,
    arguments: &[OsString],
    structured: bool,
    color: Color,
    commands: fn() -> clap::Command,
) -> u8 {
    if let Some(line) = asked_help(&error, arguments, commands)
        && let Err(help) = commands().try_get_matches_from(&line)
    {
        return report(help, &line, structured, color, commands);
    }
    let in_color = color.enabled(std::io::stderr().is_terminal());
    if let Some(code) = plugin(&error, arguments) {
        return code;
    }
    if let Some(page) = topics::page(&error, arguments) {
        return standard_output::print_answer(&as_started(&page)).code_and_category().0;
    }
    if let Some(error) = wrong_variable(&error, arguments).or_else(|| not_text(&error, arguments, commands)) {
        error.print(structured, in_color);
        return error.exit().code_and_category().0;
    }
    let failure = misplaced_plugin(&error, arguments)
        .or_else(|| unknown_topic(&error, arguments, commands))
        .or_else(|| mistakes::explained(&error, arguments, commands));
    if let Some(error) = failure {
        error.print(structured, in_color);
        return error.exit().code_and_category().0;
    }
    let error = with_suggestions(with_folded_usage(&error, arguments, commands).unwrap_or(error), arguments, commands);
    let is_page = matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    let exit = if error.use_stderr() && (structured || !is_page) {
        own_error(&error).print(structured, in_color);
        Exit::Usage
    } else {
        print(&error, color)
    };
    exit.code_and_category().0
}

/// Prints with this program's colour setting, because clap would also obey `CLICOLOR` and `CLICOLOR_FORCE`.
fn print(error: &clap::Error, color: Color) -> Exit {
    let (stderr, stdout) = (std::io::stderr(), std::io::stdout());
    let is_terminal = if error.use_stderr() { stderr.is_terminal() } else { stdout.is_terminal() };
    let text = error.render();
    let plain = text.to_string();
    let text = if color.enabled(is_terminal) { text.ansi().to_string() } else { plain.clone() };
    let text = in_groups(&plain, &text);
    if !error.use_stderr() {
        let has_links = is_terminal && color.enabled(is_terminal) && hyperlinks::are_supported();
        return standard_output::print_answer(&if has_links { hyperlinks::linked(&text) } else { text.into() });
    }
    // clap repeats the words of the line, and an address among them may hold a password. Without stderr the message
    // cannot be printed.
    let _ = stderr.lock().write_all(shareable_line(&text).as_bytes());
    Exit::Usage
}

/// The commands of the program, grouped by purpose. clap has only one list.
pub const GROUPS: [(&str, &[&str]); 5] = [
    ("Inspect", &["status", "get", "tree", "trace", "events", "logs", "stats", "what-changed", "explain", "version"]),
    (
        "Change",
        &[
            "create",
            "build",
            "plan",
            "apply",
            "reconcile",
            "upgrade",
            "rollback",
            "suspend",
            "resume",
            "wait",
            "delete",
        ],
    ),
    ("Install and ship", &["install", "uninstall", "migrate", "export", "distribution", "artifact"]),
    ("Diagnose", &["why", "check", "debug", "impact", "report", "bundle"]),
    ("More", &["rbac", "controller", "completion", "config", "help"]),
];

/// Arranges the commands of the top help in groups; other texts are returned as they are. `plain` is the text without
/// colours.
fn in_groups(plain: &str, text: &str) -> String {
    let lines: Vec<(&str, &str)> = plain.lines().zip(text.lines()).collect();
    let Some(heading) = lines.iter().position(|(plain, _)| *plain == "Commands:") else { return text.to_owned() };
    let (before, list) = lines.split_at(heading + 1);
    let end = list.iter().position(|(plain, _)| plain.is_empty()).unwrap_or(list.len());
    let (list, after) = list.split_at(end);
    // A long description continues on lines that are indented further.
    let mut commands: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut command = "";
    for (plain, line) in list {
        if !plain.starts_with("   ") {
            command = plain.split_whitespace().next().unwrap_or_default();
        }
        commands.entry(command).or_default().push(line);
    }
    // The help of a verb lists its nouns under the same heading: only the top help has all of these commands.
    if GROUPS.iter().any(|(_, names)| !names.iter().all(|name| commands.contains_key(name))) {
        return text.to_owned();
    }
    let mut grouped: Vec<String> = before.iter().map(|(_, line)| (*line).to_owned()).collect();
    for (group, names) in GROUPS {
        grouped.push(format!(" {group}"));
        grouped.extend(names.iter().filter_map(|name| commands.remove(name)).flatten().map(str::to_owned));
    }
    // A command that is in no group is still listed.
    grouped.extend(commands.into_values().flatten().map(str::to_owned));
    grouped.extend(after.iter().map(|(_, line)| (*line).to_owned()));
    grouped.join("\n") + "\n"
}

/// Returns the error of a line that is refused but not run, with all hints.
pub fn as_error(error: clap::Error, arguments: &[OsString], commands: fn() -> clap::Command) -> CliError {
    mistakes::explained(&error, arguments, commands)
        .unwrap_or_else(|| own_error(&with_suggestions(error, arguments, commands)))
}

fn with_suggestions(mut error: clap::Error, arguments: &[OsString], commands: fn() -> clap::Command) -> clap::Error {
    keep_nearest(&mut error);
    if error.get(ContextKind::InvalidArg).is_some() {
        // clap would suggest `-- --flag`, but a mistyped flag never means a value that begins with dashes.
        error.remove(ContextKind::Suggested);
    }
    suggest_plugin(&mut error, arguments, commands);
    error
}

/// Keeps only the nearest of several similar words: `instal` must not suggest `uninstall`. If even the nearest word is
/// too different, nothing is suggested, because the word is not a typing mistake.
fn keep_nearest(error: &mut clap::Error) {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return };
    let Some(ContextValue::Strings(similar)) = error.get(ContextKind::SuggestedSubcommand) else { return };
    let distance = |one: &&String| strsim::damerau_levenshtein(word, one);
    let is_near = |one: &String| distance(&one) <= 2 || strsim::jaro_winkler(word, one) >= 0.8;
    // The word may be the beginning of a command. `status` wins a tie, because users need it most.
    let rank = |one: &&String| (!one.starts_with(word.as_str()), distance(one), *one != "status");
    let nearest = similar.iter().min_by_key(rank).cloned();
    match nearest.filter(is_near) {
        Some(nearest) => {
            error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![nearest]));
        }
        None => {
            error.remove(ContextKind::SuggestedSubcommand);
        }
    }
}

/// Suggests a plugin for a first word that is not a command.
fn suggest_plugin(error: &mut clap::Error, arguments: &[OsString], commands: fn() -> clap::Command) {
    if error.get(ContextKind::SuggestedSubcommand).is_some() {
        return;
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return };
    let tree = commands();
    let has_verb =
        arguments.iter().skip(1).any(|word| word.to_str().is_some_and(|w| tree.find_subcommand(w).is_some()));
    if let Some(near) = nearest(word, plugins().iter().map(String::as_str)).filter(|_| !has_verb) {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![near.to_owned()]));
    }
}

/// Returns the words that run the plugins in `PATH`.
pub fn plugins() -> BTreeSet<String> {
    let path = std::env::var_os(environment::PATH).unwrap_or_default();
    // A relative folder in `PATH` would offer programs below the folder in which the command happens to run.
    let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    let files = folders.filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
    let name = |file: std::fs::DirEntry| file.file_name().to_str()?.strip_prefix("flux-operator-").map(str::to_owned);
    let found = files.filter_map(name).filter(|name| find_program(&path, &format!("flux-operator-{name}")).is_some());
    found.collect()
}

/// Returns the error for `help gett`, for which clap has no suggestion.
fn unknown_topic(error: &clap::Error, arguments: &[OsString], commands: fn() -> clap::Command) -> Option<CliError> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    if error.kind() != ErrorKind::InvalidSubcommand || arguments.get(1).is_none_or(|first| first != "help") {
        return None;
    }
    let failure = CliError::usage(format!("there is no command {word}"));
    if kinds::find(word).is_some() {
        return Some(failure.hint(format!(
            "it is a kind: `flux-operator explain {word}` shows its fields, `flux-operator get {word}` its objects"
        )));
    }
    let tree = commands();
    let near = || nearest(word, tree.get_subcommands().map(clap::Command::get_name));
    let near = mistakes::verb_of(word).or_else(near);
    Some(match near {
        Some(near) => failure.hint(format!("did you mean `flux-operator help {near}`?")),
        None => failure.hint("`flux-operator --help` lists the commands, `flux-operator help topics` other pages"),
    })
}

/// Returns the line that prints the help of the command in `help get ks` or `-h get ks`.
fn asked_help(error: &clap::Error, arguments: &[OsString], commands: fn() -> clap::Command) -> Option<Vec<OsString>> {
    let tree = commands();
    let (before, words) = arguments.split_at(first_word(arguments, &tree)?);
    let words: Vec<&str> = words.iter().map_while(|word| word.to_str()).collect();
    let flag = before.iter().find_map(|word| ["-h", "--help"].into_iter().find(|flag| word == flag));
    let (flag, words) = match (error.kind(), flag, words.as_slice()) {
        (ErrorKind::InvalidSubcommand, _, ["help", words @ ..]) => ("--help", words),
        (ErrorKind::DisplayHelp, Some(flag), words) => (flag, words),
        _ => return None,
    };
    let (mut command, mut line) = (&tree, arguments.get(..1)?.to_vec());
    for word in words {
        let Some(below) = command.find_subcommand(word) else { break };
        line.push(word.into());
        command = below;
    }
    line.push(flag.into());
    (line.len() > 2).then_some(line)
}

/// Refuses flags before the name of a plugin: they could be meant for the plugin or for this program.
fn misplaced_plugin(error: &clap::Error, arguments: &[OsString]) -> Option<CliError> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let is_first = arguments.get(1).is_some_and(|first| first == word.as_str());
    if is_first
        || word.contains(['/', '\\'])
        || arguments.get(1).is_none_or(|first| !first.to_string_lossy().starts_with('-'))
    {
        return None;
    }
    find_program(&std::env::var_os(environment::PATH)?, &format!("flux-operator-{word}"))?;
    Some(
        CliError::usage(format!("{word} is a plugin, and its flags go after its name"))
            .hint(format!("write `flux-operator {word}`, then the flags")),
    )
}

/// Returns an error with the argument or variable that is not UTF-8, because clap does not name it. The error never
/// contains the value of a flag or variable, which may be a secret.
///
/// If such a word is in the place of a name, clap may refuse another word first, so errors about other words are
/// checked as well.
fn not_text(error: &clap::Error, arguments: &[OsString], commands: fn() -> clap::Command) -> Option<CliError> {
    let is_about_word = match error.kind() {
        ErrorKind::InvalidUtf8 | ErrorKind::InvalidSubcommand => true,
        ErrorKind::UnknownArgument => {
            !matches!(error.get(ContextKind::InvalidArg), Some(ContextValue::String(flag)) if flag.starts_with('-'))
        }
        _ => false,
    };
    if !is_about_word {
        return None;
    }
    let flags = flags_of_line(&commands(), arguments);
    for (at, word) in arguments.iter().enumerate().skip(1).filter(|(_, word)| word.to_str().is_none()) {
        let text = word.to_string_lossy();
        let before = || arguments.get(at.checked_sub(1)?)?.to_str();
        let flag = match (text.split_once('='), text.char_indices().nth(2)) {
            (Some((long, _)), _) if long.starts_with("--") => Some(long),
            (_, Some((end, _))) if text.starts_with('-') && !text.starts_with("--") => text.get(..end),
            _ => before().filter(|before| flags.get(*before).is_some_and(|value| *value != FlagValue::None)),
        };
        match flag {
            Some(flag) if flags.get(flag) == Some(&FlagValue::Path) => {}
            Some(flag) => return Some(CliError::usage(format!("the value of {flag} is not text in UTF-8"))),
            None => return Some(CliError::usage(format!("the argument {word:?} is not text in UTF-8"))),
        }
    }
    environment::variable_without_text().map(|variable| without_text(&variable))
}

/// The value of a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FlagValue {
    None,
    Text,
    /// The name of a file, which need not be text.
    Path,
}

/// The flags of the commands that a line names, in all their spellings.
fn flags_of_line(tree: &clap::Command, arguments: &[OsString]) -> BTreeMap<String, FlagValue> {
    let mut line = vec![tree];
    for word in arguments.iter().skip(1).filter_map(|word| word.to_str()) {
        line.extend(line.last().and_then(|command| command.find_subcommand(word)));
    }
    let is_path = |flag: &clap::Arg| flag.get_value_parser().type_id() == TypeId::of::<PathBuf>();
    let value = |flag: &clap::Arg| match () {
        () if !flag.get_action().takes_values() => FlagValue::None,
        () if is_path(flag) => FlagValue::Path,
        () => FlagValue::Text,
    };
    let spellings = |flag: &clap::Arg| {
        let long = flag.get_long().into_iter().chain(flag.get_all_aliases().unwrap_or_default());
        let long = long.map(|long| format!("--{long}"));
        long.chain(flag.get_short().map(|short| format!("-{short}"))).collect::<Vec<_>>()
    };
    let flags = line.into_iter().flat_map(clap::Command::get_arguments).filter(|argument| !argument.is_positional());
    flags.flat_map(|flag| spellings(flag).into_iter().map(move |spelling| (spelling, value(flag)))).collect()
}

/// Variables that set a flag, with the spellings of the flag.
const VARIABLES: [(&str, &[&str]); 2] =
    [(environment::OUTPUT, &["--output", "-o"]), (environment::TIMEOUT, &["--timeout"])];

/// Returns the error for an invalid value from a variable. clap would blame the flag, which the user did not type.
fn wrong_variable(error: &clap::Error, arguments: &[OsString]) -> Option<CliError> {
    if !matches!(error.kind(), ErrorKind::ValueValidation | ErrorKind::InvalidValue) {
        return None;
    }
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let (flag, value) = (text(ContextKind::InvalidArg)?, text(ContextKind::InvalidValue)?);
    let (variable, spellings) =
        VARIABLES.into_iter().find(|(_, spellings)| spellings.first().is_some_and(|long| flag.starts_with(long)))?;
    let is_given = arguments.iter().any(|argument| {
        let argument = argument.to_string_lossy();
        spellings.iter().any(|flag| {
            argument == *flag
                || argument.starts_with(&format!("{flag}="))
                || (flag.len() == 2 && argument.starts_with(flag))
        })
    });
    if is_given || environment::text(variable).as_deref() != Some(value) {
        return None;
    }
    let why = std::error::Error::source(error).map(ToString::to_string);
    let failure = CliError::usage(format!("the variable {variable} has the value `{value}`"));
    Some(why.into_iter().fold(failure, CliError::cause))
}

/// Returns the error with a wrapped usage line. clap wraps help texts to the terminal's width, at most 80 columns, but
/// not usage lines. Called only if something is printed, because it walks the whole command tree.
///
/// A flag that is set by the environment is not part of the line, and clap would show it as required.
fn with_folded_usage(
    error: &clap::Error,
    arguments: &[OsString],
    commands: fn() -> clap::Command,
) -> Option<clap::Error> {
    fn without_environment(command: clap::Command) -> clap::Command {
        command.mut_args(|flag| flag.env(None::<&'static str>)).mut_subcommands(without_environment)
    }
    fn fold(mut command: clap::Command, width: usize) -> clap::Command {
        let usage = command.render_usage().to_string();
        if usage.lines().any(|line| line.len() > width) {
            command = command.override_usage(fold_usage(usage.trim_start_matches("Usage: "), width));
        }
        command.mut_subcommands(|command| fold(command, width))
    }
    let mut command = if error.use_stderr() { without_environment(commands()) } else { commands() };
    // Without `build`, the usage of a subcommand lacks the names of its parents.
    command.build();
    // clap renders the usage when it creates the error, so the line is parsed a second time to fail again.
    fold(command, terminal_width().min(80)).try_get_matches_from(arguments).err()
}

/// Breaks a usage line where the next word would not fit; a flag and its value are one word.
fn fold_usage(usage: &str, width: usize) -> String {
    // Text is never wrapped at this character.
    const TOGETHER: &str = "\u{a0}";
    let words: Vec<&str> = usage.split_whitespace().collect();
    let mut line = words.join(" ");
    for pair in words.windows(2) {
        if let [flag, value] = pair
            && flag.starts_with("--")
            && value.starts_with('<')
        {
            line = line.replace(&format!("{flag} {value}"), &format!("{flag}{TOGETHER}{value}"));
        }
    }
    let lines = wrapped(&line, width.saturating_sub("Usage: ".len() + " \\".len()));
    lines.join(" \\\n         ").replace(TOGETHER, " ")
}

/// Converts an error of clap to the form of all other errors: one line, then hints.
fn own_error(error: &clap::Error) -> CliError {
    let text = error.render().to_string();
    let mut lines = text.lines();
    let mut message = lines.next().unwrap_or_default().trim_start_matches("error: ").to_owned();
    // Missing arguments, or the possible values, follow on separate lines.
    let details: Vec<&str> = lines.take_while(|line| line.starts_with("  ")).map(str::trim).collect();
    let (values, missing): (Vec<&str>, Vec<&str>) = details.into_iter().partition(|line| line.starts_with('['));
    if !missing.is_empty() {
        message = format!("{} {}", message, missing.join(", "));
    }
    let mut failure = CliError::usage(message);
    let tips: Vec<&str> = text.lines().filter_map(|line| line.trim().strip_prefix("tip: ")).collect();
    for tip in &tips {
        failure = failure.hint(match tip.split_once(": ") {
            Some((kind, names)) if kind.contains("similar") => format!("did you mean {}?", names.replace(", ", " or ")),
            _ => (*tip).to_owned(),
        });
    }
    for values in values {
        failure = failure.hint(values.trim_start_matches('[').trim_end_matches(']'));
    }
    if let Some(ContextValue::StyledStr(usage)) = error.get(ContextKind::Usage)
        && failure.hints().is_empty()
    {
        failure = failure.hint(format!("`{} --help` shows how", command_of(&usage.to_string())));
    }
    if missing.iter().any(|flag| flag.starts_with("--knownhosts-file")) {
        failure = failure.hint(
            "write the file with `ssh-keyscan HOST > known_hosts`, and compare its keys with those that the host publishes",
        );
    }
    failure
}

/// The command of a usage line, without its flags and arguments.
fn command_of(usage: &str) -> String {
    let words = usage.trim_start_matches("Usage: ").split_whitespace();
    words.take_while(|word| word.starts_with(|c: char| c.is_ascii_alphanumeric())).collect::<Vec<_>>().join(" ")
}

/// Runs `flux-operator-NAME` from `PATH`, as kubectl and git do for unknown words.
fn plugin(error: &clap::Error, arguments: &[OsString]) -> Option<u8> {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    // A plugin must be the first word, because an unknown word after a known verb is a typing error. A word with a
    // slash would run a program outside `PATH`.
    if arguments.get(1).is_none_or(|first| first != word.as_str()) || word.contains(['/', '\\']) {
        return None;
    }
    let path = std::env::var_os(environment::PATH)?;
    let program = find_program(&path, &format!("flux-operator-{word}"))?;
    let status = Command::new(&program).args(&arguments[2..]).status();
    match status {
        // A plugin that was ended by a signal has no exit code.
        Ok(status) => Some(status.code().and_then(|c| u8::try_from(c).ok()).unwrap_or(1)),
        Err(cause) => {
            let failure = CliError::failed(format!("cannot run the plugin {}", program.display())).caused_by(&cause);
            failure.print(false, std::io::stderr().is_terminal());
            Some(failure.exit().code_and_category().0)
        }
    }
}
