//! An HTTP proxy that tunnels with `CONNECT`, for `proxy-url` in a kubeconfig or `HTTPS_PROXY`.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

use super::Fallible;

/// Limit for a request head; our client never sends a longer one.
const MAX_HEAD_BYTES: usize = 16 * 1024;

/// The running proxy; dropping it stops it with its tunnels.
pub struct ConnectProxy {
    port: u16,
    tunnels: Arc<Mutex<Vec<String>>>,
    accepting: AbortHandle,
}

impl ConnectProxy {
    pub async fn start() -> Fallible<ConnectProxy> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let tunnels = Arc::new(Mutex::default());
        let accepting = tokio::spawn(accept(listener, tunnels.clone())).abort_handle();
        Ok(ConnectProxy { port, tunnels, accepting })
    }

    /// `http://127.0.0.1:PORT`
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The requested targets (`HOST:PORT`), in order.
    pub fn tunnels(&self) -> Vec<String> {
        self.tunnels.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for ConnectProxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, tunnels: Arc<Mutex<Vec<String>>>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let tunnels = tunnels.clone();
        connections.spawn(async move {
            // A client or server that disconnects ends only its own tunnel.
            let _ = tunnel(stream, &tunnels).await;
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn tunnel(mut client: TcpStream, tunnels: &Mutex<Vec<String>>) -> Fallible<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") && head.len() < MAX_HEAD_BYTES {
        // Read single bytes, so that no byte after the head is consumed.
        head.push(client.read_u8().await?);
    }
    let head = String::from_utf8(head)?;
    let Some(target) = head.strip_prefix("CONNECT ").and_then(|rest| rest.split(' ').next()) else {
        return Ok(client.write_all(b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n").await?);
    };
    tunnels.lock().unwrap_or_else(PoisonError::into_inner).push(target.to_owned());
    let Ok(mut server) = TcpStream::connect(target).await else {
        return Ok(client.write_all(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n").await?);
    };
    client.write_all(b"HTTP/1.1 200 Connection Established\r\n\r\n").await?;
    tokio::io::copy_bidirectional(&mut client, &mut server).await?;
    Ok(())
}
