//! Tests that need neither a cluster nor a network: of the library's pure rooms, and of the built binary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a failed test panics"
)]

mod architecture;
mod cli;
mod distribution;
mod documents;
mod guide;
mod kustomize_judge;
mod manifests;
mod needs;
mod outside_suites;
mod parsers;
mod prose;
mod windows;

use test_support::instance_specs;
