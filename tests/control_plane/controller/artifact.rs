//! A new digest of the artifact is a new run, and what is in it is installed.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flux_operator::distribution::Distribution;
use flux_operator::oci::Reference;
use serde_json::{Value, json};

use super::operator::*;
use crate::cluster_tests;
use crate::reconcile::artifacts::{docker_config, push, sign};
use crate::reconcile::world::*;
use crate::support::certificates::TokenKey;
use crate::support::registry::{Authentication, Registry, RegistryOptions};
use crate::support::{ClusterTest, Options, TestCluster, eventually};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        a_new_digest_is_a_new_run_and_a_registry_that_is_away_changes_nothing,
        the_operator_logs_in_with_the_pull_secret_and_with_nothing_else,
        the_operator_takes_what_is_signed_with_the_key_it_was_given,
    ]
}

async fn a_new_digest_is_a_new_run_and_a_registry_that_is_away_changes_nothing(cluster: TestCluster) {
    let registry = Registry::start().await.unwrap();
    let reference: Reference = format!("oci://{}/flux/manifests:stable", registry.host()).parse().unwrap();
    let (embedded, folder) = (Distribution::embedded(), tempfile::tempdir().unwrap());
    let version = |name: &str| embedded.versions().into_iter().find(|one| one.to_string() == name).unwrap();
    embedded.export(&version("v2.9.3"), folder.path()).unwrap();
    let first = push(&registry.host(), &reference, folder.path()).await;

    let world = World::with(&cluster, Options::api_server_only()).await;
    world.prepared().await;
    let operator = Operator::start(&world, "operator-a", &["--min-retry-delay=200ms"]);
    let mut spec = spec("2.x");
    (spec["wait"], spec["distribution"]["artifact"]) = (json!(false), json!(reference.url()));
    world.write_instance(spec, json!({"fluxcd.controlplane.io/reconcileArtifactEvery": "1s"})).await;
    let before = world.wait_for_ready().await.status.unwrap();
    assert_eq!(before.last_artifact_revision.as_deref(), Some(first.as_str()));
    assert!(before.last_applied_revision.unwrap().starts_with("v2.9.3@"));

    // A patch release within the range arrives by itself.
    embedded.export(&version("v2.9.4"), folder.path()).unwrap();
    let second = push(&registry.host(), &reference, folder.path()).await;
    let after = world.wait_for("the new digest", |instance| {
        instance.status.as_ref().and_then(|status| status.last_artifact_revision.as_deref()) == Some(second.as_str())
    });
    assert!(after.await.status.unwrap().last_applied_revision.unwrap().starts_with("v2.9.4@"));
    let line = operator.wait_for_log("artifact revision changed, requesting a reconciliation").await;
    assert_eq!((&line["old"], &line["new"]), (&json!(first), &json!(second)));

    // An unreachable registry is reported, and the instance stays ready.
    drop(registry);
    let reported = eventually("the event", SOON, || async {
        world
            .events()
            .await
            .into_iter()
            .find(|(reason, text)| reason == "ArtifactFailed" && text.starts_with("fetch failed"))
    });
    reported.await.unwrap();
    assert_eq!(condition(&world.read_instance().await, "Ready").0, "True");
}

async fn the_operator_logs_in_with_the_pull_secret_and_with_nothing_else(cluster: TestCluster) {
    let options = RegistryOptions { authentication: Authentication::Password, ..RegistryOptions::default() };
    let registry = Registry::start_with(options).await.unwrap();
    let host = registry.host();
    let reference: Reference = format!("oci://{host}/flux/manifests:stable").parse().unwrap();
    let (embedded, folder) = (Distribution::embedded(), tempfile::tempdir().unwrap());
    embedded.export(&embedded.versions().pop().unwrap(), folder.path()).unwrap();
    let digest = push(&host, &reference, folder.path()).await;
    let world = World::with(&cluster, Options::api_server_only()).await;
    world.prepared().await;
    for (name, secret_type) in [("opaque", "Opaque"), ("docker", "kubernetes.io/dockerconfigjson")] {
        let secret: Value = json!({"apiVersion": "v1", "kind": "Secret", "type": secret_type,
            "metadata": {"name": name, "namespace": NAMESPACE},
            "data": {".dockerconfigjson": STANDARD.encode(docker_config(&host))}});
        world.apply_as("test-author", secret).await;
    }
    // The user of this home may log in; the operator is anonymous.
    let docker = world.plane.folder().join(".docker");
    std::fs::create_dir_all(&docker).unwrap();
    std::fs::write(docker.join("config.json"), docker_config(&host)).unwrap();
    let _operator = Operator::start(&world, "operator-a", &["--min-retry-delay=200ms"]);
    let write = async |secret: &str| {
        let mut spec = spec("2.x");
        (spec["wait"], spec["distribution"]["artifact"]) = (json!(false), json!(reference.url()));
        spec["distribution"]["artifactPullSecret"] = json!(secret);
        world.write_instance(spec, json!({})).await;
    };
    for secret in ["", "opaque"] {
        write(secret).await;
        let failed = world.wait_for("the refusal", |instance| {
            is_observed(instance) && condition(instance, "Ready").1 == "ArtifactFailed"
        });
        let message = condition(&failed.await, "Ready").2;
        assert!(message.contains("requires credentials, and none were found for it"), "{secret:?}: {message}");
    }
    write("docker").await;
    let ready = world.wait_for_ready().await;
    assert_eq!(ready.status.unwrap().last_artifact_revision, Some(digest));
}

async fn the_operator_takes_what_is_signed_with_the_key_it_was_given(cluster: TestCluster) {
    let registry = Registry::start().await.unwrap();
    let reference: Reference = format!("oci://{}/flux/manifests:stable", registry.host()).parse().unwrap();
    let (embedded, folder) = (Distribution::embedded(), tempfile::tempdir().unwrap());
    embedded.export(&embedded.versions().pop().unwrap(), folder.path()).unwrap();
    let digest = push(&registry.host(), &reference, folder.path()).await;
    let (key, file) = (TokenKey::new().unwrap(), folder.path().join("key.pub"));
    std::fs::write(&file, key.public_key()).unwrap();
    let world = World::with(&cluster, Options::api_server_only()).await;
    world.prepared().await;
    let flags = ["--min-retry-delay=200ms", "--max-retry-delay=1s", "--verify-key", file.to_str().unwrap()];
    let _operator = Operator::start(&world, "operator-a", &flags);
    // The embedded distribution needs no signature.
    let mut spec = spec("2.x");
    spec["wait"] = json!(false);
    world.write_instance(spec.clone(), json!({})).await;
    world.wait_for_ready().await;

    spec["distribution"]["artifact"] = json!(reference.url());
    world.write_instance(spec, json!({})).await;
    let failed = world.wait_for("the refusal", |instance| condition(instance, "Ready").1 == "ArtifactFailed").await;
    let message = condition(&failed, "Ready").2;
    assert!(message.contains("has no signature that the key verifies (0 seen)"), "{message}");
    sign(&reference, &digest, &key).await;
    let ready = world.wait_for_ready().await;
    assert_eq!(ready.status.unwrap().last_artifact_revision, Some(digest));
}
