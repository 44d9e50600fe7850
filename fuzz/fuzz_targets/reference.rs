//! A reference is read or refused; its printed form means the same.
#![no_main]

use flux_operator::fetch::Source;
use flux_operator::oci::{Digest, Reference};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = text.parse::<Digest>();
    for text in [text.to_owned(), format!("oci://{text}")] {
        if let Ok(reference) = text.parse::<Reference>() {
            assert_eq!(reference.url().parse::<Reference>().as_ref(), Ok(&reference), "{text:?}");
        }
        if let Ok(source) = text.parse::<Source>() {
            assert_eq!(source.to_string().parse::<Source>().ok(), Some(source), "{text:?}");
        }
    }
});
