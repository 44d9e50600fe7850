//! Finds words of a line that are neither flags nor values of flags, for code that runs before clap parses the line.

use std::ffi::OsString;

use clap::Command;

/// Returns the position of the command's first word, after the name of the program and global flags.
pub fn first_word(arguments: &[OsString], tree: &Command) -> Option<usize> {
    positional(arguments, 1, &[tree])
}

/// Returns the position of the first word at or after `at` that is neither a flag nor the value of a flag. `known` are
/// the commands whose flags may occur.
pub fn positional(arguments: &[OsString], mut at: usize, known: &[&Command]) -> Option<usize> {
    loop {
        let text = arguments.get(at)?.to_str()?;
        match text {
            "--" => return None,
            // A single dash is a value, which means standard input.
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
    // A flag that requires `=` does not take the next word.
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
