//! The names of what a distribution is made of: components, image variants, versions, images.

use std::fmt;
use std::str::FromStr;

use semver::Version;

/// A controller of Flux.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Component {
    SourceController,
    KustomizeController,
    HelmController,
    NotificationController,
    ImageReflectorController,
    ImageAutomationController,
    /// Part of Flux since 2.7.
    SourceWatcher,
}

impl Component {
    pub const ALL: [Component; 7] = [
        Component::SourceController,
        Component::KustomizeController,
        Component::HelmController,
        Component::NotificationController,
        Component::ImageReflectorController,
        Component::ImageAutomationController,
        Component::SourceWatcher,
    ];

    /// The name of its Deployment, its ServiceAccount and its image.
    pub const fn as_str(self) -> &'static str {
        match self {
            Component::SourceController => "source-controller",
            Component::KustomizeController => "kustomize-controller",
            Component::HelmController => "helm-controller",
            Component::NotificationController => "notification-controller",
            Component::ImageReflectorController => "image-reflector-controller",
            Component::ImageAutomationController => "image-automation-controller",
            Component::SourceWatcher => "source-watcher",
        }
    }
}

impl fmt::Display for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Component {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        find("component", text, &Self::ALL, Component::as_str)
    }
}

/// A build of the Flux images.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Variant {
    UpstreamAlpine,
    EnterpriseAlpine,
    EnterpriseDistroless,
    EnterpriseDistrolessFips,
}

impl Variant {
    pub const ALL: [Variant; 4] = [
        Variant::UpstreamAlpine,
        Variant::EnterpriseAlpine,
        Variant::EnterpriseDistroless,
        Variant::EnterpriseDistrolessFips,
    ];

    /// The name as `spec.distribution.variant` takes it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Variant::UpstreamAlpine => "upstream-alpine",
            Variant::EnterpriseAlpine => "enterprise-alpine",
            Variant::EnterpriseDistroless => "enterprise-distroless",
            Variant::EnterpriseDistrolessFips => "enterprise-distroless-fips",
        }
    }

    /// The registry, with its path, where the images of this variant are published.
    pub const fn registry(self) -> &'static str {
        match self {
            Variant::UpstreamAlpine => "ghcr.io/fluxcd",
            Variant::EnterpriseAlpine => "ghcr.io/controlplaneio-fluxcd/alpine",
            Variant::EnterpriseDistroless => "ghcr.io/controlplaneio-fluxcd/distroless",
            Variant::EnterpriseDistrolessFips => "ghcr.io/controlplaneio-fluxcd/distroless-fips",
        }
    }

    /// Returns the variant that is published at a registry; None for a mirror, which may hold any of them.
    pub fn for_registry(registry: &str) -> Option<Variant> {
        Self::ALL.into_iter().find(|variant| variant.registry() == registry)
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Variant {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        find("variant", text, &Self::ALL, Variant::as_str)
    }
}

fn find<T: Copy>(what: &'static str, text: &str, all: &[T], name: fn(T) -> &'static str) -> Result<T, UnknownName> {
    all.iter().copied().find(|item| name(*item) == text).ok_or_else(|| UnknownName {
        what,
        name: text.to_owned(),
        known: all.iter().map(|item| name(*item)).collect::<Vec<_>>().join(", "),
    })
}

/// A word that names no component or variant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} `{name}`, known are {known}")]
pub struct UnknownName {
    what: &'static str,
    name: String,
    known: String,
}

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
    fn components_and_variants_are_read_by_their_own_names() {
        for component in Component::ALL {
            assert_eq!(component.as_str().parse(), Ok(component));
        }
        for variant in Variant::ALL {
            assert_eq!(variant.as_str().parse(), Ok(variant));
            assert_eq!(Variant::for_registry(variant.registry()), Some(variant));
        }
        assert_eq!(Variant::for_registry("registry.example.com/flux"), None);
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let error = "source-controler".parse::<Component>().unwrap_err().to_string();
        assert!(error.starts_with("unknown component `source-controler`, known are source-controller, "), "{error}");
        assert!("alpine".parse::<Variant>().unwrap_err().to_string().contains("upstream-alpine"));
    }

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
