//! Reads what others wrote down: `kubectl cluster-info dump` folders, `kubectl get -o json|yaml` lists, streams of both.

use std::path::{Path, PathBuf};

use serde_json::Value;
use thiserror::Error;

use super::snapshot;
use super::snapshot::Snapshot;
use crate::format::yaml;

/// No dump file is read beyond this; a whole cluster of tens of thousands of objects stays below it.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// Why a dump was not read.
#[derive(Debug, Error)]
pub enum DumpError {
    #[error("cannot read {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("{} is larger than 1 GiB", .0.display())]
    TooLarge(PathBuf),
    #[error("cannot understand {origin}")]
    Yaml {
        origin: String,
        #[source]
        source: yaml::YamlError,
    },
    #[error("cannot understand {origin}")]
    Json {
        origin: String,
        #[source]
        source: serde_json::Error,
    },
    #[error("no Kubernetes object in {0}")]
    Empty(String),
}

/// Reads one file, or every `.json`, `.yaml`, `.yml` and `logs.txt` below a folder. Symbolic links are not followed.
///
/// # Errors
/// When a file cannot be read or understood, or when nothing in it is a Kubernetes object or list.
pub fn read(path: &Path) -> Result<Snapshot, DumpError> {
    let read_error = |path: &Path| {
        let path = path.to_owned();
        move |source| DumpError::Read { path, source }
    };
    let mut snapshot = Snapshot::of_dump([]);
    let mut found = false;
    let mut waiting = vec![path.to_owned()];
    while let Some(path) = waiting.pop() {
        let metadata = std::fs::metadata(&path).map_err(read_error(&path))?;
        if metadata.is_dir() {
            for entry in std::fs::read_dir(&path).map_err(read_error(&path))? {
                let entry = entry.map_err(read_error(&path))?;
                let kind = entry.file_type().map_err(read_error(&entry.path()))?;
                if kind.is_dir() || (kind.is_file() && is_dump_file(&entry.path())) {
                    waiting.push(entry.path());
                }
            }
            continue;
        }
        if metadata.len() > MAX_FILE_BYTES {
            return Err(DumpError::TooLarge(path));
        }
        let bytes = std::fs::read(&path).map_err(read_error(&path))?;
        found |= add_text(&mut snapshot, &String::from_utf8_lossy(&bytes), &path.display().to_string())?;
    }
    if found { Ok(snapshot) } else { Err(DumpError::Empty(path.display().to_string())) }
}

/// Reads one text, for example standard input; `origin` names it in errors.
///
/// # Errors
/// As [`read`].
pub fn read_text(text: &str, origin: &str) -> Result<Snapshot, DumpError> {
    let mut snapshot = Snapshot::of_dump([]);
    if add_text(&mut snapshot, text, origin)? { Ok(snapshot) } else { Err(DumpError::Empty(origin.into())) }
}

fn is_dump_file(path: &Path) -> bool {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
    matches!(extension, "json" | "yaml" | "yml") || path.file_name().is_some_and(|n| n == "logs.txt")
}

const START: &str = "==== START logs for container ";
const END: &str = "==== END logs for container ";

/// Adds the objects and logs of one text. Returns whether there was any.
fn add_text(snapshot: &mut Snapshot, text: &str, origin: &str) -> Result<bool, DumpError> {
    let mut found = false;
    let mut rest = text;
    // `kubectl cluster-info dump` to stdout is JSON documents and logs in turn; its logs.txt files are logs alone.
    while let Some(start) = find_line(rest, START) {
        let (documents, log) = rest.split_at(start);
        found |= add_documents(snapshot, documents, origin)?;
        let (header, body) = log.split_once('\n').unwrap_or((log, ""));
        let end = find_line(body, END).unwrap_or(body.len());
        let (lines, tail) = body.split_at(end);
        if let Some((container, namespace, pod)) = log_header(header) {
            let lines = lines.lines().map(str::to_owned).collect();
            snapshot.insert_log(namespace, pod, container, false, lines);
            found = true;
        }
        rest = tail.split_once('\n').map_or("", |(_, rest)| rest);
    }
    Ok(found | add_documents(snapshot, rest, origin)?)
}

fn find_line(text: &str, prefix: &str) -> Option<usize> {
    if text.starts_with(prefix) {
        return Some(0);
    }
    text.find(&format!("\n{prefix}")).map(|at| at + 1)
}

/// `==== START logs for container NAME of pod NAMESPACE/POD ====`
fn log_header(line: &str) -> Option<(&str, &str, &str)> {
    let (container, pod) = line.strip_prefix(START)?.trim_end().strip_suffix(" ====")?.split_once(" of pod ")?;
    let (namespace, pod) = pod.split_once('/')?;
    Some((container, namespace, pod))
}

fn add_documents(snapshot: &mut Snapshot, text: &str, origin: &str) -> Result<bool, DumpError> {
    let mut found = false;
    if text.trim_start().starts_with(['{', '[']) {
        for document in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
            let document = document.map_err(|source| DumpError::Json { origin: origin.into(), source })?;
            found |= add_document(snapshot, document);
        }
    } else {
        let documents =
            yaml::parse_documents(text).map_err(|source| DumpError::Yaml { origin: origin.into(), source })?;
        for document in documents {
            found |= add_document(snapshot, document);
        }
    }
    Ok(found)
}

/// Adds an object or a list of them. Items of typed lists carry no kind of their own; the list's name says it.
fn add_document(snapshot: &mut Snapshot, mut document: Value) -> bool {
    if document.get("gitVersion").is_some() && document.get("kind").is_none() {
        snapshot.insert_version(document);
        return true;
    }
    // What `kubectl version -o json` prints.
    if let Some(version) = document.get("serverVersion").filter(|v| v.get("gitVersion").is_some()) {
        snapshot.insert_version(version.clone());
        return true;
    }
    let kind = document.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
    let api_version = document.get("apiVersion").and_then(Value::as_str).unwrap_or_default().to_owned();
    let items = document.get_mut("items").and_then(Value::as_array_mut).map(std::mem::take);
    match items {
        Some(items) if kind.ends_with("List") => {
            let item_kind = kind.trim_end_matches("List").to_owned();
            if !item_kind.is_empty() {
                snapshot.insert_empty_list(api_version.split_once('/').map_or("", |(group, _)| group), &item_kind);
            }
            for mut item in items {
                if let Some(fields) = item.as_object_mut() {
                    if !item_kind.is_empty() && !fields.contains_key("kind") {
                        fields.insert("kind".into(), item_kind.clone().into());
                        fields.insert("apiVersion".into(), api_version.clone().into());
                    }
                    add_document(snapshot, item);
                }
            }
            true
        }
        _ if !kind.is_empty() && !crate::inspect::object::name(&document).is_empty() => {
            snapshot::trim(&mut document);
            snapshot.insert(document);
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::kinds::{DEPLOYMENT, POD};

    #[test]
    fn typed_lists_give_their_items_a_kind_and_empty_ones_are_known() {
        let text = r#"{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"p","namespace":"a"}}]}
            {"kind":"DeploymentList","apiVersion":"apps/v1","items":[]}"#;
        let snapshot = read_text(text, "test").unwrap();
        assert_eq!(snapshot.list(&POD, None).len(), 1);
        assert!(snapshot.knows(&DEPLOYMENT));
        assert!(snapshot.list(&DEPLOYMENT, None).is_empty());
    }

    #[test]
    fn yaml_lists_and_documents_are_read() {
        let text = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: p, namespace: a}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: q, namespace: a}\n";
        assert_eq!(read_text(text, "test").unwrap().list(&POD, Some("a")).len(), 2);
    }

    #[test]
    fn logs_between_documents_are_kept_by_container() {
        let text = "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"items\":[]}\n==== START logs for container manager of pod a/p ====\none\ntwo\n==== END logs for container manager of pod a/p ====\n{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"p\",\"namespace\":\"a\"}}\n";
        let snapshot = read_text(text, "test").unwrap();
        assert_eq!(snapshot.log("a", "p", "manager", false).unwrap(), ["one", "two"]);
        assert!(snapshot.get(&POD, Some("a"), "p").is_some());
    }

    #[test]
    fn a_folder_is_read_whole_and_nonsense_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("flux-system");
        std::fs::create_dir(&below).unwrap();
        std::fs::write(
            below.join("pods.json"),
            r#"{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"p"}}]}"#,
        )
        .unwrap();
        std::fs::write(below.join("README.md"), "not a dump").unwrap();
        assert_eq!(read(folder.path()).unwrap().list(&POD, None).len(), 1);
        assert!(matches!(read_text("just: a map\n", "stdin"), Err(DumpError::Empty(_))));
        assert!(matches!(read_text("{\"a\":", "stdin"), Err(DumpError::Json { .. })));
        assert!(matches!(read(&folder.path().join("absent")), Err(DumpError::Read { .. })));
    }
}
