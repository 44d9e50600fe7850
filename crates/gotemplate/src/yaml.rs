//! YAML as `sigs.k8s.io/yaml` writes it: lists flush with their key, keys in natural order, long texts folded.
//!
//! The package `flux-operator-yaml` writes for people and never folds. A template needs exactly Go's text, because it
//! may indent or hash it. The states of the emitter are those of libyaml, of which Go's library is a port.

use std::cmp::Ordering;

use crate::float::{FloatFormat, format_float};
use crate::json::float_text;
use crate::layout;
use crate::limits::{Budget, FunctionError, Limits};
use crate::number::{parse_integer, parse_unsigned};
use crate::text::{chars, is_digit, is_letter, push_char};
use crate::value::Value;

/// Why a value cannot be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteError(String);

impl std::fmt::Display for WriteError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WriteError {}

/// Writes one document without `---`, ending in a line feed.
///
/// # Errors
/// Control characters that YAML does not allow, and nesting beyond 500 levels.
pub fn to_string(value: &serde_json::Value) -> Result<String, WriteError> {
    // No template runs here, so only the depth is limited, because it costs stack.
    let budget = Budget::new(Limits { created_bytes: u64::MAX, steps: u64::MAX, ..Limits::default() });
    let mut emitter = Emitter::new(&budget);
    emitter.json(value, NodePosition::Root, 0).map_err(|failure| WriteError(failure.reason))?;
    emitter.end();
    // All input was text.
    String::from_utf8(emitter.out).map_err(|error| WriteError(error.to_string()))
}

/// Writes a value of a template.
pub(crate) fn write_value(budget: &Budget<'_>, value: &Value) -> Result<Vec<u8>, FunctionError> {
    let mut emitter = Emitter::new(budget);
    emitter.value(value, NodePosition::Root, 0)?;
    emitter.end();
    emitter.count()?;
    Ok(emitter.out)
}

/// Position of a node in its parent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NodePosition {
    Root,
    Item,
    /// A key on the line of its value.
    SimpleKey,
    /// A key after `?`.
    ComplexKey,
    MapValue,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ScalarStyle {
    Plain,
    Single,
    Double,
    Literal,
}

const WIDTH: usize = 80;
const INDENT: i32 = 2;

struct Emitter<'b, 'a> {
    budget: &'b Budget<'a>,
    out: Vec<u8>,
    counted: usize,
    indent: i32,
    column: usize,
    /// Whether the last character was a blank or a line break.
    whitespace: bool,
    /// Whether the line has only indentation and indicators.
    indention: bool,
}

impl<'b, 'a> Emitter<'b, 'a> {
    fn new(budget: &'b Budget<'a>) -> Self {
        Emitter { budget, out: Vec::new(), counted: 0, indent: -1, column: 0, whitespace: true, indention: true }
    }

    fn count(&mut self) -> Result<(), FunctionError> {
        let added = self.out.len() - self.counted;
        self.counted = self.out.len();
        self.budget.create(added)
    }

    fn end(&mut self) {
        self.write_indent();
    }

    // Characters.

    fn put(&mut self, byte: u8) {
        self.out.push(byte);
        self.column += 1;
    }

    fn put_char(&mut self, character: char) {
        push_char(&mut self.out, character);
        self.column += 1;
    }

    fn put_break(&mut self) {
        self.out.push(b'\n');
        self.column = 0;
    }

    fn write_break(&mut self, character: char) {
        if character == '\n' {
            self.put_break();
        } else {
            self.put_char(character);
            self.column = 0;
        }
    }

    fn write_indent(&mut self) {
        let indent = usize::try_from(self.indent).unwrap_or(0);
        if !self.indention || self.column > indent || (self.column == indent && !self.whitespace) {
            self.put_break();
        }
        while self.column < indent {
            self.put(b' ');
        }
        self.whitespace = true;
        self.indention = true;
    }

    fn indicator(&mut self, indicator: &[u8], needs_whitespace: bool, is_whitespace: bool, is_indention: bool) {
        if needs_whitespace && !self.whitespace {
            self.put(b' ');
        }
        for byte in indicator {
            self.put(*byte);
        }
        self.whitespace = is_whitespace;
        self.indention = self.indention && is_indention;
    }

    // Collections.

    fn increase_indent(&mut self, indentless: bool) -> i32 {
        let before = self.indent;
        if before < 0 {
            self.indent = 0;
        } else if !indentless {
            self.indent += INDENT;
        }
        before
    }

    fn list<T>(
        &mut self,
        items: &[T],
        place: NodePosition,
        emit: &mut dyn FnMut(&mut Self, &T) -> Result<(), FunctionError>,
    ) -> Result<(), FunctionError> {
        if items.is_empty() {
            self.indicator(b"[", true, true, false);
            self.indicator(b"]", false, false, false);
            return Ok(());
        }
        // A list is flush with its key.
        let before = self.increase_indent(place == NodePosition::MapValue && !self.indention);
        for item in items {
            self.write_indent();
            self.indicator(b"-", true, false, true);
            emit(self, item)?;
            self.count()?;
        }
        self.indent = before;
        Ok(())
    }

    fn map<K: AsRef<str>, T>(
        &mut self,
        entries: &mut [(K, T)],
        emit: &mut dyn FnMut(&mut Self, &T) -> Result<(), FunctionError>,
    ) -> Result<(), FunctionError> {
        if entries.is_empty() {
            self.indicator(b"{", true, true, false);
            self.indicator(b"}", false, false, false);
            return Ok(());
        }
        sort_naturally(entries);
        let before = self.increase_indent(false);
        for (key, value) in entries {
            let key = key.as_ref();
            self.write_indent();
            // libyaml's limit for a key on the line of its value.
            if key.len() <= 128 && !key.chars().any(is_break) {
                self.text(key, NodePosition::SimpleKey)?;
                self.indicator(b":", false, false, false);
            } else {
                self.indicator(b"?", true, false, true);
                self.text(key, NodePosition::ComplexKey)?;
                self.write_indent();
                self.indicator(b":", true, false, true);
            }
            emit(self, value)?;
            self.count()?;
        }
        self.indent = before;
        Ok(())
    }

    fn json(&mut self, value: &serde_json::Value, place: NodePosition, depth: usize) -> Result<(), FunctionError> {
        self.budget.check_depth(depth)?;
        match value {
            serde_json::Value::Null => self.plain("null"),
            serde_json::Value::Bool(value) => self.plain(if *value { "true" } else { "false" }),
            serde_json::Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
                (Some(number), ..) => self.plain(&number.to_string()),
                (None, Some(number), _) => self.plain(&number.to_string()),
                (None, None, float) => self.plain(&number_text(float.unwrap_or_default())),
            },
            serde_json::Value::String(text) => self.text(text, place)?,
            serde_json::Value::Array(items) => {
                self.list(items, place, &mut |emitter, item| emitter.json(item, NodePosition::Item, depth + 1))?
            }
            serde_json::Value::Object(fields) => {
                let mut entries: Vec<(&String, &serde_json::Value)> = fields.iter().collect();
                self.map(&mut entries, &mut |emitter, value| emitter.json(value, NodePosition::MapValue, depth + 1))?;
            }
        }
        Ok(())
    }

    fn value(&mut self, value: &Value, place: NodePosition, depth: usize) -> Result<(), FunctionError> {
        self.budget.check_depth(depth)?;
        self.budget.step(1)?;
        let unsupported =
            |what: &str| Err(FunctionError::new(format!("error marshaling into JSON: json: unsupported {what}")));
        match value {
            Value::Nil => self.plain("null"),
            Value::List(_) | Value::Map(_) if value.is_nil() => self.plain("null"),
            Value::Bool(value) => self.plain(if *value { "true" } else { "false" }),
            Value::Int(number) | Value::Int64(number) | Value::Named(_, number) => self.plain(&number.to_string()),
            Value::Byte(number) => self.plain(&number.to_string()),
            Value::Float(number) if number.is_nan() => return unsupported("value: NaN"),
            Value::Float(number) if number.is_infinite() => {
                return unsupported(if *number > 0.0 { "value: +Inf" } else { "value: -Inf" });
            }
            Value::Float(number) => self.plain(&number_text(*number)),
            Value::Complex(..) => return unsupported("type: complex128"),
            Value::String(text) => self.text(&valid_text(text), place)?,
            Value::Time(time) => self.text(&time.rfc3339(), place)?,
            Value::List(list) => {
                self.list(list.items(), place, &mut |emitter, item| emitter.value(item, NodePosition::Item, depth + 1))?
            }
            Value::Map(map) => {
                let mut entries: Vec<(String, Value)> =
                    map.snapshot().into_iter().map(|(key, value)| (valid_text(&key), value)).collect();
                self.map(&mut entries, &mut |emitter, value| emitter.value(value, NodePosition::MapValue, depth + 1))?;
            }
        }
        Ok(())
    }

    // Scalars.

    fn plain(&mut self, text: &str) {
        self.write_plain(text, true);
    }

    fn text(&mut self, text: &str, place: NodePosition) -> Result<(), FunctionError> {
        self.budget.step(text.len() as u64 / 256)?;
        let is_simple = text.bytes().all(|byte| byte < 0x7f);
        let read;
        let text = if !is_simple && text.contains('\u{85}') {
            // Go's library writes the value as JSON and reads that as YAML, where a next-line character is a line break
            // that folds into a blank.
            read = folded_next_lines(text);
            read.as_str()
        } else {
            text
        };
        if !is_simple && text.chars().any(is_refused) {
            return Err(FunctionError::new("yaml: control characters are not allowed"));
        }
        let analysis = Analysis::new(text);
        // First the style that Go's library asks for. Then, in libyaml's order, what the text rules out.
        let mut style = if text.contains('\n') {
            ScalarStyle::Literal
        } else if resolves_to_text(text) {
            ScalarStyle::Plain
        } else {
            ScalarStyle::Double
        };
        let is_simple_key = place == NodePosition::SimpleKey;
        if is_simple_key && analysis.multiline {
            style = ScalarStyle::Double;
        }
        if style == ScalarStyle::Plain && (!analysis.plain_allowed || text.is_empty() && is_simple_key) {
            style = ScalarStyle::Single;
        }
        if style == ScalarStyle::Single && !analysis.single_allowed {
            style = ScalarStyle::Double;
        }
        if style == ScalarStyle::Literal && (!analysis.block_allowed || is_simple_key) {
            style = ScalarStyle::Double;
        }
        // Further lines of a text are indented more than their parent.
        let before = self.indent;
        self.indent = if before < 0 { INDENT } else { before + INDENT };
        match style {
            ScalarStyle::Plain => self.write_plain(text, !is_simple_key),
            ScalarStyle::Single => self.write_single(text, !is_simple_key),
            ScalarStyle::Double => self.write_double(text, !is_simple_key),
            ScalarStyle::Literal => self.write_literal(text),
        }
        self.indent = before;
        Ok(())
    }

    fn write_plain(&mut self, text: &str, folds: bool) {
        if !self.whitespace {
            self.put(b' ');
        }
        self.write_folded(text, folds, None);
        self.whitespace = false;
        self.indention = false;
    }

    fn write_single(&mut self, text: &str, folds: bool) {
        self.indicator(b"'", true, false, false);
        self.write_folded(text, folds, Some('\''));
        self.indicator(b"'", false, false, false);
        self.whitespace = false;
        self.indention = false;
    }

    /// Writes plain or single-quoted text; a long line breaks at a single blank.
    fn write_folded(&mut self, text: &str, folds: bool, doubled: Option<char>) {
        // Most texts fit on the line and are written as they are.
        let is_written_as_it_is = |byte: u8| matches!(byte, b' '..=b'~') && doubled.map(u32::from) != Some(byte.into());
        if self.column + text.len() <= WIDTH && text.bytes().all(is_written_as_it_is) {
            self.out.extend_from_slice(text.as_bytes());
            self.column += text.len();
            self.indention &= text.bytes().all(|byte| byte == b' ');
            return;
        }
        let mut after_space = false;
        let mut after_break = false;
        let mut rest = text.char_indices().peekable();
        while let Some((at, character)) = rest.next() {
            let next = rest.peek().map(|(_, next)| *next);
            if character == ' ' {
                let inside = doubled.is_none() || at > 0 && at + 1 < text.len();
                if folds && !after_space && self.column > WIDTH && inside && next != Some(' ') {
                    self.write_indent();
                } else {
                    self.put(b' ');
                }
                after_space = true;
            } else if is_break(character) {
                // A reader turns a single line feed into a blank, so write two.
                if !after_break && character == '\n' {
                    self.put_break();
                }
                self.write_break(character);
                self.indention = true;
                after_break = true;
            } else {
                if after_break {
                    self.write_indent();
                }
                if doubled == Some(character) {
                    self.put_char(character);
                }
                self.put_char(character);
                self.indention = false;
                after_space = false;
                after_break = false;
            }
        }
    }

    fn write_double(&mut self, text: &str, folds: bool) {
        self.indicator(b"\"", true, false, false);
        // libyaml checks for a byte order mark at the start of the text, whichever character it is about to write.
        let escapes_all = text.starts_with('\u{feff}');
        let mut after_space = false;
        let mut rest = text.char_indices().peekable();
        while let Some((at, character)) = rest.next() {
            let next = rest.peek().map(|(_, next)| *next);
            if escapes_all || !is_printable(character) || is_break(character) || matches!(character, '"' | '\\') {
                self.put(b'\\');
                let code = u32::from(character);
                let escape = match character {
                    '\0' => "0".into(),
                    '\x07' => "a".into(),
                    '\x08' => "b".into(),
                    '\t' => "t".into(),
                    '\n' => "n".into(),
                    '\x0b' => "v".into(),
                    '\x0c' => "f".into(),
                    '\r' => "r".into(),
                    '\x1b' => "e".into(),
                    '"' => "\"".into(),
                    '\\' => "\\".into(),
                    '\u{85}' => "N".into(),
                    '\u{a0}' => "_".into(),
                    '\u{2028}' => "L".into(),
                    '\u{2029}' => "P".into(),
                    _ if code <= 0xff => format!("x{code:02X}"),
                    _ if code <= 0xffff => format!("u{code:04X}"),
                    _ => format!("U{code:08X}"),
                };
                for byte in escape.bytes() {
                    self.put(byte);
                }
                after_space = false;
            } else if character == ' ' {
                if folds && !after_space && self.column > WIDTH && at > 0 && at + 1 < text.len() {
                    self.write_indent();
                    if next == Some(' ') {
                        // A reader drops blanks at the start of a line; the backslash keeps this one.
                        self.put(b'\\');
                    }
                } else {
                    self.put(b' ');
                }
                after_space = true;
            } else {
                self.put_char(character);
                after_space = false;
            }
        }
        self.indicator(b"\"", false, false, false);
        self.whitespace = false;
        self.indention = false;
    }

    fn write_literal(&mut self, text: &str) {
        self.indicator(b"|", true, false, false);
        // Otherwise a reader would treat the blank as indentation.
        if text.starts_with(|first: char| first == ' ' || is_break(first)) {
            self.indicator(INDENT.to_string().as_bytes(), false, false, false);
        }
        // A reader keeps a single line feed at the end; `-` stands for none, `+` for all.
        let mut ending = text.chars().rev();
        match (ending.next().map(is_break), ending.next().map(is_break)) {
            (Some(false) | None, _) => self.indicator(b"-", false, false, false),
            (Some(true), None | Some(true)) => self.indicator(b"+", false, false, false),
            (Some(true), Some(false)) => {}
        }
        self.put_break();
        self.indention = true;
        self.whitespace = true;
        let mut after_break = true;
        for character in text.chars() {
            if is_break(character) {
                self.write_break(character);
                self.indention = true;
                after_break = true;
            } else {
                if after_break {
                    self.write_indent();
                }
                self.put_char(character);
                self.indention = false;
                after_break = false;
            }
        }
    }
}

/// Scalar styles that a text allows.
struct Analysis {
    multiline: bool,
    plain_allowed: bool,
    single_allowed: bool,
    block_allowed: bool,
}

impl Analysis {
    fn new(text: &str) -> Analysis {
        if text.is_empty() {
            return Analysis { multiline: false, plain_allowed: true, single_allowed: true, block_allowed: false };
        }
        let mut indicators = text.starts_with("---") || text.starts_with("...");
        let (mut special, mut multiline) = (false, false);
        let (mut break_space, mut space_break) = (false, false);
        let (mut previous_space, mut previous_break) = (false, false);
        let mut preceded_by_blank = true;
        let mut rest = text.chars().peekable();
        let mut first = true;
        while let Some(character) = rest.next() {
            let followed_by_blank = rest.peek().is_none_or(|next| matches!(next, ' ' | '\t'));
            indicators |= match character {
                '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`'
                    if first =>
                {
                    true
                }
                '?' | '-' if first => followed_by_blank,
                ':' => followed_by_blank,
                '#' => preceded_by_blank,
                _ => false,
            };
            special |= !is_printable(character);
            if character == ' ' {
                break_space |= previous_break;
                previous_space = true;
                previous_break = false;
            } else if is_break(character) {
                multiline = true;
                space_break |= previous_space;
                previous_space = false;
                previous_break = true;
            } else {
                previous_space = false;
                previous_break = false;
            }
            preceded_by_blank = matches!(character, ' ' | '\t') || is_break(character) || character == '\0';
            first = false;
        }
        let at_edge = |edge: Option<char>| edge.is_some_and(|character| character == ' ' || is_break(character));
        let edges = at_edge(text.chars().next()) || at_edge(text.chars().next_back());
        Analysis {
            multiline,
            plain_allowed: !(edges || break_space || space_break || special || multiline || indicators),
            single_allowed: !(break_space || space_break || special),
            block_allowed: !(text.ends_with(' ') || space_break || special),
        }
    }
}

fn is_break(character: char) -> bool {
    matches!(character, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_printable(character: char) -> bool {
    matches!(character, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}') && character != '\u{feff}'
}

/// Whether JSON allows a character unescaped but YAML refuses it.
fn is_refused(character: char) -> bool {
    matches!(character, '\u{7f}'..='\u{84}' | '\u{86}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}')
}

/// Folds next-line characters: one becomes a blank, several become line feeds, and surrounding blanks are removed.
fn folded_next_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find([' ', '\u{85}']) {
        let (before, run_and_rest) = rest.split_at(start);
        out.push_str(before);
        let end = run_and_rest.find(|character| !matches!(character, ' ' | '\u{85}')).unwrap_or(run_and_rest.len());
        let (run, after) = run_and_rest.split_at(end);
        match run.chars().filter(|character| *character == '\u{85}').count() {
            0 => out.push_str(run),
            1 => out.push(' '),
            breaks => out.push_str(&"\n".repeat(breaks - 1)),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Replaces invalid bytes, as JSON does.
fn valid_text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => chars(bytes).map(|(character, _)| character).collect(),
    }
}

/// Formats a float as it comes back from JSON: integral floats become integers while they fit.
fn number_text(number: f64) -> String {
    let json = float_text(number);
    if let Some(integer) = parse_integer(&json) {
        return integer.to_string();
    }
    if let Some(integer) = parse_unsigned(&json) {
        return integer.to_string();
    }
    format_float(number, FloatFormat::General, None)
}

/// Whether a YAML 1.1 reader reads the plain text as a string.
fn resolves_to_text(text: &str) -> bool {
    let Some(first) = text.bytes().next() else { return false };
    let known = matches!(
        text,
        "y" | "Y"
            | "yes"
            | "Yes"
            | "YES"
            | "true"
            | "True"
            | "TRUE"
            | "on"
            | "On"
            | "ON"
            | "n"
            | "N"
            | "no"
            | "No"
            | "NO"
            | "false"
            | "False"
            | "FALSE"
            | "off"
            | "Off"
            | "OFF"
            | "~"
            | "null"
            | "Null"
            | "NULL"
            | ".nan"
            | ".NaN"
            | ".NAN"
            | ".inf"
            | ".Inf"
            | ".INF"
            | "+.inf"
            | "+.Inf"
            | "+.INF"
            | "-.inf"
            | "-.Inf"
            | "-.INF"
    );
    if known {
        return false;
    }
    match first {
        b'.' => crate::float::parse_float(text, false).is_none(),
        b'0'..=b'9' | b'+' | b'-' => !is_timestamp(text) && !is_number(text) && !is_base60(text),
        _ => true,
    }
}

fn is_number(text: &str) -> bool {
    // YAML 1.1 allows `_` between digits.
    let plain = text.replace('_', "");
    parse_integer(&plain).is_some()
        || parse_unsigned(&plain).is_some()
        || is_decimal_float(&plain) && crate::float::parse_float(&plain, false).is_some()
}

/// `^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`
fn is_decimal_float(text: &str) -> bool {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    let whole = digits(rest);
    rest = rest.get(whole..).unwrap_or_default();
    if let Some(fraction) = rest.strip_prefix('.') {
        let count = digits(fraction);
        if whole == 0 && count == 0 {
            return false;
        }
        rest = fraction.get(count..).unwrap_or_default();
    } else if whole == 0 {
        return false;
    }
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        let count = digits(exponent);
        return count > 0 && count == exponent.len();
    }
    rest.is_empty()
}

/// `^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$`
fn is_base60(text: &str) -> bool {
    let rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    let mut parts = rest.split(':');
    let Some(head) = parts.next() else { return false };
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    if !head.starts_with(|first: char| first.is_ascii_digit()) || !is_digits(head) {
        return false;
    }
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return false;
    }
    while let Some(part) = parts.next() {
        let (digits, fraction) = match part.split_once('.') {
            Some((digits, fraction)) if parts.peek().is_none() => (digits, fraction),
            Some(_) => return false,
            None => (part, ""),
        };
        let is_sixtieth = match digits.as_bytes() {
            [last] => last.is_ascii_digit(),
            [b'0'..=b'5', last] => last.is_ascii_digit(),
            _ => false,
        };
        if !is_sixtieth || !is_digits(fraction) {
            return false;
        }
    }
    true
}

fn is_timestamp(text: &str) -> bool {
    // The library's own check, before it tries the layouts.
    let year = text.bytes().take_while(u8::is_ascii_digit).count();
    if year != 4 || text.as_bytes().get(4) != Some(&b'-') {
        return false;
    }
    let layouts: [&[u8]; 4] = [
        b"2006-1-2T15:4:5.999999999Z07:00",
        b"2006-1-2t15:4:5.999999999Z07:00",
        b"2006-1-2 15:4:5.999999999",
        b"2006-1-2",
    ];
    layouts.iter().any(|layout| layout::parse(layout, text.as_bytes()).is_ok())
}

/// Sorts by key; the result does not depend on the initial order.
///
/// The order of Go's library is not transitive: `100` < `1a` < `2` < `100`. The standard library's sort may panic on
/// such an order, so this is a merge sort, which only compares two keys at a time.
fn sort_naturally<K: AsRef<str>, T>(entries: &mut [(K, T)]) {
    entries.sort_by(|left, right| left.0.as_ref().cmp(right.0.as_ref()));
    let mut order: Vec<usize> = (0..entries.len()).collect();
    let key = |index: &usize| entries.get(*index).map_or("", |(key, _)| key.as_ref());
    let mut width = 1;
    while width < order.len() {
        let mut merged = Vec::with_capacity(order.len());
        for pair in order.chunks(2 * width) {
            let (left, right) = pair.split_at(width.min(pair.len()));
            let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
            while let (Some(first), Some(second)) = (left.peek(), right.peek()) {
                let takes_right = natural_order(key(second), key(first)) == Ordering::Less;
                merged.extend(if takes_right { right.next() } else { left.next() });
            }
            merged.extend(left);
            merged.extend(right);
        }
        order = merged;
        width *= 2;
    }
    let mut places = vec![0; order.len()];
    for (place, index) in order.iter().enumerate() {
        if let Some(slot) = places.get_mut(*index) {
            *slot = place;
        }
    }
    // Move each entry to its place, following the cycle.
    for at in 0..places.len() {
        while let Some(place) = places.get(at).copied().filter(|place| *place != at) {
            entries.swap(at, place);
            places.swap(at, place);
        }
    }
}

/// Orders keys: letters after other characters, runs of digits by their number, letters by code point.
fn natural_order(left: &str, right: &str) -> Ordering {
    let differing = left.chars().zip(right.chars()).enumerate().find(|(_, (a, b))| a != b);
    // The shorter text is the beginning of the other.
    let Some((at, (a, b))) = differing else { return left.len().cmp(&right.len()) };
    match (is_letter(a), is_letter(b)) {
        (true, true) => a.cmp(&b),
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) => {
            let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
            let (mut a_number, mut b_number) = (0i64, 0i64);
            if a == '0' || b == '0' {
                // Zeros inside a number are digits like others; leading zeros do not count.
                let before = left.get(..at).unwrap_or_default().iter().rev();
                if before.take_while(|digit| is_digit(**digit)).any(|digit| *digit != '0') {
                    a_number = 1;
                    b_number = 1;
                }
            }
            let (a_end, a_number) = run_of_digits(&left, at, a_number);
            let (b_end, b_number) = run_of_digits(&right, at, b_number);
            a_number.cmp(&b_number).then(a_end.cmp(&b_end)).then(a.cmp(&b))
        }
    }
}

fn run_of_digits(text: &[char], from: usize, start: i64) -> (usize, i64) {
    let mut number = start;
    let mut at = from;
    while let Some(digit) = text.get(at).filter(|character| is_digit(**character)) {
        number = number.wrapping_mul(10).wrapping_add(i64::from(u32::from(*digit)) - i64::from(u32::from('0')));
        at += 1;
    }
    (at, number)
}
