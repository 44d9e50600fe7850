//! Constants of templates: one text, several possible types.

use crate::float::parse_float;
use crate::text::{Unit, quoted, unquote_char};

/// A numeric constant with every type that it can have, like Go's untyped constants.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Number {
    pub(crate) text: String,
    pub(crate) integer: Option<i64>,
    pub(crate) unsigned: Option<u64>,
    pub(crate) float: Option<f64>,
    pub(crate) complex: Option<(f64, f64)>,
}

impl Number {
    /// Reads a constant like `'a'`.
    ///
    /// # Errors
    /// The reason in Go's words.
    pub(crate) fn character(text: &str) -> Result<Number, String> {
        let inner = text.get(1..).unwrap_or_default();
        let unit = unquote_char(inner.as_bytes(), b'\'').ok_or("invalid syntax")?;
        if inner.get(unit.width..) != Some("'") {
            return Err(format!("malformed character constant: {text}"));
        }
        let code = match unit.value {
            Unit::Char(character) => u32::from(character),
            Unit::Byte(byte) => u32::from(byte),
        };
        Ok(Number {
            text: text.into(),
            integer: Some(code.into()),
            unsigned: Some(code.into()),
            float: Some(code.into()),
            complex: None,
        })
    }

    /// Reads a constant like `1+2i`.
    ///
    /// # Errors
    /// The reason in Go's words.
    pub(crate) fn complex(text: &str) -> Result<Number, String> {
        let bad = || "syntax error scanning complex number".to_owned();
        let body = text.strip_suffix('i').ok_or_else(bad)?;
        // The sign between the parts is the last one that does not belong to an exponent.
        let split = body
            .char_indices()
            .filter(|(at, character)| {
                *at > 0
                    && matches!(character, '+' | '-')
                    && !body.get(..*at).is_some_and(|before| before.ends_with(['e', 'E', 'p', 'P']))
            })
            .map(|(at, _)| at)
            .next_back()
            .ok_or_else(bad)?;
        let (real, imaginary) = body.split_at(split);
        let parse = |part: &str| parse_float(&part.replace('_', ""), false).ok_or_else(bad);
        Ok(Number::from_complex(text, parse(real)?, parse(imaginary)?))
    }

    /// Reads any other constant.
    ///
    /// # Errors
    /// The reason in Go's words.
    pub(crate) fn parse(text: &str) -> Result<Number, String> {
        if let Some(imaginary) = text.strip_suffix('i').and_then(|part| parse_float(part, false)) {
            return Ok(Number::from_complex(text, 0.0, imaginary));
        }
        let mut number = Number {
            text: text.into(),
            unsigned: parse_unsigned(text),
            integer: parse_integer(text),
            ..Number::default()
        };
        if number.integer == Some(0) {
            // `-0` is an unsigned number as well.
            number.unsigned = Some(0);
        }
        if let Some(integer) = number.integer {
            number.float = Some(integer as f64);
        } else if let Some(unsigned) = number.unsigned {
            number.float = Some(unsigned as f64);
        } else if let Some(float) = parse_float(text, true) {
            // It looks like an integer and fits none, so Go refuses it instead of rounding.
            if !text.contains(['.', 'e', 'E', 'p', 'P']) {
                return Err(format!("integer overflow: {}", quoted(text.as_bytes())));
            }
            number.float = Some(float);
            number.take_integers(float);
        }
        if number.float.is_none() {
            return Err(format!("illegal number syntax: {}", quoted(text.as_bytes())));
        }
        Ok(number)
    }

    fn from_complex(text: &str, real: f64, imaginary: f64) -> Number {
        let mut number = Number { text: text.into(), complex: Some((real, imaginary)), ..Number::default() };
        if imaginary == 0.0 {
            number.float = Some(real);
            number.take_integers(real);
        }
        number
    }

    /// An integral float is an integer too, where it fits.
    fn take_integers(&mut self, float: f64) {
        const LIMIT: f64 = (1u64 << 63) as f64;
        if float.fract() == 0.0 && (-LIMIT..LIMIT).contains(&float) {
            self.integer = Some(float as i64);
        }
        if float.fract() == 0.0 && (0.0..2.0 * LIMIT).contains(&float) {
            self.unsigned = Some(float as u64);
        }
    }

    /// Whether the constant has the default type `float64`.
    pub(crate) fn is_written_as_float(&self) -> bool {
        let text = self.text.as_bytes();
        let hexadecimal_integer = matches!(text, [b'0', b'x' | b'X', _, ..]) && !self.text.contains(['p', 'P']);
        self.float.is_some()
            && !hexadecimal_integer
            && text.first() != Some(&b'\'')
            && self.text.contains(['.', 'e', 'E', 'p', 'P'])
    }
}

/// `strconv.ParseUint(text, 0, 64)`.
pub(crate) fn parse_unsigned(text: &str) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    let (base, digits, prefixed) = match lower.as_bytes() {
        [b'0', b'x', ..] => (16, lower.get(2..)?, true),
        [b'0', b'b', ..] => (2, lower.get(2..)?, true),
        [b'0', b'o', ..] => (8, lower.get(2..)?, true),
        [b'0', _, ..] => (8, lower.get(1..)?, true),
        _ => (10, lower.as_str(), false),
    };
    // An underscore is allowed between digits, or between prefix and digits.
    let underscores = if prefixed { format!("0{digits}") } else { digits.to_owned() };
    if underscores.starts_with('_') || underscores.ends_with('_') || underscores.contains("__") {
        return None;
    }
    let digits = digits.replace('_', "");
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    u64::from_str_radix(&digits, base).ok()
}

/// `strconv.ParseInt(text, 0, 64)`.
pub(crate) fn parse_integer(text: &str) -> Option<i64> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    let value = i128::from(parse_unsigned(digits)?);
    i64::try_from(if negative { -value } else { value }).ok()
}
