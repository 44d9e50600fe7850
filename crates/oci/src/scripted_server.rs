//! A server for tests on a local port that sends scripted bytes, which may or may not be HTTP.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Stops with the runtime of its test.
pub(super) struct ScriptedServer {
    /// `127.0.0.1:PORT`
    pub host: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl ScriptedServer {
    /// Answers each request (head and body as one text) with the bytes that `answer` returns, and closes the
    /// connection.
    pub(super) async fn start(answer: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let (log, answer) = (requests.clone(), Arc::new(answer));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (log, answer) = (log.clone(), answer.clone());
                tokio::spawn(async move {
                    if let Some((request, mut stream)) = read_request(stream).await {
                        log.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
                        let _ = stream.write_all(answer(&request).as_bytes()).await;
                        let _ = stream.shutdown().await;
                    }
                });
            }
        });
        ScriptedServer { host, requests }
    }

    /// The requests so far; header names are in lower case.
    pub(super) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The first lines of the requests so far: `GET /v2/… HTTP/1.1`.
    pub(super) fn lines(&self) -> Vec<String> {
        self.requests().iter().filter_map(|request| request.lines().next().map(str::to_owned)).collect()
    }
}

async fn read_request(mut stream: TcpStream) -> Option<(String, TcpStream)> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length =
                head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0_usize) {
                return Some((text, stream));
            }
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

/// Formats an answer from headers, each with its line end, and a body.
pub(super) fn answer(status: u16, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status} x\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}
