//! Work under the operator's lease.

use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::Timestamp;
use tokio::sync::Notify;

use crate::api::lease::Holder;
use crate::cluster::Cluster;
use crate::cluster::lease::{HeldLease, LeaseError, LeaseOptions};
use crate::reconcile::interrupt::{Interrupt, InterruptPolicy, Interrupts, interrupted};
use crate::reconcile::operator;
use crate::reconcile::options::RunOptions;
use crate::reconcile::outcome::ReconcileError;
use crate::reconcile::progress::{Progress, Stage, Update};

/// Does work under the lease in the options, and drops it when the lease is lost. The work gets a cluster that refuses
/// writes once the lease is over, because a frozen process (Ctrl-Z) may continue before it notices.
///
/// # Errors
/// Another process holds the lease, or it was lost; errors of the work.
pub(in crate::reconcile) async fn under_lease<'w, T>(
    cluster: &Cluster,
    namespace: &str,
    options: &RunOptions,
    progress: &dyn Progress,
    work: impl FnOnce(Cluster) -> BoxFuture<'w, Result<T, ReconcileError>>,
) -> Result<T, ReconcileError> {
    let Some(lease) = &options.lease else { return work(cluster.clone()).await };
    let held = take_lease(cluster, namespace, lease, &options.interrupts, progress).await?;
    let result = tokio::select! {
        // The loss comes first: an error of the work would only be its consequence.
        biased;
        () = held.lost() => Err(ReconcileError::LeaseLost { namespace: namespace.to_owned() }),
        result = work(cluster.under(&held)) => result,
    };
    // The work may notice the loss first, because its writes are refused.
    let result = match result {
        Err(_) if !held.is_ours() => Err(ReconcileError::LeaseLost { namespace: namespace.to_owned() }),
        result => result,
    };
    held.release().await;
    result
}

/// Takes the lease, and reports the holder while waiting.
async fn take_lease(
    cluster: &Cluster,
    namespace: &str,
    options: &LeaseOptions,
    interrupts: &Interrupts,
    progress: &dyn Progress,
) -> Result<HeldLease, ReconcileError> {
    progress.report(Update::StageBegan { stage: Stage::Lease, objects: 0 });
    let in_the_way = Notify::new();
    let waiting = |holder: &str| {
        progress.report(Update::WaitingForLease { holder: holder.to_owned() });
        in_the_way.notify_one();
    };
    // A holder that stops renewing loses the lease. An operator with a ready pod keeps it, because it could continue at
    // any moment.
    let silent = async {
        in_the_way.notified().await;
        operator::find_silent(cluster, namespace, Timestamp::now()).boxed().await
    };
    let held = tokio::select! {
        held = cluster.take_lease(namespace, options, waiting) => held,
        Some(operator) = silent => return Err(ReconcileError::OperatorSilent { operator: Box::new(operator) }),
        interrupt = interrupted(interrupts, InterruptPolicy::StopOnly) => {
            let (Interrupt::Stop(why) | Interrupt::Superseded(why)) = interrupt;
            return Err(ReconcileError::Stopped(why));
        }
    };
    held.map_err(|source| match source {
        LeaseError::Held { holder: Holder::Operator(holder), .. } => {
            ReconcileError::OperatorAlive { operator: format!("{holder} holds lease/{namespace}/flux-operator") }
        }
        source => ReconcileError::Lease { namespace: namespace.to_owned(), source },
    })
}

/// Whether a lease could not be taken because its namespace does not exist.
pub(super) fn is_namespace_missing(error: &ReconcileError) -> bool {
    matches!(error, ReconcileError::Lease { source: LeaseError::Call(call), .. } if call.is_not_found())
}
