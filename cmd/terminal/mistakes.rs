//! Lines in the words of other programs, and the command lines that users mean.

use std::ffi::OsString;
use std::path::Path;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use flux_operator::api::kinds::{self, FluxKind};

use crate::input::grammar;
use crate::output::next_step::word as quoted;
use crate::terminal::CliError;

/// Words of kubectl, flux and helm that are none of ours, and the commands that are meant: `{}` are the words that follow. Of
/// two rows that fit the first one holds.
const WORDS_OF_OTHERS: &[(&str, &[&str])] = &[
    ("push artifact", &["flux-operator artifact push {}"]),
    ("pull artifact", &["flux-operator artifact pull {}"]),
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
    ("bootstrap", &["flux-operator install", "flux-operator migrate bootstrap"]),
    ("suspend all", &["flux-operator suspend KIND --all {}"]),
    ("resume all", &["flux-operator resume KIND --all {}"]),
    ("wait all", &["flux-operator wait KIND --all {}"]),
    ("export all", &["flux-operator export KIND --all {}"]),
    ("delete all", &["flux-operator delete KIND --all {}"]),
    ("tree all", &["flux-operator tree KIND {}", "flux-operator get all {}"]),
    ("create secret git", &["flux-operator create secret basic-auth", "flux-operator create secret ssh"]),
    ("create secret helm", &["flux-operator create secret basic-auth", "flux-operator create secret tls"]),
    ("create secret oci", &["flux-operator create secret registry"]),
    ("create secret docker-registry", &["flux-operator create secret registry {}"]),
    ("create secret generic", &["flux-operator create secret basic-auth", "kubectl create secret generic {}"]),
];
/// Our verb for one of fo-cli that has the same nouns.
const RENAMED_VERBS: &[(&str, &str)] = &[("distro", "distribution")];
/// Flags of kubectl, flux and fo-cli below one verb, and what is meant.
const FLAGS_OF_OTHERS: &[(&str, &[&str], &str)] = &[
    ("get", &["--status-selector"], "lists are filtered with `flux-operator get all --ready-status False`"),
    ("logs", &["-A", "--all-namespaces"], "`flux-operator logs` shows the controllers of every namespace already"),
    ("upgrade", &["--to", "--version"], "the version stands alone: `flux-operator upgrade 2.9.x`"),
    (
        "rollback",
        &["--version", "--revision", "--to-revision"],
        "a version or revision of `flux-operator get history` is named with --to: `flux-operator rollback --to v2.9.2`",
    ),
];
/// Flags whose value is typed without the flag, in the order in which they are meant: of a version, of a file or folder that
/// exists, and of one that does not.
const FLAGS_OF_VERSIONS: &[&str] = &["version", "to"];
const FLAGS_OF_INPUTS: &[&str] = &["filename", "path", "output"];
const FLAGS_OF_OUTPUTS: &[&str] = &["output"];
/// Value names of flags that take a path. `--output` is a format on most commands.
const PATH_VALUES: &[&str] = &["FILE", "PATH", "DIR", "FOLDER"];
/// The beginning of flags of the instance in fo-cli, and not here.
const OF_INSTANCE: &str = "--instance-";
/// flux's flags for a deletion without confirmation, and ours. They get a hint instead of being accepted: `--silent`
/// sounds like `--quiet`, and must not delete anything unasked.
const ASKS_NOBODY: ([&str; 2], &str) = (["--silent", "-s"], "--yes");
/// Flags of every command whose values are not shown.
const SECRETS: [&str; 2] = ["--token", "--kube-token"];
/// Verbs of Flux objects, and what there is for the objects of other kinds.
const OF_OTHER_KINDS: &[(&str, &[&str])] = &[
    ("get", &["kubectl get {}"]),
    ("tree", &["flux-operator trace {}"]),
    ("wait", &["kubectl wait {} --for=condition=Available", "flux-operator trace {}"]),
    ("export", &["kubectl get {} -o yaml"]),
    ("delete", &["kubectl delete {}"]),
    ("reconcile", &["flux-operator trace {}"]),
    ("suspend", &["flux-operator trace {}"]),
    ("resume", &["flux-operator trace {}"]),
];
/// Verbs of FluxInstances, and what there is for a Kustomization: `{}` is its name.
const OF_KUSTOMIZATIONS: &[(&str, &str)] = &[
    ("plan", "flux diff kustomization {} --path DIR"),
    ("diff", "flux diff kustomization {} --path DIR"),
    ("build", "flux build kustomization {} --path DIR"),
    ("apply", "flux-operator reconcile kustomization {}"),
];

/// Our verb for a word of another program.
pub fn verb_of(word: &str) -> Option<&'static str> {
    let (_, templates) = WORDS_OF_OTHERS.iter().find(|(words, _)| *words == word)?;
    templates.first()?.strip_prefix("flux-operator ")?.split(' ').next()
}

/// Says of a line that clap refuses what its writer knows from elsewhere, and how it is written here.
pub fn told(error: &clap::Error, arguments: &[OsString], commands: fn() -> Command) -> Option<CliError> {
    let refused = refused(error)?;
    let tree = &commands();
    let line = TypedLine { verb: grammar::first_word(arguments, tree)?, words: without_secrets(arguments) };
    let hint = line
        .file(&refused, error.kind(), tree)
        .or_else(|| line.several_contexts(&refused))
        .or_else(|| line.missing_flag(&refused, error.kind(), tree))
        .or_else(|| line.log_flags(&refused))
        .or_else(|| line.flag_of_others(&refused, tree))
        .or_else(|| line.no_archive(&refused))
        .or_else(|| line.word_of_others(&refused))
        .or_else(|| line.renamed_verb(&refused))
        .or_else(|| line.group(&refused))
        .or_else(|| line.other_kind(&refused))
        .or_else(|| line.asks_nobody(&refused, tree))
        .or_else(|| line.no_instance(&refused, grammar::verb_without_words(arguments, tree)?));
    let text = error.render().to_string();
    let first = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
    hint.map(|hint| CliError::usage(first).hint(hint)).or_else(|| line.kind_of_no_instance(&refused))
}

/// The words of a line as they may be shown again.
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

/// The word that clap stumbled over.
fn refused(error: &clap::Error) -> Option<String> {
    let kind = match error.kind() {
        ErrorKind::InvalidSubcommand => ContextKind::InvalidSubcommand,
        ErrorKind::UnknownArgument => ContextKind::InvalidArg,
        ErrorKind::ValueValidation => ContextKind::InvalidValue,
        _ => return None,
    };
    match error.get(kind)? {
        ContextValue::String(word) => Some(word.clone()),
        _ => None,
    }
}

/// A command that is meant, or several.
fn meant(lines: &[String]) -> String {
    format!("did you mean {}?", alternatives(lines))
}

fn alternatives(lines: &[String]) -> String {
    lines.iter().map(|line| format!("`{}`", line.trim_end())).collect::<Vec<_>>().join(" or ")
}

/// A line of words.
struct TypedLine {
    words: Vec<String>,
    /// The position of its first word that is no flag.
    verb: usize,
}

impl TypedLine {
    fn verb(&self) -> &str {
        self.words.get(self.verb).map_or("", String::as_str)
    }

    fn position(&self, word: &str) -> Option<usize> {
        self.words.iter().skip(self.verb).position(|one| one == word).map(|at| at + self.verb)
    }

    /// Templates with the words from a position on; flags that stand before the verb are ours, and follow our own name.
    fn filled(&self, templates: &[&str], from: usize) -> String {
        meant(&self.lines(templates, from))
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

    /// A file without `-f`.
    fn file(&self, word: &str, kind: ErrorKind, tree: &Command) -> Option<String> {
        let has_file = |one: &String| one.starts_with("--file") || (one.starts_with("-f") && !one.starts_with("--"));
        // The line already has a file.
        if self.words.iter().any(has_file) {
            return None;
        }
        // A refused value may belong to any flag, so an existing file of that name proves nothing there.
        let is_file = is_manifest(word) || (kind != ErrorKind::ValueValidation && Path::new(word).is_file());
        let instance = tree.find_subcommand(self.verb())?.find_subcommand("instance").filter(|_| is_file)?;
        instance.get_arguments().find(|argument| argument.get_long() == Some("filename"))?;
        let at = self.position(word)?;
        let says_instance = self.words.get(self.verb + 1).is_some_and(|noun| noun == "instance");
        let mut words = self.words.clone();
        words.insert(at, "-f".to_owned());
        if !says_instance {
            words.insert(self.verb + 1, "instance".to_owned());
        }
        let line: Vec<_> = words.iter().skip(1).map(|word| quoted(word)).collect();
        Some(format!("a file is given with -f: flux-operator {}", line.join(" ")))
    }

    /// `status --contexts a b`: words where `--contexts` takes one.
    fn several_contexts(&self, word: &str) -> Option<String> {
        let at = self.position(word).filter(|_| !word.starts_with('-'))?;
        let before = self.words.get(..at)?;
        let is_flag = |word: &String| word == "--contexts" || word.starts_with("--contexts=");
        let flag = before.iter().rposition(is_flag)?;
        // Only the words between the flag and this one may be further contexts.
        before.get(flag + 1..)?.iter().all(|word| !word.starts_with('-')).then(|| {
            "several contexts are one word with commas between, and patterns have quotes: --contexts 'prod-*,stage'"
                .to_owned()
        })
    }

    /// `bundle out.tar.gz`, `distribution images 2.9.4`: a value without its flag.
    fn missing_flag(&self, word: &str, kind: ErrorKind, tree: &Command) -> Option<String> {
        // In the place of a noun only a path is sure not to be a mistyped one.
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
        // The flag is there, so this word is something else.
        if self.words.iter().any(|one| one.starts_with(&long) || (*one == typed)) {
            return None;
        }
        let mut words = self.words.clone();
        words.insert(at, typed);
        Some(TypedLine { words, verb: self.verb }.filled(&["flux-operator {}"], self.verb))
    }

    /// `logs --kind=Kustomization --name=app`, as flux has it.
    fn log_flags(&self, refused: &str) -> Option<String> {
        let value = |flag: &str| {
            let at = self.words.iter().position(|word| word.split('=').next() == Some(flag))?;
            let attached = self.words.get(at)?.split_once('=').map(|(_, value)| value);
            attached.or_else(|| self.words.get(at + 1).map(String::as_str).filter(|next| !next.starts_with('-')))
        };
        if self.verb() != "logs" || !["--kind", "--name"].contains(&refused.split('=').next()?) {
            return None;
        }
        // Words behind unknown flags were taken for an object by the grammar.
        let taken = self.words.get(self.verb + 1).filter(|word| word.contains('/')).cloned();
        let (kind, name) = (value("--kind").unwrap_or("KIND"), value("--name").unwrap_or("NAME"));
        let object = taken.unwrap_or_else(|| format!("{kind}/{name}"));
        Some(meant(&[format!("flux-operator logs {}", quoted(&object))]))
    }

    fn word_of_others(&self, word: &str) -> Option<String> {
        let at = self.position(word)?;
        WORDS_OF_OTHERS.iter().find_map(|(words, templates)| {
            let words: Vec<&str> = words.split(' ').collect();
            let end = self.verb + words.len();
            // clap must have refused one of these words, not a later one.
            let said = self.words.get(self.verb..end).filter(|_| at < end)?;
            said.iter().eq(&words).then(|| self.filled(templates, end))
        })
    }

    /// `distro images --version 2.9`.
    fn renamed_verb(&self, word: &str) -> Option<String> {
        let (_, ours) = RENAMED_VERBS.iter().find(|(theirs, _)| *theirs == word && *theirs == self.verb())?;
        let mut words = self.words.clone();
        *words.get_mut(self.verb)? = (*ours).to_owned();
        Some(TypedLine { words, verb: self.verb }.filled(&["flux-operator {}"], self.verb))
    }

    /// `get all --status-selector`, `install --instance-sync-url`.
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
        FLAGS_OF_OTHERS.iter().find(is_it).map(|(.., told)| (*told).to_owned())
    }

    /// `build artifact`, which writes an archive.
    fn no_archive(&self, word: &str) -> Option<String> {
        self.position(word).filter(|_| self.verb() == "build" && word == "artifact")?;
        let told = "no archive is written here: `flux-operator artifact push REFERENCE --path DIR` packs and pushes at once, \
                    and `flux build artifact` writes one";
        Some(told.to_owned())
    }

    /// `delete ks app --silent`.
    fn asks_nobody(&self, flag: &str, tree: &Command) -> Option<String> {
        let (flags, ours) = ASKS_NOBODY;
        let at = self.position(flag).filter(|_| flags.contains(&flag))?;
        let mut words = self.words.clone();
        *words.get_mut(at)? = ours.to_owned();
        // `flux uninstall` removes Flux, which here is the noun `instance`.
        if self.verb() == "uninstall" && at == self.verb + 1 {
            words.insert(at, "instance".to_owned());
        }
        let said = words.get(self.verb..)?;
        let command = said.iter().fold(tree, |command, word| command.find_subcommand(word).unwrap_or(command));
        command.get_arguments().find(|argument| argument.get_long() == ours.strip_prefix("--"))?;
        Some(TypedLine { words, verb: self.verb }.filled(&["flux-operator {}"], self.verb))
    }

    /// `build -o images`: a flag of FluxInstances where neither the noun nor a file says so.
    fn no_instance(&self, flag: &str, verb: &Command) -> Option<String> {
        OF_KUSTOMIZATIONS.iter().find(|(verb, _)| *verb == self.verb())?;
        let instance = verb.find_subcommand("instance")?;
        instance.get_arguments().find(|argument| match flag.strip_prefix("--") {
            Some(long) => argument.get_long() == Some(long),
            None => argument.get_short() == flag.chars().nth(1),
        })?;
        let of_file = format!("flux-operator {} -f FILE {{}}", self.verb());
        Some(self.filled(&[&of_file], self.verb + 1))
    }

    /// `get source`: one of flux's two words.
    fn group(&self, word: &str) -> Option<String> {
        let (verb, _) = OF_OTHER_KINDS.iter().find(|(verb, _)| *verb == self.verb())?;
        let kinds = grammar::kinds_of_group(word);
        let first = kinds.first()?;
        Some(format!("say which: {}; for example `flux-operator {verb} {first}`", kinds.join(", ")))
    }

    fn other_kind(&self, word: &str) -> Option<String> {
        let kind = word.split('/').next()?;
        kinds::find_resource_type(kind).filter(|_| kinds::find(kind).is_none())?;
        if OF_KUSTOMIZATIONS.iter().any(|(verb, _)| *verb == self.verb()) {
            return Some(format!("`{}` supports FluxInstance and ResourceSet only", self.verb()));
        }
        let (verb, templates) = OF_OTHER_KINDS.iter().find(|(verb, _)| *verb == self.verb())?;
        let lines = self.lines(templates, self.position(word)?);
        Some(format!("`{verb}` supports Flux objects only; for others use {}", alternatives(&lines)))
    }

    /// `diff ks app`: what is about FluxInstances only.
    fn kind_of_no_instance(&self, word: &str) -> Option<CliError> {
        let words: Vec<&str> = self.words.get(self.position(word)?..)?.iter().map(String::as_str).collect();
        let (kind, name) = grammar::first_object(&words)?;
        let (verb, template) = OF_KUSTOMIZATIONS.iter().find(|(verb, _)| *verb == self.verb())?;
        let error = CliError::usage(format!("`{verb}` does not support {}", kind.kind));
        let name = name.unwrap_or_else(|| "NAME".to_owned());
        Some(match kind.kind {
            "Kustomization" => {
                error.hint(format!("for a Kustomization use `{}`", template.replace("{}", &quoted(&name))))
            }
            _ => error.hint(format!("list its objects with `flux-operator get {}`", shortest(kind))),
        })
    }
}

fn shortest(kind: &FluxKind) -> &'static str {
    kind.short_names.first().copied().unwrap_or(kind.plural)
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
    if is_manifest(word) { Err("this is the name of a file, not of an object".to_owned()) } else { Ok(word.to_owned()) }
}
