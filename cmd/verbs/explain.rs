//! `explain`: the meaning and the allowed values of a field, without a cluster.

use std::ffi::OsStr;

use clap::ValueEnum;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use flux_operator::api::kinds::{self, FLUX_KINDS, FluxKind};
use flux_operator::api::{Component, crd};
use flux_operator::distribution::{Distribution, DistributionError};
use flux_operator::format::nearest::nearest;
use flux_operator::k8s::crd_fields::{self, ExplainError, FieldView};
use flux_operator::k8s::fields;
use serde_json::Value;

use crate::args::{ObjectFormat, unknown_kind};
use crate::output::field_text::field_text;
use crate::output::table::terminal_width;
use crate::terminal::{CliError, Exit, Shell};

/// Maximum columns of the text form.
const WIDTH: usize = 80;

/// Explain a kind or one of its fields
///
/// Knows FluxInstance and the kinds of the newest Flux inside this program. Lists
/// and maps need no step of their own in the path.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # What a FluxInstance consists of\n  \
    flux-operator explain instance.spec\n\n  \
    # One field, with defaults and allowed values\n  \
    flux-operator explain instance.spec.sync.interval\n\n  \
    # All fields of a Flux kind as a tree\n  \
    flux-operator explain kustomization --recursive\n\n  \
    # An older version of a kind, for a program\n  \
    flux-operator explain helmrelease.spec --api-version v2 -o json")]
pub struct Args {
    /// Kind, and the path of a field in it; any case, plural or short name
    ///
    /// KIND/NAME means KIND.
    #[arg(value_name = "KIND[.FIELD...]", add = ArgValueCompleter::new(paths))]
    pub field: String,
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

/// Completes kinds, and after a kind the fields of the path.
fn paths(current: &OsStr) -> Vec<CompletionCandidate> {
    let text = current.to_string_lossy();
    let words: Vec<String> = match text.rsplit_once('.') {
        None => {
            ["instance".to_owned()].into_iter().chain(FLUX_KINDS.iter().map(|kind| kind.kind.to_lowercase())).collect()
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
    let (kind, path) = split(&args.field)?;
    // Accept the form in objects, including the group, or the version alone.
    let version = args.api_version.as_deref().map(|text| text.rsplit('/').next().unwrap_or(text));
    let view = crd_fields::explain(&definition(kind)?, version, &path).map_err(|error| unknown(&error, kind))?;
    let width = if shell.stdout_is_terminal() { WIDTH.min(terminal_width()) } else { WIDTH };
    shell.print(&render(&view, width, args)?);
    Ok(Exit::Done)
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
    Err(unknown_kind(word))
}

fn definition(kind: &FluxKind) -> Result<Value, CliError> {
    if let Some(own) = crd::all().into_iter().find(|own| own["spec"]["names"]["kind"] == kind.kind) {
        return Ok(own);
    }
    let missing = || CliError::failed(format!("this program has no schema of {}", kind.kind));
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
    let told = match nearest(name, known.iter().map(String::as_str)) {
        Some(near) => return report.hint(format!("did you mean {near}?")),
        None if known.is_empty() => report.hint("it has no fields"),
        None => report.hint(format!("fields are {}", known.join(", "))),
    };
    if parent != kind.kind {
        return told;
    }
    // Other verbs have the name of an object in this place.
    let word = kind.kind.to_lowercase();
    told.hint(format!(
        "a field is written with its path, as in `flux-operator explain {word}.spec`; `flux-operator get {word} {name}` shows an object"
    ))
}
