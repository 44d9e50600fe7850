//! Causes of failing objects, one row each: the objects as the controllers leave them, and the expected explanation.
//! The same rows are tested from a dump (`src/inspect/diagnose/why`) and from a real API server
//! (`tests/control_plane/inspect/table.rs`).

use serde_json::{Value, json};

/// A Flux object that reports `Ready` with this reason and message; an empty reason means success.
pub fn reporting(api_version: &str, kind: &str, name: &str, spec: Value, reason: &str, message: &str) -> Value {
    let (status, reason) = if reason.is_empty() { ("True", "Succeeded") } else { ("False", reason) };
    json!({"apiVersion": api_version, "kind": kind,
        "metadata": {"name": name, "namespace": "apps", "generation": 1}, "spec": spec,
        "status": {"observedGeneration": 1, "conditions": [{"type": "Ready", "status": status, "reason": reason,
            "message": message, "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}})
}

pub fn ks(name: &str, reason: &str, message: &str) -> Value {
    let spec = json!({"path": "./deploy", "prune": true, "sourceRef": {"kind": "GitRepository", "name": "app"}});
    reporting("kustomize.toolkit.fluxcd.io/v1", "Kustomization", name, spec, reason, message)
}

pub fn hr(reason: &str, message: &str) -> Value {
    let spec = json!({"chart": {"spec": {"chart": "web", "version": "6.x", "sourceRef": {"kind": "HelmRepository", "name": "charts"}}}});
    let mut release = reporting("helm.toolkit.fluxcd.io/v2", "HelmRelease", "web", spec, reason, message);
    release["status"]["helmChart"] = "apps/apps-web".into();
    release
}

pub fn source(kind: &str, name: &str, spec: Value, reason: &str, message: &str) -> Value {
    reporting("source.toolkit.fluxcd.io/v1", kind, name, spec, reason, message)
}

pub fn git(reason: &str, message: &str) -> Value {
    let spec = json!({"url": "https://git.example.com/app", "ref": {"branch": "main"}});
    source("GitRepository", "app", spec, reason, message)
}

/// The text that source-controller puts before an error of the Git library.
pub fn clone(text: &str) -> String {
    format!("failed to checkout and determine revision: unable to clone 'https://git.example.com/app': {text}")
}

pub fn with(mut object: Value, pointer: &str, value: Value) -> Value {
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    object.pointer_mut(parent).unwrap()[field] = value;
    object
}

pub fn plain(api_version: &str, kind: &str, name: &str, spec: Value, status: Value) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "apps", "uid": name},
        "spec": spec, "status": status})
}

/// A ResourceSet with one template.
pub fn resource_set(more: Value, reason: &str, message: &str) -> Value {
    let mut spec =
        json!({"resources": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "<< inputs.tenant >>"}}]});
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    reporting("fluxcd.controlplane.io/v1", "ResourceSet", "set", spec, reason, message)
}

pub fn input_provider(reason: &str, message: &str, exported: bool) -> Value {
    let spec = json!({"type": "GitHubBranch", "url": "https://github.com/org/app"});
    let mut provider =
        reporting("fluxcd.controlplane.io/v1", "ResourceSetInputProvider", "branches", spec, reason, message);
    if exported {
        provider["status"]["lastExportedRevision"] = "sha256:1".into();
        provider["status"]["exportedInputs"] = json!([{"id": "1", "branch": "main"}]);
    }
    provider
}

pub fn secret(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "apps"}})
}

pub fn deployment(name: &str, status: Value) -> Value {
    let spec = json!({"replicas": 1, "selector": {"matchLabels": {"app": name}},
        "template": {"spec": {"containers": [{"name": "web"}]}}});
    plain("apps/v1", "Deployment", name, spec, status)
}

pub fn pod(spec: Value, status: Value) -> Value {
    let mut pod = plain("v1", "Pod", "web-1", spec, status);
    pod["metadata"]["labels"] = json!({"app": "web"});
    pod
}

pub fn waiting(reason: &str, message: &str) -> Value {
    json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "True"}],
        "containerStatuses": [{"name": "web", "image": "ghcr.io/org/web:v1", "restartCount": 0,
            "state": {"waiting": {"reason": reason, "message": message}}}]})
}

pub fn unscheduled(message: &str) -> Value {
    json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}]})
}

pub fn event(kind: &str, name: &str, reason: &str, message: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": format!("{name}.{reason}"), "namespace": "apps"},
        "involvedObject": {"kind": kind, "name": name, "namespace": "apps"}, "type": "Warning", "reason": reason,
        "message": message, "lastTimestamp": "2026-01-01T00:30:00Z"})
}

/// A controller as Flux installs it, with additional arguments.
pub fn controller(name: &str, replicas: i64, ready: i64, arguments: Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "flux-system",
            "labels": {"app.kubernetes.io/part-of": "flux"}},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}},
            "template": {"spec": {"containers": [{"name": "manager", "args": arguments}]}}},
        "status": {"replicas": replicas, "updatedReplicas": replicas, "readyReplicas": ready, "availableReplicas": ready,
            "conditions": [{"type": "Available", "status": if ready > 0 { "True" } else { "False" }}]}})
}

/// A Kustomization whose Deployment `web` does not become healthy.
pub fn unhealthy() -> Value {
    ks(
        "app",
        "HealthCheckFailed",
        "health check failed after 30.040699555s: timeout waiting for: [Deployment/apps/web status: 'InProgress']",
    )
}

/// A cause with its objects and its explanation.
pub struct Row {
    pub subject: Value,
    pub others: Vec<Value>,
    pub reason: &'static str,
    /// The object that `why` has to blame.
    pub object: &'static str,
    /// A part of the explanation.
    pub says: &'static str,
}

pub fn row(
    subject: Value,
    others: impl IntoIterator<Item = Value>,
    reason: &'static str,
    object: &'static str,
    says: &'static str,
) -> Row {
    Row { subject: complete(subject), others: others.into_iter().map(complete).collect(), reason, object, says }
}

/// Adds fields that an API server requires of an object and that do not matter for the cause.
pub fn complete(mut object: Value) -> Value {
    let defaults = match object["kind"].as_str().unwrap_or_default() {
        "Pod" => json!({"containers": [{"name": "web", "image": "ghcr.io/org/web:v1"}]}),
        "Service" => json!({"ports": [{"port": 80}]}),
        "PersistentVolumeClaim" => {
            json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}})
        }
        "Deployment" => json!({}),
        "StatefulSet" | "DaemonSet" => json!({"selector": {"matchLabels": {"app": "web"}}}),
        "Job" => json!({"manualSelector": true, "selector": {"matchLabels": {"app": "migrate"}}}),
        "Kustomization"
        | "HelmRelease"
        | "GitRepository"
        | "OCIRepository"
        | "Bucket"
        | "HelmRepository"
        | "HelmChart"
        | "ImageRepository"
        | "ImageUpdateAutomation" => json!({"interval": "10m"}),
        "ImagePolicy" => json!({"policy": {"semver": {"range": "*"}}}),
        "Receiver" => json!({"type": "generic", "resources": [{"kind": "GitRepository", "name": "app"}]}),
        _ => return object,
    };
    for (field, value) in defaults.as_object().into_iter().flatten() {
        let spec = &mut object["spec"][field];
        if spec.is_null() {
            *spec = value.clone();
        }
    }
    let makes_pods =
        ["Deployment", "StatefulSet", "DaemonSet", "Job"].contains(&object["kind"].as_str().unwrap_or_default());
    if makes_pods {
        complete_template(&mut object);
    }
    object
}

fn complete_template(workload: &mut Value) {
    let labels = workload["spec"]["selector"]["matchLabels"].clone();
    let is_job = workload["kind"] == "Job";
    let template = &mut workload["spec"]["template"];
    template["metadata"]["labels"] = labels;
    if template["spec"]["containers"].is_null() {
        template["spec"]["containers"] = json!([{"name": "web"}]);
    }
    for container in template["spec"]["containers"].as_array_mut().into_iter().flatten() {
        container["image"] = "ghcr.io/org/web:v1".into();
    }
    if is_job {
        template["spec"]["restartPolicy"] = "Never".into();
    }
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
            "HostUnreachable",
            GIT,
            "cannot be resolved",
        ),
        row(
            failed(
                "Get \"https://git.example.com/app/info/refs?service=git-upload-pack\": dial tcp 10.1.2.3:443: connect: connection refused",
            ),
            [],
            "HostUnreachable",
            GIT,
            "nothing listens",
        ),
        row(failed("dial tcp 10.1.2.3:443: i/o timeout"), [], "HostUnreachable", GIT, "does not answer"),
        row(
            failed(
                "Get \"https://git.example.com/\": proxyconnect tcp: dial tcp 10.9.9.9:3128: connect: connection refused",
            ),
            [],
            "ProxyFailed",
            GIT,
            "proxy",
        ),
        row(
            failed("tls: failed to verify certificate: x509: certificate signed by unknown authority"),
            [],
            "CertificateInvalid",
            GIT,
            "not trusted",
        ),
        row(
            failed(
                "tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time 2026-01-01",
            ),
            [],
            "CertificateExpired",
            GIT,
            "expired",
        ),
        row(failed("ssh: handshake failed: knownhosts: key mismatch"), [], "HostKeyWrong", GIT, "known_hosts"),
        row(failed("authentication required: Unauthorized"), [], "CredentialsRejected", GIT, "credentials"),
        row(
            with(failed("authentication required: Unauthorized"), "/spec/secretRef", json!({"name": "gone"})),
            [secret("other")],
            "SecretMissing",
            GIT,
            "does not exist",
        ),
        row(failed("repository not found: "), [], "SourceNotFound", GIT, "repository does not exist"),
        row(failed("couldn't find remote ref \"refs/heads/main\""), [], "SourceNotFound", GIT, "branch or tag"),
        row(
            git("GitOperationFailed", "failed to checkout and determine revision: no match found for semver: >=9.0.0"),
            [],
            "SourceNotFound",
            GIT,
            "version range",
        ),
        row(
            git(
                auth,
                "failed to get secret 'apps/absent': failed to get secret 'apps/absent': secrets \"absent\" not found",
            ),
            [],
            "SecretMissing",
            GIT,
            "secret",
        ),
        row(
            git(
                "VerificationError",
                "signature verification of commit '5394cb7' failed: unable to verify Git commit: openpgp: signature made by unknown entity",
            ),
            [],
            "SignatureInvalid",
            GIT,
            "required signature",
        ),
        row(
            git(
                "StorageOperationFailed",
                "failed to create directory: mkdir /data/gitrepository: no space left on device",
            ),
            [],
            "StorageFull",
            GIT,
            "storage",
        ),
        row(
            oci(&format!("{oci_text}MANIFEST_UNKNOWN: manifest unknown; unknown tag=nope")),
            [],
            "SourceNotFound",
            "OCIRepository/apps/oci",
            "tag",
        ),
        row(
            oci(&format!("{oci_text}TOOMANYREQUESTS: retry-after: 200µs, allowed: 44000/minute")),
            [],
            "RateLimited",
            "OCIRepository/apps/oci",
            "too many",
        ),
        row(
            oci(
                "failed to verify the signature using provider 'cosign': no matching signatures were found for 'ghcr.io/org/manifests:nope'",
            ),
            [],
            "SignatureInvalid",
            "OCIRepository/apps/oci",
            "required signature",
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
            "UrlInvalid",
            "OCIRepository/apps/oci",
            "address",
        ),
        row(
            bucket("BucketOperationFailed", "bucket 'nope' not found"),
            [],
            "SourceNotFound",
            "Bucket/apps/b",
            "does not exist",
        ),
        row(
            bucket(auth, "invalid 'bad' secret data: required fields 'accesskey' and 'secretkey'"),
            [],
            "SecretIncomplete",
            "Bucket/apps/b",
            "lacks fields",
        ),
        row(
            charts(
                "Failed",
                "failed to fetch Helm repository index: failed to cache index to temporary file: failed to fetch https://charts.example.com/index.yaml : 404 Not Found",
            ),
            [],
            "SourceNotFound",
            "HelmRepository/apps/charts",
            "address",
        ),
        row(
            git("GitOperationFailed", "something nobody has seen before"),
            [],
            "SourceFailed",
            GIT,
            "cannot be fetched",
        ),
        row(with(git("", "stored"), "/spec/suspend", true.into()), [], "Suspended", GIT, "suspended"),
        row(
            with(with(git("", ""), "/status", json!({})), "/spec/secretRef", json!({"name": "absent"})),
            [secret("other"), controller("source-controller", 1, 1, json!([]))],
            "SecretMissing",
            GIT,
            "does not exist",
        ),
        row(
            with(with(charts("", ""), "/status", json!({})), "/spec/certSecretRef", json!({"name": "absent-ca"})),
            [secret("other"), controller("source-controller", 1, 1, json!([]))],
            "SecretMissing",
            "HelmRepository/apps/charts",
            "does not exist",
        ),
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
            "KustomizationFailed",
            KS,
            "path does not exist",
        ),
        row(
            fetched("Source artifact not found, retrying in 30s"),
            [git("GitOperationFailed", &clone("repository not found: "))],
            "SourceNotFound",
            GIT,
            "repository",
        ),
        row(
            fetched("GitRepository.source.toolkit.fluxcd.io \"app\" not found"),
            [source("GitRepository", "other", json!({"url": "https://git.example.com/other"}), "", "ok")],
            "DependencyMissing",
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
            "ControllerStopped",
            "Deployment/flux-system/source-controller",
            "scaled to zero",
        ),
        row(
            fetched(
                "failed to download archive: GET http://source-controller.flux-system.svc.cluster.local./x.tar.gz giving up after 10 attempt(s): context deadline exceeded",
            ),
            [fine()],
            "ArtifactUnavailable",
            KS,
            "cannot be fetched",
        ),
        row(
            fetched("failed to verify archive: computed digest doesn't match provided"),
            [fine()],
            "ArtifactCorrupt",
            KS,
            "does not match the digest",
        ),
        row(
            fetched("can't access 'GitRepository/apps/app', cross-namespace references have been blocked"),
            [fine()],
            "AccessDenied",
            KS,
            "other namespaces",
        ),
        row(
            built(
                "failed to decode Kubernetes YAML from /tmp/x.yaml: MalformedYAMLError: yaml: line 4: did not find expected key",
            ),
            [],
            "KustomizationFailed",
            KS,
            "not valid YAML",
        ),
        row(
            built(
                "kustomize build failed: accumulating resources: accumulation err='accumulating resources from 'gone.yaml': open /tmp/gone.yaml: no such file or directory'",
            ),
            [],
            "KustomizationFailed",
            KS,
            "cannot be read",
        ),
        row(
            built(
                "kustomize build failed: may not add resource with an already registered id: Deployment.v1.apps/web.apps",
            ),
            [],
            "KustomizationFailed",
            KS,
            "same object",
        ),
        row(
            built(
                "kustomize build failed: no matches for Id Deployment.v1.apps/web.[noNs]; failed to find unique target for patch Deployment.v1.apps/web.[noNs]",
            ),
            [],
            "KustomizationFailed",
            KS,
            "patch",
        ),
        row(
            built(
                "post build failed for 'web': substitute from 'ConfigMap/absent' error: configmaps \"absent\" not found",
            ),
            [],
            "SubstitutionFailed",
            KS,
            "ConfigMap or Secret with variables",
        ),
        row(
            built(
                "post build failed for 'web': envsubst error: variable substitution failed: variable not set (strict mode): \"cluster\"",
            ),
            [],
            "SubstitutionFailed",
            KS,
            "no value",
        ),
        row(
            built(
                "failed to decrypt and format 'secret.yaml': cannot get sops data key: Error getting data key: 0 successful groups required, got 0",
            ),
            [],
            "DecryptionFailed",
            KS,
            "cannot decrypt a file",
        ),
        row(
            built("cannot get decryption Secret 'apps/sops-age': secrets \"sops-age\" not found"),
            [],
            "DecryptionFailed",
            KS,
            "does not exist",
        ),
        row(
            applied("Widget/apps/w dry-run failed: no matches for kind \"Widget\" in version \"example.com/v1\""),
            [],
            "DefinitionMissing",
            KS,
            "does not serve",
        ),
        row(
            applied(
                "HelmRelease/apps/w dry-run failed: no matches for kind \"HelmRelease\" in version \"helm.toolkit.fluxcd.io/v2beta1\"",
            ),
            [crd],
            "DefinitionVersionUnserved",
            KS,
            "not served at",
        ),
        row(
            applied(
                "Deployment/apps/web dry-run failed: failed to create typed patch object (apps/web; apps/v1, Kind=Deployment): .spec.replicas: expected numeric (int or float), got string",
            ),
            [],
            "ObjectInvalid",
            KS,
            "a different type",
        ),
        row(
            applied(
                "Deployment/apps/web dry-run failed (Invalid): Deployment.apps \"web\" is invalid: spec.selector: Invalid value: {}: field is immutable",
            ),
            [],
            "ImmutableField",
            KS,
            "cannot be changed",
        ),
        row(
            applied(
                "Deployment/apps/web dry-run failed (Forbidden): deployments.apps \"web\" is forbidden: User \"system:serviceaccount:apps:flux\" cannot patch resource \"deployments\" in API group \"apps\" in the namespace \"apps\"",
            ),
            [],
            "Forbidden",
            KS,
            "lacks a right",
        ),
        row(
            applied("ConfigMap/never/c not found: namespaces \"never\" not found"),
            [],
            "NamespaceMissing",
            KS,
            "namespace of an object",
        ),
        row(
            applied(
                "ConfigMap/old/c dry-run failed (Forbidden): configmaps \"c\" is forbidden: unable to create new content in namespace old because it is being terminated",
            ),
            [],
            "NamespaceTerminating",
            KS,
            "being deleted",
        ),
        row(
            applied(
                "Deployment/apps/web dry-run failed (InternalError): Internal error occurred: failed calling webhook \"w.example.com\": failed to call webhook: Post \"https://w.ops.svc:443/validate\": no endpoints available for service \"w\"",
            ),
            [],
            "WebhookRefused",
            KS,
            "cannot be reached",
        ),
        row(
            applied(
                "Deployment/apps/web dry-run failed (Forbidden): admission webhook \"w.example.com\" denied the request: no latest tags",
            ),
            [],
            "WebhookRefused",
            KS,
            "refused an object",
        ),
        row(
            applied(
                "Deployment/apps/web dry-run failed (Forbidden): deployments.apps \"web\" is forbidden: ValidatingAdmissionPolicy 'no-friday' with binding 'all' denied request: no",
            ),
            [],
            "PolicyRefused",
            "ValidatingAdmissionPolicy/no-friday",
            "policy",
        ),
        row(
            applied(
                "Pod/apps/p dry-run failed (Forbidden): pods \"p\" is forbidden: violates PodSecurity \"restricted:latest\": allowPrivilegeEscalation != false",
            ),
            [],
            "PolicyRefused",
            KS,
            "pod security",
        ),
        row(
            applied(
                "Pod/apps/p dry-run failed (Forbidden): pods \"p\" is forbidden: exceeded quota: small, requested: pods=1, used: pods=5, limited: pods=5",
            ),
            [],
            "QuotaExceeded",
            "ResourceQuota/apps/small",
            "quota",
        ),
        row(
            applied(
                "Pod/apps/p dry-run failed (Forbidden): pods \"p\" is forbidden: maximum cpu usage per Container is 500m, but limit is 2",
            ),
            [],
            "LimitExceeded",
            KS,
            "limit range",
        ),
        row(
            applied("ConfigMap/apps/c apply failed: Request entity too large: limit is 3145728"),
            [],
            "ObjectTooLarge",
            KS,
            "larger",
        ),
        row(
            applied(
                "Deployment/apps/web dry-run failed: Apply failed with 1 conflict: conflict with \"kubectl-edit\" using apps/v1: .spec.replicas",
            ),
            [],
            "FieldConflict",
            KS,
            "owns an applied field",
        ),
        row(
            applied(
                "Widget/apps/w dry-run failed: conversion webhook for example.com/v1, Kind=Widget failed: Post \"https://w.ops.svc:443/convert\": connection refused",
            ),
            [],
            "WebhookRefused",
            KS,
            "conversion",
        ),
        row(
            applied("client rate limiter Wait returned an error: context deadline exceeded"),
            [],
            "Throttled",
            KS,
            "request limit",
        ),
        row(applied("etcdserver: mvcc: database space exceeded"), [], "StorageFull", KS, "etcd"),
        row(
            applied("unable to read KubeConfig secret 'apps/remote' error: secrets \"remote\" not found"),
            [],
            "SecretMissing",
            KS,
            "kubeconfig",
        ),
        row(
            ks("app", "PruneFailed", "prune failed: ConfigMap/apps/c delete failed: configmaps \"c\" is forbidden"),
            [],
            "PruneFailed",
            KS,
            "cannot be deleted",
        ),
        row(
            depends("app", "base"),
            [ks("base", "BuildFailed", "kustomize build failed: x")],
            "KustomizationFailed",
            "Kustomization/apps/base",
            "cannot be built",
        ),
        row(depends("app", "base"), [depends("base", "app")], "DependencyCycle", KS, "form a cycle"),
        row(
            with(
                depends("app", "base"),
                "/spec/dependsOn",
                json!([{"name": "base", "readyExpr": "dep.metadata.labels['stage'] == 'done'"}]),
            ),
            [ks("base", "", "Applied revision"), fine()],
            "DependencyNotReady",
            KS,
            "meet its readyExpr",
        ),
        row(depends("app", "never"), [], "DependencyMissing", "Kustomization/apps/never", "does not exist"),
        row(
            depends("app", "base"),
            [with(ks("base", "BuildFailed", "x"), "/spec/suspend", true.into())],
            "Suspended",
            "Kustomization/apps/base",
            "suspended",
        ),
        row(
            with(
                ks("app", "", "Applied revision: main@sha1:old"),
                "/status/lastAppliedRevision",
                "main@sha1:old".into(),
            ),
            [with(
                git("", "stored artifact"),
                "/status/artifact",
                json!({"revision": "main@sha1:new", "lastUpdateTime": "2026-01-01T00:00:00Z", "digest": format!("sha256:{:064}", 1),
                    "path": "gitrepository/apps/app/new.tar.gz", "url": "http://source-controller/new.tar.gz"}),
            )],
            "RevisionNotApplied",
            KS,
            "newer revision",
        ),
        row(
            ks("app", "ReconciliationFailed", "something nobody has seen before"),
            [fine()],
            "KustomizationFailed",
            KS,
            "cannot be applied",
        ),
        row(
            with(
                with(ks("app", "", "ok"), "/metadata/deletionTimestamp", "2026-01-01T00:00:00Z".into()),
                "/metadata/finalizers",
                json!(["finalizers.fluxcd.io"]),
            ),
            [controller("kustomize-controller", 1, 1, json!([]))],
            "StuckFinalizer",
            KS,
            "finalizers.fluxcd.io",
        ),
        row(
            with(
                ks("app", "", "ok"),
                "/status/inventory",
                json!({"entries": [{"id": "apps_gone__ConfigMap", "v": "v1"}]}),
            ),
            [json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other", "namespace": "apps"}})],
            "ObjectMissing",
            "ConfigMap/apps/gone",
            "no longer exists",
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
        conditions.push(json!({"type": condition, "status": "False", "reason": "InstallFailed", "message": text, "lastTransitionTime": "2026-01-01T00:00:00Z"}));
        conditions.push(json!({"type": "Stalled", "status": "True", "reason": "RetriesExceeded", "message": "Failed to install after 3 attempt(s)", "lastTransitionTime": "2026-01-01T00:00:00Z"}));
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
        json!({"startTime": "2026-01-01T00:00:00Z", "conditions": [{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "Job has reached the specified backoff limit"}, {"type": "FailureTarget", "status": "True", "reason": "BackoffLimitExceeded", "message": "no"}]}),
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
            "ChartNotFound",
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
            "ChartNotFound",
            "HelmChart/apps/apps-web",
            "with this name",
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
            "ChartNotFound",
            "HelmChart/apps/apps-web",
            "at this path",
        ),
        row(
            waits(),
            [
                chart("SourceUnavailable", "no artifact available for HelmRepository source 'charts'"),
                charts("Failed", refused),
            ],
            "HostUnreachable",
            "HelmRepository/apps/charts",
            "nothing listens",
        ),
        row(
            waits(),
            [
                chart("ChartPackageError", "dependency build error: failed to add remote dependency 'redis': no"),
                charts("", "ok"),
            ],
            "ChartNotFound",
            "HelmChart/apps/apps-web",
            "dependency",
        ),
        row(
            hr(
                "ValuesError",
                "could not resolve ConfigMap chart values reference 'apps/values' with key 'values.yaml': configmaps \"values\" not found",
            ),
            [],
            "ValuesMissing",
            HR,
            "ConfigMap or Secret with values",
        ),
        row(
            install(
                "values don't meet the specifications of the schema(s) in the following chart(s):\nweb:\n- at '/replicas': got string, want integer",
            ),
            [],
            "ValuesInvalid",
            HR,
            "schema",
        ),
        row(
            install("execution error at (web/templates/check.yaml:2:4): set ingress.host"),
            [],
            "ChartFailed",
            HR,
            "on purpose",
        ),
        row(
            install(
                "template: web/templates/deployment.yaml:12:20: executing \"x\" at <include>: error calling include: no",
            ),
            [],
            "ChartFailed",
            HR,
            "rendered",
        ),
        row(
            install("chart requires kubeVersion: >=1.99.0 which is incompatible with Kubernetes v1.36.3"),
            [],
            "ChartFailed",
            HR,
            "version of Kubernetes",
        ),
        row(
            install(
                "unable to build kubernetes objects from release manifest: resource mapping not found for name: \"web\" namespace: \"apps\" from \"\": no matches for kind \"ServiceMonitor\" in version \"monitoring.coreos.com/v1\"\nensure CRDs are installed first",
            ),
            [],
            "DefinitionMissing",
            HR,
            "does not serve",
        ),
        row(
            install(
                "Unable to continue with install: ConfigMap \"web\" in namespace \"apps\" exists and cannot be imported into the current release: invalid ownership metadata; label validation error",
            ),
            [],
            "HelmOwnership",
            HR,
            "not part of this release",
        ),
        row(install("cannot re-use a name that is still in use"), [], "HelmOwnership", HR, "already exists"),
        row(
            hr(
                "UpgradeFailed",
                "Helm upgrade failed for release apps/web with chart web@6.0.0: another operation (install/upgrade/rollback) is in progress",
            ),
            [],
            "HelmLocked",
            HR,
            "never finished",
        ),
        row(
            hr(
                "UpgradeFailed",
                "Helm upgrade failed for release apps/web with chart web@6.0.0: \"web\" has no deployed releases",
            ),
            [],
            "HelmLocked",
            HR,
            "never ended|ever deployed",
        ),
        row(
            install("pre-install hooks failed: 1 error occurred:\n\t* job migrate failed: BackoffLimitExceeded"),
            [],
            "HelmHookFailed",
            HR,
            "hook",
        ),
        row(
            install(
                "pre-install hooks failed: resource Job/apps/migrate not ready. status: Failed, message: Job failed",
            ),
            [hook],
            "JobFailed",
            "Job/apps/migrate",
            "every attempt",
        ),
        row(
            hr(
                "TestFailed",
                "Helm test failed for release apps/web with chart web@6.0.0: 1 error occurred: pod web-test failed",
            ),
            [],
            "HelmTestFailed",
            HR,
            "test",
        ),
        row(
            install(timed_out),
            [labelled, pod(json!({}), waiting("CrashLoopBackOff", "back-off 5m0s restarting failed container"))],
            "CrashLoop",
            "Pod/apps/web-1",
            "keeps exiting",
        ),
        row(install(timed_out), [], "HealthCheckFailed", HR, "healthy in time"),
        row(
            tried(
                "Released",
                "Helm install failed for release apps/web with chart web@6.0.0: execution error at (x): no",
            ),
            [],
            "ChartFailed",
            HR,
            "on purpose",
        ),
        row(install("something nobody has seen before"), [], "HelmFailed", HR, "Helm action"),
    ]
}

fn resource_set_rows() -> Vec<Row> {
    const SET: &str = "ResourceSet/apps/set";
    let failed = |text: &str| resource_set(json!({}), "BuildFailed", text);
    let named = |reason: &str, text: &str| resource_set(json!({"inputsFrom": [{"name": "branches"}]}), reason, text);
    let text = "build failed: failed to build resources[0]: failed to execute template: template: resourceset:4:11: \
                executing \"resourceset\" at <inputs>: map has no entry for key \"tenant\" (spec.resources[0], line 4, \
                input set 0 (id 7, of ResourceSet/apps/set))";
    let refused = "failed to call Git provider: failed to list branches: could not list branches: 401 Bad credentials";
    let away = "failed to compute inputs: failed to get provider apps/branches: \
                ResourceSetInputProvider.fluxcd.controlplane.io \"branches\" not found";
    let not_yet = "Retrying dependency check: ResourceSetInputProvider/apps/branches has not exported inputs yet";
    let gate = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "gate", "namespace": "apps"}]);
    let waits = "Retrying dependency check: dependency v1/ConfigMap/apps/gate not found: configmaps \"gate\" not found";
    let other = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other", "namespace": "apps"}});
    let bad = "Reconciliation failed terminally due to configuration error: failed to parse expression for dependency \
               v1/ConfigMap/apps/gate: failed to parse the CEL expression 'data.x =': syntax error";
    vec![
        row(failed(text), [], "InputMissing", SET, "does not have"),
        row(
            failed(
                "build failed: failed to build resource: failed to parse template: template: resourceset:2: unexpected EOF",
            ),
            [],
            "TemplateFailed",
            SET,
            "cannot be parsed",
        ),
        row(
            failed("build failed: duplicate resource ConfigMap/apps/a in step \"b\", already defined in step \"a\""),
            [],
            "ObjectCollision",
            SET,
            "the same object",
        ),
        row(
            named("BuildFailed", away),
            [with(input_provider("", "ok", true), "/metadata/name", "others".into())],
            "DependencyMissing",
            "ResourceSetInputProvider/apps/branches",
            "ResourceSetInputProvider branches does not exist",
        ),
        row(
            named("DependencyNotReady", not_yet),
            [input_provider("ReconciliationFailed", refused, false)],
            "CredentialsRejected",
            "ResourceSetInputProvider/apps/branches",
            "rejects those it received",
        ),
        row(
            resource_set(json!({"dependsOn": gate}), "DependencyNotReady", waits),
            [other],
            "DependencyMissing",
            "ConfigMap/apps/gate",
            "does not exist",
        ),
        row(
            resource_set(json!({}), "InvalidCELExpression", bad),
            [],
            "ExpressionInvalid",
            SET,
            "not a valid expression",
        ),
        row(
            resource_set(
                json!({}),
                "ReconciliationFailed",
                "reconciliation failed: failed to copy data from Secret/default/source: secrets \"source\" not found",
            ),
            [],
            "DependencyMissing",
            SET,
            "to copy data from",
        ),
    ]
}

fn workload_rows() -> Vec<Row> {
    let one = |status: Value| [deployment("web", json!({})), pod(json!({}), status)];
    let reported = |status: Value, event: Value| [deployment("web", json!({})), pod(json!({}), status), event];
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
            json!({"startTime": "2026-01-01T00:00:00Z", "conditions": [{"type": "Failed", "status": "True", "reason": reason, "message": "Job failed"}, {"type": "FailureTarget", "status": "True", "reason": reason, "message": "no"}]}),
        )
    };
    let balancer = plain("v1", "Service", "web", json!({"type": "LoadBalancer"}), json!({"loadBalancer": {}}));
    let claim =
        plain("v1", "PersistentVolumeClaim", "data", json!({"storageClassName": "fast"}), json!({"phase": "Pending"}));
    let paused = with(deployment("web", json!({})), "/spec/paused", true.into());
    const POD: &str = "Pod/apps/web-1";
    const WEB: &str = "Deployment/apps/web";
    vec![
        row(
            unhealthy(),
            one(waiting("ImagePullBackOff", "Back-off pulling image \"ghcr.io/org/web:v1\"")),
            "ImagePullFailed",
            POD,
            "ghcr.io/org/web:v1",
        ),
        row(
            unhealthy(),
            one(waiting("ErrImagePull", "failed to authorize: 401 Unauthorized")),
            "PullSecretMissing",
            POD,
            "no pull secret",
        ),
        row(
            unhealthy(),
            [
                deployment("web", json!({})),
                pod(
                    json!({"imagePullSecrets": [{"name": "regcred"}]}),
                    waiting("ErrImagePull", "failed to authorize: 401 Unauthorized"),
                ),
                secret("regcred"),
            ],
            "PullSecretRejected",
            POD,
            "refuses the pull secret regcred",
        ),
        row(
            unhealthy(),
            [
                deployment("web", json!({})),
                pod(
                    json!({"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}),
                    unscheduled("0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims."),
                ),
                claim.clone(),
            ],
            "ClaimPending",
            "PersistentVolumeClaim/apps/data",
            "not bound",
        ),
        row(unhealthy(), one(waiting("CrashLoopBackOff", "back-off")), "CrashLoop", POD, "keeps exiting"),
        row(
            unhealthy(),
            one(
                json!({"phase": "Running", "containerStatuses": [{"name": "web", "restartCount": 3, "state": {"running": {}}, "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}]}),
            ),
            "OutOfMemory",
            POD,
            "memory",
        ),
        row(
            unhealthy(),
            one(waiting("CreateContainerConfigError", "secret \"db\" not found")),
            "SecretMissing",
            POD,
            "db",
        ),
        row(
            unhealthy(),
            one(waiting("CreateContainerConfigError", "configmap \"settings\" not found")),
            "ConfigMapMissing",
            POD,
            "settings",
        ),
        row(
            unhealthy(),
            one(waiting("CreateContainerConfigError", "couldn't find key password in Secret apps/db")),
            "ContainerConfigError",
            POD,
            "key",
        ),
        row(
            unhealthy(),
            one(waiting("RunContainerError", "exec: \"/app\": executable file not found in $PATH")),
            "ContainerConfigError",
            POD,
            "command",
        ),
        row(
            unhealthy(),
            one(waiting("CreateContainerConfigError", "container has runAsNonRoot and image will run as root")),
            "ContainerConfigError",
            POD,
            "root",
        ),
        row(unhealthy(), one(unscheduled("0/3 nodes are available: 3 Insufficient cpu.")), "Unschedulable", POD, "CPU"),
        row(
            unhealthy(),
            one(unscheduled("0/3 nodes are available: 3 Insufficient memory.")),
            "Unschedulable",
            POD,
            "memory",
        ),
        row(
            unhealthy(),
            one(unscheduled("0/3 nodes are available: 3 node(s) had untolerated taint {gpu: true}.")),
            "Unschedulable",
            POD,
            "taint",
        ),
        row(
            unhealthy(),
            one(unscheduled("0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector.")),
            "Unschedulable",
            POD,
            "labels",
        ),
        row(
            unhealthy(),
            one(
                json!({"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: ephemeral-storage."}),
            ),
            "Evicted",
            POD,
            "evicted",
        ),
        row(
            unhealthy(),
            reported(
                running(),
                event("Pod", "web-1", "Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 503"),
            ),
            "ProbeFailing",
            POD,
            "readiness",
        ),
        row(
            unhealthy(),
            reported(
                waiting("ContainerCreating", ""),
                event(
                    "Pod",
                    "web-1",
                    "FailedMount",
                    "MountVolume.SetUp failed for volume \"tls\" : secret \"tls\" not found",
                ),
            ),
            "SecretMissing",
            POD,
            "mounts",
        ),
        row(
            unhealthy(),
            reported(
                waiting("ContainerCreating", ""),
                event(
                    "Pod",
                    "web-1",
                    "FailedAttachVolume",
                    "Multi-Attach error for volume \"pvc-1\" Volume is already exclusively attached to one node",
                ),
            ),
            "VolumeUnavailable",
            POD,
            "another node",
        ),
        row(unhealthy(), [deployment("web", json!({})), on_node, node], "NodeNotReady", "Node/n1", "n1"),
        row(
            unhealthy(),
            [failing("pods \"web-1\" is forbidden: exceeded quota: small, requested: pods=1")],
            "QuotaExceeded",
            "ResourceQuota/apps/small",
            "quota",
        ),
        row(
            unhealthy(),
            [failing(
                "pods \"web-1\" is forbidden: error looking up service account apps/web: serviceaccount \"web\" not found",
            )],
            "ServiceAccountMissing",
            WEB,
            "service account",
        ),
        row(unhealthy(), [paused], "RolloutPaused", WEB, "paused"),
        row(
            unhealthy(),
            [with(deployment("web", json!({})), "/spec/replicas", 0.into())],
            "ObjectFailed",
            WEB,
            "scaled to zero",
        ),
        row(unhealthy(), [deployment("other", json!({}))], "ObjectMissing", WEB, "not in the cluster"),
        row(job("BackoffLimitExceeded"), [], "JobFailed", "Job/apps/migrate", "every attempt"),
        row(job("DeadlineExceeded"), [], "JobFailed", "Job/apps/migrate", "deadline"),
        row(balancer, [], "AddressPending", "Service/apps/web", "address"),
        row(
            claim,
            [event(
                "PersistentVolumeClaim",
                "data",
                "ProvisioningFailed",
                "storageclass.storage.k8s.io \"fast\" not found",
            )],
            "ClaimPending",
            "PersistentVolumeClaim/apps/data",
            "not bound",
        ),
        row(
            deployment(
                "web",
                json!({"replicas": 1, "conditions": [{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "ReplicaSet \"web-1\" has timed out progressing."}]}),
            ),
            [],
            "RolloutFailed",
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
    let controllers_pod = |status: Value| {
        let mut pod = pod(json!({}), status);
        pod["metadata"] =
            json!({"name": "kc-1", "namespace": "flux-system", "labels": {"app": "kustomize-controller"}});
        pod
    };
    vec![
        row(ready(), [controller("source-controller", 1, 1, json!([]))], "ControllerMissing", KC, "not installed"),
        row(ready(), [controller("kustomize-controller", 0, 0, json!([]))], "ControllerStopped", KC, "scaled to zero"),
        row(ready(), [controller("kustomize-controller", 1, 0, json!([]))], "ControllerNotReady", KC, "no pod"),
        row(
            ready(),
            [
                controller("kustomize-controller", 1, 0, json!([])),
                controllers_pod(waiting("CrashLoopBackOff", "back-off")),
            ],
            "CrashLoop",
            "Pod/flux-system/kc-1",
            "keeps exiting",
        ),
        row(
            with(
                ks("app", "", "Applied revision: main@sha1:old"),
                "/status/lastAppliedRevision",
                "main@sha1:old".into(),
            ),
            [
                with(
                    git("", "stored artifact"),
                    "/status/artifact",
                    json!({"revision": "main@sha1:new", "lastUpdateTime": "2026-01-01T00:00:00Z", "digest": format!("sha256:{:064}", 1),
                        "path": "gitrepository/apps/app/new.tar.gz", "url": "http://source-controller/new.tar.gz"}),
                ),
                controller("source-controller", 1, 1, json!([])),
                controller("kustomize-controller", 1, 1, json!([])),
                with(
                    controllers_pod(json!({"phase": "Running"})),
                    "/spec/containers",
                    json!([{"name": "manager", "image": "x", "resources": {"limits": {"cpu": "1"}}}]),
                ),
                json!({"apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics",
                    "metadata": {"name": "kc-1", "namespace": "flux-system"}, "timestamp": "2026-01-01T00:00:00Z", "window": "30s",
                    "containers": [{"name": "manager", "usage": {"cpu": "998123456n", "memory": "100Mi"}}]}),
            ],
            "ControllerThrottled",
            KC,
            "CPU",
        ),
        row(
            ready(),
            [
                controller("kustomize-controller", 1, 0, json!([])),
                controllers_pod(unscheduled("0/3 nodes are available: 3 Insufficient memory.")),
            ],
            "Unschedulable",
            "Pod/flux-system/kc-1",
            "memory",
        ),
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
            "ShardUnserved",
            KS,
            "shard s9",
        ),
        row(
            ready(),
            [controller("kustomize-controller", 1, 1, json!(["--watch-all-namespaces=false"]))],
            "ShardUnserved",
            KS,
            "own namespace",
        ),
        row(
            with(ready(), "/status", json!({})),
            [
                git("", "stored artifact"),
                controller("source-controller", 1, 1, json!([])),
                controller("kustomize-controller", 1, 1, json!([])),
            ],
            "InProgress",
            KS,
            "in progress",
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
            "CredentialsRejected",
            "ImageRepository/apps/web",
            "credentials",
        ),
        row(
            image(
                "Failed",
                "cannot determine latest tag for policy: unable to determine latest version from provided list",
            ),
            [],
            "ImagePolicyUnmatched",
            "ImagePolicy/apps/web",
            "no tag",
        ),
        row(
            automation("failed to push to remote: command error on refs/heads/main: protected branch hook declined"),
            [],
            "PushRejected",
            "ImageUpdateAutomation/apps/web",
            "rejects the push",
        ),
        row(receiver, [], "SecretMissing", "Receiver/apps/hook", "token"),
    ]
}

/// A FluxInstance in `apps` that reports `Ready` with this reason and message.
fn instance(reason: &str, message: &str) -> Value {
    let spec = json!({"distribution": {"version": "2.x", "registry": "ghcr.io/fluxcd"}});
    reporting("fluxcd.controlplane.io/v1", "FluxInstance", "flux", spec, reason, message)
}

fn instance_rows() -> Vec<Row> {
    const FLUX: &str = "FluxInstance/apps/flux";
    let built = |text: &str| instance("BuildFailed", text);
    vec![
        row(
            built("build failed: no match found for semver: 2.99.x"),
            [],
            "BadVersionRange",
            FLUX,
            "matches the version range",
        ),
        row(built("build failed: error in remove for path: '/x'"), [], "PatchFailed", FLUX, "patch"),
        row(built("no components defined"), [], "BuildFailed", FLUX, "cannot be built"),
        row(
            with(instance("", "done"), "/status", json!({})),
            [deployment("other", json!({}))],
            "OperatorAbsent",
            FLUX,
            "no operator is running",
        ),
        row(
            with(instance("", "done"), "/status", json!({})),
            [with(
                with(instance("", "done"), "/metadata/namespace", "flux-system".into()),
                "/status/lastAppliedRevision",
                "v2.9.4@sha256:1".into(),
            )],
            "SecondInstance",
            FLUX,
            "was first",
        ),
        row(
            with(
                instance("", "done"),
                "/metadata/annotations",
                json!({"fluxcd.controlplane.io/reconcile": "disabled"}),
            ),
            [],
            "Suspended",
            FLUX,
            "suspended",
        ),
        row(
            instance("ReconciliationFailed", "something nobody has seen before"),
            [],
            "ReconciliationFailed",
            FLUX,
            "last reconciliation failed",
        ),
    ]
}

pub fn rows() -> Vec<Row> {
    [
        instance_rows(),
        source_rows(),
        kustomization_rows(),
        release_rows(),
        resource_set_rows(),
        workload_rows(),
        controller_rows(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
