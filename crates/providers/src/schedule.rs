//! When a provider may run: cron expressions with a window after each trigger.

use flux_operator_core::format::go_duration;
use jiff::{SignedDuration, Timestamp};

use crate::cron::Cron;

/// An entry of `spec.schedule`, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleEntry {
    /// The cron expression.
    pub cron: String,
    /// A name of the IANA time zone database.
    pub time_zone: String,
    /// How long after a trigger the provider may run; zero means no limit.
    pub window: SignedDuration,
}

/// The next trigger, and the schedule entry that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextTrigger {
    /// The entry as written.
    pub entry: ScheduleEntry,
    /// The moment of the trigger.
    pub when: Timestamp,
}

/// The schedule of one provider. Without entries it always allows a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProviderSchedule {
    entries: Vec<(ScheduleEntry, Cron)>,
}

/// When the run after a successful one is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextRun {
    /// Not before the object changes.
    Never,
    /// After this long.
    After(SignedDuration),
    /// At a trigger of the schedule.
    At(NextTrigger),
}

impl ProviderSchedule {
    /// Checks the entries; `timeout` is the maximum duration of a run.
    ///
    /// # Errors
    /// An expression or a time zone is not valid, or a window is negative or too short for a run.
    pub fn new(entries: &[ScheduleEntry], timeout: SignedDuration) -> Result<ProviderSchedule, String> {
        let entries = entries.iter().enumerate().map(|(index, entry)| {
            let failed = |problem: String| format!("failed to validate schedule[{index}]: {problem}");
            let cron = Cron::parse(&entry.cron, &entry.time_zone).map_err(|problem| {
                let ScheduleEntry { cron, time_zone, .. } = entry;
                failed(format!("failed to parse cron spec '{cron}' with timezone '{time_zone}': {problem}"))
            })?;
            if entry.window.is_negative() {
                return Err(failed(format!("negative window: {}", go_duration::format(entry.window))));
            }
            if entry.window.is_positive() && entry.window < timeout.saturating_mul(2) {
                let (window, timeout) = (go_duration::format(entry.window), go_duration::format(timeout));
                let problem =
                    format!("a non-zero window ({window}) must always be at least twice the timeout ({timeout})");
                return Err(failed(problem));
            }
            Ok((entry.clone(), cron))
        });
        Ok(ProviderSchedule { entries: entries.collect::<Result<_, String>>()? })
    }

    /// Whether a run that starts now ends within a window, or does not need one.
    pub fn allows(&self, now: Timestamp, timeout: SignedDuration) -> bool {
        let is_unbound = |(entry, _): &(ScheduleEntry, Cron)| entry.window.is_zero();
        self.entries.is_empty() || self.entries.iter().any(is_unbound) || self.is_in_window(now, timeout)
    }

    fn is_in_window(&self, now: Timestamp, timeout: SignedDuration) -> bool {
        self.entries.iter().filter(|(entry, _)| !entry.window.is_zero()).any(|(entry, cron)| {
            let end = cron.previous(now).and_then(|trigger| trigger.checked_add(entry.window).ok());
            let latest_end = now.checked_add(timeout).ok();
            latest_end.zip(end).is_some_and(|(run, window)| run < window)
        })
    }

    /// Returns the earliest trigger after a moment. If two entries trigger at the same moment, the first entry counts.
    pub fn next(&self, after: Timestamp) -> Option<NextTrigger> {
        let all = self.entries.iter().filter_map(|(entry, cron)| {
            let when = cron.next(after)?;
            Some(NextTrigger { entry: entry.clone(), when })
        });
        all.min_by_key(|next| next.when)
    }

    /// Returns when the run after a successful one is due: never if `interval` is not positive.
    ///
    /// The interval applies only if it ends within a window and before the next trigger.
    pub fn next_run(&self, now: Timestamp, interval: SignedDuration, timeout: SignedDuration) -> NextRun {
        if !interval.is_positive() {
            return NextRun::Never;
        }
        let usual = now.checked_add(interval).unwrap_or(Timestamp::MAX);
        match self.next(now) {
            Some(next) if next.when < usual || !self.is_in_window(usual, timeout) => NextRun::At(next),
            _ => NextRun::After(interval),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: SignedDuration = SignedDuration::from_mins(2);

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn entry(cron: &str, zone: &str, window: &str) -> ScheduleEntry {
        let window = go_duration::parse(window).unwrap();
        ScheduleEntry { cron: cron.to_owned(), time_zone: zone.to_owned(), window }
    }

    fn schedule(entries: &[(&str, &str)]) -> ProviderSchedule {
        let entries: Vec<_> = entries.iter().map(|(cron, window)| entry(cron, "UTC", window)).collect();
        ProviderSchedule::new(&entries, TIMEOUT).unwrap()
    }

    #[test]
    fn entries_that_are_not_valid_are_named_by_their_index() {
        let refused = |entries: &[ScheduleEntry]| ProviderSchedule::new(entries, TIMEOUT).unwrap_err();
        assert_eq!(
            refused(&[entry("99 * * * *", "UTC", "0s")]),
            "failed to validate schedule[0]: failed to parse cron spec '99 * * * *' with timezone 'UTC': end of range (99) above maximum (59): 99"
        );
        assert_eq!(
            refused(&[entry("@daily", "UTC", "0s"), entry("@daily", "Mars/X", "0s")]),
            "failed to validate schedule[1]: failed to parse cron spec '@daily' with timezone 'Mars/X': provided bad location Mars/X: unknown time zone Mars/X"
        );
        assert_eq!(
            refused(&[entry("@daily", "UTC", "3m")]),
            "failed to validate schedule[0]: a non-zero window (3m0s) must always be at least twice the timeout (2m0s)"
        );
        assert_eq!(refused(&[entry("@daily", "UTC", "-1m")]), "failed to validate schedule[0]: negative window: -1m0s");
        assert!(ProviderSchedule::new(&[entry("@daily", "UTC", "4m")], TIMEOUT).is_ok());
    }

    #[test]
    fn a_run_has_to_end_within_a_window() {
        let nightly = [("0 3 * * *", "1h")];
        for (entries, now, expected) in [
            (&[] as &[_], "2026-11-26T12:00:00Z", true),
            (&nightly, "2026-11-26T02:59:59Z", false),
            (&nightly, "2026-11-26T03:00:00Z", true),
            (&nightly, "2026-11-26T03:57:59Z", true),
            // Ends at the very end of the window.
            (&nightly, "2026-11-26T03:58:00Z", false),
            (&[("0 3 * * *", "1h"), ("0 12 * * *", "1h")], "2026-11-26T12:00:00Z", true),
            // An entry without a window allows any time, even if the others have windows.
            (&[("0 3 * * *", "1h"), ("0 12 * * *", "0s")], "2026-11-26T20:00:00Z", true),
            (&[("0 0 30 2 *", "1h")], "2026-11-26T12:00:00Z", false),
            (&[("@every 1h", "5m")], "2026-11-26T12:34:00Z", true),
        ] {
            assert_eq!(schedule(entries).allows(at(now), TIMEOUT), expected, "{entries:?} at {now}");
        }
    }

    #[test]
    fn the_next_trigger_is_the_earliest_of_all_entries() {
        let entries = [entry("0 0 * * *", "UTC", "0s"), entry("0 0 * * *", "Europe/Berlin", "0s")];
        let next = ProviderSchedule::new(&entries, TIMEOUT).unwrap().next(at("2026-11-25T12:00:00Z")).unwrap();
        assert_eq!((next.when.to_string().as_str(), &next.entry), ("2026-11-25T23:00:00Z", &entries[1]));
        assert_eq!(ProviderSchedule::default().next(at("2026-11-25T12:00:00Z")), None);
    }

    #[test]
    fn the_interval_counts_where_it_ends_within_a_window_and_before_the_next_trigger() {
        let interval = SignedDuration::from_mins(10);
        let next = |entries: &[(&str, &str)], now: &str| match schedule(entries).next_run(at(now), interval, TIMEOUT) {
            NextRun::Never => "never".to_owned(),
            NextRun::After(pause) => go_duration::format(pause),
            NextRun::At(next) => next.when.to_string(),
        };
        assert_eq!(next(&[], "2026-11-26T12:00:00Z"), "10m0s");
        assert_eq!(next(&[("0 3 * * *", "1h")], "2026-11-26T03:10:00Z"), "10m0s");
        assert_eq!(next(&[("0 3 * * *", "1h")], "2026-11-26T03:50:00Z"), "2026-11-27T03:00:00Z");
        assert_eq!(next(&[("0 3 * * *", "24h"), ("5 3 * * *", "0s")], "2026-11-26T03:00:00Z"), "2026-11-26T03:05:00Z");
        // An entry without a window asks for runs at its triggers only.
        assert_eq!(next(&[("0 3 * * *", "0s")], "2026-11-26T03:00:00Z"), "2026-11-27T03:00:00Z");
        let never = schedule(&[]).next_run(at("2026-11-26T12:00:00Z"), SignedDuration::ZERO, TIMEOUT);
        assert_eq!(never, NextRun::Never);
    }
}
