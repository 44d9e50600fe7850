//! Text in lines that fit.

use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// Breaks a text between words into lines of a width; a word that is longer is broken where the line ends.
///
/// A word never ends at a hyphen: a name or a flag that is cut there cannot be copied.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let options = Options::new(width.max(1))
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    textwrap::wrap(&words.join(" "), options).into_iter().map(|line| line.into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_long_words_where_they_must() {
        assert_eq!(wrapped("one  two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
        assert_eq!(wrapped("a --flux-operator", 9), ["a", "--flux-op", "erator"]);
        assert_eq!(wrapped("", 5), [""]);
        assert_eq!(wrapped("日本語", 4), ["日本", "語"]);
    }
}
