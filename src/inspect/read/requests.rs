//! What all requests for views have in common: how many are under way, and at which version of a kind they ask.

use crate::api::kinds;
use crate::cluster::{Cluster, ClusterError};
use crate::k8s::ResourceType;

/// Requests in flight at once: one for every kind of Flux and some more, so that a far away server is waited for once. The API
/// server's own fairness is the bound beyond that.
pub(super) const CONCURRENCY: usize = 32;

/// The versions a kind may be served at, newest first.
pub(super) fn versions(resource: &ResourceType) -> Vec<ResourceType> {
    match kinds::of(&resource.group, &resource.kind) {
        Some(kind) => {
            let at = |version: &'static str| ResourceType { version: version.into(), ..resource.clone() };
            kind.versions.iter().map(|version| at(version)).collect()
        }
        None => vec![resource.clone()],
    }
}

/// Asks at the newest version first; a kind that is served at none of them is missing.
pub(super) async fn at_versions<T, F: Future<Output = Result<T, ClusterError>>>(
    cluster: &Cluster,
    resource: &ResourceType,
    ask: impl Fn(ResourceType) -> F,
) -> Result<T, ClusterError> {
    let mut versions = versions(resource).into_iter();
    let missing = match ask(versions.next().unwrap_or_else(|| resource.clone())).await {
        Err(error) if error.is_api_missing() => error,
        answer => return answer,
    };
    for version in older(cluster, versions.collect()).await {
        match ask(version).await {
            Err(error) if error.is_api_missing() => {}
            answer => return answer,
        }
    }
    Err(missing)
}

/// Those of the older versions that are worth to be asked for, when the newest is not served.
pub(super) async fn older(cluster: &Cluster, versions: Vec<ResourceType>) -> Vec<ResourceType> {
    // One is as quickly asked for as asked about.
    if versions.len() < 2 { versions } else { cluster.served_among(versions).await }
}
