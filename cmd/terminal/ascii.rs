//! Symbols of this program on a terminal without UTF-8.

/// Replaces the symbols of this program for a terminal without UTF-8. The width does not change, and other text is
/// kept.
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
        '±' => '~',
        other => other,
    };
    text.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let mut characters: Vec<char> =
            in_ascii(&all).chars().filter(|c| !c.is_ascii() && !c.is_alphanumeric()).collect();
        characters.dedup();
        assert!(characters.is_empty(), "{characters:?}");
        assert_eq!(in_ascii("‼ ━─"), "! #-");
    }
}
