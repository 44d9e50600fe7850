//! Index of manifests for an upgrade check: files are read one after the other, and only relevant parts are kept.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Component as PathPart, Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

use super::{Argument, patched_arguments};
use crate::api::kinds;
use crate::api::well_known;
use crate::format::ignore::IgnoreRules;
use crate::format::yaml;
use crate::k8s::fields;

/// Manifests by file.
#[derive(Debug, Default)]
pub struct ManifestIndex {
    /// By the path without `.` and `..`; includes files without relevant content.
    pub(super) files: BTreeMap<PathBuf, IndexedFile>,
    /// Names of the variables in files that generators read as environments.
    environments: BTreeMap<PathBuf, Vec<String>>,
    /// The patterns in `.sourceignore` files, by their folder.
    ignores: BTreeMap<PathBuf, String>,
}

/// The file of a repository with the patterns of the paths that its artifact excludes
/// (<https://fluxcd.io/flux/components/source/gitrepositories/#sourceignore-file>).
const SOURCE_IGNORE: &str = ".sourceignore";

#[derive(Debug, Default)]
pub(super) struct IndexedFile {
    /// The path as given by the user.
    pub(super) shown: String,
    pub(super) documents: Vec<IndexedDocument>,
}

/// A document of a file.
#[derive(Debug)]
pub(super) struct IndexedDocument {
    /// Its first line, from 1.
    pub(super) line: u64,
    /// Complete for Flux objects, kustomizations and JSON patches; of other objects identity, labels, annotations and
    /// the keys of data.
    pub(super) object: Value,
    /// Variables that need a value, with their lines.
    pub(super) variables: Vec<(u64, String)>,
    /// Arguments that its patches add to controllers, with their lines.
    pub(super) arguments: Vec<(Argument, Option<u64>)>,
}

impl IndexedDocument {
    /// An object without a file.
    pub(super) fn of(object: Value) -> Self {
        IndexedDocument { line: 0, object, variables: vec![], arguments: vec![] }
    }
}

/// A relevant text contains at least one of these words.
const WORDS: [&str; 5] = ["fluxcd", "${", "ConfigMap", "Secret", "postBuild"];

impl ManifestIndex {
    /// Reads a file. A document that is not YAML, such as a template, is skipped.
    pub fn add(&mut self, path: &Path, text: &str) {
        let matters = is_kustomization(path) || WORDS.iter().any(|word| text.contains(word));
        let documents = if matters { documents(path, text) } else { vec![] };
        self.files.insert(normal(path), IndexedFile { shown: path.display().to_string(), documents });
    }

    /// Returns the paths of further files that the manifests depend on. Some of them may not exist.
    pub fn files_beside(&self) -> BTreeSet<PathBuf> {
        let mut found = BTreeSet::new();
        for (path, file) in &self.files {
            found.extend(path.ancestors().skip(1).map(|folder| folder.join(SOURCE_IGNORE)));
            let folder = path.parent().unwrap_or(Path::new(""));
            let generators = file.documents.iter().flat_map(|document| generators(&document.object));
            found.extend(generators.flat_map(environment_files).map(|name| normal(&folder.join(name))));
        }
        found
    }

    /// Adds one of [`Self::files_beside`].
    pub fn add_beside(&mut self, path: &Path, text: &str) {
        if path.file_name().is_some_and(|name| name == SOURCE_IGNORE) {
            self.ignores.insert(path.parent().unwrap_or(Path::new("")).to_owned(), text.to_owned());
            return;
        }
        let lines = text.lines().map(str::trim_start).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let names = lines.map(|line| line.split('=').next().unwrap_or(line).trim_end().to_owned());
        self.environments.insert(normal(path), names.collect());
    }

    /// Returns the keys that a generator in this folder creates, and whether the list is complete.
    pub(super) fn generated_keys<'a>(&'a self, folder: &Path, generator: &'a Value) -> (Vec<&'a str>, bool) {
        let texts = |list: &str| fields::items(generator, list).iter().filter_map(Value::as_str);
        let literals = texts("/literals").filter_map(|literal| literal.split('=').next());
        let file_name = |path: &'a str| path.rsplit('/').next().unwrap_or(path);
        let files = texts("/files").map(|file| file.split_once('=').map_or(file_name(file), |(key, _)| key));
        let mut keys: Vec<&str> = literals.chain(files).collect();
        let mut is_whole = true;
        for name in environment_files(generator) {
            match self.environments.get(&normal(&folder.join(name))) {
                Some(names) => keys.extend(names.iter().map(String::as_str)),
                None => is_whole = false,
            }
        }
        (keys, is_whole)
    }

    /// Returns the files excluded from the artifact of the repository with this root; `patterns` are from its source.
    pub(super) fn left_out(&self, root: &Path, patterns: &str) -> IgnoredPaths {
        let of_root = self.ignores.get(root).map_or("", String::as_str);
        let below = self.ignores.iter().filter(|(folder, _)| folder.as_path() != root && folder.starts_with(root));
        let of = |folder: &Path, text: &str| {
            // An invalid pattern excludes nothing.
            let lines = text.lines().filter(|line| IgnoreRules::parse([*line]).is_ok());
            (folder.to_owned(), IgnoreRules::parse(lines).unwrap_or_default())
        };
        let mut rules = vec![of(root, &format!("{of_root}\n{patterns}"))];
        rules.extend(below.map(|(folder, text)| of(folder, text)));
        IgnoredPaths(rules)
    }

    pub(super) fn documents(&self) -> impl Iterator<Item = &IndexedDocument> {
        self.documents_by_path().map(|(_, document)| document)
    }

    pub(super) fn documents_by_path(&self) -> impl Iterator<Item = (&Path, &IndexedDocument)> {
        self.files.iter().flat_map(|(path, file)| file.documents.iter().map(|document| (path.as_path(), document)))
    }
}

/// Rules by the folder that their paths begin at.
pub(super) struct IgnoredPaths(Vec<(PathBuf, IgnoreRules)>);

impl IgnoredPaths {
    pub(super) fn contains(&self, path: &Path) -> bool {
        self.0.iter().any(|(folder, rules)| {
            let Ok(below) = path.strip_prefix(folder) else { return false };
            let folders = below.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
            folders.into_iter().any(|folder| rules.excludes(&folder.to_string_lossy(), true))
                || rules.excludes(&below.to_string_lossy(), false)
        })
    }
}

/// The generators of a kustomization.
fn generators(kustomization: &Value) -> impl Iterator<Item = &Value> {
    ["/configMapGenerator", "/secretGenerator"].into_iter().flat_map(|list| fields::items(kustomization, list))
}

/// The files that a generator reads as environments.
fn environment_files(generator: &Value) -> impl Iterator<Item = &str> {
    // `env` is the field of earlier versions of kustomize, for a single file.
    let one = generator.get("env").and_then(Value::as_str);
    one.into_iter().chain(fields::items(generator, "/envs").iter().filter_map(Value::as_str))
}

/// Whether kustomize reads this file name as a kustomization
/// (<https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/>).
pub(super) fn is_kustomization(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    ["kustomization.yaml", "kustomization.yml", "Kustomization"].contains(&name)
}

/// Removes `.` and `..` from a path.
pub(super) fn normal(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut path, part| {
        match part {
            PathPart::CurDir => {}
            PathPart::ParentDir if path.file_name().is_some() => {
                path.pop();
            }
            part => path.push(part),
        }
        path
    })
}

/// Returns the patches of an instance or of a kustomization file.
fn patches_of(object: &Value) -> Vec<Value> {
    let pointer = match (fields::group(object), fields::kind(object)) {
        (well_known::GROUP, "FluxInstance") => "/spec/kustomize/patches",
        (group, kind) if group == "kustomize.config.k8s.io" || (group.is_empty() && kind.is_empty()) => "/patches",
        _ => return vec![],
    };
    fields::items(object, pointer).to_vec()
}

/// Returns the readable documents of a file.
fn documents(path: &Path, text: &str) -> Vec<IndexedDocument> {
    let mut parts = vec![];
    let (mut starts, mut begins, mut at) = (0, 0, 0);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if line.trim_end() == "---" || line.starts_with("--- ") {
            parts.push((starts, begins..at));
            (starts, begins) = (number + 1, at + line.len());
        }
        at += line.len();
    }
    parts.push((starts, begins..at));
    let document = |(starts, range): (usize, Range<usize>)| {
        let text = text.get(range)?;
        let mut parsed = yaml::parse_documents(text).ok().filter(|parsed| parsed.len() == 1)?;
        let object = parsed.remove(0);
        let variables = if text.contains("${") { variables(path, &object, text) } else { vec![] };
        let place = |line: u64| starts as u64 + line;
        let arguments = patched_arguments(&patches_of(&object)).into_iter().map(|argument| {
            let line = text.lines().position(|line| line.contains(&argument.text));
            (argument, line.map(|line| place(line as u64 + 1)))
        });
        let arguments = arguments.collect();
        let is_whole = is_kustomization(path)
            || object.is_array()
            || kinds::of(fields::group(&object), fields::kind(&object)).is_some();
        let object = if is_whole { object } else { reduced(&object) };
        let variables: Vec<_> = variables.into_iter().map(|(line, name)| (place(line), name)).collect();
        let matters = is_whole || !variables.is_empty() || has_values(&object);
        matters.then_some(IndexedDocument { line: place(1), object, variables, arguments })
    };
    parts.into_iter().filter_map(document).collect()
}

/// Whether variables may take their values from an object.
fn has_values(object: &Value) -> bool {
    matches!(fields::kind(object), "ConfigMap" | "Secret")
}

/// Reduces an object to the parts by which it can be found.
fn reduced(object: &Value) -> Value {
    let mut kept = Map::new();
    let mut keep = |key: &str, value: Value| kept.insert(key.to_owned(), value);
    for key in ["apiVersion", "kind"] {
        object.get(key).and_then(|value| keep(key, value.clone()));
    }
    if let Some(metadata) = object.get("metadata").and_then(Value::as_object) {
        let is_kept = |key: &&String| ["name", "namespace", "labels", "annotations"].contains(&key.as_str());
        let metadata = metadata.iter().filter(|(key, _)| is_kept(key)).map(|(key, value)| (key.clone(), value.clone()));
        keep("metadata", metadata.collect());
    }
    for data in ["data", "stringData"].into_iter().filter(|_| has_values(object)) {
        if let Some(values) = object.get(data).and_then(Value::as_object) {
            // The keys are enough to know which variables have a value.
            keep(data, values.keys().map(|key| (key.clone(), Value::Null)).collect());
        }
    }
    Value::Object(kept)
}

/// Matches `${name}` with its modifiers; a preceding dollar escapes it.
static VARIABLE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(\$?)\$\{([A-Za-z_][A-Za-z0-9_]*)([^}]*)\}").ok());

/// Returns the variables in a text that need a value.
fn required(text: &str) -> impl Iterator<Item = &str> {
    let captures = VARIABLE.iter().flat_map(|variable| variable.captures_iter(text));
    captures.filter_map(|found| {
        let is_escaped = found.get(1).is_some_and(|dollar| !dollar.is_empty());
        let rest = found.get(3).map_or("", |rest| rest.as_str());
        // Other operators, such as `${name^}`, work on a value that has to be there.
        let has_default = [":-", ":=", "-", "="].iter().any(|operator| rest.starts_with(operator));
        found.get(2).map(|name| name.as_str()).filter(|_| !is_escaped && !has_default)
    })
}

/// Returns the variables of a document that need a value, by line from 1. Substitution works on the built object, which
/// has no comments, so search its values and keys, and use the text only for the lines.
fn variables(path: &Path, object: &Value, text: &str) -> Vec<(u64, String)> {
    let positions = yaml::parse_positions(text);
    let Some(positions) = positions.first() else { return vec![] };
    let lines: Vec<&str> = text.lines().collect();
    let mut found = BTreeSet::new();
    let mut waiting = vec![(String::new(), object)];
    while let Some((pointer, value)) = waiting.pop() {
        match value {
            Value::String(text) if text.contains("${") => {
                let starts = positions.value(&pointer).map_or(1, |at| at.line);
                for (number, line) in text.lines().enumerate() {
                    found.extend(required(line).map(|name| (line_of(&lines, starts, number, name), name.to_owned())));
                }
            }
            Value::Array(items) => {
                waiting.extend(items.iter().enumerate().map(|(index, item)| (format!("{pointer}/{index}"), item)));
            }
            Value::Object(members) => {
                for (key, value) in members {
                    // `~` first, or it would escape the escapes of `/` again (RFC 6901 §3).
                    let below = format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"));
                    if is_kustomization(path) && is_not_built(&below, key, value, object) {
                        continue;
                    }
                    let starts = positions.key(&below).map_or(1, |at| at.line);
                    found.extend(required(key).map(|name| (starts, name.to_owned())));
                    waiting.push((below, value));
                }
            }
            _ => {}
        }
    }
    found.into_iter().collect()
}

/// Returns the line of a variable: the line where the value starts, the line in the block below its head, or the next
/// line with the variable.
fn line_of(lines: &[&str], starts: u64, number: usize, name: &str) -> u64 {
    let variable = format!("${{{name}");
    let first = usize::try_from(starts).unwrap_or(1).saturating_sub(1);
    let has = |line: &usize| lines.get(*line).is_some_and(|line| line.contains(&variable));
    let usual = [first, first + 1 + number].into_iter().skip(usize::from(number > 0)).find(has);
    let line = usual.or_else(|| (first..lines.len()).find(has)).unwrap_or(first);
    line as u64 + 1
}

/// Whether a field of a kustomization file does not become part of a substituted object: names of files, and generators
/// whose objects are exempt.
fn is_not_built(pointer: &str, key: &str, value: &Value, whole: &Value) -> bool {
    let is_disabled = |options: Option<&Value>| {
        let of = |field: &str| options.and_then(|options| options.get(field)).is_some_and(disables_substitution);
        of("annotations") || of("labels")
    };
    match pointer {
        "/resources" | "/components" | "/bases" => true,
        "/configMapGenerator" | "/secretGenerator" => {
            let generators = value.as_array().map(Vec::as_slice).unwrap_or_default();
            is_disabled(whole.get("generatorOptions"))
                || (!generators.is_empty() && generators.iter().all(|generator| is_disabled(generator.get("options"))))
        }
        _ => key == "sops",
    }
}

/// Whether labels or annotations exempt an object from substitution
/// (<https://fluxcd.io/flux/components/kustomize/kustomizations/#post-build-variable-substitution>).
pub(super) fn disables_substitution(pairs: &Value) -> bool {
    pairs.get("kustomize.toolkit.fluxcd.io/substitute").and_then(Value::as_str) == Some(well_known::DISABLED)
}
