//! What a few tests need beyond this package. Where it is missing they say so and pass; in CI that is a failure.

use std::path::{Path, PathBuf};
use std::process::Command;

/// # Panics
/// Under `CI=true`, where nothing may be missing.
fn missing(what: &str) {
    let in_ci = std::env::var("CI").is_ok_and(|value| value == "true");
    assert!(!in_ci, "CI=true, but the test cannot run: it {what}");
    eprintln!("skipped: {what}");
}

/// Whether there is a kubectl, whose kustomize is an independent judge.
pub fn has_kubectl() -> bool {
    let found = Command::new("kubectl").args(["kustomize", "--help"]).output().is_ok_and(|o| o.status.success());
    if !found {
        missing("needs kubectl: its kustomize is the judge");
    }
    found
}

/// The folder that the variable names, or one beside this package.
pub fn folder(variable: &str, beside: &str, what: &str) -> Option<PathBuf> {
    let folder =
        std::env::var_os(variable).map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join(beside), PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    missing(&format!("needs {what}: {} is not there, and {variable} names no other folder", folder.display()));
    None
}
