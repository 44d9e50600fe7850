//! Completion protocol of shells: flags are offered only after a dash, hidden ones never, and bash gets words as they
//! were typed.

use std::ffi::OsString;
use std::io::{Error, Write};
use std::path::Path;

use clap::Command;
use clap_complete::env::{Bash, Elvish, EnvCompleter, Fish, Powershell, Shells, Zsh};

use crate::args::complete::{UNTYPABLE, unquoted, words_of_line};

/// Separators of candidates: a line end, or the one that the script for bash requests.
const SEPARATORS: [char; 2] = ['\n', '\u{b}'];

/// The supported shells.
pub const fn shells() -> Shells<'static> {
    Shells(&[
        &CompletingShell(Bash),
        &CompletingShell(Elvish),
        &CompletingShell(Fish),
        &CompletingShell(Powershell),
        &CompletingShell(Zsh),
    ])
}

/// Whether to offer a candidate. Flags are only offered after a dash, although the library offers all flags if nothing
/// else matches.
pub fn is_offered(candidate: &str) -> bool {
    let is_begun = || words_of_line().last().is_some_and(|word| word.starts_with('-'));
    !candidate.starts_with('-') || (!candidate.contains(UNTYPABLE) && is_begun())
}

/// A flag without a value that replaces a removed word.
const FILLER: &str = "--quiet";

/// Joins words that bash splits: `--for=ready` and `arn:aws` arrive as three words each. The number of words does not
/// change.
pub fn rejoined(words: Vec<String>) -> Vec<String> {
    let mut words = joined_at_colons(words);
    for at in 1..words.len().saturating_sub(1) {
        if words.get(at).is_some_and(|word| word == "=")
            && words.get(at - 1).is_some_and(|word| word.starts_with('-') && word.len() > 1)
        {
            // The flag moves to its value, and the filler takes its place.
            words.swap(at - 1, at);
            if let Some(sign) = words.get_mut(at - 1) {
                *sign = FILLER.to_owned();
            }
        }
    }
    words
}

fn joined_at_colons(words: Vec<String>) -> Vec<String> {
    let count = words.len();
    let mut joined: Vec<String> = vec![];
    let mut goes_on = false;
    for word in words {
        let is_colon = word == ":";
        match joined.last_mut() {
            Some(last) if is_colon || goes_on => last.push_str(&word),
            _ => joined.push(word),
        }
        goes_on = is_colon;
    }
    let fillers = std::iter::repeat_n(FILLER.to_owned(), count - joined.len());
    // The fillers follow the name of the program, where a flag without a value has no effect.
    joined.splice(joined.len().min(1)..joined.len().min(1), fillers);
    joined
}

/// A shell of the library with these rules.
struct CompletingShell<S>(S);

impl<S: EnvCompleter> EnvCompleter for CompletingShell<S> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn is(&self, name: &str) -> bool {
        self.0.is(name)
    }

    fn write_registration(
        &self,
        variable: &str,
        name: &str,
        binary: &str,
        completer: &str,
        script: &mut dyn Write,
    ) -> Result<(), Error> {
        self.0.write_registration(variable, name, binary, completer, script)
    }

    fn write_complete(
        &self,
        tree: &mut Command,
        words: Vec<OsString>,
        folder: Option<&Path>,
        answer: &mut dyn Write,
    ) -> Result<(), Error> {
        let words: Vec<String> = words.into_iter().map(|word| unquoted(&word.to_string_lossy())).collect();
        let piece = words.last().cloned().unwrap_or_default();
        let words = rejoined(words);
        // bash replaces only the part after the last colon.
        let before = words.last().and_then(|word| word.strip_suffix(&piece)).unwrap_or_default().to_owned();
        let mut text = vec![];
        self.0.write_complete(tree, words.into_iter().map(OsString::from).collect(), folder, &mut text)?;
        let text = String::from_utf8_lossy(&text).into_owned();
        text.split_inclusive(SEPARATORS)
            .filter(|candidate| is_offered(candidate))
            .map(|candidate| candidate.strip_prefix(&before).unwrap_or(candidate))
            .try_for_each(|candidate| answer.write_all(candidate.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_and_its_value_remain_two_adjacent_words() {
        let rejoined = |line: &str| rejoined(line.split(' ').map(str::to_owned).collect()).join(" ");
        assert_eq!(rejoined("x wait --for = re"), "x wait --quiet --for re");
        assert_eq!(rejoined("x apply -f = fl"), "x apply --quiet -f fl");
        assert_eq!(rejoined("x get ks -l a = b"), "x get ks -l a = b");
        assert_eq!(
            rejoined("x get --context arn : aws : p"),
            "x --quiet --quiet --quiet --quiet get --context arn:aws:p"
        );
        assert_eq!(rejoined("x get --context = a : p"), "x --quiet --quiet get --quiet --context a:p");
        assert_eq!(rejoined("x wait --for ="), "x wait --for =");
    }
}
