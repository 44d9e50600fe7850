//! `--dry-run=client`.

use flux_operator::format::yaml;
use serde_json::Value;

use crate::terminal::{CliError, Exit, Shell};

/// Prints an object that a command without the flag would send.
///
/// # Errors
/// The object cannot be written as YAML.
pub fn print_unsent(shell: &Shell, object: &Value) -> Result<Exit, CliError> {
    let text = yaml::to_string(object).map_err(|e| CliError::failed("cannot print the object").caused_by(&e))?;
    shell.print(&text);
    shell.status("(dry run) nothing was sent");
    Ok(Exit::Done)
}
