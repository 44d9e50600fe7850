//! Rendered texts as objects, and the fields of an object that a build reads or changes.

use std::collections::BTreeMap;

use flux_operator_yaml::{GoDocument, parse_first_as_go};
use serde_json::{Map, Value};

/// Label with the name of the owning ResourceSet.
pub const OWNER_NAME: &str = "resourceset.fluxcd.controlplane.io/name";
/// Label with the namespace of the owning ResourceSet.
pub const OWNER_NAMESPACE: &str = "resourceset.fluxcd.controlplane.io/namespace";
const RECONCILE: &str = "fluxcd.controlplane.io/reconcile";

/// Why a text is not an object.
#[derive(Debug)]
pub struct Unreadable {
    pub reason: String,
    /// Line of the whole text, from 1.
    pub line: Option<usize>,
}

/// Key of an object, without its version.
pub type ObjectKey = [String; 4];

/// The documents of a text.
pub struct SplitText<'t> {
    /// Each document with the number of lines before it.
    pub documents: Vec<(usize, &'t str)>,
    /// Why the document after those cannot be read: it contains a line that begins like a separator.
    pub bad_separator: Option<Unreadable>,
}

/// Splits a text into documents.
///
/// The separators are found before anything is parsed, as in the Kubernetes libraries, so text after `...` is ignored.
/// JSON documents need no separators.
pub fn split_documents(text: &str) -> SplitText<'_> {
    let SplitText { documents, bad_separator } = split_at_lines(text);
    let documents = documents.into_iter().flat_map(|(lines, document)| split_json(lines, document)).collect();
    SplitText { documents, bad_separator }
}

fn split_json(lines: usize, text: &str) -> Vec<(usize, &str)> {
    let mut documents = Vec::new();
    if text.trim_start().starts_with('{') {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        let mut start = 0;
        while let Some(value) = values.next() {
            let end = values.byte_offset();
            // Not a stream of JSON after all: the YAML reader says what is wrong with it.
            let (Ok(_), Some(document)) = (value, text.get(start..end)) else { return vec![(lines, text)] };
            let before = text.get(..start).unwrap_or_default().matches('\n').count();
            documents.push((lines + before, document));
            start = end;
        }
    }
    if documents.is_empty() { vec![(lines, text)] } else { documents }
}

fn split_at_lines(text: &str) -> SplitText<'_> {
    let mut documents = Vec::new();
    let (mut start, mut first_line, mut at) = (0, 0, 0);
    let mut push = |from: usize, to: usize, line: usize| {
        if let Some(document) = text.get(from..to).filter(|document| !document.is_empty()) {
            documents.push((line, document));
        }
    };
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let next = at + line.len();
        if let Some(rest) = line.strip_prefix("---").map(str::trim) {
            // The Kubernetes libraries split lines before they parse, so they refuse `--- a: b` and `----`.
            if !rest.is_empty() && !rest.starts_with('#') {
                let reason = format!("invalid Yaml document separator: {rest}");
                let bad_separator = Some(Unreadable { reason, line: Some(number + 1) });
                return SplitText { documents, bad_separator };
            }
            push(start, at, first_line);
            (start, first_line) = (next, number + 1);
        }
        at = next;
    }
    push(start, at, first_line);
    SplitText { documents, bad_separator: None }
}

/// Reads one document; `None` when it is empty, null or only a comment.
pub fn read_document(lines_before: usize, text: &str) -> Result<Option<Map<String, Value>>, Unreadable> {
    // The Kubernetes libraries end every line with a line break, which a block scalar at the end then has, too.
    let ended;
    let text = match text.ends_with('\n') {
        true => text,
        false => {
            ended = format!("{text}\n");
            &ended
        }
    };
    let document = parse_first_as_go(text).map_err(|error| {
        let line = error.location().map(|location| location.line as usize);
        let place = line.map(|line| format!("line {line}: ")).unwrap_or_default();
        // The position is at the end of the error.
        let text = error.to_string();
        let message = text.split(" at line ").next().unwrap_or_default();
        Unreadable {
            reason: format!("error converting YAML to JSON: yaml: {place}{message}"),
            line: line.map(|line| line + lines_before),
        }
    })?;
    match document.map(|GoDocument { value, .. }| value) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(fields)) => Ok(Some(fields)),
        Some(other) => {
            let kind = match other {
                Value::Array(_) => "array",
                Value::Bool(_) => "bool",
                Value::Number(_) => "number",
                _ => "string",
            };
            Err(Unreadable {
                reason: format!(
                    "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {kind} into Go value of type \
                     map[string]interface {{}}"
                ),
                line: Some(lines_before + 1),
            })
        }
    }
}

/// Refuses an object without a kind.
pub fn with_kind(lines_before: usize, fields: Map<String, Value>) -> Result<Map<String, Value>, Unreadable> {
    match fields.get("kind") {
        Some(Value::String(kind)) if !kind.is_empty() => Ok(fields),
        _ => {
            let json = Value::Object(fields).to_string();
            // The reference has a shorter text for an empty object.
            let prefix = if json == "{}" { "" } else { "error unmarshaling JSON: while decoding JSON: " };
            Err(Unreadable {
                reason: format!("{prefix}Object 'Kind' is missing in '{json}'"),
                line: Some(lines_before + 1),
            })
        }
    }
}

fn text<'o>(fields: &'o Map<String, Value>, name: &str) -> &'o str {
    fields.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn metadata_text<'o>(fields: &'o Map<String, Value>, name: &str) -> &'o str {
    fields.get("metadata").and_then(|metadata| metadata.get(name)).and_then(Value::as_str).unwrap_or_default()
}

pub fn api_version(fields: &Map<String, Value>) -> &str {
    text(fields, "apiVersion")
}

pub fn kind(fields: &Map<String, Value>) -> &str {
    text(fields, "kind")
}

pub fn name(fields: &Map<String, Value>) -> &str {
    metadata_text(fields, "name")
}

pub fn key(fields: &Map<String, Value>) -> ObjectKey {
    let group = api_version(fields).rsplit_once('/').map_or("", |(group, _)| group);
    [group, kind(fields), metadata_text(fields, "namespace"), name(fields)].map(str::to_owned)
}

/// `Kind/namespace/name`, or `Kind/name` without a namespace.
pub fn described(key: &ObjectKey) -> String {
    let [_, kind, namespace, name] = key;
    if namespace.is_empty() { format!("{kind}/{name}") } else { format!("{kind}/{namespace}/{name}") }
}

/// Returns the items of a List; `None` for any other object.
pub fn items(fields: &Map<String, Value>) -> Option<&Vec<Value>> {
    kind(fields).ends_with("List").then(|| fields.get("items")).flatten()?.as_array()
}

/// Whether this is kustomize's configuration file, which API servers do not know.
pub fn is_kustomize_file(fields: &Map<String, Value>) -> bool {
    kind(fields).eq_ignore_ascii_case("Kustomization") && api_version(fields).starts_with("kustomize.config.k8s.io/")
}

/// Reads labels or annotations. As in Go, a single value that is not text discards all of them, and null becomes the
/// empty text.
pub fn text_fields(fields: &Map<String, Value>, name: &str) -> Result<BTreeMap<String, String>, String> {
    match fields.get("metadata").and_then(|metadata| metadata.get(name)) {
        None | Some(Value::Null) => Ok(BTreeMap::new()),
        Some(Value::Object(texts)) => texts
            .iter()
            .map(|(key, value)| match value {
                Value::String(text) => Ok((key.clone(), text.clone())),
                Value::Null => Ok((key.clone(), String::new())),
                _ => Err(key.clone()),
            })
            .collect(),
        Some(_) => Err(name.to_owned()),
    }
}

/// Replaces labels or annotations. Does nothing if `metadata` is not an object.
pub fn set_text_fields(fields: &mut Map<String, Value>, name: &str, texts: BTreeMap<String, String>) {
    let metadata = fields.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(metadata) = metadata {
        let texts = texts.into_iter().map(|(key, text)| (key, Value::String(text))).collect();
        metadata.insert(name.to_owned(), Value::Object(texts));
    }
}

/// Whether an annotation excludes the object from the build.
pub fn is_excluded(fields: &Map<String, Value>) -> bool {
    // Exactly this value: only the suspension of a ResourceSet takes any case.
    text_fields(fields, "annotations").is_ok_and(|texts| texts.get(RECONCILE).is_some_and(|value| value == "disabled"))
}
