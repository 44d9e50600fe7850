//! A single HTTP exchange: connection, redirects, retries, and limits on time and size.

use std::collections::HashMap;
use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use futures::stream::BoxStream;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, HeaderValue, LOCATION, TRANSFER_ENCODING, USER_AGENT};
use http::uri::{Authority, Scheme};
use http::{HeaderMap, Method, Response, StatusCode, Uri};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tokio::io::{AsyncReadExt, AsyncSeekExt};

use super::access::{self, Access};
use super::error::Reason;
use super::transport::{BoxError, Connector, header_text, is_same_server, join, retry_after, shown};
use crate::format::error::innermost;

pub(super) type OutgoingBody = UnsyncBoxBody<Bytes, BoxError>;

/// The limit of browsers and curl.
const MAX_REDIRECTS: usize = 10;
const MAX_ATTEMPTS: u32 = 5;
/// Attempts to read an answer that was cut off.
pub(super) const MAX_READS: u32 = 4;
/// Attempts for a name without an address. Without a network, more attempts would fail the same way.
const MAX_ATTEMPTS_TO_RESOLVE: u32 = 2;
/// A longer pause is an error instead: a user at a terminal would not wait for it.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(60);
const FILE_CHUNK_BYTES: usize = 128 << 10;

/// A request that can be sent several times.
pub(super) struct RepeatableRequest {
    pub method: Method,
    pub url: Uri,
    pub headers: HeaderMap,
    pub payload: Payload,
    /// Whether a repeated request has the same effect as a single one.
    pub is_idempotent: bool,
}

impl RepeatableRequest {
    pub(super) fn new(method: Method, url: Uri) -> Self {
        let is_idempotent = matches!(method, Method::GET | Method::HEAD);
        RepeatableRequest { method, url, headers: HeaderMap::new(), payload: Payload::Empty, is_idempotent }
    }

    pub(super) fn header(mut self, name: http::HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    pub(super) fn payload(self, payload: Payload) -> Self {
        RepeatableRequest { payload, ..self }
    }

    pub(super) fn idempotent(self) -> Self {
        RepeatableRequest { is_idempotent: true, ..self }
    }
}

/// The final answer to a request with the URL that returned it, which may be on another server after redirects.
pub(super) struct HttpAnswer {
    pub url: Uri,
    pub response: Response<Incoming>,
}

impl HttpAnswer {
    pub(super) fn status(&self) -> StatusCode {
        self.response.status()
    }

    pub(super) fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// Whether the end of the body is the end of the connection, so that a lost connection looks like a complete
    /// answer.
    pub(super) fn ends_with_connection(&self) -> bool {
        let headers = self.headers();
        !headers.contains_key(CONTENT_LENGTH) && !headers.contains_key(TRANSFER_ENCODING)
    }

    /// `host[:port]` of the server that answered.
    pub(super) fn server(&self) -> String {
        self.url.authority().map_or_else(String::new, ToString::to_string)
    }
}

/// Called with the size of each piece passed to the connection.
pub type ByteCounter = Arc<dyn Fn(u64) + Send + Sync>;

/// The body of a request.
pub(super) enum Payload {
    Empty,
    Bytes(Bytes),
    File {
        path: PathBuf,
        /// Offset of the content in the file.
        offset: u64,
        size: u64,
    },
    /// A stream can be sent only once.
    Stream {
        stream: Option<BoxStream<'static, Result<Bytes, BoxError>>>,
        size: u64,
    },
}

impl Payload {
    fn is_repeatable(&self) -> bool {
        !matches!(self, Payload::Stream { .. })
    }

    fn size(&self) -> u64 {
        match self {
            Payload::Empty => 0,
            Payload::Bytes(bytes) => bytes.len() as u64,
            Payload::File { size, .. } | Payload::Stream { size, .. } => *size,
        }
    }

    fn body(&mut self, counter: Option<ByteCounter>) -> OutgoingBody {
        let counted = move |bytes: Bytes| {
            counter.iter().for_each(|count| count(bytes.len() as u64));
            Frame::data(bytes)
        };
        match self {
            Payload::Empty => Empty::new().map_err(|never| match never {}).boxed_unsync(),
            Payload::Bytes(bytes) => {
                let _ = counted(bytes.clone());
                Full::new(bytes.clone()).map_err(|never| match never {}).boxed_unsync()
            }
            Payload::File { path, offset, size } => {
                let start = FilePosition { path: path.clone(), offset: *offset, left: *size, file: None };
                let pieces = futures::stream::try_unfold(start, next_piece);
                StreamBody::new(futures::TryStreamExt::map_ok(pieces, counted)).boxed_unsync()
            }
            Payload::Stream { stream, .. } => {
                let pieces = stream.take().unwrap_or_else(|| {
                    let spent = BoxError::from("the content was sent already");
                    Box::pin(futures::stream::once(std::future::ready(Err(spent))))
                });
                StreamBody::new(futures::TryStreamExt::map_ok(pieces, counted)).boxed_unsync()
            }
        }
    }
}

/// Read position in a file.
struct FilePosition {
    path: PathBuf,
    offset: u64,
    left: u64,
    /// `None` before the first piece.
    file: Option<tokio::fs::File>,
}

async fn next_piece(mut position: FilePosition) -> Result<Option<(Bytes, FilePosition)>, BoxError> {
    let mut file = match position.file.take() {
        Some(file) => file,
        None => {
            // Reading a named pipe would block.
            if !tokio::fs::metadata(&position.path).await?.is_file() {
                return Err(format!("{} is not a regular file", position.path.display()).into());
            }
            let mut file = tokio::fs::File::open(&position.path).await?;
            file.seek(std::io::SeekFrom::Start(position.offset)).await?;
            file
        }
    };
    let mut piece = Vec::with_capacity(FILE_CHUNK_BYTES);
    let read = (&mut file).take(position.left).read_buf(&mut piece).await?;
    position.left -= read as u64;
    position.file = Some(file);
    Ok((read > 0).then_some((Bytes::from(piece), position)))
}

type RegistryClient = Client<HttpsConnector<Connector>, OutgoingBody>;

pub(super) struct Http {
    pub access: Access,
    /// By the server's authority and the registry for which it is called.
    clients: Mutex<HashMap<(String, String), RegistryClient>>,
}

impl Http {
    pub(super) fn new(access: Access) -> Self {
        Http { access, clients: Mutex::default() }
    }

    /// Sends a request on behalf of `registry` and returns the final answer with any status.
    ///
    /// `authorization` is sent only to the server of the request's own URL, never to another server after a redirect.
    pub(super) async fn send(
        &self,
        registry: &str,
        request: &mut RepeatableRequest,
        authorization: Option<&HeaderValue>,
        counter: Option<&ByteCounter>,
    ) -> Result<HttpAnswer, Reason> {
        let mut pauses = self.access.pauses();
        let mut attempt = 1;
        loop {
            let result = self.follow(registry, request, authorization, counter).await;
            let max_attempts = match &result {
                Err(Reason::Unreachable { is_unresolved: true, .. }) => MAX_ATTEMPTS_TO_RESOLVE,
                _ => MAX_ATTEMPTS,
            };
            let may_repeat = attempt < max_attempts && request.payload.is_repeatable();
            // Taken in every round, so that a `Retry-After` in between does not shorten later pauses.
            let pause = pauses.next_pause();
            let wait = match &result {
                Ok(response) if response.status() == StatusCode::TOO_MANY_REQUESTS => {
                    // A 429 means that nothing was done, so even requests that are not idempotent are repeated.
                    let wait = retry_after(response.headers(), SystemTime::now()).unwrap_or(pause);
                    if !may_repeat || wait > MAX_RETRY_AFTER {
                        return Err(Reason::TooManyRequests { registry: registry.to_owned(), attempts: attempt });
                    }
                    wait
                }
                Ok(response) if is_passing(response.status()) && request.is_idempotent && may_repeat => {
                    let asked = retry_after(response.headers(), SystemTime::now()).unwrap_or(pause);
                    asked.min(MAX_RETRY_AFTER)
                }
                Err(reason) if reason.is_transient() && request.is_idempotent && may_repeat => pause,
                _ => return result,
            };
            tracing::debug!(method = %request.method, url = %shown(&request.url), attempt, ?wait, "repeating a request");
            tokio::time::sleep(wait).await;
            attempt += 1;
        }
    }

    async fn follow(
        &self,
        registry: &str,
        request: &mut RepeatableRequest,
        authorization: Option<&HeaderValue>,
        counter: Option<&ByteCounter>,
    ) -> Result<HttpAnswer, Reason> {
        let protocol = |problem: String| Reason::Protocol { registry: registry.to_owned(), problem };
        let mut url = request.url.clone();
        // Credentials are sent only to the server that they are for, and never over plain http if the request began
        // with https. After a redirect to another server they are not sent again, even if that server redirects back:
        // it must not choose requests that carry credentials.
        let mut is_home = true;
        for _ in 0..=MAX_REDIRECTS {
            let response = self.exchange(registry, request, &url, authorization.filter(|_| is_home), counter).await?;
            let status = response.status();
            // 304 is in the range of redirects but has no address to follow.
            if !status.is_redirection() || status == StatusCode::NOT_MODIFIED {
                return Ok(HttpAnswer { url, response });
            }
            let is_followed = match request.method {
                Method::GET | Method::HEAD => true,
                // These two statuses keep the method. A body may be secret, so only a request without one follows them.
                _ => matches!(status.as_u16(), 307 | 308) && matches!(request.payload, Payload::Empty),
            };
            if !is_followed {
                return Err(protocol(format!("it redirects a {} request", request.method)));
            }
            let location = header_text(response.headers(), &LOCATION)
                .ok_or_else(|| protocol("a redirect without a Location".into()))?;
            let next = join(&url, location).ok_or_else(|| protocol("a redirect to an invalid address".to_owned()))?;
            if url.scheme() == Some(&Scheme::HTTPS) && next.scheme() == Some(&Scheme::HTTP) {
                return Err(protocol(format!("it redirects from https to plain http, {}", shown(&next))));
            }
            is_home &= is_same_server(&next, &request.url);
            url = next;
        }
        Err(protocol(format!("more than {MAX_REDIRECTS} redirects")))
    }

    async fn exchange(
        &self,
        registry: &str,
        request: &mut RepeatableRequest,
        url: &Uri,
        authorization: Option<&HeaderValue>,
        counter: Option<&ByteCounter>,
    ) -> Result<Response<Incoming>, Reason> {
        let client = self.client(registry, url)?;
        let mut message = http::Request::builder().method(request.method.clone()).uri(url.clone());
        if let Some(headers) = message.headers_mut() {
            headers.extend(request.headers.clone());
            if let Ok(agent) = HeaderValue::from_str(&self.access.user_agent) {
                headers.insert(USER_AGENT, agent);
            }
            // The specification requires a length for uploads. A stream has none of its own and would be sent in
            // chunks.
            if request.payload.size() > 0 || matches!(request.method, Method::POST | Method::PUT) {
                headers.insert(CONTENT_LENGTH, request.payload.size().into());
            }
            authorization.iter().for_each(|value| {
                headers.insert(AUTHORIZATION, (*value).clone());
            });
        }
        let size = request.payload.size();
        let message = message
            .body(request.payload.body(counter.cloned()))
            .map_err(|error| Reason::Config(format!("{}: {error}", shown(url))))?;
        let limit = self.access.stall_timeout;
        let answer = client.request(message);
        let authority = url.authority().map_or(registry, Authority::as_str).to_owned();
        // An upload may take as long as its content flows, at a megabyte per second or more.
        let limit = limit + Duration::from_secs(size >> 20);
        match tokio::time::timeout(limit, answer).await {
            Err(_) => Err(Reason::TimedOut { registry: authority, after: limit }),
            Ok(Err(error)) => Err(explain(&authority, &error)),
            Ok(Ok(response)) => Ok(response),
        }
    }

    fn client(&self, registry: &str, url: &Uri) -> Result<RegistryClient, Reason> {
        let authority = url.authority().map(Authority::as_str).unwrap_or_default().to_owned();
        // The registry is part of the key because servers without own settings inherit those of the registry, and its
        // certificates must not serve another one.
        let key = (authority.clone(), registry.to_owned());
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&key) {
            return Ok(client.clone());
        }
        // A token server or blob store without own settings shares the registry's CAs, but not its client certificate.
        let has_own_settings = self.access.registries.contains_key(&authority);
        let settings = self.access.of(if has_own_settings { &authority } else { registry });
        let tls = access::tls_config(settings, has_own_settings || authority == registry)?;
        let connector = Connector::new(self.access.proxy.proxy_for(url))?;
        let connector = hyper_rustls::HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(connector);
        let client =
            Client::builder(TokioExecutor::new()).pool_timer(hyper_util::rt::TokioTimer::new()).build(connector);
        clients.insert(key, client.clone());
        Ok(client)
    }

    /// Reads the whole body of an answer.
    pub(super) async fn read(
        &self,
        registry: &str,
        what: &str,
        response: Response<Incoming>,
        limit: u64,
    ) -> Result<Bytes, Reason> {
        let mut body = response.into_body();
        let mut bytes = Vec::new();
        while let Some(piece) = self.piece(registry, &mut body).await? {
            if bytes.len() as u64 + piece.len() as u64 > limit {
                return Err(Reason::TooLarge { what: what.to_owned(), limit });
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(Bytes::from(bytes))
    }

    /// Reads the next piece of a body; `None` at its end.
    pub(super) async fn piece(&self, registry: &str, body: &mut Incoming) -> Result<Option<Bytes>, Reason> {
        loop {
            let limit = self.access.stall_timeout;
            let frame = tokio::time::timeout(limit, body.frame()).await;
            match frame.map_err(|_| Reason::TimedOut { registry: registry.to_owned(), after: limit })? {
                None => return Ok(None),
                Some(Err(error)) => {
                    return Err(broken_off(registry, innermost(&error).to_string()));
                }
                // Trailers are not used.
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) if !data.is_empty() => return Ok(Some(data)),
                    _ => {}
                },
            }
        }
    }
}

/// Describes why an answer was not received completely.
pub(super) fn broken_off(registry: &str, why: impl std::fmt::Display) -> Reason {
    let problem = format!("the answer was cut off ({why})");
    Reason::Unreachable { registry: registry.to_owned(), problem, is_unresolved: false }
}

fn is_passing(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 500 | 502 | 503 | 504)
}

fn explain(authority: &str, error: &hyper_util::client::legacy::Error) -> Reason {
    let registry = authority.to_owned();
    let mut next: Option<&(dyn Error + 'static)> = Some(error);
    let (mut last, mut is_unresolved) = (String::new(), false);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<rustls::Error>() {
            return Reason::Tls { registry, problem: error.to_string() };
        }
        if let Some(error) = error.downcast_ref::<super::OciError>() {
            // The content of the upload comes from another registry, and reading there failed.
            return error.reason.clone();
        }
        last = error.to_string();
        // The connector gives no other sign of it.
        is_unresolved |= last == "dns error";
        // An io::Error returns the source of its inner error and so hides the inner error itself.
        let held = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = held.map(|held| held as &(dyn Error + 'static)).or_else(|| error.source());
    }
    Reason::Unreachable { registry, problem: last, is_unresolved }
}
