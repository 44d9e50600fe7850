//! `build resourceset`: prints the objects of a ResourceSet.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use flux_operator::api::kinds::INPUT_PROVIDER;
use flux_operator::format::json;
use flux_operator::k8s::ObjectId;
use flux_operator_resourceset::offline::{self, DocumentStream, ManifestFiles, RenderJob, namespace};
use flux_operator_resourceset::{
    BuildErrorKind, BuiltObject, BuiltSet, ExportedInputs, InputName, Limits, Options, ResourceSetError, Warning,
    render,
};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Args, Output, explain};
use crate::session::connect::context_namespace;
use crate::session::manifest_file::read_text;
use crate::session::read_source::{FromArgs, Source};
use crate::terminal::output_format::name_line;
use crate::terminal::{CliError, Exit, Shell, name_of_input};

/// Limit for templates of untrusted authors.
const USUAL_TIMEOUT: Duration = Duration::from_secs(60);
/// Limit for warnings that are printed one by one.
const MOST_WARNINGS: usize = 50;
const HEADINGS: [&str; 4] = ["OBJECT", "STEP", "TEMPLATE", "INPUT SET"];

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Options of a ResourceSet")]
pub struct SetBuildArgs {
    /// File with a list of input sets that replace those of the manifest
    #[arg(value_hint = clap::ValueHint::FilePath, short, long, value_name = "FILE")]
    pub inputs_from: Option<PathBuf>,
    /// File with ResourceSetInputProviders of the type Static
    #[arg(value_hint = clap::ValueHint::FilePath, long, value_name = "FILE")]
    pub inputs_from_provider: Option<PathBuf>,
    /// Use the inputs that the providers in the cluster have exported
    #[arg(long, conflicts_with_all = ["from", "inputs_from_provider"])]
    pub live: bool,
    /// Use the inputs that the providers of a dump have exported: a folder, a
    /// file, or - for stdin
    #[arg(long, value_name = "DIR|FILE|-", conflicts_with = "inputs_from_provider")]
    pub from: Option<PathBuf>,
    /// Print the template and the input set that made each object
    #[arg(long)]
    pub explain: bool,
}

pub fn run(args: &Args, file: &Path, shell: &Shell) -> Result<Exit, CliError> {
    let (manifest, inputs, providers) = shell.run(async {
        let manifest = read_text(file, "the ResourceSet", shell).await?;
        let inputs = read_optional(args.set.inputs_from.as_deref(), "the input sets", shell).await?;
        let providers =
            read_optional(args.set.inputs_from_provider.as_deref(), "the ResourceSetInputProviders", shell).await?;
        Ok((manifest, inputs, providers))
    })?;
    let namespace = match shell.global().namespace() {
        Some(namespace) => namespace.to_owned(),
        None => context_namespace(shell.global()).unwrap_or_else(|| "default".to_owned()),
    };
    let mut files = ManifestFiles {
        manifest: &manifest,
        inputs: inputs.as_deref(),
        providers: providers.as_deref(),
        exported: None,
        namespace: &namespace,
    };
    let exported = match args.set.live || args.set.from.is_some() {
        true => Some(exported(args, file, &files, shell)?),
        false => None,
    };
    files.exported = exported.as_deref();
    let deadline = Instant::now() + shell.global().timeout.map_or(USUAL_TIMEOUT, |timeout| timeout.0);
    let is_late = || Instant::now() > deadline;
    let options = Options {
        limits: Limits { interrupted: Some(&is_late), ..Limits::default() },
        now: Some(Timestamp::now().as_second()),
        random: Some(&random),
    };
    let mut warnings = Vec::new();
    let text = match offline::read(&files, &mut warnings) {
        Ok(job) => built_text(args, file, job, &options, &mut warnings, shell),
        Err(error) => Err(failed(&error, file)),
    };
    let warnings = listed(&warnings);
    if args.strict && text.is_ok() && !warnings.is_empty() {
        let error = warnings.into_iter().fold(CliError::failed(attempted(file)), CliError::cause);
        return Err(error.hint("without --strict these are warnings"));
    }
    // Warnings are printed before an error too, because they often explain it.
    warnings.iter().for_each(|warning| shell.warn(warning));
    shell.print(&text?);
    Ok(Exit::Done)
}

/// Renders the templates. Returns the output.
fn built_text(
    args: &Args,
    file: &Path,
    job: RenderJob,
    options: &Options<'_>,
    warnings: &mut Vec<Warning>,
    shell: &Shell,
) -> Result<String, CliError> {
    let RenderJob { set, inputs } = job;
    let mut render = |receive: &mut dyn FnMut(BuiltObject)| {
        render(&set, &inputs, options, warnings, receive).map_err(|error| failed(&error, file))
    };
    match args.output {
        Output::Yaml if !args.set.explain => {
            let mut stream = DocumentStream::new(&set);
            render(&mut |object| stream.push(&object))?;
            stream.finish().map_err(|error| unwritable(&error))
        }
        Output::Name if !args.set.explain => {
            let mut names = String::new();
            render(&mut |built| names += &name_line(&ObjectId::of(&built.object)))?;
            Ok(names)
        }
        _ => {
            let mut objects = Vec::new();
            render(&mut |object| objects.push(object))?;
            rendered(args, &BuiltSet { set, inputs, objects, warnings: Vec::new() }, shell)
        }
    }
}

fn unwritable(error: &(dyn std::error::Error + 'static)) -> CliError {
    CliError::failed("cannot print the objects").caused_by(error)
}

/// Reads the inputs that the providers in the namespace of the ResourceSet have exported.
fn exported(
    args: &Args,
    file: &Path,
    files: &ManifestFiles<'_>,
    shell: &Shell,
) -> Result<Vec<ExportedInputs>, CliError> {
    let namespace = namespace(files).map_err(|error| failed(&error, file))?;
    let objects = shell.run(async {
        let source = Source::open(shell, &FromArgs { from: args.set.from.clone() }).await?;
        source.objects(shell, &INPUT_PROVIDER, Some(&namespace)).await
    })?;
    let read = objects.iter().map(|object| {
        let unreadable =
            |problem: String| CliError::failed(attempted(file)).cause(format!("{}: {problem}", ObjectId::of(object)));
        ExportedInputs::decode(object).map_err(unreadable)
    });
    read.collect()
}

/// Returns a number below a bound for `randInt`: it is not a secret, so the seed of a hash table is random enough.
fn random(bound: u64) -> u64 {
    RandomState::new().build_hasher().finish() % bound.max(1)
}

async fn read_optional(path: Option<&Path>, content: &'static str, shell: &Shell) -> Result<Option<String>, CliError> {
    match path {
        Some(path) => read_text(path, content, shell).await.map(Some),
        None => Ok(None),
    }
}

fn attempted(filename: &Path) -> String {
    format!("cannot build the ResourceSet of {}", name_of_input(filename))
}

fn failed(error: &ResourceSetError, filename: &Path) -> CliError {
    let exit = match error.kind {
        BuildErrorKind::Manifest
        | BuildErrorKind::InputsFile
        | BuildErrorKind::ProvidersFile
        | BuildErrorKind::Selection => Exit::Usage,
        BuildErrorKind::Combination
        | BuildErrorKind::Template
        | BuildErrorKind::Object
        | BuildErrorKind::DuplicateObject
        | BuildErrorKind::NoObjects => Exit::Failed,
    };
    let failure = CliError::new(exit, attempted(filename)).caused_by(error);
    let Some(place) = &error.place else { return failure };
    let line = match (error.kind, place.line) {
        (BuildErrorKind::Template, Some(line)) => format!(", line {line} of its text"),
        (_, Some(line)) => format!(", line {line} of its output"),
        (_, None) => String::new(),
    };
    let input = place.input.as_ref().map(|input| format!(", {input}")).unwrap_or_default();
    let failure = failure.cause(format!("at {}{line}{input}", place.origin));
    match error.kind {
        BuildErrorKind::Object => failure.hint("put values into quotes: << inputs.value | quote >>"),
        _ => failure,
    }
}

/// Returns the first warnings as text, and the number of further ones.
fn listed(warnings: &[Warning]) -> Vec<String> {
    let shown = warnings.iter().take(MOST_WARNINGS).map(ToString::to_string);
    let rest = warnings.len().saturating_sub(MOST_WARNINGS);
    shown.chain((rest > 0).then(|| format!("and {rest} more warnings"))).collect()
}

/// Formats all objects at once.
fn rendered(args: &Args, built: &BuiltSet, shell: &Shell) -> Result<String, CliError> {
    let as_json = |value: &Value| json::to_string(value).map_err(|error| unwritable(&error));
    match args.output {
        Output::Json if args.set.explain => as_json(&explanation(built)),
        Output::Json => {
            let items: Vec<&Value> = built.objects.iter().map(|built| &built.object).collect();
            as_json(&json!({ "apiVersion": "v1", "kind": "List", "items": items }))
        }
        Output::Yaml | Output::Name | Output::Images => {
            let rows = built.objects.iter().map(|object| {
                let input = built.input(object).map_or_else(|| "<none>".to_owned(), |input| input_cell(&input));
                [
                    ObjectId::of(&object.object).to_string(),
                    built.step(object).unwrap_or("<none>").to_owned(),
                    object.origin.to_string(),
                    input,
                ]
            });
            Ok(explain::drawn(HEADINGS, rows, shell))
        }
    }
}

fn input_cell(input: &InputName) -> String {
    let source = input.source.as_ref().map_or_else(|| "a permutation".to_owned(), ToString::to_string);
    let id = input.id.as_ref().map(|id| format!(", id {id}")).unwrap_or_default();
    format!("{} of {source}{id}", input.index)
}

/// `--explain -o json`.
fn explanation(built: &BuiltSet) -> Value {
    let objects: Vec<Value> = built
        .objects
        .iter()
        .map(|object| {
            let input = built.input(object).map(|input| {
                let source = input
                    .source
                    .map(|source| json!({ "kind": source.kind, "namespace": source.namespace, "name": source.name }));
                json!({ "index": input.index, "id": input.id, "source": source })
            });
            json!({
                "object": ObjectId::of(&object.object).to_string(),
                "step": built.step(object),
                "template": object.origin.to_string(),
                "input": input,
            })
        })
        .collect();
    json!({ "objects": objects })
}
