//! Refuses text that `kubectl` refuses but the library reads: tabs where a node may begin, anchors whose names have
//! characters other than letters, digits, `-` and `_`, the escape sequences `\/` and halves of a surrogate pair
//! (`\uD83D`), directives other than `%YAML 1.1` and `%TAG`, and between brackets texts that begin with `:` or `?` and
//! tags without a text.
//!
//! A text is scanned a second time only if it may contain one of these.

use serde_saphyr::granit_parser::{Options, ScalarStyle, Scanner, Span, StrInput, TokenType};

use super::{Location, YamlError};

/// Returns the error of the first document.
pub(super) fn refusal(text: &str) -> Option<YamlError> {
    let has_directive = text.starts_with('%') || text.contains("\n%");
    if !text.contains('\t') && !has_directive && !may_have_indicator(text) && !may_have_escape(text) {
        return None;
    }
    let mut options = Options::default();
    options.set_emit_comments(false);
    let mut gaps = TokenGaps { text, end: 0, flow_depth: 0, indents: Vec::new(), last: LastToken::Other };
    let mut has_content = false;
    for token in Scanner::with_options(StrInput::new(text), options) {
        // The parser has already read the first document, so the error is in a later document.
        let (span, token) = token.ok()?.into_parts();
        match &token {
            TokenType::DocumentEnd => return None,
            TokenType::DocumentStart if has_content => return None,
            TokenType::StreamStart | TokenType::DocumentStart => {}
            _ => has_content = true,
        }
        let refuse = |message: String| {
            let location = Location { line: span.start.line() as u64, column: span.start.col() as u64 + 1 };
            Some(YamlError::Syntax { message, location: Some(location) })
        };
        let written = span.slice(text).unwrap_or_default();
        let in_brackets = gaps.flow_depth > 0;
        match &token {
            TokenType::Anchor(name) | TokenType::Alias(name)
                if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')) =>
            {
                return refuse(format!("did not find expected alphabetic or numeric character in the anchor `{name}`"));
            }
            TokenType::VersionDirective(major, minor) if (*major, *minor) != (1, 1) => {
                return refuse(format!("found incompatible YAML document: its version is {major}.{minor}, not 1.1"));
            }
            TokenType::ReservedDirective(name, _) => {
                return refuse(format!("found unknown directive name `{name}`"));
            }
            TokenType::Scalar(ScalarStyle::DoubleQuoted, _) => {
                if let Some(escape) = unknown_escape(written) {
                    return refuse(format!("found unknown escape character `{escape}` in double quotes"));
                }
            }
            TokenType::Scalar(ScalarStyle::Plain, _) if in_brackets && written.starts_with([':', '?']) => {
                return refuse(format!("did not find expected node content: put `{written}` in quotes"));
            }
            TokenType::Tag(..) if in_brackets && text.get(span.end.byte_offset()?..)?.starts_with([',', ']', '}']) => {
                return refuse(format!("did not find expected ',' or ']' after the tag `{written}`"));
            }
            _ => {}
        }
        if let Some(error) = gaps.pass(&span, &token) {
            return Some(error);
        }
    }
    None
}

/// Whether an anchor, alias, tag, or text with `:` or `?` may begin somewhere: such a character before one that is not
/// blank, at the beginning of a word.
fn may_have_indicator(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().any(|(index, byte)| {
        let before = index.checked_sub(1).and_then(|before| bytes.get(before)).copied().unwrap_or(b' ');
        let after = bytes.get(index + 1).copied().unwrap_or(b' ');
        matches!(byte, b'&' | b'*' | b'!' | b':' | b'?')
            && (before.is_ascii_whitespace() || matches!(before, b'[' | b'{' | b','))
            && !after.is_ascii_whitespace()
    })
}

fn may_have_escape(text: &str) -> bool {
    ["\\/", "\\ud", "\\uD"].iter().any(|escape| text.contains(escape))
}

/// Returns the first escape sequence of a text in double quotes that JSON has and YAML 1.1 does not: `\/` and halves of
/// a surrogate pair.
fn unknown_escape(written: &str) -> Option<&str> {
    let mut rest = written;
    while let Some(at) = rest.find('\\') {
        let escape = rest.get(at..)?;
        match escape.as_bytes() {
            [_, b'/', ..] => return escape.get(..2),
            [_, b'u', b'd' | b'D', b'8'..=b'9' | b'a'..=b'f' | b'A'..=b'F', ..] => return escape.get(..6),
            _ => {}
        }
        // The escaped character may be another backslash.
        let escaped = escape.chars().nth(1)?;
        rest = escape.get(1 + escaped.len_utf8()..)?;
    }
    None
}

/// The token before a gap.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LastToken {
    /// `?`: another node may begin on the same line.
    Indicator,
    /// Plain text may continue on the next line, so blanks beyond its indentation belong to it.
    PlainText,
    Other,
}

/// The text between tokens.
struct TokenGaps<'t> {
    text: &'t str,
    end: usize,
    flow_depth: usize,
    /// The columns of the open blocks, from 0.
    indents: Vec<usize>,
    last: LastToken,
}

impl TokenGaps<'_> {
    /// Returns an error if a tab before the token is where a block node may begin.
    fn pass(&mut self, span: &Span, token: &TokenType<'_>) -> Option<YamlError> {
        let (start, end) = (span.start.byte_offset()?, span.end.byte_offset()?);
        if start >= self.end {
            // Blanks after the last node are ignored.
            let ends_stream = *token == TokenType::StreamEnd && self.end > 0;
            if self.flow_depth == 0 && !ends_stream {
                let gap = self.text.get(self.end..start)?;
                if let Some(at) = self.tab_in(gap) {
                    return Some(self.error(self.end + at));
                }
            }
            // Some tokens, such as the end of a block, have no characters.
            if end > start {
                self.last = match token {
                    TokenType::Key if self.text.get(start..)?.starts_with('?') => LastToken::Indicator,
                    TokenType::Scalar(ScalarStyle::Plain, _) => LastToken::PlainText,
                    _ => LastToken::Other,
                };
                self.end = end;
            }
        }
        match token {
            TokenType::BlockMappingStart | TokenType::BlockSequenceStart => self.indents.push(span.start.col()),
            TokenType::BlockEnd => {
                self.indents.pop();
            }
            TokenType::FlowSequenceStart | TokenType::FlowMappingStart => self.flow_depth += 1,
            TokenType::FlowSequenceEnd | TokenType::FlowMappingEnd => {
                self.flow_depth = self.flow_depth.saturating_sub(1);
            }
            _ => {}
        }
        None
    }

    fn tab_in(&self, gap: &str) -> Option<usize> {
        let mut at = 0;
        let mut text_indent = (self.last == LastToken::PlainText).then(|| self.indents.last().copied()).flatten();
        for (index, line) in gap.split('\n').enumerate() {
            let starts_line =
                index > 0 || self.text.get(..self.end).is_none_or(|before| before.is_empty() || before.ends_with('\n'));
            let mut may_begin = starts_line || self.last == LastToken::Indicator;
            let mut rest = line;
            loop {
                let behind = rest.trim_start_matches([' ', '\t']);
                let column = line.len() - rest.len();
                if let Some(tab) = rest[..rest.len() - behind.len()].find('\t')
                    && may_begin
                    && text_indent.is_none_or(|indent| column + tab <= indent || column > 0)
                {
                    return Some(at + column + tab);
                }
                // The library's token of a list item begins behind the blanks, so the dash is in the gap.
                match behind.strip_prefix('-').filter(|after| after.starts_with([' ', '\t'])) {
                    Some(after) => (may_begin, rest) = (true, after),
                    None => {
                        // The text ends at a comment.
                        text_indent = text_indent.filter(|_| !behind.starts_with('#'));
                        break;
                    }
                }
            }
            at += line.len() + 1;
        }
        None
    }

    fn error(&self, offset: usize) -> YamlError {
        let before = self.text.get(..offset).unwrap_or_default();
        let line = before.matches('\n').count() as u64 + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() as u64 + 1;
        let message = "found a tab that cannot start any token: use spaces".to_owned();
        YamlError::Syntax { message, location: Some(Location { line, column }) }
    }
}
