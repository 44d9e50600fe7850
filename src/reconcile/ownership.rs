//! Every object has one owner: objects of another existing instance are neither taken over nor deleted.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::outcome::ReconcileError;
use crate::api::{FluxInstance, InventoryOwner, Reconciled};
use crate::cluster::{Category, Cluster, ClusterError, ListOptions};
use crate::k8s::ObjectId;

/// Refuses to change objects with the labels of another instance, if that instance exists. Labels of a deleted instance
/// do not matter, so that an installation can move to another namespace.
///
/// # Errors
/// [`ReconcileError::OwnedByOther`], and any failure of the requests.
pub(super) async fn refuse_foreign_objects(
    cluster: &Cluster,
    owner: &InventoryOwner,
    live: impl IntoIterator<Item = &Value>,
) -> Result<(), ReconcileError> {
    let mut owned: BTreeMap<InventoryOwner, Vec<ObjectId>> = BTreeMap::new();
    for object in live {
        if let Some(other) = InventoryOwner::labelled(object, owner.kind).filter(|other| other != owner) {
            owned.entry(other).or_default().push(ObjectId::of(object));
        }
    }
    for (other, objects) in owned {
        if cluster.read(&other.id()).await?.is_some() {
            return Err(ReconcileError::OwnedByOther { instance: owner.id(), owner: other.id(), objects });
        }
    }
    Ok(())
}

/// Refuses the first installation of an instance beside another one in any namespace, because both would write the same
/// definitions and cluster roles.
///
/// # Errors
/// [`ReconcileError::SecondInstance`], and any failure of the requests. Without the right to list instances everywhere,
/// the owner labels of the other instance's objects prevent the installation later.
pub async fn refuse_second_instance(cluster: &Cluster, instance: &FluxInstance) -> Result<(), ReconcileError> {
    let installed = instance.status.as_ref().is_some_and(|status| {
        status.last_applied_revision.is_some()
            || status.inventory.as_ref().is_some_and(|inventory| !inventory.entries.is_empty())
    });
    if installed {
        return Ok(());
    }
    let id = instance.id();
    match other_instances(cluster, &id).await {
        Ok(others) => match others.first() {
            Some(other) => Err(ReconcileError::SecondInstance { instance: id, other: ObjectId::of(other) }),
            None => Ok(()),
        },
        Err(error) if error.category() == Category::Denied => Ok(()),
        Err(error) => Err(error.into()),
    }
}

async fn other_instances(cluster: &Cluster, instance: &ObjectId) -> Result<Vec<Value>, ClusterError> {
    let resource = cluster.resource(instance).await?;
    // If the kind is not served, there are no instances.
    let all = cluster.list_all(&resource, None, &ListOptions::default()).await?.unwrap_or_default().items;
    Ok(all.into_iter().filter(|other| ObjectId::of(other) != *instance).collect())
}

/// Returns the other instances that have the definitions in their inventory.
pub(super) async fn definitions_of_others(
    cluster: &Cluster,
    instance: &ObjectId,
) -> Result<BTreeMap<String, ObjectId>, ClusterError> {
    let mut listed = BTreeMap::new();
    for other in other_instances(cluster, instance).await? {
        let entries = other.pointer("/status/inventory/entries").and_then(Value::as_array).into_iter().flatten();
        let ids: BTreeSet<&str> = entries.filter_map(|entry| entry.get("id")?.as_str()).collect();
        for id in ids {
            let Ok(id) = ObjectId::from_inventory_id(id) else { continue };
            if id.kind == "CustomResourceDefinition" {
                listed.insert(id.name, ObjectId::of(&other));
            }
        }
    }
    Ok(listed)
}
