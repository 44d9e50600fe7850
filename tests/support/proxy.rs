//! A proxy between a client and the API server that injects faults for a test.
//!
//! It terminates TLS with its own certificate. Upstream it presents the client certificate of the kubeconfig with which
//! it was started, and passes tokens on. Bodies are streamed, so watches work through it.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures::stream;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HOST, RETRY_AFTER};
use http::{HeaderValue, Request, Response, StatusCode, Uri};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::client::conn::http1::SendRequest;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::certificates::{Authority, tls_acceptor};
use super::kubeconfig::{Credentials, Kubeconfig};
use super::{Error, Fallible};

/// A fault of a request.
#[derive(Clone, Debug)]
pub enum Fault {
    /// Forward it after this delay; adds up with other rules.
    Delay(Duration),
    /// Close the connection; the API server does not see the request.
    CutBefore,
    /// Let the API server handle it, and close the connection before the answer.
    CutAfter,
    /// Close the connection after this many bytes of the answer's body.
    CutWithin { bytes: usize },
    /// Let the API server handle it, and end its answer properly after about this many bytes of the body. With 0, a
    /// watch ends at once.
    Truncated { bytes: usize },
    /// Forward it once the value is true.
    WaitFor(watch::Receiver<bool>),
    /// Answer it with a `Status` object. `retry_after` in seconds.
    Answer { status: u16, retry_after: Option<u32> },
    /// Never answer, and keep the connection open.
    Hang,
}

impl Fault {
    /// 403 as from a gateway, without the name of an object.
    pub fn forbidden() -> Fault {
        Fault::Answer { status: 403, retry_after: None }
    }

    /// 404 as from a gateway, without the name of an object.
    pub fn not_found() -> Fault {
        Fault::Answer { status: 404, retry_after: None }
    }

    /// 410, for a resource version that is too old.
    pub fn gone() -> Fault {
        Fault::Answer { status: 410, retry_after: None }
    }

    /// 409, for a stale resource version.
    pub fn conflict() -> Fault {
        Fault::Answer { status: 409, retry_after: None }
    }

    /// 429 with `Retry-After`.
    pub fn too_many_requests(retry_after_secs: u32) -> Fault {
        Fault::Answer { status: 429, retry_after: Some(retry_after_secs) }
    }

    /// 500.
    pub fn internal_error() -> Fault {
        Fault::Answer { status: 500, retry_after: None }
    }

    /// 503.
    pub fn unavailable() -> Fault {
        Fault::Answer { status: 503, retry_after: None }
    }
}

/// A request as seen by the proxy.
#[derive(Clone, Debug)]
pub struct Seen {
    pub method: String,
    /// Path and query.
    pub uri: String,
    /// The status of the answer; `None` without one, or not yet.
    pub status: Option<u16>,
    /// Arrival of the request.
    pub begun: Instant,
    /// Time at which the head of the answer was sent.
    pub answered: Option<Instant>,
}

/// Assigns a fault to requests. The first matching rule decides; the delays of all matching rules add up.
pub struct FaultRule {
    fault: Fault,
    method: Option<String>,
    uri: Box<dyn Fn(&str) -> bool + Send + Sync>,
    /// Number of matching requests that pass first.
    after: usize,
    /// Number of requests with the fault after that.
    times: usize,
    matched: usize,
}

impl FaultRule {
    /// Every request.
    pub fn every(fault: Fault) -> FaultRule {
        FaultRule { fault, method: None, uri: Box::new(|_| true), after: 0, times: usize::MAX, matched: 0 }
    }

    /// The first `count` requests that match.
    pub fn first(count: usize, fault: Fault) -> FaultRule {
        FaultRule { times: count, ..FaultRule::every(fault) }
    }

    /// The `n`-th matching request, counted from 1.
    pub fn nth(n: usize, fault: Fault) -> FaultRule {
        FaultRule { after: n.saturating_sub(1), times: 1, ..FaultRule::every(fault) }
    }

    /// Only requests with this method.
    pub fn method(mut self, method: &str) -> FaultRule {
        self.method = Some(method.to_owned());
        self
    }

    /// Only requests whose path and query satisfy this.
    pub fn uri(mut self, holds: impl Fn(&str) -> bool + Send + Sync + 'static) -> FaultRule {
        self.uri = Box::new(holds);
        self
    }

    /// Returns whether this request gets the fault, and counts it if it matches.
    fn strikes(&mut self, method: &str, uri: &str) -> bool {
        if self.method.as_ref().is_some_and(|wanted| wanted != method) || !(self.uri)(uri) {
            return false;
        }
        self.matched += 1;
        self.matched > self.after && self.matched - self.after <= self.times
    }
}

/// The running proxy; it stops when dropped.
pub struct FaultProxy {
    shared: Arc<SharedState>,
    kubeconfig: Kubeconfig,
    accepting: AbortHandle,
}

struct SharedState {
    rules: Mutex<Vec<FaultRule>>,
    seen: Mutex<Vec<Seen>>,
    connections: Mutex<Vec<AbortHandle>>,
    upstream: Upstream,
}

impl FaultProxy {
    /// Starts a proxy for the identity in `kubeconfig`; its own kubeconfig is written to `folder`.
    ///
    /// # Errors
    /// The kubeconfig's certificates cannot be used.
    pub async fn start(kubeconfig: &Kubeconfig, folder: &Path) -> Fallible<FaultProxy> {
        FaultProxy::start_as(kubeconfig, folder, &["127.0.0.1", "localhost"]).await
    }

    /// As [`FaultProxy::start`], with a certificate for `names`, for example one that is not `127.0.0.1`.
    pub async fn start_as(kubeconfig: &Kubeconfig, folder: &Path, names: &[&str]) -> Fallible<FaultProxy> {
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let authority = Authority::new("fault-proxy-authority")?;
        let acceptor = tls_acceptor(&authority.server(names)?)?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(SharedState {
            rules: Mutex::default(),
            seen: Mutex::default(),
            connections: Mutex::default(),
            upstream: Upstream::new(kubeconfig)?,
        });
        let accepting = tokio::spawn(accept(listener, acceptor, shared.clone())).abort_handle();

        let credentials = match &kubeconfig.credentials {
            Credentials::Token(token) => Credentials::Token(token.clone()),
            // The proxy presents the certificate itself.
            Credentials::Certificate(_) | Credentials::None => Credentials::None,
        };
        let url = format!("https://127.0.0.1:{port}");
        let name = format!("proxy-{port}");
        let mut own =
            Kubeconfig::write(folder, &name, &url, authority.certificate(), &kubeconfig.context, credentials)?;
        if let Some(namespace) = &kubeconfig.namespace {
            own = own.with_namespace(namespace)?;
        }
        Ok(FaultProxy { shared, kubeconfig: own, accepting })
    }

    /// The kubeconfig for access through the proxy.
    pub fn kubeconfig(&self) -> &Kubeconfig {
        &self.kubeconfig
    }

    /// Adds a rule that counts from now.
    pub fn add_rule(&self, rule: FaultRule) {
        locked(&self.shared.rules).push(rule);
    }

    /// Removes all rules, so that everything passes.
    pub fn clear_rules(&self) {
        locked(&self.shared.rules).clear();
    }

    /// Every request so far, in the order of arrival.
    pub fn requests(&self) -> Vec<Seen> {
        locked(&self.shared.seen).clone()
    }

    /// Counts the requests so far with this method whose path and query satisfy `holds`.
    pub fn count(&self, method: &str, holds: impl Fn(&str) -> bool) -> usize {
        locked(&self.shared.seen).iter().filter(|seen| seen.method == method && holds(&seen.uri)).count()
    }

    /// Closes every open connection, including watches.
    pub fn cut_connections(&self) {
        for connection in locked(&self.shared.connections).drain(..) {
            connection.abort();
        }
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.cut_connections();
    }
}

/// The content is intact even after a panic of a holder: each does a single push or read.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: TcpListener, acceptor: TlsAcceptor, shared: Arc<SharedState>) {
    // Aborting this task drops the set and ends its tasks.
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let _ = stream.set_nodelay(true);
        let handle = connections.spawn(serve(stream, acceptor.clone(), shared.clone()));
        locked(&shared.connections).push(handle);
        while connections.try_join_next().is_some() {}
    }
}

async fn serve(stream: TcpStream, acceptor: TlsAcceptor, shared: Arc<SharedState>) {
    // A client that does not trust the certificate disconnects here.
    let Ok(stream) = acceptor.accept(stream).await else { return };
    // HTTP/1.1 has one request at a time per connection, so one upstream connection is enough.
    let sender = Arc::new(tokio::sync::Mutex::new(None));
    let service = service_fn(move |request| handle(request, shared.clone(), sender.clone()));
    // An error is a closed connection, which some faults cause on purpose.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

type Sender = Arc<tokio::sync::Mutex<Option<SendRequest<Incoming>>>>;
type Body = BoxBody<Bytes, Error>;

async fn handle(request: Request<Incoming>, shared: Arc<SharedState>, sender: Sender) -> Result<Response<Body>, Error> {
    let method = request.method().to_string();
    let uri = request.uri().path_and_query().map(ToString::to_string).unwrap_or_default();
    let index = {
        let mut seen = locked(&shared.seen);
        seen.push(Seen {
            method: method.clone(),
            uri: uri.clone(),
            status: None,
            begun: Instant::now(),
            answered: None,
        });
        seen.len() - 1
    };
    let (delay, fault) = {
        let mut delay = Duration::ZERO;
        let mut fault = None;
        for rule in locked(&shared.rules).iter_mut() {
            match (rule.strikes(&method, &uri), &rule.fault) {
                (true, Fault::Delay(more)) => delay += *more,
                (true, other) if fault.is_none() => fault = Some(other.clone()),
                _ => {}
            }
        }
        (delay, fault)
    };
    tokio::time::sleep(delay).await;
    let response = match fault {
        Some(Fault::CutBefore) => return Err("cut before the request was forwarded".into()),
        Some(Fault::Hang) => std::future::pending().await,
        Some(Fault::Answer { status, retry_after }) => answer(status, retry_after)?,
        Some(Fault::CutAfter) => {
            shared.upstream.forward(request, &sender).await?;
            return Err("cut after the request was forwarded".into());
        }
        Some(Fault::CutWithin { bytes }) => {
            let (parts, body) = shared.upstream.forward(request, &sender).await?.into_parts();
            let mut body = body.collect().await?.to_bytes();
            body.truncate(bytes);
            let frames = [Ok(Frame::data(body)), Err("cut within the answer".into())];
            Response::from_parts(parts, BodyExt::boxed(StreamBody::new(stream::iter(frames))))
        }
        Some(Fault::Truncated { bytes }) => {
            let (mut parts, mut body) = shared.upstream.forward(request, &sender).await?.into_parts();
            let mut kept = Vec::new();
            while kept.len() < bytes
                && let Some(frame) = body.frame().await
            {
                kept.extend(frame?.into_data().unwrap_or_default());
            }
            kept.truncate(bytes);
            // Drop the connection with the rest of the answer.
            sender.lock().await.take();
            parts.headers.remove(CONTENT_LENGTH);
            Response::from_parts(parts, Full::new(Bytes::from(kept)).map_err(|never| match never {}).boxed())
        }
        Some(Fault::WaitFor(mut allowed)) => {
            // The sender was dropped, so the request passes.
            let _gone = allowed.wait_for(|allowed| *allowed).await.is_err();
            shared.upstream.forward(request, &sender).await?
        }
        Some(Fault::Delay(_)) | None => shared.upstream.forward(request, &sender).await?,
    };
    if let Some(seen) = locked(&shared.seen).get_mut(index) {
        seen.status = Some(response.status().as_u16());
        seen.answered = Some(Instant::now());
    }
    Ok(response)
}

fn answer(status: u16, retry_after: Option<u32>) -> Fallible<Response<Body>> {
    let reason = match status {
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "NotFound",
        409 => "Conflict",
        410 => "Expired",
        429 => "TooManyRequests",
        503 => "ServiceUnavailable",
        _ => "InternalError",
    };
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": status, "reason": reason,
        "message": format!("the fault proxy answered {status}"),
    });
    let body = Full::new(Bytes::from(body.to_string())).map_err(|never| match never {}).boxed();
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status)?;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(seconds) = retry_after {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    Ok(response)
}

/// The API server behind the proxy.
struct Upstream {
    authority: String,
    host: String,
    port: u16,
    connector: TlsConnector,
}

impl Upstream {
    fn new(kubeconfig: &Kubeconfig) -> Fallible<Upstream> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(kubeconfig.authority.as_bytes())?)?;
        let config = rustls::ClientConfig::builder().with_root_certificates(roots);
        let config = match &kubeconfig.credentials {
            Credentials::Certificate(pair) => {
                let (chain, key) = pair.parse()?;
                config.with_client_auth_cert(chain, key)?
            }
            Credentials::Token(_) | Credentials::None => config.with_no_client_auth(),
        };
        let uri: Uri = kubeconfig.server.parse()?;
        Ok(Upstream {
            authority: uri.authority().map(ToString::to_string).unwrap_or_default(),
            host: uri.host().unwrap_or_default().to_owned(),
            port: uri.port_u16().unwrap_or(443),
            connector: TlsConnector::from(Arc::new(config)),
        })
    }

    async fn forward(&self, mut request: Request<Incoming>, sender: &Sender) -> Fallible<Response<Body>> {
        request.headers_mut().insert(HOST, HeaderValue::from_str(&self.authority)?);
        let mut sender = sender.lock().await;
        let mut ready = match sender.take() {
            Some(open) if !open.is_closed() => open,
            _ => self.connect().await?,
        };
        ready.ready().await?;
        let response = ready.send_request(request).await?;
        *sender = Some(ready);
        Ok(response.map(|body| body.map_err(Error::from).boxed()))
    }

    async fn connect(&self) -> Fallible<SendRequest<Incoming>> {
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
        stream.set_nodelay(true)?;
        let stream = self.connector.connect(ServerName::try_from(self.host.clone())?, stream).await?;
        let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(sender)
    }
}
