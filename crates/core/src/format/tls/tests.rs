//! TLS handshakes in memory. Each case states what kubectl does with the same server or client.

use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, GeneralSubtree, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, NameConstraints, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P521_SHA512, SignatureAlgorithm,
    date_time_ymd,
};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::verify_tls13_signature_with_raw_key;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::time_provider::TimeProvider;
use rustls::{
    CertificateError, ClientConnection, Connection, DigitallySignedStruct, DistinguishedName, Error, ServerConfig,
    ServerConnection, SignatureScheme,
};
use rustls_pki_types::{SubjectPublicKeyInfoDer, UnixTime};
use x509_cert::der::Encode;

use super::*;

const NAME: &str = "server.example";
const RSA_EXPONENT_3: &str = include_str!("../samples/rsa-exponent-3.pem");
const X509_V1: &str = include_str!("../samples/x509-v1.pem");

/// The clock of every client here: 2030-01-01.
#[derive(Debug)]
struct FixedClock;

impl TimeProvider for FixedClock {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(Duration::from_secs(1_893_456_000)))
    }
}

/// A certificate and its key.
struct Pair {
    params: CertificateParams,
    key: KeyPair,
    pem: String,
}

impl Pair {
    /// Creates a self-signed certificate. By default it is a server's, valid from 2021 to 2121, and not a CA.
    fn new(algorithm: &'static SignatureAlgorithm, change: impl FnOnce(&mut CertificateParams)) -> Pair {
        let (params, key) = parts(algorithm, change);
        let pem = params.self_signed(&key).unwrap().pem();
        Pair { params, key, pem }
    }

    fn p256(change: impl FnOnce(&mut CertificateParams)) -> Pair {
        Pair::new(&PKCS_ECDSA_P256_SHA256, change)
    }

    fn authority() -> Pair {
        Pair::p256(make_authority)
    }

    fn issue(&self, change: impl FnOnce(&mut CertificateParams)) -> Pair {
        let (params, key) = parts(&PKCS_ECDSA_P256_SHA256, change);
        let pem = params.signed_by(&key, &Issuer::from_params(&self.params, &self.key)).unwrap().pem();
        Pair { params, key, pem }
    }

    fn serves(&self) -> Server<'_> {
        Server { certificate: &self.pem, key: self.key.serialize_pem() }
    }
}

fn parts(
    algorithm: &'static SignatureAlgorithm,
    change: impl FnOnce(&mut CertificateParams),
) -> (CertificateParams, KeyPair) {
    let mut params = CertificateParams::new(vec![NAME.to_owned()]).unwrap();
    params.distinguished_name.push(DnType::CommonName, NAME);
    (params.not_before, params.not_after) = (date_time_ymd(2021, 1, 1), date_time_ymd(2121, 1, 1));
    change(&mut params);
    (params, KeyPair::generate_for(algorithm).unwrap())
}

fn make_authority(params: &mut CertificateParams) {
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
}

struct Server<'a> {
    certificate: &'a str,
    key: String,
}

/// Connects to `server` as `NAME` and trusts only `bundle`.
fn connect(server: &Server<'_>, bundle: &str) -> Result<(), Error> {
    let config = client_config(ServerTrust::Certificates(certificates(bundle.as_bytes())), None).unwrap();
    let chain = blocks(server.certificate.as_bytes());
    let key = PrivateKeyDer::from_pem_slice(server.key.as_bytes()).unwrap();
    let server = server_builder().with_no_client_auth().with_single_cert(chain, key).unwrap();
    handshake(config, server)
}

fn server_builder() -> rustls::ConfigBuilder<ServerConfig, rustls::WantsVerifier> {
    ServerConfig::builder_with_provider(PROVIDER.clone()).with_safe_default_protocol_versions().unwrap()
}

fn handshake(mut client: ClientConfig, server: ServerConfig) -> Result<(), Error> {
    client.time_provider = Arc::new(FixedClock);
    let mut client: Connection = ClientConnection::new(Arc::new(client), NAME.try_into().unwrap()).unwrap().into();
    let mut server: Connection = ServerConnection::new(Arc::new(server)).unwrap().into();
    for _ in 0..10 {
        for is_to_server in [true, false] {
            let (from, to) = if is_to_server { (&mut client, &mut server) } else { (&mut server, &mut client) };
            let mut bytes = Vec::new();
            while from.wants_write() {
                from.write_tls(&mut bytes).unwrap();
            }
            let mut rest = bytes.as_slice();
            while !rest.is_empty() {
                to.read_tls(&mut rest).unwrap();
                to.process_new_packets()?;
            }
        }
    }
    assert!(!client.is_handshaking() && !server.is_handshaking());
    Ok(())
}

fn refusal(server: &Server<'_>, bundle: &str) -> CertificateError {
    match connect(server, bundle) {
        Err(Error::InvalidCertificate(error)) => error,
        other => panic!("the certificate is not refused: {other:?}"),
    }
}

#[test]
fn a_server_is_trusted_by_a_chain_or_by_its_own_certificate() {
    let authority = Pair::authority();
    let leaf = authority.issue(|_| {});
    // `openssl req -x509`, and Teleport's local proxy.
    let marked_as_authority = Pair::p256(make_authority);
    let plain = Pair::p256(|_| {});
    let with_usage = Pair::p256(|params| params.key_usages = vec![KeyUsagePurpose::DigitalSignature]);
    let any_purpose = authority.issue(|params| params.extended_key_usages = vec![ExtendedKeyUsagePurpose::Any]);
    for (case, server, bundle) in [
        ("a chain", &leaf, &authority.pem),
        ("the leaf alone", &leaf, &leaf.pem),
        ("an authority that serves", &marked_as_authority, &marked_as_authority.pem),
        ("a self-signed certificate", &plain, &plain.pem),
        ("one with a key usage", &with_usage, &with_usage.pem),
        ("one for any purpose", &any_purpose, &any_purpose.pem),
    ] {
        assert_eq!(connect(&server.serves(), bundle), Ok(()), "{case}");
        let among_others = format!("{}{bundle}", Pair::authority().pem);
        assert_eq!(connect(&server.serves(), &among_others), Ok(()), "{case}, among others");
    }
}

#[test]
fn a_server_marked_as_an_authority_is_trusted_where_a_trusted_authority_issued_it() {
    let authority = Pair::authority();
    let marked = |change: &dyn Fn(&mut CertificateParams)| {
        authority.issue(|params| {
            make_authority(params);
            change(params);
        })
    };
    let server = marked(&|_| {});
    assert_eq!(connect(&server.serves(), &authority.pem), Ok(()));
    assert_eq!(connect(&server.serves(), &format!("{}{}", Pair::authority().pem, authority.pem)), Ok(()));

    // Same names and issuer, but another key.
    refusal(&server.serves(), &Pair::authority().pem);
    refusal(&Pair::authority().issue(make_authority).serves(), &authority.pem);
    // The issuer is trusted as a server only.
    let plain = authority.issue(|_| {});
    refusal(&plain.issue(make_authority).serves(), &plain.pem);
    let expired = |params: &mut CertificateParams| params.not_after = date_time_ymd(2029, 12, 31);
    let for_clients =
        |params: &mut CertificateParams| params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let for_others = |params: &mut CertificateParams| {
        params.subject_alt_names = CertificateParams::new(vec!["other.example".to_owned()]).unwrap().subject_alt_names;
    };
    for change in [&expired as &dyn Fn(&mut CertificateParams), &for_clients, &for_others] {
        refusal(&marked(change).serves(), &authority.pem);
    }
    let constrained = |params: &mut CertificateParams| {
        params.name_constraints = Some(NameConstraints {
            permitted_subtrees: vec![GeneralSubtree::DnsName("example".to_owned())],
            excluded_subtrees: vec![],
        });
    };
    for change in [&expired as &dyn Fn(&mut CertificateParams), &for_clients, &constrained] {
        let other = Pair::p256(|params| {
            make_authority(params);
            change(params);
        });
        refusal(&other.issue(make_authority).serves(), &other.pem);
    }
}

#[test]
fn a_trusted_certificate_of_a_server_still_needs_its_dates_its_names_and_its_purpose() {
    let authority = Pair::authority();
    let expired = |params: &mut CertificateParams| params.not_after = date_time_ymd(2029, 12, 31);
    let of_the_future = |params: &mut CertificateParams| params.not_before = date_time_ymd(2030, 1, 2);
    let of_another = |params: &mut CertificateParams| {
        params.subject_alt_names = CertificateParams::new(vec!["other.example".to_owned()]).unwrap().subject_alt_names;
    };
    let of_a_client =
        |params: &mut CertificateParams| params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    for change in [&expired as &dyn Fn(&mut CertificateParams), &of_the_future, &of_another, &of_a_client] {
        let as_authority = Pair::p256(|params| {
            make_authority(params);
            change(params);
        });
        for server in [authority.issue(change), Pair::p256(change), as_authority] {
            let error = refusal(&server.serves(), &server.pem);
            assert!(
                matches!(
                    error,
                    CertificateError::ExpiredContext { .. }
                        | CertificateError::NotValidYetContext { .. }
                        | CertificateError::NotValidForNameContext { .. }
                        | CertificateError::InvalidPurpose
                        | CertificateError::InvalidPurposeContext { .. }
                ),
                "{error:?}"
            );
        }
    }
}

#[test]
fn a_certificate_that_looks_like_the_trusted_one_is_refused() {
    let authority = Pair::authority();
    let trusted = authority.issue(|_| {});
    // Same names and issuer, but another key.
    assert_eq!(refusal(&authority.issue(|_| {}).serves(), &trusted.pem), CertificateError::UnknownIssuer);
    assert_eq!(refusal(&Pair::p256(|_| {}).serves(), &trusted.pem), CertificateError::UnknownIssuer);
    // The server has the certificate but not its key.
    let thief = Server { certificate: &trusted.pem, key: Pair::p256(|_| {}).key.serialize_pem() };
    let config = client_config(ServerTrust::Certificates(certificates(trusted.pem.as_bytes())), None).unwrap();
    let key = PrivateKeyDer::from_pem_slice(thief.key.as_bytes()).unwrap();
    let stolen =
        CertifiedKey::new(blocks(thief.certificate.as_bytes()), PROVIDER.key_provider.load_private_key(key).unwrap());
    let server = server_builder().with_no_client_auth().with_cert_resolver(Arc::new(SingleCertAndKey::from(stolen)));
    assert_eq!(handshake(config, server), Err(CertificateError::BadSignature.into()));
}

#[test]
fn the_certificate_of_one_server_vouches_for_no_other() {
    let other = Pair::p256(|_| {});
    let not_for_certificates = Pair::p256(|params| {
        make_authority(params);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    });
    for trusted in [&other, &not_for_certificates] {
        let signed_by_it = trusted.issue(|_| {});
        assert_eq!(refusal(&signed_by_it.serves(), &trusted.pem), CertificateError::UnknownIssuer);
        let with_its_issuer =
            Server { certificate: &format!("{}{}", signed_by_it.pem, trusted.pem), ..signed_by_it.serves() };
        assert_eq!(refusal(&with_its_issuer, &trusted.pem), CertificateError::UnknownIssuer);
    }
}

#[test]
fn a_certificate_that_cannot_be_parsed_does_not_affect_the_others_in_a_bundle() {
    let authority = Pair::authority();
    let leaf = authority.issue(|_| {});
    let cut = authority.pem.replace("-----END CERTIFICATE-----\n", "");
    for junk in [
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n",
        "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n",
        "subject=/CN=x\n",
        cut.as_str(),
    ] {
        assert_eq!(connect(&leaf.serves(), &format!("{junk}{}", authority.pem)), Ok(()), "before: {junk}");
        assert_eq!(connect(&leaf.serves(), &format!("{}{junk}", authority.pem)), Ok(()), "behind: {junk}");
        assert_eq!(certificates(junk.as_bytes()), [], "{junk}");
    }
}

#[test]
fn servers_may_have_keys_on_p521_and_rsa_keys_with_the_exponent_3() {
    let p521 = Pair::new(&PKCS_ECDSA_P521_SHA512, |_| {});
    assert_eq!(connect(&p521.serves(), &p521.pem), Ok(()));
    let authority = Pair::new(&PKCS_ECDSA_P521_SHA512, make_authority);
    assert_eq!(connect(&authority.issue(|_| {}).serves(), &authority.pem), Ok(()));
    let rsa = Server { certificate: RSA_EXPONENT_3, key: RSA_EXPONENT_3.to_owned() };
    assert_eq!(connect(&rsa, RSA_EXPONENT_3), Ok(()));
}

/// Accepts every client that has the key of its certificate, of any version, as the API server does.
#[derive(Debug)]
struct AnyClient;

impl ClientCertVerifier for AnyClient {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("TLS 1.3 is expected".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let certificate = Certificate::from_der(certificate).unwrap();
        let key = certificate.tbs_certificate().subject_public_key_info().to_der().unwrap();
        let key = SubjectPublicKeyInfoDer::from(key.as_slice());
        verify_tls13_signature_with_raw_key(message, &key, signature, &PROVIDER.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        PROVIDER.signature_verification_algorithms.supported_schemes()
    }
}

#[test]
fn clients_may_show_version_1_p521_and_the_exponent_3() {
    let p521 = Pair::new(&PKCS_ECDSA_P521_SHA512, |_| {});
    let p521 = format!("{}{}", p521.pem, p521.key.serialize_pem());
    for identity in [X509_V1, RSA_EXPONENT_3, &p521] {
        let server = Pair::p256(|_| {});
        let trust = ServerTrust::Certificates(certificates(server.pem.as_bytes()));
        let config = client_config(trust, Some((identity.as_bytes(), identity.as_bytes()))).unwrap();
        let key = PrivateKeyDer::from_pem_slice(server.key.serialize_pem().as_bytes()).unwrap();
        let chain = blocks(server.pem.as_bytes());
        let server =
            server_builder().with_client_cert_verifier(Arc::new(AnyClient)).with_single_cert(chain, key).unwrap();
        assert_eq!(handshake(config, server), Ok(()));
    }
}

#[test]
fn a_client_certificate_needs_its_own_key() {
    let error = |certificate: &str, key: &str| {
        client_config(ServerTrust::Unverified, Some((certificate.as_bytes(), key.as_bytes()))).unwrap_err().to_string()
    };
    let other = Pair::p256(|_| {}).key.serialize_pem();
    for certificate in [X509_V1, RSA_EXPONENT_3] {
        assert_eq!(error(certificate, &other), "the client key does not belong to the client certificate");
    }
    assert_eq!(error("", &other), "the client certificate: it holds no certificate in PEM");
    assert_eq!(error(X509_V1, "canary"), "the client key: it holds no private key in PEM");
    let broken = error(X509_V1, "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n");
    assert!(broken.starts_with("the client key: "), "{broken}");
}

#[test]
fn without_verification_every_server_is_accepted() {
    let server = Pair::p256(|params| params.not_after = date_time_ymd(2022, 1, 1));
    let config = client_config(ServerTrust::Unverified, None).unwrap();
    let key = PrivateKeyDer::from_pem_slice(server.key.serialize_pem().as_bytes()).unwrap();
    let chain = blocks(server.pem.as_bytes());
    assert_eq!(handshake(config, server_builder().with_no_client_auth().with_single_cert(chain, key).unwrap()), Ok(()));
}
