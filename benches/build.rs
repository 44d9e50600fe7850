//! How long a build takes without starting a process: `cargo bench --bench build`.
//!
//! `benches/compare.sh` measures the whole command and compares it with others.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program of developers: it prints, and a failed one panics"
)]

use divan::Bencher;
use flux_operator::api::{CheckedInstance, FluxInstance};
use flux_operator::build::{BuildOptions, build};
use flux_operator::distribution::Distribution;
use flux_operator::format::yaml;
use serde_json::{Value, json};

const ALL: [&str; 7] = [
    "source-controller",
    "kustomize-controller",
    "helm-controller",
    "notification-controller",
    "image-reflector-controller",
    "image-automation-controller",
    "source-watcher",
];

fn main() {
    divan::main();
}

fn instance(mut spec: Value) -> CheckedInstance {
    spec["distribution"] = json!({"version": "2.9.4", "registry": "ghcr.io/fluxcd"});
    let object = json!({
        "apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
        "metadata": {"name": "flux", "namespace": "flux-system"}, "spec": spec,
    });
    let instance = FluxInstance::from_object(object).expect("an instance");
    CheckedInstance::check(instance).expect("a valid one")
}

fn shards(count: usize) -> Value {
    let names: Vec<String> = (1..=count).map(|index| format!("s{index}")).collect();
    json!({ "key": "sharding.fluxcd.io/key", "shards": names })
}

fn built(bencher: Bencher, spec: Value) {
    let (instance, distribution, options) = (instance(spec), Distribution::embedded(), BuildOptions::default());
    bencher.bench(|| build(&instance, &distribution, &options).expect("it builds"));
}

#[divan::bench]
fn default_instance(bencher: Bencher) {
    built(bencher, json!({}));
}

#[divan::bench]
fn all_components(bencher: Bencher) {
    built(bencher, json!({ "components": ALL }));
}

#[divan::bench]
fn three_shards_and_ten_patches(bencher: Bencher) {
    let patch = json!({
        "target": {"kind": "Deployment", "name": "(kustomize|helm)-controller"},
        "patch": "- {op: add, path: /spec/template/spec/containers/0/args/-, value: --x}",
    });
    built(bencher, json!({ "sharding": shards(3), "kustomize": {"patches": vec![patch; 10]} }));
}

#[divan::bench]
fn fifty_shards(bencher: Bencher) {
    built(bencher, json!({ "sharding": shards(50) }));
}

/// What is left of `build instance` after the build.
#[divan::bench]
fn printing_the_default_instance(bencher: Bencher) {
    let build = build(&instance(json!({})), &Distribution::embedded(), &BuildOptions::default()).expect("it builds");
    bencher.bench(|| yaml::document_stream(&build.objects).expect("it prints"));
}
