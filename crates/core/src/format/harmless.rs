//! Removes control characters from untrusted text before it is printed on a terminal.

use std::borrow::Cow;

/// Removes the characters that control a terminal: control characters (except line feeds and tabs) and marks that
/// change the writing direction.
pub fn harmless(text: &str) -> Cow<'_, str> {
    filtered(text, false)
}

/// Like [`harmless`], but keeps colours, for text that was coloured after foreign parts were cleaned.
pub fn harmless_in_colour(text: &str) -> Cow<'_, str> {
    filtered(text, true)
}

/// Like [`harmless`], on one line: line ends and tabs become blanks.
pub fn on_one_line(text: &str) -> String {
    harmless(&text.replace(['\n', '\r', '\t'], " ")).into_owned()
}

fn controls_terminal(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t'))
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn filtered(text: &str, colours: bool) -> Cow<'_, str> {
    if !text.contains(controls_terminal) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(controls_terminal) {
        let (plain, from) = rest.split_at(at);
        kept.push_str(plain);
        let colour = if colours { colour_at_start(from) } else { "" };
        kept.push_str(colour);
        let width = if colour.is_empty() { from.chars().next().map_or(0, char::len_utf8) } else { colour.len() };
        rest = from.get(width..).unwrap_or_default();
    }
    kept.push_str(rest);
    Cow::Owned(kept)
}

/// Returns the colour sequence (`ESC [ digits and semicolons m`) at the start of a text, or an empty text.
fn colour_at_start(text: &str) -> &str {
    let Some(parameters) = text.strip_prefix("\u{1b}[") else { return "" };
    let end = parameters.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(parameters.len());
    if parameters.get(end..).is_some_and(|rest| rest.starts_with('m')) {
        text.get(.."\u{1b}[".len() + end + 1).unwrap_or_default()
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_removed_and_text_is_kept() {
        assert_eq!(harmless("a\tü\n✔"), "a\tü\n✔");
        assert_eq!(harmless("\u{1b}]52;c;eA==\u{7}x\r\u{9b}1my\u{202e}z"), "]52;c;eA==x1myz");
        assert_eq!(harmless("\u{1b}[31mred\u{1b}[0m"), "[31mred[0m");
        assert_eq!(on_one_line("a\nb\tc\u{7}d"), "a b cd");
    }

    #[test]
    fn only_colours_survive_where_colours_are_written() {
        assert_eq!(harmless_in_colour("\u{1b}[1;31mred\u{1b}[0m"), "\u{1b}[1;31mred\u{1b}[0m");
        assert_eq!(harmless_in_colour("\u{1b}[2J\u{1b}[H\u{1b}]0;t\u{7}x\u{1b}["), "[2J[H]0;tx[");
    }
}
