//! Every promise in docs/promises.md names tests that exist.

use std::fs;
use std::path::Path;

use regex::Regex;

fn read_rust_files(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).expect("a folder of the sources").flatten() {
        let path = entry.path();
        if path.is_dir() {
            read_rust_files(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&fs::read_to_string(path).expect("UTF-8"));
        }
    }
}

#[test]
fn every_promise_names_a_test_that_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let document = fs::read_to_string(root.join("docs/promises.md")).expect("the promises");
    let promises: Vec<&str> = document.lines().filter(|line| line.starts_with("| ")).skip(2).collect();
    assert!(promises.len() >= 12, "{document}");

    let mut code = String::new();
    for folder in ["src", "crates", "cmd", "tests"] {
        read_rust_files(&root.join(folder), &mut code);
    }
    let name = Regex::new("`([a-z0-9_]+)`").expect("a pattern");
    for promise in promises {
        let proof = promise.rsplit('|').nth(1).expect("a column of tests");
        let tests: Vec<&str> = name.captures_iter(proof).map(|found| found.get(1).expect("a name").as_str()).collect();
        assert!(!tests.is_empty(), "no test proves: {promise}");
        for test in tests {
            assert!(
                code.contains(&format!("fn {test}(")),
                "docs/promises.md names the test {test}, which does not exist"
            );
        }
    }
}
