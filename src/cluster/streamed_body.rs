//! An answer that is read while it arrives: a list of thousands of objects is never in memory as a whole.

use std::pin::Pin;
use std::time::Duration;

use futures::io::{AsyncBufRead, AsyncReadExt};
use http::Request;
use tokio::time::timeout;

use super::Cluster;
use super::retry::{Streamed, TimedOut};

/// Bytes per piece: some dozens of objects.
const PIECE: u64 = 64 * 1024;

/// The body of a successful answer. The limit of a call holds for the wait for each piece instead of the whole.
pub struct Pieces {
    body: Pin<Box<dyn AsyncBufRead + Send>>,
    limit: Duration,
}

impl Cluster {
    /// Sends a request and returns its answer once it begins.
    ///
    /// # Errors
    /// As for any call; an answer that is no success is one.
    pub async fn pieces(&self, mut request: Request<Vec<u8>>) -> Result<Pieces, kube::Error> {
        request.extensions_mut().insert(Streamed);
        let body = self.client.request_stream(request).await?;
        Ok(Pieces { body: Box::pin(body), limit: self.request_timeout })
    }
}

impl Pieces {
    /// Appends the next piece to `text`: how many bytes came, 0 at the end.
    ///
    /// # Errors
    /// The connection is cut, or nothing comes within the limit. What came before stays in `text`.
    pub async fn next(&mut self, text: &mut Vec<u8>) -> Result<usize, kube::Error> {
        let mut piece = (&mut self.body).take(PIECE);
        match timeout(self.limit, piece.read_to_end(text)).await {
            Ok(read) => read.map_err(kube::Error::ReadEvents),
            Err(_) => Err(kube::Error::Service(Box::new(TimedOut { after: self.limit }))),
        }
    }
}
