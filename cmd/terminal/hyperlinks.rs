//! Links of terminals (OSC 8, <https://gist.github.com/egmontkob/eb114294efbcd5adb1944c9f3cb5feda>): an address stays as it
//! is written and can be clicked, also where it is broken over two lines.

use std::borrow::Cow;

use crate::terminal::environment;

const BEGIN: &str = "\u{1b}]8;;";
const END: &str = "\u{1b}\\";
const SCHEME: &str = "https://";

/// Whether the terminal shows links. There is no way to ask it, and one that does not know them may print the sequence, so
/// only terminals that are known to support them get any.
pub fn are_supported() -> bool {
    let text = |name| environment::text(name).unwrap_or_default();
    let programs = ["iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "Tabby"];
    let terminals = ["kitty", "alacritty", "foot", "ghostty", "wezterm"];
    let term = text(environment::TERM);
    // Inside tmux or screen the variables are those of the terminal outside.
    let is_multiplexed = term.starts_with("tmux") || term.starts_with("screen");
    !environment::is_dumb()
        && !is_multiplexed
        && (programs.contains(&text(environment::TERM_PROGRAM).as_str())
            || terminals.iter().any(|name| term.contains(name))
            || text(environment::VTE_VERSION).parse::<u32>().is_ok_and(|version| version >= 5000)
            || environment::is_set(environment::KONSOLE_VERSION)
            || environment::is_set(environment::WT_SESSION))
}

/// Makes the addresses in a text links to themselves.
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
        // A sentence may end behind an address.
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
    fn an_address_is_a_link_to_itself_and_the_text_around_it_stays() {
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
