//! A range is parsed or refused; its matches do not panic, and an exact version matches itself.
#![no_main]

use flux_operator::format::version_range::{VersionRange, parse_version_lenient};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let range = text.parse::<VersionRange>();
    let version = parse_version_lenient(text);
    if let Ok(range) = &range {
        for candidate in ["0.0.0", "2.9.4", "2.9.4-rc.1", "18446744073709551615.0.0"] {
            range.matches(&semver::Version::parse(candidate).expect("a version"));
        }
    }
    if let (Ok(range), Some(version)) = (range, version) {
        assert!(range.matches(&version), "{text:?} is a version that does not match itself");
    }
});
