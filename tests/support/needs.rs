//! Requirements of a few tests beyond this package. A test without them prints a line and passes; in CI it fails.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::go_program::go_is_installed;
use super::{repository, windows};

/// Reports that a test, or a part of it, is left out. `what` continues "a test", such as "needs zsh".
///
/// # Panics
/// Under `CI=true`, where nothing may be missing.
#[track_caller]
pub fn missing(what: &str) {
    let in_ci = std::env::var("CI").is_ok_and(|value| value == "true");
    assert!(!in_ci, "CI=true, but the test cannot run: it {what}");
    // The harness captures `eprintln!`, and shows it only for tests that fail. It does not capture the handle itself.
    let _ = std::io::stderr().write_all(format!("skipped: a test {what}\n").as_bytes());
}

/// Whether kubectl is available, whose kustomize is an independent judge.
#[track_caller]
pub fn has_kubectl() -> bool {
    let found = Command::new("kubectl").args(["kustomize", "--help"]).output().is_ok_and(|o| o.status.success());
    if !found {
        missing("needs kubectl: its kustomize is the judge");
    }
    found
}

/// A Chromium, by the variable `CHROMIUM` or in the path.
#[track_caller]
pub fn browser() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome-headless-shell"];
    let in_path = names.iter().find_map(|name| on_the_search_path(name));
    let found = std::env::var_os("CHROMIUM").map(PathBuf::from).or(in_path);
    if found.is_none() {
        missing("needs Chromium, which CHROMIUM may name");
    }
    found
}

/// The folder that the variable names, or one beside the repository.
#[track_caller]
pub fn folder(variable: &str, beside: &str, what: &str) -> Option<PathBuf> {
    let folder = std::env::var_os(variable).map_or_else(|| repository().join(beside), PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    missing(&format!("needs {what}: {} is not there, and {variable} names no other folder", folder.display()));
    None
}

/// Whether all of these programs are on the search path; `how` says how they are installed.
#[track_caller]
pub fn has_programs(programs: &[&str], how: &str) -> bool {
    let absent: Vec<&str> = programs.iter().copied().filter(|program| on_the_search_path(program).is_none()).collect();
    if !absent.is_empty() {
        missing(&format!("needs {} ({how})", absent.join(", ")));
    }
    absent.is_empty()
}

/// Whether a program is at a path that it always has; `how` says how it is installed.
#[track_caller]
pub fn has_program_at(path: &str, how: &str) -> bool {
    let found = Path::new(path).is_file();
    if !found {
        missing(&format!("needs {path} ({how})"));
    }
    found
}

fn on_the_search_path(program: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// The Wine that runs the program for Windows.
#[track_caller]
pub fn wine() -> Option<PathBuf> {
    let wine = windows::wine();
    if wine.is_none() {
        missing(windows::NEEDS);
    }
    wine
}

/// The folder of a Go module that a program of `tests/programs` depends on. Go downloads it if necessary, and verifies it
/// with the `go.sum` of the program.
#[track_caller]
pub fn go_module(program: &str, module: &str) -> Option<PathBuf> {
    if !go_is_installed() {
        missing(&format!("needs Go, which downloads {module}"));
        return None;
    }
    let folder = repository().join("tests/programs").join(program);
    let output = Command::new("go").args(["mod", "download", "-json", module]).current_dir(folder).output();
    let output = output.expect("Go runs");
    // An error of the module itself is part of the JSON.
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let found = answer["Dir"].as_str().filter(|folder| !folder.is_empty()).map(PathBuf::from);
    if found.is_none() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        let reason = answer["Error"].as_str().unwrap_or(&stderr).trim().replace('\n', " ");
        missing(&format!("needs the Go module {module}, which cannot be downloaded: {reason}"));
    }
    found
}
