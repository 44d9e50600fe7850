//! Dates and durations. The local zone is UTC, so that a template prints the same everywhere.

use std::rc::Rc;

use super::Call;
use crate::duration::{format_duration, parse_duration};
use crate::layout;
use crate::limits::FunctionError;
use crate::time::Time;
use crate::value::Value;

const SECOND: i64 = 1_000_000_000;

pub(super) fn must_to_date(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    layout::parse(call.bytes(0), call.bytes(1)).map(|time| Value::Time(Rc::new(time))).map_err(FunctionError::new)
}

pub(super) fn to_date(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    // Go returns the zero time for a text that it cannot parse.
    let time = layout::parse(call.bytes(0), call.bytes(1)).unwrap_or_else(|_| Time::zero());
    Ok(Value::Time(Rc::new(time)))
}

fn time(call: &Call<'_>, index: usize) -> Time {
    match call.value(index) {
        Value::Time(time) => time.as_ref().clone(),
        _ => Time::zero(),
    }
}

pub(super) fn must_date_modify(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let duration = parse_duration(call.bytes(0)).map_err(FunctionError::new)?;
    Ok(Value::Time(Rc::new(time(call, 1).plus(duration))))
}

pub(super) fn unix_epoch(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    Ok(Value::from(time(call, 0).seconds.to_string()))
}

pub(super) fn duration(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let seconds = match call.value(0) {
        Value::String(text) => {
            let text = std::str::from_utf8(text).unwrap_or_default();
            // Out of range, Go returns the limit.
            text.parse().unwrap_or_else(|error: std::num::ParseIntError| match error.kind() {
                std::num::IntErrorKind::PosOverflow => i64::MAX,
                std::num::IntErrorKind::NegOverflow => i64::MIN,
                _ => 0,
            })
        }
        // Sprig ignores an `int`, which is a quirk.
        Value::Int64(seconds) => *seconds,
        _ => 0,
    };
    Ok(Value::from(format_duration(seconds.wrapping_mul(SECOND))))
}

fn now(call: &Call<'_>) -> Result<i64, FunctionError> {
    call.context.now.ok_or_else(|| FunctionError::new("the time is not available here"))
}

/// Returns the nanoseconds from a time until now, limited to the range of a duration.
fn since(call: &Call<'_>, seconds: i64, nanoseconds: u32) -> Result<i64, FunctionError> {
    let elapsed = (i128::from(now(call)?) - i128::from(seconds)) * i128::from(SECOND) - i128::from(nanoseconds);
    Ok(i64::try_from(elapsed).unwrap_or(if elapsed < 0 { i64::MIN } else { i64::MAX }))
}

pub(super) fn ago(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let elapsed = match call.value(0) {
        Value::Time(time) => since(call, time.seconds, time.nanoseconds)?,
        Value::Int(seconds) | Value::Int64(seconds) => since(call, *seconds, 0)?,
        // Sprig uses the current time for any other value.
        _ => {
            now(call)?;
            0
        }
    };
    // Half a second rounds away from zero, as in `time.Duration.Round`.
    let rounded = (i128::from(elapsed) + i128::from(elapsed.signum() * SECOND / 2)) / i128::from(SECOND);
    let rounded = i64::try_from(rounded * i128::from(SECOND)).unwrap_or(elapsed);
    Ok(Value::from(format_duration(rounded)))
}

pub(super) fn duration_round(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let duration = match call.value(0) {
        // Sprig drops the error.
        Value::String(text) => parse_duration(text).unwrap_or(0),
        Value::Int64(nanoseconds) => *nanoseconds,
        Value::Time(time) => since(call, time.seconds, time.nanoseconds)?,
        _ => 0,
    };
    let length = duration.unsigned_abs();
    let second = SECOND.unsigned_abs();
    let hour = 3600 * second;
    let units = [
        (365 * 24 * hour, "y"),
        (30 * 24 * hour, "mo"),
        (24 * hour, "d"),
        (hour, "h"),
        (60 * second, "m"),
        (second, "s"),
    ];
    // Sprig's comparison is strict: `1m` stays `60s`.
    let found = units.iter().find(|(unit, _)| length > *unit);
    Ok(Value::from(found.map_or_else(|| "0s".into(), |(unit, name)| format!("{}{name}", length / unit))))
}
