//! What can go wrong between here and the API server, in the terms of the person who has to fix it.
//!
//! `kube::Error` says which layer failed; [`ClusterError`] says what that means: which server and context, what was
//! attempted, why it failed, and what to do next.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use kube::core::Status;
use rustls::{AlertDescription, CertificateError};

use super::ObjectRef;
use super::call::TimedOut;

/// A failed piece of work against a cluster. `Display` says what was attempted; the source says why it failed.
#[derive(Debug)]
pub struct ClusterError {
    /// What was attempted on what, to be read after "cannot": `get secret/apps/git-auth`.
    pub attempted: String,
    /// The object it was about, if it was about one.
    pub object: Option<ObjectRef>,
    pub endpoint: Endpoint,
    pub reason: Reason,
}

/// Which cluster: the address and the name of the kubeconfig context, if one was used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Endpoint {
    pub server: String,
    pub context: Option<String>,
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
    #[error("{object} not found")]
    NotFound { object: ObjectRef },
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
    #[error("{object} exists already")]
    AlreadyExists { object: ObjectRef },
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

    /// What to do next, one sentence each.
    pub fn hints(&self) -> Vec<String> {
        let hint = |text: &str| vec![text.to_owned()];
        match self {
            Reason::NoCluster { .. } => {
                hint("set KUBECONFIG, or give --kubeconfig FILE, or --server URL with --token or a certificate")
            }
            Reason::NoCurrentContext { known } | Reason::ContextNotFound { known, .. } if known.is_empty() => {
                hint("the kubeconfig has no context: add one with `kubectl config set-context`")
            }
            Reason::NoCurrentContext { known } => vec![format!("choose one with --context: {}", known.join(", "))],
            Reason::ContextNotFound { known, .. } => vec![format!("known contexts: {}", known.join(", "))],
            Reason::CredentialPlugin { install_hint: Some(text), .. } => vec![text.trim().to_owned()],
            Reason::CredentialPlugin { command, .. } => vec![format!("check that `{command}` runs by itself")],
            Reason::Unreachable { .. } => {
                hint("check that the cluster runs, and the address, VPN and proxy-url of this context")
            }
            Reason::TlsNameMismatch { valid_for, .. } => match valid_for.first() {
                Some(name) => vec![format!("if this is the right server, give --tls-server-name {name}")],
                None => hint("if this is the right server, give --tls-server-name"),
            },
            Reason::Tls { .. } => {
                hint("check certificate-authority of this context, or give --certificate-authority FILE")
            }
            Reason::Unauthorized { .. } => hint("log in again, or check the user of this context"),
            Reason::ExpiredCertificate { .. } => {
                hint("renew the client certificate: fetch a new kubeconfig from whoever runs the cluster")
            }
            Reason::ExpiredToken { .. } => hint("log in again to get a new token"),
            Reason::Forbidden { access } => access.hint().into_iter().collect(),
            Reason::NotFound { object } if object.kind.eq_ignore_ascii_case("namespace") => {
                vec![format!("create it with `kubectl create namespace {}`", object.name)]
            }
            Reason::ApiMissing { .. } => hint("install the operator's API with `flux-operator install`"),
            Reason::FieldConflict { .. } => hint("take the fields over with --force-conflicts"),
            Reason::Stale => hint("run the command again"),
            Reason::TimedOut { .. } => hint("check that the cluster is healthy, or wait longer with --request-timeout"),
            Reason::TooManyRequests { .. } => hint("the API server is busy: try again later"),
            Reason::Config(_)
            | Reason::NotFound { .. }
            | Reason::AlreadyExists { .. }
            | Reason::Invalid(_)
            | Reason::Server { .. }
            | Reason::Other(_) => vec![],
        }
    }
}

impl Access {
    fn hint(&self) -> Option<String> {
        let (verb, resource) = (self.verb.as_ref()?, self.resource.as_ref()?);
        let place = self.namespace.as_ref().map_or("--all-namespaces".to_owned(), |n| format!("-n {n}"));
        Some(format!("check with `kubectl auth can-i {verb} {resource} {place}`, or ask for a role that allows it"))
    }
}

impl ClusterError {
    /// Makes an error of the reason found before or without a request.
    pub fn new(attempted: impl Into<String>, endpoint: Endpoint, reason: Reason) -> Self {
        ClusterError { attempted: attempted.into(), object: None, endpoint, reason }
    }

    /// Explains a failure of kube. `attempted` reads after "cannot": `get secret/apps/git-auth`.
    pub fn from_kube(
        error: kube::Error,
        attempted: impl Into<String>,
        object: Option<ObjectRef>,
        endpoint: &Endpoint,
    ) -> Self {
        let reason = reason_of(&error, object.as_ref(), endpoint);
        ClusterError { attempted: attempted.into(), object, endpoint: endpoint.clone(), reason }
    }

    /// Names the API that is missing, where no object says it.
    #[must_use]
    pub(super) fn with_api(mut self, name: &str) -> Self {
        if let Reason::ApiMissing { api, .. } = &mut self.reason {
            *api = name.to_owned();
        }
        self
    }

    pub fn category(&self) -> Category {
        self.reason.category()
    }

    pub fn hints(&self) -> Vec<String> {
        self.reason.hints()
    }

    pub fn is_not_found(&self) -> bool {
        matches!(self.reason, Reason::NotFound { .. })
    }

    pub fn is_api_missing(&self) -> bool {
        matches!(self.reason, Reason::ApiMissing { .. })
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

fn reason_of(error: &kube::Error, object: Option<&ObjectRef>, endpoint: &Endpoint) -> Reason {
    if let kube::Error::Api(status) = error {
        return reason_of_status(status, object, endpoint);
    }
    let chain = chain(error);
    let find_tls = chain.iter().find_map(|e| e.downcast_ref::<rustls::Error>());
    if let Some(timed_out) = chain.iter().find_map(|e| e.downcast_ref::<TimedOut>()) {
        return Reason::TimedOut { endpoint: endpoint.clone(), after: timed_out.after };
    }
    if let Some(reason) = chain.iter().find_map(|e| e.downcast_ref::<Reason>()) {
        return reason.clone();
    }
    if let Some(tls) = find_tls {
        return reason_of_tls(tls, endpoint);
    }
    match error {
        kube::Error::Service(_) | kube::Error::HyperError(_) | kube::Error::ReadEvents(_) => {
            // The innermost error is the fact ("connection refused"); the layers above only repeat that a request failed.
            let problem = chain.last().map_or_else(|| error.to_string(), |e| e.to_string());
            Reason::Unreachable { endpoint: endpoint.clone(), problem }
        }
        kube::Error::SerdeError(e) => Reason::Other(format!("the answer of {endpoint} is not what was expected: {e}")),
        _ => Reason::Other(chain.last().map_or_else(|| error.to_string(), |e| e.to_string())),
    }
}

/// The error and everything below it. `io::Error::source` skips the error it wraps, hence the detour.
fn chain<'a>(error: &'a (dyn Error + 'static)) -> Vec<&'a (dyn Error + 'static)> {
    let mut all = vec![error];
    let mut next = Some(error);
    while let Some(error) = next {
        next = match error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref) {
            Some(inner) => Some(inner as &(dyn Error + 'static)),
            None => error.source(),
        };
        all.extend(next);
    }
    all
}

/// Whether the failure is one of TLS, which no retry cures.
pub(super) fn is_tls_failure(error: &(dyn Error + 'static)) -> bool {
    chain(error).iter().any(|e| e.is::<rustls::Error>())
}

/// Whether there was no connection (unknown host, refused, no route), so that sending again is safe whatever it does.
pub(super) fn is_connect_failure(error: &(dyn Error + 'static)) -> bool {
    chain(error).iter().any(|e| e.downcast_ref::<hyper_util::client::legacy::Error>().is_some_and(|e| e.is_connect()))
}

fn reason_of_tls(error: &rustls::Error, endpoint: &Endpoint) -> Reason {
    let endpoint = endpoint.clone();
    let problem = match error {
        rustls::Error::InvalidCertificate(CertificateError::NotValidForNameContext { presented, .. }) => {
            let valid_for = presented.iter().map(|name| presented_name(name)).collect();
            return Reason::TlsNameMismatch { endpoint, valid_for };
        }
        rustls::Error::InvalidCertificate(CertificateError::NotValidForName) => {
            return Reason::TlsNameMismatch { endpoint, valid_for: vec![] };
        }
        // Some servers check the client's certificate during the handshake instead of answering 401.
        rustls::Error::AlertReceived(AlertDescription::CertificateExpired) => {
            return Reason::ExpiredCertificate { at: None };
        }
        rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "its certificate is signed by an authority this context does not trust".to_owned()
        }
        rustls::Error::InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => {
            "its certificate has expired".to_owned()
        }
        rustls::Error::InvalidMessage(_) => format!("it does not speak TLS ({error})"),
        _ => error.to_string(),
    };
    Reason::Tls { endpoint, problem }
}

/// rustls shows subject names as `DnsName("localhost")` or `IpAddress(127.0.0.1)`; only the inner text interests.
fn presented_name(name: &str) -> String {
    name.split_once('(').map_or(name, |(_, inner)| inner.trim_end_matches(')')).trim_matches('"').to_owned()
}

fn reason_of_status(status: &Status, object: Option<&ObjectRef>, endpoint: &Endpoint) -> Reason {
    let details = status.details.as_ref();
    let named = details.is_some_and(|d| !d.name.is_empty());
    match (status.code, status.reason.as_str()) {
        (401, _) => Reason::Unauthorized { endpoint: endpoint.clone() },
        (403, _) => Reason::Forbidden { access: access_of(&status.message) },
        // A missing object is named in the details; a missing API is answered without a name, or by plain text.
        (404, _) if named => Reason::NotFound { object: missing_object(status, object) },
        (404, _) => Reason::ApiMissing { endpoint: endpoint.clone(), api: missing_api(object) },
        (409, "AlreadyExists") => match object {
            Some(object) => Reason::AlreadyExists { object: object.clone() },
            None => Reason::Invalid(status.message.clone()),
        },
        (409, _) => match field_conflicts(status) {
            fields if fields.is_empty() => Reason::Stale,
            fields => Reason::FieldConflict { fields },
        },
        (400 | 422, _) => Reason::Invalid(status.message.clone()),
        (429, _) => Reason::TooManyRequests { endpoint: endpoint.clone(), attempts: super::call::MAX_ATTEMPTS },
        // What a load balancer says when no API server is behind it, and an API server while it starts or stops.
        (502..=504, _) => Reason::Unreachable {
            endpoint: endpoint.clone(),
            problem: format!("it answered {} ({})", status.code, first_line(&status.message)),
        },
        (code, _) => {
            Reason::Server { endpoint: endpoint.clone(), code, message: first_line(&status.message).to_owned() }
        }
    }
}

/// The server names what is missing by plural; when that is not the object itself (its namespace, say), that matters more.
fn missing_object(status: &Status, object: Option<&ObjectRef>) -> ObjectRef {
    let details = status.details.as_ref();
    let (kind, name) = details.map(|d| (d.kind.as_str(), d.name.as_str())).unwrap_or_default();
    match object {
        Some(object) if object.name == name && !(kind == "namespaces" && object.kind != "Namespace") => object.clone(),
        _ => ObjectRef::new(kind.strip_suffix('s').unwrap_or(kind), None, name),
    }
}

fn missing_api(object: Option<&ObjectRef>) -> String {
    object.map_or_else(|| "this API".to_owned(), |object| format!("the kind {}", object.kind))
}

/// Takes apart `secrets is forbidden: User "eve" cannot create resource "secrets" in API group "" in the namespace "x"`,
/// the authorizer's sentence since Kubernetes 1.12.
fn access_of(message: &str) -> Access {
    let quoted = |marker: &str| {
        let (_, rest) = message.split_once(marker)?;
        rest.split_once('"').map(|(text, _)| text.to_owned())
    };
    let verb = message.split_once("\" cannot ").and_then(|(_, rest)| rest.split_whitespace().next()).map(str::to_owned);
    let group = quoted("in API group \"").filter(|g| !g.is_empty());
    let resource = quoted("resource \"").map(|resource| match group {
        Some(group) => format!("{resource}.{group}"),
        None => resource,
    });
    Access {
        user: quoted("User \""),
        verb,
        resource,
        namespace: quoted("in the namespace \""),
        message: message.to_owned(),
    }
}

/// The causes of a server-side apply conflict: `conflict with "kubectl" using v1` and a field each, grouped by manager.
fn field_conflicts(status: &Status) -> Vec<FieldConflict> {
    let mut conflicts: Vec<FieldConflict> = vec![];
    for cause in status.details.iter().flat_map(|d| &d.causes).filter(|c| c.reason == "FieldManagerConflict") {
        let manager = cause.message.split('"').nth(1).unwrap_or(&cause.message).to_owned();
        match conflicts.iter_mut().find(|c| c.manager == manager) {
            Some(conflict) => conflict.fields.push(cause.field.clone()),
            None => conflicts.push(FieldConflict { manager, fields: vec![cause.field.clone()] }),
        }
    }
    conflicts
}

fn conflicts(conflicts: &[FieldConflict]) -> String {
    let one = |c: &FieldConflict| format!("{} is owned by field manager {}", c.fields.join(", "), c.manager);
    conflicts.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default().trim()
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn endpoint() -> Endpoint {
        Endpoint { server: "https://10.0.0.1:6443".into(), context: Some("prod".into()) }
    }

    fn explain(status: serde_json::Value) -> ClusterError {
        let status: Status = serde_json::from_value(status).unwrap();
        let object = ObjectRef::new("Secret", Some("apps"), "git-auth");
        ClusterError::from_kube(kube::Error::Api(status.boxed()), format!("apply {object}"), Some(object), &endpoint())
    }

    #[test]
    fn a_forbidden_request_names_user_verb_resource_and_namespace() {
        let error = explain(json!({"code": 403, "reason": "Forbidden", "message":
            "secrets \"git-auth\" is forbidden: User \"eve\" cannot patch resource \"secrets\" in API group \"\" in the namespace \"apps\""}));
        assert_eq!(error.to_string(), "cannot apply secret/apps/git-auth");
        assert_eq!(error.reason.to_string(), "user eve may not patch secrets in namespace apps");
        assert!(error.hints()[0].contains("kubectl auth can-i patch secrets -n apps"), "{:?}", error.hints());
        assert_eq!(error.category(), Category::Denied);
    }

    #[test]
    fn a_forbidden_cluster_wide_request_names_the_group() {
        let access = access_of(
            "fluxinstances.fluxcd.controlplane.io is forbidden: User \"eve\" cannot list resource \"fluxinstances\" \
             in API group \"fluxcd.controlplane.io\" at the cluster scope",
        );
        assert_eq!(
            access.to_string(),
            "user eve may not list fluxinstances.fluxcd.controlplane.io in the whole cluster"
        );
    }

    #[test]
    fn a_denial_in_other_words_is_shown_as_it_is() {
        let error = explain(json!({"code": 403, "message": "admission webhook \"x\" denied the request"}));
        assert_eq!(error.reason.to_string(), "admission webhook \"x\" denied the request");
        assert!(error.hints().is_empty());
    }

    #[test]
    fn a_conflict_names_each_manager_with_its_fields() {
        let cause = |manager: &str, field: &str| json!({"reason": "FieldManagerConflict", "message": format!("conflict with \"{manager}\" using v1"), "field": field});
        let error = explain(json!({"code": 409, "reason": "Conflict", "message": "Apply failed with 2 conflicts",
            "details": {"causes": [cause("kubectl", ".data.password"), cause("helm", ".type"), cause("kubectl", ".data.username")]}}));
        assert_eq!(
            error.reason.to_string(),
            ".data.password, .data.username is owned by field manager kubectl; .type is owned by field manager helm"
        );
        assert_eq!(error.hints(), ["take the fields over with --force-conflicts"]);
        assert_eq!(error.category(), Category::Failed);
    }

    #[test]
    fn a_conflict_without_managers_is_a_stale_object() {
        let error = explain(json!({"code": 409, "reason": "Conflict", "message": "the object has been modified"}));
        assert_eq!(error.reason, Reason::Stale);
    }

    #[test]
    fn a_missing_namespace_is_told_from_a_missing_object() {
        let missing = |kind: &str, name: &str| {
            explain(json!({"code": 404, "reason": "NotFound", "message": "", "details": {"kind": kind, "name": name}}))
        };
        assert_eq!(missing("secrets", "git-auth").reason.to_string(), "secret/apps/git-auth not found");
        let namespace = missing("namespaces", "apps");
        assert_eq!(namespace.reason.to_string(), "namespace/apps not found");
        assert!(namespace.hints()[0].contains("kubectl create namespace apps"));
        assert_eq!(namespace.category(), Category::NotFound);
    }

    #[test]
    fn a_missing_api_is_no_missing_object() {
        for status in [
            json!({"code": 404, "message": "404 page not found", "reason": "Failed to parse error data"}),
            json!({"code": 404, "reason": "NotFound", "message": "the server could not find the requested resource", "details": {}}),
        ] {
            let error = explain(status);
            assert_eq!(error.category(), Category::ApiMissing);
            assert_eq!(error.reason.to_string(), "https://10.0.0.1:6443 (context prod) does not serve the kind Secret");
        }
    }

    #[test]
    fn other_answers_keep_the_servers_words() {
        let invalid =
            explain(json!({"code": 422, "reason": "Invalid", "message": "Secret \"x\" is invalid: type: Required"}));
        assert_eq!(invalid.reason.to_string(), "Secret \"x\" is invalid: type: Required");
        let server = explain(json!({"code": 500, "message": "etcd\nstack"}));
        assert_eq!(server.reason.to_string(), "https://10.0.0.1:6443 (context prod) answered 500: etcd");
        assert_eq!(explain(json!({"code": 503, "message": "no"})).category(), Category::Unreachable);
        assert_eq!(explain(json!({"code": 401, "message": "Unauthorized"})).category(), Category::Denied);
    }

    #[test]
    fn a_wrapped_tls_error_is_found_below_io_errors() {
        let tls = rustls::Error::InvalidCertificate(CertificateError::NotValidForNameContext {
            expected: rustls_pki_types::ServerName::try_from("example.com").unwrap(),
            presented: vec!["DnsName(\"kubernetes\")".into(), "IpAddress(10.0.0.1)".into()],
        });
        let io = std::io::Error::other(tls);
        assert!(is_tls_failure(&io));
        let error = ClusterError::from_kube(kube::Error::Service(Box::new(io)), "get x", None, &endpoint());
        assert_eq!(
            error.reason.to_string(),
            "the certificate of https://10.0.0.1:6443 (context prod) is not valid for this name; it is valid for kubernetes, 10.0.0.1"
        );
        assert_eq!(error.hints(), ["if this is the right server, give --tls-server-name kubernetes"]);
        assert_eq!(error.category(), Category::Unreachable);
    }

    #[test]
    fn a_refused_connection_names_server_and_context() {
        let io = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        let error = ClusterError::from_kube(kube::Error::Service(Box::new(io)), "get x", None, &endpoint());
        assert_eq!(
            error.reason.to_string(),
            "https://10.0.0.1:6443 (context prod) cannot be reached: connection refused"
        );
    }
}
