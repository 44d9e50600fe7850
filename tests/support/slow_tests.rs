//! Tests that run only with `--ignored` or `--include-ignored`, listed in `tests/slow_tests.txt`.

/// `BINARY TEST SECONDS` per line. A `TEST` that ends with `::` means all tests of that room.
const LIST: &str = include_str!("../slow_tests.txt");

/// The slow tests of one test binary.
pub struct SlowTests(Vec<&'static str>);

impl SlowTests {
    /// Reads the lines about `binary`.
    ///
    /// # Panics
    /// Where a line is malformed.
    pub fn of(binary: &str) -> SlowTests {
        let lines = LIST.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        let listed = lines.filter_map(|line| match *line.split(' ').collect::<Vec<_>>() {
            [of, test, seconds] if seconds.parse::<u32>().is_ok() => (of == binary).then_some(test),
            _ => panic!("tests/slow_tests.txt: expected BINARY TEST SECONDS, found {line:?}"),
        });
        SlowTests(listed.collect())
    }

    /// Checks the lines about `binary` against the names of all its tests.
    ///
    /// # Panics
    /// Where a line names none of them.
    pub fn check(binary: &str, tests: &[&str]) {
        for listed in SlowTests::of(binary).0 {
            assert!(tests.iter().any(|test| matches(listed, test)), "tests/slow_tests.txt: there is no test {listed}");
        }
    }

    pub fn contains(&self, test: &str) -> bool {
        self.0.iter().any(|listed| matches(listed, test))
    }
}

fn matches(listed: &str, test: &str) -> bool {
    if listed.ends_with("::") { test.starts_with(listed) } else { test == listed }
}
