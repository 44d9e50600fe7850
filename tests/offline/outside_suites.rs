//! Test suites of others. They are files of Go modules, which Go downloads, and are not kept here.

use flux_operator::format::version_range::{VersionRange, parse_version_lenient};
use flux_operator::format::yaml::parse_documents;
use serde_json::Value;
use test_support::needs;

/// Tests of <https://github.com/yaml/yaml-test-suite> whose documents are not read as the suite says, each with the reason.
const YAML_DEVIATIONS: &[&str] = &[
    // A comment needs no blank before it, as in kubectl.
    "comment-without-whitespace-after-block-scalar-indicator",
    "comment-without-whitespace-after-doublequoted-scalar",
    // JSON has no bytes.
    "construct-binary",
    // A dash alone in a flow sequence is a text, as in kubectl.
    "dash-in-flow-sequence",
    // A comment needs no blank before it.
    "directive-variants/00",
    // Double quotes know `\'`, as in kubectl.
    "double-quoted-scalar-with-escaped-single-quote",
    // A comment needs no blank before it.
    "invalid-comment-after-comma",
    "invalid-comment-after-end-of-flow-sequence",
    // As the dash above.
    "plain-dashes-in-flow-sequence",
    // `...x` at the beginning of a line of a quoted text.
    "scalar-doc-with-in-content/01",
    // Tabs in the indentation are read and refused as in kubectl.
    "tabs-that-look-like-indentation/01",
    "tabs-that-look-like-indentation/06",
    // Lines that continue a flow sequence or a quoted text may be indented less, as in kubectl.
    "wrong-indented-flow-sequence",
    "wrong-indented-multiline-quoted-scalar",
];

#[test]
fn the_suite_of_yaml_is_read_but_for_the_deviations() {
    let Some(module) = needs::go_module("flux-controllers", "github.com/goccy/go-yaml") else { return };
    let suite = module.join("testdata/yaml-test-suite");
    let mut deviations = vec![];
    let (mut count, mut folders) = (0, vec![suite.clone()]);
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry").path());
        folders.extend(entries.filter(|path| path.is_dir()));
        let Ok(text) = std::fs::read_to_string(folder.join("in.yaml")) else { continue };
        let expected = match std::fs::read_to_string(folder.join("in.json")) {
            Ok(json) => {
                let values = serde_json::Deserializer::from_str(&json).into_iter::<Value>();
                // A document without content is left out: it holds no object.
                let values = values.map(|value| value.expect("JSON")).filter(|value| !value.is_null());
                Some(values.collect::<Vec<_>>())
            }
            Err(_) if folder.join("error").exists() => None,
            // The suite describes keys or tags that JSON does not have.
            Err(_) => continue,
        };
        count += 1;
        let read = parse_documents(&text);
        if read.as_ref().ok() != expected.as_ref() {
            let name = folder.strip_prefix(&suite).expect("a folder of the suite").to_string_lossy().into_owned();
            eprintln!("{name}: {read:?} instead of {expected:?}");
            deviations.push(name);
        }
    }
    deviations.sort_unstable();
    assert_eq!(deviations, YAML_DEVIATIONS, "of {count}");
}

#[test]
fn the_tables_of_masterminds_ranges_hold() {
    let Some(module) = needs::go_module("flux-controllers", "github.com/Masterminds/semver/v3") else { return };
    let text = std::fs::read_to_string(module.join("constraints_test.go")).expect("a file");
    let tables = ["func TestConstraintCheck(", "func TestConstraintsCheck("].map(|function| {
        let (_, from) = text.split_once(function).expect("the function");
        from.split("\nfunc ").next().expect("a part")
    });
    let rows = tables.iter().flat_map(|table| table.lines()).filter_map(|line| {
        let row = line.trim().strip_prefix('{')?.strip_suffix("},")?;
        serde_json::from_str::<(String, String, bool)>(&format!("[{row}]")).ok()
    });
    let mut wrong = vec![];
    let mut count = 0;
    for (range, version, expected) in rows {
        count += 1;
        // An empty range is a mistake here, where a field that is left out has a default.
        if range.is_empty() {
            assert!(range.parse::<VersionRange>().is_err());
            continue;
        }
        let matches = range.parse::<VersionRange>().ok().zip(parse_version_lenient(&version));
        let matches = matches.map(|(range, version)| range.matches(&version));
        if matches != Some(expected) {
            wrong.push(format!("{range:?} and {version}: {matches:?} instead of {expected}"));
        }
    }
    assert!(count > 200, "{count} rows were found");
    assert_eq!(wrong, Vec::<String>::new());
}
