//! `build instance`: prints the objects of a FluxInstance.

use std::path::Path;

use flux_operator::build::{Build, BuildError, BuildOptions, build};
use flux_operator::distribution::Distribution;
use flux_operator::format::{json, yaml};
use flux_operator::k8s::ObjectId;
use serde_json::{Value, json};

use super::{Args, Output, explain};
use crate::output::hints;
use crate::session::manifest_file::read_instance;
use crate::session::registries::{SourceArgs, is_default_artifact};
use crate::terminal::output_format::name_line;
use crate::terminal::{CliError, Exit, Shell};

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Options of a FluxInstance")]
pub struct InstanceBuildArgs {
    /// Print only the revision: version and digest of the objects
    #[arg(long, conflicts_with = "explain_patches")]
    pub revision: bool,
    /// Print what each patch of the spec matches and changes
    #[arg(long)]
    pub explain_patches: bool,
    #[command(flatten)]
    pub source: SourceArgs,
    /// Accept minor versions that this program does not know
    #[arg(long)]
    pub allow_unknown_minor: bool,
}

pub fn run(args: &Args, file: &Path, shell: &Shell) -> Result<Exit, CliError> {
    let (manifest, distribution) = shell.run(async {
        let manifest = read_instance(file, shell).await?;
        let distribution = distribution(args, manifest.instance.artifact(), shell).await?;
        Ok((manifest, distribution))
    })?;
    let options = BuildOptions { strict: args.strict, allow_unknown_minor: args.instance.allow_unknown_minor };
    let built = build(&manifest.instance, &distribution, &options).map_err(|error| {
        let metadata = &manifest.instance.metadata;
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        failed(&error, &format!("FluxInstance/{}/{}", text(&metadata.namespace), text(&metadata.name)))
    })?;
    for warning in &built.warnings {
        shell.warn(&warning.message);
        if let Some(hint) = &warning.hint {
            shell.hint(hint);
        }
    }
    shell.print(&rendered(args, &built, shell)?);
    Ok(Exit::Done)
}

/// Opens the instance's distribution. If the registry cannot be reached, the embedded distribution replaces the default
/// artifact, because a build writes nothing. It does not replace any other artifact, which may have different content,
/// so a failed pull of that artifact is an error.
async fn distribution(args: &Args, artifact: Option<&str>, shell: &Shell) -> Result<Distribution, CliError> {
    let source = &args.instance.source;
    let named = artifact.filter(|_| source.distribution.is_none());
    let replaceable =
        named.filter(|artifact| is_default_artifact(artifact) && source.verify_key.is_none() && !args.strict);
    let embedded = |artifact: &str, why: &str| {
        shell.warn(&format!("{artifact} cannot be pulled{why}; this is built from the embedded distribution"));
        shell.hint("--strict makes this an error; --distribution selects another source");
        Distribution::embedded()
    };
    match replaceable {
        // A tag must be resolved at the registry, so the cache does not help.
        Some(artifact) if source.offline => Ok(embedded(artifact, " with --offline")),
        Some(artifact) => match source.open(shell, Some(artifact)).await {
            // Only if the registry did not answer. A refusal or a missing tag is an answer.
            Err(error) if error.exit() == Exit::Unreachable => Ok(embedded(artifact, "")),
            opened => opened,
        },
        None => source.open(shell, artifact).await.map_err(|error| match named {
            Some(_) => error.hint("--distribution builds it from elsewhere"),
            None => error,
        }),
    }
}

fn failed(error: &BuildError, object: &str) -> CliError {
    let failure = CliError::failed(format!("cannot build {object}")).caused_by(error).object(object);
    hints::of_build(error).into_iter().fold(failure, CliError::hint)
}

fn rendered(args: &Args, built: &Build, shell: &Shell) -> Result<String, CliError> {
    let unwritable =
        |error: &(dyn std::error::Error + 'static)| CliError::failed("cannot print the objects").caused_by(error);
    let as_json = |value: &Value| json::to_string(value).map_err(|e| unwritable(&e));
    if args.instance.revision {
        let revision = built.revision.to_string();
        return match args.output {
            Output::Json => as_json(&json!({ "revision": revision })),
            Output::Yaml | Output::Name | Output::Images => Ok(revision + "\n"),
        };
    }
    if args.instance.explain_patches {
        return match args.output {
            Output::Json => as_json(&json!(built.patches)),
            Output::Yaml | Output::Name | Output::Images => Ok(explain::table(&built.patches, shell)),
        };
    }
    match args.output {
        Output::Yaml => yaml::document_stream(&built.objects).map_err(|e| unwritable(&e)),
        Output::Json => as_json(&json!({ "apiVersion": "v1", "kind": "List", "items": built.objects })),
        Output::Name => Ok(built.objects.iter().map(|object| name_line(&ObjectId::of(object))).collect()),
        Output::Images => Ok(built.image_references().into_iter().map(|image| image + "\n").collect()),
    }
}
