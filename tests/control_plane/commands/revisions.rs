//! `wait revision`: until a commit is everywhere, against statuses that change as the controllers change them.

use std::process::Stdio;

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::cluster_tests;
use crate::inspect::world::{dump, install, instance, run};
use crate::support::run::Run;
use crate::support::runner::ClusterTest;
use crate::support::{TestCluster, objects};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        a_revision_is_waited_for_from_its_source_to_the_last_application,
        objects_that_are_late_are_named_with_the_cause,
        a_tag_or_a_digest_of_an_artifact_is_waited_for,
    ]
    .into_iter()
    .map(ClusterTest::that_installs)
    .collect()
}

const COMMIT: &str = "5394cb7f48332b2de7c17dd8b8384bbc84b7e738";
const OLD: &str = "main@sha1:1111111111111111111111111111111111111111";

async fn world(cluster: &TestCluster) {
    let components = json!(["source-controller", "kustomize-controller"]);
    install(cluster, &instance(cluster, json!({"wait": true, "components": components}))).await.exits(0);
    let git = json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": {"name": "app"},
        "spec": {"url": format!("https://git.example.com/{}", cluster.namespace()), "interval": "1h"}});
    let ks = |name: &str| {
        json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": name},
            "spec": {"interval": "1h", "path": "./", "prune": true, "sourceRef": {"kind": "GitRepository", "name": "app"}}})
    };
    cluster.apply(&[git, ks("one"), ks("two")]).await;
    fetched(cluster, OLD).await;
    applied(cluster, "one", OLD, "True", "Applied revision").await;
    applied(cluster, "two", OLD, "True", "Applied revision").await;
}

async fn report(cluster: &TestCluster, api_version: &str, kind: &str, name: &str, status: Value) {
    let api = objects::api(&cluster.client(), api_version, kind, cluster.namespace()).await.expect("served");
    let patch = Patch::Merge(json!({"status": status}));
    api.patch_status(name, &PatchParams::default(), &patch).await.expect("written");
}

fn ready(status: &str, message: &str) -> Value {
    let reason = if status == "True" { "Succeeded" } else { "HealthCheckFailed" };
    json!([{"type": "Ready", "status": status, "reason": reason, "message": message, "observedGeneration": 1,
        "lastTransitionTime": "2026-01-01T00:00:00Z"}])
}

async fn fetched(cluster: &TestCluster, revision: &str) {
    let artifact = json!({"revision": revision, "digest": "sha256:1", "path": "x", "url": "http://x/x",
        "lastUpdateTime": "2026-01-01T00:00:00Z"});
    let status = json!({"observedGeneration": 1, "artifact": artifact, "conditions": ready("True", "stored artifact")});
    report(cluster, "source.toolkit.fluxcd.io/v1", "GitRepository", "app", status).await;
}

async fn applied(cluster: &TestCluster, name: &str, revision: &str, status: &str, message: &str) {
    let status = json!({"observedGeneration": 1, "lastAttemptedRevision": revision, "lastAppliedRevision": revision,
        "conditions": ready(status, message)});
    report(cluster, "kustomize.toolkit.fluxcd.io/v1", "Kustomization", name, status).await;
}

/// Starts the command, which goes on while the test writes statuses.
fn waits(cluster: &TestCluster, arguments: &[&str]) -> tokio::task::JoinHandle<Run> {
    let mut command = cluster.command();
    command.args(["wait", "revision"]).args(arguments).stdin(Stdio::null());
    tokio::task::spawn_blocking(move || command.output().expect("the binary runs").into())
}

async fn a_revision_is_waited_for_from_its_source_to_the_last_application(cluster: TestCluster) {
    world(&cluster).await;
    let new = format!("main@sha1:{COMMIT}");
    let wait = waits(&cluster, &[&COMMIT[..9], "--timeout", "60s", "--progress", "json", "-o", "json"]);
    fetched(&cluster, &new).await;
    applied(&cluster, "two", &new, "True", "Applied revision").await;
    assert!(!wait.is_finished(), "one application has the old revision");
    applied(&cluster, "one", &new, "True", "Applied revision").await;
    let ended = wait.await.expect("joined").exits(0);
    let receipt = ended.json();
    let stages = receipt["stages"].as_array().expect("stages");
    assert_eq!((&stages[0]["stage"], &stages[1]["stage"]), (&json!("fetched"), &json!("applied")), "{receipt:#}");
    assert_eq!((&stages[0]["objects"], &stages[1]["objects"]), (&json!(1), &json!(2)), "{receipt:#}");
    assert_eq!(receipt["objects"].as_array().map(Vec::len), Some(3), "{receipt:#}");
    for line in ended.stderr.lines() {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        assert_eq!(line["type"], "progress", "{line}");
    }
    // For a dump it prints the progress without waiting.
    let folder = tempfile::tempdir().expect("a folder");
    dump(&cluster, folder.path()).await;
    let from = ["--from", folder.path().to_str().expect("UTF-8")];
    for words in [&[COMMIT][..], &[COMMIT, "ks/one"], &["-n", cluster.namespace(), COMMIT, "-o", "json"]] {
        let reported = run(&cluster, &[&["wait", "revision"], words, &from].concat()).await.exits(0);
        assert!(reported.stdout.contains("one") || reported.stdout.contains("is everywhere\n"), "{reported:?}");
        assert!(!reported.stdout.contains("seconds") && !reported.stdout.contains(" in "), "{reported:?}");
    }
    let other = run(&cluster, &[&["wait", "revision", "0123456789abcdef"][..], &from].concat()).await.exits(7);
    other.stderr_has("when the dump was written: 0123456789abcdef is not everywhere: no source has fetched it");
    // It is there already: by its beginning, as the status shows it, of one object, everywhere.
    for words in [&[&COMMIT[..7]][..], &[new.as_str()], &[COMMIT, "ks/one"], &[COMMIT, "-A"], &[COMMIT, "gitrepo/app"]]
    {
        let reported = run(&cluster, &[&["wait", "revision"], words].concat()).await.exits(0);
        reported.stdout_has("is everywhere after").stdout_has("fetched by 1 in").stdout_has("applied by");
    }
}

async fn objects_that_are_late_are_named_with_the_cause(cluster: TestCluster) {
    world(&cluster).await;
    let namespace = cluster.namespace();
    let never = run(&cluster, &["wait", "revision", COMMIT, "--timeout", "2s"]).await.exits(7);
    never.stderr_has("no source has fetched it").stderr_has(&format!("GitRepository/{namespace}/app: is at {OLD}"));
    let new = format!("main@sha1:{COMMIT}");
    fetched(&cluster, &new).await;
    let late = run(&cluster, &["wait", "revision", COMMIT, "--timeout", "2s"]).await.exits(7);
    late.stderr_has("timed out after 2s").stderr_has(&format!("Kustomization/{namespace}/one: is at {OLD}"));
    applied(&cluster, "one", &new, "True", "Applied revision").await;
    let text =
        format!("health check failed after 30s: timeout waiting for: [Deployment/{namespace}/gone status: 'NotFound']");
    applied(&cluster, "two", &new, "False", &text).await;
    // Nothing will change by itself, so it does not wait for the deadline.
    let failed = run(&cluster, &["wait", "revision", COMMIT, "--timeout", "120s"]).await.exits(7);
    let failed = failed.stderr_has("1 of 3 objects do not have it").stderr_has("/two: health check failed");
    failed.stderr_has("Deployment gone is not in the cluster");
    run(&cluster, &["wait", "revision", COMMIT, "ks/nope"]).await.exits(7).stderr_has("does not exist");
    run(&cluster, &["wait", "revision", COMMIT, "alert/x"]).await.exits(2).stderr_has("cannot wait for a revision");
}

async fn a_tag_or_a_digest_of_an_artifact_is_waited_for(cluster: TestCluster) {
    world(&cluster).await;
    const DIGEST: &str = "sha256:7cdb0e8c1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5";
    let oci = json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "OCIRepository", "metadata": {"name": "web"},
        "spec": {"url": "oci://registry.example.com/web", "interval": "1h"}});
    let ks = json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": "web"},
        "spec": {"interval": "1h", "path": "./", "prune": true, "sourceRef": {"kind": "OCIRepository", "name": "web"}}});
    cluster.apply(&[oci, ks]).await;
    let has = async |revision: &str| {
        let artifact = json!({"revision": revision, "digest": "sha256:1", "path": "x", "url": "http://x/x",
            "lastUpdateTime": "2026-01-01T00:00:00Z",
            "metadata": {"org.opencontainers.image.revision": format!("main@sha1:{COMMIT}")}});
        let status =
            json!({"observedGeneration": 1, "artifact": artifact, "conditions": ready("True", "stored artifact")});
        report(&cluster, "source.toolkit.fluxcd.io/v1", "OCIRepository", "web", status).await;
        applied(&cluster, "web", revision, "True", "Applied revision").await;
    };
    has("v1.1.0@sha256:1111111111111111111111111111111111111111111111111111111111111111").await;
    let waiting: Vec<_> = ["v1.2.0", DIGEST, COMMIT]
        .into_iter()
        .map(|revision| waits(&cluster, &[revision, "ks/web", "--timeout", "60s", "-o", "json"]))
        .collect();
    run(&cluster, &["wait", "revision", "v1.2.0", "ks/web", "--timeout", "1s"]).await.exits(7);
    has(&format!("v1.2.0@{DIGEST}")).await;
    for wait in waiting {
        let receipt = wait.await.expect("joined").exits(0).json();
        assert_eq!(receipt["objects"].as_array().map(Vec::len), Some(2), "{receipt:#}");
    }
    // The beginning of a digest, and only the whole of a tag.
    run(&cluster, &["wait", "revision", &DIGEST[..19], "ks/web", "--timeout", "5s"]).await.exits(0);
    run(&cluster, &["wait", "revision", "v1.2", "ks/web", "--timeout", "1s"]).await.exits(7);
}
