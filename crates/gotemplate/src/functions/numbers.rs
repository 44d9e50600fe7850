//! Integers and floats.

use super::Call;
use crate::float::parse_float;
use crate::limits::FunctionError;
use crate::print;
use crate::value::{ElementType, List, Value};

/// Converts a float in range as Go does on amd64 and arm64. Any other float becomes the smallest integer.
fn truncated(float: f64) -> i64 {
    const LIMIT: f64 = (1u64 << 63) as f64;
    if (-LIMIT..LIMIT).contains(&float) { float as i64 } else { i64::MIN }
}

/// `strconv.ParseInt` with another base.
fn parse_integer(text: &[u8], base: u32) -> Option<i64> {
    // Rust's parser accepts the same signs and digits.
    i64::from_str_radix(std::str::from_utf8(text).ok()?, base).ok()
}

/// Sprig's `toInt64`: texts that are not decimal integers become 0.
pub(super) fn to_int64(value: &Value) -> i64 {
    match value {
        Value::String(text) => parse_integer(text, 10).unwrap_or(0),
        Value::Int(number) | Value::Int64(number) | Value::Named(_, number) => *number,
        Value::Byte(number) => i64::from(*number),
        Value::Float(number) => truncated(*number),
        Value::Bool(value) => i64::from(*value),
        _ => 0,
    }
}

fn to_float64(value: &Value) -> f64 {
    match value {
        Value::String(text) => std::str::from_utf8(text).ok().and_then(|text| parse_float(text, true)).unwrap_or(0.0),
        Value::Int(number) | Value::Int64(number) | Value::Named(_, number) => *number as f64,
        Value::Byte(number) => f64::from(*number),
        Value::Float(number) => *number,
        Value::Bool(value) => f64::from(u8::from(*value)),
        _ => 0.0,
    }
}

pub(super) fn int(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    Ok(Value::Int(to_int64(call.value(0))))
}

pub(super) fn int64(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    Ok(Value::Int64(to_int64(call.value(0))))
}

pub(super) fn float64(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    Ok(Value::Float(to_float64(call.value(0))))
}

pub(super) fn atoi(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let text = call.bytes(0);
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        _ => (false, text),
    };
    // Out of range, Go returns the limit together with the error that is dropped here.
    let limit = if negative { i64::MIN } else { i64::MAX };
    let mut magnitude = 0u64;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return Ok(Value::Int(0));
        }
        // Go stops at the first digit that is too many, and does not check the rest.
        match magnitude.checked_mul(10).and_then(|tens| tens.checked_add(u64::from(digit - b'0'))) {
            Some(next) => magnitude = next,
            None => return Ok(Value::Int(limit)),
        }
    }
    if digits.is_empty() {
        return Ok(Value::Int(0));
    }
    Ok(Value::Int(parse_integer(text, 10).unwrap_or(limit)))
}

// Despite the name, Sprig reads the text as an octal number, such as a file mode.
pub(super) fn to_decimal(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let text = print::print(call.budget(), &[call.take(0)])?;
    Ok(Value::Int64(parse_integer(&text, 8).unwrap_or(0)))
}

// Arithmetic wraps around, as Go's does.

pub(super) fn add(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    Ok(Value::Int64(call.arguments.iter().map(to_int64).fold(0, i64::wrapping_add)))
}

pub(super) fn add1(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    Ok(Value::Int64(to_int64(call.value(0)).wrapping_add(1)))
}

pub(super) fn sub(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    Ok(Value::Int64(to_int64(call.value(0)).wrapping_sub(to_int64(call.value(1)))))
}

pub(super) fn mul(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    Ok(Value::Int64(call.arguments.iter().map(to_int64).fold(1, i64::wrapping_mul)))
}

fn divided(call: &Call<'_>, divide: fn(i64, i64) -> i64) -> Result<Value, FunctionError> {
    match to_int64(call.value(1)) {
        0 => Err(FunctionError::new("runtime error: integer divide by zero")),
        divisor => Ok(Value::Int64(divide(to_int64(call.value(0)), divisor))),
    }
}

pub(super) fn div(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    divided(call, i64::wrapping_div)
}

pub(super) fn remainder(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    divided(call, i64::wrapping_rem)
}

pub(super) fn max(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    Ok(Value::Int64(call.arguments.iter().map(to_int64).max().unwrap_or(0)))
}

pub(super) fn min(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    Ok(Value::Int64(call.arguments.iter().map(to_int64).min().unwrap_or(0)))
}

/// Chooses a number as `math.Max` and `math.Min` do: NaN wins over everything except `winner`. Rust's own functions
/// drop NaN.
fn chosen(call: &Call<'_>, winner: f64, choose: fn(f64, f64) -> f64) -> Value {
    let mut numbers = call.arguments.iter().map(to_float64);
    let first = numbers.next().unwrap_or(0.0);
    Value::Float(numbers.fold(first, |left, right| {
        if left == winner || right == winner {
            winner
        } else if left.is_nan() || right.is_nan() {
            f64::NAN
        } else {
            choose(left, right)
        }
    }))
}

pub(super) fn maxf(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    Ok(chosen(call, f64::INFINITY, f64::max))
}

pub(super) fn minf(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    Ok(chosen(call, f64::NEG_INFINITY, f64::min))
}

pub(super) fn ceil(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    Ok(Value::Float(to_float64(call.value(0)).ceil()))
}

pub(super) fn floor(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    Ok(Value::Float(to_float64(call.value(0)).floor()))
}

/// Computes a power of 10 by squaring, with the rounding of Go's `math.Pow`.
fn power_of_ten(exponent: i64) -> f64 {
    let mut result = 1.0f64;
    let mut square = 10.0f64;
    // Beyond this limit the power is infinite or 0 anyway. The limit keeps the loop short.
    let mut rest = exponent.unsigned_abs().min(400);
    while rest > 0 {
        if rest & 1 == 1 {
            result *= square;
        }
        square *= square;
        rest >>= 1;
    }
    if exponent < 0 { 1.0 / result } else { result }
}

pub(super) fn round(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let round_on = match call.value(2) {
        Value::Float(number) => *number,
        _ => 0.5,
    };
    let power = power_of_ten(call.int(1));
    let scaled = power * to_float64(call.value(0));
    // The fraction of a negative number is negative, so Sprig rounds `-1.4` to -2.
    let rounded = if scaled.fract() >= round_on { scaled.ceil() } else { scaled.floor() };
    Ok(Value::Float(rounded / power))
}

// Sequences.

/// Numbers from `start` up to but not including `stop`.
struct Steps {
    start: i64,
    step: i64,
    count: u64,
}

impl Steps {
    fn new(start: i64, stop: i64, step: i64) -> Steps {
        // A step of 0 or away from the end gives an empty list, not an error.
        let upwards = start <= stop && step > 0;
        let downwards = start > stop && step < 0;
        let distance = i128::from(stop) - i128::from(start);
        let count =
            if upwards || downwards { distance.unsigned_abs().div_ceil(u128::from(step.unsigned_abs())) } else { 0 };
        Steps { start, step, count: u64::try_from(count).unwrap_or(u64::MAX) }
    }

    fn numbers(&self, call: &Call<'_>) -> Result<impl Iterator<Item = i64> + use<>, FunctionError> {
        // Before anything is allocated, so that a huge range cannot use up the memory.
        call.budget().create_items(usize::try_from(self.count).unwrap_or(usize::MAX))?;
        let (start, step) = (self.start, self.step);
        Ok((0..self.count).map(move |index| start.wrapping_add((index as i64).wrapping_mul(step))))
    }
}

fn int_list(call: &Call<'_>, start: i64, stop: i64, step: i64) -> Result<Value, FunctionError> {
    let numbers = Steps::new(start, stop, step).numbers(call)?;
    Ok(Value::List(List::new(ElementType::Int, numbers.map(Value::Int).collect())))
}

pub(super) fn until(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let count = call.int(0);
    int_list(call, 0, count, if count < 0 { -1 } else { 1 })
}

pub(super) fn until_step(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    int_list(call, call.int(0), call.int(1), call.int(2))
}

pub(super) fn seq(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let (start, end, step) = match call.arguments.len() {
        1 => {
            let end = call.int(0);
            (1, end, if end < 1 { -1 } else { 1 })
        }
        2 => {
            let (start, end) = (call.int(0), call.int(1));
            (start, end, if end < start { -1 } else { 1 })
        }
        3 => {
            let (start, step, end) = (call.int(0), call.int(1), call.int(2));
            if end < start && step > 0 {
                return Ok(Value::from(""));
            }
            (start, end, step)
        }
        _ => return Ok(Value::from("")),
    };
    // The sequence includes its end.
    let stop = end.wrapping_add(if end < start { -1 } else { 1 });
    let steps = Steps::new(start, stop, step);
    let texts: Vec<String> = steps.numbers(call)?.map(|number| number.to_string()).collect();
    call.created(texts.join(" ").into_bytes())
}

pub(super) fn rand_int(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let (least, most) = (call.int(0), call.int(1));
    let width = most.wrapping_sub(least);
    let Ok(bound) = u64::try_from(width) else {
        return Err(FunctionError::new("invalid argument to Intn"));
    };
    if bound == 0 {
        return Err(FunctionError::new("invalid argument to Intn"));
    }
    let random = call.context.random.ok_or_else(|| FunctionError::new("random numbers are not available here"))?;
    // The caller's function may return a number that is out of range.
    let offset = i64::try_from(random(bound) % bound).unwrap_or(0);
    Ok(Value::Int(least.wrapping_add(offset)))
}
