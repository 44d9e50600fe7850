//! Tests against the real Flux controllers on a real control plane: sources and Kustomizations that are really ready,
//! failing and suspended, and what the binary says and does about them; `tests/support/lib.rs` says how to add one.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a failed test panics"
)]

mod artifacts;
mod bootstrap;
mod harness;
mod health_expressions;
mod incident;
mod notifications;
mod owners;
mod prune;
mod reads;
mod requests;
mod ssh;
mod sync;
mod world;

use std::process::ExitCode;

use test_support::cluster_tests;
use test_support::flux::Controller;
use test_support::{self as support, ClusterTest};

fn main() -> ExitCode {
    let installing = [bootstrap::tests(), notifications::tests(), ssh::tests(), sync::tests()]
        .concat()
        .into_iter()
        .map(ClusterTest::that_installs)
        .collect();
    support::run_flux_tests(
        [
            harness::tests(),
            health_expressions::tests(),
            artifacts::tests(),
            incident::tests(),
            owners::tests(),
            prune::tests(),
            reads::tests(),
            requests::tests(),
            installing,
        ]
        .concat(),
        &[Controller::Source, Controller::Kustomize, Controller::Helm],
    )
}
