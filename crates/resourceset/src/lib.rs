//! From a ResourceSet and its inputs to objects, as the reference operator builds them.
//!
//! `manifest` reads a ResourceSet and its providers, `inputs` selects and combines their input sets, and `render` makes
//! objects from templates and input sets. [`offline::build`] does all of that for the texts of files.
//!
//! Pure: values in, values out. Each object records its template and its input set, and a [`Warning`] reports anything
//! suspicious. The crate uses no files, no cluster and no clock: time and random numbers come with the options of the
//! template engine.
#![warn(missing_docs, unreachable_pub)]

mod decode;
mod error;
mod inputs;
mod manifest;
mod object;
pub mod offline;
mod render;
mod retyped;
mod selector;
mod usage;
mod warning;

pub use error::{BuildErrorKind, FailurePosition, InputName, Origin, Part, ResourceSetError};
pub use inputs::{InputSet, InputSource, SourceId, combine, select};
pub use manifest::{
    ExportedInputs, InputProvider, InputStrategy, ProviderReference, ResourceSet, StepTemplates, Templates,
};
pub use render::{BuiltObject, BuiltSet, build, render};
pub use selector::LabelSelector;
pub use warning::{Warning, WarningKind};

pub use flux_operator_gotemplate::yaml::to_string as to_yaml;
pub use flux_operator_gotemplate::{Limits, Options};

#[cfg(test)]
mod tests;
