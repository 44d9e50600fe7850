//! Lists Flux objects of many kinds, whole or reduced, and passes them on while the API server still sends them.
//!
//! An API server lists a kind from its cache. It reads pages after the first from etcd once its cache no longer has the
//! first page's revision, some minutes after the last change, which takes three to four times as long (measured with
//! Kubernetes 1.36, `benches/README.md`). So a page is large and is streamed: neither its text nor its objects are ever
//! completely in memory.
//!
//! `Cluster::list` collects a list and starts again if it was cut off. Objects that were passed on here cannot be taken
//! back, so a list continues after the last object it passed on. This is why there are two loops over pages.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Deserializer, Map, Value};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

use super::requests::{CONCURRENCY, older, versions};
use super::snapshot::Parts;
use super::trimmed::{TrimmedDefinition, TrimmedObject};
use crate::api::kinds::{CRD, FluxKind};
use crate::cluster::{Cluster, ClusterError, ListOptions, Reason};
use crate::inspect::read::flux_object::FluxObject;
use crate::k8s::ResourceType;
use crate::k8s::fields;

/// Objects per request. Flux's own controllers list a kind as a whole at every start.
const PAGE: u32 = 5_000;
/// Number of objects that are passed on together.
const BATCH: usize = 500;
/// Limit for resuming the list of a kind after it was cut off or its snapshot expired.
const RESUMPTIONS: u32 = 3;

/// Selects the Flux objects to list.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// `None` lists all namespaces.
    pub namespace: Option<String>,
    /// Kubernetes' label selector.
    pub selector: Option<String>,
    /// Only type and metadata are wanted.
    pub metadata_only: bool,
}

/// The result of listing a kind.
#[derive(Debug)]
pub enum ListOutcome {
    All(ListEnd),
    NotInstalled,
    Denied(Box<ClusterError>),
}

/// The information for following a kind after its list.
#[derive(Clone, Debug)]
pub struct ListEnd {
    /// In the served version.
    pub resource: ResourceType,
    /// The resource version of the whole list; `None` if the list was resumed and its parts are of different ages.
    pub resource_version: Option<String>,
}

/// A form in which listed objects can be read.
pub trait Listable: DeserializeOwned + Send + 'static {
    /// Whether managed fields are read.
    const MANAGERS: bool;
    /// Reads an object in which a field has an unexpected type.
    fn of(object: Value) -> Self;
    fn key(&self) -> Key;
}

/// `namespace/name`: API servers list in this order, byte by byte.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(String);

impl Key {
    fn new(namespace: &str, name: &str) -> Self {
        Key(format!("{namespace}/{name}"))
    }
}

impl Listable for FluxObject {
    const MANAGERS: bool = false;
    fn of(object: Value) -> Self {
        FluxObject::of(&object)
    }
    fn key(&self) -> Key {
        Key::new(&self.metadata.namespace, &self.metadata.name)
    }
}

/// A whole object, without managed fields, which no view shows.
impl Listable for Value {
    const MANAGERS: bool = false;
    fn of(object: Value) -> Self {
        object
    }
    fn key(&self) -> Key {
        Key::new(fields::namespace(self).unwrap_or_default(), fields::name(self))
    }
}

impl Listable for TrimmedDefinition {
    const MANAGERS: bool = true;
    fn of(object: Value) -> Self {
        TrimmedDefinition(object)
    }
    fn key(&self) -> Key {
        self.0.key()
    }
}

impl From<TrimmedDefinition> for Value {
    fn from(TrimmedDefinition(object): TrimmedDefinition) -> Value {
        object
    }
}

impl<const MANAGERS: bool> From<TrimmedObject<MANAGERS>> for Value {
    fn from(TrimmedObject(object): TrimmedObject<MANAGERS>) -> Value {
        object
    }
}

impl<const MANAGERS: bool> Listable for TrimmedObject<MANAGERS> {
    const MANAGERS: bool = MANAGERS;
    fn of(object: Value) -> Self {
        TrimmedObject(object)
    }
    fn key(&self) -> Key {
        self.0.key()
    }
}

/// Lists kinds concurrently and passes their objects on in the order of kinds, some hundreds at a time, each as soon as
/// those before it are done.
///
/// At most two such batches of each kind wait in memory. `on_batch` returns an error to stop.
///
/// # Errors
/// The first kind that cannot be listed, unless it is missing or denied; errors of `on_batch`.
pub async fn read<T: Listable, E: From<ClusterError>>(
    cluster: &Cluster,
    flux_kinds: &[&'static FluxKind],
    scope: &Scope,
    mut on_batch: impl FnMut(&'static FluxKind, Vec<T>) -> Result<(), E>,
) -> Result<Vec<(&'static FluxKind, ListOutcome)>, E> {
    let permits = Arc::new(Semaphore::new(CONCURRENCY));
    let mut tasks = JoinSet::new();
    let mut queues = Vec::with_capacity(flux_kinds.len());
    for (index, kind) in flux_kinds.iter().copied().enumerate() {
        let (sender, receiver) = mpsc::channel(2);
        queues.push((kind, receiver));
        let (cluster, scope, permits) = (cluster.clone(), scope.clone(), permits.clone());
        tasks.spawn(async move {
            // Permits are granted in the order of kinds, so the kind that is printed next never starves.
            let permit = permits.acquire_owned().await;
            let listed = list(&cluster, kind, &scope, &sender).await;
            drop(permit);
            (index, listed)
        });
    }
    for (kind, receiver) in &mut queues {
        while let Some(objects) = receiver.recv().await {
            on_batch(kind, objects)?;
        }
    }
    let mut outcomes: Vec<Option<ListOutcome>> = flux_kinds.iter().map(|_| None).collect();
    while let Some(done) = tasks.join_next().await {
        // Otherwise a task ends only by a panic in our code, which was reported already.
        let Ok((index, listed)) = done else { continue };
        if let Some(outcome) = outcomes.get_mut(index) {
            *outcome = Some(listed?);
        }
    }
    Ok(flux_kinds.iter().copied().zip(outcomes).filter_map(|(kind, outcome)| Some((kind, outcome?))).collect())
}

/// Position in the list of a kind.
#[derive(Default)]
struct ListCursor {
    /// Token of the next page; `None` before the first.
    token: Option<String>,
    /// The last object that was passed on.
    last: Option<Key>,
    /// Objects up to this one were passed on before the list was restarted.
    skip: Option<Key>,
    /// Resource version of the first page; the other pages belong to it.
    version: Option<String>,
}

/// The end of a page.
enum PageEnd {
    Read,
    /// Cut off; the objects before were passed on.
    Cut(Box<ClusterError>),
    /// The consumer wants no more objects.
    Unwanted,
}

async fn list<T: Listable>(
    cluster: &Cluster,
    kind: &'static FluxKind,
    scope: &Scope,
    sender: &mpsc::Sender<Vec<T>>,
) -> Result<ListOutcome, ClusterError> {
    match list_at_versions(cluster, &kind.resource_type(), scope, sender).await {
        Ok(Some(end)) => Ok(ListOutcome::All(end)),
        Ok(None) => Ok(ListOutcome::NotInstalled),
        Err(error) if error.is_api_missing() => Ok(ListOutcome::NotInstalled),
        Err(error) if matches!(error.reason, Reason::Forbidden { .. }) => Ok(ListOutcome::Denied(Box::new(error))),
        Err(error) => Err(error),
    }
}

/// Lists the objects of a kind without the parts that no view reads, each with its type; `parts` selects parts for few
/// views.
///
/// # Errors
/// A failed list request, including missing and denied kinds.
pub(super) async fn trimmed(
    cluster: &Cluster,
    resource: &ResourceType,
    scope: Scope,
    parts: Parts,
) -> Result<Vec<Value>, ClusterError> {
    match parts {
        Parts { schemas: false, .. } if *resource == CRD => all_as::<TrimmedDefinition>(cluster, resource, scope).await,
        Parts { managers: false, .. } => all_as::<TrimmedObject<false>>(cluster, resource, scope).await,
        Parts { managers: true, .. } => all_as::<TrimmedObject<true>>(cluster, resource, scope).await,
    }
}

async fn all_as<T: Listable + Into<Value>>(
    cluster: &Cluster,
    resource: &ResourceType,
    scope: Scope,
) -> Result<Vec<Value>, ClusterError> {
    let (sender, mut receiver) = mpsc::channel::<Vec<T>>(2);
    let (of, kind) = (cluster.clone(), resource.clone());
    // Parse the text on another thread than the answers to other requests.
    let mut task = JoinSet::new();
    task.spawn(async move { list_at_versions(&of, &kind, &scope, &sender).await });
    let mut all = vec![];
    while let Some(objects) = receiver.recv().await {
        all.extend(objects.into_iter().map(|object| typed(object.into(), resource)));
    }
    // Otherwise it ends only by a panic in our code, which was reported already.
    match task.join_next().await {
        Some(Ok(Err(error))) => Err(error),
        _ => Ok(all),
    }
}

/// Adds the type: items of built-in kinds lack it, and items of other kinds have the requested version.
fn typed(item: Value, resource: &ResourceType) -> Value {
    match item {
        Value::Object(fields) if !fields.contains_key("kind") => {
            let mut typed = Map::with_capacity(fields.len() + 2);
            typed.insert("apiVersion".to_owned(), resource.api_version().into());
            typed.insert("kind".to_owned(), resource.kind.as_ref().into());
            typed.extend(fields);
            Value::Object(typed)
        }
        item => item,
    }
}

/// Tries the newest version first; `None` for a kind without versions.
async fn list_at_versions<T: Listable>(
    cluster: &Cluster,
    resource: &ResourceType,
    scope: &Scope,
    sender: &mpsc::Sender<Vec<T>>,
) -> Result<Option<ListEnd>, ClusterError> {
    let mut missing = None;
    let mut versions: VecDeque<ResourceType> = versions(resource).into();
    while let Some(version) = versions.pop_front() {
        let mut place = ListCursor::default();
        let mut resumptions = 0;
        loop {
            let before = place.last.clone();
            let lost = match page(cluster, &version, scope, &mut place, sender).await {
                Ok(PageEnd::Read) if place.token.is_some() => continue,
                Ok(PageEnd::Read | PageEnd::Unwanted) => {
                    let resource_version = place.version.filter(|_| place.skip.is_none());
                    return Ok(Some(ListEnd { resource: version, resource_version }));
                }
                Ok(PageEnd::Cut(error)) => *error,
                // The snapshot of a paged list is kept for five minutes only.
                Err(error) if place.token.is_some() && error.is_expired() => {
                    place.token = None;
                    error
                }
                Err(error) if error.is_api_missing() => {
                    if missing.is_none() {
                        versions = older(cluster, versions.into()).await.into();
                    }
                    missing = missing.or(Some(error));
                    break;
                }
                Err(error) => return Err(error),
            };
            // A list that makes progress may be cut off any number of times.
            resumptions = if place.last == before { resumptions + 1 } else { 0 };
            if resumptions > RESUMPTIONS {
                return Err(lost);
            }
            tracing::warn!(kind = %resource.kind, "{}; listing continues", lost.reason);
            place.skip.clone_from(&place.last);
        }
    }
    // Every skipped version is missing.
    missing.map_or(Ok(None), Err)
}

/// Reads the page at `place` and moves `place` behind the objects that were passed on.
async fn page<T: Listable>(
    cluster: &Cluster,
    resource: &ResourceType,
    scope: &Scope,
    place: &mut ListCursor,
    sender: &mpsc::Sender<Vec<T>>,
) -> Result<PageEnd, ClusterError> {
    let options = ListOptions {
        label_selector: scope.selector.clone(),
        page_size: PAGE,
        metadata_only: scope.metadata_only,
        without_managers: !T::MANAGERS,
        ..ListOptions::default()
    };
    let pieces = cluster.list_in_pieces(resource, scope.namespace.as_deref(), &options, place.token.as_deref());
    let mut pieces = pieces.await?;
    let mut text = ListText::default();
    let mut batch = Vec::new();
    loop {
        let read = pieces.next(&mut text.unread).await;
        batch.extend(text.objects().map_err(|e| pieces.unexpected(e))?);
        if let Some(last) = &place.skip {
            batch.retain(|object: &T| object.key() > *last);
        }
        // Before an end or an error the rest is passed on, so that a resumed list begins after it.
        if let Some(object) = batch.last()
            && (batch.len() >= BATCH || !matches!(read, Ok(1..)))
        {
            place.last = Some(object.key());
            if sender.send(std::mem::take(&mut batch)).await.is_err() {
                return Ok(PageEnd::Unwanted);
            }
        }
        match read {
            Ok(0) => {
                let end = text.end().map_err(|e| pieces.unexpected(e))?;
                place.token = end.token.filter(|token| !token.is_empty());
                place.version = place.version.take().or(end.resource_version);
                return Ok(PageEnd::Read);
            }
            Ok(_) => {}
            Err(error) if matches!(error.reason, Reason::TimedOut { .. }) => return Err(error),
            Err(error) => return Ok(PageEnd::Cut(Box::new(error))),
        }
    }
}

/// The text of a list, from which complete objects are taken.
#[derive(Default)]
struct ListText {
    unread: Vec<u8>,
    /// The text before the first item, if complete.
    head: Option<Vec<u8>>,
    /// Whether all items were read, so that the rest is the end of the list.
    past_items: bool,
}

#[derive(Deserialize)]
struct ListEnvelope {
    #[serde(default)]
    metadata: ListMetadata,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ListMetadata {
    /// Token of the next page.
    #[serde(rename = "continue")]
    token: Option<String>,
    resource_version: Option<String>,
}

impl ListText {
    /// Takes the complete objects out of the unread text.
    fn objects<T: Listable>(&mut self) -> Result<Vec<T>, serde_json::Error> {
        if self.head.is_none() {
            let Some(length) = length_of_head(&self.unread) else { return Ok(vec![]) };
            self.head = Some(self.unread.drain(..length).collect());
        }
        let mut objects = Vec::new();
        let mut rest = self.unread.as_slice();
        while !self.past_items {
            let next = rest.trim_ascii_start();
            let next = next.strip_prefix(b",").unwrap_or(next);
            if next.starts_with(b"]") {
                self.past_items = true;
            } else if let Some((object, after)) = first_object(next)? {
                objects.push(object);
                rest = after;
            } else {
                break;
            }
        }
        let read = self.unread.len() - rest.len();
        self.unread.drain(..read);
        Ok(objects)
    }

    /// Returns the fields around the items.
    fn end(self) -> Result<ListMetadata, serde_json::Error> {
        let around = [self.head.unwrap_or_default(), self.unread].concat();
        let around: ListEnvelope = serde_json::from_slice(&around)?;
        Ok(around.metadata)
    }
}

/// Returns the length up to and including the bracket that opens the items; only the list's own type and metadata may
/// precede it.
fn length_of_head(text: &[u8]) -> Option<usize> {
    const ITEMS: &[u8] = b"\"items\"";
    let after = text.windows(ITEMS.len()).position(|window| window == ITEMS)? + ITEMS.len();
    let rest = text.get(after..)?.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start().strip_prefix(b"[")?;
    Some(text.len() - rest.len())
}

/// Splits off the value at the beginning of a text; `None` if it is incomplete.
fn first_value<T: DeserializeOwned>(text: &[u8]) -> Result<Option<(T, &[u8])>, serde_json::Error> {
    let mut parser = Deserializer::from_slice(text).into_iter();
    match parser.next() {
        Some(Ok(value)) => Ok(text.get(parser.byte_offset()..).map(|rest| (value, rest))),
        Some(Err(error)) if !error.is_eof() => Err(error),
        _ => Ok(None),
    }
}

/// Like [`first_value`]; an object with unexpected types must not hide the others.
fn first_object<T: Listable>(text: &[u8]) -> Result<Option<(T, &[u8])>, serde_json::Error> {
    first_value(text).or_else(|_| Ok(first_value(text)?.map(|(object, rest)| (T::of(object), rest))))
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::io::Error;
    use std::sync::Mutex;

    use futures::stream;
    use http::{Request, Response};
    use http_body_util::StreamBody;
    use hyper::body::{Bytes, Frame};
    use kube::Client;
    use kube::client::Body;
    use serde_json::json;

    use super::*;
    use crate::api::kinds;
    use crate::cluster::Endpoint;

    fn repository(name: &str) -> Value {
        json!({"metadata": {"name": name, "namespace": "apps"}, "spec": {"url": "https://[x]/\"}],{\\"}})
    }

    fn names(objects: &[FluxObject]) -> Vec<&str> {
        objects.iter().map(|object| object.metadata.name.as_str()).collect()
    }

    #[test]
    fn a_list_reads_the_same_wherever_its_text_is_cut() {
        let mut odd = repository("odd");
        odd["metadata"]["creationTimestamp"] = json!(["not a time"]);
        let list = json!({"apiVersion": "v1", "items": [repository("a"), odd, repository("ü")], "kind": "L",
            "metadata": {"continue": "next", "resourceVersion": "7"}});
        let metadata_first = r#"{"metadata":{"continue":"next"},"items" : [{"metadata":{"name":"a"}}
            , {"metadata":{"name":"odd"}},{"metadata":{"name":"ü"}}]}"#;
        for text in [list.to_string(), serde_json::to_string_pretty(&list).unwrap(), metadata_first.to_owned()] {
            for cut in 0..=text.len() {
                let (before, after) = text.as_bytes().split_at(cut);
                let mut list = ListText::default();
                let mut objects = vec![];
                for part in [before, after] {
                    list.unread.extend_from_slice(part);
                    objects.extend(list.objects::<FluxObject>().unwrap());
                }
                assert_eq!(names(&objects), ["a", "odd", "ü"], "cut at {cut} of {text}");
                assert_eq!(list.end().unwrap().token.as_deref(), Some("next"), "cut at {cut} of {text}");
            }
        }
    }

    #[test]
    fn a_list_without_items_is_empty_and_half_a_list_is_an_error() {
        let read = |text: &str| {
            let mut list = ListText { unread: text.into(), ..ListText::default() };
            (list.objects::<FluxObject>().map(|objects| objects.len()), list.end())
        };
        for text in [r#"{"items":[],"metadata":{"continue":""}}"#, r#"{"items":null}"#, r#"{"kind":"L"}"#] {
            let (count, end) = read(text);
            assert_eq!((count.unwrap(), end.unwrap().token.unwrap_or_default().as_str()), (0, ""), "{text}");
        }
        for text in [r#"{"items":[{"metadata":{}}"#, r#"{"items":[{"metadata":"#, r#"{"items""#, ""] {
            assert!(read(text).1.is_err(), "{text}");
        }
        assert!(read(r#"{"items":[}]}"#).0.is_err());
    }

    /// Status and body parts of an answer; `None` cuts the connection.
    type PageAnswer = (u16, Vec<Option<String>>);

    /// A cluster with these answers in order, and the recorded queries.
    fn cluster(answers: Vec<PageAnswer>) -> (Cluster, Arc<Mutex<Vec<String>>>) {
        let asked = Arc::new(Mutex::new(vec![]));
        let (answers, queries) = (Arc::new(Mutex::new(VecDeque::from(answers))), asked.clone());
        let service = tower::service_fn(move |request: Request<Body>| {
            queries.lock().unwrap().push(request.uri().query().unwrap_or_default().to_owned());
            let (status, parts) = answers.lock().unwrap().pop_front().expect("no further request");
            let frames = parts.into_iter().map(|part| match part {
                Some(text) => Ok(Frame::data(Bytes::from(text))),
                None => Err(Error::other("cut")),
            });
            let response = Response::builder().status(status).body(StreamBody::new(stream::iter(frames)));
            async move { response }
        });
        let endpoint = Endpoint { server: "https://server".to_owned(), context: None };
        (Cluster::of_client(Client::new(service, "default"), endpoint), asked)
    }

    async fn listed(cluster: &Cluster) -> (Vec<String>, Result<usize, Reason>) {
        let mut all = vec![];
        let kinds = [kinds::find("ocirepo").unwrap()];
        let outcome = read(cluster, &kinds, &Scope::default(), |_, objects: Vec<Value>| {
            all.extend(objects.iter().map(|object| fields::name(object).to_owned()));
            Ok(())
        })
        .await;
        (all, outcome.map(|outcomes| outcomes.len()).map_err(|error: ClusterError| error.reason))
    }

    fn items(names: &[&str]) -> String {
        names.iter().map(|name| repository(name).to_string()).collect::<Vec<_>>().join(",")
    }

    fn whole(names: &[&str], token: &str) -> PageAnswer {
        (200, vec![Some(format!(r#"{{"items":[{}],"metadata":{{"continue":"{token}"}}}}"#, items(names)))])
    }

    #[tokio::test]
    async fn a_cut_answer_is_asked_for_again_and_nothing_is_shown_twice() {
        let half = |names: &[&str]| (200, vec![Some(format!(r#"{{"items":[{},{{"meta"#, items(names))), None]);
        let (cluster, asked) = cluster(vec![
            whole(&["a", "b"], "second"),
            half(&["c", "d"]),
            half(&["c", "d", "e"]),
            whole(&["c", "d", "e", "f"], ""),
        ]);
        let (names, outcome) = listed(&cluster).await;
        assert_eq!((names.concat(), outcome), ("abcdef".to_owned(), Ok(1)));
        let tokens: Vec<_> = asked.lock().unwrap().iter().map(|q| q.contains("continue=second")).collect();
        assert_eq!(tokens, [false, true, true, true]);
    }

    #[tokio::test]
    async fn expired_pages_restart_after_the_last_shown_object() {
        let gone = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 410, "reason": "Expired",
            "message": "the provided continue parameter is too old"});
        let (cluster, asked) = cluster(vec![
            whole(&["a", "b"], "second"),
            (410, vec![Some(gone.to_string())]),
            whole(&["a", "aa", "b", "c"], ""),
        ]);
        let (names, outcome) = listed(&cluster).await;
        assert_eq!((names.concat(), outcome), ("abc".to_owned(), Ok(1)));
        assert!(!asked.lock().unwrap().last().unwrap().contains("continue="));
    }

    #[tokio::test]
    async fn an_answer_that_is_always_cut_in_the_same_place_is_an_error() {
        let cut = || (200, vec![Some(r#"{"items":["#.to_owned()), None]);
        let (cluster, asked) = cluster((0..=RESUMPTIONS).map(|_| cut()).collect());
        let (names, outcome) = listed(&cluster).await;
        assert!(names.is_empty() && matches!(outcome, Err(Reason::Unreachable { .. })), "{outcome:?}");
        assert_eq!(asked.lock().unwrap().len(), 4);
    }
}
