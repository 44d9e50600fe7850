//! The flux-operator that a developer's program starts. `FLUX_OPERATOR` names another one.
#![allow(dead_code, reason = "no program needs both")]

use std::env;
use std::path::PathBuf;

use test_support::Fallible;

/// Returns the program as it ships, from the target folder that this program is in.
///
/// # Errors
/// It is not there.
pub fn shipped() -> Fallible<PathBuf> {
    found("../dist/flux-operator", "cargo build --profile dist")
}

/// Returns the program that was built with the same profile as this one.
///
/// # Errors
/// It is not there.
pub fn beside() -> Fallible<PathBuf> {
    found("flux-operator", "cargo build")
}

fn found(from_here: &str, command: &str) -> Fallible<PathBuf> {
    let built = env::current_exe()?.with_file_name(from_here);
    let program = env::var_os("FLUX_OPERATOR").map_or(built, PathBuf::from);
    program
        .canonicalize()
        .map_err(|error| format!("cannot find {} ({error}); run: {command}", program.display()).into())
}
