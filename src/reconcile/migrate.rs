//! Rewriting stored custom resources in the version their definition stores now.
//!
//! An API version can only be dropped when nothing is stored in it any more. After an upgrade every object is touched once,
//! so that the API server stores it anew; then the definition may forget the old versions. Managed fields carry an API
//! version, too: an entry of a dropped one would make the next apply fail.

use std::collections::BTreeSet;

use futures::{FutureExt, StreamExt};
use serde_json::{Value, json};

use super::live_objects::LiveObjects;
use super::progress::{Progress, Update};
use crate::api::well_known::{PART_OF_LABEL, RECONCILER_FIELD_MANAGER};
use crate::cluster::{Cluster, ClusterError, ListOptions};
use crate::k8s::{ObjectId, ResourceType, storage_version};

/// How often the objects of a kind are looked at for some that were stored in between.
const ROUNDS: usize = 4;

/// Why the objects of a definition are not all stored anew; its old versions stay on record then.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MigrateError {
    /// Not "no objects": an API server that has not heard of a new version answers so.
    #[error("version {0} is not served, though its definition says so")]
    NotServed(String),
    #[error("objects are stored faster than they are rewritten")]
    Unsettled,
    #[error("{}", .0.reason)]
    Call(#[from] ClusterError),
}

/// What became of a migration.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// Names of the definitions whose objects are all stored anew.
    pub migrated: Vec<String>,
    pub errors: Vec<(String, MigrateError)>,
}

/// Returns Flux's definitions whose objects have to be stored anew: all of them when `forced`, else those that are stored
/// in more than the present storage version.
pub(crate) fn due(live_objects: &LiveObjects, forced: bool) -> Vec<Value> {
    let of_flux = |crd: &&Value| {
        crd.pointer("/metadata/labels")
            .is_some_and(|labels| labels.get(PART_OF_LABEL).is_some_and(|part| part == "flux"))
    };
    live_objects.definitions().filter(of_flux).filter(|crd| forced || !is_migrated(crd)).cloned().collect()
}

fn is_migrated(definition: &Value) -> bool {
    let stored = definition.pointer("/status/storedVersions").and_then(Value::as_array);
    match (storage_version(definition), stored.map(Vec::as_slice)) {
        (Some(version), Some([only])) => *only == version,
        // A definition that has stored nothing yet.
        (_, None) => true,
        _ => false,
    }
}

/// Migrates definitions, one after the other.
pub(crate) async fn definitions(
    cluster: &Cluster,
    due: &[Value],
    concurrency: usize,
    progress: &dyn Progress,
) -> Report {
    let mut report = Report::default();
    for definition in due {
        let name = ObjectId::of(definition).name;
        match migrate(cluster, definition, concurrency, progress).await {
            Ok(()) => report.migrated.push(name),
            Err(error) => report.errors.push((name, error)),
        }
    }
    report
}

async fn migrate(
    cluster: &Cluster,
    definition: &Value,
    concurrency: usize,
    progress: &dyn Progress,
) -> Result<(), MigrateError> {
    let Some(version) = storage_version(definition) else { return Ok(()) };
    let resource = ResourceType::of_definition(definition, version.clone());
    let name = ObjectId::of(definition).name;
    let api_version = resource.api_version();
    let mut rewritten: BTreeSet<String> = BTreeSet::new();
    // What was created while the first ones were rewritten may have been stored by a server that did not know the new
    // version yet: old versions are forgotten only when a list shows nothing that was not rewritten.
    for _ in 0..ROUNDS {
        let list = cluster.list_all(&resource, None, &ListOptions::default()).await?;
        let list = list.filter(|list| list.version == version);
        let mut objects = list.ok_or_else(|| MigrateError::NotServed(version.clone()))?.items;
        let uid = |object: &Value| object.pointer("/metadata/uid").map(Value::to_string).unwrap_or_default();
        objects.retain(|object| !rewritten.contains(&uid(object)));
        if objects.is_empty() {
            return Ok(forget_versions(cluster, definition, &version).await?);
        }
        rewritten.extend(objects.iter().map(uid));
        let total = objects.len();
        let mut jobs = vec![];
        for object in objects {
            jobs.push(store_anew(cluster, object, &api_version).boxed());
        }
        let mut running = futures::stream::iter(jobs).buffer_unordered(concurrency.max(1));
        let mut done = 0;
        while let Some(result) = running.next().await {
            result?;
            done += 1;
            progress.report(Update::Migrated { definition: name.clone(), done, total });
        }
    }
    Err(MigrateError::Unsettled)
}

/// Touches one object so that the API server writes it in the storage version.
async fn store_anew(cluster: &Cluster, object: Value, api_version: &str) -> Result<(), ClusterError> {
    let id = &ObjectId::of(&object);
    let write = |object: Value| async move {
        match rewritten(&object, api_version) {
            Some(patch) => cluster.json_patch(id, &patch, RECONCILER_FIELD_MANAGER).await,
            None => cluster.merge_patch(id, None, &json!({}), RECONCILER_FIELD_MANAGER).await,
        }
    };
    cluster.retry_on_conflict(id, object, write).await.map(drop)
}

/// Returns the patch that sets the API version of all managed fields, or `None` when they have it.
fn rewritten(object: &Value, api_version: &str) -> Option<Value> {
    let entries = object.pointer("/metadata/managedFields")?.as_array()?;
    let is_old = |entry: &Value| entry.get("apiVersion").is_some_and(|version| version != api_version);
    if !entries.iter().any(is_old) {
        return None;
    }
    let mut entries = entries.clone();
    for entry in &mut entries {
        entry["apiVersion"] = api_version.into();
    }
    Some(json!([
        {"op": "replace", "path": "/metadata/managedFields", "value": entries},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": object.pointer("/metadata/resourceVersion")?},
    ]))
}

/// Takes all but the storage version out of the definition's `status.storedVersions`.
async fn forget_versions(cluster: &Cluster, definition: &Value, version: &str) -> Result<(), ClusterError> {
    let id = &ObjectId::of(definition);
    let write = |definition: Value| async move {
        // Somebody changed what is stored: the objects have to be looked at again by the next run.
        if is_migrated(&definition) || storage_version(&definition).as_deref() != Some(version) {
            return Ok(());
        }
        let patch = json!({
            "metadata": {"resourceVersion": definition.pointer("/metadata/resourceVersion")},
            "status": {"storedVersions": [version]},
        });
        cluster.merge_patch(id, Some("status"), &patch, RECONCILER_FIELD_MANAGER).await.map(drop)
    };
    cluster.retry_on_conflict(id, definition.clone(), write).await.map(drop)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::cluster::Endpoint;
    use crate::reconcile::progress::Silent;

    fn definition(name: &str, stored: Value, part_of: &str) -> Value {
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": name, "labels": {PART_OF_LABEL: part_of}},
            "spec": {"versions": [{"name": "v1beta2", "storage": false}, {"name": "v1", "storage": true}]},
            "status": {"storedVersions": stored}})
    }

    #[test]
    fn only_definitions_of_flux_with_old_versions_are_due_unless_forced() {
        let mut live_objects = LiveObjects::default();
        live_objects.set(definition("old", json!(["v1beta2", "v1"]), "flux"));
        live_objects.set(definition("new", json!(["v1"]), "flux"));
        live_objects.set(definition("other", json!(["v1beta2", "v1"]), "something"));
        let names = |forced| due(&live_objects, forced).iter().map(|crd| ObjectId::of(crd).name).collect::<Vec<_>>();
        assert_eq!(names(false), ["old"]);
        assert_eq!(names(true), ["new", "old"]);
    }

    #[tokio::test]
    async fn a_server_that_has_not_heard_of_the_new_version_forgets_no_old_one() {
        let served = json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": [
            {"metadata": {"name": "g"}, "versions": [{"version": "v1beta2", "resources": [{"resource": "buckets",
                "responseKind": {"group": "g", "version": "v1beta2", "kind": "Bucket"}, "scope": "Namespaced",
                "verbs": ["list", "patch"]}]}]}]});
        let writes = Arc::new(AtomicUsize::new(0));
        let written = writes.clone();
        let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let path = request.uri().path();
            let (code, body) = match path {
                _ if request.method() != http::Method::GET => {
                    written.fetch_add(1, Ordering::SeqCst);
                    (200, json!({}).to_string())
                }
                "/api" | "/apis" => (200, served.to_string()),
                "/apis/g/v1beta2/buckets" => {
                    (200, json!({"metadata": {"resourceVersion": "1"}, "items": []}).to_string())
                }
                _ => (404, "404 page not found".to_owned()),
            };
            let response = http::Response::builder().status(code).body(kube::client::Body::from(body.into_bytes()));
            async move { response }
        });
        let cluster = Cluster::of_client(kube::Client::new(service, "n"), Endpoint::default());
        let mut bucket = definition("buckets.g", json!(["v1beta2", "v1"]), "flux");
        bucket["spec"]["group"] = "g".into();
        bucket["spec"]["names"] = json!({"kind": "Bucket", "plural": "buckets"});
        let result = migrate(&cluster, &bucket, 1, &Silent).await;
        assert!(matches!(&result, Err(MigrateError::NotServed(version)) if version == "v1"), "{result:?}");
        assert_eq!(writes.load(Ordering::SeqCst), 0);
    }

    #[test]
    fn managed_fields_of_an_older_version_are_rewritten_under_the_resource_version() {
        let object = |version: &str| {
            json!({"metadata": {"resourceVersion": "4", "managedFields": [
            {"manager": "a", "apiVersion": version, "time": "t"}, {"manager": "b", "apiVersion": "g/v1"}]}})
        };
        assert_eq!(rewritten(&object("g/v1"), "g/v1"), None);
        let patch = rewritten(&object("g/v1beta2"), "g/v1").unwrap();
        assert_eq!(patch[0]["value"][0], json!({"manager": "a", "apiVersion": "g/v1", "time": "t"}));
        assert_eq!(patch[1]["value"], "4");
    }
}
