//! `tests/slow_tests.txt` against the tests of the standard harness, which say themselves that they run only when asked for.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;
use test_support::slow_tests::SlowTest;

use crate::architecture::files_below;

/// The folders with tests of the standard harness; where one has slow tests, the binary that runs them.
const FOLDERS: [(&str, Option<&str>); 5] = [
    ("tests/offline", Some("offline")),
    ("src", Some("flux_operator")),
    ("cmd", None),
    ("crates", None),
    ("tools", None),
];

/// CI learns from `TimedTest` how long such a test takes.
#[test]
fn each_slow_test_of_the_standard_harness_is_listed_and_timed() {
    let ignored =
        Regex::new(r#"#\[ignore\b[^\n]*\n(?: *#\[[^\n]*\n)* *(?:async )?fn (\w+)[^\n]*\n([^\n]*)"#).expect("valid");
    for (folder, binary) in FOLDERS {
        let mut files: Vec<PathBuf> = vec![];
        files_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut files);
        let mut found = BTreeSet::new();
        for file in files {
            for test in ignored.captures_iter(&fs::read_to_string(&file).expect("a source")) {
                let Some(binary) = binary else { panic!("{}: CI runs no slow tests of {folder}", file.display()) };
                let timed = format!("TimedTest::of(\"{binary}\")");
                assert!(test[2].contains(&timed), "{}: {} does not begin with {timed}", file.display(), &test[1]);
                found.insert(test[1].to_owned());
            }
        }
        let of_binary = SlowTest::all().into_iter().filter(|slow| Some(slow.binary) == binary);
        let listed = of_binary.map(|slow| slow.test.rsplit("::").next().unwrap_or_default().to_owned()).collect();
        assert_eq!(found, listed, "marked in {folder}, and listed in tests/slow_tests.txt");
    }
}
