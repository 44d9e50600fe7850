//! Finds the documents of a folder's build, as kustomize and Flux's kustomization generator do.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use super::manifest_index::{IndexedDocument, ManifestIndex, disables_substitution, is_kustomization, normal};
use crate::k8s::fields;
use crate::kustomize::{Patch, ResourceList, Selector, apply_patches};

/// Limit for nested kustomizations.
const MAX_DEPTH: usize = 16;

/// A document of a build.
#[derive(Clone, Debug)]
pub(super) struct BuiltDocument<'a> {
    pub(super) path: &'a Path,
    /// The path as given by the user.
    pub(super) shown: &'a str,
    pub(super) document: &'a IndexedDocument,
    /// With the patches of the surrounding kustomizations.
    pub(super) object: Value,
    /// Whether its variables are not substituted.
    pub(super) is_exempt: bool,
    /// Whether it is a patch or a kustomization instead of an object.
    pub(super) is_part: bool,
}

impl BuiltDocument<'_> {
    /// Applies the relevant patches: a Flux object gets all of them, another object only those that may exempt it.
    pub(super) fn patch(&mut self, patches: &[Patch], is_flux: bool) {
        if self.is_part {
            return;
        }
        for patch in patches.iter().filter(|patch| is_flux || patch.patch.contains("substitute")) {
            let Ok(mut list) = ResourceList::from_objects([self.object.clone()]) else { return };
            // Ignore patches for other objects and patches that do not apply.
            if apply_patches(&mut list, std::slice::from_ref(patch)).is_ok()
                && let Some(patched) = list.into_objects().pop()
            {
                self.object = patched;
            }
        }
        self.is_exempt |= is_exempt(&self.object);
    }
}

fn is_exempt(object: &Value) -> bool {
    ["/metadata/labels", "/metadata/annotations"]
        .iter()
        .filter_map(|field| object.pointer(field))
        .any(disables_substitution)
}

/// The folders of the files with their content.
pub(super) struct ManifestTree<'a> {
    index: &'a ManifestIndex,
    folders: BTreeMap<&'a Path, FolderEntry<'a>>,
}

#[derive(Default)]
struct FolderEntry<'a> {
    files: Vec<&'a Path>,
    folders: BTreeSet<&'a Path>,
}

impl<'a> ManifestTree<'a> {
    pub(super) fn of(index: &'a ManifestIndex) -> Self {
        let mut folders: BTreeMap<&Path, FolderEntry<'_>> = BTreeMap::new();
        for path in index.files.keys() {
            let Some(mut folder) = path.parent() else { continue };
            folders.entry(folder).or_default().files.push(path);
            while let Some(parent) = folder.parent() {
                folders.entry(parent).or_default().folders.insert(folder);
                folder = parent;
            }
        }
        ManifestTree { index, folders }
    }

    /// Finds the folder for a path of the repository: the uppermost one that ends in it. The files may be from one
    /// folder of the repository or from several.
    pub(super) fn folder_of(&self, path: &str) -> Option<&'a Path> {
        let wanted = normal(Path::new(path.trim_start_matches('/')));
        if wanted.as_os_str().is_empty() {
            // The uppermost folder with more than one child.
            let is_root = |folder: &&FolderEntry<'_>| !folder.files.is_empty() || folder.folders.len() > 1;
            return self.folders.iter().find(|(_, folder)| is_root(folder)).map(|(path, _)| *path);
        }
        let fits = self.folders.keys().filter(|folder| folder.ends_with(&wanted));
        fits.min_by_key(|folder| folder.components().count()).copied()
    }

    /// Returns the documents of a folder's build; `components` are those of a Kustomization.
    pub(super) fn build(&self, folder: &Path, components: &[Value]) -> Vec<BuiltDocument<'a>> {
        let mut built = vec![];
        self.add_folder(folder, &mut built, 0);
        for component in components.iter().filter_map(Value::as_str) {
            self.add_component(&normal(&folder.join(component)), &mut built, 0);
        }
        built
    }

    /// Adds the documents of a folder: those that its kustomization names, or all.
    fn add_folder(&self, folder: &Path, built: &mut Vec<BuiltDocument<'a>>, depth: usize) {
        let Some((folder, entry)) = self.folders.get_key_value(folder) else { return };
        if depth > MAX_DEPTH {
            return;
        }
        if let Some(kustomization) = entry.files.iter().find(|path| is_kustomization(path)) {
            // Patches of a nested kustomization reach only its own documents, those of a component also the ones
            // before.
            let mut own = vec![];
            self.add_kustomization(folder, kustomization, &mut own, depth);
            built.append(&mut own);
            return;
        }
        // Flux generates a kustomization with every file, and with every folder that has its own kustomization as one
        // resource (<https://fluxcd.io/flux/components/kustomize/kustomizations/#generating-a-kustomizationyaml-file>).
        for file in &entry.files {
            let extension = file.extension().and_then(|extension| extension.to_str());
            if matches!(extension, Some("yaml" | "yml")) {
                self.add_file(file, built, false);
            }
        }
        for folder in &entry.folders {
            self.add_folder(folder, built, depth + 1);
        }
    }

    /// Adds the documents of a component, and applies its patches to the existing ones.
    fn add_component(&self, folder: &Path, built: &mut Vec<BuiltDocument<'a>>, depth: usize) {
        let Some((folder, entry)) = self.folders.get_key_value(folder) else { return };
        if let Some(kustomization) = entry.files.iter().find(|path| is_kustomization(path)) {
            self.add_kustomization(folder, kustomization, built, depth + 1);
        }
    }

    fn add_kustomization(&self, folder: &Path, path: &'a Path, built: &mut Vec<BuiltDocument<'a>>, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        self.add_file(path, built, true);
        let documents = self.index.files.get(path).map(|file| file.documents.as_slice()).unwrap_or_default();
        let Some(kustomization) = documents.first().map(|document| &document.object) else { return };
        // `bases` is the older name of the same list.
        let named = ["/resources", "/bases"].iter().flat_map(|list| fields::items(kustomization, list));
        for name in named.filter_map(Value::as_str) {
            let path = normal(&folder.join(name));
            match self.index.files.get_key_value(&path) {
                Some((path, _)) => self.add_file(path, built, false),
                None => self.add_folder(&path, built, depth + 1),
            }
        }
        for name in fields::items(kustomization, "/components").iter().filter_map(Value::as_str) {
            self.add_component(&normal(&folder.join(name)), built, depth + 1);
        }
        let mut patches = vec![];
        for patch in ["/patches", "/patchesJson6902"].iter().flat_map(|list| fields::items(kustomization, list)) {
            match fields::some_text(patch, "/path") {
                Some(path) => self.add_patch_file(folder, path, patch.get("target"), &mut patches, built),
                None => patches.extend(patch_of(patch)),
            }
        }
        for patch in fields::items(kustomization, "/patchesStrategicMerge").iter().filter_map(Value::as_str) {
            if patch.contains('\n') {
                patches.push(Patch { target: None, patch: patch.to_owned() });
            } else {
                self.add_patch_file(folder, patch, None, &mut patches, built);
            }
        }
        let pairs = fields::items(kustomization, "/labels").iter().filter_map(|label| label.get("pairs"));
        let common = ["commonAnnotations", "commonLabels"].iter().filter_map(|field| kustomization.get(field));
        let exempts = common.chain(pairs).any(disables_substitution);
        for document in built {
            let is_flux = is_flux_kustomization(&document.object);
            document.patch(&patches, is_flux);
            document.is_exempt |= exempts;
        }
    }

    /// Adds a file with patches, whose variables end up in the patched objects.
    fn add_patch_file(
        &self,
        folder: &Path,
        name: &str,
        target: Option<&Value>,
        patches: &mut Vec<Patch>,
        built: &mut Vec<BuiltDocument<'a>>,
    ) {
        let Some((path, file)) = self.index.files.get_key_value(&normal(&folder.join(name))) else { return };
        let texts = file.documents.iter().map(|document| document.object.to_string());
        patches.extend(texts.map(|patch| Patch { target: target.map(selector_of), patch }));
        self.add_file(path, built, true);
    }

    fn add_file(&self, path: &'a Path, built: &mut Vec<BuiltDocument<'a>>, is_part: bool) {
        let Some(file) = self.index.files.get(path) else { return };
        built.extend(file.documents.iter().map(|document| BuiltDocument {
            path,
            shown: &file.shown,
            document,
            object: document.object.clone(),
            is_exempt: is_exempt(&document.object),
            is_part,
        }));
    }
}

/// Whether an object is a Kustomization of Flux.
pub(super) fn is_flux_kustomization(object: &Value) -> bool {
    fields::group(object) == crate::api::kinds::KUSTOMIZE_GROUP && fields::kind(object) == "Kustomization"
}

/// Reads a patch of a Kustomization, an instance or a kustomization file.
pub(super) fn patch_of(written: &Value) -> Option<Patch> {
    let patch = fields::some_text(written, "/patch")?.to_owned();
    Some(Patch { target: written.get("target").map(selector_of), patch })
}

fn selector_of(target: &Value) -> Selector {
    let text = |field: &str| target.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    Selector {
        group: text("group"),
        version: text("version"),
        kind: text("kind"),
        name: text("name"),
        namespace: text("namespace"),
        label_selector: text("labelSelector"),
        annotation_selector: text("annotationSelector"),
    }
}
