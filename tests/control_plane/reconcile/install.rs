//! Installing Flux into an empty cluster, and finding nothing to do afterwards.

use flux_operator::reconcile::plan::Step;
use flux_operator::reconcile::progress::{Stage, Update};
use serde_json::{Value, json};

use crate::cluster_tests;
use crate::reconcile::world::*;
use crate::support::{ClusterTest, TestCluster};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        a_fresh_install_reaches_ready_with_running_pods,
        every_option_is_applied_and_the_steady_state_stays_within_twenty_requests,
        changed_components_and_options_prune_what_they_no_longer_need,
    ]
}

async fn a_fresh_install_reaches_ready_with_running_pods(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    world.instance(spec("2.9.x")).await;
    let first = world.ready().await;
    assert_eq!(first.changes.len(), 32, "{:?}", first.changes);
    assert_eq!(first.reason, "ReconciliationSucceeded");

    let revision = first.revision.unwrap();
    let instance = world.read_instance().await;
    let status = instance.status.clone().unwrap();
    assert_eq!(status.last_applied_revision.as_ref(), Some(&revision));
    assert_eq!(status.last_attempted_revision.as_ref(), Some(&revision));
    assert_eq!(status.inventory.unwrap().entries.len(), 32);
    assert_eq!(
        status.components.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(),
        ["source-controller", "kustomize-controller", "helm-controller", "notification-controller"]
    );
    assert!(status.components.iter().all(|component| component.digest.is_some()));
    let conditions: Vec<_> =
        status.conditions.iter().map(|c| (c.type_.as_str(), c.status.as_str(), c.observed_generation)).collect();
    let generation = instance.metadata.generation;
    assert_eq!(conditions, [("Ready", "True", generation), ("UpToDate", "True", generation)]);
    let history = &status.history[0];
    assert_eq!(
        (history.total_reconciliations, history.last_reconciled_status.as_str()),
        (1, "ReconciliationSucceeded")
    );
    assert_eq!(revision, format!("v2.9.4@{}", history.digest));
    assert!(instance.metadata.finalizers.is_none(), "no operator is installed");

    let events = world.events().await;
    let lines: Vec<&str> = events[1].1.lines().collect();
    assert_eq!(
        events.iter().map(|(reason, _)| reason.as_str()).collect::<Vec<_>>(),
        ["Progressing", "ReconciliationSucceeded", "ReconciliationSucceeded"]
    );
    assert_eq!(events[0].1, format!("Installing revision {revision}"));
    assert_eq!((lines[0], lines.len()), ("Flux v2.9.4 installed", 33));
    assert!(lines.contains(&"Namespace/flux-system configured"));
    assert!(events[2].1.starts_with("Reconciliation finished in "));

    let pods = world.list("v1", "Pod", Some(NAMESPACE)).await;
    assert_eq!(pods.len(), 4);
    assert!(pods.iter().all(|pod| pod["status"]["phase"] == "Running"));
    for object in ["source-controller", "kustomize-controller"] {
        assert_eq!(managers(&world.deployment(object).await), ours());
    }
    assert_eq!(managers(&world.get("v1", "Namespace", "", NAMESPACE).await.unwrap()), ours());

    let reported = world.reported.lock().unwrap().clone();
    let stages: Vec<Stage> = reported
        .iter()
        .filter_map(|update| match update {
            Update::StageBegan { stage, .. } => Some(*stage),
            _ => None,
        })
        .collect();
    assert_eq!(
        stages,
        [
            Stage::Lease,
            Stage::Build,
            Stage::Plan,
            Stage::ApplyDefinitions,
            Stage::ApplyObjects,
            Stage::Health,
            Stage::Status
        ]
    );
    for deployment in ["source-controller", "helm-controller"] {
        let object = format!("Deployment/{NAMESPACE}/{deployment}");
        assert!(reported.contains(&Update::Ready { object }), "{reported:?}");
    }
}

/// All components, persistent shards, tenants, a big cluster, patches and a sync: everything the build can do at once.
fn everything(kind: &str, url: &str) -> Value {
    json!({
        "distribution": {"version": "2.9.x", "registry": "ghcr.io/fluxcd", "imagePullSecret": "pull"},
        "components": ["source-controller", "kustomize-controller", "helm-controller", "notification-controller",
            "image-reflector-controller", "image-automation-controller", "source-watcher"],
        "commonMetadata": {"labels": {"team": "a"}, "annotations": {"note": "b"}},
        "cluster": {"type": "kubernetes", "multitenant": true, "size": "large", "domain": "cluster.local"},
        "storage": {"class": "standard", "size": "1024Mi"},
        "sharding": {"shards": ["s1", "s2"], "storage": "persistent"},
        "kustomize": {"patches": [{"target": {"kind": "Deployment", "name": "kustomize-controller"},
            "patch": "- op: add\n  path: /spec/template/spec/containers/0/args/-\n  value: --concurrent=7"}]},
        "sync": {"kind": kind, "url": url, "ref": "main", "path": "clusters/a"},
        "wait": false,
    })
}

async fn every_option_is_applied_and_the_steady_state_stays_within_twenty_requests(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    for (kind, url) in [
        ("GitRepository", "https://example.com/a.git"),
        ("OCIRepository", "oci://example.com/a"),
        ("Bucket", "example.com"),
    ] {
        world.instance(everything(kind, url)).await;
        world.ready().await;
        let source = world.get("source.toolkit.fluxcd.io/v1", kind, NAMESPACE, NAMESPACE).await.unwrap();
        assert_eq!(source["metadata"]["labels"]["team"], "a");
    }
    let claims = world.list("v1", "PersistentVolumeClaim", Some(NAMESPACE)).await;
    assert_eq!(claims.len(), 3);
    assert_eq!(world.deployment("source-controller-s2").await["metadata"]["annotations"]["note"], "b");
    let gone = world.get("source.toolkit.fluxcd.io/v1", "GitRepository", NAMESPACE, NAMESPACE).await;
    assert_eq!(gone, None, "the source of another kind is pruned");

    // Nothing is left to do, with any options: the proof holds for every object.
    let plan = world.plan().await;
    let changed: Vec<_> = plan.objects.iter().filter(|object| object.step != Step::Unchanged).collect();
    assert!(changed.is_empty(), "{changed:#?}");
    let mark = world.plane.audit().mark().await.unwrap();
    world.ready().await;
    let requests = world.plane.audit().since(mark).await.unwrap().by_user(USER);
    assert_eq!(requests.count("patch", "deployments"), 0, "no dry run: {:#?}", requests.table());
    assert!(requests.len() <= 20, "{} requests: {:#?}", requests.len(), requests.table());
    let writes = requests.writes().table();
    let expected = [("create events", 1), ("patch fluxinstances/status", 1), ("update leases", 2)];
    assert_eq!(writes, expected.map(|(what, count)| (what.to_owned(), count)).into());
}

async fn changed_components_and_options_prune_what_they_no_longer_need(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    let mut wanted = spec("2.9.x");
    wanted["components"] = json!([
        "source-controller",
        "kustomize-controller",
        "helm-controller",
        "notification-controller",
        "image-reflector-controller",
        "image-automation-controller"
    ]);
    world.instance(wanted.clone()).await;
    world.ready().await;
    // The first object is protected, and the second is no longer ours.
    let protect = json!({"metadata": {"annotations": {"fluxcd.controlplane.io/prune": "Disabled"}}});
    let policy = |name: &str| id("networking.k8s.io/v1", "NetworkPolicy", NAMESPACE, name);
    world.patch_as("someone", &policy("allow-egress"), protect).await;
    world
        .patch_as(
            "someone",
            &policy("allow-scraping"),
            json!({"metadata": {"labels": {"fluxcd.controlplane.io/name": null}}}),
        )
        .await;

    wanted["components"] =
        json!(["source-controller", "kustomize-controller", "helm-controller", "notification-controller"]);
    wanted["cluster"] = json!({"networkPolicy": false});
    world.instance(wanted).await;
    let plan = world.plan().await;
    assert_eq!((plan.count(Step::Prune), plan.count(Step::Skip)), (8, 2), "{:?}", plan.prune);
    world.ready().await;
    let events = world.events().await;
    let text = &events.iter().find(|(_, message)| message.starts_with("Flux v2.9.4 updated")).unwrap().1;
    let deleted: Vec<&str> =
        text.lines().filter(|line| line.ends_with("deleted") || line.ends_with("skipped")).collect();
    assert_eq!(
        deleted,
        [
            "Deployment/flux-system/image-reflector-controller deleted",
            "Deployment/flux-system/image-automation-controller deleted",
            "NetworkPolicy/flux-system/allow-webhooks deleted",
            "NetworkPolicy/flux-system/allow-scraping skipped",
            "NetworkPolicy/flux-system/allow-egress skipped",
            "ServiceAccount/flux-system/image-reflector-controller deleted",
            "ServiceAccount/flux-system/image-automation-controller deleted",
            "CustomResourceDefinition/imageupdateautomations.image.toolkit.fluxcd.io deleted",
            "CustomResourceDefinition/imagerepositories.image.toolkit.fluxcd.io deleted",
            "CustomResourceDefinition/imagepolicies.image.toolkit.fluxcd.io deleted",
        ]
    );
    let status = world.read_instance().await.status.unwrap();
    assert_eq!(status.inventory.unwrap().entries.len(), 29);
    assert!(world.get("networking.k8s.io/v1", "NetworkPolicy", NAMESPACE, "allow-egress").await.is_some());
    // A kept object is not checked again.
    assert_eq!(world.plan().await.count(Step::Skip), 0);
}
