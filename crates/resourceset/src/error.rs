//! Errors with the reference's wording, and beside it the place that the reference does not tell.

use std::fmt;

use crate::inputs::SourceId;

/// A part of a ResourceSet that renders objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// `resources[i]`.
    Resource(usize),
    /// `resourcesTemplate`.
    Template,
}

/// The template of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// Index of the step, where there are steps.
    pub step: Option<usize>,
    /// The part of the spec or of the step.
    pub part: Part,
    /// Index of the input set; `None` where a template is rendered without inputs.
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

/// An input set as a person finds it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputName {
    /// Index among all sets of the build.
    pub index: usize,
    /// Its `id`, where it has one that is text or a number.
    pub id: Option<String>,
    /// Where it comes from; `None` for a permutation.
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

/// Where a build failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The template.
    pub origin: Origin,
    /// The input set; `None` without inputs, and for a template that cannot be parsed.
    pub input: Option<InputName>,
    /// Line of the text of the template, from 1, or of the text that it rendered when that is not readable.
    pub line: Option<usize>,
}

/// What failed, for exit codes and conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BuildErrorKind {
    /// The manifest is not readable or not valid.
    Manifest,
    /// The file of inputs is not readable.
    InputsFile,
    /// The file of providers is not readable, or holds providers that cannot be read offline.
    ProvidersFile,
    /// References to providers are not valid.
    Selection,
    /// The inputs cannot be combined.
    Combination,
    /// A template is not valid or fails.
    Template,
    /// A template did not render an object.
    Object,
    /// Two steps have the same object.
    DuplicateObject,
    /// Nothing was rendered.
    NoObjects,
}

/// Why there are no objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildError {
    /// What failed.
    pub kind: BuildErrorKind,
    /// Where, when it has a place.
    pub place: Option<Box<Place>>,
    text: String,
}

impl BuildError {
    pub(crate) fn new(kind: BuildErrorKind, text: impl Into<String>) -> BuildError {
        BuildError { kind, place: None, text: text.into() }
    }

    pub(crate) fn at(kind: BuildErrorKind, text: impl Into<String>, place: Place) -> BuildError {
        BuildError { kind, place: Some(Box::new(place)), text: text.into() }
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for BuildError {}
