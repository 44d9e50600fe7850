//! Foreign text on its way to a terminal: it must not control the terminal.
//!
//! All output passes through here in [`Shell`](super::Shell), so commands need not care.

use std::borrow::Cow;

/// Removes what a terminal would obey: control characters (except line ends and tabs) and marks that change the writing
/// direction.
pub fn harmless(text: &str) -> Cow<'_, str> {
    filtered(text, false)
}

/// Like [`harmless`], but keeps colours, for text that was coloured after foreign parts were cleaned.
pub fn harmless_in_colour(text: &str) -> Cow<'_, str> {
    filtered(text, true)
}

/// Replaces our own symbols for a terminal without UTF-8, keeping the width; foreign text is unchanged.
pub fn in_ascii(text: &str) -> String {
    let plain = |c| match c {
        '✔' => '+',
        '✗' => 'x',
        '‼' => '!',
        '◎' => 'o',
        '►' | '→' => '>',
        '…' => '~',
        '├' | '│' => '|',
        '└' => '`',
        '─' => '-',
        '█' | '━' => '#',
        '░' | '▒' | '▓' => '.',
        '•' | '·' => '*',
        other => other,
    };
    text.chars().map(plain).collect()
}

fn steers(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t'))
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn filtered(text: &str, colours: bool) -> Cow<'_, str> {
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(steers) {
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
    fn controls_go_and_text_stays() {
        assert_eq!(harmless("a\tü\n✔"), "a\tü\n✔");
        assert_eq!(harmless("\u{1b}]52;c;eA==\u{7}x\r\u{9b}1my\u{202e}z"), "]52;c;eA==x1myz");
        assert_eq!(harmless("\u{1b}[31mred\u{1b}[0m"), "[31mred[0m");
    }

    #[test]
    fn marks_have_a_form_that_every_terminal_shows() {
        assert_eq!(in_ascii("├── ✔ ü → …\n└── ✗"), "|-- + ü > ~\n`-- x");
    }

    #[test]
    fn every_sign_that_this_program_writes_has_such_a_form() {
        fn code(folder: &std::path::Path, all: &mut String) {
            for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if entry.is_dir() {
                    code(&entry, all);
                } else if entry.extension().is_some_and(|extension| extension == "rs") {
                    let text = std::fs::read_to_string(entry).unwrap();
                    let own = text.split("#[cfg(test)]").next().unwrap().lines().map(str::trim_start);
                    all.extend(own.filter(|line| !line.starts_with("//")));
                }
            }
        }
        let mut all = String::new();
        code(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("cmd"), &mut all);
        let mut signs: Vec<char> = in_ascii(&all).chars().filter(|c| !c.is_ascii() && !c.is_alphanumeric()).collect();
        signs.dedup();
        assert!(signs.is_empty(), "{signs:?}");
        assert_eq!(in_ascii("‼ ━─"), "! #-");
    }

    #[test]
    fn only_colours_survive_where_colours_are_written() {
        assert_eq!(harmless_in_colour("\u{1b}[1;31mred\u{1b}[0m"), "\u{1b}[1;31mred\u{1b}[0m");
        assert_eq!(harmless_in_colour("\u{1b}[2J\u{1b}[H\u{1b}]0;t\u{7}x\u{1b}["), "[2J[H]0;tx[");
    }
}
