//! The one file of `inspect` that is not pure: it answers what a view asks for from the API server.
//!
//! Reads only. Cancelling drops the requests in flight; nothing in the cluster has changed.

use futures::stream::{self, StreamExt};
use kube::core::Request;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::object;
use super::resources::FluxObject;
use super::snapshot::{self, Answer, Need, Snapshot};
use crate::api::kinds::{self, FluxKind, ResourceType, SECRET};
use crate::cluster::{Category, Cluster, ClusterError, ListOptions, Reason};

/// Requests in flight at once; the API server's own fairness is the bound beyond that.
const CONCURRENCY: usize = 8;
/// Objects per page; kubectl's number.
const PAGE: u32 = 500;
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
/// an absence.
pub async fn collect<T>(cluster: &Cluster, mut view: impl FnMut(&Snapshot) -> T) -> Result<Collected<T>, ClusterError> {
    let mut snapshot = Snapshot::of_cluster();
    let mut refusals = Vec::new();
    let mut rounds = 0;
    loop {
        let value = view(&snapshot);
        let needs = snapshot.take_needs();
        rounds += 1;
        if needs.is_empty() || rounds > MAX_ROUNDS {
            return Ok(Collected { value, snapshot, refusals });
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
fn versions(resource: &ResourceType) -> Vec<ResourceType> {
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
    let object = crate::cluster::ObjectRef::new("Secret", Some(namespace), name);
    let failed = |e| cluster.explain(e, format!("look for {object}"), Some(object.clone()));
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

/// Which Flux objects are listed.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// `None` lists all namespaces.
    pub namespace: Option<String>,
    /// Kubernetes' label selector.
    pub selector: Option<String>,
}

/// One page of a list: only what rows need.
#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    metadata: PageMetadata,
    items: Vec<FluxObject>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PageMetadata {
    #[serde(rename = "continue")]
    token: Option<String>,
}

/// What came of listing one kind.
#[derive(Debug)]
pub enum Listed {
    All,
    NotInstalled,
    Denied(Box<ClusterError>),
}

/// Lists kinds concurrently and hands their pages on in the order of kinds, each as soon as those before it are done.
///
/// At most two pages of each kind wait in memory. `on_page` returns an error to end early.
///
/// # Errors
/// Of the first kind that cannot be listed for another reason than being absent or denied, or of `on_page`.
pub async fn pages<E: From<ClusterError>>(
    cluster: &Cluster,
    flux_kinds: &[&'static FluxKind],
    scope: &Scope,
    mut on_page: impl FnMut(&'static FluxKind, Vec<FluxObject>) -> Result<(), E>,
) -> Result<Vec<(&'static FluxKind, Listed)>, E> {
    let permits = std::sync::Arc::new(tokio::sync::Semaphore::new(CONCURRENCY));
    let mut tasks = tokio::task::JoinSet::new();
    let mut queues = Vec::with_capacity(flux_kinds.len());
    for (index, kind) in flux_kinds.iter().copied().enumerate() {
        let (sender, receiver) = tokio::sync::mpsc::channel(2);
        queues.push((kind, receiver));
        let (cluster, scope, permits) = (cluster.clone(), scope.clone(), permits.clone());
        tasks.spawn(async move {
            // The order of permits is the order of kinds, so the one that is printed next is never starved.
            let permit = permits.acquire_owned().await;
            let listed = list_kind(&cluster, kind, &scope, &sender).await;
            drop(permit);
            (index, listed)
        });
    }
    for (kind, receiver) in &mut queues {
        while let Some(objects) = receiver.recv().await {
            on_page(kind, objects)?;
        }
    }
    let mut outcomes: Vec<Option<Listed>> = flux_kinds.iter().map(|_| None).collect();
    while let Some(done) = tasks.join_next().await {
        // A task only ends otherwise by a panic of ours, which has been reported by then.
        let Ok((index, listed)) = done else { continue };
        if let Some(outcome) = outcomes.get_mut(index) {
            *outcome = Some(listed?);
        }
    }
    Ok(flux_kinds.iter().copied().zip(outcomes).filter_map(|(kind, outcome)| Some((kind, outcome?))).collect())
}

async fn list_kind(
    cluster: &Cluster,
    kind: &'static FluxKind,
    scope: &Scope,
    sender: &tokio::sync::mpsc::Sender<Vec<FluxObject>>,
) -> Result<Listed, ClusterError> {
    for version in versions(&kind.resource_type()) {
        let mut token: Option<String> = None;
        let mut restarted = false;
        loop {
            match page(cluster, &version, scope, token.as_deref()).await {
                Ok(page) => {
                    if sender.send(page.items).await.is_err() {
                        return Ok(Listed::All);
                    }
                    token = page.metadata.token.filter(|t| !t.is_empty());
                    if token.is_none() {
                        return Ok(Listed::All);
                    }
                }
                Err(error) if error.is_api_missing() => break,
                Err(error) if matches!(error.reason, Reason::Forbidden { .. }) => {
                    return Ok(Listed::Denied(Box::new(error)));
                }
                // The pages' snapshot expired before anything was handed on: one fresh start shows nothing twice.
                Err(error)
                    if matches!(error.reason, Reason::Server { code: 410, .. }) && token.is_none() && !restarted =>
                {
                    restarted = true;
                }
                Err(error) => return Err(error),
            }
        }
    }
    Ok(Listed::NotInstalled)
}

async fn page(
    cluster: &Cluster,
    resource: &ResourceType,
    scope: &Scope,
    token: Option<&str>,
) -> Result<Page, ClusterError> {
    let name = resource.resource_name();
    let failed = |e| cluster.explain(e, format!("list {name}"), None);
    let params = kube::api::ListParams {
        limit: Some(PAGE),
        label_selector: scope.selector.clone(),
        continue_token: token.map(Into::into),
        ..kube::api::ListParams::default()
    };
    let request = Request::new(resource.path(scope.namespace.as_deref(), None)).list(&params);
    let request = request.map_err(|e| failed(kube::Error::BuildRequest(e)))?;
    let text = cluster.client.request_text(request).await.map_err(failed)?;
    match serde_json::from_str::<Page>(&text) {
        Ok(page) => Ok(page),
        // One object of unusual types must not hide the other 499.
        Err(_) => {
            let page: Value = serde_json::from_str(&text).map_err(|e| failed(kube::Error::SerdeError(e)))?;
            let items = object::items(&page, "/items").iter().map(FluxObject::of).collect();
            let token = object::some_text(&page, "/metadata/continue").map(Into::into);
            Ok(Page { metadata: PageMetadata { token }, items })
        }
    }
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

/// The names of one kind, for completion: one page, as a table without objects, which is a tenth of their metadata
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
