//! What an incident costs beside the list of the same objects, without a cluster: `cargo bench --bench incident`.
//!
//! The whole commands against an API server are measured by `tools/scale.rs incident`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    dead_code,
    reason = "a program of developers: it prints, and a failed one panics"
)]

use std::time::Instant;

use divan::Bencher;
use divan::counter::BytesCount;
use flux_operator::api::kinds::FLUX_KINDS;
use flux_operator::inspect::diagnose::resources;
use flux_operator::inspect::diagnose::why::overview;
use flux_operator::inspect::read::snapshot::Snapshot;
use flux_operator::inspect::views::logs::{LogFilter, Severity, split_moment};
use flux_operator::k8s::ObjectId;
use jiff::Timestamp;
use serde_json::{Value, json};
use test_support::incident;

const OBJECTS: usize = 2_000;
const LOG_BYTES: usize = 100 << 20;
/// Rounds of the side by side measurement.
const ROUNDS: usize = 41;

fn main() {
    side_by_side();
    divan::main();
}

fn snapshot() -> Snapshot {
    let controller = |name: &str| -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": name, "namespace": "flux-system", "labels": {"app.kubernetes.io/part-of": "flux"}},
            "spec": {"replicas": 1}, "status": {"replicas": 1, "readyReplicas": 1, "updatedReplicas": 1, "availableReplicas": 1,
                "conditions": [{"type": "Available", "status": "True"}]}})
    };
    let controllers = ["source-controller", "kustomize-controller"].map(controller);
    Snapshot::of_dump(incident::flux_objects(OBJECTS).into_iter().chain(incident::workloads()).chain(controllers))
}

fn get_all(snapshot: &Snapshot) -> usize {
    let rows = FLUX_KINDS.iter().flat_map(|kind| resources::rows(snapshot, kind, None));
    rows.filter_map(|row| serde_json::to_value(row).ok()).collect::<Vec<_>>().len()
}

fn why_all(snapshot: &Snapshot) -> usize {
    overview(snapshot, None, Timestamp::UNIX_EPOCH).failing
}

/// Both in turn on the same objects, so that whatever else the machine does meets both.
fn side_by_side() {
    let snapshot = snapshot();
    assert_eq!((get_all(&snapshot), why_all(&snapshot)), (OBJECTS, incident::FAILING));
    let time = |work: &dyn Fn(&Snapshot) -> usize| {
        let start = Instant::now();
        divan::black_box(work(&snapshot));
        start.elapsed().as_secs_f64() * 1000.0
    };
    let mut rounds: Vec<(f64, f64)> = (0..ROUNDS).map(|_| (time(&get_all), time(&why_all))).collect();
    rounds.sort_by(|a, b| (a.1 / a.0).total_cmp(&(b.1 / b.0)));
    let (list, why) = rounds[ROUNDS / 2];
    println!(
        "{OBJECTS} objects, {} fail: list {list:.1} ms, why {why:.1} ms, ratio {:.2}",
        incident::FAILING,
        why / list
    );
}

#[divan::bench]
fn list_of_all(bencher: Bencher) {
    let snapshot = snapshot();
    bencher.bench_local(|| get_all(&snapshot));
}

#[divan::bench]
fn why_of_all(bencher: Bencher) {
    let snapshot = snapshot();
    bencher.bench_local(|| why_all(&snapshot));
}

fn filtered(bencher: Bencher, filter: &LogFilter) {
    let text = incident::log(LOG_BYTES);
    bencher
        .counter(BytesCount::of_str(&text))
        .bench_local(|| text.lines().filter(|line| filter.matches(split_moment(line).1)).count());
}

#[divan::bench(sample_count = 5)]
fn logs_of_one_object(bencher: Bencher) {
    let object = ObjectId::new("kustomize.toolkit.fluxcd.io", "Kustomization", Some("scale-00"), "app-4711");
    filtered(bencher, &LogFilter { objects: vec![object], least: None });
}

#[divan::bench(sample_count = 5)]
fn logs_of_errors(bencher: Bencher) {
    filtered(bencher, &LogFilter { objects: vec![], least: Some(Severity::Error) });
}
