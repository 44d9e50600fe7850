//! `trace KIND/NAME`: what manages an object, and where its content comes from.

use std::fmt::Write;

use flux_operator::inspect::listing::short_age;
use flux_operator::inspect::trace::{self, Trace};

use crate::common::read_source::{FromArgs, Source, kind_and_name, within};
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
            let object = source.named_object(shell, kind, name).await?;
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
