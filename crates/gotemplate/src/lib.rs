//! Go's `text/template` with the hermetic functions of slim-sprig, for templates from untrusted authors.
//!
//! Results, refusals and messages are those of Go: a template that fails in Go fails here, at the same line and column
//! and with the same words. So `5` in a template (`int`) and `5` in its input (`int64`) are different, floats print as
//! `1e+06`, and a missing key is an error with [`MissingKey::Error`].
//!
//! A template cannot take the process down: nesting, output, created bytes, steps and time are bounded by [`Limits`].
//! Reaching a limit ends the execution with an [`ExecutionError`].
//!
//! ```
//! use flux_operator_gotemplate::{Data, Options, Syntax, Template};
//!
//! let syntax = Syntax::resource_set();
//! let template = Template::parse("resourceset", "name: << inputs.app | upper >>", &syntax)?;
//! let inputs = serde_json::json!({"app": "podinfo"});
//! let data = Data::from(&inputs);
//! assert_eq!(template.execute(&data, &Options::default())?, "name: PODINFO");
//!
//! let template = Template::parse("resourceset", "name: << inputs.tenant >>", &syntax)?;
//! let error = template.execute(&data, &Options::default()).unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     r#"template: resourceset:1:9: executing "resourceset" at <inputs>: map has no entry for key "tenant""#
//! );
//! assert_eq!((error.line, error.reason.as_str()), (Some(1), r#"map has no entry for key "tenant""#));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The data flow: `lexer` → `parser` → `tree` → `execute`, which calls the table in `functions` and prints with
//! `print`. The crate does no I/O and has no clock: time and random numbers come with [`Options`].
#![warn(missing_docs, unreachable_pub)]

mod duration;
mod error;
mod execute;
mod float;
mod functions;
mod json;
mod layout;
mod lexer;
mod limits;
mod number;
mod parser;
mod path;
mod print;
mod regexp;
mod slug;
mod template;
mod text;
mod time;
mod tree;
mod url;
mod value;
pub mod yaml;

pub use error::{ExecutionError, ParseError};
pub use limits::Limits;
pub use regexp::Regexp;
pub use template::{Data, MissingKey, Options, Syntax, Template};
pub use text::Text;
pub use time::{NamedInteger, Time, Zone};
pub use value::{ElementType, List, Map, Value};

/// Deepest nesting of actions and parentheses that is parsed; Go allows 10,000 parentheses and any number of actions.
pub(crate) const MAX_NESTING: usize = 100;

#[cfg(test)]
mod tests;
