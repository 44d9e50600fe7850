//! The log of a container, streamed: only a few kilobytes are in memory at a time.

use std::pin::Pin;
use std::time::Duration;

use futures::io::{AsyncBufRead, AsyncBufReadExt};
use jiff::Timestamp;
use tokio::time::timeout;

use super::call::{ApiCall, encode, object_path};
use super::retry::StreamedAnswer;
use super::transport::CallTimeout;
use super::{Cluster, ClusterError};
use crate::api::kinds::POD;

/// The requested part of a log, and whether to follow it.
#[derive(Clone, Debug, Default)]
pub struct LogOptions {
    /// Continue until the container ends.
    pub follow: bool,
    /// Read the run before the last restart.
    pub previous: bool,
    /// Read only the last lines.
    pub tail: Option<u64>,
    /// Read from this time on.
    pub since: Option<Timestamp>,
}

/// An open log. Each line begins with its RFC 3339 time and a blank.
pub struct LogStream {
    body: Pin<Box<dyn AsyncBufRead + Send>>,
    /// Limit for the next piece; `None` for a followed log, which may be silent for ever.
    limit: Option<Duration>,
    cluster: Cluster,
    attempted: String,
}

impl Cluster {
    /// Opens the log of a container.
    ///
    /// # Errors
    /// Not found, denied, unreachable; a container that has not started answers with 400.
    pub async fn log_stream(
        &self,
        namespace: &str,
        pod: &str,
        container: &str,
        options: &LogOptions,
    ) -> Result<LogStream, ClusterError> {
        let attempted = format!("read the log of pod/{namespace}/{pod}");
        let opened = async {
            let path = object_path(&POD, Some(namespace), pod)?;
            let mut path = format!("{path}/log?container={}&timestamps=true", encode(container));
            for (name, on) in [("follow", options.follow), ("previous", options.previous)] {
                if on {
                    path.push_str(&format!("&{name}=true"));
                }
            }
            if let Some(lines) = options.tail {
                path.push_str(&format!("&tailLines={lines}"));
            }
            if let Some(since) = options.since {
                path.push_str(&format!("&sinceTime={}", encode(&since.to_string())));
            }
            let mut request = ApiCall::get(path).request()?;
            request.extensions_mut().insert(StreamedAnswer);
            self.client.request_stream(request).await
        };
        match opened.await {
            Ok(body) => {
                let limit = (!options.follow).then_some(self.request_timeout);
                Ok(LogStream { body: Box::pin(body), limit, cluster: self.clone(), attempted })
            }
            Err(error) => Err(self.explain(&error, attempted, None)),
        }
    }
}

impl LogStream {
    /// Waits for data and appends it to `text`. Returns the number of bytes, 0 at the end.
    ///
    /// # Errors
    /// The connection is lost, or no data arrives within the limit of a call.
    pub async fn read(&mut self, text: &mut Vec<u8>) -> Result<usize, ClusterError> {
        let read = async {
            let piece = self.body.fill_buf().await?;
            text.extend_from_slice(piece);
            Ok(piece.len())
        };
        let read = match self.limit {
            Some(limit) => match timeout(limit, read).await {
                Ok(read) => read.map_err(kube::Error::ReadEvents),
                Err(_) => Err(kube::Error::Service(Box::new(CallTimeout { after: limit }))),
            },
            None => read.await.map_err(kube::Error::ReadEvents),
        };
        match read {
            Ok(length) => {
                self.body.as_mut().consume(length);
                Ok(length)
            }
            Err(error) => Err(self.cluster.explain(&error, self.attempted.as_str(), None)),
        }
    }
}
