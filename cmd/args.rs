//! Arguments that commands share.

pub mod complete;
pub mod instance;
pub mod list;
pub mod objects;

use std::str::FromStr;

use clap::{ArgAction, ValueEnum};
use flux_operator::format::{json, yaml};
use flux_operator::request::SuspendNote;
use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, Timestamp, ToSpan};
use serde::Serialize;

use crate::terminal::CliError;
use crate::terminal::progress::{ProgressArgs, ProgressMode};

/// `--dry-run=client|server`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DryRun {
    /// Send nothing; print what would be sent
    Client,
    /// Let the API server check the request without storing it
    Server,
}

#[derive(clap::Args, Clone, Debug)]
pub struct DryRunArgs {
    /// Change nothing: print what would be sent (client), or let the API
    /// server check it (server)
    // Without `=`, an optional value would swallow the next word, such as the name of an object.
    #[arg(long, value_enum, value_name = "WHERE", num_args = 0..=1, require_equals = true, default_missing_value = "client")]
    pub dry_run: Option<DryRun>,
}

/// `--dry-run` of commands that compare with the cluster before every change: both places mean the same.
#[derive(clap::Args, Clone, Debug)]
pub struct PreviewArgs {
    /// Only show what would change; both values contact the API server
    #[arg(long, value_enum, value_name = "WHERE", num_args = 0..=1, require_equals = true, default_missing_value = "client")]
    pub dry_run: Option<DryRun>,
}

impl PreviewArgs {
    pub fn is_set(&self) -> bool {
        self.dry_run.is_some()
    }
}

#[derive(clap::Args, Clone, Debug)]
pub struct WaitArgs {
    /// Wait for the outcome; --wait=false only sends the request
    // Without `=`, an optional value would swallow the next word, as for `--dry-run`.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", action = ArgAction::Set)]
    pub wait: bool,
}

/// The flags of a command that sends a request and follows it.
#[derive(clap::Args, Clone, Debug)]
pub struct FollowArgs {
    #[command(flatten)]
    pub wait: WaitArgs,
    #[command(flatten)]
    pub dry_run: DryRunArgs,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

impl FollowArgs {
    pub fn waits(&self) -> bool {
        self.wait.wait
    }

    pub fn dry_run(&self) -> Option<DryRun> {
        self.dry_run.dry_run
    }

    pub fn mode(&self) -> ProgressMode {
        self.progress.progress
    }
}

/// A moment: a duration before or after now, a time, or a time of day; UTC unless a zone is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointInTime {
    Distance(SignedDuration),
    At(Timestamp),
    Daily(Time),
}

impl FromStr for PointInTime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(time) = text.parse() {
            return Ok(PointInTime::At(time));
        }
        // A date alone means the beginning of its day.
        let date = text.parse::<DateTime>().ok().and_then(|date| date.to_zoned(TimeZone::UTC).ok());
        if let Some(date) = date {
            return Ok(PointInTime::At(date.timestamp()));
        }
        if let Some(time) = text.parse().ok().filter(|_| text.contains(':')) {
            return Ok(PointInTime::Daily(time));
        }
        let span: Option<Span> = text.parse().ok();
        let duration = span.and_then(|span| span.to_duration(jiff::SpanRelativeTo::days_are_24_hours()).ok());
        duration.filter(|duration| duration.is_positive()).map(PointInTime::Distance).ok_or_else(|| {
            "write how long (30m, 2h, 3d) or a time in UTC (18:00, 2026-11-22, 2026-11-22T18:00:00Z)".to_owned()
        })
    }
}

impl PointInTime {
    /// Returns the moment before now: the duration ago, the time, or the last such time of day; `None` beyond the
    /// calendar.
    pub fn before(self, now: Timestamp) -> Option<Timestamp> {
        match self {
            PointInTime::Distance(duration) => now.checked_sub(duration).ok(),
            PointInTime::At(time) => Some(time),
            PointInTime::Daily(time) => {
                [0, -1].into_iter().find_map(|days| on_day(now, days, time).filter(|at| *at <= now))
            }
        }
    }

    /// Returns the moment after now: the duration ahead, the time, or the next such time of day; `None` beyond the
    /// calendar.
    pub fn after(self, now: Timestamp) -> Option<Timestamp> {
        match self {
            PointInTime::Distance(duration) => now.checked_add(duration).ok(),
            PointInTime::At(time) => Some(time),
            PointInTime::Daily(time) => {
                [0, 1].into_iter().find_map(|days| on_day(now, days, time).filter(|at| *at > now))
            }
        }
    }
}

/// Returns a time of day some days after that of `now`.
fn on_day(now: Timestamp, days: i64, time: Time) -> Option<Timestamp> {
    let day = now.to_zoned(TimeZone::UTC).date().checked_add(days.days()).ok()?;
    Some(day.to_datetime(time).to_zoned(TimeZone::UTC).ok()?.timestamp())
}

/// The note on a suspended object.
#[derive(clap::Args, Clone, Debug)]
pub struct NoteArgs {
    /// Reason for the suspension, shown by `get suspended`
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// Planned end: 30m, 2h, 3d, or a UTC time like 18:00, 2026-11-22 or 2026-11-22T18:00:00Z. Nothing is resumed
    /// automatically: `get suspended` shows the object as overdue, and `resume --overdue` resumes it
    #[arg(long, value_name = "TIME")]
    pub until: Option<PointInTime>,
}

impl NoteArgs {
    /// # Errors
    /// Usage, for a time in the past.
    pub fn note(&self, now: Timestamp) -> Result<SuspendNote<'_>, CliError> {
        let until = match self.until.map(|until| until.after(now)) {
            None => None,
            Some(Some(until)) if until > now => Some(until),
            Some(_) => {
                return Err(CliError::usage("--until must be in the future")
                    .hint("write how long (30m, 2h, 3d) or a later time in UTC (18:00, 2026-11-22T18:00:00Z)"));
            }
        };
        Ok(SuspendNote { reason: self.reason.as_deref().filter(|text| !text.trim().is_empty()), until })
    }
}

/// Formats of an object for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ObjectFormat {
    Yaml,
    Json,
}

impl ObjectFormat {
    /// Formats an object; `what` names it in the error.
    ///
    /// # Errors
    /// Failed, if the object cannot be formatted.
    pub fn text(self, object: &impl Serialize, what: &str) -> Result<String, CliError> {
        let failed = || CliError::failed(format!("cannot print {what}"));
        match self {
            ObjectFormat::Yaml => yaml::to_string(object).map_err(|error| failed().caused_by(&error)),
            ObjectFormat::Json => json::to_string(object).map_err(|error| failed().caused_by(&error)),
        }
    }
}

/// The flag for the format of an object.
#[derive(clap::Args, Clone, Debug)]
pub struct ObjectFormatArgs {
    /// Format of the output
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = ObjectFormat::Yaml)]
    pub output: ObjectFormat,
}

/// Commands that send no request to an API server, or whose rights another command prints.
pub const COMMANDS_WITHOUT_RIGHTS: [(&str, &str); 7] = [
    ("artifact", "it works with registries"),
    ("build", "it works with files and registries"),
    ("distribution", "it works with files and registries"),
    ("completion", "it sends nothing to an API server"),
    ("explain", "it sends nothing to an API server"),
    ("controller", "the operator's own rights come with `flux-operator install --export`"),
    ("rbac", "it sends nothing to an API server"),
];

/// Whether `rbac` can print the rights of a command.
pub fn has_rights(command: &clap::Command) -> bool {
    !command.is_hide_set() && COMMANDS_WITHOUT_RIGHTS.iter().all(|(word, _)| *word != command.get_name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_as_distances_and_times() {
        let now: Timestamp = "2026-11-22T12:00:00Z".parse().unwrap();
        let rows = [
            ("30m", "2026-11-22T12:30:00Z", "2026-11-22T11:30:00Z"),
            ("1h30m", "2026-11-22T13:30:00Z", "2026-11-22T10:30:00Z"),
            ("3d", "2026-11-25T12:00:00Z", "2026-11-19T12:00:00Z"),
            ("2026-11-22T18:00:00+02:00", "2026-11-22T16:00:00Z", "2026-11-22T16:00:00Z"),
            ("2026-12-01", "2026-12-01T00:00:00Z", "2026-12-01T00:00:00Z"),
            ("2026-12-01T18:00", "2026-12-01T18:00:00Z", "2026-12-01T18:00:00Z"),
            ("18:00", "2026-11-22T18:00:00Z", "2026-11-21T18:00:00Z"),
            ("09:30:15", "2026-11-23T09:30:15Z", "2026-11-22T09:30:15Z"),
            ("12:00", "2026-11-23T12:00:00Z", "2026-11-22T12:00:00Z"),
        ];
        for (text, after, before) in rows {
            let when: PointInTime = text.parse().unwrap();
            let shown = |moment: Option<Timestamp>| moment.map(|m| m.to_string());
            assert_eq!(
                (shown(when.after(now)).as_deref(), shown(when.before(now)).as_deref()),
                (Some(after), Some(before))
            );
        }
        for wrong in ["", "3", "18", "1800", "25:00", "2026-13-01", "-1h", "0s", "soon", "1y"] {
            assert!(wrong.parse::<PointInTime>().is_err(), "{wrong}");
        }
        let note = |until: &str| {
            NoteArgs { reason: Some(" ".into()), until: until.parse().ok() }
                .note(now)
                .map(|n| (n.reason.is_none(), n.until))
        };
        assert_eq!(note("1h").unwrap(), (true, "2026-11-22T13:00:00Z".parse().ok()));
        assert_eq!(note("2026-11-22T11:00:00Z").unwrap_err().exit(), crate::terminal::Exit::Usage);
    }
}
