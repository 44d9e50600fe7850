//! `libtest-mimic` around tests that need a cluster: `cargo test` with its filters and lists, and an honest
//! answer where no cluster can be started.

use std::any::Any;
use std::cmp::Reverse;
use std::env;
use std::future::Future;
use std::ops::Deref;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::{Command, ExitCode};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use flux_operator::api::well_known::{KUSTOMIZE_SSA_ANNOTATION, PART_OF_LABEL};
use futures::FutureExt;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams};
use kube::{Client, ResourceExt};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::{OnceCell, Semaphore};

use super::audit::{Mark, Requests};
use super::control_plane::{ControlPlane, Options};
use super::flux::{self, Controller, FluxControllers};
use super::kubeconfig::Kubeconfig;
use super::lending::{LentControlPlane, SpareControlPlanes};
use super::objects;
use super::programs;
use super::proxy::FaultProxy;
use super::slow_tests::{SlowTests, note_duration};

/// A test that takes longer has hung: the longest, which run side by side, take nine minutes on a busy machine.
const TEST_DEADLINE: Duration = Duration::from_secs(1200);

/// Whether tests that usually take a sample of all requests are to take each of them: an hour and more.
pub fn tries_every_request() -> bool {
    std::env::var_os("EVERY_REQUEST").is_some()
}

/// Whether what takes `needed` would end after the time in the environment variable `TESTS_UNTIL`, in seconds since 1970:
/// then it does not begin. CI bounds its time with it; without the variable everything runs.
fn would_end_too_late(needed: Duration) -> bool {
    let Some(until) = seconds_from("TESTS_UNTIL") else { return false };
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("the clock is past 1970") + needed > until
}

/// The time in which a test may begin trials of the fault matrix. It begins when this is made and lasts the seconds in the
/// environment variable `TRIAL_SECONDS`; without the variable it lasts for ever. CI gives the matrix a share of its time.
pub struct TimeForTrials {
    began: Instant,
    lasts: Option<Duration>,
}

impl TimeForTrials {
    pub fn from_now() -> TimeForTrials {
        TimeForTrials { began: Instant::now(), lasts: seconds_from("TRIAL_SECONDS") }
    }

    pub fn is_over(&self) -> bool {
        would_end_too_late(Duration::ZERO) || self.lasts.is_some_and(|lasts| self.began.elapsed() > lasts)
    }
}

/// # Panics
/// The environment variable is set, but not to a number.
fn seconds_from(variable: &str) -> Option<Duration> {
    let value = env::var(variable).ok()?;
    let seconds = value.parse().unwrap_or_else(|_| panic!("{variable} is a number of seconds, not {value:?}"));
    Some(Duration::from_secs(seconds))
}

/// Tests at once, unless `--test-threads` says otherwise: they mostly wait, but the servers they wait for work.
const TEST_THREADS: usize = 6;
/// Control planes of tests that install an instance, at most: as many of those tests run at once.
const INSTALLERS: usize = 3;

type TestFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A test; made by [`cluster_tests!`](crate::cluster_tests).
#[derive(Clone, Copy)]
pub struct ClusterTest {
    /// `area::a_sentence_about_behaviour`
    pub name: &'static str,
    pub run: fn(TestCluster) -> TestFuture,
    /// Why this test cannot run here though others of its binary can, or `None`; see [`ClusterTest::where_possible`].
    pub unavailable_because: fn() -> Option<String>,
    /// It installs an instance; see [`ClusterTest::that_installs`].
    pub installs: bool,
}

impl ClusterTest {
    /// The same test, on a control plane that no other test uses at the same time, and only those that install an instance.
    ///
    /// A cluster has one instance: a second one is refused, or takes the definitions of the first.
    pub fn that_installs(self) -> ClusterTest {
        ClusterTest { installs: true, ..self }
    }

    /// The test binary, the first module of the name: `control_plane` of `control_plane::cluster::secrets::name`.
    fn binary(&self) -> &'static str {
        self.name.split_once("::").map_or(self.name, |(binary, _)| binary)
    }

    /// The name without the binary, as in the list of a standard test binary.
    fn short_name(&self) -> &'static str {
        self.name.split_once("::").map_or(self.name, |(_, rest)| rest)
    }

    /// The same test, ignored (under `CI=true`: failed) where something that only it needs is missing.
    pub fn where_possible(self, unavailable_because: fn() -> Option<String>) -> ClusterTest {
        ClusterTest { unavailable_because, ..self }
    }
}

/// Lists async test functions of the module as [`ClusterTest`]s, named as `cargo test` would name them.
#[macro_export]
macro_rules! cluster_tests {
    ($($test:ident),* $(,)?) => {
        vec![$($crate::runner::ClusterTest {
            name: concat!(module_path!(), "::", stringify!($test)),
            run: |cluster| Box::pin($test(cluster)),
            unavailable_because: || None,
            installs: false,
        }),*]
    };
}

/// Shared by all tests of a binary. The controllers are dropped first, while the API server still answers them.
struct Environment {
    flux: Option<FluxControllers>,
    control_plane: ControlPlane,
    spare: Arc<SpareControlPlanes>,
}

impl Environment {
    /// Removes the instances that earlier tests left, their controllers, which `why` would read as well, and their marks on
    /// definitions. The other objects that they installed have no owner then.
    async fn remove_installations(&self) -> super::Fallible<()> {
        let instances = ApiResource::from_gvk(&GroupVersionKind::gvk("fluxcd.controlplane.io", "v1", "FluxInstance"));
        let client = self.control_plane.client();
        let left = match Api::<DynamicObject>::all_with(client.clone(), &instances).list(&ListParams::default()).await {
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
            list => list?,
        };
        for instance in left {
            let namespace = instance.namespace().unwrap_or_default();
            let api = Api::<DynamicObject>::namespaced_with(client.clone(), &namespace, &instances);
            let without_finalizers = Patch::Merge(json!({"metadata": {"finalizers": null}}));
            api.patch(&instance.name_any(), &PatchParams::default(), &without_finalizers).await?;
            // An instance that was being deleted disappears with its last finalizer.
            match api.delete(&instance.name_any(), &DeleteParams::default()).await {
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                deleted => _ = deleted?,
            }
        }
        let of_flux = ListParams::default().labels(&format!("{PART_OF_LABEL}=flux"));
        for controller in Api::<Deployment>::all(client.clone()).list(&of_flux).await? {
            let api = Api::<Deployment>::namespaced(client.clone(), &controller.namespace().unwrap_or_default());
            api.delete(&controller.name_any(), &DeleteParams::background()).await?;
        }
        // kustomize-controller leaves definitions alone that an instance has marked.
        let definitions = Api::<CustomResourceDefinition>::all(client.clone());
        for definition in definitions.list(&of_flux).await? {
            if definition.annotations().contains_key(KUSTOMIZE_SSA_ANNOTATION) {
                let unmarked = Patch::Merge(json!({"metadata": {"annotations": {KUSTOMIZE_SSA_ANNOTATION: null}}}));
                definitions.patch(&definition.name_any(), &PatchParams::default(), &unmarked).await?;
            }
        }
        Ok(())
    }
}

/// The environment of a test: the binary's shared control plane, with its own namespace and admin.
pub struct TestCluster {
    shared: Arc<Environment>,
    namespace: String,
    admin: Kubeconfig,
    client: Client,
}

impl TestCluster {
    async fn new(shared: Arc<Environment>, test: &str) -> super::Fallible<TestCluster> {
        let words: String = test.rsplit("::").next().unwrap_or(test).replace('_', "-").chars().take(30).collect();
        let control_plane = &shared.control_plane;
        let namespace = control_plane.namespace(words.trim_matches('-')).await?;
        let admin = control_plane.admin(&format!("admin-{namespace}"))?.with_namespace(&namespace)?;
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

    /// Applies objects of any kind, as the harness; those without a namespace go to the test's own.
    pub async fn apply(&self, objects: &[Value]) -> Vec<DynamicObject> {
        let harness = self.shared.control_plane.client();
        objects::apply(harness, &self.namespace, objects).await.expect("the objects are accepted")
    }

    /// Starts counting requests.
    pub async fn mark(&self) -> Mark {
        self.audit().mark().await.expect("the audit log can be read")
    }

    /// Returns the requests of the test's own admin since `mark`.
    pub async fn requests_since(&self, mark: Mark) -> Requests {
        self.audit().since(mark).await.expect("the audit log can be read").by_user(&self.admin_name())
    }

    /// A control plane for this test alone, with nothing in it but what the servers store by themselves.
    pub async fn fresh(&self, options: Options) -> LentControlPlane {
        self.shared.spare.lend(&options).await.expect("a fresh control plane starts")
    }

    /// Starts a proxy in front of the API server, for the test's own admin.
    pub async fn proxy(&self) -> FaultProxy {
        FaultProxy::start(&self.admin, self.folder()).await.expect("the proxy starts")
    }

    /// The real Flux controllers.
    ///
    /// # Panics
    /// In a binary that does not run them.
    pub fn flux(&self) -> &FluxControllers {
        self.shared.flux.as_ref().expect("this test binary runs no Flux controllers; see run_flux_tests")
    }

    /// Returns the built `flux-operator` against this cluster and namespace.
    pub fn command(&self) -> Command {
        command(self.admin.path(), self.folder())
    }
}

impl Deref for TestCluster {
    type Target = ControlPlane;

    fn deref(&self) -> &ControlPlane {
        &self.shared.control_plane
    }
}

/// Returns the path of the built `flux-operator`: beside this program, or one folder up for a test program in `deps`.
fn program() -> PathBuf {
    let this = env::current_exe().expect("the path of this program is known");
    let folder = this.parent().expect("a program is in a folder");
    let folder = if folder.ends_with("deps") { folder.parent().expect("deps is in a folder") } else { folder };
    folder.join("flux-operator")
}

/// Returns the built `flux-operator` with nothing of the caller's environment but `PATH`.
pub fn command(kubeconfig: &Path, home: &Path) -> Command {
    let mut command = Command::new(program());
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
    check_slow_tests(&tests);
    run(tests, &[], programs::unavailable_because)
}

/// As [`run_tests`], with these Flux controllers running beside the control plane.
pub fn run_flux_tests(tests: Vec<ClusterTest>, controllers: &'static [Controller]) -> ExitCode {
    check_slow_tests(&tests);
    run(tests, controllers, || programs::unavailable_because().or_else(flux::unavailable_because))
}

fn check_slow_tests(tests: &[ClusterTest]) {
    let names: Vec<&str> = tests.iter().map(ClusterTest::short_name).collect();
    SlowTests::of(tests.first().map_or("", ClusterTest::binary)).check(&names);
}

/// The common part of [`run_tests`] and [`run_flux_tests`]; `unavailable_because` tells why nothing can be started, if so.
///
/// The longest tests begin first.
pub fn run(
    mut tests: Vec<ClusterTest>,
    controllers: &'static [Controller],
    unavailable_because: impl Fn() -> Option<String>,
) -> ExitCode {
    if let Some(exit) = run_without_ignored_hangup() {
        return exit;
    }
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(TEST_THREADS);
    let reason = if arguments.list { None } else { unavailable_because() };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a tokio runtime starts");
    let slow = SlowTests::of(tests.first().map_or("", ClusterTest::binary));
    // A long test that began last would be waited for alone.
    tests.sort_by_key(|test| Reverse(slow.seconds(test.short_name())));
    let shared = Arc::new(SharedState {
        controllers,
        slow,
        everyone: OnceCell::new(),
        installers: Semaphore::new(INSTALLERS),
        idle: Mutex::new(vec![]),
        spare: Arc::default(),
    });

    let trials = tests.into_iter().map(|test| {
        let is_ignored = shared.slow.is_ignored(test.short_name());
        trial(test, reason.clone(), runtime.handle().clone(), shared.clone()).with_ignored_flag(is_ignored)
    });
    let conclusion = libtest_mimic::run(&arguments, trials.collect());
    if let Some(reason) = &reason
        && conclusion.num_ignored > 0
    {
        eprintln!("ignored: {reason}");
    }
    runtime.block_on(async { drop(shared) });
    // Tasks of a control plane that was dropped may still be closing connections; nothing waits long for those.
    runtime.shutdown_timeout(Duration::from_secs(2));
    conclusion.exit_code()
}

/// Runs this test program again with SIGHUP at its default where `nohup` has it ignored: programs that tests start
/// inherit that, and some tests send them SIGHUP.
fn run_without_ignored_hangup() -> Option<ExitCode> {
    const HANGUP: u64 = 1;
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    let is_ignored = u64::from_str_radix(ignored.trim(), 16).is_ok_and(|mask| mask & HANGUP != 0);
    if !is_ignored {
        return None;
    }
    let mut again = Command::new("env");
    again.arg("--default-signal=HUP").arg(env::current_exe().ok()?).args(env::args_os().skip(1));
    let status = again.status().expect("env of coreutils runs");
    Some(ExitCode::from(u8::try_from(status.code().unwrap_or(1)).unwrap_or(1)))
}

/// An environment that starts with the first test that needs it, or why it did not start.
type Started = OnceCell<Result<Arc<Environment>, String>>;

/// The environments of this binary: those of tests that install an instance, and the one of all others.
struct SharedState {
    controllers: &'static [Controller],
    slow: SlowTests,
    everyone: Started,
    /// How many more tests may install an instance now.
    installers: Semaphore,
    /// Environments of tests that installed an instance and are done.
    idle: Mutex<Vec<Arc<Environment>>>,
    spare: Arc<SpareControlPlanes>,
}

impl SharedState {
    /// How long a test takes, with the compilation of controllers that it is the first to need.
    fn time_for(&self, test: &str) -> Duration {
        let build = if self.controllers.is_empty() { Duration::ZERO } else { flux::time_to_build() };
        Duration::from_secs(self.slow.seconds(test).into()) + build
    }

    async fn environment(&self) -> Result<Arc<Environment>, String> {
        let start = || async { self.start().await.map(Arc::new).map_err(|error| error.to_string()) };
        self.everyone.get_or_init(start).await.clone()
    }

    /// An unused environment without an instance; give it back to `idle`.
    async fn own_environment(&self) -> super::Fallible<Arc<Environment>> {
        let idle = self.idle.lock().expect("no test panics while it takes one").pop();
        match idle {
            Some(environment) => {
                environment.remove_installations().await?;
                Ok(environment)
            }
            None => Ok(Arc::new(self.start().await?)),
        }
    }

    async fn start(&self) -> super::Fallible<Environment> {
        let control_plane = ControlPlane::start().await?;
        let flux = match self.controllers {
            [] => None,
            some => Some(FluxControllers::start(&control_plane, some).await?),
        };
        Ok(Environment { flux, control_plane, spare: self.spare.clone() })
    }
}

fn trial(test: ClusterTest, reason: Option<String>, runtime: Handle, shared: Arc<SharedState>) -> Trial {
    let name = test.short_name();
    Trial::ignorable_test(name, move || match reason.or_else(test.unavailable_because) {
        Some(reason) if env::var("CI").is_ok_and(|value| value == "true") => {
            Err(format!("CI=true, but the test cannot run: it {reason}").into())
        }
        Some(reason) => Ok(Completion::ignored_with(reason)),
        None => runtime.block_on(run_one(test, name, &shared)),
    })
}

async fn run_one(test: ClusterTest, name: &str, shared: &SharedState) -> Result<Completion, Failed> {
    // Waiting for a turn is not part of the test, so it comes before its deadline.
    let _turn = match test.installs {
        true => Some(shared.installers.acquire().await.map_err(|error| error.to_string())?),
        false => None,
    };
    if would_end_too_late(shared.time_for(name)) {
        // CI collects the tests that end like this.
        return Ok(Completion::ignored_with("the time for tests was over"));
    }
    if !test.installs {
        return run_in(shared.environment().await?, test, name).await;
    }
    let environment = shared.own_environment().await.map_err(|error| error.to_string())?;
    let outcome = run_in(environment.clone(), test, name).await;
    shared.idle.lock().expect("no test panics while it gives one back").push(environment);
    outcome
}

async fn run_in(environment: Arc<Environment>, test: ClusterTest, name: &str) -> Result<Completion, Failed> {
    let started = Instant::now();
    let cluster = TestCluster::new(environment.clone(), name).await.map_err(|error| error.to_string())?;
    let namespace = cluster.namespace.clone();
    let body = AssertUnwindSafe((test.run)(cluster)).catch_unwind();
    let deadline = if tries_every_request() { TEST_DEADLINE * 20 } else { TEST_DEADLINE };
    let failure = match tokio::time::timeout(deadline, body).await {
        Ok(Ok(())) => None,
        Ok(Err(panic)) => Some(panic_text(panic.as_ref())),
        Err(_) => Some(format!("the test hung: no end after {deadline:?}")),
    };
    environment.control_plane.kubelet().forget_rules(&namespace);
    note_duration(test.binary(), name, started.elapsed());
    let Some(text) = failure else { return Ok(Completion::Completed) };
    let servers = environment.control_plane.last_log_lines(12);
    let controllers = environment.flux.as_ref().map(|flux| flux.last_log_lines(12)).unwrap_or_default();
    Err(format!("{text}\n\nnamespace {namespace}\n{servers}\n{controllers}").into())
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("the test panicked").to_owned()
}
