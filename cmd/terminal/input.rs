//! Input that may block: standard input, and files that are pipes.

use std::io::ErrorKind;
use std::path::Path;

use flux_operator::format::nearest::nearest;

use crate::terminal::{CliError, Exit, Shell};

/// Whether a file name means standard input.
pub fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// Returns the name of an input for messages.
pub fn name_of_input(path: &Path) -> String {
    if is_stdin(path) { "standard input".to_owned() } else { path.display().to_string() }
}

/// Returns the error for a file that cannot be opened. If the file does not exist, the error suggests the nearest name.
pub fn unopened(path: &Path, error: &std::io::Error) -> CliError {
    let failure = CliError::usage(format!("cannot read {}", name_of_input(path))).caused_by(error);
    match suggested_file(path, error) {
        Some(suggestion) => failure.hint(suggestion),
        None => failure,
    }
}

/// Returns a hint with the nearest name in the folder of a path that does not exist; `None` for any other error.
pub fn suggested_file(path: &Path, error: &std::io::Error) -> Option<String> {
    let name = if error.kind() == ErrorKind::NotFound { nearest_file(path)? } else { return None };
    Some(format!("did you mean {name}?"))
}

/// Returns the file or folder with the name nearest to that of a missing one.
fn nearest_file(path: &Path) -> Option<String> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(directory).ok()?.flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    // The order of files in a folder differs between machines.
    names.sort_unstable();
    let name = nearest(path.file_name()?.to_str()?, names.iter().map(String::as_str))?;
    Some(path.with_file_name(name).display().to_string())
}

impl Shell {
    /// Reads input on a separate thread: reading a pipe blocks, and the command must notice interrupts and `--timeout`.
    /// All input named by the user is read this way.
    ///
    /// `origin` names the input in messages.
    ///
    /// # Errors
    /// Unhealthy, if `--timeout` passes before the end of the input.
    pub async fn read_input<T: Send + 'static>(
        &self,
        origin: &str,
        read: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, CliError> {
        // After a timeout, this thread is left running, because a blocking read cannot be cancelled.
        let reading = tokio::task::spawn_blocking(read);
        let read = match &self.global.timeout {
            Some(limit) => {
                let left = limit.0.saturating_sub(self.elapsed());
                tokio::time::timeout(left, reading).await.map_err(|_| {
                    let message = format!("timed out after {:?} while reading {origin}", limit.0);
                    CliError::new(Exit::Unhealthy, message).hint("--timeout sets the deadline of the whole command")
                })?
            }
            None => reading.await,
        };
        read.map_err(|error| CliError::failed(format!("cannot read {origin}")).caused_by(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_read_that_does_not_end_stops_at_the_deadline() {
        let shell = Shell::of_flags(&["--timeout", "50ms"]);
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let error = shell.read_input("the pipe", move || receiver.recv()).await.unwrap_err();
        assert_eq!(error.exit(), Exit::Unhealthy);
        assert!(error.message().contains("while reading the pipe"), "{}", error.message());
        drop(sender);
    }

    #[tokio::test]
    async fn the_text_that_was_read_is_returned() {
        assert_eq!(Shell::of_flags(&[]).read_input("a number", || 7).await.unwrap(), 7);
    }
}
