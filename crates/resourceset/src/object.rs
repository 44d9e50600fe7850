//! Rendered texts as objects, and the fields of an object that a build reads or changes.

use std::collections::BTreeMap;

use flux_operator_yaml::{GoDocument, parse_first_as_go, parse_json_as_go};
use serde_json::{Map, Value};

/// Label with the name of the owning ResourceSet.
pub(crate) const OWNER_NAME: &str = "resourceset.fluxcd.controlplane.io/name";
/// Label with the namespace of the owning ResourceSet.
pub(crate) const OWNER_NAMESPACE: &str = "resourceset.fluxcd.controlplane.io/namespace";
const RECONCILE: &str = "fluxcd.controlplane.io/reconcile";

/// Why a text is not an object.
#[derive(Debug)]
pub(crate) struct UnreadableObject {
    pub reason: String,
    /// Line of the whole text, from 1.
    pub line: Option<usize>,
}

/// Key of an object, without its version.
pub(crate) type ObjectKey = [String; 4];

/// A document of a text before it is read.
#[derive(Clone, Copy)]
pub(crate) struct SplitDocument<'t> {
    /// Number of lines of the text before it.
    pub lines_before: usize,
    /// The document as written.
    pub text: &'t str,
    /// Whether it belongs to a stream of JSON objects.
    pub is_json: bool,
}

/// The documents of a text.
pub(crate) struct SplitText<'t> {
    /// The documents in order.
    pub documents: Vec<SplitDocument<'t>>,
    /// Why the text after those documents cannot be split.
    pub unreadable: Option<UnreadableObject>,
}

/// Splits a text into documents as the Kubernetes libraries do.
///
/// A text that begins with `{` is read as a stream of JSON objects, which need no separators. Where a stream ends after
/// its first object, and for every other text, the documents are separated by lines before anything is parsed, so text
/// after `...` is ignored.
pub(crate) fn split_documents(text: &str) -> SplitText<'_> {
    let mut documents = Vec::new();
    let (mut lines, mut at) = (0, 0);
    if text.trim_start().starts_with('{') {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Map<String, Value>>();
        loop {
            match values.next() {
                None => return SplitText { documents, unreadable: None },
                Some(Ok(_)) => {
                    let value = text.get(at..values.byte_offset()).unwrap_or_default();
                    documents.push(SplitDocument { lines_before: lines, text: value.trim(), is_json: true });
                    lines += value.matches('\n').count();
                    at = values.byte_offset();
                }
                // Only a single object may be followed by YAML.
                Some(Err(error)) if documents.len() > 1 => {
                    let unreadable =
                        Some(UnreadableObject { reason: format!("json: {error}"), line: Some(error.line()) });
                    return SplitText { documents, unreadable };
                }
                Some(Err(_)) => break,
            }
        }
    }
    let mut rest = text.get(at..).unwrap_or_default();
    // Skip the rest of the object's line, because a separator is recognised only at the start of a line.
    if let Some((blank, behind)) = rest.split_once('\n')
        && !documents.is_empty()
        && blank.trim().is_empty()
    {
        (rest, lines) = (behind, lines + 1);
    }
    let unreadable = split_at_lines(rest, lines, &mut documents).err();
    SplitText { documents, unreadable }
}

fn split_at_lines<'t>(
    text: &'t str,
    lines_before: usize,
    documents: &mut Vec<SplitDocument<'t>>,
) -> Result<(), UnreadableObject> {
    let (mut start, mut first_line, mut at) = (0, lines_before, 0);
    let mut push = |from: usize, to: usize, lines_before: usize| {
        if let Some(text) = text.get(from..to).filter(|document| !document.is_empty()) {
            documents.push(SplitDocument { lines_before, text, is_json: false });
        }
    };
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let next = at + line.len();
        if let Some(rest) = line.strip_prefix("---").map(str::trim) {
            // The Kubernetes libraries split lines before they parse, so they refuse `--- a: b` and `----`.
            if !rest.is_empty() && !rest.starts_with('#') {
                let reason = format!("invalid Yaml document separator: {rest}");
                return Err(UnreadableObject { reason, line: Some(lines_before + number + 1) });
            }
            // Without a document before it, the line is part of the next document, whose parser refuses `---#`.
            if at > start {
                push(start, at, first_line);
                (start, first_line) = (next, lines_before + number + 1);
            }
        }
        at = next;
    }
    push(start, at, first_line);
    Ok(())
}

/// Reads the object of a document; `None` when the document is empty, null or only a comment.
pub(crate) fn read_object(document: &SplitDocument<'_>) -> Result<Option<Map<String, Value>>, UnreadableObject> {
    let SplitDocument { lines_before, text, is_json } = *document;
    let fields = match is_json {
        true => parse_json_as_go(text),
        false => read_yaml(lines_before, text)?,
    };
    let Some(fields) = fields else { return Ok(None) };
    // Go loses the kind of an object whose API version has more than two parts.
    let has_kind = !kind(&fields).is_empty() && api_version(&fields).matches('/').count() < 2;
    if has_kind {
        return Ok(Some(fields));
    }
    let reason = match is_json {
        true => format!("Object 'Kind' is missing in '{text}'"),
        false => format!(
            "error unmarshaling JSON: while decoding JSON: Object 'Kind' is missing in '{}'",
            Value::Object(fields)
        ),
    };
    Err(UnreadableObject { reason, line: Some(lines_before + 1) })
}

fn read_yaml(lines_before: usize, text: &str) -> Result<Option<Map<String, Value>>, UnreadableObject> {
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
        UnreadableObject {
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
            Err(UnreadableObject {
                reason: format!(
                    "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {kind} into Go value of type \
                     map[string]interface {{}}"
                ),
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

pub(crate) fn api_version(fields: &Map<String, Value>) -> &str {
    text(fields, "apiVersion")
}

pub(crate) fn kind(fields: &Map<String, Value>) -> &str {
    text(fields, "kind")
}

pub(crate) fn name(fields: &Map<String, Value>) -> &str {
    metadata_text(fields, "name")
}

pub(crate) fn key(fields: &Map<String, Value>) -> ObjectKey {
    let group = api_version(fields).rsplit_once('/').map_or("", |(group, _)| group);
    [group, kind(fields), metadata_text(fields, "namespace"), name(fields)].map(str::to_owned)
}

/// `Kind/namespace/name`, or `Kind/name` without a namespace.
pub(crate) fn described(key: &ObjectKey) -> String {
    let [_, kind, namespace, name] = key;
    if namespace.is_empty() { format!("{kind}/{name}") } else { format!("{kind}/{namespace}/{name}") }
}

/// Returns the items of a List; `None` for any other object.
pub(crate) fn items(fields: &Map<String, Value>) -> Option<&Vec<Value>> {
    kind(fields).ends_with("List").then(|| fields.get("items")).flatten()?.as_array()
}

/// Whether this is kustomize's configuration file, which API servers do not know.
pub(crate) fn is_kustomize_file(fields: &Map<String, Value>) -> bool {
    kind(fields).eq_ignore_ascii_case("Kustomization") && api_version(fields).starts_with("kustomize.config.k8s.io/")
}

/// Reads labels or annotations. As in Go, a single value that is not text discards all of them, and null becomes the
/// empty text.
pub(crate) fn text_fields(fields: &Map<String, Value>, name: &str) -> Result<BTreeMap<String, String>, String> {
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
pub(crate) fn set_text_fields(fields: &mut Map<String, Value>, name: &str, texts: BTreeMap<String, String>) {
    let metadata = fields.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(metadata) = metadata {
        let texts = texts.into_iter().map(|(key, text)| (key, Value::String(text))).collect();
        metadata.insert(name.to_owned(), Value::Object(texts));
    }
}

/// Whether an annotation excludes the object from the build.
pub(crate) fn is_excluded(fields: &Map<String, Value>) -> bool {
    // Exactly this value: only the suspension of a ResourceSet takes any case.
    text_fields(fields, "annotations").is_ok_and(|texts| texts.get(RECONCILE).is_some_and(|value| value == "disabled"))
}
