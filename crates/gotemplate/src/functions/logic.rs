//! Defaults and conditions.

use super::Call;
use crate::limits::FunctionError;
use crate::text::lossy;
use crate::value::Value;

pub(super) fn default(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let index = if call.value(1).is_true() { 1 } else { 0 };
    Ok(call.take(index))
}

pub(super) fn empty(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    Ok(Value::Bool(!call.value(0).is_true()))
}

pub(super) fn coalesce(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    Ok(call.arguments.iter().find(|value| value.is_true()).cloned().unwrap_or_default())
}

pub(super) fn all(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    Ok(Value::Bool(call.arguments.iter().all(Value::is_true)))
}

pub(super) fn any(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    Ok(Value::Bool(call.arguments.iter().any(Value::is_true)))
}

pub(super) fn ternary(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let index = if call.value(2).is_true() { 0 } else { 1 };
    Ok(call.take(index))
}

pub(super) fn fail(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    Err(FunctionError::new(lossy(call.bytes(0))))
}
