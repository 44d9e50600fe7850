//! Tests against the real Flux controllers on a real control plane; `tests/support/mod.rs` says how to add one.

#[path = "../support/mod.rs"]
mod support;

mod harness;

use std::process::ExitCode;

use support::flux::Controller;

fn main() -> ExitCode {
    support::run_flux_tests([harness::tests()].concat(), &[Controller::Source, Controller::Kustomize])
}
