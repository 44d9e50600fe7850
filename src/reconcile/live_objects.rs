//! The live objects that matter to a run, read with one list per kind.

use std::collections::{BTreeMap, BTreeSet};

use futures::{FutureExt, StreamExt, TryStreamExt};
use serde_json::Value;

use crate::api::InventoryOwner;
use crate::api::well_known::PART_OF_LABEL;
use crate::cluster::{Category, Cluster, ClusterError, ListOptions};
use crate::k8s::{ObjectId, fields, storage_version};

/// The known live objects of a run. Applied objects replace listed ones, so the state stays current during the run.
#[derive(Clone, Debug, Default)]
pub struct LiveObjects {
    live: BTreeMap<ObjectId, Value>,
    absent: BTreeSet<ObjectId>,
}

/// A list to read: objects of one kind in one namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Collection {
    group: String,
    kind: String,
    namespace: String,
}

/// Kinds with many foreign objects: they are listed by Flux's label, and objects missing from the list are read by
/// name.
fn is_crowded(kind: &str) -> bool {
    matches!(kind, "CustomResourceDefinition" | "ClusterRole" | "ClusterRoleBinding")
}

fn selector(collection: &Collection, ids: &[&ObjectId]) -> ListOptions {
    match ids {
        _ if is_crowded(&collection.kind) => ListOptions::labelled(format!("{PART_OF_LABEL}=flux")),
        // All Deployments are needed, because an operator may be among them.
        [one] if collection.kind != "Deployment" => ListOptions::named(&one.name),
        _ => ListOptions::default(),
    }
}

/// Lists a collection; a kind that the server does not serve has no objects. If only the version in an old inventory is
/// no longer served, the objects have the served version.
async fn items(cluster: &Cluster, collection: &Collection, ids: &[&ObjectId]) -> Result<Vec<Value>, ClusterError> {
    let Some(first) = ids.first() else { return Ok(vec![]) };
    let resource = match cluster.resource(first).await {
        Err(error) if error.is_api_missing() => return Ok(vec![]),
        resource => resource?,
    };
    let namespace = Some(collection.namespace.as_str()).filter(|namespace| !namespace.is_empty());
    let list = cluster.list_all(&resource, namespace, &selector(collection, ids)).await?;
    Ok(list.map(|list| list.items).unwrap_or_default())
}

/// The objects of a ResourceSet in one collection.
enum OwnedItems {
    Listed(Vec<Value>),
    /// These objects must be read by name.
    Unlisted(Vec<ObjectId>),
}

async fn owned_items(
    cluster: &Cluster,
    collection: &Collection,
    ids: &[&ObjectId],
    selector: &ListOptions,
) -> Result<OwnedItems, ClusterError> {
    let by_name = || Ok(OwnedItems::Unlisted(ids.iter().map(|id| (*id).clone()).collect()));
    let Some(first) = ids.first() else { return Ok(OwnedItems::Listed(vec![])) };
    // A list would cost as much as reading the one object, and needs another permission.
    if ids.len() == 1 {
        return by_name();
    }
    let resource = match cluster.resource(first).await {
        Err(error) if error.is_api_missing() => return Ok(OwnedItems::Listed(vec![])),
        resource => resource?,
    };
    let namespace = Some(collection.namespace.as_str()).filter(|namespace| !namespace.is_empty());
    match cluster.list_all(&resource, namespace, selector).await {
        Ok(list) => Ok(OwnedItems::Listed(list.map(|list| list.items).unwrap_or_default())),
        Err(error) if error.category() == Category::Denied => by_name(),
        Err(error) => Err(error),
    }
}

impl LiveObjects {
    /// Lists the kinds of all `ids`, with `concurrency` parallel lists. If an object appears in several versions, the
    /// first one counts.
    pub async fn take(
        cluster: &Cluster,
        ids: impl IntoIterator<Item = &ObjectId>,
        concurrency: usize,
    ) -> Result<Self, ClusterError> {
        let mut collections: BTreeMap<Collection, Vec<&ObjectId>> = BTreeMap::new();
        for id in ids {
            let collection =
                Collection { group: id.group.clone(), kind: id.kind.clone(), namespace: id.namespace.clone() };
            let ids = collections.entry(collection).or_default();
            if !ids.iter().any(|known| known.name == id.name) {
                ids.push(id);
            }
        }
        let mut jobs = vec![];
        for (collection, ids) in &collections {
            jobs.push(
                async move { Ok::<_, ClusterError>((collection, items(cluster, collection, ids).await?)) }.boxed(),
            );
        }
        let lists: Vec<_> = futures::stream::iter(jobs).buffer_unordered(concurrency.max(1)).try_collect().await?;
        let mut live_objects = LiveObjects::default();
        let mut unlabelled: Vec<&ObjectId> = vec![];
        for (collection, items) in lists {
            for item in items {
                live_objects.live.insert(ObjectId::of(&item), item);
            }
            let ids = collections.get(collection).into_iter().flatten();
            let missing: Vec<&ObjectId> = ids.copied().filter(|id| !live_objects.live.contains_key(id)).collect();
            if is_crowded(&collection.kind) {
                unlabelled.extend(missing);
            } else {
                live_objects.absent.extend(missing.into_iter().cloned());
            }
        }
        // Objects without the label are read by name.
        let jobs: Vec<_> = unlabelled
            .into_iter()
            .map(|id| async move { Ok::<_, ClusterError>((id, cluster.read(id).await?)) }.boxed())
            .collect();
        let found: Vec<_> = futures::stream::iter(jobs).buffer_unordered(concurrency.max(1)).try_collect().await?;
        for (id, live) in found {
            match live {
                Some(live) => live_objects.set(live),
                None => drop(live_objects.absent.insert(id.clone())),
            }
        }
        Ok(live_objects)
    }

    /// Lists the kinds of `ids` that are completely unknown.
    pub async fn add(
        &mut self,
        cluster: &Cluster,
        ids: impl IntoIterator<Item = &ObjectId>,
        concurrency: usize,
    ) -> Result<(), ClusterError> {
        let is_known = |id: &&ObjectId| self.live.contains_key(*id) || self.absent.contains(*id);
        let unknown: Vec<&ObjectId> = ids.into_iter().filter(|id| !is_known(id)).collect();
        let more = Self::take(cluster, unknown, concurrency).await?;
        self.live.extend(more.live);
        self.absent.extend(more.absent);
        Ok(())
    }

    /// Reads the objects of a ResourceSet that are still unknown, with one list per kind and namespace. The list
    /// selects the labels of the owner, because there may be many objects of others. Without the right to list, each
    /// object is read by its name instead.
    ///
    /// An object that the labels do not select remains unknown and does not count as absent.
    pub(crate) async fn add_of<'i>(
        &mut self,
        cluster: &Cluster,
        owner: &InventoryOwner,
        ids: impl IntoIterator<Item = &'i ObjectId>,
        concurrency: usize,
    ) -> Result<(), ClusterError> {
        let is_known = |id: &&ObjectId| self.live.contains_key(*id) || self.absent.contains(*id);
        let mut collections: BTreeMap<Collection, Vec<&ObjectId>> = BTreeMap::new();
        for id in ids.into_iter().filter(|id| !is_known(id)) {
            let collection =
                Collection { group: id.group.clone(), kind: id.kind.clone(), namespace: id.namespace.clone() };
            collections.entry(collection).or_default().push(id);
        }
        let selector = ListOptions::labelled(owner.selector());
        let selector = &selector;
        let mut jobs = vec![];
        for (collection, ids) in &collections {
            jobs.push(async move { owned_items(cluster, collection, ids, selector).await }.boxed());
        }
        let lists: Vec<OwnedItems> =
            futures::stream::iter(jobs).buffer_unordered(concurrency.max(1)).try_collect().await?;
        let mut unlisted: Vec<ObjectId> = vec![];
        for list in lists {
            match list {
                OwnedItems::Listed(items) => items.into_iter().for_each(|item| self.set(item)),
                OwnedItems::Unlisted(ids) => unlisted.extend(ids),
            }
        }
        let jobs: Vec<_> = unlisted
            .iter()
            .map(|id| async move { Ok::<_, ClusterError>((id, cluster.read(id).await?)) }.boxed())
            .collect();
        let found: Vec<_> = futures::stream::iter(jobs).buffer_unordered(concurrency.max(1)).try_collect().await?;
        for (id, live) in found {
            match live {
                Some(live) => self.set(live),
                None => drop(self.absent.insert(id.clone())),
            }
        }
        Ok(())
    }

    /// Returns every object that was seen.
    pub fn all(&self) -> impl Iterator<Item = &Value> {
        self.live.values()
    }

    /// Returns a live object, if it was seen.
    pub fn get(&self, key: &ObjectId) -> Option<&Value> {
        self.live.get(key)
    }

    /// Whether an object certainly does not exist; an object that was not looked up may exist.
    pub fn is_absent(&self, key: &ObjectId) -> bool {
        self.absent.contains(key)
    }

    /// Returns the object, and asks the server unless it was seen or certainly does not exist.
    pub async fn find(&mut self, cluster: &Cluster, id: &ObjectId) -> Result<Option<Value>, ClusterError> {
        let key = id.clone();
        if let Some(live) = self.live.get(&key) {
            return Ok(Some(live.clone()));
        }
        if self.absent.contains(&key) {
            return Ok(None);
        }
        match cluster.read(id).await? {
            Some(live) => {
                self.set(live.clone());
                Ok(Some(live))
            }
            None => {
                self.absent.insert(key);
                Ok(None)
            }
        }
    }

    /// Records the server's latest version of an object.
    pub fn set(&mut self, live: Value) {
        let key = ObjectId::of(&live);
        self.absent.remove(&key);
        self.live.insert(key, live);
    }

    /// Records the deletion of an object, and returns its last version.
    pub fn remove(&mut self, key: &ObjectId) -> Option<Value> {
        self.absent.insert(key.clone());
        self.live.remove(key)
    }

    /// Returns the known objects of a kind.
    pub fn of_kind<'a>(&'a self, group: &'a str, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.live.iter().filter(move |(key, _)| key.group == group && key.kind == kind).map(|(_, live)| live)
    }

    /// Returns the known Flux custom resource definitions, by name.
    pub fn definitions(&self) -> impl Iterator<Item = &Value> {
        self.of_kind("apiextensions.k8s.io", "CustomResourceDefinition")
    }

    /// Returns the id with the current storage version of a custom resource, from its definition; unchanged for any
    /// other kind. An inventory may name a version that an upgrade has dropped since.
    pub(crate) fn stored_version(&self, id: &ObjectId) -> ObjectId {
        let version = self
            .definitions()
            .find(|crd| {
                fields::text(crd, "/spec/group") == id.group && fields::text(crd, "/spec/names/kind") == id.kind
            })
            .and_then(storage_version);
        ObjectId { version: version.unwrap_or_else(|| id.version.clone()), ..id.clone() }
    }
}
