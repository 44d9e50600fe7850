//! A token that Git over HTTP takes without a user name.

use super::{OPAQUE, SecretContent, SecretError, SecretText, Warnings, content, required};

/// Key `bearerToken`, as source-controller reads it: <https://fluxcd.io/flux/components/source/gitrepositories/#bearer-token-authentication>.
///
/// The type is `Opaque`: the API server wants `username` or `password` in a Secret of type `kubernetes.io/basic-auth`.
#[derive(Clone, Debug)]
pub struct BearerToken {
    pub token: SecretText,
}

impl BearerToken {
    pub(super) fn content(&self) -> Result<SecretContent, SecretError> {
        Ok(content(OPAQUE, [("bearerToken", Some(required("bearer token", &self.token)?.clone()))]))
    }

    /// RFC 6750 §2.1: a token is one word of visible characters; with any other the header could not be sent.
    pub(super) fn check(&self) -> Result<Warnings, SecretError> {
        let is_visible = self.token.expose().iter().all(u8::is_ascii_graphic);
        if is_visible {
            return Ok(vec![]);
        }
        Err(SecretError::check(
            "bearer token",
            "it contains white space, or characters that are not allowed in a header",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_kept_as_it_is_under_the_key_that_flux_reads() {
        let token = |text: &str| BearerToken { token: text.into() };
        let content = token("ghp_a.b-c~d+e/f==").content().unwrap();
        assert_eq!((content.type_, content.data["bearerToken"].expose()), ("Opaque", &b"ghp_a.b-c~d+e/f=="[..]));
        assert_eq!(content.data.len(), 1);
        assert_eq!(token("").content().unwrap_err(), SecretError::Missing("bearer token"));
        assert!(token("ghp_x").check().unwrap().is_empty());
        for wrong in [" ghp_x", "a b", "a\tb", "ü"] {
            assert!(token(wrong).check().is_err(), "{wrong:?}");
        }
    }
}
