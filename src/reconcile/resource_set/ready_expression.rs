//! `readyExpr`: an expression in CEL that says whether a dependency is ready.
//!
//! This operator does not evaluate CEL. An expression is refused rather than ignored, because a set that is applied too early
//! may break its dependency.

/// Reads an expression.
///
/// # Errors
/// The reason why it cannot be used: trying again is of no use until the spec changes.
pub(super) fn parse(text: &str) -> Result<(), String> {
    Err(format!("failed to parse the CEL expression '{text}': this operator does not evaluate readyExpr"))
}
