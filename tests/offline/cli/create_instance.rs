//! `create instance`: the manifest it prints is one that every other command reads.

use flux_operator::api::manifest::{self, NamespaceChoice};
use flux_operator::build::{self, BuildOptions};
use flux_operator::distribution::Distribution;

use crate::cli::support::run;

fn created(flags: &[&str]) -> flux_operator::api::CheckedInstance {
    let mut arguments = vec!["create", "instance", "--export"];
    arguments.extend(flags);
    let manifest = run(&arguments).exits(0).stdout;
    let read = manifest::read(&manifest, &NamespaceChoice::default());
    read.unwrap_or_else(|error| panic!("{error}\n{manifest}")).instance
}

#[test]
fn without_flags_the_default_instance_is_printed() {
    let run = run(&["create", "instance", "--export"]).exits(0);
    insta::assert_snapshot!(run.stdout, @r"
    apiVersion: fluxcd.controlplane.io/v1
    kind: FluxInstance
    metadata:
      name: flux
      namespace: flux-system
    spec:
      distribution:
        version: 2.x
        registry: ghcr.io/fluxcd
    ");
    assert_eq!(run.stderr, "");
}

#[test]
fn every_flag_arrives_in_its_field_and_the_result_builds() {
    let instance = created(&[
        "-n",
        "fleet",
        "--distribution-version",
        "2.9.x",
        "--distribution-registry",
        "mirror.example.com/fluxcd",
        "--distribution-variant",
        "upstream-alpine",
        "--distribution-artifact",
        "oci://example.com/flux:latest",
        "--distribution-artifact-pull-secret",
        "artifact-auth",
        "--distribution-image-pull-secret",
        "image-auth",
        "--components",
        "source-controller,kustomize-controller",
        "--components-extra",
        "source-watcher,source-controller",
        "--cluster-type",
        "openshift",
        "--cluster-size",
        "large",
        "--cluster-domain",
        "corp.example",
        "--cluster-multitenant",
        "--cluster-network-policy=false",
        "--storage-class",
        "fast",
        "--storage-size",
        "10Gi",
        "--shards",
        "a,b",
        "--sharding-key",
        "example.com/shard",
        "--sharding-storage",
        "persistent",
        "--sync-url",
        "minio.example.com",
        "--sync-kind",
        "Bucket",
        "--sync-ref",
        "fleet",
        "--sync-path",
        "clusters/a",
        "--sync-interval",
        "5m",
        "--sync-pull-secret",
        "bucket-auth",
        "--sync-provider",
        "aws",
        "--sync-name",
        "root",
    ]);
    assert_eq!(instance.metadata.namespace.as_deref(), Some("fleet"));
    let spec = serde_json::to_value(&instance.spec).expect("JSON");
    let rows = [
        ("/distribution/version", "2.9.x"),
        ("/distribution/registry", "mirror.example.com/fluxcd"),
        ("/distribution/variant", "upstream-alpine"),
        ("/distribution/artifact", "oci://example.com/flux:latest"),
        ("/distribution/artifactPullSecret", "artifact-auth"),
        ("/distribution/imagePullSecret", "image-auth"),
        ("/components/2", "source-watcher"),
        ("/cluster/type", "openshift"),
        ("/cluster/size", "large"),
        ("/cluster/domain", "corp.example"),
        ("/storage/class", "fast"),
        ("/storage/size", "10Gi"),
        ("/sharding/shards/1", "b"),
        ("/sharding/key", "example.com/shard"),
        ("/sharding/storage", "persistent"),
        ("/sync/url", "minio.example.com"),
        ("/sync/kind", "Bucket"),
        ("/sync/ref", "fleet"),
        ("/sync/path", "clusters/a"),
        ("/sync/interval", "5m"),
        ("/sync/pullSecret", "bucket-auth"),
        ("/sync/provider", "aws"),
        ("/sync/name", "root"),
    ];
    for (field, value) in rows {
        assert_eq!(spec.pointer(field).and_then(|v| v.as_str()), Some(value), "{field}");
    }
    assert_eq!(spec["components"].as_array().map(Vec::len), Some(3), "each controller once");
    assert_eq!((&spec["cluster"]["multitenant"], &spec["cluster"]["networkPolicy"]), (&true.into(), &false.into()));
    build::build(&instance, &Distribution::embedded(), &BuildOptions::default()).expect("builds");
}

#[test]
fn the_kind_and_reference_of_a_sync_follow_the_address() {
    let sync = |flags: &[&str]| created(flags).into_inner().spec.sync.expect("sync");
    let git = sync(&["--sync-url", "https://example.com/fleet.git"]);
    assert_eq!(
        (git.kind.as_str(), git.reference.as_str(), git.path.as_str()),
        ("GitRepository", "refs/heads/main", "./")
    );
    let oci = sync(&["--sync-url", "oci://example.com/fleet"]);
    assert_eq!((oci.kind.as_str(), oci.reference.as_str()), ("OCIRepository", "latest"));
    run(&["create", "instance", "--export", "--sync-url", "minio:9000", "--sync-kind", "Bucket"])
        .exits(2)
        .stderr_has("hint: add --sync-ref NAME");
}

#[test]
fn short_names_of_the_flags_are_understood() {
    let instance = created(&["--registry", "fluxcd", "--size", "small", "--type", "aws", "--network-policy=false"]);
    assert_eq!(instance.spec.distribution.registry, "fluxcd");
    assert_eq!(instance.into_inner().spec.cluster.expect("cluster").size.as_deref(), Some("small"));
}

#[test]
fn json_is_the_same_manifest() {
    let json = run(&["create", "instance", "--export", "--cluster-size", "small", "-o", "json"]).exits(0).stdout;
    let value: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(value["spec"]["cluster"]["size"], "small");
}

#[test]
fn values_that_the_api_would_refuse_are_refused_at_once() {
    run(&[
        "create",
        "instance",
        "--export",
        "--shards",
        "A,a",
        "--sync-url",
        "ftp://x",
        "--distribution-version",
        "newest",
    ])
    .exits(2)
    .stderr_has("error: cannot create the FluxInstance\n")
    .stderr_has("caused by: spec.distribution.version: \"newest\" is not a version")
    .stderr_has("caused by: spec.sharding.shards[0]: \"A\" is not a shard name")
    .stderr_has("caused by: spec.sync.url: \"ftp://x\" is not an address for GitRepository");
    let json = run(&["create", "instance", "--export", "--shards", "A", "-o", "json"]).exits(2).stderr;
    let error: serde_json::Value = serde_json::from_str(&json).expect("a JSON error");
    assert!(error["causes"][0].as_str().expect("text").starts_with("spec.sharding.shards[0]"), "{error}");
    run(&["create", "instance", "--export", "--sharding-storage", "persistent", "--shards", "a"])
        .exits(2)
        .stderr_has("sharding.storage 'persistent' needs .spec.storage to be set");
    run(&["create", "instance", "--export", "--storage-size", "1Gi"]).exits(2).stderr_has("--storage-class");
}

#[test]
fn mistyped_values_and_flags_get_a_suggestion() {
    run(&["create", "instance", "--export", "--cluster-size", "smal"]).exits(2).stderr_has("small");
    run(&["create", "instance", "--export", "--components", "helm-contoller"]).exits(2).stderr_has("helm-controller");
    run(&["create", "instance", "--export", "--sync-ulr", "x"]).exits(2).stderr_has("--sync-url");
    run(&["create", "instnace"]).exits(2).stderr_has("instance");
}
