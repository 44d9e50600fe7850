//! `delete resource`: deletes Flux objects, after showing what is deleted with them.

use flux_operator::api::ResourceSet;
use flux_operator::api::well_known::FINALIZER;
use flux_operator::cluster::Cluster;
use flux_operator::inspect::read::from_cluster;
use flux_operator::inspect::views::impact::{has_finalizer, impact};
use flux_operator::k8s::diff::merge;
use flux_operator::reconcile::{RunOptions, finalize_resource_set};
use flux_operator::request::{AbsencePolicy, SuspendNote, suspend_patch};
use serde_json::{Value, json};

use super::Args;
use crate::args::DryRun;
use crate::args::objects::must_suspend;
use crate::flows::follow::{FollowedObject, all_or_error, uid_of, until_gone};
use crate::flows::impact::impact_text;
use crate::flows::inventory::inventory_counts;
use crate::flows::operator::command_without_operator;
use crate::flows::request::{RequestKind, request_deletion, send};
use crate::flows::rights::{EXPLAINS_SILENCE, FINDS_USERS, KIND, Rights, always, when};
use crate::flows::run_in_process::{
    DistributionArgs, Listener, RunRequest, clean_up_here, options, refuse_beside_operator,
};
use crate::output::objects;
use crate::session::Session;
use crate::session::read_source::warn_of_refusals;
use crate::session::target::{ObjectSelection, Target, resource_set_kind};
use crate::terminal::confirm::{Agreement, check_consent, confirm};
use crate::terminal::{CliError, Exit, Shell};

pub fn rights(args: &Args, wanted: &ObjectSelection, rights: &mut Rights) {
    rights.wanted(wanted, &[always("get delete", KIND)]);
    if args.with_suspend {
        rights.wanted(wanted, &[always("patch", KIND)]);
    }
    if args.follow.waits() {
        rights.wanted(wanted, &[when("the object is not deleted immediately", "list watch", KIND)]);
        rights.everywhere(EXPLAINS_SILENCE);
    }
    rights.everywhere(FINDS_USERS);
    if args.in_process.in_process {
        rights.wanted(wanted, &[when("an operator has added its finalizer", "patch", KIND)]);
        rights.run_set_in_process();
    }
}

pub fn run(args: &Args, wanted: ObjectSelection, shell: &Shell) -> Result<Exit, CliError> {
    if args.with_suspend {
        for kind in wanted.kinds() {
            must_suspend(kind, "suspend")?;
        }
    }
    shell.run(async {
        let session = Session::open(shell).await?;
        let targets = session.targets(wanted).await?;
        let mut objects = vec![];
        // Every object is read before the first is deleted, so that a misspelt name deletes nothing.
        for target in &targets {
            objects.push(session.get(target).await?);
        }
        for (target, object) in targets.iter().zip(&mut objects) {
            if args.with_suspend {
                *object = merge(object, &suspend_patch(target.kind.suspension, SuspendNote::default()));
            }
            refuse_to_leave_objects(&session, args, target, object).await?;
            if args.in_process.in_process && !has_finalizer(object) {
                // The finalizer makes the impact include the objects that this process deletes in place of an operator.
                object["metadata"]["finalizers"] = json!([FINALIZER]);
            }
            let object = &*object;
            let view = from_cluster::collect(&session.cluster, |snapshot| impact(snapshot, object));
            let attempted = format!("determine what would be deleted with {}", session.place(&target.reference()));
            let found = session.bounded(&attempted, view).await?;
            warn_of_refusals(shell, &found.refusals);
            shell.status(impact_text(&found.value, false).trim_end());
        }
        let what = match targets.as_slice() {
            [one] => format!("delete {}", session.place(&one.reference())),
            many => format!("delete {} objects ({})", many.len(), session.cluster.endpoint.place()),
        };
        let context = session.cluster.endpoint.context.clone();
        match args.follow.dry_run() {
            Some(DryRun::Client) => {
                shell.status(&format!("(dry run) would {what}"));
                return check_consent(shell, &args.confirm, context.as_deref(), &what).map(|()| Exit::Done);
            }
            Some(DryRun::Server) => {}
            None => confirm(shell, &args.confirm, context.as_deref(), &what, Agreement::Yes).await?,
        }
        // The user's answer must not count against the time-out.
        let session = session.with_new_deadline();
        let is_dry = args.follow.dry_run().is_some();
        // Suspend first: a controller that sees the deletion without the suspension deletes the objects that it
        // applied.
        if args.with_suspend {
            let suspend = RequestKind::Suspend(SuspendNote::default());
            let (_, failed) = send(&session, &targets, suspend, args.follow.dry_run()).await?;
            all_or_error(&session, failed, targets.len(), "suspended")?;
        }
        for (target, object) in targets.iter().zip(&objects) {
            if args.in_process.in_process && !is_dry {
                delete_objects_here(&session, args, target, object).await?;
            }
            request_deletion(&session, target, uid_of(object), is_dry).await?;
        }
        if is_dry {
            shell.status(&format!("(server dry run) would {what}"));
            check_consent(shell, &args.confirm, context.as_deref(), &what)?;
        } else if args.follow.waits() {
            for (target, object) in targets.iter().zip(&objects) {
                let followed = FollowedObject {
                    target: target.clone(),
                    request: None,
                    absent: AbsencePolicy::Ends,
                    uid: uid_of(object),
                };
                until_gone(&session, &followed, args.follow.mode()).await?;
                shell.print(&format!("{}: deleted\n", target.reference()));
            }
        }
        Ok(Exit::Done)
    })
}

/// Refuses a deletion that would leave the objects of a ResourceSet without an owner, or that would run beside a
/// running operator.
async fn refuse_to_leave_objects(
    session: &Session<'_>,
    args: &Args,
    target: &Target,
    object: &Value,
) -> Result<(), CliError> {
    let is_set = *target.kind == *resource_set_kind();
    if args.in_process.in_process {
        if !is_set {
            args.in_process.refuse_for(target.kind)?;
        }
        let coverage = session.operator_coverage(target).await?;
        let without = session.command(&format!("delete {}", target.words()), &target.namespace);
        return refuse_beside_operator(session, &args.in_process, &target.reference(), &coverage, &without);
    }
    let owned: usize = inventory_counts(object).iter().map(|(_, count)| count).sum();
    if !is_set || owned == 0 || has_finalizer(object) || target.is_suspended(object) {
        return Ok(());
    }
    let coverage = session.operator_coverage(target).await?;
    if !coverage.is_missing() {
        // The operator adds the finalizer when it reconciles the set.
        return Ok(());
    }
    let place = session.place(&target.reference());
    let here = session.command(&format!("delete {} --in-process", target.words()), &target.namespace);
    let keeping = session.command(&format!("delete {} --with-suspend", target.words()), &target.namespace);
    Err(CliError::failed(format!("cannot delete {place}: no running operator would delete its {}", objects(owned)))
        .cause(coverage.to_string())
        .object(target.reference())
        .hint(command_without_operator(session, &coverage, "delete it and its objects from here", &here))
        .hint(format!("to keep its objects, run `{keeping}`")))
}

/// Deletes the objects of a ResourceSet, as an operator does before the set is gone.
async fn delete_objects_here(
    session: &Session<'_>,
    args: &Args,
    target: &Target,
    object: &Value,
) -> Result<(), CliError> {
    let attempted = || CliError::failed(format!("cannot delete {}", session.place(&target.reference())));
    let set: ResourceSet = serde_json::from_value(object.clone()).map_err(|error| attempted().caused_by(&error))?;
    let without = session.command(&format!("delete {}", target.words()), &target.namespace);
    let again = session.command(&format!("delete {} --in-process --yes", target.words()), &target.namespace);
    let mode = args.follow.mode();
    let request = RunRequest { session, mode, target, verb: "delete", again: &again, without: &without };
    let work = async |cluster: &Cluster, options: &RunOptions, listener: &Listener| {
        finalize_resource_set(cluster, &set, options, listener).await
    };
    let done = clean_up_here(&request, options(&args.in_process, &DistributionArgs::default()), work).await?;
    if !done.is_complete() {
        let error = attempted().object(target.reference());
        let error = done.errors.iter().fold(error, |error, why| error.cause(why.clone()));
        return Err(error.hint(format!("the next run completes it: `{again}`")));
    }
    session.shell.status(&format!("deleted {}, kept {}", objects(done.deleted.len()), objects(done.kept.len())));
    Ok(())
}
