//! Maps with string keys.

use super::Call;
use crate::limits::FunctionError;
use crate::value::{ElementType, EntryList, Map, Value};

fn made(call: &Call<'_>, entries: EntryList) -> Result<Value, FunctionError> {
    call.budget().create_items(entries.len())?;
    Ok(Value::Map(Map::from_unsorted(ElementType::Any, entries)))
}

pub(super) fn dict(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let mut entries = EntryList::with_capacity(call.arguments.len().div_ceil(2));
    for pair in call.arguments.chunks(2) {
        if let Some((key, value)) = pair.split_first() {
            let key = call.text_of(key)?;
            // In Sprig a key without a value has an empty text.
            entries.push((key, value.first().cloned().unwrap_or_else(|| Value::from(""))));
        }
    }
    made(call, entries)
}

pub(super) fn get(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    // Sprig returns an empty text for a missing key, not nil.
    Ok(call.dict(0).get(call.bytes(1)).unwrap_or_else(|| Value::from("")))
}

pub(super) fn set(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let map = call.dict(0);
    let value = call.take(2);
    let key = call.text(1);
    call.budget().create_items(1)?;
    call.budget().create(key.len())?;
    if map.is_nil() {
        // Go panics here, and its template engine turns the panic into this error.
        return Err(FunctionError::new("assignment to entry in nil map"));
    }
    match map.is_within(&value, call.budget().steps_left()) {
        Ok((false, visited)) => call.budget().step(visited)?,
        // Go would store the cycle and crash when it is printed.
        Ok((true, _)) => return Err(FunctionError::new("the map would contain itself")),
        // More to visit than steps are left. Charging more than the rest fails with the usual message.
        Err(visited) => call.budget().step(visited.saturating_add(call.budget().steps_left()))?,
    }
    map.insert(&key, value);
    Ok(Value::Map(map))
}

pub(super) fn unset(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let map = call.dict(0);
    map.remove(call.bytes(1));
    Ok(Value::Map(map))
}

pub(super) fn has_key(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    Ok(Value::Bool(call.dict(0).get(call.bytes(1)).is_some()))
}

pub(super) fn pluck(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let key = call.bytes(0);
    let maps = call.rest(1).iter();
    let found = maps.filter_map(|map| if let Value::Map(map) = map { map.get(key) } else { None }).collect();
    Ok(Value::list(found))
}

pub(super) fn keys(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    // Go's order is random; sorted keys give the same text on every run.
    let mut keys = Vec::new();
    for argument in &call.arguments {
        if let Value::Map(map) = argument
            && let Some(entries) = map.entries()
        {
            call.budget().create_items(entries.len())?;
            keys.extend(entries.iter().map(|(key, _)| Value::String(key.clone())));
        }
    }
    Ok(Value::List(crate::value::List::new(ElementType::String, keys)))
}

pub(super) fn values(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let entries = call.dict(0).snapshot();
    call.budget().create_items(entries.len())?;
    Ok(Value::list(entries.into_iter().map(|(_, value)| value).collect()))
}

fn is_named(call: &Call<'_>, key: &[u8]) -> bool {
    call.rest(1).iter().any(|name| name.as_bytes() == Some(key))
}

fn filtered(call: &mut Call<'_>, keeps_named: bool) -> Result<Value, FunctionError> {
    let mut entries = call.dict(0).snapshot();
    let names = call.arguments.len() as u64;
    // Comparing a key with a name is cheaper than a step.
    call.budget().step((entries.len() as u64).saturating_mul(names) / 16)?;
    entries.retain(|(key, _)| is_named(call, key) == keeps_named);
    made(call, entries)
}

pub(super) fn pick(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    filtered(call, true)
}

pub(super) fn omit(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    filtered(call, false)
}

pub(super) fn dig(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    // Sprig asserts the types without a check, so the message is that of Go's panic.
    let conversion = |value: &Value, wanted: &str| {
        let actual = if let Value::Nil = value { "nil" } else { value.type_name() };
        FunctionError::new(format!("interface conversion: interface {{}} is {actual}, not {wanted}"))
    };
    let as_map = |value: &Value| match value {
        Value::Map(map) if map.element() == ElementType::Any => Ok(map.clone()),
        other => Err(conversion(other, "map[string]interface {}")),
    };
    let [keys @ .., default, map] = call.arguments.as_slice() else {
        return Err(FunctionError::new("dig needs at least three arguments"));
    };
    if keys.is_empty() {
        return Err(FunctionError::new("dig needs at least three arguments"));
    }
    let mut map = as_map(map)?;
    let mut path = Vec::with_capacity(keys.len());
    // Sprig checks all keys before it looks up the first.
    for key in keys {
        path.push(key.as_bytes().ok_or_else(|| conversion(key, "string"))?);
    }
    for (index, key) in path.iter().enumerate() {
        let Some(step) = map.get(key) else { return Ok(default.clone()) };
        if index + 1 == path.len() {
            return Ok(step);
        }
        map = as_map(&step)?;
    }
    Ok(default.clone())
}
