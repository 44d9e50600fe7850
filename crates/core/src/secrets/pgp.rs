//! OpenPGP private keys in ASCII armour: whole, private, and not protected by a passphrase.
//!
//! Source: RFC 9580 §6 (armour, CRC24), §4.2 (packet headers), §5.5 (key packets).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

const BEGIN: &str = "-----BEGIN PGP PRIVATE KEY BLOCK-----";
const END: &str = "-----END PGP PRIVATE KEY BLOCK-----";
const SECRET_KEY_PACKET: u8 = 5;
const SECRET_SUBKEY_PACKET: u8 = 7;
/// GnuPG's own S2K type: the secret part is stored elsewhere (`doc/DETAILS` of GnuPG).
const GNU_S2K: u8 = 101;

/// How the secret part of a complete key is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protection {
    None,
    /// The secret part is missing: the primary key is kept offline, or the key is on a card.
    Absent,
    Passphrase,
    /// A version or algorithm that this reader does not know.
    Unknown,
}

/// Checks every key and subkey in a file. The first one that needs a passphrase or is of an unknown kind decides. A
/// primary key without its secret part is accepted if a subkey has one.
pub(super) fn check(text: &str) -> Result<Protection, &'static str> {
    // gpg, which kustomize-controller runs, finds the block only where a line begins with it.
    if text.contains(BEGIN) && !text.lines().any(|line| line.starts_with(BEGIN)) {
        return Err("the block is indented, or has a byte order mark in front: gpg does not see it");
    }
    if text.contains("-----BEGIN PGP PUBLIC KEY BLOCK-----") && !text.contains(BEGIN) {
        return Err("it contains a public key; export the private one with `gpg --export-secret-keys --armor`");
    }
    let mut rest = text;
    let mut worst = None;
    while let Some((_, after)) = rest.split_once(BEGIN) {
        let (body, next) = after.split_once(END).ok_or("the block has no end")?;
        let bytes = dearmour(body)?;
        for protection in protections(&bytes)? {
            if worst.is_none_or(|worst| matches!(worst, Protection::None | Protection::Absent))
                && !(worst == Some(Protection::None) && protection == Protection::Absent)
            {
                worst = Some(protection);
            }
        }
        rest = next;
    }
    match worst {
        None => Err("it holds no PGP private key in ASCII armour"),
        Some(Protection::Absent) => Err("the secret part of every key is missing: it is kept offline or on a card"),
        Some(worst) => Ok(worst),
    }
}

fn dearmour(body: &str) -> Result<Zeroizing<Vec<u8>>, &'static str> {
    // Headers end at the first empty line; some writers leave both out.
    let lines: Vec<&str> = body.lines().map(str::trim).collect();
    let start = lines.iter().skip(1).position(|l| l.is_empty()).map_or(0, |i| i + 1);
    let has_headers = lines.iter().take(start).any(|l| l.contains(": "));
    let data = lines.iter().skip(if has_headers { start } else { 0 }).filter(|l| !l.is_empty());
    let (mut base64, mut checksum) = (Zeroizing::new(String::new()), None);
    for line in data {
        match line.strip_prefix('=') {
            // A line may also consist of the padding that ends the data.
            Some(crc) if crc.len() == 4 => checksum = Some(crc),
            _ => base64.push_str(line),
        }
    }
    let bytes = STANDARD.decode(base64.as_bytes()).map_err(|_| "the armour is damaged: it is not base64")?;
    let bytes = Zeroizing::new(bytes);
    // The checksum is optional since RFC 9580, but a wrong one means a damaged copy.
    if let Some(checksum) = checksum {
        let wanted = STANDARD.decode(checksum).map_err(|_| "the checksum of the armour is damaged")?;
        if wanted != crc24(&bytes).to_be_bytes()[1..] {
            return Err("the armour is damaged: its checksum is wrong");
        }
    }
    Ok(bytes)
}

fn crc24(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x00b7_04ce, |crc, byte| {
        let mixed = crc ^ (u32::from(*byte) << 16);
        (0..8).fold(mixed, |crc: u32, _| {
            let shifted = crc << 1;
            if shifted & 0x0100_0000 == 0 { shifted } else { shifted ^ 0x0186_4cfb }
        })
    })
}

/// How the primary key and each subkey are protected.
fn protections(bytes: &[u8]) -> Result<Vec<Protection>, &'static str> {
    let (mut rest, mut found) = (bytes, Vec::new());
    while !rest.is_empty() {
        let (tag, body, next) = packet(rest).ok_or("the key is damaged: a packet is cut off")?;
        if found.is_empty() && tag != SECRET_KEY_PACKET {
            return Err("its first packet is not a private key");
        }
        if matches!(tag, SECRET_KEY_PACKET | SECRET_SUBKEY_PACKET) {
            found.push(match secret_part(body) {
                Some([0, ..]) => Protection::None,
                Some([_, _, GNU_S2K, _, b'G', b'N', b'U', ..]) => Protection::Absent,
                Some([_, ..]) => Protection::Passphrase,
                Some([]) | None => Protection::Unknown,
            });
        }
        rest = next;
    }
    Ok(found)
}

/// Returns the type and the body of the first packet, in the old or the new header format, and the remaining bytes.
fn packet(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&first, rest) = bytes.split_first()?;
    if first & 0x80 == 0 {
        return None;
    }
    let number = |bytes: &[u8]| bytes.iter().fold(0usize, |n, b| (n << 8) | usize::from(*b));
    let (tag, length, rest) = if first & 0x40 != 0 {
        let (&l, rest) = rest.split_first()?;
        let (length, rest) = match l {
            0..192 => (usize::from(l), rest),
            192..224 => {
                let (&second, rest) = rest.split_first()?;
                (((usize::from(l) - 192) << 8) + usize::from(second) + 192, rest)
            }
            255 => (number(rest.get(..4)?), rest.get(4..)?),
            // Partial lengths are for data packets only.
            _ => return None,
        };
        (first & 0x3f, length, rest)
    } else {
        let width = match first & 3 {
            0 => 1,
            1 => 2,
            2 => 4,
            _ => return None,
        };
        ((first >> 2) & 0x0f, number(rest.get(..width)?), rest.get(width..)?)
    };
    let (body, rest) = rest.split_at_checked(length)?;
    Some((tag, body, rest))
}

/// Returns the secret part of a version 4 key; its first octet says how it is protected.
fn secret_part(body: &[u8]) -> Option<&[u8]> {
    let (&version, _) = body.split_first()?;
    if version != 4 {
        return None;
    }
    let algorithm = *body.get(5)?;
    let rest = body.get(6..)?;
    // RFC 9580 §9.1: RSA, Elgamal and DSA have 2, 3 and 4 integers. Older curves have an identifier and a point, ECDH
    // also parameters; the newest have keys of fixed lengths.
    match algorithm {
        1..=3 => integers(rest, 2),
        16 => integers(rest, 3),
        17 => integers(rest, 4),
        19 | 22 => integers(counted(rest)?, 1),
        18 => counted(integers(counted(rest)?, 1)?),
        25 | 27 => rest.get(32..),
        26 => rest.get(56..),
        28 => rest.get(57..),
        _ => None,
    }
}

/// Skips `count` multi-precision integers, each with its length in bits.
fn integers(bytes: &[u8], count: usize) -> Option<&[u8]> {
    (0..count).try_fold(bytes, |rest, _| {
        let bits = u16::from_be_bytes(*rest.first_chunk::<2>()?);
        rest.get(2 + usize::from(bits.div_ceil(8))..)
    })
}

/// Skips a field with a length of one octet.
fn counted(bytes: &[u8]) -> Option<&[u8]> {
    let (&length, rest) = bytes.split_first()?;
    rest.get(usize::from(length)..)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    // Made with GnuPG for these tests; they open nothing.
    const OPEN: &str = include_str!("samples/pgp-open.asc");
    const OPEN_RSA: &str = include_str!("samples/pgp-open-rsa.asc");
    const PROTECTED: &str = include_str!("samples/pgp-protected.asc");
    const SUBKEYS: &str = include_str!("samples/pgp-subkeys.asc");
    const SUBKEYS_PROTECTED: &str = include_str!("samples/pgp-subkeys-protected.asc");
    const PUBLIC: &str = include_str!("samples/pgp-public.asc");

    #[test]
    fn open_keys_are_distinguished_from_protected_ones() {
        assert_eq!(check(OPEN), Ok(Protection::None));
        assert_eq!(check(OPEN_RSA), Ok(Protection::None));
        assert_eq!(check(PROTECTED), Ok(Protection::Passphrase));
        assert_eq!(check(&format!("{OPEN}\n{PROTECTED}")), Ok(Protection::Passphrase));
        assert_eq!(check(&OPEN.replace('\n', "\r\n")), Ok(Protection::None));
    }

    #[test]
    fn a_key_whose_primary_is_offline_is_judged_by_its_subkeys() {
        assert_eq!(check(SUBKEYS), Ok(Protection::None));
        assert_eq!(check(SUBKEYS_PROTECTED), Ok(Protection::Passphrase));
        assert_eq!(check(&format!("{SUBKEYS}\n{PROTECTED}")), Ok(Protection::Passphrase));
        // The primary key alone, without the subkey behind it.
        let bytes = dearmour(SUBKEYS.split(BEGIN).nth(1).unwrap().split(END).next().unwrap()).unwrap();
        let (_, _, rest) = packet(&bytes).unwrap();
        let alone = STANDARD.encode(&bytes[..bytes.len() - rest.len()]);
        let error = check(&format!("{BEGIN}\n\n{alone}\n{END}\n")).unwrap_err();
        assert!(error.contains("secret part of every key is missing"), "{error}");
    }

    #[test]
    fn a_block_that_gpg_does_not_see_is_refused() {
        let indented: String = OPEN.lines().map(|line| format!("  {line}\n")).collect();
        for text in [indented, format!("\u{feff}{OPEN}")] {
            assert!(check(&text).unwrap_err().contains("gpg does not see it"));
        }
        assert_eq!(check(&format!("My key:\n{OPEN}")), Ok(Protection::None));
    }

    #[test]
    fn armour_with_headers_or_without_a_checksum_is_whole() {
        let headers = OPEN.replacen("\n\n", "\nComment: sample\nVersion: 1\n\n", 1);
        assert_eq!(check(&headers), Ok(Protection::None));
        let without: String = OPEN.lines().filter(|l| !l.starts_with('=')).map(|l| format!("{l}\n")).collect();
        assert_eq!(check(&without), Ok(Protection::None));
    }

    #[test]
    fn damaged_public_and_foreign_files_are_refused() {
        let swapped = OPEN.replacen("lFgE", "lFgF", 1);
        assert_eq!(check(&swapped), Err("the armour is damaged: its checksum is wrong"));
        assert!(check(PUBLIC).is_err());
        assert!(check(&OPEN[..200]).is_err());
        assert!(check("hello").is_err());
        assert!(check(&OPEN.replace("lFgE", "!!!!")).is_err());
    }

    #[test]
    fn the_checksum_is_the_one_of_the_standard() {
        // The empty text keeps the initial value; "123456789" is the usual check input of CRC catalogues.
        assert_eq!(crc24(b""), 0xb704ce);
        assert_eq!(crc24(b"123456789"), 0x21cf02);
    }

    proptest! {
        #[test]
        fn no_bytes_break_the_reader(bytes in proptest::collection::vec(any::<u8>(), 0..60), body in ".{0,80}") {
            let _ = protections(&bytes);
            let _ = secret_part(&bytes);
            let _ = check(&format!("{BEGIN}\n{body}\n{END}"));
        }
    }
}
