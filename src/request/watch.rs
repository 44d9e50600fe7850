//! Waiting by watch: for an object to become ready, to exist, or to be gone.

use std::fmt;
use std::future::ready;
use std::time::Duration;

use futures::{Stream, StreamExt, pin_mut, stream};
use k8s_openapi::api::core::v1::Event;
use kube::Api;
use kube::core::DynamicObject;
use kube::runtime::utils::{Backoff, WatchStreamExt};
use kube::runtime::watcher;
use tokio::time::{Instant, timeout_at};

use super::readiness::{ConditionView, Pending, Readiness, assess, telling_condition};
use crate::api::kinds::Suspension;

/// One object to wait for.
pub struct Wait {
    /// Access to the object's kind in the object's namespace.
    pub objects: Api<DynamicObject>,
    /// Access to the events of that namespace; without it no events are reported.
    pub events: Option<Api<Event>>,
    pub kind: String,
    pub name: String,
    /// The object that is meant, when it is known: another one of the same name is not it.
    pub uid: Option<String>,
    pub suspension: Suspension,
    /// When the wait gives up.
    pub deadline: Instant,
    /// Whether nothing is there yet is an answer.
    pub absent: Absent,
}

/// What an object that does not exist means to a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    /// The wait is over.
    Ends,
    /// The wait goes on until the object is created.
    Awaited,
}

/// Something that moved while waiting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sign {
    /// The object does not exist yet.
    Missing,
    /// The object exists, and this has not happened yet.
    Pending(Pending),
    /// A condition changed.
    Condition(ConditionView),
    /// An event about the object was recorded.
    Event(EventView),
    /// Deletion waits for these finalizers.
    Finalizers(Vec<String>),
    /// The API server could not be asked; another try follows.
    Retrying(String),
}

/// One recorded event.
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

/// The last things seen when a wait gave up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Last {
    /// What was still missing.
    pub pending: Option<String>,
    pub condition: Option<ConditionView>,
    pub event: Option<EventView>,
    /// Why the API server could not be asked, if it could not at the end.
    pub trouble: Option<String>,
}

/// Why a wait ended without what was waited for.
#[derive(Debug, thiserror::Error)]
pub enum WaitError {
    #[error("timed out")]
    TimedOut(Box<Last>),
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
    Watch(#[source] Box<watcher::Error>),
}

impl Wait {
    /// Waits until the request is handled and the object is Ready; returns the Ready message.
    ///
    /// `report` hears of every change. Dropping the future ends the watch; nothing is left behind.
    ///
    /// # Errors
    /// Every variant of [`WaitError`]; refusals of the API server (401, 403, 404) end the wait at once, anything else
    /// it says is tried again until the deadline.
    pub async fn until_ready(&self, request: Option<&str>, mut report: impl FnMut(Sign)) -> Result<String, WaitError> {
        let mut uid = self.uid.clone();
        let mut pending: Option<Pending> = None;
        let judge = |object: Option<&DynamicObject>, report: &mut dyn FnMut(Sign)| {
            let Some(object) = object else {
                return match (&uid, self.absent) {
                    (Some(_), _) => Some(Err(WaitError::Deleted)),
                    (None, Absent::Ends) => Some(Err(WaitError::Missing)),
                    (None, Absent::Awaited) => {
                        report(Sign::Missing);
                        None
                    }
                };
            };
            let seen = object.metadata.uid.clone();
            // Another object of the same name never heard of the request.
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
                        report(Sign::Pending(now.clone()));
                        pending = Some(now);
                    }
                    None
                }
            }
        };
        self.watch(judge, &mut report).await
    }

    /// Reports every change until the object is deleted, or the deadline.
    ///
    /// # Errors
    /// [`WaitError::Deleted`], [`WaitError::TimedOut`] and [`WaitError::Watch`]; there is no other end.
    pub async fn observe(&self, mut report: impl FnMut(Sign)) -> Result<(), WaitError> {
        let judge = |object: Option<&DynamicObject>, _: &mut dyn FnMut(Sign)| match object {
            None => Some(Err(WaitError::Deleted)),
            Some(_) => None,
        };
        self.watch(judge, &mut report).await
    }

    /// Waits until the object, or the one with the UID if it is known, is gone.
    ///
    /// # Errors
    /// [`WaitError::TimedOut`] and [`WaitError::Watch`].
    pub async fn until_gone(&self, mut report: impl FnMut(Sign)) -> Result<(), WaitError> {
        let mut finalizers: Option<Vec<String>> = None;
        let judge = |object: Option<&DynamicObject>, report: &mut dyn FnMut(Sign)| {
            let Some(object) = object else { return Some(Ok(())) };
            if self.uid.is_some() && object.metadata.uid != self.uid {
                return Some(Ok(()));
            }
            let now = object.metadata.finalizers.clone().unwrap_or_default();
            if finalizers.as_ref() != Some(&now) {
                report(Sign::Finalizers(now.clone()));
                finalizers = Some(now);
            }
            None
        };
        self.watch(judge, &mut report).await
    }

    async fn watch<T>(
        &self,
        mut judge: impl FnMut(Option<&DynamicObject>, &mut dyn FnMut(Sign)) -> Option<Result<T, WaitError>>,
        report: &mut dyn FnMut(Sign),
    ) -> Result<T, WaitError> {
        let objects = watcher::watch_object(self.objects.clone(), &self.name)
            .backoff(Retry::new())
            .map(|seen| Some(Seen::Object(Box::new(seen))))
            // When the watch ends for good there is nothing to wait for.
            .chain(stream::once(ready(None)));
        let events = self.event_stream().map(|event| Some(Seen::Event(event)));
        let both = stream::select(objects, events);
        pin_mut!(both);
        let mut last = Last::default();
        loop {
            let Ok(next) = timeout_at(self.deadline, both.next()).await else {
                return Err(WaitError::TimedOut(Box::new(last)));
            };
            match next.flatten() {
                Some(Seen::Object(seen)) => match *seen {
                    Ok(object) => {
                        last.trouble = None;
                        let mut note = |sign: Sign| {
                            last.pending = Some(match &sign {
                                Sign::Missing => "it does not exist".to_owned(),
                                Sign::Finalizers(list) => format!("its finalizers: {}", list.join(", ")),
                                Sign::Pending(pending) => pending.to_string(),
                                Sign::Condition(_) | Sign::Event(_) | Sign::Retrying(_) => return,
                            });
                            report(sign);
                        };
                        let verdict = judge(object.as_ref(), &mut note);
                        let condition = object.as_ref().and_then(telling_condition);
                        if let Some(now) =
                            condition.as_ref().filter(|_| condition != last.condition && verdict.is_none())
                        {
                            report(Sign::Condition(now.clone()));
                        }
                        last.condition = condition;
                        if let Some(verdict) = verdict {
                            return verdict;
                        }
                    }
                    Err(error) if is_refusal(&error) => return Err(WaitError::Watch(Box::new(error))),
                    Err(error) => {
                        let text = innermost(&error);
                        if last.trouble.as_ref() != Some(&text) {
                            report(Sign::Retrying(text.clone()));
                        }
                        last.trouble = Some(text);
                    }
                },
                Some(Seen::Event(RecordedEvent { view, new })) => {
                    if new {
                        report(Sign::Event(view.clone()));
                    }
                    last.event = Some(view);
                }
                None => return Err(WaitError::TimedOut(Box::new(last))),
            }
        }
    }

    /// Events about the object: of those from before the wait only the newest. Never an error: events explain, they
    /// decide nothing, and a user may lack the right to read them.
    fn event_stream(&self) -> impl Stream<Item = RecordedEvent> + Send + use<> {
        let Some(events) = self.events.clone() else { return stream::empty().boxed() };
        let fields = format!("involvedObject.kind={},involvedObject.name={}", self.kind, self.name);
        let mut before: Option<Event> = None;
        let mut listed = false;
        watcher(events, watcher::Config::default().fields(&fields))
            .backoff(Retry::new())
            .take_while(|event| ready(!event.as_ref().is_err_and(is_refusal)))
            .filter_map(move |event| {
                ready(match event {
                    Ok(watcher::Event::InitApply(event)) => {
                        if before.as_ref().is_none_or(|b| event_time(b) <= event_time(&event)) {
                            before = Some(event);
                        }
                        None
                    }
                    Ok(watcher::Event::InitDone) if !listed => {
                        listed = true;
                        before.take().map(|event| RecordedEvent { view: view(&event), new: false })
                    }
                    Ok(watcher::Event::Apply(event)) => Some(RecordedEvent { view: view(&event), new: true }),
                    _ => None,
                })
            })
            .boxed()
    }
}

enum Seen {
    Object(Box<watcher::Result<Option<DynamicObject>>>),
    Event(RecordedEvent),
}

struct RecordedEvent {
    view: EventView,
    /// Recorded during the wait.
    new: bool,
}

fn view(event: &Event) -> EventView {
    EventView {
        reason: event.reason.clone().unwrap_or_default(),
        message: event.message.clone().unwrap_or_default(),
        warning: event.type_.as_deref() == Some("Warning"),
    }
}

/// When an event happened last: core/v1 keeps it in another field for each way of recording.
fn event_time(event: &Event) -> Option<jiff::Timestamp> {
    let series = event.series.as_ref().and_then(|s| s.last_observed_time.as_ref()).map(|t| t.0);
    let last = event.last_timestamp.as_ref().map(|t| t.0);
    let once = event.event_time.as_ref().map(|t| t.0);
    series.max(last).max(once).or(event.metadata.creation_timestamp.as_ref().map(|t| t.0))
}

/// Whether the API server said no in a way that trying again does not change.
fn is_refusal(error: &watcher::Error) -> bool {
    let (watcher::Error::InitialListFailed(kube::Error::Api(status))
    | watcher::Error::WatchStartFailed(kube::Error::Api(status))) = error
    else {
        return false;
    };
    matches!(status.code, 401 | 403 | 404 | 405)
}

/// The text at the bottom of the chain: what the operating system or the API server said.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut bottom = error;
    while let Some(source) = bottom.source() {
        bottom = source;
    }
    bottom.to_string()
}

/// Pauses between tries of a watch: doubling from [`Retry::FIRST`] to [`Retry::LONGEST`]. The deadline ends them.
struct Retry(Duration);

impl Retry {
    const FIRST: Duration = Duration::from_millis(250);
    const LONGEST: Duration = Duration::from_secs(5);

    fn new() -> Self {
        Retry(Self::FIRST)
    }
}

impl Iterator for Retry {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let pause = self.0;
        self.0 = (pause * 2).min(Self::LONGEST);
        Some(pause)
    }
}

impl Backoff for Retry {
    fn reset(&mut self) {
        self.0 = Self::FIRST;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::{Arc, Mutex};

    use http::{Request, Response};
    use kube::client::{Body, Client};
    use kube::core::{ApiResource, GroupVersionKind};
    use serde_json::{Value, json};

    use super::*;

    /// An API server that gives each request the next answer, and none when it has run out of them.
    fn client(answers: Vec<(u16, String)>) -> Client {
        let answers = Arc::new(Mutex::new(VecDeque::from(answers)));
        let service = tower::service_fn(move |_: Request<Body>| {
            let next = answers.lock().unwrap().pop_front();
            async move {
                let Some((code, body)) = next else { return std::future::pending().await };
                let response = Response::builder().status(code).body(Body::from(body.into_bytes()));
                Ok::<_, std::convert::Infallible>(response.unwrap())
            }
        });
        Client::new(service, "flux-system")
    }

    fn wait(client: Client, absent: Absent) -> Wait {
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("source.toolkit.fluxcd.io", "v1", "GitRepository"));
        Wait {
            objects: Api::namespaced_with(client, "flux-system", &kind),
            events: None,
            kind: "GitRepository".into(),
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
        let mut signs = vec![];
        let message = wait(client, Absent::Ends).until_ready(Some("t2"), |s| signs.push(s)).await.unwrap();
        assert_eq!(message, "m");
        let conditions: Vec<String> =
            signs.iter().filter_map(|s| if let Sign::Condition(c) = s { Some(c.to_string()) } else { None }).collect();
        assert_eq!(conditions, ["Ready=True R: m", "Ready=Unknown R: m"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_timeout_says_what_was_seen_last() {
        let client = client(vec![list(&[repository("t1", "Unknown")])]);
        let error = wait(client, Absent::Ends).until_ready(Some("t2"), |_| ()).await.unwrap_err();
        let WaitError::TimedOut(last) = error else { panic!("{error:?}") };
        assert_eq!(last.pending.as_deref(), Some("the request is not handled yet"));
        assert_eq!(last.condition.unwrap().to_string(), "Ready=Unknown R: m");
    }

    #[tokio::test(start_paused = true)]
    async fn a_missing_object_ends_the_wait_unless_it_is_awaited() {
        let error = wait(client(vec![list(&[])]), Absent::Ends).until_ready(None, |_| ()).await.unwrap_err();
        assert!(matches!(error, WaitError::Missing));
        let later = client(vec![list(&[]), watched("ADDED", repository("", "True"))]);
        let mut signs = vec![];
        let message = wait(later, Absent::Awaited).until_ready(None, |s| signs.push(s)).await.unwrap();
        assert_eq!((message.as_str(), signs), ("m", vec![Sign::Missing]));
    }

    #[tokio::test(start_paused = true)]
    async fn observing_goes_on_when_the_object_is_ready_and_ends_when_it_goes() {
        let client = client(vec![
            list(&[repository("t1", "True")]),
            watched("MODIFIED", repository("t1", "Unknown")),
            watched("MODIFIED", repository("t1", "True")),
            watched("DELETED", repository("t1", "True")),
        ]);
        let mut signs = vec![];
        let error = wait(client, Absent::Ends).observe(|s| signs.push(s)).await.unwrap_err();
        assert!(matches!(error, WaitError::Deleted));
        assert_eq!(signs.iter().filter(|s| matches!(s, Sign::Condition(_))).count(), 3, "{signs:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn an_object_deleted_meanwhile_ends_the_wait_for_ready_and_for_gone() {
        let answers = vec![list(&[repository("t1", "True")]), watched("DELETED", repository("t1", "True"))];
        let error = wait(client(answers.clone()), Absent::Ends).until_ready(Some("t2"), |_| ()).await.unwrap_err();
        assert!(matches!(error, WaitError::Deleted));
        wait(client(answers), Absent::Ends).until_gone(|_| ()).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn an_object_that_was_known_is_deleted_rather_than_missing() {
        let another = client(vec![list(&[repository("t2", "True")])]);
        for gone in [client(vec![list(&[])]), another] {
            let mut wait = wait(gone, Absent::Ends);
            wait.uid = Some("earlier".into());
            let error = wait.until_ready(Some("t2"), |_| ()).await.unwrap_err();
            assert!(matches!(error, WaitError::Deleted), "{error:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_ends_the_wait_and_an_overloaded_server_is_asked_again() {
        let refused = client(vec![refusal(403, "Forbidden")]);
        let error = wait(refused, Absent::Ends).until_ready(None, |_| ()).await.unwrap_err();
        assert!(matches!(error, WaitError::Watch(_)));
        let busy = client(vec![refusal(503, "ServiceUnavailable"), list(&[repository("", "True")])]);
        let mut signs = vec![];
        wait(busy, Absent::Ends).until_ready(None, |s| signs.push(s)).await.unwrap();
        assert!(matches!(signs.as_slice(), [Sign::Retrying(_)]), "{signs:?}");
    }

    #[test]
    fn a_long_event_is_shown_by_its_first_line() {
        let message = "Flux v2.9.4 installed\nA created\nB created".to_owned();
        let event = EventView { reason: "ReconciliationSucceeded".into(), message, warning: false };
        assert_eq!(event.to_string(), "ReconciliationSucceeded: Flux v2.9.4 installed (and 2 more lines)");
    }
}
