//! Recognises lines that are written for other programs or lack a flag, and suggests the intended command lines.

use std::ffi::OsString;
use std::path::Path;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::input::positional::first_word;
use crate::output::next_step::word as quoted;
use crate::terminal::CliError;

/// Words of kubectl, flux and helm that this program does not have, and the commands to suggest. `{}` stands for the
/// words that follow. The first matching row is used.
const WORDS_OF_OTHERS: &[(&str, &[&str])] = &[
    ("push artifact", &["flux-operator artifact push {}"]),
    ("pull artifact", &["flux-operator artifact pull {}"]),
    ("build artifact", &["flux-operator artifact push REFERENCE --path DIR", "flux build artifact {}"]),
    ("diff artifact", &["flux-operator artifact diff {}"]),
    ("tag artifact", &["flux-operator artifact tag {}"]),
    ("list artifacts", &["flux-operator artifact list {}"]),
    ("list artifact", &["flux-operator artifact list {}"]),
    ("history", &["flux-operator get history {}"]),
    ("list", &["flux-operator get {}"]),
    ("ls", &["flux-operator get {}"]),
    ("show", &["flux-operator get {}"]),
    ("unsuspend", &["flux-operator resume {}"]),
    ("unpause", &["flux-operator resume {}"]),
    ("start", &["flux-operator resume {}"]),
    ("pause", &["flux-operator suspend {}"]),
    ("stop", &["flux-operator suspend {}"]),
    ("remove", &["flux-operator delete {}"]),
    ("rm", &["flux-operator delete {}"]),
    ("del", &["flux-operator delete {}"]),
    ("describe", &["flux-operator why {}", "flux-operator tree {}"]),
    ("sync", &["flux-operator reconcile {}"]),
    ("refresh", &["flux-operator reconcile {}"]),
    ("restart", &["flux-operator reconcile {}"]),
    ("edit instance", &["kubectl -n flux-system edit fluxinstance flux", "flux-operator apply -f FILE"]),
    ("edit", &["kubectl edit {}"]),
    ("patch instance", &["kubectl -n flux-system patch fluxinstance {}", "flux-operator apply -f FILE"]),
    ("patch", &["kubectl patch {}"]),
    ("context", &["flux-operator status --context NAME", "kubectl config use-context NAME"]),
    ("contexts", &["kubectl config get-contexts"]),
    ("distro list", &["flux-operator distribution versions"]),
    ("diff yaml", &["diff -u {}"]),
    ("create source", &["flux create source {}"]),
    ("create kustomization", &["flux create kustomization {}"]),
    ("create helmrelease", &["flux create helmrelease {}"]),
    ("create tenant", &["flux create tenant {}"]),
    ("envsubst", &["flux envsubst {}"]),
    ("upgrade instance", &["flux-operator upgrade {}"]),
    ("bootstrap", &["flux-operator install", "flux-operator migrate bootstrap"]),
    ("create secret git", &["flux-operator create secret basic-auth", "flux-operator create secret ssh"]),
    ("create secret helm", &["flux-operator create secret basic-auth", "flux-operator create secret tls"]),
    ("create secret oci", &["flux-operator create secret registry"]),
    ("create secret docker-registry", &["flux-operator create secret registry {}"]),
    ("create secret generic", &["flux-operator create secret basic-auth", "kubectl create secret generic {}"]),
];
/// Verbs of fo-cli with the same nouns as a verb of this program, and that verb.
const RENAMED_VERBS: &[(&str, &str)] = &[("distro", "distribution")];
/// Flags that other programs have for a verb, and the hint for each.
const FLAGS_OF_OTHERS: &[(&str, &[&str], &str)] = &[
    ("get", &["--status-selector"], "lists are filtered with `flux-operator get all --ready-status False`"),
    ("logs", &["-A", "--all-namespaces"], "`flux-operator logs` shows the controllers of every namespace already"),
    ("upgrade", &["--to", "--version"], "write the version without a flag: `flux-operator upgrade 2.9.x`"),
    (
        "rollback",
        &["--version", "--revision", "--to-revision"],
        "a version or revision of `flux-operator get history` is given with --to: `flux-operator rollback --to v2.9.2`",
    ),
];
/// Flags that users forget before a value, by priority: before a version, before an existing file or folder, and before
/// a missing one.
const FLAGS_OF_VERSIONS: &[&str] = &["version", "to"];
const FLAGS_OF_INPUTS: &[&str] = &["filename", "path", "output"];
const FLAGS_OF_OUTPUTS: &[&str] = &["output"];
/// Value names of flags that take a path. `--output` is a format on most commands.
const PATH_VALUES: &[&str] = &["FILE", "PATH", "DIR", "FOLDER"];
/// The prefix of fo-cli's flags for the instance. The flags of this program have no prefix.
const OF_INSTANCE: &str = "--instance-";
/// flux's flags for a deletion without confirmation, and this program's flag. flux's flags only get a hint, because
/// `--silent` sounds like `--quiet` and must not skip the confirmation.
const WITHOUT_CONFIRMATION: ([&str; 2], &str) = (["--silent", "-s"], "--yes");
/// Flags of every command whose values are not shown.
const SECRETS: [&str; 2] = ["--token", "--kube-token"];
/// Returns the verb of this program for a word of another program.
pub fn verb_of(word: &str) -> Option<&'static str> {
    let (_, templates) = WORDS_OF_OTHERS.iter().find(|(words, _)| *words == word)?;
    templates.first()?.strip_prefix("flux-operator ")?.split(' ').next()
}

/// Returns the error for a refused line that another program would accept, or that lacks a flag, with a hint how to
/// write it.
pub fn explained(error: &clap::Error, arguments: &[OsString], commands: fn() -> Command) -> Option<CliError> {
    let refused = refused(error)?;
    let tree = &commands();
    let line = TypedLine { verb: first_word(arguments, tree)?, words: without_secrets(arguments) };
    let is_value = error.kind() == ErrorKind::ValueValidation;
    let is_name_of_file = std::error::Error::source(error).is_some_and(|source| source.to_string() == NAME_OF_FILE);
    let hint = line
        .file(&refused, is_value && !is_name_of_file, tree)
        .or_else(|| line.several_contexts(&refused))
        .or_else(|| line.missing_flag(&refused, error.kind(), tree))
        .or_else(|| line.log_flags(&refused))
        .or_else(|| line.flag_of_others(&refused, tree))
        .or_else(|| line.word_of_others(&refused))
        .or_else(|| line.renamed_verb(&refused))
        .or_else(|| line.flag_without_confirmation(&refused, tree));
    let text = error.render().to_string();
    let first = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
    hint.map(|hint| CliError::usage(first).hint(hint))
}

/// Returns the words of a line with the values of tokens replaced, so that the line can be printed.
fn without_secrets(arguments: &[OsString]) -> Vec<String> {
    let mut words: Vec<String> = vec![];
    for argument in arguments {
        let is_value = words.last().is_some_and(|last| SECRETS.contains(&last.as_str()));
        let word = argument.to_string_lossy().into_owned();
        let flag = word.split_once('=').map(|(flag, _)| flag).filter(|flag| SECRETS.contains(flag));
        words.push(match flag {
            Some(flag) => format!("{flag}=TOKEN"),
            None if is_value => "TOKEN".to_owned(),
            None => word,
        });
    }
    words
}

/// Returns the word that clap refused.
fn refused(error: &clap::Error) -> Option<String> {
    let kind = match error.kind() {
        ErrorKind::InvalidSubcommand => ContextKind::InvalidSubcommand,
        ErrorKind::UnknownArgument => ContextKind::InvalidArg,
        ErrorKind::ValueValidation => ContextKind::InvalidValue,
        // No word is refused, but a word may have been taken for another argument.
        ErrorKind::MissingRequiredArgument => return Some(String::new()),
        _ => return None,
    };
    match error.get(kind)? {
        ContextValue::String(word) => Some(word.clone()),
        _ => None,
    }
}

/// Formats a suggestion of one or more commands.
fn suggestion(lines: &[String]) -> String {
    format!("did you mean {}?", alternatives(lines))
}

fn alternatives(lines: &[String]) -> String {
    lines.iter().map(|line| format!("`{}`", line.trim_end())).collect::<Vec<_>>().join(" or ")
}

/// The words of a line.
struct TypedLine {
    words: Vec<String>,
    /// The position of the verb, which is the first word that is not a flag.
    verb: usize,
}

impl TypedLine {
    fn verb(&self) -> &str {
        self.words.get(self.verb).map_or("", String::as_str)
    }

    fn position(&self, word: &str) -> Option<usize> {
        self.words.iter().skip(self.verb).position(|one| one == word).map(|at| at + self.verb)
    }

    /// Fills templates with the words from a position on. Flags before the verb belong to this program, so they follow
    /// its name.
    fn filled(&self, templates: &[&str], from: usize) -> String {
        suggestion(&self.lines(templates, from))
    }

    fn lines(&self, templates: &[&str], from: usize) -> Vec<String> {
        let joined = |words: &[String]| words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
        let rest = joined(self.words.get(from..).unwrap_or_default());
        let flags = joined(self.words.get(1..self.verb).unwrap_or_default());
        let own = if flags.is_empty() { String::new() } else { format!("flux-operator {flags} ") };
        let fill = |template: &&str| {
            let line = template.replace("{}", &rest);
            match line.strip_prefix("flux-operator ").filter(|_| !own.is_empty()) {
                Some(line) => format!("{own}{line}"),
                None => line,
            }
        };
        templates.iter().map(fill).collect()
    }

    /// Suggests `-f` before a file.
    fn file(&self, word: &str, is_value_of_flag: bool, tree: &Command) -> Option<String> {
        let has_file = |one: &String| one.starts_with("--file") || (one.starts_with("-f") && !one.starts_with("--"));
        // The line already has a file.
        if self.words.iter().any(has_file) {
            return None;
        }
        // A refused value may belong to any flag, so an existing file with its name does not prove that a file is
        // meant.
        let is_file = is_manifest(word) || (!is_value_of_flag && Path::new(word).is_file());
        let verb = tree.find_subcommand(self.verb()).filter(|_| is_file)?;
        verb.get_arguments().find(|argument| argument.get_long() == Some("filename"))?;
        let at = self.position(word)?;
        let mut words = self.words.clone();
        words.insert(at, "-f".to_owned());
        let line: Vec<_> = words.iter().skip(1).map(|word| quoted(word)).collect();
        Some(format!("a file is given with -f: flux-operator {}", line.join(" ")))
    }

    /// Explains `--contexts` for several words, as in `status --contexts a b`.
    fn several_contexts(&self, word: &str) -> Option<String> {
        let at = self.position(word).filter(|_| !word.starts_with('-'))?;
        let before = self.words.get(..at)?;
        let is_flag = |word: &String| word == "--contexts" || word.starts_with("--contexts=");
        let flag = before.iter().rposition(is_flag)?;
        // Only the words between the flag and this one may be further contexts.
        before
            .get(flag + 1..)?
            .iter()
            .all(|word| !word.starts_with('-'))
            .then(|| "separate contexts with commas, and quote patterns: --contexts 'prod-*,stage'".to_owned())
    }

    /// Suggests the flag for a value without one, as in `bundle out.tar.gz` or `distribution images 2.9.4`.
    fn missing_flag(&self, word: &str, kind: ErrorKind, tree: &Command) -> Option<String> {
        // In place of a noun, any word but an existing path may be a mistyped noun.
        let is_value =
            kind == ErrorKind::UnknownArgument || (kind == ErrorKind::InvalidSubcommand && Path::new(word).exists());
        let at = self.position(word).filter(|_| is_value && !word.starts_with('-'))?;
        let before = self.words.get(self.verb..at)?;
        let command = before.iter().fold(tree, |command, word| command.find_subcommand(word).unwrap_or(command));
        let is_version = word
            .trim_start_matches('v')
            .split('.')
            .next()
            .is_some_and(|major| !major.is_empty() && major.bytes().all(|digit| digit.is_ascii_digit()));
        let flags = match (is_version, Path::new(word).exists()) {
            (true, _) => FLAGS_OF_VERSIONS,
            (false, true) => FLAGS_OF_INPUTS,
            (false, false) => FLAGS_OF_OUTPUTS,
        };
        let takes_it = |argument: &&clap::Arg| {
            let names = argument.get_value_names().unwrap_or_default();
            is_version || names.iter().any(|names| names.split('|').any(|name| PATH_VALUES.contains(&name)))
        };
        let flag = flags
            .iter()
            .find_map(|flag| command.get_arguments().find(|one| one.get_long() == Some(flag)).filter(takes_it))?;
        let long = format!("--{}", flag.get_long()?);
        let typed = flag.get_short().map_or_else(|| long.clone(), |short| format!("-{short}"));
        // The line already has the flag, so the word has another meaning.
        if self.words.iter().any(|one| one.starts_with(&long) || (*one == typed)) {
            return None;
        }
        let mut words = self.words.clone();
        words.insert(at, typed);
        Some(TypedLine { words, verb: self.verb }.filled(&["flux-operator {}"], self.verb))
    }

    /// Suggests `logs KIND/NAME` for flux's `logs --kind=Kustomization --name=app`.
    fn log_flags(&self, refused: &str) -> Option<String> {
        let value = |flag: &str| {
            let at = self.words.iter().position(|word| word.split('=').next() == Some(flag))?;
            let attached = self.words.get(at)?.split_once('=').map(|(_, value)| value);
            attached.or_else(|| self.words.get(at + 1).map(String::as_str).filter(|next| !next.starts_with('-')))
        };
        if self.verb() != "logs" || !["--kind", "--name"].contains(&refused.split('=').next()?) {
            return None;
        }
        let (kind, name) = (value("--kind").unwrap_or("KIND"), value("--name").unwrap_or("NAME"));
        Some(suggestion(&[format!("flux-operator logs {}", quoted(&format!("{kind}/{name}")))]))
    }

    fn word_of_others(&self, word: &str) -> Option<String> {
        let at = self.position(word);
        WORDS_OF_OTHERS.iter().find_map(|(words, templates)| {
            let words: Vec<&str> = words.split(' ').collect();
            let end = self.verb + words.len();
            // For a row of one word, clap must have refused that word, not a later word. Two words are unambiguous.
            let typed = self.words.get(self.verb..end).filter(|_| words.len() > 1 || at.is_some_and(|at| at < end))?;
            typed.iter().eq(&words).then(|| self.filled(templates, end))
        })
    }

    /// Suggests this program's verb, as for `distro images --version 2.9`.
    fn renamed_verb(&self, word: &str) -> Option<String> {
        let (_, ours) = RENAMED_VERBS.iter().find(|(theirs, _)| *theirs == word && *theirs == self.verb())?;
        let mut words = self.words.clone();
        *words.get_mut(self.verb)? = (*ours).to_owned();
        Some(TypedLine { words, verb: self.verb }.filled(&["flux-operator {}"], self.verb))
    }

    /// Returns the hint for a flag of another program: `get all --status-selector`, `install --instance-sync-url`.
    fn flag_of_others(&self, flag: &str, tree: &Command) -> Option<String> {
        if let Some(rest) = flag.strip_prefix(OF_INSTANCE).filter(|_| self.verb() == "install") {
            let install = tree.find_subcommand(self.verb())?;
            install.get_arguments().find(|argument| argument.get_long() == Some(rest))?;
            let words = self.words.iter().map(|word| match word.strip_prefix(OF_INSTANCE) {
                Some(rest) => format!("--{rest}"),
                None => word.clone(),
            });
            let words = words.collect();
            return Some(TypedLine { words, verb: self.verb }.filled(&["flux-operator {}"], self.verb));
        }
        let is_it = |(verb, flags, _): &&(&str, &[&str], &str)| *verb == self.verb() && flags.contains(&flag);
        FLAGS_OF_OTHERS.iter().find(is_it).map(|(.., reported)| (*reported).to_owned())
    }

    /// Suggests `--yes` for flux's flags, as in `delete ks app --silent`.
    fn flag_without_confirmation(&self, flag: &str, tree: &Command) -> Option<String> {
        let (flags, ours) = WITHOUT_CONFIRMATION;
        let at = self.position(flag).filter(|_| flags.contains(&flag))?;
        let mut words = self.words.clone();
        *words.get_mut(at)? = ours.to_owned();
        let typed = words.get(self.verb..)?;
        let command = typed.iter().fold(tree, |command, word| command.find_subcommand(word).unwrap_or(command));
        command.get_arguments().find(|argument| argument.get_long() == ours.strip_prefix("--"))?;
        Some(TypedLine { words, verb: self.verb }.filled(&["flux-operator {}"], self.verb))
    }
}

/// Whether a word is the name of a file rather than of an object.
fn is_manifest(word: &str) -> bool {
    [".yaml", ".yml", ".json"].iter().any(|ending| word.to_lowercase().ends_with(ending))
}

/// Reads the name of an object where a file may be given as well.
///
/// # Errors
/// The name of a file.
pub fn no_file(word: &str) -> Result<String, String> {
    if is_manifest(word) { Err(NAME_OF_FILE.to_owned()) } else { Ok(word.to_owned()) }
}

/// Reads a kind where a file may be given as well.
///
/// # Errors
/// The name of a manifest, or of any existing file.
pub fn no_existing_file(word: &str) -> Result<String, String> {
    if Path::new(word).is_file() { Err(NAME_OF_FILE.to_owned()) } else { no_file(word) }
}

const NAME_OF_FILE: &str = "this is the name of a file, not of an object";
