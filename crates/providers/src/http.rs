//! Requests to the one server that a provider names. Credentials go to that server only. Every wait and every body that
//! is read has a limit.

use std::error::Error;
use std::io;
use std::time::{Duration, SystemTime};

use flux_operator_core::format::backoff::Backoff;
use flux_operator_core::format::error::innermost;
use flux_operator_core::format::harmless::on_one_line;
use flux_operator_core::format::proxy::ProxyEnvironment;
use flux_operator_core::format::tls::{self, ServerTrust};
use flux_operator_oci::transport::{Connector, header_text, is_same_server, join, retry_after, shown};
use http::header::{ACCEPT, AUTHORIZATION, LOCATION, USER_AGENT};
use http::uri::Scheme;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use jiff::Timestamp;
use secrecy::ExposeSecret;
use tokio::time::Instant;

use crate::credentials::{AuthHeader, TlsFiles};
use crate::error::ProviderError;

const MAX_REDIRECTS: usize = 10;
const MAX_ATTEMPTS: u32 = 5;
/// Longest pause before another attempt. If the server asks for a longer one, the request fails instead, and the error
/// says when the server answers again.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// Maximum number of characters that an error quotes from a server.
const MAX_MESSAGE: usize = 200;
/// The error text when the time for an export is over. It is Go's text, which users of the reference know.
pub(crate) const OUT_OF_TIME: &str = "context deadline exceeded";

/// Settings for connections to servers.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Certificates of `spec.certSecretRef`.
    pub tls: TlsFiles,
    /// Proxies of the process.
    pub proxy: ProxyEnvironment,
    /// `User-Agent`.
    pub user_agent: String,
    /// Deadline of the whole export.
    pub deadline: Instant,
}

/// The failures that are worth another attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestRetry {
    /// Failed connections only.
    Connections,
    /// Failed connections, rate limits, and server errors other than 501.
    Everything,
}

impl RequestRetry {
    fn pauses(self) -> Backoff {
        match self {
            RequestRetry::Connections => Backoff::new(Duration::from_secs(1), Duration::from_secs(30)),
            RequestRetry::Everything => Backoff::new(Duration::from_millis(100), Duration::from_secs(5)),
        }
    }
}

/// A complete response.
pub(crate) struct ProviderResponse {
    pub url: Uri,
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// The reason why a request has no response.
#[derive(Debug)]
pub(crate) enum HttpFailure {
    /// The deadline passed; `is_pause` if it passed between two attempts.
    OutOfTime { attempts: u32, is_pause: bool },
    /// The last attempt failed too.
    Unreachable { attempts: u32, problem: String },
    /// The body has more than `limit` bytes.
    TooLarge { limit: usize },
    /// The rate limit is exceeded, and no attempt or no time is left.
    RateLimited { until: Option<Timestamp> },
    /// A redirect is not allowed, the server is not trusted, or the request cannot be made.
    Refused(String),
}

type WebClient = Client<HttpsConnector<Connector>, Full<Bytes>>;

/// Requests to one server.
pub(crate) struct HttpSession {
    connection: Connection,
    /// The server that the credentials are for.
    home: Uri,
    auth: Option<AuthHeader>,
    policy: RequestRetry,
    client: WebClient,
}

impl HttpSession {
    /// Prepares requests to the server of `home`.
    ///
    /// # Errors
    /// Certificates or a proxy that cannot be used.
    pub(crate) fn new(
        connection: &Connection,
        home: &Uri,
        auth: Option<AuthHeader>,
        policy: RequestRetry,
    ) -> Result<HttpSession, String> {
        let client = client(connection, home, true)?;
        Ok(HttpSession { connection: connection.clone(), home: home.clone(), auth, policy, client })
    }

    /// Sends a request and reads the answer with any status.
    ///
    /// # Errors
    /// [`HttpFailure`]. A request is repeated only after a failed connection or, depending on the policy, a temporary
    /// failure of the server.
    pub(crate) async fn send(
        &self,
        method: &Method,
        url: &Uri,
        headers: &[(HeaderName, HeaderValue)],
        limit: usize,
    ) -> Result<ProviderResponse, HttpFailure> {
        let mut pauses = self.policy.pauses();
        let mut attempts = 0;
        loop {
            attempts += 1;
            let exchange = self.follow(method, url, headers, limit);
            let result = tokio::time::timeout_at(self.connection.deadline, exchange).await;
            let is_last = attempts >= MAX_ATTEMPTS;
            let pause = pauses.next_pause();
            let pause = match result {
                Err(_) => return Err(HttpFailure::OutOfTime { attempts, is_pause: false }),
                Ok(Ok(answer)) if self.policy == RequestRetry::Connections => return Ok(answer),
                Ok(Ok(answer)) => match requested_pause(&answer, SystemTime::now()) {
                    None => return Ok(answer),
                    Some(asked) => {
                        let wait = asked.unwrap_or(pause);
                        // A pause that outlasts the deadline would be in vain, so the failure is reported now.
                        if is_last || wait > LONGEST_WAIT || Instant::now() + wait >= self.connection.deadline {
                            if !is_rate_limited(&answer) {
                                return Ok(answer);
                            }
                            let until = asked.and_then(|asked| Timestamp::now().checked_add(asked).ok());
                            return Err(HttpFailure::RateLimited { until });
                        }
                        wait
                    }
                },
                Ok(Err(FollowFailure::Connection(problem))) if is_last => {
                    return Err(HttpFailure::Unreachable { attempts, problem });
                }
                Ok(Err(FollowFailure::Connection(problem))) => {
                    tracing::debug!(attempts, %problem, "repeating a request to a provider");
                    pause
                }
                Ok(Err(FollowFailure::Final(failure))) => return Err(failure),
            };
            let pause = tokio::time::sleep(pause);
            if tokio::time::timeout_at(self.connection.deadline, pause).await.is_err() {
                return Err(HttpFailure::OutOfTime { attempts, is_pause: true });
            }
        }
    }

    async fn follow(
        &self,
        method: &Method,
        url: &Uri,
        headers: &[(HeaderName, HeaderValue)],
        limit: usize,
    ) -> Result<ProviderResponse, FollowFailure> {
        let refused = |problem: String| FollowFailure::Final(HttpFailure::Refused(problem));
        let mut url = url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let response = self.exchange(method, &url, headers).await?;
            let status = response.status();
            if !status.is_redirection() || !response.headers().contains_key(LOCATION) {
                let headers = response.headers().clone();
                let body = read(response.into_body(), limit).await?;
                return Ok(ProviderResponse { url, status, headers, body });
            }
            // RFC 9110 §15.4 lets a client repeat a redirected POST as a GET, which is another request.
            if *method != Method::GET {
                return Err(refused(format!("the server redirects a {method} request")));
            }
            let location = header_text(response.headers(), &LOCATION).and_then(|location| join(&url, location));
            let next =
                location.ok_or_else(|| refused("the server redirects to an address that is not valid".into()))?;
            self.check_redirect(&next, "redirects").map_err(refused)?;
            if url.scheme() == Some(&Scheme::HTTPS) && next.scheme() == Some(&Scheme::HTTP) {
                return Err(refused(format!("the server redirects from https to plain http, {}", shown(&next))));
            }
            url = next;
        }
        Err(refused(format!("the server redirects more than {MAX_REDIRECTS} times")))
    }

    /// Refuses a redirect to another server if the request has credentials.
    fn check_redirect(&self, next: &Uri, how: &str) -> Result<(), String> {
        let has_credentials = self.auth.is_some() || self.connection.tls.identity.is_some();
        match has_credentials && !is_same_server(next, &self.home) {
            true => Err(format!(
                "the server {how} to {}, and the credentials are for {} only",
                shown(next),
                shown(&self.home)
            )),
            false => Ok(()),
        }
    }

    /// Returns the address of the next page. It must be on the same server.
    pub(crate) fn page_address(&self, at: &Uri, link: &str) -> Result<Uri, String> {
        let next = join(at, link).ok_or_else(|| "the next page of the list has no valid address".to_owned())?;
        match is_same_server(&next, &self.home) {
            true => Ok(next),
            false => Err(format!("the next page of the list is at another server, {}", shown(&next))),
        }
    }

    async fn exchange(
        &self,
        method: &Method,
        url: &Uri,
        headers: &[(HeaderName, HeaderValue)],
    ) -> Result<http::Response<Incoming>, FollowFailure> {
        let refused = |problem: String| FollowFailure::Final(HttpFailure::Refused(problem));
        let mut request = Request::new(Full::new(Bytes::new()));
        *request.method_mut() = method.clone();
        *request.uri_mut() = url.clone();
        let all = request.headers_mut();
        all.extend(headers.iter().cloned());
        if let Ok(agent) = HeaderValue::from_str(&self.connection.user_agent) {
            all.insert(USER_AGENT, agent);
        }
        let is_home = is_same_server(url, &self.home);
        if let Some(auth) = self.auth.as_ref().filter(|_| is_home) {
            all.insert(auth.name.clone(), auth.value.clone());
        }
        let elsewhere;
        let client = match is_home {
            true => &self.client,
            false => {
                // Redirects to other servers are rare, so their client is not kept. It presents no client certificate.
                elsewhere = client(&self.connection, url, false).map_err(refused)?;
                &elsewhere
            }
        };
        client.request(request).await.map_err(|error| explain(&error))
    }

    /// Removes the credentials from a text that may contain output of the server.
    pub(crate) fn redact(&self, text: &str) -> String {
        match &self.auth {
            None => text.to_owned(),
            Some(auth) => {
                let mut redacted = text.replace(auth.secret.expose_secret(), "[redacted]");
                // Basic credentials are sent as base64, which a server may echo.
                let value = auth.value.to_str().unwrap_or_default();
                let encoded = value.split_once(' ').map_or(value, |(_, encoded)| encoded);
                if auth.name == AUTHORIZATION && !encoded.is_empty() {
                    redacted = redacted.replace(encoded, "[redacted]");
                }
                redacted
            }
        }
    }
}

/// `Accept: TYPE`.
pub(crate) fn accept(media_type: &'static str) -> (HeaderName, HeaderValue) {
    (ACCEPT, HeaderValue::from_static(media_type))
}

/// Parses the address of a server.
///
/// # Errors
/// It is not an http or https address, or it contains a user name. Credentials belong in a Secret.
pub(crate) fn address(url: &str) -> Result<Uri, String> {
    let parsed = url.parse::<Uri>().ok().filter(|uri| matches!(uri.scheme_str(), Some("http" | "https")));
    let uri = parsed.ok_or_else(|| "spec.url is not a valid address of http or https".to_owned())?;
    match uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        true => Err("spec.url holds a user name; use spec.secretRef for credentials".to_owned()),
        false => Ok(uri),
    }
}

/// Prepares a server's text for an error: one line, truncated.
pub(crate) fn shown_text(text: &str) -> String {
    let line: String = on_one_line(text).chars().take(MAX_MESSAGE).collect();
    line.trim().to_owned()
}

impl HttpFailure {
    /// Returns the error text with the request in front: `GET https://…: reason`.
    pub(crate) fn of_request(self, method: &Method, url: &Uri) -> ProviderError {
        let request = format!("{method} {url}");
        match self {
            HttpFailure::OutOfTime { .. } => ProviderError::new(format!("{request}: {OUT_OF_TIME}")),
            HttpFailure::Unreachable { attempts, problem } => {
                ProviderError::new(format!("{request} giving up after {attempts} attempt(s): {problem}"))
            }
            HttpFailure::TooLarge { limit } => ProviderError::new(format!(
                "response body exceeds the maximum allowed size of {limit} bytes: {request}"
            )),
            HttpFailure::RateLimited { until } => {
                let until_text = until.map(|until| format!(" until {}", whole_seconds(until))).unwrap_or_default();
                ProviderError::new(format!("{request}: the rate limit is exceeded{until_text}")).retry_at(until)
            }
            HttpFailure::Refused(problem) => ProviderError::new(format!("{request}: {problem}")),
        }
    }
}

pub(crate) fn whole_seconds(moment: Timestamp) -> Timestamp {
    Timestamp::from_second(moment.as_second()).unwrap_or(moment)
}

enum FollowFailure {
    /// Worth another attempt.
    Connection(String),
    Final(HttpFailure),
}

fn client(connection: &Connection, server: &Uri, with_identity: bool) -> Result<WebClient, String> {
    let trust = match &connection.tls.authorities {
        None => ServerTrust::System,
        Some(pem) => match tls::certificates(pem) {
            none if none.is_empty() => return Err("'ca.crt' holds no certificate in PEM".to_owned()),
            all => ServerTrust::Certificates(all),
        },
    };
    let identity = connection.tls.identity.as_ref().filter(|_| with_identity);
    let identity = identity.map(|(certificate, key)| (certificate.as_slice(), key.expose_secret().as_bytes()));
    let tls = tls::client_config(trust, identity).map_err(|error| error.to_string())?;
    let connector = Connector::new(connection.proxy.proxy_for(server)).map_err(|error| error.to_string())?;
    let connector = hyper_rustls::HttpsConnectorBuilder::new()
        .with_tls_config(tls)
        .https_or_http()
        .enable_http1()
        .wrap_connector(connector);
    Ok(Client::builder(TokioExecutor::new()).pool_timer(TokioTimer::new()).build(connector))
}

async fn read(mut body: Incoming, limit: usize) -> Result<Bytes, FollowFailure> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame
            .map_err(|error| FollowFailure::Connection(format!("the answer was cut off ({})", innermost(&error))))?;
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.len() > limit {
            return Err(FollowFailure::Final(HttpFailure::TooLarge { limit }));
        }
        bytes.extend_from_slice(&data);
    }
    Ok(Bytes::from(bytes))
}

/// Returns `None` if the response is final; otherwise the pause that the server asks for, if any.
fn requested_pause(answer: &ProviderResponse, now: SystemTime) -> Option<Option<Duration>> {
    // 501 is permanent: the server does not implement the request.
    let is_passing = answer.status.is_server_error() && answer.status != StatusCode::NOT_IMPLEMENTED;
    if !is_passing && !is_rate_limited(answer) {
        return None;
    }
    let asked = retry_after(&answer.headers, now).or_else(|| {
        let reset = number(&answer.headers, "x-ratelimit-reset").or_else(|| number(&answer.headers, "ratelimit-reset"));
        let since_epoch = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        // The limit is reset during that second, so wait until the second is over.
        reset.map(|reset| Duration::from_secs(reset + 1).saturating_sub(since_epoch))
    });
    Some(asked)
}

/// Whether the status is 429, or the 403 that GitHub sends for an exceeded rate limit.
fn is_rate_limited(answer: &ProviderResponse) -> bool {
    let headers = &answer.headers;
    match answer.status {
        StatusCode::TOO_MANY_REQUESTS => true,
        StatusCode::FORBIDDEN => {
            // GitHub's secondary limit shows only in `Retry-After`.
            number(headers, "x-ratelimit-remaining") == Some(0) || retry_after(headers, SystemTime::now()).is_some()
        }
        _ => false,
    }
}

fn number(headers: &HeaderMap, name: &str) -> Option<u64> {
    // The caller adds a second, which must not overflow.
    headers.get(name)?.to_str().ok()?.trim().parse().ok().filter(|number| *number < u64::MAX)
}

fn explain(error: &hyper_util::client::legacy::Error) -> FollowFailure {
    let mut next: Option<&(dyn Error + 'static)> = Some(error);
    let mut last = String::new();
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<rustls::Error>() {
            // A retry cannot help: the server would present the same certificate.
            let problem = format!("no trusted connection: {error}");
            return FollowFailure::Final(HttpFailure::Refused(problem));
        }
        last = error.to_string();
        // `io::Error::source` skips the error that it wraps, so the wrapped error is visited first.
        let held = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = held.map(|held| held as &(dyn Error + 'static)).or_else(|| error.source());
    }
    FollowFailure::Connection(last)
}
