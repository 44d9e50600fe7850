//! A docker configuration is read or refused, without a word of what is in it.
#![no_main]

use flux_operator::oci::DockerConfig;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let canary = "canary-7f3a";
    let with_secret = String::from_utf8_lossy(bytes).replace("password", canary);
    for text in [bytes, with_secret.as_bytes()] {
        for read in [DockerConfig::parse("test", text), DockerConfig::parse_legacy("test", text)] {
            let shown = match &read {
                Ok(config) => format!("{config:?}"),
                Err(error) => format!("{error} {error:?}"),
            };
            assert!(!shown.contains(canary), "{shown}");
        }
    }
});
