//! Rewrites stored custom resources in the current storage version of their definition.
//!
//! An API version can be dropped only if no object is stored in it. After an upgrade, every object is touched once, so
//! that the API server stores it again. The old versions are then removed from the definition's `storedVersions`.
//! Managed fields contain an API version too: an entry with a dropped version would make the next apply fail.

use std::collections::BTreeSet;

use futures::{FutureExt, StreamExt};
use serde_json::{Value, json};

use super::live_objects::LiveObjects;
use super::progress::{Progress, Update};
use crate::api::well_known::{PART_OF_LABEL, RECONCILER_FIELD_MANAGER};
use crate::cluster::{Cluster, ClusterError, ListOptions};
use crate::k8s::{ObjectId, ResourceType, storage_version};

/// Limit for listing the objects of a kind again because some were stored in between.
const ROUNDS: usize = 4;

/// Why not all objects of a definition were rewritten. Its old versions then remain in `storedVersions`.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MigrateError {
    /// Does not mean "no objects": an API server that does not know a new version yet answers the same.
    #[error("version {0} is not served, although its CRD lists it as served")]
    NotServed(String),
    #[error("objects are stored faster than they are rewritten")]
    Unsettled,
    #[error("{}", .0.reason)]
    Call(#[from] ClusterError),
}

/// The result of a migration.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// Names of the definitions whose objects were all rewritten.
    pub migrated: Vec<String>,
    pub errors: Vec<(String, MigrateError)>,
}

/// Returns Flux's definitions whose objects have to be rewritten: all of them when `forced`, else those with stored
/// versions other than the current storage version.
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
        // A definition without stored objects.
        (_, None) => true,
        _ => false,
    }
}

/// Migrates definitions one after the other.
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
    // Objects created in the meantime may have been stored by a server that did not know the new version yet. Old
    // versions are forgotten only when a list contains nothing but rewritten objects.
    for _ in 0..ROUNDS {
        let list = cluster.list_all(&resource, None, &ListOptions::default()).await?;
        // `list_all` falls back to another served version, and objects written at that version would not be migrated.
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
            jobs.push(store_again(cluster, object, &api_version).boxed());
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

/// Touches an object so that the API server writes it in the storage version.
async fn store_again(cluster: &Cluster, object: Value, api_version: &str) -> Result<(), ClusterError> {
    let id = &ObjectId::of(&object);
    let write = |object: Value| async move {
        match rewritten(&object, api_version) {
            Some(patch) => cluster.json_patch(id, &patch, RECONCILER_FIELD_MANAGER).await,
            // An empty patch is enough: the API server stores an object again when it was stored at another version.
            None => cluster.merge_patch(id, None, &json!({}), RECONCILER_FIELD_MANAGER).await,
        }
    };
    cluster.retry_on_conflict(id, object, write).await.map(drop)
}

/// Returns the patch that sets the API version of all managed fields, or `None` if it is already set.
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
    // The resource version makes the API server refuse the patch if the object has changed in the meantime.
    Some(json!([
        {"op": "replace", "path": "/metadata/managedFields", "value": entries},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": object.pointer("/metadata/resourceVersion")?},
    ]))
}

/// Removes all versions but the storage version from the definition's `status.storedVersions`.
async fn forget_versions(cluster: &Cluster, definition: &Value, version: &str) -> Result<(), ClusterError> {
    let id = &ObjectId::of(definition);
    let write = |definition: Value| async move {
        // The storage version has changed, so the next run has to check the objects again.
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
    use crate::reconcile::progress::IgnoredProgress;

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
    async fn old_versions_are_kept_if_the_server_does_not_serve_the_new_version() {
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
        let result = migrate(&cluster, &bucket_definition(), 1, &IgnoredProgress).await;
        assert!(matches!(&result, Err(MigrateError::NotServed(version)) if version == "v1"), "{result:?}");
        assert_eq!(writes.load(Ordering::SeqCst), 0);
    }

    fn bucket_definition() -> Value {
        let mut definition = definition("buckets.g", json!(["v1beta2", "v1"]), "flux");
        definition["spec"]["group"] = "g".into();
        definition["spec"]["names"] = json!({"kind": "Bucket", "plural": "buckets"});
        definition
    }

    /// An API server whose list number `n` has the objects in `listed`, and the recorded writes. Forgetting versions
    /// first meets a conflict, and then a definition with the storage version `stores`.
    fn server(listed: impl Fn(usize) -> Vec<String> + Send + Sync + 'static, stores: &str) -> (Cluster, Written) {
        let (lists, written) = (AtomicUsize::new(0), Written::default());
        let log = written.clone();
        let mut now = bucket_definition();
        now["metadata"]["resourceVersion"] = "2".into();
        now["spec"]["versions"][1]["name"] = stores.into();
        let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let name = request.uri().path().split('/').skip_while(|part| !part.contains("buckets")).nth(1);
            let object = |name: &str| json!({"metadata": {"name": name, "namespace": "n", "uid": name}});
            let (code, body) = match (request.method() == http::Method::GET, name) {
                (true, None) if request.uri().path().ends_with("/buckets") => {
                    let items: Vec<Value> =
                        listed(lists.fetch_add(1, Ordering::SeqCst)).iter().map(|name| object(name)).collect();
                    (200, json!({"metadata": {"resourceVersion": "1"}, "items": items}))
                }
                (true, _) if request.uri().path() == "/apis/g/v1" => {
                    let bucket = json!({"name": "buckets", "singularName": "bucket", "kind": "Bucket", "namespaced": true,
                        "verbs": ["list", "patch"]});
                    let kinds = json!({"kind": "APIResourceList", "groupVersion": "g/v1", "resources": [bucket]});
                    (200, kinds)
                }
                (true, _) => (200, now.clone()),
                (false, name) => {
                    let mut log = log.lock().unwrap();
                    log.push(name.unwrap_or_default().to_owned());
                    let is_first = log.iter().filter(|one| *one == "status").count() == 1;
                    let conflict = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 409,
                        "reason": "Conflict", "message": "modified"});
                    if name == Some("status") && is_first { (409, conflict) } else { (200, json!({})) }
                }
            };
            let response = http::Response::builder().status(code);
            let response = response.body(kube::client::Body::from(body.to_string().into_bytes()));
            async move { response }
        });
        (Cluster::of_client(kube::Client::new(service, "n"), Endpoint::default()), written)
    }

    type Written = Arc<std::sync::Mutex<Vec<String>>>;

    #[tokio::test(start_paused = true)]
    async fn old_versions_are_forgotten_once_a_list_shows_nothing_that_was_not_rewritten() {
        // `b` is stored while `a` is rewritten.
        let later = |list: usize| ["a", "b"].into_iter().take(list + 1).map(str::to_owned).collect();
        let (cluster, written) = server(later, "v1");
        migrate(&cluster, &bucket_definition(), 1, &IgnoredProgress).await.unwrap();
        assert_eq!(*written.lock().unwrap(), ["a", "b", "status", "status"]);
        // The definition got another storage version, so its objects have to be checked again.
        let (cluster, written) = server(later, "v2");
        migrate(&cluster, &bucket_definition(), 1, &IgnoredProgress).await.unwrap();
        assert_eq!(*written.lock().unwrap(), ["a", "b", "status"]);
        // Each list contains a new object.
        let (cluster, written) = server(|list| vec![format!("o{list}")], "v1");
        let unsettled = migrate(&cluster, &bucket_definition(), 1, &IgnoredProgress).await;
        assert!(matches!(unsettled, Err(MigrateError::Unsettled)), "{unsettled:?}");
        assert!(!written.lock().unwrap().contains(&"status".to_owned()));
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
