//! Branches, tags, requests and environments, with the paths, headers and pages of each host.

use aws_lc_rs::encoding::AsDer;
use aws_lc_rs::rsa::{KeySize, PrivateDecryptingKey};
use aws_lc_rs::signature::{KeyPair, RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

use super::*;
use crate::azure_devops::AzureDevOps;
use crate::credentials::GitCredentials;
use crate::git::{GitProvider, GitResult, list_with};
use crate::settings::GitHost;

const TOKEN: &[(&str, &str)] = &[("username", "git"), ("password", "t0ken")];

fn commits(names: &[&str], key: &str) -> Value {
    names.iter().map(|name| json!({"name": name, "commit": {key: format!("sha-{name}")}})).collect()
}

#[tokio::test]
async fn branches_of_github_come_page_by_page_up_to_the_limit() {
    let server = FakeServer::start(|path, _| match path {
        "/api/v3/repos/o/r/branches?per_page=100" => reply(200, commits(&["main", "dev"], "sha"))
            .header("link", "</api/v3/repos/o/r/branches?per_page=100&page=2>; rel=\"next\", </x>; rel=\"last\""),
        "/api/v3/repos/o/r/branches?per_page=100&page=2" => reply(200, commits(&["feat/A_b", "zz"], "sha"))
            .header("link", "</api/v3/repos/o/r/branches?per_page=100&page=3>; rel=\"next\""),
        _ => reply(500, "not to be asked for"),
    })
    .await;
    let mut settings = settings(ProviderType::GitHubBranch, &server, "/o/r");
    settings.filter.limit = 2;
    settings.filter.exclude_branch = "^dev$".to_owned();
    assert_eq!(
        inputs(&settings, Some(&secret(TOKEN))).await,
        json!([
            {"id": "68878758", "sha": "sha-main", "branch": "main"},
            {"id": "220463826", "sha": "sha-feat/A_b", "branch": "feat/A_b"},
        ])
    );
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    for header in [
        "authorization: Bearer t0ken",
        "accept: application/vnd.github.v3+json",
        "x-github-api-version: 2022-11-28",
        "user-agent: flux-operator/1.2.3",
    ] {
        assert!(requests.iter().all(|request| request.contains(header)), "{header} in {requests:?}");
    }
}

#[tokio::test]
async fn tags_of_github_are_all_read_before_they_are_sorted_and_cut() {
    let server = FakeServer::start(|path, headers| {
        assert!(!headers.contains("authorization"), "credentials are only sent on request");
        match path {
            "/api/v3/repos/o/r/tags?per_page=100" => {
                reply(200, commits(&["1.0.0", "nightly"], "sha")).header("link", "<?page=2&per_page=100>; rel=\"next\"")
            }
            "/api/v3/repos/o/r/tags?page=2&per_page=100" => reply(200, commits(&["1.10.0", "1.2.0"], "sha")),
            _ => reply(404, "{}"),
        }
    })
    .await;
    let mut settings = settings(ProviderType::GitHubTag, &server, "/o/r");
    settings.filter.semver = ">=1.0.0".to_owned();
    settings.filter.limit = 2;
    let expected = json!([
        {"id": crate::git::checksum("1.10.0"), "sha": "sha-1.10.0", "tag": "1.10.0"},
        {"id": crate::git::checksum("1.2.0"), "sha": "sha-1.2.0", "tag": "1.2.0"},
    ]);
    assert_eq!(inputs(&settings, None).await, expected);
}

#[tokio::test]
async fn pull_requests_are_filtered_by_branch_and_labels_and_skipped_ones_stay_as_they_were() {
    let pull = |number: u64, branch: &str, labels: &[&str]| {
        let labels: Vec<Value> = labels.iter().map(|name| json!({"name": name})).collect();
        json!({"number": number, "title": format!("PR {number}"), "user": {"login": "ann"},
            "head": {"ref": branch, "sha": format!("new-{number}")}, "labels": labels})
    };
    let pulls = json!([
        pull(1, "feat/one", &["deploy"]),
        pull(2, "fix/two", &["deploy"]),
        pull(3, "feat/three", &[]),
        pull(4, "feat/four", &["deploy", "hold"]),
        pull(5, "feat/five", &["hold", "deploy"]),
        {"number": 6, "title": null, "user": null, "head": {"ref": "feat/six", "sha": "s"}, "labels": [{"name": "deploy"}]},
    ]);
    let server = FakeServer::start(move |path, _| match path {
        "/api/v3/repos/o/r/pulls?per_page=100&state=open" => reply(200, &pulls),
        _ => reply(404, "{}"),
    })
    .await;
    let mut settings = settings(ProviderType::GitHubPullRequest, &server, "/o/r");
    settings.filter.include_branch = "^feat/".to_owned();
    settings.filter.labels = vec!["deploy".to_owned()];
    settings.skip_labels = vec!["hold".to_owned()];
    settings.default_values = json!({"replicas": 1, "author": "nobody"}).as_object().unwrap().clone();
    let connection = connection();
    let sources = ExportSources {
        identity: "",
        secret: None,
        registry_credentials: &RegistryCredentials::Anonymous,
        artifacts: &[],
        exported: &sets(json!([{"id": "5", "sha": "old-5", "branch": "feat/five", "replicas": 7}])),
        connection: &connection,
        tokens: &TokenCache::new(),
    };
    let export = export(&settings, &sources).await.unwrap();
    assert_eq!(
        json!(export.inputs),
        json!([
            {"id": "1", "sha": "new-1", "branch": "feat/one", "author": "ann", "title": "PR 1", "labels": ["deploy"], "replicas": 1},
            {"id": "5", "sha": "old-5", "branch": "feat/five", "author": "ann", "title": "PR 5", "labels": ["hold", "deploy"], "replicas": 1},
            {"id": "6", "sha": "s", "branch": "feat/six", "labels": ["deploy"], "replicas": 1, "author": "nobody"},
        ])
    );
}

#[tokio::test]
async fn gitea_requests_use_the_paths_and_the_authorization_header_of_gitea() {
    let server = FakeServer::start(|path, _| match path {
        "/api/v1/repos/o/r/branches?limit=100" => reply(200, commits(&["main"], "id")),
        "/api/v1/repos/o/r/tags?limit=100" => reply(200, commits(&["v1.0.0"], "sha")),
        "/api/v1/repos/o/r/pulls?limit=100&state=open" => reply(
            200,
            json!([{"number": 7, "title": "T", "user": {"login": "bob"}, "head": {"ref": "b", "sha": "s"}, "labels": null}]),
        ),
        _ => reply(404, "{}"),
    })
    .await;
    let secret = secret(&[("token", "t0ken")]);
    for (of_type, expected) in [
        (ProviderType::GiteaBranch, json!([{"id": "68878758", "sha": "sha-main", "branch": "main"}])),
        (ProviderType::GiteaTag, json!([{"id": "93520228", "sha": "sha-v1.0.0", "tag": "v1.0.0"}])),
        (
            ProviderType::GiteaPullRequest,
            json!([{"id": "7", "sha": "s", "branch": "b", "title": "T", "author": "bob"}]),
        ),
    ] {
        assert_eq!(inputs(&settings(of_type, &server, "/o/r"), Some(&secret)).await, expected);
    }
    assert!(server.requests().iter().all(|request| request.contains("authorization: token t0ken")));
}

#[tokio::test]
async fn gitlab_counts_its_pages_and_filters_itself() {
    const PROJECT: &str = "/api/v4/projects/group%2Fsub%2Ex%2Fapp";
    let server = FakeServer::start(|path, _| match path.strip_prefix(PROJECT) {
        Some("/repository/branches?per_page=100&regex=%5Efeat") => {
            reply(200, commits(&["feat/A_b"], "id")).header("x-next-page", "2")
        }
        Some("/repository/branches?per_page=100&regex=%5Efeat&page=2") => {
            reply(200, commits(&["feat/c", "main"], "id")).header("x-next-page", "")
        }
        Some("/repository/tags?per_page=100") => reply(200, commits(&["v2.0.0-rc.1"], "id")),
        Some("/merge_requests?per_page=100&state=opened&labels=a%2Cb") => reply(
            200,
            json!([{"iid": 4, "sha": "s", "source_branch": "fix/Two_x", "title": "T", "author": {"username": "eve"},
                "labels": ["b", "a"]}]),
        ),
        _ => reply(404, json!({"message": "404 Project Not Found"})),
    })
    .await;
    let of = |of_type| settings(of_type, &server, "/group/sub.x/app");
    let mut branches = of(ProviderType::GitLabBranch);
    branches.filter.include_branch = "^feat".to_owned();
    let secret = secret(TOKEN);
    assert_eq!(
        inputs(&branches, Some(&secret)).await,
        json!([
            {"id": "220463826", "sha": "sha-feat/A_b", "branch": "feat/A_b", "slug": "feat-a-b"},
            {"id": crate::git::checksum("feat/c"), "sha": "sha-feat/c", "branch": "feat/c", "slug": "feat-c"},
        ])
    );
    assert!(server.requests().iter().all(|request| request.contains("private-token: t0ken")));
    assert_eq!(
        inputs(&of(ProviderType::GitLabTag), None).await,
        json!([{"id": crate::git::checksum("v2.0.0-rc.1"), "sha": "sha-v2.0.0-rc.1", "tag": "v2.0.0-rc.1", "slug": "v2-0-0-rc-1"}])
    );
    let mut requests = of(ProviderType::GitLabMergeRequest);
    requests.filter.labels = vec!["a".to_owned(), "b".to_owned()];
    assert_eq!(
        inputs(&requests, None).await,
        json!([{"id": "4", "sha": "s", "branch": "fix/Two_x", "slug": "fix-two-x", "title": "T", "author": "eve", "labels": ["b", "a"]}])
    );
    let other = settings(ProviderType::GitLabTag, &server, "/nope");
    assert_eq!(
        failure(&other, None).await.to_string(),
        format!(
            "failed to call Git provider: failed to list tags: could not list tags: GET {}/api/v4/projects/nope/repository/tags?per_page=100: 404 Not Found: 404 Project Not Found",
            server.address
        )
    );
}

#[tokio::test]
async fn an_environment_of_gitlab_has_the_commit_of_its_newest_deployment_that_lives() {
    const PROJECT: &str = "/api/v4/projects/g%2Fp";
    let deployment =
        |status: &str, sha: &str| json!({"status": status, "sha": sha, "ref": "main", "user": {"username": "eve"}});
    let server = FakeServer::start(move |path, _| {
        let Some(rest) = path.strip_prefix(PROJECT) else { return reply(404, "{}") };
        match rest {
            "/environments?per_page=100" => reply(
                200,
                json!([
                    {"id": 1, "name": "prod/eu", "slug": "prod-eu-x1", "state": "available"},
                    {"id": 2, "name": "prod/stopped", "slug": "s", "state": "stopped"},
                    {"id": 3, "name": "prod/none", "slug": "n", "state": "available"},
                    {"id": 4, "name": "review", "slug": "r", "state": "available"},
                ]),
            ),
            "/deployments?environment=prod%2Feu&order_by=created_at&sort=desc" => {
                reply(200, json!([deployment("failed", "3"), deployment("success", "2"), deployment("success", "1")]))
            }
            "/deployments?environment=prod%2Fstopped&order_by=created_at&sort=desc" => {
                reply(200, json!([deployment("success", "9")]))
            }
            "/deployments?environment=prod%2Fnone&order_by=created_at&sort=desc" => reply(200, json!([])),
            _ => reply(404, "{}"),
        }
    })
    .await;
    let mut settings = settings(ProviderType::GitLabEnvironment, &server, "/g/p");
    settings.filter.include_environment = "^prod/".to_owned();
    assert_eq!(
        inputs(&settings, None).await,
        json!([{"id": "1", "sha": "2", "branch": "main", "title": "prod/eu", "slug": "prod-eu-x1", "author": "eve"}])
    );
}

async fn azure(server: &FakeServer, settings: &ProviderSettings) -> Result<Vec<GitResult>, ProviderError> {
    let credentials = GitCredentials::new(GitHost::AzureDevOps, Some(&secret(TOKEN))).unwrap();
    let path = "org/p/_apis/git/repositories/r";
    let provider = AzureDevOps::at(&server.address, path, credentials, &connection()).unwrap();
    list_with(&GitProvider::AzureDevOps(provider), settings.provider_type, settings).await
}

#[tokio::test]
async fn azure_devops_continues_lists_and_looks_into_annotated_tags() {
    const REPOSITORY: &str = "/org/p/_apis/git/repositories/r";
    let request = |id: u64| {
        json!({"pullRequestId": id, "sourceRefName": format!("refs/heads/b{id}"), "title": "T",
            "createdBy": {"displayName": "Ann"}, "lastMergeSourceCommit": {"commitId": "c"},
            "labels": [{"name": "x", "active": true}]})
    };
    let server = FakeServer::start(move |path, _| {
        let object = |name: &str, id: &str| json!({"name": name, "objectId": id});
        match path.strip_prefix(REPOSITORY).unwrap_or_default() {
            "/refs?filter=heads%2F&api-version=7.1" => {
                reply(200, json!({"value": [object("refs/heads/main", "1"), object("refs/heads/dev", "2")]}))
            }
            "/refs?filter=tags%2F&$top=100&api-version=7.1" => {
                reply(200, json!({"value": [object("refs/tags/v1.0.0", "light")]}))
                    .header("x-ms-continuationtoken", "a=b")
            }
            "/refs?filter=tags%2F&$top=100&continuationToken=a%3Db&api-version=7.1" => {
                reply(200, json!({"value": [object("refs/tags/v1.1.0", "heavy")]}))
            }
            "/annotatedtags/heavy?api-version=7.1" => reply(200, json!({"taggedObject": {"objectId": "commit"}})),
            "/annotatedtags/light?api-version=7.1" => reply(404, json!({"message": "no such tag"})),
            "/pullrequests?searchCriteria.status=active&$top=100&$skip=0&api-version=7.1" => {
                let mut all: Vec<Value> = (0..99).map(request).collect();
                all.push(json!({"pullRequestId": 99, "sourceRefName": "refs/heads/x", "title": "no commit yet"}));
                reply(200, json!({"value": all}))
            }
            "/pullrequests?searchCriteria.status=active&$top=100&$skip=100&api-version=7.1" => {
                reply(200, json!({"value": [request(100)]}))
            }
            _ => reply(400, "{}"),
        }
    })
    .await;
    let mut settings = ProviderSettings::new(ProviderType::AzureDevOpsBranch, "https://dev.azure.com/org/p/_git/r");
    settings.filter.include_branch = "main|b".to_owned();
    let shas =
        |found: Vec<GitResult>| found.into_iter().map(|one| (one.branch + &one.tag, one.sha)).collect::<Vec<_>>();
    let of = |name: &str, sha: &str| (name.to_owned(), sha.to_owned());
    assert_eq!(shas(azure(&server, &settings).await.unwrap()), [of("main", "1")]);
    settings.provider_type = ProviderType::AzureDevOpsTag;
    assert_eq!(shas(azure(&server, &settings).await.unwrap()), [of("v1.1.0", "commit"), of("v1.0.0", "light")]);
    settings.provider_type = ProviderType::AzureDevOpsPullRequest;
    settings.filter.limit = 1000;
    let requests = azure(&server, &settings).await.unwrap();
    assert_eq!(requests.len(), 100, "one is not complete");
    let last = requests.last().unwrap();
    assert_eq!((last.id.as_str(), last.author.as_str(), last.labels.as_slice()), ("100", "Ann", &["x".to_owned()][..]));
    assert!(server.requests().iter().all(|request| request.contains("authorization: Basic OnQwa2Vu")));
}

#[tokio::test]
async fn azure_devops_is_one_host_and_wants_a_token() {
    let refused = |url: &str, secret: Option<SecretData>| {
        let settings = ProviderSettings::new(ProviderType::AzureDevOpsTag, url);
        async move { failure(&settings, secret.as_ref()).await.to_string() }
    };
    let token = Some(secret(TOKEN));
    assert_eq!(
        refused("https://tfs.example.com/o/p/_git/r", token.clone()).await,
        "failed to create Git provider: unsupported Azure DevOps host: tfs.example.com"
    );
    assert_eq!(
        refused("https://dev.azure.com/o/r", token).await,
        "failed to create Git provider: invalid AzureDevOps URL \"https://dev.azure.com/o/r\": can't find owner and repository"
    );
    assert!(refused("https://dev.azure.com/o/p/_git/r", None).await.contains("needs a token"));
}

/// A key of an app in PEM, and its public half.
fn app_key() -> (String, Vec<u8>) {
    let key = PrivateDecryptingKey::generate(KeySize::Rsa2048).unwrap();
    let der = AsDer::<aws_lc_rs::encoding::Pkcs8V1Der<'static>>::as_der(&key).unwrap();
    let pem = format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", STANDARD.encode(der.as_ref()));
    let public = RsaKeyPair::from_pkcs8(der.as_ref()).unwrap().public_key().as_ref().to_vec();
    (pem, public)
}

#[tokio::test]
async fn a_github_app_signs_for_a_token_of_its_installation_and_uses_it_again() {
    let (pem, public) = app_key();
    let server = FakeServer::start(move |path, headers| {
        let token = headers.lines().find_map(|line| line.strip_prefix("authorization: Bearer ")).unwrap_or_default();
        if path.starts_with("/api/v3/app/") {
            let (signed, signature) = token.rsplit_once('.').unwrap();
            let (header, claims) = signed.split_once('.').unwrap();
            let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).unwrap();
            UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, &public)
                .verify(signed.as_bytes(), &decode(signature))
                .unwrap();
            let header: Value = serde_json::from_slice(&decode(header)).unwrap();
            assert_eq!(header, json!({"alg": "RS256", "typ": "JWT"}));
            let claims: Value = serde_json::from_slice(&decode(claims)).unwrap();
            assert_eq!(claims["iss"], "42");
            let life = claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap();
            assert!((300..=660).contains(&life), "{claims}");
        }
        match path {
            "/api/v3/app/installations?per_page=100" => {
                reply(200, json!([{"id": 6, "account": {"login": "other"}}, {"id": 7, "account": {"login": "O"}}]))
            }
            "/api/v3/app/installations/7/access_tokens" => {
                reply(201, json!({"token": "ghs_1", "expires_at": "2999-01-01T00:00:00Z"}))
            }
            "/api/v3/repos/o/r/branches?per_page=100" if token == "ghs_1" => reply(200, commits(&["main"], "sha")),
            _ => reply(401, json!({"message": format!("bad credentials {token}")})),
        }
    })
    .await;
    let settings = settings(ProviderType::GitHubBranch, &server, "/o/r");
    let app = |owner: &str| {
        secret(&[("githubAppID", "42"), ("githubAppPrivateKey", &pem), ("githubAppInstallationOwner", owner)])
    };
    let (tokens, connection, app_of_o) = (TokenCache::new(), connection(), app("o"));
    let sources = ExportSources {
        identity: "",
        secret: Some(&app_of_o),
        registry_credentials: &RegistryCredentials::Anonymous,
        artifacts: &[],
        exported: &[],
        connection: &connection,
        tokens: &tokens,
    };
    for _ in 0..2 {
        assert_eq!(export(&settings, &sources).await.unwrap().inputs.len(), 1);
    }
    let posts = server.lines().iter().filter(|line| line.starts_with("POST ")).count();
    assert_eq!(posts, 1, "the token is used again: {:?}", server.lines());
    let error = failure(&settings, Some(&app("nobody"))).await.to_string();
    assert_eq!(
        error,
        "failed to create Git provider: could not get a token of the GitHub App: the app is not installed for 'nobody'"
    );
}
