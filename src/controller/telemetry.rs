//! Metrics in the text format of Prometheus, and the operator's state as a value.
//!
//! The names are those of the reference and of controller-runtime, which the usual dashboards use
//! (<https://book.kubebuilder.io/reference/metrics-reference>).

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, text};
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use serde::Serialize;
use tokio::time::Instant;

use super::fleet::{Fleet, FleetMetrics};
use super::schedule::RunEnd;
use crate::api::FluxInstance;
use crate::api::Reconciled;
use crate::api::well_known::{self, condition};
use crate::cluster::RequestObserver;
use crate::inspect::incident::redact::plain_address;
use crate::k8s::ObjectId;
use crate::reconcile::Outcome;

type Labels = Vec<(&'static str, String)>;

/// The controllers of an operator; each has its own loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ControllerKind {
    Instance,
    ResourceSet,
    Artifact,
    Drift,
    Report,
    InputProvider,
}

impl ControllerKind {
    const ALL: [ControllerKind; 6] = [
        ControllerKind::Instance,
        ControllerKind::ResourceSet,
        ControllerKind::Artifact,
        ControllerKind::Drift,
        ControllerKind::Report,
        ControllerKind::InputProvider,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            ControllerKind::Instance => "fluxinstance",
            ControllerKind::ResourceSet => "resourceset",
            ControllerKind::Artifact => "fluxinstance_artifact",
            ControllerKind::Drift => "fluxinstance_drift",
            ControllerKind::Report => "fluxreport",
            ControllerKind::InputProvider => "resourcesetinputprovider",
        }
    }

    fn label(self) -> Labels {
        vec![("controller", self.name().to_owned())]
    }

    fn queue(self) -> Labels {
        vec![("name", self.name().to_owned()), ("controller", self.name().to_owned())]
    }
}

/// The state of an operator, for debugging.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StateDump {
    pub is_leader: bool,
    /// The reconciled instance, if there is one.
    pub instance: Option<String>,
    /// The result of the last full run.
    pub last_outcome: Option<String>,
    pub last_revision: Option<String>,
    /// Seconds until the next run; absent if no run is due.
    pub next_run_seconds: Option<f64>,
    /// Number of runs of each loop.
    pub runs: BTreeMap<&'static str, u64>,
    /// The loops with a run in progress.
    pub working: Vec<&'static str>,
}

#[derive(Default)]
struct TelemetryState {
    dump: StateDump,
    next_run: Option<Instant>,
    /// The field managers in the drift metric.
    managers: BTreeSet<String>,
    /// Time when the pending run of an object was requested, and time when its current run began.
    asked: BTreeMap<RunKey, Instant>,
    began: BTreeMap<RunKey, Instant>,
}

/// A loop and one of its objects.
type RunKey = (ControllerKind, ObjectId);

/// Limit for distinct field managers in the drift metric.
const NAMED_MANAGERS: usize = 50;

/// Counts and records the work of an operator.
pub struct Telemetry {
    registry: Mutex<Registry>,
    state: Mutex<TelemetryState>,
    instance_info: Family<Labels, Gauge>,
    pub(super) fleet: Arc<Fleet>,
    drift: Family<Labels, Counter>,
    requests: Family<Labels, Counter>,
    leader: Family<Labels, Gauge>,
    runs: Family<Labels, Counter>,
    errors: Family<Labels, Counter>,
    terminal_errors: Family<Labels, Counter>,
    panics: Family<Labels, Counter>,
    active: Family<Labels, Gauge>,
    time: Family<Labels, Histogram>,
    adds: Family<Labels, Counter>,
    depth: Family<Labels, Gauge>,
    retries: Family<Labels, Counter>,
    work_time: Family<Labels, Histogram>,
    queue_time: Family<Labels, Histogram>,
    unfinished: Family<Labels, Gauge<f64, AtomicU64>>,
    longest: Family<Labels, Gauge<f64, AtomicU64>>,
}

/// Buckets from 5 ms to about a quarter of an hour.
fn seconds() -> Histogram {
    Histogram::new(exponential_buckets(0.005, 2.0, 18))
}

impl Telemetry {
    /// `version` is the operator's, `platform` its platform, such as `linux/amd64`.
    pub fn new(version: &str, platform: &str) -> Self {
        let telemetry = Telemetry {
            registry: Mutex::default(),
            state: Mutex::default(),
            instance_info: Family::default(),
            fleet: Arc::default(),
            drift: Family::default(),
            requests: Family::default(),
            leader: Family::default(),
            runs: Family::default(),
            errors: Family::default(),
            terminal_errors: Family::default(),
            panics: Family::default(),
            active: Family::default(),
            time: Family::new_with_constructor(seconds),
            adds: Family::default(),
            depth: Family::default(),
            retries: Family::default(),
            work_time: Family::new_with_constructor(seconds),
            queue_time: Family::new_with_constructor(seconds),
            unfinished: Family::default(),
            longest: Family::default(),
        };
        telemetry.register(version, platform);
        telemetry
    }

    fn register(&self, version: &str, platform: &str) {
        let operator_info: Family<Labels, Gauge> = Family::default();
        let labels = vec![
            ("api_version", well_known::API_VERSION.to_owned()),
            ("platform", platform.to_owned()),
            ("version", version.to_owned()),
        ];
        operator_info.get_or_create(&labels).set(1);
        let mut registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        let mut gauge = |name: &str, help: &str, family: &Family<Labels, Gauge>| {
            registry.register(name, help, family.clone());
        };
        gauge("flux_instance_info", "The current status of a Flux instance", &self.instance_info);
        gauge("flux_operator_info", "The version information of Flux Operator", &operator_info);
        gauge("leader_election_master_status", "Whether this process holds the lease", &self.leader);
        gauge("controller_runtime_active_workers", "Reconciliations in progress", &self.active);
        gauge("workqueue_depth", "Runs that are due and have not started", &self.depth);
        // The encoder appends `_total` to the name of a counter.
        let mut counter = |name: &str, help: &str, family: &Family<Labels, Counter>| {
            registry.register(name, help, family.clone());
        };
        counter("flux_operator_drift", "Changes to installed objects that the operator did not make", &self.drift);
        counter("rest_client_requests", "Requests to the API server", &self.requests);
        counter("controller_runtime_reconcile", "Reconciliations", &self.runs);
        counter("controller_runtime_reconcile_errors", "Reconciliations that failed", &self.errors);
        counter(
            "controller_runtime_terminal_reconcile_errors",
            "Reconciliations that are not retried",
            &self.terminal_errors,
        );
        counter("controller_runtime_reconcile_panics", "Reconciliations that panicked", &self.panics);
        counter("workqueue_adds", "Requested runs", &self.adds);
        counter("workqueue_retries", "Runs that were requested after a failure", &self.retries);
        let mut histogram = |name: &str, help: &str, family: &Family<Labels, Histogram>| {
            registry.register(name, help, family.clone());
        };
        histogram("controller_runtime_reconcile_time_seconds", "Time a reconciliation took", &self.time);
        histogram("workqueue_work_duration_seconds", "Time a run took", &self.work_time);
        histogram(
            "workqueue_queue_duration_seconds",
            "Time between the request for a run and its start",
            &self.queue_time,
        );
        registry.register(
            "workqueue_unfinished_work_seconds",
            "Seconds that the reconciliations in progress have taken so far, in total",
            self.unfinished.clone(),
        );
        registry.register(
            "workqueue_longest_running_processor_seconds",
            "Seconds that the longest reconciliation in progress has taken so far",
            self.longest.clone(),
        );
        registry.register_collector(Box::new(FleetMetrics(self.fleet.clone())));
        registry.register_collector(Box::new(Process));
        // To Prometheus, a missing counter looks like a target that is not scraped, so each counter starts at 0.
        for controller in ControllerKind::ALL {
            for result in ["success", "error", "requeue_after", "requeue"] {
                self.runs.get_or_create(&result_label(controller, result)).inc_by(0);
            }
            for family in [&self.errors, &self.terminal_errors, &self.panics] {
                family.get_or_create(&controller.label()).inc_by(0);
            }
            for family in [&self.adds, &self.retries] {
                family.get_or_create(&controller.queue()).inc_by(0);
            }
            for family in [&self.work_time, &self.queue_time] {
                drop(family.get_or_create(&controller.queue()));
            }
            drop(self.time.get_or_create(&controller.label()));
            self.active.get_or_create(&controller.label()).set(0);
            self.depth.get_or_create(&controller.queue()).set(0);
        }
        self.leader.get_or_create(&leader_label()).set(0);
    }

    /// Returns the metrics for Prometheus.
    pub fn metrics(&self) -> String {
        let began = self.state().began.clone();
        for controller in ControllerKind::ALL {
            let of_loop = began.iter().filter(|((of, _), _)| *of == controller);
            let seconds: Vec<f64> = of_loop.map(|(_, began)| began.elapsed().as_secs_f64()).collect();
            self.unfinished.get_or_create(&controller.queue()).set(seconds.iter().fold(0.0, |sum, one| sum + one));
            self.longest.get_or_create(&controller.queue()).set(seconds.into_iter().fold(0.0, f64::max));
        }
        let mut text = String::new();
        let registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        // Writing to a text in memory cannot fail.
        let _infallible = text::encode(&mut text, &registry);
        text
    }

    fn state(&self) -> MutexGuard<'_, TelemetryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the current state.
    pub fn dump(&self) -> StateDump {
        let state = self.state();
        let next = state.next_run.map(|due| due.saturating_duration_since(Instant::now()).as_secs_f64());
        StateDump { next_run_seconds: next, ..state.dump.clone() }
    }

    /// Counts every request to the API server.
    pub fn request_observer(self: &Arc<Self>, host: &str) -> RequestObserver {
        let (telemetry, host) = (self.clone(), host.to_owned());
        Arc::new(move |method: &str, code: &str| {
            let labels = vec![("code", code.to_owned()), ("host", host.clone()), ("method", method.to_owned())];
            telemetry.requests.get_or_create(&labels).inc();
        })
    }

    pub(super) fn leads(&self, is_leader: bool) {
        self.leader.get_or_create(&leader_label()).set(i64::from(is_leader));
        self.state().dump.is_leader = is_leader;
        if !is_leader {
            // Only the leader has data about instance and resources.
            self.instance(None);
            self.fleet.clear();
        }
    }

    /// Counts the runs of a loop in a map of pending or current runs.
    fn count(runs: &BTreeMap<RunKey, Instant>, controller: ControllerKind) -> i64 {
        let count = runs.keys().filter(|(of, _)| *of == controller).count();
        i64::try_from(count).unwrap_or(i64::MAX)
    }

    pub(super) fn asked(&self, controller: ControllerKind, object: &ObjectId) {
        let mut state = self.state();
        // A run that is already due is not counted again.
        if let Entry::Vacant(first) = state.asked.entry((controller, object.clone())) {
            first.insert(Instant::now());
            self.adds.get_or_create(&controller.queue()).inc();
        }
        self.depth.get_or_create(&controller.queue()).set(Self::count(&state.asked, controller));
    }

    pub(super) fn began(&self, controller: ControllerKind, object: &ObjectId) {
        let name = controller.name();
        let key = (controller, object.clone());
        let mut state = self.state();
        let now = Instant::now();
        // A run that became due by its interval counts as requested and started at the same moment.
        let asked = state.asked.remove(&key).unwrap_or_else(|| {
            self.adds.get_or_create(&controller.queue()).inc();
            now
        });
        state.began.insert(key, now);
        self.depth.get_or_create(&controller.queue()).set(Self::count(&state.asked, controller));
        self.active.get_or_create(&controller.label()).set(Self::count(&state.began, controller));
        self.queue_time.get_or_create(&controller.queue()).observe((now - asked).as_secs_f64());
        *state.dump.runs.entry(name).or_default() += 1;
        state.dump.working.retain(|one| *one != name);
        state.dump.working.push(name);
    }

    pub(super) fn ended(&self, controller: ControllerKind, object: &ObjectId, ended: RunEnd, took: Duration) {
        self.time.get_or_create(&controller.label()).observe(took.as_secs_f64());
        self.work_time.get_or_create(&controller.queue()).observe(took.as_secs_f64());
        let result = match ended {
            RunEnd::Done(None) => "success",
            RunEnd::Done(Some(_)) => "requeue_after",
            RunEnd::Superseded => "requeue",
            RunEnd::Failed | RunEnd::FailedFor(_) | RunEnd::Terminal => "error",
        };
        self.runs.get_or_create(&result_label(controller, result)).inc();
        if result == "error" {
            self.errors.get_or_create(&controller.label()).inc();
        }
        if ended.is_retried() {
            self.retries.get_or_create(&controller.queue()).inc();
        }
        if ended == RunEnd::Terminal {
            self.terminal_errors.get_or_create(&controller.label()).inc();
        }
        let mut state = self.state();
        state.began.remove(&(controller, object.clone()));
        let active = Self::count(&state.began, controller);
        self.active.get_or_create(&controller.label()).set(active);
        if active == 0 {
            state.dump.working.retain(|one| *one != controller.name());
        }
    }

    pub(super) fn panicked(&self, controller: ControllerKind) {
        self.panics.get_or_create(&controller.label()).inc();
    }

    pub(super) fn ran(&self, outcome: &Outcome) {
        let mut state = self.state();
        state.dump.last_outcome = Some(format!("{}: {}", outcome.reason, outcome.message));
        state.dump.last_revision.clone_from(&outcome.revision);
    }

    pub(super) fn next_run(&self, due: Option<Instant>) {
        self.state().next_run = due;
    }

    pub(super) fn drift(&self, kind: &str, manager: &str) {
        // Field managers can have any name, and every name creates a permanent series.
        let mut state = self.state();
        let is_named = state.managers.contains(manager) || state.managers.len() < NAMED_MANAGERS;
        let manager = if is_named { manager } else { "others" };
        state.managers.insert(manager.to_owned());
        self.drift.get_or_create(&vec![("kind", kind.to_owned()), ("manager", manager.to_owned())]).inc();
    }

    /// Sets the current instance; `None` if there is none.
    pub(super) fn instance(&self, instance: Option<&FluxInstance>) {
        self.instance_info.clear();
        self.state().dump.instance = instance.map(|instance| instance.id().to_string());
        let Some(instance) = instance else { return };
        let status = instance.status.as_ref();
        let ready = status.and_then(|s| s.conditions.iter().find(|one| one.type_ == condition::READY));
        let labels = vec![
            ("uid", instance.metadata.uid.clone().unwrap_or_default()),
            ("kind", "FluxInstance".to_owned()),
            ("name", instance.metadata.name.clone().unwrap_or_default()),
            ("exported_namespace", instance.namespace_or_default().to_owned()),
            ("ready", ready.map_or_else(|| "Unknown".to_owned(), |ready| ready.status.clone())),
            ("reason", ready.map(|ready| ready.reason.clone()).unwrap_or_default()),
            ("suspended", truth(instance.is_suspended())),
            ("registry", plain_address(&instance.spec.distribution.registry)),
            ("revision", status.and_then(|s| s.last_applied_revision.clone()).unwrap_or_default()),
        ];
        self.instance_info.get_or_create(&labels).set(1);
    }
}

fn truth(value: bool) -> String {
    if value { "True" } else { "False" }.to_owned()
}

fn leader_label() -> Labels {
    vec![("name", well_known::OPERATOR_NAME.to_owned())]
}

fn result_label(controller: ControllerKind, result: &str) -> Labels {
    vec![("controller", controller.name().to_owned()), ("result", result.to_owned())]
}

/// Kernel statistics of this process, under the names of Prometheus' own clients. Only on Linux, because of `/proc`.
#[derive(Debug)]
struct Process;

/// Hundredths of a second, the unit of the Linux interface on every architecture.
const TICKS_PER_SECOND: f64 = 100.0;

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let Some(seen) = ProcessCounts::read() else { return Ok(()) };
        let mut gauge = |name: &str, help: &str, value: f64| {
            let gauge = ConstGauge::new(value);
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)
        };
        gauge("process_resident_memory_bytes", "Resident memory size in bytes", seen.resident_bytes)?;
        gauge("process_virtual_memory_bytes", "Virtual memory size in bytes", seen.virtual_bytes)?;
        gauge("process_open_fds", "Number of open file descriptors", seen.open_files)?;
        gauge("process_max_fds", "Maximum number of open file descriptors", seen.max_files)?;
        gauge("process_start_time_seconds", "Start time since the Unix epoch in seconds", seen.started)?;
        let cpu = ConstCounter::new(seen.cpu_seconds);
        let help = "Total user and system CPU time spent in seconds";
        cpu.encode(encoder.encode_descriptor("process_cpu_seconds", help, None, cpu.metric_type())?)
    }
}

struct ProcessCounts {
    resident_bytes: f64,
    virtual_bytes: f64,
    open_files: f64,
    max_files: f64,
    started: f64,
    cpu_seconds: f64,
}

impl ProcessCounts {
    /// Source: <https://man7.org/linux/man-pages/man5/proc.5.html>.
    fn read() -> Option<Self> {
        // Field 2 is the name in parentheses, with any characters; count the fields after it from 3.
        let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
        let fields: Vec<f64> =
            stat.rsplit_once(')')?.1.split_whitespace().map(|field| field.parse().unwrap_or(0.0)).collect();
        let field = |number: usize| fields.get(number - 3).copied().unwrap_or(0.0);
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let kilobytes = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok()).unwrap_or(0.0)
        };
        let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
        let max_files = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
        Some(ProcessCounts {
            resident_bytes: kilobytes("VmRSS") * 1024.0,
            virtual_bytes: kilobytes("VmSize") * 1024.0,
            open_files: std::fs::read_dir("/proc/self/fd").map_or(0.0, |entries| entries.count() as f64),
            max_files: max_files.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0.0),
            started: boot_time() + field(22) / TICKS_PER_SECOND,
            cpu_seconds: (field(14) + field(15)) / TICKS_PER_SECOND,
        })
    }
}

/// Returns the boot time in seconds since the Unix epoch, which is constant while the program runs.
fn boot_time() -> f64 {
    static BOOT_TIME: AtomicU64 = AtomicU64::new(0);
    let known = BOOT_TIME.load(Ordering::Relaxed);
    if known > 0 {
        return known as f64;
    }
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let line = stat.lines().find_map(|line| line.strip_prefix("btime "));
    let now = || u64::try_from(Timestamp::now().as_second()).unwrap_or_default();
    let read = line.and_then(|line| line.trim().parse().ok()).unwrap_or_else(now);
    BOOT_TIME.store(read, Ordering::Relaxed);
    read as f64
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line<'a>(metrics: &'a str, start: &str) -> &'a str {
        metrics.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{start} in {metrics}"))
    }

    #[test]
    fn an_instance_is_shown_with_the_labels_of_the_document() {
        let telemetry = Telemetry::new("1.2.3", "linux/amd64");
        let instance = FluxInstance::from_object(json!({
            "apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
            "metadata": {"name": "flux", "namespace": "flux-system", "uid": "u-1",
                "annotations": {"fluxcd.controlplane.io/reconcile": "disabled"}},
            "spec": {"distribution": {"version": "2.x", "registry": "ghcr.io/fluxcd"}},
            "status": {"lastAppliedRevision": "v2.9.4@sha256:0", "conditions": [{"type": "Ready", "status": "True",
                "reason": "ReconciliationSucceeded", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]},
        }));
        telemetry.instance(Some(&instance.unwrap()));
        let metrics = telemetry.metrics();
        assert_eq!(
            line(&metrics, "flux_instance_info{"),
            "flux_instance_info{uid=\"u-1\",kind=\"FluxInstance\",name=\"flux\",exported_namespace=\"flux-system\",ready=\"True\",\
             reason=\"ReconciliationSucceeded\",suspended=\"True\",registry=\"ghcr.io/fluxcd\",revision=\"v2.9.4@sha256:0\"} 1"
        );
        let operator = line(&metrics, "flux_operator_info{");
        assert!(operator.contains("version=\"1.2.3\"") && operator.contains("platform=\"linux/amd64\""), "{operator}");
        telemetry.instance(None);
        assert!(!telemetry.metrics().contains("flux_instance_info{"));
    }

    #[test]
    fn every_run_is_queued_once_for_each_trigger() {
        let telemetry = Telemetry::new("1", "linux/amd64");
        let run = |requests: usize| {
            (0..requests).for_each(|_| telemetry.asked(ControllerKind::Report, &ObjectId::default()));
            telemetry.began(ControllerKind::Report, &ObjectId::default());
            telemetry.ended(ControllerKind::Report, &ObjectId::default(), RunEnd::Done(None), Duration::ZERO);
        };
        run(0);
        run(1);
        run(3);
        let metrics = telemetry.metrics();
        for metric in ["workqueue_adds_total", "workqueue_queue_duration_seconds_count"] {
            assert_eq!(
                line(&metrics, &format!("{metric}{{name=\"fluxreport\"")).rsplit(' ').next(),
                Some("3"),
                "{metric}"
            );
        }
    }

    #[test]
    fn runs_are_counted_under_the_names_that_dashboards_draw() {
        let telemetry = Telemetry::new("1", "linux/amd64");
        telemetry.asked(ControllerKind::Instance, &ObjectId::default());
        telemetry.began(ControllerKind::Instance, &ObjectId::default());
        assert_eq!(telemetry.dump().working, ["fluxinstance"]);
        std::thread::sleep(Duration::from_millis(5));
        let unfinished = telemetry.metrics();
        let unfinished = line(&unfinished, "workqueue_unfinished_work_seconds{name=\"fluxinstance\"");
        assert_ne!(unfinished.rsplit(' ').next(), Some("0.0"), "{unfinished}");
        telemetry.ended(ControllerKind::Instance, &ObjectId::default(), RunEnd::Failed, Duration::from_millis(300));
        let metrics = telemetry.metrics();
        for (start, value) in [
            ("controller_runtime_reconcile_total{controller=\"fluxinstance\",result=\"error\"}", "1"),
            ("controller_runtime_reconcile_errors_total{controller=\"fluxinstance\"}", "1"),
            ("workqueue_adds_total{name=\"fluxinstance\"", "1"),
            ("workqueue_retries_total{name=\"fluxinstance\"", "1"),
            ("workqueue_queue_duration_seconds_count{name=\"fluxinstance\"", "1"),
            ("workqueue_unfinished_work_seconds{name=\"fluxinstance\"", "0.0"),
            ("controller_runtime_reconcile_time_seconds_count{controller=\"fluxinstance\"}", "1"),
            ("leader_election_master_status{name=\"flux-operator\"}", "0"),
        ] {
            assert_eq!(line(&metrics, start).rsplit(' ').next(), Some(value), "{start}");
        }
        let resident: f64 =
            line(&metrics, "process_resident_memory_bytes ").rsplit(' ').next().unwrap().parse().unwrap();
        assert!(resident > 1e6, "{resident}");
        line(&metrics, "process_cpu_seconds_total ");
    }
}
