//! What a failed connection was. The bottom of this module: knows no requests, no retries, no reasons.

use std::error::Error;
use std::time::Duration;

use http::HeaderValue;

/// No answer within the limit of one call.
#[derive(Debug, thiserror::Error)]
#[error("no answer within {after:?}")]
pub(super) struct TimedOut {
    pub after: Duration,
}

/// The `Authorization` header of a token; None if no header can carry it.
pub(super) fn bearer(token: &str) -> Option<HeaderValue> {
    let mut header = HeaderValue::try_from(format!("Bearer {token}")).ok()?;
    header.set_sensitive(true);
    Some(header)
}

/// The error and everything below it. `io::Error::source` skips the error it wraps, hence the detour.
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

/// Whether the failure is one of TLS, which no retry cures.
pub(super) fn is_tls_failure(error: &(dyn Error + 'static)) -> bool {
    chain(error).iter().any(|e| e.is::<rustls::Error>())
}

/// Whether a request was lost on its way. Anything else that fails without an answer failed before it was sent: a header that cannot
/// be written, a token server that refuses. Another try would fail in the same way.
pub(super) fn is_lost_request(error: &(dyn Error + 'static)) -> bool {
    let chain = chain(error);
    let is_of_connection = |e: &&(dyn Error + 'static)| {
        e.is::<hyper_util::client::legacy::Error>() || e.is::<hyper::Error>() || e.is::<std::io::Error>()
    };
    chain.iter().any(is_of_connection) && !chain.iter().any(|e| e.is::<kube::client::AuthError>())
}

/// Whether there was no connection (unknown host, refused, no route), so that sending again is safe whatever it does.
pub(super) fn is_connect_failure(error: &(dyn Error + 'static)) -> bool {
    chain(error).iter().any(|e| e.downcast_ref::<hyper_util::client::legacy::Error>().is_some_and(|e| e.is_connect()))
}
