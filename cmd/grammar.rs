//! One grammar for every verb that takes objects: `VERB KIND NAME…`, `VERB KIND/NAME…` and `VERB KIND`, in any spelling of a
//! kind and in flux's own words, whatever the noun of the command tree is.
//!
//! The words of the command line are brought into the order of the command tree before it is read; a word that is not
//! understood stays where it is, and the command tree says what it thinks of it.

use std::ffi::OsString;

use clap::Command;
use flux_operator::api::kinds::{self, FluxKind};

/// What a verb makes of a Flux kind that is none of its own nouns.
enum Nouns {
    /// The noun that takes any kind, and then the kind itself.
    Any(&'static str),
    /// Only what is a noun itself.
    Own,
    /// The verb takes the object itself, as `KIND/NAME`.
    Object,
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
    ("explain", Nouns::Object),
    ("logs", Nouns::Object),
    ("debug", Nouns::Object),
    ("impact", Nouns::Object),
];
/// The verbs that mean every object of a kind that stands alone; a verb that changes something wants `--all` for that.
const TAKES_ALL: [&str; 2] = ["wait", "export"];
const ALL: [&str; 3] = ["--all", "-l", "--selector"];

/// The two words that flux has for a kind, and the kind.
const WORDS_OF_FLUX: [(&str, &str, &str); 14] = [
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
    ("alert", "provider", "Provider"),
    ("alert-provider", "", "Provider"),
    ("alert-providers", "", "Provider"),
    ("alerts", "", "Alert"),
];

/// `resume --overdue`.
const OVERDUE: &str = "--overdue";
/// The noun of FluxInstances in the command tree.
const INSTANCE: &str = "instance";

/// Returns the arguments, the program's own name first, in the order of the command tree.
pub fn in_order(arguments: &[OsString], tree: &Command) -> Vec<OsString> {
    let arguments = with_counted_verbosity(arguments);
    ordered(&arguments, tree).unwrap_or(arguments)
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
    if let Some(flag) = arguments.iter().position(|argument| argument == OVERDUE).filter(|_| word == "resume") {
        // A flag that stands for objects is a noun.
        let mut ordered = arguments.to_vec();
        ordered.remove(flag);
        ordered.insert(first + 1 - usize::from(flag < first), OVERDUE.trim_start_matches('-').into());
        return Some(ordered);
    }
    let (_, nouns) = VERBS.iter().find(|(verb, _)| *verb == word)?;
    let (verb, positions) = verb_and_words(arguments, tree, first)?;
    let words: Vec<&str> = positions.iter().filter_map(|position| arguments.get(*position)?.to_str()).collect();
    let replaced = match words.split_first() {
        None if !matches!(nouns, Nouns::Object) => nothing_but_a_file(arguments, verb)?,
        None => return None,
        // What has been said already in the tree's own words.
        Some((noun, names)) if verb.get_subcommands().any(|command| is_called(command, noun)) => {
            let singular = noun.strip_suffix('s').filter(|_| *noun == "resources" && !names.is_empty())?;
            let own = verb.get_subcommands().find(|command| command.get_name() == singular)?;
            [&[own.get_name().to_owned()], names.iter().map(ToString::to_string).collect::<Vec<_>>().as_slice()]
                .concat()
        }
        Some(_) => object_words(&words, nouns, verb)?,
    };
    // The words of the objects follow the verb, the flags follow them.
    let is_kind_alone =
        matches!(replaced.as_slice(), [noun, kind] if Nouns::is(nouns, noun) && kinds::find(kind).is_some());
    let mut ordered: Vec<OsString> = arguments.get(..=first)?.to_vec();
    ordered.extend(replaced.into_iter().map(OsString::from));
    let says_which = |argument: &OsString| {
        let text = argument.to_string_lossy();
        ALL.iter().any(|flag| {
            text == *flag || text.starts_with(&format!("{flag}=")) || (flag.len() == 2 && text.starts_with(flag))
        })
    };
    if is_kind_alone && TAKES_ALL.contains(&word) && !arguments.iter().any(says_which) {
        ordered.push("--all".into());
    }
    let rest = arguments.iter().enumerate().skip(first + 1).filter(|(index, _)| !positions.contains(index));
    ordered.extend(rest.map(|(_, argument)| argument.clone()));
    Some(ordered)
}

/// The command of the verb at `first`, and the positions of the words after it.
fn verb_and_words<'a>(arguments: &[OsString], tree: &'a Command, first: usize) -> Option<(&'a Command, Vec<usize>)> {
    let word = arguments.get(first)?.to_str()?;
    let verb = tree.get_subcommands().find(|command| is_called(command, word))?;
    // Flags may stand before their noun: those of every noun are looked for.
    let known: Vec<&Command> = [tree, verb].into_iter().chain(verb.get_subcommands()).collect();
    let mut positions = vec![];
    let mut at = first + 1;
    while let Some(position) = positional(arguments, at, &known) {
        positions.push(position);
        at = position + 1;
    }
    Some((verb, positions))
}

/// What a line leaves out: the verb, its noun, and the word that stands where the noun would (`ks/app` of `get ks/app`).
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
            || (text.starts_with("-f") && !text.starts_with("--"))
    };
    arguments.iter().any(names_file).then(|| vec![INSTANCE.to_owned()])
}

/// Brings the words of objects into the order of the verb; `None` when they name no kind.
fn object_words(words: &[&str], nouns: &Nouns, verb: &Command) -> Option<Vec<String>> {
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
    let as_written = |words: &[&str]| Names::Many(words.iter().map(ToString::to_string).collect());
    if let Some((kind, name)) = first.split_once('/') {
        let kind = kinds::find(kind)?;
        return Some((kind, if rest.is_empty() { Names::One(name.to_owned()) } else { as_written(words) }));
    }
    if let Some((kind, _)) = first.split_once(',') {
        return Some((kinds::find(kind)?, as_written(words)));
    }
    let (kind, rest) = match kinds::find(first) {
        Some(kind) => (kind, rest),
        None => kind_of_flux(first, rest)?,
    };
    let names = match rest {
        [] => Names::None,
        [name] => Names::One((*name).to_owned()),
        names => Names::Many(names.iter().map(|name| format!("{}/{name}", kind.kind)).collect()),
    };
    Some((kind, names))
}

/// `source git`, `sources git`, `image policy`; and what follows.
fn kind_of_flux<'a>(first: &str, rest: &'a [&'a str]) -> Option<(&'static FluxKind, &'a [&'a str])> {
    let singular = first.strip_suffix('s').unwrap_or(first);
    WORDS_OF_FLUX.iter().find_map(|(one, two, kind)| {
        let rest = match (two.is_empty(), rest.split_first()) {
            (true, _) if *one == first => rest,
            (false, Some((second, rest))) if *one == singular && *two == second.trim_end_matches('s') => rest,
            _ => return None,
        };
        Some((kinds::find(kind)?, rest))
    })
}

fn is_called(command: &Command, word: &str) -> bool {
    command.get_name() == word || command.get_all_aliases().any(|alias| alias == word)
}

/// The position of the command's first word: the program's own name and flags come before it.
pub fn first_word(arguments: &[OsString], tree: &Command) -> Option<usize> {
    positional(arguments, 1, &[tree])
}

/// The position of the next word, from `at` on, that is neither a flag nor its value.
fn positional(arguments: &[OsString], mut at: usize, known: &[&Command]) -> Option<usize> {
    loop {
        let text = arguments.get(at)?.to_str()?;
        match text {
            "--" => return None,
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
    let is_it = |argument: &&clap::Arg| match flag.strip_prefix("--") {
        Some(long) => {
            argument.get_long() == Some(long) || argument.get_all_aliases().is_some_and(|all| all.contains(&long))
        }
        // The last of `-An` decides; in `-nflux` the value follows at once.
        None => flag.chars().nth(1) == argument.get_short() && flag.chars().count() == 2,
    };
    let argument = known.iter().flat_map(|command| command.get_arguments()).find(is_it);
    argument.is_some_and(|argument| argument.get_action().takes_values() && !argument.is_require_equals_set())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    /// What people type, and what it means in the words of the command tree.
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
        ("explain instance.spec", "explain instance.spec"),
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
        // A file is an instance.
        ("apply -f flux.yaml", "apply instance -f flux.yaml"),
        ("apply --plan flux.plan", "apply instance --plan flux.plan"),
        ("plan -f -", "plan instance -f -"),
        ("diff --filename=flux.yaml", "diff instance --filename=flux.yaml"),
        ("apply instance -f flux.yaml", "apply instance -f flux.yaml"),
        // What is not understood stays as it is.
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
