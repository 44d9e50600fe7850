//! `trace KIND/NAME`: shows the manager of an object, and the source of its content.

use anstyle::AnsiColor;
use flux_operator::api::object_words::ObjectWords;
use flux_operator::format::age::short_age;
use flux_operator::inspect::diagnose::marks;
use flux_operator::inspect::read::snapshot::Snapshot;
use flux_operator::inspect::views::trace;
use flux_operator::inspect::views::trace::Trace;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::args::list::{hint_at_namespace, place};
use crate::flows::rights::{FLUX, JUDGES_LISTS, Right, Rights, read_words, when};
use crate::session::read_source::{FromArgs, MissingNames, Source, within};
use crate::terminal::lines::Lines;
use crate::terminal::output_format::{Format, ViewArgs, name_line, structured};
use crate::terminal::{CliError, Exit, Shell};

/// Show what manages an object and where its content comes from
///
/// Works for every kind in the cluster. Follows the owners up to the Flux object that applied the object, and then to
/// the source of that Flux object.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Where a Deployment comes from\n  \
    flux-operator -n apps trace deployment/podinfo\n\n  \
    # The same for a pod, as KIND NAME\n  \
    flux-operator -n apps trace pod podinfo-6c7d9b4f5d-x2x5q\n\n  \
    # Several objects\n  \
    flux-operator -n apps trace deploy/podinfo svc/podinfo\n\n  \
    # Which revision of which repository\n  \
    flux-operator -n apps trace deploy/podinfo \\\n    \
    -o jsonpath='{.steps[-1].originRevision}'")]
pub struct Args {
    /// KIND/NAME…, KIND NAME…, or KIND for all its objects
    #[arg(value_name = "RESOURCE", required = true, add = crate::args::complete::resources())]
    pub resource: Vec<String>,
    #[command(flatten)]
    pub from: FromArgs,
    #[command(flatten)]
    pub view: ViewArgs,
}

/// Rights to read the objects between an object and its source.
const WAY: &[Right] = &[
    when("the object has such an owner or source", "get", FLUX),
    when("the object has such an owner", "get", "deployments replicasets statefulsets daemonsets jobs"),
];

pub fn rights(args: &Args, rights: &mut Rights) -> Result<(), CliError> {
    rights.everywhere(WAY);
    rights.everywhere(JUDGES_LISTS);
    read_words(rights, &args.resource)
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let wanted = ObjectWords::read(&args.resource)?;
    let mut missing_names = MissingNames::of(match &wanted {
        ObjectWords::Kinds(_) => 0,
        ObjectWords::Objects(objects) => objects.len(),
    });
    shell.run(async {
        let source = Source::open(shell, &args.from).await?;
        let mut traces = within(shell, async {
            let mut objects = vec![];
            match &wanted {
                ObjectWords::Kinds(kinds) => {
                    for kind in kinds {
                        objects.extend(all_of(shell, &source, kind).await?);
                    }
                }
                ObjectWords::Objects(named) => {
                    for (kind, name) in named {
                        objects.extend(missing_names.found(source.named_object(shell, kind, name).await)?);
                    }
                }
            }
            let view = |snapshot: &Snapshot| {
                let traces = objects.iter().map(|object| trace::trace(snapshot, object)).collect();
                marks::mark_traces(snapshot, traces, source.now())
            };
            Ok::<Vec<Trace>, CliError>(source.view(shell, view).await?.value)
        })
        .await??;
        if let ObjectWords::Objects(named) = &wanted {
            // A named object has to be managed. A list of a kind may contain others.
            let (managed, others): (Vec<_>, Vec<_>) = traces.into_iter().partition(|trace| trace.managed);
            match others.first() {
                Some(one) if named.len() == 1 => return Err(unmanaged(one)),
                _ => missing_names.add(others.iter().map(unmanaged)),
            }
            traces = managed;
        }
        let whole = match traces.as_slice() {
            [one] if matches!(&wanted, ObjectWords::Objects(named) if named.len() == 1) => {
                structured(one, &args.view.output)?
            }
            all => structured(&json!({"items": all}), &args.view.output)?,
        };
        let text = match (whole, &args.view.output) {
            (Some(whole), _) => whole,
            (None, Format::Name) => {
                traces.iter().flat_map(|trace| &trace.steps).map(|step| name_line(&step.object)).collect()
            }
            (None, _) => {
                let mut lines = Lines::new(shell);
                for (index, trace) in traces.iter().enumerate() {
                    if index > 0 {
                        lines.whole("", None);
                    }
                    text(trace, &mut lines, source.now());
                }
                lines.text()
            }
        };
        shell.print_in_colour(&text);
        missing_names.report(shell, Exit::Done)
    })
}

/// Returns every object of a kind in the namespace.
async fn all_of(shell: &Shell, source: &Source<'_>, kind: &str) -> Result<Vec<Value>, CliError> {
    let resource = source.kind(kind).await?;
    let namespace = source.listed_namespace(false).filter(|_| resource.namespaced);
    let objects = source.objects(shell, &resource, namespace.as_deref()).await?;
    if objects.is_empty() {
        if source.is_not_installed(shell).await {
            return Err(source.not_installed());
        }
        shell.status(&format!("no {} found{}", resource.kind, place(namespace.as_deref())));
        hint_at_namespace(shell, source, namespace.as_deref()).await;
    }
    Ok(objects)
}

fn unmanaged(trace: &Trace) -> CliError {
    let object = lower(&trace.object.to_string());
    CliError::failed(format!("{object} is not managed by Flux"))
        .object(object)
        .hint("it carries no owner label of Flux, and neither does any of its owners")
}

fn lower(reference: &str) -> String {
    match reference.split_once('/') {
        Some((kind, rest)) => format!("{}/{rest}", kind.to_lowercase()),
        None => reference.to_lowercase(),
    }
}

fn text(trace: &Trace, lines: &mut Lines, now: Timestamp) {
    for step in &trace.steps {
        let role = match step.role.as_str() {
            "object" => "Object",
            "source" => "Source",
            "inputs from" => "Inputs from",
            _ => "Managed by",
        };
        let mut line =
            |label: &str, value: &str, style| lines.hanging(&format!("{:<17}", format!("{label}:")), value, style);
        line(role, &step.object.to_string(), None);
        if !step.found {
            line("  Status", "not found", Some(AnsiColor::Red));
            continue;
        }
        if let Some(ready) = &step.ready {
            let since = step.last_reconciled.map(|at| format!(", for {}", short_age(at, now))).unwrap_or_default();
            let style = match ready.as_str() {
                "True" => AnsiColor::Green,
                "False" => AnsiColor::Red,
                _ => AnsiColor::Yellow,
            };
            line("  Ready", &format!("{ready}{since}"), Some(style));
        }
        for (label, value) in [
            ("  Revision", &step.revision),
            ("  Path", &step.path),
            ("  URL", &step.url),
            ("  Origin URL", &step.origin_url),
            ("  Origin revision", &step.origin_revision),
        ] {
            if let Some(value) = value {
                line(label, value, None);
            }
        }
        if !step.message.is_empty() {
            line("  Message", &step.message, None);
        }
    }
}
