//! The sync of an instance: its source, the source's secret, and its Kustomization.

use serde_json::Value;

use super::{Cause, NextStep, Reason, SecretKind, Walk, message};
use crate::api::kinds::{self, SECRET};
use crate::api::well_known::condition::READY;
use crate::inspect::trace;
use crate::k8s::ObjectId;
use crate::k8s::fields;

impl<'a> Walk<'a> {
    pub(super) fn sync(&mut self) -> Option<Cause> {
        let spec = self.instance.pointer("/spec/sync").filter(|s| s.is_object())?;
        let name = fields::some_text(spec, "/name").unwrap_or(self.namespace());
        let resource = kinds::of(kinds::KUSTOMIZE_GROUP, "Kustomization")?.resource_type();
        let kustomization = self.snapshot.get(&resource, Some(self.namespace()), name)?;
        let source = trace::source_of(kustomization).and_then(|reference| self.snapshot.get_ref(&reference));
        if let Some(cause) = source.and_then(|source| self.source(source)) {
            return Some(cause);
        }
        self.kustomization(kustomization)
    }

    fn source(&mut self, source: &'a Value) -> Option<Cause> {
        if kinds::is_suspended(source) {
            self.step(source, Some(false), "suspended");
            return Some(self.suspended(source));
        }
        let ready = fields::condition(source, READY);
        let failed = ready.filter(|c| c.is_false());
        let ok = ready.map(|_| failed.is_none());
        self.step(source, ok, ready.map_or("no Ready condition yet", |c| c.message()));
        let namespace = fields::namespace(source).unwrap_or_default();
        let url = fields::some_text(source, "/spec/url")
            .or_else(|| fields::some_text(source, "/spec/endpoint"))
            .unwrap_or_default();
        let secret = fields::some_text(source, "/spec/secretRef/name");
        let missing = secret
            .filter(|_| failed.is_some() || ready.is_none())
            .filter(|name| self.snapshot.get(&SECRET, Some(namespace), name).is_none() && self.snapshot.knows(&SECRET));
        let again = NextStep::Reconcile { object: ObjectId::of(source), in_process: false, force: false };
        let kind = fields::kind(source);
        let Some(failed) = failed else {
            // Nothing was tried yet, and it is known already what will be missing.
            let missing = missing.filter(|_| ready.is_none())?;
            return Some(
                Cause::new(Reason::SecretMissing, source, "a secret the source refers to does not exist")
                    .evidence("secret", format!("Secret/{namespace}/{missing} not found"), None)
                    .next(create_secret(kind, url, missing, namespace))
                    .next(again),
            );
        };
        let text = failed.message();
        let (reason, summary) =
            message::source_failure(text).unwrap_or((Reason::SourceFailed, "the source cannot be fetched"));
        let named = secret.or_else(|| message::after(text, "secrets ")).unwrap_or("NAME");
        let create = create_secret(kind, url, named, namespace);
        let (reason, summary) = match (reason, missing) {
            // The server's answer is the same without credentials and without a secret to take them from.
            (Reason::CredentialsRejected, Some(_)) => {
                (Reason::SecretMissing, "a secret the source refers to does not exist")
            }
            (reason, _) => (reason, summary),
        };
        let cause = Cause::new(reason, source, summary).evidence("condition", text, failed.changed()).evidence(
            "spec",
            format!("url: {url}"),
            None,
        );
        Some(match reason {
            Reason::SecretMissing => {
                cause.evidence("secret", format!("Secret/{namespace}/{named} not found"), None).next(create).next(again)
            }
            Reason::CredentialsRejected | Reason::HostKeyWrong => {
                let what = if reason == Reason::HostKeyWrong { "known_hosts comes" } else { "credentials come" };
                let cause = match secret {
                    Some(secret) => cause.evidence("secret", format!("{what} from Secret/{namespace}/{secret}"), None),
                    None => cause.evidence("secret", "the source names no secret", None),
                };
                cause.next(create).next(again)
            }
            _ => cause.next(again).next(self.list_events(source)),
        })
    }

    fn kustomization(&mut self, kustomization: &'a Value) -> Option<Cause> {
        if kinds::is_suspended(kustomization) {
            self.step(kustomization, Some(false), "suspended");
            return Some(self.suspended(kustomization));
        }
        let ready = fields::condition(kustomization, READY);
        let failed = ready.filter(|c| c.is_false());
        let ok = ready.map(|_| failed.is_none());
        self.step(kustomization, ok, ready.map_or("no Ready condition yet", |c| c.message()));
        let failed = failed?;
        let text = failed.message();
        let (reason, summary) = match failed.reason() {
            "DependencyNotReady" => (Reason::DependencyNotReady, "another Kustomization has to become ready first"),
            "ArtifactFailed" if text.contains("path not found") => {
                (Reason::KustomizationFailed, "the path does not exist in the source")
            }
            "BuildFailed" => (Reason::KustomizationFailed, "the manifests of the source cannot be built"),
            "HealthCheckFailed" => (Reason::KustomizationFailed, "what the source contains does not become healthy"),
            _ => message::refusal(text)
                .unwrap_or((Reason::KustomizationFailed, "the content of the source cannot be applied")),
        };
        Some(
            Cause::new(reason, kustomization, summary)
                .evidence("condition", text, failed.changed())
                .evidence("spec", format!("path: {}", fields::text(kustomization, "/spec/path")), None)
                .next(NextStep::ShowTree(ObjectId::of(kustomization)))
                .next(self.list_events(kustomization)),
        )
    }
}

/// Creates the kind of secret a source wants.
fn create_secret(kind: &str, url: &str, name: &str, namespace: &str) -> NextStep {
    let secret = match kind {
        "OCIRepository" => {
            let host = url.trim_start_matches("oci://").split('/').next().filter(|host| !host.is_empty());
            SecretKind::Registry { host: host.map(Into::into) }
        }
        "Bucket" => SecretKind::Bucket,
        _ if url.starts_with("ssh://") => SecretKind::Ssh,
        _ => SecretKind::BasicAuth,
    };
    NextStep::CreateSecret { namespace: namespace.into(), name: name.into(), secret }
}
