//! The spec of a provider, and the rules that hold between its fields.

use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value};

/// The types of providers, in the order of their definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProviderType {
    /// The default values and nothing else.
    Static,
    /// Branches of a GitHub repository.
    GitHubBranch,
    /// Tags of a GitHub repository.
    GitHubTag,
    /// Open pull requests of a GitHub repository.
    GitHubPullRequest,
    /// Branches of a GitLab project.
    GitLabBranch,
    /// Tags of a GitLab project.
    GitLabTag,
    /// Open merge requests of a GitLab project.
    GitLabMergeRequest,
    /// Deployed environments of a GitLab project.
    GitLabEnvironment,
    /// Branches of an Azure DevOps repository.
    AzureDevOpsBranch,
    /// Tags of an Azure DevOps repository.
    AzureDevOpsTag,
    /// Active pull requests of an Azure DevOps repository.
    AzureDevOpsPullRequest,
    /// Not supported: needs an AWS identity.
    AwsCodeCommitBranch,
    /// Not supported: needs an AWS identity.
    AwsCodeCommitTag,
    /// Not supported: needs an AWS identity.
    AwsCodeCommitPullRequest,
    /// Branches of a Gitea or Forgejo repository.
    GiteaBranch,
    /// Tags of a Gitea or Forgejo repository.
    GiteaTag,
    /// Open pull requests of a Gitea or Forgejo repository.
    GiteaPullRequest,
    /// Tags of a repository in an OCI registry.
    OciArtifactTag,
    /// Not supported: needs an Azure identity.
    AcrArtifactTag,
    /// Not supported: needs an AWS identity.
    EcrArtifactTag,
    /// Not supported: needs a Google Cloud identity.
    GarArtifactTag,
    /// Inputs that an HTTP service returns.
    ExternalService,
    /// ExternalArtifacts of the cluster.
    ExternalArtifact,
}

use ProviderType as Type;

impl ProviderType {
    /// All types, in the order of their definition.
    pub const ALL: [ProviderType; 23] = [
        Type::Static,
        Type::GitHubBranch,
        Type::GitHubTag,
        Type::GitHubPullRequest,
        Type::GitLabBranch,
        Type::GitLabTag,
        Type::GitLabMergeRequest,
        Type::GitLabEnvironment,
        Type::AzureDevOpsBranch,
        Type::AzureDevOpsTag,
        Type::AzureDevOpsPullRequest,
        Type::AwsCodeCommitBranch,
        Type::AwsCodeCommitTag,
        Type::AwsCodeCommitPullRequest,
        Type::GiteaBranch,
        Type::GiteaTag,
        Type::GiteaPullRequest,
        Type::OciArtifactTag,
        Type::AcrArtifactTag,
        Type::EcrArtifactTag,
        Type::GarArtifactTag,
        Type::ExternalService,
        Type::ExternalArtifact,
    ];

    /// Returns the name used in `spec.type`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Type::Static => "Static",
            Type::GitHubBranch => "GitHubBranch",
            Type::GitHubTag => "GitHubTag",
            Type::GitHubPullRequest => "GitHubPullRequest",
            Type::GitLabBranch => "GitLabBranch",
            Type::GitLabTag => "GitLabTag",
            Type::GitLabMergeRequest => "GitLabMergeRequest",
            Type::GitLabEnvironment => "GitLabEnvironment",
            Type::AzureDevOpsBranch => "AzureDevOpsBranch",
            Type::AzureDevOpsTag => "AzureDevOpsTag",
            Type::AzureDevOpsPullRequest => "AzureDevOpsPullRequest",
            Type::AwsCodeCommitBranch => "AWSCodeCommitBranch",
            Type::AwsCodeCommitTag => "AWSCodeCommitTag",
            Type::AwsCodeCommitPullRequest => "AWSCodeCommitPullRequest",
            Type::GiteaBranch => "GiteaBranch",
            Type::GiteaTag => "GiteaTag",
            Type::GiteaPullRequest => "GiteaPullRequest",
            Type::OciArtifactTag => "OCIArtifactTag",
            Type::AcrArtifactTag => "ACRArtifactTag",
            Type::EcrArtifactTag => "ECRArtifactTag",
            Type::GarArtifactTag => "GARArtifactTag",
            Type::ExternalService => "ExternalService",
            Type::ExternalArtifact => "ExternalArtifact",
        }
    }

    /// Returns the cloud whose identity the type needs. Types that need one are not supported.
    const fn cloud(self) -> Option<&'static str> {
        match self {
            Type::AwsCodeCommitBranch
            | Type::AwsCodeCommitTag
            | Type::AwsCodeCommitPullRequest
            | Type::EcrArtifactTag => Some("AWS"),
            Type::AcrArtifactTag => Some("Azure"),
            Type::GarArtifactTag => Some("Google Cloud"),
            _ => None,
        }
    }

    /// Returns the kind of objects to list at a Git host; `None` for other types.
    pub(crate) const fn listing(self) -> Option<GitListing> {
        match self {
            Type::GitHubBranch | Type::GitLabBranch | Type::AzureDevOpsBranch | Type::GiteaBranch => {
                Some(GitListing::Branches)
            }
            Type::GitHubTag | Type::GitLabTag | Type::AzureDevOpsTag | Type::GiteaTag => Some(GitListing::Tags),
            Type::GitHubPullRequest
            | Type::GitLabMergeRequest
            | Type::AzureDevOpsPullRequest
            | Type::GiteaPullRequest => Some(GitListing::Requests),
            Type::GitLabEnvironment => Some(GitListing::Environments),
            _ => None,
        }
    }

    const fn is_registry(self) -> bool {
        matches!(self, Type::OciArtifactTag | Type::AcrArtifactTag | Type::EcrArtifactTag | Type::GarArtifactTag)
    }

    /// Returns the Git host of a Git type.
    pub(crate) const fn host(self) -> Option<GitHost> {
        match self {
            Type::GitHubBranch | Type::GitHubTag | Type::GitHubPullRequest => Some(GitHost::GitHub),
            Type::GitLabBranch | Type::GitLabTag | Type::GitLabMergeRequest | Type::GitLabEnvironment => {
                Some(GitHost::GitLab)
            }
            Type::AzureDevOpsBranch | Type::AzureDevOpsTag | Type::AzureDevOpsPullRequest => Some(GitHost::AzureDevOps),
            Type::GiteaBranch | Type::GiteaTag | Type::GiteaPullRequest => Some(GitHost::Gitea),
            _ => None,
        }
    }
}

impl fmt::Display for ProviderType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ProviderType {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Type::ALL.into_iter().find(|known| known.as_str() == text);
        known.ok_or_else(|| format!("unsupported provider type '{text}'"))
    }
}

/// A kind of objects that Git hosts list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GitListing {
    Branches,
    Tags,
    Requests,
    Environments,
}

impl GitListing {
    /// Returns the name used in errors.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            GitListing::Branches => "branches",
            GitListing::Tags => "tags",
            GitListing::Requests => "requests",
            GitListing::Environments => "environments",
        }
    }
}

/// A service that hosts Git repositories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GitHost {
    GitHub,
    GitLab,
    Gitea,
    AzureDevOps,
}

/// `spec.filter`. An empty text means no condition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Pattern that the branch has to match.
    pub include_branch: String,
    /// Pattern that the branch must not match.
    pub exclude_branch: String,
    /// Pattern that the tag has to match.
    pub include_tag: String,
    /// Pattern that the tag must not match.
    pub exclude_tag: String,
    /// Pattern that the name of the environment has to match.
    pub include_environment: String,
    /// Pattern that the name of the environment must not match.
    pub exclude_environment: String,
    /// Labels that a request has to have.
    pub labels: Vec<String>,
    /// Maximum number of results; zero or less means the default.
    pub limit: i64,
    /// Range of versions that tags have to be in.
    pub semver: String,
}

/// The fields of a provider's spec that an export needs.
#[derive(Clone, Debug, PartialEq)]
pub struct ProviderSettings {
    /// `spec.type`.
    pub provider_type: ProviderType,
    /// `spec.url`.
    pub url: String,
    /// `spec.insecure`.
    pub insecure: bool,
    /// `spec.filter`.
    pub filter: Filter,
    /// `spec.skip.labels`.
    pub skip_labels: Vec<String>,
    /// `spec.defaultValues`.
    pub default_values: Map<String, Value>,
}

impl ProviderSettings {
    /// Creates settings with a type and a URL, and defaults for all other fields.
    pub fn new(provider_type: ProviderType, url: impl Into<String>) -> ProviderSettings {
        ProviderSettings {
            provider_type,
            url: url.into(),
            insecure: false,
            filter: Filter::default(),
            skip_labels: Vec::new(),
            default_values: Map::new(),
        }
    }

    /// Checks the rules of the definition, in case the cluster has not checked them.
    ///
    /// # Errors
    /// A rule is broken (with the message of the definition), or the type is not supported.
    pub fn validate(&self) -> Result<(), String> {
        let (of_type, url) = (self.provider_type, self.url.as_str());
        if let Some(cloud) = of_type.cloud() {
            let instead = match of_type.is_registry() {
                true => "use OCIArtifactTag with spec.secretRef",
                false => "use a provider of another Git host or an ExternalService",
            };
            return Err(format!(
                "spec.type '{of_type}' is not supported: it needs an identity of {cloud}, which this operator does not obtain; {instead}"
            ));
        }
        match of_type {
            Type::Static | Type::ExternalArtifact if url.is_empty() => {}
            Type::Static | Type::ExternalArtifact => {
                return Err(format!("spec.url must be empty when spec.type is '{of_type}'"));
            }
            _ if url.is_empty() => {
                let text = "spec.url must not be empty when spec.type is not 'Static' or 'ExternalArtifact'";
                return Err(text.to_owned());
            }
            _ if of_type.host().is_some() && !is_web(url) => {
                let kind = match of_type.host() {
                    Some(GitHost::AzureDevOps) => "an AzureDevOps provider",
                    _ => "a Git provider",
                };
                return Err(format!("spec.url must start with 'http://' or 'https://' when spec.type is {kind}"));
            }
            _ if of_type.is_registry() => {
                let Some(rest) = url.strip_prefix("oci://") else {
                    return Err("spec.url must start with 'oci://' when spec.type is an OCI provider".to_owned());
                };
                if rest.split_once('/').is_none_or(|(host, path)| host.is_empty() || path.is_empty()) {
                    let text = "spec.url must include the repository path after the registry host when spec.type is \
                                an OCI provider";
                    return Err(text.to_owned());
                }
            }
            Type::ExternalService if !is_web(url) => {
                let text = "spec.url must start with 'http://' or 'https://' when spec.type is 'ExternalService'";
                return Err(text.to_owned());
            }
            Type::ExternalService if url.starts_with("http://") && !self.insecure => {
                return Err("spec.url must use 'https://' unless spec.insecure is true".to_owned());
            }
            _ => {}
        }
        if self.insecure && !matches!(of_type, Type::ExternalService | Type::OciArtifactTag) {
            let text = "spec.insecure can only be set when spec.type is 'ExternalService' or 'OCIArtifactTag'";
            return Err(text.to_owned());
        }
        // The reference skips every result for such an entry. Then all objects rendered from the results are deleted.
        let missing = self.skip_labels.iter().find(|label| label.starts_with('!'));
        if let Some(label) = missing
            && of_type.listing() != Some(GitListing::Requests)
            && (of_type.listing().is_some() || of_type.is_registry())
        {
            return Err(format!(
                "spec.skip.labels has '{label}', but the results of a provider of type '{of_type}' have no labels: every \
                 result would be skipped"
            ));
        }
        Ok(())
    }

    /// Returns a sentence for each setting that has no effect.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let of_type = self.provider_type;
        let used: &[&str] = match of_type.listing() {
            Some(GitListing::Branches | GitListing::Requests) => &["includeBranch", "excludeBranch"],
            Some(GitListing::Tags) => &["includeTag", "excludeTag"],
            Some(GitListing::Environments) => &["includeEnvironment", "excludeEnvironment"],
            None if of_type.is_registry() => &["includeTag", "excludeTag"],
            None => &[],
        };
        let patterns =
            self.filter.patterns().into_iter().filter(|(name, pattern)| !pattern.is_empty() && !used.contains(name));
        let mut warnings: Vec<String> = patterns
            .map(|(name, _)| format!("spec.filter.{name} has no effect on a provider of type '{of_type}'"))
            .collect();
        let lists_tags = of_type.listing() == Some(GitListing::Tags) || of_type.is_registry();
        if !self.filter.semver.is_empty() && !lists_tags {
            warnings.push(format!("spec.filter.semver has no effect on a provider of type '{of_type}'"));
        }
        if !self.filter.labels.is_empty() && of_type.listing() != Some(GitListing::Requests) {
            warnings.push(format!("spec.filter.labels has no effect on a provider of type '{of_type}'"));
        }
        warnings
    }
}

impl Filter {
    /// Returns the patterns with their names, in the order in which they are checked.
    pub(crate) fn patterns(&self) -> [(&'static str, &str); 6] {
        [
            ("includeBranch", &self.include_branch),
            ("excludeBranch", &self.exclude_branch),
            ("includeTag", &self.include_tag),
            ("excludeTag", &self.exclude_tag),
            ("includeEnvironment", &self.include_environment),
            ("excludeEnvironment", &self.exclude_environment),
        ]
    }
}

fn is_web(url: &str) -> bool {
    url.starts_with("http://") || url.starts_with("https://")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_read_by_its_name() {
        for of_type in ProviderType::ALL {
            assert_eq!(of_type.as_str().parse(), Ok(of_type));
        }
        assert_eq!("static".parse::<ProviderType>(), Err("unsupported provider type 'static'".to_owned()));
    }

    #[test]
    fn the_rules_of_the_definition_are_checked_with_its_words() {
        for (of_type, url, expected) in [
            ("Static", "https://x", "spec.url must be empty when spec.type is 'Static'"),
            ("ExternalArtifact", "https://x", "spec.url must be empty when spec.type is 'ExternalArtifact'"),
            ("GitHubTag", "", "spec.url must not be empty when spec.type is not 'Static' or 'ExternalArtifact'"),
            (
                "GiteaTag",
                "oci://x/y",
                "spec.url must start with 'http://' or 'https://' when spec.type is a Git provider",
            ),
            (
                "AzureDevOpsTag",
                "oci://x/y",
                "spec.url must start with 'http://' or 'https://' when spec.type is an AzureDevOps provider",
            ),
            ("OCIArtifactTag", "https://x/y", "spec.url must start with 'oci://' when spec.type is an OCI provider"),
            (
                "OCIArtifactTag",
                "oci://x",
                "spec.url must include the repository path after the registry host when spec.type is an OCI provider",
            ),
            ("ExternalService", "http://x", "spec.url must use 'https://' unless spec.insecure is true"),
            (
                "ExternalService",
                "oci://x",
                "spec.url must start with 'http://' or 'https://' when spec.type is 'ExternalService'",
            ),
        ] {
            let settings = ProviderSettings::new(of_type.parse().unwrap(), url);
            assert_eq!(settings.validate(), Err(expected.to_owned()), "{of_type} {url}");
        }
        let insecure =
            ProviderSettings { insecure: true, ..ProviderSettings::new(ProviderType::GitHubTag, "https://x/o/r") };
        assert_eq!(
            insecure.validate().unwrap_err(),
            "spec.insecure can only be set when spec.type is 'ExternalService' or 'OCIArtifactTag'"
        );
        let insecure =
            ProviderSettings { insecure: true, ..ProviderSettings::new(ProviderType::ExternalService, "http://x") };
        assert_eq!(insecure.validate(), Ok(()));
    }

    #[test]
    fn types_that_need_the_identity_of_a_cloud_are_refused_by_name() {
        for of_type in [
            "AWSCodeCommitBranch",
            "AWSCodeCommitTag",
            "AWSCodeCommitPullRequest",
            "ACRArtifactTag",
            "ECRArtifactTag",
            "GARArtifactTag",
        ] {
            let error = ProviderSettings::new(of_type.parse().unwrap(), "oci://x/y").validate().unwrap_err();
            assert!(error.contains(of_type) && error.contains("identity"), "{error}");
        }
    }

    #[test]
    fn skipping_what_has_no_label_is_refused_where_nothing_has_labels() {
        let with = |of_type, label: &str| {
            let labels = vec![label.to_owned()];
            ProviderSettings { skip_labels: labels, ..ProviderSettings::new(of_type, "https://x/o/r") }.validate()
        };
        assert!(with(ProviderType::GitHubBranch, "!deploy").unwrap_err().contains("every result would be skipped"));
        assert_eq!(with(ProviderType::GitHubBranch, "deploy"), Ok(()));
        assert_eq!(with(ProviderType::GitHubPullRequest, "!deploy"), Ok(()));
    }

    #[test]
    fn filters_of_other_types_are_warnings() {
        let mut settings = ProviderSettings::new(ProviderType::GitHubBranch, "https://x/o/r");
        settings.filter.include_tag = "v.*".to_owned();
        settings.filter.include_branch = "main".to_owned();
        settings.filter.semver = "1.x".to_owned();
        settings.filter.labels = vec!["a".to_owned()];
        assert_eq!(
            settings.warnings(),
            ["includeTag", "semver", "labels"]
                .map(|name| format!("spec.filter.{name} has no effect on a provider of type 'GitHubBranch'"))
        );
    }
}
