//! Regular expressions with Go's syntax on the `regex` crate.
//!
//! Both engines are linear and leftmost-first. The syntaxes differ in the meaning of `\d` and `\w` (ASCII in Go), in
//! names and escapes, and in errors. So a pattern is checked by Go's rules, with Go's messages, and translated for the
//! engine.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use regex::bytes::{Captures, Regex, RegexBuilder};

use crate::limits::{Bytes, FunctionError};
use crate::text::{chars, decode_char, find, is_digit, is_letter, lossy};

/// Cache of compiled patterns: a template is executed for many inputs with the same few patterns.
#[derive(Debug, Default)]
pub(crate) struct Patterns {
    compiled: Mutex<HashMap<Vec<u8>, CompileResult>>,
}

type CompileResult = Result<Arc<Pattern>, String>;

/// Limit of the cache. A template can create more patterns from its input.
const MOST_PATTERNS: usize = 64;
/// Limit for a pattern, in bytes.
const MOST_PATTERN_BYTES: usize = 64 << 10;
/// Limit for a compiled pattern, in bytes.
const MOST_COMPILED_BYTES: usize = 512 << 10;
/// Limit for nested groups. Go allows 1000, but the engine's compiler recurses.
const MOST_NESTING: u32 = 250;

impl Patterns {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// Go's message.
    pub(crate) fn get(&self, pattern: &[u8]) -> CompileResult {
        let mut compiled = self.compiled.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(result) = compiled.get(pattern) {
            return result.clone();
        }
        let result = Pattern::new(pattern).map(Arc::new);
        if compiled.len() >= MOST_PATTERNS {
            compiled.clear();
        }
        compiled.insert(pattern.to_vec(), result.clone());
        result
    }
}

/// A compiled pattern.
#[derive(Debug)]
pub(crate) struct Pattern {
    regex: Regex,
    /// Names of the groups from 1 on.
    names: Vec<String>,
}

/// A regular expression of Go, for other texts than those of templates.
#[derive(Clone, Debug)]
pub struct Regexp(Arc<Pattern>);

impl Regexp {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// The message of Go.
    pub fn new(pattern: &str) -> Result<Regexp, String> {
        Pattern::new(pattern.as_bytes()).map(|pattern| Regexp(Arc::new(pattern)))
    }

    /// Whether the pattern matches anywhere in a text.
    pub fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text.as_bytes())
    }
}

impl Pattern {
    fn new(pattern: &[u8]) -> Result<Pattern, String> {
        let text = std::str::from_utf8(pattern).map_err(|error| {
            let rest = pattern.get(error.valid_up_to()..).unwrap_or_default();
            format!("error parsing regexp: invalid UTF-8: `{}`", lossy(rest))
        })?;
        let too_large = || format!("error parsing regexp: expression too large: `{text}`");
        if text.len() > MOST_PATTERN_BYTES {
            return Err(too_large());
        }
        let mut translator = Translator::new(text);
        translator.run().map_err(|error| format!("error parsing regexp: {}: `{}`", error.reason, error.expression))?;
        let regex = RegexBuilder::new(&translator.out)
            .size_limit(MOST_COMPILED_BYTES)
            .dfa_size_limit(1 << 20)
            .nest_limit(MOST_NESTING + 50)
            .build()
            // The syntax has been checked, so only size and depth can be refused.
            .map_err(|_| too_large())?;
        Ok(Pattern { regex, names: translator.names })
    }

    /// Whether the pattern matches anywhere.
    pub(crate) fn is_match(&self, text: &[u8]) -> bool {
        self.regex.is_match(text)
    }

    /// Finds the first match at or after a position that does not start inside a character.
    pub(crate) fn captures_at<'h>(&self, text: &'h [u8], from: usize) -> Option<Captures<'h>> {
        let mut from = from;
        loop {
            let captures = self.regex.captures_at(text, from)?;
            let start = captures.get(0)?.start();
            if !is_inside_char(text, start) {
                return Some(captures);
            }
            // Only an empty match, such as of `\B`, can start there.
            from = start + 1;
        }
    }

    /// Returns up to `most` matches that do not overlap. An empty match right after another match is skipped.
    pub(crate) fn matches<'p>(&'p self, text: &'p [u8], most: usize) -> impl Iterator<Item = Range<usize>> + 'p {
        let mut from = 0;
        let mut previous_end = None;
        std::iter::from_fn(move || {
            while from <= text.len() {
                let found = self.captures_at(text, from)?.get(0)?.range();
                let is_empty = found.end == from;
                let follows = is_empty && previous_end == Some(found.start);
                from = if is_empty { from + char_width(text, from) } else { found.end };
                previous_end = Some(found.end);
                if !follows {
                    return Some(found);
                }
            }
            None
        })
        .take(most)
    }

    /// Appends a replacement with `$1`, `${1}`, `$name` and `$$` expanded. `$1x` is the group named `1x`.
    pub(crate) fn expand(
        &self,
        replacement: &[u8],
        captures: &Captures<'_>,
        out: &mut Bytes<'_, '_>,
    ) -> Result<(), FunctionError> {
        let mut rest = replacement;
        while let Some(at) = rest.iter().position(|byte| *byte == b'$') {
            out.push(rest.get(..at).unwrap_or_default())?;
            rest = rest.get(at + 1..).unwrap_or_default();
            if let Some(after) = rest.strip_prefix(b"$") {
                out.push(b"$")?;
                rest = after;
                continue;
            }
            let Some((name, after)) = group_name(rest) else {
                // Go keeps a `$` without a name.
                out.push(b"$")?;
                continue;
            };
            rest = after;
            if let Some(group) = self.group(name, captures) {
                out.push(group)?;
            }
        }
        out.push(rest)
    }

    fn group<'h>(&self, name: &[u8], captures: &Captures<'h>) -> Option<&'h [u8]> {
        let text = std::str::from_utf8(name).ok()?;
        // With a leading zero Go reads it as a name.
        let is_number = name.iter().all(u8::is_ascii_digit) && !(name.len() > 1 && name.starts_with(b"0"));
        if is_number {
            return captures.get(text.parse().ok()?).map(|group| group.as_bytes());
        }
        let named = self.names.iter().enumerate().filter(|(_, known)| *known == text);
        named.filter_map(|(index, _)| captures.get(index + 1)).map(|group| group.as_bytes()).next()
    }
}

/// Returns the distance to the next position; at the end of the text it is 1.
pub(crate) fn char_width(text: &[u8], at: usize) -> usize {
    text.get(at..).and_then(decode_char).map_or(1, |(_, width)| width)
}

fn is_inside_char(text: &[u8], at: usize) -> bool {
    // A character that contains the position starts at most three bytes before it.
    (1..=3).any(|back| at.checked_sub(back).is_some_and(|start| char_width(text, start) > back))
}

/// Reads the longest name of letters, digits and `_`, with or without braces.
fn group_name(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let braced = text.strip_prefix(b"{");
    let inside = braced.unwrap_or(text);
    let is_part = |character: char| character == '_' || is_letter(character) || is_digit(character);
    let length = chars(inside).take_while(|(character, _)| is_part(*character)).map(|(_, raw)| raw.len()).sum();
    let (name, rest) = inside.split_at(length);
    if name.is_empty() {
        return None;
    }
    match braced {
        Some(_) => Some((name, rest.strip_prefix(b"}")?)),
        None => Some((name, rest)),
    }
}

/// Escapes characters that are special in a pattern.
pub(crate) fn quote_meta(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for byte in text {
        if br"\.+*?()|[]{}^$".contains(byte) {
            out.push(b'\\');
        }
        out.push(*byte);
    }
    out
}

struct SyntaxError {
    reason: &'static str,
    expression: String,
}

fn error<T>(reason: &'static str, expression: &str) -> Result<T, SyntaxError> {
    Err(SyntaxError { reason, expression: expression.to_owned() })
}

const MISSING_ARGUMENT: &str = "missing argument to repetition operator";
const INVALID_RANGE: &str = "invalid character class range";
const INVALID_ESCAPE: &str = "invalid escape sequence";

#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct PatternFlags {
    ignore_case: bool,
    multi_line: bool,
    dot_all: bool,
    swap_greed: bool,
}

/// An open group.
struct OpenGroup {
    flags: PatternFlags,
    start: usize,
    /// Largest product of nested counted repetitions.
    weight: u64,
}

struct Translator<'p> {
    pattern: &'p str,
    rest: &'p str,
    out: String,
    names: Vec<String>,
    flags: PatternFlags,
    groups: Vec<OpenGroup>,
    /// Largest product of repetitions on the current level.
    weight: u64,
    /// Start and end of the last atom in `out`, and its weight, if a repetition may follow it.
    atom: Option<(usize, usize, u64)>,
}

impl<'p> Translator<'p> {
    fn new(pattern: &'p str) -> Translator<'p> {
        Translator {
            pattern,
            rest: pattern,
            out: String::new(),
            names: Vec::new(),
            flags: PatternFlags::default(),
            groups: Vec::new(),
            weight: 1,
            atom: None,
        }
    }

    fn run(&mut self) -> Result<(), SyntaxError> {
        let mut last_repetition: Option<&'p str> = None;
        while let Some(first) = self.rest.chars().next() {
            let before = self.rest;
            let mut repetition = None;
            match first {
                '(' if self.rest.starts_with("(?") => self.flag_group()?,
                '(' => {
                    self.skip(1);
                    self.names.push(String::new());
                    self.open("(")?;
                }
                '|' => {
                    self.skip(1);
                    self.out.push('|');
                    self.atom = None;
                }
                ')' => self.close()?,
                '^' | '$' | '.' => {
                    self.skip(1);
                    self.push_atom(&first.to_string());
                }
                '[' => self.class()?,
                '*' | '+' | '?' => {
                    self.skip(1);
                    self.repeat(&first.to_string(), None, before, last_repetition)?;
                    repetition = Some(before);
                }
                '{' => match self.counts() {
                    Some((least, most, length)) => {
                        let operator = self.rest.get(..length).unwrap_or_default();
                        // Go's limit for a count, and for the product of nested counts.
                        let impossible = most.is_some_and(|most| most > 1000 || least > most);
                        if least > 1000 || impossible {
                            return error("invalid repeat count", operator);
                        }
                        self.skip(length);
                        self.repeat(operator, Some((least, most)), before, last_repetition)?;
                        repetition = Some(before);
                    }
                    None => {
                        // Go reads braces without a count as text.
                        self.skip(1);
                        self.push_literal('{');
                    }
                },
                '\\' => self.escape()?,
                _ => {
                    self.skip(first.len_utf8());
                    self.push_literal(first);
                }
            }
            last_repetition = repetition;
        }
        if self.groups.is_empty() { Ok(()) } else { error("missing closing )", self.pattern) }
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    fn push_atom(&mut self, text: &str) {
        let start = self.out.len();
        self.out.push_str(text);
        self.atom = Some((start, self.out.len(), 1));
    }

    fn push_literal(&mut self, character: char) {
        self.push_atom(&literal(character));
    }

    fn open(&mut self, text: &str) -> Result<(), SyntaxError> {
        if self.groups.len() >= MOST_NESTING as usize {
            return error("expression nests too deeply", self.pattern);
        }
        self.groups.push(OpenGroup { flags: self.flags, start: self.out.len(), weight: self.weight });
        self.out.push_str(text);
        self.weight = 1;
        self.atom = None;
        Ok(())
    }

    fn close(&mut self) -> Result<(), SyntaxError> {
        let Some(group) = self.groups.pop() else {
            return error("unexpected )", self.pattern);
        };
        self.skip(1);
        self.out.push(')');
        self.atom = Some((group.start, self.out.len(), self.weight));
        self.weight = self.weight.max(group.weight);
        self.flags = group.flags;
        Ok(())
    }

    fn flag_group(&mut self) -> Result<(), SyntaxError> {
        let text = self.rest;
        let named = if text.starts_with("(?P<") && text.len() > 4 {
            Some(4)
        } else if text.starts_with("(?<") && text.len() > 3 {
            Some(3)
        } else {
            None
        };
        if let Some(start) = named {
            let Some(end) = text.find('>') else {
                return error("invalid named capture", text);
            };
            let name = text.get(start..end).unwrap_or_default();
            if name.is_empty() || !name.chars().all(|character| character == '_' || character.is_ascii_alphanumeric()) {
                return error("invalid named capture", text.get(..=end).unwrap_or(text));
            }
            self.names.push(name.to_owned());
            self.skip(end + 1);
            return self.open("(");
        }
        let mut flags = self.flags;
        let mut on = true;
        let mut saw_flag = false;
        let mut length = 2;
        for character in text.chars().skip(2) {
            length += character.len_utf8();
            let flag = match character {
                'i' => &mut flags.ignore_case,
                'm' => &mut flags.multi_line,
                's' => &mut flags.dot_all,
                'U' => &mut flags.swap_greed,
                '-' if on => {
                    on = false;
                    saw_flag = false;
                    continue;
                }
                // Go requires a flag after `-`.
                ':' | ')' if on || saw_flag => {
                    let is_group = character == ':';
                    self.skip(length);
                    if is_group {
                        self.open(&format!("(?{}:", flags.text()))?;
                    } else {
                        // A repetition still applies to the last atom.
                        self.out.push_str(&format!("(?{})", flags.text()));
                    }
                    self.flags = flags;
                    return Ok(());
                }
                _ => break,
            };
            *flag = on;
            saw_flag = true;
        }
        error("invalid or unsupported Perl syntax", text.get(..length).unwrap_or(text))
    }

    /// Reads `{2}`, `{2,}` or `{2,5}`; anything else is text.
    fn counts(&self) -> Option<(u64, Option<u64>, usize)> {
        let (inside, _) = self.rest.strip_prefix('{')?.split_once('}')?;
        let number = |digits: &str| {
            let is_number = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.is_empty();
            // With a leading zero Go reads the braces as text.
            let plain = is_number && !(digits.len() > 1 && digits.starts_with('0'));
            plain.then(|| digits.parse().unwrap_or(u64::MAX))
        };
        let length = inside.len() + 2;
        match inside.split_once(',') {
            None => number(inside).map(|count| (count, Some(count), length)),
            Some((least, "")) => number(least).map(|least| (least, None, length)),
            Some((least, most)) => Some((number(least)?, Some(number(most)?), length)),
        }
    }

    fn repeat(
        &mut self,
        operator: &str,
        counts: Option<(u64, Option<u64>)>,
        before: &'p str,
        last: Option<&'p str>,
    ) -> Result<(), SyntaxError> {
        let lazy = self.rest.starts_with('?');
        if lazy {
            self.skip(1);
        }
        let shown = |from: &'p str, rest: &str| from.get(..from.len() - rest.len()).unwrap_or(from);
        if let Some(last) = last {
            return error("invalid nested repetition operator", shown(last, self.rest));
        }
        let Some((start, end, weight)) = self.atom else {
            return error(MISSING_ARGUMENT, shown(before, self.rest));
        };
        let mut weight = weight;
        if let Some((least, most)) = counts {
            let count = most.unwrap_or(least);
            // An atom that is repeated zero times costs nothing.
            weight = if most == Some(0) { 1 } else { weight.saturating_mul(count.max(1)) };
            if weight > 1000 && (least >= 2 || most.is_some_and(|most| most >= 2)) {
                return error("invalid repeat count", shown(before, self.rest));
            }
        }
        self.weight = self.weight.max(weight);
        let inserted = format!("{operator}{}", if lazy { "?" } else { "" });
        // Flags may come between the atom and its repetition.
        self.out.insert_str(end, &inserted);
        self.out.insert_str(start, "(?:");
        self.out.insert(end + 3 + inserted.len(), ')');
        self.atom = Some((start, end + 4 + inserted.len(), weight));
        Ok(())
    }

    fn escape(&mut self) -> Result<(), SyntaxError> {
        let text = self.rest;
        match text.as_bytes().get(1) {
            Some(b'A') => {
                self.skip(2);
                self.push_atom(r"\A");
            }
            // Go knows only ASCII boundaries of words.
            Some(b'b') => {
                self.skip(2);
                self.push_atom(r"(?-u:\b)");
            }
            Some(b'B') => {
                self.skip(2);
                self.push_atom(r"(?-u:\B)");
            }
            Some(b'z') => {
                self.skip(2);
                self.push_atom(r"\z");
            }
            // A single byte of a character; Go does not support it either.
            Some(b'C') => return error(INVALID_ESCAPE, r"\C"),
            Some(b'Q') => {
                let quoted = text.get(2..).unwrap_or_default();
                let (inside, after) = quoted.split_once(r"\E").unwrap_or((quoted, ""));
                for character in inside.chars() {
                    self.push_literal(character);
                }
                self.rest = after;
            }
            Some(b'p' | b'P') => {
                let (class, after) = unicode_class(text)?;
                self.rest = after;
                self.push_atom(&class);
            }
            Some(letter) if perl_class(*letter).is_some() => {
                self.skip(2);
                let class = format!("[{}]", perl_class(*letter).unwrap_or_default());
                self.push_atom(&class);
            }
            _ => {
                let (character, after) = escaped_char(text)?;
                self.rest = after;
                self.push_literal(character);
            }
        }
        Ok(())
    }

    fn class(&mut self) -> Result<(), SyntaxError> {
        let whole = self.rest;
        let mut rest = whole.get(1..).unwrap_or_default();
        let mut class = String::from("[");
        if let Some(after) = rest.strip_prefix('^') {
            class.push('^');
            rest = after;
        }
        let mut first = true;
        // A `]` at the start belongs to the class.
        while first || !rest.starts_with(']') {
            first = false;
            if rest.starts_with("[:")
                && let Some(end) = rest.get(2..).and_then(|inside| inside.find(":]"))
            {
                let name = rest.get(..end + 4).unwrap_or(rest);
                let plain = name.trim_start_matches("[:").trim_start_matches('^').trim_end_matches(":]");
                const NAMES: [&str; 14] = [
                    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
                    "upper", "word", "xdigit",
                ];
                if !NAMES.contains(&plain) {
                    return error(INVALID_RANGE, name);
                }
                class.push_str(name);
                rest = rest.get(end + 4..).unwrap_or_default();
                continue;
            }
            if rest.starts_with(r"\p") || rest.starts_with(r"\P") {
                let (inside, after) = unicode_class(rest)?;
                class.push_str(&inside);
                rest = after;
                continue;
            }
            if let [b'\\', letter, ..] = rest.as_bytes()
                && let Some(inside) = perl_class(*letter)
            {
                // Inside a class the engine needs brackets around a negated one.
                class.push_str(&if inside.starts_with('^') { format!("[{inside}]") } else { inside.to_owned() });
                rest = rest.get(2..).unwrap_or_default();
                continue;
            }
            let range = rest;
            let (low, after) = class_char(rest, whole)?;
            rest = after;
            let mut high = low;
            if rest.starts_with('-') && rest.len() >= 2 && !rest.starts_with("-]") {
                let (character, after) = class_char(rest.get(1..).unwrap_or_default(), whole)?;
                rest = after;
                high = character;
                if high < low {
                    return error(INVALID_RANGE, range.get(..range.len() - rest.len()).unwrap_or(range));
                }
            }
            class.push_str(&literal(low));
            if high != low {
                class.push('-');
                class.push_str(&literal(high));
            }
        }
        class.push(']');
        self.rest = rest.get(1..).unwrap_or_default();
        self.push_atom(&class);
        Ok(())
    }
}

impl PatternFlags {
    fn text(self) -> String {
        let flags = [('i', self.ignore_case), ('m', self.multi_line), ('s', self.dot_all), ('U', self.swap_greed)];
        let of = |wanted: bool| flags.iter().filter(|(_, on)| *on == wanted).map(|(name, _)| *name).collect::<String>();
        let (on, off) = (of(true), of(false));
        if off.is_empty() { on } else { format!("{on}-{off}") }
    }
}

fn literal(character: char) -> String {
    // As code points no characters are special to the engine, inside or outside of classes.
    if character.is_ascii_alphanumeric() { character.to_string() } else { format!(r"\x{{{:X}}}", u32::from(character)) }
}

/// Returns the content of the class of `\d` and similar escapes, which are ASCII in Go.
fn perl_class(letter: u8) -> Option<&'static str> {
    match letter {
        b'd' => Some("0-9"),
        b'D' => Some("^0-9"),
        // Without vertical tab, as in Go.
        b's' => Some(r"\t\n\x0C\r\x20"),
        b'S' => Some(r"^\t\n\x0C\r\x20"),
        b'w' => Some("0-9A-Za-z_"),
        b'W' => Some("^0-9A-Za-z_"),
        _ => None,
    }
}

fn class_char<'p>(text: &'p str, whole: &str) -> Result<(char, &'p str), SyntaxError> {
    match text.chars().next() {
        None => error("missing closing ]", whole),
        Some('\\') => escaped_char(text),
        Some(character) => Ok((character, text.get(character.len_utf8()..).unwrap_or_default())),
    }
}

/// Reads an escape that stands for one character.
fn escaped_char(text: &str) -> Result<(char, &str), SyntaxError> {
    let after = text.get(1..).unwrap_or_default();
    let Some((kind, width)) = decode_char(after.as_bytes()) else {
        return error("trailing backslash at end of expression", "");
    };
    let rest = after.get(width..).unwrap_or_default();
    let simple = |character| Ok((character, rest));
    let is_octal = |text: &str| text.starts_with(|digit: char| digit.is_digit(8));
    match kind {
        // A single digit other than 0 would refer to a group, which Go does not support.
        '0'..='7' if kind == '0' || is_octal(rest) => {
            let more = rest.chars().take(2).take_while(|digit| digit.is_digit(8)).count();
            let digits = after.get(..1 + more).unwrap_or_default();
            let code = u32::from_str_radix(digits, 8).ok().and_then(char::from_u32);
            Ok((code.unwrap_or_default(), after.get(1 + more..).unwrap_or_default()))
        }
        'x' => hexadecimal_char(text, rest),
        'a' => simple('\x07'),
        'f' => simple('\x0c'),
        'n' => simple('\n'),
        'r' => simple('\r'),
        't' => simple('\t'),
        'v' => simple('\x0b'),
        _ if kind.is_ascii() && !kind.is_ascii_alphanumeric() => simple(kind),
        _ => error(INVALID_ESCAPE, text.get(..1 + width).unwrap_or(text)),
    }
}

fn hexadecimal_char<'p>(text: &'p str, rest: &'p str) -> Result<(char, &'p str), SyntaxError> {
    let invalid = |rest: &str| error(INVALID_ESCAPE, text.get(..text.len() - rest.len()).unwrap_or(text));
    let Some(first) = rest.chars().next() else { return invalid(rest) };
    if first != '{' {
        let mut digits = rest.char_indices();
        let (high, low) = (digits.next(), digits.next());
        let after = digits.next().map_or("", |(at, _)| rest.get(at..).unwrap_or_default());
        let value = |digit: Option<(usize, char)>| digit.and_then(|(_, digit)| digit.to_digit(16));
        return match (value(high), value(low)) {
            (Some(high), Some(low)) => Ok((char::from_u32(high * 16 + low).unwrap_or_default(), after)),
            _ => invalid(after),
        };
    }
    let mut code = 0u32;
    for (count, (at, character)) in rest.char_indices().skip(1).enumerate() {
        let after = rest.get(at + character.len_utf8()..).unwrap_or_default();
        if character == '}' {
            return match char::from_u32(code) {
                Some(character) if count > 0 => Ok((character, after)),
                // Half of a surrogate pair matches no UTF-8 text.
                None => Ok(('\u{10ffff}', after)),
                _ => invalid(after),
            };
        }
        let Some(digit) = character.to_digit(16) else { return invalid(after) };
        code = code * 16 + digit;
        if code > 0x10_ffff {
            return invalid(after);
        }
    }
    invalid("")
}

/// Reads `\pL`, `\p{Greek}` or `\P{^L}`: categories and scripts, no other properties.
fn unicode_class(text: &str) -> Result<(String, &str), SyntaxError> {
    let mut negative = text.starts_with(r"\P");
    let after = text.get(2..).unwrap_or_default();
    let Some(first) = after.chars().next() else { return error(INVALID_RANGE, text) };
    let (sequence, name, rest) = if first == '{' {
        let Some(end) = find(text.as_bytes(), b"}") else { return error(INVALID_RANGE, text) };
        (text.get(..=end), text.get(3..end), text.get(end + 1..))
    } else {
        let end = 2 + first.len_utf8();
        (text.get(..end), text.get(2..end), text.get(end..))
    };
    let (sequence, mut name, rest) = (sequence.unwrap_or_default(), name.unwrap_or_default(), rest.unwrap_or_default());
    if let Some(after) = name.strip_prefix('^') {
        negative = !negative;
        name = after;
    }
    let is_name = !name.is_empty()
        && name.chars().all(|character| character.is_ascii_alphanumeric() || matches!(character, '_' | ' ' | '-'));
    let letter = if negative { 'P' } else { 'p' };
    let candidates = [format!(r"\{letter}{{gc={name}}}"), format!(r"\{letter}{{sc={name}}}")];
    // The engine knows the names of all categories and scripts, so ask it instead of keeping a list.
    let known = candidates.into_iter().find(|class| is_name && Regex::new(class).is_ok());
    match known {
        Some(class) => Ok((class, rest)),
        None => error(INVALID_RANGE, sequence),
    }
}
