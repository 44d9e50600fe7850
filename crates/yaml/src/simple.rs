//! Reads program-generated YAML in half the library's time: mappings, lists and scalars, directly from parser events.
//!
//! Manifests, dumps and patches rarely contain more. The library reads any text with other features (anchors, tags,
//! merge keys, directives), with errors or beyond a limit, because it has the rules and messages for them. It also
//! resolves single scalars that are not plainly text or a number. The fuzz target `yaml` checks that both readers
//! agree.

use std::borrow::Cow;

use serde_json::{Map, Number, Value};
use serde_saphyr::granit_parser::{Event, Options, Parser, ScalarStyle};

use super::positions::is_null;
use super::{MAX_DEPTH, MAX_DOCUMENTS, MAX_INPUT_BYTES, MAX_NODES, options, whole_floats_to_integers};

/// Longest scalar that the library resolves on its own, in bytes; a number is shorter.
const MAX_RESOLVED_BYTES: usize = 64;

/// A container without its end yet. The contents of all open containers share one stack, here from `start` on, so that
/// each container is allocated once with its final size.
struct OpenCollection {
    start: usize,
    /// In a mapping, the key without its value yet.
    key: Option<String>,
    has_keys: bool,
}

impl OpenCollection {
    fn awaits_key(&self) -> bool {
        self.has_keys && self.key.is_none()
    }

    /// Takes the container's content from the stack; `None` for a duplicate key.
    fn close(self, held: &mut Vec<(String, Value)>) -> Option<Value> {
        let members = held.drain(self.start..);
        if !self.has_keys {
            return Some(Value::Array(members.map(|(_, item)| item).collect()));
        }
        let mut fields = Map::with_capacity(members.len());
        for (key, value) in members {
            if fields.insert(key, value).is_some() {
                return None;
            }
        }
        Some(Value::Object(fields))
    }
}

/// Parses every document of a text as the library does; `None` if the library must read it.
pub(super) fn parse(text: &str, strict_booleans: bool) -> Option<Vec<Value>> {
    let mut parser_options = Options::default();
    parser_options.emit_comments = false;
    parser_options.disallow_directives = true;
    let (mut documents, mut open, mut held) = (Vec::new(), Vec::<OpenCollection>::new(), Vec::new());
    // Escapes can make a scalar longer than its text, and an empty document counts too.
    let (mut begun, mut nodes, mut bytes) = (0_usize, 0_usize, 0_usize);
    for item in Parser::new_from_str_with_options(text, parser_options) {
        if begun > MAX_DOCUMENTS || nodes > MAX_NODES || bytes > MAX_INPUT_BYTES {
            return None;
        }
        let (event, _) = item.ok()?;
        let value = match event {
            Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => continue,
            Event::DocumentStart(_, None) => {
                begun += 1;
                continue;
            }
            // The parser's mark for a node without an anchor is 0.
            Event::Scalar(text, style, 0, None) => {
                nodes += 1;
                bytes += text.len();
                match open.last_mut() {
                    None if is_null(&text, style, None) => continue,
                    // Separate rules apply to a scalar that is the whole document.
                    None => return None,
                    Some(container) if container.awaits_key() => {
                        let is_text = style != ScalarStyle::Plain || is_plainly_text(&text);
                        container.key = Some(is_text.then(|| text.into_owned())?);
                        continue;
                    }
                    Some(_) if style == ScalarStyle::Plain => plain(text, strict_booleans)?,
                    Some(_) => Value::String(text.into_owned()),
                }
            }
            Event::SequenceStart(_, 0, None) | Event::MappingStart(_, 0, None) => {
                nodes += 1;
                if open.last().is_some_and(OpenCollection::awaits_key) || open.len() >= MAX_DEPTH {
                    return None;
                }
                let has_keys = matches!(event, Event::MappingStart(..));
                open.push(OpenCollection { start: held.len(), key: None, has_keys });
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => open.pop()?.close(&mut held)?,
            _ => return None,
        };
        match open.last_mut() {
            Some(container) => held.push((container.key.take().unwrap_or_default(), value)),
            None => documents.push(value),
        }
    }
    Some(documents)
}

/// Resolves a scalar without quotes.
fn plain(text: Cow<'_, str>, strict_booleans: bool) -> Option<Value> {
    match &*text {
        "true" => return Some(Value::Bool(true)),
        "false" => return Some(Value::Bool(false)),
        "" | "~" => return Some(Value::Null),
        _ if is_plainly_text(&text) => return Some(Value::String(text.into_owned())),
        _ => {}
    }
    // A leading zero may mean octal, and more digits a float.
    let is_decimal = text.len() <= 18 && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_decimal && (&*text == "0" || !text.starts_with('0')) {
        return text.parse::<u64>().ok().map(|number| Value::Number(Number::from(number)));
    }
    if text.len() > MAX_RESOLVED_BYTES
        || has_blank_edge(&text)
        || !(is_word_of_a_type(&text) || text.bytes().any(|byte| byte.is_ascii_digit()))
    {
        return None;
    }
    let mut asked: Value = serde_saphyr::from_str_with_options(&text, options(strict_booleans)).ok()?;
    whole_floats_to_integers(&mut asked);
    (!asked.is_object() && !asked.is_array()).then_some(asked)
}

/// Whether every rule of YAML 1.1 and 1.2 reads a scalar without quotes as text.
fn is_plainly_text(text: &str) -> bool {
    if has_blank_edge(text) {
        return false;
    }
    match *text.as_bytes() {
        [first, ..] if first.is_ascii_alphabetic() => !is_word_of_a_type(text),
        // A number cannot contain a blank.
        _ if text.bytes().any(|byte| matches!(byte, b' ' | b'\n')) => true,
        [b'/' | b'^' | b'(' | b'$', ..] | [b'-', b'-', ..] => true,
        [b'+' | b'-' | b'.' | b'0'..=b'9', ..] => {
            let is_in_numbers = |byte: u8| byte.is_ascii_hexdigit() || b"_xXoO.+-:".contains(&byte);
            let may_be_number = text.bytes().any(|byte| byte.is_ascii_digit()) && text.bytes().all(is_in_numbers);
            !may_be_number && !is_word_of_a_type(text.trim_start_matches(['+', '-', '.']))
        }
        // Not the merge key.
        [b'<', second, ..] => second != b'<',
        [first, ..] if !first.is_ascii() => true,
        _ => false,
    }
}

/// Whether a text begins or ends with a blank that is a character in YAML but that the library trims.
fn has_blank_edge(text: &str) -> bool {
    text.trim().len() < text.len()
}

/// Whether a word is a boolean, a null or a number in some version of YAML, in any case.
fn is_word_of_a_type(text: &str) -> bool {
    const WORDS: &[&str] =
        &["y", "n", "yes", "no", "on", "off", "true", "false", "null", "none", "nan", "inf", "infinity"];
    text.len() <= 8 && WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}
