//! Removes Flux from a cluster and keeps what it deployed.
//!
//! ```text
//! controllers -> finalizers of Flux's custom resources -> everything else -> definitions -> the instance
//! ```
//! The instance is deleted last. Until then its inventory lists the remaining work, so an interrupted run is simply
//! repeated.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::FutureExt;
use serde::Serialize;
use tokio::time::Instant;

use super::context::RunContext;
use super::custom_resources::list_custom_resources;
use super::draft::owner_of;
use super::interrupt::{self, Interrupt, Interrupts};
use super::live_objects::LiveObjects;
use super::messages::UnhealthyObject;
use super::options::RunOptions;
use super::outcome::ReconcileError;
use super::plan::{self, PlannedPrune};
use super::progress::{Action, Progress};
use super::prune::{self, HeldObject, RemovalOptions};
use super::run::under_lease;
use crate::api::well_known::{FINALIZER, OPERATOR_NAME};
use crate::api::{FluxInstance, Reconciled};
use crate::cluster::lease::LeaseOptions;
use crate::cluster::{Cluster, ClusterError, Propagation};
use crate::k8s::ObjectId;

/// Options of an uninstallation.
#[derive(Clone, Debug)]
pub struct UninstallOptions {
    /// The lease to take; `None` when the caller holds it.
    pub lease: Option<LeaseOptions>,
    /// Whether to work although an operator is running.
    pub force: bool,
    /// Whether to keep Flux's definitions and all objects of their kinds.
    pub keep_crds: bool,
    /// Whether to keep everything if the instance is suspended, as for the deletion of a suspended instance.
    pub respect_suspension: bool,
    pub concurrency: usize,
    /// Limit for waiting until the deleted objects are gone.
    pub timeout: Duration,
    pub interrupts: Interrupts,
}

impl Default for UninstallOptions {
    fn default() -> Self {
        UninstallOptions {
            lease: None,
            force: false,
            keep_crds: false,
            respect_suspension: false,
            concurrency: 16,
            timeout: Duration::from_secs(300),
            interrupts: interrupt::never(),
        }
    }
}

/// An object that is kept, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KeptObject {
    pub object: ObjectId,
    pub reason: String,
}

/// The planned changes of an uninstallation.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UninstallPlan {
    pub instance: ObjectId,
    pub suspended: bool,
    /// In the order of deletion.
    pub deletes: Vec<ObjectId>,
    pub keeps: Vec<KeptObject>,
    /// Number of custom resources by kind that are deleted with their definitions, without kinds that have none.
    pub custom_resources: BTreeMap<String, usize>,
    /// Custom resources that cannot be deleted because of foreign finalizers.
    pub held: Vec<HeldObject>,
}

impl UninstallPlan {
    /// Returns the number of deleted objects by kind.
    pub fn counts(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for object in &self.deletes {
            *counts.entry(object.kind.as_str()).or_default() += 1;
        }
        counts
    }
}

/// The result of an uninstallation.
#[derive(Debug, Default)]
pub struct UninstallResult {
    pub deleted: Vec<ObjectId>,
    pub kept: Vec<KeptObject>,
    pub held: Vec<HeldObject>,
    /// Objects that still existed at the deadline.
    pub remaining: Vec<UnhealthyObject>,
    pub errors: Vec<(ObjectId, ClusterError)>,
    pub interrupt: Option<Interrupt>,
    /// Whether the instance itself was deleted; it is kept while work remains.
    instance_gone: bool,
    pub duration: Duration,
}

impl UninstallResult {
    pub fn is_complete(&self) -> bool {
        self.instance_gone
    }
}

/// The objects to delete, and the data that the deletion needs.
struct Preparation {
    deletes: Vec<PlannedPrune>,
    keeps: Vec<KeptObject>,
    live: LiveObjects,
    operator_alive: Option<String>,
}

async fn prepare_uninstall(
    cluster: &Cluster,
    instance: &FluxInstance,
    options: &UninstallOptions,
) -> Result<Preparation, ClusterError> {
    let id = instance.id();
    let recorded = instance.recorded_inventory();
    let (owned, unreadable) = (recorded.objects(), recorded.unreadable());
    let mut to_read = owned.clone();
    // The Deployment shows whether an operator is running; it is read with the rest.
    to_read.push(ObjectId {
        group: "apps".into(),
        version: "v1".into(),
        kind: "Deployment".into(),
        namespace: id.namespace.clone(),
        name: OPERATOR_NAME.into(),
    });
    let mut live = LiveObjects::take(cluster, &to_read, options.concurrency).await?;
    let operator = super::operator::operator_of(live.of_kind("apps", "Deployment"), &id.namespace);
    let operator_alive = operator.filter(|operator| operator.is_running()).map(|operator| operator.state);
    // The reference does the same when a suspended instance is deleted.
    let leaves_all = options.respect_suspension && instance.is_suspended();
    // Nothing is built any more, so everything is stale.
    let stale = plan::stale(&owned, &Default::default());
    let (mut deletes, mut keeps) = (vec![], vec![]);
    let mut keep = |object: ObjectId, reason: &str| keeps.push(KeptObject { object, reason: reason.to_owned() });
    for one in plan::prune(cluster, &mut live, stale, &owner_of(instance)).await? {
        let is_custom = prune::is_of_flux(&one.object);
        match one.reason.clone() {
            Some(reason) => keep(one.object, &reason),
            None if leaves_all => keep(one.object, "the instance is suspended"),
            None if options.keep_crds && (one.object.kind == "CustomResourceDefinition" || is_custom) => {
                keep(one.object, "CRDs and their objects are kept");
            }
            None => deletes.push(one),
        }
    }
    for entry in unreadable {
        tracing::warn!("the inventory entry {:?} cannot be read: its object is kept", entry.id);
    }
    Ok(Preparation { deletes, keeps, live, operator_alive })
}

/// Lists the objects to delete and to keep. Writes nothing.
///
/// # Errors
/// The API server does not answer.
pub async fn uninstall_plan(
    cluster: &Cluster,
    instance: &FluxInstance,
    options: &UninstallOptions,
) -> Result<UninstallPlan, ReconcileError> {
    let prepared = prepare_uninstall(cluster, instance, options).await?;
    let mut plan = UninstallPlan {
        instance: instance.id(),
        suspended: instance.is_suspended(),
        deletes: prepared.deletes.iter().map(|one| one.object.clone()).collect(),
        keeps: prepared.keeps,
        custom_resources: BTreeMap::new(),
        held: vec![],
    };
    for definition in prune::definitions_of(prepared.deletes.iter(), &prepared.live) {
        let (resource, objects) = list_custom_resources(cluster, definition).await?;
        if !objects.is_empty() {
            plan.custom_resources.insert(resource.kind.to_string(), objects.len());
        }
        plan.held.extend(objects.iter().filter_map(prune::held));
    }
    Ok(plan)
}

/// Uninstalls Flux as in [`uninstall_plan`], then deletes the instance. The definition of instances is kept.
///
/// `seen` is the instance for which the plan was made. The stored one is read again under the lease. If it was
/// replaced, or its spec or inventory has changed, the uninstallation is refused because its plan would differ.
///
/// Dropping the future at any point leaves an instance from which the next uninstallation continues.
///
/// # Errors
/// Another reconciler is working, or the API server does not answer. Objects that could not be deleted are part of the
/// result.
pub async fn uninstall(
    cluster: &Cluster,
    seen: &FluxInstance,
    options: &UninstallOptions,
    progress: &dyn Progress,
) -> Result<UninstallResult, ReconcileError> {
    let begun = Instant::now();
    let id = seen.id();
    let lease =
        RunOptions { lease: options.lease.clone(), interrupts: options.interrupts.clone(), ..RunOptions::default() };
    // The confirmed plan was read before we held the lease.
    let work = async |cluster: Cluster| {
        let live = cluster.read(&id).await?.ok_or_else(|| ReconcileError::InstanceGone { instance: id.clone() })?;
        let instance = FluxInstance::from_object(live)
            .map_err(|source| ReconcileError::InstanceUnreadable { instance: id.clone(), source })?;
        if instance.metadata.uid != seen.metadata.uid {
            return Err(ReconcileError::InstanceReplaced { instance: id.clone() });
        }
        let inventory = |of: &FluxInstance| of.status.as_ref().and_then(|status| status.inventory.clone());
        if instance.spec != seen.spec || inventory(&instance) != inventory(seen) {
            return Err(ReconcileError::InstanceMoved { instance: id.clone() });
        }
        run_uninstall(&cluster, &instance, options, begun + options.timeout, progress).await
    };
    let mut done = under_lease(cluster, &id.namespace, &lease, progress, |cluster| work(cluster).boxed()).await?;
    done.duration = begun.elapsed();
    Ok(done)
}

async fn run_uninstall(
    cluster: &Cluster,
    instance: &FluxInstance,
    options: &UninstallOptions,
    deadline: Instant,
    progress: &dyn Progress,
) -> Result<UninstallResult, ReconcileError> {
    let Preparation { deletes, keeps, mut live, operator_alive } =
        prepare_uninstall(cluster, instance, options).await?;
    if let Some(operator) = operator_alive.filter(|_| options.lease.is_some() && !options.force) {
        return Err(ReconcileError::OperatorAlive { operator });
    }
    let context = RunContext {
        cluster,
        extra_managers: &[],
        concurrency: options.concurrency,
        interrupts: &options.interrupts,
        progress,
    };
    let owner = owner_of(instance);
    let removal = RemovalOptions { owner: &owner, uninstalls: true, deadline };
    let removed = prune::remove(context, &mut live, &deletes, removal).await?;
    let mut done = UninstallResult { kept: keeps, ..UninstallResult::default() };
    for change in removed.changes {
        match change.action {
            Action::Deleted => done.deleted.push(change.object),
            Action::Skipped => done.kept.push(KeptObject {
                object: change.object,
                reason: "it is protected or no longer owned by the instance".to_owned(),
            }),
            _ => {}
        }
    }
    done.errors = removed.errors;
    done.remaining = removed.remaining;
    done.interrupt = removed.interrupt;
    done.held = removed.held;
    let is_done = done.interrupt.is_none() && done.remaining.is_empty() && done.errors.is_empty();
    // Repeating an incomplete uninstallation needs the inventory, so delete the instance last.
    if is_done && done.held.is_empty() {
        done.held = delete_instance(cluster, instance).await?;
        done.instance_gone = done.held.is_empty();
    }
    Ok(done)
}

/// Deletes exactly this instance and clears our finalizer; returns the remaining finalizers.
async fn delete_instance(cluster: &Cluster, instance: &FluxInstance) -> Result<Vec<HeldObject>, ReconcileError> {
    let id = instance.id();
    let is_another = |live: &serde_json::Value| {
        live.pointer("/metadata/uid").and_then(serde_json::Value::as_str) != instance.metadata.uid.as_deref()
    };
    let Some(live) = cluster.read(&id).await? else { return Ok(vec![]) };
    let is_another = &is_another;
    let delete = |live: serde_json::Value| async move {
        // A new instance with the same name is reported below.
        if !is_another(&live) && live.pointer("/metadata/deletionTimestamp").is_none() {
            cluster.delete_exactly(&live, Propagation::Background).await?;
        }
        Ok(is_another(&live))
    };
    match cluster.retry_on_conflict(&id, live, delete).await? {
        None => return Ok(vec![]),
        Some(true) => return Err(ReconcileError::InstanceReplaced { instance: id }),
        Some(false) => {}
    }
    let Some(live) = cluster.read(&id).await?.filter(|live| !is_another(live)) else { return Ok(vec![]) };
    let held = prune::held(&live).into_iter().collect();
    prune::without_finalizer(cluster, live, FINALIZER).await?;
    Ok(held)
}
