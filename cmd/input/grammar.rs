//! The grammar of every verb that takes objects: `VERB KIND NAME…`, `VERB KIND/NAME…` and `VERB KIND`, in any spelling of a
//! kind and in flux's own words.
//!
//! The words of the command line are put into the order of the command tree before clap reads them. An unknown word is not
//! moved, and clap reports it.

use std::ffi::OsString;

use clap::Command;
use flux_operator::api::kinds::{self, FluxKind};

/// How a verb treats a Flux kind that is not one of its nouns.
enum Nouns {
    /// The noun that takes any kind, and then the kind itself.
    Any(&'static str),
    /// Only what is a noun itself.
    Own,
    /// The verb takes the object itself, as `KIND/NAME`.
    Object,
    /// The verb takes a field, as `KIND.FIELD`.
    Field,
}

impl Nouns {
    fn is(nouns: &Nouns, word: &str) -> bool {
        matches!(nouns, Nouns::Any(noun) if *noun == word)
    }
}

/// The verbs that take objects.
const VERBS: [(&str, Nouns); 19] = [
    ("get", Nouns::Any("resources")),
    ("reconcile", Nouns::Any("resource")),
    ("suspend", Nouns::Any("resource")),
    ("resume", Nouns::Any("resource")),
    ("wait", Nouns::Any("resource")),
    ("export", Nouns::Any("resource")),
    ("tree", Nouns::Any("resource")),
    ("why", Nouns::Object),
    ("apply", Nouns::Own),
    ("build", Nouns::Own),
    ("plan", Nouns::Own),
    ("diff", Nouns::Own),
    ("delete", Nouns::Any("resource")),
    ("events", Nouns::Object),
    ("trace", Nouns::Object),
    ("explain", Nouns::Field),
    ("logs", Nouns::Object),
    ("debug", Nouns::Object),
    ("impact", Nouns::Object),
];
/// The verbs that mean every object of a kind that stands alone; a verb that changes something wants `--all` for that.
const TAKES_ALL: [&str; 2] = ["wait", "export"];
const ALL: [&str; 3] = ["--all", "-l", "--selector"];

/// The two words that flux has for a kind, and the kind.
const WORDS_OF_FLUX: [(&str, &str, &str); 11] = [
    ("source", "git", "GitRepository"),
    ("source", "oci", "OCIRepository"),
    ("source", "helm", "HelmRepository"),
    ("source", "chart", "HelmChart"),
    ("source", "bucket", "Bucket"),
    ("source", "external", "ExternalArtifact"),
    ("artifact", "generator", "ArtifactGenerator"),
    ("image", "repository", "ImageRepository"),
    ("image", "policy", "ImagePolicy"),
    ("image", "update", "ImageUpdateAutomation"),
    ("alert-provider", "", "Provider"),
];

const HELP: [&str; 2] = ["-h", "--help"];
/// `resume --overdue`.
const OVERDUE: &str = "--overdue";
/// The verbs that are about the instance when they name nothing; those that need a file are not about one in the cluster.
const OF_INSTANCE: [&str; 6] = ["plan", "diff", "rollback", "uninstall", "reconcile", "wait"];
/// The noun of FluxInstances in the command tree.
const INSTANCE: &str = "instance";

/// Returns the arguments, the program's own name first, in the order of the command tree.
pub fn in_order(arguments: &[OsString], tree: &Command) -> Vec<OsString> {
    let arguments = with_counted_verbosity(arguments);
    let arguments = with_help_behind_command(&arguments, tree).unwrap_or(arguments);
    let arguments = ordered(&arguments, tree).unwrap_or(arguments);
    with_default_noun(&arguments, tree).unwrap_or(arguments)
}

/// `plan`, `rollback --to 2.8.8`: a verb of FluxInstances without a noun is about the instance. Help lists the nouns.
fn with_default_noun(arguments: &[OsString], tree: &Command) -> Option<Vec<OsString>> {
    let first = positional(arguments, 1, &[tree])?;
    if !OF_INSTANCE.contains(&arguments.get(first)?.to_str()?)
        || arguments.iter().any(|argument| HELP.iter().any(|help| argument == *help))
    {
        return None;
    }
    let (verb, words) = verb_and_words(arguments, tree, first)?;
    let instance = verb.find_subcommand(INSTANCE).filter(|_| words.is_empty())?;
    // A flag that only another noun has, such as `uninstall --with-instance`, means that noun.
    let has = |command: &Command, flag: &str| command.get_arguments().any(|argument| argument.get_long() == Some(flag));
    let is_elsewhere = |flag: &str| !has(instance, flag) && verb.get_subcommands().any(|noun| has(noun, flag));
    let mut flags = arguments.iter().skip(first + 1).filter_map(|argument| argument.to_str()?.strip_prefix("--"));
    if flags.any(|flag| is_elsewhere(flag.split('=').next().unwrap_or(flag))) {
        return None;
    }
    let mut arguments = arguments.to_vec();
    arguments.insert(first + 1, INSTANCE.into());
    Some(arguments)
}

/// `-h get ks`: the help of the command that the line names, as `get ks -h`.
fn with_help_behind_command(arguments: &[OsString], tree: &Command) -> Option<Vec<OsString>> {
    let first = positional(arguments, 1, &[tree])?;
    let command = arguments.get(first)?.to_str().and_then(|word| tree.find_subcommand(word))?;
    let is_help = |argument: &OsString| HELP.iter().any(|help| argument == *help);
    let flag = arguments.get(..first)?.iter().position(is_help).filter(|_| command.get_name() != "help")?;
    let mut arguments = arguments.to_vec();
    let help = arguments.remove(flag);
    let own = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    arguments.insert(own, help);
    Some(arguments)
}

/// kubectl's `-v=6`: our own words come with one `v`, requests (kubectl's from 6 on) with two.
fn with_counted_verbosity(arguments: &[OsString]) -> Vec<OsString> {
    let own = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    let counted = |(index, argument): (usize, &OsString)| {
        let level = argument.to_str().filter(|_| index < own).and_then(|text| {
            ["-v=", "--v=", "--verbose="].iter().find_map(|flag| text.strip_prefix(flag))?.parse::<u8>().ok()
        });
        match level {
            None => Some(argument.clone()),
            Some(0) => None,
            Some(1..=5) => Some("-v".into()),
            Some(_) => Some("-vv".into()),
        }
    };
    arguments.iter().enumerate().filter_map(counted).collect()
}

fn ordered(arguments: &[OsString], tree: &Command) -> Option<Vec<OsString>> {
    let first = positional(arguments, 1, &[tree])?;
    let word = arguments.get(first)?.to_str()?;
    if word == "help" {
        return topic(arguments, tree, first);
    }
    if let Some(flag) = arguments.iter().position(|argument| argument == OVERDUE).filter(|_| word == "resume") {
        // A flag that stands for objects is a noun.
        let mut ordered = arguments.to_vec();
        ordered.remove(flag);
        // Removing a flag in front of the verb moves the verb one place to the left.
        ordered.insert(first + 1 - usize::from(flag < first), OVERDUE.trim_start_matches('-').into());
        return Some(ordered);
    }
    let (_, nouns) = VERBS.iter().find(|(verb, _)| *verb == word)?;
    let (verb, positions) = verb_and_words(arguments, tree, first)?;
    // A word that is not UTF-8 must not get lost: the line stays as it is, and the command tree refuses it.
    let words: Option<Vec<&str>> = positions.iter().map(|position| arguments.get(*position)?.to_str()).collect();
    let words = words?;
    let words = with_kinds_of_group(&words);
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    let is_object = matches!(nouns, Nouns::Object | Nouns::Field);
    // `why resource ks/app`: a noun that other verbs have and this one does not need.
    let says_resource = is_object && words.len() > 1 && matches!(words.first(), Some(&"resource" | &"resources"));
    if says_resource {
        words.remove(0);
    }
    let as_said = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
    let own = words.split_first().and_then(|(noun, names)| noun_of(verb, noun, names));
    // A flag and its value look like a flag and a noun when the flag is unknown.
    let follows_flag = || {
        let before = positions.first().and_then(|at| arguments.get(at - 1));
        before.is_some_and(|before| before.to_string_lossy().starts_with('-'))
    };
    let replaced = match (words.split_first(), own) {
        (None, _) if !is_object => nothing_but_a_file(arguments, verb)?,
        (None, _) => return None,
        (Some((noun, names)), Some(own)) => match names {
            [_, _, ..] if kinds::find(noun).is_some() && !matches!(nouns, Nouns::Own) => {
                object_words(&words, nouns, verb)?
            }
            // The first name is not a kind: it may begin flux's two words, as in `get resources source git`.
            [first, ..] if Nouns::is(nouns, own.get_name()) && kinds::find(kind_and_name(first).0).is_none() => {
                object_words(names, nouns, verb)
                    .unwrap_or_else(|| [vec![own.get_name().to_owned()], as_said(names)].concat())
            }
            // The line already uses the tree's own words.
            _ if is_called(own, noun) && positions.first() == Some(&(first + 1)) => return None,
            _ => [vec![own.get_name().to_owned()], as_said(names)].concat(),
        },
        (Some(_), None) => match (object_words(&words, nouns, verb), nothing_but_a_file(arguments, verb)) {
            (Some(replaced), _) => replaced,
            (None, Some(noun)) if follows_flag() => {
                // The word may be the value of an unknown flag. It stays behind that flag, which clap then refuses.
                let mut ordered = arguments.to_vec();
                ordered.splice(first + 1..first + 1, noun.into_iter().map(OsString::from));
                return Some(ordered);
            }
            (None, _) => says_resource.then(|| as_said(&words))?,
        },
    };
    // The words of the objects follow the verb, the flags follow them.
    let are_kinds = |word: &str| word.split(',').all(|kind| kinds::find(kind).is_some());
    let is_kind_alone = matches!(replaced.as_slice(), [noun, word] if Nouns::is(nouns, noun) && are_kinds(word));
    let mut ordered: Vec<OsString> = arguments.get(..=first)?.to_vec();
    ordered.extend(replaced.into_iter().map(OsString::from));
    let says_which = |argument: &OsString| {
        let text = argument.to_string_lossy();
        ALL.iter().any(|flag| {
            // The value of a short flag may follow at once: `-lapp=web`.
            text == *flag || text.starts_with(&format!("{flag}=")) || (flag.len() == 2 && text.starts_with(flag))
        })
    };
    // Only a kind alone stands for all of its objects: names or labels already say which ones are meant.
    if is_kind_alone && TAKES_ALL.contains(&word) && !arguments.iter().any(says_which) {
        ordered.push("--all".into());
    }
    let rest = arguments.iter().enumerate().skip(first + 1).filter(|(index, _)| !positions.contains(index));
    ordered.extend(rest.map(|(_, argument)| argument.clone()));
    Some(ordered)
}

/// `help get ks`: the help of the command that `get ks` runs.
fn topic(arguments: &[OsString], tree: &Command, first: usize) -> Option<Vec<OsString>> {
    let line = [arguments.get(..1)?, arguments.get(first + 1..)?].concat();
    let mut topic = arguments.get(..=first)?.to_vec();
    let mut below = tree;
    for word in ordered(&line, tree)?.iter().skip(1) {
        let Some(command) = word.to_str().and_then(|word| below.find_subcommand(word)) else { break };
        topic.push(word.clone());
        below = command;
    }
    Some(topic)
}

/// The verb's own noun that a word means, in the singular or the plural; with names after it the one that takes names.
fn noun_of<'a>(verb: &'a Command, word: &str, names: &[&str]) -> Option<&'a Command> {
    let find = |word: &str| verb.get_subcommands().find(|command| is_called(command, word));
    let (one, many) = (word.strip_suffix('s').unwrap_or(word), format!("{word}s"));
    match word {
        "resources" if !names.is_empty() => find(one).or_else(|| find(word)),
        _ => find(word).or_else(|| find(one)).or_else(|| find(&many)),
    }
}

/// `sources all`, flux's words for every kind of a group, as `KIND,KIND`.
fn with_kinds_of_group(words: &[&str]) -> Vec<String> {
    let as_said = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
    match words {
        [group, all, rest @ ..] if all.eq_ignore_ascii_case("all") => {
            let of_group = WORDS_OF_FLUX.iter().filter(|(one, two, _)| !two.is_empty() && *one == singular(group));
            let kinds: Vec<&str> = of_group.map(|(_, _, kind)| *kind).collect();
            if kinds.is_empty() { as_said(words) } else { [vec![kinds.join(",")], as_said(rest)].concat() }
        }
        _ => as_said(words),
    }
}

/// The command of the verb at `first`, and the positions of the words after it.
fn verb_and_words<'a>(arguments: &[OsString], tree: &'a Command, first: usize) -> Option<(&'a Command, Vec<usize>)> {
    let word = arguments.get(first)?.to_str()?;
    let verb = tree.get_subcommands().find(|command| is_called(command, word))?;
    // Flags may stand before the noun, which is not known yet: the flags of every noun count.
    let known: Vec<&Command> = [tree, verb].into_iter().chain(verb.get_subcommands()).collect();
    let mut positions = vec![];
    let mut at = first + 1;
    while let Some(position) = positional(arguments, at, &known) {
        positions.push(position);
        at = position + 1;
    }
    Some((verb, positions))
}

/// The omitted parts of a line: the verb, its noun, and the word in place of the noun (`ks/app` of `get ks/app`).
pub struct Unsaid {
    pub verb: String,
    pub noun: Command,
    pub word: Option<String>,
}

/// Reads the whole words of a line that is still being written, the program's own name first.
pub fn unsaid(arguments: &[OsString], tree: &Command) -> Option<Unsaid> {
    let first = first_word(arguments, tree)?;
    let (verb, positions) = verb_and_words(arguments, tree, first)?;
    let word = positions.first().and_then(|position| arguments.get(*position)?.to_str());
    if word.is_some_and(|word| verb.get_subcommands().any(|noun| is_called(noun, word))) {
        return None;
    }
    let ordered = in_order(arguments, tree);
    let noun = verb.find_subcommand(ordered.get(first_word(&ordered, tree)? + 1)?)?;
    Some(Unsaid { verb: verb.get_name().to_owned(), noun: noun.clone(), word: word.map(str::to_owned) })
}

/// The verb of a line that holds nothing but it and flags.
pub fn verb_without_words<'a>(arguments: &[OsString], tree: &'a Command) -> Option<&'a Command> {
    let (verb, positions) = verb_and_words(arguments, tree, first_word(arguments, tree)?)?;
    positions.is_empty().then_some(verb)
}

/// Returns flux's names for the kinds of a group, such as `source git`, also for a typing error; empty for any other word.
pub fn kinds_of_group(word: &str) -> Vec<String> {
    let group = singular(word);
    let is_meant = |one: &str| strsim::osa_distance(one, &group) <= 1;
    let rows = WORDS_OF_FLUX.iter().filter(|(one, two, _)| !two.is_empty() && is_meant(one));
    rows.map(|(one, two, _)| format!("{one} {two}")).collect()
}

/// Returns the words that make a kind of flux after its first word: `git`, `oci` and others after `source`.
pub fn second_words(first: &str) -> Vec<&'static str> {
    let first = singular(first);
    WORDS_OF_FLUX.iter().filter(|(one, two, _)| !two.is_empty() && *one == first).map(|(_, two, _)| *two).collect()
}

/// The kind that words begin with, and the first name.
pub fn first_object(words: &[&str]) -> Option<(&'static FluxKind, Option<String>)> {
    let (kind, names) = kind_and_names(words)?;
    let name = match names {
        Names::None => None,
        Names::One(name) => Some(name),
        Names::Many(names) => names.first().map(|name| kind_and_name(name).1.unwrap_or(name).to_owned()),
    };
    Some((kind, name))
}

/// The kind that stands alone, or before names of it, among the words of a line with a verb that takes objects.
pub fn kind_alone(words: &[&str]) -> Option<&'static FluxKind> {
    let verb = words.iter().position(|word| VERBS.iter().any(|(verb, _)| verb == word))?;
    let objects = words.get(verb + 1..)?;
    let kind_at = |at: usize| {
        let objects = objects.get(at..)?;
        let is_alone = objects.first().is_some_and(|word| !word.contains(['/', ',']));
        kind_and_names(objects).filter(|_| is_alone).map(|(kind, _)| kind)
    };
    (0..objects.len()).find_map(kind_at)
}

/// `apply -f FILE`: a file holds a FluxInstance.
fn nothing_but_a_file(arguments: &[OsString], verb: &Command) -> Option<Vec<String>> {
    let instance = verb.get_subcommands().find(|command| command.get_name() == INSTANCE)?;
    instance.get_arguments().find(|argument| argument.get_long() == Some("filename"))?;
    let names_file = |argument: &OsString| {
        let text = argument.to_string_lossy();
        ["-f", "--file", "--filename", "--plan"]
            .iter()
            .any(|flag| text == *flag || text.starts_with(&format!("{flag}=")))
            || text.starts_with("-f")
    };
    arguments.iter().any(names_file).then(|| vec![INSTANCE.to_owned()])
}

/// Brings the words of objects into the order of the verb; `None` when they name no kind.
fn object_words(words: &[&str], nouns: &Nouns, verb: &Command) -> Option<Vec<String>> {
    if matches!(nouns, Nouns::Field) {
        return Some(vec![field(words)]);
    }
    let (kind, names) = kind_and_names(words)?;
    let own = verb.get_subcommands().find(|command| {
        let name = if kind.kind == "FluxInstance" { INSTANCE.to_owned() } else { kind.kind.to_lowercase() };
        command.get_name() == name
    });
    // A noun of the tree takes one name; more of them, or several kinds, are objects.
    match (nouns, own, names) {
        (_, Some(own), Names::One(name)) => Some(vec![own.get_name().to_owned(), name]),
        (_, Some(own), Names::None) => Some(vec![own.get_name().to_owned()]),
        (Nouns::Any(noun), _, Names::None) => Some(vec![(*noun).to_owned(), kind.kind.to_owned()]),
        (Nouns::Any(noun), _, Names::One(name)) => Some(vec![(*noun).to_owned(), format!("{}/{name}", kind.kind)]),
        (Nouns::Any(noun), _, Names::Many(objects)) => Some([vec![(*noun).to_owned()], objects].concat()),
        (Nouns::Object, _, Names::None) => Some(vec![kind.kind.to_owned()]),
        (Nouns::Object, _, Names::One(name)) => Some(vec![format!("{}/{name}", kind.kind)]),
        (Nouns::Object, _, Names::Many(objects)) => Some(objects),
        _ => None,
    }
}

/// The names that follow a kind.
enum Names {
    None,
    One(String),
    /// As `KIND/NAME`, or as they were written.
    Many(Vec<String>),
}

fn kind_and_names(words: &[&str]) -> Option<(&'static FluxKind, Names)> {
    let (first, rest) = words.split_first()?;
    if let Some((kind, _)) = first.split_once(',').filter(|_| !first.contains('/')) {
        let kinds = first.split(',').map(in_our_words).collect::<Vec<_>>().join(",");
        let names = rest.iter().map(ToString::to_string);
        return Some((kind_of(kind)?, Names::Many([kinds].into_iter().chain(names).collect())));
    }
    let (word, name) = kind_and_name(first);
    let (kind, name, rest) = match kind_of(word) {
        Some(kind) => (kind, name, rest),
        None => kind_of_two(first, rest)?,
    };
    let names = match (name, rest) {
        (None, []) => Names::None,
        (Some(name), []) | (None, &[name]) => Names::One(name.to_owned()),
        (None, names) => Names::Many(names.iter().map(|name| format!("{}/{name}", kind.kind)).collect()),
        (Some(name), others) => {
            let first = if kind_of(word).is_some() { in_our_words(first) } else { format!("{}/{name}", kind.kind) };
            Names::Many([first].into_iter().chain(others.iter().map(|word| in_our_words(word))).collect())
        }
    };
    Some((kind, names))
}

/// Splits `KIND/NAME`.
fn kind_and_name(word: &str) -> (&str, Option<&str>) {
    word.split_once('/').map_or((word, None), |(kind, name)| (kind, Some(name)))
}

/// `alert-provider/slack` with a word that the other rooms know as well.
fn in_our_words(word: &str) -> String {
    let (first, name) = kind_and_name(word);
    match (kind_of(first).filter(|_| kinds::find(first).is_none()), name) {
        (Some(kind), Some(name)) => format!("{}/{name}", kind.kind),
        (Some(kind), None) => kind.kind.to_owned(),
        (None, _) => word.to_owned(),
    }
}

/// The kind that one word means.
fn kind_of(word: &str) -> Option<&'static FluxKind> {
    let of_flux = || WORDS_OF_FLUX.iter().find(|(one, two, _)| two.is_empty() && *one == singular(word));
    kinds::find(word).or_else(|| kinds::find(of_flux()?.2))
}

/// `source git`, `sources git`, `image policies`, with or without a name as in `source git/app`; and what follows.
fn kind_of_two<'a>(first: &str, rest: &'a [&'a str]) -> Option<(&'static FluxKind, Option<&'a str>, &'a [&'a str])> {
    let (second, rest) = rest.split_first()?;
    let (second, name) = kind_and_name(second);
    let words = (singular(first), singular(second));
    let (_, _, kind) =
        WORDS_OF_FLUX.iter().find(|(one, two, _)| (*one, *two) == (words.0.as_str(), words.1.as_str()))?;
    Some((kinds::find(kind)?, name, rest))
}

/// `git` for `Gits`, `policy` for `policies`.
fn singular(word: &str) -> String {
    let word = word.to_lowercase();
    match word.strip_suffix("ies") {
        Some(stem) => format!("{stem}y"),
        None => word.strip_suffix('s').unwrap_or(&word).to_owned(),
    }
}

/// `source git.spec`, `ks spec path` and `ks/app spec` as `KIND.FIELD`: the fields are those of every object of the kind.
fn field(words: &[&str]) -> String {
    let of_flux = || {
        let (first, rest) = words.split_first()?;
        let (second, rest) = rest.split_first()?;
        let second = kind_and_name(second).0;
        let (second, path) = second.split_once('.').map_or((second, None), |(kind, path)| (kind, Some(path)));
        let (kind, ..) = kind_of_two(first, &[second])?;
        Some([vec![kind.kind], path.into_iter().collect(), rest.to_vec()].concat().join("."))
    };
    let as_said = || {
        let first = words.first().map(|first| kind_and_name(first).0);
        first.into_iter().chain(words.iter().skip(1).copied()).collect::<Vec<_>>().join(".")
    };
    of_flux().unwrap_or_else(as_said)
}

fn is_called(command: &Command, word: &str) -> bool {
    command.get_name() == word || command.get_all_aliases().any(|alias| alias == word)
}

/// The position of the command's first word: the program's own name and flags come before it.
pub fn first_word(arguments: &[OsString], tree: &Command) -> Option<usize> {
    positional(arguments, 1, &[tree])
}

/// The position of the next word, from `at` on, that is neither a flag nor its value; the flags are those of the `known` commands.
pub fn positional(arguments: &[OsString], mut at: usize, known: &[&Command]) -> Option<usize> {
    loop {
        let text = arguments.get(at)?.to_str()?;
        match text {
            "--" => return None,
            // A dash alone is a value: standard input.
            "-" => return Some(at),
            flag if flag.starts_with('-') => at += if takes_next(flag, known) { 2 } else { 1 },
            _ => return Some(at),
        }
    }
}

/// Whether the value of a flag is the next word.
fn takes_next(flag: &str, known: &[&Command]) -> bool {
    if flag.contains('=') {
        return false;
    }
    let arguments = || known.iter().flat_map(|command| command.get_arguments());
    // A flag that requires `=` leaves the next word alone.
    let takes = |argument: &clap::Arg| argument.get_action().takes_values() && !argument.is_require_equals_set();
    if let Some(long) = flag.strip_prefix("--") {
        let is_it = |argument: &&clap::Arg| {
            argument.get_long() == Some(long) || argument.get_all_aliases().is_some_and(|all| all.contains(&long))
        };
        return arguments().find(is_it).is_some_and(takes);
    }
    // `-An flux` is `-A -n flux`; in `-nflux` the value follows at once.
    let letters: Vec<char> = flag.chars().skip(1).collect();
    let of = |letter: char| arguments().find(|argument| argument.get_short() == Some(letter));
    letters.iter().position(|letter| of(*letter).is_some_and(takes)).is_some_and(|at| at + 1 == letters.len())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_instance_is_the_default_noun() {
        let tree = crate::cli::Cli::command();
        for (line, ordered) in [
            ("plan", "plan instance"),
            ("rollback --to v2.8.8", "rollback instance --to v2.8.8"),
            ("-n apps reconcile --in-process", "-n apps reconcile instance --in-process"),
            ("wait --timeout 3s", "wait instance --timeout 3s"),
            ("uninstall --dry-run", "uninstall instance --dry-run"),
            ("uninstall --with-instance", "uninstall --with-instance"),
            ("uninstall operator", "uninstall operator"),
            ("plan --help", "plan --help"),
            ("help plan", "help plan"),
            ("suspend", "suspend"),
        ] {
            let words = |line: &str| -> Vec<std::ffi::OsString> {
                ["flux-operator"].into_iter().chain(line.split(' ')).map(Into::into).collect()
            };
            assert_eq!(super::in_order(&words(line), &tree), words(ordered), "{line}");
        }
    }

    use super::*;
    use crate::cli::Cli;

    /// Typed lines, and their meaning in the words of the command tree.
    const SPELLINGS: &[(&str, &str)] = &[
        // The noun is there.
        ("get instance flux", "get instance flux"),
        ("get instances -A", "get instances -A"),
        ("-n apps get resources ks/app", "-n apps get resources ks/app"),
        ("reconcile resource ks/app", "reconcile resource ks/app"),
        ("reconcile resources ks/app", "reconcile resource ks/app"),
        ("reconcile resources", "reconcile resources"),
        ("reconcile all -A", "reconcile all -A"),
        ("tree ks app", "tree ks app"),
        // Any spelling of a kind, with and without names.
        ("get ks", "get resources Kustomization"),
        ("get GitRepository", "get resources GitRepository"),
        ("get gitrepositories.source.toolkit.fluxcd.io -A", "get resources GitRepository -A"),
        ("get FluxInstance", "get instance"),
        ("get fluxinstances.fluxcd.controlplane.io flux", "get instance flux"),
        ("get fi/flux", "get fi/flux"),
        ("get rset", "get resources ResourceSet"),
        ("get gitrepo,ks -A", "get resources gitrepo,ks -A"),
        ("get ks app", "get resources Kustomization/app"),
        ("get ks app web", "get resources Kustomization/app Kustomization/web"),
        ("get ks/app hr/web", "get resources ks/app hr/web"),
        ("reconcile ks app", "reconcile resource Kustomization/app"),
        ("reconcile ks/app --wait=false", "reconcile resource Kustomization/app --wait=false"),
        ("reconcile -n apps hr web", "reconcile resource HelmRelease/web -n apps"),
        ("reconcile fluxinstance flux --force", "reconcile instance flux --force"),
        ("reconcile ks app --with-source", "reconcile resource Kustomization/app --with-source"),
        ("reconcile hr --all -A", "reconcile resource HelmRelease --all -A"),
        ("suspend gitrepo,ks -l team=a", "suspend resource gitrepo,ks -l team=a"),
        ("suspend ks/app ks/web", "suspend resource ks/app ks/web"),
        ("resume hr web", "resume resource HelmRelease/web"),
        ("resume --overdue -A", "resume overdue -A"),
        ("-n apps resume ks --overdue --wait=false", "-n apps resume overdue ks --wait=false"),
        ("get suspended -A", "get suspended -A"),
        ("wait ks/app --for=delete --timeout 30s", "wait resource Kustomization/app --for=delete --timeout 30s"),
        ("wait --timeout 30s ks app", "wait resource Kustomization/app --timeout 30s"),
        ("export helmrelease web -o json", "export resource HelmRelease/web -o json"),
        ("tree ks/app", "tree kustomization app"),
        ("tree HelmRelease web", "tree helmrelease web"),
        ("tree fluxinstance", "tree instance"),
        ("why fluxinstance/flux", "why instance flux"),
        ("why ks/app", "why Kustomization/app"),
        ("why ks", "why Kustomization"),
        ("why source git app", "why GitRepository/app"),
        ("tree gitrepo app", "tree resource GitRepository/app"),
        ("tree gitrepositories.source.toolkit.fluxcd.io/app", "tree resource GitRepository/app"),
        ("tree source git", "tree resource GitRepository"),
        ("export ks", "export resource Kustomization --all"),
        ("export ks -A", "export resource Kustomization --all -A"),
        ("export sources git --all", "export resource GitRepository --all"),
        ("wait hr -l team=a", "wait resource HelmRelease -l team=a"),
        ("wait hr", "wait resource HelmRelease --all"),
        ("suspend ks", "suspend resource Kustomization"),
        ("explain source git", "explain GitRepository"),
        ("explain ks.spec.path", "explain ks.spec.path"),
        ("explain ks spec path", "explain ks.spec.path"),
        ("explain source git.spec", "explain GitRepository.spec"),
        ("explain sources gits spec", "explain GitRepository.spec"),
        ("explain instance.spec", "explain instance.spec"),
        ("explain ks/app", "explain ks"),
        ("explain ks/app spec path", "explain ks.spec.path"),
        ("explain source git/app", "explain GitRepository"),
        ("logs image policy app", "logs ImagePolicy/app"),
        ("debug hr app --values", "debug HelmRelease/app --values"),
        ("impact ks/app", "impact Kustomization/app"),
        ("reconcile all ks", "reconcile all ks"),
        ("delete -f flux.yaml", "delete instance -f flux.yaml"),
        ("why -A", "why -A"),
        ("delete fluxinstance/flux --yes", "delete instance flux --yes"),
        ("delete ks app --yes", "delete resource Kustomization/app --yes"),
        ("events ks app -n apps", "events Kustomization/app -n apps"),
        ("events kustomization/podinfo --types Warning", "events Kustomization/podinfo --types Warning"),
        // flux's own words.
        ("get sources git", "get resources GitRepository"),
        ("get source oci app", "get resources OCIRepository/app"),
        ("reconcile source git app", "reconcile resource GitRepository/app"),
        ("suspend image update app", "suspend resource ImageUpdateAutomation/app"),
        ("get images policy", "get resources ImagePolicy"),
        ("get alert-providers", "get resources Provider"),
        ("get alert-provider/slack", "get resources Provider/slack"),
        ("get source git/app hr/web", "get resources GitRepository/app hr/web"),
        ("get all source git app", "get resources GitRepository/app"),
        ("get resources alert-provider slack", "get resources Provider/slack"),
        ("suspend alert-provider,hr a", "suspend resource Provider,hr a"),
        ("suspend alert-provider/a ks/b", "suspend resource Provider/a ks/b"),
        (
            "get sources all",
            "get resources GitRepository,OCIRepository,HelmRepository,HelmChart,Bucket,ExternalArtifact",
        ),
        ("get images all -A", "get resources ImageRepository,ImagePolicy,ImageUpdateAutomation -A"),
        ("get images policies", "get resources ImagePolicy"),
        ("get image repositories", "get resources ImageRepository"),
        ("get Source Git", "get resources GitRepository"),
        ("get source git/app", "get resources GitRepository/app"),
        ("get gitrepos", "get resources GitRepository"),
        // Several objects.
        ("tree ks a b", "tree resource Kustomization/a Kustomization/b"),
        ("tree kustomization a b", "tree resource Kustomization/a Kustomization/b"),
        ("tree ks/a hr/b", "tree resource ks/a hr/b"),
        ("why ks a b", "why Kustomization/a Kustomization/b"),
        ("why instance a b", "why FluxInstance/a FluxInstance/b"),
        ("trace deploy a b", "trace deploy a b"),
        ("events source git a b", "events GitRepository/a GitRepository/b"),
        ("suspend ks,gitrepo podinfo", "suspend resource ks,gitrepo podinfo"),
        ("wait ks,hr", "wait resource ks,hr --all"),
        ("delete --yes resource ks/app", "delete resource ks/app --yes"),
        ("get -A instance", "get instance -A"),
        ("get -wn apps ks", "get resources Kustomization -wn apps"),
        // Singular and plural.
        ("suspend resources ks/app", "suspend resource ks/app"),
        ("wait resources ks/app hr/web", "wait resource ks/app hr/web"),
        ("tree resources ks/app", "tree resource ks/app"),
        ("suspend instances flux", "suspend instance flux"),
        ("get inventories", "get inventories"),
        ("export reports", "export report"),
        ("why resource ks/app", "why Kustomization/app"),
        ("trace resources deploy/app", "trace deploy/app"),
        ("events resource ks app", "events Kustomization/app"),
        // The help of what a line runs.
        ("help get ks", "help get resources"),
        ("help tree ks/app", "help tree kustomization"),
        ("help why ks", "help why"),
        ("help get", "help get"),
        ("help gett", "help gett"),
        // A file is an instance.
        ("apply -f flux.yaml", "apply instance -f flux.yaml"),
        ("apply --plan flux.plan", "apply instance --plan flux.plan"),
        ("apply -f flux.yaml --nope yaml", "apply instance -f flux.yaml --nope yaml"),
        ("plan -f -", "plan instance -f -"),
        ("diff --filename=flux.yaml", "diff instance --filename=flux.yaml"),
        ("apply instance -f flux.yaml", "apply instance -f flux.yaml"),
        // Unknown words are not changed.
        ("get surces", "get surces"),
        ("apply", "apply"),
        ("get", "get"),
        ("trace configmap/web", "trace configmap/web"),
        ("create secret registry x", "create secret registry x"),
        ("gett ks", "gett ks"),
        ("get -- ks", "get -- ks"),
    ];

    #[test]
    fn every_spelling_is_the_same_command() {
        let tree = Cli::command();
        for (typed, meant) in SPELLINGS {
            let words =
                |line: &str| -> Vec<OsString> { format!("flux-operator {line}").split(' ').map(Into::into).collect() };
            assert_eq!(in_order(&words(typed), &tree), words(meant), "{typed}");
        }
    }

    #[test]
    fn every_kind_of_flux_words_is_a_kind() {
        for (one, two, kind) in WORDS_OF_FLUX {
            assert!(kinds::find(kind).is_some(), "{one} {two}: {kind}");
        }
    }
}
