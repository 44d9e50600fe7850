//! `why instance`: every cause produced for real, and told the same from a dump.

use std::process::Stdio;

use kube::api::{Api, DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::cluster_tests;
use crate::inspect::world::{Run, evidence, explained, explained_with, install, instance, run, unbuildable};
use crate::support::kubelet::PullFailure;
use crate::support::runner::ClusterTest;
use crate::support::{Behaviour, ClaimBehaviour, Fault, FaultRule, PodRule, TestCluster, objects, wait_for_quota};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        a_ready_instance_has_no_cause,
        an_image_that_does_not_exist,
        a_registry_that_wants_credentials_that_are_not_set,
        a_pull_secret_that_does_not_exist,
        a_pull_secret_the_registry_refuses,
        a_crash_loop_with_its_last_log_line,
        a_log_that_cannot_be_read_holds_nothing_up,
        a_container_that_uses_too_much_memory,
        a_quota_that_is_used_up,
        a_claim_without_storage,
        a_pod_no_node_can_take,
        a_webhook_that_cannot_be_reached,
        an_admission_policy_that_refuses,
        a_version_range_nothing_fits,
        a_patch_that_cannot_be_applied,
        a_suspended_instance,
        a_finalizer_that_is_not_removed,
        an_operator_that_is_absent,
        a_source_reports_what_is_wrong_at_the_other_end,
    ]
}

async fn installed(cluster: &TestCluster, spec: Value) {
    install(cluster, &instance(cluster, spec)).await.exits(0);
}

fn rule(cluster: &TestCluster, behaviour: Behaviour) -> PodRule {
    PodRule::new(cluster.namespace(), behaviour)
}

async fn a_ready_instance_has_no_cause(cluster: TestCluster) {
    installed(&cluster, json!({"wait": true})).await;
    let answer = run(&cluster, &["why", "instance"]).await.exits(0);
    answer.stdout_has("is ready").stdout_has("Deployment is available");
}

async fn an_image_that_does_not_exist(cluster: TestCluster) {
    cluster.kubelet().add_rule(rule(&cluster, Behaviour::ImageCannotBePulled(PullFailure::NotFound)));
    installed(&cluster, json!({})).await;
    let cause = explained(&cluster, "ImagePullFailed").await;
    assert_eq!(cause["object"]["kind"], "Pod");
    assert!(cause["summary"].as_str().unwrap().contains("ghcr.io/fluxcd/source-controller"), "{cause:#}");
}

async fn a_registry_that_wants_credentials_that_are_not_set(cluster: TestCluster) {
    cluster.kubelet().add_rule(rule(&cluster, Behaviour::ImageCannotBePulled(PullFailure::Denied)));
    installed(&cluster, json!({})).await;
    let cause = explained(&cluster, "PullSecretMissing").await;
    assert!(cause["summary"].as_str().unwrap().contains("no pull secret is set"), "{cause:#}");
}

async fn a_pull_secret_that_does_not_exist(cluster: TestCluster) {
    cluster.kubelet().add_rule(rule(&cluster, Behaviour::ImageCannotBePulled(PullFailure::Denied)));
    // A dump that holds other Secrets says that this one is not there.
    cluster.apply(&[secret("other")]).await;
    let registry = json!({"version": "2.9.x", "registry": "ghcr.io/fluxcd", "imagePullSecret": "regcred"});
    installed(&cluster, json!({"distribution": registry})).await;
    let cause = explained(&cluster, "PullSecretMissing").await;
    let next = cause["next"][0].as_str().unwrap();
    assert!(next.starts_with("flux-operator create secret registry regcred"), "{next}");
}

async fn a_pull_secret_the_registry_refuses(cluster: TestCluster) {
    cluster.kubelet().add_rule(rule(&cluster, Behaviour::ImageCannotBePulled(PullFailure::Denied)));
    cluster.apply(&[secret("regcred")]).await;
    let registry = json!({"version": "2.9.x", "registry": "ghcr.io/fluxcd", "imagePullSecret": "regcred"});
    installed(&cluster, json!({"distribution": registry})).await;
    explained(&cluster, "PullSecretRejected").await;
}

fn secret(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": {"password": "canary-7d1f"}})
}

async fn a_crash_loop_with_its_last_log_line(cluster: TestCluster) {
    let log = "starting manager\npanic: no storage path\n";
    cluster.kubelet().add_rule(rule(&cluster, Behaviour::CrashLoop { exit_code: 2, restarts: 4 }).log(log));
    installed(&cluster, json!({})).await;
    let cause = explained(&cluster, "CrashLoop").await;
    let evidence = evidence(&cause);
    assert!(evidence.contains("panic: no storage path"), "{evidence}");
    assert!(evidence.contains("exit code 2"), "{evidence}");
}

async fn a_log_that_cannot_be_read_holds_nothing_up(cluster: TestCluster) {
    cluster.kubelet().add_rule(rule(&cluster, Behaviour::CrashLoop { exit_code: 2, restarts: 4 }).log("panic\n"));
    installed(&cluster, json!({})).await;
    explained(&cluster, "CrashLoop").await;
    for fault in [Fault::internal_error(), Fault::unavailable()] {
        let proxy = cluster.proxy().await;
        let is_log = |uri: &str| uri.contains("/log?");
        proxy.add_rule(FaultRule::every(fault).uri(is_log));
        let mut why = cluster.command();
        why.args(["why", "instance"]).env("KUBECONFIG", proxy.kubeconfig().path()).stdin(Stdio::null());
        let output = tokio::task::spawn_blocking(move || why.output()).await.expect("joined").expect("it runs");
        let run = Run::from(output).exits(7).stdout_has("(CrashLoop)").stdout_has("last log line: could not be read: ");
        assert_eq!(run.stderr, "");
        // The logs of the previous and of the current run of the container, each requested once.
        let asked: Vec<_> = proxy.requests().into_iter().map(|seen| seen.uri).filter(|uri| is_log(uri)).collect();
        assert_eq!(asked.len(), 2, "{asked:?}");
        assert_ne!(asked[0], asked[1]);
    }
}

async fn a_container_that_uses_too_much_memory(cluster: TestCluster) {
    cluster.kubelet().add_rule(rule(&cluster, Behaviour::OutOfMemory { restarts: 2 }));
    installed(&cluster, json!({})).await;
    let cause = explained(&cluster, "OutOfMemory").await;
    assert!(evidence(&cause).contains("memory limit: 1Gi"), "{cause:#}");
}

async fn a_quota_that_is_used_up(cluster: TestCluster) {
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "small"}, "spec": {"hard": {"pods": "0"}}});
    cluster.apply(&[quota]).await;
    wait_for_quota(&cluster.client(), cluster.namespace(), "small").await.unwrap();
    installed(&cluster, json!({})).await;
    let cause = explained(&cluster, "QuotaExceeded").await;
    assert!(evidence(&cause).contains("exceeded quota: small"), "{cause:#}");
    assert!(cause["next"][0].as_str().unwrap().ends_with("describe resourcequota/small"), "{cause:#}");
}

async fn a_claim_without_storage(cluster: TestCluster) {
    cluster.kubelet().set_claims(cluster.namespace(), "source-controller", ClaimBehaviour::Unbound);
    installed(&cluster, json!({"storage": {"class": "no-such-class", "size": "1Gi"}})).await;
    let cause = explained(&cluster, "ClaimPending").await;
    assert_eq!(cause["object"]["kind"], "PersistentVolumeClaim");
    assert!(cause["summary"].as_str().unwrap().contains("no-such-class"), "{cause:#}");
}

async fn a_pod_no_node_can_take(cluster: TestCluster) {
    let patch = "- op: replace\n  path: /spec/template/spec/nodeSelector\n  value: {kubernetes.io/os: plan9}\n";
    let patches = json!([{"patch": patch, "target": {"kind": "Deployment", "name": "source-controller"}}]);
    installed(&cluster, json!({"kustomize": {"patches": patches}})).await;
    let cause = explained(&cluster, "Unschedulable").await;
    assert!(evidence(&cause).contains("nodes are available"), "{cause:#}");
}

/// Admission that concerns the test's namespace alone.
fn only(namespace: &str) -> Value {
    json!({"matchLabels": {"kubernetes.io/metadata.name": namespace}})
}

async fn a_webhook_that_cannot_be_reached(cluster: TestCluster) {
    let namespace = cluster.namespace();
    let name = format!("{namespace}.example.com");
    let webhook = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": name},
        "webhooks": [{
            "name": name, "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail", "timeoutSeconds": 1,
            "clientConfig": {"url": "https://127.0.0.1:1/validate"}, "namespaceSelector": only(namespace),
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
        }],
    });
    cluster.apply(&[webhook]).await;
    installed(&cluster, json!({})).await;
    let cause = explained(&cluster, "WebhookRefused").await;
    assert!(evidence(&cause).contains("failed calling webhook"), "{cause:#}");
    let hooks =
        objects::api(&cluster.client(), "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "").await;
    hooks.expect("served").delete(&name, &DeleteParams::default()).await.expect("deleted");
}

async fn an_admission_policy_that_refuses(cluster: TestCluster) {
    let namespace = cluster.namespace();
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": namespace},
        "spec": {
            "failurePolicy": "Fail", "validations": [{"expression": "false", "message": "no workloads on Fridays"}],
            "matchConstraints": {"namespaceSelector": only(namespace), "resourceRules": [
                {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["deployments"]}]},
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": namespace},
        "spec": {"policyName": namespace, "validationActions": ["Deny"]},
    });
    cluster.apply(&[policy, binding]).await;
    // A policy takes a moment to be in force; until then the Deployment is accepted.
    let mut refused = install(&cluster, &instance(&cluster, json!({}))).await;
    for _ in 0..20 {
        if refused.code != 0 {
            break;
        }
        let deployments = objects::api(&cluster.client(), "apps/v1", "Deployment", namespace).await.expect("served");
        deployments.delete("source-controller", &DeleteParams::default()).await.expect("deleted");
        refused = install(&cluster, &instance(&cluster, json!({}))).await;
    }
    assert_ne!(refused.code, 0, "{refused:?}");
    let cause = explained(&cluster, "PolicyRefused").await;
    assert!(evidence(&cause).contains("no workloads on Fridays"), "{cause:#}");
    assert_eq!(cause["object"]["kind"], "ValidatingAdmissionPolicy");
}

async fn a_version_range_nothing_fits(cluster: TestCluster) {
    let distribution = json!({"version": "2.99.x", "registry": "ghcr.io/fluxcd"});
    let run = unbuildable(&cluster, json!({"distribution": distribution})).await;
    assert_ne!(run.code, 0, "{run:?}");
    let cause = explained(&cluster, "BadVersionRange").await;
    assert!(evidence(&cause).contains("2.99.x"), "{cause:#}");
    assert_eq!(cause["next"][0], "flux-operator distribution versions");
}

async fn a_patch_that_cannot_be_applied(cluster: TestCluster) {
    let patch = "- op: remove\n  path: /spec/template/spec/containers/0/nope\n";
    let patches = json!([{"patch": patch, "target": {"kind": "Deployment", "name": "source-controller"}}]);
    let run = unbuildable(&cluster, json!({"kustomize": {"patches": patches}})).await;
    assert_ne!(run.code, 0, "{run:?}");
    explained(&cluster, "PatchFailed").await;
}

async fn a_suspended_instance(cluster: TestCluster) {
    installed(&cluster, json!({"wait": true})).await;
    run(&cluster, &["suspend", "instance", "flux"]).await.exits(0);
    let cause = explained_with(&cluster, "Suspended", 0).await;
    assert_eq!(cause["next"][0], format!("flux-operator resume instance flux -n {} --in-process", cluster.namespace()));
}

async fn patch_instance(cluster: &TestCluster, patch: Value) {
    let api: Api<_> = objects::api(&cluster.client(), "fluxcd.controlplane.io/v1", "FluxInstance", cluster.namespace())
        .await
        .expect("served");
    api.patch("flux", &PatchParams::default(), &Patch::Merge(patch)).await.expect("patched");
}

async fn a_finalizer_that_is_not_removed(cluster: TestCluster) {
    installed(&cluster, json!({"wait": true})).await;
    patch_instance(&cluster, json!({"metadata": {"finalizers": ["fluxcd.controlplane.io/finalizer"]}})).await;
    let api = objects::api(&cluster.client(), "fluxcd.controlplane.io/v1", "FluxInstance", cluster.namespace()).await;
    api.expect("served").delete("flux", &DeleteParams::default()).await.expect("deleted");
    let cause = explained(&cluster, "StuckFinalizer").await;
    assert!(evidence(&cause).contains("no operator is running"), "{cause:#}");
    patch_instance(&cluster, json!({"metadata": {"finalizers": []}})).await;
}

async fn an_operator_that_is_absent(cluster: TestCluster) {
    installed(&cluster, json!({"wait": true})).await;
    patch_instance(&cluster, json!({"spec": {"components": ["source-controller", "kustomize-controller"]}})).await;
    let cause = explained(&cluster, "OperatorAbsent").await;
    assert!(cause["next"][0].as_str().unwrap().contains("--in-process"), "{cause:#}");
}

/// source-controller's status in each case, with the texts of a real one.
async fn a_source_reports_what_is_wrong_at_the_other_end(cluster: TestCluster) {
    let sync = json!({"kind": "GitRepository", "url": "ssh://git@git.example.com/fleet", "ref": "refs/heads/main", "path": "./", "pullSecret": "git-auth"});
    installed(
        &cluster,
        json!({"components": ["source-controller", "kustomize-controller"], "wait": false, "sync": sync}),
    )
    .await;
    cluster.apply(&[secret("git-auth")]).await;
    let clone = "failed to checkout and determine revision: unable to clone 'ssh://git@git.example.com/fleet': ";
    let cases = [
        ("GitOperationFailed", format!("{clone}ssh: handshake failed: knownhosts: key mismatch"), "HostKeyWrong"),
        ("GitOperationFailed", format!("{clone}dial tcp: lookup git.example.com: no such host"), "HostUnreachable"),
        (
            "GitOperationFailed",
            format!("{clone}ssh: handshake failed: ssh: unable to authenticate, attempted methods [none publickey]"),
            "CredentialsRejected",
        ),
    ];
    let api = objects::api(&cluster.client(), "source.toolkit.fluxcd.io/v1", "GitRepository", cluster.namespace())
        .await
        .expect("served");
    for (reason, message, expected) in cases {
        let condition = json!({"type": "Ready", "status": "False", "reason": reason, "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z"});
        let status = json!({"status": {"conditions": [condition]}});
        api.patch_status(cluster.namespace(), &PatchParams::default(), &Patch::Merge(status)).await.expect("written");
        let cause = explained(&cluster, expected).await;
        assert_eq!(cause["object"]["kind"], "GitRepository", "{cause:#}");
        assert!(!cause.to_string().contains("canary-7d1f"), "a secret's value was shown");
    }
    let secrets = objects::api(&cluster.client(), "v1", "Secret", cluster.namespace()).await.expect("served");
    secrets.delete("git-auth", &DeleteParams::default()).await.expect("deleted");
    cluster.apply(&[secret("other")]).await;
    explained(&cluster, "SecretMissing").await;
}
