//! Going from one Flux version to the next, with objects stored in old API versions.

use flux_operator::reconcile::Failure;
use serde_json::{Value, json};

use crate::cluster_tests;
use crate::reconcile::world::*;
use crate::support::{ClusterTest, Options, TestCluster};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![stored_objects_are_migrated_through_every_minor_and_a_downgrade_is_refused]
}

const COMPONENTS: [&str; 6] = [
    "source-controller",
    "kustomize-controller",
    "helm-controller",
    "notification-controller",
    "image-reflector-controller",
    "image-automation-controller",
];

fn wanted(version: &str) -> Value {
    let mut wanted = spec(version);
    wanted["components"] = json!(COMPONENTS);
    wanted["wait"] = json!(false);
    wanted
}

fn definition(plural: &str, group: &str) -> flux_operator::k8s::ObjectId {
    id("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", &format!("{plural}.{group}.toolkit.fluxcd.io"))
}

async fn stored_objects_are_migrated_through_every_minor_and_a_downgrade_is_refused(cluster: TestCluster) {
    let world = World::with(&cluster, Options::api_server_only()).await;
    world.instance(wanted("2.5.x")).await;
    world.ready().await;
    let old = [
        ("source.toolkit.fluxcd.io/v1beta2", "OCIRepository", json!({"url": "oci://example.com/a", "interval": "1m"})),
        (
            "source.toolkit.fluxcd.io/v1beta2",
            "GitRepository",
            json!({"url": "https://example.com/a.git", "interval": "1m"}),
        ),
        (
            "kustomize.toolkit.fluxcd.io/v1beta2",
            "Kustomization",
            json!({"interval": "1m", "prune": true, "sourceRef": {"kind": "GitRepository", "name": "old"}}),
        ),
        (
            "helm.toolkit.fluxcd.io/v2beta2",
            "HelmRelease",
            json!({"interval": "1m", "chart": {"spec": {"chart": "a", "sourceRef": {"kind": "HelmRepository", "name": "old"}}}}),
        ),
        (
            "notification.toolkit.fluxcd.io/v1beta2",
            "Provider",
            json!({"type": "generic", "address": "https://example.com"}),
        ),
        ("image.toolkit.fluxcd.io/v1beta2", "ImageRepository", json!({"image": "example.com/a", "interval": "1m"})),
    ];
    for (api_version, kind, spec) in &old {
        let object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "old", "namespace": "default"}, "spec": spec});
        assert!(world.cluster.create(&object, "kubectl-create").await.unwrap().is_some());
    }

    // Without migration the old version stays on record.
    let mut without = wanted("2.6.x");
    without["migrateResources"] = json!(false);
    world.instance(without).await;
    world.ready().await;
    let repositories = world.cluster.read(&definition("ocirepositories", "source")).await.unwrap().unwrap();
    assert_eq!(repositories["status"]["storedVersions"], json!(["v1beta2", "v1"]));
    // With migration, only kinds with two stored versions are migrated, although the minor version is the same.
    let outcome = {
        world.instance(wanted("2.6.x")).await;
        let mut spec = wanted("2.6.x");
        spec["migrateResources"] = json!(true);
        world.instance(spec).await;
        world.ready().await
    };
    assert_eq!(outcome.migrated, ["ocirepositories.source.toolkit.fluxcd.io"]);

    let mut minors = vec![];
    for version in ["2.7.x", "2.8.x", "2.9.x"] {
        let mut spec = wanted(version);
        spec["migrateResources"] = json!(true);
        world.instance(spec).await;
        // The plan says which versions go away.
        let removed = world.plan().await.removed_versions;
        let outcome = world.ready().await;
        assert_eq!(
            outcome.migrated.len(),
            world.list("apiextensions.k8s.io/v1", "CustomResourceDefinition", None).await.len() - 1,
            "all but the instance's own"
        );
        assert!(outcome.warnings.is_empty(), "{:?}", outcome.warnings);
        minors.push((outcome.version.unwrap(), removed));
    }
    assert_eq!(minors.iter().map(|(version, _)| version.as_str()).collect::<Vec<_>>(), ["v2.7.5", "v2.8.8", "v2.9.4"]);
    assert!(
        minors.iter().any(|(_, removed)| removed.iter().any(|one| one.versions.contains(&"v1beta2".to_owned()))),
        "{minors:?}"
    );
    for crd in world.list("apiextensions.k8s.io/v1", "CustomResourceDefinition", None).await {
        let stored = crd["status"]["storedVersions"].as_array().unwrap();
        assert_eq!(stored.len(), 1, "{}: {stored:?}", crd["metadata"]["name"]);
    }
    for (api_version, kind, _) in &old {
        let group = api_version.split('/').next().unwrap();
        let version = flux_operator::api::kinds::of(group, kind).unwrap().versions[0];
        let object = world.get(&format!("{group}/{version}"), kind, "default", "old").await.unwrap();
        for entry in object["metadata"]["managedFields"].as_array().unwrap() {
            assert_eq!(entry["apiVersion"], format!("{group}/{version}"), "{kind}");
        }
    }
    let revisions: Vec<String> = world
        .read_instance()
        .await
        .status
        .unwrap()
        .history
        .into_iter()
        .filter_map(|entry| entry.metadata?.get("flux").cloned())
        .collect();
    assert_eq!(revisions, ["v2.9.4", "v2.8.8", "v2.7.5", "v2.6.4", "v2.5.1"]);

    // A forced run migrates everything once more, one that is not forced does nothing.
    world.annotate(json!({"reconcile.fluxcd.io/requestedAt": "t1", "reconcile.fluxcd.io/forceAt": "t1"})).await;
    let forced = world.ready().await;
    assert_eq!(forced.migrated.len(), 14, "{:?}", forced.migrated);
    let status = world.read_instance().await.status.unwrap();
    assert_eq!(
        (status.last_handled_reconcile_at.as_deref(), status.last_handled_force_at.as_deref()),
        (Some("t1"), Some("t1"))
    );
    assert!(world.ready().await.migrated.is_empty());

    // A patch downgrade is fine, a minor one is not.
    world.instance(wanted("2.9.0")).await;
    assert_eq!(world.ready().await.version.as_deref(), Some("v2.9.0"));
    world.instance(wanted("2.8.x")).await;
    let mark = world.plane.audit().mark().await.unwrap();
    let refused = world.run().await.unwrap();
    assert!(matches!(refused.failure, Some(Failure::Build(_))), "{refused:?}");
    assert_eq!(refused.message, "build failed: downgrading from v2.9.0 to v2.8.8 is not supported, reinstall needed");
    let writes = world.plane.audit().since(mark).await.unwrap().by_user(USER).writes();
    assert_eq!(
        writes.only(|request| !matches!(request.resource.as_str(), "events" | "leases" | "fluxinstances/status")).len(),
        0
    );
    let conditions = world.read_instance().await.status.unwrap().conditions;
    let shown: Vec<_> = conditions.iter().map(|c| (c.type_.as_str(), c.status.as_str(), c.reason.as_str())).collect();
    assert_eq!(
        shown,
        [
            ("Stalled", "True", "BuildFailed"),
            ("Ready", "False", "BuildFailed"),
            ("UpToDate", "False", "NewVersionAvailable")
        ]
    );
}
