//! Lines of a screen for a single view: no wider than the terminal, with optional colour.

use anstyle::AnsiColor;
use flux_operator::format::age::short_age;
use flux_operator::inspect::diagnose::why::Cause;
use jiff::Timestamp;
use unicode_width::UnicodeWidthStr;

use crate::output::table::terminal_width;
use crate::output::wrap::wrapped;
use crate::terminal::Shell;
use flux_operator::format::harmless::on_one_line;

/// Lines for a terminal, with optional colour.
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

    /// Adds a line that is never wrapped: a heading, a name, or a command to copy.
    pub fn whole(&mut self, content: &str, style: Option<AnsiColor>) {
        self.styled(on_one_line(content).trim_end(), style);
    }

    /// Adds a text after its head, wrapped at the terminal's width below its own start.
    pub fn hanging(&mut self, head: &str, text: &str, style: Option<AnsiColor>) {
        self.below(head, head.width(), text, style);
    }

    /// Like [`Lines::hanging`], with later lines at their own column.
    fn below(&mut self, head: &str, column: usize, text: &str, style: Option<AnsiColor>) {
        let text = on_one_line(text);
        let rows = match self.width {
            Some(width) if (head.width() + text.width()) > width => {
                wrapped(&text, width.saturating_sub(column.max(head.width())), usize::MAX)
            }
            _ => vec![text],
        };
        for (index, row) in rows.iter().enumerate() {
            let head = if index == 0 { head.to_owned() } else { " ".repeat(column) };
            self.styled(format!("{head}{row}").trim_end(), style);
        }
    }

    /// Like [`Lines::hanging`], with only the head coloured.
    pub fn marked(&mut self, head: &str, text: &str, style: Option<AnsiColor>) {
        let begin = self.text.len();
        self.hanging(head, text, None);
        if let Some(style) = style.filter(|_| self.color) {
            self.text.replace_range(begin..begin + head.len(), &colored(head, style));
        }
    }

    fn styled(&mut self, text: &str, style: Option<AnsiColor>) {
        match style.filter(|_| self.color) {
            Some(style) => self.text.push_str(&colored(text, style)),
            None => self.text.push_str(text),
        }
        self.text.push('\n');
    }

    pub fn evidence(&mut self, indent: &str, cause: &Cause, now: Timestamp) {
        for evidence in &cause.evidence {
            let age = evidence.at.map(|at| format!(", {} ago", short_age(at, now))).unwrap_or_default();
            self.below(indent, indent.len() + 2, &format!("{}{age}: {}", evidence.from, evidence.text), None);
        }
    }

    pub fn text(self) -> String {
        self.text
    }
}

fn colored(text: &str, color: AnsiColor) -> String {
    let style = color.on_default();
    format!("{style}{text}{style:#}")
}
