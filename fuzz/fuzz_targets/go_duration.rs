//! A duration is parsed or refused; its printed form means the same.
#![no_main]

use flux_operator::format::go_duration;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(duration) = go_duration::parse(text) else { return };
    assert_eq!(go_duration::parse(&go_duration::format(duration)), Ok(duration));
});
