//! Reads the user's changes in a `kustomization.yaml` of the folder `flux-system`, beside the manifests of `flux
//! bootstrap`. Pure.

use serde::Deserialize;
use serde_json::Value;

use crate::api::{KustomizePatch, PatchTarget};
use crate::format::yaml::{self, YamlError};

/// The manifests that `flux bootstrap` writes.
pub const GENERATED: [&str; 2] = ["gotk-components.yaml", "gotk-sync.yaml"];

/// The content of a `kustomization.yaml`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overlay {
    /// In the order of kustomize.
    pub patches: Vec<KustomizePatch>,
    /// Settings for which an instance has no field.
    pub unexpressed: Vec<String>,
    /// Other manifests in the folder, which remain in Git.
    pub resources: Vec<String>,
}

/// Why the file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OverlayError {
    #[error(transparent)]
    Yaml(#[from] YamlError),
    #[error("cannot parse patches[{index}]: {message}")]
    Patch { index: usize, message: String },
    #[error("cannot read the patch {path}: {message}")]
    File { path: String, message: String },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PatchEntry {
    patch: Option<String>,
    path: Option<String>,
    target: Option<PatchTarget>,
    /// Options for names and kinds in a patch.
    #[serde(rename = "options")]
    _options: Option<Value>,
}

/// Reads a `kustomization.yaml`; `file` returns the text of a path beside it.
///
/// # Errors
/// It is not YAML, or a patch cannot be read.
pub fn read_overlay(text: &str, file: impl Fn(&str) -> Result<String, String>) -> Result<Overlay, OverlayError> {
    let kustomization = yaml::parse_one(text)?;
    let mut overlay = Overlay::default();
    let load = |path: &str| file(path).map_err(|message| OverlayError::File { path: path.to_owned(), message });
    for (field, value) in kustomization.as_object().into_iter().flatten() {
        let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
        match field.as_str() {
            "apiVersion" | "kind" | "metadata" => {}
            "resources" => {
                let others = items.iter().filter_map(Value::as_str).filter(|name| !is_generated(name));
                overlay.resources.extend(others.map(str::to_owned));
            }
            "patches" => {
                for (index, entry) in items.iter().enumerate() {
                    let wrong = |message: String| OverlayError::Patch { index, message };
                    let entry: PatchEntry =
                        serde_json::from_value(entry.clone()).map_err(|error| wrong(error.to_string()))?;
                    let patch = match (entry.patch, entry.path) {
                        (Some(patch), None) => patch,
                        (None, Some(path)) => load(&path)?,
                        _ => return Err(wrong("it has neither patch nor path, or both".to_owned())),
                    };
                    overlay.patches.extend(each_document(&patch, entry.target.as_ref()));
                }
            }
            // The two older fields that `patches` replaces.
            "patchesStrategicMerge" => {
                for item in items.iter().filter_map(Value::as_str) {
                    let text = if item.contains('\n') { item.to_owned() } else { load(item)? };
                    overlay.patches.extend(each_document(&text, None));
                }
            }
            "patchesJson6902" => {
                for (index, entry) in items.iter().enumerate() {
                    let wrong = |message: String| OverlayError::Patch { index, message };
                    let entry: PatchEntry =
                        serde_json::from_value(entry.clone()).map_err(|error| wrong(error.to_string()))?;
                    let patch = match (entry.patch, entry.path) {
                        (Some(patch), _) => patch,
                        (None, Some(path)) => load(&path)?,
                        (None, None) => return Err(wrong("it has neither patch nor path".to_owned())),
                    };
                    overlay.patches.push(KustomizePatch { patch, target: entry.target });
                }
            }
            other => overlay.unexpressed.push(format!("{other} of kustomization.yaml")),
        }
    }
    Ok(overlay)
}

fn is_generated(name: &str) -> bool {
    let name = name.trim_start_matches("./");
    GENERATED.contains(&name)
}

/// Splits a file of strategic merge patches, because an instance takes one object per patch. A build sets namespaces
/// after it applies patches, so a patch must not contain one.
fn each_document(text: &str, target: Option<&PatchTarget>) -> Vec<KustomizePatch> {
    let documents = yaml::parse_patch_documents(text).unwrap_or_default();
    let texts = texts_of_documents(text, documents.len());
    let target = target.map(|target| PatchTarget { namespace: None, ..target.clone() });
    if documents.len() == 1 && !text.contains("namespace:") {
        return vec![KustomizePatch { patch: text.to_owned(), target }];
    }
    let one = |(mut document, text): (Value, Option<&str>)| {
        if let Some(metadata) = document.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.shift_remove("namespace");
        }
        // The original text is kept if possible, because formatting the parsed value would turn 1.10 into 1.1 and lose
        // comments.
        let patch = text.and_then(|text| text_without_namespace(text, &document));
        let patch = patch.unwrap_or_else(|| yaml::to_string(&document).unwrap_or_default());
        KustomizePatch { patch, target: target.clone() }
    };
    documents.into_iter().zip(texts).map(one).collect()
}

/// Returns the original text of each document; `None` for all documents if the separators do not match them.
fn texts_of_documents(text: &str, count: usize) -> Vec<Option<&str>> {
    let (mut parts, mut begins, mut at) = (vec![], 0, 0);
    for line in text.split_inclusive('\n') {
        if line.trim_end() == "---" {
            parts.push(begins..at);
            begins = at + line.len();
        }
        at += line.len();
    }
    parts.push(begins..at);
    let parts = parts.into_iter().filter_map(|part| text.get(part));
    let is_document = |part: &&str| yaml::parse_patch_documents(part).is_ok_and(|documents| documents.len() == 1);
    let parts: Vec<_> = parts.filter(is_document).map(Some).collect();
    if parts.len() == count { parts } else { vec![None; count] }
}

/// Returns the text of a patch without `metadata.namespace`; parsed, it must equal `expected`. `None` if it is not
/// enough to remove a part of one line.
fn text_without_namespace(text: &str, expected: &Value) -> Option<String> {
    // Compared with the parser of patches, which ignores the last line end of a block scalar.
    let says_it = |text: &str| yaml::parse_patch_documents(text).is_ok_and(|documents| documents == [expected.clone()]);
    if says_it(text) {
        return Some(text.to_owned());
    }
    let place = yaml::parse_positions(text).first()?.key("/metadata/namespace")?;
    let number = usize::try_from(place.line).ok()?.checked_sub(1)?;
    let start: usize = text.split_inclusive('\n').take(number).map(str::len).sum();
    let line = text.get(start..)?.split_inclusive('\n').next()?;
    let column = usize::try_from(place.column).ok()?.checked_sub(1)?;
    let column: usize = line.chars().take(column).map(char::len_utf8).sum();
    // The namespace is a whole line, or a member of `{…}` with or without a comma after it.
    let rest = line.get(column..)?;
    let member = rest
        .find([',', '}'])
        .map_or(rest.len(), |end| end + usize::from(rest.get(end..).is_some_and(|rest| rest.starts_with(','))));
    let cuts = [(start, start + line.len()), (start + column, start + column + member)];
    cuts.into_iter()
        .filter_map(|(from, to)| Some([text.get(..from)?, text.get(to..)?].concat()))
        .find(|without| says_it(without))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_of_several_documents_keep_what_is_written() {
        let text = "# first\nkind: Deployment\nmetadata:\n  name: a\n  namespace: flux-system # ours\nspec: {v: 1.10, on: \"yes\"}\n---\n\
            kind: Deployment\nmetadata: {namespace: flux-system, name: b}\nspec: {v: 0x10, t: 1e3}\n---\n\
            kind: Deployment\nmetadata: {name: c, namespace: flux-system}\nspec:\n  s: |\n    namespace: kept\n";
        let patches: Vec<_> = each_document(text, None).into_iter().map(|patch| patch.patch).collect();
        assert_eq!(
            patches,
            [
                "# first\nkind: Deployment\nmetadata:\n  name: a\nspec: {v: 1.10, on: \"yes\"}\n",
                "kind: Deployment\nmetadata: { name: b}\nspec: {v: 0x10, t: 1e3}\n",
                "kind: Deployment\nmetadata: {name: c, }\nspec:\n  s: |\n    namespace: kept\n",
            ]
        );
        let alone = "kind: Deployment\nmetadata: {namespace: flux-system}\nspec: {v: 1.10}\n";
        assert_eq!(each_document(alone, None)[0].patch, "kind: Deployment\nmetadata: {}\nspec: {v: 1.10}\n");
    }

    #[test]
    fn patches_come_from_every_field_in_order_and_the_rest_is_named() {
        let text = r#"
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [gotk-components.yaml, gotk-sync.yaml, extra.yaml]
patches:
- patch: |
    - op: add
      path: /spec/template/spec/containers/0/args/-
      value: --concurrent=20
  target: {kind: Deployment, name: "(kustomize|helm)-controller", namespace: flux-system}
- path: tolerations.yaml
  target: {kind: Deployment}
patchesStrategicMerge:
- accounts.yaml
images:
- name: a
"#;
        let file = |path: &str| {
            match path {
            "tolerations.yaml" => Ok("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: all}\nspec: {}\n".to_owned()),
            "accounts.yaml" => Ok("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a, namespace: flux-system}\n---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: b}\n".to_owned()),
            other => Err(format!("no {other}")),
        }
        };
        let overlay = read_overlay(text, file).unwrap();
        assert_eq!(overlay.patches.len(), 4);
        assert_eq!(overlay.patches[0].target.as_ref().unwrap().namespace, None);
        assert!(overlay.patches[0].patch.contains("--concurrent=20"));
        assert!(!overlay.patches[2].patch.contains("namespace"), "{}", overlay.patches[2].patch);
        assert_eq!(overlay.unexpressed, ["images of kustomization.yaml"]);
        assert_eq!(overlay.resources, ["extra.yaml"]);
    }

    #[test]
    fn a_missing_patch_file_is_reported() {
        let missing = read_overlay("patches: [{path: x.yaml}]", |path| Err(format!("no {path}")));
        assert_eq!(missing.unwrap_err().to_string(), "cannot read the patch x.yaml: no x.yaml");
        let wrong = read_overlay("patches: [{patches: x}]", |_| Ok(String::new())).unwrap_err();
        assert!(wrong.to_string().starts_with("cannot parse patches[0]: "), "{wrong}");
    }
}
