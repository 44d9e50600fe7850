//! The result of running the built binary, with assertions.

// Each test binary uses what it needs.
#![allow(dead_code, reason = "every test binary uses other parts of it")]

use std::process::Output;

use serde_json::Value;

/// Exit code and both streams.
#[derive(Debug)]
pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// A process ended by a signal has the code -1.
impl From<Output> for Run {
    fn from(output: Output) -> Run {
        Run {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).expect("UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8"),
        }
    }
}

impl Run {
    /// Asserts the exit code, and shows both streams if it differs.
    #[track_caller]
    pub fn exits(self, code: i32) -> Run {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub fn stdout_has(self, text: &str) -> Run {
        assert!(self.stdout.contains(text), "stdout lacks {text:?}:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub fn stderr_has(self, text: &str) -> Run {
        assert!(self.stderr.contains(text), "stderr lacks {text:?}:\n{}", self.stderr);
        self
    }

    /// Parses stdout as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}:\n{}\nstderr:\n{}", self.stdout, self.stderr))
    }

    /// Returns the table row of an object; a table of one kind does not show the kind.
    #[track_caller]
    pub fn row(&self, kind: &str, name: &str) -> String {
        let has_kinds =
            self.stdout.lines().next().is_some_and(|head| head.split_whitespace().any(|word| word == "KIND"));
        let is_it = |line: &&str| {
            let words: Vec<_> = line.split_whitespace().collect();
            if has_kinds { words.windows(2).any(|two| two == [kind, name]) } else { words.contains(&name) }
        };
        self.stdout.lines().find(is_it).unwrap_or_else(|| panic!("no row {kind} {name}:\n{}", self.stdout)).to_owned()
    }
}

/// Decodes the text of a terminal: rexpect returns every byte as a character of its own.
pub fn shown_text(bytes: &str) -> String {
    let bytes: Vec<u8> = bytes.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?')).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
