//! `uninstall instance`: removes Flux and keeps what it deployed.

use std::collections::BTreeMap;

use flux_operator::api::FluxInstance;
use flux_operator::cluster::{Cluster, DeleteOptions};
use flux_operator::k8s::ObjectId;
use flux_operator::reconcile::operator::OperatorCoverage;
use flux_operator::reconcile::{RunOptions, UninstallOptions, UninstallPlan, Uninstalled, uninstall, uninstall_plan};
use flux_operator::request::Absent;
use futures::stream::{StreamExt, TryStreamExt, iter};
use tokio::time::Instant;

use crate::args::{DryRun, DryRunArgs, WaitArgs};
use crate::flows::follow::{Followed, until_gone};
use crate::flows::operator::way_without;
use crate::flows::request::request_deletion;
use crate::flows::run_in_process;
use crate::flows::run_in_process::{
    DistributionArgs, InProcessArgs, Listener, RunRequest, reconcile_error, refuse_beside_operator, uninstall_here,
};
use crate::session::Session;
use crate::session::connect::cli_error;
use crate::session::target::Target;
use crate::terminal::confirm::{Agreement, ConfirmArgs, confirm};
use crate::terminal::progress::ProgressArgs;
use crate::terminal::{CliError, Exit, Shell};

/// Uninstall Flux and delete its FluxInstance
///
/// First lists the objects to delete and to keep, with counts per kind, and asks. What Flux has deployed keeps running;
/// the definition of FluxInstance is always kept. A running operator does the work; without one, --in-process does it
/// here. The next run completes an interrupted one.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # See what would go and what would stay\n  \
    flux-operator -n flux-system uninstall instance --dry-run=client\n\n  \
    # Uninstall Flux without an operator in the cluster\n  \
    flux-operator -n flux-system uninstall instance flux --in-process --yes\n\n  \
    # Keep Flux's definitions and all objects of their kinds\n  \
    flux-operator uninstall instance --in-process --keep-crds --yes")]
pub struct Args {
    /// Name of the instance
    #[arg(default_value = "flux", add = crate::args::complete::instances())]
    pub name: String,
    #[command(flatten)]
    pub in_process: InProcessArgs,
    /// Keep the definitions of Flux's kinds and all their objects
    #[arg(long, requires = "in_process")]
    pub keep_crds: bool,
    #[command(flatten)]
    pub confirm: ConfirmArgs,
    #[command(flatten)]
    pub wait: WaitArgs,
    #[command(flatten)]
    pub dry_run: DryRunArgs,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    shell.block_on(async {
        let (session, target, instance, plan) = shell.interruptible(look(args, shell)).await?;
        shell.print(&listing(&session, &target, &plan));
        let place = session.place(&target.reference());
        if let Some(where_) = args.dry_run.dry_run {
            if where_ == DryRun::Server {
                shell.interruptible(dry_run(&session, &plan)).await?;
            }
            shell.status(&format!("(dry run) {place} is not uninstalled"));
            return Ok(Exit::Done);
        }
        let question = format!("uninstall Flux of {place}");
        let context = session.cluster.endpoint.context.as_deref();
        shell.interruptible(confirm(shell, &args.confirm, context, &question, Agreement::Word(&args.name))).await?;
        // The user's answer must not count against the time-out.
        let session = session.with_new_deadline();
        if args.in_process.in_process {
            return uninstall_in_process(&session, args, &target, &instance).await;
        }
        shell.interruptible(through_operator(&session, args, &target, &instance)).await
    })?
}

async fn look<'a>(
    args: &Args,
    shell: &'a Shell,
) -> Result<(Session<'a>, Target, FluxInstance, UninstallPlan), CliError> {
    let session = Session::open(shell).await?;
    let target = session.instance(&args.name);
    let (object, coverage) = tokio::try_join!(session.get(&target), session.operator_coverage(&target))?;
    let without = session.command(&format!("uninstall {}", target.words()), &target.namespace);
    if args.in_process.in_process {
        refuse_beside_operator(&session, &args.in_process, &target.reference(), &coverage, &without)?;
    } else {
        refuse_without_operator(&session, &target, &coverage, &without)?;
    }
    // Deleting a suspended instance always keeps Flux in the cluster, whoever does the work.
    if target.is_suspended(&object) {
        return Err(CliError::failed(format!("{} is suspended", session.place(&target.reference())))
            .cause("Flux stays in the cluster when a suspended instance is deleted")
            .object(target.reference())
            .hint(format!(
                "resume it first with `{}`",
                session.command(&format!("resume {}", target.words()), &target.namespace)
            )));
    }
    let instance = run_in_process::instance_of(object)?;
    let options = UninstallOptions { keep_crds: args.keep_crds, ..UninstallOptions::default() };
    let key = target.reference();
    let plan = uninstall_plan(&session.cluster, &instance, &options).await;
    let plan = plan.map_err(|error| reconcile_error(&session, &error, "uninstall", &key))?;
    Ok((session, target, instance, plan))
}

fn refuse_without_operator(
    session: &Session<'_>,
    target: &Target,
    coverage: &OperatorCoverage,
    without: &str,
) -> Result<(), CliError> {
    if !coverage.is_nobody() {
        return Ok(());
    }
    Err(CliError::failed(format!("cannot uninstall {}: nobody would do it", session.place(&target.reference())))
        .cause(coverage.to_string())
        .object(target.reference())
        .hint(way_without(session, coverage, "do it from here", &format!("{without} --in-process"))))
}

/// Deletes the object and follows the operator's work.
async fn through_operator(
    session: &Session<'_>,
    args: &Args,
    target: &Target,
    instance: &FluxInstance,
) -> Result<Exit, CliError> {
    request_deletion(session, target, instance.metadata.uid.clone(), false).await?;
    if !args.wait.wait {
        return Ok(Exit::Done);
    }
    let followed =
        Followed { target: target.clone(), request: None, absent: Absent::Ends, uid: instance.metadata.uid.clone() };
    until_gone(session, &followed, args.progress.progress).await?;
    session.shell.print(&format!("{}: uninstalled\n", target.reference()));
    Ok(Exit::Done)
}

async fn uninstall_in_process(
    session: &Session<'_>,
    args: &Args,
    target: &Target,
    instance: &FluxInstance,
) -> Result<Exit, CliError> {
    let keep = if args.keep_crds { " --keep-crds" } else { "" };
    let words = format!("uninstall {} --in-process{keep} --yes", target.words());
    let again = session.command(&words, &target.namespace);
    let without = session.command(&format!("uninstall {}", target.words()), &target.namespace);
    let request = RunRequest {
        session,
        mode: args.progress.progress,
        target,
        verb: "uninstall",
        again: &again,
        without: &without,
    };
    let options = run_in_process::options(&args.in_process, &DistributionArgs::default());
    let work = async |cluster: &Cluster, options: &RunOptions, listener: &Listener| {
        let deadline = options.health_deadline.unwrap_or_else(|| session.deadline.instant());
        let options = UninstallOptions {
            lease: options.lease.clone(),
            force: options.force,
            keep_crds: args.keep_crds,
            timeout: deadline.saturating_duration_since(Instant::now()),
            interrupts: options.interrupts.clone(),
            ..UninstallOptions::default()
        };
        uninstall(cluster, instance, &options, listener).await
    };
    let done = uninstall_here(&request, options, work).await?;
    print_uninstalled(session, &target.reference(), &done, &again)
}

fn print_uninstalled(session: &Session<'_>, key: &str, done: &Uninstalled, again: &str) -> Result<Exit, CliError> {
    session.shell.status(&format!("deleted: {}", counts(done.deleted.iter())));
    let held = done.held.iter().map(|held| format!("{} is held by {}", held.object, held.finalizers.join(", ")));
    let held: Vec<String> = held.collect();
    if done.is_complete() && held.is_empty() {
        session.shell.print(&format!("{key}: uninstalled\n"));
        return Ok(Exit::Done);
    }
    let exit = match done.errors.first() {
        Some((_, error)) => cli_error(error).exit(),
        None => Exit::Unhealthy,
    };
    let mut error = CliError::new(exit, format!("{key} is not uninstalled completely")).object(key);
    for (object, failure) in &done.errors {
        error = error.cause(format!("cannot delete {object}: {}", failure.sentence()));
    }
    error = held.iter().fold(error, |error, held| error.cause(held.clone()));
    for remaining in &done.remaining {
        error = error.cause(format!("still there: {} ({}) {}", remaining.object, remaining.health, remaining.detail));
    }
    if !held.is_empty() {
        error = error.hint("these finalizers belong to somebody else: remove them there, or by hand");
    }
    Err(error.hint(format!("the next run goes on from here: `{again}`")))
}

/// Lets the server check every deletion without deleting.
async fn dry_run(session: &Session<'_>, plan: &UninstallPlan) -> Result<(), CliError> {
    const CONCURRENT: usize = 16;
    let dry_run = DeleteOptions { dry_run: true, ..DeleteOptions::default() };
    let dry_run = &dry_run;
    let cluster = &session.cluster;
    let work = iter(&plan.deletes)
        .map(async |id: &ObjectId| cluster.delete(id, dry_run).await.map(drop).map_err(|error| cli_error(&error)));
    work.buffer_unordered(CONCURRENT).try_collect::<()>().await
}

/// Formats the objects to delete and to keep.
fn listing(session: &Session<'_>, target: &Target, plan: &UninstallPlan) -> String {
    let mut text = format!("{}\n\nGoes:\n", session.place(&target.reference()));
    for (kind, count) in plan.counts() {
        text.push_str(&format!("  {count} {kind}\n"));
    }
    if !plan.custom_resources.is_empty() {
        text.push_str("with their definitions:\n");
    }
    for (kind, count) in &plan.custom_resources {
        text.push_str(&format!("  {count} {kind}\n"));
    }
    text.push_str("\nStays:\n  everything Flux has deployed\n");
    for kept in &plan.keeps {
        text.push_str(&format!("  {}: {}\n", kept.object, kept.reason));
    }
    for held in &plan.held {
        text.push_str(&format!("  {}: its finalizers are not Flux's: {}\n", held.object, held.finalizers.join(", ")));
    }
    text
}

fn counts<'a>(objects: impl Iterator<Item = &'a ObjectId>) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for object in objects {
        *counts.entry(&object.kind).or_default() += 1;
    }
    let list: Vec<String> = counts.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    if list.is_empty() { "nothing".to_owned() } else { list.join(", ") }
}
