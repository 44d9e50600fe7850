//! A Git server on loopback: `git http-backend` behind a small HTTP server, with an optional password.

use std::convert::Infallible;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::task::{AbortHandle, JoinSet};

use crate::Fallible;

/// The initial branch of every repository.
pub(super) const BRANCH: &str = "main";

/// The running server; it stops when dropped.
pub struct GitServer {
    port: u16,
    site: Arc<Site>,
    accepting: AbortHandle,
}

struct Site {
    /// Bare repositories, `NAME.git`.
    root: PathBuf,
    /// The expected `Authorization` header.
    authorization: Option<String>,
}

impl GitServer {
    /// Returns whether `git` and its HTTP backend are installed.
    pub fn can_run() -> bool {
        let exec_path = Command::new("git").arg("--exec-path").stdin(Stdio::null()).output();
        exec_path.is_ok_and(|output| {
            Path::new(String::from_utf8_lossy(&output.stdout).trim()).join("git-http-backend").is_file()
        })
    }

    /// Serves repositories kept in `folder` to everybody.
    pub async fn start(folder: &Path) -> Fallible<GitServer> {
        GitServer::start_site(folder, None).await
    }

    /// Serves the repositories in `folder` to clients with the user name and password.
    pub async fn start_with_password(folder: &Path, user: &str, password: &str) -> Fallible<GitServer> {
        let authorization = format!("Basic {}", STANDARD.encode(format!("{user}:{password}")));
        GitServer::start_site(folder, Some(authorization)).await
    }

    async fn start_site(folder: &Path, authorization: Option<String>) -> Fallible<GitServer> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let root = folder.join(format!("git-{port}"));
        fs::create_dir_all(&root)?;
        let site = Arc::new(Site { root, authorization });
        let accepting = tokio::spawn(accept(listener, site.clone())).abort_handle();
        Ok(GitServer { port, site, accepting })
    }

    /// The address of a repository, whether it exists or not.
    pub fn url(&self, repository: &str) -> String {
        format!("http://127.0.0.1:{}/{repository}.git", self.port)
    }

    /// Creates an empty repository.
    ///
    /// # Errors
    /// The output of git.
    pub fn repository(&self, name: &str) -> Fallible<GitRepository> {
        let bare = self.site.root.join(format!("{name}.git"));
        let tree = self.site.root.join(format!("{name}.tree"));
        fs::create_dir_all(&tree)?;
        let repository = GitRepository { tree };
        let branch = format!("--initial-branch={BRANCH}");
        repository.git(&["init", "--quiet", "--bare", &branch, &bare.display().to_string()])?;
        repository.git(&["init", "--quiet", &branch])?;
        repository.git(&["remote", "add", "origin", &bare.display().to_string()])?;
        Ok(repository)
    }
}

impl Drop for GitServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// A repository: change its files, then commit and push to the server.
pub struct GitRepository {
    tree: PathBuf,
}

impl GitRepository {
    /// Writes a file and creates its folders.
    pub fn write(&self, path: &str, text: &str) -> Fallible<()> {
        let file = self.tree.join(path);
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        Ok(fs::write(file, text)?)
    }

    pub fn remove(&self, path: &str) -> Fallible<()> {
        Ok(fs::remove_file(self.tree.join(path))?)
    }

    /// Commits everything, pushes it and returns the commit's id.
    pub fn commit(&self, message: &str) -> Fallible<String> {
        self.git(&["add", "--all"])?;
        self.git(&["commit", "--quiet", "--allow-empty", "--message", message])?;
        self.git(&["push", "--quiet", "origin", &format!("HEAD:{BRANCH}")])?;
        self.git(&["rev-parse", "HEAD"])
    }

    /// Tags the last commit and pushes the tag.
    pub fn tag(&self, name: &str) -> Fallible<()> {
        self.git(&["tag", name])?;
        self.git(&["push", "--quiet", "origin", name]).map(|_| ())
    }

    fn git(&self, arguments: &[&str]) -> Fallible<String> {
        let output = Command::new("git")
            .args(arguments)
            .current_dir(&self.tree)
            // Ignore the user's own git configuration: signing, hooks, other names.
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env_remove("GIT_DIR")
            .env_remove("GIT_WORK_TREE")
            .env_remove("GIT_INDEX_FILE")
            .envs([("GIT_AUTHOR_NAME", "test"), ("GIT_AUTHOR_EMAIL", "test@example.com")])
            .envs([("GIT_COMMITTER_NAME", "test"), ("GIT_COMMITTER_EMAIL", "test@example.com")])
            .stdin(Stdio::null())
            .output()?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(format!("git {} failed: {text}", arguments.join(" ")).into());
        }
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    }
}

async fn accept(listener: TcpListener, site: Arc<Site>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let site = site.clone();
        connections.spawn(async move {
            let service = service_fn(move |request| {
                let site = site.clone();
                async move { Ok::<_, Infallible>(answer(request, &site).await) }
            });
            let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn answer(request: Request<Incoming>, site: &Site) -> Response<Full<Bytes>> {
    let shown = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    if site.authorization.is_some() && shown != site.authorization.as_deref() {
        let mut response = plain(StatusCode::UNAUTHORIZED, "wrong or no password\n");
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"git\""));
        return response;
    }
    match run_backend(request, site).await {
        Ok(response) => response,
        Err(error) => plain(StatusCode::INTERNAL_SERVER_ERROR, &format!("{error}\n")),
    }
}

fn plain(status: StatusCode, text: &str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text.to_owned())));
    *response.status_mut() = status;
    response
}

/// Runs `git http-backend` over CGI (RFC 3875).
async fn run_backend(request: Request<Incoming>, site: &Site) -> Fallible<Response<Full<Bytes>>> {
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let header = |name: HeaderName| text_of(&head.headers, &name);
    let mut backend = tokio::process::Command::new("git")
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", &site.root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("REQUEST_METHOD", head.method.as_str())
        .env("PATH_INFO", head.uri.path())
        .env("QUERY_STRING", head.uri.query().unwrap_or_default())
        .env("CONTENT_TYPE", header(CONTENT_TYPE))
        .env("CONTENT_LENGTH", body.len().to_string())
        .env("HTTP_CONTENT_ENCODING", header(CONTENT_ENCODING))
        .env("GIT_PROTOCOL", header(HeaderName::from_static("git-protocol")))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    let mut input = backend.stdin.take().ok_or("git http-backend has no input")?;
    let feed = async move {
        // The backend may answer before it has read everything.
        let _ = input.write_all(&body).await;
    };
    let ((), output) = tokio::join!(feed, backend.wait_with_output());
    parse_cgi(&output?.stdout)
}

fn text_of(headers: &HeaderMap, name: &HeaderName) -> String {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
}

fn parse_cgi(output: &[u8]) -> Fallible<Response<Full<Bytes>>> {
    let end = output.windows(4).position(|four| four == b"\r\n\r\n").ok_or("git http-backend sent no headers")?;
    let (head, body) = output.split_at(end);
    let body = body.get(4..).unwrap_or_default();
    let mut response = Response::new(Full::new(Bytes::copy_from_slice(body)));
    for line in std::str::from_utf8(head)?.lines() {
        let Some((name, value)) = line.split_once(": ") else { continue };
        if name.eq_ignore_ascii_case("status") {
            let code = value.split(' ').next().unwrap_or_default();
            *response.status_mut() = StatusCode::from_bytes(code.as_bytes())?;
        } else {
            let name = HeaderName::from_bytes(name.as_bytes())?;
            response.headers_mut().append(name, HeaderValue::from_str(value)?);
        }
    }
    Ok(response)
}
