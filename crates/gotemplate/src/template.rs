//! The interface of the crate: parse once, execute with many inputs.

use crate::error::{ExecutionError, ParseError};
use crate::execute::Executor;
use crate::functions::Context;
use crate::limits::{Budget, Limits};
use crate::parser::{self, Trees};
use crate::regexp::Patterns;
use crate::tree::{Command, Node, NodeList, Pipe, Term, TermKind};
use crate::value::{Map, Value};

/// Syntax of a template's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Syntax {
    /// Opens an action, for example `{{`.
    pub left_delimiter: String,
    /// Closes an action.
    pub right_delimiter: String,
    /// Result for a missing key of a map.
    pub missing_key: MissingKey,
    /// Name of a function without arguments that returns the data. If unset, the data is the dot of the template;
    /// otherwise the dot is nil.
    pub data_function: Option<String>,
}

/// Result for a missing key of a map: Go's option `missingkey`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingKey {
    /// Prints `<no value>`.
    NoValue,
    /// Ends the execution with an error.
    Error,
}

impl Default for Syntax {
    /// Go's defaults: `{{`, `}}`, no value for missing keys, data as the dot.
    fn default() -> Self {
        Syntax {
            left_delimiter: "{{".into(),
            right_delimiter: "}}".into(),
            missing_key: MissingKey::NoValue,
            data_function: None,
        }
    }
}

impl Syntax {
    /// The templates of a ResourceSet: `<<`, `>>`, errors for missing keys, data from the function `inputs`.
    pub fn resource_set() -> Syntax {
        Syntax {
            left_delimiter: "<<".into(),
            right_delimiter: ">>".into(),
            missing_key: MissingKey::Error,
            data_function: Some("inputs".into()),
        }
    }
}

/// Data of an execution.
///
/// The functions `set` and `unset` change it. Executions with the same `Data` see each other's changes, like those of
/// one input set in Go; see [`Template::changes_data`].
#[derive(Clone, Debug)]
pub struct Data(pub(crate) Value);

impl Data {
    /// No data: a nil map, which has no keys and refuses new ones.
    pub fn none() -> Data {
        Data(Value::Map(Map::nil()))
    }
}

impl From<Value> for Data {
    fn from(value: Value) -> Data {
        Data(value)
    }
}

impl From<&serde_json::Value> for Data {
    fn from(json: &serde_json::Value) -> Data {
        Data(Value::from(json))
    }
}

impl From<&serde_json::Map<String, serde_json::Value>> for Data {
    fn from(fields: &serde_json::Map<String, serde_json::Value>) -> Data {
        Data(Value::Map(Map::from(fields)))
    }
}

/// Limits of an execution, and the environment that some functions need.
#[derive(Clone, Copy, Default)]
pub struct Options<'a> {
    /// Limits of the execution.
    pub limits: Limits<'a>,
    /// Seconds since 1970 for `ago` and `durationRound`, which fail without it.
    pub now: Option<i64>,
    /// Returns a random number below its argument for `randInt`, which fails without it.
    pub random: Option<&'a dyn Fn(u64) -> u64>,
}

/// A parsed template with all templates that it defines.
#[derive(Debug)]
pub struct Template {
    name: String,
    text: String,
    syntax: Syntax,
    trees: Trees,
    patterns: Patterns,
}

impl Template {
    /// Parses a text.
    ///
    /// # Errors
    /// The first mistake, with its line and in Go's words. Unknown functions count as mistakes.
    pub fn parse(name: &str, text: &str, syntax: &Syntax) -> Result<Template, ParseError> {
        let trees = parser::parse(name, text, syntax)?;
        Ok(Template {
            name: name.to_owned(),
            text: text.to_owned(),
            syntax: syntax.clone(),
            trees,
            patterns: Patterns::default(),
        })
    }

    /// Executes the template and returns its output.
    ///
    /// # Errors
    /// The failing node with its position and Go's words, a limit, or output that is not UTF-8.
    pub fn execute(&self, data: &Data, options: &Options<'_>) -> Result<String, ExecutionError> {
        let output = self.execute_bytes(data, options)?;
        String::from_utf8(output).map_err(|error| {
            let valid = error.utf8_error().valid_up_to();
            let line = error.as_bytes().iter().take(valid).filter(|byte| **byte == b'\n').count() + 1;
            ExecutionError {
                name: self.name.clone(),
                line: None,
                column: 0,
                executing: self.name.clone(),
                snippet: String::new(),
                reason: format!("the output is not valid UTF-8 (first bad byte in line {line} of the output)"),
                is_limit: false,
            }
        })
    }

    /// Executes the template and returns its output as bytes.
    ///
    /// # Errors
    /// Those of [`Template::execute`] except for output that is not UTF-8.
    pub fn execute_bytes(&self, data: &Data, options: &Options<'_>) -> Result<Vec<u8>, ExecutionError> {
        let context = Context {
            budget: Budget::new(options.limits),
            data: data.0.clone(),
            now: options.now,
            random: options.random,
            patterns: &self.patterns,
        };
        Executor::new(self, &context).run()
    }

    /// Whether the template calls a function that changes a map, so that executions with the same [`Data`] can affect
    /// each other.
    pub fn changes_data(&self) -> bool {
        self.calls(&["set", "unset"])
    }

    /// Whether executions with the same data always have the same output.
    pub fn is_repeatable(&self) -> bool {
        // The functions that read the clock or random numbers.
        !self.calls(&["randInt", "ago", "durationRound"])
    }

    fn calls(&self, names: &[&str]) -> bool {
        self.trees.values().any(|list| list_calls(list, names))
    }

    /// Returns the name that messages show.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the text that was parsed.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn syntax(&self) -> &Syntax {
        &self.syntax
    }

    pub(crate) fn tree(&self, name: &str) -> Option<(&str, &NodeList)> {
        self.trees.get_key_value(name).map(|(name, list)| (name.as_str(), list))
    }
}

fn list_calls(list: &NodeList, names: &[&str]) -> bool {
    list.nodes.iter().any(|node| match node {
        Node::Action { pipe, .. } => pipe_calls(pipe, names),
        Node::Branch(branch) => {
            pipe_calls(&branch.pipe, names)
                || list_calls(&branch.list, names)
                || branch.otherwise.as_ref().is_some_and(|list| list_calls(list, names))
        }
        // The called tree is searched separately, like all trees.
        Node::Template { pipe, .. } => pipe.as_ref().is_some_and(|pipe| pipe_calls(pipe, names)),
        Node::Text { .. } | Node::Break { .. } | Node::Continue { .. } => false,
    })
}

fn pipe_calls(pipe: &Pipe, names: &[&str]) -> bool {
    pipe.commands.iter().any(|Command { terms, .. }| terms.iter().any(|term| term_calls(term, names)))
}

fn term_calls(term: &Term, names: &[&str]) -> bool {
    match &term.kind {
        TermKind::Function { name, .. } => names.contains(&name.as_str()),
        TermKind::Chain { head, .. } => term_calls(head, names),
        TermKind::Pipe(pipe) => pipe_calls(pipe, names),
        _ => false,
    }
}
