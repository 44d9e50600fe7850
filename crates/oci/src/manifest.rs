//! Manifests, indexes and descriptors.
//!
//! Sources: <https://github.com/opencontainers/image-spec/blob/v1.1.1/manifest.md>, `image-index.md`, `descriptor.md`;
//! Docker's two older forms read the same.

use std::collections::BTreeMap;

use hyper::body::Bytes;
use serde::{Deserialize, Deserializer, Serialize};

use super::Digest;

/// Largest manifest that registries accept, and therefore the largest that is read.
pub(super) const MAX_MANIFEST_BYTES: u64 = 4 << 20;

/// Media types of this module.
pub struct MediaType;

impl MediaType {
    pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
    pub const INDEX: &str = "application/vnd.oci.image.index.v1+json";
    const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
    const DOCKER_LIST: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
    pub const EMPTY: &str = "application/vnd.oci.empty.v1+json";
    /// Value of `Accept`: without it a registry may answer 404.
    pub(super) const ACCEPT: &str = "application/vnd.oci.image.manifest.v1+json, \
        application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.v2+json, \
        application/vnd.docker.distribution.manifest.list.v2+json";
}

/// Reads null as a missing field: Go writes an empty list or map as null, and accepts null in any field.
pub(super) fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Reads a map whose values may be null.
fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error> {
    let texts: Option<BTreeMap<String, Option<String>>> = Option::deserialize(deserializer)?;
    Ok(texts.into_iter().flatten().map(|(key, text)| (key, text.unwrap_or_default())).collect())
}

fn some_texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<BTreeMap<String, String>>, D::Error> {
    texts(deserializer).map(|texts| Some(texts).filter(|texts| !texts.is_empty()))
}

/// A reference to content by digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    #[serde(default, deserialize_with = "null_as_default")]
    pub media_type: String,
    pub digest: Digest,
    pub size: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<Platform>,
    /// Other locations of the content; layers with addresses may not be pushed to every registry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub urls: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some_texts")]
    pub annotations: Option<BTreeMap<String, String>>,
}

impl Descriptor {
    /// Describes these bytes.
    pub fn of(media_type: &str, bytes: &[u8]) -> Self {
        Descriptor {
            media_type: media_type.to_owned(),
            digest: Digest::of(bytes),
            size: bytes.len() as u64,
            artifact_type: None,
            platform: None,
            urls: None,
            annotations: None,
        }
    }

    pub fn is_manifest(&self) -> bool {
        let known = [MediaType::MANIFEST, MediaType::INDEX, MediaType::DOCKER_MANIFEST, MediaType::DOCKER_LIST];
        known.contains(&self.media_type.as_str())
    }

    /// Whether a registry may hold the content; a foreign layer is fetched from elsewhere.
    pub(crate) fn is_distributable(&self) -> bool {
        !self.media_type.contains(".foreign.") && !self.media_type.contains(".nondistributable.")
    }

    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.as_ref()?.get(key).map(String::as_str)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Platform {
    #[serde(default, deserialize_with = "null_as_default")]
    pub os: String,
    #[serde(default, deserialize_with = "null_as_default")]
    pub architecture: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
}

impl Platform {
    /// The default platform, as for Flux artifacts and the reference operator.
    pub fn linux_amd64() -> Self {
        Platform { os: "linux".to_owned(), architecture: "amd64".to_owned(), variant: None }
    }
}

impl std::fmt::Display for Platform {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.os, self.architecture)?;
        self.variant.iter().try_for_each(|variant| write!(f, "/{variant}"))
    }
}

/// A manifest or an index with its original bytes.
#[derive(Clone, Debug)]
pub struct Manifest {
    pub media_type: String,
    pub digest: Digest,
    pub bytes: Bytes,
    pub content: ManifestContent,
}

/// The fields of manifests and indexes that are used here; other fields stay in the bytes.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ManifestContent {
    #[serde(default, deserialize_with = "null_as_default")]
    schema_version: u64,
    media_type: Option<String>,
    pub artifact_type: Option<String>,
    pub config: Option<Descriptor>,
    #[serde(default, deserialize_with = "null_as_default")]
    pub layers: Vec<Descriptor>,
    /// Only in an index.
    manifests: Option<Vec<Descriptor>>,
    pub subject: Option<Descriptor>,
    #[serde(default, deserialize_with = "texts")]
    pub annotations: BTreeMap<String, String>,
}

impl Manifest {
    /// Parses a manifest; `declared` is the media type from the registry.
    ///
    /// # Errors
    /// Why the bytes are neither an image manifest nor an index.
    pub fn parse(declared: Option<&str>, bytes: Bytes) -> Result<Manifest, String> {
        // Checked before parsing, because a layout may hold a file of any size.
        if bytes.len() as u64 > MAX_MANIFEST_BYTES {
            return Err(format!("it is larger than {} MiB", MAX_MANIFEST_BYTES >> 20));
        }
        let mut content: ManifestContent =
            serde_json::from_slice(&bytes).map_err(|error| format!("it does not parse: {error}"))?;
        if content.schema_version != 2 {
            return Err(format!("schemaVersion is {}, not 2", content.schema_version));
        }
        // A manifest that is valid as both would let two readers see different content under one digest.
        if content.manifests.is_some() && (content.config.is_some() || !content.layers.is_empty()) {
            return Err("it is an image manifest and an index at once".to_owned());
        }
        // The header may carry parameters (`; charset=utf-8`) and any case.
        let declared = declared.map(|text| text.split(';').next().unwrap_or(text).trim().to_ascii_lowercase());
        let guess = if content.manifests.is_some() { MediaType::INDEX } else { MediaType::MANIFEST };
        let known = |name: &String| Descriptor::of(name, b"").is_manifest();
        let own = content.media_type.clone().filter(|own| !own.is_empty());
        // The document's own type comes first: it is covered by the digest, the header is not.
        let media_type = own.or(declared.filter(known)).unwrap_or_else(|| guess.to_owned());
        let is_list = matches!(media_type.as_str(), MediaType::INDEX | MediaType::DOCKER_LIST);
        if !known(&media_type) {
            return Err(format!("its media type is {media_type}"));
        }
        // Go writes an empty list this way.
        if is_list && content.manifests.is_none() && content.config.is_none() && content.layers.is_empty() {
            content.manifests = Some(Vec::new());
        }
        if is_list != content.manifests.is_some() {
            return Err(format!("its content is not that of {media_type}"));
        }
        if !is_list && content.config.is_none() {
            return Err("it has no config".to_owned());
        }
        Ok(Manifest { media_type, digest: Digest::of(&bytes), bytes, content })
    }

    pub fn descriptor(&self) -> Descriptor {
        Descriptor {
            artifact_type: self.content.artifact_type.clone(),
            ..Descriptor::of(&self.media_type, &self.bytes)
        }
    }

    /// The manifests of an index; `None` for an image manifest.
    pub fn manifests(&self) -> Option<&[Descriptor]> {
        self.content.manifests.as_deref()
    }

    /// Config and layers, in this order.
    pub fn blobs(&self) -> impl Iterator<Item = &Descriptor> {
        self.content.config.iter().chain(&self.content.layers)
    }

    /// Everything it references: config and layers, or the entries of an index.
    pub fn parts(&self) -> impl Iterator<Item = &Descriptor> {
        self.blobs().chain(self.manifests().unwrap_or_default())
    }

    /// Returns the first entry of an index that matches a platform, as Go clients do. An entry without a platform
    /// counts as linux/amd64.
    pub fn for_platform(&self, platform: &Platform) -> Option<&Descriptor> {
        let fits = |wanted: &Platform, has: &Platform| {
            wanted.os == has.os
                && wanted.architecture == has.architecture
                // Without a wanted variant every variant fits, so that `linux/arm64` finds an entry for `arm64/v8`.
                && (wanted.variant.is_none() || wanted.variant == has.variant)
        };
        let usual = Platform::linux_amd64();
        self.manifests()?.iter().find(|entry| fits(platform, entry.platform.as_ref().unwrap_or(&usual)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn parse(declared: Option<&str>, value: &serde_json::Value) -> Result<Manifest, String> {
        Manifest::parse(declared, Bytes::from(value.to_string()))
    }

    fn entry(os: &str, architecture: &str, size: u64) -> serde_json::Value {
        json!({"mediaType": MediaType::MANIFEST, "digest": DIGEST, "size": size,
               "platform": {"os": os, "architecture": architecture}})
    }

    #[test]
    fn an_index_gives_the_first_entry_of_a_platform() {
        let index = json!({"schemaVersion": 2, "mediaType": MediaType::INDEX, "manifests":
            [entry("linux", "arm64", 1), entry("linux", "amd64", 2), entry("linux", "amd64", 3)]});
        let index = parse(None, &index).unwrap();
        assert_eq!(index.for_platform(&Platform::linux_amd64()).unwrap().size, 2);
        assert!(index.for_platform(&Platform { os: "windows".into(), ..Platform::linux_amd64() }).is_none());
    }

    #[test]
    fn an_entry_without_a_platform_is_for_linux_amd64() {
        let no_platform = json!({"mediaType": MediaType::MANIFEST, "digest": DIGEST, "size": 1});
        let null_platform = json!({"mediaType": MediaType::MANIFEST, "digest": DIGEST, "size": 1, "platform": null});
        let other = Platform { architecture: "arm64".into(), ..Platform::linux_amd64() };
        for first in [no_platform, null_platform] {
            let index = json!({"schemaVersion": 2, "manifests": [entry("linux", "arm64", 3), first, entry("linux", "amd64", 2)]});
            let index = parse(None, &index).unwrap();
            assert_eq!(index.for_platform(&Platform::linux_amd64()).unwrap().size, 1);
            assert_eq!(index.for_platform(&other).unwrap().size, 3);
        }
        // An attestation has no type here, and an empty platform differs from a missing one.
        let mut empty = entry("", "", 1);
        for platform in [json!({}), json!({"os": null, "architecture": null}), json!({"os": "unknown"})] {
            empty["platform"] = platform;
            let index = parse(None, &json!({"schemaVersion": 2, "manifests": [empty]})).unwrap();
            assert!(index.for_platform(&Platform::linux_amd64()).is_none(), "{empty}");
        }
    }

    #[test]
    fn null_is_read_as_what_is_not_there() {
        let config = json!({"mediaType": "x/y", "digest": DIGEST, "size": 0, "annotations": null, "urls": null});
        let image = json!({"schemaVersion": 2, "config": config, "layers": null, "annotations": null,
            "mediaType": null, "artifactType": null, "subject": null, "manifests": null});
        let image = parse(None, &image).unwrap();
        assert_eq!((image.media_type.as_str(), image.content.layers.len()), (MediaType::MANIFEST, 0));
        assert!(image.manifests().is_none() && image.content.annotations.is_empty());
        let layer = json!({"mediaType": null, "digest": DIGEST, "size": 1, "annotations": {"a": null, "b": "c"}});
        let image = json!({"schemaVersion": 2, "config": config, "layers": [layer], "annotations": {"a": null}});
        let image = parse(None, &image).unwrap();
        assert_eq!(image.content.layers[0].annotation("b"), Some("c"));
        assert_eq!(image.content.annotations["a"], "");
        for index in [
            json!({"schemaVersion": 2, "mediaType": MediaType::INDEX, "manifests": null, "annotations": null}),
            json!({"schemaVersion": 2, "mediaType": "", "manifests": [], "layers": null, "config": null}),
        ] {
            assert_eq!(parse(None, &index).unwrap().manifests(), Some(&[][..]), "{index}");
        }
        let declared = parse(Some(MediaType::INDEX), &json!({"schemaVersion": 2, "manifests": null})).unwrap();
        assert_eq!(declared.manifests(), Some(&[][..]));
    }

    #[test]
    fn the_media_type_is_in_the_manifest_or_in_the_header_or_follows_from_the_content() {
        let config = json!({"mediaType": "x/y", "digest": DIGEST, "size": 0});
        let plain = json!({"schemaVersion": 2, "config": config, "layers": []});
        assert_eq!(parse(None, &plain).unwrap().media_type, MediaType::MANIFEST);
        let header = format!("{}; charset=utf-8", MediaType::DOCKER_MANIFEST);
        assert_eq!(parse(Some(&header), &plain).unwrap().media_type, MediaType::DOCKER_MANIFEST);
        assert_eq!(parse(Some("text/plain"), &plain).unwrap().media_type, MediaType::MANIFEST);
        assert_eq!(parse(None, &json!({"schemaVersion": 2, "manifests": []})).unwrap().media_type, MediaType::INDEX);
    }

    #[test]
    fn json_that_is_not_a_manifest_is_refused() {
        let config = json!({"mediaType": "x/y", "digest": DIGEST, "size": 0});
        for (value, reason) in [
            (json!([]), "does not parse"),
            (json!({}), "schemaVersion is 0"),
            (json!({"schemaVersion": 1}), "schemaVersion is 1"),
            (json!({"schemaVersion": 2}), "no config"),
            (json!({"schemaVersion": 2, "config": config, "manifests": []}), "at once"),
            (json!({"schemaVersion": 2, "config": {"digest": "md5:1"}}), "does not parse"),
            (json!({"schemaVersion": 2, "config": {"mediaType": "x", "digest": DIGEST, "size": -1}}), "does not parse"),
            (json!({"schemaVersion": 2, "config": config, "mediaType": "text/html"}), "text/html"),
            (json!({"schemaVersion": 2, "config": config, "mediaType": MediaType::INDEX}), "not that of"),
        ] {
            let error = parse(None, &value).expect_err(&value.to_string());
            assert!(error.contains(reason), "{value}: {error}");
        }
        let large = format!("{{\"a\":\"{}\"}}", "x".repeat(5 << 20));
        assert!(Manifest::parse(None, Bytes::from(large)).unwrap_err().contains("larger than 4 MiB"));
    }
}
