//! The artifact of `artifact push`, used by the real source-controller and kustomize-controller.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind};
use serde_json::json;

use crate::cluster_tests;
use crate::support::registry::Registry;
use crate::support::{ClusterTest, TestCluster, eventually};
use crate::world::{SOON, config_map, kustomization, run};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![source_controller_takes_what_artifact_push_made]
}

async fn source_controller_takes_what_artifact_push_made(cluster: TestCluster) {
    let registry = Registry::start().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("deploy")).unwrap();
    std::fs::write(folder.path().join("deploy/config.yaml"), config_map("pushed")).unwrap();
    let repository = format!("oci://{}/team/app", registry.host());
    let origin = "--source https://example.com/app --revision main@sha1:abc";
    let push = format!("artifact push {repository}:v1 --path {} {origin}", folder.path().display());
    let pushed = run(&cluster, &push).await.exits(0).stdout;
    let (_, digest) = pushed.trim().rsplit_once('@').unwrap();

    let source = json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "OCIRepository", "metadata": {"name": "app"},
        "spec": {"interval": "10m", "url": repository, "ref": {"tag": "v1"}, "insecure": true}});
    let mut app = kustomization(&cluster, "app", "./deploy");
    app["spec"]["sourceRef"]["kind"] = json!("OCIRepository");
    cluster.apply(&[source, app]).await;
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("source.toolkit.fluxcd.io", "v1", "OCIRepository"));
    let repositories = Api::<DynamicObject>::namespaced_with(cluster.client(), cluster.namespace(), &kind);
    let artifact = eventually("the artifact to be fetched", SOON, || async {
        repositories.get("app").await.unwrap().data.pointer("/status/artifact").cloned()
    });
    let artifact = artifact.await.unwrap();
    assert_eq!(artifact["revision"], format!("v1@{digest}"));
    assert_eq!(artifact["metadata"]["org.opencontainers.image.source"], "https://example.com/app");
    assert_eq!(artifact["metadata"]["org.opencontainers.image.revision"], "main@sha1:abc");
    let config_maps = Api::<ConfigMap>::namespaced(cluster.client(), cluster.namespace());
    eventually("the artifact to be applied", SOON, || async {
        let data = config_maps.get_opt("web").await.unwrap()?.data?;
        (data.get("key").map(String::as_str) == Some("pushed")).then_some(())
    })
    .await
    .unwrap();
}
