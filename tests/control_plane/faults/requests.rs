//! Each request of each phase fails once.

use super::matrix::{self, Actor, Extent, Report};
use crate::cluster_tests;
use crate::support::{ClusterTest, TestCluster};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        a_run_or_the_next_one_converges_after_every_failed_request,
        the_operator_converges_after_every_failed_request,
    ]
}

async fn a_run_or_the_next_one_converges_after_every_failed_request(_: TestCluster) {
    let report =
        matrix::run(Actor::InProcess, Extent::Rotating, 3, super::progress()).await.expect("undisturbed lives succeed");
    assert!(report.failures.is_empty(), "{}", report.failures.join("\n\n"));
    // A watch, and the list of one object that comes before it, are only there where something was not ready at the first look,
    // and a lease is only renewed where a life is slow: a second write of it need not come again.
    let depends_on_time = |trial: &&String| {
        trial.contains("watch=true")
            || trial.contains("fieldSelector=metadata.name")
            || (trial.contains(" PUT ") && trial.contains("/leases/") && !trial.ends_with("(number 1)"))
    };
    let (timed, others): (Vec<_>, Vec<_>) = report.unmet.iter().partition(depends_on_time);
    assert!(others.is_empty(), "these requests did not come again: {others:#?}");
    let met: usize = report.met.values().map(|(count, _)| count).sum();
    assert_eq!(
        met + timed.len() + report.left_out,
        report.requests.values().sum::<usize>(),
        "every request failed once"
    );
    // A run without requests would prove nothing.
    assert!(report.requests.values().all(|count| *count >= 5), "{:?}", report.requests);
    print_left_out(&report);
    eprintln!("requests per phase: {:?}; met, and got over by the same run: {:?}", report.requests, report.met);
}

/// CI collects lines that begin like this one.
fn print_left_out(report: &Report) {
    if report.left_out > 0 {
        let (left_out, all) = (report.left_out, report.requests.values().sum::<usize>());
        eprintln!(
            "left out: {left_out} trials of the fault matrix ({all} requests), because the time for them was over"
        );
    }
}

/// Some hundred requests make a life of an operator: `cargo run -p tools --bin fault-matrix -- operator` takes all of them.
async fn the_operator_converges_after_every_failed_request(_: TestCluster) {
    let report = matrix::run(Actor::Operator, Extent::Sample(12), 2, super::progress())
        .await
        .expect("undisturbed lives succeed");
    assert!(report.failures.is_empty(), "{}", report.failures.join("\n\n"));
    // Watches are opened again when something ends them, so not each of them comes in each life.
    let met: usize = report.met.values().map(|(count, _)| count).sum();
    assert!(met > 4 * report.unmet.len() && met + report.left_out >= 30, "{met} met, not met: {:#?}", report.unmet);
    assert!(report.requests.values().all(|count| *count >= 12), "{:?}", report.requests);
    print_left_out(&report);
    eprintln!("requests per phase: {:?}; {met} met, {} not", report.requests, report.unmet.len());
}
