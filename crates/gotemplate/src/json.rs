//! JSON by the rules of Go's `encoding/json`, whose errors a template can print.

use crate::limits::{Budget, Bytes, FunctionError};
use crate::text::{REPLACEMENT, Text, chars, decode_char, push_char};
use crate::value::{ElementType, EntryList, Map, Value};

/// Formats of JSON output.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum JsonStyle {
    /// On one line; `<`, `>` and `&` are escaped.
    Compact,
    /// Indented by two blanks, also escaped.
    Pretty,
    /// On one line; not escaped.
    Raw,
}

/// Writes a value.
///
/// # Errors
/// NaN, infinities and complex numbers have no JSON form; a limit.
pub(crate) fn write(budget: &Budget<'_>, value: &Value, style: JsonStyle) -> Result<Vec<u8>, FunctionError> {
    let mut writer = Writer { out: Bytes::new(budget), budget, style };
    writer.value(value, 0)?;
    writer.out.finish()
}

struct Writer<'b, 'a> {
    out: Bytes<'b, 'a>,
    budget: &'b Budget<'a>,
    style: JsonStyle,
}

impl Writer<'_, '_> {
    fn value(&mut self, value: &Value, depth: usize) -> Result<(), FunctionError> {
        self.budget.check_depth(depth)?;
        self.budget.step(1)?;
        match value {
            Value::Nil => self.out.push(b"null"),
            Value::Bool(value) => self.out.push(if *value { b"true" } else { b"false" }),
            Value::Int(number) | Value::Int64(number) | Value::Named(_, number) => {
                self.out.push(number.to_string().as_bytes())
            }
            Value::Byte(number) => self.out.push(number.to_string().as_bytes()),
            Value::Float(number) if !number.is_finite() => {
                let shown = if number.is_nan() {
                    "NaN"
                } else if *number > 0.0 {
                    "+Inf"
                } else {
                    "-Inf"
                };
                Err(FunctionError::new(format!("json: unsupported value: {shown}")))
            }
            Value::Float(number) => self.out.push(float_text(*number).as_bytes()),
            Value::Complex(..) => Err(FunctionError::new("json: unsupported type: complex128")),
            Value::String(text) => self.string(text),
            Value::Time(time) => self.string(time.rfc3339().as_bytes()),
            Value::List(_) | Value::Map(_) if value.is_nil() => self.out.push(b"null"),
            Value::List(list) => {
                self.out.push(b"[")?;
                for (index, item) in list.items().iter().enumerate() {
                    self.separate(index, depth + 1)?;
                    self.value(item, depth + 1)?;
                }
                self.close(b"]", list.items().is_empty(), depth)
            }
            Value::Map(map) => {
                self.out.push(b"{")?;
                if let Some(entries) = map.entries() {
                    for (index, (key, item)) in entries.iter().enumerate() {
                        self.separate(index, depth + 1)?;
                        self.string(key)?;
                        self.out.push(if self.style == JsonStyle::Pretty { b": " } else { b":" })?;
                        self.value(item, depth + 1)?;
                    }
                }
                self.close(b"}", map.is_empty(), depth)
            }
        }
    }

    fn separate(&mut self, index: usize, depth: usize) -> Result<(), FunctionError> {
        if index > 0 {
            self.out.push(b",")?;
        }
        self.line(depth)
    }

    fn close(&mut self, bracket: &[u8], is_empty: bool, depth: usize) -> Result<(), FunctionError> {
        if !is_empty {
            self.line(depth)?;
        }
        self.out.push(bracket)
    }

    fn line(&mut self, depth: usize) -> Result<(), FunctionError> {
        if self.style != JsonStyle::Pretty {
            return Ok(());
        }
        self.out.push(b"\n")?;
        self.out.push(&b"  ".repeat(depth))
    }

    fn string(&mut self, text: &[u8]) -> Result<(), FunctionError> {
        let out = self.out.buffer();
        out.push(b'"');
        for (character, raw) in chars(text) {
            match character {
                '"' => out.extend_from_slice(b"\\\""),
                '\\' => out.extend_from_slice(b"\\\\"),
                '\n' => out.extend_from_slice(b"\\n"),
                '\r' => out.extend_from_slice(b"\\r"),
                '\t' => out.extend_from_slice(b"\\t"),
                '\x08' => out.extend_from_slice(b"\\b"),
                '\x0c' => out.extend_from_slice(b"\\f"),
                '<' | '>' | '&' if self.style != JsonStyle::Raw => {
                    out.extend_from_slice(format!("\\u{:04x}", u32::from(character)).as_bytes());
                }
                // JSON allows U+2028 and U+2029, but JavaScript ends a line there, so Go always escapes them.
                '\0'..='\x1f' | '\u{2028}' | '\u{2029}' => {
                    out.extend_from_slice(format!("\\u{:04x}", u32::from(character)).as_bytes());
                }
                // Go writes the replacement of a bad byte as an escape, and a real U+FFFD as it is.
                REPLACEMENT if raw.len() == 1 => out.extend_from_slice(b"\\ufffd"),
                _ => out.extend_from_slice(raw),
            }
        }
        out.push(b'"');
        self.out.check()
    }
}

/// Formats a float as Go's JSON does: `1e+21` from that size on, `1e-7` below a millionth, plain digits in between.
pub(crate) fn float_text(number: f64) -> String {
    let size = number.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let text = format!("{number:e}");
        return match text.split_once('e') {
            Some((mantissa, exponent)) if !exponent.starts_with('-') => format!("{mantissa}e+{exponent}"),
            _ => text,
        };
    }
    format!("{number}")
}

/// Reads a value; numbers become `float64`.
///
/// # Errors
/// Go's message, or a limit.
pub(crate) fn parse(budget: &Budget<'_>, text: &[u8]) -> Result<Value, FunctionError> {
    budget.create(text.len())?;
    let mut reader = JsonReader { text, at: 0, budget };
    // Go checks the whole text before it converts the first number, so check first here too.
    reader.value(0, false)?;
    reader.space();
    if let Some(byte) = reader.peek() {
        return Err(invalid(byte, "after top-level value"));
    }
    reader.at = 0;
    reader.value(0, true)
}

struct JsonReader<'b, 'a> {
    text: &'b [u8],
    at: usize,
    budget: &'b Budget<'a>,
}

fn invalid(byte: u8, context: &str) -> FunctionError {
    // Go shows the byte as a character.
    let shown = match byte {
        b'\'' => r"'\''".to_owned(),
        b'"' => r#"'"'"#.to_owned(),
        _ => {
            let mut out = Vec::new();
            crate::text::push_quoted(&mut out, char::from(byte).to_string().as_bytes(), b'"', false);
            let inner = crate::text::lossy(&out);
            format!("'{}'", inner.trim_start_matches('"').strip_suffix('"').unwrap_or_default())
        }
    };
    FunctionError::new(format!("invalid character {shown} {context}"))
}

impl JsonReader<'_, '_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Result<u8, FunctionError> {
        let byte = self.peek().ok_or_else(|| FunctionError::new("unexpected end of JSON input"))?;
        self.at += 1;
        Ok(byte)
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize, build: bool) -> Result<Value, FunctionError> {
        self.budget.check_depth(depth)?;
        self.budget.step(1)?;
        self.space();
        match self.next()? {
            b'{' => self.object(depth, build),
            b'[' => self.array(depth, build),
            b'"' => {
                let text = self.string(build)?;
                Ok(Value::from(text))
            }
            b't' => self.literal(b"rue", "true").map(|()| Value::Bool(true)),
            b'f' => self.literal(b"alse", "false").map(|()| Value::Bool(false)),
            b'n' => self.literal(b"ull", "null").map(|()| Value::Nil),
            byte @ (b'-' | b'0'..=b'9') => self.number(byte, build),
            byte => Err(invalid(byte, "looking for beginning of value")),
        }
    }

    fn object(&mut self, depth: usize, build: bool) -> Result<Value, FunctionError> {
        let mut entries = EntryList::new();
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Value::Map(Map::new(ElementType::Any)));
        }
        loop {
            self.space();
            match self.next()? {
                b'"' => {}
                byte => return Err(invalid(byte, "looking for beginning of object key string")),
            }
            let key = self.string(build)?;
            self.space();
            match self.next()? {
                b':' => {}
                byte => return Err(invalid(byte, "after object key")),
            }
            let value = self.value(depth + 1, build)?;
            if build {
                self.budget.create_items(1)?;
                entries.push((Text::from(key), value));
            }
            self.space();
            match self.next()? {
                b',' => {}
                b'}' => return Ok(Value::Map(Map::from_unsorted(ElementType::Any, entries))),
                byte => return Err(invalid(byte, "after object key:value pair")),
            }
        }
    }

    fn array(&mut self, depth: usize, build: bool) -> Result<Value, FunctionError> {
        let mut items = Vec::new();
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Value::list(items));
        }
        loop {
            let value = self.value(depth + 1, build)?;
            if build {
                self.budget.create_items(1)?;
                items.push(value);
            }
            self.space();
            match self.next()? {
                b',' => {}
                b']' => return Ok(Value::list(items)),
                byte => return Err(invalid(byte, "after array element")),
            }
        }
    }

    fn literal(&mut self, rest: &[u8], name: &str) -> Result<(), FunctionError> {
        for expected in rest {
            let byte = self.next()?;
            if byte != *expected {
                let expected = char::from(*expected);
                return Err(invalid(byte, &format!("in literal {name} (expecting '{expected}')")));
            }
        }
        Ok(())
    }

    fn string(&mut self, build: bool) -> Result<Vec<u8>, FunctionError> {
        let mut out = Vec::new();
        loop {
            match self.next()? {
                b'"' => return Ok(out),
                b'\\' => match self.next()? {
                    b'u' => {
                        let code = self.hexadecimal()?;
                        push_char(&mut out, self.surrogates(code)?);
                    }
                    b'b' => out.push(0x08),
                    b'f' => out.push(0x0c),
                    b'n' => out.push(b'\n'),
                    b'r' => out.push(b'\r'),
                    b't' => out.push(b'\t'),
                    byte @ (b'"' | b'\\' | b'/') => out.push(byte),
                    byte => return Err(invalid(byte, "in string escape code")),
                },
                byte @ 0..=0x1f => return Err(invalid(byte, "in string literal")),
                // The first pass drops the text, so bad bytes need no replacement there.
                byte if byte.is_ascii() || !build => out.push(byte),
                _ => {
                    // A bad byte becomes U+FFFD.
                    let rest = self.text.get(self.at - 1..).unwrap_or_default();
                    if let Some((character, width)) = decode_char(rest) {
                        push_char(&mut out, character);
                        self.at += width - 1;
                    }
                }
            }
        }
    }

    fn hexadecimal(&mut self) -> Result<u32, FunctionError> {
        let mut code = 0;
        for _ in 0..4 {
            let byte = self.next()?;
            let digit = char::from(byte).to_digit(16);
            code = code * 16 + digit.ok_or_else(|| invalid(byte, "in \\u hexadecimal character escape"))?;
        }
        Ok(code)
    }

    /// Combines a surrogate pair; half a pair becomes U+FFFD.
    fn surrogates(&mut self, code: u32) -> Result<char, FunctionError> {
        if (0xd800..0xdc00).contains(&code) && self.text.get(self.at..self.at + 2) == Some(b"\\u") {
            let before = self.at;
            self.at += 2;
            let low = self.hexadecimal()?;
            if (0xdc00..0xe000).contains(&low) {
                let joined = 0x1_0000 + ((code - 0xd800) << 10) + (low - 0xdc00);
                return Ok(char::from_u32(joined).unwrap_or(REPLACEMENT));
            }
            // The next escape is not the other half, so it is a separate character.
            self.at = before;
        }
        Ok(char::from_u32(code).unwrap_or(REPLACEMENT))
    }

    fn number(&mut self, first: u8, build: bool) -> Result<Value, FunctionError> {
        let start = self.at - 1;
        let mut byte = first;
        if byte == b'-' {
            byte = self.next()?;
            if !byte.is_ascii_digit() {
                return Err(invalid(byte, "in numeric literal"));
            }
        }
        // JSON allows no digit after a leading 0.
        if byte != b'0' {
            self.digits();
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            let byte = self.next()?;
            if !byte.is_ascii_digit() {
                return Err(invalid(byte, "after decimal point in numeric literal"));
            }
            self.digits();
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            let mut byte = self.next()?;
            if matches!(byte, b'+' | b'-') {
                byte = self.next()?;
            }
            if !byte.is_ascii_digit() {
                return Err(invalid(byte, "in exponent of numeric literal"));
            }
            self.digits();
        }
        if !build {
            return Ok(Value::Nil);
        }
        let text = std::str::from_utf8(self.text.get(start..self.at).unwrap_or_default()).unwrap_or_default();
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Value::Float(number)),
            _ => Err(FunctionError::new(format!("json: cannot unmarshal number {text} into Go value of type float64"))),
        }
    }

    fn digits(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
    }
}
