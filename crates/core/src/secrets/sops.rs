//! Keys that decrypt files encrypted by SOPS.

use std::collections::BTreeMap;

use super::pgp::Protection;
use super::{OPAQUE, SecretContent, SecretError, SecretText, Warnings, age, pgp};

/// `Opaque`: one entry per key, `<checksum>.agekey` or `<checksum>.asc`; equal keys make one entry.
#[derive(Clone, Debug)]
pub struct Sops {
    pub keys: Vec<SopsKey>,
}

/// A key file, stored unchanged.
#[derive(Clone, Debug)]
pub struct SopsKey {
    pub kind: KeyKind,
    /// The origin of the key for messages: a path, or `standard input`.
    pub origin: String,
    pub text: SecretText,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    Age,
    Gpg,
}

impl Sops {
    pub(super) fn content(&self) -> Result<SecretContent, SecretError> {
        if self.keys.is_empty() {
            return Err(SecretError::Missing("an age or GPG key"));
        }
        let mut data = BTreeMap::new();
        for key in &self.keys {
            if key.text.is_empty() {
                return Err(SecretError::invalid(format!("key from {}", key.origin), "it is empty"));
            }
            let suffix = match key.kind {
                KeyKind::Age => "agekey",
                KeyKind::Gpg => "asc",
            };
            data.insert(format!("{}.{suffix}", adler32(key.text.expose())), key.text.clone());
        }
        Ok(SecretContent { type_: OPAQUE, data })
    }

    pub(super) fn check(&self) -> Result<Warnings, SecretError> {
        let mut warnings = vec![];
        for key in &self.keys {
            let what = format!("key from {}", key.origin);
            let Some(text) = key.text.expose_text() else {
                let error = SecretError::check(what, "it is not text");
                return Err(error.hint("export GPG keys with `gpg --export-secret-keys --armor`"));
            };
            match key.kind {
                KeyKind::Age => {
                    if age::check(text).map_err(|problem| SecretError::check(&*what, problem))? {
                        warnings.push(format!("{what} needs a plugin, which kustomize-controller does not have"));
                    }
                }
                KeyKind::Gpg => match pgp::check(text).map_err(|problem| SecretError::check(&*what, problem))? {
                    Protection::None | Protection::Absent => {}
                    Protection::Passphrase => {
                        let error =
                            SecretError::check(what, "it is protected by a passphrase, which Flux cannot provide");
                        return Err(error.hint("export a copy without passphrase, or make a key for the cluster"));
                    }
                    Protection::Unknown => warnings.push(format!("{what}: this kind of key is not checked")),
                },
            }
        }
        Ok(warnings)
    }
}

/// Checksum of RFC 1950 §8.2. It names the entries, so that equal keys collapse and the order of the flags does not
/// matter.
fn adler32(bytes: &[u8]) -> u32 {
    const MODULUS: u32 = 65_521;
    let (low, high) = bytes.iter().fold((1, 0), |(low, high), byte| {
        let low = (low + u32::from(*byte)) % MODULUS;
        (low, (high + low) % MODULUS)
    });
    (high << 16) | low
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(kind: KeyKind, text: &str) -> SopsKey {
        SopsKey { kind, origin: "key.txt".into(), text: text.into() }
    }

    #[test]
    fn entries_are_named_by_checksum_and_equal_keys_collapse() {
        let age = || key(KeyKind::Age, "AGE-SECRET-KEY-1XXXX");
        let sops = Sops { keys: vec![age(), age(), key(KeyKind::Gpg, "armour")] };
        let content = sops.content().unwrap();
        assert_eq!(content.data.len(), 2);
        assert!(content.data.contains_key("949618069.agekey"), "{:?}", content.data.keys());
    }

    #[test]
    fn no_key_and_an_empty_key_are_errors_that_cannot_be_skipped() {
        assert!(matches!(Sops { keys: vec![] }.content(), Err(SecretError::Missing(_))));
        assert!(matches!(Sops { keys: vec![key(KeyKind::Age, "")] }.content(), Err(SecretError::Invalid { .. })));
    }

    #[test]
    fn a_protected_key_and_a_key_of_the_other_kind_are_refused() {
        let check = |kind, text: &str| Sops { keys: vec![key(kind, text)] }.check();
        assert_eq!(check(KeyKind::Gpg, include_str!("samples/pgp-open.asc")), Ok(vec![]));
        let error = check(KeyKind::Gpg, include_str!("samples/pgp-protected.asc")).unwrap_err();
        assert!(error.to_string().starts_with("key from key.txt: it is protected"), "{error}");
        assert!(check(KeyKind::Age, include_str!("samples/pgp-open.asc")).is_err());
        assert!(check(KeyKind::Gpg, "AGE-SECRET-KEY-1XXXX").is_err());
    }
}
