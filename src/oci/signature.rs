//! Signatures that cosign makes with a static key, in both of its forms. Keyless ones are out of scope: they need
//! sigstore's services, and a trust root that has to be kept fresh.
//!
//! * the older form: tag `sha256-HEX.sig`, a layer `simplesigning.v1+json`, the signature over it in an annotation
//!   (<https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md>);
//! * the newer one, of cosign 3: a sigstore bundle that refers to the manifest, with an in-toto statement in a DSSE
//!   envelope (<https://github.com/sigstore/cosign/blob/main/specs/BUNDLE_SPEC.md>,
//!   <https://github.com/secure-systems-lab/dsse/blob/master/protocol.md>).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P384_SHA256_ASN1, ECDSA_P384_SHA384_ASN1, ED25519, RSA_PKCS1_2048_8192_SHA256,
    UnparsedPublicKey, VerificationAlgorithm,
};
use rustls_pki_types::SubjectPublicKeyInfoDer;
use rustls_pki_types::pem::PemObject;
use serde_json::Value;
use x509_cert::der::Decode;
use x509_cert::der::asn1::ObjectIdentifier;
use x509_cert::spki::SubjectPublicKeyInfoRef;

use super::error::Reason;
use super::{Digest, Manifest, OciError, Registries, Repository};

const SIMPLE_SIGNING: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
const SIGNATURE_ANNOTATION: &str = "dev.cosignproject.cosign/signature";
const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
const STATEMENT: &str = "application/vnd.in-toto+json";
/// What a signature states; attestations made with the same key state something else.
const SIGN_PREDICATE: &str = "https://sigstore.dev/cosign/sign/v1";
/// Anybody who can push may add signatures; no honest artifact has this many.
const MAX_SIGNATURES: usize = 50;
const MAX_SIGNATURE_BYTES: u64 = 1 << 20;

const EC_PUBLIC_KEY: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const P256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");
const P384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.34");
const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
const EDWARDS_25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");

/// A key that verifies signatures: ECDSA on P-256 or P-384, RSA from 2048 bits, or Ed25519.
#[derive(Clone)]
pub struct PublicKey {
    /// Any of them may have been used with such a key.
    algorithms: Vec<&'static dyn VerificationAlgorithm>,
    bytes: Vec<u8>,
}

impl std::fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PublicKey({})", hex::encode(&self.bytes))
    }
}

impl PublicKey {
    /// Reads the first public key of a PEM file, as `cosign public-key` and openssl write it.
    ///
    /// # Errors
    /// Why it is none, or none of a kind that is understood.
    pub fn parse(pem: &[u8]) -> Result<PublicKey, String> {
        let der =
            SubjectPublicKeyInfoDer::from_pem_slice(pem).map_err(|_| "it holds no public key in PEM".to_owned())?;
        let key = SubjectPublicKeyInfoRef::from_der(&der).map_err(|_| "its public key is damaged".to_owned())?;
        let curve = key.algorithm.parameters.and_then(|parameters| parameters.decode_as::<ObjectIdentifier>().ok());
        let algorithms: Vec<&'static dyn VerificationAlgorithm> = match (key.algorithm.oid, curve) {
            (EC_PUBLIC_KEY, Some(P256)) => vec![&ECDSA_P256_SHA256_ASN1],
            (EC_PUBLIC_KEY, Some(P384)) => vec![&ECDSA_P384_SHA384_ASN1, &ECDSA_P384_SHA256_ASN1],
            (EDWARDS_25519, _) => vec![&ED25519],
            (RSA, _) => vec![&RSA_PKCS1_2048_8192_SHA256],
            _ => return Err("its public key is none of ECDSA on P-256 or P-384, RSA and Ed25519".to_owned()),
        };
        Ok(PublicKey { algorithms, bytes: key.subject_public_key.raw_bytes().to_vec() })
    }

    fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        self.algorithms
            .iter()
            .any(|algorithm| UnparsedPublicKey::new(*algorithm, &self.bytes).verify(message, signature).is_ok())
    }
}

/// Makes sure that a manifest carries a signature which the key verifies; one good one is enough.
///
/// # Errors
/// There is none, or the registry cannot be asked. An artifact without any signature is an error too.
pub async fn verify_signature(
    registries: &Registries,
    repository: &Repository,
    digest: &Digest,
    key: &PublicKey,
) -> Result<(), OciError> {
    let failed = |reason| OciError::new(format!("verify the signature of {repository}@{digest}"), reason);
    let mut seen = 0;
    for manifest in signature_manifests(registries, repository, digest).await? {
        let layers = manifest.content.layers.iter().take(MAX_SIGNATURES);
        for layer in layers.filter(|layer| matches!(layer.media_type.as_str(), SIMPLE_SIGNING | BUNDLE)) {
            seen += 1;
            let content = registries.read_blob(repository, layer, MAX_SIGNATURE_BYTES).await?;
            let is_good = match layer.annotation(SIGNATURE_ANNOTATION) {
                Some(signature) => is_simple_signature(key, &content, signature, digest),
                None => is_bundle(key, &content, digest),
            };
            if is_good {
                return Ok(());
            }
        }
    }
    Err(failed(Reason::Unsigned { what: format!("{repository}@{digest}"), seen }))
}

async fn signature_manifests(
    registries: &Registries,
    repository: &Repository,
    digest: &Digest,
) -> Result<Vec<Manifest>, OciError> {
    let mut manifests = Vec::new();
    let tag = repository.with_tag(&format!("sha256-{}.sig", digest.hex()));
    let tag = tag.map_err(|error| OciError::new("look for signatures", Reason::Config(error.to_string())))?;
    match registries.manifest(&tag).await {
        Ok(manifest) => manifests.push(manifest),
        Err(OciError { reason: Reason::NotFound { .. }, .. }) => {}
        Err(error) => return Err(error),
    }
    let referrers = registries.referrers(repository, digest).await?;
    // Lists kept under a tag may lack the type; the layer tells then.
    let bundles = referrers.iter().filter(|entry| entry.artifact_type.as_deref().is_none_or(|kind| kind == BUNDLE));
    for entry in bundles.take(MAX_SIGNATURES) {
        manifests.push(registries.manifest(&repository.with_digest(entry.digest.clone())).await?);
    }
    Ok(manifests)
}

/// The older form. The repository that is named in the payload is not compared: mirrors have other names.
fn is_simple_signature(key: &PublicKey, payload: &[u8], signature: &str, digest: &Digest) -> bool {
    let Ok(signature) = STANDARD.decode(signature.trim()) else { return false };
    if !key.verifies(payload, &signature) {
        return false;
    }
    let payload: Value = serde_json::from_slice(payload).unwrap_or_default();
    let text = |pointer: &str| payload.pointer(pointer).and_then(Value::as_str);
    text("/critical/type") == Some("cosign container image signature")
        && text("/critical/image/docker-manifest-digest") == Some(digest.to_string().as_str())
}

/// The newer form.
fn is_bundle(key: &PublicKey, bundle: &[u8], digest: &Digest) -> bool {
    let bundle: Value = serde_json::from_slice(bundle).unwrap_or_default();
    let text = |pointer: &str| bundle.pointer(pointer).and_then(Value::as_str);
    let (Some(kind), Some(payload)) = (text("/dsseEnvelope/payloadType"), text("/dsseEnvelope/payload")) else {
        return false;
    };
    let Ok(payload) = STANDARD.decode(payload) else { return false };
    // What is signed is the type and the payload with their lengths ("pre-authentication encoding").
    let mut message = format!("DSSEv1 {} {kind} {} ", kind.len(), payload.len()).into_bytes();
    message.extend_from_slice(&payload);
    let signatures = bundle.pointer("/dsseEnvelope/signatures").and_then(Value::as_array);
    let is_signed = signatures.into_iter().flatten().take(MAX_SIGNATURES).any(|signature| {
        let signature = signature.get("sig").and_then(Value::as_str).and_then(|text| STANDARD.decode(text).ok());
        signature.is_some_and(|signature| key.verifies(&message, &signature))
    });
    let statement: Value = serde_json::from_slice(&payload).unwrap_or_default();
    let is_about = |subject: &Value| subject.pointer("/digest/sha256").and_then(Value::as_str) == Some(digest.hex());
    let subjects = statement.get("subject").and_then(Value::as_array);
    is_signed
        && kind == STATEMENT
        && statement.get("predicateType").and_then(Value::as_str) == Some(SIGN_PREDICATE)
        && subjects.into_iter().flatten().any(is_about)
}

#[cfg(test)]
mod tests {
    use ring::rand::SystemRandom;
    use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair};
    use serde_json::json;

    use super::*;

    // Made once by cosign 3.1.3 with `sign --key`, in both forms, over the manifest in `signed-manifest.json`.
    const KEY: &[u8] = include_bytes!("samples/cosign.pub");
    const OTHER_KEY: &[u8] = include_bytes!("samples/other.pub");
    const PAYLOAD: &[u8] = include_bytes!("samples/simple-signing.json");
    const BUNDLE_FILE: &[u8] = include_bytes!("samples/bundle.json");
    const SIGNATURE: &str =
        "MEYCIQC7pQ6/agZ8MN5Zkh7g+CgsTHnpspvxusyzh3tRMpOnGAIhAPu4Is7uEHveDE9oX2iNK8kHnzKe1/LZQxEMnAn9pE47";

    fn signed() -> Digest {
        Digest::of(include_bytes!("samples/signed-manifest.json"))
    }

    #[test]
    fn signatures_of_cosign_are_verified_in_both_forms() {
        let key = PublicKey::parse(KEY).unwrap();
        assert!(is_simple_signature(&key, PAYLOAD, SIGNATURE, &signed()));
        assert!(is_bundle(&key, BUNDLE_FILE, &signed()));
    }

    #[test]
    fn another_key_another_manifest_and_altered_content_are_refused() {
        let (key, other) = (PublicKey::parse(KEY).unwrap(), PublicKey::parse(OTHER_KEY).unwrap());
        let elsewhere = Digest::of(b"another manifest");
        assert!(!is_simple_signature(&other, PAYLOAD, SIGNATURE, &signed()));
        assert!(!is_simple_signature(&key, PAYLOAD, SIGNATURE, &elsewhere));
        assert!(!is_bundle(&other, BUNDLE_FILE, &signed()));
        assert!(!is_bundle(&key, BUNDLE_FILE, &elsewhere));
        let altered = String::from_utf8(PAYLOAD.to_vec()).unwrap().replace(signed().hex(), elsewhere.hex());
        assert!(!is_simple_signature(&key, altered.as_bytes(), SIGNATURE, &elsewhere));
        for signature in ["", "!", "AAAA", &SIGNATURE[4..]] {
            assert!(!is_simple_signature(&key, PAYLOAD, signature, &signed()), "{signature}");
        }
        for bundle in [
            "",
            "{}",
            "[]",
            "{\"dsseEnvelope\": {\"payload\": 1}}",
            "{\"dsseEnvelope\": {\"payloadType\": \"a\", \"payload\": \"!\"}}",
        ] {
            assert!(!is_bundle(&key, bundle.as_bytes(), &signed()), "{bundle}");
        }
    }

    /// Returns a new key, and what signs with it.
    fn own_key() -> (PublicKey, impl Fn(&[u8]) -> String) {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, document.as_ref(), &random).unwrap();
        let bytes = pair.public_key().as_ref().to_vec();
        let key = PublicKey { algorithms: vec![&ECDSA_P256_SHA256_ASN1], bytes };
        (key, move |message: &[u8]| STANDARD.encode(pair.sign(&SystemRandom::new(), message).unwrap()))
    }

    #[test]
    fn what_is_signed_must_be_a_signature_and_not_some_other_statement() {
        let (key, sign) = own_key();
        let digest = Digest::of(b"x");
        let bundle = |kind: &str, predicate: &str, digest: &Digest| {
            let payload =
                json!({"predicateType": predicate, "subject": [{"digest": {"sha256": digest.hex()}}]}).to_string();
            let signature = sign(format!("DSSEv1 {} {kind} {} {payload}", kind.len(), payload.len()).as_bytes());
            let payload = STANDARD.encode(payload);
            json!({"dsseEnvelope": {"payloadType": kind, "payload": payload, "signatures": [{"sig": signature}]}})
                .to_string()
        };
        assert!(is_bundle(&key, bundle(STATEMENT, SIGN_PREDICATE, &digest).as_bytes(), &digest));
        assert!(!is_bundle(&key, bundle(STATEMENT, "https://slsa.dev/provenance/v1", &digest).as_bytes(), &digest));
        assert!(!is_bundle(&key, bundle("text/plain", SIGN_PREDICATE, &digest).as_bytes(), &digest));
        let simple = |kind: &str| {
            let image = json!({"docker-manifest-digest": digest.to_string()});
            let payload = json!({"critical": {"type": kind, "image": image}}).to_string();
            is_simple_signature(&key, payload.as_bytes(), &sign(payload.as_bytes()), &digest)
        };
        assert!(simple("cosign container image signature"));
        assert!(!simple("something else"));
    }

    #[test]
    fn keys_of_several_kinds_are_read_and_others_are_refused() {
        let pem = |der: &[u8]| {
            format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", STANDARD.encode(der)).into_bytes()
        };
        let pair =
            Ed25519KeyPair::from_pkcs8(Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap().as_ref()).unwrap();
        // SubjectPublicKeyInfo of Ed25519 is this prefix and the 32 bytes (RFC 8410).
        let prefix = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
        let key = PublicKey::parse(&pem(&[&prefix[..], pair.public_key().as_ref()].concat())).unwrap();
        assert!(key.verifies(b"message", pair.sign(b"message").as_ref()));
        assert!(!key.verifies(b"another", pair.sign(b"message").as_ref()));
        // The same with an algorithm nobody knows.
        let mut unknown = prefix;
        unknown[8] = 0x7f;
        let unknown = PublicKey::parse(&pem(&[&unknown[..], pair.public_key().as_ref()].concat()));
        assert!(unknown.unwrap_err().contains("none of"));
        assert!(PublicKey::parse(b"").unwrap_err().contains("no public key"));
        assert!(PublicKey::parse(&pem(b"nonsense")).unwrap_err().contains("damaged"));
    }
}
