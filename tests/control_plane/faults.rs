//! Disturbed installations: a failing request, a killed process, a user who presses Ctrl-C.

mod interrupts;
// The example `fault-matrix` uses the rest.
#[allow(dead_code, reason = "tests and tools use different parts of it")]
mod matrix;
mod processes;
mod reported_endings;
mod requests;
mod second_actor;
#[allow(dead_code, reason = "tests and tools use different parts of it")]
mod site;

use crate::support::ClusterTest;

pub fn tests() -> Vec<ClusterTest> {
    [requests::tests(), second_actor::tests(), interrupts::tests(), reported_endings::tests()].concat()
}

/// Says what goes on, when asked to.
fn progress() -> fn(&str) {
    if std::env::var_os("FAULTS_VERBOSE").is_some() { |line| eprintln!("{line}") } else { |_| () }
}
