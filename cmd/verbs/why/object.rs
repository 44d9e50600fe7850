//! `why KIND/NAME…`: from an object to the first real cause.

use anstyle::AnsiColor;
use flux_operator::inspect::diagnose::next_step::HasNextSteps;
use flux_operator::inspect::diagnose::why::{Why, why};
use jiff::Timestamp;
use serde_json::json;

use super::Args;
use crate::output::as_started::as_started;
use crate::output::next_step::Destination;
use crate::session::health::{VerdictUse, exit_of};
use crate::session::read_source::{MissingNames, PartialView, Source, warn_of_refusals, within};
use crate::terminal::lines::Lines;
use crate::terminal::output_format::{Format, name_line, structured};
use crate::terminal::{CliError, Exit, Shell};

/// `objects` are kinds and names.
pub fn run(args: &Args, objects: &[(&str, &str)], shell: &Shell) -> Result<Exit, CliError> {
    if args.all_namespaces {
        return Err(CliError::usage("-A does not name an object").hint("leave -A out, or KIND/NAME"));
    }
    shell.run(async {
        let source = Source::open_to_judge(shell, &args.from).await?;
        let now = source.now();
        let mut missing_names = MissingNames::of(objects.len());
        let answers = within(shell, async {
            let mut answers: Vec<PartialView<_>> = vec![];
            for (kind, name) in objects {
                let Some(object) = missing_names.found(source.named_object(shell, kind, name).await)? else { continue };
                answers.push(source.view(shell, |snapshot| why(snapshot, &object, now)).await?);
            }
            Ok::<_, CliError>(answers)
        })
        .await??;
        let is_one = objects.len() == 1;
        let exit = answer(shell, &args.view.output, answers, is_one, now, &source.destination())?;
        missing_names.report(shell, exit)
    })
}

/// Shows the explanation of each object; as a list unless a single object was named.
pub fn answer(
    shell: &Shell,
    output: &Format,
    answers: Vec<PartialView<Why>>,
    is_one: bool,
    now: Timestamp,
    destination: &Destination,
) -> Result<Exit, CliError> {
    warn_of_refusals(shell, answers.iter().flat_map(|viewed| &viewed.refusals));
    let found = answers.into_iter().map(|viewed| viewed.value.in_words(|step| destination.command(step)));
    let found: Vec<Why> = found.collect();
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
    // The worst verdict decides the exit code.
    let verdict = found.iter().map(|why| why.verdict).max().unwrap_or_default();
    Ok(exit_of(verdict, VerdictUse::Judge))
}

fn screen(shell: &Shell, why: &Why, now: Timestamp) -> String {
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
        lines.whole(&format!("  {}", command.words()), None);
    }
    lines.whole(&format!("More: {}", as_started(&format!("flux-operator explain {:?}", cause.reason))), None);
    lines.text()
}
