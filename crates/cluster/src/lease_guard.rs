//! What a request needs to know of the lease under which it is sent: whether that still holds.

use tokio::sync::watch;
use tokio::time::Instant;

/// Says whether a lease is still ours, at any moment and without a request.
#[derive(Clone)]
pub(super) struct LeaseGuard(pub(super) watch::Receiver<Instant>);

impl LeaseGuard {
    pub(super) fn holds(&self) -> bool {
        Instant::now() < *self.0.borrow()
    }
}

/// The lease under which a request was to be sent is over.
#[derive(Debug, thiserror::Error)]
#[error("the lease is no longer held")]
pub(super) struct LeaseIsOver;
