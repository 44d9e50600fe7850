//! Tests that need neither a cluster nor a network: of the library's pure rooms, and of the built binary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a failed test panics"
)]

// They read the sources, which are the same on every system.
#[cfg(unix)]
mod architecture;
mod cli;
mod distribution;
mod documents;
// Its commands are lines for bash and zsh.
#[cfg(unix)]
mod guide;
mod kustomize_judge;
mod manifests;
mod needs;
mod outside_suites;
mod parsers;
#[cfg(unix)]
mod prose;
mod recorded_resource_sets;
mod recorded_templates;
// It reads the sources as well.
#[cfg(unix)]
mod slow_tests;
// It runs Wine.
#[cfg(unix)]
mod windows;

use test_support::instance_specs;
