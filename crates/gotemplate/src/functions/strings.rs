//! Strings. Positions and lengths count bytes, as in Go.

use super::Call;
use super::builtin::map_chars;
use crate::limits::FunctionError;
use crate::text::{Text, char_count, chars, decode_char, decode_last_char, find, is_digit, is_letter, push_quoted};
use crate::value::{ElementType, List, Map, Value};

pub(super) fn hello(_: &mut Call<'_>) -> Result<Value, FunctionError> {
    Ok(Value::from("Hello!"))
}

pub(super) fn slugify(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let text = crate::text::lossy(call.bytes(0));
    // Lower or upper case can turn a character into a dozen others.
    call.budget().create(text.len())?;
    call.created(crate::slug::slugify(&text).into_bytes())
}

// Cases: Go maps character by character, so `ß` has no upper case.

fn upper_char(character: char) -> char {
    let mut mapped = character.to_uppercase();
    match (mapped.next(), mapped.next()) {
        (Some(single), None) => single,
        _ => with_iota_adscript(character),
    }
}

/// Greek letters with an iota subscript. Their upper case has two letters, unless a single letter is required.
fn with_iota_adscript(character: char) -> char {
    let code = u32::from(character);
    let upper = match code {
        0x1f80..=0x1f87 | 0x1f90..=0x1f97 | 0x1fa0..=0x1fa7 => code + 8,
        0x1fb3 | 0x1fc3 | 0x1ff3 => code + 9,
        _ => code,
    };
    char::from_u32(upper).unwrap_or(character)
}

fn lower_char(character: char) -> char {
    let mut mapped = character.to_lowercase();
    match (mapped.next(), mapped.next()) {
        (Some(single), None) => single,
        // The only such letter is the dotted capital I.
        _ if character == '\u{130}' => 'i',
        _ => character,
    }
}

fn title_char(character: char) -> char {
    match u32::from(character) {
        // Digraphs have a form between upper and lower case.
        0x1c4..=0x1c6 => '\u{1c5}',
        0x1c7..=0x1c9 => '\u{1c8}',
        0x1ca..=0x1cc => '\u{1cb}',
        0x1f1..=0x1f3 => '\u{1f2}',
        // Georgian letters have capitals for whole words only.
        0x10d0..=0x10fa | 0x10fd..=0x10ff => character,
        _ => upper_char(character),
    }
}

pub(super) fn upper(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    call.created(map_chars(call.bytes(0), upper_char))
}

pub(super) fn lower(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    call.created(map_chars(call.bytes(0), lower_char))
}

fn is_separator(character: char) -> bool {
    if character.is_ascii() {
        return !(character.is_ascii_alphanumeric() || character == '_');
    }
    if is_letter(character) || is_digit(character) {
        return false;
    }
    // Go treats other characters as part of a word, except blanks.
    character.is_whitespace()
}

pub(super) fn title(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let mut out = Vec::new();
    // The first character starts a word.
    let mut previous = ' ';
    for (character, _) in chars(call.bytes(0)) {
        let mapped = if is_separator(previous) { title_char(character) } else { character };
        crate::text::push_char(&mut out, mapped);
        previous = character;
    }
    call.created(out)
}

// Trimming.

fn trim_where(mut bytes: &[u8], is_cut: impl Fn(char) -> bool) -> &[u8] {
    while let Some((character, width)) = decode_char(bytes)
        && is_cut(character)
    {
        bytes = bytes.get(width..).unwrap_or_default();
    }
    while let Some((character, width)) = decode_last_char(bytes)
        && is_cut(character)
    {
        bytes = bytes.get(..bytes.len() - width).unwrap_or_default();
    }
    bytes
}

pub(super) fn trim(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let trimmed = trim_where(call.bytes(0), char::is_whitespace).to_vec();
    call.created(trimmed)
}

pub(super) fn trim_all(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let cut: std::collections::HashSet<char> = chars(call.bytes(0)).map(|(character, _)| character).collect();
    let trimmed = trim_where(call.bytes(1), |character| cut.contains(&character)).to_vec();
    call.created(trimmed)
}

pub(super) fn trim_prefix(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let text = call.bytes(1);
    let trimmed = text.strip_prefix(call.bytes(0)).unwrap_or(text).to_vec();
    call.created(trimmed)
}

pub(super) fn trim_suffix(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let text = call.bytes(1);
    let trimmed = text.strip_suffix(call.bytes(0)).unwrap_or(text).to_vec();
    call.created(trimmed)
}

// Parts.

pub(super) fn has_prefix(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    Ok(Value::Bool(call.bytes(1).starts_with(call.bytes(0))))
}

pub(super) fn has_suffix(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    Ok(Value::Bool(call.bytes(1).ends_with(call.bytes(0))))
}

/// Counts a search as steps: a naive search compares at most the product of both lengths.
fn count_search(call: &Call<'_>, haystack: usize, needle: usize) -> Result<(), FunctionError> {
    let comparisons = (haystack as u64).saturating_mul((needle as u64).clamp(1, 1 << 20));
    call.budget().step(comparisons / 65_536)
}

pub(super) fn contains(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let (needle, haystack) = (call.bytes(0), call.bytes(1));
    count_search(call, haystack.len(), needle.len())?;
    Ok(Value::Bool(find(haystack, needle).is_some()))
}

/// Splits as `strings.SplitN` does; `None` for a limit of 0.
fn split_bytes<'b>(
    call: &Call<'_>,
    text: &'b [u8],
    separator: &[u8],
    limit: i64,
) -> Result<Option<Vec<&'b [u8]>>, FunctionError> {
    let most = match limit {
        0 => return Ok(None),
        negative if negative < 0 => usize::MAX,
        positive => usize::try_from(positive).unwrap_or(usize::MAX),
    };
    count_search(call, text.len(), separator.len())?;
    let mut parts = Vec::new();
    let mut rest = text;
    if separator.is_empty() {
        call.budget().create_items(char_count(text).min(most))?;
        while let Some((_, width)) = decode_char(rest) {
            if parts.len() + 1 == most {
                parts.push(rest);
                break;
            }
            let (part, after) = rest.split_at(width);
            parts.push(part);
            rest = after;
        }
        return Ok(Some(parts));
    }
    while parts.len() + 1 < most
        && let Some(at) = find(rest, separator)
    {
        call.budget().create_items(1)?;
        parts.push(rest.get(..at).unwrap_or_default());
        rest = rest.get(at + separator.len()..).unwrap_or_default();
    }
    parts.push(rest);
    Ok(Some(parts))
}

fn numbered(call: &Call<'_>, parts: Option<Vec<&[u8]>>) -> Result<Value, FunctionError> {
    let parts = parts.unwrap_or_default();
    call.budget().create_items(parts.len())?;
    let entries = parts
        .into_iter()
        .enumerate()
        .map(|(index, part)| (Text::from(format!("_{index}").as_bytes()), Value::string(part)))
        .collect();
    Ok(Value::Map(Map::from_unsorted(ElementType::String, entries)))
}

pub(super) fn split(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    numbered(call, split_bytes(call, call.bytes(1), call.bytes(0), -1)?)
}

pub(super) fn splitn(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    numbered(call, split_bytes(call, call.bytes(2), call.bytes(0), call.int(1))?)
}

pub(super) fn split_list(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let parts = split_bytes(call, call.bytes(1), call.bytes(0), -1)?.unwrap_or_default();
    call.budget().create(call.bytes(1).len())?;
    Ok(Value::strings(parts.into_iter().map(<[u8]>::to_vec)))
}

fn out_of_bounds(range: String) -> FunctionError {
    FunctionError::new(format!("runtime error: slice bounds out of range [{range}]"))
}

pub(super) fn substr(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let (start, end, text) = (call.int(0), call.int(1), call.bytes(2));
    let length = i64::try_from(text.len()).unwrap_or(i64::MAX);
    let (from, to) = if start < 0 {
        // Messages are those of Go's panics, because Sprig does not check the bounds.
        if end < 0 {
            return Err(out_of_bounds(format!(":{end}")));
        }
        if end > length {
            return Err(FunctionError::new(format!(
                "runtime error: slice bounds out of range [:{end}] with length {length}"
            )));
        }
        (0, end)
    } else if end < 0 || end > length {
        if start > length {
            return Err(out_of_bounds(format!("{start}:{length}")));
        }
        (start, length)
    } else {
        if start > end {
            return Err(out_of_bounds(format!("{start}:{end}")));
        }
        (start, end)
    };
    let part = text.get(from as usize..to as usize).unwrap_or_default().to_vec();
    call.created(part)
}

pub(super) fn trunc(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let (count, text) = (call.int(0), call.bytes(1));
    let kept = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    let part = if count < 0 {
        text.len().checked_sub(kept).and_then(|start| text.get(start..)).unwrap_or(text)
    } else {
        text.get(..kept).unwrap_or(text)
    };
    let part = part.to_vec();
    call.created(part)
}

// Building.

pub(super) fn repeat(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let text = call.bytes(1);
    let Ok(count) = usize::try_from(call.int(0)) else {
        return Err(FunctionError::new("strings: negative Repeat count"));
    };
    call.budget().create(text.len().saturating_mul(count))?;
    Ok(Value::from(if text.is_empty() { Vec::new() } else { text.repeat(count) }))
}

pub(super) fn replace(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let (old, new, text) = (call.bytes(0), call.bytes(1), call.bytes(2));
    count_search(call, text.len(), old.len())?;
    let mut out = crate::limits::Bytes::new(call.budget());
    if old.is_empty() {
        // Go inserts the new text around every character.
        out.push(new)?;
        for (_, raw) in chars(text) {
            out.push(raw)?;
            out.push(new)?;
        }
        return out.finish().map(Value::from);
    }
    let mut rest = text;
    while let Some(at) = find(rest, old) {
        out.push(rest.get(..at).unwrap_or_default())?;
        out.push(new)?;
        rest = rest.get(at + old.len()..).unwrap_or_default();
    }
    out.push(rest)?;
    out.finish().map(Value::from)
}

fn indented(call: &Call<'_>, before: &[u8]) -> Result<Value, FunctionError> {
    let text = call.bytes(1);
    let Ok(width) = usize::try_from(call.int(0)) else {
        return Err(FunctionError::new("strings: negative Repeat count"));
    };
    let lines = text.iter().filter(|byte| **byte == b'\n').count() + 1;
    let length = lines.saturating_mul(width).saturating_add(text.len());
    call.budget().create(length)?;
    let padding = b" ".repeat(width);
    let mut out = Vec::with_capacity(before.len() + length);
    out.extend_from_slice(before);
    out.extend_from_slice(&padding);
    for byte in text {
        out.push(*byte);
        // Sprig pads empty lines as well, which leaves blanks at their end.
        if *byte == b'\n' {
            out.extend_from_slice(&padding);
        }
    }
    Ok(Value::from(out))
}

pub(super) fn indent(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    indented(call, b"")
}

pub(super) fn nindent(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    indented(call, b"\n")
}

pub(super) fn plural(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let index = if call.int(2) == 1 { 0 } else { 1 };
    Ok(call.take(index))
}

fn joined(
    call: &Call<'_>,
    mut write: impl FnMut(&Value, &mut Vec<u8>) -> Result<(), FunctionError>,
) -> Result<Value, FunctionError> {
    let mut out = crate::limits::Bytes::new(call.budget());
    // Sprig drops nil, so that `quote` of a missing value is empty instead of `"<nil>"`.
    let present = call.arguments.iter().filter(|value| !matches!(value, Value::Nil));
    for (index, value) in present.enumerate() {
        if index > 0 {
            out.push(b" ")?;
        }
        write(value, out.buffer())?;
        out.check()?;
    }
    out.finish().map(Value::from)
}

pub(super) fn quote(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    joined(call, |value, out| {
        push_quoted(out, &call.text_of(value)?, b'"', false);
        Ok(())
    })
}

pub(super) fn squote(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    joined(call, |value, out| {
        out.push(b'\'');
        out.extend_from_slice(&call.text_of(value)?);
        out.push(b'\'');
        Ok(())
    })
}

pub(super) fn cat(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    joined(call, |value, out| {
        out.extend_from_slice(&call.text_of(value)?);
        Ok(())
    })
}

pub(super) fn to_string(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    call.text_of(call.value(0)).map(Value::String)
}

/// Sprig's `strslice`: the texts of a list without nils, or one text.
fn texts(call: &Call<'_>, value: &Value) -> Result<Vec<Value>, FunctionError> {
    match value {
        Value::Nil => Ok(Vec::new()),
        Value::List(list) => {
            call.budget().create_items(list.items().len())?;
            let present = list.items().iter().filter(|item| !matches!(item, Value::Nil));
            present.map(|item| call.text_of(item).map(Value::String)).collect()
        }
        other => Ok(vec![Value::String(call.text_of(other)?)]),
    }
}

fn string_list(items: Vec<Value>) -> Value {
    Value::List(List::new(ElementType::String, items))
}

pub(super) fn to_strings(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    texts(call, call.value(0)).map(string_list)
}

pub(super) fn join(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let separator = call.bytes(0);
    let mut out = crate::limits::Bytes::new(call.budget());
    for (index, text) in texts(call, call.value(1))?.iter().enumerate() {
        if index > 0 {
            out.push(separator)?;
        }
        out.push(text.as_bytes().unwrap_or_default())?;
    }
    out.finish().map(Value::from)
}

pub(super) fn sort_alpha(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let mut sorted = match call.value(0) {
        Value::List(_) => texts(call, call.value(0))?,
        // Sprig treats a single value, even nil, as a list of one.
        other => vec![Value::String(call.text_of(other)?)],
    };
    sorted.sort_by(|left, right| left.as_bytes().cmp(&right.as_bytes()));
    Ok(string_list(sorted))
}
