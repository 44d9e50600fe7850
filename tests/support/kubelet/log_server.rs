//! The part of a kubelet that serves container logs to the API server.

use std::convert::Infallible;
use std::sync::PoisonError;
use std::time::Duration;

use futures::stream::{self, StreamExt};
use http::{Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::SeenPods;
use super::rules::RuleSet;
use crate::Fallible;
use crate::certificates::{Authority, tls_acceptor};

/// Serves `GET /containerLogs/NAMESPACE/POD/CONTAINER` and returns the port.
pub(super) async fn start(
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

type Body = BoxBody<Bytes, Infallible>;

fn answer(request: &Request<Incoming>, rules: &watch::Receiver<RuleSet>, seen: &SeenPods) -> Response<Body> {
    let whole = |text: String| Full::new(Bytes::from(text)).boxed();
    let Some(log) = Log::of(request, rules, seen) else {
        let mut response = Response::new(whole("no such container\n".to_owned()));
        *response.status_mut() = StatusCode::NOT_FOUND;
        return response;
    };
    let text = log.text().unwrap_or_default();
    let shown = log.query.shown(&text);
    if !log.query.follow {
        return Response::new(whole(shown));
    }
    // Text that a rule appends is streamed. A text with another beginning belongs to another run and ends this stream.
    let more = stream::unfold((log, text), |(log, text)| async move {
        loop {
            tokio::time::sleep(LOOK).await;
            let now = log.text()?;
            let added = now.strip_prefix(text.as_str())?.to_owned();
            if !added.is_empty() {
                let shown = log.query.shown(&added);
                return Some((frame(shown), (log, now)));
            }
        }
    });
    Response::new(BodyExt::boxed(StreamBody::new(stream::once(async { frame(shown) }).chain(more))))
}

fn frame(text: String) -> Result<Frame<Bytes>, Infallible> {
    Ok(Frame::data(Bytes::from(text)))
}

/// Poll interval of a followed log.
const LOOK: Duration = Duration::from_millis(20);

/// The log of one container.
struct Log {
    rules: watch::Receiver<RuleSet>,
    seen: SeenPods,
    pod: (String, String),
    container: String,
    query: Query,
}

impl Log {
    fn of(request: &Request<Incoming>, rules: &watch::Receiver<RuleSet>, seen: &SeenPods) -> Option<Log> {
        let mut parts = request.uri().path().strip_prefix("/containerLogs/")?.split('/');
        let log = Log {
            rules: rules.clone(),
            seen: seen.clone(),
            pod: (parts.next()?.to_owned(), parts.next()?.to_owned()),
            container: parts.next()?.to_owned(),
            query: Query::of(request.uri().query().unwrap_or_default()),
        };
        log.text().map(|_| log)
    }

    /// Returns the text so far; `None` once the pod is deleted.
    fn text(&self) -> Option<String> {
        let pod = self.seen.lock().unwrap_or_else(PoisonError::into_inner).get(&self.pod)?.clone();
        Some(self.rules.borrow().log(&pod, &self.container))
    }
}

/// The requested part of a log.
struct Query {
    follow: bool,
    timestamps: bool,
    tail: Option<usize>,
    /// RFC 3339; such times sort as text if they are in UTC with the same precision.
    since: Option<String>,
}

impl Query {
    fn of(query: &str) -> Query {
        let value = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
        Query {
            follow: value("follow") == Some("true"),
            timestamps: value("timestamps") == Some("true"),
            tail: value("tailLines").and_then(|count| count.parse().ok()),
            since: value("sinceTime").map(|time| time.replace("%3A", ":")),
        }
    }

    fn shown(&self, text: &str) -> String {
        let moment = |line: &str| {
            let line: Option<Value> = serde_json::from_str(line).ok();
            line.and_then(|line| line["ts"].as_str().map(str::to_owned))
        };
        let seconds = |time: &str| time.get(..19).unwrap_or_default().to_owned();
        let is_late = |line: &&str| match (&self.since, moment(line)) {
            (Some(since), Some(moment)) => seconds(&moment) >= seconds(since),
            _ => true,
        };
        let lines: Vec<String> = text
            .lines()
            .filter(is_late)
            .map(|line| match self.timestamps {
                true => format!("{} {line}\n", moment(line).unwrap_or_else(|| "2026-01-01T00:00:00Z".to_owned())),
                false => format!("{line}\n"),
            })
            .collect();
        let first = self.tail.map_or(0, |count| lines.len().saturating_sub(count));
        lines[first..].concat()
    }
}
