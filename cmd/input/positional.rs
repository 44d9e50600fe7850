//! Words of a line that are neither flags nor their values, for what has to know them before clap has read the line.

use std::ffi::OsString;

use clap::Command;

/// The position of the command's first word: the program's own name and flags come before it.
pub fn first_word(arguments: &[OsString], tree: &Command) -> Option<usize> {
    positional(arguments, 1, &[tree])
}

/// The position of the next word, from `at` on, that is neither a flag nor its value; the flags are those of the `known` commands.
pub fn positional(arguments: &[OsString], mut at: usize, known: &[&Command]) -> Option<usize> {
    loop {
        let text = arguments.get(at)?.to_str()?;
        match text {
            "--" => return None,
            // A dash alone is a value: standard input.
            "-" => return Some(at),
            flag if flag.starts_with('-') => at += if takes_next(flag, known) { 2 } else { 1 },
            _ => return Some(at),
        }
    }
}

/// Whether the value of a flag is the next word.
fn takes_next(flag: &str, known: &[&Command]) -> bool {
    if flag.contains('=') {
        return false;
    }
    let arguments = || known.iter().flat_map(|command| command.get_arguments());
    // A flag that requires `=` leaves the next word alone.
    let takes = |argument: &clap::Arg| argument.get_action().takes_values() && !argument.is_require_equals_set();
    if let Some(long) = flag.strip_prefix("--") {
        let is_it = |argument: &&clap::Arg| {
            argument.get_long() == Some(long) || argument.get_all_aliases().is_some_and(|all| all.contains(&long))
        };
        return arguments().find(is_it).is_some_and(takes);
    }
    // `-An flux` is `-A -n flux`; in `-nflux` the value follows at once.
    let letters: Vec<char> = flag.chars().skip(1).collect();
    let of = |letter: char| arguments().find(|argument| argument.get_short() == Some(letter));
    letters.iter().position(|letter| of(*letter).is_some_and(takes)).is_some_and(|at| at + 1 == letters.len())
}
