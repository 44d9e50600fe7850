//! Errors with the reference's wording, and the position that the reference omits.

use std::fmt;

use crate::inputs::SourceId;

/// A part of a ResourceSet with templates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// `resources[i]`.
    Resource(usize),
    /// `resourcesTemplate`.
    Template,
}

/// The template that rendered an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// Index of the step, if the ResourceSet has steps.
    pub step: Option<usize>,
    /// The part of the spec or of the step.
    pub part: Part,
    /// Index of the input set; `None` for a template without inputs.
    pub input: Option<usize>,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("spec")?;
        if let Some(step) = self.step {
            write!(f, ".steps[{step}]")?;
        }
        match self.part {
            Part::Resource(index) => write!(f, ".resources[{index}]"),
            Part::Template => f.write_str(".resourcesTemplate"),
        }
    }
}

/// An input set in a form that the user recognises.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputName {
    /// Index among all input sets of the build.
    pub index: usize,
    /// Its `id`, if that is text or a number.
    pub id: Option<String>,
    /// Its source; `None` for a permutation.
    pub source: Option<SourceId>,
}

impl fmt::Display for InputName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "input set {}", self.index)?;
        match (&self.id, &self.source) {
            (Some(id), Some(source)) => write!(f, " (id {id}, of {source})"),
            (Some(id), None) => write!(f, " (id {id})"),
            (None, Some(source)) => write!(f, " (of {source})"),
            (None, None) => Ok(()),
        }
    }
}

/// Position of a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailurePosition {
    /// The template.
    pub origin: Origin,
    /// The input set; `None` without inputs, and for a template that cannot be parsed.
    pub input: Option<InputName>,
    /// Line in the template, from 1, or in the rendered text if that cannot be parsed.
    pub line: Option<usize>,
}

/// Category of a failure, for exit codes and conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BuildErrorKind {
    /// The manifest is unreadable or invalid.
    Manifest,
    /// The file of inputs is unreadable.
    InputsFile,
    /// The file of providers is unreadable, or contains providers that need a cluster.
    ProvidersFile,
    /// References to providers are invalid.
    Selection,
    /// The inputs cannot be combined.
    Combination,
    /// A template is invalid or fails.
    Template,
    /// A template rendered something other than an object.
    Object,
    /// Two steps render the same object.
    DuplicateObject,
    /// No object was rendered.
    NoObjects,
}

/// Why a build failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceSetError {
    /// Category of the failure.
    pub kind: BuildErrorKind,
    /// Position of the failure, if it has one.
    pub place: Option<Box<FailurePosition>>,
    text: String,
}

impl ResourceSetError {
    pub(crate) fn new(kind: BuildErrorKind, text: impl Into<String>) -> ResourceSetError {
        ResourceSetError { kind, place: None, text: text.into() }
    }

    pub(crate) fn at(kind: BuildErrorKind, text: impl Into<String>, place: FailurePosition) -> ResourceSetError {
        ResourceSetError { kind, place: Some(Box::new(place)), text: text.into() }
    }
}

impl fmt::Display for ResourceSetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for ResourceSetError {}
