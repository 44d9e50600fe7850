//! Computes when the next run is due. Pure: the caller passes the time.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use crate::format::backoff::Backoff;
use crate::k8s::fields;

/// Pauses after failed runs. The pause doubles with each failure, from the shortest to the longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryDelays {
    pub shortest: Duration,
    pub longest: Duration,
}

impl Default for RetryDelays {
    /// The values of the reference: 750 ms to 15 minutes.
    fn default() -> Self {
        RetryDelays { shortest: Duration::from_millis(750), longest: Duration::from_secs(15 * 60) }
    }
}

/// The parts of an object whose change makes a run due. Labels and status are not among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trigger {
    uid: String,
    generation: i64,
    annotations: BTreeMap<String, String>,
    is_being_deleted: bool,
}

impl Trigger {
    pub(super) fn of(object: &Value) -> Self {
        let text = |pointer: &str| fields::text(object, pointer).to_owned();
        let annotations = object.pointer("/metadata/annotations").and_then(Value::as_object).into_iter().flatten();
        Trigger {
            uid: text("/metadata/uid"),
            generation: fields::number(object, "/metadata/generation").unwrap_or_default(),
            annotations: annotations
                .map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned()))
                .collect(),
            is_being_deleted: fields::is_being_deleted(object),
        }
    }
}

/// The end of a run, with respect to the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunEnd {
    /// Run again after this time; `None` waits for a request.
    Done(Option<Duration>),
    /// Failed for a reason that may pass.
    Failed,
    /// Failed, and will fail again before this time.
    FailedFor(Duration),
    /// Failed, and will fail again until something is changed.
    Terminal,
    /// A newer change requires another run at once.
    Superseded,
}

impl RunEnd {
    /// Whether the next run is another attempt after a failure.
    pub(super) fn is_retried(self) -> bool {
        matches!(self, RunEnd::Failed | RunEnd::FailedFor(_))
    }
}

/// The time of the next run. Several requests cause only one run.
pub(super) struct Schedule {
    delays: RetryDelays,
    /// In percent.
    jitter: u8,
    retries: Backoff,
    due: Option<Instant>,
}

impl Schedule {
    pub(super) fn new(delays: RetryDelays, jitter: u8) -> Self {
        let retries = Backoff::new(delays.shortest, delays.longest);
        // A jitter above 100 percent could make the interval negative, and `mul_f64` would panic.
        Schedule { delays, jitter: jitter.min(100), retries, due: None }
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Requests a run.
    pub(super) fn ask(&mut self, now: Instant) {
        self.due = Some(now);
    }

    /// Starts a run, which handles all requests so far.
    pub(super) fn begin(&mut self) {
        self.due = None;
    }

    /// Cancels the next run, because the object does not exist any more.
    pub(super) fn forget(&mut self) {
        *self = Schedule::new(self.delays, self.jitter);
    }

    /// Ends a run; a run requested in the meantime takes precedence. `random` is uniform between 0 and 1.
    pub(super) fn end(&mut self, ended: RunEnd, now: Instant, random: f64) {
        if !ended.is_retried() {
            self.retries = Backoff::new(self.delays.shortest, self.delays.longest);
        }
        let next = match ended {
            RunEnd::Done(interval) => interval.map(|interval| now + self.spread(interval, random)),
            RunEnd::Failed => Some(now + self.retries.next_pause()),
            RunEnd::FailedFor(pause) => Some(now + pause.max(self.retries.next_pause())),
            RunEnd::Terminal => None,
            RunEnd::Superseded => Some(now),
        };
        self.due = self.due.or(next);
    }

    /// Varies the interval, so that clusters that were installed at the same time do not always query their registries
    /// at the same time.
    fn spread(&self, interval: Duration, random: f64) -> Duration {
        let share = f64::from(self.jitter) / 100.0;
        interval.mul_f64(1.0 + share * (2.0 * random.clamp(0.0, 1.0) - 1.0))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schedule() -> Schedule {
        Schedule::new(RetryDelays::default(), 5)
    }

    #[test]
    fn failures_wait_longer_each_time_until_one_run_succeeds() {
        let (now, mut schedule) = (Instant::now(), schedule());
        let mut pauses = vec![];
        for _ in 0..13 {
            schedule.begin();
            schedule.end(RunEnd::Failed, now, 0.5);
            pauses.push(schedule.due().unwrap() - now);
        }
        assert_eq!(pauses[..3], [750, 1500, 3000].map(Duration::from_millis));
        assert_eq!(pauses[12], Duration::from_secs(900), "the longest");
        schedule.begin();
        schedule.end(RunEnd::Done(None), now, 0.5);
        assert_eq!(schedule.due(), None);
        schedule.end(RunEnd::Failed, now, 0.5);
        assert_eq!(schedule.due().unwrap() - now, Duration::from_millis(750));
    }

    #[test]
    fn a_service_that_says_when_it_answers_again_is_not_asked_before() {
        let (now, mut schedule) = (Instant::now(), schedule());
        schedule.end(RunEnd::FailedFor(Duration::from_secs(1800)), now, 0.5);
        assert_eq!(schedule.due().unwrap() - now, Duration::from_secs(1800));
        schedule.begin();
        schedule.end(RunEnd::FailedFor(Duration::ZERO), now, 0.5);
        assert_eq!(schedule.due().unwrap() - now, Duration::from_millis(1500), "the pauses grow all the same");
    }

    #[test]
    fn an_interval_is_spread_by_at_most_its_share() {
        let now = Instant::now();
        let due = |random: f64| {
            let mut schedule = schedule();
            schedule.end(RunEnd::Done(Some(Duration::from_secs(100))), now, random);
            (schedule.due().unwrap() - now).as_secs_f64()
        };
        assert!((due(0.0) - 95.0).abs() < 0.01 && (due(1.0) - 105.0).abs() < 0.01 && (due(0.5) - 100.0).abs() < 0.01);
    }

    #[test]
    fn requests_made_during_a_run_cause_one_run_right_after_it() {
        let (now, mut schedule) = (Instant::now(), schedule());
        schedule.begin();
        for _ in 0..1000 {
            schedule.ask(now);
        }
        schedule.end(RunEnd::Terminal, now, 0.5);
        assert_eq!(schedule.due(), Some(now));
        schedule.begin();
        schedule.end(RunEnd::Terminal, now, 0.5);
        assert_eq!(schedule.due(), None, "one run answered all of them");
    }

    #[test]
    fn changed_labels_and_status_do_not_make_a_run_due() {
        let object = json!({"metadata": {"uid": "u", "generation": 1, "annotations": {"a": "b"}, "labels": {"x": "y"}},
            "status": {"conditions": []}});
        let trigger = Trigger::of(&object);
        let with = |pointer: &str, value: Value| {
            let mut changed = object.clone();
            *changed.pointer_mut(pointer).unwrap() = value;
            Trigger::of(&changed)
        };
        assert_eq!(with("/metadata/labels", json!({})), trigger);
        assert_eq!(with("/status", json!({})), trigger);
        for (pointer, value) in
            [("/metadata/annotations", json!({})), ("/metadata/generation", json!(2)), ("/metadata/uid", json!("v"))]
        {
            assert_ne!(with(pointer, value), trigger, "{pointer}");
        }
    }
}
