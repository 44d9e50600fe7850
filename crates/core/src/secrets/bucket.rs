//! Keys of an S3-compatible bucket.

use super::{
    OPAQUE, SecretContent, SecretError, SecretText, Warnings, content, odd_characters, required, required_text,
};

/// `Opaque`: keys `accesskey` and `secretkey`.
#[derive(Clone, Debug)]
pub struct Bucket {
    pub access_key: String,
    pub secret_key: SecretText,
}

impl Bucket {
    pub(super) fn content(&self) -> Result<SecretContent, SecretError> {
        let access = required_text("accesskey", &self.access_key)?;
        let secret = required("secretkey", &self.secret_key)?.clone();
        Ok(content(OPAQUE, [("accesskey", Some(access)), ("secretkey", Some(secret))]))
    }

    pub(super) fn check(&self) -> Result<Warnings, SecretError> {
        let Some(secret) = self.secret_key.expose_text() else {
            return Err(SecretError::check("secretkey", "it is not text in UTF-8"));
        };
        let mut warnings = odd_characters("the access key", &self.access_key);
        warnings.extend(odd_characters("the secret key", secret));
        if self.access_key == secret {
            warnings.push("access key and secret key are the same".to_owned());
        }
        Ok(warnings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_has_two_keys_that_differ() {
        let bucket = |a: &str, s: &str| Bucket { access_key: a.into(), secret_key: s.into() };
        let content = bucket("AKIA", "s3cret").content().unwrap();
        assert_eq!(content.data.keys().collect::<Vec<_>>(), ["accesskey", "secretkey"]);
        assert!(bucket("AKIA", "s3cret").check().unwrap().is_empty());
        assert_eq!(bucket("x", "x").check().unwrap().len(), 1);
        assert_eq!(bucket("", "s").content().unwrap_err(), SecretError::Missing("accesskey"));
    }
}
