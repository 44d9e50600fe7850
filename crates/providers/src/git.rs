//! Branches, tags, requests and environments of Git hosts.

use std::collections::HashSet;

use http::header::LINK;
use http::{HeaderName, HeaderValue, Method, Uri};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::azure_devops::AzureDevOps;
use crate::credentials::{GitCredentials, SecretData};
use crate::error::ProviderError;
use crate::filter::ResultFilter;
use crate::github::GitHub;
use crate::github_app::TokenCache;
use crate::gitlab::GitLab;
use crate::http::{Connection, HttpSession, ProviderResponse, shown_text};
use crate::settings::{GitHost, GitListing, ProviderSettings, ProviderType};

/// Results of one page.
pub(crate) const PAGE_SIZE: usize = 100;
const MAX_PAGES: usize = 1000;
const MAX_BODY_BYTES: usize = 10 << 20;
/// Maximum number of bytes of text in all results. A status can hold less.
const MAX_KEPT_BYTES: usize = 4 << 20;

/// The characters that are percent-encoded: all except the unreserved ones of RFC 3986 §2.3.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'~').remove(b'.');

/// Encodes a text as one segment of a path.
pub(crate) fn segment(text: &str) -> String {
    match text {
        // As plain text these two would address another path.
        "." | ".." => text.replace('.', "%2E"),
        _ => utf8_percent_encode(text, ENCODED).to_string(),
    }
}

/// Encodes a text as a value of a query.
pub(crate) fn query_value(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

/// A result of a Git host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GitResult {
    pub id: String,
    pub sha: String,
    pub branch: String,
    pub tag: String,
    pub author: String,
    pub title: String,
    pub slug: String,
    pub labels: Vec<String>,
}

impl GitResult {
    /// Creates the result for a branch or tag, with a checksum of its name as id.
    pub(crate) fn named(of: GitListing, name: &str, sha: String) -> GitResult {
        let mut result = GitResult { id: checksum(name), sha, ..GitResult::default() };
        match of {
            GitListing::Tags => result.tag = name.to_owned(),
            _ => result.branch = name.to_owned(),
        }
        result
    }

    fn size(&self) -> usize {
        let texts = [&self.sha, &self.branch, &self.tag, &self.author, &self.title, &self.slug];
        texts.into_iter().chain(&self.labels).map(String::len).sum()
    }

    /// Returns the exported fields: always `id` and `sha`, and the other fields that are not empty.
    pub(crate) fn fields(self) -> Map<String, Value> {
        let mut fields =
            Map::from_iter([("id".to_owned(), Value::String(self.id)), ("sha".to_owned(), Value::String(self.sha))]);
        let texts = [
            ("branch", self.branch),
            ("tag", self.tag),
            ("author", self.author),
            ("title", self.title),
            ("slug", self.slug),
        ];
        fields.extend(
            texts.into_iter().filter(|(_, text)| !text.is_empty()).map(|(key, text)| (key.to_owned(), text.into())),
        );
        if !self.labels.is_empty() {
            fields.insert("labels".to_owned(), self.labels.into());
        }
        fields
    }
}

/// Returns the decimal checksum of a name, which is used as an id.
pub(crate) fn checksum(name: &str) -> String {
    adler2::adler32_slice(name.as_bytes()).to_string()
}

/// Results in the order of the server, up to the limit.
pub(crate) struct Results {
    limit: usize,
    bytes: usize,
    found: Vec<GitResult>,
}

impl Results {
    pub(crate) fn new(filter: &ResultFilter) -> Results {
        Results { limit: filter.limit, bytes: 0, found: Vec::new() }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.found.len() >= self.limit
    }

    pub(crate) fn push(&mut self, result: GitResult) -> Result<(), ProviderError> {
        self.bytes += result.size();
        if self.bytes > MAX_KEPT_BYTES {
            return Err(ProviderError::new(format!("the results hold more than {MAX_KEPT_BYTES} bytes")));
        }
        self.found.push(result);
        Ok(())
    }

    pub(crate) fn finish(self) -> Vec<GitResult> {
        self.found
    }
}

/// The API of a host, and the headers of requests to it.
pub(crate) struct Api {
    pub session: HttpSession,
    pub headers: Vec<(HeaderName, HeaderValue)>,
}

impl Api {
    /// Reads a document.
    pub(crate) async fn get<T: DeserializeOwned>(&self, url: &Uri) -> Result<(T, ProviderResponse), ApiError> {
        self.request(&Method::GET, url).await
    }

    pub(crate) async fn request<T: DeserializeOwned>(
        &self,
        method: &Method,
        url: &Uri,
    ) -> Result<(T, ProviderResponse), ApiError> {
        let sent = self.session.send(method, url, &self.headers, MAX_BODY_BYTES).await;
        let answer = sent.map_err(|failure| ApiError { status: None, error: failure.of_request(method, url) })?;
        let status = answer.status;
        let failed = |problem: String| {
            let text = self.session.redact(&format!("{method} {url}: {problem}"));
            ApiError { status: Some(status.as_u16()), error: ProviderError::new(text) }
        };
        // Azure DevOps sends its login page with status 203.
        if !status.is_success() || status.as_u16() == 203 {
            let reason = status.canonical_reason().unwrap_or_default();
            let code = status.as_u16();
            let message = server_message(&answer.body);
            return Err(failed(format!("{code} {reason}{message}").trim_end().to_owned()));
        }
        let parsed = serde_json::from_slice(&answer.body);
        parsed
            .map(|parsed| (parsed, answer))
            .map_err(|error| failed(format!("cannot parse the JSON of the answer: {}", shown_text(&error.to_string()))))
    }
}

/// A request that failed, and the status of its answer if there was one.
#[derive(Debug)]
pub(crate) struct ApiError {
    pub status: Option<u16>,
    pub error: ProviderError,
}

impl From<ApiError> for ProviderError {
    fn from(error: ApiError) -> Self {
        error.error
    }
}

/// Returns the host's error message with a leading `: `, or an empty text.
fn server_message(body: &[u8]) -> String {
    let Ok(body) = serde_json::from_slice::<Map<String, Value>>(body) else { return String::new() };
    let known = ["message", "error_description", "error"].into_iter().find_map(|key| body.get(key));
    match known {
        Some(Value::String(text)) => format!(": {}", shown_text(text)),
        Some(other) => format!(": {}", shown_text(&other.to_string())),
        None => String::new(),
    }
}

/// Limits the number of pages of one list, and refuses repeated pages.
pub(crate) struct PageGuard {
    operation: String,
    seen: HashSet<String>,
}

impl PageGuard {
    /// `listed` names the content of the list in errors.
    pub(crate) fn new(listed: &str) -> PageGuard {
        PageGuard { operation: format!("list {listed}"), seen: HashSet::new() }
    }

    /// Counts a page by its address or token.
    ///
    /// # Errors
    /// There are too many pages, or this page was read before.
    pub(crate) fn count(&mut self, page: &str, kind: &str) -> Result<(), ProviderError> {
        let operation = &self.operation;
        if self.seen.len() >= MAX_PAGES {
            let text = format!("{operation} pagination exceeds maximum of {MAX_PAGES} pages");
            return Err(ProviderError::new(text));
        }
        match self.seen.insert(page.to_owned()) {
            true => Ok(()),
            false => Err(ProviderError::new(format!("{operation} pagination returned a repeated {kind}"))),
        }
    }
}

/// The pages of a list. Each response contains the address or number of the next page.
pub(crate) struct Pages<'a> {
    api: &'a Api,
    next: Option<Uri>,
    guard: PageGuard,
}

impl<'a> Pages<'a> {
    /// `listed` names the content of the list in errors.
    pub(crate) fn new(api: &'a Api, listed: &str, first: Uri) -> Pages<'a> {
        Pages { api, next: Some(first), guard: PageGuard::new(listed) }
    }

    /// Reads the next page; `None` after the last page.
    pub(crate) async fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>, ProviderError> {
        let Some(url) = self.next.take() else { return Ok(None) };
        self.guard.count(&url.to_string(), "page")?;
        let (page, answer) = self.api.get::<T>(&url).await?;
        self.next = self.next_address(&url, &answer)?;
        Ok(Some(page))
    }

    fn next_address(&self, url: &Uri, answer: &ProviderResponse) -> Result<Option<Uri>, ProviderError> {
        // GitLab sends the number of the next page even in responses without a `Link` header.
        if let Some(number) = answer.headers.get("x-next-page").and_then(|number| number.to_str().ok())
            && !number.is_empty()
        {
            let is_number = number.len() < 20 && number.bytes().all(|digit| digit.is_ascii_digit());
            let next = is_number.then(|| with_page(url, number)).flatten();
            return next.map(Some).ok_or_else(|| ProviderError::new("the number of the next page cannot be read"));
        }
        let headers = answer.headers.get_all(LINK).iter().map(|value| value.to_str().unwrap_or("?"));
        let Some(link) = flux_operator_oci::transport::next_page(headers)? else { return Ok(None) };
        Ok(Some(self.api.session.page_address(&answer.url, &link)?))
    }
}

/// Returns the address of another page of the same list.
fn with_page(url: &Uri, number: &str) -> Option<Uri> {
    let text = url.to_string();
    let (path, query) = text.split_once('?').unwrap_or((&text, ""));
    let others = query.split('&').filter(|pair| !pair.is_empty() && !pair.starts_with("page="));
    let query: Vec<String> = others.map(str::to_owned).chain([format!("page={number}")]).collect();
    format!("{path}?{}", query.join("&")).parse().ok()
}

/// A branch or tag in the lists of GitHub, GitLab and Gitea.
#[derive(Deserialize)]
pub(crate) struct NamedCommit {
    pub name: String,
    pub commit: Option<CommitId>,
}

#[derive(Deserialize)]
pub(crate) struct CommitId {
    /// GitHub, and Gitea for tags, call it `sha`. GitLab, and Gitea for branches, call it `id`.
    #[serde(default, alias = "sha")]
    id: String,
}

impl NamedCommit {
    pub(crate) fn sha(self) -> String {
        self.commit.map(|commit| commit.id).unwrap_or_default()
    }
}

/// Lists branches whose pages are lists of [`NamedCommit`].
pub(crate) async fn list_branches(
    api: &Api,
    first: Uri,
    filter: &ResultFilter,
) -> Result<Vec<GitResult>, ProviderError> {
    let mut results = Results::new(filter);
    let mut pages = Pages::new(api, "branches", first);
    while !results.is_full()
        && let Some(page) = pages.next::<Vec<NamedCommit>>().await?
    {
        for branch in page.into_iter().filter(|branch| filter.takes(&branch.name)) {
            if results.is_full() {
                break;
            }
            let name = branch.name.clone();
            results.push(GitResult::named(GitListing::Branches, &name, branch.sha()))?;
        }
    }
    Ok(results.finish())
}

/// Lists tags whose pages are lists of [`NamedCommit`].
pub(crate) async fn list_tags(api: &Api, first: Uri, filter: &ResultFilter) -> Result<Vec<GitResult>, ProviderError> {
    let mut tags = filter.tags();
    let mut pages = Pages::new(api, "tags", first);
    // All pages are read, because the highest version may be on the last one.
    while let Some(page) = pages.next::<Vec<NamedCommit>>().await? {
        for tag in page {
            let name = tag.name.clone();
            tags.push(&name, tag.sha())?;
        }
    }
    let tags = tags.finish().into_iter();
    Ok(tags.map(|(name, sha)| GitResult::named(GitListing::Tags, &name, sha)).collect())
}

/// A Git host and the repository in it.
pub(crate) enum GitProvider {
    /// GitHub, and Gitea, whose API is nearly the same.
    GitHub(GitHub),
    GitLab(GitLab),
    AzureDevOps(AzureDevOps),
}

/// Lists what a provider of a Git type exports.
pub(crate) async fn list(
    settings: &ProviderSettings,
    secret: Option<&SecretData>,
    connection: &Connection,
    tokens: &TokenCache,
) -> Result<Vec<GitResult>, ProviderError> {
    let provider = provider(settings, secret, connection, tokens).await;
    let provider = provider.map_err(|error| error.within("failed to create Git provider"))?;
    let found = list_with(&provider, settings.provider_type, settings).await;
    found.map_err(|error| error.within("failed to call Git provider"))
}

async fn provider(
    settings: &ProviderSettings,
    secret: Option<&SecretData>,
    connection: &Connection,
    tokens: &TokenCache,
) -> Result<GitProvider, ProviderError> {
    let Some(host) = settings.provider_type.host() else {
        return Err(ProviderError::new(format!("'{}' is not a type of a Git host", settings.provider_type)));
    };
    let credentials = GitCredentials::new(host, secret)?;
    Ok(match host {
        GitHost::GitHub => GitProvider::GitHub(GitHub::github(&settings.url, credentials, connection, tokens).await?),
        GitHost::Gitea => GitProvider::GitHub(GitHub::gitea(&settings.url, credentials, connection)?),
        GitHost::GitLab => GitProvider::GitLab(GitLab::new(&settings.url, credentials, connection)?),
        GitHost::AzureDevOps => GitProvider::AzureDevOps(AzureDevOps::new(&settings.url, credentials, connection)?),
    })
}

pub(crate) async fn list_with(
    provider: &GitProvider,
    of_type: ProviderType,
    settings: &ProviderSettings,
) -> Result<Vec<GitResult>, ProviderError> {
    let filter = ResultFilter::new(settings)?;
    let listing = of_type.listing().unwrap_or(GitListing::Branches);
    let found = match (provider, listing) {
        (GitProvider::GitHub(github), GitListing::Branches) => github.branches(&filter).await,
        (GitProvider::GitHub(github), GitListing::Tags) => github.tags(&filter).await,
        (GitProvider::GitHub(github), GitListing::Requests) => github.requests(&filter).await,
        (GitProvider::GitLab(gitlab), GitListing::Branches) => {
            gitlab.branches(&filter, &settings.filter.include_branch).await
        }
        (GitProvider::GitLab(gitlab), GitListing::Tags) => gitlab.tags(&filter).await,
        (GitProvider::GitLab(gitlab), GitListing::Requests) => gitlab.requests(&filter, &settings.filter.labels).await,
        (GitProvider::GitLab(gitlab), GitListing::Environments) => gitlab.environments(&filter).await,
        (GitProvider::AzureDevOps(azure), GitListing::Branches) => azure.branches(&filter).await,
        (GitProvider::AzureDevOps(azure), GitListing::Tags) => azure.tags(&filter).await,
        (GitProvider::AzureDevOps(azure), GitListing::Requests) => azure.requests(&filter).await,
        (_, GitListing::Environments) => Err(ProviderError::new("environments are not supported by this Git host")),
    };
    let noun = match (listing, of_type) {
        (GitListing::Requests, ProviderType::GitLabMergeRequest) => "merge requests",
        (GitListing::Requests, _) => "pull requests",
        _ => listing.as_str(),
    };
    found.map_err(|error| error.within(&format!("failed to list {}: could not list {noun}", listing.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_exports_what_it_has() {
        let branch = GitResult::named(GitListing::Branches, "feat/A_b", "abc".to_owned());
        assert_eq!(
            Value::Object(branch.fields()),
            serde_json::json!({"id": "220463826", "sha": "abc", "branch": "feat/A_b"})
        );
        let tag = GitResult::named(GitListing::Tags, "v1.0.0", String::new());
        assert_eq!(Value::Object(tag.fields()), serde_json::json!({"id": "93520228", "sha": "", "tag": "v1.0.0"}));
    }

    #[test]
    fn the_address_of_the_next_page_keeps_the_query_and_replaces_the_page_number() {
        let url: Uri = "https://gitlab.com/api/v4/x?per_page=100&page=2&regex=%5Ea".parse().unwrap();
        assert_eq!(
            with_page(&url, "3").unwrap().to_string(),
            "https://gitlab.com/api/v4/x?per_page=100&regex=%5Ea&page=3"
        );
    }

    #[test]
    fn pages_are_bounded_and_never_read_twice() {
        let mut guard = PageGuard::new("tags");
        for page in 0..MAX_PAGES {
            guard.count(&page.to_string(), "page").unwrap();
        }
        assert_eq!(
            guard.count("next", "page").unwrap_err().to_string(),
            "list tags pagination exceeds maximum of 1000 pages"
        );
        let mut guard = PageGuard::new("branches");
        guard.count("a", "continuation token").unwrap();
        assert_eq!(
            guard.count("a", "continuation token").unwrap_err().to_string(),
            "list branches pagination returned a repeated continuation token"
        );
    }

    #[test]
    fn a_segment_of_a_path_cannot_leave_it() {
        assert_eq!(segment("group/sub.x/app"), "group%2Fsub.x%2Fapp");
        assert_eq!(segment(".."), "%2E%2E");
        assert_eq!(query_value("^feat/.*&a=b"), "%5Efeat%2F.%2A%26a%3Db");
    }
}
