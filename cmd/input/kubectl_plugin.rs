//! The program as a plugin of kubectl and of flux.
//!
//! `kubectl flux-operator …` starts `kubectl-flux_operator`, and runs `kubectl_complete-flux_operator` for completions
//! (<https://kubernetes.io/docs/tasks/extend-kubectl/kubectl-plugins/>). `flux operator …` starts `flux-operator` from
//! its plugin folder, and runs `flux-operator __complete …` for completions
//! (<https://github.com/fluxcd/flux2/blob/main/rfcs/0013-cli-plugin-system/README.md>). Both read Cobra's format: a
//! line for each candidate, a tab before its description, and a directive in the last line.

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::{Command, ValueEnum};
use clap_complete::CompletionCandidate;

use crate::args::complete::{COBRA_COMMANDS, COMPLETING_PLUGIN, is_offered, with_names};
use crate::cli::tree;
use crate::output::as_started::{is_plugin, name_of_program};
use crate::terminal::Color;

/// Cobra's directive against file completion (`ShellCompDirectiveNoFileComp`).
const NO_FILES: &str = ":4";
/// Like [`NO_FILES`], and without a space after the only candidate (`ShellCompDirectiveNoSpace`).
const NO_FILES_NO_SPACE: &str = ":6";
/// Last characters of a word that continues.
const CONTINUATION_CHARS: [char; 3] = ['=', '/', ':'];

/// The differences of this program on Windows, for its help there.
const ON_WINDOWS: &str = "On Windows: the configuration is %APPDATA%\\flux-operator\\config.yaml, and what is\n\
                          pulled is kept below %LOCALAPPDATA%\\flux-operator. Files have the permissions of\n\
                          their folder, because there are no file modes: choose one that others cannot\n\
                          read. Other users may see the arguments of a command: give passwords by prompt,\n\
                          file or standard input. Ctrl-C is the only signal. `controller` is meant for\n\
                          Linux; here it has no process metrics and does not answer SIGUSR1.";

/// Returns the command tree under the name by which the program was started, with the help of this system.
pub fn command_tree() -> Command {
    let mut tree = tree();
    if cfg!(windows) {
        let help = tree.get_after_long_help().map(ToString::to_string).unwrap_or_default();
        tree = tree.after_long_help(format!("{help}\n\n{ON_WINDOWS}"));
    }
    if is_plugin() { in_words_of_kubectl(tree) } else { tree }
}

/// Returns the colour setting of the current line: help and clap's errors precede the parsed flags.
pub fn color_of_line() -> Color {
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let words: Vec<String> = words.take_while(|word| word != "--").collect();
    let mut given = words.iter().enumerate().filter_map(|(index, word)| match word.strip_prefix("--color")? {
        "" => words.get(index + 1).map(String::as_str),
        value => value.strip_prefix('='),
    });
    given.next_back().and_then(|value| Color::from_str(value, false).ok()).unwrap_or(Color::Auto)
}

/// Returns the command tree for completion.
pub fn completed_tree() -> Command {
    with_names(command_tree())
}

/// Returns the candidates for a request of kubectl or flux; `None` for any other line.
pub fn candidates(arguments: &[OsString]) -> Option<String> {
    let (line, with_help) = asked_line(arguments, name_of_program().as_deref())?;
    let index = line.len().saturating_sub(1);
    // For `--flag=value` both scripts expect only the value, because the flag is already typed.
    let typed = line.last().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
    let flag = typed.find('=').filter(|_| typed.starts_with('-')).map_or("", |at| &typed[..=at]);
    let here = std::env::current_dir().ok();
    let found = clap_complete::engine::complete(&mut completed_tree(), line, index, here.as_deref());
    let found = found.unwrap_or_default().into_iter().map(|one| (text_of(&one), one));
    let found: Vec<_> = found.filter(|(word, _)| is_offered(word)).collect();
    let mut text = String::new();
    for (word, candidate) in &found {
        let help = candidate.get_help().filter(|_| with_help);
        // The protocol has one line per candidate, so only the first line of a help text fits.
        let help = help.map(|help| help.to_string().lines().next().unwrap_or_default().to_owned());
        text.push_str(word.strip_prefix(flag).unwrap_or(word));
        text.extend(help.filter(|help| !help.is_empty()).map(|help| format!("\t{help}")));
        text.push('\n');
    }
    let directive = match found.as_slice() {
        [(word, _)] if word.ends_with(CONTINUATION_CHARS) => NO_FILES_NO_SPACE,
        _ => NO_FILES,
    };
    Some(format!("{text}{directive}\n"))
}

/// Returns the line to complete, with the program's own name first, and whether descriptions are wanted.
fn asked_line(arguments: &[OsString], program: Option<&str>) -> Option<(Vec<OsString>, bool)> {
    if program == Some(COMPLETING_PLUGIN) {
        return Some((arguments.to_vec(), true));
    }
    let [program, command, line @ ..] = arguments else { return None };
    let [with_help, _] = COBRA_COMMANDS;
    COBRA_COMMANDS.iter().find(|name| command == **name)?;
    // No word means an empty word, which shells pass before anything is typed.
    let line = if line.is_empty() { &[OsString::new()] } else { line };
    Some(([std::slice::from_ref(program), line].concat(), command == with_help))
}

fn text_of(candidate: &CompletionCandidate) -> String {
    candidate.get_value().to_string_lossy().into_owned()
}

fn in_words_of_kubectl(tree: Command) -> Command {
    fn reword(command: Command) -> Command {
        let reworded = |text: &StyledStr| text.to_string().replace("flux-operator ", "kubectl flux-operator ");
        let (short, long) = (command.get_after_help().map(reworded), command.get_after_long_help().map(reworded));
        let command = match short {
            Some(text) => command.after_help(text),
            None => command,
        };
        let command = match long {
            Some(text) => command.after_long_help(text),
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
    fn flux_requests_completions_with_cobra_commands() {
        let asked = |line: &str, program| {
            let words: Vec<OsString> = line.split('|').map(OsString::from).collect();
            let (line, with_help) = asked_line(&words, program)?;
            let line: Vec<_> = line.iter().map(|word| word.to_string_lossy().into_owned()).collect();
            Some((line.join("|"), with_help))
        };
        let found = |line: &str, with_help| Some((line.to_owned(), with_help));
        assert_eq!(asked("x|__complete|get|", Some("flux-operator")), found("x|get|", true));
        assert_eq!(asked("x|__completeNoDesc|g", Some("flux-operator")), found("x|g", false));
        assert_eq!(asked("x|__complete", None), found("x|", true));
        assert_eq!(asked("x|get|", Some(COMPLETING_PLUGIN)), found("x|get|", true));
        assert_eq!(asked("x|get|__complete", Some("flux-operator")), None);
        assert_eq!(asked("x", Some("flux-operator")), None);
    }

    #[test]
    fn help_of_the_plugin_shows_commands_of_kubectl() {
        let mut tree = in_words_of_kubectl(tree());
        tree.build();
        let top = tree.render_long_help().to_string();
        assert!(top.contains("kubectl flux-operator upgrade 2.9.x"), "{top}");
        let status = tree.find_subcommand_mut("status").unwrap();
        let help = status.render_long_help().to_string();
        assert!(help.contains("Usage: kubectl flux-operator status"), "{help}");
        assert!(help.contains("kubectl flux-operator status --watch"), "{help}");
    }
}
