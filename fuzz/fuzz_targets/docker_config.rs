//! A docker configuration is read or refused, without a word of the secrets in it.
#![no_main]

use flux_operator::oci::DockerConfig;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

const CANARY: &str = "canary-7f3a";
/// Members that hold secrets; names of hosts and helpers may be shown.
const SECRETS: [&str; 4] = ["auth", "password", "identitytoken", "registrytoken"];

fuzz_target!(|bytes: &[u8]| {
    let planted = serde_json::from_slice(bytes).ok().map(|mut config: Value| {
        plant(&mut config);
        config.to_string()
    });
    for text in std::iter::once(bytes).chain(planted.as_deref().map(str::as_bytes)) {
        for read in [DockerConfig::parse("test", text), DockerConfig::parse_legacy("test", text)] {
            let shown = match &read {
                Ok(config) => format!("{config:?}"),
                Err(error) => format!("{error} {error:?}"),
            };
            // An input may have it anywhere by itself.
            let is_planted = text != bytes && !String::from_utf8_lossy(bytes).contains(CANARY);
            assert!(!is_planted || !shown.contains(CANARY), "{shown}");
        }
    }
});

fn plant(value: &mut Value) {
    match value {
        Value::Object(members) => members.iter_mut().for_each(|(key, value)| match value {
            Value::String(secret) if SECRETS.contains(&key.as_str()) => CANARY.clone_into(secret),
            value => plant(value),
        }),
        Value::Array(items) => items.iter_mut().for_each(plant),
        _ => {}
    }
}
