//! A new digest of the artifact is a new run, and what is in it is installed.

use std::collections::BTreeMap;
use std::path::Path;

use flux_operator::distribution::Distribution;
use flux_operator::format::ignore::IgnoreRules;
use flux_operator::format::tarball::read_folder;
use flux_operator::oci::{self, Access, Credentials, Reference, Registries};
use serde_json::json;

use super::operator::*;
use crate::cluster_tests;
use crate::reconcile::world::*;
use crate::support::registry::Registry;
use crate::support::{ClusterTest, Options, TestCluster, eventually};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![a_new_digest_is_a_new_run_and_a_registry_that_is_away_changes_nothing]
}

async fn push(reference: &Reference, folder: &Path) -> String {
    let client = Registries::new(Access::new(Credentials::Anonymous));
    let files = read_folder(folder, &IgnoreRules::default()).unwrap().files;
    oci::push_artifact(&client, reference, &files, &BTreeMap::new()).await.unwrap().digest.to_string()
}

async fn a_new_digest_is_a_new_run_and_a_registry_that_is_away_changes_nothing(cluster: TestCluster) {
    let registry = Registry::start().await.unwrap();
    let reference: Reference = format!("oci://{}/flux/manifests:stable", registry.host()).parse().unwrap();
    let (embedded, folder) = (Distribution::embedded(), tempfile::tempdir().unwrap());
    let version = |name: &str| embedded.versions().into_iter().find(|one| one.to_string() == name).unwrap();
    embedded.export(&version("v2.9.3"), folder.path()).unwrap();
    let first = push(&reference, folder.path()).await;

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
    let second = push(&reference, folder.path()).await;
    let after = world.wait_for("the new digest", |instance| {
        instance.status.as_ref().and_then(|status| status.last_artifact_revision.as_deref()) == Some(second.as_str())
    });
    assert!(after.await.status.unwrap().last_applied_revision.unwrap().starts_with("v2.9.4@"));
    let line = operator.wait_for_log("artifact revision changed, requesting a reconciliation").await;
    assert_eq!((&line["old"], &line["new"]), (&json!(first), &json!(second)));

    // A registry that is away is told, and the instance stays ready.
    drop(registry);
    let told = eventually("the event", SOON, || async {
        world
            .events()
            .await
            .into_iter()
            .find(|(reason, text)| reason == "ArtifactFailed" && text.starts_with("fetch failed"))
    });
    told.await.unwrap();
    assert_eq!(condition(&world.read_instance().await, "Ready").0, "True");
}
