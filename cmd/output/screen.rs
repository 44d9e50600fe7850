//! A screen of labelled lines: each label once, a mark for good or bad, and long texts wrapped below their own start.

use anstyle::{AnsiColor, Reset};
use unicode_width::UnicodeWidthStr;

use crate::output::wrap::wrapped;
use flux_operator::format::harmless::on_one_line;

/// Width of the labels.
const LABEL: usize = 13;
/// Width of the marks.
const MARK: usize = 2;
/// Limit for the lines of one text; `why` shows all.
const LINES: usize = 6;
/// Minimum width of wrapped text after its head.
const LEAST: usize = 12;

pub struct Screen {
    width: Option<usize>,
    color: bool,
    label: String,
    text: String,
}

impl Screen {
    /// `width` is that of the terminal; with `None` nothing is wrapped.
    pub fn new(width: Option<usize>, color: bool) -> Self {
        Screen { width, color, label: String::new(), text: String::new() }
    }

    pub fn line(&mut self, label: &str, says: &str) {
        self.styled(label, ("", None), "", says);
    }

    /// Adds a line about something that is good, bad, or neither.
    pub fn marked(&mut self, label: &str, well: Option<bool>, says: &str) {
        self.headed(label, well, "", says);
    }

    /// Like [`Screen::marked`], with a head before the wrapped text.
    pub fn headed(&mut self, label: &str, well: Option<bool>, head: &str, says: &str) {
        let mark = match well {
            Some(true) => ("✔ ", Some(AnsiColor::Green)),
            Some(false) => ("✗ ", Some(AnsiColor::Red)),
            None => ("• ", None),
        };
        self.styled(label, mark, head, says);
    }

    /// Returns the columns after a label and a mark; `None` for a pipe.
    pub fn room(&self) -> Option<usize> {
        self.width.map(|width| width.saturating_sub(LABEL + MARK))
    }

    /// Adds a line to copy, which is never wrapped.
    pub fn command(&mut self, label: &str, command: &str) {
        let label = self.label(label);
        self.text.push_str(&format!("{label}{}\n", on_one_line(command)));
    }

    pub fn text(self) -> String {
        self.text
    }

    fn styled(&mut self, label: &str, (mark, color): (&str, Option<AnsiColor>), head: &str, says: &str) {
        let label = self.label(label);
        let says = on_one_line(says);
        let room = self.width.map(|width| width.saturating_sub(LABEL + mark.width()));
        let (indent, rows) = match room {
            // Beside such a long head, the text would be a column of single words, so it is wrapped together with the
            // head.
            Some(room) if head.width() + says.width() > room && room < head.width() + LEAST => {
                (0, wrapped(&format!("{head}{says}"), room, LINES))
            }
            Some(room) if head.width() + says.width() > room => {
                let mut rows = wrapped(&says, room - head.width(), LINES);
                rows.first_mut().into_iter().for_each(|row| row.insert_str(0, head));
                (head.width(), rows)
            }
            _ => (0, vec![format!("{head}{says}")]),
        };
        let indent = LABEL + mark.width() + indent;
        let mark = match color.filter(|_| self.color) {
            Some(color) => format!("{}{mark}{}", color.on_default(), Reset),
            None => mark.to_owned(),
        };
        for (index, row) in rows.iter().enumerate() {
            let before = if index == 0 { format!("{label}{mark}") } else { " ".repeat(indent) };
            self.text.push_str(format!("{before}{row}").trim_end());
            self.text.push('\n');
        }
    }

    /// Returns the label, or blanks if it equals the previous one.
    fn label(&mut self, label: &str) -> String {
        let shown = if self.label == label { "" } else { label };
        let padded = format!("{shown:LABEL$}");
        self.label = label.to_owned();
        padded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_coloured_a_label_printed_once_a_text_wrapped_and_a_command_kept() {
        let mut screen = Screen::new(Some(24), true);
        screen.marked("Sync", Some(true), "a line that is too long");
        screen.marked("Sync", None, "b\u{1b}[31m");
        screen.command("Next", "flux-operator why instance flux");
        let lines: Vec<String> = screen.text().lines().map(str::to_owned).collect();
        assert_eq!(lines[0], "Sync         \u{1b}[32m✔ \u{1b}[0ma line");
        assert_eq!(lines[1..3], ["               that is", "               too long"]);
        assert_eq!(lines[3], "             • b[31m");
        assert_eq!(lines[4], "Next         flux-operator why instance flux");
    }

    #[test]
    fn a_text_is_wrapped_beside_its_head_if_there_is_space() {
        let shown = |width| {
            let mut screen = Screen::new(Some(width), false);
            screen.headed("Objects", Some(true), "Provider  ", "1 ready, 2 failing");
            screen.text()
        };
        assert_eq!(shown(43), "Objects      ✔ Provider  1 ready, 2 failing\n");
        insta::assert_snapshot!(shown(40), @r"
        Objects      ✔ Provider  1 ready, 2
                                 failing
        ");
        insta::assert_snapshot!(shown(34), @r"
        Objects      ✔ Provider 1 ready, 2
                       failing
        ");
    }
}
