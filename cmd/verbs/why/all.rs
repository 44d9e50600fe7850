//! `why`, `why -A`: everything that is not well, by cause.

use anstyle::AnsiColor;
use flux_operator::api::kinds::FluxKind;
use flux_operator::inspect::why::{CauseGroup, Overview, overview_of};
use flux_operator::k8s::ObjectId;
use jiff::Timestamp;

use super::Args;
use crate::args::list::{no_namespace, place};
use crate::output::as_started::as_started;
use crate::session::read_source::{Source, within};
use crate::terminal::lines::Lines;
use crate::terminal::output_format::{Format, name_line, structured};
use crate::terminal::{CliError, Exit, Shell};

/// How many of those that a cause takes down are named.
const NAMED: usize = 3;

/// `only` is the kind that was asked for.
pub fn run(args: &Args, only: Option<&'static FluxKind>, shell: &Shell) -> Result<Exit, CliError> {
    shell.run(async {
        let source = Source::open_to_judge(shell, &args.from).await?;
        // The namespace of a context says where one works, not where things go wrong.
        let namespace = shell.global().namespace().filter(|_| !args.all_namespaces).map(str::to_owned);
        let now = source.now();
        let view = source.view(shell, |snapshot| overview_of(snapshot, namespace.as_deref(), only, now));
        // Without the right to read anything, no findings do not mean that all is well.
        let viewed = within(shell, view).await??.unless_blind(|found| found.total == 0)?;
        if viewed.value.total == 0
            && let Some(error) = no_namespace(&source, namespace.as_deref()).await
        {
            return Err(error);
        }
        let whereto = source.whereto();
        let found = viewed.with_warnings(shell).map_steps(|step| whereto.command(&step));
        let text = match structured(&found, &args.view.output)? {
            Some(text) => text,
            None if matches!(args.view.output, Format::Name) => {
                found.causes.iter().map(|group| name_line(&group.cause.object)).collect()
            }
            None => {
                let all = matches!(args.view.output, Format::Wide);
                let mut lines = Lines::new(shell);
                screen(&mut lines, &found, &place(namespace.as_deref()), all, now);
                lines.text()
            }
        };
        shell.print_in_colour(&text);
        Ok(if found.well { Exit::Done } else { Exit::Unhealthy })
    })
}

fn plural(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn screen(lines: &mut Lines, found: &Overview<String>, place: &str, all: bool, now: Timestamp) {
    let on_their_way = match found.in_progress {
        0 => String::new(),
        count => format!(", {count} on their way"),
    };
    if found.well {
        let says = match (found.total, found.workloads) {
            (0, _) => format!("there are no Flux objects{place}"),
            (1, 0) => format!("the one Flux object{place} does not fail{on_their_way}"),
            (total, 0) => format!("none of {total} Flux objects{place} fails{on_their_way}"),
            (total, workloads) => {
                let objects = plural(total, "Flux object", "Flux objects");
                let applied = plural(workloads, "workload", "workloads");
                format!("none of {objects}{place} and of {applied} that Flux applied fails{on_their_way}")
            }
        };
        lines.hanging("", &says, Some(AnsiColor::Green));
        return;
    }
    let failing = plural(found.failing, "object fails", "objects fail");
    let causes = plural(found.causes.len(), "cause", "causes");
    lines.hanging("", &format!("{failing}{place}, {causes}{on_their_way}:"), None);
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
        let counts: Vec<String> = kinds.iter().map(|kind| format!("{} {}", kind.count, kind.kind)).collect();
        let counts = counts.join(", ");
        if all {
            lines.hanging("   Takes down: ", &counts, None);
            for object in affected {
                lines.whole(&format!("     {object}"), None);
            }
        } else {
            lines.hanging("   Takes down: ", &format!("{counts}: {}", named(affected)), None);
        }
        lines.whole("   Next:", None);
        for command in &cause.next {
            lines.whole(&format!("     {command}"), None);
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
    fn three_are_named_and_the_others_counted() {
        let ids: Vec<ObjectId> =
            (0..5).map(|n| ObjectId::new("g", "Kustomization", Some("a"), &format!("k{n}"))).collect();
        assert_eq!(named(&ids[..1]), "Kustomization/a/k0");
        assert_eq!(named(&ids), "Kustomization/a/k0, Kustomization/a/k1, Kustomization/a/k2 and 2 more");
    }
}
