//! Tests without their needs, as a person and as CI see them.

use std::process::Command;

use test_support::run::Run;

#[test]
fn a_test_without_its_needs_is_seen_although_it_passes_and_fails_in_ci() {
    let run_in = |ci: &str| {
        let mut test = Command::new(std::env::current_exe().expect("this program"));
        test.args(["--exact", "recorded_templates::recorded_runs_are_reproduced"]);
        test.env("RECORDED_RUNS_DIR", "/nonexistent").env("CI", ci);
        Run::from(test.output().expect("it runs"))
    };
    let passed = run_in("false").exits(0).stdout_has("1 passed");
    assert!(passed.stderr.starts_with("skipped: a test needs recorded runs of "), "{}", passed.stderr);
    run_in("true").exits(101).stdout_has("CI=true, but the test cannot run: it needs recorded runs of ");
}
