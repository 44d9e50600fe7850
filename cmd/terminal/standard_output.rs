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
    // Rust's runtime puts /dev/null in the place of a closed stdout, where every write would succeed.
    if stdout_was_closed() {
        return Err(io::Error::other("it is closed"));
    }
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush())
}

/// Returns the error of a failed write; `None` if the reader closed the pipe (`… | head -1`), because then it needs no
/// more output.
pub fn failure(error: &io::Error) -> Option<CliError> {
    // For a closed pipe, Windows also uses a second error, ERROR_PIPE_NOT_CONNECTED, which Rust does not map to
    // `BrokenPipe`.
    let is_closed_pipe =
        error.kind() == io::ErrorKind::BrokenPipe || (cfg!(windows) && error.raw_os_error() == Some(233));
    (!is_closed_pipe).then(|| CliError::failed("cannot write to standard output").caused_by(error))
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
