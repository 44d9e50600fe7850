//! An SSH key pair, and the known host keys of the servers that it is used with.

use ssh_key::public::KeyData;
use ssh_key::{Algorithm, PublicKey};
use x509_cert::der::Decode;
use x509_cert::spki::SubjectPublicKeyInfoRef;

use super::pem::{self, KeyProblem};
use super::{OPAQUE, SecretContent, SecretError, SecretText, Warnings, content, known_hosts, required};

const PRIVATE: &str = "private-key-file";
const PUBLIC: &str = "public-key-file";
const OPENSSH: &str = "OPENSSH PRIVATE KEY";
const REWRITE: &str = "write it in OpenSSH's form with `ssh-keygen -p -f KEY`";

/// `Opaque`: keys `identity`, `known_hosts`, and `identity.pub` and `password` if given. Files are kept as they are.
#[derive(Clone, Debug)]
pub struct Ssh {
    pub private_key: SecretText,
    pub public_key: Option<SecretText>,
    pub known_hosts: SecretText,
    /// Opens the private key.
    pub password: Option<SecretText>,
}

impl Ssh {
    pub(super) fn content(&self) -> Result<SecretContent, SecretError> {
        let identity = required(PRIVATE, &self.private_key)?.clone();
        let known_hosts = required("knownhosts-file", &self.known_hosts)?.clone();
        let password = self.password.clone().filter(|p| !p.is_empty());
        let data = [
            ("identity", Some(identity)),
            ("identity.pub", self.public_key.clone().filter(|k| !k.is_empty())),
            ("known_hosts", Some(known_hosts)),
            ("password", password),
        ];
        Ok(content(OPAQUE, data))
    }

    pub(super) fn check(&self) -> Result<Warnings, SecretError> {
        let (half, mut warnings) = check_private_key(self.private_key.expose(), self.password.as_ref())?;
        if let Some(public) = &self.public_key {
            warnings.extend(check_public_key(public.expose(), &half)?);
        }
        warnings.extend(known_hosts::check(self.known_hosts.expose())?);
        Ok(warnings)
    }
}

/// Whether a private key file is encrypted and needs a passphrase. Returns false for a file that is not a key.
pub fn needs_passphrase(private_key: &[u8]) -> bool {
    match pem::first_block(private_key) {
        Ok(block) if block.label == OPENSSH => {
            ssh_key::PrivateKey::from_bytes(&block.bytes).is_ok_and(|key| key.is_encrypted())
        }
        Ok(block) => block.old_encryption,
        Err(_) => false,
    }
}

/// The public half of a private key.
enum PublicHalf {
    OpenSsh(KeyData),
    /// SubjectPublicKeyInfo in DER.
    Pkix(Vec<u8>),
    Unknown,
}

fn check_private_key(file: &[u8], password: Option<&SecretText>) -> Result<(PublicHalf, Warnings), SecretError> {
    let wrong = |problem: &str| SecretError::check(PRIVATE, problem);
    if file.starts_with(b"ssh-") || file.starts_with(b"ecdsa-") || file.starts_with(b"sk-") {
        return Err(wrong("it contains a public key").hint("the private key is the file without .pub"));
    }
    if file.starts_with(b"PuTTY-User-Key-File") {
        let error = wrong("it is a PuTTY key, which Flux cannot read");
        return Err(error.hint("convert it with `puttygen KEY.ppk -O private-openssh -o KEY`"));
    }
    let block = pem::first_block(file).map_err(|problem| wrong(&problem.to_string()))?;
    let (half, encrypted, mut warnings) =
        if block.label == OPENSSH { openssh(&block, password)? } else { other_forms(&block, password)? };
    if !encrypted && password.is_some_and(|p| !p.is_empty()) {
        warnings.push("the private key is not encrypted, so its password is not needed".to_owned());
    }
    Ok((half, warnings))
}

fn openssh(block: &pem::Block, password: Option<&SecretText>) -> Result<(PublicHalf, bool, Warnings), SecretError> {
    let wrong = |problem: &str| SecretError::check(PRIVATE, problem);
    let key = ssh_key::PrivateKey::from_bytes(&block.bytes).map_err(|_| wrong("the key does not parse"))?;
    if matches!(key.algorithm(), Algorithm::SkEd25519 | Algorithm::SkEcdsaSha2NistP256) {
        return Err(wrong("the key is on a hardware token, which the cluster cannot use"));
    }
    if key.is_encrypted() {
        let Some(password) = password.filter(|p| !p.is_empty()) else {
            return Err(wrong("the key is encrypted").hint("give its passphrase as well"));
        };
        key.decrypt(password.expose()).map_err(|_| wrong("the password does not decrypt the key"))?;
    }
    let data = key.public_key().key_data().clone();
    let mut warnings = vec![];
    if let KeyData::Rsa(rsa) = &data
        && rsa.n.as_positive_bytes().is_some_and(|n| n.len() < 256)
    {
        warnings.push("the RSA key has less than 2048 bits: most servers refuse it".to_owned());
    }
    Ok((PublicHalf::OpenSsh(data), key.is_encrypted(), warnings))
}

fn other_forms(block: &pem::Block, password: Option<&SecretText>) -> Result<(PublicHalf, bool, Warnings), SecretError> {
    let wrong = |problem: &str| SecretError::check(PRIVATE, problem);
    match pem::ssh_key_of(block) {
        Ok(key) => match key.public {
            Some(public) => Ok((PublicHalf::Pkix(public), false, vec![])),
            None => Ok((PublicHalf::Unknown, false, vec!["this kind of private key is not checked".to_owned()])),
        },
        // Go decrypts OpenSSL's legacy encryption and no other. Its algorithms (MD5, DES) are not worth a dependency
        // here.
        Err(KeyProblem::Encrypted) if block.old_encryption => match password.filter(|p| !p.is_empty()) {
            Some(_) => {
                let note = "the key has OpenSSL's legacy encryption; the password is not checked";
                Ok((PublicHalf::Unknown, true, vec![note.to_owned()]))
            }
            None => Err(wrong("the key is encrypted").hint("give its passphrase as well")),
        },
        Err(KeyProblem::Encrypted) => Err(wrong("Flux does not read encrypted keys of this form").hint(REWRITE)),
        Err(problem @ KeyProblem::OtherForm(_)) => Err(wrong(&problem.to_string()).hint(REWRITE)),
        Err(problem) => Err(wrong(&problem.to_string())),
    }
}

fn check_public_key(file: &[u8], half: &PublicHalf) -> Result<Warnings, SecretError> {
    let wrong = |problem: &str| SecretError::check(PUBLIC, problem);
    let text = std::str::from_utf8(file).map_err(|_| wrong("it is not text in UTF-8"))?.trim();
    if text.contains("PRIVATE KEY") {
        return Err(wrong("it holds a private key"));
    }
    let key = PublicKey::from_openssh(text).map_err(|_| wrong("it is not a public key in OpenSSH's form"))?;
    let matches = match half {
        PublicHalf::OpenSsh(data) => Some(data == key.key_data()),
        PublicHalf::Pkix(public) => same_key(public, key.key_data()),
        PublicHalf::Unknown => None,
    };
    match matches {
        Some(true) => Ok(vec![]),
        Some(false) => Err(wrong("it does not belong to the private key")
            .hint("create the right one with `ssh-keygen -y -f KEY > KEY.pub`")),
        None => Ok(vec!["the public key is not checked against the private key".to_owned()]),
    }
}

/// Compares a SubjectPublicKeyInfo with an OpenSSH key. Returns `None` for kinds that it cannot compare.
fn same_key(public: &[u8], key: &KeyData) -> Option<bool> {
    let info = SubjectPublicKeyInfoRef::from_der(public).ok()?;
    let bits = info.subject_public_key.raw_bytes();
    match key {
        KeyData::Ed25519(key) => Some(bits == key.0),
        KeyData::Ecdsa(key) => Some(bits == key.as_sec1_bytes()),
        KeyData::Rsa(key) => {
            let body = [integer(key.n.as_bytes()), integer(key.e.as_bytes())].concat();
            Some(bits == tagged(0x30, &body))
        }
        _ => None,
    }
}

/// An ASN.1 INTEGER; SSH's multi-precision integers have the same bytes.
fn integer(bytes: &[u8]) -> Vec<u8> {
    tagged(0x02, bytes)
}

fn tagged(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = body.len().to_be_bytes();
    let significant: Vec<u8> = length.into_iter().skip_while(|b| *b == 0).collect();
    let mut der = vec![tag];
    match significant.as_slice() {
        [] => der.push(0),
        [short] if *short < 0x80 => der.push(*short),
        // At most eight bytes of length, so the cast holds.
        long => {
            der.push(0x80 | long.len() as u8);
            der.extend(long);
        }
    }
    der.extend(body);
    der
}

#[cfg(test)]
mod tests {
    use ssh_key::private::{Ed25519Keypair, KeypairData};
    use ssh_key::{Cipher, Kdf, LineEnding, PrivateKey};

    use super::*;
    use crate::secrets::pem::samples;

    const HOSTS: &str = "github.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl\n";

    fn key(seed: u8) -> PrivateKey {
        PrivateKey::new(KeypairData::from(Ed25519Keypair::from_seed(&[seed; 32])), "sample").unwrap()
    }

    fn text(key: &PrivateKey) -> String {
        key.to_openssh(LineEnding::LF).unwrap().to_string()
    }

    fn encrypted(password: &str) -> String {
        let kdf = Kdf::Bcrypt { salt: vec![7; 16], rounds: 1 };
        text(&key(1).encrypt_with(Cipher::Aes256Ctr, kdf, 1234, password).unwrap())
    }

    fn ssh(private: &str, public: Option<&str>, password: Option<&str>) -> Ssh {
        Ssh {
            private_key: private.into(),
            public_key: public.map(SecretText::from),
            known_hosts: HOSTS.into(),
            password: password.map(SecretText::from),
        }
    }

    fn problem(ssh: &Ssh) -> String {
        ssh.check().unwrap_err().to_string()
    }

    #[test]
    fn a_key_pair_in_any_form_is_accepted() {
        let public = key(1).public_key().to_openssh().unwrap();
        assert_eq!(ssh(&text(&key(1)), Some(&public), None).check(), Ok(vec![]));
        assert_eq!(ssh(samples::RSA_PKCS1, Some(samples::RSA_PUBLIC), None).check(), Ok(vec![]));
        assert_eq!(ssh(samples::RSA_PKCS8, Some(samples::RSA_PUBLIC), None).check(), Ok(vec![]));
        assert_eq!(ssh(samples::ED25519_PKCS8, None, None).check(), Ok(vec![]));
        let windows = text(&key(1)).replace('\n', "\r\n");
        assert_eq!(ssh(&windows, Some(&public), None).check(), Ok(vec![]));
    }

    #[test]
    fn a_public_key_of_another_pair_is_refused() {
        let other = key(2).public_key().to_openssh().unwrap();
        for private in [text(&key(1)), samples::RSA_PKCS1.to_owned(), samples::ED25519_PKCS8.to_owned()] {
            let problem = problem(&ssh(&private, Some(&other), None));
            assert_eq!(problem, "public-key-file: it does not belong to the private key");
        }
        assert!(problem(&ssh(&text(&key(1)), Some(&text(&key(1))), None)).contains("holds a private key"));
        assert!(problem(&ssh(&text(&key(1)), Some("hello"), None)).contains("not a public key"));
    }

    #[test]
    fn the_passphrase_must_open_the_key() {
        let file = encrypted("open sesame");
        assert!(needs_passphrase(file.as_bytes()) && !needs_passphrase(text(&key(1)).as_bytes()));
        assert_eq!(ssh(&file, None, Some("open sesame")).check(), Ok(vec![]));
        assert_eq!(
            problem(&ssh(&file, None, Some("wrong"))),
            "private-key-file: the password does not decrypt the key"
        );
        assert_eq!(problem(&ssh(&file, None, None)), "private-key-file: the key is encrypted");
        assert_eq!(ssh(&text(&key(1)), None, Some("needless")).check().unwrap().len(), 1);
    }

    #[test]
    fn old_encryption_is_distinguished_from_a_form_flux_cannot_read() {
        assert!(needs_passphrase(samples::RSA_ENCRYPTED_OLD.as_bytes()));
        assert_eq!(ssh(samples::RSA_ENCRYPTED_OLD, None, Some("sample")).check().unwrap().len(), 1);
        assert!(problem(&ssh(samples::RSA_ENCRYPTED_OLD, None, None)).contains("encrypted"));
        assert!(problem(&ssh(samples::RSA_ENCRYPTED_PKCS8, None, Some("sample"))).contains("does not read"));
    }

    #[test]
    fn a_file_that_is_not_a_private_key_is_refused_with_the_reason() {
        for (file, words) in [
            (key(1).public_key().to_openssh().unwrap().as_str(), "contains a public key"),
            ("PuTTY-User-Key-File-3: ssh-ed25519\n", "PuTTY"),
            ("hello", "not a private key in PEM"),
            (samples::CERTIFICATE_LIKE, "holds a certificate"),
            (&text(&key(1)).replace('\n', ""), "line breaks are missing"),
            (&format!("\u{feff}{}", text(&key(1))), "byte order mark"),
            (&samples::RSA_PKCS1.replace("RSA PRIVATE", "PRIVATE"), "another format"),
            ("-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n", "does not parse"),
        ] {
            let problem = problem(&ssh(file, None, None));
            assert!(problem.contains(words), "{problem}");
        }
    }

    #[test]
    fn keys_of_the_secret_are_the_ones_flux_reads() {
        let secret = ssh(&text(&key(1)), Some("pub"), Some("pw")).content().unwrap();
        let keys: Vec<_> = secret.data.keys().map(String::as_str).collect();
        assert_eq!(keys, ["identity", "identity.pub", "known_hosts", "password"]);
        assert_eq!(ssh("", None, None).content().unwrap_err(), SecretError::Missing("private-key-file"));
    }

    #[test]
    fn lengths_are_written_as_der_does() {
        assert_eq!(tagged(4, &[1, 2]), [4, 2, 1, 2]);
        assert_eq!(tagged(4, &[0; 200])[..3], [4, 0x81, 200]);
        assert_eq!(tagged(4, &[0; 300])[..4], [4, 0x82, 1, 44]);
        assert_eq!(tagged(4, &[]), [4, 0]);
    }
}
