//! Tables on a terminal of a given width.

use std::process::Command;

use rexpect::session::spawn_command;
use unicode_width::UnicodeWidthStr;

use super::DUMP;

/// What a command shows on a terminal of so many columns.
fn shown(columns: u16, arguments: &str) -> String {
    let binary = env!("CARGO_BIN_EXE_flux-operator");
    let script = format!("stty cols {columns} rows 50; {binary} {arguments} --from {DUMP} 2>/dev/null; echo END");
    let mut shell = Command::new("bash");
    shell.args(["-c", &script]).env_clear().env("TERM", "xterm-256color").env("PATH", "/usr/bin:/bin");
    let mut session = spawn_command(shell, Some(20_000)).expect("a terminal");
    let text = session.exp_string("END").expect("the command ends");
    // rexpect hands every byte out as a character of its own.
    let bytes: Vec<u8> = text.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?')).collect();
    String::from_utf8_lossy(&bytes).replace('\r', "")
}

/// The text without the colours.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        let end = after.find(|c: char| c.is_ascii_alphabetic()).map_or(after.len(), |at| at + 1);
        rest = &after[end..];
    }
    plain + rest
}

#[test]
fn every_table_fits_80_columns_and_narrower_terminals() {
    let tables = [
        "get instance -A",
        "get components",
        "get history",
        "get inventory",
        "get all -A",
        "get all -A -L team --show-labels",
        "events",
        "stats",
        "tree instance",
    ];
    for arguments in tables {
        for columns in [80, 100] {
            let text = plain(&shown(columns, arguments));
            assert!(text.lines().all(|line| line.trim_end() == line), "{arguments} leaves blanks:\n{text}");
            let widest = text.lines().map(UnicodeWidthStr::width).max().unwrap_or_default();
            assert!(widest <= usize::from(columns), "{arguments} is {widest} wide on {columns} columns:\n{text}");
        }
    }
}

#[test]
fn revisions_are_shortened_before_names_and_messages() {
    let text = plain(&shown(100, "get all -A"));
    assert!(text.contains("main@sha1:01234567 "), "{text}");
    assert!(text.contains("GitRepository") && text.contains("flux-system"), "{text}");
    let pipe = super::read(&["get", "all", "-A"]).exits(0).stdout;
    assert!(pipe.contains("main@sha1:0123456789012345678901234567890123456789"), "a pipe is never cut: {pipe}");
}

#[test]
fn wide_is_never_cut() {
    assert!(plain(&shown(80, "get all -A -o wide")).contains("main@sha1:0123456789012345678901234567890123456789"));
}

#[test]
fn a_terminal_gets_colour_unless_no_color_is_set() {
    assert!(shown(80, "get all -A").contains("\u{1b}["));
    assert!(!shown(80, "get all -A --color never").contains("\u{1b}[3"));
}
