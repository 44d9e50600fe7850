//! Following the objects of one kind: a list, then a watch from there, and again whenever the watch ends.

use std::time::Duration;

use futures::StreamExt;
use futures::stream::BoxStream;
use kube::core::WatchEvent;
use serde_json::Value;

use super::Cluster;
use super::requests::{CallError, Selector};
use crate::api::kinds::ResourceType;

/// A watch that says nothing for this long is opened again from a fresh list: a connection that died without a word looks
/// just like a cluster where nothing happens.
const IDLE: Duration = Duration::from_secs(30);
/// How many failures in a row end it.
const FAILURES: u32 = 6;
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// What became of the followed objects.
#[derive(Clone, Debug)]
pub enum Change {
    /// Everything there is now; what is not in it is gone.
    All(Vec<Value>),
    /// One object is new or different.
    Set(Value),
    /// One object is gone; its last state.
    Gone(Value),
}

/// Follows the objects of one kind.
pub struct Follower {
    cluster: Cluster,
    resource: ResourceType,
    namespace: Option<String>,
    selector: Selector,
    version: Option<String>,
    stream: Option<BoxStream<'static, kube::Result<WatchEvent<Value>>>>,
    failures: u32,
}

impl Follower {
    /// Starts from a list, or without one from the resource version of an earlier list.
    pub fn new(
        cluster: &Cluster,
        resource: ResourceType,
        namespace: Option<&str>,
        selector: Selector,
        version: Option<String>,
    ) -> Self {
        Follower {
            cluster: cluster.clone(),
            resource,
            namespace: namespace.map(str::to_owned),
            selector,
            version: version.filter(|version| !version.is_empty()),
            stream: None,
            failures: 0,
        }
    }

    /// Returns the next change. Cancelling loses nothing: the next call continues.
    ///
    /// # Errors
    /// The list or the watch failed several times in a row.
    pub async fn next(&mut self) -> Result<Change, CallError> {
        loop {
            let Some(version) = self.version.clone() else {
                let list = match self.cluster.list_all(&self.resource, self.namespace.as_deref(), &self.selector).await
                {
                    Err(error) => {
                        self.pause_after(error).await?;
                        continue;
                    }
                    // A kind that is not served (any more) has no objects.
                    Ok(None) => {
                        self.failures += 1;
                        tokio::time::sleep(self.pause()).await;
                        return Ok(Change::All(vec![]));
                    }
                    Ok(Some(list)) => list,
                };
                self.version = Some(list.resource_version);
                return Ok(Change::All(list.items));
            };
            let Some(stream) = self.stream.as_mut() else {
                match self.open(&version).await {
                    Ok(stream) => self.stream = Some(stream),
                    Err(error) => {
                        self.version = None;
                        self.pause_after(error).await?;
                    }
                }
                continue;
            };
            match tokio::time::timeout(IDLE, stream.next()).await {
                Ok(Some(Ok(event))) => {
                    self.failures = 0;
                    match event {
                        WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                            self.remember(&object);
                            return Ok(Change::Set(object));
                        }
                        WatchEvent::Deleted(object) => {
                            self.remember(&object);
                            return Ok(Change::Gone(object));
                        }
                        WatchEvent::Bookmark(bookmark) => self.version = Some(bookmark.metadata.resource_version),
                        // Mostly 410: too much happened since the version we know.
                        WatchEvent::Error(_) => self.restart(),
                    }
                }
                // The server ends watches after some minutes: go on from the last version.
                Ok(None) => self.stream = None,
                Ok(Some(Err(_))) | Err(_) => self.restart(),
            }
        }
    }

    fn restart(&mut self) {
        self.stream = None;
        self.version = None;
    }

    fn remember(&mut self, object: &Value) {
        if let Some(version) = object.pointer("/metadata/resourceVersion").and_then(Value::as_str) {
            self.version = Some(version.to_owned());
        }
    }

    async fn open(&mut self, version: &str) -> Result<BoxStream<'static, kube::Result<WatchEvent<Value>>>, CallError> {
        let path = format!(
            "{}?watch=true&allowWatchBookmarks=true&resourceVersion={}{}",
            self.resource.path(self.namespace.as_deref(), None),
            super::requests::encode(version),
            self.selector.query()
        );
        let attempted = format!("watch {}", self.resource.plural);
        let stream = self.cluster.watch_events(path, &attempted).await?;
        Ok(stream)
    }

    fn pause(&self) -> Duration {
        FIRST_PAUSE * 2u32.saturating_pow(self.failures.min(6))
    }

    async fn pause_after(&mut self, error: CallError) -> Result<(), CallError> {
        self.failures += 1;
        if self.failures >= FAILURES {
            return Err(error);
        }
        tokio::time::sleep(self.pause()).await;
        Ok(())
    }
}
