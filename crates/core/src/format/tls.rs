//! TLS for clients: trusted servers and client certificates, shared by the API server and registries.
//!
//! The reference is kubectl, which uses Go's `crypto/tls` and `crypto/x509`. rustls differs from Go in four points,
//! which this module handles:
//!
//! * `ring` supports neither P-521 nor RSA keys with the exponent 3, so the cryptography is AWS-LC;
//! * an unreadable certificate in a bundle is skipped and does not invalidate the bundle;
//! * a server's own certificate in the bundle verifies that server (`verifier`);
//! * a client certificate may be X.509 version 1, as MicroK8s and `openssl x509 -req` create it: the client only
//!   presents it, and the server judges it.

use std::sync::{Arc, LazyLock};

use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::spki::SubjectPublicKeyInfoRef;

mod verifier;

use verifier::{TrustedServers, UnverifiedServers};

/// Why a TLS configuration cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum TlsSetupError {
    #[error("the client certificate: it holds no certificate in PEM")]
    NoClientCertificate,
    #[error("the client key: it holds no private key in PEM")]
    NoClientKey,
    #[error("the client key: {0}")]
    UnusableClientKey(rustls::Error),
    #[error("the client key does not belong to the client certificate")]
    KeyMismatch,
    #[error("the system's certificates: {0}")]
    SystemCertificates(rustls::Error),
    #[error("TLS: {0}")]
    Protocol(rustls::Error),
}

/// The servers that a client trusts.
pub enum ServerTrust {
    /// Servers that the operating system trusts.
    System,
    /// Servers verified by these certificates, as [`certificates`] reads them.
    Certificates(Vec<CertificateDer<'static>>),
    /// Every server.
    Unverified,
}

static PROVIDER: LazyLock<Arc<CryptoProvider>> =
    LazyLock::new(|| Arc::new(rustls::crypto::aws_lc_rs::default_provider()));

/// Creates the configuration of a client; `identity` is a certificate chain and its private key, both in PEM.
///
/// # Errors
/// The identity or the system's certificates cannot be used.
pub fn client_config(trust: ServerTrust, identity: Option<(&[u8], &[u8])>) -> Result<ClientConfig, TlsSetupError> {
    let provider = PROVIDER.clone();
    let verifier: Arc<dyn ServerCertVerifier> = match trust {
        ServerTrust::System => Arc::new(TrustedServers::of_system(provider.clone())?),
        ServerTrust::Certificates(bundle) => Arc::new(TrustedServers::of_bundle(bundle, provider.clone())?),
        ServerTrust::Unverified => Arc::new(UnverifiedServers::new(&provider)),
    };
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(TlsSetupError::Protocol)?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    Ok(match identity {
        // `with_client_auth_cert` would parse the certificate and refuse version 1.
        Some((certificate, key)) => builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(certified_key(
            certificate,
            key,
            &provider,
        )?))),
        None => builder.with_no_client_auth(),
    })
}

/// Returns the certificates of a bundle in PEM. Like Go, it skips blocks that are damaged or hold something else.
pub fn certificates(pem: &[u8]) -> Vec<CertificateDer<'static>> {
    let all = blocks(pem);
    let found = all.len();
    let usable: Vec<_> = all.into_iter().filter(|der| RootCertStore::empty().add(der.clone()).is_ok()).collect();
    if usable.len() < found {
        tracing::warn!("{} of {found} certificates of a bundle cannot be parsed and are skipped", found - usable.len());
    }
    usable
}

/// Decodes the PEM blocks whose label is a certificate's.
fn blocks(pem: &[u8]) -> Vec<CertificateDer<'static>> {
    const BEGIN: &[u8] = b"-----BEGIN ";
    // Each block is read separately, so that a block without an end does not swallow the next one.
    let starts: Vec<usize> =
        (0..pem.len()).filter(|at| pem.get(*at..).is_some_and(|rest| rest.starts_with(BEGIN))).collect();
    let ends = starts.iter().skip(1).copied().chain([pem.len()]);
    let blocks = starts.iter().zip(ends).filter_map(|(start, end)| pem.get(*start..end));
    blocks.filter_map(|block| CertificateDer::from_pem_slice(block).ok()).collect()
}

/// The first certificate of a chain in PEM.
pub fn first_certificate(pem: &[u8]) -> Option<CertificateDer<'static>> {
    blocks(pem).into_iter().next()
}

fn certified_key(certificate: &[u8], key: &[u8], provider: &CryptoProvider) -> Result<CertifiedKey, TlsSetupError> {
    let chain = blocks(certificate);
    let first = chain.first().ok_or(TlsSetupError::NoClientCertificate)?;
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| TlsSetupError::NoClientKey)?;
    let key = provider.key_provider.load_private_key(key).map_err(TlsSetupError::UnusableClientKey)?;
    // The server judges a certificate that cannot be read here.
    if let (Some(of_key), Ok(parsed)) = (key.public_key(), Certificate::from_der(first))
        && let Ok(of_key) = SubjectPublicKeyInfoRef::from_der(&of_key)
        && of_key.subject_public_key.raw_bytes()
            != parsed.tbs_certificate().subject_public_key_info().subject_public_key.raw_bytes()
    {
        return Err(TlsSetupError::KeyMismatch);
    }
    Ok(CertifiedKey::new(chain, key))
}

#[cfg(test)]
mod tests;
