//! A client certificate with its key, and the authority that vouches for the other side.

use jiff::{SignedDuration, Timestamp};
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::ext::pkix::BasicConstraints;

use super::{Content, OPAQUE, SecretError, SecretText, Warnings, content};

const TYPE: &str = "kubernetes.io/tls";
const CERTIFICATE: &str = "tls-crt-file";
const KEY: &str = "tls-key-file";
const AUTHORITY: &str = "ca-crt-file";
/// A certificate that ends sooner is worth a word.
const SOON: SignedDuration = SignedDuration::from_hours(30 * 24);

/// `kubernetes.io/tls` with a pair, else `Opaque`: keys `tls.crt`, `tls.key`, `ca.crt`. Files are kept as they are.
#[derive(Clone, Debug)]
pub struct Tls {
    pub certificate: Option<SecretText>,
    pub private_key: Option<SecretText>,
    pub authority: Option<SecretText>,
}

impl Tls {
    pub(super) fn content(&self) -> Result<Content, SecretError> {
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
            let chain = read_certificates(CERTIFICATE, certificate.expose())?;
            warnings.extend(check_validity(CERTIFICATE, &chain, now)?);
            warnings.extend(check_pair(chain, key.expose())?);
        }
        if let Some(authority) = &self.authority {
            let certificates = read_certificates(AUTHORITY, authority.expose())?;
            warnings.extend(check_validity(AUTHORITY, &certificates, now)?);
            if certificates.iter().any(|(_, certificate)| !is_authority(certificate)) {
                warnings.push(format!("{AUTHORITY} holds a certificate that is not marked as an authority"));
            }
        }
        Ok(warnings)
    }
}

type Parsed = (CertificateDer<'static>, Certificate);

fn read_certificates(what: &str, file: &[u8]) -> Result<Vec<Parsed>, SecretError> {
    let mut all = vec![];
    for der in CertificateDer::pem_slice_iter(file) {
        let der = der.map_err(|_| SecretError::check(what, "the PEM block is damaged"))?;
        let certificate =
            Certificate::from_der(&der).map_err(|_| SecretError::check(what, "a certificate does not parse"))?;
        all.push((der, certificate));
    }
    if all.is_empty() {
        return Err(SecretError::check(what, "it holds no certificate in PEM"));
    }
    Ok(all)
}

fn check_validity(what: &str, certificates: &[Parsed], now: Timestamp) -> Result<Warnings, SecretError> {
    let mut warnings = vec![];
    for (_, certificate) in certificates {
        let validity = certificate.tbs_certificate().validity();
        let time =
            |t: std::time::Duration| i64::try_from(t.as_secs()).ok().and_then(|s| Timestamp::from_second(s).ok());
        // Beyond the year 9999 nothing expires.
        let from = time(validity.not_before.to_unix_duration()).unwrap_or(Timestamp::MIN);
        let until = time(validity.not_after.to_unix_duration()).unwrap_or(Timestamp::MAX);
        if until < now {
            return Err(SecretError::check(what, format!("the certificate expired at {until}")));
        }
        if now < from {
            return Err(SecretError::check(what, format!("the certificate is not valid before {from}")));
        }
        if until.duration_since(now) < SOON {
            warnings.push(format!("{what}: the certificate expires at {until}"));
        }
    }
    Ok(warnings)
}

fn check_pair(chain: Vec<Parsed>, key: &[u8]) -> Result<Warnings, SecretError> {
    if key.windows(9).any(|w| w == b"ENCRYPTED") {
        return Err(SecretError::check(KEY, "the key is encrypted, and Flux has no password for it"));
    }
    let key =
        PrivateKeyDer::from_pem_slice(key).map_err(|_| SecretError::check(KEY, "it holds no private key in PEM"))?;
    let Ok(key) = rustls::crypto::aws_lc_rs::sign::any_supported_type(&key) else {
        return Ok(vec![format!("{KEY}: this kind of key is not checked")]);
    };
    let chain = chain.into_iter().map(|(der, _)| der).collect();
    match CertifiedKey::new(chain, key).keys_match() {
        Ok(()) => Ok(vec![]),
        Err(rustls::Error::InconsistentKeys(rustls::InconsistentKeys::KeyMismatch)) => {
            Err(SecretError::check(KEY, "it does not belong to the first certificate of tls-crt-file"))
        }
        Err(_) => Ok(vec![format!("{KEY}: whether it belongs to the certificate is not checked")]),
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

    struct Pair {
        certificate: String,
        key: String,
    }

    fn pair(ca: bool) -> Pair {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec!["flux".into()]).unwrap();
        params.not_before = date_time_ymd(2025, 1, 1);
        params.not_after = date_time_ymd(2026, 1, 1);
        params.is_ca = if ca { IsCa::Ca(CaLength::Unconstrained) } else { IsCa::NoCa };
        Pair { certificate: params.self_signed(&key).unwrap().pem(), key: key.serialize_pem() }
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
    fn an_authority_should_say_that_it_is_one() {
        let (plain, ca) = (pair(false), pair(true));
        assert_eq!(tls(None, None, Some(&ca.certificate)).check(on("2025-06-01")), Ok(vec![]));
        assert_eq!(tls(None, None, Some(&plain.certificate)).check(on("2025-06-01")).unwrap().len(), 1);
        assert!(tls(None, None, Some("hello")).check(on("2025-06-01")).is_err());
    }
}
