//! Names for hosts and objects made from any text.

use std::io::Read;
use std::sync::LazyLock;

/// Longest slug.
const MOST_BYTES: usize = 63;

/// ASCII for each character of the Basic Multilingual Plane: a length, then that many bytes; a length of 255 means
/// none. Converted from the table of `gosimple/unidecode` v1.0.1 (Apache-2.0, © The unidecode Authors).
static COMPRESSED: &[u8] = include_bytes!("slug/unidecode.zlib");

struct Transliterations {
    bytes: Vec<u8>,
    /// Where the entry of a character starts.
    starts: Vec<u32>,
}

static TABLE: LazyLock<Transliterations> = LazyLock::new(|| {
    let mut bytes = Vec::new();
    // The table is part of the program. A damaged one would only disable transliteration, which a test detects.
    let _ = flate2::read::ZlibDecoder::new(COMPRESSED).read_to_end(&mut bytes);
    let mut starts = Vec::with_capacity(0x1_0000);
    let mut at = 0usize;
    while let Some(length) = bytes.get(at) {
        starts.push(u32::try_from(at).unwrap_or(u32::MAX));
        at += 1 + if *length == u8::MAX { 0 } else { usize::from(*length) };
    }
    Transliterations { bytes, starts }
});

fn transliterate(character: char) -> &'static str {
    let table = &*TABLE;
    let entry = table.starts.get(u32::from(character) as usize).and_then(|start| table.bytes.get(*start as usize..));
    let Some((length, rest)) = entry.and_then(<[u8]>::split_first) else { return "" };
    if *length == u8::MAX {
        return "";
    }
    rest.get(..usize::from(*length)).and_then(|text| std::str::from_utf8(text).ok()).unwrap_or_default()
}

/// Turns any text into lower-case ASCII letters, digits, `-` and `_`, at most 63 of them.
///
/// Other characters are transliterated (`é` → `e`, `北京` → `bei-jing`) or become dashes. Results are those of
/// `gosimple/slug` v1.15.0 for English.
pub(crate) fn slugify(text: &str) -> String {
    let mut ascii = String::with_capacity(text.len());
    for character in text.trim().chars() {
        match character {
            '"' | '\'' | '’' => {}
            '‒' | '–' | '—' | '―' => ascii.push('-'),
            '&' => ascii.push_str("and"),
            '@' => ascii.push_str("at"),
            _ if character.is_ascii() => ascii.push(character),
            _ => ascii.push_str(transliterate(character)),
        }
    }
    let mut slug = String::with_capacity(ascii.len());
    for character in ascii.chars().flat_map(char::to_lowercase) {
        let allowed = character.is_ascii_alphanumeric() || character == '_';
        if allowed {
            slug.push(character);
        } else if !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_matches(['-', '_']);
    if slug.len() <= MOST_BYTES {
        return slug.to_owned();
    }
    // Cut between words if there is a dash, which may also be the first character too many. The result may end in `_`,
    // because Go does not trim again.
    let end = slug.bytes().take(MOST_BYTES + 1).collect::<Vec<u8>>().iter().rposition(|byte| *byte == b'-');
    slug.get(..end.unwrap_or(MOST_BYTES)).unwrap_or(slug).to_owned()
}
