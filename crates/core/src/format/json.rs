//! JSON as it is printed: indented, and ended as a text file is.

use serde::Serialize;

/// Writes a value for a person or a file.
///
/// # Errors
/// The value has no JSON form, such as a map whose keys are no texts.
pub fn to_string(value: &impl Serialize) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}
