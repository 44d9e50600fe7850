//! Tests against a real control plane: etcd, API server, controller manager, scheduler and simulated kubelets;
//! `tests/support/lib.rs` says how to add one.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a failed test panics"
)]

mod bootstrap;
mod chart;
mod cluster;
mod commands;
mod controller;
mod faults;
mod guide;
mod inspect;
mod operator;
mod reconcile;
mod windows;

use std::process::ExitCode;

use test_support::cluster_tests;
// Rooms say `crate::support::…`.
use test_support as support;
use test_support::instance_specs;

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
        guide::tests(),
        // It compiles the program for Windows first. Beside the other tests, that takes almost the time that a test has.
        windows::tests(),
    ];
    support::run_tests(tests.concat())
}
