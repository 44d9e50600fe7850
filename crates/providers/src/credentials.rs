//! Reads credentials and certificates from the data of Secrets. No error repeats a value.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::AUTHORIZATION;
use http::{HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};

use crate::github_app::GitHubApp;
use crate::settings::GitHost;

/// The data of a Secret, decoded, and its `namespace/name` for errors.
#[derive(Clone)]
pub struct SecretData {
    /// `namespace/name`.
    pub name: String,
    /// Values by key.
    pub data: BTreeMap<String, Vec<u8>>,
}

impl fmt::Debug for SecretData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretData {{ name: {:?}, keys: {:?} }}", self.name, self.data.keys())
    }
}

impl SecretData {
    /// Returns the trimmed text of a key; `None` if it is missing, empty or not UTF-8.
    pub(crate) fn text(&self, key: &str) -> Option<SecretString> {
        let text = std::str::from_utf8(self.data.get(key)?).ok()?.trim();
        (!text.is_empty()).then(|| text.into())
    }

    pub(crate) fn required(&self, key: &str) -> Result<SecretString, String> {
        self.text(key).ok_or_else(|| self.missing(key))
    }

    fn verbatim(&self, key: &str) -> Result<SecretString, String> {
        let text = self.data.get(key).and_then(|value| std::str::from_utf8(value).ok());
        text.map(Into::into).ok_or_else(|| self.missing(key))
    }

    fn missing(&self, key: &str) -> String {
        format!("invalid secret '{}': key '{key}' is missing", self.name)
    }
}

/// Certificates in PEM: the authorities that verify the server, and the client certificate.
#[derive(Clone, Default)]
pub struct TlsFiles {
    /// Replace the authorities of the operating system.
    pub authorities: Option<Vec<u8>>,
    /// A certificate chain and its private key.
    pub identity: Option<(Vec<u8>, SecretString)>,
}

impl fmt::Debug for TlsFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (authorities, identity) = (self.authorities.is_some(), self.identity.is_some());
        write!(f, "TlsFiles {{ authorities: {authorities}, identity: {identity} }}")
    }
}

impl TlsFiles {
    /// Reads the Secret of `spec.certSecretRef`. The keys of older Flux versions are accepted as well.
    ///
    /// # Errors
    /// The Secret has neither an authority nor a complete identity, or only half of an identity.
    pub fn from_secret(secret: &SecretData) -> Result<TlsFiles, String> {
        let of = |key: &str, legacy: &str| {
            let value = secret.data.get(key).or_else(|| secret.data.get(legacy));
            value.filter(|value| !value.trim_ascii().is_empty()).cloned()
        };
        let authorities = of("ca.crt", "caFile");
        let (certificate, key) = (of("tls.crt", "certFile"), of("tls.key", "keyFile"));
        let identity = match (certificate, key) {
            (Some(certificate), Some(key)) => {
                let key = String::from_utf8(key);
                let key = key.map_err(|_| format!("invalid secret '{}': key 'tls.key' is not text", secret.name))?;
                Some((certificate, key.into()))
            }
            (None, None) if authorities.is_some() => None,
            _ => {
                let name = &secret.name;
                return Err(format!("secret '{name}' must contain either 'ca.crt' or both 'tls.crt' and 'tls.key'"));
            }
        };
        Ok(TlsFiles { authorities, identity })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.authorities.is_none() && self.identity.is_none()
    }
}

/// A header with credentials, and the secret text in it.
#[derive(Clone)]
pub(crate) struct AuthHeader {
    pub name: HeaderName,
    pub value: HeaderValue,
    pub secret: SecretString,
}

impl AuthHeader {
    /// `Authorization: SCHEME TOKEN`.
    pub(crate) fn token(scheme: &str, token: &SecretString) -> Result<AuthHeader, String> {
        Self::new(AUTHORIZATION, &format!("{scheme} {}", token.expose_secret()), token)
    }

    pub(crate) fn basic(username: &str, password: &SecretString) -> Result<AuthHeader, String> {
        let pair = STANDARD.encode(format!("{username}:{}", password.expose_secret()));
        Self::new(AUTHORIZATION, &format!("Basic {pair}"), password)
    }

    fn new(name: HeaderName, value: &str, secret: &SecretString) -> Result<AuthHeader, String> {
        let mut value = HeaderValue::from_str(value)
            .map_err(|_| "the credentials contain characters that are not allowed in an HTTP header".to_owned())?;
        value.set_sensitive(true);
        Ok(AuthHeader { name, value, secret: secret.clone() })
    }
}

/// Credentials for the API of a Git host.
pub(crate) enum GitCredentials {
    Anonymous,
    Header(AuthHeader),
    App(Box<GitHubApp>),
}

impl GitCredentials {
    /// Reads the Secret of `spec.secretRef` for a Git host. A token needs no user name.
    pub(crate) fn new(host: GitHost, secret: Option<&SecretData>) -> Result<GitCredentials, String> {
        let Some(secret) = secret else { return Ok(GitCredentials::Anonymous) };
        if host == GitHost::GitHub && secret.data.contains_key("githubAppID") {
            return GitHubApp::from_secret(secret).map(|app| GitCredentials::App(Box::new(app)));
        }
        let token = secret.text("password").or_else(|| secret.text("token"));
        let token = token.ok_or_else(|| secret.missing("password"))?;
        let header = match host {
            GitHost::GitHub => AuthHeader::token("Bearer", &token),
            GitHost::Gitea => AuthHeader::token("token", &token),
            // Azure DevOps takes a personal access token as the password of any user.
            GitHost::AzureDevOps => AuthHeader::basic("", &token),
            // GitLab's own header accepts access tokens of users, projects and groups.
            GitHost::GitLab => AuthHeader::new(HeaderName::from_static("private-token"), token.expose_secret(), &token),
        };
        header.map(GitCredentials::Header).map_err(|problem| format!("invalid secret '{}': {problem}", secret.name))
    }
}

/// Reads the Secret of `spec.secretRef` for an ExternalService.
pub(crate) fn service_header(secret: &SecretData) -> Result<AuthHeader, String> {
    let header = match secret.text("token") {
        Some(token) => AuthHeader::token("Bearer", &token),
        None => {
            // Unlike a token, a password may begin or end with white space.
            let username = secret.verbatim("username")?;
            AuthHeader::basic(username.expose_secret(), &secret.verbatim("password")?)
        }
    };
    header.map_err(|problem| format!("invalid secret '{}': {problem}", secret.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(pairs: &[(&str, &str)]) -> SecretData {
        let data = pairs.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec())).collect();
        SecretData { name: "apps/auth".to_owned(), data }
    }

    fn header(host: GitHost, pairs: &[(&str, &str)]) -> Result<String, String> {
        GitCredentials::new(host, Some(&secret(pairs))).map(|credentials| match credentials {
            GitCredentials::Header(header) => format!("{}: {}", header.name, header.value.to_str().unwrap()),
            GitCredentials::Anonymous => "anonymous".to_owned(),
            GitCredentials::App(_) => "app".to_owned(),
        })
    }

    #[test]
    fn each_git_host_gets_the_token_in_its_own_header() {
        let basic = [("username", "git"), ("password", " t0ken\n")];
        for (host, expected) in [
            (GitHost::GitHub, "authorization: Bearer t0ken"),
            (GitHost::GitLab, "private-token: t0ken"),
            (GitHost::Gitea, "authorization: token t0ken"),
            (GitHost::AzureDevOps, "authorization: Basic OnQwa2Vu"),
        ] {
            assert_eq!(header(host, &basic).as_deref(), Ok(expected));
            assert_eq!(header(host, &[("token", "t0ken")]).as_deref(), Ok(expected), "a lone token");
        }
        assert_eq!(
            header(GitHost::GitHub, &[("username", "git")]).unwrap_err(),
            "invalid secret 'apps/auth': key 'password' is missing"
        );
        let error = header(GitHost::GitLab, &[("token", "s3\u{1}cret")]).unwrap_err();
        assert!(error.contains("not allowed in an HTTP header") && !error.contains("cret'"), "{error}");
    }

    #[test]
    fn a_service_takes_a_token_or_a_password() {
        let header = |pairs: &[(&str, &str)]| {
            service_header(&secret(pairs)).map(|header| header.value.to_str().unwrap().to_owned())
        };
        assert_eq!(header(&[("token", " t0ken\n"), ("username", "x")]).as_deref(), Ok("Bearer t0ken"));
        assert_eq!(header(&[("username", "u"), ("password", "p")]).as_deref(), Ok("Basic dTpw"));
        for (pairs, missing) in [(&[("username", "u")], "password"), (&[("password", "p")], "username")] {
            let expected = format!("invalid secret 'apps/auth': key '{missing}' is missing");
            assert_eq!(header(pairs).unwrap_err(), expected);
        }
    }

    #[test]
    fn certificates_are_an_authority_or_a_whole_identity() {
        let read = |pairs: &[(&str, &str)]| {
            TlsFiles::from_secret(&secret(pairs)).map(|tls| (tls.authorities.is_some(), tls.identity.is_some()))
        };
        assert_eq!(read(&[("ca.crt", "a")]), Ok((true, false)));
        assert_eq!(read(&[("tls.crt", "a"), ("tls.key", "b")]), Ok((false, true)));
        assert_eq!(read(&[("caFile", "a"), ("certFile", "a"), ("keyFile", "b")]), Ok((true, true)));
        for wrong in [&[("tls.crt", "a")] as &[_], &[("ca.crt", "a"), ("tls.key", "b")], &[("x", "y")]] {
            assert_eq!(
                read(wrong).unwrap_err(),
                "secret 'apps/auth' must contain either 'ca.crt' or both 'tls.crt' and 'tls.key'"
            );
        }
    }

    #[test]
    fn no_debug_output_shows_a_value() {
        let secret = secret(&[("tls.crt", "hunter2"), ("tls.key", "hunter2"), ("ca.crt", "hunter2")]);
        let tls = TlsFiles::from_secret(&secret).unwrap();
        assert!(!format!("{secret:?} {tls:?}").contains("hunter2"));
    }
}
