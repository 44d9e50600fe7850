//! Regular expressions by Go's syntax.

use super::Call;
use crate::limits::{Bytes, FunctionError};
use crate::regexp::{Pattern, char_width, quote_meta as quoted_meta};
use crate::value::{ElementType, List, Value};
use std::sync::Arc;

/// Compiles the pattern of a call. The message of a failure depends on the function that the template calls.
fn pattern(call: &Call<'_>, haystack: usize) -> Result<Arc<Pattern>, FunctionError> {
    let text = call.bytes(0);
    // The engine's time is proportional to the pattern's length times the text's.
    let work = (text.len() as u64).saturating_mul(haystack as u64) / 4096;
    call.budget().step(work)?;
    call.context.patterns.get(text).map_err(|reason| {
        let reason = match (call.name.starts_with("must"), call.name) {
            (true, _) | (_, "regexMatch") => reason,
            // `regexp.MustCompile` panics with the pattern in front.
            _ => format!("regexp: Compile({}): {reason}", quoted_pattern(text)),
        };
        FunctionError::new(reason)
    })
}

/// Go quotes a pattern with backquotes where it can.
fn quoted_pattern(text: &[u8]) -> String {
    if crate::text::can_backquote(text) {
        return format!("`{}`", crate::text::lossy(text));
    }
    crate::text::quoted(text)
}

pub(super) fn is_match(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    match pattern(call, call.bytes(1).len()) {
        Ok(pattern) => Ok(Value::Bool(pattern.is_match(call.bytes(1)))),
        // Sprig drops the error of a bad pattern. A limit must not pass for `false`.
        Err(failure) if call.name == "regexMatch" && !failure.is_limit => Ok(Value::Bool(false)),
        Err(failure) => Err(failure),
    }
}

pub(super) fn find(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let pattern = pattern(call, call.bytes(1).len())?;
    let text = call.bytes(1);
    let found = pattern.matches(text, 1).next().and_then(|range| text.get(range)).map(<[u8]>::to_vec);
    call.created(found.unwrap_or_default())
}

pub(super) fn find_all(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let pattern = pattern(call, call.bytes(1).len())?;
    let most = usize::try_from(call.int(2)).unwrap_or(usize::MAX);
    let mut found = Vec::new();
    let text = call.bytes(1);
    for range in pattern.matches(text, most) {
        call.budget().create_items(1)?;
        call.budget().create(range.len())?;
        found.push(Value::string(text.get(range).unwrap_or_default()));
    }
    // Go returns a nil slice where nothing matches.
    Ok(Value::List(if found.is_empty() {
        List::nil(ElementType::String)
    } else {
        List::new(ElementType::String, found)
    }))
}

fn replaced(call: &Call<'_>, expand: bool) -> Result<Value, FunctionError> {
    let (text, replacement) = (call.bytes(1), call.bytes(2));
    let pattern = pattern(call, text.len())?;
    let mut out = Bytes::new(call.budget());
    let mut from = 0;
    let mut copied = 0;
    while from <= text.len() {
        let Some(captures) = pattern.captures_at(text, from) else { break };
        let Some(whole) = captures.get(0) else { break };
        out.push(text.get(copied..whole.start()).unwrap_or_default())?;
        // An empty match right after another match is not replaced.
        if whole.end() > copied || whole.start() == 0 {
            if expand {
                pattern.expand(replacement, &captures, &mut out)?;
            } else {
                out.push(replacement)?;
            }
        }
        copied = whole.end();
        // An empty match must advance by a character, or the loop would not end.
        from = whole.end().max(from + char_width(text, from));
    }
    out.push(text.get(copied..).unwrap_or_default())?;
    out.finish().map(Value::from)
}

pub(super) fn replace_all(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    replaced(call, true)
}

pub(super) fn replace_all_literal(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    replaced(call, false)
}

pub(super) fn split(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let text = call.bytes(1);
    let pattern = pattern(call, text.len())?;
    let limit = call.int(2);
    if limit == 0 {
        return Ok(Value::List(List::nil(ElementType::String)));
    }
    // Go's special case: an empty text is a single empty part, unless the pattern is empty too.
    if !call.bytes(0).is_empty() && text.is_empty() {
        return Ok(Value::strings([Vec::new()]));
    }
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut parts: Vec<&[u8]> = Vec::new();
    let (mut start, mut end) = (0, 0);
    for found in pattern.matches(text, most) {
        if parts.len() + 1 == most {
            break;
        }
        call.budget().create_items(1)?;
        end = found.start;
        // Go drops the empty part before an empty match at the start.
        if found.end != 0 {
            parts.push(text.get(start..end).unwrap_or_default());
        }
        start = found.end;
    }
    // Go compares with the start of the last match: an empty match at the end leaves no part behind it.
    if end != text.len() {
        parts.push(text.get(start..).unwrap_or_default());
    }
    call.budget().create(text.len())?;
    Ok(Value::strings(parts.into_iter().map(<[u8]>::to_vec)))
}

pub(super) fn quote_meta(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    call.created(quoted_meta(call.bytes(0)))
}
