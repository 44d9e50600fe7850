//! What is read can be written, and reading that gives the same value; what is read without the library is what it reads.
#![no_main]

use flux_operator::format::yaml;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for strict_booleans in [false, true] {
        if let Some(both) = yaml::parse_both(text, strict_booleans) {
            let [simple, library] = both.expect("the library reads it, too");
            assert_eq!(simple, library);
        }
    }
    let positions = yaml::parse_positions(text);
    let Ok(documents) = yaml::parse_documents(text) else { return };
    // JSON that is not YAML has no positions.
    if !text.trim_start_matches('\u{feff}').trim_start().starts_with('{') {
        assert_eq!(documents.len(), positions.len());
    }
    let written = yaml::document_stream(&documents).expect("what was read can be written");
    assert_eq!(yaml::parse_documents(&written).expect("what was written can be read"), documents);
});
