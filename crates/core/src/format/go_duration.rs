//! Durations in Go's notation (`1h30m`, `1.5h`, `300µs`, `-5m`), which Flux and Kubernetes use in specs and
//! annotations.
//!
//! [`parse`] accepts the same texts as Go's `time.ParseDuration`, and [`format()`] prints the same text as Go's
//! `Duration.String`, so that values look the same as those written by a controller (`1m` becomes `1m0s`). Source: the
//! documentation of Go's `time` package.

use jiff::SignedDuration;

/// A text that is not a Go duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GoDurationError {
    /// The text does not follow `[+-]` and one or more `<number><unit>`.
    #[error("invalid duration \"{0}\": want numbers with units, such as 30s, 5m or 1h30m")]
    Syntax(String),
    /// A number without a unit.
    #[error("missing unit in duration \"{0}\": add one of ns, us, ms, s, m, h")]
    MissingUnit(String),
    /// Go does not know the unit.
    #[error("unknown unit \"{unit}\" in duration \"{text}\": use one of ns, us, ms, s, m, h")]
    UnknownUnit { text: String, unit: String },
    /// More than about 292 years, the range of Go's type.
    #[error("duration \"{0}\" is out of range: the limit is about 292 years")]
    OutOfRange(String),
}

const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    // U+00B5 micro sign and U+03BC Greek letter mu: Go accepts both.
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Parses a Go duration: an optional sign and one or more decimal numbers, each with an optional fraction and a unit.
/// `0` alone needs no unit.
///
/// # Errors
/// The variants of [`GoDurationError`]; the range is that of a 64-bit count of nanoseconds.
pub fn parse(text: &str) -> Result<SignedDuration, GoDurationError> {
    let syntax = || GoDurationError::Syntax(text.to_string());
    let out_of_range = || GoDurationError::OutOfRange(text.to_string());
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Ok(SignedDuration::ZERO);
    }
    if rest.is_empty() {
        return Err(syntax());
    }
    // The lowest value has no positive counterpart, so the sum is unsigned, as in Go.
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let (whole, after) = digits(rest);
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => digits(after),
            None => ("", after),
        };
        if whole.is_empty() && fraction.is_empty() {
            return Err(syntax());
        }
        let end = after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        if unit.is_empty() {
            return Err(GoDurationError::MissingUnit(text.to_string()));
        }
        let Some((_, nanos)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(GoDurationError::UnknownUnit { text: text.to_string(), unit: unit.to_string() });
        };
        let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| out_of_range())? };
        total = whole
            .checked_mul(*nanos)
            .and_then(|value| value.checked_add(fraction_nanos(fraction, *nanos)))
            .and_then(|value| value.checked_add(total))
            .filter(|value| *value <= i64::MIN.unsigned_abs())
            .ok_or_else(out_of_range)?;
        rest = after;
    }
    if negative {
        // At most 2^63, so the wrapping negation gives Go's value.
        return Ok(SignedDuration::from_nanos((total as i64).wrapping_neg()));
    }
    i64::try_from(total).map(SignedDuration::from_nanos).map_err(|_| out_of_range())
}

/// Prints a duration as Go does: `0s`, `431ms`, `1.5µs`, `1m0s`, `1h0m0s`. Values beyond Go's range are cut to it.
pub fn format(duration: SignedDuration) -> String {
    let limit = i128::from(i64::MAX);
    let nanos = duration.as_nanos().clamp(-limit - 1, limit);
    let magnitude = nanos.unsigned_abs() as u64;
    let sign = if nanos < 0 { "-" } else { "" };
    let text = match magnitude {
        0 => return "0s".to_string(),
        1..1_000 => format!("{magnitude}ns"),
        1_000..1_000_000 => decimal(magnitude, 1_000) + "\u{b5}s",
        1_000_000..1_000_000_000 => decimal(magnitude, 1_000_000) + "ms",
        _ => {
            let minutes = magnitude / 60_000_000_000;
            let seconds = decimal(magnitude % 60_000_000_000, 1_000_000_000);
            match (minutes / 60, minutes % 60) {
                (0, 0) => format!("{seconds}s"),
                (0, minutes) => format!("{minutes}m{seconds}s"),
                (hours, minutes) => format!("{hours}h{minutes}m{seconds}s"),
            }
        }
    };
    format!("{sign}{text}")
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

/// `0.<fraction>` of a unit, cut to whole nanoseconds.
fn fraction_nanos(fraction: &str, nanos: u64) -> u64 {
    // 18 digits are exact in u128 for every unit; later digits are below a nanosecond.
    let kept: String = fraction.chars().take(18).collect();
    let value: u128 = kept.parse().unwrap_or(0);
    (value * u128::from(nanos) / 10u128.pow(kept.len() as u32)) as u64
}

/// `value / unit` with as many decimals as needed and no more.
fn decimal(value: u64, unit: u64) -> String {
    let width = unit.ilog10() as usize;
    let fraction = format!("{:0width$}", value % unit);
    match fraction.trim_end_matches('0') {
        "" => format!("{}", value / unit),
        fraction => format!("{}.{fraction}", value / unit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn go_texts_parse_to_nanoseconds() {
        for (text, nanos) in [
            ("0", 0),
            ("-0", 0),
            ("5m", 300_000_000_000i64),
            ("1h30m", 5_400_000_000_000),
            ("1.5h", 5_400_000_000_000),
            ("100ms", 100_000_000),
            ("-5m", -300_000_000_000),
            ("+5s", 5_000_000_000),
            (".5s", 500_000_000),
            ("1.s", 1_000_000_000),
            ("300\u{b5}s", 300_000),
            ("300\u{3bc}s", 300_000),
            ("300us", 300_000),
            ("1ns", 1),
            ("1m1m", 120_000_000_000),
            ("9223372036854775807ns", i64::MAX),
            ("-9223372036854775808ns", i64::MIN),
            ("0.3333333333333333333h", 1_200_000_000_000 - 1),
        ] {
            assert_eq!(parse(text).unwrap(), SignedDuration::from_nanos(nanos), "{text}");
        }
    }

    #[test]
    fn other_texts_are_refused_with_the_text_and_the_remedy() {
        for text in
            ["", "-", "5", "1h30", "1d", "5 m", " 5m", "5m ", ".s", "s", "--5m", "9223372036854775808ns", "3000000h"]
        {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(&format!("\"{text}\"")), "{error}");
        }
        assert_eq!(parse("1d").unwrap_err(), GoDurationError::UnknownUnit { text: "1d".into(), unit: "d".into() });
        assert_eq!(parse("3").unwrap_err(), GoDurationError::MissingUnit("3".into()));
    }

    #[test]
    fn durations_print_as_go_prints_them() {
        for (nanos, text) in [
            (0, "0s"),
            (1, "1ns"),
            (1_100, "1.1\u{b5}s"),
            (2_200_000, "2.2ms"),
            (431_000_000, "431ms"),
            (3_300_000_000, "3.3s"),
            (52_000_000_000, "52s"),
            (60_000_000_000, "1m0s"),
            (65_000_000_000, "1m5s"),
            (3_600_000_000_000, "1h0m0s"),
            (245_000_000_000, "4m5s"),
            (245_001_000_000, "4m5.001s"),
            (-300_000_000_000, "-5m0s"),
            (i64::MAX, "2562047h47m16.854775807s"),
            (i64::MIN, "-2562047h47m16.854775808s"),
        ] {
            assert_eq!(format(SignedDuration::from_nanos(nanos)), text);
        }
    }

    proptest! {
        #[test]
        fn every_duration_survives_printing_and_parsing(nanos in any::<i64>()) {
            let duration = SignedDuration::from_nanos(nanos);
            prop_assert_eq!(parse(&format(duration)).unwrap(), duration);
        }

        #[test]
        fn any_text_gives_a_result_not_a_panic(text in "\\PC{0,12}") {
            let _ = parse(&text);
        }
    }
}
