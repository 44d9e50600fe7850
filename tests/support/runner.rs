//! `libtest-mimic` around tests that need a cluster: `cargo test` with its filters and lists, and an honest
//! answer where no cluster can be started.

use std::any::Any;
use std::env;
use std::future::Future;
use std::ops::Deref;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::pin::Pin;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use kube::Client;
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use tokio::runtime::{Handle, Runtime};
use tokio::sync::OnceCell;

use super::audit::{Mark, Requests};
use super::control_plane::{ControlPlane, Options};
use super::kubeconfig::Kubeconfig;
use super::programs;
use super::proxy::FaultProxy;

/// A test that takes longer has hung.
const TEST_DEADLINE: Duration = Duration::from_secs(180);

/// Tests at once, unless `--test-threads` says otherwise: they mostly wait, but the servers they wait for work.
const TEST_THREADS: usize = 3;

type TestFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// One test; made by [`cluster_tests!`](crate::cluster_tests).
#[derive(Clone, Copy)]
pub struct ClusterTest {
    /// `area::a_sentence_about_behaviour`
    pub name: &'static str,
    pub run: fn(TestCluster) -> TestFuture,
}

/// Lists async test functions of the module as [`ClusterTest`]s, named as `cargo test` would name them.
#[macro_export]
macro_rules! cluster_tests {
    ($($test:ident),* $(,)?) => {
        vec![$($crate::support::runner::ClusterTest {
            name: concat!(module_path!(), "::", stringify!($test)),
            run: |cluster| Box::pin($test(cluster)),
        }),*]
    };
}

/// What a test gets: the binary's shared control plane, and in it a namespace and an admin of its own.
pub struct TestCluster {
    shared: Arc<ControlPlane>,
    namespace: String,
    admin: Kubeconfig,
    client: Client,
}

impl TestCluster {
    async fn new(shared: Arc<ControlPlane>, test: &str) -> super::Fallible<TestCluster> {
        let words: String = test.rsplit("::").next().unwrap_or(test).replace('_', "-").chars().take(30).collect();
        let namespace = shared.namespace(words.trim_matches('-')).await?;
        let admin = shared.admin(&format!("admin-{namespace}"))?.with_namespace(&namespace)?;
        let client = admin.client().await?;
        Ok(TestCluster { shared, namespace, admin, client })
    }

    /// The test's own namespace; also the one of its kubeconfig's context.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// A client as the test's own admin.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// The kubeconfig of the test's own admin.
    pub fn kubeconfig(&self) -> &Kubeconfig {
        &self.admin
    }

    /// The user name of the test's own admin, as the audit log has it.
    pub fn admin_name(&self) -> String {
        format!("admin-{}", self.namespace)
    }

    /// Starts counting requests.
    pub async fn mark(&self) -> Mark {
        self.shared.audit().mark().await.expect("the audit log can be read")
    }

    /// Returns the requests of the test's own admin since `mark`.
    pub async fn requests_since(&self, mark: Mark) -> Requests {
        self.shared.audit().since(mark).await.expect("the audit log can be read").by_user(&self.admin_name())
    }

    /// Starts a control plane for this test alone.
    pub async fn fresh(&self, options: Options) -> ControlPlane {
        ControlPlane::start_with(options, |_| ()).await.expect("a fresh control plane starts")
    }

    /// Starts a proxy in front of the API server, for the test's own admin.
    pub async fn proxy(&self) -> FaultProxy {
        FaultProxy::start(&self.admin, self.shared.folder()).await.expect("the proxy starts")
    }

    /// Returns the built `flux-operator` against this cluster and namespace.
    pub fn command(&self) -> Command {
        command(self.admin.path(), self.shared.folder())
    }
}

impl Deref for TestCluster {
    type Target = ControlPlane;

    fn deref(&self) -> &ControlPlane {
        &self.shared
    }
}

/// Returns the built `flux-operator` with nothing of the caller's environment but `PATH`.
pub fn command(kubeconfig: &Path, home: &Path) -> Command {
    let binary = option_env!("CARGO_BIN_EXE_flux-operator").expect("only integration tests know where the binary is");
    let mut command = Command::new(binary);
    command
        .env_clear()
        .env("PATH", env::var_os("PATH").unwrap_or_default())
        .env("HOME", home)
        .env("KUBECONFIG", kubeconfig)
        .env("TZ", "UTC")
        .env("COLUMNS", "200")
        .env("NO_COLOR", "1");
    command
}

/// Runs `tests` against one shared control plane, which starts with the first of them.
///
/// Where no control plane can be started the tests are ignored, with the reason; under `CI=true` they fail.
pub fn run_tests(tests: Vec<ClusterTest>) -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(TEST_THREADS);
    let reason = if arguments.list { None } else { programs::unavailable_because() };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a tokio runtime starts");
    let shared = Arc::new(Shared::default());

    let trials = tests.into_iter().map(|test| trial(test, reason.clone(), runtime.handle().clone(), shared.clone()));
    let conclusion = libtest_mimic::run(&arguments, trials.collect());
    if let Some(reason) = &reason
        && conclusion.num_ignored > 0
    {
        eprintln!("ignored: {reason}");
    }
    runtime.block_on(async { drop(shared) });
    stop(runtime);
    conclusion.exit_code()
}

/// The control plane of this binary, or why it did not start.
#[derive(Default)]
struct Shared {
    control_plane: OnceCell<Result<Arc<ControlPlane>, String>>,
}

impl Shared {
    async fn control_plane(&self) -> Result<Arc<ControlPlane>, String> {
        let start = || async { ControlPlane::start().await.map(Arc::new).map_err(|error| error.to_string()) };
        self.control_plane.get_or_init(start).await.clone()
    }
}

fn trial(test: ClusterTest, reason: Option<String>, runtime: Handle, shared: Arc<Shared>) -> Trial {
    // `cluster::secrets::name` reads `secrets::name`, as in the list of a standard test binary.
    let name = test.name.split_once("::").map_or(test.name, |(_, rest)| rest);
    Trial::ignorable_test(name, move || match reason {
        Some(reason) if env::var("CI").is_ok_and(|value| value == "true") => {
            Err(format!("CI=true, but the test cannot run: it {reason}").into())
        }
        Some(reason) => Ok(Completion::ignored_with(reason)),
        None => runtime.block_on(run_one(test, name, &shared)).map(|()| Completion::Completed),
    })
}

async fn run_one(test: ClusterTest, name: &str, shared: &Shared) -> Result<(), Failed> {
    let control_plane = shared.control_plane().await?;
    let cluster = TestCluster::new(control_plane.clone(), name).await.map_err(|error| error.to_string())?;
    let namespace = cluster.namespace.clone();
    let body = AssertUnwindSafe((test.run)(cluster)).catch_unwind();
    let failure = match tokio::time::timeout(TEST_DEADLINE, body).await {
        Ok(Ok(())) => None,
        Ok(Err(panic)) => Some(panic_text(panic.as_ref())),
        Err(_) => Some(format!("the test hung: no end after {TEST_DEADLINE:?}")),
    };
    if let Some(kubelet) = control_plane.kubelet_if_any() {
        kubelet.forget_rules(&namespace);
    }
    match failure {
        None => Ok(()),
        Some(text) => Err(format!("{text}\n\nnamespace {namespace}\n{}", control_plane.last_log_lines(12)).into()),
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("the test panicked").to_owned()
}

/// Tasks of a control plane that was dropped may still be closing connections; nobody waits for those.
fn stop(runtime: Runtime) {
    runtime.shutdown_timeout(Duration::from_secs(2));
}
