//! Signatures made by cosign with a static key, in both formats. Keyless signatures are out of scope: they need
//! sigstore's services and a trust root that has to be kept up to date.
//!
//! * the older form: tag `sha256-HEX.sig`, a layer `simplesigning.v1+json`, the signature over it in an annotation
//!   (<https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md>);
//! * the newer one, of cosign 3: a sigstore bundle that refers to the manifest, with an in-toto statement in a DSSE
//!   envelope (<https://github.com/sigstore/cosign/blob/main/specs/BUNDLE_SPEC.md>,
//!   <https://github.com/secure-systems-lab/dsse/blob/master/protocol.md>).

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P384_SHA256_ASN1, ECDSA_P384_SHA384_ASN1, ED25519, RSA_PKCS1_2048_8192_SHA256,
    UnparsedPublicKey, VerificationAlgorithm,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls_pki_types::SubjectPublicKeyInfoDer;
use rustls_pki_types::pem::PemObject;
use serde_json::Value;
use x509_cert::der::Decode;
use x509_cert::der::asn1::ObjectIdentifier;
use x509_cert::spki::SubjectPublicKeyInfoRef;

use super::error::Reason;
use super::{Descriptor, Digest, Manifest, MediaType, OciError, Registries, Repository};

const SIMPLE_SIGNING: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
const SIGNATURE_ANNOTATION: &str = "dev.cosignproject.cosign/signature";
/// Without the version, which does not affect the parts read here.
const BUNDLE: &str = "application/vnd.dev.sigstore.bundle";
const STATEMENT: &str = "application/vnd.in-toto+json";
/// The predicate of a signature; attestations with the same key have other predicates.
const SIGN_PREDICATE: &str = "https://sigstore.dev/cosign/sign/v1";
const MAX_SIGNATURE_BYTES: u64 = 1 << 20;
/// Limit for all signatures together. Their number has no limit: anybody with push access could hide a good signature
/// behind many small ones.
const MAX_BYTES: u64 = 64 << 20;

const EC_PUBLIC_KEY: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const P256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");
const P384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.34");
const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
const EDWARDS_25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");

/// A key that verifies signatures: ECDSA on P-256 or P-384, RSA from 2048 bits, or Ed25519.
#[derive(Clone)]
pub struct PublicKey {
    /// The key may have been used with any of these.
    algorithms: Vec<&'static dyn VerificationAlgorithm>,
    bytes: Vec<u8>,
}

impl std::fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PublicKey({})", hex::encode(&self.bytes))
    }
}

impl PublicKey {
    /// Reads the first public key of a PEM file, as written by `cosign public-key` and openssl.
    ///
    /// # Errors
    /// Why the text is not a public key of a supported kind.
    pub fn parse(pem: &[u8]) -> Result<PublicKey, String> {
        let der =
            SubjectPublicKeyInfoDer::from_pem_slice(pem).map_err(|_| "it holds no public key in PEM".to_owned())?;
        let key = SubjectPublicKeyInfoRef::from_der(&der).map_err(|_| "its public key is damaged".to_owned())?;
        let curve = key.algorithm.parameters.and_then(|parameters| parameters.decode_as::<ObjectIdentifier>().ok());
        let algorithms: Vec<&'static dyn VerificationAlgorithm> = match (key.algorithm.oid, curve) {
            (EC_PUBLIC_KEY, Some(P256)) => vec![&ECDSA_P256_SHA256_ASN1],
            // cosign has long used SHA-256 with every curve; other tools choose the hash by the curve.
            (EC_PUBLIC_KEY, Some(P384)) => vec![&ECDSA_P384_SHA384_ASN1, &ECDSA_P384_SHA256_ASN1],
            (EDWARDS_25519, _) => vec![&ED25519],
            (RSA, _) => vec![&RSA_PKCS1_2048_8192_SHA256],
            _ => return Err("its public key is not ECDSA on P-256 or P-384, RSA or Ed25519".to_owned()),
        };
        Ok(PublicKey { algorithms, bytes: key.subject_public_key.raw_bytes().to_vec() })
    }

    fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        self.algorithms
            .iter()
            .any(|algorithm| UnparsedPublicKey::new(*algorithm, &self.bytes).verify(message, signature).is_ok())
    }
}

/// Checks that a manifest has at least one signature that the key verifies. Unreadable signatures are skipped: anybody
/// with push access can add one, and it must not hide a good signature.
///
/// # Errors
/// No signature verifies, there is none, or the registry cannot be reached.
pub async fn verify_signature(
    registries: &Registries,
    repository: &Repository,
    digest: &Digest,
    key: &PublicKey,
) -> Result<(), OciError> {
    let mut search =
        SignatureSearch { registries, repository, digest, key, seen: 0, bytes_left: MAX_BYTES, skipped: Vec::new() };
    if search.find().await? {
        return Ok(());
    }
    let SignatureSearch { seen, skipped, .. } = search;
    let failed = |reason| OciError::new(format!("verify the signature of {repository}@{digest}"), reason);
    let text = skipped.first().map(|first| format!(", {} passed over: {first}", skipped.len()));
    match skipped.into_iter().next() {
        // Nothing could be read, so the failure is about the registry and not about signatures.
        Some(reason) if seen == 0 && reason.is_about_access() => Err(failed(reason)),
        _ => Err(failed(Reason::Unsigned { what: format!("{repository}@{digest}"), seen, skipped: text })),
    }
}

/// A search for a signature that verifies with a key.
struct SignatureSearch<'a> {
    registries: &'a Registries,
    repository: &'a Repository,
    digest: &'a Digest,
    key: &'a PublicKey,
    seen: usize,
    bytes_left: u64,
    /// The reasons of skipped signatures.
    skipped: Vec<Reason>,
}

impl SignatureSearch<'_> {
    /// Searches first under the tag that holds all signatures of the older form, then the referrers one by one.
    async fn find(&mut self) -> Result<bool, OciError> {
        let tag = self.repository.with_tag(&format!("sha256-{}.sig", self.digest.hex()));
        let tag = tag.map_err(|error| OciError::new("look for signatures", Reason::Config(error.to_string())))?;
        match self.registries.manifest(&tag).await {
            Ok(manifest) if self.is_among(&manifest).await => return Ok(true),
            Ok(_) | Err(OciError { reason: Reason::NotFound { .. }, .. }) => {}
            Err(error) => self.skipped.push(error.reason),
        }
        let referrers = match self.registries.referrers(self.repository, self.digest).await {
            Ok(referrers) => referrers,
            Err(error) => {
                self.skipped.push(error.reason);
                return Ok(false);
            }
        };
        for entry in referrers.iter().filter(|entry| may_be_bundle(entry)) {
            if self.bytes_left == 0 {
                break;
            }
            match self.registries.manifest(&self.repository.with_digest(entry.digest.clone())).await {
                Ok(manifest) if self.is_among(&manifest).await => return Ok(true),
                Ok(_) => {}
                Err(error) => self.skipped.push(error.reason),
            }
        }
        Ok(false)
    }

    /// Whether a manifest contains a good signature.
    async fn is_among(&mut self, manifest: &Manifest) -> bool {
        self.spend(manifest.bytes.len() as u64);
        for layer in &manifest.content.layers {
            if layer.media_type != SIMPLE_SIGNING && !is_bundle_type(&layer.media_type) {
                continue;
            }
            if self.bytes_left == 0 {
                return false;
            }
            let content = match self.registries.read_blob(self.repository, layer, MAX_SIGNATURE_BYTES).await {
                Ok(content) => content,
                Err(error) => {
                    self.skipped.push(error.reason);
                    continue;
                }
            };
            self.seen += 1;
            self.spend(content.len() as u64);
            let is_good = match layer.annotation(SIGNATURE_ANNOTATION) {
                Some(signature) => is_simple_signature(self.key, &content, signature, self.digest),
                None => is_bundle(self.key, &content, self.digest),
            };
            if is_good {
                return true;
            }
        }
        false
    }

    fn spend(&mut self, bytes: u64) {
        // Only the step that exhausts the budget is reported, not each one after it.
        let is_last = (1..=bytes).contains(&self.bytes_left);
        self.bytes_left = self.bytes_left.saturating_sub(bytes);
        if is_last {
            let what = format!("all that is attached to {}@{}", self.repository, self.digest);
            self.skipped.push(Reason::TooLarge { what, limit: MAX_BYTES });
        }
    }
}

fn is_bundle_type(media_type: &str) -> bool {
    media_type.starts_with(BUNDLE)
}

/// Whether an entry of the referrers may be a bundle. Referrers kept under a tag may lack the artifact type, or have
/// the type of the empty configuration; then the layer's type decides.
fn may_be_bundle(entry: &Descriptor) -> bool {
    let kind = entry.artifact_type.as_deref().unwrap_or_default();
    kind.is_empty() || kind == MediaType::EMPTY || is_bundle_type(kind)
}

/// Verifies the older form. The repository in the payload is not compared, because mirrors have other names.
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

/// Verifies the newer form.
fn is_bundle(key: &PublicKey, bundle: &[u8], digest: &Digest) -> bool {
    let bundle: Value = serde_json::from_slice(bundle).unwrap_or_default();
    let text = |pointer: &str| bundle.pointer(pointer).and_then(Value::as_str);
    let (Some(kind), Some(payload)) = (text("/dsseEnvelope/payloadType"), text("/dsseEnvelope/payload")) else {
        return false;
    };
    let Ok(payload) = STANDARD.decode(payload) else { return false };
    // The signature covers the type and the payload with their lengths ("pre-authentication encoding").
    let mut message = format!("DSSEv1 {} {kind} {} ", kind.len(), payload.len()).into_bytes();
    message.extend_from_slice(&payload);
    let signatures = bundle.pointer("/dsseEnvelope/signatures").and_then(Value::as_array);
    let is_signed = signatures.into_iter().flatten().any(|signature| {
        let signature = signature.get("sig").and_then(Value::as_str).and_then(|text| STANDARD.decode(text).ok());
        signature.is_some_and(|signature| key.verifies(&message, &signature))
    });
    let statement: Value = serde_json::from_slice(&payload).unwrap_or_default();
    let is_about = |subject: &Value| subject.pointer("/digest/sha256").and_then(Value::as_str) == Some(digest.hex());
    // Without the predicate check, an attestation by the same key (a scan, an SBOM) would count as a signature of the
    // image.
    let subjects = statement.get("subject").and_then(Value::as_array);
    is_signed
        && kind == STATEMENT
        && statement.get("predicateType").and_then(Value::as_str) == Some(SIGN_PREDICATE)
        && subjects.into_iter().flatten().any(is_about)
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::rand::SystemRandom;
    use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair};
    use serde_json::json;

    use super::super::scripted_server::{ScriptedServer, answer};
    use super::*;
    use crate::{Access, RegistryCredentials};

    // Made with cosign 3.1.3, `sign --key`, in both forms, over the manifest in `signed-manifest.json`.
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

    /// Returns a new key and a function that signs with it.
    fn own_key() -> (PublicKey, impl Fn(&[u8]) -> String) {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, document.as_ref()).unwrap();
        let bytes = pair.public_key().as_ref().to_vec();
        let key = PublicKey { algorithms: vec![&ECDSA_P256_SHA256_ASN1], bytes };
        (key, move |message: &[u8]| STANDARD.encode(pair.sign(&SystemRandom::new(), message).unwrap()))
    }

    fn bundle(sign: impl Fn(&[u8]) -> String, kind: &str, predicate: &str, digest: &Digest) -> String {
        let payload =
            json!({"predicateType": predicate, "subject": [{"digest": {"sha256": digest.hex()}}]}).to_string();
        let signature = sign(format!("DSSEv1 {} {kind} {} {payload}", kind.len(), payload.len()).as_bytes());
        let payload = STANDARD.encode(payload);
        json!({"dsseEnvelope": {"payloadType": kind, "payload": payload, "signatures": [{"sig": signature}]}})
            .to_string()
    }

    /// Answers of a registry without a referrers API, by the end of the path.
    #[derive(Default)]
    struct SignedContent {
        answers: Vec<(String, String)>,
        entries: Vec<Value>,
    }

    impl SignedContent {
        fn answer_to(&mut self, name: &str, text: &str) {
            self.answers.push((name.to_owned(), answer(200, "", text)));
        }

        /// Adds a manifest with one layer and returns its list entry.
        fn add(&mut self, layer: &Descriptor) -> Value {
            let config = Descriptor::of(MediaType::EMPTY, b"{}");
            let text = json!({"schemaVersion": 2, "config": config, "layers": [layer]}).to_string();
            let entry = Descriptor::of(MediaType::MANIFEST, text.as_bytes());
            self.answer_to(&entry.digest.to_string(), &text);
            json!(entry)
        }

        /// Adds a bundle as cosign attaches it; `kind` is its type in the list.
        fn add_bundle(&mut self, text: &str, kind: Option<&str>) {
            let layer = Descriptor::of("application/vnd.dev.sigstore.bundle.v0.3+json", text.as_bytes());
            self.answer_to(&layer.digest.to_string(), text);
            let mut entry = self.add(&layer);
            entry["artifactType"] = json!(kind);
            self.entries.push(entry);
        }

        /// Starts the registry and verifies a manifest there.
        async fn verify(mut self, digest: &Digest, key: &PublicKey) -> Result<(), Reason> {
            let list =
                json!({"schemaVersion": 2, "mediaType": MediaType::INDEX, "manifests": self.entries}).to_string();
            self.answer_to(&format!("sha256-{}", digest.hex()), &list);
            let registry = ScriptedServer::start(move |request| {
                let path = request.split(' ').nth(1).unwrap_or_default();
                let found = self.answers.iter().find(|(name, _)| path.ends_with(&format!("/{name}")));
                found.map_or_else(|| answer(404, "", ""), |(_, text)| text.clone())
            })
            .await;
            let mut access = Access::new(RegistryCredentials::Anonymous);
            access.retry_pause = std::time::Duration::from_millis(1);
            let repository = format!("{}/org/app", registry.host).parse().unwrap();
            verify_signature(&Registries::new(access), &repository, digest, key).await.map_err(|error| error.reason)
        }
    }

    #[tokio::test]
    async fn a_bundle_is_found_behind_an_entry_of_an_unknown_type() {
        let (key, sign) = own_key();
        let digest = Digest::of(b"signed");
        let good = bundle(&sign, STATEMENT, SIGN_PREDICATE, &digest);
        let exact = "application/vnd.dev.sigstore.bundle.v0.3+json";
        for kind in [None, Some(""), Some(MediaType::EMPTY), Some(exact)] {
            let mut content = SignedContent::default();
            content.add_bundle(&good, kind);
            assert_eq!(content.verify(&digest, &key).await, Ok(()), "{kind:?}");
        }
        let mut content = SignedContent::default();
        content.add_bundle(&good, Some("application/spdx+json"));
        let error = content.verify(&digest, &key).await.unwrap_err();
        assert!(matches!(error, Reason::Unsigned { seen: 0, skipped: None, .. }), "{error:?}");
    }

    #[tokio::test]
    async fn signatures_that_cannot_be_read_do_not_hide_a_good_one_and_are_reported_without_one() {
        let ((key, sign), (_, sign_otherwise)) = (own_key(), own_key());
        let digest = Digest::of(b"signed");
        for is_signed in [true, false] {
            let mut content = SignedContent::default();
            content.answer_to(&format!("sha256-{}.sig", digest.hex()), "garbage");
            // In order: lost, not a manifest, without its layer, too large, other content, a failing server.
            content.entries.push(json!(Descriptor::of(MediaType::MANIFEST, b"lost")));
            let garbage = Descriptor::of(MediaType::MANIFEST, b"garbage");
            content.answer_to(&garbage.digest.to_string(), "garbage");
            content.entries.push(json!(garbage));
            let layer = Descriptor::of("application/vnd.dev.sigstore.bundle.v0.3+json", b"layer");
            let mut layers = vec![layer.clone(), Descriptor { size: MAX_SIGNATURE_BYTES + 1, ..layer.clone() }];
            for answer_of_it in [answer(200, "", "other"), answer(500, "", ""), "nonsense".to_owned()] {
                let layer = Descriptor::of(&layer.media_type, answer_of_it.as_bytes());
                content.answers.push((layer.digest.to_string(), answer_of_it));
                layers.push(Descriptor { size: 5, ..layer });
            }
            for layer in &layers {
                let entry = content.add(layer);
                content.entries.push(entry);
            }
            for number in 0..60 {
                let other = bundle(&sign_otherwise, STATEMENT, SIGN_PREDICATE, &Digest::of(&[number]));
                content.add_bundle(&other, None);
            }
            if is_signed {
                content.add_bundle(&bundle(&sign, STATEMENT, SIGN_PREDICATE, &digest), None);
                assert_eq!(content.verify(&digest, &key).await, Ok(()));
                continue;
            }
            let error = content.verify(&digest, &key).await.unwrap_err();
            assert!(matches!(error, Reason::Unsigned { seen: 60, .. }), "{error:?}");
            let text = error.to_string();
            assert!(text.contains("(60 seen, 8 passed over: ") && text.contains("does not parse"), "{text}");
        }
    }

    #[tokio::test]
    async fn attached_artifacts_are_read_up_to_a_size_limit() {
        let (key, sign) = own_key();
        let digest = Digest::of(b"signed");
        let good = bundle(&sign, STATEMENT, SIGN_PREDICATE, &digest);
        let layer = Descriptor::of("application/vnd.dev.sigstore.bundle.v0.3+json", good.as_bytes());
        let config = Descriptor::of(MediaType::EMPTY, b"{}");
        let text = json!({"schemaVersion": 2, "config": config, "layers": [layer]}).to_string();
        let manifest = Manifest::parse(None, text.into()).unwrap();
        let registry = ScriptedServer::start(move |_| answer(200, "", &good)).await;
        let repository = format!("{}/org/app", registry.host).parse().unwrap();
        let registries = Registries::new(Access::new(RegistryCredentials::Anonymous));
        let size = manifest.bytes.len() as u64;
        for (bytes_left, expected) in [(size + 1, true), (size, false), (0, false)] {
            let mut search = SignatureSearch {
                registries: &registries,
                repository: &repository,
                digest: &digest,
                key: &key,
                seen: 0,
                bytes_left,
                skipped: Vec::new(),
            };
            assert_eq!(search.is_among(&manifest).await, expected, "{bytes_left}");
            assert_eq!(search.skipped.is_empty(), bytes_left == 0);
        }
    }

    #[tokio::test]
    async fn a_registry_that_cannot_be_reached_is_not_an_artifact_without_signatures() {
        let mut access = Access::new(RegistryCredentials::Anonymous);
        access.retry_pause = std::time::Duration::from_millis(1);
        let repository = "127.0.0.1:1/org/app".parse().unwrap();
        let (digest, key) = (Digest::of(b"x"), own_key().0);
        let error = verify_signature(&Registries::new(access), &repository, &digest, &key).await.unwrap_err();
        assert!(matches!(error.reason, Reason::Unreachable { .. }), "{error:?}");
    }

    #[test]
    fn a_signed_statement_that_is_not_a_signature_is_refused() {
        let (key, sign) = own_key();
        let digest = Digest::of(b"x");
        let bundle = |kind: &str, predicate: &str, digest: &Digest| bundle(&sign, kind, predicate, digest);
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
        // The same with an unknown algorithm.
        let mut unknown = prefix;
        unknown[8] = 0x7f;
        let unknown = PublicKey::parse(&pem(&[&unknown[..], pair.public_key().as_ref()].concat()));
        assert!(unknown.unwrap_err().contains("is not ECDSA"));
        assert!(PublicKey::parse(b"").unwrap_err().contains("no public key"));
        assert!(PublicKey::parse(&pem(b"nonsense")).unwrap_err().contains("damaged"));
    }
}
