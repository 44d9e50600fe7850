//! Flux objects in files, brought to the API version that a version of Flux stores: edited in place, so that comments, order
//! and layout stay.
//!
//! Which versions and fields there are is read from the definitions of the distribution; how a field is written in the new
//! version is a table (<https://fluxcd.io/flux/components/>, "What's new in v1" and "Migration" of each kind).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{Component, Distribution, DistributionError, FluxVersion};
use crate::format::yaml::{self, Location, Positions, YamlError};
use crate::k8s::ObjectId;

/// Deepest place that is looked at; files nest less.
const MAX_DEPTH: usize = 64;

/// Fields that older versions spell otherwise: kind, where the field stands, what it is called now.
const RENAMED_TO_LIST: [(&str, &str, &str); 2] =
    [("HelmRelease", "/spec/chart/spec/valuesFile", "valuesFiles"), ("HelmChart", "/spec/valuesFile", "valuesFiles")];

/// What to do about a field that is no more, where it can be said.
const ADVICE: [(&str, &str); 7] = [
    ("/patchesStrategicMerge", "write each as an item of patches, with the text as patch"),
    ("/patchesJson6902", "write each as an item of patches, with the text as patch and its target"),
    ("/gitImplementation", "leave it out: there is one implementation"),
    ("/accessFrom", "leave it out: sources are read from every namespace unless a controller forbids it"),
    ("/validation", "leave it out: the API server validates"),
    ("/valuesFile", "write it as valuesFiles, which is a list"),
    ("/summary", "write it as eventMetadata.summary"),
];

/// The API version of every kind in one version of Flux, with the schema of that version.
pub struct StoredVersions(BTreeMap<(String, String), Stored>);

struct Stored {
    version: String,
    schema: Value,
}

/// One edit, and where the text had what it replaces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Edit {
    /// Counts from 1.
    pub line: u64,
    /// `KIND/NAMESPACE/NAME`, as the file has it.
    pub object: String,
    pub from: String,
    pub to: String,
}

/// A field that the new version does not have, and that no edit here brings into it.
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

/// A text and what was done to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Migrated {
    pub text: String,
    /// In the order of the text.
    pub edits: Vec<Edit>,
    pub lost: Vec<LostField>,
}

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

    /// Rewrites the Flux objects of a YAML or JSON text.
    ///
    /// # Errors
    /// The text is no YAML: a template, for example.
    pub fn migrate(&self, text: &str) -> Result<Migrated, YamlError> {
        let documents = yaml::parse_documents(text)?;
        let positions = yaml::parse_positions(text);
        let mut found = Found { stored: self, lines: text.split('\n').collect(), edits: vec![], lost: vec![] };
        // Where the two readings differ nothing can be pointed at.
        if documents.len() == positions.len() {
            for (document, positions) in documents.iter().zip(&positions) {
                found.look(document, String::new(), positions, 0);
            }
        }
        let Found { mut edits, mut lost, .. } = found;
        edits.sort_by_key(|(at, ..)| *at);
        // The text of an alias is the text of its anchor: edited once.
        edits.dedup_by_key(|(at, ..)| *at);
        lost.sort_by_key(|field| field.line);
        let text = edited(text, &edits);
        let edits = edits.into_iter().map(|(_, _, edit)| edit).collect();
        Ok(Migrated { text, edits, lost })
    }
}

/// The version of a definition that is stored, by group and kind.
fn stored_version(object: &Value) -> Option<((String, String), Stored)> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let is_stored = |version: &&Value| version.get("storage").and_then(Value::as_bool) == Some(true);
    let version = object.pointer("/spec/versions")?.as_array()?.iter().find(is_stored)?;
    let stored = Stored {
        version: version.get("name")?.as_str()?.to_owned(),
        schema: version.pointer("/schema/openAPIV3Schema")?.clone(),
    };
    Some(((text("/spec/group")?, text("/spec/names/kind")?), stored))
}

/// A place of the text: line and column from 0, and how many characters stand there.
type Place = (usize, usize, usize);

struct Found<'a> {
    stored: &'a StoredVersions,
    lines: Vec<&'a str>,
    /// Where, what stands there afterwards, and how that is told.
    edits: Vec<(Place, String, Edit)>,
    lost: Vec<LostField>,
}

impl Found<'_> {
    /// Looks at a value and at everything in it: lists, templates of a ResourceSet and health checks name versions as well.
    fn look(&mut self, value: &Value, pointer: String, positions: &Positions, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        let below = |key: &str| format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"));
        match value {
            Value::Object(fields) => {
                self.look_at_object(value, &pointer, positions);
                for (key, value) in fields {
                    self.look(value, below(key), positions, depth + 1);
                }
            }
            Value::Array(items) => {
                for (index, value) in items.iter().enumerate() {
                    self.look(value, below(&index.to_string()), positions, depth + 1);
                }
            }
            _ => {}
        }
    }

    fn look_at_object(&mut self, value: &Value, pointer: &str, positions: &Positions) {
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let (Some(api_version), Some(kind)) = (text("apiVersion"), text("kind")) else { return };
        let Some((group, version)) = api_version.split_once('/') else { return };
        let Some(stored) = self.stored.0.get(&(group.to_owned(), kind.to_owned())) else { return };
        if version == stored.version {
            return;
        }
        let object = ObjectId::of(value).to_string();
        let now = format!("{group}/{}", stored.version);
        let at = positions.value(&format!("{pointer}/apiVersion"));
        self.replace(at, api_version, &now, &object);
        if value.get("metadata").is_none() {
            // A reference has no fields of the kind.
            return;
        }
        let mut unknown = vec![];
        unknown_fields(value, &stored.schema, String::new(), &mut unknown);
        for field in unknown.iter().filter(|field| !field.starts_with("/metadata")) {
            if self.rename(value, kind, field, pointer, positions, &object) {
                continue;
            }
            let line = positions.key(&format!("{pointer}{field}")).map_or(0, |at| at.line);
            let advice = ADVICE.iter().find(|(end, _)| field.ends_with(end)).map(|(_, advice)| *advice);
            let field = field.trim_start_matches('/').replace('/', ".");
            self.lost.push(LostField { line, object: object.clone(), field, api_version: now.clone(), advice });
        }
    }

    /// Renames a field whose one value becomes a list of one; `false` when the table has no such field.
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
        let (Some(key), Some(content)) = (self.place(key, old), self.place(content, only)) else { return false };
        let written: String = self.written(content);
        let line = key.0 as u64 + 1;
        let edit = |from: &str, to: &str| Edit { line, object: object.to_owned(), from: from.into(), to: to.into() };
        self.edits.push((key, self.written(key).replace(old, now), edit(old, now)));
        self.edits.push((content, format!("[{written}]"), edit(&written, &format!("[{written}]"))));
        true
    }

    fn replace(&mut self, at: Option<Location>, old: &str, new: &str, object: &str) {
        let Some(place) = self.place(at, old) else { return };
        let edit =
            Edit { line: place.0 as u64 + 1, object: object.to_owned(), from: old.to_owned(), to: new.to_owned() };
        self.edits.push((place, self.written(place).replace(old, new), edit));
    }

    /// Where a text stands on its line, plain or in quotes.
    fn place(&self, at: Option<Location>, text: &str) -> Option<Place> {
        let at = at?;
        let line = usize::try_from(at.line).ok()?.checked_sub(1)?;
        let column = usize::try_from(at.column).ok()?.checked_sub(1)?;
        let rest: String = self.lines.get(line)?.chars().skip(column).collect();
        let forms = [text.to_owned(), format!("\"{text}\""), format!("'{text}'")];
        let form = forms.iter().find(|form| rest.starts_with(form.as_str()))?;
        Some((line, column, form.chars().count()))
    }

    fn written(&self, (line, column, length): Place) -> String {
        self.lines.get(line).map(|line| line.chars().skip(column).take(length).collect()).unwrap_or_default()
    }
}

/// Replaces places of a text, in their order.
fn edited(text: &str, edits: &[(Place, String, Edit)]) -> String {
    let mut result = String::with_capacity(text.len());
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            result.push('\n');
        }
        let mut from = 0;
        for ((_, column, length), new, _) in edits.iter().filter(|((line, ..), ..)| *line == number) {
            result.extend(line.chars().skip(from).take(column - from));
            result.push_str(new);
            from = column + length;
        }
        result.extend(line.chars().skip(from));
    }
    result
}

/// The fields of a value that its schema does not have, as JSON pointers; what is below such a field is not named.
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
            for (key, value) in fields {
                let pointer = format!("{pointer}/{key}");
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
    fn versions_and_renamed_fields_are_edited_and_everything_else_stays() {
        let migrated = newest().migrate(RELEASE).unwrap();
        let expected = RELEASE
            .replace("v2beta1 # old", "v2 # old")
            .replace("valuesFile: 'values-prod.yaml'", "valuesFiles: ['values-prod.yaml']")
            .replace("v1beta2", "v1");
        assert_eq!(migrated.text, expected);
        let told: Vec<String> =
            migrated.edits.iter().map(|e| format!("{} {} {} {}", e.line, e.object, e.from, e.to)).collect();
        assert_eq!(
            told,
            [
                "2 HelmRelease/apps/web helm.toolkit.fluxcd.io/v2beta1 helm.toolkit.fluxcd.io/v2",
                "9 HelmRelease/apps/web valuesFile valuesFiles",
                "9 HelmRelease/apps/web 'values-prod.yaml' ['values-prod.yaml']",
                "12 GitRepository/web source.toolkit.fluxcd.io/v1beta2 source.toolkit.fluxcd.io/v1",
            ]
        );
        let lost: Vec<String> = migrated.lost.iter().map(|lost| format!("{} {}", lost.line, lost.field)).collect();
        assert_eq!(lost, ["17 spec.gitImplementation"]);
        // Done once, it is done.
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
    fn an_older_flux_keeps_what_it_stores() {
        let distribution = Distribution::embedded();
        let version = distribution.versions().into_iter().find(|version| version.name == "v2.2.3").unwrap();
        let stored = StoredVersions::of(&distribution, &version).unwrap();
        let text = "apiVersion: source.toolkit.fluxcd.io/v1beta2\nkind: OCIRepository\nmetadata: {name: a}\n";
        assert_eq!(stored.migrate(text).unwrap().text, text);
        assert!(newest().migrate(text).unwrap().text.contains("fluxcd.io/v1\n"));
        assert!(newest().migrate("a: {{ .Values.b }}\n  c").is_err());
    }
}
