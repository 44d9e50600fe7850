//! One row a cause: the objects as the controllers leave them, and what explains them.

use serde_json::{Value, json};

use super::super::{Overview, Why, overview, why};
use super::*;
use crate::inspect::read::snapshot::Snapshot;

const NOW: &str = "2026-01-01T01:00:00Z";

/// A Flux object that reports `Ready` with this reason and message; an empty reason is success.
fn reporting(api_version: &str, kind: &str, name: &str, spec: Value, reason: &str, message: &str) -> Value {
    let (status, reason) = if reason.is_empty() { ("True", "Succeeded") } else { ("False", reason) };
    json!({"apiVersion": api_version, "kind": kind,
        "metadata": {"name": name, "namespace": "apps", "generation": 1}, "spec": spec,
        "status": {"observedGeneration": 1, "conditions": [{"type": "Ready", "status": status, "reason": reason,
            "message": message, "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}})
}

fn ks(name: &str, reason: &str, message: &str) -> Value {
    let spec = json!({"path": "./deploy", "prune": true, "sourceRef": {"kind": "GitRepository", "name": "app"}});
    reporting("kustomize.toolkit.fluxcd.io/v1", "Kustomization", name, spec, reason, message)
}

fn hr(reason: &str, message: &str) -> Value {
    let spec = json!({"chart": {"spec": {"chart": "web", "version": "6.x", "sourceRef": {"kind": "HelmRepository", "name": "charts"}}}});
    let mut release = reporting("helm.toolkit.fluxcd.io/v2", "HelmRelease", "web", spec, reason, message);
    release["status"]["helmChart"] = "apps/apps-web".into();
    release
}

fn source(kind: &str, name: &str, spec: Value, reason: &str, message: &str) -> Value {
    reporting("source.toolkit.fluxcd.io/v1", kind, name, spec, reason, message)
}

fn git(reason: &str, message: &str) -> Value {
    let spec = json!({"url": "https://git.example.com/app", "ref": {"branch": "main"}});
    source("GitRepository", "app", spec, reason, message)
}

/// What source-controller writes before the words of the Git library.
fn clone(text: &str) -> String {
    format!("failed to checkout and determine revision: unable to clone 'https://git.example.com/app': {text}")
}

fn with(mut object: Value, pointer: &str, value: Value) -> Value {
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    object.pointer_mut(parent).unwrap()[field] = value;
    object
}

fn plain(api_version: &str, kind: &str, name: &str, spec: Value, status: Value) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "apps", "uid": name},
        "spec": spec, "status": status})
}

fn secret(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "apps"}})
}

fn deployment(name: &str, status: Value) -> Value {
    let spec = json!({"replicas": 1, "selector": {"matchLabels": {"app": name}},
        "template": {"spec": {"containers": [{"name": "web"}]}}});
    plain("apps/v1", "Deployment", name, spec, status)
}

fn pod(spec: Value, status: Value) -> Value {
    let mut pod = plain("v1", "Pod", "web-1", spec, status);
    pod["metadata"]["labels"] = json!({"app": "web"});
    pod
}

fn waiting(reason: &str, message: &str) -> Value {
    json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "True"}],
        "containerStatuses": [{"name": "web", "image": "ghcr.io/org/web:v1", "restartCount": 0,
            "state": {"waiting": {"reason": reason, "message": message}}}]})
}

fn unscheduled(message: &str) -> Value {
    json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}]})
}

fn event(kind: &str, name: &str, reason: &str, message: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": format!("{name}.{reason}"), "namespace": "apps"},
        "involvedObject": {"kind": kind, "name": name, "namespace": "apps"}, "type": "Warning", "reason": reason,
        "message": message, "lastTimestamp": "2026-01-01T00:30:00Z"})
}

/// A controller as Flux installs it, with further arguments.
fn controller(name: &str, replicas: i64, ready: i64, arguments: Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "flux-system",
            "labels": {"app.kubernetes.io/part-of": "flux"}},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}},
            "template": {"spec": {"containers": [{"name": "manager", "args": arguments}]}}},
        "status": {"replicas": replicas, "updatedReplicas": replicas, "readyReplicas": ready, "availableReplicas": ready,
            "conditions": [{"type": "Available", "status": if ready > 0 { "True" } else { "False" }}]}})
}

/// A Kustomization whose Deployment `web` does not become healthy.
fn unhealthy() -> Value {
    ks(
        "app",
        "HealthCheckFailed",
        "health check failed after 30.040699555s: timeout waiting for: [Deployment/apps/web status: 'InProgress']",
    )
}

fn explain(subject: &Value, others: &[Value]) -> Why {
    let snapshot = Snapshot::of_dump(others.iter().cloned().chain([subject.clone()]));
    why(&snapshot, subject, NOW.parse().unwrap())
}

struct Row {
    subject: Value,
    others: Vec<Value>,
    reason: Reason,
    /// The object that is to blame.
    object: &'static str,
    /// A part of the sentence.
    says: &'static str,
}

fn row(
    subject: Value,
    others: impl IntoIterator<Item = Value>,
    reason: Reason,
    object: &'static str,
    says: &'static str,
) -> Row {
    Row { subject, others: others.into_iter().collect(), reason, object, says }
}

const GIT: &str = "GitRepository/apps/app";
const KS: &str = "Kustomization/apps/app";
const HR: &str = "HelmRelease/apps/web";

fn source_rows() -> Vec<Row> {
    let failed = |text: &str| git("GitOperationFailed", &clone(text));
    let oci = |text: &str| {
        let spec = json!({"url": "oci://ghcr.io/org/manifests", "ref": {"tag": "nope"}});
        source("OCIRepository", "oci", spec, "OCIArtifactPullFailed", text)
    };
    let oci_text = "failed to determine artifact digest: GET https://ghcr.io/v2/org/manifests/manifests/nope: ";
    let bucket = |reason: &str, text: &str| {
        source("Bucket", "b", json!({"endpoint": "minio.example.com", "bucketName": "nope"}), reason, text)
    };
    let charts = |reason: &str, text: &str| {
        source("HelmRepository", "charts", json!({"url": "https://charts.example.com"}), reason, text)
    };
    let auth = "AuthenticationFailed";
    vec![
        row(
            failed("dial tcp: lookup git.example.com on 10.0.0.10:53: no such host"),
            [],
            Reason::HostUnreachable,
            GIT,
            "cannot be resolved",
        ),
        row(
            failed(
                "Get \"https://git.example.com/app/info/refs?service=git-upload-pack\": dial tcp 10.1.2.3:443: connect: connection refused",
            ),
            [],
            Reason::HostUnreachable,
            GIT,
            "nothing listens",
        ),
        row(failed("dial tcp 10.1.2.3:443: i/o timeout"), [], Reason::HostUnreachable, GIT, "does not answer"),
        row(
            failed(
                "Get \"https://git.example.com/\": proxyconnect tcp: dial tcp 10.9.9.9:3128: connect: connection refused",
            ),
            [],
            Reason::ProxyFailed,
            GIT,
            "proxy",
        ),
        row(
            failed("tls: failed to verify certificate: x509: certificate signed by unknown authority"),
            [],
            Reason::CertificateInvalid,
            GIT,
            "not trusted",
        ),
        row(
            failed(
                "tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time 2026-01-01",
            ),
            [],
            Reason::CertificateExpired,
            GIT,
            "expired",
        ),
        row(failed("ssh: handshake failed: knownhosts: key mismatch"), [], Reason::HostKeyWrong, GIT, "known_hosts"),
        row(failed("authentication required: Unauthorized"), [], Reason::CredentialsRejected, GIT, "credentials"),
        row(
            with(failed("authentication required: Unauthorized"), "/spec/secretRef", json!({"name": "gone"})),
            [secret("other")],
            Reason::SecretMissing,
            GIT,
            "does not exist",
        ),
        row(failed("repository not found: "), [], Reason::SourceNotFound, GIT, "repository does not exist"),
        row(failed("couldn't find remote ref \"refs/heads/main\""), [], Reason::SourceNotFound, GIT, "branch or tag"),
        row(
            git("GitOperationFailed", "failed to checkout and determine revision: no match found for semver: >=9.0.0"),
            [],
            Reason::SourceNotFound,
            GIT,
            "version range",
        ),
        row(
            git(
                auth,
                "failed to get secret 'apps/absent': failed to get secret 'apps/absent': secrets \"absent\" not found",
            ),
            [],
            Reason::SecretMissing,
            GIT,
            "secret",
        ),
        row(
            git(
                "VerificationError",
                "signature verification of commit '5394cb7' failed: unable to verify Git commit: openpgp: signature made by unknown entity",
            ),
            [],
            Reason::SignatureInvalid,
            GIT,
            "not signed",
        ),
        row(
            git(
                "StorageOperationFailed",
                "failed to create directory: mkdir /data/gitrepository: no space left on device",
            ),
            [],
            Reason::StorageFull,
            GIT,
            "storage",
        ),
        row(
            oci(&format!("{oci_text}MANIFEST_UNKNOWN: manifest unknown; unknown tag=nope")),
            [],
            Reason::SourceNotFound,
            "OCIRepository/apps/oci",
            "tag",
        ),
        row(
            oci(&format!("{oci_text}TOOMANYREQUESTS: retry-after: 200µs, allowed: 44000/minute")),
            [],
            Reason::RateLimited,
            "OCIRepository/apps/oci",
            "too many",
        ),
        row(
            oci(
                "failed to verify the signature using provider 'cosign': no matching signatures were found for 'ghcr.io/org/manifests:nope'",
            ),
            [],
            Reason::SignatureInvalid,
            "OCIRepository/apps/oci",
            "not signed",
        ),
        row(
            source(
                "OCIRepository",
                "oci",
                json!({"url": "oci://x y"}),
                "URLInvalid",
                "URL validation failed for 'oci://x y': invalid reference",
            ),
            [],
            Reason::UrlInvalid,
            "OCIRepository/apps/oci",
            "address",
        ),
        row(
            bucket("BucketOperationFailed", "bucket 'nope' not found"),
            [],
            Reason::SourceNotFound,
            "Bucket/apps/b",
            "does not exist",
        ),
        row(
            bucket(auth, "invalid 'bad' secret data: required fields 'accesskey' and 'secretkey'"),
            [],
            Reason::SecretIncomplete,
            "Bucket/apps/b",
            "lacks fields",
        ),
        row(
            charts(
                "Failed",
                "failed to fetch Helm repository index: failed to cache index to temporary file: failed to fetch https://charts.example.com/index.yaml : 404 Not Found",
            ),
            [],
            Reason::SourceNotFound,
            "HelmRepository/apps/charts",
            "address",
        ),
        row(
            git("GitOperationFailed", "something nobody has seen before"),
            [],
            Reason::SourceFailed,
            GIT,
            "cannot be fetched",
        ),
        row(with(git("", "stored"), "/spec/suspend", true.into()), [], Reason::Suspended, GIT, "switched off"),
    ]
}

fn kustomization_rows() -> Vec<Row> {
    let built = |text: &str| ks("app", "BuildFailed", text);
    let applied = |text: &str| ks("app", "ReconciliationFailed", &format!("{text}\n"));
    let fetched = |text: &str| ks("app", "ArtifactFailed", text);
    let fine = || git("", "stored artifact");
    let depends = |name: &str, on: &str| {
        let text = format!("dependency 'apps/{on}' is not ready");
        with(ks(name, "DependencyNotReady", &text), "/spec/dependsOn", json!([{"name": on}]))
    };
    let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "helmreleases.helm.toolkit.fluxcd.io"},
        "spec": {"versions": [{"name": "v2", "served": true}, {"name": "v2beta1", "served": false}]}});
    vec![
        row(
            fetched("kustomization path not found: stat /tmp/kustomization-1/nope: no such file or directory"),
            [fine()],
            Reason::KustomizationFailed,
            KS,
            "path does not exist",
        ),
        row(
            fetched("Source artifact not found, retrying in 30s"),
            [git("GitOperationFailed", &clone("repository not found: "))],
            Reason::SourceNotFound,
            GIT,
            "repository",
        ),
        row(
            fetched("GitRepository.source.toolkit.fluxcd.io \"app\" not found"),
            [source("GitRepository", "other", json!({}), "", "")],
            Reason::DependencyMissing,
            GIT,
            "does not exist",
        ),
        row(
            fetched(
                "failed to download archive: GET http://source-controller.flux-system.svc.cluster.local./gitrepository/apps/app/x.tar.gz giving up after 2 attempt(s): connect: connection refused",
            ),
            [
                fine(),
                controller("source-controller", 0, 0, json!([])),
                controller("kustomize-controller", 1, 1, json!([])),
            ],
            Reason::ControllerStopped,
            "Deployment/flux-system/source-controller",
            "scaled to zero",
        ),
        row(
            fetched(
                "failed to download archive: GET http://source-controller.flux-system.svc.cluster.local./x.tar.gz giving up after 10 attempt(s): context deadline exceeded",
            ),
            [fine()],
            Reason::ArtifactUnavailable,
            KS,
            "cannot be fetched",
        ),
        row(
            fetched("failed to verify archive: computed digest doesn't match provided"),
            [fine()],
            Reason::ArtifactCorrupt,
            KS,
            "not the one",
        ),
        row(
            fetched("can't access 'GitRepository/apps/app', cross-namespace references have been blocked"),
            [fine()],
            Reason::AccessDenied,
            KS,
            "other namespaces",
        ),
        row(
            built(
                "failed to decode Kubernetes YAML from /tmp/x.yaml: MalformedYAMLError: yaml: line 4: did not find expected key",
            ),
            [],
            Reason::KustomizationFailed,
            KS,
            "no YAML",
        ),
        row(
            built(
                "kustomize build failed: accumulating resources: accumulation err='accumulating resources from 'gone.yaml': open /tmp/gone.yaml: no such file or directory'",
            ),
            [],
            Reason::KustomizationFailed,
            KS,
            "cannot be read",
        ),
        row(
            built(
                "kustomize build failed: may not add resource with an already registered id: Deployment.v1.apps/web.apps",
            ),
            [],
            Reason::KustomizationFailed,
            KS,
            "same object",
        ),
        row(
            built(
                "kustomize build failed: no matches for Id Deployment.v1.apps/web.[noNs]; failed to find unique target for patch Deployment.v1.apps/web.[noNs]",
            ),
            [],
            Reason::KustomizationFailed,
            KS,
            "patch",
        ),
        row(
            built(
                "post build failed for 'web': substitute from 'ConfigMap/absent' error: configmaps \"absent\" not found",
            ),
            [],
            Reason::SubstitutionFailed,
            KS,
            "taken from",
        ),
        row(
            built(
                "post build failed for 'web': envsubst error: variable substitution failed: variable not set (strict mode): \"cluster\"",
            ),
            [],
            Reason::SubstitutionFailed,
            KS,
            "no value",
        ),
        row(
            built(
                "failed to decrypt and format 'secret.yaml': cannot get sops data key: Error getting data key: 0 successful groups required, got 0",
            ),
            [],
            Reason::DecryptionFailed,
            KS,
            "no key",
        ),
        row(
            built("cannot get decryption Secret 'apps/sops-age': secrets \"sops-age\" not found"),
            [],
            Reason::DecryptionFailed,
            KS,
            "does not exist",
        ),
        row(
            applied("Widget/apps/w dry-run failed: no matches for kind \"Widget\" in version \"example.com/v1\""),
            [],
            Reason::DefinitionMissing,
            KS,
            "does not serve",
        ),
        row(
            applied(
                "HelmRelease/apps/w dry-run failed: no matches for kind \"HelmRelease\" in version \"helm.toolkit.fluxcd.io/v2beta1\"",
            ),
            [crd],
            Reason::DefinitionVersionUnserved,
            KS,
            "not served at",
        ),
        row(
            applied(
                "Deployment/apps/web dry-run failed: failed to create typed patch object (apps/web; apps/v1, Kind=Deployment): .spec.replicas: expected numeric (int or float), got string",
            ),
            [],
            Reason::ObjectInvalid,
            KS,
            "another type",
        ),
        row(
            applied(
                "Deployment/apps/web dry-run failed (Invalid): Deployment.apps \"web\" is invalid: spec.selector: Invalid value: {}: field is immutable",
            ),
            [],
            Reason::ImmutableField,
            KS,
            "cannot be changed",
        ),
        row(
            applied(
                "Deployment/apps/web dry-run failed (Forbidden): deployments.apps \"web\" is forbidden: User \"system:serviceaccount:apps:flux\" cannot patch resource \"deployments\" in API group \"apps\" in the namespace \"apps\"",
            ),
            [],
            Reason::Forbidden,
            KS,
            "lacks a right",
        ),
        row(
            applied("ConfigMap/never/c not found: namespaces \"never\" not found"),
            [],
            Reason::NamespaceMissing,
            KS,
            "namespace of an object",
        ),
        row(
            applied(
                "ConfigMap/old/c dry-run failed (Forbidden): configmaps \"c\" is forbidden: unable to create new content in namespace old because it is being terminated",
            ),
            [],
            Reason::NamespaceTerminating,
            KS,
            "being deleted",
        ),
        row(
            applied(
                "Deployment/apps/web dry-run failed (InternalError): Internal error occurred: failed calling webhook \"w.example.com\": failed to call webhook: Post \"https://w.ops.svc:443/validate\": no endpoints available for service \"w\"",
            ),
            [],
            Reason::WebhookRefused,
            KS,
            "cannot be reached",
        ),
        row(
            applied(
                "Deployment/apps/web dry-run failed (Forbidden): admission webhook \"w.example.com\" denied the request: no latest tags",
            ),
            [],
            Reason::WebhookRefused,
            KS,
            "refused an object",
        ),
        row(
            applied(
                "Deployment/apps/web dry-run failed (Forbidden): deployments.apps \"web\" is forbidden: ValidatingAdmissionPolicy 'no-friday' with binding 'all' denied request: no",
            ),
            [],
            Reason::PolicyRefused,
            KS,
            "policy",
        ),
        row(
            applied(
                "Pod/apps/p dry-run failed (Forbidden): pods \"p\" is forbidden: violates PodSecurity \"restricted:latest\": allowPrivilegeEscalation != false",
            ),
            [],
            Reason::PolicyRefused,
            KS,
            "pod security",
        ),
        row(
            applied(
                "Pod/apps/p dry-run failed (Forbidden): pods \"p\" is forbidden: exceeded quota: small, requested: pods=1, used: pods=5, limited: pods=5",
            ),
            [],
            Reason::QuotaExceeded,
            KS,
            "quota",
        ),
        row(
            applied(
                "Pod/apps/p dry-run failed (Forbidden): pods \"p\" is forbidden: maximum cpu usage per Container is 500m, but limit is 2",
            ),
            [],
            Reason::LimitExceeded,
            KS,
            "limit range",
        ),
        row(
            applied("ConfigMap/apps/c apply failed: Request entity too large: limit is 3145728"),
            [],
            Reason::ObjectTooLarge,
            KS,
            "larger",
        ),
        row(
            applied(
                "Deployment/apps/web dry-run failed: Apply failed with 1 conflict: conflict with \"kubectl-edit\" using apps/v1: .spec.replicas",
            ),
            [],
            Reason::FieldConflict,
            KS,
            "owns a field",
        ),
        row(
            applied(
                "Widget/apps/w dry-run failed: conversion webhook for example.com/v1, Kind=Widget failed: Post \"https://w.ops.svc:443/convert\": connection refused",
            ),
            [],
            Reason::WebhookRefused,
            KS,
            "conversion",
        ),
        row(
            applied("client rate limiter Wait returned an error: context deadline exceeded"),
            [],
            Reason::Throttled,
            KS,
            "request limit",
        ),
        row(applied("etcdserver: mvcc: database space exceeded"), [], Reason::StorageFull, KS, "etcd"),
        row(
            applied("unable to read KubeConfig secret 'apps/remote' error: secrets \"remote\" not found"),
            [],
            Reason::SecretMissing,
            KS,
            "kubeconfig",
        ),
        row(
            ks("app", "PruneFailed", "prune failed: ConfigMap/apps/c delete failed: configmaps \"c\" is forbidden"),
            [],
            Reason::PruneFailed,
            KS,
            "cannot be deleted",
        ),
        row(
            depends("app", "base"),
            [ks("base", "BuildFailed", "kustomize build failed: x")],
            Reason::KustomizationFailed,
            "Kustomization/apps/base",
            "cannot be built",
        ),
        row(depends("app", "base"), [depends("base", "app")], Reason::DependencyCycle, KS, "in a circle"),
        row(depends("app", "never"), [], Reason::DependencyMissing, "Kustomization/apps/never", "does not exist"),
        row(
            depends("app", "base"),
            [with(ks("base", "BuildFailed", "x"), "/spec/suspend", true.into())],
            Reason::Suspended,
            "Kustomization/apps/base",
            "switched off",
        ),
        row(
            ks("app", "ReconciliationFailed", "something nobody has seen before"),
            [fine()],
            Reason::KustomizationFailed,
            KS,
            "cannot be applied",
        ),
        row(
            with(
                with(ks("app", "", "ok"), "/metadata/deletionTimestamp", "2026-01-01T00:00:00Z".into()),
                "/metadata/finalizers",
                json!(["finalizers.fluxcd.io"]),
            ),
            [],
            Reason::StuckFinalizer,
            KS,
            "finalizers.fluxcd.io",
        ),
        row(
            with(
                ks("app", "", "ok"),
                "/status/inventory",
                json!({"entries": [{"id": "apps_gone__ConfigMap", "v": "v1"}]}),
            ),
            [plain("v1", "ConfigMap", "other", json!({}), json!({}))],
            Reason::ObjectMissing,
            "ConfigMap/apps/gone",
            "is gone",
        ),
    ]
}

fn release_rows() -> Vec<Row> {
    let install = |text: &str| {
        hr("InstallFailed", &format!("Helm install failed for release apps/web with chart web@6.0.0: {text}"))
    };
    let chart = |reason: &str, text: &str| {
        let spec =
            json!({"chart": "web", "version": "99.x", "sourceRef": {"kind": "HelmRepository", "name": "charts"}});
        source("HelmChart", "apps-web", spec, reason, text)
    };
    let waits = || hr("SourceNotReady", "HelmChart 'apps/apps-web' is not ready: no");
    let charts = |reason: &str, text: &str| {
        source("HelmRepository", "charts", json!({"url": "https://charts.example.com"}), reason, text)
    };
    let tried = |condition: &str, text: &str| {
        let mut release = hr("RetriesExceeded", "Failed to install after 3 attempt(s)");
        let conditions = release["status"]["conditions"].as_array_mut().unwrap();
        conditions.push(json!({"type": condition, "status": "False", "reason": "InstallFailed", "message": text}));
        conditions.push(json!({"type": "Stalled", "status": "True", "reason": "RetriesExceeded", "message": "Failed to install after 3 attempt(s)"}));
        release
    };
    let refused = "failed to fetch Helm repository index: failed to cache index to temporary file: Get \"https://charts.example.com/index.yaml\": dial tcp 10.1.1.1:443: connect: connection refused";
    let timed_out = "context deadline exceeded";
    let mut labelled = deployment("web", json!({}));
    labelled["metadata"]["labels"] =
        json!({"helm.toolkit.fluxcd.io/name": "web", "helm.toolkit.fluxcd.io/namespace": "apps"});
    let hook = plain(
        "batch/v1",
        "Job",
        "migrate",
        json!({"selector": {"matchLabels": {"app": "migrate"}}}),
        json!({"startTime": "2026-01-01T00:00:00Z", "conditions": [{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "Job has reached the specified backoff limit"}]}),
    );
    vec![
        row(
            waits(),
            [
                chart(
                    "InvalidChartReference",
                    "invalid chart reference: failed to get chart version for remote reference: no 'web' chart with version matching '99.x' found",
                ),
                charts("", "ok"),
            ],
            Reason::ChartNotFound,
            "HelmChart/apps/apps-web",
            "no such version",
        ),
        row(
            waits(),
            [
                chart(
                    "InvalidChartReference",
                    "invalid chart reference: failed to get chart version for remote reference: no chart name found",
                ),
                charts("", "ok"),
            ],
            Reason::ChartNotFound,
            "HelmChart/apps/apps-web",
            "of this name",
        ),
        row(
            waits(),
            [
                chart(
                    "InvalidChartReference",
                    "invalid chart reference: stat /tmp/helmchart-apps-apps-web-1/source/nowhere: no such file or directory",
                ),
                charts("", "ok"),
            ],
            Reason::ChartNotFound,
            "HelmChart/apps/apps-web",
            "at this path",
        ),
        row(
            waits(),
            [
                chart("SourceUnavailable", "no artifact available for HelmRepository source 'charts'"),
                charts("Failed", refused),
            ],
            Reason::HostUnreachable,
            "HelmRepository/apps/charts",
            "nothing listens",
        ),
        row(
            waits(),
            [
                chart("ChartPackageError", "dependency build error: failed to add remote dependency 'redis': no"),
                charts("", "ok"),
            ],
            Reason::ChartNotFound,
            "HelmChart/apps/apps-web",
            "dependency",
        ),
        row(
            hr(
                "ValuesError",
                "could not resolve ConfigMap chart values reference 'apps/values' with key 'values.yaml': configmaps \"values\" not found",
            ),
            [],
            Reason::ValuesMissing,
            HR,
            "taken from",
        ),
        row(
            install(
                "values don't meet the specifications of the schema(s) in the following chart(s):\nweb:\n- at '/replicas': got string, want integer",
            ),
            [],
            Reason::ValuesInvalid,
            HR,
            "schema",
        ),
        row(
            install("execution error at (web/templates/check.yaml:2:4): set ingress.host"),
            [],
            Reason::ChartFailed,
            HR,
            "on purpose",
        ),
        row(
            install(
                "template: web/templates/deployment.yaml:12:20: executing \"x\" at <include>: error calling include: no",
            ),
            [],
            Reason::ChartFailed,
            HR,
            "rendered",
        ),
        row(
            install("chart requires kubeVersion: >=1.99.0 which is incompatible with Kubernetes v1.36.3"),
            [],
            Reason::ChartFailed,
            HR,
            "version of Kubernetes",
        ),
        row(
            install(
                "unable to build kubernetes objects from release manifest: resource mapping not found for name: \"web\" namespace: \"apps\" from \"\": no matches for kind \"ServiceMonitor\" in version \"monitoring.coreos.com/v1\"\nensure CRDs are installed first",
            ),
            [],
            Reason::DefinitionMissing,
            HR,
            "does not serve",
        ),
        row(
            install(
                "Unable to continue with install: ConfigMap \"web\" in namespace \"apps\" exists and cannot be imported into the current release: invalid ownership metadata; label validation error",
            ),
            [],
            Reason::HelmOwnership,
            HR,
            "somebody else",
        ),
        row(install("cannot re-use a name that is still in use"), [], Reason::HelmOwnership, HR, "exists already"),
        row(
            hr(
                "UpgradeFailed",
                "Helm upgrade failed for release apps/web with chart web@6.0.0: another operation (install/upgrade/rollback) is in progress",
            ),
            [],
            Reason::HelmLocked,
            HR,
            "never ended",
        ),
        row(
            hr(
                "UpgradeFailed",
                "Helm upgrade failed for release apps/web with chart web@6.0.0: \"web\" has no deployed releases",
            ),
            [],
            Reason::HelmLocked,
            HR,
            "never ended|ever deployed",
        ),
        row(
            install("pre-install hooks failed: 1 error occurred:\n\t* job migrate failed: BackoffLimitExceeded"),
            [],
            Reason::HelmHookFailed,
            HR,
            "hook",
        ),
        row(
            install(
                "pre-install hooks failed: resource Job/apps/migrate not ready. status: Failed, message: Job failed",
            ),
            [hook],
            Reason::JobFailed,
            "Job/apps/migrate",
            "every try",
        ),
        row(
            hr(
                "TestFailed",
                "Helm test failed for release apps/web with chart web@6.0.0: 1 error occurred: pod web-test failed",
            ),
            [],
            Reason::HelmTestFailed,
            HR,
            "test",
        ),
        row(
            install(timed_out),
            [labelled, pod(json!({}), waiting("CrashLoopBackOff", "back-off 5m0s restarting failed container"))],
            Reason::CrashLoop,
            "Pod/apps/web-1",
            "keeps ending",
        ),
        row(install(timed_out), [], Reason::HealthCheckFailed, HR, "healthy in time"),
        row(
            tried(
                "Released",
                "Helm install failed for release apps/web with chart web@6.0.0: execution error at (x): no",
            ),
            [],
            Reason::ChartFailed,
            HR,
            "on purpose",
        ),
        row(install("something nobody has seen before"), [], Reason::HelmFailed, HR, "action of Helm"),
    ]
}

fn workload_rows() -> Vec<Row> {
    let one = |status: Value| [deployment("web", json!({})), pod(json!({}), status)];
    let told = |status: Value, event: Value| [deployment("web", json!({})), pod(json!({}), status), event];
    let running = || json!({"phase": "Running", "conditions": [{"type": "PodScheduled", "status": "True"}], "containerStatuses": [{"name": "web", "restartCount": 0, "state": {"running": {}}}]});
    let failing = |text: &str| {
        deployment(
            "web",
            json!({"conditions": [{"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": text}]}),
        )
    };
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "status": {"conditions": [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status."}]}});
    let on_node = pod(json!({"nodeName": "n1"}), running());
    let job = |reason: &str| {
        plain(
            "batch/v1",
            "Job",
            "migrate",
            json!({"selector": {"matchLabels": {"app": "migrate"}}}),
            json!({"startTime": "2026-01-01T00:00:00Z", "conditions": [{"type": "Failed", "status": "True", "reason": reason, "message": "Job failed"}]}),
        )
    };
    let balancer = plain(
        "v1",
        "Service",
        "web",
        json!({"type": "LoadBalancer", "clusterIP": "10.0.0.1"}),
        json!({"loadBalancer": {}}),
    );
    let claim =
        plain("v1", "PersistentVolumeClaim", "data", json!({"storageClassName": "fast"}), json!({"phase": "Pending"}));
    let paused = with(deployment("web", json!({})), "/spec/paused", true.into());
    const POD: &str = "Pod/apps/web-1";
    const WEB: &str = "Deployment/apps/web";
    vec![
        row(
            unhealthy(),
            one(waiting("ImagePullBackOff", "Back-off pulling image \"ghcr.io/org/web:v1\"")),
            Reason::ImagePullFailed,
            POD,
            "ghcr.io/org/web:v1",
        ),
        row(
            unhealthy(),
            one(waiting("ErrImagePull", "failed to authorize: 401 Unauthorized")),
            Reason::PullSecretMissing,
            POD,
            "no pull secret",
        ),
        row(unhealthy(), one(waiting("CrashLoopBackOff", "back-off")), Reason::CrashLoop, POD, "keeps ending"),
        row(
            unhealthy(),
            one(
                json!({"phase": "Running", "containerStatuses": [{"name": "web", "restartCount": 3, "state": {"running": {}}, "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}]}),
            ),
            Reason::OutOfMemory,
            POD,
            "memory",
        ),
        row(
            unhealthy(),
            one(waiting("CreateContainerConfigError", "secret \"db\" not found")),
            Reason::SecretMissing,
            POD,
            "db",
        ),
        row(
            unhealthy(),
            one(waiting("CreateContainerConfigError", "configmap \"settings\" not found")),
            Reason::ConfigMapMissing,
            POD,
            "settings",
        ),
        row(
            unhealthy(),
            one(waiting("CreateContainerConfigError", "couldn't find key password in Secret apps/db")),
            Reason::ContainerConfigError,
            POD,
            "key",
        ),
        row(
            unhealthy(),
            one(waiting("RunContainerError", "exec: \"/app\": executable file not found in $PATH")),
            Reason::ContainerConfigError,
            POD,
            "command",
        ),
        row(
            unhealthy(),
            one(waiting("CreateContainerConfigError", "container has runAsNonRoot and image will run as root")),
            Reason::ContainerConfigError,
            POD,
            "root",
        ),
        row(
            unhealthy(),
            one(unscheduled("0/3 nodes are available: 3 Insufficient cpu.")),
            Reason::Unschedulable,
            POD,
            "CPU",
        ),
        row(
            unhealthy(),
            one(unscheduled("0/3 nodes are available: 3 Insufficient memory.")),
            Reason::Unschedulable,
            POD,
            "memory",
        ),
        row(
            unhealthy(),
            one(unscheduled("0/3 nodes are available: 3 node(s) had untolerated taint {gpu: true}.")),
            Reason::Unschedulable,
            POD,
            "taint",
        ),
        row(
            unhealthy(),
            one(unscheduled("0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector.")),
            Reason::Unschedulable,
            POD,
            "labels",
        ),
        row(
            unhealthy(),
            one(
                json!({"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: ephemeral-storage."}),
            ),
            Reason::Evicted,
            POD,
            "evicted",
        ),
        row(
            unhealthy(),
            told(
                running(),
                event("Pod", "web-1", "Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 503"),
            ),
            Reason::ProbeFailing,
            POD,
            "readiness",
        ),
        row(
            unhealthy(),
            told(
                waiting("ContainerCreating", ""),
                event(
                    "Pod",
                    "web-1",
                    "FailedMount",
                    "MountVolume.SetUp failed for volume \"tls\" : secret \"tls\" not found",
                ),
            ),
            Reason::SecretMissing,
            POD,
            "mounts",
        ),
        row(
            unhealthy(),
            told(
                waiting("ContainerCreating", ""),
                event(
                    "Pod",
                    "web-1",
                    "FailedAttachVolume",
                    "Multi-Attach error for volume \"pvc-1\" Volume is already exclusively attached to one node",
                ),
            ),
            Reason::VolumeUnavailable,
            POD,
            "another node",
        ),
        row(unhealthy(), [deployment("web", json!({})), on_node, node], Reason::NodeNotReady, "Node/n1", "n1"),
        row(
            unhealthy(),
            [failing("pods \"web-1\" is forbidden: exceeded quota: small, requested: pods=1")],
            Reason::QuotaExceeded,
            WEB,
            "quota",
        ),
        row(
            unhealthy(),
            [failing(
                "pods \"web-1\" is forbidden: error looking up service account apps/web: serviceaccount \"web\" not found",
            )],
            Reason::ServiceAccountMissing,
            WEB,
            "service account",
        ),
        row(unhealthy(), [paused], Reason::RolloutPaused, WEB, "paused"),
        row(
            unhealthy(),
            [with(deployment("web", json!({})), "/spec/replicas", 0.into())],
            Reason::ObjectFailed,
            WEB,
            "scaled to zero",
        ),
        row(unhealthy(), [deployment("other", json!({}))], Reason::ObjectMissing, WEB, "not in the cluster"),
        row(job("BackoffLimitExceeded"), [], Reason::JobFailed, "Job/apps/migrate", "every try"),
        row(job("DeadlineExceeded"), [], Reason::JobFailed, "Job/apps/migrate", "deadline"),
        row(balancer, [], Reason::AddressPending, "Service/apps/web", "address"),
        row(
            claim,
            [event(
                "PersistentVolumeClaim",
                "data",
                "ProvisioningFailed",
                "storageclass.storage.k8s.io \"fast\" not found",
            )],
            Reason::ClaimPending,
            "PersistentVolumeClaim/apps/data",
            "not bound",
        ),
        row(
            deployment(
                "web",
                json!({"replicas": 1, "conditions": [{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "ReplicaSet \"web-1\" has timed out progressing."}]}),
            ),
            [],
            Reason::RolloutFailed,
            WEB,
            "in time",
        ),
    ]
}

fn controller_rows() -> Vec<Row> {
    let ready = || ks("app", "", "Applied revision");
    let shard = || with(ready(), "/metadata/labels", json!({"sharding.fluxcd.io/key": "s9"}));
    let image = |reason: &str, text: &str| {
        reporting(
            "image.toolkit.fluxcd.io/v1",
            "ImagePolicy",
            "web",
            json!({"imageRepositoryRef": {"name": "web"}}),
            reason,
            text,
        )
    };
    let automation = |text: &str| {
        let spec = json!({"sourceRef": {"kind": "GitRepository", "name": "app"}});
        reporting("image.toolkit.fluxcd.io/v1", "ImageUpdateAutomation", "web", spec, "GitOperationFailed", text)
    };
    let receiver = reporting(
        "notification.toolkit.fluxcd.io/v1",
        "Receiver",
        "hook",
        json!({"secretRef": {"name": "token"}}),
        "TokenNotFound",
        "unable to read token from secret 'apps/token' error: Secret \"token\" not found",
    );
    let main = json!(["--watch-label-selector=!sharding.fluxcd.io/key"]);
    const KC: &str = "Deployment/flux-system/kustomize-controller";
    vec![
        row(
            ready(),
            [controller("source-controller", 1, 1, json!([]))],
            Reason::ControllerMissing,
            KC,
            "not installed",
        ),
        row(
            ready(),
            [controller("kustomize-controller", 0, 0, json!([]))],
            Reason::ControllerStopped,
            KC,
            "scaled to zero",
        ),
        row(ready(), [controller("kustomize-controller", 1, 0, json!([]))], Reason::ControllerNotReady, KC, "no pod"),
        row(
            shard(),
            [
                controller("kustomize-controller", 1, 1, main.clone()),
                controller(
                    "kustomize-controller-s1",
                    1,
                    1,
                    json!(["--watch-label-selector=sharding.fluxcd.io/key=s1"]),
                ),
            ],
            Reason::ShardUnserved,
            KS,
            "shard s9",
        ),
        row(
            ready(),
            [controller("kustomize-controller", 1, 1, json!(["--watch-all-namespaces=false"]))],
            Reason::ShardUnserved,
            KS,
            "own namespace",
        ),
        row(
            with(ready(), "/status", json!({})),
            [controller("kustomize-controller", 1, 1, json!([]))],
            Reason::InProgress,
            KS,
            "under way",
        ),
        row(
            image("DependencyNotReady", "referenced ImageRepository has not been scanned yet"),
            [reporting(
                "image.toolkit.fluxcd.io/v1",
                "ImageRepository",
                "web",
                json!({"image": "ghcr.io/org/web"}),
                "ReadOperationFailed",
                "failed to list tags: GET https://ghcr.io/v2/org/web/tags/list: UNAUTHORIZED: authentication required",
            )],
            Reason::CredentialsRejected,
            "ImageRepository/apps/web",
            "credentials",
        ),
        row(
            image(
                "Failed",
                "cannot determine latest tag for policy: unable to determine latest version from provided list",
            ),
            [],
            Reason::ImagePolicyUnmatched,
            "ImagePolicy/apps/web",
            "no tag",
        ),
        row(
            automation("failed to push to remote: command error on refs/heads/main: protected branch hook declined"),
            [],
            Reason::PushRejected,
            "ImageUpdateAutomation/apps/web",
            "refuses what is pushed",
        ),
        row(receiver, [], Reason::SecretMissing, "Receiver/apps/hook", "token"),
    ]
}

fn rows() -> Vec<Row> {
    [source_rows(), kustomization_rows(), release_rows(), workload_rows(), controller_rows()]
        .into_iter()
        .flatten()
        .collect()
}

#[test]
fn every_cause_is_told_from_the_others_with_evidence_and_a_next_step() {
    let mut told = BTreeSet::new();
    let mut wrong = vec![];
    for Row { subject, others, reason, object, says } in rows() {
        let found = explain(&subject, &others);
        let text = format!("{}: {:?}", subject["status"], found.cause);
        let Some(cause) = found.cause else {
            wrong.push(format!("no cause: {text}"));
            continue;
        };
        let is_it = (cause.reason, cause.object.to_string().as_str()) == (reason, object)
            && says.split('|').any(|part| cause.summary.contains(part));
        if !is_it || found.ready || cause.evidence.is_empty() || cause.next.is_empty() {
            wrong.push(format!("not {reason:?} of {object} that says {says:?}: {text}"));
        }
        told.insert(format!("{reason:?} {}", cause.summary));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(told.len() >= 60, "{} causes: {told:#?}", told.len());
}

#[test]
fn all_causes_are_found_among_all_objects_as_well() {
    // What is looked into only for one object that was asked about.
    let only_asked = [Reason::ObjectMissing, Reason::InProgress];
    for Row { subject, others, reason, object, .. } in rows() {
        let is_flux = kinds::of(fields::group(&subject), fields::kind(&subject)).is_some();
        let is_ready = fields::condition(&subject, READY).is_some_and(|c| c.is_true());
        if !is_flux || kinds::is_suspended(&subject) || (is_ready && only_asked.contains(&reason)) {
            continue;
        }
        let all = everything(others.iter().cloned().chain([subject.clone()]));
        if reason == Reason::InProgress {
            assert_eq!((all.failing, all.in_progress), (0, 1), "{all:#?}");
            continue;
        }
        let group = all.causes.iter().find(|group| group.affected.contains(&ObjectId::of(&subject)));
        let group = group.unwrap_or_else(|| panic!("{} is in no group: {all:#?}", ObjectId::of(&subject)));
        let found = (group.cause.reason, group.cause.object.to_string());
        assert_eq!(found, (reason, object.to_owned()), "{all:#?}");
        assert!(!all.well);
    }
}

fn everything(objects: impl IntoIterator<Item = Value>) -> Overview {
    overview(&Snapshot::of_dump(objects), None, NOW.parse().unwrap())
}

#[test]
fn what_cannot_be_told_says_what_was_ruled_out() {
    let found = explain(
        &ks("app", "ReconciliationFailed", "something nobody has seen before"),
        &[controller("kustomize-controller", 1, 1, json!([]))],
    );
    let cause = found.cause.unwrap();
    let ruled_out: Vec<_> = cause.evidence.iter().filter(|e| e.from == "ruled out").map(|e| e.text.as_str()).collect();
    assert_eq!(ruled_out.len(), 1, "{cause:#?}");
    assert!(ruled_out[0].starts_with("Deployment/flux-system/kustomize-controller is fine"), "{ruled_out:?}");
}

#[test]
fn one_cause_takes_down_all_that_waits_for_it() {
    let chain = (1..=140).map(|n| {
        let on = if n == 1 { "root".to_owned() } else { format!("k{}", n - 1) };
        let text = format!("dependency 'apps/{on}' is not ready");
        with(ks(&format!("k{n}"), "DependencyNotReady", &text), "/spec/dependsOn", json!([{"name": on}]))
    });
    let mut objects: Vec<Value> = chain.collect();
    objects.push(ks("root", "BuildFailed", "kustomize build failed: x"));
    objects.push(ks("fine", "", "Applied"));
    let host = |name: &str| {
        let spec = json!({"url": format!("https://git.example.com/{name}")});
        source(
            "GitRepository",
            name,
            spec,
            "GitOperationFailed",
            &clone("dial tcp: lookup git.example.com: no such host"),
        )
    };
    objects.extend([host("a"), host("b")]);
    let all = everything(objects);
    assert_eq!((all.total, all.failing, all.causes.len()), (144, 143, 2), "{:#?}", all.causes);
    let [first, second] = &all.causes[..] else { panic!("{all:#?}") };
    assert_eq!((first.affected.len(), first.cause.object.to_string().as_str()), (141, "Kustomization/apps/root"));
    assert_eq!(first.kinds, [super::super::overview::AffectedKind { kind: "Kustomization".into(), count: 141 }]);
    assert_eq!((second.affected.len(), second.cause.reason), (2, Reason::HostUnreachable), "one host is one cause");
}

#[test]
fn a_missing_controller_is_never_ready() {
    let ready = |name: &str| ks(name, "", "Applied");
    let all = everything([ready("a"), ready("b"), controller("source-controller", 1, 1, json!([]))]);
    assert_eq!((all.failing, all.causes.len()), (2, 1), "{all:#?}");
    assert_eq!(all.causes[0].cause.reason, Reason::ControllerMissing);
    // Without any Deployment of Flux somebody else reconciles: what is observed is.
    let other = deployment("other", json!({}));
    assert!(everything([ready("a"), other.clone()]).well);
    let unattended = with(ready("a"), "/metadata/generation", 2.into());
    assert_eq!(everything([unattended, other]).causes[0].cause.reason, Reason::ControllerMissing);
}

#[test]
fn a_cluster_is_asked_one_list_a_kind_and_no_request_an_object() {
    let snapshot = Snapshot::of_cluster();
    let all = overview(&snapshot, None, NOW.parse().unwrap());
    assert!(all.well && all.total == 0);
    let needs = snapshot.take_needs();
    assert_eq!(
        needs.len(),
        kinds::FLUX_KINDS.len(),
        "a list of each kind but reports, and of the controllers: {needs:?}"
    );
}

fn applying(owner: Value, ids: &[&str]) -> Value {
    let entries: Vec<Value> = ids.iter().map(|id| json!({"id": id, "v": "v1"})).collect();
    with(owner, "/status/inventory", json!({"entries": entries}))
}

#[test]
fn a_workload_of_a_green_owner_is_found_by_its_inventory_and_grouped_with_what_else_it_takes_down() {
    let crashing = pod(json!({}), waiting("CrashLoopBackOff", "back-off"));
    let green = applying(ks("green", "", "Applied revision: main"), &["apps_web_apps_Deployment"]);
    let all = everything([green.clone(), deployment("web", json!({})), crashing.clone()]);
    let [only] = &all.causes[..] else { panic!("{all:#?}") };
    assert_eq!((all.total, all.workloads, all.failing, only.cause.reason), (1, 1, 1, Reason::CrashLoop));
    assert_eq!(only.affected[0].to_string(), "Deployment/apps/web");
    let texts: Vec<&str> = only.cause.evidence.iter().map(|e| e.text.as_str()).collect();
    assert!(texts.contains(&"Kustomization/apps/green applied it, which is ready"), "{texts:?}");

    let red = applying(unhealthy(), &["apps_web_apps_Deployment"]);
    let all = everything([red, green, deployment("web", json!({})), crashing]);
    let [only] = &all.causes[..] else { panic!("one pod is one cause: {all:#?}") };
    let affected: Vec<String> = only.affected.iter().map(ToString::to_string).collect();
    assert_eq!(affected, ["Kustomization/apps/app", "Deployment/apps/web"]);
}

#[test]
fn every_kind_of_workload_is_looked_at_and_what_nobody_applied_is_not() {
    let ids = [
        "apps_s_apps_StatefulSet",
        "apps_d_apps_DaemonSet",
        "apps_migrate_batch_Job",
        "apps_web-1__Pod",
        "apps_c__ConfigMap",
    ];
    let failed = json!({"conditions": [{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "no"}]});
    let paused =
        |kind: &str, name: &str| plain("apps/v1", kind, name, json!({"paused": true, "replicas": 1}), json!({}));
    let all = everything([
        applying(ks("green", "", "Applied"), &ids),
        paused("StatefulSet", "s"),
        paused("DaemonSet", "d"),
        plain("batch/v1", "Job", "migrate", json!({}), failed.clone()),
        pod(json!({}), unscheduled("0/3 nodes are available: 3 Insufficient cpu.")),
        // Somebody else's, and no workload.
        plain("batch/v1", "Job", "other", json!({}), failed),
        plain("v1", "Other", "x", json!({}), json!({})),
    ]);
    let mut affected: Vec<&str> = all.causes.iter().flat_map(|g| &g.affected).map(|id| id.kind.as_str()).collect();
    affected.sort_unstable();
    assert_eq!((all.workloads, affected), (4, vec!["DaemonSet", "Job", "Pod", "StatefulSet"]), "{all:#?}");
}

#[test]
fn workloads_that_vanished_are_one_cause_an_owner_unless_nobody_has_to_have_them() {
    let ids = ["apps_a_apps_Deployment", "apps_b_apps_Deployment", "apps_done_batch_Job"];
    let namespace = |name: &str| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let others = [deployment("other", json!({"replicas": 1})), plain("batch/v1", "Job", "x", json!({}), json!({}))];
    let owner = || applying(ks("green", "", "Applied"), &ids);
    let with_others = |first: Vec<Value>| everything(first.into_iter().chain(others.clone()));
    let all = with_others(vec![owner(), namespace("apps")]);
    let [only] = &all.causes[..] else { panic!("{all:#?}") };
    assert_eq!(
        (only.cause.reason, only.affected.len()),
        (Reason::ObjectMissing, 2),
        "a Job may be cleared away: {all:#?}"
    );
    let all = with_others(vec![owner(), namespace("other")]);
    assert_eq!(all.causes[0].cause.reason, Reason::NamespaceMissing, "{all:#?}");
    assert_eq!(all.causes[0].cause.object.to_string(), "Namespace/apps");
    let suspended = with(owner(), "/spec/suspend", true.into());
    assert!(with_others(vec![suspended, namespace("apps")]).well);
    assert!(everything([owner()]).well, "a dump without Deployments says nothing of them");
}

#[test]
fn what_helm_made_of_a_release_without_inventory_is_found_by_its_labels() {
    let released =
        with(hr("", "Helm install succeeded"), "/status/history", json!([{"status": "deployed", "version": 1}]));
    let mut web = deployment("web", json!({}));
    web["metadata"]["labels"] =
        json!({"helm.toolkit.fluxcd.io/name": "web", "helm.toolkit.fluxcd.io/namespace": "apps"});
    let mut other = deployment("other", json!({}));
    other["metadata"]["labels"] =
        json!({"helm.toolkit.fluxcd.io/name": "gone", "helm.toolkit.fluxcd.io/namespace": "apps"});
    other["spec"]["paused"] = true.into();
    let all = everything([released, web, other, pod(json!({}), waiting("CrashLoopBackOff", "back-off"))]);
    let [only] = &all.causes[..] else { panic!("{all:#?}") };
    assert_eq!((only.cause.reason, only.affected[0].to_string().as_str()), (Reason::CrashLoop, "Deployment/apps/web"));
}

#[test]
fn many_workloads_are_asked_for_as_one_list_and_few_by_name() {
    use crate::inspect::read::snapshot::{Answer, Need};
    let now = NOW.parse().unwrap();
    let asked = |count: usize| -> Vec<Need> {
        let ids: Vec<String> = (0..count).map(|n| format!("apps_w{n}_apps_Deployment")).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let owner = applying(ks("green", "", "Applied"), &ids);
        let mut snapshot = Snapshot::of_cluster();
        overview(&snapshot, None, now);
        for need in snapshot.take_needs() {
            let objects = match &need {
                Need::List { resource, .. } if resource.kind == "Kustomization" => vec![owner.clone()],
                _ => vec![],
            };
            snapshot.answer(need, Answer::Objects(objects));
        }
        overview(&snapshot, None, now);
        snapshot.take_needs()
    };
    let few = asked(3);
    assert!(few.len() == 3 && few.iter().all(|need| matches!(need, Need::Get { .. })), "{few:?}");
    let many = asked(300);
    assert!(
        matches!(&many[..], [Need::List { resource, namespace: None, selector: None }] if resource.kind == "Deployment"),
        "{many:?}"
    );
}
