//! User name and password for Git and Helm over HTTP.

use super::{SecretContent, SecretError, SecretText, Warnings, content, odd_characters, required, required_text};

const TYPE: &str = "kubernetes.io/basic-auth";

/// `kubernetes.io/basic-auth`: keys `username` and `password`.
#[derive(Clone, Debug)]
pub struct BasicAuth {
    pub username: String,
    pub password: SecretText,
}

impl BasicAuth {
    pub(super) fn content(&self) -> Result<SecretContent, SecretError> {
        let username = required_text("username", &self.username)?;
        let password = required("password", &self.password)?.clone();
        Ok(content(TYPE, [("username", Some(username)), ("password", Some(password))]))
    }

    pub(super) fn check(&self) -> Result<Warnings, SecretError> {
        check_user_and_password(&self.username, &self.password)
    }
}

/// RFC 7617 §2: the first colon separates user name and password, so a user name cannot contain one.
pub(super) fn check_user(username: &str) -> Result<Warnings, SecretError> {
    if username.contains(':') {
        return Err(SecretError::check("username", "a colon ends the user name in HTTP basic authentication"));
    }
    Ok(odd_characters("the user name", username))
}

pub(super) fn check_user_and_password(username: &str, password: &SecretText) -> Result<Warnings, SecretError> {
    let mut warnings = check_user(username)?;
    let Some(text) = password.expose_text() else {
        return Err(SecretError::check("password", "it is not text in UTF-8"));
    };
    warnings.extend(odd_characters("the password", text));
    Ok(warnings)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn basic(username: &str, password: &str) -> BasicAuth {
        BasicAuth { username: username.into(), password: password.into() }
    }

    #[test]
    fn both_values_are_required_and_kept_as_they_are() {
        assert_eq!(basic("", "p").content().unwrap_err(), SecretError::Missing("username"));
        assert_eq!(basic("u", "").content().unwrap_err(), SecretError::Missing("password"));
        let content = basic("admin", " sec ret ").content().unwrap();
        assert_eq!(content.data["password"].expose(), b" sec ret ");
        assert_eq!(content.type_, "kubernetes.io/basic-auth");
    }

    #[test]
    fn odd_values_warn_and_impossible_ones_fail() {
        assert_eq!(basic("u", "p").check().unwrap(), Vec::<String>::new());
        assert_eq!(basic("u", "p ").check().unwrap().len(), 1);
        assert!(basic("a:b", "p").check().is_err());
        assert!(basic("u", "").check().is_ok());
    }
}
