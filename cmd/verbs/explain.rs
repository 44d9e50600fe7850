//! `explain`: the meaning of fields and of causes, without a cluster.

use std::ffi::OsStr;

use clap::ValueEnum;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use flux_operator::api::kinds::{self, FLUX_KINDS, FluxKind};
use flux_operator::api::object_words::{kinds_of_two_words, strip_any_kind};
use flux_operator::api::{Component, crd};
use flux_operator::distribution::{Distribution, DistributionError};
use flux_operator::format::nearest::nearest;
use flux_operator::k8s::crd_fields::{self, ExplainError, FieldView};
use flux_operator::k8s::fields;
use serde_json::{Value, json};

use crate::args::ObjectFormat;
use crate::args::objects::unknown_kind;
use crate::output::as_started::as_started;
use crate::output::field_text::field_text;
use crate::output::table::terminal_width;
use crate::output::wrap::wrapped;
use crate::terminal::{CliError, Exit, Shell};
use causes::{CAUSES, CauseText, REFUSALS};
use reasons::REASONS;

mod cause_text;
pub mod causes;
mod reasons;

/// Maximum columns of the text form.
const WIDTH: usize = 80;

/// Explain a kind, one of its fields, or a cause of `why`
///
/// Knows FluxInstance, the kinds of the newest Flux inside this program, and every
/// cause that `why` names: its meaning, its origin, its similar causes, and the
/// commands that fix it. `causes` lists the causes, `refusals` the categories of
/// errors. In the path of a field, leave out list indexes and map keys.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # What a FluxInstance consists of\n  \
    flux-operator explain instance.spec\n\n  \
    # One field, with defaults and allowed values\n  \
    flux-operator explain instance.spec.sync.interval\n\n  \
    # All fields of a Flux kind as a tree\n  \
    flux-operator explain kustomization --recursive\n\n  \
    # A cause that `why` named, and the list of all causes\n  \
    flux-operator explain PullSecretMissing\n  \
    flux-operator explain causes\n\n  \
    # An older version of a kind, for a program\n  \
    flux-operator explain helmrelease.spec --api-version v2 -o json")]
pub struct Args {
    /// Kind, and the path of a field in it; or a cause; any case, plural or short name
    ///
    /// KIND/NAME is understood as KIND. `causes` and `refusals` are the lists.
    #[arg(required = true, value_name = "KIND[.FIELD...]|CAUSE", add = ArgValueCompleter::new(paths))]
    pub field: Vec<String>,
    /// Version of the kind [default: the stored one]
    #[arg(long, value_name = "VERSION")]
    pub api_version: Option<String>,
    /// Show the fields of all levels, without their descriptions
    #[arg(long)]
    pub recursive: bool,
    /// Format of the output
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = ExplainFormat::Text)]
    pub output: ExplainFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExplainFormat {
    Text,
    Json,
    Yaml,
}

impl Args {
    /// Joins the words to `KIND.FIELD`: `ks spec path`, `source git.spec`, and `ks/app spec`, where the name has no
    /// effect.
    fn text(&self) -> String {
        let word = |word: &String| word.split_once('/').map_or(word.clone(), |(kind, _)| kind.to_owned());
        let text = strip_any_kind(&self.field).iter().map(word).collect::<Vec<_>>().join(".");
        let steps: Vec<&str> = text.split('.').collect();
        match steps.as_slice() {
            [first, second, path @ ..] => match kinds_of_two_words(first, second).as_slice() {
                [kind] => [&[*kind], path].concat().join("."),
                _ => text,
            },
            _ => text,
        }
    }
}

/// The words that list all causes, and all categories of errors.
const CAUSES_WORD: &str = "causes";
const REFUSALS_WORD: &str = "refusals";

/// Completes kinds and causes, and the fields below a path that is already typed.
fn paths(current: &OsStr) -> Vec<CompletionCandidate> {
    let text = current.to_string_lossy();
    let words: Vec<String> = match text.rsplit_once('.') {
        None => {
            let kinds =
                ["instance".to_owned()].into_iter().chain(FLUX_KINDS.iter().map(|kind| kind.kind.to_lowercase()));
            let lists = [CAUSES_WORD, REFUSALS_WORD].map(str::to_owned);
            kinds.chain(lists).chain(CAUSES.iter().map(|text| text.cause.to_owned())).collect()
        }
        Some((parent, _)) => {
            let view = split(parent).ok().and_then(|(kind, path)| {
                let definition = definition(kind).ok()?;
                crd_fields::explain(&definition, None, &path).ok()
            });
            let fields = view.map(|view| view.field.fields).unwrap_or_default();
            fields.into_iter().map(|field| format!("{parent}.{}", field.name)).collect()
        }
    };
    words.into_iter().filter(|word| word.starts_with(text.as_ref())).map(CompletionCandidate::new).collect()
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let width = if shell.stdout_is_terminal() { WIDTH.min(terminal_width()) } else { WIDTH };
    if let Some(text) = cause_answer(args, width)? {
        shell.print(&text);
        return Ok(Exit::Done);
    }
    let field = args.text();
    let (kind, path) = split(&field)?;
    // Accept the form in objects, including the group, or the version alone.
    let version = args.api_version.as_deref().map(|text| text.rsplit('/').next().unwrap_or(text));
    let view = crd_fields::explain(&definition(kind)?, version, &path).map_err(|error| unknown(&error, kind))?;
    let page = documentation(kind).filter(|_| args.output == ExplainFormat::Text && path.is_empty());
    let page = page.map(|url| format!("\nDOCUMENTATION: {url}\n")).unwrap_or_default();
    shell.print(&format!("{}{page}", render(&view, width, args)?));
    Ok(Exit::Done)
}

/// Returns the page of a Flux kind in its documentation, which has a folder per controller and a page per kind.
fn documentation(kind: &FluxKind) -> Option<String> {
    let controller = kind.group.strip_suffix(".toolkit.fluxcd.io")?;
    Some(format!("https://fluxcd.io/flux/components/{controller}/{}/", kind.plural))
}

/// Returns the text about a cause or a refusal, or the list of them; `None` if the word is neither.
fn cause_answer(args: &Args, width: usize) -> Result<Option<String>, CliError> {
    let format = match args.output {
        ExplainFormat::Text => None,
        ExplainFormat::Yaml => Some(ObjectFormat::Yaml),
        ExplainFormat::Json => Some(ObjectFormat::Json),
    };
    let list = [(CAUSES_WORD, CAUSES), (REFUSALS_WORD, REFUSALS)];
    let list = list.into_iter().find(|(word, _)| word.eq_ignore_ascii_case(&args.text()));
    let text = match (list, causes::find(&args.text())) {
        (Some((word, texts)), _) => {
            let rows: Vec<_> = texts.iter().map(|text| json!({"cause": text.cause, "title": text.title})).collect();
            format.map_or_else(|| Ok(list_text(texts, width)), |format| format.text(&rows, word))?
        }
        (None, Some(text)) => {
            format.map_or_else(|| Ok(cause_text(text, width)), |format| format.text(text, "the explanation"))?
        }
        (None, None) => return Ok(None),
    };
    if args.recursive || args.api_version.is_some() {
        return Err(CliError::usage(format!(
            "--recursive and --api-version apply to fields, but {} is a cause",
            args.text()
        )));
    }
    Ok(Some(text))
}

/// A line for each cause. A name is never cut, so that it can be copied.
fn list_text(texts: &[CauseText], width: usize) -> String {
    let widest = texts.iter().map(|text| text.cause.len()).max().unwrap_or(0);
    let mut lines = String::new();
    for text in texts {
        let room = width.saturating_sub(widest + 2).max(20);
        for (index, line) in wrapped(text.title, room, usize::MAX).iter().enumerate() {
            let cause = if index == 0 { text.cause } else { "" };
            lines.push_str(&format!("{cause:widest$}  {line}\n"));
        }
    }
    lines
}

fn cause_text(text: &CauseText, width: usize) -> String {
    let paragraph = |words: &str| format!("  {}\n", wrapped(words, width - 2, usize::MAX).join("\n  "));
    let title = wrapped(&format!("{}: {}", text.cause, text.title), width, usize::MAX);
    let mut page = format!("{}\n", title.join("\n"));
    for (heading, words) in
        [("MEANING", text.meaning), ("WHY IT HAPPENS", text.origin), ("SIMILAR CAUSES", text.similar)]
    {
        page.push_str(&format!("\n{heading}\n{}", paragraph(words)));
    }
    page.push_str("\nCOMMANDS\n");
    text.commands.iter().for_each(|command| page.push_str(&format!("  {}\n", as_started(command))));
    page
}

fn render(view: &FieldView, width: usize, args: &Args) -> Result<String, CliError> {
    match args.output {
        ExplainFormat::Text => Ok(field_text(view, width, args.recursive)),
        ExplainFormat::Yaml => ObjectFormat::Yaml.text(view, "the explanation"),
        ExplainFormat::Json => ObjectFormat::Json.text(view, "the explanation"),
    }
}

/// Splits `kind.field.path`; the kind itself may contain dots: `buckets.source.toolkit.fluxcd.io.spec`.
fn split(text: &str) -> Result<(&'static FluxKind, Vec<&str>), CliError> {
    let steps: Vec<&str> = text.split('.').map(|step| step.trim_end_matches("[]")).collect();
    for length in (1..=steps.len()).rev() {
        let (name, path) = steps.split_at(length);
        if let Some(kind) = kinds::find(&name.join(".")) {
            return Ok((kind, path.to_vec()));
        }
    }
    let word = steps.first().copied().unwrap_or_default();
    let causes = CAUSES.iter().chain(REFUSALS).chain(REASONS).map(|text| text.cause);
    // Kinds and causes compete for the nearest word, because half of a cause may look like a kind.
    Err(match nearest(word, kinds::words().chain(causes)) {
        Some(near) if causes::find(near).is_some() => {
            CliError::usage(format!("unknown kind or cause `{word}`")).hint(format!("did you mean `{near}`?"))
        }
        _ => unknown_kind(word).hint("`flux-operator explain causes` lists the causes"),
    })
}

/// Returns the custom resource definition of a kind from this program.
pub fn definition(kind: &FluxKind) -> Result<Value, CliError> {
    if let Some(own) = crd::all().into_iter().find(|own| own["spec"]["names"]["kind"] == kind.kind) {
        return Ok(own);
    }
    let missing = || CliError::failed(format!("this program has no schema for {}", kind.kind));
    let found = flux_definition(kind).map_err(|e| missing().caused_by(&e))?;
    found.ok_or_else(|| missing().hint(format!("ask the cluster: kubectl explain {}.{}", kind.plural, kind.group)))
}

/// Returns the definition of a kind in the newest embedded version of Flux.
fn flux_definition(kind: &FluxKind) -> Result<Option<Value>, DistributionError> {
    let distribution = Distribution::embedded();
    let Some(newest) = distribution.versions().pop() else { return Ok(None) };
    let summaries = distribution.crds(&newest)?;
    let Some(summary) = summaries.iter().find(|crd| crd.group == kind.group && crd.kind == kind.kind) else {
        return Ok(None);
    };
    let Ok(component) = summary.component.parse::<Component>() else { return Ok(None) };
    let name = format!("{}.{}", kind.plural, kind.group);
    let objects = distribution.component(&newest, component)?;
    let is_it = |object: &Value| fields::kind(object) == "CustomResourceDefinition" && fields::name(object) == name;
    Ok(objects.into_iter().find(is_it))
}

fn unknown(error: &ExplainError, kind: &FluxKind) -> CliError {
    let report = CliError::usage(error.to_string());
    let ExplainError::NoField { parent, name, known } = error else { return report };
    let failure = match nearest(name, known.iter().map(String::as_str)) {
        Some(near) => return report.hint(format!("did you mean {near}?")),
        None if known.is_empty() => report.hint("it has no fields"),
        None => report.hint(format!("the fields are {}", known.join(", "))),
    };
    if parent != kind.kind {
        return failure;
    }
    // In other verbs the name of an object follows the kind.
    let word = kind.kind.to_lowercase();
    failure.hint(format!(
        "write a field with its path, as in `flux-operator explain {word}.spec`; `flux-operator get {word} {name}` shows an object"
    ))
}
