//! The error of a failed export.

use jiff::Timestamp;

/// A failed export. `Display` is the message of the condition; it holds no credentials.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ProviderError {
    message: String,
    /// When the service accepts requests again, if it says so.
    pub retry_at: Option<Timestamp>,
}

impl ProviderError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        ProviderError { message: message.into(), retry_at: None }
    }

    /// Returns the error with the attempted action in front of its message.
    pub(crate) fn within(self, attempted: &str) -> Self {
        ProviderError { message: format!("{attempted}: {}", self.message), ..self }
    }

    pub(crate) fn retry_at(self, retry_at: Option<Timestamp>) -> Self {
        ProviderError { retry_at, ..self }
    }
}

impl From<String> for ProviderError {
    fn from(message: String) -> Self {
        ProviderError::new(message)
    }
}
