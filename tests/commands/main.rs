//! Commands that ask something of a cluster, as a person runs them: against a real API server, with the controller's
//! part played by the test.

#[path = "../support/mod.rs"]
mod support;

mod cluster_objects;
mod deleting;
mod in_process;
mod requests;
mod terminal;
mod waiting;

use std::process::ExitCode;

fn main() -> ExitCode {
    let tests =
        [requests::tests(), waiting::tests(), deleting::tests(), terminal::tests(), in_process::tests()].concat();
    support::run_tests(tests)
}
