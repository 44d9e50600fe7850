//! YAML reader and writer for every manifest.
//!
//! Values are [`serde_json::Value`] with key order kept. Reading follows `kubectl`: YAML 1.1 booleans, octal numbers
//! with a leading zero (`defaultMode: 0644` is 420), merge keys. Writing quotes every text that a YAML 1.1 reader could
//! take for another type.
//!
//! Input is untrusted: its size, nesting, and the growth of aliases are limited before a value exists.
//!
//! Pure: no file is opened here; [`read`] takes any reader.
#![warn(unreachable_pub)]

use std::io::Read;

use serde::Serialize;
use serde_json::{Number, Value};

mod go;
mod mend;
mod positions;
mod simple;
mod strict;

pub use go::{GoDocument, KeyCause, KeyNote, parse_first_as_go, parse_json_as_go};
use mend::MendedText;
pub use positions::{Positions, parse_positions};

/// Largest text that is parsed, in bytes (16 MiB).
///
/// etcd refuses objects over 1.5 MiB, so this has room for several of the largest; a larger text is a mistake.
pub const MAX_INPUT_BYTES: usize = 16 * 1024 * 1024;

/// Deepest nesting of mappings and sequences that is parsed.
pub const MAX_DEPTH: usize = 128;

/// Maximum number of mappings, lists, scalars and documents in a text.
///
/// The library's own limits refuse lists of about 40,000 small mappings, which `kubectl get -o yaml` of a large cluster
/// easily prints. [`MAX_INPUT_BYTES`] keeps larger numbers harmless.
const MAX_NODES: usize = 2_000_000;
const MAX_DOCUMENTS: usize = 100_000;

/// Position of a node in a text; both numbers count from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    pub line: u64,
    pub column: u64,
}

impl std::fmt::Display for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// Why a text cannot be read as YAML or a value cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum YamlError {
    /// The text is longer than [`MAX_INPUT_BYTES`].
    #[error("the text is larger than the {} MiB that are allowed", MAX_INPUT_BYTES / 1024 / 1024)]
    TooLarge,
    /// The bytes are not UTF-8.
    #[error("the text is not valid UTF-8 (first bad byte in line {line})")]
    NotUtf8 { line: usize },
    /// The bytes begin like UTF-16, but they are not valid UTF-16.
    #[error("the text begins with a byte order mark of UTF-16, but it is not valid UTF-16")]
    NotUtf16,
    /// The text contains a NUL, which YAML does not allow.
    #[error("the text contains a NUL byte at {0}")]
    NulByte(Location),
    /// The reader failed.
    #[error("cannot read the text")]
    Read(#[source] std::io::Error),
    /// The text is not YAML, or exceeds one of the limits.
    #[error("{message}{}", at(.location))]
    Syntax { message: String, location: Option<Location> },
    /// The text must have exactly one document.
    #[error("expected one YAML document, found {found}")]
    NotOneDocument { found: usize },
    /// The value has no YAML form.
    #[error("cannot write the value as YAML: {0}")]
    Write(String),
}

impl YamlError {
    /// Returns the position of the problem in the text, if it has one.
    pub fn location(&self) -> Option<Location> {
        match self {
            YamlError::NulByte(location) => Some(*location),
            YamlError::Syntax { location, .. } => *location,
            YamlError::NotUtf8 { line } => Some(Location { line: *line as u64, column: 1 }),
            _ => None,
        }
    }

    fn map_location(mut self, map: impl Fn(Location) -> Location) -> Self {
        if let YamlError::Syntax { location: Some(location), .. } = &mut self {
            *location = map(*location);
        }
        self
    }
}

fn at(location: &Option<Location>) -> String {
    location.map(|l| format!(" at {l}")).unwrap_or_default()
}

/// Reads a whole text, and stops as soon as it is longer than [`MAX_INPUT_BYTES`].
///
/// # Errors
/// [`YamlError::TooLarge`], [`YamlError::Read`] and those of [`decode`].
pub fn read(reader: impl Read) -> Result<String, YamlError> {
    let mut bytes = Vec::new();
    reader.take(MAX_INPUT_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(YamlError::Read)?;
    if bytes.len() > MAX_INPUT_BYTES {
        return Err(YamlError::TooLarge);
    }
    decode(bytes)
}

/// Decodes a text as Go's YAML and kubectl do: UTF-8, or UTF-16 with a byte order mark, which Windows PowerShell writes
/// with `>`.
///
/// # Errors
/// [`YamlError::NotUtf8`] and [`YamlError::NotUtf16`].
pub fn decode(bytes: Vec<u8>) -> Result<String, YamlError> {
    let utf_16 = |order: fn([u8; 2]) -> u16| {
        let (units, rest) = bytes.get(2..).unwrap_or_default().as_chunks();
        let units: Vec<u16> = units.iter().map(|unit| order(*unit)).collect();
        String::from_utf16(&units).ok().filter(|_| rest.is_empty()).ok_or(YamlError::NotUtf16)
    };
    match bytes.as_slice() {
        [0xFF, 0xFE, ..] => utf_16(u16::from_le_bytes),
        [0xFE, 0xFF, ..] => utf_16(u16::from_be_bytes),
        _ => String::from_utf8(bytes).map_err(|error| {
            let valid = error.utf8_error().valid_up_to();
            let line = error.as_bytes().iter().take(valid).filter(|byte| **byte == b'\n').count() + 1;
            YamlError::NotUtf8 { line }
        }),
    }
}

/// Parses every document of a text; documents that are empty or have only comments are skipped.
///
/// Plain scalars have the types that `kubectl` gives them: `on`, `yes`, `y` and similar words are booleans, `0644` is
/// the octal number 420, `1.0` is the integer 1. Merge keys are expanded; the mapping's own keys take precedence.
///
/// # Errors
/// A syntax error, a duplicate key, an unknown alias, a number that JSON cannot represent (`.inf`), a text over
/// [`MAX_INPUT_BYTES`], nesting over [`MAX_DEPTH`], or excessive growth of aliases.
pub fn parse_documents(text: &str) -> Result<Vec<Value>, YamlError> {
    parse(text, false)
}

/// Parses every document of a patch as kustomize does.
///
/// kustomize reads partial objects with the YAML 1.2 rules for booleans, so that a key or value `y` or `on` is text,
/// and reads the list of a JSON patch like [`parse_documents`]. It trims the text first, so that a block scalar at its
/// end has no final line break.
///
/// # Errors
/// Those of [`parse_documents`].
pub fn parse_patch_documents(text: &str) -> Result<Vec<Value>, YamlError> {
    let text = text.trim_end();
    let mut documents = parse(text, true)?;
    // A JSON patch is the one patch that is a list.
    if matches!(documents.as_slice(), [Value::Array(_)]) {
        documents = parse(text, false)?;
    }
    // The library adds a line break that the text does not have.
    if text.contains(['|', '>'])
        && let Some(pointer) = parse_positions(text).last().and_then(Positions::unfinished_block)
        && let Some(Value::String(block)) = documents.last_mut().and_then(|document| document.pointer_mut(&pointer))
        && block.ends_with('\n')
    {
        block.pop();
    }
    Ok(documents)
}

/// Parses every document of a kubeconfig: like [`parse_documents`], but the last of two equal keys counts, as in
/// kubectl.
///
/// # Errors
/// Those of [`parse_documents`], except for duplicate keys.
pub fn parse_kubeconfig_documents(text: &str) -> Result<Vec<Value>, YamlError> {
    let mut options = options(false);
    options.duplicate_keys = serde_saphyr::DuplicateKeyPolicy::LastWins;
    parse_with_options(checked(text)?, options)
}

/// Parses a text with exactly one non-empty document.
///
/// # Errors
/// Those of [`parse_documents`], and [`YamlError::NotOneDocument`].
pub fn parse_one(text: &str) -> Result<Value, YamlError> {
    let mut documents = parse_documents(text)?;
    match (documents.pop(), documents.len()) {
        (Some(document), 0) => Ok(document),
        (None, _) => Err(YamlError::NotOneDocument { found: 0 }),
        (Some(_), rest) => Err(YamlError::NotOneDocument { found: rest + 1 }),
    }
}

fn parse(text: &str, strict_booleans: bool) -> Result<Vec<Value>, YamlError> {
    let text = checked(text)?;
    let read = |text: &str| match simple::parse(text, strict_booleans) {
        Some(documents) => Ok(documents),
        None => parse_with_library(text, strict_booleans),
    };
    read(text).or_else(|error| match MendedText::of(text) {
        Some(mended) => read(&mended.text).map_err(|error| error.map_location(|location| mended.written(location))),
        None => Err(error),
    })
}

/// Returns the results of both readers of a text, where both apply, so that fuzzing can compare them.
#[doc(hidden)]
pub fn parse_both(text: &str, strict_booleans: bool) -> Option<Result<[Vec<Value>; 2], YamlError>> {
    let text = checked(text).ok()?;
    let simple = simple::parse(text, strict_booleans)?;
    Some(parse_with_library(text, strict_booleans).map(|library| [simple, library]))
}

fn parse_with_library(text: &str, strict_booleans: bool) -> Result<Vec<Value>, YamlError> {
    parse_with_options(text, options(strict_booleans))
}

fn parse_with_options(text: &str, options: serde_saphyr::Options) -> Result<Vec<Value>, YamlError> {
    let mut documents: Vec<Value> = serde_saphyr::from_multiple_with_options(text, options)
        .or_else(|error| json_documents(text, &error).ok_or(error))
        .map_err(syntax_error)?;
    documents.iter_mut().for_each(whole_floats_to_integers);
    Ok(documents)
}

/// Reads JSON that is not YAML, as `kubectl` does: several objects in a row, keys longer than 1,024 characters, a raw
/// DEL. Returns `None` where the error is about input that no reader may accept.
fn json_documents(text: &str, error: &serde_saphyr::Error) -> Option<Vec<Value>> {
    use serde_saphyr::Error::{AliasReplayLimitExceeded, AliasReplayStackDepthExceeded, Budget, DuplicateMappingKey};
    let is_kept = matches!(
        error.without_snippet(),
        Budget { .. }
            | AliasReplayLimitExceeded { .. }
            | AliasReplayStackDepthExceeded { .. }
            | DuplicateMappingKey { .. }
    );
    if is_kept || !text.trim_start().starts_with('{') {
        return None;
    }
    serde_json::Deserializer::from_str(text).into_iter().collect::<Result<_, _>>().ok()
}

/// Applies the limits that precede parsing, and drops a byte order mark.
fn checked(text: &str) -> Result<&str, YamlError> {
    if text.len() > MAX_INPUT_BYTES {
        return Err(YamlError::TooLarge);
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Some((before, _)) = text.split_once('\0') {
        let line = before.matches('\n').count() as u64 + 1;
        let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count()) as u64 + 1;
        return Err(YamlError::NulByte(Location { line, column }));
    }
    Ok(text)
}

fn options(strict_booleans: bool) -> serde_saphyr::Options {
    serde_saphyr::options! {
        legacy_octal_numbers: true,
        strict_booleans: strict_booleans,
        with_snippet: false,
        // Comments would count against a limit of 96 in a row, and a licence header may be longer.
        emit_comments: false,
        budget: serde_saphyr::budget! {
            max_nodes: MAX_NODES,
            max_events: 8_000_000,
            max_depth: MAX_DEPTH,
            max_total_scalar_bytes: MAX_INPUT_BYTES,
            max_documents: MAX_DOCUMENTS,
            // The values of a chart may use one anchor a hundred times; copies by aliases have their own limits.
            enforce_alias_anchor_ratio: false,
            // Limit for nodes copied by aliases; manifests written by hand copy a few dozen.
            max_recorded_anchor_events: 200_000,
            max_recorded_anchor_bytes: MAX_INPUT_BYTES,
        },
    }
}

fn syntax_error(error: serde_saphyr::Error) -> YamlError {
    let location = error
        .location()
        .filter(|location| location.line() > 0)
        .map(|location| Location { line: location.line(), column: location.column() });
    YamlError::Syntax { message: describe(error.without_snippet()), location }
}

/// Describes an error for the user: without its position, which is stored separately, and without advice for
/// programmers.
fn describe(error: &serde_saphyr::Error) -> String {
    use serde_saphyr::Error;
    use serde_saphyr::budget::BudgetBreach;
    match error {
        Error::DuplicateMappingKey { key: Some(key), .. } => format!("duplicate key {key:?}"),
        Error::DuplicateMappingKey { key: None, .. } => "duplicate key".into(),
        Error::NonFiniteFloat { value, .. } => format!("{value} is not a number that a manifest can hold"),
        Error::UnknownAnchor { .. } => "the alias names an anchor that is not defined before it".into(),
        Error::RecursiveReferencesRequireWeakTypes { .. } => "the alias refers to a node that contains it".into(),
        Error::NullIntoString { .. } => "a key must be text, not null".into(),
        Error::Unexpected { expected: "string scalar", .. } => {
            "a key must be text, not a mapping or a list (templates like {{ … }} need quotes)".into()
        }
        Error::Budget { breach: BudgetBreach::Depth { .. }, .. } => {
            format!("nesting is deeper than the {MAX_DEPTH} levels that are read at most")
        }
        Error::Budget { .. } | Error::AliasReplayLimitExceeded { .. } | Error::AliasReplayStackDepthExceeded { .. } => {
            "the document is larger than the limit (aliases, keys or documents)".into()
        }
        Error::AliasError { error, .. } => describe(error.without_snippet()),
        other => {
            // The library appends the position to its message once or twice.
            let text = other.to_string();
            text.split(" at line ").next().unwrap_or_default().split(" (defined at").next().unwrap_or_default().into()
        }
    }
}

/// Turns `1.0` and `1e3` into integers, as in the JSON that `kubectl` sends.
fn whole_floats_to_integers(value: &mut Value) {
    // Beyond 2^53 a float is ambiguous as an integer.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) if number.is_f64() => {
            if let Some(float) = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < EXACT) {
                *number = Number::from(float as i64);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(whole_floats_to_integers),
        Value::Object(fields) => fields.values_mut().for_each(whole_floats_to_integers),
        _ => {}
    }
}

/// Writes one document without `---`, keys in order, with a final line break.
///
/// # Errors
/// [`YamlError::Write`] when the value has no JSON form, for example a map with keys that are not text.
pub fn to_string(value: &impl Serialize) -> Result<String, YamlError> {
    let value = serde_json::to_value(value).map_err(|error| YamlError::Write(error.to_string()))?;
    write_value(&value)
}

/// Writes a stream of documents, each after a `---` line.
///
/// # Errors
/// Those of [`to_string`].
pub fn document_stream(values: &[Value]) -> Result<String, YamlError> {
    let mut stream = String::new();
    for value in values {
        stream.push_str("---\n");
        stream.push_str(&write_value(value)?);
    }
    Ok(stream)
}

fn write_value(value: &Value) -> Result<String, YamlError> {
    let options = serde_saphyr::ser_options! {
        // Do not fold long lines, because that changes what a diff shows.
        min_fold_chars: usize::MAX,
        folded_wrap_chars: usize::MAX,
        prefer_block_scalars: !has_tab_led_text(value),
    };
    let mut text =
        serde_saphyr::to_string_with_options(value, options).map_err(|error| YamlError::Write(error.to_string()))?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

/// Whether a multi-line text starts with a tab: libyaml and go-yaml cannot read it as a `|` block.
fn has_tab_led_text(value: &Value) -> bool {
    let tab_led = |text: &str| text.contains('\n') && text.trim_start_matches('\n').starts_with('\t');
    match value {
        Value::String(text) => tab_led(text),
        Value::Array(items) => items.iter().any(has_tab_led_text),
        Value::Object(fields) => fields.iter().any(|(key, value)| tab_led(key) || has_tab_led_text(value)),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
