//! Explains sources: by the answer of their server, and by the Secrets that they refer to.

use serde_json::Value;

use super::{Cause, NextStep, Reason, SecretKind, Walk, message};
use crate::api::kinds::{self, SECRET};
use crate::inspect::views::trace;
use crate::k8s::ObjectId;
use crate::k8s::fields;
use crate::k8s::fields::Condition;

impl<'a> Walk<'a> {
    /// Explains the sync of an instance: by its source, or else by its Kustomization.
    pub(super) fn sync(&mut self) -> Option<Cause> {
        let spec = fields::at(self.subject, "/spec/sync").filter(|s| s.is_object())?;
        let name = fields::some_text(spec, "/name").unwrap_or(self.namespace());
        let resource = kinds::of(kinds::KUSTOMIZE_GROUP, "Kustomization")?.resource_type();
        let kustomization = self.snapshot.get(&resource, Some(self.namespace()), name)?;
        let source = trace::source_of(kustomization).and_then(|reference| self.snapshot.get_ref(&reference));
        // A source in progress does not make the instance unhealthy.
        let is_fault = |cause: &Cause| cause.reason != Reason::InProgress;
        if let Some(cause) = source.and_then(|source| self.object(source)).filter(is_fault) {
            return Some(cause);
        }
        self.object(kustomization).filter(is_fault)
    }

    /// Explains a source without a report, if it refers to a Secret that does not exist.
    pub(super) fn untried_source(&mut self, source: &'a Value) -> Option<Cause> {
        let namespace = fields::namespace(source).unwrap_or_default();
        let (pointer, secret) = self.missing_secret(source)?;
        Some(
            Cause::new(Reason::SecretMissing, source, "a secret the source refers to does not exist")
                .evidence("secret", format!("Secret/{namespace}/{secret} not found"), None)
                .at(format!("{namespace}/{secret}"))
                .next(create_secret(source, pointer, secret))
                .next(again(source)),
        )
    }

    /// Returns a missing Secret that a source refers to: for credentials, certificates, a proxy or signers.
    fn missing_secret(&self, source: &'a Value) -> Option<(&'static str, &'a str)> {
        let namespace = fields::namespace(source).unwrap_or_default();
        SECRETS.into_iter().filter_map(|pointer| Some((pointer, fields::some_text(source, pointer)?))).find(
            |(_, name)| self.snapshot.get(&SECRET, Some(namespace), name).is_none() && self.snapshot.knows(&SECRET),
        )
    }

    /// Explains a source that cannot be fetched.
    pub(super) fn failed_source(&mut self, source: &'a Value, failed: Condition<'_>, from: usize) -> Cause {
        let namespace = fields::namespace(source).unwrap_or_default();
        let (kind, url, text) = (fields::kind(source), url(source), failed.message());
        let found = match kind {
            "HelmChart" => message::chart_failure(text),
            "ImageRepository" => message::image_failure(text),
            _ => message::source_failure(text),
        };
        let (reason, summary) = found.unwrap_or((Reason::SourceFailed, "the source cannot be fetched"));
        let secret = fields::some_text(source, CREDENTIALS);
        // The Secret that the controller names, else a missing one, else the one with the credentials.
        let is_same = |pointer: &&str| {
            let name = fields::some_text(source, pointer);
            name.is_some_and(|name| message::after(text, "secrets ").is_some_and(|reported| reported == name))
        };
        let reported =
            SECRETS.into_iter().find(is_same).and_then(|pointer| Some((pointer, fields::some_text(source, pointer)?)));
        let (pointer, named) =
            reported.or_else(|| self.missing_secret(source)).unwrap_or((CREDENTIALS, secret.unwrap_or("NAME")));
        let create = create_secret(source, pointer, named);
        // The server gives the same answer if the Secret with the credentials does not exist.
        let (reason, summary) = match reason {
            Reason::CredentialsRejected if self.missing_secret(source).is_some() => {
                (Reason::SecretMissing, "a secret the source refers to does not exist")
            }
            reason => (reason, summary),
        };
        let mut cause = Cause::new(reason, source, summary).evidence("condition", text, failed.changed());
        if !url.is_empty() {
            cause = cause.evidence("spec", format!("url: {url}"), None);
        }
        for (pointer, field) in REQUESTED_CONTENT {
            if reason == Reason::SourceNotFound || reason == Reason::ChartNotFound {
                let value = fields::some_text(source, pointer);
                cause = cause.evidence("spec", value.map(|v| format!("{field}: {v}")).unwrap_or_default(), None);
            }
        }
        if let Some(revision) = fields::some_text(source, "/status/artifact/revision") {
            let at = fields::time(source, "/status/artifact/lastUpdateTime");
            cause = cause.evidence("status", format!("last artifact: {revision}"), at);
        }
        let host = message::host(url).unwrap_or(url);
        match reason {
            Reason::SecretMissing | Reason::SecretIncomplete => {
                let state = if reason == Reason::SecretMissing { "not found" } else { "is not complete" };
                cause
                    .evidence("secret", format!("Secret/{namespace}/{named} {state}"), None)
                    .at(format!("{namespace}/{named}"))
                    .next(create)
                    .next(again(source))
            }
            Reason::CredentialsRejected | Reason::HostKeyWrong => {
                let what = if reason == Reason::HostKeyWrong { "known_hosts comes" } else { "credentials come" };
                let cause = match secret {
                    Some(secret) => cause
                        .evidence("secret", format!("{what} from Secret/{namespace}/{secret}"), None)
                        .at(format!("{host} {namespace}/{secret}")),
                    None => cause.evidence("secret", "the source does not refer to a secret", None),
                };
                cause.next(create).next(again(source))
            }
            Reason::HostUnreachable
            | Reason::CertificateInvalid
            | Reason::CertificateExpired
            | Reason::RateLimited
            | Reason::ProxyFailed
                if !host.is_empty() =>
            {
                cause.at(host).next(again(source)).next(self.list_events(source))
            }
            Reason::StorageFull => {
                let at = "source-controller";
                cause.at(at).next(NextStep::advice("give source-controller more storage, or fewer or smaller sources"))
            }
            _ if found.is_none() => self.with_ruled_out(cause, from).next(self.list_events(source)).next(again(source)),
            _ => cause.next(again(source)).next(self.list_events(source)),
        }
    }
}

/// JSON pointer to the name of the Secret with the credentials of a source.
const CREDENTIALS: &str = "/spec/secretRef/name";
/// JSON pointers to the names of all Secrets that a source may refer to.
const SECRETS: [&str; 4] =
    [CREDENTIALS, "/spec/certSecretRef/name", "/spec/proxySecretRef/name", "/spec/verify/secretRef/name"];

/// The fields that select the content at the address of a source, with the words for them.
const REQUESTED_CONTENT: [(&str, &str); 8] = [
    ("/spec/ref/branch", "branch"),
    ("/spec/ref/tag", "tag"),
    ("/spec/ref/semver", "semver"),
    ("/spec/ref/name", "ref"),
    ("/spec/ref/commit", "commit"),
    ("/spec/chart", "chart"),
    ("/spec/version", "version"),
    ("/spec/bucketName", "bucket"),
];

fn url(source: &Value) -> &str {
    ["/spec/url", "/spec/endpoint", "/spec/image"]
        .into_iter()
        .find_map(|pointer| fields::some_text(source, pointer))
        .unwrap_or_default()
}

fn again(source: &Value) -> NextStep {
    NextStep::Reconcile { object: ObjectId::of(source), in_process: false, force: false }
}

/// Returns the step that creates the Secret for a field in the spec of a source.
fn create_secret(source: &Value, pointer: &str, name: &str) -> NextStep {
    let secret = match pointer {
        "/spec/certSecretRef/name" => SecretKind::Tls,
        "/spec/proxySecretRef/name" => SecretKind::Proxy,
        "/spec/verify/secretRef/name" => SecretKind::Signers,
        _ => SecretKind::of_source(fields::kind(source), url(source), fields::text(source, "/spec/provider")),
    };
    NextStep::CreateSecret {
        namespace: fields::namespace(source).unwrap_or_default().into(),
        name: name.into(),
        secret,
    }
}
