//! A streamed answer, so that a list of thousands of objects is never completely in memory.

use std::pin::Pin;
use std::time::Duration;

use futures::io::{AsyncBufRead, AsyncReadExt};
use tokio::time::timeout;

use super::list::ListOptions;
use super::retry::StreamedAnswer;
use super::transport::CallTimeout;
use super::{Cluster, ClusterError};
use crate::api::kinds::ResourceType;

/// Bytes per piece, enough for some dozens of objects.
const PIECE: u64 = 64 * 1024;

/// The body of a successful answer. The limit of a call applies to each piece instead of the whole.
pub struct Pieces {
    body: Pin<Box<dyn AsyncBufRead + Send>>,
    limit: Duration,
    cluster: Cluster,
    attempted: String,
}

impl Cluster {
    /// Requests one page of a list and returns its body once it begins. `token` is the end of the previous page.
    ///
    /// # Errors
    /// As for any list; an unsuccessful answer is an error.
    pub async fn list_in_pieces(
        &self,
        resource: &ResourceType,
        namespace: Option<&str>,
        options: &ListOptions,
        token: Option<&str>,
    ) -> Result<Pieces, ClusterError> {
        let attempted = format!("list {}", resource.resource_name());
        let opened = async {
            let mut request = options.page_request(resource, namespace, token)?;
            request.extensions_mut().insert(StreamedAnswer);
            self.client.request_stream(request).await
        };
        match opened.await {
            Ok(body) => {
                Ok(Pieces { body: Box::pin(body), limit: self.request_timeout, cluster: self.clone(), attempted })
            }
            Err(error) => Err(self.list_error(&error, resource, namespace)),
        }
    }
}

impl Pieces {
    /// Appends the next piece to `text`. Returns the number of bytes, 0 at the end.
    ///
    /// # Errors
    /// The connection is lost, or no data arrives within the limit. Data read before stays in `text`.
    pub async fn next(&mut self, text: &mut Vec<u8>) -> Result<usize, ClusterError> {
        let mut piece = (&mut self.body).take(PIECE);
        let read = match timeout(self.limit, piece.read_to_end(text)).await {
            Ok(read) => read.map_err(kube::Error::ReadEvents),
            Err(_) => Err(kube::Error::Service(Box::new(CallTimeout { after: self.limit }))),
        };
        read.map_err(|error| self.cluster.explain(&error, self.attempted.as_str(), None))
    }

    /// Explains a text that is not a list.
    pub fn unexpected(&self, error: serde_json::Error) -> ClusterError {
        self.cluster.explain(&kube::Error::SerdeError(error), self.attempted.as_str(), None)
    }
}
