//! Azure DevOps. Source: <https://learn.microsoft.com/en-us/rest/api/azure/devops/git/>.

use futures::stream::{StreamExt, TryStreamExt, iter};
use http::Uri;
use serde::Deserialize;

use crate::credentials::GitCredentials;
use crate::error::ProviderError;
use crate::filter::ResultFilter;
use crate::git::{Api, GitResult, PAGE_SIZE, PageGuard, Results, query_value, segment};
use crate::github::{address_of, api, decoded};
use crate::http::{Connection, accept, address};
use crate::settings::GitListing;

const HOST: &str = "dev.azure.com";
const API_VERSION: &str = "api-version=7.1";
/// Number of tags that are resolved at the same time.
const CONCURRENT_TAGS: usize = 4;

/// A repository of Azure DevOps.
pub(crate) struct AzureDevOps {
    api: Api,
    /// Address of the repository in the API, without `/` at its end.
    repository: String,
}

impl AzureDevOps {
    pub(crate) fn new(
        url: &str,
        credentials: GitCredentials,
        connection: &Connection,
    ) -> Result<AzureDevOps, ProviderError> {
        let parsed = address(url)?;
        let host = parsed.host().unwrap_or_default();
        if host != HOST {
            return Err(ProviderError::new(format!("unsupported Azure DevOps host: {host}")));
        }
        let base = format!("https://{HOST}");
        let path = repository_path(&parsed).ok_or_else(|| {
            ProviderError::new(format!("invalid AzureDevOps URL \"{url}\": can't find owner and repository"))
        })?;
        Self::at(&base, &path, credentials, connection)
    }

    /// Creates the client for a repository at a path of any API server, not only Microsoft's.
    pub(crate) fn at(
        base: &str,
        path: &str,
        credentials: GitCredentials,
        connection: &Connection,
    ) -> Result<AzureDevOps, ProviderError> {
        let GitCredentials::Header(auth) = credentials else {
            let text = "Azure DevOps needs a token: set spec.secretRef to a Secret with the key 'password'; an identity \
                        of Azure is not supported";
            return Err(ProviderError::new(text));
        };
        let api = api(base, connection, Some(auth), vec![accept("application/json")])?;
        Ok(AzureDevOps { api, repository: format!("{base}/{path}") })
    }

    pub(crate) async fn branches(&self, filter: &ResultFilter) -> Result<Vec<GitResult>, ProviderError> {
        // The API matches `filter` as a prefix of the ref's name without `refs/`.
        let url = address_of(&format!("{}/refs?filter=heads%2F&{API_VERSION}", self.repository))?;
        let (list, _) = self.api.get::<AzureList<GitRef>>(&url).await?;
        let mut results = Results::new(filter);
        for branch in list.value {
            let Some(name) = branch.name.strip_prefix("refs/heads/") else { continue };
            if !results.is_full() && filter.takes(name) {
                results.push(GitResult::named(GitListing::Branches, name, branch.object_id.unwrap_or_default()))?;
            }
        }
        Ok(results.finish())
    }

    pub(crate) async fn tags(&self, filter: &ResultFilter) -> Result<Vec<GitResult>, ProviderError> {
        let mut tags = filter.tags();
        let mut guard = PageGuard::new("tags");
        let mut token = String::new();
        loop {
            guard.count(&token, "continuation token")?;
            let at =
                if token.is_empty() { String::new() } else { format!("&continuationToken={}", query_value(&token)) };
            let query = format!("filter=tags%2F&$top={PAGE_SIZE}{at}&{API_VERSION}");
            let url = address_of(&format!("{}/refs?{query}", self.repository))?;
            let (list, answer) = self.api.get::<AzureList<GitRef>>(&url).await?;
            for tag in list.value {
                if let Some(name) = tag.name.strip_prefix("refs/tags/") {
                    tags.push(name, tag.object_id.clone().unwrap_or_default())?;
                }
            }
            let next = answer.headers.get("x-ms-continuationtoken").and_then(|token| token.to_str().ok());
            match next {
                Some(next) if !next.is_empty() => token = next.to_owned(),
                _ => break,
            }
        }
        // Each annotated tag needs a separate request, so only the tags within the limit are resolved.
        let tags = iter(tags.finish()).map(|(name, object)| async move {
            let commit = self.tagged_object(&object).await?.unwrap_or(object);
            Ok(GitResult::named(GitListing::Tags, &name, commit))
        });
        tags.buffered(CONCURRENT_TAGS).try_collect().await
    }

    /// Returns the object of an annotated tag; `None` if `object` is not an annotated tag.
    async fn tagged_object(&self, object: &str) -> Result<Option<String>, ProviderError> {
        let url = address_of(&format!("{}/annotatedtags/{}?{API_VERSION}", self.repository, segment(object)))?;
        match self.api.get::<AnnotatedTag>(&url).await {
            Ok((tag, _)) => Ok(tag.tagged_object.and_then(|tagged| tagged.object_id)),
            // These statuses mean that the object is not an annotated tag. Any other failure may be temporary, and must
            // not change the exported commit.
            Err(failed) if failed.status.is_some_and(|status| matches!(status, 400 | 404)) => Ok(None),
            Err(failed) => Err(failed.error),
        }
    }

    pub(crate) async fn requests(&self, filter: &ResultFilter) -> Result<Vec<GitResult>, ProviderError> {
        let mut results = Results::new(filter);
        let mut guard = PageGuard::new("requests");
        let mut skip = 0;
        while !results.is_full() {
            guard.count(&skip.to_string(), "page")?;
            let query = format!("searchCriteria.status=active&$top={PAGE_SIZE}&$skip={skip}&{API_VERSION}");
            let url = address_of(&format!("{}/pullrequests?{query}", self.repository))?;
            let (list, _) = self.api.get::<AzureList<AzurePullRequest>>(&url).await?;
            let count = list.value.len();
            for result in list.value.into_iter().filter_map(AzurePullRequest::result) {
                if !results.is_full() && filter.takes(&result.branch) && filter.takes_labels(&result.labels) {
                    results.push(result)?;
                }
            }
            // The response does not mark the last page, which is recognised by its length only.
            if count < PAGE_SIZE {
                break;
            }
            skip += count;
        }
        Ok(results.finish())
    }
}

/// `<organisation>/<project>/_apis/git/repositories/<repository>`, encoded.
fn repository_path(url: &Uri) -> Option<String> {
    let segments: Vec<&str> = url.path().split('/').collect();
    let ["", organisation, project, "_git", repository] = segments.as_slice() else { return None };
    // Decode first, so that a `%20` in the address is not encoded twice.
    let [organisation, project, repository] = [organisation, project, repository].map(|one| segment(&decoded(one)));
    let is_whole = ![&organisation, &project, &repository].into_iter().any(String::is_empty);
    is_whole.then(|| format!("{organisation}/{project}/_apis/git/repositories/{repository}"))
}

#[derive(Deserialize)]
struct AzureList<T> {
    value: Vec<T>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GitRef {
    name: String,
    object_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AnnotatedTag {
    tagged_object: Option<TaggedObject>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TaggedObject {
    object_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AzurePullRequest {
    pull_request_id: Option<u64>,
    source_ref_name: Option<String>,
    last_merge_source_commit: Option<Commit>,
    title: Option<String>,
    created_by: Option<AzureIdentity>,
    labels: Option<Vec<AzureLabel>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Commit {
    commit_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AzureIdentity {
    display_name: Option<String>,
}

#[derive(Deserialize)]
struct AzureLabel {
    name: Option<String>,
}

impl AzurePullRequest {
    /// Returns `None` if a field is missing, because such a request is not complete yet.
    fn result(self) -> Option<GitResult> {
        let source = self.source_ref_name?;
        Some(GitResult {
            id: self.pull_request_id?.to_string(),
            sha: self.last_merge_source_commit?.commit_id?,
            branch: source.strip_prefix("refs/heads/").unwrap_or(&source).to_owned(),
            title: self.title?,
            author: self.created_by?.display_name?,
            labels: self.labels.into_iter().flatten().filter_map(|label| label.name).collect(),
            ..GitResult::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_has_an_organisation_and_a_project() {
        let path = |url: &str| repository_path(&url.parse().unwrap());
        assert_eq!(
            path("https://dev.azure.com/org/my%20project/_git/app").unwrap(),
            "org/my%20project/_apis/git/repositories/app"
        );
        for url in [
            "https://dev.azure.com/org/app",
            "https://dev.azure.com/org/p/_git",
            "https://dev.azure.com/org/p/_git/",
            "https://dev.azure.com/org/p/git/app",
        ] {
            assert_eq!(path(url), None, "{url}");
        }
    }
}
