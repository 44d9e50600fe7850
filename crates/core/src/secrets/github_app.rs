//! A GitHub App that Flux signs in as.

use super::pem::{self, KeyProblem};
use super::{OPAQUE, SecretContent, SecretError, SecretText, Warnings, content, required, required_text};

/// `Opaque`: keys `githubAppID`, `githubAppPrivateKey`, the installation, and `githubAppBaseURL` if given.
#[derive(Clone, Debug)]
pub struct GithubApp {
    pub app_id: String,
    pub installation: AppInstallation,
    /// PEM file, kept as it is.
    pub private_key: SecretText,
    /// For GitHub Enterprise: `https://github.example.com/api/v3`.
    pub base_url: Option<String>,
}

/// Where the app is installed.
#[derive(Clone, Debug)]
pub enum AppInstallation {
    Owner(String),
    Id(String),
}

impl GithubApp {
    pub(super) fn content(&self) -> Result<SecretContent, SecretError> {
        let app_id = required_text("app-id", &self.app_id)?;
        let private_key = required("app-private-key-file", &self.private_key)?.clone();
        let (key, installation) = match &self.installation {
            AppInstallation::Owner(owner) => {
                ("githubAppInstallationOwner", required_text("app-installation-owner", owner)?)
            }
            AppInstallation::Id(id) => ("githubAppInstallationID", required_text("app-installation-id", id)?),
        };
        let base_url = self.base_url.as_deref().filter(|u| !u.is_empty()).map(SecretText::from);
        Ok(content(
            OPAQUE,
            [
                ("githubAppID", Some(app_id)),
                ("githubAppPrivateKey", Some(private_key)),
                (key, Some(installation)),
                ("githubAppBaseURL", base_url),
            ],
        ))
    }

    pub(super) fn check(&self) -> Result<Warnings, SecretError> {
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if !is_number(&self.app_id) {
            return Err(SecretError::check("app-id", "it is not a number"));
        }
        if let AppInstallation::Id(id) = &self.installation
            && !is_number(id)
        {
            return Err(SecretError::check("app-installation-id", "it is not a number"));
        }
        let what = "app-private-key-file";
        // GitHub hands out RSA keys only: https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/managing-private-keys-for-github-apps
        match pem::read_private_key(self.private_key.expose()) {
            Ok(key) if !key.is_rsa() => {
                return Err(SecretError::check(what, "not an RSA key (GitHub issues only RSA)"));
            }
            Ok(_) => {}
            Err(KeyProblem::Encrypted) => {
                return Err(SecretError::check(what, "the key is encrypted, and Flux has no password for it"));
            }
            Err(problem) => {
                let error = SecretError::check(what, problem.to_string());
                return Err(error.hint("download a private key in the settings of the GitHub App"));
            }
        }
        let mut warnings = vec![];
        if let Some(url) = self.base_url.as_deref().filter(|u| !u.is_empty()) {
            let parsed: Option<http::Uri> = url.parse().ok();
            match parsed.as_ref().and_then(http::Uri::scheme_str) {
                Some("https") => {}
                Some("http") => warnings.push("app-base-url is not encrypted: use https".to_owned()),
                _ => return Err(SecretError::check("app-base-url", "it is not an https URL")),
            }
        }
        Ok(warnings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secrets::pem::samples;

    fn app(key: &str) -> GithubApp {
        GithubApp {
            app_id: "1".into(),
            installation: AppInstallation::Id("2".into()),
            private_key: key.into(),
            base_url: None,
        }
    }

    #[test]
    fn an_rsa_key_in_either_form_is_accepted() {
        assert!(app(samples::RSA_PKCS1).check().unwrap().is_empty());
        assert!(app(samples::RSA_PKCS8).check().unwrap().is_empty());
        let content = app(samples::RSA_PKCS1).content().unwrap();
        assert_eq!(content.data["githubAppInstallationID"].expose(), b"2");
        assert!(!content.data.contains_key("githubAppInstallationOwner"));
    }

    #[test]
    fn other_keys_and_odd_values_are_refused_or_noted() {
        for key in ["", "no pem", samples::ED25519_PKCS8, samples::CERTIFICATE_LIKE] {
            assert!(app(key).check().is_err(), "{key}");
        }
        assert!(GithubApp { app_id: "one".into(), ..app(samples::RSA_PKCS1) }.check().is_err());
        let enterprise = |url: &str| GithubApp { base_url: Some(url.into()), ..app(samples::RSA_PKCS1) }.check();
        assert_eq!(enterprise("https://github.example.com/api/v3"), Ok(vec![]));
        assert_eq!(enterprise("http://github.example.com").map(|w| w.len()), Ok(1));
        assert!(enterprise("github.example.com").is_err());
    }
}
