//! Tests against a real control plane: etcd, API server, controller manager, scheduler and simulated kubelets;
//! `tests/support/mod.rs` says how to add one.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a failed test panics"
)]

#[path = "../support/mod.rs"]
mod support;

mod bootstrap;
mod chart;
mod cluster;
mod commands;
mod controller;
mod faults;
mod inspect;
#[path = "../support/instance_specs.rs"]
mod instance_specs;
mod operator;
mod reconcile;

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(exit) = cluster::harness::run_as_child().or_else(reconcile::kills::run_as_child) {
        return exit;
    }
    let tests = [
        bootstrap::tests(),
        chart::tests(),
        cluster::tests(),
        commands::tests(),
        controller::tests(),
        inspect::tests(),
        operator::tests(),
        reconcile::tests(),
        faults::tests(),
    ];
    support::run_tests(tests.concat())
}
