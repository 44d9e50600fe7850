//! Answers the needs of a view from the API server. With `pages` and `requests`, this is the impure part of `inspect`.
//!
//! Only reads. Cancelling drops the requests in flight; the cluster is not changed.

use futures::stream::{self, StreamExt};
use serde_json::Value;

use super::pages::{self, Scope};
use super::requests::{CONCURRENCY, at_versions};
use super::snapshot;
use super::snapshot::{Answer, Need, Parts, Snapshot};
use crate::api::kinds::SECRET;
use crate::api::well_known::ENTITLEMENT_SECRET;
use crate::cluster::{Category, Cluster, ClusterError, ListOptions, Reason};
use crate::k8s::ResourceType;

/// A view with needs after this many rounds loops forever.
const MAX_ROUNDS: usize = 64;
/// Number of log lines to read.
const LOG_LINES: u32 = 20;

/// A view with its snapshot.
pub struct CollectedView<T> {
    pub value: T,
    pub snapshot: Snapshot,
    /// Failed reads: refusals and kinds that are not installed are part of the snapshot and do not fail the view.
    pub refusals: Vec<ClusterError>,
}

/// Evaluates a view until it has no more needs.
///
/// # Errors
/// The server cannot be reached, rejects the credentials, or returns an error other than a refusal or a missing object;
/// or the view still has needs after 64 rounds.
pub async fn collect<T>(cluster: &Cluster, view: impl FnMut(&Snapshot) -> T) -> Result<CollectedView<T>, ClusterError> {
    let mut snapshot = Snapshot::of_cluster();
    let (value, refusals) = collect_more(cluster, &mut snapshot, view).await?;
    Ok(CollectedView { value, snapshot, refusals })
}

/// Evaluates a view of a snapshot that has objects already, and adds what it lacks. Returns the refusals too.
///
/// # Errors
/// As [`collect`]. The snapshot keeps what was read.
pub async fn collect_more<T>(
    cluster: &Cluster,
    snapshot: &mut Snapshot,
    mut view: impl FnMut(&Snapshot) -> T,
) -> Result<(T, Vec<ClusterError>), ClusterError> {
    let mut refusals = Vec::new();
    let mut rounds = 0;
    loop {
        let value = view(snapshot);
        let needs = snapshot.take_needs();
        if needs.is_empty() {
            return Ok((value, refusals));
        }
        rounds += 1;
        if rounds > MAX_ROUNDS {
            let reason = format!("after {MAX_ROUNDS} rounds of requests {} objects are still unknown", needs.len());
            return Err(ClusterError::new("gather everything", cluster.endpoint.clone(), Reason::Other(reason)));
        }
        refusals.extend(read(cluster, snapshot, needs).await?);
    }
}

/// Reads all needs concurrently, and returns the refusals.
async fn read(cluster: &Cluster, snapshot: &mut Snapshot, needs: Vec<Need>) -> Result<Vec<ClusterError>, ClusterError> {
    let mut refusals = Vec::new();
    let parts = snapshot.wanted_parts();
    let answers = stream::iter(needs).map(|need| async move {
        let answer = answer(cluster, &need, parts).await;
        (need, answer)
    });
    let mut answers = answers.buffer_unordered(CONCURRENCY);
    while let Some((need, answered)) = answers.next().await {
        let (answer, refusal) = answered?;
        snapshot.answer(need, answer);
        refusals.extend(refusal);
    }
    Ok(refusals)
}

type NeedAnswer = (Answer, Option<ClusterError>);

async fn answer(cluster: &Cluster, need: &Need, parts: Parts) -> Result<NeedAnswer, ClusterError> {
    let result = match need {
        Need::List { resource, namespace, selector } => {
            list(cluster, resource, namespace.as_deref(), selector.as_deref(), parts).await.map(Answer::Objects)
        }
        Need::Get { resource, namespace, name } => get(cluster, resource, namespace.as_deref(), name).await,
        Need::Kind { group, kind, .. } => cluster.served_resource_type(group, kind).await.map(Answer::Kind),
        Need::Logs { namespace, pod, container, previous } => {
            // A log is only evidence, so the view continues if it cannot be read.
            let log = cluster.log(namespace, pod, container, *previous, LOG_LINES).await;
            let answer = match log {
                Ok(lines) => Answer::Log(lines),
                // A container that has not started has no log, and neither has the previous run of a container that was
                // never restarted.
                Err(error) if matches!(error.reason, Reason::Server { code: 400, .. } | Reason::NotFound { .. }) => {
                    Answer::Log(vec![])
                }
                Err(error) => Answer::Unavailable(error.reason.to_string()),
            };
            return Ok((answer, None));
        }
        Need::ServerVersion => {
            let unexpected = |e: serde_json::Error| {
                let reason = Reason::Other(format!("cannot parse the version of {}: {e}", cluster.endpoint));
                ClusterError::new("read the server's version", cluster.endpoint.clone(), reason)
            };
            let version = cluster.server_version().await;
            version.and_then(|version| serde_json::from_value(version).map_err(unexpected)).map(Answer::Version)
        }
        Need::Access { verb, group, resource, namespace } => {
            cluster.may(verb, group, resource, namespace.as_deref()).await.map(Answer::Access)
        }
    };
    match result {
        Ok(answer) => Ok((answer, None)),
        Err(error) if error.is_api_missing() => Ok((Answer::NotInstalled, None)),
        Err(error) if matches!(error.reason, Reason::Forbidden { .. }) => {
            Ok((Answer::Denied(error.reason.to_string()), Some(error)))
        }
        // Without its objects, a view would be wrong, so that is an error. Any other missing answer only costs details.
        Err(error) if error.category() == Category::Failed && !matches!(need, Need::List { .. } | Need::Get { .. }) => {
            Ok((Answer::Unavailable(error.reason.to_string()), None))
        }
        Err(error) => Err(error),
    }
}

pub(crate) async fn list(
    cluster: &Cluster,
    resource: &ResourceType,
    namespace: Option<&str>,
    selector: Option<&str>,
    parts: Parts,
) -> Result<Vec<Value>, ClusterError> {
    // Read only metadata of Secrets: their values must not leave the server.
    let metadata_only = *resource == SECRET;
    let selector = selector.map(str::to_owned);
    if !metadata_only {
        let scope = Scope { namespace: namespace.map(str::to_owned), selector, ..Scope::default() };
        let mut objects = pages::trimmed(cluster, resource, scope, parts).await?;
        objects.iter_mut().for_each(snapshot::trim);
        return Ok(objects);
    }
    let options =
        &ListOptions { label_selector: selector, metadata_only, without_managers: true, ..ListOptions::default() };
    let mut list =
        at_versions(cluster, resource, |version| async move { cluster.list(&version, namespace, options).await })
            .await?;
    list.items.iter_mut().for_each(snapshot::trim);
    Ok(list.items)
}

async fn get(
    cluster: &Cluster,
    resource: &ResourceType,
    namespace: Option<&str>,
    name: &str,
) -> Result<Answer, ClusterError> {
    let found = match *resource == SECRET && name != ENTITLEMENT_SECRET {
        // Read whether it exists without its content. The Secret that names an issuer is read completely and trimmed at
        // once.
        true => cluster.get_metadata(resource, namespace, name).await,
        false => {
            at_versions(cluster, resource, |version| async move { cluster.get(&version, namespace, name).await }).await
        }
    };
    match found {
        Ok(mut object) => {
            snapshot::trim(&mut object);
            Ok(Answer::Objects(vec![object]))
        }
        Err(error) if error.is_not_found() => Ok(Answer::Objects(vec![])),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use http::{Request, Response};
    use kube::Client;
    use kube::client::Body;
    use serde_json::json;

    use super::*;
    use crate::api::kinds::CONFIG_MAP;
    use crate::cluster::Endpoint;

    #[tokio::test]
    async fn a_view_that_never_stops_asking_is_an_error_and_not_half_an_answer() {
        let service = tower::service_fn(|_: Request<Body>| async {
            let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404, "reason": "NotFound",
                "message": "", "details": {"kind": "configmaps", "name": "x"}});
            Response::builder().status(404).body(Body::from(status.to_string().into_bytes()))
        });
        let cluster = Cluster::of_client(Client::new(service, "default"), Endpoint::default());
        let mut asked = 0;
        let view = |snapshot: &Snapshot| {
            asked += 1;
            snapshot.get(&CONFIG_MAP, Some("a"), &format!("c{asked}")).is_some()
        };
        let error = collect(&cluster, view).await.map(|collected| collected.value).unwrap_err();
        assert!(error.reason.to_string().contains("after 64 rounds of requests"), "{}", error.reason);
        let chain = |snapshot: &Snapshot| {
            // The maximum length of a chain: one more need in each round.
            (0..60).take_while(|n| snapshot.get(&CONFIG_MAP, Some("a"), &format!("c{n}")).is_some()).count()
        };
        assert_eq!(collect(&cluster, chain).await.map(|collected| collected.value).unwrap(), 0);
    }
}
