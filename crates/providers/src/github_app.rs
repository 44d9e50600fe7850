//! Tokens of GitHub Apps: exchanges a signed JSON Web Token for an access token of one installation.
//!
//! Source: <https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app>.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use flux_operator_oci::transport::is_same_server;
use http::Method;
use jiff::{SignedDuration, Timestamp};
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::credentials::{AuthHeader, SecretData};
use crate::error::ProviderError;
use crate::git::{Api, PAGE_SIZE, Pages, segment};
use crate::github::{address_of, api, github_headers};
use crate::http::{Connection, address};

/// Maximum number of tokens in the cache.
const MOST_TOKENS: usize = 100;
/// A token that expires sooner is not used, because an export may take minutes.
const SHORTEST_REST: SignedDuration = SignedDuration::from_mins(5);

/// An app and its installation.
pub(crate) struct GitHubApp {
    id: String,
    private_key: SecretString,
    installation: InstallationReference,
    /// Address of the API, if it differs from the API of the repository.
    base: Option<String>,
}

enum InstallationReference {
    Id(String),
    Owner(String),
}

/// A cache of installation tokens, which are valid for an hour.
#[derive(Default)]
pub struct TokenCache(Mutex<HashMap<[u8; 32], (SecretString, Timestamp)>>);

impl TokenCache {
    /// Creates an empty cache.
    pub fn new() -> TokenCache {
        TokenCache::default()
    }

    fn get(&self, key: &[u8; 32], now: Timestamp) -> Option<SecretString> {
        let tokens = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (token, expires) = tokens.get(key)?;
        (now.duration_until(*expires) > SHORTEST_REST).then(|| token.clone())
    }

    fn put(&self, key: [u8; 32], token: SecretString, expires: Timestamp, now: Timestamp) {
        let mut tokens = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.retain(|_, (_, expires)| *expires > now);
        // Clear everything instead of tracking use, because a lost token costs only one more request.
        if tokens.len() >= MOST_TOKENS {
            tokens.clear();
        }
        tokens.insert(key, (token, expires));
    }
}

impl GitHubApp {
    /// Reads an app from the Secret of `spec.secretRef`.
    ///
    /// # Errors
    /// A key is missing, or the Secret does not name exactly one of installation ID and owner.
    pub(crate) fn from_secret(secret: &SecretData) -> Result<GitHubApp, String> {
        let text = |key: &str| secret.text(key).map(|text| text.expose_secret().to_owned());
        let id = secret.required("githubAppID")?.expose_secret().to_owned();
        let private_key = secret.required("githubAppPrivateKey")?;
        let installation = match (text("githubAppInstallationID"), text("githubAppInstallationOwner")) {
            (Some(id), None) => InstallationReference::Id(id),
            (None, Some(owner)) => InstallationReference::Owner(owner),
            _ => {
                let name = &secret.name;
                return Err(format!(
                    "invalid secret '{name}': exactly one of 'githubAppInstallationOwner' and 'githubAppInstallationID' must be set"
                ));
            }
        };
        Ok(GitHubApp { id, private_key, installation, base: text("githubAppBaseURL") })
    }

    /// Returns the header with a cached or new token of the installation. `base` is the API of the repository.
    ///
    /// # Errors
    /// The key cannot sign, or GitHub gives no token.
    pub(crate) async fn header(
        &self,
        base: &str,
        connection: &Connection,
        tokens: &TokenCache,
    ) -> Result<AuthHeader, ProviderError> {
        let base = match &self.base {
            None => base.to_owned(),
            Some(own) => {
                let own = own.trim_end_matches('/');
                let parsed = address(own).map_err(|_| "githubAppBaseURL is not a valid address".to_owned())?;
                // Plain http would expose the signed statement, which is worth an hour of the app's rights.
                if parsed.scheme_str() != Some("https") && !is_same_server(&parsed, &address_of(base)?) {
                    return Err(ProviderError::new("githubAppBaseURL must use 'https://'"));
                }
                own.to_owned()
            }
        };
        let (now, key) = (Timestamp::now(), self.cache_key(&base));
        if let Some(token) = tokens.get(&key, now) {
            return Ok(AuthHeader::token("Bearer", &token)?);
        }
        let statement = AuthHeader::token("Bearer", &self.statement(now)?)?;
        let api = api(&base, connection, Some(statement), github_headers())?;
        let failed = |error: ProviderError| error.within("could not get a token of the GitHub App");
        let installation = match &self.installation {
            InstallationReference::Id(id) => id.clone(),
            InstallationReference::Owner(owner) => installation_of(&api, &base, owner).await.map_err(failed)?,
        };
        let url = address_of(&format!("{base}/app/installations/{}/access_tokens", segment(&installation)))?;
        let (answer, _) = api.request::<AccessToken>(&Method::POST, &url).await.map_err(|error| failed(error.error))?;
        let header = AuthHeader::token("Bearer", &answer.token)?;
        // A token with an unreadable expiry is used once and not cached.
        if let Ok(expires) = answer.expires_at.parse() {
            tokens.put(key, answer.token, expires, now);
        }
        Ok(header)
    }

    fn cache_key(&self, base: &str) -> [u8; 32] {
        let installation = match &self.installation {
            InstallationReference::Id(id) => format!("id:{id}"),
            InstallationReference::Owner(owner) => format!("owner:{owner}"),
        };
        // The length of each part is hashed too, so that different parts never concatenate to the same text.
        let mut hash = Sha256::new();
        for part in [base, &self.id, &installation, self.private_key.expose_secret()] {
            hash.update(part.len().to_be_bytes());
            hash.update(part);
        }
        hash.finalize().into()
    }

    /// Returns the app's signed statement of its identity (a JSON Web Token, RFC 7519), valid for nine minutes.
    fn statement(&self, now: Timestamp) -> Result<SecretString, ProviderError> {
        let unusable = |problem: &str| ProviderError::new(format!("the private key of the GitHub App {problem}"));
        let key = PrivateKeyDer::from_pem_slice(self.private_key.expose_secret().as_bytes());
        let pair = match key.map_err(|_| unusable("is not a private key in PEM"))? {
            PrivateKeyDer::Pkcs1(der) => RsaKeyPair::from_der(der.secret_pkcs1_der()),
            PrivateKeyDer::Pkcs8(der) => RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()),
            _ => return Err(unusable("is not an RSA key")),
        };
        let pair = pair.map_err(|_| unusable("is not a usable RSA key"))?;
        let now = now.as_second();
        // GitHub's clock may be behind, and GitHub refuses statements that are valid for more than ten minutes.
        let claims = serde_json::json!({ "iat": now - 60, "exp": now + 9 * 60, "iss": self.id });
        let encode = |text: &[u8]| URL_SAFE_NO_PAD.encode(text);
        let signed = format!("{}.{}", encode(br#"{"alg":"RS256","typ":"JWT"}"#), encode(claims.to_string().as_bytes()));
        let mut signature = vec![0; pair.public_modulus_len()];
        pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature)
            .map_err(|_| unusable("cannot sign"))?;
        Ok(format!("{signed}.{}", encode(&signature)).into())
    }
}

#[derive(Deserialize)]
struct AccessToken {
    token: SecretString,
    #[serde(default)]
    expires_at: String,
}

#[derive(Deserialize)]
struct InstallationOf {
    id: u64,
    account: Option<Account>,
}

#[derive(Deserialize)]
struct Account {
    login: Option<String>,
}

/// Finds the installation of an organisation or user.
async fn installation_of(api: &Api, base: &str, owner: &str) -> Result<String, ProviderError> {
    let first = address_of(&format!("{base}/app/installations?per_page={PAGE_SIZE}"))?;
    let mut pages = Pages::new(api, "installations", first);
    while let Some(page) = pages.next::<Vec<InstallationOf>>().await? {
        // GitHub ignores the case of logins.
        let is_owner = |login: &str| login.eq_ignore_ascii_case(owner);
        let found = page
            .iter()
            .find(|one| one.account.as_ref().and_then(|account| account.login.as_deref()).is_some_and(is_owner));
        if let Some(found) = found {
            return Ok(found.id.to_string());
        }
    }
    Err(ProviderError::new(format!("the app is not installed for '{owner}'")))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn secret(pairs: &[(&str, &str)]) -> SecretData {
        let data: BTreeMap<_, _> =
            pairs.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec())).collect();
        SecretData { name: "apps/app".to_owned(), data }
    }

    #[test]
    fn an_app_needs_a_key_and_exactly_one_installation() {
        let both = [
            ("githubAppID", "1"),
            ("githubAppPrivateKey", "k"),
            ("githubAppInstallationID", "2"),
            ("githubAppInstallationOwner", "o"),
        ];
        let refused = |pairs: &[(&str, &str)]| GitHubApp::from_secret(&secret(pairs)).err().unwrap();
        assert_eq!(refused(&both[..1]), "invalid secret 'apps/app': key 'githubAppPrivateKey' is missing");
        for pairs in [&both[..2], &both[..]] {
            assert!(refused(pairs).contains("exactly one of"), "{}", refused(pairs));
        }
        assert!(GitHubApp::from_secret(&secret(&both[..3])).is_ok());
    }

    #[test]
    fn a_key_that_cannot_sign_is_refused_without_its_text() {
        for key in ["hunter2", "-----BEGIN PRIVATE KEY-----\naHVudGVyMg==\n-----END PRIVATE KEY-----\n"] {
            let app = GitHubApp {
                id: "1".to_owned(),
                private_key: key.into(),
                installation: InstallationReference::Id("2".to_owned()),
                base: None,
            };
            let error = app.statement(Timestamp::UNIX_EPOCH).unwrap_err().to_string();
            assert!(error.starts_with("the private key of the GitHub App is not"), "{error}");
            assert!(!error.contains("aHVudGVyMg") && !error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn tokens_are_cached_until_shortly_before_they_expire_and_never_too_many() {
        let (tokens, now) = (TokenCache::new(), Timestamp::UNIX_EPOCH);
        let after = |minutes| now.checked_add(SignedDuration::from_mins(minutes)).unwrap();
        tokens.put([0; 32], "a".into(), after(60), now);
        assert!(tokens.get(&[0; 32], after(54)).is_some());
        assert!(tokens.get(&[0; 32], after(55)).is_none());
        for number in 1..=200 {
            tokens.put([number; 32], "b".into(), after(60), now);
        }
        assert!(tokens.0.lock().unwrap().len() <= MOST_TOKENS);
    }
}
