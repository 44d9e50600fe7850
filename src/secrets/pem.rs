//! PEM files with private keys: what is inside, whether it is whole, and which public key belongs to it.
//!
//! The forms are RFC 7468, OpenSSL's PKCS#1 and SEC1, and OpenSSH's; line lengths are not checked, as Go does not.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs1KeyDer, PrivatePkcs8KeyDer, PrivateSec1KeyDer};
use x509_cert::der::Decode;
use x509_cert::der::asn1::AnyRef;
use zeroize::Zeroizing;

/// One block of a PEM file.
pub(super) struct Block {
    pub label: String,
    pub bytes: Zeroizing<Vec<u8>>,
    /// OpenSSL's old way to encrypt, announced in a header.
    pub old_encryption: bool,
}

/// Why a file is no usable private key. Nothing of the file is repeated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Problem {
    #[error("the file is empty")]
    Empty,
    #[error("it is not a private key in PEM")]
    NotPem,
    #[error("the PEM block is damaged")]
    Damaged,
    #[error("it holds a {0}, not a private key")]
    Other(String),
    #[error("the key is encrypted")]
    Encrypted,
    #[error("it holds no valid key")]
    NoKey,
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

/// Reads the first block of a file.
pub(super) fn first_block(file: &[u8]) -> Result<Block, Problem> {
    let text = std::str::from_utf8(file).map_err(|_| Problem::NotPem)?;
    if text.trim().is_empty() {
        return Err(Problem::Empty);
    }
    let (_, rest) = text.split_once("-----BEGIN ").ok_or(Problem::NotPem)?;
    let (label, rest) = rest.split_once("-----").ok_or(Problem::Damaged)?;
    let (body, _) = rest.split_once(&format!("-----END {label}-----")).ok_or(Problem::Damaged)?;
    let is_header = |line: &&str| line.contains(':');
    let old_encryption = body.lines().filter(is_header).any(|l| l.contains("ENCRYPTED"));
    let mut base64 = Zeroizing::new(String::with_capacity(body.len()));
    body.lines().filter(|l| !is_header(l)).for_each(|l| base64.push_str(l.trim()));
    let bytes = STANDARD.decode(base64.as_bytes()).map_err(|_| Problem::Damaged)?;
    Ok(Block { label: label.to_owned(), bytes: Zeroizing::new(bytes), old_encryption })
}

/// Reads a private key in PKCS#1, PKCS#8 or SEC1.
pub(super) fn read_private_key(file: &[u8]) -> Result<PrivateKey, Problem> {
    key_of(&first_block(file)?)
}

/// Like [`read_private_key`], for a block that was read already.
pub(super) fn key_of(block: &Block) -> Result<PrivateKey, Problem> {
    if block.old_encryption || block.label == "ENCRYPTED PRIVATE KEY" {
        return Err(Problem::Encrypted);
    }
    let bytes = block.bytes.as_slice();
    let der = match block.label.as_str() {
        "RSA PRIVATE KEY" => PrivateKeyDer::Pkcs1(PrivatePkcs1KeyDer::from(bytes)),
        "PRIVATE KEY" => PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(bytes)),
        "EC PRIVATE KEY" => PrivateKeyDer::Sec1(PrivateSec1KeyDer::from(bytes)),
        label => return Err(Problem::Other(label.to_lowercase())),
    };
    // rustls takes owned keys only.
    match rustls::crypto::aws_lc_rs::sign::any_supported_type(&der.clone_key()) {
        Ok(key) => Ok(PrivateKey {
            public: key.public_key().map(|spki| spki.as_ref().to_vec()),
            rsa: key.algorithm() == rustls::SignatureAlgorithm::RSA,
        }),
        // A whole structure of an unknown kind is left to whoever uses the key; a broken one is an error.
        Err(_) => match AnyRef::from_der(bytes) {
            Ok(structure) if !structure.value().is_empty() && is_sequence(bytes) => {
                Ok(PrivateKey { public: None, rsa: block.label == "RSA PRIVATE KEY" })
            }
            _ => Err(Problem::NoKey),
        },
    }
}

fn is_sequence(der: &[u8]) -> bool {
    der.first() == Some(&0x30)
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
        assert_eq!(problem(" \n"), Problem::Empty);
        assert_eq!(problem("hello"), Problem::NotPem);
        assert_eq!(problem(&samples::RSA_PKCS1[..200]), Problem::Damaged);
        assert_eq!(problem(&samples::RSA_PKCS1.replace('M', "!")), Problem::Damaged);
        assert_eq!(problem(samples::CERTIFICATE_LIKE), Problem::Other("certificate".into()));
        assert_eq!(problem(samples::RSA_ENCRYPTED_OLD), Problem::Encrypted);
        assert_eq!(problem(samples::RSA_ENCRYPTED_PKCS8), Problem::Encrypted);
        let truncated = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----\n";
        assert_eq!(problem(truncated), Problem::NoKey);
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
