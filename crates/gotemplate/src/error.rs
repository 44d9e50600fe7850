//! Errors with Go's wording, and their parts for callers with their own wording.

use std::fmt;

/// Why a text is not a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// Name of the template as passed to the parser.
    pub name: String,
    /// Line of the text, from 1.
    pub line: usize,
    /// The reason without name and line.
    pub reason: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "template: {}:{}: {}", self.name, self.line, self.reason)
    }
}

impl std::error::Error for ParseError {}

/// Why an execution ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutionError {
    /// Name of the template as passed to the parser; line and column refer to its text.
    pub name: String,
    /// Line of the failing node, from 1; `None` when the failure has no position.
    pub line: Option<usize>,
    /// Number of bytes before the failing node in its line.
    pub column: usize,
    /// Name of the template in execution: the outer one, or one from `define`.
    pub executing: String,
    /// The failing node in Go's canonical form.
    pub snippet: String,
    /// The reason without its position.
    pub reason: String,
    /// Whether one of the [`Limits`](crate::Limits) was reached.
    pub is_limit: bool,
}

impl fmt::Display for ExecutionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(
                f,
                "template: {}:{line}:{}: executing {} at <{}>: {}",
                self.name,
                self.column,
                crate::text::quoted(self.executing.as_bytes()),
                self.snippet,
                self.reason
            ),
            None => write!(f, "template: {}: {}", self.name, self.reason),
        }
    }
}

impl std::error::Error for ExecutionError {}
