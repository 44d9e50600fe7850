//! Reading and writing, with every kind of credentials and certificates.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flux_operator::format::proxy::ProxyEnvironment;
use flux_operator::oci::{
    self, Access, BlobSource, ByteCounter, ClientIdentity, Descriptor, Digest, ImageLocation, Login, Manifest,
    MediaType, Platform, PublicKey, Reason, Reference, Registries, RegistryAccess, RegistryCredentials,
    verify_signature,
};
use hyper::body::Bytes;
use serde_json::{Value, json};

use super::cosign::{Cosign, Form};
use super::support::ConnectProxy;
use super::support::certificates::{Authority, Validity};
use super::support::registry::{Authentication, PASSWORD, Registry, RegistryOptions};
use super::{access, client, image, login, noise, push, repository, tests};

tests![
    pushed_artifacts_are_read_by_other_tools_and_by_us,
    artifacts_pushed_by_other_tools_are_read,
    an_index_leads_to_the_image_of_a_platform,
    a_large_blob_is_sent_from_a_file_and_saved_to_one,
    tags_are_listed_over_pages,
    a_password_opens_a_registry_and_a_wrong_one_does_not,
    tokens_are_fetched_once_for_each_scope,
    a_blob_is_mounted_from_another_repository_under_token_authentication,
    referrers_of_a_manifest_are_listed_for_us_and_for_regctl,
    a_signature_is_found_in_both_forms_and_its_absence_is_an_error,
    tls_needs_the_right_authority,
    a_client_certificate_is_shown_where_it_is_asked_for,
    a_proxy_is_asked_for_every_registry_but_those_on_loopback,
    the_debug_output_of_credentials_shows_no_secret,
];

async fn pushed_artifacts_are_read_by_other_tools_and_by_us() {
    let registry = Registry::start().await.unwrap();
    let client = client(RegistryCredentials::Anonymous);
    let reference = repository(&registry.host(), "team/app").with_tag("v1").unwrap();
    let pushed = push(&client, &reference, b"hello").await;

    let digest = registry.judge("crane", &["digest", &reference.to_string()]).unwrap();
    assert_eq!(digest.trim(), pushed.digest.to_string());
    let manifest = registry.judge("crane", &["manifest", &reference.to_string()]).unwrap();
    assert_eq!(manifest.as_bytes(), &pushed.bytes[..]);
    let layer = &pushed.content.layers[0];
    let blob = format!("{}@{}", reference.repository, layer.digest);
    assert_eq!(registry.judge("crane", &["blob", &blob]).unwrap(), "hello");
    let tags = registry.judge("regctl", &["tag", "ls", &reference.repository.to_string()]).unwrap();
    assert_eq!(tags, "v1\n");

    let resolved = client.resolve(&reference).await.unwrap();
    assert_eq!(resolved, pushed.descriptor());
    let read = client.manifest(&reference.at(resolved.digest)).await.unwrap();
    assert_eq!(read.bytes, pushed.bytes);
    assert_eq!(client.read_blob(&reference.repository, layer, 100).await.unwrap(), "hello");
    let error = client.read_blob(&reference.repository, layer, 4).await.unwrap_err();
    assert!(matches!(error.reason, Reason::TooLarge { limit: 4, .. }), "{error:?}");
    assert_eq!(client.tags(&reference.repository).await.unwrap(), ["v1"]);

    let missing = client.resolve(&reference.repository.with_tag("v2").unwrap()).await.unwrap_err();
    assert!(matches!(missing.reason, Reason::NotFound { .. }), "{missing:?}");
    assert_eq!(missing.to_string(), format!("cannot resolve oci://{}:v2", reference.repository));
    let missing = client.tags(&repository(&registry.host(), "other")).await.unwrap_err();
    assert!(matches!(missing.reason, Reason::NotFound { .. }), "{missing:?}");
}

async fn artifacts_pushed_by_other_tools_are_read() {
    let registry = Registry::start().await.unwrap();
    let file = registry.folder().join("layer.tar");
    let mut archive = tar::Builder::new(std::fs::File::create(&file).unwrap());
    let mut header = tar::Header::new_gnu();
    header.set_size(2);
    header.set_mode(0o644);
    archive.append_data(&mut header, "a.txt", b"hi".as_slice()).unwrap();
    archive.into_inner().unwrap();
    let text = format!("{}/made/by-crane:x", registry.host());
    registry.judge("crane", &["append", "--oci-empty-base", "-f", &file.display().to_string(), "-t", &text]).unwrap();

    let client = client(RegistryCredentials::Anonymous);
    let reference: Reference = text.parse().unwrap();
    let place = ImageLocation::Repository(client.clone(), reference.repository.clone());
    let manifest = oci::artifact_manifest(&place, "x").await.unwrap();
    let [layer] = &manifest.content.layers[..] else { panic!("{manifest:?}") };
    let bytes = client.read_blob(&reference.repository, layer, 1 << 20).await.unwrap();
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(&bytes[..]));
    let names: Vec<_> = archive.entries().unwrap().map(|e| e.unwrap().path().unwrap().into_owned()).collect();
    assert_eq!(names, [std::path::Path::new("a.txt")]);
}

async fn an_index_leads_to_the_image_of_a_platform() {
    let registry = Registry::start().await.unwrap();
    let client = client(RegistryCredentials::Anonymous);
    let repository = repository(&registry.host(), "multi");
    let mut entries = Vec::new();
    for architecture in ["arm64", "amd64"] {
        let tag = repository.with_tag(architecture).unwrap();
        let manifest = push(&client, &tag, architecture.as_bytes()).await;
        let platform = Platform { architecture: architecture.to_owned(), ..Platform::linux_amd64() };
        entries.push(Descriptor { platform: Some(platform), ..manifest.descriptor() });
    }
    let index = json!({"schemaVersion": 2, "mediaType": MediaType::INDEX, "manifests": entries});
    let index = Manifest::parse(None, Bytes::from(index.to_string())).unwrap();
    let reference = repository.with_tag("all").unwrap();
    client.push_manifest(&reference, &index).await.unwrap();
    assert_eq!(registry.judge("crane", &["digest", &reference.to_string()]).unwrap().trim(), index.digest.to_string());

    let place = ImageLocation::Repository(client.clone(), repository.clone());
    let digests = async |name: &str, platform: &Platform| -> Vec<Digest> {
        let path = place.path_to_image(name, platform).await.unwrap();
        path.into_iter().map(|manifest| manifest.digest).collect()
    };
    let amd64 = Platform::linux_amd64();
    assert_eq!(digests("all", &amd64).await, [index.digest.clone(), entries[1].digest.clone()]);
    let other = Platform { os: "plan9".to_owned(), ..Platform::linux_amd64() };
    let error = place.path_to_image("all", &other).await.unwrap_err();
    assert!(error.reason.to_string().ends_with("it has no image for plan9/amd64"), "{error:?}");

    // An index may lead to another one, and say nothing of platforms; but not for ever.
    let mut expected = digests("all", &amd64).await;
    let mut inner = index.descriptor();
    for depth in ["2", "3", "4"] {
        let index = json!({"schemaVersion": 2, "mediaType": MediaType::INDEX, "manifests": [inner]});
        let index = Manifest::parse(None, Bytes::from(index.to_string())).unwrap();
        client.push_manifest(&repository.with_tag(depth).unwrap(), &index).await.unwrap();
        expected.insert(0, index.digest.clone());
        assert_eq!(digests(depth, &amd64).await, expected);
        inner = index.descriptor();
    }
    let index = json!({"schemaVersion": 2, "mediaType": MediaType::INDEX, "manifests": [inner]});
    let index = Manifest::parse(None, Bytes::from(index.to_string())).unwrap();
    client.push_manifest(&repository.with_tag("5").unwrap(), &index).await.unwrap();
    let error = place.path_to_image("5", &amd64).await.unwrap_err();
    assert!(error.reason.to_string().contains("more than 4 indexes"), "{error:?}");
}

async fn a_large_blob_is_sent_from_a_file_and_saved_to_one() {
    let registry = Registry::start().await.unwrap();
    let client = client(RegistryCredentials::Anonymous);
    let repository = repository(&registry.host(), "large");
    let content = noise(5_000_001);
    let (from, to) = (registry.folder().join("from"), registry.folder().join("to"));
    std::fs::write(&from, &content).unwrap();
    let descriptor = Descriptor::of("application/octet-stream", &content);
    let counted = Arc::new(AtomicU64::new(0));
    let sum = counted.clone();
    let counter: ByteCounter = Arc::new(move |bytes| {
        sum.fetch_add(bytes, Ordering::Relaxed);
    });
    let source = BlobSource::File { path: from, offset: 0 };
    assert!(client.push_blob(&repository, &descriptor, &source, None, Some(&counter)).await.unwrap());
    assert_eq!(counted.load(Ordering::Relaxed), descriptor.size);
    assert!(std::fs::read(registry.stored_blob(descriptor.digest.hex())).unwrap() == content);
    // It is there now, so nothing is sent.
    assert!(!client.push_blob(&repository, &descriptor, &source, None, Some(&counter)).await.unwrap());
    assert_eq!(counted.load(Ordering::Relaxed), descriptor.size);
    client.save_blob(&repository, &descriptor, &to, None).await.unwrap();
    assert!(std::fs::read(to).unwrap() == content);

    let other = Descriptor { digest: Descriptor::of("", b"other").digest, ..descriptor };
    let error = client.push_blob(&repository, &other, &source, None, None).await.unwrap_err();
    assert!(matches!(error.reason, Reason::Server { code: 400, .. }), "{error:?}");
}

async fn tags_are_listed_over_pages() {
    let registry = Registry::start().await.unwrap();
    let client = client(RegistryCredentials::Anonymous);
    let repository = repository(&registry.host(), "many");
    let manifest = push(&client, &repository.with_tag("t0000").unwrap(), b"x").await;
    // More than the thousand of a page.
    let pushes = (1..1020).map(|number| {
        let (client, manifest) = (&client, &manifest);
        let reference = repository.with_tag(&format!("t{number:04}")).unwrap();
        async move { client.push_manifest(&reference, manifest).await.unwrap() }
    });
    futures::StreamExt::collect::<Vec<()>>(futures::StreamExt::buffer_unordered(futures::stream::iter(pushes), 8))
        .await;
    let tags = client.tags(&repository).await.unwrap();
    assert_eq!(tags.len(), 1020);
    assert!(tags.is_sorted());
}

async fn a_password_opens_a_registry_and_a_wrong_one_does_not() {
    let options = RegistryOptions { authentication: Authentication::Password, ..RegistryOptions::default() };
    let registry = Registry::start_with(options).await.unwrap();
    let host = registry.host();
    let reference = repository(&host, "private").with_tag("v1").unwrap();
    let pushed = push(&client(login(&host, PASSWORD)), &reference, b"hello").await;
    assert_eq!(registry.judge("crane", &["digest", &reference.to_string()]).unwrap().trim(), pushed.digest.to_string());

    let anonymous = client(RegistryCredentials::Anonymous).resolve(&reference).await.unwrap_err();
    assert_eq!(anonymous.reason, Reason::Unauthorized { registry: host.clone(), anonymous: true });
    let wrong = client(login(&host, "wrong")).manifest(&reference).await.unwrap_err();
    assert_eq!(wrong.reason, Reason::Unauthorized { registry: host, anonymous: false });
}

async fn tokens_are_fetched_once_for_each_scope() {
    let options = RegistryOptions { authentication: Authentication::Token, ..RegistryOptions::default() };
    let registry = Registry::start_with(options).await.unwrap();
    let host = registry.host();
    let reference = repository(&host, "team/app").with_tag("v1").unwrap();
    let client = client(login(&host, PASSWORD));
    let pushed = push(&client, &reference, b"hello").await;
    client.resolve(&reference).await.unwrap();
    client.read_blob(&reference.repository, &pushed.content.layers[0], 100).await.unwrap();
    let scope = |actions: &str| format!("service=test-registry&scope=repository:team/app:{actions}");
    assert_eq!(registry.token_requests(), [scope("pull,push"), scope("pull")]);

    // Everyone gets a token to read here; a token to write needs a password.
    let anonymous = super::client(RegistryCredentials::Anonymous);
    assert_eq!(anonymous.resolve(&reference).await.unwrap().digest, pushed.digest);
    let other = image(pushed.blobs().next().unwrap(), &[]);
    let error = anonymous.push_manifest(&reference, &other).await.unwrap_err();
    assert_eq!(error.reason, Reason::Unauthorized { registry: host.clone(), anonymous: true });
    let wrong = super::client(login(&host, "wrong")).resolve(&reference).await.unwrap_err();
    assert_eq!(wrong.reason, Reason::Unauthorized { registry: host, anonymous: false });
}

async fn a_blob_is_mounted_from_another_repository_under_token_authentication() {
    for authentication in [Authentication::None, Authentication::Password, Authentication::Token] {
        let options = RegistryOptions { authentication, ..RegistryOptions::default() };
        let registry = Registry::start_with(options).await.unwrap();
        let host = registry.host();
        let client = client(login(&host, PASSWORD));
        let (from, to) = (repository(&host, "from"), repository(&host, "to"));
        let pushed = push(&client, &from.with_tag("v1").unwrap(), b"hello").await;
        let layer = &pushed.content.layers[0];
        // The content would be wrong, so it is the mount or nothing.
        let source = BlobSource::Bytes(Bytes::from_static(b"wrong"));
        let sent = client.push_blob(&to, layer, &source, Some(&from), None).await;
        assert!(!sent.unwrap(), "{authentication:?}");
        assert!(client.has_blob(&to, &layer.digest).await.unwrap());
        assert_eq!(client.read_blob(&to, layer, 100).await.unwrap(), "hello");
        // A blob that cannot be mounted is uploaded.
        let other = Descriptor::of("text/plain", b"other");
        let source = BlobSource::Bytes(Bytes::from_static(b"other"));
        assert!(client.push_blob(&to, &other, &source, Some(&from), None).await.unwrap());
    }
}

async fn referrers_of_a_manifest_are_listed_for_us_and_for_regctl() {
    let registry = Registry::start().await.unwrap();
    let client = client(RegistryCredentials::Anonymous);
    let repository = repository(&registry.host(), "signed");
    let subject = push(&client, &repository.with_tag("v1").unwrap(), b"x").await;
    assert!(client.referrers(&repository, &subject.digest).await.unwrap().is_empty());
    let mut digests = Vec::new();
    for kind in ["application/vnd.test.one", "application/vnd.test.two"] {
        let mut text: Value =
            serde_json::from_slice(&image(&subject.blobs().next().unwrap().clone(), &[]).bytes).unwrap();
        text["artifactType"] = json!(kind);
        text["subject"] = json!(subject.descriptor());
        text["annotations"] = json!({"kind": kind});
        let manifest = Manifest::parse(None, Bytes::from(text.to_string())).unwrap();
        let reference = repository.with_digest(manifest.digest.clone());
        client.push_manifest(&reference, &manifest).await.unwrap();
        client.push_manifest(&reference, &manifest).await.unwrap();
        digests.push(manifest.digest.clone());
    }
    let listed = client.referrers(&repository, &subject.digest).await.unwrap();
    assert_eq!(listed.iter().map(|entry| entry.digest.clone()).collect::<Vec<_>>(), digests);
    assert_eq!(listed[1].artifact_type.as_deref(), Some("application/vnd.test.two"));
    assert_eq!(listed[0].annotation("kind"), Some("application/vnd.test.one"));
    let text = registry.judge("regctl", &["artifact", "list", &format!("{repository}:v1")]).unwrap();
    assert!(digests.iter().all(|digest| text.contains(&digest.to_string())), "{text}");
}

async fn a_signature_is_found_in_both_forms_and_its_absence_is_an_error() {
    let (registry, cosign) = (Registry::start().await.unwrap(), Cosign::new().await);
    let client = client(RegistryCredentials::Anonymous);
    let key = |name: &str| PublicKey::parse(&std::fs::read(cosign.make_key(name)).unwrap()).unwrap();
    let (ours, theirs) = (key("ours"), key("theirs"));
    for form in [Form::Tag, Form::Bundle] {
        let repository = repository(&registry.host(), &format!("{form:?}").to_lowercase());
        let digest = push(&client, &repository.with_tag("v1").unwrap(), b"content").await.digest;
        let manifest = repository.with_digest(digest.clone());
        let unsigned = verify_signature(&client, &repository, &digest, &ours).await.unwrap_err();
        assert!(matches!(unsigned.reason, Reason::Unsigned { seen: 0, .. }), "{unsigned:?}");

        cosign.sign("theirs", &manifest, form);
        let error = verify_signature(&client, &repository, &digest, &ours).await.unwrap_err();
        assert!(matches!(error.reason, Reason::Unsigned { seen: 1, .. }), "{error:?}");
        assert!(!cosign.verifies("ours", &manifest));
        verify_signature(&client, &repository, &digest, &theirs).await.unwrap();
        // A single good signature is enough, regardless of others beside it.
        cosign.sign("ours", &manifest, form);
        verify_signature(&client, &repository, &digest, &ours).await.unwrap();
        verify_signature(&client, &repository, &digest, &theirs).await.unwrap();
        assert!(cosign.verifies("ours", &manifest));
        // The signature is for that manifest, not for the repository.
        let second = push(&client, &repository.with_tag("v2").unwrap(), b"other content").await;
        verify_signature(&client, &repository, &second.digest, &ours).await.unwrap_err();
    }
}

fn access_with(host: &str, settings: RegistryAccess) -> Access {
    let mut access = access(RegistryCredentials::Anonymous);
    access.registries.insert(host.to_owned(), settings);
    access
}

async fn tls_needs_the_right_authority() {
    let (authority, other) = (Authority::new("ours").unwrap(), Authority::new("other").unwrap());
    let options = RegistryOptions { authority: Some(&authority), ..RegistryOptions::default() };
    let registry = Registry::start_with(options).await.unwrap();
    let host = registry.host();
    let reference = repository(&host, "app").with_tag("v1").unwrap();
    let trusting = |authority: &Authority| RegistryAccess {
        authorities: Some(authority.certificate().as_bytes().to_vec()),
        ..RegistryAccess::default()
    };
    let client = Registries::new(access_with(&host, trusting(&authority)));
    let pushed = push(&client, &reference, b"hello").await;
    assert_eq!(client.resolve(&reference).await.unwrap().digest, pushed.digest);
    let system = RegistryAccess { plain_http: Some(false), ..RegistryAccess::default() };
    for settings in [trusting(&other), system] {
        let error = Registries::new(access_with(&host, settings)).resolve(&reference).await.unwrap_err();
        assert!(matches!(error.reason, Reason::Tls { .. }), "{error:?}");
    }
    // Plain http, as is usual on loopback, is not what this one speaks.
    let plain = super::client(RegistryCredentials::Anonymous).resolve(&reference).await.unwrap_err();
    assert!(matches!(plain.reason, Reason::Server { code: 400, .. }), "{plain:?}");
}

async fn a_client_certificate_is_shown_where_it_is_asked_for() {
    let authority = Authority::new("ours").unwrap();
    let clients = Authority::new("clients").unwrap();
    let options =
        RegistryOptions { authority: Some(&authority), client_authority: Some(&clients), ..RegistryOptions::default() };
    let registry = Registry::start_with(options).await.unwrap();
    let host = registry.host();
    let reference = repository(&host, "app").with_tag("v1").unwrap();
    let certificate = clients.client("someone", &[], Validity::Current).unwrap();
    let identity = ClientIdentity { certificate: certificate.certificate.into_bytes(), key: certificate.key.into() };
    let authorities = Some(authority.certificate().as_bytes().to_vec());
    let with = RegistryAccess { authorities: authorities.clone(), identity: Some(identity), plain_http: None };
    push(&Registries::new(access_with(&host, with)), &reference, b"hello").await;
    let without = RegistryAccess { authorities, ..RegistryAccess::default() };
    let error = Registries::new(access_with(&host, without)).resolve(&reference).await.unwrap_err();
    assert!(matches!(error.reason, Reason::Tls { .. }), "{error:?}");
}

async fn a_proxy_is_asked_for_every_registry_but_those_on_loopback() {
    let registry = Registry::start().await.unwrap();
    let proxy = ConnectProxy::start().await.unwrap();
    let mut access = access(RegistryCredentials::Anonymous);
    access.proxy = ProxyEnvironment {
        https_proxy: Some(proxy.url()),
        http_proxy: Some(proxy.url()),
        no_proxy: Some("direct.invalid".to_owned()),
    };
    access
        .registries
        .insert("plain.invalid".into(), RegistryAccess { plain_http: Some(true), ..RegistryAccess::default() });
    let client = Registries::new(access);
    push(&client, &repository(&registry.host(), "a").with_tag("x").unwrap(), b"hello").await;
    assert!(proxy.tunnels().is_empty());
    for host in ["tls.invalid", "plain.invalid", "tls.invalid:5000", "direct.invalid"] {
        let error = client.resolve(&repository(host, "a").with_tag("x").unwrap()).await.unwrap_err();
        assert!(matches!(error.reason, Reason::Unreachable { .. }), "{error:?}");
    }
    let mut tunnels = proxy.tunnels();
    tunnels.dedup();
    assert_eq!(tunnels, ["tls.invalid:443", "plain.invalid:80", "tls.invalid:5000"]);
}

async fn the_debug_output_of_credentials_shows_no_secret() {
    let secret = || "s3cret".to_owned().into();
    let login = [
        Login::Password { username: "alice".to_owned(), password: secret() },
        Login::IdentityToken(secret()),
        Login::RegistryToken(secret()),
    ];
    let identity = ClientIdentity { certificate: b"s3cret".to_vec(), key: secret() };
    let shown =
        format!("{login:?} {identity:?} {:?} {:?}", super::login("a", "s3cret"), client(super::login("a", "s3cret")));
    assert!(!shown.contains("s3cret"), "{shown}");
}
