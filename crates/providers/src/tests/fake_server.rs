//! A local server with responses from the test, with or without TLS. It can also act as a proxy.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rcgen::{CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair};
use rustls_pki_types::PrivateKeyDer;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::TlsFiles;

/// A response, independent of the server that sends it.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
}

/// Creates a response with a body.
pub(crate) fn reply(status: u16, body: impl ToString) -> Reply {
    Reply { status, headers: vec![], body: body.to_string() }
}

impl Reply {
    pub(crate) fn header(mut self, name: &'static str, value: impl ToString) -> Reply {
        self.headers.push((name, value.to_string()));
        self
    }
}

/// Requests as text: `GET /path?query`, then a line for each header, with its name in lower case.
type RequestLog = Arc<Mutex<Vec<String>>>;
type Handler = Arc<dyn Fn(&str, &str) -> Reply + Send + Sync>;

/// A server that stops with the runtime of its test.
pub(crate) struct FakeServer {
    /// `http://127.0.0.1:PORT`
    pub(crate) address: String,
    log: RequestLog,
}

impl FakeServer {
    /// Starts a server. The handler gets the path with query and the text of the headers of each request.
    pub(crate) async fn start(handler: impl Fn(&str, &str) -> Reply + Send + Sync + 'static) -> FakeServer {
        Self::serve(None, Arc::new(handler)).await
    }

    /// Starts a TLS server that verifies clients. Also returns the files of a client that the server trusts.
    pub(crate) async fn start_tls(
        handler: impl Fn(&str, &str) -> Reply + Send + Sync + 'static,
    ) -> (FakeServer, TlsFiles) {
        let mut params = CertificateParams::new(vec![]).unwrap();
        params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let leaf = |name: &str, usage| {
            let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
            params.extended_key_usages = vec![usage];
            let key = KeyPair::generate().unwrap();
            (params.signed_by(&key, &authority).unwrap(), key)
        };
        let (certificate, key) = leaf("127.0.0.1", ExtendedKeyUsagePurpose::ServerAuth);
        let (client, client_key) = leaf("client", ExtendedKeyUsagePurpose::ClientAuth);
        let mut roots = rustls::RootCertStore::empty();
        roots.add(authority.der().clone()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let clients = rustls::server::WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(clients.build().unwrap())
            .with_single_cert(vec![certificate.der().clone()], PrivateKeyDer::Pkcs8(key.serialize_der().into()))
            .unwrap();
        let mut server = Self::serve(Some(TlsAcceptor::from(Arc::new(config))), Arc::new(handler)).await;
        server.address = server.address.replace("http://", "https://");
        let identity = (client.pem().into_bytes(), client_key.serialize_pem().into());
        (server, TlsFiles { authorities: Some(authority.pem().into_bytes()), identity: Some(identity) })
    }

    async fn serve(tls: Option<TlsAcceptor>, handler: Handler) -> FakeServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let log = RequestLog::default();
        let to = log.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (handler, log, tls) = (handler.clone(), to.clone(), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        None => serve_one(TokioIo::new(stream), handler, log).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                serve_one(TokioIo::new(stream), handler, log).await;
                            }
                        }
                    }
                });
            }
        });
        FakeServer { address, log }
    }

    /// The requests so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    /// The first lines of the requests.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.requests().iter().map(|request| request.lines().next().unwrap_or_default().to_owned()).collect()
    }
}

async fn serve_one<I>(stream: I, handler: Handler, log: RequestLog)
where
    I: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    let service = service_fn(move |request: Request<Incoming>| {
        let (handler, log) = (handler.clone(), log.clone());
        async move { Ok::<_, Infallible>(answer(request, handler, log)) }
    });
    let _ended = http1::Builder::new().serve_connection(stream, service).with_upgrades().await;
}

fn answer(mut request: Request<Incoming>, handler: Handler, log: RequestLog) -> Response<Full<Bytes>> {
    let path = request.uri().path_and_query().map_or_else(String::new, ToString::to_string);
    let headers: String = request
        .headers()
        .iter()
        .map(|(name, value)| format!("{name}: {}\n", value.to_str().unwrap_or_default()))
        .collect();
    if request.method() == Method::CONNECT {
        log.lock().unwrap().push(format!("CONNECT {}\n{headers}", request.uri()));
        // The other end of the tunnel is this server itself.
        tokio::spawn(async move {
            if let Ok(stream) = hyper::upgrade::on(&mut request).await {
                // Boxed, because the two functions call each other.
                let inner: std::pin::Pin<Box<dyn Future<Output = ()> + Send>> =
                    Box::pin(serve_one(stream, handler, log));
                inner.await;
            }
        });
        return Response::new(Full::default());
    }
    log.lock().unwrap().push(format!("{} {path}\n{headers}", request.method()));
    let reply = handler(&path, &headers);
    let mut response = Response::new(Full::from(reply.body));
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap();
    for (name, value) in reply.headers {
        response.headers_mut().append(name, value.parse().unwrap());
    }
    response
}
