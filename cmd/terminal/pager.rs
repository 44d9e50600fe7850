//! A pager for output that is longer than the screen, as in git.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::terminal::environment;

/// Commands that only print and end. Other commands ask questions, follow changes, or write while they print.
const READS: [&str; 17] = [
    "get",
    "tree",
    "trace",
    "events",
    "logs",
    "debug",
    "impact",
    "stats",
    "status",
    "why",
    "check",
    "what-changed",
    "plan",
    "explain",
    "build",
    "export",
    "config",
];
/// Flags with which a command does not end on its own.
const FOLLOWS: [&str; 2] = ["watch", "follow"];

/// Whether a command may use a pager. `command` are its words, `given` the flags of the line.
pub fn fits(command: &str, given: &[String]) -> bool {
    let verb = command.split(' ').next().unwrap_or_default();
    READS.contains(&verb) && !given.iter().any(|flag| FOLLOWS.contains(&flag.as_str()))
}

/// Shows a text in the user's pager; `false` if the text fits the screen, or if the pager is not set or cannot be
/// started.
pub fn show(text: &[u8]) -> bool {
    let Some((pager, _)) = environment::pager() else { return false };
    let lines = text.iter().filter(|byte| **byte == b'\n').count();
    // A text with as many lines as the screen has rows does not fit, because the prompt needs the last row.
    if rows().is_none_or(|rows| lines < rows) {
        return false;
    }
    let words = shlex::split(&pager).unwrap_or_default();
    let Some((program, arguments)) = words.split_first() else { return false };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped());
    if !environment::is_set("LESS") {
        // The same options as git's: quit if the text fits, show colours, keep the text on the screen.
        command.env("LESS", "FRX");
    }
    let Ok(mut child) = command.spawn() else { return false };
    if let Some(mut stdin) = child.stdin.take() {
        // If the user quits the pager early, the pipe is closed. That is not an error.
        let _ = stdin.write_all(text);
    }
    // The pager's exit code says nothing about the command.
    let _ = child.wait();
    true
}

/// Returns the number of rows of the terminal.
#[cfg(unix)]
fn rows() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    Some(usize::from(size.ws_row)).filter(|rows| *rows > 0)
}

#[cfg(not(unix))]
fn rows() -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_commands_that_print_and_end_have_a_pager() {
        assert!(fits("get resources", &["all_namespaces".to_owned()]));
        assert!(!fits("get resources", &["watch".to_owned()]));
        assert!(!fits("logs", &["follow".to_owned()]));
        assert!(!fits("apply instance", &[]));
        assert!(!fits("upgrade", &[]));
    }
}
