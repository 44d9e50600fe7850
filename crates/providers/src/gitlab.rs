//! GitLab. Source: <https://docs.gitlab.com/api/rest/>.

use http::Uri;
use serde::Deserialize;

use crate::credentials::GitCredentials;
use crate::error::ProviderError;
use crate::filter::ResultFilter;
use crate::git::{Api, GitResult, PAGE_SIZE, Pages, Results, list_branches, list_tags, query_value, segment};
use crate::github::{address_of, api, decoded, origin};
use crate::http::{Connection, accept, address};

/// Longest slug, in bytes.
const MAX_SLUG: usize = 63;

/// A project of GitLab.
pub(crate) struct GitLab {
    api: Api,
    /// Address of the project in the API, without `/` at its end.
    project: String,
}

impl GitLab {
    pub(crate) fn new(
        url: &str,
        credentials: GitCredentials,
        connection: &Connection,
    ) -> Result<GitLab, ProviderError> {
        let parsed = address(url)?;
        // Groups nest, so a project may have any number of segments.
        let path = parsed.path().strip_prefix('/').unwrap_or_default();
        if path.is_empty() {
            return Err(ProviderError::new(format!("invalid GitLab URL \"{url}\": can't find project")));
        }
        let base = format!("{}/api/v4", origin(&parsed));
        let auth = match credentials {
            GitCredentials::Header(header) => Some(header),
            GitCredentials::Anonymous | GitCredentials::App(_) => None,
        };
        let api = api(&base, connection, auth, vec![accept("application/json")])?;
        // Some servers in front of GitLab treat a dot as the start of a file extension.
        let project = segment(&decoded(path)).replace('.', "%2E");
        Ok(GitLab { api, project: format!("{base}/projects/{project}") })
    }

    fn list_address(&self, list: &str, query: &str) -> Result<Uri, ProviderError> {
        address_of(&format!("{}/{list}?per_page={PAGE_SIZE}{query}", self.project))
    }

    /// `include` is the pattern of the filter. GitLab applies it too, which shortens the list.
    pub(crate) async fn branches(&self, filter: &ResultFilter, include: &str) -> Result<Vec<GitResult>, ProviderError> {
        let query = match include {
            "" => String::new(),
            include => format!("&regex={}", query_value(include)),
        };
        let found = list_branches(&self.api, self.list_address("repository/branches", &query)?, filter).await?;
        Ok(found.into_iter().map(|branch| GitResult { slug: slug(&branch.branch), ..branch }).collect())
    }

    pub(crate) async fn tags(&self, filter: &ResultFilter) -> Result<Vec<GitResult>, ProviderError> {
        let found = list_tags(&self.api, self.list_address("repository/tags", "")?, filter).await?;
        Ok(found.into_iter().map(|tag| GitResult { slug: slug(&tag.tag), ..tag }).collect())
    }

    /// Lists open merge requests. GitLab filters them by label.
    pub(crate) async fn requests(
        &self,
        filter: &ResultFilter,
        labels: &[String],
    ) -> Result<Vec<GitResult>, ProviderError> {
        let labels = match labels {
            [] => String::new(),
            labels => format!("&labels={}", query_value(&labels.join(","))),
        };
        let first = self.list_address("merge_requests", &format!("&state=opened{labels}"))?;
        let mut results = Results::new(filter);
        let mut pages = Pages::new(&self.api, "requests", first);
        while !results.is_full()
            && let Some(page) = pages.next::<Vec<MergeRequest>>().await?
        {
            for result in page.into_iter().map(MergeRequest::result) {
                if !results.is_full() && filter.takes(&result.branch) {
                    results.push(result)?;
                }
            }
        }
        Ok(results.finish())
    }

    /// Lists environments that have a deployment.
    pub(crate) async fn environments(&self, filter: &ResultFilter) -> Result<Vec<GitResult>, ProviderError> {
        let mut results = Results::new(filter);
        let mut pages = Pages::new(&self.api, "environments", self.list_address("environments", "")?);
        while !results.is_full()
            && let Some(page) = pages.next::<Vec<Environment>>().await?
        {
            for environment in page.into_iter().filter(|environment| filter.takes(&environment.name)) {
                if results.is_full() {
                    break;
                }
                if let Some(result) = self.deployed(environment).await? {
                    results.push(result)?;
                }
            }
        }
        Ok(results.finish())
    }

    async fn deployed(&self, environment: Environment) -> Result<Option<GitResult>, ProviderError> {
        // GitLab lists the oldest deployments first by default.
        let query = format!("environment={}&order_by=created_at&sort=desc", query_value(&environment.name));
        let url = address_of(&format!("{}/deployments?{query}", self.project))?;
        let (deployments, _) = self.api.get::<Vec<Deployment>>(&url).await?;
        let is_available = environment.state == "available";
        let is_current = |one: &Deployment| one.status == "running" || one.status == "success" && is_available;
        let Some(current) = deployments.into_iter().find(is_current) else { return Ok(None) };
        Ok(Some(GitResult {
            id: environment.id.to_string(),
            sha: current.sha.unwrap_or_default(),
            branch: current.branch.unwrap_or_default(),
            title: environment.name,
            slug: environment.slug.unwrap_or_default(),
            author: current.user.and_then(|user| user.username).unwrap_or_default(),
            ..GitResult::default()
        }))
    }
}

#[derive(Deserialize)]
struct MergeRequest {
    iid: u64,
    sha: Option<String>,
    source_branch: Option<String>,
    title: Option<String>,
    author: Option<GitLabUser>,
    labels: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct GitLabUser {
    username: Option<String>,
}

impl MergeRequest {
    fn result(self) -> GitResult {
        let branch = self.source_branch.unwrap_or_default();
        GitResult {
            id: self.iid.to_string(),
            sha: self.sha.unwrap_or_default(),
            slug: slug(&branch),
            branch,
            title: self.title.unwrap_or_default(),
            author: self.author.and_then(|author| author.username).unwrap_or_default(),
            labels: self.labels.unwrap_or_default(),
            ..GitResult::default()
        }
    }
}

#[derive(Deserialize)]
struct Environment {
    id: u64,
    name: String,
    slug: Option<String>,
    #[serde(default)]
    state: String,
}

#[derive(Deserialize)]
struct Deployment {
    #[serde(default)]
    status: String,
    sha: Option<String>,
    #[serde(rename = "ref")]
    branch: Option<String>,
    user: Option<GitLabUser>,
}

/// Returns a name in the form of GitLab's `CI_COMMIT_REF_SLUG`: lower case, with `-` for everything except letters and
/// digits, truncated, and without `-` at either end.
fn slug(name: &str) -> String {
    let lower = name.to_lowercase();
    let replaced = lower.chars().map(|c| match c {
        'a'..='z' | '0'..='9' => c,
        _ => '-',
    });
    // Every character is ASCII now, so bytes and characters are the same.
    replaced.take(MAX_SLUG).collect::<String>().trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_those_of_gitlab() {
        for (name, expected) in [
            ("feat/A_b", "feat-a-b"),
            ("release/1.0", "release-1-0"),
            ("v2.0.0-rc.1", "v2-0-0-rc-1"),
            ("fix/Two_x", "fix-two-x"),
            ("--a--", "a"),
            ("ü/x", "x"),
        ] {
            assert_eq!(slug(name), expected);
        }
        assert_eq!(slug(&"a/".repeat(60)).len(), 63);
        assert_eq!(slug(&format!("{}-tail", "a".repeat(62))).len(), 62, "the cut comes before the trim");
    }
}
