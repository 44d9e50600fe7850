//! Checksums, base 32 and 64, JSON and YAML.

use sha1::Digest;

use super::Call;
use crate::json::{self, JsonStyle};
use crate::limits::FunctionError;
use crate::value::Value;

fn hexadecimal(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect()
}

/// Hashing creates no bytes, so its time is counted separately.
fn count_hashed(call: &Call<'_>) -> Result<(), FunctionError> {
    call.budget().step(call.bytes(0).len() as u64 / 128)
}

pub(super) fn sha1sum(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    count_hashed(call)?;
    call.created(hexadecimal(&sha1::Sha1::digest(call.bytes(0))))
}

pub(super) fn sha256sum(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    count_hashed(call)?;
    call.created(hexadecimal(&sha2::Sha256::digest(call.bytes(0))))
}

pub(super) fn adler32sum(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    count_hashed(call)?;
    let (mut low, mut high) = (1u32, 0u32);
    for byte in call.bytes(0) {
        low = (low + u32::from(*byte)) % 65_521;
        high = (high + low) % 65_521;
    }
    call.created((high << 16 | low).to_string().into_bytes())
}

/// An encoding with `bits` bits per character, in groups of `group` characters.
struct BaseEncoding {
    alphabet: &'static [u8],
    bits: u32,
    group: usize,
    name: &'static str,
}

const BASE64: BaseEncoding = BaseEncoding {
    alphabet: b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    bits: 6,
    group: 4,
    name: "base64",
};
const BASE32: BaseEncoding =
    BaseEncoding { alphabet: b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", bits: 5, group: 8, name: "base32" };

impl BaseEncoding {
    fn encode(&self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len() * 2);
        let (mut buffer, mut filled) = (0u32, 0u32);
        let push = |out: &mut Vec<u8>, index: u32| {
            out.push(self.alphabet.get(index as usize % self.alphabet.len()).copied().unwrap_or_default());
        };
        for byte in bytes {
            buffer = (buffer << 8 | u32::from(*byte)) & 0xffff;
            filled += 8;
            while filled >= self.bits {
                filled -= self.bits;
                push(&mut out, buffer >> filled);
            }
        }
        if filled > 0 {
            push(&mut out, buffer << (self.bits - filled));
        }
        while out.len() % self.group != 0 {
            out.push(b'=');
        }
        out
    }

    /// Decodes as Go does: line breaks are skipped, padding is required.
    ///
    /// # Errors
    /// Go's message, with the position of the bad byte.
    fn decode(&self, text: &[u8]) -> Result<Vec<u8>, String> {
        let error = |at: usize| format!("illegal {} data at input byte {at}", self.name);
        let mut out = Vec::with_capacity(text.len());
        // base32 removes line breaks first, so its error positions do not count them.
        let stripped: Vec<u8>;
        let text = if self.bits == 5 {
            stripped = text.iter().copied().filter(|byte| !matches!(byte, b'\r' | b'\n')).collect();
            stripped.as_slice()
        } else {
            text
        };
        let mut input = text.iter().copied().enumerate().filter(|(_, byte)| !matches!(byte, b'\r' | b'\n'));
        loop {
            let mut group = Vec::with_capacity(self.group);
            let mut start = None;
            let mut padded = false;
            while group.len() < self.group {
                let Some((at, byte)) = input.next() else {
                    if group.is_empty() {
                        return Ok(out);
                    }
                    return Err(error(text.len() - group.len()));
                };
                start.get_or_insert(at);
                if let Some(value) = self.alphabet.iter().position(|letter| *letter == byte) {
                    group.push(value as u64);
                    continue;
                }
                if byte != b'=' {
                    return Err(error(at));
                }
                self.padding(&mut input, text, at, group.len()).map_err(error)?;
                padded = true;
                break;
            }
            let have = group.len();
            let bits = group.iter().fold(0u64, |bits, value| bits << self.bits | value);
            let total = have as u32 * self.bits;
            let whole = total / 8;
            for index in 0..whole {
                out.push((bits >> (total - 8 * (index + 1)) & 0xff) as u8);
            }
            if padded {
                return Ok(out);
            }
        }
    }

    /// Checks the padding from its first `=` on. Fails with the position of the invalid byte, as Go counts it.
    fn padding(
        &self,
        input: &mut impl Iterator<Item = (usize, u8)>,
        text: &[u8],
        first: usize,
        have: usize,
    ) -> Result<(), usize> {
        if self.bits == 5 {
            let rest = text.get(first + 1..).unwrap_or_default();
            let missing = self.group - 1 - have;
            if have < 2 || rest.len() >= self.group {
                return Err(first);
            }
            if rest.len() < missing {
                return Err(text.len());
            }
            if let Some(at) = rest.iter().take(missing).position(|byte| *byte != b'=') {
                return Err(first + at);
            }
            // A text can only end after certain numbers of characters. Go ignores bytes after a whole padding.
            return if matches!(have, 2 | 4 | 5 | 7) { Ok(()) } else { Err(first) };
        }
        match have {
            // A byte takes two characters, so no padding can come earlier.
            0 | 1 => return Err(first),
            2 => match input.next() {
                Some((_, b'=')) => {}
                Some((at, _)) => return Err(at - 1),
                None => return Err(text.len()),
            },
            _ => {}
        }
        match input.next() {
            Some((at, _)) => Err(at),
            None => Ok(()),
        }
    }
}

fn decoded(call: &Call<'_>, base: &BaseEncoding) -> Result<Value, FunctionError> {
    call.budget().create(call.bytes(0).len())?;
    // Sprig returns the message as the value.
    call.created(base.decode(call.bytes(0)).unwrap_or_else(String::into_bytes))
}

pub(super) fn b64enc(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    call.created(BASE64.encode(call.bytes(0)))
}

pub(super) fn b64dec(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    decoded(call, &BASE64)
}

pub(super) fn b32enc(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    call.created(BASE32.encode(call.bytes(0)))
}

pub(super) fn b32dec(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    decoded(call, &BASE32)
}

// JSON: the plain form returns an empty value where the `must` form fails. Both fail at a limit.

fn or_empty(result: Result<Value, FunctionError>, empty: Value) -> Result<Value, FunctionError> {
    match result {
        Err(failure) if !failure.is_limit => Ok(empty),
        other => other,
    }
}

pub(super) fn must_from_json(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    json::parse(call.budget(), call.bytes(0))
}

pub(super) fn from_json(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    or_empty(must_from_json(call), Value::Nil)
}

fn json_text(call: &Call<'_>, style: JsonStyle) -> Result<Value, FunctionError> {
    json::write(call.budget(), call.value(0), style).map(Value::from)
}

pub(super) fn must_to_json(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    json_text(call, JsonStyle::Compact)
}

pub(super) fn to_json(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    or_empty(must_to_json(call), Value::from(""))
}

pub(super) fn must_to_pretty_json(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    json_text(call, JsonStyle::Pretty)
}

pub(super) fn to_pretty_json(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    or_empty(must_to_pretty_json(call), Value::from(""))
}

pub(super) fn to_raw_json(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    json_text(call, JsonStyle::Raw)
}

pub(super) fn to_yaml(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    crate::yaml::write_value(call.budget(), call.value(0)).map(Value::from)
}
