//! Answers what a view asks for from the API server. With `pages`, the part of `inspect` that is not pure.
//!
//! Reads only. Cancelling drops the requests in flight; nothing in the cluster has changed.

use futures::stream::{self, StreamExt};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::snapshot;
use super::snapshot::{Answer, Need, Snapshot};
use crate::api::kinds::{self, ResourceType, SECRET};
use crate::cluster::{Category, Cluster, ClusterError, ListOptions, Reason};

/// Requests in flight at once; the API server's own fairness is the bound beyond that.
pub(super) const CONCURRENCY: usize = 8;
/// A view that still asks for more after this many rounds asks in circles.
const MAX_ROUNDS: usize = 64;
/// Lines of a log that are read.
const LOG_LINES: u32 = 20;

/// A view with what it was made of.
pub struct Collected<T> {
    pub value: T,
    pub snapshot: Snapshot,
    /// What could not be read: refusals and kinds that are not installed are part of the snapshot and do not end the view.
    pub refusals: Vec<ClusterError>,
}

/// Evaluates a view until it asks for nothing more.
///
/// # Errors
/// The server cannot be reached, does not accept the credentials, or answers with an error that is neither a refusal nor
/// an absence; or the view is not done asking after 64 rounds.
pub async fn collect<T>(cluster: &Cluster, mut view: impl FnMut(&Snapshot) -> T) -> Result<Collected<T>, ClusterError> {
    let mut snapshot = Snapshot::of_cluster();
    let mut refusals = Vec::new();
    let mut rounds = 0;
    loop {
        let value = view(&snapshot);
        let needs = snapshot.take_needs();
        if needs.is_empty() {
            return Ok(Collected { value, snapshot, refusals });
        }
        rounds += 1;
        if rounds > MAX_ROUNDS {
            let reason = format!("after {MAX_ROUNDS} rounds of requests {} objects are still unknown", needs.len());
            return Err(ClusterError::new("gather everything", cluster.endpoint.clone(), Reason::Other(reason)));
        }
        let answers = stream::iter(needs).map(|need| async move {
            let answer = answer(cluster, &need).await;
            (need, answer)
        });
        let mut answers = answers.buffer_unordered(CONCURRENCY);
        while let Some((need, answered)) = answers.next().await {
            let (answer, refusal) = answered?;
            snapshot.answer(need, answer);
            refusals.extend(refusal);
        }
    }
}

type Answered = (Answer, Option<ClusterError>);

async fn answer(cluster: &Cluster, need: &Need) -> Result<Answered, ClusterError> {
    let result = match need {
        Need::List { resource, namespace, selector } => {
            list(cluster, resource, namespace.as_deref(), selector.as_deref()).await.map(Answer::Objects)
        }
        Need::Get { resource, namespace, name } => get(cluster, resource, namespace.as_deref(), name).await,
        Need::Kind { group, kind, .. } => cluster.served_resource_type(group, kind).await.map(Answer::Kind),
        Need::Logs { namespace, pod, container, previous } => {
            // A log is evidence, not a condition: whatever keeps it away, the view goes on without.
            return Ok((log(cluster, namespace, pod, container, *previous).await, None));
        }
        Need::ServerVersion => {
            let request = http::Request::get("/version").body(vec![]);
            call(cluster, request, "read the server's version").await.map(Answer::Version)
        }
        Need::Access { verb, group, resource, namespace } => {
            may(cluster, verb, group, resource, namespace.as_deref()).await.map(Answer::Access)
        }
    };
    match result {
        Ok(answer) => Ok((answer, None)),
        Err(error) if error.is_api_missing() => Ok((Answer::NotInstalled, None)),
        Err(error) if matches!(error.reason, Reason::Forbidden { .. }) => {
            Ok((Answer::Denied(error.reason.to_string()), Some(error)))
        }
        Err(error) if error.category() == Category::Failed && !matches!(need, Need::List { .. } | Need::Get { .. }) => {
            Ok((Answer::Unavailable(error.reason.to_string()), None))
        }
        Err(error) => Err(error),
    }
}

async fn call<T: DeserializeOwned>(
    cluster: &Cluster,
    request: Result<http::Request<Vec<u8>>, http::Error>,
    attempted: &str,
) -> Result<T, ClusterError> {
    let failed = |e| cluster.explain(e, attempted, None);
    let request = request.map_err(|e| failed(kube::Error::HttpError(e)))?;
    cluster.client.request(request).await.map_err(failed)
}

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

async fn list(
    cluster: &Cluster,
    resource: &ResourceType,
    namespace: Option<&str>,
    selector: Option<&str>,
) -> Result<Vec<Value>, ClusterError> {
    let options = ListOptions { label_selector: selector.map(Into::into), field_selector: None };
    let mut missing = None;
    for version in versions(resource) {
        match cluster.list(&version, namespace, &options).await {
            Ok(mut objects) => {
                objects.iter_mut().for_each(snapshot::trim);
                return Ok(objects);
            }
            Err(error) if error.is_api_missing() => missing = missing.or(Some(error)),
            Err(error) => return Err(error),
        }
    }
    match missing {
        Some(error) => Err(error),
        None => Ok(vec![]),
    }
}

async fn get(
    cluster: &Cluster,
    resource: &ResourceType,
    namespace: Option<&str>,
    name: &str,
) -> Result<Answer, ClusterError> {
    if *resource == SECRET {
        return secret(cluster, namespace.unwrap_or_default(), name).await;
    }
    let mut missing = None;
    for version in versions(resource) {
        match cluster.find(&version, namespace, name).await {
            Ok(found) => {
                return Ok(Answer::Objects(
                    found
                        .into_iter()
                        .map(|mut object| {
                            snapshot::trim(&mut object);
                            object
                        })
                        .collect(),
                ));
            }
            Err(error) if error.is_api_missing() => missing = missing.or(Some(error)),
            Err(error) => return Err(error),
        }
    }
    match missing {
        Some(error) => Err(error),
        None => Ok(Answer::Objects(vec![])),
    }
}

/// Whether a Secret exists, without fetching what it holds.
async fn secret(cluster: &Cluster, namespace: &str, name: &str) -> Result<Answer, ClusterError> {
    let object = crate::k8s::ObjectId::new("", "Secret", Some(namespace), name);
    let failed = |e| cluster.explain(e, format!("look for {}", object.lower_case()), Some(object.clone()));
    let request = http::Request::get(SECRET.path(Some(namespace), Some(name)))
        .header(http::header::ACCEPT, "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
        .body(vec![])
        .map_err(|e| failed(kube::Error::HttpError(e)))?;
    match cluster.client.request::<Value>(request).await.map_err(failed) {
        Ok(mut found) => {
            found["apiVersion"] = "v1".into();
            found["kind"] = "Secret".into();
            Ok(Answer::Objects(vec![found]))
        }
        Err(error) if error.is_not_found() => Ok(Answer::Objects(vec![])),
        Err(error) => Err(error),
    }
}

async fn log(cluster: &Cluster, namespace: &str, pod: &str, container: &str, previous: bool) -> Answer {
    let path = kinds::POD.path(Some(namespace), Some(pod));
    let uri = format!("{path}/log?container={container}&tailLines={LOG_LINES}&previous={previous}");
    let Ok(request) = http::Request::get(uri).body(vec![]) else {
        return Answer::Unavailable("the name cannot be part of an address".into());
    };
    match cluster.client.request_text(request).await {
        Ok(text) => Answer::Log(text.lines().map(str::to_owned).collect()),
        Err(error) => Answer::Unavailable(error.to_string()),
    }
}

async fn may(
    cluster: &Cluster,
    verb: &str,
    group: &str,
    resource: &str,
    namespace: Option<&str>,
) -> Result<bool, ClusterError> {
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": verb, "group": group, "resource": resource, "namespace": namespace}},
    });
    let request = http::Request::post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(review.to_string().into_bytes());
    let review: Value = call(cluster, request, "ask which rights there are").await?;
    Ok(review.pointer("/status/allowed").and_then(Value::as_bool).unwrap_or(false))
}

/// The part of a server-side table that names objects: the first cell of a row is the name, for every kind.
#[derive(Deserialize)]
struct NameTable {
    #[serde(default)]
    rows: Vec<NameRow>,
}

#[derive(Deserialize)]
struct NameRow {
    cells: Vec<Value>,
}

/// The names of one kind, for completion: one page, as a table without objects, which is a fifth of their metadata
/// (<https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables>).
///
/// # Errors
/// As for any list.
pub async fn names(
    cluster: &Cluster,
    resource: &ResourceType,
    namespace: Option<&str>,
) -> Result<Vec<String>, ClusterError> {
    let resource_name = resource.resource_name();
    let failed = |e| cluster.explain(e, format!("list {resource_name}"), None);
    let path = resource.path(namespace, None);
    let request = http::Request::get(format!("{path}?limit=5000&includeObject=None"))
        .header(http::header::ACCEPT, "application/json;as=Table;g=meta.k8s.io;v=v1")
        .body(vec![])
        .map_err(|e| failed(kube::Error::HttpError(e)))?;
    let text = cluster.client.request_text(request).await.map_err(failed)?;
    let table: NameTable = serde_json::from_str(&text).map_err(|e| failed(kube::Error::SerdeError(e)))?;
    let name = |row: NameRow| row.cells.first().and_then(Value::as_str).map(str::to_owned);
    Ok(table.rows.into_iter().filter_map(name).collect())
}

#[cfg(test)]
mod tests {
    use http::{Request, Response};
    use kube::Client;
    use kube::client::Body;

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
            // As long as a chain may be: one thing more in each round.
            (0..60).take_while(|n| snapshot.get(&CONFIG_MAP, Some("a"), &format!("c{n}")).is_some()).count()
        };
        assert_eq!(collect(&cluster, chain).await.map(|collected| collected.value).unwrap(), 0);
    }
}
