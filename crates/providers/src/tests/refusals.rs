//! Servers that fail, and servers that ask for more than is allowed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use jiff::{SignedDuration, Timestamp};

use super::*;

const TOKEN: &[(&str, &str)] = &[("password", "s3cr3t-t0ken")];

fn branches(server: &FakeServer) -> ProviderSettings {
    settings(ProviderType::GitHubBranch, server, "/o/r")
}

#[tokio::test]
async fn an_error_holds_the_words_of_the_server_but_no_credentials() {
    let server =
        FakeServer::start(|_, headers| reply(401, json!({"message": format!("no access with\n{headers}")}))).await;
    for secret in [secret(TOKEN), secret(&[("username", "u"), ("password", "s3cr3t-t0ken")])] {
        for of_type in [ProviderType::GitHubBranch, ProviderType::GitLabBranch, ProviderType::GiteaBranch] {
            let error = failure(&settings(of_type, &server, "/o/r"), Some(&secret)).await.to_string();
            assert!(error.contains("401 Unauthorized: no access with"), "{error}");
            assert!(!error.contains("s3cr3t") && !error.contains('\n'), "{error}");
        }
    }
}

#[tokio::test]
async fn passing_failures_are_asked_again_and_lasting_ones_are_not() {
    let asked = Arc::new(AtomicU32::new(0));
    let count = asked.clone();
    let server = FakeServer::start(move |_, _| match count.fetch_add(1, Ordering::SeqCst) {
        0 => reply(502, "<html>"),
        1 => reply(429, "").header("retry-after", 0),
        2 => reply(403, "").header("x-ratelimit-remaining", 0).header("retry-after", 0),
        _ => reply(200, "[]"),
    })
    .await;
    assert_eq!(inputs(&branches(&server), None).await, json!([]));
    assert_eq!(asked.load(Ordering::SeqCst), 4);

    let server = FakeServer::start(|_, _| reply(404, json!({"message": "Not Found"}))).await;
    assert_eq!(
        failure(&branches(&server), None).await.to_string(),
        format!(
            "failed to call Git provider: failed to list branches: could not list branches: GET {}/api/v3/repos/o/r/branches?per_page=100: 404 Not Found: Not Found",
            server.address
        )
    );
    assert_eq!(server.lines().len(), 1);

    let server = FakeServer::start(|_, _| reply(500, "")).await;
    let error = failure(&branches(&server), None).await.to_string();
    assert!(error.ends_with("500 Internal Server Error"), "{error}");
    assert_eq!(server.lines().len(), 5);
}

#[tokio::test]
async fn a_rate_limit_that_lasts_is_an_error_that_says_until_when() {
    let until = Timestamp::now().checked_add(SignedDuration::from_mins(30)).unwrap();
    let reset = until.as_second();
    for (status, header, value) in
        [(403, "x-ratelimit-reset", reset), (429, "ratelimit-reset", reset), (429, "retry-after", 1800)]
    {
        let server = FakeServer::start(move |_, _| {
            reply(status, json!({"message": "slow down"})).header("x-ratelimit-remaining", 0).header(header, value)
        })
        .await;
        let error = failure(&branches(&server), None).await;
        let difference = error.retry_at.unwrap().duration_since(until).abs();
        assert!(difference < SignedDuration::from_secs(10), "{header}: {difference}");
        assert!(error.to_string().contains("the rate limit is exceeded until 2"), "{error}");
        assert_eq!(server.lines().len(), 1, "it is not asked again before");
    }
}

#[tokio::test]
async fn credentials_never_go_to_another_server() {
    let thief = FakeServer::start(|_, _| reply(200, json!([{"name": "stolen", "commit": {"sha": "x"}}]))).await;
    let address = thief.address.clone();
    let linking = FakeServer::start(move |_, _| {
        reply(200, "[]").header("link", format!("<{address}/api/v3/repos/o/r/branches>; rel=\"next\""))
    })
    .await;
    for secret in [Some(secret(TOKEN)), None] {
        let error = failure(&branches(&linking), secret.as_ref()).await.to_string();
        assert!(error.contains("the next page of the list is at another server"), "{error}");
    }
    let address = thief.address.clone();
    let redirecting = FakeServer::start(move |_, _| reply(302, "").header("location", format!("{address}/here"))).await;
    let error = failure(&branches(&redirecting), Some(&secret(TOKEN))).await.to_string();
    let expected = format!("the server redirects to {}/here, and the credentials are for ", thief.address);
    assert!(error.contains(&expected), "{error}");
    let service = ProviderSettings { insecure: true, ..settings(ProviderType::ExternalService, &redirecting, "/x") };
    let error = failure(&service, Some(&secret(&[("token", "s3cr3t")]))).await.to_string();
    assert!(error.contains(&expected), "{error}");
    assert_eq!(thief.lines(), [""; 0]);
}

#[tokio::test]
async fn a_redirect_within_the_server_is_followed_and_never_for_ever() {
    let server = FakeServer::start(|path, headers| match path {
        "/api/v3/repos/o/r/branches?per_page=100" => {
            reply(301, "").header("location", "/api/v3/repositories/1/branches")
        }
        "/api/v3/repositories/1/branches" if headers.contains("Bearer s3cr3t-t0ken") => {
            reply(200, json!([{"name": "main", "commit": {"sha": "x"}}]))
        }
        _ => reply(302, "").header("location", path),
    })
    .await;
    let found = inputs(&branches(&server), Some(&secret(TOKEN))).await;
    assert_eq!(found, json!([{"id": "68878758", "sha": "x", "branch": "main"}]));
    let error = failure(&settings(ProviderType::GitLabTag, &server, "/p"), None).await.to_string();
    assert!(error.contains("redirects more than 10 times"), "{error}");
}

#[tokio::test]
async fn endless_pagination_and_oversized_answers_are_refused() {
    let server = FakeServer::start(|path, _| match path.contains("branches") {
        true => reply(200, "[]").header("link", format!("<{path}>; rel=\"next\"")),
        false => reply(200, " ".repeat(11 << 20)),
    })
    .await;
    let error = failure(&branches(&server), None).await.to_string();
    assert_eq!(
        error,
        "failed to call Git provider: failed to list branches: could not list branches: list branches pagination returned a repeated page"
    );
    let error = failure(&settings(ProviderType::GitHubTag, &server, "/o/r"), None).await.to_string();
    assert!(error.contains("response body exceeds the maximum allowed size of 10485760 bytes: GET "), "{error}");
}

#[tokio::test]
async fn answers_of_another_shape_are_errors_and_not_empty_exports() {
    for body in ["<html>Sign in</html>", "{}", "null", "", "[{\"id\":1}]", "[[]]"] {
        let server = FakeServer::start(move |_, _| reply(200, body)).await;
        let error = failure(&branches(&server), None).await.to_string();
        assert!(error.contains("cannot parse the JSON of the answer"), "{body}: {error}");
    }
    let server = FakeServer::start(|_, _| reply(203, "[]")).await;
    assert!(failure(&branches(&server), None).await.to_string().contains("203"), "a page for a login");
    let broken = FakeServer::start(|_, _| reply(200, "[]").header("link", "next please")).await;
    assert!(failure(&branches(&broken), None).await.to_string().contains("Link header cannot be read"));
}

#[tokio::test]
async fn a_filter_that_is_not_valid_is_named_before_anything_is_asked() {
    let server = FakeServer::start(|_, _| reply(200, "[]")).await;
    let mut settings = branches(&server);
    settings.filter.include_branch = "(".to_owned();
    assert_eq!(
        failure(&settings, None).await.to_string(),
        "failed to call Git provider: invalid includeBranch regex: error parsing regexp: missing closing ): `(`"
    );
    assert_eq!(server.lines(), [""; 0]);
}

#[tokio::test]
async fn invalid_addresses_and_secrets_are_refused() {
    let server = FakeServer::start(|_, _| reply(200, "[]")).await;
    for (settings, secret, expected) in [
        (settings(ProviderType::GitHubTag, &server, "/o"), secret(TOKEN), "can't find owner and repository"),
        (settings(ProviderType::GitLabTag, &server, ""), secret(TOKEN), "can't find project"),
        (
            settings(ProviderType::GiteaTag, &server, "/o/r"),
            secret(&[("username", "git")]),
            "invalid secret 'apps/auth': key 'password' is missing",
        ),
        (
            ProviderSettings::new(ProviderType::GitHubTag, "https://u:hunter2@git.example/o/r"),
            secret(TOKEN),
            "use spec.secretRef for credentials",
        ),
    ] {
        let error = failure(&settings, Some(&secret)).await.to_string();
        assert!(error.starts_with("failed to create Git provider: ") && error.contains(expected), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
    assert_eq!(server.lines(), [""; 0]);
}
