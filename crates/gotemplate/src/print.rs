//! Printing by the rules of Go's `fmt`: `%v` for values in the text, and every verb of `printf`.

use crate::float::{FloatFormat, format_float};
use crate::limits::{Budget, Bytes, FunctionError};
use crate::text::{
    REPLACEMENT, can_backquote, char_count, chars, decode_char, is_print, lossy, push_char, push_escaped, push_quoted,
};
use crate::value::{ElementType, Value};

/// `fmt.Sprint`: a blank between operands when neither is a string.
pub(crate) fn print(budget: &Budget<'_>, arguments: &[Value]) -> Result<Vec<u8>, FunctionError> {
    let mut printer = Printer::new(budget);
    let mut after_string = false;
    for (index, argument) in arguments.iter().enumerate() {
        let is_string = matches!(argument, Value::String(_));
        if index > 0 && !is_string && !after_string {
            printer.push(b" ")?;
        }
        printer.argument(argument, 'v')?;
        after_string = is_string;
    }
    printer.out.finish()
}

/// `fmt.Sprintln`: a blank between all operands, and a line feed.
pub(crate) fn println(budget: &Budget<'_>, arguments: &[Value]) -> Result<Vec<u8>, FunctionError> {
    let mut printer = Printer::new(budget);
    for (index, argument) in arguments.iter().enumerate() {
        if index > 0 {
            printer.push(b" ")?;
        }
        printer.argument(argument, 'v')?;
    }
    printer.push(b"\n")?;
    printer.out.finish()
}

/// `fmt.Sprintf`.
pub(crate) fn printf(budget: &Budget<'_>, format: &[u8], arguments: &[Value]) -> Result<Vec<u8>, FunctionError> {
    let mut printer = Printer::new(budget);
    printer.format(format, arguments)?;
    printer.out.finish()
}

/// Returns a value as `%v` prints it.
pub(crate) fn value_bytes(budget: &Budget<'_>, value: &Value) -> Result<Vec<u8>, FunctionError> {
    let mut printer = Printer::new(budget);
    printer.argument(value, 'v')?;
    printer.out.finish()
}

/// Returns a value as `%v` of its `reflect.Value` prints it, for messages.
pub(crate) fn printed(budget: &Budget<'_>, value: &Value) -> Result<String, FunctionError> {
    value_bytes(budget, value).map(|bytes| lossy(&bytes))
}

/// Returns a list or map as `%s` of its `reflect.Value` prints it, for messages.
pub(crate) fn printed_as_string(budget: &Budget<'_>, value: &Value) -> Result<String, FunctionError> {
    let mut printer = Printer::new(budget);
    printer.value(value, 's', 0)?;
    printer.out.finish().map(|bytes| lossy(&bytes))
}

/// Returns a number for a message.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::Int(number) | Value::Int64(number) => number.to_string(),
        Value::Byte(number) => number.to_string(),
        Value::Named(named, number) => named.name(*number),
        other => other.type_name().into(),
    }
}

/// Larger widths and precisions are refused, as in Go.
const MOST_DIGITS: i64 = 1_000_000;

#[derive(Clone, Copy, Default)]
struct FormatFlags {
    width: Option<usize>,
    precision: Option<usize>,
    minus: bool,
    plus: bool,
    sharp: bool,
    space: bool,
    zero: bool,
    /// `%+v`
    plus_v: bool,
    /// `%#v`
    sharp_v: bool,
}

/// The value that a bad verb refers to.
#[derive(Clone, Copy)]
enum BadOperand<'v> {
    None,
    Argument(&'v Value),
    Value(&'v Value),
}

struct Printer<'b, 'a> {
    budget: &'b Budget<'a>,
    out: Bytes<'b, 'a>,
    flags: FormatFlags,
    erroring: bool,
}

impl<'b, 'a> Printer<'b, 'a> {
    fn new(budget: &'b Budget<'a>) -> Self {
        Printer { budget, out: Bytes::new(budget), flags: FormatFlags::default(), erroring: false }
    }

    fn push(&mut self, bytes: &[u8]) -> Result<(), FunctionError> {
        self.out.push(bytes)
    }

    fn padding(&mut self, count: usize) -> Result<(), FunctionError> {
        // Zeros after a number would change its value.
        let fill = if self.flags.zero && !self.flags.minus { b'0' } else { b' ' };
        let length = self.out.buffer().len() + count;
        self.out.buffer().resize(length, fill);
        self.out.check()
    }

    fn pad(&mut self, bytes: &[u8]) -> Result<(), FunctionError> {
        let missing = self.flags.width.map_or(0, |width| width.saturating_sub(char_count(bytes)));
        if missing == 0 {
            return self.push(bytes);
        }
        if self.flags.minus {
            self.push(bytes)?;
            return self.padding(missing);
        }
        self.padding(missing)?;
        self.push(bytes)
    }

    /// Pads with blanks even if the flags ask for zeros.
    fn pad_blank(&mut self, bytes: &[u8]) -> Result<(), FunctionError> {
        let zero = std::mem::take(&mut self.flags.zero);
        let result = self.pad(bytes);
        self.flags.zero = zero;
        result
    }

    // Formats.

    fn format(&mut self, format: &[u8], arguments: &[Value]) -> Result<(), FunctionError> {
        let mut at = 0;
        let mut argument = 0;
        let mut reordered = false;
        'verbs: while at < format.len() {
            let mut good_index = true;
            let mut after_index;
            let text = format.get(at..).unwrap_or_default();
            let end = text.iter().position(|byte| *byte == b'%').unwrap_or(text.len());
            self.push(text.get(..end).unwrap_or_default())?;
            at += end;
            if at >= format.len() {
                break;
            }
            at += 1;
            self.flags = FormatFlags::default();
            // Count a step for each verb, so that a long format reaches the deadline check.
            self.budget.step(1)?;
            while let Some(byte) = format.get(at).copied() {
                match byte {
                    b'#' => self.flags.sharp = true,
                    b'0' => self.flags.zero = true,
                    b'+' => self.flags.plus = true,
                    b'-' => self.flags.minus = true,
                    b' ' => self.flags.space = true,
                    b'a'..=b'z' => {
                        // Go's fast path for a plain verb. Without an operand the code below writes the message.
                        let Some(value) = arguments.get(argument) else { break };
                        self.prepare(char::from(byte));
                        self.argument(value, char::from(byte))?;
                        argument += 1;
                        at += 1;
                        continue 'verbs;
                    }
                    _ => break,
                }
                at += 1;
            }

            // An index, such as `[3]`, may come before the width, the precision or the verb.
            let count = arguments.len();
            after_index = explicit_index(format, &mut at, &mut argument, count, &mut reordered, &mut good_index);
            if format.get(at) == Some(&b'*') {
                at += 1;
                match integer_argument(arguments, &mut argument) {
                    Some(width) => {
                        if width < 0 {
                            // As in C, a negative width pads on the right.
                            self.flags.minus = true;
                            self.flags.zero = false;
                        }
                        self.flags.width = usize::try_from(width.unsigned_abs()).ok();
                    }
                    None => self.push(b"%!(BADWIDTH)")?,
                }
                after_index = false;
            } else {
                self.flags.width = digits(format, &mut at);
                // An index belongs directly before the verb or `*`: `%[3]2d` is an error.
                if after_index && self.flags.width.is_some() {
                    good_index = false;
                }
            }
            if at + 1 < format.len() && format.get(at) == Some(&b'.') {
                at += 1;
                if after_index {
                    good_index = false;
                }
                after_index = explicit_index(format, &mut at, &mut argument, count, &mut reordered, &mut good_index);
                if format.get(at) == Some(&b'*') {
                    at += 1;
                    self.flags.precision =
                        integer_argument(arguments, &mut argument).and_then(|digits| usize::try_from(digits).ok());
                    if self.flags.precision.is_none() {
                        self.push(b"%!(BADPREC)")?;
                    }
                    after_index = false;
                } else {
                    // A point without digits is a precision of 0.
                    self.flags.precision = Some(digits(format, &mut at).unwrap_or(0));
                }
            }
            if !after_index {
                explicit_index(format, &mut at, &mut argument, count, &mut reordered, &mut good_index);
            }
            let Some((verb, width)) = decode_char(format.get(at..).unwrap_or_default()) else {
                self.push(b"%!(NOVERB)")?;
                break;
            };
            at += width;
            // `%5%` is a plain `%`, without operand and width.
            if verb == '%' {
                self.push(b"%")?;
            } else if !good_index {
                self.bad(verb, b"(BADINDEX)")?;
            } else if let Some(value) = arguments.get(argument) {
                self.prepare(verb);
                self.argument(value, verb)?;
                argument += 1;
            } else {
                self.bad(verb, b"(MISSING)")?;
            }
        }
        // A format with indices may skip operands on purpose.
        if reordered || argument >= arguments.len() {
            return Ok(());
        }
        self.flags = FormatFlags::default();
        self.push(b"%!(EXTRA ")?;
        for (index, value) in arguments.iter().skip(argument).enumerate() {
            if index > 0 {
                self.push(b", ")?;
            }
            if let Value::Nil = value {
                self.push(b"<nil>")?;
            } else {
                self.push(value.type_name().as_bytes())?;
                self.push(b"=")?;
                self.argument(value, 'v')?;
            }
        }
        self.push(b")")
    }

    fn prepare(&mut self, verb: char) {
        // For `%v` these flags choose another notation instead of prefix and sign.
        if matches!(verb, 'v' | 'w') {
            self.flags.sharp_v = std::mem::take(&mut self.flags.sharp);
            self.flags.plus_v = std::mem::take(&mut self.flags.plus);
        }
    }

    fn bad(&mut self, verb: char, problem: &[u8]) -> Result<(), FunctionError> {
        self.push(b"%!")?;
        push_char(self.out.buffer(), verb);
        self.push(problem)
    }

    fn bad_verb(&mut self, verb: char, subject: BadOperand<'_>) -> Result<(), FunctionError> {
        // The message shows the value itself, without its methods.
        self.erroring = true;
        self.bad(verb, b"(")?;
        match subject {
            BadOperand::Argument(value) => {
                self.push(value.type_name().as_bytes())?;
                self.push(b"=")?;
                self.argument(value, 'v')?;
            }
            BadOperand::Value(value) => {
                self.push(value.type_name().as_bytes())?;
                self.push(b"=")?;
                self.value(value, 'v', 0)?;
            }
            BadOperand::None => self.push(b"<nil>")?,
        }
        self.erroring = false;
        self.push(b")")
    }

    // Values.

    /// Prints an operand of `printf`.
    fn argument(&mut self, value: &Value, verb: char) -> Result<(), FunctionError> {
        match (value, verb) {
            (Value::Nil, 'T' | 'v') => self.pad(b"<nil>"),
            (Value::Nil, _) => self.bad_verb(verb, BadOperand::None),
            (_, 'T') => self.string(value.type_name().as_bytes()),
            (Value::List(_) | Value::Map(_), 'p') => {
                // An address would differ between runs.
                Err(FunctionError::new("%p is not supported: addresses are not repeatable"))
            }
            (_, 'p') => self.bad_verb(verb, BadOperand::Argument(value)),
            (Value::Time(_) | Value::Named(..), _) => match self.method(value, verb)? {
                true => Ok(()),
                false => self.value(value, verb, 0),
            },
            (Value::List(_) | Value::Map(_), 'w') => self.bad_verb(verb, BadOperand::Argument(value)),
            (Value::List(_) | Value::Map(_), _) => self.value(value, verb, 0),
            _ => self.scalar(value, verb, BadOperand::Argument(value)),
        }
    }

    /// Prints a value by its own method. Returns false if the verb prints the underlying value.
    fn method(&mut self, value: &Value, verb: char) -> Result<bool, FunctionError> {
        if self.erroring {
            return Ok(false);
        }
        let text = match value {
            Value::Time(time) if self.flags.sharp_v => time.go_string(),
            Value::Time(time) => time.string(),
            Value::Named(named, number) if !self.flags.sharp_v => named.name(*number),
            _ => return Ok(false),
        };
        if self.flags.sharp_v {
            self.string(text.as_bytes())?;
            return Ok(true);
        }
        if matches!(verb, 'v' | 's' | 'x' | 'X' | 'q') {
            self.text(text.as_bytes(), verb, BadOperand::None)?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Prints a value inside another one, or the value of a named number.
    fn value(&mut self, value: &Value, verb: char, depth: usize) -> Result<(), FunctionError> {
        self.budget.check_depth(depth)?;
        // At depth 0 the caller has already tried the method.
        if depth > 0 && matches!(value, Value::Time(_) | Value::Named(..)) && self.method(value, verb)? {
            return Ok(());
        }
        match value {
            Value::Nil if self.flags.sharp_v => self.push(b"interface {}(nil)"),
            Value::Nil => self.push(b"<nil>"),
            Value::List(list) => {
                let go_syntax = self.flags.sharp_v;
                if go_syntax {
                    self.push(value.type_name().as_bytes())?;
                    if value.is_nil() {
                        return self.push(b"(nil)");
                    }
                }
                self.push(if go_syntax { b"{" } else { b"[" })?;
                self.budget.step(list.items().len() as u64)?;
                for (index, item) in list.items().iter().enumerate() {
                    if index > 0 {
                        self.push(if go_syntax { b", " } else { b" " })?;
                    }
                    self.element(item, verb, depth, list.element())?;
                }
                self.push(if go_syntax { b"}" } else { b"]" })
            }
            Value::Map(map) => {
                let go_syntax = self.flags.sharp_v;
                if go_syntax {
                    self.push(value.type_name().as_bytes())?;
                    if value.is_nil() {
                        return self.push(b"(nil)");
                    }
                }
                self.push(if go_syntax { b"{" } else { b"map[" })?;
                self.budget.step(map.len() as u64)?;
                if let Some(entries) = map.entries() {
                    for (index, (key, item)) in entries.iter().enumerate() {
                        if index > 0 {
                            self.push(if go_syntax { b", " } else { b" " })?;
                        }
                        let key = Value::String(key.clone());
                        self.scalar(&key, verb, BadOperand::Value(&key))?;
                        self.push(b":")?;
                        self.element(item, verb, depth, map.element())?;
                    }
                }
                self.push(if go_syntax { b"}" } else { b"]" })
            }
            Value::Time(time) => {
                // The fields of the struct are private, and a template that prints them is mistaken anyway.
                let text = format!("{{{}}}", time.string());
                self.push(text.as_bytes())
            }
            _ => self.scalar(value, verb, BadOperand::Value(value)),
        }
    }

    fn element(&mut self, item: &Value, verb: char, depth: usize, element: ElementType) -> Result<(), FunctionError> {
        // A value in an interface is one level deeper than a value of the element's type.
        let deeper = if element == ElementType::Any { 2 } else { 1 };
        self.value(item, verb, depth + deeper)
    }

    fn scalar(&mut self, value: &Value, verb: char, subject: BadOperand<'_>) -> Result<(), FunctionError> {
        match value {
            Value::Bool(value) => match verb {
                't' | 'v' => self.pad(if *value { b"true" } else { b"false" }),
                _ => self.bad_verb(verb, subject),
            },
            Value::Int(number) | Value::Int64(number) | Value::Named(_, number) => {
                self.integer(number.unsigned_abs(), *number < 0, false, verb, subject)
            }
            Value::Byte(number) => self.integer(u64::from(*number), false, true, verb, subject),
            Value::Float(number) => self.float(*number, verb, subject),
            Value::Complex(real, imaginary) => {
                if !matches!(verb, 'v' | 'b' | 'g' | 'G' | 'x' | 'X' | 'f' | 'F' | 'e' | 'E') {
                    return self.bad_verb(verb, subject);
                }
                self.push(b"(")?;
                self.float(*real, verb, subject)?;
                // The imaginary part always has a sign, which separates it from the real part.
                let plus = std::mem::replace(&mut self.flags.plus, true);
                self.float(*imaginary, verb, subject)?;
                self.flags.plus = plus;
                self.push(b"i)")
            }
            Value::String(text) => self.text(text, verb, subject),
            _ => self.bad_verb(verb, subject),
        }
    }

    // Strings.

    fn truncated<'s>(&self, bytes: &'s [u8]) -> &'s [u8] {
        let Some(most) = self.flags.precision else { return bytes };
        let end: usize = chars(bytes).take(most).map(|(_, raw)| raw.len()).sum();
        bytes.get(..end).unwrap_or(bytes)
    }

    fn string(&mut self, bytes: &[u8]) -> Result<(), FunctionError> {
        let bytes = self.truncated(bytes);
        self.pad(bytes)
    }

    fn text(&mut self, bytes: &[u8], verb: char, subject: BadOperand<'_>) -> Result<(), FunctionError> {
        match verb {
            'v' if self.flags.sharp_v => self.quoted(bytes),
            'v' | 's' => self.string(bytes),
            'x' => self.hexadecimal(bytes, false),
            'X' => self.hexadecimal(bytes, true),
            'q' => self.quoted(bytes),
            _ => self.bad_verb(verb, subject),
        }
    }

    fn quoted(&mut self, bytes: &[u8]) -> Result<(), FunctionError> {
        let bytes = self.truncated(bytes);
        let mut out = Vec::with_capacity(bytes.len() + 2);
        if self.flags.sharp && can_backquote(bytes) {
            out.push(b'`');
            out.extend_from_slice(bytes);
            out.push(b'`');
        } else {
            push_quoted(&mut out, bytes, b'"', self.flags.plus);
        }
        self.pad(&out)
    }

    fn hexadecimal(&mut self, bytes: &[u8], upper: bool) -> Result<(), FunctionError> {
        // Here the precision counts bytes, in `%s` characters.
        let bytes = match self.flags.precision {
            Some(most) => bytes.get(..most).unwrap_or(bytes),
            None => bytes,
        };
        let prefix = if upper { "0X" } else { "0x" };
        let mut out = String::with_capacity(bytes.len() * 2);
        for (index, byte) in bytes.iter().enumerate() {
            if self.flags.space && index > 0 {
                out.push(' ');
            }
            if self.flags.sharp && (index == 0 || self.flags.space) {
                out.push_str(prefix);
            }
            out.push_str(&if upper { format!("{byte:02X}") } else { format!("{byte:02x}") });
        }
        self.pad(out.as_bytes())
    }

    // Numbers.

    fn integer(
        &mut self,
        magnitude: u64,
        negative: bool,
        unsigned: bool,
        verb: char,
        subject: BadOperand<'_>,
    ) -> Result<(), FunctionError> {
        let signed = if negative { magnitude.wrapping_neg() } else { magnitude };
        match verb {
            // Go's notation has hexadecimal digits for unsigned numbers.
            'v' if self.flags.sharp_v && unsigned => {
                let sharp = std::mem::replace(&mut self.flags.sharp, true);
                let result = self.digits(magnitude, negative, 16, verb, false);
                self.flags.sharp = sharp;
                result
            }
            'v' | 'd' => self.digits(magnitude, negative, 10, verb, false),
            'b' => self.digits(magnitude, negative, 2, verb, false),
            'o' | 'O' => self.digits(magnitude, negative, 8, verb, false),
            'x' => self.digits(magnitude, negative, 16, verb, false),
            'X' => self.digits(magnitude, negative, 16, verb, true),
            'c' | 'q' => {
                // A negative number is not a character.
                let code = u32::try_from(signed).ok().and_then(char::from_u32).unwrap_or(REPLACEMENT);
                let mut out = Vec::new();
                if verb == 'q' {
                    out.push(b'\'');
                    push_escaped(&mut out, code, b'\'', self.flags.plus);
                    out.push(b'\'');
                } else {
                    push_char(&mut out, code);
                }
                self.pad(&out)
            }
            'U' => {
                let digits = self.flags.precision.unwrap_or(0).max(4);
                let mut out = format!("U+{signed:0digits$X}");
                if self.flags.sharp
                    && let Some(character) = u32::try_from(signed).ok().and_then(char::from_u32)
                    && is_print(character)
                {
                    out.push_str(&format!(" '{character}'"));
                }
                self.pad_blank(out.as_bytes())
            }
            _ => self.bad_verb(verb, subject),
        }
    }

    fn digits(
        &mut self,
        magnitude: u64,
        negative: bool,
        base: u32,
        verb: char,
        upper: bool,
    ) -> Result<(), FunctionError> {
        let mut least = 0;
        if let Some(precision) = self.flags.precision {
            least = precision;
            // As in C, a precision of 0 leaves no digit of the number 0.
            if precision == 0 && magnitude == 0 {
                let zero = std::mem::take(&mut self.flags.zero);
                let result = self.padding(self.flags.width.unwrap_or(0));
                self.flags.zero = zero;
                return result;
            }
        } else if self.flags.zero
            && !self.flags.minus
            && let Some(width) = self.flags.width
        {
            // Zeros go between sign and digits.
            least = width.saturating_sub(usize::from(negative || self.flags.plus || self.flags.space));
        }
        let mut digits = match base {
            2 => format!("{magnitude:b}"),
            8 => format!("{magnitude:o}"),
            16 if upper => format!("{magnitude:X}"),
            16 => format!("{magnitude:x}"),
            _ => magnitude.to_string(),
        };
        if digits.len() < least {
            digits.insert_str(0, &"0".repeat(least - digits.len()));
        }
        if self.flags.sharp {
            match base {
                2 => digits.insert_str(0, "0b"),
                8 if !digits.starts_with('0') => digits.insert(0, '0'),
                16 => digits.insert_str(0, if upper { "0X" } else { "0x" }),
                _ => {}
            }
        }
        if verb == 'O' {
            digits.insert_str(0, "0o");
        }
        if negative {
            digits.insert(0, '-');
        } else if self.flags.plus {
            digits.insert(0, '+');
        } else if self.flags.space {
            digits.insert(0, ' ');
        }
        // Zeros are among the digits already, or a precision overrules them.
        self.pad_blank(digits.as_bytes())
    }

    fn float(&mut self, value: f64, verb: char, subject: BadOperand<'_>) -> Result<(), FunctionError> {
        let (format, default) = match verb {
            'v' | 'g' | 'G' => (FloatFormat::General, None),
            'b' => (FloatFormat::Binary, None),
            'x' | 'X' => (FloatFormat::Hexadecimal, None),
            'f' | 'F' => (FloatFormat::Fixed, Some(6)),
            'e' | 'E' => (FloatFormat::Exponent, Some(6)),
            _ => return self.bad_verb(verb, subject),
        };
        let precision = self.flags.precision.or(default);
        let mut number = format_float(value, format, precision);
        if matches!(verb, 'G' | 'E' | 'X') && value.is_finite() {
            number = number.to_ascii_uppercase();
        }
        // With a sign in any case the digits always begin at the same place.
        if !number.starts_with(['-', '+']) {
            number.insert(0, '+');
        }
        if self.flags.space && !self.flags.plus && number.starts_with('+') {
            number.replace_range(..1, " ");
        }
        // Infinity and NaN are never padded with zeros, because the result would look like a number.
        if !value.is_finite() {
            if value.is_nan() && !self.flags.space && !self.flags.plus {
                number.remove(0);
            }
            return self.pad_blank(number.as_bytes());
        }
        if self.flags.sharp && verb != 'b' {
            number = with_point(&number, verb, precision);
        }
        if self.flags.plus || !number.starts_with('+') {
            let missing = self.flags.width.map_or(0, |width| width.saturating_sub(number.len()));
            if self.flags.zero && !self.flags.minus && missing > 0 {
                let (sign, digits) = number.split_at(1);
                self.push(sign.as_bytes())?;
                self.padding(missing)?;
                return self.push(digits.as_bytes());
            }
            return self.pad(number.as_bytes());
        }
        self.pad(number.get(1..).unwrap_or_default().as_bytes())
    }
}

/// `%#g` keeps the point and the trailing zeros.
fn with_point(number: &str, verb: char, precision: Option<usize>) -> String {
    let mut wanted = match verb {
        // As in Go, `X` is missing here, although `%#X` is a valid verb.
        'v' | 'g' | 'G' | 'x' => precision.unwrap_or(6),
        _ => 0,
    };
    let exponent_at = number.find(match verb {
        'x' | 'X' => ['p', 'P'],
        _ => ['e', 'E'],
    });
    let (mantissa, tail) = number.split_at(exponent_at.unwrap_or(number.len()));
    let mut seen = false;
    // Leading zeros are not significant digits.
    for digit in mantissa.chars().skip(1).filter(|character| *character != '.') {
        seen |= digit != '0';
        if seen {
            wanted = wanted.saturating_sub(1);
        }
    }
    let mut out = mantissa.to_owned();
    if !out.contains('.') {
        // A lone 0 counts as a significant digit.
        if out.len() == 2 && out.ends_with('0') {
            wanted = wanted.saturating_sub(1);
        }
        out.push('.');
    }
    out.push_str(&"0".repeat(wanted));
    out.push_str(tail);
    out
}

/// Reads digits of a width or precision.
fn digits(format: &[u8], at: &mut usize) -> Option<usize> {
    let start = *at;
    let mut number = 0i64;
    while let Some(digit) = format.get(*at).filter(|byte| byte.is_ascii_digit()) {
        if number > MOST_DIGITS {
            // Go stops reading the format here.
            *at = format.len();
            return None;
        }
        number = number * 10 + i64::from(digit - b'0');
        *at += 1;
    }
    if *at == start {
        return None;
    }
    usize::try_from(number).ok()
}

/// Reads a width or precision from the arguments.
fn integer_argument(arguments: &[Value], argument: &mut usize) -> Option<i64> {
    let value = arguments.get(*argument)?;
    *argument += 1;
    let number = match value {
        Value::Int(number) | Value::Int64(number) | Value::Named(_, number) => *number,
        Value::Byte(number) => i64::from(*number),
        _ => return None,
    };
    (number.unsigned_abs() <= MOST_DIGITS.unsigned_abs()).then_some(number)
}

/// Reads an index like `[3]`; returns whether there was one.
fn explicit_index(
    format: &[u8],
    at: &mut usize,
    argument: &mut usize,
    count: usize,
    reordered: &mut bool,
    good: &mut bool,
) -> bool {
    let rest = format.get(*at..).unwrap_or_default();
    if rest.first() != Some(&b'[') {
        return false;
    }
    *reordered = true;
    let closing = rest.iter().position(|byte| *byte == b']').filter(|_| rest.len() >= 3);
    let Some(closing) = closing else {
        *good = false;
        *at += 1;
        return false;
    };
    *at += closing + 1;
    let mut end = 1;
    let index = digits(rest.get(..closing).unwrap_or_default(), &mut end);
    match index {
        Some(index) if end == closing => {
            if (1..=count).contains(&index) {
                *argument = index - 1;
            } else {
                *good = false;
            }
            true
        }
        _ => {
            *good = false;
            false
        }
    }
}
