//! A dump of a cluster is read or refused, and every view of it can be drawn.
#![no_main]

use flux_operator::inspect::read::from_dump;
use flux_operator::inspect::incident::report::{report, stats};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(snapshot) = from_dump::read_text(text, "test") else { return };
    let rows = stats(&snapshot, None, true);
    let _ = report(&snapshot, rows, "flux-system", "1", "linux/amd64");
});
