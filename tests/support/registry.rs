//! A real registry on loopback (distribution, built as a Go program), with crane and regctl as independent clients.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::AUTHORIZATION;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::{AbortHandle, JoinSet};

use super::certificates::{Authority, TokenKey};
use super::go_program::{GoProgram, go_is_installed};
use super::server_process::{OwnedFolder, ServerProcess};
use super::{Fallible, needs};

const PROGRAMS: GoProgram = GoProgram {
    name: "the registry and its judges",
    folder: "tests/registry/programs",
    inputs: &["go.mod"],
    output: "registry-programs",
    packages: &["tool"],
    programs: &["registry", "crane", "regctl"],
    optimised: false,
    link_flags: "",
};

/// The only user of registries with credentials.
pub const USER: &str = "alice";
pub const PASSWORD: &str = "secret";
/// bcrypt of the password, as `htpasswd -B` makes it.
const PASSWORD_LINE: &str = "alice:$2b$04$m56X1fW.vdz96q94QIMPAe0q/GuO4JZMYRpU2UA1n2oQMxTErqVJ6\n";
const TOKEN_SERVICE: &str = "test-registry";
const TOKEN_ISSUER: &str = "test-issuer";

/// Returns why no registry can be started here, or `None` if one can.
pub fn unavailable_because() -> Option<String> {
    (!PROGRAMS.is_built() && !go_is_installed()).then(|| "needs Go to build a registry".to_owned())
}

/// Authentication that a registry requires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Authentication {
    #[default]
    None,
    Password,
    Token,
}

/// The program of a registry. Only the first supports credentials, TLS and injected faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Implementation {
    /// distribution 3, built as a Go program.
    #[default]
    Distribution,
    /// distribution 2, which is still widely used; a package of the operating system.
    Distribution2,
    /// The registry inside crane: it sends no `Location` with 201, and truncates lists of tags without a `Link`.
    Crane,
}

/// Path of distribution 2 in Debian's package `docker-registry`.
const DISTRIBUTION_2: &str = "/usr/bin/docker-registry";

impl Implementation {
    /// The implementations that can be started here.
    pub fn here() -> Vec<Implementation> {
        let mut all = vec![Implementation::Distribution, Implementation::Crane];
        if needs::has_program_at(DISTRIBUTION_2, "the package docker-registry") {
            all.push(Implementation::Distribution2);
        }
        all
    }
}

#[derive(Default)]
pub struct RegistryOptions<'a> {
    pub implementation: Implementation,
    pub authentication: Authentication,
    /// Serves TLS with a certificate of this CA.
    pub authority: Option<&'a Authority>,
    /// Requires client certificates of this CA.
    pub client_authority: Option<&'a Authority>,
    /// Lifetime of tokens in seconds.
    pub token_lifetime_secs: Option<u64>,
}

/// The running registry; it ends when this is dropped, or with the process.
pub struct Registry {
    folder: OwnedFolder,
    _server: ServerProcess,
    tokens: Option<TokenServer>,
    port: u16,
    is_tls: bool,
}

impl Registry {
    pub async fn start() -> Fallible<Registry> {
        Registry::start_with(RegistryOptions::default()).await
    }

    pub async fn start_with(options: RegistryOptions<'_>) -> Fallible<Registry> {
        let programs = tokio::task::spawn_blocking(|| PROGRAMS.ensure()).await??;
        let folder = OwnedFolder::new("registry-")?;
        let path = |name: &str| folder.path().join(name).display().to_string();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text);
        let mut http = "  addr: 127.0.0.1:0\n  secret: test\n".to_owned();
        if let Some(authority) = options.authority {
            let server = authority.server(&["localhost", "127.0.0.1"])?;
            write("server.crt", &server.certificate)?;
            write("server.key", &server.key)?;
            http += &format!("  tls:\n    certificate: {}\n    key: {}\n", path("server.crt"), path("server.key"));
            if let Some(authority) = options.client_authority {
                write("clients.crt", authority.certificate())?;
                http += &format!("    clientcas: [{}]\n", path("clients.crt"));
            }
        }
        let mut tokens = None;
        let auth = match options.authentication {
            Authentication::None => String::new(),
            Authentication::Password => {
                write("htpasswd", PASSWORD_LINE)?;
                format!("auth:\n  htpasswd: {{realm: lab, path: {}}}\n", path("htpasswd"))
            }
            Authentication::Token => {
                let server = TokenServer::start(options.token_lifetime_secs.unwrap_or(300)).await?;
                write("jwks.json", &server.key.jwks())?;
                let realm = format!("http://localhost:{}/token", server.port);
                tokens = Some(server);
                format!(
                    "auth:\n  token: {{realm: '{realm}', service: {TOKEN_SERVICE}, issuer: {TOKEN_ISSUER}, jwks: {}}}\n",
                    path("jwks.json")
                )
            }
        };
        let config = format!(
            "version: 0.1\nlog: {{level: info, accesslog: {{disabled: true}}}}\nstorage:\n  filesystem: {{rootdirectory: {}}}\n  \
             delete: {{enabled: true}}\n  maintenance: {{uploadpurging: {{enabled: false}}}}\nhttp:\n{http}{auth}",
            path("data")
        );
        write("config.yml", &config)?;
        let (program, arguments) = match options.implementation {
            Implementation::Distribution => {
                (programs.join("registry"), ["serve", &path("config.yml")].map(String::from).to_vec())
            }
            Implementation::Distribution2 => {
                (PathBuf::from(DISTRIBUTION_2), ["serve", &path("config.yml")].map(String::from).to_vec())
            }
            Implementation::Crane => {
                (programs.join("crane"), ["registry", "serve", "--address", "127.0.0.1:0"].map(String::from).to_vec())
            }
        };
        // There is no collector for traces.
        let environment = BTreeMap::from([("OTEL_TRACES_EXPORTER".to_owned(), "none".to_owned())]);
        let mut server = ServerProcess::start("registry", &program, &arguments, &environment, folder.path())?;
        let deadline = Instant::now() + Duration::from_secs(20);
        let port = loop {
            let log = server.last_log_lines(50);
            if let Some(port) = listening_port(&log) {
                break port;
            }
            if !server.is_running() || Instant::now() > deadline {
                return Err(format!("the registry does not listen:\n{log}").into());
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        };
        Ok(Registry { folder, _server: server, tokens, port, is_tls: options.authority.is_some() })
    }

    /// `localhost:PORT`; the clients refuse token servers at IP addresses.
    pub fn host(&self) -> String {
        format!("localhost:{}", self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// A folder that is removed with the registry.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Requests of token servers in order; empty for other registries.
    pub fn token_requests(&self) -> Vec<String> {
        self.tokens.as_ref().map(TokenServer::requests).unwrap_or_default()
    }

    /// Runs an independent client and returns its output.
    ///
    /// # Errors
    /// Its error output.
    pub fn judge(&self, program: &str, arguments: &[&str]) -> Fallible<String> {
        let home = self.folder.path().join("judge");
        fs::create_dir_all(home.join(".docker"))?;
        let login = STANDARD.encode(format!("{USER}:{PASSWORD}"));
        let config = format!(r#"{{"auths": {{"{}": {{"auth": "{login}"}}}}}}"#, self.host());
        fs::write(home.join(".docker/config.json"), config)?;
        let mut command = self.judge_command(program, &home)?;
        if program == "regctl" && !self.is_tls {
            let set = self
                .judge_command(program, &home)?
                .args(["registry", "set", &self.host(), "--tls", "disabled"])
                .output()?;
            if !set.status.success() {
                return Err(String::from_utf8_lossy(&set.stderr).into_owned().into());
            }
        }
        let insecure = (program == "crane" && !self.is_tls).then_some("--insecure");
        let output = command.args(arguments).args(insecure).output()?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{program} {}: {text}", arguments.join(" ")).into());
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    fn judge_command(&self, program: &str, home: &Path) -> Fallible<Command> {
        let mut command = Command::new(PROGRAMS.ensure()?.join(program));
        command
            .env_clear()
            .env("HOME", home)
            .env("DOCKER_CONFIG", home.join(".docker"))
            .env("REGCTL_CONFIG", home.join("regctl.json"))
            .stdin(Stdio::null());
        Ok(command)
    }

    /// Returns the folder of a stored blob, which is named by the digest.
    pub fn stored_blob(&self, hex: &str) -> PathBuf {
        let start = hex.get(..2).unwrap_or_default();
        self.folder.path().join(format!("data/docker/registry/v2/blobs/sha256/{start}/{hex}/data"))
    }
}

fn listening_port(log: &str) -> Option<u16> {
    let (_, rest) = log.split_once("listening on 127.0.0.1:").or_else(|| log.split_once("serving on port "))?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// Issues tokens to everyone for `pull`, and to the user for `push`.
struct TokenServer {
    key: Arc<TokenKey>,
    port: u16,
    requests: Arc<Mutex<Vec<String>>>,
    accepting: AbortHandle,
}

impl TokenServer {
    async fn start(lifetime_secs: u64) -> Fallible<TokenServer> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let key = Arc::new(TokenKey::new()?);
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let (signer, log) = (key.clone(), requests.clone());
        let accepting = tokio::spawn(serve(listener, move |request: Request<Incoming>| {
            let (signer, log) = (signer.clone(), log.clone());
            async move {
                let query = request.uri().query().unwrap_or_default().to_owned();
                log.lock().unwrap_or_else(PoisonError::into_inner).push(query.clone());
                let expected = format!("Basic {}", STANDARD.encode(format!("{USER}:{PASSWORD}")));
                let shown = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
                if shown.is_some_and(|shown| shown != expected) {
                    return plain(StatusCode::UNAUTHORIZED, "");
                }
                let fields = query.split('&').filter_map(|field| field.split_once('='));
                let scopes = fields.filter(|(key, _)| *key == "scope").map(|(_, value)| decoded(value));
                let access = scopes.filter_map(|scope| {
                    let [kind, name, actions] = scope.splitn(3, ':').collect::<Vec<_>>().try_into().ok()?;
                    let allowed = |action: &&str| *action == "pull" || shown.is_some();
                    let actions: Vec<&str> = actions.split(',').filter(allowed).collect();
                    Some(serde_json::json!({"type": kind, "name": name, "actions": actions}))
                });
                let access = serde_json::Value::from(access.collect::<Vec<_>>());
                match signer.registry_token(TOKEN_ISSUER, TOKEN_SERVICE, &access) {
                    Ok(token) => {
                        let answer = serde_json::json!({"token": token, "expires_in": lifetime_secs});
                        plain(StatusCode::OK, &answer.to_string())
                    }
                    Err(error) => plain(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
                }
            }
        }))
        .abort_handle();
        Ok(TokenServer { key, port, requests, accepting })
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).iter().map(|query| decoded(query)).collect()
    }
}

impl Drop for TokenServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

fn decoded(text: &str) -> String {
    let mut pieces = text.split('%');
    let mut result = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (digits, rest) = piece.split_at_checked(2).unwrap_or((piece, ""));
        result.push(u8::from_str_radix(digits, 16).map_or('?', char::from));
        result.push_str(rest);
    }
    result
}

pub fn plain(status: StatusCode, text: &str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text.to_owned())));
    *response.status_mut() = status;
    response
}

/// Answers every request of a listener with `answer`, until aborted.
pub async fn serve<F, Fut>(listener: TcpListener, answer: F)
where
    F: Fn(Request<Incoming>) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Response<Full<Bytes>>> + Send + 'static,
{
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let answer = answer.clone();
        connections.spawn(async move {
            let service = service_fn(move |request| {
                let answer = answer(request);
                async move { Ok::<_, Infallible>(answer.await) }
            });
            let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
        while connections.try_join_next().is_some() {}
    }
}

/// Counts connections and closes them.
pub async fn count_connections() -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (port, count) = (listener.local_addr().unwrap().port(), Arc::new(AtomicUsize::new(0)));
    let counted = count.clone();
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            drop(connection);
        }
    });
    (port, count)
}

/// A fault of one request to a registry.
#[derive(Clone, Debug)]
pub enum Mishap {
    /// Return the registry's own answer.
    None,
    /// Drop the request and close the connection.
    Cut,
    /// Let the registry handle the request, and close the connection without the answer.
    CutAnswer,
    /// Return this status with these headers instead.
    Answer(u16, Vec<(&'static str, String)>, String),
    /// Return the registry's headers and this many bytes, then close the connection.
    Truncate(usize),
    /// Return the registry's answer with its first byte changed.
    Corrupt,
    /// Return the registry's answer with another body but the same digest header.
    Replace(Vec<u8>),
    /// Return the registry's headers and half of the body, then nothing.
    Stall,
    /// Return the registry's answer byte by byte: never silent, never complete.
    Drip,
    /// Ignore the `Range` of the request.
    IgnoreRange,
}

/// A request that passed.
#[derive(Clone, Debug)]
pub struct Passed {
    /// `GET /v2/…`
    pub line: String,
    pub authorization: Option<String>,
    pub range: Option<String>,
}

type Decide = Arc<dyn Fn(usize, &Passed) -> Mishap + Send + Sync>;

/// A proxy between a client and a registry that injects faults.
pub struct FaultyRegistry {
    port: u16,
    passed: Arc<Mutex<Vec<Passed>>>,
    accepting: AbortHandle,
}

impl FaultyRegistry {
    /// `decide` gets each request with its number, from 0.
    pub async fn start(
        upstream: u16,
        decide: impl Fn(usize, &Passed) -> Mishap + Send + Sync + 'static,
    ) -> Fallible<FaultyRegistry> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let passed: Arc<Mutex<Vec<Passed>>> = Arc::default();
        let decide: Decide = Arc::new(decide);
        let accepting = tokio::spawn(accept_faulty(listener, upstream, decide, passed.clone())).abort_handle();
        Ok(FaultyRegistry { port, passed, accepting })
    }

    pub fn host(&self) -> String {
        format!("localhost:{}", self.port)
    }

    pub fn passed(&self) -> Vec<Passed> {
        self.passed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Counts the requests that began with `start`.
    pub fn count(&self, start: &str) -> usize {
        self.passed().iter().filter(|passed| passed.line.starts_with(start)).count()
    }
}

impl Drop for FaultyRegistry {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

type FaultyBody = http_body_util::combinators::UnsyncBoxBody<Bytes, std::io::Error>;

async fn accept_faulty(listener: TcpListener, upstream: u16, decide: Decide, passed: Arc<Mutex<Vec<Passed>>>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let (decide, passed) = (decide.clone(), passed.clone());
        connections.spawn(async move {
            let service = service_fn(move |request| pass(request, upstream, decide.clone(), passed.clone()));
            let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn pass(
    request: Request<Incoming>,
    upstream: u16,
    decide: Decide,
    passed: Arc<Mutex<Vec<Passed>>>,
) -> Fallible<Response<FaultyBody>> {
    let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str()).to_owned();
    let this = Passed {
        line: format!("{} {path}", request.method()),
        authorization: header("authorization"),
        range: header("range"),
    };
    let mishap = {
        let mut passed = passed.lock().unwrap_or_else(PoisonError::into_inner);
        passed.push(this.clone());
        decide(passed.len() - 1, &this)
    };
    let (mut head, body) = request.into_parts();
    match &mishap {
        Mishap::Cut => return Err("the connection is cut".into()),
        Mishap::Answer(code, headers, text) => {
            let _ = body.collect().await;
            let mut response = Response::builder().status(*code);
            for (name, value) in headers {
                response = response.header(*name, value);
            }
            return Ok(response.body(whole(text.clone().into_bytes().into()))?);
        }
        Mishap::IgnoreRange => drop(head.headers.remove("range")),
        _ => {}
    }
    let body = body.collect().await?.to_bytes();
    let stream = tokio::net::TcpStream::connect(("127.0.0.1", upstream)).await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let _closed_with_this = AbortOnDrop(tokio::spawn(connection).abort_handle());
    let response = sender.send_request(Request::from_parts(head, Full::new(body))).await?;
    let (mut head, body) = response.into_parts();
    let body = body.collect().await?.to_bytes();
    let answered = match mishap {
        Mishap::CutAnswer => return Err("the connection is cut".into()),
        Mishap::Truncate(count) => broken(body.slice(..count.min(body.len())), false),
        Mishap::Stall => broken(body.slice(..body.len() / 2), true),
        Mishap::Drip => dripping(body),
        Mishap::Corrupt => {
            let mut body = body.to_vec();
            body.iter_mut().take(1).for_each(|byte| *byte ^= 1);
            whole(body.into())
        }
        Mishap::Replace(body) => {
            head.headers.insert("content-length", body.len().into());
            whole(body.into())
        }
        _ => whole(body),
    };
    Ok(Response::from_parts(head, answered))
}

struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn whole(bytes: Bytes) -> FaultyBody {
    Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
}

/// Returns the bytes, followed by an error that makes the server close the connection, or by nothing for ever.
fn broken(bytes: Bytes, forever: bool) -> FaultyBody {
    let pieces = futures::stream::unfold(Some(bytes), move |bytes| async move {
        match bytes {
            Some(bytes) => Some((Ok(hyper::body::Frame::data(bytes)), None)),
            None if forever => std::future::pending().await,
            None => {
                // Give the bytes time to leave before the connection is closed.
                tokio::time::sleep(Duration::from_millis(50)).await;
                Some((Err(std::io::Error::other("the connection is cut")), None))
            }
        }
    });
    http_body_util::StreamBody::new(pieces).boxed_unsync()
}

/// Returns the bytes with a pause before each.
fn dripping(bytes: Bytes) -> FaultyBody {
    let pieces = futures::stream::unfold(bytes, |mut bytes| async move {
        if bytes.is_empty() {
            return None;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        let byte = bytes.split_to(1);
        Some((Ok(hyper::body::Frame::data(byte)), bytes))
    });
    http_body_util::StreamBody::new(pieces).boxed_unsync()
}
