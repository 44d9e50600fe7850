//! Rules for every command, tested through the help itself, so that new commands are covered automatically.

use test_support::slow_tests::TimedTest;

use crate::cli::support::{command, run};

/// Every visible command as its words, leaves and groups, with its long help.
pub fn commands() -> Vec<(Vec<String>, String)> {
    fn walk(path: Vec<String>, found: &mut Vec<(Vec<String>, String)>) {
        let mut arguments: Vec<&str> = path.iter().map(String::as_str).collect();
        arguments.push("--help");
        let help = run(&arguments).exits(0).stdout;
        for name in subcommands(&help) {
            let mut next = path.clone();
            next.push(name);
            walk(next, found);
        }
        found.push((path, help));
    }
    let mut found = Vec::new();
    walk(Vec::new(), &mut found);
    assert!(found.len() > 1, "the walk found only {found:?}");
    found
}

fn subcommands(help: &str) -> Vec<String> {
    let list = help.lines().skip_while(|l| *l != "Commands:").skip(1).take_while(|l| !l.is_empty());
    list.filter(|l| l.starts_with("  ") && !l.starts_with("   "))
        .filter_map(|l| l.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

pub fn is_leaf(help: &str) -> bool {
    subcommands(help).is_empty()
}

#[test]
fn help_fits_80_columns() {
    for (path, help) in commands() {
        for line in help.lines() {
            assert!(line.chars().count() <= 80, "{path:?} has a line of {}: {line}", line.chars().count());
        }
    }
}

#[test]
fn a_terminal_without_a_size_gets_the_usual_help() {
    let help = |columns: &str| {
        let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_flux-operator"));
        program.args(["status", "--help"]).env("COLUMNS", columns);
        String::from_utf8(program.output().expect("the program").stdout).expect("text")
    };
    assert_eq!(help("0"), help("80"));
    assert_eq!(help("nonsense"), help("80"));
}

#[test]
#[ignore = "slow: it starts each command in three widths"]
fn short_help_fits_every_terminal() {
    let _timed = TimedTest::of("offline");
    for (path, _) in commands() {
        for columns in [60, 80, 200] {
            let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_flux-operator"));
            program.args(&path).arg("-h").env("COLUMNS", columns.to_string());
            let help = String::from_utf8(program.output().expect("the program").stdout).expect("text");
            // A line of usage is one word to the library, and examples are written for 80 columns.
            let options =
                help.lines().skip_while(|line| !line.ends_with("ptions:")).take_while(|line| *line != "Examples:");
            let widest = options.map(|line| line.chars().count()).max();
            // A word that is longer than its column cannot be broken.
            let fits = widest.is_some_and(|widest| (40..=columns + 4).contains(&widest));
            assert!(fits, "{path:?} on {columns} columns: {widest:?}\n{help}");
        }
    }
}

/// Returns the help text of an option: the lines up to the next option or heading.
fn option_text(help: &str, option: &str) -> String {
    // The text of an option is indented more than its name.
    let is_option = |line: &str| !line.starts_with("       ") && line.trim_start().starts_with('-');
    let names = |line: &&str| is_option(line) && line.split([' ', ',', '[', '=']).any(|word| word == option);
    let mut lines = help.lines().skip_while(|line| !names(line));
    let first = lines.next().unwrap_or_default();
    let more = lines.take_while(|line| !is_option(line) && (line.is_empty() || line.starts_with("   ")));
    [first].into_iter().chain(more).collect::<Vec<_>>().join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_command_that_asks_a_cluster_names_its_usual_limit() {
    let mut seen = 0;
    for (path, help) in commands() {
        if is_leaf(&help) && help.contains("--timeout <") {
            let text = option_text(&help, "--timeout");
            let is_own = text.split_once("[default: ").is_some_and(|(_, rest)| {
                let limit = rest.split(']').next().unwrap_or_default();
                limit.ends_with(['s', 'm', 'h']) && limit.starts_with(|first: char| first.is_ascii_digit())
            });
            assert!(is_own || text.contains("5m where it waits, 1m where it reads a cluster"), "{path:?}: {text}");
            seen += 1;
        }
    }
    assert!(seen > 50, "{seen} commands have a limit");
}

#[test]
#[ignore = "slow: it asks for completions of each command"]
fn every_flag_is_offered_by_completion() {
    let _timed = TimedTest::of("offline");
    for (path, help) in commands() {
        let mut words: Vec<&str> = vec!["flux-operator"];
        words.extend(path.iter().map(String::as_str));
        words.push("--");
        let index = (words.len() - 1).to_string();
        let mut arguments = vec!["--"];
        arguments.extend(&words);
        let mut completer = command(&arguments);
        completer.env("COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", &index).env("_CLAP_COMPLETE_COMP_TYPE", "9");
        completer.env("_CLAP_COMPLETE_SPACE", "true").env("_CLAP_IFS", "\n");
        let output = completer.output().expect("the binary runs");
        let offered = String::from_utf8_lossy(&output.stdout).into_owned();
        for line in help.lines().filter(|l| l.starts_with("  ") && l.trim_start().starts_with('-')) {
            let Some(flag) = line.split([' ', ',', '=', '[', '.']).find(|w| w.starts_with("--")) else { continue };
            assert!(offered.lines().any(|o| o.split(':').next() == Some(flag)), "{path:?}: {flag} not in:\n{offered}");
        }
    }
}

/// Lines that bash reads: examples of the help, and the habits of users.
#[cfg(unix)]
mod lines_for_bash {
    use std::collections::BTreeSet;
    use std::process::Command;

    use test_support::habits as table;
    use test_support::slow_tests::TimedTest;

    use super::{commands, is_leaf};

    /// The runnable lines of a leaf's "Examples:" section.
    fn examples(help: &str) -> Vec<String> {
        let section = help.lines().skip_while(|l| l.trim() != "Examples:").skip(1);
        let lines = section.map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#'));
        // A line that ends in a backslash goes on in the next one.
        lines.fold(Vec::new(), |mut all: Vec<String>, line| {
            match all.last_mut().filter(|last| last.ends_with('\\')) {
                Some(last) => {
                    last.pop();
                    last.push_str(line);
                }
                None => all.push(line.to_owned()),
            }
            all
        })
    }

    #[test]
    #[ignore = "slow: it starts the program for each example of the help"]
    fn every_leaf_shows_examples_and_each_of_them_is_accepted() {
        let _timed = TimedTest::of("offline");
        let folder = tempfile::tempdir().expect("a folder");
        let binary = env!("CARGO_BIN_EXE_flux-operator");
        std::os::unix::fs::symlink(binary, folder.path().join("flux-operator")).expect("linked");
        let path_variable = format!("{}:/usr/bin:/bin", folder.path().display());
        for (path, help) in commands().into_iter().filter(|(path, _)| !path.is_empty()) {
            let examples = examples(&help);
            assert!(!examples.is_empty() || !is_leaf(&help), "{path:?} has no examples");
            for example in examples {
                assert!(example.contains("flux-operator"), "{path:?}: not a command line of ours: {example}");
                let script = format!("set -o pipefail; cd {}; {example}", folder.path().display());
                let mut shell = Command::new("timeout");
                shell.args(["20", "bash", "-c", &script]).env_clear().env("PATH", &path_variable);
                shell.env("HOME", folder.path()).env("KUBECONFIG", folder.path().join("none"));
                shell
                    .env("GIT_TOKEN", "x")
                    .env("TOKEN", "x")
                    .env("ENTERPRISE_TOKEN", "x")
                    .stdin(std::process::Stdio::null());
                let output = shell.output().expect("bash runs");
                let stderr = String::from_utf8_lossy(&output.stderr);
                // Without a cluster and without the files it names an example may fail, but never for its own wording.
                let code = output.status.code().expect("an exit code");
                assert!(code != 124, "{path:?}: the example does not end: {example}");
                let wording = stderr.contains("unexpected argument")
                    || stderr.contains("unrecognized subcommand")
                    || stderr.contains("required arguments were not provided")
                    || stderr.contains("invalid value")
                    || stderr.contains("unknown kind")
                    || stderr.contains("cannot be used with");
                assert!(!wording, "{path:?}: {example}\n{stderr}");
            }
        }
    }

    #[test]
    fn a_closed_pipe_ends_quietly() {
        let binary = env!("CARGO_BIN_EXE_flux-operator");
        let script = format!("set -o pipefail; {binary} completion bash | head -1; echo rc ${{PIPESTATUS[0]}}");
        let output = Command::new("bash").args(["-c", &script]).output().expect("bash runs");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    }

    #[test]
    fn every_habit_has_its_rows() {
        let rows = [table::on_files(), table::on_a_cluster()].concat();
        let habits: BTreeSet<u8> = rows.iter().map(|row| row.habit).collect();
        let missing: Vec<u8> = (1..=table::HABITS).filter(|habit| !habits.contains(habit)).collect();
        assert!(missing.is_empty(), "no row holds {missing:?}");
    }

    #[test]
    fn every_habit_holds_that_needs_no_cluster() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = table::FailurePosition {
            binary: env!("CARGO_BIN_EXE_flux-operator").to_owned(),
            folder: folder.path().to_owned(),
            kubeconfig: folder.path().join("no-kubeconfig").display().to_string(),
            variables: vec![],
        };
        table::all_hold(&place, &table::on_files());
    }
}
