//! Requirements of a few tests beyond this package. Without them the tests print a reason and pass; in CI they fail.

use std::path::{Path, PathBuf};
use std::process::Command;

#[cfg(unix)]
pub use programs_on_unix::{has_programs, wine};

/// # Panics
/// Under `CI=true`, where nothing may be missing.
fn missing(what: &str) {
    let in_ci = std::env::var("CI").is_ok_and(|value| value == "true");
    assert!(!in_ci, "CI=true, but the test cannot run: it {what}");
    eprintln!("skipped: {what}");
}

/// Whether kubectl is available, whose kustomize is an independent judge.
pub fn has_kubectl() -> bool {
    let found = Command::new("kubectl").args(["kustomize", "--help"]).output().is_ok_and(|o| o.status.success());
    if !found {
        missing("needs kubectl: its kustomize is the judge");
    }
    found
}

/// A Chromium, by the variable `CHROMIUM` or in the path.
pub fn browser() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome-headless-shell"];
    let folders: Vec<PathBuf> =
        std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default();
    let in_path =
        names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name))).find(|file| file.is_file());
    let found = std::env::var_os("CHROMIUM").map(PathBuf::from).or(in_path);
    if found.is_none() {
        missing("needs Chromium, which CHROMIUM may name");
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

/// Programs that only tests on Unix use.
#[cfg(unix)]
mod programs_on_unix {
    use std::path::PathBuf;

    use test_support::windows;

    use super::missing;

    /// Whether all of these programs are on the search path; `how` says how they are installed.
    pub fn has_programs(programs: &[&str], how: &str) -> bool {
        let folders: Vec<PathBuf> =
            std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default();
        let is_there = |program: &&str| folders.iter().any(|folder| folder.join(program).is_file());
        let absent: Vec<&str> = programs.iter().copied().filter(|program| !is_there(program)).collect();
        if !absent.is_empty() {
            missing(&format!("needs {} ({how})", absent.join(", ")));
        }
        absent.is_empty()
    }

    /// The Wine that runs the program for Windows.
    pub fn wine() -> Option<PathBuf> {
        let wine = windows::wine();
        if wine.is_none() {
            missing(windows::NEEDS);
        }
        wine
    }
}
