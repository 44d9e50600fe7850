//! Servers that look like API servers from far away, for tests about many clusters: plain HTTP, a handful of objects, and a fault
//! each. What an API server really does is tested against a real one.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use super::control_plane::FreePorts;

/// How a server behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FakeBehaviour {
    Well,
    /// Each answer comes this much later.
    Slow(Duration),
    /// It accepts connections and never answers.
    Silent,
    /// Nothing listens at its address.
    Dead,
    WithoutFlux,
    /// It answers 403 to everything.
    WithoutRights,
}

/// A server that ends with the process.
#[derive(Clone)]
pub struct FakeCluster {
    pub address: String,
    /// UID of its namespace kube-system.
    pub uid: String,
    requests: Arc<Mutex<Vec<String>>>,
    accepted: Arc<Mutex<Vec<(String, String)>>>,
    /// Keeps others from the port of a dead server.
    _free: Option<Arc<FreePorts<1>>>,
}

/// Requests under way at some servers, and the most there ever were.
#[derive(Default)]
pub struct RequestGauge {
    under_way: AtomicUsize,
    most: AtomicUsize,
}

impl RequestGauge {
    fn begins(&self) {
        let now = self.under_way.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
    }

    fn ends(&self) {
        self.under_way.fetch_sub(1, Ordering::SeqCst);
    }

    /// The most requests that the servers had to answer at one time.
    pub fn most(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }
}

impl FakeCluster {
    /// Starts a server whose objects are `objects`, by path of their list: `/apis/GROUP/VERSION/PLURAL`.
    ///
    /// # Panics
    /// No port is free.
    pub fn start(name: &str, behaviour: FakeBehaviour, objects: &[(&str, Vec<Value>)]) -> Self {
        FakeCluster::counted(name, behaviour, objects, &Arc::default())
    }

    /// The same with a gauge that may be that of other servers as well.
    ///
    /// # Panics
    /// No port is free.
    pub fn counted(
        name: &str,
        behaviour: FakeBehaviour,
        objects: &[(&str, Vec<Value>)],
        gauge: &Arc<RequestGauge>,
    ) -> Self {
        let uid = format!("uid-of-{name}");
        let requests = Arc::new(Mutex::new(vec![]));
        let accepted = Arc::new(Mutex::new(vec![]));
        let (port, free) = if behaviour == FakeBehaviour::Dead {
            let free = FreePorts::find().expect("a port that stays free");
            (free.ports[0], Some(Arc::new(free)))
        } else {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
            let port = listener.local_addr().expect("an address").port();
            let server = Arc::new(Server {
                behaviour,
                uid: uid.clone(),
                lists: objects.iter().map(|(path, objects)| ((*path).to_owned(), objects.clone())).collect(),
                requests: requests.clone(),
                accepted: accepted.clone(),
                gauge: gauge.clone(),
            });
            std::thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    let server = server.clone();
                    std::thread::spawn(move || server.serve(stream));
                }
            });
            (port, None)
        };
        FakeCluster { address: format!("http://127.0.0.1:{port}"), uid, requests, accepted, _free: free }
    }

    /// The forms of an answer that the last request for a path accepted, in lower case.
    pub fn accepted(&self, path: &str) -> Option<String> {
        let all = self.accepted.lock().unwrap_or_else(PoisonError::into_inner);
        let is_of = |asked: &str| asked.split('?').next() == Some(path);
        all.iter().rev().find(|(asked, _)| is_of(asked)).map(|(_, accept)| accept.clone())
    }

    /// Method and path of what it was asked, in order.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Writes a kubeconfig with a context for each server, without credentials.
///
/// # Panics
/// The file cannot be written.
pub fn write_kubeconfig(folder: &Path, contexts: &[(&str, &str)]) -> PathBuf {
    let clusters: Vec<Value> =
        contexts.iter().map(|(name, server)| json!({"name": name, "cluster": {"server": server}})).collect();
    let of = |name: &str| json!({"name": name, "context": {"cluster": name, "user": ""}});
    let contexts: Vec<Value> = contexts.iter().map(|(name, _)| of(name)).collect();
    let config = json!({"apiVersion": "v1", "kind": "Config", "clusters": clusters, "contexts": contexts, "users": []});
    let file = folder.join("kubeconfig");
    std::fs::write(&file, config.to_string()).expect("the kubeconfig is written");
    file
}

struct Server {
    behaviour: FakeBehaviour,
    uid: String,
    lists: Vec<(String, Vec<Value>)>,
    requests: Arc<Mutex<Vec<String>>>,
    accepted: Arc<Mutex<Vec<(String, String)>>>,
    gauge: Arc<RequestGauge>,
}

impl Server {
    fn serve(&self, stream: TcpStream) {
        let Ok(reading) = stream.try_clone() else { return };
        let (mut reader, mut writer) = (BufReader::new(reading), stream);
        while let Some((method, path, accept)) = next_request(&mut reader) {
            self.accepted.lock().unwrap_or_else(PoisonError::into_inner).push((path.clone(), accept));
            self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{method} {path}"));
            self.gauge.begins();
            if let FakeBehaviour::Slow(pause) = self.behaviour {
                std::thread::sleep(pause);
            }
            if self.behaviour == FakeBehaviour::Silent {
                // Until the client gives up.
                let _ = next_request(&mut reader);
                self.gauge.ends();
                return;
            }
            let (code, body) = self.answer(&path);
            let body = body.to_string();
            self.gauge.ends();
            let head = format!(
                "HTTP/1.1 {code} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                body.len()
            );
            if writer.write_all(head.as_bytes()).and_then(|()| writer.write_all(body.as_bytes())).is_err() {
                return;
            }
        }
    }

    fn answer(&self, path: &str) -> (u16, Value) {
        let path = path.split('?').next().unwrap_or_default();
        if self.behaviour == FakeBehaviour::WithoutRights {
            return status(403, "Forbidden", &format!("User \"jane\" cannot get path \"{path}\""));
        }
        match path {
            "/api" | "/apis" => {
                return (
                    200,
                    json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": []}),
                );
            }
            "/version" => return (200, json!({"major": "1", "minor": "36", "gitVersion": "v1.36.1"})),
            "/api/v1/namespaces/kube-system" => {
                let metadata = json!({"name": "kube-system", "uid": self.uid});
                return (200, json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}));
            }
            _ => {}
        }
        if self.behaviour != FakeBehaviour::WithoutFlux {
            if let Some((_, objects)) = self.lists.iter().find(|(list, _)| list == path) {
                return (200, json!({"metadata": {"resourceVersion": "1"}, "items": objects}));
            }
            let in_list = self.lists.iter().find_map(|(list, objects)| {
                let (before, plural) = list.rsplit_once('/')?;
                let namespace =
                    path.strip_prefix(&format!("{before}/namespaces/"))?.strip_suffix(&format!("/{plural}"))?;
                let is_here = |object: &&Value| object.pointer("/metadata/namespace") == Some(&json!(namespace));
                Some(objects.iter().filter(is_here).cloned().collect::<Vec<_>>())
            });
            if let Some(objects) = in_list {
                return (200, json!({"metadata": {"resourceVersion": "1"}, "items": objects}));
            }
        }
        status(404, "NotFound", "the server could not find the requested resource")
    }
}

fn status(code: u16, reason: &str, message: &str) -> (u16, Value) {
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message,
        "reason": reason, "code": code});
    (code, status)
}

/// Method, path and accepted forms of the next request; its body, if any, is read and dropped.
fn next_request(reader: &mut impl BufRead) -> Option<(String, String, String)> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|length| *length > 0)?;
    let mut words = line.split(' ').map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let (mut length, mut accept) = (0, String::new());
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok().filter(|length| *length > 0)?;
        let header = header.trim().to_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("accept:") {
            value.trim().clone_into(&mut accept);
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    std::io::copy(&mut reader.take(length), &mut std::io::sink()).ok()?;
    Some((method, path, accept))
}
