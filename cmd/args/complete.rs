//! Completion of live names: instances, secrets, kinds, objects, namespaces. Without an answer in 300 ms there are no
//! candidates, unless the line has a `--request-timeout`.

use std::ffi::{OsStr, OsString};
use std::time::Duration;

use clap::builder::Resettable;
use clap::{Arg, Command, Parser};
use clap_complete::engine::{ArgValueCandidates, ArgValueCompleter, CompletionCandidate};
use flux_operator::api::Component;
use flux_operator::api::kinds::{self, FLUX_KINDS, FluxKind};
use flux_operator::api::object_words::{kinds_of_two_words, second_words};
use flux_operator::inspect::diagnose::instance::{HistoryRow, InstanceRow};
use flux_operator::inspect::diagnose::resources::ResourceRow;
use flux_operator::inspect::incident::report::StatsRow;
use flux_operator::inspect::views::components::ComponentRow;
use flux_operator::inspect::views::events::EventRow;
use flux_operator::inspect::views::inventory::InventoryRow;
use flux_operator::inspect::views::suspended::SuspendedRow;
use flux_operator::k8s::ResourceType;

use crate::args::has_rights;
use crate::input::positional::first_word;
use crate::output::as_started::name_of_program;
use crate::output::columns_of_kind::of_kind;
use crate::output::hints::REQUEST_TIMEOUT;
use crate::output::listing::{Column, Row};
use crate::session::Session;
use crate::session::read_source::instance_type;
use crate::session::target::instance_kind;
use crate::terminal::usage::plugins;
use crate::terminal::{Config, GlobalArgs, Shell};

mod answer;

pub use answer::{is_offered, shells};

/// The program name under which kubectl requests completions.
pub const COMPLETING_PLUGIN: &str = "kubectl_complete-flux_operator";
/// The commands with which a Cobra program requests completions, with and without descriptions.
pub const COBRA_COMMANDS: [&str; 2] = ["__complete", "__completeNoDesc"];
/// Limit for a user at a prompt, unless the line has a limit.
const LIMIT: Duration = Duration::from_millis(300);
/// Prefix of internal flags that completion must hide; it cannot be typed.
const UNTYPABLE: char = '\0';
/// Flags of the completed line that select the cluster and namespace, and limit the time for an answer.
const FLAGS: [&str; 7] =
    ["-n", "--namespace", "--context", "--kube-context", "--kubeconfig", "--server", REQUEST_TIMEOUT];

/// Adds completion of names to the command tree: contexts and namespaces.
pub fn with_names(tree: Command) -> Command {
    let line = words_of_line();
    let with_flags = line.last().is_some_and(|word| word.starts_with('-'));
    let whole: Vec<OsString> = whole_words(&line).iter().map(OsString::from).collect();
    let tree = tree.mut_arg("namespace", |flag| flag.add(namespaces())).mut_arg("context", |flag| flag.add(contexts()));
    let tree = tree.mut_arg("contexts", |flag| flag.add(patterns_of_contexts()));
    let tree = tree.mut_arg("clusters_from", |flag| flag.add(contexts()));
    let tree = commands_first(tree, &line, with_flags);
    let tree = if is_of_rbac(&whole, &tree) { with_lines_behind_rbac(tree) } else { tree };
    plugins().into_iter().fold(tree, |tree, plugin| match tree.find_subcommand(&plugin) {
        Some(_) => tree,
        // A plugin reads its arguments itself.
        None => tree.subcommand(Command::new(plugin).about("A plugin").allow_external_subcommands(true)),
    })
}

fn is_of_rbac(line: &[OsString], tree: &Command) -> bool {
    let verb = first_word(line, tree).and_then(|at| tree.find_subcommand(line.get(at)?));
    verb.is_some_and(|verb| verb.get_name() == "rbac")
}

/// Completes `rbac get <TAB>` like `get <TAB>`.
fn with_lines_behind_rbac(tree: Command) -> Command {
    let verbs: Vec<Command> = tree.get_subcommands().filter(|verb| has_rights(verb)).cloned().collect();
    tree.mut_subcommand("rbac", |rbac| {
        let flags: Vec<Arg> = rbac.get_arguments().filter(|argument| !argument.is_positional()).cloned().collect();
        let empty =
            Command::new("rbac").disable_help_subcommand(true).disable_help_flag(rbac.is_disable_help_flag_set());
        empty.args(flags).subcommands(verbs)
    })
}

/// Offers flags only after a `-`, and only the first of several names of a command.
fn commands_first(command: Command, line: &[String], with_flags: bool) -> Command {
    let aliases: Vec<String> = command.get_visible_aliases().map(str::to_owned).collect();
    let command = match aliases.is_empty() {
        true => command,
        false => command.visible_alias(Resettable::Reset).aliases(aliases),
    };
    let command = command.mut_args(|argument| {
        let argument = match argument.get_long() {
            Some("sort-by") => argument.add(columns("")),
            Some("filter") => argument.add(columns("=")),
            _ => argument,
        };
        as_spelled(argument, line)
    });
    // The library adds these two flags.
    let command = command.disable_help_flag(!with_flags).disable_version_flag(!with_flags);
    command.mut_subcommands(|below| commands_first(below, line, with_flags))
}

/// Renames a flag to the spelling in the line. A hidden flag that is not in the line is not offered.
fn as_spelled(flag: Arg, line: &[String]) -> Arg {
    let is_typed = |long: &str| {
        let mut typed = line.iter().filter_map(|word| word.strip_prefix("--")?.strip_prefix(long));
        typed.any(|rest| rest.is_empty() || rest.starts_with('='))
    };
    let Some(long) = flag.get_long().map(str::to_owned) else { return flag };
    let other = flag.get_all_aliases().unwrap_or_default().into_iter().find(|alias| is_typed(alias)).map(str::to_owned);
    match other {
        Some(other) => flag.long(other),
        None if flag.is_hide_set() && !is_typed(&long) => flag.long(format!("{UNTYPABLE}{long}")),
        None => flag,
    }
}

/// Columns of the line's list for `--sort-by`; with a suffix `=` for `--filter`.
pub fn columns(suffix: &'static str) -> ArgValueCompleter {
    ArgValueCompleter::new(move |current: &OsStr| {
        let line = words_of_line();
        let has = |word: &str| line.iter().any(|typed| typed.strip_suffix('s').unwrap_or(typed) == word);
        let columns: Vec<Column> = match () {
            () if has("component") => ComponentRow::COLUMNS.to_vec(),
            () if has("history") => HistoryRow::COLUMNS.to_vec(),
            () if has("inventory") => InventoryRow::COLUMNS.to_vec(),
            () if has("suspended") => SuspendedRow::COLUMNS.to_vec(),
            () if has("event") => EventRow::COLUMNS.to_vec(),
            () if has("stat") => StatsRow::COLUMNS.to_vec(),
            () => match line.iter().rev().find_map(|word| kinds::find(word)) {
                Some(kind) if kind.kind == "FluxInstance" => InstanceRow::COLUMNS.to_vec(),
                Some(kind) => of_kind(kind),
                None if has("instance") => InstanceRow::COLUMNS.to_vec(),
                None => ResourceRow::COLUMNS.to_vec(),
            },
        };
        let name = |column: &Column| format!("{}{suffix}", column.name.to_lowercase().replace(' ', "-"));
        matching(current, columns.iter().map(name).collect())
    })
}

/// The controllers of Flux.
pub fn controllers() -> ArgValueCandidates {
    ArgValueCandidates::new(|| Component::ALL.iter().map(|one| CompletionCandidate::new(one.as_str())).collect())
}

/// Names of the kubeconfig's contexts.
fn contexts() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let flags = ClusterFlags::try_parse_from(cluster_flags(&words_of_line()));
        matching(current, flags.map(|flags| crate::session::connect::contexts(&flags.global)).unwrap_or_default())
    })
}

/// Names of contexts, and of groups in the configuration file, also after a comma or a `!`.
fn patterns_of_contexts() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let text = current.to_string_lossy();
        let before = text.rfind([',', '!']).map_or("", |at| &text[..=at]);
        let flags = ClusterFlags::try_parse_from(cluster_flags(&words_of_line()));
        let mut names = flags.map(|flags| crate::session::connect::contexts(&flags.global)).unwrap_or_default();
        names.extend(Config::read().unwrap_or_default().context_groups.into_keys());
        matching(current, names.into_iter().map(|name| format!("{before}{name}")).collect())
    })
}

/// Names of Namespaces.
fn namespaces() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| matching(current, names(&kinds::NAMESPACE)))
}

/// Names of FluxInstances.
pub fn instances() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| matching(current, names(&instance_type())))
}

/// Names of Secrets.
pub fn secrets() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| matching(current, names(&kinds::SECRET)))
}

/// The kinds of Flux.
pub fn kinds() -> ArgValueCandidates {
    ArgValueCandidates::new(|| FLUX_KINDS.iter().map(|k| CompletionCandidate::new(k.kind)).collect())
}

/// `kind/`, then `kind/name`; only names after a kind.
pub fn resources() -> ArgValueCompleter {
    ArgValueCompleter::new(resources_like)
}

/// Like [`resources`], with `all` as the first word.
pub fn resources_or_all() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let is_first = whole_words(&words_of_line()).last().is_some_and(|last| last == "get");
        let all = matching(current, if is_first { vec!["all".to_owned()] } else { vec![] });
        all.into_iter().chain(resources_like(current)).collect()
    })
}

fn resources_like(current: &OsStr) -> Vec<CompletionCandidate> {
    let text = current.to_string_lossy();
    if let Some((word, _)) = text.split_once('/') {
        let names = kinds::find_resource_type(word).map(|resource| names(&resource)).unwrap_or_default();
        return matching(current, names.into_iter().map(|name| format!("{word}/{name}")).collect());
    }
    let line = words_of_line();
    let whole = whole_words(&line);
    let second = whole.last().map(|last| second_words(last)).unwrap_or_default();
    if !second.is_empty() {
        return matching(current, second.iter().map(ToString::to_string).collect());
    }
    if let Some(kind) = kind_alone(whole) {
        return matching(current, names(&kind.resource_type()));
    }
    let before = text.rfind(',').map_or("", |at| &text[..=at]);
    // Offer one spelling of each kind until a character is typed.
    let mut spellings: Vec<String> = match text.len() > before.len() {
        true => kinds::words().map(str::to_lowercase).collect(),
        false => FLUX_KINDS.iter().map(usual_word).collect(),
    };
    spellings.dedup();
    matching(current, spellings.into_iter().map(|word| format!("{before}{word}")).collect())
}

/// Returns `instance` for FluxInstance, and the name of any other kind.
fn usual_word(kind: &FluxKind) -> String {
    if kind == instance_kind() { "instance".to_owned() } else { kind.kind.to_lowercase() }
}

/// Returns the kind among the words of a line that is alone or followed by names.
fn kind_alone(words: &[String]) -> Option<&'static FluxKind> {
    let kind_at = |at: usize| {
        let of_two = words.get(at + 1).map(|second| kinds_of_two_words(&words[at], second)).unwrap_or_default();
        kinds::find(of_two.first().copied().unwrap_or(&words[at]))
    };
    (1..words.len()).find_map(kind_at)
}

fn matching(current: &OsStr, names: Vec<String>) -> Vec<CompletionCandidate> {
    let current = current.to_string_lossy();
    names.into_iter().filter(|n| n.starts_with(current.as_ref())).map(CompletionCandidate::new).collect()
}

/// Returns a word without its quotes: shells pass words as they were typed, such as `my\ prod`.
pub fn unquoted(word: &str) -> String {
    let words = shlex::split(word).unwrap_or_default();
    match <[String; 1]>::try_from(words) {
        Ok([one]) => one,
        Err(_) => word.to_owned(),
    }
}

/// Returns the words of the completed line: those after `--` in the shell's call, or all words from kubectl and flux.
fn words_of_line() -> Vec<String> {
    let mut words: Vec<String> = std::env::args_os().map(|a| a.to_string_lossy().into_owned()).collect();
    if words.get(1).is_some_and(|command| COBRA_COMMANDS.contains(&command.as_str())) {
        words.remove(1);
        return words;
    }
    if name_of_program().as_deref() == Some(COMPLETING_PLUGIN) {
        return words;
    }
    let at = words.iter().position(|word| word == "--").map_or(words.len(), |at| at + 1);
    answer::rejoined(words.iter().skip(at).map(|word| unquoted(word)).collect())
}

/// Returns all words of a line except the one being completed.
fn whole_words(line: &[String]) -> &[String] {
    line.split_last().map_or(&[], |(_, whole)| whole)
}

/// Returns those of [`FLAGS`] that an incomplete line has, with the program's name first.
fn cluster_flags(line: &[String]) -> Vec<String> {
    // A message would land in the line that the user is typing.
    let mut found = vec!["flux-operator".to_owned(), "--quiet".to_owned()];
    let mut words = line.iter();
    while let Some(word) = words.next() {
        if FLAGS.contains(&word.as_str()) {
            if let Some(value) = words.next() {
                found.extend([word.clone(), value.clone()]);
            }
        } else if FLAGS.iter().any(|f| f.starts_with("--") && word.starts_with(&format!("{f}="))) {
            found.push(word.clone());
        }
    }
    found
}

#[derive(Parser)]
struct ClusterFlags {
    #[command(flatten)]
    global: GlobalArgs,
}

fn names(resource: &ResourceType) -> Vec<String> {
    let line = cluster_flags(&words_of_line());
    let Ok(flags) = ClusterFlags::try_parse_from(&line) else { return vec![] };
    let says_limit = line.iter().any(|word| word.starts_with(REQUEST_TIMEOUT));
    let limit = if says_limit { flags.global.request_timeout.0 } else { LIMIT };
    let shell = Shell::new(&flags.global, Config::read().unwrap_or_default(), false, "completion");
    let look = async {
        let session = Session::open(&shell).await.ok()?;
        let namespace = session.namespace();
        session.cluster.names(resource, Some(&namespace)).await.ok()
    };
    shell.block_on(async { tokio::time::timeout(limit, look).await.ok().flatten() }).ok().flatten().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn the_cluster_of_a_half_written_line_is_found() {
        let flags = cluster_flags(&words("flux-operator -n apps get --context=dev ks/"));
        assert_eq!(flags, ["flux-operator", "--quiet", "-n", "apps", "--context=dev"]);
        assert_eq!(cluster_flags(&words("flux-operator get -n")).len(), 2);
    }

    #[test]
    fn every_verb_of_objects_offers_their_names() {
        let tree = <crate::cli::Cli as clap::CommandFactory>::command();
        for verb in "get tree why plan reconcile rollback suspend resume wait delete uninstall export".split(' ') {
            let objects = tree.find_subcommand(verb).and_then(|verb| verb.get_positionals().next());
            assert!(objects.is_some_and(|words| words.get::<ArgValueCompleter>().is_some()), "{verb}");
        }
    }

    #[test]
    fn names_follow_a_kind_without_a_name() {
        let kind = |line: &str| kind_alone(&words(line)).map(|kind| kind.kind);
        for line in ["get resources ks", "get ks", "get ks app", "-n apps get -A ks", "why ks", "get kustomizations"] {
            assert_eq!(kind(&format!("flux-operator {line}")), Some("Kustomization"), "{line}");
        }
        assert_eq!(kind("flux-operator get source git"), Some("GitRepository"));
        for line in ["get resources", "get ks/app", "get ks,hr", "create secret git"] {
            assert_eq!(kind(&format!("flux-operator {line}")), None, "{line}");
        }
    }
}
