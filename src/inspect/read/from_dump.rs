//! Reads what others wrote down: `kubectl cluster-info dump` folders, `kubectl get -o json|yaml` lists, streams of both.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;
use thiserror::Error;

use super::snapshot;
use super::snapshot::{OutdatedManifest, Snapshot};
use crate::api::kinds;
use crate::format::tarball::{self, Limits};
use crate::format::yaml;
use crate::k8s::ObjectId;
use crate::k8s::fields;

/// No dump is read beyond this, all its files together and unpacked; a cluster of tens of thousands of objects stays below it.
const MAX_BYTES: u64 = 1 << 30;

/// Why a dump was not read.
#[derive(Debug, Error)]
pub enum DumpError {
    #[error("cannot read {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("{0} is more than the limit of {1} bytes for a dump")]
    TooLarge(String, u64),
    #[error("{} is neither a file, a folder nor a pipe", .0.display())]
    NoFile(PathBuf),
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
    #[error("cannot unpack {origin}")]
    Archive {
        origin: String,
        #[source]
        source: tarball::TarballError,
    },
    #[error("no Kubernetes object in {0}")]
    Empty(String),
}

/// What an archive may unpack to. Logs and objects that are alike are packed as tightly as gzip can.
const ARCHIVE: Limits = Limits {
    compressed_bytes: MAX_BYTES / 2,
    unpacked_bytes: MAX_BYTES,
    entries: 100_000,
    file_bytes: MAX_BYTES / 2,
    ratio: 1_100,
};

/// Reads one file, or every `.json`, `.yaml`, `.yml` and `logs.txt` below a folder or in a gzip-compressed tar archive.
/// Symbolic links are not followed.
///
/// # Errors
/// When a file cannot be read or understood, when nothing in it is a Kubernetes object or list, or when there is more than
/// 1 GiB of it.
pub fn read(path: &Path) -> Result<Snapshot, DumpError> {
    read_within(Snapshot::of_dump([]), path, MAX_BYTES)
}

/// Like [`read`], with the values of Secrets, for whoever takes them out.
///
/// # Errors
/// As [`read`].
pub fn read_whole(path: &Path) -> Result<Snapshot, DumpError> {
    read_within(Snapshot::of_whole_dump(), path, MAX_BYTES)
}

fn read_within(mut snapshot: Snapshot, path: &Path, limit: u64) -> Result<Snapshot, DumpError> {
    let read_error = |path: &Path| {
        let path = path.to_owned();
        move |source| DumpError::Read { path, source }
    };
    let mut found = false;
    let mut waiting = vec![path.to_owned()];
    let mut allowance = Allowance { limit, left: limit };
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
        if !is_readable(&metadata) {
            return Err(DumpError::NoFile(path));
        }
        let origin = path.display().to_string();
        let file = std::fs::File::open(&path).map_err(read_error(&path))?;
        let bytes = read_at_most(file, allowance.left).map_err(read_error(&path))?;
        let bytes = bytes.ok_or_else(|| DumpError::TooLarge(origin.clone(), limit))?;
        found |= add_bytes(&mut snapshot, &bytes, &origin, &mut allowance)?;
    }
    if found { Ok(snapshot) } else { Err(DumpError::Empty(path.display().to_string())) }
}

/// How much of a dump may be read, all its files together and unpacked.
struct Allowance {
    limit: u64,
    left: u64,
}

impl Allowance {
    fn spend(&mut self, bytes: usize, origin: &str) -> Result<(), DumpError> {
        let left = self.left.checked_sub(bytes as u64);
        self.left = left.ok_or_else(|| DumpError::TooLarge(origin.to_owned(), self.limit))?;
        Ok(())
    }
}

/// Adds the objects and logs of one file, or of every file of an archive.
fn add_bytes(
    snapshot: &mut Snapshot,
    bytes: &[u8],
    origin: &str,
    allowance: &mut Allowance,
) -> Result<bool, DumpError> {
    const GZIP: [u8; 2] = [0x1f, 0x8b];
    if !bytes.starts_with(&GZIP) {
        allowance.spend(bytes.len(), origin)?;
        return add_text(snapshot, &String::from_utf8_lossy(bytes), origin);
    }
    let unpacked = tarball::read_tarball(bytes, &ARCHIVE);
    let files = unpacked.map_err(|source| DumpError::Archive { origin: origin.to_owned(), source })?;
    allowance.spend(files.values().map(|file| file.bytes.len()).sum(), origin)?;
    let mut found = false;
    for (path, file) in files.iter().filter(|(path, _)| is_dump_file(Path::new(path))) {
        found |= add_text(snapshot, &String::from_utf8_lossy(&file.bytes), &format!("{origin}:{path}"))?;
    }
    Ok(found)
}

/// Whether there can be a dump in it: a file, or a pipe as `--from <(…)` makes one; a device never ends.
fn is_readable(metadata: &std::fs::Metadata) -> bool {
    #[cfg(unix)]
    let is_pipe = std::os::unix::fs::FileTypeExt::is_fifo(&metadata.file_type());
    #[cfg(not(unix))]
    let is_pipe = false;
    metadata.is_file() || is_pipe
}

/// All bytes, or `None` when there are more than `limit`.
fn read_at_most(reader: impl Read, limit: u64) -> std::io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    reader.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}

/// Reads a stream such as standard input to its end; `origin` names it in errors.
///
/// # Errors
/// As [`read`].
pub fn read_stream(reader: impl Read, origin: &str) -> Result<Snapshot, DumpError> {
    let failed = |source| DumpError::Read { path: origin.into(), source };
    let bytes = read_at_most(reader, MAX_BYTES).map_err(failed)?;
    let bytes = bytes.ok_or_else(|| DumpError::TooLarge(origin.to_owned(), MAX_BYTES))?;
    added(Snapshot::of_dump([]), &bytes, origin)
}

/// Like [`read_stream`], with the values of Secrets.
///
/// # Errors
/// As [`read`].
pub fn read_whole_stream(reader: impl Read, origin: &str) -> Result<Snapshot, DumpError> {
    let failed = |source| DumpError::Read { path: origin.into(), source };
    let bytes = read_at_most(reader, MAX_BYTES).map_err(failed)?;
    let bytes = bytes.ok_or_else(|| DumpError::TooLarge(origin.to_owned(), MAX_BYTES))?;
    added(Snapshot::of_whole_dump(), &bytes, origin)
}

fn added(mut snapshot: Snapshot, bytes: &[u8], origin: &str) -> Result<Snapshot, DumpError> {
    let mut allowance = Allowance { limit: MAX_BYTES, left: MAX_BYTES };
    if add_bytes(&mut snapshot, bytes, origin, &mut allowance)? {
        Ok(snapshot)
    } else {
        Err(DumpError::Empty(origin.into()))
    }
}

/// Reads one text; `origin` names it in errors.
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
        found |= add_documents(snapshot, documents, origin, lines_before(text, rest))?;
        let (header, body) = log.split_once('\n').unwrap_or((log, ""));
        let end = find_line(body, END).unwrap_or(body.len());
        let (lines, tail) = body.split_at(end);
        if let Some((container, namespace, pod)) = log_header(header) {
            let lines = lines.lines().map(str::to_owned).collect();
            // Bundles hold the run before the last restart, too.
            let (pod, previous) = pod.strip_suffix(" (previous)").map_or((pod, false), |pod| (pod, true));
            snapshot.insert_log(namespace, pod, container, previous, lines);
            found = true;
        }
        rest = tail.split_once('\n').map_or("", |(_, rest)| rest);
    }
    Ok(found | add_documents(snapshot, rest, origin, lines_before(text, rest))?)
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

/// How many lines of a text come before the rest of it.
fn lines_before(text: &str, rest: &str) -> u64 {
    text.get(..text.len() - rest.len()).map_or(0, |read| read.lines().count() as u64)
}

/// Flux objects of a document, also inside lists, that are written at a version other than the newest: with the JSON
/// pointer to each.
fn outdated(document: &Value, pointer: &str, found: &mut impl FnMut(String, OutdatedManifest)) {
    if let Some(items) = document.get("items").and_then(Value::as_array) {
        for (index, item) in items.iter().enumerate() {
            outdated(item, &format!("{pointer}/items/{index}"), found);
        }
        return;
    }
    let version = fields::version(document);
    let is_old = kinds::of(fields::group(document), fields::kind(document))
        .is_some_and(|kind| kind.versions.first() != Some(&version));
    if is_old && !fields::name(document).is_empty() {
        let object = ObjectId::of(document);
        let manifest = OutdatedManifest { origin: String::new(), line: None, object, version: version.to_owned() };
        found(format!("{pointer}/apiVersion"), manifest);
    }
}

fn add_documents(snapshot: &mut Snapshot, text: &str, origin: &str, lines: u64) -> Result<bool, DumpError> {
    let mut found = false;
    let mut old: Vec<(usize, String, OutdatedManifest)> = vec![];
    let mut count = 0;
    let mut look = |document: &Value| {
        outdated(document, "", &mut |pointer, manifest| old.push((count, pointer, manifest)));
        count += 1;
    };
    if text.trim_start().starts_with(['{', '[']) {
        for document in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
            let document = document.map_err(|source| DumpError::Json { origin: origin.into(), source })?;
            look(&document);
            found |= add_document(snapshot, document);
        }
    } else {
        let documents =
            yaml::parse_documents(text).map_err(|source| DumpError::Yaml { origin: origin.into(), source })?;
        for document in documents {
            look(&document);
            found |= add_document(snapshot, document);
        }
    }
    if !old.is_empty() {
        // A second reading, only where there is something to point at. A stream of JSON documents is no YAML: no lines.
        let positions = Some(yaml::parse_positions(text)).filter(|positions| positions.len() == count);
        for (index, pointer, manifest) in old {
            let location = positions.as_ref().and_then(|all| all.get(index)?.key(&pointer));
            let line = location.map(|location| lines + location.line);
            snapshot.insert_outdated(OutdatedManifest { origin: origin.to_owned(), line, ..manifest });
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
        _ if !kind.is_empty() && !fields::name(&document).is_empty() => {
            if !snapshot.is_whole() {
                snapshot::trim(&mut document);
            }
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
    fn old_versions_are_found_where_they_are_written() {
        let places = |text: &str| -> Vec<_> {
            let snapshot = read_text(text, "a.yaml").unwrap();
            snapshot.outdated().iter().map(|m| (m.object.to_string(), m.version.clone(), m.line)).collect()
        };
        let release =
            "kind: HelmRelease\napiVersion: helm.toolkit.fluxcd.io/v2beta1\nmetadata: {name: web, namespace: apps}\n";
        let new = release.replace("v2beta1", "v2").replace("name: web", "name: new");
        let expected = ("HelmRelease/apps/web".to_owned(), "v2beta1".to_owned());
        let at = |line| vec![(expected.0.clone(), expected.1.clone(), line)];
        assert_eq!(places(&format!("{new}---\n{release}")), at(Some(6)));
        let list = "apiVersion: v1\nkind: List\nitems:\n- kind: HelmRelease\n  apiVersion: helm.toolkit.fluxcd.io/v2beta1\n  metadata: {name: web, namespace: apps}\n";
        assert_eq!(places(list), at(Some(5)));
        let json = "{\n\"apiVersion\": \"helm.toolkit.fluxcd.io/v2beta1\", \"kind\": \"HelmRelease\",\n\"metadata\": {\"name\": \"web\", \"namespace\": \"apps\"}}\n";
        assert_eq!(places(json), at(Some(2)));
        assert_eq!(places(&format!("{json}{{\"kind\": \"Pod\"}}")), at(None));
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

    #[test]
    fn an_archive_is_read_as_the_folder_it_was_made_of() {
        let pod = r#"{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"p","namespace":"a"}}]}"#;
        let log = "==== START logs for container manager of pod a/p (previous) ====\nend\n==== END logs for container manager of pod a/p (previous) ====\n";
        let files = [("objects/pods.json", pod), ("logs/a/p/logs.txt", log), ("README.md", "{")];
        let files = files.into_iter().map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec().into())).collect();
        let bytes = tarball::write_tarball(&files).unwrap();
        let snapshot = read_stream(bytes.as_slice(), "stdin").unwrap();
        assert!(snapshot.get(&POD, Some("a"), "p").is_some());
        assert_eq!(snapshot.log("a", "p", "manager", true).unwrap(), ["end"]);
        let half = bytes.get(..bytes.len() / 2).unwrap();
        assert!(matches!(read_stream(half, "stdin"), Err(DumpError::Archive { .. })));
    }

    #[test]
    fn what_never_ends_and_what_is_too_much_is_an_error() {
        assert!(matches!(read(Path::new("/dev/zero")), Err(DumpError::NoFile(_))));
        let folder = tempfile::tempdir().unwrap();
        let text = r#"{"kind":"PodList","apiVersion":"v1","items":[]}"#;
        for name in ["a.json", "b.json"] {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let limit = text.len() as u64;
        let within = |path: &Path, limit: u64| read_within(Snapshot::of_dump([]), path, limit);
        assert!(within(&folder.path().join("a.json"), limit).is_ok());
        assert!(matches!(within(&folder.path().join("a.json"), limit - 1), Err(DumpError::TooLarge(..))));
        assert!(matches!(within(folder.path(), limit), Err(DumpError::TooLarge(..))), "all files together");
        assert!(within(folder.path(), 2 * limit).is_ok());
        let folder = tempfile::tempdir().unwrap();
        let text = format!("{text}{}", " ".repeat(10_000));
        let files = [("pods.json".to_owned(), text.as_bytes().to_vec().into())].into_iter().collect();
        for name in ["a.json", "b.json"] {
            std::fs::write(folder.path().join(name), tarball::write_tarball(&files).unwrap()).unwrap();
        }
        let limit = text.len() as u64;
        assert!(within(&folder.path().join("a.json"), limit).is_ok());
        assert!(matches!(within(&folder.path().join("a.json"), limit - 1), Err(DumpError::TooLarge(..))));
        assert!(matches!(within(folder.path(), limit), Err(DumpError::TooLarge(..))), "all archives together");
        assert!(within(folder.path(), 2 * limit).is_ok());
        assert_eq!(read_at_most(std::io::repeat(b' '), 10).unwrap(), None);
    }
}
