//! The controllers' images: repositories, tags and digests, before the build and read back after it.

use serde_json::Value;

use super::{BuildError, BuildWarning, WarningReason};
use crate::api::{CONTAINER, Component, ComponentImage, Variant};
use crate::distribution::{Distribution, FluxVersion, PLACEHOLDER_REGISTRY};
use crate::format::image::{ImageParts, split_image, split_registry};
use crate::kustomize::{ImageReplacement, kind, name};

/// Registries with exactly the same images as a variant's own registry: Docker Hub's copy and the AWS marketplace.
const OTHER_REGISTRIES: [(&str, Variant); 2] = [
    ("fluxcd", Variant::UpstreamAlpine),
    ("709825985650.dkr.ecr.us-east-1.amazonaws.com/controlplane/fluxcd", Variant::EnterpriseDistroless),
];

/// The registry of Docker references without a registry.
const DOCKER_HUB: &str = "index.docker.io";

/// Chooses the image of every component. Without digests it uses the tags of the manifests, and returns a warning with
/// the reason.
pub(super) fn resolve(
    registry: &str,
    variant: Option<&str>,
    components: &[Component],
    version: &FluxVersion,
    distribution: &Distribution,
) -> Result<(Vec<ImageReplacement>, Option<BuildWarning>), BuildError> {
    let registry = registry.trim_end_matches('/');
    let variant = variant.map_or_else(|| known_variant(registry), |name| name.parse().ok());
    let replacement = |component: Component, tag: String, digest: Option<String>| ImageReplacement {
        name: format!("{PLACEHOLDER_REGISTRY}/{component}"),
        new_name: format!("{registry}/{component}"),
        tag,
        digest,
    };
    let digests = variant.map(|variant| distribution.digests(version, variant)).transpose()?.flatten();
    let pinned = digests.and_then(|digests| {
        components
            .iter()
            .map(|component| {
                let found = digests.iter().find(|image| image.component == *component)?;
                Some(replacement(*component, found.tag.clone(), Some(found.digest.clone())))
            })
            .collect::<Option<Vec<_>>>()
    });
    if let Some(pinned) = pinned {
        return Ok((pinned, None));
    }
    let tagged = components
        .iter()
        .map(|component| Ok(replacement(*component, distribution.tag(version, *component)?, None)))
        .collect::<Result<Vec<_>, BuildError>>()?;
    Ok((tagged, Some(no_digests(registry, variant, version, distribution))))
}

fn known_variant(registry: &str) -> Option<Variant> {
    let other = OTHER_REGISTRIES.iter().find(|(name, _)| *name == registry).map(|(_, variant)| *variant);
    other.or_else(|| Variant::for_registry(registry))
}

fn no_digests(
    registry: &str,
    variant: Option<Variant>,
    version: &FluxVersion,
    distribution: &Distribution,
) -> BuildWarning {
    match variant {
        None => BuildWarning {
            reason: WarningReason::NoDigests,
            message: format!("unsupported registry {registry}: images are referenced by tag only, without digests"),
            hint: Some(format!(
                "set spec.distribution.variant to what the registry mirrors: {}",
                words(Variant::ALL.map(Variant::as_str))
            )),
        },
        Some(variant) => {
            let others: Vec<_> = Variant::ALL
                .into_iter()
                .filter(|other| matches!(distribution.digests(version, *other), Ok(Some(_))))
                .map(Variant::as_str)
                .collect();
            let hint = if others.is_empty() {
                format!("the distribution has no digests for {version}; choose another spec.distribution.version")
            } else {
                format!(
                    "choose another spec.distribution.version, or one of the variants that have digests for {version}: {}",
                    others.join(", ")
                )
            };
            BuildWarning {
                reason: WarningReason::NoDigests,
                message: format!(
                    "variant {variant} has no digests for every component of Flux {version}: images are referenced by tag only"
                ),
                hint: Some(hint),
            }
        }
    }
}

fn words<const N: usize>(words: [&str; N]) -> String {
    words.join(", ")
}

/// Reads the images of the components back from built objects: from the container [`CONTAINER`] of the Deployment with
/// the component's name. A Deployment that a patch removed has no entry.
pub(super) fn read_back(components: &[Component], objects: &[Value]) -> Result<Vec<ComponentImage>, BuildError> {
    let mut images = Vec::with_capacity(components.len());
    for component in components {
        let Some(deployment) =
            objects.iter().find(|object| kind(object) == "Deployment" && name(object) == component.as_str())
        else {
            continue;
        };
        let containers = deployment
            .pointer("/spec/template/spec/containers")
            .and_then(Value::as_array)
            .ok_or_else(|| BuildError::Image(format!("Deployment/{component} has no containers")))?;
        for container in
            containers.iter().filter(|container| container.get("name").and_then(Value::as_str) == Some(CONTAINER))
        {
            let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
            let (repository, tag, digest) = parse_reference(image)
                .ok_or_else(|| BuildError::Image(format!("could not parse reference: {image}")))?;
            images.push(ComponentImage { digest, name: component.to_string(), repository, tag });
        }
    }
    Ok(images)
}

/// Returns the images that the objects run, sorted and without duplicates.
pub(super) fn references(objects: &[Value]) -> Vec<String> {
    let mut references: Vec<String> = objects
        .iter()
        .filter_map(|object| object.pointer("/spec/template/spec"))
        .flat_map(|pod| ["initContainers", "containers"].map(|field| pod.get(field).and_then(Value::as_array)))
        .flatten()
        .flatten()
        .filter_map(|container| container.get("image").and_then(Value::as_str).map(str::to_string))
        .collect();
    references.sort_unstable();
    references.dedup();
    references
}

/// Splits an image reference into repository, tag and digest, with the defaults of container clients: Docker Hub for a
/// missing registry, `latest` for a missing tag. Returns `None` for an invalid reference.
fn parse_reference(image: &str) -> Option<(String, String, Option<String>)> {
    let ImageParts { repository: path, tag, digest } = split_image(image);
    let digest = match digest {
        Some(digest) => {
            let hex = digest.strip_prefix("sha256:")?;
            let well_formed = hex.len() == 64 && hex.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'));
            Some(well_formed.then(|| digest.to_string())?)
        }
        None => None,
    };
    let tag = tag.unwrap_or("latest");
    let tag_ok = !tag.is_empty()
        && tag.len() <= 128
        && tag.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c))
        && !tag.starts_with(['.', '-']);
    let (registry, repository) = split_registry(path);
    let registry = registry.filter(|registry| *registry != "docker.io").unwrap_or(DOCKER_HUB);
    let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_.-/".contains(c);
    if !tag_ok || repository.is_empty() || !repository.chars().all(legal) || repository.split('/').any(str::is_empty) {
        return None;
    }
    let library = if registry == DOCKER_HUB && !repository.contains('/') { "library/" } else { "" };
    Some((format!("{registry}/{library}{repository}"), tag.to_string(), digest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn references_are_read_with_the_defaults_of_container_clients() {
        let digest = format!("sha256:{}", "a".repeat(64));
        for (image, repository, tag) in [
            ("ghcr.io/fluxcd/source-controller:v1.3.0", "ghcr.io/fluxcd/source-controller", "v1.3.0"),
            ("fluxcd/source-controller:v1.3.0", "index.docker.io/fluxcd/source-controller", "v1.3.0"),
            ("docker.io/fluxcd/source-controller:v1", "index.docker.io/fluxcd/source-controller", "v1"),
            ("nginx", "index.docker.io/library/nginx", "latest"),
            ("ghcr.io/fluxcd/source-controller", "ghcr.io/fluxcd/source-controller", "latest"),
            ("localhost:5000/flux/a:v1", "localhost:5000/flux/a", "v1"),
            ("localhost:5000/flux/a", "localhost:5000/flux/a", "latest"),
        ] {
            assert_eq!(parse_reference(image), Some((repository.into(), tag.into(), None)), "{image}");
            assert_eq!(
                parse_reference(&format!("{image}@{digest}")),
                Some((repository.into(), tag.into(), Some(digest.clone())))
            );
        }
        for image in ["", "@@", "a:", "a@sha256:short", "ghcr.io/", "ghcr.io//a", "UPPER/case", "a:b c", "a@md5:x"] {
            assert_eq!(parse_reference(image), None, "{image}");
        }
    }

    #[test]
    fn images_are_read_from_the_container_manager_in_component_order() {
        let deployment = |name: &str, containers: Value| json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": {"template": {"spec": {"containers": containers}}}});
        let objects = [
            deployment(
                "source-controller",
                json!([{"name": "sidecar", "image": "x/y:1"}, {"name": "manager", "image": "a.io/s:v1"}]),
            ),
            deployment("helm-controller", json!([{"name": "manager", "image": "a.io/h:v2"}])),
        ];
        let components = [Component::HelmController, Component::SourceController, Component::KustomizeController];
        let images = read_back(&components, &objects).unwrap();
        let text: Vec<_> =
            images.iter().map(|image| format!("{}={}:{}", image.name, image.repository, image.tag)).collect();
        assert_eq!(text, ["helm-controller=a.io/h:v2", "source-controller=a.io/s:v1"]);
        assert_eq!(references(&objects), ["a.io/h:v2", "a.io/s:v1", "x/y:1"]);
        let broken = [json!({"kind": "Deployment", "metadata": {"name": "helm-controller"}, "spec": {}})];
        assert_eq!(
            read_back(&components, &broken).unwrap_err().to_string(),
            "extract component images failed: Deployment/helm-controller has no containers"
        );
        let odd = [deployment("helm-controller", json!([{"name": "manager", "image": "@@"}]))];
        assert_eq!(
            read_back(&components, &odd).unwrap_err().to_string(),
            "extract component images failed: could not parse reference: @@"
        );
    }
}
