//! Generates a man page per command. The library renders the options; text that users paste into a shell is kept
//! verbatim.

use clap::Command;

use super::File;
use super::guide::exit_code_titles;
use crate::cli::tree;
use crate::flows::operator::VERSION;

const PROGRAM: &str = "flux-operator";
/// A title stands at both ends of the first line, around the name of the manual.
const LONGEST_TITLE: usize = 26;
/// Where the examples of the program end, and the notes begin.
const NOTES: &str = "Exit codes:";

/// Makes one page per visible command, named `flux-operator-get-instance.1` like git's.
pub fn pages() -> Vec<File> {
    let mut root = tree().disable_help_subcommand(true);
    root.build();
    let mut pages = Vec::new();
    render(&root, PROGRAM, None, &mut pages);
    pages
}

fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help")
}

fn render(command: &Command, name: &str, parent: Option<&str>, pages: &mut Vec<File>) {
    let mut page = Vec::new();
    // A page includes texts that the short help omits.
    let mut command = command.clone().mut_args(|argument| argument.hide_short_help(false));
    let usage = command.render_usage().to_string();
    let title = if name.len() <= LONGEST_TITLE { name } else { PROGRAM };
    // A date would change with every build, but the page belongs to a version, not to a day.
    clap_mangen::Man::new(command.clone().display_name(name))
        .title(title.to_uppercase())
        .date("")
        .source(format!("{PROGRAM} {VERSION}"))
        .manual("Flux")
        .render(&mut page)
        .unwrap();
    let page = String::from_utf8(page).unwrap();
    let mut text = String::new();
    for section in sections(&page) {
        match section.split_whitespace().nth(1) {
            // The library lists every option here, in no order and without values.
            Some("SYNOPSIS") => {
                let usage = usage.trim_start_matches("Usage:").lines().map(str::trim).collect::<Vec<_>>().join("\n");
                text.push_str(&verbatim("SYNOPSIS", &usage));
            }
            Some("EXTRA") => {}
            _ => text.push_str(section),
        }
    }
    let help = command.get_after_long_help().or_else(|| command.get_after_help());
    let help = help.map(ToString::to_string).unwrap_or_default();
    let (examples, notes) = help.find(NOTES).map_or((help.as_str(), ""), |at| help.split_at(at));
    let examples = examples.trim_start_matches("Examples:\n");
    for (heading, part) in [("EXAMPLES", examples), ("NOTES", notes)] {
        if !part.trim().is_empty() {
            text.push_str(&verbatim(heading, part));
        }
    }
    text.push_str(".SH \"EXIT STATUS\"\n");
    for (code, title) in exit_code_titles() {
        text.push_str(&format!(".TP\n\\fB{code}\\fR\n{}\n", escaped(&title)));
    }
    let children = shown(&command).map(|sub| format!("{name}-{}", sub.get_name()));
    let related: Vec<String> = parent.map(str::to_owned).into_iter().chain(children).collect();
    let related: Vec<String> = related.iter().map(|page| format!("\\fB{}\\fR(1)", escaped(page))).collect();
    text.push_str(&format!(".SH \"SEE ALSO\"\n{}\n", related.join(",\n")));
    pages.push((format!("{name}.1"), text.into_bytes()));
    for sub in shown(&command) {
        render(sub, &format!("{name}-{}", sub.get_name()), Some(name), pages);
    }
}

/// The parts of a page: what is before the first heading, then a part per heading.
fn sections(page: &str) -> Vec<&str> {
    let mut starts: Vec<usize> = page.match_indices("\n.SH ").map(|(at, _)| at + 1).collect();
    starts.insert(0, 0);
    starts.push(page.len());
    starts.windows(2).filter_map(|ends| page.get(*ends.first()?..*ends.last()?)).collect()
}

/// A section whose lines are kept as they are: not filled, not hyphenated, to be pasted into a shell.
fn verbatim(heading: &str, text: &str) -> String {
    format!(".SH {heading}\n.nf\n{}\n.fi\n", escaped(text.trim_end()))
}

/// Escapes a text for roff; `-` and `'` would become typographic characters.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
    let lines = text.lines().map(|line| match line.starts_with('.') {
        true => format!("\\&{line}"),
        false => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_verbatim_and_pages_have_exit_codes_and_related_pages() {
        let pages = pages();
        let page = |name: &str| {
            let found = pages.iter().find(|(file, _)| file == name).unwrap();
            String::from_utf8(found.1.clone()).unwrap()
        };
        let secret = page("flux-operator-create-secret-basic-auth.1");
        let examples = secret.split(".SH EXAMPLES\n.nf\n").nth(1).and_then(|rest| rest.split("\n.fi").next()).unwrap();
        assert!(examples.contains("flux\\-operator create secret basic\\-auth git\\-token\\-auth \\e\n"), "{examples}");
        assert!(secret.contains(".SH SYNOPSIS\n.nf\nflux\\-operator create secret basic\\-auth [OPTIONS]"), "{secret}");
        for text in ["\\fB3\\fR\n", ".SH \"SEE ALSO\"\n\\fBflux\\-operator\\-create\\-secret\\fR(1)"] {
            assert!(secret.contains(text), "{text}: {secret}");
        }
        let root = page("flux-operator.1");
        assert!(root.contains("FLUX_OPERATOR_TIMEOUT") && root.contains("\\fBflux\\-operator\\-why\\fR(1)"), "{root}");
        for (name, page) in &pages {
            assert!(!String::from_utf8_lossy(page).contains("Examples:"), "{name}");
        }
    }
}
