//! A client certificate with its key, and the CA that verifies the server.

use jiff::{SignedDuration, Timestamp};
use x509_cert::Certificate;
use x509_cert::der::asn1::ObjectIdentifier;
use x509_cert::der::{Decode, Encode};
use x509_cert::ext::pkix::BasicConstraints;
use x509_cert::spki::AlgorithmIdentifierOwned;

use super::pem::{self, KeyProblem};
use super::{OPAQUE, SecretContent, SecretError, SecretText, Warnings, content};

const TYPE: &str = "kubernetes.io/tls";
const CERTIFICATE: &str = "tls-crt-file";
const KEY: &str = "tls-key-file";
const AUTHORITY: &str = "ca-crt-file";
const BEGIN: &[u8] = b"-----BEGIN CERTIFICATE-----";
/// A certificate that expires within this time causes a warning.
const SOON: SignedDuration = SignedDuration::from_hours(30 * 24);

/// `kubernetes.io/tls` with a pair, else `Opaque`: keys `tls.crt`, `tls.key`, `ca.crt`. Files are kept as they are.
#[derive(Clone, Debug)]
pub struct Tls {
    pub certificate: Option<SecretText>,
    pub private_key: Option<SecretText>,
    pub authority: Option<SecretText>,
}

impl Tls {
    pub(super) fn content(&self) -> Result<SecretContent, SecretError> {
        let given = |file: &Option<SecretText>| file.clone().filter(|f| !f.is_empty());
        let (certificate, key, authority) =
            (given(&self.certificate), given(&self.private_key), given(&self.authority));
        let type_ = match (&certificate, &key, &authority) {
            (Some(_), Some(_), _) => TYPE,
            (Some(_), None, _) => return Err(SecretError::Missing(KEY)),
            (None, Some(_), _) => return Err(SecretError::Missing(CERTIFICATE)),
            (None, None, Some(_)) => OPAQUE,
            (None, None, None) => {
                return Err(SecretError::Missing("tls-crt-file with tls-key-file, or ca-crt-file, or all three,"));
            }
        };
        Ok(content(type_, [("ca.crt", authority), ("tls.crt", certificate), ("tls.key", key)]))
    }

    pub(super) fn check(&self, now: Timestamp) -> Result<Warnings, SecretError> {
        let mut warnings = vec![];
        if let (Some(certificate), Some(key)) = (&self.certificate, &self.private_key) {
            let (chain, _) = read_certificates(CERTIFICATE, certificate.expose())?;
            for (certificate, state) in chain.iter().map(|certificate| (certificate, certificate.state(now))) {
                match state {
                    Validity::Now => {}
                    Validity::Ending(problem) => {
                        warnings.push(format!("{CERTIFICATE}: {} {problem}", certificate.name))
                    }
                    Validity::Expired(problem) | Validity::NotYetValid(problem) => {
                        return Err(SecretError::check(CERTIFICATE, format!("{} {problem}", certificate.name)));
                    }
                }
            }
            warnings.extend(check_pair(&chain, key.expose())?);
        }
        if let Some(authority) = &self.authority {
            let (certificates, skipped) = read_certificates(AUTHORITY, authority.expose())?;
            warnings.extend(skipped);
            warnings.extend(check_authorities(&certificates, now)?);
        }
        Ok(warnings)
    }
}

/// A parsed certificate.
struct ParsedCertificate {
    certificate: Certificate,
    /// `the certificate`, or `certificate 2 (CN=example)` where a file has several.
    name: String,
}

/// Whether a certificate is valid, and if not, why.
enum Validity {
    Now,
    Ending(String),
    Expired(String),
    NotYetValid(String),
}

impl ParsedCertificate {
    fn state(&self, now: Timestamp) -> Validity {
        let validity = self.certificate.tbs_certificate().validity();
        let time =
            |t: std::time::Duration| i64::try_from(t.as_secs()).ok().and_then(|s| Timestamp::from_second(s).ok());
        // `Timestamp` ends at the year 9999. A certificate with a later end is treated as if it did not expire.
        let from = time(validity.not_before.to_unix_duration()).unwrap_or(Timestamp::MIN);
        let until = time(validity.not_after.to_unix_duration()).unwrap_or(Timestamp::MAX);
        if until < now {
            Validity::Expired(format!("expired at {until}"))
        } else if now < from {
            Validity::NotYetValid(format!("is not valid before {from}"))
        } else if until.duration_since(now) < SOON {
            Validity::Ending(format!("expires at {until}"))
        } else {
            Validity::Now
        }
    }
}

/// Reads the certificates that Flux finds in a file, with a warning for each block that Flux skips.
///
/// # Errors
/// The file has no certificate, or one is hidden because its markers are misplaced.
fn read_certificates(what: &str, file: &[u8]) -> Result<(Vec<ParsedCertificate>, Warnings), SecretError> {
    let written = file.windows(BEGIN.len()).filter(|window| *window == BEGIN).count();
    if written == 0 {
        return Err(SecretError::check(what, "it holds no certificate in PEM"));
    }
    // Go also skips blocks with headers.
    let found: Vec<_> = pem::blocks(file).filter(|block| block.label == "CERTIFICATE" && !block.has_headers).collect();
    if found.len() < written {
        let problem = match pem::problem(file) {
            KeyProblem::Damaged => "the PEM block of a certificate is damaged".to_owned(),
            problem => problem.to_string(),
        };
        let error = SecretError::check(what, problem);
        return Err(error.hint("each certificate begins and ends on a line of its own"));
    }
    let (mut all, mut skipped) = (vec![], vec![]);
    for (index, block) in found.iter().enumerate() {
        let Ok(certificate) = Certificate::from_der(&block.bytes) else {
            skipped.push(format!("{what}: certificate {} does not parse, and is skipped", index + 1));
            continue;
        };
        let name = match found.len() {
            1 => "the certificate".to_owned(),
            _ => format!("certificate {} ({})", index + 1, certificate.tbs_certificate().subject()),
        };
        all.push(ParsedCertificate { certificate, name });
    }
    if all.is_empty() {
        return Err(SecretError::check(what, "a certificate does not parse"));
    }
    Ok((all, skipped))
}

/// Checks the dates of CA certificates. An expired certificate is only a warning if another one is valid, because Flux
/// uses the valid ones.
fn check_authorities(certificates: &[ParsedCertificate], now: Timestamp) -> Result<Warnings, SecretError> {
    let (mut warnings, mut invalid) = (vec![], None);
    let mut valid = 0;
    for one in certificates {
        match one.state(now) {
            Validity::Now => valid += 1,
            Validity::Ending(problem) => {
                valid += 1;
                warnings.push(format!("{AUTHORITY}: {} {problem}", one.name));
            }
            Validity::Expired(problem) | Validity::NotYetValid(problem) => {
                let problem = format!("{} {problem}", one.name);
                warnings.push(format!("{AUTHORITY}: {problem}, and is skipped"));
                invalid.get_or_insert(problem);
            }
        }
        if !is_authority(&one.certificate) {
            warnings.push(format!("{AUTHORITY}: {} is not marked as an authority", one.name));
        }
    }
    match invalid {
        Some(problem) if valid == 0 => Err(SecretError::check(AUTHORITY, problem)),
        _ => Ok(warnings),
    }
}

fn check_pair(chain: &[ParsedCertificate], key: &[u8]) -> Result<Warnings, SecretError> {
    // Go takes the first block with a key and skips any block before it.
    let block = pem::blocks(key).find(|block| block.label == "PRIVATE KEY" || block.label.ends_with(" PRIVATE KEY"));
    let key = match block.as_ref().map(pem::key_of) {
        Some(Ok(key)) => key,
        Some(Err(KeyProblem::Encrypted)) => {
            return Err(SecretError::check(KEY, "the key is encrypted, and Flux has no password for it"));
        }
        Some(Err(problem)) => return Err(SecretError::check(KEY, problem.to_string())),
        None => {
            return Err(match pem::problem(key) {
                KeyProblem::Empty | KeyProblem::NotPem => SecretError::check(KEY, "it holds no private key in PEM"),
                problem => SecretError::check(KEY, problem.to_string()),
            });
        }
    };
    let Some(leaf) = chain.first() else { return Ok(vec![]) };
    let spki = leaf.certificate.tbs_certificate().subject_public_key_info();
    if !is_kind_of_go(&spki.algorithm) {
        return Err(SecretError::check(CERTIFICATE, format!("{} has a kind of key that Flux cannot use", leaf.name)));
    }
    match (key.public, spki.to_der()) {
        (Some(key), Ok(certificate)) if key == certificate => Ok(vec![]),
        (Some(_), Ok(_)) => Err(SecretError::check(KEY, "it does not belong to the first certificate of tls-crt-file")),
        _ => Ok(vec![format!("{KEY}: the key is not checked against the certificate")]),
    }
}

/// Whether Go's TLS takes certificates with this kind of key: RSA, Ed25519, and ECDSA on the curves of NIST.
fn is_kind_of_go(algorithm: &AlgorithmIdentifierOwned) -> bool {
    const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
    const EC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
    const ED25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");
    // P-224, P-256, P-384 and P-521.
    const CURVES: [&str; 4] = ["1.3.132.0.33", "1.2.840.10045.3.1.7", "1.3.132.0.34", "1.3.132.0.35"];
    let curve = algorithm.parameters.as_ref().and_then(|parameters| parameters.decode_as::<ObjectIdentifier>().ok());
    match algorithm.oid {
        RSA | ED25519 => true,
        EC => curve.is_some_and(|curve| CURVES.contains(&curve.to_string().as_str())),
        _ => false,
    }
}

fn is_authority(certificate: &Certificate) -> bool {
    let constraints = certificate.tbs_certificate().get_extension::<BasicConstraints>();
    matches!(constraints, Ok(Some((_, BasicConstraints { ca: true, .. }))))
}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints as CaLength, CertificateParams, IsCa, KeyPair, date_time_ymd};

    use super::*;

    struct KeyedCertificate {
        certificate: String,
        key: String,
    }

    fn pair(ca: bool) -> KeyedCertificate {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec!["flux".into()]).unwrap();
        params.not_before = date_time_ymd(2025, 1, 1);
        params.not_after = date_time_ymd(2026, 1, 1);
        params.is_ca = if ca { IsCa::Ca(CaLength::Unconstrained) } else { IsCa::NoCa };
        KeyedCertificate { certificate: params.self_signed(&key).unwrap().pem(), key: key.serialize_pem() }
    }

    fn tls(certificate: Option<&str>, key: Option<&str>, authority: Option<&str>) -> Tls {
        let file = |text: Option<&str>| text.map(SecretText::from);
        Tls { certificate: file(certificate), private_key: file(key), authority: file(authority) }
    }

    fn on(day: &str) -> Timestamp {
        format!("{day}T00:00:00Z").parse().unwrap()
    }

    #[test]
    fn the_type_depends_on_the_pair_and_half_a_pair_is_an_error() {
        let p = pair(false);
        assert_eq!(tls(Some(&p.certificate), Some(&p.key), None).content().unwrap().type_, "kubernetes.io/tls");
        assert_eq!(tls(None, None, Some(&p.certificate)).content().unwrap().type_, "Opaque");
        assert_eq!(tls(Some("x"), None, Some("y")).content().unwrap_err(), SecretError::Missing(KEY));
        assert_eq!(tls(None, Some("x"), None).content().unwrap_err(), SecretError::Missing(CERTIFICATE));
        assert!(tls(None, None, None).content().is_err());
    }

    #[test]
    fn a_key_must_belong_to_its_certificate() {
        let (one, two) = (pair(false), pair(false));
        assert_eq!(tls(Some(&one.certificate), Some(&one.key), None).check(on("2025-06-01")), Ok(vec![]));
        let error = tls(Some(&one.certificate), Some(&two.key), None).check(on("2025-06-01")).unwrap_err();
        assert!(error.to_string().contains("does not belong"), "{error}");
        for key in ["no key", &one.certificate] {
            assert!(tls(Some(&one.certificate), Some(key), None).check(on("2025-06-01")).is_err());
        }
    }

    #[test]
    fn certificates_of_the_first_version_have_to_match_their_key_and_kinds_that_go_cannot_read_are_refused() {
        let old = include_str!("samples/version-1.crt");
        let key = include_str!("samples/version-1.key");
        let check = |certificate: &str, key: &str| {
            tls(Some(certificate), Some(key), None).check(on("2027-06-01")).map_err(|error| error.to_string())
        };
        assert_eq!(check(old, key), Ok(vec![]));
        for other in [pair(false).key.as_str(), pem::samples::RSA_PKCS8, pem::samples::ED25519_PKCS8] {
            let error = check(old, other).unwrap_err();
            assert!(error.contains("does not belong"), "{error}");
        }
        let error = check(include_str!("samples/secp256k1.crt"), key).unwrap_err();
        assert!(error.contains("a kind of key that Flux cannot use"), "{error}");
    }

    #[test]
    fn expired_and_future_certificates_are_refused_and_ending_ones_warn() {
        let p = pair(false);
        let check = |day: &str| tls(Some(&p.certificate), Some(&p.key), None).check(on(day));
        assert_eq!(
            check("2026-02-01").unwrap_err().to_string(),
            "tls-crt-file: the certificate expired at 2026-01-01T00:00:00Z"
        );
        assert!(check("2024-12-31").unwrap_err().to_string().contains("not valid before"));
        assert_eq!(check("2025-12-20").unwrap().len(), 1);
    }

    #[test]
    fn an_expired_authority_of_a_bundle_is_named_and_the_others_count() {
        let authority = |name: &str, from: i32, until: i32| {
            let mut params = CertificateParams::new(vec![]).unwrap();
            params.distinguished_name.push(rcgen::DnType::CommonName, name);
            (params.not_before, params.not_after) = (date_time_ymd(from, 1, 1), date_time_ymd(until, 1, 1));
            params.is_ca = IsCa::Ca(CaLength::Unconstrained);
            params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem()
        };
        let (good, old, new) =
            (authority("Good", 2020, 2040), authority("Old", 2010, 2021), authority("New", 2030, 2040));
        let check =
            |bundle: &str| tls(None, None, Some(bundle)).check(on("2025-06-01")).map_err(|error| error.to_string());
        assert_eq!(
            check(&format!("{good}{old}{new}")).unwrap(),
            [
                "ca-crt-file: certificate 2 (CN=Old) expired at 2021-01-01T00:00:00Z, and is skipped",
                "ca-crt-file: certificate 3 (CN=New) is not valid before 2030-01-01T00:00:00Z, and is skipped",
            ]
        );
        assert_eq!(check(&old).unwrap_err(), "ca-crt-file: the certificate expired at 2021-01-01T00:00:00Z");
        let error = check(&format!("{old}{old}")).unwrap_err();
        assert_eq!(error, "ca-crt-file: certificate 1 (CN=Old) expired at 2021-01-01T00:00:00Z");
        let other = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert_eq!(
            check(&format!("{good}{other}")).unwrap(),
            ["ca-crt-file: certificate 2 does not parse, and is skipped"]
        );
    }

    #[test]
    fn certificates_that_go_does_not_see_are_named() {
        let (one, two) = (pair(true).certificate, pair(true).certificate);
        let indented: String = two.lines().map(|line| format!("  {line}\n")).collect();
        let lines = one.lines().count();
        for (bundle, words) in [
            (format!("{}{two}", one.trim_end()), format!("-----BEGIN is not alone at the beginning of line {lines}")),
            (format!("{one}{indented}"), format!("-----BEGIN is not alone at the beginning of line {}", lines + 1)),
            (format!("\u{feff}{one}{two}"), "byte order mark".to_owned()),
            (format!("{one}{}", two.replace('\n', "")), "line breaks are missing".to_owned()),
            (format!("{one}{}", &two[..two.len() / 2]), "damaged".to_owned()),
        ] {
            let error = tls(None, None, Some(&bundle)).check(on("2025-06-01")).unwrap_err().to_string();
            assert!(error.contains(&words), "{bundle}\n{error}");
        }
        let commented = format!("# \u{e9}\n{one}\nAnother one:\r\n{}", two.replace('\n', "\r\n"));
        assert_eq!(tls(None, None, Some(&commented)).check(on("2025-06-01")), Ok(vec![]));
    }

    #[test]
    fn the_key_may_stand_behind_other_blocks_and_under_another_label() {
        let p = pair(false);
        let behind = format!("{}{}", p.certificate, p.key);
        assert_eq!(tls(Some(&p.certificate), Some(&behind), None).check(on("2025-06-01")), Ok(vec![]));
        let relabelled = p.key.replace("PRIVATE KEY", "EC PRIVATE KEY");
        assert_eq!(tls(Some(&p.certificate), Some(&relabelled), None).check(on("2025-06-01")), Ok(vec![]));
        let indented = p.key.replace("-----BEGIN", " -----BEGIN");
        let error = tls(Some(&p.certificate), Some(&indented), None).check(on("2025-06-01")).unwrap_err().to_string();
        assert!(error.starts_with("tls-key-file: -----BEGIN is not alone"), "{error}");
    }

    #[test]
    fn an_authority_should_say_that_it_is_one() {
        let (plain, ca) = (pair(false), pair(true));
        assert_eq!(tls(None, None, Some(&ca.certificate)).check(on("2025-06-01")), Ok(vec![]));
        assert_eq!(tls(None, None, Some(&plain.certificate)).check(on("2025-06-01")).unwrap().len(), 1);
        assert!(tls(None, None, Some("hello")).check(on("2025-06-01")).is_err());
    }
}
