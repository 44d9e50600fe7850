//! Lists. The `must` form of a function fails as the plain one does, because Go turns its panic into the same error.

use super::{Call, NIL_DEREFERENCE, types};
use crate::limits::FunctionError;
use crate::value::{ElementType, List, Value};

/// Returns an argument that must be a list.
fn list_argument(call: &Call<'_>, index: usize, action: &str) -> Result<List, FunctionError> {
    match call.value(index) {
        Value::List(list) => {
            call.budget().step(list.items().len() as u64)?;
            Ok(list.clone())
        }
        // Go dereferences nil for its type.
        Value::Nil => Err(FunctionError::new(NIL_DEREFERENCE)),
        other => Err(FunctionError::new(format!("Cannot {action} type {}", other.kind_name()))),
    }
}

fn made(call: &Call<'_>, items: Vec<Value>) -> Result<Value, FunctionError> {
    call.budget().create_items(items.len())?;
    Ok(Value::list(items))
}

pub(super) fn list(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let items = std::mem::take(&mut call.arguments);
    made(call, items)
}

pub(super) fn append(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let list = list_argument(call, 0, "push on")?;
    call.budget().create_items(list.items().len() / 2 + 1)?;
    let mut items = Vec::with_capacity(list.items().len() + 1);
    items.extend_from_slice(list.items());
    items.push(call.take(1));
    Ok(Value::list(items))
}

pub(super) fn prepend(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let list = list_argument(call, 0, "prepend on")?;
    call.budget().create_items(list.items().len() / 2 + 1)?;
    let mut items = Vec::with_capacity(list.items().len() + 1);
    items.push(call.take(1));
    items.extend_from_slice(list.items());
    Ok(Value::list(items))
}

pub(super) fn first(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let list = list_argument(call, 0, "find first on")?;
    Ok(list.items().first().cloned().unwrap_or_default())
}

pub(super) fn last(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let list = list_argument(call, 0, "find last on")?;
    Ok(list.items().last().cloned().unwrap_or_default())
}

pub(super) fn rest(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let list = list_argument(call, 0, "find rest on")?;
    match list.items() {
        // Sprig returns a nil slice here, which prints as `null` in JSON.
        [] => Ok(Value::List(List::nil(ElementType::Any))),
        [_, rest @ ..] => made(call, rest.to_vec()),
    }
}

pub(super) fn initial(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let list = list_argument(call, 0, "find initial on")?;
    match list.items() {
        [] => Ok(Value::List(List::nil(ElementType::Any))),
        [initial @ .., _] => made(call, initial.to_vec()),
    }
}

pub(super) fn reverse(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let list = list_argument(call, 0, "find reverse on")?;
    made(call, list.items().iter().rev().cloned().collect())
}

pub(super) fn compact(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let list = list_argument(call, 0, "compact on")?;
    made(call, list.items().iter().filter(|item| item.is_true()).cloned().collect())
}

fn is_in(call: &Call<'_>, items: &[Value], wanted: &Value) -> Result<bool, FunctionError> {
    for item in items {
        if types::are_deep_equal(call.budget(), wanted, item, 0)? {
            return Ok(true);
        }
    }
    Ok(false)
}

pub(super) fn uniq(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let list = list_argument(call, 0, "find uniq on")?;
    let mut kept = Vec::new();
    for item in list.items() {
        if !is_in(call, &kept, item)? {
            kept.push(item.clone());
        }
    }
    made(call, kept)
}

pub(super) fn without(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let list = list_argument(call, 0, "find without on")?;
    let mut kept = Vec::new();
    for item in list.items() {
        if !is_in(call, call.rest(1), item)? {
            kept.push(item.clone());
        }
    }
    made(call, kept)
}

pub(super) fn has(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    // Sprig accepts nil here, unlike in its other functions of lists.
    if let Value::Nil = call.value(1) {
        return Ok(Value::Bool(false));
    }
    let list = list_argument(call, 1, "find has on")?;
    is_in(call, list.items(), call.value(0)).map(Value::Bool)
}

pub(super) fn slice(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let list = match call.value(0) {
        Value::List(list) => list.clone(),
        Value::Nil => return Err(FunctionError::new(NIL_DEREFERENCE)),
        other => {
            return Err(FunctionError::new(format!("list should be type of slice or array but {}", other.kind_name())));
        }
    };
    let items = list.items();
    // Sprig returns nil for an empty list before it looks at the bounds.
    if items.is_empty() {
        return Ok(Value::Nil);
    }
    let bound = |index: usize, default: usize| match call.arguments.get(index) {
        Some(value) => usize::try_from(super::numbers::to_int64(value)).ok(),
        None => Some(default),
    };
    let range = bound(1, 0).zip(bound(2, items.len()));
    let part = range.and_then(|(start, end)| items.get(start..end));
    let part = part.ok_or_else(|| FunctionError::new("reflect.Value.Slice: slice index out of bounds"))?;
    call.budget().create_items(part.len())?;
    // `reflect` keeps the type of the list here; the other functions of lists return `[]interface {}`.
    Ok(Value::List(List::new(list.element(), part.to_vec())))
}

pub(super) fn concat(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let mut items = Vec::new();
    for argument in &call.arguments {
        match argument {
            Value::List(list) => {
                call.budget().create_items(list.items().len())?;
                items.extend_from_slice(list.items());
            }
            Value::Nil => return Err(FunctionError::new(NIL_DEREFERENCE)),
            other => {
                return Err(FunctionError::new(format!("Cannot concat type {} as list", other.kind_name())));
            }
        }
    }
    // Sprig appends to a nil slice, so without items it stays nil.
    if items.is_empty() {
        return Ok(Value::List(List::nil(ElementType::Any)));
    }
    Ok(Value::list(items))
}

pub(super) fn chunk(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let size = call.int(0);
    let list = list_argument(call, 1, "chunk")?;
    let items = list.items();
    let out_of_range = || FunctionError::new("runtime error: makeslice: len out of range");
    // Go computes the number of chunks with floats, which decides the result for sizes below 1.
    let count = ((items.len() as f64 - 1.0) / size as f64).floor() + 1.0;
    if !count.is_finite() || count < 0.0 {
        return Err(out_of_range());
    }
    let count = count as usize;
    call.budget().create_items(items.len().saturating_add(count))?;
    let mut chunks = Vec::with_capacity(count);
    for index in 0..count {
        let mut length = size;
        if index + 1 == count {
            length = i64::try_from(items.len()).unwrap_or(i64::MAX).checked_rem(size).unwrap_or(0);
            if length == 0 {
                length = size;
            }
        }
        let start = i64::try_from(index).ok().and_then(|index| index.checked_mul(size));
        let range = start
            .and_then(|start| Some(usize::try_from(start).ok()?..usize::try_from(start.checked_add(length)?).ok()?));
        let part = range.and_then(|range| items.get(range)).ok_or_else(out_of_range)?;
        chunks.push(Value::list(part.to_vec()));
    }
    Ok(Value::List(List::new(ElementType::AnyList, chunks)))
}
