//! JSON output: indented, with a final line break.

use serde::Serialize;

/// Serialises a value for a person or a file.
///
/// # Errors
/// The value has no JSON form, such as a map whose keys are not strings.
pub fn to_string(value: &impl Serialize) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}
