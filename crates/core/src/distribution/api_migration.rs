//! Upgrades Flux objects in files to the API version that a version of Flux stores. Files are edited in place, which
//! keeps comments, order and layout.
//!
//! ```text
//! text ─► objects, targets of patches, texts of patches ─► edits (a place of the text and what it becomes) ─► text
//!                                                       ├► fields that the new version does not have
//!                                                       └► unchanged versions, with the reason
//! ```
//! Versions and fields come from the definitions of the distribution. How a field is written in the new version is a
//! table (<https://fluxcd.io/flux/components/>, "What's new in v1" and "Migration" of each kind).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use regex::Regex;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{Component, Distribution, DistributionError, FluxVersion};
use crate::api::kinds;
use crate::format::yaml::{self, Location, Positions, YamlError};
use crate::k8s::ObjectId;
use source_text::SourceText;

mod lines;
mod source_text;

/// Limit for nested values and for texts inside texts; real files nest far less.
const MAX_DEPTH: usize = 64;
const MAX_TEXTS: usize = 4;

/// Renamed fields: kind, path of the parent, new name.
const RENAMED_TO_LIST: [(&str, &str, &str); 2] =
    [("HelmRelease", "/spec/chart/spec/valuesFile", "valuesFiles"), ("HelmChart", "/spec/valuesFile", "valuesFiles")];

/// Advice for fields that the new version no longer has.
const ADVICE: [(&str, &str); 7] = [
    ("/patchesStrategicMerge", "write each as an item of patches, with the text as patch"),
    ("/patchesJson6902", "write each as an item of patches, with the text as patch and its target"),
    ("/gitImplementation", "leave it out: there is one implementation"),
    ("/accessFrom", "leave it out: sources are read from every namespace unless a controller forbids it"),
    ("/validation", "leave it out: the API server validates"),
    ("/valuesFile", "write it as valuesFiles, which is a list"),
    ("/summary", "write it as eventMetadata.summary"),
];

/// Kinds whose name other projects use as well: a target without a group may mean one of theirs.
const SHARED_NAMES: [&str; 4] = ["Alert", "Bucket", "Provider", "Receiver"];

/// The API version of every kind in one version of Flux, with the schema of that version.
#[derive(Debug)]
pub struct StoredVersions(BTreeMap<(String, String), StoredVersion>);

#[derive(Debug)]
struct StoredVersion {
    version: String,
    schema: Value,
}

/// An edit, with the position of the replaced text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Edit {
    /// Counts from 1.
    pub line: u64,
    /// `KIND/NAMESPACE/NAME`, as written in the file.
    pub object: String,
    pub from: String,
    pub to: String,
}

/// A field that the new version does not have and that no edit replaces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LostField {
    /// Counts from 1.
    pub line: u64,
    pub object: String,
    /// `spec.chart.spec.valuesFile`.
    pub field: String,
    pub api_version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<&'static str>,
}

/// An API version other than the stored one that is not changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UneditedVersion {
    /// Counts from 1.
    pub line: u64,
    pub object: String,
    pub from: String,
    pub to: String,
    pub reason: &'static str,
    /// Whether a person has to change it; otherwise it may be right already.
    pub by_hand: bool,
}

/// A migrated text with its edits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MigratedText {
    pub text: String,
    /// In the order of the text.
    pub edits: Vec<Edit>,
    pub lost: Vec<LostField>,
    pub unedited: Vec<UneditedVersion>,
}

const NOT_EDITABLE: &str = "it is an alias, has escapes or spans several lines";
const VARIABLE: &str = "a variable or a template sets it";
const OLD_DEFAULT: &str = "the default of its variable is outdated";
const UNKNOWN_VERSION: &str = "Flux does not have this version";
const SEVERAL_VERSIONS: &str = "it selects kinds that are stored at different versions";
const NOT_YAML: &str = "the text around it cannot be read as YAML";

impl StoredVersions {
    /// Reads the definitions of a version of Flux.
    ///
    /// # Errors
    /// The distribution does not have the version, or cannot be read.
    pub fn of(distribution: &Distribution, version: &FluxVersion) -> Result<Self, DistributionError> {
        let mut stored = BTreeMap::new();
        let there = distribution.crds(version)?;
        let components = Component::ALL.into_iter().filter(|one| there.iter().any(|crd| crd.component == one.as_str()));
        for component in components {
            for object in distribution.component(version, component)? {
                stored.extend(stored_version(&object));
            }
        }
        Ok(StoredVersions(stored))
    }

    /// Migrates the Flux objects in a YAML or JSON text, and patches in it that change such objects.
    ///
    /// A text that does not mention Flux is not parsed.
    ///
    /// # Errors
    /// The text is not YAML: a template, for example.
    pub fn migrate(&self, text: &str) -> Result<MigratedText, YamlError> {
        // Editors on Windows write a byte order mark. It is kept and does not count as a column.
        let (mark, body) = text.strip_prefix('\u{feff}').map_or(("", text), |body| ("\u{feff}", body));
        if !may_concern_flux(body) {
            return Ok(MigratedText { text: text.to_owned(), ..MigratedText::default() });
        }
        let plan = self.plan(body, None, MAX_TEXTS, "")?;
        let text = format!("{mark}{}", edited(body, &plan.edits));
        let edits = plan.edits.into_iter().map(|planned| planned.edit).collect();
        Ok(MigratedText { text, edits, lost: plan.lost, unedited: plan.unedited })
    }

    /// Migrates the versions in a text that is not YAML, such as a template: lines `apiVersion: …` with a line `kind:
    /// …` beside them.
    pub fn migrate_lines(&self, text: &str) -> MigratedText {
        let edits = lines::plan(text, self);
        let text = edited(text, &edits);
        MigratedText { text, edits: edits.into_iter().map(|planned| planned.edit).collect(), ..MigratedText::default() }
    }

    /// Finds the old versions in a text that cannot be migrated.
    pub fn old_versions(&self, text: &str) -> Vec<UneditedVersion> {
        let mut old: Vec<Edit> = lines::plan(text, self).into_iter().map(|planned| planned.edit).collect();
        let planned: BTreeSet<u64> = old.iter().map(|edit| edit.line).collect();
        old.extend(lines::within_lines(text, self).into_iter().filter(|edit| !planned.contains(&edit.line)));
        old.sort_by_key(|edit| edit.line);
        let unedited = |Edit { line, object, from, to }| UneditedVersion {
            line,
            object,
            from,
            to,
            reason: NOT_YAML,
            by_hand: true,
        };
        old.into_iter().map(unedited).collect()
    }

    /// Returns the fields of a Flux object at its stored version that this version of Flux does not have, as paths such
    /// as `spec.a.b`; empty for other objects.
    pub fn lost_fields(&self, object: &Value) -> Vec<String> {
        let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
        let Some((group, version)) = text("apiVersion").split_once('/') else { return vec![] };
        let Some(stored) = self.get(group, text("kind")).filter(|stored| stored.version == version) else {
            return vec![];
        };
        let mut unknown = vec![];
        unknown_fields(object, &stored.schema, String::new(), &mut unknown);
        unknown.iter().filter(|field| !is_ignored(field)).map(|field| path_of(field)).collect()
    }

    /// Plans the edits of a text. If it is the text of a patch, `target` is the patch's target and `owner` the object
    /// that holds the patch.
    fn plan(&self, text: &str, target: Option<&Value>, texts_left: usize, owner: &str) -> Result<EditPlan, YamlError> {
        let documents = yaml::parse_documents(text)?;
        let nowhere: Vec<Positions> = documents.iter().map(|_| Positions::default()).collect();
        // Positions need a second parse, and most texts have nothing to edit or report.
        if self.walk(text, &documents, &nowhere, target, texts_left, owner).is_empty() {
            return Ok(EditPlan::default());
        }
        let positions = yaml::parse_positions(text);
        if documents.len() != positions.len() {
            // If the two parses differ, the positions cannot be trusted.
            return Ok(EditPlan { unedited: self.old_versions(text), ..EditPlan::default() });
        }
        Ok(self.walk(text, &documents, &positions, target, texts_left, owner))
    }

    fn walk(
        &self,
        text: &str,
        documents: &[Value],
        positions: &[Positions],
        target: Option<&Value>,
        texts_left: usize,
        owner: &str,
    ) -> EditPlan {
        let source = SourceText::of(text);
        let mut walk =
            ObjectWalk { stored: self, source, target, texts_left, plan: EditPlan::default(), aliases: vec![] };
        for (document, positions) in documents.iter().zip(positions) {
            // A kustomization file may lack every field that names an object.
            let kind = document.get("kind").and_then(Value::as_str).unwrap_or("kustomization");
            let owner = if owner.is_empty() { kind } else { owner };
            walk.visit(document, String::new(), positions, owner, 0);
        }
        walk.finish()
    }

    fn get(&self, group: &str, kind: &str) -> Option<&StoredVersion> {
        self.0.get(&(group.to_owned(), kind.to_owned()))
    }

    /// Returns the stored versions of the kinds that a predicate selects by group and kind.
    fn versions_of(&self, is_chosen: impl Fn(&str, &str) -> bool) -> BTreeSet<&str> {
        let chosen = self.0.iter().filter(|((group, kind), _)| is_chosen(group, kind));
        chosen.map(|(_, stored)| stored.version.as_str()).collect()
    }

    fn has_group(&self, group: &str) -> bool {
        self.0.keys().any(|(of, _)| of == group)
    }
}

/// Whether a text can name a Flux kind: objects name its group, but the target of a patch may name only its kind.
fn may_concern_flux(text: &str) -> bool {
    text.contains("fluxcd") || ["target", "version", "patch"].iter().all(|word| text.contains(word))
}

/// Returns the stored version of a definition, by group and kind.
fn stored_version(object: &Value) -> Option<((String, String), StoredVersion)> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let is_stored = |version: &&Value| version.get("storage").and_then(Value::as_bool) == Some(true);
    let version = object.pointer("/spec/versions")?.as_array()?.iter().find(is_stored)?;
    let stored = StoredVersion {
        version: version.get("name")?.as_str()?.to_owned(),
        schema: version.pointer("/schema/openAPIV3Schema")?.clone(),
    };
    Some(((text("/spec/group")?, text("/spec/names/kind")?), stored))
}

/// Returns the rank of a Kubernetes version, the newest highest (`v2` > `v1` > `v1beta2` > `v1alpha1`); `None` if the
/// text is not a version.
fn rank(version: &str) -> Option<(u32, u32, u32)> {
    // Rust's parser would accept a sign.
    let number = |text: &str| (!text.starts_with('+')).then(|| text.parse::<u32>().ok()).flatten();
    let rest = version.strip_prefix('v')?;
    for (stage, name) in [(0, "alpha"), (1, "beta")] {
        if let Some((major, minor)) = rest.split_once(name) {
            return Some((number(major)?, stage, number(minor)?));
        }
    }
    Some((number(rest)?, 2, 0))
}

/// Whether the kind has or had this version. The tables do not list versions from before the oldest supported Flux, so
/// every version older than the newest counts.
fn is_known(group: &str, kind: &str, version: &str, stored: &str) -> bool {
    let newest = kinds::of(group, kind).and_then(|kind| kind.versions.first().copied()).unwrap_or(stored);
    rank(version).is_some_and(|version| Some(version) <= rank(newest).max(rank(stored)))
}

/// Returns the default of `${NAME:-default}` and similar forms.
fn default_of(variable: &str) -> Option<&str> {
    let (_, rest) = variable.strip_prefix("${")?.strip_suffix('}')?.split_once(['-', '='])?;
    Some(rest)
}

fn is_variable(version: &str) -> bool {
    ["$", "{{", "<<", "[["].iter().any(|mark| version.contains(mark))
}

/// A byte range of the text, its replacement, and the reported edit.
struct PlannedEdit {
    range: Range<usize>,
    new: String,
    edit: Edit,
}

#[derive(Default)]
struct EditPlan {
    /// In the order of the text, without overlaps.
    edits: Vec<PlannedEdit>,
    lost: Vec<LostField>,
    unedited: Vec<UneditedVersion>,
}

impl EditPlan {
    fn is_empty(&self) -> bool {
        self.edits.is_empty() && self.lost.is_empty() && self.unedited.is_empty()
    }
}

/// Replaces ranges of a text, in order.
fn edited(text: &str, edits: &[PlannedEdit]) -> String {
    let mut result = String::with_capacity(text.len());
    let mut from = 0;
    for PlannedEdit { range, new, .. } in edits {
        result.push_str(text.get(from..range.start).unwrap_or_default());
        result.push_str(new);
        from = range.end;
    }
    result.push_str(text.get(from..).unwrap_or_default());
    result
}

struct ObjectWalk<'a> {
    stored: &'a StoredVersions,
    source: SourceText<'a>,
    target: Option<&'a Value>,
    /// How many levels of texts inside texts may still be read.
    texts_left: usize,
    plan: EditPlan,
    /// Versions written as an alias, with the range of the anchor.
    aliases: Vec<(Range<usize>, UneditedVersion)>,
}

impl ObjectWalk<'_> {
    /// Plans the edits of a value and everything in it: lists, templates of a ResourceSet and health checks contain
    /// versions too.
    ///
    /// `owner` names the surrounding object, for values without a name.
    fn visit(&mut self, value: &Value, pointer: String, positions: &Positions, owner: &str, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        let below = |key: &str| format!("{pointer}/{}", escaped(key));
        match value {
            Value::Object(fields) => {
                let named = name_of(value);
                let owner = named.as_deref().unwrap_or(owner);
                self.visit_object(value, &pointer, positions, owner);
                self.visit_operation(value, &pointer, positions, owner);
                for (key, item) in fields {
                    let pointer = below(key);
                    match (key.as_str(), item) {
                        ("patch" | "resourcesTemplate", Value::String(text)) => {
                            self.visit_text(text, positions.value(&pointer), value.get("target"), owner);
                        }
                        ("target" | "select" | "source", Value::Object(_)) => {
                            self.visit_target(item, &pointer, positions, owner);
                        }
                        ("patchesStrategicMerge", Value::Array(items)) => {
                            for (index, text) in items.iter().enumerate() {
                                let Some(text) = text.as_str() else { continue };
                                self.visit_text(text, positions.value(&format!("{pointer}/{index}")), None, owner);
                            }
                        }
                        _ => {}
                    }
                    self.visit(item, pointer, positions, owner, depth + 1);
                }
            }
            Value::Array(items) => {
                for (index, value) in items.iter().enumerate() {
                    self.visit(value, below(&index.to_string()), positions, owner, depth + 1);
                }
            }
            _ => {}
        }
    }

    fn visit_object(&mut self, value: &Value, pointer: &str, positions: &Positions, object: &str) {
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let (Some(api_version), Some(kind)) = (text("apiVersion"), text("kind")) else { return };
        let Some((group, version)) = api_version.split_once('/') else { return };
        let versions = self.stored;
        // A list is written in the version of its items: `kind: HelmReleaseList`.
        let kind = kind.strip_suffix("List").filter(|_| value.get("items").is_some()).unwrap_or(kind);
        let Some(stored) = versions.get(group, kind) else { return };
        let now = format!("{group}/{}", stored.version);
        if version != stored.version {
            let at = positions.value(&format!("{pointer}/apiVersion"));
            if !is_known(group, kind, version, &stored.version) {
                return self.leave(at, version, &stored.version, api_version, &now, object);
            }
            self.replace(at, api_version, &now, object);
        }
        if value.get("metadata").is_none() || text("kind") != Some(kind) {
            // A reference or a list does not have the fields of the kind.
            return;
        }
        let mut unknown = vec![];
        unknown_fields(value, &stored.schema, String::new(), &mut unknown);
        for field in unknown.iter().filter(|field| !is_ignored(field)) {
            if self.rename(value, kind, field, pointer, positions, object) {
                continue;
            }
            let line = positions.key(&format!("{pointer}{field}")).map_or(0, |at| at.line);
            let advice = ADVICE.iter().find(|(end, _)| field.ends_with(end)).map(|(_, advice)| *advice);
            let field = path_of(field);
            self.plan.lost.push(LostField { line, object: object.to_owned(), field, api_version: now.clone(), advice });
        }
    }

    /// Plans the edit of a JSON patch operation that sets or tests an object's version.
    fn visit_operation(&mut self, value: &Value, pointer: &str, positions: &Positions, object: &str) {
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let (Some(_), Some(path), Some(api_version)) = (text("op"), text("path"), text("value")) else { return };
        let Some((group, version)) = api_version.split_once('/') else { return };
        if !path.ends_with("/apiVersion") || !self.stored.has_group(group) {
            return;
        }
        // Below the root of the patched object, the kind that belongs to the version is unknown.
        let kind = self.target.filter(|_| path == "/apiVersion").and_then(|target| target.get("kind"));
        let kind = TargetPattern::of(kind.and_then(Value::as_str));
        let versions = self.stored.versions_of(|of, name| of == group && kind.matches(name));
        let at = positions.value(&format!("{pointer}/value"));
        let full = |version: &str| format!("{group}/{version}");
        self.replace_by_one_of(&versions, at, version, api_version, full, object);
    }

    /// Plans the edits of a patch target or of a replacement's selector: group, version and kind are expressions
    /// (<https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/patches/>).
    fn visit_target(&mut self, target: &Value, pointer: &str, positions: &Positions, object: &str) {
        let text = |key: &str| target.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        let (Some(version), group, kind) = (text("version"), text("group"), text("kind")) else { return };
        if group.is_none() && kind.is_none_or(|kind| SHARED_NAMES.contains(&kind)) {
            return;
        }
        let (groups, kinds, wanted) =
            (TargetPattern::of(group), TargetPattern::of(kind), TargetPattern::of(Some(version)));
        let versions = self.stored.versions_of(|group, kind| groups.matches(group) && kinds.matches(kind));
        if versions.iter().any(|stored| wanted.matches(stored)) {
            return;
        }
        let at = positions.value(&format!("{pointer}/version"));
        self.replace_by_one_of(&versions, at, version, version, str::to_owned, object);
    }

    /// Replaces a version if all selected kinds are stored at the same one; otherwise records why not.
    fn replace_by_one_of(
        &mut self,
        versions: &BTreeSet<&str>,
        at: Option<Location>,
        version: &str,
        written: &str,
        full: impl Fn(&str) -> String,
        object: &str,
    ) {
        let (Some(newest), false) = (versions.iter().max_by_key(|version| rank(version)), versions.contains(version))
        else {
            return;
        };
        if rank(version).is_none_or(|version| Some(version) > rank(newest)) {
            self.leave(at, version, newest, written, &full(newest), object);
        } else if versions.len() == 1 {
            self.replace(at, written, &full(newest), object);
        } else {
            let all: Vec<String> = versions.iter().map(|version| full(version)).collect();
            self.keep(at, written, &all.join(" or "), object, SEVERAL_VERSIONS, true);
        }
    }

    /// Plans the edits of a text that contains YAML itself: a patch, or the template of a ResourceSet.
    fn visit_text(&mut self, text: &str, at: Option<Location>, target: Option<&Value>, owner: &str) {
        // A patch may also be the name of a file, which is a single line.
        let is_one = text.contains('\n') || text.trim_start().starts_with(['{', '[']);
        let Some(texts_left) = self.texts_left.checked_sub(1) else { return };
        if !is_one || !text.contains("fluxcd") {
            return;
        }
        let scalar = at.and_then(|at| self.source.scalar(at));
        let first = match &scalar {
            Some(scalar) => self.source.line_of(scalar.start),
            None => at.map_or(0, |at| at.line),
        };
        let is_literal = scalar.as_ref().is_some_and(|scalar| self.source.written(scalar).starts_with('|'));
        let line = |inner: u64| if is_literal { first + inner } else { first };
        let Ok(inner) = self.stored.plan(text, target, texts_left, owner) else {
            for old in self.stored.old_versions(text) {
                self.plan.unedited.push(UneditedVersion { line: line(old.line), ..old });
            }
            return;
        };
        for PlannedEdit { range, new, edit } in inner.edits {
            let place = scalar.as_ref().and_then(|scalar| self.source.same_place(scalar, text, &range));
            match place {
                Some(range) => {
                    let line = self.source.line_of(range.start);
                    self.plan.edits.push(PlannedEdit { range, new, edit: Edit { line, ..edit } });
                }
                None => self.plan.unedited.push(UneditedVersion {
                    line: line(edit.line),
                    object: edit.object,
                    from: edit.from,
                    to: edit.to,
                    reason: NOT_EDITABLE,
                    by_hand: true,
                }),
            }
        }
        self.plan.lost.extend(inner.lost.into_iter().map(|lost| LostField { line: line(lost.line), ..lost }));
        let unedited = inner.unedited.into_iter().map(|old| UneditedVersion { line: line(old.line), ..old });
        self.plan.unedited.extend(unedited);
    }

    /// Renames a field and turns its value into a list of one. Returns `false` when the table does not have the field.
    fn rename(
        &mut self,
        value: &Value,
        kind: &str,
        field: &str,
        at: &str,
        positions: &Positions,
        object: &str,
    ) -> bool {
        let Some((_, _, now)) = RENAMED_TO_LIST.iter().find(|(of, from, _)| *of == kind && *from == field) else {
            return false;
        };
        let Some(only) = value.pointer(field).and_then(Value::as_str) else { return false };
        let (key, content) = (positions.key(&format!("{at}{field}")), positions.value(&format!("{at}{field}")));
        let old = field.rsplit('/').next().unwrap_or_default();
        let places = (self.source.place(key, old), self.source.whole_place(content, only));
        let (Some(key), Some(content)) = places else { return false };
        let written = self.source.written(&content).to_owned();
        let line = self.source.line_of(key.start);
        let edit = |from: &str, to: &str| Edit { line, object: object.to_owned(), from: from.into(), to: to.into() };
        let list = format!("[{written}]");
        self.plan.edits.push(PlannedEdit { range: key, new: (*now).to_owned(), edit: edit(old, now) });
        self.plan.edits.push(PlannedEdit { range: content, new: list.clone(), edit: edit(&written, &list) });
        true
    }

    fn replace(&mut self, at: Option<Location>, old: &str, new: &str, object: &str) {
        if let Some(range) = self.source.place(at, old) {
            let line = self.source.line_of(range.start);
            let edit = Edit { line, object: object.to_owned(), from: old.to_owned(), to: new.to_owned() };
            self.plan.edits.push(PlannedEdit { range, new: new.to_owned(), edit });
            return;
        }
        let unedited = unedited(at, old, new, object, NOT_EDITABLE, true);
        match at.and_then(|at| self.source.anchor(at, old)) {
            Some(anchor) => self.aliases.push((anchor, unedited)),
            None => self.plan.unedited.push(unedited),
        }
    }

    /// Keeps a version that is not known as an old one: it comes from a variable, or Flux does not have it.
    fn leave(&mut self, at: Option<Location>, version: &str, stored: &str, old: &str, new: &str, object: &str) {
        match default_of(version) {
            Some(default) if default == stored => self.keep(at, old, new, object, VARIABLE, false),
            Some(default) if rank(default).is_some() => self.keep(at, old, new, object, OLD_DEFAULT, true),
            _ if is_variable(version) => self.keep(at, old, new, object, VARIABLE, false),
            _ => self.keep(at, old, new, object, UNKNOWN_VERSION, true),
        }
    }

    fn keep(&mut self, at: Option<Location>, old: &str, new: &str, object: &str, reason: &'static str, by_hand: bool) {
        self.plan.unedited.push(unedited(at, old, new, object, reason, by_hand));
    }

    /// Sorts the plan into the order of the text, and drops repeated or conflicting edits.
    fn finish(self) -> EditPlan {
        let EditPlan { mut edits, mut lost, mut unedited } = self.plan;
        edits.sort_by_key(|planned| (planned.range.start, planned.range.end));
        let mut kept: Vec<PlannedEdit> = vec![];
        for planned in edits {
            match kept.last() {
                // Aliases visit the same object several times, but it is edited once.
                Some(last) if last.range == planned.range && last.new == planned.new => {}
                Some(last) if last.range.end > planned.range.start => {
                    let Edit { line, object, from, to } = planned.edit;
                    let reason = SEVERAL_VERSIONS;
                    unedited.push(UneditedVersion { line, object, from, to, reason, by_hand: true });
                }
                _ => kept.push(planned),
            }
        }
        for (anchor, alias) in self.aliases {
            if !kept.iter().any(|planned| planned.range == anchor && planned.new == alias.to) {
                unedited.push(alias);
            }
        }
        lost.sort_by_key(|field| field.line);
        lost.dedup();
        unedited.sort_by_key(|version| version.line);
        unedited.dedup();
        EditPlan { edits: kept, lost, unedited }
    }
}

fn unedited(
    at: Option<Location>,
    old: &str,
    new: &str,
    object: &str,
    reason: &'static str,
    by_hand: bool,
) -> UneditedVersion {
    let (object, from, to) = (object.to_owned(), old.to_owned(), new.to_owned());
    UneditedVersion { line: at.map_or(0, |at| at.line), object, from, to, reason, by_hand }
}

/// Formats an object or an object reference as `KIND/NAMESPACE/NAME`.
fn name_of(value: &Value) -> Option<String> {
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
    let kind = text("/kind")?;
    text("/apiVersion")?;
    let name = text("/metadata/name").or(text("/name"))?;
    let namespace = text("/metadata/namespace").or(text("/namespace"));
    Some(ObjectId::new("", kind, namespace, name).to_string())
}

/// Escapes one token of a JSON pointer (RFC 6901).
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// A regular expression that must match the whole text, as in kustomize's targets; a missing one matches everything.
struct TargetPattern(Option<Result<Regex, regex::Error>>);

impl TargetPattern {
    fn of(text: Option<&str>) -> Self {
        TargetPattern(text.filter(|text| !text.is_empty()).map(|text| Regex::new(&format!("^(?:{text})$"))))
    }

    fn matches(&self, text: &str) -> bool {
        match &self.0 {
            None => true,
            Some(Ok(expression)) => expression.is_match(text),
            Some(Err(_)) => false,
        }
    }
}

/// Whether a field need not be in the schema: metadata and status have rules of their own, and SOPS removes its fields
/// when it decrypts the object.
fn is_ignored(field: &str) -> bool {
    ["/metadata", "/status"].iter().any(|part| field.starts_with(part)) || field == "/sops"
}

/// Converts a JSON pointer to a path such as `spec.a.b`.
fn path_of(pointer: &str) -> String {
    pointer.trim_start_matches('/').replace('/', ".").replace("~1", "/").replace("~0", "~")
}

/// Collects the fields of a value that its schema does not have, as JSON pointers. Fields below an unknown field are
/// not listed.
fn unknown_fields(value: &Value, schema: &Value, pointer: String, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            let Some(schema) = schema.get("items") else { return };
            for (index, item) in items.iter().enumerate() {
                unknown_fields(item, schema, format!("{pointer}/{index}"), found);
            }
        }
        Value::Object(fields) => {
            let preserved = schema.get("x-kubernetes-preserve-unknown-fields").and_then(Value::as_bool) == Some(true);
            let properties = schema.get("properties").and_then(Value::as_object);
            let any = schema.get("additionalProperties");
            // Patches remove fields by null, and control merging by keys such as `$patch`.
            for (key, value) in fields.iter().filter(|(key, value)| !value.is_null() && !key.starts_with('$')) {
                let pointer = format!("{pointer}/{}", escaped(key));
                match (properties.and_then(|properties| properties.get(key)), any) {
                    (Some(schema), _) => unknown_fields(value, schema, pointer, found),
                    (None, Some(schema)) => unknown_fields(value, schema, pointer, found),
                    (None, None) if properties.is_some() && !preserved => found.push(pointer),
                    (None, None) => {}
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn newest() -> StoredVersions {
        let distribution = Distribution::embedded();
        let version = distribution.versions().pop().unwrap();
        StoredVersions::of(&distribution, &version).unwrap()
    }

    const RELEASE: &str = "# Ours
apiVersion: helm.toolkit.fluxcd.io/v2beta1 # old
kind: HelmRelease
metadata: {name: web, namespace: apps}
spec:
  chart:
    spec:
      chart: web
      valuesFile: 'values-prod.yaml'  # one only
      sourceRef: {kind: HelmRepository, name: web}
---
apiVersion: \"source.toolkit.fluxcd.io/v1beta2\"
kind: GitRepository
metadata:
  name: web
spec:
  gitImplementation: go-git
  url: https://example.com
  interval: 1m
";

    #[test]
    fn versions_and_renamed_fields_are_edited_and_everything_else_is_kept() {
        let migrated = newest().migrate(RELEASE).unwrap();
        let expected = RELEASE
            .replace("v2beta1 # old", "v2 # old")
            .replace("valuesFile: 'values-prod.yaml'", "valuesFiles: ['values-prod.yaml']")
            .replace("v1beta2", "v1");
        assert_eq!(migrated.text, expected);
        let reported: Vec<String> =
            migrated.edits.iter().map(|e| format!("{} {} {} {}", e.line, e.object, e.from, e.to)).collect();
        assert_eq!(
            reported,
            [
                "2 HelmRelease/apps/web helm.toolkit.fluxcd.io/v2beta1 helm.toolkit.fluxcd.io/v2",
                "9 HelmRelease/apps/web valuesFile valuesFiles",
                "9 HelmRelease/apps/web 'values-prod.yaml' ['values-prod.yaml']",
                "12 GitRepository/web source.toolkit.fluxcd.io/v1beta2 source.toolkit.fluxcd.io/v1",
            ]
        );
        let lost: Vec<String> = migrated.lost.iter().map(|lost| format!("{} {}", lost.line, lost.field)).collect();
        assert_eq!(lost, ["17 spec.gitImplementation"]);
        // A second migration changes nothing.
        let again = newest().migrate(&migrated.text).unwrap();
        assert_eq!((again.text, again.edits), (migrated.text, vec![]));
    }

    #[test]
    fn lists_references_and_json_are_migrated_as_well() {
        let text = r#"{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "kustomize.toolkit.fluxcd.io/v1beta2",
 "kind": "Kustomization", "metadata": {"name": "a"}, "spec": {"healthChecks": [
 {"apiVersion": "helm.toolkit.fluxcd.io/v2beta2", "kind": "HelmRelease", "name": "w"}]}}]}"#;
        let migrated = newest().migrate(text).unwrap();
        assert_eq!(migrated.edits.iter().map(|edit| edit.line).collect::<Vec<_>>(), [1, 3]);
        assert!(!migrated.text.contains("beta"), "{}", migrated.text);
        assert_eq!(migrated.lost, []);
    }

    #[test]
    fn api_versions_that_an_older_flux_still_stores_are_not_migrated() {
        let distribution = Distribution::embedded();
        let version = distribution.versions().into_iter().find(|version| version.name == "v2.2.3").unwrap();
        let stored = StoredVersions::of(&distribution, &version).unwrap();
        let text = "apiVersion: source.toolkit.fluxcd.io/v1beta2\nkind: OCIRepository\nmetadata: {name: a}\n";
        assert_eq!(stored.migrate(text).unwrap().text, text);
        assert!(newest().migrate(text).unwrap().text.contains("fluxcd.io/v1\n"));
        assert!(newest().migrate("a: {{ .Values.fluxcd }}\n  c").is_err());
    }

    /// Returns `line object from to` of each edit, and the unchanged versions, with `!` where a person has to change
    /// them.
    fn migration_of(text: &str) -> (Vec<String>, Vec<String>, String) {
        let MigratedText { text, edits, unedited, .. } = newest().migrate(text).unwrap();
        let short = |version: &str| version.replace(".toolkit.fluxcd.io/", "/");
        let edits = edits.iter().map(|e| format!("{} {} {} {}", e.line, e.object, short(&e.from), short(&e.to)));
        let mark = |by_hand: bool| if by_hand { "!" } else { "" };
        let stays = unedited.iter().map(|u| format!("{}{} {} {}", mark(u.by_hand), u.line, u.object, short(&u.from)));
        (edits.collect(), stays.collect(), text)
    }

    #[test]
    fn patches_and_their_targets_are_edited_in_every_form_of_text() {
        let literal = "kind: Kustomization\napiVersion: kustomize.toolkit.fluxcd.io/v1\nmetadata: {name: apps}\nspec:\n  patches:\n  - patch: |-\n\n      apiVersion: kustomize.toolkit.fluxcd.io/v1beta2 # old\n      kind: Kustomization\n      metadata: {name: x}\n    target:\n      group: kustomize.toolkit.fluxcd.io\n      version: v1beta2\n      kind: Kustomization\n";
        let (edits, stays, text) = migration_of(literal);
        assert_eq!(edits, ["8 Kustomization/x kustomize/v1beta2 kustomize/v1", "13 Kustomization/apps v1beta2 v1"]);
        assert_eq!((stays, text), (vec![], literal.replace("v1beta2", "v1")));
        for patch in [
            "'apiVersion: helm.toolkit.fluxcd.io/v2beta1\n\n    kind: HelmRelease\n\n    metadata: {name: it''s}'",
            "\"apiVersion: helm.toolkit.fluxcd.io/v2beta1\\nkind: HelmRelease\\nmetadata: {name: x}\\n\"",
            "'{\"apiVersion\": \"helm.toolkit.fluxcd.io/v2beta1\", \"kind\": \"HelmRelease\", \"metadata\": {\"name\": \"x\"}}'",
            "\"{\\\"apiVersion\\\":\\\"helm.toolkit.fluxcd.io/v2beta1\\\",\\\"kind\\\":\\\"HelmRelease\\\"}\"",
            ">-\n    {\"apiVersion\": \"helm.toolkit.fluxcd.io/v2beta1\",\n    \"kind\": \"HelmRelease\"}",
            "|2\n    apiVersion: helm.toolkit.fluxcd.io/v2beta1\n    kind: HelmRelease\n    spec: {chart: {spec: {}}}",
            "|\n    - op: replace\n      path: /apiVersion\n      value: helm.toolkit.fluxcd.io/v2beta1",
            "|\n    - op: add\n      path: /spec/healthChecks/-\n      value: {apiVersion: helm.toolkit.fluxcd.io/v2beta1, kind: HelmRelease, name: x}",
        ] {
            let text = format!("patches:\n- patch: {patch}\n  target: {{kind: HelmRelease, version: v2beta1}}\n");
            let (edits, stays, new) = migration_of(&text);
            assert_eq!((edits.len(), stays), (2, vec![]), "{text}\n{edits:?}");
            assert_eq!(new, text.replace("v2beta1", "v2"));
        }
        let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a}\nspec:\n  postRenderers:\n  - kustomize:\n      patches:\n      - target: {group: source.toolkit.fluxcd.io, version: v1beta2}\n        patch: |\n          apiVersion: source.toolkit.fluxcd.io/v1beta2\n          kind: Bucket\n          metadata: {name: b}\n";
        assert_eq!(migration_of(release).2, release.replace("v1beta2", "v1"));
        let merges = "patchesStrategicMerge:\n- |-\n  apiVersion: image.toolkit.fluxcd.io/v1beta1\n  kind: ImagePolicy\n  metadata: {name: p}\n- other.yaml\n";
        assert_eq!(migration_of(merges).2, merges.replace("v1beta1", "v1"));
    }

    #[test]
    fn targets_of_foreign_kinds_and_of_current_versions_stay() {
        for target in [
            "{group: s3.aws.upbound.io, version: v1beta1, kind: Bucket}",
            "{version: v1beta1, kind: Bucket}",
            "{group: helm.toolkit.fluxcd.io, version: v2, kind: HelmRelease}",
            "{group: helm.toolkit.fluxcd.io, version: v2.*, kind: HelmRelease}",
            "{group: notification.toolkit.fluxcd.io, version: v1}",
        ] {
            let text = format!("patches:\n- patch: '[]'\n  target: {target}\n");
            assert_eq!(migration_of(&text), (vec![], vec![], text.clone()));
        }
        let text = "patches:\n- patch: '[]'\n  target: {group: notification.toolkit.fluxcd.io, version: v1beta2}\n";
        assert_eq!(migration_of(text).1, ["!3 kustomization v1beta2"]);
    }

    #[test]
    fn old_versions_that_cannot_be_edited_are_named() {
        let object = |version: &str| format!("kind: HelmRelease\napiVersion: {version}\nmetadata: {{name: a}}\n");
        let anchored = "kind: HelmRelease\nmetadata: {name: a, annotations: {v: &v helm.toolkit.fluxcd.io/v2beta1}}\napiVersion: *v\n";
        assert_eq!(migration_of(anchored).1, ["!3 HelmRelease/a helm/v2beta1"]);
        assert_eq!(migration_of(anchored).2, anchored);
        let escaped = object("\"helm.toolkit.fluxcd.io\\/v2beta1\"");
        assert_eq!(migration_of(&escaped).1, ["!2 HelmRelease/a helm/v2beta1"]);
        let folded = object("helm.toolkit.fluxcd.io/v2bet\\\n  a1").replace("helm", "\"helm").replace("a1", "a1\"");
        assert_eq!(migration_of(&folded).1, ["!2 HelmRelease/a helm/v2beta1"], "{folded}");
        // The alias is edited at its anchor.
        let list = "kind: List\napiVersion: v1\nitems:\n- {apiVersion: &v helm.toolkit.fluxcd.io/v2beta1, kind: HelmRelease, metadata: {name: a}}\n- {apiVersion: *v, kind: HelmRelease, metadata: {name: b}}\n";
        let (edits, stays, text) = migration_of(list);
        assert_eq!((edits.len(), stays, text), (1, vec![], list.replace("v2beta1", "v2")));
        for (version, stays) in [
            ("helm.toolkit.fluxcd.io/${V:-v2}", "2 HelmRelease/a helm/${V:-v2}"),
            ("helm.toolkit.fluxcd.io/${V:=v2beta1}", "!2 HelmRelease/a helm/${V:=v2beta1}"),
            ("helm.toolkit.fluxcd.io/${V}", "2 HelmRelease/a helm/${V}"),
            ("helm.toolkit.fluxcd.io/{{ .Values.v }}", "2 HelmRelease/a helm/{{ .Values.v }}"),
            ("helm.toolkit.fluxcd.io/v2beta", "!2 HelmRelease/a helm/v2beta"),
            ("helm.toolkit.fluxcd.io/v7", "!2 HelmRelease/a helm/v7"),
        ] {
            let text = object(version);
            assert_eq!(migration_of(&text), (vec![], vec![stays.to_owned()], text.clone()));
        }
    }

    #[test]
    fn a_list_is_written_in_the_version_of_its_items() {
        let text = "apiVersion: helm.toolkit.fluxcd.io/v2beta1\nkind: HelmReleaseList\nmetadata: {}\nitems:\n- {metadata: {name: a}}\n";
        let (edits, stays, edited) = migration_of(text);
        assert_eq!((edits.len(), stays, edited), (1, vec![], text.replace("v2beta1", "v2")));
    }

    #[test]
    fn a_byte_order_mark_is_kept_and_fields_are_renamed() {
        let text =
            "\u{feff}apiVersion: source.toolkit.fluxcd.io/v1beta2\r\nkind: HelmRepository\r\nmetadata: {name: a}\r\n";
        assert_eq!(migration_of(text).2, text.replace("v1beta2", "v1"));
        let text = "apiVersion: helm.toolkit.fluxcd.io/v2beta2\nkind: HelmRelease\nmetadata: {name: a}\nsops: {mac: x}\nspec:\n  postRenderers:\n  - kustomize:\n      patchesStrategicMerge: [{kind: Ingress}]\n  timeout: null\n  values: {any: thing}\n";
        let first = newest().migrate(text).unwrap();
        let again = newest().migrate(&first.text).unwrap();
        assert_eq!((again.edits, again.lost.clone()), (vec![], first.lost));
        assert_eq!(again.lost.len(), 1);
        assert_eq!(
            (again.lost[0].line, again.lost[0].field.as_str()),
            (8, "spec.postRenderers.0.kustomize.patchesStrategicMerge")
        );
    }

    #[test]
    fn a_template_is_edited_line_by_line() {
        let text = "{{ if .Values.a }}\nkind: HelmRelease\n{{- end }}\napiVersion: helm.toolkit.fluxcd.io/v2beta1 # old\nmetadata:\n  name: {{ .x }}\n---\nitems:\n- apiVersion: \"source.toolkit.fluxcd.io/v1beta2\"\n  kind: GitRepository\n- kind: Pod\n---\napiVersion: source.toolkit.fluxcd.io/v1beta2\n---\nkind: GitRepository\n";
        let migrated = newest().migrate_lines(text);
        assert_eq!(migrated.edits.iter().map(|edit| edit.line).collect::<Vec<_>>(), [4, 9]);
        assert_eq!(migrated.text, text.replace("v2beta1 # old", "v2 # old").replace("v1beta2\"", "v1\""));
        assert_eq!(newest().old_versions(text).len(), 2);
    }
}
