//! `uninstall instance`: removes Flux and keeps what it deployed.

use flux_operator::api::FluxInstance;
use flux_operator::cluster::DeleteOptions;
use flux_operator::k8s::ObjectId;
use flux_operator::reconcile::{UninstallOptions, UninstallPlan, uninstall_plan};
use flux_operator::request::AbsencePolicy;
use futures::stream::{StreamExt, TryStreamExt, iter};

use super::Args;
use crate::args::DryRun;
use crate::flows::follow::{FollowedObject, resume_command, until_gone};
use crate::flows::here::{self, InProcessUninstall};
use crate::flows::operator::refused_without_operator;
use crate::flows::request::request_deletion;
use crate::flows::rights::{
    FINDS_OPERATOR, FLUX, KIND, READS_INVENTORY_CLUSTER, READS_INVENTORY_NAMESPACE, Rights, always, when,
};
use crate::flows::run_in_process;
use crate::flows::run_in_process::{is_done_here, reconcile_error, refuse_beside_operator};
use crate::session::Session;
use crate::session::connect::cli_error;
use crate::session::target::Target;
use crate::terminal::confirm::{Agreement, check_consent, confirm};
use crate::terminal::{CliError, Exit, Shell};

pub fn rights(args: &Args, rights: &mut Rights) -> Result<(), CliError> {
    let name = args.instance.name("uninstall")?;
    let namespace = rights.flux_namespace();
    rights.instance(name, &[always("get delete", KIND)]);
    rights.everywhere(FINDS_OPERATOR);
    if args.in_process.in_process {
        rights.run_in_process();
        return Ok(());
    }
    rights.everywhere(&[when("the objects to be deleted are shown", "get list", FLUX)]);
    rights.everywhere(READS_INVENTORY_CLUSTER);
    rights.in_namespace(&namespace, READS_INVENTORY_NAMESPACE);
    if args.follow.waits() {
        rights.instance(name, &[when("the instance is not deleted immediately", "list watch", KIND)]);
    }
    Ok(())
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    shell.block_on(async {
        let UninstallPreview { session, target, instance, plan, here } =
            shell.interruptible(preview(args, shell)).await?;
        shell.print(&listing(&session, &target, &plan));
        let place = session.place(&target.reference());
        let question = format!("uninstall Flux of {place}");
        let context = session.cluster.endpoint.context.as_deref();
        if let Some(where_) = args.follow.dry_run() {
            if where_ == DryRun::Server {
                shell.interruptible(dry_run(&session, &plan)).await?;
            }
            shell.status(&format!("Dry run: nothing was uninstalled ({place})"));
            return check_consent(shell, &args.confirm, context, &question).map(|()| Exit::Done);
        }
        shell
            .interruptible(confirm(
                shell,
                &args.confirm,
                context,
                &question,
                Agreement::Name { of: "instance", name: &target.name },
            ))
            .await?;
        // The user's answer must not count against the time-out.
        let session = session.with_new_deadline();
        if here {
            let work = InProcessUninstall {
                in_process: &args.in_process,
                keep_crds: args.keep_crds,
                mode: args.follow.mode(),
            };
            return here::uninstall_instance(&session, &target, &instance, &work).await;
        }
        shell.interruptible(through_operator(&session, args, &target, &instance)).await
    })?
}

/// The state of the cluster before the question.
struct UninstallPreview<'a> {
    session: Session<'a>,
    target: Target,
    instance: FluxInstance,
    plan: UninstallPlan,
    /// Whether this process does the work.
    here: bool,
}

async fn preview<'a>(args: &Args, shell: &'a Shell) -> Result<UninstallPreview<'a>, CliError> {
    let name = args.instance.name("uninstall")?;
    let session = Session::open(shell).await?;
    let target = session.instance(name);
    let here = match args.follow.dry_run() {
        Some(_) => args.in_process.in_process,
        None => is_done_here(&session, &args.in_process, &target).await?,
    };
    let (object, coverage) = tokio::try_join!(session.get(&target), session.operator_coverage(&target))?;
    let without = session.command(&format!("uninstall {}", target.words()), &target.namespace);
    if here {
        refuse_beside_operator(&session, &args.in_process, &target.reference(), &coverage, &without)?;
    } else if coverage.is_missing() {
        let here = format!("{without} --in-process");
        return Err(refused_without_operator(&session, &target, "uninstall", &coverage, &here));
    }
    // Deleting a suspended instance always keeps Flux in the cluster, with an operator as well as without.
    if target.is_suspended(&object) {
        return Err(CliError::failed(format!("{} is suspended", session.place(&target.reference())))
            .cause("Flux stays in the cluster when a suspended instance is deleted")
            .object(target.reference())
            .hint(format!("resume it first with `{}`", resume_command(&session, &target).await)));
    }
    let instance = run_in_process::instance_of(object)?;
    let options = UninstallOptions { keep_crds: args.keep_crds, ..UninstallOptions::default() };
    let key = target.reference();
    let plan = uninstall_plan(&session.cluster, &instance, &options).await;
    let plan = plan.map_err(|error| reconcile_error(&session, &error, "uninstall", &key))?;
    Ok(UninstallPreview { session, target, instance, plan, here })
}

/// Deletes the object and follows the operator's work.
async fn through_operator(
    session: &Session<'_>,
    args: &Args,
    target: &Target,
    instance: &FluxInstance,
) -> Result<Exit, CliError> {
    request_deletion(session, target, instance.metadata.uid.clone(), false).await?;
    if !args.follow.waits() {
        return Ok(Exit::Done);
    }
    let followed = FollowedObject {
        target: target.clone(),
        request: None,
        absent: AbsencePolicy::Ends,
        uid: instance.metadata.uid.clone(),
    };
    until_gone(session, &followed, args.follow.mode()).await?;
    session.shell.print(&format!("{}: uninstalled\n", target.reference()));
    Ok(Exit::Done)
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
    let mut text = format!("{}\n\nWill be deleted:\n", session.place(&target.reference()));
    for (kind, count) in plan.counts() {
        text.push_str(&format!("  {count} {kind}\n"));
    }
    if !plan.custom_resources.is_empty() {
        text.push_str("  and, with their CRDs:\n");
    }
    for (kind, count) in &plan.custom_resources {
        text.push_str(&format!("  {count} {kind}\n"));
    }
    text.push_str("\nWill be kept:\n  everything Flux has deployed\n");
    for kept in &plan.keeps {
        text.push_str(&format!("  {}: {}\n", kept.object, kept.reason));
    }
    for held in &plan.held {
        text.push_str(&format!("  {}: its finalizers are not Flux's: {}\n", held.object, held.finalizers.join(", ")));
    }
    text
}
