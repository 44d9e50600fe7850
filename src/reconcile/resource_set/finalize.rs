//! The deletion of a ResourceSet and of the objects that it applied.

use std::time::Duration;

use futures::FutureExt;

use super::run::{applier, owner, service_account};
use crate::api::well_known::{FINALIZER, RECONCILER_FIELD_MANAGER, reason};
use crate::api::{Reconciled, ResourceSet};
use crate::cluster::Cluster;
use crate::cluster::events::Event;
use crate::k8s::ObjectId;
use crate::reconcile::announce::Announcer;
use crate::reconcile::context::RunContext;
use crate::reconcile::live_objects::LiveObjects;
use crate::reconcile::options::RunOptions;
use crate::reconcile::outcome::ReconcileError;
use crate::reconcile::plan;
use crate::reconcile::progress::{Action, Progress};
use crate::reconcile::prune;
use crate::reconcile::run::under_lease;

/// Limit for deleted Kustomizations and HelmReleases to remove the objects that they deployed.
const FLUX_TIMEOUT: Duration = Duration::from_secs(60);

/// The result of deleting the objects of a set.
#[derive(Debug, Default)]
pub struct FinalizedResourceSet {
    pub deleted: Vec<ObjectId>,
    /// Objects that are kept, because the set is suspended, its service account does not exist, or the objects are
    /// protected.
    pub kept: Vec<ObjectId>,
    /// Why objects could not be deleted. The finalizer is kept, and the next run tries again.
    pub errors: Vec<String>,
}

impl FinalizedResourceSet {
    pub fn is_complete(&self) -> bool {
        self.errors.is_empty()
    }
}

/// Deletes the objects that a set has applied, and then clears the set's finalizer. The set itself is being deleted.
///
/// The objects of a suspended set are kept. So are those of a set whose service account does not exist: no account with
/// the rights to delete them is left, and the deletion of a namespace must not wait for one.
///
/// # Errors
/// The API server does not answer. Objects that could not be deleted are part of the result.
pub async fn finalize_resource_set(
    cluster: &Cluster,
    set: &ResourceSet,
    options: &RunOptions,
    progress: &dyn Progress,
) -> Result<FinalizedResourceSet, ReconcileError> {
    let namespace = set.id().namespace;
    let work = async |cluster: Cluster| finalize(&cluster, set, options, progress).await;
    under_lease(cluster, &namespace, options, progress, |cluster| work(cluster).boxed()).await
}

async fn finalize(
    cluster: &Cluster,
    set: &ResourceSet,
    options: &RunOptions,
    progress: &dyn Progress,
) -> Result<FinalizedResourceSet, ReconcileError> {
    // Entries that cannot be parsed are skipped, because they do not name an object to delete.
    let owned = set.recorded_inventory().objects();
    let mut done = FinalizedResourceSet::default();
    let mut announcer = Announcer::about(cluster, set, options.notifications.clone());
    let mut warn = |message: String| {
        tracing::warn!("{message}");
        let event = Event { warning: true, reason: reason::RECONCILIATION_FAILED, message, revision: None };
        announcer.event_and_notify(event);
    };
    if set.is_suspended() || owned.is_empty() {
        done.kept = owned;
    } else if let Some(account) = missing_account(cluster, set, options).await? {
        let count = owned.len();
        warn(format!("{count} objects are left in the cluster: service account {account} not found"));
        done.kept = owned;
    } else {
        let applier = applier(cluster, set, options);
        let context = RunContext {
            cluster: &applier,
            extra_managers: &[],
            concurrency: options.plan.concurrency,
            interrupts: &options.interrupts,
            progress,
        };
        let owner = owner(set);
        // A set that is being deleted builds nothing, so everything in its inventory is stale.
        let stale = plan::stale(&owned, &Default::default());
        let mut live = LiveObjects::default();
        live.add_of(&applier, &owner, &stale, options.plan.concurrency).await?;
        let planned = plan::prune(&applier, &mut live, stale, &owner).await?;
        let removed = prune::collect(context, &mut live, &planned, &owner, FLUX_TIMEOUT).await?;
        for change in removed.changes {
            match change.action {
                Action::Deleted => done.deleted.push(change.object),
                _ => done.kept.push(change.object),
            }
        }
        done.errors = removed.errors.iter().map(|(id, error)| format!("{id} {}", error.sentence())).collect();
        if removed.interrupt.is_some() {
            // Without an error, the finalizer would be cleared although objects are left.
            done.errors.push("the deletion was interrupted".to_owned());
        }
        if !done.errors.is_empty() {
            warn(format!("cannot delete the applied objects: {}", done.errors.join("; ")));
        }
    }
    announcer.finish().await;
    // Read the set again: its other finalizers may have changed while objects were deleted.
    if done.is_complete()
        && let Some(live) = cluster.read(&set.id()).await?
    {
        cluster.clear_finalizer(live, FINALIZER, RECONCILER_FIELD_MANAGER).await?;
    }
    Ok(done)
}

/// Returns the service account of a set, as `namespace/name`, if it does not exist.
async fn missing_account(
    cluster: &Cluster,
    set: &ResourceSet,
    options: &RunOptions,
) -> Result<Option<String>, ReconcileError> {
    let Some(account) = service_account(set, options) else { return Ok(None) };
    let namespace = set.id().namespace;
    let id = ObjectId::new("", "ServiceAccount", Some(&namespace), account).at("v1");
    Ok(cluster.read(&id).await?.is_none().then(|| format!("{namespace}/{account}")))
}
