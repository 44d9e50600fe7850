//! `why instance`: one screen from the instance to the first real cause.

use anstyle::AnsiColor;
use flux_operator::inspect::diagnose::why::{Why, why};
use jiff::Timestamp;
use serde_json::json;

use crate::output::as_started::as_started;
use crate::output::next_step::Whereto;
use crate::session::health::{VerdictUse, exit_of};
use crate::session::read_source::{FromArgs, Source, Viewed, instance_type, warn_of_refusals, within};
use crate::terminal::lines::Lines;
use crate::terminal::output_format::{Format, ViewArgs, name_line, structured};
use crate::terminal::{CliError, Exit, Shell};

/// Explain why an instance is not ready
///
/// Walks from the instance to its components, pods, events, logs, source and
/// secrets, stops at the first real cause, and says what to run next. Ends with 7
/// when the instance fails, and with 0 when it is ready, in progress or suspended.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # What is wrong, and what to do\n  \
    flux-operator why instance\n\n  \
    # The cause as one word, for scripts\n  \
    flux-operator why instance -o jsonpath='{.cause.reason}'\n\n  \
    # From a dump somebody sent\n  \
    flux-operator why instance --from ./dump")]
pub struct Args {
    /// Name of the instance
    #[arg(default_value = "flux", add = crate::args::complete::instances())]
    pub name: String,
    #[command(flatten)]
    pub from: FromArgs,
    #[command(flatten)]
    pub view: ViewArgs,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    shell.run(async {
        let source = Source::open_to_judge(shell, &args.from).await?;
        let namespace = source.instance_namespace();
        let now = source.now();
        let viewed = within(shell, async {
            let instance = source.object(shell, &instance_type(), Some(&namespace), &args.name).await?;
            source.view(shell, |snapshot| why(snapshot, &instance, now)).await
        })
        .await??;
        answer(shell, &args.view.output, vec![viewed], true, now, &source.whereto())
    })
}

/// Shows what explains each object; as a list, unless one object was asked for.
pub fn answer(
    shell: &Shell,
    output: &Format,
    answers: Vec<Viewed<Why>>,
    is_one: bool,
    now: Timestamp,
    whereto: &Whereto,
) -> Result<Exit, CliError> {
    warn_of_refusals(shell, answers.iter().flat_map(|viewed| &viewed.refusals));
    let found = answers.into_iter().map(|viewed| viewed.value.map_steps(|step| whereto.command(&step)));
    let found: Vec<Why<String>> = found.collect();
    let whole = match found.as_slice() {
        [one] if is_one => structured(one, output)?,
        all => structured(&json!({"items": all}), output)?,
    };
    let text = match whole {
        Some(text) => text,
        None if matches!(output, Format::Name) => {
            found.iter().map(|why| name_line(why.cause.as_ref().map_or(&why.object, |cause| &cause.object))).collect()
        }
        None => found.iter().map(|why| screen(shell, why, now)).collect::<Vec<_>>().join("\n"),
    };
    shell.print_in_colour(&text);
    // The worst of them decides.
    let verdict = found.iter().map(|why| why.verdict).max().unwrap_or_default();
    Ok(exit_of(verdict, VerdictUse::Judge))
}

fn screen(shell: &Shell, why: &Why<String>, now: Timestamp) -> String {
    let mut lines = Lines::new(shell);
    for step in &why.walk {
        let (mark, style) = match step.ok {
            Some(true) => ("✔ ", None),
            Some(false) => ("✗ ", Some(AnsiColor::Red)),
            None => ("• ", None),
        };
        lines.hanging(mark, &format!("{}  {}", step.object, step.says), style);
    }
    let Some(cause) = &why.cause else {
        lines.hanging("", &format!("{} is ready", why.object), Some(AnsiColor::Green));
        return lines.text();
    };
    lines.whole("", None);
    lines.hanging("Cause: ", &format!("{} ({:?})", cause.summary, cause.reason), Some(AnsiColor::Red));
    lines.whole(&format!("Object: {}", cause.object), None);
    lines.whole("Evidence:", None);
    lines.evidence("  ", cause, now);
    lines.whole("Next:", None);
    for command in &cause.next {
        lines.whole(&format!("  {command}"), None);
    }
    lines.whole(&format!("More: {}", as_started(&format!("flux-operator explain {:?}", cause.reason))), None);
    lines.text()
}
