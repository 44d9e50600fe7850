//! What is committed but derived from the code equals what the code says.

use std::collections::BTreeMap;
use std::path::Path;

use crate::cli::support::run;

fn files(folder: &Path) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    entries
        .map(|entry| entry.expect("an entry"))
        .map(|e| (e.file_name().to_string_lossy().into_owned(), std::fs::read_to_string(e.path()).expect("text")))
        .collect()
}

#[track_caller]
fn committed_equals_generated(what: &str, folder: &str) {
    let generated = tempfile::tempdir().expect("a folder");
    run(&["generate", what, generated.path().to_str().expect("UTF-8")]).exits(0);
    let (want, have) = (files(generated.path()), files(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)));
    let stale: Vec<_> = want.iter().filter(|(name, text)| have.get(*name) != Some(text)).map(|(n, _)| n).collect();
    let extra: Vec<_> = have.keys().filter(|name| !want.contains_key(*name)).collect();
    assert!(
        stale.is_empty() && extra.is_empty(),
        "stale: {stale:?}, extra: {extra:?}; run `cargo run -- generate {what} {folder}` and commit the result"
    );
}

#[test]
fn man_pages_are_up_to_date() {
    committed_equals_generated("man", "man");
}

#[test]
fn completion_scripts_are_up_to_date() {
    committed_equals_generated("completions", "completions");
}

#[test]
fn custom_resource_definitions_are_up_to_date() {
    committed_equals_generated("crds", "deploy/crds");
}
