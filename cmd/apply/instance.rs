//! `apply instance`: applies the object, then waits for the operator, or does the operator's work here.

use std::path::PathBuf;

use flux_operator::api::FluxInstance;
use flux_operator::api::well_known::CLI_FIELD_MANAGER;
use flux_operator::cluster::ApplyOptions;
use flux_operator::format::yaml;
use flux_operator::reconcile::operator::Attention;
use flux_operator::reconcile::{self, prepare};
use flux_operator::request::Absent;
use serde_json::Value;

use crate::common::args::{DryRun, DryRunArgs, WaitArgs};
use crate::common::manifest_file::read_written_instance;
use crate::common::run_in_process;
use crate::common::run_in_process::{
    DistributionArgs, InProcessArgs, called, conclude, plan_counts, refuse_beside_operator,
};
use crate::common::{Followed, Session, Target, instance_kind, until_ready};
use crate::shell::progress::ProgressArgs;
use crate::shell::{CliError, Exit, Shell};

use super::planned;

/// Apply a FluxInstance and wait until it is ready
///
/// The object is applied server-side; a running operator then installs or changes
/// Flux. When no operator will look at it, that is said at once. With --in-process
/// the operator's work is done here: API definition and namespace first if they
/// are missing, then Flux, then the status on the object.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Apply and watch the controllers come up\n  \
    flux-operator apply instance -f flux.yaml\n\n  \
    # Install Flux without an operator in the cluster\n  \
    flux-operator apply instance -f flux.yaml --in-process\n\n  \
    # From a pipe, with progress as JSON lines for a log\n  \
    flux-operator create instance | flux-operator apply instance -f - \\\n    \
    --progress json\n\n  \
    # Exactly what was looked at before\n  \
    flux-operator apply instance --plan flux.plan")]
pub struct Args {
    /// File with the FluxInstance; - reads standard input
    #[arg(short, long, value_name = "FILE", alias = "file", required_unless_present = "plan", conflicts_with = "plan")]
    pub filename: Option<String>,
    /// Carry out the plan that `plan instance --out` saved, in this process
    ///
    /// Nothing else is done, and nothing at all if the cluster has moved since.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["distribution", "strict", "dry_run"])]
    pub plan: Option<PathBuf>,
    /// Take fields over that another manager set to other values
    #[arg(long)]
    pub force_conflicts: bool,
    #[command(flatten)]
    pub in_process: InProcessArgs,
    #[command(flatten)]
    pub distribution: DistributionArgs,
    #[command(flatten)]
    pub wait: WaitArgs,
    #[command(flatten)]
    pub dry_run: DryRunArgs,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    if !args.in_process.in_process && args.plan.is_none() && args.distribution.is_given() {
        return Err(CliError::usage("--distribution and --strict are for runs in this process")
            .hint("add --in-process, or give the operator a distribution in spec.distribution.artifact"));
    }
    if let Some(plan) = &args.plan {
        return planned::run(args, plan, shell);
    }
    let Some(file) = &args.filename else { return Err(CliError::usage("no file is given")) };
    if args.dry_run.dry_run == Some(DryRun::Client) {
        let (_, written) = read_written_instance(file, None, shell)?;
        let text = yaml::to_string(&written).map_err(|e| CliError::failed("cannot print the object").caused_by(&e))?;
        shell.print(&text)?;
        shell.status("(dry run) nothing was sent");
        return Ok(Exit::Done);
    }
    shell.block_on(async {
        let (session, manifest, written) = shell
            .interruptible(async {
                let session = Session::open(shell).await?;
                let (manifest, written) = read_written_instance(file, session.cluster.namespace.as_deref(), shell)?;
                Ok((session, manifest, written))
            })
            .await?;
        if args.in_process.in_process {
            return here(&session, args, &manifest.instance, &written).await;
        }
        let operator = through_operator(&session, args, &manifest.instance, &written);
        let applied = shell.interruptible(operator).await;
        // Where no API is installed no operator is.
        applied.map_err(|error| match error.exit() {
            Exit::ApiMissing => {
                let target = target(&manifest.instance);
                error.hint(format!("install Flux from here with `{} --in-process`", again(&session, args, &target)))
            }
            _ => error,
        })
    })?
}

/// Applies the object and does the operator's work in this process.
async fn here(session: &Session<'_>, args: &Args, instance: &FluxInstance, written: &Value) -> Result<Exit, CliError> {
    let shell = session.shell;
    let target = target(instance);
    let place = session.place(&target.reference());
    let dry_run = args.dry_run.dry_run == Some(DryRun::Server);
    let without = again(session, args, &target);
    let distribution = shell
        .interruptible(async {
            let attention = session.attention(&target).await?;
            refuse_beside_operator(session, &args.in_process, &target.reference(), &attention, &without)?;
            args.distribution.open(session, instance)
        })
        .await?;
    if dry_run {
        // The definition may be missing, so the server can only check what stands for the instance.
        let options = run_in_process::options(&args.in_process, args.distribution.strict);
        let plan = run_in_process::plan(session, instance, &distribution, &options, args.progress.progress).await?;
        shell.status(&format!("(server dry run) {place}: {}", plan_counts(&plan)));
        return Ok(Exit::Done);
    }
    let again = format!("{without} --in-process");
    let key = target.reference();
    let options = run_in_process::options(&args.in_process, args.distribution.strict);
    let resource = target.kind.resource_type();
    let apply = ApplyOptions { field_manager: CLI_FIELD_MANAGER, force: args.force_conflicts, dry_run: false };
    let cluster = &session.cluster;
    let outcome = run_in_process::conduct(
        session,
        args.progress.progress,
        options,
        "apply",
        &key,
        &again,
        async |options, listener| {
            prepare(cluster, &target.namespace, listener).await?;
            let live = cluster.find(&resource, Some(&target.namespace), &target.name).await.map_err(called)?;
            let (outcome, stored) = cluster.apply(&resource, written, live.as_ref(), &apply).await.map_err(called)?;
            listener.say(&format!("► {place} {}", outcome.as_str()));
            let mut stored = run_in_process::stored(stored, &target)?;
            if !args.wait.wait {
                stored.spec.wait = Some(false);
            }
            reconcile::run(cluster, &stored, &distribution, options, listener).await
        },
    )
    .await?;
    conclude(session, &key, &outcome, &session.look_at(&target))
}

/// The same command line without `--in-process`.
fn again(session: &Session<'_>, args: &Args, target: &Target) -> String {
    let file = args.filename.as_deref().unwrap_or("FILE");
    session.command(&format!("apply instance -f {file}"), &target.namespace)
}

async fn through_operator(
    session: &Session<'_>,
    args: &Args,
    instance: &FluxInstance,
    written: &Value,
) -> Result<Exit, CliError> {
    let target = target(instance);
    let place = session.place(&target.reference());
    let dry_run = args.dry_run.dry_run == Some(DryRun::Server);
    let resource = target.kind.resource_type();
    let options = ApplyOptions { field_manager: CLI_FIELD_MANAGER, force: args.force_conflicts, dry_run };
    let apply = async {
        let live = session.cluster.find(&resource, Some(&target.namespace), &target.name).await?;
        session.cluster.apply(&resource, written, live.as_ref(), &options).await
    };
    let attempted = format!("apply {place}");
    let ((outcome, after), attention) =
        tokio::try_join!(session.bounded(&attempted, apply), session.attention(&target))?;
    let prefix = if dry_run { "(server dry run) " } else { "" };
    session.shell.status(&format!("{prefix}► {place} {}", outcome.as_str()));
    if dry_run {
        return Ok(Exit::Done);
    }
    let resume = session.command(&format!("wait {}", target.words()), &target.namespace);
    session.shell.interruption().set("the object is stored, and the operator goes on with it", Some(resume));
    if attention.is_nobody() {
        return nobody(session, args, &target, &attention);
    }
    if !args.wait.wait {
        return Ok(Exit::Done);
    }
    let uid = after.pointer("/metadata/uid").and_then(Value::as_str).map(str::to_owned);
    let followed = [Followed { target, request: None, absent: Absent::Ends, uid }];
    until_ready(session, &followed, args.progress.progress).await
}

/// The object is written, and nobody will act on it.
fn nobody(session: &Session<'_>, args: &Args, target: &Target, attention: &Attention) -> Result<Exit, CliError> {
    let place = session.place(&target.reference());
    let here = format!("{} --in-process", again(session, args, target));
    let message = format!("{place} is stored, but nobody will act on it");
    if !args.wait.wait {
        session.shell.warn(&format!("{message}: {attention}"));
        session.shell.hint(&format!("reconcile it from here with `{here}`"));
        return Ok(Exit::Done);
    }
    Err(CliError::failed(message)
        .cause(attention.to_string())
        .object(target.reference())
        .hint(format!("reconcile it from here with `{here}`")))
}

fn target(instance: &FluxInstance) -> Target {
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    let metadata = &instance.metadata;
    Target { kind: instance_kind(), namespace: text(&metadata.namespace), name: text(&metadata.name) }
}
