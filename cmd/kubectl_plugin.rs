//! The program as a kubectl plugin: `kubectl flux-operator …` starts it by the name `kubectl-flux_operator`, and asks
//! `kubectl_complete-flux_operator` for completions (<https://kubernetes.io/docs/tasks/extend-kubectl/kubectl-plugins/>).

use std::ffi::OsString;
use std::io::Write;

use clap::{Command, CommandFactory, ValueEnum};
use clap_complete::CompletionCandidate;

use crate::cli::Cli;
use crate::common::complete::{COMPLETING_PLUGIN, is_offered, with_names};
use crate::render::as_started::{is_plugin, name_of_program};
use crate::shell::Color;

/// Cobra's directive that files are no completions (`ShellCompDirectiveNoFileComp`).
const NO_FILES: &str = ":4";
/// The same, and no space behind the only one (`ShellCompDirectiveNoSpace`).
const NO_FILES_NO_SPACE: &str = ":6";
/// What a word ends with that goes on.
const GOES_ON: [char; 3] = ['=', '/', ':'];

/// The command tree, in the words of whoever started the program.
pub fn command_tree() -> Command {
    let tree = Cli::command();
    if is_plugin() { in_words_of_kubectl(tree) } else { tree }
}

/// The colour that the line being run asks for: help and what clap refuses come before the flags are read.
pub fn color_of_line() -> Color {
    let words: Vec<String> = std::env::args().take_while(|word| word != "--").collect();
    let mut given = words.iter().enumerate().filter_map(|(index, word)| match word.strip_prefix("--color")? {
        "" => words.get(index + 1).map(String::as_str),
        value => value.strip_prefix('='),
    });
    given.next_back().and_then(|value| Color::from_str(value, false).ok()).unwrap_or(Color::Auto)
}

/// The command tree as it is completed.
pub fn completed_tree() -> Command {
    with_names(command_tree())
}

/// Answers kubectl's question for completions; `false` when it did not ask.
pub fn complete(arguments: &[OsString]) -> bool {
    if name_of_program().as_deref() != Some(COMPLETING_PLUGIN) {
        return false;
    }
    let index = arguments.len().saturating_sub(1);
    let here = std::env::current_dir().ok();
    let found = clap_complete::engine::complete(&mut completed_tree(), arguments.to_vec(), index, here.as_deref());
    let found = found.unwrap_or_default().into_iter().map(|one| (text_of(&one), one));
    let found: Vec<_> = found.filter(|(word, _)| is_offered(word)).collect();
    // Of `--flag=value` kubectl's scripts expect the value: the flag is there already.
    let typed = arguments.last().map(|word| word.to_string_lossy()).unwrap_or_default();
    let flag = typed.find('=').filter(|_| typed.starts_with('-')).map_or("", |at| &typed[..=at]);
    let mut text = String::new();
    for (word, candidate) in &found {
        let help = candidate.get_help().map(|help| help.to_string().lines().next().unwrap_or_default().to_owned());
        text.push_str(word.strip_prefix(flag).unwrap_or(word));
        text.extend(help.filter(|help| !help.is_empty()).map(|help| format!("\t{help}")));
        text.push('\n');
    }
    let directive = match found.as_slice() {
        [(word, _)] if word.ends_with(GOES_ON) => NO_FILES_NO_SPACE,
        _ => NO_FILES,
    };
    // A reader that went away is no failure.
    let _ = writeln!(std::io::stdout(), "{text}{directive}");
    true
}

fn text_of(candidate: &CompletionCandidate) -> String {
    candidate.get_value().to_string_lossy().into_owned()
}

fn in_words_of_kubectl(tree: Command) -> Command {
    fn reword(command: Command) -> Command {
        let examples =
            command.get_after_help().map(|text| text.to_string().replace("flux-operator ", "kubectl flux-operator "));
        let command = match examples {
            Some(text) => command.after_help(text),
            None => command,
        };
        command.mut_subcommands(reword)
    }
    reword(tree.bin_name("kubectl flux-operator"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_of_the_plugin_says_how_kubectl_is_asked() {
        let mut tree = in_words_of_kubectl(Cli::command());
        tree.build();
        let status = tree.find_subcommand_mut("status").unwrap();
        let help = status.render_long_help().to_string();
        assert!(help.contains("Usage: kubectl flux-operator status"), "{help}");
        assert!(help.contains("kubectl flux-operator status --watch"), "{help}");
    }
}
