//! Verifies servers as Go does: by a chain to a CA, or because the server's own certificate is trusted.
//!
//! webpki verifies chains only. It refuses a server whose self-signed certificate is marked as a CA (`openssl req
//! -x509`, `tsh proxy kube`), and a bundle that contains nothing but the server's own certificate. Go accepts both,
//! because the certificate is in the pool. The exception here is just as narrow: the certificate must equal a trusted
//! one byte for byte, and its validity, names, purpose and critical extensions must be right.
//!
//! A server whose certificate is marked as a CA is also trusted if a CA of the bundle has issued it directly, because
//! webpki does not verify chains of such certificates. With intermediate CAs or name constraints it remains refused.
//!
//! webpki also treats every certificate of a bundle as a CA. Go does not, and neither does this verifier: trusting one
//! server's certificate must not mean trusting what that server signs.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use rustls_pki_types::{AlgorithmIdentifier, CertificateDer, ServerName, SignatureVerificationAlgorithm, UnixTime};
use x509_cert::Certificate;
use x509_cert::certificate::{TbsCertificate, Version};
use x509_cert::der::asn1::ObjectIdentifier;
use x509_cert::der::{Decode, Encode};
use x509_cert::ext::pkix::{BasicConstraints, ExtendedKeyUsage, KeyUsage, NameConstraints};
use x509_cert::spki::AlgorithmIdentifierOwned;

use super::TlsSetupError;

const SERVER_AUTH: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.1");
const ANY_PURPOSE: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.37.0");

/// Servers verified by a bundle or by the operating system.
#[derive(Debug)]
pub(super) struct TrustedServers {
    /// `None` if the bundle contains no CA.
    chains: Option<Arc<dyn ServerCertVerifier>>,
    /// `None` for the system's certificates, which are read only when a chain fails.
    bundle: Option<Vec<CertificateDer<'static>>>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl TrustedServers {
    pub(super) fn of_bundle(
        bundle: Vec<CertificateDer<'static>>,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, TlsSetupError> {
        let mut authorities = RootCertStore::empty();
        authorities.add_parsable_certificates(bundle.iter().filter(|der| is_authority(der)).cloned());
        let algorithms = provider.signature_verification_algorithms;
        let chains = if authorities.is_empty() {
            None
        } else {
            let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(authorities), provider).build();
            let verifier = verifier.map_err(|error| TlsSetupError::Protocol(Error::General(error.to_string())))?;
            Some(verifier as Arc<dyn ServerCertVerifier>)
        };
        Ok(TrustedServers { chains, bundle: Some(bundle), algorithms })
    }

    pub(super) fn of_system(provider: Arc<CryptoProvider>) -> Result<Self, TlsSetupError> {
        let algorithms = provider.signature_verification_algorithms;
        let verifier = rustls_platform_verifier::Verifier::new(provider).map_err(TlsSetupError::SystemCertificates)?;
        Ok(TrustedServers { chains: Some(Arc::new(verifier)), bundle: None, algorithms })
    }

    fn trusted(&self) -> Cow<'_, [CertificateDer<'static>]> {
        self.bundle.as_deref().map_or_else(|| Cow::Owned(system_certificates()), Cow::Borrowed)
    }
}

/// Returns the certificates that the system keeps in files. Where the system verifies certificates itself, its answer
/// is final.
#[cfg(all(unix, not(target_vendor = "apple"), not(target_os = "android")))]
fn system_certificates() -> Vec<CertificateDer<'static>> {
    rustls_native_certs::load_native_certs().certs
}

#[cfg(not(all(unix, not(target_vendor = "apple"), not(target_os = "android"))))]
fn system_certificates() -> Vec<CertificateDer<'static>> {
    Vec::new()
}

impl ServerCertVerifier for TrustedServers {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let refused = match &self.chains {
            None => Error::InvalidCertificate(CertificateError::UnknownIssuer),
            Some(chains) => {
                match chains.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
                    Ok(verified) => return Ok(verified),
                    Err(refused) => refused,
                }
            }
        };
        let trusted = self.trusted();
        let is_issued =
            |authority| is_authority(authority) && is_issued_by(end_entity, authority, now, self.algorithms);
        if trusted.contains(end_entity) || (is_authority(end_entity) && trusted.iter().any(is_issued)) {
            return verify_by_itself(end_entity, server_name, now);
        }
        Err(refused)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// Verifies dates, purpose, names and critical extensions of a certificate that is itself trusted, which makes its
/// signature irrelevant.
fn verify_by_itself(
    der: &CertificateDer<'_>,
    server_name: &ServerName<'_>,
    now: UnixTime,
) -> Result<ServerCertVerified, Error> {
    let unreadable = |_| Error::InvalidCertificate(CertificateError::BadEncoding);
    // Parsing refuses unknown critical extensions.
    let parsed = ParsedCertificate::try_from(der)?;
    let certificate = Certificate::from_der(der).map_err(unreadable)?;
    let certificate = certificate.tbs_certificate();
    check_dates(certificate, now)?;
    if !may_be_for_servers(certificate) {
        return Err(CertificateError::InvalidPurpose.into());
    }
    verify_server_name(&parsed, server_name)?;
    Ok(ServerCertVerified::assertion())
}

fn check_dates(certificate: &TbsCertificate, now: UnixTime) -> Result<(), CertificateError> {
    let seconds = |time: Duration| UnixTime::since_unix_epoch(Duration::from_secs(time.as_secs()));
    let not_before = seconds(certificate.validity().not_before.to_unix_duration());
    let not_after = seconds(certificate.validity().not_after.to_unix_duration());
    if now < not_before {
        return Err(CertificateError::NotValidYetContext { time: now, not_before });
    }
    if now > not_after {
        return Err(CertificateError::ExpiredContext { time: now, not_after });
    }
    Ok(())
}

/// Whether the purposes of a certificate, if it lists any, include servers.
fn may_be_for_servers(certificate: &TbsCertificate) -> bool {
    match certificate.get_extension::<ExtendedKeyUsage>() {
        Ok(None) => true,
        Ok(Some((_, ExtendedKeyUsage(all)))) => all.iter().any(|one| [SERVER_AUTH, ANY_PURPOSE].contains(one)),
        Err(_) => false,
    }
}

/// Whether a CA has signed a certificate. The CA must be within its dates, be allowed for servers, and have no name
/// constraints.
fn is_issued_by(
    der: &CertificateDer<'_>,
    authority: &CertificateDer<'_>,
    now: UnixTime,
    algorithms: WebPkiSupportedAlgorithms,
) -> bool {
    let (Ok(certificate), Ok(authority)) = (Certificate::from_der(der), Certificate::from_der(authority)) else {
        return false;
    };
    let (signed, authority) = (certificate.tbs_certificate(), authority.tbs_certificate());
    let is_suitable = signed.issuer() == authority.subject()
        && signed.signature() == certificate.signature_algorithm()
        && check_dates(authority, now).is_ok()
        && may_be_for_servers(authority)
        && matches!(authority.get_extension::<NameConstraints>(), Ok(None));
    let key = authority.subject_public_key_info();
    let (Ok(message), Some(signature), Some(bits)) =
        (signed.to_der(), certificate.signature().as_bytes(), key.subject_public_key.as_bytes())
    else {
        return false;
    };
    let has_signed = |algorithm: &&dyn SignatureVerificationAlgorithm| {
        is_algorithm(certificate.signature_algorithm(), algorithm.signature_alg_id())
            && is_algorithm(&key.algorithm, algorithm.public_key_alg_id())
            && algorithm.verify_signature(bits, &message, signature).is_ok()
    };
    is_suitable && algorithms.all.iter().any(has_signed)
}

/// Compares a parsed identifier with one that lacks the tag and the length in front.
fn is_algorithm(parsed: &AlgorithmIdentifierOwned, identifier: AlgorithmIdentifier) -> bool {
    // Identifiers are shorter than 128 bytes, so the length takes one.
    parsed.to_der().is_ok_and(|der| der.get(2..) == Some(identifier.as_ref()))
}

/// Whether a trusted certificate may act as a CA, by Go's rule: a version 3 certificate must say so, and its key usage
/// must allow it. Older versions have no extensions for that.
fn is_authority(der: &CertificateDer<'_>) -> bool {
    // Only webpki can read it, so webpki decides.
    let Ok(certificate) = Certificate::from_der(der) else { return true };
    let certificate = certificate.tbs_certificate();
    if certificate.version() != Version::V3 {
        return true;
    }
    let constraints = certificate.get_extension::<BasicConstraints>().ok().flatten();
    let usage = certificate.get_extension::<KeyUsage>().ok().flatten();
    constraints.is_some_and(|(_, constraints)| constraints.ca) && usage.is_none_or(|(_, usage)| usage.key_cert_sign())
}

/// Accepts every server, for `insecure-skip-tls-verify`.
#[derive(Debug)]
pub(super) struct UnverifiedServers {
    schemes: Vec<SignatureScheme>,
}

impl UnverifiedServers {
    pub(super) fn new(provider: &CryptoProvider) -> Self {
        UnverifiedServers { schemes: provider.signature_verification_algorithms.supported_schemes() }
    }
}

impl ServerCertVerifier for UnverifiedServers {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    // Without a verified certificate, a valid signature proves nothing.
    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes.clone()
    }
}
