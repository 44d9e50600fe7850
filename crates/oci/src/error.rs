//! Failures of registry operations.

use crate::format::harmless::on_one_line;
use std::time::Duration;

/// A failed registry operation. `Display` describes the operation, and the source gives the reason.
#[derive(Debug, thiserror::Error)]
#[error("cannot {attempted}")]
pub struct OciError {
    /// The operation, to be read after "cannot": `pull oci://ghcr.io/a/b:latest`.
    pub attempted: String,
    #[source]
    pub reason: Reason,
}

impl OciError {
    pub(crate) fn new(attempted: impl Into<String>, reason: Reason) -> Self {
        OciError { attempted: attempted.into(), reason }
    }
}

/// The reason of a failure. Texts from registries are truncated, and no variant contains credentials.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Reason {
    /// A certificate, key, proxy address or setting is invalid.
    #[error("{0}")]
    Config(String),
    /// The docker configuration, a pull secret or a credential helper failed.
    #[error(transparent)]
    Login(#[from] super::LoginError),
    /// Refused, no route, unknown host or connection lost, after the last attempt.
    #[error("{registry} cannot be reached: {problem}")]
    Unreachable {
        registry: String,
        problem: String,
        /// Whether the name has no address; an immediate retry seldom changes that.
        is_unresolved: bool,
    },
    #[error("no trusted connection to {registry}: {problem}")]
    Tls { registry: String, problem: String },
    #[error("{registry} did not answer within {}", seconds(*after))]
    TimedOut { registry: String, after: Duration },
    /// 401, with or without credentials.
    #[error("{registry} {}", if *anonymous { "requires credentials, and none were found for it" } else { "does not accept the credentials" })]
    Unauthorized { registry: String, anonymous: bool },
    /// 401 of a server to which the registry redirected. The registry's credentials are never sent there.
    #[error("{registry} redirects to {server}, which requires credentials; those for {registry} are not sent there")]
    UnauthorizedElsewhere { registry: String, server: String },
    /// 403.
    #[error("{registry} denies access{}", detail(message))]
    Denied { registry: String, message: String },
    /// 404 of a manifest, a blob or a repository.
    #[error("{what} not found")]
    NotFound { what: String },
    /// 429 after the last attempt, or with a `Retry-After` that is too long.
    #[error("{registry} asks to slow down (429), after {attempts} attempts")]
    TooManyRequests { registry: String, attempts: u32 },
    /// The content does not match its digest.
    #[error("{what} has the digest {actual}, not {expected}")]
    Digest { what: String, expected: String, actual: String },
    #[error("{what} is larger than {limit} bytes")]
    TooLarge { what: String, limit: u64 },
    /// Content that does not follow its specification.
    #[error("{what} cannot be used: {problem}")]
    Content { what: String, problem: String },
    /// The key verifies no signature, or there is none.
    #[error("{what} has no signature that the key verifies ({seen} seen{})", skipped.as_deref().unwrap_or_default())]
    Unsigned {
        what: String,
        seen: usize,
        /// The number of signatures that could not be read, and the reason of the first failure.
        skipped: Option<String>,
    },
    /// Any other status.
    #[error("{registry} answered {code}{}", detail(message))]
    Server { registry: String, code: u16, message: String },
    /// An answer that breaks the protocol.
    #[error("{registry} does not follow the protocol: {problem}")]
    Protocol { registry: String, problem: String },
    /// A local file cannot be read or written.
    #[error("{path}: {problem}")]
    File { path: String, problem: String },
}

impl Reason {
    /// Whether the reason concerns access to the registry or the credentials, so that every other operation there would
    /// fail the same way.
    pub(super) fn is_about_access(&self) -> bool {
        matches!(
            self,
            Reason::Config(_)
                | Reason::Login(_)
                | Reason::Unreachable { .. }
                | Reason::Tls { .. }
                | Reason::TimedOut { .. }
                | Reason::Unauthorized { .. }
                | Reason::UnauthorizedElsewhere { .. }
                | Reason::Denied { .. }
                | Reason::TooManyRequests { .. }
        )
    }

    /// Whether the registry was reached and refused the request.
    pub(super) fn is_refusal(&self) -> bool {
        matches!(
            self,
            Reason::Unauthorized { .. }
                | Reason::UnauthorizedElsewhere { .. }
                | Reason::Denied { .. }
                | Reason::NotFound { .. }
                | Reason::Server { .. }
        )
    }

    /// Whether a later retry may succeed.
    pub(crate) fn is_transient(&self) -> bool {
        matches!(
            self,
            Reason::Unreachable { .. }
                | Reason::TimedOut { .. }
                | Reason::TooManyRequests { .. }
                | Reason::Server { code: 500.., .. }
        )
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64()).replace(".0 s", " s")
}

fn detail(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(": {message}") }
}

/// Returns the message in the body of a failure, `{"errors": [{"code", "message"}]}`, or an empty text.
pub(super) fn registry_message(body: &[u8]) -> String {
    let parsed: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let errors = parsed.get("errors").and_then(serde_json::Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let text = |error: &serde_json::Value, key: &str| {
        error.get(key).and_then(serde_json::Value::as_str).unwrap_or_default().trim().to_owned()
    };
    let messages: Vec<String> = errors
        .iter()
        .map(|error| match (text(error, "code"), text(error, "message")) {
            (code, message) if message.is_empty() => code,
            (_, message) => message,
        })
        .filter(|message| !message.is_empty())
        .collect();
    // A registry's text of any length is printed on a terminal.
    on_one_line(&messages.join("; ")).chars().take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_messages_of_a_registry_are_taken_from_its_answer() {
        let body = br#"{"errors":[{"code":"DENIED","message":"requested access is denied"},{"code":"UNKNOWN"}]}"#;
        assert_eq!(registry_message(body), "requested access is denied; UNKNOWN");
        assert_eq!(registry_message(b"<html>"), "");
        assert_eq!(registry_message(b"{\"errors\":[{\"message\":\"a\\u001b[31mb\\n\"}]}"), "a[31mb");
    }
}
