//! Operators that the crate `cel` evaluates differently from Go's library, which Flux uses.
//!
//! Numbers of different types are equal by value, and an optional field that is missing is an empty optional value
//! (<https://github.com/google/cel-spec/blob/master/doc/langdef.md#equality>).

use kube_cel::cel::common::ast::{EntryExpr, Expr, operators};
use kube_cel::cel::{Context, ExecutionError, IdedExpr, Value as CelValue};

// Identifiers of an expression cannot begin with `@`, so an author cannot call these functions.
const EQUAL: &str = "@equal";
const NOT_EQUAL: &str = "@not_equal";

/// Replaces the operators in a parsed expression.
pub(crate) fn replace(expression: &mut IdedExpr) {
    match &mut expression.expr {
        Expr::Call(call) => {
            match call.func_name.as_str() {
                operators::EQUALS => EQUAL.clone_into(&mut call.func_name),
                operators::NOT_EQUALS => NOT_EQUAL.clone_into(&mut call.func_name),
                // For a missing field the crate's selection fails, but its index returns an empty optional value.
                operators::OPT_SELECT => operators::OPT_INDEX.clone_into(&mut call.func_name),
                _ => {}
            }
            call.target.as_deref_mut().into_iter().chain(&mut call.args).for_each(replace);
        }
        Expr::Comprehension(comprehension) => {
            let parts = [
                &mut comprehension.iter_range,
                &mut comprehension.accu_init,
                &mut comprehension.loop_cond,
                &mut comprehension.loop_step,
                &mut comprehension.result,
            ];
            parts.into_iter().for_each(replace);
        }
        Expr::List(list) => list.elements.iter_mut().for_each(replace),
        Expr::Map(map) => {
            for entry in &mut map.entries {
                match &mut entry.expr {
                    EntryExpr::MapEntry(entry) => {
                        replace(&mut entry.key);
                        replace(&mut entry.value);
                    }
                    EntryExpr::StructField(field) => replace(&mut field.value),
                }
            }
        }
        Expr::Select(select) => replace(&mut select.operand),
        Expr::Ident(_) | Expr::Literal(_) | Expr::Struct(_) | Expr::Unspecified => {}
    }
}

/// Conversion functions. Go's library evaluates them for constants before it has an object.
const CONVERSIONS: [&str; 10] =
    ["bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"];

/// Returns the error of a constant part that can never have a result: an invalid pattern, or a text that cannot be
/// converted. Go's library refuses the whole expression in this case.
pub(crate) fn impossible_constant(expression: &IdedExpr, context: &Context<'_>) -> Option<ExecutionError> {
    let find = |part: &IdedExpr| impossible_constant(part, context);
    let is_literal = |part: &IdedExpr| matches!(part.expr, Expr::Literal(_));
    match &expression.expr {
        Expr::Call(call) => {
            let parts: Vec<&IdedExpr> = call.target.as_deref().into_iter().chain(&call.args).collect();
            let is_conversion = CONVERSIONS.contains(&call.func_name.as_str());
            let own = match parts.as_slice() {
                [only] if is_conversion && is_literal(only) => CelValue::resolve(expression, context).err(),
                [_, pattern] if call.func_name == "matches" && is_literal(pattern) => {
                    let mut alone = expression.clone();
                    if let Expr::Call(call) = &mut alone.expr {
                        // The text may be a field, so the pattern is used as the text as well.
                        call.target = Some(Box::new((*pattern).clone()));
                        call.args = vec![(*pattern).clone()];
                    }
                    CelValue::resolve(&alone, context).err()
                }
                _ => None,
            };
            own.or_else(|| parts.into_iter().find_map(find))
        }
        Expr::Comprehension(loops) => {
            [&loops.iter_range, &loops.loop_cond, &loops.loop_step, &loops.result].into_iter().find_map(find)
        }
        Expr::List(list) => list.elements.iter().find_map(find),
        Expr::Select(select) => find(&select.operand),
        _ => None,
    }
}

/// The types of CEL that have a name in expressions: `type(spec.replicas) == int`.
const TYPES: [&str; 9] = ["bool", "bytes", "double", "int", "list", "map", "null_type", "string", "uint"];

/// Returns a text that represents a type. Texts of an object never begin with NUL.
fn type_value(name: &str) -> CelValue {
    CelValue::String(format!("\0type {name}").into())
}

fn type_of(value: &CelValue) -> CelValue {
    type_value(match value {
        CelValue::Bool(_) => "bool",
        CelValue::Bytes(_) => "bytes",
        CelValue::Float(_) => "double",
        CelValue::Int(_) => "int",
        CelValue::List(_) => "list",
        CelValue::Map(_) => "map",
        CelValue::Null => "null_type",
        CelValue::String(_) => "string",
        CelValue::UInt(_) => "uint",
        _ => "dyn",
    })
}

/// Adds the functions that [`replace`] uses, and those that the crate `cel` lacks.
pub(crate) fn register(context: &mut Context<'_>) {
    for name in TYPES {
        context.add_variable_from_value(name, type_value(name));
    }
    context.add_function("type", |value: CelValue| -> Result<CelValue, ExecutionError> { Ok(type_of(&value)) });
    context.add_function("dyn", |value: CelValue| -> Result<CelValue, ExecutionError> { Ok(value) });
    context.add_function(EQUAL, |left: CelValue, right: CelValue| is_equal(&left, &right));
    context.add_function(NOT_EQUAL, |left: CelValue, right: CelValue| !is_equal(&left, &right));
}

fn is_equal(left: &CelValue, right: &CelValue) -> bool {
    match (left, right) {
        (CelValue::List(left), CelValue::List(right)) => {
            left.len() == right.len() && left.iter().zip(right.iter()).all(|(left, right)| is_equal(left, right))
        }
        (CelValue::Map(left), CelValue::Map(right)) => {
            left.map.len() == right.map.len()
                && left.map.iter().all(|(key, value)| right.get(key).is_some_and(|other| is_equal(value, other)))
        }
        _ => match (number(left), number(right)) {
            // Integers are compared as integers, because they can exceed the precision of a float.
            (Some(left_number), Some(right_number)) if is_float(left) || is_float(right) => left_number == right_number,
            (Some(_), Some(_)) => whole(left) == whole(right),
            _ => left == right,
        },
    }
}

fn is_float(value: &CelValue) -> bool {
    matches!(value, CelValue::Float(_))
}

fn whole(value: &CelValue) -> Option<i128> {
    match value {
        CelValue::Int(number) => Some(i128::from(*number)),
        CelValue::UInt(number) => Some(i128::from(*number)),
        _ => None,
    }
}

#[expect(clippy::cast_precision_loss, reason = "Go's library compares a whole number with a float in the same way")]
fn number(value: &CelValue) -> Option<f64> {
    match value {
        CelValue::Float(number) => Some(*number),
        other => whole(other).map(|number| number as f64),
    }
}
