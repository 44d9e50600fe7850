//! A manifest is read or refused; what is read is accepted again, unchanged.
#![no_main]

use flux_operator::api::manifest::{self, NamespaceChoice};
use flux_operator::format::yaml;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    // Most texts are no FluxInstance at all; behind this head they are at least its spec.
    let head = "apiVersion: fluxcd.controlplane.io/v1\nkind: FluxInstance\nmetadata: {name: flux}\nspec:\n";
    let spec = text.replace('\n', "\n  ");
    for text in [text.to_string(), format!("{head}  {spec}\n")] {
        let Ok(read) = manifest::read(&text, &NamespaceChoice::default()) else { continue };
        let written = yaml::to_string(&read.instance).expect("an instance can be written");
        let again = manifest::read(&written, &NamespaceChoice::default()).expect("what was accepted is accepted");
        assert_eq!(read.instance.spec, again.instance.spec);
    }
});
