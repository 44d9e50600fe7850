//! Functions of `text/template` itself.

use std::cmp::Ordering;

use super::Call;
use crate::limits::FunctionError;
use crate::print::{self, printed, printed_as_string};
use crate::text::{chars, decode_char, is_print};
use crate::value::Value;

/// Table entry of a function that the executor implements.
pub(super) fn by_executor(_: &mut Call<'_>) -> Result<Value, FunctionError> {
    Ok(Value::Nil)
}

pub(super) fn not(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    Ok(Value::Bool(!call.value(0).is_true()))
}

pub(super) fn print(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    print::print(call.budget(), &call.arguments).map(Value::from)
}

pub(super) fn println(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    print::println(call.budget(), &call.arguments).map(Value::from)
}

pub(super) fn printf(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    print::printf(call.budget(), call.bytes(0), call.rest(1)).map(Value::from)
}

// Comparison.

#[derive(Clone, Copy, PartialEq, Eq)]
enum BasicKind {
    Invalid,
    Bool,
    Complex,
    Int,
    Float,
    String,
    Unsigned,
}

fn basic_kind(value: &Value) -> BasicKind {
    match value {
        Value::Bool(_) => BasicKind::Bool,
        Value::Int(_) | Value::Int64(_) | Value::Named(..) => BasicKind::Int,
        Value::Byte(_) => BasicKind::Unsigned,
        Value::Float(_) => BasicKind::Float,
        Value::Complex(..) => BasicKind::Complex,
        Value::String(_) => BasicKind::String,
        Value::Nil | Value::List(_) | Value::Map(_) | Value::Time(_) => BasicKind::Invalid,
    }
}

fn integer(value: &Value) -> i64 {
    match value {
        Value::Int(number) | Value::Int64(number) | Value::Named(_, number) => *number,
        Value::Byte(number) => i64::from(*number),
        _ => 0,
    }
}

fn incompatible(left: &Value, right: &Value) -> FunctionError {
    FunctionError::new(format!("incompatible types for comparison: {} and {}", left.type_name(), right.type_name()))
}

fn are_equal(call: &Call<'_>, left: &Value, right: &Value) -> Result<bool, FunctionError> {
    let (left_kind, right_kind) = (basic_kind(left), basic_kind(right));
    if left_kind != right_kind {
        return match (left_kind, right_kind) {
            // Kinds must agree, but signed and unsigned integers compare by value.
            (BasicKind::Int, BasicKind::Unsigned) | (BasicKind::Unsigned, BasicKind::Int) => {
                Ok(integer(left) == integer(right))
            }
            // Go compares nil with anything, but fails for other values whose kinds differ.
            _ if matches!(left, Value::Nil) || matches!(right, Value::Nil) => Ok(false),
            _ => Err(incompatible(left, right)),
        };
    }
    Ok(match (left, right) {
        (Value::Bool(left), Value::Bool(right)) => left == right,
        (Value::Float(left), Value::Float(right)) => left == right,
        (Value::Complex(real, imaginary), Value::Complex(other_real, other_imaginary)) => {
            real == other_real && imaginary == other_imaginary
        }
        (Value::String(left), Value::String(right)) => {
            // A comparison creates nothing, so its time is counted here.
            call.budget().step(left.len().min(right.len()) as u64 / 1024)?;
            left == right
        }
        _ if left_kind != BasicKind::Invalid => integer(left) == integer(right),
        _ => {
            let budget = call.budget();
            let some_nil = matches!(left, Value::Nil) || matches!(right, Value::Nil);
            if !some_nil && left.kind_name() != right.kind_name() {
                return Err(FunctionError::new(format!(
                    // The odd order of values and types is Go's.
                    "non-comparable types {}: {}, {}: {}",
                    printed_as_string(budget, left)?,
                    left.type_name(),
                    right.type_name(),
                    printed(budget, right)?
                )));
            }
            if left.is_nil() || right.is_nil() {
                return Ok(left.is_nil() == right.is_nil());
            }
            match (left, right) {
                // Go compares the structs, so the same moment in another zone is not equal.
                (Value::Time(left), Value::Time(right)) => left == right,
                _ => {
                    return Err(FunctionError::new(format!(
                        "non-comparable type {}: {}",
                        printed_as_string(budget, right)?,
                        right.type_name()
                    )));
                }
            }
        }
    })
}

fn equals_any(call: &Call<'_>) -> Result<bool, FunctionError> {
    if call.arguments.len() < 2 {
        return Err(FunctionError::new("missing argument for comparison"));
    }
    for other in call.rest(1) {
        if are_equal(call, call.value(0), other)? {
            return Ok(true);
        }
    }
    Ok(false)
}

pub(super) fn eq(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    equals_any(call).map(Value::Bool)
}

pub(super) fn ne(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    equals_any(call).map(|equal| Value::Bool(!equal))
}

fn is_less(call: &Call<'_>) -> Result<bool, FunctionError> {
    let (left, right) = (call.value(0), call.value(1));
    let invalid = || FunctionError::new("invalid type for comparison");
    let (left_kind, right_kind) = (basic_kind(left), basic_kind(right));
    if left_kind == BasicKind::Invalid || right_kind == BasicKind::Invalid {
        return Err(invalid());
    }
    let mixed = matches!(
        (left_kind, right_kind),
        (BasicKind::Int, BasicKind::Unsigned) | (BasicKind::Unsigned, BasicKind::Int)
    );
    if left_kind != right_kind && !mixed {
        return Err(incompatible(left, right));
    }
    match (left, right) {
        (Value::Bool(_), _) | (Value::Complex(..), _) => Err(invalid()),
        (Value::Float(left), Value::Float(right)) => Ok(left < right),
        (Value::String(left), Value::String(right)) => Ok(left.cmp(right) == Ordering::Less),
        _ => Ok(integer(left) < integer(right)),
    }
}

pub(super) fn lt(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    is_less(call).map(Value::Bool)
}

pub(super) fn le(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    Ok(Value::Bool(is_less(call)? || equals_any(call)?))
}

pub(super) fn gt(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    // Go negates `le` instead of comparing, so the result is true for NaN on either side.
    Ok(Value::Bool(!(is_less(call)? || equals_any(call)?)))
}

pub(super) fn ge(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    is_less(call).map(|less| Value::Bool(!less))
}

// Access.

pub(super) fn index(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let mut item = call.take(0);
    if let Value::Nil = item {
        return Err(FunctionError::new("index of untyped nil"));
    }
    for key in call.rest(1) {
        item = match &item {
            Value::Nil => return Err(FunctionError::new("index of nil pointer")),
            Value::List(list) => {
                let at = position(key, list.items().len())?;
                let found = list.items().get(at).cloned();
                found.ok_or_else(|| FunctionError::new("reflect: slice index out of range"))?
            }
            Value::String(text) => {
                let at = position(key, text.len())?;
                let found = text.get(at).copied().map(Value::Byte);
                found.ok_or_else(|| FunctionError::new("reflect: string index out of range"))?
            }
            Value::Map(map) => match key {
                // Unlike a field, `index` yields the zero value for a missing key, regardless of `missingkey`.
                Value::String(key) => map.get(key).unwrap_or_else(|| match map.element() {
                    crate::value::ElementType::String => Value::from(""),
                    _ => Value::Nil,
                }),
                Value::Nil => return Err(FunctionError::new("value is nil; should be of type string")),
                other => {
                    return Err(FunctionError::new(format!("value has type {}; should be string", other.type_name())));
                }
            },
            other => return Err(FunctionError::new(format!("can't index item of type {}", other.type_name()))),
        };
    }
    Ok(item)
}

fn position(key: &Value, length: usize) -> Result<usize, FunctionError> {
    let number = match key {
        Value::Int(_) | Value::Int64(_) | Value::Byte(_) | Value::Named(..) => integer(key),
        Value::Nil => return Err(FunctionError::new("cannot index slice/array with nil")),
        other => {
            return Err(FunctionError::new(format!("cannot index slice/array with type {}", other.type_name())));
        }
    };
    // An index equal to the length passes here, and fails later with another message.
    usize::try_from(number)
        .ok()
        .filter(|at| *at <= length)
        .ok_or_else(|| FunctionError::new(format!("index out of range: {number}")))
}

pub(super) fn len(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let length = match call.value(0) {
        Value::String(text) => text.len(),
        Value::List(list) => list.items().len(),
        Value::Map(map) => map.len(),
        Value::Nil if call.nil_is_interface => return Err(FunctionError::new("len of nil pointer")),
        Value::Nil => return Err(FunctionError::new("reflect: call of reflect.Value.Type on zero Value")),
        other => return Err(FunctionError::new(format!("len of type {}", other.type_name()))),
    };
    Ok(Value::Int(i64::try_from(length).unwrap_or(i64::MAX)))
}

// Escaping.

fn printed_arguments(call: &mut Call<'_>) -> Result<Vec<u8>, FunctionError> {
    // As in Go, a single text is taken as it is.
    if let [Value::String(text)] = call.arguments.as_slice() {
        return Ok(text.to_vec());
    }
    for argument in &mut call.arguments {
        // Go prints a nil argument like an action whose value is nil.
        if let Value::Nil = argument {
            *argument = Value::from("<no value>");
        }
    }
    print::print(call.budget(), &call.arguments)
}

pub(super) fn html(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let text = printed_arguments(call)?;
    let mut out = Vec::with_capacity(text.len());
    for byte in text {
        match byte {
            // HTML does not allow NUL, so Go replaces it.
            0 => out.extend_from_slice("\u{fffd}".as_bytes()),
            b'"' => out.extend_from_slice(b"&#34;"),
            b'\'' => out.extend_from_slice(b"&#39;"),
            b'&' => out.extend_from_slice(b"&amp;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            _ => out.push(byte),
        }
    }
    call.created(out)
}

pub(super) fn js(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let text = printed_arguments(call)?;
    let mut out = Vec::with_capacity(text.len());
    for (character, raw) in chars(&text) {
        match character {
            '\\' => out.extend_from_slice(b"\\\\"),
            '\'' => out.extend_from_slice(b"\\'"),
            '"' => out.extend_from_slice(b"\\\""),
            '<' | '>' | '&' | '=' | '\0'..='\x1f' => {
                out.extend_from_slice(format!("\\u{:04X}", u32::from(character)).as_bytes());
            }
            _ if character.is_ascii() || is_print(character) => out.extend_from_slice(raw),
            _ => out.extend_from_slice(format!("\\u{:04X}", u32::from(character)).as_bytes()),
        }
    }
    call.created(out)
}

pub(super) fn urlquery(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let text = printed_arguments(call)?;
    let out = crate::url::escape(&text, crate::url::UrlPart::QueryComponent);
    call.created(out)
}

/// Maps each character to its ASCII or Unicode case; `decode_char` keeps invalid bytes separate.
pub(super) fn map_chars(bytes: &[u8], map: impl Fn(char) -> char) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((character, width)) = decode_char(rest) {
        crate::text::push_char(&mut out, map(character));
        rest = rest.get(width..).unwrap_or_default();
    }
    out
}
