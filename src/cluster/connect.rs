//! From options to a [`Cluster`]: which server, which credentials, which limits. Nothing is dialled here.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use http::{HeaderValue, Uri, header};
use jiff::Timestamp;
use kube::Client;
use kube::config::{AuthInfo, Cluster as ClusterInfo, Config, ExecAuthCluster, Kubeconfig};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use secrecy::{ExposeSecret, SecretString};
use x509_cert::Certificate;
use x509_cert::der::Decode;

use super::credential_plugin::{self, PluginTerminal, PluginToken};
use super::diagnose;
use super::error::{ClusterError, Endpoint, Reason};
use super::http_client;
use super::kubeconfig::{self, KubeconfigSource, Overrides, Target};
use super::rehearsal::Rehearsal;
use super::retry::{CallPolicy, RequestObserver, RetryObserver, WriteObserver, bounded};
use super::served::Served;
use crate::format::error::innermost;
use crate::format::proxy::{self, ProxyEnvironment};
use crate::k8s::ObjectId;

/// Limit of one API call unless the caller says otherwise.
pub const DEFAULT_REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Where a pod finds its service account.
const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Everything that decides how to reach a cluster. The caller reads the environment; the library does not.
#[derive(Clone)]
pub struct ConnectOptions {
    pub kubeconfig: KubeconfigSource,
    pub overrides: Overrides,
    pub proxy: ProxyEnvironment,
    /// `KUBERNETES_SERVICE_HOST` and `KUBERNETES_SERVICE_PORT`: used when no kubeconfig names a cluster.
    pub in_cluster: Option<InCluster>,
    /// Limit of every API call, its retries included.
    pub request_timeout: Duration,
    pub on_retry: Option<RetryObserver>,
    pub on_write: Option<WriteObserver>,
    /// What is done, for the `User-Agent` of every request: a command without its arguments.
    pub purpose: Option<String>,
    pub plugin_terminal: PluginTerminal,
    /// `PATH`, where credential plugins are looked for; without it as the system looks for them.
    pub search_path: Option<OsString>,
}

/// The API server as a pod sees it.
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
            search_path: None,
        }
    }
}

/// A way to one cluster. Cheap to clone; the connection is made by the first call and kept.
#[derive(Clone)]
pub struct Cluster {
    /// Every call through it is bounded by `request_timeout` and retried a few times within it.
    pub(super) client: Client,
    /// The client and the policy that it was made of.
    unbounded: Client,
    pub(super) policy: CallPolicy,
    pub endpoint: Endpoint,
    /// The context's own namespace, or the pod's.
    pub namespace: Option<String>,
    pub request_timeout: Duration,
    identity: Arc<Identity>,
    pub(super) served: Arc<Served>,
}

/// What explains a 401 afterwards.
#[derive(Default)]
struct Identity {
    /// First certificate of the client's chain, DER.
    certificate: Option<Vec<u8>>,
    token: Option<SecretString>,
}

/// Prepares access to a cluster. Runs the credential plugin if the kubeconfig has one; makes no connection.
///
/// # Errors
/// The kubeconfig, context, certificates or credentials cannot be used.
pub async fn connect(options: ConnectOptions) -> Result<Cluster, ClusterError> {
    let wrong = |endpoint: Endpoint, reason| ClusterError::new("connect to the cluster", endpoint, reason);
    let target = target(&options).map_err(|reason| {
        let context = options.overrides.context.clone();
        wrong(Endpoint { server: options.overrides.server.clone().unwrap_or_default(), context }, reason)
    })?;
    let endpoint =
        Endpoint { server: target.cluster.server.clone().unwrap_or_default(), context: target.context.clone() };
    open(target, &options, &endpoint).await.map_err(|reason| wrong(endpoint, reason))
}

fn target(options: &ConnectOptions) -> Result<Target, Reason> {
    let config: Kubeconfig = kubeconfig::read(&options.kubeconfig)?;
    if let Some(target) = kubeconfig::choose(config, &options.overrides)? {
        return Ok(target);
    }
    let looked_in = match &options.kubeconfig {
        KubeconfigSource::File(path) => vec![path.display().to_string()],
        KubeconfigSource::List(paths) => paths.iter().map(|p| p.display().to_string()).collect(),
    };
    let in_cluster = options.in_cluster.as_ref().ok_or(Reason::NoCluster { looked_in })?;
    pod_target(in_cluster, &options.overrides)
}

/// Source: <https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/>.
fn pod_target(pod: &InCluster, overrides: &Overrides) -> Result<Target, Reason> {
    // An IPv6 address needs brackets in a URL.
    let host = if pod.host.contains(':') { format!("[{}]", pod.host) } else { pod.host.clone() };
    let file = |name: &str| pod.service_account.join(name).to_string_lossy().into_owned();
    let namespace = std::fs::read_to_string(pod.service_account.join("namespace")).ok();
    let mut user = AuthInfo { token_file: Some(file("token")), ..AuthInfo::default() };
    kubeconfig::override_user(&mut user, overrides);
    Ok(Target {
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

async fn open(target: Target, options: &ConnectOptions, endpoint: &Endpoint) -> Result<Cluster, Reason> {
    let Target { context: _, namespace, cluster, mut user } = target;
    let url = server_url(cluster.server.as_deref())?;
    if url.scheme_str() != Some("https") {
        without_credentials(&mut user, &url, options.overrides.token.as_ref())?;
    }
    let token = sign_in(&mut user, &cluster, options).await?;
    let identity = Identity {
        certificate: client_certificate(&user)?,
        token: user.token.clone().filter(|_| user.token_file.is_none()),
    };

    let mut config = Config::new(url.clone());
    config.default_namespace = namespace.clone().unwrap_or_else(|| "default".to_owned());
    config.accept_invalid_certs = cluster.insecure_skip_tls_verify.unwrap_or(false);
    config.disable_compression = cluster.disable_compression.unwrap_or(false);
    config.tls_server_name = cluster.tls_server_name.clone();
    config.root_cert = authorities(&cluster)?;
    config.proxy_url = match cluster.proxy_url.as_deref().or_else(|| options.proxy.proxy_for(&url)) {
        // The URL may hold a password, so it is not repeated.
        Some(proxy) => Some(proxy_uri(proxy).ok_or_else(|| Reason::Config("the proxy URL is not valid".to_owned()))?),
        None => None,
    };
    config.headers.push((header::USER_AGENT, user_agent(options.purpose.as_deref())));
    config.auth_info = user;
    config.default_retry = false;
    // The call's own limit bounds connecting and reading; these two would only add a second, unnamed one.
    config.connect_timeout = None;
    config.read_timeout = None;
    if url.scheme_str() == Some("https") && config.accept_invalid_certs {
        tracing::warn!(server = endpoint.server, "the server's certificate is not verified");
    }

    let client = http_client::client(&config).map_err(|e| Reason::Config(innermost(&e)))?;
    let policy = CallPolicy {
        limit: options.request_timeout,
        observer: options.on_retry.clone(),
        requests: None,
        writes: options.on_write.clone(),
        token,
        lease: None,
        rehearsal: None,
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

/// `flux-operator/0.1.0 (linux/x86_64) get instance`: what an audit log shows.
fn user_agent(purpose: Option<&str>) -> HeaderValue {
    let product =
        format!("flux-operator/{} ({}/{})", env!("CARGO_PKG_VERSION"), std::env::consts::OS, std::env::consts::ARCH);
    let text = purpose.map_or_else(|| product.clone(), |purpose| format!("{product} {purpose}"));
    // Only a purpose of unprintable characters makes this fall back.
    HeaderValue::from_str(&text).unwrap_or_else(|_| HeaderValue::from_static("flux-operator"))
}

/// Credentials would cross the network readable. Like kubectl, those of the kubeconfig stay away from a server without TLS; a
/// token given for this very call goes to this machine only.
fn without_credentials(user: &mut AuthInfo, url: &Uri, token: Option<&SecretString>) -> Result<(), Reason> {
    if token.is_some() && !proxy::is_local(url) {
        return Err(Reason::Config(format!(
            "the token would be sent to {url} without encryption: use an https server"
        )));
    }
    if user.token.is_some() || user.token_file.is_some() || user.exec.is_some() || user.password.is_some() {
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

/// Runs the credential plugin unless other credentials win over it, and puts what it gave in its place.
async fn sign_in(
    user: &mut AuthInfo,
    cluster: &ClusterInfo,
    options: &ConnectOptions,
) -> Result<Option<PluginToken>, Reason> {
    let Some(mut plugin) = user.exec.take() else { return Ok(None) };
    if user.token.is_some() || user.token_file.is_some() || (user.username.is_some() && user.password.is_some()) {
        return Ok(None);
    }
    if plugin.provide_cluster_info {
        let info = ExecAuthCluster::try_from(cluster).map_err(|e| Reason::Config(innermost(&e)))?;
        plugin.cluster = Some(info);
    }
    if let Some(search_path) = &options.search_path {
        credential_plugin::find(&mut plugin, search_path)?;
    }
    let terminal = options.plugin_terminal;
    let credentials = credential_plugin::run(&plugin, terminal).await?;
    if let Some((certificate, key)) = &credentials.certificate {
        let encode = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
        user.client_certificate_data = Some(encode(certificate));
        user.client_key_data = Some(encode(key.expose_secret()).into());
    }
    match credentials.token {
        Some(_) => Ok(Some(PluginToken::new(plugin, terminal, &credentials)?)),
        None => Ok(None),
    }
}

fn server_url(text: Option<&str>) -> Result<Uri, Reason> {
    let text = text.filter(|t| !t.is_empty()).ok_or_else(|| Reason::Config("the cluster has no server".to_owned()))?;
    let with_scheme = if text.contains("://") { text.to_owned() } else { format!("https://{text}") };
    let url: Uri = with_scheme.parse().map_err(|_| Reason::Config(format!("server {text} is not a URL")))?;
    match url.scheme_str() {
        Some("https" | "http") if url.host().is_some() => Ok(url),
        _ => Err(Reason::Config(format!("server {text} is not an http or https URL"))),
    }
}

fn proxy_uri(text: &str) -> Option<Uri> {
    let with_scheme = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    with_scheme.parse().ok()
}

/// The certificates that vouch for the server, DER; None leaves it to the operating system's.
fn authorities(cluster: &ClusterInfo) -> Result<Option<Vec<Vec<u8>>>, Reason> {
    let what = "certificate-authority";
    let pem = load(what, cluster.certificate_authority_data.as_deref(), cluster.certificate_authority.as_deref())?;
    let Some(pem) = pem else { return Ok(None) };
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    match certificates {
        Ok(all) if !all.is_empty() => Ok(Some(all.into_iter().map(|c| c.as_ref().to_vec()).collect())),
        _ => Err(Reason::Config(format!("{what} holds no certificate in PEM"))),
    }
}

fn client_certificate(user: &AuthInfo) -> Result<Option<Vec<u8>>, Reason> {
    let what = "client-certificate";
    let pem = load(what, user.client_certificate_data.as_deref(), user.client_certificate.as_deref())?;
    let Some(pem) = pem else { return Ok(None) };
    let first = CertificateDer::pem_slice_iter(&pem).next();
    match first {
        Some(Ok(certificate)) => Ok(Some(certificate.as_ref().to_vec())),
        _ => Err(Reason::Config(format!("{what} holds no certificate in PEM"))),
    }
}

fn load(what: &str, data: Option<&str>, path: Option<&str>) -> Result<Option<Vec<u8>>, Reason> {
    if let Some(data) = data.filter(|d| !d.is_empty()) {
        let decoded = base64::engine::general_purpose::STANDARD.decode(data.trim());
        return decoded.map(Some).map_err(|_| Reason::Config(format!("{what}-data is not base64")));
    }
    let Some(path) = path.filter(|p| !p.is_empty()) else { return Ok(None) };
    std::fs::read(Path::new(path)).map(Some).map_err(|e| Reason::Config(format!("{what} {path}: {e}")))
}

impl Cluster {
    /// Wraps a client made elsewhere: a test's, or one of another program.
    pub fn of_client(client: Client, endpoint: Endpoint) -> Self {
        Cluster {
            client: client.clone(),
            unbounded: client,
            policy: CallPolicy {
                limit: DEFAULT_REQUEST_TIMEOUT,
                observer: None,
                requests: None,
                writes: None,
                token: None,
                lease: None,
                rehearsal: None,
            },
            endpoint,
            namespace: None,
            request_timeout: DEFAULT_REQUEST_TIMEOUT,
            identity: Arc::default(),
            served: Arc::default(),
        }
    }

    /// The same cluster, whose retries another observer is told.
    #[must_use]
    pub fn observed(&self, observer: RetryObserver) -> Self {
        self.with_policy(CallPolicy { observer: Some(observer), ..self.policy.clone() })
    }

    /// The same cluster, whose every request an observer is told.
    #[must_use]
    pub fn counted(&self, observer: RequestObserver) -> Self {
        self.with_policy(CallPolicy { requests: Some(observer), ..self.policy.clone() })
    }

    /// The same cluster, to which nothing is written: see [`Rehearsal`].
    #[must_use]
    pub fn rehearsed(&self, rehearsal: Arc<Rehearsal>) -> Self {
        self.with_policy(CallPolicy { rehearsal: Some(rehearsal), ..self.policy.clone() })
    }

    pub(super) fn with_policy(&self, policy: CallPolicy) -> Self {
        Cluster { client: bounded(self.unbounded.clone(), policy.clone()), policy, ..self.clone() }
    }

    /// Explains a failure of kube. `attempted` reads after "cannot": `get secret/apps/git-auth`.
    pub(super) fn explain(
        &self,
        error: &kube::Error,
        attempted: impl Into<String>,
        object: Option<ObjectId>,
    ) -> ClusterError {
        let mut error = diagnose::explain(error, attempted, object, &self.endpoint);
        if matches!(error.reason, Reason::Unauthorized { .. } | Reason::ExpiredCertificate { at: None })
            && let Some(reason) = self.identity.expired(Timestamp::now())
        {
            error.reason = reason;
        }
        error
    }
}

impl Identity {
    /// The server only says 401; the credentials themselves often say why.
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

/// The `exp` claim of a JSON web token (RFC 7519), unverified: it only serves to explain a refusal.
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
        assert_eq!(error.reason.to_string(), "no kubeconfig names a cluster (looked in /nowhere/config)");
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
            let done = without_credentials(&mut user, &server.parse().unwrap(), token);
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

    /// What a server on this machine hears of one call.
    async fn heard(options: ConnectOptions, listener: tokio::net::TcpListener) -> String {
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
    async fn a_request_says_who_asks_and_what_for_and_no_secret_without_tls() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = format!("http://{}", listener.local_addr().unwrap());
        let text = PLAIN.replace("http://127.0.0.1:1", &server);
        let (_folder, mut options) = options(&text.replace("users: []", "users: [{name: u, user: {token: canary}}]"));
        options.purpose = Some("get instance".into());
        let request = heard(options, listener).await;
        let agent = format!("user-agent: flux-operator/{} ({}/", env!("CARGO_PKG_VERSION"), std::env::consts::OS);
        assert!(request.contains(&agent) && request.contains(") get instance\r\n"), "{request}");
        assert!(!request.contains("canary"), "{request}");
    }

    #[test]
    fn servers_without_a_scheme_mean_https_and_other_schemes_are_refused() {
        assert_eq!(server_url(Some("10.0.0.1:6443")).unwrap().to_string(), "https://10.0.0.1:6443/");
        for text in ["ftp://x", "https://", "", "a b"] {
            assert!(server_url(Some(text)).is_err(), "{text}");
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
