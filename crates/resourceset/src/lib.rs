//! From a ResourceSet and its inputs to objects, as the reference operator builds them.
//!
//! The way of the data: `manifest` reads a ResourceSet and its providers, `inputs` selects and combines what they offer,
//! `render` makes objects of templates and input sets. [`offline::build`] is all of it on the texts of files.
//!
//! Pure: values in, values out. Each object says which template and which input set it comes from; what a person may want
//! to hear is a [`Warning`]. Nothing is read, printed or asked of a cluster here, and there is no clock: time and random
//! numbers come with the options of the template engine.
#![warn(missing_docs)]

mod decode;
mod error;
mod inputs;
mod manifest;
mod object;
pub mod offline;
mod render;
mod selector;
mod usage;
mod warning;

pub use error::{BuildError, BuildErrorKind, InputName, Origin, Part, Place};
pub use inputs::{InputSet, InputSource, MAX_PERMUTATIONS, SourceId, adler32, combine, normalised_name, select};
pub use manifest::{InputProvider, InputStrategy, ProviderReference, ResourceSet, Step, Templates};
pub use render::{Built, BuiltObject, build};
pub use selector::LabelSelector;
pub use warning::{Warning, WarningKind};

pub use flux_operator_gotemplate::{Limits, Options};

#[cfg(test)]
mod tests;
