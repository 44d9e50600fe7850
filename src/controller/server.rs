//! The HTTP endpoints of an operator: `/metrics` on one address, `/healthz` and `/readyz` on another.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

use super::Telemetry;
use super::exposition::Exposition;

/// Limit for the head of a request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(5);
/// Limit for a connection; a Prometheus scraper also gives up after 10 s.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);
/// Limit for concurrent connections. A further connection closes the oldest, because clients that neither send nor read
/// must not block all other clients.
const CONNECTIONS: usize = 64;
/// Limit for the health address, whose answers are two letters. The limits are separate so that neither address affects
/// the other.
const HEALTH_CONNECTIONS: usize = 16;

/// Paths of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoints {
    /// `/metrics`
    Metrics,
    /// `/healthz` and `/readyz`: the process is alive.
    Health,
}

/// A served address.
pub struct ServedAddress {
    listener: TcpListener,
    endpoints: Endpoints,
}

impl ServedAddress {
    /// Binds the address without answering yet.
    ///
    /// # Errors
    /// The address cannot be used, for example because another program uses it.
    pub async fn bind(address: SocketAddr, endpoints: Endpoints) -> std::io::Result<Self> {
        Ok(ServedAddress { listener: TcpListener::bind(address).await?, endpoints })
    }

    /// Returns the address, with the actual port if 0 was requested.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers requests and never returns.
    pub async fn serve(self, telemetry: Arc<Telemetry>) {
        let limit = match self.endpoints {
            Endpoints::Metrics => CONNECTIONS,
            Endpoints::Health => HEALTH_CONNECTIONS,
        };
        let mut open: VecDeque<AbortHandle> = VecDeque::new();
        loop {
            let stream = match self.listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!("cannot accept a connection: {error}");
                    // The usual cause is too many open files. Closing a connection frees a file; an immediate retry
                    // would fail again.
                    if let Some(oldest) = open.pop_front() {
                        oldest.abort();
                    }
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            open.retain(|connection| !connection.is_finished());
            if open.len() >= limit
                && let Some(oldest) = open.pop_front()
            {
                oldest.abort();
            }
            open.push_back(tokio::spawn(answer_once(stream, self.endpoints, telemetry.clone())).abort_handle());
        }
    }
}

/// Answers a request and closes the connection.
async fn answer_once(stream: TcpStream, endpoints: Endpoints, telemetry: Arc<Telemetry>) {
    let answer = service_fn(|request| {
        let response = answer(&request, endpoints, &telemetry);
        async move { Ok::<_, Infallible>(response) }
    });
    let mut connection = http1::Builder::new();
    connection.keep_alive(false).timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
    let served = connection.serve_connection(TokioIo::new(stream), answer);
    // A client that disconnects early does not need the answer, and a slow client has used up its time.
    let _ended = tokio::time::timeout(CONNECTION_TIMEOUT, served).await;
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

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    async fn served(endpoints: Endpoints, telemetry: &Arc<Telemetry>) -> SocketAddr {
        let served = ServedAddress::bind(([127, 0, 0, 1], 0).into(), endpoints).await.unwrap();
        let address = served.address().unwrap();
        tokio::spawn(served.serve(telemetry.clone()));
        address
    }

    async fn asked(address: SocketAddr, path: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).await.unwrap();
        let mut answer = String::new();
        let read = stream.read_to_string(&mut answer);
        tokio::time::timeout(Duration::from_secs(4), read).await.expect("an answer in time").unwrap();
        answer
    }

    #[tokio::test]
    async fn metrics_and_health_answer_while_clients_are_silent_and_while_they_do_not_read() {
        let telemetry = Arc::new(Telemetry::new("1", "linux/amd64"));
        // More than the buffers of a connection: a client that does not read never gets the complete answer.
        let kind = crate::api::kinds::find("gitrepo").unwrap();
        for number in 0..1_000 {
            let object = serde_json::json!({"metadata": {"name": format!("repository-{number}"), "namespace": "apps"},
                "spec": {"url": "x".repeat(10_000)}});
            telemetry.fleet.set(kind, &crate::inspect::read::flux_object::FluxObject::of(&object));
        }
        let metrics = served(Endpoints::Metrics, &telemetry).await;
        let health = served(Endpoints::Health, &telemetry).await;
        let mut held = vec![];
        for request in [&b""[..], b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"] {
            for address in [metrics, health] {
                for _ in 0..CONNECTIONS {
                    let mut stream = TcpStream::connect(address).await.unwrap();
                    // At this point the health address already closes its oldest connections.
                    let _closed = stream.write_all(request).await;
                    held.push(stream);
                }
            }
            let answer = asked(health, "/healthz").await;
            assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("ok"), "{answer}");
            assert!(answer.to_lowercase().contains("connection: close"), "{answer}");
            assert!(asked(metrics, "/metrics").await.contains("repository-999"));
        }
    }
}
