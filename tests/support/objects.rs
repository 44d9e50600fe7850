//! Objects of any kind as JSON, for the initial state of a test.

use std::time::Duration;

use kube::api::{Api, DynamicObject, GroupVersionKind, Patch, PatchParams};
use kube::core::TypeMeta;
use kube::discovery::{self, Scope};
use kube::{Client, ResourceExt};
use serde_json::Value;

use super::{Fallible, eventually};

/// A kind may have been installed just before its first object, and the server needs a moment to serve it.
const SERVED_SOON: Duration = Duration::from_secs(10);
/// Longer than several of the server's waits for etcd (34 s each).
const TAKEN_SOON: Duration = Duration::from_secs(120);

/// Applies `objects` in order, with the field manager `test-harness`; those without a namespace go to `namespace`.
///
/// # Errors
/// An object has no kind or name, its kind is not served, or the server refuses it.
pub async fn apply(client: &Client, namespace: &str, objects: &[Value]) -> Fallible<Vec<DynamicObject>> {
    let mut applied = Vec::new();
    for object in objects {
        let object: DynamicObject = serde_json::from_value(object.clone())?;
        let types = object.types.clone().ok_or("an object without apiVersion and kind")?;
        let api = api_for(client, &types, object.namespace().as_deref().unwrap_or(namespace)).await?;
        let force = PatchParams::apply("test-harness").force();
        // A server on a loaded machine answers 504 if etcd is too slow.
        let accepted = || async {
            match api.patch(&object.name_any(), &force, &Patch::Apply(&object)).await {
                Err(kube::Error::Api(status)) if status.code == 504 => None,
                result => Some(result),
            }
        };
        applied.push(eventually("the server to take an object", TAKEN_SOON, accepted).await??);
    }
    Ok(applied)
}

/// Returns the API of one kind (`"apps/v1"`, `"Deployment"`) in `namespace`, or of the cluster if the kind is
/// cluster-scoped.
pub async fn api(client: &Client, api_version: &str, kind: &str, namespace: &str) -> Fallible<Api<DynamicObject>> {
    let types = TypeMeta { api_version: api_version.to_owned(), kind: kind.to_owned() };
    api_for(client, &types, namespace).await
}

async fn api_for(client: &Client, types: &TypeMeta, namespace: &str) -> Fallible<Api<DynamicObject>> {
    let gvk = GroupVersionKind::try_from(types)?;
    let served = || api_if_served(client, &gvk, namespace);
    eventually(&format!("{} to be served", types.kind), SERVED_SOON, served).await
}

/// Returns the API of one kind as [`api`] does, or `None` if the server does not serve the kind now.
pub async fn api_if_served(client: &Client, gvk: &GroupVersionKind, namespace: &str) -> Option<Api<DynamicObject>> {
    let (resource, capabilities) = discovery::pinned_kind(client, gvk).await.ok()?;
    Some(match capabilities.scope {
        Scope::Cluster => Api::all_with(client.clone(), &resource),
        Scope::Namespaced => Api::namespaced_with(client.clone(), namespace, &resource),
    })
}

/// Formats a time as `MicroTime`, as in Leases and Events.
pub fn micro_time(at: jiff::Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}
