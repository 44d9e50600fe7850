//! A template is refused or executed within its limits: no panic, no hang, no memory beyond what it may create.
#![no_main]

use flux_operator_gotemplate::{Data, Limits, Options, Syntax, Template};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(template) = Template::parse("fuzz", text, &Syntax::resource_set()) else { return };
    let data = Data::from(&serde_json::json!({
        "i": 5, "f": 2.5, "s": "a,b \u{e9}", "t": true, "n": null, "l": ["c", 1, null], "m": {"k": {"d": [1]}},
    }));
    let random = |bound: u64| bound / 2;
    let limits = Limits { output_bytes: 1 << 20, created_bytes: 16 << 20, steps: 200_000, ..Limits::default() };
    let options = Options { limits, now: Some(1_795_651_200), random: Some(&random) };
    // A second execution with the same data ends the same way.
    let first = template.execute_bytes(&data, &options);
    if template.changes_data() {
        return;
    }
    assert_eq!(template.execute_bytes(&data, &options), first);
});
