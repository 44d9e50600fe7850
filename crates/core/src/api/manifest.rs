//! Reads a manifest into a FluxInstance: fills in the API's defaults, checks every rule, and returns all problems at
//! once.
//!
//! ```text
//! text -> documents -> the one FluxInstance -> defaults + schema -> rules across fields -> types
//!                                                    └──── problems with path, line, column ────┘
//! ```
//!
//! Fields added by an API server (`status`, `managedFields`, `uid` and so on) are ignored, so that the output of
//! `kubectl get -o yaml` is a manifest too.

use serde_json::Value;

use super::checked::{CheckedInstance, InvalidInstance, Problem, complete, located};
use super::flux_instance::{FluxInstance, FluxInstanceSpec};
use super::rules::{FieldPath, Finding, list, shown};
use super::well_known;
use crate::format::go_duration;
use crate::format::yaml;
use crate::format::yaml::{Location, Positions, YamlError};

/// Namespaces from the command line, to combine with the manifest's.
#[derive(Clone, Debug)]
pub struct NamespaceChoice {
    /// Explicitly requested namespace; a manifest with another one is refused.
    pub explicit: Option<String>,
    /// Default namespace for a manifest without one.
    pub default: String,
}

impl Default for NamespaceChoice {
    fn default() -> Self {
        NamespaceChoice { explicit: None, default: well_known::DEFAULT_NAMESPACE.into() }
    }
}

/// A manifest and its warnings.
#[derive(Clone, Debug)]
pub struct InstanceManifest {
    /// The instance: name, namespace, labels, annotations and spec; no status.
    pub instance: CheckedInstance,
    /// The object as its author wrote it, for server-side apply: without the API's defaults. It has the namespace of
    /// the instance, and no fields that only the API server writes.
    pub written: Value,
    /// Accepted settings without effect.
    pub warnings: Vec<Problem>,
}

/// Why a text is not a FluxInstance.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    #[error(transparent)]
    Yaml(#[from] YamlError),
    /// No document is a FluxInstance; `found` lists the documents as `kind apiVersion`.
    #[error("no FluxInstance found: {}", if .found.is_empty() { "there are no objects".into() } else { format!("there is {}", list(.found, "and")) })]
    NoInstance { found: Vec<String> },
    /// Several documents are FluxInstances, at these positions.
    #[error("{} FluxInstances found ({}): one is expected", .0.len(), places(.0))]
    SeveralInstances(Vec<Option<Location>>),
    /// All problems of the instance.
    #[error(transparent)]
    Invalid(#[from] InvalidInstance),
}

impl ManifestError {
    /// Returns the single problems, if there are several.
    pub fn problems(&self) -> &[Problem] {
        match self {
            ManifestError::Invalid(InvalidInstance(problems)) => problems,
            _ => &[],
        }
    }
}

fn places(locations: &[Option<Location>]) -> String {
    let lines: Vec<String> = locations.iter().flatten().map(|location| format!("line {}", location.line)).collect();
    list(&lines, "and")
}

/// Reads the only FluxInstance in a text of YAML or JSON: alone, among other documents, or in a `List`.
///
/// # Errors
/// [`ManifestError`]; [`ManifestError::Invalid`] contains every problem of the manifest.
pub fn read(text: &str, namespace: &NamespaceChoice) -> Result<InstanceManifest, ManifestError> {
    let documents = yaml::parse_documents(text)?;
    let positions = LazyPositions { text, parsed: std::cell::OnceCell::new() };
    let (place, object) = the_one_instance(&documents, &positions)?;
    let locate =
        |findings: Vec<Finding>| -> Vec<Problem> { located(findings, |finding| positions.of(&place, finding)) };

    let written = object.clone();
    let mut object = object.clone();
    let mut findings = check_version(&object);
    // Another version has other fields, so problems with fields would only mislead.
    if findings.is_empty() {
        findings = complete(&mut object);
        findings.extend(check_namespace(&object, namespace));
    }
    if !findings.is_empty() {
        return Err(InvalidInstance(locate(findings)).into());
    }
    let warnings = locate(odd_annotations(&object));
    let instance = to_instance(&object, namespace).map_err(|error| InvalidInstance::of(&error))?;
    let written = applicable(written, instance.metadata.namespace.as_deref());
    Ok(InstanceManifest { instance: CheckedInstance::of_complete(instance), written, warnings })
}

/// Adds the namespace and removes fields that only the API server writes: exported objects have them, and apply refuses
/// them.
fn applicable(mut written: Value, namespace: Option<&str>) -> Value {
    if let Some(fields) = written.as_object_mut() {
        fields.shift_remove("status");
    }
    if let Some(metadata) = written.get_mut("metadata").and_then(Value::as_object_mut) {
        for server_made in ["managedFields", "resourceVersion", "uid", "generation", "creationTimestamp"] {
            metadata.shift_remove(server_made);
        }
        if let Some(namespace) = namespace {
            metadata.insert("namespace".into(), namespace.into());
        }
    }
    written
}

/// Position of the instance in the text: its document, and a JSON pointer within.
struct InstancePosition {
    document: usize,
    pointer: String,
}

/// Positions in the text, computed only when a problem must be located.
struct LazyPositions<'a> {
    text: &'a str,
    parsed: std::cell::OnceCell<Vec<Positions>>,
}

impl LazyPositions<'_> {
    fn of(&self, place: &InstancePosition, finding: &Finding) -> Option<Location> {
        let document = self.parsed.get_or_init(|| yaml::parse_positions(self.text)).get(place.document)?;
        let pointer = format!("{}{}", place.pointer, finding.path.pointer());
        if finding.is_key { document.key(&pointer) } else { document.value(&pointer) }
    }
}

fn the_one_instance<'a>(
    documents: &'a [Value],
    positions: &LazyPositions,
) -> Result<(InstancePosition, &'a Value), ManifestError> {
    let (mut instances, mut others) = (Vec::new(), Vec::new());
    for (document, value) in documents.iter().enumerate() {
        for (pointer, object) in objects(value) {
            if is_instance(object) {
                instances.push((InstancePosition { document, pointer }, object));
            } else {
                others.push(kind_in_words(object));
            }
        }
    }
    if instances.len() > 1 {
        let root = Finding::value(&FieldPath::default(), String::new());
        return Err(ManifestError::SeveralInstances(
            instances.iter().map(|(place, _)| positions.of(place, &root)).collect(),
        ));
    }
    others.dedup();
    instances.pop().ok_or(ManifestError::NoInstance { found: others })
}

/// Returns the objects of a document: the document itself, or the items of a list.
fn objects(document: &Value) -> Vec<(String, &Value)> {
    let kind = document.get("kind").and_then(Value::as_str).unwrap_or_default();
    match document.get("items").and_then(Value::as_array) {
        // `kubectl get -o yaml` prints a `List`, the API server itself a `FluxInstanceList`.
        Some(items) if kind.ends_with("List") => {
            items.iter().enumerate().map(|(index, item)| (format!("/items/{index}"), item)).collect()
        }
        _ => vec![(String::new(), document)],
    }
}

fn is_instance(object: &Value) -> bool {
    let text = |field| object.get(field).and_then(Value::as_str).unwrap_or_default();
    // An instance without apiVersion is still recognised, so that the missing field can be reported.
    let group = text("apiVersion").split('/').next().unwrap_or_default();
    text("kind") == "FluxInstance" && (group.is_empty() || group == well_known::GROUP || object.get("spec").is_some())
}

fn kind_in_words(object: &Value) -> String {
    match (object.get("kind").and_then(Value::as_str), object.get("apiVersion").and_then(Value::as_str)) {
        (Some(kind), Some(version)) => format!("{kind} {version}"),
        (Some(kind), None) => kind.into(),
        _ => "an object without kind".into(),
    }
}

/// Fields that had another name in v1alpha1, the version of the design proposal.
const RENAMED_SINCE_V1ALPHA1: [(&str, &str); 2] =
    [("spec.distribution.pullSecret", "spec.distribution.imagePullSecret"), ("spec.shards", "spec.sharding.shards")];

fn check_version(object: &Value) -> Vec<Finding> {
    let path = FieldPath::of("apiVersion");
    let served = well_known::API_VERSION;
    match object.get("apiVersion").and_then(Value::as_str) {
        Some(version) if version == served => Vec::new(),
        Some(version) if version == format!("{}/v1alpha1", well_known::GROUP) => {
            let mut findings = vec![Finding::value(&path, format!("{version} is no longer served: write {served}"))];
            let renamed = RENAMED_SINCE_V1ALPHA1.map(|(old, new)| (FieldPath::of(old), new));
            findings.extend(
                renamed
                    .into_iter()
                    .filter(|(old, _)| object.pointer(&old.pointer()).is_some())
                    .map(|(old, new)| Finding::key(&old, format!("rename it to {new}"))),
            );
            findings
        }
        Some(version) => vec![Finding::value(&path, format!("{version:?} is not {served}"))],
        None => vec![Finding::value(&path, format!("is required: it must be {served}"))],
    }
}

fn check_namespace(object: &Value, choice: &NamespaceChoice) -> Option<Finding> {
    let path = FieldPath::of("metadata.namespace");
    let own = object.pointer("/metadata/namespace").and_then(Value::as_str).filter(|name| !name.is_empty());
    match (own, &choice.explicit) {
        (Some(own), Some(asked)) if own != asked => Some(Finding::value(
            &path,
            format!("{own} differs from the requested namespace {asked}: change one of them"),
        )),
        _ => None,
    }
}

/// Finds annotations whose value is invalid and has no effect.
fn odd_annotations(object: &Value) -> Vec<Finding> {
    let annotation = |key: &str| object.pointer("/metadata/annotations")?.get(key)?.as_str();
    let path = |key: &str| FieldPath::of("metadata.annotations").field(key);
    let durations = [
        (well_known::RECONCILE_EVERY_ANNOTATION, "1h"),
        (well_known::RECONCILE_ARTIFACT_EVERY_ANNOTATION, "10m"),
        (well_known::RECONCILE_TIMEOUT_ANNOTATION, "5m"),
    ];
    let mut findings: Vec<Finding> = durations
        .into_iter()
        .filter_map(|(key, default)| {
            let text = annotation(key)?;
            go_duration::parse(text).err()?;
            Some(Finding::value(
                &path(key),
                format!("{} is not a duration, {default} is used", shown(&Value::from(text))),
            ))
        })
        .collect();
    let key = well_known::RECONCILE_ANNOTATION;
    let known = [well_known::ENABLED, well_known::DISABLED];
    if let Some(text) = annotation(key).filter(|text| !known.iter().any(|word| text.eq_ignore_ascii_case(word))) {
        let text = shown(&Value::from(text));
        findings
            .push(Finding::value(&path(key), format!("{text} is neither enabled nor disabled, it counts as enabled")));
    }
    findings
}

fn to_instance(object: &Value, choice: &NamespaceChoice) -> Result<FluxInstance, serde_json::Error> {
    let metadata = |field: &str| object.pointer("/metadata").and_then(|all| all.get(field)).cloned();
    let spec: FluxInstanceSpec = serde_json::from_value(object.get("spec").cloned().unwrap_or_default())?;
    let own: Option<String> = metadata("namespace").map(serde_json::from_value).transpose()?;
    let namespace = own.filter(|name| !name.is_empty()).or(choice.explicit.clone()).unwrap_or(choice.default.clone());
    // No other name passes the rules.
    let mut instance = FluxInstance::new(well_known::INSTANCE_NAME, spec);
    instance.metadata.namespace = Some(namespace);
    instance.metadata.labels = metadata("labels").map(serde_json::from_value).transpose()?;
    instance.metadata.annotations = metadata("annotations").map(serde_json::from_value).transpose()?;
    Ok(instance)
}

#[cfg(test)]
mod tests;
