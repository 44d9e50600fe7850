//! Bytes that are zeroed when dropped and never shown by `Debug`.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};
use zeroize::Zeroizing;

/// Secret bytes: a password, or a file kept verbatim.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SecretText(Zeroizing<Vec<u8>>);

impl SecretText {
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// The text, if it is UTF-8.
    pub(crate) fn expose_text(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl From<Vec<u8>> for SecretText {
    fn from(bytes: Vec<u8>) -> Self {
        SecretText(Zeroizing::new(bytes))
    }
}

impl From<String> for SecretText {
    fn from(text: String) -> Self {
        text.into_bytes().into()
    }
}

impl From<&str> for SecretText {
    fn from(text: &str) -> Self {
        text.as_bytes().to_vec().into()
    }
}

impl From<&SecretString> for SecretText {
    fn from(text: &SecretString) -> Self {
        text.expose_secret().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_is_redacted_also_inside_other_types() {
        let text = format!("{:?}", Some(vec![SecretText::from("canary")]));
        assert_eq!(text, "Some([[redacted]])");
    }
}
