//! `bundle`: what is in the archive, what is not, and that every read answers from it.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flux_operator::format::tarball::{ArchiveLimits, Files, read_tarball};
use serde_json::{Value, json};

use crate::cluster_tests;
use crate::inspect::world::{Run, dump, install, instance, run};
use crate::support::runner::{ClusterTest, command};
use crate::support::{Behaviour, PodRule, TestCluster, allow};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        a_bundle_answers_every_read_and_holds_no_secret,
        a_dump_is_cleaned_and_the_parts_that_cannot_be_written_are_reported,
        data_over_the_limits_of_a_bundle_is_left_out_and_reported,
        without_rights_to_secrets_a_bundle_is_written_only_on_request,
    ]
}

/// A secret that must not appear anywhere in a bundle.
const CANARY: &str = "canary-7d1f-s3cr3t-value";

fn unpacked(path: &Path) -> Files {
    let file = std::fs::File::open(path).expect("the archive");
    read_tarball(file, &ArchiveLimits::ARTIFACT).expect("an archive")
}

/// Fails when the canary is in a file, as it is or encoded.
fn assert_clean(files: &Files) {
    let encoded = STANDARD.encode(CANARY);
    for (path, file) in files {
        let text = String::from_utf8_lossy(&file.bytes);
        for secret in [CANARY, encoded.trim_end_matches('=')] {
            if let Some(at) = text.find(secret) {
                let from = at.saturating_sub(200);
                panic!("{path} holds a secret: {}", text.get(from..at).unwrap_or_default());
            }
        }
    }
}

/// An installation with the canary in every place where people put secrets.
async fn world(cluster: &TestCluster) {
    let log = format!("{{\"level\":\"error\",\"msg\":\"login with {CANARY} failed\"}}\npassword={CANARY}\n");
    let rule = PodRule::new(cluster.namespace(), Behaviour::Run).name_starts_with("source-controller");
    cluster.kubelet().add_rule(rule.log(&log));
    let components = json!(["source-controller", "kustomize-controller", "helm-controller", "notification-controller"]);
    install(cluster, &instance(cluster, json!({"wait": true, "components": components}))).await.exits(0);
    let labels = json!({"app": "web"});
    let annotated =
        json!({"kubectl.kubernetes.io/last-applied-configuration": format!("{{\"password\":\"{CANARY}\"}}")});
    cluster
        .apply(&[
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "creds", "annotations": annotated},
                "stringData": {"password": CANARY, "identity": format!("-----BEGIN KEY-----\n{CANARY}\n-----END KEY-----\n")}}),
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"db": CANARY}}),
            json!({"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "metadata": {"name": "web"},
                "spec": {"interval": "1h", "values": {"db": {"password": CANARY}},
                    "chart": {"spec": {"chart": "web", "sourceRef": {"kind": "HelmRepository", "name": "charts"}}}}}),
            json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": "app"},
                "spec": {"interval": "1h", "prune": true, "postBuild": {"substitute": {"password": CANARY}},
                    "sourceRef": {"kind": "GitRepository", "name": "app"}}}),
            json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": {"name": "app"},
                "spec": {"interval": "1h", "url": format!("https://git:{CANARY}@git.example.com/app")}}),
            json!({"apiVersion": "notification.toolkit.fluxcd.io/v1beta3", "kind": "Provider", "metadata": {"name": "chat"},
                "spec": {"type": "slack", "address": format!("https://hooks.slack.com/services/{CANARY}")}}),
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
                "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels},
                    "spec": {"containers": [{"name": "web", "image": "example.com/web:1", "args": [format!("--token={CANARY}")],
                        "env": [{"name": "PASSWORD", "value": CANARY}]}]}}}}),
            json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e1"}, "type": "Warning", "reason": "Failed",
                "involvedObject": {"apiVersion": "v1", "kind": "Pod", "name": "web", "namespace": cluster.namespace()},
                "message": format!("cannot log in with {CANARY}"), "lastTimestamp": "2026-01-01T00:00:00Z"}),
        ])
        .await;
}

async fn a_bundle_answers_every_read_and_holds_no_secret(cluster: TestCluster) {
    world(&cluster).await;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("incident.tar.gz");
    let name = path.to_str().expect("UTF-8");
    let made = run(&cluster, &["bundle", "-o", name, "--timeout", "60s"]).await.exits(0);
    assert_eq!(made.stdout.trim(), name);
    let files = unpacked(&path);
    assert_clean(&files);
    let about: Value = serde_json::from_slice(&files["bundle.json"].bytes).expect("JSON");
    let masked: Vec<&str> =
        about["masked"].as_array().expect("a list").iter().filter_map(|m| m["what"].as_str()).collect();
    let namespace = cluster.namespace();
    for what in [
        "Secret",
        "ConfigMap",
        "HelmRelease",
        "Kustomization",
        "GitRepository",
        "Provider",
        "Deployment",
        "Event",
        "Pod",
    ] {
        let prefix = format!("{what}/{namespace}/");
        assert!(masked.iter().any(|one| one.starts_with(&prefix)), "{what} is not in the list: {masked:?}");
    }
    assert!(
        masked.iter().any(|one| one.starts_with(&format!("log of pod/{namespace}/source-controller"))),
        "{masked:?}"
    );
    let secrets: Value = serde_json::from_slice(&files["objects/Secret.core.v1.json"].bytes).expect("JSON");
    let creds =
        secrets["items"].as_array().expect("items").iter().find(|s| s["metadata"]["name"] == "creds").expect("kept");
    assert_eq!(creds["masked"]["password"]["bytes"], CANARY.len());
    for view in ["status", "why", "check"] {
        assert!(files.contains_key(&format!("views/{view}.json")), "{:?}", files.keys());
    }
    assert!(
        files.keys().any(|path| path.starts_with(&format!("logs/{namespace}/source-controller"))),
        "{:?}",
        files.keys()
    );

    // Every read, and the same answers as from the cluster.
    for read in [
        &["get", "instance"][..],
        &["get", "all"],
        &["get", "components"],
        &["tree", "instance"],
        &["events"],
        &["status"],
        &["check"],
        &["version"],
        &["logs"],
        &["why"],
    ] {
        let reported = run(&cluster, &[read, &["-n", namespace, "--from", name]].concat()).await;
        assert!([0, 1, 7].contains(&reported.code) && !reported.stdout.is_empty(), "{read:?}: {reported:?}");
    }
    let live = run(&cluster, &["why", "-n", namespace, "-o", "json"]).await.json();
    let reported = run(&cluster, &["why", "-n", namespace, "-o", "json", "--from", name]).await.json();
    assert_eq!(
        (&reported["failing"], &reported["inProgress"]),
        (&live["failing"], &live["inProgress"]),
        "{reported:#}"
    );
    // A file of somebody is never written over, and stdout takes the archive as well.
    run(&cluster, &["bundle", "-o", name]).await.exits(1).stderr_has("choose another name");
    let mut piped = cluster.command();
    piped.args(["bundle", "-o", "-", "--log-lines", "1"]).stdin(std::process::Stdio::null());
    let output = tokio::task::spawn_blocking(move || piped.output()).await.expect("joined").expect("runs");
    assert_clean(&read_tarball(output.stdout.as_slice(), &ArchiveLimits::ARTIFACT).expect("an archive"));
}

async fn a_dump_is_cleaned_and_the_parts_that_cannot_be_written_are_reported(cluster: TestCluster) {
    world(&cluster).await;
    let folder = tempfile::tempdir().expect("a folder");
    let raw = folder.path().join("raw");
    std::fs::create_dir(&raw).expect("made");
    dump(&cluster, &raw).await;
    let text = std::fs::read_to_string(raw.join("secret.json")).expect("dumped");
    assert!(text.contains(&STANDARD.encode(CANARY)), "the dump holds the secret");
    let clean = folder.path().join("clean.tar.gz");
    let (raw, name) = (raw.to_str().expect("UTF-8"), clean.to_str().expect("UTF-8"));
    run(&cluster, &["bundle", "--redact", raw, "-o", name]).await.exits(0);
    assert_clean(&unpacked(&clean));
    run(&cluster, &["why", "instance", "--from", name]).await.stdout_has("FluxInstance/");
    // The time limit is too short to read anything.
    let small = folder.path().join("small.tar.gz");
    let small = run(&cluster, &["bundle", "-o", small.to_str().expect("UTF-8"), "--timeout", "1ms"]).await;
    assert_eq!(small.code, 7, "nothing could be read in a millisecond: {small:?}");
    assert!(!folder.path().join("small.tar.gz").exists(), "nothing is left behind");
    run(&cluster, &["bundle", "--redact", "/no/such/dump"]).await.exits(2).stderr_has("cannot read the dump");
}

async fn data_over_the_limits_of_a_bundle_is_left_out_and_reported(cluster: TestCluster) {
    let line = format!("{{\"level\":\"info\",\"msg\":\"{}\"}}\n", "x".repeat(1000));
    let rule = PodRule::new(cluster.namespace(), Behaviour::Run).name_starts_with("source-controller");
    cluster.kubelet().add_rule(rule.log(&line.repeat(1500)));
    let components = json!(["source-controller", "kustomize-controller"]);
    install(&cluster, &instance(&cluster, json!({"wait": true, "components": components}))).await.exits(0);
    let folder = tempfile::tempdir().expect("a folder");
    let made = async |name: &str, arguments: &[&str]| {
        let path = folder.path().join(name);
        let words = [&["bundle", "-o", path.to_str().expect("UTF-8")], arguments].concat();
        (run(&cluster, &words).await.exits(0), unpacked(&path))
    };
    let log = format!("logs/{}/source-controller", cluster.namespace());
    let has_log = |files: &Files| files.keys().any(|path| path.starts_with(&log));
    let (_, whole) = made("whole.tar.gz", &[]).await;
    assert!(has_log(&whole), "{:?}", whole.keys());
    let (run, files) = made("small.tar.gz", &["--max-size", "1"]).await;
    assert!(!has_log(&files), "{:?}", files.keys());
    run.stderr_has("not in the bundle: ").stderr_has("source-controller");
    let about: Value = serde_json::from_slice(&files["bundle.json"].bytes).expect("JSON");
    assert!(about["unread"].to_string().contains("source-controller"), "{about:#}");
    let bytes = |files: &Files| files.values().map(|file| file.bytes.len()).sum::<usize>();
    assert!(bytes(&files) < bytes(&whole), "{} of {} bytes", bytes(&files), bytes(&whole));
}

async fn without_rights_to_secrets_a_bundle_is_written_only_on_request(cluster: TestCluster) {
    let rules = [allow(&["list", "get"], "", &["pods", "events", "configmaps"])];
    let user = cluster.user(&format!("bundler-{}", cluster.namespace()), None, &rules).await.expect("a user");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("b.tar.gz");
    let bundle = |more: &[&str]| {
        let mut command = command(user.path(), cluster.folder());
        command.args(["bundle", "-o", path.to_str().expect("UTF-8")]).args(more).stdin(std::process::Stdio::null());
        Run::from(command.output().expect("runs"))
    };
    bundle(&[]).exits(1).stderr_has("cannot mask all secrets, so nothing is written").stderr_has("--allow-unmasked");
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0, "nothing is left behind");
    bundle(&["--allow-unmasked"]).exits(0).stderr_has("secrets may be left in the bundle");
    let about: Value = serde_json::from_slice(&unpacked(&path)["bundle.json"].bytes).expect("JSON");
    assert!(about["incomplete"].as_str().is_some_and(|why| why.contains("Secrets")), "{about:#}");
}
