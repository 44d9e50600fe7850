//! The read side against a real control plane: what is shown, what is asked of the API server, and why things are not ready.

#[path = "../support/mod.rs"]
mod support;

mod reads;
mod why;
mod world;

use std::process::ExitCode;

fn main() -> ExitCode {
    support::run_tests([why::tests(), reads::tests()].concat())
}
