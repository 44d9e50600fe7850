//! Valid instances: a build accepts no other.

use std::fmt;
use std::ops::Deref;

use semver::Version;
use serde::Serialize;
use serde_json::{Value, json};

use super::components::Component;
use super::rules::{self, FieldPath, Finding, schema};
use super::{FluxInstance, crd};
use crate::format::nearest::nearest;
use crate::format::yaml::Location;

/// A FluxInstance with the API's defaults that satisfies every rule; the input of a build.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckedInstance(FluxInstance);

impl CheckedInstance {
    /// Fills in the API's defaults and checks every rule that does not depend on the version of Flux.
    ///
    /// # Errors
    /// [`InvalidInstance`] with every problem, without positions.
    pub fn check(instance: FluxInstance) -> Result<Self, InvalidInstance> {
        let (name, namespace) = (&instance.metadata.name, instance.namespace_or_default());
        // Names, labels and annotations come from an API server or were parsed as text.
        let mut object = json!({"metadata": {"name": name, "namespace": namespace}, "spec": instance.spec});
        let findings = complete(&mut object);
        if !findings.is_empty() {
            return Err(InvalidInstance(located(findings, |_| None)));
        }
        let spec = serde_json::from_value(object.get_mut("spec").map_or(Value::Null, Value::take));
        Ok(CheckedInstance(FluxInstance { spec: spec.map_err(|error| InvalidInstance::of(&error))?, ..instance }))
    }

    /// Wraps an instance made from an object in which [`complete`] found no problem.
    pub(super) fn of_complete(instance: FluxInstance) -> Self {
        CheckedInstance(instance)
    }

    /// Returns the first feature that the instance asks for and a version of Flux does not have.
    pub fn missing_in(&self, flux: &Version) -> Option<String> {
        rules::check_version(&json!({"spec": self.0.spec}), flux)
    }

    /// Returns the controllers to install: those listed, or the four default ones.
    pub fn components(&self) -> Vec<Component> {
        rules::components(&json!({"spec": {"components": self.0.spec.components}}))
    }

    /// Returns the instance for changes.
    pub fn into_inner(self) -> FluxInstance {
        self.0
    }
}

impl Deref for CheckedInstance {
    type Target = FluxInstance;

    fn deref(&self) -> &FluxInstance {
        &self.0
    }
}

/// All problems of an instance.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", problems_text(.0))]
pub struct InvalidInstance(pub Vec<Problem>);

impl InvalidInstance {
    /// Describes values that the types refuse although the schema accepts them. The schema is generated from the types,
    /// and a test keeps them consistent.
    pub(super) fn of(error: &serde_json::Error) -> Self {
        InvalidInstance(vec![Problem { path: "spec".into(), message: error.to_string(), location: None }])
    }
}

/// A problem or warning in a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Field, such as `spec.sync.kind`.
    pub path: String,
    /// The problem, including the value and the allowed values.
    pub message: String,
    /// Position of the field; for a missing field, the start of its parent.
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

fn problems_text(problems: &[Problem]) -> String {
    match problems {
        [only] => only.to_string(),
        several => {
            several.iter().fold(format!("{} problems", several.len()), |text, problem| format!("{text}\n  {problem}"))
        }
    }
}

pub(super) fn located(findings: Vec<Finding>, place: impl Fn(&Finding) -> Option<Location>) -> Vec<Problem> {
    let mut problems: Vec<Problem> = findings
        .into_iter()
        .map(|finding| Problem { location: place(&finding), path: finding.path.to_string(), message: finding.message })
        .collect();
    // In the order of the file.
    problems.sort_by_key(|problem| problem.location);
    problems
}

/// Fills in defaults and returns the problems that schema and rules find.
pub(super) fn complete(object: &mut Value) -> Vec<Finding> {
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
    // A single message per value: a value that the schema refuses needs no rule.
    let refused: Vec<FieldPath> = findings.iter().map(|finding| finding.path.clone()).collect();
    findings.extend(rules::check(object).into_iter().filter(|finding| !refused.contains(&finding.path)));
    findings
}

/// The fields of the metadata that are read; the others belong to API servers.
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
            let meant = nearest(name, FIELDS).map(|word| format!("; did you mean {word}?"));
            Finding::key(&FieldPath::default().field(name), format!("unknown field{}", meant.unwrap_or_default()))
        })
        .collect()
}
