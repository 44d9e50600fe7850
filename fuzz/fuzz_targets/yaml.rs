//! What is read can be written, and reading that gives the same value.
#![no_main]

use flux_operator::format::yaml;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let positions = yaml::parse_positions(text);
    let Ok(documents) = yaml::parse_documents(text) else { return };
    assert_eq!(documents.len(), positions.len());
    let written = yaml::document_stream(&documents).expect("what was read can be written");
    assert_eq!(yaml::parse_documents(&written).expect("what was written can be read"), documents);
});
