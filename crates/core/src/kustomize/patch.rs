//! Applies patches to a list of objects and reports the effect of each.

use serde::Serialize;
use serde_json::{Map, Value};

use super::json_patch::{JsonPatch, JsonPatchError};
use super::metadata;
use super::resource::{Resource, ResourceList, effective_namespace, group_version, kind, name, namespace};
use super::selector::{CompiledSelector, Selector, SelectorError};
use super::strategic_merge::{self, MergeError};
use crate::format::yaml;
use crate::format::yaml::YamlError;
use crate::k8s::ObjectId;
use crate::k8s::diff::changed_paths;

/// A patch as the user wrote it: text (JSON 6902 list or strategic merge, as YAML or JSON) and an optional target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    pub target: Option<Selector>,
    pub patch: String,
}

/// A parsed patch.
#[derive(Clone, Debug, PartialEq)]
enum PatchBody {
    Json6902(JsonPatch),
    /// Partial objects, at least one.
    StrategicMerge(Vec<Value>),
}

/// The language of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum PatchKind {
    Json6902,
    StrategicMerge,
}

/// The effect of one patch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PatchReport {
    /// Position in the list of patches, from 0.
    pub index: usize,
    pub kind: PatchKind,
    /// The target in `field=value` form; without a target, the object that the patch names.
    pub target: String,
    /// Empty when the target selects nothing.
    pub objects: Vec<PatchedObject>,
}

/// An object to which a patch was applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PatchedObject {
    /// The identity before the patch.
    #[serde(serialize_with = "as_text")]
    pub object: ObjectId,
    /// Whether the patch removed the object.
    pub deleted: bool,
    /// Paths of the changed fields; empty when the object already had the wanted values.
    pub changes: Vec<String>,
}

fn as_text<S: serde::Serializer>(id: &ObjectId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(id)
}

/// A patch that cannot be read or applied.
#[derive(Debug, thiserror::Error)]
#[error("patches[{index}]{}: {kind}", .object.as_ref().map(|id| format!(" on {id}")).unwrap_or_default())]
pub struct PatchError {
    /// Position in the list of patches, from 0.
    pub index: usize,
    /// The object to which the patch does not apply; `None` if the patch failed before an object was chosen.
    pub object: Option<Box<ObjectId>>,
    pub kind: PatchErrorKind,
}

/// Why a patch cannot be read or applied.
#[derive(Debug, thiserror::Error)]
pub enum PatchErrorKind {
    #[error("must specify a patch: the text is empty")]
    Empty,
    #[error("unable to parse SM or JSON patch: {0}")]
    Yaml(YamlError),
    #[error("unable to parse SM or JSON patch: {0}")]
    Shape(String),
    #[error(transparent)]
    Target(#[from] SelectorError),
    #[error("must specify a target for JSON patch, such as `target: {{kind: Deployment, name: source-controller}}`")]
    TargetMissing,
    #[error("a strategic merge patch with a target is one document, this one has {0}; make it {0} patches")]
    SeveralDocuments(usize),
    /// A strategic merge patch without target names no object of the build.
    #[error("no resource matches strategic merge patch \"{wanted}\"; {}", known(.candidates))]
    NoMatch { wanted: String, candidates: Vec<String> },
    /// A strategic merge patch without target names several objects of the build.
    #[error(
        "several resources match strategic merge patch \"{wanted}\": {}; choose by a target, such as `target: {{kind: …, name: …}}`",
        .candidates.join(", ")
    )]
    Ambiguous { wanted: String, candidates: Vec<String> },
    #[error(transparent)]
    Json(#[from] JsonPatchError),
    #[error(transparent)]
    Merge(#[from] MergeError),
    #[error("the patch removes {0}, which every object needs")]
    IdentityLost(&'static str),
    /// A label or annotation whose value is not text.
    #[error("{0}, and the values of labels and annotations are text")]
    NotText(String),
}

fn known(candidates: &[String]) -> String {
    match candidates {
        [] => "there is no object of this kind; without a target, apiVersion, kind, metadata.name and metadata.namespace have \
               to match the object before the namespace is set"
            .to_string(),
        some => format!("candidates are {} (leave metadata.namespace out for objects named without one)", some.join(", ")),
    }
}

impl Patch {
    /// Parses the text.
    ///
    /// # Errors
    /// The text is empty, not YAML, or neither a list of operations nor partial objects, or the patch lacks a target
    /// that it needs.
    fn read(&self) -> Result<PatchBody, PatchErrorKind> {
        if self.patch.trim().is_empty() {
            return Err(PatchErrorKind::Empty);
        }
        // Parse the text as written, because errors refer to its lines and columns.
        let mut documents = yaml::parse_patch_documents(&self.patch).map_err(PatchErrorKind::Yaml)?;
        if documents.is_empty() {
            // Only comments are left. A patch that is commented out must not stop a build.
            return Ok(PatchBody::Json6902(JsonPatch { operations: Vec::new() }));
        }
        if let [Value::Array(operations)] = documents.as_slice() {
            let patch = JsonPatch::from_operations(operations)?;
            return if self.target.is_some() || patch.operations.is_empty() {
                Ok(PatchBody::Json6902(patch))
            } else {
                Err(PatchErrorKind::TargetMissing)
            };
        }
        for document in &documents {
            check_partial_object(document).map_err(PatchErrorKind::Shape)?;
        }
        metadata::keep_written_text(&mut documents, &self.patch);
        // kubectl writes several objects as one List, and kustomize accepts that form.
        documents = documents.into_iter().flat_map(flatten_list).collect();
        match (documents.len(), &self.target) {
            (0 | 1, _) | (_, None) => Ok(PatchBody::StrategicMerge(documents)),
            (several, Some(_)) => Err(PatchErrorKind::SeveralDocuments(several)),
        }
    }
}

/// Checks that a document has the fields of a strategic merge patch.
fn check_partial_object(document: &Value) -> Result<(), String> {
    let Some(fields) = document.as_object() else {
        return Err("want a list of operations (JSON patch) or a partial object (strategic merge patch)".to_string());
    };
    if fields.contains_key("op") && fields.contains_key("path") {
        return Err("a JSON patch is a list: begin each operation with \"- op:\"".to_string());
    }
    if kind(document).is_empty() {
        return Err("a strategic merge patch needs kind (any, when there is a target)".to_string());
    }
    if name(document).is_empty() && !kind(document).ends_with("List") {
        return Err("a strategic merge patch needs metadata.name (any, when there is a target)".to_string());
    }
    Ok(())
}

fn flatten_list(document: Value) -> Vec<Value> {
    match document {
        Value::Object(mut fields)
            if fields.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("List"))
                && fields.get("items").is_some_and(Value::is_array) =>
        {
            match fields.remove("items") {
                Some(Value::Array(items)) => items,
                _ => Vec::new(),
            }
        }
        document => vec![document],
    }
}

/// Applies the patches in order and reports the effect of each. A target that selects nothing is not an error here; its
/// report has no objects.
///
/// # Errors
/// The first patch that cannot be read or does not apply to one of its objects. The list is then half patched.
pub fn apply_patches(list: &mut ResourceList, patches: &[Patch]) -> Result<Vec<PatchReport>, PatchError> {
    patches
        .iter()
        .enumerate()
        .map(|(index, patch)| {
            let fail = |(object, kind): PatchFailure| PatchError { index, object, kind };
            match patch.read().map_err(|kind| fail((None, kind)))? {
                PatchBody::Json6902(body) => apply_json(list, patch, &body).map_err(fail),
                PatchBody::StrategicMerge(documents) => apply_strategic(list, patch, &documents).map_err(fail),
            }
            .map(|(kind, target, objects)| PatchReport { index, kind, target, objects })
        })
        .collect()
}

type PatchFailure = (Option<Box<ObjectId>>, PatchErrorKind);
type PatchResult = Result<(PatchKind, String, Vec<PatchedObject>), PatchFailure>;

fn compile(target: &Selector) -> Result<CompiledSelector, PatchFailure> {
    target.compile().map_err(|error| (None, error.into()))
}

fn apply_json(list: &mut ResourceList, patch: &Patch, body: &JsonPatch) -> PatchResult {
    let mut objects = Vec::new();
    // Only an empty patch may have no target.
    let Some(target) = &patch.target else { return Ok((PatchKind::Json6902, String::new(), objects)) };
    let selector = compile(target)?;
    for resource in list.0.iter_mut().filter(|resource| selector.matches(resource)) {
        let id = resource.current_id();
        let before = resource.object.clone();
        // A patch may rename the object, and references to it follow by the old name.
        resource.remember_id();
        metadata::add_annotations(&mut resource.object);
        body.apply(&mut resource.object)
            .map_err(PatchErrorKind::from)
            .and_then(|()| check_identity(&resource.object))
            .and_then(|()| metadata::settle(&mut resource.object).map_err(PatchErrorKind::NotText))
            .map_err(|kind| (Some(Box::new(id.clone())), kind))?;
        objects.push(PatchedObject { object: id, deleted: false, changes: changed_paths(&before, &resource.object) });
    }
    Ok((PatchKind::Json6902, target.to_string(), objects))
}

fn apply_strategic(list: &mut ResourceList, patch: &Patch, documents: &[Value]) -> PatchResult {
    let mut objects = Vec::new();
    let mut named = Vec::new();
    for document in documents {
        let chosen: Vec<usize> = match &patch.target {
            Some(target) => {
                let selector = compile(target)?;
                indexes(list, |resource| selector.matches(resource))
            }
            None => vec![the_one_named(list, document).map_err(|kind| (None, kind))?],
        };
        named.push(ObjectId::of(document).to_string());
        let mut position = 0;
        // `retain_mut` cannot stop early, so the remaining objects are skipped after a failure.
        let mut failure = None;
        list.0.retain_mut(|resource| {
            // `indexes` returns sorted positions, so a binary search works.
            let selected = chosen.binary_search(&position).is_ok() && failure.is_none();
            position += 1;
            if !selected {
                return true;
            }
            let id = resource.current_id();
            let before = resource.object.clone();
            let merged = merge_keeping_identity(resource, document).map_err(PatchErrorKind::from).and_then(|kept| {
                metadata::settle(&mut resource.object).map_err(PatchErrorKind::NotText)?;
                Ok(kept)
            });
            match merged {
                Ok(kept) => {
                    let changes = if kept { changed_paths(&before, &resource.object) } else { Vec::new() };
                    objects.push(PatchedObject { object: id, deleted: !kept, changes });
                    kept
                }
                Err(error) => {
                    failure = Some((Some(Box::new(id)), error));
                    true
                }
            }
        });
        if let Some(failure) = failure {
            return Err(failure);
        }
    }
    let target = patch.target.as_ref().map_or_else(|| named.join(", "), Selector::to_string);
    Ok((PatchKind::StrategicMerge, target, objects))
}

fn indexes(list: &ResourceList, mut wanted: impl FnMut(&Resource) -> bool) -> Vec<usize> {
    list.0.iter().enumerate().filter(|(_, resource)| wanted(resource)).map(|(index, _)| index).collect()
}

/// Finds the one object that a patch without a target names, by any name that the object has or had.
fn the_one_named(list: &ResourceList, document: &Value) -> Result<usize, PatchErrorKind> {
    let wanted = ObjectId::of(document);
    let place = effective_namespace(&wanted.group, &wanted.kind, &wanted.namespace);
    let same_type = |resource: &Resource| {
        group_version(&resource.object) == (wanted.group.as_str(), wanted.version.as_str())
            && kind(&resource.object) == wanted.kind
    };
    let found = indexes(list, |resource| {
        same_type(resource)
            && resource.names().any(|(name, namespace)| {
                name == wanted.name && effective_namespace(&wanted.group, &wanted.kind, namespace) == place
            })
    });
    let text = |indexes: Vec<usize>| -> Vec<String> {
        indexes
            .into_iter()
            .filter_map(|index| list.0.get(index))
            .map(|resource| resource.current_id().to_string())
            .collect()
    };
    match found.as_slice() {
        [index] => Ok(*index),
        [] => {
            let mut candidates = indexes(list, same_type);
            // A wrong apiVersion is the usual mistake, so suggest the objects of the same kind or name.
            if candidates.is_empty() {
                candidates = indexes(list, |resource| {
                    kind(&resource.object) == wanted.kind || name(&resource.object) == wanted.name
                });
            }
            Err(PatchErrorKind::NoMatch { wanted: kustomize_id(&wanted), candidates: text(candidates) })
        }
        _ => Err(PatchErrorKind::Ambiguous { wanted: kustomize_id(&wanted), candidates: text(found) }),
    }
}

/// Formats an identity as kustomize does, so that a search for the message finds kustomize's documentation.
fn kustomize_id(id: &ObjectId) -> String {
    let or = |text: &str, none: &str| if text.is_empty() { none.to_string() } else { text.to_string() };
    format!(
        "{}.{}.{}/{}.{}",
        id.kind,
        or(&id.version, "[noVer]"),
        or(&id.group, "[noGrp]"),
        id.name,
        or(&id.namespace, "[noNs]")
    )
}

/// Merges a partial object into a resource and keeps the resource's identity. Returns `false` if the patch deletes the
/// object.
fn merge_keeping_identity(resource: &mut Resource, patch: &Value) -> Result<bool, MergeError> {
    let (group, _) = group_version(&resource.object);
    let (group, object_kind) = (group.to_string(), kind(&resource.object).to_string());
    let object_name = name(&resource.object).to_string();
    let object_namespace = namespace(&resource.object).to_string();
    let api_version = resource.object.get("apiVersion").cloned();
    if !strategic_merge::merge(&mut resource.object, patch, &group, &object_kind)? {
        return Ok(false);
    }
    if let Some(fields) = resource.object.as_object_mut() {
        if let Some(api_version) = api_version {
            fields.insert("apiVersion".to_string(), api_version);
        }
        fields.insert("kind".to_string(), Value::String(object_kind));
        let metadata = fields.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.insert("name".to_string(), Value::String(object_name));
            if object_namespace.is_empty() {
                metadata.shift_remove("namespace");
            } else {
                metadata.insert("namespace".to_string(), Value::String(object_namespace));
            }
        }
    }
    Ok(true)
}

fn check_identity(object: &Value) -> Result<(), PatchErrorKind> {
    let (_, version) = group_version(object);
    for (text, field) in [(version, "apiVersion"), (kind(object), "kind"), (name(object), "metadata.name")] {
        if text.is_empty() {
            return Err(PatchErrorKind::IdentityLost(field));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn deployment(name: &str) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
               "spec": {"replicas": 1, "template": {"spec": {"containers": [{"name": "manager", "args": ["--a"]}]}}}})
    }

    fn list() -> ResourceList {
        ResourceList::from_objects([
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "flux-system"}}),
            deployment("source-controller"),
            deployment("helm-controller"),
        ])
        .unwrap()
    }

    fn patch(target: Option<Selector>, text: &str) -> Patch {
        Patch { target, patch: text.to_string() }
    }

    fn kind_target(kind: &str) -> Option<Selector> {
        Some(Selector { kind: kind.into(), ..Default::default() })
    }

    fn error(target: Option<Selector>, text: &str) -> String {
        apply_patches(&mut list(), &[patch(target, text)]).unwrap_err().to_string()
    }

    #[test]
    fn a_json_patch_changes_every_selected_object_and_reports_it() {
        let mut list = list();
        let text = "- op: add\n  path: /spec/template/spec/containers/0/args/-\n  value: --b\n- {op: replace, path: /spec/replicas, value: 1}\n";
        let reports = apply_patches(&mut list, &[patch(kind_target("Deployment"), text)]).unwrap();
        let [report] = reports.as_slice() else { panic!("{reports:?}") };
        assert_eq!((report.index, report.kind, report.target.as_str()), (0, PatchKind::Json6902, "kind=Deployment"));
        let objects: Vec<_> = report.objects.iter().map(|object| object.object.to_string()).collect();
        assert_eq!(objects, ["Deployment/source-controller", "Deployment/helm-controller"]);
        assert_eq!(report.objects[0].changes, ["spec.template.spec.containers[name=manager].args"]);
        assert_eq!(list.0[2].object["spec"]["template"]["spec"]["containers"][0]["args"], json!(["--a", "--b"]));
    }

    #[test]
    fn a_strategic_patch_with_target_keeps_name_namespace_and_kind() {
        let mut list = list();
        let text =
            "apiVersion: v1\nkind: Nothing\nmetadata: {name: all, namespace: x, labels: {a: b}}\nspec: {replicas: 3}\n";
        let reports = apply_patches(&mut list, &[patch(kind_target("Deployment"), text)]).unwrap();
        assert_eq!(reports[0].objects[1].changes, ["metadata.labels", "spec.replicas"]);
        let object = &list.0[1].object;
        assert_eq!(object["metadata"], json!({"name": "source-controller", "labels": {"a": "b"}}));
        assert_eq!((&object["apiVersion"], &object["kind"]), (&json!("apps/v1"), &json!("Deployment")));
    }

    #[test]
    fn a_strategic_patch_can_delete_objects() {
        let mut list = list();
        let text = "$patch: delete\nkind: Deployment\nmetadata: {name: all}\n";
        let reports = apply_patches(&mut list, &[patch(kind_target("Deployment"), text)]).unwrap();
        assert!(reports[0].objects.iter().all(|object| object.deleted));
        assert_eq!(list.0.len(), 1);
    }

    #[test]
    fn a_strategic_patch_without_target_changes_the_object_it_names() {
        let mut list = list();
        let text = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: helm-controller}\nspec: {replicas: 0}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: flux-system, labels: {a: b}}\n";
        let reports = apply_patches(&mut list, &[patch(None, text)]).unwrap();
        assert_eq!(reports[0].target, "Deployment/helm-controller, Namespace/flux-system");
        assert_eq!(reports[0].objects.len(), 2);
        assert_eq!(list.0[2].object["spec"]["replicas"], json!(0));
    }

    #[test]
    fn a_strategic_patch_without_target_has_to_match_exactly_one_object() {
        let nothing = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: nothing}\n";
        assert_eq!(
            error(None, nothing),
            "patches[0]: no resource matches strategic merge patch \"Deployment.v1.apps/nothing.[noNs]\"; candidates are \
             Deployment/source-controller, Deployment/helm-controller (leave metadata.namespace out for objects named without one)"
        );
        let mut sharded = list();
        let mut shard = Resource::new(deployment("helm-controller"));
        shard.remember_id();
        shard.object["metadata"]["name"] = json!("helm-controller-s1");
        sharded.0.push(shard);
        let text = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: helm-controller}\n";
        let error = apply_patches(&mut sharded, &[patch(None, text)]).unwrap_err().to_string();
        assert!(
            error.contains("several resources match")
                && error.contains("Deployment/helm-controller, Deployment/helm-controller-s1;"),
            "{error}"
        );
    }

    #[test]
    fn a_target_that_selects_nothing_gives_a_report_without_objects() {
        let reports =
            apply_patches(&mut list(), &[patch(kind_target("StatefulSet"), "- {op: remove, path: /spec}")]).unwrap();
        assert!(reports[0].objects.is_empty());
    }

    fn patched(kind: &str, text: &str) -> Value {
        let mut list = list();
        let reports = apply_patches(&mut list, &[patch(kind_target(kind), text)]).unwrap();
        assert!(!reports[0].objects.is_empty());
        list.0.iter().find(|resource| super::kind(&resource.object) == kind).unwrap().object.clone()
    }

    #[test]
    fn words_of_yaml_1_1_are_booleans_in_a_json_patch_and_text_in_a_merge_patch() {
        let object = patched("Namespace", "- {op: add, path: /spec, value: {y: on, a: yes, b: off}}");
        assert_eq!(object["spec"], json!({"y": true, "a": true, "b": false}));
        let object = patched("Namespace", "kind: X\nmetadata: {name: x}\nspec: {y: on, a: yes}");
        assert_eq!(object["spec"], json!({"y": "on", "a": "yes"}));
    }

    #[test]
    fn annotations_exist_while_a_json_patch_runs() {
        for (operations, expected) in [
            ("[{op: add, path: /metadata/annotations/a.b~1c, value: d}]", Some(json!({"a.b/c": "d"}))),
            ("[{op: replace, path: /metadata/annotations/a, value: d}]", Some(json!({"a": "d"}))),
            ("[{op: remove, path: /metadata/annotations}]", None),
            ("[{op: test, path: /metadata/annotations/a, value: null}]", None),
            ("[{op: add, path: /metadata/annotations, value: {}}]", None),
            ("[{op: add, path: /metadata/annotations, value: null}]", None),
            ("[{op: add, path: /metadata/annotations/a, value: null}]", None),
            ("[{op: copy, from: /kind, path: /metadata/annotations/k}]", Some(json!({"k": "Namespace"}))),
        ] {
            assert_eq!(
                patched("Namespace", operations)["metadata"].get("annotations"),
                expected.as_ref(),
                "{operations}"
            );
        }
        let target = || kind_target("Namespace");
        for (operations, message) in [
            ("[{op: remove, path: /metadata/annotations/a}]", "there is no key a"),
            ("[{op: test, path: /metadata/annotations, value: null}]", "the value is different"),
            (
                "[{op: remove, path: /metadata/annotations}, {op: add, path: /metadata/annotations/a, value: b}]",
                "/metadata/annotations does not exist",
            ),
            ("[{op: add, path: /metadata/labels/a, value: b}]", "/metadata/labels does not exist"),
            ("[{op: add, path: /metadata/annotations, value: text}]", "metadata.annotations is not a mapping"),
            ("[{op: add, path: /metadata/annotations/a, value: {b: c}}]", "metadata.annotations.a is a mapping"),
            ("[{op: add, path: /metadata/labels, value: {a: [b]}}]", "metadata.labels.a is a list"),
        ] {
            let error = error(target(), operations);
            assert!(error.contains(message), "{operations}: {error}");
        }
    }

    #[test]
    fn labels_and_annotations_become_text_with_the_letters_of_a_merge_patch() {
        let text = "kind: X\nmetadata:\n  name: x\n  labels: {a: 4711, b: true, c: 1.10, d: null}\n  \
                    annotations: {a: 0644, b: 0x1F, c: True, d: 1e3, e: ~}\n\
                    spec: {template: {metadata: {annotations: {port: 9090, version: 1.10}}}}\n";
        let object = patched("Deployment", text);
        assert_eq!(object["metadata"]["labels"], json!({"a": "4711", "b": "true", "c": "1.10"}));
        assert_eq!(object["metadata"]["annotations"], json!({"a": "0644", "b": "0x1F", "c": "True", "d": "1e3"}));
        let template = &object["spec"]["template"]["metadata"]["annotations"];
        assert_eq!(template, &json!({"port": "9090", "version": "1.10"}));

        let listed = format!("kind: XList\nitems:\n- {}", text.replace('\n', "\n  ").trim_end());
        assert_eq!(patched("Deployment", &listed)["metadata"]["labels"]["c"], json!("1.10"));

        // kustomize converts a JSON patch to JSON before it writes the annotation.
        let text = "- {op: add, path: /metadata/annotations, value: {a: 0644, b: 1.10, c: yes}}\n\
                    - {op: add, path: /metadata/labels, value: {a: 1}}\n";
        let object = patched("Deployment", text);
        assert_eq!(object["metadata"]["annotations"], json!({"a": "420", "b": "1.1", "c": "true"}));
        assert_eq!(object["metadata"]["labels"], json!({"a": "1"}));
    }

    #[test]
    fn the_last_block_scalar_of_a_patch_has_no_final_line_break() {
        for block in
            ["|\n  a\n  b\n", "|-\n  a\n  b", "|+\n  a\n  b\n\n\n", "|2\n  a\n  b\n  \n", "&x | # note\n  a\n  b\n"]
        {
            let text = format!("kind: X\nmetadata: {{name: x}}\nspec: {block}");
            assert_eq!(patched("Namespace", &text)["spec"], "a\nb", "{block:?}");
            let text = format!("- op: add\n  path: /spec\n  value: {}", block.replace("\n  ", "\n    "));
            assert_eq!(patched("Namespace", &text)["spec"], "a\nb", "{block:?}");
        }
        for (text, expected) in [
            ("kind: X\nmetadata: {name: x}\nspec: |\n  a\n# the end\n", "a\n"),
            ("kind: X\nspec: |\n  a\nmetadata: {name: x}\n", "a\n"),
            ("kind: X\nmetadata: {name: x}\nspec: \"a\\n\"\n", "a\n"),
            ("kind: X\nmetadata: {name: x}\nspec: >\n  a\n  b\n", "a b"),
        ] {
            assert_eq!(patched("Namespace", text)["spec"], expected, "{text:?}");
        }
    }

    #[test]
    fn a_patch_without_operations_or_documents_changes_nothing() {
        for text in ["[]", " []\n", "# nothing yet\n", "---\n# nothing\n---\n", "null"] {
            for target in [kind_target("Deployment"), None] {
                let (mut list, selected) = (list(), if target.is_some() { 2 } else { 0 });
                let reports = apply_patches(&mut list, &[patch(target, text)]).unwrap();
                assert_eq!(reports[0].objects.len(), selected, "{text:?}");
                assert!(reports[0].objects.iter().all(|object| object.changes.is_empty()), "{text:?}");
            }
        }
    }

    #[test]
    fn a_renamed_object_is_still_selected_by_its_old_name() {
        let mut list = list();
        let rename = patch(kind_target("Namespace"), "- {op: replace, path: /metadata/name, value: other}");
        let second = patch(
            Some(Selector { name: "flux-system".into(), ..Default::default() }),
            "- {op: add, path: /metadata/labels, value: {a: b}}",
        );
        let reports = apply_patches(&mut list, &[rename, second]).unwrap();
        assert_eq!(reports[1].objects[0].object.to_string(), "Namespace/other");
    }

    #[test]
    fn patches_that_cannot_be_used_say_which_one_and_why() {
        for (target, text, message) in [
            (kind_target("Deployment"), " \n", "must specify a patch: the text is empty"),
            (kind_target("Deployment"), "just text", "unable to parse SM or JSON patch: want a list of operations"),
            (
                kind_target("Deployment"),
                "{op: remove, path: /spec}",
                "unable to parse SM or JSON patch: a JSON patch is a list: begin each operation with \"- op:\"",
            ),
            (
                kind_target("Deployment"),
                "spec: {replicas: 1}",
                "unable to parse SM or JSON patch: a strategic merge patch needs kind",
            ),
            (kind_target("Deployment"), "kind: X\nspec: {replicas: 1}", "needs metadata.name"),
            (
                kind_target("Deployment"),
                "kind: X\nmetadata: {name: a}\n---\nkind: X\nmetadata: {name: a}",
                "one document, this one has 2; make it 2 patches",
            ),
            (kind_target("Deployment"), "- {op: removes, path: /spec}", "operation 1: Unexpected kind: removes"),
            (None, "- {op: remove, path: /spec}", "must specify a target for JSON patch"),
            (kind_target("("), "- {op: remove, path: /spec}", "target.kind: \"(\" is not a regular expression"),
            (
                kind_target("Deployment"),
                "- {op: remove, path: /spec/nope}",
                "patches[0] on Deployment/source-controller: operation 1: error in remove for path: '/spec/nope': there is no key nope",
            ),
            (
                kind_target("Deployment"),
                "- {op: remove, path: /metadata/name}",
                "patches[0] on Deployment/source-controller: the patch removes metadata.name",
            ),
            (
                kind_target("Deployment"),
                "kind: X\nmetadata: {name: a}\nspec: 1",
                "patches[0] on Deployment/source-controller: at spec: the object has a mapping here, the patch has a number",
            ),
        ] {
            let error = error(target, text);
            assert!(error.starts_with("patches[0]") && error.contains(message), "{error}");
        }
        let broken = error(kind_target("Deployment"), "a: [b\nc: d");
        assert!(broken.contains(" at line "), "{broken}");
    }
}
