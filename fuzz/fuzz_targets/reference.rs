//! A reference is read or refused; its printed form means the same.
#![no_main]

use flux_operator::fetch::Source;
use flux_operator::oci::{Digest, Reference};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = text.parse::<Digest>();
    for text in [text.to_owned(), format!("oci://{text}")] {
        if let Ok(reference) = text.parse::<Reference>() {
            // Printed it says the tag that it means.
            let again: Reference = reference.url().parse().expect("what was printed");
            assert_eq!((&again.repository, again.name()), (&reference.repository, reference.name()), "{text:?}");
        }
        if let Ok(source) = text.parse::<Source>() {
            let printed = source.to_string();
            assert_eq!(printed.parse::<Source>().expect("what was printed").to_string(), printed, "{text:?}");
        }
    }
});
