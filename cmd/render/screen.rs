//! One screen of labelled lines: a label once, marks before what is well or not, nothing wider than the terminal.

use anstyle::{AnsiColor, Reset};

use super::table::clean;
use super::wrap::cut;

/// Width of the labels.
const LABEL: usize = 13;

pub struct Screen {
    width: Option<usize>,
    color: bool,
    label: String,
    text: String,
}

impl Screen {
    /// `width` is that of the terminal; without one nothing is cut.
    pub fn new(width: Option<usize>, color: bool) -> Self {
        Screen { width, color, label: String::new(), text: String::new() }
    }

    pub fn line(&mut self, label: &str, says: &str) {
        self.styled(label, "", says, None);
    }

    /// A line about something that is well, is not, or of which neither can be said.
    pub fn marked(&mut self, label: &str, well: Option<bool>, says: &str) {
        let (mark, color) = match well {
            Some(true) => ("✔ ", Some(AnsiColor::Green)),
            Some(false) => ("✗ ", Some(AnsiColor::Red)),
            None => ("• ", None),
        };
        self.styled(label, mark, says, color);
    }

    /// A line to copy: never cut.
    pub fn command(&mut self, label: &str, command: &str) {
        let label = self.label(label);
        self.text.push_str(&format!("{label}{}\n", clean(command)));
    }

    pub fn text(self) -> String {
        self.text
    }

    fn styled(&mut self, label: &str, mark: &str, says: &str, color: Option<AnsiColor>) {
        let label = self.label(label);
        let says = clean(says);
        let left = self.width.map(|width| width.saturating_sub(LABEL + mark.chars().count()));
        let says = left.map_or_else(|| says.clone(), |left| cut(&says, left));
        let mark = match color.filter(|_| self.color) {
            Some(color) => format!("{}{mark}{}", color.on_default(), Reset),
            None => mark.to_owned(),
        };
        self.text.push_str(format!("{label}{mark}{says}").trim_end());
        self.text.push('\n');
    }

    /// The label, where it is another one than that of the line before.
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
    fn a_mark_is_coloured_a_label_said_once_and_a_command_never_cut() {
        let mut screen = Screen::new(Some(24), true);
        screen.marked("Sync", Some(true), "a line that is too long");
        screen.marked("Sync", None, "b\u{1b}[31m");
        screen.command("Next", "flux-operator why instance flux");
        let lines: Vec<String> = screen.text().lines().map(str::to_owned).collect();
        assert_eq!(lines[0], "Sync         \u{1b}[32m✔ \u{1b}[0ma line t…");
        assert_eq!(lines[1], "             • b[31m");
        assert_eq!(lines[2], "Next         flux-operator why instance flux");
    }
}
