//! The part of a kubelet that the API server asks for container logs.

use std::convert::Infallible;
use std::sync::PoisonError;

use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::SeenPods;
use super::rules::RuleSet;
use crate::support::Fallible;
use crate::support::certificates::{Authority, tls_acceptor};

/// Serves `GET /containerLogs/NAMESPACE/POD/CONTAINER` on a port of its own, which is returned.
pub async fn start(
    authority: &Authority,
    rules: watch::Receiver<RuleSet>,
    seen: SeenPods,
    tasks: &mut JoinSet<()>,
) -> Fallible<u16> {
    let acceptor = tls_acceptor(&authority.server(&["127.0.0.1"])?)?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    tasks.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, rules, seen) = (acceptor.clone(), rules.clone(), seen.clone());
            connections.spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else { return };
                let service = service_fn(move |request| {
                    let answer = answer(&request, &rules, &seen);
                    async { Ok::<_, Infallible>(answer) }
                });
                let _ =
                    hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
            });
            while connections.try_join_next().is_some() {}
        }
    });
    Ok(port)
}

fn answer(request: &Request<Incoming>, rules: &watch::Receiver<RuleSet>, seen: &SeenPods) -> Response<Full<Bytes>> {
    let log = log(request, rules, seen);
    let status = if log.is_some() { StatusCode::OK } else { StatusCode::NOT_FOUND };
    let body = log.unwrap_or_else(|| "no such container\n".to_owned());
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response
}

fn log(request: &Request<Incoming>, rules: &watch::Receiver<RuleSet>, seen: &SeenPods) -> Option<String> {
    let mut parts = request.uri().path().strip_prefix("/containerLogs/")?.split('/');
    let key = (parts.next()?.to_owned(), parts.next()?.to_owned());
    let container = parts.next()?;
    let pod = seen.lock().unwrap_or_else(PoisonError::into_inner).get(&key)?.clone();
    let text = rules.borrow().log(&pod, container);
    let tail = request.uri().query().unwrap_or_default().split('&').find_map(|pair| pair.strip_prefix("tailLines="));
    Some(match tail.and_then(|count| count.parse().ok()) {
        Some(count) => crate::support::last_lines(&text, count) + "\n",
        None => text,
    })
}
