//! Byte ranges of values in a text as written, also of values in a text inside the text.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::format::yaml::Location;

/// The head of a block scalar at the end of a line (<https://yaml.org/spec/1.2.2/#81-block-scalar-styles>).
static BLOCK_HEAD: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?:^|[ \t])([|>][1-9+-]{0,2})[ \t]*(?:[ \t]#.*)?$").ok());

/// A text with the starts of its lines.
pub(super) struct SourceText<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> SourceText<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        SourceText { text, starts: [0].into_iter().chain(breaks).collect() }
    }

    pub(super) fn written(&self, range: &Range<usize>) -> &'a str {
        self.text.get(range.clone()).unwrap_or_default()
    }

    /// Returns the line number of a byte offset, from 1.
    pub(super) fn line_of(&self, at: usize) -> u64 {
        self.starts.partition_point(|start| *start <= at) as u64
    }

    fn offset(&self, at: Location) -> Option<usize> {
        let line = usize::try_from(at.line).ok()?.checked_sub(1)?;
        let column = usize::try_from(at.column).ok()?.checked_sub(1)?;
        let start = *self.starts.get(line)?;
        let rest = self.text.get(start..)?.split('\n').next()?;
        let within = rest.char_indices().map(|(at, _)| at).chain([rest.len()]).nth(column)?;
        Some(start + within)
    }

    /// Returns the range of a scalar without its quotes. The scalar must be written exactly as its value.
    pub(super) fn place(&self, at: Option<Location>, value: &str) -> Option<Range<usize>> {
        let whole = self.whole_place(at, value)?;
        let quote = usize::from(whole.len() > value.len());
        Some(whole.start + quote..whole.end - quote)
    }

    /// Returns the range of a scalar with its quotes. The scalar must be written exactly as its value.
    pub(super) fn whole_place(&self, at: Option<Location>, value: &str) -> Option<Range<usize>> {
        let start = self.offset(at?)?;
        let rest = self.text.get(start..)?;
        let forms = [value.to_owned(), format!("\"{value}\""), format!("'{value}'")];
        let form = forms.iter().find(|form| rest.starts_with(form.as_str()))?;
        Some(start..start + form.len())
    }

    /// Returns the range of the anchored value that the alias at a location refers to.
    pub(super) fn anchor(&self, at: Location, value: &str) -> Option<Range<usize>> {
        let start = self.offset(at)?;
        let name = self.text.get(start..)?.strip_prefix('*')?;
        let name = name.split([' ', '\t', '\r', '\n', ',', ']', '}']).next()?;
        let anchor = format!("&{name}");
        let is_whole = |(found, _): &(usize, &str)| {
            self.text.get(found + anchor.len()..).is_some_and(|rest| rest.starts_with([' ', '\t']))
        };
        let (found, _) = self.text.get(..start)?.match_indices(&anchor).filter(is_whole).last()?;
        let after = found + anchor.len();
        let begins = after + self.text.get(after..)?.find(|letter| letter != ' ' && letter != '\t')?;
        let rest = self.text.get(begins..)?;
        let quoted = rest.starts_with(['"', '\'']);
        let begins = begins + usize::from(quoted);
        self.text.get(begins..)?.starts_with(value).then_some(begins..begins + value.len())
    }

    /// Returns the whole range of a block scalar or quoted scalar. A block scalar is located at its head or at its
    /// first text.
    pub(super) fn scalar(&self, at: Location) -> Option<Range<usize>> {
        let start = self.offset(at)?;
        let start = self.head_of_block(start).unwrap_or(start);
        let rest = self.text.get(start..)?;
        let length = match rest.chars().next()? {
            '|' | '>' => block_length(rest),
            '"' => closing_quote(rest)?,
            // Two quotes stand for one inside the text. Their replacement has the same length, so positions do not
            // shift.
            '\'' => 2 + rest.get(1..)?.replace("''", "__").find('\'')?,
            _ => return None,
        };
        Some(start..start + length)
    }

    /// Finds the head (`|-`) of the block scalar whose first text is at this offset: it ends the next non-blank line
    /// above.
    fn head_of_block(&self, at: usize) -> Option<usize> {
        let before = self.text.get(..at)?;
        let (above, indent) = before.rsplit_once('\n')?;
        if !indent.trim_matches(' ').is_empty() {
            return None;
        }
        let line = above.trim_end_matches([' ', '\t', '\r', '\n']).rsplit('\n').next()?;
        let head = BLOCK_HEAD.as_ref()?.captures(line)?.get(1)?;
        let begins = above.trim_end_matches([' ', '\t', '\r', '\n']).len() - line.len();
        Some(begins + head.start())
    }

    /// Finds a piece of a value in the text of its scalar. Both contain the same words in the same order, because
    /// indentation, folding and escapes do not change them. Returns `None` where that does not hold.
    pub(super) fn same_place(&self, scalar: &Range<usize>, value: &str, piece: &Range<usize>) -> Option<Range<usize>> {
        let word = value.get(piece.clone())?;
        let written = self.written(scalar);
        let places: Vec<usize> = value.match_indices(word).map(|(at, _)| at).collect();
        let there: Vec<usize> = written.match_indices(word).map(|(at, _)| at).collect();
        if word.is_empty() || places.len() != there.len() {
            return None;
        }
        let start = scalar.start + there.get(places.iter().position(|at| *at == piece.start)?)?;
        Some(start..start + word.len())
    }
}

/// Returns the length of a block scalar: its first line and all following lines with at least the same indentation.
fn block_length(rest: &str) -> usize {
    let mut lines = rest.split_inclusive('\n');
    let mut length = lines.next().map_or(0, str::len);
    let mut indent = None;
    let mut blank = 0;
    for line in lines {
        let text = line.trim_end_matches(['\r', '\n']);
        if text.trim_matches(' ').is_empty() {
            blank += line.len();
            continue;
        }
        let spaces = text.len() - text.trim_start_matches(' ').len();
        if spaces < *indent.get_or_insert(spaces.max(1)) {
            break;
        }
        length += blank + line.len();
        blank = 0;
    }
    length
}

/// Returns the length of a text in double quotes.
fn closing_quote(rest: &str) -> Option<usize> {
    let mut is_escaped = false;
    let end = rest.char_indices().skip(1).find(|(_, letter)| {
        let ends = *letter == '"' && !is_escaped;
        is_escaped = *letter == '\\' && !is_escaped;
        ends
    });
    end.map(|(at, _)| at + 1)
}
