//! `delete instance`: deletes the object; the operator then uninstalls Flux.

use std::collections::BTreeMap;
use std::path::PathBuf;

use flux_operator::api::well_known::FINALIZER;
use flux_operator::reconcile::operator::OperatorCoverage;
use flux_operator::reconcile::{UninstallOptions, uninstall_plan};
use flux_operator::request::Absent;
use flux_operator::request::SuspendNote;
use serde_json::Value;
use tokio::time::timeout;

use crate::args::{DryRun, DryRunArgs, WaitArgs};
use crate::flows::follow::{Followed, uid_of, until_gone};
use crate::flows::inventory::inventory_counts;
use crate::flows::operator::way_without;
use crate::flows::request::{RequestKind, request_deletion, send};
use crate::flows::run_in_process::instance_of;
use crate::session::manifest_file::read_instance_for;
use crate::session::target::Target;
use crate::session::{HINT_LIMIT, Session};
use crate::terminal::confirm::{Agreement, ConfirmArgs, confirm};
use crate::terminal::progress::ProgressArgs;
use crate::terminal::{CliError, Exit, Shell, no_file};

/// Delete a FluxInstance
///
/// The operator then uninstalls Flux; what Flux has deployed keeps running. A
/// suspended instance leaves Flux in the cluster. Without a running operator the
/// command refuses: `uninstall instance --in-process` does the work itself.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Delete the instance; the operator uninstalls Flux\n  \
    flux-operator -n flux-system delete instance flux\n\n  \
    # Delete the instance and keep Flux running\n  \
    flux-operator -n flux-system delete instance flux --with-suspend --yes\n\n  \
    # The one of this file\n  \
    flux-operator delete -f flux.yaml\n\n  \
    # See whether it would be allowed\n  \
    flux-operator -n flux-system delete instance --dry-run=server")]
pub struct Args {
    /// Name of the instance
    #[arg(default_value = "flux", value_parser = no_file, add = crate::args::complete::instances())]
    pub name: String,
    /// File with the instance; - reads standard input
    #[arg(value_hint = clap::ValueHint::FilePath, short, long, alias = "file", value_name = "FILE")]
    pub filename: Option<PathBuf>,
    /// Suspend the instance first, so that Flux stays in the cluster
    #[arg(long)]
    pub with_suspend: bool,
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
    shell.run(async {
        let session = Session::open(shell).await?;
        let target = match &args.filename {
            None => session.instance(&args.name),
            Some(file) => {
                let manifest = read_instance_for(file, session.cluster.namespace.as_deref(), shell).await?;
                Target::of_instance(&manifest.instance)
            }
        };
        let (object, coverage) = tokio::try_join!(session.get(&target), session.operator_coverage(&target))?;
        let suspended = target.is_suspended(&object);
        let keeps_flux = suspended || args.with_suspend;
        refuse_without_operator(&session, &target, &object, &coverage, keeps_flux)?;
        delete(&session, args, &target, &object, suspended, keeps_flux).await
    })
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
    match args.dry_run.dry_run {
        Some(DryRun::Client) => {
            session.shell.status(&format!("(dry run) would delete {place}: {effect}"));
            return Ok(Exit::Done);
        }
        Some(DryRun::Server) => {
            request_deletion(session, target, uid_of(object), true).await?;
            session.shell.status(&format!("(server dry run) would delete {place}: {effect}"));
            return Ok(Exit::Done);
        }
        None => {}
    }
    if !args.confirm.yes {
        session.shell.status(&format!("{effect}."));
    }
    let context = session.cluster.endpoint.context.as_deref();
    confirm(session.shell, &args.confirm, context, &format!("delete {place}"), Agreement::Yes).await?;
    // The user's answer must not count against the time-out.
    let session = &session.with_new_deadline();
    if args.with_suspend && !suspended {
        let (_, failed) =
            send(session, std::slice::from_ref(target), RequestKind::Suspend(SuspendNote::default()), None).await?;
        if let Some(error) = failed.into_iter().next() {
            return Err(error);
        }
    }
    request_deletion(session, target, uid_of(object), false).await?;
    if !args.wait.wait {
        return Ok(Exit::Done);
    }
    let followed = Followed { target: target.clone(), request: None, absent: Absent::Ends, uid: uid_of(object) };
    until_gone(session, &followed, args.progress.progress).await?;
    session.shell.print(&format!("{}: deleted\n", target.reference()));
    Ok(Exit::Done)
}

/// Refuses without an operator: the finalizer would keep the object for ever, and Flux would stay unmanaged.
fn refuse_without_operator(
    session: &Session<'_>,
    target: &Target,
    object: &Value,
    coverage: &OperatorCoverage,
    keeps_flux: bool,
) -> Result<(), CliError> {
    let finalizers = object.pointer("/metadata/finalizers").and_then(Value::as_array);
    let held = finalizers.into_iter().flatten().any(|f| f == FINALIZER);
    let owns = inventory_counts(object).iter().any(|(_, count)| *count > 0);
    if !coverage.is_nobody() || (!held && (keeps_flux || !owns)) {
        return Ok(());
    }
    let uninstall = session.command(&format!("uninstall {} --in-process", target.words()), &target.namespace);
    Err(CliError::failed(format!("cannot delete {}: nobody would clean up", session.place(&target.reference())))
        .cause(coverage.to_string())
        .object(target.reference())
        .hint(way_without(session, coverage, "uninstall Flux from here", &uninstall)))
}

/// Describes the effect of deleting the object in one sentence.
fn effect(object: &Value, keeps_flux: bool) -> String {
    let mut counts = inventory_counts(object);
    // The namespace is kept, because it may contain other objects.
    counts.retain(|(kind, _)| kind != "Namespace");
    if keeps_flux {
        return "Flux and what it has deployed stay in the cluster, and nobody takes care of Flux any more".to_owned();
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
    if list.is_empty() { String::new() } else { format!("; with their definitions go {}", list.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_effect_counts_what_goes() {
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
        assert!(effect(&object, true).contains("stay"));
        let lost = lost(&BTreeMap::from([("GitRepository".to_owned(), 204), ("Kustomization".to_owned(), 1)]));
        assert_eq!(lost, "; with their definitions go 204 GitRepository, 1 Kustomization");
    }
}
