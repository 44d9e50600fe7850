//! Answers to a registry's 401: passwords and tokens, cached while they are valid.
//!
//! Source: <https://distribution.github.io/distribution/spec/auth/token/>, and for identity tokens
//! <https://distribution.github.io/distribution/spec/auth/oauth/>.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use http::uri::{Authority, Scheme};
use http::{HeaderMap, Method, Uri};
use hyper::body::Bytes;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use secrecy::ExposeSecret;
use serde::Deserialize;
use zeroize::Zeroizing;

use super::challenge::{self, Challenge};
use super::error::Reason;
use super::http::{Http, Payload, RepeatableRequest};
use super::transport::{is_same_server, shown};
use super::{Login, Repository};

/// Everything except the unreserved characters of RFC 3986 §2.3.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// Lifetime of a token whose answer does not state one, from the distribution specification.
const DEFAULT_LIFETIME: Duration = Duration::from_secs(60);
const MAX_LIFETIME_SECS: f64 = 86_400.0;
const MAX_TOKEN_ANSWER_BYTES: u64 = 1 << 20;

/// The requested scopes: `pull` or `pull,push` of a repository, and `pull` of the repository from which a blob is
/// mounted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Scopes(Vec<String>);

impl Scopes {
    pub(super) fn pull(repository: &Repository) -> Self {
        Scopes(vec![format!("repository:{}:pull", repository.path())])
    }

    pub(super) fn push(repository: &Repository) -> Self {
        Scopes(vec![format!("repository:{}:pull,push", repository.path())])
    }

    pub(super) fn and_pull(mut self, repository: &Repository) -> Self {
        self.0.extend(Scopes::pull(repository).0);
        self
    }
}

#[derive(Default)]
pub(super) struct Authorizer {
    /// By registry. Each lock is held while a token is fetched, so that concurrent callers fetch it once.
    registries: Mutex<HashMap<String, Arc<tokio::sync::Mutex<RegistryTokens>>>>,
}

#[derive(Default)]
struct RegistryTokens {
    challenge: Option<Challenge>,
    /// By repository: pull secrets and docker configurations may have several entries for a registry.
    logins: HashMap<Repository, Option<Login>>,
    tokens: HashMap<(Repository, Scopes), RegistryToken>,
}

struct RegistryToken {
    header: HeaderValue,
    until: Instant,
}

impl Authorizer {
    fn known(&self, repository: &Repository) -> Arc<tokio::sync::Mutex<RegistryTokens>> {
        let mut registries = self.registries.lock().unwrap_or_else(PoisonError::into_inner);
        registries.entry(repository.registry().to_owned()).or_default().clone()
    }

    /// Returns the credentials of a first request: none until the registry has sent a challenge.
    pub(super) async fn current(
        &self,
        http: &Http,
        repository: &Repository,
        scopes: &Scopes,
    ) -> Result<Option<HeaderValue>, Reason> {
        let known = self.known(repository);
        let mut known = known.lock().await;
        // Requests start without credentials: only the challenge tells which server may get the password.
        match known.challenge.clone() {
            None => Ok(None),
            Some(challenge) => known.authorization(http, repository, scopes, &challenge).await,
        }
    }

    /// Returns the credentials after a 401 of the registry itself, other than `used`; `None` when nothing is left to
    /// try. The challenge names the server that gets the password, so a challenge of another server must never be
    /// passed here.
    pub(super) async fn after_refusal(
        &self,
        http: &Http,
        repository: &Repository,
        scopes: &Scopes,
        answer: &HeaderMap,
        used: Option<&HeaderValue>,
    ) -> Result<Option<HeaderValue>, Reason> {
        let offered = answer.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
        let Some(challenge) = challenge::choose(offered) else { return Ok(None) };
        let known = self.known(repository);
        let mut known = known.lock().await;
        known.challenge = Some(challenge.clone());
        // Another request may have fetched a new token in the meantime.
        known.tokens.retain(|_, token| Some(&token.header) != used);
        let again = known.authorization(http, repository, scopes, &challenge).await?;
        Ok(again.filter(|header| Some(header) != used))
    }

    /// Whether requests about a repository carry no credentials.
    pub(super) async fn is_anonymous(&self, repository: &Repository) -> bool {
        let known = self.known(repository);
        let known = known.lock().await;
        known.logins.get(repository).is_none_or(Option::is_none)
    }
}

impl RegistryTokens {
    async fn authorization(
        &mut self,
        http: &Http,
        repository: &Repository,
        scopes: &Scopes,
        challenge: &Challenge,
    ) -> Result<Option<HeaderValue>, Reason> {
        let key = (repository.clone(), scopes.clone());
        if let Some(token) = self.tokens.get(&key).filter(|token| token.until > Instant::now()) {
            return Ok(Some(token.header.clone()));
        }
        let login = match self.logins.get(repository) {
            Some(login) => login.clone(),
            None => {
                let login = http.access.credentials.login(repository).await?;
                self.logins.insert(repository.clone(), login.clone());
                login
            }
        };
        match (challenge, &login) {
            (_, Some(Login::RegistryToken(token))) => bearer(token.expose_secret()).map(Some),
            (Challenge::Basic, Some(Login::Password { username, password })) => {
                basic(username, password.expose_secret()).map(Some)
            }
            (Challenge::Basic, _) => Ok(None),
            (Challenge::Bearer { realm, service }, login) => {
                let request = TokenRequest { http, repository, scopes, realm, service: service.as_deref() };
                let token = match request.send(login.as_ref()).await {
                    // `Http::send` has repeated failed requests, but not an answer that was cut off. The whole request
                    // is sent once more, because a part of a token is useless.
                    Err(Reason::Unreachable { .. }) => request.send(login.as_ref()).await?,
                    result => result?,
                };
                let header = token.header.clone();
                self.tokens.insert(key, token);
                Ok(Some(header))
            }
        }
    }
}

fn basic(username: &str, password: &str) -> Result<HeaderValue, Reason> {
    let both = Zeroizing::new(format!("{username}:{password}"));
    sensitive(&Zeroizing::new(format!("Basic {}", STANDARD.encode(both.as_bytes()))))
}

fn bearer(token: &str) -> Result<HeaderValue, Reason> {
    sensitive(&Zeroizing::new(format!("Bearer {token}")))
}

fn sensitive(text: &str) -> Result<HeaderValue, Reason> {
    let mut value = HeaderValue::from_str(text).map_err(|_| {
        Reason::Config("the credentials contain characters that are not allowed in a header".to_owned())
    })?;
    value.set_sensitive(true);
    Ok(value)
}

struct TokenRequest<'a> {
    http: &'a Http,
    repository: &'a Repository,
    scopes: &'a Scopes,
    realm: &'a str,
    service: Option<&'a str>,
}

#[derive(Deserialize)]
struct TokenAnswer {
    token: Option<Zeroizing<String>>,
    access_token: Option<Zeroizing<String>>,
    /// Seconds. Some servers write a text, or a negative number for a token that is valid for a single request.
    expires_in: Option<serde_json::Value>,
}

/// Returns the lifetime of a token: zero if the answer says that it has expired.
fn lifetime(expires_in: Option<&serde_json::Value>) -> Duration {
    let seconds = expires_in.and_then(|value| match value {
        serde_json::Value::String(text) => text.trim().parse::<f64>().ok(),
        value => value.as_f64(),
    });
    seconds.map_or(DEFAULT_LIFETIME, |seconds| Duration::from_secs_f64(seconds.clamp(0.0, MAX_LIFETIME_SECS)))
}

impl TokenRequest<'_> {
    async fn send(&self, login: Option<&Login>) -> Result<RegistryToken, Reason> {
        let registry = self.repository.authority();
        let protocol = |problem: String| Reason::Protocol { registry: registry.to_owned(), problem };
        let realm: Uri = self.realm.parse().map_err(|_| protocol("its token server has no valid address".into()))?;
        let is_url = matches!(realm.scheme_str(), Some("http" | "https"))
            // A user name in the address would become part of the host that is connected to.
            && realm.authority().is_some_and(|authority| !authority.as_str().contains('@'));
        if !is_url {
            return Err(protocol("its token server has no http or https address".to_owned()));
        }
        // A registry with TLS must not make us send the password in clear text, nor a token, which is as good as a
        // password while it is valid.
        let server = realm.authority().map_or(registry, Authority::as_str).to_owned();
        if realm.scheme() == Some(&Scheme::HTTP) && !self.http.access.may_send_plain(registry, &server) {
            return Err(protocol(format!("it requires credentials to be sent without TLS to {}", shown(&realm))));
        }
        let (mut request, authorization) = match login {
            Some(Login::IdentityToken(token)) => (self.refresh(realm, token.expose_secret())?, None),
            Some(Login::Password { username, password }) => {
                (self.get(&realm)?, Some(basic(username, password.expose_secret())?))
            }
            Some(Login::RegistryToken(_)) | None => (self.get(&realm)?, None),
        };
        let asked = Instant::now();
        let answer = self.http.send(registry, &mut request, authorization.as_ref(), None).await?;
        let (status, is_own) = (answer.status(), is_same_server(&answer.url, &request.url));
        if !status.is_success() {
            return Err(match status.as_u16() {
                401 | 403 if !is_own => Reason::UnauthorizedElsewhere { registry: server, server: answer.server() },
                // The specification requires 401 for wrong credentials; some servers answer 400 or 403.
                400 | 401 | 403 => Reason::Unauthorized { registry: registry.to_owned(), anonymous: login.is_none() },
                code => Reason::Server { registry: answer.server(), code, message: String::new() },
            });
        }
        let what = "the token server's answer";
        let body = self.http.read(&server, what, answer.response, MAX_TOKEN_ANSWER_BYTES).await?;
        let answer: TokenAnswer =
            serde_json::from_slice(&body).map_err(|_| protocol("its token server's answer does not parse".into()))?;
        // Older servers call it `token`, OAuth servers `access_token`.
        let token = [answer.token, answer.access_token].into_iter().flatten().find(|token| !token.is_empty());
        let token = token.ok_or_else(|| protocol("its token server returned no token".to_owned()))?;
        // Slightly shorter, so that a token does not expire on its way.
        let lifetime = lifetime(answer.expires_in.as_ref());
        Ok(RegistryToken { header: bearer(&token)?, until: asked + lifetime.mul_f64(0.9) })
    }

    fn get(&self, realm: &Uri) -> Result<RepeatableRequest, Reason> {
        let service = self.service.map(|service| ("service", service));
        let fields = service.into_iter().chain(self.scopes.0.iter().map(|scope| ("scope", scope.as_str())));
        let separator = if realm.query().is_some() { '&' } else { '?' };
        let text = format!("{realm}{separator}{}", form(fields));
        let url = text.parse().map_err(|_| Reason::Config("the token server's address is too long".to_owned()))?;
        Ok(RepeatableRequest::new(Method::GET, url))
    }

    fn refresh(&self, realm: Uri, identity: &str) -> Result<RepeatableRequest, Reason> {
        let scopes = self.scopes.0.join(" ");
        let service = self.service.unwrap_or_default();
        let body = Zeroizing::new(form([
            ("grant_type", "refresh_token"),
            ("service", service),
            ("scope", &scopes),
            ("client_id", "flux-operator"),
            ("refresh_token", identity),
        ]));
        let kind = HeaderValue::from_static("application/x-www-form-urlencoded");
        let body = Payload::Bytes(Bytes::copy_from_slice(body.as_bytes()));
        Ok(RepeatableRequest::new(Method::POST, realm).header(CONTENT_TYPE, kind).payload(body).idempotent())
    }
}

/// `application/x-www-form-urlencoded`, which is also valid in a query.
pub(super) fn form<'a>(fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let fields = fields.into_iter().map(|(key, value)| format!("{key}={}", utf8_percent_encode(value, RESERVED)));
    fields.collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_that_has_already_expired_has_no_lifetime() {
        for (answer, expected) in [
            ("{}", 60),
            (r#"{"expires_in": null}"#, 60),
            (r#"{"expires_in": 300}"#, 300),
            (r#"{"expires_in": "300"}"#, 300),
            (r#"{"expires_in": 0}"#, 0),
            (r#"{"expires_in": -1}"#, 0),
            (r#"{"expires_in": -9999999999999999999999}"#, 0),
            (r#"{"expires_in": 1e300}"#, 86_400),
        ] {
            let answer: TokenAnswer = serde_json::from_str(answer).unwrap();
            let expires_in = answer.expires_in;
            assert_eq!(lifetime(expires_in.as_ref()), Duration::from_secs(expected), "{expires_in:?}");
        }
    }

    #[test]
    fn a_mount_asks_for_both_repositories() {
        let scopes = Scopes::push(&"a.io/x/y".parse().unwrap()).and_pull(&"a.io/z".parse().unwrap());
        assert_eq!(scopes.0, ["repository:x/y:pull,push", "repository:z:pull"]);
        assert_eq!(
            form([("scope", scopes.0[0].as_str()), ("a", "ü &")]),
            "scope=repository%3Ax%2Fy%3Apull%2Cpush&a=%C3%BC%20%26"
        );
    }
}
