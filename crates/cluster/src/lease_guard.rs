//! Checks whether the lease that protects a request is still valid.

use tokio::sync::watch;
use tokio::time::Instant;

/// Checks whether this process still holds a lease, without sending a request.
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
pub(super) struct LeaseLoss;
