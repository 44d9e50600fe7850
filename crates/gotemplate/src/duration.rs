//! Durations as Go writes them: `1h30m0s`.

const SECOND: u64 = 1_000_000_000;

/// Parses a duration as `time.ParseDuration` does, in nanoseconds.
///
/// # Errors
/// The reason in Go's words.
pub(crate) fn parse_duration(text: &[u8]) -> Result<i64, String> {
    let shown = || crate::layout::quote(text);
    let invalid = || format!("time: invalid duration {}", shown());
    let (negative, mut rest) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    // Zero is the only duration without a unit, as in Go.
    if rest == b"0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total = 0u64;
    while !rest.is_empty() {
        if !matches!(rest.first(), Some(b'.' | b'0'..=b'9')) {
            return Err(invalid());
        }
        let whole_digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, after) = rest.split_at(whole_digits);
        let mut value = 0u64;
        for digit in digits {
            value = value
                .checked_mul(10)
                .and_then(|value| value.checked_add(u64::from(digit - b'0')))
                // 2⁶³ is allowed here, because it is the magnitude of the most negative duration. The end of the
                // function refuses it for a positive duration.
                .filter(|value| *value <= 1 << 63)
                .ok_or_else(invalid)?;
        }
        rest = after;
        let mut fraction = 0u64;
        let mut scale = 1f64;
        let mut fraction_digits = 0;
        if let [b'.', after @ ..] = rest {
            fraction_digits = after.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let (digits, after) = after.split_at(fraction_digits);
            for digit in digits {
                // Digits beyond the precision of a number are dropped, as in Go.
                let Some(next) = fraction.checked_mul(10).and_then(|value| value.checked_add(u64::from(digit - b'0')))
                else {
                    break;
                };
                if next > 1 << 63 {
                    break;
                }
                fraction = next;
                scale *= 10.0;
            }
            rest = after;
        }
        if whole_digits == 0 && fraction_digits == 0 {
            return Err(invalid());
        }
        let unit_length = rest.iter().take_while(|byte| **byte != b'.' && !byte.is_ascii_digit()).count();
        if unit_length == 0 {
            return Err(format!("time: missing unit in duration {}", shown()));
        }
        let (unit, after) = rest.split_at(unit_length);
        let nanoseconds = match unit {
            b"ns" => 1,
            // Unicode has two micro signs, and Go accepts both.
            b"us" | [0xc2, 0xb5, b's'] | [0xce, 0xbc, b's'] => 1_000,
            b"ms" => 1_000_000,
            b"s" => SECOND,
            b"m" => 60 * SECOND,
            b"h" => 3600 * SECOND,
            _ => return Err(format!("time: unknown unit {} in duration {}", crate::layout::quote(unit), shown())),
        };
        rest = after;
        let mut part = value.checked_mul(nanoseconds).filter(|part| *part <= 1 << 63).ok_or_else(invalid)?;
        if fraction > 0 {
            // With floats, as in Go, so that the last digits agree.
            part += (fraction as f64 * (nanoseconds as f64 / scale)) as u64;
        }
        total = total.checked_add(part).filter(|total| *total <= 1 << 63).ok_or_else(invalid)?;
    }
    if negative {
        // The size 2⁶³ has no positive `i64`: the cast wraps around, and negating keeps it.
        return Ok((total as i64).wrapping_neg());
    }
    i64::try_from(total).map_err(|_| invalid())
}

/// Formats a duration as `time.Duration.String` does.
pub(crate) fn format_duration(nanoseconds: i64) -> String {
    let total = nanoseconds.unsigned_abs();
    let sign = if nanoseconds < 0 { "-" } else { "" };
    if total < SECOND {
        let (scale, unit) = match total {
            0 => return "0s".into(),
            1..1_000 => (1, "ns"),
            1_000..1_000_000 => (1_000, "µs"),
            _ => (1_000_000, "ms"),
        };
        return format!("{sign}{}{unit}", decimal(total, scale));
    }
    let minutes = total / (60 * SECOND);
    let seconds = decimal(total % (60 * SECOND), SECOND);
    match (minutes / 60, minutes % 60) {
        (0, 0) => format!("{sign}{seconds}s"),
        (0, minutes) => format!("{sign}{minutes}m{seconds}s"),
        (hours, minutes) => format!("{sign}{hours}h{minutes}m{seconds}s"),
    }
}

fn decimal(value: u64, scale: u64) -> String {
    let fraction = value % scale;
    if fraction == 0 {
        return (value / scale).to_string();
    }
    let width = scale.ilog10() as usize;
    let fraction = format!("{fraction:0width$}");
    format!("{}.{}", value / scale, fraction.trim_end_matches('0'))
}
