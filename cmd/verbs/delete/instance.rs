//! `delete instance`: deletes the object; the operator then uninstalls Flux.

use std::collections::BTreeMap;

use flux_operator::inspect::views::impact::has_finalizer;
use flux_operator::reconcile::operator::OperatorCoverage;
use flux_operator::reconcile::{UninstallOptions, uninstall_plan};
use flux_operator::request::AbsencePolicy;
use flux_operator::request::SuspendNote;
use serde_json::Value;
use tokio::time::timeout;

use super::Args;
use crate::args::DryRun;
use crate::flows::follow::{FollowedObject, uid_of, until_gone};
use crate::flows::here::{self, InProcessUninstall};
use crate::flows::inventory::inventory_counts;
use crate::flows::operator::command_without_operator;
use crate::flows::request::{RequestKind, request_deletion, send};
use crate::flows::rights::{FINDS_OPERATOR, FLUX, KIND, READS_INVENTORY_NAMESPACE, Rights, always, when};
use crate::flows::run_in_process::{instance_of, is_done_here, refuse_beside_operator};
use crate::session::manifest_file::read_instance_for;
use crate::session::target::Target;
use crate::session::{HINT_LIMIT, Session};
use crate::terminal::confirm::{Agreement, check_consent, confirm};
use crate::terminal::{CliError, Exit, Shell};
use flux_operator::api::kinds::INSTANCE;

pub fn rights(args: &Args, name: &str, rights: &mut Rights) {
    let namespace = rights.flux_namespace();
    let mut rows = vec![always("get delete", KIND)];
    if args.with_suspend {
        rows.push(when("it is not suspended yet", "patch", KIND));
    }
    if args.follow.waits() {
        rows.push(when("the instance is not deleted immediately", "list watch", KIND));
    }
    match &args.filename {
        Some(_) => rights.of_kind(&INSTANCE, Some(&namespace), &[], &rows),
        None => rights.instance(name, &rows),
    }
    rights.everywhere(FINDS_OPERATOR);
    if args.in_process.in_process {
        rights.run_in_process();
    }
    // The objects that go with the definitions are counted.
    rights.everywhere(&[when("Flux is uninstalled with it", "list", FLUX)]);
    rights.everywhere(&[when(
        "Flux is uninstalled with it",
        "get list",
        "customresourcedefinitions \
        namespaces clusterroles clusterrolebindings",
    )]);
    rights.in_namespace(&namespace, READS_INVENTORY_NAMESPACE);
}

pub fn run(args: &Args, name: &str, shell: &Shell) -> Result<Exit, CliError> {
    shell.block_on(async {
        let session = shell.interruptible(Session::open(shell)).await?;
        let target = match &args.filename {
            None => session.instance(name),
            Some(file) => {
                let manifest = read_instance_for(file, session.cluster.namespace.as_deref(), shell);
                let manifest = shell.interruptible(manifest).await?;
                Target::of_instance(&manifest.instance)
            }
        };
        let look = async { tokio::try_join!(session.get(&target), session.operator_coverage(&target)) };
        let (object, coverage) = shell.interruptible(look).await?;
        let suspended = target.is_suspended(&object);
        let keeps_flux = suspended || args.with_suspend;
        let needs_operator = needs_operator(&object, keeps_flux);
        // If Flux is kept, nothing has to be uninstalled here.
        let here = async {
            match args.follow.dry_run().is_some() || keeps_flux || !needs_operator {
                true => Ok(args.in_process.in_process && !keeps_flux && args.follow.dry_run().is_none()),
                false => is_done_here(&session, &args.in_process, &target).await,
            }
        };
        if shell.interruptible(here).await? {
            return delete_here(&session, args, &target, object, &coverage).await;
        }
        if needs_operator {
            refuse_without_operator(&session, &target, &coverage)?;
        }
        shell.interruptible(delete(&session, args, &target, &object, suspended, keeps_flux)).await
    })?
}

/// Asks, then uninstalls Flux in this process, as the operator would for a deleted instance.
async fn delete_here(
    session: &Session<'_>,
    args: &Args,
    target: &Target,
    object: Value,
    coverage: &OperatorCoverage,
) -> Result<Exit, CliError> {
    let (shell, place) = (session.shell, session.place(&target.reference()));
    let without = session.command(&format!("delete {}", target.words()), &target.namespace);
    refuse_beside_operator(session, &args.in_process, &target.reference(), coverage, &without)?;
    if !args.confirm.yes {
        let lost = lost(&shell.interruptible(async { Ok(custom_resources(session, &object).await) }).await?);
        shell.status(&format!("{}{lost}.", effect(&object, false)));
    }
    let (context, question) = (session.cluster.endpoint.context.as_deref(), format!("delete {place}"));
    shell.interruptible(confirm(shell, &args.confirm, context, &question, Agreement::Yes)).await?;
    let session = session.with_new_deadline();
    let instance = instance_of(object)?;
    let work = InProcessUninstall { in_process: &args.in_process, keep_crds: false, mode: args.follow.mode() };
    here::uninstall_instance(&session, target, &instance, &work).await
}

async fn delete(
    session: &Session<'_>,
    args: &Args,
    target: &Target,
    object: &Value,
    suspended: bool,
    keeps_flux: bool,
) -> Result<Exit, CliError> {
    let place = session.place(&target.reference());
    let effect = match keeps_flux {
        true => effect(object, true),
        false => format!("{}{}", effect(object, false), lost(&custom_resources(session, object).await)),
    };
    let context = session.cluster.endpoint.context.as_deref();
    let question = format!("delete {place}");
    if let Some(dry_run) = args.follow.dry_run() {
        if dry_run == DryRun::Server {
            request_deletion(session, target, uid_of(object), true).await?;
        }
        let server = if dry_run == DryRun::Server { "server " } else { "" };
        session.shell.status(&format!("({server}dry run) would delete {place}: {effect}"));
        return check_consent(session.shell, &args.confirm, context, &question).map(|()| Exit::Done);
    }
    if !args.confirm.yes {
        session.shell.status(&format!("{effect}."));
    }
    confirm(session.shell, &args.confirm, context, &question, Agreement::Yes).await?;
    // The user's answer must not count against the time-out.
    let session = &session.with_new_deadline();
    // Suspend first: an operator that sees the deletion without the suspension uninstalls Flux.
    if args.with_suspend && !suspended {
        let (_, failed) =
            send(session, std::slice::from_ref(target), RequestKind::Suspend(SuspendNote::default()), None).await?;
        if let Some(error) = failed.into_iter().next() {
            return Err(error);
        }
    }
    request_deletion(session, target, uid_of(object), false).await?;
    if !args.follow.waits() {
        return Ok(Exit::Done);
    }
    let followed =
        FollowedObject { target: target.clone(), request: None, absent: AbsencePolicy::Ends, uid: uid_of(object) };
    until_gone(session, &followed, args.follow.mode()).await?;
    session.shell.print(&format!("{}: deleted\n", target.reference()));
    Ok(Exit::Done)
}

/// Whether the deletion needs an operator: to remove the finalizer, or to uninstall the objects that the instance owns.
fn needs_operator(object: &Value, keeps_flux: bool) -> bool {
    has_finalizer(object) || (!keeps_flux && inventory_counts(object).iter().any(|(_, count)| *count > 0))
}

/// Refuses a deletion without an operator: a finalizer would hold the object for ever, or the objects of the instance
/// would lose their owner.
fn refuse_without_operator(
    session: &Session<'_>,
    target: &Target,
    coverage: &OperatorCoverage,
) -> Result<(), CliError> {
    if !coverage.is_missing() {
        return Ok(());
    }
    let here = session.command(&format!("delete {} --in-process", target.words()), &target.namespace);
    Err(CliError::failed(format!(
        "cannot delete {}: no running operator would uninstall Flux",
        session.place(&target.reference())
    ))
    .cause(coverage.to_string())
    .object(target.reference())
    .hint(command_without_operator(session, coverage, "uninstall Flux from here", &here)))
}

/// Describes the effect of deleting the object in one sentence.
fn effect(object: &Value, keeps_flux: bool) -> String {
    let mut counts = inventory_counts(object);
    // The namespace is kept, because it may contain other objects.
    counts.retain(|(kind, _)| kind != "Namespace");
    if keeps_flux {
        return "Flux and what it has deployed are kept in the cluster, without an instance that keeps Flux up to date"
            .to_owned();
    }
    if counts.is_empty() {
        return "The instance owns no objects".to_owned();
    }
    let list: Vec<String> = counts.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    format!(
        "The operator uninstalls Flux ({}) with all Flux resources; what Flux has deployed keeps running",
        list.join(", ")
    )
}

/// Returns the custom resources that are deleted with their definitions, by kind; empty without the right to read them.
async fn custom_resources(session: &Session<'_>, object: &Value) -> BTreeMap<String, usize> {
    let Ok(instance) = instance_of(object.clone()) else { return BTreeMap::new() };
    let options = UninstallOptions::default();
    let plan = uninstall_plan(&session.cluster, &instance, &options);
    let plan = timeout(HINT_LIMIT.min(session.deadline.left()), plan).await;
    plan.ok().and_then(Result::ok).map(|plan| plan.custom_resources).unwrap_or_default()
}

fn lost(custom_resources: &BTreeMap<String, usize>) -> String {
    let list: Vec<String> = custom_resources.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    if list.is_empty() {
        String::new()
    } else {
        format!("; their CRDs are deleted with all objects: {}", list.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_effect_counts_deleted_objects() {
        let object = json!({
            "metadata": {"name": "flux"},
            "status": {"inventory": {"entries": [
                {"id": "flux-system_source-controller_apps_Deployment", "v": "v1"},
                {"id": "flux-system_helm-controller_apps_Deployment", "v": "v1"},
                {"id": "_flux-system__Namespace", "v": "v1"},
                {"id": "_crd-controller-flux-system_rbac.authorization.k8s.io_ClusterRole", "v": "v1"},
            ]}},
        });
        assert!(effect(&object, false).contains("(2 Deployment, 1 ClusterRole)"), "{}", effect(&object, false));
        assert!(effect(&object, true).contains("are kept"));
        let lost = lost(&BTreeMap::from([("GitRepository".to_owned(), 204), ("Kustomization".to_owned(), 1)]));
        assert_eq!(lost, "; their CRDs are deleted with all objects: 204 GitRepository, 1 Kustomization");
    }
}
