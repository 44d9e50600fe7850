//! Filters: select the exported results, their order and their number.

use std::cmp::Ordering;

use flux_operator_core::format::version_range::{VersionRange, parse_version_lenient};
use flux_operator_gotemplate::Regexp;
use semver::Version;

use crate::error::ProviderError;
use crate::settings::{GitListing, ProviderSettings};

/// Default limit for the number of results.
const USUAL_LIMIT: usize = 100;
/// Highest limit that the settings may ask for.
const HIGHEST_LIMIT: usize = 10_000;
/// Maximum number of bytes in the names that are held at the same time.
const MAX_NAMES_BYTES: usize = 16 << 20;

/// A compiled filter.
pub(crate) struct ResultFilter {
    include: Option<Regexp>,
    exclude: Option<Regexp>,
    semver: Option<VersionRange>,
    labels: Vec<String>,
    pub limit: usize,
}

impl ResultFilter {
    /// Compiles the filter of a provider. All patterns must be valid, but only the patterns for the type are used.
    ///
    /// # Errors
    /// A pattern or the range is invalid, or the limit is too high.
    pub(crate) fn new(settings: &ProviderSettings) -> Result<ResultFilter, String> {
        let filter = &settings.filter;
        let mut compiled = Vec::new();
        for (name, pattern) in filter.patterns() {
            compiled.push(match pattern {
                "" => None,
                _ => Some(Regexp::new(pattern).map_err(|error| format!("invalid {name} regex: {error}"))?),
            });
        }
        let semver = match filter.semver.as_str() {
            "" => None,
            range => Some(
                range
                    .parse::<VersionRange>()
                    .map_err(|error| format!("invalid semver expression: improper constraint: {}", error.range))?,
            ),
        };
        // Positions in `Filter::patterns`, which come in pairs: a pattern to include and one to exclude.
        let at = match settings.provider_type.listing() {
            Some(GitListing::Branches | GitListing::Requests) => 0,
            // Registries list tags too.
            Some(GitListing::Tags) | None => 2,
            Some(GitListing::Environments) => 4,
        };
        let mut of_type = compiled.into_iter().skip(at);
        Ok(ResultFilter {
            include: of_type.next().flatten(),
            exclude: of_type.next().flatten(),
            semver,
            labels: filter.labels.clone(),
            limit: limit(filter.limit)?,
        })
    }

    /// Whether a branch, a tag or an environment of this name is exported.
    pub(crate) fn takes(&self, name: &str) -> bool {
        self.include.as_ref().is_none_or(|include| include.is_match(name))
            && !self.exclude.as_ref().is_some_and(|exclude| exclude.is_match(name))
    }

    /// Whether a request with these labels is exported.
    pub(crate) fn takes_labels(&self, labels: &[String]) -> bool {
        self.labels.iter().all(|wanted| labels.contains(wanted))
    }

    /// Creates an empty list of tags.
    pub(crate) fn tags<T>(&self) -> TagList<'_, T> {
        TagList { filter: self, tags: Vec::new(), bytes: 0 }
    }
}

/// Returns the number of results that a setting allows.
///
/// # Errors
/// The setting is too high.
pub(crate) fn limit(limit: i64) -> Result<usize, String> {
    match usize::try_from(limit) {
        Ok(0) | Err(_) => Ok(USUAL_LIMIT),
        Ok(limit) if limit > HIGHEST_LIMIT => Err(format!("result limit {limit} exceeds maximum of {HIGHEST_LIMIT}")),
        Ok(limit) => Ok(limit),
    }
}

/// The tags that are exported: with a range the versions in it, the highest first; otherwise in reverse order of their
/// bytes, so that `v1.2.0` comes before `v1.10.0`.
///
/// The list is cut while it grows, so its size depends on the limit and not on the number of tags.
pub(crate) struct TagList<'f, T> {
    filter: &'f ResultFilter,
    tags: Vec<(Option<Version>, String, T)>,
    bytes: usize,
}

impl<T> TagList<'_, T> {
    /// Adds a tag if the filter accepts it.
    ///
    /// # Errors
    /// The names take more than [`MAX_NAMES_BYTES`].
    pub(crate) fn push(&mut self, name: &str, value: T) -> Result<(), ProviderError> {
        if !self.filter.takes(name) {
            return Ok(());
        }
        let version = match &self.filter.semver {
            None => None,
            Some(range) => match version_of(name).filter(|version| range.matches(version)) {
                None => return Ok(()),
                version => version,
            },
        };
        self.bytes += name.len();
        if self.bytes > MAX_NAMES_BYTES {
            return Err(ProviderError::new(format!("the names of the tags hold more than {MAX_NAMES_BYTES} bytes")));
        }
        self.tags.push((version, name.to_owned(), value));
        // Sort only when the list has doubled, because a repository can have many thousand tags.
        if self.tags.len() >= 2 * self.filter.limit + USUAL_LIMIT {
            self.cut();
        }
        Ok(())
    }

    fn cut(&mut self) {
        // The sort is stable: equal versions keep the order of the server.
        self.tags.sort_by(|(version, name, _), (other_version, other_name, _)| match (version, other_version) {
            (Some(version), Some(other)) => other.cmp_precedence(version),
            (None, None) => other_name.as_bytes().cmp(name.as_bytes()),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
        });
        self.tags.truncate(self.filter.limit);
        self.bytes = self.tags.iter().map(|(_, name, _)| name.len()).sum();
    }

    /// Returns the first tags, up to the limit.
    pub(crate) fn finish(mut self) -> Vec<(String, T)> {
        self.cut();
        self.tags.into_iter().map(|(_, name, value)| (name, value)).collect()
    }
}

/// Reads a tag as a version: three parts, with or without a `v`.
fn version_of(tag: &str) -> Option<Version> {
    parse_version_lenient(tag).filter(|_| tag.matches('.').count() >= 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Filter, ProviderType};

    fn filter(of_type: ProviderType, filter: Filter) -> Result<ResultFilter, String> {
        ResultFilter::new(&ProviderSettings { filter, ..ProviderSettings::new(of_type, "https://x/o/r") })
    }

    fn tags(of: Filter, names: &[&str]) -> Vec<String> {
        let filter = filter(ProviderType::GitHubTag, of).unwrap();
        let mut list = filter.tags();
        names.iter().for_each(|name| list.push(name, ()).unwrap());
        list.finish().into_iter().map(|(name, ())| name).collect()
    }

    #[test]
    fn tags_are_ordered_by_version_with_a_range_and_by_bytes_without() {
        let names = ["1.2.0", "1.10.0", "latest", "v1.3.0", "2.0.0-rc.1", "sha-abc", "1.2"];
        assert_eq!(
            tags(Filter::default(), &names),
            ["v1.3.0", "sha-abc", "latest", "2.0.0-rc.1", "1.2.0", "1.2", "1.10.0"]
        );
        let semver = |range: &str| Filter { semver: range.to_owned(), ..Filter::default() };
        assert_eq!(tags(semver(">=1.0.0"), &names), ["1.10.0", "v1.3.0", "1.2.0"]);
        assert_eq!(tags(semver(">=1.0.0-0"), &names), ["2.0.0-rc.1", "1.10.0", "v1.3.0", "1.2.0"]);
        assert_eq!(tags(semver("1.x"), &["1.0.0+b", "v1.0.0", "1.0.0"]), ["1.0.0+b", "v1.0.0", "1.0.0"]);
    }

    #[test]
    fn the_limit_cuts_after_sorting_however_many_there_are() {
        let names: Vec<String> = (0..5000).map(|number| format!("v1.{number}.0")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let of = |limit| Filter { semver: "*".to_owned(), limit, ..Filter::default() };
        assert_eq!(tags(of(2), &names), ["v1.4999.0", "v1.4998.0"]);
        for unset in [0, -1] {
            assert_eq!(tags(of(unset), &names).len(), 100);
        }
        let error = filter(ProviderType::GitHubTag, of(10_001)).err().unwrap();
        assert_eq!(error, "result limit 10001 exceeds maximum of 10000");
    }

    #[test]
    fn patterns_match_anywhere_in_a_name_and_only_those_of_the_provider_type_apply() {
        let patterns = Filter {
            include_branch: "feat|main".to_owned(),
            exclude_branch: "^main$".to_owned(),
            include_tag: "^v".to_owned(),
            include_environment: "prod".to_owned(),
            ..Filter::default()
        };
        for (of_type, name, expected) in [
            (ProviderType::GitHubBranch, "my-feat-1", true),
            (ProviderType::GitHubBranch, "main", false),
            (ProviderType::GitHubBranch, "v1", false),
            (ProviderType::GitHubPullRequest, "feat", true),
            (ProviderType::GitHubTag, "v1", true),
            (ProviderType::GitHubTag, "feat", false),
            (ProviderType::OciArtifactTag, "v1", true),
            (ProviderType::GitLabEnvironment, "production", true),
        ] {
            assert_eq!(filter(of_type, patterns.clone()).unwrap().takes(name), expected, "{of_type} {name}");
        }
    }

    #[test]
    fn values_that_cannot_be_read_are_refused_with_the_field_name() {
        let refused = |of: Filter| filter(ProviderType::GitHubBranch, of).err().unwrap();
        let pattern = Filter { exclude_tag: "(".to_owned(), ..Filter::default() };
        assert_eq!(refused(pattern), "invalid excludeTag regex: error parsing regexp: missing closing ): `(`");
        let semver = Filter { semver: "one".to_owned(), ..Filter::default() };
        assert_eq!(refused(semver), "invalid semver expression: improper constraint: one");
    }

    #[test]
    fn a_request_needs_every_label() {
        let of = Filter { labels: vec!["a".to_owned(), "b".to_owned()], ..Filter::default() };
        let filter = filter(ProviderType::GitHubPullRequest, of).unwrap();
        let labels = |labels: &[&str]| labels.iter().map(|label| (*label).to_owned()).collect::<Vec<_>>();
        assert!(filter.takes_labels(&labels(&["b", "c", "a"])));
        assert!(!filter.takes_labels(&labels(&["a", "B"])));
    }
}
