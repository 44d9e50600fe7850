//! `plan instance`: a dry run of all objects, compared with the cluster.

use std::path::PathBuf;

use clap::ValueEnum;
use flux_operator::api::FluxInstance;
use flux_operator::api::kinds::SECRET;
use flux_operator::format::{json, yaml};
use flux_operator::inspect::next_step::{NextStep, SecretKind};
use flux_operator::reconcile::{Plan, SavedPlan};
use futures::future::join_all;
use jiff::Timestamp;

use crate::flows::plan_view;
use crate::flows::rights::{COMPARES_CLUSTER, COMPARES_NAMESPACE, FINDS_OPERATOR, KIND, Rights, always, when};
use crate::flows::run_in_process;
use crate::flows::run_in_process::{DistributionArgs, instance_of};
use crate::flows::saved_plan::PlanFile;
use crate::output::table::terminal_width;
use crate::session::Session;
use crate::session::manifest_file::read_instance_for;
use crate::session::target::Target;
use crate::terminal::progress::ProgressArgs;
use crate::terminal::{CliError, Exit, Shell, no_file};

/// Show what an apply of a FluxInstance would change
///
/// Every object is sent to the API server as a dry run and compared with the live one: created objects, changed fields
/// and who set them, restarts, pruned objects. For a suspended instance it shows what would happen after a resume. Ends
/// with 0 when nothing differs, with 1 when something does, and with 2 or more when the comparison fails.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # What would this file change?\n  \
    flux-operator plan instance -f flux.yaml\n\n  \
    # Has anything drifted? With unified diffs\n  \
    flux-operator -n flux-system diff instance flux --diff\n\n  \
    # Look first, then do exactly that\n  \
    flux-operator plan instance -f flux.yaml --out flux.plan\n  \
    flux-operator apply instance --plan flux.plan")]
pub struct Args {
    /// Name of an instance in the cluster
    #[arg(conflicts_with = "filename", default_value = "flux", value_parser = no_file, add = crate::args::complete::instances())]
    pub name: String,
    /// File with the FluxInstance; - reads standard input
    #[arg(value_hint = clap::ValueHint::FilePath, short, long, value_name = "FILE", alias = "file")]
    pub filename: Option<PathBuf>,
    /// Format: a screen, all objects with all fields (wide), JSON or YAML
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = PlanOutput::Table)]
    pub output: PlanOutput,
    /// Print unified YAML diffs; values of secrets are masked
    #[arg(long, conflicts_with = "output")]
    pub diff: bool,
    /// Save the plan for `apply instance --plan`
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub distribution: DistributionArgs,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PlanOutput {
    Table,
    Wide,
    Json,
    Yaml,
}

pub fn rights(args: &Args, rights: &mut Rights) {
    let namespace = rights.flux_namespace();
    rights.everywhere(COMPARES_CLUSTER);
    rights.in_namespace(&namespace, COMPARES_NAMESPACE);
    rights.everywhere(FINDS_OPERATOR);
    match &args.filename {
        // The instance of the file; its name is in the file.
        Some(_) => rights.in_namespace(
            &namespace,
            &[always("get patch", "fluxinstances"), when("the instance is new", "create list", "fluxinstances")],
        ),
        None => rights.instance(&args.name, &[always("get", KIND)]),
    }
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    // 1 means differences here, so a general failure gets the next code.
    planned(args, shell)
        .map_err(|error| if error.exit() == Exit::Failed { error.with_exit(Exit::Usage) } else { error })
}

fn planned(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let (saved, cluster) = shell.block_on(plan(args, shell))??;
    for warning in &saved.plan.warnings {
        shell.warn(warning);
    }
    let changes = saved.plan.has_changes();
    let text = shown(args, &saved.plan, shell)?;
    // First: who reads a few lines only wants the plan all the same.
    if let Some(file) = &args.out {
        PlanFile::new(saved, cluster).write(file)?;
        shell.status(&format!("the plan is saved in {}", file.display()));
    }
    shell.print_in_colour(&text);
    Ok(if changes { Exit::Differences } else { Exit::Done })
}

/// The plan of the instance of the cluster, or of the one of a file; with the UID of the cluster, where the plan is saved.
async fn plan(args: &Args, shell: &Shell) -> Result<(SavedPlan, Option<String>), CliError> {
    let session = shell.interruptible(Session::open(shell)).await?;
    let cluster = match &args.out {
        Some(_) => shell.interruptible(async { Ok(session.cluster_uid().await.ok().flatten()) }).await?,
        None => None,
    };
    let mode = args.progress.progress;
    let Some(file) = &args.filename else {
        let target = session.instance(&args.name);
        let plan = run_in_process::plan(&session, &target, None, &args.distribution, mode);
        let (plan, missing) = tokio::join!(plan, async {
            let object = session.cluster.read(&target.id()).await.ok().flatten()?;
            Some(missing_secrets(&session, &instance_of(object).ok()?).await)
        });
        return Ok((SavedPlan { instance: None, plan: warned(plan?, missing.unwrap_or_default()) }, cluster));
    };
    let read = read_instance_for(file, session.cluster.namespace.as_deref(), shell);
    let manifest = shell.interruptible(read).await?;
    let target = Target::of_instance(&manifest.instance);
    let plan = run_in_process::plan(&session, &target, Some(&manifest), &args.distribution, mode);
    let (plan, missing) = tokio::join!(plan, missing_secrets(&session, &manifest.instance));
    Ok((SavedPlan { instance: Some(manifest.written), plan: warned(plan?, missing) }, cluster))
}

fn warned(plan: Plan, warnings: Vec<String>) -> Plan {
    Plan { warnings: [plan.warnings, warnings].concat(), ..plan }
}

/// Returns the missing Secrets that the instance needs at pull time; empty without the right to read Secrets.
async fn missing_secrets(session: &Session<'_>, instance: &FluxInstance) -> Vec<String> {
    let namespace = instance.namespace_or_default();
    let (distribution, sync) = (&instance.spec.distribution, instance.spec.sync.as_ref());
    let images = distribution.image_pull_secret.as_ref().map(|name| {
        let secret = SecretKind::of_registry(&distribution.registry);
        ("spec.distribution.imagePullSecret", name, secret)
    });
    let source = sync.and_then(|sync| {
        let secret = SecretKind::of_source(&sync.kind, &sync.url, sync.provider.as_deref().unwrap_or_default());
        Some(("spec.sync.pullSecret", sync.pull_secret.as_ref()?, secret))
    });
    let looks = [images, source].into_iter().flatten().map(async |(field, name, secret)| {
        let found = session.cluster.get_metadata(&SECRET, Some(namespace), name).await;
        if !found.is_err_and(|error| error.is_not_found()) {
            return None;
        }
        let create = NextStep::CreateSecret { namespace: namespace.to_owned(), name: name.clone(), secret };
        let create = session.whereto().command(&create);
        Some(format!("{field} names Secret/{namespace}/{name}, which is not there: create it with `{create}`"))
    });
    join_all(looks).await.into_iter().flatten().collect()
}

fn shown(args: &Args, plan: &Plan, shell: &Shell) -> Result<String, CliError> {
    let style = plan_view::Style {
        width: shell.stdout_is_terminal().then(terminal_width),
        color: shell.stdout_color(),
        all: args.output == PlanOutput::Wide,
        now: Timestamp::now(),
    };
    if args.diff {
        return plan_view::diffs(plan, &style);
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
