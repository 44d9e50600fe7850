//! Suspicious input that a build accepts.

use std::fmt;

use crate::error::{InputName, Origin};

/// Kind of a warning, for callers that treat some of them as errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WarningKind {
    /// The API server would refuse the manifest.
    RefusedByCluster,
    /// A field that does not exist.
    UnknownField,
    /// A key that is read as something else, or occurs twice.
    Key,
    /// A null in an input set, which the API server drops.
    NullInput,
    /// An input that no template uses.
    UnusedInput,
    /// A provider that does not exist, or a selector that matches nothing.
    MissingProvider,
    /// Inputs that a Permute strategy drops.
    LostInputs,
    /// The referenced providers have no inputs, so the cluster would render nothing.
    NoInputs,
    /// An object that is skipped because another one has the same key.
    DuplicateObject,
    /// A document that is skipped because it has no name or API version.
    DroppedDocument,
    /// A template that rendered no document, or more documents than are read.
    Document,
    /// A label of more than 63 characters.
    LongLabel,
    /// Labels or annotations with a value that is not text.
    Metadata,
    /// A text of an input that YAML reads as a number, a boolean or null.
    RetypedInput,
    /// Common metadata with an owner label.
    OwnerLabel,
    /// A template whose result differs between runs.
    NotRepeatable,
}

/// A warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Kind of the warning.
    pub kind: WarningKind,
    /// The text, without a position.
    pub message: String,
    /// The template, if the warning is about one.
    pub origin: Option<Origin>,
    /// The input set, if the warning is about one.
    pub input: Option<InputName>,
}

impl Warning {
    pub(crate) fn new(kind: WarningKind, message: impl Into<String>) -> Warning {
        Warning { kind, message: message.into(), origin: None, input: None }
    }

    pub(crate) fn at(
        kind: WarningKind,
        message: impl Into<String>,
        origin: Origin,
        input: Option<InputName>,
    ) -> Warning {
        Warning { kind, message: message.into(), origin: Some(origin), input }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(origin) = &self.origin {
            write!(f, "{origin}")?;
            if let Some(input) = &self.input {
                write!(f, ", {input}")?;
            }
            f.write_str(": ")?;
        }
        f.write_str(&self.message)
    }
}
