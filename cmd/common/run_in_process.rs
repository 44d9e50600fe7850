//! Runs of the reconcile core in this process: progress, interrupts, the deadline, and what came of it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use flux_operator::api::FluxInstance;
use flux_operator::api::well_known;
use flux_operator::cluster::lease::{self, LeaseError};
use flux_operator::cluster::requests::CallError;
use flux_operator::cluster::{ClusterError, Endpoint, Reason};
use flux_operator::distribution::Distribution;
use flux_operator::k8s::ObjectId;
use flux_operator::reconcile::interrupt::{self, Interrupt};
use flux_operator::reconcile::operator::{Attention, TERMINAL_IDENTITY_PREFIX};
use flux_operator::reconcile::plan::Step;
use flux_operator::reconcile::progress::{Action, Stage, Update};
use flux_operator::reconcile::{self, Failure, Options, Outcome, Plan, ReconcileError};
use kube::core::DynamicObject;
use serde_json::Value;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::common::{Session, Target, state_of};
use crate::render::hints;
use crate::shell::cluster::cli_error;
use crate::shell::progress::{Progress, ProgressMode, State};
use crate::shell::{CliError, Exit, environment, interrupted};

/// The flags of every command that can do the operator's work here.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct InProcessArgs {
    /// Do the operator's work in this process, without an operator in the
    /// cluster
    #[arg(long)]
    pub in_process: bool,
    /// Work in this process even though an operator is running
    #[arg(long, requires = "in_process")]
    pub force_in_process: bool,
}

#[derive(clap::Args, Clone, Debug)]
pub struct DistributionArgs {
    /// Flux manifests to build from instead of the embedded ones
    ///
    /// A directory or .tar.gz as `distribution export` writes it.
    #[arg(long, value_name = "DIR|FILE.tar.gz")]
    pub distribution: Option<PathBuf>,
    /// Fail on patches without effect and on images without digest
    #[arg(long)]
    pub strict: bool,
}

impl DistributionArgs {
    pub fn is_given(&self) -> bool {
        self.distribution.is_some() || self.strict
    }

    /// Opens the distribution; says once that an artifact the instance names is not pulled.
    pub fn open(&self, session: &Session<'_>, instance: &FluxInstance) -> Result<Distribution, CliError> {
        if let Some(artifact) = &instance.spec.distribution.artifact {
            let instead = match &self.distribution {
                Some(path) => path.display().to_string(),
                None => "the embedded distribution".to_owned(),
            };
            session.shell.warn(&format!("{artifact} is not pulled in this process: {instead} is used"));
        }
        match &self.distribution {
            None => Ok(Distribution::embedded()),
            Some(path) => Distribution::open(path).map_err(|error| {
                CliError::failed(format!("cannot use the distribution {}", path.display())).caused_by(&error)
            }),
        }
    }
}

/// Refuses to work beside a running operator, before anything is written that would wake it.
pub fn refuse_beside_operator(
    session: &Session<'_>,
    args: &InProcessArgs,
    reference: &str,
    attention: &Attention,
    without: &str,
) -> Result<(), CliError> {
    match attention {
        Attention::Watched(operator) if !args.force_in_process => {
            Err(CliError::failed(format!("cannot work on {} in this process", session.place(reference)))
                .cause(format!("the operator in namespace {} is running: {}", operator.namespace, operator.state))
                .object(reference)
                .hint(format!("leave the work to it with `{without}`, or add --force-in-process")))
        }
        _ => Ok(()),
    }
}

/// Options of a run from this terminal.
pub fn options(args: &InProcessArgs, strict: bool) -> Options {
    let host = environment::host_name().unwrap_or_else(|| "terminal".to_owned());
    let mut options = Options::in_process(lease::unique_identity(&format!(
        "{TERMINAL_IDENTITY_PREFIX}{host}_{}",
        std::process::id()
    )));
    if let Some(lease) = &mut options.lease {
        lease.force = args.force_in_process;
        // An operator is refused before this. A run from another terminal ends soon, and the lease of one that was killed
        // runs out.
        lease.wait = lease.duration + Duration::from_secs(5);
    }
    options.force = args.force_in_process;
    options.strict = strict;
    options
}

/// Time an interrupted run gets to write its status and give the lease back.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// Does one run of the core: `work` gets the options and a listener. Ctrl-C, SIGTERM and the deadline end it in order.
///
/// # Errors
/// 130 when interrupted, with what goes on and how to continue.
pub async fn conduct<T>(
    session: &Session<'_>,
    mode: ProgressMode,
    mut options: Options,
    verb: &str,
    key: &str,
    again: &str,
    work: impl AsyncFnOnce(&Options, &Listener) -> Result<T, ReconcileError>,
) -> Result<T, CliError> {
    let (stop, interrupts) = interrupt::channel();
    options.interrupts = interrupts;
    // Earlier than the deadline by what it takes to record that the objects did not become ready.
    let left = session.deadline.left();
    let reserve = (left / 10).min(Duration::from_secs(2));
    options.health_deadline = Some(session.deadline.instant() - reserve);
    let soft_end = session.deadline.instant() - reserve / 2;
    let listener = Listener::new(Progress::new(session.shell, mode), key);
    let result = {
        let mut run = Box::pin(work(&options, &listener));
        let stopped = tokio::select! {
            result = &mut run => Ok(result),
            () = interrupted() => Err(true),
            () = sleep_until(soft_end) => Err(false),
        };
        match stopped {
            Ok(result) => Ok(result),
            Err(by_user) => {
                let stage = listener.stage();
                let why = if by_user {
                    "interrupted".to_owned()
                } else {
                    format!("the time-out of {}", session.deadline.length())
                };
                stop.send_replace(Some(Interrupt::Stop(why)));
                // The run takes in the answers under way, writes its status and gives the lease back; a second Ctrl-C does
                // not wait for that.
                let hard_end = if by_user { Instant::now() + LAST_WORDS } else { session.deadline.instant() };
                let ended = tokio::select! {
                    result = timeout_at(hard_end, &mut run) => result.ok(),
                    () = interrupted() => None,
                };
                match ended {
                    // It was done anyway.
                    Some(Ok(result)) if !by_user => Ok(Ok(result)),
                    other => Err((by_user, listener.done_until(stage), other)),
                }
            }
        }
    };
    listener.clear();
    match result {
        Ok(result) => result.map_err(|error| reconcile_error(session, &error, verb, key)),
        Err((by_user, done, ended)) => {
            if let Some(Err(error)) = ended
                && !by_user
            {
                return Err(reconcile_error(session, &error, verb, key));
            }
            let (exit, message) = if by_user {
                (Exit::Interrupted, format!("interrupted: {done}"))
            } else {
                (Exit::Unhealthy, format!("timed out after {}: {done}", session.deadline.length()))
            };
            Err(CliError::new(exit, message).object(key).hint(format!("the next run completes it: `{again}`")))
        }
    }
}

/// Makes a plan, with progress; nothing is written, so an interrupt just ends it.
pub async fn plan(
    session: &Session<'_>,
    instance: &FluxInstance,
    distribution: &Distribution,
    options: &Options,
    mode: ProgressMode,
) -> Result<Plan, CliError> {
    let key = ObjectId::new(
        well_known::GROUP,
        "FluxInstance",
        instance.metadata.namespace.as_deref(),
        instance.metadata.name.as_deref().unwrap_or_default(),
    )
    .lower_case();
    let listener = Listener::new(Progress::new(session.shell, mode), &key);
    let work = reconcile::plan(&session.cluster, instance, distribution, options, &listener);
    let bounded = session.shell.interruptible(async {
        match timeout_at(session.deadline.instant(), work).await {
            Ok(result) => result.map_err(|error| reconcile_error(session, &error, "plan", &key)),
            Err(_) => Err(session.out_of_time(&format!("plan {key}"))),
        }
    });
    let result = bounded.await;
    listener.clear();
    result
}

/// `4 to create, 1 to configure, 27 unchanged, 1 to prune`.
pub fn plan_counts(plan: &Plan) -> String {
    let words = [
        (Step::Create, "to create"),
        (Step::Configure, "to configure"),
        (Step::Unchanged, "unchanged"),
        (Step::Prune, "to prune"),
        (Step::Skip, "kept from pruning"),
    ];
    let counts = words.into_iter().map(|(step, word)| (plan.count(step), word)).filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, word)| format!("{count} {word}")).collect();
    if counts.is_empty() { "nothing to do".to_owned() } else { counts.join(", ") }
}

/// A failure of the cluster module inside a run.
pub fn called(error: ClusterError) -> ReconcileError {
    ReconcileError::Call(CallError { explained: Box::new(error), status: None })
}

/// The instance as the API server stored it.
pub fn stored(object: Value, target: &Target) -> Result<FluxInstance, CallError> {
    serde_json::from_value(object).map_err(|error| {
        let reason = Reason::Other(error.to_string());
        let attempted = format!("understand {}", target.reference());
        CallError { explained: Box::new(ClusterError::new(attempted, Endpoint::default(), reason)), status: None }
    })
}

/// The instance of an object that was read.
pub fn typed(object: DynamicObject) -> Result<FluxInstance, CliError> {
    let failed =
        |e: serde_json::Error| CliError::failed("cannot understand the FluxInstance of the cluster").caused_by(&e);
    serde_json::to_value(object).and_then(serde_json::from_value).map_err(failed)
}

/// Prints what came of a run.
pub fn conclude(session: &Session<'_>, key: &str, outcome: &Outcome, look: &str) -> Result<Exit, CliError> {
    for warning in &outcome.warnings {
        session.shell.warn(warning);
    }
    let count = |action: Action| outcome.changes.iter().filter(|change| change.action == action).count();
    let counts: Vec<String> = [Action::Created, Action::Configured, Action::Deleted, Action::Skipped]
        .into_iter()
        .map(|action| (count(action), action.as_str()))
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    if !counts.is_empty() {
        session.shell.status(&format!("objects: {}", counts.join(", ")));
    }
    if !outcome.migrated.is_empty() {
        session.shell.status(&format!("migrated: {}", outcome.migrated.join(", ")));
    }
    let Some(failure) = &outcome.failure else {
        session.shell.print(&format!("{key}: {}\n", crate::shell::progress::one_line(&outcome.message)))?;
        return Ok(Exit::Done);
    };
    let exit = match failure {
        // A user's interrupt is told before this; what is left is the deadline.
        Failure::Unhealthy { .. } | Failure::Interrupted(_) => Exit::Unhealthy,
        Failure::Call(error) => cli_error(&error.explained).exit(),
        Failure::Apply(errors) => errors.first().map_or(Exit::Failed, |e| cli_error(&e.source.explained).exit()),
        Failure::Build(_) | Failure::Prune(_) | Failure::Suspended => Exit::Failed,
    };
    let mut error = CliError::new(exit, format!("{key} failed"));
    error = error.cause(format!("{}: {}", outcome.reason, outcome.message.trim_end())).object(key);
    if let Failure::Build(build) = failure
        && let Some(hint) = hints::of_build(build)
    {
        error = error.hint(hint);
    }
    if let Failure::Apply(errors) = failure {
        error = errors
            .iter()
            .flat_map(|e| hints::of_cluster(&e.source.explained.reason))
            .take(1)
            .fold(error, CliError::hint);
    }
    Err(error.hint(format!("see its state with `{look}`")))
}

/// Puts the errors of the core into the words and exit codes of the command line.
pub fn reconcile_error(session: &Session<'_>, error: &ReconcileError, verb: &str, key: &str) -> CliError {
    let failed = || CliError::failed(format!("cannot {verb} {key}")).caused_by(error).object(key);
    match error {
        ReconcileError::Call(call) => call_error(call),
        ReconcileError::Lease { source: LeaseError::Call(call), .. } => call_error(call),
        ReconcileError::Lease { .. } => {
            failed().hint("wait until the other reconciler is done, or take over with --force-in-process")
        }
        ReconcileError::OperatorAlive { .. } => failed().hint("leave the work to it, or add --force-in-process"),
        ReconcileError::Build(build) => hints::of_build(build).into_iter().fold(failed(), CliError::hint),
        ReconcileError::Moved { .. } | ReconcileError::PlanOutdated { .. } => {
            failed().hint("make a new plan with `flux-operator plan instance --out FILE`")
        }
        ReconcileError::Refused(errors) => {
            let exit = errors.first().map_or(Exit::Failed, |e| cli_error(&e.source.explained).exit());
            let told =
                CliError::new(exit, format!("the API server refuses objects of {key} ({})", session.cluster.endpoint));
            let told = errors.iter().fold(told, |told, error| told.cause(error.to_string()));
            errors.iter().flat_map(|e| hints::of_cluster(&e.source.explained.reason)).take(1).fold(told, CliError::hint)
        }
        ReconcileError::LeaseLost { .. } | ReconcileError::NotEstablished { .. } => failed(),
    }
}

fn call_error(error: &CallError) -> CliError {
    cli_error(&error.explained)
}

/// Draws what the core tells.
pub struct Listener {
    progress: Mutex<Progress>,
    key: String,
    state: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    stage: Option<Stage>,
    of: usize,
    done: usize,
    /// Names; the namespace is changed twice by a first install.
    changed: BTreeSet<String>,
}

impl Listener {
    fn new(progress: Progress, key: &str) -> Self {
        Listener { progress: Mutex::new(progress), key: key.to_owned(), state: Mutex::default() }
    }

    /// Says something beside the progress.
    pub fn say(&self, text: &str) {
        lock(&self.progress).say(text);
    }

    fn clear(&self) {
        lock(&self.progress).clear();
    }

    fn stage(&self) -> Option<Stage> {
        lock(&self.state).stage
    }

    /// What was done by a run that was stopped in `stage`, for its last words.
    fn done_until(&self, stage: Option<Stage>) -> String {
        let seen = lock(&self.state);
        let done = match seen.changed.len() {
            0 => "nothing was changed".to_owned(),
            1 => "1 object was changed".to_owned(),
            changed => format!("{changed} objects were changed"),
        };
        match stage {
            None | Some(Stage::Lease | Stage::Build | Stage::Plan) if seen.changed.is_empty() => done,
            Some(stage) => format!("{done}, the run ended while {}", lower(stage.message())),
            None => done,
        }
    }
}

impl flux_operator::reconcile::progress::Progress for Listener {
    fn report(&self, update: Update) {
        let mut progress = lock(&self.progress);
        if progress.is_json() {
            progress.json(&update);
        }
        let mut seen = lock(&self.state);
        match update {
            Update::StageBegan { stage, objects } => {
                (seen.stage, seen.of, seen.done) = (Some(stage), objects, 0);
                progress.set(&self.key, State::Waiting, &stage_text(&seen));
            }
            Update::Object { object, action } => {
                seen.done += 1;
                if !matches!(action, Action::Unchanged | Action::Skipped) {
                    seen.changed.insert(object.clone());
                }
                if action != Action::Unchanged {
                    progress.detail(&object, action.as_str());
                }
                progress.redraw(&self.key, &stage_text(&seen));
            }
            Update::WaitingForLease { holder } => {
                progress.set(&self.key, State::Waiting, &format!("waiting for the lease that {holder} holds"));
            }
            // Definitions, namespaces and roles take a moment each: a line for each of them would hide the controllers.
            Update::Waiting { object, .. } if !has_own_line(&object) => {
                progress.redraw(&self.key, &format!("waiting for {object}"));
            }
            Update::Ready { object } if !has_own_line(&object) => {}
            Update::Waiting { object, health, message } => progress.set(short(&object), state_of(health), &message),
            Update::Ready { object } => {
                let goes = matches!(seen.stage, Some(Stage::Prune | Stage::DeleteControllers | Stage::DeleteObjects));
                progress.set(short(&object), State::Done, if goes { "gone" } else { "ready" });
            }
            Update::Migrated { definition, done, total } => {
                progress.redraw(&self.key, &format!("Migrating {definition}: {done} of {total}"));
            }
            Update::Retrying { what, reason, pause } => {
                progress.note(&what, &format!("{reason}; trying again in {pause:?}"));
            }
            Update::Warning { message } => progress.note(&self.key, &message),
            Update::Finished { ready, message } => {
                let state = if ready { State::Done } else { State::Failed };
                progress.set(&self.key, state, &message);
            }
        }
    }
}

fn has_own_line(object: &str) -> bool {
    !["CustomResourceDefinition/", "Namespace/", "ClusterRole/"].iter().any(|kind| object.starts_with(kind))
}

/// Controllers are known by their names.
fn short(object: &str) -> &str {
    match object.strip_prefix("Deployment/") {
        Some(rest) => rest.rsplit('/').next().unwrap_or(rest),
        None => object,
    }
}

fn stage_text(seen: &Seen) -> String {
    let stage = seen.stage.map_or("", Stage::message);
    match (seen.done, seen.of) {
        (0, 0) => stage.to_owned(),
        (done, of) if of >= done && of > 0 => format!("{stage} ({done} of {of})"),
        (done, _) => format!("{stage} ({done})"),
    }
}

fn lower(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_lowercase().chain(characters).collect())
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
