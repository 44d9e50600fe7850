//! The one error type of the command line, its text, and the exit codes.

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use flux_operator::api::object_words::InvalidObjectWords;
use flux_operator::inspect::incident::redact::shareable_line;

use crate::output::as_started::as_started;
use crate::output::hints::{Hint, REQUEST_TIMEOUT};
use crate::output::next_step::Destination;
use crate::terminal::GlobalArgs;
use flux_operator::format::harmless::harmless;

pub(super) const RED: Style = AnsiColor::Red.on_default().bold();
pub(super) const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
pub(super) const CYAN: Style = AnsiColor::Cyan.on_default().bold();

/// Every result of a command; the numbers are a promise to scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done, including "nothing to change" and an empty list.
    Done,
    /// Failed for any other reason, including conflicts.
    Failed,
    /// `plan` found differences.
    Differences,
    /// Wrong usage; for `plan` also "could not compare".
    Usage,
    NotFound,
    /// The API or a custom resource definition is not installed.
    ApiMissing,
    /// 401, 403, expired credentials.
    Denied,
    /// The API server cannot be reached, TLS failed, or the kubeconfig and context do not select a cluster.
    Unreachable,
    /// Timed out, or the object reports a failure.
    Unhealthy,
    /// Some of several clusters could not be reached, and the command succeeded for the others.
    PartlyUnreachable,
    Interrupted,
}

impl Exit {
    pub const ALL: [Exit; 11] = [
        Exit::Done,
        Exit::Failed,
        Exit::Differences,
        Exit::Usage,
        Exit::NotFound,
        Exit::ApiMissing,
        Exit::Denied,
        Exit::Unreachable,
        Exit::Unhealthy,
        Exit::PartlyUnreachable,
        Exit::Interrupted,
    ];

    /// Returns the process exit code and its word in JSON errors.
    pub fn code_and_category(self) -> (u8, &'static str) {
        match self {
            Exit::Done => (0, "Done"),
            Exit::Failed => (1, "Failed"),
            Exit::Differences => (1, "Differences"),
            Exit::Usage => (2, "Usage"),
            Exit::NotFound => (3, "NotFound"),
            Exit::ApiMissing => (4, "ApiMissing"),
            Exit::Denied => (5, "Denied"),
            Exit::Unreachable => (6, "Unreachable"),
            Exit::Unhealthy => (7, "Unhealthy"),
            Exit::PartlyUnreachable => (8, "PartlyUnreachable"),
            Exit::Interrupted => (130, "Interrupted"),
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code_and_category().0)
    }
}

/// Why a command failed: the operation, the chain of causes, and what to do next.
#[derive(Clone, Debug)]
pub struct CliError {
    exit: Exit,
    message: String,
    object: Option<String>,
    causes: Vec<String>,
    hints: Vec<Hint>,
    silent: bool,
}

impl From<InvalidObjectWords> for CliError {
    fn from(invalid: InvalidObjectWords) -> CliError {
        CliError::usage(invalid.to_string()).hint(invalid.hint())
    }
}

impl CliError {
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        CliError {
            exit,
            message: without_os_code(message.into()),
            object: None,
            causes: vec![],
            hints: vec![],
            silent: false,
        }
    }

    pub fn failed(message: impl Into<String>) -> Self {
        CliError::new(Exit::Failed, message)
    }

    pub fn usage(message: impl Into<String>) -> Self {
        CliError::new(Exit::Usage, message)
    }

    /// A result without a message.
    pub fn silent(exit: Exit) -> Self {
        CliError { silent: true, ..CliError::new(exit, "") }
    }

    /// Appends an error and its causes; a source that only repeats its parent's text is skipped.
    #[must_use]
    pub fn caused_by(mut self, error: &(dyn Error + 'static)) -> Self {
        let mut next = Some(error);
        while let Some(error) = next {
            let text = without_os_code(error.to_string());
            if self.causes.last().is_none_or(|last| !last.ends_with(&text)) {
                self.causes.push(text);
            }
            next = error.source();
        }
        self
    }

    #[must_use]
    pub fn with_exit(mut self, exit: Exit) -> Self {
        self.exit = exit;
        self
    }

    /// Appends a line below the message.
    #[must_use]
    pub fn cause(mut self, text: impl Into<String>) -> Self {
        self.causes.push(without_os_code(text.into()));
        self
    }

    /// Adds the object of the command, as `kind/namespace/name`.
    #[must_use]
    pub fn object(mut self, object: impl Into<String>) -> Self {
        self.object = Some(object.into());
        self
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<Hint>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Replaces all hints by one.
    #[must_use]
    pub fn only_hint(mut self, hint: impl Into<Hint>) -> Self {
        self.hints = vec![hint.into()];
        self
    }

    pub fn message(&self) -> &str {
        &self.message
    }

    pub fn causes(&self) -> &[String] {
        &self.causes
    }

    pub fn hints(&self) -> &[Hint] {
        &self.hints
    }

    /// Reports whether the result has no message.
    pub fn is_silent(&self) -> bool {
        self.silent
    }

    pub fn exit(&self) -> Exit {
        self.exit
    }

    /// Returns the hints as sentences.
    pub fn advice(&self, destination: &Destination, time_flag: &str) -> Vec<String> {
        self.hints.iter().map(|hint| hint.sentence(destination, time_flag)).collect()
    }

    /// Returns the error with its hints worded for this command line.
    pub(super) fn for_flags(&self, flags: &GlobalArgs) -> CliError {
        let hints = self.advice(&flags.destination(), flags.time_flag()).into_iter().map(Hint::Words).collect();
        CliError { hints, ..self.clone() }
    }

    pub(super) fn print(&self, structured: bool, color: bool) {
        if self.silent {
            return;
        }
        // Without stderr the error cannot be printed.
        let _ = std::io::stderr().lock().write_all(as_started(&self.shown(structured, color)).as_bytes());
    }

    /// Formats the error as text, or as JSON.
    pub(super) fn shown(&self, structured: bool, color: bool) -> String {
        if structured { self.json() } else { self.text(color) }
    }

    fn json(&self) -> String {
        let (code, category) = self.exit.code_and_category();
        let causes: Vec<String> = self.causes.iter().map(|cause| shareable_line(cause)).collect();
        let hints = self.advice(&Destination::default(), REQUEST_TIMEOUT);
        let value = serde_json::json!({
            "type": "error", "code": code, "category": category, "object": self.object,
            "message": shareable_line(&self.message), "causes": causes, "hints": hints,
        });
        format!("{value}\n")
    }

    pub fn text(&self, color: bool) -> String {
        let paint = |word: &str, style: Style| {
            if color { format!("{style}{word}{style:#}") } else { word.to_owned() }
        };
        // Libraries and servers repeat addresses, which may hold secrets, and errors end up in logs.
        let mut text = format!("{} {}\n", paint("error:", RED), harmless(&shareable_line(&self.message)));
        for cause in &self.causes {
            text.push_str(&format!("{} {}\n", paint("caused by:", RED), harmless(&shareable_line(cause))));
        }
        for hint in self.advice(&Destination::default(), REQUEST_TIMEOUT) {
            text.push_str(&format!("{} {}\n", paint("hint:", CYAN), harmless(&hint)));
        }
        text
    }
}

/// Removes the numbers that Rust appends to messages of the operating system: ` (os error 2)`.
pub(super) fn without_os_code(mut text: String) -> String {
    const BEGIN: &str = " (os error ";
    while let Some((start, length)) = text.find(BEGIN).and_then(|start| {
        let rest = text.get(start + BEGIN.len()..)?;
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        rest.get(digits..)?.starts_with(')').then_some((start, BEGIN.len() + digits + 1))
    }) {
        text.replace_range(start..start + length, "");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_the_documented_ones() {
        let codes: Vec<u8> = Exit::ALL.iter().map(|e| e.code_and_category().0).collect();
        assert_eq!(codes, [0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 130]);
    }

    #[test]
    fn error_numbers_are_removed_from_messages_of_the_operating_system() {
        let missing = std::fs::read("/nonexistent/file").unwrap_err();
        let error = CliError::failed(format!("cannot read it: {missing}; again: {missing}")).caused_by(&missing);
        let error = error.cause(format!("tcp connect error: {}", std::io::Error::from_raw_os_error(111)));
        assert!(missing.to_string().contains("os error"), "{missing}");
        assert!(!error.text(false).contains("os error") && !error.json().contains("os error"), "{}", error.text(false));
        assert_eq!(without_os_code("x (os error y) (os error 2".into()), "x (os error y) (os error 2");
    }

    #[test]
    fn addresses_in_errors_show_no_credentials() {
        let error = CliError::failed("cannot use oci://u:pass1@host/x").cause("GET https://host/y?sig=pass2: refused");
        for shown in [error.text(false), error.json()] {
            assert!(!shown.contains("pass1") && !shown.contains("pass2") && shown.contains("host/y"), "{shown}");
        }
    }

    #[test]
    fn an_error_names_its_causes_and_hints_in_text_and_json() {
        let io = std::io::Error::new(std::io::ErrorKind::NotFound, "no such file");
        let error = CliError::failed("cannot read a.yaml").caused_by(&io).hint("check the path").object("file/a.yaml");
        insta::assert_snapshot!(error.text(false), @r"
        error: cannot read a.yaml
        caused by: no such file
        hint: check the path
        ");
        let json: serde_json::Value = serde_json::from_str(&error.json()).unwrap();
        assert_eq!(json["code"], 1);
        assert_eq!(json["causes"][0], "no such file");
        assert_eq!(json["object"], "file/a.yaml");
    }
}
