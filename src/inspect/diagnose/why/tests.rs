//! A small cluster per cause.

use serde_json::{Value, json};

use super::*;
use crate::api::kinds;
use crate::inspect::read::snapshot::Need;

const NOW: &str = "2026-01-01T01:00:00Z";

/// A FluxInstance whose Ready condition is as given.
fn instance(status: &str, reason: &str, message: &str) -> Value {
    json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
        "metadata": {"name": "flux", "namespace": "fs", "generation": 1},
        "spec": {"distribution": {"version": "2.x", "registry": "ghcr.io/fluxcd"}},
        "status": {"conditions": [{"type": "Ready", "status": status, "reason": reason, "message": message,
            "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}})
}

fn unhealthy() -> Value {
    instance("False", "HealthCheckFailed", "timeout waiting for: [Deployment/fs/source-controller]")
}

fn deployment(status: Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "source-controller", "namespace": "fs", "uid": "d1",
            "labels": {"app.kubernetes.io/part-of": "flux"}},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "sc"}},
            "template": {"spec": {"containers": [{"name": "manager", "resources": {"limits": {"memory": "1Gi"}}}]}}},
        "status": status})
}

fn pod(spec: Value, status: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "sc-1", "namespace": "fs", "labels": {"app": "sc"}},
        "spec": spec, "status": status})
}

fn event(kind: &str, name: &str, reason: &str, message: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": format!("{name}.{reason}"), "namespace": "fs"},
        "involvedObject": {"kind": kind, "name": name, "namespace": "fs"}, "type": "Warning", "reason": reason,
        "message": message, "lastTimestamp": "2026-01-01T00:30:00Z"})
}

fn secret(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "fs"}})
}

fn explain(instance: Value, objects: impl IntoIterator<Item = Value>) -> Why {
    let snapshot = Snapshot::of_dump(objects);
    why(&snapshot, &instance, NOW.parse().unwrap())
}

#[track_caller]
fn cause(instance: Value, objects: impl IntoIterator<Item = Value>) -> Cause {
    let cause = explain(instance, objects).cause.expect("a cause");
    assert!(!cause.evidence.is_empty(), "no evidence: {cause:?}");
    assert!(!cause.next.is_empty(), "no next command: {cause:?}");
    cause
}

fn waiting(reason: &str, message: &str) -> Value {
    json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "True"}],
        "containerStatuses": [{"name": "manager", "image": "ghcr.io/fluxcd/source-controller:v1",
            "state": {"waiting": {"reason": reason, "message": message}}}]})
}

#[test]
fn a_ready_instance_has_no_cause() {
    let ready = explain(instance("True", "ReconciliationSucceeded", "done"), []);
    assert!(ready.ready);
    assert_eq!(ready.cause, None);
    assert_eq!(ready.walk.len(), 1);
}

#[test]
fn a_suspended_instance_gets_the_advice_to_resume() {
    let mut object = instance("True", "ReconciliationSucceeded", "done");
    object["metadata"]["annotations"] = json!({"fluxcd.controlplane.io/reconcile": "disabled"});
    let cause = cause(object, [deployment(json!({}))]);
    assert_eq!(cause.reason, Reason::Suspended);
    let resume = |in_process| NextStep::Resume { object: cause.object.clone(), in_process };
    assert_eq!(cause.next, [resume(true)], "no operator is running to do it");
}

#[test]
fn an_image_that_cannot_be_pulled_names_the_image() {
    let objects = [
        deployment(json!({})),
        pod(json!({}), waiting("ImagePullBackOff", "Back-off pulling image")),
        event("Pod", "sc-1", "Failed", "Failed to pull image: manifest unknown"),
    ];
    let cause = cause(unhealthy(), objects);
    assert_eq!(cause.reason, Reason::ImagePullFailed);
    assert_eq!(cause.object.to_string(), "Pod/fs/sc-1");
    assert!(cause.summary.contains("ghcr.io/fluxcd/source-controller:v1"));
    assert_eq!(cause.evidence[0].text, "Failed to pull image: manifest unknown");
}

#[test]
fn a_missing_pull_secret_is_distinguished_from_a_rejected_one() {
    let spec = json!({"imagePullSecrets": [{"name": "regcred"}]});
    let failing = |event_text: &str| {
        [
            deployment(json!({})),
            pod(spec.clone(), waiting("ErrImagePull", "pull access denied")),
            event("Pod", "sc-1", "Failed", event_text),
        ]
    };
    let missing = cause(unhealthy(), failing("401 Unauthorized").into_iter().chain([secret("other")]));
    assert_eq!(missing.reason, Reason::PullSecretMissing);
    let registry = SecretKind::Registry { host: Some("ghcr.io".into()) };
    let create = NextStep::CreateSecret { namespace: "fs".into(), name: "regcred".into(), secret: registry };
    assert_eq!(missing.next, [create]);
    let rejected = cause(unhealthy(), failing("401 Unauthorized").into_iter().chain([secret("regcred")]));
    assert_eq!(rejected.reason, Reason::PullSecretRejected);
    let unset =
        cause(unhealthy(), [deployment(json!({})), pod(json!({}), waiting("ErrImagePull", "401 Unauthorized"))]);
    assert_eq!(unset.reason, Reason::PullSecretMissing);
    assert!(unset.summary.contains("no pull secret is set"));
    let mut of_docker_hub = pod(json!({}), waiting("ErrImagePull", "401 Unauthorized"));
    of_docker_hub["status"]["containerStatuses"][0]["image"] = json!("nginx:1");
    let unset = cause(unhealthy(), [deployment(json!({})), of_docker_hub]);
    let next = format!("{:?}", unset.next);
    assert!(next.contains(r#"host: Some("https://index.docker.io/v1/")"#), "{next}");
}

#[test]
fn a_missing_secret_is_created_with_the_kind_that_its_field_needs() {
    let source = |kind: &str, spec: Value, says: &str| {
        json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": kind,
            "metadata": {"name": "app", "namespace": "fs", "generation": 1}, "spec": spec, "status": {"observedGeneration": 1,
                "conditions": [{"type": "Ready", "status": "False", "reason": "AuthenticationFailed", "message": says,
                    "observedGeneration": 1, "lastTransitionTime": NOW}]}})
    };
    let all = |url: &str| {
        json!({"url": url, "secretRef": {"name": "creds"}, "certSecretRef": {"name": "ca"},
            "proxySecretRef": {"name": "proxy"}, "verify": {"secretRef": {"name": "keys"}}})
    };
    let github = json!({"url": "https://github.com/a/b", "provider": "github", "secretRef": {"name": "creds"}});
    let named = |name: &str| format!("failed to get secret 'fs/{name}': secrets \"{name}\" not found");
    let host = |host: &str| SecretKind::Registry { host: Some(host.into()) };
    let cases = [
        ("GitRepository", all("https://example.com/a"), "creds", SecretKind::BasicAuth),
        ("GitRepository", all("ssh://git@example.com/a"), "creds", SecretKind::Ssh),
        ("GitRepository", github, "creds", SecretKind::GithubApp),
        ("HelmRepository", all("oci://example.com/charts"), "creds", host("example.com")),
        ("HelmRepository", all("https://example.com/charts"), "ca", SecretKind::Tls),
        ("OCIRepository", all("oci://example.com/a"), "creds", host("example.com")),
        ("OCIRepository", all("oci://example.com/a"), "ca", SecretKind::Tls),
        ("GitRepository", all("https://example.com/a"), "proxy", SecretKind::Proxy),
        ("GitRepository", all("https://example.com/a"), "keys", SecretKind::Signers),
        ("Bucket", json!({"endpoint": "s3.example.com", "secretRef": {"name": "creds"}}), "creds", SecretKind::Bucket),
    ];
    for (kind, spec, name, kind_of_secret) in cases {
        let create = NextStep::CreateSecret { namespace: "fs".into(), name: name.into(), secret: kind_of_secret };
        let others = ["creds", "ca", "proxy", "keys"].into_iter().filter(|other| *other != name).map(secret);
        let object = source(kind, spec.clone(), &named(name));
        let snapshot = Snapshot::of_dump(others.clone().chain([object.clone()]));
        let cause = why(&snapshot, &object, NOW.parse().unwrap()).cause.expect("a cause");
        assert_eq!((cause.reason, &cause.next[0]), (Reason::SecretMissing, &create), "{kind} {name}");
        // The text does not always say which.
        let object = source(kind, spec, "authentication required: 401 Unauthorized");
        let snapshot = Snapshot::of_dump(others.chain([object.clone()]));
        let cause = why(&snapshot, &object, NOW.parse().unwrap()).cause.expect("a cause");
        assert_eq!((cause.reason, &cause.next[0]), (Reason::SecretMissing, &create), "{kind} {name}");
    }
}

#[test]
fn a_crash_loop_shows_exit_code_and_last_log_line() {
    let status = json!({"phase": "Running", "containerStatuses": [{"name": "manager", "restartCount": 5,
        "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": {"exitCode": 1, "reason": "Error"}}}]});
    let mut snapshot = Snapshot::of_dump([deployment(json!({})), pod(json!({}), status)]);
    snapshot.insert_log(
        "fs",
        "sc-1",
        "manager",
        false,
        vec!["starting".into(), "panic: no config".into(), String::new()],
    );
    let why = why(&snapshot, &unhealthy(), NOW.parse().unwrap());
    let cause = why.cause.unwrap();
    assert_eq!(cause.reason, Reason::CrashLoop);
    let texts: Vec<_> = cause.evidence.iter().map(|e| (e.from.as_str(), e.text.as_str())).collect();
    assert!(texts.contains(&("last log line", "panic: no config")), "{texts:?}");
    assert!(texts.contains(&("status", "last run ended with exit code 1 (Error)")), "{texts:?}");
    assert!(matches!(&cause.next[0], NextStep::ShowLog { container: Some(name), .. } if name == "manager"));
}

#[test]
fn memory_kills_are_distinguished_from_other_crashes() {
    let status = json!({"phase": "Running", "containerStatuses": [{"name": "manager", "restartCount": 2, "state": {"running": {}},
        "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}]});
    let cause = cause(unhealthy(), [deployment(json!({})), pod(json!({}), status)]);
    assert_eq!(cause.reason, Reason::OutOfMemory);
    assert!(cause.evidence.iter().any(|e| e.text == "memory limit: 1Gi"));
}

#[test]
fn pods_that_were_refused_are_explained_by_the_deployment_or_its_sets() {
    let failure = |text: &str| {
        deployment(
            json!({"conditions": [{"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": text}]}),
        )
    };
    let quota = cause(
        unhealthy(),
        [failure("pods \"x\" is forbidden: exceeded quota: small, requested: pods=1, used: pods=0")],
    );
    assert_eq!(quota.reason, Reason::QuotaExceeded);
    assert_eq!(quota.next, [NextStep::Describe(ObjectId::new("", "ResourceQuota", Some("fs"), "small"))]);
    let webhook = cause(unhealthy(), [failure("admission webhook \"no.example.com\" denied the request: no")]);
    assert_eq!(webhook.reason, Reason::WebhookRefused);
    let policy = cause(
        unhealthy(),
        [failure("pods \"x\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no")],
    );
    assert_eq!(policy.reason, Reason::PolicyRefused);
    let set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "sc-abc", "namespace": "fs",
        "ownerReferences": [{"uid": "d1"}]}, "spec": {"replicas": 1}});
    let by_event =
        [deployment(json!({})), set, event("ReplicaSet", "sc-abc", "FailedCreate", "exceeded quota: small, x")];
    assert_eq!(cause(unhealthy(), by_event).reason, Reason::QuotaExceeded);
}

#[test]
fn an_unschedulable_pod_is_distinguished_from_one_that_waits_for_a_claim() {
    let status = |text: &str| json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": text}]});
    let no_node = cause(
        unhealthy(),
        [deployment(json!({})), pod(json!({}), status("0/1 nodes are available: 1 Insufficient cpu."))],
    );
    assert_eq!(no_node.reason, Reason::Unschedulable);
    let spec = json!({"volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]});
    let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "fs"},
        "spec": {"storageClassName": "nope"}, "status": {"phase": "Pending"}});
    let objects = [
        deployment(json!({})),
        pod(spec, status("pod has unbound immediate PersistentVolumeClaims")),
        claim,
        event("PersistentVolumeClaim", "data", "ProvisioningFailed", "storageclass.storage.k8s.io \"nope\" not found"),
    ];
    let pending = cause(unhealthy(), objects);
    assert_eq!(pending.reason, Reason::ClaimPending);
    assert!(pending.evidence.iter().any(|e| e.text.contains("\"nope\" not found")));
}

#[test]
fn refusals_of_the_apply_itself_are_read_from_the_instance() {
    let text = "reconciliation failed: Deployment/fs/a dry-run failed: admission webhook \"w\" denied the request: no";
    assert_eq!(cause(instance("False", "ReconciliationFailed", text), []).reason, Reason::WebhookRefused);
}

#[test]
fn ranges_and_patches_are_build_failures() {
    let range = cause(instance("False", "BuildFailed", "build failed: no match found for semver: 9.x"), []);
    assert_eq!(range.reason, Reason::BadVersionRange);
    assert!(range.evidence.iter().any(|e| e.text == "distribution.version: 2.x"));
    let patch = cause(instance("False", "BuildFailed", "build failed: error in remove for path: '/x'"), []);
    assert_eq!(patch.reason, Reason::PatchFailed);
}

#[test]
fn a_resource_set_without_an_operator_is_reconciled_from_here() {
    let set = json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "ResourceSet",
        "metadata": {"name": "apps", "namespace": "fs", "generation": 1}});
    let other =
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x", "namespace": "default"}});
    let cause = cause(set.clone(), [other]);
    assert_eq!(cause.reason, Reason::OperatorAbsent);
    let step = NextStep::Reconcile { object: ObjectId::of(&set), in_process: true, force: false };
    assert_eq!(cause.next, [step]);
}

/// A ResourceSet or a provider with a Ready condition.
fn set_object(kind: &str, ready: (&str, &str, &str), spec: Value) -> Value {
    json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": kind,
        "metadata": {"name": "a", "namespace": "fs", "generation": 1}, "spec": spec,
        "status": {"conditions": [{"type": "Ready", "status": ready.0, "reason": ready.1, "message": ready.2,
            "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}})
}

#[test]
fn a_set_that_waits_for_a_schedule_is_helped_by_a_forced_export() {
    let skipped = "Reconciliation skipped, next scheduled at 2027-01-01T02:00:00Z";
    let provider = set_object("ResourceSetInputProvider", ("True", "SkippedDueToSchedule", skipped), json!({}));
    let text = "Retrying dependency check: ResourceSetInputProvider/fs/a has not exported inputs yet";
    let set = set_object("ResourceSet", ("False", "DependencyNotReady", text), json!({"inputsFrom": [{"name": "a"}]}));
    let cause = cause(set, [provider.clone()]);
    assert_eq!((cause.reason, &cause.object), (Reason::InProgress, &ObjectId::of(&provider)));
    assert_eq!(cause.summary, "ResourceSetInputProvider a has not exported inputs yet");
    assert_eq!(cause.evidence[0].text, skipped);
    let step = NextStep::Reconcile { object: ObjectId::of(&provider), in_process: false, force: true };
    assert_eq!(cause.next, [step]);
}

#[test]
fn an_expression_that_is_not_true_leads_to_the_object_that_it_is_about() {
    let gate = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "gate", "namespace": "fs"},
        "data": {"x": "0"}});
    let depends = json!({"dependsOn": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "gate", "namespace": "fs",
        "ready": true, "readyExpr": "data.x == '1'"}]});
    let text = "Retrying dependency check: dependency v1/ConfigMap/fs/gate not ready: expression 'data.x == '1''";
    let cause = cause(set_object("ResourceSet", ("False", "DependencyNotReady", text), depends), [gate.clone()]);
    assert_eq!(cause.reason, Reason::DependencyNotReady);
    assert_eq!(cause.next, [NextStep::Describe(ObjectId::of(&gate))]);
}

#[test]
fn an_instance_that_is_not_reconciled_lacks_an_operator() {
    let mut object = instance("True", "ReconciliationSucceeded", "done");
    object["metadata"]["generation"] = 2.into();
    let other =
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x", "namespace": "default"}});
    assert_eq!(cause(object.clone(), [other.clone()]).reason, Reason::OperatorAbsent);
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "flux-operator", "namespace": "fs"},
        "spec": {"holderIdentity": "a", "leaseDurationSeconds": 35, "renewTime": "2026-01-01T00:59:50.000000Z"}});
    assert_eq!(cause(object.clone(), [other.clone(), lease.clone()]).reason, Reason::InProgress);
    let mut stale = lease;
    stale["spec"]["renewTime"] = "2026-01-01T00:00:00.000000Z".into();
    assert_eq!(cause(object, [other, stale]).reason, Reason::OperatorAbsent);
}

#[test]
fn a_finalizer_that_is_not_removed_is_stuck() {
    let mut object = instance("True", "ReconciliationSucceeded", "done");
    object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    object["metadata"]["finalizers"] = json!(["fluxcd.controlplane.io/finalizer"]);
    let stuck = cause(object, [deployment(json!({}))]);
    assert_eq!(stuck.reason, Reason::StuckFinalizer);
    assert!(stuck.summary.contains("fluxcd.controlplane.io/finalizer"));
}

fn synced(url: &str, secret_name: Option<&str>, reason: &str, message: &str) -> Vec<Value> {
    let mut source = json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": {"name": "fs", "namespace": "fs"},
        "spec": {"url": url}, "status": {"conditions": [{"type": "Ready", "status": "False", "reason": reason, "message": message}]}});
    if let Some(name) = secret_name {
        source["spec"]["secretRef"] = json!({"name": name});
    }
    let kustomization = json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": "fs", "namespace": "fs"},
        "spec": {"path": "./a", "sourceRef": {"kind": "GitRepository", "name": "fs"}},
        "status": {"conditions": [{"type": "Ready", "status": "False", "reason": "ArtifactFailed", "message": "Source artifact not found"}]}});
    vec![source, kustomization]
}

fn with_sync() -> Value {
    let mut object = instance("True", "ReconciliationSucceeded", "done");
    object["spec"]["sync"] = json!({"kind": "GitRepository", "url": "x", "ref": "main", "path": "./a"});
    object
}

#[test]
fn sources_distinguish_host_key_credentials_and_secret() {
    let clone = |text: &str| format!("failed to checkout and determine revision: unable to clone 'x': {text}");
    let cases = [
        (
            Some("creds"),
            "GitOperationFailed",
            clone("ssh: handshake failed: knownhosts: key mismatch"),
            Reason::HostKeyWrong,
        ),
        (Some("creds"), "GitOperationFailed", clone("authentication required: no"), Reason::CredentialsRejected),
        (
            None,
            "GitOperationFailed",
            clone("dial tcp 127.0.0.1:1: connect: connection refused"),
            Reason::HostUnreachable,
        ),
        (
            Some("absent"),
            "AuthenticationFailed",
            "failed to get secret 'fs/absent': secrets \"absent\" not found".into(),
            Reason::SecretMissing,
        ),
    ];
    for (secret_name, reason, message, expected) in cases {
        let objects = synced("ssh://git@example.com/a", secret_name, reason, &message);
        let cause = cause(with_sync(), objects.into_iter().chain([secret("creds")]));
        assert_eq!(cause.reason, expected, "{message}");
        assert_eq!(cause.object.to_string(), "GitRepository/fs/fs");
    }
}

#[test]
fn a_failing_kustomization_is_the_cause_when_its_source_is_fine() {
    let mut objects = synced("https://x", None, "", "");
    objects[0]["status"]["conditions"][0]["status"] = "True".into();
    objects[1]["status"]["conditions"][0]["message"] = "kustomization path not found: stat /tmp/x: no such file".into();
    let cause = cause(with_sync(), objects);
    assert_eq!(cause.reason, Reason::KustomizationFailed);
    assert_eq!(cause.summary, "the path does not exist in the source");
}

#[test]
fn nothing_beyond_the_cause_is_read_from_a_cluster() {
    let mut object = instance("True", "ReconciliationSucceeded", "done");
    object["metadata"]["annotations"] = json!({"fluxcd.controlplane.io/reconcile": "disabled"});
    let snapshot = Snapshot::of_cluster();
    why(&snapshot, &object, NOW.parse().unwrap());
    let asked: Vec<_> = snapshot.take_needs();
    // The operator decides where the instance is resumed.
    let is_of_operator = |need: &Need| format!("{need:?}").contains("flux-operator");
    let is_place = |need: &Need| matches!(need, Need::Get { resource, .. } if *resource == kinds::NAMESPACE);
    assert!(asked.iter().all(|need| is_place(need) || is_of_operator(need)), "{asked:?}");
}

#[test]
fn a_missing_controller_is_a_cause_although_the_instance_reports_ready() {
    let mut object = instance("True", "ReconciliationSucceeded", "done");
    object["status"]["components"] = json!([{"name": "source-controller"}, {"name": "helm-controller"}]);
    let healthy = json!({"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1,
        "conditions": [{"type": "Available", "status": "True"}]});
    let cause = cause(object, [deployment(healthy)]);
    assert_eq!(
        (cause.reason, cause.object.to_string().as_str()),
        (Reason::ObjectMissing, "Deployment/fs/helm-controller")
    );
    assert_eq!(cause.summary, "Deployment helm-controller is missing");
    // No operator is there to bring it back.
    assert!(matches!(cause.next[..], [NextStep::Reconcile { in_process: true, .. }]), "{:?}", cause.next);
}

#[test]
fn a_missing_applied_object_is_a_cause_if_its_kind_can_be_read() {
    let mut object = instance("True", "ReconciliationSucceeded", "done");
    object["status"]["inventory"] = json!({"entries": [
        {"id": "fs_source-controller__Service", "v": "v1"}, {"id": "fs_a_networking.k8s.io_NetworkPolicy", "v": "v1"}]});
    let other = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x", "namespace": "fs"}});
    let gone = cause(object.clone(), [other]);
    assert_eq!(
        (gone.reason, gone.object.to_string().as_str()),
        (Reason::ObjectMissing, "Service/fs/source-controller")
    );
    assert!(explain(object, []).ready, "a dump without the kinds says nothing of them");
}

#[test]
fn suspension_is_named_as_its_kind_spells_it() {
    let suspended = |kind: &str, group: &str, annotation: &str| {
        json!({"apiVersion": format!("{group}/v1beta1"), "kind": kind, "metadata": {"name": "a", "namespace": "fs",
            "annotations": {annotation: "disabled"}}, "spec": {"suspend": true}})
    };
    for (kind, group, annotation, evidence) in [
        ("GitRepository", "source.toolkit.fluxcd.io", "x", "spec.suspend is true"),
        (
            "ResourceSet",
            "fluxcd.controlplane.io",
            "fluxcd.controlplane.io/reconcile",
            "annotation fluxcd.controlplane.io/reconcile is disabled",
        ),
        (
            "ArtifactGenerator",
            "source.extensions.fluxcd.io",
            "source.extensions.fluxcd.io/reconcile",
            "annotation source.extensions.fluxcd.io/reconcile is disabled",
        ),
    ] {
        let found = cause(suspended(kind, group, annotation), []);
        assert_eq!(found.reason, Reason::Suspended, "{kind}");
        assert_eq!(found.evidence[0].text, evidence, "{kind}");
    }
}

#[test]
fn an_operator_that_stopped_renewing_or_was_scaled_down_is_the_cause_of_an_unanswered_request() {
    let mut object = instance("True", "ReconciliationSucceeded", "done");
    object["metadata"]["annotations"] = json!({"reconcile.fluxcd.io/requestedAt": "2026-01-01T00:50:00Z"});
    let operator = |replicas: i64| {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "flux-operator", "namespace": "fs",
                "labels": {"app.kubernetes.io/name": "flux-operator"}},
            "spec": {"replicas": replicas}, "status": {"readyReplicas": replicas}})
    };
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "flux-operator", "namespace": "fs"},
        "spec": {"holderIdentity": "pod-abc_1234", "leaseDurationSeconds": 15, "renewTime": "2025-12-31T23:35:00.000000Z"}});
    let silent = cause(object.clone(), [operator(1), lease.clone()]);
    assert_eq!(silent.reason, Reason::OperatorAbsent);
    assert!(silent.summary.contains("no longer renews its lease"), "{}", silent.summary);
    assert!(matches!(silent.next[0], NextStep::Restart(_)));
    let scaled = cause(object, [operator(0), lease]);
    assert!(matches!(scaled.next[0], NextStep::Scale { replicas: 1, .. }), "{:?}", scaled.next);
}

#[test]
fn the_step_for_a_stuck_finalizer_without_an_operator_is_an_uninstallation() {
    let mut object = instance("True", "ReconciliationSucceeded", "done");
    object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    object["metadata"]["finalizers"] = json!(["fluxcd.controlplane.io/finalizer"]);
    let stuck = cause(object, [deployment(json!({}))]);
    assert_eq!(stuck.next, [NextStep::Uninstall(stuck.object.clone())]);
}

#[test]
fn a_source_that_reported_nothing_is_not_fine_and_its_missing_secret_is_named() {
    let mut objects = synced("https://x", Some("absent"), "", "");
    objects[0]["status"] = json!({});
    let why = explain(with_sync(), objects.into_iter().chain([secret("other")]));
    assert_eq!(why.walk.iter().find(|step| step.object.kind == "GitRepository").unwrap().ok, None);
    assert_eq!(why.cause.unwrap().reason, Reason::SecretMissing);
}

#[test]
fn objects_that_an_instance_could_not_apply_have_its_cause() {
    let mut flux = instance(
        "False",
        "ReconciliationFailed",
        "reconciliation failed: Deployment/fs/helm-controller apply failed (Invalid): deployments.apps is forbidden: \
         ValidatingAdmissionPolicy 'no-flux' with binding 'no-flux' denied request: not here; the same for \
         Deployment/fs/kustomize-controller",
    );
    let controllers = ["helm-controller", "kustomize-controller"];
    flux["status"]["components"] = json!(controllers.map(|name| json!({"name": name})));
    flux["status"]["inventory"] =
        json!({"entries": controllers.map(|name| json!({"id": format!("fs_{name}_apps_Deployment"), "v": "v1"}))});
    let kustomization = json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
        "metadata": {"name": "apps", "namespace": "apps", "generation": 1}, "spec": {}});
    let place = |name: &str| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let policy = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "no-flux"}});
    let web = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "web"}});
    let snapshot = Snapshot::of_dump([flux, kustomization, place("fs"), place("apps"), policy, web]);
    let all = overview(&snapshot, None, NOW.parse().unwrap());
    let reported: Vec<_> = all.causes.iter().map(|group| (group.cause.reason, group.affected.len())).collect();
    assert_eq!(reported, [(Reason::PolicyRefused, 4)], "{:#?}", all.causes);
}
