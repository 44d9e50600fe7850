//! `apply instance`: applies the object, then waits for the operator, or does the operator's work here.

use std::path::Path;

use flux_operator::api::manifest::InstanceManifest;
use flux_operator::api::well_known::{CLI_FIELD_MANAGER, OLDER_MINOR_ANNOTATION};
use flux_operator::build::{BuildError, check_range};
use flux_operator::cluster::{ApplyResult, WriteOptions};
use flux_operator::distribution::Distribution;
use flux_operator::k8s::fields;
use flux_operator::reconcile::ReconcileError;
use serde_json::Value;

use super::Args;
use super::planned::{self, PlannedArgs};
use crate::args::DryRun;
use crate::args::objects::no_file_given;
use crate::flows::dry_run::print_unsent;
use crate::flows::here::{self, InProcessApply};
use crate::flows::pull_secrets::{LOOKS_FOR_PULL_SECRETS, missing_pull_secrets};
use crate::flows::rights::{COMPARES_CLUSTER, COMPARES_NAMESPACE, FINDS_OPERATOR, Right, Rights, always, under, when};
use crate::flows::run_in_process::{RunRequest, agree_to_store, is_done_here, read_unless_second, reconcile_error};
use crate::flows::through_operator::ThroughOperator;
use crate::session::Session;
use crate::session::connect::context_namespace;
use crate::session::manifest_file::read_instance_for;
use crate::session::target::Target;
use crate::terminal::{CliError, Exit, Shell};

/// Rights on the instance. Its name is in the file, so they cover the namespace.
const STORES: &[Right] = &[
    always("get patch", "fluxinstances"),
    when("the instance is new", "create list", "fluxinstances"),
    when("the command waits for the instance", "list watch", "fluxinstances"),
];

pub fn rights(args: &Args, rights: &mut Rights) {
    let namespace = rights.flux_namespace();
    rights.in_namespace(&namespace, STORES);
    rights.in_namespace(&namespace, LOOKS_FOR_PULL_SECRETS);
    rights.everywhere(&[when("the command looks for instances in other namespaces", "list", "fluxinstances")]);
    if args.in_process.in_process || args.plan.is_some() {
        rights.run_in_process();
        return;
    }
    // With an operator, a plan shows what a protected context would lose, before the instance is stored.
    const LOSES: &str = "the change may delete custom resources";
    rights.everywhere(&under(LOSES, COMPARES_CLUSTER));
    rights.in_namespace(&namespace, &under(LOSES, COMPARES_NAMESPACE));
    rights.everywhere(FINDS_OPERATOR);
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    // An operator reads the distribution from the spec, and would never see the flags.
    if !args.in_process.in_process && args.plan.is_none() && args.distribution.is_given() {
        return Err(CliError::usage("--distribution and --strict are for runs in this process")
            .hint("add --in-process, or give the operator a distribution in spec.distribution.artifact"));
    }
    if let Some(plan) = &args.plan {
        let planned = PlannedArgs {
            file: plan,
            force_conflicts: args.force_conflicts,
            confirm: &args.confirm,
            in_process: &args.in_process,
            progress: &args.follow.progress,
        };
        return planned::run(&planned, shell);
    }
    let Some(file) = &args.filename else { return Err(no_file_given()) };
    // A client dry run has to work without a cluster.
    if args.follow.dry_run() == Some(DryRun::Client) {
        let namespace = context_namespace(shell.global());
        let manifest = shell.run(read_instance_for(file, namespace.as_deref(), shell))?;
        return print_unsent(shell, &manifest.written);
    }
    shell.block_on(async {
        let (session, manifest) = shell
            .interruptible(async {
                let session = Session::open(shell).await?;
                let manifest = read_instance_for(file, session.cluster.namespace.as_deref(), shell).await?;
                Ok((session, manifest))
            })
            .await?;
        let target = Target::of_instance(&manifest.instance);
        // A missing Secret would only show as a source that never becomes ready.
        let missing = async { Ok(missing_pull_secrets(&session, &manifest.instance).await) };
        shell.interruptible(missing).await?.iter().for_each(|missing| shell.warn(missing));
        let here = async {
            match args.follow.dry_run() {
                // A dry run stores nothing that an operator would have to act on.
                Some(_) => Ok(args.in_process.in_process),
                None => is_done_here(&session, &args.in_process, &target).await,
            }
        };
        if shell.interruptible(here).await? {
            return apply_in_process(&session, args, &manifest).await;
        }
        let (confirm, mode) = (&args.confirm, args.follow.mode());
        let is_dry = args.follow.dry_run().is_some();
        if !is_dry {
            agree_to_store(&session, &manifest, &args.distribution, confirm, mode, false).await?;
        }
        // The user's answer must not count against the time-out.
        let session = session.with_new_deadline();
        let applied = shell.interruptible(through_operator(&session, args, &manifest)).await;
        // A dry run shows its result before it checks the agreement.
        if is_dry && applied.is_ok() {
            agree_to_store(&session, &manifest, &args.distribution, confirm, mode, true).await?;
        }
        // Without the API there is no operator.
        applied.map_err(|error| match error.exit() {
            Exit::ApiMissing => {
                let target = Target::of_instance(&manifest.instance);
                let here = format!("{} --in-process", command_without_in_process(&session, args, &target));
                error.hint(format!("install Flux from here with `{here}`"))
            }
            _ => error,
        })
    })?
}

/// Applies the object and does the operator's work in this process.
async fn apply_in_process(session: &Session<'_>, args: &Args, manifest: &InstanceManifest) -> Result<Exit, CliError> {
    let target = Target::of_instance(&manifest.instance);
    let mode = args.follow.mode();
    let without = command_without_in_process(session, args, &target);
    if args.follow.dry_run() == Some(DryRun::Server) {
        let request = RunRequest { session, mode, target: &target, verb: "apply", again: "", without: &without };
        return here::dry_run(&request, &args.in_process, &args.distribution, &args.confirm, Some(manifest)).await;
    }
    let work = InProcessApply {
        in_process: &args.in_process,
        distribution: &args.distribution,
        confirm: &args.confirm,
        mode,
        wait: args.follow.waits(),
        force_conflicts: args.force_conflicts,
        without: &without,
    };
    here::apply_instance(session, manifest, &work).await
}

/// Formats the same command line without `--in-process`.
fn command_without_in_process(session: &Session<'_>, args: &Args, target: &Target) -> String {
    let file = args.filename.as_deref().unwrap_or(Path::new("FILE"));
    session.command(&format!("apply instance -f {}", file.display()), &target.namespace)
}

/// Refuses a downgrade that the operator would refuse once it is stored, which would break the instance until the next
/// change.
fn refuse_downgrade(
    session: &Session<'_>,
    target: &Target,
    live: &Value,
    manifest: &InstanceManifest,
) -> Result<(), CliError> {
    let installed = fields::text(live, "/status/lastAppliedRevision");
    match check_range(installed, &manifest.instance.spec.distribution.version, &Distribution::embedded()) {
        // `rollback` agreed with the operator on this older version.
        Err(BuildError::Downgrade { to, .. }) if fields::annotation(live, OLDER_MINOR_ANNOTATION) == Some(&to) => {
            Ok(())
        }
        checked => checked
            .map_err(|error| reconcile_error(session, &ReconcileError::Build(error), "apply", &target.reference())),
    }
}

async fn through_operator(session: &Session<'_>, args: &Args, manifest: &InstanceManifest) -> Result<Exit, CliError> {
    let target = Target::of_instance(&manifest.instance);
    let written = &manifest.written;
    let place = session.place(&target.reference());
    let dry_run = args.follow.dry_run() == Some(DryRun::Server);
    let options = WriteOptions { field_manager: CLI_FIELD_MANAGER, force: args.force_conflicts, dry_run };
    // The API server would store a second instance, which no operator reconciles. It is refused before a missing
    // operator is reported, because a run from here would refuse it too.
    let live = read_unless_second(session, manifest).await?;
    if let Some(live) = &live {
        refuse_downgrade(session, &target, live, manifest)?;
    }
    let apply = async {
        let apply = session.cluster.apply(written, options);
        let after = session.bounded(&format!("apply {place}"), apply).await?;
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
