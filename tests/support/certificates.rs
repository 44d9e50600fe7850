//! Certificates and tokens of the test clusters: one CA each, with elliptic curve keys.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    SigningKey, date_time_ymd,
};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::json;
use tokio_rustls::TlsAcceptor;

use super::Fallible;

/// A certificate and its private key, both PEM.
#[derive(Clone)]
pub struct KeyedCertificate {
    pub certificate: String,
    pub key: String,
}

impl KeyedCertificate {
    pub fn parse(&self) -> Fallible<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)> {
        let chain = CertificateDer::pem_slice_iter(self.certificate.as_bytes()).collect::<Result<_, _>>()?;
        Ok((chain, PrivateKeyDer::from_pem_slice(self.key.as_bytes())?))
    }
}

/// Validity of a certificate today.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Validity {
    Current,
    /// Expired in 2021.
    Expired,
}

pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: String,
}

impl Authority {
    pub fn new(name: &str) -> Fallible<Authority> {
        let mut params = params(name, Validity::Current)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages =
            vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?.pem();
        Ok(Authority { issuer: Issuer::new(params, key), certificate })
    }

    /// The CA's own certificate, PEM.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Issues a server certificate for `names` (host names and addresses).
    pub fn server(&self, names: &[&str]) -> Fallible<KeyedCertificate> {
        let mut params = params(names.first().copied().unwrap_or("server"), Validity::Current)?;
        let named = CertificateParams::new(names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>())?;
        params.subject_alt_names = named.subject_alt_names;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.issue(&params)
    }

    /// Issues a client certificate for `user` in `groups`.
    pub fn client(&self, user: &str, groups: &[&str], validity: Validity) -> Fallible<KeyedCertificate> {
        let mut params = params(user, validity)?;
        for group in groups {
            params.distinguished_name.push(DnType::OrganizationName, *group);
        }
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.issue(&params)
    }

    fn issue(&self, params: &CertificateParams) -> Fallible<KeyedCertificate> {
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?.pem();
        Ok(KeyedCertificate { certificate, key: key.serialize_pem() })
    }
}

fn params(name: &str, validity: Validity) -> Fallible<CertificateParams> {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    (params.not_before, params.not_after) = match validity {
        Validity::Current => (date_time_ymd(2021, 1, 1), date_time_ymd(2121, 1, 1)),
        Validity::Expired => (date_time_ymd(2020, 1, 1), date_time_ymd(2021, 1, 1)),
    };
    Ok(params)
}

/// Returns a TLS acceptor with `identity` for HTTP/1.1.
pub fn tls_acceptor(identity: &KeyedCertificate) -> Fallible<TlsAcceptor> {
    let (chain, key) = identity.parse()?;
    let config = rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// The key that signs service account tokens, for the API server and for tests.
pub struct TokenKey {
    key: KeyPair,
}

impl TokenKey {
    pub fn new() -> Fallible<TokenKey> {
        Ok(TokenKey { key: KeyPair::generate()? })
    }

    pub fn private_key(&self) -> String {
        self.key.serialize_pem()
    }

    pub fn public_key(&self) -> String {
        self.key.public_key_pem()
    }

    /// The public half as a set of JSON web keys (RFC 7517).
    pub fn jwks(&self) -> String {
        // An uncompressed point: 04, then the two coordinates.
        let point = self.key.public_key_raw();
        let coordinate = |from: usize| URL_SAFE_NO_PAD.encode(point.get(from..from + 32).unwrap_or_default());
        let key = json!({"kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": "test", "x": coordinate(1), "y": coordinate(33)});
        json!({"keys": [key]}).to_string()
    }

    /// Signs any bytes as cosign does: ECDSA over their SHA-256, in base64.
    pub fn signature(&self, bytes: &[u8]) -> Fallible<String> {
        Ok(STANDARD.encode(self.key.sign(bytes)?))
    }

    /// Signs a token for `access` to a registry, valid for five minutes.
    pub fn registry_token(&self, issuer: &str, service: &str, access: &serde_json::Value) -> Fallible<String> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        let header = json!({"alg": "ES256", "typ": "JWT", "kid": "test"});
        let claims = json!({
            "iss": issuer, "aud": service, "sub": "test", "iat": now, "nbf": now - 5, "exp": now + 300, "jti": "test",
            "access": access,
        });
        self.signed(&header, &claims)
    }

    fn signed(&self, header: &serde_json::Value, claims: &serde_json::Value) -> Fallible<String> {
        let part = |value: &serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(header), part(claims));
        let signature = fixed_size_signature(&self.key.sign(signed.as_bytes())?)?;
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    /// Signs a token for `default` in `default` that expired an hour ago.
    pub fn expired_token(&self, issuer: &str) -> Fallible<String> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        let header = json!({"alg": "ES256", "typ": "JWT"});
        let claims = json!({
            "iss": issuer, "aud": [issuer], "sub": "system:serviceaccount:default:default",
            "iat": now - 7200, "nbf": now - 7200, "exp": now - 3600,
            "kubernetes.io": {"namespace": "default", "serviceaccount": {"name": "default", "uid": "0"}},
        });
        self.signed(&header, &claims)
    }
}

/// Turns an ASN.1 signature (a sequence of two integers) into the two 32-byte numbers of RFC 7518 §3.4.
fn fixed_size_signature(der: &[u8]) -> Fallible<Vec<u8>> {
    let [0x30, _, rest @ ..] = der else { return Err("the signature is not a sequence".into()) };
    let mut rest = rest;
    let mut out = Vec::with_capacity(64);
    for _ in 0..2 {
        let [0x02, length, tail @ ..] = rest else { return Err("the signature lacks an integer".into()) };
        let (number, tail) = tail.split_at_checked(usize::from(*length)).ok_or("the signature is cut short")?;
        let significant: Vec<u8> = number.iter().copied().skip_while(|byte| *byte == 0).collect();
        out.extend(std::iter::repeat_n(0, 32_usize.saturating_sub(significant.len())));
        out.extend(significant);
        rest = tail;
    }
    Ok(out)
}
