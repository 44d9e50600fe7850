//! Where an operator is asked how it does: `/metrics` on one address, `/healthz` and `/readyz` on another.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::Telemetry;
use super::exposition::Exposition;

/// Who opens a connection and says nothing is not waited for.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// Connections at a time; more wait.
const CONNECTIONS: usize = 64;

/// Which paths an address serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoints {
    /// `/metrics`
    Metrics,
    /// `/healthz` and `/readyz`: the process lives.
    Health,
}

/// An address that is being served.
pub struct Served {
    listener: TcpListener,
    endpoints: Endpoints,
}

impl Served {
    /// Takes the address; nothing is answered yet.
    ///
    /// # Errors
    /// The address cannot be used, because another program has it for instance.
    pub async fn bind(address: SocketAddr, endpoints: Endpoints) -> std::io::Result<Self> {
        Ok(Served { listener: TcpListener::bind(address).await?, endpoints })
    }

    /// The address, with the port that was taken where 0 was asked for.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers for ever.
    pub async fn serve(self, telemetry: Arc<Telemetry>) {
        let permits = Arc::new(Semaphore::new(CONNECTIONS));
        loop {
            let Ok(permit) = permits.clone().acquire_owned().await else { return };
            let stream = match self.listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!("cannot take a connection: {error}");
                    // Out of files, mostly: that passes, and asking again at once does not help.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let (telemetry, endpoints) = (telemetry.clone(), self.endpoints);
            tokio::spawn(async move {
                let answer = service_fn(|request| {
                    let response = answer(&request, endpoints, &telemetry);
                    async move { Ok::<_, Infallible>(response) }
                });
                let mut connection = http1::Builder::new();
                connection.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
                // Who hangs up early has lost interest.
                let _ended = connection.serve_connection(TokioIo::new(stream), answer).await;
                drop(permit);
            });
        }
    }
}

fn answer(request: &Request<Incoming>, endpoints: Endpoints, telemetry: &Telemetry) -> Response<String> {
    let (method, path) = (request.method(), request.uri().path());
    if method != Method::GET && method != Method::HEAD {
        return text(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n");
    }
    match (endpoints, path) {
        (Endpoints::Metrics, "/metrics") => metrics(Exposition::accepted_by(request.headers()), telemetry),
        (Endpoints::Health, "/healthz" | "/readyz") => text(StatusCode::OK, "ok"),
        _ => text(StatusCode::NOT_FOUND, "not found\n"),
    }
}

fn metrics(format: Exposition, telemetry: &Telemetry) -> Response<String> {
    let mut response = Response::new(format.write(telemetry.metrics()));
    let content_type = header::HeaderValue::from_static(format.content_type());
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    response
}

fn text(status: StatusCode, text: &str) -> Response<String> {
    let mut response = Response::new(text.to_owned());
    *response.status_mut() = status;
    response
}
