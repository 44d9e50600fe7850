//! The part of an expression that makes it false.

use std::fmt;

use kube_cel::cel::{Context, Value as CelValue};

use crate::split;
use crate::value::shown;
use crate::{Expression, reason};

/// Limit for parts in an explanation.
const MAX_PARTS: usize = 8;
/// Limit for nested parts.
const MAX_NESTING: usize = 16;

/// A part of an expression that is false or has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FalsePart {
    /// The text of the part.
    pub part: String,
    /// The values that it compares, or the reason why it has no result: `status.x is 'a'`.
    pub found: String,
}

impl fmt::Display for FalsePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not true: {}", self.part, self.found)
    }
}

/// Returns the parts that make a text false or fail. The list is empty if the text is true.
pub(crate) fn explain(text: &str, context: &Context<'_>) -> Vec<FalsePart> {
    let mut found = vec![];
    add(text, context, MAX_NESTING, &mut found);
    found
}

fn add(text: &str, context: &Context<'_>, nesting: usize, found: &mut Vec<FalsePart>) {
    let text = split::unwrapped(text);
    if found.len() >= MAX_PARTS || result(text, context) == Ok(true) {
        return;
    }
    // A conditional is not split, because its condition decides which branch counts.
    if nesting > 0 && !split::is_conditional(text) {
        // `||` binds weaker than `&&`, so a text is split at it first.
        let alternatives = split::parts(text, "||");
        if alternatives.len() > 1 {
            // Explain every alternative, because any of them would make the text true.
            return alternatives.into_iter().for_each(|part| add(part, context, nesting - 1, found));
        }
        let all = split::parts(text, "&&");
        if all.len() > 1 {
            // Explain only the first part that is not true, because it decides the result.
            let first = all.into_iter().find(|part| result(part, context) != Ok(true));
            return first.into_iter().for_each(|part| add(part, context, nesting - 1, found));
        }
        if add_loop(text, context, nesting - 1, found) {
            return;
        }
    }
    let found_values = match result(text, context) {
        Err(reason) => reason,
        Ok(_) => values(text, context).unwrap_or_else(|| "it is false".to_owned()),
    };
    found.push(FalsePart { part: text.to_owned(), found: found_values });
}

/// Explains a loop. For `all` it explains the first element that does not meet the condition; for `exists` it reports
/// that no element meets the condition. Returns `false` if it does not add an explanation.
fn add_loop(text: &str, context: &Context<'_>, nesting: usize, found: &mut Vec<FalsePart>) -> bool {
    let Some(split::ListLoop { list, macro_name, variable, condition }) = split::list_loop(text) else { return false };
    let Some(CelValue::List(items)) = value(list, context) else { return false };
    if macro_name == "exists" {
        let found_values = format!("none of the {} elements of {list} meets it", items.len());
        found.push(FalsePart { part: condition.to_owned(), found: found_values });
        return true;
    }
    for item in items.iter() {
        let mut inner = context.new_inner_scope();
        inner.add_variable_from_value(variable, item.clone());
        if result(condition, &inner) != Ok(true) {
            add(condition, &inner, nesting, found);
            return true;
        }
    }
    false
}

/// The values of both sides of a comparison, without those that are written in the text.
fn values(text: &str, context: &Context<'_>) -> Option<String> {
    let (text, sides) = match text.strip_prefix('!') {
        Some(negated) => (negated.trim(), vec![negated.trim()]),
        None if split::is_conditional(text) => return None,
        None => (text, split::comparison(text).map(Vec::from).unwrap_or_default()),
    };
    let is_literal = |side: &str| {
        let first = side.bytes().next().unwrap_or_default();
        matches!(first, b'\'' | b'"' | b'[' | b'{' | b'-' | b'0'..=b'9') || ["true", "false", "null"].contains(&side)
    };
    let sides = sides.into_iter().filter(|side| !is_literal(side));
    let reported: Vec<String> =
        sides.filter_map(|side| Some(format!("{side} is {}", shown(&value(side, context)?)))).collect();
    if reported.is_empty() && text.starts_with("has(") {
        return Some("the field is missing".to_owned());
    }
    (!reported.is_empty()).then(|| reported.join(", "))
}

fn value(text: &str, context: &Context<'_>) -> Option<CelValue> {
    Expression::parse(text).ok()?.value_in(context).ok()
}

/// The result of a part, or the reason why it has none.
fn result(text: &str, context: &Context<'_>) -> Result<bool, String> {
    let parsed = Expression::parse(text).map_err(|error| error.reason)?;
    match parsed.value_in(context) {
        Ok(CelValue::Bool(result)) => Ok(result),
        Ok(other) => Err(format!("it is {} and not true or false", shown(&other))),
        Err(error) => Err(reason(&error)),
    }
}
