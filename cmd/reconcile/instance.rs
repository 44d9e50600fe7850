//! `reconcile instance`: asks the operator to look at a FluxInstance now, or does its work here.

use flux_operator::reconcile::{self, Options};

use crate::common::args::{DryRun, DryRunArgs, WaitArgs};
use crate::common::run_in_process;
use crate::common::run_in_process::{
    DistributionArgs, InProcessArgs, Listener, conclude, plan_counts, refuse_beside_operator,
};
use crate::common::{Act, Session, Target, request_and_follow, send, suspended};
use crate::shell::progress::ProgressArgs;
use crate::shell::{CliError, Exit, Shell};

/// Reconcile a FluxInstance now
///
/// Waits until the operator has handled the request and the instance is ready,
/// and prints its message. With --in-process the operator's work is done here.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Reconcile now and wait for the outcome\n  \
    flux-operator -n flux-system reconcile instance flux\n\n  \
    # Also migrate all Flux resources to their latest API version\n  \
    flux-operator -n flux-system reconcile instance flux --force\n\n  \
    # Only send the request\n  \
    flux-operator -n flux-system reconcile instance flux --wait=false\n\n  \
    # Correct drift without an operator in the cluster\n  \
    flux-operator -n flux-system reconcile instance --in-process")]
pub struct Args {
    /// Name of the instance
    #[arg(default_value = "flux", add = crate::common::complete::instances())]
    pub name: String,
    /// Also migrate all Flux resources to their latest API version
    #[arg(long)]
    pub force: bool,
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
    if !args.in_process.in_process && args.distribution.is_given() {
        return Err(
            CliError::usage("--distribution and --strict are for runs in this process").hint("add --in-process")
        );
    }
    shell.block_on(async {
        let session = shell.interruptible(Session::open(shell)).await?;
        let target = session.instance(&args.name);
        if args.in_process.in_process && args.dry_run.dry_run != Some(DryRun::Client) {
            return here(&session, args, &target).await;
        }
        let act = Act::Reconcile { force: args.force };
        let wait = args.wait.wait;
        let targets = [target];
        let follow = request_and_follow(&session, &targets, act, args.dry_run.dry_run, wait, args.progress.progress);
        shell.interruptible(follow).await
    })?
}

async fn here(session: &Session<'_>, args: &Args, target: &Target) -> Result<Exit, CliError> {
    let shell = session.shell;
    let reference = target.reference();
    let without = session.command(&format!("reconcile {}", target.words()), &target.namespace);
    let (mut instance, distribution) = shell
        .interruptible(async {
            let (object, attention) = tokio::try_join!(session.get(target), session.attention(target))?;
            refuse_beside_operator(session, &args.in_process, &reference, &attention, &without)?;
            if target.switch().is_off(&object) {
                return Err(suspended(session, target));
            }
            let instance = run_in_process::typed(object)?;
            let distribution = args.distribution.open(session, &instance)?;
            Ok((instance, distribution))
        })
        .await?;
    let options = run_in_process::options(&args.in_process, args.distribution.strict);
    if args.dry_run.dry_run == Some(DryRun::Server) {
        let plan = run_in_process::plan(session, &instance, &distribution, &options, args.progress.progress).await?;
        shell.status(&format!("(server dry run) {}: {}", session.place(&reference), plan_counts(&plan)));
        return Ok(Exit::Done);
    }
    // The request is written also when we answer it: the status then says which request it is about.
    let (sent, failed) =
        send(session, std::slice::from_ref(target), Act::Reconcile { force: args.force }, None).await?;
    if let Some(error) = failed.into_iter().next() {
        return Err(error);
    }
    if let Some(one) = sent.into_iter().next() {
        instance = run_in_process::typed(one.object)?;
    }
    if !args.wait.wait {
        instance.spec.wait = Some(false);
    }
    let key = reference.to_string();
    let again = format!("{without} --in-process");
    let cluster = &session.cluster;
    let work = async |options: &Options, listener: &Listener| {
        reconcile::run(cluster, &instance, &distribution, options, listener).await
    };
    let outcome =
        run_in_process::conduct(session, args.progress.progress, options, "reconcile", &key, &again, work).await?;
    conclude(session, &key, &outcome, &session.look_at(target))
}
