//! The harness tests itself: the controllers reconcile what is pushed to the Git server.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::ResourceExt;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::cluster_tests;
use crate::support::flux::{Controller, FluxControllers, GitServer};
use crate::support::{ClusterTest, Options, TestCluster, eventually};

const SOON: Duration = Duration::from_secs(60);

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        a_sync_from_git_becomes_ready_and_follows_a_push,
        a_wrong_password_is_reported_and_the_right_one_heals,
        a_missing_path_is_reported,
        a_frozen_controller_acts_on_nothing,
        all_four_controllers_become_ready,
    ]
}

fn api(cluster: &TestCluster, kind: &str) -> Api<DynamicObject> {
    let group = match kind {
        "GitRepository" => "source.toolkit.fluxcd.io",
        _ => "kustomize.toolkit.fluxcd.io",
    };
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind));
    Api::namespaced_with(cluster.client(), cluster.namespace(), &resource)
}

async fn create(cluster: &TestCluster, kind: &str, name: &str, spec: Value) {
    let api = api(cluster, kind);
    let group = if kind == "GitRepository" { "source" } else { "kustomize" };
    let object = json!({
        "apiVersion": format!("{group}.toolkit.fluxcd.io/v1"), "kind": kind, "metadata": { "name": name }, "spec": spec,
    });
    api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
}

async fn create_git_repository(cluster: &TestCluster, url: &str, secret: Option<&str>) {
    let reference = secret.map(|name| json!({ "name": name }));
    let mut spec = json!({ "interval": "1m", "url": url, "ref": { "branch": "main" } });
    if let Some(reference) = reference {
        spec["secretRef"] = reference;
    }
    create(cluster, "GitRepository", "app", spec).await;
}

async fn create_kustomization(cluster: &TestCluster, path: &str) {
    let spec = json!({
        "interval": "1m", "retryInterval": "1s", "path": path, "prune": true, "targetNamespace": cluster.namespace(),
        "sourceRef": { "kind": "GitRepository", "name": "app" },
    });
    create(cluster, "Kustomization", "app", spec).await;
}

/// Waits until the Ready condition has this status, and returns its reason and message.
async fn ready(cluster: &TestCluster, kind: &str, status: &str) -> (String, String) {
    let api = api(cluster, kind);
    eventually(&format!("{kind} to have Ready={status}"), SOON, || async {
        let object = api.get_opt("app").await.unwrap()?;
        let conditions = object.data.pointer("/status/conditions")?.as_array()?.clone();
        let ready = conditions.into_iter().find(|c| c["type"] == "Ready" && c["status"] == status)?;
        let text = |key: &str| ready[key].as_str().unwrap_or_default().to_owned();
        Some((text("reason"), text("message")))
    })
    .await
    .unwrap()
}

/// Asks for a reconcile now, as the command line does.
async fn request(cluster: &TestCluster, kind: &str) {
    let token = jiff::Timestamp::now().to_string();
    let patch = json!({ "metadata": { "annotations": { "reconcile.fluxcd.io/requestedAt": token } } });
    api(cluster, kind).patch("app", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
}

fn config_map(value: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\ndata:\n  key: {value}\n")
}

async fn a_sync_from_git_becomes_ready_and_follows_a_push(cluster: TestCluster) {
    let git = GitServer::start(cluster.folder()).await.unwrap();
    let repository = git.repository("app").unwrap();
    repository.write("deploy/web.yaml", &config_map("one")).unwrap();
    let commit = repository.commit("first").unwrap();
    create_git_repository(&cluster, &git.url("app"), None).await;
    create_kustomization(&cluster, "./deploy").await;
    let (reason, message) = ready(&cluster, "Kustomization", "True").await;
    assert_eq!(reason, "ReconciliationSucceeded");
    assert_eq!(message, format!("Applied revision: main@sha1:{commit}"));

    repository.write("deploy/web.yaml", &config_map("two")).unwrap();
    repository.commit("second").unwrap();
    request(&cluster, "GitRepository").await;
    let configmaps = Api::<ConfigMap>::namespaced(cluster.client(), cluster.namespace());
    eventually("the second commit to be applied", SOON, || async {
        let data = configmaps.get("web").await.unwrap().data?;
        (data.get("key").map(String::as_str) == Some("two")).then_some(())
    })
    .await
    .unwrap();
}

async fn a_wrong_password_is_reported_and_the_right_one_heals(cluster: TestCluster) {
    let git = GitServer::start_with_password(cluster.folder(), "flux", "correct horse").await.unwrap();
    let repository = git.repository("app").unwrap();
    repository.write("web.yaml", &config_map("one")).unwrap();
    repository.commit("first").unwrap();
    let secrets = Api::<Secret>::namespaced(cluster.client(), cluster.namespace());
    let secret = |password: &str| {
        let data = json!({ "username": "flux", "password": password });
        json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "git-auth" }, "stringData": data })
    };
    secrets.create(&PostParams::default(), &serde_json::from_value(secret("wrong")).unwrap()).await.unwrap();
    create_git_repository(&cluster, &git.url("app"), Some("git-auth")).await;
    let (reason, message) = ready(&cluster, "GitRepository", "False").await;
    assert_eq!(reason, "GitOperationFailed");
    assert!(message.contains("authentication required"), "{message}");

    let apply = PatchParams::apply("test").force();
    secrets.patch("git-auth", &apply, &Patch::Apply(secret("correct horse"))).await.unwrap();
    request(&cluster, "GitRepository").await;
    ready(&cluster, "GitRepository", "True").await;
}

async fn a_missing_path_is_reported(cluster: TestCluster) {
    let git = GitServer::start(cluster.folder()).await.unwrap();
    let repository = git.repository("app").unwrap();
    repository.write("web.yaml", &config_map("one")).unwrap();
    repository.commit("first").unwrap();
    create_git_repository(&cluster, &git.url("app"), None).await;
    ready(&cluster, "GitRepository", "True").await;
    create_kustomization(&cluster, "./absent").await;
    let (reason, message) = ready(&cluster, "Kustomization", "False").await;
    assert_eq!(reason, "ArtifactFailed");
    assert!(message.contains("kustomization path not found"), "{message}");
}

/// Runs a controller of its own control plane, so that no other test meets the frozen one.
async fn a_frozen_controller_acts_on_nothing(cluster: TestCluster) {
    let fresh = cluster.fresh(Options::api_server_only()).await;
    let flux = FluxControllers::start(&fresh, &[Controller::Source]).await.unwrap();
    flux.freeze(Controller::Source);
    let git = GitServer::start(fresh.folder()).await.unwrap();
    let repository = git.repository("app").unwrap();
    repository.write("web.yaml", &config_map("one")).unwrap();
    repository.commit("first").unwrap();
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("source.toolkit.fluxcd.io", "v1", "GitRepository"));
    let api = Api::<DynamicObject>::namespaced_with(fresh.client().clone(), "default", &resource);
    let object = json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": { "name": "app" },
        "spec": { "interval": "1m", "url": git.url("app"), "ref": { "branch": "main" } },
    });
    let created = api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(api.get("app").await.unwrap().resource_version(), created.resource_version());
    flux.thaw(Controller::Source);
    eventually("an artifact", SOON, || async {
        api.get("app").await.unwrap().data.pointer("/status/artifact/revision").map(|_| ())
    })
    .await
    .unwrap();
}

async fn all_four_controllers_become_ready(cluster: TestCluster) {
    use Controller::{Helm, Kustomize, Notification, Source};
    let fresh = cluster.fresh(Options::api_server_only()).await;
    let flux = FluxControllers::start(&fresh, &[Source, Kustomize, Helm, Notification]).await.unwrap();
    for name in ["source", "kustomize", "helm", "notification"] {
        assert!(flux.last_log_lines(1).contains(&format!("--- {name}-controller")));
    }
}
