//! The FluxReport and the metrics of resources: when they change, and what they cost when nothing does.

use std::time::Duration;

use flux_operator::cluster::DeleteOptions;
use flux_operator::k8s::ObjectId;
use serde_json::{Value, json};

use super::operator::*;
use crate::cluster_tests;
use crate::reconcile::world::*;
use crate::support::{ClusterTest, TestCluster, eventually};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        a_flux_object_is_shown_at_once_and_reported_when_asked_or_at_the_interval,
        the_report_of_the_reference_is_deleted,
        a_report_of_a_cluster_in_which_nothing_happens_is_one_request,
        a_report_comes_back_with_its_definition,
        failed_fetches_are_reported_and_retried_and_a_suspended_instance_answers_requests,
    ]
}

fn report_id() -> ObjectId {
    ObjectId { kind: "FluxReport".to_owned(), ..instance_id() }
}

impl World {
    async fn report(&self, what: &str, is_there: impl Fn(&Value) -> bool) -> Value {
        let found = eventually(what, SOON, || async {
            self.cluster.read(&report_id()).await.unwrap().filter(|report| is_there(report))
        });
        match found.await {
            Ok(report) => report,
            Err(error) => panic!("{error}: {:#}", self.cluster.read(&report_id()).await.unwrap().unwrap_or_default()),
        }
    }

    async fn annotate_report(&self, annotations: Value) {
        self.patch_as("test-author", &report_id(), json!({"metadata": {"annotations": annotations}})).await;
    }
}

/// Returns the counts of a kind in a report.
fn stats<'a>(report: &'a Value, kind: &str) -> Option<&'a Value> {
    let reconcilers = report["spec"]["reconcilers"].as_array()?;
    reconcilers.iter().find(|one| one["kind"] == kind).map(|one| &one["stats"])
}

async fn a_flux_object_is_shown_at_once_and_reported_when_asked_or_at_the_interval(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    world.prepared().await;
    let operator = Operator::start(&world, "operator-a", &[]);
    world.report("a report without Flux", |report| report["spec"]["distribution"]["status"] == "Not Installed").await;
    let mut wanted = spec("2.9.x");
    (wanted["wait"], wanted["sync"]) = (
        json!(false),
        json!({"kind": "GitRepository", "url": "https://example.com/fleet.git", "ref": "refs/heads/main", "path": "clusters/a"}),
    );
    world.write_instance(wanted, json!({})).await;
    world.wait_for_ready().await;
    let has_sync = |report: &Value| report["spec"]["sync"].is_object();
    // Kinds that are listed later are reported at once, not at the next interval.
    let all = |report: &Value| report["spec"]["reconcilers"].as_array().is_some_and(|kinds| kinds.len() == 14);
    let report = world.report("the sync and all kinds", |report| has_sync(report) && all(report)).await;
    let sync = &report["spec"]["sync"];
    assert_eq!((&sync["id"], &sync["path"]), (&json!("kustomization/flux-system"), &json!("clusters/a")));
    assert_eq!((&sync["ready"], &sync["source"]), (&json!(false), &json!("https://example.com/fleet.git")));
    let kinds: Vec<&str> =
        report["spec"]["reconcilers"].as_array().unwrap().iter().map(|one| one["kind"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        [
            "FluxInstance",
            "ResourceSet",
            "ResourceSetInputProvider",
            "HelmRelease",
            "Kustomization",
            "Receiver",
            "Alert",
            "Provider",
            "Bucket",
            "ExternalArtifact",
            "GitRepository",
            "HelmChart",
            "HelmRepository",
            "OCIRepository"
        ],
        "by API version and kind"
    );

    // The metric is updated at once. The report is updated only on request or at its interval.
    let source = json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
        "metadata": {"name": "app", "namespace": "default"},
        "spec": {"interval": "10m", "url": "https://example.com/app.git", "suspend": true}});
    world.cluster.create(&source, "test-author").await.unwrap();
    let shown = async |is_shown: bool| {
        let found = eventually("the metric", Duration::from_secs(10), || async {
            let metrics = operator.ask("metrics", "/metrics").await.1;
            let line = metrics.lines().find(|line| line.contains("name=\"app\",exported_namespace=\"default\""));
            (line.is_some() == is_shown).then(|| line.unwrap_or_default().to_owned())
        });
        found.await.unwrap()
    };
    let line = shown(true).await;
    assert!(line.starts_with("flux_resource_info{") && line.contains("suspended=\"True\""), "{line}");
    world.annotate_report(json!({"reconcile.fluxcd.io/requestedAt": "one"})).await;
    let report = world
        .report("the object", |report| stats(report, "GitRepository").is_some_and(|one| one["suspended"] == 1))
        .await;
    assert_eq!(stats(&report, "GitRepository").unwrap()["running"], 1, "the sync's own");
    world.cluster.delete(&ObjectId::of(&source), &DeleteOptions::default()).await.unwrap();
    shown(false).await;

    // A report that is deleted is written again; one that is suspended is not touched; each has its own interval.
    world.cluster.delete(&report_id(), &DeleteOptions::default()).await.unwrap();
    let report = world.report("a new report", |report| report["status"]["conditions"][0]["status"] == "True").await;
    assert_eq!(stats(&report, "GitRepository").unwrap()["suspended"], 0);
    world.annotate_report(json!({"fluxcd.controlplane.io/reconcile": "Disabled"})).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let before = world.cluster.read(&report_id()).await.unwrap().unwrap();
    world.annotate(json!({"reconcile.fluxcd.io/requestedAt": "now"})).await;
    world.wait_for("the run", |instance| instance.status.as_ref().unwrap().last_handled_reconcile_at.is_some()).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let after = world.cluster.read(&report_id()).await.unwrap().unwrap();
    assert_eq!(before["metadata"]["resourceVersion"], after["metadata"]["resourceVersion"]);
    let every = json!({"fluxcd.controlplane.io/reconcile": "enabled", "fluxcd.controlplane.io/reconcileEvery": "1s"});
    world.annotate_report(every).await;
    let first = world
        .report("its interval", |report| report["metadata"]["resourceVersion"] != after["metadata"]["resourceVersion"])
        .await;
    let time = |report: &Value| report["status"]["conditions"][0]["lastTransitionTime"].clone();
    world.report("the next", |report| time(report) != time(&first)).await;

    world.cluster.delete(&instance_id(), &DeleteOptions::default()).await.unwrap();
    world.wait_until_gone().await;
    let gone =
        world.report("that Flux is gone", |report| report["spec"]["distribution"]["status"] == "Not Installed").await;
    assert!(gone["spec"].get("sync").is_none(), "{gone}");
}

async fn a_report_comes_back_with_its_definition(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    world.prepared().await;
    let _operator = Operator::start(&world, "operator-a", &[]);
    world.report("the first report", |report| report["spec"].is_object()).await;
    let id =
        ObjectId::new("apiextensions.k8s.io", "CustomResourceDefinition", None, "fluxreports.fluxcd.controlplane.io")
            .at("v1");
    let definition = world.cluster.read(&id).await.unwrap().expect("a definition");
    world.cluster.delete(&id, &DeleteOptions::default()).await.unwrap();
    let gone = eventually("the end of the definition", SOON, || async {
        world.cluster.read(&id).await.unwrap().is_none().then_some(())
    });
    gone.await.unwrap();
    // Long enough for the operator to see that there is none.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let again = json!({"apiVersion": definition["apiVersion"], "kind": definition["kind"],
        "metadata": {"name": definition["metadata"]["name"]}, "spec": definition["spec"]});
    world.cluster.create(&again, "test-author").await.unwrap();
    let back = eventually("the report of the new definition", Duration::from_secs(10), || async {
        world.cluster.read(&report_id()).await.ok().flatten().filter(|report| report["spec"].is_object())
    });
    back.await.unwrap();
}

async fn a_report_of_a_cluster_in_which_nothing_happens_is_one_request(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    world.prepared().await;
    let _operator = Operator::start(&world, "operator-a", &["--reporting-interval=1s"]);
    world.write_instance(spec("2.9.x"), json!({})).await;
    world.wait_for_ready().await;
    world
        .report("everything", |report| {
            let components = report["spec"]["components"].as_array().cloned().unwrap_or_default();
            components.len() == 4 && components.iter().all(|one| one["ready"] == true)
        })
        .await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let mark = world.plane.audit().mark().await.unwrap();
    tokio::time::sleep(Duration::from_secs(6)).await;
    let seen = world.plane.audit().since(mark).await.unwrap().by_user(USER);
    let own = seen.only(|request| request.resource != "leases" && request.user_agent.ends_with(" controller"));
    let table = own.table();
    assert_eq!(table.keys().collect::<Vec<_>>(), ["patch fluxreports/status"], "{table:?}");
    assert!((4..=7).contains(&own.len()), "{table:?}");
}

async fn failed_fetches_are_reported_and_retried_and_a_suspended_instance_answers_requests(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    world.prepared().await;
    let _operator = Operator::start(&world, "operator-a", &["--min-retry-delay=1s"]);
    let mut wanted = spec("2.x");
    wanted["distribution"]["artifact"] = json!("oci://127.0.0.1:1/flux/manifests:stable");
    world.write_instance(wanted, json!({})).await;
    let failed = world.wait_for("the failure", |one| condition(one, "Ready").1 == "ArtifactFailed").await;
    let (status, _, message) = condition(&failed, "Ready");
    assert!(status == "False" && message.starts_with("fetch failed: ") && message.contains("127.0.0.1:1"), "{message}");
    assert_eq!(condition(&failed, "Reconciling").1, "ProgressingWithRetry");
    assert_eq!(condition(&failed, "Stalled").0, "");
    assert!(failed.status.unwrap().history.is_empty(), "nothing was built");
    let reported = eventually("the event", SOON, || async {
        world
            .events()
            .await
            .into_iter()
            .find(|(reason, text)| reason == "ArtifactFailed" && text.starts_with("fetch failed"))
    });
    reported.await.unwrap();

    world.annotate(json!({"fluxcd.controlplane.io/reconcile": "DISABLED"})).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    world.annotate(json!({"reconcile.fluxcd.io/requestedAt": "asleep"})).await;
    let answered = world
        .wait_for("the answer", |one| {
            one.status.as_ref().and_then(|status| status.last_handled_reconcile_at.as_deref()) == Some("asleep")
        })
        .await;
    assert_eq!(condition(&answered, "Ready").1, "ArtifactFailed", "as it was");
    assert!(world.list("apps/v1", "Deployment", Some(NAMESPACE)).await.is_empty());
    // Resumed with a spec that works, it works; a force token alone is recorded and forces nothing.
    let annotations = json!({"fluxcd.controlplane.io/reconcile": "enabled", "reconcile.fluxcd.io/forceAt": "alone"});
    world.write_instance(spec("2.9.x"), annotations).await;
    let ready = world.wait_for_ready().await.status.unwrap();
    assert_eq!(ready.last_handled_force_at.as_deref(), Some("alone"));
    assert_eq!(ready.last_artifact_revision.unwrap_or_default(), "");
}

async fn the_report_of_the_reference_is_deleted(cluster: TestCluster) {
    let world = World::new(&cluster).await;
    world.prepared().await;
    // The reference writes by merge patches under the name that we apply under.
    let sync = json!({"id": "kustomization/flux-system", "ready": true, "status": "Applied revision: main@sha1:a",
        "source": "https://example.com/fleet.git"});
    let mut report = json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxReport",
        "metadata": {"name": "flux", "namespace": NAMESPACE},
        "spec": {"distribution": {"entitlement": "Issued by controlplane", "status": "Installed", "version": "v2.9.4"}}});
    world.cluster.create(&report, "flux-operator").await.unwrap();
    report["spec"]["sync"] = sync;
    world.patch_as("flux-operator", &report_id(), json!({"spec": report["spec"]})).await;
    let entitlement = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "flux-operator-entitlement", "namespace": NAMESPACE},
        "stringData": {"token": "canary", "vendor": "controlplane"}});
    world.cluster.create(&entitlement, "flux-operator").await.unwrap();

    let operator = Operator::start(&world, "operator-a", &[]);
    let distribution = |report: &Value, field: &str| report["spec"]["distribution"][field].clone();
    let report = world.report("a report of ours", |report| distribution(report, "status") == "Not Installed").await;
    assert!(report["spec"].get("sync").is_none() && distribution(&report, "version").is_null(), "{report:#}");
    assert_eq!(distribution(&report, "entitlement"), "Issued by controlplane");
    assert_eq!(report["spec"]["operator"]["version"], concat!("v", env!("CARGO_PKG_VERSION")));
    assert!(!operator.log().iter().any(|line| line.to_string().contains("canary")));
}
