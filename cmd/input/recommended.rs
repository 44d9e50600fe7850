//! Tests that this program can parse every command line that it recommends. The lines are read from the sources: each
//! text that begins with the name of the program, and each text that is passed to `Session::command`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{Command, CommandFactory, FromArgMatches};
use regex::Regex;

use crate::cli::Cli;
use crate::flows::rights::Rights;
use crate::terminal::usage::is_topic;

/// Texts for the placeholders of a line; at least one combination has to be valid.
const FILLED: [&str; 9] =
    ["instance flux", "ks web", "ks/web", "web", "flux.yaml", "2.9.4", "status", "oci://h/r:v", "resource ks/web"];
/// Placeholders of a kind, in upper case as in help texts.
const KINDS: [&str; 3] = ["ks", "ssh", "ks/web"];

/// The sources without comments, by their path.
fn sources() -> Vec<(PathBuf, String)> {
    // A string literal that continues on the next line.
    let continued = Regex::new(r"\\\n\s*").unwrap();
    let mut found = vec![];
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![root.join("cmd"), root.join("src"), root.join("tools/generate")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.extension() {
                _ if path.is_dir() => folders.push(path),
                Some(extension) if extension == "rs" && !path.ends_with("input/recommended.rs") => {
                    let text = fs::read_to_string(&path).unwrap();
                    let code = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>();
                    found.push((path, continued.replace_all(&code.join("\n"), "").into_owned()));
                }
                _ => {}
            }
        }
    }
    found
}

/// Returns the recommended lines without the name of the program, each with a file that contains it.
fn lines(sources: &[(PathBuf, String)]) -> BTreeMap<String, &Path> {
    let patterns = [
        r"`flux-operator ([^`]+)`",
        r#""flux-operator ([^"\\]+)""#,
        r#"\.command\(\s*&?(?:format!\(\s*)?"([a-z][^"\\]+)""#,
        r#"\.suggest\(\s*"([a-z][^"\\]+)""#,
        r#"let words = format!\(\s*"([a-z][^"\\]+)""#,
    ];
    let mut found = BTreeMap::new();
    for pattern in patterns.map(|pattern| Regex::new(pattern).unwrap()) {
        for (path, text) in sources {
            found.extend(pattern.captures_iter(text).map(|line| (line[1].to_owned(), path.as_path())));
        }
    }
    // Not commands: requests for completion, parts of commands, and code between two string literals.
    found.retain(|line, _| !["__complete", "get -n", "{", "\""].iter().any(|begin| line.starts_with(begin)));
    found
}

/// Returns a line with its placeholders filled in every combination.
fn filled(line: &str) -> Vec<String> {
    let placeholder = Regex::new(r"\{[a-z0-9_]*\}").unwrap();
    let line = line
        .replace("{kind}", "KIND")
        .replace("{rest}", "")
        .replace("{keep}", "")
        .replace("{verb}", "get")
        .replace("REFERENCE", "oci://h/r:v");
    let mut lines = vec![];
    for (first, rest) in FILLED.iter().flat_map(|first| FILLED.map(|rest| (*first, rest))) {
        for kind in KINDS {
            let line = placeholder.replace(&line, first);
            let line = placeholder.replace_all(&line, rest).replace("KIND", kind);
            lines.push(line.replace('…', ""));
        }
    }
    lines
}

/// Parses a line. A line without a required argument is accepted, because it only mentions its command.
fn parsed(tree: &Command, line: &str) -> Result<(), String> {
    if line.strip_prefix("help ").is_some_and(is_topic) {
        return Ok(());
    }
    let words =
        shlex::split(line).unwrap_or_default().into_iter().take_while(|word| ![">", "|", "\\"].contains(&&**word));
    let arguments: Vec<OsString> = ["flux-operator".to_owned()].into_iter().chain(words).map(Into::into).collect();
    match tree.clone().try_get_matches_from(arguments).and_then(|matches| Cli::from_arg_matches(&matches)) {
        // Collecting the rights also resolves the kinds on the line.
        Ok(cli) => match cli.command.rights(&mut Rights::new(None)) {
            Err(error) if error.message().starts_with("unknown kind") => Err(error.message().to_owned()),
            _ => Ok(()),
        },
        Err(error) => match error.kind() {
            ErrorKind::DisplayHelp
            | ErrorKind::MissingRequiredArgument
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => Ok(()),
            _ => Err(error.to_string()),
        },
    }
}

fn is_understood(tree: &Command, line: &str) -> Result<(), String> {
    let mut reported = String::new();
    for line in filled(line) {
        match parsed(tree, &line) {
            Ok(()) => return Ok(()),
            Err(error) if reported.is_empty() => reported = error,
            Err(_) => {}
        }
    }
    Err(reported)
}

#[test]
fn every_command_line_that_is_recommended_is_understood() {
    let (tree, sources) = (Cli::command(), sources());
    let lines = lines(&sources);
    assert!(lines.len() > 120, "only {} lines were found", lines.len());
    let wrong = lines.iter().filter_map(|(line, path)| {
        let error = is_understood(&tree, line).err()?;
        Some(format!("{}: flux-operator {line}: {error}", path.display()))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_line_with_a_flag_or_a_verb_that_does_not_exist_is_not_understood() {
    let tree = Cli::command();
    for wrong in
        ["apply --to 2.9", "edit instance", "reconcile {} --in-proces", "get {word} {name} --nope", "tree kx web"]
    {
        assert!(is_understood(&tree, wrong).is_err(), "{wrong}");
    }
}
