//! The API server enforces what the manifest reader enforces: its rules come from the same schema.

use std::time::Duration;

use flux_operator::api::manifest::{self, NamespaceChoice};
use flux_operator::api::{FluxInstance, crd};
use flux_operator::format::yaml;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::discovery::ApiResource;
use serde_json::{Value, json};

use crate::cluster_tests;
use crate::support::{ClusterTest, Options, TestCluster, eventually};

const SOON: Duration = Duration::from_secs(20);

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![the_api_server_and_the_manifest_reader_agree, the_name_of_a_sync_cannot_be_changed]
}

/// Installs the definition and waits until objects of the kind can be made.
async fn instances(client: Client) -> Api<DynamicObject> {
    let definitions = Api::<CustomResourceDefinition>::all(client.clone());
    definitions
        .create(&PostParams::default(), &crd::flux_instance_definition())
        .await
        .expect("the definition is valid");
    let instances = Api::namespaced_with(client, "default", &ApiResource::erase::<FluxInstance>(&()));
    eventually("the kind to be served", SOON, || async { instances.list(&Default::default()).await.ok() })
        .await
        .expect("served");
    instances
}

fn instance(name: &str, spec: &str) -> Value {
    let spec = yaml::parse_one(&format!("{{distribution: {{version: 2.x, registry: ghcr.io/fluxcd}}{spec}}}"));
    json!({
        "apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
        "metadata": {"name": name, "namespace": "default"}, "spec": spec.expect("YAML"),
    })
}

async fn create(instances: &Api<DynamicObject>, object: &Value) -> Result<DynamicObject, String> {
    let object = serde_json::from_value(object.clone()).expect("an object");
    instances.create(&PostParams::default(), &object).await.map_err(|error| error.to_string())
}

async fn the_api_server_and_the_manifest_reader_agree(cluster: TestCluster) {
    let own = cluster.fresh(Options::api_server_only()).await;
    let instances = instances(own.client().clone()).await;
    // What is refused, and a word of the server's message.
    let refused = [
        ("other", "", "named 'flux'"),
        ("flux", ", components: [nope]", "Unsupported value"),
        ("flux", ", cluster: {size: huge}", "Unsupported value"),
        ("flux", ", cluster: {type: other}", "Unsupported value"),
        ("flux", ", cluster: {multitenantWorkloadIdentity: true}", "objectLevelWorkloadIdentity"),
        ("flux", ", sharding: {shards: []}", "should have at least 1 items"),
        ("flux", ", sharding: {}", "Required value"),
        ("flux", ", sharding: {shards: [a], storage: persistent}", "storage 'persistent' needs"),
        ("flux", ", sharding: {shards: [a], storage: other}", "Unsupported value"),
        ("flux", ", storage: {class: a}", "Required value"),
        ("flux", ", kustomize: {patches: [{}]}", "Required value"),
        ("flux", ", sync: {kind: Bucket, url: a, ref: b}", "Required value"),
        ("flux", ", sync: {kind: Other, url: a, ref: b, path: c}", "Unsupported value"),
        ("flux", ", sync: {kind: Bucket, url: a, ref: b, path: c, interval: 1d}", "should match"),
        ("flux", ", sync: {kind: GitRepository, url: 'https://a', ref: b, path: c, provider: gcp}", "'gcp' works with"),
        ("flux", ", sync: {kind: Bucket, url: a, ref: b, path: c, provider: github}", "'github' works with"),
        ("flux", ", sync: {kind: Bucket, url: a, ref: b, path: c, provider: other}", "Unsupported value"),
    ];
    for (name, spec, word) in refused {
        let object = instance(name, spec);
        let message = create(&instances, &object).await.expect_err(spec);
        assert!(message.contains(word), "{spec}: {message}");
        let text = yaml::to_string(&object).expect("written");
        assert!(manifest::read(&text, &NamespaceChoice::default()).is_err(), "{spec}");
    }
    // What is accepted, and gets the same defaults from both.
    let accepted = [
        "",
        ", wait: null, cluster: null, components: [source-watcher]",
        ", cluster: {}, sharding: {shards: [a, b]}, kustomize: {patches: [{patch: x, target: {kind: Deployment}}]}",
        ", cluster: {multitenantWorkloadIdentity: true, objectLevelWorkloadIdentity: true, size: null, networkPolicy: false}",
        ", sharding: {shards: [a], storage: persistent}, storage: {class: a, size: 1Gi}",
        ", sync: {kind: OCIRepository, url: 'oci://a/b', ref: b, path: c, provider: gcp}, migrateResources: false",
        ", sync: {kind: GitRepository, url: 'https://a/b', ref: b, path: c, provider: github, name: x}",
    ];
    for spec in accepted {
        let object = instance("flux", spec);
        let stored = create(&instances, &object).await.unwrap_or_else(|error| panic!("{spec}: {error}"));
        let text = yaml::to_string(&object).expect("written");
        let read = manifest::read(&text, &NamespaceChoice::default()).expect(spec).instance;
        assert_eq!(serde_json::to_value(&read.spec).expect("JSON"), stored.data["spec"], "{spec}");
        // What the server gives back is a manifest too, managed fields and all.
        let back = yaml::to_string(&stored).expect("written");
        assert_eq!(manifest::read(&back, &NamespaceChoice::default()).expect(spec).instance.spec, read.spec);
        instances.delete("flux", &DeleteParams::default()).await.expect("deleted");
    }
}

async fn the_name_of_a_sync_cannot_be_changed(cluster: TestCluster) {
    let own = cluster.fresh(Options::api_server_only()).await;
    let instances = instances(own.client().clone()).await;
    let sync = ", sync: {kind: Bucket, url: a, ref: b, path: c, name: one}";
    create(&instances, &instance("flux", sync)).await.expect("accepted");
    let change = |name: &str| Patch::Merge(json!({"spec": {"sync": {"name": name, "ref": "other"}}}));
    let error = instances.patch("flux", &PatchParams::default(), &change("two")).await.expect_err("refused");
    assert!(error.to_string().contains("immutable"), "{error}");
    instances.patch("flux", &PatchParams::default(), &change("one")).await.expect("the rest can be changed");
}
