//! Tells a request whether the lease under which it is sent is still valid.

use tokio::sync::watch;
use tokio::time::Instant;

/// Tells at any moment, without a request, whether a lease is still ours.
#[derive(Clone)]
pub(super) struct LeaseGuard(pub(super) watch::Receiver<Instant>);

impl LeaseGuard {
    pub(super) fn holds(&self) -> bool {
        Instant::now() < *self.0.borrow()
    }
}

/// The lease of a request has ended.
#[derive(Debug, thiserror::Error)]
#[error("the lease is no longer held")]
pub(super) struct LeaseEnded;
