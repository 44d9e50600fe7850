//! The HTTP client below kube's: a connector for direct and proxied connections, TLS, compression, credentials.
//!
//! kube's `ClientBuilder` creates its own connector and leaves Nagle's algorithm on: a request of two packets (one with
//! a token) then waits 40 ms for the delayed acknowledgement of the first. It also supports HTTP/1.1 only, where each
//! concurrent request needs its own connection and handshake.

use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::future::{Either, select};
use http::{HeaderValue, Request, Response, Uri};
use hyper::body::Incoming;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector, capture_connection};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::{Body, Client, ConfigExt};
use kube::config::Config;
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::sync::OnceCell;
use tower::util::BoxCloneSyncService;
use tower::{BoxError, Service, ServiceBuilder, ServiceExt};
use tower_http::decompression::DecompressionLayer;

/// Creates a client without connecting.
///
/// # Errors
/// Certificates, credentials or the proxy cannot be used.
pub(super) fn client(config: &Config, tls: ClientConfig) -> kube::Result<Client> {
    let route = proxy_route(config, &tls)?;
    let http = SingleConnectionClient {
        connector: https(config, tls, route)?,
        client: Arc::default(),
        first_request: Arc::default(),
    };
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .layer(DecompressionLayer::new().gzip(!config.disable_compression))
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(http);
    Ok(Client::new(service, config.default_namespace.clone()))
}

/// Opens connections to a server, directly or through a proxy. A single boxed type keeps a second HTTP stack out of the
/// program.
type ProxyRoute = BoxCloneSyncService<Uri, Stream, BoxError>;

/// Returns the direct route, or the route through the configured proxy.
fn proxy_route(config: &Config, tls: &ClientConfig) -> kube::Result<ProxyRoute> {
    let connector = tcp_connector();
    let Some(proxy) = &config.proxy_url else { return Ok(boxed(connector)) };
    match proxy.scheme_str() {
        Some("socks5") => Ok(boxed(SocksV5::new(proxy.clone(), connector))),
        Some("http") => Ok(boxed(with_proxy_credentials(Tunnel::new(proxy.clone(), connector), proxy))),
        Some("https") => {
            // Only HTTP/1.1, because the tunnel writes its `CONNECT` as text.
            let connector = HttpsConnectorBuilder::new()
                .with_tls_config(tls.clone())
                .https_or_http()
                .enable_http1()
                .wrap_connector(connector);
            Ok(boxed(with_proxy_credentials(Tunnel::new(proxy.clone(), connector), proxy)))
        }
        _ => Err(kube::Error::ProxyProtocolUnsupported { proxy_url: Box::new(proxy.clone()) }),
    }
}

fn boxed<C>(connector: C) -> ProxyRoute
where
    C: Service<Uri> + Clone + Send + Sync + 'static,
    C::Response: Transport + 'static,
    C::Future: Send + 'static,
    C::Error: Into<BoxError> + 'static,
{
    BoxCloneSyncService::new(connector.map_response(|stream| Stream(Box::pin(stream))).map_err(Into::into))
}

fn tcp_connector() -> HttpConnector {
    let mut connector = HttpConnector::new();
    // TLS is added on top.
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector
}

/// Adds user and password from a proxy's URL, where they are percent-encoded.
fn with_proxy_credentials<C>(tunnel: Tunnel<C>, proxy: &Uri) -> Tunnel<C> {
    let user = proxy.authority().and_then(|authority| authority.as_str().rsplit_once('@')).map(|(user, _)| user);
    let header = user.and_then(|user| {
        let decoded: Vec<u8> = percent_encoding::percent_decode_str(user).collect();
        let mut header = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(decoded))).ok()?;
        header.set_sensitive(true);
        Some(header)
    });
    match header {
        Some(header) => tunnel.with_auth(header),
        None => tunnel,
    }
}

/// Adds TLS, and HTTP/2 where the server supports it.
fn https(config: &Config, tls: ClientConfig, connector: ProxyRoute) -> kube::Result<HttpsConnector<ProxyRoute>> {
    let builder = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http();
    let builder = match &config.tls_server_name {
        None => builder,
        Some(name) => {
            let name = ServerName::try_from(name.clone()).map_err(|e| kube::Error::Service(Box::new(e)))?;
            builder.with_server_name_resolver(FixedServerNameResolver::new(name))
        }
    };
    Ok(builder.enable_all_versions().wrap_connector(connector))
}

/// Idle time of a connection with open requests before a ping, and the limit for the ping's answer, as in client-go.
const PING_AFTER: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(15);

/// A client that opens its first connection before it chooses the protocol. With HTTP/2, all requests share this
/// connection, and concurrent first requests wait for one handshake instead of making one each.
#[derive(Clone)]
struct SingleConnectionClient {
    connector: HttpsConnector<ProxyRoute>,
    client: Arc<OnceCell<HttpClient>>,
    /// Set when a request has its connection, which later requests find in the pool.
    first_request: Arc<OnceCell<()>>,
}

type HttpClient = legacy::Client<FirstConnectionReuse, Body>;

impl SingleConnectionClient {
    /// Returns a client on the first connection, and whether that connection succeeded.
    async fn connect(&self, server: Uri) -> (HttpClient, bool) {
        let first = self.connector.clone().call(server).await;
        let speaks_http2 = first.as_ref().is_ok_and(|stream| stream.connected().is_negotiated_h2());
        let is_usable = first.is_ok();
        let connector =
            // A failed connection is handed on too, so the request reports that failure instead of connecting a second
            // time.
            FirstConnectionReuse { connector: self.connector.clone(), first: Arc::new(Mutex::new(Some(first))) };
        let client = legacy::Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            // Otherwise the pool would not know in advance that its connection can be shared, and would open one per
            // request.
            .http2_only(speaks_http2)
            .http2_keep_alive_interval(PING_AFTER)
            .http2_keep_alive_timeout(PING_TIMEOUT)
            .build(connector);
        (client, is_usable)
    }

    async fn send(&self, mut request: Request<Body>) -> Result<Response<Incoming>, legacy::Error> {
        let server = request.uri().clone();
        let client = self.client.get_or_try_init(|| async {
            match self.connect(server).await {
                (client, true) => Ok(client),
                (client, false) => Err(client),
            }
        });
        // A server that is unreachable now may support another protocol later, so the failure is reported by a separate
        // client.
        let client = client.await.cloned().unwrap_or_else(|failed| failed);
        if self.first_request.initialized() {
            return client.request(request).await;
        }
        let mut connection = capture_connection(&mut request);
        let mut answer = pin!(client.request(request));
        // hyper-util's pool connects again for a request that asks while the first connection becomes ready. So the
        // others wait until one request has its connection.
        let connected = self.first_request.get_or_try_init(|| async {
            let has_connection = pin!(async {
                connection.wait_for_connection_metadata().await;
            });
            match select(&mut answer, has_connection).await {
                Either::Left((answer, _)) => Err(answer),
                Either::Right(_) => Ok(()),
            }
        });
        match connected.await {
            Ok(_) => answer.await,
            Err(answer) => answer,
        }
    }
}

impl Service<Request<Body>> for SingleConnectionClient {
    type Response = Response<Incoming>;
    type Error = legacy::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let this = self.clone();
        Box::pin(async move { this.send(request).await })
    }
}

type ConnectResult = Result<MaybeHttpsStream<Stream>, BoxError>;

/// Returns the connection that was opened to detect the protocol, and then new ones.
#[derive(Clone)]
struct FirstConnectionReuse {
    connector: HttpsConnector<ProxyRoute>,
    first: Arc<Mutex<Option<ConnectResult>>>,
}

impl Service<Uri> for FirstConnectionReuse {
    type Response = MaybeHttpsStream<Stream>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = ConnectResult> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.connector.poll_ready(context)
    }

    fn call(&mut self, server: Uri) -> Self::Future {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
        match first {
            Some(first) => Box::pin(std::future::ready(first)),
            None => Box::pin(self.connector.call(server)),
        }
    }
}

trait Transport: Connection + Read + Write + Send {}

impl<T: Connection + Read + Write + Send> Transport for T {}

/// A connection through any route.
struct Stream(Pin<Box<dyn Transport>>);

impl Connection for Stream {
    fn connected(&self) -> Connected {
        self.0.connected()
    }
}

impl Read for Stream {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        self.0.as_mut().poll_read(context, into)
    }
}

impl Write for Stream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.as_mut().poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.as_mut().poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.as_mut().poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.0.as_mut().poll_write_vectored(context, pieces)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn small_packets_are_sent_at_once() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server: Uri = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        let connection = tcp_connector().call(server).await.unwrap();
        assert!(connection.inner().nodelay().unwrap());
    }

    #[test]
    fn the_password_of_a_proxy_is_decoded_and_a_strange_proxy_is_refused() {
        let proxy: Uri = "http://user:pa%40ss@proxy:3128".parse().unwrap();
        let tunnel = format!("{:?}", with_proxy_credentials(Tunnel::new(proxy.clone(), ()), &proxy));
        assert!(tunnel.contains("Sensitive"), "{tunnel}");
        let mut config = Config::new("https://server".parse().unwrap());
        config.proxy_url = Some("ftp://proxy".parse().unwrap());
        let tls = crate::format::tls::client_config(crate::format::tls::ServerTrust::Unverified, None).unwrap();
        assert!(matches!(client(&config, tls), Err(kube::Error::ProxyProtocolUnsupported { .. })));
    }
}
