//! Tests against a real control plane; `tests/support/mod.rs` says how to add one.

#[path = "../support/mod.rs"]
mod support;

mod access;
mod api;
mod canary;
mod harness;
mod program;
mod secrets;

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(exit) = harness::run_as_child() {
        return exit;
    }
    let tests = [access::tests(), api::tests(), canary::tests(), harness::tests(), secrets::tests()];
    support::run_tests(tests.concat())
}
