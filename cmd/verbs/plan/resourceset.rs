//! `plan resourceset`: what a ResourceSet would create, change and prune, per input set.

use flux_operator::format::{json, yaml};
use flux_operator::reconcile::plan::Step;
use flux_operator::reconcile::{PlannedProvider, PlannedSetObject, ProviderState, ResourceSetPlan};
use jiff::Timestamp;
use serde_json::Value;

use super::{Args, PlanOutput};
use crate::flows::plan_view;
use crate::flows::resource_set::{self, options};
use crate::flows::rights::{KIND, Rights, SET_INPUTS, always, when};
use crate::flows::run_in_process::{self, InProcessArgs, step_counts};
use crate::output::objects;
use crate::output::table::terminal_width;
use crate::session::Session;
use crate::terminal::{CliError, Exit, Shell};

pub fn rights(name: Option<&str>, rights: &mut Rights) {
    let namespace = rights.flux_namespace();
    match name {
        Some(name) => rights.resource_set(name, &[always("get", KIND)]),
        // The name of the set is in the file, so the rights cover the namespace.
        None => rights.in_namespace(
            &namespace,
            &[always("get patch", "resourcesets"), when("the set is new", "create list", "resourcesets")],
        ),
    }
    rights.in_namespace(&namespace, SET_INPUTS);
}

pub fn planned(args: &Args, name: Option<&str>, shell: &Shell) -> Result<Exit, CliError> {
    let plan = shell.block_on(plan(args, name, shell))??;
    for warning in &plan.warnings {
        shell.warn(warning);
    }
    shell.print_in_colour(&shown(args, &plan, shell)?);
    Ok(if plan.has_changes() { Exit::Differences } else { Exit::Done })
}

async fn plan(args: &Args, name: Option<&str>, shell: &Shell) -> Result<ResourceSetPlan, CliError> {
    let session = shell.interruptible(Session::open(shell)).await?;
    let mode = args.progress.progress;
    let options = options(&InProcessArgs::default(), &args.account);
    match (&args.filename, name) {
        (Some(file), _) => {
            let (target, written) =
                shell.interruptible(resource_set::read(file, session.cluster.namespace.as_deref(), shell)).await?;
            run_in_process::plan_resource_set(&session, &target, Some(&written), &options, mode).await
        }
        (None, name) => {
            let target = session.resource_set(name.unwrap_or_default());
            run_in_process::plan_resource_set(&session, &target, None, &options, mode).await
        }
    }
}

fn shown(args: &Args, plan: &ResourceSetPlan, shell: &Shell) -> Result<String, CliError> {
    let style = plan_view::Style {
        width: shell.stdout_is_terminal().then(terminal_width),
        color: shell.stdout_color(),
        all: args.output == PlanOutput::Wide,
        now: Timestamp::now(),
    };
    if args.diff {
        let diffs = plan_view::object_diffs(plan.objects.iter().map(|one| &one.planned), &plan.prune, &style)?;
        return Ok(head(plan, &style) + &diffs + &sums(plan, &style));
    }
    let failed = "cannot print the plan";
    match args.output {
        PlanOutput::Table | PlanOutput::Wide => Ok(screen(plan, &style)),
        PlanOutput::Json => json::to_string(&as_json(plan)?).map_err(|e| CliError::failed(failed).caused_by(&e)),
        PlanOutput::Yaml => yaml::to_string(&as_json(plan)?).map_err(|e| CliError::failed(failed).caused_by(&e)),
    }
}

fn as_json(plan: &ResourceSetPlan) -> Result<Value, CliError> {
    let mut value = plan_view::masked_json(plan)?;
    value["hasChanges"] = plan.has_changes().into();
    Ok(value)
}

/// Formats the set, its current and new revision, and the providers of its inputs.
fn head(plan: &ResourceSetPlan, style: &plan_view::Style) -> String {
    let set = &plan.resource_set;
    let revision = match plan.previous_revision.as_deref() {
        Some(same) if same == plan.revision => same.to_owned(),
        from => format!("{} → {}", from.unwrap_or("nothing"), plan.revision),
    };
    let mut text = style.line(0, &format!("ResourceSet: {}/{}", set.namespace, set.name));
    text.push_str(&style.line(0, &format!("Revision: {revision}")));
    if plan.suspended {
        text.push_str(&style.line(0, "Suspended: nothing is applied until the set is resumed"));
    }
    text.push_str(&style.line(0, &format!("Input sets: {}", plan.input_sets)));
    for provider in &plan.providers {
        text.push_str(&style.line(2, &provider_line(provider)));
    }
    text + "\n"
}

/// `ResourceSetInputProvider/apps/prs: 2 input sets, 4 objects; without them 4 would be pruned`.
fn provider_line(one: &PlannedProvider) -> String {
    let sets = match one.inputs.sets {
        1 => "1 input set".to_owned(),
        sets => format!("{sets} input sets"),
    };
    let mut line = format!("{}: {sets}, {}", one.inputs.provider, objects(one.objects));
    if one.pruned_without > 0 {
        line.push_str(&format!("; without them {} would be pruned", one.pruned_without));
    }
    match &one.inputs.state {
        ProviderState::Exported => {}
        ProviderState::NeverExported => line.push_str("; it has not exported yet"),
        ProviderState::Exporting => line.push_str("; it is exporting"),
        ProviderState::Failed(message) => line.push_str(&format!("; its last export failed: {message}")),
    }
    line
}

/// Formats the objects that change, below the input set that makes each of them.
fn screen(plan: &ResourceSetPlan, style: &plan_view::Style) -> String {
    let mut text = head(plan, style);
    let is_shown = |one: &&PlannedSetObject| style.all || one.planned.step != Step::Unchanged;
    let mut indices: Vec<Option<usize>> = plan.objects.iter().filter(is_shown).map(|one| one.input_index).collect();
    indices.sort_unstable();
    indices.dedup();
    for index in indices {
        let of_set: Vec<_> = plan.objects.iter().filter(is_shown).filter(|one| one.input_index == index).collect();
        if let Some(input) = of_set.first().and_then(|one| one.input.as_deref()) {
            text.push_str(&style.line(0, &format!("{input}:")));
        }
        for one in of_set {
            text.push_str(&style.object(one.planned.step, &one.planned.object.to_string()));
            text.push_str(&plan_view::details(&one.planned, style));
        }
    }
    text.push_str(&plan_view::pruned(&plan.prune, style));
    let unchanged = plan.count(Step::Unchanged);
    if !style.all && unchanged > 0 {
        text.push_str(&style.object(Step::Unchanged, &objects(unchanged)));
    }
    text + &sums(plan, style)
}

fn sums(plan: &ResourceSetPlan, style: &plan_view::Style) -> String {
    let mut text = format!("\n{}", style.line(0, &format!("Plan: {}", step_counts(|step| plan.count(step)))));
    if let Some(why) = plan.prune_withheld.as_ref().filter(|_| !plan.prune.is_empty()) {
        text.push_str(&style.line(0, &format!("Nothing is pruned for now: {why}")));
    }
    text
}
