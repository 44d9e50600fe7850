//! What the README promises is tested under the name it gives.

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
fn every_promise_of_the_readme_names_a_test_that_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(root.join("README.md")).expect("the README");
    let section = readme.split("\n## What it promises\n").nth(1).expect("the section");
    let section = section.split("\n## ").next().unwrap_or_default();
    let promises: Vec<&str> = section.lines().filter(|line| line.starts_with("| ")).skip(2).collect();
    assert!(promises.len() >= 12, "{section}");

    let mut code = String::new();
    for folder in ["src", "cmd", "tests"] {
        read_rust_files(&root.join(folder), &mut code);
    }
    let name = Regex::new("`([a-z0-9_]+)`").expect("a pattern");
    for promise in promises {
        let proof = promise.rsplit('|').nth(1).expect("a column of tests");
        let tests: Vec<&str> = name.captures_iter(proof).map(|found| found.get(1).expect("a name").as_str()).collect();
        assert!(!tests.is_empty(), "no test proves: {promise}");
        for test in tests {
            assert!(code.contains(&format!("fn {test}(")), "the README names the test {test}, which is not there");
        }
    }
}
