//! Installations that are disturbed: a request that fails, a process that is killed, a person who presses Ctrl-C.

#[path = "../support/mod.rs"]
mod support;

mod matrix;
mod requests;
mod site;

use std::process::ExitCode;

fn main() -> ExitCode {
    support::run_tests([requests::tests()].concat())
}
