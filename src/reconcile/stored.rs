//! The object of a run, as it is stored in the cluster.

use serde_json::Value;

use super::outcome::{ReconcileError, Stop};
use crate::api::Reconciled;
use crate::cluster::Cluster;
use crate::k8s::ObjectId;

/// Reads the object of a run.
///
/// # Errors
/// The object does not exist, is being deleted, or is invalid.
pub(super) async fn read<K: Reconciled>(cluster: &Cluster, id: &ObjectId) -> Result<K, ReconcileError> {
    match cluster.read(id).await? {
        Some(live) => checked(live),
        None => Err(ReconcileError::InstanceGone { instance: id.clone() }),
    }
}

/// Parses an object, even if it is being deleted.
///
/// # Errors
/// The object is invalid.
pub(crate) fn parsed<K: Reconciled>(id: &ObjectId, live: Value) -> Result<K, ReconcileError> {
    serde_json::from_value(live).map_err(|source| ReconcileError::InstanceUnreadable { instance: id.clone(), source })
}

/// Parses the object of a run.
///
/// # Errors
/// The object is being deleted, or is invalid.
pub(super) fn checked<K: Reconciled>(live: Value) -> Result<K, ReconcileError> {
    let id = ObjectId::of(&live);
    let object: K = parsed(&id, live)?;
    match object.meta().deletion_timestamp {
        Some(_) => Err(ReconcileError::BeingDeleted { instance: id }),
        None => Ok(object),
    }
}

/// Refuses to carry out a plan for `read` if the stored object is another one now, or has another spec or suspension.
pub(super) fn refuse_another<K: Reconciled>(read: &K, stored: &K) -> Result<(), Stop> {
    let is_another = read.meta().uid.is_some() && read.meta().uid != stored.meta().uid;
    if is_another || stored.spec() != read.spec() || stored.is_suspended() != read.is_suspended() {
        return Err(Stop::Abort(ReconcileError::InstanceMoved { instance: stored.id() }));
    }
    Ok(())
}
