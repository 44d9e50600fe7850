//! Follows objects until they are ready or deleted; reports changes on the way and the last state at the end.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::time::Duration;

use flux_operator::api::well_known::{self, FINALIZER, FLUX_FINALIZER};
use flux_operator::cluster::ClusterError;
use flux_operator::inspect::diagnose::why;
use flux_operator::inspect::diagnose::why::MissingController;
use flux_operator::inspect::read::from_cluster;
use flux_operator::inspect::views::judged_objects::{JudgedObject, judged_objects};
use flux_operator::k8s::kstatus::Status;
use flux_operator::reconcile::operator::OperatorCoverage;
use flux_operator::request::{AbsencePolicy, LastSeen, Rollout, Wait, WaitError, WaitEvent};
use futures::future::join_all;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use crate::args::FollowArgs;
use crate::flows::operator::{command_without_operator, refused_without_operator};
use crate::flows::request::SentRequest;
use crate::flows::request::{RequestKind, send};
use crate::session::HINT_LIMIT;
use crate::session::Session;
use crate::session::target::Target;
use crate::session::target::instance_kind;
use crate::terminal::progress::{Progress, ProgressMode, State, one_line};
use crate::terminal::{CliError, Exit};

/// An object to follow.
pub struct FollowedObject {
    pub target: Target,
    /// The request that the object has to handle first.
    pub request: Option<String>,
    pub absent: AbsencePolicy,
    /// UID of the object, if known.
    pub uid: Option<String>,
}

/// Follows every object until it is ready; prints the Ready message of each on stdout.
///
/// # Errors
/// The result of each object that did not become ready. If there are several, each is reported, and the last error
/// counts them.
pub async fn until_ready(
    session: &Session<'_>,
    followed: &[FollowedObject],
    mode: ProgressMode,
) -> Result<Exit, CliError> {
    let failed = not_ready(session, followed, mode).await?;
    all_or_error(session, failed, followed.len(), "ready")
}

/// Like [`until_ready`], but returns the result of each object that did not become ready.
async fn not_ready(
    session: &Session<'_>,
    followed: &[FollowedObject],
    mode: ProgressMode,
) -> Result<Vec<CliError>, CliError> {
    let progress = RefCell::new(Progress::new(session.shell, mode));
    let waits = join_all(followed.iter().map(async |one| {
        let key = one.target.reference();
        progress.borrow_mut().set(&key, State::Waiting, "waiting for it to become ready");
        let wait = wait(session, one).await?;
        let activity = ControllerActivity::default();
        let ready = wait.until_ready(one.request.as_deref(), |sign| {
            activity.note(&sign);
            show(&progress, &key, &sign);
        });
        let result = tokio::select! {
            // Check the object's own changes before reporting a missing controller.
            biased;
            result = ready => result,
            error = missing_controller_error(session, one, &activity) => {
                progress.borrow_mut().fail(&key, error.message());
                return Err(error);
            }
        };
        match &result {
            Ok(message) => progress.borrow_mut().set(&key, State::Done, message),
            Err(error) => progress.borrow_mut().fail(&key, &error.to_string()),
        }
        match result {
            Ok(message) => Ok(message),
            Err(error) => Err(explain(session, &one.target, error, "to become ready").await),
        }
    }));
    let instance = followed.iter().find(|one| one.target.kind == instance_kind());
    let results = match instance.filter(|_| progress.borrow().is_shown()) {
        Some(instance) => {
            let components = show_components(session, &instance.target.namespace, &progress);
            tokio::select! {
                results = waits => results,
                never = components => match never {},
            }
        }
        None => waits.await,
    };
    progress.borrow().clear();
    let mut failed = vec![];
    for (one, result) in followed.iter().zip(results) {
        match result {
            Ok(message) => {
                let message = one_line(&message);
                let message = if message.is_empty() { "ready" } else { message.as_str() };
                session.shell.print(&format!("{}: {message}\n", one.target.reference()));
            }
            Err(error) => failed.push(error),
        }
    }
    Ok(failed)
}

/// Sends a request to every target and, unless disabled, follows each until it is ready.
///
/// # Errors
/// As [`send`] and [`until_ready`].
pub async fn request_and_follow(
    session: &Session<'_>,
    targets: &[Target],
    act: RequestKind<'_>,
    follow: &FollowArgs,
) -> Result<Exit, CliError> {
    // A reconcile request is stored even without an operator: an operator that starts later would reconcile anyway.
    if act == RequestKind::Resume && follow.waits() && follow.dry_run().is_none() {
        for target in targets {
            refused_resume(session, target).await.map_or(Ok(()), Err)?;
        }
    }
    let (sent, mut failed) = send(session, targets, act, follow.dry_run()).await?;
    if let (Some(first), true) = (sent.first(), follow.waits()) {
        session.shell.interruption().set(
            "the request is stored, and its controller continues to handle it",
            Some(session.command(&format!("wait {}", words(targets)), &first.target.namespace)),
        );
    }
    if follow.waits() {
        failed.extend(follow_sent(session, sent, act, follow.mode()).await);
    } else {
        for one in sent.iter().filter(|one| waits_for_resume(one, act)) {
            let object = one.target.reference();
            session.shell.warn(&format!("{object} is suspended: the request is handled when it is resumed"));
        }
    }
    all_or_error(session, failed, targets.len(), act.words().goal)
}

/// Whether the request was stored on a suspended object, where nothing handles it.
fn waits_for_resume(sent: &SentRequest, act: RequestKind<'_>) -> bool {
    sent.target.is_suspended(&sent.object) && !matches!(act, RequestKind::Suspend(_))
}

/// Follows every requested object until it is ready; returns the results of those that did not become ready.
pub async fn follow_sent(
    session: &Session<'_>,
    sent: Vec<SentRequest>,
    act: RequestKind<'_>,
    mode: ProgressMode,
) -> Vec<CliError> {
    let (mut followed, mut failed) = (vec![], vec![]);
    for one in sent {
        if waits_for_resume(&one, act) {
            failed.push(explain(session, &one.target, WaitError::Suspended, "").await);
        } else if one.target.kind.has_status && is_static(&one.object) {
            let object = one.target.reference();
            let status = format!("{object} is only a reference to a registry: no controller reports on it");
            session.shell.status(&status);
        } else if one.target.kind.has_status {
            followed.push(FollowedObject {
                target: one.target,
                request: Some(one.token),
                absent: AbsencePolicy::Ends,
                uid: uid_of(&one.object),
            });
        }
    }
    // If no controller can answer, fail now instead of waiting for the timeout.
    if let Some(at) = followed.iter().position(|one| one.target.kind == instance_kind())
        && let Some(error) = missing_operator_error(session, &followed[at].target).await
    {
        followed.remove(at);
        failed.push(error);
    }
    if !followed.is_empty() {
        failed.extend(not_ready(session, &followed, mode).await.unwrap_or_else(|error| vec![error]));
    }
    failed
}

/// Returns the error for resuming an instance that no operator would reconcile. A missing instance gets another error
/// later.
async fn refused_resume(session: &Session<'_>, target: &Target) -> Option<CliError> {
    if target.kind != instance_kind() {
        return None;
    }
    let coverage = missing_operator(session, target).await?;
    session.cluster.read(&target.id()).await.ok()??;
    let here = session.command(&format!("resume {} --in-process", target.words()), &target.namespace);
    Some(refused_without_operator(session, target, "resume", &coverage, &here))
}

/// Returns how the operator is missing; `None` if it runs, or if that cannot be determined within [`HINT_LIMIT`].
async fn missing_operator(session: &Session<'_>, target: &Target) -> Option<OperatorCoverage> {
    let limit = HINT_LIMIT.min(session.deadline.left());
    let coverage = timeout(limit, session.operator_coverage(target)).await.ok()?.ok()?;
    coverage.is_missing().then_some(coverage)
}

/// Returns the error for a stored request that no operator will answer.
async fn missing_operator_error(session: &Session<'_>, target: &Target) -> Option<CliError> {
    let coverage = missing_operator(session, target).await?;
    let place = session.place(&target.reference());
    let here = session.command(&format!("reconcile {} --in-process", target.words()), &target.namespace);
    let error = CliError::failed(format!("the request is saved on {place}, but no controller is running to handle it"));
    let error = error.cause(coverage.to_string()).object(target.reference());
    Some(error.hint(command_without_operator(session, &coverage, "run the reconciliation from here", &here)))
}

/// Returns the UID, which distinguishes an object from later ones with the same name.
pub fn uid_of(object: &Value) -> Option<String> {
    object["metadata"]["uid"].as_str().map(str::to_owned)
}

/// Whether the object is a HelmRepository of type `oci`, which has no status
/// (<https://fluxcd.io/flux/components/source/helmrepositories/#helm-oci-repository>).
fn is_static(object: &Value) -> bool {
    object["kind"] == "HelmRepository" && object["spec"]["type"] == "oci"
}

/// Time without any change before the controller of an object is checked.
const QUIET_TIME: Duration = Duration::from_millis(900);
/// Like [`QUIET_TIME`], if Flux may run outside the cluster.
const QUIET_TIME_OUTSIDE: Duration = Duration::from_secs(15);

/// Whether the followed object shows activity.
#[derive(Default)]
struct ControllerActivity {
    count: Cell<usize>,
    first: Notify,
}

impl ControllerActivity {
    fn note(&self, sign: &WaitEvent) {
        match sign {
            WaitEvent::Pending(_) | WaitEvent::Condition(_) => self.add(),
            WaitEvent::Missing | WaitEvent::Event(_) | WaitEvent::Finalizers(_) | WaitEvent::Retrying(_) => {}
        }
    }

    /// Like [`ControllerActivity::note`], for an object that is being deleted. Other finalizers than Flux's do not
    /// count, because their holders are unknown.
    fn note_leaving(&self, sign: &WaitEvent) {
        let is_flux = |name: &String| [FINALIZER, FLUX_FINALIZER].contains(&name.as_str());
        if matches!(sign, WaitEvent::Finalizers(list) if !list.is_empty() && list.iter().all(is_flux)) {
            self.add();
        }
    }

    fn add(&self) {
        self.count.set(self.count.get() + 1);
        self.first.notify_one();
    }
}

/// Returns the error for an object without a controller; never returns if there is one or it is unknown.
async fn missing_controller_error(
    session: &Session<'_>,
    followed: &FollowedObject,
    activity: &ControllerActivity,
) -> CliError {
    let place = session.place(&followed.target.reference());
    let error = match followed.request {
        Some(_) => {
            CliError::failed(format!("the request is saved on {place}, but no controller is running to handle it"))
        }
        None => CliError::new(
            Exit::Unhealthy,
            format!("{place} does not become ready: no controller is running to reconcile it"),
        ),
    };
    with_missing_controller(session, followed, activity, error).await
}

/// Like [`missing_controller_error`], for an object that is being deleted and has a finalizer that no controller will
/// remove.
async fn stuck_finalizer_error(
    session: &Session<'_>,
    followed: &FollowedObject,
    activity: &ControllerActivity,
) -> CliError {
    let place = session.place(&followed.target.reference());
    let error = CliError::new(
        Exit::Unhealthy,
        format!("{place} is not deleted: no controller is running to remove its finalizer"),
    );
    with_missing_controller(session, followed, activity, error).await
}

/// Returns `error` with the missing controller after a time without further activity.
async fn with_missing_controller(
    session: &Session<'_>,
    followed: &FollowedObject,
    activity: &ControllerActivity,
    error: CliError,
) -> CliError {
    // The first event is the object as it was found, so the quiet time starts there.
    activity.first.notified().await;
    let before = activity.count.get();
    tokio::time::sleep(QUIET_TIME).await;
    // Any further event means that a controller is working, even if no Deployment shows it.
    if activity.count.get() == before
        && let Ok(Ok(Some(MissingController { cause, is_certain }))) =
            timeout(HINT_LIMIT, find_missing_controller(session, &followed.target)).await
    {
        if !is_certain {
            tokio::time::sleep(QUIET_TIME_OUTSIDE).await;
        }
        // The object has changed in the meantime, so a controller is at work.
        if activity.count.get() != before {
            return std::future::pending().await;
        }
        let error = error.cause(cause.summary).object(followed.target.reference());
        let steps = cause.next.iter().map(|step| session.destination().sentence(step));
        return steps.fold(error, CliError::hint);
    }
    std::future::pending().await
}

async fn find_missing_controller(
    session: &Session<'_>,
    target: &Target,
) -> Result<Option<MissingController>, ClusterError> {
    let resource = target.kind.resource_type();
    let now = jiff::Timestamp::now();
    let found = from_cluster::collect(&session.cluster, |snapshot| {
        let object = snapshot.get(&resource, Some(&target.namespace), &target.name)?;
        why::missing_controller(snapshot, object, now)
    });
    Ok(found.await?.value)
}

/// Formats all targets as words after a verb.
fn words(targets: &[Target]) -> String {
    match targets {
        [one] => one.words(),
        many => {
            let names: Vec<_> = many.iter().map(|t| format!("{}/{}", t.kind.kind.to_lowercase(), t.name)).collect();
            names.join(" ")
        }
    }
}

/// Deadline of a watch without `--timeout`, because timers have a maximum. An interrupt ends such a watch.
const NO_END: Duration = Duration::from_secs(365 * 24 * 3600);

/// Prints every change of the objects on stdout until an interrupt, the time-out, or the deletion of all of them.
///
/// # Errors
/// An object is deleted or cannot be watched; reaching the time-out is not an error.
pub async fn watch(session: &Session<'_>, followed: &[FollowedObject]) -> Result<Exit, CliError> {
    let results = join_all(followed.iter().map(async |one| {
        let key = one.target.reference();
        let mut wait = wait(session, one).await?;
        if session.shell.global().timeout.is_none() {
            wait.deadline = Instant::now() + NO_END;
        }
        let output_closed = Notify::new();
        let print = |sign: WaitEvent| {
            let line = match sign {
                WaitEvent::Condition(condition) => condition.to_string(),
                WaitEvent::Event(event) => event.to_string(),
                WaitEvent::Retrying(why) => format!("the API server does not answer, trying again: {why}"),
                WaitEvent::Missing | WaitEvent::Pending(_) | WaitEvent::Finalizers(_) => return,
            };
            session.shell.print(&format!("{key}: {}\n", one_line(&line)));
            if session.shell.output_is_lost() {
                output_closed.notify_one();
            }
        };
        let result = tokio::select! {
            result = wait.observe(print) => result,
            () = output_closed.notified() => Ok(()),
        };
        match result {
            Ok(()) | Err(WaitError::TimedOut(_)) => Ok(()),
            Err(error) => Err(explain(session, &one.target, error, "to change").await),
        }
    }))
    .await;
    let failed: Vec<CliError> = results.into_iter().filter_map(Result::err).collect();
    all_or_error(session, failed, followed.len(), "there any more")
}

/// Shows the progress of Flux's controllers; never returns.
async fn show_components(session: &Session<'_>, namespace: &str, progress: &RefCell<Progress>) -> Infallible {
    let mut rollout = Rollout::new(&session.cluster, namespace);
    // Without the right to read Deployments or pods, the instance's conditions are still shown.
    while let Ok(news) = rollout.next().await {
        let mut progress = progress.borrow_mut();
        for component in news {
            progress.set(&component.name, state_of(component.status), &component.message);
        }
    }
    std::future::pending().await
}

/// Maps a health to the state of a progress line.
pub fn state_of(status: Status) -> State {
    match status {
        Status::Current | Status::NotFound => State::Done,
        Status::Failed => State::Failed,
        Status::InProgress | Status::Terminating | Status::Unknown => State::Waiting,
    }
}

/// Follows an object until it is deleted. If its UID is known, a later object with the same name does not count.
///
/// # Errors
/// It still exists at the deadline; the error names the finalizers.
pub async fn until_gone(session: &Session<'_>, followed: &FollowedObject, mode: ProgressMode) -> Result<(), CliError> {
    let progress = RefCell::new(Progress::new(session.shell, mode));
    let key = followed.target.reference();
    progress.borrow_mut().set(&key, State::Waiting, "waiting for it to be deleted");
    let wait = wait(session, followed).await?;
    let activity = ControllerActivity::default();
    let gone = wait.until_gone(|sign| {
        activity.note_leaving(&sign);
        show(&progress, &key, &sign);
    });
    let result = tokio::select! {
        // Check the deletion itself before reporting a missing controller.
        biased;
        result = gone => result,
        error = stuck_finalizer_error(session, followed, &activity) => {
            progress.borrow().clear();
            return Err(error);
        }
    };
    progress.borrow().clear();
    match result {
        Ok(()) => Ok(()),
        Err(error) => Err(explain(session, &followed.target, error, "to be deleted").await),
    }
}

/// Follows an object until it exists.
///
/// # Errors
/// It does not exist at the deadline.
pub async fn until_created(
    session: &Session<'_>,
    followed: &FollowedObject,
    mode: ProgressMode,
) -> Result<(), CliError> {
    let progress = RefCell::new(Progress::new(session.shell, mode));
    let key = followed.target.reference();
    let wait = wait(session, followed).await?;
    let result = wait.until_created(|sign| show(&progress, &key, &sign)).await;
    progress.borrow().clear();
    match result {
        Ok(()) => Ok(()),
        Err(error) => Err(explain(session, &followed.target, error, "to be created").await),
    }
}

/// Reports the errors of several objects and returns an error that counts them.
pub fn all_or_error(
    session: &Session<'_>,
    mut failed: Vec<CliError>,
    of: usize,
    state: &str,
) -> Result<Exit, CliError> {
    match (failed.len(), of) {
        (0, _) => Ok(Exit::Done),
        // A single object needs no count.
        (1, 1) => Err(failed.swap_remove(0)),
        (count, of) => {
            let exit = failed.first().map_or(Exit::Failed, CliError::exit);
            for error in &failed {
                session.shell.report(error);
            }
            let are = if count == 1 { "is" } else { "are" };
            Err(CliError::new(exit, format!("{count} of {of} objects {are} not {state}")))
        }
    }
}

async fn wait(session: &Session<'_>, followed: &FollowedObject) -> Result<Wait, CliError> {
    let target = &followed.target;
    Ok(Wait {
        cluster: session.cluster.clone(),
        resource: session.served(target.kind).await?,
        namespace: target.namespace.clone(),
        name: target.name.clone(),
        uid: followed.uid.clone(),
        suspension: target.kind.suspension,
        deadline: session.deadline.instant(),
        absent: followed.absent,
    })
}

fn show(progress: &RefCell<Progress>, key: &str, sign: &WaitEvent) {
    let mut progress = progress.borrow_mut();
    match sign {
        WaitEvent::Missing => progress.set(key, State::Waiting, "waiting for it to be created"),
        // The following condition says more.
        WaitEvent::Pending(flux_operator::request::PendingReason::InProgress(_)) => {}
        WaitEvent::Pending(pending) => progress.set(key, State::Waiting, &pending.to_string()),
        WaitEvent::Condition(condition) => progress.set(key, State::Waiting, &condition.to_string()),
        WaitEvent::Event(event) => progress.note(key, &event.to_string()),
        WaitEvent::Finalizers(list) if list.is_empty() => {
            progress.set(key, State::Waiting, "waiting for it to be deleted")
        }
        WaitEvent::Finalizers(list) => {
            progress.set(key, State::Waiting, &format!("waiting for its finalizers: {}", list.join(", ")));
        }
        WaitEvent::Retrying(why) => progress.note(key, &format!("the API server does not answer, trying again: {why}")),
    }
}

/// Kinds whose spec has expressions that judge the health of the applied objects.
const KINDS_WITH_HEALTH_CHECKS: [&str; 2] = ["Kustomization", "HelmRelease"];

async fn explain(session: &Session<'_>, target: &Target, error: WaitError, goal: &str) -> CliError {
    let reference = target.reference();
    let judged = match &error {
        WaitError::TimedOut(_) | WaitError::Failed { .. } if KINDS_WITH_HEALTH_CHECKS.contains(&target.kind.kind) => {
            health_checks(session, target).await
        }
        _ => vec![],
    };
    let error = match error {
        WaitError::TimedOut(last) => {
            let message = format!(
                "timed out after {} waiting for {} {goal}",
                session.deadline.length(),
                session.place(&reference)
            );
            timed_out(session, target, CliError::new(Exit::Unhealthy, message), &last)
        }
        WaitError::Failed { reason, message } => {
            let error = CliError::new(Exit::Unhealthy, format!("{} failed", session.place(&reference)))
                .cause(format!("{reason}: {}", message.trim_end()));
            error.hint(format!("see its history and events with `{}`", session.command_to_show(target)))
        }
        WaitError::Suspended => suspended(session, target).await,
        WaitError::Missing => session.missing(target).await,
        WaitError::Deleting => CliError::failed(format!("{} is being deleted", session.place(&reference))),
        WaitError::Deleted => {
            CliError::new(Exit::NotFound, format!("{} was deleted while waiting", session.place(&reference)))
        }
        WaitError::Watch(source) => session.watch_error(target, *source),
    };
    let error = unhealthy(&judged).fold(error, CliError::cause);
    error.object(reference)
}

/// Evaluates the health expressions of a followed object on the objects that it applied; empty if they cannot be read.
async fn health_checks(session: &Session<'_>, target: &Target) -> Vec<JudgedObject> {
    let resource = target.kind.resource_type();
    let found = from_cluster::collect(&session.cluster, |snapshot| {
        let owner = snapshot.get(&resource, Some(&target.namespace), &target.name);
        owner.map(|owner| judged_objects(snapshot, owner)).unwrap_or_default()
    });
    timeout(HINT_LIMIT, found).await.ok().and_then(Result::ok).map(|found| found.value).unwrap_or_default()
}

/// Returns a line for each object that is not healthy: the part of the expression that is false, and its values.
pub fn unhealthy(judged: &[JudgedObject]) -> impl Iterator<Item = String> {
    let failing = judged.iter().filter(|one| one.status != Status::Current);
    failing.map(|one| format!("{} is {}: {}", one.object, one.status, one.message))
}

/// Returns the error for a request to a suspended object.
pub async fn suspended(session: &Session<'_>, target: &Target) -> CliError {
    CliError::failed(format!("reconciliation is disabled for {}", session.place(&target.reference())))
        .object(target.reference())
        .hint(format!("resume it with `{}`", resume_command(session, target).await))
}

/// Returns the command line that resumes an object; with `--in-process` for an instance without a running operator.
pub async fn resume_command(session: &Session<'_>, target: &Target) -> String {
    // `resume` reconciles in this process only for an instance.
    let in_process = target.kind == instance_kind() && missing_operator(session, target).await.is_some();
    let flag = if in_process { " --in-process" } else { "" };
    session.command(&format!("resume {}{flag}", target.words()), &target.namespace)
}

fn timed_out(session: &Session<'_>, target: &Target, mut error: CliError, last: &LastSeen) -> CliError {
    if let Some(condition) = &last.condition {
        error = error.cause(format!("last condition: {condition}"));
    }
    // A pending condition would only repeat the condition.
    let condition = last.condition.as_ref().map(ToString::to_string);
    if let Some(pending) = last.pending.as_ref().filter(|p| Some(*p) != condition.as_ref()) {
        error = error.cause(match pending.starts_with("waiting ") {
            true => format!("still {pending}"),
            false => format!("still waiting: {pending}"),
        });
    }
    if let Some(event) = &last.event {
        error = error.cause(format!("last event: {event}"));
    }
    if let Some(trouble) = &last.trouble {
        error = error.cause(format!("the API server could not be asked: {trouble}"));
    }
    if last.condition.is_none() && last.trouble.is_none() && target.kind.group == well_known::GROUP {
        error = error.hint(format!(
            "no operator seems to reconcile it; run the reconciliation here with `{}`",
            session.command(&format!("reconcile {} --in-process", target.words()), &target.namespace)
        ));
    }
    error.hint(format!("see what it does with `{}`", session.command_to_show(target)))
}
