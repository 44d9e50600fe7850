//! `bundle --redact` and `report` on dumps that hold secrets, and the file that is written whole or not at all.

use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use flux_operator::format::tarball::{ArchiveLimits, read_tarball};
use serde_json::json;

use crate::cli::support::{command, run, run_with_input};

/// A password that looks like a word, and is known because a Secret contains it.
const KNOWN: &str = "canary-of-a-secret";

fn dump() -> String {
    let message = format!(
        "login with {KNOWN} at https://git:canary-user-info@git.example.com/x?sig=canary-query failed: {KNOWN}"
    );
    let condition = json!([{"type": "Ready", "status": "False", "reason": "GitOperationFailed", "message": message,
        "lastTransitionTime": "2026-11-22T10:00:00Z"}]);
    let items = json!([
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "creds", "namespace": "apps"}, "stringData": {"password": KNOWN}},
        {"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance", "metadata": {"name": "flux", "namespace": "flux-system"},
            "spec": {"distribution": {"version": "2.9.x", "registry": "canary-user:canary-password@ghcr.io/fluxcd"}}, "status": {"conditions": condition}},
        {"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": {"name": "source-of-words", "namespace": "apps"},
            "spec": {"url": "https://git:canary-url@git.example.com/x"}, "status": {"conditions": condition}},
        {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e1", "namespace": "apps"}, "type": "Warning", "reason": "Failed",
            "message": "password: canary-named\ntoken ghp_canary0123456789012345", "lastTimestamp": "2026-11-22T10:00:00Z",
            "involvedObject": {"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "namespace": "apps", "name": "source-of-words"}},
    ]);
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}

/// All texts of an archive.
fn unpacked(path: &Path) -> String {
    let files =
        read_tarball(std::fs::File::open(path).expect("the archive"), &ArchiveLimits::ARTIFACT).expect("an archive");
    files.values().map(|file| String::from_utf8_lossy(&file.bytes).into_owned()).collect()
}

#[test]
fn neither_a_bundle_nor_its_views_nor_a_page_of_it_holds_a_secret() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("b.tar.gz");
    let name = path.to_str().expect("UTF-8");
    run_with_input(&["bundle", "--redact", "-", "-o", name], dump()).exits(0);
    let text = unpacked(&path);
    assert!(!text.contains("canary"), "{text}");
    for kept in ["GitOperationFailed", "git.example.com/x", "source-of-words", "ghcr.io/fluxcd"] {
        assert!(text.contains(kept), "{kept} is not in {text}");
    }
    let page = run(&["report", "-", "--from", name, "-n", "flux-system"]).exits(0).stdout;
    assert!(page.contains("source-of-words") && !page.contains("canary"), "{page}");
}

#[test]
fn a_page_of_what_was_not_redacted_masks_what_looks_like_a_credential() {
    for arguments in [&["report", "-"][..], &["report", "-o", "json"]] {
        let page = run_with_input(&[arguments, &["--from", "-", "-n", "flux-system"]].concat(), dump()).exits(0).stdout;
        for word in ["canary-user-info", "canary-query", "canary-url", "canary-named", "ghp_canary", "canary-password"]
        {
            assert!(!page.contains(word), "{word} is in {page}");
        }
        assert!(page.contains("git.example.com/x") && page.contains("source-of-words"), "{page}");
    }
}

/// The commands that write one file.
fn lines(name: &str) -> [[&str; 5]; 2] {
    [["bundle", "--redact", "-", "-o", name], ["report", name, "--from", "-", "-nflux-system"]]
}

#[test]
fn a_directory_and_a_missing_folder_are_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path().to_str().expect("UTF-8");
    let file = folder.path().join("there");
    std::fs::write(&file, "").expect("a file");
    let file = file.to_str().expect("UTF-8");
    let missing = format!("{here}/none/x");
    for line in lines(here) {
        run_with_input(&line, dump()).exits(1).stderr_has(&format!("cannot write {here}: it is a directory"));
    }
    for line in lines(file) {
        run_with_input(&line, dump()).exits(1).stderr_has(&format!("cannot write {file}: the file exists"));
    }
    for line in lines(missing.as_str()) {
        let run = run_with_input(&line, dump()).exits(1).stderr_has("cannot write");
        assert!(!run.stderr.contains(".partial-") && !run.stderr.contains("at path"), "{}", run.stderr);
    }
}

#[test]
fn a_file_that_appears_meanwhile_stays_and_nothing_is_left_beside_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("b.tar.gz");
    let mut child = command(&["bundle", "--redact", "-", "-o", path.to_str().expect("UTF-8")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    // It waits for the dump; until then, the folder holds nothing under the name.
    std::fs::write(&path, "of somebody").expect("written");
    child.stdin.take().expect("stdin is piped").write_all(dump().as_bytes()).expect("read");
    let output = child.wait_with_output().expect("the binary ends");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("choose another name"), "{output:?}");
    assert_eq!(std::fs::read_to_string(&path).expect("there"), "of somebody");
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1);
    // Nor is anything left of a dump that cannot be read.
    let other = folder.path().join("c.tar.gz");
    run_with_input(&["bundle", "--redact", "-", "-o", other.to_str().expect("UTF-8")], "{").exits(1);
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn a_killed_command_leaves_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("b.tar.gz");
    let mut child = command(&["bundle", "--redact", "-", "-o", path.to_str().expect("UTF-8")])
        .stdin(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    // More than a pipe holds, so the command reads, and before that it has created its file.
    let mut stdin = child.stdin.take().expect("stdin is piped");
    stdin.write_all(" ".repeat(1 << 20).as_bytes()).expect("read");
    child.kill().expect("killed");
    child.wait().expect("the binary ends");
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
}
