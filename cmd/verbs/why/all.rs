//! `why`, `why -A`: everything that is not well, by cause.

use anstyle::AnsiColor;
use flux_operator::api::kinds::FluxKind;
use flux_operator::inspect::diagnose::health::{HealthCounts, HealthVerdict};
use flux_operator::inspect::diagnose::next_step::HasNextSteps;
use flux_operator::inspect::diagnose::why::{CauseGroup, Overview, overview_of};
use flux_operator::k8s::ObjectId;
use jiff::Timestamp;

use super::Args;
use crate::args::list::{no_namespace, place};
use crate::output::affected::affected_kinds;
use crate::output::as_started::as_started;
use crate::output::counted;
use crate::session::health::{VerdictUse, exit_of};
use crate::session::read_source::{Source, within};
use crate::terminal::lines::Lines;
use crate::terminal::output_format::{Format, name_line, structured};
use crate::terminal::{CliError, Exit, Shell};

/// How many of the objects that a cause affects are named.
const NAMED: usize = 3;

/// `only` limits the answer to a kind.
pub fn run(args: &Args, only: Option<&'static FluxKind>, shell: &Shell) -> Result<Exit, CliError> {
    shell.run(async {
        let source = Source::open_to_judge(shell, &args.from).await?;
        let namespace = source.listed_namespace(args.all_namespaces);
        let now = source.now();
        let view = source.view(shell, |snapshot| overview_of(snapshot, namespace.as_deref(), only, now));
        let viewed = within(shell, view).await??;
        if viewed.value.total == 0
            && viewed.refusals.is_empty()
            && let Some(error) = no_namespace(&source, namespace.as_deref()).await
        {
            return Err(error);
        }
        let destination = source.destination();
        let found = viewed.with_warnings(shell).in_words(|step| destination.command(step));
        let text = match structured(&found, &args.view.output)? {
            Some(text) => text,
            None if matches!(args.view.output, Format::Name) => {
                found.causes.iter().map(|group| name_line(&group.cause.object)).collect()
            }
            None => {
                let all = matches!(args.view.output, Format::Wide);
                let mut lines = Lines::new(shell);
                match found.verdict {
                    HealthVerdict::NotInstalled => {
                        lines.hanging("", &format!("No Flux objects found; {}.", source.not_installed_text()), None);
                        lines.whole(&format!("Next: {}", source.install_command()), None);
                    }
                    _ => screen(&mut lines, &found, &place(namespace.as_deref()), all, now),
                }
                lines.text()
            }
        };
        shell.print_in_colour(&text);
        Ok(exit_of(found.verdict, VerdictUse::Judge))
    })
}

/// Counts objects that are neither ready nor failing, with the words of `status`; `in_progress` includes `not_started`.
fn unfinished(in_progress: usize, not_started: usize) -> String {
    let counts = [(in_progress.saturating_sub(not_started), "in progress"), (not_started, "not started")];
    counts.iter().filter(|(count, _)| *count > 0).map(|(count, state)| format!(", {count} {state}")).collect()
}

fn screen(lines: &mut Lines, found: &Overview, place: &str, all: bool, now: Timestamp) {
    let total = found.counts.total;
    let objects = counted(total, "Flux object");
    if found.failing == 0 {
        let (HealthCounts { in_progress, not_started, .. }, style) = (found.counts, Some(AnsiColor::Green));
        let says = match (found.verdict, found.workloads) {
            (HealthVerdict::Unknown, _) => {
                let unread = found.unreadable.join(", ");
                let says = format!("Unknown{place}: you are not allowed to read {unread}.");
                return lines.hanging("", &says, Some(AnsiColor::Yellow));
            }
            _ if not_started > 0 && in_progress == 0 => {
                let have = if not_started == 1 { "has" } else { "have" };
                format!("Nothing is failing{place}; {not_started} of {objects} {have} not reconciled yet.")
            }
            _ if found.in_progress > 0 => {
                format!("Nothing is failing{place}{} (checked {objects}).", unfinished(found.in_progress, not_started))
            }
            (_, 0) => format!("Nothing is failing{place} (checked {objects})."),
            (_, workloads) => {
                let workloads = counted(workloads, "workload");
                format!("Nothing is failing{place} (checked {objects} and {workloads}).")
            }
        };
        return lines.hanging("", &says, style);
    }
    let failing = counted(found.failing, "object");
    let causes = counted(found.causes.len(), "root cause");
    let unfinished = unfinished(found.in_progress, found.counts.not_started);
    lines.hanging("", &format!("{failing} failing{place}, {causes}{unfinished}"), None);
    for (index, group) in found.causes.iter().enumerate() {
        let CauseGroup { cause, kinds, affected } = group;
        lines.whole("", None);
        lines.hanging(
            &format!("{}. ", index + 1),
            &format!("{} ({:?})", cause.summary, cause.reason),
            Some(AnsiColor::Red),
        );
        lines.whole(&format!("   Object: {}", cause.object), None);
        lines.whole("   Evidence:", None);
        lines.evidence("     ", cause, now);
        let counts = affected_kinds(kinds);
        if all {
            lines.hanging("   Affects ", &counts, None);
            for object in affected {
                lines.whole(&format!("     {object}"), None);
            }
        } else {
            lines.hanging("   Affects ", &format!("{counts}: {}", named(affected)), None);
        }
        lines.whole("   Next:", None);
        for command in &cause.next {
            lines.whole(&format!("     {}", command.words()), None);
        }
        lines.whole(&format!("   More: {}", as_started(&format!("flux-operator explain {:?}", cause.reason))), None);
    }
}

fn named(affected: &[ObjectId]) -> String {
    let names: Vec<String> = affected.iter().take(NAMED).map(ToString::to_string).collect();
    match affected.len().saturating_sub(NAMED) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfinished_objects_are_counted_in_the_words_of_status() {
        assert_eq!(unfinished(0, 0), "");
        assert_eq!(unfinished(3, 1), ", 2 in progress, 1 not started");
        assert_eq!(unfinished(1, 1), ", 1 not started");
    }

    #[test]
    fn three_are_named_and_the_others_counted() {
        let ids: Vec<ObjectId> =
            (0..5).map(|n| ObjectId::new("g", "Kustomization", Some("a"), &format!("k{n}"))).collect();
        assert_eq!(named(&ids[..1]), "Kustomization/a/k0");
        assert_eq!(named(&ids), "Kustomization/a/k0, Kustomization/a/k1, Kustomization/a/k2 and 2 more");
    }
}
