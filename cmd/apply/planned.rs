//! `apply instance --plan`: carries out a saved plan, exactly.

use std::path::Path;

use flux_operator::api::FluxInstance;
use flux_operator::api::well_known::CLI_FIELD_MANAGER;
use flux_operator::cluster::ApplyOptions;
use flux_operator::k8s::ObjectId;
use flux_operator::reconcile::plan::fingerprint;
use flux_operator::reconcile::{self, Options, Plan, ReconcileError, prepare};
use serde_json::{Value, json};

use super::instance::Args;
use crate::common::run_in_process;
use crate::common::run_in_process::{Listener, called, conclude, refuse_beside_operator};
use crate::common::saved_plan::SavedPlan;
use crate::common::{Session, Target, instance_kind};
use crate::shell::{CliError, Exit, Shell};

pub fn run(args: &Args, file: &Path, shell: &Shell) -> Result<Exit, CliError> {
    let SavedPlan { instance: written, plan, .. } = SavedPlan::read(file)?;
    let kind = instance_kind();
    let target = Target { kind, namespace: plan.instance.namespace.clone(), name: plan.instance.name.clone() };
    if let Some(other) = shell.global().namespace.as_ref().filter(|n| **n != target.namespace) {
        return Err(CliError::usage(format!("the plan is for namespace {}, not {other}", target.namespace)));
    }
    shell.block_on(async {
        let session = shell
            .interruptible(async {
                let session = Session::open(shell).await?;
                let attention = session.attention(&target).await?;
                let without = session.command(&format!("reconcile {}", target.words()), &target.namespace);
                refuse_beside_operator(&session, &args.in_process, &target.reference(), &attention, &without)?;
                Ok(session)
            })
            .await?;
        let key = target.reference();
        let again = session.command(&format!("plan {} --out {}", target.words(), file.display()), &target.namespace);
        let options = run_in_process::options(&args.in_process, false);
        shell.status(&format!("► carrying out the plan for {}", session.place(&target.reference())));
        let work = async |options: &Options, listener: &Listener| {
            let (instance, plan) = match written {
                Some(written) => begin(&session, &target, &written, plan, args.force_conflicts, listener).await?,
                None => (live(&session, &target).await?, plan),
            };
            reconcile::execute(&session.cluster, &instance, plan, options, listener).await
        };
        let outcome =
            run_in_process::conduct(&session, args.progress.progress, options, "apply", &key, &again, work).await?;
        conclude(&session, &key, &outcome, &session.look_at(&target))
    })?
}

async fn live(session: &Session<'_>, target: &Target) -> Result<FluxInstance, ReconcileError> {
    let found = session.cluster.get(&target.kind.resource_type(), Some(&target.namespace), &target.name).await;
    Ok(run_in_process::stored(found.map_err(called)?, target)?)
}

/// Applies the instance of the plan, if the one in the cluster is still what the plan was made from.
///
/// Applying it moves its generation, and may make its namespace: both are ours, so the plan is told.
async fn begin(
    session: &Session<'_>,
    target: &Target,
    written: &Value,
    mut plan: Plan,
    force: bool,
    listener: &Listener,
) -> Result<(FluxInstance, Plan), ReconcileError> {
    let cluster = &session.cluster;
    let resource = target.kind.resource_type();
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": target.namespace}});
    let namespace = ObjectId::of(&namespace);
    let before = match cluster.find(&resource, Some(&target.namespace), &target.name).await {
        Ok(found) => found,
        Err(error) if error.is_api_missing() => None,
        Err(error) => return Err(called(error)),
    };
    let (uid, generation) = match &before {
        Some(live) => {
            let live = run_in_process::stored(live.clone(), target)?;
            (live.metadata.uid.unwrap_or_default(), live.metadata.generation.unwrap_or_default())
        }
        None => (String::new(), 0),
    };
    if (uid.as_str(), generation) != (plan.instance.uid.as_str(), plan.instance.generation) {
        return Err(ReconcileError::PlanOutdated { instance: reconcile::status::instance_id(&planned(&plan)) });
    }
    let was_there = cluster.read(&namespace).await?.is_some();
    prepare(cluster, &target.namespace, listener).await?;
    if !was_there && let Some(made) = cluster.read(&namespace).await? {
        for object in plan.objects.iter_mut().filter(|o| o.object == namespace && o.seen.is_none()) {
            object.seen = Some(fingerprint(&made));
        }
    }
    let options = ApplyOptions { field_manager: CLI_FIELD_MANAGER, force, dry_run: false };
    let (_, stored) = cluster.apply(&resource, written, before.as_ref(), &options).await.map_err(called)?;
    let instance = run_in_process::stored(stored, target)?;
    plan.instance.uid = instance.metadata.uid.clone().unwrap_or_default();
    plan.instance.generation = instance.metadata.generation.unwrap_or_default();
    Ok((instance, plan))
}

/// An instance that only has the plan's name.
fn planned(plan: &Plan) -> FluxInstance {
    let mut instance = FluxInstance::new(&plan.instance.name, Default::default());
    instance.metadata.namespace = Some(plan.instance.namespace.clone());
    instance
}
