//! The contents of etcd, read and put back behind the back of its API server.
//!
//! The API server and its controllers watch etcd, so they learn of each key as if another API server had written it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::net::TcpStream;

use super::Fallible;

/// Keys below which servers write by themselves, also when nothing else happens.
const OWN_OF_SERVERS: &[&str] =
    &["/registry/leases/kube-node-lease/", "/registry/leases/kube-system/", "/registry/masterleases/"];

/// Keys of one transaction; etcd refuses more than 128.
const PER_TRANSACTION: usize = 100;

/// Time for servers to write what they write at their start, and to notice what was taken away.
const SETTLE_DEADLINE: Duration = Duration::from_secs(20);

/// All keys of an API server, as they were at one moment. Keys and values are base64, as in etcd's JSON.
#[derive(Debug, Default)]
pub struct Contents(BTreeMap<String, Entry>);

#[derive(Debug, Deserialize)]
struct Entry {
    key: String,
    #[serde(default)]
    value: String,
    /// The revision of etcd that wrote it, a number in text.
    mod_revision: String,
}

#[derive(Deserialize)]
struct Range {
    #[serde(default)]
    kvs: Vec<Entry>,
}

#[derive(Deserialize)]
struct Written {
    header: Header,
}

#[derive(Deserialize)]
struct Header {
    revision: String,
}

/// etcd on a port of 127.0.0.1, over its JSON gateway.
pub struct Etcd {
    pub port: u16,
}

impl Etcd {
    /// Returns what is stored as soon as nothing has changed for half a second.
    ///
    /// # Errors
    /// etcd does not answer, or its contents keep changing.
    pub async fn settled_contents(&self) -> Fallible<Contents> {
        let mut keys = self.contents(true).await?;
        let mut unchanged = 0;
        for _ in 0..SETTLE_DEADLINE.as_millis() / 100 {
            tokio::time::sleep(Duration::from_millis(100)).await;
            // The values are megabytes, so only the last of these answers has them.
            let now = self.contents(unchanged < 4).await?;
            unchanged = if now.revisions().eq(keys.revisions()) { unchanged + 1 } else { 0 };
            if unchanged == 5 {
                return Ok(now);
            }
            keys = now;
        }
        Err("what etcd holds keeps changing".into())
    }

    /// Puts `contents` back, also against controllers that still act on what is gone.
    ///
    /// # Errors
    /// etcd does not answer, or something is written again and again.
    pub async fn restore(&self, contents: &mut Contents) -> Fallible<()> {
        let started = Instant::now();
        while self.restore_once(contents).await? {
            if started.elapsed() > SETTLE_DEADLINE {
                return Err("what etcd holds does not stay as it was put back".into());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Ok(())
    }

    /// Returns whether there was something to put back.
    async fn restore_once(&self, contents: &mut Contents) -> Fallible<bool> {
        let now = self.contents(true).await?;
        let added = now.0.keys().filter(|key| !contents.0.contains_key(*key));
        let deletions: Vec<Value> = added.map(|key| json!({"request_delete_range": {"key": key}})).collect();
        let mut changed: Vec<&mut Entry> = contents.0.values_mut().filter(|entry| !now.holds(entry)).collect();
        for some in deletions.chunks(PER_TRANSACTION) {
            self.transaction(some).await?;
        }
        for some in changed.chunks_mut(PER_TRANSACTION) {
            let put = |entry: &&mut Entry| json!({"request_put": {"key": entry.key, "value": entry.value}});
            let revision = self.transaction(&some.iter().map(put).collect::<Vec<_>>()).await?;
            some.iter_mut().for_each(|entry| entry.mod_revision.clone_from(&revision));
        }
        Ok(!deletions.is_empty() || !changed.is_empty())
    }

    /// Returns the revision that holds the changes.
    async fn transaction(&self, operations: &[Value]) -> Fallible<String> {
        let written: Written = self.post("/v3/kv/txn", &json!({"success": operations})).await?;
        Ok(written.header.revision)
    }

    async fn contents(&self, keys_only: bool) -> Fallible<Contents> {
        let body = json!({"key": STANDARD.encode("/registry/"), "range_end": STANDARD.encode("/registry0"), "keys_only": keys_only});
        let range: Range = self.post("/v3/kv/range", &body).await?;
        let of_objects = range.kvs.into_iter().filter(|entry| {
            let key = STANDARD.decode(&entry.key).unwrap_or_default();
            !OWN_OF_SERVERS.iter().any(|prefix| key.starts_with(prefix.as_bytes()))
        });
        Ok(Contents(of_objects.map(|entry| (entry.key.clone(), entry)).collect()))
    }

    async fn post<T: DeserializeOwned>(&self, path: &str, body: &Value) -> Fallible<T> {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).await?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        // It ends with the sender.
        tokio::spawn(connection);
        let request = Request::post(path).header("host", "127.0.0.1").body(Full::new(Bytes::from(body.to_string())))?;
        let response = sender.send_request(request).await?;
        let (head, body) = response.into_parts();
        let body = body.collect().await?.to_bytes();
        if !head.status.is_success() {
            return Err(format!("etcd answers {} to {path}: {}", head.status, String::from_utf8_lossy(&body)).into());
        }
        Ok(serde_json::from_slice(&body)?)
    }
}

impl Contents {
    fn revisions(&self) -> impl Iterator<Item = (&String, &String)> {
        self.0.values().map(|entry| (&entry.key, &entry.mod_revision))
    }

    fn holds(&self, other: &Entry) -> bool {
        self.0.get(&other.key).is_some_and(|entry| entry.mod_revision == other.mod_revision)
    }
}
