//! A single API call: one limit for all of it, and a few retries within that limit.
//!
//! kube's own retry policy is off: it tries 15 times and obeys any `Retry-After`, so a command could hang for minutes.
//! Here the limit covers connecting, the TLS handshake, every attempt and the whole answer. A retry that would exceed
//! it is not started, and the last answer is reported instead. Watches, logs and streamed answers are limited only
//! until their first byte.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use kube::Client;
use kube::client::Body;
use tokio::time::{Instant, timeout_at};
use tower::BoxError;

use super::authorization::Authorization;
use super::lease_guard::{LeaseGuard, LeaseLoss};
use super::transport::{CallTimeout, is_connect_failure, is_lost_request, is_tls_failure};
use crate::format::backoff::Backoff;

/// Maximum number of attempts of a call.
pub(super) const MAX_ATTEMPTS: u32 = 5;
/// An unreachable server gets fewer attempts, because that rarely changes within a second.
const MAX_CONNECT_ATTEMPTS: u32 = 3;
/// First pause; doubles each time.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// Longest pause, also for a longer `Retry-After`.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Request extension: the answer is streamed.
#[derive(Clone)]
pub(super) struct StreamedAnswer;

/// Request extension: whether the request may be repeated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RepeatPermission {
    /// A second attempt is harmless although the method is not idempotent, because the server refuses it.
    pub after_unclear_answer: bool,
    /// A conflict means two concurrent writers, and the next attempt may succeed.
    pub after_conflict: bool,
    /// Never repeat the request.
    pub never: bool,
}

/// A repeated call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retry {
    /// The cause in a few words: `429 Too Many Requests`, `connection refused`.
    pub problem: String,
    /// Pause before the next attempt.
    pub pause: Duration,
    /// Number of the failed attempt, from 1.
    pub attempt: u32,
    /// `GET`, `PATCH` …
    pub method: String,
    /// Path without query.
    pub path: String,
}

impl fmt::Display for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}; trying again in {:?}", self.method, self.path, self.problem, self.pause)
    }
}

/// Called for every retry, before its pause.
pub type RetryObserver = Arc<dyn Fn(&Retry) + Send + Sync>;

/// Called with method and status code of every answer; without an answer the code is `<error>`.
pub type RequestObserver = Arc<dyn Fn(&str, &str) + Send + Sync>;

/// Called before a request that may change an object: not for reads, dry runs, access reviews and leases.
pub type WriteObserver = Arc<dyn Fn() + Send + Sync>;

#[derive(Clone)]
pub(super) struct CallPolicy {
    pub limit: Duration,
    pub observer: Option<RetryObserver>,
    pub requests: Option<RequestObserver>,
    pub writes: Option<WriteObserver>,
    pub authorization: Option<Authorization>,
    /// Writes are refused once this lease has ended.
    pub lease: Option<LeaseGuard>,
    /// The user or service account for which every request is made.
    pub impersonate: Option<HeaderValue>,
}

/// Returns the instant after a wait; at most a year away, because the clock has a limit.
pub fn after(wait: Duration) -> Instant {
    const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);
    Instant::now() + wait.min(LONGEST)
}

/// Wraps a client so that every call through it follows the policy.
pub(super) fn bounded(inner: Client, policy: CallPolicy) -> Client {
    let namespace = inner.default_namespace().to_owned();
    let service = tower::service_fn(move |request: Request<Body>| {
        let (inner, policy) = (inner.clone(), policy.clone());
        async move { call(&inner, &policy, request).await }
    });
    Client::new(service, namespace)
}

async fn call(client: &Client, policy: &CallPolicy, request: Request<Body>) -> Result<Response<Body>, BoxError> {
    let deadline = after(policy.limit);
    let streaming = is_streaming(&request);
    let repeat = request.extensions().get::<RepeatPermission>().copied().unwrap_or_default();
    if let Some(observer) = policy.writes.as_ref().filter(|_| may_change(request.method(), request.uri())) {
        observer();
    }
    let (parts, body) = request.into_parts();
    let mut body = Some(body);
    let mut attempt = 1;
    let mut has_new_token = false;
    let mut backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
    loop {
        // A body that cannot be cloned is sent once; kube's typed calls all have bodies in memory.
        let copy = body.as_ref().and_then(Body::try_clone);
        let repeatable = copy.is_some();
        let Some(this_body) = copy.or_else(|| body.take()) else { return Err("the request body is spent".into()) };
        // Checked before every attempt, because the lease may end during a pause.
        if parts.method != Method::GET && policy.lease.as_ref().is_some_and(|lease| !lease.holds()) {
            return Err(Box::new(LeaseLoss));
        }
        let mut request = Request::from_parts(parts.clone(), this_body);
        if let Some(user) = &policy.impersonate {
            request.headers_mut().insert("impersonate-user", user.clone());
        }
        if let Some(authorization) = &policy.authorization {
            let fresh = timeout_at(deadline, authorization.header()).await;
            let fresh = fresh.map_err(|_| authorization.timeout_reason(policy.limit))??;
            request.headers_mut().insert(header::AUTHORIZATION, fresh);
        }
        let answer = match timeout_at(deadline, send(client, request, streaming)).await {
            Ok(answer) => answer,
            Err(_) => return Err(Box::new(CallTimeout { after: policy.limit })),
        };
        if let Some(observer) = &policy.requests {
            let status = answer.as_ref().map(Response::status);
            observer(parts.method.as_str(), status.as_ref().map_or("<error>", StatusCode::as_str));
        }
        // Renew once per call: if the server refuses the renewed token as well, another one would not help.
        if let (Some(authorization), Ok(response)) = (&policy.authorization, &answer)
            && response.status() == StatusCode::UNAUTHORIZED
            && !std::mem::replace(&mut has_new_token, true)
            && repeatable
            && authorization.renew().await
        {
            continue;
        }
        let failure = AttemptFailure::of(&answer, is_idempotent(&parts.method, &parts.headers), repeat);
        let remaining = deadline.saturating_duration_since(Instant::now());
        let Some(pause) =
            failure.as_ref().filter(|_| repeatable).and_then(|f| f.pause(attempt, &mut backoff, remaining))
        else {
            return answer.map_err(Into::into);
        };
        let is_conflict = matches!(&answer, Ok(response) if response.status() == StatusCode::CONFLICT);
        let problem = failure.map(|f| f.problem).unwrap_or_default();
        let message = match answer {
            Ok(response) => message_of(response).await,
            Err(_) => None,
        };
        let retry = Retry {
            problem: message.map_or_else(|| problem.clone(), |message| format!("{problem}: {message}")),
            pause,
            attempt,
            method: parts.method.to_string(),
            path: parts.uri.path().to_owned(),
        };
        tracing::warn!(attempt, method = retry.method, path = retry.path, pause = ?pause, "{}", retry.problem);
        // Concurrent writers are normal, so a conflict is not reported.
        if let Some(observer) = policy.observer.as_ref().filter(|_| !is_conflict) {
            observer(&retry);
        }
        tokio::time::sleep(pause).await;
        attempt += 1;
    }
}

/// Returns the message of a `Status`, in which the API server or a webhook behind it explains the failure.
async fn message_of(response: Response<Body>) -> Option<String> {
    let bytes = response.into_body().collect_bytes().await.ok()?;
    let status: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
    status.get("message")?.as_str().filter(|message| !message.is_empty()).map(str::to_owned)
}

/// Whether a request may change an object.
fn may_change(method: &Method, uri: &http::Uri) -> bool {
    let is_ours = ["/apis/authorization.k8s.io/", "/apis/coordination.k8s.io/"];
    *method != Method::GET
        && !uri.query().unwrap_or_default().contains("dryRun=All")
        && !is_ours.iter().any(|group| uri.path().contains(group))
}

/// Sends the request once and reads the whole answer, so that the limit covers slow bodies and a truncated body can be
/// retried.
async fn send(client: &Client, request: Request<Body>, streaming: bool) -> Result<Response<Body>, kube::Error> {
    tracing::debug!(method = %request.method(), uri = %request.uri(), "requesting");
    let response = Box::pin(client.send(request)).await?;
    tracing::debug!(status = response.status().as_u16(), "answered");
    // Only a successful answer is streamed. A failure is short, and its message is needed.
    if streaming && response.status().is_success() {
        return Ok(response);
    }
    let (parts, body) = response.into_parts();
    Ok(Response::from_parts(parts, Body::from(body.collect_bytes().await?)))
}

fn is_streaming<B>(request: &Request<B>) -> bool {
    if request.extensions().get::<StreamedAnswer>().is_some() {
        return true;
    }
    let query = request.uri().query().unwrap_or_default();
    query.split('&').any(|pair| matches!(pair, "watch=true" | "watch=1" | "follow=true" | "follow=1"))
}

/// A failed attempt, for the decision about a retry.
struct AttemptFailure {
    problem: String,
    retry_after: Option<Duration>,
    max_attempts: u32,
}

impl AttemptFailure {
    /// Returns `None` if the answer is final.
    fn of(answer: &Result<Response<Body>, kube::Error>, idempotent: bool, repeat: RepeatPermission) -> Option<Self> {
        let idempotent = idempotent || repeat.after_unclear_answer;
        match answer {
            _ if repeat.never => None,
            Ok(response) => {
                let status = response.status();
                let conflict = status == StatusCode::CONFLICT && repeat.after_conflict;
                (conflict || is_retried(status, idempotent)).then(|| AttemptFailure {
                    problem: status.to_string(),
                    retry_after: retry_after(response.headers()),
                    max_attempts: MAX_ATTEMPTS,
                })
            }
            Err(error) if is_tls_failure(error) || !is_lost_request(error) => None,
            Err(error) => {
                let (unsent, transport) =
                    (is_connect_failure(error), matches!(error, kube::Error::Service(_) | kube::Error::HyperError(_)));
                let max_attempts = if unsent { MAX_CONNECT_ATTEMPTS } else { MAX_ATTEMPTS };
                (unsent || (transport && idempotent)).then(|| AttemptFailure {
                    problem: if unsent { "cannot connect" } else { "the connection was cut" }.to_owned(),
                    retry_after: None,
                    max_attempts,
                })
            }
        }
    }

    /// Returns the pause before the next attempt; `None` if there is no retry or it would exceed the limit.
    fn pause(&self, attempt: u32, backoff: &mut Backoff, remaining: Duration) -> Option<Duration> {
        if attempt >= self.max_attempts {
            return None;
        }
        let usual = backoff.next_pause();
        let pause = self.retry_after.unwrap_or(usual).min(LONGEST_PAUSE);
        (pause < remaining).then_some(pause)
    }
}

/// After 429 and 503 the server has not acted. After another 5xx it may have, so only idempotent requests are repeated.
fn is_retried(status: StatusCode, idempotent: bool) -> bool {
    match status {
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => true,
        // 501 and the like will not change.
        StatusCode::INTERNAL_SERVER_ERROR | StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT => idempotent,
        _ => false,
    }
}

/// JSON patches may append; every other method except POST is idempotent.
fn is_idempotent(method: &Method, headers: &HeaderMap) -> bool {
    match *method {
        Method::POST => false,
        Method::PATCH => headers.get(header::CONTENT_TYPE).is_none_or(|t| t != "application/json-patch+json"),
        _ => true,
    }
}

/// `Retry-After` in seconds; the API server sends no dates.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(retry_after: Option<u64>) -> AttemptFailure {
        AttemptFailure {
            problem: "429".into(),
            retry_after: retry_after.map(Duration::from_secs),
            max_attempts: MAX_ATTEMPTS,
        }
    }

    #[test]
    fn pauses_double_and_end_after_the_last_attempt() {
        let long = Duration::from_secs(60);
        let mut backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
        let pauses: Vec<_> =
            (1..=5).map(|n| failure(None).pause(n, &mut backoff, long).map(|p| p.as_millis())).collect();
        assert_eq!(pauses, [Some(250), Some(500), Some(1000), Some(2000), None]);
    }

    #[test]
    fn retry_after_is_honoured_up_to_a_cap_and_never_past_the_limit() {
        let pause = |asked, remaining| {
            failure(Some(asked)).pause(1, &mut Backoff::new(FIRST_PAUSE, LONGEST_PAUSE), Duration::from_secs(remaining))
        };
        assert_eq!(pause(2, 10), Some(Duration::from_secs(2)));
        assert_eq!(pause(600, 10), Some(LONGEST_PAUSE));
        assert_eq!(pause(600, 3), None);
    }

    #[test]
    fn a_limit_beyond_the_range_of_the_clock_is_shortened() {
        assert!(after(Duration::MAX) > Instant::now() + Duration::from_secs(3600));
    }

    #[test]
    fn only_idempotent_requests_are_repeated_after_an_unclear_answer() {
        let none = HeaderMap::new();
        let mut json_patch = HeaderMap::new();
        json_patch.insert(header::CONTENT_TYPE, "application/json-patch+json".parse().unwrap());
        let mut apply = HeaderMap::new();
        apply.insert(header::CONTENT_TYPE, "application/apply-patch+yaml".parse().unwrap());
        assert!(is_idempotent(&Method::GET, &none));
        assert!(is_idempotent(&Method::DELETE, &none));
        assert!(is_idempotent(&Method::PATCH, &apply));
        assert!(!is_idempotent(&Method::PATCH, &json_patch));
        assert!(!is_idempotent(&Method::POST, &none));
        assert!(is_retried(StatusCode::SERVICE_UNAVAILABLE, false));
        assert!(!is_retried(StatusCode::INTERNAL_SERVER_ERROR, false));
        assert!(!is_retried(StatusCode::FORBIDDEN, true));
    }

    #[test]
    fn conflicts_and_unclear_answers_are_retried_only_if_the_sender_allows_it() {
        let answered = |code: u16| Ok(Response::builder().status(code).body(Body::empty()).unwrap());
        let repeats = |code, repeat| AttemptFailure::of(&answered(code), false, repeat).is_some();
        let none = RepeatPermission::default();
        assert!(!repeats(409, none) && !repeats(500, none) && repeats(503, none));
        assert!(repeats(409, RepeatPermission { after_conflict: true, ..none }));
        assert!(repeats(500, RepeatPermission { after_unclear_answer: true, ..none }));
        assert!(!repeats(503, RepeatPermission { never: true, after_unclear_answer: true, ..none }));
        assert!(!repeats(422, RepeatPermission { after_conflict: true, after_unclear_answer: true, never: false }));
    }

    #[test]
    fn a_request_that_failed_before_it_was_sent_is_not_retried() {
        let failed = |error: BoxError| {
            AttemptFailure::of(&Err(kube::Error::Service(error)), true, RepeatPermission::default()).is_some()
        };
        let cut = || std::io::Error::from(std::io::ErrorKind::ConnectionReset);
        assert!(failed(Box::new(cut())));
        assert!(!failed("failed to parse header value".into()));
        assert!(!failed(Box::new(http::HeaderValue::from_str("a\nb").unwrap_err())));
        // An unreachable token server does not mean that the API server is unreachable.
        let of_provider = kube::client::AuthError::ReadTokenFile(cut(), "token".into());
        assert!(!failed(Box::new(of_provider)));
    }

    #[test]
    fn watches_and_marked_calls_are_distinguished_from_other_calls() {
        let request = |uri: &str| Request::builder().uri(uri).body(()).unwrap();
        assert!(is_streaming(&request("/api/v1/pods?&watch=true&timeoutSeconds=290")));
        assert!(!is_streaming(&request("/api/v1/pods?labelSelector=watch%3Dtrue&limit=500")));
        let mut list = request("/api/v1/pods?limit=500");
        list.extensions_mut().insert(StreamedAnswer);
        assert!(is_streaming(&list));
    }
}
