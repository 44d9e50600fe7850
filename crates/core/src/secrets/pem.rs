//! PEM files: the blocks that Flux finds in them, and private keys.
//!
//! The forms are RFC 7468, OpenSSL's PKCS#1 and SEC1, and OpenSSH's. Flux reads PEM with Go's `encoding/pem`, so this
//! module follows its rules: a marker is alone on its line, a block that does not decode is skipped, and line lengths
//! are not checked.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs1KeyDer, PrivatePkcs8KeyDer, PrivateSec1KeyDer};
use x509_cert::der::asn1::AnyRef;
use x509_cert::der::{Decode, SliceReader, Tag};
use zeroize::Zeroizing;

/// Start of the marker that opens a block.
const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
const DASHES: &str = "-----";

/// A block of a PEM file.
pub(super) struct Block {
    pub label: String,
    pub bytes: Zeroizing<Vec<u8>>,
    /// Whether a header announces OpenSSL's legacy encryption.
    pub old_encryption: bool,
    pub has_headers: bool,
}

/// The form of a private key in DER.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Pkcs1,
    Pkcs8,
    Sec1,
}

/// Why a file is not a usable private key. It never repeats content of the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum KeyProblem {
    #[error("the file is empty")]
    Empty,
    #[error("it is not a private key in PEM")]
    NotPem,
    #[error("it begins with a byte order mark, so Flux does not find the PEM block")]
    ByteOrderMark,
    #[error("its line breaks are missing, and Flux does not find a PEM block on a single line")]
    OneLine,
    /// The line counts from 1.
    #[error("{marker} is not alone at the beginning of line {line}, so Flux does not find the PEM block")]
    Misplaced { marker: &'static str, line: usize },
    #[error("the PEM block is damaged")]
    Damaged,
    #[error("it holds a {0}, not a private key")]
    Other(String),
    #[error("the key is encrypted")]
    Encrypted,
    #[error("it holds no valid key")]
    NoKey,
    /// Only SSH keys are read by their label alone.
    #[error("the PEM block says {0}, but its key has another format")]
    OtherForm(String),
}

/// A private key that parsed.
pub(super) struct PrivateKey {
    /// SubjectPublicKeyInfo in DER of the public half; None for kinds of keys not understood here (P-521, short RSA).
    pub public: Option<Vec<u8>>,
    rsa: bool,
}

impl PrivateKey {
    pub(crate) fn is_rsa(&self) -> bool {
        self.rsa
    }
}

/// Reads the blocks of a file in order, as Go does: blocks that do not decode are skipped.
pub(super) fn blocks(file: &[u8]) -> Blocks<'_> {
    Blocks { rest: file, at_line_start: true }
}

pub(super) struct Blocks<'a> {
    rest: &'a [u8],
    at_line_start: bool,
}

impl Iterator for Blocks<'_> {
    type Item = Block;

    fn next(&mut self) -> Option<Block> {
        loop {
            let after = match self.rest.strip_prefix(BEGIN.as_bytes()).filter(|_| self.at_line_start) {
                Some(after) => after,
                None => after_line_with(self.rest, BEGIN)?.1,
            };
            // Continue right behind the marker of an invalid block: another block may begin inside it.
            self.rest = after;
            self.at_line_start = false;
            if let Some((block, rest)) = block(after) {
                self.rest = rest;
                self.at_line_start = true;
                return Some(block);
            }
        }
    }
}

/// Reads what follows `-----BEGIN `. Returns the block and the text behind it.
fn block(text: &[u8]) -> Option<(Block, &[u8])> {
    let (label, mut rest) = line(text);
    let label = std::str::from_utf8(label).ok()?.strip_suffix(DASHES)?;
    let (mut has_headers, mut old_encryption) = (false, false);
    loop {
        let (header, next) = line(rest);
        if rest.is_empty() || !header.contains(&b':') {
            break;
        }
        has_headers = true;
        old_encryption |= header.starts_with(b"Proc-Type") && header.ends_with(b"ENCRYPTED");
        rest = next;
    }
    // As in Go: without headers, the end may follow at once.
    let (body, after) = match rest.strip_prefix(END.as_bytes()).filter(|_| !has_headers) {
        Some(after) => (&rest[..0], after),
        None => after_line_with(rest, END)?,
    };
    let (end, after) = line(after);
    if end.strip_prefix(label.as_bytes()) != Some(DASHES.as_bytes()) {
        return None;
    }
    let base64: Zeroizing<Vec<u8>> =
        Zeroizing::new(body.iter().copied().filter(|byte| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n')).collect());
    let bytes = Zeroizing::new(STANDARD.decode(base64.as_slice()).ok()?);
    Some((Block { label: label.to_owned(), bytes, old_encryption, has_headers }, after))
}

/// Returns the first line, without blanks at its end, and the text after the line.
fn line(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(|byte| *byte == b'\n');
    let (line, rest) = end.map_or((text, &text[text.len()..]), |end| (&text[..end], &text[end + 1..]));
    let length = line.iter().rposition(|byte| !matches!(byte, b' ' | b'\t' | b'\r')).map_or(0, |last| last + 1);
    (&line[..length], rest)
}

/// Splits at the next line break that is followed by this marker.
fn after_line_with<'a>(text: &'a [u8], marker: &str) -> Option<(&'a [u8], &'a [u8])> {
    let breaks = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at);
    breaks
        .map(|at| text.split_at(at))
        .find_map(|(before, rest)| Some((before, rest[1..].strip_prefix(marker.as_bytes())?)))
}

/// Reads the first block of a file.
pub(super) fn first_block(file: &[u8]) -> Result<Block, KeyProblem> {
    blocks(file).next().ok_or_else(|| problem(file))
}

/// Explains why Go finds no block in a file, or fewer than it contains.
pub(super) fn problem(file: &[u8]) -> KeyProblem {
    let text = String::from_utf8_lossy(file);
    if text.trim().is_empty() {
        return KeyProblem::Empty;
    }
    if !text.contains(BEGIN) {
        return KeyProblem::NotPem;
    }
    if text.starts_with('\u{feff}') {
        return KeyProblem::ByteOrderMark;
    }
    for (number, line) in text.lines().enumerate().map(|(index, line)| (index + 1, line.trim_end())) {
        if line.starts_with(BEGIN) && line.contains(END) {
            return KeyProblem::OneLine;
        }
        for (part, marker) in [(BEGIN, "-----BEGIN"), (END, "-----END")] {
            // Five dashes follow the label, and nothing else.
            let is_alone = line
                .strip_prefix(part)
                .and_then(|rest| rest.split_once(DASHES))
                .is_some_and(|(_, rest)| rest.is_empty());
            if line.contains(part) && !is_alone {
                return KeyProblem::Misplaced { marker, line: number };
            }
        }
    }
    KeyProblem::Damaged
}

/// Reads a private key in PKCS#1, PKCS#8 or SEC1 form, regardless of its label.
pub(super) fn read_private_key(file: &[u8]) -> Result<PrivateKey, KeyProblem> {
    key_of(&first_block(file)?)
}

/// Reads the private key of a block, like [`read_private_key`].
pub(super) fn key_of(block: &Block) -> Result<PrivateKey, KeyProblem> {
    let (der, form) = der_of(block)?;
    // rustls takes owned keys only.
    match rustls::crypto::aws_lc_rs::sign::any_supported_type(&der) {
        Ok(key) => Ok(PrivateKey {
            public: key.public_key().map(|spki| spki.as_ref().to_vec()),
            rsa: key.algorithm() == rustls::SignatureAlgorithm::RSA,
        }),
        // The structure is complete but of a kind unknown here. The program that uses the key decides.
        Err(_) => Ok(PrivateKey { public: None, rsa: form == Form::Pkcs1 }),
    }
}

/// Reads the SSH private key of a block. Unlike for [`key_of`], the label must state the format.
pub(super) fn ssh_key_of(block: &Block) -> Result<PrivateKey, KeyProblem> {
    let key = key_of(block)?;
    let form = match block.label.as_str() {
        "RSA PRIVATE KEY" => Form::Pkcs1,
        "EC PRIVATE KEY" => Form::Sec1,
        _ => Form::Pkcs8,
    };
    if form_of(&block.bytes) == Some(form) { Ok(key) } else { Err(KeyProblem::OtherForm(block.label.clone())) }
}

fn der_of(block: &Block) -> Result<(PrivateKeyDer<'static>, Form), KeyProblem> {
    if block.old_encryption || block.label == "ENCRYPTED PRIVATE KEY" {
        return Err(KeyProblem::Encrypted);
    }
    if !matches!(block.label.as_str(), "RSA PRIVATE KEY" | "PRIVATE KEY" | "EC PRIVATE KEY") {
        return Err(KeyProblem::Other(block.label.to_lowercase()));
    }
    let bytes = block.bytes.to_vec();
    let form = form_of(&bytes).ok_or(KeyProblem::NoKey)?;
    let der = match form {
        Form::Pkcs1 => PrivateKeyDer::Pkcs1(PrivatePkcs1KeyDer::from(bytes)),
        Form::Pkcs8 => PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(bytes)),
        Form::Sec1 => PrivateKeyDer::Sec1(PrivateSec1KeyDer::from(bytes)),
    };
    Ok((der, form))
}

/// Detects the form as Go's `crypto/tls` does, by content: after the version comes a number, an algorithm or the key.
fn form_of(der: &[u8]) -> Option<Form> {
    let key = AnyRef::from_der(der).ok().filter(|key| x509_cert::der::Tagged::tag(key) == Tag::Sequence)?;
    let mut fields = SliceReader::new(key.value()).ok()?;
    let version = AnyRef::decode(&mut fields).ok()?;
    if x509_cert::der::Tagged::tag(&version) != Tag::Integer {
        return None;
    }
    match Tag::peek(&fields).ok()? {
        Tag::Integer => Some(Form::Pkcs1),
        Tag::Sequence => Some(Form::Pkcs8),
        Tag::OctetString => Some(Form::Sec1),
        _ => None,
    }
}

/// Throw-away keys for tests, made with OpenSSL; they open nothing.
#[cfg(test)]
pub(super) mod samples {
    pub(crate) const RSA_PKCS1: &str = include_str!("samples/rsa-pkcs1.pem");
    pub(crate) const RSA_PKCS8: &str = include_str!("samples/rsa-pkcs8.pem");
    pub(crate) const ED25519_PKCS8: &str = include_str!("samples/ed25519-pkcs8.pem");
    pub(crate) const RSA_ENCRYPTED_OLD: &str = include_str!("samples/rsa-encrypted-old.pem");
    pub(crate) const RSA_ENCRYPTED_PKCS8: &str = include_str!("samples/rsa-encrypted-pkcs8.pem");
    pub(crate) const RSA_PUBLIC: &str = include_str!("samples/rsa.pub");
    pub(crate) const CERTIFICATE_LIKE: &str = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_form_of_a_private_key_is_read() {
        for key in [samples::RSA_PKCS1, samples::RSA_PKCS8] {
            assert!(read_private_key(key.as_bytes()).unwrap().is_rsa());
        }
        let ed25519 = read_private_key(samples::ED25519_PKCS8.as_bytes()).unwrap();
        assert!(!ed25519.is_rsa() && ed25519.public.is_some());
        let windows = samples::RSA_PKCS1.replace('\n', "\r\n");
        assert!(read_private_key(windows.as_bytes()).is_ok());
    }

    #[test]
    fn each_problem_has_its_own_words() {
        let problem = |text: &str| read_private_key(text.as_bytes()).err().unwrap();
        assert_eq!(problem(" \n"), KeyProblem::Empty);
        assert_eq!(problem("hello"), KeyProblem::NotPem);
        assert_eq!(problem(&samples::RSA_PKCS1[..200]), KeyProblem::Damaged);
        assert_eq!(problem(&samples::RSA_PKCS1.replace('M', "!")), KeyProblem::Damaged);
        assert_eq!(problem(samples::CERTIFICATE_LIKE), KeyProblem::Other("certificate".into()));
        assert_eq!(problem(samples::RSA_ENCRYPTED_OLD), KeyProblem::Encrypted);
        assert_eq!(problem(samples::RSA_ENCRYPTED_PKCS8), KeyProblem::Encrypted);
        let truncated = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----\n";
        assert_eq!(problem(truncated), KeyProblem::NoKey);
    }

    #[test]
    fn a_file_is_read_where_go_reads_it_and_nowhere_else() {
        let key = samples::RSA_PKCS1;
        let lines: Vec<&str> = key.lines().collect();
        let (first, body, last) = (lines[0], lines[1..lines.len() - 1].join("\n"), lines[lines.len() - 1]);
        let each = |wrap: &dyn Fn(&str) -> String| lines.iter().map(|line| wrap(line)).collect::<String>();
        // Each case was checked with pem.Decode of Go 1.26.
        for (text, is_read) in [
            (key.to_owned(), true),
            (key.trim_end().to_owned(), true),
            (key.replace('\n', "\n\n"), true),
            (each(&|line| format!("{line} \t\r\n")), true),
            (format!("{first}\n  {}\n{last}\n", body.replace('\n', "\n  ")), true),
            (format!("{first}\nComment: a\n\n{body}\n{last}\n"), true),
            (format!("{first}\nComment: a\n{body}\n{last}\n"), true),
            (format!("My key:\n{key}"), true),
            (format!("{first}\n!\n{last}\n{key}"), true),
            (format!("-----BEGIN \n{key}"), true),
            (each(&|line| format!("  {line}\n")), false),
            (format!("\u{feff}{key}"), false),
            (format!("\t{key}"), false),
            (format!("My key: {key}"), false),
            (format!("-{key}"), false),
            (key.replace('\n', "\r"), false),
            (key.replace('\n', ""), false),
            (key.replace('\n', " "), false),
            (key.replace('\n', "\\n"), false),
            (format!("{first}\n{body}\n {last}\n"), false),
            (format!("{first}\n{body}\n{last} x\n"), false),
            (format!("{first}\n{body}{last}\n"), false),
            (format!("{first}{body}\n{last}\n"), false),
            (format!("{first}\n{body}\n-----END DSA PRIVATE KEY-----\n"), false),
            (format!("{first}\n{body}\n"), false),
            (format!("{first}\n# note\n{body}\n{last}\n"), false),
            (format!("{}{key}", key.trim_end()), false),
        ] {
            assert_eq!(read_private_key(text.as_bytes()).is_ok(), is_read, "{}", text.replace(&body, "BODY"));
        }
        let problem = |text: String| first_block(text.as_bytes()).err().unwrap();
        assert_eq!(problem(format!("\u{feff}{key}")), KeyProblem::ByteOrderMark);
        assert_eq!(problem(key.replace('\n', "")), KeyProblem::OneLine);
        assert_eq!(
            problem(each(&|line| format!(" {line}\n"))),
            KeyProblem::Misplaced { marker: "-----BEGIN", line: 1 }
        );
        let line = lines.len();
        assert_eq!(problem(format!("{first}\n{body}\n {last}")), KeyProblem::Misplaced { marker: "-----END", line });
        assert_eq!(problem(format!("{first}\n!\n{last}")), KeyProblem::Damaged);
    }

    #[test]
    fn a_label_binds_ssh_keys_only() {
        let swapped = [
            samples::RSA_PKCS1.replace("RSA PRIVATE", "PRIVATE"),
            samples::RSA_PKCS8.replace("PRIVATE", "RSA PRIVATE"),
            samples::RSA_PKCS8.replace("PRIVATE", "EC PRIVATE"),
        ];
        for text in swapped {
            let block = first_block(text.as_bytes()).unwrap();
            assert!(key_of(&block).unwrap().is_rsa(), "{}", block.label);
            assert_eq!(ssh_key_of(&block).err(), Some(KeyProblem::OtherForm(block.label)));
        }
        for text in [samples::RSA_PKCS1, samples::RSA_PKCS8, samples::ED25519_PKCS8] {
            assert!(ssh_key_of(&first_block(text.as_bytes()).unwrap()).is_ok());
        }
    }

    proptest! {
        #[test]
        fn no_file_breaks_the_reader(label in "[A-Z ]{0,20}", body in ".{0,80}", bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = read_private_key(&bytes);
            let _ = read_private_key(format!("-----BEGIN {label}-----\n{body}\n-----END {label}-----").as_bytes());
            let encoded = STANDARD.encode(&bytes);
            let _ = read_private_key(format!("-----BEGIN PRIVATE KEY-----\n{encoded}\n-----END PRIVATE KEY-----").as_bytes());
        }
    }
}
