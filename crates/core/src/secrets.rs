//! Credentials into Kubernetes Secrets: what each kind needs, checks before writing, and the object.
//!
//! ```text
//! Credentials -> check (parses, matches, not expired; warnings) -> content (type and keys) -> SecretObject -> JSON
//! ```
//! Pure: no files, no clock, no cluster. Types and keys are those Flux reads:
//! <https://fluxcd.io/flux/components/source/>, <https://fluxcd.io/flux/components/kustomize/kustomizations/#decryption>.

mod age;
mod basic_auth;
mod bearer_token;
mod bucket;
mod github_app;
mod known_hosts;
mod metadata;
mod object;
mod pem;
mod pgp;
mod proxy;
mod registry;
mod sops;
mod ssh;
mod text;
mod tls;

use std::collections::BTreeMap;

use jiff::Timestamp;

pub use basic_auth::BasicAuth;
pub use bearer_token::BearerToken;
pub use bucket::Bucket;
pub use github_app::{AppInstallation, GithubApp};
pub use metadata::{check_name, check_namespace, parse_pairs, parse_text_pairs};
pub use object::{ReplaceReason, SecretManifest, SecretObject};
pub use proxy::Proxy;
pub use registry::{DOCKER_HUB, Registry};
pub use sops::{KeyKind, Sops, SopsKey};
pub use ssh::{Ssh, needs_passphrase};
pub use text::SecretText;
pub use tls::Tls;

/// Type of Secrets that follow no convention of Kubernetes.
pub(crate) const OPAQUE: &str = "Opaque";
/// Maximum size of the data in one Secret that the API server accepts: 1 MiB.
pub const MAX_BYTES: usize = 1_048_576;

/// Credentials of one kind.
#[derive(Clone, Debug)]
pub enum Credentials {
    BasicAuth(BasicAuth),
    BearerToken(BearerToken),
    Registry(Registry),
    Ssh(Ssh),
    GithubApp(GithubApp),
    Bucket(Bucket),
    Proxy(Proxy),
    Tls(Tls),
    Sops(Sops),
}

/// Type and data of a Secret.
#[derive(Clone, Debug)]
pub struct SecretContent {
    pub type_: &'static str,
    pub data: BTreeMap<String, SecretText>,
}

/// Why credentials cannot become a Secret. No variant holds a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// A required value is missing.
    #[error("{0} is required")]
    Missing(&'static str),
    /// A value the API server would refuse.
    #[error("{what}: {problem}")]
    Invalid { what: String, problem: String },
    /// A failed check, which the user can skip.
    #[error("{what}: {problem}")]
    Check { what: String, problem: String, hint: Option<String> },
}

impl SecretError {
    fn invalid(what: impl Into<String>, problem: impl Into<String>) -> Self {
        SecretError::Invalid { what: what.into(), problem: problem.into() }
    }

    fn check(what: impl Into<String>, problem: impl Into<String>) -> Self {
        SecretError::Check { what: what.into(), problem: problem.into(), hint: None }
    }

    #[must_use]
    fn hint(mut self, text: impl Into<String>) -> Self {
        if let SecretError::Check { hint, .. } = &mut self {
            *hint = Some(text.into());
        }
        self
    }
}

/// Legal but unusual input, each described in a sentence for the user.
pub type Warnings = Vec<String>;

impl Credentials {
    /// Returns type and keys.
    ///
    /// # Errors
    /// [`SecretError::Missing`] or [`SecretError::Invalid`]: these cannot be skipped.
    pub fn content(&self) -> Result<SecretContent, SecretError> {
        let content = match self {
            Credentials::BasicAuth(c) => c.content(),
            Credentials::BearerToken(c) => c.content(),
            Credentials::Registry(c) => c.content(),
            Credentials::Ssh(c) => c.content(),
            Credentials::GithubApp(c) => c.content(),
            Credentials::Bucket(c) => c.content(),
            Credentials::Proxy(c) => c.content(),
            Credentials::Tls(c) => c.content(),
            Credentials::Sops(c) => c.content(),
        }?;
        // As the API server counts: values without their keys, and before base64.
        let size: usize = content.data.values().map(|v| v.expose().len()).sum();
        if size > MAX_BYTES {
            return Err(SecretError::invalid("the Secret", format!("{size} bytes are more than the limit of 1 MiB")));
        }
        Ok(content)
    }

    /// Checks the credentials as of `now`, and returns warnings about unusual values.
    ///
    /// # Errors
    /// The first [`SecretError::Check`] that fails.
    pub fn check(&self, now: Timestamp) -> Result<Warnings, SecretError> {
        match self {
            Credentials::BasicAuth(c) => c.check(),
            Credentials::BearerToken(c) => c.check(),
            Credentials::Registry(c) => c.check(),
            Credentials::Ssh(c) => c.check(),
            Credentials::GithubApp(c) => c.check(),
            Credentials::Bucket(c) => c.check(),
            Credentials::Proxy(c) => c.check(),
            Credentials::Tls(c) => c.check(now),
            Credentials::Sops(c) => c.check(),
        }
    }
}

fn content<const N: usize>(type_: &'static str, data: [(&str, Option<SecretText>); N]) -> SecretContent {
    let data = data.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect();
    SecretContent { type_, data }
}

fn required<'a>(what: &'static str, value: &'a SecretText) -> Result<&'a SecretText, SecretError> {
    if value.expose().is_empty() { Err(SecretError::Missing(what)) } else { Ok(value) }
}

fn required_text(what: &'static str, value: &str) -> Result<SecretText, SecretError> {
    if value.is_empty() { Err(SecretError::Missing(what)) } else { Ok(value.into()) }
}

/// Space around a value and control characters in it are legal, but nearly always a copy-and-paste mistake.
fn odd_characters(what: &str, value: &str) -> Warnings {
    let mut warnings = vec![];
    if value.trim() != value {
        warnings.push(format!("{what} begins or ends with white space, which is kept"));
    }
    if value.trim().chars().any(char::is_control) {
        warnings.push(format!("{what} contains a control character"));
    }
    warnings
}
