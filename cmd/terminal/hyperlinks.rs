//! Links in terminals (OSC 8, <https://gist.github.com/egmontkob/eb114294efbcd5adb1944c9f3cb5feda>). The text of an
//! address is unchanged, and the address can be clicked even if it is wrapped over two lines.

use std::borrow::Cow;

use crate::terminal::environment;

const BEGIN: &str = "\u{1b}]8;;";
const END: &str = "\u{1b}\\";
const SCHEME: &str = "https://";

/// Whether the terminal supports links. A terminal cannot be asked, and a terminal without support may print the escape
/// sequence, so only terminals that are known to support links get them.
pub fn are_supported() -> bool {
    let text = |name| environment::text(name).unwrap_or_default();
    let programs = ["iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "Tabby"];
    let terminals = ["kitty", "alacritty", "foot", "ghostty", "wezterm"];
    let term = text(environment::TERM);
    // Inside tmux or screen, the variables describe the outer terminal.
    let is_multiplexed = term.starts_with("tmux") || term.starts_with("screen");
    !environment::is_dumb()
        && !is_multiplexed
        && (programs.contains(&text(environment::TERM_PROGRAM).as_str())
            || terminals.iter().any(|name| term.contains(name))
            || text(environment::VTE_VERSION).parse::<u32>().is_ok_and(|version| version >= 5000)
            || environment::is_set(environment::KONSOLE_VERSION)
            || environment::is_set(environment::WT_SESSION))
}

/// Turns the addresses in a text into links.
pub fn linked(text: &str) -> Cow<'_, str> {
    if !text.contains(SCHEME) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() * 2);
    let mut rest = text;
    while let Some((before, from)) = rest.find(SCHEME).map(|at| rest.split_at(at)) {
        let is_part = |c: char| c.is_ascii_graphic() && !"\"'`<>()[]{}|\\^".contains(c);
        let end = from.find(|c| !is_part(c)).unwrap_or(from.len());
        let (address, _) = from.split_at(end);
        // Punctuation after an address may belong to the sentence.
        let (address, after) = from.split_at(address.trim_end_matches(['.', ',', ';', '!', '?']).len());
        out.push_str(before);
        match address.len() > SCHEME.len() {
            true => out.push_str(&format!("{BEGIN}{address}{END}{address}{BEGIN}{END}")),
            false => out.push_str(address),
        }
        rest = after;
    }
    out.push_str(rest);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_becomes_a_link_and_the_surrounding_text_is_unchanged() {
        let link = |address: &str| format!("\u{1b}]8;;{address}\u{1b}\\{address}\u{1b}]8;;\u{1b}\\");
        let docs = "https://fluxcd.io/flux/components/source/";
        assert_eq!(linked(&format!("see {docs}.")), format!("see {}.", link(docs)));
        assert_eq!(linked(&format!("({docs}) \"{docs}\"\n")), format!("({}) \"{}\"\n", link(docs), link(docs)));
        assert_eq!(linked(&format!("\u{1b}[1m{docs}\u{1b}[0m")), format!("\u{1b}[1m{}\u{1b}[0m", link(docs)));
        for plain in ["no address", "https://", "http://10.0.0.1", "ü https:// ü"] {
            assert_eq!(linked(plain), plain);
        }
    }
}
