//! `explain`: what a field is for and what it may hold, without a cluster.

use clap::ValueEnum;
use flux_operator::api::kinds::{self, FluxKind};
use flux_operator::api::{Component, crd};
use flux_operator::distribution::{Distribution, DistributionError};
use flux_operator::format::yaml;
use flux_operator::k8s::crd_fields;
use flux_operator::k8s::crd_fields::{ExplainError, FieldView};
use serde_json::Value;

use crate::shell::{CliError, Exit, Shell, suggest};

/// Columns of the text form, on a terminal and in a pipe alike.
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
    #[arg(value_name = "KIND[.FIELD...]")]
    pub field: String,
    /// Version of the kind [default: the stored one]
    #[arg(long, value_name = "VERSION")]
    pub api_version: Option<String>,
    /// Show the fields of all levels, without their descriptions
    #[arg(long)]
    pub recursive: bool,
    /// Format of the output
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = Format::Text)]
    pub output: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Text,
    Json,
    Yaml,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let (kind, path) = split(&args.field)?;
    // Written as objects have it, group included, or as the version alone.
    let version = args.api_version.as_deref().map(|text| text.rsplit('/').next().unwrap_or(text));
    let view = crd_fields::explain(&definition(kind)?, version, &path).map_err(|error| unknown(&error))?;
    shell.print(&render(&view, args)?)?;
    Ok(Exit::Done)
}

fn render(view: &FieldView, args: &Args) -> Result<String, CliError> {
    let failed = |e: &(dyn std::error::Error + 'static)| CliError::failed("cannot print the explanation").caused_by(e);
    match args.output {
        Format::Text => Ok(view.text(WIDTH, args.recursive)),
        Format::Yaml => yaml::to_string(view).map_err(|e| failed(&e)),
        Format::Json => Ok(format!("{}\n", serde_json::to_string_pretty(view).map_err(|e| failed(&e))?)),
    }
}

/// Splits `kind.field.path`, where the kind itself may have dots: `buckets.source.toolkit.fluxcd.io.spec`.
fn split(text: &str) -> Result<(&'static FluxKind, Vec<&str>), CliError> {
    let steps: Vec<&str> = text.split('.').map(|step| step.trim_end_matches("[]")).collect();
    for length in (1..=steps.len()).rev() {
        let (name, path) = steps.split_at(length);
        if let Some(kind) = kinds::find(&name.join(".")) {
            return Ok((kind, path.to_vec()));
        }
    }
    let word = steps.first().copied().unwrap_or_default();
    let error = CliError::usage(format!("no kind is called {word:?}"));
    Err(match suggest::nearest(word, kinds::words()) {
        Some(near) => error.hint(format!("did you mean {near}?")),
        None => error.hint(format!("kinds are {}", known_kinds())),
    })
}

fn known_kinds() -> String {
    let names: Vec<&str> = kinds::FLUX_KINDS.iter().map(|kind| kind.kind).collect();
    names.join(", ")
}

fn definition(kind: &FluxKind) -> Result<Value, CliError> {
    if kind.kind == "FluxInstance" {
        return Ok(crd::flux_instance());
    }
    let missing = || CliError::failed(format!("this program has no schema of {}", kind.kind));
    let found = flux_definition(kind).map_err(|e| missing().caused_by(&e))?;
    found.ok_or_else(|| missing().hint(format!("ask the cluster: kubectl explain {}.{}", kind.plural, kind.group)))
}

/// Looks a kind up in the newest embedded version of Flux.
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
    Ok(objects.into_iter().find(|object| {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        text("/kind") == Some("CustomResourceDefinition") && text("/metadata/name") == Some(name.as_str())
    }))
}

fn unknown(error: &ExplainError) -> CliError {
    let report = CliError::usage(error.to_string());
    let ExplainError::NoField { name, known, .. } = error else { return report };
    match suggest::nearest(name, known.iter().map(String::as_str)) {
        Some(near) => report.hint(format!("did you mean {near}?")),
        None if known.is_empty() => report.hint("it has no fields"),
        None => report.hint(format!("fields are {}", known.join(", "))),
    }
}
