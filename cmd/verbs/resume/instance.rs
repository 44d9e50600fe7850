//! `resume instance`: the operator reconciles the instance again, at once.

use super::Args;
use crate::flows::follow::request_and_follow;
use crate::flows::here::{self, InProcessReconcile};
use crate::flows::request::{RequestKind, send};
use crate::flows::run_in_process::{DistributionArgs, is_done_here, refuse_beside_operator};
use crate::session::Session;
use crate::terminal::confirm::ConfirmArgs;
use crate::terminal::{CliError, Exit, Shell};

pub fn run(args: &Args, name: &str, shell: &Shell) -> Result<Exit, CliError> {
    shell.block_on(async {
        let session = shell.interruptible(Session::open(shell)).await?;
        let target = session.instance(name);
        let dry_run = args.follow.dry_run();
        let targets = [target];
        let [target] = &targets;
        let here = async {
            match dry_run.is_some() || !args.follow.waits() {
                true => Ok(args.in_process.in_process && dry_run.is_none()),
                false => is_done_here(&session, &args.in_process, target).await,
            }
        };
        if !shell.interruptible(here).await? {
            let follow = request_and_follow(&session, &targets, RequestKind::Resume, &args.follow);
            return shell.interruptible(follow).await;
        }
        let coverage = shell.interruptible(session.operator_coverage(target)).await?;
        let without = session.command(&format!("resume {}", target.words()), &target.namespace);
        // Checked before the suspension ends, because a running operator would begin at once.
        refuse_beside_operator(&session, &args.in_process, &target.reference(), &coverage, &without)?;
        let (_, failed) = shell.interruptible(send(&session, &targets, RequestKind::Resume, None)).await?;
        if let Some(error) = failed.into_iter().next() {
            return Err(error);
        }
        let work = InProcessReconcile {
            in_process: &args.in_process,
            distribution: &DistributionArgs::default(),
            confirm: &ConfirmArgs::default(),
            mode: args.follow.mode(),
            wait: args.follow.waits(),
            force: false,
        };
        here::reconcile_instance(&session, target, &work).await
    })?
}
