//! Maps errors of kube to ours: the layer that failed, and the meaning of the API server's answer.

use kube::core::Status;
use rustls::{AlertDescription, CertificateError};

use super::error::{ClusterError, DeniedAccess, Endpoint, FieldConflict, Reason, ServerAnswer};
use super::lease_guard::LeaseLoss;
use super::retry::MAX_ATTEMPTS;
use super::transport::{CallTimeout, chain};
use crate::k8s::ObjectId;

/// Explains an error of kube. `attempted` reads after "cannot": `get secret/apps/git-auth`.
pub(super) fn explain(
    error: &kube::Error,
    attempted: impl Into<String>,
    object: Option<ObjectId>,
    endpoint: &Endpoint,
) -> ClusterError {
    let reason = reason_of(error, object.as_ref(), endpoint);
    let answer = match error {
        kube::Error::Api(status) => {
            Some(ServerAnswer { reason: status.reason.clone(), message: status.message.clone() })
        }
        _ => None,
    };
    ClusterError { attempted: attempted.into(), object, endpoint: endpoint.clone(), reason, answer }
}

/// Determines the reason of a failure; `object` is the object of the request.
fn reason_of(error: &kube::Error, object: Option<&ObjectId>, endpoint: &Endpoint) -> Reason {
    if let kube::Error::Api(status) = error {
        return reason_of_status(status, object, endpoint);
    }
    let chain = chain(error);
    let find_tls = chain.iter().find_map(|e| e.downcast_ref::<rustls::Error>());
    // Failures of this crate's own layers travel through kube as causes, so they are looked for before kube's error is
    // judged.
    if chain.iter().any(|e| e.is::<LeaseLoss>()) {
        return Reason::Other(LeaseLoss.to_string());
    }
    if let Some(timed_out) = chain.iter().find_map(|e| e.downcast_ref::<CallTimeout>()) {
        return Reason::TimedOut { endpoint: endpoint.clone(), after: timed_out.after };
    }
    if let Some(reason) = chain.iter().find_map(|e| e.downcast_ref::<Reason>()) {
        return reason.clone();
    }
    if chain.iter().any(|e| e.is::<kube::client::AuthError>()) {
        let problem = chain.last().map_or_else(|| error.to_string(), |e| e.to_string());
        return Reason::Config(format!("the auth-provider of the kubeconfig returns no credentials: {problem}"));
    }
    if let Some(tls) = find_tls {
        return reason_of_tls(tls, endpoint);
    }
    match error {
        kube::Error::Service(_) | kube::Error::HyperError(_) | kube::Error::ReadEvents(_) => {
            // The innermost error is the cause ("connection refused"); the outer ones only say that a request failed.
            let problem = chain.last().map_or_else(|| error.to_string(), |e| e.to_string());
            Reason::Unreachable { endpoint: endpoint.clone(), problem }
        }
        // The parser's message quotes the answer, which may hold a secret.
        kube::Error::SerdeError(e) => {
            let place = format!("line {}, column {}", e.line(), e.column());
            Reason::Other(format!("cannot parse the answer of {endpoint} ({place})"))
        }
        _ => Reason::Other(chain.last().map_or_else(|| error.to_string(), |e| e.to_string())),
    }
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
        // Some servers check the client certificate during the handshake instead of answering 401.
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

/// rustls formats subject names as `DnsName("localhost")` or `IpAddress(127.0.0.1)`; the inner text is enough.
fn presented_name(name: &str) -> String {
    name.split_once('(').map_or(name, |(_, inner)| inner.trim_end_matches(')')).trim_matches('"').to_owned()
}

fn reason_of_status(status: &Status, object: Option<&ObjectId>, endpoint: &Endpoint) -> Reason {
    let details = status.details.as_ref();
    let named = details.is_some_and(|d| !d.name.is_empty());
    match (status.code, status.reason.as_str()) {
        (401, _) => Reason::Unauthorized { endpoint: endpoint.clone() },
        (403, _) => Reason::Forbidden { access: access_of(&status.message) },
        // The details of the status name a missing object. A missing API has no name, or is answered by plain text.
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
        (429, _) => Reason::TooManyRequests { endpoint: endpoint.clone(), attempts: MAX_ATTEMPTS },
        // The answer of a load balancer without an API server, and of an API server that is starting or stopping.
        (502..=504, _) => Reason::Unreachable {
            endpoint: endpoint.clone(),
            problem: format!("it answered {} ({})", status.code, first_line(&status.message)),
        },
        (code, _) => {
            Reason::Server { endpoint: endpoint.clone(), code, message: first_line(&status.message).to_owned() }
        }
    }
}

/// Returns the object that the server reports as missing, which it names by plural. If that is not the requested object
/// but its namespace, for example, it explains the failure better.
fn missing_object(status: &Status, object: Option<&ObjectId>) -> ObjectId {
    let details = status.details.as_ref();
    let (kind, name) = details.map(|d| (d.kind.as_str(), d.name.as_str())).unwrap_or_default();
    match object {
        // An object may have the same name as its missing namespace.
        Some(object) if object.name == name && !(kind == "namespaces" && object.kind != "Namespace") => object.clone(),
        _ => ObjectId::new("", kind.strip_suffix('s').unwrap_or(kind), None, name),
    }
}

fn missing_api(object: Option<&ObjectId>) -> String {
    object.map_or_else(|| "this API".to_owned(), |object| format!("the kind {}", object.kind))
}

/// Parses `secrets is forbidden: User "eve" cannot create resource "secrets" in API group "" in the namespace "x"`, the
/// authorizer's sentence since Kubernetes 1.12.
fn access_of(message: &str) -> DeniedAccess {
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
    DeniedAccess {
        user: quoted("User \""),
        verb,
        resource,
        namespace: quoted("in the namespace \""),
        message: message.to_owned(),
    }
}

/// Parses the causes of a server-side apply conflict, `conflict with "kubectl" using v1` and a field each, grouped by
/// manager.
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

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Category;
    use crate::transport::is_tls_failure;

    fn endpoint() -> Endpoint {
        Endpoint { server: "https://10.0.0.1:6443".into(), context: Some("prod".into()) }
    }

    fn explained(status: serde_json::Value) -> ClusterError {
        let status: Status = serde_json::from_value(status).unwrap();
        let object = ObjectId::new("", "Secret", Some("apps"), "git-auth");
        let attempted = format!("apply {}", object.lower_case());
        explain(&kube::Error::Api(status.boxed()), attempted, Some(object), &endpoint())
    }

    #[test]
    fn a_forbidden_request_names_user_verb_resource_and_namespace() {
        let error = explained(json!({"code": 403, "reason": "Forbidden", "message":
            "secrets \"git-auth\" is forbidden: User \"eve\" cannot patch resource \"secrets\" in API group \"\" in the namespace \"apps\""}));
        assert_eq!(error.to_string(), "cannot apply secret/apps/git-auth");
        assert_eq!(error.reason.to_string(), "user eve is not allowed to patch secrets in namespace apps");
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
            "user eve is not allowed to list fluxinstances.fluxcd.controlplane.io cluster-wide"
        );
    }

    #[test]
    fn a_denial_in_other_words_is_shown_as_it_is() {
        let error = explained(json!({"code": 403, "message": "admission webhook \"x\" denied the request"}));
        assert_eq!(error.reason.to_string(), "admission webhook \"x\" denied the request");
    }

    #[test]
    fn a_conflict_names_each_manager_with_its_fields() {
        let cause = |manager: &str, field: &str| json!({"reason": "FieldManagerConflict", "message": format!("conflict with \"{manager}\" using v1"), "field": field});
        let error = explained(json!({"code": 409, "reason": "Conflict", "message": "Apply failed with 2 conflicts",
            "details": {"causes": [cause("kubectl", ".data.password"), cause("helm", ".type"), cause("kubectl", ".data.username")]}}));
        assert_eq!(
            error.reason.to_string(),
            ".data.password, .data.username is owned by field manager kubectl; .type is owned by field manager helm"
        );
        assert_eq!(error.category(), Category::Failed);
    }

    #[test]
    fn a_conflict_without_managers_is_a_stale_object() {
        let error = explained(json!({"code": 409, "reason": "Conflict", "message": "the object has been modified"}));
        assert_eq!(error.reason, Reason::Stale);
    }

    #[test]
    fn a_missing_namespace_is_distinguished_from_a_missing_object() {
        let missing = |kind: &str, name: &str| {
            explained(
                json!({"code": 404, "reason": "NotFound", "message": "", "details": {"kind": kind, "name": name}}),
            )
        };
        assert_eq!(missing("secrets", "git-auth").reason.to_string(), "secret/apps/git-auth not found");
        let namespace = missing("namespaces", "apps");
        assert_eq!(namespace.reason.to_string(), "namespace/apps not found");
        assert_eq!(namespace.category(), Category::NotFound);
    }

    #[test]
    fn a_missing_api_is_not_a_missing_object() {
        for status in [
            json!({"code": 404, "message": "404 page not found", "reason": "Failed to parse error data"}),
            json!({"code": 404, "reason": "NotFound", "message": "the server could not find the requested resource", "details": {}}),
        ] {
            let error = explained(status);
            assert_eq!(error.category(), Category::ApiMissing);
            assert_eq!(error.reason.to_string(), "https://10.0.0.1:6443 (context prod) does not serve the kind Secret");
        }
    }

    #[test]
    fn other_answers_keep_the_servers_words() {
        let invalid =
            explained(json!({"code": 422, "reason": "Invalid", "message": "Secret \"x\" is invalid: type: Required"}));
        assert_eq!(invalid.reason.to_string(), "Secret \"x\" is invalid: type: Required");
        let server = explained(json!({"code": 500, "message": "etcd\nstack"}));
        assert_eq!(server.reason.to_string(), "https://10.0.0.1:6443 (context prod) answered 500: etcd");
        assert_eq!(explained(json!({"code": 503, "message": "no"})).category(), Category::Unreachable);
        assert_eq!(explained(json!({"code": 401, "message": "Unauthorized"})).category(), Category::Denied);
    }

    #[test]
    fn a_wrapped_tls_error_is_found_below_io_errors() {
        let tls = rustls::Error::InvalidCertificate(CertificateError::NotValidForNameContext {
            expected: rustls_pki_types::ServerName::try_from("example.com").unwrap(),
            presented: vec!["DnsName(\"kubernetes\")".into(), "IpAddress(10.0.0.1)".into()],
        });
        let io = std::io::Error::other(tls);
        assert!(is_tls_failure(&io));
        let error = explain(&kube::Error::Service(Box::new(io)), "get x", None, &endpoint());
        assert_eq!(
            error.reason.to_string(),
            "the certificate of https://10.0.0.1:6443 (context prod) is not valid for this name; it is valid for kubernetes, 10.0.0.1"
        );
        assert_eq!(error.category(), Category::Unreachable);
    }

    #[test]
    fn a_refused_connection_names_server_and_context() {
        let io = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        let error = explain(&kube::Error::Service(Box::new(io)), "get x", None, &endpoint());
        assert_eq!(
            error.reason.to_string(),
            "https://10.0.0.1:6443 (context prod) cannot be reached: connection refused"
        );
    }
}
