//! Lines and words of the notation, with their places for error messages.

use super::version_gate::Gate;

/// A mistake in a notation file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}")]
pub struct NotationError {
    pub file: &'static str,
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in bytes.
    pub column: usize,
    pub message: String,
}

/// Position of a line in its file, for errors that are found later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Position {
    pub file: &'static str,
    pub line: usize,
    pub column: usize,
}

impl Position {
    pub(crate) fn error(self, message: impl Into<String>) -> NotationError {
        NotationError { file: self.file, line: self.line, column: self.column, message: message.into() }
    }
}

/// A line without its indentation.
#[derive(Debug)]
pub(super) struct Line {
    file: &'static str,
    number: usize,
    depth: usize,
    pub text: &'static str,
}

impl Line {
    pub(crate) fn position(&self, offset: usize) -> Position {
        Position { file: self.file, line: self.number, column: self.depth * INDENT + offset + 1 }
    }
}

const INDENT: usize = 2;

/// Checks the indentation and drops comments and empty lines.
pub(super) fn lines(file: &'static str, text: &'static str) -> Result<Vec<Line>, NotationError> {
    let mut lines: Vec<Line> = Vec::new();
    for (index, raw) in text.lines().enumerate() {
        let text = raw.trim_start_matches(' ');
        if text.trim_end().is_empty() || text.starts_with('#') {
            continue;
        }
        let indent = raw.len() - text.len();
        let position = Position { file, line: index + 1, column: indent + 1 };
        if text.starts_with('\t') {
            return Err(position.error("a tab: indent with two spaces per level"));
        }
        if text.trim_end() != text {
            return Err(Position { column: indent + text.trim_end().len() + 1, ..position }.error("space at the end"));
        }
        let depth = indent / INDENT;
        let deepest = lines.last().map_or(0, |line| line.depth + 1);
        if !indent.is_multiple_of(INDENT) || depth > deepest {
            return Err(position.error("wrong indentation: two spaces more than the line this one belongs to"));
        }
        lines.push(Line { file, number: index + 1, depth, text });
    }
    Ok(lines)
}

/// Splits `tail`, the lines after `line`, into the lines that are indented below `line` and the remaining lines.
pub(super) fn block<'l>(line: &Line, tail: &'l [Line]) -> (&'l [Line], &'l [Line]) {
    let end = tail.iter().position(|other| other.depth <= line.depth).unwrap_or(tail.len());
    tail.split_at(end)
}

/// Returns where `part` starts in `whole`; both must be slices of the same text.
pub(super) fn offset(whole: &str, part: &str) -> usize {
    (part.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize)
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Word {
    pub text: &'static str,
    pub position: Position,
}

impl Word {
    /// Splits `text@gate`.
    pub(crate) fn split_gate(self) -> Result<(&'static str, Gate<'static>), NotationError> {
        match self.text.rsplit_once('@') {
            None => Ok((self.text, Gate::EVERYWHERE)),
            Some((text, gate)) => Gate::parse(gate).map(|gate| (text, gate)).map_err(|message| {
                let column = self.position.column + text.len() + 1;
                Position { column, ..self.position }.error(message)
            }),
        }
    }

    /// As [`Word::split_gate`], but in `oneof=` the gates belong to the single values.
    pub(crate) fn split_gate_keeping_values(self) -> Result<(&'static str, Gate<'static>), NotationError> {
        if self.text.starts_with("oneof=") { Ok((self.text, Gate::EVERYWHERE)) } else { self.split_gate() }
    }
}

/// The words of a line, after its gate in brackets and its description were split off.
pub(super) struct Words {
    rest: &'static str,
    at: Position,
    gate: Option<Word>,
    pub description: Option<&'static str>,
}

impl Words {
    pub(crate) fn new(line: &Line) -> Result<Self, NotationError> {
        // A regular expression is the whole remainder of its line and may contain anything.
        if line.depth == 0 && line.text.starts_with("pattern ") {
            return Ok(Self { rest: line.text, at: line.position(0), gate: None, description: None });
        }
        let (head, description) = match line.text.split_once(" # ") {
            Some((head, description)) => (head.trim_end(), Some(description.trim())),
            None => (line.text, None),
        };
        let (head, gate) = match head.strip_suffix(']').and_then(|head| head.rsplit_once(" [")) {
            Some((before, gate)) => {
                let word = Word { text: gate, position: line.position(offset(line.text, gate)) };
                (before.trim_end(), Some(word))
            }
            None => (head, None),
        };
        Ok(Self { rest: head, at: line.position(0), gate, description })
    }

    pub(crate) fn position(&self) -> Position {
        self.at
    }

    pub(crate) fn take(&mut self) -> Option<Word> {
        let trimmed = self.rest.trim_start();
        self.at.column += self.rest.len() - trimmed.len();
        if trimmed.is_empty() {
            self.rest = trimmed;
            return None;
        }
        let (text, rest) = trimmed.split_once(' ').unwrap_or((trimmed, ""));
        let word = Word { text, position: self.at };
        self.at.column += trimmed.len() - rest.len();
        self.rest = rest;
        Some(word)
    }

    pub(crate) fn next(&mut self, what: &str) -> Result<Word, NotationError> {
        self.take().ok_or_else(|| self.at.error(format!("the line ends where {what} is expected")))
    }

    pub(crate) fn remainder(&mut self, what: &str) -> Result<&'static str, NotationError> {
        match std::mem::take(&mut self.rest) {
            "" => Err(self.at.error(format!("the line ends where {what} is expected"))),
            text => Ok(text),
        }
    }

    pub(crate) fn gate(&mut self) -> Result<Gate<'static>, NotationError> {
        match self.gate.take() {
            None => Ok(Gate::EVERYWHERE),
            Some(word) => Gate::parse(word.text).map_err(|message| word.position.error(message)),
        }
    }

    pub(crate) fn end(mut self) -> Result<(), NotationError> {
        if let Some(word) = self.take() {
            return Err(word.position.error(format!("unexpected `{}`", word.text)));
        }
        match self.gate {
            Some(gate) => Err(gate.position.error("this kind of line takes no gate")),
            None => Ok(()),
        }
    }
}
