//! Errors between this program and the API server, in the terms of the person who has to fix them.
//!
//! `kube::Error` tells which layer failed. [`ClusterError`] explains it: which server and context, which operation, and
//! why it failed; `diagnose` maps one to the other. The next step follows from the reason, and the front end words it.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use jiff::Timestamp;

use crate::k8s::ObjectId;

/// A failed operation on a cluster. `Display` describes the operation, and the source gives the reason.
#[derive(Debug)]
pub struct ClusterError {
    /// The operation, to be read after "cannot": `get secret/apps/git-auth`.
    pub attempted: String,
    /// The object of the operation, if it has one.
    pub object: Option<ObjectId>,
    pub endpoint: Endpoint,
    pub reason: Reason,
    /// The API server's own message, if it answered.
    pub answer: Option<ServerAnswer>,
}

/// The server's own message about a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerAnswer {
    /// A Kubernetes reason such as `Invalid`; may be empty.
    pub reason: String,
    pub message: String,
}

/// The cluster: its address and the kubeconfig context, if one was used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Endpoint {
    pub server: String,
    pub context: Option<String>,
}

impl Endpoint {
    /// `context dev`, or the address without a context.
    pub fn place(&self) -> String {
        self.context.as_ref().map_or_else(|| self.server.clone(), |context| format!("context {context}"))
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.server.as_str(), &self.context) {
            ("", None) => f.write_str("the API server"),
            ("", Some(context)) => write!(f, "the API server of context {context}"),
            (server, None) => write!(f, "{server}"),
            (server, Some(context)) => write!(f, "{server} (context {context})"),
        }
    }
}

/// The reason of a failure.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Reason {
    /// A kubeconfig, certificate or key cannot be read or is invalid.
    #[error("{0}")]
    Config(String),
    /// Neither a kubeconfig, a server address, nor a pod's service account names a cluster.
    #[error("no kubeconfig has a cluster (looked in {})", list(looked_in))]
    NoCluster { looked_in: Vec<String> },
    /// The kubeconfig has several contexts and none is selected.
    #[error("no current context is set in the kubeconfig")]
    NoCurrentContext { known: Vec<String> },
    #[error("context {name} is not in the kubeconfig")]
    ContextNotFound { name: String, known: Vec<String> },
    /// The kubeconfig's credential plugin failed. Its output is not included, because it may hold a token.
    #[error("credential plugin {command}: {problem}")]
    CredentialPlugin { command: String, problem: String, install_hint: Option<String> },
    /// No connection: refused, no route, unknown host, or a gateway without a server behind it.
    #[error("{endpoint} cannot be reached: {problem}")]
    Unreachable { endpoint: Endpoint, problem: String },
    /// The certificate is for other host names than the address.
    #[error("the certificate of {endpoint} is not valid for this name; it is valid for {}", list(valid_for))]
    TlsNameMismatch { endpoint: Endpoint, valid_for: Vec<String> },
    /// Any other failure of TLS.
    #[error("no trusted connection to {endpoint}: {problem}")]
    Tls { endpoint: Endpoint, problem: String },
    /// 401.
    #[error("{endpoint} does not accept the credentials")]
    Unauthorized { endpoint: Endpoint },
    /// 401 because of an expired client certificate; the time is missing if only the server reports it.
    #[error("the client certificate has expired{}", since(at))]
    ExpiredCertificate { at: Option<Timestamp> },
    /// 401 because of an expired token.
    #[error("the token has expired{}", since(&Some(*at)))]
    ExpiredToken { at: Timestamp },
    /// 403.
    #[error("{access}")]
    Forbidden { access: DeniedAccess },
    /// 404 of an object, or of its namespace.
    #[error("{} not found", .object.lower_case())]
    NotFound { object: ObjectId },
    /// 404 of a whole API: the custom resource definition is not installed.
    #[error("{endpoint} does not serve {api}")]
    ApiMissing { endpoint: Endpoint, api: String },
    /// 409: another field manager owns fields that would change.
    #[error("{}", conflicts(fields))]
    FieldConflict { fields: Vec<FieldConflict> },
    /// 409: the object changed between reading and writing.
    #[error("the object was changed by someone else in the meantime")]
    Stale,
    /// 409: create of an object that exists.
    #[error("{} already exists", .object.lower_case())]
    AlreadyExists { object: ObjectId },
    /// 422 or 400: the API server refuses the content.
    #[error("{0}")]
    Invalid(String),
    /// No answer within the limit of one API call.
    #[error("{endpoint} did not answer within {}", seconds(*after))]
    TimedOut { endpoint: Endpoint, after: Duration },
    /// 429 after the last retry.
    #[error("{endpoint} asks to slow down (429), after {attempts} attempts")]
    TooManyRequests { endpoint: Endpoint, attempts: u32 },
    /// Any other status of the API server.
    #[error("{endpoint} answered {code}: {message}")]
    Server { endpoint: Endpoint, code: u16, message: String },
    /// Other failures: an answer that cannot be parsed, a request that cannot be built.
    #[error("{0}")]
    Other(String),
}

/// A denied access, as described by the API server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeniedAccess {
    pub user: Option<String>,
    pub verb: Option<String>,
    /// Plural, with the group unless it is the core group: `deployments.apps`.
    pub resource: Option<String>,
    pub namespace: Option<String>,
    /// The server's own message.
    pub message: String,
}

impl fmt::Display for DeniedAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.user, &self.verb, &self.resource) {
            (Some(user), Some(verb), Some(resource)) => {
                write!(f, "user {user} is not allowed to {verb} {resource}")?;
                match &self.namespace {
                    Some(namespace) => write!(f, " in namespace {namespace}"),
                    None => f.write_str(" cluster-wide"),
                }
            }
            _ => f.write_str(&self.message),
        }
    }
}

/// Fields that one manager owns and another one wants to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldConflict {
    /// Name of the owner, for example `kubectl-client-side-apply`.
    pub manager: String,
    /// Paths such as `.data.password`.
    pub fields: Vec<String>,
}

/// Category of a failure for scripts; the command line maps it to an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    Failed,
    NotFound,
    ApiMissing,
    Denied,
    Unreachable,
    TimedOut,
}

impl Reason {
    pub fn category(&self) -> Category {
        match self {
            Reason::NotFound { .. } => Category::NotFound,
            Reason::ApiMissing { .. } => Category::ApiMissing,
            Reason::CredentialPlugin { .. }
            | Reason::Unauthorized { .. }
            | Reason::ExpiredCertificate { .. }
            | Reason::ExpiredToken { .. }
            | Reason::Forbidden { .. } => Category::Denied,
            // A kubeconfig without a usable cluster counts as an unreachable cluster, because exit code 1 is a result
            // of a check or a plan.
            Reason::Config(_)
            | Reason::NoCluster { .. }
            | Reason::NoCurrentContext { .. }
            | Reason::ContextNotFound { .. }
            | Reason::Unreachable { .. }
            | Reason::TlsNameMismatch { .. }
            | Reason::Tls { .. } => Category::Unreachable,
            Reason::TimedOut { .. } => Category::TimedOut,
            Reason::FieldConflict { .. }
            | Reason::Stale
            | Reason::AlreadyExists { .. }
            | Reason::Invalid(_)
            | Reason::TooManyRequests { .. }
            | Reason::Server { .. }
            | Reason::Other(_) => Category::Failed,
        }
    }
}

impl ClusterError {
    /// Creates an error for a reason found without a request.
    pub fn new(attempted: impl Into<String>, endpoint: Endpoint, reason: Reason) -> Self {
        ClusterError { attempted: attempted.into(), object: None, endpoint, reason, answer: None }
    }

    /// Adds the name of the missing API, for requests without an object.
    #[must_use]
    pub(super) fn with_api(mut self, name: &str) -> Self {
        if let Reason::ApiMissing { api, .. } = &mut self.reason {
            *api = name.to_owned();
        }
        self
    }

    /// Replaces [`Reason::ApiMissing`] with a plain 404 and this message, because the answer does not show what is
    /// missing.
    #[must_use]
    pub(super) fn without_meaning(mut self, message: impl Into<String>) -> Self {
        if self.is_api_missing() {
            self.reason = Reason::Server { endpoint: self.endpoint.clone(), code: 404, message: message.into() };
        }
        self
    }

    pub fn category(&self) -> Category {
        self.reason.category()
    }

    /// Whether something does not exist: the object, its namespace, or an object that an admission webhook needs.
    pub fn is_not_found(&self) -> bool {
        matches!(self.reason, Reason::NotFound { .. })
    }

    /// Whether exactly this object does not exist.
    pub(super) fn names_as_missing(&self, id: &ObjectId) -> bool {
        matches!(&self.reason, Reason::NotFound { object } if object == id)
    }

    pub fn is_api_missing(&self) -> bool {
        matches!(self.reason, Reason::ApiMissing { .. })
    }

    /// Whether the requested resource version has expired: 410.
    pub fn is_expired(&self) -> bool {
        matches!(self.reason, Reason::Server { code: 410, .. })
    }

    /// Whether the object, its kind or the requested part of it does not exist.
    pub fn is_absent(&self) -> bool {
        self.is_not_found() || self.is_api_missing()
    }

    /// Whether the object changed in the meantime, or another manager owns the fields to change.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self.reason, Reason::Stale | Reason::FieldConflict { .. })
    }

    /// Whether every field in conflict is owned by this manager.
    pub(crate) fn conflicts_only_with(&self, manager: &str) -> bool {
        match &self.reason {
            Reason::FieldConflict { fields } => {
                !fields.is_empty() && fields.iter().all(|conflict| conflict.manager == manager)
            }
            _ => false,
        }
    }

    /// Returns the server's sentence with its reason, `(Invalid): …`, or our own if it gave none.
    pub fn sentence(&self) -> String {
        match &self.answer {
            Some(ServerAnswer { reason, message }) if !message.is_empty() => {
                format!("({}): {message}", if reason.is_empty() { "Unknown" } else { reason })
            }
            _ => format!("({:?}): {}", self.category(), self.reason),
        }
    }
}

impl fmt::Display for ClusterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}", self.attempted)
    }
}

impl Error for ClusterError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.reason)
    }
}

fn conflicts(conflicts: &[FieldConflict]) -> String {
    let one = |c: &FieldConflict| format!("{} is owned by field manager {}", c.fields.join(", "), c.manager);
    conflicts.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn list(words: &[String]) -> String {
    if words.is_empty() { "nothing".to_owned() } else { words.join(", ") }
}

fn since(at: &Option<Timestamp>) -> String {
    at.map_or_else(String::new, |at| format!(" (at {at})"))
}

fn seconds(duration: Duration) -> String {
    format!("{}s", duration.as_millis() as f64 / 1000.0)
}
