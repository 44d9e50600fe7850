//! Fails every request of an installation's life in every possible way, then kills processes at 50 moments.
//!
//! `cargo build && cargo run -p tools --bin fault-matrix` (or both with `--release`) prints a table and the problems,
//! and fails if there are any. `-v` shows progress. It takes a quarter of an hour on two cores. `-- operator` does the
//! same with the operator behind the proxy. The tests under `tests/control_plane/faults` do the same with one fault for
//! each request.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program of developers: it prints, and a failed one panics"
)]

#[path = "program.rs"]
mod program;
// Shared with the tests, which use other parts of it.
#[path = "../../tests/control_plane/faults/matrix.rs"]
#[allow(dead_code, reason = "tests and tools use different parts of it")]
mod matrix;
#[path = "../../tests/control_plane/faults/processes.rs"]
#[allow(dead_code, reason = "tests and tools use different parts of it")]
mod processes;
#[path = "../../tests/control_plane/faults/site.rs"]
#[allow(dead_code, reason = "tests and tools use different parts of it")]
mod site;

use test_support as support;

use std::process::ExitCode;

use matrix::{Actor, Extent, Kind, Phase};
use test_support::Fallible;

const MOMENTS: usize = 50;
const WORKERS: usize = 3;

#[tokio::main]
async fn main() -> Fallible<ExitCode> {
    if let Some(reason) = test_support::programs::unavailable_because() {
        eprintln!("error: cannot start a control plane: it {reason}");
        return Ok(ExitCode::FAILURE);
    }
    let progress: fn(&str) =
        if std::env::args_os().any(|argument| argument == "-v") { |line| eprintln!("{line}") } else { |_| () };
    let with_operator = std::env::args_os().any(|argument| argument == "operator");
    let actor = if with_operator { Actor::Operator } else { Actor::InProcess };
    let report = matrix::run(actor, Extent::Full, WORKERS, progress).await?;
    println!("failed requests; in brackets: recovered by the same run (the others: by the next run)");
    print!("{:<18}", "");
    Phase::ALL.iter().for_each(|phase| print!("{:>16}", format!("{phase:?}")));
    println!();
    for kind in Kind::ALL {
        print!("{:<18}", format!("{kind:?}"));
        for phase in Phase::ALL {
            let (met, at_once) = report.met.get(&(phase, kind)).copied().unwrap_or_default();
            print!("{:>16}", format!("{met} ({at_once})"));
        }
        println!();
    }
    let met: usize = report.met.values().map(|(met, _)| met).sum();
    println!(
        "{met} faults met, {} requests did not come again, {} failures",
        report.unmet.len(),
        report.failures.len()
    );
    report.unmet.iter().for_each(|unmet| println!("not met: {unmet}"));
    report.failures.iter().for_each(|failure| println!("\n{failure}"));
    if with_operator {
        return Ok(if report.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }

    let binary = program::beside()?;
    let failures = processes::killed(&binary, MOMENTS, 7, WORKERS, progress).await?;
    println!("killed at {MOMENTS} moments: {} failures", failures.len());
    failures.iter().for_each(|failure| println!("\n{failure}"));
    let clean = report.failures.is_empty() && report.unmet.is_empty() && failures.is_empty();
    Ok(if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
