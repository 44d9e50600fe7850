//! `plan instance`: a dry run of all objects, compared with the cluster.

use std::path::Path;

use flux_operator::api::FluxInstanceSpec;
use flux_operator::format::{json, yaml};
use flux_operator::reconcile::{Plan, SavedPlan};
use jiff::Timestamp;

use super::{Args, PlanOutput};
use crate::flows::change_spec;
use crate::flows::plan_view;
use crate::flows::pull_secrets::missing_pull_secrets;
use crate::flows::rights::{COMPARES_CLUSTER, COMPARES_NAMESPACE, FINDS_OPERATOR, KIND, Rights, always, under, when};
use crate::flows::run_in_process;
use crate::flows::run_in_process::instance_of;
use crate::flows::saved_plan::PlanFile;
use crate::flows::version_change::{FINDS_PROBLEMS, is_version_change, lines, warn_of_problems};
use crate::output::next_step::{Destination, word};
use crate::output::table::terminal_width;
use crate::session::Session;
use crate::session::manifest_file::read_instance_for;
use crate::session::target::Target;
use crate::terminal::{CliError, Exit, Shell, is_stdin};

pub fn rights(args: &Args, name: &str, rights: &mut Rights) {
    let namespace = rights.flux_namespace();
    rights.everywhere(COMPARES_CLUSTER);
    rights.in_namespace(&namespace, COMPARES_NAMESPACE);
    rights.everywhere(FINDS_OPERATOR);
    rights.everywhere(&under("the version changes", FINDS_PROBLEMS));
    match &args.filename {
        // The name of the instance is in the file, so the rights cover the namespace.
        Some(_) => rights.in_namespace(
            &namespace,
            &[always("get patch", "fluxinstances"), when("the instance is new", "create list", "fluxinstances")],
        ),
        None => rights.instance(name, &[always("get", KIND)]),
    }
}

pub fn planned(args: &Args, name: &str, shell: &Shell) -> Result<Exit, CliError> {
    let InstancePlan { saved, cluster, endpoint, first_screen, destination } =
        shell.block_on(plan(args, name, shell))??;
    for warning in &saved.plan.warnings {
        shell.warn(warning);
    }
    let changes = saved.plan.has_changes();
    let text = shown(args, &saved.plan, first_screen.as_deref(), shell)?;
    // Saved before printing, because the reader may close the pipe after a few lines.
    if let Some(file) = &args.out {
        PlanFile::new(saved, cluster, endpoint).write(file)?;
        shell.status(&format!("the plan is saved in {}", file.display()));
    }
    shell.print_in_colour(&text);
    let file = |path: &Path| word(&path.display().to_string()).into_owned();
    let next = match (&args.out, &args.filename) {
        (Some(plan), _) => Some(format!("flux-operator apply instance --plan {}", file(plan))),
        (None, Some(manifest)) if !is_stdin(manifest) => {
            Some(format!("flux-operator apply instance -f {}", file(manifest)))
        }
        _ => None,
    };
    if let Some(next) = next.filter(|_| changes) {
        shell.suggest(&format!("{next}{}", destination.flags()));
    }
    Ok(if changes { Exit::Differences } else { Exit::Done })
}

struct InstancePlan {
    saved: SavedPlan,
    /// The UID of the cluster, if the plan is saved.
    cluster: Option<String>,
    /// Server and context.
    endpoint: String,
    /// The lines that `upgrade` shows, if the plan changes the version.
    first_screen: Option<Vec<String>>,
    destination: Destination,
}

/// Plans the instance of the cluster, or the one of a file.
async fn plan(args: &Args, name: &str, shell: &Shell) -> Result<InstancePlan, CliError> {
    let session = shell.interruptible(Session::open(shell)).await?;
    let endpoint = session.cluster.endpoint.to_string();
    let cluster = match &args.out {
        // Without the right to read it, the plan names no cluster.
        Some(_) => shell.interruptible(async { Ok(session.cluster_uid().await.ok().flatten()) }).await?,
        None => None,
    };
    let mode = args.progress.progress;
    let Some(file) = &args.filename else {
        let target = session.instance(name);
        let plan = run_in_process::plan(&session, &target, None, &args.distribution, mode);
        let (plan, missing) = tokio::join!(plan, async {
            let object = session.cluster.read(&target.id()).await.ok().flatten()?;
            Some(missing_pull_secrets(&session, &instance_of(object).ok()?).await)
        });
        let plan = warned(plan?, missing.unwrap_or_default());
        let first_screen = first_screen(args, &session, &target, None, &plan).await?;
        let saved = SavedPlan { instance: None, plan };
        return Ok(InstancePlan { saved, cluster, endpoint, first_screen, destination: session.destination() });
    };
    let read = read_instance_for(file, session.cluster.namespace.as_deref(), shell);
    let manifest = shell.interruptible(read).await?;
    let target = Target::of_instance(&manifest.instance);
    let plan = run_in_process::plan(&session, &target, Some(&manifest), &args.distribution, mode);
    let (plan, missing) = tokio::join!(plan, missing_pull_secrets(&session, &manifest.instance));
    let plan = warned(plan?, missing);
    let first_screen = first_screen(args, &session, &target, Some(&manifest.instance.spec), &plan).await?;
    let saved = SavedPlan { instance: Some(manifest.written), plan };
    Ok(InstancePlan { saved, cluster, endpoint, first_screen, destination: session.destination() })
}

/// Returns the lines that `upgrade` shows first, and warns as it does, for the table of a plan that changes the
/// version. `spec` is that of the file.
async fn first_screen(
    args: &Args,
    session: &Session<'_>,
    target: &Target,
    spec: Option<&FluxInstanceSpec>,
    plan: &Plan,
) -> Result<Option<Vec<String>>, CliError> {
    if args.output != PlanOutput::Table || !is_version_change(plan) {
        return Ok(None);
    }
    let shell = session.shell;
    let (live, instance) = shell.interruptible(change_spec::read(session, target)).await?;
    let lines = lines(&instance, spec.unwrap_or(&instance.spec), plan);
    shell.interruptible(warn_of_problems(session, &live, plan)).await?;
    Ok(Some(lines))
}

fn warned(plan: Plan, warnings: Vec<String>) -> Plan {
    Plan { warnings: [plan.warnings, warnings].concat(), ..plan }
}

/// Formats the plan. `first_screen` replaces the long list, which `--diff` and `-o wide` show.
fn shown(args: &Args, plan: &Plan, first_screen: Option<&[String]>, shell: &Shell) -> Result<String, CliError> {
    let style = plan_view::Style {
        width: shell.stdout_is_terminal().then(terminal_width),
        color: shell.stdout_color(),
        all: args.output == PlanOutput::Wide,
        now: Timestamp::now(),
    };
    let first_screen = first_screen.map(|lines| {
        let lines: String = lines.iter().map(|line| style.line(0, line)).collect();
        plan_view::subject(plan, &style) + &lines
    });
    if args.diff {
        let diffs = plan_view::diffs(plan, &style)?;
        return Ok(first_screen.map_or_else(|| diffs.clone(), |first| format!("{first}\n{diffs}")));
    }
    if let Some(first_screen) = first_screen {
        shell.status("add --diff, or -o wide, to see every change");
        return Ok(first_screen);
    }
    let failed = "cannot print the plan";
    match args.output {
        PlanOutput::Table | PlanOutput::Wide => Ok(plan_view::screen(plan, &style)),
        PlanOutput::Json => {
            json::to_string(&plan_view::json(plan)?).map_err(|e| CliError::failed(failed).caused_by(&e))
        }
        PlanOutput::Yaml => {
            yaml::to_string(&plan_view::json(plan)?).map_err(|e| CliError::failed(failed).caused_by(&e))
        }
    }
}
