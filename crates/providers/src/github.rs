//! GitHub, and also Gitea and Forgejo, whose APIs are nearly the same.
//!
//! Source: <https://docs.github.com/en/rest>, <https://docs.gitea.com/api/>.

use http::{HeaderName, HeaderValue, Uri};
use serde::Deserialize;

use crate::credentials::{AuthHeader, GitCredentials};
use crate::error::ProviderError;
use crate::filter::ResultFilter;
use crate::git::{Api, GitResult, PAGE_SIZE, Pages, Results, list_branches, list_tags, segment};
use crate::github_app::TokenCache;
use crate::http::{Connection, HttpSession, RequestRetry, accept, address};

/// A repository of GitHub or Gitea.
pub(crate) struct GitHub {
    api: Api,
    /// Address of the repository in the API, without `/` at its end.
    repository: String,
    /// Name of the parameter for the size of a page.
    page_size: &'static str,
}

impl GitHub {
    pub(crate) async fn github(
        url: &str,
        credentials: GitCredentials,
        connection: &Connection,
        tokens: &TokenCache,
    ) -> Result<GitHub, ProviderError> {
        let (parsed, path) = repository_path(url, "GitHub")?;
        let base = github_api(&parsed);
        let auth = match credentials {
            GitCredentials::Anonymous => None,
            GitCredentials::Header(header) => Some(header),
            GitCredentials::App(app) => Some(app.header(&base, connection, tokens).await?),
        };
        let api = api(&base, connection, auth, github_headers())?;
        Ok(GitHub { api, repository: format!("{base}/repos/{path}"), page_size: "per_page" })
    }

    pub(crate) fn gitea(
        url: &str,
        credentials: GitCredentials,
        connection: &Connection,
    ) -> Result<GitHub, ProviderError> {
        let (parsed, path) = repository_path(url, "Gitea")?;
        let base = format!("{}/api/v1", origin(&parsed));
        let auth = match credentials {
            GitCredentials::Header(header) => Some(header),
            GitCredentials::Anonymous | GitCredentials::App(_) => None,
        };
        let api = api(&base, connection, auth, vec![accept("application/json")])?;
        Ok(GitHub { api, repository: format!("{base}/repos/{path}"), page_size: "limit" })
    }

    fn list_address(&self, list: &str, query: &str) -> Result<Uri, ProviderError> {
        address_of(&format!("{}/{list}?{}={PAGE_SIZE}{query}", self.repository, self.page_size))
    }

    pub(crate) async fn branches(&self, filter: &ResultFilter) -> Result<Vec<GitResult>, ProviderError> {
        list_branches(&self.api, self.list_address("branches", "")?, filter).await
    }

    pub(crate) async fn tags(&self, filter: &ResultFilter) -> Result<Vec<GitResult>, ProviderError> {
        list_tags(&self.api, self.list_address("tags", "")?, filter).await
    }

    pub(crate) async fn requests(&self, filter: &ResultFilter) -> Result<Vec<GitResult>, ProviderError> {
        let mut results = Results::new(filter);
        let mut pages = Pages::new(&self.api, "requests", self.list_address("pulls", "&state=open")?);
        while !results.is_full()
            && let Some(page) = pages.next::<Vec<PullRequest>>().await?
        {
            for result in page.into_iter().map(PullRequest::result) {
                if !results.is_full() && filter.takes(&result.branch) && filter.takes_labels(&result.labels) {
                    results.push(result)?;
                }
            }
        }
        Ok(results.finish())
    }
}

#[derive(Deserialize)]
struct PullRequest {
    number: u64,
    title: Option<String>,
    head: Option<Head>,
    user: Option<GitHubUser>,
    labels: Option<Vec<Label>>,
}

#[derive(Default, Deserialize)]
struct Head {
    #[serde(rename = "ref")]
    branch: Option<String>,
    sha: Option<String>,
}

#[derive(Deserialize)]
struct GitHubUser {
    login: Option<String>,
}

#[derive(Deserialize)]
struct Label {
    name: Option<String>,
}

impl PullRequest {
    fn result(self) -> GitResult {
        let head = self.head.unwrap_or_default();
        GitResult {
            id: self.number.to_string(),
            sha: head.sha.unwrap_or_default(),
            branch: head.branch.unwrap_or_default(),
            title: self.title.unwrap_or_default(),
            author: self.user.and_then(|user| user.login).unwrap_or_default(),
            labels: self.labels.into_iter().flatten().filter_map(|label| label.name).collect(),
            ..GitResult::default()
        }
    }
}

/// Returns the parsed address, and the two encoded segments of its path.
fn repository_path(url: &str, of: &str) -> Result<(Uri, String), ProviderError> {
    let parsed = address(url)?;
    let segments: Vec<&str> = parsed.path().split('/').collect();
    match segments.as_slice() {
        ["", owner, name] if !owner.is_empty() && !name.is_empty() => {
            let path = format!("{}/{}", segment(&decoded(owner)), segment(&decoded(name)));
            Ok((parsed, path))
        }
        _ => Err(ProviderError::new(format!("invalid {of} URL \"{url}\": can't find owner and repository"))),
    }
}

/// Decodes a segment of a path, so that it can be encoded in the form that the API expects.
pub(crate) fn decoded(segment: &str) -> String {
    percent_encoding::percent_decode_str(segment).decode_utf8_lossy().into_owned()
}

/// `https://host[:port]`.
pub(crate) fn origin(url: &Uri) -> String {
    let authority = url.authority().map_or("", |authority| authority.as_str());
    format!("{}://{authority}", url.scheme_str().unwrap_or("https"))
}

/// Returns the address of the API of GitHub or GitHub Enterprise, without `/` at its end.
fn github_api(url: &Uri) -> String {
    match origin(url).as_str() {
        "https://github.com" => "https://api.github.com".to_owned(),
        enterprise => format!("{enterprise}/api/v3"),
    }
}

/// The headers for requests to GitHub.
pub(crate) fn github_headers() -> Vec<(HeaderName, HeaderValue)> {
    let version = (HeaderName::from_static("x-github-api-version"), HeaderValue::from_static("2022-11-28"));
    vec![accept("application/vnd.github.v3+json"), version]
}

/// Parses an address that this program has built.
pub(crate) fn address_of(text: &str) -> Result<Uri, ProviderError> {
    text.parse().map_err(|_| ProviderError::new("spec.url does not give a valid API address"))
}

/// Prepares requests to the API at an address.
pub(crate) fn api(
    base: &str,
    connection: &Connection,
    auth: Option<AuthHeader>,
    headers: Vec<(HeaderName, HeaderValue)>,
) -> Result<Api, ProviderError> {
    let session = HttpSession::new(connection, &address_of(base)?, auth, RequestRetry::Everything)?;
    Ok(Api { session, headers })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_exactly_two_segments() {
        let path = |url: &str| repository_path(url, "GitHub").map(|(url, path)| format!("{} {path}", github_api(&url)));
        assert_eq!(path("https://github.com/o/r").unwrap(), "https://api.github.com o/r");
        assert_eq!(path("http://github.com/o/r.git").unwrap(), "http://github.com/api/v3 o/r.git");
        assert_eq!(path("https://ghe.lan:8443/o/..").unwrap(), "https://ghe.lan:8443/api/v3 o/%2E%2E");
        for url in [
            "https://github.com/o",
            "https://github.com/o/r/",
            "https://github.com/o/r/x",
            "https://github.com//r",
            "https://github.com",
        ] {
            let expected = format!("invalid GitHub URL \"{url}\": can't find owner and repository");
            assert_eq!(path(url).unwrap_err().to_string(), expected);
        }
        let error = path("https://user:s3cret@github.com/o/r").unwrap_err().to_string();
        assert_eq!(error, "spec.url holds a user name; use spec.secretRef for credentials");
    }
}
