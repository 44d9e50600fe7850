//! Failures of a ResourceSet, with the reasons and messages of its conditions.

use std::fmt;
use std::time::Duration;

use crate::api::well_known::reason;
use crate::reconcile::options::DEPENDENCY_PAUSE;

/// When a failed run is retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryPolicy {
    /// Only after a change of the set.
    Never,
    /// After a pause that grows with each failure.
    Backoff,
    /// After this pause, without a limit.
    After(Duration),
}

/// Why a ResourceSet is not ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceSetFailure {
    pub reason: &'static str,
    /// The message of the Ready condition.
    pub message: String,
    pub retry: RetryPolicy,
}

impl ResourceSetFailure {
    /// A spec or template that cannot be built.
    pub(super) fn build(message: String) -> Self {
        ResourceSetFailure { reason: reason::BUILD_FAILED, message, retry: RetryPolicy::Never }
    }

    /// Inputs that cannot be read now.
    pub(super) fn inputs(message: String) -> Self {
        ResourceSetFailure { reason: reason::BUILD_FAILED, message, retry: RetryPolicy::Backoff }
    }

    /// A dependency that is not ready yet, or a provider that has not exported inputs yet.
    pub(super) fn dependency(error: &str) -> Self {
        ResourceSetFailure {
            reason: reason::DEPENDENCY_NOT_READY,
            message: format!("Retrying dependency check: {error}"),
            retry: RetryPolicy::After(DEPENDENCY_PAUSE),
        }
    }

    /// An expression that cannot be parsed.
    pub(super) fn expression(error: &str) -> Self {
        ResourceSetFailure {
            reason: reason::INVALID_CEL_EXPRESSION,
            message: format!("Reconciliation failed terminally due to configuration error: {error}"),
            retry: RetryPolicy::Never,
        }
    }

    /// An apply, a deletion or a health check that failed.
    pub(super) fn failed(error: &str) -> Self {
        ResourceSetFailure {
            reason: reason::RECONCILIATION_FAILED,
            message: format!("reconciliation failed: {error}"),
            retry: RetryPolicy::Backoff,
        }
    }
}

impl fmt::Display for ResourceSetFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message.trim_end())
    }
}

impl std::error::Error for ResourceSetFailure {}
