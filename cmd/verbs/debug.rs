//! `debug`: the effective values of Helm and substitution, and the status written by the controllers.

use flux_operator::api::kinds::{self, CONFIG_MAP, SECRET};
use flux_operator::api::object_words::ObjectWords;
use flux_operator::api::well_known::DEFAULT_NAMESPACE;
use flux_operator::format::age::short_age;
use flux_operator::format::yaml;
use flux_operator::inspect::views::debug::{
    ResolvedValues, SourceLookup, ValueSource, sources_of_values, sources_of_variables, values, variables,
};
use flux_operator::inspect::views::resource_set::InputSetRow;
use flux_operator::k8s::fields;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::args::objects::unknown_kind;
use crate::flows::inputs::resolved;
use crate::flows::rights::{Rights, SET_INPUTS, read_words, when};
use crate::session::connect::cli_error;
use crate::session::read_source::{FromArgs, Source, within};
use crate::terminal::output_format::{Format, ViewArgs, structured_without_names, without_names};
use crate::terminal::{CliError, Exit, Shell};
use flux_operator::format::harmless::on_one_line;

/// Show effective Helm values, substitution variables and inputs
///
/// Shows the values passed to Helm, the substitution variables or the template inputs, each with its source; or the
/// conditions or the history. Values from Secrets are masked unless --reveal is given.
#[derive(clap::Args, Debug)]
#[command(
    mut_arg("output", |flag| without_names(flag).help("Format: table, wide, json, jsonl, yaml or jsonpath=TEMPLATE")),
    group(clap::ArgGroup::new("what").args(["values", "vars", "inputs", "status", "history"]).required(true)),
    after_help = "Examples:\n  \
    # The values of a release, merged\n  \
    flux-operator -n apps debug hr podinfo --values\n\n  \
    # Where each value comes from\n  \
    flux-operator -n apps debug hr podinfo --values -o wide\n\n  \
    # The variables of a Kustomization, including those from Secrets\n  \
    flux-operator -n apps debug ks podinfo --vars --reveal\n\n  \
    # The input sets of a ResourceSet, and where each comes from\n  \
    flux-operator -n apps debug rset web --inputs\n\n  \
    # Conditions and history\n  \
    flux-operator -n apps debug ks podinfo --status\n  \
    flux-operator -n apps debug hr podinfo --history"
)]
pub struct Args {
    /// HelmRelease, Kustomization, ResourceSet or input provider, as KIND/NAME or KIND NAME
    #[arg(value_name = "RESOURCE", required = true, add = crate::args::complete::resources())]
    pub resource: Vec<String>,
    /// The values of a HelmRelease, merged as passed to Helm
    #[arg(long, alias = "show-values")]
    pub values: bool,
    /// The substitution variables of a Kustomization
    #[arg(long, alias = "show-vars")]
    pub vars: bool,
    /// The input sets of a ResourceSet or a ResourceSetInputProvider
    #[arg(long, alias = "show-inputs")]
    pub inputs: bool,
    /// The conditions
    #[arg(long, alias = "show-status")]
    pub status: bool,
    /// Earlier releases or applied revisions
    #[arg(long, alias = "show-history")]
    pub history: bool,
    /// Show the values that come from Secrets
    #[arg(long)]
    pub reveal: bool,
    #[command(flatten)]
    pub from: FromArgs,
    #[command(flatten)]
    pub view: ViewArgs,
}

pub fn rights(args: &Args, rights: &mut Rights) -> Result<(), CliError> {
    if args.values || args.vars {
        let namespace = rights.namespace_or("default");
        rights.in_namespace(&namespace, &[when("the object takes values from it", "get", "configmaps secrets")]);
    }
    if args.inputs {
        let namespace = rights.namespace_or("default");
        rights.in_namespace(&namespace, SET_INPUTS);
    }
    read_words(rights, &args.resource)
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let (word, name) = match ObjectWords::objects(&args.resource)?.as_slice() {
        [one] => *one,
        several => {
            return Err(CliError::usage(format!("debug shows one object, and these are {}", several.len()))
                .hint("run it once for each"));
        }
    };
    let kind = kinds::find(word).ok_or_else(|| unknown_kind(word))?;
    let fits = match kind.kind {
        "HelmRelease" => args.values || args.status || args.history,
        "Kustomization" => args.vars || args.status || args.history,
        "ResourceSet" => args.inputs || args.status || args.history,
        "ResourceSetInputProvider" => args.inputs || args.status,
        _ => false,
    };
    if !fits {
        let flags = [
            (args.values, "--values"),
            (args.vars, "--vars"),
            (args.inputs, "--inputs"),
            (args.status, "--status"),
            (args.history, "--history"),
        ];
        let flag = flags.iter().find_map(|(is_given, flag)| is_given.then_some(*flag)).unwrap_or_default();
        return Err(CliError::usage(format!("`debug` does not support {flag} for the kind {}", kind.kind)).hint(
            "--values is for a HelmRelease, --vars for a Kustomization, --inputs for a ResourceSet or its provider; these \
             kinds have --status as well, and all but the provider --history",
        ));
    }
    shell.run(async {
        let source = Source::open(shell, &args.from).await?;
        let namespace = source.namespace(DEFAULT_NAMESPACE);
        let object = within(shell, source.object(shell, &kind.resource_type(), namespace.as_deref(), name)).await??;
        if args.status || args.history {
            let pointer = if args.status { "/status/conditions" } else { "/status/history" };
            let items = fields::items(&object, pointer);
            let shown = match structured_without_names(&json!(items), &args.view.output)? {
                Some(text) => text,
                None if args.status => conditions(items, source.now()),
                None => history(items, source.now()),
            };
            let what = if args.status { "conditions" } else { "history" };
            return show(shell, &shown, &format!("{}/{name} has no {what} yet", kind.kind.to_lowercase()));
        }
        if args.inputs {
            let inputs = resolved(shell, &source, &object).await?;
            inputs.warnings.iter().for_each(|warning| shell.warn(warning));
            let shown = match structured_without_names(&json!(inputs.sets), &args.view.output)? {
                Some(text) => text,
                None => input_sets(&inputs.sets)?,
            };
            return show(shell, &shown, &format!("{}/{name} has no inputs", kind.kind.to_lowercase()));
        }
        let wanted = if args.values { sources_of_values(&object) } else { sources_of_variables(&object) };
        let mut found = vec![];
        for one in wanted {
            let object = read(shell, &source, &object, &one).await?;
            found.push((one, object));
        }
        let what = if args.values { "values" } else { "variables" };
        let resolve = if args.values { values } else { variables };
        let reported = resolve(&object, &found, args.reveal).map_err(|e| {
            CliError::failed(format!("cannot determine the {what} of {}/{name}", kind.kind.to_lowercase()))
                .caused_by(&e)
        })?;
        for unknown in &reported.unknown {
            shell.warn(&format!("not shown: values from {unknown}, because the dump does not contain them"));
        }
        let shown = match structured_without_names(&reported, &args.view.output)? {
            Some(text) => text,
            None if args.vars || matches!(args.view.output, Format::Wide) => with_origins(&reported),
            None => yaml::to_string(&reported.values)
                .map_err(|e| CliError::failed("cannot print the values").caused_by(&e))?,
        };
        show(shell, &shown, &format!("{}/{name} has no {what}", kind.kind.to_lowercase()))
    })
}

/// Prints a text, or a message that there is none.
fn show(shell: &Shell, text: &str, nothing: &str) -> Result<Exit, CliError> {
    if text.is_empty() {
        shell.status(nothing);
    }
    shell.print(text);
    Ok(Exit::Done)
}

/// Reads a ConfigMap or Secret with values.
async fn read(
    shell: &Shell,
    source: &Source<'_>,
    object: &Value,
    wanted: &ValueSource,
) -> Result<SourceLookup, CliError> {
    let resource = if wanted.kind == "Secret" { SECRET } else { CONFIG_MAP };
    let namespace = fields::namespace(object);
    match source {
        Source::Dump(snapshot, _) => {
            Ok(snapshot.get(&resource, namespace, &wanted.name).map_or(SourceLookup::Missing, SourceLookup::in_dump))
        }
        Source::Cluster(session) => {
            match within(shell, session.cluster.get(&resource, namespace, &wanted.name)).await? {
                Ok(object) => Ok(SourceLookup::Object(object)),
                Err(error) if error.is_not_found() => Ok(SourceLookup::Missing),
                Err(error) => Err(cli_error(&error)),
            }
        }
    }
}

/// Formats input sets as documents, each with a comment about its place and origin.
fn input_sets(sets: &[InputSetRow]) -> Result<String, CliError> {
    let mut text = String::new();
    for set in sets {
        let origin = set.source.as_ref().map_or_else(|| "a permutation".to_owned(), |source| format!("of {source}"));
        let id = set.id.as_deref().map(|id| format!(", id {id}")).unwrap_or_default();
        text += &format!("---\n# {}\n", on_one_line(&format!("input set {} {origin}{id}", set.index)));
        text += &yaml::to_string(&json!(set.values))
            .map_err(|error| CliError::failed("cannot print the inputs").caused_by(&error))?;
    }
    Ok(text)
}

/// Formats `image.tag: v1  # ConfigMap/values key values.yaml`, a line per value.
fn with_origins(reported: &ResolvedValues) -> String {
    let value = |path: &str| {
        let pointer = path.split('.').fold(String::new(), |pointer, part| format!("{pointer}/{part}"));
        // The name of a variable is a single key, with any characters.
        reported
            .values
            .get(path)
            .or_else(|| reported.values.pointer(&pointer))
            .map(Value::to_string)
            .unwrap_or_default()
    };
    let line = |origin: &flux_operator::inspect::views::debug::ValueOrigin| {
        format!("{}\n", on_one_line(&format!("{}: {}  # {}", origin.path, value(&origin.path), origin.from)))
    };
    reported.origins.iter().map(line).collect()
}

fn conditions(items: &[Value], now: Timestamp) -> String {
    let line = |condition: &Value| {
        let since = fields::time(condition, "/lastTransitionTime").map(|at| short_age(at, now)).unwrap_or_default();
        let text = |pointer| fields::text(condition, pointer);
        let says =
            format!("{}={}  {since}  {}: {}", text("/type"), text("/status"), text("/reason"), text("/message").trim());
        format!("{}\n", on_one_line(&says))
    };
    items.iter().map(line).collect()
}

/// Formats Helm releases, or applied revisions of a Kustomization, newest first.
fn history(items: &[Value], now: Timestamp) -> String {
    let line = |entry: &Value| {
        let text = |pointer| fields::text(entry, pointer);
        // HelmReleases and Kustomizations name these moments differently.
        let at = ["/lastDeployed", "/lastReconciled", "/firstDeployed", "/firstReconciled"];
        let at = at.into_iter().find_map(|pointer| fields::time(entry, pointer));
        let age = at.map(|at| format!("{} ago", short_age(at, now))).unwrap_or_default();
        let what = match fields::some_text(entry, "/chartName") {
            Some(chart) => {
                let number = fields::number(entry, "/version").unwrap_or(0);
                format!("v{number}  {chart}@{}  {}", text("/chartVersion"), text("/status"))
            }
            None => {
                let times = fields::number(entry, "/totalReconciliations").unwrap_or(0);
                format!("{}  {}  {times} times", text("/metadata/revision"), text("/lastReconciledStatus"))
            }
        };
        format!("{}\n", on_one_line(&format!("{what}  {age}")))
    };
    items.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_shown_beside_its_origin() {
        let origin = |path: &str, from: &str| flux_operator::inspect::views::debug::ValueOrigin {
            path: path.into(),
            from: from.into(),
        };
        let reported = ResolvedValues {
            unknown: vec![],
            values: json!({"image": {"tag": "v1"}, "a.b": "x"}),
            origins: vec![origin("image.tag", "spec.values"), origin("a.b", "ConfigMap/c")],
        };
        insta::assert_snapshot!(with_origins(&reported), @r#"
        image.tag: "v1"  # spec.values
        a.b: "x"  # ConfigMap/c
        "#);
    }

    #[test]
    fn releases_and_revisions_are_lines() {
        let now = "2026-01-01T01:00:00Z".parse().unwrap();
        let release = json!({"chartName": "web", "chartVersion": "1.0.0", "version": 3, "status": "deployed", "lastDeployed": "2026-01-01T00:00:00Z"});
        assert_eq!(history(&[release], now), "v3  web@1.0.0  deployed  60m ago\n");
        let applied = json!({"metadata": {"revision": "main@sha1:1"}, "lastReconciledStatus": "HealthCheckFailed", "totalReconciliations": 6, "lastReconciled": "2026-01-01T00:00:00Z"});
        assert_eq!(history(&[applied], now), "main@sha1:1  HealthCheckFailed  6 times  60m ago\n");
    }
}
