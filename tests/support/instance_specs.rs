//! FluxInstances that are refused, with the expected refusals: one table for the rule book, the definition and the
//! build.
#![allow(dead_code, reason = "only the tests with an API server ask it")]

use serde_json::{Value, json};

/// A refused spec: the name of the instance, its spec in YAML after `distribution`, and a part of each refusal.
pub struct Refused {
    pub name: &'static str,
    pub spec: &'static str,
    /// The message of the rule book.
    pub by_us: &'static str,
    /// The API server's message; empty if its schema and rules cannot detect the problem and it accepts the spec.
    pub by_api_server: &'static str,
}

const fn both(spec: &'static str, by_us: &'static str, by_api_server: &'static str) -> Refused {
    Refused { name: "flux", spec, by_us, by_api_server }
}

const fn only_us(spec: &'static str, by_us: &'static str) -> Refused {
    both(spec, by_us, "")
}

pub const REFUSED: &[Refused] = &[
    Refused {
        name: "other",
        spec: "",
        by_us: "metadata.name: a FluxInstance has to be named 'flux'",
        by_api_server: "a FluxInstance has to be named 'flux'",
    },
    both("components: [nope]", "spec.components[0]: \"nope\" is not one of", "Unsupported value"),
    both("distribution: {variant: alpine}", "spec.distribution.variant: \"alpine\" is not one of", "Unsupported value"),
    both("distribution: {artifact: ghcr.io/a}", "spec.distribution.artifact: ", "should match"),
    both("cluster: {size: huge}", "spec.cluster.size: \"huge\" is not one of", "Unsupported value"),
    both("cluster: {type: other}", "spec.cluster.type: \"other\" is not one of", "Unsupported value"),
    both(
        "cluster: {multitenantWorkloadIdentity: true}",
        "multitenantWorkloadIdentity needs objectLevelWorkloadIdentity to be true",
        "multitenantWorkloadIdentity needs objectLevelWorkloadIdentity to be true",
    ),
    both("sharding: {shards: []}", "spec.sharding.shards: at least 1 item is needed", "should have at least 1 items"),
    both("sharding: {}", "spec.sharding.shards is required", "Required value"),
    both(
        "sharding: {shards: [a], storage: persistent}",
        "sharding.storage 'persistent' needs .spec.storage to be set",
        "sharding.storage 'persistent' needs .spec.storage to be set",
    ),
    both("sharding: {shards: [a], storage: other}", "spec.sharding.storage: \"other\"", "Unsupported value"),
    both("storage: {class: a}", "spec.storage.size is required", "Required value"),
    both("kustomize: {patches: [{}]}", "spec.kustomize.patches[0].patch is required", "Required value"),
    both("sync: {kind: Bucket, url: a, ref: b}", "spec.sync.path is required", "Required value"),
    both("sync: {kind: Other, url: a, ref: b, path: c}", "spec.sync.kind: \"Other\"", "Unsupported value"),
    both("sync: {kind: Bucket, url: a, ref: b, path: c, interval: 1d}", "spec.sync.interval: \"1d\"", "should match"),
    both(
        "sync: {kind: GitRepository, url: 'https://a', ref: b, path: c, provider: gcp}",
        "sync.provider 'gcp' works with OCIRepository and Bucket only",
        "sync.provider 'gcp' works with OCIRepository and Bucket only",
    ),
    both(
        "sync: {kind: Bucket, url: a, ref: b, path: c, provider: github}",
        "sync.provider 'github' works with GitRepository only",
        "sync.provider 'github' works with GitRepository only",
    ),
    both("sync: {kind: Bucket, url: a, ref: b, path: c, provider: other}", "spec.sync.provider: ", "Unsupported value"),
    only_us("distribution: {version: latest}", "spec.distribution.version: \"latest\" is not a version"),
    only_us("distribution: {registry: 'https://a'}", "spec.distribution.registry: \"https://a\" is not a registry"),
    only_us("distribution: {registry: ''}", "spec.distribution.registry is required"),
    only_us("distribution: {artifact: 'oci://a'}", "spec.distribution.artifact: \"oci://a\" is not an address"),
    only_us("distribution: {imagePullSecret: A}", "spec.distribution.imagePullSecret: \"A\" is not the name"),
    only_us(
        "components: [helm-controller, helm-controller]",
        "spec.components[1]: helm-controller is already in the list",
    ),
    only_us("cluster: {domain: cluster.local.}", "spec.cluster.domain: \"cluster.local.\" is not a DNS domain"),
    only_us("cluster: {tenantDefaultServiceAccount: A}", "spec.cluster.tenantDefaultServiceAccount: \"A\" is not"),
    only_us("sharding: {shards: [a, a]}", "spec.sharding.shards[1]: a is already in the list"),
    only_us("sharding: {shards: [Abc]}", "spec.sharding.shards[0]: \"Abc\" is not a shard name"),
    only_us(
        "sharding: {shards: [a23456789-123456789-123456789-123456789-123]}",
        "spec.sharding.shards[0]: \"a23456789-123456789-123456789-123456789-123\" has 43 characters, at most 42",
    ),
    only_us("sharding: {shards: [a], key: no key}", "spec.sharding.key: \"no key\" is not the key of a label"),
    only_us("storage: {class: '', size: 1Gi}", "spec.storage.class is required"),
    only_us("storage: {class: a, size: 10GB}", "spec.storage.size: \"10GB\" is not a size"),
    only_us("commonMetadata: {labels: {fluxcd.controlplane.io/name: a}}", "this key is reserved"),
    only_us("commonMetadata: {annotations: {fluxcd.controlplane.io/prune: a}}", "this key is reserved"),
    only_us("commonMetadata: {labels: {a: b c}}", "spec.commonMetadata.labels.a: \"b c\" is not the value of a label"),
    only_us(
        "sync: {kind: GitRepository, url: 'git@a:b', ref: b, path: c}",
        "spec.sync.url: \"git@a:b\" is not an address for GitRepository",
    ),
    only_us("sync: {kind: OCIRepository, url: a/b, ref: b, path: c}", "spec.sync.url: \"a/b\" is not an address"),
    only_us("sync: {kind: Bucket, url: '', ref: b, path: c}", "spec.sync.url is required"),
    only_us(
        "sync: {kind: Bucket, url: a, ref: b, path: c, interval: 99999999999h}",
        "spec.sync.interval: \"99999999999h\" is not a duration",
    ),
];

/// Specs that the rule book, the definition and the build accept, with the same defaults.
pub const ACCEPTED: &[&str] = &[
    "",
    "wait: null, cluster: null, components: [source-watcher]",
    "cluster: {}, sharding: {shards: [a, b]}, kustomize: {patches: [{patch: '[{op: add, path: /metadata/labels/a, value: b}]', target: {kind: Deployment}}]}",
    "cluster: {multitenantWorkloadIdentity: true, objectLevelWorkloadIdentity: true, size: null, networkPolicy: false}",
    "sharding: {shards: [a], storage: persistent}, storage: {class: a, size: 1Gi}",
    "components: [source-watcher], sharding: {shards: [a]}",
    "sync: {kind: OCIRepository, url: 'oci://a/b', ref: b, path: c, provider: gcp}, migrateResources: false",
    "sync: {kind: GitRepository, url: 'https://a/b', ref: b, path: c, provider: github, name: x}",
];

/// Returns the instance for a spec of the tables, as a user would write it.
pub fn instance(name: &str, spec: &str) -> Value {
    let mut spec = flux_operator::format::yaml::parse_one(&format!("{{{spec}}}")).expect("YAML");
    let mut distribution = json!({"version": "2.x", "registry": "ghcr.io/fluxcd"});
    if let Some(own) = spec["distribution"].as_object() {
        for (field, value) in own {
            distribution[field] = value.clone();
        }
    }
    spec["distribution"] = distribution;
    json!({
        "apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
        "metadata": {"name": name, "namespace": "default"}, "spec": spec,
    })
}
