//! What a build lets pass and a person may want to hear.

use std::fmt;

use crate::error::{InputName, Origin};

/// Kind of a warning, for a caller who treats one of them as an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WarningKind {
    /// The API server would refuse the manifest.
    RefusedByCluster,
    /// A field that does not exist.
    UnknownField,
    /// A key that is read as something else, or stands twice.
    Key,
    /// A null in an input set, which the API server drops.
    NullInput,
    /// An input that no template uses.
    UnusedInput,
    /// A provider that is named and not there, or a selector that matches nothing.
    MissingProvider,
    /// Inputs that a Permute strategy loses.
    LostInputs,
    /// Providers are named and offer nothing: the cluster would render nothing.
    NoInputs,
    /// An object that was left out because another one has its key.
    DuplicateObject,
    /// A document without name or API version, which is left out.
    DroppedDocument,
    /// A template that rendered to nothing, or to more documents than are read.
    Document,
    /// A label of more than 63 characters.
    LongLabel,
    /// Labels or annotations that are not all text.
    Metadata,
    /// Common metadata that names the owner labels.
    OwnerLabel,
    /// A template whose result differs from run to run.
    NotRepeatable,
}

/// One warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// What it is about.
    pub kind: WarningKind,
    /// The text without place.
    pub message: String,
    /// The template that it is about.
    pub origin: Option<Origin>,
    /// The input set that it is about.
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
