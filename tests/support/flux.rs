//! The real Flux controllers as plain processes against a test control plane, and a Git server for them.
//!
//! They run as cluster admins outside the cluster. There is no cluster network, so artifacts are served on loopback. Of
//! the release manifests only the CRDs are installed, from our own embedded distribution.

mod git_server;
mod ssh_server;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use flux_operator::api::Component;
use flux_operator::distribution::Distribution;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use serde_json::json;

pub use git_server::{GitRepository, GitServer};
pub use ssh_server::{SshKey, SshServer};

use super::control_plane::{ControlPlane, FreePorts};
use super::go_program::{GoProgram, go_is_installed};
use super::server_process::ServerProcess;
use super::{Fallible, eventually};

/// The controllers' own namespace; it exists once they run.
pub const NAMESPACE: &str = "flux-system";

const CONTROLLERS: GoProgram = GoProgram {
    name: "the Flux controllers",
    folder: "tests/programs/flux-controllers",
    inputs: &["go.mod"],
    output: "flux-controllers",
    packages: &[
        "github.com/fluxcd/source-controller",
        "github.com/fluxcd/kustomize-controller",
        "github.com/fluxcd/helm-controller",
        "github.com/fluxcd/notification-controller",
    ],
    programs: &["source-controller", "kustomize-controller", "helm-controller", "notification-controller"],
    optimised: false,
    link_flags: "",
};

/// A controller that tests can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Controller {
    Source,
    Kustomize,
    Helm,
    Notification,
}

impl Controller {
    fn as_str(self) -> &'static str {
        match self {
            Controller::Source => "source-controller",
            Controller::Kustomize => "kustomize-controller",
            Controller::Helm => "helm-controller",
            Controller::Notification => "notification-controller",
        }
    }
}

/// Returns why the Flux controllers cannot be run here, or `None` where they can.
pub fn unavailable_because() -> Option<String> {
    if !CONTROLLERS.is_built() && !go_is_installed() {
        return Some("needs Go to build the Flux controllers".to_owned());
    }
    (!GitServer::can_run()).then(|| "needs git with its http-backend".to_owned())
}

/// How long it takes on two cores, beside other tests, to compile what is not compiled yet.
pub fn time_to_build() -> Duration {
    if CONTROLLERS.is_built() { Duration::ZERO } else { Duration::from_secs(10 * 60) }
}

/// The running controllers; they stop when this is dropped or the process ends.
pub struct FluxControllers {
    running: Mutex<BTreeMap<Controller, (ServerProcess, FreePorts<4>)>>,
    programs: PathBuf,
    kubeconfig: PathBuf,
    folder: PathBuf,
}

impl FluxControllers {
    /// Installs the CRDs, creates the namespace, starts `controllers` and waits until they are ready.
    ///
    /// # Errors
    /// They cannot be built or do not become ready; the error contains their last output.
    pub async fn start(control_plane: &ControlPlane, controllers: &[Controller]) -> Fallible<FluxControllers> {
        let programs = tokio::task::spawn_blocking(|| CONTROLLERS.ensure()).await??;
        install_crds(control_plane.client()).await?;
        make_namespace(control_plane.client()).await?;
        let admin = control_plane.admin("flux-controllers")?;
        let flux = FluxControllers {
            running: Mutex::default(),
            programs,
            kubeconfig: admin.path().to_path_buf(),
            folder: control_plane.folder().to_path_buf(),
        };
        let mut health = Vec::new();
        for controller in controllers {
            health.push((*controller, flux.launch(*controller)?));
        }
        for (controller, port) in health {
            flux.wait_until_ready(controller, port).await?;
        }
        Ok(flux)
    }

    /// Starts one controller (again) and waits until it is ready.
    pub async fn run(&self, controller: Controller) -> Fallible<()> {
        let port = self.launch(controller)?;
        self.wait_until_ready(controller, port).await
    }

    /// Kills one controller.
    pub fn kill(&self, controller: Controller) {
        self.running().remove(&controller);
    }

    /// Address of notification-controller for events, if it runs.
    pub fn events_address(&self) -> Option<String> {
        let running = self.running();
        let (_, free) = running.get(&Controller::Notification)?;
        let [_, _, events, _] = free.ports;
        Some(format!("http://127.0.0.1:{events}/"))
    }

    /// Freezes one controller: it keeps its connections and does nothing.
    pub fn freeze(&self, controller: Controller) {
        if let Some((process, _)) = self.running().get(&controller) {
            process.freeze();
        }
    }

    pub fn thaw(&self, controller: Controller) {
        if let Some((process, _)) = self.running().get(&controller) {
            process.thaw();
        }
    }

    /// Returns the last `count` lines of every controller's log, under its name.
    pub fn last_log_lines(&self, count: usize) -> String {
        let running = self.running();
        let logs = running.values().map(|(p, _)| format!("--- {}\n{}", p.name(), p.last_log_lines(count)));
        logs.collect::<Vec<_>>().join("\n")
    }

    fn running(&self) -> MutexGuard<'_, BTreeMap<Controller, (ServerProcess, FreePorts<4>)>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the port of the health endpoint.
    fn launch(&self, controller: Controller) -> Fallible<u16> {
        let name = controller.as_str();
        let folder = self.folder.join(name);
        let temporary = folder.join("tmp");
        fs::create_dir_all(&temporary)?;
        let free = FreePorts::find()?;
        let [metrics, health, first, second] = free.ports;
        let mut arguments = vec![
            // Outside a cluster a controller cannot determine the namespace of its lease.
            "--enable-leader-election=false".to_owned(),
            format!("--metrics-addr=127.0.0.1:{metrics}"),
            format!("--health-addr=127.0.0.1:{health}"),
            "--log-encoding=json".to_owned(),
        ];
        // No events address: one without a listener stalls every reconcile for seconds.
        arguments.extend(match controller {
            Controller::Source => vec![
                format!("--storage-path={}", folder.join("artifacts").display()),
                format!("--storage-addr=127.0.0.1:{first}"),
                format!("--storage-adv-addr=127.0.0.1:{first}"),
            ],
            Controller::Kustomize | Controller::Helm => vec![
                // The defaults are 30 s and 9 tries: a test would wait for them.
                "--requeue-dependency=1s".to_owned(),
                "--http-retry=1".to_owned(),
            ],
            Controller::Notification => {
                vec![format!("--events-addr=127.0.0.1:{first}"), format!("--receiverAddr=127.0.0.1:{second}")]
            }
        });
        if controller == Controller::Source {
            fs::create_dir_all(folder.join("artifacts"))?;
        }
        let environment = BTreeMap::from([
            ("KUBECONFIG".to_owned(), self.kubeconfig.display().to_string()),
            ("RUNTIME_NAMESPACE".to_owned(), NAMESPACE.to_owned()),
            ("HOME".to_owned(), folder.display().to_string()),
            ("TMPDIR".to_owned(), temporary.display().to_string()),
        ]);
        let program = self.programs.join(name);
        let process = ServerProcess::start(name, &program, &arguments, &environment, &self.folder)?;
        self.running().insert(controller, (process, free));
        Ok(health)
    }

    async fn wait_until_ready(&self, controller: Controller, port: u16) -> Fallible<()> {
        let what = format!("{} to be ready", controller.as_str());
        let ready = eventually(&what, Duration::from_secs(60), || async {
            let alive = self.running().get_mut(&controller).is_some_and(|(process, _)| process.is_running());
            if alive { answers_ok(port).await.then_some(true) } else { Some(false) }
        });
        let failure = match ready.await {
            Ok(true) => return Ok(()),
            Ok(false) => format!("{} ended", controller.as_str()),
            Err(error) => error.to_string(),
        };
        let log = self.running().get(&controller).map(|(p, _)| p.last_log_lines(20)).unwrap_or_default();
        Err(format!("{failure}\n{log}").into())
    }
}

/// Sends `GET /readyz` directly; only the first line of the answer matters.
async fn answers_ok(port: u16) -> bool {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let Ok(mut stream) = tokio::net::TcpStream::connect(("127.0.0.1", port)).await else { return false };
    let request = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let mut answer = String::new();
    stream.write_all(request).await.is_ok()
        && stream.read_to_string(&mut answer).await.is_ok()
        && answer.starts_with("HTTP/1.1 200")
}

/// Installs the CRDs of the newest Flux that the embedded distribution has, and waits until they are served.
pub async fn install_crds(client: &Client) -> Fallible<()> {
    let distribution = Distribution::embedded();
    let newest = distribution.versions().pop().ok_or("the embedded distribution is empty")?;
    let crds = Api::<CustomResourceDefinition>::all(client.clone());
    let apply = PatchParams::apply("test-harness").force();
    let mut names = Vec::new();
    for component in Component::ALL {
        for object in distribution.component(&newest, component)? {
            if object.get("kind").and_then(|kind| kind.as_str()) != Some("CustomResourceDefinition") {
                continue;
            }
            let crd: DynamicObject = serde_json::from_value(object)?;
            let name = crd.metadata.name.clone().ok_or("a CRD without a name")?;
            crds.patch(&name, &apply, &Patch::Apply(&crd)).await?;
            names.push(name);
        }
    }
    eventually("the Flux CRDs to be established", Duration::from_secs(30), || async {
        let all = crds.list(&ListParams::default()).await.ok()?;
        let established = |crd: &CustomResourceDefinition| {
            let conditions = crd.status.iter().flat_map(|s| s.conditions.iter().flatten());
            conditions.into_iter().any(|c| c.type_ == "Established" && c.status == "True")
        };
        let is_there = |name: &String| all.iter().any(|c| c.metadata.name.as_ref() == Some(name) && established(c));
        names.iter().all(is_there).then_some(())
    })
    .await
}

async fn make_namespace(client: &Client) -> Fallible<()> {
    let namespaces = Api::<Namespace>::all(client.clone());
    if namespaces.get_opt(NAMESPACE).await?.is_none() {
        let namespace = serde_json::from_value(json!({ "metadata": { "name": NAMESPACE } }))?;
        namespaces.create(&PostParams::default(), &namespace).await?;
    }
    Ok(())
}
