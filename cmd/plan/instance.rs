//! `plan instance`: a dry run of everything, compared with what is there.

use std::path::PathBuf;

use clap::ValueEnum;
use flux_operator::api::FluxInstance;
use flux_operator::reconcile::Plan;
use jiff::Timestamp;
use serde_json::Value;

use super::view;
use crate::common::manifest_file::read_written_instance;
use crate::common::run_in_process;
use crate::common::run_in_process::{DistributionArgs, InProcessArgs};
use crate::common::saved_plan::SavedPlan;
use crate::common::{Session, Target, instance_kind, suspended};
use crate::shell::progress::ProgressArgs;
use crate::shell::{CliError, Exit, Shell};

/// Show what an apply of a FluxInstance would change
///
/// Every object is sent to the API server as a dry run and compared with what is
/// there: what is created, which fields change and who set them, what restarts,
/// what is pruned. Ends with 0 when nothing differs, with 1 when something does,
/// and with 2 or more when it cannot be told.
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
    #[arg(conflicts_with = "filename", default_value = "flux", add = crate::common::complete::instances())]
    pub name: String,
    /// File with the FluxInstance; - reads standard input
    #[arg(short, long, value_name = "FILE", alias = "file")]
    pub filename: Option<String>,
    /// Format: a table, a table with unchanged objects, or JSON
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = Output::Table)]
    pub output: Output,
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
pub enum Output {
    Table,
    Wide,
    Json,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    // 1 means differences here, so a general failure gets the next code.
    planned(args, shell)
        .map_err(|error| if error.exit() == Exit::Failed { error.with_exit(Exit::Usage) } else { error })
}

fn planned(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let (plan, written) = shell.block_on(async {
        let (session, instance, written) = shell.interruptible(subject(args, shell)).await?;
        let distribution = args.distribution.open(&session, &instance)?;
        let options = run_in_process::options(&InProcessArgs::default(), args.distribution.strict);
        let plan = run_in_process::plan(&session, &instance, &distribution, &options, args.progress.progress).await?;
        Ok::<_, CliError>((plan, written))
    })??;
    for warning in &plan.warnings {
        shell.warn(warning);
    }
    shell.print_in_colour(&shown(args, &plan, shell)?)?;
    let changes = plan.has_changes();
    if let Some(file) = &args.out {
        SavedPlan::new(plan, written).write(file)?;
        shell.status(&format!("the plan is saved in {}", file.display()));
    }
    Ok(if changes { Exit::Differences } else { Exit::Done })
}

fn shown(args: &Args, plan: &Plan, shell: &Shell) -> Result<String, CliError> {
    if args.diff {
        return view::diffs(plan, shell.stdout_color());
    }
    match args.output {
        Output::Table => Ok(view::table(plan, shell, false, Timestamp::now())),
        Output::Wide => Ok(view::table(plan, shell, true, Timestamp::now())),
        Output::Json => {
            let text = serde_json::to_string_pretty(&view::json(plan)?);
            text.map(|text| text + "\n").map_err(|e| CliError::failed("cannot print the plan").caused_by(&e))
        }
    }
}

/// What is planned: the instance of the cluster, or the one of a file with the status of the one in the cluster.
async fn subject<'a>(args: &Args, shell: &'a Shell) -> Result<(Session<'a>, FluxInstance, Option<Value>), CliError> {
    let session = Session::open(shell).await?;
    let Some(file) = &args.filename else {
        let target = session.instance(&args.name);
        let object = session.get(&target).await?;
        if target.switch().is_off(&object) {
            return Err(suspended(&session, &target));
        }
        return Ok((session, run_in_process::typed(object)?, None));
    };
    let (manifest, written) = read_written_instance(file, session.cluster.namespace.as_deref(), shell)?;
    let mut instance = manifest.instance;
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    let target = Target {
        kind: instance_kind(),
        namespace: text(&instance.metadata.namespace),
        name: text(&instance.metadata.name),
    };
    let resource = target.kind.resource_type();
    let find = session.cluster.find(&resource, Some(&target.namespace), &target.name);
    let live = match session.bounded(&format!("get {}", target.reference()), find).await {
        Ok(live) => live,
        // Without the definition there is no instance yet; the plan is that of a first install.
        Err(error) if error.exit() == Exit::ApiMissing => None,
        Err(error) => return Err(error),
    };
    if let Some(live) = live {
        let live: FluxInstance = serde_json::from_value(live)
            .map_err(|e| CliError::failed("cannot understand the FluxInstance of the cluster").caused_by(&e))?;
        instance.status = live.status;
        instance.metadata.uid = live.metadata.uid;
        instance.metadata.generation = live.metadata.generation;
    }
    Ok((session, instance, Some(written)))
}
