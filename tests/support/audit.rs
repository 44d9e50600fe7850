//! Requests as the API server recorded them in its audit log, which makes the count independent of the client.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kube::Client;
use serde::Deserialize;

use super::{Fallible, eventually};

/// Records every request with user, object and answer, but without bodies.
pub const POLICY: &str = r#"{"apiVersion":"audit.k8s.io/v1","kind":"Policy","omitStages":["RequestReceived"],"rules":[{"level":"Metadata"}]}"#;

const SETTLE_PATH: &str = "/version?settle=";

/// A recorded request.
#[derive(Clone, Debug)]
pub struct Request {
    pub user: String,
    pub user_agent: String,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    pub verb: String,
    /// `secrets`, `deployments/status`; the path if the request is not for a resource.
    pub resource: String,
    pub namespace: String,
    pub name: String,
    /// Path and query.
    pub uri: String,
    /// 0 while a watch is still open.
    pub status: u16,
}

/// A position in the log.
#[derive(Clone, Copy, Debug)]
pub struct Mark(u64);

pub struct AuditLog {
    path: PathBuf,
    /// A client whose requests are not counted.
    client: Client,
    settled: AtomicU64,
}

impl AuditLog {
    pub fn new(path: PathBuf, client: Client) -> AuditLog {
        AuditLog { path, client, settled: AtomicU64::new(0) }
    }

    /// Returns the position after every request answered so far.
    pub async fn mark(&self) -> Fallible<Mark> {
        self.settle().await?;
        Ok(Mark(std::fs::metadata(&self.path)?.len()))
    }

    /// Returns every request of every user that was answered after `mark`.
    pub async fn since(&self, mark: Mark) -> Fallible<Requests> {
        self.settle().await?;
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(mark.0))?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        Ok(Requests(parse(&text)))
    }

    /// A line is written when its request ends, which may be just after the client saw the answer. So make one more
    /// request, wait until it is in the log, and allow a moment for requests of the same instant.
    async fn settle(&self) -> Fallible<()> {
        let number = self.settled.fetch_add(1, Ordering::Relaxed);
        let path = format!("{SETTLE_PATH}{}-{number}", std::process::id());
        let start = std::fs::metadata(&self.path).map_or(0, |m| m.len());
        self.client.request_text(http::Request::get(&path).body(Vec::new())?).await?;
        let needle = format!("\"requestURI\":\"{path}\"");
        eventually("the audit log to settle", Duration::from_secs(10), || async {
            let mut file = File::open(&self.path).ok()?;
            file.seek(SeekFrom::Start(start)).ok()?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).ok()?;
            String::from_utf8_lossy(&bytes).contains(&needle).then_some(())
        })
        .await?;
        tokio::time::sleep(Duration::from_millis(20)).await;
        Ok(())
    }
}

/// Requests to filter and count.
#[derive(Clone, Debug)]
pub struct Requests(pub Vec<Request>);

impl Requests {
    /// Keeps the requests of one user. Tests run beside controllers and each other, so give the code under test its own
    /// user.
    pub fn by_user(&self, user: &str) -> Requests {
        self.only(|request| request.user == user)
    }

    /// Keeps the requests that write.
    pub fn writes(&self) -> Requests {
        self.only(|request| !matches!(request.verb.as_str(), "get" | "list" | "watch"))
    }

    pub fn only(&self, keep: impl Fn(&Request) -> bool) -> Requests {
        Requests(self.0.iter().filter(|request| keep(request)).cloned().collect())
    }

    /// Returns the number of requests with this verb and resource (`deployments`, `pods/status`).
    pub fn count(&self, verb: &str, resource: &str) -> usize {
        self.0.iter().filter(|r| r.verb == verb && r.resource == resource).count()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the count per "VERB RESOURCE", to print or to compare as a whole.
    pub fn table(&self) -> BTreeMap<String, usize> {
        let mut table = BTreeMap::new();
        for request in &self.0 {
            *table.entry(format!("{} {}", request.verb, request.resource)).or_insert(0) += 1;
        }
        table
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    #[serde(rename = "auditID")]
    audit_id: String,
    stage: String,
    verb: String,
    #[serde(rename = "requestURI")]
    request_uri: String,
    user: User,
    #[serde(default)]
    user_agent: String,
    #[serde(default)]
    object_ref: Option<ObjectRef>,
    #[serde(default)]
    response_status: Option<ResponseStatus>,
}

#[derive(Deserialize)]
struct User {
    #[serde(default)]
    username: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ObjectRef {
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
}

#[derive(Deserialize)]
struct ResponseStatus {
    #[serde(default)]
    code: u16,
}

/// A watch is recorded when it starts and when it ends; both lines are one request.
fn parse(text: &str) -> Vec<Request> {
    let mut seen = BTreeSet::new();
    let mut requests = Vec::new();
    for line in text.lines() {
        let Ok(line) = serde_json::from_str::<Line>(line) else { continue };
        if line.request_uri.starts_with(SETTLE_PATH) || line.stage == "Panic" || !seen.insert(line.audit_id) {
            continue;
        }
        let path = line.request_uri.split('?').next().unwrap_or_default().to_owned();
        let object = line.object_ref.unwrap_or_default();
        let resource = match (object.resource.as_str(), object.subresource.as_str()) {
            ("", _) => path,
            (resource, "") => resource.to_owned(),
            (resource, subresource) => format!("{resource}/{subresource}"),
        };
        requests.push(Request {
            user: line.user.username,
            user_agent: line.user_agent,
            verb: line.verb,
            resource,
            namespace: object.namespace,
            name: object.name,
            uri: line.request_uri,
            status: if line.stage == "ResponseStarted" { 0 } else { line.response_status.map_or(0, |s| s.code) },
        });
    }
    requests
}
