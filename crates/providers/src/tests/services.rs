//! HTTP services, registries, certificates and proxies.

use sha2::{Digest, Sha256};

use super::*;
use crate::ArtifactInput;

fn service(server: &FakeServer) -> ProviderSettings {
    let insecure = server.address.starts_with("http://");
    ProviderSettings { insecure, ..settings(ProviderType::ExternalService, server, "/inputs?env=prod") }
}

#[tokio::test]
async fn a_service_is_asked_once_with_its_credentials() {
    let server = FakeServer::start(|_, _| {
        reply(200, json!({"inputs": [{"id": "a", "n": 9_007_199_254_740_993_i64}, {"id": "b"}, {"id": "c"}]}))
    })
    .await;
    let mut settings = service(&server);
    settings.filter.limit = 2;
    settings.default_values = json!({"n": 1}).as_object().unwrap().clone();
    let found = inputs(&settings, Some(&secret(&[("username", "u"), ("password", "p")]))).await;
    assert_eq!(found, json!([{"id": "a", "n": 9_007_199_254_740_993_i64}, {"id": "b", "n": 1}]));
    let [request] = server.requests().try_into().unwrap();
    assert!(request.starts_with("GET /inputs?env=prod\n"), "{request}");
    for header in ["accept: application/json", "user-agent: flux-operator/1.2.3", "authorization: Basic dTpw"] {
        assert!(request.contains(header), "{header} in {request}");
    }
}

#[tokio::test]
async fn failures_of_a_service_have_the_usual_words() {
    let url = |server: &FakeServer| format!("{}/inputs?env=prod", server.address);
    for (answer, expected) in [
        (|| reply(500, ""), "external service '<url>' returned HTTP 500"),
        (|| reply(429, ""), "external service '<url>' returned HTTP 429"),
        (
            || reply(204, ""),
            "failed to parse JSON response from external service '<url>': unexpected end of JSON input",
        ),
        (|| reply(200, "{}"), "external service '<url>' response does not contain an 'inputs' field"),
        (
            || reply(200, " ".repeat(921_601)),
            "external service '<url>' response body exceeds the maximum allowed size of 921600 bytes",
        ),
    ] as [(fn() -> Reply, &str); 5]
    {
        let server = FakeServer::start(move |_, _| answer()).await;
        let expected = format!("failed to call ExternalService provider: {}", expected.replace("<url>", &url(&server)));
        assert_eq!(failure(&service(&server), None).await.to_string(), expected);
        assert_eq!(server.lines().len(), 1, "an answer is final");
    }
    let server = FakeServer::start(|_, _| reply(200, "{}")).await;
    assert_eq!(
        failure(&service(&server), Some(&secret(&[("username", "u")]))).await.to_string(),
        "failed to call ExternalService provider: failed to get auth credentials: invalid secret 'apps/auth': key 'password' is missing"
    );
}

#[tokio::test]
async fn the_time_for_an_export_ends_a_wait_for_an_answer_and_for_the_next_attempt() {
    let slow = FakeServer::start(|_, _| {
        std::thread::sleep(Duration::from_millis(400));
        reply(200, "{}")
    })
    .await;
    let short = || Connection { deadline: Instant::now() + Duration::from_millis(150), ..connection() };
    let settings = service(&slow);
    assert_eq!(
        exported_with(&settings, None, &short()).await.unwrap_err().to_string(),
        format!(
            "failed to call ExternalService provider: failed to call external service '{url}': GET {url} giving up after 1 attempt(s): context deadline exceeded",
            url = settings.url
        )
    );
    let refused = ProviderSettings {
        insecure: true,
        ..ProviderSettings::new(ProviderType::ExternalService, "http://127.0.0.1:1/x")
    };
    assert_eq!(
        exported_with(&refused, None, &short()).await.unwrap_err().to_string(),
        "failed to call ExternalService provider: failed to call external service 'http://127.0.0.1:1/x': context deadline exceeded"
    );
}

#[tokio::test]
async fn a_service_without_credentials_may_redirect_to_another_server() {
    let other = FakeServer::start(|_, _| reply(200, json!({"inputs": [{"id": "a"}]}))).await;
    let address = other.address.clone();
    let server = FakeServer::start(move |_, _| reply(307, "").header("location", format!("{address}/there"))).await;
    assert_eq!(inputs(&service(&server), None).await, json!([{"id": "a"}]));
}

#[tokio::test]
async fn certificates_vouch_for_the_server_and_are_shown_to_it() {
    let (server, tls) = FakeServer::start_tls(|path, _| match path {
        "/away" => reply(302, "").header("location", "http://127.0.0.1:1/"),
        _ => reply(200, json!({"inputs": [{"id": "a"}]})),
    })
    .await;
    let with = |tls: TlsFiles| Connection { tls, ..connection() };
    let settings = service(&server);
    let export = exported_with(&settings, None, &with(tls.clone())).await.unwrap();
    assert_eq!(json!(export.inputs), json!([{"id": "a"}]));
    let error = exported_with(&settings, None, &connection()).await.unwrap_err().to_string();
    assert!(error.contains("no trusted connection"), "{error}");
    let nameless = TlsFiles { identity: None, ..tls.clone() };
    let without = Connection { deadline: Instant::now() + Duration::from_secs(1), ..with(nameless) };
    assert!(exported_with(&settings, None, &without).await.is_err(), "the server wants a certificate");
    let away = ProviderSettings::new(ProviderType::ExternalService, format!("{}/away", server.address));
    let error = exported_with(&away, None, &with(tls)).await.unwrap_err().to_string();
    assert!(error.contains("the credentials are for"), "a client certificate is a credential: {error}");
    let wrong = TlsFiles { authorities: Some(b"hunter2".to_vec()), identity: None };
    let error = exported_with(&settings, None, &with(wrong)).await.unwrap_err().to_string();
    assert!(error.contains("'ca.crt' holds no certificate in PEM") && !error.contains("hunter2"), "{error}");
}

#[tokio::test]
async fn a_proxy_of_the_process_leads_to_the_server() {
    let proxy = FakeServer::start(|_, _| reply(200, json!({"inputs": [{"id": "a"}]}))).await;
    let environment = ProxyEnvironment { http_proxy: Some(proxy.address.clone()), https_proxy: None, no_proxy: None };
    let connection = Connection { proxy: environment, ..connection() };
    let settings = ProviderSettings {
        insecure: true,
        ..ProviderSettings::new(ProviderType::ExternalService, "http://inputs.example/x")
    };
    let export = exported_with(&settings, None, &connection).await.unwrap();
    assert_eq!(json!(export.inputs), json!([{"id": "a"}]));
    assert_eq!(proxy.lines(), ["CONNECT inputs.example:80", "GET /x"]);
}

fn manifest(tag: &str) -> String {
    json!({"schemaVersion": 2, "annotations": {"tag": tag}}).to_string()
}

fn digest(tag: &str) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(manifest(tag))))
}

#[tokio::test]
async fn tags_of_a_registry_come_with_their_digests() {
    let server = FakeServer::start(move |path, _| {
        if let Some(tag) = path.strip_prefix("/v2/team/app/manifests/") {
            return reply(200, manifest(tag))
                .header("docker-content-digest", digest(tag))
                .header("content-type", "application/vnd.oci.image.manifest.v1+json");
        }
        match path.split('?').next() {
            Some("/v2/team/app/tags/list") => {
                reply(200, json!({"name": "team/app", "tags": ["1.2.0", "1.10.0", "latest", "2.0.0-rc.1"]}))
            }
            Some("/v2/") => reply(200, "{}"),
            _ => reply(404, json!({"errors": [{"code": "NAME_UNKNOWN", "message": "repository name not known"}]})),
        }
    })
    .await;
    let host = server.address.replace("http://", "");
    let mut settings = ProviderSettings::new(ProviderType::OciArtifactTag, format!("oci://{host}/team/app"));
    settings.filter.semver = ">=1.0.0".to_owned();
    let of = |tag: &str| json!({"id": crate::git::checksum(tag), "tag": tag, "digest": digest(tag)});
    assert_eq!(inputs(&settings, None).await, json!([of("1.10.0"), of("1.2.0")]));
    settings.filter.semver = String::new();
    settings.filter.limit = 1;
    assert_eq!(inputs(&settings, None).await, json!([of("latest")]));
    settings.url = format!("oci://{host}/team/none");
    let error = failure(&settings, None).await.to_string();
    let expected = format!("failed to call OCI provider: failed to list OCI tags for '{host}/team/none': ");
    assert!(error.starts_with(&expected), "{error}");
    settings.url = format!("oci://{host}/team/app:1.0.0");
    let error = failure(&settings, None).await.to_string();
    assert!(error.contains("a repository has neither a tag nor a digest"), "{error}");
}

#[tokio::test]
async fn artifacts_of_the_cluster_are_exported_as_they_are_given() {
    let artifact = ArtifactInput { namespace: "apps".into(), name: "one".into(), ..ArtifactInput::default() };
    let connection = connection();
    let sources = ExportSources {
        identity: "",
        secret: None,
        registry_credentials: &RegistryCredentials::Anonymous,
        artifacts: &[artifact],
        exported: &[],
        connection: &connection,
        tokens: &TokenCache::new(),
    };
    let settings = ProviderSettings::new(ProviderType::ExternalArtifact, "");
    let found = export(&settings, &sources).await.unwrap();
    assert_eq!(
        json!(found.inputs),
        json!([{"id": crate::git::checksum("apps/one"), "name": "one", "namespace": "apps"}])
    );
}
