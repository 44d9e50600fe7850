//! Classifies failed connections. The lowest module of this crate: it knows neither requests, retries nor reasons.

use std::error::Error;
use std::time::Duration;

use http::HeaderValue;

/// No answer within the limit of one call.
#[derive(Debug, thiserror::Error)]
#[error("no answer within {after:?}")]
pub(super) struct CallTimeout {
    pub after: Duration,
}

/// Returns the `Authorization` header of a token; `None` if the token is invalid in a header.
pub(super) fn bearer(token: &str) -> Option<HeaderValue> {
    let mut header = HeaderValue::try_from(format!("Bearer {token}")).ok()?;
    header.set_sensitive(true);
    Some(header)
}

/// Returns an error and all its causes. `io::Error::source` skips the error that it wraps, so that case is handled
/// here.
pub(super) fn chain<'a>(error: &'a (dyn Error + 'static)) -> Vec<&'a (dyn Error + 'static)> {
    let mut all = vec![error];
    let mut next = Some(error);
    while let Some(error) = next {
        next = match error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref) {
            Some(inner) => Some(inner as &(dyn Error + 'static)),
            None => error.source(),
        };
        all.extend(next);
    }
    all
}

/// Whether TLS failed, which a retry cannot fix.
pub(super) fn is_tls_failure(error: &(dyn Error + 'static)) -> bool {
    chain(error).iter().any(|e| e.is::<rustls::Error>())
}

/// Whether a request was lost in transit. Any other failure without an answer happened before sending (an invalid
/// header, a token server that refuses), so a retry would fail the same way.
pub(super) fn is_lost_request(error: &(dyn Error + 'static)) -> bool {
    let chain = chain(error);
    let is_of_connection = |e: &&(dyn Error + 'static)| {
        e.is::<hyper_util::client::legacy::Error>() || e.is::<hyper::Error>() || e.is::<std::io::Error>()
    };
    chain.iter().any(is_of_connection) && !chain.iter().any(|e| e.is::<kube::client::AuthError>())
}

/// Whether the connection failed (unknown host, refused, no route), so that any request can be sent again safely.
pub(super) fn is_connect_failure(error: &(dyn Error + 'static)) -> bool {
    chain(error).iter().any(|e| e.downcast_ref::<hyper_util::client::legacy::Error>().is_some_and(|e| e.is_connect()))
}
