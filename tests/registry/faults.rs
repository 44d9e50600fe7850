//! Faults between a client and a registry, and wrong answers of registries.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use flux_operator::oci::{BlobSource, Descriptor, DockerConfig, Manifest, Reason, Registries, RegistryCredentials};
use hyper::body::Bytes;
use serde_json::json;

use super::support::registry::{FaultyRegistry, Mishap, PASSWORD, Passed, Registry, USER};
use super::{access, client, login, noise, push, repository, tests};

tests![
    a_registry_that_asks_to_slow_down_is_asked_again_after_the_time_it_names,
    a_pause_that_is_too_long_is_an_error_at_once,
    answers_that_pass_are_repeated_and_others_are_not,
    a_request_that_is_cut_anywhere_does_no_harm,
    a_blob_that_breaks_off_is_resumed_where_it_stopped,
    a_blob_is_resumed_without_ranges_too,
    a_blob_that_is_not_what_its_digest_says_is_refused,
    a_manifest_that_is_not_what_its_digest_says_is_refused,
    bodies_without_end_are_not_read,
    a_registry_that_falls_silent_is_given_up,
    a_tag_that_moves_does_not_mix_two_artifacts,
    a_redirect_to_another_server_gets_no_credentials,
    redirects_do_not_go_on_for_ever,
    credentials_are_not_sent_to_a_token_server_without_tls,
    an_identity_token_is_exchanged_for_a_token,
    pages_that_never_end_are_an_error,
];

async fn through(
    registry: &Registry,
    decide: impl Fn(usize, &Passed) -> Mishap + Send + Sync + 'static,
) -> FaultyRegistry {
    FaultyRegistry::start(registry.port(), decide).await.unwrap()
}

fn answer(code: u16, headers: &[(&'static str, &str)]) -> Mishap {
    Mishap::Answer(code, headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect(), String::new())
}

async fn a_registry_that_asks_to_slow_down_is_asked_again_after_the_time_it_names() {
    let registry = Registry::start().await.unwrap();
    let faulty =
        through(&registry, |n, _| if n == 1 { answer(429, &[("retry-after", "1")]) } else { Mishap::None }).await;
    let begin = Instant::now();
    let pushed = push(
        &client(RegistryCredentials::Anonymous),
        &repository(&faulty.host(), "a").with_tag("x").unwrap(),
        b"hello",
    )
    .await;
    assert!(begin.elapsed() >= Duration::from_secs(1));
    assert_eq!(pushed.content.layers.len(), 1);
}

async fn a_pause_that_is_too_long_is_an_error_at_once() {
    let registry = Registry::start().await.unwrap();
    for (pause, requests) in [("3600", 1), ("0", 5)] {
        let faulty = through(&registry, move |_, _| answer(429, &[("retry-after", pause)])).await;
        let reference = repository(&faulty.host(), "a").with_tag("x").unwrap();
        let error = client(RegistryCredentials::Anonymous).manifest(&reference).await.unwrap_err();
        assert!(matches!(error.reason, Reason::TooManyRequests { .. }), "{error:?}");
        assert_eq!(faulty.passed().len(), requests);
    }
}

async fn answers_that_pass_are_repeated_and_others_are_not() {
    let registry = Registry::start().await.unwrap();
    let client = client(RegistryCredentials::Anonymous);
    let pushed = push(&client, &repository(&registry.host(), "a").with_tag("x").unwrap(), b"hello").await;
    let faulty = through(&registry, |n, _| if n < 3 { answer(503, &[]) } else { Mishap::None }).await;
    let reference = repository(&faulty.host(), "a").with_tag("x").unwrap();
    assert_eq!(client.manifest(&reference).await.unwrap().digest, pushed.digest);
    assert_eq!(faulty.passed().len(), 4);

    let body = json!({"errors": [{"code": "DENIED", "message": "no\u{1b}[31m"}]}).to_string();
    let faulty = through(&registry, move |_, _| Mishap::Answer(403, vec![], body.clone())).await;
    let reference = repository(&faulty.host(), "a").with_tag("x").unwrap();
    let error = client.manifest(&reference).await.unwrap_err();
    assert_eq!(error.reason, Reason::Denied { registry: faulty.host(), message: "no[31m".to_owned() });
    assert_eq!(faulty.passed().len(), 1);
}

/// Each request of a push and a pull once, before and after the registry did its work.
async fn a_request_that_is_cut_anywhere_does_no_harm() {
    let registry = Registry::start().await.unwrap();
    let work = async |host: &str, path: &str| {
        let client = client(RegistryCredentials::Anonymous);
        let reference = repository(host, path).with_tag("x").unwrap();
        let pushed = push(&client, &reference, path.as_bytes()).await;
        let read = client.manifest(&reference).await.unwrap();
        let layer = client.read_blob(&reference.repository, &read.content.layers[0], 100).await.unwrap();
        assert_eq!((pushed.digest, &layer[..]), (read.digest, path.as_bytes()));
    };
    let quiet = through(&registry, |_, _| Mishap::None).await;
    work(&quiet.host(), "calm").await;
    let requests = quiet.passed().len();
    assert!(requests >= 9, "{requests}");
    for mishap in [Mishap::Cut, Mishap::CutAnswer, Mishap::Truncate(1)] {
        for at in 0..requests {
            let (chosen, mishap) = (mishap.clone(), mishap.clone());
            let faulty = through(&registry, move |n, _| if n == at { chosen.clone() } else { Mishap::None }).await;
            let name = format!("{mishap:?}").to_lowercase().replace(['(', ')'], "");
            work(&faulty.host(), &format!("cut/{name}-{at}")).await;
        }
    }
}

async fn large(registry: &Registry, client: &Registries) -> (Descriptor, Vec<u8>) {
    let content = noise(400_000);
    let descriptor = Descriptor::of("application/octet-stream", &content);
    let source = BlobSource::Bytes(Bytes::from(content.clone()));
    client.push_blob(&repository(&registry.host(), "a"), &descriptor, &source, None, None).await.unwrap();
    (descriptor, content)
}

async fn a_blob_that_breaks_off_is_resumed_where_it_stopped() {
    let registry = Registry::start().await.unwrap();
    let client = client(RegistryCredentials::Anonymous);
    let (descriptor, content) = large(&registry, &client).await;
    let faulty = through(&registry, |n, _| if n < 3 { Mishap::Truncate(100_000) } else { Mishap::None }).await;
    let read = client.read_blob(&repository(&faulty.host(), "a"), &descriptor, 1 << 20).await.unwrap();
    assert!(read == content);
    let ranges: Vec<_> = faulty.passed().into_iter().map(|passed| passed.range.unwrap_or_default()).collect();
    assert_eq!(ranges, ["", "bytes=100000-", "bytes=200000-", "bytes=300000-"]);

    let faulty = through(&registry, |_, _| Mishap::Truncate(10)).await;
    let error = client.read_blob(&repository(&faulty.host(), "a"), &descriptor, 1 << 20).await.unwrap_err();
    assert!(matches!(error.reason, Reason::Unreachable { .. }), "{error:?}");
}

async fn a_blob_is_resumed_without_ranges_too() {
    let registry = Registry::start().await.unwrap();
    let client = client(RegistryCredentials::Anonymous);
    let (descriptor, content) = large(&registry, &client).await;
    let decide = |n, _: &Passed| match n {
        0 => Mishap::Truncate(123_457),
        _ => Mishap::IgnoreRange,
    };
    let faulty = through(&registry, decide).await;
    let read = client.read_blob(&repository(&faulty.host(), "a"), &descriptor, 1 << 20).await.unwrap();
    assert!(read == content);
}

async fn a_blob_that_is_not_what_its_digest_says_is_refused() {
    let registry = Registry::start().await.unwrap();
    let client = client(RegistryCredentials::Anonymous);
    let (descriptor, _) = large(&registry, &client).await;
    let faulty = through(&registry, |_, _| Mishap::Corrupt).await;
    let file = registry.folder().join("out");
    let error = client.save_blob(&repository(&faulty.host(), "a"), &descriptor, &file, None).await.unwrap_err();
    assert!(matches!(error.reason, Reason::Digest { .. }), "{error:?}");
    assert!(!file.exists());
    let leftovers = std::fs::read_dir(registry.folder()).unwrap().flatten();
    assert!(!leftovers.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with(".partial")));

    let size = descriptor.size;
    let whole = repository(&registry.host(), "a");
    for (announced, expected) in [(size - 1, "larger than 399999 bytes"), (size + 1, "400000 bytes, not 400001")] {
        let wrong = Descriptor { size: announced, ..descriptor.clone() };
        let error = client.read_blob(&whole, &wrong, 1 << 20).await.unwrap_err();
        assert!(error.reason.to_string().contains(expected), "{error:?}");
    }
}

async fn a_manifest_that_is_not_what_its_digest_says_is_refused() {
    let registry = Registry::start().await.unwrap();
    let client = client(RegistryCredentials::Anonymous);
    let pushed = push(&client, &repository(&registry.host(), "a").with_tag("x").unwrap(), b"hello").await;
    let other = [&pushed.bytes[..], b" "].concat();
    let faulty = through(&registry, move |_, _| Mishap::Replace(other.clone())).await;
    let repository = repository(&faulty.host(), "a");
    for reference in [repository.with_tag("x").unwrap(), repository.with_digest(pushed.digest.clone())] {
        let error = client.manifest(&reference).await.unwrap_err();
        assert!(matches!(error.reason, Reason::Digest { .. }), "{error:?}");
    }
    let body = json!({"schemaVersion": 2, "layers": "none"}).to_string();
    let faulty = through(&registry, move |_, _| Mishap::Answer(200, vec![], body.clone())).await;
    let reference = super::repository(&faulty.host(), "a").with_tag("x").unwrap();
    let error = client.manifest(&reference).await.unwrap_err();
    assert!(matches!(error.reason, Reason::Content { .. }), "{error:?}");
}

async fn bodies_without_end_are_not_read() {
    let registry = Registry::start().await.unwrap();
    let large = "x".repeat(5 << 20);
    let faulty = through(&registry, move |_, _| Mishap::Answer(200, vec![], large.clone())).await;
    let reference = repository(&faulty.host(), "a").with_tag("x").unwrap();
    let error = client(RegistryCredentials::Anonymous).manifest(&reference).await.unwrap_err();
    assert_eq!(error.reason, Reason::TooLarge { what: reference.url(), limit: 4 << 20 });
    let large = "x".repeat(1 << 20);
    let faulty = through(&registry, move |_, _| Mishap::Answer(418, vec![], large.clone())).await;
    let reference = repository(&faulty.host(), "a").with_tag("x").unwrap();
    let error = client(RegistryCredentials::Anonymous).manifest(&reference).await.unwrap_err();
    assert!(matches!(error.reason, Reason::Server { code: 418, .. }), "{error:?}");
}

async fn a_registry_that_falls_silent_is_given_up() {
    let registry = Registry::start().await.unwrap();
    let (descriptor, content) = large(&registry, &client(RegistryCredentials::Anonymous)).await;
    let mut access = access(RegistryCredentials::Anonymous);
    access.stall_timeout = Duration::from_millis(300);
    let client = Registries::new(access);
    let faulty = through(&registry, |n, _| if n == 0 { Mishap::Stall } else { Mishap::None }).await;
    let read = client.read_blob(&repository(&faulty.host(), "a"), &descriptor, 1 << 20).await.unwrap();
    assert!(read == content);
    assert_eq!(faulty.passed()[1].range.as_deref(), Some("bytes=200000-"));
    let faulty = through(&registry, |_, _| Mishap::Stall).await;
    let reference = repository(&faulty.host(), "a").with_digest(descriptor.digest);
    let error = client.manifest(&reference).await.unwrap_err();
    assert!(matches!(error.reason, Reason::NotFound { .. } | Reason::TimedOut { .. }), "{error:?}");
}

async fn a_tag_that_moves_does_not_mix_two_artifacts() {
    let registry = Registry::start().await.unwrap();
    let client = client(RegistryCredentials::Anonymous);
    let reference = repository(&registry.host(), "a").with_tag("x").unwrap();
    let first = push(&client, &reference, b"first").await;
    let resolved = client.resolve(&reference).await.unwrap();
    push(&client, &reference, b"second").await;
    let read = client.manifest(&reference.at(resolved.digest)).await.unwrap();
    assert_eq!(read.bytes, first.bytes);
    let layer = client.read_blob(&reference.repository, &read.content.layers[0], 100).await.unwrap();
    assert_eq!(layer, "first");
}

async fn a_redirect_to_another_server_gets_no_credentials() {
    let registry = Registry::start().await.unwrap();
    let open = client(RegistryCredentials::Anonymous);
    let (descriptor, content) = large(&registry, &open).await;
    let storage = Arc::new(through(&registry, |_, _| Mishap::None).await);
    let host = storage.host();
    let faulty = through(&registry, move |_, passed: &Passed| {
        let path = passed.line.split(' ').nth(1).unwrap_or_default();
        match &passed.authorization {
            None => answer(401, &[("www-authenticate", "Basic realm=\"x\"")]),
            Some(_) => answer(307, &[("location", &format!("http://{host}{path}"))]),
        }
    })
    .await;
    let client = client(login(&faulty.host(), PASSWORD));
    let read = client.read_blob(&repository(&faulty.host(), "a"), &descriptor, 1 << 20).await.unwrap();
    assert!(read == content);
    assert!(faulty.passed()[1].authorization.as_ref().unwrap().starts_with("Basic "));
    assert_eq!(storage.passed().iter().map(|passed| passed.authorization.clone()).collect::<Vec<_>>(), [None]);
}

async fn redirects_do_not_go_on_for_ever() {
    let registry = Registry::start().await.unwrap();
    let faulty = through(&registry, |_, passed: &Passed| {
        let path = passed.line.split(' ').nth(1).unwrap_or_default().to_owned();
        answer(302, &[("location", &path)])
    })
    .await;
    let reference = repository(&faulty.host(), "a").with_tag("x").unwrap();
    let error = client(RegistryCredentials::Anonymous).manifest(&reference).await.unwrap_err();
    assert!(error.reason.to_string().contains("more than 10 redirects"), "{error:?}");
    let faulty = through(&registry, |_, _| answer(302, &[("location", "file:///etc/passwd")])).await;
    let reference = repository(&faulty.host(), "a").with_tag("x").unwrap();
    let error = client(RegistryCredentials::Anonymous).manifest(&reference).await.unwrap_err();
    assert!(error.reason.to_string().contains("a redirect to an invalid address"), "{error:?}");
}

async fn credentials_are_not_sent_to_a_token_server_without_tls() {
    let authority = super::support::certificates::Authority::new("ours").unwrap();
    let trap = FaultyRegistry::start(1, |_, _| answer(500, &[])).await.unwrap();
    let realm = format!("Bearer realm=\"http://{}/token\"", trap.host());
    // A registry behind TLS: only its first answer matters.
    let identity = authority.server(&["localhost"]).unwrap();
    let acceptor = super::support::certificates::tls_acceptor(&identity).unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = format!("localhost:{}", listener.local_addr().unwrap().port());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, realm) = (acceptor.clone(), realm.clone());
            tokio::spawn(async move {
                use tokio::io::{AsyncReadExt, AsyncWriteExt};
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                let _ = stream.read(&mut [0; 4096]).await;
                let text =
                    format!("HTTP/1.1 401 Unauthorized\r\nwww-authenticate: {realm}\r\ncontent-length: 0\r\n\r\n");
                let _ = stream.write_all(text.as_bytes()).await;
                let _ = stream.shutdown().await;
            });
        }
    });
    let mut access = access(login(&host, PASSWORD));
    access.everywhere.authorities = Some(authority.certificate().as_bytes().to_vec());
    let error = Registries::new(access).manifest(&repository(&host, "a").with_tag("x").unwrap()).await.unwrap_err();
    assert!(error.reason.to_string().contains("credentials to be sent without TLS"), "{error:?}");
    assert!(trap.passed().is_empty());
}

async fn an_identity_token_is_exchanged_for_a_token() {
    let registry = Registry::start().await.unwrap();
    let pushed = push(
        &client(RegistryCredentials::Anonymous),
        &repository(&registry.host(), "a").with_tag("x").unwrap(),
        b"hello",
    )
    .await;
    let faulty_host = Arc::new(Mutex::new(String::new()));
    let host = faulty_host.clone();
    let faulty = through(&registry, move |_, passed: &Passed| {
        let realm = format!("Bearer realm=\"http://{}/token?a=1,2\",service=\"s\"", host.lock().unwrap());
        match (passed.line.as_str(), passed.authorization.as_deref()) {
            ("POST /token?a=1,2", None) => Mishap::Answer(200, vec![], r#"{"access_token": "short"}"#.to_owned()),
            (_, Some("Bearer short")) => Mishap::None,
            _ => answer(401, &[("www-authenticate", &realm)]),
        }
    })
    .await;
    *faulty_host.lock().unwrap() = faulty.host();
    let config = json!({"auths": {faulty.host(): {"username": USER, "identitytoken": "long"}}}).to_string();
    let config = DockerConfig::parse("test", config.as_bytes()).unwrap();
    let client = client(RegistryCredentials::Docker(config));
    let read: Manifest = client.manifest(&repository(&faulty.host(), "a").with_tag("x").unwrap()).await.unwrap();
    assert_eq!(read.digest, pushed.digest);
}

async fn pages_that_never_end_are_an_error() {
    let registry = Registry::start().await.unwrap();
    let faulty = through(&registry, |_, _| {
        Mishap::Answer(
            200,
            vec![("link", "</v2/a/tags/list?last=x>; rel=\"next\"".to_owned())],
            r#"{"tags": ["x"]}"#.to_owned(),
        )
    })
    .await;
    let error = client(RegistryCredentials::Anonymous).tags(&repository(&faulty.host(), "a")).await.unwrap_err();
    assert!(error.reason.to_string().contains("does not end"), "{error:?}");
    let distinct: HashSet<_> = faulty.passed().into_iter().map(|passed| passed.line).collect();
    assert_eq!(distinct.len(), 2);
}
