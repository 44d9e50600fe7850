//! `status`: the first command of the day.

use flux_operator::api::kinds::{DEPLOYMENT, FLUX_KINDS, POD};
use flux_operator::distribution::Distribution;
use flux_operator::format::age::short_age;
use flux_operator::inspect::resources::ResourceRow;
use flux_operator::inspect::status::{KindCounts, StatusView, status};
use jiff::Timestamp;

use crate::args::list::no_namespace;
use crate::flows::rights::{KIND, LOOKS_AT_OPERATOR, OVERVIEW, Rights, always};
use crate::output::screen::Screen;
use crate::output::table::{short_revision, terminal_width};
use crate::session::read_source::{FromArgs, Source, Viewed, within};
use crate::session::watch::Changes;
use crate::terminal::output_format::{Format, ViewArgs, structured};
use crate::terminal::{CliError, Exit, Shell};

/// Show the whole installation on one screen
///
/// Versions, operator, instance, controllers, sync, Flux objects by kind and the
/// oldest failures, with the command to run next. Ends with 0 when all is well and
/// with 7 when something is not.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # The first look of the day\n  \
    flux-operator status\n\n  \
    # Until Ctrl-C, drawn anew whenever something changes\n  \
    flux-operator status --watch\n\n  \
    # Whether all is well, for scripts\n  \
    flux-operator status -o jsonpath='{.well}'\n\n  \
    # From a dump somebody sent\n  \
    flux-operator status --from ./dump")]
pub struct Args {
    #[command(flatten)]
    pub from: FromArgs,
    #[command(flatten)]
    pub view: ViewArgs,
    /// Go on and show every change
    #[arg(short, long)]
    pub watch: bool,
}

const CLIENT: &str = env!("CARGO_PKG_VERSION");
/// Cells of a bar, where there is room, and what is too few to say anything.
const BAR: usize = 16;
const LEAST_BAR: usize = 4;

pub fn rights(args: &Args, rights: &mut Rights) {
    let namespace = rights.flux_namespace();
    rights.everywhere(OVERVIEW);
    rights.in_namespace(&namespace, LOOKS_AT_OPERATOR);
    rights.flux_kinds(None, |kind| !["FluxInstance", "FluxReport"].contains(&kind.kind), &[always("list", KIND)]);
    if args.watch {
        rights.flux_kinds(None, |_| true, &[always("list watch", KIND)]);
    }
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    shell.run(async {
        let source = Source::open_to_judge(shell, &args.from).await?;
        if !args.watch {
            let view = look(shell, &source).await?.with_warnings(shell);
            if view.instance.is_none()
                && let Some(error) = no_namespace(&source, Some(&source.instance_namespace())).await
            {
                return Err(error);
            }
            shell.print_in_colour(&text(&view, args, shell, source.now())?);
            return Ok(exit(&view));
        }
        let kinds: Vec<_> = FLUX_KINDS.iter().map(|kind| kind.resource_type()).chain([DEPLOYMENT, POD]).collect();
        let mut changes = Changes::of(&source, &kinds, None)?;
        shell.interruption().looks_on();
        let mut shown: Option<String> = None;
        loop {
            let viewed = look(shell, &source).await?;
            // Said once: what may not be read does not change.
            let view = if shown.is_none() { viewed.with_warnings(shell) } else { viewed.value };
            let text = text(&view, args, shell, source.now())?;
            if shell.can_redraw() {
                shell.redraw(&text);
            } else if shown.as_ref() != Some(&text) {
                shell.print_in_colour(&text);
            }
            shown = Some(text);
            if !changes.next(shell).await? {
                return Ok(exit(&view));
            }
        }
    })
}

fn exit(view: &StatusView<String>) -> Exit {
    if view.well { Exit::Done } else { Exit::Unhealthy }
}

async fn look(shell: &Shell, source: &Source<'_>) -> Result<Viewed<StatusView<String>>, CliError> {
    let namespace = source.instance_namespace();
    let known: Vec<String> = Distribution::embedded().versions().into_iter().map(|version| version.name).collect();
    let now = source.now();
    let view = source.view(shell, |snapshot| status(snapshot, &namespace, CLIENT, &known, now));
    let viewed = within(shell, view).await??;
    let whereto = source.whereto();
    let value = viewed.value.map_steps(|step| whereto.command(&step));
    Ok(Viewed { value, refusals: viewed.refusals })
}

fn text(view: &StatusView<String>, args: &Args, shell: &Shell, now: Timestamp) -> Result<String, CliError> {
    Ok(match structured(view, &args.view.output)? {
        Some(text) => text,
        None if matches!(args.view.output, Format::Name) => {
            view.instance.iter().map(|row| format!("fluxinstance.fluxcd.controlplane.io/{}\n", row.name)).collect()
        }
        None => {
            let width = shell.stdout_is_terminal().then(terminal_width);
            screen(view, Screen::new(width, shell.stdout_color()), now)
        }
    })
}

fn screen(view: &StatusView<String>, mut screen: Screen, now: Timestamp) -> String {
    let versions = &view.versions;
    let known = |version: &Option<String>| version.clone().unwrap_or_else(|| "-".into());
    let allowed = match (&versions.range, &versions.newest_allowed) {
        (Some(range), Some(newest)) => format!(" ({range}, newest allowed {newest})"),
        (Some(range), None) => format!(" ({range})"),
        _ => String::new(),
    };
    screen.line("Flux", &format!("{}{allowed}", known(&versions.distribution)));
    screen.line("Kubernetes", &known(&versions.kubernetes));
    let operator = versions.operator.as_ref().map(|version| format!("{version}, ")).unwrap_or_default();
    screen.marked("Operator", operator_is_fine(view), &format!("{operator}{}", view.operator.message));
    match &view.instance {
        None => screen.marked("Instance", Some(false), "there is none in this namespace"),
        Some(row) => {
            let says = format!("{}/{}  {}", row.namespace, row.name, row.says(now));
            screen.marked("Instance", Some(row.ready == "True"), &says);
        }
    }
    for controller in &view.controllers {
        let why = controller.message.as_ref().map(|message| format!("  {message}")).unwrap_or_default();
        let says = format!("{} {}/{}{why}", controller.name, controller.ready_pods, controller.desired_pods);
        screen.marked("Controllers", Some(controller.message.is_none()), &says);
    }
    for row in &view.sync {
        let revision =
            row.revision.as_deref().map(|revision| format!("  {}", short_revision(revision))).unwrap_or_default();
        let message = match row.ready.as_str() {
            "True" => String::new(),
            "Suspended" => format!("  suspended: {}", row.message),
            _ => format!("  {}", row.message),
        };
        screen.marked("Sync", Some(row.ready == "True"), &format!("{}/{}{revision}{message}", row.kind, row.name));
    }
    let longest = view.kinds.iter().map(|counts| counts.kind.len()).max().unwrap_or_default();
    let beside = longest + 4 + view.kinds.iter().map(|counts| told(counts).len()).max().unwrap_or_default();
    let cells = screen.room().map_or(BAR, |room| room.saturating_sub(beside).min(BAR));
    for counts in &view.kinds {
        let bar = if cells < LEAST_BAR { String::new() } else { format!("{}  ", bar(counts, cells)) };
        let head = format!("{:longest$}  {bar}", counts.kind);
        screen.headed("Objects", Some(counts.failing == 0), &head, &told(counts));
    }
    if !view.failures.is_empty() {
        let total: usize = view.kinds.iter().map(|counts| counts.total).sum();
        screen.line("Failing", &format!("{} of {total}, for the longest:", view.failing));
        for row in &view.failures {
            screen.marked("Failing", Some(false), &failure(row, now));
        }
    }
    if let Some(next) = &view.next {
        screen.command("Next", next);
    }
    screen.text()
}

/// Returns `None` without an operator, which is fine: terminals and pipelines can reconcile an instance too.
fn operator_is_fine(view: &StatusView<String>) -> Option<bool> {
    match view.operator.state {
        "Running" => Some(true),
        "Stopped" | "Silent" => Some(false),
        _ => None,
    }
}

fn failure(row: &ResourceRow, now: Timestamp) -> String {
    let since = row.last_reconciled.map(|at| format!(", {}", short_age(at, now))).unwrap_or_default();
    format!("{}/{}/{}{since}: {} ({})", row.kind, row.namespace, row.name, row.message, row.reason)
}

/// How much of a kind is ready: every object that is not leaves a gap.
fn bar(counts: &KindCounts, cells: usize) -> String {
    let share = counts.ready * cells / counts.total.max(1);
    let full = if counts.ready == counts.total { cells } else { share.min(cells.saturating_sub(1)) };
    format!("{}{}", "█".repeat(full), "░".repeat(cells - full))
}

fn told(counts: &KindCounts) -> String {
    let waiting = counts.total.saturating_sub(counts.ready + counts.failing + counts.suspended);
    let words =
        [(counts.ready, "ready"), (counts.failing, "failing"), (counts.suspended, "suspended"), (waiting, "waiting")];
    let words: Vec<String> =
        words.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(total: usize, ready: usize, failing: usize) -> KindCounts {
        KindCounts { kind: "Kustomization", total, ready, failing, suspended: 0 }
    }

    #[test]
    fn a_bar_is_full_only_when_every_object_is_ready() {
        assert_eq!(bar(&counts(3, 3, 0), BAR), "█".repeat(BAR));
        assert_eq!(bar(&counts(2000, 1999, 1), BAR), format!("{}░", "█".repeat(BAR - 1)));
        assert_eq!(bar(&counts(5, 0, 5), BAR), "░".repeat(BAR));
        assert_eq!(told(&counts(5, 2, 1)), "2 ready, 1 failing, 2 waiting");
    }
}
