//! Text → tokens.
//!
//! The states are those of `text/template/parse`, because error texts and line numbers depend on the order in which
//! they read the text.

use std::borrow::Cow;

use crate::text::{decode_char, decode_last_char, find, is_digit, is_letter, is_print, quoted};

/// Kinds of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Error,
    Bool,
    Char,
    CharConstant,
    Complex,
    Assign,
    Declare,
    End,
    Field,
    Identifier,
    LeftDelimiter,
    LeftParenthesis,
    Number,
    Pipe,
    RawString,
    RightDelimiter,
    RightParenthesis,
    Space,
    String,
    Text,
    Variable,
    Dot,
    Keyword(Keyword),
}

/// Reserved words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keyword {
    Block,
    Break,
    Continue,
    Define,
    Else,
    End,
    If,
    Nil,
    Range,
    Template,
    With,
}

const KEYWORDS: [(&str, Keyword); 11] = [
    ("block", Keyword::Block),
    ("break", Keyword::Break),
    ("continue", Keyword::Continue),
    ("define", Keyword::Define),
    ("else", Keyword::Else),
    ("end", Keyword::End),
    ("if", Keyword::If),
    ("nil", Keyword::Nil),
    ("range", Keyword::Range),
    ("template", Keyword::Template),
    ("with", Keyword::With),
];

/// A piece of the text.
#[derive(Clone, Debug)]
pub(crate) struct Token<'t> {
    pub(crate) kind: TokenKind,
    /// First byte in the text.
    pub(crate) position: usize,
    /// The piece itself, or the message of an error.
    pub(crate) value: Cow<'t, str>,
    /// Line of the first byte, from 1.
    pub(crate) line: usize,
}

impl Token<'_> {
    /// Returns the token as messages print it.
    pub(crate) fn shown(&self) -> String {
        match self.kind {
            TokenKind::End => "EOF".into(),
            TokenKind::Error => self.value.to_string(),
            TokenKind::Keyword(_) | TokenKind::Dot => format!("<{}>", self.value),
            // `%.10q`: ten characters, then quotes, where the token has more than ten bytes.
            _ if self.value.len() > 10 => {
                let cut: String = self.value.chars().take(10).collect();
                format!("{}...", quoted(cut.as_bytes()))
            }
            _ => quoted(self.value.as_bytes()),
        }
    }
}

const SPACE: &[char] = &[' ', '\t', '\r', '\n'];
const LEFT_COMMENT: &str = "/*";
const RIGHT_COMMENT: &str = "*/";
/// The `-` of a trim marker and the blank beside it.
const TRIM_MARKER_WIDTH: usize = 2;

pub(crate) struct Lexer<'t> {
    text: &'t str,
    left: &'t str,
    right: &'t str,
    position: usize,
    start: usize,
    at_end: bool,
    parentheses: i64,
    line: usize,
    start_line: usize,
    inside_action: bool,
    failed: bool,
}

/// The next state, or a token that ends the scan.
enum LexerState<'t> {
    Text,
    LeftDelimiter,
    Comment,
    RightDelimiter,
    InsideAction,
    Space,
    Token(Token<'t>),
}

fn is_space(character: Option<char>) -> bool {
    character.is_some_and(|character| SPACE.contains(&character))
}

pub(crate) fn is_alphanumeric(character: Option<char>) -> bool {
    character.is_some_and(|character| character == '_' || is_letter(character) || is_digit(character))
}

impl<'t> Lexer<'t> {
    pub(crate) fn new(text: &'t str, left: &'t str, right: &'t str) -> Lexer<'t> {
        Lexer {
            text,
            left,
            right,
            position: 0,
            start: 0,
            at_end: false,
            parentheses: 0,
            line: 1,
            start_line: 1,
            inside_action: false,
            failed: false,
        }
    }

    /// Returns the next token; after an error, always the end of the text.
    pub(crate) fn next_token(&mut self) -> Token<'t> {
        if self.failed {
            return Token { kind: TokenKind::End, position: 0, value: "EOF".into(), line: self.start_line };
        }
        let mut state = if self.inside_action { LexerState::InsideAction } else { LexerState::Text };
        loop {
            state = match state {
                LexerState::Text => self.text(),
                LexerState::LeftDelimiter => self.left_delimiter(),
                LexerState::Comment => self.comment(),
                LexerState::RightDelimiter => self.right_delimiter(),
                LexerState::InsideAction => self.inside_action(),
                LexerState::Space => self.space(),
                LexerState::Token(token) => return token,
            }
        }
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.position..).unwrap_or_default()
    }

    fn pending(&self) -> &'t str {
        self.text.get(self.start..self.position).unwrap_or_default()
    }

    fn next(&mut self) -> Option<char> {
        let Some((character, width)) = decode_char(self.rest().as_bytes()) else {
            self.at_end = true;
            return None;
        };
        self.position += width;
        if character == '\n' {
            self.line += 1;
        }
        Some(character)
    }

    fn back(&mut self) {
        // At the end nothing was taken, so nothing can be given back.
        if self.at_end {
            return;
        }
        let before = self.text.get(..self.position).unwrap_or_default();
        if let Some((character, width)) = decode_last_char(before.as_bytes()) {
            self.position -= width;
            if character == '\n' {
                self.line -= 1;
            }
        }
    }

    fn peek(&mut self) -> Option<char> {
        let character = self.next();
        self.back();
        character
    }

    fn accept(&mut self, valid: &str) -> bool {
        if self.next().is_some_and(|character| valid.contains(character)) {
            return true;
        }
        self.back();
        false
    }

    fn accept_run(&mut self, valid: &str) {
        while self.next().is_some_and(|character| valid.contains(character)) {}
        self.back();
    }

    fn token(&mut self, kind: TokenKind) -> Token<'t> {
        let token = Token { kind, position: self.start, value: Cow::Borrowed(self.pending()), line: self.start_line };
        self.start = self.position;
        self.start_line = self.line;
        token
    }

    fn emit(&mut self, kind: TokenKind) -> LexerState<'t> {
        LexerState::Token(self.token(kind))
    }

    fn ignore(&mut self) {
        self.line += newlines(self.pending());
        self.start = self.position;
        self.start_line = self.line;
    }

    fn error(&mut self, message: impl Into<String>) -> LexerState<'t> {
        self.failed = true;
        LexerState::Token(Token {
            kind: TokenKind::Error,
            position: self.start,
            value: Cow::Owned(message.into()),
            line: self.start_line,
        })
    }

    fn text(&mut self) -> LexerState<'t> {
        let Some(at) = find(self.rest().as_bytes(), self.left.as_bytes()) else {
            self.position = self.text.len();
            if self.position > self.start {
                self.line += newlines(self.pending());
                return self.emit(TokenKind::Text);
            }
            return self.emit(TokenKind::End);
        };
        if at > 0 {
            self.position += at;
            let after = self.text.get(self.position + self.left.len()..).unwrap_or_default();
            let trimmed = if has_left_trim_marker(after) {
                let text = self.pending();
                text.len() - text.trim_end_matches(SPACE).len()
            } else {
                0
            };
            self.position -= trimmed;
            self.line += newlines(self.pending());
            let token = self.token(TokenKind::Text);
            self.position += trimmed;
            self.ignore();
            if !token.value.is_empty() {
                return LexerState::Token(token);
            }
        }
        LexerState::LeftDelimiter
    }

    /// Whether the right delimiter follows, and whether it trims.
    fn at_right_delimiter(&self) -> (bool, bool) {
        let rest = self.rest();
        if has_right_trim_marker(rest)
            && rest.get(TRIM_MARKER_WIDTH..).is_some_and(|after| after.starts_with(self.right))
        {
            return (true, true);
        }
        (rest.starts_with(self.right), false)
    }

    fn left_delimiter(&mut self) -> LexerState<'t> {
        self.position += self.left.len();
        let marker = if has_left_trim_marker(self.rest()) { TRIM_MARKER_WIDTH } else { 0 };
        if self.rest().get(marker..).is_some_and(|rest| rest.starts_with(LEFT_COMMENT)) {
            self.position += marker;
            self.ignore();
            return LexerState::Comment;
        }
        let token = self.token(TokenKind::LeftDelimiter);
        self.inside_action = true;
        self.position += marker;
        self.ignore();
        self.parentheses = 0;
        LexerState::Token(token)
    }

    fn comment(&mut self) -> LexerState<'t> {
        self.position += LEFT_COMMENT.len();
        let Some(end) = find(self.rest().as_bytes(), RIGHT_COMMENT.as_bytes()) else {
            return self.error("unclosed comment");
        };
        self.position += end + RIGHT_COMMENT.len();
        let (delimiter, trim) = self.at_right_delimiter();
        if !delimiter {
            return self.error("comment ends before closing delimiter");
        }
        self.line += newlines(self.pending());
        self.start = self.position;
        if trim {
            self.position += TRIM_MARKER_WIDTH;
        }
        self.position += self.right.len();
        if trim {
            self.skip_space();
        }
        self.ignore();
        LexerState::Text
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.position += rest.len() - rest.trim_start_matches(SPACE).len();
    }

    fn right_delimiter(&mut self) -> LexerState<'t> {
        let (_, trim) = self.at_right_delimiter();
        if trim {
            self.position += TRIM_MARKER_WIDTH;
            self.ignore();
        }
        self.position += self.right.len();
        let token = self.token(TokenKind::RightDelimiter);
        if trim {
            self.skip_space();
            self.ignore();
        }
        self.inside_action = false;
        LexerState::Token(token)
    }

    fn inside_action(&mut self) -> LexerState<'t> {
        if self.at_right_delimiter().0 {
            if self.parentheses == 0 {
                return LexerState::RightDelimiter;
            }
            return self.error("unclosed left paren");
        }
        let Some(character) = self.next() else {
            return self.error("unclosed action");
        };
        match character {
            _ if is_space(Some(character)) => {
                // The blank may belong to a trim marker.
                self.back();
                LexerState::Space
            }
            '=' => self.emit(TokenKind::Assign),
            ':' => {
                if self.next() != Some('=') {
                    return self.error("expected :=");
                }
                self.emit(TokenKind::Declare)
            }
            '|' => self.emit(TokenKind::Pipe),
            '"' => self.quoted('"', TokenKind::String, "unterminated quoted string"),
            '`' => self.raw_quoted(),
            '\'' => self.quoted('\'', TokenKind::CharConstant, "unterminated character constant"),
            '$' => {
                if self.at_terminator() {
                    return self.emit(TokenKind::Variable);
                }
                self.field_or_variable(TokenKind::Variable)
            }
            // A digit after the point makes it a number, such as `.5`.
            '.' if !self.rest().is_empty() && !self.rest().starts_with(|next: char| next.is_ascii_digit()) => {
                self.field_or_variable(TokenKind::Field)
            }
            '.' | '+' | '-' | '0'..='9' => {
                self.back();
                self.number()
            }
            _ if is_alphanumeric(Some(character)) => {
                self.back();
                self.identifier()
            }
            '(' => {
                self.parentheses += 1;
                self.emit(TokenKind::LeftParenthesis)
            }
            ')' => {
                self.parentheses -= 1;
                if self.parentheses < 0 {
                    return self.error("unexpected right paren");
                }
                self.emit(TokenKind::RightParenthesis)
            }
            // Only the comma of `$k, $v :=` is of use; the parser refuses the others, which gives Go's message.
            _ if character.is_ascii() && is_print(character) => self.emit(TokenKind::Char),
            _ => self.error(format!("unrecognized character in action: {}", unicode_name(Some(character)))),
        }
    }

    fn space(&mut self) -> LexerState<'t> {
        let mut count = 0;
        while is_space(self.peek()) {
            self.next();
            count += 1;
        }
        // A trim marker needs a blank before it: the last character read.
        let marker = self.text.get(self.position.saturating_sub(1)..).unwrap_or_default();
        if has_right_trim_marker(marker)
            && marker.get(TRIM_MARKER_WIDTH..).is_some_and(|after| after.starts_with(self.right))
        {
            self.back();
            if count == 1 {
                return LexerState::RightDelimiter;
            }
        }
        self.emit(TokenKind::Space)
    }

    fn identifier(&mut self) -> LexerState<'t> {
        loop {
            let character = self.next();
            if is_alphanumeric(character) {
                continue;
            }
            self.back();
            if !self.at_terminator() {
                return self.error(format!("bad character {}", unicode_name(character)));
            }
            let word = self.pending();
            if let Some((_, keyword)) = KEYWORDS.iter().find(|(name, _)| *name == word) {
                return self.emit(TokenKind::Keyword(*keyword));
            }
            return self.emit(match word {
                "true" | "false" => TokenKind::Bool,
                _ => TokenKind::Identifier,
            });
        }
    }

    fn field_or_variable(&mut self, kind: TokenKind) -> LexerState<'t> {
        if self.at_terminator() {
            return self.emit(if kind == TokenKind::Variable { TokenKind::Variable } else { TokenKind::Dot });
        }
        let mut character;
        loop {
            character = self.next();
            if !is_alphanumeric(character) {
                self.back();
                break;
            }
        }
        if !self.at_terminator() {
            return self.error(format!("bad character {}", unicode_name(character)));
        }
        self.emit(kind)
    }

    /// Whether a character follows that may follow an identifier.
    fn at_terminator(&mut self) -> bool {
        let next = self.peek();
        next.is_none()
            || is_space(next)
            || matches!(next, Some('.' | ',' | '|' | ':' | ')' | '('))
            // The right delimiter needs no blank before it.
            || self.rest().starts_with(self.right)
    }

    fn quoted(&mut self, quote: char, kind: TokenKind, unterminated: &str) -> LexerState<'t> {
        loop {
            match self.next() {
                Some('\\') => match self.next() {
                    None | Some('\n') => return self.error(unterminated),
                    Some(_) => {}
                },
                None | Some('\n') => return self.error(unterminated),
                Some(character) if character == quote => return self.emit(kind),
                Some(_) => {}
            }
        }
    }

    fn raw_quoted(&mut self) -> LexerState<'t> {
        loop {
            match self.next() {
                None => return self.error("unterminated raw quoted string"),
                Some('`') => return self.emit(TokenKind::RawString),
                Some(_) => {}
            }
        }
    }

    fn number(&mut self) -> LexerState<'t> {
        if !self.scan_number() {
            return self.bad_number();
        }
        if matches!(self.peek(), Some('+' | '-')) {
            // A complex constant: `1+2i`.
            if !self.scan_number() || !self.pending().ends_with('i') {
                return self.bad_number();
            }
            return self.emit(TokenKind::Complex);
        }
        self.emit(TokenKind::Number)
    }

    fn bad_number(&mut self) -> LexerState<'t> {
        self.error(format!("bad number syntax: {}", quoted(self.pending().as_bytes())))
    }

    fn scan_number(&mut self) -> bool {
        self.accept("+-");
        let mut digits = "0123456789_";
        // A leading 0 does not choose the octal digits: it may begin a float.
        if self.accept("0") {
            if self.accept("xX") {
                digits = "0123456789abcdefABCDEF_";
            } else if self.accept("oO") {
                digits = "01234567_";
            } else if self.accept("bB") {
                digits = "01_";
            }
        }
        self.accept_run(digits);
        if self.accept(".") {
            self.accept_run(digits);
        }
        // The length of the set tells the base: only decimal and hexadecimal numbers have exponents.
        let exponent = match digits.len() {
            11 => self.accept("eE"),
            23 => self.accept("pP"),
            _ => false,
        };
        if exponent {
            self.accept("+-");
            self.accept_run("0123456789_");
        }
        self.accept("i");
        if is_alphanumeric(self.peek()) {
            // Take the character, so that the message shows it.
            self.next();
            return false;
        }
        true
    }
}

fn newlines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

fn has_left_trim_marker(text: &str) -> bool {
    matches!(text.as_bytes(), [b'-', b' ' | b'\t' | b'\r' | b'\n', ..])
}

fn has_right_trim_marker(text: &str) -> bool {
    matches!(text.as_bytes(), [b' ' | b'\t' | b'\r' | b'\n', b'-', ..])
}

/// Returns a character as `%#U` prints it; the end of the text is the code point -1.
fn unicode_name(character: Option<char>) -> String {
    match character {
        None => "U+FFFFFFFFFFFFFFFF".into(),
        Some(character) if is_print(character) => format!("U+{:04X} '{character}'", u32::from(character)),
        Some(character) => format!("U+{:04X}", u32::from(character)),
    }
}
