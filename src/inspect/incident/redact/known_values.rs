//! Finds known secret values in any text.
//!
//! A single Aho–Corasick automaton searches for the beginnings of all values in a single pass, so the time is linear in
//! the text, however many values there are. It contains only beginnings: 300 Secrets of 4 kB would make it a hundred
//! times as large. Text after a long beginning is compared with the values that begin so.

use std::collections::BTreeSet;

use aho_corasick::AhoCorasick;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Shorter values are common words: `admin`, `true`.
const SHORTEST: usize = 6;
/// Length of a beginning in bytes.
const BEGINNING: usize = 32;
/// A lower-case word up to this length may be an ordinary word, and is masked only where it stands alone.
const LONGEST_WORD: usize = 12;
/// Limit for comparisons inside text that is already masked, because a repetitive value may begin at every byte.
const INSIDE: usize = 16;

/// The characters that stay plain in addresses: in queries, and besides that in users and in paths (RFC 3986 §2.3,
/// §3.2.1 and §3.3, as Go writes them).
const IN_QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
const IN_USER: &AsciiSet = &IN_QUERY.remove(b'$').remove(b'&').remove(b'+').remove(b',').remove(b';').remove(b'=');
const IN_PATH: &AsciiSet = &IN_QUERY.remove(b'$').remove(b'&').remove(b'+').remove(b':').remove(b'=').remove(b'@');

/// The known values.
#[derive(Default)]
pub(super) struct KnownValues {
    values: BTreeSet<String>,
    search: Option<Search>,
}

/// The compiled values.
struct Search {
    automaton: AhoCorasick,
    /// For each pattern, the range in `values` of the values that begin with it.
    ranges: Vec<(usize, usize)>,
    /// Sorted, so that the value with the longest common prefix is next to a text's position.
    values: Vec<String>,
}

impl KnownValues {
    /// Adds every line of a text, as it is and in the encodings that programs write.
    pub(super) fn add(&mut self, text: &str) {
        self.search = None;
        for line in text.lines() {
            self.add_line(line.trim());
            // A binary file, such as a key store, may contain passwords as plain text.
            let is_binary = |c: char| c == '\u{fffd}' || (c.is_control() && c != '\t');
            if line.contains(is_binary) {
                line.split(is_binary).for_each(|part| self.add_line(part.trim()));
            }
        }
    }

    fn add_line(&mut self, line: &str) {
        if line.len() < SHORTEST || is_common(line) {
            return;
        }
        let quoted = serde_json::to_string(line).unwrap_or_default();
        let quoted = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned();
        // Go's JSON encoder escapes these characters, so that HTML can contain the text.
        let quoted_by_go = quoted.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026");
        let encoded = [NON_ALPHANUMERIC, IN_QUERY, IN_USER, IN_PATH];
        let encoded = encoded.map(|set| utf8_percent_encode(line, set).to_string());
        // Without padding, a text is found with and without it.
        let forms = [STANDARD_NO_PAD.encode(line), URL_SAFE_NO_PAD.encode(line), quoted, quoted_by_go, line.to_owned()];
        // HTML forms write a space as a plus sign.
        let in_form = utf8_percent_encode(line, IN_QUERY).to_string().replace("%20", "+");
        let in_small_letters = encoded.each_ref().map(|text| with_small_escapes(text));
        let forms = forms.into_iter().chain(encoded).chain(in_small_letters).chain([in_form]);
        self.values.extend(forms.filter(|form| form.len() >= SHORTEST));
    }

    /// Adds a text unchanged.
    pub(super) fn add_verbatim(&mut self, text: &str) {
        if text.len() >= SHORTEST && !is_common(text) {
            self.search = None;
            self.values.insert(text.to_owned());
        }
    }

    /// Prepares the search.
    ///
    /// # Errors
    /// More values than an automaton can number, that is some 2³¹ bytes of beginnings.
    pub(super) fn compile(&mut self) -> Result<(), aho_corasick::BuildError> {
        if self.search.is_some() || self.values.is_empty() {
            return Ok(());
        }
        let values: Vec<String> = self.values.iter().cloned().collect();
        let mut ranges: Vec<(usize, usize)> = vec![];
        let mut patterns: Vec<&[u8]> = vec![];
        for (index, value) in values.iter().enumerate() {
            let beginning = value.as_bytes().get(..BEGINNING).unwrap_or(value.as_bytes());
            match (patterns.last(), ranges.last_mut()) {
                (Some(last), Some(range)) if *last == beginning => range.1 = index + 1,
                _ => {
                    patterns.push(beginning);
                    ranges.push((index, index + 1));
                }
            }
        }
        let automaton = AhoCorasick::new(&patterns)?;
        self.search = Some(Search { automaton, ranges, values });
        Ok(())
    }

    /// Returns the ranges of known values in a text, in order and without overlaps. Requires [`Self::compile`].
    pub(super) fn find(&self, text: &str) -> Vec<(usize, usize)> {
        let Some(search) = &self.search else { return vec![] };
        let mut found: Vec<(usize, usize)> = vec![];
        let mut inside = 0;
        for hit in search.automaton.find_overlapping_iter(text) {
            let is_inside = found.last().is_some_and(|(_, end)| hit.start() < *end);
            inside = if is_inside { inside + 1 } else { 0 };
            if inside > INSIDE && hit.len() >= BEGINNING {
                continue;
            }
            let Some(length) = search.length_at(hit.pattern().as_usize(), text, hit.start()) else { continue };
            let end = hit.start() + length;
            // Matches are in the order of their ends, so a longer value may begin before the last match.
            let mut start = hit.start();
            let mut until = end;
            while let Some((from, to)) = found.pop_if(|(_, to)| *to > start) {
                start = start.min(from);
                until = until.max(to);
            }
            found.push((start, until));
        }
        found
    }
}

impl Search {
    /// Returns the length of the known value at this position, where the pattern matches.
    fn length_at(&self, pattern: usize, text: &str, start: usize) -> Option<usize> {
        let (first, end) = *self.ranges.get(pattern)?;
        let values = self.values.get(first..end)?;
        let rest = text.get(start..)?;
        if values.len() == 1 && values.first().is_some_and(|value| value.len() <= BEGINNING) {
            let value = values.first()?;
            return is_own_word(value, text, start).then_some(value.len());
        }
        // A value that is cut off, as in a log, is as secret as the whole.
        let place = values.partition_point(|value| value.as_str() <= rest);
        let beside = [place.checked_sub(1), Some(place)].into_iter().flatten().filter_map(|index| values.get(index));
        let longest = beside.map(|value| common_length(value, rest)).max()?.max(BEGINNING.min(rest.len()));
        (0..=longest).rev().find(|length| rest.is_char_boundary(*length))
    }
}

/// Writes `%2F` as `%2f`, as programs in other languages than Go do.
fn with_small_escapes(encoded: &str) -> String {
    let mut parts = encoded.split('%');
    let mut written = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2).unwrap_or((part, ""));
        written.push('%');
        written.push_str(&digits.to_ascii_lowercase());
        written.push_str(rest);
    }
    written
}

fn common_length(one: &str, other: &str) -> usize {
    one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count()
}

/// A word or number counts only without a letter or digit next to it.
fn is_own_word(value: &str, text: &str, start: usize) -> bool {
    let is_word = value.len() <= LONGEST_WORD
        && (value.bytes().all(|byte| byte.is_ascii_lowercase()) || value.bytes().all(|byte| byte.is_ascii_digit()));
    let is_part = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    !is_word || !(is_part(start.checked_sub(1).and_then(|at| bytes.get(at))) || is_part(bytes.get(start + value.len())))
}

/// Words that are not secret although a Secret contains them: masking them would make everything unreadable.
fn is_common(line: &str) -> bool {
    const WORDS: [&str; 20] = [
        "default",
        "master",
        "flux-system",
        "localhost",
        "enabled",
        "disabled",
        "github.com",
        "gitlab.com",
        "docker.io",
        "quay.io",
        "ghcr.io",
        "Opaque",
        "password",
        "secret",
        "username",
        "production",
        "staging",
        "development",
        "cluster",
        "kubernetes",
    ];
    // A line of a configuration with a short value: `apiVersion: v1`.
    let is_short_field = line.split_once(':').is_some_and(|(name, value)| {
        value.trim().len() < SHORTEST && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.-\"' ".contains(&b))
    });
    let is_mark = line.starts_with("-----BEGIN ") || line.starts_with("-----END ");
    WORDS.contains(&line)
        || is_short_field
        || is_mark
        || line.bytes().all(|b| b.is_ascii_punctuation() || b.is_ascii_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(values: &[&str], text: &str) -> String {
        let mut known = KnownValues::default();
        values.iter().for_each(|value| known.add(value));
        known.compile().unwrap();
        let mut masked = text.to_owned();
        for (start, end) in known.find(text).into_iter().rev() {
            masked.replace_range(start..end, "#");
        }
        masked
    }

    #[test]
    fn values_are_found_as_they_are_and_as_programs_write_them() {
        let value = "p@ss \"w/rd\" 1";
        for text in [
            value.to_owned(),
            STANDARD_NO_PAD.encode(value),
            serde_json::to_string(value).unwrap().trim_matches('"').trim_end_matches('\\').to_owned(),
            utf8_percent_encode(value, NON_ALPHANUMERIC).to_string(),
            "p%40ss+%22w%2Frd%22+1".to_owned(),
            "p%40ss%20%22w%2Frd%22%201".to_owned(),
            "p@ss%20%22w%2Frd%22%201".to_owned(),
        ] {
            assert_eq!(masked(&[value], &format!("a {text} b")), "a # b", "{text}");
        }
        assert_eq!(masked(&["a<b>&c-d.e"], "x a\\u003cb\\u003e\\u0026c-d.e a%3Cb%3E&c-d.e y"), "x # # y");
        assert_eq!(masked(&["first-line\nsecond-line\n"], "x second-line y first-line"), "x # y #");
    }

    #[test]
    fn overlapping_values_are_masked_to_the_end_of_the_last() {
        assert_eq!(masked(&["abc-123-def", "123-def-ghi"], "x abc-123-def-ghi y"), "x # y");
        assert_eq!(masked(&["abcdef-1", "abcdef-1234", "c-1234"], "abcdef-1234"), "#");
        let long = "0123456789".repeat(10);
        assert_eq!(masked(&[&long, &format!("{long}tail")], &format!("<{long}tail>")), "<#>");
        assert_eq!(masked(&[&long], &format!("<{}...", long.get(..50).unwrap())), "<#...", "cut off");
        assert_eq!(masked(&["größer-als-alles-andere-hier-überall-ö"], "größer-als-alles-andere-hier-übe"), "#");
    }

    #[test]
    fn a_word_of_a_language_counts_as_a_whole_word_only() {
        assert_eq!(masked(&["manager"], "the manager of managers: manager=manager"), "the # of managers: #=#");
        assert_eq!(masked(&["123456"], "at 1234567 123456"), "at 1234567 #");
        assert_eq!(masked(&["h4nter2"], "xh4nter2y"), "x#y");
        assert_eq!(masked(&["short", "github.com", "-------"], "short github.com -------"), "short github.com -------");
    }

    #[test]
    fn a_value_that_repeats_itself_is_compared_a_few_times_and_not_at_every_byte() {
        // Comparing at every byte would take 45,000,000,000 comparisons, too many for a test.
        assert_eq!(masked(&[&"a".repeat(300_000)], &"a".repeat(300_000)), "#");
    }
}
