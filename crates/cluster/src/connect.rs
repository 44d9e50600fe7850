//! From options to a [`Cluster`]: server, credentials, limits. This module opens no connection.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use http::{HeaderValue, Uri, header};
use jiff::Timestamp;
use kube::Client;
use kube::config::{AuthInfo, Cluster as ClusterInfo, Config, ExecAuthCluster, Kubeconfig};
use secrecy::{ExposeSecret, SecretString};
use x509_cert::Certificate;
use x509_cert::der::Decode;

use super::authorization::{Authorization, TokenFile};
use super::credential_plugin::{self, PluginRuns, PluginTerminal, PluginToken};
use super::diagnose;
use super::error::{ClusterError, Endpoint, Reason};
use super::http_client;
use super::kubeconfig::{self, ConnectionTarget, KubeconfigSource, Overrides};
use super::retry::{CallPolicy, RequestObserver, RetryObserver, WriteObserver, bounded};
use super::served::DiscoveryCache;
use crate::format::error::innermost;
use crate::format::file::{MAX_CONFIG_BYTES, read_at_most};
use crate::format::proxy::{self, ProxyEnvironment};
use crate::format::tls::{self, ServerTrust, TlsSetupError};
use crate::k8s::ObjectId;

/// Default limit of an API call.
const DEFAULT_REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Location of a pod's service account files.
const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Options that decide how to reach a cluster. The caller reads the environment; the library does not.
#[derive(Clone)]
pub struct ConnectOptions {
    pub kubeconfig: KubeconfigSource,
    pub overrides: Overrides,
    pub proxy: ProxyEnvironment,
    /// `KUBERNETES_SERVICE_HOST` and `KUBERNETES_SERVICE_PORT`, used when no kubeconfig has a cluster.
    pub in_cluster: Option<InCluster>,
    /// Limit of every API call, including its retries.
    pub request_timeout: Duration,
    pub on_retry: Option<RetryObserver>,
    pub on_write: Option<WriteObserver>,
    /// The command without its arguments, for the `User-Agent` of every request.
    pub purpose: Option<String>,
    pub plugin_terminal: PluginTerminal,
    /// Results of credential plugins, shared by the connections to several clusters.
    pub plugin_runs: Option<PluginRuns>,
    /// `PATH` for credential plugins; `None` uses the system's search.
    pub search_path: Option<OsString>,
}

/// Access to the API server from within a pod.
#[derive(Clone, Debug)]
pub struct InCluster {
    pub host: String,
    pub port: String,
    /// Folder with `token`, `ca.crt` and `namespace`.
    pub service_account: PathBuf,
}

impl InCluster {
    pub fn new(host: impl Into<String>, port: impl Into<String>) -> Self {
        InCluster { host: host.into(), port: port.into(), service_account: SERVICE_ACCOUNT.into() }
    }
}

impl ConnectOptions {
    pub fn new(kubeconfig: KubeconfigSource) -> Self {
        ConnectOptions {
            kubeconfig,
            overrides: Overrides::default(),
            proxy: ProxyEnvironment::default(),
            in_cluster: None,
            request_timeout: DEFAULT_REQUEST_TIMEOUT,
            on_retry: None,
            on_write: None,
            purpose: None,
            plugin_terminal: PluginTerminal::default(),
            plugin_runs: None,
            search_path: None,
        }
    }
}

/// A connection to one cluster. Cheap to clone; the first call connects, and later calls reuse the connection.
#[derive(Clone)]
pub struct Cluster {
    /// Limits every call to `request_timeout` and retries within that limit.
    pub(super) client: Client,
    /// The client and the policy from which `client` is made.
    unbounded: Client,
    pub(super) policy: CallPolicy,
    pub endpoint: Endpoint,
    /// The context's own namespace, or the pod's.
    pub namespace: Option<String>,
    pub request_timeout: Duration,
    identity: Arc<Identity>,
    pub(super) served: Arc<DiscoveryCache>,
}

/// Details of the credentials that can explain a 401.
#[derive(Default)]
struct Identity {
    /// First certificate of the client's chain, DER.
    certificate: Option<Vec<u8>>,
    token: Option<SecretString>,
}

/// Prepares access to a cluster. Runs the credential plugin if the kubeconfig has one; opens no connection.
///
/// # Errors
/// The kubeconfig, context, certificates or credentials cannot be used.
pub async fn connect(options: ConnectOptions) -> Result<Cluster, ClusterError> {
    let wrong = |endpoint: Endpoint, reason| ClusterError::new("connect to the cluster", endpoint, reason);
    let target = target(&options).await.map_err(|reason| {
        let context = options.overrides.context.clone();
        let server = options.overrides.server.as_deref().map(shown_server);
        wrong(Endpoint { server: server.unwrap_or_default(), context }, reason)
    })?;
    let server = target.cluster.server.as_deref().map(shown_server);
    let endpoint = Endpoint { server: server.unwrap_or_default(), context: target.context.clone() };
    open(target, &options, &endpoint).await.map_err(|reason| wrong(endpoint, reason))
}

/// Returns the contexts of a kubeconfig with the addresses of their servers, in the order of the files. A context
/// without a cluster has an empty address.
pub fn contexts_with_servers(config: &Kubeconfig) -> Vec<(String, String)> {
    let server = |cluster: &str| {
        let cluster = config.clusters.iter().find(|one| one.name == cluster)?.cluster.as_ref()?;
        cluster.server.as_deref().map(shown_server)
    };
    let of_context = |context: &kube::config::NamedContext| {
        let server = context.context.as_ref().and_then(|context| server(&context.cluster));
        (context.name.clone(), server.unwrap_or_default())
    };
    config.contexts.iter().map(of_context).collect()
}

async fn target(options: &ConnectOptions) -> Result<ConnectionTarget, Reason> {
    let config = match options.kubeconfig.may_block() {
        // A pipe may stay silent for ever. On another thread the wait for it can be cancelled; plain files are not
        // worth a thread.
        true => {
            let source = options.kubeconfig.clone();
            let read = tokio::task::spawn_blocking(move || kubeconfig::read(&source)).await;
            read.map_err(|error| Reason::Config(error.to_string()))??
        }
        false => kubeconfig::read(&options.kubeconfig)?,
    };
    if let Some(target) = kubeconfig::choose(&config, &options.overrides)? {
        return Ok(target);
    }
    let looked_in = match &options.kubeconfig {
        KubeconfigSource::File(path) => vec![path.display().to_string()],
        KubeconfigSource::List(paths) => paths.iter().map(|p| p.display().to_string()).collect(),
        KubeconfigSource::Loaded(_) => vec![],
    };
    let in_cluster = options.in_cluster.as_ref().ok_or(Reason::NoCluster { looked_in })?;
    pod_target(in_cluster, &options.overrides)
}

/// Source: <https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/>.
fn pod_target(pod: &InCluster, overrides: &Overrides) -> Result<ConnectionTarget, Reason> {
    // An IPv6 address needs brackets in a URL.
    let host = if pod.host.contains(':') { format!("[{}]", pod.host) } else { pod.host.clone() };
    let file = |name: &str| pod.service_account.join(name).to_string_lossy().into_owned();
    // Not every pod has this file: a projected volume may mount the token alone.
    let namespace = std::fs::read_to_string(pod.service_account.join("namespace")).ok();
    let mut user = AuthInfo { token_file: Some(file("token")), ..AuthInfo::default() };
    kubeconfig::override_user(&mut user, overrides);
    Ok(ConnectionTarget {
        context: None,
        namespace: namespace.map(|n| n.trim().to_owned()).filter(|n| !n.is_empty()),
        cluster: ClusterInfo {
            server: Some(format!("https://{host}:{}", pod.port)),
            certificate_authority: Some(file("ca.crt")),
            ..ClusterInfo::default()
        },
        user,
    })
}

async fn open(target: ConnectionTarget, options: &ConnectOptions, endpoint: &Endpoint) -> Result<Cluster, Reason> {
    let ConnectionTarget { context: _, namespace, cluster, mut user } = target;
    let (server, mut in_url) = split_credentials(cluster.server.as_deref().unwrap_or_default());
    let url = server_url(&server)?;
    if url.scheme_str() != Some("https") {
        without_credentials(&mut user, in_url.take().is_some(), &url, options.overrides.token.as_ref())?;
    }
    // A token file wins over the token, so the token's expiry would not explain a refusal.
    let token = user.token.clone().filter(|_| user.token_file.is_none());
    let authorization = authorize(&mut user, in_url, &cluster, options).await?;
    let client_pair = client_pair(&user)?;
    let identity = Identity {
        certificate: client_pair
            .as_ref()
            .and_then(|(certificate, _)| tls::first_certificate(certificate))
            .map(|certificate| certificate.to_vec()),
        token,
    };
    let is_unverified = cluster.insecure_skip_tls_verify == Some(true);
    let trust = if is_unverified { ServerTrust::Unverified } else { trusted_servers(&cluster)? };
    let client_pair =
        client_pair.as_ref().map(|(certificate, key)| (certificate.as_slice(), key.expose_secret().as_bytes()));
    let tls = tls::client_config(trust, client_pair).map_err(|error| Reason::Config(error.to_string()))?;

    let mut config = Config::new(url.clone());
    config.default_namespace = namespace.clone().unwrap_or_else(|| "default".to_owned());
    config.disable_compression = cluster.disable_compression.unwrap_or(false);
    config.tls_server_name = cluster.tls_server_name.clone();
    config.proxy_url = match cluster.proxy_url.as_deref().or_else(|| options.proxy.proxy_for(&url)) {
        // The URL may hold a password, so the error does not repeat it.
        Some(proxy) => Some(proxy_uri(proxy).ok_or_else(|| Reason::Config("the proxy URL is not valid".to_owned()))?),
        None => None,
    };
    config.headers.push((header::USER_AGENT, user_agent(options.purpose.as_deref())));
    // `retry` adds the credentials. kube handles the rest: impersonation and the OIDC auth-provider.
    config.auth_info = AuthInfo {
        impersonate: user.impersonate,
        impersonate_uid: user.impersonate_uid,
        impersonate_groups: user.impersonate_groups,
        impersonate_user_extra: user.impersonate_user_extra,
        // kube would add a second `Authorization` header.
        auth_provider: user.auth_provider.filter(|_| authorization.is_none()),
        ..AuthInfo::default()
    };
    config.default_retry = false;
    // The limit of the call covers connecting and reading, so kube's two timeouts would only add a second, unnamed
    // limit.
    config.connect_timeout = None;
    config.read_timeout = None;
    if url.scheme_str() == Some("https") && is_unverified {
        tracing::warn!(server = endpoint.server, "the server's certificate is not verified");
    }

    let client = http_client::client(&config, tls).map_err(|e| Reason::Config(innermost(&e)))?;
    let policy = CallPolicy {
        limit: options.request_timeout,
        observer: options.on_retry.clone(),
        requests: None,
        writes: options.on_write.clone(),
        authorization,
        lease: None,
        impersonate: None,
    };
    Ok(Cluster {
        client: bounded(client.clone(), policy.clone()),
        unbounded: client,
        policy,
        endpoint: endpoint.clone(),
        namespace,
        request_timeout: options.request_timeout,
        identity: Arc::new(identity),
        served: Arc::default(),
    })
}

/// `flux-operator/0.1.0 (linux/x86_64) get instance`, as audit logs show it.
fn user_agent(purpose: Option<&str>) -> HeaderValue {
    let product =
        format!("flux-operator/{} ({}/{})", env!("CARGO_PKG_VERSION"), std::env::consts::OS, std::env::consts::ARCH);
    let text = purpose.map_or_else(|| product.clone(), |purpose| format!("{product} {purpose}"));
    // The fallback applies only to a purpose of unprintable characters.
    HeaderValue::from_str(&text).unwrap_or_else(|_| HeaderValue::from_static("flux-operator"))
}

/// Keeps credentials from a server without TLS, where they would cross the network in clear text. Like kubectl, it
/// drops the kubeconfig's credentials. A token given for this call is refused, unless the server is on this machine.
fn without_credentials(
    user: &mut AuthInfo,
    are_in_url: bool,
    url: &Uri,
    token: Option<&SecretString>,
) -> Result<(), Reason> {
    if token.is_some() && !proxy::is_local(url) {
        return Err(Reason::Config(format!(
            "the token would be sent to {url} without encryption: use an https server"
        )));
    }
    let are_in_file =
        user.token.is_some() || user.token_file.is_some() || user.exec.is_some() || user.password.is_some();
    if are_in_file || are_in_url {
        tracing::warn!(server = %url, "the server has no TLS: the credentials of the kubeconfig are not sent");
    }
    *user = AuthInfo {
        token: token.cloned(),
        impersonate: user.impersonate.take(),
        impersonate_groups: user.impersonate_groups.take(),
        impersonate_uid: user.impersonate_uid.take(),
        ..AuthInfo::default()
    };
    Ok(())
}

/// Returns the source of the `Authorization` header; `None` if no header is sent or an auth-provider adds the header.
/// The precedence is client-go's: credentials in the server's URL, a token file, a token, a user name. A plugin runs
/// only if there are no other credentials.
async fn authorize(
    user: &mut AuthInfo,
    in_url: Option<UrlCredentials>,
    cluster: &ClusterInfo,
    options: &ConnectOptions,
) -> Result<Option<Authorization>, Reason> {
    if let Some(UrlCredentials { user, password }) = in_url {
        return Authorization::of_password(&user, password.expose_secret()).map(Some);
    }
    if let Some(path) = &user.token_file {
        let file = TokenFile::open(PathBuf::from(path), user.token.as_ref())?;
        return Ok(Some(Authorization::File(Arc::new(file))));
    }
    if let Some(token) = &user.token {
        return Authorization::of_token(token).map(Some);
    }
    if let Some(name) = &user.username {
        let password = user.password.as_ref().map_or("", |password| password.expose_secret());
        return Authorization::of_password(name, password).map(Some);
    }
    let has_certificate = user.client_certificate.is_some() || user.client_certificate_data.is_some();
    let Some(mut plugin) = user.exec.take().filter(|_| !has_certificate) else { return Ok(None) };
    if plugin.provide_cluster_info {
        let info = ExecAuthCluster::try_from(cluster).map_err(|e| Reason::Config(innermost(&e)))?;
        plugin.cluster = Some(info);
    }
    if let Some(search_path) = &options.search_path {
        credential_plugin::find(&mut plugin, search_path)?;
    }
    let terminal = options.plugin_terminal;
    let credentials = match &options.plugin_runs {
        Some(runs) => runs.run(&plugin, terminal).await?,
        None => credential_plugin::run(&plugin, terminal).await?,
    };
    if let Some((certificate, key)) = &credentials.certificate {
        let encode = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
        user.client_certificate_data = Some(encode(certificate));
        user.client_key_data = Some(encode(key.expose_secret()).into());
    }
    match credentials.token {
        Some(_) => Ok(Some(Authorization::Plugin(PluginToken::new(plugin, terminal, &credentials)?))),
        None => Ok(None),
    }
}

/// User and password of `https://user:password@host`.
struct UrlCredentials {
    user: String,
    password: SecretString,
}

/// Removes user and password from a server's URL. They are credentials, and the URL appears in messages.
fn split_credentials(server: &str) -> (String, Option<UrlCredentials>) {
    let (scheme, rest) = server.split_once("://").map_or((None, server), |(scheme, rest)| (Some(scheme), rest));
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    // As in Go's parser, the last `@` ends the credentials: a password may contain one.
    let Some((credentials, host)) = authority.rsplit_once('@') else { return (server.to_owned(), None) };
    let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
    let decoded = |text: &str| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
    let credentials = UrlCredentials { user: decoded(user), password: decoded(password).into() };
    let clean = scheme.map_or_else(|| format!("{host}{path}"), |scheme| format!("{scheme}://{host}{path}"));
    (clean, Some(credentials))
}

/// Returns the server without credentials and query. If it cannot be parsed, everything up to the last `@` may be
/// credentials.
fn shown_server(server: &str) -> String {
    let server = server.split(['?', '#']).next().unwrap_or_default();
    let (server, _) = split_credentials(server);
    if server_url(&server).is_ok() { server } else { after_credentials(&server).to_owned() }
}

fn after_credentials(text: &str) -> &str {
    text.rsplit('@').next().unwrap_or_default()
}

fn server_url(text: &str) -> Result<Uri, Reason> {
    if text.is_empty() {
        return Err(Reason::Config("the cluster has no server".to_owned()));
    }
    let with_scheme = if text.contains("://") { text.to_owned() } else { format!("https://{text}") };
    let url: Uri =
        with_scheme.parse().map_err(|_| Reason::Config(format!("server {} is not a URL", after_credentials(text))))?;
    // The parser drops an invalid port, which would lead to another server.
    let authority = url.authority().map_or("", |authority| authority.as_str());
    // The colons inside an IPv6 address stand before its `]`, so only the rest can hold the port.
    let port = authority.rsplit(']').next().and_then(|host| host.rsplit_once(':')).map(|(_, port)| port);
    let has_port = port.is_none_or(|port| port.is_empty() || port.parse::<u16>().is_ok());
    match url.scheme_str() {
        Some("https" | "http") if url.host().is_some() && has_port => Ok(url),
        _ => Err(Reason::Config(format!("server {} is not an http or https URL", after_credentials(text)))),
    }
}

fn proxy_uri(text: &str) -> Option<Uri> {
    // As in Go, a proxy without a scheme is an HTTP proxy.
    let with_scheme = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    with_scheme.parse().ok()
}

fn trusted_servers(cluster: &ClusterInfo) -> Result<ServerTrust, Reason> {
    let what = "certificate-authority";
    let pem = load(what, cluster.certificate_authority_data.as_deref(), cluster.certificate_authority.as_deref())?;
    let Some(pem) = pem else { return Ok(ServerTrust::System) };
    match tls::certificates(&pem) {
        none if none.is_empty() => Err(Reason::Config(format!("{what} holds no certificate in PEM"))),
        all => Ok(ServerTrust::Certificates(all)),
    }
}

/// Returns the client certificate and its key, both in PEM.
fn client_pair(user: &AuthInfo) -> Result<Option<(Vec<u8>, SecretString)>, Reason> {
    let data = user.client_certificate_data.as_deref();
    let Some(certificate) = load("client-certificate", data, user.client_certificate.as_deref())? else {
        return Ok(None);
    };
    let data = user.client_key_data.as_ref().map(ExposeSecret::expose_secret);
    let key = load("client-key", data, user.client_key.as_deref())?;
    let key = key.ok_or_else(|| Reason::Config("client-certificate needs a client-key".to_owned()))?;
    let key = String::from_utf8(key).map_err(|_| Reason::Config(TlsSetupError::NoClientKey.to_string()))?;
    Ok(Some((certificate, key.into())))
}

/// Reads a file or its inline content; `data` is base64 without white space, see `kubeconfig`.
fn load(what: &str, data: Option<&str>, path: Option<&str>) -> Result<Option<Vec<u8>>, Reason> {
    if let Some(data) = data.filter(|d| !d.is_empty()) {
        let decoded = base64::engine::general_purpose::STANDARD.decode(data);
        return decoded.map(Some).map_err(|_| Reason::Config(format!("{what}-data is not base64")));
    }
    let Some(path) = path.filter(|p| !p.is_empty()) else { return Ok(None) };
    let content = read_at_most(Path::new(path), MAX_CONFIG_BYTES);
    content.map(Some).map_err(|e| Reason::Config(format!("{what} {path}: {e}")))
}

impl Cluster {
    /// Wraps an existing client, such as a test's.
    pub fn of_client(client: Client, endpoint: Endpoint) -> Self {
        Cluster {
            client: client.clone(),
            unbounded: client,
            policy: CallPolicy {
                limit: DEFAULT_REQUEST_TIMEOUT,
                observer: None,
                requests: None,
                writes: None,
                authorization: None,
                lease: None,
                impersonate: None,
            },
            endpoint,
            namespace: None,
            request_timeout: DEFAULT_REQUEST_TIMEOUT,
            identity: Arc::default(),
            served: Arc::default(),
        }
    }

    /// The same cluster, with an observer of retries.
    #[must_use]
    pub fn observed(&self, observer: RetryObserver) -> Self {
        self.with_policy(CallPolicy { observer: Some(observer), ..self.policy.clone() })
    }

    /// The same cluster, with an observer of all requests.
    #[must_use]
    pub fn counted(&self, observer: RequestObserver) -> Self {
        self.with_policy(CallPolicy { requests: Some(observer), ..self.policy.clone() })
    }

    /// The same cluster with the rights of a service account
    /// (<https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation>).
    #[must_use]
    pub fn impersonating_service_account(&self, namespace: &str, name: &str) -> Self {
        // Valid names fit into a header. Anything else becomes a user that cannot exist, so its requests are refused
        // instead of being sent with this program's own rights.
        let user = HeaderValue::from_str(&format!("system:serviceaccount:{namespace}:{name}"));
        let user = user.unwrap_or_else(|_| HeaderValue::from_static("system:serviceaccount"));
        self.with_policy(CallPolicy { impersonate: Some(user), ..self.policy.clone() })
    }

    pub(super) fn with_policy(&self, policy: CallPolicy) -> Self {
        Cluster { client: bounded(self.unbounded.clone(), policy.clone()), policy, ..self.clone() }
    }

    /// Explains an error of kube. `attempted` reads after "cannot": `get secret/apps/git-auth`.
    pub(super) fn explain(
        &self,
        error: &kube::Error,
        attempted: impl Into<String>,
        object: Option<ObjectId>,
    ) -> ClusterError {
        let mut error = diagnose::explain(error, attempted, object, &self.endpoint);
        // A server that refuses the certificate during the handshake gives no time of expiry; the certificate has it.
        if matches!(error.reason, Reason::Unauthorized { .. } | Reason::ExpiredCertificate { at: None })
            && let Some(reason) = self.identity.expired(Timestamp::now())
        {
            error.reason = reason;
        }
        error
    }
}

impl Identity {
    /// The server only says 401; the credentials often explain it.
    fn expired(&self, now: Timestamp) -> Option<Reason> {
        if let Some(at) = self.certificate.as_deref().and_then(not_after).filter(|at| *at < now) {
            return Some(Reason::ExpiredCertificate { at: Some(at) });
        }
        let at = self.token.as_ref().and_then(|t| token_expiry(t.expose_secret())).filter(|at| *at < now)?;
        Some(Reason::ExpiredToken { at })
    }
}

fn not_after(der: &[u8]) -> Option<Timestamp> {
    let certificate = Certificate::from_der(der).ok()?;
    let end = certificate.tbs_certificate().validity().not_after.to_unix_duration();
    Timestamp::from_second(i64::try_from(end.as_secs()).ok()?).ok()
}

/// The `exp` claim of a JSON web token (RFC 7519), unverified: it is used only to explain a refusal.
fn token_expiry(token: &str) -> Option<Timestamp> {
    let payload = token.split('.').nth(1)?;
    let json = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(payload.trim_end_matches('=')).ok()?;
    let claims: serde_json::Value = serde_json::from_slice(&json).ok()?;
    Timestamp::from_second(claims.get("exp")?.as_i64()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(text: &str) -> (tempfile::TempDir, ConnectOptions) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        std::fs::write(&path, text).unwrap();
        (folder, ConnectOptions::new(KubeconfigSource::File(path)))
    }

    const PLAIN: &str = "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u, namespace: apps}}]\n\
                         clusters: [{name: k, cluster: {server: 'http://127.0.0.1:1'}}]\nusers: []\n";

    #[tokio::test]
    async fn a_cluster_knows_its_server_context_and_namespace() {
        let (_folder, options) = options(PLAIN);
        let cluster = connect(options).await.unwrap();
        assert_eq!(cluster.endpoint.to_string(), "http://127.0.0.1:1 (context c)");
        assert_eq!(cluster.namespace.as_deref(), Some("apps"));
    }

    #[tokio::test]
    async fn a_dead_server_is_unreachable_after_a_few_tries() {
        let (_folder, mut options) = options(PLAIN);
        let retries = Arc::new(std::sync::Mutex::new(vec![]));
        let seen = retries.clone();
        options.on_retry = Some(Arc::new(move |retry| seen.lock().unwrap().push(retry.to_string())));
        let cluster = connect(options).await.unwrap();
        let error = cluster.client.apiserver_version().await.unwrap_err();
        let error = cluster.explain(&error, "read the version", None);
        assert!(matches!(error.reason, Reason::Unreachable { .. }), "{:?}", error.reason);
        assert_eq!(retries.lock().unwrap().len(), 2);
        assert_eq!(retries.lock().unwrap()[0], "GET /version: cannot connect; trying again in 250ms");
    }

    #[tokio::test]
    async fn without_any_cluster_the_error_says_where_it_looked() {
        let options = ConnectOptions::new(KubeconfigSource::List(vec!["/nowhere/config".into()]));
        let error = connect(options).await.err().unwrap();
        assert_eq!(error.to_string(), "cannot connect to the cluster");
        assert_eq!(error.reason.to_string(), "no kubeconfig has a cluster (looked in /nowhere/config)");
    }

    #[tokio::test]
    async fn a_pod_uses_its_service_account_when_there_is_no_kubeconfig() {
        let folder = tempfile::tempdir().unwrap();
        let key = rcgen::generate_simple_self_signed(vec!["kubernetes".into()]).unwrap();
        std::fs::write(folder.path().join("ca.crt"), key.cert.pem()).unwrap();
        std::fs::write(folder.path().join("token"), "t").unwrap();
        std::fs::write(folder.path().join("namespace"), "flux-system\n").unwrap();
        let mut options = ConnectOptions::new(KubeconfigSource::List(vec![]));
        options.in_cluster =
            Some(InCluster { service_account: folder.path().into(), ..InCluster::new("fd00::1", "443") });
        let cluster = connect(options).await.unwrap();
        assert_eq!(cluster.endpoint.to_string(), "https://[fd00::1]:443");
        assert_eq!(cluster.namespace.as_deref(), Some("flux-system"));
    }

    #[test]
    fn a_server_without_tls_gets_no_credentials_but_a_token_given_for_this_machine() {
        let kubeconfig = || AuthInfo {
            token: Some("t".to_owned().into()),
            password: Some("p".to_owned().into()),
            exec: Some(kube::config::ExecConfig::default()),
            impersonate: Some("eve".into()),
            ..AuthInfo::default()
        };
        let given: SecretString = "given".to_owned().into();
        for (server, token, accepted) in [
            ("http://10.0.0.1:8080", None, true),
            ("http://127.0.0.1:8001", None, true),
            ("http://localhost:8001", Some(&given), true),
            ("http://[::1]:8001", Some(&given), true),
            ("http://10.0.0.1:8080", Some(&given), false),
        ] {
            let mut user = kubeconfig();
            let done = without_credentials(&mut user, false, &server.parse().unwrap(), token);
            assert_eq!(done.is_ok(), accepted, "{server}");
            if accepted {
                assert_eq!(
                    user.token.map(|t| t.expose_secret().to_owned()),
                    token.map(|_| "given".to_owned()),
                    "{server}"
                );
                assert!(user.password.is_none() && user.exec.is_none() && user.impersonate.is_some(), "{server}");
            }
        }
    }

    /// Makes a call to a local server and returns the text that the server received.
    async fn received(options: ConnectOptions, listener: tokio::net::TcpListener) -> String {
        use tokio::io::AsyncReadExt;
        let cluster = connect(options).await.unwrap();
        let call = tokio::spawn(async move { cluster.client.apiserver_version().await.map(drop) });
        let (mut connection, _) = listener.accept().await.unwrap();
        let mut text = String::new();
        while !text.ends_with("\r\n\r\n") {
            let mut piece = [0; 1024];
            let read = connection.read(&mut piece).await.unwrap();
            text.push_str(std::str::from_utf8(&piece[..read]).unwrap());
        }
        call.abort();
        text.to_lowercase()
    }

    #[tokio::test]
    async fn a_request_carries_the_user_agent_and_sends_no_secret_without_tls() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = format!("http://{}", listener.local_addr().unwrap());
        let text = PLAIN.replace("http://127.0.0.1:1", &server);
        let (_folder, mut options) = options(&text.replace("users: []", "users: [{name: u, user: {token: canary}}]"));
        options.purpose = Some("get instance".into());
        let request = received(options, listener).await;
        let agent = format!("user-agent: flux-operator/{} ({}/", env!("CARGO_PKG_VERSION"), std::env::consts::OS);
        assert!(request.contains(&agent) && request.contains(") get instance\r\n"), "{request}");
        assert!(!request.contains("canary"), "{request}");
    }

    const VERSION: &str = r#"{"major": "1", "minor": "36", "gitVersion": "v1.36.3", "gitCommit": "", "gitTreeState": "",
        "buildDate": "", "goVersion": "", "compiler": "", "platform": ""}"#;
    const REFUSAL: &str = r#"{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 401,
        "reason": "Unauthorized", "message": "Unauthorized"}"#;

    /// Makes a call to a local TLS server and returns the `authorization` line of each request. The first `refusals`
    /// answers are 401.
    async fn received_over_tls(cluster: &str, user: &str, refusals: usize) -> Result<Vec<String>, ClusterError> {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let server = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
        let key = rustls_pki_types::PrivatePkcs8KeyDer::from(server.signing_key.serialize_der());
        let tls = rustls::ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![server.cert.der().clone()], key.into())
            .unwrap();
        let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(tls));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let authority = base64::engine::general_purpose::STANDARD.encode(server.cert.pem());
        let text = format!(
            "current-context: c\ncontexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n\
             clusters: [{{name: k, cluster: {{server: 'https://{}', certificate-authority-data: {authority}}}}}]\n\
             users: [{{name: u, user: {{{user}}}}}]\n",
            cluster.replace("ADDRESS", &address)
        );
        let (folder, options) = options(&text);
        std::fs::write(folder.path().join("token"), "of-file\n").unwrap();
        let lines = Arc::new(std::sync::Mutex::new(vec![]));
        let record = lines.clone();
        let serving = tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                let Ok(mut connection) = acceptor.accept(connection).await else { continue };
                let mut text = String::new();
                loop {
                    let mut piece = [0; 1024];
                    let Ok(read @ 1..) = connection.read(&mut piece).await else { break };
                    text.push_str(std::str::from_utf8(&piece[..read]).unwrap());
                    if !text.ends_with("\r\n\r\n") {
                        continue;
                    }
                    let line = text.lines().find(|line| line.to_lowercase().starts_with("authorization:"));
                    record.lock().unwrap().push(line.unwrap_or_default().to_owned());
                    let (status, body) = if record.lock().unwrap().len() > refusals {
                        ("200 OK", VERSION)
                    } else {
                        ("401 Unauthorized", REFUSAL)
                    };
                    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n", body.len());
                    connection.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
                    // The file is read again after the refusal, and may hold another token by then.
                    std::fs::write(folder.path().join("token"), "renewed\n").unwrap();
                    text.clear();
                }
            }
        });
        let cluster = connect(options).await?;
        assert!(!cluster.endpoint.to_string().contains('@'), "{}", cluster.endpoint);
        let answer = cluster.client.apiserver_version().await;
        serving.abort();
        let lines = std::mem::take(&mut *lines.lock().unwrap());
        match answer {
            Ok(_) => Ok(lines),
            Err(error) => Err(cluster.explain(&error, "read the version", None)),
        }
    }

    #[tokio::test]
    async fn credentials_are_sent_as_kubectl_sends_them() {
        let basic = |text: &str| format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(text));
        let unrun = "exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: /bin/false}";
        for (server, user, sent) in [
            ("ADDRESS", "token: t".to_owned(), "Bearer t".to_owned()),
            ("ADDRESS", "tokenFile: token".to_owned(), "Bearer of-file".to_owned()),
            ("ADDRESS", "token: stale, tokenFile: token".to_owned(), "Bearer of-file".to_owned()),
            ("ADDRESS", "token: stale, tokenFile: none".to_owned(), "Bearer stale".to_owned()),
            ("ADDRESS", "username: u".to_owned(), basic("u:")),
            ("ADDRESS", "username: u, password: p".to_owned(), basic("u:p")),
            ("ADDRESS", format!("token: t, {unrun}"), "Bearer t".to_owned()),
            ("ADDRESS", format!("username: u, {unrun}"), basic("u:")),
            ("us:p%40w@ADDRESS", "token: t".to_owned(), basic("us:p@w")),
            ("us@ADDRESS/prefix", String::new(), basic("us:")),
        ] {
            let lines = received_over_tls(server, &user, 0).await.unwrap();
            assert_eq!(lines, [format!("authorization: {sent}")], "{server} {user}");
        }
        assert_eq!(received_over_tls("ADDRESS", "", 0).await.unwrap(), [""]);
    }

    #[tokio::test]
    async fn a_refused_token_file_is_read_again_once_and_a_refused_token_is_not_sent_again() {
        let lines = received_over_tls("ADDRESS", "tokenFile: token", 1).await.unwrap();
        assert_eq!(lines, ["authorization: Bearer of-file", "authorization: Bearer renewed"]);
        for user in ["tokenFile: token", "token: t"] {
            let error = received_over_tls("ADDRESS", user, 9).await.unwrap_err();
            assert!(matches!(error.reason, Reason::Unauthorized { .. }), "{:?}", error.reason);
        }
    }

    #[tokio::test]
    async fn credentials_that_cannot_be_sent_are_refused_before_connecting() {
        for (server, user, reported) in [
            ("ADDRESS", "token: \"can\\nary\"", "the token cannot be sent"),
            ("ADDRESS", "tokenFile: none", "none: No such file"),
            ("us:canary@", "", "server https:// is not a URL"),
            ("us:canary@a b", "", "server https://a b is not a URL"),
            ("us:can/ary@host", "", "server host is not an http or https URL"),
        ] {
            let error = received_over_tls(server, user, 0).await.unwrap_err();
            let text = format!("{} {}", error.endpoint, error.reason);
            assert!(text.contains(reported) && !text.contains("nary"), "{text}");
        }
    }

    #[test]
    fn servers_without_a_scheme_mean_https_and_other_schemes_are_refused() {
        assert_eq!(server_url("10.0.0.1:6443").unwrap().to_string(), "https://10.0.0.1:6443/");
        for text in ["ftp://x", "https://", "", "a b", "https://host:port", "https://host:99999"] {
            assert!(server_url(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_expired_token_explains_a_refusal() {
        let encode = |text: &str| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text);
        let token = format!("{}.{}.sig", encode("{}"), encode("{\"exp\":1000}"));
        let identity = Identity { certificate: None, token: Some(token.into()) };
        let now = Timestamp::from_second(2000).unwrap();
        assert_eq!(identity.expired(now), Some(Reason::ExpiredToken { at: Timestamp::from_second(1000).unwrap() }));
        assert_eq!(identity.expired(Timestamp::from_second(500).unwrap()), None);
    }
}
