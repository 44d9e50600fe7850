//! Standard output: every text is written completely and at once, and a failed write never counts as successful.

use std::io::{self, Write};

use flux_operator_closed_stdout::stdout_was_closed;

use crate::terminal::{CliError, Exit};

/// Writes to standard output and flushes it.
///
/// # Errors
/// The reader has closed the pipe, the disk is full, or the process was started without standard output.
pub fn write(bytes: &[u8]) -> io::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    if stdout_was_closed() {
        return Err(io::Error::other("it is closed"));
    }
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush())
}

/// Returns the error of a failed write; `None` if the reader closed the pipe (`… | head -1`), because it has everything
/// it wants.
pub fn failure(error: &io::Error) -> Option<CliError> {
    let is_lost = error.kind() != io::ErrorKind::BrokenPipe;
    is_lost.then(|| CliError::failed("cannot write to standard output").caused_by(error))
}

/// Prints a text that is the whole answer: help, the version, completions. Returns the process's result.
pub fn print_answer(text: &str) -> Exit {
    match write(text.as_bytes()).err().as_ref().and_then(failure) {
        None => Exit::Done,
        Some(error) => {
            error.print(false, false);
            error.exit()
        }
    }
}
