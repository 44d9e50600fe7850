//! How a cause is written on a terminal.

use anstyle::{AnsiColor, Style};
use flux_operator::inspect::listing::short_age;
use flux_operator::inspect::why::Cause;
use jiff::Timestamp;

use crate::render::table::{clean, cut, terminal_width};
use crate::shell::Shell;

/// Lines for a terminal, coloured where that is wanted.
pub struct Lines {
    width: Option<usize>,
    color: bool,
    text: String,
}

impl Lines {
    pub fn new(shell: &Shell) -> Self {
        Lines {
            width: shell.stdout_is_terminal().then(terminal_width),
            color: shell.stdout_color(),
            text: String::new(),
        }
    }

    /// One line, cut at the terminal's width.
    pub fn line(&mut self, mark: &str, content: &str, style: Option<AnsiColor>) {
        let whole = clean(&format!("{mark}{content}"));
        let whole = self.width.map_or(whole.clone(), |width| cut(&whole, width));
        self.styled(whole.trim_end(), style);
    }

    /// A line that is never cut: of commands, and of what has to be read to its end.
    pub fn whole(&mut self, content: &str, style: Option<AnsiColor>) {
        self.styled(clean(content).trim_end(), style);
    }

    fn styled(&mut self, text: &str, style: Option<AnsiColor>) {
        match style.filter(|_| self.color) {
            Some(style) => {
                self.text.push_str(&format!("{}{text}{:#}\u{1b}[0m\n", style.on_default(), Style::new()));
            }
            None => self.text.push_str(&format!("{text}\n")),
        }
    }

    pub fn evidence(&mut self, indent: &str, cause: &Cause<String>, now: Timestamp) {
        for evidence in &cause.evidence {
            let age = evidence.at.map(|at| format!(", {} ago", short_age(at, now))).unwrap_or_default();
            self.line(indent, &format!("{}{age}: {}", evidence.from, evidence.text), None);
        }
    }

    pub fn text(self) -> String {
        self.text
    }
}
