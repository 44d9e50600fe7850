//! Reads a manifest text into a FluxInstance: the API's defaults filled in, every rule checked, all problems at once.
//!
//! ```text
//! text -> documents -> the one FluxInstance -> defaults + schema -> rules across fields -> types
//!                                                    └──── problems with path, line, column ────┘
//! ```
//!
//! What an API server adds (`status`, `managedFields`, `uid` and the like) is ignored, so that the output of
//! `kubectl get -o yaml` is a manifest too.

use std::fmt;

use kube::api::ObjectMeta;
use serde_json::{Value, json};

use super::crd;
use super::flux_instance::{FluxInstance, FluxInstanceSpec};
use super::well_known;
use crate::format::go_duration;
use crate::format::yaml;
use crate::format::yaml::{Location, Positions, YamlError};
use crate::k8s::names::is_dns_label;

mod path;
mod rules;
mod schema;

pub use path::FieldPath;

/// Which namespace an instance gets when its manifest and the command line are put together.
#[derive(Clone, Debug)]
pub struct NamespaceChoice {
    /// Namespace that was asked for explicitly; a manifest that names another is refused.
    pub explicit: Option<String>,
    /// Namespace for a manifest that names none, when none was asked for.
    pub default: String,
}

impl Default for NamespaceChoice {
    fn default() -> Self {
        NamespaceChoice { explicit: None, default: well_known::DEFAULT_NAMESPACE.into() }
    }
}

/// A manifest that was read, and what is odd about it.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// The instance: name, namespace, labels, annotations and spec; no status.
    pub instance: FluxInstance,
    /// The same object as its author wrote it: what server-side apply is to own, without the API's defaults. It has the
    /// namespace of the instance, and nothing that only the API server writes.
    pub written: Value,
    /// What is accepted but will not do what it says.
    pub warnings: Vec<Problem>,
}

/// One thing that is wrong, or odd, in a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Field, such as `spec.sync.kind`.
    pub path: String,
    /// What is wrong with it, the value and what is allowed included.
    pub message: String,
    /// Where it stands; for a field that is missing, where its parent starts.
    pub location: Option<Location>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.message.as_str() {
            "is required" => write!(f, "{} is required", self.path)?,
            message => write!(f, "{}: {message}", self.path)?,
        }
        match self.location {
            Some(location) => write!(f, " ({location})"),
            None => Ok(()),
        }
    }
}

/// Why a text is not a FluxInstance.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    #[error(transparent)]
    Yaml(#[from] YamlError),
    /// No document is a FluxInstance; what there is instead, as `kind apiVersion`.
    #[error("no FluxInstance found: {}", if .found.is_empty() { "there are no objects".into() } else { format!("there is {}", list(.found, "and")) })]
    NoInstance { found: Vec<String> },
    /// Several documents are; where they start.
    #[error("{} FluxInstances found ({}): one is expected", .0.len(), places(.0))]
    SeveralInstances(Vec<Option<Location>>),
    /// Everything that is wrong with the one that was found.
    #[error("{}", problems_text(.0))]
    Invalid(Vec<Problem>),
}

impl ManifestError {
    /// Returns the problems one by one, where there are several.
    pub fn problems(&self) -> &[Problem] {
        match self {
            ManifestError::Invalid(problems) => problems,
            _ => &[],
        }
    }
}

fn places(locations: &[Option<Location>]) -> String {
    let lines: Vec<String> = locations.iter().flatten().map(|location| format!("line {}", location.line)).collect();
    list(&lines, "and")
}

fn problems_text(problems: &[Problem]) -> String {
    match problems {
        [only] => only.to_string(),
        several => {
            several.iter().fold(format!("{} problems", several.len()), |text, problem| format!("{text}\n  {problem}"))
        }
    }
}

/// Reads the one FluxInstance of a text of YAML or JSON: alone, among other documents, or in a `List`.
///
/// # Errors
/// [`ManifestError`]; with [`ManifestError::Invalid`] every problem of the manifest is in it.
pub fn read(text: &str, namespace: &NamespaceChoice) -> Result<Manifest, ManifestError> {
    let documents = yaml::parse_documents(text)?;
    let positions = LazyPositions { text, parsed: std::cell::OnceCell::new() };
    let (place, object) = the_one_instance(&documents, &positions)?;
    let locate =
        |findings: Vec<Finding>| -> Vec<Problem> { located(findings, |finding| positions.of(&place, finding)) };

    let written = object.clone();
    let mut object = object.clone();
    let mut findings = check_version(&object);
    if findings.is_empty() {
        findings = complete(&mut object);
        findings.extend(check_namespace(&object, namespace));
    }
    if !findings.is_empty() {
        return Err(ManifestError::Invalid(locate(findings)));
    }
    let warnings = locate(odd_annotations(&object));
    let instance = to_instance(&object, namespace).map_err(|error| {
        // The schema is made from the types, so what it lets through converts; a test holds them together.
        let problem = Problem { path: "spec".into(), message: error.to_string(), location: None };
        ManifestError::Invalid(vec![problem])
    })?;
    let written = applicable(written, instance.metadata.namespace.as_deref());
    Ok(Manifest { instance, written, warnings })
}

/// Adds the namespace, and takes off what only the API server writes: an exported object carries it, and apply refuses it.
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

/// Fills in the API's defaults and checks every rule on an instance that was made by hand rather than read.
///
/// # Errors
/// [`ManifestError::Invalid`], without positions.
pub fn validate(instance: &FluxInstance) -> Result<Manifest, ManifestError> {
    let written = serde_json::to_value(instance).unwrap_or_default();
    let mut object = written.clone();
    let findings = complete(&mut object);
    if !findings.is_empty() {
        return Err(ManifestError::Invalid(located(findings, |_| None)));
    }
    let namespace = NamespaceChoice::default();
    let warnings = located(odd_annotations(&object), |_| None);
    match to_instance(&object, &namespace) {
        Ok(instance) => Ok(Manifest { instance, written, warnings }),
        Err(error) => {
            let problem = Problem { path: "spec".into(), message: error.to_string(), location: None };
            Err(ManifestError::Invalid(vec![problem]))
        }
    }
}

fn located(findings: Vec<Finding>, place: impl Fn(&Finding) -> Option<Location>) -> Vec<Problem> {
    let mut problems: Vec<Problem> = findings
        .into_iter()
        .map(|finding| Problem { location: place(&finding), path: finding.path.to_string(), message: finding.message })
        .collect();
    // In the order a person reads the file.
    problems.sort_by_key(|problem| problem.location);
    problems
}

/// Something found at a path, before it has a line and column.
#[derive(Clone, Debug)]
struct Finding {
    path: FieldPath,
    message: String,
    /// Whether the name of the field is the problem, rather than its value.
    is_key: bool,
}

impl Finding {
    fn value(path: &FieldPath, message: String) -> Self {
        Finding { path: path.clone(), message, is_key: false }
    }

    fn key(path: &FieldPath, message: String) -> Self {
        Finding { path: path.clone(), message, is_key: true }
    }
}

/// Where in the text the instance is: its document, and the pointer from there.
struct Place {
    document: usize,
    pointer: String,
}

/// The second reading of the text, made only once something has to be located.
struct LazyPositions<'a> {
    text: &'a str,
    parsed: std::cell::OnceCell<Vec<Positions>>,
}

impl LazyPositions<'_> {
    fn of(&self, place: &Place, finding: &Finding) -> Option<Location> {
        let document = self.parsed.get_or_init(|| yaml::parse_positions(self.text)).get(place.document)?;
        let pointer = format!("{}{}", place.pointer, finding.path.pointer());
        if finding.is_key { document.key(&pointer) } else { document.value(&pointer) }
    }
}

fn the_one_instance<'a>(
    documents: &'a [Value],
    positions: &LazyPositions,
) -> Result<(Place, &'a Value), ManifestError> {
    let (mut instances, mut others) = (Vec::new(), Vec::new());
    for (document, value) in documents.iter().enumerate() {
        for (pointer, object) in objects(value) {
            if is_instance(object) {
                instances.push((Place { document, pointer }, object));
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

/// Returns the objects of a document: itself, or the items of a list of objects.
fn objects(document: &Value) -> Vec<(String, &Value)> {
    let kind = document.get("kind").and_then(Value::as_str).unwrap_or_default();
    match document.get("items").and_then(Value::as_array) {
        Some(items) if kind.ends_with("List") => {
            items.iter().enumerate().map(|(index, item)| (format!("/items/{index}"), item)).collect()
        }
        _ => vec![(String::new(), document)],
    }
}

fn is_instance(object: &Value) -> bool {
    let text = |field| object.get(field).and_then(Value::as_str).unwrap_or_default();
    // An apiVersion that was forgotten is a problem of the instance, not a reason not to see it.
    let group = text("apiVersion").split('/').next().unwrap_or_default();
    text("kind") == "FluxInstance" && (group.is_empty() || group == well_known::GROUP || object.get("spec").is_some())
}

fn kind_in_words(object: &Value) -> String {
    match (object.get("kind").and_then(Value::as_str), object.get("apiVersion").and_then(Value::as_str)) {
        (Some(kind), Some(version)) => format!("{kind} {version}"),
        (Some(kind), None) => kind.into(),
        _ => "something without kind".into(),
    }
}

/// Fields that were called something else in v1alpha1, the version of the design proposal.
const RENAMED_SINCE_V1ALPHA1: [(&str, &str); 2] =
    [("spec.distribution.pullSecret", "spec.distribution.imagePullSecret"), ("spec.shards", "spec.sharding.shards")];

fn check_version(object: &Value) -> Vec<Finding> {
    let path = FieldPath::of("apiVersion");
    let served = well_known::API_VERSION;
    match object.get("apiVersion").and_then(Value::as_str) {
        Some(version) if version == served => Vec::new(),
        Some(version) if version == format!("{}/v1alpha1", well_known::GROUP) => {
            let mut findings = vec![Finding::value(&path, format!("{version} is not served any more: write {served}"))];
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
        None => vec![Finding::value(&path, format!("is required: it has to be {served}"))],
    }
}

/// Fills in defaults and returns what schema and rules refuse.
fn complete(object: &mut Value) -> Vec<Finding> {
    let mut findings = check_root(object);
    let properties = crd::flux_instance_schema().get("properties");
    let spec_schema = properties.and_then(|all| all.get("spec"));
    if let (Some(schema), Some(spec)) = (spec_schema, object.get_mut("spec").filter(|spec| !spec.is_null())) {
        findings.extend(schema::complete(schema, spec, &FieldPath::of("spec")));
    } else {
        findings.push(Finding::value(&FieldPath::of("spec"), "is required".into()));
    }
    if let Some(metadata) = object.get_mut("metadata").filter(|metadata| !metadata.is_null()) {
        findings.extend(schema::complete(&metadata_schema(), metadata, &FieldPath::of("metadata")));
    }
    // One message per value: what the schema refuses needs no rule on top.
    let refused: Vec<FieldPath> = findings.iter().map(|finding| finding.path.clone()).collect();
    findings.extend(rules::check(object).into_iter().filter(|finding| !refused.contains(&finding.path)));
    findings
}

/// What is read of the metadata; the rest belongs to API servers.
fn metadata_schema() -> Value {
    let texts = json!({"type": "object", "additionalProperties": {"type": "string"}});
    json!({
        "type": "object",
        schema::OPEN: true,
        "properties": {"name": {"type": "string"}, "namespace": {"type": "string"}, "labels": texts, "annotations": texts},
    })
}

fn check_root(object: &Value) -> Vec<Finding> {
    const FIELDS: [&str; 5] = ["apiVersion", "kind", "metadata", "spec", "status"];
    let unknown =
        object.as_object().into_iter().flatten().map(|(name, _)| name).filter(|name| !FIELDS.contains(&name.as_str()));
    unknown
        .map(|name| {
            let meant = schema::nearest(name, FIELDS.into_iter()).map(|word| format!("; did you mean {word}?"));
            Finding::key(&FieldPath::default().field(name), format!("unknown field{}", meant.unwrap_or_default()))
        })
        .collect()
}

fn check_namespace(object: &Value, choice: &NamespaceChoice) -> Option<Finding> {
    let path = FieldPath::of("metadata.namespace");
    let own = object.pointer("/metadata/namespace").and_then(Value::as_str).filter(|name| !name.is_empty());
    match (own, &choice.explicit) {
        (Some(own), Some(asked)) if own != asked => Some(Finding::value(
            &path,
            format!("{own} differs from the namespace asked for, {asked}: change one of them"),
        )),
        (Some(own), _) if !is_dns_label(own) => {
            let expected = "the name of a namespace: lower case letters, digits and - only";
            Some(Finding::value(&path, format!("{} is not {expected}", shown(&Value::from(own)))))
        }
        _ => None,
    }
}

/// Values of annotations that are not understood and therefore have no effect.
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
    let mut instance = FluxInstance::new(well_known::INSTANCE_NAME, spec);
    instance.metadata = ObjectMeta {
        name: Some(well_known::INSTANCE_NAME.into()),
        namespace: Some(namespace),
        labels: metadata("labels").map(serde_json::from_value).transpose()?,
        annotations: metadata("annotations").map(serde_json::from_value).transpose()?,
        ..ObjectMeta::default()
    };
    Ok(instance)
}

/// Joins words for a sentence: `a, b or c`.
fn list(words: &[impl AsRef<str>], last: &str) -> String {
    match words {
        [] => String::new(),
        [only] => only.as_ref().into(),
        [rest @ .., end] => {
            let rest: Vec<&str> = rest.iter().map(AsRef::as_ref).collect();
            format!("{} {last} {}", rest.join(", "), end.as_ref())
        }
    }
}

/// Shows a value in a message: as JSON, cut when long, without a password that an address may carry.
fn shown(value: &Value) -> String {
    const LONGEST: usize = 60;
    let text = match value {
        Value::String(text) => Value::from(without_credentials(text)).to_string(),
        other => other.to_string(),
    };
    if text.chars().count() <= LONGEST { text } else { text.chars().take(LONGEST).collect::<String>() + "…" }
}

fn without_credentials(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.into() };
    let authority = rest.split('/').next().unwrap_or_default();
    match authority.rsplit_once('@') {
        Some((user, _)) if user.contains(':') => {
            format!("{scheme}://[redacted]{}", rest.get(user.len()..).unwrap_or_default())
        }
        _ => text.into(),
    }
}

#[cfg(test)]
mod tests;
