//! Refuses text that `kubectl` refuses and the library reads: tabs where a node may begin, and anchors whose names have
//! other characters than letters, digits, `-` and `_`.
//!
//! A text is scanned once more only if it has such a character in such a place.

use serde_saphyr::granit_parser::{Options, ScalarStyle, Scanner, Span, StrInput, TokenType};

use super::{Location, YamlError};

/// Returns the error of the first document.
pub(super) fn refusal(text: &str) -> Option<YamlError> {
    let has_tab = text.contains('\t');
    if !has_tab && !may_have_anchor(text) {
        return None;
    }
    let mut options = Options::default();
    options.set_emit_comments(false);
    let mut gaps = Gaps { text, end: 0, flow_depth: 0, indents: Vec::new(), last: LastToken::Other };
    let mut has_content = false;
    for token in Scanner::with_options(StrInput::new(text), options) {
        // The parser has read the first document already, so an error belongs to a later one.
        let (span, token) = token.ok()?.into_parts();
        match &token {
            TokenType::DocumentEnd => return None,
            TokenType::DocumentStart if has_content => return None,
            TokenType::StreamStart | TokenType::DocumentStart => {}
            _ => has_content = true,
        }
        if let TokenType::Anchor(name) | TokenType::Alias(name) = &token
            && !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        {
            let location = Location { line: span.start.line() as u64, column: span.start.col() as u64 + 1 };
            let message = format!("did not find expected alphabetic or numeric character in the anchor `{name}`");
            return Some(YamlError::Syntax { message, location: Some(location) });
        }
        if has_tab && let Some(error) = gaps.pass(&span, &token) {
            return Some(error);
        }
    }
    None
}

/// Whether an anchor or alias may begin somewhere: `&` or `*` before a character that is not blank, at the beginning of
/// a word.
fn may_have_anchor(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().any(|(index, byte)| {
        let before = index.checked_sub(1).and_then(|before| bytes.get(before)).copied().unwrap_or(b' ');
        let after = bytes.get(index + 1).copied().unwrap_or(b' ');
        matches!(byte, b'&' | b'*')
            && (before.is_ascii_whitespace() || matches!(before, b'[' | b'{' | b','))
            && !after.is_ascii_whitespace()
    })
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
struct Gaps<'t> {
    text: &'t str,
    end: usize,
    flow_depth: usize,
    /// The columns of the open blocks, from 0.
    indents: Vec<usize>,
    last: LastToken,
}

impl Gaps<'_> {
    /// Returns an error if a tab before the token stands where a block node may begin.
    fn pass(&mut self, span: &Span, token: &TokenType<'_>) -> Option<YamlError> {
        let (start, end) = (span.start.byte_offset()?, span.end.byte_offset()?);
        if start >= self.end {
            if self.flow_depth == 0 && *token != TokenType::StreamEnd {
                let gap = self.text.get(self.end..start)?;
                if let Some(at) = self.tab_in(gap) {
                    return Some(self.error(self.end + at));
                }
            }
            // Keys and ends of blocks have no characters of their own.
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
