//! Strings as in Go: bytes that are usually, but not always, UTF-8.

use std::rc::Rc;
use std::sync::LazyLock;

use regex::Regex;

/// A Go string: immutable bytes, cheap to clone.
pub type Text = Rc<[u8]>;

/// The replacement for a byte that is not UTF-8.
pub(crate) const REPLACEMENT: char = '\u{fffd}';

/// Decodes the first character of `bytes` as `utf8.DecodeRune` does: a bad byte is U+FFFD of width 1.
///
/// Returns `None` for an empty slice.
pub(crate) fn decode_char(bytes: &[u8]) -> Option<(char, usize)> {
    let first = *bytes.first()?;
    if first < 0x80 {
        return Some((char::from(first), 1));
    }
    let width = match first {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return Some((REPLACEMENT, 1)),
    };
    let decoded =
        // `from_utf8` also refuses overlong forms and surrogates, which the first byte does not show.
        bytes.get(..width).and_then(|part| std::str::from_utf8(part).ok()).and_then(|part| part.chars().next());
    Some(decoded.map_or((REPLACEMENT, 1), |character| (character, width)))
}

/// Decodes the last character of `bytes` as `utf8.DecodeLastRune` does.
pub(crate) fn decode_last_char(bytes: &[u8]) -> Option<(char, usize)> {
    let end = bytes.len();
    for width in 1..=end.min(4) {
        if let Some((character, decoded)) = bytes.get(end - width..).and_then(decode_char)
            && decoded == width
            // A single byte beyond ASCII is only the end of a character, or a bad byte if no longer try succeeds.
            && (width > 1 || character != REPLACEMENT)
        {
            return Some((character, width));
        }
    }
    (end > 0).then_some((REPLACEMENT, 1))
}

/// Iterates over the characters of a Go string, each with its bytes.
pub(crate) struct Chars<'a> {
    rest: &'a [u8],
}

/// Returns the characters of a Go string.
pub(crate) fn chars(bytes: &[u8]) -> Chars<'_> {
    Chars { rest: bytes }
}

impl<'a> Iterator for Chars<'a> {
    type Item = (char, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (character, width) = decode_char(self.rest)?;
        let (head, rest) = self.rest.split_at(width);
        self.rest = rest;
        Some((character, head))
    }
}

/// Counts characters as `utf8.RuneCount` does.
pub(crate) fn char_count(bytes: &[u8]) -> usize {
    chars(bytes).count()
}

/// Appends the UTF-8 form of a character.
pub(crate) fn push_char(out: &mut Vec<u8>, character: char) {
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

/// Decodes bytes for a message; invalid bytes become U+FFFD.
pub(crate) fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the position of the first `needle`.
pub(crate) fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    match needle {
        [] => Some(0),
        [first, rest @ ..] => {
            let mut from = 0;
            loop {
                let at = from + haystack.get(from..)?.iter().position(|byte| byte == first)?;
                if haystack.get(at + 1..)?.starts_with(rest) {
                    return Some(at);
                }
                from = at + 1;
            }
        }
    }
}

// The regular expressions already contain the Unicode tables, so no separate table is needed.
static LETTER: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\p{L}$").ok());
static DIGIT: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\p{Nd}$").ok());
static PRINTABLE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^[\p{L}\p{M}\p{N}\p{P}\p{S}]$").ok());

fn is_in(class: &Option<Regex>, character: char) -> bool {
    class.as_ref().is_some_and(|class| class.is_match(character.encode_utf8(&mut [0; 4])))
}

/// `unicode.IsLetter`.
pub(crate) fn is_letter(character: char) -> bool {
    if character.is_ascii() { character.is_ascii_alphabetic() } else { is_in(&LETTER, character) }
}

/// `unicode.IsDigit`.
pub(crate) fn is_digit(character: char) -> bool {
    if character.is_ascii() { character.is_ascii_digit() } else { is_in(&DIGIT, character) }
}

/// `strconv.IsPrint`: letters, marks, numbers, punctuation, symbols and the ASCII space.
pub(crate) fn is_print(character: char) -> bool {
    if character.is_ascii() { (' '..='~').contains(&character) } else { is_in(&PRINTABLE, character) }
}

/// Appends a string in Go's double quotes, as `strconv.AppendQuote` does; `ascii` also escapes all characters beyond
/// ASCII.
pub(crate) fn push_quoted(out: &mut Vec<u8>, bytes: &[u8], quote: u8, ascii: bool) {
    out.push(quote);
    for (character, raw) in chars(bytes) {
        // A bad byte keeps its value in the message; a real U+FFFD prints as itself.
        if let [byte] = raw
            && character == REPLACEMENT
        {
            out.extend_from_slice(format!("\\x{byte:02x}").as_bytes());
            continue;
        }
        push_escaped(out, character, quote, ascii);
    }
    out.push(quote);
}

/// Appends one character as it appears between Go quotes.
pub(crate) fn push_escaped(out: &mut Vec<u8>, character: char, quote: u8, ascii: bool) {
    if character == char::from(quote) || character == '\\' {
        out.push(b'\\');
        push_char(out, character);
        return;
    }
    let plain = if ascii { character.is_ascii() && is_print(character) } else { is_print(character) };
    if plain {
        push_char(out, character);
        return;
    }
    let escape: &[u8] = match character {
        '\x07' => b"\\a",
        '\x08' => b"\\b",
        '\x0c' => b"\\f",
        '\n' => b"\\n",
        '\r' => b"\\r",
        '\t' => b"\\t",
        '\x0b' => b"\\v",
        _ => {
            let code = u32::from(character);
            let escape = match code {
                0..=0x1f | 0x7f => format!("\\x{code:02x}"),
                0x20..=0xffff => format!("\\u{code:04x}"),
                _ => format!("\\U{code:08x}"),
            };
            out.extend_from_slice(escape.as_bytes());
            return;
        }
    };
    out.extend_from_slice(escape);
}

/// Returns a string in Go's double quotes, as `%q` prints it.
pub(crate) fn quoted(bytes: &[u8]) -> String {
    let mut out = Vec::with_capacity(bytes.len() + 2);
    push_quoted(&mut out, bytes, b'"', false);
    lossy(&out)
}

/// Whether a string can appear between backquotes unchanged, as `strconv.CanBackquote` does.
pub(crate) fn can_backquote(bytes: &[u8]) -> bool {
    chars(bytes).all(|(character, raw)| {
        !(raw.len() == 1 && character == REPLACEMENT)
            // Invisible, so Go prefers to escape it.
            && character != '\u{feff}'
            && (raw.len() > 1 || (character >= ' ' || character == '\t') && character != '`' && character != '\x7f')
    })
}

/// Reads a quoted string of a template, `"…"` or `` `…` ``, as `strconv.Unquote` does.
///
/// Returns `None` where Go reports `invalid syntax`.
pub(crate) fn unquote(literal: &[u8]) -> Option<Vec<u8>> {
    let (&quote, inner) = literal.split_first()?;
    let (&last, mut rest) = inner.split_last()?;
    if quote != last {
        return None;
    }
    if quote == b'`' {
        // Like Go's compiler, `strconv.Unquote` drops carriage returns here.
        return (!rest.contains(&b'`')).then(|| rest.iter().copied().filter(|byte| *byte != b'\r').collect());
    }
    let mut out = Vec::with_capacity(rest.len());
    while !rest.is_empty() {
        if rest.first() == Some(&quote) || rest.first() == Some(&b'\n') {
            return None;
        }
        let unit = unquote_char(rest, quote)?;
        match unit.value {
            Unit::Char(character) => push_char(&mut out, character),
            Unit::Byte(byte) => out.push(byte),
        }
        rest = rest.get(unit.width..)?;
    }
    Some(out)
}

/// A unit of a quoted string and the number of bytes that it takes in the source.
pub(crate) struct QuotedUnit {
    pub(crate) value: Unit,
    pub(crate) width: usize,
}

/// Value of an escape: `\x41` and `\101` are bytes, all others are characters.
pub(crate) enum Unit {
    /// A character, written as UTF-8.
    Char(char),
    /// A raw byte.
    Byte(u8),
}

/// Reads the first character of a quoted string, as `strconv.UnquoteChar` does.
pub(crate) fn unquote_char(bytes: &[u8], quote: u8) -> Option<QuotedUnit> {
    let unit = |value, width| Some(QuotedUnit { value, width });
    match bytes {
        [first, ..] if *first == quote && (quote == b'\'' || quote == b'"') => None,
        [b'\\', kind, rest @ ..] => {
            let simple = |character| unit(Unit::Char(character), 2);
            match kind {
                b'a' => simple('\x07'),
                b'b' => simple('\x08'),
                b'f' => simple('\x0c'),
                b'n' => simple('\n'),
                b'r' => simple('\r'),
                b't' => simple('\t'),
                b'v' => simple('\x0b'),
                b'\\' => simple('\\'),
                // The other quote needs no escape, so Go refuses it.
                b'\'' | b'"' if *kind == quote => simple(char::from(quote)),
                b'x' | b'u' | b'U' => {
                    let digits = match kind {
                        b'x' => 2,
                        b'u' => 4,
                        _ => 8,
                    };
                    let mut code = 0u32;
                    for digit in rest.get(..digits)? {
                        code = code.checked_mul(16)?.checked_add(char::from(*digit).to_digit(16)?)?;
                    }
                    if *kind == b'x' {
                        return unit(Unit::Byte(u8::try_from(code).ok()?), 2 + digits);
                    }
                    unit(Unit::Char(char::from_u32(code)?), 2 + digits)
                }
                b'0'..=b'7' => {
                    let mut code = u32::from(kind - b'0');
                    for digit in rest.get(..2)? {
                        code = code * 8 + char::from(*digit).to_digit(8)?;
                    }
                    unit(Unit::Byte(u8::try_from(code).ok()?), 4)
                }
                _ => None,
            }
        }
        [b'\\'] | [] => None,
        [first, ..] if *first >= 0x80 => {
            let (character, width) = decode_char(bytes)?;
            match (character, width) {
                (REPLACEMENT, 1) => unit(Unit::Byte(*first), 1),
                _ => unit(Unit::Char(character), width),
            }
        }
        [first, ..] => unit(Unit::Char(char::from(*first)), 1),
    }
}
