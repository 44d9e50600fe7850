//! Types of values, and type-sensitive equality.

use super::Call;
use crate::limits::{Budget, FunctionError};
use crate::value::Value;

pub(super) fn type_of(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    Ok(Value::from(call.value(0).type_name()))
}

pub(super) fn kind_of(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    Ok(Value::from(call.value(0).kind_name()))
}

pub(super) fn type_is(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    Ok(Value::Bool(call.bytes(0) == call.value(1).type_name().as_bytes()))
}

pub(super) fn kind_is(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    Ok(Value::Bool(call.bytes(0) == call.value(1).kind_name().as_bytes()))
}

pub(super) fn type_is_like(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    // The pointer types that Go also accepts here do not occur.
    type_is(call)
}

pub(super) fn deep_equal(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    are_deep_equal(call.budget(), call.value(0), call.value(1), 0).map(Value::Bool)
}

/// `reflect.DeepEqual`: types matter, and a nil list differs from an empty one.
pub(super) fn are_deep_equal(
    budget: &Budget<'_>,
    left: &Value,
    right: &Value,
    depth: usize,
) -> Result<bool, FunctionError> {
    budget.step(1)?;
    budget.check_depth(depth)?;
    Ok(match (left, right) {
        (Value::Nil, Value::Nil) => true,
        (Value::Bool(left), Value::Bool(right)) => left == right,
        (Value::Int(left), Value::Int(right)) | (Value::Int64(left), Value::Int64(right)) => left == right,
        (Value::Byte(left), Value::Byte(right)) => left == right,
        (Value::Float(left), Value::Float(right)) => left == right,
        (Value::Complex(real, imaginary), Value::Complex(other_real, other_imaginary)) => {
            real == other_real && imaginary == other_imaginary
        }
        (Value::String(left), Value::String(right)) => left == right,
        (Value::Time(left), Value::Time(right)) => left == right,
        (Value::Named(kind, left), Value::Named(other_kind, right)) => kind == other_kind && left == right,
        (Value::List(list), Value::List(other)) => {
            if list.element() != other.element()
                || left.is_nil() != right.is_nil()
                || list.items().len() != other.items().len()
            {
                return Ok(false);
            }
            for (item, other) in list.items().iter().zip(other.items()) {
                if !are_deep_equal(budget, item, other, depth + 1)? {
                    return Ok(false);
                }
            }
            true
        }
        (Value::Map(map), Value::Map(other)) => {
            if map.element() != other.element() || left.is_nil() != right.is_nil() || map.len() != other.len() {
                return Ok(false);
            }
            let (Some(entries), Some(others)) = (map.entries(), other.entries()) else { return Ok(true) };
            for ((key, item), (other_key, other)) in entries.iter().zip(others.iter()) {
                if key != other_key || !are_deep_equal(budget, item, other, depth + 1)? {
                    return Ok(false);
                }
            }
            true
        }
        _ => false,
    })
}
