//! `trace KIND/NAME`: what manages an object, and where its content comes from.

use std::fmt::Write;

use flux_operator::api::kinds;
use flux_operator::inspect::listing::short_age;
use flux_operator::inspect::trace::{self, Trace};
use flux_operator::k8s::fields;

use crate::common::connect::cli_error;
use crate::common::read_source::{FromArgs, Source, within};
use crate::render::table::clean;
use crate::shell::output::{ViewArgs, structured};
use crate::shell::{CliError, Exit, Shell};

/// Show what manages an object and where its content comes from
///
/// Works for every kind the cluster knows: the way goes up the owners to the
/// Flux object that applied it, and on to its source.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Where a Deployment comes from\n  \
    flux-operator -n apps trace deployment/podinfo\n\n  \
    # The same for a pod, in two words\n  \
    flux-operator -n apps trace pod podinfo-6c7d9b4f5d-x2x5q\n\n  \
    # Which revision of which repository\n  \
    flux-operator -n apps trace deploy/podinfo \\\n    \
    -o jsonpath='{.steps[-1].originRevision}'")]
pub struct Args {
    /// KIND/NAME, or KIND NAME
    #[arg(value_name = "RESOURCE", required = true, num_args = 1..=2, add = crate::common::complete::resources())]
    pub resource: Vec<String>,
    #[command(flatten)]
    pub from: FromArgs,
    #[command(flatten)]
    pub view: ViewArgs,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let (kind, name) = kind_and_name(&args.resource)?;
    shell.run(async {
        let source = Source::open(shell, &args.from).await?;
        let found = within(shell, async {
            let resource = match (kinds::find_resource_type(kind), &source) {
                (Some(resource), _) => resource,
                (None, Source::Cluster(session)) => {
                    session.cluster.find_resource_type(kind).await.map_err(|e| cli_error(&e))?
                }
                (None, Source::Dump(snapshot, _)) => in_dump(snapshot, kind)?,
            };
            let namespace = if resource.namespaced { source.namespace("default") } else { None };
            let object = source.object(shell, &resource, namespace.as_deref(), name).await?;
            source.view(shell, |snapshot| trace::trace(snapshot, &object)).await
        })
        .await??;
        let trace = found.value;
        if !trace.managed {
            return Err(CliError::failed(format!("{} is not managed by Flux", lower(&trace.object.to_string())))
                .object(lower(&trace.object.to_string()))
                .hint("it carries no owner label of Flux, and neither does any of its owners"));
        }
        let text = match structured(&trace, &args.view.output)? {
            Some(text) => text,
            None => text(&trace, source.now()),
        };
        shell.print(&text)?;
        Ok(Exit::Done)
    })
}

fn kind_and_name(words: &[String]) -> Result<(&str, &str), CliError> {
    let usage = || {
        CliError::usage(format!("`{}` does not name an object", words.join(" ")))
            .hint("write KIND/NAME, for example deployment/podinfo")
    };
    match words {
        [one] => one.split_once('/').filter(|(k, n)| !k.is_empty() && !n.is_empty()).ok_or_else(usage),
        [kind, name] if !kind.contains('/') && !name.contains('/') => Ok((kind, name)),
        _ => Err(usage()),
    }
}

/// A kind that no table knows, by the objects a dump has of it.
fn in_dump(
    snapshot: &flux_operator::inspect::read::snapshot::Snapshot,
    word: &str,
) -> Result<kinds::ResourceType, CliError> {
    let found = snapshot.all().find(|o| {
        let kind = fields::kind(o);
        kind.eq_ignore_ascii_case(word) || format!("{kind}s").eq_ignore_ascii_case(word)
    });
    let found = found.ok_or_else(|| CliError::usage(format!("no object of kind `{word}` in the dump")))?;
    Ok(kinds::ResourceType {
        group: fields::group(found).to_owned().into(),
        version: fields::version(found).to_owned().into(),
        kind: fields::kind(found).to_owned().into(),
        plural: format!("{}s", fields::kind(found).to_lowercase()).into(),
        namespaced: fields::namespace(found).is_some(),
    })
}

fn lower(reference: &str) -> String {
    match reference.split_once('/') {
        Some((kind, rest)) => format!("{}/{rest}", kind.to_lowercase()),
        None => reference.to_lowercase(),
    }
}

fn text(trace: &Trace, now: jiff::Timestamp) -> String {
    let mut text = String::new();
    let mut line = |label: &str, value: &str| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{:<16} {}", format!("{label}:"), clean(value));
    };
    for step in &trace.steps {
        let role = match step.role.as_str() {
            "object" => "Object",
            "source" => "Source",
            _ => "Managed by",
        };
        line(role, &step.object.to_string());
        if !step.found {
            line("  Status", "not found");
            continue;
        }
        if let Some(ready) = &step.ready {
            let since = step.last_reconciled.map(|at| format!(", for {}", short_age(at, now))).unwrap_or_default();
            line("  Ready", &format!("{ready}{since}"));
        }
        for (label, value) in [
            ("  Revision", &step.revision),
            ("  Path", &step.path),
            ("  URL", &step.url),
            ("  Origin URL", &step.origin_url),
            ("  Origin revision", &step.origin_revision),
        ] {
            if let Some(value) = value {
                line(label, value);
            }
        }
        if !step.message.is_empty() {
            line("  Message", &step.message);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_named_in_one_word_or_two() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(kind_and_name(&words("deploy/a")).unwrap(), ("deploy", "a"));
        assert_eq!(kind_and_name(&words("deploy a")).unwrap(), ("deploy", "a"));
        for wrong in ["deploy", "deploy/", "/a", "deploy/a b"] {
            assert!(kind_and_name(&words(wrong)).is_err(), "{wrong}");
        }
    }
}
