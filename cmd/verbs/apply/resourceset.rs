//! `apply resourceset`: applies the object, then waits for the operator, or does the operator's work here.

use std::path::Path;

use flux_operator::api::well_known::CLI_FIELD_MANAGER;
use flux_operator::cluster::{ApplyResult, Cluster, WriteOptions};
use flux_operator::reconcile::{self, RunOptions};
use serde_json::Value;

use super::Args;
use crate::args::DryRun;
use crate::args::objects::no_file_given;
use crate::flows::dry_run::print_unsent;
use crate::flows::resource_set::{self, options};
use crate::flows::rights::{EXPLAINS_SILENCE, FINDS_OPERATOR, Rights, always, when};
use crate::flows::run_in_process::{
    self, Listener, RunRequest, reconcile_here, refuse_beside_running_operator, step_counts,
};
use crate::flows::through_operator::ThroughOperator;
use crate::session::Session;
use crate::session::connect::context_namespace;
use crate::session::target::Target;
use crate::terminal::{CliError, Exit, Shell};

pub fn rights(args: &Args, rights: &mut Rights) {
    let namespace = rights.flux_namespace();
    // The name of the set is in the file, so the rights cover the namespace.
    rights.in_namespace(
        &namespace,
        &[always("get patch", "resourcesets"), when("the set is new", "create list watch", "resourcesets")],
    );
    if args.in_process.in_process {
        rights.run_set_in_process();
    } else {
        rights.everywhere(EXPLAINS_SILENCE);
        rights.everywhere(FINDS_OPERATOR);
    }
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let Some(file) = &args.filename else { return Err(no_file_given()) };
    // A client dry run has to work without a cluster.
    if args.follow.dry_run() == Some(DryRun::Client) {
        let namespace = context_namespace(shell.global());
        let (_, written) = shell.run(resource_set::read(file, namespace.as_deref(), shell))?;
        return print_unsent(shell, &written);
    }
    shell.block_on(async {
        let (session, target, written) = shell
            .interruptible(async {
                let session = Session::open(shell).await?;
                let (target, written) = resource_set::read(file, session.cluster.namespace.as_deref(), shell).await?;
                Ok((session, target, written))
            })
            .await?;
        if args.in_process.in_process {
            return apply_in_process(&session, args, &target, &written).await;
        }
        let here = format!("{} --in-process", command_without_in_process(&session, args, &target));
        let applied = shell.interruptible(through_operator(&session, args, target, &written)).await;
        // Without the API there is no operator.
        applied.map_err(|error| match error.exit() {
            Exit::ApiMissing => error.hint(format!("install the API and apply from here with `{here}`")),
            _ => error,
        })
    })?
}

fn command_without_in_process(session: &Session<'_>, args: &Args, target: &Target) -> String {
    session.command(
        &format!("apply resourceset -f {}", args.filename.as_deref().unwrap_or(Path::new("FILE")).display()),
        &target.namespace,
    )
}

async fn apply_in_process(
    session: &Session<'_>,
    args: &Args,
    target: &Target,
    written: &Value,
) -> Result<Exit, CliError> {
    let mode = args.follow.mode();
    let without = command_without_in_process(session, args, target);
    let mut options = options(&args.in_process, &args.account);
    if args.follow.dry_run() == Some(DryRun::Server) {
        refuse_beside_running_operator(session, &args.in_process, target, &without).await?;
        let plan = run_in_process::plan_resource_set(session, target, Some(written), &options, mode).await?;
        let place = session.place(&target.reference());
        let counts = step_counts(|step| plan.count(step));
        session.shell.status(&format!("(server dry run) {place}: {counts}"));
        return Ok(Exit::Done);
    }
    let again = format!("{without} --in-process");
    let request = RunRequest { session, mode, target, verb: "apply", again: &again, without: &without };
    options.wait = args.follow.waits();
    let work = async |cluster: &Cluster, options: &RunOptions, listener: &Listener| {
        reconcile::apply_resource_set(cluster, written, args.force_conflicts, options, listener).await
    };
    reconcile_here(&request, options, &args.confirm, work).await
}

async fn through_operator(
    session: &Session<'_>,
    args: &Args,
    target: Target,
    written: &Value,
) -> Result<Exit, CliError> {
    let dry_run = args.follow.dry_run() == Some(DryRun::Server);
    let options = WriteOptions { field_manager: CLI_FIELD_MANAGER, force: args.force_conflicts, dry_run };
    let place = session.place(&target.reference());
    let attempted = format!("apply {place}");
    let id = target.id();
    let apply = async {
        let live = session.bounded(&attempted, session.cluster.read(&id)).await?;
        let after = session.bounded(&attempted, session.cluster.apply(written, options)).await?;
        Ok((ApplyResult::of(live.as_ref(), &after), after))
    };
    let through = ThroughOperator {
        dry_run,
        wait: args.follow.waits(),
        progress: args.follow.mode(),
        command: command_without_in_process(session, args, &target),
    };
    through.carry_out(session, target, apply).await
}
