//! The workloads that Flux applied: inventory entries that create pods. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::api::kinds::{self, DEPLOYMENT, HELM_GROUP, POD};
use crate::inspect::read::snapshot::{Snapshot, WORTH_A_LIST};
use crate::inspect::views::inventory;
use crate::k8s::{ObjectId, ResourceType, fields};

/// A workload with the Flux object that applied it.
#[derive(Clone, Debug)]
pub(crate) struct Workload<'a> {
    pub id: ObjectId,
    pub owner: &'a Value,
    /// Missing when the object does not exist or cannot be read.
    pub live: Option<&'a Value>,
}

/// The kinds that create pods, in display order.
fn kinds_of_workloads() -> impl Iterator<Item = ResourceType> {
    let apps = ["StatefulSet", "DaemonSet"].into_iter().filter_map(|kind| kinds::resource_type_of("apps", kind));
    [DEPLOYMENT].into_iter().chain(apps).chain(kinds::resource_type_of("batch", "Job")).chain([POD])
}

/// Returns the workloads of Flux objects by kind, namespace and name; empty while they are loading.
///
/// It reads a list of each kind with many entries in an inventory, and single objects of the other kinds. `namespace`
/// is that of the Flux objects; for `None` the lists are cluster-wide.
pub(crate) fn workloads<'a>(
    snapshot: &'a Snapshot,
    objects: impl Iterator<Item = &'a Value> + Clone,
    namespace: Option<&str>,
) -> Vec<Workload<'a>> {
    let resources: Vec<ResourceType> = kinds_of_workloads().collect();
    let suffixes: Vec<String> = resources.iter().map(|one| format!("_{}_{}", one.group, one.kind)).collect();
    let mut owners_by_kind: Vec<BTreeMap<ObjectId, &'a Value>> = vec![BTreeMap::new(); resources.len()];
    for object in objects.clone() {
        for id in inventory::entries_where(object, |id| suffixes.iter().any(|suffix| id.ends_with(suffix))) {
            let is_its = |one: &ResourceType| one.kind == id.kind && one.group == id.group;
            let at = resources.iter().position(is_its);
            if let Some(owners) = at.and_then(|at| owners_by_kind.get_mut(at)) {
                owners.insert(id, object);
            }
        }
    }
    let releases: Vec<&Value> = objects.filter(|object| is_release_without_inventory(object)).collect();
    let mut found = vec![];
    for (resource, mut owners) in resources.iter().zip(owners_by_kind) {
        let is_worth = owners.len() > WORTH_A_LIST;
        let places: BTreeSet<Option<&str>> = match namespace {
            None => [None].into(),
            Some(_) => owners.keys().map(ObjectId::namespace).collect(),
        };
        if is_worth {
            places.iter().for_each(|place| drop(snapshot.list(resource, *place)));
        }
        // An object in a list that is loading is not read separately.
        let is_coming = is_worth && !places.iter().all(|place| snapshot.is_listed(resource, *place));
        drop(places);
        for (live, owner) in released(snapshot, resource, &releases, namespace) {
            owners.entry(ObjectId::of(live)).or_insert(owner);
        }
        if is_coming {
            continue;
        }
        found.extend(owners.into_iter().map(|(id, owner)| Workload { live: snapshot.get_ref(&id), id, owner }));
    }
    found
}

fn is_release_without_inventory(object: &Value) -> bool {
    fields::kind(object) == "HelmRelease"
        && fields::group(object) == HELM_GROUP
        && fields::items(object, "/status/inventory/entries").is_empty()
        && !fields::items(object, "/status/history").is_empty()
}

/// Returns the objects of releases without an inventory (helm-controller before Flux 2.8), by helm-controller's labels
/// (<https://fluxcd.io/flux/components/helm/helmreleases/#recommended-settings>).
fn released<'a>(
    snapshot: &'a Snapshot,
    resource: &ResourceType,
    releases: &[&'a Value],
    namespace: Option<&str>,
) -> Vec<(&'a Value, &'a Value)> {
    let releases: BTreeMap<(&str, &str), &Value> = releases
        .iter()
        .map(|object| ((fields::namespace(object).unwrap_or_default(), fields::name(object)), *object))
        .collect();
    let target = |release: &'a Value| {
        fields::some_text(release, "/spec/targetNamespace").or(fields::namespace(release)).unwrap_or_default()
    };
    // Pods of a release belong to its workloads or its tests.
    if releases.is_empty() || *resource == POD {
        return vec![];
    }
    let places: BTreeSet<Option<&str>> = match namespace {
        None => [None].into(),
        Some(_) => releases.values().map(|release| Some(target(release))).collect(),
    };
    let (name, place) = (format!("{HELM_GROUP}/name"), format!("{HELM_GROUP}/namespace"));
    let mut found = vec![];
    for at in places {
        for live in snapshot.list_labelled(resource, at, &name) {
            let release = fields::label(live, &place).zip(fields::label(live, &name));
            found.extend(release.and_then(|release| releases.get(&release)).map(|release| (live, *release)));
        }
    }
    found
}
