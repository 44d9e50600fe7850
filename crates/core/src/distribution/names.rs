//! Names of a distribution's versions and images.

use std::fmt;

use semver::Version;

use crate::api::Component;

/// A version of Flux that a distribution holds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FluxVersion {
    /// The parsed version, for comparison.
    pub version: Version,
    /// The name of its folder, as users see it: `v2.9.4`.
    pub name: String,
}

impl FluxVersion {
    /// Reads the name of a version folder; None for any other name. A leading `v` and missing parts are allowed.
    pub fn from_folder(name: &str) -> Option<Self> {
        let text = name.strip_prefix('v').unwrap_or(name);
        let end = text.find(['-', '+']).unwrap_or(text.len());
        let (numbers, suffix) = text.split_at_checked(end)?;
        let missing = 2usize.checked_sub(numbers.matches('.').count())?;
        let version = Version::parse(&format!("{numbers}{}{suffix}", ".0".repeat(missing))).ok()?;
        Some(Self { version, name: name.to_owned() })
    }
}

impl fmt::Display for FluxVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name)
    }
}

/// The image of one component in one variant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageDigest {
    pub component: Component,
    /// For example `v1.9.4`.
    pub tag: String,
    /// `sha256:` and 64 hexadecimal digits.
    pub digest: String,
}

/// A reference to an image in a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageReference {
    pub component: Component,
    /// Registry and component, for example `ghcr.io/fluxcd/source-controller`.
    pub repository: String,
    pub tag: String,
    /// None where the variant has no digests for the version.
    pub digest: Option<String>,
}

impl fmt::Display for ImageReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.repository, self.tag)?;
        self.digest.as_ref().map_or(Ok(()), |digest| write!(f, "@{digest}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_names_are_versions_with_or_without_v_and_with_missing_parts() {
        for (name, expected) in [
            ("v2.9.4", "2.9.4"),
            ("2.9.4", "2.9.4"),
            ("v2.9", "2.9.0"),
            ("v2", "2.0.0"),
            ("v2.10.0-rc.1", "2.10.0-rc.1"),
        ] {
            let version = FluxVersion::from_folder(name).unwrap();
            assert_eq!((version.version.to_string().as_str(), version.name.as_str()), (expected, name));
        }
        for name in ["", "v", "latest", "v2.9.4.1", "v2.x", ".git", "v2.9-rc.1.x!"] {
            assert_eq!(FluxVersion::from_folder(name), None, "{name}");
        }
    }

    #[test]
    fn versions_sort_by_number_and_not_by_text() {
        let mut versions = ["v2.10.0", "v2.9.4", "v2.10.0-rc.1"].map(|name| FluxVersion::from_folder(name).unwrap());
        versions.sort();
        assert_eq!(versions.map(|version| version.name), ["v2.9.4", "v2.10.0-rc.1", "v2.10.0"]);
    }

    #[test]
    fn a_reference_has_its_digest_behind_the_tag() {
        let mut image = ImageReference {
            component: Component::HelmController,
            repository: "ghcr.io/fluxcd/helm-controller".into(),
            tag: "v1.6.3".into(),
            digest: None,
        };
        assert_eq!(image.to_string(), "ghcr.io/fluxcd/helm-controller:v1.6.3");
        image.digest = Some("sha256:00".into());
        assert_eq!(image.to_string(), "ghcr.io/fluxcd/helm-controller:v1.6.3@sha256:00");
    }
}
