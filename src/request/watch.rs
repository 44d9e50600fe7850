//! Waits by watch until an object is ready, exists, or is deleted.

use std::fmt;

use futures::{StreamExt, pin_mut, stream};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::readiness::{ConditionView, PendingReason, Readiness, assess, most_informative_condition};
use crate::api::kinds::{EVENT, ResourceType, Suspension};
use crate::cluster::watch::{FollowedChange, Follower};
use crate::cluster::{Cluster, ClusterError, ListOptions, Reason};
use crate::k8s::fields;

/// The object to wait for, and the limits of the wait.
pub struct Wait {
    pub cluster: Cluster,
    /// The resource type of the object.
    pub resource: ResourceType,
    pub namespace: String,
    pub name: String,
    /// The UID of the object, if known: another object with the same name does not count.
    pub uid: Option<String>,
    pub suspension: Suspension,
    /// The end of the wait.
    pub deadline: Instant,
    /// How to treat a missing object.
    pub absent: AbsencePolicy,
}

/// The meaning of a missing object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbsencePolicy {
    /// It ends the wait.
    Ends,
    /// The wait continues until the object is created.
    Awaited,
}

/// A change during a wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitEvent {
    /// The object does not exist yet.
    Missing,
    /// The object exists, but is not ready for this reason.
    Pending(PendingReason),
    /// A condition changed.
    Condition(ConditionView),
    /// An event about the object was recorded.
    Event(EventView),
    /// These finalizers delay the deletion; empty if deletion was not requested.
    Finalizers(Vec<String>),
    /// The API server did not answer; another attempt follows.
    Retrying(String),
}

/// A recorded event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventView {
    pub reason: String,
    pub message: String,
    pub warning: bool,
}

impl fmt::Display for EventView {
    /// `ReconciliationFailed: the message`, on one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = self.message.trim().lines();
        write!(f, "{}: {}", self.reason, lines.next().unwrap_or_default())?;
        match lines.count() {
            0 => Ok(()),
            more => write!(f, " (and {more} more lines)"),
        }
    }
}

/// The last state before a wait gave up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LastSeen {
    /// The reason to keep waiting.
    pub pending: Option<String>,
    pub condition: Option<ConditionView>,
    pub event: Option<EventView>,
    /// The reason why the API server did not answer at the end; `None` if it answered.
    pub trouble: Option<String>,
}

/// Why a wait failed.
#[derive(Debug, thiserror::Error)]
pub enum WaitError {
    #[error("timed out")]
    TimedOut(Box<LastSeen>),
    #[error("{reason}: {message}")]
    Failed { reason: String, message: String },
    #[error("reconciliation is disabled")]
    Suspended,
    #[error("the object does not exist")]
    Missing,
    #[error("the object is being deleted")]
    Deleting,
    #[error("the object was deleted while waiting")]
    Deleted,
    #[error("cannot watch the object")]
    Watch(#[source] Box<ClusterError>),
}

impl Wait {
    /// Waits until the request is handled and the object is Ready; returns the Ready message.
    ///
    /// `report` is called for every change. Dropping the future ends the watch and leaves nothing behind.
    ///
    /// # Errors
    /// Every variant of [`WaitError`]. Refusals of the API server (401, 403, 404) end the wait at once; any other error
    /// is retried until the deadline.
    pub async fn until_ready(
        &self,
        request: Option<&str>,
        mut report: impl FnMut(WaitEvent),
    ) -> Result<String, WaitError> {
        let mut uid = self.uid.clone();
        let mut pending: Option<PendingReason> = None;
        let judge = |object: Option<&Value>, report: &mut dyn FnMut(WaitEvent)| {
            let Some(object) = object else { return self.ends_absent(uid.is_some(), report).map(Err) };
            let seen = uid_of(object);
            // A new object with the same name never received the request.
            if uid.is_some() && uid != seen && request.is_some() {
                return Some(Err(WaitError::Deleted));
            }
            uid = seen;
            match assess(object, self.suspension, request) {
                Readiness::Ready { message } => Some(Ok(message)),
                Readiness::Failed { reason, message } => Some(Err(WaitError::Failed { reason, message })),
                Readiness::Suspended => Some(Err(WaitError::Suspended)),
                Readiness::Deleting => Some(Err(WaitError::Deleting)),
                Readiness::Pending(now) => {
                    if pending.as_ref() != Some(&now) {
                        report(WaitEvent::Pending(now.clone()));
                        pending = Some(now);
                    }
                    None
                }
            }
        };
        self.watch(judge, &mut report).await
    }

    /// Returns the error if a missing object ends the wait. `was_known` means that the object existed before.
    fn ends_absent(&self, was_known: bool, report: &mut dyn FnMut(WaitEvent)) -> Option<WaitError> {
        match (was_known, self.absent) {
            (true, _) => Some(WaitError::Deleted),
            (false, AbsencePolicy::Ends) => Some(WaitError::Missing),
            (false, AbsencePolicy::Awaited) => {
                report(WaitEvent::Missing);
                None
            }
        }
    }

    /// Reports every change until the object is deleted or the deadline has passed.
    ///
    /// # Errors
    /// Always ends with [`WaitError::Deleted`], [`WaitError::Missing`], [`WaitError::TimedOut`] or
    /// [`WaitError::Watch`].
    pub async fn observe(&self, mut report: impl FnMut(WaitEvent)) -> Result<(), WaitError> {
        let mut was_known = self.uid.is_some();
        let judge = |object: Option<&Value>, report: &mut dyn FnMut(WaitEvent)| match object {
            None => self.ends_absent(was_known, report).map(Err),
            Some(_) => {
                was_known = true;
                None
            }
        };
        self.watch(judge, &mut report).await
    }

    /// Waits until an object with the name exists, ready or not.
    ///
    /// # Errors
    /// [`WaitError::TimedOut`] and [`WaitError::Watch`].
    pub async fn until_created(&self, mut report: impl FnMut(WaitEvent)) -> Result<(), WaitError> {
        let judge = |object: Option<&Value>, report: &mut dyn FnMut(WaitEvent)| {
            if object.is_none() {
                report(WaitEvent::Missing);
            }
            object.map(|_| Ok(()))
        };
        self.watch(judge, &mut report).await
    }

    /// Waits until the object does not exist any more. If its UID is known, another object with the same name does not
    /// count.
    ///
    /// # Errors
    /// [`WaitError::TimedOut`] and [`WaitError::Watch`].
    pub async fn until_gone(&self, mut report: impl FnMut(WaitEvent)) -> Result<(), WaitError> {
        let mut finalizers: Option<Vec<String>> = None;
        let judge = |object: Option<&Value>, report: &mut dyn FnMut(WaitEvent)| {
            let Some(object) = object else { return Some(Ok(())) };
            if self.uid.is_some() && uid_of(object) != self.uid {
                return Some(Ok(()));
            }
            let finalizers_now = match fields::is_being_deleted(object) {
                true => fields::items(object, "/metadata/finalizers"),
                false => &[],
            };
            let now: Vec<String> = finalizers_now.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            if finalizers.as_ref() != Some(&now) {
                report(WaitEvent::Finalizers(now.clone()));
                finalizers = Some(now);
            }
            None
        };
        self.watch(judge, &mut report).await
    }

    async fn watch<T>(
        &self,
        mut judge: impl FnMut(Option<&Value>, &mut dyn FnMut(WaitEvent)) -> Option<Result<T, WaitError>>,
        report: &mut dyn FnMut(WaitEvent),
    ) -> Result<T, WaitError> {
        let follow = |resource: &ResourceType, options| {
            Follower::new(&self.cluster, resource.clone(), Some(&self.namespace), options, None)
        };
        let objects = follow(&self.resource, ListOptions::named(&self.name));
        // By name and not by UID: the object may not exist yet.
        let about = format!("involvedObject.kind={},involvedObject.name={}", self.resource.kind, self.name);
        let events = Events::new(follow(&EVENT, ListOptions::with_fields(about)));
        let objects = stream::unfold(objects, |mut objects| async move {
            let seen = objects.try_next().await;
            Some((ObservedChange::Object(Box::new(seen)), objects))
        });
        let events =
            stream::unfold(
                events,
                |mut events| async move { Some((ObservedChange::Event(events.next().await), events)) },
            );
        let both = stream::select(objects, events);
        pin_mut!(both);
        let mut last = LastSeen::default();
        let mut is_first = true;
        loop {
            // Neither stream ends, so only the deadline takes this branch.
            let Ok(Some(next)) = timeout_at(self.deadline, both.next()).await else {
                return Err(WaitError::TimedOut(Box::new(last)));
            };
            match next {
                ObservedChange::Object(seen) => match *seen {
                    Ok(change) => {
                        let object = object_of(change);
                        last.trouble = None;
                        let mut is_unseen = false;
                        let mut note = |sign: WaitEvent| {
                            is_unseen |= matches!(
                                sign,
                                WaitEvent::Pending(
                                    PendingReason::RequestNotSeen | PendingReason::OlderGeneration { .. }
                                )
                            );
                            last.pending = Some(match &sign {
                                WaitEvent::Missing => "it does not exist".to_owned(),
                                WaitEvent::Finalizers(list) if list.is_empty() => {
                                    "its deletion was not requested".to_owned()
                                }
                                WaitEvent::Finalizers(list) => format!("its finalizers: {}", list.join(", ")),
                                WaitEvent::Pending(pending) => pending.to_string(),
                                WaitEvent::Condition(_) | WaitEvent::Event(_) | WaitEvent::Retrying(_) => return,
                            });
                            report(sign);
                        };
                        let verdict = judge(object.as_ref(), &mut note);
                        let condition = object.as_ref().and_then(most_informative_condition);
                        // A decided condition from before the request or the change is old, so it is not reported.
                        let is_decided = condition.as_ref().is_some_and(|now| now.status != "Unknown");
                        let is_old = std::mem::take(&mut is_first) && is_unseen && is_decided;
                        if let Some(now) =
                            condition.as_ref().filter(|_| !is_old && condition != last.condition && verdict.is_none())
                        {
                            report(WaitEvent::Condition(now.clone()));
                        }
                        last.condition = condition;
                        if let Some(verdict) = verdict {
                            return verdict;
                        }
                    }
                    Err(error) if is_refusal(&error) => return Err(WaitError::Watch(Box::new(error))),
                    Err(error) => {
                        let text = error.reason.to_string();
                        if last.trouble.as_ref() != Some(&text) {
                            report(WaitEvent::Retrying(text.clone()));
                        }
                        last.trouble = Some(text);
                    }
                },
                ObservedChange::Event(RecordedEvent { view, new }) => {
                    if new {
                        report(WaitEvent::Event(view.clone()));
                    }
                    last.event = Some(view);
                }
            }
        }
    }
}

/// Returns the followed object from a change.
fn object_of(change: FollowedChange) -> Option<Value> {
    match change {
        FollowedChange::All(objects) => objects.into_iter().next(),
        FollowedChange::Set(object) => Some(object),
        FollowedChange::Gone(_) => None,
    }
}

fn uid_of(object: &Value) -> Option<String> {
    object["metadata"]["uid"].as_str().map(str::to_owned)
}

/// Events about the object during the wait, and the newest event from before. It never fails, because events only
/// explain the wait, and a user may lack the right to read them.
struct Events {
    follower: Option<Follower>,
    listed: bool,
}

impl Events {
    fn new(follower: Follower) -> Self {
        Events { follower: Some(follower), listed: false }
    }

    /// Returns the next event; never returns when events cannot be read.
    async fn next(&mut self) -> RecordedEvent {
        while let Some(follower) = &mut self.follower {
            match follower.try_next().await {
                Ok(FollowedChange::All(events)) if !self.listed => {
                    self.listed = true;
                    if let Some(newest) = events.iter().max_by_key(|event| fields::last_seen(event)) {
                        return RecordedEvent { view: view(newest), new: false };
                    }
                }
                Ok(FollowedChange::Set(event)) => return RecordedEvent { view: view(&event), new: true },
                Ok(FollowedChange::All(_) | FollowedChange::Gone(_)) => {}
                Err(error) if is_refusal(&error) => self.follower = None,
                Err(_) => {}
            }
        }
        std::future::pending().await
    }
}

enum ObservedChange {
    Object(Box<Result<FollowedChange, ClusterError>>),
    Event(RecordedEvent),
}

struct RecordedEvent {
    view: EventView,
    /// Whether the event was recorded during the wait.
    new: bool,
}

fn view(event: &Value) -> EventView {
    EventView {
        reason: fields::text(event, "/reason").to_owned(),
        message: fields::text(event, "/message").to_owned(),
        warning: fields::text(event, "/type") == "Warning",
    }
}

/// Whether the API server refused the request in a way that a retry does not change.
fn is_refusal(error: &ClusterError) -> bool {
    match &error.reason {
        Reason::Unauthorized { .. }
        | Reason::ExpiredToken { .. }
        | Reason::ExpiredCertificate { .. }
        | Reason::Forbidden { .. }
        | Reason::NotFound { .. }
        | Reason::ApiMissing { .. } => true,
        // 405 is the answer for a resource that cannot be listed or watched.
        Reason::Server { code, .. } => matches!(code, 404 | 405),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::{Arc, Mutex};

    use http::{Request, Response};
    use std::time::Duration;

    use kube::client::{Body, Client};
    use serde_json::json;

    use super::*;

    /// An API server that returns these answers in order, and then no more answers.
    fn client(answers: Vec<(u16, String)>) -> Client {
        let answers = Arc::new(Mutex::new(VecDeque::from(answers)));
        let service = tower::service_fn(move |request: Request<Body>| {
            let about_events = request.uri().path().ends_with("/events");
            let next = if about_events { None } else { answers.lock().unwrap().pop_front() };
            async move {
                let Some((code, body)) = next else { return std::future::pending().await };
                let response = Response::builder().status(code).body(Body::from(body.into_bytes()));
                Ok::<_, std::convert::Infallible>(response.unwrap())
            }
        });
        Client::new(service, "flux-system")
    }

    fn wait(client: Client, absent: AbsencePolicy) -> Wait {
        Wait {
            cluster: Cluster::of_client(client, crate::cluster::Endpoint::default()),
            resource: crate::api::kinds::find("gitrepo").unwrap().resource_type(),
            namespace: "flux-system".into(),
            name: "ok".into(),
            uid: None,
            suspension: Suspension::Field,
            deadline: Instant::now() + Duration::from_secs(60),
            absent,
        }
    }

    fn repository(handled: &str, status: &str) -> Value {
        json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
            "metadata": {"name": "ok", "namespace": "flux-system", "uid": "u", "generation": 1, "resourceVersion": "5",
                "annotations": {"reconcile.fluxcd.io/requestedAt": "t2"}},
            "status": {"lastHandledReconcileAt": handled, "conditions": [
                {"type": "Ready", "status": status, "reason": "R", "message": "m", "observedGeneration": 1}]},
        })
    }

    fn list(items: &[Value]) -> (u16, String) {
        let list = json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepositoryList",
            "metadata": {"resourceVersion": "5"}, "items": items});
        (200, list.to_string())
    }

    fn watched(kind: &str, object: Value) -> (u16, String) {
        (200, format!("{}\n", json!({"type": kind, "object": object})))
    }

    fn refusal(code: u16, reason: &str) -> (u16, String) {
        let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "no", "reason": reason, "code": code});
        (code, status.to_string())
    }

    #[tokio::test(start_paused = true)]
    async fn the_wait_ends_with_the_token_and_reports_each_condition_once() {
        let client = client(vec![
            list(&[repository("t1", "True")]),
            watched("MODIFIED", repository("t1", "Unknown")),
            watched("MODIFIED", repository("t1", "Unknown")),
            watched("MODIFIED", repository("t2", "True")),
        ]);
        let mut events = vec![];
        let message = wait(client, AbsencePolicy::Ends).until_ready(Some("t2"), |s| events.push(s)).await.unwrap();
        assert_eq!(message, "m");
        let conditions: Vec<String> = events
            .iter()
            .filter_map(|s| if let WaitEvent::Condition(c) = s { Some(c.to_string()) } else { None })
            .collect();
        assert_eq!(conditions, ["Ready=Unknown R: m"], "how the last run ended is not news");
    }

    #[tokio::test(start_paused = true)]
    async fn a_timeout_says_what_was_seen_last() {
        let client = client(vec![list(&[repository("t1", "Unknown")])]);
        let error = wait(client, AbsencePolicy::Ends).until_ready(Some("t2"), |_| ()).await.unwrap_err();
        let WaitError::TimedOut(last) = error else { panic!("{error:?}") };
        assert_eq!(last.pending.as_deref(), Some("waiting for the controller to pick up the request"));
        assert_eq!(last.condition.unwrap().to_string(), "Ready=Unknown R: m");
    }

    #[tokio::test(start_paused = true)]
    async fn a_missing_object_ends_the_wait_unless_it_is_awaited() {
        let error = wait(client(vec![list(&[])]), AbsencePolicy::Ends).until_ready(None, |_| ()).await.unwrap_err();
        assert!(matches!(error, WaitError::Missing));
        let later = client(vec![list(&[]), watched("ADDED", repository("", "True"))]);
        let mut events = vec![];
        let message = wait(later, AbsencePolicy::Awaited).until_ready(None, |s| events.push(s)).await.unwrap();
        assert_eq!((message.as_str(), events), ("m", vec![WaitEvent::Missing]));
    }

    #[tokio::test(start_paused = true)]
    async fn observing_continues_when_the_object_is_ready_and_ends_when_it_is_deleted() {
        let client = client(vec![
            list(&[repository("t1", "True")]),
            watched("MODIFIED", repository("t1", "Unknown")),
            watched("MODIFIED", repository("t1", "True")),
            watched("DELETED", repository("t1", "True")),
        ]);
        let mut events = vec![];
        let error = wait(client, AbsencePolicy::Ends).observe(|s| events.push(s)).await.unwrap_err();
        assert!(matches!(error, WaitError::Deleted));
        assert_eq!(events.iter().filter(|s| matches!(s, WaitEvent::Condition(_))).count(), 3, "{events:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn observing_an_object_that_never_existed_does_not_end_with_a_deletion() {
        let error = wait(client(vec![list(&[])]), AbsencePolicy::Ends).observe(|_| ()).await.unwrap_err();
        assert!(matches!(error, WaitError::Missing), "{error:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn an_object_deleted_meanwhile_ends_the_wait_for_ready_and_for_deletion() {
        let answers = vec![list(&[repository("t1", "True")]), watched("DELETED", repository("t1", "True"))];
        let error =
            wait(client(answers.clone()), AbsencePolicy::Ends).until_ready(Some("t2"), |_| ()).await.unwrap_err();
        assert!(matches!(error, WaitError::Deleted));
        wait(client(answers), AbsencePolicy::Ends).until_gone(|_| ()).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn an_object_that_was_known_is_deleted_rather_than_missing() {
        let another = client(vec![list(&[repository("t2", "True")])]);
        for gone in [client(vec![list(&[])]), another] {
            let mut wait = wait(gone, AbsencePolicy::Ends);
            wait.uid = Some("earlier".into());
            let error = wait.until_ready(Some("t2"), |_| ()).await.unwrap_err();
            assert!(matches!(error, WaitError::Deleted), "{error:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_ends_the_wait_and_an_overloaded_server_is_asked_again() {
        let refused = client(vec![refusal(403, "Forbidden")]);
        let error = wait(refused, AbsencePolicy::Ends).until_ready(None, |_| ()).await.unwrap_err();
        assert!(matches!(error, WaitError::Watch(_)));
        let busy = client(vec![refusal(503, "ServiceUnavailable"), list(&[repository("", "True")])]);
        let mut events = vec![];
        wait(busy, AbsencePolicy::Ends).until_ready(None, |s| events.push(s)).await.unwrap();
        assert!(matches!(events.as_slice(), [WaitEvent::Retrying(_)]), "{events:?}");
    }

    #[test]
    fn a_long_event_is_shown_by_its_first_line() {
        let message = "Flux v2.9.4 installed\nA created\nB created".to_owned();
        let event = EventView { reason: "ReconciliationSucceeded".into(), message, warning: false };
        assert_eq!(event.to_string(), "ReconciliationSucceeded: Flux v2.9.4 installed (and 2 more lines)");
    }
}
