//! Finds variables without a value, for which Flux fails in strict mode.
//!
//! ```text
//! Kustomizations that nothing here applies, instances ─► folder built ─► variables without value
//!                        ▲                                   │
//!                        └── Kustomizations in it, patched ◄─┘
//! ```
//! A Kustomization often gets its variables through a patch of its parent, so each one is checked in its applied form.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;

use serde_json::{Value, json};

use super::built_files::{BuiltDocument, ManifestTree, is_flux_kustomization, patch_of};
use super::manifest_index::{IndexedDocument, ManifestIndex, normal};
use super::{UpgradeFinding, substitutes};
use crate::api::kinds::SOURCE_GROUP;
use crate::api::well_known;
use crate::k8s::{ObjectId, fields};
use crate::kustomize::Patch;

/// Limit for nested Kustomizations.
const MAX_DEPTH: usize = 16;

/// Returns the variables without a value in everything that the Kustomizations in the files apply.
pub(super) fn unset_variables(index: &ManifestIndex) -> Vec<UpgradeFinding> {
    let tree = ManifestTree::of(index);
    let mut search = VariableSearch { index, tree, seen: HashSet::new(), reached: BTreeSet::new(), found: vec![] };
    let mut written = vec![];
    for (path, file) in &index.files {
        for document in &file.documents {
            let place = DocumentPlace { path, shown: &file.shown, document };
            if is_flux_kustomization(&document.object) && !is_partial(&document.object) {
                written.push((place, document.object.clone()));
            } else if let Some(root) = synced_by(&document.object) {
                search.check_documents(place, &root, 0);
            }
        }
    }
    let applied: BTreeSet<_> = written.iter().flat_map(|(place, object)| search.applied_by(*place, object)).collect();
    let is_root = |place: &DocumentPlace<'_>| !applied.contains(&place.id());
    // Kustomizations in a cycle have no root: they are checked as written, unless they were reached from elsewhere.
    let (roots, others): (Vec<_>, Vec<_>) = written.into_iter().partition(|(place, _)| is_root(place));
    for (place, object) in roots.into_iter().chain(others) {
        if !search.reached.contains(&place.id()) {
            search.check_documents(place, &object, 0);
        }
    }
    search.found
}

/// Whether a Kustomization has neither path nor source, so that it is only a patch.
fn is_partial(kustomization: &Value) -> bool {
    ["/spec/path", "/spec/sourceRef"].iter().all(|field| kustomization.pointer(field).is_none())
}

/// Returns the Kustomization that an instance creates for its sync.
fn synced_by(instance: &Value) -> Option<Value> {
    if fields::group(instance) != well_known::GROUP || fields::kind(instance) != "FluxInstance" {
        return None;
    }
    let path = fields::some_text(instance, "/spec/sync/path")?;
    let namespace = fields::namespace(instance).unwrap_or(well_known::DEFAULT_NAMESPACE);
    let root = json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": {"name": namespace, "namespace": namespace},
        "spec": {"path": path, "sourceRef": {}},
    });
    Some(patched(root, &patches_in(instance, "/spec/kustomize/patches")))
}

fn patches_in(object: &Value, pointer: &str) -> Vec<Patch> {
    fields::items(object, pointer).iter().filter_map(patch_of).collect()
}

fn patched(object: Value, patches: &[Patch]) -> Value {
    let document = IndexedDocument::of(Value::Null);
    let path = Path::new("");
    let mut built = BuiltDocument { path, shown: "", document: &document, object, is_exempt: false, is_part: false };
    built.patch(patches, true);
    built.object
}

/// A document with its file.
#[derive(Clone, Copy)]
struct DocumentPlace<'a> {
    path: &'a Path,
    shown: &'a str,
    document: &'a IndexedDocument,
}

impl<'a> DocumentPlace<'a> {
    fn id(&self) -> (&'a Path, u64) {
        (self.path, self.document.line)
    }
}

struct VariableSearch<'a> {
    index: &'a ManifestIndex,
    tree: ManifestTree<'a>,
    /// Kustomizations in their applied form.
    seen: HashSet<String>,
    /// The documents of these Kustomizations.
    reached: BTreeSet<(&'a Path, u64)>,
    found: Vec<UpgradeFinding>,
}

impl<'a> VariableSearch<'a> {
    /// Returns the Kustomizations in a Kustomization's build.
    fn applied_by(&self, place: DocumentPlace<'a>, object: &Value) -> Vec<(&'a Path, u64)> {
        let built = self.built(object).unwrap_or_default();
        let others = built.iter().filter(|built| !built.is_part && is_flux_kustomization(&built.object));
        others.map(|built| (built.path, built.document.line)).filter(|id| *id != place.id()).collect()
    }

    fn built(&self, kustomization: &Value) -> Option<Vec<BuiltDocument<'a>>> {
        let folder = self.tree.folder_of(fields::text(kustomization, "/spec/path"))?;
        let mut built = self.tree.build(folder, fields::items(kustomization, "/spec/components"));
        let depth =
            normal(Path::new(fields::text(kustomization, "/spec/path").trim_start_matches('/'))).components().count();
        let root = folder.ancestors().nth(depth).unwrap_or(folder);
        let left_out = self.index.left_out(root, ignored_by_source(self.index, kustomization));
        built.retain(|document| !left_out.contains(document.path));
        Some(built)
    }

    /// Checks the documents that a Kustomization applies, including its Kustomizations in their applied form.
    fn check_documents(&mut self, place: DocumentPlace<'a>, kustomization: &Value, depth: usize) {
        self.reached.insert(place.id());
        // Compare the whole text, because a Kustomization with other patches must be checked again.
        if depth > MAX_DEPTH || is_partial(kustomization) || !self.seen.insert(kustomization.to_string()) {
            return;
        }
        let name = ObjectId::of(kustomization).to_string();
        let Some(mut built) = self.built(kustomization) else {
            if substitutes(kustomization) {
                let path = fields::text(kustomization, "/spec/path");
                let message = format!("its path {path} is not among these files, so its variables cannot be checked");
                let (path, line) = (place.shown.to_owned(), Some(place.document.line));
                self.found.push(UpgradeFinding { path, line, object: name, breaks: false, message });
            }
            return;
        };
        let patches = patches_in(kustomization, "/spec/patches");
        for document in &mut built {
            let is_flux = is_flux_kustomization(&document.object);
            document.patch(&patches, is_flux);
        }
        if substitutes(kustomization) {
            self.find_unset(&name, kustomization, &built);
        }
        for child in built.iter().filter(|built| !built.is_part && is_flux_kustomization(&built.object)) {
            let place = DocumentPlace { path: child.path, shown: child.shown, document: child.document };
            self.check_documents(place, &substituted(&child.object, kustomization), depth + 1);
        }
    }

    fn find_unset(&mut self, name: &str, kustomization: &Value, built: &[BuiltDocument<'a>]) {
        let (known, elsewhere) = values_of(kustomization, self.index);
        for document in built.iter().filter(|document| !document.is_exempt) {
            let unset = document.document.variables.iter().filter(|(_, variable)| !known.contains(variable.as_str()));
            for (line, variable) in unset {
                let end = match elsewhere.is_empty() {
                    true => "has no value and no default".to_owned(),
                    false => format!("has no default; the build fails unless {} has it", elsewhere.join(" or ")),
                };
                self.found.push(UpgradeFinding {
                    path: document.shown.to_owned(),
                    line: Some(*line),
                    object: name.to_owned(),
                    breaks: elsewhere.is_empty(),
                    message: format!("the variable {variable} {end}"),
                });
            }
        }
    }
}

/// Returns the patterns of the source of a Kustomization, if the source is among the files.
fn ignored_by_source<'a>(index: &'a ManifestIndex, kustomization: &Value) -> &'a str {
    let source = |field: &str| fields::text(kustomization, field);
    let namespace = fields::some_text(kustomization, "/spec/sourceRef/namespace").or(fields::namespace(kustomization));
    let is_source = |object: &&Value| {
        fields::group(object) == SOURCE_GROUP
            && fields::kind(object) == source("/spec/sourceRef/kind")
            && fields::name(object) == source("/spec/sourceRef/name")
            // A manifest without a namespace may get it from a kustomization.
            && (fields::namespace(object).is_none() || fields::namespace(object) == namespace)
    };
    let mut patterns = index.documents().map(|document| &document.object).filter(is_source);
    patterns.find_map(|object| fields::some_text(object, "/spec/ignore")).unwrap_or_default()
}

/// Returns the variables of a Kustomization that have a value, and the sources outside the files that may have more.
fn values_of<'a>(kustomization: &'a Value, index: &'a ManifestIndex) -> (BTreeSet<&'a str>, Vec<String>) {
    let keys = |object: &'a Value, pointer: &str| {
        object.pointer(pointer).and_then(Value::as_object).into_iter().flatten().map(|(key, _)| key.as_str())
    };
    let mut known: BTreeSet<&str> = keys(kustomization, "/spec/postBuild/substitute").collect();
    let mut elsewhere = vec![];
    for source in fields::items(kustomization, "/spec/postBuild/substituteFrom") {
        let (kind, name) = (fields::kind(source), fields::text(source, "/name"));
        let mut is_whole = false;
        // Several clusters may have an object of this name. The right one is unknown, so the keys of all count.
        for (path, document) in index.documents_by_path() {
            let object = &document.object;
            if fields::kind(object) == kind && fields::name(object) == name {
                known.extend(keys(object, "/data").chain(keys(object, "/stringData")));
                is_whole = true;
            }
            let generators = if kind == "Secret" { "/secretGenerator" } else { "/configMapGenerator" };
            for generator in fields::items(object, generators) {
                if fields::text(generator, "/name") == name {
                    let (keys, are_all) = index.generated_keys(path.parent().unwrap_or(Path::new("")), generator);
                    known.extend(keys);
                    is_whole |= are_all;
                }
            }
        }
        if !is_whole {
            elsewhere.push(format!("{kind}/{name}"));
        }
    }
    (known, elsewhere)
}

/// Substitutes the parent's values in a Kustomization, because its path may contain variables.
fn substituted(object: &Value, parent: &Value) -> Value {
    let values = parent.pointer("/spec/postBuild/substitute").and_then(Value::as_object);
    let values: BTreeMap<String, &str> = values
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| Some((format!("${{{key}}}"), value.as_str()?)))
        .collect();
    let mut object = object.clone();
    if let Some(Value::String(path)) = object.pointer_mut("/spec/path") {
        for (variable, value) in &values {
            *path = path.replace(variable, value);
        }
    }
    object
}
