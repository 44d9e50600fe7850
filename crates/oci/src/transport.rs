//! The parts of HTTP that do not depend on the request: connections through proxies, addresses, pauses. The providers
//! of ResourceSets share them.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::FutureExt;
use futures::future::BoxFuture;
use http::header::{HeaderValue, RETRY_AFTER};
use http::uri::{Authority, Scheme};
use http::{HeaderMap, Uri};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower::Service;

use crate::error::Reason;
pub use crate::link::next_page;

/// Any error of a connection or of a body.
pub(super) type BoxError = Box<dyn std::error::Error + Send + Sync>;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Returns the pause that an answer asks for: seconds, or a date (RFC 9110 §10.2.3).
pub fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let value = header_text(headers, &RETRY_AFTER)?.trim();
    if let Ok(seconds) = value.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let at = jiff::fmt::rfc2822::parse(value).ok()?.timestamp();
    let now = jiff::Timestamp::try_from(now).ok()?;
    // A date in the past gives no pause at all.
    Some(Duration::try_from(at.duration_since(now)).unwrap_or_default())
}

/// Returns the value of a header, if it is text.
pub fn header_text<'a>(headers: &'a HeaderMap, name: &http::HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Returns an address without its query, which may hold a signature or a token.
pub fn shown(url: &Uri) -> String {
    format!(
        "{}://{}{}",
        url.scheme_str().unwrap_or_default(),
        url.authority().map_or("", Authority::as_str),
        url.path()
    )
}

/// Whether two addresses refer to the same server and scheme. A written port may equal the default.
pub fn is_same_server(one: &Uri, other: &Uri) -> bool {
    let port = |url: &Uri| url.port_u16().unwrap_or(if url.scheme() == Some(&Scheme::HTTPS) { 443 } else { 80 });
    let is_same_host = one.host().zip(other.host()).is_some_and(|(one, other)| one.eq_ignore_ascii_case(other));
    is_same_host && one.scheme() == other.scheme() && port(one) == port(other)
}

/// Resolves a `Location` or a `Link` against the address it came from (RFC 3986 §5.2, without `..`).
pub fn join(base: &Uri, location: &str) -> Option<Uri> {
    let location = location.split('#').next().unwrap_or(location);
    if location.is_empty() {
        return Some(base.clone());
    }
    let (scheme, authority) = (base.scheme_str()?, base.authority()?);
    // A query may contain an address too.
    let is_scheme = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    let text = if location.split_once("://").is_some_and(|(start, _)| is_scheme(start)) {
        location.to_owned()
    } else if location.starts_with("//") {
        format!("{scheme}:{location}")
    } else if location.starts_with('/') {
        format!("{scheme}://{authority}{location}")
    } else if location.starts_with('?') {
        format!("{scheme}://{authority}{}{location}", base.path())
    } else {
        let folder = base.path().rsplit_once('/').map_or("", |(folder, _)| folder);
        format!("{scheme}://{authority}{folder}/{location}")
    };
    let url: Uri = text.parse().ok()?;
    // The server would get a user name in the address as part of its host name.
    let is_clean = url.authority().is_some_and(|authority| !authority.as_str().contains('@'));
    (matches!(url.scheme_str(), Some("http" | "https")) && is_clean).then_some(url)
}

/// Connects directly or through a proxy.
#[derive(Clone)]
pub struct Connector(Route);

#[derive(Clone)]
enum Route {
    Direct(HttpConnector),
    Tunnel(Tunnel<HttpConnector>),
    Socks(SocksV5<HttpConnector>),
}

impl Connector {
    /// Connects through a proxy, `http://` or `socks5://`, or directly without one.
    ///
    /// # Errors
    /// The address of the proxy is not valid; the error does not contain it.
    pub fn new(proxy: Option<&str>) -> Result<Self, Reason> {
        let mut direct = HttpConnector::new();
        direct.enforce_http(false);
        direct.set_connect_timeout(Some(CONNECT_TIMEOUT));
        direct.set_nodelay(true);
        let Some(proxy) = proxy else { return Ok(Connector(Route::Direct(direct))) };
        // The address may hold a password, so the message does not contain it.
        let wrong =
            || Reason::Config("the address of the proxy is not http://HOST:PORT or socks5://HOST:PORT".to_owned());
        let text = if proxy.contains("://") { proxy.to_owned() } else { format!("http://{proxy}") };
        let (scheme, rest) = text.split_once("://").ok_or_else(wrong)?;
        // As in URL parsers, the last `@` ends the credentials.
        let (user, host) = match rest.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, rest),
        };
        let address: Uri = format!("{scheme}://{host}").parse().map_err(|_| wrong())?;
        match scheme {
            "http" => {
                let tunnel = Tunnel::new(address, direct);
                Ok(Connector(Route::Tunnel(match user {
                    Some(user) => {
                        let user = STANDARD.encode(percent_decoded(user));
                        tunnel.with_auth(HeaderValue::from_str(&format!("Basic {user}")).map_err(|_| wrong())?)
                    }
                    None => tunnel,
                })))
            }
            // `socks5h` only adds that the proxy resolves names, which this connector always leaves to it.
            "socks5" | "socks5h" => {
                let socks = SocksV5::new(address, direct);
                Ok(Connector(Route::Socks(match user.map(|user| user.split_once(':').unwrap_or((user, ""))) {
                    Some((name, password)) => socks.with_auth(percent_decoded(name), percent_decoded(password)),
                    None => socks,
                })))
            }
            _ => Err(wrong()),
        }
    }
}

fn percent_decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

impl Service<Uri> for Connector {
    type Response = TokioIo<TcpStream>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        match &mut self.0 {
            Route::Direct(inner) => inner.poll_ready(context).map_err(Into::into),
            Route::Tunnel(inner) => inner.poll_ready(context).map_err(Into::into),
            Route::Socks(inner) => inner.poll_ready(context).map_err(Into::into),
        }
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        // The tunnel assumes 443 where the target has no port, even without TLS.
        let target = match (target.port_u16(), target.scheme_str(), target.host()) {
            (None, Some("http"), Some(host)) => format!("http://{host}:80").parse().unwrap_or(target),
            _ => target,
        };
        match &mut self.0 {
            Route::Direct(inner) => inner.call(target).map(|result| result.map_err(Into::into)).boxed(),
            Route::Tunnel(inner) => inner.call(target).map(|result| result.map_err(Into::into)).boxed(),
            Route::Socks(inner) => Pin::from(Box::new(inner.call(target))).map(|r| r.map_err(Into::into)).boxed(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_resolved_against_its_base_address() {
        let base: Uri = "https://a.io:5000/v2/x/blobs/uploads/?y=1".parse().unwrap();
        for (location, expected) in [
            ("https://b.io/z?q=1", Some("https://b.io/z?q=1")),
            ("//b.io/z", Some("https://b.io/z")),
            ("/v2/z?_state=a#f", Some("https://a.io:5000/v2/z?_state=a")),
            ("id?s=1", Some("https://a.io:5000/v2/x/blobs/uploads/id?s=1")),
            ("?s=1", Some("https://a.io:5000/v2/x/blobs/uploads/?s=1")),
            ("", Some("https://a.io:5000/v2/x/blobs/uploads/?y=1")),
            ("/v2/z?to=http://b.io", Some("https://a.io:5000/v2/z?to=http://b.io")),
            ("ftp://b.io/z", None),
            ("https://user@b.io/z", None),
            ("https://", None),
            ("/a b", None),
        ] {
            assert_eq!(join(&base, location).map(|url| url.to_string()).as_deref(), expected, "{location}");
        }
    }

    #[test]
    fn http_and_https_are_different_servers_and_the_default_port_may_be_written_out() {
        let is_same = |one: &str, other: &str| is_same_server(&one.parse().unwrap(), &other.parse().unwrap());
        for (one, other, expected) in [
            ("https://a.io/x", "https://A.io:443/y", true),
            ("http://a.io/x", "http://a.io:80/y", true),
            ("https://a.io/x", "http://a.io/x", false),
            ("https://a.io/x", "http://a.io:443/x", false),
            ("https://a.io/x", "https://a.io:8443/x", false),
            ("https://a.io/x", "https://a.io.b.io/x", false),
            ("https://[::1]:5000/x", "https://[::1]:5000/y", true),
        ] {
            assert_eq!(is_same(one, other), expected, "{one} {other}");
        }
    }

    #[test]
    fn a_pause_is_given_in_seconds_or_as_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        for (value, expected) in [
            ("7", Some(7)),
            ("Sun, 06 Nov 1994 08:49:47 GMT", Some(10)),
            ("Sun, 06 Nov 1994 08:49:00 GMT", Some(0)),
            ("soon", None),
            ("-1", None),
        ] {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_str(value).unwrap())]);
            assert_eq!(retry_after(&headers, now), expected.map(Duration::from_secs), "{value}");
        }
    }

    #[test]
    fn proxies_are_http_or_socks_and_their_address_is_not_repeated() {
        for proxy in ["http://p:3128", "p:3128", "http://u:p%40ss@p:3128", "socks5://p:1080", "socks5h://u:p@p:1080"] {
            assert!(Connector::new(Some(proxy)).is_ok(), "{proxy}");
        }
        for proxy in ["https://u:s3cret@p", "ftp://u:s3cret@p", "http://u:s3cret@"] {
            let Err(reason) = Connector::new(Some(proxy)) else { panic!("{proxy}") };
            assert!(!reason.to_string().contains("s3cret"), "{reason}");
        }
        assert_eq!(percent_decoded("a%40b%4"), "a@b%4");
    }
}
