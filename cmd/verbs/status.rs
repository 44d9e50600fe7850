//! `status`: the whole installation on one screen.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use flux_operator::api::kinds::{DEPLOYMENT, FLUX_KINDS, INSTANCE, POD};
use flux_operator::distribution::Distribution;
use flux_operator::format::age::short_age;
use flux_operator::inspect::diagnose::health::{HealthCounts, HealthVerdict, KindCounts};
use flux_operator::inspect::diagnose::next_step::HasNextSteps;
use flux_operator::inspect::diagnose::resources::ResourceRow;
use flux_operator::inspect::diagnose::status::{StatusOptions, StatusView, status};
use flux_operator::k8s::ObjectId;
use flux_operator::k8s::kstatus::Status;
use jiff::Timestamp;
use serde_json::Value;

use crate::args::list::no_namespace;
use crate::flows::desired::desired_of_embedded;
use crate::flows::operator::CLIENT_VERSION;
use crate::flows::rights::{
    EXPLAINS, EXPLAINS_SECRETS, KIND, LOOKS_AT_OPERATOR, OVERVIEW, READS_INVENTORY_CLUSTER, READS_INVENTORY_NAMESPACE,
    Rights, always,
};
use crate::output::screen::Screen;
use crate::output::table::{short_revision, terminal_width};
use crate::session::health::{VerdictUse, exit_of};
use crate::session::read_source::{FromArgs, PartialView, Source, within};
use crate::session::watch::WatchWakeups;
use crate::terminal::output_format::{Format, ViewArgs, structured};
use crate::terminal::{CliError, Exit, Shell};

/// Show the whole installation on one screen
///
/// Shows versions, operator, instance, controllers, sync, Flux objects by kind,
/// drift and the oldest failures, with the command to run next. Exits with 0
/// when nothing fails, 7 when something fails, 5 when you are not allowed to
/// read what decides the result, and 4 when Flux is not installed.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # The first look of the day\n  \
    flux-operator status\n\n  \
    # Watch until Ctrl-C, redrawn on every change\n  \
    flux-operator status --watch\n\n  \
    # Whether everything is healthy, for scripts\n  \
    flux-operator status -o jsonpath='{.well}'\n\n  \
    # From a dump somebody sent\n  \
    flux-operator status --from ./dump")]
pub struct Args {
    #[command(flatten)]
    pub from: FromArgs,
    #[command(flatten)]
    pub view: ViewArgs,
    /// Keep watching and print changes
    #[arg(short, long)]
    pub watch: bool,
}

/// Cells of a bar if there is room. A bar with fewer cells than [`LEAST_BAR`] says too little and is left out.
const BAR: usize = 16;
const LEAST_BAR: usize = 4;
/// Limit for causes that are named.
const CAUSES: usize = 3;

pub fn rights(args: &Args, rights: &mut Rights) {
    let namespace = rights.flux_namespace();
    rights.everywhere(OVERVIEW);
    rights.everywhere(EXPLAINS);
    rights.in_namespace(&namespace, LOOKS_AT_OPERATOR);
    rights.in_namespace(&namespace, &[always("list", "fluxinstances")]);
    rights.in_namespace(&namespace, EXPLAINS_SECRETS);
    rights.everywhere(READS_INVENTORY_NAMESPACE);
    rights.everywhere(READS_INVENTORY_CLUSTER);
    rights.flux_kinds(None, |kind| kind.kind != "FluxReport", &[always("list", KIND)]);
    if args.watch {
        rights.flux_kinds(None, |_| true, &[always("list watch", KIND)]);
    }
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    shell.run(async {
        let source = Source::open_to_judge(shell, &args.from).await?;
        if !args.watch {
            let view = read_status(shell, &source).await?.with_warnings(shell);
            // A given namespace may be mistyped. Without one, an empty cluster is not an error.
            if view.instance.is_none()
                && let Some(error) = no_namespace(&source, shell.global().namespace()).await
            {
                return Err(error);
            }
            shell.print_in_colour(&text(&view, args, shell, &source)?);
            return Ok(exit(&view));
        }
        let kinds: Vec<_> = FLUX_KINDS.iter().map(|kind| kind.resource_type()).chain([DEPLOYMENT, POD]).collect();
        let mut changes = WatchWakeups::of(&source, &kinds, None)?;
        shell.interruption().mark_read_only();
        let mut shown: Option<String> = None;
        loop {
            let viewed = read_status(shell, &source).await?;
            // Refused reads do not change, so they are reported only once.
            let view = if shown.is_none() { viewed.with_warnings(shell) } else { viewed.value };
            let text = text(&view, args, shell, &source)?;
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

fn exit(view: &StatusView) -> Exit {
    exit_of(view.verdict, VerdictUse::Judge)
}

async fn read_status(shell: &Shell, source: &Source<'_>) -> Result<PartialView<StatusView>, CliError> {
    let namespace = source.instance_namespace();
    let known: Vec<String> = Distribution::embedded().versions().into_iter().map(|version| version.name).collect();
    let now = source.now();
    let built: RefCell<BTreeMap<ObjectId, Option<Rc<[Value]>>>> = RefCell::default();
    // Built once, however often the view is evaluated.
    let desired = |instance: &Value| {
        built.borrow_mut().entry(ObjectId::of(instance)).or_insert_with(|| desired_of_embedded(instance)).clone()
    };
    let options =
        StatusOptions { namespace: &namespace, client: CLIENT_VERSION, known: &known, now, desired: &desired };
    let view = source.view(shell, |snapshot| status(snapshot, options));
    let viewed = within(shell, view).await??;
    let destination = source.destination();
    let value = viewed.value.in_words(|step| destination.command(step));
    Ok(PartialView { value, refusals: viewed.refusals })
}

fn text(view: &StatusView, args: &Args, shell: &Shell, source: &Source<'_>) -> Result<String, CliError> {
    Ok(match structured(view, &args.view.output)? {
        Some(text) => text,
        None if matches!(args.view.output, Format::Name) => {
            view.instance.iter().map(|row| format!("fluxinstance.fluxcd.controlplane.io/{}\n", row.name)).collect()
        }
        None => {
            let width = shell.stdout_is_terminal().then(terminal_width);
            screen(view, Screen::new(width, shell.stdout_color()), source)
        }
    })
}

fn screen(view: &StatusView, mut screen: Screen, source: &Source<'_>) -> String {
    let now = source.now();
    let versions = &view.versions;
    let known = |version: &Option<String>| version.clone().unwrap_or_else(|| "-".into());
    if view.verdict == HealthVerdict::NotInstalled {
        screen.marked("Flux", Some(false), &source.not_installed_text());
        screen.line("Kubernetes", &known(&versions.kubernetes));
        next(view, &mut screen);
        return screen.text();
    }
    let allowed = match (&versions.range, &versions.newest_allowed) {
        (Some(range), Some(newest)) => format!(" ({range}, newest allowed {newest})"),
        (Some(range), None) => format!(" ({range})"),
        _ => String::new(),
    };
    screen.line("Flux", &format!("{}{allowed}", known(&versions.distribution)));
    screen.line("Kubernetes", &known(&versions.kubernetes));
    let operator = versions.operator.as_ref().map(|version| format!("{version}, ")).unwrap_or_default();
    let without = if view.operator.state == "Absent" { " (reconcile with --in-process)" } else { "" };
    screen.marked("Operator", operator_is_fine(view), &format!("{operator}{}{without}", view.operator.message));
    instance(view, &mut screen, source);
    let mut reported = BTreeSet::new();
    for controller in &view.controllers {
        let why = match &controller.message {
            None => String::new(),
            // Print a reason once for all its controllers.
            Some(message) if reported.insert(message) => format!("  {message}"),
            Some(_) => "  for the same reason".to_owned(),
        };
        let says = format!("{} {}/{}{why}", controller.name, controller.ready_pods, controller.desired_pods);
        let is_well = match &controller.message {
            None => Some(true),
            // The controller runs, but has a message.
            Some(_) if controller.status == Status::Current => None,
            Some(_) => Some(false),
        };
        screen.marked("Controllers", is_well, &says);
    }
    for row in &view.sync {
        let revision =
            row.revision.as_deref().map(|revision| format!("  {}", short_revision(revision))).unwrap_or_default();
        let message = match row.ready.as_str() {
            "True" => String::new(),
            "Suspended" => format!("  suspended: {}", row.message),
            _ => format!("  {}", row.message),
        };
        let id = ObjectId::new(row.group, row.kind, Some(&row.namespace), &row.name);
        screen.marked(
            "Sync",
            mark_of_ready(view, &id, &row.ready),
            &format!("{}/{}{revision}{message}", row.kind, row.name),
        );
    }
    let longest = view.kinds.iter().map(|kind| kind.kind.len()).max().unwrap_or_default();
    // Two blanks follow the kind, and two the bar.
    let beside = longest + 4 + view.kinds.iter().map(|kind| kind.counts.in_words().len()).max().unwrap_or_default();
    let cells = screen.room().map_or(BAR, |room| room.saturating_sub(beside).min(BAR));
    for KindCounts { kind, counts } in &view.kinds {
        let bar = if cells < LEAST_BAR { String::new() } else { format!("{}  ", bar(counts, cells)) };
        let head = format!("{kind:longest$}  {bar}");
        screen.headed("Objects", mark_of(counts), &head, &counts.in_words());
    }
    if let Some(drifted) = view.drifted.filter(|drifted| *drifted > 0) {
        let objects = if drifted == 1 { "object differs" } else { "objects differ" };
        screen.marked("Drift", None, &format!("{drifted} {objects} from what the instance builds"));
    }
    failures(view, &mut screen, now);
    next(view, &mut screen);
    screen.text()
}

fn next(view: &StatusView, screen: &mut Screen) {
    if let Some(next) = &view.next {
        screen.command("Next", next.words());
    }
}

fn instance(view: &StatusView, screen: &mut Screen, source: &Source<'_>) {
    let Some(row) = &view.instance else {
        if view.unreadable.contains(&"FluxInstance") {
            return screen.marked("Instance", None, "unknown: you are not allowed to read FluxInstances");
        }
        let elsewhere = match view.elsewhere.as_slice() {
            [] => String::new(),
            places => format!(" (there is one in namespace {}; choose it with -n)", places.join(", ")),
        };
        let runs = if view.controllers.is_empty() || !elsewhere.is_empty() { "" } else { ": Flux runs without one" };
        let says = format!("no FluxInstance in namespace {}{elsewhere}{runs}", source.instance_namespace());
        return screen.marked("Instance", None, &says);
    };
    let says = format!("{}/{}  {}", row.namespace, row.name, row.describe(view.instance_fails(), source.now()));
    let id = ObjectId::new(&INSTANCE.group, &INSTANCE.kind, Some(&row.namespace), &row.name);
    screen.marked("Instance", mark_of_ready(view, &id, &row.ready), &says);
}

/// The mark of an object: failing objects are marked as such even if they reported Ready before.
fn mark_of_ready(view: &StatusView, id: &ObjectId, ready: &str) -> Option<bool> {
    match ready {
        _ if view.affected.contains(id) => Some(false),
        "True" => Some(true),
        "False" => Some(false),
        _ => None,
    }
}

fn mark_of(counts: &HealthCounts) -> Option<bool> {
    match counts {
        HealthCounts { failing, .. } if *failing > 0 => Some(false),
        // Neither healthy nor failing: objects are in progress, or all of them are suspended.
        HealthCounts { in_progress, not_started, .. } if in_progress + not_started > 0 => None,
        HealthCounts { ready: 0, .. } => None,
        _ => Some(true),
    }
}

/// Prints the objects that have failed for the longest. Objects with the same message and reason share a line.
fn failures(view: &StatusView, screen: &mut Screen, now: Timestamp) {
    // Causes outside of Flux's objects: a workload, a definition, the operator.
    if view.failures.is_empty() {
        for cause in view.causes.iter().take(CAUSES) {
            screen.marked("Failing", Some(false), &format!("{}: {}", cause.object, cause.summary));
        }
        let more = view.causes.len().saturating_sub(CAUSES);
        if more > 0 {
            screen.line("Failing", &format!("and {more} more causes"));
        }
        return;
    }
    screen.line("Failing", &format!("{} of {} failing, oldest first:", view.failing, view.counts.total));
    let mut reported: Vec<(&ResourceRow, usize)> = vec![];
    for row in &view.failures {
        match reported.iter_mut().find(|(first, _)| (&first.message, &first.reason) == (&row.message, &row.reason)) {
            Some((_, alike)) => *alike += 1,
            None => reported.push((row, 0)),
        }
    }
    for (row, alike) in reported {
        screen.marked("Failing", Some(false), &failure(row, alike, now));
    }
}

/// Returns the mark of the operator. A missing operator is not a failure, because terminals and pipelines can reconcile
/// an instance too.
fn operator_is_fine(view: &StatusView) -> Option<bool> {
    match view.operator.state {
        "Running" => Some(true),
        "Stopped" | "Silent" => Some(false),
        _ => None,
    }
}

fn failure(row: &ResourceRow, alike: usize, now: Timestamp) -> String {
    let alike = if alike > 0 { format!(" and {alike} more") } else { String::new() };
    let since = row.last_reconciled.map(|at| format!(", {}", short_age(at, now))).unwrap_or_default();
    format!("{}/{}/{}{alike}{since}: {} ({})", row.kind, row.namespace, row.name, row.message, row.reason)
}

/// Draws the ready share of a kind. The bar is full only if every object is ready.
fn bar(counts: &HealthCounts, cells: usize) -> String {
    let share = counts.ready * cells / counts.total.max(1);
    let full = if counts.ready == counts.total { cells } else { share.min(cells.saturating_sub(1)) };
    format!("{}{}", "█".repeat(full), "░".repeat(cells - full))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(total: usize, ready: usize, failing: usize) -> HealthCounts {
        HealthCounts { total, ready, failing, ..HealthCounts::default() }
    }

    #[test]
    fn a_bar_is_full_only_when_every_object_is_ready() {
        assert_eq!(bar(&counts(3, 3, 0), BAR), "█".repeat(BAR));
        assert_eq!(bar(&counts(2000, 1999, 1), BAR), format!("{}░", "█".repeat(BAR - 1)));
        assert_eq!(bar(&counts(5, 0, 5), BAR), "░".repeat(BAR));
        // Failing objects and objects that have not started have different marks.
        assert_eq!(mark_of(&counts(5, 0, 5)), Some(false));
        assert_eq!(mark_of(&HealthCounts { total: 2, not_started: 2, ..HealthCounts::default() }), None);
    }
}
