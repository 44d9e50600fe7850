//! A Kubernetes control plane on loopback: real servers, free ports, and its own temporary folder.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::hash::{BuildHasher, Hasher};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use k8s_openapi::api::core::v1::{Namespace, ResourceQuota, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding};
use kube::api::{Api, PostParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

use super::audit::AuditLog;
use super::certificates::{Authority, TokenKey, Validity};
use super::etcd::{Contents, Etcd};
use super::kubeconfig::{Credentials, Kubeconfig};
use super::kubelet::Kubelet;
use super::programs::{self, Component};
use super::server_process::{OwnedFolder, ServerProcess};
use super::{Error, Fallible, eventually};

/// Also the audience of service account tokens.
const TOKEN_ISSUER: &str = "https://kubernetes.default.svc";

/// Limit for a server to answer; ten times the time measured on two busy cores.
const START_DEADLINE: Duration = Duration::from_secs(60);
const START_TRIES: usize = 4;

/// Error of a server that exited before it answered.
const ENDED_EARLY: &str = "ended before it answered";

/// Parts of a control plane to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The controller manager and the scheduler.
    pub controllers: bool,
    /// The simulated kubelet, with one Node.
    pub kubelet: bool,
    /// The name of cluster, user and context in kubeconfigs.
    pub context: String,
    /// Whether each server may use all processors.
    pub all_processors: bool,
}

impl Default for Options {
    /// Everything, with the context `test`. As many tests run at once, a server gains little from a second processor, and
    /// Go's scheduling for two would take a tenth of its time.
    fn default() -> Options {
        Options { controllers: true, kubelet: true, context: "test".to_owned(), all_processors: false }
    }
}

impl Options {
    /// Everything, on all processors: for measurements, and for people.
    pub fn on_all_processors() -> Options {
        Options { all_processors: true, ..Options::default() }
    }

    /// Returns the environment variables of the servers.
    fn environment(&self) -> BTreeMap<String, String> {
        // Their heaps are small, but garbage collection took a fifth of the tests' time.
        let mut variables = BTreeMap::from([("GOGC".to_owned(), "400".to_owned())]);
        if !self.all_processors {
            variables.insert("GOMAXPROCS".to_owned(), "1".to_owned());
        }
        variables
    }

    /// etcd and the API server only: objects are stored, and no controller acts on them.
    pub fn api_server_only() -> Options {
        Options { controllers: false, kubelet: false, ..Options::default() }
    }
}

pub struct ControlPlane {
    // Fields drop in this order, so that all writers stop before the folder is removed.
    kubelet: Option<Kubelet>,
    audit: AuditLog,
    client: Client,
    servers: Servers,
    options: Options,
    authority: Authority,
    token_key: TokenKey,
    url: String,
    folder: OwnedFolder,
    ports: Ports,
    _free: FreePorts<5>,
    /// [`ControlPlane::empty`] puts this back.
    at_start: Option<AtStart>,
    /// A test has killed or frozen a server.
    servers_were_touched: AtomicBool,
}

/// A control plane as it was when everything had started.
struct AtStart {
    state: SavedState,
    /// Names in its folder.
    files: BTreeSet<OsString>,
}

/// All stored objects at one moment: [`ControlPlane::save`] reads them, [`ControlPlane::put_back`] stores them again.
pub struct SavedState {
    stored: Contents,
    /// The answer of [`ControlPlane::groups`].
    groups: String,
}

/// The running servers, and how to restart each.
struct Servers {
    running: Mutex<BTreeMap<Component, ServerProcess>>,
    arguments: BTreeMap<Component, Vec<String>>,
    environment: BTreeMap<String, String>,
    folder: PathBuf,
}

/// The ports of one control plane.
struct Ports {
    etcd: u16,
    etcd_peer: u16,
    api_server: u16,
    controller_manager: u16,
    scheduler: u16,
}

impl ControlPlane {
    /// Starts everything and waits until it answers.
    ///
    /// # Errors
    /// A program is missing, cannot be built, or does not become ready; the error contains its last output.
    pub async fn start() -> Fallible<ControlPlane> {
        ControlPlane::start_with(Options::default(), |_| ()).await
    }

    /// Starts the parts in `options`; `progress` is called with the name of each part before it starts.
    ///
    /// # Errors
    /// As [`ControlPlane::start`].
    pub async fn start_with(options: Options, progress: impl Fn(&str)) -> Fallible<ControlPlane> {
        // A second installation is refused, which is harmless.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let mut reasons = Vec::new();
        loop {
            let error = match ControlPlane::try_start(options.clone(), &progress).await {
                Ok(control_plane) => return Ok(control_plane),
                Err(error) => error.to_string(),
            };
            // Another program may have taken a port that was free before. A program that cannot be built or found stays
            // missing.
            let may_pass = error.contains(ENDED_EARLY) || error.contains("address already in use");
            reasons.push(format!("start {}: {error}", reasons.len() + 1));
            if !may_pass || reasons.len() == START_TRIES {
                return Err(reasons.join("\n").into());
            }
        }
    }

    async fn try_start(options: Options, progress: &impl Fn(&str)) -> Fallible<ControlPlane> {
        let folder = OwnedFolder::new("flux-operator-control-plane-")?;
        let free = FreePorts::find()?;
        let ports = Ports::of(&free);
        let url = format!("https://127.0.0.1:{}", ports.api_server);
        let authority = Authority::new("test-cluster-authority")?;
        let token_key = TokenKey::new()?;
        let kubeconfig = |user: &str, groups: &[&str]| {
            write_kubeconfig(folder.path(), &authority, &url, &options.context, user, groups, Validity::Current)
        };
        let harness = kubeconfig("test-harness", &["system:masters"])?;
        let controller_manager = kubeconfig("system:kube-controller-manager", &[])?;
        let scheduler = kubeconfig("system:kube-scheduler", &[])?;
        write_server_files(folder.path(), &authority, &token_key)?;

        let servers = Servers {
            running: Mutex::new(BTreeMap::new()),
            arguments: BTreeMap::from([
                (Component::Etcd, etcd_arguments(&ports)),
                (Component::ApiServer, api_server_arguments(&ports)),
                (Component::ControllerManager, controller_manager_arguments(&ports, controller_manager.path())),
                (Component::Scheduler, scheduler_arguments(&ports, scheduler.path())),
            ]),
            environment: options.environment(),
            folder: folder.path().to_path_buf(),
        };
        progress("etcd");
        servers.start(Component::Etcd)?;
        servers.answers(Component::Etcd, ports.etcd).await?;
        progress("kube-apiserver");
        servers.start(Component::ApiServer)?;
        let client = harness.client().await?;
        servers.api_server_is_ready(&client).await?;
        let audit = AuditLog::new(folder.path().join("audit.log"), client.clone());
        // The API server's namespace controller creates these, and all tests rely on them.
        wait_for_namespace(&client, "default").await?;

        if options.controllers {
            progress("kube-controller-manager");
            servers.start(Component::ControllerManager)?;
            progress("kube-scheduler");
            servers.start(Component::Scheduler)?;
        }
        let kubelet = if options.kubelet {
            progress("simulated kubelet");
            let identity = kubeconfig("simulated-kubelet", &["system:masters"])?;
            Some(Kubelet::start(identity.client().await?, &authority).await?)
        } else {
            None
        };
        if options.controllers {
            servers.answers(Component::ControllerManager, ports.controller_manager).await?;
            servers.answers(Component::Scheduler, ports.scheduler).await?;
            wait_for_service_account(&client, "default").await?;
        }
        Ok(ControlPlane {
            kubelet,
            audit,
            client,
            servers,
            options,
            authority,
            token_key,
            url,
            folder,
            ports,
            _free: free,
            at_start: None,
            servers_were_touched: AtomicBool::new(false),
        })
    }

    /// As [`ControlPlane::start`] with `options`, and waits until the servers have stored what they store by themselves:
    /// only then can it be emptied.
    ///
    /// # Errors
    /// As [`ControlPlane::start`].
    pub async fn start_to_be_emptied(options: Options) -> Fallible<ControlPlane> {
        let mut plane = ControlPlane::start_with(options, |_| ()).await?;
        plane.at_start = Some(AtStart { state: plane.save().await?, files: plane.files()? });
        Ok(plane)
    }

    /// Removes everything that was stored, and every file that was written, since the start.
    ///
    /// # Errors
    /// It was not started to be emptied, or a server does not answer.
    pub async fn empty(&mut self) -> Fallible<()> {
        {
            let mut running = self.servers.running();
            // It would go on with what it knows for up to half a minute.
            running.remove(&Component::ControllerManager);
            running.values().for_each(ServerProcess::thaw);
        }
        if let Some(kubelet) = &self.kubelet {
            kubelet.forget_all_rules();
        }
        // Kept only after success: a control plane that could not be emptied cannot be lent again.
        let mut at_start = self.at_start.take().ok_or("this control plane was not started to be emptied")?;
        for name in self.files()?.difference(&at_start.files) {
            let path = self.folder.path().join(name);
            if path.is_dir() { fs::remove_dir_all(&path)? } else { fs::remove_file(&path)? }
        }
        self.put_back(&mut at_start.state).await?;
        self.at_start = Some(at_start);
        if self.options.controllers {
            self.servers.start(Component::ControllerManager)?;
            self.servers.answers(Component::ControllerManager, self.ports.controller_manager).await?;
        }
        Ok(())
    }

    /// Saves all stored objects, as soon as they stop changing.
    ///
    /// # Errors
    /// Objects keep changing, or a server does not answer.
    pub async fn save(&self) -> Fallible<SavedState> {
        Ok(SavedState { stored: self.etcd().settled_contents().await?, groups: self.groups().await? })
    }

    /// Makes the stored objects what they were when `state` was saved, and waits until the API server serves the same
    /// resources. Only `state` of this control plane fits. Changes `state`, because each write has a new revision.
    ///
    /// # Errors
    /// Something still writes objects, or a server does not answer.
    pub async fn put_back(&self, state: &mut SavedState) -> Fallible<()> {
        self.etcd().restore(&mut state.stored).await?;
        eventually("the API server to serve what it served before", Duration::from_secs(20), || async {
            self.groups().await.ok().filter(|now| *now == state.groups).map(drop)
        })
        .await
    }

    /// Stops the servers until [`ControlPlane::empty`]: idle ones would take a fiftieth of a core together.
    pub fn rest(&self) {
        self.servers.running().values().rev().for_each(ServerProcess::freeze);
    }

    /// Whether [`ControlPlane::empty`] makes it as good as a new one.
    pub fn can_be_emptied(&self) -> bool {
        self.at_start.is_some() && !self.servers_were_touched.load(Ordering::Relaxed)
    }

    pub fn options(&self) -> &Options {
        &self.options
    }

    fn etcd(&self) -> Etcd {
        Etcd { port: self.ports.etcd }
    }

    fn files(&self) -> Fallible<BTreeSet<OsString>> {
        fs::read_dir(self.folder.path())?.map(|entry| Ok(entry?.file_name())).collect()
    }

    /// The resources of all API groups that are served, one a line, sorted.
    pub async fn groups(&self) -> Fallible<String> {
        // The usual answer for `/apis` lists no resources: a definition that is not served yet would be missed.
        let request = http::Request::get("/apis")
            .header(http::header::ACCEPT, "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
        let list: Value = self.client.request(request.body(Vec::new())?).await?;
        let parts = |whole: &Value, name: &str| whole[name].as_array().cloned().unwrap_or_default();
        let mut lines = vec![];
        for group in parts(&list, "items") {
            for version in parts(&group, "versions") {
                let resources = parts(&version, "resources").into_iter().map(|one| one["resource"].clone());
                lines
                    .extend(resources.map(|one| format!("{} {} {one}", group["metadata"]["name"], version["version"])));
            }
        }
        lines.sort();
        Ok(lines.join("\n"))
    }

    /// Address of the API server: `https://127.0.0.1:PORT`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The folder of logs, keys and kubeconfigs; removed when this is dropped.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The harness's own admin client. Its requests are those of `test-harness`.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The audit log of the API server.
    pub fn audit(&self) -> &AuditLog {
        &self.audit
    }

    /// The simulated kubelet.
    ///
    /// # Panics
    /// When the control plane was started without one.
    pub fn kubelet(&self) -> &Kubelet {
        self.kubelet.as_ref().expect("this control plane has no kubelet")
    }

    /// Returns a kubeconfig for an admin with this name, whose requests can be counted by name.
    pub fn admin(&self, user: &str) -> Fallible<Kubeconfig> {
        self.kubeconfig(user, &["system:masters"], Validity::Current)
    }

    /// Returns a kubeconfig for a user with only the rights of every authenticated user.
    pub fn user_without_rights(&self, user: &str) -> Fallible<Kubeconfig> {
        self.kubeconfig(user, &[], Validity::Current)
    }

    /// Creates a role with `rules`, binds it to `user` (in `namespace`, or cluster-wide) and returns a kubeconfig for
    /// the user.
    pub async fn user(&self, user: &str, namespace: Option<&str>, rules: &[PolicyRule]) -> Fallible<Kubeconfig> {
        let kubeconfig = self.user_without_rights(user)?;
        let subject = json!([{ "kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io" }]);
        let metadata = json!({ "name": user, "namespace": namespace });
        let reference = |kind: &str| json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": user });
        let params = PostParams::default();
        if let Some(namespace) = namespace {
            let role = json!({ "metadata": metadata, "rules": rules });
            let binding = json!({ "metadata": metadata, "subjects": subject, "roleRef": reference("Role") });
            let (client, typed) = (self.client.clone(), serde_json::from_value(role)?);
            Api::<Role>::namespaced(client.clone(), namespace).create(&params, &typed).await?;
            let typed = serde_json::from_value(binding)?;
            Api::<RoleBinding>::namespaced(client, namespace).create(&params, &typed).await?;
        } else {
            let role = json!({ "metadata": { "name": user }, "rules": rules });
            let binding =
                json!({ "metadata": { "name": user }, "subjects": subject, "roleRef": reference("ClusterRole") });
            let typed = serde_json::from_value(role)?;
            Api::<ClusterRole>::all(self.client.clone()).create(&params, &typed).await?;
            let typed = serde_json::from_value(binding)?;
            Api::<ClusterRoleBinding>::all(self.client.clone()).create(&params, &typed).await?;
        }
        self.wait_for_rights(user, namespace, rules).await?;
        Ok(kubeconfig)
    }

    /// Returns a kubeconfig with a client certificate that expired in 2021: the API server answers 401.
    pub fn expired_certificate(&self) -> Fallible<Kubeconfig> {
        self.kubeconfig("expired-certificate", &["system:masters"], Validity::Expired)
    }

    /// Returns a kubeconfig with a correctly signed token that expired an hour ago: the API server answers 401.
    pub fn expired_token(&self) -> Fallible<Kubeconfig> {
        self.token("expired-token", &self.token_key.expired_token(TOKEN_ISSUER)?)
    }

    /// Returns a kubeconfig that sends `token`; `name` names its file.
    pub fn token(&self, name: &str, token: &str) -> Fallible<Kubeconfig> {
        let credentials = Credentials::Token(token.to_owned());
        let authority = self.authority.certificate();
        Kubeconfig::write(self.folder(), name, &self.url, authority, &self.options.context, credentials)
    }

    /// Creates a namespace with a unique name and waits until pods can be created in it.
    pub async fn namespace(&self, prefix: &str) -> Fallible<String> {
        let namespace: Namespace =
            serde_json::from_value(json!({ "metadata": { "generateName": format!("{prefix}-") } }))?;
        let created = Api::<Namespace>::all(self.client.clone()).create(&PostParams::default(), &namespace).await?;
        if self.options.controllers {
            wait_for_service_account(&self.client, &created.name_any()).await?;
        }
        Ok(created.name_any())
    }

    /// The process ids of the running servers.
    pub fn pids(&self) -> Vec<u32> {
        self.servers.running().values().map(ServerProcess::pid).collect()
    }

    /// Kills one server; the others keep running.
    pub fn kill(&self, component: Component) {
        self.servers_were_touched.store(true, Ordering::Relaxed);
        self.servers.running().remove(&component);
    }

    /// Restarts a killed server on the same port with the same data, and waits until it answers.
    pub async fn restart(&self, component: Component) -> Fallible<()> {
        self.servers.start(component)?;
        match component {
            Component::ApiServer => self.servers.api_server_is_ready(&self.client).await,
            _ => Ok(()),
        }
    }

    /// Freezes one server: connections stay open, but it does not answer.
    pub fn freeze(&self, component: Component) {
        self.servers_were_touched.store(true, Ordering::Relaxed);
        if let Some(server) = self.servers.running().get(&component) {
            server.freeze();
        }
    }

    pub fn thaw(&self, component: Component) {
        if let Some(server) = self.servers.running().get(&component) {
            server.thaw();
        }
    }

    /// Returns the last `count` lines of every server's log, under its name.
    pub fn last_log_lines(&self, count: usize) -> String {
        self.servers.last_log_lines(count)
    }

    fn kubeconfig(&self, user: &str, groups: &[&str], validity: Validity) -> Fallible<Kubeconfig> {
        write_kubeconfig(self.folder(), &self.authority, &self.url, &self.options.context, user, groups, validity)
    }

    /// The API server's authorizer learns about a new role only a moment after its creation.
    async fn wait_for_rights(&self, user: &str, namespace: Option<&str>, rules: &[PolicyRule]) -> Fallible<()> {
        let Some(rule) = rules.iter().rfind(|rule| rule.resources.is_some()) else { return Ok(()) };
        let first = |texts: &Option<Vec<String>>| texts.iter().flatten().next().cloned().unwrap_or_default();
        let resource = first(&rule.resources);
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource.as_str(), ""));
        let review: SubjectAccessReview = serde_json::from_value(json!({ "metadata": {}, "spec": {
            "user": user,
            "resourceAttributes": {
                "group": first(&rule.api_groups), "resource": resource, "subresource": subresource,
                "verb": rule.verbs.first(), "namespace": namespace, "name": first(&rule.resource_names),
            },
        }}))?;
        let reviews = Api::<SubjectAccessReview>::all(self.client.clone());
        eventually(&format!("the rights of {user}"), Duration::from_secs(10), || async {
            let answer = reviews.create(&PostParams::default(), &review).await.ok()?;
            answer.status.filter(|status| status.allowed).map(|_| ())
        })
        .await
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.last_log_lines(15));
        }
        // An API server without etcd never finishes a graceful stop, so kill it first.
        for component in Component::ALL.into_iter().rev() {
            self.servers.running().remove(&component);
        }
    }
}

impl Servers {
    fn running(&self) -> MutexGuard<'_, BTreeMap<Component, ServerProcess>> {
        // The map is intact even if a test panicked while it held the lock.
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(&self, component: Component) -> Fallible<()> {
        let program = programs::find(component)?;
        let mut arguments: Vec<String> = program.first_argument.into_iter().map(str::to_owned).collect();
        arguments.extend(self.arguments.get(&component).into_iter().flatten().cloned());
        let server =
            ServerProcess::start(component.as_str(), &program.file, &arguments, &self.environment, &self.folder)?;
        self.running().insert(component, server);
        Ok(())
    }

    /// Waits until something accepts connections on `port`.
    async fn answers(&self, component: Component, port: u16) -> Fallible<()> {
        self.ready(
            component,
            || async move { tokio::net::TcpStream::connect(("127.0.0.1", port)).await.ok().map(|_| ()) },
        )
        .await
    }

    async fn api_server_is_ready(&self, client: &Client) -> Fallible<()> {
        self.ready(Component::ApiServer, || async {
            let request = http::Request::get("/readyz").body(Vec::new()).ok()?;
            client.request_text(request).await.ok().filter(|text| text == "ok").map(|_| ())
        })
        .await
    }

    /// Waits for `probe`, and gives up early when the server has ended.
    async fn ready<F, Fut>(&self, component: Component, mut probe: F) -> Fallible<()>
    where
        F: FnMut() -> Fut,
        Fut: Future<Output = Option<()>>,
    {
        let what = format!("{} to answer", component.as_str());
        let outcome = eventually(&what, START_DEADLINE, || {
            let answer = probe();
            async {
                let alive = self.running().get_mut(&component).is_some_and(ServerProcess::is_running);
                if alive { answer.await.map(|()| true) } else { Some(false) }
            }
        })
        .await;
        match outcome {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.failure(component, format!("{} {ENDED_EARLY}", component.as_str()).into())),
            Err(error) => Err(self.failure(component, error)),
        }
    }

    fn failure(&self, component: Component, error: Error) -> Error {
        let lines = self.running().get(&component).map(|s| s.last_log_lines(30)).unwrap_or_default();
        format!("{error}\n{lines}").into()
    }

    fn last_log_lines(&self, count: usize) -> String {
        let running = self.running();
        let logs = running.values().map(|s| format!("--- {}\n{}", s.name(), s.last_log_lines(count)));
        logs.collect::<Vec<_>>().join("\n")
    }
}

impl Ports {
    fn of(free: &FreePorts<5>) -> Ports {
        let [etcd, etcd_peer, api_server, controller_manager, scheduler] = free.ports;
        Ports { etcd, etcd_peer, api_server, controller_manager, scheduler }
    }
}

/// Ports of 127.0.0.1 for servers, below the kernel's range for outgoing connections, so that no connection takes a
/// port before its server does.
///
/// No two instances share a port, even in different processes: each listens on the first port of a block and hands out
/// the other ports of that block, also while a server is down. A server that found another's etcd would work on the
/// wrong data.
pub struct FreePorts<const N: usize> {
    pub ports: [u16; N],
    _block: TcpListener,
}

impl<const N: usize> FreePorts<N> {
    const BLOCK: u16 = 16;

    /// # Errors
    /// No block is free.
    pub fn find() -> Fallible<Self> {
        let random = std::collections::hash_map::RandomState::new().build_hasher().finish();
        let first = u16::try_from(random % 1_200)?;
        // 1,200 blocks from port 12,000 on.
        for block in (0..1_200).map(|step| 12_000 + (first + step) % 1_200 * Self::BLOCK) {
            let Ok(listener) = TcpListener::bind(("127.0.0.1", block)) else { continue };
            let mut free =
                (block + 1..block + Self::BLOCK).filter(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok());
            let ports: Vec<u16> = free.by_ref().take(N).collect();
            if let Ok(ports) = <[u16; N]>::try_from(ports) {
                return Ok(FreePorts { ports, _block: listener });
            }
        }
        Err("no free ports on 127.0.0.1".into())
    }
}

/// Returns a rule for [`ControlPlane::user`]: `verbs` on `resources` of one API group (`""` is the core group).
pub fn allow(verbs: &[&str], group: &str, resources: &[&str]) -> PolicyRule {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    PolicyRule {
        api_groups: Some(vec![group.to_owned()]),
        resources: Some(owned(resources)),
        verbs: owned(verbs),
        ..PolicyRule::default()
    }
}

fn write_kubeconfig(
    folder: &Path,
    authority: &Authority,
    url: &str,
    context: &str,
    user: &str,
    groups: &[&str],
    validity: Validity,
) -> Fallible<Kubeconfig> {
    let credentials = Credentials::Certificate(authority.client(user, groups, validity)?);
    Kubeconfig::write(folder, user, url, authority.certificate(), context, credentials)
}

fn write_server_files(folder: &Path, authority: &Authority, token_key: &TokenKey) -> Fallible<()> {
    let names = ["127.0.0.1", "localhost", "kubernetes", "kubernetes.default.svc", "10.96.0.1"];
    let serving = authority.server(&names)?;
    fs::write(folder.join("authority.crt"), authority.certificate())?;
    fs::write(folder.join("serving.crt"), serving.certificate)?;
    fs::write(folder.join("serving.key"), serving.key)?;
    fs::write(folder.join("tokens.key"), token_key.private_key())?;
    fs::write(folder.join("tokens.pub"), token_key.public_key())?;
    fs::write(folder.join("audit-policy.json"), super::audit::POLICY)?;
    Ok(())
}

// The servers run in the control plane's folder, so file names are enough.

fn etcd_arguments(ports: &Ports) -> Vec<String> {
    let client = format!("http://127.0.0.1:{}", ports.etcd);
    let peer = format!("http://127.0.0.1:{}", ports.etcd_peer);
    vec![
        "--data-dir=etcd".to_owned(),
        "--name=test".to_owned(),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=test={peer}"),
        // The data need not survive a power failure.
        "--unsafe-no-fsync".to_owned(),
        "--log-level=error".to_owned(),
    ]
}

fn api_server_arguments(ports: &Ports) -> Vec<String> {
    vec![
        format!("--etcd-servers=http://127.0.0.1:{}", ports.etcd),
        format!("--secure-port={}", ports.api_server),
        "--bind-address=127.0.0.1".to_owned(),
        "--cert-dir=api-server".to_owned(),
        "--tls-cert-file=serving.crt".to_owned(),
        "--tls-private-key-file=serving.key".to_owned(),
        "--client-ca-file=authority.crt".to_owned(),
        format!("--service-account-issuer={TOKEN_ISSUER}"),
        "--service-account-key-file=tokens.pub".to_owned(),
        "--service-account-signing-key-file=tokens.key".to_owned(),
        "--authorization-mode=Node,RBAC".to_owned(),
        "--service-cluster-ip-range=10.96.0.0/16".to_owned(),
        "--allow-privileged=true".to_owned(),
        // With 127.0.0.1 as the advertised address the default reconciler logs an error every 10 s.
        "--endpoint-reconciler-type=none".to_owned(),
        "--audit-policy-file=audit-policy.json".to_owned(),
        "--audit-log-path=audit.log".to_owned(),
        "--profiling=false".to_owned(),
    ]
}

fn controller_manager_arguments(ports: &Ports, kubeconfig: &Path) -> Vec<String> {
    vec![
        format!("--kubeconfig={}", kubeconfig.display()),
        format!("--secure-port={}", ports.controller_manager),
        "--bind-address=127.0.0.1".to_owned(),
        "--tls-cert-file=serving.crt".to_owned(),
        "--tls-private-key-file=serving.key".to_owned(),
        "--service-account-private-key-file=tokens.key".to_owned(),
        "--root-ca-file=authority.crt".to_owned(),
        "--use-service-account-credentials=true".to_owned(),
        "--leader-elect=false".to_owned(),
        // The simulated kubelet sends no heartbeats, and freezing it must not evict its pods.
        "--controllers=*,-node-lifecycle-controller".to_owned(),
        "--kube-api-qps=500".to_owned(),
        "--kube-api-burst=1000".to_owned(),
        "--profiling=false".to_owned(),
    ]
}

fn scheduler_arguments(ports: &Ports, kubeconfig: &Path) -> Vec<String> {
    vec![
        format!("--kubeconfig={}", kubeconfig.display()),
        format!("--secure-port={}", ports.scheduler),
        "--bind-address=127.0.0.1".to_owned(),
        "--tls-cert-file=serving.crt".to_owned(),
        "--tls-private-key-file=serving.key".to_owned(),
        "--leader-elect=false".to_owned(),
        "--profiling=false".to_owned(),
    ]
}

async fn wait_for_namespace(client: &Client, name: &str) -> Fallible<()> {
    let namespaces = Api::<Namespace>::all(client.clone());
    eventually(&format!("namespace/{name}"), START_DEADLINE, || async {
        namespaces.get_opt(name).await.ok().flatten().map(|_| ())
    })
    .await
}

/// Waits until a ResourceQuota is observed: until then, the API server admits everything.
///
/// # Errors
/// It does not exist, or the controller manager does not act on it in time.
pub async fn wait_for_quota(client: &Client, namespace: &str, name: &str) -> Fallible<()> {
    let quotas = Api::<ResourceQuota>::namespaced(client.clone(), namespace);
    eventually(&format!("resourcequota/{namespace}/{name} to be observed"), START_DEADLINE, || async {
        quotas.get(name).await.ok()?.status?.hard.map(drop)
    })
    .await
}

/// Pods are refused until the controller manager has created the `default` service account of the namespace.
async fn wait_for_service_account(client: &Client, namespace: &str) -> Fallible<()> {
    let accounts = Api::<ServiceAccount>::namespaced(client.clone(), namespace);
    eventually(&format!("serviceaccount/{namespace}/default"), START_DEADLINE, || async {
        accounts.get_opt("default").await.ok().flatten().map(|_| ())
    })
    .await
}
