//! Floating-point numbers as text, by the rules of `strconv.FormatFloat`.

/// Formats of `strconv.FormatFloat` that the verbs of `fmt` use.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FloatFormat {
    /// `1.5e+03`
    Exponent,
    /// `1500.0`
    Fixed,
    /// The shorter of `Exponent` and `Fixed`.
    General,
    /// `0x1.8p+10`
    Hexadecimal,
    /// `4503599627370496p-52`
    Binary,
}

/// Formats a number. A precision of `None` means the fewest digits that parse to the same number.
pub(crate) fn format_float(value: f64, format: FloatFormat, precision: Option<usize>) -> String {
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.into();
    }
    match format {
        FloatFormat::Binary => binary(value),
        FloatFormat::Hexadecimal => hexadecimal(value, precision),
        FloatFormat::Fixed => match precision {
            // Rust prints all integral digits and the fewest decimals, which equals Go's shortest fixed form.
            None => format!("{value}"),
            Some(decimals) => format!("{value:.decimals$}"),
        },
        FloatFormat::Exponent => {
            let digits = match precision {
                None => format!("{value:e}"),
                Some(decimals) => format!("{value:.decimals$e}"),
            };
            go_exponent(&digits)
        }
        FloatFormat::General => general(value, precision),
    }
}

/// Rewrites Rust's `1.5e3` as Go's `1.5e+03`.
fn go_exponent(digits: &str) -> String {
    let (mantissa, exponent) = digits.split_once('e').unwrap_or((digits, "0"));
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    format!("{mantissa}e{sign}{exponent:0>2}")
}

fn general(value: f64, precision: Option<usize>) -> String {
    let shortest = precision.is_none();
    let scientific = match precision {
        None => format!("{value:e}"),
        Some(digits) => format!("{value:.*e}", digits.max(1) - 1),
    };
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    // `%g` drops trailing zeros of the mantissa.
    let mantissa = if mantissa.contains('.') { mantissa.trim_end_matches('0').trim_end_matches('.') } else { mantissa };
    let digits = mantissa.bytes().filter(u8::is_ascii_digit).count();
    // Go's rule for when `%g` becomes `%e`: a precision beyond the digits that exist counts as their number, unless
    // zeros are needed before the point.
    let mut threshold = precision.unwrap_or(0).max(1);
    if threshold > digits && digits as i32 > exponent {
        threshold = digits;
    }
    if shortest {
        // Without a precision Go decides as for 6 digits, so a million is `1e+06`.
        threshold = 6;
    }
    if exponent < -4 || exponent >= i32::try_from(threshold).unwrap_or(i32::MAX) {
        return go_exponent(&format!("{mantissa}e{exponent}"));
    }
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(mantissa) => ("-", mantissa),
        None => ("", mantissa),
    };
    let all: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let point = exponent + 1;
    if point <= 0 {
        return format!("{sign}0.{}{all}", "0".repeat(point.unsigned_abs() as usize));
    }
    let point = point as usize;
    if all.len() <= point {
        return format!("{sign}{all}{}", "0".repeat(point - all.len()));
    }
    let (whole, fraction) = all.split_at(point);
    format!("{sign}{whole}.{fraction}")
}

/// Splits a finite number into sign, 53-bit mantissa and power of two.
fn parts(value: f64) -> (bool, u64, i32) {
    let bits = value.to_bits();
    let exponent = ((bits >> 52) & 0x7ff) as i32;
    let mantissa = bits & ((1 << 52) - 1);
    match exponent {
        // Subnormal numbers have no hidden leading bit.
        0 => (value.is_sign_negative(), mantissa, -1074),
        _ => (value.is_sign_negative(), mantissa | (1 << 52), exponent - 1075),
    }
}

fn binary(value: f64) -> String {
    let (negative, mantissa, exponent) = parts(value);
    format!("{}{mantissa}p{exponent:+}", if negative { "-" } else { "" })
}

fn hexadecimal(value: f64, precision: Option<usize>) -> String {
    let (negative, mantissa, mut exponent) = parts(value);
    let sign = if negative { "-" } else { "" };
    if mantissa == 0 {
        let zeros = precision.filter(|digits| *digits > 0).map(|digits| format!(".{}", "0".repeat(digits)));
        return format!("{sign}0x0{}p+00", zeros.unwrap_or_default());
    }
    // A single hexadecimal digit precedes the point, and 60 bits follow it.
    let shift = mantissa.leading_zeros() as i32 - 3;
    let mut bits = mantissa << shift;
    exponent += 60 - shift;
    if let Some(digits) = precision.filter(|digits| *digits < 15) {
        let drop = 4 * (15 - digits) as u32;
        let half = 1u64 << (drop - 1);
        let kept = bits >> drop;
        let rest = bits & ((1 << drop) - 1);
        // Halves are rounded to even, as in Go.
        let kept = if rest > half || rest == half && kept & 1 == 1 { kept + 1 } else { kept };
        bits = kept << drop;
        // Rounding up can turn the leading 1 into 2. Go keeps the 1 and raises the exponent.
        if bits >> 61 != 0 {
            bits >>= 1;
            exponent += 1;
        }
    }
    let fraction = format!("{:015x}", bits & ((1 << 60) - 1));
    let fraction = match precision {
        None => fraction.trim_end_matches('0').to_owned(),
        Some(digits) => format!("{fraction:0<digits$}").chars().take(digits).collect(),
    };
    let point = if fraction.is_empty() { "" } else { "." };
    let exponent_sign = if exponent < 0 { '-' } else { '+' };
    format!("{sign}0x1{point}{fraction}p{exponent_sign}{:02}", exponent.unsigned_abs())
}

/// Parses a number as `strconv.ParseFloat` does: decimal or hexadecimal, with `_` only where `underscores` allows it.
///
/// Returns `None` where Go returns an error, also for numbers out of range.
pub(crate) fn parse_float(text: &str, underscores: bool) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let negative = text.starts_with('-');
    let lower = unsigned.to_ascii_lowercase();
    let signed = |value: f64| if negative { -value } else { value };
    match lower.as_str() {
        "inf" | "infinity" => return Some(signed(f64::INFINITY)),
        // Go accepts a sign only before `inf`.
        "nan" if unsigned.len() == text.len() => return Some(f64::NAN),
        _ => {}
    }
    let cleaned = if lower.contains('_') {
        // `ParseFloat` accepts them without a base prefix too, although its documentation says otherwise.
        if !underscores || !has_underscores_between_digits(&lower) {
            return None;
        }
        lower.replace('_', "")
    } else {
        lower
    };
    if let Some(hexadecimal) = cleaned.strip_prefix("0x") {
        return parse_hexadecimal(hexadecimal).map(signed);
    }
    let plausible = cleaned.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'+' | b'-'))
        && cleaned.bytes().any(|byte| byte.is_ascii_digit())
        // The sign is already removed, and Rust would accept a second one.
        && !cleaned.starts_with(['+', '-']);
    if !plausible {
        return None;
    }
    let value: f64 = cleaned.parse().ok()?;
    value.is_finite().then(|| signed(value))
}

/// Whether every `_` is between two digits or behind the prefix, as Go's literals require.
fn has_underscores_between_digits(lower: &str) -> bool {
    let hexadecimal = lower.strip_prefix("0x");
    let is_digit = |byte: u8| byte.is_ascii_digit() || hexadecimal.is_some() && byte.is_ascii_hexdigit();
    // The prefix counts as a digit.
    let mut last = if hexadecimal.is_some() { b'0' } else { b'.' };
    for byte in hexadecimal.unwrap_or(lower).bytes() {
        if byte == b'_' && !is_digit(last) || last == b'_' && !is_digit(byte) {
            return false;
        }
        last = byte;
    }
    last != b'_'
}

fn parse_hexadecimal(text: &str) -> Option<f64> {
    // Go requires the exponent.
    let (mantissa, exponent) = text.split_once('p')?;
    let mut exponent: i64 = exponent.strip_prefix('+').unwrap_or(exponent).parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut bits = 0u128;
    let mut sticky = false;
    for (index, digit) in whole.chars().chain(fraction.chars()).enumerate() {
        let digit = digit.to_digit(16)?;
        if index >= whole.len() {
            exponent = exponent.checked_sub(4)?;
        }
        if bits >> 120 == 0 {
            bits = bits << 4 | u128::from(digit);
        } else {
            // Digits beyond 120 bits matter only for the rounding: a last bit records that they are not all zero.
            sticky |= digit != 0;
            exponent = exponent.checked_add(4)?;
        }
    }
    if sticky {
        bits |= 1;
    }
    // Beyond this every result is 0 or infinite, so the clamp only makes the number fit.
    let exponent = i32::try_from(exponent.clamp(-10_000, 10_000)).ok()?;
    // Two steps keep a small power from becoming zero before it is applied.
    let half = exponent / 2;
    let value = bits as f64 * 2f64.powi(half) * 2f64.powi(exponent - half);
    value.is_finite().then_some(value)
}
