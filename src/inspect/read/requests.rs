//! Shared by all requests of views: the number of concurrent requests, and the versions of a kind.

use crate::api::kinds;
use crate::cluster::{Cluster, ClusterError};
use crate::k8s::ResourceType;

/// Limit for concurrent requests: one for every Flux kind and some more, so that the latency of a distant server counts
/// once. The API server's own fairness limits the rest.
pub(super) const CONCURRENCY: usize = 32;

/// Returns the versions of a kind, newest first.
pub(super) fn versions(resource: &ResourceType) -> Vec<ResourceType> {
    match kinds::of(&resource.group, &resource.kind) {
        Some(kind) => {
            let at = |version: &'static str| ResourceType { version: version.into(), ..resource.clone() };
            kind.versions.iter().map(|version| at(version)).collect()
        }
        None => vec![resource.clone()],
    }
}

/// Tries the newest version first; a kind that is served in none of them is missing.
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

/// Returns the older versions that may be served, if the newest is not.
pub(super) async fn older(cluster: &Cluster, versions: Vec<ResourceType>) -> Vec<ResourceType> {
    // With a single version, trying it costs no more than looking it up.
    if versions.len() < 2 { versions } else { cluster.served_among(versions).await }
}
