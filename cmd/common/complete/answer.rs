//! What shells ask and are answered: flags where one is begun, hidden ones never, and bash's words as they were typed.

use std::ffi::OsString;
use std::io::{Error, Write};
use std::path::Path;

use clap::Command;
use clap_complete::env::{Bash, Elvish, EnvCompleter, Fish, Powershell, Shells, Zsh};

use super::{UNTYPABLE, words_of_line};

/// What separates candidates: a line end, or what the script for bash asks for.
const SEPARATORS: [char; 2] = ['\n', '\u{b}'];

/// The shells that ask this program.
pub const fn shells() -> Shells<'static> {
    Shells(&[&Answer(Bash), &Answer(Elvish), &Answer(Fish), &Answer(Powershell), &Answer(Zsh)])
}

/// Whether a candidate is for the line being completed. The library offers every flag where nothing else is left.
pub fn is_offered(candidate: &str) -> bool {
    let is_begun = || words_of_line().last().is_some_and(|word| word.starts_with('-'));
    !candidate.starts_with('-') || (!candidate.contains(UNTYPABLE) && is_begun())
}

/// bash hands `--for=ready` over as three words: the flag without the sign, and as many words as before.
pub fn rejoined(words: Vec<String>) -> Vec<String> {
    let mut words = words;
    for at in 1..words.len().saturating_sub(1) {
        if words.get(at).is_some_and(|word| word == "=")
            && words.get(at - 1).is_some_and(|word| word.starts_with('-') && word.len() > 1)
        {
            words.swap(at - 1, at);
            // Any flag that takes no value.
            if let Some(sign) = words.get_mut(at - 1) {
                *sign = "--quiet".to_owned();
            }
        }
    }
    words
}

/// A shell of the library with the two rules above.
struct Answer<S>(S);

impl<S: EnvCompleter> EnvCompleter for Answer<S> {
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
        let words = words.into_iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let words = rejoined(words).into_iter().map(OsString::from).collect();
        let mut text = vec![];
        self.0.write_complete(tree, words, folder, &mut text)?;
        let text = String::from_utf8_lossy(&text).into_owned();
        text.split_inclusive(SEPARATORS)
            .filter(|candidate| is_offered(candidate))
            .try_for_each(|candidate| answer.write_all(candidate.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_and_its_value_stay_two_words_beside_each_other() {
        let rejoined = |line: &str| rejoined(line.split(' ').map(str::to_owned).collect()).join(" ");
        assert_eq!(rejoined("x wait --for = re"), "x wait --quiet --for re");
        assert_eq!(rejoined("x apply -f = fl"), "x apply --quiet -f fl");
        assert_eq!(rejoined("x get ks -l a = b"), "x get ks -l a = b");
        assert_eq!(rejoined("x wait --for ="), "x wait --for =");
    }
}
