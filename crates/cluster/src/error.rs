//! What can go wrong between here and the API server, in the terms of the person who has to fix it.
//!
//! `kube::Error` says which layer failed; [`ClusterError`] says what that means: which server and context, what was
//! attempted, and why it failed; `diagnose` leads from one to the other. What to do next follows from the reason; who talks
//! to a person words it.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use jiff::Timestamp;

use crate::k8s::ObjectId;

/// A failed piece of work against a cluster. `Display` says what was attempted; the source says why it failed.
#[derive(Debug)]
pub struct ClusterError {
    /// What was attempted on what, to be read after "cannot": `get secret/apps/git-auth`.
    pub attempted: String,
    /// The object it was about, if it was about one.
    pub object: Option<ObjectId>,
    pub endpoint: Endpoint,
    pub reason: Reason,
    /// What the API server literally said, if it answered.
    pub answer: Option<ServerAnswer>,
}

/// The server's own words about a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerAnswer {
    /// One of Kubernetes' words such as `Invalid`; empty if there is none.
    pub reason: String,
    pub message: String,
}

/// Which cluster: the address and the name of the kubeconfig context, if one was used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Endpoint {
    pub server: String,
    pub context: Option<String>,
}

impl Endpoint {
    /// `context dev`, or the address where no context was used.
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

/// Why it failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Reason {
    /// A kubeconfig, certificate or key could not be read or makes no sense.
    #[error("{0}")]
    Config(String),
    /// Neither a kubeconfig, a server address, nor a pod's service account says which cluster to use.
    #[error("no kubeconfig names a cluster (looked in {})", list(looked_in))]
    NoCluster { looked_in: Vec<String> },
    /// The kubeconfig has several contexts and none is chosen.
    #[error("no current context is set in the kubeconfig")]
    NoCurrentContext { known: Vec<String> },
    #[error("context {name} is not in the kubeconfig")]
    ContextNotFound { name: String, known: Vec<String> },
    /// The credential plugin of the kubeconfig failed; its output is not shown, it may hold a token.
    #[error("credential plugin {command}: {problem}")]
    CredentialPlugin { command: String, problem: String, install_hint: Option<String> },
    /// No connection: refused, no route, unknown host, or a gateway without a server behind it.
    #[error("{endpoint} cannot be reached: {problem}")]
    Unreachable { endpoint: Endpoint, problem: String },
    /// The certificate is for other names than the one in the address.
    #[error("the certificate of {endpoint} is not valid for this name; it is valid for {}", list(valid_for))]
    TlsNameMismatch { endpoint: Endpoint, valid_for: Vec<String> },
    /// Any other failure of TLS.
    #[error("no trusted connection to {endpoint}: {problem}")]
    Tls { endpoint: Endpoint, problem: String },
    /// 401.
    #[error("{endpoint} does not accept the credentials")]
    Unauthorized { endpoint: Endpoint },
    /// 401, and the client certificate explains it; the time is absent if only the server said so.
    #[error("the client certificate has expired{}", since(at))]
    ExpiredCertificate { at: Option<Timestamp> },
    /// 401, and the token explains it.
    #[error("the token has expired{}", since(&Some(*at)))]
    ExpiredToken { at: Timestamp },
    /// 403.
    #[error("{access}")]
    Forbidden { access: Access },
    /// 404 of an object, or of the namespace it should go to.
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
    #[error("{} exists already", .object.lower_case())]
    AlreadyExists { object: ObjectId },
    /// 422, 400: the API server refuses the content.
    #[error("{0}")]
    Invalid(String),
    /// No answer within the limit of one API call.
    #[error("{endpoint} gave no answer within {}", seconds(*after))]
    TimedOut { endpoint: Endpoint, after: Duration },
    /// 429, still after the last retry.
    #[error("{endpoint} asks to slow down (429), after {attempts} attempts")]
    TooManyRequests { endpoint: Endpoint, attempts: u32 },
    /// Any other answer of the API server.
    #[error("{endpoint} answered {code}: {message}")]
    Server { endpoint: Endpoint, code: u16, message: String },
    /// What is left: an answer that does not parse, a request that cannot be built.
    #[error("{0}")]
    Other(String),
}

/// One access that was denied, as far as the API server's message tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    pub user: Option<String>,
    pub verb: Option<String>,
    /// Plural, with the group unless it is the core group: `deployments.apps`.
    pub resource: Option<String>,
    pub namespace: Option<String>,
    /// The server's own words.
    pub message: String,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.user, &self.verb, &self.resource) {
            (Some(user), Some(verb), Some(resource)) => {
                write!(f, "user {user} may not {verb} {resource}")?;
                match &self.namespace {
                    Some(namespace) => write!(f, " in namespace {namespace}"),
                    None => f.write_str(" in the whole cluster"),
                }
            }
            _ => f.write_str(&self.message),
        }
    }
}

/// Fields that one manager owns and another wants to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldConflict {
    /// Name of the owner, `kubectl-client-side-apply` for example.
    pub manager: String,
    /// Paths such as `.data.password`.
    pub fields: Vec<String>,
}

/// What a failure means to a script; the command line turns it into an exit code.
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
            Reason::Unreachable { .. } | Reason::TlsNameMismatch { .. } | Reason::Tls { .. } => Category::Unreachable,
            Reason::TimedOut { .. } => Category::TimedOut,
            Reason::Config(_)
            | Reason::NoCluster { .. }
            | Reason::NoCurrentContext { .. }
            | Reason::ContextNotFound { .. }
            | Reason::FieldConflict { .. }
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
    /// Makes an error of the reason found before or without a request.
    pub fn new(attempted: impl Into<String>, endpoint: Endpoint, reason: Reason) -> Self {
        ClusterError { attempted: attempted.into(), object: None, endpoint, reason, answer: None }
    }

    /// Names the API that is missing, where no object says it.
    #[must_use]
    pub(super) fn with_api(mut self, name: &str) -> Self {
        if let Reason::ApiMissing { api, .. } = &mut self.reason {
            *api = name.to_owned();
        }
        self
    }

    /// Takes a 404 that names no object as what it is by itself: no word about what is there.
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

    /// Something is not there: what was asked for, its namespace, or what an admission webhook looked for.
    pub fn is_not_found(&self) -> bool {
        matches!(self.reason, Reason::NotFound { .. })
    }

    /// This very object is not there.
    pub(super) fn names_as_missing(&self, id: &ObjectId) -> bool {
        matches!(&self.reason, Reason::NotFound { object } if object == id)
    }

    pub fn is_api_missing(&self) -> bool {
        matches!(self.reason, Reason::ApiMissing { .. })
    }

    /// What the answer was to come from is no longer kept: 410.
    pub fn is_expired(&self) -> bool {
        matches!(self.reason, Reason::Server { code: 410, .. })
    }

    /// The object, its whole kind or the part of it that was meant is not there.
    pub fn is_absent(&self) -> bool {
        self.is_not_found() || self.is_api_missing()
    }

    /// The object changed in between, or somebody else owns what was to be changed.
    pub fn is_conflict(&self) -> bool {
        matches!(self.reason, Reason::Stale | Reason::FieldConflict { .. })
    }

    /// Returns the server's sentence with its reason, `(Invalid): …`, or our own words when it gave none.
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
