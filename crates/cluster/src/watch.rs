//! Follows the objects of a kind: a list, then a watch from there, and both again whenever the watch ends.

use std::time::Duration;

use futures::StreamExt;
use futures::stream::BoxStream;
use kube::core::WatchEvent;
use serde_json::Value;
use tokio::time::Instant;

use super::call::{ApiCall, encode};
use super::{Cluster, ClusterError, ListOptions};
use crate::api::kinds::ResourceType;

/// A watch without events for this long is reopened from a fresh list, because a dead connection looks like a quiet
/// cluster.
const IDLE: Duration = Duration::from_secs(30);
/// Like [`IDLE`], for watches that last for days. API servers send a bookmark every minute, so a live watch is never
/// reopened.
const PATIENT_IDLE: Duration = Duration::from_secs(90);
/// Number of consecutive failures that end the watch.
const FAILURES: u32 = 6;
/// Half of the first pause; each later pause is twice as long, up to 6.4 s.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// A watch that ends sooner than this without an object was cut by a proxy, not by the server's time-out.
const SHORT_LIFE: Duration = Duration::from_secs(1);

/// A change of the followed objects.
#[derive(Clone, Debug)]
pub enum FollowedChange {
    /// All current objects; any other object is deleted.
    All(Vec<Value>),
    /// An object that is new or changed.
    Set(Value),
    /// A deleted object, in its last state.
    Gone(Value),
}

/// Follows the objects of a kind.
pub struct Follower {
    cluster: Cluster,
    resource: ResourceType,
    namespace: Option<String>,
    options: ListOptions,
    version: Option<String>,
    stream: Option<BoxStream<'static, kube::Result<WatchEvent<Value>>>>,
    /// Number of failed lists and watches since the last success.
    failures: u32,
    /// Number of consecutive watches that ended at once without an object.
    short_lives: u32,
    opened: Instant,
    /// Whether the open watch has not delivered an object yet.
    is_quiet: bool,
    pause_until: Option<Instant>,
    idle: Duration,
    is_served: bool,
}

impl Follower {
    /// Starts from a list, or from the resource version of an earlier list.
    pub fn new(
        cluster: &Cluster,
        resource: ResourceType,
        namespace: Option<&str>,
        options: ListOptions,
        version: Option<String>,
    ) -> Self {
        Follower {
            cluster: cluster.clone(),
            resource,
            namespace: namespace.map(str::to_owned),
            options,
            version: version.filter(|version| !version.is_empty()),
            stream: None,
            failures: 0,
            short_lives: 0,
            opened: Instant::now(),
            is_quiet: true,
            pause_until: None,
            idle: IDLE,
            is_served: true,
        }
    }

    /// Whether the API server served the kind at the last request.
    pub fn is_served(&self) -> bool {
        self.is_served
    }

    /// Follows for days: a dead connection is noticed later, and a quiet one costs nothing.
    #[must_use]
    pub fn patient(self) -> Self {
        Follower { idle: PATIENT_IDLE, ..self }
    }

    /// Returns the next change. Cancelling loses nothing: the next call continues.
    ///
    /// # Errors
    /// The list or the watch failed several times in a row.
    pub async fn next(&mut self) -> Result<FollowedChange, ClusterError> {
        loop {
            match self.try_next().await {
                // A kind that is not served has no objects.
                Err(error) if error.is_api_missing() => {
                    self.is_served = false;
                    return Ok(FollowedChange::All(vec![]));
                }
                Err(_) if self.failures < FAILURES => {}
                other => return other,
            }
        }
    }

    /// Returns the next change, or the reason of a failure; the next call tries again after a pause.
    pub async fn try_next(&mut self) -> Result<FollowedChange, ClusterError> {
        loop {
            self.paused().await;
            if let Some(version) = self.version.clone() {
                match self.watched(&version).await? {
                    Some(change) => return Ok(change),
                    None => continue,
                }
            }
            let list = self.cluster.list_all(&self.resource, self.namespace.as_deref(), &self.options).await;
            let list = match list {
                Err(error) => return Err(self.failed(error)),
                Ok(None) => {
                    let name = self.resource.resource_name();
                    let error = self.cluster.not_served(format!("watch {name}"), name);
                    return Err(self.failed(error));
                }
                Ok(Some(list)) => list,
            };
            (self.failures, self.is_served) = (0, true);
            self.version = Some(list.resource_version);
            return Ok(FollowedChange::All(list.items));
        }
    }

    /// Returns the next change as long as no list is needed; `None` when the watch cannot continue.
    pub async fn next_watched(&mut self) -> Option<FollowedChange> {
        loop {
            self.paused().await;
            let version = self.version.clone()?;
            match self.watched(&version).await {
                Ok(Some(change)) => return Some(change),
                Ok(None) => {}
                Err(error) => tracing::debug!("{}", error.sentence()),
            }
        }
    }

    async fn paused(&mut self) {
        if let Some(until) = self.pause_until {
            tokio::time::sleep_until(until).await;
            self.pause_until = None;
        }
    }

    /// Opens the watch if it is closed, otherwise waits for its next change; `None` means that the caller decides how
    /// to continue.
    async fn watched(&mut self, version: &str) -> Result<Option<FollowedChange>, ClusterError> {
        let Some(stream) = self.stream.as_mut() else {
            match self.open(version).await {
                Ok(stream) => {
                    (self.failures, self.opened, self.is_quiet) = (0, Instant::now(), true);
                    self.stream = Some(stream);
                }
                Err(error) => {
                    self.version = None;
                    // Only a checked list proves that a kind is no longer served.
                    return Err(self.failed(error.without_meaning("not found, although it was listed")));
                }
            }
            return Ok(None);
        };
        match tokio::time::timeout(self.idle, stream.next()).await {
            Ok(Some(Ok(event))) => {
                match event {
                    WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                        self.remember(&object);
                        return Ok(Some(FollowedChange::Set(object)));
                    }
                    WatchEvent::Deleted(object) => {
                        self.remember(&object);
                        return Ok(Some(FollowedChange::Gone(object)));
                    }
                    // Neither of these two concerns an object.
                    WatchEvent::Bookmark(bookmark) => self.version = Some(bookmark.metadata.resource_version),
                    // Usually 410: too many changes since the known version.
                    WatchEvent::Error(_) => {
                        self.restart();
                        self.pause_after_short_life();
                    }
                }
            }
            // The server ends watches after some minutes, so continue from the last version.
            Ok(None) => {
                self.stream = None;
                self.pause_after_short_life();
            }
            Ok(Some(Err(_))) => {
                self.restart();
                self.pause_after_short_life();
            }
            Err(_) => self.restart(),
        }
        Ok(None)
    }

    fn restart(&mut self) {
        self.stream = None;
        self.version = None;
    }

    fn remember(&mut self, object: &Value) {
        self.is_quiet = false;
        if let Some(version) = object.pointer("/metadata/resourceVersion").and_then(Value::as_str) {
            self.version = Some(version.to_owned());
        }
    }

    async fn open(
        &mut self,
        version: &str,
    ) -> Result<BoxStream<'static, kube::Result<WatchEvent<Value>>>, ClusterError> {
        let path = format!(
            "{}?watch=true&allowWatchBookmarks=true&resourceVersion={}{}",
            self.resource.path(self.namespace.as_deref(), None),
            encode(version),
            self.options.query()
        );
        let accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
        let call = ApiCall { accept: self.options.metadata_only.then_some(accept), ..ApiCall::get(path) };
        let opened = async { self.cluster.client.request_events(call.request()?).await };
        let attempted = || format!("watch {}", self.resource.resource_name());
        opened.await.map(StreamExt::boxed).map_err(|error| self.cluster.explain(&error, attempted(), None))
    }

    fn failed(&mut self, error: ClusterError) -> ClusterError {
        self.failures += 1;
        self.pause(self.failures);
        error
    }

    /// Pauses after a short watch: a proxy that ends every watch at once must not cause a request loop.
    fn pause_after_short_life(&mut self) {
        if !self.is_quiet || self.opened.elapsed() >= SHORT_LIFE {
            self.short_lives = 0;
            return;
        }
        self.short_lives += 1;
        self.pause(self.short_lives);
    }

    fn pause(&mut self, failures: u32) {
        self.pause_until = Some(Instant::now() + FIRST_PAUSE * 2u32.saturating_pow(failures.min(6)));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use kube::client::Body;
    use serde_json::json;

    use super::*;
    use crate::{Endpoint, Reason};

    /// A cluster whose server answers request `n` with a status and a body, and the number of its requests.
    fn cluster(answer: impl Fn(usize, &str) -> (u16, String) + Send + Sync + 'static) -> (Cluster, Arc<AtomicUsize>) {
        let (answer, count) = (Arc::new(answer), Arc::new(AtomicUsize::new(0)));
        let asked = count.clone();
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let (code, body) = answer(count.fetch_add(1, Ordering::SeqCst), request.uri().query().unwrap_or_default());
            let response = http::Response::builder().status(code).body(Body::from(body.into_bytes()));
            async move { response }
        });
        (Cluster::of_client(kube::Client::new(service, "n"), Endpoint::default()), asked)
    }

    fn follower(cluster: &Cluster) -> Follower {
        Follower::new(cluster, crate::api::kinds::POD, Some("n"), ListOptions::default(), None)
    }

    fn list() -> (u16, String) {
        (200, json!({"metadata": {"resourceVersion": "1"}, "items": []}).to_string())
    }

    fn refused() -> (u16, String) {
        (
            500,
            json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 500, "message": "no"})
                .to_string(),
        )
    }

    #[tokio::test(start_paused = true)]
    async fn watches_that_end_at_once_are_opened_with_growing_pauses() {
        let expired = json!({"type": "ERROR", "object": {"kind": "Status", "apiVersion": "v1", "status": "Failure",
            "code": 410, "reason": "Expired", "message": "too old resource version"}});
        let bookmark = json!({"type": "BOOKMARK", "object": {"kind": "Pod", "apiVersion": "v1",
            "metadata": {"resourceVersion": "2"}}});
        for events in [String::new(), format!("{expired}\n"), format!("{bookmark}\n")] {
            let watched = events.clone();
            let (cluster, asked) = cluster(move |count, query| {
                assert!(count < 1000, "as fast as the network allows: {watched}");
                if query.contains("watch=true") { (200, watched.clone()) } else { list() }
            });
            let mut pods = follower(&cluster);
            let quiet = async {
                loop {
                    assert!(
                        matches!(pods.next().await, Ok(FollowedChange::All(all)) if all.is_empty()),
                        "nothing happened"
                    );
                }
            };
            assert!(tokio::time::timeout(Duration::from_secs(60), quiet).await.is_err());
            let asked = asked.load(Ordering::SeqCst);
            assert!((5..=30).contains(&asked), "{asked} requests in a minute: {events}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_quiet_wait_survives_failures_that_come_now_and_then() {
        // Every third request fails; a watch delivers nothing and is cut.
        let (cluster, asked) = cluster(|count, query| match query.contains("watch=true") {
            _ if count % 3 == 2 => refused(),
            true => (200, String::new()),
            false => list(),
        });
        let mut pods = follower(&cluster);
        let quiet = async {
            loop {
                pods.next().await.expect("no end");
            }
        };
        assert!(tokio::time::timeout(Duration::from_secs(600), quiet).await.is_err());
        assert!(asked.load(Ordering::SeqCst) > 18);
    }

    #[tokio::test(start_paused = true)]
    async fn a_404_for_a_watch_does_not_mean_that_objects_are_missing() {
        let pod = json!({"metadata": {"resourceVersion": "1"}, "items": [{"metadata": {"name": "a"}}]}).to_string();
        let (cluster, _) = cluster(move |_, query| match query.contains("watch=true") {
            true => (404, "404 page not found".to_owned()),
            false => (200, pod.clone()),
        });
        let mut pods = follower(&cluster);
        for _ in 0..5 {
            assert!(matches!(pods.next().await, Ok(FollowedChange::All(all)) if all.len() == 1));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_gateway_that_answers_everything_with_404_does_not_mean_that_objects_are_missing() {
        let (cluster, _) = cluster(|_, _| (404, "404 page not found".to_owned()));
        let error = follower(&cluster).next().await.unwrap_err();
        assert!(matches!(error.reason, Reason::Server { code: 404, .. }), "{}", error.reason);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_always_fails_ends_the_watch() {
        let (cluster, _) = cluster(|_, _| refused());
        assert!(follower(&cluster).next().await.is_err());
    }
}
