//! `reconcile instance`: asks the operator to reconcile a FluxInstance now, or does its work here.

use super::Args;
use crate::args::DryRun;
use crate::flows::follow::request_and_follow;
use crate::flows::here::{self, InProcessReconcile};
use crate::flows::request::RequestKind;
use crate::flows::rights::{EXPLAINS_SILENCE, FINDS_OPERATOR, FOLLOWS, KIND, Rights, always};
use crate::flows::run_in_process::{RunRequest, is_done_here};
use crate::session::Session;
use crate::session::target::Target;
use crate::terminal::{CliError, Exit, Shell};

pub fn rights(args: &Args, name: &str, rights: &mut Rights) {
    rights.instance(name, &[always("patch", KIND)]);
    if args.in_process.in_process {
        rights.instance(name, &[always("get", KIND)]);
        rights.run_in_process();
    } else if args.follow.waits() {
        rights.instance(name, FOLLOWS);
        rights.everywhere(EXPLAINS_SILENCE);
        rights.everywhere(FINDS_OPERATOR);
    }
}

pub fn run(args: &Args, name: &str, shell: &Shell) -> Result<Exit, CliError> {
    // An operator reads the distribution from the spec, and would never see the flags.
    if !args.in_process.in_process && args.distribution.is_given() {
        return Err(
            CliError::usage("--distribution and --strict are for runs in this process").hint("add --in-process")
        );
    }
    shell.block_on(async {
        let session = shell.interruptible(Session::open(shell)).await?;
        let target = session.instance(name);
        let here = async {
            match args.follow.dry_run().is_some() || !args.follow.waits() {
                // A dry run reconciles nothing, and without waiting the stored request is enough.
                true => Ok(args.in_process.in_process),
                false => is_done_here(&session, &args.in_process, &target).await,
            }
        };
        if shell.interruptible(here).await? && args.follow.dry_run() != Some(DryRun::Client) {
            return reconcile_in_process(&session, args, &target).await;
        }
        let act = RequestKind::Reconcile { force: args.force, reset: false };
        let targets = [target];
        shell.interruptible(request_and_follow(&session, &targets, act, &args.follow)).await
    })?
}

/// Does the operator's work in this process.
async fn reconcile_in_process(session: &Session<'_>, args: &Args, target: &Target) -> Result<Exit, CliError> {
    let mode = args.follow.mode();
    let without = session.command(&format!("reconcile {}", target.words()), &target.namespace);
    if args.follow.dry_run() == Some(DryRun::Server) {
        let request = RunRequest { session, mode, target, verb: "reconcile", again: "", without: &without };
        return here::dry_run(&request, &args.in_process, &args.distribution, &args.confirm, None).await;
    }
    let work = InProcessReconcile {
        in_process: &args.in_process,
        distribution: &args.distribution,
        confirm: &args.confirm,
        mode,
        wait: args.follow.waits(),
        force: args.force,
    };
    here::reconcile_instance(session, target, &work).await
}
