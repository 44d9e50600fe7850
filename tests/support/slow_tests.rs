//! The tests in `tests/slow_tests.txt`: each has its time there, and most run only with `--ignored` or `--include-ignored`.

use std::env;
use std::fs::OpenOptions;
use std::io::Write;
use std::time::{Duration, Instant};

const LIST: &str = include_str!("../slow_tests.txt");

/// A line of the list: `BINARY TEST SECONDS`, and `always` behind it where the test runs for every change, too.
#[derive(Debug)]
pub struct SlowTest {
    pub binary: &'static str,
    /// The name without the binary.
    pub test: &'static str,
    pub seconds: u32,
    pub runs_always: bool,
}

impl SlowTest {
    /// All lines of the list.
    ///
    /// # Panics
    /// Where a line is malformed.
    pub fn all() -> Vec<SlowTest> {
        LIST.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).map(SlowTest::parse).collect()
    }

    fn parse(line: &'static str) -> SlowTest {
        let words: Vec<&str> = line.split(' ').collect();
        let parsed = match *words {
            [binary, test, seconds, ref rest @ ..] if matches!(rest, [] | ["always"]) => {
                let seconds = seconds.parse().ok();
                seconds.map(|seconds| SlowTest { binary, test, seconds, runs_always: !rest.is_empty() })
            }
            _ => None,
        };
        parsed.unwrap_or_else(|| panic!("tests/slow_tests.txt: expected BINARY TEST SECONDS [always], found {line:?}"))
    }
}

/// The slow tests of one test binary.
pub struct SlowTests(Vec<SlowTest>);

impl SlowTests {
    /// Reads the lines about `binary`.
    ///
    /// # Panics
    /// Where a line is malformed.
    pub fn of(binary: &str) -> SlowTests {
        SlowTests(SlowTest::all().into_iter().filter(|slow| slow.binary == binary).collect())
    }

    /// Checks the lines against the names of all tests of the binary.
    ///
    /// # Panics
    /// Where a line names none of them.
    pub fn check(&self, tests: &[&str]) {
        for SlowTest { test, .. } in &self.0 {
            assert!(tests.contains(test), "tests/slow_tests.txt: the test {test} does not exist");
        }
    }

    /// Whether the test runs only when asked for.
    pub fn is_ignored(&self, test: &str) -> bool {
        self.get(test).is_some_and(|slow| !slow.runs_always)
    }

    /// The time that the list has for the test; 0 where it is not listed.
    pub fn seconds(&self, test: &str) -> u32 {
        self.get(test).map_or(0, |slow| slow.seconds)
    }

    fn get(&self, test: &str) -> Option<&SlowTest> {
        self.0.iter().find(|slow| slow.test == test)
    }
}

/// Appends how long the test took to the file that `TEST_DURATIONS` names, if it names one: `SECONDS BINARY TEST`.
pub fn note_duration(binary: &str, test: &str, took: Duration) {
    let Some(path) = env::var_os("TEST_DURATIONS") else { return };
    let line = format!("{:.1} {binary} {test}\n", took.as_secs_f64());
    let file = OpenOptions::new().create(true).append(true).open(&path);
    // A single write: other tests write at the same time.
    let noted = file.and_then(|mut file| file.write_all(line.as_bytes()));
    noted.expect("the file of TEST_DURATIONS can be written");
}

/// Notes how long a slow test of the standard harness took, when it is dropped.
pub struct TimedTest {
    binary: &'static str,
    started: Instant,
}

impl TimedTest {
    pub fn of(binary: &'static str) -> TimedTest {
        TimedTest { binary, started: Instant::now() }
    }
}

impl Drop for TimedTest {
    fn drop(&mut self) {
        // The harness names the thread of a test after it.
        let thread = std::thread::current();
        note_duration(self.binary, thread.name().unwrap_or("main"), self.started.elapsed());
    }
}
