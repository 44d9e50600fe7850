//! The API server and the rule book agree: the definition, with its rules in CEL, is made of it.

use std::time::Duration;

use flux_operator::api::manifest::{self, NamespaceChoice};
use flux_operator::api::{CheckedInstance, FluxInstance, ResourceSet, ResourceSetInputProvider, crd};
use flux_operator::build::{BuildOptions, build};
use flux_operator::distribution::Distribution;
use flux_operator::format::yaml;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::discovery::ApiResource;
use serde_json::{Value, json};

use crate::cluster_tests;
use crate::instance_specs::{ACCEPTED, REFUSED, Refused, instance};
use crate::support::{ClusterTest, Options, TestCluster, eventually};

const SOON: Duration = Duration::from_secs(20);

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        the_api_server_the_rules_and_the_build_agree,
        the_name_of_a_sync_cannot_be_changed,
        the_definitions_of_all_four_kinds_keep_what_other_programs_write,
        the_rules_of_resource_sets_and_their_providers_are_those_of_the_reference
    ]
}

/// Installs the definition and waits until objects of the kind can be made.
async fn instances(client: Client) -> Api<DynamicObject> {
    let definitions = Api::<CustomResourceDefinition>::all(client.clone());
    definitions
        .create(&PostParams::default(), &serde_json::from_value(crd::flux_instance()).expect("a definition"))
        .await
        .expect("the definition is valid");
    let instances = Api::namespaced_with(client, "default", &ApiResource::erase::<FluxInstance>(&()));
    eventually("the kind to be served", SOON, || async { instances.list(&Default::default()).await.ok() })
        .await
        .expect("served");
    instances
}

async fn create(instances: &Api<DynamicObject>, object: &Value) -> Result<DynamicObject, String> {
    let object = serde_json::from_value(object.clone()).expect("an object");
    instances.create(&PostParams::default(), &object).await.map_err(|error| error.to_string())
}

async fn the_api_server_the_rules_and_the_build_agree(cluster: TestCluster) {
    let own = cluster.fresh(Options::api_server_only()).await;
    let instances = instances(own.client().clone()).await;
    for Refused { name, spec, by_us, by_api_server } in REFUSED {
        let object = instance(name, spec);
        match create(&instances, &object).await {
            Err(message) => assert!(
                !by_api_server.is_empty() && message.contains(by_api_server),
                "{spec}: {message}, expected {by_api_server:?}"
            ),
            Ok(_) => {
                assert!(by_api_server.is_empty(), "{spec}: accepted by the API server");
                instances.delete(name, &DeleteParams::default()).await.expect("deleted");
            }
        }
        // An object written by other means is refused with the same text before it is built.
        let by_hand = serde_json::from_value::<FluxInstance>(object.clone());
        if let Ok(by_hand) = by_hand {
            let problems = CheckedInstance::check(by_hand).expect_err(spec).to_string();
            assert!(problems.contains(by_us), "{spec}: {problems}");
        }
    }
    for spec in ACCEPTED {
        let object = instance("flux", spec);
        let stored = create(&instances, &object).await.unwrap_or_else(|error| panic!("{spec}: {error}"));
        let text = yaml::to_string(&object).expect("written");
        let read = manifest::read(&text, &NamespaceChoice::default()).expect(spec).instance;
        assert_eq!(serde_json::to_value(&read.spec).expect("JSON"), stored.data["spec"], "{spec}");
        // The server's object is a manifest too, including managed fields.
        let back = yaml::to_string(&stored).expect("written");
        assert_eq!(manifest::read(&back, &NamespaceChoice::default()).expect(spec).instance.spec, read.spec);
        // The stored object can be built unchanged.
        let stored = FluxInstance::from_object(serde_json::to_value(&stored).expect("JSON")).expect("an instance");
        let checked = CheckedInstance::check(stored).unwrap_or_else(|error| panic!("{spec}: {error}"));
        assert_eq!(checked.spec, read.spec, "{spec}");
        build(&checked, &Distribution::embedded(), &BuildOptions::default()).expect(spec);
        instances.delete("flux", &DeleteParams::default()).await.expect("deleted");
    }
}

async fn the_name_of_a_sync_cannot_be_changed(cluster: TestCluster) {
    let own = cluster.fresh(Options::api_server_only()).await;
    let instances = instances(own.client().clone()).await;
    let sync = "sync: {kind: Bucket, url: a, ref: b, path: c, name: one}";
    create(&instances, &instance("flux", sync)).await.expect("accepted");
    let change = |name: &str| Patch::Merge(json!({"spec": {"sync": {"name": name, "ref": "other"}}}));
    let error = instances.patch("flux", &PatchParams::default(), &change("two")).await.expect_err("refused");
    assert!(error.to_string().contains("immutable"), "{error}");
    instances.patch("flux", &PatchParams::default(), &change("one")).await.expect("the rest can be changed");
}

/// The sample is what the reference operator was seen to write.
async fn the_definitions_of_all_four_kinds_keep_what_other_programs_write(cluster: TestCluster) {
    let own = cluster.fresh(Options::api_server_only()).await;
    let definitions = Api::<CustomResourceDefinition>::all(own.client().clone());
    for definition in crd::all() {
        let definition = serde_json::from_value(definition).expect("a definition");
        definitions.create(&PostParams::default(), &definition).await.expect("the definition is valid");
    }
    let report = json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxReport", "metadata": {"name": "flux"}, "spec": {
        "cluster": {"nodes": 1, "platform": "linux/amd64", "serverVersion": "v1.36.3"},
        "components": [{"image": "ghcr.io/fluxcd/helm-controller:v1.6.3@sha256:16ad", "name": "helm-controller", "ready": true,
            "status": "Current Deployment is available. Replicas: 1"}],
        "distribution": {"entitlement": "Issued by controlplane", "managedBy": "flux-operator", "status": "Installed", "version": "v2.9.4"},
        "operator": {"apiVersion": "fluxcd.controlplane.io/v1", "platform": "linux/amd64", "version": "0.58.1"},
        "reconcilers": [
            {"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
                "stats": {"failing": 1, "running": 4, "suspended": 0, "totalSize": "4.2 MiB"}},
            {"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "OCIRepository", "stats": {"failing": 0, "running": 1, "suspended": 1}}],
        "sync": {"id": "kustomization/flux-system", "path": "clusters/a", "ready": true, "source": "https://example.com/fleet.git",
            "status": "Applied revision: main@sha1:abc"}}});
    let set = json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "ResourceSet", "metadata": {"name": "apps"},
        "spec": {"inputs": [{"tenant": "a", "n": 1}], "resourcesTemplate": "---"}, "status": {"inventory": {"entries": []}}});
    let provider = json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "ResourceSetInputProvider", "metadata": {"name": "prs"},
        "spec": {"type": "GitHubPullRequest", "url": "https://github.com/a/b", "filter": {"limit": 10}}});
    for object in [&report, &set, &provider] {
        let kind = object["kind"].as_str().expect("a kind");
        let version = kube::api::GroupVersionKind::gvk("fluxcd.controlplane.io", "v1", kind);
        let plural = format!("{}s", kind.to_lowercase());
        let objects: Api<DynamicObject> = Api::namespaced_with(
            own.client().clone(),
            "default",
            &ApiResource::from_gvk_with_plural(&version, &plural),
        );
        eventually("the kind to be served", SOON, || async { objects.list(&Default::default()).await.ok() })
            .await
            .expect("served");
        let stored = create(&objects, object).await.expect("accepted");
        assert_eq!(stored.data["spec"], object["spec"], "nothing is pruned");
        if kind != "FluxReport" {
            continue;
        }
        let read: flux_operator::api::FluxReport =
            serde_json::from_value(serde_json::to_value(&stored).expect("JSON")).expect("a report");
        assert_eq!(serde_json::to_value(&read.spec).expect("JSON"), object["spec"]);
        let mut other = object.clone();
        other["metadata"]["name"] = json!("other");
        let error = create(&objects, &other).await.expect_err("refused");
        assert!(error.contains("the only accepted name for a FluxReport is 'flux'"), "{error}");
        let status = json!({"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "Succeeded",
            "message": "Reporting finished in 38ms", "lastTransitionTime": "2026-11-22T00:00:00Z", "observedGeneration": 37}],
            "lastHandledReconcileAt": "now"}});
        let patched =
            objects.patch_status("flux", &PatchParams::default(), &Patch::Merge(&status)).await.expect("stored");
        assert_eq!(patched.data["status"], status["status"]);
    }
}

/// Spec, and the words of the refusal; nothing for a spec that is accepted.
const RESOURCE_SETS: &[(&str, &str)] = &[
    ("{resources: []}", ""),
    ("{resourcesTemplate: \"\"}", ""),
    ("{steps: [{name: a, resources: []}, {name: b-1, resourcesTemplate: x, timeout: 1m30s}]}", ""),
    ("{resources: [], inputs: [{a: {b: null}}], inputsFrom: [{name: a}, {selector: {}}]}", ""),
    ("{wait: true}", "at least one of steps, resources or resourcesTemplate must be set"),
    (
        "{resources: [], steps: [{name: a, resources: []}]}",
        "steps is mutually exclusive with resources and resourcesTemplate",
    ),
    (
        "{resources: [], inputStrategy: {name: Flatten, includeEmptyProviders: false}}",
        "includeEmptyProviders only applies when name is Permute",
    ),
    ("{resources: [], inputStrategy: {name: Other}}", "Unsupported value: \"Other\""),
    (
        "{resources: [], inputsFrom: [{kind: ResourceSetInputProvider}]}",
        "at least one of name or selector must be set for input provider references",
    ),
    (
        "{resources: [], inputsFrom: [{name: a, selector: {}}]}",
        "cannot set both name and selector for input provider references",
    ),
    ("{steps: []}", "should have at least 1 items"),
    ("{steps: [{name: a, resources: []}, {name: a, resources: []}]}", "step names must be unique"),
    ("{steps: [{name: A, resources: []}]}", "should match"),
    ("{steps: [{name: a}]}", "at least one of resources or resourcesTemplate must be set"),
    ("{steps: [{name: a, resources: [], timeout: 1d}]}", "should match"),
    ("{resources: [null]}", "must be of type object"),
    ("{resources: [], inputs: [null]}", "must be of type object"),
];
const PROVIDERS: &[(&str, &str)] = &[
    ("{type: Static, defaultValues: {a: 1, b: {c: null}}}", ""),
    ("{type: GitHubPullRequest, url: \"https://github.com/a/b\", filter: {}, skip: {labels: [\"!x\"]}}", ""),
    ("{type: OCIArtifactTag, url: \"oci://r.example/a\", insecure: true, schedule: [{cron: \"@daily\"}]}", ""),
    ("{type: ExternalArtifact, selectors: [{name: a, namespace: \"*\"}, {matchLabels: {a: b}}]}", ""),
    ("{}", "type: Required value"),
    ("{type: Other}", "Unsupported value"),
    ("{type: Static, url: \"https://a\"}", "spec.url must be empty when spec.type is 'Static'"),
    (
        "{type: ExternalArtifact, url: \"https://a\", selectors: [{}]}",
        "spec.url must be empty when spec.type is 'ExternalArtifact'",
    ),
    ("{type: GitLabTag}", "spec.url must not be empty when spec.type is not 'Static' or 'ExternalArtifact'"),
    (
        "{type: GiteaTag, url: \"oci://a/b\"}",
        "must start with 'http://' or 'https://' when spec.type is a Git provider",
    ),
    (
        "{type: OCIArtifactTag, url: \"https://a/b\"}",
        "spec.url must start with 'oci://' when spec.type is an OCI provider",
    ),
    ("{type: OCIArtifactTag, url: \"oci://a\"}", "must include the repository path after the registry host"),
    ("{type: ExternalService, url: \"http://a\"}", "spec.url must use 'https://' unless spec.insecure is true"),
    ("{type: GitHubTag, url: \"https://a\", insecure: true}", "spec.insecure can only be set when"),
    ("{type: GitHubTag, url: \"https://a\", serviceAccountName: x}", "cannot specify spec.serviceAccountName when"),
    ("{type: Static, secretRef: {name: x}}", "cannot specify spec.secretRef when"),
    ("{type: Static, certSecretRef: {name: x}}", "cannot specify spec.certSecretRef when"),
    ("{type: ExternalArtifact}", "spec.selectors must be set when spec.type is 'ExternalArtifact'"),
    ("{type: Static, selectors: [{}]}", "spec.selectors must not be set when spec.type is not 'ExternalArtifact'"),
    (
        "{type: ExternalArtifact, selectors: [{name: a, matchLabels: {}}]}",
        "name is mutually exclusive with matchLabels and matchExpressions",
    ),
    ("{type: GitHubTag, url: \"https://a\", filter: {limit: 10001}}", "should be less than or equal to 10000"),
    ("{type: GitHubTag, url: \"ftp://a\"}", "should match"),
];

async fn the_rules_of_resource_sets_and_their_providers_are_those_of_the_reference(cluster: TestCluster) {
    let own = cluster.fresh(Options::api_server_only()).await;
    let definitions = Api::<CustomResourceDefinition>::all(own.client().clone());
    let kinds = [
        ("ResourceSet", crd::resource_set(), RESOURCE_SETS),
        ("ResourceSetInputProvider", crd::input_provider(), PROVIDERS),
    ];
    for (kind, definition, specs) in kinds {
        let definition = serde_json::from_value(definition).expect("a definition");
        definitions.create(&PostParams::default(), &definition).await.expect("the definition is valid");
        let version = kube::api::GroupVersionKind::gvk("fluxcd.controlplane.io", "v1", kind);
        let resource = ApiResource::from_gvk_with_plural(&version, &format!("{}s", kind.to_lowercase()));
        let objects: Api<DynamicObject> = Api::namespaced_with(own.client().clone(), "default", &resource);
        eventually("the kind to be served", SOON, || async { objects.list(&Default::default()).await.ok() })
            .await
            .expect("served");
        for (index, (spec, refusal)) in specs.iter().enumerate() {
            let spec = yaml::parse_one(spec).expect("YAML");
            let object = json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": kind,
                "metadata": {"name": format!("a-{index}")}, "spec": spec});
            match create(&objects, &object).await {
                Ok(stored) => {
                    assert!(refusal.is_empty(), "{spec} is accepted");
                    // The types read what the server gives back, with its defaults.
                    let stored = serde_json::to_value(&stored).expect("JSON");
                    let again = match kind {
                        "ResourceSet" => {
                            serde_json::from_value::<ResourceSet>(stored.clone()).map(|set| json!(set.spec))
                        }
                        _ => serde_json::from_value::<ResourceSetInputProvider>(stored.clone())
                            .map(|one| json!(one.spec)),
                    };
                    assert_eq!(again.expect("read"), stored["spec"], "{spec}");
                }
                Err(error) => assert!(!refusal.is_empty() && error.contains(refusal), "{spec}: {error}"),
            }
        }
    }
}
