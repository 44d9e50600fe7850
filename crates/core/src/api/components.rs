//! Flux's controllers and the variants of their images, with the names used in a FluxInstance.

use std::fmt;
use std::str::FromStr;

use semver::Version;
use serde_json::Value;

use crate::format::version_range::is_at_least;
use crate::k8s::fields;

/// Name of the container in every controller of Flux and in the operator.
pub const CONTAINER: &str = "manager";

/// Returns the controller's own container in a Deployment, because patches and meshes add others in any order: the one
/// with the usual name, else the one named like the Deployment, else the first.
pub fn own_container(deployment: &Value) -> &Value {
    let containers = fields::items(deployment, "/spec/template/spec/containers");
    let named = |name: &str| containers.iter().find(|container| fields::text(container, "/name") == name);
    // A service mesh may put containers of its own before it.
    let own = named(CONTAINER).or_else(|| named(fields::name(deployment)));
    own.or(containers.first()).unwrap_or(&Value::Null)
}

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

    /// The default of `spec.components`.
    pub const DEFAULT: [Component; 4] = [
        Component::SourceController,
        Component::KustomizeController,
        Component::HelmController,
        Component::NotificationController,
    ];

    /// Whether some version of Flux can run the component once per shard: all except the one that receives the events
    /// of every shard.
    pub fn can_be_sharded(self) -> bool {
        self != Component::NotificationController
    }

    /// Whether a version of Flux runs the component once per shard.
    pub fn is_sharded_in(self, flux: &Version) -> bool {
        // source-watcher has `--watch-label-selector` since that version.
        self.can_be_sharded() && (self != Component::SourceWatcher || is_at_least(flux, 2, 9, 0))
    }

    /// Name of the Deployment, the ServiceAccount and the image.
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

/// A variant of the Flux images.
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

    /// The name in `spec.distribution.variant`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Variant::UpstreamAlpine => "upstream-alpine",
            Variant::EnterpriseAlpine => "enterprise-alpine",
            Variant::EnterpriseDistroless => "enterprise-distroless",
            Variant::EnterpriseDistrolessFips => "enterprise-distroless-fips",
        }
    }

    /// Registry and path of the images of this variant.
    pub const fn registry(self) -> &'static str {
        match self {
            Variant::UpstreamAlpine => "ghcr.io/fluxcd",
            Variant::EnterpriseAlpine => "ghcr.io/controlplaneio-fluxcd/alpine",
            Variant::EnterpriseDistroless => "ghcr.io/controlplaneio-fluxcd/distroless",
            Variant::EnterpriseDistrolessFips => "ghcr.io/controlplaneio-fluxcd/distroless-fips",
        }
    }

    /// Returns the variant of a known registry; `None` for a mirror, which may hold any variant.
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

/// An unknown component or variant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} `{name}`, known are {known}")]
pub struct UnknownName {
    what: &'static str,
    name: String,
    known: String,
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
    fn the_container_of_a_controller_is_found_at_any_position() {
        let own = |names: &[&str]| {
            let containers: Vec<Value> = names.iter().map(|name| serde_json::json!({"name": name})).collect();
            let deployment = serde_json::json!({"metadata": {"name": "source-controller"},
                "spec": {"template": {"spec": {"containers": containers}}}});
            fields::text(own_container(&deployment), "/name").to_owned()
        };
        assert_eq!(own(&["proxy", "manager"]), "manager");
        assert_eq!(own(&["source-controller", "manager"]), "manager");
        assert_eq!(own(&["proxy", "source-controller"]), "source-controller");
        assert_eq!(own(&["proxy", "other"]), "proxy");
        assert_eq!(own(&[]), "");
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let error = "source-controler".parse::<Component>().unwrap_err().to_string();
        assert!(error.starts_with("unknown component `source-controler`, known are source-controller, "), "{error}");
        assert!("alpine".parse::<Variant>().unwrap_err().to_string().contains("upstream-alpine"));
    }
}
