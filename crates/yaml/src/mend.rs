//! Repairs text that `kubectl` reads although YAML 1.2 forbids it, so that the library reads it as well.
//!
//! The reader of `kubectl` ends the name of an alias at a colon (`*app: 1`), allows any indentation for the lines of a
//! quoted scalar, and needs no blank before a comment behind `"…"`, `[…]` or `{…}`. Added blanks repair all three
//! without changing a value. In `[a:, -]` it reads the texts `a:` and `-`, which quotes repair. Between brackets it takes
//! tabs for blanks, and in double quotes it knows `\'`. Every other invalid text remains an error.

use serde_saphyr::granit_parser::{ErrorKind, Options, ScalarStyle, ScanError, Scanner, StrInput, TokenType};

use super::Location;

/// Limit for the bytes that are scanned or added to repair one text. Each quoted scalar costs two scans and each alias
/// at the beginning of a line one, which would be quadratic for a text with many of them.
const MAX_WORK: usize = 16 << 20;

/// A text with blanks or quotes added.
pub(super) struct MendedText {
    pub text: String,
    added: Vec<Insertion>,
}

/// Blanks or quotes that the original text does not have.
struct Insertion {
    /// From 1.
    line: usize,
    /// From 0, in the mended text.
    column: usize,
    count: usize,
}

impl MendedText {
    /// Repairs a text; `None` if there is nothing to repair or the repairs do not help.
    pub(super) fn of(text: &str) -> Option<MendedText> {
        let text = &ended_by_line_feeds(text);
        let mut mended = MendedText::with_quoted_colons(text)
            .unwrap_or_else(|| MendedText { text: text.to_owned(), added: Vec::new() });
        let mut work = MAX_WORK;
        loop {
            work = work.checked_sub(mended.text.len())?;
            let (keys, error) = scan(&mended.text);
            // The scanner misreads the text after such a key until the blank is added.
            if !keys.is_empty() {
                mended.part_alias_keys(&keys);
                continue;
            }
            let Some(error) = error else { break };
            let at = error.marker().byte_offset()?;
            match error.kind() {
                ErrorKind::SimpleKeyExpected => mended.part_alias_keys(&[AliasEnd::at(&mended.text, &error)?]),
                ErrorKind::PlainScalarStartsWithDashFlowIndicator => mended.quote(at, at + 1)?,
                ErrorKind::CommentNotSeparated => mended.replace(at, at, " ")?,
                ErrorKind::UnknownQuotedScalarEscape => mended.spell_quote_out(at)?,
                ErrorKind::TabInBlockIndentation => mended.replace_tabs(at)?,
                _ => work = work.checked_sub(mended.indent_quoted_scalar(&error, work)?)?,
            }
        }
        (mended.text != *text).then_some(mended)
    }

    /// Puts quotes around every plain text in `[…]` or `{…}` that ends in a colon before `,`, `]` or `}`; `None` if
    /// there is none.
    pub(super) fn with_quoted_colons(text: &str) -> Option<MendedText> {
        const COLONS: [&str; 3] = [":,", ":]", ":}"];
        if !COLONS.iter().any(|colon| text.contains(colon)) {
            return None;
        }
        let ends_entry =
            |at: usize| text.get(at..).is_some_and(|rest| COLONS.iter().any(|colon| rest.starts_with(colon)));
        let mut options = Options::default();
        options.set_emit_comments(false);
        let (mut found, mut flow_depth, mut plain) = (Vec::new(), 0usize, None);
        for token in Scanner::with_options(StrInput::new(text), options) {
            // The text before an error can still be repaired.
            let Ok(token) = token else { break };
            let (span, token) = token.into_parts();
            let (Some(start), Some(end)) = (span.start.byte_offset(), span.end.byte_offset()) else { continue };
            // The library's token of a colon is empty, so the colon begins where the scalar ends.
            match token {
                TokenType::FlowSequenceStart | TokenType::FlowMappingStart => flow_depth += 1,
                TokenType::FlowSequenceEnd | TokenType::FlowMappingEnd => flow_depth = flow_depth.saturating_sub(1),
                TokenType::Value if flow_depth > 0 && ends_entry(start) => {
                    let scalar = plain.filter(|(_, end)| *end == start);
                    found.extend(scalar.map(|(from, end)| (from, end + 1)));
                }
                _ => {}
            }
            plain = match token {
                TokenType::Scalar(ScalarStyle::Plain, _) => Some((start, end)),
                _ => None,
            };
        }
        let mut mended = MendedText { text: text.to_owned(), added: Vec::new() };
        // Insert from the end, so that earlier positions remain valid.
        for (start, end) in found.into_iter().rev() {
            mended.quote(start, end)?;
        }
        (!mended.added.is_empty()).then_some(mended)
    }

    /// Replaces a part of a line with a text that is not shorter.
    fn replace(&mut self, start: usize, end: usize, by: &str) -> Option<()> {
        let before = self.text.get(..start)?;
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next()?.chars().count();
        let count = by.len().saturating_sub(end - start);
        self.text.replace_range(start..end, by);
        self.added.push(Insertion { line, column, count });
        Some(())
    }

    /// Replaces the first `\'` of the quoted scalar that starts there.
    fn spell_quote_out(&mut self, start: usize) -> Option<()> {
        let mut bytes = self.text.as_bytes().iter().enumerate().skip(start + 1);
        while let Some((_, byte)) = bytes.next() {
            match (byte, if *byte == b'\\' { bytes.next() } else { None }) {
                (_, Some((at, b'\''))) => return self.replace(at, at + 1, "x27"),
                (b'"', None) => return None,
                _ => {}
            }
        }
        None
    }

    /// Replaces the tabs before the first character of a line between brackets.
    fn replace_tabs(&mut self, at: usize) -> Option<()> {
        let start = self.text.get(..at)?.rfind('\n').map_or(0, |before| before + 1);
        let tokens: Vec<TokenType<'_>> = tokens(self.text.get(..start)?).collect();
        let depth = tokens.iter().fold(0_i32, |depth, token| match token {
            TokenType::FlowSequenceStart | TokenType::FlowMappingStart => depth + 1,
            TokenType::FlowSequenceEnd | TokenType::FlowMappingEnd => depth - 1,
            _ => depth,
        });
        let content = tokens.iter().rfind(|token| !matches!(token, TokenType::StreamEnd | TokenType::BlockEnd));
        // After plain text, which may continue on this line, the tab is an error.
        if depth <= 0 || matches!(content, Some(TokenType::Scalar(ScalarStyle::Plain, _))) {
            return None;
        }
        let line = self.text.get(start..)?;
        let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
        let has_tab = line.get(..indent)?.contains('\t');
        self.text.replace_range(start..start + indent, &" ".repeat(indent));
        has_tab.then_some(())
    }

    /// Puts single quotes around a part of the text.
    fn quote(&mut self, start: usize, end: usize) -> Option<()> {
        let part = self.text.get(start..end)?.replace('\'', "''");
        let line_start = self.text.get(..start)?.rfind('\n').map_or(0, |at| at + 1);
        let line = self.text.get(..start)?.matches('\n').count() + 1;
        let column = self.text.get(line_start..start)?.chars().count();
        self.added.push(Insertion { line, column, count: 1 });
        self.added.push(Insertion { line, column: column + part.chars().count() + 1, count: 1 });
        self.text.replace_range(start..end, &format!("'{part}'"));
        Some(())
    }

    /// Maps a position in the repaired text to the original one.
    pub(super) fn written(&self, location: Location) -> Location {
        let line = self.added.iter().filter(|blanks| blanks.line as u64 == location.line);
        let before = line.filter(|blanks| blanks.column as u64 + 1 < location.column);
        let count: usize = before.map(|blanks| blanks.count).sum();
        Location { line: location.line, column: location.column.saturating_sub(count as u64).max(1) }
    }

    /// Indents the lines of the quoted scalar in an error beyond its first character. Returns the number of scanned and
    /// added bytes; `None` if the error has another cause or more than `most` bytes would be added.
    fn indent_quoted_scalar(&mut self, error: &ScanError, most: usize) -> Option<usize> {
        if !matches!(error.kind(), ErrorKind::InvalidQuotedScalarIndent | ErrorKind::TabInIndentation) {
            return None;
        }
        // Cut at the end of the line before the error, the text has a different error: an unclosed quote, with the
        // start of the scalar.
        let before = self.text.get(..error.marker().byte_offset()?)?.trim_end().trim_end_matches('\\');
        let open = scan(before).1.filter(|error| *error.kind() == ErrorKind::UnclosedQuotedScalar)?;
        let start = open.marker().byte_offset()?;
        let end = start + 1 + length_in_quotes(self.text.get(start..)?)?;
        let (head, rest) = self.text.split_at_checked(start)?;
        let (scalar, tail) = rest.split_at_checked(end - start)?;
        // An indented document marker would become text.
        let is_marker = |line: &str| {
            matches!(line.split_whitespace().next(), Some("---" | "...")) && !line.starts_with([' ', '\t'])
        };
        if scalar.split('\n').skip(1).any(is_marker) {
            return None;
        }
        let count = open.marker().col() + 1;
        let lines = scalar.matches('\n').count();
        if lines.checked_mul(count)? > most {
            return None;
        }
        let blanks = " ".repeat(count);
        let mut text = String::with_capacity(self.text.len() + lines * count);
        text.push_str(head);
        for (index, line) in scalar.split_inclusive('\n').enumerate() {
            // A line of other white space is text, so it has to be indented as well.
            if index > 0 && !line.trim_matches([' ', '\t', '\r', '\n']).is_empty() {
                text.push_str(&blanks);
                self.added.push(Insertion { line: open.marker().line() + index, column: 0, count });
            }
            text.push_str(line);
        }
        text.push_str(tail);
        let work = before.len() + lines * count;
        self.text = text;
        Some(work)
    }

    /// Puts a blank before the colon of each alias that is a key; `keys` are the ends of those aliases, in order.
    fn part_alias_keys(&mut self, keys: &[AliasEnd]) {
        let (mut text, mut done, mut line, mut on_line) = (String::with_capacity(self.text.len()), 0, 0, 0);
        for key in keys {
            let Some(part) = self.text.get(done..key.offset) else { continue };
            on_line = if key.line == line { on_line + 1 } else { 0 };
            line = key.line;
            text.push_str(part);
            text.push(' ');
            done = key.offset;
            self.added.push(Insertion { line, column: key.column + on_line, count: 1 });
        }
        text.push_str(self.text.get(done..).unwrap_or_default());
        self.text = text;
    }
}

/// The colon at the end of an alias.
struct AliasEnd {
    offset: usize,
    line: usize,
    column: usize,
}

impl AliasEnd {
    /// Returns the end of the alias in an error if its last character is a colon.
    fn at(text: &str, error: &ScanError) -> Option<AliasEnd> {
        let start = error.marker().byte_offset()?;
        let name =
            text.get(start..)?.split_whitespace().next().filter(|name| name.starts_with('*') && name.len() > 2)?;
        let name = name.strip_suffix(':')?;
        let column = error.marker().col() + name.chars().count();
        Some(AliasEnd { offset: start + name.len(), line: error.marker().line(), column })
    }
}

/// Replaces carriage returns that end a line without a line feed. The meaning is the same, but repairs find the line of
/// an error by its line feeds.
fn ended_by_line_feeds(text: &str) -> String {
    let next = text.chars().skip(1).map(Some).chain([None]);
    text.chars().zip(next).map(|(c, next)| if c == '\r' && next != Some('\n') { '\n' } else { c }).collect()
}

/// The tokens of a text up to its first error.
fn tokens(text: &str) -> impl Iterator<Item = TokenType<'_>> {
    let mut options = Options::default();
    options.set_emit_comments(false);
    Scanner::with_options(StrInput::new(text), options).map_while(|token| Some(token.ok()?.into_parts().1))
}

/// Scans a text and returns the aliases whose name ends in a colon, with the error that stopped the scan.
fn scan(text: &str) -> (Vec<AliasEnd>, Option<ScanError>) {
    let mut options = Options::default();
    options.set_emit_comments(false);
    let mut keys = Vec::new();
    for token in Scanner::with_options(StrInput::new(text), options) {
        let (span, token) = match token {
            Ok(token) => token.into_parts(),
            Err(error) => return (keys, Some(error)),
        };
        if let TokenType::Alias(name) = &token
            && name.len() > 1
            && name.ends_with(':')
            && let Some(end) = span.end.byte_offset()
        {
            keys.push(AliasEnd { offset: end - 1, line: span.end.line(), column: span.end.col() - 1 });
        }
    }
    (keys, None)
}

/// Returns the number of bytes between the opening quote of a text and the closing one.
fn length_in_quotes(text: &str) -> Option<usize> {
    let (quote, rest) = text.as_bytes().split_first()?;
    let mut index = 0;
    loop {
        let byte = rest.get(index)?;
        index += match byte {
            b'\\' if *quote == b'"' => 2,
            b'\'' if *quote == b'\'' && rest.get(index + 1) == Some(&b'\'') => 2,
            byte if byte == quote => return Some(index),
            _ => 1,
        };
    }
}
