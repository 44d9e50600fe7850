//! Tests that run only with `--ignored` or `--include-ignored`, listed in `tests/slow_tests.txt`.

/// `BINARY TEST SECONDS` per line, and `always` behind it where the test runs for every change, too. A `TEST` that ends with
/// `::` means all tests of that room.
const LIST: &str = include_str!("../slow_tests.txt");

/// The tests of one test binary that run only when asked for.
pub struct SlowTests(Vec<&'static str>);

impl SlowTests {
    /// Reads the lines about `binary`.
    ///
    /// # Panics
    /// Where a line is malformed.
    pub fn of(binary: &str) -> SlowTests {
        SlowTests(lines(binary).filter(|(_, runs_always)| !runs_always).map(|(test, _)| test).collect())
    }

    /// Checks the lines about `binary` against the names of all its tests.
    ///
    /// # Panics
    /// Where a line names none of them.
    pub fn check(binary: &str, tests: &[&str]) {
        for (listed, _) in lines(binary) {
            assert!(tests.iter().any(|test| matches(listed, test)), "tests/slow_tests.txt: there is no test {listed}");
        }
    }

    pub fn contains(&self, test: &str) -> bool {
        self.0.iter().any(|listed| matches(listed, test))
    }
}

/// The tests in the lines about `binary`, and whether each runs for every change.
fn lines(binary: &str) -> impl Iterator<Item = (&'static str, bool)> {
    let lines = LIST.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.filter_map(move |line| match *line.split(' ').collect::<Vec<_>>() {
        [of, test, seconds, ref rest @ ..] if seconds.parse::<u32>().is_ok() && matches!(rest, [] | ["always"]) => {
            (of == binary).then_some((test, !rest.is_empty()))
        }
        _ => panic!("tests/slow_tests.txt: expected BINARY TEST SECONDS [always], found {line:?}"),
    })
}

fn matches(listed: &str, test: &str) -> bool {
    if listed.ends_with("::") { test.starts_with(listed) } else { test == listed }
}
