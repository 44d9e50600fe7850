//! Boolean expressions in CEL over the fields of an object, as Flux evaluates them.
//!
//! [`Expression::evaluate`] gives the result of `readyExpr` and of the expressions of health checks.
//! [`Expression::explain`] names the part of an expression that makes it false, with the values it compares.
//!
//! The variables are the fields at the top of the object, such as `metadata` and `status`. The functions are those of
//! Flux: the standard ones, optional values, strings, sets and encoders
//! (<https://fluxcd.io/flux/cheatsheets/cel-healthchecks/>). Expressions come from untrusted authors, so their length,
//! their depth and their nested loops have limits. The crate is not specific to Kubernetes.
#![warn(missing_docs, unreachable_pub)]

mod explain;
mod operators;
mod split;
mod value;

use kube_cel::KubeCelExt;
use kube_cel::cel::common::ast::{EntryExpr, Expr};
use kube_cel::cel::parser::Parser;
use kube_cel::cel::{Context, ExecutionError, IdedExpr, Value as CelValue};
use serde_json::{Map, Value};

pub use explain::FalsePart;

/// Limit for the length of an expression in bytes.
const MAX_LENGTH: usize = 16 << 10;
/// Limit for nested brackets, because the parser recurses.
const MAX_DEPTH: usize = 48;
/// Limit for nested loops, because each loop may run over a large list.
const MAX_LOOPS: usize = 3;

/// An expression that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("failed to parse the CEL expression '{expression}': {reason}")]
pub struct ExpressionError {
    /// The text of the expression.
    pub expression: String,
    /// The position and the mistake.
    pub reason: String,
}

/// An expression that has no result for an object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvaluationError {
    /// A field is missing, or a value has the wrong type.
    #[error("failed to evaluate the CEL expression '{expression}': {reason}")]
    Failed {
        /// The text of the expression.
        expression: String,
        /// The reason in the words of Flux.
        reason: String,
    },
    /// The result is not true or false.
    #[error("failed to evaluate CEL expression as boolean: '{0}'")]
    NotBoolean(String),
}

/// A parsed expression.
#[derive(Clone, Debug)]
pub struct Expression {
    text: String,
    parsed: IdedExpr,
}

impl Expression {
    /// Parses an expression. Names and types are not checked before it is evaluated.
    ///
    /// # Errors
    /// A mistake in the syntax, or a limit.
    pub fn parse(text: &str) -> Result<Expression, ExpressionError> {
        let refused = |reason: String| ExpressionError { expression: text.to_owned(), reason };
        if text.len() > MAX_LENGTH {
            return Err(refused(format!("it is longer than {MAX_LENGTH} bytes")));
        }
        if split::depth(text) > MAX_DEPTH {
            return Err(refused(format!("it nests brackets more than {MAX_DEPTH} deep")));
        }
        let parser = Parser::default().enable_optional_syntax(true);
        let mut parsed = parser.parse(text).map_err(|errors| refused(errors.to_string()))?;
        operators::replace(&mut parsed);
        if loops(&parsed) > MAX_LOOPS {
            return Err(refused(format!("it nests loops more than {MAX_LOOPS} deep")));
        }
        if let Some(error) = operators::impossible_constant(&parsed, &context(&Map::new())) {
            return Err(refused(format!("failed to create CEL program: {}", reason(&error))));
        }
        Ok(Expression { text: text.to_owned(), parsed })
    }

    /// The text of the expression.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Evaluates the expression over the fields of an object.
    ///
    /// # Errors
    /// A field is missing, a value has the wrong type, or the result is not true or false.
    pub fn evaluate(&self, fields: &Map<String, Value>) -> Result<bool, EvaluationError> {
        self.evaluate_in(&context(fields))
    }

    /// Returns the parts that make the expression false or fail, with the values that they compare. The list is empty
    /// if the expression is true.
    pub fn explain(&self, fields: &Map<String, Value>) -> Vec<FalsePart> {
        explain::explain(&self.text, &context(fields))
    }

    fn evaluate_in(&self, context: &Context<'_>) -> Result<bool, EvaluationError> {
        match self.value_in(context) {
            Ok(CelValue::Bool(result)) => Ok(result),
            Ok(_) => Err(EvaluationError::NotBoolean(self.text.clone())),
            Err(error) => {
                let reason = match &error {
                    // Go's library first looks for a variable with the dotted path as its name, and reports that path.
                    ExecutionError::UndeclaredReference(name) => {
                        let path = path_from(&self.parsed, name).unwrap_or_else(|| name.to_string());
                        format!("no such attribute(s): {path}")
                    }
                    error => reason(error),
                };
                Err(EvaluationError::Failed { expression: self.text.clone(), reason })
            }
        }
    }

    fn value_in(&self, context: &Context<'_>) -> Result<CelValue, ExecutionError> {
        CelValue::resolve(&self.parsed, context)
    }
}

/// The fields of an object as variables.
fn context(fields: &Map<String, Value>) -> Context<'static> {
    let mut context = Context::default().with_all();
    operators::register(&mut context);
    for (name, field) in fields {
        context.add_variable_from_value(name.clone(), value::from_json(field));
    }
    context
}

/// Returns the reason in the words of Go's library, which conditions repeat.
fn reason(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::UndeclaredReference(name) => format!("no such attribute(s): {name}"),
        // The other errors of the crate print whole values, which may be large or secret.
        ExecutionError::FunctionError { function, message } => format!("{function}: {message}"),
        ExecutionError::DivisionByZero(_) => "division by zero".to_owned(),
        ExecutionError::RemainderByZero(_) => "modulus by zero".to_owned(),
        ExecutionError::IndexOutOfBounds(_) => "index out of bounds".to_owned(),
        ExecutionError::InvalidArgumentCount { expected, actual } => {
            format!("invalid number of arguments: expected {expected}, got {actual}")
        }
        _ => "no such overload".to_owned(),
    }
}

/// Returns the first dotted path of an expression that begins with a variable: `status.x` for `status`.
fn path_from(expression: &IdedExpr, variable: &str) -> Option<String> {
    let in_any = |all: &[IdedExpr]| all.iter().find_map(|one| path_from(one, variable));
    match &expression.expr {
        Expr::Select(select) if !select.test => {
            dotted_path(expression, variable).or_else(|| path_from(&select.operand, variable))
        }
        Expr::Select(select) => path_from(&select.operand, variable),
        Expr::Call(call) => {
            let target = call.target.as_deref().and_then(|target| path_from(target, variable));
            target.or_else(|| in_any(&call.args))
        }
        Expr::List(list) => in_any(&list.elements),
        Expr::Comprehension(comprehension) => {
            path_from(&comprehension.iter_range, variable).or_else(|| path_from(&comprehension.loop_step, variable))
        }
        _ => None,
    }
}

fn dotted_path(expression: &IdedExpr, variable: &str) -> Option<String> {
    match &expression.expr {
        Expr::Ident(name) if name == variable => Some(name.clone()),
        Expr::Select(select) if !select.test => {
            Some(format!("{}.{}", dotted_path(&select.operand, variable)?, select.field))
        }
        _ => None,
    }
}

/// Returns the depth of nested loops.
fn loops(expression: &IdedExpr) -> usize {
    let most = |all: &[IdedExpr]| all.iter().map(loops).max().unwrap_or_default();
    match &expression.expr {
        Expr::Call(call) => call.target.as_deref().map(loops).unwrap_or_default().max(most(&call.args)),
        Expr::Comprehension(comprehension) => {
            let body = [&comprehension.loop_cond, &comprehension.loop_step, &comprehension.result];
            // The list of a loop is computed once, before the loop begins.
            let body = 1 + body.into_iter().map(loops).max().unwrap_or_default();
            body.max(loops(&comprehension.iter_range))
        }
        Expr::List(list) => most(&list.elements),
        Expr::Select(select) => loops(&select.operand),
        Expr::Map(map) => map.entries.iter().map(|entry| loops_of_entry(&entry.expr)).max().unwrap_or_default(),
        Expr::Struct(message) => {
            message.entries.iter().map(|entry| loops_of_entry(&entry.expr)).max().unwrap_or_default()
        }
        Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => 0,
    }
}

/// Like [`loops`], for an entry of a map or a field of a message.
fn loops_of_entry(entry: &EntryExpr) -> usize {
    match entry {
        EntryExpr::MapEntry(entry) => loops(&entry.key).max(loops(&entry.value)),
        EntryExpr::StructField(field) => loops(&field.value),
    }
}

#[cfg(test)]
mod tests;
