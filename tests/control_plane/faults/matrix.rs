//! Every request of an installation's life, failed one at a time.
//!
//! Two undisturbed lifecycles record the requests and the results. In each further lifecycle, one request of each phase
//! fails, and the phase or a second attempt at it must have the same result. A request is identified by its method, path
//! and occurrence, because the requests of a stage run concurrently, in any order.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use flux_operator::api::crd;
use flux_operator::cluster::lease::{LeaseOptions, unique_identity};
use flux_operator::cluster::{Cluster, WriteOptions};
use flux_operator::controller::{self, ControllerOptions, NotificationPolicy, RetryDelays, Telemetry};
use flux_operator::fetch::Fetcher;
use flux_operator::reconcile::{self, progress::IgnoredProgress};

use super::site::{NAMESPACE, Site, id, instance, instance_id, spec};
use crate::support::runner::TimeForTrials;
use crate::support::{Fallible, Fault, FaultRule, eventually};

/// Limit of an API call with its retries, and therefore the cost of a hanging request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(3);
/// A watch that hangs is noticed after a minute and a half: until then it looks like a cluster where nothing happens.
const OPERATOR_LIMIT: Duration = Duration::from_secs(120);
/// Attempts for a fault whose request did not occur.
const TRIES: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    Install,
    /// Nothing has changed, and a run was asked for.
    Steady,
    /// A component less, and a Deployment that somebody else edited.
    Change,
    Uninstall,
}

impl Phase {
    pub const ALL: [Phase; 4] = [Phase::Install, Phase::Steady, Phase::Change, Phase::Uninstall];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    CutBefore,
    CutAfter,
    /// Handled, and answered with an empty body: a garbled answer, a watch that ends at once.
    BodyLost,
    Forbidden,
    NotFound,
    Conflict,
    Gone,
    TooManyRequests,
    InternalError,
    Unavailable,
    Hang,
}

impl Kind {
    pub const ALL: [Kind; 11] = [
        Kind::CutBefore,
        Kind::CutAfter,
        Kind::BodyLost,
        Kind::Forbidden,
        Kind::NotFound,
        Kind::Conflict,
        Kind::Gone,
        Kind::TooManyRequests,
        Kind::InternalError,
        Kind::Unavailable,
        Kind::Hang,
    ];

    pub fn fault(self) -> Fault {
        match self {
            Kind::CutBefore => Fault::CutBefore,
            Kind::CutAfter => Fault::CutAfter,
            Kind::BodyLost => Fault::Truncated { bytes: 0 },
            Kind::Forbidden => Fault::forbidden(),
            Kind::NotFound => Fault::not_found(),
            Kind::Conflict => Fault::conflict(),
            Kind::Gone => Fault::gone(),
            Kind::TooManyRequests => Fault::too_many_requests(1),
            Kind::InternalError => Fault::internal_error(),
            Kind::Unavailable => Fault::unavailable(),
            Kind::Hang => Fault::Hang,
        }
    }
}

/// A request of a phase: the `nth` of this method and path, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    pub method: String,
    pub path: String,
    pub nth: usize,
}

#[derive(Clone, Debug)]
pub struct Trial {
    pub target: Target,
    pub kind: Kind,
    tries: usize,
}

impl fmt::Display for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} on {} {} (number {})", self.kind, self.target.method, self.target.path, self.target.nth)
    }
}

/// The results of all trials.
#[derive(Debug, Default)]
pub struct Report {
    /// How many requests each phase has.
    pub requests: BTreeMap<Phase, usize>,
    /// Trials in which the fault occurred, by phase and fault, and how many of them the first run survived.
    pub met: BTreeMap<(Phase, Kind), (usize, usize)>,
    /// Trials in which the request did not occur again.
    pub unmet: Vec<String>,
    /// Trials that were not begun because the time was over ([`TimeForTrials`]).
    pub left_out: usize,
    /// The complete texts of all failures.
    pub failures: Vec<String>,
}

/// The actor that reconciles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actor {
    /// A run for each phase, as by a command in a terminal, and another one if it failed.
    InProcess,
    /// The operator: started for each phase, it has to come to the end by itself.
    Operator,
}

/// Which faults each request meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// A single fault per request, with rotating kinds.
    Rotating,
    /// The same for so many requests of each phase, evenly spread.
    Sample(usize),
    /// Every kind.
    Full,
}

/// The requests of an undisturbed life.
struct Reference {
    targets: BTreeMap<Phase, Vec<Target>>,
    ends: BTreeMap<Phase, BTreeMap<String, Value>>,
}

struct Work {
    actor: Actor,
    reference: Reference,
    queues: Mutex<BTreeMap<Phase, VecDeque<Trial>>>,
    report: Mutex<Report>,
    time: TimeForTrials,
    progress: fn(&str),
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Leads lives on `workers` clusters side by side until every trial was made.
///
/// # Errors
/// A cluster does not start, or an undisturbed life fails.
pub async fn run(actor: Actor, extent: Extent, workers: usize, progress: fn(&str)) -> Fallible<Report> {
    let site = Site::start().await?;
    let reference = reference(actor, &site, progress).await?;
    let mut queues = BTreeMap::new();
    let mut report = Report::default();
    for (phase, targets) in &reference.targets {
        report.requests.insert(*phase, targets.len());
        let trial = |target: &Target, kind| Trial { target: target.clone(), kind, tries: 0 };
        let rotating = Kind::ALL.into_iter().cycle().skip(*phase as usize);
        let mut trials: Vec<Trial> = match extent {
            Extent::Rotating => targets.iter().zip(rotating).map(|(target, kind)| trial(target, kind)).collect(),
            Extent::Sample(count) => {
                let chosen = targets.iter().step_by(targets.len().div_ceil(count).max(1));
                chosen.zip(rotating).map(|(target, kind)| trial(target, kind)).collect()
            }
            Extent::Full => {
                Kind::ALL.iter().flat_map(|kind| targets.iter().map(|target| trial(target, *kind))).collect()
            }
        };
        trials.sort_by_cached_key(order_of_today);
        queues.insert(*phase, VecDeque::from(trials));
    }
    let (queues, report, time) = (Mutex::new(queues), Mutex::new(report), TimeForTrials::from_now());
    let work = Arc::new(Work { actor, reference, queues, report, time, progress });
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(lead_lives(Some(site), work.clone()));
    for _ in 1..workers {
        tasks.spawn(lead_lives(None, work.clone()));
    }
    while let Some(ended) = tasks.join_next().await {
        ended?.map_err(|error| error.to_string())?;
    }
    let report = std::mem::take(&mut *locked(&work.report));
    Ok(report)
}

/// Each day has its own order: where the time is over before all trials were made, the next day makes others.
fn order_of_today(trial: &Trial) -> u64 {
    let days = jiff::Timestamp::now().as_second() / (24 * 60 * 60);
    BuildHasherDefault::<DefaultHasher>::default().hash_one((days, trial.to_string()))
}

async fn lead_lives(site: Option<Site>, work: Arc<Work>) -> Fallible<()> {
    let site = match site {
        Some(site) => site,
        None => Site::start().await?,
    };
    loop {
        if work.time.is_over() {
            let mut queues = locked(&work.queues);
            let left: usize = queues.values().map(VecDeque::len).sum();
            queues.clear();
            locked(&work.report).left_out += left;
            return Ok(());
        }
        let trials: BTreeMap<Phase, Trial> =
            locked(&work.queues).iter_mut().filter_map(|(phase, queue)| Some((*phase, queue.pop_front()?))).collect();
        if trials.is_empty() {
            return Ok(());
        }
        site.wipe().await;
        // Later phases need the earlier ones, disturbed or not.
        let Some(last) = trials.keys().max().copied() else { return Ok(()) };
        for phase in Phase::ALL.into_iter().filter(|phase| *phase <= last) {
            if !lead(&site, phase, trials.get(&phase), &work).await {
                // Later trials would fail for the same reason.
                for (phase, trial) in trials.range(phase..).skip(1) {
                    locked(&work.queues).entry(*phase).or_default().push_back(trial.clone());
                }
                break;
            }
        }
    }
}

/// Leads one phase; returns whether it came to the right end.
async fn lead(site: &Site, phase: Phase, trial: Option<&Trial>, work: &Work) -> bool {
    set_out(site, phase).await;
    site.proxy.clear_rules();
    let mut seen = site.proxy.requests().len();
    if let Some(Trial { target, kind, .. }) = trial {
        let path = target.path.clone();
        let rule = FaultRule::nth(target.nth, kind.fault()).method(&target.method);
        site.proxy.add_rule(rule.uri(move |uri| path_of(uri) == path));
    }
    let first = act(work.actor, site, phase).await;
    let met = trial.is_some_and(|trial| {
        let requests = site.proxy.requests();
        let alike = |target: &Target| {
            requests
                .get(seen..)
                .unwrap_or_default()
                .iter()
                .filter(|one| one.method == target.method && path_of(&one.uri) == target.path)
                .count()
        };
        alike(&trial.target) >= trial.target.nth
    });
    seen = site.proxy.requests().len();
    site.proxy.clear_rules();
    let second = if first.is_err() { act(work.actor, site, phase).await } else { Ok(()) };
    let mut trouble = vec![];
    if let (Actor::Operator, Err(error)) = (work.actor, &first) {
        trouble.push(format!("the operator did not come to the end: {error}"));
    }
    if let Err(error) = &second {
        trouble.push(format!("the second run failed, too: {error}"));
    }
    let end = site.snapshot().await;
    trouble.extend(differences(work.reference.ends.get(&phase), &end));
    let named = trial.map_or_else(|| "undisturbed".to_owned(), ToString::to_string);
    if trouble.is_empty()
        && let Some(trial) = trial
    {
        if met {
            let mut report = locked(&work.report);
            let (count, at_once) = report.met.entry((phase, trial.kind)).or_default();
            *count += 1;
            *at_once += usize::from(first.is_ok());
        } else if trial.tries + 1 < TRIES {
            let again = Trial { tries: trial.tries + 1, ..trial.clone() };
            locked(&work.queues).entry(phase).or_default().push_back(again);
        } else {
            locked(&work.report).unmet.push(format!("{phase:?}: {named}"));
        }
    }
    (work.progress)(&format!(
        "{phase:?}: {named}: {}",
        first.as_ref().err().map_or("done at once", |error| error.as_str())
    ));
    if !trouble.is_empty() {
        let requests: Vec<String> = site
            .proxy
            .requests()
            .get(seen..)
            .unwrap_or_default()
            .iter()
            .map(|one| format!("{} {} {:?}", one.method, one.uri, one.status))
            .collect();
        let text = format!(
            "{phase:?}: {named}\n  first run: {first:?}\n  {}\n  second run's requests:\n    {}",
            trouble.join("\n  "),
            requests.join("\n    ")
        );
        (work.progress)(&text);
        locked(&work.report).failures.push(text);
    }
    trouble.is_empty()
}

/// Does the work before the phase, without the proxy.
async fn set_out(site: &Site, phase: Phase) {
    match phase {
        Phase::Install | Phase::Uninstall => {}
        Phase::Steady => site.annotate(json!({"reconcile.fluxcd.io/requestedAt": "steady"})).await,
        Phase::Change => edit(site).await,
    }
}

/// Changes a Deployment as another manager.
pub async fn edit(site: &Site) {
    let deployment = id("apps/v1", "Deployment", super::site::NAMESPACE, "source-controller");
    let patch = json!({"spec": {"replicas": 2}, "metadata": {"labels": {"theirs": "1"}}});
    site.direct.merge_patch(&deployment, None, &patch, "kubectl-edit").await.expect("the deployment is there");
}

async fn act(actor: Actor, site: &Site, phase: Phase) -> Result<(), String> {
    // A connection of its own, as a process has.
    let cluster = site.through_proxy(REQUEST_TIMEOUT).await;
    if actor == Actor::Operator {
        return operate(site, cluster, phase).await;
    }
    match phase {
        Phase::Install => site.apply(&cluster, &spec(&["source-controller", "kustomize-controller"])).await,
        Phase::Steady => site.reconcile(&cluster).await,
        Phase::Change => site.apply(&cluster, &spec(&["source-controller"])).await,
        Phase::Uninstall => site.uninstall(&cluster).await,
    }
}

/// Writes the change of the phase directly, and runs an operator behind the proxy until it has acted on the change.
async fn operate(site: &Site, cluster: Cluster, phase: Phase) -> Result<(), String> {
    let write = async |components: &[&str]| {
        let written = site.direct.apply(&instance(&spec(components)), WriteOptions::forced("author")).await;
        written.map(drop).map_err(|error| format!("apply: {error:?}"))
    };
    match phase {
        Phase::Install => {
            reconcile::prepare(&site.direct, NAMESPACE, &IgnoredProgress)
                .await
                .map_err(|error| format!("prepare: {error:?}"))?;
            let report = site.direct.apply(&crd::flux_report(), WriteOptions::forced("author")).await;
            report.map_err(|error| format!("apply: {error:?}"))?;
            write(&["source-controller", "kustomize-controller"]).await?;
        }
        Phase::Steady => {}
        Phase::Change => write(&["source-controller"]).await?,
        Phase::Uninstall => {
            let deleted = site.direct.delete(&instance_id(), &Default::default()).await;
            deleted.map_err(|error| format!("delete: {error:?}"))?;
        }
    }
    let mut election = LeaseOptions::new(unique_identity("operator"));
    (election.wait, election.operator_wait) = (Duration::MAX, Duration::MAX);
    let options = ControllerOptions {
        namespace: NAMESPACE.to_owned(),
        election: Some(election),
        release_on_exit: true,
        fetcher: Fetcher { registries: None, cache: None, memory: None, key: None },
        extra_managers: vec![],
        notifications: NotificationPolicy::Disabled,
        version: "0.0.0".to_owned(),
        concurrency: 10,
        host: "operator".to_owned(),
        retry: RetryDelays { shortest: Duration::from_millis(100), longest: Duration::from_secs(2) },
        interval_jitter: 5,
        reporting_interval: Duration::from_secs(300),
        proxy: Default::default(),
        workers: 1,
        default_service_account: None,
        requeue_dependency: flux_operator::reconcile::DEPENDENCY_PAUSE,
        watched_configs: "reconcile.fluxcd.io/watch=Enabled".to_owned(),
    };
    let telemetry = Arc::new(Telemetry::new("0.0.0", "linux/amd64"));
    let (stop, stopping) = tokio::sync::watch::channel(false);
    let operator = tokio::spawn(async move { controller::run(&cluster, options, telemetry, stopping).await });
    let is_there = |object: Option<Value>| match (phase, object) {
        (Phase::Uninstall, object) => object.is_none(),
        (_, None) => false,
        (_, Some(object)) => {
            let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let is_ready = conditions.iter().any(|one| {
                one["type"] == "Ready"
                    && one["status"] == "True"
                    && one["observedGeneration"] == object["metadata"]["generation"]
            });
            let asked = &object["metadata"]["annotations"]["reconcile.fluxcd.io/requestedAt"];
            is_ready && (asked.is_null() || *asked == object["status"]["lastHandledReconcileAt"])
        }
    };
    let end = eventually("the end", OPERATOR_LIMIT, || async {
        site.direct.read(&instance_id()).await.ok().filter(|object| is_there(object.clone()))
    });
    let end = end.await.map(drop).map_err(|error| error.to_string());
    stop.send_replace(true);
    let ended = tokio::time::timeout(Duration::from_secs(20), operator).await;
    let ended = ended.map_err(|_| "the operator does not stop".to_owned())?;
    ended.map_err(|panic| format!("the operator panicked: {panic}"))?.map_err(|error| error.to_string())?;
    end
}

/// Runs two undisturbed lifecycles. Returns the requests that both send, and the result of each phase.
async fn reference(actor: Actor, site: &Site, progress: fn(&str)) -> Fallible<Reference> {
    let mut counted: Vec<BTreeMap<(Phase, String, String), usize>> = vec![];
    let mut ends = BTreeMap::new();
    for _ in 0..2 {
        site.wipe().await;
        let mut counts = BTreeMap::new();
        for phase in Phase::ALL {
            set_out(site, phase).await;
            let seen = site.proxy.requests().len();
            let begun = std::time::Instant::now();
            act(actor, site, phase).await.map_err(|error| format!("undisturbed {phase:?}: {error}"))?;
            for one in site.proxy.requests().get(seen..).unwrap_or_default() {
                *counts.entry((phase, one.method.clone(), path_of(&one.uri))).or_default() += 1;
            }
            let took = begun.elapsed();
            let end = site.snapshot().await;
            progress(&format!("{phase:?}: undisturbed: {took:?}, compared after {:?}", begun.elapsed()));
            let trouble = differences(ends.get(&phase), &end);
            if ends.contains_key(&phase) && !trouble.is_empty() {
                return Err(format!("two undisturbed lives differ after {phase:?}: {trouble:?}").into());
            }
            ends.insert(phase, end);
        }
        counted.push(counts);
    }
    let mut targets: BTreeMap<Phase, Vec<Target>> = BTreeMap::new();
    for (key, count) in counted.first().into_iter().flatten() {
        let always =
            counted.iter().map(|counts| counts.get(key).copied().unwrap_or_default()).min().unwrap_or_default();
        let (phase, method, path) = key;
        let alike = (1..=always.min(*count)).map(|nth| Target { method: method.clone(), path: path.clone(), nth });
        targets.entry(*phase).or_default().extend(alike);
    }
    Ok(Reference { targets, ends })
}

/// Path and query without what differs between two lives.
pub fn path_of(uri: &str) -> String {
    let Some((path, query)) = uri.split_once('?') else { return uri.to_owned() };
    let query: Vec<&str> =
        query.split('&').filter(|pair| !pair.is_empty() && !pair.starts_with("resourceVersion=")).collect();
    format!("{path}?{}", query.join("&"))
}

/// Lists what is missing in `end`, what is additional, and what differs.
pub fn differences(expected: Option<&BTreeMap<String, Value>>, end: &BTreeMap<String, Value>) -> Vec<String> {
    let Some(expected) = expected else { return vec![] };
    let mut differences = vec![];
    for (object, value) in expected {
        match end.get(object) {
            None => differences.push(format!("{object} is lost")),
            Some(now) if now != value => {
                differences.push(format!("{object} differs: {}", different("", value, now).join(", ")))
            }
            Some(_) => {}
        }
    }
    differences.extend(
        end.keys().filter(|object| !expected.contains_key(*object)).map(|object| format!("{object} is too much")),
    );
    differences
}

/// Names the fields in which two values differ.
fn different(at: &str, expected: &Value, now: &Value) -> Vec<String> {
    match (expected, now) {
        _ if expected == now => vec![],
        (Value::Object(left), Value::Object(right)) => {
            let keys: std::collections::BTreeSet<&String> = left.keys().chain(right.keys()).collect();
            keys.into_iter().flat_map(|key| different(&format!("{at}/{key}"), &expected[key], &now[key])).collect()
        }
        _ => vec![format!("{at}: expected {expected}, got {now}")],
    }
}
