//! `reconcile resourceset`: asks the operator to look at a ResourceSet now, or does its work here.

use flux_operator::cluster::Cluster;
use flux_operator::reconcile::{self, RunOptions};
use flux_operator::request::{reconcile_patch, token};

use super::Args;
use crate::args::DryRun;
use crate::flows::follow::{request_and_follow, suspended};
use crate::flows::request::RequestKind;
use crate::flows::resource_set::options;
use crate::flows::rights::{EXPLAINS_SILENCE, FINDS_OPERATOR, FOLLOWS, KIND, Rights, always};
use crate::flows::run_in_process::{
    self, Listener, RunRequest, reconcile_here, refuse_beside_running_operator, step_counts,
};
use crate::session::Session;
use crate::session::target::Target;
use crate::terminal::{CliError, Exit, Shell};

pub fn rights(args: &Args, name: &str, rights: &mut Rights) {
    rights.resource_set(name, &[always("get patch", KIND)]);
    if args.in_process.in_process {
        rights.run_set_in_process();
    } else if args.follow.waits() {
        rights.resource_set(name, FOLLOWS);
        rights.everywhere(EXPLAINS_SILENCE);
        rights.everywhere(FINDS_OPERATOR);
    }
}

pub fn run(args: &Args, name: &str, shell: &Shell) -> Result<Exit, CliError> {
    shell.block_on(async {
        let session = shell.interruptible(Session::open(shell)).await?;
        let target = session.resource_set(name);
        if args.in_process.in_process && args.follow.dry_run() != Some(DryRun::Client) {
            return reconcile_in_process(&session, args, &target).await;
        }
        let act = RequestKind::Reconcile { force: false, reset: false };
        let targets = [target];
        shell.interruptible(request_and_follow(&session, &targets, act, &args.follow)).await
    })?
}

/// Does the operator's work in this process.
async fn reconcile_in_process(session: &Session<'_>, args: &Args, target: &Target) -> Result<Exit, CliError> {
    let mode = args.follow.mode();
    let without = session.command(&format!("reconcile resourceset {}", target.name), &target.namespace);
    let mut options = options(&args.in_process, &args.account);
    if args.follow.dry_run() == Some(DryRun::Server) {
        refuse_beside_running_operator(session, &args.in_process, target, &without).await?;
        let plan = run_in_process::plan_resource_set(session, target, None, &options, mode).await?;
        if plan.suspended {
            return Err(suspended(session, target).await);
        }
        let place = session.place(&target.reference());
        let counts = step_counts(|step| plan.count(step));
        session.shell.status(&format!("(server dry run) {place}: {counts}"));
        return Ok(Exit::Done);
    }
    let again = format!("{without} --in-process");
    let request = RunRequest { session, mode, target, verb: "reconcile", again: &again, without: &without };
    options.wait = args.follow.waits();
    // This process handles the request itself. The request is still stored, so that the status names it as handled.
    options.request = Some(reconcile_patch(&token(jiff::Timestamp::now()), false, false));
    let work = async |cluster: &Cluster, options: &RunOptions, listener: &Listener| {
        reconcile::reconcile_resource_set(cluster, &target.id(), options, listener).await
    };
    reconcile_here(&request, options, &args.confirm, work).await
}
