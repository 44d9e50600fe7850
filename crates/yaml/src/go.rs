//! A document as `sigs.k8s.io/yaml` reads it, and therefore as controllers written in Go do.
//!
//! [`parse_documents`](super::parse_documents) reads text written by people, and is stricter. Text rendered by a
//! template, and manifests whose templates depend on the reader, must mean the same here as in a controller: the last
//! of two equal keys counts, keys that are not text become text (`n: x` has the key `false`), unknown tags are dropped,
//! and a float without fraction is an integer. A [`KeyNote`] reports keys whose result may be surprising.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};
use serde_saphyr::granit_parser::{Event, Options, Parser, ScalarStyle, Span, Tag};

use super::mend::MendedText;
use super::strict;
use super::{Location, MAX_DEPTH, MAX_INPUT_BYTES, MAX_NODES, YamlError, checked};

/// A document, with the keys that were not taken literally.
#[derive(Clone, Debug, PartialEq)]
pub struct GoDocument {
    pub value: Value,
    pub notes: Vec<KeyNote>,
}

/// A key that a reader may misunderstand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyNote {
    pub location: Location,
    /// The resulting key.
    pub key: String,
    pub cause: KeyCause,
}

/// Why a key needs a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyCause {
    /// The mapping already had the key, and this value replaced the earlier one.
    Duplicate,
    /// The key was written like this and is a boolean in YAML 1.1.
    Boolean(String),
}

/// Reads the first document of a text; `None` when there is none. The rest of the text is ignored.
///
/// # Errors
/// A syntax error, an unknown alias, a null key, a number that JSON cannot represent (`.inf`), or one of the limits of
/// [`parse_documents`](super::parse_documents).
pub fn parse_first_as_go(text: &str) -> Result<Option<GoDocument>, YamlError> {
    let text = checked(text)?;
    // A line break in YAML 1.1, which reads it as a line feed everywhere.
    let lines = text.replace('\u{85}', "\n");
    let text = lines.as_str();
    let parse_mended = |mended: MendedText| {
        parse_accepted(&mended.text).map_err(|error| error.map_location(|location| mended.written(location)))
    };
    // The library would read `[a:, b]` as a mapping.
    if let Some(mended) = MendedText::with_quoted_colons(text) {
        return parse_mended(mended).or_else(|error| MendedText::of(text).map_or(Err(error), parse_mended));
    }
    // Most texts need no other repair, so it is tried only after a failure.
    parse_accepted(text).or_else(|error| MendedText::of(text).map_or(Err(error), parse_mended))
}

/// Reads a JSON object as Go does; `None` if the text is something else.
pub fn parse_json_as_go(text: &str) -> Option<Map<String, Value>> {
    let mut fields: Map<String, Value> = serde_json::from_str(text).ok()?;
    fields.values_mut().for_each(numbers_as_in_go);
    Some(fields)
}

/// Turns numbers into those that Go has after JSON: `int64` where possible, and floats.
fn numbers_as_in_go(value: &mut Value) {
    match value {
        Value::Number(number) if !number.is_i64() => *value = number.as_f64().map_or(Value::Null, float),
        Value::Array(items) => items.iter_mut().for_each(numbers_as_in_go),
        Value::Object(fields) => fields.values_mut().for_each(numbers_as_in_go),
        _ => {}
    }
}

fn parse_accepted(text: &str) -> Result<Option<GoDocument>, YamlError> {
    let document = parse_first(text)?;
    strict::refusal(text).map_or(Ok(document), Err)
}

fn parse_first(text: &str) -> Result<Option<GoDocument>, YamlError> {
    let mut options = Options::default();
    options.set_emit_comments(false);
    let mut reader = EventReader { text, ..EventReader::default() };
    // The library ignores `...` before any document has begun, but Go's library refuses it.
    let lines = text.lines().enumerate();
    let first = lines.map(|(number, line)| (number, line.trim_end())).find(|(_, line)| !is_blank_or_comment(line));
    if let Some((number, "...")) = first {
        return Err(refused("did not find expected node content", Location { line: number as u64 + 1, column: 1 }));
    }
    for item in Parser::new_from_str_with_options(text, options) {
        let (event, span) = item.map_err(|error| YamlError::Syntax {
            message: error.info(),
            location: Some(Location { line: error.marker().line() as u64, column: error.marker().col() as u64 + 1 }),
        })?;
        match event {
            Event::DocumentStart(..) => reader.started = true,
            Event::DocumentEnd => break,
            event => reader.event(event, &span)?,
        }
    }
    let document = |value| GoDocument { value, notes: reader.notes };
    Ok(reader.started.then(|| document(reader.root.unwrap_or(Value::Null))))
}

/// A scalar that is not text by `go-yaml` 2's rules for YAML 1.1, before JSON merges all kinds of numbers.
#[derive(Clone, Copy)]
enum Scalar {
    Null,
    Bool(bool),
    Int(i64),
    Unsigned(u64),
    Float(f64),
}

/// A key without its value yet.
enum PendingKey {
    Field { key: String, location: Location },
    Merge { location: Location },
}

enum OpenShape {
    Items(Vec<Value>),
    Fields { fields: Map<String, Value>, key: Option<PendingKey> },
}

struct OpenNode {
    shape: OpenShape,
    anchor: usize,
    /// Number of nodes read before it.
    nodes_before: usize,
}

#[derive(Clone)]
struct AnchoredNode {
    value: Value,
    /// The value before its conversion to JSON, if it is a scalar other than text. Keys are formatted from this value.
    scalar: Option<Scalar>,
    nodes: usize,
    bytes: usize,
}

#[derive(Default)]
struct EventReader<'t> {
    text: &'t str,
    started: bool,
    root: Option<Value>,
    open: Vec<OpenNode>,
    anchors: HashMap<usize, AnchoredNode>,
    notes: Vec<KeyNote>,
    nodes: usize,
    copied_bytes: usize,
}

impl EventReader<'_> {
    fn event(&mut self, event: Event<'_>, span: &Span) -> Result<(), YamlError> {
        let location = Location { line: span.start.line() as u64, column: span.start.col() as u64 + 1 };
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.count(1, location)?;
                // A quoted `<<` is an ordinary key.
                let is_merge = text == "<<"
                    && style == ScalarStyle::Plain
                    && tag.as_deref().is_none_or(|tag| short(tag).as_deref() == Some("merge"));
                if is_merge && self.take_merge_key(location) {
                    return Ok(());
                }
                let mut text = text.into_owned();
                // The library adds a line break that the text does not have.
                if matches!(style, ScalarStyle::Literal | ScalarStyle::Folded)
                    && !self.text.ends_with(['\n', '\r'])
                    && text.ends_with('\n')
                    && span.end.byte_offset().is_some_and(|end| end >= self.text.len())
                {
                    text.pop();
                }
                if text.contains(UNICODE_BREAKS) && is_flow_text(style, span.slice(self.text).unwrap_or_default()) {
                    text = fold_unicode_breaks(&text);
                }
                if tag.as_deref().and_then(short).as_deref() == Some("binary") {
                    text = decoded(&text)
                        .ok_or_else(|| refused("failed to decode base64 data of a !!binary", location))?;
                }
                let scalar = resolve(&text, style == ScalarStyle::Plain, tag.as_deref(), location)?;
                if self.awaits_key() {
                    let anchored =
                        (anchor > 0).then(|| value_of(scalar.as_ref(), text.clone(), location)).transpose()?;
                    let key = match &scalar {
                        Some(scalar) => key_text(scalar, location)?,
                        None => std::mem::take(&mut text),
                    };
                    if matches!(scalar, Some(Scalar::Bool(_))) && text != key {
                        self.notes.push(KeyNote { location, key: key.clone(), cause: KeyCause::Boolean(text) });
                    }
                    if let Some(value) = anchored {
                        self.anchors.insert(anchor, AnchoredNode { value, scalar, nodes: 1, bytes: key.len() });
                    }
                    self.take_key(PendingKey::Field { key, location });
                    return Ok(());
                }
                let value = value_of(scalar.as_ref(), text, location)?;
                self.finish(value, anchor, self.nodes - 1)?;
                if let Some(anchored) = self.anchors.get_mut(&anchor) {
                    anchored.scalar = scalar;
                }
                Ok(())
            }
            Event::SequenceStart(_, anchor, _) => self.begin(OpenShape::Items(Vec::new()), anchor, location),
            Event::MappingStart(_, anchor, _) => {
                self.begin(OpenShape::Fields { fields: Map::new(), key: None }, anchor, location)
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(open) = self.open.pop() else { return Ok(()) };
                let value = match open.shape {
                    OpenShape::Items(items) => Value::Array(items),
                    OpenShape::Fields { fields, .. } => Value::Object(fields),
                };
                self.finish(value, open.anchor, open.nodes_before)
            }
            Event::Alias(anchor) => {
                let Some(anchored) = self.anchors.get(&anchor).cloned() else {
                    return Err(refused("the alias refers to a node that contains it", location));
                };
                // An alias counts as all nodes that it copies. Otherwise a few lines of nested aliases could grow to
                // gigabytes.
                self.count(anchored.nodes, location)?;
                self.copied_bytes = self.copied_bytes.saturating_add(anchored.bytes);
                if self.copied_bytes > MAX_INPUT_BYTES {
                    return Err(refused("the document is larger than the limit (aliases)", location));
                }
                if self.awaits_key() {
                    let key = alias_key(&anchored, location)?;
                    self.take_key(PendingKey::Field { key, location });
                    return Ok(());
                }
                self.finish(anchored.value, 0, self.nodes)
            }
            _ => Ok(()),
        }
    }

    fn count(&mut self, nodes: usize, location: Location) -> Result<(), YamlError> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes > MAX_NODES {
            return Err(refused("the document is larger than the limit (aliases, keys)", location));
        }
        Ok(())
    }

    fn begin(&mut self, shape: OpenShape, anchor: usize, location: Location) -> Result<(), YamlError> {
        if self.awaits_key() {
            return Err(refused(
                "a key must be text, not a mapping or a list (templates like {{ … }} need quotes)",
                location,
            ));
        }
        if self.open.len() >= MAX_DEPTH {
            let message = format!("nesting is deeper than the {MAX_DEPTH} levels that are read at most");
            return Err(refused(&message, location));
        }
        let nodes_before = self.nodes;
        self.count(1, location)?;
        self.open.push(OpenNode { shape, anchor, nodes_before });
        Ok(())
    }

    fn awaits_key(&self) -> bool {
        matches!(self.open.last(), Some(OpenNode { shape: OpenShape::Fields { key: None, .. }, .. }))
    }

    fn take_merge_key(&mut self, location: Location) -> bool {
        let awaits = self.awaits_key();
        if awaits {
            self.take_key(PendingKey::Merge { location });
        }
        awaits
    }

    fn take_key(&mut self, new: PendingKey) {
        if let Some(OpenNode { shape: OpenShape::Fields { key, .. }, .. }) = self.open.last_mut() {
            *key = Some(new);
        }
    }

    /// Puts a complete value into its container.
    fn finish(&mut self, value: Value, anchor: usize, nodes_before: usize) -> Result<(), YamlError> {
        if anchor > 0 {
            let nodes = self.nodes.saturating_sub(nodes_before).max(1);
            let anchored = AnchoredNode { nodes, bytes: text_bytes(&value), value: value.clone(), scalar: None };
            self.anchors.insert(anchor, anchored);
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(value);
            return Ok(());
        };
        match &mut open.shape {
            OpenShape::Items(items) => items.push(value),
            OpenShape::Fields { fields, key } => match key.take() {
                Some(PendingKey::Field { key, location }) => match fields.entry(key) {
                    Entry::Vacant(entry) => {
                        entry.insert(value);
                    }
                    Entry::Occupied(mut entry) => {
                        let key = entry.key().clone();
                        self.notes.push(KeyNote { location, key, cause: KeyCause::Duplicate });
                        entry.insert(value);
                    }
                },
                Some(PendingKey::Merge { location }) => merge(fields, value, location)?,
                None => {}
            },
        }
        Ok(())
    }
}

/// Merges as `go-yaml` 2 does: at the position of the merge key, so that only later keys override it.
fn merge(fields: &mut Map<String, Value>, value: Value, location: Location) -> Result<(), YamlError> {
    let refuse = || refused("map merge requires map or sequence of maps as the value", location);
    // Of several sources the first takes precedence, so it is merged last.
    let sources = match value {
        Value::Object(source) => vec![source],
        Value::Array(items) => items
            .into_iter()
            .rev()
            .map(|item| match item {
                Value::Object(source) => Ok(source),
                _ => Err(refuse()),
            })
            .collect::<Result<_, _>>()?,
        _ => return Err(refuse()),
    };
    for source in sources {
        fields.extend(source);
    }
    Ok(())
}

/// Line breaks in YAML 1.1 that are not line breaks in YAML 1.2, and that scalars keep unchanged.
const UNICODE_BREAKS: [char; 2] = ['\u{2028}', '\u{2029}'];

/// Whether line breaks of a scalar are folded. A line break from an escape sequence should not be folded, but is not
/// distinguished here.
fn is_flow_text(style: ScalarStyle, written: &str) -> bool {
    match style {
        ScalarStyle::Plain | ScalarStyle::SingleQuoted => true,
        ScalarStyle::DoubleQuoted => !written.contains('\\'),
        _ => false,
    }
}

/// Folds YAML 1.1 line breaks: surrounding blanks are removed, a single break becomes a space, and further breaks
/// become line feeds.
fn fold_unicode_breaks(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(UNICODE_BREAKS) {
        let (before, behind) = rest.split_at(at);
        folded.push_str(before.trim_end_matches([' ', '\t']));
        let after = behind.trim_start_matches(|c: char| UNICODE_BREAKS.contains(&c) || matches!(c, ' ' | '\t' | '\n'));
        let run = behind.len() - after.len();
        let breaks: Vec<char> = behind[..run].chars().filter(|c| !matches!(c, ' ' | '\t')).collect();
        match breaks.as_slice() {
            ['\n'] => folded.push(' '),
            ['\n', others @ ..] => folded.extend(others),
            all => folded.extend(all),
        }
        rest = after;
    }
    folded.push_str(rest);
    folded
}

fn is_blank_or_comment(line: &str) -> bool {
    let text = line.trim_start();
    text.is_empty() || text.starts_with('#')
}

fn refused(message: &str, location: Location) -> YamlError {
    YamlError::Syntax { message: message.to_owned(), location: Some(location) }
}

fn text_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(text_bytes).sum(),
        Value::Object(fields) => fields.iter().map(|(key, value)| key.len() + text_bytes(value)).sum(),
        _ => 0,
    }
}

/// The short name of a tag of YAML itself (`!!int` is `int`).
fn short(tag: &Tag) -> Option<String> {
    if let Some(core) = tag.core_suffix() {
        return Some(core.to_owned());
    }
    tag.suffix_in_namespace("tag:yaml.org,2002:").map(|suffix| suffix.into_owned())
}

/// Decodes a `!!binary`; JSON replaces bytes that are not UTF-8.
fn decoded(text: &str) -> Option<String> {
    let text: String = text.chars().filter(|c| !matches!(c, '\n' | '\r')).collect();
    let bytes = STANDARD.decode(text).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the scalar that a text represents; `None` if it is only text.
fn resolve(text: &str, is_plain: bool, tag: Option<&Tag>, location: Location) -> Result<Option<Scalar>, YamlError> {
    let Some(tag) = tag else {
        return Ok(if is_plain { resolve_plain(text) } else { None });
    };
    let is_unspecific =
        tag.handle() == "!" && tag.suffix().is_empty() || tag.handle().is_empty() && tag.suffix() == "!";
    // `!` alone means text, as every unknown tag.
    if is_unspecific {
        return Ok(None);
    }
    let wanted = short(tag);
    let resolved = match wanted.as_deref() {
        Some("bool" | "int" | "float" | "null") => resolve_plain(text),
        // Unknown tags are dropped, too, and their text is kept.
        _ => return Ok(None),
    };
    let scalar = match (wanted.as_deref(), resolved) {
        (Some("bool"), Some(Scalar::Bool(value))) => Scalar::Bool(value),
        (Some("int"), Some(value @ (Scalar::Int(_) | Scalar::Unsigned(_)))) => value,
        (Some("float"), Some(value @ Scalar::Float(_))) => value,
        (Some("float"), Some(Scalar::Int(value))) => Scalar::Float(value as f64),
        (Some("float"), Some(Scalar::Unsigned(value))) => Scalar::Float(value as f64),
        (Some("null"), Some(Scalar::Null)) => Scalar::Null,
        (wanted, _) => {
            return Err(refused(&format!("cannot decode `{text}` as a !!{}", wanted.unwrap_or_default()), location));
        }
    };
    Ok(Some(scalar))
}

fn resolve_plain(text: &str) -> Option<Scalar> {
    Some(match text {
        "" | "~" | "null" | "Null" | "NULL" => Scalar::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Scalar::Bool(true),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Scalar::Bool(false),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Scalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Scalar::Float(f64::NEG_INFINITY),
        ".nan" | ".NaN" | ".NAN" => Scalar::Float(f64::NAN),
        _ => match text.as_bytes().first()? {
            b'.' => Scalar::Float(text.parse().ok().filter(|float: &f64| is_float(text) && float.is_finite())?),
            // YAML 1.1 allows underscores in numbers.
            b'+' | b'-' | b'0'..=b'9' => number(&text.replace('_', ""))?,
            _ => return None,
        },
    })
}

/// Parses a number as Go does with base 0: `0x1f`, `0b1`, `0o17`, and `017` for octal.
fn number(text: &str) -> Option<Scalar> {
    let (is_negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let is_signed = digits.len() != text.len();
    let lower = digits.to_ascii_lowercase();
    let (base, digits) = match lower.get(..2) {
        Some("0x") => (16, &lower[2..]),
        Some("0b") => (2, &lower[2..]),
        Some("0o") => (8, &lower[2..]),
        _ if lower.len() > 1 && lower.starts_with('0') => (8, &lower[1..]),
        _ => (10, lower.as_str()),
    };
    // Rust's parser would accept a second sign.
    if digits.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && let Ok(magnitude) = u64::from_str_radix(digits, base)
    {
        if is_negative {
            if let Ok(value) = i64::try_from(-i128::from(magnitude)) {
                return Some(Scalar::Int(value));
            }
        } else if let Ok(value) = i64::try_from(magnitude) {
            return Some(Scalar::Int(value));
        // Go's parser of unsigned numbers refuses a sign, so such a number becomes a float.
        } else if !is_signed {
            return Some(Scalar::Unsigned(magnitude));
        }
    }
    let float = is_float(text).then(|| text.parse::<f64>().ok()).flatten()?;
    float.is_finite().then_some(Scalar::Float(float))
}

/// Whether a text matches `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`.
fn is_float(text: &str) -> bool {
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['-', '+']).unwrap_or(exponent))),
        None => (text, None),
    };
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_mantissa = match mantissa.split_once('.') {
        Some(("", fraction)) => !fraction.is_empty() && are_digits(fraction),
        Some((whole, fraction)) => are_digits(whole) && are_digits(fraction),
        None => !mantissa.is_empty() && are_digits(mantissa),
    };
    is_mantissa && exponent.is_none_or(|exponent| !exponent.is_empty() && are_digits(exponent))
}

fn key_text(scalar: &Scalar, location: Location) -> Result<String, YamlError> {
    Ok(match scalar {
        Scalar::Bool(value) => value.to_string(),
        Scalar::Int(value) => value.to_string(),
        Scalar::Unsigned(value) => {
            let message = format!("unsupported map key of type uint64, key {value}: put it in quotes");
            return Err(refused(&message, location));
        }
        Scalar::Float(value) => float_key(*value as f32),
        Scalar::Null => return Err(refused("unsupported map key of type null: a key must be text", location)),
    })
}

/// Formats a key as Go's `strconv.FormatFloat(value, 'g', -1, 32)` does.
fn float_key(value: f32) -> String {
    if value.is_nan() {
        return ".nan".to_owned();
    }
    if value.is_infinite() {
        return (if value < 0.0 { "-.inf" } else { ".inf" }).to_owned();
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..6).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
        }
        _ => value.to_string(),
    }
}

fn alias_key(anchored: &AnchoredNode, location: Location) -> Result<String, YamlError> {
    match (&anchored.scalar, &anchored.value) {
        (Some(scalar), _) => key_text(scalar, location),
        (None, Value::String(text)) => Ok(text.clone()),
        _ => Err(refused("a key must be text, not null, a mapping or a list", location)),
    }
}

/// Converts a scalar as if through JSON, which Go decodes into `int64` where possible.
fn value_of(scalar: Option<&Scalar>, text: String, location: Location) -> Result<Value, YamlError> {
    let Some(scalar) = scalar else { return Ok(Value::String(text)) };
    Ok(match *scalar {
        Scalar::Null => Value::Null,
        Scalar::Bool(value) => Value::Bool(value),
        Scalar::Int(value) => Value::from(value),
        Scalar::Unsigned(value) => Value::from(value as f64),
        Scalar::Float(value) if !value.is_finite() => {
            let name = if value.is_nan() {
                "NaN"
            } else if value < 0.0 {
                "-Inf"
            } else {
                "+Inf"
            };
            return Err(refused(&format!("json: unsupported value: {name}"), location));
        }
        Scalar::Float(value) => float(value),
    })
}

/// Converts a float as Go does through JSON: without a fraction and below 2⁶³ it becomes an integer.
fn float(value: f64) -> Value {
    let is_whole = value.fract() == 0.0 && value.abs() < 1e20;
    // Rust and Go print the same digits here: the fewest that identify the float, then zeros.
    match is_whole.then(|| value.to_string().parse::<i64>()) {
        Some(Ok(integer)) => Value::from(integer),
        _ => Number::from_f64(value).map_or(Value::Null, Value::Number),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{KeyCause, parse_first_as_go, parse_json_as_go};

    fn value(text: &str) -> Value {
        parse_first_as_go(text).unwrap().unwrap().value
    }

    #[test]
    fn numbers_are_those_of_go() {
        let read = value("[1.0, 1.5e3, 1e20, 0644, 0o17, 0x_1f, -0b11, 08, 1_000, +5, -0.0, .5, 18446744073709551615]");
        let wanted = json!([1, 1500, 1e20, 420, 15, 31, -3, 8, 1000, 5, 0, 0.5, 18446744073709551615.0]);
        assert_eq!(read, wanted);
        assert_eq!(value("[1.2.3, 1e, ._5, 12:30:45, 2024-01-02, --1, 1e999]").as_array().unwrap().len(), 7);
        assert!(
            value("[1.2.3, 1e, 12:30:45, 2024-01-02, --1, 1e999]").as_array().unwrap().iter().all(Value::is_string)
        );
        assert!(parse_first_as_go("a: .inf").is_err());
    }

    #[test]
    fn keys_become_text_and_the_last_of_two_counts() {
        assert_eq!(
            value("{1: a, 2.5: b, true: c, 0x10: d, n: e, \"n\": f}"),
            json!({"1": "a", "2.5": "b", "true": "c", "16": "d", "false": "e", "n": "f"})
        );
        let document = parse_first_as_go("a: 1\non: 2\na: 3\n").unwrap().unwrap();
        assert_eq!(document.value, json!({"a": 3, "true": 2}));
        let causes: Vec<_> = document.notes.into_iter().map(|note| note.cause).collect();
        assert_eq!(causes, [KeyCause::Boolean("on".into()), KeyCause::Duplicate]);
        assert!(parse_first_as_go("null: a").is_err() && parse_first_as_go("? [a]\n: b").is_err());
    }

    #[test]
    fn tags_anchors_and_merge_keys_are_resolved() {
        assert_eq!(value("[!!str 5, !x 5, !x , ! 5, !!float 5] "), json!(["5", "5", "", "5", 5]));
        assert_eq!(
            value("{a: !!binary aGk=, !!binary Yg==: '5', c: !!binary \"aG\\nk=\"}"),
            json!({"a": "hi", "b": "5", "c": "hi"})
        );
        assert!(parse_first_as_go("a: !!binary aG").is_err());
        assert_eq!(
            value("a: &a {x: 1, z: 2}\nb: {x: 0, <<: *a, z: 3}\n"),
            json!({"a": {"x": 1, "z": 2}, "b": {"x": 1, "z": 3}})
        );
        assert!(parse_first_as_go("a: &a [*a]").is_err() && parse_first_as_go("<<: 5").is_err());
        let bomb: String = (1..30).map(|n| format!("a{n}: &a{n} [*a{}, *a{}]\n", n - 1, n - 1)).collect();
        assert!(parse_first_as_go(&format!("a0: &a0 [x]\n{bomb}")).is_err());
    }

    #[test]
    fn number_keys_are_formatted_as_in_go() {
        let keys = "{1e-5: a, 0.0001: b, 123456.789: c, 1234567.8: d, 1e20: e, 1e100: f, -1e100: g, 1_000: h}";
        let wanted = ["1e-05", "0.0001", "123456.79", "1.2345678e+06", "1e+20", ".inf", "-.inf", "1000"];
        let read = value(keys);
        assert_eq!(read.as_object().unwrap().keys().collect::<Vec<_>>(), wanted);
        assert_eq!(value("a: &x 1e7\n*x : 2\n"), json!({"a": 10_000_000, "1e+07": 2}));
        assert!(parse_first_as_go("9223372036854775808: a").is_err());
        assert!(parse_first_as_go("a: &x 18446744073709551615\n*x : b").is_err());
    }

    #[test]
    fn an_exclamation_mark_alone_makes_text() {
        assert_eq!(value("[! , ! 5, ! ~, ! \"5\"]"), json!(["", "5", "~", "5"]));
        assert_eq!(value("! ~: 1"), json!({"~": 1}));
    }

    #[test]
    fn a_colon_or_dash_before_a_bracket_is_text() {
        assert_eq!(value("{a: x:, b: y:}"), json!({"a": "x:", "b": "y:"}));
        assert_eq!(value("[a:, it's:, 'q':, \"r\":]"), json!(["a:", "it's:", {"q": null}, {"r": null}]));
        assert_eq!(value("[-, b]"), json!(["-", "b"]));
        assert_eq!(value("{a: -, b: {c: -}}"), json!({"a": "-", "b": {"c": "-"}}));
        // The position is that of the text as written.
        let error = parse_first_as_go("a: {a: x:, b: *y}").unwrap_err();
        assert_eq!(error.location().unwrap().column, 15, "{error}");
    }

    #[test]
    fn tabs_where_a_node_may_begin_are_refused() {
        for text in [
            "-\ta",
            "a:\n- \tb: c",
            "- -\ta",
            "? \ta\n: b",
            "a: 1\n\t\nb: 2",
            "a:\n  b: [1]\n  \t\nc: 1",
            "a:\n  b: 1\n  \t\n  c: 2",
            "a:\n  - 1\n  \t\n",
            "a:\n  b: 1\n  # c\n   \t\n",
        ] {
            let error = parse_first_as_go(text).expect_err(text);
            assert!(error.location().is_some(), "{error}");
        }
        for text in [
            "a:\tb",
            "a: b\t# c",
            "a: {b:\t1,\n\tc: 2}",
            "a: |\n  -\tb\n",
            "a: 'x\n\t y'",
            "a: x\n  -\ty",
            "a:\n  b: 1\n   \t\n  c: 2",
            "---\ta",
        ] {
            assert!(parse_first_as_go(text).is_ok(), "{text}");
        }
        assert!(parse_first_as_go("a: 1\n---\n-\tb").is_ok());
    }

    #[test]
    fn names_of_anchors_are_letters_digits_and_dashes() {
        assert_eq!(value("a: &a-b_1 x\nb: *a-b_1"), json!({"a": "x", "b": "x"}));
        for text in ["a: &x: 1", "&x: 1", "a: &a.b 1", "a: &a 1\nb: &b.c *a"] {
            assert!(parse_first_as_go(text).is_err(), "{text}");
        }
        assert_eq!(
            value("a: x&y\nb: 'a &b.c'\nc: 0 * * *\n# &a.b"),
            json!({"a": "x&y", "b": "a &b.c", "c": "0 * * *"})
        );
    }

    #[test]
    fn escapes_of_json_that_yaml_1_1_does_not_know_are_refused() {
        for text in [r#"a: "\/""#, r#"{"a": "\uD83D\uDE00"}"#, r#"a: "\\\/""#, r#"a: "\ude00""#, "a: \"x\\/\n  y\""] {
            let error = parse_first_as_go(text).expect_err(text);
            assert_eq!(error.location().unwrap().line, 1, "{error}");
        }
        assert_eq!(
            value(r#"["\\/", '\/', "\ud7ff", \/, "it\'s", "\U0001F600"]"#),
            json!(["\\/", "\\/", "\u{d7ff}", "\\/", "it's", "😀"])
        );
        assert!(parse_first_as_go(r#"a: "\q\'""#).is_err());
    }

    #[test]
    fn brackets_may_hold_tabs_but_no_text_that_begins_like_a_key() {
        assert_eq!(value("a: {\n\t\"b\": [\n\t\t1,\n \t\"2\"\n\t]\n}\nc: d"), json!({"a": {"b": [1, "2"]}, "c": "d"}));
        for text in ["a: {\n\tb: c\n\t}", "a:\n\tb: c", "a: {b: c}\n\td: e", "\t\n"] {
            assert!(parse_first_as_go(text).is_err(), "{text:?}");
        }
        for text in ["[!]", "{a: !x}", "[!x,!y]", "[:8080]", "{a: :b}", "{a: ?b}"] {
            assert!(parse_first_as_go(text).is_err(), "{text}");
        }
        assert_eq!(
            value("a: :b\nc: ?d\ne: [a:b, ! , x?, {f: !x y}]"),
            json!({"a": ":b", "c": "?d", "e": ["a:b", "", "x?", {"f": "y"}]})
        );
    }

    #[test]
    fn a_comment_needs_no_blank_behind_quotes_and_brackets() {
        assert_eq!(value("a: \"b\"#c\nd: [e]#f\ng: {h: 'i'#j\n}"), json!({"a": "b", "d": ["e"], "g": {"h": "i"}}));
        assert_eq!(value("a: b#c"), json!({"a": "b#c"}));
    }

    #[test]
    fn only_directives_of_yaml_1_1_are_read() {
        assert_eq!(value("%YAML 1.1\n---\na: b"), json!({"a": "b"}));
        for text in ["%YAML 1.2\n---\na: b", "%FOO bar\n---\na: b", "# c\n%YAML 1.3\n---\na: b"] {
            assert!(parse_first_as_go(text).is_err(), "{text}");
        }
        assert!(parse_first_as_go("a: |\n  %YAML 1.2\n  x\n---\nb: c").is_ok());
    }

    #[test]
    fn a_next_line_character_is_a_line_feed() {
        assert_eq!(value("a: b\u{85}c: |\u{85}  d\u{85}\u{85}  e\n"), json!({"a": "b", "c": "d\n\ne\n"}));
        assert_eq!(value("a: 'x\u{85}  y'"), json!({"a": "x y"}));
    }

    #[test]
    fn json_has_the_numbers_of_go() {
        let read = parse_json_as_go(r#"{"a": [1.0, 1e3, 0.5, 18446744073709551615, -1], "a\/b": "\uD83D\uDE00"}"#);
        assert_eq!(Value::Object(read.unwrap()), json!({"a": [1, 1000, 0.5, 18446744073709551615.0, -1], "a/b": "😀"}));
        assert_eq!(parse_json_as_go("{a: b}"), None);
    }

    #[test]
    fn only_the_first_document_is_read() {
        assert_eq!(value("---\n# c\na: 1\n...\n{{{"), json!({"a": 1}));
        assert_eq!(parse_first_as_go("# nothing\n").unwrap(), None);
        assert!(parse_first_as_go("# c\n...\n").is_err() && parse_first_as_go("---\n...\n").is_ok());
        assert_eq!(value("a: |\n  x"), json!({"a": "x"}));
        assert_eq!(value("'a\u{2028}  b\u{85} c'"), json!("a\u{2028}b c"));
    }
}
