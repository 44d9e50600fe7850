//! Reads dumps: `kubectl cluster-info dump` folders, `kubectl get -o json|yaml` lists, and streams of both.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use thiserror::Error;

use super::snapshot;
use super::snapshot::{OutdatedManifest, Snapshot};
use crate::api::kinds;
use crate::format::tarball::{self, ArchiveLimits};
use crate::format::yaml;
use crate::k8s::ObjectId;
use crate::k8s::fields;
use crate::kustomize::is_cluster_scoped;

/// Limit for all files of a dump together, unpacked; a cluster of tens of thousands of objects is smaller.
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
    #[error("cannot parse {origin}")]
    Yaml {
        origin: String,
        #[source]
        source: yaml::YamlError,
    },
    #[error("cannot parse {origin}")]
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
    /// Objects of several clusters could not be distinguished.
    #[error("{object} is in {first} and, with different content, in {second}: the files are from several clusters")]
    SeveralClusters { object: ObjectId, first: String, second: String },
}

/// The objects and logs of a dump, and what was skipped.
#[derive(Debug)]
pub struct Dump {
    pub snapshot: Snapshot,
    /// Unreadable files with the reason; the other files were read.
    pub unread: Vec<DumpError>,
    /// Repeated objects with different content that may not be the same, because they have no namespace or contain a
    /// variable. The first one is kept.
    pub doubtful: Vec<ObjectId>,
    /// Folders whose name begins with a dot, which are not entered; those of version control are not counted.
    pub hidden_folders: usize,
}

/// Folders of version control systems, whose content is also in the folder around them.
const VERSION_CONTROL: [&str; 4] = [".git", ".hg", ".jj", ".svn"];

/// Limits for unpacking an archive. Similar logs and objects are compressed as tightly as gzip can.
const ARCHIVE: ArchiveLimits = ArchiveLimits {
    compressed_bytes: MAX_BYTES / 2,
    unpacked_bytes: MAX_BYTES,
    entries: 100_000,
    file_bytes: MAX_BYTES / 2,
    ratio: 1_100,
};

/// Reads a file, or every `.json`, `.yaml`, `.yml` and `logs.txt` below a folder or in a gzip-compressed tar archive.
/// It does not follow symbolic links or enter hidden folders, and skips files that a kustomization names as patches.
///
/// # Errors
/// A named file is unreadable or invalid, the file or folder contains no Kubernetes object or list, it has more than 1
/// GiB, or it contains objects of several clusters.
pub fn read(path: &Path) -> Result<Dump, DumpError> {
    read_within(Snapshot::of_dump([]), path, MAX_BYTES)
}

/// Like [`read`], but keeps the values of Secrets for a caller that removes them.
///
/// # Errors
/// As [`read`].
pub fn read_whole(path: &Path) -> Result<Dump, DumpError> {
    read_within(Snapshot::of_whole_dump(), path, MAX_BYTES)
}

fn read_within(snapshot: Snapshot, path: &Path, limit: u64) -> Result<Dump, DumpError> {
    let read_error = |path: &Path| {
        let path = path.to_owned();
        move |source| DumpError::Read { path, source }
    };
    let mut reader = DumpReader::new(snapshot, limit);
    let is_folder = std::fs::metadata(path).map_err(read_error(path))?.is_dir();
    let mut files = vec![];
    let mut waiting = vec![path.to_owned()];
    while let Some(folder) = waiting.pop().filter(|_| is_folder) {
        let entries = match std::fs::read_dir(&folder).and_then(Iterator::collect::<Result<Vec<_>, _>>) {
            Err(source) if folder != path => {
                reader.unread.push(DumpError::Read { path: folder, source });
                continue;
            }
            entries => entries.map_err(read_error(&folder))?,
        };
        for entry in entries {
            let Ok(kind) = entry.file_type() else { continue };
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if kind.is_dir() && name.starts_with('.') {
                reader.hidden_folders += usize::from(!VERSION_CONTROL.contains(&&*name));
            } else if kind.is_dir() {
                waiting.push(entry.path());
            } else if kind.is_file() && is_dump_file(&entry.path()) {
                files.push(entry.path());
            } else if !kind.is_symlink() && is_dump_file(&entry.path()) {
                reader.unread.push(DumpError::NoFile(entry.path()));
            }
        }
    }
    if !is_folder {
        files.push(path.to_owned());
    }
    // A folder has no order, and of several equal objects the first one is kept.
    files.sort();
    let patches: HashSet<PathBuf> = files.iter().flat_map(|file| patch_files(file)).collect();
    for file in files {
        if !patches.is_empty() && file.canonicalize().is_ok_and(|file| patches.contains(&file)) {
            continue;
        }
        match reader.add_file(&file) {
            Err(error @ (DumpError::TooLarge(..) | DumpError::SeveralClusters { .. })) => return Err(error),
            Err(error) if is_folder => reader.unread.push(error),
            added => added?,
        }
    }
    reader.finish(&path.display().to_string())
}

/// Returns the files that a kustomization names as patches: parts of objects that would be taken for whole objects.
fn patch_files(path: &Path) -> Vec<PathBuf> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if !matches!(name, "kustomization.yaml" | "kustomization.yml") {
        return vec![];
    }
    let text = std::fs::File::open(path).ok().and_then(|file| yaml::read(file).ok());
    let Some(kustomization) = text.and_then(|text| yaml::parse_one(&text).ok()) else { return vec![] };
    let named = ["/patches", "/patchesJson6902", "/patchesStrategicMerge"];
    let named = named.iter().flat_map(|list| fields::items(&kustomization, list));
    let paths =
        // An inline patch has several lines, a path only one.
        named.filter_map(|patch| patch.get("path").unwrap_or(patch).as_str()).filter(|path| !path.contains('\n'));
    let folder = path.parent().unwrap_or(Path::new("."));
    paths.filter_map(|path| folder.join(path).canonicalize().ok()).collect()
}

/// Builds a dump from its files.
struct DumpReader {
    snapshot: Snapshot,
    allowance: Allowance,
    /// Whether any object, list or log was found.
    found: bool,
    unread: Vec<DumpError>,
    doubtful: Vec<ObjectId>,
    hidden_folders: usize,
    /// The files so far; the last one is being read.
    origins: Vec<String>,
    /// The file of each object.
    came_from: BTreeMap<ObjectId, usize>,
}

impl DumpReader {
    fn new(snapshot: Snapshot, limit: u64) -> Self {
        DumpReader {
            snapshot,
            allowance: Allowance { limit, left: limit },
            found: false,
            unread: vec![],
            doubtful: vec![],
            hidden_folders: 0,
            origins: vec![],
            came_from: BTreeMap::new(),
        }
    }

    fn add_file(&mut self, path: &Path) -> Result<(), DumpError> {
        let read_error = |source| DumpError::Read { path: path.to_owned(), source };
        let metadata = std::fs::metadata(path).map_err(read_error)?;
        if !is_readable(&metadata) {
            return Err(DumpError::NoFile(path.to_owned()));
        }
        let origin = path.display().to_string();
        let file = std::fs::File::open(path).map_err(read_error)?;
        let bytes = read_at_most(file, self.allowance.left).map_err(read_error)?;
        let bytes = bytes.ok_or_else(|| DumpError::TooLarge(origin.clone(), self.allowance.limit))?;
        self.add_bytes(&bytes, &origin)
    }

    /// Adds the objects and logs of a file, or of every file in an archive.
    fn add_bytes(&mut self, bytes: &[u8], origin: &str) -> Result<(), DumpError> {
        const GZIP: [u8; 2] = [0x1f, 0x8b];
        if !bytes.starts_with(&GZIP) {
            self.allowance.spend(bytes.len(), origin)?;
            return self.add_text(&text_of(bytes), origin);
        }
        let unpacked = tarball::read_tarball(bytes, &ARCHIVE);
        let files = unpacked.map_err(|source| DumpError::Archive { origin: origin.to_owned(), source })?;
        self.allowance.spend(files.values().map(|file| file.bytes.len()).sum(), origin)?;
        for (path, file) in files.iter().filter(|(path, _)| is_dump_file(Path::new(path))) {
            match self.add_text(&text_of(&file.bytes), &format!("{origin}:{path}")) {
                Err(error @ DumpError::SeveralClusters { .. }) => return Err(error),
                Err(error) => self.unread.push(error),
                Ok(()) => {}
            }
        }
        Ok(())
    }

    fn finish(mut self, origin: &str) -> Result<Dump, DumpError> {
        if self.found {
            return Ok(Dump {
                snapshot: self.snapshot,
                unread: self.unread,
                doubtful: self.doubtful,
                hidden_folders: self.hidden_folders,
            });
        }
        Err(if self.unread.is_empty() { DumpError::Empty(origin.to_owned()) } else { self.unread.swap_remove(0) })
    }

    /// Adds an object. If another file has it too, the later reading of a cluster counts, and a cluster's object takes
    /// precedence over a manifest.
    fn insert(&mut self, object: Value) -> Result<(), DumpError> {
        let id = ObjectId::of(&object);
        let current = self.origins.len();
        let earlier = self.came_from.get(&id).copied().filter(|origin| *origin != current);
        if let (Some(origin), Some(old)) = (earlier, self.snapshot.get_ref(&id)) {
            let uid = |object| fields::some_text(object, "/metadata/uid").map(str::to_owned);
            // Resource versions only grow, so the higher one was read later.
            let revision = |object| fields::text(object, "/metadata/resourceVersion").parse::<u64>().unwrap_or(0);
            let is_other = match (uid(old), uid(&object)) {
                (Some(old), Some(new)) => old != new,
                (None, None) => *old != object,
                _ => false,
            };
            if is_other && is_certain(&id) {
                let name = |origin: usize| self.origins.get(origin - 1).cloned().unwrap_or_default();
                return Err(DumpError::SeveralClusters { object: id, first: name(origin), second: name(current) });
            }
            if is_other {
                self.doubtful.push(id);
                return Ok(());
            }
            if uid(old).is_some() && (uid(&object).is_none() || revision(old) > revision(&object)) {
                return Ok(());
            }
        }
        self.came_from.insert(id, current);
        self.snapshot.insert(object);
        Ok(())
    }
}

/// Whether the identity is certain: it has a namespace and no variable.
fn is_certain(id: &ObjectId) -> bool {
    let is_written = |text: &str| !["$", "{{", "<<"].iter().any(|mark| text.contains(mark));
    is_written(&id.name)
        && is_written(&id.namespace)
        && (!id.namespace.is_empty() || is_cluster_scoped(&id.group, &id.kind))
}

/// Whether the objects are manifests that never came from an API server, so that they say nothing about the state of a
/// cluster.
pub fn looks_like_manifests(snapshot: &Snapshot) -> bool {
    let is_of_cluster = |object: &&Value| {
        let texts = ["/metadata/uid", "/metadata/resourceVersion", "/metadata/creationTimestamp"];
        let status = object.get("status").and_then(Value::as_object);
        texts.iter().any(|field| fields::some_text(object, field).is_some())
            // Older versions of controller-gen write a status into the definitions that they generate.
            || (fields::kind(object) != "CustomResourceDefinition" && status.is_some_and(|status| !status.is_empty()))
    };
    // Controllers create these kinds, people do not.
    let is_made = |object: &&Value| ["Event", "Lease", "Node", "Pod", "ReplicaSet"].contains(&fields::kind(object));
    let is_flux = |object: &&Value| kinds::of(fields::group(object), fields::kind(object)).is_some();
    let has_flux = snapshot.all().any(|object| is_flux(&object));
    let mut judged = snapshot.all().filter(|object| !has_flux || is_flux(object)).peekable();
    judged.peek().is_some()
        && !judged.any(|object| is_of_cluster(&object))
        && !snapshot.all().any(|object| is_made(&object))
        && snapshot.logs().next().is_none()
        && snapshot.server_version().is_none()
}

/// The remaining size for all files of a dump together, unpacked.
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

/// Whether the file may be a dump: a regular file, or a pipe from `--from <(…)`. A device would never end.
fn is_readable(metadata: &std::fs::Metadata) -> bool {
    #[cfg(unix)]
    let is_pipe = std::os::unix::fs::FileTypeExt::is_fifo(&metadata.file_type());
    #[cfg(not(unix))]
    let is_pipe = false;
    metadata.is_file() || is_pipe
}

/// Decodes a file of a dump. Logs may contain bytes that are not text; only these are replaced.
fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    match bytes {
        // `kubectl … > FILE` in Windows PowerShell.
        [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] => {
            yaml::decode(bytes.to_vec()).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Owned)
        }
        _ => String::from_utf8_lossy(bytes),
    }
}

/// Reads all bytes, or returns `None` when there are more than `limit`.
fn read_at_most(reader: impl Read, limit: u64) -> std::io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    reader.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}

/// Reads a stream such as standard input; `origin` names it in errors.
///
/// # Errors
/// As [`read`].
pub fn read_stream(reader: impl Read, origin: &str) -> Result<Dump, DumpError> {
    read_all(Snapshot::of_dump([]), reader, origin)
}

/// Like [`read_stream`], but keeps the values of Secrets.
///
/// # Errors
/// As [`read`].
pub fn read_whole_stream(reader: impl Read, origin: &str) -> Result<Dump, DumpError> {
    read_all(Snapshot::of_whole_dump(), reader, origin)
}

fn read_all(snapshot: Snapshot, stream: impl Read, origin: &str) -> Result<Dump, DumpError> {
    let failed = |source| DumpError::Read { path: origin.into(), source };
    let bytes = read_at_most(stream, MAX_BYTES).map_err(failed)?;
    let bytes = bytes.ok_or_else(|| DumpError::TooLarge(origin.to_owned(), MAX_BYTES))?;
    let mut reader = DumpReader::new(snapshot, MAX_BYTES);
    reader.add_bytes(&bytes, origin)?;
    reader.finish(origin)
}

/// Reads a text; `origin` names it in errors.
///
/// # Errors
/// As [`read`].
pub fn read_text(text: &str, origin: &str) -> Result<Snapshot, DumpError> {
    let mut reader = DumpReader::new(Snapshot::of_dump([]), MAX_BYTES);
    reader.add_text(text, origin)?;
    reader.finish(origin).map(|dump| dump.snapshot)
}

fn is_dump_file(path: &Path) -> bool {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
    matches!(extension, "json" | "yaml" | "yml") || path.file_name().is_some_and(|n| n == "logs.txt")
}

const START: &str = "==== START logs for container ";
const END: &str = "==== END logs for container ";

impl DumpReader {
    /// Adds the objects and logs of a text.
    fn add_text(&mut self, text: &str, origin: &str) -> Result<(), DumpError> {
        self.origins.push(origin.to_owned());
        let mut rest = text;
        // `kubectl cluster-info dump` on stdout alternates JSON documents and logs; its logs.txt files contain only
        // logs.
        while let Some(start) = find_line(rest, START) {
            let (documents, log) = rest.split_at(start);
            self.add_documents(documents, origin, lines_before(text, rest))?;
            let (header, body) = log.split_once('\n').unwrap_or((log, ""));
            // A log that was cut off has no end.
            let end = find_line(body, END).unwrap_or(body.len());
            let (lines, tail) = body.split_at(end);
            if let Some((container, namespace, pod)) = log_header(header) {
                let lines = lines.lines().map(str::to_owned).collect();
                // Bundles also contain the run before the last restart.
                let (pod, previous) = pod.strip_suffix(" (previous)").map_or((pod, false), |pod| (pod, true));
                self.snapshot.insert_log(namespace, pod, container, previous, lines);
                self.found = true;
            }
            rest = tail.split_once('\n').map_or("", |(_, rest)| rest);
        }
        self.add_documents(rest, origin, lines_before(text, rest))
    }

    fn add_documents(&mut self, text: &str, origin: &str, lines: u64) -> Result<(), DumpError> {
        // Parse all before adding any, so that an invalid file is skipped completely.
        let documents: Vec<Value> = if text.trim_start().starts_with(['{', '[']) {
            let documents = serde_json::Deserializer::from_str(text).into_iter();
            documents.collect::<Result<_, _>>().map_err(|source| DumpError::Json { origin: origin.into(), source })?
        } else {
            yaml::parse_documents(text).map_err(|source| DumpError::Yaml { origin: origin.into(), source })?
        };
        let count = documents.len();
        let mut old: Vec<(usize, String, OutdatedManifest)> = vec![];
        for (index, document) in documents.into_iter().enumerate() {
            outdated(&document, "", &mut |pointer, manifest| old.push((index, pointer, manifest)));
            self.found |= self.add_document(document)?;
        }
        if !old.is_empty() {
            // Parse again for positions only if there is something to report. A stream of JSON documents is not YAML
            // and has no positions.
            let positions = Some(yaml::parse_positions(text)).filter(|positions| positions.len() == count);
            for (index, pointer, manifest) in old {
                let location = positions.as_ref().and_then(|all| all.get(index)?.key(&pointer));
                let line = location.map(|location| lines + location.line);
                self.snapshot.insert_outdated(OutdatedManifest { origin: origin.to_owned(), line, ..manifest });
            }
        }
        Ok(())
    }

    /// Adds an object or a list. Items of typed lists have no kind of their own; it follows from the list's kind.
    fn add_document(&mut self, mut document: Value) -> Result<bool, DumpError> {
        // The output of `kubectl get --raw /version`.
        if document.get("gitVersion").is_some() && document.get("kind").is_none() {
            self.snapshot.insert_version(document);
            return Ok(true);
        }
        // The output of `kubectl version -o json`.
        if let Some(version) = document.get("serverVersion").filter(|v| v.get("gitVersion").is_some()) {
            self.snapshot.insert_version(version.clone());
            return Ok(true);
        }
        let kind = document.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        let api_version = document.get("apiVersion").and_then(Value::as_str).unwrap_or_default().to_owned();
        let items = document.get_mut("items").and_then(Value::as_array_mut).map(std::mem::take);
        match items {
            Some(items) if kind.ends_with("List") => {
                let item_kind = kind.trim_end_matches("List").to_owned();
                // `kubectl get` of several kinds writes a plain `List`, whose items say their kind.
                if !item_kind.is_empty() {
                    let group = api_version.split_once('/').map_or("", |(group, _)| group);
                    self.snapshot.insert_empty_list(group, &item_kind);
                }
                for mut item in items {
                    if let Some(fields) = item.as_object_mut() {
                        if !item_kind.is_empty() && !fields.contains_key("kind") {
                            fields.insert("kind".into(), item_kind.clone().into());
                            fields.insert("apiVersion".into(), api_version.clone().into());
                        }
                        self.add_document(item)?;
                    }
                }
                Ok(true)
            }
            _ if !kind.is_empty() && !fields::name(&document).is_empty() => {
                if !self.snapshot.is_whole() {
                    snapshot::trim(&mut document);
                    store_string_data(&mut document);
                }
                self.insert(document)?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }
}

/// Moves the keys of a Secret's `stringData` to `data`, as an API server does. The values have already been removed.
fn store_string_data(object: &mut Value) {
    if fields::kind(object) != "Secret" || !fields::group(object).is_empty() {
        return;
    }
    let Some(fields) = object.as_object_mut() else { return };
    let Some(Value::Object(written)) = fields.remove("stringData") else { return };
    if let Value::Object(data) = fields.entry("data").or_insert_with(|| Value::Object(Map::new())) {
        data.extend(written);
    }
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

/// Returns the number of lines before the rest of a text.
fn lines_before(text: &str, rest: &str) -> u64 {
    text.get(..text.len() - rest.len()).map_or(0, |read| read.lines().count() as u64)
}

/// Finds Flux objects in a document, also inside lists, whose version is not the newest, with the JSON pointer to each.
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
        assert_eq!(read(folder.path()).unwrap().snapshot.list(&POD, None).len(), 1);
        assert!(matches!(read_text("just: a map\n", "stdin"), Err(DumpError::Empty(_))));
        assert!(matches!(read_text("{\"a\":", "stdin"), Err(DumpError::Json { .. })));
        assert!(matches!(read(&folder.path().join("absent")), Err(DumpError::Read { .. })));
    }

    #[test]
    fn a_dump_in_utf_16_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let text = "\u{feff}apiVersion: v1\r\nkind: Pod\r\nmetadata: {name: p, namespace: a}\r\n";
        let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        std::fs::write(folder.path().join("dump.yaml"), bytes).unwrap();
        assert_eq!(read(&folder.path().join("dump.yaml")).unwrap().snapshot.list(&POD, None).len(), 1);
    }

    #[test]
    fn an_archive_is_read_like_the_folder_in_it() {
        let pod = r#"{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"p","namespace":"a"}}]}"#;
        let log = "==== START logs for container manager of pod a/p (previous) ====\nend\n==== END logs for container manager of pod a/p (previous) ====\n";
        let files = [("objects/pods.json", pod), ("logs/a/p/logs.txt", log), ("README.md", "{")];
        let files = files.into_iter().map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec().into())).collect();
        let bytes = tarball::write_tarball(&files).unwrap();
        let snapshot = read_stream(bytes.as_slice(), "stdin").unwrap().snapshot;
        assert!(snapshot.get(&POD, Some("a"), "p").is_some());
        assert_eq!(snapshot.log("a", "p", "manager", true).unwrap(), ["end"]);
        let half = bytes.get(..bytes.len() / 2).unwrap();
        assert!(matches!(read_stream(half, "stdin"), Err(DumpError::Archive { .. })));
    }

    #[test]
    fn endless_and_oversized_input_is_an_error() {
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

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        folder
    }

    const REPOSITORY: &str =
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: a, namespace: fs}\n";

    #[test]
    fn files_of_a_folder_that_cannot_be_read_are_left_out_and_counted() {
        let with = folder(&[
            ("apps/repo.yaml", REPOSITORY),
            (".vscode/settings.json", "{// comment\n}"),
            ("chart/t.yaml", "kind: Pod\nmetadata: {name: a}\n---\na: {{ .b }}\n  c"),
            ("half.json", "{\"kind\": \"Pod\", \"metadata\": {\"name\": \"p\"}}{\"kind\":"),
        ]);
        let dump = read(with.path()).unwrap();
        assert_eq!((dump.snapshot.count(), dump.unread.len()), (1, 2), "{:?}", dump.unread);
        let only = folder(&[("half.json", "{\"kind\":")]);
        assert!(matches!(read(only.path()), Err(DumpError::Json { .. })));
        assert!(matches!(read(&with.path().join("half.json")), Err(DumpError::Json { .. })));
    }

    #[test]
    fn objects_of_several_clusters_are_refused_and_one_cluster_read_twice_is_not() {
        let other = format!("{REPOSITORY}spec: {{url: b}}\n");
        let several = folder(&[("a/r.yaml", REPOSITORY), ("b/r.yaml", &other)]);
        let error = read(several.path()).unwrap_err().to_string();
        assert!(error.starts_with("GitRepository/fs/a is in ") && error.contains("b/r.yaml"), "{error}");
        let same = folder(&[("a/r.yaml", REPOSITORY), ("b/r.yaml", REPOSITORY)]);
        assert_eq!(read(same.path()).unwrap().snapshot.count(), 1);
        let live = |uid: &str, revision: &str| {
            other.replace("namespace: fs", &format!("namespace: fs, uid: {uid}, resourceVersion: \"{revision}\""))
        };
        let of =
            |dump: &Dump| fields::text(dump.snapshot.all().next().unwrap(), "/metadata/resourceVersion").to_owned();
        let twice = folder(&[("a.yaml", &live("u", "10")), ("b.yaml", &live("u", "9")), ("c.yaml", REPOSITORY)]);
        assert_eq!(of(&read(twice.path()).unwrap()), "10");
        let clusters = folder(&[("a.yaml", &live("u", "10")), ("b.yaml", &live("v", "9"))]);
        assert!(matches!(read(clusters.path()), Err(DumpError::SeveralClusters { .. })));
        // A patch is a part of an object, and without namespaces two objects are not certainly the same.
        let overlay = folder(&[
            ("base/r.yaml", REPOSITORY),
            ("prod/kustomization.yaml", "resources: [../base]\npatches: [{path: r.yaml}]\n"),
            ("prod/r.yaml", &other),
        ]);
        assert_eq!(read(overlay.path()).unwrap().snapshot.count(), 1);
        let without = |text: &str| text.replace(", namespace: fs", "");
        let doubtful = folder(&[("a.yaml", &without(REPOSITORY)), ("b.yaml", &without(&other))]);
        assert_eq!(read(doubtful.path()).unwrap().doubtful.len(), 1);
    }

    #[test]
    fn manifests_are_distinguished_from_a_dump() {
        let looks = |text: &str| looks_like_manifests(&read_text(text, "test").unwrap());
        assert!(looks(REPOSITORY));
        assert!(looks(&format!(
            "{REPOSITORY}---\nkind: CustomResourceDefinition\nmetadata: {{name: c}}\nstatus: {{a: b}}\n"
        )));
        assert!(looks("kind: ConfigMap\nmetadata: {name: a}\n"));
        for live in ["spec: {}\nstatus: {a: b}\n", "---\nkind: Pod\nmetadata: {name: p}\n"] {
            assert!(!looks(&format!("{REPOSITORY}{live}")), "{live}");
        }
        assert!(!looks(&REPOSITORY.replace("name: a", "name: a, uid: u")));
        assert!(!looks("{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"items\":[]}"));
    }

    #[test]
    fn keys_of_string_data_are_keys_of_the_secret() {
        let text = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: eA==}\nstringData: {b: canary}\n";
        let snapshot = read_text(text, "test").unwrap();
        let secret = snapshot.all().next().unwrap();
        assert_eq!(secret["data"], serde_json::json!({"a": null, "b": null}));
        assert!(secret.get("stringData").is_none());
    }
}
