//! Times, and the methods that templates can call on them.

use std::rc::Rc;

use crate::duration::format_duration;
use crate::functions::{Call, Function, Parameter, SpecialFunction};
use crate::layout;
use crate::limits::FunctionError;
use crate::value::Value;

/// `time.Time`: a point in time in a zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Time {
    /// Seconds since 1970 in UTC.
    pub seconds: i64,
    /// Nanoseconds of the second.
    pub(crate) nanoseconds: u32,
    /// Zone in which it prints.
    pub zone: Zone,
}

/// A fixed distance from UTC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    /// Abbreviation; empty for a zone with only an offset.
    pub name: String,
    /// Seconds east of UTC.
    pub offset: i32,
}

impl Zone {
    /// UTC.
    pub(crate) fn utc() -> Zone {
        Zone { name: "UTC".into(), offset: 0 }
    }
}

/// Integers that print as a name or text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedInteger {
    /// `time.Month`, from 1.
    Month,
    /// `time.Weekday`, Sunday is 0.
    Weekday,
    /// `time.Duration`, in nanoseconds.
    Duration,
}

pub(crate) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
pub(crate) const WEEKDAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

impl NamedInteger {
    pub(crate) fn type_name(self) -> &'static str {
        match self {
            NamedInteger::Month => "time.Month",
            NamedInteger::Weekday => "time.Weekday",
            NamedInteger::Duration => "time.Duration",
        }
    }

    pub(crate) fn kind_name(self) -> &'static str {
        match self {
            NamedInteger::Month | NamedInteger::Weekday => "int",
            NamedInteger::Duration => "int64",
        }
    }

    /// Returns the printed text of a number.
    pub(crate) fn name(self, number: i64) -> String {
        let named = |names: &[&str], index: Option<usize>, shown: &str| match index.and_then(|index| names.get(index)) {
            Some(name) => (*name).to_owned(),
            None => format!("%!{shown}({number})"),
        };
        match self {
            NamedInteger::Month => named(&MONTHS, usize::try_from(number - 1).ok(), "Month"),
            NamedInteger::Weekday => named(&WEEKDAYS, usize::try_from(number).ok(), "Weekday"),
            NamedInteger::Duration => format_duration(number),
        }
    }
}

/// A time as date and time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clock {
    pub(crate) year: i64,
    pub(crate) month: u32,
    pub(crate) day: u32,
    pub(crate) hour: u32,
    pub(crate) minute: u32,
    pub(crate) second: u32,
    pub(crate) weekday: u32,
    pub(crate) year_day: u32,
}

const DAY: i64 = 86_400;

/// Returns the days from 1970 to a date, by the algorithm of Howard Hinnant
/// (<https://howardhinnant.github.io/date_algorithms.html>).
pub(crate) fn days_from_date(year: i64, month: u32, day: u32) -> i64 {
    // Years that begin in March have the leap day as their last day.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let shifted = i64::from((month + 9) % 12);
    let day_of_year = (153 * shifted + 2) / 5 + i64::from(day) - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

pub(crate) fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

pub(crate) fn days_in_month(year: i64, month: u32) -> u32 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

impl Time {
    /// The zero time of Go: the start of year 1.
    pub fn zero() -> Time {
        Time { seconds: -62_135_596_800, nanoseconds: 0, zone: Zone::utc() }
    }

    pub(crate) fn clock(&self) -> Clock {
        let local = self.seconds.saturating_add(i64::from(self.zone.offset));
        let days = local.div_euclid(DAY);
        let second_of_day = local.rem_euclid(DAY);
        let shifted = days + 719_468;
        let era = shifted.div_euclid(146_097);
        let day_of_era = shifted.rem_euclid(146_097);
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_index = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_index + 2) / 5 + 1;
        let month = if month_index < 10 { month_index + 3 } else { month_index - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        let small = |number: i64| u32::try_from(number).unwrap_or_default();
        Clock {
            year,
            month: small(month),
            day: small(day),
            hour: small(second_of_day / 3600),
            minute: small(second_of_day / 60 % 60),
            second: small(second_of_day % 60),
            // Day 0, 1 January 1970, was a Thursday.
            weekday: small((days + 4).rem_euclid(7)),
            year_day: small(days - days_from_date(year, 1, 1) + 1),
        }
    }

    /// Adds a duration in nanoseconds.
    pub(crate) fn plus(&self, duration: i64) -> Time {
        let total = i128::from(self.seconds) * 1_000_000_000 + i128::from(self.nanoseconds) + i128::from(duration);
        Time {
            seconds: i64::try_from(total.div_euclid(1_000_000_000)).unwrap_or(self.seconds),
            nanoseconds: u32::try_from(total.rem_euclid(1_000_000_000)).unwrap_or_default(),
            zone: self.zone.clone(),
        }
    }

    /// `time.Time.String`
    pub(crate) fn string(&self) -> String {
        layout::format(self, b"2006-01-02 15:04:05.999999999 -0700 MST")
    }

    /// `%#v`
    pub(crate) fn go_string(&self) -> String {
        let clock = self.clock();
        let month = clock.month.checked_sub(1).and_then(|index| MONTHS.get(index as usize)).unwrap_or(&"January");
        let zone = match self.zone.name.as_str() {
            "UTC" => "time.UTC".into(),
            name => format!("time.Location({})", crate::text::quoted(name.as_bytes())),
        };
        format!(
            "time.Date({}, time.{month}, {}, {}, {}, {}, {}, {zone})",
            clock.year, clock.day, clock.hour, clock.minute, clock.second, self.nanoseconds
        )
    }

    /// The form used in JSON.
    pub(crate) fn rfc3339(&self) -> String {
        layout::format(self, b"2006-01-02T15:04:05.999999999Z07:00")
    }
}

const fn method_of(
    name: &'static str,
    parameters: &'static [Parameter],
    run: crate::functions::Implementation,
) -> Function {
    Function { name, parameters, rest: None, special: SpecialFunction::No, run }
}

fn receiver(call: &Call<'_>) -> Time {
    match call.value(0) {
        Value::Time(time) => time.as_ref().clone(),
        _ => Time::zero(),
    }
}

fn argument_time(call: &Call<'_>) -> Time {
    match call.value(1) {
        Value::Time(time) => time.as_ref().clone(),
        _ => Time::zero(),
    }
}

fn int(number: impl Into<i64>) -> Result<Value, FunctionError> {
    Ok(Value::Int(number.into()))
}

fn made(time: Time) -> Result<Value, FunctionError> {
    Ok(Value::Time(Rc::new(time)))
}

fn nanoseconds_total(time: &Time) -> i128 {
    i128::from(time.seconds) * 1_000_000_000 + i128::from(time.nanoseconds)
}

fn named_number(call: &Call<'_>) -> i64 {
    match call.value(0) {
        Value::Named(_, number) => *number,
        _ => 0,
    }
}

/// Methods of `time.Time` that return one value; arguments follow the receiver.
static TIME_METHODS: &[Function] = &[
    method_of("AddDate", &[Parameter::Int, Parameter::Int, Parameter::Int], |call| {
        let time = receiver(call);
        let clock = time.clock();
        let months = i64::from(clock.month) - 1 + call.int(2);
        let year = clock.year.saturating_add(call.int(1)).saturating_add(months.div_euclid(12));
        // Far beyond any useful date, and small enough for the arithmetic below.
        if year.unsigned_abs() > 1_000_000 || call.int(3).unsigned_abs() > 400_000_000 {
            return Err(FunctionError::new("the date is out of range"));
        }
        let month = u32::try_from(months.rem_euclid(12) + 1).unwrap_or(1);
        // Days beyond the end of the month continue in the next one.
        let days = days_from_date(year, month, 1) + i64::from(clock.day) - 1 + call.int(3);
        let local = time.seconds + i64::from(time.zone.offset);
        let seconds = days * DAY + local.rem_euclid(DAY) - i64::from(time.zone.offset);
        made(Time { seconds, ..time })
    }),
    method_of("After", &[Parameter::Time], |call| {
        Ok(Value::Bool(nanoseconds_total(&receiver(call)) > nanoseconds_total(&argument_time(call))))
    }),
    method_of("Before", &[Parameter::Time], |call| {
        Ok(Value::Bool(nanoseconds_total(&receiver(call)) < nanoseconds_total(&argument_time(call))))
    }),
    method_of("Day", &[], |call| int(receiver(call).clock().day)),
    method_of("Equal", &[Parameter::Time], |call| {
        Ok(Value::Bool(nanoseconds_total(&receiver(call)) == nanoseconds_total(&argument_time(call))))
    }),
    method_of("Format", &[Parameter::String], |call| {
        let text = layout::format(&receiver(call), call.bytes(1));
        call.created(text.into_bytes())
    }),
    method_of("Hour", &[], |call| int(receiver(call).clock().hour)),
    method_of("IsZero", &[], |call| {
        Ok(Value::Bool(nanoseconds_total(&receiver(call)) == nanoseconds_total(&Time::zero())))
    }),
    // The zone of the machine would make the output differ between machines.
    method_of("Local", &[], |call| made(Time { zone: Zone { name: "UTC".into(), offset: 0 }, ..receiver(call) })),
    method_of("Minute", &[], |call| int(receiver(call).clock().minute)),
    method_of("Month", &[], |call| Ok(Value::Named(NamedInteger::Month, receiver(call).clock().month.into()))),
    method_of("Nanosecond", &[], |call| int(receiver(call).nanoseconds)),
    method_of("Second", &[], |call| int(receiver(call).clock().second)),
    method_of("String", &[], |call| Ok(Value::from(receiver(call).string()))),
    method_of("Sub", &[Parameter::Time], |call| {
        let difference = nanoseconds_total(&receiver(call)) - nanoseconds_total(&argument_time(call));
        let limit = if difference < 0 { i64::MIN } else { i64::MAX };
        Ok(Value::Named(NamedInteger::Duration, i64::try_from(difference).unwrap_or(limit)))
    }),
    method_of("UTC", &[], |call| made(Time { zone: Zone::utc(), ..receiver(call) })),
    method_of("Unix", &[], |call| Ok(Value::Int64(receiver(call).seconds))),
    method_of("UnixMicro", &[], |call| Ok(Value::Int64((nanoseconds_total(&receiver(call)).div_euclid(1_000)) as i64))),
    method_of("UnixMilli", &[], |call| {
        Ok(Value::Int64((nanoseconds_total(&receiver(call)).div_euclid(1_000_000)) as i64))
    }),
    method_of("UnixNano", &[], |call| Ok(Value::Int64(nanoseconds_total(&receiver(call)) as i64))),
    method_of("Weekday", &[], |call| Ok(Value::Named(NamedInteger::Weekday, receiver(call).clock().weekday.into()))),
    method_of("Year", &[], |call| int(receiver(call).clock().year)),
    method_of("YearDay", &[], |call| int(receiver(call).clock().year_day)),
];

/// Methods of months, weekdays and durations.
static NAMED_METHODS: &[Function] = &[method_of("String", &[], |call| match call.value(0) {
    Value::Named(named, number) => Ok(Value::from(named.name(*number))),
    _ => Ok(Value::from("")),
})];

/// Methods of durations only.
static DURATION_METHODS: &[Function] = &[
    method_of("Hours", &[], |call| Ok(Value::Float(named_number(call) as f64 / 3.6e12))),
    method_of("Milliseconds", &[], |call| Ok(Value::Int64(named_number(call) / 1_000_000))),
    method_of("Minutes", &[], |call| Ok(Value::Float(named_number(call) as f64 / 6e10))),
    method_of("Nanoseconds", &[], |call| Ok(Value::Int64(named_number(call)))),
    method_of("Seconds", &[], |call| Ok(Value::Float(named_number(call) as f64 / 1e9))),
];

/// Finds a method of a value.
pub(crate) fn method(value: &Value, name: &str) -> Option<&'static Function> {
    let find = |methods: &'static [Function]| methods.iter().find(|method| method.name == name);
    match value {
        Value::Time(_) => find(TIME_METHODS),
        Value::Named(NamedInteger::Duration, _) => find(NAMED_METHODS).or_else(|| find(DURATION_METHODS)),
        Value::Named(..) => find(NAMED_METHODS),
        _ => None,
    }
}
