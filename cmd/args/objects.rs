//! Positional words that select objects, in every spelling of a kind.

use flux_operator::api::kinds::{self, FluxKind, Suspension};
use flux_operator::api::object_words::{self, ObjectWords};
use flux_operator::api::well_known::INSTANCE_NAME;
use flux_operator::format::nearest::nearest;

use crate::output::hints::Hint;
use crate::output::next_step::word as quoted;
use crate::session::target::{KindAndName, ObjectSelection, instance_kind, resource_set_kind};
use crate::terminal::{CliError, no_file};

/// Selects objects: `KIND/NAME`, repeatable, a kind with names, or all objects of kinds.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct ResourceArgs {
    /// Objects as KIND/NAME, or a KIND followed by names; any case, plural or
    /// short name
    #[arg(required = true, value_name = "KIND/NAME", value_parser = no_file, add = crate::args::complete::resources())]
    pub resources: Vec<String>,
    /// All objects of the given kinds: KIND or KIND,KIND
    #[arg(long)]
    pub all: bool,
    /// Objects of the given kinds with these labels, as in kubectl
    #[arg(short = 'l', long, value_name = "LABELS")]
    pub selector: Option<String>,
    /// Objects of all namespaces; with --all or --selector
    #[arg(short = 'A', long)]
    pub all_namespaces: bool,
}

impl ResourceArgs {
    /// Resolves every word before any request is sent. The kind FluxInstance without a name means the instance `flux`.
    /// So does a line without words, for the verbs that accept such a line.
    ///
    /// # Errors
    /// Usage: an unknown kind (with the nearest known kind), a kind without a name, a name without a kind, names
    /// together with `--all`.
    pub fn resolve(&self) -> Result<ObjectSelection, CliError> {
        if self.all || self.selector.is_some() {
            return self.of_kinds();
        }
        if self.all_namespaces {
            return Err(CliError::usage("-A does not select objects").hint("add --all, or --selector LABELS"));
        }
        self.named().map(ObjectSelection::Objects)
    }

    /// Like [`ResourceArgs::resolve`], for verbs that change nothing: a kind without a name means all of its objects.
    ///
    /// # Errors
    /// As [`ResourceArgs::resolve`].
    pub fn resolve_or_all(&self) -> Result<ObjectSelection, CliError> {
        match ObjectWords::read(&self.resources)? {
            ObjectWords::Kinds(words) if words.iter().any(|word| !is_instance(word)) => self.of_kinds(),
            _ => self.resolve(),
        }
    }

    fn of_kinds(&self) -> Result<ObjectSelection, CliError> {
        let words = match ObjectWords::read(&self.resources)? {
            ObjectWords::Kinds(words) if words.is_empty() => {
                return Err(CliError::usage("--all and --selector need a kind").hint("write kinds: KIND or KIND,KIND"));
            }
            ObjectWords::Kinds(words) => words,
            // As in kubectl, further words may be kinds as well.
            ObjectWords::Objects(_) => self.resources.iter().flat_map(|word| word.split(',')).collect(),
        };
        let mut kinds: Vec<&'static FluxKind> = vec![];
        for word in words {
            if word.contains('/') {
                return Err(CliError::usage(format!(
                    "`{word}` names one object, and --all or --selector asks for many"
                ))
                .hint("write kinds only: KIND or KIND,KIND"));
            }
            let kind = kind(word)?;
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        // The selector is only validated here; the API server gets the text as the user wrote it.
        if let Some(selector) = &self.selector {
            crate::args::list::selector(Some(selector))?;
        }
        Ok(ObjectSelection::Kinds { kinds, selector: self.selector.clone(), all_namespaces: self.all_namespaces })
    }

    fn named(&self) -> Result<Vec<KindAndName>, CliError> {
        let mut all: Vec<KindAndName> = vec![];
        match ObjectWords::read(&self.resources)? {
            // A line without words also matches. Only verbs that then select the instance accept such a line.
            ObjectWords::Kinds(words) if words.iter().all(|word| is_instance(word)) => {
                all.push(KindAndName { kind: instance_kind(), name: INSTANCE_NAME.to_owned() });
            }
            ObjectWords::Kinds(words) => {
                let kinds = words.into_iter().map(kind).collect::<Result<Vec<_>, _>>()?;
                let names: Vec<&str> = kinds.iter().map(|kind| kind.kind).collect();
                let plural = kinds.first().map_or("KIND", |kind| kind.plural);
                return Err(CliError::usage(format!("no name is given for the kind {}", names.join(", ")))
                    .hint(format!("write {plural}/NAME, or add --all")));
            }
            ObjectWords::Objects(objects) => {
                for (word, name) in objects {
                    let named = KindAndName { kind: kind(word)?, name: name.to_owned() };
                    if !all.contains(&named) {
                        all.push(named);
                    }
                }
            }
        }
        Ok(all)
    }
}

/// Makes the argument optional, for verbs that accept other flags instead, or select the instance without it.
pub fn optional(words: clap::Arg) -> clap::Arg {
    words.required(false)
}

/// Whether a word means the kind FluxInstance.
pub fn is_instance(word: &str) -> bool {
    kinds::find(word) == Some(instance_kind())
}

/// Returns the kind for a word.
///
/// # Errors
/// Usage, with the nearest known kind.
pub fn kind(word: &str) -> Result<&'static FluxKind, CliError> {
    kinds::find(word).ok_or_else(|| unknown_kind(word))
}

/// Returns the owner that the words select: `NAME` for the usual kind, `KIND/NAME` or `KIND NAME` for any other kind.
///
/// # Errors
/// Usage, for an unknown kind.
pub fn owner<'a>(words: &'a [String], usual: &'static FluxKind) -> Result<(&'static FluxKind, &'a str), CliError> {
    match words {
        [] => Ok((usual, INSTANCE_NAME)),
        [one] if !one.contains('/') => Ok((usual, one)),
        words => match ObjectWords::objects(words)?.as_slice() {
            [(word, name)] => Ok((kind(word)?, name)),
            _ => {
                Err(CliError::usage(format!("`{}` names several objects", words.join(" "))).hint("write one KIND/NAME"))
            }
        },
    }
}

/// An object of a kind that the operator reconciles; `None` is the default name, or the name in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperatorObject<'a> {
    Instance(Option<&'a str>),
    ResourceSet(Option<&'a str>),
}

impl<'a> OperatorObject<'a> {
    /// Reads `KIND`, `KIND NAME`, `KIND/NAME`, or the name of an instance; no words mean the instance.
    ///
    /// # Errors
    /// Usage, for another kind; `verb` names the command.
    pub fn read(words: &'a [String], verb: &str) -> Result<Self, CliError> {
        if words.first().is_some_and(|word| word == "artifact") {
            return Err(CliError::usage(format!("`{verb}` does not support artifacts"))
                .hint("`flux-operator artifact --help` lists the commands for artifacts, and `flux build artifact` writes an archive"));
        }
        let (word, name) = match (words, ObjectWords::read(words)?) {
            ([], _) => return Ok(OperatorObject::Instance(None)),
            // A single word is the name of an instance, unless it is a kind.
            ([word], ObjectWords::Kinds(_)) if kinds::find_resource_type(word).is_none() => {
                return Ok(OperatorObject::Instance(Some(word)));
            }
            (_, ObjectWords::Kinds(kinds)) => (kinds.first().copied().unwrap_or_default(), None),
            (_, ObjectWords::Objects(objects)) => match objects.as_slice() {
                [(word, name)] => (*word, Some(*name)),
                _ => {
                    return Err(CliError::usage(format!("`{}` names several objects", words.join(" ")))
                        .hint(format!("run `flux-operator {verb}` for one after the other")));
                }
            },
        };
        match (kinds::find(word), kinds::find_resource_type(word)) {
            (Some(kind), _) if kind == instance_kind() => Ok(OperatorObject::Instance(name)),
            (Some(kind), _) if kind == resource_set_kind() => Ok(OperatorObject::ResourceSet(name)),
            (_, Some(other)) => Err(of_another_kind(verb, &other.kind, name)),
            (_, None) => Err(unknown_kind(word)),
        }
    }

    /// Like [`OperatorObject::read`], for an object in a file.
    ///
    /// # Errors
    /// As [`OperatorObject::read`]; also usage, for a name.
    pub fn of_file(words: &'a [String], verb: &str) -> Result<Self, CliError> {
        let object = OperatorObject::read(words, verb)?;
        match object {
            OperatorObject::Instance(Some(name)) | OperatorObject::ResourceSet(Some(name)) => Err(CliError::usage(
                format!("`{name}` cannot be used with -f: the file contains the name of the object"),
            )
            .hint(format!("leave it out: flux-operator {verb} -f FILE, or flux-operator {verb} resourceset -f FILE"))),
            _ => Ok(object),
        }
    }
}

/// Returns the error for a kind without the file of the object.
pub fn no_file_given() -> CliError {
    CliError::usage("the argument --filename <FILE> is missing").hint("give the file with -f; - is standard input")
}

/// The object of a verb that is about an instance.
#[derive(clap::Args, Clone, Debug)]
pub struct InstanceNameArgs {
    /// The instance: NAME, KIND/NAME or KIND NAME [default: flux]
    #[arg(value_name = "INSTANCE", value_parser = no_file, add = crate::args::complete::instances())]
    pub instance: Vec<String>,
}

impl InstanceNameArgs {
    /// Returns the name of the instance.
    ///
    /// # Errors
    /// Usage, for an object of another kind; `verb` names the command.
    pub fn name(&self, verb: &str) -> Result<&str, CliError> {
        match OperatorObject::read(&self.instance, verb)? {
            OperatorObject::Instance(name) => Ok(name.unwrap_or(INSTANCE_NAME)),
            OperatorObject::ResourceSet(name) => Err(of_another_kind(verb, "ResourceSet", name)),
        }
    }
}

/// Returns an error for the first given flag that is only for objects of the other kind.
///
/// # Errors
/// Usage.
pub fn refuse_given(flags: &[(bool, &str)], what_for: &str) -> Result<(), CliError> {
    match flags.iter().find(|(is_given, _)| *is_given) {
        Some((_, flag)) => Err(CliError::usage(format!("{flag} is for {what_for}"))),
        None => Ok(()),
    }
}

/// Verbs that support only the operator's kinds, with the command for a Kustomization; `{}` is its name.
const OF_KUSTOMIZATIONS: &[(&str, &str)] = &[
    ("plan", "flux diff kustomization {} --path DIR"),
    ("build", "flux build kustomization {} --path DIR"),
    ("apply", "flux-operator reconcile kustomization {}"),
];

/// Returns the error for an object of a kind that the verb does not support.
pub fn of_another_kind(verb: &str, kind: &str, name: Option<&str>) -> CliError {
    let error = CliError::usage(format!("`{verb}` does not support {kind}"));
    let template = OF_KUSTOMIZATIONS.iter().find(|(of, _)| *of == verb && kind == "Kustomization");
    match template {
        Some((_, template)) => {
            error.hint(format!("for a Kustomization use `{}`", template.replace("{}", &quoted(name.unwrap_or("NAME")))))
        }
        None => error.hint(format!("`flux-operator {verb} --help` shows what it is for")),
    }
}

/// Returns the error for a word that is not a kind, with the nearest known kind or noun of a verb.
pub fn unknown_kind(word: &str) -> CliError {
    let error = CliError::usage(format!("unknown kind `{word}`"));
    if let Some(other) = kinds::find_resource_type(word) {
        return CliError::usage(format!("{} is not a Flux kind", other.kind))
            .hint(format!("`flux-operator trace {word}/NAME` shows which Flux object manages it"))
            .hint(Hint::Kubectl {
                before: "for kinds that are not of Flux use kubectl, as in ",
                arguments: format!("get {word}"),
                after: "",
            });
    }
    if word == "all" {
        return CliError::usage("`all` is not a kind").hint("to select all objects of a kind, write KIND --all");
    }
    let of_group = object_words::kinds_of_group(word);
    if let Some(first) = of_group.first() {
        return error.hint(format!("say which: {}; for example `flux-operator get {first}`", of_group.join(", ")));
    }
    // In a word of two letters, a wrong letter is half the word, so `nearest` finds nothing for `kz`. It is compared
    // with the short names of kinds instead.
    let short = || {
        let mut names = kinds::FLUX_KINDS.iter().flat_map(|kind| kind.short_names).copied();
        names.find(|name| name.len() == word.len() && strsim::osa_distance(word, name) == 1)
    };
    match nearest(word, kinds::words().chain(NOUNS)).or_else(short) {
        Some(near) => error.hint(format!("did you mean `{}`?", near.to_lowercase())),
        None => {
            let known: Vec<_> = kinds::FLUX_KINDS.iter().map(|k| k.kind).collect();
            error.hint(format!("known kinds: {}", known.join(", ")))
        }
    }
}

/// Words that some verbs accept in place of a kind, so a mistyped word may also be close to one of these.
const NOUNS: [&str; 9] =
    ["all", "components", "history", "inputs", "inventory", "operator", "report", "revision", "suspended"];

/// Refuses a kind without a controller that reports on it, because a wait would never end.
///
/// # Errors
/// Usage.
pub fn must_reconcile(kind: &FluxKind, verb: &str) -> Result<(), CliError> {
    if kind.reconcilable {
        return Ok(());
    }
    Err(CliError::usage(format!("cannot {verb} {}: no controller reconciles this kind, it has no status", kind.plural))
        .hint(format!("a change of a {} takes effect as soon as it is stored", kind.kind)))
}

/// Refuses a kind without a Ready condition.
///
/// # Errors
/// Usage.
pub fn must_report(kind: &FluxKind, verb: &str) -> Result<(), CliError> {
    if kind.has_status {
        return Ok(());
    }
    Err(CliError::usage(format!("cannot {verb} {}: this kind has no status", kind.plural))
        .hint(format!("a change of a {} takes effect as soon as it is stored", kind.kind)))
}

/// Refuses a kind that cannot be suspended: artifacts are written by the controller of another kind.
///
/// # Errors
/// Usage.
pub fn must_suspend(kind: &FluxKind, verb: &str) -> Result<(), CliError> {
    if kind.suspension != Suspension::None {
        return Ok(());
    }
    Err(CliError::usage(format!("cannot {verb} {}: this kind has nothing to suspend", kind.plural))
        .hint(format!("{verb} the object that produces the artifact, an ArtifactGenerator for example")))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_nouns_are_those_of_the_verbs_that_take_objects() {
        let tree = crate::cli::Cli::command();
        let verbs = ["get", "reconcile", "wait", "export", "uninstall"].map(|verb| tree.find_subcommand(verb).unwrap());
        let nouns = verbs.iter().flat_map(|verb| verb.get_subcommands()).map(clap::Command::get_name);
        assert_eq!(nouns.collect::<BTreeSet<_>>(), BTreeSet::from(NOUNS));
    }

    fn resolve(words: &[&str]) -> Result<Vec<String>, CliError> {
        let args =
            ResourceArgs { resources: words.iter().map(|w| (*w).to_owned()).collect(), ..ResourceArgs::default() };
        let ObjectSelection::Objects(named) = args.resolve()? else { panic!("objects are named") };
        Ok(named.iter().map(|n| format!("{}/{}", n.kind.kind, n.name)).collect())
    }

    #[test]
    fn objects_are_named_in_every_usual_way() {
        assert_eq!(resolve(&["ks/a", "GitRepository/b"]).unwrap(), ["Kustomization/a", "GitRepository/b"]);
        assert_eq!(resolve(&["gitrepositories", "a", "b"]).unwrap(), ["GitRepository/a", "GitRepository/b"]);
        assert_eq!(resolve(&["HR/a", "helmreleases/a"]).unwrap(), ["HelmRelease/a"]);
        assert_eq!(resolve(&["ks,gitrepo", "a"]).unwrap(), ["Kustomization/a", "GitRepository/a"]);
        assert_eq!(resolve(&["buckets.source.toolkit.fluxcd.io/a"]).unwrap(), ["Bucket/a"]);
    }

    #[test]
    fn words_that_do_not_name_an_object_are_refused_with_a_hint() {
        for words in [&["gitrepo"][..], &["gitrepo/"], &["/a"], &["a/b/c"], &["gitrpo/a"], &["ks", "hr/a"]] {
            let error = resolve(words).unwrap_err();
            assert_eq!(error.exit(), crate::terminal::Exit::Usage, "{words:?}");
        }
    }

    #[test]
    fn all_objects_of_kinds_are_asked_for_without_names() {
        let args = |words: &[&str], selector: Option<&str>| ResourceArgs {
            resources: words.iter().map(|w| (*w).to_owned()).collect(),
            all: selector.is_none(),
            selector: selector.map(str::to_owned),
            all_namespaces: true,
        };
        let kinds = |wanted: ObjectSelection| wanted.kinds().iter().map(|kind| kind.kind).collect::<Vec<_>>();
        assert_eq!(kinds(args(&["ks,hr", "ks"], None).resolve().unwrap()), ["Kustomization", "HelmRelease"]);
        assert_eq!(kinds(args(&["gitrepo"], Some("team=a")).resolve().unwrap()), ["GitRepository"]);
        for wrong in [args(&["ks/a"], None), args(&["ks", "a"], None), args(&["ks"], Some("a in b"))] {
            assert_eq!(wrong.resolve().unwrap_err().exit(), crate::terminal::Exit::Usage, "{wrong:?}");
        }
        let lonely = ResourceArgs { all: false, ..args(&["ks/a"], None) };
        assert_eq!(lonely.resolve().unwrap_err().exit(), crate::terminal::Exit::Usage);
    }

    #[test]
    fn kinds_without_a_status_cannot_be_reconciled() {
        assert!(must_reconcile(kind("provider").unwrap(), "reconcile").is_err());
        assert!(must_reconcile(kind("ks").unwrap(), "reconcile").is_ok());
    }
}
