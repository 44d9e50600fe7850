//! Reads the YAML that programs write, in half the library's time: mappings, lists and scalars, straight from the
//! parser's events.
//!
//! Manifests, dumps and patches rarely have more. Whatever else a text has (anchors, tags, merge keys, directives), whatever is
//! wrong with it or beyond a limit is left to the library, which has the rules and the words for it; a scalar that is
//! not plainly text or a number is asked of it by itself. The fuzz target `yaml` holds both to the same answer.

use std::borrow::Cow;

use serde_json::{Map, Number, Value};
use serde_saphyr::granit_parser::{Event, Options, Parser, ScalarStyle};

use super::positions::is_null;
use super::{MAX_DEPTH, MAX_DOCUMENTS, MAX_INPUT_BYTES, MAX_NODES, options, whole_floats_to_integers};

/// Longest scalar that is asked of the library by itself, in bytes; a number is shorter.
const MAX_ASKED: usize = 64;

/// A container whose end has not been read yet. What it holds waits on one stack for all of them, from `start` on, so that each is
/// allocated once and as large as it is.
struct Open {
    start: usize,
    /// The key that waits for its value, where there are keys.
    key: Option<String>,
    has_keys: bool,
}

impl Open {
    fn awaits_key(&self) -> bool {
        self.has_keys && self.key.is_none()
    }

    /// Takes what it holds from the stack; `None` for a key that stands in it twice.
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

/// Parses every document of a text as the library does; `None` where that is up to the library.
pub(super) fn parse(text: &str, strict_booleans: bool) -> Option<Vec<Value>> {
    let mut parser_options = Options::default();
    parser_options.emit_comments = false;
    parser_options.disallow_directives = true;
    let (mut documents, mut open, mut held) = (Vec::new(), Vec::<Open>::new(), Vec::new());
    // Escapes make scalars that are longer than what was written, and an empty document is one, too.
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
            Event::Scalar(text, style, 0, None) => {
                nodes += 1;
                bytes += text.len();
                match open.last_mut() {
                    None if is_null(&text, style, None) => continue,
                    // Whether a lone scalar is a document at all has rules of its own.
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
                if open.last().is_some_and(Open::awaits_key) || open.len() >= MAX_DEPTH {
                    return None;
                }
                let has_keys = matches!(event, Event::MappingStart(..));
                open.push(Open { start: held.len(), key: None, has_keys });
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

/// The value of a scalar without quotes.
fn plain(text: Cow<'_, str>, strict_booleans: bool) -> Option<Value> {
    match &*text {
        "true" => return Some(Value::Bool(true)),
        "false" => return Some(Value::Bool(false)),
        "" | "~" => return Some(Value::Null),
        _ if is_plainly_text(&text) => return Some(Value::String(text.into_owned())),
        _ => {}
    }
    // A leading zero may make it octal, and more digits than these a float.
    let is_decimal = text.len() <= 18 && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_decimal && (&*text == "0" || !text.starts_with('0')) {
        return text.parse::<u64>().ok().map(|number| Value::Number(Number::from(number)));
    }
    if text.len() > MAX_ASKED
        || has_blank_edge(&text)
        || !(is_word_of_a_type(&text) || text.bytes().any(|byte| byte.is_ascii_digit()))
    {
        return None;
    }
    let mut asked: Value = serde_saphyr::from_str_with_options(&text, options(strict_booleans)).ok()?;
    whole_floats_to_integers(&mut asked);
    (!asked.is_object() && !asked.is_array()).then_some(asked)
}

/// Whether no rule of YAML 1.1 or 1.2 takes a scalar without quotes for anything but text.
fn is_plainly_text(text: &str) -> bool {
    if has_blank_edge(text) {
        return false;
    }
    match *text.as_bytes() {
        [first, ..] if first.is_ascii_alphabetic() => !is_word_of_a_type(text),
        // No number has a blank in it.
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

/// Whether a text begins or ends with a blank that YAML has as a character, and that the library trims.
fn has_blank_edge(text: &str) -> bool {
    text.trim().len() < text.len()
}

/// Whether a word stands for a boolean, a null or a number in some version of YAML, in any case.
fn is_word_of_a_type(text: &str) -> bool {
    const WORDS: &[&str] =
        &["y", "n", "yes", "no", "on", "off", "true", "false", "null", "none", "nan", "inf", "infinity"];
    text.len() <= 8 && WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}
