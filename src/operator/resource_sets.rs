//! ResourceSets and ResourceSetInputProviders: kinds of the reference operator that this one does not serve.
//!
//! Only an operator that serves them clears their finalizer. Without such an operator, a deleted object never
//! disappears.

use serde::Serialize;
use serde_json::Value;

use super::OperatorError;
use crate::api::crd::NOT_SERVED;
use crate::api::kinds::{self, DEPLOYMENT, FluxKind};
use crate::api::operator::{has_ready_pod, is_operator, runs_this_program};
use crate::api::well_known::{CLI_FIELD_MANAGER, FINALIZER, GROUP, NAME_LABEL, OPERATOR_NAME};
use crate::cluster::{Cluster, ClusterError, ListOptions, Propagation};
use crate::k8s::{ObjectId, fields};
use crate::reconcile::progress::{Action, Progress, Update};

/// An object of a kind that this operator does not serve.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UnservedObject {
    pub object: ObjectId,
    /// Whether the object cannot be deleted without an operator that serves it.
    pub has_finalizer: bool,
    /// Number of objects in its inventory.
    pub manages: usize,
    #[serde(skip)]
    live: Value,
}

impl UnservedObject {
    fn of(live: Value) -> Self {
        UnservedObject {
            object: ObjectId::of(&live),
            has_finalizer: fields::items(&live, "/metadata/finalizers").iter().any(|name| name == FINALIZER),
            manages: fields::items(&live, "/status/inventory/entries").len(),
            live,
        }
    }
}

/// Returns every object of these kinds in a namespace, or in all (`None`).
///
/// # Errors
/// The API server does not answer; a kind without a definition has no objects.
pub async fn unserved_objects(cluster: &Cluster, namespace: Option<&str>) -> Result<Vec<UnservedObject>, ClusterError> {
    let mut found = vec![];
    for kind in NOT_SERVED.iter().filter_map(|kind| kinds::of(GROUP, kind)).map(FluxKind::resource_type) {
        let list = cluster.list_all(&kind, namespace, &ListOptions::default()).await?;
        found.extend(list.into_iter().flat_map(|list| list.items).map(UnservedObject::of));
    }
    Ok(found)
}

/// Returns Deployments of operators that serve these kinds and have a ready pod.
///
/// # Errors
/// The API server does not answer.
async fn operators_that_serve(cluster: &Cluster) -> Result<Vec<ObjectId>, ClusterError> {
    let (named, labelled) =
        (ListOptions::named(OPERATOR_NAME), ListOptions::labelled(format!("{NAME_LABEL}={OPERATOR_NAME}")));
    let deployments = DEPLOYMENT;
    let (named, labelled) =
        futures::try_join!(cluster.list(&deployments, None, &named), cluster.list(&deployments, None, &labelled))?;
    let all = named.items.iter().chain(&labelled.items);
    let serving = all.filter(|one| is_operator(one) && has_ready_pod(one) && !runs_this_program(one));
    let mut ids: Vec<ObjectId> = serving.map(ObjectId::of).collect();
    ids.sort();
    ids.dedup();
    Ok(ids)
}

/// Refuses to release objects that an operator serves: it would restore the finalizer, or delete the objects they
/// manage.
///
/// # Errors
/// [`OperatorError::Served`]; the API server does not answer.
pub async fn refuse_if_served(cluster: &Cluster) -> Result<(), OperatorError> {
    let operators = operators_that_serve(cluster).await?;
    if operators.is_empty() { Ok(()) } else { Err(OperatorError::Served { operators }) }
}

/// The result of releasing objects.
#[derive(Debug, Default)]
pub struct Released {
    /// Objects without the finalizer, because it was cleared or never set.
    pub released: Vec<ObjectId>,
    pub deleted: Vec<ObjectId>,
    /// Objects with other finalizers.
    pub held: Vec<ObjectId>,
}

/// Clears the operator's finalizer of objects, and deletes them if requested. The objects that they manage are kept.
///
/// # Errors
/// An operator that serves them is running: it would restore the finalizer, or delete the objects they manage. The API
/// server does not answer.
pub async fn release(
    cluster: &Cluster,
    objects: Vec<UnservedObject>,
    delete: bool,
    progress: &dyn Progress,
) -> Result<Released, OperatorError> {
    refuse_if_served(cluster).await?;
    let mut done = Released::default();
    for one in objects {
        let id = one.object;
        let cleared = cluster.clear_finalizer(one.live, FINALIZER, CLI_FIELD_MANAGER).await?;
        let told = |action| progress.report(Update::Object { object: id.to_string(), action });
        // The object was deleted in the meantime.
        let Some(changed) = cleared else { continue };
        told(if changed { Action::Configured } else { Action::Unchanged });
        done.released.push(id.clone());
        if !delete {
            continue;
        }
        let Some(live) = cluster.read(&id).await? else {
            done.deleted.push(id);
            continue;
        };
        let remove = |live: Value| async move { cluster.delete_exactly(&live, Propagation::Background).await };
        cluster.retry_on_conflict(&id, live, remove).await?;
        match cluster.read(&id).await? {
            Some(_) => done.held.push(id),
            None => {
                told(Action::Deleted);
                done.deleted.push(id);
            }
        }
    }
    Ok(done)
}
